/* Data sets: the real ones if available, and every layout made by the test. */
#include "data_tiny.h"

#include <gnn/graph.h>
#include <graphs/graph.h>
#include <lib/base/base.h>
#include <math.h>

static gnn_data_t *open_tiny(int count, const gnn_array_t *changes)
{
    gnn_data_t *data = NULL;
    ck_ok(gnn_data_open(&data, write_tiny(count, changes)));
    ck_assert_int_eq(gnn_data_nodes(data), 4);
    ck_assert_str_eq(gnn_data_name(data), "tiny");
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    return data;
}

static void check_messages(const gnn_data_t *data, int count, const int64_t *src, const int64_t *dst)
{
    int64_t s[16], d[16];
    ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(data)), count);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), s, d, NULL));
    for (int k = 0; k < count; k++)
        ck_assert_msg(s[k] == src[k] && d[k] == dst[k], "message %d goes from %d to %d", k,
                      (int)s[k], (int)d[k]);
}

static const int64_t tiny_src[6] = {1, 3, 0, 2, 1, 0}, tiny_dst[6] = {0, 0, 1, 1, 2, 3};

START_TEST(planetoid_layout)
{
    gnn_data_t *data = open_tiny(0, NULL);
    char text[300];
    check_messages(data, 6, tiny_src, tiny_dst);
    ck_assert_int_eq(gnn_data_features(data), 3);
    ck_assert_int_eq(gnn_data_classes(data), 3);
    ck_assert_mem_eq(gnn_data_labels(data), ((const int32_t[]){0, 2, 2, -1}), 16);
    ck_ok(gnn__sparse_validate(gnn_data_sparse(data), "features"));
    ck_assert_int_eq(gnn_data_sparse(data)->indptr[4], 4);
    ck_assert(gnn_data_sparse(data)->values[1] == 3 && gnn_data_sparse(data)->indices[1] == 2 &&
              !gnn_data_x(data));
    ck_assert_int_eq(gnn_data_splits(data), 1);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(gnn_data_mask(data, k, 0)[i], i == k);
    gnn_data_describe(data, text, sizeof text);
    ck_assert_str_eq(
        text,
        "tiny: 4 nodes, 6 messages (links both ways), 3 sparse features (4 stored), 3 classes; 1 split: 1 train, 1 validation, 1 test");
    for (size_t n = 0; n < 60; n++) {
        char cut[61];
        memset(cut, 'x', sizeof cut);
        gnn_data_describe(data, cut, n);
        ck_assert(n == 0 || (strlen(cut) == n - 1 && strncmp(cut, text, n - 1) == 0));
        ck_assert_int_eq(cut[n], 'x');
    }
    gnn_data_free(data);
}
END_TEST

START_TEST(heterophilous_layout)
{
    const gnn_array_t arrays[] = {
        MATRIX("node_features", GNN_DTYPE_FLOAT64, double, 3, 2, 1, 3, 0, 0, -1, 2),
        INT64("node_labels", 3, 1, 0, 1),
        MATRIX("edges", GNN_DTYPE_INT64, int64_t, 4, 2, 2, 0, 0, 2, 1, 1, 0, 1),
        MATRIX("train_masks", GNN_DTYPE_BOOL, uint8_t, 2, 3, 1, 0, 0, 0, 1, 0),
        MATRIX("val_masks", GNN_DTYPE_BOOL, uint8_t, 2, 3, 0, 1, 0, 0, 0, 1),
        MATRIX("test_masks", GNN_DTYPE_BOOL, uint8_t, 2, 3, 0, 0, 1, 1, 0, 0),
    };
    gnn_data_t *data;
    char text[300];
    ck_ok(gnn_npz_write(in_folder("few.edges.npz"), 6, arrays));
    ck_ok(gnn_data_open(&data, in_folder("few.edges.npz")));
    check_messages(data, 4, (const int64_t[]){1, 2, 0, 0}, (const int64_t[]){0, 0, 1, 2});
    ck_assert(!gnn_data_sparse(data) && gnn_data_x(data)->rows == 3 &&
              gnn_data_x(data)->cols == 2 && gnn_data_x(data)->data[5] == 2);
    ck_assert(gnn_data_mask(data, GNN_TRAIN, 1)[1] == 1 &&
              gnn_data_mask(data, GNN_TEST, 1)[0] == 1 && gnn_data_mask(data, GNN_TEST, 0)[0] == 0);
    gnn_data_describe(data, text, sizeof text);
    ck_assert_str_eq(
        text,
        "few.edges: 3 nodes, 4 messages (links both ways), 2 dense features, 2 classes; 2 splits, the first: 1 train, 1 validation, 1 test");
    ck_ok(gnn_data_row_normalise(data));
    const gnn_real_t want[6] = {(gnn_real_t)0.25, (gnn_real_t)0.75, 0, 0, -1, 2};
    ck_assert_mem_eq(gnn_data_x(data)->data, want, sizeof want);
    gnn_data_free(data);
}
END_TEST

