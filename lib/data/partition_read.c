/* Reads a folder of gnn_partition_write: the header, the mapped arrays, ranges of rows, the set. */
#include <lib/data/partition.h>

/* ---- the arrays of a folder ---- */

/* Dimensions that the header gives; STORED: any, equal in all arrays. */
enum { NODES = -1, BORDERS = -2, EDGES = -3, FEATURES = -4, SPLITS = -5, STORED = -6 };

static const struct {
    const char *name;
    gnn_dtype_t dtype;
    int ndim, shape[2];
} known[] = {
    {"order", GNN_DTYPE_INT64, 1, {NODES}},
    {"indptr", GNN_DTYPE_INT64, 1, {BORDERS}},
    {"indices", GNN_DTYPE_INT32, 1, {EDGES}},
    {"edges", GNN_DTYPE_INT64, 1, {EDGES}},
    {"labels", GNN_DTYPE_INT32, 1, {NODES}},
    {"train", GNN_DTYPE_BOOL, 2, {SPLITS, NODES}},
    {"validation", GNN_DTYPE_BOOL, 2, {SPLITS, NODES}},
    {"test", GNN_DTYPE_BOOL, 2, {SPLITS, NODES}},
    {"x", GNN__REAL_DTYPE, 2, {NODES, FEATURES}},
    {"x_indptr", GNN_DTYPE_INT64, 1, {BORDERS}},
    {"x_indices", GNN_DTYPE_INT32, 1, {STORED}},
    {"x_values", GNN__REAL_DTYPE, 1, {STORED}},
};
enum { KNOWN = sizeof known / sizeof *known, X = 8, REQUIRED = X, MOST_HEADER = 64 << 20 };
enum { VERIFY_BLOCK = 8 << 20 }; /* bytes, a multiple of 8 */

static const gnn_array_t *find(const gnn_partition_folder_t *f, const char *name)
{
    for (int64_t k = 0; k < f->count; k++)
        if (strcmp(f->items[k].name, name) == 0)
            return &f->items[k].array;
    return NULL;
}

#define FAULT(...) gnn__error(GNN_EFORMAT, GNN__FOLDER_HEADER ": " __VA_ARGS__)

/* ---- fields of the header ---- */

#define KEYS                                                                                       \
    "format version name nodes edges features classes splits parts slice method book class_names " \
    "arrays checksum"
#define ENTRY_KEYS "dtype shape checksum"

/* Checks that an object has the keys of `needed`, and none that is not in `all`. */
static int check_keys(const json_t *object, const char *where, const char *needed, const char *all)
{
    char key[32];
    const int rc = gnn__json_closed(object, all);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, GNN__FOLDER_HEADER "%s%s", *where ? ": " : "", where);
    for (const char *at = needed; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(key, sizeof key, "%.*s", (int)n, at);
        if (!json_object_get(object, key))
            return FAULT("%s%skey \"%s\" is missing", where, *where ? ": " : "", key);
        at += n;
    }
    return GNN_OK;
}

static int integer(const json_t *root, const char *key, int64_t low, int64_t high, int64_t *out)
{
    const json_t *value = json_object_get(root, key);
    if (!json_is_integer(value))
        return FAULT("\"%s\": expected an integer", key);
    *out = (int64_t)json_integer_value(value);
    if (*out < low || *out > high)
        return FAULT("\"%s\": expected %lld to %lld, got %lld", key, (long long)low,
                     (long long)high, (long long)*out);
    return GNN_OK;
}

static int check_version(const json_t *root)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *version = json_object_get(root, "version");
    if (!format || strcmp(format, GNN__FOLDER_FORMAT) != 0)
        return FAULT("\"format\": expected \"%s\", got \"%.60s\"", GNN__FOLDER_FORMAT,
                     format ? format : "no text");
    if (!json_is_integer(version))
        return FAULT("\"version\": expected an integer");
    if (json_integer_value(version) != GNN__FOLDER_VERSION)
        return gnn__error(GNN_EUNSUPPORTED, GNN__FOLDER_HEADER ": \"version\": expected %d, got %lld",
                          GNN__FOLDER_VERSION, (long long)json_integer_value(version));
    return GNN_OK;
}

