/* Attention on edges by the kernels that keep heads in lanes (lib/kernels/attention_lanes.h): copies with heads fastest where rows do not lie right already, then one
 * pass by receiver; backward one pass over receivers without edges, one by receiver unless scores are additive, and one by sender unless receivers have done its work. */
#include <lib/aggregate/attention.h>
#include <lib/aggregate/attention_lanes.h>
#include <lib/aggregate/own.h>
#include <lib/aggregate/rows.h>
#include <lib/kernels/attention_lanes.h>

#include <omp.h>

typedef struct run {
    gnn__attention_t a;
    gnn__lanes_t l;
    int64_t *bounds;
    gnn_real_t *scratch; /* one share per thread */
    int64_t share;
    gnn_real_t *q, *k, *v, *dy, *weights; /* copies; NULL: none is needed */
    gnn_real_t *d_a;                      /* chunks x heads * d_k */
} run_t;

static int pattern_width(int64_t heads)
{
    return heads == 1 ? 1 : heads <= 4 ? 4 : 8;
}

/* Dot scores on spans go in tiles. */
bool gnn__lanes_take(const gnn__plan_t *plan)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const bool dot = plan->row->kernels == &gnn__dot_kernels;
    if (!gnn__attention_lanes() || s->heads > GNN__LANES_HEADS || s->kv_heads != s->heads ||
        !(s->slope >= 0 && s->slope <= 1) || plan->has[GNN_AGGREGATE_EDGE_BIAS] ||
        plan->has[GNN_AGGREGATE_EDGE_WEIGHT])
        return false;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        if (plan->view->parts[p].scale_row || plan->view->parts[p].scale_col ||
            (dot && plan->view->parts[p].form != GNN__EDGES))
            return false;
    return true;
}

/* Pairs of a node from which on copies pay in training, as permuting both weights of a pair takes half as long again as its sums, and groups' matrices do. From which on
 * factors do: few of a graph's pairs are in long rows below that. And from which on pairs fill registers. */
enum { DENSE = 64, LONG_ROWS = 8, FILLS = 16 };

static int64_t pairs_of_a_node(const gnn__plan_t *plan)
{
    const int64_t nodes = (plan->graph->n_dst + plan->graph->n_src) / 2;
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs;
    return nodes > 0 ? pairs / nodes : 0;
}

/* The first that serves; GNN__NARROW and GNN__SHARED have kernels for additive scores only, GNN__FEW for the others. */
static gnn__layout_t layout_of(const gnn__plan_t *plan, int width, bool additive)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t in_place = additive ? gnn__attention_lanes()->in_place : 0, row = s->heads * s->d_v;
    if (!additive && s->heads == 1 && s->d_k <= GNN__LANES_FEW && s->d_v <= GNN__LANES_FEW &&
        pairs_of_a_node(plan) >= FILLS)
        return GNN__FEW;
    if (s->d_v % 16 == 0 &&
        (additive ? s->heads == 1 || s->d_v % 64 == 0 : s->heads == 1 && s->d_k % 16 == 0))
        return GNN__WHOLE;
    if (s->heads == 1 && s->d_v < in_place)
        return GNN__NARROW;
    if (s->heads == width && in_place && row % in_place == 0 &&
        (s->d_v == 2 || s->d_v == 4 || s->d_v == 8) &&
        !(plan->recording && pairs_of_a_node(plan) >= DENSE))
        return GNN__SHARED;
    return GNN__PACKED;
}

/* Numbers of a sender that forward makes weights of, sixteen at most; 0: it makes them of scores. */
static int factors_of(const gnn__plan_t *plan, const gnn__lanes_t *l)
{
    const int64_t of_one = 2 + plan->shape.d_v;
    const bool few = l->layout == GNN__NARROW && of_one <= 16;
    if (l->a->score != GNN__SCORE_ADDITIVE || !(few || l->a->heads == 8) ||
        !gnn__attention_lanes()->factors || pairs_of_a_node(plan) < LONG_ROWS)
        return 0;
    return !few || of_one > 8 ? 16 : of_one > 4 ? 8 : 4;
}

