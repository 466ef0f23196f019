/* Writes safetensors: wider types first, so that every tensor is aligned after a header padded to 8
 * bytes. */
#include <lib/data/arrays/arrays.h>
#include <lib/data/arrays/text_file.h>

#include <lib/data/arrays/json_text.h>
#include <stdlib.h>

typedef struct slot {
    const gnn_array_t *array;
    size_t size;   /* of one element */
    int64_t index; /* the caller's order, among equal sizes */
    int64_t bytes;
} slot_t;

static int compare_slots(const void *a, const void *b)
{
    const slot_t *left = a, *right = b;
    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static int order(slot_t **slots, int64_t count, const gnn_array_t *arrays)
{
    GNN_TRY(gnn__new(slots, count, sizeof **slots, "a list of tensors"));
    for (int64_t k = 0; k < count; k++) {
        slot_t *slot = &(*slots)[k];
        slot->array = &arrays[k];
        slot->index = k;
        GNN_TRY(gnn__array_check_shape(&arrays[k], &slot->bytes));
        slot->size = gnn__element(arrays[k].dtype)->size;
    }
    qsort(*slots, (size_t)count, sizeof **slots, compare_slots);
    return GNN_OK;
}

/* Adds to an object; a duplicate or non-UTF-8 name is the caller's error. Takes ownership of
 * `value`; NULL means out of memory. */
static int put(json_t *object, const char *name, json_t *value)
{
    if (json_object_get(object, name)) {
        json_decref(value);
        return gnn__error(GNN_EINVALID, "the name \"%.80s\" is given twice", name);
    }
    if (!gnn__is_utf8(name, (int64_t)strlen(name))) {
        json_decref(value);
        return gnn__error(GNN_EINVALID, "the name \"%.80s\" is not UTF-8", name);
    }
    return json_object_set_new_nocheck(object, name, value) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for the header");
}

static json_t *describe(const slot_t *slot, int64_t at)
{
    json_t *shape = json_array();
    int bad = !shape;
    for (int k = 0; k < slot->array->ndim && !bad; k++)
        bad = json_array_append_new(shape, json_integer(slot->array->shape[k]));
    if (bad) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s,s:o,s:[I,I]}", "dtype", gnn__element(slot->array->dtype)->safetensors,
                     "shape", shape, "data_offsets", (json_int_t)at, (json_int_t)(at + slot->bytes));
}

static int put_metadata(json_t *root, int64_t n, const char *const (*metadata)[2])
{
    json_t *strings = json_object();
    for (int64_t k = 0; k < n && strings; k++) {
        if (!metadata[k][0] || !metadata[k][1]) {
            json_decref(strings);
            return gnn__error(GNN_EINVALID, "metadata %lld: a key or a value is missing",
                              (long long)k);
        }
        const char *value = metadata[k][1];
        int rc =
            gnn__is_utf8(value, (int64_t)strlen(value))
                ? put(strings, metadata[k][0], json_string_nocheck(value))
                : gnn__error(GNN_EINVALID, "the value of \"%.80s\" is not UTF-8", metadata[k][0]);
        if (rc != GNN_OK) {
            json_decref(strings);
            return gnn__error_prefix(rc, "metadata");
        }
    }
    return put(root, "__metadata__", strings);
}

static int fill_header(json_t *root, int64_t count, const slot_t *slots, int64_t n_metadata,
                       const char *const (*metadata)[2])
{
    int64_t at = 0;
    if (n_metadata > 0)
        GNN_TRY(put_metadata(root, n_metadata, metadata));
    for (int64_t k = 0; k < count; k++) {
        if (strcmp(slots[k].array->name, "__metadata__") == 0)
            return gnn__error(GNN_EINVALID, "no array may be named __metadata__");
        GNN_TRY(put(root, slots[k].array->name, describe(&slots[k], at)));
        if (!gnn__add(at, slots[k].bytes, &at))
            return gnn__error(GNN_EOVERFLOW, "the arrays are too large for one file");
    }
    return GNN_OK;
}

static int write_header(gnn__output_t *output, const json_t *root)
{
    char *text;
    unsigned char prefix[8];
    GNN_TRY(gnn__json_write(&text, root, JSON_COMPACT));
    int64_t length = (int64_t)strlen(text), padding = -length & 7;
    for (int k = 0; k < 8; k++)
        prefix[k] = (unsigned char)((uint64_t)(length + padding) >> (8 * k));
    int rc = gnn__output_write(output, prefix, 8);
    if (rc == GNN_OK)
        rc = gnn__output_write(output, text, length);
    if (rc == GNN_OK)
        rc = gnn__output_write(output, "        ", padding);
    gnn_free(text);
    return rc;
}

enum { CHUNK = 4 << 20 }; /* bytes made at a time */

static int write_slot(gnn__output_t *output, const slot_t *slot, const gnn__array_reader_t *reader)
{
    const int64_t size = (int64_t)slot->size, most = CHUNK / size;
    const void *data;
    if (!reader)
        return gnn__output_write(output, slot->array->data, slot->bytes);
    for (int64_t at = 0; at < slot->array->count; at += most) {
        const int64_t count = gnn__min(most, slot->array->count - at);
        GNN_TRY(reader->read(reader->user, slot->index, at, count, &data));
        GNN_TRY(gnn__output_write(output, data, count * size));
    }
    return GNN_OK;
}

int gnn__safetensors_stream(const char *path, int64_t n_arrays, const gnn_array_t *arrays,
                            int64_t n_metadata, const char *const (*metadata)[2],
                            const gnn__array_reader_t *reader)
{
    gnn__output_t output = {.fd = -1};
    slot_t *slots = NULL;
    json_t *root = json_object();
    int rc = GNN_OK;
    if (n_metadata < 0 || (n_metadata > 0 && !metadata))
        GNN_CHECK(gnn__error(GNN_EINVALID, "n_metadata = %lld, expected at least 0%s",
                             (long long)n_metadata, metadata ? "" : "; metadata is NULL"));
    if (!root)
        GNN_CHECK(gnn__error(GNN_EMEMORY, "no memory for the header"));
    if (!reader)
        GNN_CHECK(gnn__arrays_check(n_arrays, arrays));
    GNN_CHECK(order(&slots, n_arrays, arrays));
    GNN_CHECK(fill_header(root, n_arrays, slots, n_metadata, metadata));
    GNN_CHECK(gnn__output_open(&output, path));
    GNN_CHECK(write_header(&output, root));
    for (int64_t k = 0; k < n_arrays; k++)
        GNN_CHECK(write_slot(&output, &slots[k], reader));
    GNN_CHECK(gnn__output_commit(&output));
done:
    gnn__output_close(&output);
    gnn_free(slots);
    json_decref(root);
    return rc;
}

int gnn_safetensors_write(const char *path, int64_t n_arrays, const gnn_array_t *arrays,
                          int64_t n_metadata, const char *const (*metadata)[2])
{
    GNN__NEED(path);
    GNN__NEED_LIST(arrays, n_arrays);
    return gnn__safetensors_stream(path, n_arrays, arrays, n_metadata, metadata, NULL);
}
