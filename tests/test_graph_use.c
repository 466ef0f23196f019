/* Use of graphs: unions, segments, chunks, derived graphs, errors of wrong use, validation, failing
 * allocations. */
#include "graph_zoo.h"

#include <graphs/graph.h>

static void edge_numbers(const gnn_graph_t *g, int64_t *src, int64_t *dst)
{
    int64_t m = gnn_graph_n_pairs(g), *a = zeros(3 * m, sizeof *a);
    ck_ok(gnn_graph_pairs(g, a, a + m, a + 2 * m));
    for (int64_t k = 0; k < m; k++)
        if (a[2 * m + k] >= 0) {
            src[a[2 * m + k]] = a[k];
            dst[a[2 * m + k]] = a[m + k];
        }
    free(a);
}

/* The table of `part` must be in the batch at its nodes, without other entries. */
static void check_block(const int *whole, int64_t width, const gnn_graph_t *part, int64_t dst,
                        int64_t src)
{
    int *own = table(part);
    for (int64_t i = 0; i < part->n_dst; i++)
        for (int64_t j = 0; j < width; j++) {
            bool inside = j >= src && j < src + part->n_src;
            int expected = inside ? own[i * part->n_src + j - src] : 0;
            ck_assert_int_eq(whole[(dst + i) * width + j], expected);
        }
    free(own);
}

START_TEST(batch_is_a_disjoint_union)
{
    const maker_t makers[] = {make_edges,         make_window,  make_csr,
                              make_window_global, make_nothing, make_spans};
    gnn_graph_t *batch, *part;
    ck_ok(make_batch(&batch));
    ck_ok(gnn__graph_validate(batch));
    int *whole = table(batch);
    int64_t at = 0, edge = 0, segment = 0, src[16], dst[16], own_src[16], own_dst[16];
    ck_assert_int_eq(gnn_graph_n_edges(batch), 16);
    /* edges; spans and, from window_global, two more */
    ck_assert_int_eq(gnn_graph_n_parts(batch), 4);
    edge_numbers(batch, src, dst);
    for (int k = 0; k < 6; k++) {
        ck_ok(makers[k](&part));
        check_block(whole, batch->n_src, part, at, at);
        edge_numbers(part, own_src, own_dst);
        for (int64_t e = 0; e < part->n_edges; e++)
            ck_assert(src[edge + e] == at + own_src[e] && dst[edge + e] == at + own_dst[e]);
        for (int64_t s = 0; s < (part->n_segments ? part->n_segments : 1); s++, segment++)
            ck_assert_int_eq(batch->dst_segments[segment],
                             at + (part->n_segments ? part->dst_segments[s] : 0));
        at += part->n_dst;
        edge += part->n_edges;
        gnn_graph_free(part);
    }
    ck_assert(at == batch->n_dst && segment == batch->n_segments &&
              batch->dst_segments[segment] == at);
    free(whole);
    gnn_graph_free(batch);
}
END_TEST

START_TEST(batch_of_one_kind_has_one_part)
{
    gnn_graph_t *batch, *whole;
    ck_ok(make_batch_of_edges(&batch));
    ck_assert(gnn_graph_n_parts(batch) == 1 && !batch->base.parts[0].pairs.edge &&
              gnn_graph_n_edges(batch) == 18 && gnn_graph_n_segments(batch) == 3);
    gnn_graph_free(batch);
    ck_ok(join(&batch, gnn_graph_batch, 2, (const maker_t[]){make_causal, make_causal}));
    ck_ok(gnn_graph_causal(&whole, 4, (int64_t[]){3, 4, 3, 4}));
    same_tables(batch, whole);
    ck_assert(gnn_graph_n_parts(batch) == 1 &&
              memcmp(batch->dst_segments, whole->dst_segments, 5 * sizeof(int64_t)) == 0);
    gnn_graph_free(batch);
    gnn_graph_free(whole);
    ck_ok(join(&batch, gnn_graph_batch, 2, (const maker_t[]){make_sampled, make_bipartite}));
    ck_ok(gnn__graph_validate(batch));
    ck_assert(batch->n_dst == 8 && batch->n_src == 13 && gnn_graph_n_parts(batch) == 2 &&
              gnn_graph_n_segments(batch) == 4);
    gnn_graph_free(batch);
}
END_TEST

