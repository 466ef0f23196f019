/* A step of kind `parameter`: learned rows that hear no other row, as a Set Transformer's queries
 * or a row that stands for the sentence. With .each_segment they come again for each segment of the
 * graph. Paper: Lee et al. 2019. */
#include <lib/model/steps.h>
#include <math.h>

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (s->step.rows < 1 || s->step.out < 1)
        return gnn__error(GNN_EINVALID, "%s: .rows = %lld and .out = %lld must be at least 1",
                          s->where, (long long)s->step.rows, (long long)s->step.out);
    return GNN_OK;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    s->uses_graph = s->step.each_segment == GNN_ON;
    const double start = (double)s->step.factor;
    return gnn__step_parameter(model, s, "rows", s->step.rows, s->step.out,
                               start != 0 ? GNN_INIT_CONSTANT : GNN_INIT_GLOROT,
                               fabs(start) < 1e-30 ? 0 : start, NULL);
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    (void)model;
    (void)in;
    s->width = s->step.out;
    return GNN_OK;
}

/* A graph without segments is one. */
static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
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
    .check = check,
    .declare = declare,
    .width = width,
    .record = record};
