/* Values by distance for the kernels of attention. */
#include <lib/aggregate/fast/distance_values.h>
#include <lib/aggregate/fast/fast.h>

void gnn__distance_values_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                                int64_t chunks, gnn__distance_values_t *values)
{
    const gnn_tensor_t *table = &plan->in[GNN_AGGREGATE_MESSAGE_PARAMETERS];
    int64_t first, count, sums = 0;
    memset(values, 0, sizeof *values);
    if (!gnn__values_by_distance(plan))
        return;
    const int64_t places = gnn__distance_places(plan, &first, &count);
    values->parameters = gnn__round_up(table->rows * table->cols, 16);
    carve->overflow |= !gnn__mul(values->parameters, chunks, &sums);
    values->row = gnn__carve(carve, places, sizeof *values->row);
    values->column = gnn__carve(carve, plan->shape.value_heads, sizeof *values->column);
    if (backward)
        values->partials = gnn__carve(carve, sums, sizeof *values->partials);
    if (!gnn__wants_gradient(plan, GNN_AGGREGATE_MESSAGE_PARAMETERS))
        values->partials = NULL;
}

void gnn__distance_values_fill(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               gnn__attention_t *a)
{
    const gnn_tensor_t *table = &plan->in[GNN_AGGREGATE_MESSAGE_PARAMETERS];
    int64_t first, count;
    if (!values->row)
        return;
    gnn__distance_places(plan, &first, &count);
    for (int64_t k = 0; k < count; k++)
        values->row[GNN__PRIOR_MARGIN + k] =
            (int32_t)gnn__message_distance_row(&plan->message_shape, first + k);
    for (int64_t h = 0; h < plan->shape.value_heads; h++)
        values->column[h] = gnn__message_distance_column(&plan->message_shape, h);
    a->values =
        (gnn__key_table_t){table->data, table->stride, table->cols, values->row, values->column, 0};
}

void gnn__distance_values_grad(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               int64_t chunks)
{
    if (values->partials)
        gnn__add_partials(&plan->d[GNN_AGGREGATE_MESSAGE_PARAMETERS], values->partials, chunks,
                          values->parameters);
}
