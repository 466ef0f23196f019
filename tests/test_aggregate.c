/* The op `aggregate` from inside: own kernels against the generic driver, spans against edges, any number of threads, shared gradients, and refusals. What the
 * numbers should be is the contract test's business (test_contract.c). */
#include <graphs/graph.h>
#include <lib/aggregate/aggregate.h>

#include "support.h"

/* ---- running the op by hand ---- */

typedef struct run {
    gnn_op_call_t call;
    gnn_real_t *grads[GNN_AGGREGATE_INPUTS];
    gnn_real_t *memory[GNN_OP_SAVED + 3];
} run_t;

typedef struct job {
    gnn_aggregate_t how;
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS]; /* data NULL and rows 0: absent */
    bool present[GNN_AGGREGATE_INPUTS];
    gnn_aggregator_t row; /* a copy, so that its kernels can be taken away */
} job_t;

static void *block(size_t bytes)
{
    /* Garbage on purpose: whoever reads before writing gets NaN. */
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0xff, (bytes + 127) / 64 * 64);
    return memory;
}

static int run_op(run_t *r, job_t *job, gnn_context_t *context, bool recording, bool training)
{
    gnn_op_call_t *c = &r->call;
    memset(r, 0, sizeof *r);
    job->how.aggregator = &job->row;
    *c = (gnn_op_call_t){.context = context, .attributes = &job->how, .n_in = GNN_AGGREGATE_INPUTS, .rng = {.seed = 7, .step = 3, .stream = 11},
                         .training = training, .recording = recording, .where = ""};
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        c->in[k].rows = job->in[k].rows;
        c->in[k].cols = job->in[k].cols;
        c->in[k].present = job->present[k];
        c->in[k].wants_grad = job->present[k];
    }
    GNN_TRY(gnn__op_aggregate.shape(c));
    size_t bytes = sizeof(gnn_real_t) * (size_t)(c->out[0].rows * c->out[0].cols);
    c->out[0].value = gnn_tensor(r->memory[0] = block(bytes), c->out[0].rows, c->out[0].cols);
    for (int s = 0; s < GNN_OP_SAVED; s++)
        c->saved[s] = r->memory[1 + s] = block(c->saved_bytes[s]);
    c->scratch = r->memory[GNN_OP_SAVED + 1] = block(c->forward_scratch > c->backward_scratch ? c->forward_scratch : c->backward_scratch);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        c->in[k].value = job->in[k];
    return gnn__op_aggregate.forward(c);
}

/* Values that backward did not ask for are taken away. */
static void run_backward(run_t *r, job_t *job)
{
    gnn_op_call_t *c = &r->call;
    size_t scratch = c->forward_scratch > c->backward_scratch ? c->forward_scratch : c->backward_scratch;
    memset(c->scratch, 0xff, scratch);
    c->out[0].grad = gnn_tensor(r->memory[GNN_OP_SAVED + 2] = test_reals(c->out[0].rows * c->out[0].cols, 99), c->out[0].rows, c->out[0].cols);
    if (!(c->keep_out & 1))
        c->out[0].value.data = NULL;
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!job->present[k])
            continue;
        r->grads[k] = block(sizeof(gnn_real_t) * (size_t)(job->in[k].rows * job->in[k].cols));
        c->in[k].grad = gnn_tensor(r->grads[k], job->in[k].rows, job->in[k].cols);
        if (!(c->keep_in >> k & 1))
            c->in[k].value.data = NULL;
    }
    ck_ok(gnn__op_aggregate.backward(c));
    c->out[0].value.data = r->memory[0];
}

static void run_free(run_t *r)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        free(r->grads[k]);
    for (size_t k = 0; k < sizeof r->memory / sizeof *r->memory; k++)
        free(r->memory[k]);
}

/* As test_error, but the largest number counts as 0.1 at least: a softmax over one sender has the gradient 0 up to rounding. */
static double error_of(const gnn_real_t *a, const gnn_real_t *b, int64_t n)
{
    double largest = 0.1, worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double x = (double)a[k], y = (double)b[k];
        if (isnan(x) != isnan(y))
            return INFINITY;
        worst = fmax(worst, isnan(x) ? 0 : fabs(x - y));
        largest = fmax(largest, isnan(y) ? 0 : fabs(y));
    }
    return worst / largest;
}