START_TEST(sparse_rows_are_normalised)
{
    gnn_data_t *data = open_tiny(0, NULL);
    ck_ok(gnn_data_row_normalise(data));
    const gnn_real_t want[4] = {(gnn_real_t)0.25, (gnn_real_t)0.75, 1, 1};
    ck_assert_mem_eq(gnn_data_sparse(data)->values, want, sizeof want);
    gnn_data_free(data);
    ck_fails(gnn_data_row_normalise(NULL), GNN_EINVALID, "data is NULL");
}
END_TEST

/* Rows 1 3, -2, nothing, 0.5; stored densely, too. */
START_TEST(rows_are_scaled_to_length_one)
{
    const gnn_array_t dense[] = {{.name = "attr_indptr", .ndim = -1},
                                 MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 2, 3, -4, 0, 0, 0, 2, 1, 0)};
    const double one = 1 / sqrt(10);
    gnn_data_t *data = open_tiny(0, NULL);
    ck_ok(gnn_data_row_unit(data));
    const gnn_real_t want[4] = {(gnn_real_t)one, (gnn_real_t)(3 * one), -1, 1};
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol((double)gnn_data_sparse(data)->values[k], (double)want[k], 1e-7);
    gnn_data_free(data);
    data = open_tiny(2, dense);
    ck_ok(gnn_data_row_unit(data));
    const gnn_real_t rows[8] = {(gnn_real_t)0.6, (gnn_real_t)-0.8, 0, 0, 0, 1, 1, 0};
    for (int k = 0; k < 8; k++)
        ck_assert_double_eq_tol((double)gnn_data_x(data)->data[k], (double)rows[k], 1e-7);
    gnn_data_x(data)->data[2] = (gnn_real_t)INFINITY;
    ck_fails(gnn_data_row_unit(data), GNN_ENUMERIC, "the squared features of node 1 add up to inf");
    gnn_data_free(data);
    ck_fails(gnn_data_row_unit(NULL), GNN_EINVALID, "data is NULL");
}
END_TEST

START_TEST(dense_rows_become_sparse)
{
    const gnn_array_t dense[] = {{.name = "attr_indptr", .ndim = -1},
                                 MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 2, 3, -4, 0, 0, 0, 2, 1, 0)};
    gnn_data_t *data = open_tiny(2, dense);
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_data_to_sparse(data));
        const gnn_sparse_t *s = gnn_data_sparse(data);
        ck_assert(!gnn_data_x(data) && s->rows == 4 && s->cols == 2 && gnn_data_features(data) == 2);
        ck_assert_mem_eq(s->indptr, ((const int64_t[]){0, 2, 2, 3, 4}), 40);
        ck_assert_mem_eq(s->indices, ((const int32_t[]){0, 1, 1, 0}), 16);
        ck_assert(s->values[0] == 3 && s->values[1] == -4 && s->values[2] == 2 && s->values[3] == 1);
    }
    gnn_data_free(data);
    ck_fails(gnn_data_to_sparse(NULL), GNN_EINVALID, "data");
}
END_TEST

