/* Failing allocations of the whole process: this program's malloc replaces the C library's, so that
 * allocations of jansson, libzip, zlib and OpenBLAS fail too, one after another. A call then
 * returns GNN_EMEMORY, or the same result, and keeps no memory of the attempt. (The allocations of
 * OpenMP's run-time do not fail, since it would end the program.) */
#include "bert_small.h"
#include "data_tiny.h"

#include <lib/data/arrays/arrays.h>
#include <lib/data/arrays/json_text.h>

#include <gnn/partition.h>
#include <gnn/ranks.h>

#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define INTERPOSES
enum { INTERPOSED = true };
#else
enum { INTERPOSED = false };
#endif

/* Allocations on this thread until one fails, 0: none does; made since that was set. */
static _Thread_local int64_t fails_at, made;
/* Was the last failure in libzip or METIS, which keep memory of an attempt then? */
static _Thread_local bool lenient;

/* Blocks of all threads that are allocated and not yet freed. */
static int64_t live;

#ifdef INTERPOSES
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

static bool is_of(const void *caller, const char *library)
{
    static _Thread_local bool asking;
    Dl_info info;
    if (asking)
        return true;
    asking = true;
    const bool is = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, library);
    asking = false;
    return is;
}

static bool fails(const void *caller)
{
    if (fails_at == 0 || is_of(caller, "omp.so") || ++made != fails_at)
        return false;
    lenient = is_of(caller, "libzip.so") || is_of(caller, "libmetis.so");
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    if (memory)
        __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return memory;
}

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_calloc(count, bytes));
}

void free(void *memory)
{
    if (memory)
        __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    __libc_free(memory);
}

/* Of size 0 it frees, as glibc's does. */
void *realloc(void *memory, size_t bytes)
{
    if (!memory)
        return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(bytes));
    if (bytes == 0) {
        free(memory);
        return NULL;
    }
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (fails(__builtin_return_address(0)))
        return ENOMEM;
    *memory = counted(__libc_memalign(alignment, bytes));
    return *memory ? 0 : ENOMEM;
}
#endif

/* ---- each allocation fails once ---- */

enum { RESULT = 4096 };

/* The result of a scenario, as bytes. */
typedef struct result {
    size_t n;
    unsigned char bytes[RESULT];
} result_t;

static void give(result_t *r, const void *data, size_t n)
{
    if (r->n + n > RESULT) /* an assertion would allocate, too */
        abort();
    memcpy(r->bytes + r->n, data, n);
    r->n += n;
}

/* One attempt, whose n-th allocation fails. */
static int attempt(int (*scenario)(result_t *result), int64_t n, result_t *got)
{
    *got = (result_t){0};
    fails_at = n;
    made = 0;
    lenient = false;
    const int rc = scenario(got);
    fails_at = 0;
    return rc;
}

/* Does each attempt keep some blocks? What is allocated once (tables of names, caches of libraries)
 * is not kept again. */
static int64_t kept_by(int (*scenario)(result_t *result), int64_t n)
{
    const int64_t made_before = made;
    int64_t least = INT64_MAX;
    result_t unused;
    for (int turn = 0; turn < 3; turn++) {
        const int64_t before = live;
        attempt(scenario, n, &unused);
        least = live - before < least ? live - before : least;
    }
    made = made_before;
    return least;
}

/* Runs a scenario with each of its allocations failing; with every 29th under GNN_TEST_SMALL. */
static void each_fails(const char *name, int (*scenario)(result_t *result))
{
    const int64_t stride = test_small() ? 29 : 1;
    result_t expected = {0}, got;
    int64_t failed = 0, without = 0, n = 1;
    ck_ok(scenario(&expected));
    for (;; n += stride) {
        const int64_t before = live;
        const int rc = attempt(scenario, n, &got);
        const int64_t kept = live > before && !lenient ? kept_by(scenario, n) : 0;
        ck_assert_msg(kept <= 0, "%s, allocation %lld: %lld blocks are not freed", name,
                      (long long)n, (long long)kept);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "%s, allocation %lld: code %d, %s", name,
                      (long long)n, rc, gnn_error_message());
        ck_assert_msg(rc != GNN_OK ||
                          (got.n == expected.n && memcmp(got.bytes, expected.bytes, got.n) == 0),
                      "%s, allocation %lld: another result", name, (long long)n);
        failed += rc != GNN_OK;
        if (made < n)
            break;
        without += rc == GNN_OK;
    }
    ck_assert_int_eq((n - 1) / stride, failed + without);
    printf("%s: %lld allocations failed, %lld of them done without\n", name,
           (long long)(failed + without), (long long)without);
}

