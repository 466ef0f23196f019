/* Counts of the entries of the library's tables: each `_at` returns NULL past the last. */
#ifndef GNN_TESTS_TABLE_COUNTS_H
#define GNN_TESTS_TABLE_COUNTS_H

#include <gnn/gnn.h>
#include <lib/aggregate/tables.h>
#include <lib/layer/config_fields.h>

#define TABLE_COUNT(table, at)               \
    static inline size_t table##_count(void) \
    {                                        \
        size_t count = 0;                    \
        while (at(count))                    \
            count++;                         \
        return count;                        \
    }
TABLE_COUNT(aggregator, gnn__aggregator_at)
TABLE_COUNT(message, gnn__message_at)
TABLE_COUNT(update, gnn__update_at)
TABLE_COUNT(map, gnn__map_at)
TABLE_COUNT(prior, gnn__prior_at)
TABLE_COUNT(weigher, gnn__weigher_at)
TABLE_COUNT(score, gnn__score_at)
TABLE_COUNT(topology, gnn_topology_at)
TABLE_COUNT(op, gnn_op_at)
TABLE_COUNT(block, gnn_block_name)
#undef TABLE_COUNT

#endif
