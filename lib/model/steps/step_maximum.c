/* A step of kind `maximum`: the largest of its inputs, element by element (jumping knowledge, Xu
 * et al. 2018). */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__MANY_NEEDED};

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    return gnn_tape_maximum(r->tape, given, gnn__step_given(s->row, in, given));
}

const gnn__step_row_t gnn__step_kind_maximum = {.name = "maximum",
                                                .inputs = inputs,
                                                .n_inputs = 8,
                                                .growth = GNN__GROWS_BY_ROW,
                                                .width = gnn__step_same_widths,
                                                .record = record};
