/* m_ij = x_j: shared by the rows whose message is the sender's row itself. */
#ifndef GNN_AGGREGATE_MESSAGES_SENDER_H
#define GNN_AGGREGATE_MESSAGES_SENDER_H

#include <lib/aggregate/tables.h>
#include <string.h>

static inline void sender_message(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                                  const gnn_real_t *edge, gnn_real_t *message)
{
    (void)dst;
    (void)edge;
    memcpy(message, src, sizeof *message * (size_t)width);
}

static inline void sender_message_grad(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                                       const gnn_real_t *edge, const gnn_real_t *d_message,
                                       gnn_real_t *d_dst, gnn_real_t *d_src, gnn_real_t *d_edge)
{
    (void)dst;
    (void)src;
    (void)edge;
    (void)d_dst;
    (void)d_edge;
    for (int64_t c = 0; d_src && c < width; c++)
        d_src[c] += d_message[c];
}

#endif
