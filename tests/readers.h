/* Shared by the suites of data readers: text files, gzipped ones, OGB's folder. */
#ifndef GNN_TESTS_READERS_H
#define GNN_TESTS_READERS_H

#include "io_bytes.h"

#include <ftw.h>
#include <graphs/graph.h>
#include <sys/stat.h>
#include <zlib.h>

static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

/* The text as one gzip member. */
static inline size_t pack(const void *text, size_t n, unsigned char *out, size_t room)
{
    z_stream z = {.next_in = (unsigned char *)text,
                  .avail_in = (unsigned)n,
                  .next_out = out,
                  .avail_out = (unsigned)room};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t length = room - z.avail_out;
    deflateEnd(&z);
    return length;
}

static inline const char *write_packed(const char *name, const char *text)
{
    static unsigned char packed[1 << 16];
    return write_bytes(name, packed, pack(text, strlen(text), packed, sizeof packed));
}

/* Opens what must be good. */
static inline gnn_data_t *opened(const char *path)
{
    gnn_data_t *data = NULL;
    ck_ok(gnn_data_open(&data, path));
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    ck_assert_int_eq(gnn_graph_n_dst(gnn_data_graph(data)), gnn_data_nodes(data));
    return data;
}

/* Nothing is handed out, and the message starts with the file's name. */
static inline void ck_refused(const char *path, const char *name, int code, const char *words)
{
    gnn_data_t *data = (gnn_data_t *)1;
    ck_fails(gnn_data_open(&data, path), code, words);
    ck_assert_ptr_null(data);
    ck_assert_msg(strncmp(gnn_error_message(), name, strlen(name)) == 0, "\"%s\" does not name %s",
                  gnn_error_message(), name);
}

/* Messages as text: "0<1 1<0 1<2 2<1". */
static inline const char *messages(const gnn_data_t *data)
{
    static char text[4096];
    int64_t m = gnn_graph_n_pairs(gnn_data_graph(data)), src[256], dst[256];
    size_t at = 0;
    ck_assert_int_le(m, 256);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), src, dst, NULL));
    text[0] = '\0';
    for (int64_t k = 0; k < m; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld<%lld", k ? " " : "",
                               (long long)dst[k], (long long)src[k]);
    return text;
}

static inline void ck_labels(const gnn_data_t *data, int64_t n, const int32_t *labels)
{
    ck_assert_int_eq(gnn_data_nodes(data), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(gnn_data_labels(data)[i] == labels[i], "label of node %d: %d, expected %d",
                      (int)i, gnn_data_labels(data)[i], labels[i]);
}

/* Feature (i, c), stored sparsely or not. */
static inline double feature(const gnn_data_t *data, int64_t i, int64_t c)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    for (int64_t k = s ? s->indptr[i] : 0; s && k < s->indptr[i + 1]; k++)
        if (s->indices[k] == c)
            return (double)s->values[k];
    return s ? 0 : (double)gnn_data_x(data)->data[i * gnn_data_features(data) + c];
}

static inline void ck_same_set(const gnn_data_t *a, const gnn_data_t *b)
{
    char first[4096];
    snprintf(first, sizeof first, "%s", messages(a));
    ck_assert_str_eq(first, messages(b));
    ck_labels(b, gnn_data_nodes(a), gnn_data_labels(a));
    ck_assert_int_eq(gnn_data_features(a), gnn_data_features(b));
    ck_assert_int_eq(gnn_data_classes(a), gnn_data_classes(b));
    ck_assert_int_eq(gnn_data_splits(a), gnn_data_splits(b));
    ck_assert_int_eq(gnn_data_sparse(a) != NULL, gnn_data_sparse(b) != NULL);
    for (int64_t i = 0; i < gnn_data_nodes(a); i++)
        for (int64_t c = 0; c < gnn_data_features(a); c++)
            ck_assert(feature(a, i, c) == feature(b, i, c));
    for (int k = 0; k < 3; k++)
        for (int64_t s = 0; s < gnn_data_splits(a); s++)
            ck_assert_mem_eq(gnn_data_mask(a, k, s), gnn_data_mask(b, k, s),
                             (size_t)gnn_data_nodes(a));
    ck_assert_int_eq(gnn_data_class_names(a) != NULL, gnn_data_class_names(b) != NULL);
    for (int64_t c = 0; gnn_data_class_names(a) && c < gnn_data_classes(a); c++)
        ck_assert_str_eq(gnn_data_class_names(a)[c], gnn_data_class_names(b)[c]);
}

