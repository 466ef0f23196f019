/* Steps with parameters, except layers: products, norms, tables, learned rows. */
#include <lib/model/steps.h>
#include <math.h>

static const gnn__step_input_t one_input[] = {GNN__INPUT(inputs[0])};

/* linear: x W + b. With .share, W is another step's matrix; a table is read transposed, which gives
 * one logit per row of the table (tied embeddings, Press and Wolf 2017). With .rows, x is
 * multiplied with rows .row .. of W alone: a product of concatenated values is the sum of such
 * products. */

static int linear_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    GNN_TRY(gnn__step_check_sides(s));
    if (s->step.transposed == GNN_ON && !s->step.share)
        return gnn__error(GNN_EINVALID, "%s: .transposed needs .share: it is for a shared matrix",
                          s->where);
    if (s->step.row < 0 || s->step.rows < 0 || s->step.row > s->step.in ||
        s->step.rows > s->step.in - s->step.row || (s->step.rows == 0 && s->step.row > 0))
        return gnn__error(
            GNN_EINVALID, "%s: .rows = %lld from .row = %lld on, but the matrix has %lld rows",
            s->where, (long long)s->step.rows, (long long)s->step.row, (long long)s->step.in);
    return GNN_OK;
}

static int linear_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    GNN_TRY(
        gnn__step_parameter(model, s, "weight", t->in, t->out, GNN_INIT_GLOROT, 0, &s->transposed));
    if (t->bias == GNN_OFF)
        return GNN_OK;
    return gnn__step_parameter(model, s, "bias", 1, t->out, GNN_INIT_ZEROS, 0, NULL);
}

static int linear_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = s->step.out;
    return gnn__step_expect(model, s, in, 0, s->step.rows > 0 ? s->step.rows : s->step.in,
                            "input features");
}

static gnn_var_t linear_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t weight = gnn__step_value(r, s, "weight");
    const gnn_var_t bias = gnn__step_value(r, s, "bias");
    const gnn_step_t *t = &s->step;
    if (t->rows > 0)
        weight = s->transposed ? gnn_tape_view(r->tape, weight, 0, t->out, t->row, t->rows)
                               : gnn_tape_view(r->tape, weight, t->row, t->rows, 0, t->out);
    return s->transposed ? gnn_tape_linear_transposed(r->tape, in[0], weight, bias)
                         : gnn_tape_linear(r->tape, in[0], weight, bias);
}

const gnn__step_row_t gnn__step_kind_linear = {
    .name = "linear",
    .reads = GNN__READS(GNN__AT(in), GNN__AT(out), GNN__AT(bias), GNN__AT(share),
                        GNN__AT(share_fields), GNN__AT(transposed), GNN__AT(row), GNN__AT(rows)),
    .inputs = one_input,
    .n_inputs = 1,
    .incremental = GNN__ROW_BY_ROW,
    .check = linear_check,
    .declare = linear_declare,
    .width = linear_width,
    .record = linear_record};

/* norm: layer, rms, batch or l2 norm of the rows. */

static int norm_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    if (t->in < 1)
        return gnn__error(GNN_EINVALID, "%s: .in = %lld must be at least 1", s->where,
                          (long long)t->in);
    if (t->norm <= GNN_NORM_NONE || t->norm > GNN_NORM_L2)
        return gnn__error(GNN_EINVALID, "%s: a norm step needs .norm", s->where);
    return t->norm == GNN_NORM_BATCH ? gnn__step_check_running(model, s, t->in) : GNN_OK;
}

static int norm_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    if (t->norm == GNN_NORM_L2)
        return GNN_OK;
    GNN_TRY(gnn__step_parameter(model, s, "gain", 1, t->in, GNN_INIT_ONES, 0, NULL));
    if (t->norm != GNN_NORM_RMS)
        GNN_TRY(gnn__step_parameter(model, s, "shift", 1, t->in, GNN_INIT_ZEROS, 0, NULL));
    if (t->norm != GNN_NORM_BATCH)
        return GNN_OK;
    GNN_TRY(gnn__new(&s->running, 2 * t->in, sizeof *s->running, "running statistics"));
    for (int64_t k = 0; k < t->in; k++)
        s->running[t->in + k] = 1;
    return GNN_OK;
}