/* ---- in a process that has not called anything yet ---- */

/* An attempt by a process of its own, in which libraries make what they keep: code and result are
 * left in shared memory. Returns the status that wait gave. */
typedef struct shared {
    int rc;
    int64_t made;
    result_t result;
} shared_t;

static int attempt_apart(int (*scenario)(result_t *result), int64_t n, shared_t *shared)
{
    int status = -1;
    *shared = (shared_t){.rc = -1};
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        shared->rc = attempt(scenario, n, &shared->result);
        shared->made = made;
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* As each_fails, with a process per attempt, for every `stride`-th allocation; `faults` of them may
 * end the process. */
static void each_fails_apart(const char *name, int (*scenario)(result_t *result), int64_t stride,
                             int faults)
{
    shared_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t n = 1, failed = 0;
    ck_assert(shared != MAP_FAILED);
    ck_assert_int_eq(attempt_apart(scenario, INT64_MAX, shared), 0);
    ck_ok(shared->rc);
    const result_t expected = shared->result;
    const int64_t count = shared->made;
    for (; n <= count; n += test_small() ? 29 * stride : stride) {
        const int status = attempt_apart(scenario, n, shared);
        if (status != 0 && faults-- > 0)
            continue;
        ck_assert_msg(status == 0, "%s, allocation %lld of a process: it ends with status %d", name,
                      (long long)n, status);
        ck_assert_msg(shared->rc == GNN_OK || shared->rc == GNN_EMEMORY,
                      "%s, allocation %lld of a process: code %d", name, (long long)n, shared->rc);
        ck_assert_msg(shared->rc != GNN_OK ||
                          (shared->result.n == expected.n &&
                           memcmp(shared->result.bytes, expected.bytes, expected.n) == 0),
                      "%s, allocation %lld of a process: another result", name, (long long)n);
        failed += shared->rc != GNN_OK;
    }
    printf("%s, in processes: %lld of %lld allocations, each %lldth, failed the call\n", name,
           (long long)failed, (long long)count, (long long)stride);
    munmap(shared, sizeof *shared);
}

/* ---- tokenizers ---- */

static const char *tokenizer_file;

static int tokenize(result_t *result)
{
    static const char *const at[] = {"hello  worlds, hello", "unknown \xe2\x98\x83 wor"};
    gnn_tokenizer_t *t = NULL;
    gnn_tokens_t *tokens = NULL;
    GNN_TRY(gnn_tokenizer_open(&t, in_folder(tokenizer_file)));
    int rc = gnn_tokenizer_encode(t, &(gnn_texts_t){2, at, NULL}, NULL, NULL, &tokens);
    if (rc == GNN_OK)
        give(result, tokens->ids, (size_t)tokens->rows * sizeof *tokens->ids);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
    return rc;
}

#define VOCABULARY                                                                          \
    "{\"<unk>\": 0, \"h\": 1, \"e\": 2, \"l\": 3, \"o\": 4, \"w\": 5, \"r\": 6, \"d\": 7, " \
    "\"s\": 8, \",\": 9, \"he\": 10, \"ll\": 11, \"hell\": 12, \"hello\": 13, \"wo\": 14, " \
    "\"\\u0120\": 15, \"a string that is longer than any buffer of a reader \\u00e9\": 16}"

static const char *const tokenizers[][2] = {
    {"bpe.json",
     "{\"added_tokens\": [{\"id\": 17, \"content\": \"<s>\", \"special\": true}], "
     "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"}, "
     "{\"type\": \"Replace\", \"pattern\": {\"String\": \"  \"}, \"content\": \" \"}]}, "
     "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, "
     "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": "
     "{\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], "
     "\"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", "
     "\"type_id\": 1}}], \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [17]}}}, "
     "\"model\": {\"type\": \"BPE\", \"vocab\": " VOCABULARY
     ", \"merges\": [\"h e\", \"l l\", [\"he\", \"ll\"], \"hell o\", \"w o\"]}}"},
    {"unigram.json",
     "{\"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"model\": {\"type\": \"Unigram\", "
     "\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"\\u2581\", -2.5], [\"hello\", -1e-3], "
     "[\"wor\", -2], [\"l\", -3.25], [\"d\", -3], [\"s\", -1.25e19]]}}"},
    {"vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nhello\nwor\n##ld\n##s\n,\n##l\n"},
    {"merges.txt", "#version: 0.2\nh e\nl l\nhe ll\nhell o\nw o\n"}};

