/* Keys by distance inside of tiles. Included by kernels only.
 *
 * The distance of a pair is its column less its row, and a number. So the products of some rows of
 * queries with the keys of the distances that they need are a band: row r's begin a place before
 * those of row r - 1. A product that stores rows one number further apart than the rows of its
 * result are turns the band into a rectangle with the columns of a tile, and one that reads a
 * rectangle so turns it back:
 *
 *     places      x0     x0 + 1  x0 + 2            columns    0       1       2
 *     row 0       a00    a01     a02               row 0      a00     a01     a02
 *     row 1  a10  a11    a12                       row 1      a10     a11     a12
 *
 * Forward, rows are receivers and columns senders. Backward, whose tiles have senders for rows, the
 * band is that of the tile's receivers, a row for each, and the tile adds it transposed. */
#ifndef GNN_KERNELS_TILE_BAND_H
#define GNN_KERNELS_TILE_BAND_H

#include <lib/kernels/attention/by_tile/tile.h>

/* A group of rows needs whole blocks of keys, which reach beyond its columns by less than a block
 * and a group on either side. */
enum { BAND_SLACK = GNN__BAND_SLACK, BAND_GROUPS = COLUMNS / GROUP + 1 };

/* Row r, column c is at[r * ld + c]; BAND_SLACK columns more lie on either side. */
typedef struct band {
    gnn_real_t *at;
    int64_t ld;
    int64_t x0;    /* place of row 0 and column 0 */
    int64_t *done; /* for each group of rows: blocks before this one are there */
    /* The products of each row with the keys of the places up to `near`, and of those from `far`
     * on, which are all the same; bits of a group: they are known. */
    gnn_real_t *ends;
    uint8_t *known;
} band_t;

#define band_pack GNN__KERNEL(tile_band_pack)
#define band_fill GNN__KERNEL(tile_band_fill)
#define band_transpose GNN__KERNEL(tile_band_transpose)
#define band_grads GNN__KERNEL(tile_band_grads)

/* Rows of keys become a block. */
void band_pack(const gnn_real_t *rows, int64_t width, gnn_real_t *block);

/* Products of `rows` queries of a head with keys. Group g of rows needs columns first[g] .. end[g]
 * - 1; blocks that are there already are left alone. */
void band_fill(const gnn__attention_t *a, int64_t head, const gnn_real_t *q, int64_t ldq, int rows,
               const int *first, const int *end, const band_t *band);

/* out[r][c] = the band's row c, column r0 + r, for r < rows and columns c0 .. c1 - 1 (whole
 * registers). */
void band_transpose(const band_t *band, int64_t r0, int rows, int c0, int c1, gnn_real_t *out);

/* Rows of a piece, here senders: row r hears columns from[r] .. to[r] - 1 of a tile. `d` holds the
 * derivatives of the scores of pairs (rows x COLUMNS), 0 where there is none, with BAND_GUARD rows
 * of 0 before and after. */
enum { BAND_GUARD = 8 };

typedef struct band_pairs {
    int rows, columns;
    int from[GNN__TILE_ROWS], to[GNN__TILE_ROWS];
    int64_t x0; /* place of row 0 and column 0: that of row r and column c is x0 + r - c */
    const gnn_real_t *d;
} band_pairs_t;

/* d_q (a row for each column) and d_keys (a row for each place) += what these pairs give; NULL: not
 * wanted. */
void band_grads(const gnn__attention_t *a, const band_pairs_t *pairs, int64_t head,
                const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys);

#endif
