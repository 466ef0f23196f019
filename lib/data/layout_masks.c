/* Splits of .npz files: masks, or indices of nodes. */
#include <lib/data/layouts.h>

static const char *const masks[3][6] = {
    [GNN_TRAIN] = {"train_mask", "train_masks", NULL},
    [GNN_VALIDATION] = {"val_mask", "val_masks", "valid_mask", "valid_masks", "validation_mask", NULL},
    [GNN_TEST] = {"test_mask", "test_masks", NULL},
};
static const char *const indices[3][6] = {
    [GNN_TRAIN] = {"train_idx", "idx_train", "train_index", "train_indices", NULL},
    [GNN_VALIDATION] = {"val_idx", "idx_val", "valid_idx", "val_index", "val_indices", NULL},
    [GNN_TEST] = {"test_idx", "idx_test", "test_index", "test_indices", NULL},
};

bool gnn__layout_wants_split(const char *name, size_t length)
{
    for (int part = 0; part < 3; part++)
        for (int k = 0; k < 6; k++)
            for (int form = 0; form < 2; form++) {
                const char *known = form == 0 ? masks[part][k] : indices[part][k];
                if (known && strlen(known) == length && memcmp(known, name, length) == 0)
                    return true;
            }
    return false;
}

/* A mask takes only nodes with labels, if there are any. */
static int mark(gnn_data_t *data, const gnn_array_t *from, int part, int64_t split, int64_t node)
{
    if (data->classes > 0 && data->labels[node] < 0)
        return gnn__error(GNN_EFORMAT, "%s: split %lld takes node %lld, which has no label",
                          from->name, (long long)split, (long long)node);
    gnn__split_marks(data->split, part, split)[node] = 1;
    return GNN_OK;
}

/* ---- masks: (n), the same for all splits, (splits x n) or, as in PyG, (n x splits) ---- */

static bool is_by_node(const gnn_data_t *data, const gnn_array_t *mask)
{
    return mask->ndim == 2 && mask->shape[0] == data->n && mask->shape[1] != data->n;
}

static int read_mask(gnn_data_t *data, const gnn_array_t *mask, int part)
{
    const int64_t splits = data->split->count;
    const bool by_node = is_by_node(data, mask);
    const int64_t row = mask->ndim == 1 ? 0 : data->n;
    for (int64_t s = 0; s < splits; s++)
        for (int64_t i = 0; i < data->n; i++) {
            const int64_t value = gnn__array_int(mask, by_node ? i * splits + s : s * row + i);
            if (value != 0 && value != 1)
                return gnn__error(GNN_EFORMAT,
                                  "%s: %lld at node %lld of split %lld, a mask holds 0 and 1 "
                                  "(indices of nodes are called %s)",
                                  mask->name, (long long)value, (long long)i, (long long)s,
                                  indices[part][0]);
            if (value == 1)
                GNN_TRY(mark(data, mask, part, s, i));
        }
    return GNN_OK;
}

/* Only "train_masks" and the like are always (splits x n). */
static bool is_ambiguous(const gnn_data_t *data, const gnn_array_t *mask)
{
    return mask->ndim == 2 && data->n > 1 && mask->shape[0] == data->n &&
           mask->shape[1] == data->n && mask->name[strlen(mask->name) - 1] != 's';
}

static int check_mask(const gnn_data_t *data, const gnn_array_t *mask, int64_t *splits)
{
    if (mask->dtype != GNN_DTYPE_BOOL)
        GNN_TRY(gnn__layout_integer(mask));
    const bool plain = mask->ndim == 1, by_node = is_by_node(data, mask);
    if (is_ambiguous(data, mask))
        return gnn__error(GNN_EFORMAT,
                          "%s: its shape is %s: rows and columns are nodes, or splits (%ss has a row "
                          "per split)",
                          mask->name, gnn__shape_words(2, mask->shape), mask->name);
    if ((!plain && mask->ndim != 2) || (!by_node && mask->shape[mask->ndim - 1] != data->n) ||
        (!plain && mask->shape[by_node] == 0))
        return gnn__error(GNN_EFORMAT,
                          "%s: its shape is %s, expected %lld, splits x %lld or %lld x splits",
                          mask->name, gnn__shape_words(mask->ndim, mask->shape), (long long)data->n,
                          (long long)data->n, (long long)data->n);
    const int64_t here = plain ? 1 : mask->shape[by_node];
    if (*splits > 1 && !plain && here != *splits)
        return gnn__error(GNN_EFORMAT, "%s: %lld splits, another mask has %lld", mask->name,
                          (long long)here, (long long)*splits);
    *splits = here > *splits ? here : *splits;
    return GNN_OK;
}

