/* A recursive-matrix graph (Chakrabarti et al. 2004) of mild skew, with both directions of each
 * link and shuffled nodes; approximately normal features, random labels, one random node in twelve
 * for training. */
#include "sampled_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_LINKS = 31, SEED_X = 32, SEED_LABELS = 33, SEED_TRAIN = 34, ARRAYS = 4 };

static const char *const names[ARRAYS] = {"indptr", "indices", "x", "labels"};

/* ---- generation ---- */

/* Both ends of a link: 16 bits per level choose a quarter, with probabilities .45, .22, .22,
 * .11. */
static void draw_link(uint64_t k, int levels, int64_t nodes, int32_t end[2])
{
    uint64_t place[2] = {0, 0}, bits = 0;
    for (int level = 0; level < levels; level++) {
        if (level % 4 == 0)
            bits = bench_random(SEED_LINKS, 8 * k + (uint64_t)level / 4);
        const uint64_t r = bits & 0xffff;
        bits >>= 16;
        place[0] = 2 * place[0] + (r >= 43909);
        place[1] = 2 * place[1] + ((r >= 29491 && r < 43909) || r >= 58327);
    }
    for (int side = 0; side < 2; side++) /* an odd factor: close ids are dissimilar nodes */
        end[side] = (int32_t)(((place[side] * 2654435761u) & ((UINT64_C(1) << levels) - 1)) %
                              (uint64_t)nodes);
}

static int levels_of(int64_t nodes)
{
    int levels = 1;
    while ((INT64_C(1) << levels) < nodes)
        levels++;
    return levels;
}

/* indptr from degrees, then each link is stored in the rows of both ends. */
static void draw(int64_t nodes, int64_t links, int64_t *indptr, int32_t *indices)
{
    const int levels = levels_of(nodes);
    int32_t end[2];
    memset(indptr, 0, (size_t)(nodes + 1) * sizeof *indptr);
    for (int64_t k = 0; k < links; k++) {
        draw_link((uint64_t)k, levels, nodes, end);
        indptr[end[0]]++;
        indptr[end[1]]++;
    }
    for (int64_t i = 0, at = 0; i <= nodes; i++) {
        const int64_t degree = indptr[i];
        indptr[i] = at;
        at += degree;
    }
    for (int64_t k = 0; k < links; k++) {
        draw_link((uint64_t)k, levels, nodes, end);
        indices[indptr[end[0]]++] = end[1];
        indices[indptr[end[1]]++] = end[0];
    }
    for (int64_t i = nodes; i > 0; i--)
        indptr[i] = indptr[i - 1];
    indptr[0] = 0;
}

/* ---- files ---- */

/* The header of a .npy file, version 1.0, padded to 128 bytes. */
static FILE *begin(const char *folder, const char *name, const char *type, int64_t rows, int64_t cols)
{
    char path[4096], header[128], shape[64];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *file = fopen(path, "wb");
    if (cols)
        snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)rows, (long long)cols);
    else
        snprintf(shape, sizeof shape, "(%lld,)", (long long)rows);
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int n = snprintf(header + 10, sizeof header - 10,
                           "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    header[10 + n] = ' ';
    header[127] = '\n';
    if (file)
        fwrite(header, 1, sizeof header, file);
    return file;
}

static int end(FILE *file)
{
    const bool failed = !file || ferror(file);
    if (!file || fclose(file) != 0 || failed)
        return GNN_EIO;
    return GNN_OK;
}

static int write_links(const char *folder, int64_t nodes, int64_t links)
{
    int64_t *indptr = malloc((size_t)(nodes + 1) * sizeof *indptr);
    int32_t *indices = malloc((size_t)links * 2 * sizeof *indices);
    int rc = indptr && indices ? GNN_OK : GNN_EMEMORY;
    if (rc == GNN_OK) {
        draw(nodes, links, indptr, indices);
        FILE *file = begin(folder, names[0], "<i8", nodes + 1, 0);
        if (file)
            fwrite(indptr, sizeof *indptr, (size_t)nodes + 1, file);
        rc = end(file);
    }
    if (rc == GNN_OK) {
        FILE *file = begin(folder, names[1], "<i4", 2 * links, 0);
        if (file)
            fwrite(indices, sizeof *indices, (size_t)links * 2, file);
        rc = end(file);
    }
    free(indptr);
    free(indices);
    return rc;
}

