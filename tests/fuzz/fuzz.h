/* What the fuzz targets of readers share: the input as a file without a disk, and a look at everything that was read. */
#ifndef GNN_TESTS_FUZZ_H
#define GNN_TESTS_FUZZ_H

#include <gnn/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

/* Reads every element, so that the sanitizer sees any that is not there; an error must hand out nothing. */
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
