/* Writes a set as a folder in the order of a partition. Rows are gathered block by block, so that
 * memory does not depend on edges and features. */
#include <lib/data/partition.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <graphs/build.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 }; /* bytes, a multiple of 8 */

/* An array that is being written. */
typedef struct sink {
    gnn__output_t output;
    char *path, *block;
    int64_t used;
    uint64_t hash;
} sink_t;

typedef struct writer {
    const gnn_partition_t *p;
    const gnn_data_t *data;
    const gnn__pairs_t *pairs;
    const char *folder; /* under its temporary name */
    int64_t *rank;      /* (n) row of each node */
    char *block;
    struct link {
        int32_t sender;
        int64_t edge;
    } * row; /* links of one receiver */
    int64_t row_room;
    json_t *arrays; /* of the header */
} writer_t;

/* ---- one array ---- */

static int flush(sink_t *s)
{
    s->hash = gnn__hash_words(s->hash, s->block, (size_t)s->used);
    const int rc = gnn__output_write(&s->output, s->block, s->used);
    s->used = 0;
    return rc;
}

static int put(sink_t *s, const void *data, int64_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const int64_t some = gnn__min(bytes, BLOCK - s->used);
        memcpy(s->block + s->used, at, (size_t)some);
        s->used += some;
        at += some;
        bytes -= some;
        if (s->used == BLOCK)
            GNN_TRY(flush(s));
    }
    return GNN_OK;
}

/* Adds the array's entry to the header; `name` NULL: the key is the name. */
static int describe(writer_t *w, const char *key, const char *name, const gnn_array_t *like,
                    uint64_t hash)
{
    char sum[20];
    json_t *shape = json_array(), *entry;
    int failed = shape == NULL;
    for (int d = 0; d < like->ndim && !failed; d++)
        failed = json_array_append_new(shape, json_integer((json_int_t)like->shape[d])) != 0;
    gnn__folder_sum_text(sum, hash);
    entry = failed ? NULL
                   : json_pack("{s:s, s:O, s:s, s:s*}", "dtype", gnn__element(like->dtype)->name,
                               "shape", shape, "checksum", sum, "name", name);
    json_decref(shape);
    if (json_object_set_new(w->arrays, key, entry) != 0)
        return gnn__error(GNN_EMEMORY, "out of memory for the header of a folder");
    return GNN_OK;
}

/* Calls `fill` between the header of the file and its end. */
static int write_array(writer_t *w, const char *key, const char *name, const gnn_array_t *like,
                       int (*fill)(writer_t *w, sink_t *s, const void *user), const void *user)
{
    sink_t s = {.output = {.fd = -1}, .block = w->block};
    char *header = NULL;
    int64_t length, bytes = like->count * (int64_t)gnn__element(like->dtype)->size;
    int rc;
    s.hash = gnn__hash_start(GNN__HASH_START, (uint64_t)bytes);
    GNN_CHECK(gnn__asprintf(&s.path, "%s/%s.npy", w->folder, key));
    GNN_CHECK(gnn__npy_header(&header, &length, like));
    GNN_CHECK(gnn__output_open(&s.output, s.path));
    GNN_CHECK(gnn__output_write(&s.output, header, length));
    GNN_CHECK(fill(w, &s, user));
    GNN_CHECK(flush(&s));
    GNN_CHECK(gnn__output_commit(&s.output));
    GNN_CHECK(describe(w, key, name, like, s.hash));
done:
    gnn__output_close(&s.output);
    gnn_free(header);
    gnn_free(s.path);
    return rc;
}

static gnn_array_t list_of(gnn_dtype_t dtype, int64_t count)
{
    return (gnn_array_t){.dtype = dtype, .ndim = 1, .shape = {count}, .count = count};
}

/* ---- the graph ---- */

static int by_sender(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    return x->sender != y->sender ? (x->sender > y->sender) - (x->sender < y->sender)
                                  : (x->edge > y->edge) - (x->edge < y->edge);
}

