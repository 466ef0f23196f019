/* The rows of messages.def and aggregators.def. */
#ifndef GNN_AGGREGATE_ROWS_H
#define GNN_AGGREGATE_ROWS_H

#include <gnn/aggregate.h>

#define GNN_MESSAGE(name) extern const gnn_message_t gnn__message_##name;
#include <lib/aggregate/messages.def>
#undef GNN_MESSAGE

#define GNN_AGGREGATOR(name) extern const gnn_aggregator_t gnn__aggregator_##name;
#include <lib/aggregate/aggregators.def>
#undef GNN_AGGREGATOR

/* Own kernels that rows name: sum.c, extreme.c and attention.c. */
extern const struct gnn__aggregator_kernels gnn__sum_kernels, gnn__mean_kernels, gnn__max_kernels,
    gnn__min_kernels, gnn__dot_kernels, gnn__additive_kernels, gnn__additive_v2_kernels;

#endif
