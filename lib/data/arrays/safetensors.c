/* Reads safetensors: 8 bytes with the header's length, the JSON header, the data. Every rule of the
 * format is checked here; the raw text is checked for size before it becomes jansson's values. */
#include <lib/data/arrays/arrays.h>

#include <lib/data/arrays/json_text.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_HEADER = 100000000, MAX_DEPTH = 3, VALUES_AN_ENTRY = 64, BRACKETS_AN_ENTRY = 3 };

typedef struct tensor {
    const char *name;
    gnn_array_t like;
    int64_t begin, end; /* bytes from the start of the data */
} tensor_t;

typedef struct reader {
    gnn__file_t file;
    gnn_limits_t limits;
    gnn_arrays_t *arrays;
    bool maps; /* data remains in the mapped file */
    int64_t data_at;
    char *text;
    json_t *root;
    tensor_t *tensors;
    int64_t count;
} reader_t;

/* ---- the header's text ---- */

static int read_text(reader_t *r, int64_t *length)
{
    unsigned char prefix[8];
    uint64_t n = 0;
    if (r->file.size < 8)
        return gnn__error(GNN_EFORMAT,
                          "has %lld bytes, expected at least 8: the length of the header",
                          (long long)r->file.size);
    GNN_TRY(gnn__file_read(&r->file, 0, prefix, 8));
    if (memcmp(prefix, "PK\3\4", 4) == 0)
        return gnn__error(GNN_EFORMAT, "is a zip archive (.npz?), safetensors are expected");
    for (int k = 7; k >= 0; k--)
        n = n << 8 | prefix[k];
    if (n > MAX_HEADER)
        return gnn__error(GNN_EFORMAT,
                          "is not a safetensors file, or damaged: its first 8 bytes declare a header "
                          "of %llu bytes, at most %d are allowed",
                          (unsigned long long)n, MAX_HEADER);
    if ((int64_t)n > r->file.size - 8)
        return gnn__error(GNN_EFORMAT, "declares a header of %llu bytes, the file holds %lld",
                          (unsigned long long)n, (long long)r->file.size - 8);
    *length = (int64_t)n;
    r->data_at = 8 + *length;
    GNN_TRY(gnn__new(&r->text, *length + 1, 1, "a header"));
    GNN_TRY(gnn__file_read(&r->file, 8, r->text, *length));
    return r->text[0] == '{' ? GNN_OK : gnn__error(GNN_EFORMAT, "the header does not start with '{'");
}

/* Checks the raw text before parsing: depth as in the format, and values within the limit on
 * entries. */
static int check_text(const reader_t *r, int64_t length)
{
    int64_t depth = 0, values = 0, brackets = 0,
            entries = r->limits.max_entries < MAX_HEADER ? r->limits.max_entries : MAX_HEADER;
    bool quoted = false;
    for (int64_t k = 0; k < length; k++) {
        char c = r->text[k];
        if (quoted) {
            if (c == '\\')
                k++;
            else if (c == '"')
                quoted = false;
            continue;
        }
        quoted = c == '"';
        values += c == ',';
        brackets += c == '[' || c == '{';
        if ((c == '[' || c == '{') && ++depth > MAX_DEPTH)
            return gnn__error(GNN_EFORMAT, "header, byte %lld: more than %d levels deep",
                              (long long)k, MAX_DEPTH);
        depth -= c == ']' || c == '}';
        if (values > VALUES_AN_ENTRY * entries || brackets > BRACKETS_AN_ENTRY * entries + 2)
            return gnn__error(GNN_EFORMAT,
                              "header, byte %lld: more values than %lld tensors, the limit, can have",
                              (long long)k, (long long)entries);
    }
    return GNN_OK;
}

static int parse_text(reader_t *r, int64_t length)
{
    const int rc = gnn__json_parse(&r->root, r->text, length, GNN__JSON_UNIQUE, MAX_DEPTH);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "header");
}

/* ---- one tensor ---- */

static int parse_dtype(tensor_t *t, const json_t *value)
{
    if (!json_is_string(value))
        return gnn__error(GNN_EFORMAT, "dtype is missing or no string");
    for (int k = 0; k < gnn__element_types(); k++)
        if (strcmp(gnn__element((gnn_dtype_t)k)->safetensors, json_string_value(value)) == 0) {
            t->like.dtype = (gnn_dtype_t)k;
            return GNN_OK;
        }
    return gnn__error(GNN_EFORMAT, "dtype %.20s is not known", json_string_value(value));
}

