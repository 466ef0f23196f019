/* One layer or block alone, forward or a training step: the modules of bench/peers/layers.py.
 *
 *     layers --layer NAME --graph tolokers|proteins --mode train|infer
 *     layers --list
 *
 * NAME is an entry of layers_rows.c. Features are random, with 64 columns in and out; attention has
 * 8 heads of 8; edge features are random, with 8 columns. A training step is forward, cross-entropy
 * over the layer's output (for rows of nodes: the training nodes), backward with the gradient of
 * the features, and Adam. */
#include "layers_graphs.h"
#include "layers_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 4, SEED_X = 21, SEED_EDGES = 22 };

typedef struct {
    const char *layer, *graph, *mode;
    bool list;
} settings_t;

/* The state of a run. */
typedef struct {
    const layers_row_t *row;
    layers_graphs_t graphs;
    gnn_graph_t *slots[MOST_SLOTS];
    int n_slots;
    gnn_real_t *x, *edges;
    bench_program_t program;
} run_t;

static void run_free(run_t *r)
{
    bench_program_free(&r->program);
    for (int k = 0; k < r->n_slots; k++)
        gnn_graph_free(r->slots[k]);
    layers_graphs_free(&r->graphs);
    free(r->x);
    free(r->edges);
}

static int64_t edge_width(const layers_row_t *row)
{
    return row->edge_width ? row->edge_width : EDGE_WIDTH;
}

/* The graphs of the slots, each with the views that the model needs. */
static int make_slots(run_t *r, gnn_flag_t backward)
{
    for (const char *letter = r->row->slots; *letter && r->n_slots < MOST_SLOTS; letter++) {
        GNN_TRY(layers_graphs_slot(&r->graphs, *letter, &r->slots[r->n_slots]));
        r->n_slots++;
        if (r->n_slots <= gnn_model_graph_count(r->program.model))
            GNN_TRY(gnn_model_prepare(r->program.model, r->n_slots - 1, r->slots[r->n_slots - 1],
                                      backward));
    }
    return GNN_OK;
}

static int make_model(run_t *r, gnn_context_t *context)
{
    gnn_steps_t *steps = NULL;
    int rc = gnn_steps_new(&steps);
    if (rc == GNN_OK)
        rc = layers_row_steps(r->row, layers_graphs_log_degree(&r->graphs), steps);
    if (rc == GNN_OK)
        rc = gnn_model_build(&r->program.model, context, steps);
    gnn_steps_free(steps);
    return rc;
}

/* Rows of the last step: nodes, or graphs after a readout. */
static bool per_segment(const run_t *r)
{
    return strncmp(r->row->name, "readout", strlen("readout")) == 0;
}

static int prepare(run_t *r, const settings_t *s, bench_t *bench)
{
    const bool train = strcmp(s->mode, "train") == 0;
    const int64_t n = r->graphs.n, m = gnn_graph_n_edges(r->graphs.graph), w = edge_width(r->row);
    r->x = bench_normals(SEED_X, n, WIDTH);
    r->edges = bench_normals(SEED_EDGES, m, w);
    if (!r->x || !r->edges)
        return GNN_EMEMORY;
    GNN_TRY(make_model(r, bench->context));
    GNN_TRY(make_slots(r, train ? GNN_ON : GNN_OFF));
    const gnn_tensor_t x = {r->x, n, WIDTH, WIDTH}, edges = {r->edges, m, w, w};
    const gnn_named_t values[] = {{.name = "x", .dense = &x, .wants_grad = train},
                                  {.name = "edges", .dense = &edges}};
    const gnn_model_inputs_t inputs = {.graphs = (const gnn_graph_t *const *)r->slots,
                                       .n_graphs = r->n_slots,
                                       .values = values,
                                       .n_values = 2};
    const gnn_loss_t loss = {
        .labels = per_segment(r) ? r->graphs.graph_labels : r->graphs.labels,
        .mask = per_segment(r) ? NULL : r->graphs.train,
    };
    const gnn_optimizer_config_t adam = {.lr = (gnn_real_t)0.005};
    return bench_program(&r->program, bench, &inputs, train ? &loss : NULL, &adam);
}

/* Count of the learned scalars, for comparison with the peer's module. */
static int64_t numbers(const run_t *r)
{
    const gnn_parameters_t *all = gnn_model_parameters(r->program.model);
    int64_t sum = 0;
    for (int32_t k = 0; k < gnn_parameters_count(all); k++) {
        const gnn_tensor_t p = gnn_parameters_value(all, k);
        sum += p.rows * p.cols;
    }
    return sum;
}

static void print(const bench_t *b, const settings_t *s, const run_t *r)
{
    gnn_tensor_t value = gnn_tape_value(r->program.tape, r->program.root);
    bench_text("task", "layers");
    bench_text("layer", s->layer);
    bench_text("graph", s->graph);
    bench_text("mode", s->mode);
    bench_whole("nodes", r->graphs.n);
    bench_whole("edges", gnn_graph_n_edges(r->graphs.graph));
    bench_whole("parameters", numbers(r));
    if (!strcmp(s->mode, "train"))
        bench_number("loss", (double)value.data[0]);
    bench_print(b);
}

int main(int argc, char **argv)
{
    settings_t s = {.layer = "gcn", .graph = "tolokers", .mode = "train"};
    bench_t bench;
    run_t run = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"layer", BENCH_TEXT, &s.layer},
                                  {"graph", BENCH_TEXT, &s.graph},
                                  {"mode", BENCH_TEXT, &s.mode},
                                  {"list", BENCH_FLAG, &s.list},
                                  {0}});
    for (size_t k = 0; s.list && layers_row_at(k); k++)
        puts(layers_row_at(k)->name);
    if (s.list)
        return bench_close(&bench, GNN_OK);
    run.row = layers_row_find(s.layer);
    int rc = !run.row ? GNN_ENOTFOUND : GNN_OK;
    if (rc == GNN_OK && strcmp(s.mode, "train") != 0 && strcmp(s.mode, "infer") != 0)
        rc = GNN_EINVALID;
    if (rc == GNN_OK)
        rc = layers_graphs_open(&run.graphs, s.graph);
    if (rc == GNN_OK)
        rc = prepare(&run, &s, &bench);
    if (rc == GNN_OK)
        rc = bench_program_time(&run.program, &bench);
    if (rc == GNN_OK)
        print(&bench, &s, &run);
    run_free(&run);
    return bench_close(&bench, rc);
}
