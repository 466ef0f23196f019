/* Partitions of drawn and small sets, their folders, and folders that are damaged. */
#include "data_tiny.h"
#include "readers.h"

#include <graphs/graph.h>
#include <jansson.h>
#include <lib/data/arrays/arrays.h>
#include <lib/data/partition.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 5000, LINKS = 60000, GROUPS = 10, FEATURES = 3 };

static double draw(uint64_t stream, int64_t k)
{
    return gnn__uniform(5, stream, (uint64_t)k);
}

/* Degrees of a power law, as in tolokers, and groups with most links inside. */
static gnn_data_t *drawn(bool sparse)
{
    static int32_t src[LINKS], dst[LINKS], labels[N];
    static gnn_real_t x[N * FEATURES], weight[LINKS];
    static int64_t indptr[N + 1];
    static int32_t indices[N];
    gnn_data_t *data;
    for (int64_t k = 0; k < LINKS; k++) {
        const double far = draw(1, k), u = draw(2, k), v = draw(3, k);
        int64_t a = (int64_t)(N * u * u * u), b = (int64_t)(N * v);
        if (far < 0.8)
            b = b / GROUPS * GROUPS % N + a % GROUPS;
        src[k] = (int32_t)a;
        dst[k] = (int32_t)(b < N ? b : a);
        weight[k] = (gnn_real_t)(1 + k % 7);
    }
    for (int64_t i = 0; i < N; i++) {
        labels[i] = i % 5 == 0 ? -1 : (int32_t)(i % 3);
        indptr[i + 1] = i + 1;
        indices[i] = (int32_t)(i % FEATURES);
        for (int64_t f = 0; f < FEATURES; f++)
            x[i * FEATURES + f] = (gnn_real_t)(i * FEATURES + f);
    }
    const gnn_tensor_t dense = gnn_tensor(x, N, FEATURES);
    const gnn_sparse_t bags = {N, FEATURES, indptr, indices, x};
    ck_ok(gnn_data_new(
        &data, &(gnn_data_config_t){.nodes = N,
                                    .edges = LINKS,
                                    .src = gnn_ints(src),
                                    .dst = gnn_ints(dst),
                                    .both_ways = GNN_ON,
                                    .weight = weight,
                                    .x = sparse ? NULL : &dense,
                                    .sparse = sparse ? &bags : NULL,
                                    .labels = gnn_ints(labels),
                                    .class_names = (const char *[]){"red", "green", "blue"}}));
    ck_ok(gnn_data_split_draw(
        data, &(gnn_split_rule_t){.splits = 2, .train_share = 0.5, .validation_share = 0.2}));
    ck_ok(gnn_data_array_set(data, GNN_ON_NODES,
                             &(gnn_array_t){"ages/years", GNN_DTYPE_INT32, 1, {N}, N, labels}));
    return data;
}

static gnn_partition_t *parted(const gnn_data_t *data, int64_t parts, const char *method)
{
    gnn_partition_t *p;
    ck_ok(gnn_partition_new(&p, data, &(gnn_partition_config_t){.parts = parts, .method = method}));
    return p;
}

static const char *const methods[] = {"range", "hash", "metis"};
enum { METHODS = GNN__METIS ? 3 : 2 };

/* ---- partitions ---- */

START_TEST(every_node_once_and_borders_at_slices)
{
    gnn_data_t *data = drawn(false);
    for (int k = 0; k < METHODS; k++)
        for (int64_t parts = 1; parts <= 10; parts += parts < 3 ? 1 : 7) {
            gnn_partition_t *p = parted(data, parts, methods[k]);
            const int64_t *book = gnn_partition_sizes(p).book, *order = p->order;
            uint8_t *seen = calloc(N, 1);
            ck_assert_str_eq(gnn_partition_sizes(p).method, methods[k]);
            ck_assert_int_eq(gnn_partition_sizes(p).parts, parts);
            for (int64_t r = 0; r < N; r++) {
                ck_assert_int_eq(seen[order[r]], 0);
                seen[order[r]] = 1;
            }
            ck_assert_int_eq(book[0], 0);
            ck_assert_int_eq(book[parts], N);
            for (int64_t b = 1; b <= parts; b++) {
                ck_assert_int_gt(book[b], book[b - 1]);
                ck_assert(b == parts || book[b] % GNN_SLICE == 0);
            }
            free(seen);
            gnn_partition_free(p);
        }
    gnn_data_free(data);
}
END_TEST