START_TEST(merge_offsets_edge_ids_by_part)
{
    gnn_graph_t *a, *b, *merged;
    int64_t src[14], dst[14], own_src[7], own_dst[7];
    ck_ok(join(&merged, gnn_graph_merge, 2, (const maker_t[]){make_edges, make_edges}));
    ck_ok(make_edges(&a));
    ck_ok(gnn__graph_validate(merged));
    edge_numbers(merged, src, dst);
    edge_numbers(a, own_src, own_dst);
    for (int k = 0; k < 14; k++)
        ck_assert(src[k] == own_src[k % 7] && dst[k] == own_dst[k % 7]);
    gnn_graph_free(a);
    gnn_graph_free(merged);

    ck_ok(gnn_graph_complete(&a, 2, (int64_t[]){3, 2}));
    ck_ok(gnn__graph_set_start(a, 1, 4, -2));
    ck_ok(gnn_graph_from_edges(&b, 5, 5, 1, ((int64_t[]){4}), ((int64_t[]){0})));
    ck_ok(gnn_graph_merge(&merged, 3, (const gnn_graph_t *[]){b, a, b}));
    ck_assert(gnn_graph_n_parts(merged) == 3 && gnn_graph_n_segments(merged) == 2 &&
              gnn_graph_n_pairs(merged) == 15);
    ck_assert(merged->base.parts[2].pairs.edge_base == 1 && merged->src_start[1] == -2 &&
              gnn__graph_part_is_spans(merged, 1));
    ck_ok(gnn__graph_validate(merged));
    gnn_graph_free(merged);
    gnn_graph_free(b);
    ck_ok(gnn_graph_complete(&b, 1, (int64_t[]){6}));
    ck_fails(gnn_graph_merge(&merged, 2, (const gnn_graph_t *[]){a, b}), GNN_ESHAPE,
             "graph 1 has 6 receivers and 6 senders, graph 0 has 5 and 5");
    ck_assert_ptr_null(merged);
    ck_fails(gnn_graph_merge(&merged, 0, NULL), GNN_EINVALID, "at least one");
    ck_fails(gnn_graph_batch(&merged, 2, (const gnn_graph_t *[]){a, NULL}), GNN_EINVALID,
             "graph 1 of 2 is NULL");
    ck_fails(gnn_graph_batch(&merged, 2, NULL), GNN_EINVALID, "graphs is NULL");
    gnn_graph_free(a);
    gnn_graph_free(b);
}
END_TEST

START_TEST(distances_follow_segments_and_starts)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_bipartite(&g, 4, (int64_t[]){2, 0, 3, 0}, (int64_t[]){4, 1, 0, 2}));
    ck_assert(gnn__graph_dst_segment(g, 1) == 0 && gnn__graph_dst_segment(g, 2) == 2 &&
              gnn__graph_src_segment(g, 4) == 1 && gnn__graph_src_segment(g, 5) == 3);
    ck_assert_int_eq(gnn__graph_distance(g, 1, 3), 2);
    ck_ok(gnn__graph_set_start(g, 0, 10, 3));
    ck_assert_int_eq(gnn__graph_distance(g, 1, 3), (3 + 3) - (1 + 10));
    ck_fails(gnn__graph_set_start(g, 4, 0, 0), GNN_EINVALID, "expected a segment 0 to 3, got 4");
    ck_fails(gnn__graph_set_start(g, 0, INT64_MAX, 0), GNN_EINVALID, "below 2^31");
    gnn_graph_free(g);
    ck_ok(make_edges(&g));
    ck_assert(gnn__graph_dst_segment(g, 1) == -1 && gnn__graph_distance(g, 3, 1) == -2);
    ck_fails(gnn__graph_set_start(g, 0, 0, 0), GNN_ETOPOLOGY, "no segments");
    gnn_graph_free(g);
}
END_TEST

