/* What the fuzz targets of readers share: the input as a file without a disk, and a look at
 * everything that was read. */
#ifndef GNN_TESTS_FUZZ_H
#define GNN_TESTS_FUZZ_H

#include <gnn/graph.h>
#include <gnn/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A path that holds these bytes until the next call. */
static inline const char *fuzz_path(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* A file of this name in a folder of the process's own, removed by nobody: it is in memory where
 * TMPDIR is. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char folder[64], path[256];
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/gnn-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(folder))
            abort();
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}

/* The bytes up to the next 1, which stands between the files of one input; *data and *size become
 * what is behind it. */
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

/* 0 .. n - 1; 0 where there are no more bytes. */
static inline int fuzz_draw(fuzz_bytes_t *b, int n)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++ % n;
}

/* What cannot fail. */
static inline void fuzz_must(int rc)
{
    if (rc == GNN_OK)
        return;
    fprintf(stderr, "%s\n", gnn_error_message());
    abort();
}

/* m <= 32 edges between n nodes, a sentence of n words, and the edges' senders heard by two
 * alone. */
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

/* A set that was read holds together; an error hands out nothing and has words. */
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
    if (gnn_graph_validate(graph) != GNN_OK || gnn_graph_n_dst(graph) != n)
        abort();
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            if (labels[i] < -1 || labels[i] >= classes ||
                (gnn_data_mask(set, k, 0)[i] && labels[i] < 0))
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
        const char *file = fuzz_file(names[k], part, n);
        if (n == 0)
            unlink(file);
        snprintf(path, sizeof path, "%s", file);
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
    for (int64_t k = 0; k < gnn_arrays_count(arrays); k++) {
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
