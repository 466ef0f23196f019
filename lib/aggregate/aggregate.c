/* The op `aggregate`: y_i = aggregate over j in N(i) of message(x_i, x_j, e_ij). Whatever
 * depends on the entries of the tables or on the graph is in the plan: aggregate_plan.c makes it
 * and picks the strategy that runs it. */
#include <graphs/halo.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>
#include <lib/ops/support.h>

/* ---- gates of heads ---- */

static int gate_threads(const gnn__plan_t *plan)
{
    return gnn__plan_threads(plan, plan->graph->n_dst * plan->out_width);
}

/* The output before the gate: the last of what a call saves. */
enum { GATE_SAVED = GNN_OP_SAVED - 1 };

/* After the strategy's sizes: what a call with a gate saves, and *bytes of scratch that its
 * backward needs in front of the strategy's; 0 without a gate. */
static int gate_sizes(const gnn__plan_t *plan, gnn_op_call_t *call, size_t *bytes)
{
    gnn__carve_t rows = {0};
    int64_t count = 0;
    *bytes = 0;
    if (!plan->has[GNN_AGGREGATE_GATE] || !plan->recording)
        return GNN_OK;
    rows.overflow |= !gnn__mul(plan->graph->n_dst, plan->out_width, &count);
    gnn__carve(&rows, count, sizeof(gnn_real_t));
    call->in[GNN_AGGREGATE_GATE].keep = 1;
    call->out[0].keep = 0;
    GNN_TRY(gnn__carved(&rows, &call->saved_bytes[GATE_SAVED]));
    *bytes = call->saved_bytes[GATE_SAVED];
    return GNN_OK;
}

/* The gradient of the output before the gate: gate dY. */
static void open_gradient(const gnn__plan_t *plan, gnn_real_t *scratch, gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v, width = plan->out_width;
    open->d_out = (gnn_tensor_t){scratch, plan->out.rows, width, width};
    GNN__PARALLEL_FOR (gate_threads(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i),
                         *from = gnn__row(&plan->d_out, i);
        gnn_real_t *to = gnn__row(&open->d_out, i);
        for (int64_t c = 0; c < width; c++)
            to[c] = gate[c / d_v] * from[c];
    }
}

/* A plan with a gate as its strategy sees it: the output is not gated yet. In backward
 * `scratch` receives the gradient of that output. */
static gnn__plan_t open_gate(const gnn__plan_t *plan, const gnn_op_call_t *call, void *scratch)
{
    gnn__plan_t open = *plan;
    if (plan->recording)
        open.out = (gnn_tensor_t){call->saved[GATE_SAVED], plan->out.rows, plan->out_width,
                                  plan->out_width};
    if (scratch)
        open_gradient(plan, scratch, &open);
    return open;
}

/* After the strategy's forward: the output, from that of the plan `open`. */
static void gate_rows(const gnn__plan_t *plan, const gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v;
    GNN__PARALLEL_FOR (gate_threads(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i),
                         *from = gnn__row(&open->out, i);
        gnn_real_t *to = gnn__row(&plan->out, i);
        for (int64_t c = 0; c < plan->out_width; c++)
            to[c] = gate[c / d_v] * from[c];
    }
}

/* After the strategy's backward, which zeroes gradients: the gate's. */
static void gate_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v;
    if (!gnn__wants_gradient(plan, GNN_AGGREGATE_GATE))
        return;
    GNN__PARALLEL_FOR (gate_threads(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *d_out = gnn__row(&plan->d_out, i), *out = gnn__row(&open->out, i);
        gnn_real_t *d_gate = gnn__row(&plan->d[GNN_AGGREGATE_GATE], i);
        for (int64_t a = 0; a < plan->shape.heads; a++) {
            gnn_real_t sum = 0;
            for (int64_t c = a * d_v; c < (a + 1) * d_v; c++)
                sum += out[c] * d_out[c];
            d_gate[a] += sum;
        }
    }
}

/* ---- the op ---- */

/* Bytes in front of the strategy's scratch: of running sums, then of mapped rows. */
static int bytes_before(const gnn__plan_t *plan, bool backward, size_t *sums, size_t *bytes)
{
    GNN_TRY(gnn__running_scratch(plan, backward, sums));
    GNN_TRY(gnn__map_scratch(plan, backward, bytes));
    *bytes += *sums;
    return GNN_OK;
}

static int shape(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    size_t forward, backward, gate, sums;
    GNN_TRY(gnn__plan(&plan, call));
    gnn__op_output(call, plan.graph->n_dst, plan.out_width);
    GNN_TRY(plan.strategy->sizes(&plan, call));
    GNN_TRY(gate_sizes(&plan, call, &gate));
    GNN_TRY(bytes_before(&plan, false, &sums, &forward));
    GNN_TRY(bytes_before(&plan, true, &sums, &backward));
    call->forward_scratch += forward;
    call->backward_scratch += backward + gate;
    return GNN_OK;
}

