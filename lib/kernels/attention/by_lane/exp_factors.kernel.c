/* Weights of additive scores as products of exponentials of both ends. With slopes from 0 to 1,
 *
 *     exp(leaky(q_i + k_j)) = max(exp(q_i) exp(k_j), exp(slope q_i) exp(slope k_j))
 *
 * so exp runs per node, not per pair. The record of a sender holds both factors of each head:
 *
 *     eight heads    [exp k_0 .. exp k_7 | exp slope k_0 .. exp slope k_7]
 *     one head       [exp k | exp slope k | v_0 .. v_(d - 1)]              with its values
 *
 * and a row multiplies its own factors with those of each sender:
 *
 *     factors    make_factors        records of all senders, once per call
 *     own        row_factors         factors of FACTOR_ROWS rows at a time
 *     weigh      weigh_by_factors    products, and which of the two is larger (the sign of s)
 *     gather     gather_fused        the same fused with the weighted sums, for 8 heads x 8
 *
 * Factors of scores beyond RANGE are NaN and make every sum NaN that they enter; such a row, and no
 * other, is computed again from its scores. */
#include <lib/kernels/attention/by_lane/lane_passes.h>
#include <lib/kernels/attention/by_lane/lane_block.h>

#if !GNN_DOUBLE && defined(__AVX2__)
#include <math.h>

/* exp(2 RANGE) and its inverse, times values and the count of pairs, stay far from the limits of
 * fp32. Products that differ by less than NEAR units in the last place may come from equal
 * scores. */
enum { RANGE = 20, NEAR = 32 };

/* Registers of the 16 factors of eight heads; pairs whose weights fill a register. */
enum { OF_EIGHT = 2 * HEADS / LANES, TOGETHER = LANES / HEADS };

typedef struct own {
    gnn__vec_t x[OF_EIGHT];
} own_factors_t;

/* exp(x) in the first `whole` lanes, exp(slope x) in the others. */
static __attribute__((noinline)) gnn__vec_t factors_of(gnn__vec_t x, int whole, gnn_real_t slope)
{
    const gnn__vec_bits_t fits = (x <= RANGE) & (x >= -RANGE);
    return gnn__vec_select(fits, gnn__vec_exp(gnn__vec_select(first_lanes(whole), x, slope * x)),
                           gnn__vec_all(NAN));
}

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

/* The factors of a row's own queries. exp has high latency, so the factors of several rows are
 * computed together to overlap it. */
