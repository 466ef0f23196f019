/* The rows of messages.def and aggregators.def. */
#ifndef GNN_AGGREGATE_TABLES_H
#define GNN_AGGREGATE_TABLES_H

#include <gnn/aggregate.h>

#define GNN_MESSAGE(name) extern const gnn_message_t gnn__message_##name;
#include <lib/aggregate/messages.def>
#undef GNN_MESSAGE

#define GNN_AGGREGATOR(name) extern const gnn_aggregator_t gnn__aggregator_##name;
#include <lib/aggregate/aggregators.def>
#undef GNN_AGGREGATOR

/* What a row is to the ways of lib/aggregate/fast: the value of its field `fast`. */
typedef enum {
    GNN__FAST_NONE, /* they do not know it */
    GNN__FAST_SUM,
    GNN__FAST_MEAN,
    GNN__FAST_MAX,
    GNN__FAST_MIN,
    GNN__FAST_DOT,
    GNN__FAST_ADDITIVE,
    GNN__FAST_ADDITIVE_V2
} gnn__fast_t;

#endif