/* By definition, in O(parts x edges). */
START_TEST(sizes_of_exchanges_equal_their_definition)
{
    enum { PARTS_ = 4 };
    gnn_data_t *data = drawn(false);
    gnn_partition_t *p = parted(data, PARTS_, "hash");
    const int64_t m = gnn_graph_n_pairs(gnn_data_graph(data)), *book = gnn_partition_sizes(p).book;
    int64_t *src = calloc((size_t)m, 8), *dst = calloc((size_t)m, 8), *of = calloc(N, 8), cut = 0;
    uint8_t *halo = calloc(PARTS_ * N, 1);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), src, dst, NULL));
    for (int64_t part = 0; part < PARTS_; part++)
        for (int64_t r = book[part]; r < book[part + 1]; r++)
            of[p->order[r]] = part;
    for (int64_t k = 0; k < m; k++)
        if (of[src[k]] != of[dst[k]]) {
            cut++;
            halo[of[dst[k]] * N + src[k]] = 1;
        }
    ck_assert_int_eq(gnn_partition_sizes(p).cut, cut);
    for (int64_t part = 0; part < PARTS_; part++) {
        gnn_partition_part_t s;
        gnn_partition_step_t step;
        int64_t rows = 0, edges = 0, sent = 0;
        for (int64_t i = 0; i < N; i++)
            rows += halo[part * N + i];
        for (int64_t k = 0; k < m; k++)
            edges += of[dst[k]] == part;
        for (int64_t other = 0; other < PARTS_; other++)
            for (int64_t i = 0; i < N; i++)
                sent += other != part && of[i] == part && halo[other * N + i];
        ck_ok(gnn_partition_part(p, part, &s));
        ck_assert_int_eq(s.halo, rows);
        ck_assert_int_eq(s.edges, edges);
        ck_assert_int_eq(s.sent, sent);
        ck_assert_int_eq(s.nodes, book[part + 1] - book[part]);
        /* links go both ways: gradients travel as rows do */
        ck_assert_int_eq(s.halo_back, s.halo);
        ck_assert_int_eq(s.sent_back, s.sent);
        ck_ok(gnn_partition_step(p, part, 2, (int64_t[]){16, 8}, &step));
        ck_assert_int_eq(step.bytes_sent, (int64_t)sizeof(gnn_real_t) * 24 * 2 * sent);
        ck_assert_int_eq(step.bytes_received, (int64_t)sizeof(gnn_real_t) * 24 * 2 * rows);
        ck_assert_int_eq(step.messages_sent, 2 * 2 * (PARTS_ - 1));
        ck_assert_int_eq(step.messages_received, 2 * 2 * (PARTS_ - 1));
        ck_assert_int_gt(step.memory, s.features + 16 * edges);
    }
    ck_assert_int_eq(
        memcmp(gnn_partition_sizes(p).traffic, p->back, PARTS_ * PARTS_ * sizeof(int64_t)), 0);
    ck_fails(gnn_partition_step(p, PARTS_, 1, (int64_t[]){1}, &(gnn_partition_step_t){0}),
             GNN_EINVALID, "part: expected 0 to 3, got 4");
    ck_fails(gnn_partition_step(p, 0, 1, (int64_t[]){0}, &(gnn_partition_step_t){0}), GNN_EINVALID,
             "width of layer 0 is 0, expected at least 1");
    free(src);
    free(dst);
    free(of);
    free(halo);
    gnn_partition_free(p);
    gnn_data_free(data);
}
END_TEST

