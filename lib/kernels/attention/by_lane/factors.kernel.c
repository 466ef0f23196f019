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

#if !GNN_DOUBLE && defined(__AVX512F__)
#include <math.h>

/* e^(2 RANGE) and its inverse, times values and the number of pairs, stay far from the ends of a
 * float's range; products that differ by less than NEAR units in the last place may be those of
 * equal numbers. */
enum { RANGE = 20, NEAR = 32 };

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
            gnn__vec_store(to, factors_of(gnn__vec_pattern(k, HEADS, 0), HEADS, l->a->slope));
            continue;
        }
        gnn__vec_store_first(to, factors_of(gnn__vec_all(*k), 1, l->a->slope), 2);
        gnn__vec_store_first(to + 2, gnn__vec_load_first(gnn__matrix_row(&l->v, j), values),
                             width - 2);
    }
}

/* The factors of a row's own numbers, which are made for several rows at once: exp takes longer to
 * arrive than it keeps anything busy. */
static gnn__vec_t own_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    if (row - b->own_from >= OWN) {
        const int heads = narrow_width(l) ? 1 : HEADS;
        b->own_from = row;
        for (int64_t r = row; r < b->row1 && r - row < OWN; r++)
            gnn__vec_store(
                b->columns + (r - row) * LANES,
                factors_of(gnn__vec_pattern(gnn__matrix_row(&l->q, gnn__pairs_node(&l->a->pairs, r)),
                                            heads, 0),
                           heads, l->a->slope));
    }
    return gnn__vec_load(b->columns + (row - b->own_from) * LANES);
}

/* Which weights are those of s <= 0; returned are those whose products are too near one another to
 * tell: their scores may be 0. */
GNN__INLINE __mmask16 signs_of_products(gnn__vec_t whole, gnn__vec_t sloped, gnn__vec_bits_t *negative)
{
    const gnn__vec_bits_t apart = (gnn__vec_bits_t)whole - (gnn__vec_bits_t)sloped;
    *negative = apart <= 0;
    return _mm512_cmplt_epu32_mask((__m512i)(apart + NEAR), _mm512_set1_epi32(2 * NEAR));
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
            const __mmask16 near = signs_of_products(whole, sloped, &negative);
            if (near & (live < LANES ? (1u << live) - 1 : 0xffff))
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
    const gnn__vec_t own = own_factors(l, b, row);
    sums_t sums = {0};
    for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
        lane_block_load(l, b, row, at, to);
        if (l->factors == 4)
            add_records(l, b, q, own, &sums, 4);
        else if (l->factors == 8)
            add_records(l, b, q, own, &sums, 8);
        else
            add_records(l, b, q, own, &sums, LANES);
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

/* s <= 0 of two pairs, by their scores. */
static __attribute__((noinline)) gnn__vec_bits_t signs_of_scores(const gnn__matrix_t *others,
                                                                 const uint32_t *nodes,
                                                                 const gnn_real_t *numbers)
{
    return ~(rows_at(others, nodes, 0, HEADS) + gnn__vec_pattern(numbers, HEADS, 0) > 0);
}

/* Weights of two pairs: `own` are the row's factors, the others' stand in rows. Where `numbers`,
 * the row's own, are given, *negative is where s <= 0. */
GNN__INLINE gnn__vec_t factor_weights(const gnn__matrix_t *factors, const uint32_t *nodes,
                                      gnn__vec_t own, const gnn__matrix_t *others,
                                      const gnn_real_t *numbers, gnn__vec_bits_t *negative)
{
    const __m512 x = (__m512)(own * gnn__vec_load(gnn__matrix_row(factors, nodes[0]))),
                 y = (__m512)(own * gnn__vec_load(gnn__matrix_row(factors, nodes[1]))),
                 whole = _mm512_shuffle_f32x4(x, y, 0x44), sloped = _mm512_shuffle_f32x4(x, y, 0xEE);
    *negative = (gnn__vec_bits_t){0};
    if (numbers && signs_of_products((gnn__vec_t)whole, (gnn__vec_t)sloped, negative))
        *negative = signs_of_scores(others, nodes, numbers);
    return (gnn__vec_t)_mm512_max_ps(whole, sloped);
}

/* Weights from factors: relative to no score at all, where scores are relative to the largest. */
static __attribute__((noinline)) void weigh_by_factors(const gnn__lanes_t *l,
                                                       const lane_block_t *block, gnn__vec_t own,
                                                       const gnn_real_t *q, lane_state_t *s)
{
    const lane_block_t b = *block;
    const gnn__matrix_t keys = {l->key_factors, 2 * HEADS}, k = l->k;
    const bool records = l->p_sums != NULL;
    gnn__vec_t sum = s->sum[0], a = s->a_sum[0];
    for (int e = 0; e < b.n; e += 2) {
        gnn__vec_bits_t negative;
        gnn__vec_t w = factor_weights(&keys, b.other + e, own, &k, records ? q : NULL, &negative);
        if (e + 1 == b.n)
            w = gnn__vec_where(first_lanes(HEADS), w);
        take_weights(&b, records, e * HEADS, w, negative, &sum, &a);
    }
    s->sum[0] = sum;
    s->a_sum[0] = a;
}

/* Both in one sweep, where weights are needed once and sums stay in four registers; the bits are
 * the same. */
static __attribute__((noinline)) void gather_at_once(const gnn__lanes_t *l, const lane_block_t *block,
                                                     gnn__vec_t own, bool fresh, gnn__vec_t *sum)
{
    const lane_block_t b = *block;
    const gnn__matrix_t keys = {l->key_factors, 2 * HEADS}, values = l->v;
    gnn__vec_bits_t head[4];
    gnn__vec_t y[4],
        weights[2] = {*sum, *sum}; /* of even pairs in the first lanes, of odd ones in the others */
    for (int v = 0; v < 4; v++) {
        head[v] = gnn__vec_heads(shared_width(l), v);
        y[v] = fresh ? gnn__vec_all(0) : gnn__vec_load(b.y + v * LANES);
    }
    for (int e = 0; e < b.n; e += 2)
        for (int k = 0; k < 2 && e + k < b.n; k++) {
            const uint32_t other = b.other[e + k], next = b.other[e + k + AHEAD];
            const gnn__vec_t both = own * gnn__vec_load(gnn__matrix_row(&keys, other)),
                             w = gnn__vec_max(both, (gnn__vec_t)_mm512_shuffle_f32x4(
                                                        (__m512)both, (__m512)both, 0x4E));
            __builtin_prefetch(gnn__matrix_row(&keys, next));
            prefetch_four(gnn__matrix_row(&values, next));
            weights[k] += w;
            for (int v = 0; v < 4; v++)
                y[v] += gnn__vec_spread(w, head[v]) *
                        gnn__vec_load(gnn__matrix_row(&values, other) + v * LANES);
        }
    for (int v = 0; v < 4; v++)
        gnn__vec_store(b.y + v * LANES, y[v]);
    *sum = gnn__vec_select(first_lanes(HEADS), weights[0], weights[1]);
}

bool gather_by_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row, lane_state_t *s)
{
    if (narrow_width(l))
        return gather_records(l, b, row, s);
    const gnn__pairs_t *p = &l->a->pairs;
    const int64_t from = gnn__pairs_from(p, row), to = gnn__pairs_to(p, row);
    const gnn_real_t *q = gnn__matrix_row(&l->q, gnn__pairs_node(p, row));
    const gnn__vec_t own = own_factors(l, b, row);
    const bool at_once =
        shared_width(l) && l->value_numbers == 4 * LANES && !l->p_sums && !l->a->dropout;
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
