/* Linear attention on spans: y_i = sum over j of w_ij v_j, where w_ij = scale f_ij (q_i . k_j), as
 * it is (the weighers linear and decay) or over its sum over j (ratio). f_ij is 1, or exp(x_i +
 * y_j): priors of receivers and of senders, gates summed along the rows, slopes by distance.
 *
 * Every pass is a sum of products over spans (linear_terms.c), by receiver or by sender:
 *
 *     y = (q, k, v)      d_q = (d_y, v, k)      d_v = (k, q, d_y)      d_k = (v, d_y, q)
 *
 * With ratio, v has one more column of ones, whose sum is that of the weights, D; backward, d_y / D
 * has one more column, -(y . d_y) / D. 1 / D is saved, and nothing else. The derivative by x_i is
 * q_i . d_q_i, and that by y_j is k_j . d_k_j: both are sums over pairs of w_ij d_w_ij. */
#include <lib/aggregate/fast/linear_terms.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>
#include <lib/kernels/dense/dense.h>

#include <math.h>
#include <omp.h>

typedef enum pass { FORWARD, QUERIES, MESSAGES, KEYS } pass_t;

typedef struct run {
    int64_t *begin;      /* (runs + 1) first rows */
    gnn_real_t *scratch; /* (threads x scratch_size) */
    int64_t scratch_size, widest, square;
    gnn_tensor_t values, sums; /* with ratio: v and ones; y D and D, or the gradient by these */
    double *row_log, *col_log; /* (nodes x heads), with factors: x and y */
    int64_t *positions;        /* of receivers, then of senders, with slopes */
    /* With factors whose gradients are wanted: d_q and d_k of every head. */
    gnn_tensor_t d_query, d_key;
    gnn_real_t *inverse; /* (n_dst x heads) 1 / D */
} run_t;

static bool is_ratio(const gnn__plan_t *plan)
{
    return plan->hints.weigher == GNN__WEIGHER_RATIO;
}

static bool has_factors(const gnn__plan_t *plan)
{
    return plan->has_priors;
}

/* A prior with a factor of the receiver times one of the sender. */
static bool separates(const gnn__hints_t *hints)
{
    bool all = true;
    for (int p = 0; p < GNN_PRIORS; p++)
        all &= hints->prior[p] != GNN__PRIOR_OTHER && hints->prior[p] <= GNN__PRIOR_SLOPE;
    return all;
}

static bool has_slope(const gnn__plan_t *plan)
{
    bool has = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        has |= plan->hints.prior[p] == GNN__PRIOR_SLOPE;
    return has;
}

static bool wants_factors(const gnn__plan_t *plan)
{
    bool wanted = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        wanted |= plan->prior[p] && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p);
    return wanted;
}

/* ---- memory ---- */

static int64_t most_runs(const gnn__plan_t *plan, bool backward)
{
    int64_t most = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        for (int side = 0; side < (backward && plan->view->transposed ? 2 : 1); side++)
            most = gnn__max(most, gnn__linear_runs(&gnn__part_of(plan, p, side)->pairs));
    return most;
}

static gnn_tensor_t carve_rows(gnn__carve_t *carve, int64_t rows, int64_t heads, int64_t width)
{
    int64_t cols = 0, count = 0;
    carve->overflow |= !gnn__mul(heads, width, &cols) || !gnn__mul(rows, cols, &count);
    return (gnn_tensor_t){gnn__carve(carve, count, sizeof(gnn_real_t)), rows, cols, cols};
}

static double *carve_logs(gnn__carve_t *carve, int64_t rows, int64_t heads)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(rows, heads, &count);
    return gnn__carve(carve, count, sizeof(double));
}

