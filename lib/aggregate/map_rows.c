/* Maps of queries and keys. Mapped rows lie in front of the scratch of the strategy that runs
 * the call, so that no strategy knows of maps. */
#include <graphs/halo.h>
#include <lib/aggregate/aggregate.h>
#include <lib/aggregate/tables.h>

#include <omp.h>

/* ---- values of positions, kept with the context: later layers and tokens reuse the angles ---- */

/* Maps whose values are kept: models have one or two. Most values of a table. */
enum { TABLES = 4, MOST = 1 << 22 };

typedef struct table {
    const gnn_map_t *map;
    double options[GNN_ROW_OPTIONS];
    int64_t d_k, numbers, count, room, n_given;
    gnn_real_t *rows, *given; /* given: a copy of the parameters that the values depend on */
} table_t;

typedef struct gnn__map_tables {
    table_t at[TABLES];
    int next; /* the one to be replaced next */
} tables_t;

static void tables_free(tables_t *t)
{
    for (int k = 0; k < TABLES; k++) {
        gnn_free(t->at[k].rows);
        gnn_free(t->at[k].given);
    }
    gnn_free(t);
}

static int tables_of(gnn_context_t *context, tables_t **t)
{
    if (!context->map_tables) {
        GNN_TRY(gnn__new(&context->map_tables, 1, sizeof **t, "tables of maps"));
        context->map_tables_free = tables_free;
    }
    *t = context->map_tables;
    return GNN_OK;
}

static bool is_for(const table_t *t, const gnn__plan_t *plan)
{
    const gnn_aggregate_shape_t *shape = &plan->map_shape;
    const size_t n = (size_t)(shape->parameters.rows * shape->parameters.cols);
    return t->map == plan->map && t->d_k == shape->d_k &&
           memcmp(t->options, shape->options, sizeof shape->options) == 0 &&
           t->n_given == (int64_t)n &&
           (n == 0 || memcmp(t->given, shape->parameters.data, n * sizeof *t->given) == 0);
}

static int table_of(tables_t *t, const gnn__plan_t *plan, int64_t numbers, table_t **table)
{
    const gnn_aggregate_shape_t *shape = &plan->map_shape;
    const int64_t n = shape->parameters.rows * shape->parameters.cols;
    for (int k = 0; k < TABLES; k++)
        if (is_for(&t->at[k], plan)) {
            *table = &t->at[k];
            return GNN_OK;
        }
    table_t *made = *table = &t->at[t->next++ % TABLES];
    gnn_free(made->rows);
    gnn_free(made->given);
    *made = (table_t){.numbers = numbers};
    if (n > 0) {
        GNN_TRY(gnn__new(&made->given, n, sizeof *made->given, "parameters of a map"));
        memcpy(made->given, shape->parameters.data, (size_t)n * sizeof *made->given);
    }
    made->n_given = n;
    made->map = plan->map;
    made->d_k = shape->d_k;
    memcpy(made->options, shape->options, sizeof shape->options);
    return GNN_OK;
}

/* A program's map may change the values that it computes. */
static bool is_ours(const gnn_map_t *map)
{
    for (size_t k = 0; gnn__map_at(k); k++)
        if (gnn__map_at(k) == map)
            return true;
    return false;
}

/* *rows becomes a row of `numbers` values for each position 0 .. last; NULL where they are not
 * kept: a map of the program's, or positions far out. Called outside parallel regions; the
 * rows stay until the next call. */
static int map_table(const gnn__plan_t *plan, int64_t numbers, int64_t last, const gnn_real_t **rows)
{
    tables_t *all;
    *rows = NULL;
    if (!is_ours(plan->map) || last >= MOST / numbers)
        return GNN_OK;
    GNN_TRY(tables_of(plan->context, &all));
    table_t *t;
    GNN_TRY(table_of(all, plan, numbers, &t));
    if (last >= t->room) {
        const int64_t room = gnn__max(last + 1, 2 * t->room);
        GNN_TRY(gnn__grow(&t->rows, t->count * numbers, room * numbers, sizeof *t->rows,
                          "numbers of positions"));
        t->room = room;
    }
    for (; t->count <= last; t->count++)
        plan->map->prepare(&plan->map_shape, t->count, t->rows + t->count * numbers);
    *rows = t->rows;
    return GNN_OK;
}

/* ---- rows ---- */

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
        carve.overflow |= !gnn__mul(n[s], heads_of(plan, s) * plan->shape.d_k, &count);
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

