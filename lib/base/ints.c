/* Arrays of indices of programs, int32 or int64, converted to the type that is needed. */
#include <lib/base/base.h>

int gnn__ints_check(const char *name, gnn_ints_t array, int64_t count)
{
    if (!array.data)
        return count < 1
                   ? GNN_OK
                   : gnn__error(GNN_EINVALID, "%s is NULL for %lld values", name, (long long)count);
    if (array.type == GNN_DTYPE_INT32 || array.type == GNN_DTYPE_INT64)
        return GNN_OK;
    return gnn__error(GNN_EINVALID,
                      "%s: expected an int32_t or int64_t array, got element type %d (gnn_ints cannot "
                      "tell the type of a void pointer)",
                      name, (int)array.type);
}

void gnn__ints_copy_64(int64_t *to, gnn_ints_t from, int64_t count)
{
    if (count > 0 && from.type == GNN_DTYPE_INT64)
        memcpy(to, from.data, (size_t)count * sizeof *to);
    else
        for (int64_t k = 0; k < count; k++)
            to[k] = gnn__int(from, k);
}

int gnn__ints_copy_32(const char *name, int32_t *to, gnn_ints_t from, int64_t count)
{
    int64_t narrow = 0;
    if (count > 0 && from.type == GNN_DTYPE_INT32) {
        memcpy(to, from.data, (size_t)count * sizeof *to);
        return GNN_OK;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t value = gnn__int(from, k);
        to[k] = (int32_t)value;
        narrow += to[k] == value;
    }
    if (narrow == count)
        return GNN_OK;
    int64_t k = 0;
    while (to[k] == gnn__int(from, k))
        k++;
    return gnn__error(GNN_EOVERFLOW, "%s[%lld] = %lld does not fit in 32 bits", name, (long long)k,
                      (long long)gnn__int(from, k));
}

int gnn__ints_64(const char *name, gnn_ints_t from, int64_t count, const int64_t **array,
                 int64_t **made)
{
    *made = NULL;
    *array = from.data;
    GNN_TRY(gnn__ints_check(name, from, count));
    if (!from.data || from.type == GNN_DTYPE_INT64)
        return GNN_OK;
    GNN_TRY(gnn__new(made, count, sizeof **made, name));
    gnn__ints_copy_64(*made, from, count);
    *array = *made;
    return GNN_OK;
}

int gnn__ints_32(const char *name, gnn_ints_t from, int64_t count, const int32_t **array,
                 int32_t **made)
{
    *made = NULL;
    *array = from.data;
    GNN_TRY(gnn__ints_check(name, from, count));
    if (!from.data || from.type == GNN_DTYPE_INT32)
        return GNN_OK;
    GNN_TRY(gnn__new(made, count, sizeof **made, name));
    *array = *made;
    const int rc = gnn__ints_copy_32(name, *made, from, count);
    if (rc != GNN_OK) {
        gnn_free(*made);
        *made = NULL;
    }
    return rc;
}