/* While sizes are asked for it is not known which gradients are wanted: all of them. */
static int memory(const gnn__plan_t *plan, void *scratch, bool backward, run_t *run, size_t *bytes)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t n = plan->graph->n_dst, m = plan->graph->n_src,
                  wide = s->d_v + (is_ratio(plan) ? 1 : 0);
    gnn__carve_t carve = {.base = scratch};
    int64_t all = 0;
    *run = (run_t){.widest = gnn__max(s->d_k, wide)};
    carve.overflow |= !gnn__mul(s->d_k, wide, &run->square) ||
                      !gnn__linear_scratch(run->widest, run->square, &run->scratch_size) ||
                      !gnn__mul(run->scratch_size, plan->threads, &all);
    run->begin = gnn__carve(&carve, most_runs(plan, backward) + 1, sizeof *run->begin);
    run->scratch = gnn__carve(&carve, all, sizeof *run->scratch);
    if (is_ratio(plan)) {
        run->values = carve_rows(&carve, m, s->value_heads, wide);
        run->sums = carve_rows(&carve, n, s->heads, wide);
    }
    if (has_factors(plan)) {
        run->row_log = carve_logs(&carve, n, s->heads);
        run->col_log = carve_logs(&carve, m, s->heads);
        run->positions = gnn__carve(&carve, has_slope(plan) ? n + m : 0, sizeof *run->positions);
    }
    if (has_factors(plan) && backward) {
        run->d_query = carve_rows(&carve, n, s->heads, s->d_k);
        run->d_key = carve_rows(&carve, m, s->heads, s->d_k);
    }
    return gnn__carved(&carve, bytes);
}

/* ---- factors ---- */

/* logs += sign times the values of a node and head */
static void add_nodes(const gnn_tensor_t *values, double *logs, double sign)
{
    for (int64_t i = 0; i < values->rows; i++)
        for (int64_t a = 0; a < values->cols; a++)
            logs[i * values->cols + a] += sign * (double)gnn__row(values, i)[a];
}

static void add_gates(const gnn__plan_t *plan, const gnn_tensor_t *gates, const run_t *run)
{
    const int64_t heads = plan->shape.heads;
    int64_t segment = 0;
    for (int64_t begin = 0, end; begin < plan->graph->n_src; begin = end) {
        end = gnn__segment_end(plan->graph, &segment, begin);
        for (int64_t a = 0; a < heads; a++) {
            double sum = 0;
            for (int64_t i = begin; i < end; i++) {
                sum += (double)gnn__row(gates, i)[a];
                run->row_log[i * heads + a] += sum;
                run->col_log[i * heads + a] -= sum;
            }
        }
    }
}

static void add_slopes(const gnn__plan_t *plan, const gnn_tensor_t *slopes, const run_t *run)
{
    const int64_t heads = plan->shape.heads, n = plan->graph->n_dst, m = plan->graph->n_src;
    for (int64_t i = 0; i < n * heads; i++)
        run->row_log[i] -= (double)slopes->data[i % heads] * (double)run->positions[i / heads];
    for (int64_t j = 0; j < m * heads; j++)
        run->col_log[j] += (double)slopes->data[j % heads] * (double)run->positions[n + j / heads];
}

static void fill_logs(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t heads = plan->shape.heads, n = plan->graph->n_dst, m = plan->graph->n_src;
    memset(run->row_log, 0, sizeof *run->row_log * (size_t)(n * heads));
    memset(run->col_log, 0, sizeof *run->col_log * (size_t)(m * heads));
    if (has_slope(plan)) {
        gnn__positions(plan->graph, true, run->positions);
        gnn__positions(plan->graph, false, run->positions + n);
    }
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_tensor_t *values = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
        switch (plan->hints.prior[p]) {
        case GNN__PRIOR_RECEIVER: add_nodes(values, run->row_log, 1); break;
        case GNN__PRIOR_SENDER: add_nodes(values, run->col_log, 1); break;
        case GNN__PRIOR_DECAY: add_gates(plan, &plan->gates[p], run); break;
        case GNN__PRIOR_SLOPE: add_slopes(plan, values, run); break;
        default: break;
        }
    }
}

/* d (rows x heads) = sum over a head's columns of x times d_x; head a of x begins with column
 * a / each of d_k values. */
static double along(const gnn_tensor_t *x, const gnn_tensor_t *d_x, int64_t row, int64_t a,
                    int64_t each, int64_t d_k)
{
    const gnn_real_t *u = gnn__row(x, row) + a / each * d_k, *v = gnn__row(d_x, row) + a * d_k;
    double sum = 0;
    for (int64_t c = 0; c < d_k; c++)
        sum += (double)(u[c] * v[c]);
    return sum;
}

