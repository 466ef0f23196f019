/* Every table of kernels, and the choice among its instruction sets (isa.h). */
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/attention/by_strip/by_strip.h>
#include <lib/kernels/attention/by_tile/by_tile.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/rowwise/rowwise.h>

GNN__DISPATCH(gnn__attention_rows_t, attention_rows)
GNN__DISPATCH(gnn__attention_strips_t, attention_strips)
GNN__DISPATCH(gnn__attention_tiles_t, attention_tiles)
GNN__DISPATCH(gnn__attention_tiles_grad_t, attention_tiles_grad)
GNN__DISPATCH_WIDE(gnn__attention_lanes_t, attention_lanes)

GNN__DISPATCH(gnn__csr_kernels_t, csr_kernels)
GNN__DISPATCH(gnn__fp16_kernels_t, fp16_kernels)
GNN__DISPATCH(gnn__gemm_block_kernels_t, gemm_block_kernels)
GNN__DISPATCH(gnn__gemm_narrow_kernels_t, gemm_narrow_kernels)
GNN__DISPATCH(gnn__gemv_batch_kernels_t, gemv_batch_kernels)

GNN__DISPATCH(gnn__neighbour_sum_kernels_t, neighbour_sum_kernels)
GNN__DISPATCH(gnn__pair_kernels_t, pair_kernels)
GNN__DISPATCH_WIDE(gnn__neighbour_extreme_kernels_t, neighbour_extreme_kernels)

GNN__DISPATCH(gnn__dropout_kernels_t, dropout_kernels)
GNN__DISPATCH(gnn__elementwise_kernels_t, elementwise_kernels)
GNN__DISPATCH(gnn__head_kernels_t, head_kernels)
GNN__DISPATCH(gnn__optimizer_kernels_t, optimizer_kernels)
GNN__DISPATCH(gnn__peak_kernels_t, peak_kernels)
GNN__DISPATCH(gnn__row_kernels_t, row_kernels)