/* Borders rise and are multiples of a slice, but for the last, the count of nodes. */
static int read_book(gnn_partition_folder_t *f)
{
    const json_t *list = json_object_get(f->root, "book");
    const int64_t parts = f->sizes.parts;
    if (!json_is_array(list) || (int64_t)json_array_size(list) != parts + 1)
        return FAULT("\"book\": expected %lld integers, got %lld", (long long)parts + 1,
                     (long long)json_array_size(list));
    GNN_TRY(gnn__new(&f->book, parts + 1, sizeof *f->book, "a book"));
    for (int64_t p = 0; p <= parts; p++) {
        const json_t *value = json_array_get(list, (size_t)p);
        if (!json_is_integer(value))
            return FAULT("\"book\"[%lld]: expected an integer", (long long)p);
        const int64_t border = f->book[p] = (int64_t)json_integer_value(value);
        if (p == 0 ? border != 0 : border <= f->book[p - 1])
            return FAULT("\"book\"[%lld]: expected %s%lld, got %lld", (long long)p,
                         p == 0 ? "" : "more than ", p == 0 ? 0 : (long long)f->book[p - 1],
                         (long long)border);
        if (p == parts ? border != f->sizes.nodes : border % GNN_SLICE != 0)
            return FAULT("\"book\"[%lld]: expected %s%lld, got %lld", (long long)p,
                         p == parts ? "" : "a multiple of ",
                         p == parts ? (long long)f->sizes.nodes : (long long)GNN_SLICE,
                         (long long)border);
    }
    f->sizes.book = f->book;
    return GNN_OK;
}

static int check_texts(const gnn_partition_folder_t *f)
{
    const char *method = json_string_value(json_object_get(f->root, "method"));
    const json_t *names = json_object_get(f->root, "class_names");
    size_t k = 0;
    while (gnn__partition_method_at(k) &&
           (!method || strcmp(method, gnn__partition_method_at(k)) != 0))
        k++;
    if (!gnn__partition_method_at(k))
        return FAULT("\"method\": expected metis, hash, range or given, got \"%.60s\"",
                     method ? method : "no text");
    if (!json_is_string(json_object_get(f->root, "name")))
        return FAULT("\"name\": expected a text");
    if (json_is_null(names))
        return GNN_OK;
    if (!json_is_array(names) || (int64_t)json_array_size(names) != f->sizes.classes)
        return FAULT("\"class_names\": expected null or %lld texts", (long long)f->sizes.classes);
    for (size_t c = 0; c < json_array_size(names); c++)
        if (!json_is_string(json_array_get(names, c)))
            return FAULT("\"class_names\"[%zu]: expected a text", c);
    return GNN_OK;
}

static int read_sizes(gnn_partition_folder_t *f)
{
    gnn_partition_folder_sizes_t *s = &f->sizes;
    int64_t slice;
    GNN_TRY(integer(f->root, "nodes", 1, INT32_MAX, &s->nodes));
    GNN_TRY(integer(f->root, "edges", 0, INT64_MAX / 64, &s->edges));
    GNN_TRY(integer(f->root, "features", 0, INT32_MAX, &s->features));
    GNN_TRY(integer(f->root, "classes", 0, INT32_MAX, &s->classes));
    GNN_TRY(integer(f->root, "splits", 1, INT32_MAX, &s->splits));
    GNN_TRY(integer(f->root, "parts", 1, GNN_MAX_PARTS, &s->parts));
    GNN_TRY(integer(f->root, "slice", GNN_SLICE, GNN_SLICE, &slice));
    GNN_TRY(read_book(f));
    return check_texts(f);
}

/* ---- entries of the arrays ---- */

