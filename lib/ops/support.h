/* Helpers that ops share: error messages, the split of elements among threads (results do not
 * depend on their count), sums down columns. */
#ifndef GNN_OPS_SUPPORT_H
#define GNN_OPS_SUPPORT_H

#include <lib/base/base.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/ops.h>
#include <math.h>

/* clang-format off */
/* ---- options of named ops, for the members of gnn_op_t ---- */

#define GNN__OPTIONS(list) .options = (list), .n_options = sizeof(list) / sizeof *(list)
#define GNN__NO_OPTIONS .options = gnn__no_options
extern const gnn_option_t gnn__no_options[1];

#define GNN__COUNT_OPTION(name, most, help) {name, 1, 1, most, help, GNN_OPTION_INTEGER}
#define GNN__CHOICE_OPTION(name, last, help) {name, 0, 0, last, help, GNN_OPTION_INTEGER}
#define GNN__REAL_OPTION(name, initial, help) \
    {name, initial, -HUGE_VAL, HUGE_VAL, help, GNN_OPTION_REAL}

/* clang-format on */

static inline bool gnn__has_input(const gnn_op_call_t *call, int k)
{
    return k < call->n_in && call->in[k].present;
}

static inline bool gnn__wants(const gnn_op_call_t *call, int k)
{
    return k < call->n_in && call->in[k].present && call->in[k].grad.data;
}

/* GNN_EINVALID unless the first `needed` inputs are present, GNN_EUNSUPPORTED unless inputs
 * first..last are dense. */
int gnn__op_dense(const gnn_op_call_t *call, const char *name, int first, int last, int needed);
/* Threads worth using for `work` elementary operations, at most call->threads. */
static inline int gnn__op_threads(const gnn_op_call_t *call, int64_t work)
{
    return gnn__threads_within(call->context, call->threads, work);
}

/* Bytes of rows x cols elements; GNN_EOVERFLOW if the product overflows. */
int gnn__op_bytes(const gnn_op_call_t *call, int64_t rows, int64_t cols, size_t element,
                  size_t *bytes);

static inline int64_t gnn__stride(const gnn_tensor_t *t)
{
    return t->stride ? t->stride : t->cols;
}

/* Rows of t from row `from` on, at most `most`. */
static inline int64_t gnn__rows_left(const gnn_tensor_t *t, int64_t from, int64_t most)
{
    return t->rows - from < most ? t->rows - from : most;
}

/* c = op(a) op(b) + bias, or c += ... if `add`; op transposes where its flag is set. `bias` has
 * c's columns, or is NULL. */
int gnn__op_product(const gnn_op_call_t *call, const gnn_tensor_t *a, bool transpose_a,
                    const gnn_tensor_t *b, bool transpose_b, const gnn_tensor_t *c, bool add,
                    const gnn_real_t *bias);

/* Split of tensors for elementwise loops: by rows, or, if all of them are contiguous, into lines of
 * GNN__LINE elements. */
typedef struct {
    int64_t count, cols, total;
    bool flat;
} gnn__lines_t;
enum { GNN__LINE = 4096 };
/* Lines of tensors of one shape; the list ends with NULL. */
gnn__lines_t gnn__lines(const gnn_tensor_t *first, ...) __attribute__((sentinel));
/* Takes one more tensor into account: lines become rows if it is strided. */
void gnn__lines_with(gnn__lines_t *lines, const gnn_tensor_t *t);

static inline gnn_real_t *gnn__line(const gnn__lines_t *lines, const gnn_tensor_t *t, int64_t k)
{
    return lines->flat ? t->data + k * GNN__LINE : gnn__row(t, k);
}

static inline int64_t gnn__line_length(const gnn__lines_t *lines, int64_t k)
{
    return lines->flat ? gnn__min(lines->total - k * GNN__LINE, GNN__LINE) : lines->cols;
}

/* target = alpha source, or += if `add`; same shapes. */
void gnn__op_send(const gnn_op_call_t *call, gnn_real_t alpha, const gnn_tensor_t *source,
                  const gnn_tensor_t *target, bool add);

/* y = x + alpha b for rows from .. end - 1; b is one row. */
void gnn__add_row(const gnn_tensor_t *x, gnn_real_t alpha, const gnn_real_t *b,
                  const gnn_tensor_t *y, int64_t from, int64_t end);

static inline gnn_tensor_t gnn__rows(const gnn_tensor_t *t, int64_t from, int64_t rows)
{
    return (gnn_tensor_t){gnn__row(t, from), rows, t->cols, gnn__stride(t)};
}

/* The values from which f' is computed when only y = dropout(f(x)) was kept: y itself for a
 * piecewise linear f, whose derivative depends on signs alone; otherwise y without the scale of
 * dropout, written to `block`. */
gnn_tensor_t gnn__undropped(const gnn_tensor_t *y, const gnn__activation_settings_t *f,
                            const gnn__dropout_t *dropout, int64_t from, int64_t rows,
                            gnn_real_t *block);

/* Fills *grad and returns true if f' follows from y = dropout(f(x)) alone. `dropout` is read if
 * f->rate > 0. */
bool gnn__grad_from_output(const gnn__activation_settings_t *f, const gnn__dropout_t *dropout,
                           gnn__grad_from_output_t *grad);

/* Sums down columns in chunks of rows, whose count depends on the shape alone so that results do
 * not depend on threads: chunk k covers the rows from gnn__share(rows, k, chunks) on and fills
 * `cols` doubles of its own; the chunks are then added in order. */
int64_t gnn__column_chunks(int64_t rows);
int gnn__column_bytes(const gnn_op_call_t *call, int64_t rows, int64_t cols, size_t *bytes);
/* parts[0..cols) becomes the sum of all chunks. */
void gnn__column_total(int64_t chunks, int64_t cols, double *parts);
/* Gradient of an operand of 1 x cols: alpha times the total, added if to->accumulate. */
void gnn__column_send(const double *total, double alpha, const gnn_operand_t *to);
/* Gradient of `to` (1 x cols): alpha times the column sums of x. `scratch` has
 * gnn__column_bytes. */
void gnn__column_sum(const gnn_op_call_t *call, const gnn_tensor_t *x, double alpha,
                     const gnn_operand_t *to, void *scratch);

/* The block of a (rows x cols) target that share `k` of `shares` owns in a scatter-add: columns if
 * there are many, otherwise rows. Only the owner adds to an element, in the order of the sources,
 * so results do not depend on the count of shares. */
typedef struct {
    int64_t row, rows, col, cols;
} gnn__owned_block_t;
gnn__owned_block_t gnn__scatter_share(int64_t rows, int64_t cols, int k, int shares);
/* Zeroes the block of the target unless `add`. */
void gnn__scatter_begin(const gnn__owned_block_t *block, const gnn_tensor_t *target, bool add);

#endif
