/* Values that are a part of another value, or that value without its gradient. */
#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

/* A view of a dense value. One that wants no gradient reads the numbers alone. */
static gnn_var_t window(gnn_tape_t *tape, gnn_var_t x, int64_t row, int64_t rows, int64_t col,
                        int64_t cols, bool wants_grad)
{
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_VIEW, rows, cols);
    if (!v)
        return GNN_NONE;
    const gnn__value_t *of = &tape->values[x];
    v->base = of->base;
    v->row = of->row + row;
    v->col = of->col + col;
    v->wants_grad = wants_grad;
    return (gnn_var_t)(v - tape->values);
}

gnn_var_t gnn_tape_view(gnn_tape_t *tape, gnn_var_t x, int64_t row, int64_t rows, int64_t col,
                        int64_t cols)
{
    gnn__value_t *of = gnn__tape_at(tape, x);
    if (!of)
        return GNN_NONE;
    if (of->sparse || of->ids || row < 0 || rows < 0 || col < 0 || cols < 0 ||
        rows > of->rows - row || cols > of->cols - col) {
        gnn_tape_fail(
            tape,
            gnn__error(
                GNN_ESHAPE,
                "a view of rows %lld + %lld, columns %lld + %lld does not lie in a dense %lld x %lld value",
                (long long)row, (long long)rows, (long long)col, (long long)cols,
                (long long)of->rows, (long long)of->cols));
        return GNN_NONE;
    }
    if (row == 0 && col == 0 && rows == of->rows && cols == of->cols)
        return x;
    if (of->halves) {
        x = gnn__tape_op_once(tape, &gnn__op_widen, x, NULL, 0);
        if (!(of = gnn__tape_at(tape, x)))
            return GNN_NONE;
    }
    return window(tape, x, row, rows, col, cols, of->wants_grad);
}

gnn_var_t gnn_tape_detach(gnn_tape_t *tape, gnn_var_t x)
{
    const gnn__value_t *of = gnn__tape_at(tape, x);
    if (!of)
        return GNN_NONE;
    return of->wants_grad ? window(tape, x, 0, of->rows, 0, of->cols, false) : x;
}