static own_factors_t row_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    own_factors_t own;
    if (row - b->own_from >= FACTOR_ROWS) {
        const int heads = narrow_width(l) ? 1 : HEADS;
        b->own_from = row;
        for (int64_t r = row; r < b->row1 && r - row < FACTOR_ROWS; r++) {
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

/* *negative = lanes with s <= 0. Returns a mask of lanes whose products are too close to decide:
 * their scores may be 0. */
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

/* ---- one head narrower than a register ---- */

/* Per-lane sums of a row: weights, those of pairs with s <= 0, and both times records. */
typedef struct sums {
    gnn__vec_t weight, negative, y, p;
} sums_t;

/* The exact signs (s <= 0) of the pairs from e on, each in `width` lanes. */
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

/* Adds the pairs of a block. A pair fills `width` lanes: its record is its factors and values, and
 * all its lanes have the same weight, so one product weighs and gathers. */
GNN__INLINE void add_records(const gnn__lanes_t *l, const lane_block_t *block, gnn_real_t q,
                             gnn__vec_t factors, sums_t *sums, const int width)
{
    const lane_block_t b = *block;
    const bool two = l->p_sums != NULL;
    const gnn__matrix_t records = {l->key_factors, width};
    const gnn__vec_bits_t lane = gnn__vec_head_of_lane(1, 0), first = lane & -width;
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
        w = gnn__kept_repeated(b.scale, b.drawn, b.kept + e, w, width);
        s.y += w * record;
        if (two)
            s.p += gnn__vec_where(negative, w) * record;
    }
    *sums = s;
}

/* gather_by_factors for one head narrower than a register. */
static bool gather_records(const gnn__lanes_t *l, lane_block_t *b, int64_t row, lane_state_t *s)
{
    const gnn__pairs_t *p = &l->a->pairs;
    const int64_t from = gnn__pairs_from(p, row), to = gnn__pairs_to(p, row);
    const gnn__vec_bits_t lane = gnn__vec_head_of_lane(1, 0), once = (lane & (l->factors - 1)) == 0;
    const gnn_real_t q = *gnn__matrix_row(&l->q, gnn__pairs_node(p, row));
    const gnn__vec_t own = row_factors(l, b, row).x[0];
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
    if (from == to || any_differs(sums.weight, sums.weight))
        return false;
    s->sum[0] = gnn__vec_where(once, sums.weight);
    s->a_sum[0] = gnn__vec_where(once, sums.negative);
    fill_pattern(s->largest, 0);
    gnn__vec_store(b->y, gnn__vec_spread(reduce_any(sums.y, l->factors, false), lane + 2));
    gnn__vec_store(b->p, gnn__vec_spread(reduce_any(sums.p, l->factors, false), lane + 2));
    return true;
}

/* ---- eight heads ---- */

/* The exact signs (s <= 0) of the pairs of a register. */
static __attribute__((noinline)) gnn__vec_bits_t signs_of_scores(const gnn__matrix_t *others,
                                                                 const uint32_t *nodes,
                                                                 const gnn_real_t *queries)
{
    return ~(rows_at(others, nodes, 0, HEADS) + gnn__vec_pattern(queries, HEADS, 0) > 0);
}

/* Both products of the pairs of a register; rows of `factors` are the senders' records. */
GNN__INLINE void factor_products(const gnn__matrix_t *factors, const uint32_t *nodes,
                                 own_factors_t own, gnn__vec_t *whole, gnn__vec_t *sloped)
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

/* Weights of the pairs of a register. With `queries`, the row's own queries, *negative = lanes with
 * s <= 0. */
GNN__INLINE gnn__vec_t factor_weights(const gnn__matrix_t *factors, const uint32_t *nodes,
                                      own_factors_t own, const gnn__matrix_t *others,
                                      const gnn_real_t *queries, gnn__vec_bits_t *negative)
{
    gnn__vec_t whole, sloped;
    factor_products(factors, nodes, own, &whole, &sloped);
    *negative = (gnn__vec_bits_t){0};
    if (queries && signs_of_products(whole, sloped, negative))
        *negative = signs_of_scores(others, nodes, queries);
    return gnn__vec_max(whole, sloped);
}

/* Weights of a block from factors: exp(score - 0) instead of exp(score - running maximum). */
static __attribute__((noinline)) void weigh_by_factors(const gnn__lanes_t *l,
                                                       const lane_block_t *block, own_factors_t own,
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
        accumulate_weights(&b, records, e * HEADS, w, negative, &sum, &a);
    }
    s->sum[0] = sum;
    s->a_sum[0] = a;
}

/* The weights of one pair, in every lane of each head. */
GNN__INLINE gnn__vec_t pair_weights(const gnn_real_t *factors, own_factors_t own)
{
#if defined(__AVX512F__)
    const gnn__vec_t both = own.x[0] * gnn__vec_load(factors);
    return gnn__vec_max(both, (gnn__vec_t)_mm512_shuffle_f32x4((__m512)both, (__m512)both, 0x4E));
#else
    return gnn__vec_max(own.x[0] * gnn__vec_load(factors), own.x[1] * gnn__vec_load(factors + LANES));
#endif
}

/* Weights and gather in one sweep for rows whose weights are needed once and whose sums (8 heads x
 * 8) stay in registers; bit-identical to the two steps. */
static __attribute__((noinline)) void gather_fused(const gnn__lanes_t *l, const lane_block_t *block,
                                                   own_factors_t own, bool fresh, gnn__vec_t *sum)
{
    const lane_block_t b = *block;
    const gnn__matrix_t keys = {l->key_factors, 2 * HEADS}, values = l->v;
    gnn__vec_bits_t head[EIGHTS];
    gnn__vec_t y[EIGHTS],
        weights[2] = {*sum, *sum}; /* even pairs in the first lanes, odd pairs in the others */
    for (int v = 0; v < EIGHTS; v++) {
        head[v] = gnn__vec_head_of_lane(SHARES ? shared_width(l) : 1, v);
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

/* True for rows of 8 heads x 8 in the layout that suits this instruction set. */
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
    const own_factors_t own = row_factors(l, b, row);
    const bool at_once = eight_of_eight(l) && !l->p_sums && !l->a->dropout;
    for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
        lane_block_load(l, b, row, at, to);
        if (at_once) {
            gather_fused(l, b, own, at == from, &s->sum[0]);
            continue;
        }
        weigh_by_factors(l, b, own, q, s);
        gather(l, b, &l->v, l->value_numbers, at == from, l->p_sums != NULL);
    }
    if (from < to && !any_differs(s->sum[0], s->sum[0])) {
        fill_pattern(s->largest, 0);
        return true;
    }
    fill_pattern(s->sum, 0);
    fill_pattern(s->a_sum, 0);
    return false;
}
#endif
