/* --diffusion: replaces the set's graph by its diffusion (GDC, Gasteiger et al. 2019), whose
 * weights a GCN uses as edge weights. */
#include "citation.h"
#include "options.h"
#include "program.h"
#include "scale.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SENDERS = 1000000000 };

int diffusion_rows(option_t *to, diffusion_t *d)
{
    const option_t rows[] = {
        HEADING("Diffusion of the graph"),
        CHOICE("diffusion", &d->kind,
               "graph diffusion (GDC) by personalised PageRank or the heat kernel", "none|ppr|heat"),
        REAL("diffusion-alpha", &d->alpha, "restart probability", 1e-3, 1, .where = "diffusion=ppr"),
        REAL("diffusion-time", &d->time, "diffusion time", 1e-3, 100, .where = "diffusion=heat"),
        WHOLE("diffusion-top", &d->top,
              "strongest senders kept per node [128, or all with one of the next two]", 1,
              MOST_SENDERS, .where = "!diffusion=none"),
        WHOLE("diffusion-average", &d->average, "mean count of senders kept per node [not limited]",
              1, MOST_SENDERS, .where = "!diffusion=none"),
        REAL("diffusion-threshold", &d->threshold, "minimum weight of senders [none]", 1e-9, 1,
             .where = "!diffusion=none"),
    };
    memcpy(to, rows, sizeof rows);
    return (int)(sizeof rows / sizeof *rows);
}

int diffusion_fits(const diffusion_t *d, const recipe_t *recipe)
{
    const int reads = strcmp(recipe->name, "mlp") != 0;
    if (d->kind == DIFFUSION_NONE || (reads && !recipe->hops_itself))
        return 1;
    fprintf(stderr, "--diffusion: %s %s; gcn is one that does not\n", recipe->name,
            reads ? "spreads over the links by itself" : "does without the links");
    return 0;
}

/* Makes the set with another graph. */
static int with_graph(gnn_data_t **made, const gnn_data_t *data, gnn_graph_t *graph,
                      const gnn_real_t *weight)
{
    return gnn_data_new(made, &(gnn_data_config_t){.name = gnn_data_name(data),
                                                   .nodes = gnn_data_nodes(data),
                                                   .graph = graph,
                                                   .weight = weight,
                                                   .x = gnn_data_x(data),
                                                   .sparse = gnn_data_sparse(data),
                                                   .labels = gnn_ints(gnn_data_labels(data)),
                                                   .classes = gnn_data_classes(data),
                                                   .class_names = gnn_data_class_names(data),
                                                   .split = gnn_data_split(data)});
}

const char *graph_words(char words[GRAPH_WORDS], const options_t *o)
{
    const diffusion_t *d = &o->diffusion;
    const int heat = d->kind == DIFFUSION_HEAT;
    if (d->kind == DIFFUSION_NONE)
        return graph_as_stored(o->directed);
    snprintf(words, GRAPH_WORDS, "directed=%d,diffusion=%s,%s=%g,top=%lld,average=%lld,threshold=%g",
             o->directed != 0, heat ? "heat" : "ppr", heat ? "time" : "alpha",
             heat ? d->time : d->alpha, (long long)d->top, (long long)d->average, d->threshold);
    return words;
}

int diffuse(gnn_data_t **data, gnn_context_t *context, const options_t *o)
{
    const diffusion_t *d = &o->diffusion;
    const int all = d->top == 0 && d->average == 0 && d->threshold == 0;
    const gnn_tensor_t *before = gnn_data_rows(*data, GNN_ON_EDGES, "weight");
    gnn_real_t *weight;
    gnn_graph_t *graph;
    gnn_data_t *made = NULL;
    if (d->kind == DIFFUSION_NONE)
        return GNN_OK;
    GNN_TRY(gnn_graph_diffuse(
        &graph, &weight, gnn_data_graph(*data), before ? before->data : NULL, context,
        &(gnn_diffusion_t){.kind = d->kind == DIFFUSION_HEAT ? GNN_DIFFUSION_HEAT
                                                             : GNN_DIFFUSION_PAGERANK,
                           .alpha = d->kind == DIFFUSION_HEAT ? 0 : (gnn_real_t)d->alpha,
                           .time = d->kind == DIFFUSION_HEAT ? (gnn_real_t)d->time : 0,
                           .top = all ? 128 : d->top,
                           .average = d->average,
                           .threshold = (gnn_real_t)d->threshold}));
    fprintf(o->say, "diffused: %lld messages in place of %lld\n",
            (long long)gnn_graph_n_edges(graph), (long long)gnn_graph_n_edges(gnn_data_graph(*data)));
    fflush(o->say);
    int rc = with_graph(&made, *data, graph, weight);
    const gnn_array_t *targets = gnn_data_array_find(*data, GNN_ON_NODES, "targets");
    gnn_free(weight);
    if (rc != GNN_OK) {
        gnn_graph_free(graph);
        return rc;
    }
    rc = targets ? gnn_data_array_set(made, GNN_ON_NODES, targets) : GNN_OK;
    if (rc != GNN_OK) {
        gnn_data_free(made);
        return rc;
    }
    gnn_data_free(*data);
    *data = made;
    return GNN_OK;
}
