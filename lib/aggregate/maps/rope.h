/* Turning pairs of numbers of every head by angles, and by scaled frequencies. */
#ifndef GNN_AGGREGATE_MAPS_ROPE_H
#define GNN_AGGREGATE_MAPS_ROPE_H

#include <lib/aggregate/tables.h>
#include <math.h>
#include <stdbool.h>

/* How pairs lie in a head: (at, at + apart), the next one `step` further. */
typedef struct rope_layout {
    int64_t pairs, step, apart;
} rope_layout_t;

/* One head by the angles times `sign`; numbers are the cosines of all pairs, then the sines. u and
 * v: the firsts and the seconds of the pairs. `step` and `add` are constants where speed counts. */
static inline void rope_turn_head(int64_t pairs, int64_t step, const gnn_real_t *restrict numbers,
                                  gnn_real_t sign, const gnn_real_t *restrict u,
                                  const gnn_real_t *restrict v, bool add, gnn_real_t *restrict y_u,
                                  gnn_real_t *restrict y_v)
{
#pragma omp simd
    for (int64_t t = 0; t < pairs; t++) {
        const int64_t at = t * step;
        const gnn_real_t c = numbers[t], s = sign * numbers[pairs + t];
        y_u[at] = (add ? y_u[at] : 0) + u[at] * c - v[at] * s;
        y_v[at] = (add ? y_v[at] : 0) + u[at] * s + v[at] * c;
    }
}

static inline void rope_turn(const gnn_aggregate_shape_t *shape, rope_layout_t l, int64_t heads,
                             const gnn_real_t *numbers, gnn_real_t sign, const gnn_real_t *x,
                             bool add, gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < heads; a++, x += d, y += d) {
        if (l.step == 1 && !add)
            rope_turn_head(l.pairs, 1, numbers, sign, x, x + l.apart, false, y, y + l.apart);
        else
            rope_turn_head(l.pairs, l.step, numbers, sign, x, x + l.apart, add, y, y + l.apart);
        for (int64_t at = 2 * l.pairs; at < d; at++)
            y[at] = (add ? y[at] : 0) + x[at];
    }
}

/* ---- all of a head, in halves, with scaled frequencies: options base and factor ---- */

enum { ROPE_BASE, ROPE_FACTOR };

static inline int64_t rope_whole(const gnn_aggregate_shape_t *shape)
{
    return shape->d_k;
}

static inline const char *rope_odd(const gnn_aggregate_shape_t *shape)
{
    return shape->d_k % 2 != 0 ? "it turns pairs, so the width must be even" : NULL;
}

/* Pair t keeps the share kept(options, t, frequency) of its frequency, of the rest it keeps one
 * part in `factor`. */
static inline void rope_scaled(const gnn_aggregate_shape_t *shape, int64_t position,
                               double (*kept)(const double *options, double t, double frequency),
                               gnn_real_t *numbers)
{
    const double *o = shape->options, ratio = pow(o[ROPE_BASE], -2 / (double)shape->d_k);
    double frequency = 1;
    for (int64_t t = 0; t < shape->d_k / 2; t++, frequency *= ratio) {
        const double share = fmin(fmax(kept(o, (double)t, frequency), 0), 1);
        const double angle = (double)position * frequency * (share + (1 - share) / o[ROPE_FACTOR]);
        numbers[t] = (gnn_real_t)cos(angle);
        numbers[shape->d_k / 2 + t] = (gnn_real_t)sin(angle);
    }
}

static inline rope_layout_t rope_halves(const gnn_aggregate_shape_t *shape)
{
    return (rope_layout_t){shape->d_k / 2, 1, shape->d_k / 2};
}

static inline void rope_apply(const gnn_aggregate_shape_t *shape, int64_t heads,
                              const gnn_real_t *numbers, const gnn_real_t *x, gnn_real_t *y)
{
    rope_turn(shape, rope_halves(shape), heads, numbers, 1, x, false, y);
}

static inline void rope_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                                   const gnn_real_t *numbers, const gnn_real_t *x,
                                   const gnn_real_t *d_y, gnn_real_t *d_x)
{
    (void)x;
    rope_turn(shape, rope_halves(shape), heads, numbers, -1, d_y, true, d_x);
}

#endif
