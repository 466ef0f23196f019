/* Partition folders with one damage each. Three ranks that open their own rows, and one that opens
 * the whole set, all refuse it with the name of a file or key of the folder, or all learn the same
 * weights. */
#include "ranks_threads.h"
#include "readers.h"

#include <dirent.h>
#include <jansson.h>
#include <lib/data/partition.h>

enum { RANKS = 3, NODES = RANKS * GNN_SLICE - 100, MOST_FILES = 24 };

/* The files of a good folder, and of another set with the same sizes. */
typedef struct {
    char name[40];
    char *bytes, *other;
    size_t size, other_size;
} file_t;

static file_t files[MOST_FILES];
static int n_files;
static char folder[300], other[300];
static trial_result_t good;
static int n_refused, n_obeyed;

static const gnn_layer_config_t layers[] = {GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES)};
static const trial_case_t trial = {.name = "damaged",
                                   .nodes = NODES,
                                   .layers = layers,
                                   .n_layers = 1,
                                   .folder = folder,
                                   .train = {.epochs = 1, .optimizer = {.lr = (gnn_real_t)0.02}}};

/* ---- folders ---- */

static const char *path_of(const char *where, const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%.300s/%.39s", where, name);
    return path;
}

static char *load(const char *path, size_t *size)
{
    struct stat s;
    ck_assert_int_eq(stat(path, &s), 0);
    *size = (size_t)s.st_size;
    char *bytes = malloc(*size + 1);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    bytes[*size] = '\0';
    return bytes;
}