static void prior_grad(const gnn__plan_t *plan, const run_t *run, int p)
{
    const gnn_tensor_t *d = &plan->d[GNN_AGGREGATE_PRIOR_0 + p];
    const gnn__prior_kind_t prior = plan->hints.prior[p];
    const int64_t heads = plan->shape.heads, n = plan->graph->n_dst, m = plan->graph->n_src;
    for (int64_t a = 0; a < heads; a++) {
        double slope = 0;
        for (int64_t i = 0; i < n; i++) {
            const double by_x = run->row_log[i * heads + a];
            if (prior == GNN__PRIOR_SLOPE)
                slope -= by_x * (double)run->positions[i];
            else if (prior != GNN__PRIOR_SENDER)
                gnn__row(d, i)[a] += (gnn_real_t)by_x;
        }
        for (int64_t j = 0; j < m; j++) {
            const double by_y = run->col_log[j * heads + a];
            if (prior == GNN__PRIOR_SLOPE)
                slope += by_y * (double)run->positions[n + j];
            else if (prior != GNN__PRIOR_RECEIVER)
                gnn__row(d, j)[a] += (gnn_real_t)(prior == GNN__PRIOR_DECAY ? -by_y : by_y);
        }
        if (prior == GNN__PRIOR_SLOPE)
            d->data[a] += (gnn_real_t)slope;
    }
}

/* The logarithms become the derivatives by them. */
static void factor_grads(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t heads = plan->shape.heads, d_k = plan->shape.d_k,
                  each = heads / plan->shape.key_heads;
    const int threads =
        gnn__plan_threads(plan, (plan->graph->n_dst + plan->graph->n_src) * heads * d_k);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++)
        for (int64_t a = 0; a < heads; a++)
            run->row_log[i * heads + a] =
                along(&plan->in[GNN_AGGREGATE_QUERY], &run->d_query, i, a, 1, d_k);
    GNN__PARALLEL_FOR (threads, int64_t j = 0; j < plan->graph->n_src; j++)
        for (int64_t a = 0; a < heads; a++)
            run->col_log[j * heads + a] =
                along(&plan->in[GNN_AGGREGATE_KEY], &run->d_key, j, a, each, d_k);
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->prior[p] && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p))
            prior_grad(plan, run, p);
}

/* Gradients of all heads into those of queries and keys. */
static void add_heads(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t d_k = plan->shape.d_k, each = plan->shape.heads / plan->shape.key_heads;
    const gnn_tensor_t *d_q = &plan->d[GNN_AGGREGATE_QUERY], *d_key = &plan->d[GNN_AGGREGATE_KEY];
    for (int64_t i = 0; d_q->data && i < d_q->rows; i++)
        for (int64_t c = 0; c < run->d_query.cols; c++)
            gnn__row(d_q, i)[c] += gnn__row(&run->d_query, i)[c];
    for (int64_t j = 0; d_key->data && j < d_key->rows; j++)
        for (int64_t c = 0; c < run->d_key.cols; c++)
            gnn__row(d_key, j)[c / (d_k * each) * d_k + c % d_k] += gnn__row(&run->d_key, j)[c];
}

/* ---- sums of weights ---- */

static void fill_values(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t d_v = plan->shape.d_v;
    const gnn_tensor_t *v = &plan->in[GNN_AGGREGATE_SRC_MESSAGE];
    GNN__PARALLEL_FOR (gnn__plan_threads(plan, v->rows * v->cols), int64_t j = 0; j < v->rows; j++)
        for (int64_t a = 0; a < plan->shape.value_heads; a++) {
            gnn_real_t *to = gnn__row(&run->values, j) + a * (d_v + 1);
            memcpy(to, gnn__row(v, j) + a * d_v, sizeof *to * (size_t)d_v);
            to[d_v] = 1;
        }
}

/* y = sums / (D + eps). `inverse` may be NULL: it is not kept. */
static void divide(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t d_v = plan->shape.d_v, heads = plan->shape.heads;
    const gnn_real_t eps = (gnn_real_t)plan->weigher_shape.options[0];
    const int threads = gnn__plan_threads(plan, plan->out.rows * plan->out_width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->out.rows; i++)
        for (int64_t a = 0; a < heads; a++) {
            const gnn_real_t *from = gnn__row(&run->sums, i) + a * (d_v + 1), sum = from[d_v] + eps,
                             by = sum == 0 ? 0 : 1 / sum;
            gnn_real_t *to = gnn__row(&plan->out, i) + a * d_v;
            for (int64_t c = 0; c < d_v; c++)
                to[c] = plan->view->degree[i] > 0 ? from[c] * by : 0;
            if (run->inverse)
                run->inverse[i * heads + a] = by;
        }
}

