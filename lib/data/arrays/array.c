/* One array: its type, its shape as text, its elements as integers or reals. */
#include <lib/data/arrays/arrays.h>

#include <math.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files hold little-endian numbers, and they are copied as they are"
#endif

static const gnn__element_t types[] = {
    [GNN_DTYPE_BOOL] = {"bool", "|b1", "BOOL", 1, true},
    [GNN_DTYPE_INT8] = {"int8", "|i1", "I8", 1, true},
    [GNN_DTYPE_UINT8] = {"uint8", "|u1", "U8", 1, true},
    [GNN_DTYPE_INT16] = {"int16", "<i2", "I16", 2, true},
    [GNN_DTYPE_INT32] = {"int32", "<i4", "I32", 4, true},
    [GNN_DTYPE_INT64] = {"int64", "<i8", "I64", 8, true},
    [GNN_DTYPE_FLOAT32] = {"float32", "<f4", "F32", 4, false},
    [GNN_DTYPE_FLOAT64] = {"float64", "<f8", "F64", 8, false},
    [GNN_DTYPE_FLOAT16] = {"float16", "<f2", "F16", 2, false},
    [GNN_DTYPE_UINT16] = {"uint16", "<u2", "U16", 2, true},
    [GNN_DTYPE_UINT32] = {"uint32", "<u4", "U32", 4, true},
    [GNN_DTYPE_UINT64] = {"uint64", "<u8", "U64", 8, true},
    [GNN_DTYPE_BFLOAT16] = {"bfloat16", NULL, "BF16", 2, false},
};

int gnn__element_types(void)
{
    return (int)(sizeof types / sizeof types[0]);
}

const gnn__element_t *gnn__element(gnn_dtype_t dtype)
{
    return (unsigned)dtype < sizeof types / sizeof types[0] ? &types[dtype] : NULL;
}

bool gnn__shape_count(int ndim, const int64_t *shape, int64_t *count)
{
    int64_t product = 1;
    bool empty = false;
    for (int k = 0; k < ndim; k++) {
        if (shape[k] < 0)
            return false;
        if (shape[k] == 0)
            empty = true;
        else if (!gnn__mul(product, shape[k], &product))
            return false;
    }
    *count = empty ? 0 : product;
    return true;
}

const char *gnn__shape_words(int ndim, const int64_t *shape)
{
    static _Thread_local char words[GNN__MAX_DIMENSIONS * 24];
    size_t at = 0;
    words[0] = '\0';
    for (int k = 0; k < ndim && k < GNN__MAX_DIMENSIONS; k++)
        at += (size_t)snprintf(words + at, sizeof words - at, "%s%lld", k ? " x " : "",
                               (long long)shape[k]);
    return words;
}

int gnn__array_check_shape(const gnn_array_t *array, int64_t *bytes)
{
    if (!array->name || !*array->name)
        return gnn__error(GNN_EINVALID, "an array has no name");
    const gnn__element_t *type = gnn__element(array->dtype);
    if (!type)
        return gnn__error(GNN_EINVALID, "array %.80s: .dtype = %d, expected a gnn_dtype_t",
                          array->name, (int)array->dtype);
    if (array->ndim < 0 || array->ndim > GNN__MAX_DIMENSIONS)
        return gnn__error(GNN_EINVALID, "array %.80s: .ndim = %d, expected 0 to %d", array->name,
                          array->ndim, GNN__MAX_DIMENSIONS);
    int64_t count;
    if (!gnn__shape_count(array->ndim, array->shape, &count) ||
        !gnn__mul(count, (int64_t)type->size, bytes))
        return gnn__error(GNN_EOVERFLOW, "array %.80s: the size of the shape %s overflows",
                          array->name, gnn__shape_words(array->ndim, array->shape));
    if (count != array->count)
        return gnn__error(GNN_ESHAPE,
                          "array %.80s: .count = %lld, expected %lld: the elements of the shape %s",
                          array->name, (long long)array->count, (long long)count,
                          gnn__shape_words(array->ndim, array->shape));
    return GNN_OK;
}

int gnn__array_check(const gnn_array_t *array, int64_t *bytes)
{
    GNN_TRY(gnn__array_check_shape(array, bytes));
    if (array->count > 0 && !array->data)
        return gnn__error(GNN_EINVALID, "array %.80s: .data is NULL", array->name);
    return GNN_OK;
}

int gnn__arrays_check(int64_t count, const gnn_array_t *arrays)
{
    if (count < 0 || (count > 0 && !arrays))
        return gnn__error(GNN_EINVALID, "%lld arrays to write, expected at least 0%s",
                          (long long)count, arrays ? "" : "; the list of arrays is NULL");
    for (int64_t k = 0; k < count; k++) {
        int64_t bytes;
        GNN_TRY(gnn__array_check(&arrays[k], &bytes));
    }
    return GNN_OK;
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double magnitude = exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                       : exponent     ? 0x1p-25 * (double)((int64_t)(1024 + mantissa) << exponent)
                                      : 0x1p-24 * mantissa;
    return h & 0x8000 ? -magnitude : magnitude;
}

#define AT(type) (((const type *)array->data)[k])

int64_t gnn__array_int(const gnn_array_t *array, int64_t k)
{
    switch (array->dtype) {
    case GNN_DTYPE_BOOL: return AT(uint8_t) != 0;
    case GNN_DTYPE_INT8: return AT(int8_t);
    case GNN_DTYPE_UINT8: return AT(uint8_t);
    case GNN_DTYPE_INT16: return AT(int16_t);
    case GNN_DTYPE_UINT16: return AT(uint16_t);
    case GNN_DTYPE_INT32: return AT(int32_t);
    case GNN_DTYPE_UINT32: return AT(uint32_t);
    case GNN_DTYPE_UINT64: return AT(uint64_t) > INT64_MAX ? INT64_MAX : (int64_t)AT(uint64_t);
    default: return AT(int64_t);
    }
}

double gnn_array_get(const gnn_array_t *array, int64_t k)
{
    GNN__NEED_OR(array, NAN);
    switch (array->dtype) {
    case GNN_DTYPE_FLOAT32: return (double)AT(float);
    case GNN_DTYPE_FLOAT64: return AT(double);
    case GNN_DTYPE_FLOAT16: return from_half(AT(uint16_t));
    case GNN_DTYPE_BFLOAT16: return (double)from_bits((uint32_t)AT(uint16_t) << 16);
    case GNN_DTYPE_UINT64: return (double)AT(uint64_t);
    default: return (double)gnn__array_int(array, k);
    }
}

void gnn__array_reals(const gnn_array_t *array, gnn_real_t *out)
{
    if (array->count > 0 && array->dtype == GNN__REAL_DTYPE) {
        memcpy(out, array->data, (size_t)array->count * sizeof *out);
        return;
    }
    for (int64_t k = 0; k < array->count; k++)
        out[k] = (gnn_real_t)gnn_array_get(array, k);
}
