/* Shared by test_aggregate.c and related suites: direct calls of the op `aggregate`, inputs for it,
 * and graphs of every kind. */
#ifndef GNN_TESTS_AGGREGATE_RUN_H
#define GNN_TESTS_AGGREGATE_RUN_H

#include <graphs/graph.h>
#include <lib/aggregate/aggregate.h>
#include <lib/aggregate/tables.h>

#include "combinations.h"

/* ---- direct calls of the op ---- */

typedef struct run {
    gnn_op_call_t call;
    gnn_operand_t in[GNN_AGGREGATE_INPUTS];
    gnn_real_t *grads[GNN_AGGREGATE_INPUTS];
    gnn_real_t *memory[GNN_OP_SAVED + 3];
} run_t;

typedef struct job {
    gnn_aggregate_t how;
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS]; /* data NULL and rows 0: absent */
    bool present[GNN_AGGREGATE_INPUTS];
    combination_t combination;
    gnn_aggregator_t copy; /* of its aggregator: kernels do not know it */
    bool generic;          /* the copy is what runs */
} job_t;

static inline void *block(size_t bytes)
{
    /* Filled with NaN on purpose, so that reads before writes are seen. */
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0xff, (bytes + 127) / 64 * 64);
    return memory;
}

static inline int run_op(run_t *r, job_t *job, gnn_context_t *context, bool recording, bool training)
{
    gnn_op_call_t *c = &r->call;
    memset(r, 0, sizeof *r);
    job->copy = *job->combination.aggregator;
    job->how.aggregator = job->generic ? &job->copy : job->combination.aggregator;
    job->how.score = job->combination.score;
    *c = (gnn_op_call_t){.context = context,
                         .attributes = &job->how,
                         .n_in = GNN_AGGREGATE_INPUTS,
                         .in = r->in,
                         .rng = {.seed = 7, .step = 3, .stream = 11},
                         .training = training,
                         .recording = recording,
                         .where = ""};
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
    c->scratch = r->memory[GNN_OP_SAVED + 1] =
        block(c->forward_scratch > c->backward_scratch ? c->forward_scratch : c->backward_scratch);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        c->in[k].value = job->in[k];
    return gnn__op_aggregate.forward(c);
}

/* Values that backward did not ask for are taken away. */
static inline void run_backward(run_t *r, job_t *job)
{
    gnn_op_call_t *c = &r->call;
    size_t scratch =
        c->forward_scratch > c->backward_scratch ? c->forward_scratch : c->backward_scratch;
    memset(c->scratch, 0xff, scratch);
    c->out[0].grad =
        gnn_tensor(r->memory[GNN_OP_SAVED + 2] = test_reals(c->out[0].rows * c->out[0].cols, 99),
                   c->out[0].rows, c->out[0].cols);
    if (!c->out[0].keep)
        c->out[0].value.data = NULL;
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!job->present[k])
            continue;
        r->grads[k] = block(sizeof(gnn_real_t) * (size_t)(job->in[k].rows * job->in[k].cols));
        c->in[k].grad = gnn_tensor(r->grads[k], job->in[k].rows, job->in[k].cols);
        if (!c->in[k].keep)
            c->in[k].value.data = NULL;
    }
    ck_ok(gnn__op_aggregate.backward(c));
    c->out[0].value.data = r->memory[0];
}

static inline void run_free(run_t *r)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        free(r->grads[k]);
    for (size_t k = 0; k < sizeof r->memory / sizeof *r->memory; k++)
        free(r->memory[k]);
}

/* As test_error, but relative to at least 0.2: the gradient of a softmax over one sender is 0 up to
 * the rounding of terms that cancel, of some tens with an ulp of 3e-6. With fused multiply-adds
 * (ARM) errors of three ulps occur. */
static inline double error_of(const gnn_real_t *a, const gnn_real_t *b, int64_t n)
{
    double largest = 0.2, worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double x = (double)a[k], y = (double)b[k];
        if (isnan(x) != isnan(y))
            return INFINITY;
        worst = fmax(worst, isnan(x) ? 0 : fabs(x - y));
        largest = fmax(largest, isnan(y) ? 0 : fabs(y));
    }
    return worst / largest;
}

static inline void compare(const run_t *a, const run_t *b, const job_t *job, const char *what,
                           double out, double grad)
{
    double e = error_of(a->memory[0], b->memory[0], a->call.out[0].rows * a->call.out[0].cols);
    ck_assert_msg(e <= out, "%s %s: outputs differ by %g", what, job->combination.name, e);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!a->grads[k] || !b->grads[k])
            continue;
        e = error_of(a->grads[k], b->grads[k], job->in[k].rows * job->in[k].cols);
        ck_assert_msg(e <= grad, "%s %s: gradients of input %d differ by %g", what,
                      job->combination.name, k, e);
    }
}