static int64_t dimension(const gnn_partition_folder_t *f, int symbol)
{
    switch (symbol) {
    case NODES: return f->sizes.nodes;
    case BORDERS: return f->sizes.nodes + 1;
    case EDGES: return f->sizes.edges;
    case FEATURES: return f->sizes.features;
    case SPLITS: return f->sizes.splits;
    default: return f->stored;
    }
}

static int read_shape(const char *key, const json_t *entry, gnn_array_t *like)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > GNN__MAX_DIMENSIONS)
        return FAULT("array \"%.60s\": \"shape\": expected a list of at most %d integers", key,
                     GNN__MAX_DIMENSIONS);
    like->ndim = (int)json_array_size(shape);
    for (int d = 0; d < like->ndim; d++) {
        const json_t *size = json_array_get(shape, (size_t)d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return FAULT("array \"%.60s\": \"shape\"[%d]: expected an integer of at least 0", key, d);
        like->shape[d] = (int64_t)json_integer_value(size);
    }
    return GNN_OK;
}

static int read_type(const char *key, const json_t *entry, gnn_dtype_t *dtype)
{
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    for (int k = 0; name && k < gnn__element_types(); k++)
        if (strcmp(gnn__element((gnn_dtype_t)k)->name, name) == 0) {
            *dtype = (gnn_dtype_t)k;
            return GNN_OK;
        }
    return FAULT("array \"%.60s\": unknown dtype \"%.60s\"", key, name ? name : "no text");
}

static int read_sum(const char *key, const json_t *object, uint64_t *sum)
{
    const char *text = json_string_value(json_object_get(object, "checksum"));
    *sum = 0;
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return FAULT("%s%s%s\"checksum\": expected 16 hexadecimal digits", key ? "array \"" : "",
                     key ? key : "", key ? "\": " : "");
    for (int k = 0; k < 16; k++)
        *sum = *sum << 4 | (uint64_t)(text[k] <= '9' ? text[k] - '0' : text[k] - 'a' + 10);
    return GNN_OK;
}

/* Both are the entries' or one is the file's. */
static int check_like(const char *file, const gnn_array_t *expected, const gnn_array_t *got)
{
    char shape[120];
    bool same = expected->ndim == got->ndim;
    if (expected->dtype != got->dtype)
        return gnn__error(GNN_EFORMAT, "%s: dtype: expected %s, got %s", file,
                          gnn__element(expected->dtype)->name, gnn__element(got->dtype)->name);
    for (int d = 0; same && d < got->ndim; d++)
        same = expected->shape[d] == got->shape[d];
    if (same)
        return GNN_OK;
    snprintf(shape, sizeof shape, "%s", gnn__shape_words(expected->ndim, expected->shape));
    return gnn__error(GNN_EFORMAT, "%s: shape: expected %s, got %s", file, shape,
                      gnn__shape_words(got->ndim, got->shape));
}

/* The place of "node.3", whose first dimension is fixed by it; NULL: no such key. */
static const char *place_of(const gnn_partition_folder_t *f, const char *key, int64_t *rows)
{
    static const char *const places[] = {"node", "edge", "graph"};
    for (int p = 0; p < 3; p++) {
        const size_t length = strlen(places[p]);
        const char *digits = key + length + 1;
        if (strncmp(key, places[p], length) != 0 || key[length] != '.' || !*digits ||
            strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 9)
            continue;
        *rows = p == 0 ? f->sizes.nodes : f->sizes.edges;
        *rows = p == 2 ? -1 : *rows;
        return places[p];
    }
    return NULL;
}