static void compare(const run_t *a, const run_t *b, const job_t *job, const char *what, double out, double grad)
{
    static const char *const names[] = {"src_message", "dst_message", "query", "key", "edge_features", "edge_message_weight", "edge_message_bias",
                                        "edge_key_weight", "edge_weight", "edge_bias", "parameters", "distance", "gate"};
    double e = error_of(a->memory[0], b->memory[0], a->call.out[0].rows * a->call.out[0].cols);
    ck_assert_msg(e <= out, "%s %s: outputs differ by %g", what, job->row.name, e);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!a->grads[k] || !b->grads[k])
            continue;
        e = error_of(a->grads[k], b->grads[k], job->in[k].rows * job->in[k].cols);
        ck_assert_msg(e <= grad, "%s %s: gradients of %s differ by %g", what, job->row.name, names[k], e);
    }
}

/* ---- jobs ---- */

typedef struct sizes {
    int64_t heads, kv_heads, d_k, d_v, d_e;
} sizes_t;

static void give(job_t *job, int k, int64_t rows, int64_t cols)
{
    job->present[k] = true;
    job->in[k] = gnn_tensor(test_reals(rows * cols, (uint64_t)(1000 + k)), rows, cols);
}

/* Every input that the pair of rows can take, edge inputs only if asked for. */
static job_t job_new(const gnn_graph_t *g, const char *message, const char *aggregator, sizes_t s, bool edges)
{
    job_t job = {.row = *gnn_aggregator_find(aggregator)};
    const gnn_message_t *m = gnn_message_find(message);
    const int64_t n_dst = gnn_graph_n_dst(g), n_src = gnn_graph_n_src(g), n_edges = gnn_graph_n_edges(g);
    const bool scored = job.row.flags & GNN_AGGREGATOR_SCORED;
    if (!scored)
        s.heads = s.kv_heads = 1;
    const int64_t width = s.kv_heads * s.d_v, key = job.row.score == GNN_SCORE_PER_KEY ? s.kv_heads * s.d_k : s.heads;
    job.how = (gnn_aggregate_t){.message = m, .graph = g, .shape = {.heads = s.heads, .kv_heads = s.kv_heads}};
    give(&job, GNN_AGGREGATE_SRC_MESSAGE, n_src, m->src_parts * width);
    if (m->dst_parts)
        give(&job, GNN_AGGREGATE_DST_MESSAGE, n_dst, m->dst_parts * width);
    if (scored) {
        give(&job, GNN_AGGREGATE_QUERY, n_dst, job.row.score == GNN_SCORE_PER_KEY ? s.heads * s.d_k : s.heads);
        give(&job, GNN_AGGREGATE_KEY, n_src, key);
    }
    if (job.row.parameters_per_key)
        give(&job, GNN_AGGREGATE_PARAMETERS, 1, s.heads * s.d_k);
    if (edges)
        give(&job, GNN_AGGREGATE_EDGE_WEIGHT, n_edges, 1);
    if (edges && scored)
        give(&job, GNN_AGGREGATE_EDGE_BIAS, n_edges, s.heads);
    if (edges && s.d_e && (scored || m->edge_parts))
        give(&job, GNN_AGGREGATE_EDGE_FEATURES, n_edges, s.d_e);
    if (edges && s.d_e && m->edge_parts) {
        give(&job, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, s.d_e, m->edge_parts * width);
        give(&job, GNN_AGGREGATE_EDGE_MESSAGE_BIAS, 1, m->edge_parts * width);
    }
    if (edges && s.d_e && scored)
        give(&job, GNN_AGGREGATE_EDGE_KEY_WEIGHT, s.d_e, key);
    return job;
}

static void job_free(job_t *job)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        free(job->in[k].data);
}

/* ---- graphs ---- */

static gnn_context_t *context_new(int threads)
{
    gnn_context_t *c;
    ck_ok(gnn_context_new(&c, &(gnn_context_config_t){.threads = threads, .deterministic = GNN_ON}));
    return c;
}

static void prepare(gnn_graph_t *g)
{
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
}

