/* Inside of data sets: what the readers, the splitter and the small built-in sets share. */
#ifndef GNN_LIB_IO_DATA_H
#define GNN_LIB_IO_DATA_H

#include <gnn/hetero.h>
#include <lib/base/base.h>
#include <lib/io/arrays/text_file.h>

#include <strings.h>

/* An array by name. */
typedef struct gnn__data_array {
    gnn_data_place_t place;
    gnn_array_t array; /* name and data are its own */
    gnn_tensor_t rows; /* the same numbers; data NULL if they are whole */
} gnn__data_array_t;

struct gnn_split {
    int64_t rows, count;
    uint8_t *masks[3]; /* (count x rows) of each part, 1 or 0 */
};

static inline uint8_t *gnn__split_marks(const gnn_split_t *split, int part, int64_t index)
{
    return split->masks[part] + index * split->rows;
}
/* GNN_ESHAPE, GNN_EINVALID: a split of other rows than `rows` nodes ("nodes"), or without split
 * `index`. */
int gnn__split_fits(const gnn_split_t *split, int64_t rows, const char *what, int64_t index);
/* The same of a type's nodes; a type without a split is fine. */
int gnn__type_split_fits(const gnn_node_type_t *type);

/* Arrays of n rows are in the order of the graph's nodes. */
struct gnn_data {
    gnn_graph_t *graph;
    int64_t n, features, classes;
    gnn_tensor_t x;      /* dense features; data NULL if they are sparse */
    gnn_sparse_t sparse; /* sparse features; indptr NULL if they are dense */
    int32_t *labels;     /* (n) */
    gnn_split_t *split;  /* of the nodes */
    char *name;          /* of the file, without folder and ending */
    char **class_names;  /* (classes) UTF-8; NULL if the classes are numbers only */
    /* (n) after gnn_data_reorder: row r is node order[r] of the file; NULL: as in the file */
    int64_t *order;
    /* (edges) after gnn_data_reorder: edge k was number edge_order[k]; NULL: as it was */
    int64_t *edge_order;
    int64_t skipped; /* links that name a node that the set does not hold */
    gnn__data_array_t *arrays;
    int64_t n_arrays, arrays_room;
    gnn_graph_t **slots; /* (n_slots) graphs of models that run on so many */
    int64_t n_slots;
    bool borrowed_x, borrowed_labels; /* the owner's: neither freed nor written */
    gnn_owner_t owner;
    const gnn_limits_t *limits; /* while it is opened; NULL: the defaults */
    bool directed;              /* links of its file are kept as they are stored */
    bool of_links;              /* its graph was made of a file's links */
};

/* ---- links ---- */

/* Links of a file: a[k] sends to b[k] if the file tells apart, and what else it says of each, an
 * array with m rows. */
typedef struct gnn__data_links {
    int64_t n, m; /* nodes, links */
    const int32_t *a, *b;
    int64_t n_arrays;
    const gnn_array_t *arrays;
} gnn__data_links_t;
/* Makes the set's graph and its edge arrays: both directions of each link, without self-loops and
 * duplicates, senders ascending; or, where the set is opened as directed, the links as they are.
 * O(n + m). Each reader of links ends here. */
int gnn__data_links(gnn_data_t *data, const gnn__data_links_t *links);
/* m weights as the array "weight". Weights that are all 1 say nothing, and are not kept. */
gnn_array_t gnn__data_weights(const gnn_real_t *weight, int64_t m);
bool gnn__data_all_one(const gnn_real_t *weight, int64_t m);

/* ---- from files: each fills a zeroed data set but for its name; on failure the caller frees it,
 * and the message names the file ---- */

int gnn__data_read_npz(gnn_data_t *data, const char *path);
/* NAME.content and NAME.cites, by either path. */
int gnn__data_read_linqs(gnn_data_t *data, const char *path);
/* A folder as OGB unpacks it. */
int gnn__data_read_ogb(gnn_data_t *data, const char *path);
int gnn__data_read_edge_list(gnn_data_t *data, const char *path);
/* Do the first `length` bytes end so, in letters of any case? */
static inline bool gnn__data_ends_with(const char *text, size_t length, const char *ending)
{
    const size_t n = strlen(ending);
    return length > n && strncasecmp(text + length - n, ending, n) == 0;
}
/* The path's length without a ".gz" at its end. */
static inline size_t gnn__data_unpacked_length(const char *path)
{
    const size_t length = strlen(path);
    return gnn__data_ends_with(path, length, ".gz") ? length - 3 : length;
}
/* GraphML or GML. */
int gnn__data_read_markup(gnn_data_t *data, const char *path);
/* Does a text that begins so (whitespace aside) belong to one of them? */
bool gnn__data_markup_head(const char *head);