/* Name and expected shape of an entry. */
static int expect(gnn_partition_folder_t *f, const char *key, const json_t *entry,
                  gnn_array_t *like, char **name)
{
    const char *given = json_string_value(json_object_get(entry, "name")), *place;
    gnn_array_t wanted = *like;
    int64_t rows;
    int k = 0;
    while (k < KNOWN && strcmp(known[k].name, key) != 0)
        k++;
    if (k == KNOWN) {
        place = place_of(f, key, &rows);
        if (!place)
            return FAULT("unknown array \"%.60s\"", key);
        if (!given || !*given)
            return FAULT("array \"%s\": \"name\": expected a text", key);
        if (rows >= 0 && (like->ndim < 1 || like->shape[0] != rows))
            return FAULT("array \"%s\": expected %lld rows, got %lld", key, (long long)rows,
                         like->ndim < 1 ? 0 : (long long)like->shape[0]);
        return gnn__asprintf(name, "%s.%s", place, given);
    }
    if (json_object_get(entry, "name"))
        return FAULT("array \"%s\": unknown key \"name\"", key);
    if (known[k].shape[0] == STORED && f->stored < 0 && like->ndim == 1)
        f->stored = like->shape[0];
    wanted.dtype = known[k].dtype;
    wanted.ndim = known[k].ndim;
    for (int d = 0; d < wanted.ndim; d++)
        wanted.shape[d] = dimension(f, known[k].shape[d]);
    GNN_TRY(gnn__strdup(name, key));
    const int rc = check_like(key, &wanted, like);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, GNN__FOLDER_HEADER ": array");
}

static int add_array(gnn_partition_folder_t *f, const char *path, const char *key, const json_t *entry)
{
    gnn__folder_item_t *item = &f->items[f->count];
    gnn_array_t like = {0};
    char where[100], *file;
    snprintf(where, sizeof where, "array \"%.60s\"", key);
    if (!json_is_object(entry))
        return FAULT("%s: expected an object", where);
    GNN_TRY(check_keys(entry, where, ENTRY_KEYS, ENTRY_KEYS " name"));
    GNN_TRY(read_type(key, entry, &like.dtype));
    GNN_TRY(read_shape(key, entry, &like));
    f->count++; /* from here on freed with the folder */
    GNN_TRY(expect(f, key, entry, &like, &item->name));
    GNN_TRY(read_sum(key, entry, &item->sum));
    GNN_TRY(gnn__asprintf(&file, "%s/%s.npy", path, key));
    int rc = gnn_npy_map(&item->array, &item->owner, file);
    if (rc == GNN_OK)
        rc = check_like(gnn__file_name(file), &like, &item->array);
    gnn_free(file);
    return rc;
}

static int add_arrays(gnn_partition_folder_t *f, const char *path)
{
    const json_t *arrays = json_object_get(f->root, "arrays");
    const char *key;
    json_t *entry;
    if (!json_is_object(arrays))
        return FAULT("\"arrays\": expected an object");
    GNN_TRY(gnn__new(&f->items, (int64_t)json_object_size(arrays), sizeof *f->items, "arrays"));
    json_object_foreach((json_t *)(uintptr_t)arrays, key, entry)
        GNN_TRY(add_array(f, path, key, entry));
    for (int k = 0; k < REQUIRED; k++)
        if (!find(f, known[k].name))
            return FAULT("array \"%s\" is missing", known[k].name);
    const bool dense = find(f, "x") != NULL;
    for (int k = X + 1; k < KNOWN; k++)
        if (dense == (find(f, known[k].name) != NULL))
            return FAULT("expected x or x_indptr, x_indices and x_values: \"%s\" is %s",
                         known[k].name, dense ? "there with x" : "missing");
    return GNN_OK;
}

/* ---- opening ---- */

static int read_text(char **text, int64_t *size, const char *path)
{
    gnn__file_t file;
    char *name;
    *text = NULL;
    GNN_TRY(gnn__asprintf(&name, "%s/%s", path, GNN__FOLDER_HEADER));
    int rc = gnn__file_open(&file, name);
    if (rc == GNN_OK && file.size > MOST_HEADER)
        rc = FAULT("expected at most %d bytes, got %lld", MOST_HEADER, (long long)file.size);
    else if (rc == GNN_OK) {
        *size = file.size;
        rc = gnn__new(text, file.size + 1, 1, "a header");
        if (rc == GNN_OK)
            rc = gnn__file_read(&file, 0, *text, file.size);
    }
    gnn__file_close(&file);
    gnn_free(name);
    return rc;
}