START_TEST(sparse_columns_are_standardised_like_dense_ones)
{
    const gnn_array_t rows[] = {{.name = "attr_indptr", .ndim = -1},
                                MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 2, 3, -4, 0, 0, 0, 2, 1, 0)};
    gnn_data_t *dense = open_tiny(2, rows), *sparse = open_tiny(2, rows);
    ck_ok(gnn_data_to_sparse(sparse));
    gnn_real_t *stored = (gnn_real_t *)gnn_data_sparse(sparse)->values;
    stored[1] = (gnn_real_t)INFINITY;
    ck_fails(gnn_data_standardise(sparse, -1), GNN_ENUMERIC, "row 0, column 1 is inf");
    ck_assert(!gnn_data_x(sparse) && gnn_data_sparse(sparse)->values[0] == 3);
    stored[1] = -4;
    ck_ok(gnn_data_standardise(sparse, -1));
    ck_ok(gnn_data_standardise(dense, -1));
    ck_assert(!gnn_data_sparse(sparse) && gnn_data_x(sparse)->rows == 4);
    ck_assert_mem_eq(gnn_data_x(sparse)->data, gnn_data_x(dense)->data, 8 * sizeof(gnn_real_t));
    gnn_data_free(sparse);
    gnn_data_free(dense);
}
END_TEST

/* 0 .. 6 has mean 3 and deviation 2. The mean of seven values 0.1 has a rounding error, which is
 * not a deviation: the column becomes 0. */
START_TEST(a_constant_column_is_standardised_to_0)
{
    enum { ROWS = 7 };
    gnn_real_t x[ROWS][3];
    gnn_data_t *data;
    for (int k = 0; k < ROWS; k++) {
        x[k][0] = (gnn_real_t)k;
        x[k][1] = (gnn_real_t)0.1;
        x[k][2] = (gnn_real_t)0.3;
    }
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){
                                  .nodes = ROWS,
                                  .edges = 1,
                                  .src = gnn_ints(((int32_t[]){0})),
                                  .dst = gnn_ints(((int32_t[]){1})),
                                  .x = &(gnn_tensor_t){.data = x[0], .rows = ROWS, .cols = 3},
                              }));
    ck_ok(gnn_data_standardise(data, -1));
    for (int k = 0; k < ROWS; k++) {
        const gnn_real_t *row = gnn__row(gnn_data_x(data), k);
        ck_assert_double_eq_tol((double)row[0], (k - 3) / 2.0, 1e-6);
        ck_assert(fabs((double)row[1]) < 1e-6 && fabs((double)row[2]) < 1e-6);
    }
    gnn_data_free(data);
}
END_TEST

START_TEST(other_names_and_types)
{
    const gnn_array_t no_attr[] = {{.name = "attr_indptr", .ndim = -1},
                                   MATRIX("attr_matrix", GNN_DTYPE_UINT8, uint8_t, 4, 1, 1, 2, 3, 4)};
    gnn_data_t *data = open_tiny(2, no_attr);
    ck_assert(gnn_data_x(data) && gnn_data_x(data)->data[3] == 4);
    gnn_data_free(data);
    const gnn_array_t x[] = {{.name = "attr_indptr", .ndim = -1},
                             MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 2, 1, 2, 3, 4, 5, 6, 7, 8),
                             FLOAT64("adj_data", 5, 1, 1, 1, 1, 1),
                             {"labels", GNN_DTYPE_UINT8, 1, {4}, 4, "\3\0\1\2"}};
    data = open_tiny(4, x);
    ck_assert(gnn_data_x(data)->data[7] == 8 && gnn_data_classes(data) == 4 &&
              gnn_data_labels(data)[0] == 3);
    gnn_data_free(data);
}
END_TEST

/* The names that scipy's matrices have in the .npz files of gasteigerjo/ppnp, and those without
 * "matrix": the same set. */
