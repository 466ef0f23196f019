/* Tutorial 5: only the graph changes. The same Transformer with fewer senders per word. */
#include "sentence_data.h"
#include <stdio.h>

static int run(gnn_context_t *context)
{
    static const char *const topologies[][2] = {
        {"complete", NULL}, {"causal", NULL}, {"window", "width=2"}};
    for (int k = 0; k < 3; k++) {
        double accuracy;
        GNN_TRY(sentences_train(context, &GNN_TRANSFORMER(.in = 32, .heads = 4), topologies[k][0],
                                topologies[k][1], &accuracy));
        printf("%-8s %-8s %5.1f%% of the words right\n", topologies[k][0],
               topologies[k][1] ? topologies[k][1] : "", accuracy);
    }
    return GNN_OK;
}

int main(void)
{
    gnn_context_t *context = NULL;
    int code = gnn_context_new(&context, NULL);
    if (code == GNN_OK)
        code = run(context);
    if (code != GNN_OK)
        fprintf(stderr, "topologies: %s\n", gnn_error_message());
    gnn_context_free(context);
    return code != GNN_OK || fflush(stdout) != 0;
}