/* From d_y to the gradients of sums and D. */
static void divide_grad(const gnn__plan_t *plan, const run_t *run)
{
    const int64_t d_v = plan->shape.d_v, heads = plan->shape.heads;
    const int threads = gnn__plan_threads(plan, 2 * plan->out.rows * plan->out_width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->out.rows; i++)
        for (int64_t a = 0; a < heads; a++) {
            const gnn_real_t *y = gnn__row(&plan->out, i) + a * d_v,
                             *d_y = gnn__row(&plan->d_out, i) + a * d_v,
                             by = run->inverse[i * heads + a];
            gnn_real_t *to = gnn__row(&run->sums, i) + a * (d_v + 1), sum = 0;
            for (int64_t c = 0; c < d_v; c++) {
                to[c] = d_y[c] * by;
                sum += y[c] * d_y[c];
            }
            to[d_v] = -sum * by;
        }
}

/* ---- sums over earlier rows ---- */

/* One segment of a call that goes on: the sums of one head, and its rows. */
typedef struct earlier {
    gnn_real_t *sums; /* (d_k x wide), times exp(reference) */
    int64_t row0, row1, head;
    double before, after; /* minus the reference of the sums as they are, and as they become */
} earlier_t;

/* Factors of distances count from the first row of a segment, so that the sums of earlier rows are
 * those of a sender right before it. */
static void set_references(const gnn__plan_t *plan, const run_t *run, earlier_t *e)
{
    const int64_t heads = plan->shape.heads;
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_tensor_t *values = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
        if (plan->hints.prior[p] == GNN__PRIOR_SLOPE) {
            const double slope = (double)values->data[e->head % heads];
            e->before += slope * (double)(run->positions[e->row0] - 1);
            e->after -= slope * (double)run->positions[e->row1 - 1];
        }
        for (int64_t i = e->row0; plan->hints.prior[p] == GNN__PRIOR_DECAY && i < e->row1; i++)
            e->after += (double)gnn__row(&plan->gates[p], i)[e->head];
    }
}

/* out_i += scale exp(x_i + before) q_i S for the query head `a` */
static void read_sums(const gnn__plan_t *plan, const run_t *run, const earlier_t *e, int64_t a,
                      int64_t wide)
{
    const int64_t d_k = plan->shape.d_k;
    const gnn_tensor_t *q = &plan->in[GNN_AGGREGATE_QUERY],
                       *out = is_ratio(plan) ? &run->sums : &plan->out;
    for (int64_t i = e->row0; i < e->row1; i++) {
        const double x = run->row_log ? run->row_log[i * plan->shape.heads + a] + e->before : 0;
        gnn__gemm_block_kernels()->multiply(
            &(gnn__gemm_block_t){.m = 1,
                                 .n = wide,
                                 .k = d_k,
                                 .a = gnn__row(q, i) + a * d_k,
                                 .a_row = d_k,
                                 .a_col = 1,
                                 .b = e->sums,
                                 .ldb = wide,
                                 .c = gnn__row(out, i) + a * wide,
                                 .ldc = wide,
                                 .alpha = plan->shape.scale * (gnn_real_t)exp(x)});
    }
}

/* S = exp(before + after) S + sum over the rows of exp(y_j + after) k_j v_j' */
static void extend_sums(const gnn__plan_t *plan, const run_t *run, const earlier_t *e, int64_t wide)
{
    const int64_t d_k = plan->shape.d_k, heads = plan->shape.heads,
                  shared = has_factors(plan) ? e->head / (heads / plan->shape.key_heads) : e->head;
    const gnn_tensor_t *k = &plan->in[GNN_AGGREGATE_KEY],
                       *v = is_ratio(plan) ? &run->values : &plan->in[GNN_AGGREGATE_SRC_MESSAGE];
    const gnn_real_t by = (gnn_real_t)exp(e->before + e->after);
    for (int64_t c = 0; by != 1 && c < d_k * wide; c++)
        e->sums[c] *= by;
    for (int64_t j = e->row0; j < e->row1; j++) {
        const double y = run->col_log ? run->col_log[j * heads + e->head] + e->after : 0;
        const gnn_real_t factor = (gnn_real_t)exp(y), *key = gnn__row(k, j) + shared * d_k,
                         *value = gnn__row(v, j) + shared * wide;
        for (int64_t c = 0; c < d_k; c++)
            for (int64_t f = 0; f < wide; f++)
                e->sums[c * wide + f] += factor * key[c] * value[f];
    }
}