START_TEST(tokenizers_of_every_kind)
{
    write_text("vocab.json", VOCABULARY);
    for (size_t k = 0; k < sizeof tokenizers / sizeof *tokenizers; k++) {
        tokenizer_file = tokenizers[k][0];
        write_text(tokenizer_file, tokenizers[k][1]);
        each_fails(tokenizer_file, tokenize);
    }
}
END_TEST

static int save_tokenizer(result_t *result)
{
    static const char *const at[] = {"low lower lowest", "new newer newest"};
    gnn_tokenizer_t *t = NULL, *again = NULL;
    int rc = gnn_tokenizer_learn(&t, &(gnn_texts_t){2, at, NULL},
                                 &(gnn_learning_t){.size = 270, .lower = GNN_ON});
    if (rc == GNN_OK)
        rc = gnn_tokenizer_save(t, in_folder("learnt.json"));
    if (rc == GNN_OK)
        rc = gnn_tokenizer_open(&again, in_folder("learnt.json"));
    for (int64_t id = 0; rc == GNN_OK && id < gnn_tokenizer_size(again); id++)
        give(result, gnn_tokenizer_token(again, id), strlen(gnn_tokenizer_token(again, id)));
    gnn_tokenizer_free(t);
    gnn_tokenizer_free(again);
    return rc;
}

START_TEST(a_trained_tokenizer_is_saved)
{
    each_fails("learning a tokenizer", save_tokenizer);
}
END_TEST

/* ---- folders ---- */

static int open_folder(result_t *result)
{
    static const char *const at[] = {"hello world", "world"};
    gnn_context_t *context = NULL;
    gnn_pretrained_t *p = NULL;
    gnn_real_t out[2 * WIDTH];
    const gnn_tensor_t y = gnn_tensor(out, 2, WIDTH);
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = 1});
    if (rc == GNN_OK)
        rc = gnn_pretrained_open(&p, context, test_folder);
    if (rc == GNN_OK)
        rc = gnn_pretrained_embed(p, context, &(gnn_texts_t){2, at, NULL}, &y);
    if (rc == GNN_OK)
        give(result, out, sizeof out);
    gnn_pretrained_free(p);
    gnn_context_free(context);
    return rc;
}

static int save_folder(result_t *result)
{
    gnn_context_t *context = NULL;
    gnn_pretrained_t *p = NULL;
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = 1});
    if (rc == GNN_OK)
        rc = gnn_pretrained_open(&p, context, test_folder);
    if (rc == GNN_OK)
        rc = gnn_pretrained_save(p, in_folder("copy"));
    gnn_pretrained_free(p);
    gnn_context_free(context);
    if (rc == GNN_OK) {
        json_t *config = NULL;
        char text[4096] = "";
        FILE *file = fopen(in_folder("copy/config.json"), "rb");
        if (!file)
            return GNN_EMEMORY; /* this test's own */
        const size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        rc = gnn__json_parse(&config, text, (int64_t)n, GNN__JSON_UNIQUE, 4);
        json_decref(config);
        give(result, text, n);
    }
    return rc;
}

START_TEST(a_folder_opens_embeds_and_is_saved)
{
    write_all();
    write_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nhello\nworld\n");
    write_text("modules.json",
               "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": "
               "\"sentence_transformers.models.Transformer\"}, {\"idx\": 1, \"name\": \"1\", "
               "\"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}]");
    mkdir(in_folder("1_Pooling"), 0700);
    write_text("1_Pooling/config.json",
               "{\"pooling_mode_mean_tokens\": true, \"embedding_dimension\": 8}");
    each_fails_apart("opening a folder", open_folder, 7, 0);
    each_fails("opening a folder", open_folder);
    each_fails("saving a folder", save_folder);
    unlink(in_folder("1_Pooling/config.json"));
    unlink(in_folder("modules.json"));
}
END_TEST

