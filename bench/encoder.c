/* A stack of Transformer layers (post-norm, GELU, as nn.TransformerEncoderLayer) on a batch of
 * sentences: forward, or a training step that ends in the mean square of the output, with dropout
 * .1 and Adam.
 *
 *     encoder --mode train|infer [--ragged] [--batch 32 --words 128 --layers 6]
 *             [--d 384 --heads 12 --ffn 1536]
 *
 * --ragged: lengths of 8 to 25 tokens and one of 40, as bench/peers/encoder.py draws them.
 * Sentences are concatenated without padding. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 64 };
/* A seed with which 32 sentences have 502 tokens, as many as the peer's generator draws. */
enum { LENGTHS = 314 };

typedef struct {
    const char *mode;
    bool ragged;
    int64_t batch, words, layers, d, heads, ffn;
} settings_t;

typedef struct {
    gnn_graph_t *graph;
    bench_program_t program;
    gnn_real_t *x, *zeros;
    gnn_tensor_t targets;
    int64_t words;
} task_t;

static int build_graph(task_t *t, const settings_t *s)
{
    int64_t *lengths = malloc((size_t)(s->batch + 1) * sizeof *lengths);
    if (!lengths)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < s->batch; k++) {
        lengths[k] = !s->ragged ? s->words
                     : k == 0   ? 40
                                : 8 + (int64_t)(bench_random(LENGTHS, (uint64_t)k) % 18);
        t->words += lengths[k];
    }
    int rc = gnn_graph_complete(&t->graph, s->batch, lengths);
    free(lengths);
    return rc;
}

static int build_model(task_t *t, const settings_t *s, gnn_context_t *context)
{
    gnn_layer_config_t layers[MOST_LAYERS];
    if (s->layers > MOST_LAYERS)
        return GNN_EINVALID;
    for (int64_t k = 0; k < s->layers; k++)
        layers[k] = GNN_TRANSFORMER(.in = s->d, .heads = s->heads, .feed_forward = s->ffn,
                                    .hidden_activation = GNN_GELU, .dropout = (gnn_real_t)0.1);
    return gnn_model_new(&t->program.model, context, s->layers, layers);
}

static int prepare(task_t *t, bench_t *bench, const settings_t *s)
{
    const bool train = strcmp(s->mode, "train") == 0;
    if (!train && strcmp(s->mode, "infer") != 0)
        return GNN_EINVALID;
    GNN_TRY(build_graph(t, s));
    GNN_TRY(build_model(t, s, bench->context));
    t->x = bench_normals(2, t->words, s->d);
    t->zeros = train ? calloc((size_t)(t->words * s->d), sizeof *t->zeros) : NULL;
    if (!t->x || (train && !t->zeros))
        return GNN_EMEMORY;
    t->targets = gnn_tensor(t->zeros, t->words, s->d);
    gnn_tensor_t x = gnn_tensor(t->x, t->words, s->d);
    const gnn_graph_t *graph = t->graph;
    gnn_named_t named = {.name = "x", .dense = &x};
    gnn_model_inputs_t inputs = {.graphs = &graph, .n_graphs = 1, .values = &named, .n_values = 1};
    GNN_TRY(gnn_model_prepare(t->program.model, 0, t->graph, train ? GNN_ON : GNN_OFF));
    /* Mean square of the output and Adam, as in the peer's training step. */
    const gnn_loss_t loss = {.kind = GNN_LOSS_MEAN_SQUARED, .targets = &t->targets};
    return bench_program(&t->program, bench, &inputs, train ? &loss : NULL,
                         &(gnn_optimizer_config_t){.lr = (gnn_real_t)1e-4});
}

static void print(const bench_t *b, const settings_t *s, const task_t *t)
{
    bench_text("task", "encoder");
    bench_text("mode", s->mode);
    bench_flag("ragged", s->ragged);
    bench_whole("batch", s->batch);
    bench_whole("words", t->words);
    bench_whole("layers", s->layers);
    bench_whole("d", s->d);
    bench_whole("heads", s->heads);
    bench_whole("ffn", s->ffn);
    bench_number("words_per_s", (double)t->words / b->median_ms * 1e3);
    bench_print(b);
}

int main(int argc, char **argv)
{
    settings_t s = {
        .mode = "infer", .batch = 32, .words = 128, .layers = 6, .d = 384, .heads = 12, .ffn = 1536};
    bench_t bench;
    task_t task = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"mode", BENCH_TEXT, &s.mode},
                                  {"ragged", BENCH_FLAG, &s.ragged},
                                  {"batch", BENCH_NUMBER, &s.batch},
                                  {"words", BENCH_NUMBER, &s.words},
                                  {"layers", BENCH_NUMBER, &s.layers},
                                  {"d", BENCH_NUMBER, &s.d},
                                  {"heads", BENCH_NUMBER, &s.heads},
                                  {"ffn", BENCH_NUMBER, &s.ffn},
                                  {0}});
    int rc = prepare(&task, &bench, &s);
    if (rc == GNN_OK)
        rc = bench_program_time(&task.program, &bench);
    if (rc == GNN_OK)
        print(&bench, &s, &task);
    bench_program_free(&task.program);
    gnn_graph_free(task.graph);
    free(task.x);
    free(task.zeros);
    return bench_close(&bench, rc);
}
