/* tolokers is one graph with a label per node. Of the 1,113 graphs of PROTEINS, 256 are taken at
 * equal strides; a node's label is that of its graph. */
#include "layers_graphs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 256, RELATIONS = 4 };

/* Edge lists of a graph extracted from another. */
typedef struct {
    int64_t count, *src, *dst, *edge;
} pairs_t;

static int pairs_of(const gnn_graph_t *graph, pairs_t *p)
{
    const size_t bytes = (size_t)(gnn_graph_n_pairs(graph) + 1) * sizeof *p->src;
    *p = (pairs_t){gnn_graph_n_pairs(graph), malloc(bytes), malloc(bytes), malloc(bytes)};
    return p->src && p->dst && p->edge ? gnn_graph_pairs(graph, p->src, p->dst, p->edge)
                                       : GNN_EMEMORY;
}

static void pairs_free(pairs_t *p)
{
    free(p->src);
    free(p->dst);
    free(p->edge);
}

/* ---- PROTEINS ---- */

static int64_t chosen(int64_t k, int64_t graphs)
{
    return k * graphs / BATCH;
}

/* `place` maps nodes of the selected graphs to their new ids, others to -1. */
static int take_nodes(layers_graphs_t *g, const gnn_data_t *all, int64_t *place)
{
    const int64_t *begin = gnn_graph_dst_segments(gnn_data_graph(all)), graphs = gnn_data_graphs(all);
    for (int64_t i = 0; i < gnn_data_nodes(all); i++)
        place[i] = -1;
    g->segments = BATCH;
    g->lengths = malloc(BATCH * sizeof *g->lengths);
    g->graph_labels = malloc(BATCH * sizeof *g->graph_labels);
    g->labels = malloc((size_t)gnn_data_nodes(all) * sizeof *g->labels);
    if (!g->lengths || !g->graph_labels || !g->labels)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < BATCH; k++) {
        const int64_t s = chosen(k, graphs);
        g->lengths[k] = begin[s + 1] - begin[s];
        g->graph_labels[k] = gnn_data_graph_labels(all)[s];
        for (int64_t i = begin[s]; i < begin[s + 1]; i++) {
            g->labels[g->n] = g->graph_labels[k];
            place[i] = g->n++;
        }
    }
    return GNN_OK;
}

static int take_edges(layers_graphs_t *g, const gnn_data_t *all, const int64_t *place)
{
    pairs_t p;
    int64_t m = 0;
    int rc = pairs_of(gnn_data_graph(all), &p);
    for (int64_t e = 0; rc == GNN_OK && e < p.count; e++)
        if (place[p.dst[e]] >= 0) {
            p.src[m] = place[p.src[e]];
            p.dst[m++] = place[p.dst[e]];
        }
    if (rc == GNN_OK)
        rc = gnn_graph_from_edges(&g->graph, g->n, g->n, m, p.src, p.dst);
    if (rc == GNN_OK)
        rc = gnn_graph_cut(g->graph, g->segments, g->lengths);
    pairs_free(&p);
    return rc;
}

static int open_proteins(layers_graphs_t *g)
{
    char path[4096];
    gnn_data_t *all = NULL;
    const char *root = getenv("GNN_DATA");
    snprintf(path, sizeof path, "%s/graph-classification/PROTEINS.txt",
             root ? root : GNN_SOURCE_ROOT "/../shared/data");
    GNN_TRY(gnn_data_open(&all, path));
    int64_t *place = malloc((size_t)gnn_data_nodes(all) * sizeof *place);
    int rc = place ? take_nodes(g, all, place) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = take_edges(g, all, place);
    free(place);
    gnn_data_free(all);
    return rc;
}

/* ---- tolokers ---- */