START_TEST(chunks_cover_all_rows_and_are_full)
{
    const int64_t sizes[] = {1, 3, 8, 1000, 0};
    for (int k = 0; k < ZOO; k++)
        for (int s = 0; s < 5; s++) {
            gnn_graph_t *g;
            ck_ok(zoo[k](&g));
            for (int64_t p = 0; p < gnn_graph_n_parts(g); p++) {
                const gnn__pairs_t *pairs = &g->base.parts[p].pairs;
                int64_t most = gnn__pairs_max_chunks(pairs, sizes[s]),
                        *bounds = zeros(most + 1, sizeof *bounds);
                int64_t chunks = gnn__pairs_chunks(pairs, sizes[s], bounds);
                ck_assert(chunks <= most && bounds[0] == 0 && bounds[chunks] == pairs->n_rows);
                for (int64_t c = 0; c < chunks; c++) {
                    int64_t held = 0;
                    for (int64_t r = bounds[c]; r < bounds[c + 1]; r++)
                        held += 1 + gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r);
                    ck_assert(bounds[c] < bounds[c + 1] && (held >= sizes[s] || c + 1 == chunks));
                }
                free(bounds);
            }
            gnn_graph_free(g);
        }
}
END_TEST

START_TEST(incidence_leads_to_receivers)
{
    const int64_t src[] = {2, 0, 1, 2}, dst[] = {0, 1, 0, 2};
    gnn_graph_t *graph = NULL, *spans = NULL, *edges = NULL;
    int64_t from[4], to[4];
    ck_ok(gnn_graph_complete(&spans, 1, (const int64_t[]){3}));
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 4, src, dst));
    ck_ok(gnn_graph_incidence(&edges, graph));
    ck_assert(gnn_graph_n_src(edges) == 4 && gnn_graph_n_dst(edges) == 3);
    ck_ok(gnn_graph_pairs(edges, from, to, NULL));
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(to[k], dst[from[k]]);
    ck_fails(gnn_graph_incidence(&edges, spans), GNN_EUNSUPPORTED, "stores spans");
    gnn_graph_free(edges);
    gnn_graph_free(graph);
    gnn_graph_free(spans);
}
END_TEST

START_TEST(parts_are_extracted)
{
    const int64_t src[2][2] = {{2, 0}, {1, 2}}, dst[2][2] = {{0, 1}, {0, 2}};
    gnn_graph_t *one[2] = {NULL}, *both = NULL, *part = NULL;
    int64_t from[2], to[2];
    for (int p = 0; p < 2; p++)
        ck_ok(gnn_graph_from_edges(&one[p], 3, 3, 2, src[p], dst[p]));
    ck_ok(gnn_graph_merge(&both, 2, (const gnn_graph_t *const *)one));
    for (int p = 0; p < 2; p++) {
        ck_ok(gnn_graph_part(&part, both, p));
        ck_ok(gnn_graph_pairs(part, from, to, NULL));
        ck_assert(gnn_graph_n_edges(part) == 2 && gnn_graph_n_parts(part) == 1);
        for (int k = 0; k < 2; k++)
            ck_assert(from[k] == src[p][k] && to[k] == dst[p][k]);
        gnn_graph_free(part);
        gnn_graph_free(one[p]);
    }
    ck_fails(gnn_graph_part(&part, both, 2), GNN_EINVALID, "expected a part 0 to 1, got 2");
    gnn_graph_free(both);
}
END_TEST

