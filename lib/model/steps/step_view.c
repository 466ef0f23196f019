/* A step of kind `view`: rows .row .. and columns .column .. of its input, in place. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    const gnn_step_t *t = &s->step;
    (void)model;
    if (in[0] >= 0 && (t->column > in[0] || t->columns > in[0] - t->column))
        return gnn__error(GNN_ESHAPE, "%s: %lld columns from column %lld on, %s puts out %lld",
                          s->where, (long long)t->columns, (long long)t->column,
                          model->steps[s->in[0]].where, (long long)in[0]);
    s->width = t->columns > 0 ? t->columns : in[0] < 0 ? -1 : in[0] - t->column;
    return GNN_OK;
}

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    (void)model;
    if (t->row < 0 || t->rows < 0 || t->column < 0 || t->columns < 0)
        return gnn__error(GNN_EINVALID, "%s: a view's rows and columns must be at least 0", s->where);
    return GNN_OK;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    (void)model;
    s->growth = s->step.row == 0 && s->step.rows == 0 ? GNN__GROWS_BY_ROW : GNN__GROWS_NOT;
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_step_t *t = &s->step;
    const int64_t rows = gnn_tape_rows(r->tape, in[0]), cols = gnn_tape_cols(r->tape, in[0]);
    if (t->row > rows || t->column > cols) {
        gnn_tape_fail(r->tape,
                      gnn__error(GNN_ESHAPE, "%s begins at row %lld, column %lld of %lld x %lld",
                                 s->where, (long long)t->row, (long long)t->column, (long long)rows,
                                 (long long)cols));
        return GNN_NONE;
    }
    return gnn_tape_view(r->tape, in[0], t->row, t->rows > 0 ? t->rows : rows - t->row, t->column,
                         t->columns > 0 ? t->columns : cols - t->column);
}

const gnn__step_row_t gnn__step_kind_view = {
    .name = "view",
    .reads = GNN__READS(GNN__AT(row), GNN__AT(rows), GNN__AT(column), GNN__AT(columns)),
    .inputs = inputs,
    .n_inputs = 1,
    .check = check,
    .declare = declare,
    .width = width,
    .record = record};
