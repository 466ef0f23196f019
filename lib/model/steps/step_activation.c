/* A step of kind `activation`. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_activation(r->tape, in[0], s->step.activation, (gnn_real_t)s->step.options[0]);
}

const gnn__step_row_t gnn__step_kind_activation = {
    .name = "activation",
    .reads = GNN__READS(GNN__AT(activation), GNN__AT(options)),
    .inputs = inputs,
    .n_inputs = 1,
    .growth = GNN__GROWS_BY_ROW,
    .record = record};
