/* The strategy of max and min, on one list of edges without weights. Saved for backward: the
 * output, and the count of messages that share each of its values. */
#include <lib/aggregate/strategies.h>
#include <lib/kernels/neighbours/neighbours.h>

static bool takes(const gnn__plan_t *plan)
{
    const gnn__part_t *part = plan->view->parts;
    const gnn__reduction_t kind = plan->hints.reduction;
    return (kind == GNN__REDUCTION_MAX || kind == GNN__REDUCTION_MIN) && gnn__is_plain(plan) &&
           gnn__neighbour_extreme_kernels() && !plan->has[GNN_AGGREGATE_EDGE_WEIGHT] &&
           plan->view->n_parts == 1 && gnn__pairs_form(&part->pairs) == GNN__EDGES &&
           part->pairs.n_rows == plan->graph->n_dst && part->pairs.n_cols == plan->graph->n_src &&
           !part->scale_row && !part->scale_col;
}

typedef struct extreme_run {
    int64_t *bounds;
    /* n_dst x width: the gradient of each of the messages that share a value; forward: one row
     * of ones */
    gnn_real_t *gain;
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
    call->in[GNN_AGGREGATE_SRC_MESSAGE].keep = 1;
    call->out[0].keep = 1;
    return GNN_OK;
}

/* Messages by receiver; matches are those equal to the extreme. */
static gnn__neighbour_extreme_t extreme_of(const gnn__plan_t *plan, const extreme_run_t *run,
                                           gnn_real_t *ties)
{
    const gnn_tensor_t *x = &plan->in[GNN_AGGREGATE_SRC_MESSAGE];
    return (gnn__neighbour_extreme_t){.pairs = plan->view->parts->pairs,
                                      .width = plan->out_width,
                                      .sign = plan->hints.reduction == GNN__REDUCTION_MIN ? -1 : 1,
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
    return (plan->view->parts->pairs.count + plan->graph->n_dst) * plan->out_width;
}

typedef struct {
    const gnn__plan_t *plan;
    const extreme_run_t *run;
    const gnn__neighbour_extreme_t *e;
    const gnn_real_t *ties; /* backward, else NULL */
    int threads;
} extreme_pass_t;

static void extreme_rows(const void *user, int64_t row0, int64_t row1)
{
    const gnn__neighbour_extreme_kernels_t *kernels = gnn__neighbour_extreme_kernels();
    const extreme_pass_t *pass = user;
    for (int64_t r = row0; r < row1; r++) {
        if (!pass->ties)
            kernels->receive(pass->e, r, r + 1);
        if (pass->e->to) /* while the messages are in the cache */
            kernels->match(pass->e, r, r + 1);
    }
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    extreme_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    for (int64_t c = 0; c < plan->out_width; c++)
        run.gain[c] = 1;
    const gnn__neighbour_extreme_t e =
        extreme_of(plan, &run, plan->recording ? call->saved[0] : NULL);
    extreme_pass_t pass = {.plan = plan, .run = &run, .e = &e};
    return gnn__pass_rows(plan, &e.pairs, run.bounds, gnn__plan_threads(plan, work(plan)),
                          &(gnn__row_pass_t){.rows = extreme_rows, .user = &pass});
}

/* Messages that share a value get equal parts of its gradient. */
static void split_gradients(const gnn__plan_t *plan, const gnn_real_t *ties, gnn_real_t *gain,
                            int64_t first, int64_t end, int threads)
{
    const int64_t width = plan->out_width;
    GNN__PARALLEL_FOR (threads, int64_t r = first; r < end; r++)
        for (int64_t c = 0; c < width; c++) {
            const gnn_real_t n = ties[r * width + c];
            gain[r * width + c] = gnn__row(&plan->d_out, r)[c] / (n > 0 ? n : 1);
        }
}

static void split_halo(void *user)
{
    const extreme_pass_t *pass = user;
    split_gradients(pass->plan, pass->ties, pass->run->gain,
                    gnn__rows_at_hand(pass->plan, pass->plan->graph->n_dst),
                    pass->plan->graph->n_dst, pass->threads);
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
    split_gradients(plan, call->saved[0], run.gain, 0, gnn__rows_at_hand(plan, plan->graph->n_dst),
                    threads);
    gnn__neighbour_extreme_t e = extreme_of(plan, &run, dx->data);
    e.pairs = plan->view->transposed->pairs;
    e.other = plan->out.data;
    e.ldother = plan->out.stride;
    e.own = plan->in[GNN_AGGREGATE_SRC_MESSAGE].data;
    e.ldown = plan->in[GNN_AGGREGATE_SRC_MESSAGE].stride;
    e.ldgain = plan->out_width;
    e.ldto = dx->stride;
    e.add = !(written >> GNN_AGGREGATE_SRC_MESSAGE & 1);
    extreme_pass_t pass = {plan, &run, &e, call->saved[0], threads};
    return gnn__pass_rows(
        plan, &e.pairs, run.bounds, threads,
        &(gnn__row_pass_t){.rows = extreme_rows, .arrived = split_halo, .user = &pass});
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "extreme");
}

static int64_t saved_row(const gnn__plan_t *plan, int k)
{
    return k == 0 ? plan->out_width : 0;
}

const gnn__strategy_t gnn__strategy_extreme = {.takes = takes,
                                               .saved_row = saved_row,
                                               .sizes = sizes,
                                               .forward = forward,
                                               .backward = backward,
                                               .describe = describe};