START_TEST(nearest_rows_match_brute_force)
{
    gnn_real_t at[] = {0, 1, 5, 6, 10, 100, 101};
    const int64_t lengths[] = {5, 2},
                  expected[] = {0, 1, 2, 1, 0, 2, 2, 3, 1, 3, 2, 4, 4, 3, 2, 5, 6, 6, 5};
    const gnn_tensor_t x = gnn_tensor(at, 7, 1);
    gnn_graph_t *graph = NULL;
    int64_t src[19], dst[19], edge[19];
    ck_ok(gnn_graph_nearest(&graph, &x, 2, lengths, 3));
    ck_assert_int_eq(gnn_graph_n_edges(graph), 19);
    ck_ok(gnn_graph_pairs(graph, src, dst, edge));
    for (int k = 0; k < 19; k++)
        ck_assert_int_eq(src[k], expected[edge[k]]);
    gnn_graph_free(graph);
    ck_fails(gnn_graph_nearest(&graph, &x, 2, lengths, 0), GNN_EINVALID, "k = 0");
    ck_fails(gnn_graph_nearest(&graph, &x, 1, lengths, 3), GNN_ESHAPE, "5 rows, the tensor has 7");
}
END_TEST

/* ---- wrong use ---- */

START_TEST(wrong_edges_are_named)
{
    gnn_graph_t *g = (gnn_graph_t *)&g;
    int32_t many[13] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99};
    ck_fails(gnn_graph_from_csr(&g, 3, 9, ((int64_t[]){0, 3, 7, 5}), many), GNN_ETOPOLOGY,
             "indptr[3] = 5 is below indptr[2] = 7");
    ck_assert_ptr_null(g);
    ck_fails(gnn_graph_from_csr(&g, 5, 50, ((int64_t[]){0, 3, 3, 3, 11, 13}), many), GNN_ETOPOLOGY,
             "indices[12] = 99 of receiver 4, but there are 50 senders");
    many[2] = -1;
    ck_fails(gnn_graph_from_csr(&g, 1, 50, ((int64_t[]){0, 3}), many), GNN_ETOPOLOGY,
             "indices[2] = -1 of receiver 0");
    ck_fails(gnn_graph_from_csr(&g, 1, 50, ((int64_t[]){1, 3}), many), GNN_ETOPOLOGY,
             "indptr[0] = 1, but it must be 0");
    ck_fails(gnn_graph_from_csr(&g, 1, 50, NULL, many), GNN_EINVALID, "indptr is NULL");
    ck_fails(gnn_graph_from_csr(&g, 1, 50, ((int64_t[]){0, 3}), NULL), GNN_EINVALID,
             "indices is NULL for 3 edges");
    ck_fails(gnn_graph_from_csr(&g, -1, 50, ((int64_t[]){0}), NULL), GNN_EINVALID,
             "n_dst = -1 is negative");
    ck_fails(gnn_graph_from_csr(&g, 0, (int64_t)1 << 31, ((int64_t[]){0}), NULL), GNN_EOVERFLOW,
             "n_src = 2147483648 nodes, a graph has at most 2147483647");
    ck_fails(gnn_graph_from_edges(&g, 3, 4, 2, ((int64_t[]){0, 4}), ((int64_t[]){0, 0})),
             GNN_ETOPOLOGY, "src[1] = 4, but there are 4 senders");
    ck_fails(gnn_graph_from_edges(&g, 3, 4, 2, ((int64_t[]){0, 0}), ((int64_t[]){-1, 0})),
             GNN_ETOPOLOGY, "dst[0] = -1, but there are 3 receivers");
    ck_fails(gnn_graph_from_edges(&g, 3, 4, -2, NULL, NULL), GNN_EINVALID,
             "m: expected a count >= 0, got -2");
    ck_fails(gnn_graph_from_edges(&g, 3, 4, 2, ((int64_t[]){0, 0}), NULL), GNN_EINVALID,
             "gnn_graph_from_edges: dst is NULL");
    ck_fails(gnn_graph_from_edges(NULL, 3, 4, 0, NULL, NULL), GNN_EINVALID, "graph is NULL");
    ck_fails(gnn_graph_to_edges(&g, NULL), GNN_EINVALID, "gnn_graph_to_edges: of is NULL");
    ck_fails(gnn_graph_pairs(NULL, NULL, NULL, NULL), GNN_EINVALID, "graph is NULL");
}
END_TEST

