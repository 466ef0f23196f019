/* Makes the files of this folder, built against the version whose files they are: a model of a GAT
 * and a GCN trained on karate, its checkpoint after 4 epochs, and what that version computes by
 * both (tests/test_compat.c).
 *
 *     cc make.c $(pkg-config --cflags --libs gnn) -o make && ./make VERSION
 */
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 34, SHOWN = 5 };

static void need(int rc)
{
    if (rc == GNN_OK)
        return;
    fprintf(stderr, "%s\n", gnn_error_message());
    exit(1);
}

static gnn_model_t *new_model(gnn_context_t *context)
{
    gnn_model_t *model;
    gnn_context_set_seed(context, 5);
    need(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){GNN_GAT(.in = N, .out = 4, .heads = 2, .activation = GNN_ELU,
                                       .dropout = (gnn_real_t)0.2),
                               GNN_GCN(.in = 8, .out = 2)}));
    return model;
}

static void show(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data)
{
    gnn_real_t logits[N * 2];
    const gnn_tensor_t y = gnn_tensor(logits, N, 2);
    need(gnn_model_prepare(model, 0, gnn_data_graph(data), GNN_OFF));
    need(gnn_model_predict(model, context, gnn_data_graph(data), gnn_data_x(data),
                           gnn_data_sparse(data), &y));
    for (int k = 0; k < 2 * SHOWN; k++)
        printf("%.9g, ", (double)logits[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    char path[2][400];
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_train_result_t result;
    gnn_train_config_t config = {
        .epochs = 4, .optimizer = {.lr = (gnn_real_t)0.02}, .watch = GNN_WATCH_LOSS};
    if (argc != 2)
        return 2;
    snprintf(path[0], sizeof path[0], "%s.model.safetensors", argv[1]);
    snprintf(path[1], sizeof path[1], "%s.checkpoint.safetensors", argv[1]);
    need(gnn_context_new(&context, NULL));
    need(gnn_data_karate(&data));
    gnn_model_t *model = new_model(context), *again = new_model(context);
    config.checkpoint = path[1];
    need(gnn_train(model, context, data, &config, &result));
    need(gnn_model_save(model, path[0]));
    printf("after 4 epochs: train_loss %.9g\n", result.train_loss);
    show(model, context, data);
    config.epochs = 8;
    config.resume = GNN_ON;
    config.checkpoint_every = 100;
    gnn_context_set_seed(context, 5);
    char copy[500];
    snprintf(copy, sizeof copy, "cp %s %s.copy", path[1], path[1]);
    if (system(copy) != 0)
        return 1;
    snprintf(copy, sizeof copy, "%s.copy", path[1]);
    config.checkpoint = copy;
    need(gnn_train(again, context, data, &config, &result));
    remove(copy);
    printf("after 8 epochs: epochs %lld, best %lld, train_loss %.9g\n", (long long)result.epochs,
           (long long)result.best_epoch, result.train_loss);
    show(again, context, data);
    return 0;
}