/* The links of row r in w->row, by sender in the new order; parallel edges by id. */
static int read_row(writer_t *w, int64_t r, int64_t *count)
{
    const int64_t i = w->p->order[r], from = w->pairs->indptr[i];
    *count = w->pairs->indptr[i + 1] - from;
    GNN_TRY(gnn__reserve(&w->row, &w->row_room, *count, sizeof *w->row, "a receiver's edges"));
    for (int64_t k = 0; k < *count; k++) {
        const int64_t edge =
            w->pairs->edge ? w->pairs->edge[from + k] : w->pairs->edge_base + from + k;
        w->row[k] = (struct link){(int32_t)w->rank[w->pairs->indices[from + k]], edge};
    }
    qsort(w->row, (size_t)*count, sizeof *w->row, by_sender);
    return GNN_OK;
}

static int fill_order(writer_t *w, sink_t *s, const void *user)
{
    (void)user;
    for (int64_t r = 0; r < w->p->n; r++) {
        const int64_t i = w->p->order[r], node = w->data->order ? w->data->order[i] : i;
        GNN_TRY(put(s, &node, sizeof node));
    }
    return GNN_OK;
}

static int fill_indptr(writer_t *w, sink_t *s, const void *user)
{
    const int64_t *indptr = user;
    int64_t sum = 0;
    GNN_TRY(put(s, &sum, sizeof sum));
    for (int64_t r = 0; r < w->p->n; r++) {
        const int64_t i = w->p->order[r];
        sum += indptr[i + 1] - indptr[i];
        GNN_TRY(put(s, &sum, sizeof sum));
    }
    return GNN_OK;
}

static int fill_indices(writer_t *w, sink_t *s, const void *user)
{
    (void)user;
    for (int64_t r = 0, count; r < w->p->n; r++) {
        GNN_TRY(read_row(w, r, &count));
        for (int64_t k = 0; k < count; k++)
            GNN_TRY(put(s, &w->row[k].sender, sizeof w->row[k].sender));
    }
    return GNN_OK;
}

static int fill_edges(writer_t *w, sink_t *s, const void *user)
{
    const int64_t *order = w->data->edge_order;
    (void)user;
    for (int64_t r = 0, count; r < w->p->n; r++) {
        GNN_TRY(read_row(w, r, &count));
        for (int64_t k = 0; k < count; k++) {
            const int64_t edge = order ? order[w->row[k].edge] : w->row[k].edge;
            GNN_TRY(put(s, &edge, sizeof edge));
        }
    }
    return GNN_OK;
}

static int write_graph(writer_t *w)
{
    const int64_t n = w->p->n, m = w->p->m;
    const gnn_array_t order = list_of(GNN_DTYPE_INT64, n), indptr = list_of(GNN_DTYPE_INT64, n + 1),
                      indices = list_of(GNN_DTYPE_INT32, m), edges = list_of(GNN_DTYPE_INT64, m);
    GNN_TRY(write_array(w, "order", NULL, &order, fill_order, NULL));
    GNN_TRY(write_array(w, "indptr", NULL, &indptr, fill_indptr, w->pairs->indptr));
    GNN_TRY(write_array(w, "indices", NULL, &indices, fill_indices, NULL));
    return write_array(w, "edges", NULL, &edges, fill_edges, NULL);
}

/* ---- rows of nodes and edges ---- */

/* Bytes from one row to the next, and bytes of a row. */
typedef struct rows {
    const char *data;
    int64_t stride, bytes;
} rows_t;

static int fill_nodes(writer_t *w, sink_t *s, const void *user)
{
    const rows_t *rows = user;
    for (int64_t r = 0; r < w->p->n; r++)
        GNN_TRY(put(s, rows->data + w->p->order[r] * rows->stride, rows->bytes));
    return GNN_OK;
}

