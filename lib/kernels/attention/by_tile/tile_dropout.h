/* Dropout inside of tiles. Included by kernels only. */
#ifndef GNN_KERNELS_TILE_DROPOUT_H
#define GNN_KERNELS_TILE_DROPOUT_H

#include <lib/kernels/attention/by_tile/tile_product.h>

#define draw_piece GNN__KERNEL(tile_draw_piece)
#define keep_row GNN__KERNEL(tile_keep_row)

/* Dropout of one piece, eight heads at once: a byte for each of its rows and columns, row0 and
 * column0 being the first, rows `ld` apart; ld 0: the piece is too large, and every head draws for
 * itself, row by row. */
typedef struct drawn {
    uint8_t *bits;
    int64_t row0, column0, ld;
} drawn_t;

/* Draws for rows row0 .. row1 - 1 and the heads around `head`. */
void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn);

/* Multipliers of one row of a tile: bits where registers have masks. */
#if defined(__AVX512BW__) && !GNN_DOUBLE
typedef struct {
    uint64_t kept;
    gnn_real_t scale;
} keep_t;

/* Column c and those behind it. */
GNN__INLINE gnn__vec_t kept_of(const keep_t *keep, int c, gnn__vec_t x)
{
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)(keep->kept >> c), (__m512)x,
                                           _mm512_set1_ps(keep->scale));
}
#else
typedef struct {
    gnn_real_t by[COLUMNS];
} keep_t;

GNN__INLINE gnn__vec_t kept_of(const keep_t *keep, int c, gnn__vec_t x)
{
    return x * gnn__vec_load(keep->by + c);
}
#endif

/* Those of columns from .. to - 1 of one row of the tile that begins at column `at`, and of as many
 * around them as make whole registers. */
void keep_row(const gnn__attention_t *a, const drawn_t *drawn, int64_t row, int64_t at, int from,
              int to, int64_t head, keep_t *keep);

#endif
