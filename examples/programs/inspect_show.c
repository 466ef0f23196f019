/* Attention on one sentence, as text, pictures, a page and a graph. */
#include "inspect.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const gnn_attention_maps_t *a;
    const inspect_t *o;
    int64_t layer;
    gnn_real_t *weights; /* (words x words) of the layer and head */
    gnn_tensor_t map;
    char title[96];
} view_t;

/* ---- text ---- */

static int64_t strongest(const view_t *v, int64_t word)
{
    int64_t best = 0;
    for (int64_t k = 1; k < v->a->words; k++)
        if (v->weights[word * v->a->words + k] > v->weights[word * v->a->words + best])
            best = k;
    return best;
}

static void print(const view_t *v)
{
    printf("%s\n", v->title);
    for (int64_t k = 0; k < v->a->words; k++) {
        const int64_t best = strongest(v, k);
        printf("    %-16s -> %-16s %5.1f%%\n", v->a->names[k], v->a->names[best],
               100 * (double)v->weights[k * v->a->words + best]);
    }
}

static void print_json(const view_t *v)
{
    printf("{\"layer\": %lld, \"head\": %lld, \"words\": [", (long long)v->layer,
           (long long)v->o->head);
    for (int64_t k = 0; k < v->a->words; k++) {
        fputs(k ? ", " : "", stdout);
        program_json_string(stdout, v->a->names[k]);
    }
    printf("], \"attention\": [");
    for (int64_t k = 0; k < v->a->words; k++)
        for (int64_t j = 0; j < v->a->words; j++)
            printf("%s%.5f%s",
                   j   ? ", "
                   : k ? ", ["
                       : "[",
                   (double)v->weights[k * v->a->words + j], j + 1 == v->a->words ? "]" : "");
    printf("]}\n");
}

/* ---- pictures ---- */

static int draw_heatmap(FILE *file, const void *what)
{
    const view_t *v = what;
    return gnn_svg_heatmap(file, &(gnn_heatmap_t){.values = v->map,
                                                  .row_labels = v->a->names,
                                                  .col_labels = v->a->names,
                                                  .title = "Who listens to whom",
                                                  .subtitle = v->title,
                                                  .high = 1,
                                                  .row_axis = "receiver",
                                                  .col_axis = "sender",
                                                  .mark_row = -1,
                                                  .mark_col = -1});
}

static int draw_grid(FILE *file, const void *what)
{
    return gnn_svg_attention_grid(file, ((const view_t *)what)->a, NULL);
}

static int draw_page(FILE *file, const void *what)
{
    return gnn_html_attention(file, ((const view_t *)what)->a, "Who listens to whom");
}

/* Edges below a fifth of the largest weight are omitted for legibility. The layout places words
 * with large weights close together. */
static int draw_graph(FILE *file, const void *what)
{
    const view_t *v = what;
    const int64_t n = v->a->words, m = n * n;
    int64_t *src = malloc((size_t)(2 * m) * sizeof *src), *dst = src + m, kept = 0;
    gnn_real_t *at = malloc((size_t)(2 * n) * sizeof *at),
               *weight = malloc((size_t)m * sizeof *weight);
    gnn_graph_t *graph = NULL;
    gnn_real_t most = 0;
    for (int64_t k = 0; src && weight && k < m; k++)
        most = k / n != k % n && v->weights[k] > most ? v->weights[k] : most;
    for (int64_t k = 0; src && weight && k < m; k++)
        if (k / n != k % n && v->weights[k] >= most / 5) {
            dst[kept] = k / n;
            src[kept] = k % n;
            weight[kept++] = v->weights[k];
        }
    const gnn_tensor_t points = gnn_tensor(at, n, 2);
    int rc = src && at && weight ? gnn_graph_from_edges(&graph, n, n, kept, src, dst) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_graph_pairs(graph, src, dst, NULL);
    for (int64_t k = 0; rc == GNN_OK && k < kept; k++)
        weight[k] = v->weights[dst[k] * n + src[k]];
    if (rc == GNN_OK)
        rc = gnn_graph_layout_weighted(graph, weight, (uint64_t)v->o->seed, &points);
    if (rc == GNN_OK)
        rc = gnn_svg_graph(file, &(gnn_graph_picture_t){.points = points,
                                                        .labels = v->a->names,
                                                        .from = src,
                                                        .to = dst,
                                                        .weight = weight,
                                                        .n_edges = kept,
                                                        .title = "A sentence as a graph",
                                                        .subtitle = v->title});
    gnn_graph_free(graph);
    free(weight);
    free(at);
    free(src);
    return rc;
}

/* ---- main ---- */

/* Pairs of a complete graph are ordered by receiver, like the rows of the map. */
static int write_graphml(const view_t *v)
{
    gnn_graph_t *graph = NULL;
    GNN_TRY(gnn_graph_complete(&graph, 1, &v->a->words));
    const int rc = gnn_graph_write_graphml(graph, v->a->names, v->weights, v->o->graphml);
    gnn_graph_free(graph);
    return rc;
}

static int write_all(const view_t *v)
{
    const inspect_t *o = v->o;
    const struct {
        const char *path;
        int (*draw)(FILE *file, const void *what);
    } pictures[] = {{o->heatmap, draw_heatmap},
                    {o->grid, draw_grid},
                    {o->html, draw_page},
                    {o->graph, draw_graph}};
    for (int k = 0; k < 4; k++) {
        const int rc =
            pictures[k].path ? program_write(pictures[k].path, pictures[k].draw, v) : GNN_OK;
        if (rc != GNN_OK)
            return rc;
    }
    return o->graphml ? write_graphml(v) : GNN_OK;
}

int inspect_show(const gnn_attention_maps_t *attention, const inspect_t *o)
{
    view_t v = {.a = attention, .o = o, .layer = o->layer < 0 ? attention->layers - 1 : o->layer};
    char head[32];
    GNN_TRY(program_can_show(o->layer, attention->layers, o->head, attention->heads));
    v.weights = calloc((size_t)(attention->words * attention->words), sizeof *v.weights);
    v.map = gnn_tensor(v.weights, attention->words, attention->words);
    int rc = v.weights ? gnn_attention_map(attention, v.layer, o->head, &v.map) : GNN_EMEMORY;
    if (rc == GNN_OK) {
        snprintf(head, sizeof head, "head %lld", (long long)o->head);
        snprintf(v.title, sizeof v.title, "%s, %s", attention->layer_names[v.layer],
                 o->head < 0 ? "mean of the heads" : head);
        rc = write_all(&v);
    }
    if (rc == GNN_OK && o->json)
        print_json(&v);
    else if (rc == GNN_OK)
        print(&v);
    free(v.weights);
    return rc;
}