static int fill_edge_rows(writer_t *w, sink_t *s, const void *user)
{
    const rows_t *rows = user;
    for (int64_t r = 0, count; r < w->p->n; r++) {
        GNN_TRY(read_row(w, r, &count));
        for (int64_t k = 0; k < count; k++)
            GNN_TRY(put(s, rows->data + w->row[k].edge * rows->stride, rows->bytes));
    }
    return GNN_OK;
}

static int fill_plain(writer_t *w, sink_t *s, const void *user)
{
    const rows_t *rows = user;
    (void)w;
    return put(s, rows->data, rows->bytes);
}

static int fill_masks(writer_t *w, sink_t *s, const void *user)
{
    const int part = *(const int *)user;
    for (int64_t split = 0; split < w->data->split->count; split++)
        for (int64_t r = 0; r < w->p->n; r++)
            GNN_TRY(put(s, gnn__split_marks(w->data->split, part, split) + w->p->order[r], 1));
    return GNN_OK;
}

typedef struct ragged {
    const int64_t *indptr;
    const char *data;
    int64_t element;
} ragged_t;

static int fill_ragged(writer_t *w, sink_t *s, const void *user)
{
    const ragged_t *from = user;
    for (int64_t r = 0; r < w->p->n; r++) {
        const int64_t i = w->p->order[r], at = from->indptr[i];
        GNN_TRY(put(s, from->data + at * from->element, (from->indptr[i + 1] - at) * from->element));
    }
    return GNN_OK;
}

static int write_features(writer_t *w)
{
    const gnn_data_t *d = w->data;
    const gnn_sparse_t *x = &d->sparse;
    if (!x->indptr) {
        const int64_t stride = d->x.stride ? d->x.stride : d->features,
                      real = (int64_t)sizeof(gnn_real_t);
        const gnn_array_t like = {.dtype = GNN__REAL_DTYPE,
                                  .ndim = 2,
                                  .shape = {d->n, d->features},
                                  .count = d->n * d->features};
        const rows_t rows = {(const char *)d->x.data, stride * real, d->features * real};
        return write_array(w, "x", NULL, &like, fill_nodes, &rows);
    }
    const int64_t stored = x->indptr[d->n];
    const gnn_array_t indptr = list_of(GNN_DTYPE_INT64, d->n + 1),
                      indices = list_of(GNN_DTYPE_INT32, stored),
                      values = list_of(GNN__REAL_DTYPE, stored);
    const ragged_t columns = {x->indptr, (const char *)x->indices, sizeof *x->indices},
                   reals = {x->indptr, (const char *)x->values, sizeof *x->values};
    GNN_TRY(write_array(w, "x_indptr", NULL, &indptr, fill_indptr, x->indptr));
    GNN_TRY(write_array(w, "x_indices", NULL, &indices, fill_ragged, &columns));
    return write_array(w, "x_values", NULL, &values, fill_ragged, &reals);
}

static int write_labels(writer_t *w)
{
    static const char *const names[] = {"train", "validation", "test"};
    const gnn_data_t *d = w->data;
    const gnn_array_t labels = list_of(GNN_DTYPE_INT32, d->n);
    const gnn_array_t masks = {.dtype = GNN_DTYPE_BOOL,
                               .ndim = 2,
                               .shape = {d->split->count, d->n},
                               .count = d->split->count * d->n};
    const rows_t rows = {(const char *)d->labels, sizeof *d->labels, sizeof *d->labels};
    GNN_TRY(write_array(w, "labels", NULL, &labels, fill_nodes, &rows));
    for (int part = 0; part < 3; part++)
        GNN_TRY(write_array(w, names[part], NULL, &masks, fill_masks, &part));
    return GNN_OK;
}

