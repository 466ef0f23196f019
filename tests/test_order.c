/* Permuted nodes: graphs against their tables of pairs, layers and trainings against the original
 * order, data sets against their files. */
#include "data_tiny.h"
#include "graph_zoo.h"
#include "readers.h"

#include <graphs/graph.h>
#include <lib/base/base.h>

enum { N = 9 };

/* A random order of n nodes, and the new id of each. */
static void draw_order(int64_t n, uint64_t seed, int64_t *order, int64_t *rank)
{
    for (int64_t r = 0; r < n; r++) {
        int64_t other = test_below(&seed, r + 1);
        order[r] = order[other];
        order[other] = r;
    }
    for (int64_t r = 0; r < n; r++)
        rank[order[r]] = r;
}

/* 9 nodes: a part of edges with parallel ones and loops, one of spans, one of edges in the order of
 * their receivers. */
static int make_parts(gnn_graph_t **g)
{
    gnn_graph_t *parts[3] = {NULL};
    int64_t src[30], dst[30], indptr[N + 1] = {0, 2, 2, 3, 3, 3, 4, 4, 4, 5};
    uint64_t seed = 7;
    *g = NULL;
    for (int k = 0; k < 30; k++) {
        src[k] = test_below(&seed, k % 3 ? N : 2);
        dst[k] = test_below(&seed, N);
    }
    int rc = gnn_graph_from_edges(&parts[0], N, N, 30, src, dst);
    rc = rc ? rc : make_spans(&parts[1]);
    rc = rc ? rc : gnn_graph_from_csr(&parts[2], N, N, indptr, ((int32_t[]){8, 1, 2, 5, 0}));
    rc = rc ? rc : gnn_graph_merge(g, 3, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < 3; k++)
        gnn_graph_free(parts[k]);
    return rc;
}

/* Sender and receiver of each edge id. */
static void ends_of_edges(const gnn_graph_t *g, int64_t (*ends)[2])
{
    int64_t m = gnn_graph_n_pairs(g), *a = zeros(3 * m, sizeof *a);
    ck_ok(gnn_graph_pairs(g, a, a + m, a + 2 * m));
    for (int64_t k = 0; k < m; k++)
        if (a[2 * m + k] >= 0) {
            ends[a[2 * m + k]][0] = a[k];
            ends[a[2 * m + k]][1] = a[m + k];
        }
    free(a);
}

/* Edge e of `new` is edge order[e] of `old`; NULL: e. */
static void check_renumbered(const gnn_graph_t *old, const gnn_graph_t *new, const int64_t *rank,
                             const int64_t *order)
{
    const int64_t n = old->n_dst, m = gnn_graph_n_edges(old);
    int *before = table(old), *after = table(new);
    int64_t(*was)[2] = zeros(m, sizeof *was), (*is)[2] = zeros(m, sizeof *is);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            ck_assert_int_eq(after[rank[i] * n + rank[j]], before[i * n + j]);
    ck_assert_int_eq(gnn_graph_n_edges(new), m);
    ends_of_edges(old, was);
    ends_of_edges(new, is);
    for (int64_t e = 0; e < m; e++) {
        const int64_t *ends = was[order ? order[e] : e];
        ck_assert(is[e][0] == rank[ends[0]] && is[e][1] == rank[ends[1]]);
    }
    ck_assert_int_eq(gnn_graph_n_parts(new), gnn_graph_n_parts(old));
    for (int64_t p = 0; p < gnn_graph_n_parts(old); p++) {
        const gnn__part_t *part = &new->base.parts[p];
        ck_assert_int_eq(gnn__pairs_form(&part->pairs), gnn__pairs_form(&old->base.parts[p].pairs));
        for (int64_t i = 0; gnn__pairs_form(&part->pairs) == GNN__EDGES && i < n; i++)
            for (int64_t k = part->pairs.indptr[i] + 1; k < part->pairs.indptr[i + 1]; k++)
                ck_assert_int_le(part->pairs.indices[k - 1], part->pairs.indices[k]);
    }
    free(before);
    free(after);
    free(was);
    free(is);
}