/* Random edges; some nodes hear nobody, some pairs occur twice. */
static gnn_graph_t *random_edges(int64_t n_dst, int64_t n_src, int64_t m, uint64_t seed)
{
    gnn_graph_t *g;
    int64_t *src = malloc(sizeof *src * (size_t)(m + 1)), *dst = malloc(sizeof *dst * (size_t)(m + 1));
    for (int64_t k = 0; k < m; k++) {
        src[k] = (int64_t)(fabs(test_uniform(&seed)) * (double)n_src) % n_src;
        dst[k] = (int64_t)(fabs(test_uniform(&seed)) * (double)n_dst * 0.8) % n_dst;
    }
    ck_ok(gnn_graph_from_edges(&g, n_dst, n_src, m, src, dst));
    free(src);
    free(dst);
    return g;
}

/* Random monotone runs, empty ones included, with both sides shuffled. */
static gnn_graph_t *random_spans(int64_t n_dst, int64_t n_src, uint64_t seed)
{
    gnn_graph_t *g;
    int32_t *lo = malloc(sizeof *lo * (size_t)n_dst), *hi = malloc(sizeof *hi * (size_t)n_dst), *order[2];
    int64_t n[2] = {n_dst, n_src};
    int32_t from = 0, to = 0;
    for (int64_t r = 0; r < n_dst; r++) {
        to += (int32_t)(fabs(test_uniform(&seed)) * 2.5 * (double)n_src / (double)n_dst);
        to = to > n_src ? (int32_t)n_src : to;
        from += test_uniform(&seed) > 0 ? (int32_t)(fabs(test_uniform(&seed)) * (double)(to - from)) : 0;
        if (test_uniform(&seed) > 0.9)
            from = to;
        lo[r] = from;
        hi[r] = to;
    }
    for (int side = 0; side < 2; side++) {
        order[side] = malloc(sizeof(int32_t) * (size_t)n[side]);
        for (int64_t k = 0; k < n[side]; k++) {
            int64_t at = (int64_t)(fabs(test_uniform(&seed)) * (double)(k + 1)) % (k + 1);
            order[side][k] = order[side][at];
            order[side][at] = (int32_t)k;
        }
    }
    ck_ok(gnn_graph_from_spans(&g, n_dst, n_src, order[0], order[1], lo, hi));
    free(lo);
    free(hi);
    free(order[0]);
    free(order[1]);
    return g;
}

enum { GRAPHS = 7 };

/* Graphs without edge numbers in their spans; `n` scales them. */
static gnn_graph_t *graph_at(int which, int64_t n)
{
    gnn_graph_t *g = NULL, *parts[3];
    const int64_t lengths[] = {n, 1, n / 2, 0, 3};
    switch (which) {
    case 0: return random_edges(n, n + 3, 5 * n, 1);
    case 1: return random_spans(n, n + 5, 2);
    case 2: ck_ok(gnn_graph_complete(&g, 5, lengths)); return g;
    case 3: ck_ok(gnn_graph_causal(&g, 5, lengths)); return g;
    case 4: ck_ok(gnn_graph_window(&g, 5, lengths, 4, 2, GNN_OFF)); return g;
    case 5: ck_ok(gnn_graph_bipartite(&g, 5, lengths, (int64_t[]){3, n, 1, 2, 0})); return g;
    default:
        parts[0] = random_spans(n, n, 4);
        parts[1] = random_edges(n, n, 3 * n, 5);
        ck_ok(gnn_graph_complete(&parts[2], 1, &n));
        ck_ok(gnn_graph_merge(&g, 3, (const gnn_graph_t *const *)parts));
        for (int p = 0; p < 3; p++)
            gnn_graph_free(parts[p]);
        return g;
    }
}

static bool has_spans(const gnn_graph_t *g)
{
    for (int64_t p = 0; p < gnn_graph_n_parts(g); p++)
        if (gnn_graph_part_is_spans(g, p))
            return true;
    return false;
}

static const int64_t test_sizes[] = {1, 2, 17, 65, 130};
static const sizes_t test_widths[] = {{1, 1, 3, 3, 0}, {2, 1, 4, 8, 0}, {8, 8, 8, 8, 0}, {3, 3, 5, 17, 0}, {4, 2, 64, 64, 0}, {1, 1, 16, 150, 0}};
enum { SIZES = sizeof test_sizes / sizeof *test_sizes, WIDTHS = sizeof test_widths / sizeof *test_widths };

/* ---- tests ---- */

