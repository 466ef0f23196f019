/**
 * libgnn: message passing, from graph convolutions to Transformers, in one layer type.
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * The graph fixes who hears whom, the aggregator how what is heard is combined, the update what is made of it. A GCN sums over neighbours,
 * a GAT weighs them by attention, a Transformer weighs everybody by attention: three configs of gnn_layer_t.
 *
 * Glossary, used in every header: i receiver (dst), j sender (src), n nodes, m edges, h heads, d width, c classes; gradients are d + name.
 * Matrices are row-major, one row per node; weights are in x out.
 *
 *     #include <gnn/gnn.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         gnn_context_t *context; gnn_data_t *data; gnn_model_t *gat; double accuracy;
 *         GNN_TRY(gnn_context_new(&context, NULL));
 *         GNN_TRY(gnn_data_karate(&data));
 *         GNN_TRY(gnn_model_new(&gat, context, 2, (gnn_layer_config_t[]){
 *             GNN_GAT(.in = data->features, .out = 8, .heads = 8, .activation = GNN_ELU),
 *             GNN_GAT(.in = 64, .out = data->classes)}));
 *         GNN_TRY(gnn_train(gat, context, data, &(gnn_train_config_t){.lr = 0.005f, .weight_decay = 5e-4f}, NULL));
 *         GNN_TRY(gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy));
 *         printf("test accuracy %.1f\n", 100 * accuracy);
 *     }
 *
 * Read next: layer.h (the layer), graph.h (who hears whom), aggregate.h (the three tables), model.h, train.h, io.h, text.h, report.h; tape.h and op.h for
 * new maths.
 */
#ifndef GNN_GNN_H
#define GNN_GNN_H

#include <gnn/build.h>
#include <gnn/error.h>
#include <gnn/context.h>
#include <gnn/tensor.h>
#include <gnn/graph.h>
#include <gnn/op.h>
#include <gnn/aggregate.h>
#include <gnn/tape.h>
#include <gnn/layer.h>
#include <gnn/model.h>
#include <gnn/io.h>
#include <gnn/train.h>
#include <gnn/text.h>
#include <gnn/tokenizer.h>
#include <gnn/report.h>

#endif