/* ---- graphs ---- */

START_TEST(degree_order_is_descending_and_stable)
{
    for (int k = 0; k <= ZOO; k++) {
        gnn_graph_t *g;
        ck_ok((k < ZOO ? zoo[k] : make_parts)(&g));
        int64_t n = g->n_dst, *order = zeros(n, sizeof *order);
        int *heard = zeros(n, sizeof *heard), *seen = zeros(n, sizeof *seen), *pairs = table(g);
        for (int64_t k2 = 0; k2 < n * g->n_src; k2++)
            heard[k2 / g->n_src] += pairs[k2];
        if (g->n_src != n) {
            ck_fails(gnn__graph_degree_order(g, order), GNN_ETOPOLOGY, "receivers and");
        } else {
            ck_ok(gnn__graph_degree_order(g, order));
            for (int64_t r = 0; r < n; r++) {
                ck_assert(order[r] >= 0 && order[r] < n && !seen[order[r]]++);
                ck_assert(r == 0 || heard[order[r - 1]] > heard[order[r]] ||
                          (heard[order[r - 1]] == heard[order[r]] && order[r - 1] < order[r]));
            }
        }
        free(order);
        free(heard);
        free(seen);
        free(pairs);
        gnn_graph_free(g);
    }
}
END_TEST

START_TEST(renumbering_preserves_pairs)
{
    const maker_t makers[] = {make_csr, make_edges, make_empty, make_spans, make_parts};
    for (int k = 0; k < 100; k++) {
        int64_t order[N], rank[N];
        gnn_graph_t *old, *new, *back;
        ck_ok(makers[k % 5](&old));
        draw_order(old->n_dst, 100 + (uint64_t)k, order, rank);
        ck_ok(gnn_graph_renumber(&new, old, order));
        ck_ok(gnn__graph_validate(new));
        check_renumbered(old, new, rank, NULL);
        ck_ok(gnn_graph_prepare(new, &(gnn_view_t){GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON}));
        ck_ok(gnn__graph_validate(new));
        ck_ok(gnn_graph_renumber(&back, new, rank));
        same_tables(old, back);
        gnn_graph_free(old);
        gnn_graph_free(new);
        gnn_graph_free(back);
    }
}
END_TEST

START_TEST(wrong_orders_are_named)
{
    gnn_graph_t *g, *new;
    int64_t order[13] = {0, 1, 2, 1};
    ck_ok(make_edges(&g));
    ck_fails(gnn_graph_renumber(&new, g, order), GNN_EINVALID, "order[3] = 1 is a duplicate");
    ck_assert_ptr_null(new);
    order[0] = 4;
    ck_fails(gnn_graph_renumber(&new, g, order), GNN_EINVALID, "order[0] = 4 is not a node");
    order[0] = -1;
    ck_fails(gnn_graph_renumber(&new, g, order), GNN_EINVALID, "order[0] = -1 is not a node");
    ck_fails(gnn_graph_renumber(&new, g, NULL), GNN_EINVALID, "gnn_graph_renumber: order is NULL");
    ck_fails(gnn_graph_renumber(&new, NULL, order), GNN_EINVALID, "gnn_graph_renumber: of is NULL");
    gnn_graph_free(g);
    ck_ok(make_sampled(&g));
    ck_fails(gnn_graph_renumber(&new, g, order), GNN_ETOPOLOGY, "3 receivers and 7 senders");
    gnn_graph_free(g);
    ck_ok(make_window(&g));
    ck_ok(gnn__graph_degree_order(g, order));
    ck_fails(gnn_graph_renumber(&new, g, order), GNN_EUNSUPPORTED, "segments");
    gnn_graph_free(g);
}
END_TEST

