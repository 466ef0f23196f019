/* A step of kind `linear`: input W + b. With .share, W is another step's matrix; a table of rows
 * (embeddings, learned rows) is read transposed, which gives a logit for each of its rows. Paper:
 * Press and Wolf 2017 (tied embeddings). With .rows, the input meets rows .row .. of W alone: a
 * product of values side by side is the sum of such products of each. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    GNN_TRY(gnn__step_check_sides(s));
    if (s->step.transposed == GNN_ON && !s->step.share)
        return gnn__error(GNN_EINVALID, "%s: .transposed is for a matrix that is shared", s->where);
    if (s->step.row < 0 || s->step.rows < 0 || s->step.row > s->step.in ||
        s->step.rows > s->step.in - s->step.row || (s->step.rows == 0 && s->step.row > 0))
        return gnn__error(GNN_EINVALID, "%s: %lld rows from row %lld on, the matrix has %lld",
                          s->where, (long long)s->step.rows, (long long)s->step.row,
                          (long long)s->step.in);
    return GNN_OK;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    GNN_TRY(gnn__step_parameter(model, s, "weight", t->in, t->out, GNN_INIT_GLOROT, 0, &s->turned));
    if (t->bias == GNN_OFF)
        return GNN_OK;
    return gnn__step_parameter(model, s, "bias", 1, t->out, GNN_INIT_ZEROS, 0, NULL);
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = s->step.out;
    return gnn__step_expect(model, s, in, 0, s->step.rows > 0 ? s->step.rows : s->step.in,
                            "input features");
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t weight = gnn__step_value(r, s, "weight");
    const gnn_var_t bias = gnn__step_value(r, s, "bias");
    const gnn_step_t *t = &s->step;
    if (t->rows > 0)
        weight = s->turned ? gnn_tape_view(r->tape, weight, 0, t->out, t->row, t->rows)
                           : gnn_tape_view(r->tape, weight, t->row, t->rows, 0, t->out);
    return s->turned ? gnn_tape_linear_transposed(r->tape, in[0], weight, bias)
                     : gnn_tape_linear(r->tape, in[0], weight, bias);
}

const gnn__step_row_t gnn__step_kind_linear = {
    .name = "linear",
    .reads = GNN__READS(GNN__AT(in), GNN__AT(out), GNN__AT(bias), GNN__AT(share),
                        GNN__AT(share_fields), GNN__AT(transposed), GNN__AT(row), GNN__AT(rows)),
    .inputs = inputs,
    .n_inputs = 1,
    .growth = GNN__GROWS_BY_ROW,
    .check = check,
    .declare = declare,
    .width = width,
    .record = record};