/* Before the pass over the rows themselves. */
static void go_on(const gnn__plan_t *plan, const run_t *run)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t kept = has_factors(plan) ? s->heads : s->key_heads, each = s->heads / kept,
                  wide = s->d_v + (is_ratio(plan) ? 1 : 0), size = s->d_k * wide,
                  *begin = plan->graph->dst_segments;
    const int threads = gnn__plan_threads(plan, 2 * plan->graph->n_dst * s->heads * size);
    GNN__PARALLEL_FOR (threads, int64_t u = 0; u < plan->graph->n_segments * kept; u++) {
        earlier_t e = {.sums = plan->how->running + u * size,
                       .row0 = begin[u / kept],
                       .row1 = begin[u / kept + 1],
                       .head = u % kept};
        if (e.row0 == e.row1)
            continue;
        if (has_factors(plan))
            set_references(plan, run, &e);
        for (int64_t a = e.head * each; a < (e.head + 1) * each; a++)
            read_sums(plan, run, &e, a, wide);
        extend_sums(plan, run, &e, wide);
    }
}

bool gnn__keeps_sums(const gnn_aggregate_t *how)
{
    const gnn__hints_t hints = gnn__hints_of(how);
    const gnn_aggregate_shape_t *s = &how->shape;
    const bool all = hints.score == GNN__SCORE_DOT && hints.message == GNN__MESSAGE_SENDER &&
                     s->softcap == 0 && s->key_heads == s->value_heads && separates(&hints);
    bool has_priors = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        has_priors |= how->priors[p].row != NULL;
    return all && (hints.weigher == GNN__WEIGHER_DECAY || hints.weigher == GNN__WEIGHER_RATIO ||
                   (hints.weigher == GNN__WEIGHER_LINEAR && !has_priors));
}

int gnn__sums_size(const gnn_aggregate_t *how, int64_t *size)
{
    gnn_aggregate_shape_t shape = how->shape;
    bool factors = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        factors |= how->priors[p].row != NULL;
    const int64_t heads = factors || !shape.key_heads ? shape.heads : shape.key_heads,
                  wide = shape.d_v + (gnn__hints_of(how).weigher == GNN__WEIGHER_RATIO ? 1 : 0);
    if (how->map && how->map->apply)
        GNN_TRY(gnn__resolve_options(how->map->name, how->map->options, how->map->n_options,
                                     how->map_options, shape.options));
    return gnn__mul(heads, gnn__map_width(how->map, &shape), size) && gnn__mul(*size, wide, size)
               ? GNN_OK
               : gnn__error(GNN_EOVERFLOW, "the sums of linear attention do not fit");
}

/* ---- passes over all runs and heads ---- */

static gnn__head_columns_t heads_of(const gnn_tensor_t *t, int64_t first, int64_t width)
{
    return (gnn__head_columns_t){t->data + first * width, t->stride, width, width};
}

/* The same heads without their last column. */
static gnn__head_columns_t narrow(gnn__head_columns_t h, int64_t width)
{
    h.width = width;
    return h;
}

/* Matrices that the pass reads and writes for one head of keys and values, and the query heads
 * from `a` on, `count` of them, one after another where they add to the same rows. */
static gnn__linear_term_t term_of(const gnn__plan_t *plan, const run_t *run,
                                  const gnn__pairs_t *pairs, pass_t pass, int64_t shared, int64_t a,
                                  int64_t count)
{
    const bool ratio = is_ratio(plan), apart = run->d_query.data && wants_factors(plan),
               by_receiver = pass == FORWARD || pass == QUERIES;
    const int64_t d_k = plan->shape.d_k, d_v = plan->shape.d_v, wide = ratio ? d_v + 1 : d_v;
    const gnn__head_columns_t q = heads_of(&plan->in[GNN_AGGREGATE_QUERY], a, d_k),
                              k = heads_of(&plan->in[GNN_AGGREGATE_KEY], shared, d_k),
                              v = ratio
                                      ? heads_of(&run->values, shared, wide)
                                      : heads_of(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], shared, d_v);
    gnn__linear_term_t t = {.pairs = pairs, .heads = count, .scale = plan->shape.scale};
    if (has_factors(plan)) {
        t.row_log = (by_receiver ? run->row_log : run->col_log) + a;
        t.col_log = (by_receiver ? run->col_log : run->row_log) + a;
        t.log_stride = plan->shape.heads;
    }
    if (pass == FORWARD) {
        t.a = q, t.b = k, t.c = v;
        t.out = heads_of(ratio ? &run->sums : &plan->out, a, wide);
        return t;
    }
    const gnn__head_columns_t d_y = heads_of(ratio ? &run->sums : &plan->d_out, a, wide);
    if (pass == QUERIES) {
        t.a = d_y, t.b = v, t.c = k;
        t.out = heads_of(apart ? &run->d_query : &plan->d[GNN_AGGREGATE_QUERY], a, d_k);
    } else if (pass == MESSAGES) {
        t.a = k, t.b = q, t.c = narrow(d_y, d_v);
        t.out = heads_of(&plan->d[GNN_AGGREGATE_SRC_MESSAGE], shared, d_v);
    } else {
        t.a = v, t.b = d_y, t.c = q;
        t.out = apart ? heads_of(&run->d_key, a, d_k)
                      : heads_of(&plan->d[GNN_AGGREGATE_KEY], shared, d_k);
    }
    return t;
}

