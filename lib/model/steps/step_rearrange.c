/* Steps that only move rows and columns: inputs, concatenation, views, rows of edges. */
#include <lib/model/steps.h>

static const gnn__step_input_t one_input[] = {GNN__INPUT(inputs[0])};
static const gnn__step_input_t many_inputs[] = {GNN__MANY_NEEDED};

/* input: declares an input of the model and its width, so that names and widths are checked when
 * the model is made. */

static const gnn__step_input_t declared_input[] = {
    {"name", offsetof(gnn_step_t, name), .needed = true, .declared = true}};

static int input_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out > 0 ? s->step.out : -1;
    return GNN_OK;
}

static gnn_var_t input_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const int64_t cols = gnn_tape_cols(r->tape, in[0]);
    if (s->width < 0 || s->width == cols)
        return in[0];
    gnn_tape_fail(r->tape, gnn__error(GNN_ESHAPE,
                                      "%s: expected the declared %lld columns, the input has %lld",
                                      s->where, (long long)s->width, (long long)cols));
    return GNN_NONE;
}

const gnn__step_row_t gnn__step_kind_input = {.name = "input",
                                              .reads = GNN__READS(GNN__AT(out)),
                                              .inputs = declared_input,
                                              .n_inputs = 1,
                                              .incremental = GNN__ROW_BY_ROW,
                                              .width = input_width,
                                              .record = input_record};

/* concat: the inputs, concatenated by columns. */

static int concat_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    int64_t sum = 0;
    bool known = true;
    (void)model;
    for (int k = 0; k < s->row->n_inputs; k++)
        if (s->in[k] != GNN__NOT_READ) {
            known = known && in[k] >= 0;
            if (known && !gnn__add(sum, in[k], &sum))
                return gnn__error(GNN_EOVERFLOW, "%s: the count of columns overflows", s->where);
        }
    s->width = known ? sum : -1;
    return GNN_OK;
}

static gnn_var_t concat_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    return gnn_tape_concat(r->tape, given, gnn__step_given(s->row, in, given));
}

const gnn__step_row_t gnn__step_kind_concat = {.name = "concat",
                                               .inputs = many_inputs,
                                               .n_inputs = 8,
                                               .incremental = GNN__ROW_BY_ROW,
                                               .width = concat_width,
                                               .record = concat_record};

/* stack: the inputs, concatenated by rows. */

static gnn_var_t stack_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    return gnn_tape_stack(r->tape, given, gnn__step_given(s->row, in, given));
}

const gnn__step_row_t gnn__step_kind_stack = {.name = "stack",
                                              .inputs = many_inputs,
                                              .n_inputs = 8,
                                              .width = gnn__step_same_widths,
                                              .record = stack_record};

/* view: rows .row .. and columns .column .. of x, without a copy. */

static int view_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    const gnn_step_t *t = &s->step;
    (void)model;
    if (in[0] >= 0 && (t->column > in[0] || t->columns > in[0] - t->column))
        return gnn__error(GNN_ESHAPE, "%s: %lld columns from column %lld on, %s puts out %lld",
                          s->where, (long long)t->columns, (long long)t->column,
                          model->steps[s->in[0]].where, (long long)in[0]);
    s->width = t->columns > 0 ? t->columns : in[0] < 0 ? -1 : in[0] - t->column;
    return GNN_OK;
}

static int view_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    (void)model;
    if (t->row < 0 || t->rows < 0 || t->column < 0 || t->columns < 0)
        return gnn__error(GNN_EINVALID, "%s: a view's rows and columns must be at least 0", s->where);
    return GNN_OK;
}

static int view_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    (void)model;
    s->incremental = s->step.row == 0 && s->step.rows == 0 ? GNN__ROW_BY_ROW : GNN__NOT_INCREMENTAL;
    return GNN_OK;
}

static gnn_var_t view_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_step_t *t = &s->step;
    const int64_t rows = gnn_tape_rows(r->tape, in[0]), cols = gnn_tape_cols(r->tape, in[0]);
    if (t->row > rows || t->column > cols) {
        gnn_tape_fail(
            r->tape,
            gnn__error(GNN_ESHAPE,
                       "%s: .row = %lld and .column = %lld lie outside the input of %lld x %lld",
                       s->where, (long long)t->row, (long long)t->column, (long long)rows,
                       (long long)cols));
        return GNN_NONE;
    }
    return gnn_tape_view(r->tape, in[0], t->row, t->rows > 0 ? t->rows : rows - t->row, t->column,
                         t->columns > 0 ? t->columns : cols - t->column);
}

const gnn__step_row_t gnn__step_kind_view = {
    .name = "view",
    .reads = GNN__READS(GNN__AT(row), GNN__AT(rows), GNN__AT(column), GNN__AT(columns)),
    .inputs = one_input,
    .n_inputs = 1,
    .check = view_check,
    .declare = view_declare,
    .width = view_width,
    .record = view_record};

/* edge_rows: for each edge of the graph the row of x of its receiver, or of its sender. Values on
 * edges are values like others: any step may follow, and an aggregation over the graph from edges
 * to nodes returns to nodes. */

static int edge_rows_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (s->step.side != GNN_SIDE_RECEIVERS && s->step.side != GNN_SIDE_SENDERS)
        return gnn__error(GNN_EINVALID,
                          "%s: .side must be GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS, got %d",
                          s->where, (int)s->step.side);
    return GNN_OK;
}

static gnn_var_t edge_rows_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    return graph ? gnn_tape_edge_rows(r->tape, in[0], graph, s->step.side) : GNN_NONE;
}

static int edge_rows_prepare(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward)
{
    (void)s;
    return gnn_graph_prepare(graph, &(gnn_view_t){.norm = GNN_GRAPH_NORM_NONE, .backward = backward});
}

const gnn__step_row_t gnn__step_kind_edge_rows = {.name = "edge_rows",
                                                  .reads = GNN__READS(GNN__AT(side)),
                                                  .inputs = one_input,
                                                  .n_inputs = 1,
                                                  .uses_graph = true,
                                                  .check = edge_rows_check,
                                                  .record = edge_rows_record,
                                                  .prepare = edge_rows_prepare};
