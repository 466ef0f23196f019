/* One step of an LSTM cell, forward and backward; gates i, f, g, o. */
#ifndef GNN_OPS_ROWS_LSTM_H
#define GNN_OPS_ROWS_LSTM_H

#include <gnn/tensor.h>

#include <math.h>

static inline double gnn__gate(gnn_real_t x)
{
    return 1 / (1 + exp(-(double)x));
}

/* h' and c' (h numbers each) of one row of gates (4 h); `memory` is c, or NULL for 0. */
static inline void gnn__lstm_step(int64_t h, const gnn_real_t *gates, const gnn_real_t *memory,
                                  gnn_real_t *h_out, gnn_real_t *c_out)
{
    for (int64_t k = 0; k < h; k++) {
        const double c = gnn__gate(gates[h + k]) * (memory ? (double)memory[k] : 0) +
                         gnn__gate(gates[k]) * tanh((double)gates[2 * h + k]);
        h_out[k] = (gnn_real_t)(gnn__gate(gates[3 * h + k]) * tanh(c));
        c_out[k] = (gnn_real_t)c;
    }
}

/* Of number k, whose memory was c: d of the gates i, f, g, o, and of c. */
static inline void gnn__lstm_step_grad(int64_t h, int64_t k, const gnn_real_t *gates, double c,
                                       double dh, double dc, double d[5])
{
    const double i = gnn__gate(gates[k]), f = gnn__gate(gates[h + k]),
                 g = tanh((double)gates[2 * h + k]), o = gnn__gate(gates[3 * h + k]),
                 t = tanh(f * c + i * g), total = dc + dh * o * (1 - t * t);
    d[0] = total * g * i * (1 - i);
    d[1] = total * c * f * (1 - f);
    d[2] = total * i * (1 - g * g);
    d[3] = dh * t * o * (1 - o);
    d[4] = total * f;
}

#endif