/* ---- data, models ---- */

static const char *data_file;

static int read_data(result_t *result)
{
    gnn_data_t *data = NULL;
    GNN_TRY(gnn_data_open(&data, in_folder(data_file)));
    const gnn_tensor_t *x = gnn_data_x(data);
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        give(result, &gnn_data_labels(data)[r], sizeof(int32_t));
        for (int64_t c = 0; c < (x ? x->cols : 0); c++)
            give(result, x->data + r * (x->stride ? x->stride : x->cols) + c, sizeof(gnn_real_t));
    }
    gnn_data_free(data);
    return GNN_OK;
}

#if GNN_WITH_IGRAPH
START_TEST(graphs_that_igraph_reads)
{
    write_text("links.graphml",
               "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key "
               "id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/><graph "
               "edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" "
               "target=\"b\"><data key=\"w\">0.5</data></edge></graph></graphml>");
    data_file = "links.graphml";
    each_fails_apart("GraphML", read_data, 1, 0);
    write_text("links.gml", "graph [ node [ id 1 label \"a\" ] node [ id 2 label \"b\" ] "
                            "edge [ source 1 target 2 ] ]");
    data_file = "links.gml";
    each_fails_apart("GML", read_data, 1, 1); /* igraph does not check its first allocation */
}
END_TEST
#endif

static int write_arrays(result_t *result)
{
    static float x[6] = {0, 1, 2, 3, 4, 5};
    static int32_t y[3] = {7, 8, 9};
    const gnn_array_t arrays[2] = {
        {.name = "x", .dtype = GNN_DTYPE_FLOAT32, .ndim = 2, .shape = {3, 2}, .count = 6, .data = x},
        {.name = "y", .dtype = GNN_DTYPE_INT32, .ndim = 1, .shape = {3}, .count = 3, .data = y}};
    gnn_arrays_t *again = NULL;
    GNN_TRY(gnn_npz_write(in_folder("written.npz"), 2, arrays));
    GNN_TRY(gnn_npz_read(&again, in_folder("written.npz"), NULL));
    for (int64_t k = 0; k < again->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(again, k);
        give(result, a->data, (size_t)a->count * 4);
    }
    gnn_arrays_free(again);
    return GNN_OK;
}

static int train(result_t *result)
{
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    gnn_model_t *model = NULL, *again = NULL;
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3});
    if (rc == GNN_OK)
        rc = gnn_data_open(&data, in_folder("tiny.npz"));
    if (rc == GNN_OK)
        rc = gnn_model_new(&model, context, 2,
                           (gnn_layer_config_t[]){GNN_GCN(.in = 3, .out = 4, .activation = GNN_RELU),
                                                  GNN_GAT(.in = 4, .out = 3)});
    if (rc == GNN_OK)
        rc = gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 2}, NULL);
    if (rc == GNN_OK)
        rc = gnn_model_save(model, in_folder("tiny.safetensors"));
    if (rc == GNN_OK)
        rc = gnn_model_load(&again, context, in_folder("tiny.safetensors"));
    for (int64_t k = 0; rc == GNN_OK && k < gnn_model_field_count(again); k++) {
        gnn_tensor_t t;
        rc = gnn_model_field(again, gnn_model_field_name(again, k), &t, NULL);
        if (rc == GNN_OK)
            give(result, t.data, sizeof *t.data);
    }
    gnn_model_free(model);
    gnn_model_free(again);
    gnn_data_free(data);
    gnn_context_free(context);
    return rc;
}

START_TEST(data_sets_and_a_step_of_training)
{
    write_tiny(0, NULL);
    data_file = "tiny.npz";
    each_fails_apart("training", train, 7, 0);
    each_fails_apart("arrays that are written", write_arrays, 1, 0);
    each_fails("arrays that are written", write_arrays);
    each_fails("a data set of arrays", read_data);
    write_text("links.edges", "# two\n0 1 1\n1 2 2\n2 0 0.5\n");
    data_file = "links.edges";
    each_fails("a list of edges", read_data);
    each_fails("training", train);
}
END_TEST