#if GNN__METIS
START_TEST(metis_balances_edges_and_training_nodes_with_fewer_cut_edges)
{
    gnn_data_t *data = drawn(false);
    gnn_partition_t *by_hash = parted(data, 4, "hash"), *by_metis = parted(data, 4, "metis");
    int64_t edges = 0, training = 0;
    gnn_partition_part_t s;
    ck_assert_int_lt(gnn_partition_sizes(by_metis).cut, gnn_partition_sizes(by_hash).cut);
    for (int64_t part = 0; part < 4; part++) {
        ck_ok(gnn_partition_part(by_metis, part, &s));
        edges = edges > s.edges ? edges : s.edges;
        training = training > s.training ? training : s.training;
    }
    ck_assert_msg((double)edges <= 1.25 * LINKS * 2 / 4, "%lld edges in a part", (long long)edges);
    ck_assert_msg((double)training <= 1.25 * N * 0.4 / 4, "%lld training nodes", (long long)training);
    gnn_partition_free(by_hash);
    gnn_partition_free(by_metis);
    gnn_data_free(data);
}
END_TEST
#endif

START_TEST(settings_that_do_not_fit_are_refused)
{
    gnn_data_t *data = drawn(false);
    gnn_partition_t *p = (gnn_partition_t *)1;
    int32_t *of = calloc(N, sizeof *of);
    of[7] = 3;
#define REFUSED(code, words, ...) \
    ck_fails(gnn_partition_new(&p, data, &(gnn_partition_config_t){__VA_ARGS__}), code, words)
    REFUSED(GNN_EINVALID, "parts: expected 1 to 4096, got 0", .parts = 0);
    ck_assert_ptr_null(p);
    REFUSED(GNN_EINVALID, "expected at most 10, the slices of 512 rows of 5000 nodes, got 11",
            .parts = 11);
    REFUSED(GNN_ENOTFOUND, "metis, hash, range", .parts = 2, .method = "random");
    REFUSED(GNN_EINVALID, "part_of[7]: expected a part from 0 to 1, got 3", .parts = 2,
            .part_of = gnn_ints(of));
    REFUSED(GNN_EINVALID, "expected part_of or method, got both", .parts = 2, .method = "hash",
            .part_of = gnn_ints(of));
    REFUSED(GNN_EINVALID, "split: expected 0 to 1, got 2", .parts = 2, .split = 2);
    REFUSED(GNN_EINVALID, "node_cost", .parts = 2, .node_cost = -1);
    of[7] = 1;
    ck_ok(gnn_partition_new(&p, data, &(gnn_partition_config_t){.parts = 2, .part_of = gnn_ints(of)}));
    ck_assert_str_eq(gnn_partition_sizes(p).method, "given");
    gnn_partition_free(p);
    free(of);
    gnn_data_free(data);
}
END_TEST

/* ---- folders ---- */

static const char *folder_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/set", test_folder);
    return path;
}

static const char *file_of(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder_path(), name);
    return path;
}

static void write_folder(const gnn_data_t *data, int64_t parts, const char *method)
{
    gnn_partition_t *p = parted(data, parts, method);
    ck_ok(gnn_partition_write(p, data, folder_path()));
    gnn_partition_free(p);
}

static void saved_equals(const gnn_data_t *a, const gnn_data_t *b)
{
    gnn_arrays_t *x, *y;
    ck_ok(gnn_data_save(a, in_folder("a.npz")));
    ck_ok(gnn_npz_read(&x, in_folder("a.npz"), NULL));
    ck_ok(gnn_data_save(b, in_folder("b.npz")));
    ck_ok(gnn_npz_read(&y, in_folder("b.npz"), NULL));
    ck_assert_int_eq(x->count, y->count);
    for (int64_t k = 0; k < x->count; k++) {
        const gnn_array_t *one = gnn_arrays_at(x, k), *other = gnn_arrays_find(y, one->name);
        ck_assert_msg(other && one->dtype == other->dtype && one->count == other->count &&
                          memcmp(one->data, other->data,
                                 (size_t)one->count * gnn__element(one->dtype)->size) == 0,
                      "%s differs", one->name);
    }
    gnn_arrays_free(x);
    gnn_arrays_free(y);
}

