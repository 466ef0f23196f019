/* Dropout for many places at once: counters and keys are those of gnn__dropout_draw, sixteen of them side by side. Included by kernels only. */
#ifndef GNN_KERNELS_PHILOX_LANES_H
#define GNN_KERNELS_PHILOX_LANES_H

#include <lib/kernels/vec.h>

enum { GNN__PHILOX_LANES = 16, GNN__PHILOX_ROUNDS = 10 };

/* words[w][lane] is word w for the counter (i[lane], j[lane], step, stream << 8 | block). */
static inline void gnn__philox_lanes(const gnn__dropout_t *d, const uint32_t *i, const uint32_t *j,
                                     uint32_t block, uint32_t words[4][GNN__PHILOX_LANES])
{
    uint32_t *c0 = words[0], *c1 = words[1], *c2 = words[2], *c3 = words[3], k0 = d->key[0],
             k1 = d->key[1];
    for (int l = 0; l < GNN__PHILOX_LANES; l++) {
        c0[l] = i[l];
        c1[l] = j[l];
        c2[l] = d->step;
        c3[l] = d->stream << 8 | block;
    }
    for (int round = 0; round < GNN__PHILOX_ROUNDS; round++) {
#pragma omp simd
        for (int l = 0; l < GNN__PHILOX_LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[l], p1 = (uint64_t)0xCD9E8D57u * c2[l];
            uint32_t next0 = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0,
                     next2 = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c1[l] = (uint32_t)p1;
            c3[l] = (uint32_t)p0;
            c0[l] = next0;
            c2[l] = next2;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* keep[e * heads + h] for n pairs. i and j must be readable up to the next multiple of GNN__PHILOX_LANES. */
static inline void gnn__keep_pairs(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, int64_t heads, gnn_real_t *keep)
{
    uint32_t words[4][GNN__PHILOX_LANES];
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        for (int64_t h = 0; h < heads; h += 8) {
            gnn__philox_lanes(d, i + e, j + e, (uint32_t)(h / 8), words);
            for (int l = 0; l < GNN__PHILOX_LANES && e + l < n; l++)
                for (int64_t a = h; a < heads && a < h + 8; a++) {
                    const uint32_t word = words[(a - h) / 2][l];
                    keep[(e + l) * heads + a] =
                        (a & 1 ? word >> 16 : word & 0xffff) < d->threshold ? d->scale : 0;
                }
        }
}

/* keep[e] of one head. */
static inline void gnn__keep_head(const gnn__dropout_t *d, int n, const uint32_t *i,
                                  const uint32_t *j, int64_t head, gnn_real_t *keep)
{
    uint32_t words[4][GNN__PHILOX_LANES];
    const int word = (int)(head % 8 / 2), shift = head & 1 ? 16 : 0;
    for (int e = 0; e < n; e += GNN__PHILOX_LANES) {
        gnn__philox_lanes(d, i + e, j + e, (uint32_t)(head / 8), words);
        for (int l = 0; l < GNN__PHILOX_LANES; l++)
            keep[e + l] = (words[word][l] >> shift & 0xffff) < d->threshold ? d->scale : 0;
    }
}

#endif