/* Runs `job` on graph g with the row's kernels or without them. */
static void run_on(run_t *r, job_t *job, const gnn_graph_t *g, gnn_context_t *context, bool generic, bool training)
{
    job->how.graph = g;
    job->row.kernels = generic ? NULL : gnn_aggregator_find(job->row.name)->kernels;
    ck_ok(run_op(r, job, context, true, training));
    run_backward(r, job);
}

static void check_kernels(gnn_graph_t *g, const char *aggregator, sizes_t s, gnn_context_t *context)
{
    for (int training = 0; training < 2; training++) {
        job_t job = job_new(g, "linear", aggregator, s, !has_spans(g));
        job.how.dropout = (gnn_real_t)0.4;
        run_t own, generic;
        run_on(&own, &job, g, context, false, training);
        run_on(&generic, &job, g, context, true, training);
        compare(&own, &generic, &job, "kernels against the driver,", TOLERANCE_OUT, TOLERANCE_GRAD);
        run_free(&own);
        run_free(&generic);
        job_free(&job);
    }
}

START_TEST(kernels_equal_driver)
{
    gnn_context_t *context = context_new(1);
    const gnn_aggregator_t *row = gnn_aggregator_at((size_t)_i / GRAPHS);
    for (int n = 0; n < SIZES && row->kernels; n++) {
        gnn_graph_t *g = graph_at(_i % GRAPHS, test_sizes[n]);
        prepare(g);
        for (int w = 0; w < WIDTHS; w++)
            check_kernels(g, row->name, test_widths[w], context);
        gnn_graph_free(g);
    }
    gnn_context_free(context);
}
END_TEST

/* Every message x aggregator: the same numbers whether the graph is stored as spans or as edges. */
static void check_forms(gnn_graph_t *g, const gnn_graph_t *edges, const char *message, const char *aggregator, gnn_context_t *context)
{
    job_t job = job_new(g, message, aggregator, (sizes_t){4, 2, 5, 6, 0}, false);
    job.how.dropout = (gnn_real_t)0.3;
    for (int generic = 0; generic < 2; generic++) {
        run_t a, b;
        run_on(&a, &job, g, context, generic, true);
        run_on(&b, &job, edges, context, generic, true);
        compare(&a, &b, &job, "spans against edges,", TOLERANCE_OUT, TOLERANCE_GRAD);
        run_free(&a);
        run_free(&b);
    }
    job_free(&job);
}

START_TEST(spans_equal_edges)
{
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = graph_at(_i, 33), *edges;
    ck_ok(gnn_graph_to_edges(&edges, g));
    prepare(g);
    prepare(edges);
    for (size_t m = 0; m < gnn_message_count(); m++)
        for (size_t a = 0; a < gnn_aggregator_count(); a++)
            check_forms(g, edges, gnn_message_at(m)->name, gnn_aggregator_at(a)->name, context);
    gnn_graph_free(g);
    gnn_graph_free(edges);
    gnn_context_free(context);
}
END_TEST

START_TEST(same_bits_with_any_threads)
{
    const gnn_aggregator_t *row = gnn_aggregator_at((size_t)_i);
    static const int graphs[] = {0, 1, 3, 6};
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
        for (int generic = 0; generic < 2; generic++) {
            gnn_graph_t *g = graph_at(graphs[k], 600);
            prepare(g);
            job_t job = job_new(g, has_spans(g) ? "linear" : generic ? "linear_edge" : "none", row->name, (sizes_t){8, 8, 8, 8, generic ? 3 : 0}, !has_spans(g));
            job.how.dropout = (gnn_real_t)0.5;
            run_t runs[3];
            for (int t = 0; t < 3; t++) {
                gnn_context_t *context = context_new(1 << t);
                run_on(&runs[t], &job, g, context, generic, true);
                gnn_context_free(context);
                compare(&runs[t], &runs[0], &job, "threads,", 0, 0);
            }
            for (int t = 0; t < 3; t++)
                run_free(&runs[t]);
            job_free(&job);
            gnn_graph_free(g);
        }
}
END_TEST