START_TEST(a_folder_equals_its_set)
{
    for (int sparse = 0; sparse < 2; sparse++)
        for (int reordered = 0; reordered < 2; reordered++) {
            gnn_data_t *data = drawn(sparse), *again;
            char command[600];
            if (reordered)
                ck_ok(gnn_data_reorder(data));
            write_folder(data, 3, methods[METHODS - 1]);
            ck_ok(gnn_data_open(&again, folder_path()));
            ck_ok(gnn__graph_validate(gnn_data_graph(again)));
            saved_equals(data, again);
            ck_assert_str_eq(gnn_data_class_names(again)[1], "green");
            gnn_data_free(again);
            gnn_data_free(data);
            snprintf(command, sizeof command, "rm -r %s", folder_path());
            ck_assert_int_eq(system(command), 0);
        }
}
END_TEST

START_TEST(rows_of_any_count_of_ranks_cover_the_folder)
{
    gnn_data_t *data = drawn(false), *whole;
    gnn_partition_folder_t *folder;
    write_folder(data, 6, "range");
    ck_ok(gnn_data_open(&whole, folder_path()));
    ck_ok(gnn_partition_folder_open(&folder, folder_path(), 0));
    ck_assert_int_eq(gnn_partition_folder_sizes(folder).parts, 6);
    for (int64_t ranks = 1; ranks <= 13; ranks++) {
        int64_t book[14], edges = 0;
        ck_ok(gnn_partition_folder_book(folder, ranks, book));
        ck_assert_int_eq(book[0], 0);
        ck_assert_int_eq(book[ranks], N);
        for (int64_t r = 0; r < ranks; r++) {
            gnn_partition_folder_rows_t rows;
            ck_assert(book[r] <= book[r + 1] && (book[r] % GNN_SLICE == 0 || book[r] == N));
            ck_ok(gnn_partition_folder_rows(folder, book[r], book[r + 1], &rows));
            edges += rows.indptr[rows.hi - rows.lo] - rows.indptr[0];
            for (int64_t k = 0; k < rows.hi - rows.lo; k++) {
                gnn_graph_row_t row;
                const int64_t i = rows.lo + k;
                ck_ok(gnn_graph_row(gnn_data_graph(whole), 0, i, &row));
                ck_assert_int_eq(row.count, rows.indptr[k + 1] - rows.indptr[k]);
                for (int64_t e = 0; e < row.count; e++)
                    ck_assert_int_eq(row.senders[e], rows.indices[rows.indptr[k] + e]);
                ck_assert_int_eq(rows.labels[k], gnn_data_labels(whole)[i]);
                ck_assert_int_eq(rows.train[N + k], gnn_data_mask(whole, GNN_TRAIN, 1)[i]);
                ck_assert(rows.x.data[k * FEATURES] == gnn_data_x(whole)->data[i * FEATURES]);
            }
        }
        ck_assert_int_eq(edges, 2 * LINKS);
    }
    gnn_partition_folder_free(folder);
    gnn_data_free(whole);
    gnn_data_free(data);
}
END_TEST

START_TEST(a_folder_is_complete_or_not_there)
{
    gnn_data_t *data = drawn(false);
    gnn_partition_t *p = parted(data, 2, "range");
    ck_ok(gnn_partition_write(p, data, folder_path()));
    ck_fails(gnn_partition_write(p, data, folder_path()), GNN_EIO, "expected a new name");
    for (int64_t k = 1;; k += k < 20 ? 1 : 5) {
        gnn__fail_allocation(k);
        const int rc = gnn_partition_write(p, data, in_folder("other"));
        gnn__fail_allocation(0);
        if (rc == GNN_OK)
            break;
        ck_assert_int_eq(rc, GNN_EMEMORY);
    }
    char command[600];
    snprintf(command, sizeof command, "test \"$(ls %s | tr '\\n' ' ')\" = 'other set '", test_folder);
    ck_assert_int_eq(system(command), 0);
    gnn_partition_free(p);
    gnn_data_free(data);
}
END_TEST

