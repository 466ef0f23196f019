/* Weights of additive scores as products of numbers of both ends. With e(x) = e^x and slopes from 0
 * to 1,
 *
 *     e(gnn__vec_leaky(q_i + k_j)) = the larger of e(q_i) e(k_j) and e(slope q_i) e(slope k_j)
 *
 * so exp runs per node, not per pair. Factors of a node are e(x) and e(slope x): of eight heads
 * sixteen numbers, of one narrow_width head two, with the node's values behind them. Those of
 * numbers beyond RANGE are NaN, and so is every sum that meets them: a row is given up by itself,
 * whatever other rows hold, and done again from its scores. */
#include <lib/kernels/attention/by_lane/factors.h>
#include <lib/kernels/attention/by_lane/gather.h>

#if !GNN_DOUBLE && defined(__AVX2__)
#include <math.h>

/* e^(2 RANGE) and its inverse, times values and the number of pairs, stay far from the ends of a
 * float's range; products that differ by less than NEAR units in the last place may be those of
 * equal numbers. */
enum { RANGE = 20, NEAR = 32 };

/* Registers of the sixteen factors of eight heads, and pairs whose weights fill one. */
enum { OF_EIGHT = 2 * HEADS / LANES, TOGETHER = LANES / HEADS };

typedef struct own {
    gnn__vec_t x[OF_EIGHT];
} own_t;

/* e(x) in the first lanes, `whole` of them, e(slope x) in the others. */
static __attribute__((noinline)) gnn__vec_t factors_of(gnn__vec_t x, int whole, gnn_real_t slope)
{
    const gnn__vec_bits_t fits = (x <= RANGE) & (x >= -RANGE);
    return gnn__vec_select(fits, gnn__vec_exp(gnn__vec_select(first_lanes(whole), x, slope * x)),
                           gnn__vec_all(NAN));
}

/* Behind those of one narrow_width head stand its values. */
void make_factors(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch)
{
    (void)scratch;
    const int values = narrow_width(l), width = l->factors;
    for (int64_t j = j0; j < j1; j++) {
        const gnn_real_t *k = gnn__matrix_row(&l->k, j);
        gnn_real_t *to = l->key_factors + j * width;
        if (!values) {
            for (int u = 0; u < OF_EIGHT; u++)
                gnn__vec_store(to + u * LANES, factors_of(gnn__vec_pattern(k, HEADS, 0),
                                                          HEADS - u * LANES, l->a->slope));
            continue;
        }
        gnn__vec_store_first(to, factors_of(gnn__vec_all(*k), 1, l->a->slope), 2);
        gnn__vec_store_first(to + 2, gnn__vec_load_first(gnn__matrix_row(&l->v, j), values),
                             width - 2);
    }
}

/* The factors of a row's own numbers, which are made for several rows at once: exp takes longer to
 * arrive than it keeps anything busy. */
static own_t own_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    own_t own;
    if (row - b->own_from >= OWN) {
        const int heads = narrow_width(l) ? 1 : HEADS;
        b->own_from = row;
        for (int64_t r = row; r < b->row1 && r - row < OWN; r++) {
            const gnn_real_t *q = gnn__matrix_row(&l->q, gnn__pairs_node(&l->a->pairs, r));
            for (int u = 0; u < OF_EIGHT; u++)
                gnn__vec_store(
                    b->columns + (r - row) * 2 * HEADS + u * LANES,
                    factors_of(gnn__vec_pattern(q, heads, 0), heads - u * LANES, l->a->slope));
        }
    }
    for (int u = 0; u < OF_EIGHT; u++)
        own.x[u] = gnn__vec_load(b->columns + (row - b->own_from) * 2 * HEADS + u * LANES);
    return own;
}

/* Which weights are those of s <= 0; returned are those whose products are too near one another to
 * tell: their scores may be 0. */
GNN__INLINE int signs_of_products(gnn__vec_t whole, gnn__vec_t sloped, gnn__vec_bits_t *negative)
{
    const gnn__vec_bits_t apart = (gnn__vec_bits_t)whole - (gnn__vec_bits_t)sloped;
    *negative = apart <= 0;
#if defined(__AVX512F__)
    return _mm512_cmplt_epu32_mask((__m512i)(apart + NEAR), _mm512_set1_epi32(2 * NEAR));
#else
    return _mm256_movemask_ps((__m256)((apart >= -NEAR) & (apart < NEAR)));
#endif
}

/* ---- one narrow_width head ---- */

/* What a row of one narrow_width head has gathered, records in all lanes: weights, those of pairs
 * with s <= 0, and both times records. */
typedef struct sums {
    gnn__vec_t weight, negative, y, p;
} sums_t;

/* s <= 0 of the pairs from number e on, each in `width` lanes. */
static __attribute__((noinline)) gnn__vec_bits_t signs_of_pairs(const gnn__lanes_t *l,
                                                                const lane_block_t *b, int e,
                                                                gnn_real_t q, int width)
{
    gnn_real_t score[LANES];
#pragma GCC unroll 1
    for (int lane = 0; lane < LANES; lane++)
        score[lane] = *gnn__matrix_row(&l->k, b->other[e + lane / width]) + q;
    return ~(gnn__vec_load(score) > 0);
}