START_TEST(renumbering_survives_any_failing_allocation)
{
    int64_t order[N], n = 1;
    gnn_graph_t *g, *new;
    ck_ok(make_parts(&g));
    gnn__fail_allocation(1);
    ck_fails(gnn__graph_degree_order(g, order), GNN_EMEMORY, "offsets of degrees");
    gnn__fail_allocation(0);
    ck_ok(gnn__graph_degree_order(g, order));
    for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        new = g;
        gnn__fail_allocation(n);
        rc = gnn_graph_renumber(&new, g, order);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !new), "allocation %d: %d", (int)n, rc);
        gnn_graph_free(new);
    }
    ck_assert_int_gt(n, 20);
    gnn_graph_free(g);
}
END_TEST

/* ---- layers ---- */

/* The layer's rows, in the order of the nodes of the first graph. */
static void run(gnn_context_t *context, const gnn_layer_t *layer, gnn_graph_t *g,
                const int64_t *order, gnn_real_t *out)
{
    gnn_real_t x[N * 6], y[N * 6], *own = test_reals(N * 6, 3), *e = test_reals(35 * 2, 4),
                                   *w = test_reals(35, 5);
    gnn_tensor_t in = gnn_tensor(x, N, 6), result = gnn_tensor(y, N, 6),
                 features = gnn_tensor(e, 35, 2), weight = gnn_tensor(w, 35, 1);
    for (int64_t r = 0; r < N; r++)
        memcpy(x + 6 * r, own + 6 * order[r], 6 * sizeof *x);
    bool edges = gnn_graph_n_parts(g) == 1;
    ck_ok(gnn_layer_prepare(layer, g, GNN_OFF));
    ck_ok(gnn_layer_forward(layer, context, g,
                            &(gnn_inputs_t){.x_src = &in,
                                            .edge_features = edges ? &features : NULL,
                                            .edge_weight = edges ? &weight : NULL},
                            &result));
    for (int64_t r = 0; r < N; r++)
        memcpy(out + 6 * order[r], y + 6 * r, 6 * sizeof *y);
    free(own);
    free(e);
    free(w);
}

/* With edge inputs on edges (GINE alone takes features), without on the mixture with spans. */
static void compare_layer(gnn_context_t *context, const gnn_layer_config_t *config, gnn_graph_t *g)
{
    int64_t order[N], rank[N], same[N];
    gnn_real_t before[N * 6], after[N * 6];
    gnn_graph_t *new;
    gnn_layer_t *layer;
    ck_ok(gnn_layer_new(&layer, context, config));
    draw_order(N, 11, order, rank);
    ck_ok(gnn_graph_renumber(&new, g, order));
    for (int64_t r = 0; r < N; r++)
        same[r] = r;
    run(context, layer, g, same, before);
    run(context, layer, new, order, after);
    double error = test_error(after, before, N * 6);
    ck_assert_msg(error < TOLERANCE_OUT, "preset %d: off by %g", config->preset, error);
    gnn_layer_free(layer);
    gnn_graph_free(new);
}

START_TEST(renumbered_layers_give_permuted_rows)
{
    const gnn_layer_config_t mixed[] = {GNN_GCN(.in = 6, .out = 6), GNN_SAGE(.in = 6, .out = 6),
                                        GNN_GAT(.in = 6, .out = 3, .heads = 2),
                                        GNN_TRANSFORMER(.in = 6, .heads = 2)},
                             edges[] = {GNN_GINE(.in = 6, .out = 6, .edge_dim = 2)};
    gnn_context_t *context;
    gnn_graph_t *g, *explicit;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2}));
    ck_ok(make_parts(&g));
    for (int k = 0; k < 4; k++)
        compare_layer(context, &mixed[k], g);
    gnn_graph_free(g);
    int64_t src[35], dst[35];
    uint64_t seed = 9;
    for (int k = 0; k < 35; k++) {
        src[k] = test_below(&seed, N);
        dst[k] = test_below(&seed, N);
    }
    ck_ok(gnn_graph_from_edges(&explicit, N, N, 35, src, dst));
    compare_layer(context, &edges[0], explicit);
    gnn_graph_free(explicit);
    gnn_context_free(context);
}
END_TEST

/* ---- data sets ---- */

/* A star around node 4, a link 1-2, node 3 alone: 4, 1, then 0, 2, 5, then 3. Two splits, features
 * stored sparsely or not. */
