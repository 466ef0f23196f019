/* One rank of trainings over MPI, for the suite ranks_mpi and tests/ranks_by_mpi.sh:
 *
 *     ranks_program [RANK]                  rank 0 prints a hash of weights and outputs; RANK's
 *                                           set has another count of nodes
 *     ranks_program models FOLDER EPOCHS    the same of each of the models of ranks_models.h,
 *                                           with checkpoints in FOLDER, from which it resumes */
#include "ranks_models.h"

#include <gnn/mpi.h>

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        h = (h ^ ((const uint8_t *)data)[k]) * 0x100000001b3u;
    return h;
}

static void report(const trial_result_t *result, int rank, const char *name)
{
    uint64_t h = hash(0xcbf29ce484222325u, result->weights,
                      (size_t)result->n_weights * sizeof *result->weights);
    h = hash(h, result->outputs, (size_t)result->n_outputs * sizeof *result->outputs);
    if (result->rc != GNN_OK)
        printf("rank %d: code %d: %s\n", rank, result->rc, result->message);
    else if (rank == 0)
        printf("hash %016llx%s\n", (unsigned long long)h, name);
    fflush(stdout);
}

static void train_models(gnn_transport_t *transport, const char *folder, int64_t epochs)
{
    char checkpoint[500], name[40];
    for (int m = 0; m < MODELS; m++) {
        trial_case_t c = model_case(m, checkpoint);
        snprintf(checkpoint, sizeof checkpoint, "%s/%s", folder, c.name);
        snprintf(name, sizeof name, " %s", c.name);
        c.train.epochs = epochs;
        c.train.resume = GNN_ON;
        trial_result_t result = trial_run(&c, transport, 1);
        report(&result, transport->rank, name);
        trial_free(&result);
    }
}

static void train_gcn(gnn_transport_t *transport, int smaller)
{
    const gnn_layer_config_t layers[] = {GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
                                         GNN_GCN(.in = 16, .out = TRIAL_CLASSES)};
    const trial_case_t c = {.name = "gcn",
                            .nodes = smaller == transport->rank ? 600 : 2300,
                            .layers = layers,
                            .n_layers = 2,
                            .train = {.epochs = 4, .optimizer = {.lr = (gnn_real_t)0.02}}};
    trial_result_t result = trial_run(&c, transport, 1);
    report(&result, transport->rank, "");
    trial_free(&result);
}

int main(int argc, char **argv)
{
    gnn_transport_t *transport;
    if (gnn_transport_mpi(&transport) != GNN_OK)
        return fprintf(stderr, "%s\n", gnn_error_message()), 2;
    if (argc == 4 && strcmp(argv[1], "models") == 0)
        train_models(transport, argv[2], strtoll(argv[3], NULL, 10));
    else
        train_gcn(transport, argc > 1 ? atoi(argv[1]) : -1);
    gnn_transport_free(transport);
    return 0;
}
