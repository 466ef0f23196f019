/* Architectures of published models. Each is a file of entries, NAME.def: the steps of the model
 * with the sizes of its config.json, and the array of the weights' file that each field is read
 * from. One loader runs the entries; adding an architecture takes NAME.def and a line in
 * architectures.def.
 *
 *   GNN_SERVES("types", "prefix")       values of config.json's "model_type"; what names of arrays
 *                                       may have in front of them
 *   GNN_KEY("key", "kind", "default")   a key that entries read, and its value where the file has
 *                                       none; "a.b" is a key of the object a. Kinds stand in
 *                                       arch_keys.c
 *   GNN_HARMLESS("keys")                keys whose values change nothing that the model computes
 *   GNN_EXPECT("key", "formula")        a key that may have this value alone
 *   GNN_NEED("key", "formula", "text")  a key whose value makes the formula true, else "text" is
 *                                       expected, in which {name} is a value of SET
 *   GNN_HEAD("heads", "array")          values of `task` that entries make, and an array that the
 *                                       file then has ("": none)
 *   GNN_SET(name, "formula")            names a value
 *   GNN_IF("formula") ... GNN_END       entries that exist only if the formula is true
 *   GNN_REPEAT("formula") ... GNN_END   entries repeated that many times; # is the index, from 0
 *   GNN_GRAPH("name", "kind", "width")  a graph slot; kinds are listed in graphs.def, blocks.def
 *                                       and grids.def
 *   GNN_STEP("name", "kind", "fields")  a step (lib/model/steps.def) and its fields, "in = $width,
 *                                       activation = relu": a value is a formula if it has $ or a
 *                                       quote, or begins with a digit; else it is a word. A list
 *                                       is [a; b]. An empty word leaves the field out. Where a step
 *                                       and its layer have fields of one name, "step.NAME" is the
 *                                       step's
 *   of the step above:
 *   GNN_LINEAR("array", "field", "place")   array.weight (out x in) -> field.weight, array.bias
 *   GNN_MATRIX("array", "field", "place")   the same, array.weight is in x out
 *   GNN_NORM("array", "field")              array.weight -> field.gain, array.bias -> field.shift
 *   GNN_NORM_AT("array", "field", "place")  the same, for a gain that is stored in another way
 *   GNN_ROWS("array", "field", "place")     rows of the array are rows of the field
 *   GNN_TURNED("array", "field", "place")   rows of the array are columns of the field
 *   GNN_COLUMNS("array", "field", "place")  columns of the array are columns of the field; of a
 *                                           field of one row: all values of the array
 *   GNN_MADE("maker", "field")              values that the file does not have: makers.def
 *   GNN_MADE_AT("maker", "field", "place")  the same, for `rows` of its columns from `at` on; with
 *                                           "stride = s" every s-th of the maker's rows
 *   GNN_MADE("=formula", "field")           the same, a formula of each column, which is # there
 *   GNN_DRAWN("seed", "field")              values that PyTorch draws of the normal distribution
 *                                           with this seed, a formula; at least 16 of them
 *   GNN_IGNORE("array")                     an array that the model does not need
 *   GNN_SAME("array", "maker")              an array that the loader computes as well: where the
 *                                           file has it, other values are an error
 *   GNN_SAME("array", "=other")             the same as the array `other`, where the file has both
 *
 * `task` is named before the entries: the end of the class that config.json's "architectures" names
 * first, "ForMaskedLM"; "" where modules follow.
 *
 * In names, # is the index of the repetition and {name} a value of GNN_SET. Modules, several of
 * which may be of one type, have # outside of repetitions: the index of the module.
 *
 * "place" gives where in the array the field's values lie, along the array's axis of outputs (rows
 * in GNN_ROWS): "first = 0, group = d, stride = 3 * d, total = n": groups of `group` outputs, one
 * every `stride`. "at" and "rows" are the first and the count of the field's outputs, where it is
 * filled in pieces; "add = 1" adds to what is there, "plus" is added to each value, "times"
 * multiplies it. "through = A, scaled = B" of GNN_ROWS: row r is row A[r] of the array times B[r],
 * where the file has arrays A, B. Formulas stand in formula.h. */
#ifndef GNN_LIB_WEIGHTS_ARCH_ARCH_H
#define GNN_LIB_WEIGHTS_ARCH_ARCH_H

#include <lib/data/arrays/json_text.h>
#include <lib/weights/arch/formula.h>