/* A new file: sets that are still mapped keep the old one. */
static void put_file(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(folder, name);
    remove(path);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void restore(const file_t *file)
{
    put_file(file->name, file->bytes, file->size);
}

static void write_set(const char *path, bool near)
{
    const trial_case_t c = {.nodes = NODES, .near = near};
    gnn_data_t *data = trial_data(&c);
    gnn_partition_t *partition;
    gnn_real_t *more = test_reals(NODES, near ? 8 : 9);
    ck_ok(gnn_data_array_set(data, GNN_ON_NODES,
                             &(gnn_array_t){.name = "more",
                                            .dtype = GNN__REAL_DTYPE,
                                            .ndim = 1,
                                            .shape = {NODES},
                                            .count = NODES,
                                            .data = more}));
    ck_ok(gnn_partition_new(&partition, data,
                            &(gnn_partition_config_t){.parts = RANKS, .method = "hash"}));
    ck_ok(gnn_partition_write(partition, data, path));
    gnn_partition_free(partition);
    gnn_data_free(data);
    free(more);
}

static void open_folders(void)
{
    struct dirent *entry;
    make_folder();
    snprintf(folder, sizeof folder, "%s/set", test_folder);
    snprintf(other, sizeof other, "%s/other", test_folder);
    write_set(folder, false);
    write_set(other, true);
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    n_files = n_refused = n_obeyed = 0;
    while ((entry = readdir(list)))
        if (entry->d_name[0] != '.') {
            file_t *file = &files[n_files++];
            ck_assert_int_le(n_files, MOST_FILES);
            snprintf(file->name, sizeof file->name, "%.39s", entry->d_name);
            file->bytes = load(path_of(folder, file->name), &file->size);
            file->other = load(path_of(other, file->name), &file->other_size);
        }
    closedir(list);
    good = run_one(&trial, 1);
    ck_assert_msg(good.rc == GNN_OK, "%s", good.message);
}

static void close_folders(void)
{
    printf("    %d damages refused, %d without effect\n", n_refused, n_obeyed);
    for (int k = 0; k < n_files; k++) {
        free(files[k].bytes);
        free(files[k].other);
    }
    trial_free(&good);
    remove_tree();
}

/* ---- errors of ranks ---- */

/* A damaged header may name an array that is not there. */
static bool names_a_file(const char *message)
{
    return strstr(message, GNN__FOLDER_HEADER) || strstr(message, ".npy");
}

static void check_refusal(const trial_result_t *r, int rank, const char *what, const char *words)
{
    ck_assert_msg(r->rc != GNN_OK, "%s: rank %d goes on", what, rank);
    ck_assert_msg(strstr(r->message, words) || (!strstr(words, ".npy") && names_a_file(r->message)),
                  "%s: rank %d: %d, %s", what, rank, r->rc, r->message);
}

static bool same_weights(const trial_result_t *a, const trial_result_t *b)
{
    return memcmp(a->weights, b->weights, sizeof *a->weights * (size_t)a->n_weights) == 0;
}

/* `words`: a file of arrays, which the messages name; or a key, or the header: they name it or any
 * file. `sealed`: the damage is as good as another set, whose weights may be others. */
static void check_damage(const char *what, const char *words, bool sealed)
{
    trial_case_t own = trial;
    const trial_case_t *cases[RANKS] = {&own, &own, &own};
    trial_result_t results[RANKS], whole = run_one(&trial, 1);
    own.own_rows = true;
    run_ranks(cases, RANKS, 1, 0, results);
    if (whole.rc != GNN_OK)
        check_refusal(&whole, -1, what, words);
    for (int r = 0; r < RANKS; r++) {
        if (whole.rc != GNN_OK)
            check_refusal(&results[r], r, what, words);
        else
            ck_assert_msg(results[r].rc == GNN_OK && same_weights(&whole, &results[r]),
                          "%s: one rank goes on, rank %d: %d, %s", what, r, results[r].rc,
                          results[r].message);
        trial_free(&results[r]);
    }
    ck_assert_msg(whole.rc != GNN_OK || sealed || same_weights(&whole, &good),
                  "%s: other weights without an error", what);
    n_refused += whole.rc != GNN_OK;
    n_obeyed += whole.rc == GNN_OK;
    trial_free(&whole);
}

/* ---- files ---- */

START_TEST(each_file_removed_emptied_or_cut_is_refused)
{
    char what[100];
    for (int k = 0; k < n_files; k++) {
        const file_t *file = &files[k];
        const size_t sizes[] = {0, 1, 60, file->size / 2, file->size - 1};
        remove(path_of(folder, file->name));
        snprintf(what, sizeof what, "%.39s removed", file->name);
        check_damage(what, file->name, false);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            put_file(file->name, file->bytes, sizes[s]);
            snprintf(what, sizeof what, "%.39s cut to %zu bytes", file->name, sizes[s]);
            check_damage(what, file->name, false);
        }
        put_file(file->name, file->bytes, file->size + 1); /* a 0 */
        snprintf(what, sizeof what, "%.39s with a further byte", file->name);
        check_damage(what, file->name, false);
        restore(file);
    }
    ck_assert_int_ge(n_refused, 6 * n_files);
}
END_TEST

/* Arrays: each byte of the header of npy, and some of the elements; the header: each third byte. */
START_TEST(each_changed_byte_is_refused_or_has_no_effect)
{
    char what[100];
    for (int k = 0; k < n_files; k++) {
        const file_t *file = &files[k];
        const bool array = strstr(file->name, ".npy") != NULL;
        for (size_t at = k % 3; at < file->size; at += !array || at < 128 ? 3 : file->size / 7 + 1) {
            file->bytes[at] ^= (char)(1 << at % 7);
            put_file(file->name, file->bytes, file->size);
            snprintf(what, sizeof what, "%.39s with byte %zu changed", file->name, at);
            check_damage(what, file->name, false);
            file->bytes[at] ^= (char)(1 << at % 7);
        }
        restore(file);
    }
    ck_assert_int_gt(n_refused, 20 * n_files);
}
END_TEST

START_TEST(files_of_another_set_are_refused)
{
    char what[100];
    for (int k = 0; k < n_files; k++) {
        const file_t *file = &files[k];
        put_file(file->name, file->other, file->other_size);
        snprintf(what, sizeof what, "%.39s of another set", file->name);
        check_damage(what, file->name, false);
        restore(file);
    }
    ck_assert_int_gt(n_refused, 4);
}
END_TEST

