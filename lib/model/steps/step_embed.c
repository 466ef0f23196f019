/* A step of kind `embed`: for each id of its input a row of a table. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    return gnn__step_check_sides(s);
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    return gnn__step_parameter(model, s, "table", s->step.in, s->step.out, GNN_INIT_NORMAL, 1, NULL);
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out;
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_gather(r->tape, gnn__step_value(r, s, "table"), in[0]);
}

const gnn__step_row_t gnn__step_kind_embed = {
    .name = "embed",
    .reads = GNN__READS(GNN__AT(in), GNN__AT(out), GNN__AT(share), GNN__AT(share_fields)),
    .inputs = inputs,
    .n_inputs = 1,
    .growth = GNN__GROWS_BY_ROW,
    .check = check,
    .declare = declare,
    .width = width,
    .record = record};
