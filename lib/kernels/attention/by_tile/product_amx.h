/* Products of tiles in bf16 by AMX, between begin and end. Included by kernels only. */
#ifndef GNN_KERNELS_PRODUCT_AMX_H
#define GNN_KERNELS_PRODUCT_AMX_H

#include <lib/kernels/attention/by_tile/tile_product.h>

#define amx_rounded_product GNN__KERNEL(tile_amx_rounded_product)
#define amx_split_product GNN__KERNEL(tile_amx_split_product)
#define amx_begin GNN__KERNEL(tile_amx_begin)
#define amx_end GNN__KERNEL(tile_amx_end)

/* n, steps and distances count words. */
product_t amx_rounded_product, amx_split_product;
void amx_begin(void);
void amx_end(void);

#endif