static const int64_t star_order[6] = {4, 1, 0, 2, 5, 3};

static gnn_data_t *open_star(bool sparse)
{
    const gnn_array_t arrays[] = {
        MATRIX("x", GNN_DTYPE_FLOAT32, float, 6, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        INT64("node_labels", 6, 0, 1, -1, 1, 2, 0),
        MATRIX("edges", GNN_DTYPE_INT64, int64_t, 4, 2, 4, 0, 1, 4, 5, 4, 1, 2),
        MATRIX("train_masks", GNN_DTYPE_BOOL, uint8_t, 2, 6, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0),
        MATRIX("val_masks", GNN_DTYPE_BOOL, uint8_t, 2, 6, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0),
        MATRIX("test_masks", GNN_DTYPE_BOOL, uint8_t, 2, 6, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0),
        INT64("attr_indptr", 7, 0, 1, 1, 3, 4, 4, 6),
        INT32("attr_indices", 6, 2, 0, 1, 2, 0, 2),
        FLOAT32("attr_data", 6, 1, 2, 3, 4, 5, 6),
        INT64("attr_shape", 2, 6, 3),
    };
    ck_ok(gnn_npz_write(in_folder("star.npz"), sparse ? 9 : 6, arrays + sparse)); /* x or attr */
    return opened(in_folder("star.npz"));
}

static void check_followed(const gnn_data_t *data, const gnn_data_t *file)
{
    int64_t rank[64];
    ck_assert_int_eq(gnn_data_nodes(data), gnn_data_nodes(file));
    for (int64_t r = 0; r < gnn_data_nodes(data); r++)
        rank[gnn_data_order(data)[r]] = r;
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    check_renumbered(gnn_data_graph(file), gnn_data_graph(data), rank, gnn_data_edge_order(data));
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        int64_t i = gnn_data_order(data)[r];
        ck_assert_int_eq(gnn_data_labels(data)[r], gnn_data_labels(file)[i]);
        for (int64_t c = 0; c < gnn_data_features(data); c++)
            ck_assert(feature(data, r, c) == feature(file, i, c));
        for (int k = 0; k < 3; k++)
            for (int64_t s = 0; s < gnn_data_splits(data); s++)
                ck_assert_int_eq(gnn_data_mask(data, k, s)[r], gnn_data_mask(file, k, s)[i]);
    }
}

/* Saved, the set is what its file was. */
static void check_saved(const gnn_data_t *data, const gnn_data_t *file)
{
    ck_ok(gnn_data_save(data, in_folder("saved.npz")));
    gnn_data_t *again = opened(in_folder("saved.npz"));
    ck_assert_ptr_null(gnn_data_order(again));
    ck_same_set(file, again);
    gnn_data_free(again);
}

START_TEST(a_reordered_set_is_saved_in_file_order)
{
    gnn_data_t *file = open_star(_i), *data = open_star(_i);
    ck_assert_ptr_null(gnn_data_order(data));
    ck_ok(gnn_data_reorder(data));
    ck_assert_mem_eq(gnn_data_order(data), star_order, sizeof star_order);
    check_followed(data, file);
    check_saved(data, file);
    const gnn_graph_t *graph = gnn_data_graph(data);
    ck_ok(gnn_data_reorder(data));
    ck_assert(gnn_data_graph(data) == graph);
    check_followed(data, file);
    if (gnn_data_sparse(data))
        ck_ok(gnn__sparse_validate(gnn_data_sparse(data), "features"));
    ck_fails(gnn_data_reorder(NULL), GNN_EINVALID, "data is NULL");
    gnn_data_free(data);
    gnn_data_free(file);
}
END_TEST