/* ---- LINQS ---- */

#define CONTENT \
    "n1\t0\t1\t0\tTheory\nn2\t1\t1\t0\tAgents\nzz top\t0\t0\t1\tTheory\nn4\t0\t0\t0\tML\n"
#define CITES "n1\tn2\nn2\tn1\nzz top\tn1\nn4\tn9\nghost\tn1\nn4\tn4\n"

/* ---- OGB ---- */

#define OGB_PARTS 7
typedef struct part {
    const char *name, *text;
} part_t;
static const part_t ogb[OGB_PARTS] = {
    {"raw/num-node-list.csv.gz", "4\n"},
    {"raw/node-label.csv.gz", "0\n2\n1.0\nnan\n"},
    {"raw/edge.csv.gz", "0,1\n1,2\n3,3\n3,0\n"},
    {"raw/node-feat.csv.gz", "0.5,-1\n1e-3,2\n3,4\n-0.25,6\n"},
    {"split/time/train.csv.gz", "0\n"},
    {"split/time/valid.csv.gz", "1\n"},
    {"split/time/test.csv.gz", "2\n"},
};

static inline int remove_one(const char *path, const struct stat *s, int flag, struct FTW *at)
{
    (void)s, (void)flag, (void)at;
    return remove(path);
}

/* The folder `to` with raw/ and one scheme of splits, one of its parts replaced; text NULL: left
 * out. */
static inline const char *write_parts(const char *to, const char *scheme, int count,
                                      const part_t *parts, const char *part, const char *text)
{
    const char *const folders[] = {"", "/raw", "/split", scheme};
    char name[128];
    nftw(in_folder(to), remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++) {
        snprintf(name, sizeof name, "%s%s", to, folders[k]);
        mkdir(in_folder(name), 0700);
    }
    for (int k = 0; k < count; k++) {
        bool changed = part && strcmp(part, parts[k].name) == 0;
        snprintf(name, sizeof name, "%s/%s", to, parts[k].name);
        if (!changed || text)
            write_packed(name, changed ? text : parts[k].text);
    }
    return in_folder(to);
}

static inline const char *write_ogb(const char *part, const char *text)
{
    return write_parts("tiny_ogb", "/split/time", OGB_PARTS, ogb, part, text);
}

static inline void remove_tree(void)
{
    ck_assert_int_eq(nftw(test_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- GraphML ---- */

#define GRAPHML                                                                               \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                            \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"                             \
    "<key id=\"d0\" for=\"node\" attr.name=\"size\" attr.type=\"double\"/>\n"                 \
    "<graph id=\"G\" edgedefault=\"undirected\">\n"                                           \
    "<node id=\"a\"><data key=\"d0\">0.5</data></node>\n<node id=\"b\"/>\n<node id=\"c\"/>\n" \
    "<edge source=\"a\" target=\"b\"/>\n<edge source=\"b\" target=\"c\"/>\n"                  \
    "</graph>\n</graphml>\n"

/* ---- GML: three nodes, weights 0.5 and 4 ---- */

#define GML                                                                      \
    "graph [\n# x\n node [ id 5 label \"a\" ]\n node [ id 7 ]\n node [ id 9 ]\n" \
    " edge [ source 5 target 7 weight 0.5 ]\n edge [ source 7 target 9 weight 4 ]\n]\n"

#endif
