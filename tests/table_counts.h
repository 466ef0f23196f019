/* Counts of the entries of the library's tables: each `_at` returns NULL past the last. */
#ifndef GNN_TESTS_TABLE_COUNTS_H
#define GNN_TESTS_TABLE_COUNTS_H

#include <gnn/gnn.h>

#define TABLE_COUNT(table, at)               \
    static inline size_t table##_count(void) \
    {                                        \
        size_t count = 0;                    \
        while (at(count))                    \
            count++;                         \
        return count;                        \
    }
TABLE_COUNT(aggregator, gnn_aggregator_at)
TABLE_COUNT(message, gnn_message_at)
TABLE_COUNT(update, gnn_update_at)
TABLE_COUNT(map, gnn_map_at)
TABLE_COUNT(prior, gnn_prior_at)
TABLE_COUNT(weigher, gnn_weigher_at)
TABLE_COUNT(score, gnn_score_at)
TABLE_COUNT(topology, gnn_topology_at)
TABLE_COUNT(op, gnn_op_at)
TABLE_COUNT(block, gnn_block_name)
#undef TABLE_COUNT

#endif
