/**
 * libgnn: message passing, from graph convolutions to Transformers, in one layer type.
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * The graph connects receivers i with senders j, the aggregator combines the messages of each
 * receiver, the update computes its new row. A GCN sums over neighbours, a GAT weighs neighbours by
 * attention, a Transformer weighs every token by attention: three configs of gnn_layer_t.
 *
 * Glossary, used in every header: i receiver (dst), j sender (src), n nodes, m edges, h heads,
 * d width, c classes. The gradient of x is d_x; d_k and d_v are widths of keys and values. Matrices
 * are row-major, one row per node; weights are in x out.
 *
 * Pointer arguments must not be NULL unless the function's comment permits it, and for arrays of 0
 * elements. For a NULL gnn_error_message() names the function and the argument, and the function
 * does nothing: it returns GNN_EINVALID, or NULL, 0, NaN, GNN_NONE or an index of -1 if it returns
 * something else than an error. Functions that free something accept NULL.
 *
 *     #include <gnn/gnn.h>
 *     #include <stdio.h>
 *
 *     static int train(double *accuracy)
 *     {
 *         gnn_context_t *context; gnn_data_t *data; gnn_model_t *gat;
 *         GNN_TRY(gnn_context_new(&context, NULL));
 *         GNN_TRY(gnn_data_karate(&data));
 *         GNN_TRY(gnn_model_new(&gat, context, 2, (gnn_layer_config_t[]){
 *             GNN_GAT(.in = gnn_data_features(data), .out = 8, .heads = 8, .activation = GNN_ELU),
 *             GNN_GAT(.in = 64, .out = gnn_data_classes(data))}));
 *         const gnn_train_config_t config = {.optimizer.lr = 0.005f};
 *         GNN_TRY(gnn_train(gat, context, data, &config, NULL));
 *         return gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, accuracy);
 *     }
 *
 *     int main(void)
 *     {
 *         double accuracy;
 *         if (train(&accuracy) != GNN_OK) {
 *             fprintf(stderr, "minimal: %s\n", gnn_error_message());
 *             return 1;
 *         }
 *         return printf("test accuracy %.1f\n", 100 * accuracy) < 0 || fflush(stdout) != 0;
 *     }
 *
 * Read next, by subject:
 *
 *     the layer           layer.h, graph.h, aggregate.h (messages, aggregators)
 *     models              model.h (steps, blocks, incremental decoding), tensor.h, context.h
 *     data and files      data.h, split.h, io.h, hetero.h (several types of nodes), diffuse.h
 *     training            train.h, sample.h and hetero_sample.h (large graphs), collection.h (many
 *                         graphs), links.h, memory.h (how much it takes)
 *     several machines    ranks.h; mpi.h, of libgnn-mpi, is not included by this header
 *     text                pretrained.h, tokenizer.h, text.h, sequences.h, generate.h, finetune.h,
 *                         heads.h
 *     explanations        explain.h, inspect.h (attention), report.h (pictures)
 *     new maths           row.h, score.h, op.h, tape.h
 *     igraph              igraph.h, of the second library; not included by this header
 */
#ifndef GNN_GNN_H
#define GNN_GNN_H

#include <gnn/build.h>
#include <gnn/error.h>
#include <gnn/context.h>
#include <gnn/tensor.h>
#include <gnn/graph.h>
#include <gnn/diffuse.h>
#include <gnn/partition.h>
#include <gnn/sample.h>
#include <gnn/op.h>
#include <gnn/row.h>
#include <gnn/score.h>
#include <gnn/aggregate.h>
#include <gnn/tape.h>
#include <gnn/layer.h>
#include <gnn/model.h>
#include <gnn/io.h>
#include <gnn/data.h>
#include <gnn/hetero.h>
#include <gnn/hetero_sample.h>
#include <gnn/split.h>
#include <gnn/train.h>
#include <gnn/memory.h>
#include <gnn/collection.h>
#include <gnn/links.h>
#include <gnn/explain.h>
#include <gnn/text.h>
#include <gnn/pretrained.h>
#include <gnn/generate.h>
#include <gnn/finetune.h>
#include <gnn/heads.h>
#include <gnn/sequences.h>
#include <gnn/tokenizer.h>
#include <gnn/ranks.h>
#include <gnn/report.h>
#include <gnn/inspect.h>

#endif