/* ---- jobs ---- */

typedef struct sizes {
    int64_t heads, kv_heads, d_k, d_v, d_e;
} sizes_t;

static inline void give(job_t *job, int k, int64_t rows, int64_t cols)
{
    job->present[k] = true;
    job->in[k] = gnn_tensor(test_reals(rows * cols, (uint64_t)(1000 + k)), rows, cols);
}

/* Every input that the pair of rows can take, edge inputs only if asked for. */
static inline job_t job_new(const gnn_graph_t *g, const char *message, const char *aggregator,
                            sizes_t s, bool edges)
{
    job_t job = {.combination = combination_of(aggregator)};
    const gnn_score_t *const score = job.combination.score;
    const gnn_message_t *m = gnn_message_find(message);
    const int64_t n_dst = gnn_graph_n_dst(g), n_src = gnn_graph_n_src(g),
                  n_edges = gnn_graph_n_edges(g);
    const bool scored = score != NULL;
    if (!scored)
        s.heads = s.kv_heads = 1;
    const int64_t width = s.kv_heads * s.d_v,
                  key = gnn__scores_keys(score) ? s.kv_heads * s.d_k : s.heads;
    job.how = (gnn_aggregate_t){
        .message = m,
        .graph = g,
        .shape = {.heads = s.heads, .key_heads = s.kv_heads, .value_heads = s.kv_heads}};
    give(&job, GNN_AGGREGATE_SRC_MESSAGE, n_src, m->src_parts * width);
    if (m->declare)
        give(&job, GNN_AGGREGATE_MESSAGE_PARAMETERS, 32, width);
    if (m->dst_parts)
        give(&job, GNN_AGGREGATE_DST_MESSAGE, n_dst, m->dst_parts * width);
    if (scored) {
        give(&job, GNN_AGGREGATE_QUERY, n_dst, gnn__scores_keys(score) ? s.heads * s.d_k : s.heads);
        give(&job, GNN_AGGREGATE_KEY, n_src, key);
    }
    if (job.combination.aggregator->declare)
        give(&job, GNN_AGGREGATE_PARAMETERS, 1, 1);
    if (scored && score->declare)
        give(&job, GNN_AGGREGATE_SCORE_PARAMETERS, 1, s.heads * s.d_k);
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

static inline void job_free(job_t *job)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        free(job->in[k].data);
}

/* ---- graphs ---- */

static inline gnn_context_t *context_new(int threads)
{
    gnn_context_t *c;
    ck_ok(gnn_context_new(&c, &(gnn_context_config_t){.threads = threads, .deterministic = GNN_ON}));
    return c;
}

static inline void prepare(gnn_graph_t *g)
{
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
}

/* Random edges; some nodes have no senders, some pairs are duplicated. */
static inline gnn_graph_t *random_edges(int64_t n_dst, int64_t n_src, int64_t m, uint64_t seed)
{
    gnn_graph_t *g;
    int64_t *src = malloc(sizeof *src * (size_t)(m + 1)),
            *dst = malloc(sizeof *dst * (size_t)(m + 1));
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
static inline gnn_graph_t *random_spans(int64_t n_dst, int64_t n_src, uint64_t seed)
{
    gnn_graph_t *g;
    int32_t *lo = malloc(sizeof *lo * (size_t)n_dst), *hi = malloc(sizeof *hi * (size_t)n_dst),
            *order[2];
    int64_t n[2] = {n_dst, n_src};
    int32_t from = 0, to = 0;
    for (int64_t r = 0; r < n_dst; r++) {
        to += (int32_t)(fabs(test_uniform(&seed)) * 2.5 * (double)n_src / (double)n_dst);
        to = to > n_src ? (int32_t)n_src : to;
        from += test_uniform(&seed) > 0 ? (int32_t)(fabs(test_uniform(&seed)) * (double)(to - from))
                                        : 0;
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

/* Graphs without edge ids in their spans; `n` scales them. */
static inline gnn_graph_t *graph_at(int which, int64_t n)
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

static inline bool has_spans(const gnn_graph_t *g)
{
    for (int64_t p = 0; p < gnn_graph_n_parts(g); p++)
        if (gnn__graph_part_is_spans(g, p))
            return true;
    return false;
}

static const int64_t test_sizes[] = {1, 2, 17, 65, 130};
static const sizes_t test_widths[] = {{1, 1, 3, 3, 0},  {2, 1, 4, 8, 0},   {8, 8, 8, 8, 0},
                                      {3, 3, 5, 17, 0}, {4, 2, 64, 64, 0}, {1, 1, 16, 150, 0}};
enum {
    SIZES = sizeof test_sizes / sizeof *test_sizes,
    WIDTHS = sizeof test_widths / sizeof *test_widths
};

#endif
