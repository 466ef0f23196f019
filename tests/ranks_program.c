/* One rank of a training over MPI, for the suite ranks_mpi: rank 0 prints a hash of its weights and
 * outputs. With a rank as argument, that rank's set has another count of nodes. */
#include "ranks_trial.h"

#include <gnn/mpi.h>

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        h = (h ^ ((const uint8_t *)data)[k]) * 0x100000001b3u;
    return h;
}

int main(int argc, char **argv)
{
    const gnn_layer_config_t layers[] = {GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
                                         GNN_GCN(.in = 16, .out = TRIAL_CLASSES)};
    trial_case_t c = {.name = "gcn",
                      .nodes = 2300,
                      .layers = layers,
                      .n_layers = 2,
                      .train = {.epochs = 4, .optimizer = {.lr = (gnn_real_t)0.02}}};
    gnn_transport_t *transport;
    if (gnn_transport_mpi(&transport) != GNN_OK)
        return fprintf(stderr, "%s\n", gnn_error_message()), 2;
    const int rank = transport->rank;
    if (argc > 1 && atoi(argv[1]) == rank)
        c.nodes = 600;
    trial_result_t result = trial_run(&c, transport, 1);
    uint64_t h =
        hash(0xcbf29ce484222325u, result.weights, (size_t)result.n_weights * sizeof *result.weights);
    h = hash(h, result.outputs, (size_t)result.n_outputs * sizeof *result.outputs);
    if (result.rc != GNN_OK)
        printf("rank %d: code %d: %s\n", rank, result.rc, result.message);
    else if (rank == 0)
        printf("hash %016llx\n", (unsigned long long)h);
    fflush(stdout);
    trial_free(&result);
    gnn_transport_free(transport);
    return 0;
}
