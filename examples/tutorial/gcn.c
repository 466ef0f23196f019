/* Tutorial 1: a GCN. Two layers that sum over neighbours separate the two clubs of a graph. */
#include <gnn/gnn.h>
#include <stdio.h>

static int run(gnn_context_t *context, gnn_data_t **data, gnn_model_t **model)
{
    double accuracy;
    GNN_TRY(gnn_data_karate(data));
    GNN_TRY(gnn_model_new(model, context, 2,
                          (gnn_layer_config_t[]){GNN_GCN(.in = gnn_data_features(*data), .out = 16,
                                                         .activation = GNN_RELU),
                                                 GNN_GCN(.in = 16, .out = gnn_data_classes(*data))}));
    GNN_TRY(gnn_train(*model, context, *data, &(gnn_train_config_t){.epochs = 100}, NULL));
    GNN_TRY(gnn_evaluate(*model, context, *data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy));
    printf("gcn: test accuracy %.1f\n", 100 * accuracy);
    return GNN_OK;
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
        fprintf(stderr, "gcn: %s\n", gnn_error_message());
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return code != GNN_OK || fflush(stdout) != 0;
}