static int norm_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = s->step.in;
    return gnn__step_expect(model, s, in, 0, s->step.in, "input features");
}

static gnn_var_t norm_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_step_t *t = &s->step;
    const gnn_tensor_t running = gnn_tensor(s->running, 2, t->in);
    return gnn_tape_norm(r->tape, t->norm, in[0], gnn__step_value(r, s, "gain"),
                         gnn__step_value(r, s, "shift"), t->eps == 0 ? (gnn_real_t)1e-5 : t->eps,
                         s->running ? &running : NULL, (gnn_real_t)0.1);
}

const gnn__step_row_t gnn__step_kind_norm = {
    .name = "norm",
    .reads =
        GNN__READS(GNN__AT(in), GNN__AT(norm), GNN__AT(eps), GNN__AT(share), GNN__AT(share_fields)),
    .inputs = one_input,
    .n_inputs = 1,
    .incremental = GNN__ROW_BY_ROW,
    .check = norm_check,
    .declare = norm_declare,
    .width = norm_width,
    .record = norm_record};

/* embed: the row of a table for each id. */

static int embed_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    return gnn__step_check_sides(s);
}

static int embed_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    return gnn__step_parameter(model, s, "table", s->step.in, s->step.out, GNN_INIT_NORMAL, 1, NULL);
}

static int embed_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out;
    return GNN_OK;
}

static gnn_var_t embed_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    return gnn_tape_gather(r->tape, gnn__step_value(r, s, "table"), in[0]);
}

const gnn__step_row_t gnn__step_kind_embed = {
    .name = "embed",
    .reads = GNN__READS(GNN__AT(in), GNN__AT(out), GNN__AT(share), GNN__AT(share_fields)),
    .inputs = one_input,
    .n_inputs = 1,
    .incremental = GNN__ROW_BY_ROW,
    .check = embed_check,
    .declare = embed_declare,
    .width = embed_width,
    .record = embed_record};

/* parameter: learned rows without inputs, such as the queries of a Set Transformer or a class
 * token. With .each_segment they are repeated for each segment of the graph. Lee et al. 2019. */

static int parameter_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (s->step.rows < 1 || s->step.out < 1)
        return gnn__error(GNN_EINVALID, "%s: .rows = %lld and .out = %lld must be at least 1",
                          s->where, (long long)s->step.rows, (long long)s->step.out);
    return GNN_OK;
}

static int parameter_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    s->uses_graph = s->step.each_segment == GNN_ON;
    const double start = (double)s->step.factor;
    return gnn__step_parameter(model, s, "rows", s->step.rows, s->step.out,
                               start != 0 ? GNN_INIT_CONSTANT : GNN_INIT_GLOROT,
                               fabs(start) < 1e-30 ? 0 : start, NULL);
}

static int parameter_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out;
    return GNN_OK;
}

/* A graph without segments is one segment. */
static gnn_var_t parameter_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_var_t rows = gnn__step_value(r, s, "rows");
    (void)in;
    if (s->step.each_segment != GNN_ON)
        return rows;
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    if (!graph)
        return GNN_NONE;
    const int64_t segments = gnn_graph_n_segments(graph);
    return gnn_tape_repeat_rows(r->tape, rows, segments > 0 ? segments : 1);
}

const gnn__step_row_t gnn__step_kind_parameter = {
    .name = "parameter",
    .reads = GNN__READS(GNN__AT(rows), GNN__AT(out), GNN__AT(each_segment), GNN__AT(factor),
                        GNN__AT(share), GNN__AT(share_fields)),
    .inputs = NULL,
    .uses_graph = true,
    .check = parameter_check,
    .declare = parameter_declare,
    .width = parameter_width,
    .record = parameter_record};