/* The pairs of a block: a record is its factors and its values, and all its lanes have the same
 * weight. */
GNN__INLINE void add_records(const gnn__lanes_t *l, const lane_block_t *block, gnn_real_t q,
                             gnn__vec_t factors, sums_t *sums, const int width)
{
    const lane_block_t b = *block;
    const bool two = l->p_sums != NULL;
    const gnn__matrix_t records = {l->key_factors, width};
    const gnn__vec_bits_t lane = gnn__vec_heads(1, 0), first = lane & -width;
    const gnn__vec_t own = gnn__vec_spread(factors, lane - first);
    sums_t s = *sums;
    for (int e = 0; e < b.n; e += LANES / width) {
        const int live = (b.n - e) * width;
        gnn__vec_t record = rows_at(&records, b.other, e * width, width);
        if (live < LANES)
            record = gnn__vec_where(first_lanes(live), record);
        const gnn__vec_t products = own * record, whole = gnn__vec_spread(products, first),
                         sloped = gnn__vec_spread(products, first + 1);
        gnn__vec_t w = gnn__vec_max(whole, sloped);
        gnn__vec_bits_t negative = {0};
        s.weight += w;
        if (two) {
            const int near = signs_of_products(whole, sloped, &negative);
            if (near & ((1 << (live < LANES ? live : LANES)) - 1))
                negative = signs_of_pairs(l, &b, e, q, width);
            s.negative += gnn__vec_where(negative, w);
        }
        w = gnn__kept_wide(b.scale, b.drawn, b.kept + e, w, width);
        s.y += w * record;
        if (two)
            s.p += gnn__vec_where(negative, w) * record;
    }
    *sums = s;
}

/* gather_by_factors of one narrow_width head. */
static bool gather_records(const gnn__lanes_t *l, lane_block_t *b, int64_t row, lane_state_t *s)
{
    const gnn__pairs_t *p = &l->a->pairs;
    const int64_t from = gnn__pairs_from(p, row), to = gnn__pairs_to(p, row);
    const gnn__vec_bits_t lane = gnn__vec_heads(1, 0), once = (lane & (l->factors - 1)) == 0;
    const gnn_real_t q = *gnn__matrix_row(&l->q, gnn__pairs_node(p, row));
    const gnn__vec_t own = own_factors(l, b, row).x[0];
    sums_t sums = {0};
    for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
        lane_block_load(l, b, row, at, to);
        if (l->factors == 4)
            add_records(l, b, q, own, &sums, 4);
        else if (l->factors == LANES)
            add_records(l, b, q, own, &sums, LANES);
        else
            add_records(l, b, q, own, &sums, 8);
    }
    if (from == to || differs(sums.weight, sums.weight))
        return false;
    s->sum[0] = gnn__vec_where(once, sums.weight);
    s->a_sum[0] = gnn__vec_where(once, sums.negative);
    fill(s->largest, 0);
    gnn__vec_store(b->y, gnn__vec_spread(reduce_any(sums.y, l->factors, false), lane + 2));
    gnn__vec_store(b->p, gnn__vec_spread(reduce_any(sums.p, l->factors, false), lane + 2));
    return true;
}

/* ---- eight heads ---- */

/* s <= 0 of the pairs of a register, by their scores. */
static __attribute__((noinline)) gnn__vec_bits_t signs_of_scores(const gnn__matrix_t *others,
                                                                 const uint32_t *nodes,
                                                                 const gnn_real_t *numbers)
{
    return ~(rows_at(others, nodes, 0, HEADS) + gnn__vec_pattern(numbers, HEADS, 0) > 0);
}

/* Both products of the pairs of a register: `own` are the row's factors, the others' stand in
 * rows. */
GNN__INLINE void factor_products(const gnn__matrix_t *factors, const uint32_t *nodes, own_t own,
                                 gnn__vec_t *whole, gnn__vec_t *sloped)
{
    const gnn_real_t *row = gnn__matrix_row(factors, nodes[0]);
#if defined(__AVX512F__)
    const __m512 x = (__m512)(own.x[0] * gnn__vec_load(row)),
                 y = (__m512)(own.x[0] * gnn__vec_load(gnn__matrix_row(factors, nodes[1])));
    *whole = (gnn__vec_t)_mm512_shuffle_f32x4(x, y, 0x44);
    *sloped = (gnn__vec_t)_mm512_shuffle_f32x4(x, y, 0xEE);
#else
    *whole = own.x[0] * gnn__vec_load(row);
    *sloped = own.x[1] * gnn__vec_load(row + LANES);
#endif
}

/* Weights of the pairs of a register. Where `numbers`, the row's own, are given, *negative is where
 * s <= 0. */
GNN__INLINE gnn__vec_t factor_weights(const gnn__matrix_t *factors, const uint32_t *nodes,
                                      own_t own, const gnn__matrix_t *others,
                                      const gnn_real_t *numbers, gnn__vec_bits_t *negative)
{
    gnn__vec_t whole, sloped;
    factor_products(factors, nodes, own, &whole, &sloped);
    *negative = (gnn__vec_bits_t){0};
    if (numbers && signs_of_products(whole, sloped, negative))
        *negative = signs_of_scores(others, nodes, numbers);
    return gnn__vec_max(whole, sloped);
}

