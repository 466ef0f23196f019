/* Dot and additive-v2 attention with one head of at most 16 elements (layout GNN__COLUMNS). With
 * one head a register holds as many pairs as it has lanes, so the rows at the other ends of a
 * block's pairs are transposed first, one column per element:
 *
 *                            pair 0   pair 1   pair 2  ..  BLOCK_PAIRS - 1
 *     column 0               lse      lse      lse             rows are senders
 *     column 1               S        S        S               rows are senders
 *     column 2 ..            k[0]     k[0]     k[0]            keys (rows are senders: queries)
 *     column 2 + d_k ..      v[0]     v[0]     v[0]            values (dY)
 *     column 2 + d_k + d_v   e[0]     e[0]     e[0]            edge features
 *
 * Keys that are values have one copy of both, unless edge features are added to keys. Then scores
 * and gathers run column by column, with 16 per-lane sums for each element of a row:
 *
 *     load      column_load      rows of the other ends -> columns
 *     score     column_scores    sum over c of own[c] * column c
 *     gather    column_gather    y[c] += weight * column c, per lane
 *     reduce    column_reduce    16 per-lane sums -> y[c] */
#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/edge_inputs.h>

static const gnn_real_t *columns_of(const gnn__lanes_t *l, const lane_block_t *b, bool keys)
{
    const bool second = !keys && (l->a->transposed || l->edge_keys || !gnn__keys_are_values(l->a));
    return b->columns + (2 + (second ? l->a->d_k : 0)) * BLOCK_PAIRS;
}

#if !GNN_DOUBLE && defined(__AVX2__)
enum { COLUMNS = 4 };

#if defined(__AVX512F__)
#define WIDE_OP(op) _mm512_##op##_ps
typedef __m512 wide_t;
#else
#define WIDE_OP(op) _mm256_##op##_ps
typedef __m256 wide_t;
#endif

/* Elements c .. c + 3 of rows[0], rows[4] and so on, four lanes each; `count` of them exist. */
GNN__INLINE wide_t every_fourth(const float *const *rows, int64_t c, int64_t count)
{
    __m128 row[LANES / COLUMNS];
    for (int q = 0; q < LANES / COLUMNS; q++) {
        const float *at = rows[COLUMNS * q] + c;
#if defined(__AVX512F__)
        row[q] = _mm_maskz_loadu_ps((__mmask8)((1 << count) - 1), at);
#else
        const __m128i index = _mm_setr_epi32(0, 1, 2, 3);
        row[q] = _mm_maskload_ps(at, _mm_cmplt_epi32(index, _mm_set1_epi32((int)count)));
#endif
    }
    const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(row[0]), row[1], 1);
#if defined(__AVX512F__)
    const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(row[2]), row[3], 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
    return low;
#endif
}

/* Columns c .. of at most four elements: rows of LANES pairs are transposed four by four. */
static __attribute__((noinline)) void collect(const float *const *rows, int n, int64_t c, float *to,
                                              int64_t count)
{
    count = count < COLUMNS ? count : COLUMNS;
#pragma GCC unroll 1
    for (int e = 0; e < n; e += LANES, rows += LANES, to += LANES) {
        wide_t row[COLUMNS];
        for (int k = 0; k < COLUMNS; k++)
            row[k] = every_fourth(rows + k, c, count);
        const wide_t low = WIDE_OP(unpacklo)(row[0], row[1]);
        const wide_t low_2 = WIDE_OP(unpacklo)(row[2], row[3]);
        const wide_t high = WIDE_OP(unpackhi)(row[0], row[1]);
        const wide_t high_2 = WIDE_OP(unpackhi)(row[2], row[3]);
        WIDE_OP(storeu)(to, WIDE_OP(shuffle)(low, low_2, 0x44));
        if (count > 1)
            WIDE_OP(storeu)(to + BLOCK_PAIRS, WIDE_OP(shuffle)(low, low_2, 0xee));
        if (count > 2)
            WIDE_OP(storeu)(to + 2 * BLOCK_PAIRS, WIDE_OP(shuffle)(high, high_2, 0x44));
        if (count > 3)
            WIDE_OP(storeu)(to + 3 * BLOCK_PAIRS, WIDE_OP(shuffle)(high, high_2, 0xee));
    }
}
#else
enum { COLUMNS = 1 };

static void collect(const gnn_real_t *const *rows, int n, int64_t c, gnn_real_t *to, int64_t count)
{
    (void)count;
    for (int e = 0; e < n; e++)
        to[e] = rows[e][c];
}
#endif

/* Columns of the first `count` elements of n rows. */
static void collect_rows(const gnn_real_t *const *rows, int n, int64_t count, gnn_real_t *to)
{
    for (int64_t c = 0; c < count; c += COLUMNS, to += COLUMNS * BLOCK_PAIRS)
        collect(rows, n, c, to, count - c);
}

/* Columns of the rows of m at the other ends of the pairs. Lanes after the last pair repeat it;
 * their weight is 0. */
