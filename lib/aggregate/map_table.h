/* Numbers of the positions from 0 on, as maps of this library make them, kept with the context:
 * layers and words that come next turn by the same angles. */
#ifndef GNN_AGGREGATE_MAP_TABLE_H
#define GNN_AGGREGATE_MAP_TABLE_H

#include <lib/aggregate/aggregate.h>

/* *rows becomes a row of `numbers` for each position 0 .. last; NULL where they are not kept: a map
 * of the user's, or places far out. Called outside parallel regions; the rows stay until the next
 * call. */
int gnn__map_table(const gnn__plan_t *plan, int64_t numbers, int64_t last, const gnn_real_t **rows);

#endif
