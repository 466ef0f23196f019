/* A step of kind `scale`: factor times its input. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_scale(r->tape, in[0], s->step.factor == 0 ? 1 : s->step.factor);
}

const gnn__step_row_t gnn__step_kind_scale = {.name = "scale",
                                              .reads = GNN__READS(GNN__AT(factor)),
                                              .inputs = inputs,
                                              .n_inputs = 1,
                                              .growth = GNN__GROWS_BY_ROW,
                                              .record = record};