START_TEST(another_folder_on_one_rank_ends_all)
{
    trial_case_t own = trial, another = trial;
    const trial_case_t *cases[RANKS] = {&own, &own, &another};
    trial_result_t results[RANKS];
    own.own_rows = another.own_rows = true;
    another.folder = other;
    run_ranks(cases, RANKS, 1, 0, results);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_msg(results[r].rc == GNN_EINVALID &&
                          strstr(results[r].message, "ranks 0 and 2 have different partition folders"),
                      "rank %d: %d, %s", r, results[r].rc, results[r].message);
        trial_free(&results[r]);
    }
}
END_TEST

/* ---- keys of the header ---- */

static json_t *load_header(void)
{
    json_t *root = json_load_file(path_of(folder, GNN__FOLDER_HEADER), 0, NULL);
    ck_assert_ptr_nonnull(root);
    return root;
}

static void write_header(json_t *root, bool seal)
{
    char sum[20];
    if (seal && gnn__folder_checksum(sum, root) == GNN_OK)
        json_object_set_new(root, "checksum", json_string(sum));
    char *text = json_dumps(root, JSON_INDENT(1));
    put_file(GNN__FOLDER_HEADER, text, strlen(text));
    free(text);
}

static const file_t *header_file(void)
{
    int k = 0;
    while (strcmp(files[k].name, GNN__FOLDER_HEADER) != 0)
        k++;
    return &files[k];
}

static const char *const values[] = {"null",  "true", "-1", "0",  "1",  "4611686018427387904",
                                     "1e300", "\"\"", "[]", "{}", "[1]"};
enum { VALUES = sizeof values / sizeof *values, EDITS = VALUES + 3 };

/* Edit e of a key: dropped, renamed, one more than it was (integers), or one of `values`. */
static bool edit_key(json_t *object, const char *key, int e, char *what, size_t size)
{
    json_t *value = json_object_get(object, key);
    if (e == 0) {
        snprintf(what, size, "%s dropped", key);
        return json_object_del(object, key) == 0;
    }
    if (e == 1) {
        snprintf(what, size, "%s renamed", key);
        json_object_set(object, "renamed", value);
        return json_object_del(object, key) == 0;
    }
    if (e == 2) {
        snprintf(what, size, "%s + 1", key);
        return json_is_integer(value) &&
               json_object_set_new(object, key, json_integer(json_integer_value(value) + 1)) == 0;
    }
    snprintf(what, size, "%s = %s", key, values[e - 3]);
    return json_object_set_new(object, key, json_loads(values[e - 3], JSON_DECODE_ANY, NULL)) == 0;
}

/* One edit of one key of the object at `array` of the arrays, or of the header (NULL). */
static void check_edit(const char *array, const char *key, int e, bool seal)
{
    char what[300], edit[200];
    json_t *root = load_header(), *object = root;
    if (array)
        object = json_object_get(json_object_get(root, "arrays"), array);
    if (edit_key(object, key, e, edit, sizeof edit)) {
        snprintf(what, sizeof what, "%s%s%s%s", seal ? "sealed, " : "", array ? array : "",
                 array ? ": " : "", edit);
        write_header(root, seal);
        /* one class more is another set, with which the model does not fit */
        check_damage(what, strcmp(key, "classes") == 0 ? "class" : key, seal);
        restore(header_file());
    }
    json_decref(root);
}

START_TEST(each_key_of_the_header_dropped_or_changed_is_refused_or_obeyed)
{
    json_t *root = load_header(), *entry, *value;
    const char *key, *field;
    for (int seal = 0; seal < 2; seal++)
        for (int e = 0; e < EDITS; e++) {
            json_object_foreach(root, key, value) if (!(seal && strcmp(key, "checksum") == 0))
                check_edit(NULL, key, e, seal);
            json_object_foreach(json_object_get(root, "arrays"), key, entry)
                json_object_foreach(entry, field, value) check_edit(key, field, e, seal);
        }
    ck_assert_int_gt(n_refused, 500);
    json_decref(root);
}
END_TEST

