/* Recurrent networks in the order of a graph: forward, or a training step.
 *
 *     sweeps --cell lstm|gru|tree [--sequences 32] [--length 128] [--width 128]
 *            [--mode infer|train]
 *
 * tree: child-sum Tree-LSTM over binary trees of --length nodes each, by seed; else chains. The
 * loss is a cross-entropy of two classes per node after a linear map. */
#include "bench.h"

#include <gnn/model.h>
#include <gnn/tape.h>
#include <gnn/train.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *cell, *mode;
    int64_t sequences, length, width;
} settings_t;

/* Node k > 0 of a tree sends to node (k - 1) / 2. */
static int make_trees(gnn_graph_t **graph, const settings_t *s)
{
    const int64_t n = s->sequences * s->length, m = n - s->sequences;
    int64_t *src = malloc(sizeof *src * (size_t)(2 * n)), *dst = src + n, at = 0;
    if (!src)
        return GNN_EMEMORY;
    for (int64_t tree = 0; tree < s->sequences; tree++)
        for (int64_t k = 1; k < s->length; k++, at++) {
            src[at] = tree * s->length + k;
            dst[at] = tree * s->length + (k - 1) / 2;
        }
    const int rc = gnn_graph_from_edges(graph, n, n, m, gnn_ints(src), gnn_ints(dst));
    free(src);
    return rc;
}

static int make_chains(gnn_graph_t **graph, const settings_t *s)
{
    int64_t *lengths = malloc(sizeof *lengths * (size_t)s->sequences);
    if (!lengths)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < s->sequences; k++)
        lengths[k] = s->length;
    const int rc = gnn_graph_window(graph, s->sequences, lengths, 1, 1, GNN_ON);
    free(lengths);
    return rc;
}

static int build(gnn_model_t **model, gnn_context_t *context, const settings_t *s)
{
    const bool gru = strcmp(s->cell, "gru") == 0;
    const int64_t d = s->width, gates = gru ? 3 : 4;
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    const gnn_step_t list[] = {
        {.kind = GNN_STEP_LINEAR, .name = "gates", .inputs = {"x"}, .in = d, .out = gates * d},
        {.kind = GNN_STEP_PARAMETER, .name = "U", .rows = d, .out = gates * d},
        {.kind = GNN_STEP_PARAMETER, .name = "b", .rows = 1, .out = gates * d},
        {.kind = GNN_STEP_OP,
         .name = "states",
         .op = gru ? &gnn_op_gru_sweep : &gnn_op_lstm_sweep,
         .inputs = {"gates", "U", "b"}},
        {.kind = GNN_STEP_VIEW, .name = "h", .inputs = {"states"}, .column = 0, .columns = d},
        {.kind = GNN_STEP_LINEAR, .name = "answer", .in = d, .out = 2}};
    int rc = GNN_OK;
    for (size_t k = 0; rc == GNN_OK && k < sizeof list / sizeof *list; k++)
        rc = gnn_steps_add(steps, &list[k]);
    if (rc == GNN_OK)
        rc = gnn_model_build(model, context, steps);
    gnn_steps_free(steps);
    return rc;
}

static int measure(bench_t *bench, const settings_t *s, bench_program_t *p, gnn_graph_t **graph,
                   gnn_real_t *x, int32_t *labels)
{
    const int64_t n = s->sequences * s->length;
    const bool train = strcmp(s->mode, "train") == 0;
    GNN_TRY(strcmp(s->cell, "tree") == 0 ? make_trees(graph, s) : make_chains(graph, s));
    GNN_TRY(build(&p->model, bench->context, s));
    GNN_TRY(gnn_model_prepare(p->model, 0, *graph, train ? GNN_ON : GNN_OFF));
    const gnn_graph_t *graphs[] = {*graph};
    const gnn_tensor_t rows = gnn_tensor(x, n, s->width);
    const gnn_named_t values[] = {{.name = "x", .dense = &rows}};
    const gnn_model_inputs_t inputs = {
        .graphs = graphs, .n_graphs = 1, .values = values, .n_values = 1};
    for (int64_t k = 0; k < n; k++)
        labels[k] = (int32_t)(bench_random(3, (uint64_t)k) & 1);
    GNN_TRY(bench_program(p, bench, &inputs,
                          train ? &(gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY, .labels = labels}
                                : NULL,
                          &(gnn_optimizer_config_t){.kind = GNN_ADAM, .lr = (gnn_real_t)1e-3}));
    GNN_TRY(bench_program_time(p, bench));
    bench_text("task", "sweeps");
    bench_text("cell", s->cell);
    bench_text("mode", s->mode);
    bench_whole("sequences", s->sequences);
    bench_whole("length", s->length);
    bench_whole("width", s->width);
    bench_print(bench);
    return GNN_OK;
}

int main(int argc, char **argv)
{
    settings_t s = {.cell = "lstm", .mode = "train", .sequences = 32, .length = 128, .width = 128};
    bench_t bench;
    bench_program_t program = {0};
    gnn_graph_t *graph = NULL;
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"cell", BENCH_TEXT, &s.cell},
                                  {"mode", BENCH_TEXT, &s.mode},
                                  {"sequences", BENCH_NUMBER, &s.sequences},
                                  {"length", BENCH_NUMBER, &s.length},
                                  {"width", BENCH_NUMBER, &s.width},
                                  {0}});
    int rc = s.sequences > 0 && s.length > 0 && s.width > 0 ? GNN_OK : GNN_EINVALID;
    gnn_real_t *x = rc == GNN_OK ? bench_normals(1, s.sequences * s.length, s.width) : NULL;
    int32_t *labels = rc == GNN_OK ? calloc((size_t)(s.sequences * s.length), sizeof *labels) : NULL;
    if (rc == GNN_OK)
        rc = x && labels ? measure(&bench, &s, &program, &graph, x, labels) : GNN_EMEMORY;
    bench_program_free(&program);
    gnn_graph_free(graph);
    free(x);
    free(labels);
    return bench_close(&bench, rc);
}
