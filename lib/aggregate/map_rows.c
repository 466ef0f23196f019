/* A map makes its rows in front of the scratch of the way that runs the call. */
#include <lib/aggregate/map_rows.h>
#include <lib/aggregate/map_table.h>
#include <lib/aggregate/positions.h>

#include <omp.h>

enum { SIDES = GNN__MAP_SIDES };
static const int inputs[SIDES] = {GNN_AGGREGATE_QUERY, GNN_AGGREGATE_KEY};

static int64_t heads_of(const gnn__plan_t *plan, int side)
{
    return side == 0 ? plan->shape.heads : plan->shape.key_heads;
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, gnn__map_run_t *run,
                  size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t n[SIDES] = {plan->graph->n_dst, plan->graph->n_src};
    int64_t table = 0, own = 0;
    run->numbers = plan->map->numbers ? plan->map->numbers(&plan->map_shape) : 0;
    for (int s = 0; s < SIDES; s++) {
        int64_t count = 0;
        carve.overflow |= !gnn__mul(n[s], plan->in[inputs[s]].cols, &count);
        run->positions[s] =
            gnn__carve(&carve, run->numbers > 0 ? n[s] : 0, sizeof *run->positions[s]);
        run->rows[s] = gnn__carve(&carve, count, sizeof *run->rows[s]);
        if (backward)
            run->d_rows[s] = gnn__carve(&carve, count, sizeof *run->d_rows[s]);
    }
    carve.overflow |= !gnn__mul(n[0] + n[1], run->numbers, &table) ||
                      !gnn__mul(plan->threads, gnn__round_up(run->numbers, 16), &own);
    run->table = gnn__carve(&carve, table, sizeof *run->table);
    run->own = gnn__carve(&carve, own, sizeof *run->own);
    return gnn__carved(&carve, bytes);
}

int gnn__map_scratch(const gnn__plan_t *plan, bool backward, size_t *bytes)
{
    gnn__map_run_t run = {0};
    *bytes = 0;
    return plan->map ? memory(plan, NULL, backward, &run, bytes) : GNN_OK;
}

/* Positions of both sides, and a table: the context's, or one of this call if it has no more rows
 * than there are nodes. */
static int fill_table(const gnn__plan_t *plan, gnn__map_run_t *run, int threads)
{
    const int64_t n[SIDES] = {plan->graph->n_dst, plan->graph->n_src};
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int s = 0; s < SIDES; s++) {
        gnn__positions(plan->graph, s == 0, run->positions[s]);
        for (int64_t i = 0; i < n[s]; i++) {
            low = gnn__min(low, run->positions[s][i]);
            high = gnn__max(high, run->positions[s][i]);
        }
    }
    if (low >= 0 && high >= low)
        GNN_TRY(gnn__map_table(plan, run->numbers, high, &run->kept));
    if (run->kept)
        return GNN_OK;
    run->low = low;
    run->count = high >= low && high - low < n[0] + n[1] ? high - low + 1 : 0;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < run->count; k++)
        plan->map->prepare(&plan->map_shape, low + k, run->table + k * run->numbers);
    return GNN_OK;
}

static const gnn_real_t *numbers_of(const gnn__plan_t *plan, const gnn__map_run_t *run, int side,
                                    int64_t row)
{
    if (run->numbers == 0)
        return NULL;
    const int64_t position = run->positions[side][row];
    if (run->kept)
        return run->kept + position * run->numbers;
    if (run->count > 0)
        return run->table + (position - run->low) * run->numbers;
    gnn_real_t *own = run->own + omp_get_thread_num() * gnn__round_up(run->numbers, 16);
    plan->map->prepare(&plan->map_shape, position, own);
    return own;
}

static int threads_of(const gnn__plan_t *plan)
{
    return gnn__plan_threads(plan, 4 * (plan->graph->n_dst + plan->graph->n_src) *
                                       (plan->query_width + plan->key_width));
}

int gnn__map_rows(gnn__plan_t *plan, void *scratch, bool backward, gnn__map_run_t *run)
{
    size_t bytes;
    *run = (gnn__map_run_t){0};
    GNN_TRY(memory(plan, scratch, backward, run, &bytes));
    const int threads = threads_of(plan);
    if (run->numbers > 0)
        GNN_TRY(fill_table(plan, run, threads));
    for (int s = 0; s < SIDES; s++) {
        const gnn_tensor_t from = plan->in[inputs[s]],
                           to = {run->rows[s], from.rows, from.cols, from.cols};
        GNN__PARALLEL_FOR (threads, int64_t i = 0; i < from.rows; i++)
            plan->map->apply(&plan->map_shape, heads_of(plan, s), numbers_of(plan, run, s, i),
                             gnn__row(&from, i), gnn__row(&to, i));
        plan->in[inputs[s]] = to;
        if (!backward || !gnn__wants_gradient(plan, inputs[s]))
            continue;
        plan->d[inputs[s]] = (gnn_tensor_t){run->d_rows[s], from.rows, from.cols, from.cols};
        plan->d_added[inputs[s]] = false;
    }
    return GNN_OK;
}

void gnn__map_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *mapped, const gnn__map_run_t *run)
{
    const int threads = threads_of(plan);
    for (int s = 0; s < SIDES; s++) {
        const gnn_tensor_t *x = &plan->in[inputs[s]], *d_x = &plan->d[inputs[s]],
                           *d_y = &mapped->d[inputs[s]];
        GNN__PARALLEL_FOR (threads, int64_t i = 0; i < (d_x->data ? x->rows : 0); i++)
            plan->map->apply_grad(&plan->map_shape, heads_of(plan, s), numbers_of(plan, run, s, i),
                                  gnn__row(x, i), gnn__row(d_y, i), gnn__row(d_x, i));
    }
}
