/* A step of kind `input`: declares an input of the model and its width, so that widths and names
 * are checked when the model is made. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {
    {"name", offsetof(gnn_step_t, name), .needed = true, .declared = true}};

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out > 0 ? s->step.out : -1;
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const int64_t cols = gnn_tape_cols(r->tape, in[0]);
    if (s->width < 0 || s->width == cols)
        return in[0];
    gnn_tape_fail(r->tape,
                  gnn__error(GNN_ESHAPE, "%s is declared with %lld columns, the input has %lld",
                             s->where, (long long)s->width, (long long)cols));
    return GNN_NONE;
}

const gnn__step_row_t gnn__step_kind_input = {.name = "input",
                                              .reads = GNN__READS(GNN__AT(out)),
                                              .inputs = inputs,
                                              .n_inputs = 1,
                                              .growth = GNN__GROWS_BY_ROW,
                                              .width = width,
                                              .record = record};
