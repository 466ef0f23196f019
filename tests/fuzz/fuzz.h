/* Shared by the fuzz targets of readers: the input as an in-memory file, and a traversal of
 * everything that was read. */
#ifndef GNN_TESTS_FUZZ_H
#define GNN_TESTS_FUZZ_H

#include "fuzz_memory.h"

#include <gnn/graph.h>
#include <gnn/data.h>
#include <graphs/graph.h>
#include <lib/data/arrays/arrays.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what an input may cost ---- */

/* The target's function, named by the macro below. */
int fuzz_one(const uint8_t *data, size_t size);

/* An input of n bytes may take so much of the processor and of memory, a + b n each; generous for a
 * sanitized build, and far below what a cost that is not linear comes to at 8 KB. */
#ifndef FUZZ_SECONDS
#define FUZZ_SECONDS 0.25
#endif
#ifndef FUZZ_BYTES
#define FUZZ_BYTES (48 << 20)
#endif
#define FUZZ_SECONDS_PER_BYTE 50e-6
#define FUZZ_BYTES_PER_BYTE 4096

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *memory);

/* Bytes that are allocated, and the most that were. */
static int64_t fuzz_bytes, fuzz_most;

static inline void fuzz_on_malloc(const volatile void *memory, size_t size)
{
    (void)memory;
    const int64_t now = __atomic_add_fetch(&fuzz_bytes, (int64_t)size, __ATOMIC_RELAXED);
    if (now > fuzz_most)
        fuzz_most = now;
}

static inline void fuzz_on_free(const volatile void *memory)
{
    if (memory)
        __atomic_sub_fetch(&fuzz_bytes, (int64_t)__sanitizer_get_allocated_size(memory),
                           __ATOMIC_RELAXED);
}

static inline double fuzz_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints the largest costs so far as they grow, for tests/fuzz/run.sh. */
static inline void fuzz_cost(size_t size, double seconds, int64_t bytes)
{
    static double most_seconds = 0.02;
    static int64_t most_bytes = 1 << 20;
    const double n = (double)size;
    if (seconds > 1.2 * most_seconds || bytes > most_bytes + most_bytes / 5) {
        most_seconds = seconds > most_seconds ? seconds : most_seconds;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        fprintf(stderr, "COST %zu bytes: %.3f s, %.1f MB\n", size, seconds,
                (double)bytes / (1 << 20));
    }
    if (seconds <= FUZZ_SECONDS + FUZZ_SECONDS_PER_BYTE * n &&
        (double)bytes <= FUZZ_BYTES + FUZZ_BYTES_PER_BYTE * n)
        return;
    fprintf(stderr, "an input of %zu bytes takes %.3f s and %.1f MB\n", size, seconds,
            (double)bytes / (1 << 20));
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int warm; /* the first inputs make what stays: tables, buffers of products */
    if (warm == 0)
        __sanitizer_install_malloc_and_free_hooks(fuzz_on_malloc, fuzz_on_free);
    const int64_t before = fuzz_most = fuzz_bytes;
    const double start = fuzz_seconds();
    const int rc = fuzz_one(data, size);
    if (++warm > 8)
        fuzz_cost(size, fuzz_seconds() - start, fuzz_most - before);
    return rc;
}

/* Targets whose inputs are choices gain nothing from the operands of comparisons, whose recording
 * takes a fifth of their time: run.sh links them with --wrap for these. */
#ifdef FUZZ_CHOICES
#define FUZZ_IGNORE(name, type)                     \
    void __wrap___sanitizer_##name(type a, type b); \
    void __wrap___sanitizer_##name(type a, type b)  \
    {                                               \
        (void)a, (void)b;                           \
    }
FUZZ_IGNORE(cov_trace_cmp1, uint8_t)
FUZZ_IGNORE(cov_trace_cmp2, uint16_t)
FUZZ_IGNORE(cov_trace_cmp4, uint32_t)
FUZZ_IGNORE(cov_trace_cmp8, uint64_t)
FUZZ_IGNORE(cov_trace_const_cmp1, uint8_t)
FUZZ_IGNORE(cov_trace_const_cmp2, uint16_t)
FUZZ_IGNORE(cov_trace_const_cmp4, uint32_t)
FUZZ_IGNORE(cov_trace_const_cmp8, uint64_t)
#undef FUZZ_IGNORE
void __wrap___sanitizer_weak_hook_strcmp(void *at, const char *a, const char *b, int result);
void __wrap___sanitizer_weak_hook_strcmp(void *at, const char *a, const char *b, int result)
{
    (void)at, (void)a, (void)b, (void)result;
}
void __wrap___sanitizer_weak_hook_memcmp(void *at, const void *a, const void *b, size_t n,
                                         int result);
