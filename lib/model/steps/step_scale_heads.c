/* A step of kind `scale_heads`: each head's columns of the input times one column of second, as
 * gates of heads. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0]), GNN__NEEDED(inputs[1])};

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    (void)s;
    return gnn_tape_scale_heads(r->tape, in[0], in[1]);
}

const gnn__step_row_t gnn__step_kind_scale_heads = {.name = "scale_heads",
                                                    .inputs = inputs,
                                                    .n_inputs = 2,
                                                    .growth = GNN__GROWS_BY_ROW,
                                                    .record = record};