static __attribute__((noinline)) void collect_all(const lane_block_t *b, const gnn__matrix_t *m,
                                                  int64_t count, gnn_real_t *to)
{
    const int n = padded(b->n);
    const gnn__matrix_t from = *m;
    const uint32_t *others = b->other;
    const gnn_real_t *rows[BLOCK_PAIRS + LANES];
    for (int e = 0; e < b->n; e++)
        rows[e] = gnn__matrix_row(&from, others[e]);
    for (int e = b->n; e < n; e++)
        rows[e] = rows[b->n - 1];
    collect_rows(rows, n, count, to);
}

static gnn_real_t *feature_columns(const gnn__lanes_t *l, const lane_block_t *b)
{
    return b->columns + (2 + l->a->d_k + l->a->d_v) * BLOCK_PAIRS;
}

static void load_features(const gnn__lanes_t *l, const lane_block_t *b)
{
    prefetch_edge_features(l, b);
    edge_feature_rows(l, b);
    collect_rows(b->features, padded(b->n), l->a->d_e, feature_columns(l, b));
}

/* Adds W e, the projected features of each pair's edge, to its key (to its query where the rows of
 * the call are senders). */
static __attribute__((noinline)) void add_features(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn_real_t *features = feature_columns(l, b);
    gnn_real_t *keys = b->columns + 2 * BLOCK_PAIRS;
    const int n = padded(b->n);
    const int64_t d_k = l->a->d_k, d_e = l->a->d_e;
    load_features(l, b);
    for (int64_t c = 0; c < d_k; c++, keys += BLOCK_PAIRS)
#pragma GCC unroll 1
        for (int x = 0; x < n; x += LANES) {
            gnn__vec_t sum = gnn__vec_load(keys + x);
            for (int64_t f = 0; f < d_e; f++)
                sum += l->edge_keys[f * l->key_numbers + c] *
                       gnn__vec_load(features + f * BLOCK_PAIRS + x);
            gnn__vec_store(keys + x, sum);
        }
}

void column_load(const gnn__lanes_t *l, const lane_block_t *b)
{
    const int64_t d_k = l->a->d_k, d_v = l->a->d_v;
    if (l->a->transposed) {
        collect_all(b, &l->records, 2 + d_k + d_v, b->columns);
        return;
    }
    collect_all(b, &l->k, d_k, b->columns + 2 * BLOCK_PAIRS);
    if (l->edge_keys || !gnn__keys_are_values(l->a))
        collect_all(b, &l->v, d_v, b->columns + (2 + d_k) * BLOCK_PAIRS);
}

/* Scores of the block's pairs: out = scale (own . c), `own` the receiver's row and c the
 * sender's, whose elements are the pair's lane of `columns`; with `a` (additive): out = scale (a
 * . leaky(own + c)). */
static __attribute__((noinline)) void products(const lane_block_t *b, const gnn_real_t *own,
                                               const gnn_real_t *columns, int64_t d,
                                               gnn_real_t scale, const gnn_real_t *a,
                                               gnn_real_t slope, gnn_real_t *out)
{
#pragma GCC unroll 1
    for (int x = 0; x < padded(b->n); x += LANES) {
        gnn__vec_t sum = gnn__vec_all(0);
#pragma GCC unroll 1
        for (int64_t c = 0; c < d; c++) {
            const gnn__vec_t theirs = gnn__vec_load(columns + c * BLOCK_PAIRS + x);
            sum += a ? a[c] * gnn__vec_leaky(own[c] + theirs, slope) : own[c] * theirs;
        }
        gnn__vec_store(out + x, scale * sum);
    }
}

void column_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                   const gnn_real_t *own_value)
{
    const bool dot = l->a->score == GNN__SCORE_DOT;
    column_load(l, b);
    if (l->edge_keys)
        add_features(l, b);
    products(b, own_key, columns_of(l, b, true), l->a->d_k, dot ? l->a->scale : 1,
             dot ? NULL : l->weights, l->a->slope, b->score);
    if (own_value)
        products(b, own_value, columns_of(l, b, false), l->a->d_v, 1, NULL, 0, b->second);
}

void column_features(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *one,
                     const gnn_real_t *other)
{
    const gnn_real_t *features = feature_columns(l, b);
    load_features(l, b);
    products(b, one, features, l->a->d_e, 1, NULL, 0, b->edge);
    if (other)
        products(b, other, features, l->a->d_e, 1, NULL, 0, b->weight);
}

void column_gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *weight,
                   bool keys, bool fresh, gnn_real_t *y)
{
    const gnn_real_t *columns = columns_of(l, b, keys);
    const int64_t d = keys ? l->a->d_k : l->a->d_v;
    for (int64_t c = 0; c < d; c++, columns += BLOCK_PAIRS, y += 16) {
        gnn__vec_t sum = fresh ? gnn__vec_all(0) : gnn__vec_load(y);
#pragma GCC unroll 1
        for (int x = 0; x < padded(b->n); x += LANES)
            sum += gnn__vec_load(weight + x) * gnn__vec_load(columns + x);
        gnn__vec_store(y, sum);
    }
}

