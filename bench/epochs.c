/* A whole training: a GAT on a data set to early stopping on the validation loss, with the settings
 * of its paper and of `citation` except the patience, which is 40 instead of 100, with equal
 * results on Cora. Seconds from the start of the process to the test accuracy.
 *
 *     epochs --data cora [--seed 0] [--epochs 1000] [--patience 40] */
#include "graph_data.h"

#include <time.h>

/* Processor time of this process so far; at the start of main, that of loading the program. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    gnn_train_result_t result;
    double accuracy;
} outcome_t;

static int train(outcome_t *out, gnn_context_t *context, gnn_data_t *data, int64_t epochs,
                 int64_t patience)
{
    gnn_model_t *model;
    GNN_TRY(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){
            GNN_GAT(.in = gnn_data_features(data), .out = 8, .heads = 8, .activation = GNN_ELU,
                    .dropout = (gnn_real_t)0.6),
            GNN_GAT(.in = 64, .out = gnn_data_classes(data), .dropout = (gnn_real_t)0.6)}));
    gnn_train_config_t config = {.epochs = epochs,
                                 .patience = patience,
                                 .watch = GNN_WATCH_LOSS,
                                 .optimizer.lr = (gnn_real_t)0.005,
                                 .optimizer.weight_decay = (gnn_real_t)5e-4};
    int rc = gnn_train(model, context, data, &config, &out->result);
    if (rc == GNN_OK)
        rc = gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &out->accuracy);
    gnn_model_free(model);
    return rc;
}

int main(int argc, char **argv)
{
    const double start = bench_seconds() - processor_seconds();
    const char *name = "cora";
    int64_t seed = 0, epochs = 1000, patience = 40;
    bench_t bench;
    graph_data_t data = {0};
    outcome_t out = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"data", BENCH_TEXT, &name},
                                  {"seed", BENCH_NUMBER, &seed},
                                  {"epochs", BENCH_NUMBER, &epochs},
                                  {"patience", BENCH_NUMBER, &patience},
                                  {0}});
    gnn_context_set_seed(bench.context, (uint64_t)seed);
    int rc = graph_data_open(&data, name, "renumbered");
    if (rc == GNN_OK && !data.opened)
        rc = GNN_EUNSUPPORTED;
    bench_begin(&bench);
    if (rc == GNN_OK)
        rc = train(&out, bench.context, data.opened, epochs, patience);
    if (rc == GNN_OK) {
        bench.median_ms = bench.min_ms = bench.mean_ms = 1e3 * (bench_seconds() - start);
        bench.repeat = 1;
        bench_peak(&bench);
        bench_text("task", "epochs");
        bench_text("model", "gat");
        bench_text("data", name);
        bench_whole("seed", seed);
        bench_number("seconds", bench.median_ms / 1e3);
        bench_number("train_seconds", out.result.seconds);
        bench_whole("epochs", out.result.epochs);
        bench_number("accuracy", out.accuracy);
        bench_print(&bench);
    }
    graph_data_free(&data);
    return bench_close(&bench, rc);
}
