/* Internals of data sets, shared by the readers, the splitter and the built-in sets. */
#ifndef GNN_LIB_DATA_DATA_H
#define GNN_LIB_DATA_DATA_H

#include <gnn/hetero.h>
#include <lib/base/base.h>
#include <lib/data/arrays/text_file.h>

#include <stdatomic.h>
#include <strings.h>

/* An array by name. */
typedef struct gnn__data_array {
    gnn_data_place_t place;
    gnn_array_t array; /* owns name and data */
    gnn_tensor_t rows; /* the values as reals; data NULL if they are integers */
    bool borrowed;     /* data is of the set's owner */
} gnn__data_array_t;

struct gnn_split {
    int64_t rows, count;
    uint8_t *masks[3]; /* (count x rows) a mask per part, 1 or 0 */
};

static inline uint8_t *gnn__split_marks(const gnn_split_t *split, int part, int64_t index)
{
    return split->masks[part] + index * split->rows;
}
/* GNN_ESHAPE: the split is not of `rows` nodes ("nodes"); GNN_EINVALID: no split `index`. */
int gnn__split_fits(const gnn_split_t *split, int64_t rows, const char *what, int64_t index);
/* The same for the nodes of a type, which may have no split. */
int gnn__type_split_fits(const gnn_node_type_t *type);

/* The rows of one rank: a set of them has those of the arrays on nodes, and a graph from all nodes
 * to its own. */
typedef struct gnn__data_rank {
    int64_t n, lo; /* nodes of all ranks, and the first of this one */
    /* edges of all ranks: arrays on edges have a row for each; the first of this one */
    int64_t m, first_edge;
    uint64_t identity; /* of the folder */
    int ranks;
    int64_t *book; /* (ranks + 1) */
} gnn__data_rank_t;

/* Arrays of n rows are in the order of the graph's nodes. */
struct gnn_data {
    gnn_graph_t *graph;
    int64_t n, features, classes;
    gnn_tensor_t x;      /* dense features; data NULL if they are sparse */
    gnn_sparse_t sparse; /* sparse features; indptr NULL if they are dense */
    int32_t *labels;     /* (n) */
    gnn_split_t *split;  /* of the nodes */
    char *name;          /* file name without folder and extension */
    char **class_names;  /* (classes) UTF-8; NULL if classes have no names */
    /* (n) UTF-8, in the order of the file, also after gnn_data_reorder; NULL: nodes have none */
    char **node_names;
    /* (n) after gnn_data_reorder: row r is node order[r] of the file; NULL: as in the file */
    int64_t *order;
    /* (edges) after gnn_data_reorder: edge k was edge edge_order[k]; NULL: unchanged */
    int64_t *edge_order;
    char *unread;    /* arrays of the file that are not in the set, for its description; or NULL */
    int64_t skipped; /* links to nodes that the set does not contain */
    gnn__data_array_t *arrays;
    int64_t n_arrays, arrays_room;
    gnn_graph_t **slots; /* (n_slots) graphs of models with several graph slots */
    int64_t n_slots;
    bool borrowed_x, borrowed_labels; /* borrowed: neither freed nor written */
    gnn_owner_t owner;
    const gnn_limits_t *limits; /* options while opening; NULL: the defaults */
    bool directed;              /* links of the file keep their direction */
    bool undirected;            /* ... must not: the caller has set GNN_OFF */
    bool of_links;              /* its graph was made from a file's links */
    /* the names are the nodes' only ids: the order is that of first appearance in an edge list */
    bool by_words;
    bool counted;           /* its file states the count of nodes, which links do not change */
    gnn__data_rank_t *rank; /* NULL: the set has all of its nodes */
    _Atomic uint64_t sum;   /* gnn__data_sum; 0: not computed since the last change */
};
/* GNN_EUNSUPPORTED: the set has the rows of one rank, `what` (a past participle) needs all. */
int gnn__data_whole(const gnn_data_t *data, const char *what);

/* A hash of the graphs, features and arrays of reals, computed at the first call after a change. */
uint64_t gnn__data_sum(const gnn_data_t *data);
/* Every function that changes what gnn__data_sum reads calls it. */
void gnn__data_changed(gnn_data_t *data);

/* ---- links ---- */

/* Links of a file: a[k] sends to b[k] if the file is directed; further arrays have m rows. */
typedef struct gnn__data_links {
    int64_t n, m; /* nodes, links */
    const int32_t *a, *b;
    int64_t n_arrays;
    const gnn_array_t *arrays;
    bool finite; /* the caller has checked the arrays' values, as the file has them */
} gnn__data_links_t;
/* Makes the set's graph and its edge arrays: both directions of each link, without self-loops and
 * duplicates, senders ascending; or, opened as directed, the links unchanged. O(n + m). Called by
 * every reader of links. */
int gnn__data_links(gnn_data_t *data, const gnn__data_links_t *links);
/* GNN_EUNSUPPORTED: links that are always read as stored (`what`) were to become edges in both
 * directions. */