typedef enum {
    GNN__ARCH_SERVES = 1,
    GNN__ARCH_SET,
    GNN__ARCH_IF,
    GNN__ARCH_REPEAT,
    GNN__ARCH_END,
    GNN__ARCH_GRAPH,
    GNN__ARCH_STEP,
    GNN__ARCH_LINEAR,
    GNN__ARCH_MATRIX,
    GNN__ARCH_NORM,
    GNN__ARCH_ROWS,
    GNN__ARCH_TURNED,
    GNN__ARCH_MADE,
    GNN__ARCH_IGNORE,
    GNN__ARCH_SAME,
    GNN__ARCH_KEY,
    GNN__ARCH_HARMLESS,
    GNN__ARCH_EXPECT,
    GNN__ARCH_NEED,
    GNN__ARCH_HEAD,
    GNN__ARCH_COLUMNS,
    GNN__ARCH_DRAWN /* = 22; arch_macros.h repeats the values */
} gnn__arch_verb_t;

typedef struct gnn__arch_row {
    gnn__arch_verb_t verb;
    const char *name, *second, *third;
} gnn__arch_row_t;

typedef struct gnn__arch {
    const char *name;
    const char *rows; /* each is a byte and three texts; the first is SERVES */
    size_t bytes;
} gnn__arch_t;

/* The contents of GNN_SERVES. */
static inline const char *gnn__arch_types(const gnn__arch_t *arch)
{
    return arch->rows + 1;
}
static inline const char *gnn__arch_prefix(const gnn__arch_t *arch)
{
    return arch->rows + 1 + strlen(arch->rows + 1) + 1;
}

#define GNN_ARCHITECTURE(name) extern const gnn__arch_t gnn__arch_##name;
#define GNN_MODULE(name) GNN_ARCHITECTURE(name)
#define GNN_FILE(name) GNN_ARCHITECTURE(name)
#include <lib/weights/arch/architectures.def>
#undef GNN_ARCHITECTURE
#undef GNN_MODULE
#undef GNN_FILE

typedef enum { GNN__ARCH_OF_MODELS, GNN__ARCH_OF_MODULES, GNN__ARCH_OF_FILES } gnn__arch_use_t;

/* The architecture of a "model_type", the module of a type of sentence-transformers, the keys of a
 * file of a name; NULL with a message that lists the known ones. */
const gnn__arch_t *gnn__arch_find(const char *type, gnn__arch_use_t use);
/* Architectures by index; NULL at the end. */
const gnn__arch_t *gnn__arch_at(size_t index, gnn__arch_use_t *use);

/* A part of a folder: an architecture first, then modules. */
typedef struct gnn__arch_part {
    const gnn__arch_t *arch;
    json_t *config;
    const char *config_name;
    int number;    /* its index in the list */
    bool headless; /* hidden states only, no head */
    gnn__folder_t weights;
} gnn__arch_part_t;

enum { GNN__ARCH_PARTS = 8, GNN__ARCH_GRAPHS = 32, GNN__ARCH_NAME = 64 };

/* The sequences that the graph of a slot is made for. */
typedef struct gnn__arch_sequences {
    int64_t count;
    const int64_t *lengths;         /* (count) */
    const int64_t *decoder_lengths; /* (count); NULL: there are none */
    int64_t skipped;                /* rows at the start of each that pooling leaves out */
    const int32_t *global; /* (sum of lengths) not 0: a global token; NULL: there are none */
    int64_t height, width; /* of images, in pixels; 0: there are none */
} gnn__arch_sequences_t;

/* The senders of a row in incremental decoding. */
typedef enum {
    GNN__ARCH_HEARS_NOTHING, /* not possible: depends on later rows */
    GNN__ARCH_HEARS_ALL,     /* itself and all earlier rows */
    GNN__ARCH_HEARS_WINDOW,  /* itself and a window of earlier rows */
    GNN__ARCH_HEARS_ACROSS   /* rows that do not change */
} gnn__arch_hears_t;

typedef struct gnn__arch_graph_kind {
    const char *name;
    gnn__arch_hears_t hears;
    int (*make)(gnn_graph_t **graph, const gnn__arch_sequences_t *sequences, int64_t width);
} gnn__arch_graph_kind_t;

typedef struct gnn__arch_graph {
    const gnn__arch_graph_kind_t *kind;
    int64_t width;
} gnn__arch_graph_t;

