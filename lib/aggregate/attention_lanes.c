/* Additive attention by the kernels that keep heads in lanes (lib/kernels/attention_lanes.h): copies with heads fastest where rows do not lie right already, then one
 * pass by receiver; backward one pass over receivers without edges and one by sender. */
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
    gnn_real_t *q, *k, *v, *dy; /* copies; NULL: none is needed */
} run_t;

static int pattern_width(int64_t heads)
{
    return heads == 1 ? 1 : heads <= 4 ? 4 : heads <= 8 ? 8 : 16;
}

bool gnn__lanes_take(const gnn__plan_t *plan)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    if (!gnn__attention_lanes() || plan->row->kernels != &gnn__additive_kernels || s->heads > 16 ||
        s->kv_heads != s->heads || !(s->slope >= 0 && s->slope <= 1) ||
        plan->has[GNN_AGGREGATE_EDGE_BIAS] || plan->has[GNN_AGGREGATE_EDGE_WEIGHT])
        return false;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        if (plan->view->parts[p].scale_row || plan->view->parts[p].scale_col)
            return false;
    return true;
}

static gnn__matrix_t matrix(const gnn_tensor_t *t)
{
    return (gnn__matrix_t){t->data, t->stride};
}

static void describe(const gnn__plan_t *plan, run_t *run)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    gnn__attention_t *a = &run->a;
    memset(run, 0, sizeof *run);
    a->score = GNN__SCORE_ADDITIVE;
    a->heads = a->kv_heads = s->heads;
    a->d_k = s->d_k;
    a->d_v = s->d_v;
    a->slope = s->slope;
    a->q = matrix(&plan->in[GNN_AGGREGATE_QUERY]);
    a->k = matrix(&plan->in[GNN_AGGREGATE_KEY]);
    a->v = matrix(&plan->in[GNN_AGGREGATE_SRC_MESSAGE]);
    a->y = matrix(&plan->out);
    a->dropout = plan->dropping ? &plan->dropout : NULL;
    gnn__lanes_t *l = &run->l;
    l->width = pattern_width(s->heads);
    l->packed = s->d_v % 16 != 0 || (s->heads > 1 && s->d_v % 64 != 0);
    l->row = l->packed ? (s->d_v * l->width + 15) / 16 * 16 : s->heads * s->d_v;
    l->q = a->q;
    l->k = a->k;
    l->v = a->v;
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
                  width = run->l.width;
    run->share = gnn__attention_lanes_scratch(&run->l);
    run->bounds = gnn__carve(&carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    run->scratch = copy_of(&carve, true, run->share, plan->context->threads);
    run->q = copy_of(&carve, heads != width, n_dst, width);
    run->k = copy_of(&carve, heads != width, n_src, width);
    run->v = copy_of(&carve, run->l.packed, n_src, run->l.row);
    if (backward) {
        run->dy = copy_of(&carve, run->l.packed, n_dst, run->l.row);
        run->l.records = copy_of(&carve, true, n_dst, 3 * width);
    } else {
        run->a.sum = copy_of(&carve, true, n_dst, heads);
        run->a.largest = copy_of(&carve, !plan->recording, n_dst, heads);
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
    for (int k = 0; k < 3; k++) {
        gnn__carve_t saved = {0};
        copy_of(&saved, true, plan->graph->n_dst, per_receiver[k]);
        GNN_TRY(gnn__carved(&saved, &call->saved_bytes[k]));
    }
    call->keep_in |=
        1u << GNN_AGGREGATE_QUERY | 1u << GNN_AGGREGATE_KEY | 1u << GNN_AGGREGATE_SRC_MESSAGE;
    call->keep_out = 1;
    return GNN_OK;
}

static int64_t work(const gnn__plan_t *plan)
{
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs + plan->view->parts[p].n_rows;
    const int64_t most = (int64_t)1 << 40;
    return (pairs < most ? pairs : most) * (plan->out_width + 8 * plan->shape.heads);
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

static void pack_inputs(const gnn__plan_t *plan, run_t *run, int threads)
{
    const int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src;
    run->l.a = &run->a;
    pack(&run->a.q, n_dst, 1, run->l.width, run, run->q, &run->l.q, threads);
    pack(&run->a.k, n_src, 1, run->l.width, run, run->k, &run->l.k, threads);
    pack(&run->a.v, n_src, run->a.d_v, run->l.row, run, run->v, &run->l.v, threads);
}

static void run_part(const gnn__plan_t *plan, run_t *run, int64_t p, bool transposed, int threads)
{
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    const gnn__part_t *part = transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
    run->a.pairs = gnn__pairs_of(part);
    run->a.transposed = transposed;
    run->a.first = p == 0;
    run->a.last = p + 1 == plan->view->n_parts;
    const int64_t chunks = gnn__part_chunks(part, gnn__per_chunk(part), run->bounds);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; c++) {
        gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->share;
        if (transposed)
            kernels->send(&run->l, run->bounds[c], run->bounds[c + 1], scratch);
        else
            kernels->forward(&run->l, run->bounds[c], run->bounds[c + 1], scratch);
    }
}

int gnn__lanes_forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    if (plan->recording) {
        run.a.largest = call->saved[0];
        run.l.negative = call->saved[1];
        run.l.share = call->saved[2];
    }
    const int threads = gnn__threads(plan->context, work(plan));
    pack_inputs(plan, &run, threads);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        run_part(plan, &run, p, false, threads);
    return GNN_OK;
}

static void receive(const gnn__plan_t *plan, const run_t *run, int threads)
{
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    const int64_t n = plan->graph->n_dst, pieces = (n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < pieces; k++) {
        const int64_t i0 = k * ROWS_AT_ONCE, i1 = i0 + ROWS_AT_ONCE;
        kernels->receive(&run->l, i0, i1 < n ? i1 : n,
                         run->scratch + omp_get_thread_num() * run->share);
    }
}

int gnn__lanes_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__attention_t *a = &run.a;
    a->lse = call->saved[0];
    run.l.negative = call->saved[1];
    run.l.share = call->saved[2];
    a->dy = matrix(&plan->d_out);
    run.l.dy = run.dy ? (gnn__matrix_t){run.dy, run.l.row} : a->dy;
    a->d_q = matrix(&plan->d[GNN_AGGREGATE_QUERY]);
    a->d_k_rows = matrix(&plan->d[GNN_AGGREGATE_KEY]);
    a->d_v_rows = matrix(&plan->d[GNN_AGGREGATE_SRC_MESSAGE]);
    gnn__zero_gradients(plan);
    const int threads = gnn__gradient_threads(plan, work(plan));
    pack_inputs(plan, &run, threads);
    receive(plan, &run, threads);
    for (int64_t p = 0; (a->d_k_rows.at || a->d_v_rows.at) && p < plan->view->n_parts; p++)
        run_part(plan, &run, p, true, threads);
    return GNN_OK;
}