/* Numbers of a row whose heads are d wide. */
static int64_t row_of(const gnn__lanes_t *l, int64_t d)
{
    return l->layout == GNN__FEW      ? 16 * d
           : l->layout == GNN__PACKED ? (d * l->width + 15) / 16 * 16
                                      : (l->a->heads * d + 15) / 16 * 16;
}

static void describe(const gnn__plan_t *plan, run_t *run)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    gnn__attention_t *a = &run->a;
    memset(run, 0, sizeof *run);
    *a = gnn__attention_describe(plan);
    gnn__lanes_t *l = &run->l;
    l->a = a;
    const bool additive = a->score == GNN__SCORE_ADDITIVE;
    l->width = pattern_width(s->heads);
    l->layout = layout_of(plan, l->width, additive);
    l->row = row_of(l, s->d_v);
    l->key_row = additive ? l->width : row_of(l, s->d_k);
    l->slope = additive ? s->slope : 1;
    l->q = a->q;
    l->k = a->k;
    l->v = a->v;
}

/* Where keys are values, backward goes through pairs once for both their ends. Receivers form groups, each with a matrix of its own for what senders gain, which no two
 * threads write; in the end they are added up. What that takes, in time and memory, are some numbers a pair: eight heads of eight need many pairs to be worth it.
 * 0: receivers and senders have a pass each. */
static int64_t groups_of(const gnn__plan_t *plan, const gnn__lanes_t *l)
{
    enum { FEWEST = 8, MOST = 32, OF_A_PAIR = 4 };
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t pairs = pairs_of_a_node(plan);
    if (l->a->score != GNN__SCORE_ADDITIVE_V2 || plan->view->n_parts != 1 || s->d_k != s->d_v)
        return 0;
    if (l->layout != GNN__FEW && (!gnn__attention_lanes()->in_place || l->layout != GNN__PACKED ||
                                  l->width != 8 || s->d_k != 8 || pairs < DENSE))
        return 0;
    const int64_t groups = OF_A_PAIR * pairs / (s->heads * s->d_k);
    return groups < FEWEST ? FEWEST : groups > MOST ? MOST : groups;
}

/* Pairs of a group: at least those of a chunk. */
static int64_t per_group(const gnn__part_t *part, int64_t groups)
{
    const int64_t least = gnn__per_chunk(part), per = (part->pairs + part->n_rows) / groups + 1;
    return per < least ? least : per;
}

static gnn_real_t *copy_of(gnn__carve_t *carve, bool needed, int64_t rows, int64_t cols)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(rows, cols, &count);
    return needed ? gnn__carve(carve, count, sizeof(gnn_real_t)) : NULL;
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    describe(plan, run);
    const int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src, heads = run->a.heads,
                  width = run->l.width, most = gnn__most_chunks(plan->view);
    const bool additive = run->a.score == GNN__SCORE_ADDITIVE,
               copies = run->l.layout == GNN__PACKED, keys = additive ? heads != width : copies,
               parameters = plan->has[GNN_AGGREGATE_PARAMETERS];
    run->share = gnn__attention_lanes_scratch(&run->l);
    run->bounds = gnn__carve(&carve, most + 1, sizeof *run->bounds);
    run->scratch = copy_of(&carve, true, run->share, plan->context->threads);
    run->q = copy_of(&carve, keys, n_dst, run->l.key_row);
    run->k = copy_of(&carve, keys, n_src, run->l.key_row);
    run->v = copy_of(&carve, copies && !gnn__keys_are_values(&run->a), n_src, run->l.row);
    run->weights = copy_of(&carve, parameters, 1, run->l.key_row);
    run->l.factors = backward ? 0 : factors_of(plan, &run->l);
    run->l.key_factors = copy_of(&carve, run->l.factors > 0, n_src, run->l.factors);
    if (backward) {
        run->dy = copy_of(&carve, copies, n_dst, run->l.row);
        run->l.records.stride =
            (additive ? 3 : 2) * width + (run->l.layout == GNN__FEW ? run->a.d_k + run->a.d_v : 0);
        run->l.records.at = copy_of(&carve, true, n_dst, run->l.records.stride);
        run->d_a = copy_of(&carve, parameters, most, heads * run->a.d_k);
        run->l.groups = groups_of(plan, &run->l);
        run->l.n_src = n_src;
        run->l.sender_row = run->l.layout == GNN__FEW ? run->a.d_k : run->l.key_row;
        run->l.d_senders =
            copy_of(&carve, run->l.groups > 0, run->l.groups * n_src, run->l.sender_row);
    } else {
        const bool parts = plan->view->n_parts > 1; /* one leaves nothing to another */
        run->a.sum = copy_of(&carve, parts, n_dst, heads);
        run->a.largest = copy_of(&carve, parts && !plan->recording, n_dst, heads);
    }
    return gnn__carved(&carve, bytes);
}

