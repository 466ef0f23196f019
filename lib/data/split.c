/* Splits: one mask per part, of all splits one after another. */
#include <lib/data/data.h>

static const char *const part_names[] = {"training", "validation", "test"};

static int check_place(const gnn_split_t *split, int part, int64_t index)
{
    GNN__NEED(split);
    if (part < GNN_TRAIN || part > GNN_TEST)
        return gnn__error(GNN_EINVALID, "part = %d, expected GNN_TRAIN (%d) to GNN_TEST (%d)", part,
                          GNN_TRAIN, GNN_TEST);
    if (index < 0 || index >= split->count)
        return gnn__error(GNN_EINVALID, "there is no split %lld of %lld", (long long)index,
                          (long long)split->count);
    return GNN_OK;
}

int gnn_split_new(gnn_split_t **split, int64_t rows, int64_t count)
{
    int64_t bytes;
    gnn_split_t *s;
    GNN__NEED(split);
    *split = NULL;
    if (rows < 0 || count < 1)
        return gnn__error(GNN_EINVALID,
                          "count = %lld splits, expected at least 1; rows = %lld, expected at least 0",
                          (long long)count, (long long)rows);
    if (!gnn__mul(rows, count, &bytes))
        return gnn__error(GNN_EOVERFLOW, "%lld splits of %lld rows do not fit", (long long)count,
                          (long long)rows);
    GNN_TRY(gnn__new(&s, 1, sizeof *s, "splits"));
    s->rows = rows;
    s->count = count;
    for (int part = 0; part < 3; part++) {
        const int rc = gnn__new(&s->masks[part], bytes, 1, "masks of splits");
        if (rc != GNN_OK) {
            gnn_split_free(s);
            return rc;
        }
    }
    *split = s;
    return GNN_OK;
}

void gnn_split_free(gnn_split_t *split)
{
    if (!split)
        return;
    for (int part = 0; part < 3; part++)
        gnn_free(split->masks[part]);
    gnn_free(split);
}

int gnn__split_copy(gnn_split_t **split, const gnn_split_t *of)
{
    GNN__NEED(of);
    GNN_TRY(gnn_split_new(split, of->rows, of->count));
    for (int part = 0; part < 3; part++)
        memcpy((*split)->masks[part], of->masks[part], (size_t)(of->rows * of->count));
    return GNN_OK;
}

int(gnn_split_from_masks)(gnn_split_t **split, int64_t rows, int64_t count, const uint8_t *train,
                          const uint8_t *validation, const uint8_t *test)
{
    GNN__NEED(split);
    const uint8_t *const masks[] = {train, validation, test};
    GNN_TRY(gnn_split_new(split, rows, count));
    for (int part = 0; part < 3; part++)
        for (int64_t k = 0; masks[part] && k < rows * count; k++)
            (*split)->masks[part][k] = masks[part][k] != 0;
    return GNN_OK;
}

int gnn_split_from_parts(gnn_split_t **split, int64_t rows, int64_t count, const int8_t *parts)
{
    GNN__NEED(parts);
    GNN__NEED(split);
    GNN_TRY(gnn_split_new(split, rows, count));
    for (int64_t k = 0; k < rows * count; k++) {
        if (parts[k] >= -1 && parts[k] <= GNN_TEST) {
            if (parts[k] >= 0)
                (*split)->masks[parts[k]][k] = 1;
            continue;
        }
        gnn_split_free(*split);
        *split = NULL;
        return gnn__error(GNN_EINVALID, "row %lld of split %lld is in part %d, expected -1 to %d",
                          (long long)(k % rows), (long long)(k / rows), parts[k], GNN_TEST);
    }
    return GNN_OK;
}

int(gnn_split_set_mask)(gnn_split_t *split, int part, int64_t index, const uint8_t *mask,
                        int64_t stride)
{
    GNN__NEED(split);
    GNN_TRY(check_place(split, part, index));
    if (mask && stride < 1)
        return gnn__error(GNN_EINVALID, "a mask's stride is %lld, at least 1 is expected",
                          (long long)stride);
    uint8_t *marks = gnn__split_marks(split, part, index);
    for (int64_t r = 0; r < split->rows; r++)
        marks[r] = mask && mask[r * stride] != 0;
    return GNN_OK;
}

int(gnn_split_set_indices)(gnn_split_t *split, int part, int64_t index, int64_t count, gnn_ints_t rows)
{
    GNN__NEED(split);
    GNN__NEED_INTS(rows, count);
    GNN_TRY(check_place(split, part, index));
    if (count < 0)
        return gnn__error(GNN_EINVALID, "%lld rows of the %s, expected at least 0",
                          (long long)count, part_names[part]);
    GNN_TRY(gnn__ints_check("rows", rows, count));
    for (int64_t k = 0; k < count; k++)
        if (gnn__int(rows, k) < 0 || gnn__int(rows, k) >= split->rows)
            return gnn__error(GNN_EINVALID, "rows[%lld] = %lld of the %s, expected 0 to %lld",
                              (long long)k, (long long)gnn__int(rows, k), part_names[part],
                              (long long)split->rows - 1);
    uint8_t *marks = gnn__split_marks(split, part, index);
    if (split->rows > 0)
        memset(marks, 0, (size_t)split->rows);
    for (int64_t k = 0; k < count; k++)
        marks[gnn__int(rows, k)] = 1;
    return GNN_OK;
}

int64_t gnn_split_rows(const gnn_split_t *split)
{
    GNN__NEED_OR(split, 0);
    return split->rows;
}

const uint8_t *gnn_split_mask(const gnn_split_t *split, int part, int64_t index)
{
    GNN__NEED_OR(split, NULL);
    const bool there =
        split && part >= GNN_TRAIN && part <= GNN_TEST && index >= 0 && index < split->count;
    return there ? gnn__split_marks(split, part, index) : NULL;
}

int gnn__type_split_fits(const gnn_node_type_t *type)
{
    const int rc = type->split ? gnn__split_fits(type->split, type->count, "nodes", 0) : GNN_OK;
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "type %.40s", type->name);
}

int gnn__split_fits(const gnn_split_t *split, int64_t rows, const char *what, int64_t index)
{
    if (split->rows != rows)
        return gnn__error(GNN_ESHAPE, "a split of %lld rows for %lld %s, expected equal counts",
                          (long long)split->rows, (long long)rows, what);
    if (index < 0 || index >= split->count)
        return gnn__error(GNN_EINVALID, "there is no split %lld of %lld", (long long)index,
                          (long long)split->count);
    return GNN_OK;
}

void gnn__data_shuffle(int32_t *order, int64_t n, uint64_t seed)
{
    uint64_t stream = gnn__hash_string("split");
    for (int64_t k = 0; k < n; k++)
        order[k] = (int32_t)k;
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t other = (int64_t)(gnn__uniform(seed, stream, (uint64_t)k) * (double)(k + 1));
        int32_t swap = order[k];
        order[k] = order[other];
        order[other] = swap;
    }
}