static int read_header(gnn_partition_folder_t *f, const char *path)
{
    char *text, sum[20];
    int64_t size = 0;
    int rc = read_text(&text, &size, path);
    if (rc == GNN_OK) {
        rc = gnn__json_parse(&f->root, text, size, GNN__JSON_UNIQUE, GNN__JSON_LEVELS);
        if (rc != GNN_OK)
            rc = gnn__error_prefix(rc, GNN__FOLDER_HEADER);
    }
    gnn_free(text);
    GNN_TRY(rc);
    if (!json_is_object(f->root))
        return FAULT("expected an object");
    GNN_TRY(check_version(f->root));
    GNN_TRY(check_keys(f->root, "", KEYS, KEYS));
    GNN_TRY(read_sizes(f));
    GNN_TRY(read_sum(NULL, f->root, &f->sum));
    GNN_TRY(add_arrays(f, path));
    GNN_TRY(gnn__folder_checksum(sum, f->root));
    if (strcmp(sum, json_string_value(json_object_get(f->root, "checksum"))) != 0)
        return FAULT("checksum: expected %s, got %s: the header is damaged",
                     json_string_value(json_object_get(f->root, "checksum")), sum);
    return GNN_OK;
}

/* Ids of which each is seen once: "order" and "edges". */
typedef struct {
    const char *file;
    int64_t count;
    uint8_t *seen; /* bits; NULL: ids may repeat */
} permutation_t;

static int open_permutation(permutation_t *p, const gnn__folder_item_t *item)
{
    *p = (permutation_t){.file = item->array.name, .count = item->array.count};
    if (strcmp(item->name, "order") != 0 && strcmp(item->name, "edges") != 0)
        return GNN_OK;
    return gnn__new(&p->seen, p->count / 8 + 1, 1, "ids");
}

static int see_ids(const permutation_t *p, const int64_t *ids, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        const int64_t id = ids[k];
        if (id < 0 || id >= p->count)
            return gnn__error(GNN_EFORMAT, "%s: [%lld]: expected 0 to %lld, got %lld", p->file,
                              (long long)k, (long long)p->count - 1, (long long)id);
        if (p->seen[id / 8] & 1 << id % 8)
            return gnn__error(GNN_EFORMAT, "%s: [%lld]: expected each id once, got %lld again",
                              p->file, (long long)k, (long long)id);
        p->seen[id / 8] = (uint8_t)(p->seen[id / 8] | 1 << id % 8);
    }
    return GNN_OK;
}

int gnn__folder_verify(const gnn__folder_item_t *item)
{
    const size_t size = gnn__element(item->array.dtype)->size,
                 bytes = (size_t)item->array.count * size;
    const char *data = item->array.data;
    uint64_t sum = gnn__hash_start(GNN__HASH_START, bytes);
    permutation_t ids;
    GNN_TRY(open_permutation(&ids, item));
    int rc = GNN_OK;
    for (size_t at = 0; at < bytes; at += VERIFY_BLOCK) {
        const size_t some = bytes - at < VERIFY_BLOCK ? bytes - at : VERIFY_BLOCK;
        sum = gnn__hash_words(sum, data + at, some);
        if (ids.seen && rc == GNN_OK)
            rc = see_ids(&ids, item->array.data, (int64_t)(at / size), (int64_t)((at + some) / size));
        gnn__npy_forget(&item->array, at, some);
    }
    gnn_free(ids.seen);
    if (sum != item->sum)
        return gnn__error(GNN_EFORMAT,
                          "%s: checksum: expected %016llx, got %016llx: the file is damaged",
                          item->array.name, (unsigned long long)item->sum, (unsigned long long)sum);
    return rc;
}

static int verify_sums(const gnn_partition_folder_t *f)
{
    for (int64_t k = 0; k < f->count; k++)
        GNN_TRY(gnn__folder_verify(&f->items[k]));
    return GNN_OK;
}