/* A copy holds what the set holds, in either order, and shares nothing with it. */
START_TEST(a_copy_is_a_set_of_its_own)
{
    gnn_data_t *data = open_star(_i % 2 == 1), *copy = (gnn_data_t *)1;
    char before[4096], text[2][512];
    if (_i > 1)
        ck_ok(gnn_data_reorder(data));
    ck_ok(gnn_data_copy(&copy, data));
    snprintf(before, sizeof before, "%s", messages(data));
    ck_assert_str_eq(messages(copy), before);
    ck_ok(gnn__graph_validate(gnn_data_graph(copy)));
    for (int k = 0; k < 2; k++)
        gnn_data_describe(k ? copy : data, text[k], sizeof text[k]);
    ck_assert_str_eq(text[0], text[1]);
    ck_assert_mem_eq(gnn_data_labels(copy), gnn_data_labels(data), 6 * sizeof(int32_t));
    for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
        ck_assert_mem_eq(gnn_data_mask(copy, part, 1), gnn_data_mask(data, part, 1), 6);
    ck_assert_int_eq(gnn_data_order(copy) != NULL, _i > 1);
    const double one = feature(data, 2, 1);
    ck_ok(gnn_data_row_normalise(copy));
    ck_assert(feature(data, 2, 1) == one);
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_data_save(k ? copy : data, in_folder(k ? "b.npz" : "a.npz")));
    gnn_data_free(data);
    ck_ok(gnn__graph_validate(gnn_data_graph(copy)));
    gnn_data_free(copy);
    ck_fails(gnn_data_copy(&copy, NULL), GNN_EINVALID, "data");
    ck_assert_ptr_null(copy);
}
END_TEST

START_TEST(a_copy_fails_with_any_allocation)
{
    gnn_data_t *data = open_star(_i == 1), *copy = NULL;
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    ck_ok(gnn_data_reorder(data));
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = gnn_data_copy(&copy, data);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || (rc == GNN_EMEMORY && !copy));
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 8);
    gnn_data_free(copy);
    gnn_data_free(data);
}
END_TEST

START_TEST(csv_lines_are_the_files_nodes)
{
    gnn_data_t *file = open_star(_i), *data = open_star(_i);
    ck_ok(gnn_data_reorder(data));
    write_text("y.csv", "c\na\na\nb\n\"\"\nb\n");
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_data_add_csv(k ? data : file, NULL, in_folder("y.csv")));
    check_followed(data, file);
    check_saved(data, file);
    ck_assert_str_eq(gnn_data_class_names(data)[2], "c");
    write_text("x.csv", "9,-1\n7,-2\n5,-3\n3,-4\n8,-5\n6,-6\n");
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_data_add_csv(k ? data : file, in_folder("x.csv"), NULL));
    check_followed(data, file);
    check_saved(data, file);
    ck_fails(gnn_data_add_csv(data, write_text("short.csv", "1\n2\n"), NULL), GNN_ESHAPE, "2 nodes");
    check_followed(data, file);
    gnn_data_free(data);
    gnn_data_free(file);
}
END_TEST

START_TEST(isolated_nodes_are_appended)
{
    for (int k = 0; k < 2; k++) {
        gnn_data_t *file = opened(write_text("a.edges", "0 4\n4 1\n4 2\n")),
                   *data = opened(in_folder("a.edges"));
        ck_ok(gnn_data_reorder(data));
        write_text("y.csv", "1\n0\n1\n0\n1\n0\n2\n");
        write_text("x.csv", "1\n2\n3\n4\n5\n6\n7\n");
        for (int set = 0; set < 2; set++) {
            gnn_data_t *one = set ? data : file;
            ck_ok(gnn_data_add_csv(one, k ? in_folder("x.csv") : NULL, k ? NULL : in_folder("y.csv")));
            ck_assert_int_eq(gnn_data_nodes(one), 7);
        }
        check_followed(data, file);
        ck_assert_mem_eq(gnn_data_order(data), ((const int64_t[]){4, 0, 1, 2, 3, 5, 6}), 7 * 8);
        for (int set = 0; set < 2; set++)
            ck_ok(gnn_data_add_csv(set ? data : file, NULL, in_folder("y.csv")));
        check_followed(data, file);
        check_saved(data, file);
        gnn_data_free(data);
        gnn_data_free(file);
    }
}
END_TEST