int gnn__lanes_sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    const int64_t per_receiver[] = {run.a.heads, run.l.row, run.l.width};
    for (int k = 0; k < (run.a.score == GNN__SCORE_ADDITIVE ? 3 : 1); k++) {
        gnn__carve_t saved = {0};
        copy_of(&saved, true, plan->graph->n_dst, per_receiver[k]);
        GNN_TRY(gnn__carved(&saved, &call->saved_bytes[k]));
    }
    gnn__attention_keep(plan, call);
    return GNN_OK;
}

/* ---- passes ---- */

enum { ROWS_AT_ONCE = 256 };

/* Copies `from`, heads of width d, where a copy is wanted, and lets `to` stand for it. */
static void pack(const gnn__matrix_t *from, int64_t rows, int64_t d, int64_t cols, const run_t *run,
                 gnn_real_t *copy, gnn__matrix_t *to, int threads)
{
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    const int64_t pieces = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    if (!copy)
        return;
    *to = (gnn__matrix_t){copy, cols};
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < pieces; k++) {
        const int64_t i0 = k * ROWS_AT_ONCE, i1 = i0 + ROWS_AT_ONCE;
        kernels->pack(from, i0, i1 < rows ? i1 : rows, run->a.heads, d, run->l.width, to, cols);
    }
}

/* A kernel's sweep over rows of nodes. */
static void sweep(const run_t *run, int64_t rows, int threads,
                  void (*kernel)(const gnn__lanes_t *, int64_t, int64_t, gnn_real_t *))
{
    const int64_t pieces = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < pieces; k++) {
        const int64_t i0 = k * ROWS_AT_ONCE, i1 = i0 + ROWS_AT_ONCE;
        kernel(&run->l, i0, i1 < rows ? i1 : rows, run->scratch + omp_get_thread_num() * run->share);
    }
}

static void pack_inputs(const gnn__plan_t *plan, run_t *run, int threads)
{
    const int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src;
    const int64_t d_k = run->a.score == GNN__SCORE_ADDITIVE ? 1 : run->a.d_k;
    pack(&run->a.q, n_dst, d_k, run->l.key_row, run, run->q, &run->l.q, threads);
    pack(&run->a.k, n_src, d_k, run->l.key_row, run, run->k, &run->l.k, threads);
    pack(&run->a.v, n_src, run->a.d_v, run->l.row, run, run->v, &run->l.v, threads);
    if (run->l.layout == GNN__PACKED && gnn__keys_are_values(&run->a))
        run->l.v = run->l.k;
    if (run->l.key_factors)
        sweep(run, n_src, threads, gnn__attention_lanes()->factors);
    if (run->weights) {
        const gnn_tensor_t *a = &plan->in[GNN_AGGREGATE_PARAMETERS];
        const gnn__matrix_t flat = {a->data, a->rows * a->cols};
        gnn__matrix_t to;
        pack(&flat, 1, d_k, run->l.key_row, run, run->weights, &to, 1);
        run->l.weights = run->weights;
    }
}