START_TEST(wrong_spans_are_named)
{
    gnn_graph_t *g;
    const int32_t zero[3] = {0}, one[3] = {1, 1, 1};
    const struct {
        int32_t lo[3], hi[3];
        const char *words;
    } cases[] = {{{0, 2, 1}, {3, 3, 3}, "lo[2] = 1 is below lo[1] = 2"},
                 {{0, 0, 0}, {3, 2, 3}, "hi[1] = 2 is below hi[0] = 3"},
                 {{0, 2, 2}, {1, 1, 3}, "lo[1] = 2 is above hi[1] = 1"},
                 {{0, 0, 0}, {1, 2, 5}, "hi[2] = 5, but there are 4 senders"},
                 {{-1, 0, 0}, {1, 1, 1}, "lo[0] = -1 is negative"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        ck_fails(gnn_graph_from_spans(&g, 3, 4, NULL, NULL, cases[k].lo, cases[k].hi),
                 GNN_ETOPOLOGY, cases[k].words);
    ck_fails(gnn_graph_from_spans(&g, 3, 4, ((int32_t[]){0, 2, 0}), NULL, zero, one), GNN_ETOPOLOGY,
             "dst_order[2] = 0 is a duplicate");
    ck_fails(gnn_graph_from_spans(&g, 3, 4, NULL, ((int32_t[]){0, 1, 2, 4}), zero, one),
             GNN_ETOPOLOGY, "src_order[3] = 4, but there are 4 senders");
    ck_fails(gnn_graph_from_spans(&g, 3, 4, NULL, NULL, zero, NULL), GNN_EINVALID, "hi is NULL");
    ck_assert_ptr_null(g);
}
END_TEST

START_TEST(wrong_topologies_are_named)
{
    gnn_graph_t *g;
    const int64_t lengths[] = {3, 4}, huge[] = {INT32_MAX, 1}, wrap[] = {INT64_MAX, INT64_MAX};
    ck_fails(gnn_graph_complete(&g, -1, lengths), GNN_EINVALID, "segments = -1 is negative");
    ck_fails(gnn_graph_complete(&g, 2, NULL), GNN_EINVALID, "lengths is NULL");
    ck_fails(gnn_graph_causal(&g, 2, huge), GNN_EOVERFLOW,
             "lengths[0..1] add up to more than 2147483647 nodes");
    ck_fails(gnn_graph_causal(&g, 2, wrap), GNN_EOVERFLOW, "add up to more");
    ck_fails(gnn_graph_bipartite(&g, 2, lengths, (int64_t[]){1, -1}), GNN_EINVALID,
             "src_lengths[1] = -1 is negative");
    ck_fails(gnn_graph_window(&g, 2, lengths, -1, 1, GNN_OFF), GNN_EINVALID,
             "width: expected >= 0, got -1");
    ck_fails(gnn_graph_window(&g, 2, lengths, 1, 0, GNN_OFF), GNN_EINVALID,
             "dilation: expected >= 1, got 0");
    ck_fails(gnn_graph_window(&g, 2, lengths, 1, 1, (gnn_flag_t)7), GNN_EINVALID,
             "causal = 7 is not a flag");
    ck_fails(gnn_graph_window_global(&g, 2, lengths, 1, 1, ((int64_t[]){7})), GNN_ETOPOLOGY,
             "globals[0] = 7, but there are 7 nodes");
    ck_fails(gnn_graph_window_global(&g, 2, lengths, 1, 2, ((int64_t[]){1, 1})), GNN_ETOPOLOGY,
             "globals[1] = 1 is a duplicate");
    ck_fails(gnn_graph_window_global(&g, 2, lengths, 1, 2, NULL), GNN_EINVALID, "globals is NULL");
    ck_fails(gnn_graph_window_global(&g, 2, lengths, -4, 0, NULL), GNN_EINVALID,
             "width: expected >= 0, got -4");
    ck_assert_ptr_null(g);
}
END_TEST

START_TEST(wrong_views_are_named)
{
    gnn_graph_t *g;
    ck_ok(make_sampled(&g));
    ck_fails(
        gnn_graph_prepare(g, &(gnn_view_t){.self_loops = GNN_ON}), GNN_ETOPOLOGY,
        "self-loops needs the same nodes on both sides, but the graph has 3 receivers and 7 senders");
    ck_fails(gnn_graph_prepare(g, &(gnn_view_t){.norm = GNN_GRAPH_NORM_SYMMETRIC}), GNN_ETOPOLOGY,
             "symmetric norm needs");
    ck_fails(gnn_graph_prepare(g, &(gnn_view_t){.norm = (gnn_graph_norm_t)9}), GNN_EINVALID,
             "norm: expected 0 to 3, got 9");
    ck_fails(gnn_graph_prepare(g, &(gnn_view_t){.backward = (gnn_flag_t)5}), GNN_EINVALID,
             "backward = 5 is not a flag");
    ck_fails(gnn_graph_prepare(g, NULL), GNN_EINVALID, "gnn_graph_prepare: view is NULL");
    ck_fails(gnn_graph_prepare(NULL, NULL), GNN_EINVALID, "gnn_graph_prepare: graph is NULL");
    gnn_graph_free(g);
}
END_TEST

/* Corrupts one value inside a prepared merge and expects validate to name it. */
#define BREAK(place, value, words)                                             \
    do {                                                                       \
        __typeof__(place) broken_before = (place), *broken = (void *)&(place); \
        *broken = (value);                                                     \
        ck_fails(gnn__graph_validate(g), GNN_ETOPOLOGY, words);                \
        *broken = broken_before;                                               \
    } while (0)

START_TEST(validate_finds_what_is_broken)
{
    gnn_graph_t *a, *b, *g;
    ck_ok(make_edges(&a));
    ck_ok(gnn_graph_from_spans(&b, 4, 4, NULL, ((int32_t[]){1, 0, 3, 2}), ((int32_t[]){0, 1, 1, 3}),
                               ((int32_t[]){2, 2, 3, 4})));
    ck_ok(gnn_graph_merge(&g, 2, (const gnn_graph_t *[]){a, b}));
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON}));
    ck_ok(gnn__graph_validate(g));
    gnn__built_view_t *v = g->views[0];
    int64_t *edge = (int64_t *)g->base.parts[0].pairs.edge, *degree = (int64_t *)g->base.degree;
    int32_t *indices = (int32_t *)g->base.parts[0].pairs.indices,
            *lo = (int32_t *)g->base.parts[1].pairs.lo, *back = (int32_t *)v->transposed[1].pairs.hi;
    int32_t *from = (int32_t *)v->transposed[0].pairs.indices,
            *order = (int32_t *)g->base.parts[1].pairs.col_order;
    gnn_real_t *factor = (gnn_real_t *)v->parts[0].scale_row;
    BREAK(edge[1], 2, "part 0: edge 2 of receiver 0 is a duplicate");
    BREAK(edge[1], 70, "part 0: edge 70 of receiver 0, but there are 7 edges");
    BREAK(indices[3], 4, "part 0: indices[3] = 4 of receiver 1, but there are 4 senders");
    BREAK(lo[2], 0, "part 1: lo[2] = 0 is below lo[1] = 1");
    BREAK(order[0], 0, "part 1: src_order[1] = 0 is a duplicate");
    BREAK(g->base.parts[1].pairs.count, 9, "part 1: count is 9, but there are 6 pairs");
    BREAK(degree[2], 9, "degree[2] = 9, but there are 4 incoming edges");
    BREAK(back[1], 2, "view with self-loops, symmetric norm and transpose: transposed part 1: ");
    BREAK(from[0], 3, "transposed part 0: edge");
    BREAK(factor[1], 2, "receiver scale[1] = 2");
    BREAK(v->parts[2].scale_col, NULL, "part 2: sender scale is missing");
    BREAK(v->n_parts, 2, "degree[");
    BREAK(g->n_edges, 8, "edge 7 is in no part");
    ck_ok(gnn__graph_validate(g));
    gnn_graph_free(a);
    gnn_graph_free(b);
    gnn_graph_free(g);
}
END_TEST

