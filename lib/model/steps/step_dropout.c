/* A step of kind `dropout`. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (!(s->step.rate >= 0 && s->step.rate < 1))
        return gnn__error(GNN_EINVALID, "%s: .rate = %g lies outside [0, 1)", s->where,
                          (double)s->step.rate);
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_dropout(r->tape, in[0], s->step.rate);
}

const gnn__step_row_t gnn__step_kind_dropout = {.name = "dropout",
                                                .reads = GNN__READS(GNN__AT(rate)),
                                                .inputs = inputs,
                                                .n_inputs = 1,
                                                .growth = GNN__GROWS_BY_ROW,
                                                .check = check,
                                                .record = record};