int gnn__data_as_stored(const gnn_data_t *data, const char *what);
/* m weights as the array "weight". Weights that are all 1 are dropped. */
gnn_array_t gnn__data_weights(const gnn_real_t *weight, int64_t m);
bool gnn__data_all_one(const gnn_real_t *weight, int64_t m);

/* ---- from files: each fills a zeroed data set but for its name; on failure the caller frees it,
 * and the message names the file ---- */

int gnn__data_read_npz(gnn_data_t *data, const char *path);
/* NAME.content and NAME.cites, given either path. */
int gnn__data_read_linqs(gnn_data_t *data, const char *path);
/* A folder of Geom-GCN. */
int gnn__data_read_geom_gcn(gnn_data_t *data, const char *path);
/* JSON of networkx's node_link_data. */
int gnn__data_read_node_link(gnn_data_t *data, const char *path);
/* A folder of any of the formats. */
int gnn__data_read_any_folder(gnn_data_t *data, const char *path);
/* Adds a name to the parts of the file that are not read, which the description lists, once each
 * and up to some 200 characters. */
int gnn__data_note_unread(gnn_data_t *data, const char *name);
/* The folder of a file that is a part of a set, as NAME_A.txt is; NULL if it is a set by itself.
 * Release with gnn_free. */
int gnn__data_folder_of(char **folder, const char *path);
/* A folder as unpacked from OGB's zip. */
int gnn__data_read_ogb(gnn_data_t *data, const char *path);
/* A folder of gnn_partition_write. */
int gnn__data_read_folder(gnn_data_t *data, const char *path);
int gnn__data_read_edge_list(gnn_data_t *data, const char *path);
/* Do the first `length` bytes end in this, ignoring case? */
static inline bool gnn__data_ends_with(const char *text, size_t length, const char *ending)
{
    const size_t n = strlen(ending);
    return length > n && strncasecmp(text + length - n, ending, n) == 0;
}
/* Length of the path without a final ".gz". */
static inline size_t gnn__data_unpacked_length(const char *path)
{
    const size_t length = strlen(path);
    return gnn__data_ends_with(path, length, ".gz") ? length - 3 : length;
}
/* GraphML or GML. */
int gnn__data_read_markup(gnn_data_t *data, const char *path);
/* Does a text with this start (after whitespace) have one of these formats? */
bool gnn__data_markup_head(const char *head);

/* Completes a set that is a graph alone: no features, no labels, one empty split. */
int gnn__data_fill_rest(gnn_data_t *data);
/* Sparse features (n x cols): a 1 in the column of each node; NULL: in its own. After an error
 * gnn_data_free releases what was made. */
int gnn__data_one_hot(gnn_data_t *data, const int32_t *column, int64_t cols);
/* A set of links alone: no features, no labels, one empty split. */
int gnn__data_bare(gnn_data_t *data, const gnn__data_links_t *links);
/* Classes are below this or below the count of nodes: they are counted in an array, and a small
 * file must not allocate gigabytes. */
#define GNN__MOST_CLASSES 65536

/* GNN_EFORMAT: integers of `name` that are amounts, years or ids rather than classes, most likely:
 * over a thousand classes, and more than labelled nodes. */
int gnn__data_check_classes(const gnn_data_t *data, const char *name);
/* Classes by name: labels[k] is the index of words[k] among the names in byte order, -1 if empty.
 * Sets data->class_names and data->classes. */
int gnn__data_class_words(gnn_data_t *data, const gnn__text_t *text, const gnn__text_field_t *words,
                          int64_t count, int32_t *labels);
/* Ids of nodes by which the lines of a CSV name them. */
typedef struct gnn__ids {
    int64_t *node; /* (count) of the lines after the column names; NULL: lines are in order */
    int64_t count;
    int64_t known;      /* nodes whose names are given to gnn__data_ids */
    char *const *names; /* (known) in the order of the file; NULL: ids are integers */
    bool by_words;      /* lines without ids are an error */
    bool grows;         /* other names are of new nodes, else an error */
    char **more;        /* (n_names) names with those of new nodes; NULL: there are none */
    int64_t n_names;
} gnn__ids_t;
/* Finds a column of ids and hides it from gnn__text_field. The text is rewound. The caller sets
 * `known`, `names`, `by_words` and `grows`, and frees by gnn__data_ids_free. GNN_EFORMAT: ids that
 * are words without names of nodes, are of no node, or stand twice; a column that counts the lines
 * and has no name; a column of `features` that is called like labels or a split. */
int gnn__data_ids(gnn__ids_t *ids, gnn__text_t *text, bool features);
/* Are the ids nodes below n, and (`all`) is there a line for each? */
int gnn__data_ids_check(const gnn__ids_t *ids, const gnn__text_t *text, int64_t n, bool all);
void gnn__data_ids_free(gnn__ids_t *ids);