/* A profile has one line per strategy that ran. */
static void describe_in_profile(const gnn__plan_t *plan)
{
    gnn__profile_t *profile = plan->context->profile;
    if (profile)
        plan->strategy->describe(plan, profile->detail, sizeof profile->detail);
}

/* Sums gates, maps rows and moves the call's scratch by *bytes, to what is left for the
 * strategy. */
static int take_rows(gnn__plan_t *plan, gnn_op_call_t *call, bool backward, gnn__map_run_t *run,
                     size_t *bytes)
{
    size_t sums;
    GNN_TRY(bytes_before(plan, backward, &sums, bytes));
    GNN_TRY(gnn__running_rows(plan, call->scratch, backward));
    if (plan->map)
        GNN_TRY(gnn__map_rows(plan, (char *)call->scratch + sums, backward, run));
    call->scratch = (char *)call->scratch + *bytes;
    return GNN_OK;
}

/* With a gate, the strategy's output is the one before it. */
static int gated_forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    const gnn__plan_t open = open_gate(plan, call, NULL);
    GNN_TRY(plan->strategy->forward(&open, call));
    gate_rows(plan, &open);
    return GNN_OK;
}

/* ---- over ranks ---- */

/* Without a gradient that is wanted, memory of the call is not kept. */
static bool has_backward(const gnn_op_call_t *call)
{
    bool wanted = false;
    for (int k = 0; k < call->n_in; k++)
        wanted |= call->in[k].present && call->in[k].wants_grad;
    return call->recording && wanted;
}

/* Sums over senders in backward read what receivers of the halo saved, and their outputs. */
static int pull_saved(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__halo_t *halo = plan->graph->wide_of;
    const size_t stride = sizeof(gnn_real_t) * (size_t)gnn__stride(&call->out[0].value);
    if (!halo || !has_backward(call))
        return GNN_OK;
    for (int k = 0; k < GNN_OP_SAVED; k++) {
        const size_t bytes = sizeof(gnn_real_t) * (size_t)plan->strategy->saved_row(plan, k);
        if (bytes) /* also without rows: the others wait */
            GNN_TRY(gnn__halo_start(halo, call->saved[k], bytes, bytes));
    }
    if (plan->has[GNN_AGGREGATE_GATE]) {
        const size_t bytes = sizeof(gnn_real_t) * (size_t)plan->out_width;
        GNN_TRY(gnn__halo_start(halo, call->saved[GATE_SAVED], bytes, bytes));
    }
    return call->out[0].keep ? gnn__halo_start(halo, call->out[0].value.data, stride,
                                               sizeof(gnn_real_t) * (size_t)call->out[0].value.cols)
                             : GNN_OK;
}

/* Name of the first part of a call that does not run over ranks; NULL: all of it does. */
static const char *not_over_ranks(const gnn__plan_t *plan)
{
    if (!plan->graph->wide_of)
        return "a graph that ranks do not share";
    for (int p = 0; p < GNN_PRIORS; p++)
        if (gnn__runs(plan, p))
            return "a prior of running sums";
    if (plan->how->edge_weights_out || plan->how->segment_weights_out)
        return "attention weights on request";
    return NULL;
}

/* The gradient of an edge is complete at the owner of its receiver: all ranks get it. */
static int gather_edges(const gnn__plan_t *plan)
{
    static const int edge_inputs[] = {GNN_AGGREGATE_EDGE_FEATURES, GNN_AGGREGATE_EDGE_WEIGHT,
                                      GNN_AGGREGATE_EDGE_BIAS};
    for (size_t e = 0; plan->graph->wide_of && e < sizeof edge_inputs / sizeof *edge_inputs; e++)
        if (gnn__wants_gradient(plan, edge_inputs[e]))
            GNN_TRY(gnn__halo_gather_edges(plan->graph->wide_of, &plan->d[edge_inputs[e]]));
    return GNN_OK;
}

static gnn__over_t over(const gnn_op_call_t *call, int *rc)
{
    gnn__plan_t plan;
    *rc = gnn__plan(&plan, call);
    const char *what = *rc == GNN_OK ? not_over_ranks(&plan) : NULL;
    if (what)
        *rc = gnn_op_fail(call, GNN_EUNSUPPORTED,
                          "ranks: aggregate with %s is not supported over ranks", what);
    return GNN__OVER_WIDE;
}

/* The inputs that the strategy sees changed: mapped rows, running sums. */
static unsigned changed_inputs(const gnn__plan_t *plan)
{
    unsigned changed = plan->map ? 1u << GNN_AGGREGATE_QUERY | 1u << GNN_AGGREGATE_KEY : 0;
    for (int p = 0; p < GNN_PRIORS; p++)
        changed |= gnn__runs(plan, p) ? 1u << (GNN_AGGREGATE_PRIOR_0 + p) : 0;
    return changed;
}