static void run_unit(const gnn__plan_t *plan, const run_t *run, const gnn__pairs_t *pairs,
                     pass_t pass, int64_t unit)
{
    const int64_t shared = unit % plan->shape.key_heads, r = unit / plan->shape.key_heads,
                  each = plan->shape.heads / plan->shape.key_heads;
    gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->scratch_size;
    /* M of all heads that share keys and values is one, unless they have factors of their own. */
    const bool together = (pass == FORWARD || pass == QUERIES) && !has_factors(plan);
    const int64_t count = together ? each : 1;
    for (int64_t a = shared * each; a < (shared + 1) * each; a += count) {
        const gnn__linear_term_t t = term_of(plan, run, pairs, pass, shared, a, count);
        gnn__linear_rows(&t, run->widest, run->square, scratch, run->begin[r], run->begin[r + 1]);
    }
}

/* Runs have neither rows nor columns in common, heads have columns of their own: a unit, one run of
 * one head, is the only one that adds to its elements. */
static void run_pass(const gnn__plan_t *plan, const run_t *run, pass_t pass)
{
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__pairs_t *pairs = &gnn__part_of(plan, p, pass == MESSAGES || pass == KEYS)->pairs;
        int64_t runs = 0;
        run->begin[0] = 0;
        while (run->begin[runs] < pairs->n_rows) {
            run->begin[runs + 1] = gnn__linear_run_end(pairs, run->begin[runs]);
            runs++;
        }
        const int64_t units = runs * plan->shape.key_heads;
        const int threads =
            gnn__plan_threads(plan, (pairs->n_rows + pairs->n_cols) * plan->shape.heads *
                                        plan->shape.d_k * plan->shape.d_v);
        GNN__EACH_CHUNK (u, units, threads) {
            run_unit(plan, run, pairs, pass, u);
        }
    }
}

/* ---- the implementation ---- */

/* A pair costs the reference some ten times what it costs in a masked product. */
static bool is_cheaper(const gnn__plan_t *plan, int64_t p)
{
    const gnn__part_t *part = &plan->view->parts[p];
    const gnn__pairs_t *pairs = &part->pairs;
    const double d_k = (double)plan->shape.d_k, d_v = (double)plan->shape.d_v;
    if (gnn__pairs_form(pairs) != GNN__SPANS || pairs->row_order || pairs->col_order ||
        part->scale_row || part->scale_col)
        return false;
    return gnn__linear_cost(pairs, plan->shape.heads / plan->shape.key_heads, d_k, d_v) *
               (double)plan->shape.key_heads <=
           8 * (double)pairs->count * (double)plan->shape.heads * (d_k + d_v);
}

/* Priors are factors that separate; the weigher linear adds them to scores. */
static bool takes_weights(const gnn__plan_t *plan)
{
    return separates(&plan->hints) &&
           (plan->hints.weigher == GNN__WEIGHER_DECAY || is_ratio(plan) ||
            (plan->hints.weigher == GNN__WEIGHER_LINEAR && !plan->has_priors));
}

/* A graph of new rows, whose segments begin with the row after the last earlier one. */
static bool goes_on(const gnn__plan_t *plan)
{
    const gnn_graph_t *g = plan->graph;
    const gnn__part_t *part = plan->view->parts;
    bool same = g->n_segments > 0 && g->n_dst == g->n_src && plan->view->n_parts == 1 &&
                gnn__pairs_form(&part->pairs) == GNN__SPANS && !part->pairs.row_order &&
                !part->pairs.col_order && !part->scale_row && !part->scale_col;
    for (int64_t s = 0; same && s < g->n_segments; s++)
        same = g->dst_segments[s + 1] == g->src_segments[s + 1];
    return same;
}

