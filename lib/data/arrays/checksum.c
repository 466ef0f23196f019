/* The checksum of files written by the library, which detects flipped bits. */
#include <lib/data/arrays/arrays.h>

#include <stdio.h>

/* FNV-1a over words of 8 bytes, the last filled with zeros; the shift brings high bits down. Each
 * step is a bijection, so a single changed word is always detected. */
uint64_t gnn__hash_words(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes > 0; at += 8) {
        uint64_t word = 0;
        size_t n = bytes < 8 ? bytes : 8;
        memcpy(&word, at, n);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32;
        bytes -= n;
    }
    return h;
}

uint64_t gnn__hash_start(uint64_t h, uint64_t bytes)
{
    return (h ^ bytes) * 0x100000001b3u;
}

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    return gnn__hash_words(gnn__hash_start(h, bytes), data, bytes);
}

uint64_t gnn__checksum(int64_t n_arrays, const gnn_array_t *arrays, int64_t n_metadata,
                       const char *const (*metadata)[2])
{
    const uint64_t start = GNN__HASH_START;
    uint64_t sum = 0;
    for (int64_t k = 0; k < n_arrays; k++) {
        const gnn_array_t *a = &arrays[k];
        const gnn__element_t *type = gnn__element(a->dtype);
        uint64_t h = hash(start, a->name, strlen(a->name));
        h = hash(h, type->name, strlen(type->name));
        h = hash(h, a->shape, sizeof *a->shape * (size_t)a->ndim);
        sum += hash(h, a->data, type->size * (size_t)a->count);
    }
    for (int64_t k = 0; k < n_metadata; k++)
        if (strcmp(metadata[k][0], GNN__CHECKSUM_KEY) != 0)
            sum += hash(hash(start, metadata[k][0], strlen(metadata[k][0])), metadata[k][1],
                        strlen(metadata[k][1]));
    return sum;
}

int gnn__checksum_check(const gnn_arrays_t *file)
{
    const char *had = gnn_arrays_metadata(file, GNN__CHECKSUM_KEY);
    char now[20];
    if (!had)
        return gnn__error(GNN_EFORMAT, "it has no checksum");
    uint64_t sum = gnn__checksum(file->count, file->items, file->n_metadata,
                                 (const char *const(*)[2])file->metadata);
    snprintf(now, sizeof now, "%016llx", (unsigned long long)sum);
    if (strcmp(had, now) != 0)
        return gnn__error(GNN_EFORMAT,
                          "its checksum is %.16s, the contents have %s: the file is damaged (or was "
                          "changed by a program that kept the metadata \"" GNN__CHECKSUM_KEY "\")",
                          had, now);
    return GNN_OK;
}
