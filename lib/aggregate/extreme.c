/* max and min on one list of edges without weights by their own kernels; everything else goes to the driver. Saved for backward: the output, and how many messages share
 * each of its numbers. */
#include <lib/aggregate/own.h>
#include <lib/aggregate/rows.h>
#include <lib/kernels/extreme.h>

#include <omp.h>

static bool takes(const gnn__plan_t *plan)
{
    const gnn__part_t *part = plan->view->parts;
    return gnn__is_plain(plan) && gnn__extreme_kernels() && !plan->has[GNN_AGGREGATE_EDGE_WEIGHT] &&
           plan->view->n_parts == 1 && part->form == GNN__EDGES &&
           part->n_rows == plan->graph->n_dst && part->n_cols == plan->graph->n_src &&
           !part->scale_row && !part->scale_col;
}

typedef struct extreme_run {
    int64_t *bounds;
    gnn_real_t *gain; /* n_dst x width: shares of the gradient; forward: one row of ones */
} extreme_run_t;

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, extreme_run_t *run,
                  size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    int64_t count = 0;
    carve.overflow = !gnn__mul(backward ? plan->graph->n_dst : 1, plan->out_width, &count);
    run->bounds = gnn__carve(&carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    run->gain = gnn__carve(&carve, count, sizeof *run->gain);
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    extreme_run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    call->saved_bytes[0] = call->backward_scratch; /* n_dst x width too, and some more */
    call->keep_in = 1u << GNN_AGGREGATE_SRC_MESSAGE;
    call->keep_out = 1;
    return GNN_OK;
}

/* Messages by receiver, whose matches are those that share an extreme. */
static gnn__extreme_t describe(const gnn__plan_t *plan, const extreme_run_t *run, gnn_real_t *ties)
{
    const gnn_tensor_t *x = &plan->in[GNN_AGGREGATE_SRC_MESSAGE];
    return (gnn__extreme_t){.pairs = gnn__pairs_of(plan->view->parts),
                            .width = plan->out_width,
                            .sign = plan->row->kernels == &gnn__min_kernels ? -1 : 1,
                            .other = x->data,
                            .ldother = x->stride,
                            .own = plan->out.data,
                            .ldown = plan->out.stride,
                            .gain = run->gain,
                            .to = ties,
                            .ldto = plan->out_width};
}

static int64_t work(const gnn__plan_t *plan)
{
    return (plan->view->parts->pairs + plan->graph->n_dst) * plan->out_width;
}

static void run_part(const gnn__part_t *part, const extreme_run_t *run, const gnn__extreme_t *e,
                     bool receives, int threads)
{
    const gnn__extreme_kernels_t *kernels = gnn__extreme_kernels();
    const int64_t chunks = gnn__part_chunks(part, gnn__per_chunk(part), run->bounds);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;)
        for (int64_t r = run->bounds[c]; r < run->bounds[c + 1]; r++) {
            if (receives)
                kernels->receive(e, r, r + 1);
            if (e->to) /* while what was heard is near */
                kernels->match(e, r, r + 1);
        }
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    extreme_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    for (int64_t c = 0; c < plan->out_width; c++)
        run.gain[c] = 1;
    const gnn__extreme_t e = describe(plan, &run, plan->recording ? call->saved[0] : NULL);
    run_part(plan->view->parts, &run, &e, true, gnn__threads(plan->context, work(plan)));
    return GNN_OK;
}

/* Those who share a number share its gradient. */
static void share_gradients(const gnn__plan_t *plan, const gnn_real_t *ties, gnn_real_t *share,
                            int threads)
{
    const int64_t rows = plan->graph->n_dst, width = plan->out_width;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < width; c++) {
            const gnn_real_t n = ties[r * width + c];
            share[r * width + c] = gnn__row(&plan->d_out, r)[c] / (n > 0 ? n : 1);
        }
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    extreme_run_t run;
    size_t bytes;
    const gnn_tensor_t *dx = &plan->d[GNN_AGGREGATE_SRC_MESSAGE];
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    const unsigned written = gnn__written_gradients(plan, GNN__EDGES);
    gnn__zero_gradients(plan, written);
    if (!dx->data)
        return GNN_OK;
    const int threads = gnn__gradient_threads(plan, work(plan));
    share_gradients(plan, call->saved[0], run.gain, threads);
    gnn__extreme_t e = describe(plan, &run, dx->data);
    e.pairs = gnn__pairs_of(plan->view->transposed);
    e.other = plan->out.data;
    e.ldother = plan->out.stride;
    e.own = plan->in[GNN_AGGREGATE_SRC_MESSAGE].data;
    e.ldown = plan->in[GNN_AGGREGATE_SRC_MESSAGE].stride;
    e.ldgain = plan->out_width;
    e.ldto = dx->stride;
    e.add = !(written >> GNN_AGGREGATE_SRC_MESSAGE & 1);
    run_part(plan->view->transposed, &run, &e, false, threads);
    return GNN_OK;
}

const struct gnn__aggregator_kernels gnn__max_kernels = {takes, sizes, forward, backward, NULL};
const struct gnn__aggregator_kernels gnn__min_kernels = {takes, sizes, forward, backward, NULL};
