/* Every table of kernels, and how one is picked: by the processor, once per call (isa.h). Those of
 * bf16 belong to oneDNN and stand in dense/onednn.c. */
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/attention/by_row/by_row.h>
#include <lib/kernels/attention/by_tile/tile_backward.h>
#include <lib/kernels/attention/by_tile/tile_forward.h>
#include <lib/kernels/dense/csr.h>
#include <lib/kernels/dense/few_rows.h>
#include <lib/kernels/dense/gemm_block.h>
#include <lib/kernels/dense/halves.h>
#include <lib/kernels/dense/thin.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/neighbours/neighbour_extreme.h>
#include <lib/kernels/neighbours/neighbour_sum.h>
#include <lib/kernels/neighbours/pair_rows.h>
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/kernels/rowwise/elementwise.h>
#include <lib/kernels/rowwise/head_dot.h>
#include <lib/kernels/rowwise/optimizer_sweep.h>
#include <lib/kernels/rowwise/peak.h>
#include <lib/kernels/rowwise/row_norm.h>

GNN__DISPATCH(gnn__elementwise_kernels_t, elementwise_kernels)
GNN__DISPATCH(gnn__row_kernels_t, row_kernels)
GNN__DISPATCH(gnn__dropout_kernels_t, dropout_kernels)
GNN__DISPATCH(gnn__head_kernels_t, head_kernels)
GNN__DISPATCH(gnn__optimizer_kernels_t, optimizer_kernels)
GNN__DISPATCH(gnn__peak_kernels_t, peak_kernels)

GNN__DISPATCH(gnn__csr_kernels_t, csr_kernels)
GNN__DISPATCH(gnn__few_rows_kernels_t, few_rows_kernels)
GNN__DISPATCH(gnn__gemm_block_kernels_t, gemm_block_kernels)
GNN__DISPATCH(gnn__halves_kernels_t, halves_kernels)
GNN__DISPATCH(gnn__thin_kernels_t, thin_kernels)

GNN__DISPATCH(gnn__neighbour_sum_kernels_t, neighbour_sum_kernels)
GNN__DISPATCH(gnn__pair_kernels_t, pair_kernels)
GNN__DISPATCH_WIDE(gnn__neighbour_extreme_kernels_t, neighbour_extreme_kernels)

GNN__DISPATCH(gnn__attention_rows_t, attention_rows)
GNN__DISPATCH(gnn__attention_tiles_t, attention_tiles)
GNN__DISPATCH(gnn__attention_tiles_grad_t, attention_tiles_grad)
GNN__DISPATCH_WIDE(gnn__attention_lanes_t, attention_lanes)
