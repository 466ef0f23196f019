/* What the blocks of a Set Transformer share. */
#ifndef GNN_LIB_MODEL_SET_ATTENTION_H
#define GNN_LIB_MODEL_SET_ATTENTION_H

#include <lib/model/blocks.h>

/* MAB(x, y): q = x W_q, o = q + heads(q, y W_k, y W_v), o + relu(o W_o); scores by 1/sqrt(width of
 * all heads), no norms. Steps are named PREFIX.query, ..., and the last one PREFIX without its dot,
 * or NAME for the prefix "". Paper: Lee et al. 2019, eq. 6 to 8. */
const char *gnn__block_attend(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                              const char *x, const char *y, int graph);
/* Learned rows, again for each segment of the graph. */
const char *gnn__block_rows(gnn_steps_t *steps, const gnn_block_t *b, int graph);

#endif
