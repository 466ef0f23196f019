/* What the rows of ops.def share: options, gradients that are added to, walks over a graph. */
#ifndef GNN_OPS_ROWS_NAMED_OPS_H
#define GNN_OPS_ROWS_NAMED_OPS_H

#include <graphs/graph.h>
#include <lib/ops/support.h>

#include <math.h>

static inline const gnn_op_options_t *gnn__op_options(const gnn_op_call_t *call)
{
    return call->attributes;
}

/* Option k, where 0 stands for `initial`. */
static inline double gnn__op_option(const gnn_op_call_t *call, int k, double initial)
{
    const double value = gnn__op_options(call)->options[k];
    return value != 0 ? value : initial;
}

/* A whole number from 1 to `most` as option k. */
int gnn__op_whole(const gnn_op_call_t *call, const char *name, int k, int64_t most, int64_t *value);

/* Option 0, `heads`, divides the columns of input 0, the only one. */
int gnn__op_heads(const gnn_op_call_t *call, const char *name, int64_t *heads);

/* Input k has this shape. */
int gnn__op_expect(const gnn_op_call_t *call, const char *name, int k, int64_t rows, int64_t cols);

/* Zeroes a gradient that is wanted and not added to: after it, everything is added. */
void gnn__op_begin(const gnn_op_call_t *call, int k);
/* d_input (+)= numbers, row by row, that were summed up in double. */
void gnn__op_add_numbers(const gnn_operand_t *to, const double *numbers);

/* ---- element by element: y = f(options, x), and dy f'(options, x) ---- */

/* y = f(options, x), and dx += dy f'(options, x), of a row of n. */
typedef void gnn__row_map_t(const double *options, int64_t n, const gnn_real_t *x, gnn_real_t *y);
typedef void gnn__row_slope_t(const double *options, int64_t n, const gnn_real_t *x,
                              const gnn_real_t *dy, gnn_real_t *dx);
int gnn__map_shape(gnn_op_call_t *call, const char *name);
int gnn__map_forward(gnn_op_call_t *call, gnn__row_map_t *f);
int gnn__map_backward(gnn_op_call_t *call, gnn__row_slope_t *slope);

/* Defines row_value and row_slope from `double value(const double *options, double x)` and `slope`
 * of the same form, which stand before it: loops without calls. */
#define GNN__MAP_ROWS                                                                           \
    static void row_value(const double *options, int64_t n, const gnn_real_t *x, gnn_real_t *y) \
    {                                                                                           \
        const double own[] = {options[0], options[1]};                                          \
        _Pragma("omp simd") for (int64_t c = 0; c < n; c++) y[c] =                              \
            (gnn_real_t)value(own, (double)x[c]);                                               \
    }                                                                                           \
    static void row_slope(const double *options, int64_t n, const gnn_real_t *x,                \
                          const gnn_real_t *dy, gnn_real_t *dx)                                 \
    {                                                                                           \
        const double own[] = {options[0], options[1]};                                          \
        _Pragma("omp simd") for (int64_t c = 0; c < n; c++) dx[c] +=                            \
            (gnn_real_t)((double)dy[c] * slope(own, (double)x[c]));                             \
    }

/* ---- over a graph of one part ---- */

/* The pairs of the graph's only part, or NULL with GNN_EUNSUPPORTED in words. */
const gnn__pairs_t *gnn__op_pairs(const gnn_op_call_t *call, const char *name);
/* Input 0 has a row for each sender of the graph; *pairs is its only part. */
int gnn__op_senders(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs);
/* The same where no sender is heard twice. */
int gnn__op_senders_once(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs);

/* A sender's number in some column, in a list that is sorted. */
typedef struct gnn__sender_number {
    gnn_real_t value;
    int64_t sender;
} gnn__sender_number_t;

/* Bytes of a list of all that one receiver hears. */
int gnn__op_list_bytes(const gnn_op_call_t *call, const gnn__pairs_t *pairs, size_t *bytes);
/* Numbers in column c of input 0 of what row r hears, into `list`; returns how many. Those are
 * sorted by value, equal ones by sender: the smallest first, or the largest. */
int64_t gnn__op_sorted(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c,
                       bool largest_first, gnn__sender_number_t *list);

#endif