/* The model made from the entries. */
typedef struct gnn__arch_model {
    gnn_model_t *model;
    gnn__arch_graph_t graphs[GNN__ARCH_GRAPHS];
    int n_graphs;
    json_t *slots; /* of graphs, by name */
    json_t *names; /* names defined by SET */
} gnn__arch_model_t;

/* Makes the model of some parts and fills it with their arrays. GNN_EFORMAT, GNN_ENOTFOUND,
 * GNN_ESHAPE, GNN_ENUMERIC; nothing to free then. `keep`: fp16 and bf16 weights of linear maps and
 * tables are not converted. */
int gnn__arch_open(gnn__arch_model_t *made, gnn_context_t *context, gnn__arch_part_t *parts,
                   int n_parts, bool keep);
void gnn__arch_close(gnn__arch_model_t *made);

/* Checks that every key of the part's file is read by an entry, harmless or expected: else
 * GNN_EUNSUPPORTED names file, key and value. Objects are traversed. arch_rows.c */
int gnn__arch_check_keys(const gnn__arch_part_t *part);
/* The same for a file that does not describe a model: its entries are those of GNN_FILE(name) in
 * architectures.def, and their conditions are checked, too. */
int gnn__arch_check_file(json_t *json, const char *file, const char *rows);
/* The keys of an object, except null ones, that an entry handles: a new object, for json_decref
 * also after an error. */
int gnn__arch_select_keys(json_t **selected, json_t *json, const gnn__arch_t *arch);

/* ---- inside of the loader ---- */

/* Does an entry handle the key? arch_keys.c */
bool gnn__arch_knows(const gnn__arch_row_t *rows, int n_rows, const char *key);
/* The same for keys, given the entries of the architecture. arch_keys.c */
int gnn__arch_check_object(const gnn__arch_part_t *part, const gnn__arch_row_t *rows, int n_rows);
/* The head is "" or one that an entry makes. arch_keys.c */
int gnn__arch_check_head(const gnn__arch_part_t *part, const gnn__arch_row_t *rows, int n_rows,
                         const char *head);
/* The classes of "id2label", else "num_labels", else 2, are the rows of the head. arch_keys.c */
int gnn__arch_check_classes(const gnn__arch_part_t *part, const json_t *names, int64_t rows);
/* The entries of an architecture, in an array to be released with gnn_free. */
int gnn__arch_rows(const gnn__arch_t *arch, gnn__arch_row_t **rows, int *n_rows);
/* Defines a name, like GNN_SET. */
int gnn__scope_name(gnn__scope_t *scope, const char *name, const gnn__formula_value_t *value);
/* Executes an entry on a key: its kind, default and expected value. */
int gnn__arch_key(gnn__scope_t *scope, const gnn__arch_row_t *row);

/* Runs the entries of a part: executes control entries, passes the others to `visit`. Names are in
 * `scope`. */
typedef int (*gnn__arch_visit_t)(void *user, const gnn__arch_row_t *row, const gnn__scope_t *scope);
int gnn__arch_walk(const gnn__arch_part_t *part, gnn__scope_t *scope, gnn__arch_visit_t visit,
                   void *user);
/* "key = value, key = value": the next pair; false at the end. Both point into the text and are
 * trimmed. */
typedef struct gnn__setting {
    const char *key, *value;
    int key_length, value_length;
} gnn__setting_t;
bool gnn__setting_next(const char **text, gnn__setting_t *setting);
/* Graphs and steps of a part. */
int gnn__arch_steps(gnn__arch_model_t *made, gnn_steps_t *steps, const gnn__arch_part_t *part,
                    gnn__scope_t *scope);
/* Storage of each parameter so far. */
typedef enum { GNN__ARCH_NOWHERE, GNN__ARCH_WHOLE, GNN__ARCH_HALVES } gnn__arch_storage_t;
/* Destination of arrays: `fields` has a flag per field of the model, `storage` an entry per
 * parameter. */
typedef struct gnn__arch_filled {
    const gnn_context_t *context;
    bool keep;
    bool *fields;
    unsigned char *storage;
} gnn__arch_filled_t;
/* filled NULL: compares shapes only. */
int gnn__arch_weights(const gnn__arch_model_t *made, gnn__arch_part_t *part, gnn__scope_t *scope,
                      const gnn__arch_filled_t *filled);
/* Copies the array to the field without conversion, if the whole parameter can stay fp16 or bf16.
 * *done false: no effect. keep_halves.c */
