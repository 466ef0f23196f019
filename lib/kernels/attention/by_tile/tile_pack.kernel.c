/* Packing rows into tiles, either way, and putting sums back. */
#include <lib/kernels/attention/by_tile/tile_pack.h>

/* Numbers of a row that fill no register, and 0 up to ld. */
static ONE_COPY gnn_real_t pack_rest(const gnn_real_t *x, int64_t k, int64_t count, int64_t ld,
                                     gnn_real_t factor, gnn_real_t *row)
{
    gnn_real_t nothing = 0;
    for (; k < count; k++) {
        row[k] = factor * x[k];
        nothing += (row[k] + row[k]) * 0;
    }
    for (; k < ld; k++)
        row[k] = 0;
    return nothing;
}

ONE_COPY bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole,
                        int64_t first, int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows)
{
    const gnn__vec_t by = gnn__vec_all(factor);
    gnn__vec_t nothing = {0};
    for (int r = 0; r < n; r++, rows += ld) {
        const gnn_real_t *x = gnn__matrix_row(m, node[r]) + first;
        int64_t k = 0;
        for (; k + LANES <= count; k += LANES) {
            const gnn__vec_t v = by * gnn__vec_load(x + k);
            nothing += (v + v) * 0; /* also what rounding to bf16 might carry to infinity */
            gnn__vec_store(rows + k, v);
        }
        if (k < ld)
            nothing += pack_rest(x, k, count, ld, factor, rows);
    }
    clear(rows, (whole - n) * ld);
    return all_zero(nothing);
}

ONE_COPY void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns)
{
    const gnn_real_t *row[LANES], *at = p->rows;
    for (int c = 0; c < count; c += LANES) {
        for (int l = 0; l < LANES; l++) {
            row[l] = at;
            at += c + l + 1 < count ? p->ld : 0;
        }
        for (int64_t x = 0; x < width; x += LANES)
            transpose_square(row, x, columns + x * COLUMNS + c, COLUMNS);
    }
}

ONE_COPY void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y)
{
    static const gnn_real_t nothing[LANES];
    const gnn_real_t *old = add ? y : nothing;
    const gnn__vec_t by = gnn__vec_all(factor);
    int64_t c = 0;
#pragma GCC unroll 1
    for (; c + LANES <= n; c += LANES, old += add ? LANES : 0)
        gnn__vec_store(y + c, by * gnn__vec_load(x + c) + gnn__vec_load(old));
#pragma GCC unroll 1
    for (; c < n; c++, old += add ? 1 : 0)
        y[c] = factor * x[c] + *old;
}
