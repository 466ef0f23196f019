/* A step of kind `op`: a row of ops.def, or an op of the user's own. Its attributes are the four
 * numbers of .options, so that files can hold them, and for ops that say so the slot's graph. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__MANY_INPUTS};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (!s->step.op)
        return gnn__error(GNN_EINVALID, "%s: a step of kind op needs .op", s->where);
    return GNN_OK;
}

/* Of a user's op it is known that it goes row by row if it is elementwise. */
static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    (void)model;
    s->uses_graph = (s->step.op->flags & GNN_OP_READS_GRAPH) != 0;
    s->growth = s->step.op->flags & GNN_OP_ELEMENTWISE ? GNN__GROWS_BY_ROW : GNN__GROWS_NOT;
    return GNN_OK;
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    /* other ops say it when they are recorded */
    s->width = s->step.op->flags & GNN_OP_ELEMENTWISE ? in[0] : -1;
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    const int count = gnn__step_given(s->row, in, given);
    gnn_op_options_t attributes = {.graph = NULL};
    memcpy(attributes.options, s->step.options, sizeof attributes.options);
    if (s->uses_graph && !(attributes.graph = gnn__step_graph(r, s)))
        return GNN_NONE;
    return gnn_tape_op(r->tape, s->step.op, given, count, &attributes, sizeof attributes);
}

const gnn__step_row_t gnn__step_kind_op = {.name = "op",
                                           .reads = GNN__READS(GNN__AT(op), GNN__AT(options)),
                                           .inputs = inputs,
                                           .n_inputs = 8,
                                           .uses_graph = true,
                                           .check = check,
                                           .declare = declare,
                                           .width = width,
                                           .record = record};