/* Finds the positions of both sides and a table of their values: the context's, or one of this
 * call if it has no more rows than there are nodes. */
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
        GNN_TRY(map_table(plan, run->numbers, high, &run->kept));
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
                                       (plan->query_width + plan->key_width) *
                                       (plan->shape.d_k / gnn__max(plan->map_shape.d_k, 1) + 1));
}

static bool trains(const gnn__plan_t *plan)
{
    return plan->map->parameters_grad && gnn__wants_gradient(plan, GNN_AGGREGATE_MAP_PARAMETERS);
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
        const int64_t width = heads_of(plan, s) * plan->shape.d_k;
        const gnn_tensor_t from = plan->in[inputs[s]], to = {run->rows[s], from.rows, width, width};
        GNN__PARALLEL_FOR (threads, int64_t i = 0; i < from.rows; i++)
            plan->map->apply(&plan->map_shape, heads_of(plan, s), numbers_of(plan, run, s, i),
                             gnn__row(&from, i), gnn__row(&to, i));
        plan->in[inputs[s]] = to;
        if (!backward || !(gnn__wants_gradient(plan, inputs[s]) || trains(plan)))
            continue;
        plan->d[inputs[s]] = (gnn_tensor_t){run->d_rows[s], from.rows, width, width};
        plan->d_added[inputs[s]] = false;
    }
    return GNN_OK;
}

/* Adds the parameters' gradients of rows first .. end - 1 of both sides. */
static void add_parameters(const gnn__plan_t *plan, const gnn__plan_t *mapped, int side,
                           int64_t first, int64_t end, gnn_tensor_t *to)
{
    for (int64_t i = first; i < end; i++)
        plan->map->parameters_grad(&plan->map_shape, heads_of(plan, side),
                                   gnn__row(&plan->in[inputs[side]], i),
                                   gnn__row(&mapped->d[inputs[side]], i), to);
}

/* Over ranks: slice by slice of own rows, whose gradients are complete. */
static int add_parameters_of_slices(const gnn__plan_t *plan, const gnn__plan_t *mapped)
{
    gnn__ranks_t *ranks = plan->graph->wide_of->ranks;
    const gnn_tensor_t *d = &plan->d[GNN_AGGREGATE_MAP_PARAMETERS];
    const int64_t count = d->rows * d->cols;
    gnn__slice_sums_t sums = gnn__slice_sums(ranks, count);
    const double *total;
    GNN_TRY(gnn__reserve(&ranks->partial, &ranks->partial_room, count, sizeof *ranks->partial,
                         "gradients of a slice"));
    gnn_tensor_t partial = gnn_tensor(ranks->partial, d->rows, d->cols);
    for (int64_t k = 0; k < gnn__slices(ranks); k++) {
        const int64_t first = k * GNN_SLICE, end = first + gnn__slice_rows(ranks, k);
        double *block;
        GNN_TRY(gnn__slice_sums_next(&sums, &block));
        memset(partial.data, 0, sizeof *partial.data * (size_t)count);
        for (int s = 0; s < SIDES; s++)
            add_parameters(plan, mapped, s, first, end, &partial);
        for (int64_t c = 0; c < count; c++)
            block[c] = (double)partial.data[c];
        gnn__slice_sums_add(&sums, gnn__first_slice(ranks) + k);
    }
    GNN_TRY(gnn__slice_sums_end(&sums, &total));
    for (int64_t c = 0; c < count; c++)
        gnn__row(d, c / d->cols)[c % d->cols] += (gnn_real_t)total[c];
    return GNN_OK;
}

int gnn__map_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *mapped, const gnn__map_run_t *run)
{
    const int threads = threads_of(plan);
    for (int s = 0; s < SIDES; s++) {
        const gnn_tensor_t *x = &plan->in[inputs[s]], *d_x = &plan->d[inputs[s]],
                           *d_y = &mapped->d[inputs[s]];
        GNN__PARALLEL_FOR (threads, int64_t i = 0; i < (d_x->data ? x->rows : 0); i++)
            plan->map->apply_grad(&plan->map_shape, heads_of(plan, s), numbers_of(plan, run, s, i),
                                  gnn__row(x, i), gnn__row(d_y, i), gnn__row(d_x, i));
        if (trains(plan) && !plan->graph->wide_of)
            add_parameters(plan, mapped, s, 0, x->rows,
                           (gnn_tensor_t *)&plan->d[GNN_AGGREGATE_MAP_PARAMETERS]);
    }
    return trains(plan) && plan->graph->wide_of ? add_parameters_of_slices(plan, mapped) : GNN_OK;
}