void __wrap___sanitizer_weak_hook_memcmp(void *at, const void *a, const void *b, size_t n, int result)
{
    (void)at, (void)a, (void)b, (void)n, (void)result;
}
#endif

/* Targets define what libFuzzer would call, which is measured. */
#define LLVMFuzzerTestOneInput fuzz_one

/* A path that holds these bytes until the next call. */
static inline const char *fuzz_path(const uint8_t *data, size_t size)
{
    return fuzz_memory_set(FUZZ_ROOT "input", data, size, true);
}

/* A file of this name in a folder of its own. One of no bytes is not there. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, FUZZ_ROOT "folder/%s", name);
    return fuzz_memory_set(path, data, size, size > 0);
}

/* The bytes up to the next 1, which separates the files of one input; *data and *size become the
 * remainder. */
static inline size_t fuzz_part(const uint8_t **part, const uint8_t **data, size_t *size)
{
    const uint8_t *one = *size > 0 ? memchr(*data, 1, *size) : NULL;
    size_t length = one ? (size_t)(one - *data) : *size, taken = length + (one != NULL);
    *part = *data;
    *data += taken;
    *size -= taken;
    return length;
}

/* The input as choices. */
typedef struct {
    const uint8_t *at;
    size_t left;
} fuzz_bytes_t;

/* 0 .. n - 1; 0 after the last byte. */
static inline int fuzz_draw(fuzz_bytes_t *b, int n)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++ % n;
}

/* A call that must not fail. */
static inline void fuzz_must(int rc)
{
    if (rc == GNN_OK)
        return;
    fprintf(stderr, "%s\n", gnn_error_message());
    abort();
}

/* m <= 32 edges between n nodes, a sentence of n words, and the edges' senders with two receivers
 * only. */
static inline void fuzz_graphs(gnn_graph_t *graphs[3], int n, int m)
{
    int64_t src[32], dst[32], few[32], length = n;
    for (int k = 0; k < m; k++) {
        src[k] = k * 3 % n;
        dst[k] = k * 2 % (n - 1);
        few[k] = k % 2;
    }
    fuzz_must(gnn_graph_from_edges(&graphs[0], n, n, m, src, dst));
    fuzz_must(gnn_graph_causal(&graphs[1], 1, &length));
    fuzz_must(gnn_graph_from_edges(&graphs[2], 2, n, m, src, few));
}

/* A set that was read is valid; after an error there is no set, but a message. */
static inline void fuzz_set(int rc, gnn_data_t *set)
{
    char text[256];
    if ((rc != GNN_OK) != (set == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (!set)
        return;
    const int64_t n = gnn_data_nodes(set), classes = gnn_data_classes(set);
    const gnn_graph_t *graph = gnn_data_graph(set);
    const int32_t *labels = gnn_data_labels(set);
    const char *const *names = gnn_data_class_names(set);
    if (gnn__graph_validate(graph) != GNN_OK || gnn_graph_n_dst(graph) != n)
        abort();
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            if (labels[i] < -1 || labels[i] >= classes ||
                (classes > 0 && gnn_data_mask(set, k, 0)[i] && labels[i] < 0))
                abort();
    for (int64_t c = 0; names && c < classes; c++)
        if (!*names[c])
            abort();
    if (gnn_data_row_normalise(set) != GNN_OK && !*gnn_error_message())
        abort();
    gnn_data_describe(set, text, sizeof text);
    gnn_data_free(set);
}

/* Opens the folder "f" whose files have parts of the input; an empty one is not there. */
static inline void fuzz_folder(size_t count, const char *const *names, const uint8_t *data,
                               size_t size)
{
    char path[256] = "";
    gnn_data_t *set = NULL;
    for (size_t k = 0; k < count; k++) {
        const uint8_t *part;
        size_t n = fuzz_part(&part, &data, &size);
        snprintf(path, sizeof path, "%s", fuzz_file(names[k], part, n));
    }
    path[strlen(path) - strlen(names[count - 1]) + 1] = '\0';
    int rc = gnn_data_open(&set, path);
    fuzz_set(rc, set);
}

/* Reads every element, so that the sanitizer sees any that is not there; an error must hand out
 * nothing. */
static inline void fuzz_arrays(int rc, gnn_arrays_t *arrays)
{
    volatile double sum = 0;
    if ((rc != GNN_OK) != (arrays == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    for (int64_t k = 0; arrays && k < arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(arrays, k);
        if (gnn_arrays_find(arrays, a->name) != a)
            abort();
        for (int64_t i = 0; i < a->count; i++)
            sum = sum + gnn_array_get(a, i);
    }
    gnn_arrays_free(arrays);
}

/* A few kilobytes may not ask for more than this. */
static const gnn_limits_t fuzz_limits = {.max_bytes = 16 << 20};

#endif