/* A sentence full of NaN must not change a bit of the others. */
START_TEST(nan_stays_in_its_sentence)
{
    const gnn_aggregator_t *row = gnn_aggregator_at((size_t)_i);
    const int64_t lengths[] = {7, 40, 16, 90}, poisoned = 47, until = 63, n = 153;
    gnn_context_t *context = context_new(1);
    for (int which = 0; which < 2; which++) {
        gnn_graph_t *g;
        ck_ok(which ? gnn_graph_causal(&g, 4, lengths) : gnn_graph_complete(&g, 4, lengths));
        prepare(g);
        job_t job = job_new(g, "linear", row->name, (sizes_t){2, 2, 8, 8, 0}, false);
        run_t clean, dirty;
        run_on(&clean, &job, g, context, false, false);
        for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
            for (int64_t c = poisoned * job.in[k].cols; job.present[k] && c < until * job.in[k].cols; c++)
                job.in[k].data[c] = NAN;
        run_on(&dirty, &job, g, context, false, false);
        ck_assert(dirty.memory[0][poisoned * dirty.call.out[0].cols] != dirty.memory[0][poisoned * dirty.call.out[0].cols] || strcmp(row->name, "std") == 0);
        for (int64_t i = 0; i < n; i++) {
            if (i >= poisoned && i < until)
                continue;
            int64_t w = clean.call.out[0].cols;
            ck_assert_msg(memcmp(clean.memory[0] + i * w, dirty.memory[0] + i * w, sizeof(gnn_real_t) * (size_t)w) == 0, "%s: row %d changed", row->name, (int)i);
            for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
                if (job.present[k])
                    ck_assert_msg(memcmp(clean.grads[k] + i * job.in[k].cols, dirty.grads[k] + i * job.in[k].cols,
                                         sizeof(gnn_real_t) * (size_t)job.in[k].cols) == 0, "%s: gradient %d of row %d changed", row->name, k, (int)i);
        }
        run_free(&clean);
        run_free(&dirty);
        job_free(&job);
        gnn_graph_free(g);
    }
    gnn_context_free(context);
}
END_TEST

/* Two inputs whose gradients lie in the same memory: the second adds to the first, rows in step (GATv2) or shifted against each other. */
static void check_shared(const char *aggregator, bool generic, int64_t shift)
{
    gnn_context_t *context = context_new(4);
    gnn_graph_t *g = graph_at(6, 400);
    prepare(g);
    job_t job = job_new(g, "linear", aggregator, (sizes_t){2, 2, 6, 6, 0}, false);
    const int64_t rows = 400, width = 12, numbers = (rows + shift) * width;
    run_t apart, shared;
    run_on(&apart, &job, g, context, generic, false);
    job.row.kernels = generic ? NULL : gnn_aggregator_find(aggregator)->kernels;
    ck_ok(run_op(&shared, &job, context, true, false));
    gnn_real_t *both = test_reals(numbers, 3), *expected = test_reals(numbers, 3);
    for (int64_t k = 0; k < rows * width; k++)
        expected[k] = apart.grads[GNN_AGGREGATE_SRC_MESSAGE][k];
    for (int64_t k = 0; k < rows * width; k++)
        expected[shift * width + k] += apart.grads[GNN_AGGREGATE_KEY][k];
    shared.call.out[0].grad = gnn_tensor(shared.memory[GNN_OP_SAVED + 2] = test_reals(rows * width, 99), rows, width);
    shared.call.in[GNN_AGGREGATE_SRC_MESSAGE].grad = gnn_tensor(both, rows, width);
    shared.call.in[GNN_AGGREGATE_KEY].grad = gnn_tensor(both + shift * width, rows, width);
    shared.call.in[GNN_AGGREGATE_KEY].accumulate = 1;
    ck_ok(gnn__op_aggregate.backward(&shared.call));
    double e = error_of(both, expected, numbers);
    ck_assert_msg(e < TOLERANCE_OUT, "%s, rows shifted by %d: %g", aggregator, (int)shift, e);
    free(both);
    free(expected);
    run_free(&apart);
    run_free(&shared);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}

START_TEST(gradients_may_share_memory)
{
    for (int generic = 0; generic < 2; generic++)
        for (int64_t shift = 0; shift < 4; shift += 3) {
            check_shared("dot", generic, shift);
            check_shared("additive_v2", generic, shift);
        }
}
END_TEST

