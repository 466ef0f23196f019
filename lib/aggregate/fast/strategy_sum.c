/* The strategy of sum and mean: products of a sparse matrix on edges, sliding sums on spans. The
 * mean is a sum whose receivers are scaled by 1 / degree; the gradient is the same sum over the
 * transposed parts with the roles of the scales swapped. */
#include <lib/aggregate/strategies.h>
#include <lib/kernels/neighbours/neighbours.h>

#include <omp.h>

typedef struct sum_run {
    int64_t *bounds;
    gnn_real_t *dst_scale; /* n_dst, for means */
    gnn_real_t *suffix;    /* one stack per thread */
    int64_t suffix_size;
    gnn_real_t *rows; /* rows to be finished; one block per thread */
    int64_t rows_size;
} sum_run_t;

static bool is_mean(const gnn__plan_t *plan)
{
    return plan->hints.reduction == GNN__REDUCTION_MEAN;
}

static int sum_memory(const gnn__plan_t *plan, void *scratch, sum_run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t most = gnn__max(gnn__most_chunks(plan->view), GNN__SLIDE_CHUNKS);
    int64_t longest = 0, stacks = 0;
    run->bounds = gnn__carve(&carve, most + 1, sizeof *run->bounds);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        for (int side = 0; side < (plan->view->transposed ? 2 : 1); side++) {
            const gnn__pairs_t *pairs = &gnn__part_of(plan, p, side)->pairs;
            int64_t bounds[GNN__SLIDE_CHUNKS + 1];
            if (gnn__pairs_form(pairs) == GNN__SPANS)
                gnn__slide_chunks(pairs, bounds, &longest);
        }
    carve.overflow |= !gnn__mul(longest, GNN__SLIDE_BLOCK, &run->suffix_size) ||
                      !gnn__mul(run->suffix_size, plan->threads, &stacks);
    run->dst_scale =
        gnn__carve(&carve, is_mean(plan) ? plan->graph->n_dst : 0, sizeof *run->dst_scale);
    run->suffix = gnn__carve(&carve, stacks, sizeof *run->suffix);
    run->rows_size = plan->finishes ? gnn__rows_at_once(plan->out_width) * plan->out_width : 0;
    run->rows = gnn__carve(&carve, plan->threads * run->rows_size, sizeof *run->rows);
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    sum_run_t run;
    GNN_TRY(sum_memory(plan, NULL, &run, &call->forward_scratch));
    call->backward_scratch = call->forward_scratch;
    if (plan->has[GNN_AGGREGATE_EDGE_WEIGHT])
        call->in[GNN_AGGREGATE_EDGE_WEIGHT].keep = call->in[GNN_AGGREGATE_SRC_MESSAGE].keep = 1;
    return GNN_OK;
}

/* The receivers' scale of one part: the view's, times 1 / degree for means. */
static const gnn_real_t *receivers_scale(const gnn__plan_t *plan, const sum_run_t *run, int64_t p)
{
    const gnn_real_t *scale = plan->view->parts[p].scale_row;
    if (!is_mean(plan))
        return scale;
    for (int64_t i = 0; i < plan->graph->n_dst; i++) {
        const int64_t degree = plan->view->degree[i];
        run->dst_scale[i] = degree == 0 ? 0 : (scale ? scale[i] : 1) / (gnn_real_t)degree;
    }
    return run->dst_scale;
}

static void run_spans(const sum_run_t *run, const gnn__neighbour_sum_t *s, int threads)
{
    const gnn__neighbour_sum_kernels_t *kernels = gnn__neighbour_sum_kernels();
    int64_t longest = 0;
    const int64_t chunks = gnn__slide_chunks(&s->pairs, run->bounds, &longest),
                  blocks = (s->width + GNN__SLIDE_BLOCK - 1) / GNN__SLIDE_BLOCK;
    GNN__EACH_CHUNK (u, chunks * blocks, threads) {
        const int64_t c = u / blocks, first = u % blocks * GNN__SLIDE_BLOCK;
        kernels->spans(s, run->bounds[c], run->bounds[c + 1], first,
                       gnn__min(s->width - first, GNN__SLIDE_BLOCK),
                       run->suffix + omp_get_thread_num() * run->suffix_size);
    }
}

