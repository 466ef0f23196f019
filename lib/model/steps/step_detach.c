/* A step of kind `detach`: its input, through which no gradient passes. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    (void)s;
    return gnn_tape_detach(r->tape, in[0]);
}

const gnn__step_row_t gnn__step_kind_detach = {
    .name = "detach", .inputs = inputs, .n_inputs = 1, .growth = GNN__GROWS_BY_ROW, .record = record};