static int check_ends(const gnn_partition_folder_t *f, const char *name, int64_t count)
{
    const int64_t *indptr = find(f, name)->data, n = f->sizes.nodes;
    if (indptr[0] != 0 || indptr[n] != count)
        return gnn__error(GNN_EFORMAT, "%s.npy: [%lld]: expected %lld, got %lld", name,
                          indptr[0] ? 0 : (long long)n, indptr[0] ? 0 : (long long)count,
                          (long long)(indptr[0] ? indptr[0] : indptr[n]));
    return GNN_OK;
}

int gnn_partition_folder_open(gnn_partition_folder_t **folder, const char *path, int verify)
{
    gnn_partition_folder_t *f;
    GNN__NEED(folder);
    *folder = NULL;
    GNN__NEED(path);
    GNN_TRY(gnn__new(&f, 1, sizeof *f, "a folder"));
    atomic_init(&f->users, 1);
    f->stored = -1;
    int rc = read_header(f, path);
    if (rc == GNN_OK && verify)
        rc = verify_sums(f);
    if (rc == GNN_OK)
        rc = check_ends(f, "indptr", f->sizes.edges);
    if (rc == GNN_OK && find(f, "x_indptr"))
        rc = check_ends(f, "x_indptr", f->stored);
    if (rc == GNN_OK)
        *folder = f;
    else
        gnn_partition_folder_free(f);
    return rc;
}

void gnn_partition_folder_free(gnn_partition_folder_t *f)
{
    if (!f || atomic_fetch_sub(&f->users, 1) > 1)
        return;
    for (int64_t k = 0; k < f->count; k++) {
        if (f->items[k].owner.release)
            f->items[k].owner.release(f->items[k].owner.user);
        gnn_free(f->items[k].name);
    }
    gnn_free(f->items);
    gnn_free(f->book);
    json_decref(f->root);
    gnn_free(f);
}

gnn_partition_folder_sizes_t gnn_partition_folder_sizes(const gnn_partition_folder_t *folder)
{
    GNN__NEED_OR(folder, (gnn_partition_folder_sizes_t){0});
    return folder->sizes;
}

/* ---- ranks and their rows ---- */

static int group_slices(const gnn_partition_folder_t *f, int64_t ranks, int64_t *book)
{
    const int64_t *indptr = find(f, "indptr")->data, n = f->sizes.nodes;
    int64_t *before;
    GNN_TRY(gnn__new(&before, n / GNN_SLICE + 2, sizeof *before, "slices of a folder"));
    for (int64_t s = 0, lo = 0; lo < n; s++, lo += GNN_SLICE) {
        const int64_t hi = gnn__min(n, lo + GNN_SLICE);
        if (indptr[hi] < indptr[lo] || indptr[hi] > f->sizes.edges) {
            gnn_free(before);
            return gnn__error(GNN_EFORMAT, "indptr.npy: [%lld]: expected %lld to %lld, got %lld",
                              (long long)hi, (long long)indptr[lo], (long long)f->sizes.edges,
                              (long long)indptr[hi]);
        }
        before[s + 1] = indptr[hi] + GNN__NODE_COST * hi;
    }
    gnn__slice_book(n, ranks, before, book);
    gnn_free(before);
    return GNN_OK;
}

int gnn_partition_folder_book(const gnn_partition_folder_t *folder, int64_t ranks, int64_t *book)
{
    GNN__NEED(folder);
    GNN__NEED(book);
    if (ranks < 1 || ranks > GNN_MAX_PARTS)
        return gnn__error(GNN_EINVALID, "folder: ranks: expected 1 to %d, got %lld", GNN_MAX_PARTS,
                          (long long)ranks);
    if (folder->sizes.parts % ranks != 0)
        return group_slices(folder, ranks, book);
    for (int64_t r = 0; r <= ranks; r++)
        book[r] = folder->book[folder->sizes.parts / ranks * r];
    return GNN_OK;
}

