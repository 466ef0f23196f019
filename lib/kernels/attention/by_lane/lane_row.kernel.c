/* What attention with heads in lanes does with a row: copies with heads fastest and the way back,
 * products and scaling head by head. */
#include <lib/kernels/attention/by_lane/lane_row.h>

#if !GNN_DOUBLE && defined(__AVX512F__)
#define TRANSPOSES 1
/* Eight heads of eight numbers, either way: a transpose of 8 x 8 in four registers, or in
 * eight. */
GNN__INLINE void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    const __m512i low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27),
                  high =
                      _mm512_setr_epi32(4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31),
                  first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
                  second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29,
                                             30, 31);
    const __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16),
                 x2 = _mm512_loadu_ps(x + 32), x3 = _mm512_loadu_ps(x + 48);
    const __m512 a0 = _mm512_permutex2var_ps(x0, low, x1), a1 = _mm512_permutex2var_ps(x0, high, x1),
                 b0 = _mm512_permutex2var_ps(x2, low, x3), b1 = _mm512_permutex2var_ps(x2, high, x3);
    _mm512_storeu_ps(y, _mm512_permutex2var_ps(a0, first, b0));
    _mm512_storeu_ps(y + 16, _mm512_permutex2var_ps(a0, second, b0));
    _mm512_storeu_ps(y + 32, _mm512_permutex2var_ps(a1, first, b1));
    _mm512_storeu_ps(y + 48, _mm512_permutex2var_ps(a1, second, b1));
}
#elif defined(GNN__VEC_TRANSPOSE)
#define TRANSPOSES 1
GNN__INLINE void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    const gnn_real_t *const rows[] = {x, x + 8, x + 16, x + 24, x + 32, x + 40, x + 48, x + 56};
    gnn__vec_transpose(rows, 0, y, 8);
}
#endif

void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y, int64_t row)
{
#ifdef TRANSPOSES
    if (heads == 8 && d == 8) {
        transpose_eight(x, y);
        return;
    }
#endif
    if (width == 1) {
        for (; d >= LANES; d -= LANES, row -= LANES, x += LANES, y += LANES)
            gnn__vec_store(y, gnn__vec_load(x));
        for (; row > 0; row -= LANES, y += LANES, d = 0)
            gnn__vec_store(y, gnn__vec_load_first(x, (int)d));
        return;
    }
    if (heads < width || d * width < row)
        memset(y, 0, sizeof *y * (size_t)row);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            y[c * width + h] = x[h * d + c];
}

/* y = x, or y += x, for d numbers that have whole registers to themselves in x. */
static void send_numbers(const gnn_real_t *x, int64_t d, gnn_real_t *y, bool add)
{
    for (; d >= LANES; d -= LANES, x += LANES, y += LANES)
        gnn__vec_store(y, gnn__vec_load(x) + (add ? gnn__vec_load(y) : gnn__vec_all(0)));
    if (d > 0)
        gnn__vec_store_first(
            y, gnn__vec_load(x) + (add ? gnn__vec_load_first(y, (int)d) : gnn__vec_all(0)), (int)d);
}

void unpack_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, bool add,
                int width)
{
    const int64_t heads = l->a->heads;
#ifdef TRANSPOSES
    gnn_real_t turned[64];
    if (l->layout == GNN__PACKED && heads == 8 && d == 8) {
        transpose_eight(x, add ? turned : y);
        for (int c = 0; add && c < 64; c += LANES)
            gnn__vec_store(y + c, gnn__vec_load(y + c) + gnn__vec_load(turned + c));
        return;
    }
#endif
    if (l->layout != GNN__PACKED || width == 1) {
        send_numbers(x, heads * d, y, add);
        return;
    }
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            y[h * d + c] = (add ? y[h * d + c] : 0) + x[c * width + h];
}

void scale_shared(const gnn__lanes_t *l, const gnn_real_t *x, gnn__vec_t by, gnn_real_t *y, bool pass)
{
    for (int v = 0; shared_width(l) && v < l->value_numbers / LANES; v++, x += LANES, y += LANES) {
        const gnn__vec_bits_t head = gnn__vec_heads(shared_width(l), v);
        gnn__vec_put_by(y, gnn__vec_spread(by, head) * gnn__vec_load(x), pass);
    }
}

void shared_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                     gnn__vec_t *products)
{
    const int d = shared_width(l), registers = d ? (int)(l->value_numbers / LANES) : 0;
    gnn__vec_t sum[4];
    for (int v = 0; v < registers; v++)
        sum[v] = gnn__vec_load(x + v * LANES) * gnn__vec_load(y + v * LANES);
    if (registers > 0)
        products[0] = registers == 4   ? shared_reduce(sum, d, 4)
                      : registers == 2 ? shared_reduce(sum, d, 2)
                                       : shared_reduce(sum, d, 1);
}

void scale_row(const gnn__lanes_t *l, const gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
               int width)
{
    if (!as_given(l)) {
        for (int64_t c = 0; c < l->value_numbers; c += LANES)
            gnn__vec_store(y + c, by[c / LANES % pattern_registers(width)] * gnn__vec_load(x + c));
        return;
    }
    const bool pass = x != y && passes(l, y);
    if (width > 1 && shared_width(l)) {
        scale_shared(l, x, by[0], y, pass);
        return;
    }
    gnn_real_t all[ROOM] = {0};
    write_heads(all, width, by, false, width);
    for (int64_t h = 0; h < l->a->heads; h++, x += l->a->d_v, y += l->a->d_v)
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            gnn__vec_put_by(y + c, all[h] * gnn__vec_load(x + c), pass);
}

void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                  gnn__vec_t *products, int width)
{
    for (int u = 0; u < pattern_registers(width); u++)
        products[u] = gnn__vec_all(0);
    if (width == 1 && narrow_width(l)) {
        products[0] = gnn__vec_reduce(gnn__vec_load_first(x, narrow_width(l)) *
                                          gnn__vec_load_first(y, narrow_width(l)),
                                      1, false);
        return;
    }
    if (width > 1 && shared_width(l)) {
        shared_products(l, x, y, products);
        return;
    }
    if (l->layout == GNN__PACKED) {
        for (int64_t c = 0; c < l->value_numbers; c += LANES)
            products[c / LANES % pattern_registers(width)] +=
                gnn__vec_load(x + c) * gnn__vec_load(y + c);
        for (int u = 0; u < pattern_registers(width); u++)
            products[u] = reduce(products[u], width, false);
        return;
    }
    gnn_real_t all[ROOM] = {0};
    for (int64_t h = 0; h < l->a->heads; h++, x += l->a->d_v, y += l->a->d_v) {
        gnn__vec_t sum = gnn__vec_all(0);
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            sum += gnn__vec_load(x + c) * gnn__vec_load(y + c);
        all[h] = gnn__vec_reduce(sum, 1, false)[0];
    }
    read_pattern(all, products, width);
}

void scale_and_pass(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
                    int width)
{
    const int64_t n = l->a->heads * l->a->d_v;
    scale_row(l, x, by, x, width);
    l->finish(l->how, x, 1, n);
    for (int64_t c = 0; c < n; c += LANES)
        gnn__vec_put_by(y + c, gnn__vec_load(x + c), true);
}
