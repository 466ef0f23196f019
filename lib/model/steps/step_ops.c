/* Steps that are one op without parameters, and rows of which depend on the same rows of their
 * inputs: they run row by row in incremental decoding. */
#include <lib/model/steps.h>
#include <lib/ops/traits.h>

static const gnn__step_input_t one_input[] = {GNN__INPUT(inputs[0])};
static const gnn__step_input_t two_inputs[] = {GNN__INPUT(inputs[0]), GNN__NEEDED(inputs[1])};
static const gnn__step_input_t many_inputs[] = {GNN__MANY_NEEDED};
static const gnn__step_input_t any_inputs[] = {GNN__MANY_INPUTS};

/* activation: options[0] is the slope of the leaky relu. */

static gnn_var_t activation_record(gnn__recording_t *r, const gnn__model_step_t *s,
                                   const gnn_var_t *in)
{
    return gnn_tape_activation(r->tape, in[0], s->step.activation, (gnn_real_t)s->step.options[0]);
}

const gnn__step_row_t gnn__step_kind_activation = {
    .name = "activation",
    .reads = GNN__READS(GNN__AT(activation), GNN__AT(options)),
    .inputs = one_input,
    .n_inputs = 1,
    .incremental = GNN__ROW_BY_ROW,
    .record = activation_record};

/* dropout */

static int dropout_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (!(s->step.rate >= 0 && s->step.rate < 1))
        return gnn__error(GNN_EINVALID, "%s: .rate = %g lies outside [0, 1)", s->where,
                          (double)s->step.rate);
    return GNN_OK;
}

static gnn_var_t dropout_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_dropout(r->tape, in[0], s->step.rate);
}

const gnn__step_row_t gnn__step_kind_dropout = {.name = "dropout",
                                                .reads = GNN__READS(GNN__AT(rate)),
                                                .inputs = one_input,
                                                .n_inputs = 1,
                                                .incremental = GNN__ROW_BY_ROW,
                                                .check = dropout_check,
                                                .record = dropout_record};

/* scale: factor x. */

static gnn_var_t scale_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_scale(r->tape, in[0], s->step.factor == 0 ? 1 : s->step.factor);
}

const gnn__step_row_t gnn__step_kind_scale = {.name = "scale",
                                              .reads = GNN__READS(GNN__AT(factor)),
                                              .inputs = one_input,
                                              .n_inputs = 1,
                                              .incremental = GNN__ROW_BY_ROW,
                                              .record = scale_record};

/* detach: x, without a gradient. */

static gnn_var_t detach_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    (void)s;
    return gnn_tape_detach(r->tape, in[0]);
}

const gnn__step_row_t gnn__step_kind_detach = {.name = "detach",
                                               .inputs = one_input,
                                               .n_inputs = 1,
                                               .incremental = GNN__ROW_BY_ROW,
                                               .record = detach_record};

/* add: x + factor y. */

static int add_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = in[0] >= 0 ? in[0] : in[1];
    return s->width < 0 ? GNN_OK
                        : gnn__step_expect(model, s, in, 1, s->width, "columns in .inputs[1]");
}

static gnn_var_t add_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_add(r->tape, in[0], in[1], s->step.factor == 0 ? 1 : s->step.factor);
}

const gnn__step_row_t gnn__step_kind_add = {.name = "add",
                                            .reads = GNN__READS(GNN__AT(factor)),
                                            .inputs = two_inputs,
                                            .n_inputs = 2,
                                            .incremental = GNN__ROW_BY_ROW,
                                            .width = add_width,
                                            .record = add_record};

/* multiply: x y, element by element; y may be one row, one column or one value. */

static int multiply_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = in[0];
    return in[0] < 0 || in[1] == 1
               ? GNN_OK
               : gnn__step_expect(model, s, in, 1, in[0], "columns in .inputs[1]");
}

static gnn_var_t multiply_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    (void)s;
    return gnn_tape_multiply(r->tape, in[0], in[1]);
}

const gnn__step_row_t gnn__step_kind_multiply = {.name = "multiply",
                                                 .inputs = two_inputs,
                                                 .n_inputs = 2,
                                                 .incremental = GNN__ROW_BY_ROW,
                                                 .width = multiply_width,
                                                 .record = multiply_record};

/* scale_heads: the heads of x, each times a column of y. */

static gnn_var_t scale_heads_record(gnn__recording_t *r, const gnn__model_step_t *s,
                                    const gnn_var_t *in)
{
    (void)s;
    return gnn_tape_scale_heads(r->tape, in[0], in[1]);
}

const gnn__step_row_t gnn__step_kind_scale_heads = {.name = "scale_heads",
                                                    .inputs = two_inputs,
                                                    .n_inputs = 2,
                                                    .incremental = GNN__ROW_BY_ROW,
                                                    .record = scale_heads_record};

/* maximum: the largest of the inputs, element by element. */

static gnn_var_t maximum_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    return gnn_tape_maximum(r->tape, given, gnn__step_given(s->row, in, given));
}

const gnn__step_row_t gnn__step_kind_maximum = {.name = "maximum",
                                                .inputs = many_inputs,
                                                .n_inputs = 8,
                                                .incremental = GNN__ROW_BY_ROW,
                                                .width = gnn__step_same_widths,
                                                .record = maximum_record};

/* op: an entry of ops.def, or an op of the program. Its attributes are the four values of .options,
 * so that files can hold them, and for ops that read one the slot's graph. */

static int op_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (!s->step.op)
        return gnn__error(GNN_EINVALID, "%s: a step of kind op needs .op", s->where);
    return GNN_OK;
}

static bool absent(const void *user, int input)
{
    const gnn_step_t *t = user;
    return !t->inputs[input];
}

static int op_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    (void)model;
    s->uses_graph = (s->step.op->flags & GNN_OP_READS_GRAPH) != 0;
    const bool by_rows = gnn__op_by_rows(s->step.op, absent, &s->step);
    s->incremental = by_rows ? GNN__ROW_BY_ROW : GNN__NOT_INCREMENTAL;
    return GNN_OK;
}

static int op_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    /* the width of other ops is known when they are recorded */
    s->width = s->step.op->flags & GNN_OP_ELEMENTWISE ? in[0] : -1;
    return GNN_OK;
}

static gnn_var_t op_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
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
                                           .inputs = any_inputs,
                                           .n_inputs = 8,
                                           .uses_graph = true,
                                           .check = op_check,
                                           .declare = op_declare,
                                           .width = op_width,
                                           .record = op_record};