/* Offsets lo .. hi do not fall, and columns are below `columns`; `rising`: they do not fall within
 * a row either. */
static int check_rows(const gnn_partition_folder_t *f, const char *offsets, const char *ids,
                      int64_t columns, bool rising, int64_t lo, int64_t hi)
{
    const int64_t *indptr = find(f, offsets)->data, most = find(f, ids)->count;
    const int32_t *id = find(f, ids)->data;
    for (int64_t r = lo; r <= hi; r++)
        if (indptr[r] < (r > lo ? indptr[r - 1] : 0) || indptr[r] > most)
            return gnn__error(GNN_EFORMAT, "%s.npy: [%lld]: expected %lld to %lld, got %lld",
                              offsets, (long long)r, (long long)(r > lo ? indptr[r - 1] : 0),
                              (long long)most, (long long)indptr[r]);
    for (int64_t r = lo; r < hi; r++)
        for (int64_t k = indptr[r]; k < indptr[r + 1]; k++) {
            const int64_t least = rising && k > indptr[r] ? id[k - 1] : 0;
            if (id[k] < least || id[k] >= columns)
                return gnn__error(GNN_EFORMAT, "%s.npy: [%lld]: expected %lld to %lld, got %lld",
                                  ids, (long long)k, (long long)least, (long long)columns - 1,
                                  (long long)id[k]);
        }
    return GNN_OK;
}

/* An array's first row of a range. */
static const void *row_of(const gnn_partition_folder_t *f, const char *name, int64_t row)
{
    const gnn_array_t *a = find(f, name);
    return a ? (const char *)a->data + row * (int64_t)gnn__element(a->dtype)->size : NULL;
}

int gnn_partition_folder_rows(const gnn_partition_folder_t *folder, int64_t lo, int64_t hi,
                              gnn_partition_folder_rows_t *rows)
{
    GNN__NEED(folder);
    GNN__NEED(rows);
    if (lo < 0 || lo > hi || hi > folder->sizes.nodes)
        return gnn__error(GNN_EINVALID, "folder: expected rows 0 <= lo <= hi <= %lld, got %lld, %lld",
                          (long long)folder->sizes.nodes, (long long)lo, (long long)hi);
    GNN_TRY(check_rows(folder, "indptr", "indices", folder->sizes.nodes, true, lo, hi));
    if (find(folder, "x_indptr"))
        GNN_TRY(check_rows(folder, "x_indptr", "x_indices", folder->sizes.features, false, lo, hi));
    *rows = (gnn_partition_folder_rows_t){.lo = lo,
                                          .hi = hi,
                                          .indptr = row_of(folder, "indptr", lo),
                                          .indices = row_of(folder, "indices", 0),
                                          .edges = row_of(folder, "edges", 0),
                                          .x_indptr = row_of(folder, "x_indptr", lo),
                                          .x_indices = row_of(folder, "x_indices", 0),
                                          .x_values = row_of(folder, "x_values", 0),
                                          .labels = row_of(folder, "labels", lo),
                                          .train = row_of(folder, "train", lo),
                                          .validation = row_of(folder, "validation", lo),
                                          .test = row_of(folder, "test", lo)};
    rows->x = gnn_tensor((gnn_real_t *)(uintptr_t)row_of(folder, "x", lo * folder->sizes.features),
                         hi - lo, folder->sizes.features);
    return GNN_OK;
}

/* ---- the whole set ---- */

static void release(void *user)
{
    gnn_partition_folder_free(user);
}

static int copy_ids(int64_t **to, const gnn_partition_folder_t *f, const char *name)
{
    const gnn_array_t *a = find(f, name);
    GNN_TRY(gnn__new(to, a->count, sizeof **to, name));
    if (a->count > 0)
        memcpy(*to, a->data, (size_t)a->count * sizeof **to);
    return GNN_OK;
}

