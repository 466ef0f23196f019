/* GraphSAGE on samples of a random graph of ogbn-products' size: edges per second, end to end.
 *
 *     sampled --write DIR [--nodes 2400000] [--links 62000000]
 *     sampled --from DIR [--mapped] [--batch 1024] [--batches 30] [--hidden 256]
 *     sampled --from DIR --full
 *
 * Three layers, fan-outs 15, 10 and 5 from the seeds on, ReLU between, Adam. A run draws each
 * batch, gathers its rows and makes a training step; edges of all blocks count, and the first 3
 * batches are not timed. --full: full-graph steps instead (--repeat of them). */
#include "sampled_data.h"

#include <string.h>

enum { HOPS = 3, WARM = 3 };

typedef struct {
    const char *write, *from;
    bool mapped, full;
    int64_t nodes, links, batch, batches, hidden;
} settings_t;

/* A source that counts the batches of another. */
typedef struct {
    const gnn_source_t *inner;
    double start;
    int64_t edges;
} counted_t;

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    counted_t *c = user;
    if (index == WARM)
        c->start = bench_seconds();
    GNN_TRY(c->inner->get(c->inner->user, part, epoch, index, batch));
    for (int64_t l = 0; index >= WARM && l < batch->inputs.n_graphs; l++)
        c->edges += gnn_graph_n_edges(batch->inputs.graphs[l]);
    return GNN_OK;
}

static int make_model(gnn_model_t **model, gnn_context_t *context, const settings_t *s)
{
    gnn_step_t steps[HOPS] = {0};
    for (int k = 0; k < HOPS; k++)
        steps[k] =
            (gnn_step_t){.graph = s->full ? 0 : k,
                         .layer = GNN_SAGE(.in = k ? s->hidden : SAMPLED_FEATURES,
                                           .out = k == HOPS - 1 ? SAMPLED_CLASSES : s->hidden,
                                           .activation = k == HOPS - 1 ? GNN_IDENTITY : GNN_RELU)};
    return gnn_model_from_steps(model, context, HOPS, steps);
}

static int sampled(bench_t *bench, const settings_t *s, gnn_data_t *data, gnn_model_t *model,
                   counted_t *counted)
{
    static const int64_t fan_outs[HOPS] = {15, 10, 5};
    const gnn_sampling_t sampling = {.sampler = {.hops = HOPS, .fan_outs = fan_outs, .seed = 1},
                                     .batch = s->batch};
    const gnn_train_config_t config = {.epochs = 1,
                                       .optimizer.lr = (gnn_real_t)0.003,
                                       .watch = GNN_WATCH_NONE,
                                       .sampling = &sampling};
    gnn_source_t *batches = NULL;
    bench_begin(bench);
    GNN_TRY(gnn_source_of_data(&batches, model, bench->context, data, &config));
    counted->inner = batches;
    gnn_source_t source = *counted->inner;
    source.get = get;
    source.user = counted;
    if (source.count[GNN_TRAIN] > s->batches + WARM)
        source.count[GNN_TRAIN] = s->batches + WARM;
    source.count[GNN_VALIDATION] = 0;
    int rc = gnn_train_batches(model, bench->context, &source, &config, NULL);
    const double seconds = bench_seconds() - counted->start;
    bench_peak(bench);
    bench->repeat = source.count[GNN_TRAIN] - WARM;
    bench->median_ms = bench->min_ms = bench->mean_ms = 1e3 * seconds / (double)bench->repeat;
    gnn_source_free(batches);
    return rc;
}

static int full(bench_t *bench, gnn_data_t *data, bench_program_t *program)
{
    const gnn_graph_t *graph = gnn_data_graph(data);
    const gnn_named_t values[] = {{.name = "x", .dense = gnn_data_x(data)}};
    const gnn_model_inputs_t inputs = {
        .graphs = &graph, .n_graphs = 1, .values = values, .n_values = 1};
    const gnn_loss_t loss = {.labels = gnn_data_labels(data),
                             .mask = gnn_data_mask(data, GNN_TRAIN, 0)};
    const gnn_optimizer_config_t adam = {.lr = (gnn_real_t)0.003};
    GNN_TRY(gnn_model_prepare(program->model, 0, gnn_data_graph(data), GNN_ON));
    GNN_TRY(bench_program(program, bench, &inputs, &loss, &adam));
    return bench_program_time(program, bench);
}

static void print(const bench_t *b, const settings_t *s, const gnn_data_t *data, int64_t edges)
{
    bench_text("task", "sampled");
    bench_flag("mapped", s->mapped);
    bench_flag("full", s->full);
    bench_whole("nodes", gnn_data_nodes(data));
    bench_whole("edges", gnn_graph_n_edges(gnn_data_graph(data)));
    bench_whole("batch", s->batch);
    bench_whole("hidden", s->hidden);
    bench_whole("edges_a_batch", edges / b->repeat);
    bench_number("edges_per_s", (double)edges / (double)b->repeat / b->mean_ms * 1e3);
    bench_print(b);
}

static int run(bench_t *bench, const settings_t *s)
{
    gnn_data_t *data = NULL;
    bench_program_t program = {0};
    counted_t counted = {0};
    int rc = sampled_open(&data, s->from, s->mapped);
    if (rc == GNN_OK)
        rc = make_model(&program.model, bench->context, s);
    if (rc == GNN_OK)
        rc = s->full ? full(bench, data, &program) : sampled(bench, s, data, program.model, &counted);
    if (rc == GNN_OK)
        print(bench, s, data,
              s->full ? HOPS * bench->repeat * gnn_graph_n_edges(gnn_data_graph(data))
                      : counted.edges);
    bench_program_free(&program);
    gnn_data_free(data);
    return rc;
}

int main(int argc, char **argv)
{
    settings_t s = {.nodes = 2400000, .links = 62000000, .batch = 1024, .batches = 30, .hidden = 256};
    bench_t bench;
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"write", BENCH_TEXT, &s.write},
                                  {"from", BENCH_TEXT, &s.from},
                                  {"mapped", BENCH_FLAG, &s.mapped},
                                  {"full", BENCH_FLAG, &s.full},
                                  {"nodes", BENCH_NUMBER, &s.nodes},
                                  {"links", BENCH_NUMBER, &s.links},
                                  {"batch", BENCH_NUMBER, &s.batch},
                                  {"batches", BENCH_NUMBER, &s.batches},
                                  {"hidden", BENCH_NUMBER, &s.hidden},
                                  {0}});
    int rc = s.write ? sampled_write(s.write, s.nodes, s.links) : GNN_OK;
    if (rc == GNN_OK && s.from)
        rc = run(&bench, &s);
    else if (rc == GNN_OK && !s.write)
        rc = GNN_EINVALID;
    return bench_close(&bench, rc);
}