START_TEST(matrices_of_scipy_by_their_names)
{
    const gnn_array_t ones = FLOAT64("", 5, 1, 1, 1, 1, 1);
    static const char *const parts[] = {"indptr", "indices", "shape", "data"}, *const between[] = {
                                                                                   "_matrix.", "."};
    for (int way = 0; way < 2; way++) {
        static char names[8][40];
        gnn_array_t changes[16];
        int n = 0;
        for (int k = 0; k < 8; k++) {
            char old[40];
            const char *const matrix = k < 4 ? "adj" : "attr";
            snprintf(old, sizeof old, "%s_%s", matrix, parts[k % 4]);
            snprintf(names[k], sizeof *names, "%s%s%s", matrix, between[way], parts[k % 4]);
            int at = 0;
            while (at < PARTS && strcmp(tiny[at].name, old) != 0)
                at++;
            gnn_array_t moved = at < PARTS ? tiny[at] : ones;
            moved.name = names[k];
            if (at < PARTS)
                changes[n++] = (gnn_array_t){.name = tiny[at].name, .ndim = -1};
            changes[n++] = moved;
        }
        gnn_data_t *data = open_tiny(n, changes), *plain = open_tiny(0, NULL);
        ck_assert_int_eq(gnn_data_nodes(data), 4);
        ck_assert_int_eq(gnn_data_features(data), 3);
        ck_assert_int_eq(gnn_graph_n_edges(gnn_data_graph(data)),
                         gnn_graph_n_edges(gnn_data_graph(plain)));
        ck_assert_mem_eq(gnn_data_sparse(data)->values, gnn_data_sparse(plain)->values,
                         4 * sizeof(gnn_real_t));
        gnn_data_free(data);
        gnn_data_free(plain);
    }
}
END_TEST

/* ---- drawn splits ---- */

static int64_t count_marked(const gnn_data_t *data, int kind, int label)
{
    int64_t count = 0;
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        count += gnn_data_mask(data, kind, 0)[i] && (label < 0 || gnn_data_labels(data)[i] == label);
    return count;
}

static void check_disjoint(const gnn_data_t *data)
{
    for (int64_t s = 0; s < gnn_data_splits(data); s++)
        for (int64_t i = 0; i < gnn_data_nodes(data); i++)
            ck_assert_int_le(gnn_data_mask(data, 0, s)[i] + gnn_data_mask(data, 1, s)[i] +
                                 gnn_data_mask(data, 2, s)[i],
                             gnn_data_labels(data)[i] >= 0);
}

/* `n` nodes without edges in classes of unequal size; every tenth has no label. */
static gnn_data_t *open_unsplit(int64_t n)
{
    int64_t *zeros = calloc((size_t)n + 1, sizeof *zeros), shape[2] = {n, n};
    int32_t *labels = malloc((size_t)n * sizeof *labels);
    for (int64_t i = 0; i < n; i++)
        labels[i] = i % 10 == 9 ? -1 : i % 7 == 0 ? 0 : i % 2 ? 1 : 2;
    const gnn_array_t arrays[] = {{"adj_indptr", GNN_DTYPE_INT64, 1, {n + 1}, n + 1, zeros},
                                  {"adj_indices", GNN_DTYPE_INT32, 1, {0}, 0, NULL},
                                  {"adj_shape", GNN_DTYPE_INT64, 1, {2}, 2, shape},
                                  {"x", GNN_DTYPE_FLOAT32, 2, {n, 0}, 0, NULL},
                                  {"labels", GNN_DTYPE_INT32, 1, {n}, n, labels}};
    gnn_data_t *data;
    ck_ok(gnn_npz_write(in_folder("unsplit.npz"), 5, arrays));
    ck_ok(gnn_data_open(&data, in_folder("unsplit.npz")));
    free(zeros);
    free(labels);
    return data;
}

START_TEST(drawn_splits)
{
    gnn_data_t *data = open_unsplit(3000), *again = open_unsplit(3000);
    for (int c = 0; c < 3; c++)
        ck_assert_int_eq(count_marked(data, GNN_TRAIN, c), 20);
    ck_assert_int_eq(count_marked(data, GNN_VALIDATION, -1), 500);
    ck_assert_int_eq(count_marked(data, GNN_TEST, -1), 1000);
    check_disjoint(data);
    for (int k = 0; k < 3; k++)
        ck_assert_mem_eq(gnn_data_mask(data, k, 0), gnn_data_mask(again, k, 0), 3000);
    gnn_data_free(data);
    gnn_data_free(again);
    data = open_unsplit(70); /* 63 with a label: 9 of class 0 */
    ck_assert_int_eq(count_marked(data, GNN_TRAIN, 0), 5);
    ck_assert_int_le(count_marked(data, GNN_TRAIN, 1), 20);
    int64_t rest = 63 - count_marked(data, GNN_TRAIN, -1);
    ck_assert_int_eq(count_marked(data, GNN_VALIDATION, -1), rest / 3);
    ck_assert_int_eq(count_marked(data, GNN_TEST, -1), rest - rest / 3);
    check_disjoint(data);
    gnn_data_free(data);
    data = open_unsplit(1);
    ck_assert_int_eq(count_marked(data, GNN_TRAIN, -1), 1);
    gnn_data_free(data);
}
END_TEST

