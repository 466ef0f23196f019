/* The tables of a few maps, each as long as was asked for so far. */
#include <lib/aggregate/map_table.h>

/* Models have one map or two; numbers of a table at most. */
enum { TABLES = 4, MOST = 1 << 22 };

typedef struct table {
    const gnn_map_t *map;
    double options[GNN_ROW_OPTIONS];
    int64_t d_k, numbers, count, room;
    gnn_real_t *rows;
} table_t;

typedef struct gnn__map_tables {
    table_t at[TABLES];
    int next; /* the one that makes room */
} tables_t;

static void tables_free(tables_t *t)
{
    for (int k = 0; k < TABLES; k++)
        gnn_free(t->at[k].rows);
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

static table_t *table_of(tables_t *t, const gnn__plan_t *plan, int64_t numbers)
{
    const gnn_aggregate_shape_t *shape = &plan->map_shape;
    for (int k = 0; k < TABLES; k++)
        if (t->at[k].map == plan->map && t->at[k].d_k == shape->d_k &&
            memcmp(t->at[k].options, shape->options, sizeof shape->options) == 0)
            return &t->at[k];
    table_t *made = &t->at[t->next++ % TABLES];
    gnn_free(made->rows);
    *made = (table_t){.map = plan->map, .d_k = shape->d_k, .numbers = numbers};
    memcpy(made->options, shape->options, sizeof shape->options);
    return made;
}

/* A user's map may change what it makes. */
static bool is_ours(const gnn_map_t *map)
{
    for (size_t k = 0; k < gnn_map_count(); k++)
        if (gnn_map_at(k) == map)
            return true;
    return false;
}

int gnn__map_table(const gnn__plan_t *plan, int64_t numbers, int64_t last, const gnn_real_t **rows)
{
    tables_t *all;
    *rows = NULL;
    if (!is_ours(plan->map) || last >= MOST / numbers)
        return GNN_OK;
    GNN_TRY(tables_of(plan->context, &all));
    table_t *t = table_of(all, plan, numbers);
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
