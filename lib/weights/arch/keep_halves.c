/* Weights kept in fp16 or bf16: copied with a row per output of a linear map, or per row of a
 * table. A parameter of several arrays (queries, keys, values) is kept so only if all of them can
 * be. */
#include <lib/weights/arch/arch.h>

#include <lib/data/arrays/arrays.h>
#include <lib/model/model.h>
#include <lib/tape/tape.h>

static bool is_half(const gnn_array_t *a)
{
    return a->dtype == GNN_DTYPE_BFLOAT16 || a->dtype == GNN_DTYPE_FLOAT16;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), n = strlen(end);
    return length >= n && strcmp(name + length - n, end) == 0;
}

/* Is the field read by rows, in products or lookups? */
static bool suits(const gnn__field_place_t *place, const struct gnn__arch_halves *from)
{
    if (from->table)
        return place->kind == GNN_STEP_EMBED;
    return (place->kind == GNN_STEP_LINEAR || place->kind == GNN_STEP_LAYER) &&
           ends_in(from->field, ".weight");
}

/* Storage of a parameter, new for its first array; NULL: it has storage of another type. */
static int numbers_of(const gnn__arch_model_t *made, const gnn__arch_filled_t *filled, int32_t id,
                      const struct gnn__arch_halves *from, uint16_t **numbers)
{
    gnn_parameters_t *parameters = made->model->parameters;
    const bool bf16 = from->array->dtype == GNN_DTYPE_BFLOAT16;
    *numbers = NULL;
    if (filled->storage[id] == GNN__ARCH_NOWHERE) {
        GNN_TRY(gnn__parameters_keep(parameters, id, bf16, !from->table, numbers));
        filled->storage[id] = GNN__ARCH_HALVES;
    } else if (filled->storage[id] == GNN__ARCH_HALVES) {
        const gnn__fp16_t *h = gnn__parameters_halves(parameters, id);
        if (h->bf16 == bf16 && h->transposed == !from->table)
            *numbers = (uint16_t *)(uintptr_t)h->at;
    }
    return GNN_OK;
}

static int64_t place_of(const struct gnn__arch_halves *from, int64_t k)
{
    return from->group < 1 ? from->first + k
                           : from->first + k / from->group * from->stride + k % from->group;
}

/* Infinities and NaN have all bits of the exponent. */
static int check_finite(const gnn_array_t *a, const uint16_t *row, int64_t n)
{
    const unsigned exponent = a->dtype == GNN_DTYPE_BFLOAT16 ? 0x7f80u : 0x7c00u;
    for (int64_t k = 0; k < n; k++)
        if ((row[k] & exponent) == exponent)
            return gnn__error(GNN_ENUMERIC, "array %s: element %lld is not finite", a->name,
                              (long long)(row + k - (const uint16_t *)a->data));
    return GNN_OK;
}

static int copy_rows(const struct gnn__arch_halves *from, uint16_t *to, int64_t rows, int64_t cols)
{
    for (int64_t k = 0; k < rows; k++) {
        const uint16_t *row = (const uint16_t *)from->array->data + place_of(from, k) * cols;
        GNN_TRY(check_finite(from->array, row, cols));
        memcpy(to + k * cols, row, (size_t)cols * sizeof *to);
    }
    return GNN_OK;
}

/* Transposes the array in blocks that fit the L1 cache. */
static int copy_turned(const struct gnn__arch_halves *from, uint16_t *to, int64_t outputs,
                       int64_t inputs)
{
    enum { SIDE = 32 };
    const uint16_t *data = from->array->data;
    const int64_t width = inputs > 0 ? from->array->count / inputs : 0;
    GNN_TRY(check_finite(from->array, data, from->array->count));
    for (int64_t o = 0; o < outputs; o += SIDE)
        for (int64_t i = 0; i < inputs; i++)
            for (int64_t k = o; k < gnn__min(o + SIDE, outputs); k++)
                to[k * inputs + i] = data[i * width + place_of(from, k)];
    return GNN_OK;
}

int gnn__arch_keep(const gnn__arch_model_t *made, const gnn__arch_filled_t *filled,
                   const struct gnn__arch_halves *from, bool *done)
{
    gnn__field_place_t place;
    uint16_t *numbers;
    *done = false;
    GNN_TRY(gnn__model_field_place(made->model, from->field, &place));
    if (!is_half(from->array) || !suits(&place, from))
        return GNN_OK;
    GNN_TRY(numbers_of(made, filled, place.id, from, &numbers));
    if (!numbers)
        return GNN_OK;
    const gnn_tensor_t shape = gnn_parameters_value(made->model->parameters, place.id);
    *done = true;
    if (from->table)
        return copy_rows(from, numbers + from->at * shape.cols, from->rows, shape.cols);
    numbers += place.col * shape.rows;
    return from->inputs_first ? copy_turned(from, numbers, place.cols, shape.rows)
                              : copy_rows(from, numbers, place.cols, shape.rows);
}

int gnn__arch_whole(const gnn__arch_model_t *made, const gnn__arch_filled_t *filled, const char *field)
{
    gnn__field_place_t place;
    gnn_parameters_t *parameters = made->model->parameters;
    GNN_TRY(gnn__model_field_place(made->model, field, &place));
    if (filled->storage[place.id] == GNN__ARCH_HALVES)
        gnn__parameters_widen(parameters, filled->context, place.id);
    else if (filled->storage[place.id] == GNN__ARCH_NOWHERE)
        gnn__parameters_clear(parameters, place.id);
    filled->storage[place.id] = GNN__ARCH_WHOLE;
    return GNN_OK;
}