/* Sums and finishes a few rows at a time, which stay in the nearest cache meanwhile. */
static void sum_and_finish(const gnn__plan_t *plan, const gnn__neighbour_sum_t *whole, int64_t row0,
                           int64_t row1, gnn_real_t *block)
{
    gnn__neighbour_sum_t s = *whole;
    const int64_t width = plan->out_width, step = gnn__rows_at_once(width);
    s.y = block;
    s.ldy = width;
    s.held = true;
    for (s.y_row = row0; s.y_row < row1; s.y_row += step) {
        const int64_t rows = gnn__min(row1 - s.y_row, step);
        const gnn_tensor_t sums = gnn_tensor(block, rows, width);
        gnn__neighbour_sum_kernels()->edges(&s, s.y_row, s.y_row + rows);
        gnn__bias_rows(&plan->f, &plan->last_dropout, &sums, plan->bias, s.y_row, &sums);
        gnn__neighbour_sum_kernels()->store_rows(block, rows, width, gnn__row(&plan->out, s.y_row),
                                                 plan->out.stride, plan->out.rows * width,
                                                 s.y_row + step >= row1);
    }
}

typedef struct {
    const gnn__plan_t *plan;
    const sum_run_t *run;
    const gnn__neighbour_sum_t *s;
    bool finishes;
} sum_pass_t;

static void sum_rows(const void *user, int64_t row0, int64_t row1)
{
    const sum_pass_t *pass = user;
    if (pass->finishes)
        sum_and_finish(pass->plan, pass->s, row0, row1,
                       pass->run->rows + omp_get_thread_num() * pass->run->rows_size);
    else
        gnn__neighbour_sum_kernels()->edges(pass->s, row0, row1);
}

static int run_edges(const gnn__plan_t *plan, const sum_run_t *run, const gnn__neighbour_sum_t *s,
                     bool finishes, int threads)
{
    sum_pass_t pass = {plan, run, s, finishes};
    return gnn__pass_rows(plan, &s->pairs, run->bounds, threads,
                          &(gnn__row_pass_t){.rows = sum_rows, .user = &pass});
}

/* Describes one part, transposed or not: `x` is summed into `y`. */
static gnn__neighbour_sum_t sum_of(const gnn__plan_t *plan, const sum_run_t *run, int64_t p,
                                   bool transposed, const gnn_tensor_t *x, const gnn_tensor_t *y)
{
    const gnn_real_t *dst = receivers_scale(plan, run, p), *src = plan->view->parts[p].scale_col;
    const gnn_tensor_t *weight = &plan->in[GNN_AGGREGATE_EDGE_WEIGHT];
    gnn__neighbour_sum_t s = {.pairs = gnn__part_of(plan, p, transposed)->pairs,
                              .width = plan->out_width,
                              .x = x->data,
                              .ldx = x->stride,
                              .y = y->data,
                              .ldy = y->stride};
    if (transposed || p > 0) {
        s.start = s.y;
        s.ldstart = s.ldy;
    } else if (plan->summand.data) {
        s.start = plan->summand.data;
        s.ldstart = plan->summand.stride;
    }
    s.row_scale = transposed ? src : dst;
    s.col_scale = transposed ? dst : src;
    s.weight = plan->has[GNN_AGGREGATE_EDGE_WEIGHT] ? weight->data : NULL;
    s.weight_stride = weight->stride;
    s.weights = plan->has[GNN_AGGREGATE_EDGE_WEIGHT] ? weight->rows : 0;
    return s;
}

static int run_part(const gnn__plan_t *plan, const sum_run_t *run, bool transposed,
                    const gnn__neighbour_sum_t *s, int threads)
{
    if (gnn__pairs_form(&s->pairs) == GNN__EDGES)
        return run_edges(plan, run, s, plan->finishes && !transposed, threads);
    run_spans(run, s, threads);
    return GNN_OK;
}

