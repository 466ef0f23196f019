/* The container of the readers: arrays by name, omitted arrays, metadata. */
#include <lib/data/arrays/arrays.h>

#include <stdlib.h>
#include <sys/mman.h>

static const gnn_limits_t defaults = {
    .max_bytes = (uint64_t)8 << 30, .max_entries = 4096, .max_ratio = 1100, .max_growth = 200};

gnn_limits_t gnn__limits_or_defaults(const gnn_limits_t *limits)
{
    gnn_limits_t l = limits ? *limits : defaults;
    if (l.max_bytes == 0)
        l.max_bytes = defaults.max_bytes;
    if (l.max_entries <= 0)
        l.max_entries = defaults.max_entries;
    if (l.max_ratio == 0)
        l.max_ratio = defaults.max_ratio;
    if (l.max_growth == 0)
        l.max_growth = defaults.max_growth;
    return l;
}

int gnn__arrays_new(gnn_arrays_t **arrays)
{
    return gnn__new(arrays, 1, sizeof **arrays, "a set of arrays");
}

uint64_t gnn__growth_room(const gnn_limits_t *limits, uint64_t free, uint64_t packed)
{
    const uint64_t room =
        packed > UINT64_MAX / limits->max_growth ? UINT64_MAX : packed * limits->max_growth;
    return room > UINT64_MAX - free ? UINT64_MAX : room + free;
}

void gnn_arrays_free(gnn_arrays_t *arrays)
{
    if (!arrays)
        return;
    for (int64_t k = 0; k < arrays->count; k++) {
        gnn_free((char *)arrays->items[k].name);
        if (!arrays->map)
            gnn_free((void *)arrays->items[k].data);
    }
    if (arrays->map)
        munmap(arrays->map, arrays->mapped);
    for (int64_t k = 0; k < arrays->n_left_out; k++) {
        gnn_free(arrays->left_out[k].name);
        gnn_free(arrays->left_out[k].type);
    }
    for (int64_t k = 0; k < arrays->n_metadata; k++) {
        gnn_free(arrays->metadata[k][0]);
        gnn_free(arrays->metadata[k][1]);
    }
    gnn_free(arrays->items);
    gnn_free(arrays->by_name);
    gnn_free(arrays->left_out);
    gnn_free(arrays->metadata);
    gnn_free(arrays);
}

static int copy_name(char **out, const char *name, size_t length)
{
    GNN_TRY(gnn__new(out, (int64_t)length + 1, 1, "a name"));
    memcpy(*out, name, length);
    return GNN_OK;
}

int gnn__arrays_add(gnn_arrays_t *arrays, const char *name, size_t length, const gnn_array_t *like,
                    void *data)
{
    char *copy;
    GNN_TRY(gnn__room(&arrays->items, arrays->count, &arrays->capacity, sizeof *arrays->items,
                      "a list of arrays"));
    GNN_TRY(copy_name(&copy, name, length));
    gnn_array_t *item = &arrays->items[arrays->count++];
    *item = *like;
    item->name = copy;
    item->data = data;
    return GNN_OK;
}

int gnn__arrays_leave_out(gnn_arrays_t *arrays, const char *name, size_t length,
                          const gnn__left_out_t *like)
{
    GNN_TRY(gnn__room(&arrays->left_out, arrays->n_left_out, &arrays->left_out_capacity,
                      sizeof *arrays->left_out, "a list of arrays"));
    gnn__left_out_t *item = &arrays->left_out[arrays->n_left_out];
    GNN_TRY(copy_name(&item->name, name, length));
    int rc = gnn__strdup(&item->type, like->type);
    if (rc != GNN_OK) {
        gnn_free(item->name);
        item->name = NULL;
        return rc;
    }
    item->rows = like->rows;
    memcpy(item->text, like->text, sizeof item->text);
    arrays->n_left_out++;
    return GNN_OK;
}

static int compare_names(const void *a, const void *b)
{
    const gnn_array_t *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

int gnn__arrays_seal(gnn_arrays_t *arrays)
{
    GNN_TRY(gnn__new(&arrays->by_name, arrays->count, sizeof *arrays->by_name, "names of arrays"));
    for (int64_t k = 0; k < arrays->count; k++)
        arrays->by_name[k] = &arrays->items[k];
    qsort(arrays->by_name, (size_t)arrays->count, sizeof *arrays->by_name, compare_names);
    for (int64_t k = 1; k < arrays->count; k++)
        if (strcmp(arrays->by_name[k - 1]->name, arrays->by_name[k]->name) == 0)
            return gnn__error(GNN_EFORMAT, "two arrays are named \"%.80s\"",
                              arrays->by_name[k]->name);
    return GNN_OK;
}

const gnn__left_out_t *gnn__arrays_unread(const gnn_arrays_t *arrays, int64_t *count)
{
    *count = arrays->n_left_out;
    return arrays->left_out;
}

const char *gnn__arrays_left_out(const gnn_arrays_t *arrays, const char *name)
{
    for (int64_t k = 0; k < arrays->n_left_out; k++)
        if (strcmp(arrays->left_out[k].name, name) == 0)
            return arrays->left_out[k].type;
    return NULL;
}

const gnn_array_t *gnn_arrays_at(const gnn_arrays_t *arrays, int64_t index)
{
    GNN__NEED_OR(arrays, NULL);
    return arrays && index >= 0 && index < arrays->count ? &arrays->items[index] : NULL;
}

const gnn_array_t *gnn_arrays_find(const gnn_arrays_t *arrays, const char *name)
{
    GNN__NEED_OR(arrays, NULL);
    GNN__NEED_OR(name, NULL);
    int64_t low = 0, high = arrays && name ? arrays->count : 0;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(name, arrays->by_name[middle]->name);
        if (order == 0)
            return arrays->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *gnn_arrays_metadata(const gnn_arrays_t *arrays, const char *key)
{
    GNN__NEED_OR(arrays, NULL);
    GNN__NEED_OR(key, NULL);
    for (int64_t k = 0; arrays && key && k < arrays->n_metadata; k++)
        if (strcmp(arrays->metadata[k][0], key) == 0)
            return arrays->metadata[k][1];
    return NULL;
}
