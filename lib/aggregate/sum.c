/* sum and mean by their own kernels: products of a sparse matrix on edges, sliding sums on spans. The mean is a sum whose receivers are scaled by 1 / (how many
 * they hear); the gradient is the same sum over the transposed parts with the scales' roles swapped. */
#include <lib/aggregate/own.h>
#include <lib/aggregate/rows.h>
#include <lib/kernels/spmm.h>

#include <omp.h>

typedef struct sum_run {
    int64_t *bounds;
    gnn_real_t *dst_scale; /* n_dst, for means */
    gnn_real_t *suffix;    /* one stack per thread */
    int64_t suffix_size;
    gnn_real_t *rows; /* to be finished; one block per thread */
    int64_t rows_size;
} sum_run_t;

static bool is_mean(const gnn__plan_t *plan)
{
    return plan->row->kernels == &gnn__mean_kernels;
}

static int sum_memory(const gnn__plan_t *plan, void *scratch, sum_run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    int64_t most = gnn__most_chunks(plan->view) + 1, longest = 0, stacks = 0;
    run->bounds = gnn__carve(&carve, most > GNN__SLIDE_CHUNKS ? most : GNN__SLIDE_CHUNKS + 1,
                             sizeof *run->bounds);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        for (int side = 0; side < (plan->view->transposed ? 2 : 1); side++) {
            const gnn__pairs_t pairs =
                gnn__pairs_of(side ? &plan->view->transposed[p] : &plan->view->parts[p]);
            int64_t bounds[GNN__SLIDE_CHUNKS + 1];
            if (!pairs.indptr)
                gnn__slide_chunks(&pairs, bounds, &longest);
        }
    carve.overflow |= !gnn__mul(longest, GNN__SLIDE_BLOCK, &run->suffix_size) ||
                      !gnn__mul(run->suffix_size, plan->context->threads, &stacks);
    run->dst_scale =
        gnn__carve(&carve, is_mean(plan) ? plan->graph->n_dst : 0, sizeof *run->dst_scale);
    run->suffix = gnn__carve(&carve, stacks, sizeof *run->suffix);
    run->rows_size = plan->finishes ? gnn__rows_at_once(plan->out_width) * plan->out_width : 0;
    run->rows = gnn__carve(&carve, plan->context->threads * run->rows_size, sizeof *run->rows);
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    sum_run_t run;
    GNN_TRY(sum_memory(plan, NULL, &run, &call->forward_scratch));
    call->backward_scratch = call->forward_scratch;
    if (plan->has[GNN_AGGREGATE_EDGE_WEIGHT])
        call->keep_in = 1u << GNN_AGGREGATE_EDGE_WEIGHT | 1u << GNN_AGGREGATE_SRC_MESSAGE;
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

static void run_spans(const gnn__plan_t *plan, const sum_run_t *run, const gnn__spmm_t *s, int threads)
{
    const gnn__spmm_kernels_t *kernels = gnn__spmm_kernels();
    int64_t longest = 0;
    const int64_t chunks = gnn__slide_chunks(&s->pairs, run->bounds, &longest),
                  blocks = (s->width + GNN__SLIDE_BLOCK - 1) / GNN__SLIDE_BLOCK;
    (void)plan;
    gnn__deal_t deal = gnn__deal(chunks * blocks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t u; (u = gnn__deal_next(&deal)) >= 0;) {
        const int64_t c = u / blocks, first = u % blocks * GNN__SLIDE_BLOCK, left = s->width - first;
        kernels->spans(s, run->bounds[c], run->bounds[c + 1], first,
                       left < GNN__SLIDE_BLOCK ? left : GNN__SLIDE_BLOCK,
                       run->suffix + omp_get_thread_num() * run->suffix_size);
    }
}

/* A few rows at a time, which stay in the nearest cache meanwhile. */
static void sum_and_finish(const gnn__plan_t *plan, const gnn__spmm_t *whole, int64_t row0,
                           int64_t row1, gnn_real_t *block)
{
    gnn__spmm_t s = *whole;
    const int64_t width = plan->out_width, step = gnn__rows_at_once(width);
    s.y = block;
    s.ldy = width;
    s.held = true;
    for (s.y_row = row0; s.y_row < row1; s.y_row += step) {
        const int64_t rows = row1 - s.y_row < step ? row1 - s.y_row : step;
        const gnn_tensor_t sums = gnn_tensor(block, rows, width);
        gnn__spmm_kernels()->edges(&s, s.y_row, s.y_row + rows);
        gnn__bias_rows(&plan->f, &plan->last_dropout, &sums, plan->bias, s.y_row, &sums);
        gnn__spmm_kernels()->send(block, rows, width, gnn__row(&plan->out, s.y_row),
                                  plan->out.stride, plan->out.rows * width, s.y_row + step >= row1);
    }
}

static void run_edges(const gnn__plan_t *plan, const gnn__part_t *part, const sum_run_t *run,
                      const gnn__spmm_t *s, bool finishes, int threads)
{
    const gnn__spmm_kernels_t *kernels = gnn__spmm_kernels();
    const int64_t chunks = gnn__part_chunks(part, gnn__per_chunk(part), run->bounds);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;)
        if (finishes)
            sum_and_finish(plan, s, run->bounds[c], run->bounds[c + 1],
                           run->rows + omp_get_thread_num() * run->rows_size);
        else
            kernels->edges(s, run->bounds[c], run->bounds[c + 1]);
}