static int write_named(writer_t *w, int64_t index)
{
    static const char *const places[] = {
        [GNN_ON_NODES] = "node", [GNN_ON_EDGES] = "edge", [GNN_ON_GRAPHS] = "graph"};
    const gnn__data_array_t *a = &w->data->arrays[index];
    const int64_t n = a->array.ndim > 0 ? a->array.shape[0] : 1,
                  size = a->array.count * (int64_t)gnn__element(a->array.dtype)->size;
    char key[40];
    if (a->place == GNN_ON_TYPES)
        return gnn__error(
            GNN_EUNSUPPORTED,
            "array %.80s has rows per type of nodes, which a folder does not store; expected rows per node, edge or graph",
            a->array.name);
    const bool rowwise = a->place != GNN_ON_GRAPHS;
    const int64_t bytes = rowwise ? size / gnn__max(n, 1) : size;
    const rows_t rows = {a->array.data, bytes, bytes};
    snprintf(key, sizeof key, "%s.%lld", places[a->place], (long long)index);
    return write_array(w, key, a->array.name, &a->array,
                       a->place == GNN_ON_NODES   ? fill_nodes
                       : a->place == GNN_ON_EDGES ? fill_edge_rows
                                                  : fill_plain,
                       &rows);
}

/* ---- the header ---- */

void gnn__folder_sum_text(char sum[20], uint64_t hash)
{
    snprintf(sum, 20, "%016llx", (unsigned long long)hash);
}

int gnn__folder_checksum(char sum[20], const json_t *header)
{
    json_t *rest = json_object();
    const char *key;
    json_t *value;
    char *text = NULL;
    int failed = rest == NULL;
    json_object_foreach((json_t *)(uintptr_t)header, key, value) if (strcmp(key, "checksum") != 0)
        failed |= json_object_set(rest, key, value);
    int rc = failed ? gnn__error(GNN_EMEMORY, "out of memory for the header of a folder")
                    : gnn__json_write(&text, rest, JSON_COMPACT | JSON_SORT_KEYS);
    if (rc == GNN_OK)
        gnn__folder_sum_text(sum, gnn__hash_words(gnn__hash_start(GNN__HASH_START, strlen(text)),
                                                  text, strlen(text)));
    gnn_free(text);
    json_decref(rest);
    return rc;
}