static int open_nodes(layers_graphs_t *g, const char *name)
{
    GNN_TRY(graph_data_open(&g->data, name, "renumbered"));
    g->graph = g->data.graph;
    g->n = g->data.n;
    g->train = g->data.train;
    g->segments = 1;
    g->lengths = malloc(sizeof *g->lengths);
    g->graph_labels = calloc(1, sizeof *g->graph_labels);
    g->labels = malloc((size_t)g->n * sizeof *g->labels);
    if (!g->lengths || !g->graph_labels || !g->labels)
        return GNN_EMEMORY;
    g->lengths[0] = g->n;
    memcpy(g->labels, g->data.labels, (size_t)g->n * sizeof *g->labels);
    return GNN_OK;
}

int layers_graphs_open(layers_graphs_t *g, const char *name)
{
    *g = (layers_graphs_t){0};
    return strcmp(name, "proteins") == 0 ? open_proteins(g) : open_nodes(g, name);
}

void layers_graphs_free(layers_graphs_t *g)
{
    if (g->graph != g->data.graph)
        gnn_graph_free(g->graph);
    graph_data_free(&g->data);
    free(g->lengths);
    free(g->labels);
    free(g->graph_labels);
}

/* ---- slots ---- */

/* Edges whose id is `relation` modulo 4. */
static int related(const layers_graphs_t *g, int64_t relation, gnn_graph_t **slot)
{
    pairs_t p;
    int64_t m = 0;
    int rc = pairs_of(g->graph, &p);
    for (int64_t e = 0; rc == GNN_OK && e < p.count; e++)
        if (p.edge[e] % RELATIONS == relation) {
            p.src[m] = p.src[e];
            p.dst[m++] = p.dst[e];
        }
    if (rc == GNN_OK)
        rc = gnn_graph_from_edges(slot, g->n, g->n, m, p.src, p.dst);
    pairs_free(&p);
    return rc;
}

/* One row per segment, which receives from all of its nodes, or from itself. */
static int readout(const layers_graphs_t *g, bool itself, gnn_graph_t **slot)
{
    int64_t *ones = malloc((size_t)g->segments * sizeof *ones);
    if (!ones)
        return GNN_EMEMORY;
    for (int64_t s = 0; s < g->segments; s++)
        ones[s] = 1;
    int rc = itself ? gnn_graph_complete(slot, g->segments, ones)
                    : gnn_graph_bipartite(slot, g->segments, ones, g->lengths);
    free(ones);
    return rc;
}

static int again(const layers_graphs_t *g, gnn_graph_t **slot)
{
    pairs_t p;
    int rc = pairs_of(g->graph, &p);
    int64_t *src = rc == GNN_OK ? malloc((size_t)(p.count + 1) * 2 * sizeof *src) : NULL;
    if (rc == GNN_OK && !src)
        rc = GNN_EMEMORY;
    for (int64_t e = 0; rc == GNN_OK && e < p.count; e++) {
        src[p.edge[e]] = p.src[e];
        src[p.count + p.edge[e]] = p.dst[e];
    }
    if (rc == GNN_OK)
        rc = gnn_graph_from_edges(slot, g->n, g->n, p.count, src, src + p.count);
    if (rc == GNN_OK && g->segments > 1)
        rc = gnn_graph_cut(*slot, g->segments, g->lengths);
    free(src);
    pairs_free(&p);
    return rc;
}

int layers_graphs_slot(const layers_graphs_t *g, char letter, gnn_graph_t **slot)
{
    switch (letter) {
    case 'g': return again(g, slot);
    case 'e': return gnn_graph_incidence(slot, g->graph);
    case 'c': return gnn_graph_complete(slot, g->segments, g->lengths);
    case 'r':
    case 's': return readout(g, false, slot);
    case 'a': return readout(g, true, slot);
    default: return related(g, letter - '0', slot);
    }
}

double layers_graphs_log_degree(const layers_graphs_t *g)
{
    pairs_t p;
    double sum = 0;
    int64_t *degree = calloc((size_t)g->n, sizeof *degree);
    if (pairs_of(g->graph, &p) == GNN_OK && degree) {
        for (int64_t e = 0; e < p.count; e++)
            degree[p.dst[e]]++;
        for (int64_t i = 0; i < g->n; i++)
            sum += log((double)degree[i] + 1) / (double)g->n;
    }
    free(degree);
    pairs_free(&p);
    return sum;
}