static bool takes(const gnn__plan_t *plan)
{
    bool all = plan->hints.score == GNN__SCORE_DOT && takes_weights(plan) &&
               plan->hints.message == GNN__MESSAGE_SENDER && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
               plan->shape.key_heads == plan->shape.value_heads && plan->shape.softcap == 0 &&
               !plan->dropping && !plan->how->edge_weights_out && !plan->how->segment_weights_out &&
               plan->edge_width == 0 && !plan->edge_key && !plan->has[GNN_AGGREGATE_EDGE_WEIGHT] &&
               !plan->has[GNN_AGGREGATE_EDGE_BIAS] && plan->shape.d_k > 0 && plan->shape.d_v > 0 &&
               plan->view->n_parts > 0 && !gnn__parts_differ(plan);
    for (int64_t p = 0; all && !plan->how->running && p < plan->view->n_parts; p++)
        all = is_cheaper(plan, p);
    return all && (!plan->how->running || goes_on(plan));
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    call->in[GNN_AGGREGATE_QUERY].keep = call->in[GNN_AGGREGATE_KEY].keep =
        call->in[GNN_AGGREGATE_SRC_MESSAGE].keep = 1;
    for (int p = 0; p < GNN_PRIORS; p++)
        call->in[GNN_AGGREGATE_PRIOR_0 + p].keep = plan->prior[p] != NULL;
    if (!plan->recording)
        return GNN_OK;
    if (is_ratio(plan)) {
        gnn__carve_t saved = {0};
        carve_rows(&saved, plan->graph->n_dst, plan->shape.heads, 1);
        GNN_TRY(gnn__carved(&saved, &call->saved_bytes[0]));
        call->out[0].keep = 1;
    }
    return memory(plan, NULL, true, &run, &call->backward_scratch);
}

static void zero(const gnn_tensor_t *t)
{
    for (int64_t i = 0; t->data && i < t->rows; i++)
        memset(gnn__row(t, i), 0, sizeof(gnn_real_t) * (size_t)t->cols);
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    zero(is_ratio(plan) ? &run.sums : &plan->out);
    if (is_ratio(plan))
        fill_values(plan, &run);
    if (has_factors(plan))
        fill_logs(plan, &run);
    if (plan->how->running)
        go_on(plan, &run);
    run_pass(plan, &run, FORWARD);
    if (!is_ratio(plan))
        return GNN_OK;
    run.inverse = plan->recording ? call->saved[0] : NULL;
    divide(plan, &run);
    return GNN_OK;
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    static const int written[] = {
        [QUERIES] = GNN_AGGREGATE_QUERY, [MESSAGES] = GNN_AGGREGATE_SRC_MESSAGE, [KEYS] = GNN_AGGREGATE_KEY};
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__zero_gradients(plan, 0);
    run.inverse = call->saved[0];
    if (is_ratio(plan)) {
        fill_values(plan, &run);
        divide_grad(plan, &run);
    }
    if (has_factors(plan))
        fill_logs(plan, &run);
    const bool factors = wants_factors(plan);
    if (factors) {
        zero(&run.d_query);
        zero(&run.d_key);
    }
    for (pass_t pass = QUERIES; pass <= KEYS; pass++)
        if (gnn__wants_gradient(plan, written[pass]) || (factors && pass != MESSAGES))
            run_pass(plan, &run, pass);
    if (factors) {
        factor_grads(plan, &run);
        add_heads(plan, &run);
    }
    return GNN_OK;
}

static double running_flops(const gnn__plan_t *plan, const gnn__pairs_t *pairs, bool backward)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    return (backward ? 6 : 2) * (double)s->key_heads *
           gnn__linear_cost(pairs, s->heads / s->key_heads, (double)s->d_k, (double)s->d_v);
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    snprintf(text, size, "linear%s%s", is_ratio(plan) ? "/ratio" : "",
             has_factors(plan) ? "/factors" : "");
}

const gnn__strategy_t gnn__strategy_linear = {.takes = takes,
                                              .sizes = sizes,
                                              .forward = forward,
                                              .backward = backward,
                                              .describe = describe,
                                              .running_flops = running_flops,
                                              .continues_sums = true};
