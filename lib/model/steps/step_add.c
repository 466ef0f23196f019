/* A step of kind `add`: input + factor second. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0]), GNN__NEEDED(inputs[1])};

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = in[0] >= 0 ? in[0] : in[1];
    return s->width < 0 ? GNN_OK
                        : gnn__step_expect(model, s, in, 1, s->width, "columns in .inputs[1]");
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_add(r->tape, in[0], in[1], s->step.factor == 0 ? 1 : s->step.factor);
}

const gnn__step_row_t gnn__step_kind_add = {.name = "add",
                                            .reads = GNN__READS(GNN__AT(factor)),
                                            .inputs = inputs,
                                            .n_inputs = 2,
                                            .growth = GNN__GROWS_BY_ROW,
                                            .width = width,
                                            .record = record};