/* ---- failing allocations ---- */

START_TEST(constructors_survive_any_failing_allocation)
{
    for (int k = 0; k < ZOO; k++) {
        int64_t n = 1;
        for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
            gnn_graph_t *g = (gnn_graph_t *)&g;
            gnn__fail_allocation(n);
            rc = zoo[k](&g);
            gnn__fail_allocation(0);
            ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !g), "allocation %ld: %d", (long)n,
                          rc);
            gnn_graph_free(g);
        }
        ck_assert_int_gt(n, 3);
    }
    for (size_t t = 0; t < topology_count(); t++)
        for (int64_t n = 1, rc = GNN_EMEMORY; rc != GNN_OK; n++) {
            gnn_graph_t *g;
            gnn__fail_allocation(n);
            rc = gnn_topology_at(t)->build(
                &g, 3, (int64_t[]){6, 0, 3},
                strcmp(gnn_topology_at(t)->name, "bipartite") ? NULL : "receivers=2");
            gnn__fail_allocation(0);
            ck_assert(rc == GNN_OK || (rc == GNN_EMEMORY && !g));
            gnn_graph_free(g);
        }
}
END_TEST

START_TEST(prepare_survives_any_failing_allocation)
{
    const gnn_view_t keys[] = {{GNN_OFF, GNN_GRAPH_NORM_ROW, GNN_ON},
                               {GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON}};
    for (int k = 0; k < 2 * ZOO; k++) {
        gnn_graph_t *g;
        const gnn_view_t *key = &keys[k % 2];
        ck_ok(zoo[k / 2](&g));
        if (k % 2 && g->n_dst != g->n_src) {
            gnn_graph_free(g);
            continue;
        }
        int64_t n = 1;
        for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
            gnn__fail_allocation(n);
            int64_t owned = g->n_owned, views = g->n_views;
            rc = gnn_graph_prepare(g, key);
            gnn__fail_allocation(0);
            ck_assert(rc == GNN_OK || (g->n_owned == owned && g->n_views == views));
            ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %ld: %d", (long)n, rc);
            ck_assert((gnn__graph_view(g, key) != NULL) == (rc == GNN_OK));
            ck_ok(gnn__graph_validate(g));
        }
        ck_assert_int_gt(n, 4);
        gnn_graph_free(g);
    }
}
END_TEST