/* Kills a writer after this many microseconds. */
static void kill_writer(const gnn_partition_t *p, const gnn_data_t *data, useconds_t after)
{
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(gnn_partition_write(p, data, folder_path()) == GNN_OK ? 0 : 1);
    usleep(after);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

START_TEST(a_killed_writer_leaves_a_whole_folder_or_none)
{
    gnn_data_t *data = drawn(false);
    gnn_partition_t *p = parted(data, 2, "range");
    int missing = 0;
    for (useconds_t k = 0; k < 12; k++) {
        gnn_partition_folder_t *folder;
        kill_writer(p, data, 500 + 1500 * k);
        const int rc = gnn_partition_folder_open(&folder, folder_path(), 1);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EIO, "%s", gnn_error_message());
        gnn_partition_folder_free(folder);
        missing += rc != GNN_OK;
        if (rc != GNN_OK) /* the next writer removes what the killed one has left */
            ck_ok(gnn_partition_write(p, data, folder_path()));
        char command[600];
        snprintf(command, sizeof command, "test \"$(ls %s | tr '\\n' ' ')\" = 'set ' && rm -r %s/set",
                 test_folder, test_folder);
        ck_assert_msg(system(command) == 0, "after %d us", (int)(500 + 1500 * k));
    }
    ck_assert_int_gt(missing, 0);
    gnn_partition_free(p);
    gnn_data_free(data);
}
END_TEST

/* ---- damaged folders ---- */

/* Replaces a text of the header, which must be there once or more. */
static void edit(const char *from, const char *to)
{
    static char text[1 << 16], made[1 << 16];
    FILE *file = fopen(file_of(GNN__FOLDER_HEADER), "r");
    const size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "the header has no %s", from);
    const int length =
        snprintf(made, sizeof made, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    file = fopen(file_of(GNN__FOLDER_HEADER), "w");
    fwrite(made, 1, (size_t)length, file);
    fclose(file);
}

/* Replaces one element of an array, and (`seal`) the checksums of array and header. */
static void poke(const char *key, int64_t index, int64_t value, bool seal)
{
    gnn_array_t array;
    gnn_owner_t owner;
    char name[40], sum[20];
    snprintf(name, sizeof name, "%s.npy", key);
    ck_ok(gnn_npy_map(&array, &owner, file_of(name)));
    const size_t size = gnn__element(array.dtype)->size, bytes = (size_t)array.count * size;
    char *copy = malloc(bytes);
    const float real = (float)value;
    memcpy(copy, array.data, bytes);
    memcpy(copy + (size_t)index * size,
           array.dtype == GNN_DTYPE_FLOAT32 ? (const void *)&real : (const void *)&value, size);
    array.data = copy;
    ck_ok(gnn_npy_write(file_of(name), &array));
    owner.release(owner.user);
    if (seal) {
        json_t *root = json_load_file(file_of(GNN__FOLDER_HEADER), 0, NULL);
        gnn__folder_sum_text(sum,
                             gnn__hash_words(gnn__hash_start(GNN__HASH_START, bytes), copy, bytes));
        json_object_set_new(json_object_get(json_object_get(root, "arrays"), key), "checksum",
                            json_string(sum));
        ck_ok(gnn__folder_checksum(sum, root));
        json_object_set_new(root, "checksum", json_string(sum));
        ck_assert_int_eq(json_dump_file(root, file_of(GNN__FOLDER_HEADER), JSON_INDENT(1)), 0);
        json_decref(root);
    }
    free(copy);
}

static void cut(const char *name, int64_t bytes)
{
    ck_assert_int_eq(truncate(file_of(name), bytes), 0);
}