struct gnn__arch_halves {
    const gnn_array_t *array;
    const char *field;
    bool inputs_first;            /* the array is (in x out), else (out x in) */
    bool table;                   /* rows of the array are rows of the field */
    int64_t first, group, stride; /* order of outputs along the array's axis of outputs */
    int64_t at, rows;             /* of a table: rows of the field from row `at` */
};
int gnn__arch_keep(const gnn__arch_model_t *made, const gnn__arch_filled_t *filled,
                   const struct gnn__arch_halves *from, bool *done);
/* Makes the field's storage gnn_real_t. */
int gnn__arch_whole(const gnn__arch_model_t *made, const gnn__arch_filled_t *filled,
                    const char *field);
/* Arrays of a part's file to be written, without data: `made` of them come first and are computed
 * from fields, the others are those of the folder, which are in `from` (NULL: new). */
enum { GNN__ARCH_STORED = 4096 };
typedef struct gnn__arch_stored {
    int64_t count, made;
    gnn_array_t arrays[GNN__ARCH_STORED];
    const gnn_array_t *from[GNN__ARCH_STORED];
    char *names[GNN__ARCH_STORED]; /* of the computed ones */
    struct gnn__arch_give *gives;  /* fields that go into them */
    int64_t n_gives, room, n_numbers;
    float *numbers; /* a part of an array */
    const gnn__folder_t *weights;
    gnn_array_t read; /* mapped pages that were given last */
} gnn__arch_stored_t;
/* Converts fields of the model to arrays of a part: those of the part's folder, or new ones if it
 * has no file. */
int gnn__arch_store(const gnn__arch_model_t *made, gnn__arch_part_t *part, gnn__scope_t *scope,
                    gnn__arch_stored_t **stored);
/* The read of a gnn__array_reader_t: `user` is the list. */
int gnn__arch_stored_read(void *user, int64_t array, int64_t at, int64_t count, const void **data);
void gnn__arch_stored_free(gnn__arch_stored_t *stored);
/* A kind of graph; NULL with the known names in the message. */
const gnn__arch_graph_kind_t *gnn__arch_graph_find(const char *name);
/* Kinds of blocks.def and of grids.def. */
typedef struct gnn__arch_graph_kinds {
    const gnn__arch_graph_kind_t *at;
    size_t n;
} gnn__arch_graph_kinds_t;
extern const gnn__arch_graph_kinds_t gnn__arch_blocks, gnn__arch_grids;
/* Spans of senders of receivers, which are added in order of their starts. */
typedef struct gnn__arch_spans {
    int32_t *lo, *hi;
    int64_t n, n_dst, n_src;
    const int32_t *receivers, *senders; /* of gnn_graph_from_spans; the caller's, or NULL */
} gnn__arch_spans_t;
/* Release with gnn__arch_spans_graph, also after an error. */
int gnn__arch_spans_new(gnn__arch_spans_t *spans, int64_t n_dst, int64_t n_src);
void gnn__arch_span(gnn__arch_spans_t *spans, int64_t lo, int64_t hi);
/* The graph of the spans, unless `rc` is an error: receivers without a span receive nothing. */
int gnn__arch_spans_graph(gnn_graph_t **graph, gnn__arch_spans_t *spans, int rc);
/* The count of the rows of all sequences. */
int64_t gnn__arch_all_rows(const gnn__arch_sequences_t *sequences);
/* Merges graphs, unless `rc` is an error, and frees them. */
int gnn__arch_merged(gnn_graph_t **graph, gnn_graph_t **parts, int64_t n, int rc);
/* A function that fills a field with values that depend on its size only; NULL with the known names
 * in the message. */
typedef void (*gnn__arch_maker_t)(const gnn_tensor_t *field);
gnn__arch_maker_t gnn__arch_maker_find(const char *name);
/* The first element of an array that differs by more than 1e-6 from what a maker fills in. */
typedef struct gnn__arch_difference {
    bool found;
    int64_t element;
    double value, made;
} gnn__arch_difference_t;
int gnn__arch_compare(const gnn_array_t *array, const char *maker,
                      gnn__arch_difference_t *difference);
/* Fills a field of at least 16 values with those that PyTorch draws of the normal distribution
 * after torch.manual_seed(seed). */
int gnn__arch_draw(const gnn_tensor_t *field, uint64_t seed);

#endif