/* A partition is computed, written and mapped; rows of a part and the set of one rank are read. */
static int divide(result_t *result)
{
    static int calls;
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL, *own = NULL;
    gnn_partition_t *partition = NULL;
    gnn_partition_folder_t *folder = NULL;
    gnn_partition_folder_rows_t rows;
    gnn_transport_t *one = NULL;
    char name[32], path[1200];
    snprintf(name, sizeof name, "parts%d", calls++); /* one that exists is an error */
    snprintf(path, sizeof path, "%s", in_folder(name));
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = 1});
    if (rc == GNN_OK)
        rc = gnn_data_open(&data, in_folder("ring.edges"));
    if (rc == GNN_OK)
        rc = gnn_partition_new(&partition, data, &(gnn_partition_config_t){.parts = 2});
    if (rc == GNN_OK)
        rc = gnn_partition_write(partition, data, path);
    if (rc == GNN_OK)
        rc = gnn_partition_folder_open(&folder, path, 1);
    if (rc == GNN_OK)
        rc = gnn_partition_folder_rows(folder, 0, gnn_partition_folder_sizes(folder).nodes, &rows);
    if (rc == GNN_OK) {
        give(result, rows.indptr, RESULT / 4);
        give(result, rows.indices, RESULT / 4);
        rc = gnn_transport_threads(&one, 1, 0);
    }
    if (rc == GNN_OK)
        rc = gnn_context_set_ranks(context, one);
    if (rc == GNN_OK)
        rc = gnn_data_open_rank(&own, context, path);
    if (rc == GNN_OK)
        give(result, gnn_data_labels(own), RESULT / 4);
    gnn_data_free(own);
    gnn_partition_folder_free(folder);
    gnn_partition_free(partition);
    gnn_data_free(data);
    gnn_context_free(context);
    gnn_transport_free(one);
    return rc;
}

START_TEST(partitions_and_the_set_of_a_rank)
{
    enum { NODES = 1100 };
    char text[NODES * 12], *end = text;
    for (int k = 0; k < NODES; k++)
        end += sprintf(end, "%d %d\n", k, (k + 1) % NODES);
    write_text("ring.edges", text);
    each_fails("a partition", divide);
}
END_TEST

START_TEST(json_of_every_form)
{
    static const char text[] =
        "{\"a\": [1, -2.5e3, 9223372036854775807, true, false, null, [], {}],\n"
        " \"a key that is longer than any buffer \\u00e9\\n\": \"a value that is, \\ud83d\\ude00\"}";
    json_t *expected, *root;
    char *before;
    ck_ok(gnn__json_parse(&expected, text, sizeof text - 1, GNN__JSON_UNIQUE, 4));
    before = json_dumps(expected, JSON_COMPACT);
    for (int64_t n = 1;; n++) {
        fails_at = n;
        made = 0;
        const int rc = gnn__json_parse(&root, text, sizeof text - 1, GNN__JSON_UNIQUE, 4);
        fails_at = 0;
        ck_assert_int_eq(rc, made < n ? GNN_OK : GNN_EMEMORY);
        ck_assert(rc == GNN_OK ? json_equal(root, expected) : root == NULL);
        json_decref(root);
        if (made < n)
            break;
    }
    free(before);
    json_decref(expected);
}
END_TEST

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *place)
{
    (void)s;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Folders of folders are saved here. */
static void remove_all(void)
{
    ck_assert_int_eq(nftw(test_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
    Suite *suite = suite_create("malloc");
    TCase *c = tcase_create("malloc");
    tcase_set_timeout(c, 600);
    tcase_add_unchecked_fixture(c, make_folder, remove_all);
    if (!INTERPOSED)
        test_leave_out("malloc", "a sanitizer's malloc cannot be replaced");
    if (INTERPOSED) {
        tcase_add_test(c, json_of_every_form);
        tcase_add_test(c, tokenizers_of_every_kind);
        tcase_add_test(c, a_trained_tokenizer_is_saved);
        tcase_add_test(c, a_folder_opens_embeds_and_is_saved);
        tcase_add_test(c, data_sets_and_a_step_of_training);
        tcase_add_test(c, partitions_and_the_set_of_a_rank);
#if GNN_WITH_IGRAPH
        tcase_add_test(c, graphs_that_igraph_reads);
#endif
    }
    suite_add_tcase(suite, c);
    return test_main(suite);
}
