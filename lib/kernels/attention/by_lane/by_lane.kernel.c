/* The table of attention with heads in lanes; by_lane.h says what each function does. */
#include <lib/kernels/attention/by_lane/backward_additive.h>
#include <lib/kernels/attention/by_lane/backward_product.h>
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/attention/by_lane/edge_logits.h>
#include <lib/kernels/attention/by_lane/factors.h>
#include <lib/kernels/attention/by_lane/lane_forward.h>
#include <lib/kernels/attention/by_lane/lane_row.h>

static void pack(const gnn__matrix_t *from, int64_t i0, int64_t i1, int64_t heads, int64_t d,
                 int width, const gnn__matrix_t *to, int64_t row)
{
    for (int64_t i = i0; i < i1; i++)
        pack_row(gnn__matrix_row(from, i), heads, d, width, gnn__matrix_row(to, i), row);
}

static void send(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                 gnn_real_t *d_a, gnn_real_t *d_edges)
{
    if (l->a->score != GNN__SCORE_ADDITIVE)
        send_pairs(l, row0, row1, scratch, d_a);
    else
        send_additive(l, row0, row1, scratch, d_edges);
}

extern const gnn__attention_lanes_t GNN__KERNEL(attention_lanes);
const gnn__attention_lanes_t GNN__KERNEL(attention_lanes) = {pack,
                                                             make_factors,
                                                             make_edge_logits,
                                                             lanes_forward,
                                                             prepare_receivers,
                                                             receive_pairs,
                                                             collect_senders,
                                                             send,
                                                             spend_edge_logits,
                                                             IN_PLACE,
                                                             SHARES,
                                                             BOTH_ENDS};