/* ---- real sets ---- */

static const struct {
    const char *file, *words;
    /* counted by numpy: sum of all features and labels, sum of (31 src + 17 dst) mod 1009 over
     * messages, sums of the marked nodes' positions */
    double features;
    int64_t labels, messages, marked[3];
} real_sets[] = {
    {"planetoid/cora.npz",
     "cora: 2,708 nodes, 10,556 messages (links both ways), 1,433 sparse features (49,216 stored), 7 classes; "
     "1 split: 140 train, 500 validation, 1,000 test",
     49216,
     7781,
     5355150,
     {9730, 194750, 2207500}},
    {"planetoid/citeseer.npz",
     "citeseer: 3,327 nodes, 9,104 messages (links both ways), 3,703 sparse features (105,165 stored), 6 classes; "
     "1 split: 120 train, 500 validation, 1,000 test",
     105165,
     8953,
     4588865,
     {7140, 184750, 2816427}},
    {"planetoid/pubmed.npz",
     "pubmed: 19,717 nodes, 88,648 messages (links both ways), 500 sparse features (988,031 stored), 3 classes; "
     "1 split: 60 train, 500 validation, 1,000 test",
     38716.295094509376,
     23489,
     44598661,
     {1770, 154750, 19216500}},
    {"heterophilous/minesweeper.npz",
     "minesweeper: 10,000 nodes, 78,804 messages (links both ways), 7 dense features, 2 classes; "
     "10 splits, the first: 5,000 train, 2,500 validation, 2,500 test",
     10000,
     2000,
     39713452,
     {2500463584, 1249647873, 1249838543}},
    {"heterophilous/tolokers.npz",
     "tolokers: 11,758 nodes, 1,038,000 messages (links both ways), 10 dense features, 2 classes; "
     "10 splits, the first: 5,879 train, 2,939 validation, 2,940 test",
     44970.000052578136,
     2566,
     523293370,
     {3456610059, 1726913615, 1728945736}},
    {"heterophilous/chameleon_filtered.npz",
     "chameleon_filtered: 890 nodes, 17,708 messages (links both ways), 2,325 dense features, 5 classes; "
     "10 splits, the first: 409 train, 287 validation, 194 test",
     9903,
     1608,
     8950421,
     {18949594, 12826341, 7824615}},
    {"npz-plain/amazon_photo.npz",
     "amazon_photo: 7,650 nodes, 238,162 messages (links both ways), 745 sparse features (1,979,909 stored), 8 classes; "
     "1 split: 160 train, 500 validation, 1,000 test",
     1979909,
     27443,
     120108660,
     {0, 0, 0}},
    {"npz-plain/coauthor_cs.npz",
     "coauthor_cs: 18,333 nodes, 163,788 messages (links both ways), 6,805 sparse features (1,092,079 stored), 15 classes; "
     "1 split: 300 train, 500 validation, 1,000 test",
     1741991,
     146221,
     82596817,
     {0, 0, 0}},
};