static int parse_whole(const json_t *value, const char *what, int64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return gnn__error(GNN_EFORMAT, "%s: an integer from 0 to 2^63 - 1 is expected", what);
    *out = (int64_t)json_integer_value(value);
    return GNN_OK;
}

static int parse_shape(tensor_t *t, const json_t *value)
{
    if (!json_is_array(value))
        return gnn__error(GNN_EFORMAT, "shape is missing or no list");
    if (json_array_size(value) > GNN__MAX_DIMENSIONS)
        return gnn__error(GNN_EFORMAT, "%zu dimensions, at most %d are read",
                          json_array_size(value), GNN__MAX_DIMENSIONS);
    t->like.ndim = (int)json_array_size(value);
    for (int k = 0; k < t->like.ndim; k++)
        GNN_TRY(parse_whole(json_array_get(value, (size_t)k), "shape", &t->like.shape[k]));
    if (!gnn__shape_count(t->like.ndim, t->like.shape, &t->like.count))
        return gnn__error(GNN_EFORMAT, "the shape %s does not fit into memory",
                          gnn__shape_words(t->like.ndim, t->like.shape));
    return GNN_OK;
}

static int parse_offsets(tensor_t *t, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 2)
        return gnn__error(GNN_EFORMAT, "data_offsets is missing or no list of two");
    GNN_TRY(parse_whole(json_array_get(value, 0), "data_offsets", &t->begin));
    GNN_TRY(parse_whole(json_array_get(value, 1), "data_offsets", &t->end));
    const gnn__element_t *type = gnn__element(t->like.dtype);
    int64_t bytes;
    if (!gnn__mul(t->like.count, (int64_t)type->size, &bytes) || t->end < t->begin ||
        bytes != t->end - t->begin)
        return gnn__error(GNN_EFORMAT, "declares %lld %s, its offsets go from %lld to %lld",
                          (long long)t->like.count, type->name, (long long)t->begin,
                          (long long)t->end);
    return GNN_OK;
}

static int parse_tensor(tensor_t *t, const char *name, const json_t *value)
{
    t->name = name;
    if (!json_is_object(value))
        return gnn__error(GNN_EFORMAT, "an object is expected");
    if (json_object_size(value) > 3)
        return gnn__error(GNN_EFORMAT, "keys other than dtype, shape and data_offsets");
    GNN_TRY(parse_dtype(t, json_object_get(value, "dtype")));
    GNN_TRY(parse_shape(t, json_object_get(value, "shape")));
    return parse_offsets(t, json_object_get(value, "data_offsets"));
}

/* ---- all of them ---- */

static int parse_metadata(reader_t *r, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return gnn__error(GNN_EFORMAT, "__metadata__: an object of strings is expected");
    GNN_TRY(gnn__new(&r->arrays->metadata, (int64_t)json_object_size(metadata),
                     sizeof *r->arrays->metadata, "metadata"));
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return gnn__error(GNN_EFORMAT, "__metadata__: the value of \"%.80s\" is not a string",
                              key);
        char **pair = r->arrays->metadata[r->arrays->n_metadata++];
        GNN_TRY(gnn__strdup(&pair[0], key));
        GNN_TRY(gnn__strdup(&pair[1], json_string_value(value)));
    }
    return GNN_OK;
}

static int parse_all(reader_t *r)
{
    const char *name;
    json_t *value, *metadata = json_object_get(r->root, "__metadata__");
    int64_t size = (int64_t)json_object_size(r->root) - (metadata != NULL);
    if (size > r->limits.max_entries)
        return gnn__error(GNN_EFORMAT, "%lld tensors, the limit is %lld", (long long)size,
                          (long long)r->limits.max_entries);
    GNN_TRY(gnn__new(&r->tensors, size, sizeof *r->tensors, "a list of tensors"));
    if (metadata)
        GNN_TRY(parse_metadata(r, metadata));
    json_object_foreach(r->root, name, value)
    {
        if (value == metadata)
            continue;
        int rc = parse_tensor(&r->tensors[r->count], name, value);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "%.80s", name);
        r->count++;
    }
    return GNN_OK;
}

static int compare_offsets(const void *a, const void *b)
{
    const tensor_t *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->end != right->end ? (left->end < right->end ? -1 : 1)
                                   : strcmp(left->name, right->name);
}