void column_above(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own)
{
    const gnn_real_t *columns = columns_of(l, b, true);
    for (int64_t c = 0; c < l->a->d_k; c++, columns += BLOCK_PAIRS) {
        const gnn__vec_t least = gnn__vec_all(-own[c]);
        gnn__vec_t sum = gnn__vec_load(b->y + c * 16);
#pragma GCC unroll 1
        for (int x = 0; x < padded(b->n); x += LANES)
            sum = gnn__vec_add_above(sum, gnn__vec_load(columns + x), least,
                                     gnn__vec_load(b->second + x));
        gnn__vec_store(b->y + c * 16, sum);
    }
}

void column_both(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                 const gnn_real_t *dy, gnn_real_t *d_senders)
{
    const int64_t d = l->a->d_k;
    gnn_real_t targets[BLOCK_PAIRS];
    for (int64_t c = 0; c < d; c++) {
        const gnn_real_t *column = columns_of(l, b, true) + c * BLOCK_PAIRS;
        const gnn__vec_t least = gnn__vec_all(-own[c]);
        gnn__vec_t sum = gnn__vec_load(b->y + c * 16), p = gnn__vec_all(0);
#pragma GCC unroll 1
        for (int x = 0; x < padded(b->n); x += LANES) {
            const gnn__vec_t k = gnn__vec_load(column + x), g = gnn__vec_load(b->second + x),
                             z = gnn__vec_select(k > least, g, l->a->slope * g);
            sum = gnn__vec_add_above(sum, k, least, g);
            p += z * k;
            gnn__vec_store(targets + x, dy[c] * gnn__vec_load(b->weight + x) + l->weights[c] * z);
        }
        gnn__vec_store(b->y + c * 16, sum);
        b->p[c] += reduce_any(p, 1, false)[0];
#pragma GCC unroll 1
        for (int e = 0; e < b->n; e++)
            d_senders[b->other[e] * d + c] += targets[e];
    }
}

void column_edges(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                  gnn_real_t *d_weights, bool keys_too)
{
    const gnn__attention_t *a = l->a;
    const gnn_real_t *features = feature_columns(l, b), *g = b->second;
    gnn_real_t z[BLOCK_PAIRS];
    const int n = padded(b->n);
    for (int64_t c = 0; c < a->d_k; c++) {
        const gnn_real_t *column = columns_of(l, b, true) + c * BLOCK_PAIRS;
        const gnn__vec_t least = gnn__vec_all(-own[c]);
        gnn__vec_t p = gnn__vec_all(0);
#pragma GCC unroll 1
        for (int x = 0; x < n; x += LANES) {
            const gnn__vec_t k = gnn__vec_load(column + x), by = gnn__vec_load(g + x),
                             leaky = gnn__vec_select_above(k, least, by, a->slope * by);
            gnn__vec_store(z + x, leaky);
            p += leaky * k;
        }
        if (keys_too)
            b->p[c] += reduce_any(p, 1, false)[0];
        for (int64_t f = 0; d_weights && f < a->d_e; f++) {
            gnn_real_t *to = d_weights + f * l->key_numbers + c * 16;
            gnn__vec_t sum = gnn__vec_load(to);
#pragma GCC unroll 1
            for (int x = 0; x < n; x += LANES)
                sum += gnn__vec_load(z + x) * gnn__vec_load(features + f * BLOCK_PAIRS + x);
            gnn__vec_store(to, sum);
        }
        for (int e = 0; a->grad.features.at && e < b->n; e++) {
            const int64_t id = gnn__pairs_edge(&a->pairs, b->at + e);
            for (int64_t f = 0; has_row(id, a->edges) && f < a->d_e; f++)
                gnn__matrix_row(&a->grad.features, id)[f] +=
                    l->weights[c] * l->edge_keys[f * l->key_numbers + c] * z[e];
        }
    }
}

void column_reduce(gnn_real_t *y, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        y[c] = gnn__vec_reduce(gnn__vec_load(y + c * 16), 1, false)[0];
}

void column_spread(gnn_real_t *y, int64_t n)
{
    for (int64_t c = n; c-- > 0;)
        gnn__vec_store(y + c * 16, gnn__vec_where(first_lanes(1), gnn__vec_all(y[c])));
}

void column_prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1)
{
    const gnn__attention_t *a = l->a;
    const int64_t d_k = a->d_k, d_v = a->d_v;
    for (int64_t i = i0; i < i1; i++) {
        const gnn_real_t *y = gnn__matrix_row(&a->y, i), *dy = gnn__matrix_row(&a->grad.y, i),
                         lse = a->grad.lse[i];
        gnn_real_t *to = gnn__matrix_row(&l->records, i), sum = 0;
#pragma GCC unroll 1
        for (int64_t c = 0; c < d_v; c++)
            sum += dy[c] * y[c];
        to[0] = lse == -INFINITY ? INFINITY : lse;
        to[1] = sum;
        memcpy(to + 2, gnn__matrix_row(&l->q, i), sizeof *to * (size_t)d_k);
        memcpy(to + 2 + d_k, dy, sizeof *to * (size_t)d_v);
    }
}