/* What a set of a graph alone lacks: no features, no labels, one split that holds no node. */
int gnn__data_fill_rest(gnn_data_t *data);
/* A set that is its links alone: no features, no labels, one split that holds no node. */
int gnn__data_bare(gnn_data_t *data, const gnn__data_links_t *links);
/* A class is a number below this, or below the number of nodes: labels are counted, and a file of a
 * few bytes must not ask for gigabytes. */
#define GNN__MOST_CLASSES 65536

/* Classes by name: labels[k] is the place of words[k] among the names in the order of their bytes,
 * -1 where it is empty. data->class_names and data->classes come from it. */
int gnn__data_class_words(gnn_data_t *data, const gnn__text_t *text, const gnn__text_field_t *words,
                          int64_t count, int32_t *labels);
/* Labels of a text of numbers that are not classes in one column: several labels of each node, or
 * real values; `header`: words may stand above them. *taken is false, and the text rewound, where
 * it holds something else. */
int gnn__data_text_labels(gnn_data_t *data, gnn__text_t *text, bool header, bool *taken);
/* The optional arrays class_names and class_name_offsets. */
int gnn__data_read_class_names(gnn_data_t *data, const gnn_arrays_t *arrays);
/* From `classes` strings. */
int gnn__data_copy_class_names(gnn_data_t *data, const char *const *names);
void gnn__data_free_class_names(gnn_data_t *data);

/* ---- parts ---- */

/* Fills a zeroed data set from the arrays of a file, in whichever layout they are
 * (docs/formats.md). On failure the caller frees it. */
int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays);

/* Fills `to` with `from` in another order: row r is row order[r], in the graph, if there is one,
 * and in features, labels and masks; arrays are left out, the rest is copied as it stands. On
 * failure, and in the end, the caller frees the rows. */
int gnn__data_arrange(gnn_data_t *to, const gnn_data_t *from, const int64_t *order);
/* Fills the arrays that `to` lacks yet: on nodes, row r is row nodes[r], on edges row edges[r];
 * elsewhere, and where an order is NULL, rows stay as they are. */
int gnn__data_arrange_arrays(gnn_data_t *to, const gnn_data_t *from, const int64_t *nodes,
                             const int64_t *edges);
/* Makes borrowed features the set's own, before they are written. */
int gnn__data_own_features(gnn_data_t *data);
/* Frees graph, features, labels, masks and arrays. */
void gnn__data_free_rows(gnn_data_t *data);
void gnn__data_free_slots(gnn_data_t *data);
/* What a step that needs one graph of all nodes says of a set that has others. */
int gnn__data_one_graph(const gnn_data_t *data, const char *what);
/* Rows of a place: its arrays have so many. -1: any number. */
int64_t gnn__data_rows_on(const gnn_data_t *data, gnn_data_place_t place);
void gnn__data_free_arrays(gnn_data_t *data);
/* Sets the edge array `name` of `cols` reals an edge, from values in the order of the graph's
 * edges. */
int gnn__data_edge_reals(gnn_data_t *data, const char *name, int64_t cols, const gnn_real_t *values);
/* GNN_EINVALID names a node without a label that a split of a set with labels takes. */
int gnn__data_split_labelled(const gnn_data_t *data, const gnn_split_t *split);
/* Draws the one split of a set that came without: train 20 a class but no more than half of it,
 * then 500 for validation and 1000 for testing, a third and two thirds of the rest where there are
 * fewer. Depends on labels and seed only. */
int gnn__data_default_split(gnn_data_t *data, uint64_t seed);
/* order = 0..n-1 shuffled by `seed`. */
void gnn__data_shuffle(int32_t *order, int64_t n, uint64_t seed);

#endif