enum { EDIT, POKE, SEAL, CUT, GONE };
static const struct damage {
    int kind;
    const char *from, *to; /* of the header; or the array */
    int64_t index, value;
    int code;
    const char *words;
} damages[] = {
    {GONE, "partition.json", NULL, 0, 0, GNN_EIO, "set"},
    {GONE, "indices.npy", NULL, 0, 0, GNN_EIO, "indices.npy: No such file"},
    {CUT, "labels.npy", NULL, 1000, 0, GNN_EFORMAT, "labels.npy: declares 5000 int32"},
    {CUT, "partition.json", NULL, 300, 0, GNN_EFORMAT, "partition.json: "},
    {EDIT, "\"libgnn partition\"", "\"other\"", 0, 0, GNN_EFORMAT,
     "\"format\": expected \"libgnn partition\", got \"other\""},
    {EDIT, "\"version\": 1", "\"version\": 2", 0, 0, GNN_EUNSUPPORTED,
     "\"version\": expected 1, got 2"},
    {EDIT, "\"slice\": 512", "\"slice\": 256", 0, 0, GNN_EFORMAT,
     "\"slice\": expected 512 to 512, got 256"},
    {EDIT, "\"nodes\": 5000", "\"nodes\": \"many\"", 0, 0, GNN_EFORMAT,
     "\"nodes\": expected an integer"},
    {EDIT, "\"nodes\": 5000", "\"nodes\": 4999", 0, 0, GNN_EFORMAT,
     "\"book\"[3]: expected 4999, got 5000"},
    {EDIT, "\"splits\": 2", "\"splits\": 3", 0, 0, GNN_EFORMAT,
     "array: train: shape: expected 3 x 5000, got 2 x 5000"},
    {EDIT, "\"book\": [\n  0,", "\"book\": [\n  512,", 0, 0, GNN_EFORMAT,
     "\"book\"[0]: expected 0, got 512"},
    {EDIT, "\"book\": [\n  0,\n  1024,", "\"book\": [\n  0,\n  4608,", 0, 0, GNN_EFORMAT,
     "\"book\"[2]: expected more than 4608, got "},
    {EDIT, "\"book\": [\n  0,\n  1024,", "\"book\": [\n  0,\n  1025,", 0, 0, GNN_EFORMAT,
     "\"book\"[1]: expected a multiple of 512, got 1025"},
    {EDIT, "\"book\": [\n  0,\n  1024,", "\"book\": [\n  0,\n  512,", 0, 0, GNN_EFORMAT,
     "checksum: expected"},
    {EDIT, "\"parts\": 3", "\"parts\": 4", 0, 0, GNN_EFORMAT, "\"book\": expected 5 integers, got 4"},
    {EDIT, "\"method\": \"given\"", "\"method\": \"guess\"", 0, 0, GNN_EFORMAT,
     "\"method\": expected metis, hash, range or given, got \"guess\""},
    {EDIT, "\"splits\": 2", "\"splits\": 2, \"colour\": 1", 0, 0, GNN_EUNSUPPORTED,
     "partition.json: \"colour\" is 1, a key that is known here"},
    {EDIT, "\"splits\": 2,", "", 0, 0, GNN_EFORMAT, "key \"splits\" is missing"},
    {EDIT, "\"splits\": 2,", "\"splits\": 2, \"splits\": 2,", 0, 0, GNN_EFORMAT, "partition.json: "},
    {EDIT, "\"order\": {", "\"../order\": {", 0, 0, GNN_EFORMAT, "unknown array \"../order\""},
    {EDIT, "\"order\": {", "\"order\": {\"unit\": 1,", 0, 0, GNN_EUNSUPPORTED,
     "array \"order\": \"unit\" is 1, a key that is known here"},
    {EDIT, "\"dtype\": \"int64\"", "\"dtype\": \"int32\"", 0, 0, GNN_EFORMAT,
     "order: dtype: expected int64, got int32"},
    {EDIT, "\"dtype\": \"int64\"", "\"dtype\": \"number\"", 0, 0, GNN_EFORMAT,
     "unknown dtype \"number\""},
    {EDIT, "\"checksum\": \"", "\"checksum\": \"x", 0, 0, GNN_EFORMAT,
     "\"checksum\": expected 16 hexadecimal digits"},
    {EDIT, "\"green\"", "7", 0, 0, GNN_EFORMAT, "\"class_names\"[1]: expected a text"},
    {POKE, "x", NULL, 9, 1, GNN_EFORMAT, "x.npy: checksum: expected"},
    {SEAL, "indptr", NULL, 0, 1, GNN_EFORMAT, "indptr.npy: [0]: expected 0, got 1"},
    {SEAL, "indptr", NULL, 70, 0, GNN_EFORMAT, "indptr.npy: [70]: expected "},
    {SEAL, "indices", NULL, 3, N, GNN_EFORMAT, "indices.npy: [3]: expected "},
    {SEAL, "indices", NULL, 3, -1, GNN_EFORMAT, "indices.npy: [3]: expected "},
    {SEAL, "order", NULL, 4, N, GNN_EFORMAT, "order.npy: [4]: expected 0 to 4999, got 5000"},
    {SEAL, "order", NULL, 4, 3, GNN_EFORMAT, "order.npy: [4]: expected each id once, got 3 again"},
    {SEAL, "edges", NULL, 4, -2, GNN_EFORMAT, "edges.npy: [4]: expected 0 to 119999, got -2"},
    {SEAL, "labels", NULL, 4, 3, GNN_EFORMAT, "labels.npy: [4]: expected -1 to 2, got 3"},
};