static void check_digests(const gnn_data_t *data, int which)
{
    int64_t m = gnn_graph_n_pairs(gnn_data_graph(data)), labels = 0, messages = 0,
            stored = gnn_data_sparse(data) ? gnn_data_sparse(data)->indptr[gnn_data_nodes(data)]
                                           : gnn_data_nodes(data) * gnn_data_features(data);
    int64_t *src = malloc((size_t)m * sizeof *src), *dst = malloc((size_t)m * sizeof *dst);
    const gnn_real_t *values =
        gnn_data_sparse(data) ? gnn_data_sparse(data)->values : gnn_data_x(data)->data;
    double sum = 0;
    for (int64_t k = 0; k < stored; k++)
        sum += (double)values[k];
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        labels += gnn_data_labels(data)[i];
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), src, dst, NULL));
    for (int64_t k = 0; k < m; k++)
        messages += (src[k] * 31 + dst[k] * 17) % 1009;
    ck_assert_double_eq_tol(sum, real_sets[which].features, 1e-9 * real_sets[which].features);
    ck_assert_int_eq(labels, real_sets[which].labels);
    ck_assert_int_eq(messages, real_sets[which].messages);
    for (int kind = 0; kind < 3 && real_sets[which].marked[0]; kind++) {
        int64_t marked = 0;
        for (int64_t s = 0; s < gnn_data_splits(data); s++)
            for (int64_t i = 0; i < gnn_data_nodes(data); i++)
                marked += gnn_data_mask(data, kind, s)[i] ? s * gnn_data_nodes(data) + i : 0;
        ck_assert_int_eq(marked, real_sets[which].marked[kind]);
    }
    free(src);
    free(dst);
}

START_TEST(real_set)
{
    const char *path = test_data(real_sets[_i].file);
    if (!path) {
        test_skip(real_sets[_i].file, "the file is not there: set GNN_DATA");
        return;
    }
    gnn_data_t *data;
    char text[300];
    ck_ok(gnn_data_open(&data, path));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_str_eq(text, real_sets[_i].words);
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    check_disjoint(data);
    check_digests(data, _i);
    gnn_data_free(data);
}
END_TEST

START_TEST(karate_club)
{
    gnn_data_t *data;
    static const int first_club[17] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22},
                     train[4] = {1, 2, 33, 34};
    char text[300];
    int64_t src[156], dst[156], between = 0, leader = 0;
    ck_ok(gnn_data_karate(&data));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_str_eq(
        text,
        "karate: 34 nodes, 156 messages, 34 sparse features (34 stored), 2 classes; 1 split: 4 train, 8 validation, 22 test");
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    ck_ok(gnn__sparse_validate(gnn_data_sparse(data), "features"));
    check_disjoint(data);
    for (int k = 0; k < 17; k++)
        ck_assert_int_eq(gnn_data_labels(data)[first_club[k] - 1], 0);
    ck_assert_int_eq(count_marked(data, GNN_TRAIN, 0), 2);
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[train[k] - 1], 1);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), src, dst, NULL));
    for (int k = 0; k < 156; k++) {
        between += gnn_data_labels(data)[src[k]] != gnn_data_labels(data)[dst[k]];
        leader += dst[k] == 33;
    }
    ck_assert_int_eq(leader, 17);
    ck_assert_int_eq(between, 2 * 11); /* friendships between the clubs of the paper's table */
    int64_t rc = GNN_EMEMORY, first = 0;
    gnn_data_free(data);
    for (int64_t n = 1; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = gnn_data_karate(&data);
        gnn__fail_allocation(0);
        first += rc == GNN_EMEMORY && !data;
    }
    ck_ok((int)rc);
    ck_assert_int_gt(first, 5);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data");
    TCase *tests = tcase_create("data");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, planetoid_layout);
    tcase_add_test(tests, heterophilous_layout);
    tcase_add_test(tests, sparse_rows_are_normalised);
    tcase_add_test(tests, rows_are_scaled_to_length_one);
    tcase_add_test(tests, dense_rows_become_sparse);
    tcase_add_test(tests, sparse_columns_are_standardised_like_dense_ones);
    tcase_add_test(tests, a_constant_column_is_standardised_to_0);
    tcase_add_test(tests, other_names_and_types);
    tcase_add_test(tests, matrices_of_scipy_by_their_names);
    tcase_add_test(tests, drawn_splits);
    tcase_add_loop_test(tests, real_set, 0, (int)(sizeof real_sets / sizeof real_sets[0]));
    tcase_add_test(tests, karate_club);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