/* Gradients that are added to keep what was there. */
START_TEST(gradients_add_up)
{
    gnn_context_t *context = context_new(1);
    const gnn_aggregator_t *row = gnn_aggregator_at((size_t)_i);
    gnn_graph_t *g = graph_at(0, 30);
    prepare(g);
    job_t job = job_new(g, "linear", row->name, (sizes_t){2, 2, 4, 4, 0}, true);
    run_t once;
    run_on(&once, &job, g, context, false, false);
    const gnn_operand_t *in = once.call.in;
    gnn_real_t *first[GNN_AGGREGATE_INPUTS] = {0};
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        const int64_t n = in[k].rows * in[k].cols;
        once.call.in[k].accumulate = 1;
        once.call.in[k].value = job.in[k];
        if (job.present[k])
            first[k] = memcpy(malloc(sizeof(gnn_real_t) * (size_t)n), once.grads[k], sizeof(gnn_real_t) * (size_t)n);
    }
    ck_ok(gnn__op_aggregate.backward(&once.call));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        for (int64_t x = 0; job.present[k] && x < in[k].rows * in[k].cols; x++)
            first[k][x] *= 2;
        if (job.present[k])
            ck_assert(error_of(once.grads[k], first[k], in[k].rows * in[k].cols) < TOLERANCE_GRAD);
        free(first[k]);
    }
    run_free(&once);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* Scores of minus infinity count as not heard; a receiver with no other scores hears nobody. */