static int check_layout(reader_t *r)
{
    int64_t at = 0, there = r->file.size - r->data_at;
    qsort(r->tensors, (size_t)r->count, sizeof *r->tensors, compare_offsets);
    for (int64_t k = 0; k < r->count; k++) {
        const tensor_t *t = &r->tensors[k];
        if (t->begin != at)
            return gnn__error(GNN_EFORMAT,
                              "%.80s: starts at byte %lld, %s byte %lld, where the one before it ends",
                              t->name, (long long)t->begin,
                              t->begin > at ? "leaving a hole after" : "overlapping", (long long)at);
        at = t->end;
    }
    if (at != there)
        return gnn__error(GNN_EFORMAT,
                          "the tensors end at byte %lld of the data, the file holds %lld",
                          (long long)at, (long long)there);
    if ((uint64_t)there > r->limits.max_bytes)
        return gnn__error(GNN_EFORMAT, "%lld bytes of data, the limit is %llu", (long long)there,
                          (unsigned long long)r->limits.max_bytes);
    return GNN_OK;
}

static int read_tensors(reader_t *r)
{
    for (int64_t k = 0; k < r->count; k++) {
        const tensor_t *t = &r->tensors[k];
        void *data = NULL;
        GNN_TRY(gnn__new(&data, t->end - t->begin, 1, "a tensor"));
        int rc = gnn__file_read(&r->file, r->data_at + t->begin, data, t->end - t->begin);
        if (rc == GNN_OK)
            rc = gnn__arrays_add(r->arrays, t->name, strlen(t->name), &t->like, data);
        if (rc != GNN_OK) {
            gnn_free(data);
            return rc;
        }
    }
    return gnn__arrays_seal(r->arrays);
}

/* Is all data aligned for its type? */
static bool is_aligned(const reader_t *r)
{
    for (int64_t k = 0; k < r->count; k++)
        if ((r->data_at + r->tensors[k].begin) %
                (int64_t)gnn__element(r->tensors[k].like.dtype)->size !=
            0)
            return false;
    return true;
}

/* False if the system cannot map the file; the data is then read. */
static bool map_file(reader_t *r)
{
    void *map = mmap(NULL, (size_t)r->file.size, PROT_READ, MAP_PRIVATE, r->file.fd, 0);
    if (map == MAP_FAILED)
        return false;
    r->arrays->map = map;
    r->arrays->mapped = (size_t)r->file.size;
    return true;
}

static int point_into_map(reader_t *r)
{
    for (int64_t k = 0; k < r->count; k++) {
        const tensor_t *t = &r->tensors[k];
        GNN_TRY(gnn__arrays_add(r->arrays, t->name, strlen(t->name), &t->like,
                                (char *)r->arrays->map + r->data_at + t->begin));
    }
    return gnn__arrays_seal(r->arrays);
}

static int read_file(reader_t *r)
{
    int64_t length = 0;
    GNN_TRY(gnn__arrays_new(&r->arrays));
    GNN_TRY(read_text(r, &length));
    GNN_TRY(check_text(r, length));
    GNN_TRY(parse_text(r, length));
    GNN_TRY(parse_all(r));
    GNN_TRY(check_layout(r));
    return r->maps && is_aligned(r) && map_file(r) ? point_into_map(r) : read_tensors(r);
}

static int open_arrays(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits, bool maps)
{
    reader_t r = {.limits = gnn__limits_or_defaults(limits), .maps = maps};
    if (!arrays)
        return gnn__error(GNN_EINVALID, "arrays is NULL");
    *arrays = NULL;
    GNN_TRY(gnn__file_open(&r.file, path));
    int rc = read_file(&r);
    gnn__file_close(&r.file);
    json_decref(r.root);
    gnn_free(r.tensors);
    gnn_free(r.text);
    if (rc != GNN_OK) {
        gnn_arrays_free(r.arrays);
        return gnn__error_prefix(rc, "%s", r.file.name);
    }
    *arrays = r.arrays;
    return GNN_OK;
}

void gnn__arrays_release(const gnn_arrays_t *arrays, const gnn_array_t *array)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), map = (uintptr_t)arrays->map,
                    begin = ((uintptr_t)array->data + page - 1) / page * page,
                    end = ((uintptr_t)array->data +
                           (uintptr_t)array->count * gnn__element(array->dtype)->size) /
                          page * page;
    if (arrays->map && begin >= map && end <= map + arrays->mapped && begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

int gnn_safetensors_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits)
{
    GNN__NEED(arrays);
    GNN__NEED(path);
    return open_arrays(arrays, path, limits, false);
}

int gnn__safetensors_map(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits)
{
    return open_arrays(arrays, path, limits, true);
}
