/* Tutorial 2: one field of the config. The same two layers with every aggregator of the library. */
#include <gnn/gnn.h>
#include <stdio.h>

static int train(gnn_context_t *context, gnn_data_t *data, const gnn_aggregator_t *aggregator)
{
    gnn_model_t *model;
    double accuracy;
    gnn_layer_config_t layers[] = {
        {.in = gnn_data_features(data), .out = 16, .activation = GNN_RELU},
        {.in = 16, .out = gnn_data_classes(data)},
    };
    for (int k = 0; k < 2; k++) {
        layers[k].aggregator = aggregator;
        layers[k].self_loops = GNN_ON;
    }
    GNN_TRY(gnn_model_new(&model, context, 2, layers));
    int code = gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 100}, NULL);
    if (code == GNN_OK)
        code = gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy);
    if (code == GNN_OK)
        printf("%-12s test accuracy %5.1f   %s\n", aggregator->name, 100 * accuracy,
               aggregator->help);
    gnn_model_free(model);
    return code;
}

int main(void)
{
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    int code = gnn_context_new(&context, NULL);
    if (code == GNN_OK)
        code = gnn_data_karate(&data);
    const char *name;
    for (size_t k = 0; code == GNN_OK && (name = gnn_layer_config_choice("aggregator", k)); k++)
        code = train(context, data, gnn_aggregator_find(name));
    if (code != GNN_OK)
        fprintf(stderr, "aggregators: %s\n", gnn_error_message());
    gnn_data_free(data);
    gnn_context_free(context);
    return code != GNN_OK || fflush(stdout) != 0;
}