START_TEST(errors_use_file_order)
{
    gnn_data_t *data = open_star(false);
    ck_ok(gnn_data_reorder(data));
    gnn_data_x(data)->data[0] = (gnn_real_t)INFINITY;
    ck_fails(gnn_data_row_normalise(data), GNN_ENUMERIC, "node 4");
    gnn_data_free(data);
}
END_TEST

static int reorder(gnn_data_t *data)
{
    return gnn_data_reorder(data);
}

static int save(gnn_data_t *data)
{
    return gnn_data_save(data, in_folder("saved.npz"));
}

static int add(gnn_data_t *data)
{
    char features[512];
    snprintf(features, sizeof features, "%s", in_folder("x.csv"));
    return gnn_data_add_csv(data, features, in_folder("y.csv"));
}

/* Each call with failing allocations leaves the set unchanged. */
START_TEST(a_set_survives_any_failing_allocation)
{
    int (*const calls[])(gnn_data_t *) = {reorder, save, add};
    gnn_data_t *file = open_star(_i % 2), *data = open_star(_i % 2);
    int64_t n = 1;
    write_text("y.csv", "c\na\na\nb\n\"\"\nb\n");
    write_text("x.csv", "9,-1\n7,-2\n5,-3\n3,-4\n8,-5\n6,-6\n");
    if (_i / 2)
        ck_ok(gnn_data_reorder(data));
    for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = calls[_i / 2](data);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %d: %d, %s", (int)n, rc,
                      gnn_error_message());
        if (rc == GNN_OK)
            break;
        ck_assert_int_eq(gnn_data_order(data) != NULL, _i / 2 > 0);
        if (gnn_data_order(data))
            check_followed(data, file);
        else
            ck_same_set(data, file);
    }
    ck_assert_int_gt(n, 15);
    if (_i / 2 == 2)
        ck_ok(add(file));
    check_followed(data, file);
    gnn_data_free(data);
    gnn_data_free(file);
}
END_TEST

START_TEST(reordering_preserves_training_without_dropout)
{
    double loss[2];
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, NULL));
    for (int k = 0; k < 2; k++) {
        gnn_data_t *data = open_star(_i);
        gnn_model_t *model;
        gnn_train_result_t result;
        if (k)
            ck_ok(gnn_data_reorder(data));
        gnn_context_set_seed(context, 5);
        ck_ok(gnn_model_new(&model, context, 2,
                            (gnn_layer_config_t[]){GNN_GAT(.in = gnn_data_features(data), .out = 4,
                                                           .heads = 2, .activation = GNN_ELU),
                                                   GNN_GCN(.in = 8, .out = gnn_data_classes(data))}));
        ck_ok(gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 10, .split = 1},
                        &result));
        loss[k] = result.train_loss + 10 * result.validation_loss;
        gnn_model_free(model);
        gnn_data_free(data);
    }
    ck_assert_msg(fabs(loss[0] - loss[1]) < 100 * TOLERANCE_OUT * fabs(loss[0]), "%.12g and %.12g",
                  loss[0], loss[1]);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order");
    TCase *tests = tcase_create("order");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, degree_order_is_descending_and_stable);
    tcase_add_test(tests, renumbering_preserves_pairs);
    tcase_add_test(tests, wrong_orders_are_named);
    tcase_add_test(tests, renumbering_survives_any_failing_allocation);
    tcase_add_test(tests, renumbered_layers_give_permuted_rows);
    tcase_add_loop_test(tests, a_reordered_set_is_saved_in_file_order, 0, 2);
    tcase_add_loop_test(tests, a_copy_is_a_set_of_its_own, 0, 4);
    tcase_add_loop_test(tests, a_copy_fails_with_any_allocation, 0, 2);
    tcase_add_loop_test(tests, csv_lines_are_the_files_nodes, 0, 2);
    tcase_add_test(tests, isolated_nodes_are_appended);
    tcase_add_test(tests, errors_use_file_order);
    tcase_add_loop_test(tests, a_set_survives_any_failing_allocation, 0, 6);
    tcase_add_loop_test(tests, reordering_preserves_training_without_dropout, 0, 2);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
