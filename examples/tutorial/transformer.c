/* Tutorial 4: a Transformer. Another preset, and a graph on which every word attends to every
 * word. */
#include "sentence_data.h"
#include <stdio.h>

static int run(gnn_context_t *context)
{
    const gnn_layer_config_t mean = {
        .in = 32, .out = 32, .aggregator = &gnn_aggregator_mean, .activation = GNN_RELU};
    const gnn_layer_config_t transformer = GNN_TRANSFORMER(.in = 32, .heads = 4);
    double accuracy;
    GNN_TRY(sentences_train(context, &mean, "complete", NULL, &accuracy));
    printf("mean of all words: %5.1f%% of the words right\n", accuracy);
    GNN_TRY(sentences_train(context, &transformer, "complete", NULL, &accuracy));
    printf("transformer:       %5.1f%% of the words right\n", accuracy);
    return GNN_OK;
}

int main(void)
{
    gnn_context_t *context = NULL;
    int code = gnn_context_new(&context, NULL);
    if (code == GNN_OK)
        code = run(context);
    if (code != GNN_OK)
        fprintf(stderr, "transformer: %s\n", gnn_error_message());
    gnn_context_free(context);
    return code != GNN_OK || fflush(stdout) != 0;
}
