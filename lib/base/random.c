/* Philox 4x32, a counter-based generator: a counter and a key in, four random words out, no state.
 * Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3". */
#include <lib/base/base.h>

#include <math.h>

void gnn__philox(const uint32_t counter[4], const uint32_t key[2], int rounds, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2];
    uint32_t c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < rounds; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t next0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, next2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = next0;
        c2 = next2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void draw(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4])
{
    const uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};
    const uint32_t k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    gnn__philox(c, k, GNN__PHILOX_ROUNDS, out);
}

static double unit(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

double gnn__uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t r[4];
    draw(seed, stream, counter, r);
    return unit(r[0], r[1]);
}

/* Box-Muller transform of two uniforms of one draw. */
double gnn__normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t r[4];
    draw(seed, stream, counter, r);
    double u = 1.0 - unit(r[0], r[1]), v = unit(r[2], r[3]);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void gnn__hash_add(uint64_t *hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t k = 0; k < count; k++)
        *hash = (*hash ^ at[k]) * 0x100000001b3u;
}

uint64_t gnn__hash_string(const char *text)
{
    uint64_t hash = GNN__HASH_START;
    gnn__hash_add(&hash, text, strlen(text));
    return hash;
}

gnn__dropout_t gnn__dropout(gnn_rng_t rng, gnn_real_t rate)
{
    gnn__dropout_t d = {
        {(uint32_t)rng.seed, (uint32_t)(rng.seed >> 32)}, rng.step, rng.stream, rng.row, 65536, 1};
    if (rate > 0 && rate < 1) {
        d.threshold = (uint32_t)lrint((1.0 - (double)rate) * 65536.0);
        if (d.threshold == 0)
            d.threshold = 1;
        d.scale = (gnn_real_t)(65536.0 / (double)d.threshold);
    }
    return d;
}

void gnn__dropout_draw(const gnn__dropout_t *d, uint32_t a, uint32_t b, uint32_t block,
                       gnn_real_t keep[8])
{
    const uint32_t counter[4] = {a, b, d->step, d->stream << 8 | block};
    uint32_t r[4];
    gnn__philox(counter, d->key, GNN__DROPOUT_ROUNDS, r);
    for (int lane = 0; lane < 8; lane++) {
        uint32_t word = lane & 1 ? r[lane / 2] >> 16 : r[lane / 2] & 0xffff;
        keep[lane] = word < d->threshold ? d->scale : 0;
    }
}
