/* Product of tiles, a template: the including kernel defines MULTIPLY_ADD(w, x, sum) on registers,
 * and TARGET as the attribute that this needs of the compiler.
 *
 *               b: PANEL registers of columns
 *     a         k-th row      [ b0 b1 ]
 *     row 0     a0[k]         sum[0][0] sum[0][1]     GROUP x PANEL registers of sums,
 *     row 1     a1[k]         sum[1][0] sum[1][1]     each a[k] broadcast
 *     .. */

/* out[r] (+)= sum over k < n of a[r * row + k * step] b[k] for a group, `panel` registers wide.
 * Where fewer rows than a group are left the last one is computed repeatedly, with equal
 * results. */
TARGET GNN__INLINE void panel_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                                      const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out,
                                      int64_t ldo, bool add, const int panel)
{
    gnn__vec_t sum[GROUP][PANEL];
    const gnn_real_t *from[GROUP];
    gnn_real_t *to[GROUP];
    for (int r = 0; r < GROUP; r++) {
        const int64_t there = r < rows ? r : rows - 1;
        from[r] = a + there * row;
        to[r] = out + there * ldo;
        for (int v = 0; v < panel; v++)
            sum[r][v] = add ? gnn__vec_load(to[r] + v * LANES) : (gnn__vec_t){0};
    }
#pragma GCC unroll 4
    for (int64_t k = 0; k < n; k++) {
        gnn__vec_t x[PANEL];
        for (int v = 0; v < panel; v++)
            x[v] = gnn__vec_load(b + k * ldb + v * LANES);
        for (int r = 0; r < GROUP; r++) {
            const gnn__vec_t w = gnn__vec_all(from[r][k * step]);
            for (int v = 0; v < panel; v++)
                sum[r][v] = MULTIPLY_ADD(w, x[v], sum[r][v]);
        }
    }
    for (int r = 0; r < GROUP; r++)
        for (int v = 0; v < panel; v++)
            gnn__vec_store(to[r] + v * LANES, sum[r][v]);
}

TARGET GNN__INLINE void grouped_product(const gnn_real_t *a, int64_t row, int64_t step,
                                        int64_t rows, const gnn_real_t *b, int64_t ldb, int64_t n,
                                        gnn_real_t *out, int64_t ldo, int64_t width, bool add)
{
    for (int64_t r = 0; r < rows; r += GROUP, a += GROUP * row, out += GROUP * ldo) {
        int64_t x = 0;
        for (; x + PANEL * LANES <= width; x += PANEL * LANES)
            panel_product(a, row, step, rows - r, b + x, ldb, n, out + x, ldo, add, PANEL);
        for (; x < width; x += LANES)
            panel_product(a, row, step, rows - r, b + x, ldb, n, out + x, ldo, add, 1);
    }
}
