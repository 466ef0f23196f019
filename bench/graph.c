/* One training step, or one forward pass, of a graph network on a whole graph: the networks of
 * bench/peers/graph.py.
 *
 *     graph --model gcn|sage|gin|gat|gatv2|transformer_conv|resgated
 *           --mode train|infer [--plain] --data cora|pubmed|tolokers|coauthor_cs|rmat|FILE.npz
 *           [--aggregator mean|max|...] [--order renumbered|file]
 *           [--edge-features WIDTH [--edge-gradients]]
 *
 * --plain: no dropout. GCN, SAGE, GIN: hidden 16 on Planetoid's sets, 256 elsewhere; GAT, GATv2,
 * transformer_conv: 8 heads x 8, 4 x 64 on rmat; 2 layers, 3 on rmat. --edge-features: every layer
 * reads random features of that width, in the order of the graph's edges; --edge-gradients: with
 * gradients, as if an earlier layer had computed them. */
#include "graph_data.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 16 };

typedef struct {
    const char *model, *data, *mode, *order, *aggregator; /* NULL: the model's own */
    bool plain, edge_gradients;
    int64_t layers, hidden, heads; /* 0: as above */
    int64_t edge_features;         /* their width; 0: none */
    gnn_real_t *features;          /* random, owned */
} settings_t;

/* Seed of the edge features. */
enum { SEED_FEATURES = 13 };

static bool attends(const settings_t *s)
{
    return strncmp(s->model, "gat", 3) == 0 || strcmp(s->model, "transformer_conv") == 0;
}

static bool is_planetoid(const char *name)
{
    return !strcmp(name, "cora") || !strcmp(name, "citeseer") || !strcmp(name, "pubmed");
}

static int complete(settings_t *s)
{
    const bool heads = attends(s), big = strcmp(s->data, "rmat") == 0;
    if (!s->layers)
        s->layers = big ? 3 : 2;
    if (!heads)
        s->heads = 1;
    else if (!s->heads)
        s->heads = big ? 4 : 8;
    if (!s->hidden)
        s->hidden = heads ? (big ? 64 : 8) : is_planetoid(s->data) ? 16 : 256;
    return s->layers <= MOST_LAYERS && (!strcmp(s->mode, "train") || !strcmp(s->mode, "infer"))
               ? GNN_OK
               : GNN_EINVALID;
}

static int build(bench_program_t *t, const settings_t *s, gnn_context_t *context,
                 const graph_data_t *d)
{
    gnn_step_t steps[MOST_LAYERS];
    gnn_preset_t preset = gnn_preset_find(s->model);
    const gnn_aggregator_t *aggregator = s->aggregator ? gnn_aggregator_find(s->aggregator) : NULL;
    if (preset == GNN_PRESET_NONE || (s->aggregator && !aggregator))
        return GNN_ENOTFOUND;
    for (int64_t k = 0; k < s->layers; k++) {
        bool last = k == s->layers - 1;
        steps[k] = (gnn_step_t){.kind = GNN_STEP_LAYER,
                                .edge_features = s->features ? "edges" : NULL,
                                .layer = {.preset = preset,
                                          .in = k == 0 ? d->features : s->hidden * s->heads,
                                          .out = last ? d->classes : s->hidden,
                                          .hidden = s->hidden,
                                          .aggregator = aggregator,
                                          .heads = last ? 1 : s->heads,
                                          .edge_dim = s->edge_features,
                                          .activation = last         ? GNN_IDENTITY
                                                        : attends(s) ? GNN_ELU
                                                                     : GNN_RELU,
                                          .dropout = s->plain     ? 0
                                                     : attends(s) ? (gnn_real_t)0.6
                                                                  : (gnn_real_t)0.5}};
    }
    return gnn_model_from_steps(&t->model, context, s->layers, steps);
}

