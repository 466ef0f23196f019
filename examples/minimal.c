/* The shortest whole program: a graph attention network on Zachary's karate club. */
#include <gnn/gnn.h>
#include <stdio.h>

static int train(double *accuracy)
{
    gnn_context_t *context; gnn_data_t *data; gnn_model_t *gat;
    GNN_TRY(gnn_context_new(&context, NULL));
    GNN_TRY(gnn_data_karate(&data));
    GNN_TRY(gnn_model_new(&gat, context, 2, (gnn_layer_config_t[]){
        GNN_GAT(.in = gnn_data_features(data), .out = 8, .heads = 8, .activation = GNN_ELU),
        GNN_GAT(.in = 64, .out = gnn_data_classes(data))}));
    const gnn_train_config_t config = {.optimizer.lr = 0.005f};
    GNN_TRY(gnn_train(gat, context, data, &config, NULL));
    return gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, accuracy);
}

int main(void)
{
    double accuracy;
    if (train(&accuracy) != GNN_OK) {
        fprintf(stderr, "minimal: %s\n", gnn_error_message());
        return 1;
    }
    return printf("test accuracy %.1f\n", 100 * accuracy) < 0 || fflush(stdout) != 0;
}