static int read_masks(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *const found[3])
{
    int64_t splits = 0;
    for (int k = 0; k < 3; k++)
        GNN_TRY(found[k] ? check_mask(data, found[k], &splits)
                         : gnn__layout_missing(arrays, masks[k][0]));
    GNN_TRY(gnn_split_new(&data->split, data->n, splits));
    for (int k = 0; k < 3; k++)
        GNN_TRY(read_mask(data, found[k], k));
    return GNN_OK;
}

/* ---- indices ---- */

static int read_indices(gnn_data_t *data, const gnn_array_t *nodes, int part)
{
    if (nodes->dtype == GNN_DTYPE_BOOL)
        return gnn__error(GNN_EFORMAT,
                          "%s: indices of nodes are expected, its type is bool: a mask "
                          "is called %s",
                          nodes->name, masks[part][0]);
    GNN_TRY(gnn__layout_integer(nodes));
    GNN_TRY(gnn__layout_rank(nodes, 1));
    for (int64_t k = 0; k < nodes->count; k++) {
        const int64_t node = gnn__array_int(nodes, k);
        if (node < 0 || node >= data->n)
            return gnn__error(GNN_EFORMAT, "%s: node %lld at position %lld, there are %lld nodes",
                              nodes->name, (long long)node, (long long)k, (long long)data->n);
        if (gnn__split_marks(data->split, part, 0)[node])
            return gnn__error(GNN_EFORMAT, "%s: node %lld is given twice, at position %lld too",
                              nodes->name, (long long)node, (long long)k);
        GNN_TRY(mark(data, nodes, part, 0, node));
    }
    return GNN_OK;
}

static int read_all_indices(gnn_data_t *data, const gnn_arrays_t *arrays,
                            const gnn_array_t *const found[3])
{
    GNN_TRY(gnn_split_new(&data->split, data->n, 1));
    for (int k = 0; k < 3; k++)
        GNN_TRY(found[k] ? read_indices(data, found[k], k)
                         : gnn__layout_missing(arrays, indices[k][0]));
    return GNN_OK;
}

/* ---- arrays of other names ---- */

/* A split under another name would be replaced by one that is drawn. */
static int refuse_unread(const gnn_arrays_t *arrays)
{
    static const char *const words[] = {"train",   "val",  "test", "split",    "idx_t",   "idx_v",
                                        "index_t", "mask", "fold", "trn_mask", "dev_mask"};
    int64_t unread;
    const gnn__left_out_t *left_out = gnn__arrays_unread(arrays, &unread);
    for (int64_t k = 0; k < unread; k++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (strncmp(left_out[k].name, words[w], strlen(words[w])) == 0)
                return gnn__error(GNN_EFORMAT,
                                  "%.80s (%s) is not read, and there is no split: masks are called "
                                  "%s, %s and %s, indices %s, %s and %s",
                                  left_out[k].name, left_out[k].type, masks[0][0], masks[1][0],
                                  masks[2][0], indices[0][0], indices[1][0], indices[2][0]);
    return GNN_OK;
}

static int find(const gnn_array_t *found[3], const gnn_arrays_t *arrays,
                const char *const names[3][6])
{
    int count = 0;
    for (int k = 0; k < 3; k++)
        count += (found[k] = gnn__layout_find(arrays, names[k])) != NULL;
    return count;
}

int gnn__layout_masks(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *by_mask[3], *by_index[3];
    const int n_masks = find(by_mask, arrays, masks), n_indices = find(by_index, arrays, indices);
    if (n_masks > 0 && n_indices > 0)
        return gnn__error(GNN_EFORMAT, "splits both as masks and as indices: one is expected");
    if (n_masks > 0)
        return read_masks(data, arrays, by_mask);
    if (n_indices > 0)
        return read_all_indices(data, arrays, by_index);
    GNN_TRY(refuse_unread(arrays));
    return gnn__data_default_split(data, 0);
}