/* The one-time setup: records the program of a step. */
static int prepare(bench_program_t *t, const settings_t *s, bench_t *bench, const graph_data_t *d)
{
    bool train = strcmp(s->mode, "train") == 0;
    const gnn_graph_t *graph = d->graph;
    gnn_tensor_t edges = {s->features, gnn_graph_n_edges(graph), s->edge_features, s->edge_features};
    const gnn_named_t values[] = {
        {.name = "x", .dense = d->x.data ? &d->x : NULL, .sparse = d->x.data ? NULL : &d->sparse},
        {.name = "edges", .dense = &edges, .wants_grad = s->edge_gradients}};
    const gnn_model_inputs_t inputs = {
        .graphs = &graph, .n_graphs = 1, .values = values, .n_values = s->features ? 2 : 1};
    GNN_TRY(build(t, s, bench->context, d));
    GNN_TRY(gnn_model_prepare(t->model, 0, d->graph, train ? GNN_ON : GNN_OFF));
    const gnn_loss_t loss = {.labels = d->labels, .mask = d->train};
    const gnn_optimizer_config_t adam = {.lr = (gnn_real_t)0.005, .weight_decay = (gnn_real_t)5e-4};
    return bench_program(t, bench, &inputs, train ? &loss : NULL, &adam);
}

static int draw_edges(settings_t *s, const graph_data_t *d)
{
    if (s->edge_features <= 0)
        return GNN_OK;
    s->features = bench_normals(SEED_FEATURES, gnn_graph_n_edges(d->graph), s->edge_features);
    return s->features ? GNN_OK : GNN_EMEMORY;
}

static void print(const bench_t *b, const settings_t *s, const bench_program_t *t,
                  const graph_data_t *d)
{
    gnn_tensor_t value = gnn_tape_value(t->tape, t->root);
    bench_text("task", "graph");
    bench_text("model", s->model);
    bench_text("data", s->data);
    bench_text("mode", s->mode);
    bench_flag("plain", s->plain);
    if (s->aggregator)
        bench_text("aggregator", s->aggregator);
    bench_text("order", d->order);
    bench_whole("layers", s->layers);
    bench_whole("heads", s->heads);
    bench_whole("hidden", s->hidden);
    bench_whole("nodes", d->n);
    bench_whole("edges", gnn_graph_n_edges(d->graph));
    if (s->features) {
        bench_whole("edge_features", s->edge_features);
        bench_flag("edge_gradients", s->edge_gradients);
    }
    bench_flag("sparse_features", !d->x.data);
    if (!strcmp(s->mode, "train"))
        bench_number("loss", (double)value.data[0]);
    bench_print(b);
}

int main(int argc, char **argv)
{
    settings_t s = {.model = "gat", .data = "cora", .mode = "train", .order = "renumbered"};
    bench_t bench;
    graph_data_t data = {0};
    bench_program_t task = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"model", BENCH_TEXT, &s.model},
                                  {"data", BENCH_TEXT, &s.data},
                                  {"mode", BENCH_TEXT, &s.mode},
                                  {"plain", BENCH_FLAG, &s.plain},
                                  {"order", BENCH_TEXT, &s.order},
                                  {"aggregator", BENCH_TEXT, &s.aggregator},
                                  {"layers", BENCH_NUMBER, &s.layers},
                                  {"hidden", BENCH_NUMBER, &s.hidden},
                                  {"heads", BENCH_NUMBER, &s.heads},
                                  {"edge-features", BENCH_NUMBER, &s.edge_features},
                                  {"edge-gradients", BENCH_FLAG, &s.edge_gradients},
                                  {0}});
    int rc = complete(&s);
    if (rc == GNN_OK)
        rc = graph_data_open(&data, s.data, s.order);
    if (rc == GNN_OK)
        rc = draw_edges(&s, &data);
    if (rc == GNN_OK)
        rc = prepare(&task, &s, &bench, &data);
    if (rc == GNN_OK)
        rc = bench_program_time(&task, &bench);
    if (rc == GNN_OK)
        print(&bench, &s, &task, &data);
    bench_program_free(&task);
    free(s.features);
    graph_data_free(&data);
    return bench_close(&bench, rc);
}
