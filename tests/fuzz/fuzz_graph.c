/* libFuzzer: bytes as a program of graph constructors. Results are valid; the last one equals its
 * expanded edges, and layers give the same output on both; refusals set a message. */
#include "fuzz.h"

#include <gnn/gnn.h>
#include <graphs/graph.h>
#include <math.h>

enum { POOL = 5, FEW = 7, NODES = 60, MOST_PARTS = 64, PAIRS = 3000, WIDTH = 3, MOST_STEPS = 16 };

/* Mostly 0 .. n, once in a while outside. */
static int draw_number(fuzz_bytes_t *b, int n)
{
    const int k = fuzz_draw(b, 64);
    return k == 63 ? -1 : k == 62 ? n + 1 : k % (n + 1);
}

/* ---- making ---- */

static int make_csr(gnn_graph_t **g, fuzz_bytes_t *b)
{
    int64_t indptr[FEW + 1] = {fuzz_draw(b, 32) == 31};
    int32_t indices[FEW * FEW];
    const int n_dst = fuzz_draw(b, FEW), n_src = 1 + fuzz_draw(b, FEW);
    for (int r = 0; r < n_dst; r++)
        indptr[r + 1] = indptr[r] + (fuzz_draw(b, 32) == 31 ? -1 : fuzz_draw(b, FEW - 1));
    for (int k = 0; k < FEW * FEW; k++)
        indices[k] = (int32_t)draw_number(b, n_src - 1);
    return gnn_graph_from_csr(g, n_dst, n_src, indptr, indices);
}

static int make_edges(gnn_graph_t **g, fuzz_bytes_t *b)
{
    int64_t src[3 * FEW], dst[3 * FEW];
    const int n = 1 + fuzz_draw(b, FEW), m = fuzz_draw(b, 3 * FEW + 1);
    for (int k = 0; k < m; k++) {
        src[k] = draw_number(b, n - 1);
        dst[k] = draw_number(b, n - 1);
    }
    return gnn_graph_from_edges(g, n, n, m, src, dst);
}

/* A permutation, or nearly one. */
static const int32_t *draw_order(fuzz_bytes_t *b, int32_t *order, int n)
{
    if (fuzz_draw(b, 2))
        return NULL;
    for (int k = 0; k < n; k++)
        order[k] = (int32_t)k;
    for (int k = n - 1; k > 0; k--) {
        const int other = fuzz_draw(b, k + 1), swapped = order[k];
        order[k] = order[other];
        order[other] = swapped;
    }
    if (n > 0 && fuzz_draw(b, 32) == 31)
        order[fuzz_draw(b, n)] = (int32_t)draw_number(b, n);
    return order;
}

static int make_spans(gnn_graph_t **g, fuzz_bytes_t *b)
{
    int32_t rows[FEW], cols[FEW], lo[FEW], hi[FEW];
    const int n_dst = fuzz_draw(b, FEW), n_src = fuzz_draw(b, FEW), tidy = fuzz_draw(b, 16);
    int low = 0, high = 0;
    for (int r = 0; r < n_dst; r++) {
        low += tidy ? fuzz_draw(b, 2) : fuzz_draw(b, 3) - 1;
        high += tidy ? fuzz_draw(b, 3) : fuzz_draw(b, 3) - 1;
        hi[r] = (int32_t)(tidy && high > n_src ? n_src : high);
        lo[r] = (int32_t)(tidy && low > hi[r] ? hi[r] : low);
    }
    const int32_t *dst_order = draw_order(b, rows, n_dst), *src_order = draw_order(b, cols, n_src);
    return gnn_graph_from_spans(g, n_dst, n_src, dst_order, src_order, lo, hi);
}

static int make_sentences(gnn_graph_t **g, fuzz_bytes_t *b)
{
    int64_t lengths[3], others[3], globals[2];
    const int segments = fuzz_draw(b, 4);
    for (int k = 0; k < segments; k++) {
        lengths[k] = draw_number(b, FEW);
        others[k] = draw_number(b, FEW);
    }
    for (int k = 0; k < 2; k++)
        globals[k] = draw_number(b, 2 * FEW);
    switch (fuzz_draw(b, 5)) {
    case 0: return gnn_graph_complete(g, segments, lengths);
    case 1: return gnn_graph_causal(g, segments, lengths);
    case 2:
        return gnn_graph_window(g, segments, lengths, draw_number(b, 3), draw_number(b, 3),
                                fuzz_draw(b, 2) ? GNN_ON : GNN_OFF);
    case 3: return gnn_graph_bipartite(g, segments, lengths, others);
    default:
        return gnn_graph_window_global(g, segments, lengths, draw_number(b, 3), fuzz_draw(b, 3),
                                       globals);
    }
}

static int renumber(gnn_graph_t **g, const gnn_graph_t *of, fuzz_bytes_t *b)
{
    int64_t order[NODES];
    const int rc =
        fuzz_draw(b, 2) ? gnn__graph_degree_order(of, order) : gnn_graph_community_order(of, order);
    return rc == GNN_OK ? gnn_graph_renumber(g, of, order) : rc;
}