static void run_part(const gnn__plan_t *plan, run_t *run, int64_t p, gnn__pass_t pass, int threads)
{
    const bool transposed = pass == GNN__SEND, both = pass == GNN__RECEIVE && run->l.d_senders,
               parameters = gnn__wants(plan, GNN_AGGREGATE_PARAMETERS) &&
                            (pass == GNN__RECEIVE || (transposed && !run->l.d_senders));
    const int64_t width = run->a.heads * run->a.d_k, of_a_group = run->l.n_src * run->l.sender_row;
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    const gnn__part_t *part = transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
    const int64_t per = both ? per_group(part, run->l.groups) : gnn__per_chunk(part);
    gnn__attention_part(plan, p, pass, &run->a);
    const int64_t chunks = gnn__part_chunks(part, per, run->bounds);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;) {
        const int64_t row0 = run->bounds[c], row1 = run->bounds[c + 1];
        gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->share,
                   *d_a = parameters ? run->d_a + c * width : NULL,
                   *d_senders = both ? run->l.d_senders + c * of_a_group : NULL;
        if (both)
            memset(d_senders, 0, sizeof *d_senders * (size_t)of_a_group);
        if (pass == GNN__FORWARD)
            kernels->forward(&run->l, row0, row1, scratch);
        else if (transposed)
            kernels->send(&run->l, row0, row1, scratch, d_a);
        else
            kernels->receive(&run->l, row0, row1, scratch, d_a, d_senders);
    }
    if (both)
        run->l.groups = chunks; /* as many as there are */
    if (parameters)
        gnn__add_partials(&plan->d[GNN_AGGREGATE_PARAMETERS], run->d_a, chunks, width);
}

/* f(y + bias). */
static void finish(const void *how, gnn_real_t *y, int64_t rows, int64_t stride)
{
    const gnn__plan_t *plan = how;
    const gnn_tensor_t sums = {y, rows, plan->out_width, stride};
    gnn__bias_rows(&plan->f, &plan->last_dropout, &sums, plan->bias, 0, &sums);
}

int gnn__lanes_forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    if (plan->recording)
        run.a.largest = call->saved[0];
    if (plan->recording && run.a.score == GNN__SCORE_ADDITIVE) {
        run.l.negative = call->saved[1];
        run.l.share = call->saved[2];
    }
    run.l.finish = plan->bias ? finish : NULL;
    run.l.how = plan;
    run.l.at_once = gnn__rows_at_once(plan->out_width);
    const int threads = gnn__threads(plan->context, gnn__attention_work(plan));
    pack_inputs(plan, &run, threads);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        run_part(plan, &run, p, GNN__FORWARD, threads);
    return GNN_OK;
}

int gnn__lanes_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__attention_t *a = &run.a;
    gnn__attention_gradients(plan, call, a);
    const bool additive = a->score == GNN__SCORE_ADDITIVE;
    run.l.negative = additive ? call->saved[1] : NULL;
    run.l.share = additive ? call->saved[2] : NULL;
    run.l.dy = run.dy ? (gnn__matrix_t){run.dy, run.l.row} : a->dy;
    const unsigned written = additive ? gnn__written_gradients(plan, GNN__EDGES) : 0;
    run.l.writes_q = written >> GNN_AGGREGATE_QUERY & 1;
    run.l.writes_k = written >> GNN_AGGREGATE_KEY & 1;
    run.l.writes_v = written >> GNN_AGGREGATE_SRC_MESSAGE & 1;
    run.l.same_gradient =
        gnn__keys_are_values(a) && a->d_k_rows.at && a->d_k_rows.at == a->d_v_rows.at;
    gnn__zero_gradients(plan, written);
    const int threads = gnn__gradient_threads(plan, gnn__attention_work(plan));
    pack_inputs(plan, &run, threads);
    sweep(&run, plan->graph->n_dst, threads, gnn__attention_lanes()->prepare);
    if (!gnn__keys_are_values(a))
        run.l.d_senders = NULL;
    const bool once = run.l.d_senders != NULL, collects = once && run.l.same_gradient,
               parameters = gnn__wants(plan, GNN_AGGREGATE_PARAMETERS),
               rows = a->d_k_rows.at || a->d_v_rows.at,
               by_receiver = !additive && (a->d_q.at || parameters || collects),
               by_sender = once ? rows && !collects : rows || parameters;
    for (int64_t p = 0; by_receiver && p < plan->view->n_parts; p++)
        run_part(plan, &run, p, GNN__RECEIVE, threads);
    if (collects)
        sweep(&run, plan->graph->n_src, threads, gnn__attention_lanes()->collect);
    for (int64_t p = 0; by_sender && p < plan->view->n_parts; p++)
        run_part(plan, &run, p, GNN__SEND, threads);
    return GNN_OK;
}