/* Borders that do not fit, and borders that are other than the writer's but fit. */
START_TEST(borders_of_parts_are_refused_or_obeyed)
{
    static const struct {
        int64_t book[RANKS + 1];
        bool fits;
    } books[] = {
        {{0, 512, 1024, NODES}, true},      {{0, 512, 1025, NODES}, false},
        {{0, 1024, 512, NODES}, false},     {{0, 512, 512, NODES}, false},
        {{512, 512, 1024, NODES}, false},   {{0, 512, 1024, NODES - 1}, false},
        {{0, 512, 1024, NODES + 1}, false}, {{0, 1024, NODES, NODES}, false},
        {{0, 0, 512, NODES}, false},        {{0, -512, 1024, NODES}, false},
    };
    for (size_t k = 0; k < sizeof books / sizeof *books; k++) {
        char what[40];
        const int before = n_refused;
        json_t *root = load_header(), *book = json_array();
        for (int b = 0; b <= RANKS; b++)
            json_array_append_new(book, json_integer(books[k].book[b]));
        json_object_set_new(root, "book", book);
        write_header(root, true);
        snprintf(what, sizeof what, "book %zu", k);
        check_damage(what, "\"book\"", true);
        ck_assert_msg(n_refused - before == !books[k].fits, "%s", what);
        restore(header_file());
        json_decref(root);
    }
}
END_TEST

/* ---- arrays whose checksum fits ---- */

/* Sets element `at` of an array of the folder, and the checksums. */
static void poke(const file_t *file, const gnn_array_t *array, int64_t at, int64_t value)
{
    char key[40], sum[20];
    const size_t width = gnn__element(array->dtype)->size, bytes = (size_t)array->count * width;
    char *text = malloc(file->size), *data = text + file->size - bytes;
    const gnn_real_t reals[] = {(gnn_real_t)NAN, (gnn_real_t)INFINITY, (gnn_real_t)value};
    json_t *root = load_header();
    memcpy(text, file->bytes, file->size);
    memcpy(data + (size_t)at * width,
           array->dtype == GNN__REAL_DTYPE ? (const void *)&reals[value < 0   ? 0
                                                                  : value > 9 ? 1
                                                                              : 2]
                                           : (const void *)&value,
           width);
    put_file(file->name, text, file->size);
    snprintf(key, sizeof key, "%.*s", (int)(strlen(file->name) - 4), file->name);
    gnn__folder_sum_text(sum, gnn__hash_words(gnn__hash_start(GNN__HASH_START, bytes), data, bytes));
    json_object_set_new(json_object_get(json_object_get(root, "arrays"), key), "checksum",
                        json_string(sum));
    write_header(root, true);
    json_decref(root);
    free(text);
}

START_TEST(elements_of_arrays_are_refused_or_obeyed)
{
    static const int64_t given[] = {-2, -1, 0, 1, 2, 5, NODES, 1 << 30};
    for (int k = 0; k < n_files; k++) {
        const file_t *file = &files[k];
        gnn_array_t array;
        gnn_owner_t owner;
        if (!strstr(file->name, ".npy"))
            continue;
        ck_ok(gnn_npy_map(&array, &owner, path_of(folder, file->name)));
        const int64_t places[] = {0, array.count / 2, array.count - 1};
        for (size_t p = 0; p < 3; p++)
            for (size_t v = 0; v < sizeof given / sizeof *given; v++) {
                char what[100];
                poke(file, &array, places[p], given[v]);
                snprintf(what, sizeof what, "%.39s[%lld] = %lld", file->name, (long long)places[p],
                         (long long)given[v]);
                check_damage(what, file->name, true);
            }
        owner.release(owner.user);
        restore(file);
        restore(header_file());
    }
    ck_assert_int_gt(n_refused, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_damage");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, open_folders, close_folders);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, each_file_removed_emptied_or_cut_is_refused);
    tcase_add_test(tests, each_changed_byte_is_refused_or_has_no_effect);
    tcase_add_test(tests, files_of_another_set_are_refused);
    tcase_add_test(tests, another_folder_on_one_rank_ends_all);
    tcase_add_test(tests, each_key_of_the_header_dropped_or_changed_is_refused_or_obeyed);
    tcase_add_test(tests, borders_of_parts_are_refused_or_obeyed);
    tcase_add_test(tests, elements_of_arrays_are_refused_or_obeyed);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