static int forward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    gnn__map_run_t run;
    size_t bytes;
    GNN_TRY(gnn__plan(&plan, call));
    describe_in_profile(&plan);
    if (changed_inputs(&plan))
        GNN_TRY(gnn__await_halo(&plan));
    GNN_TRY(take_rows(&plan, call, false, &run, &bytes));
    int rc = plan.has[GNN_AGGREGATE_GATE] ? gated_forward(&plan, call)
                                          : plan.strategy->forward(&plan, call);
    call->scratch = (char *)call->scratch - bytes;
    rc = rc == GNN_OK ? gnn__await_halo(&plan) : rc;
    return rc == GNN_OK ? pull_saved(&plan, call) : rc;
}

/* The strategy's gradients of changed inputs are those of mapped rows and of running sums. */
static int plain_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__plan_t mapped = *plan;
    gnn__map_run_t run;
    size_t bytes;
    const unsigned changed = changed_inputs(plan);
    if (!changed)
        return plan->strategy->backward(plan, call);
    gnn__zero_gradients(plan, ~changed);
    GNN_TRY(take_rows(&mapped, call, true, &run, &bytes));
    const int rc = plan->strategy->backward(&mapped, call);
    call->scratch = (char *)call->scratch - bytes;
    if (rc != GNN_OK)
        return rc;
    gnn__running_rows_grad(plan, &mapped);
    return plan->map ? gnn__map_rows_grad(plan, &mapped, &run) : GNN_OK;
}

/* With a gate, the strategy's output and its gradient are those before it. */
static int gated_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    const gnn__plan_t open = open_gate(plan, call, call->scratch);
    const size_t bytes =
        (size_t)gnn__round_up(plan->graph->n_dst * plan->out_width * (int64_t)sizeof(gnn_real_t), 64);
    call->scratch = (char *)call->scratch + bytes;
    const int rc = plain_backward(&open, call);
    call->scratch = (char *)call->scratch - bytes;
    if (rc == GNN_OK)
        gate_rows_grad(plan, &open);
    return rc;
}

static int backward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    describe_in_profile(&plan);
    if (changed_inputs(&plan) || plan.has[GNN_AGGREGATE_GATE])
        GNN_TRY(gnn__await_halo(&plan));
    GNN_TRY(plan.has[GNN_AGGREGATE_GATE] ? gated_backward(&plan, call) : plain_backward(&plan, call));
    GNN_TRY(gnn__await_halo(&plan));
    return gather_edges(&plan);
}

static unsigned finishes(const gnn_op_call_t *call)
{
    gnn__plan_t plan;
    if (gnn__plan(&plan, call) != GNN_OK || !plan.strategy->finishes || plan.has[GNN_AGGREGATE_GATE])
        return 0;
    return plan.strategy->finishes(&plan);
}

/* Operations of a strategy that keeps running sums in place of pairs; 0: it does not. */
static double running_flops(const gnn_op_call_t *call, bool backward)
{
    gnn__plan_t plan;
    double sum = 0;
    if (gnn__plan(&plan, call) != GNN_OK || !plan.strategy->running_flops)
        return 0;
    for (int64_t p = 0; p < plan.view->n_parts; p++) {
        const double part = plan.strategy->running_flops(&plan, &plan.view->parts[p].pairs, backward);
        if (part <= 0)
            return 0;
        sum += part;
    }
    return sum;
}

/* A sum reads a row for each pair. Backward of an attention is its recomputation and two more. */
static void work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const gnn_aggregate_t *how = call->attributes;
    const double pairs = (double)gnn_graph_n_pairs(how->graph), width = (double)call->out[0].cols,
                 heads = how->shape.heads > 0 ? (double)how->shape.heads : 1,
                 score = !how->score || gnn__scores_keys(how->score)
                             ? 2 * heads * (double)how->shape.d_k
                             : 4 * heads;
    const bool scored = how->aggregator->flags & GNN_AGGREGATOR_SCORED;
    const double sums = 2 * pairs * width, own = scored ? pairs * score : 0;
    const double running = running_flops(call, backward != 0);
    work->flops = backward && scored ? 2 * sums + 3 * own : sums + own;
    if (running > 0)
        work->flops = running;
    if (gnn_graph_n_edges(how->graph) > 0)
        work->bytes += (backward ? 2 : 1) * pairs * (width * sizeof(gnn_real_t) + sizeof(int32_t));
}

static const gnn__op_traits_t traits = {.finishes = finishes, .over = over};
const gnn_op_t gnn__op_aggregate = {.name = "aggregate",
                                    .shape = shape,
                                    .forward = forward,
                                    .backward = backward,
                                    .work = work,
                                    .traits = &traits};