/* One part, either way: `x` summed into `y`. */
static gnn__spmm_t describe(const gnn__plan_t *plan, const sum_run_t *run, int64_t p,
                            bool transposed, const gnn_tensor_t *x, const gnn_tensor_t *y)
{
    const gnn__part_t *part = transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
    const gnn_real_t *dst = receivers_scale(plan, run, p), *src = plan->view->parts[p].scale_col;
    const gnn_tensor_t *weight = &plan->in[GNN_AGGREGATE_EDGE_WEIGHT];
    gnn__spmm_t s = {.pairs = gnn__pairs_of(part),
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

static void run_part(const gnn__plan_t *plan, const sum_run_t *run, int64_t p, bool transposed,
                     const gnn__spmm_t *s, int threads)
{
    if (s->pairs.indptr)
        run_edges(plan, transposed ? &plan->view->transposed[p] : &plan->view->parts[p], run, s,
                  plan->finishes && !transposed, threads);
    else
        run_spans(plan, run, s, threads);
}

static int64_t work(const gnn__plan_t *plan)
{
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__part_t *part = &plan->view->parts[p];
        pairs += part->n_rows + (part->form == GNN__EDGES ? part->pairs : 2 * part->n_cols);
    }
    return pairs * plan->out_width;
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    sum_run_t run;
    size_t bytes;
    GNN_TRY(sum_memory(plan, call->scratch, &run, &bytes));
    const int threads = gnn__threads(plan->context, work(plan));
    if (plan->view->n_parts == 0)
        for (int64_t i = 0; i < plan->out.rows; i++)
            memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__spmm_t s =
            describe(plan, &run, p, false, &plan->in[GNN_AGGREGATE_SRC_MESSAGE], &plan->out);
        run_part(plan, &run, p, false, &s, threads);
    }
    return GNN_OK;
}

static void weight_grads(const gnn__plan_t *plan, const sum_run_t *run, int64_t p, int threads)
{
    const gnn__spmm_kernels_t *kernels = gnn__spmm_kernels();
    const gnn_tensor_t *d = &plan->d[GNN_AGGREGATE_EDGE_WEIGHT];
    const gnn__spmm_t s =
        describe(plan, run, p, false, &plan->in[GNN_AGGREGATE_SRC_MESSAGE], &plan->d_out);
    const int64_t chunks =
        gnn__part_chunks(&plan->view->parts[p], gnn__per_chunk(&plan->view->parts[p]), run->bounds);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;)
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
        if (gnn__wants(plan, GNN_AGGREGATE_SRC_MESSAGE)) {
            gnn__spmm_t s =
                describe(plan, &run, p, true, &plan->d_out, &plan->d[GNN_AGGREGATE_SRC_MESSAGE]);
            if (written >> GNN_AGGREGATE_SRC_MESSAGE & 1)
                s.start = NULL;
            run_part(plan, &run, p, true, &s, threads);
        }
        if (gnn__wants(plan, GNN_AGGREGATE_EDGE_WEIGHT))
            weight_grads(plan, &run, p, threads);
    }
    return GNN_OK;
}

/* Rows that are done after one part. */
static unsigned finishes(const gnn__plan_t *plan)
{
    return plan->view->n_parts == 1 && plan->view->parts[0].form == GNN__EDGES
               ? 1u << GNN__THEN_SUMMAND | 1u << GNN__THEN_BIAS | 1u << GNN__THEN_INPUTS
               : 0;
}

const struct gnn__aggregator_kernels gnn__sum_kernels = {gnn__is_plain, sizes, forward, backward,
                                                         finishes};
const struct gnn__aggregator_kernels gnn__mean_kernels = {gnn__is_plain, sizes, forward, backward,
                                                          finishes};
