/* Rows of matrices packed into tiles, and sums that go back. Included by kernels only. */
#ifndef GNN_KERNELS_TILE_PACK_H
#define GNN_KERNELS_TILE_PACK_H

#include <lib/kernels/attention/by_tile/tile_product.h>

GNN__INLINE gnn_real_t *numbers(gnn__carve_t *c, int64_t count)
{
    return gnn__carve(c, count, sizeof(gnn_real_t));
}

GNN__INLINE void clear(gnn_real_t *x, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES)
        gnn__vec_store(x + k, (gnn__vec_t){0});
}

/* One side of a tile: row c belongs to column c. */
typedef struct panel {
    const gnn_real_t *rows;
    int64_t ld;
    bool finite;
} panel_t;

#define pack_rows GNN__KERNEL(tile_pack_rows)
#define transpose GNN__KERNEL(tile_transpose)
#define put_scaled GNN__KERNEL(tile_put_scaled)

/* rows[r] = factor * numbers first .. first + count - 1 of node[r]'s row of m, filled up to ld with
 * 0, as are the rows from n to `whole`. True if all are finite: then 0 times any of them is 0. */
bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole, int64_t first,
               int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows);

/* columns[x][c] = rows[c][x] for c < count, rows of columns being COLUMNS long; the last register
 * of each is filled up with the last row. */
void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns);

/* y (+)= factor * x, n numbers. */
void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y);

#endif