START_TEST(damaged_folders_are_refused_by_name)
{
    const struct damage *d = &damages[_i];
    gnn_data_t *data = drawn(false), *opened_ = (gnn_data_t *)1;
    gnn_partition_t *p;
    int32_t *of = calloc(N, sizeof *of);
    /* parts of 1024, 2048 and 1928 rows in the order of the set */
    for (int64_t i = 0; i < N; i++)
        of[i] = i < 1024 ? 0 : i < 3072 ? 1 : 2;
    ck_ok(gnn_partition_new(&p, data, &(gnn_partition_config_t){.parts = 3, .part_of = gnn_ints(of)}));
    ck_assert_int_eq(gnn_partition_sizes(p).book[1], 1024);
    ck_ok(gnn_partition_write(p, data, folder_path()));
    if (d->kind == EDIT)
        edit(d->from, d->to);
    else if (d->kind == CUT)
        cut(d->from, d->index);
    else if (d->kind == GONE)
        ck_assert_int_eq(remove(file_of(d->from)), 0);
    else
        poke(d->from, d->index, d->value, d->kind == SEAL);
    ck_fails(gnn_data_open(&opened_, folder_path()), d->code, d->words);
    ck_assert_ptr_null(opened_);
    gnn_partition_free(p);
    free(of);
    gnn_data_free(data);
}
END_TEST

START_TEST(allocations_fail_once_each)
{
    gnn_data_t *data = drawn(false), *again;
    gnn_partition_t *p;
    for (int64_t k = 1;; k++) {
        gnn__fail_allocation(k);
        const int rc =
            gnn_partition_new(&p, data, &(gnn_partition_config_t){.parts = 2, .method = "range"});
        gnn__fail_allocation(0);
        if (rc == GNN_OK)
            break;
        ck_assert_int_eq(rc, GNN_EMEMORY);
    }
    ck_ok(gnn_partition_write(p, data, folder_path()));
    for (int64_t k = 1;; k++) {
        gnn__fail_allocation(k);
        const int rc = gnn_data_open(&again, folder_path());
        gnn__fail_allocation(0);
        if (rc == GNN_OK)
            break;
        ck_assert_int_eq(rc, GNN_EMEMORY);
    }
    gnn_data_free(again);
    gnn_partition_free(p);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tests = tcase_create("partition");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_node_once_and_borders_at_slices);
    tcase_add_test(tests, sizes_of_exchanges_equal_their_definition);
#if GNN__METIS
    tcase_add_test(tests, metis_balances_edges_and_training_nodes_with_fewer_cut_edges);
#endif
    tcase_add_test(tests, settings_that_do_not_fit_are_refused);
    tcase_add_test(tests, a_folder_equals_its_set);
    tcase_add_test(tests, rows_of_any_count_of_ranks_cover_the_folder);
    tcase_add_test(tests, a_folder_is_complete_or_not_there);
    tcase_add_test(tests, a_killed_writer_leaves_a_whole_folder_or_none);
    tcase_add_loop_test(tests, damaged_folders_are_refused_by_name, 0,
                        (int)(sizeof damages / sizeof *damages));
    tcase_add_test(tests, allocations_fail_once_each);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