START_TEST(readers_of_a_graph_survive_failing_allocations)
{
    gnn_graph_t *g;
    ck_ok(make_batch(&g));
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){GNN_ON, GNN_GRAPH_NORM_ROW, GNN_ON}));
    for (int64_t n = 1, rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn__graph_validate(g);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK ? n > 5 : rc == GNN_EMEMORY);
    }
    gnn__fail_allocation(1);
    ck_fails(gnn_graph_pairs(g, NULL, NULL, NULL), GNN_EMEMORY, "offsets of pairs");
    gnn__fail_allocation(0);
    gnn_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph_use");
    TCase *tests = tcase_create("graph_use");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, batch_is_a_disjoint_union);
    tcase_add_test(tests, batch_of_one_kind_has_one_part);
    tcase_add_test(tests, merge_offsets_edge_ids_by_part);
    tcase_add_test(tests, distances_follow_segments_and_starts);
    tcase_add_test(tests, chunks_cover_all_rows_and_are_full);
    tcase_add_test(tests, incidence_leads_to_receivers);
    tcase_add_test(tests, parts_are_extracted);
    tcase_add_test(tests, nearest_rows_match_brute_force);
    tcase_add_test(tests, wrong_edges_are_named);
    tcase_add_test(tests, wrong_spans_are_named);
    tcase_add_test(tests, wrong_topologies_are_named);
    tcase_add_test(tests, wrong_views_are_named);
    tcase_add_test(tests, validate_finds_what_is_broken);
    tcase_add_test(tests, constructors_survive_any_failing_allocation);
    tcase_add_test(tests, prepare_survives_any_failing_allocation);
    tcase_add_test(tests, readers_of_a_graph_survive_failing_allocations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