static int write_rows(const char *folder, int64_t nodes)
{
    float row[SAMPLED_FEATURES];
    FILE *file = begin(folder, names[2], "<f4", nodes, SAMPLED_FEATURES);
    for (int64_t i = 0; file && i < nodes; i++) {
        for (int64_t c = 0; c < SAMPLED_FEATURES; c++)
            row[c] = (float)bench_normal(SEED_X, (uint64_t)(i * SAMPLED_FEATURES + c));
        fwrite(row, sizeof *row, SAMPLED_FEATURES, file);
    }
    GNN_TRY(end(file));
    file = begin(folder, names[3], "<i4", nodes, 0);
    for (int64_t i = 0; file && i < nodes; i++) {
        const int32_t label = (int32_t)(bench_random(SEED_LABELS, (uint64_t)i) % SAMPLED_CLASSES);
        fwrite(&label, sizeof label, 1, file);
    }
    return end(file);
}

int sampled_write(const char *folder, int64_t nodes, int64_t links)
{
    if (nodes < 2 || links < 1 || nodes > INT32_MAX)
        return GNN_EINVALID;
    GNN_TRY(write_links(folder, nodes, links));
    return write_rows(folder, nodes);
}

/* ---- opening ---- */

/* The set's memory: four arrays, mapped or read. Freed once, by the set. */
typedef struct {
    gnn_array_t array[ARRAYS];
    gnn_owner_t mapping[ARRAYS];
    void *copy[ARRAYS];
} held_t;

static void release(void *user)
{
    held_t *h = user;
    for (int k = 0; k < ARRAYS; k++) {
        if (h->mapping[k].release)
            h->mapping[k].release(h->mapping[k].user);
        free(h->copy[k]);
    }
    free(h);
}

static int open_arrays(held_t *h, const char *folder, bool mapped)
{
    char path[4096];
    for (int k = 0; k < ARRAYS; k++) {
        snprintf(path, sizeof path, "%s/%s.npy", folder, names[k]);
        GNN_TRY(gnn_npy_map(&h->array[k], &h->mapping[k], path));
        if (mapped)
            continue;
        static const size_t bytes[ARRAYS] = {8, 4, 4, 4};
        const size_t size = (size_t)h->array[k].count * bytes[k];
        h->copy[k] = malloc(size);
        if (!h->copy[k])
            return GNN_EMEMORY;
        memcpy(h->copy[k], h->array[k].data, size);
        h->array[k].data = h->copy[k];
        h->mapping[k].release(h->mapping[k].user);
        h->mapping[k] = (gnn_owner_t){0};
    }
    return GNN_OK;
}

/* One node in twelve is for training. */
static int draw_split(gnn_split_t **split, int64_t nodes)
{
    uint8_t *train = malloc((size_t)nodes);
    for (int64_t i = 0; train && i < nodes; i++)
        train[i] = bench_uniform(SEED_TRAIN, (uint64_t)i) < 1.0 / 12;
    const int rc = train ? gnn_split_from_masks(split, nodes, 1, train, NULL, NULL) : GNN_EMEMORY;
    free(train);
    return rc;
}

static int make(gnn_data_t **data, held_t *h)
{
    const int64_t n = h->array[0].count - 1;
    gnn_graph_t *graph = NULL;
    gnn_split_t *split;
    GNN_TRY(gnn_graph_borrow_csr(&graph, n, n, gnn_array_ints(&h->array[0]),
                                 gnn_array_ints(&h->array[1]), NULL));
    const gnn_tensor_t x = {(gnn_real_t *)(uintptr_t)h->array[2].data, n, SAMPLED_FEATURES,
                            SAMPLED_FEATURES};
    const gnn_owner_t owner = {release, h};
    int rc = draw_split(&split, n);
    if (rc != GNN_OK) {
        gnn_graph_free(graph);
        return rc;
    }
    rc = gnn_data_new(data, &(gnn_data_config_t){.name = "drawn",
                                                 .graph = graph,
                                                 .x = &x,
                                                 .labels = gnn_array_ints(&h->array[3]),
                                                 .classes = SAMPLED_CLASSES,
                                                 .split = split,
                                                 .owner = &owner});
    gnn_split_free(split);
    if (rc != GNN_OK)
        gnn_graph_free(graph);
    return rc;
}

int sampled_open(gnn_data_t **data, const char *folder, bool mapped)
{
    held_t *h = calloc(1, sizeof *h);
    int rc = h ? open_arrays(h, folder, mapped) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = make(data, h);
    if (rc != GNN_OK && h)
        release(h);
    return rc;
}