/* A new graph, or GNN_OK and none where the op changes one of the pool. */
static int make(gnn_graph_t **g, gnn_graph_t *const *pool, fuzz_bytes_t *b)
{
    gnn_graph_t *one = pool[fuzz_draw(b, POOL)], *two = pool[fuzz_draw(b, POOL)];
    const gnn_graph_t *const both[] = {one, two};
    const int what = fuzz_draw(b, 10);
    switch (what) {
    case 0: return make_csr(g, b);
    case 1: return make_edges(g, b);
    case 2: return make_spans(g, b);
    case 3: return make_sentences(g, b);
    default: break;
    }
    if (!one || !two || gnn_graph_n_parts(one) + gnn_graph_n_parts(two) > MOST_PARTS)
        return make_sentences(g, b);
    const gnn_view_t view = {(gnn_flag_t)fuzz_draw(b, 3),
                             (gnn_graph_norm_t)fuzz_draw(b, GNN_GRAPH_NORM_ROW + 1),
                             (gnn_flag_t)fuzz_draw(b, 3)};
    switch (what) {
    case 4: return gnn_graph_batch(g, 2, both);
    case 5: return gnn_graph_merge(g, 2, both);
    case 6: return gnn_graph_to_edges(g, one);
    case 7: return renumber(g, one, b);
    case 8:
        return gnn__graph_set_start(one, draw_number(b, 2), draw_number(b, 5), draw_number(b, 5));
    default: return gnn_graph_prepare(one, &view);
    }
}

/* ---- looking ---- */

/* A layer's output, or nothing if it is refused. */
static int hear(gnn_context_t *context, const gnn_layer_t *layer, gnn_graph_t *g,
                gnn_real_t *numbers, gnn_real_t *y)
{
    const int64_t n_dst = gnn_graph_n_dst(g), n_src = gnn_graph_n_src(g);
    const gnn_tensor_t x = gnn_tensor(numbers, n_src, WIDTH),
                       x_dst = gnn_tensor(numbers, n_dst, WIDTH),
                       out = gnn_tensor(y, n_dst, gnn_layer_width(layer));
    const int rc = gnn_layer_prepare(layer, g, GNN_ON);
    if (rc != GNN_OK)
        return rc;
    fuzz_must(gnn__graph_validate(g));
    return gnn_layer_forward(layer, context, g, &(gnn_inputs_t){.x_src = &x, .x_dst = &x_dst}, &out);
}

/* One of the three layers. */
static void compare(gnn_graph_t *g, size_t k)
{
    static gnn_context_t *context;
    static gnn_layer_t *layers[3];
    static gnn_real_t numbers[NODES * WIDTH];
    gnn_real_t a[NODES * WIDTH], b[NODES * WIDTH];
    gnn_graph_t *edges = NULL;
    if (!context) {
        fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 1}));
        fuzz_must(gnn_layer_new(&layers[0], context, &GNN_GCN(.in = WIDTH)));
        fuzz_must(gnn_layer_new(
            &layers[1], context,
            &GNN_TRANSFORMER_CONV(.in = WIDTH, .priors = {{.prior = &gnn_prior_slope}})));
        fuzz_must(gnn_layer_new(&layers[2], context,
                                &GNN_CONFIG(.in = WIDTH, .aggregator = gnn_aggregator_find("max"),
                                            .graph_norm = GNN_GRAPH_NORM_ROW)));
        gnn_tensor_t slope;
        fuzz_must(gnn_layer_field(layers[1], "prior_0.slopes", &slope, NULL));
        slope.data[0] = (gnn_real_t)0.3;
        for (int k = 0; k < NODES * WIDTH; k++)
            numbers[k] = (gnn_real_t)(k * 37 % 101) / 50 - 1;
    }
    fuzz_must(gnn_graph_to_edges(&edges, g));
    fuzz_must(gnn__graph_validate(edges));
    const int rc = hear(context, layers[k], g, numbers, a);
    if (rc != hear(context, layers[k], edges, numbers, b))
        abort();
    for (int64_t i = 0; rc == GNN_OK && i < gnn_graph_n_dst(g) * WIDTH; i++)
        if (!(fabs((double)(a[i] - b[i])) <= 1e-4))
            abort();
    gnn_graph_free(edges);
}

static void look(const gnn_graph_t *g)
{
    static int64_t src[PAIRS], dst[PAIRS], edge[PAIRS];
    const int64_t n_dst = gnn_graph_n_dst(g), n_src = gnn_graph_n_src(g),
                  pairs = gnn_graph_n_pairs(g);
    int64_t explicit_edges = 0;
    fuzz_must(gnn__graph_validate(g));
    fuzz_must(gnn_graph_pairs(g, src, dst, edge));
    for (int64_t k = 0; k < pairs; k++) {
        if (src[k] < 0 || src[k] >= n_src || dst[k] < 0 || dst[k] >= n_dst || edge[k] < -1 ||
            edge[k] >= gnn_graph_n_edges(g))
            abort();
        explicit_edges += edge[k] >= 0;
    }
    if (explicit_edges != gnn_graph_n_edges(g))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes_t bytes = {data, size};
    gnn_graph_t *pool[POOL] = {NULL};
    int place = 0;
    for (int step = 0; bytes.left > 0 && step < MOST_STEPS; step++) {
        gnn_graph_t *g = NULL;
        const int rc = make(&g, pool, &bytes);
        if (rc != GNN_OK && (g || !*gnn_error_message()))
            abort();
        if (!g)
            continue;
        if (gnn_graph_n_dst(g) > NODES || gnn_graph_n_src(g) > NODES || gnn_graph_n_pairs(g) > PAIRS) {
            gnn_graph_free(g);
            continue;
        }
        look(g);
        place = fuzz_draw(&bytes, POOL);
        gnn_graph_free(pool[place]);
        pool[place] = g;
    }
    if (pool[place])
        compare(pool[place], size % 3);
    for (int k = 0; k < POOL; k++)
        gnn_graph_free(pool[k]);
    return 0;
}
