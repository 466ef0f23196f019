/* Products of small blocks: c += alpha a b.
 *
 *             n: up to COLUMNS registers of b
 *     rows  +-----------------+
 *     of a  | sum in registers|   k: one element of a per row, times the registers of b's row
 *           +-----------------+
 *
 * Tiles of ROWS rows and COLUMNS registers; what remains of the rows is computed row by row, what
 * remains of the columns in one register and then in a part of one. Operands are small enough for
 * the caches and are read in place. */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/vec.h>

enum { ROWS = 4, COLUMNS = 2, L = GNN__VEC_LANES };

/* Rows i .. i + rows - 1, from column j on `registers` registers, or, where part > 0, the first
 * `part` lanes of one. */
GNN__INLINE void tile(const gnn__gemm_block_t *p, int64_t i, int64_t j, int rows, int registers,
                      int part)
{
    gnn__vec_t sum[ROWS][COLUMNS] = {{{0}}};
    for (int64_t l = 0; l < p->k; l++) {
        const gnn_real_t *a = p->a + i * p->a_row + l * p->a_col, *b = p->b + l * p->ldb + j;
        for (int c = 0; c < registers; c++) {
            const gnn__vec_t of_b = part ? gnn__vec_load_first(b, part) : gnn__vec_load(b + c * L);
            for (int r = 0; r < rows; r++)
                sum[r][c] += gnn__vec_all(a[r * p->a_row]) * of_b;
        }
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < registers; c++) {
            gnn_real_t *to = p->c + (i + r) * p->ldc + j + c * L;
            if (part)
                gnn__vec_store_first(to, gnn__vec_load_first(to, part) + sum[r][c] * p->alpha, part);
            else
                gnn__vec_store(to, gnn__vec_load(to) + sum[r][c] * p->alpha);
        }
}

GNN__INLINE void rows_of_tiles(const gnn__gemm_block_t *p, int64_t i, int rows)
{
    int64_t j = 0;
    for (; j + COLUMNS * L <= p->n; j += COLUMNS * L)
        tile(p, i, j, rows, COLUMNS, 0);
    for (; j + L <= p->n; j += L)
        tile(p, i, j, rows, 1, 0);
    if (j < p->n)
        tile(p, i, j, rows, 1, (int)(p->n - j));
}

static void multiply(const gnn__gemm_block_t *p)
{
    int64_t i = 0;
    for (; i + ROWS <= p->m; i += ROWS)
        rows_of_tiles(p, i, ROWS);
    for (; i < p->m; i++)
        rows_of_tiles(p, i, 1);
}

const gnn__gemm_block_kernels_t GNN__KERNEL(gemm_block_kernels) = {.multiply = multiply};
