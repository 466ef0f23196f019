/* m_ij = x_j: shared by the rows whose message is the sender's row itself. */
#ifndef GNN_AGGREGATE_MESSAGES_FROM_SENDER_H
#define GNN_AGGREGATE_MESSAGES_FROM_SENDER_H

#include <lib/aggregate/tables.h>
#include <string.h>

static inline void sender_message(const gnn_aggregate_shape_t *shape,
                                  const gnn_message_rows_t *rows, gnn_real_t *message)
{
    memcpy(message, rows->src, sizeof *message * (size_t)shape->message_width);
}

static inline void sender_message_grad(const gnn_aggregate_shape_t *shape,
                                       const gnn_message_rows_t *rows, const gnn_real_t *d_message,
                                       gnn_message_grad_t *grad)
{
    (void)rows;
    for (int64_t c = 0; grad->src && c < shape->message_width; c++)
        grad->src[c] += d_message[c];
}

#endif