/* Numeric labels other than one column of classes: several labels per node, or real values;
 * `header`: a line of column names may precede them. For anything else *taken is false and the text
 * is rewound. */
int gnn__data_text_labels(gnn_data_t *data, gnn__text_t *text, bool header, bool *taken);
/* The optional arrays class_names and class_name_offsets. */
int gnn__data_read_class_names(gnn_data_t *data, const gnn_arrays_t *arrays);
/* Sets them from `classes` strings. */
int gnn__data_copy_class_names(gnn_data_t *data, const char *const *names);

/* ---- names ---- */

/* Is the text UTF-8 without control characters, so that terminals, JSON and CSV may show it? */
bool gnn__is_name(const char *name, int64_t length);
/* A list of `count` names in one block of `bytes` and a 0 after each; names[0] is the block, the
 * caller sets the others. */
int gnn__new_names(char ***names, int64_t count, int64_t bytes, char **block);
void gnn__free_names(char ***names);
/* The names of two arrays of a file, bytes and offsets; list: what they name, and the arrays'
 * names. Unchanged without the first array. The caller frees *names, on failure too. GNN_EFORMAT:
 * fewer than `least`. */
int gnn__read_names(char ***names, int64_t least, int64_t *count, const gnn_arrays_t *arrays,
                    const char *const list[3]);
/* The optional arrays names and name_offsets, of nodes. */
int gnn__data_read_node_names(gnn_data_t *data, const gnn_arrays_t *arrays);
/* Finds nodes by name: node[k] is the index of fields[k] among `names` (known), to which new ones
 * are appended by first appearance: *more (n_more), or NULL if all are known. Makes O(n log n)
 * comparisons for n names and fields, whatever they are. GNN_EFORMAT: no name of a node. */
int gnn__number_names(char ***more, int64_t *n_more, char *const *names, int64_t known,
                      const gnn__text_t *text, const gnn__text_field_t *fields, int64_t count,
                      int64_t *node);

/* ---- parts ---- */

/* Fills a zeroed data set from the arrays of a file in any layout (docs/formats.md). On failure the
 * caller frees it. */
int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays);

/* Fills `to` with `from` in another order: row r is row order[r] of the graph (if any), features,
 * labels and masks; arrays are left out, the rest is copied unchanged. The caller frees the rows,
 * on failure too. */
int gnn__data_arrange(gnn_data_t *to, const gnn_data_t *from, const int64_t *order);
/* Fills the arrays that `to` still lacks: on nodes, row r is row nodes[r], on edges row edges[r];
 * elsewhere, or if an order is NULL, rows are unchanged. */
int gnn__data_arrange_arrays(gnn_data_t *to, const gnn_data_t *from, const int64_t *nodes,
                             const int64_t *edges);
/* Copies borrowed features before they are modified. */
int gnn__data_own_features(gnn_data_t *data);
/* Frees features unless they are borrowed; the set has none then. */
void gnn__data_free_features(gnn_data_t *data);
/* Features (rows x cols), all 0, for gnn_free(x->data). GNN_EOVERFLOW: their count is too large. */
int gnn__data_new_rows(gnn_tensor_t *x, int64_t rows, int64_t cols);
/* Frees graph, features, labels, masks and arrays. */
void gnn__data_free_rows(gnn_data_t *data);
void gnn__data_free_slots(gnn_data_t *data);
/* The error of a function that needs one graph of all nodes, for a set of several graphs. */
int gnn__data_one_graph(const gnn_data_t *data, const char *what);
/* Rows of arrays on nodes, edges or graphs; -1: any count. */
int64_t gnn__data_rows_on(const gnn_data_t *data, gnn_data_place_t place);
void gnn__data_free_arrays(gnn_data_t *data);
/* gnn_data_array_set; `finite`: the values are, and are not checked again. */
int gnn__data_array_copy(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array,
                         bool finite);
/* gnn_data_array_set of values that are neither copied nor checked and stay with the set's owner:
 * integers, or reals of the library's type. */
int gnn__data_array_borrow(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array);
/* Sets the edge array `name` of `cols` reals per edge, from values in the order of the graph's
 * edges. */
int gnn__data_edge_reals(gnn_data_t *data, const char *name, int64_t cols, const gnn_real_t *values);
/* GNN_EINVALID: a split of a labelled set contains a node without a label (named). */
int gnn__data_split_labelled(const gnn_data_t *data, const gnn_split_t *split);
/* A random split for a set without one: 20 training nodes per class but at most half of it, then
 * 500 for validation and 1000 for testing, or a third and two thirds of the rest if there are
 * fewer. Depends on labels and seed only. */
int gnn__data_default_split(gnn_data_t *data, uint64_t seed);
/* order = 0..n-1 shuffled by `seed`. */
void gnn__data_shuffle(int32_t *order, int64_t n, uint64_t seed);

/* Copies splits: the copy is the caller's, for gnn_split_free.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY */
int gnn__split_copy(gnn_split_t **split, const gnn_split_t *of);

#endif