START_TEST(infinite_bias_is_a_mask)
{
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = random_edges(20, 20, 120, 8);
    prepare(g);
    for (int generic = 0; generic < 2; generic++) {
        job_t job = job_new(g, "linear", "dot", (sizes_t){1, 1, 4, 4, 0}, true);
        int64_t src[120], dst[120], edge[120];
        ck_ok(gnn_graph_pairs(g, src, dst, edge));
        for (int k = 0; k < 120; k++)
            if (dst[k] == 3 || k % 5 == 0)
                job.in[GNN_AGGREGATE_EDGE_BIAS].data[edge[k]] = -INFINITY;
        run_t r;
        run_on(&r, &job, g, context, generic, false);
        for (int64_t c = 0; c < 80; c++)
            ck_assert(c / 4 == 3 ? r.memory[0][c] == 0 : isfinite((double)r.memory[0][c]));
        for (int k = 0; k < 120; k++)
            ck_assert(dst[k] != 3 || r.grads[GNN_AGGREGATE_EDGE_BIAS][edge[k]] == 0);
        for (int64_t c = 0; c < 80; c++)
            ck_assert(isfinite((double)r.grads[GNN_AGGREGATE_QUERY][c]) && isfinite((double)r.grads[GNN_AGGREGATE_KEY][c]));
        run_free(&r);
        job_free(&job);
    }
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* ---- refusals ---- */

typedef struct refusal {
    const char *aggregator, *message;
    int input; /* given a shape of rows x cols */
    int64_t rows, cols;
    int code;
    const char *words;
} refusal_t;

static const refusal_t refusals[] = {
    {"sum", "linear", GNN_AGGREGATE_SRC_MESSAGE, 9, 4, GNN_ESHAPE, "src_message is 9 x 4, expected 13 x 4"},
    {"dot", "linear", GNN_AGGREGATE_QUERY, 10, 7, GNN_ESHAPE, "query has 7 columns"},
    {"dot", "linear", GNN_AGGREGATE_KEY, 13, 10, GNN_ESHAPE, "key is 13 x 10, expected 13 x 8"},
    {"dot", "linear", GNN_AGGREGATE_SRC_MESSAGE, 13, 7, GNN_ESHAPE, "width 7 cannot be split into 2 heads"},
    {"additive", "linear", GNN_AGGREGATE_QUERY, 10, 3, GNN_ESHAPE, "query is 10 x 3, expected 10 x 2"},
    {"additive_v2", "linear", GNN_AGGREGATE_PARAMETERS, 1, 9, GNN_ESHAPE, "parameters is 1 x 9, expected 1 x 8"},
    {"sum", "linear", GNN_AGGREGATE_QUERY, 10, 4, GNN_EUNSUPPORTED, "sum takes no query"},
    {"sum", "linear", GNN_AGGREGATE_EDGE_BIAS, 50, 1, GNN_EUNSUPPORTED, "sum takes no edge_bias"},
    {"dot", "linear", GNN_AGGREGATE_EDGE_BIAS, 50, 3, GNN_ESHAPE, "edge_bias is 50 x 3"},
    {"max", "linear", GNN_AGGREGATE_EDGE_WEIGHT, 49, 1, GNN_ESHAPE, "edge_weight is 49 x 1, expected 50 x 1"},
    {"sum", "linear", GNN_AGGREGATE_EDGE_FEATURES, 50, 3, GNN_EINVALID, "edge_features need"},
    {"sum", "linear_edge", GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, 3, 4, GNN_EINVALID, "needs edge_features"},
    {"sum", "linear", GNN_AGGREGATE_DST_MESSAGE, 10, 4, GNN_EINVALID, "linear takes no dst_message"},
    {"dot", "linear", GNN_AGGREGATE_DISTANCE, 1, 2, GNN_EINVALID, "without a distance bias takes no distance"},
    {"dot", "linear", GNN_AGGREGATE_GATE, 10, 3, GNN_ESHAPE, "gate is 10 x 3, expected 10 x 2"},
};

START_TEST(wrong_inputs_are_named)
{
    const refusal_t *f = &refusals[_i];
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = random_edges(10, 13, 50, 1);
    job_t job = job_new(g, f->message, f->aggregator, (sizes_t){2, 2, 4, 4, 0}, false);
    free(job.in[f->input].data);
    give(&job, f->input, f->rows, f->cols);
    run_t r;
    ck_fails(run_op(&r, &job, context, false, false), f->code, f->words);
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

START_TEST(spans_refuse_edge_inputs)
{
    static const int inputs[] = {GNN_AGGREGATE_EDGE_WEIGHT, GNN_AGGREGATE_EDGE_BIAS, GNN_AGGREGATE_EDGE_FEATURES};
    static const char *const words[] = {"part 0 of the graph stores spans, which take no edge_weight", "no edge_bias", "no edge_features"};
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = graph_at(2, 9);
    job_t job = job_new(g, "linear", "dot", (sizes_t){2, 2, 4, 4, 0}, false);
    give(&job, inputs[_i], gnn_graph_n_edges(g), 1);
    run_t r;
    ck_fails(run_op(&r, &job, context, false, false), GNN_EUNSUPPORTED, words[_i]);
    run_free(&r);
    ck_fails((job.present[inputs[_i]] = false, run_op(&r, &job, context, true, false)), GNN_EUNPREPARED, "gnn_graph_prepare");
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

START_TEST(tables_find_their_rows)
{
    for (size_t k = 0; k < gnn_aggregator_count(); k++)
        ck_assert_ptr_eq(gnn_aggregator_find(gnn_aggregator_at(k)->name), gnn_aggregator_at(k));
    for (size_t k = 0; k < gnn_message_count(); k++)
        ck_assert_ptr_eq(gnn_message_find(gnn_message_at(k)->name), gnn_message_at(k));
    ck_assert_ptr_null(gnn_aggregator_find("median"));
    ck_assert_ptr_null(gnn_message_find(NULL));
    ck_assert_ptr_null(gnn_aggregator_at(gnn_aggregator_count()));
    ck_assert_ptr_null(gnn_message_at(gnn_message_count()));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate");
    TCase *kernels = tcase_create("kernels");
    tcase_set_timeout(kernels, 600);
    tcase_add_loop_test(kernels, kernels_equal_driver, 0, (int)gnn_aggregator_count() * GRAPHS);
    tcase_add_loop_test(kernels, spans_equal_edges, 0, GRAPHS);
    tcase_add_loop_test(kernels, same_bits_with_any_threads, 0, (int)gnn_aggregator_count());
    tcase_add_loop_test(kernels, nan_stays_in_its_sentence, 0, (int)gnn_aggregator_count());
    tcase_add_test(kernels, gradients_may_share_memory);
    tcase_add_loop_test(kernels, gradients_add_up, 0, (int)gnn_aggregator_count());
    tcase_add_test(kernels, infinite_bias_is_a_mask);
    suite_add_tcase(suite, kernels);
    TCase *inputs = tcase_create("inputs");
    tcase_add_loop_test(inputs, wrong_inputs_are_named, 0, sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(inputs, spans_refuse_edge_inputs, 0, 3);
    tcase_add_test(inputs, tables_find_their_rows);
    suite_add_tcase(suite, inputs);
    return test_main(suite);
}