static int64_t work(const gnn__plan_t *plan)
{
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__pairs_t *part = &plan->view->parts[p].pairs;
        pairs +=
            part->n_rows + (gnn__pairs_form(part) == GNN__EDGES ? part->count : 2 * part->n_cols);
    }
    return pairs * plan->out_width;
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    sum_run_t run;
    size_t bytes;
    GNN_TRY(sum_memory(plan, call->scratch, &run, &bytes));
    const int threads = gnn__plan_threads(plan, work(plan));
    if (plan->view->n_parts == 0)
        for (int64_t i = 0; i < plan->out.rows; i++)
            memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__neighbour_sum_t s =
            sum_of(plan, &run, p, false, &plan->in[GNN_AGGREGATE_SRC_MESSAGE], &plan->out);
        GNN_TRY(run_part(plan, &run, false, &s, threads));
    }
    return GNN_OK;
}

static void weight_grads(const gnn__plan_t *plan, const sum_run_t *run, int64_t p, int threads)
{
    const gnn__neighbour_sum_kernels_t *kernels = gnn__neighbour_sum_kernels();
    const gnn_tensor_t *d = &plan->d[GNN_AGGREGATE_EDGE_WEIGHT];
    const gnn__neighbour_sum_t s =
        sum_of(plan, run, p, false, &plan->in[GNN_AGGREGATE_SRC_MESSAGE], &plan->d_out);
    const int64_t chunks = gnn__chunks(&s.pairs, run->bounds);
    GNN__EACH_CHUNK (c, chunks, threads)
        kernels->weight_grad(&s, run->bounds[c], run->bounds[c + 1], d->data, d->stride);
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    sum_run_t run;
    size_t bytes;
    GNN_TRY(sum_memory(plan, call->scratch, &run, &bytes));
    const unsigned written = gnn__written_gradients(plan, GNN__EDGES);
    gnn__zero_gradients(plan, written);
    const int threads = gnn__gradient_threads(plan, work(plan));
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        if (gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE)) {
            gnn__neighbour_sum_t s =
                sum_of(plan, &run, p, true, &plan->d_out, &plan->d[GNN_AGGREGATE_SRC_MESSAGE]);
            if (written >> GNN_AGGREGATE_SRC_MESSAGE & 1)
                s.start = NULL;
            GNN_TRY(run_part(plan, &run, true, &s, threads));
        }
        if (gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_WEIGHT))
            weight_grads(plan, &run, p, threads);
    }
    return GNN_OK;
}

static bool takes(const gnn__plan_t *plan)
{
    return (plan->hints.reduction == GNN__REDUCTION_SUM || is_mean(plan)) && gnn__is_plain(plan);
}

/* With one part of edges rows are complete when they are stored. */
static unsigned finishes(const gnn__plan_t *plan)
{
    return plan->view->n_parts == 1 && gnn__pairs_form(&plan->view->parts->pairs) == GNN__EDGES
               ? GNN__FINISH_SUMMAND | GNN__FINISH_BIAS | GNN__FINISH_DROPOUT
               : 0;
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "sum");
}

/* Sums slide along spans. */
static double running_flops(const gnn__plan_t *plan, const gnn__pairs_t *pairs, bool backward)
{
    (void)backward;
    return gnn__pairs_form(pairs) == GNN__SPANS
               ? (double)(pairs->n_rows + 2 * pairs->n_cols) * (double)plan->out_width
               : 0;
}

static int64_t saved_row(const gnn__plan_t *plan, int k)
{
    (void)plan, (void)k;
    return 0;
}

const gnn__strategy_t gnn__strategy_sum = {.takes = takes,
                                           .saved_row = saved_row,
                                           .sizes = sizes,
                                           .forward = forward,
                                           .backward = backward,
                                           .finishes = finishes,
                                           .describe = describe,
                                           .running_flops = running_flops};