int gnn__folder_classes(gnn_data_t *data, const gnn_partition_folder_t *f)
{
    const json_t *list = json_object_get(f->root, "class_names");
    const char **names;
    if (json_is_null(list))
        return GNN_OK;
    GNN_TRY(gnn__new(&names, f->sizes.classes, sizeof *names, "class names"));
    for (int64_t c = 0; c < f->sizes.classes; c++)
        names[c] = json_string_value(json_array_get(list, (size_t)c));
    const int rc = gnn__data_copy_class_names(data, names);
    gnn_free(names);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, GNN__FOLDER_HEADER);
}

static int take_rows(gnn_data_t *data, const gnn_partition_folder_t *f,
                     const gnn_partition_folder_rows_t *rows)
{
    data->n = f->sizes.nodes;
    data->features = f->sizes.features;
    data->classes = f->sizes.classes;
    data->x = rows->x;
    if (rows->x_indptr) {
        data->x = (gnn_tensor_t){0};
        data->sparse =
            (gnn_sparse_t){data->n, data->features, rows->x_indptr, rows->x_indices, rows->x_values};
        GNN_TRY(gnn__sparse_validate(&data->sparse, "x_indices.npy, x_values.npy"));
    } else {
        GNN_TRY(gnn__tensor_check_finite(&data->x, "x.npy"));
    }
    data->labels = (int32_t *)(uintptr_t)rows->labels;
    for (int64_t i = 0; i < data->n; i++)
        if (data->labels[i] < -1 || data->labels[i] >= data->classes)
            return gnn__error(GNN_EFORMAT, "labels.npy: [%lld]: expected -1 to %lld, got %d",
                              (long long)i, (long long)data->classes - 1, (int)data->labels[i]);
    GNN_TRY(gnn_split_from_masks(&data->split, data->n, f->sizes.splits, rows->train,
                                 rows->validation, rows->test));
    const int rc = gnn__data_split_labelled(data, data->split);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "labels.npy");
}

static int take_graph(gnn_data_t *data, gnn_partition_folder_t *f,
                      const gnn_partition_folder_rows_t *rows)
{
    const gnn_owner_t owner = {release, f};
    GNN_TRY(copy_ids(&data->order, f, "order"));
    GNN_TRY(copy_ids(&data->edge_order, f, "edges"));
    GNN_TRY(gnn_graph_borrow_csr(&data->graph, data->n, data->n, rows->indptr, rows->indices, &owner));
    atomic_fetch_add(&f->users, 1);
    return GNN_OK;
}

static int take_named(gnn_data_t *data, const gnn_partition_folder_t *f)
{
    static const char *const places[] = {"node.", "edge.", "graph."};
    for (int64_t k = 0; k < f->count; k++)
        for (int p = 0; p < 3; p++) {
            gnn_array_t array = f->items[k].array;
            const char *file = array.name;
            const size_t length = strlen(places[p]);
            if (strncmp(f->items[k].name, places[p], length) != 0)
                continue;
            array.name = f->items[k].name + length;
            const int rc = gnn_data_array_set(data, (gnn_data_place_t)p, &array);
            if (rc != GNN_OK)
                return gnn__error_prefix(rc, "%s", file);
        }
    return GNN_OK;
}

int gnn__data_read_folder(gnn_data_t *data, const char *path)
{
    gnn_partition_folder_t *f = NULL;
    gnn_partition_folder_rows_t rows;
    int rc;
    GNN_CHECK(gnn__data_as_stored(data, "a folder of parts"));
    GNN_CHECK(gnn_partition_folder_open(&f, path, 1));
    GNN_CHECK(gnn_partition_folder_rows(f, 0, f->sizes.nodes, &rows));
    data->borrowed_x = data->borrowed_labels = true;
    data->owner = (gnn_owner_t){release, f};
    atomic_fetch_add(&f->users, 1);
    GNN_CHECK(take_rows(data, f, &rows));
    GNN_CHECK(gnn__folder_classes(data, f));
    GNN_CHECK(take_graph(data, f, &rows));
    GNN_CHECK(take_named(data, f));
done:
    gnn_partition_folder_free(f);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