static json_t *integers(int64_t count, const int64_t *values)
{
    json_t *list = json_array();
    for (int64_t k = 0; list && k < count; k++)
        if (json_array_append_new(list, json_integer((json_int_t)values[k])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *class_names(const gnn_data_t *data)
{
    json_t *list = data->class_names ? json_array() : json_null();
    for (int64_t c = 0; list && data->class_names && c < data->classes; c++)
        if (json_array_append_new(list, json_string(data->class_names[c])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static int write_header(writer_t *w)
{
    const gnn_partition_t *p = w->p;
    const gnn_data_t *d = w->data;
    gnn__output_t output = {.fd = -1};
    char sum[20], *text = NULL, *path = NULL;
    int rc;
    json_t *root = json_pack(
        "{s:s, s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:s, s:o, s:o, s:O}", "format",
        GNN__FOLDER_FORMAT, "version", GNN__FOLDER_VERSION, "name", d->name, "nodes",
        (json_int_t)p->n, "edges", (json_int_t)p->m, "features", (json_int_t)d->features, "classes",
        (json_int_t)d->classes, "splits", (json_int_t)d->split->count, "parts",
        (json_int_t)p->parts, "slice", GNN_SLICE, "method", p->method, "book",
        integers(p->parts + 1, p->book), "class_names", class_names(d), "arrays", w->arrays);
    GNN_CHECK(root ? GNN_OK : gnn__error(GNN_EMEMORY, "out of memory for the header of a folder"));
    GNN_CHECK(gnn__folder_checksum(sum, root));
    if (json_object_set_new(root, "checksum", json_string(sum)) != 0)
        GNN_CHECK(gnn__error(GNN_EMEMORY, "out of memory for the header of a folder"));
    GNN_CHECK(gnn__json_write(&text, root, JSON_INDENT(1)));
    GNN_CHECK(gnn__asprintf(&path, "%s/%s", w->folder, GNN__FOLDER_HEADER));
    GNN_CHECK(gnn__output_open(&output, path));
    GNN_CHECK(gnn__output_write(&output, text, (int64_t)strlen(text)));
    GNN_CHECK(gnn__output_write(&output, "\n", 1));
    GNN_CHECK(gnn__output_commit(&output));
done:
    gnn__output_close(&output);
    json_decref(root);
    gnn_free(text);
    gnn_free(path);
    return rc;
}

/* ---- the folder ---- */

static int write_files(writer_t *w)
{
    GNN_TRY(gnn__new(&w->block, BLOCK, 1, "a block of a file"));
    GNN_TRY(gnn__order_invert(w->p->n, w->p->order, &w->rank));
    w->arrays = json_object();
    if (!w->arrays)
        return gnn__error(GNN_EMEMORY, "out of memory for the header of a folder");
    GNN_TRY(write_graph(w));
    GNN_TRY(write_features(w));
    GNN_TRY(write_labels(w));
    for (int64_t k = 0; k < w->data->n_arrays; k++)
        GNN_TRY(write_named(w, k));
    return write_header(w);
}

/* Removes the folder with its files, without memory: `entries` was opened before they were made. */
static void remove_files(DIR *entries, const char *folder)
{
    rewinddir(entries);
    for (struct dirent *d; (d = readdir(entries)) != NULL;)
        unlinkat(dirfd(entries), d->d_name, 0);
    rmdir(folder);
}

static int check(const gnn_partition_t *p, const gnn_data_t *data, const char *folder)
{
    bool there;
    if (p->n != data->n || p->m != gnn_graph_n_edges(data->graph))
        return gnn__error(GNN_EINVALID,
                          "partition: expected the set of %lld nodes and %lld edges that was "
                          "divided, got %lld and %lld",
                          (long long)p->n, (long long)p->m, (long long)data->n,
                          (long long)gnn_graph_n_edges(data->graph));
    GNN_TRY(gnn__file_there(&there, folder));
    /* an empty folder can be removed; any other is kept */
    if (there && rmdir(folder) != 0)
        return gnn__error(GNN_EIO, "%s: expected a new name or an empty folder: %s", folder,
                          strerror(errno));
    return GNN_OK;
}

int gnn_partition_write(const gnn_partition_t *partition, const gnn_data_t *data, const char *folder)
{
    GNN__NEED(partition);
    GNN__NEED(data);
    GNN__NEED(folder);
    size_t length = strlen(folder);
    char *target = NULL, *temporary = NULL;
    writer_t w = {.p = partition, .data = data};
    DIR *entries = NULL;
    int rc;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    GNN_CHECK(gnn__data_one_graph(data, "partitioned"));
    GNN_CHECK(gnn__asprintf(&target, "%.*s", (int)length, folder));
    GNN_CHECK(check(partition, data, target));
    w.pairs = &data->graph->base.parts[0].pairs;
    gnn__temporaries_sweep(target);
    GNN_CHECK(gnn__temporary_name(&temporary, target, false));
    if (mkdir(temporary, 0777) != 0)
        GNN_CHECK(gnn__error(GNN_EIO, "%s: %s", temporary, strerror(errno)));
    w.folder = temporary;
    entries = opendir(temporary);
    rc = entries ? write_files(&w)
                 : gnn__error(errno == ENOMEM ? GNN_EMEMORY : GNN_EIO, "%s: %s", temporary,
                              strerror(errno));
    if (rc == GNN_OK && rename(temporary, target) != 0)
        rc = gnn__error(GNN_EIO, "%s: renaming into place: %s", target, strerror(errno));
    if (rc != GNN_OK && entries)
        remove_files(entries, temporary);
    else if (rc != GNN_OK)
        rmdir(temporary);
done:
    if (entries)
        closedir(entries);
    json_decref(w.arrays);
    gnn_free(w.block);
    gnn_free(w.row);
    gnn_free(w.rank);
    gnn_free(target);
    gnn_free(temporary);
    return rc;
}
