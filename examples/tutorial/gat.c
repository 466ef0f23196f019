/* Tutorial 3: a GAT. The weights of the sum are learned; the program prints those of one node. */
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, NODE = 2 };

/* Prints the attention weights of a node's in-edges, averaged over the heads of the first layer. */
static int show(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data)
{
    int64_t m = gnn_graph_n_edges(gnn_data_graph(data));
    gnn_tensor_t weights = gnn_tensor(malloc((size_t)(m * HEADS) * sizeof(gnn_real_t)), m, HEADS);
    /* Pairs are listed by receiver; edge[k] is the row of pair k in arrays on edges. */
    int64_t *src = malloc(3 * (size_t)m * sizeof *src), *dst = src + m, *edge = dst + m;
    const gnn_named_t x = {.name = "x", .dense = gnn_data_x(data), .sparse = gnn_data_sparse(data)};
    const gnn_graph_t *graph = gnn_data_graph(data);
    int code = weights.data && src ? GNN_OK : GNN_EMEMORY;
    if (code == GNN_OK)
        code = gnn_model_attention(model, context, &(gnn_model_inputs_t){&graph, 1, &x, 1}, 0,
                                   &weights, NULL);
    if (code == GNN_OK)
        code = gnn_graph_pairs(graph, src, dst, edge);
    for (int64_t k = 0; code == GNN_OK && k < m; k++) {
        double mean = 0;
        for (int h = 0; h < HEADS; h++)
            mean += (double)weights.data[edge[k] * HEADS + h] / HEADS;
        if (dst[k] == NODE)
            printf("  weight of edge %lld -> %d: %.2f\n", (long long)src[k], NODE, mean);
    }
    free(weights.data);
    free(src);
    return code;
}

static int run(gnn_context_t *context, gnn_data_t **data, gnn_model_t **model)
{
    double accuracy;
    GNN_TRY(gnn_data_karate(data));
    GNN_TRY(gnn_model_new(model, context, 2,
                          (gnn_layer_config_t[]){GNN_GAT(.in = gnn_data_features(*data), .out = 8,
                                                         .heads = HEADS, .activation = GNN_ELU),
                                                 GNN_GAT(.in = 32, .out = gnn_data_classes(*data))}));
    GNN_TRY(gnn_train(*model, context, *data, &(gnn_train_config_t){.epochs = 100}, NULL));
    GNN_TRY(gnn_evaluate(*model, context, *data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy));
    printf("gat: test accuracy %.1f\n", 100 * accuracy);
    return show(*model, context, *data);
}

int main(void)
{
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    gnn_model_t *model = NULL;
    int code = gnn_context_new(&context, NULL);
    if (code == GNN_OK)
        code = run(context, &data, &model);
    if (code != GNN_OK)
        fprintf(stderr, "gat: %s\n", gnn_error_message());
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return code != GNN_OK || fflush(stdout) != 0;
}