/* Weights from factors: relative to no score at all, where scores are relative to the largest. */
static __attribute__((noinline)) void weigh_by_factors(const gnn__lanes_t *l,
                                                       const lane_block_t *block, own_t own,
                                                       const gnn_real_t *q, lane_state_t *s)
{
    const lane_block_t b = *block;
    const gnn__matrix_t keys = {l->key_factors, 2 * HEADS}, k = l->k;
    const bool records = l->p_sums != NULL;
    gnn__vec_t sum = s->sum[0], a = s->a_sum[0];
    for (int e = 0; e < b.n; e += TOGETHER) {
        gnn__vec_bits_t negative;
        gnn__vec_t w = factor_weights(&keys, b.other + e, own, &k, records ? q : NULL, &negative);
        if (e + TOGETHER > b.n)
            w = gnn__vec_where(first_lanes(HEADS), w);
        take_weights(&b, records, e * HEADS, w, negative, &sum, &a);
    }
    s->sum[0] = sum;
    s->a_sum[0] = a;
}

/* The weights of one pair, in every lane of its heads. */
GNN__INLINE gnn__vec_t pair_weights(const gnn_real_t *factors, own_t own)
{
#if defined(__AVX512F__)
    const gnn__vec_t both = own.x[0] * gnn__vec_load(factors);
    return gnn__vec_max(both, (gnn__vec_t)_mm512_shuffle_f32x4((__m512)both, (__m512)both, 0x4E));
#else
    return gnn__vec_max(own.x[0] * gnn__vec_load(factors), own.x[1] * gnn__vec_load(factors + LANES));
#endif
}

/* Both in one sweep, where weights are needed once and the sums of eight heads of eight numbers
 * stay in registers; the bits are the same. */
static __attribute__((noinline)) void gather_at_once(const gnn__lanes_t *l, const lane_block_t *block,
                                                     own_t own, bool fresh, gnn__vec_t *sum)
{
    const lane_block_t b = *block;
    const gnn__matrix_t keys = {l->key_factors, 2 * HEADS}, values = l->v;
    gnn__vec_bits_t head[EIGHTS];
    gnn__vec_t y[EIGHTS],
        weights[2] = {*sum, *sum}; /* of even pairs in the first lanes, of odd ones in the others */
    for (int v = 0; v < EIGHTS; v++) {
        head[v] = gnn__vec_heads(SHARES ? shared_width(l) : 1, v);
        y[v] = fresh ? gnn__vec_all(0) : gnn__vec_load(b.y + v * LANES);
    }
    for (int e = 0; e < b.n; e += TOGETHER)
        for (int k = 0; k < TOGETHER && e + k < b.n; k++) {
            const uint32_t other = b.other[e + k], next = b.other[e + k + AHEAD];
            const gnn__vec_t w = pair_weights(gnn__matrix_row(&keys, other), own);
            __builtin_prefetch(gnn__matrix_row(&keys, next));
            prefetch_eight(gnn__matrix_row(&values, next));
            weights[k] += w;
            for (int v = 0; v < EIGHTS; v++)
                y[v] += (SHARES ? gnn__vec_spread(w, head[v]) : w) *
                        gnn__vec_load(gnn__matrix_row(&values, other) + v * LANES);
        }
    for (int v = 0; v < EIGHTS; v++)
        gnn__vec_store(b.y + v * LANES, y[v]);
    *sum = TOGETHER > 1 ? gnn__vec_select(first_lanes(HEADS), weights[0], weights[1]) : weights[0];
}

/* Rows of eight heads of eight numbers, as the kernels like them best. */
GNN__INLINE bool eight_of_eight(const gnn__lanes_t *l)
{
    return l->value_numbers == 8 * HEADS && (SHARES ? shared_width(l) : l->layout == GNN__PACKED);
}

bool gather_by_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row, lane_state_t *s)
{
    if (narrow_width(l))
        return gather_records(l, b, row, s);
    const gnn__pairs_t *p = &l->a->pairs;
    const int64_t from = gnn__pairs_from(p, row), to = gnn__pairs_to(p, row);
    const gnn_real_t *q = gnn__matrix_row(&l->q, gnn__pairs_node(p, row));
    const own_t own = own_factors(l, b, row);
    const bool at_once = eight_of_eight(l) && !l->p_sums && !l->a->dropout;
    for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
        lane_block_load(l, b, row, at, to);
        if (at_once) {
            gather_at_once(l, b, own, at == from, &s->sum[0]);
            continue;
        }
        weigh_by_factors(l, b, own, q, s);
        gather(l, b, &l->v, l->value_numbers, at == from, l->p_sums != NULL);
    }
    if (from < to && !differs(s->sum[0], s->sum[0])) {
        fill(s->largest, 0);
        return true;
    }
    fill(s->sum, 0);
    fill(s->a_sum, 0);
    return false;
}
#endif
