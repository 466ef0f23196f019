/* Opens a data set like load() of the peers: bag-of-words rows divided by their sums (except
 * Pubmed's, which are weighted already), the file's first training mask or one node in ten. */
#include "graph_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED_TRAIN = 11 };

void *graph_data_own(graph_data_t *d, size_t bytes)
{
    void *memory = d->n_own < (int)(sizeof d->own / sizeof *d->own) ? malloc(bytes) : NULL;
    if (memory)
        d->own[d->n_own++] = memory;
    return memory;
}

void graph_data_free(graph_data_t *d)
{
    if (d->graph && !(d->opened && gnn_data_graph(d->opened) == d->graph))
        gnn_graph_free(d->graph);
    gnn_data_free(d->opened);
    while (d->n_own)
        free(d->own[--d->n_own]);
}

/* A path, else FOLDER/NAME.npz under $GNN_DATA. */
static void find(const char *name, char *path, size_t size)
{
    static const char *const folders[] = {"planetoid", "heterophilous", "npz-plain"};
    const char *root = getenv("GNN_DATA");
    snprintf(path, size, "%s", name);
    for (size_t k = 0; access(path, R_OK) != 0 && k < sizeof folders / sizeof *folders; k++)
        snprintf(path, size, "%s/%s/%s.npz", root ? root : GNN_SOURCE_ROOT "/../shared/data",
                 folders[k], name);
    if (access(path, R_OK) != 0)
        snprintf(path, size, "%s", name);
}

/* Reads arrays of the file that gnn_data_t does not keep. */
static int look_inside(const char *path, bool *edge_list, bool *masks)
{
    gnn_arrays_t *arrays;
    int rc = gnn_npz_read(&arrays, path, NULL);
    if (rc != GNN_OK)
        return rc;
    *edge_list = gnn_arrays_find(arrays, "edges") != NULL;
    *masks = gnn_arrays_find(arrays, "train_mask") || gnn_arrays_find(arrays, "train_masks");
    gnn_arrays_free(arrays);
    return GNN_OK;
}

/* Converts dense features with at least 90% zeros to sparse ones. */
static int make_sparse(graph_data_t *d)
{
    int64_t nnz = 0, total = d->n * d->features;
    for (int64_t k = 0; k < total; k++)
        nnz += d->x.data[k] != 0;
    if (10 * nnz > total)
        return GNN_OK;
    int64_t *indptr = graph_data_own(d, (size_t)(d->n + 1) * sizeof *indptr);
    int32_t *indices = graph_data_own(d, (size_t)nnz * sizeof *indices + 1);
    gnn_real_t *values = graph_data_own(d, (size_t)nnz * sizeof *values + 1);
    if (!indptr || !indices || !values)
        return GNN_EMEMORY;
    indptr[0] = nnz = 0;
    for (int64_t k = 0; k < total; k++) {
        if (d->x.data[k] != 0) {
            indices[nnz] = (int32_t)(k % d->features);
            values[nnz++] = d->x.data[k];
        }
        indptr[k / d->features + 1] = nnz;
    }
    d->sparse = (gnn_sparse_t){d->n, d->features, indptr, indices, values};
    d->x.data = NULL;
    return GNN_OK;
}

static int draw_mask(graph_data_t *d)
{
    uint8_t *train = graph_data_own(d, (size_t)d->n);
    d->train = train;
    if (!train)
        return GNN_EMEMORY;
    for (int64_t i = 0; i < d->n; i++)
        train[i] = d->labels[i] >= 0 && bench_uniform(SEED_TRAIN, (uint64_t)i) < 0.1;
    return GNN_OK;
}

static int open_file(graph_data_t *d, const char *path)
{
    bool edge_list = false, masks = false;
    GNN_TRY(gnn_data_open(&d->opened, path));
    GNN_TRY(look_inside(path, &edge_list, &masks));
    gnn_data_t *o = d->opened;
    d->n = gnn_data_nodes(o);
    if (!strcmp(d->order, "renumbered"))
        GNN_TRY(gnn_data_reorder(o));
    if (!edge_list && strcmp(gnn_data_name(o), "pubmed") != 0)
        GNN_TRY(gnn_data_row_normalise(o));
    d->graph = gnn_data_graph(o);
    d->features = gnn_data_features(o);
    d->classes = gnn_data_classes(o);
    if (gnn_data_x(o))
        d->x = *gnn_data_x(o);
    else
        d->sparse = *gnn_data_sparse(o);
    d->labels = gnn_data_labels(o);
    if (d->x.data)
        GNN_TRY(make_sparse(d));
    if (!masks)
        return draw_mask(d);
    d->train = gnn_data_mask(o, GNN_TRAIN, 0);
    return GNN_OK;
}

int graph_data_open(graph_data_t *d, const char *name, const char *order)
{
    char path[4096];
    *d = (graph_data_t){.name = name, .order = order};
    if (strcmp(order, "renumbered") != 0 && strcmp(order, "file") != 0)
        return GNN_EINVALID;
    if (strcmp(name, "rmat") == 0)
        return graph_data_rmat(d);
    find(name, path, sizeof path);
    return open_file(d, path);
}
