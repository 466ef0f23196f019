/* Steps of depth and time.
 *
 *     repeat   runs the steps before it that depend on a carried value or on the round again, each
 *              round on the values that the round before it left
 *     at       the rows of each segment that belong to the round
 *
 * A model recorded on a tape has no loops, so that rounds are recorded one after another: the
 * gradients of all rounds follow from the tape, and parameters are shared because the steps are. */
#include <graphs/graph.h>
#include <lib/model/steps.h>
#include <lib/ops/support.h>
#include <lib/tape/tape.h>

/* ---- the rows of a round, and the rows of all rounds ---- */

/* Row q of segment s in a round of w rows per segment is the segment's row round w + q. */
typedef struct {
    const gnn_graph_t *graph;
    int64_t side, round, width;
} rounds_t;

static const int64_t *segments_of(const rounds_t *how)
{
    return how->side == GNN_SIDE_SENDERS ? gnn_graph_src_segments(how->graph)
                                         : gnn_graph_dst_segments(how->graph);
}

/* Rows first .. first + count - 1 of x belong to segment s in this round. */
static int64_t rows_in_round(const rounds_t *how, int64_t s, int64_t *first)
{
    const int64_t *ends = segments_of(how);
    int64_t before;
    if (!gnn__mul(how->round, how->width, &before) || before >= ends[s + 1] - ends[s])
        return 0;
    *first = ends[s] + before;
    return gnn__min(how->width, ends[s + 1] - *first);
}

static void copy_rows(const gnn_tensor_t *from, int64_t at, const gnn_tensor_t *to, int64_t row,
                      int64_t count, bool add)
{
    for (int64_t k = 0; k < count; k++) {
        const gnn_real_t *x = gnn__row(from, at + k);
        gnn_real_t *y = gnn__row(to, row + k);
        for (int64_t c = 0; c < to->cols; c++)
            y[c] = add ? y[c] + x[c] : x[c];
    }
}

static void zero_rows(const gnn_tensor_t *t)
{
    for (int64_t r = 0; r < t->rows; r++)
        memset(gnn__row(t, r), 0, sizeof(gnn_real_t) * (size_t)t->cols);
}

static int expect_rows(const gnn_op_call_t *call, const char *name, int64_t expected)
{
    if (call->in[0].rows == expected)
        return GNN_OK;
    return gnn_op_fail(call, GNN_ESHAPE, "%s: %lld rows, the segments of its graph have %lld", name,
                       (long long)call->in[0].rows, (long long)expected);
}

/* at: x (n x d) -> (segments*w x d), zeros past the end of a segment. */

static int at_shape(gnn_op_call_t *call)
{
    const rounds_t *how = call->attributes;
    const int64_t segments = gnn_graph_n_segments(how->graph);
    int64_t rows;
    GNN_TRY(gnn__op_dense(call, "at", 0, 0, 1));
    GNN_TRY(expect_rows(call, "at", segments_of(how)[segments]));
    if (!gnn__mul(segments, how->width, &rows))
        return gnn_op_fail(call, GNN_EOVERFLOW, "at: the count of rows overflows");
    gnn__op_output(call, rows, call->in[0].cols);
    return GNN_OK;
}

static int at_forward(gnn_op_call_t *call)
{
    const rounds_t *how = call->attributes;
    int64_t first = 0;
    zero_rows(&call->out[0].value);
    for (int64_t s = 0; s < gnn_graph_n_segments(how->graph); s++) {
        const int64_t count = rows_in_round(how, s, &first);
        copy_rows(&call->in[0].value, first, &call->out[0].value, s * how->width, count, false);
    }
    return GNN_OK;
}

static int at_backward(gnn_op_call_t *call)
{
    const rounds_t *how = call->attributes;
    int64_t first = 0;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    if (!call->in[0].accumulate)
        zero_rows(&call->in[0].grad);
    for (int64_t s = 0; s < gnn_graph_n_segments(how->graph); s++) {
        const int64_t count = rows_in_round(how, s, &first);
        copy_rows(&call->out[0].grad, s * how->width, &call->in[0].grad, first, count, true);
    }
    return GNN_OK;
}

static const gnn_op_t at_op = {
    .name = "at", .shape = at_shape, .forward = at_forward, .backward = at_backward};

/* rounds: the rows of all rounds, one round below the other (rounds*segments*w x d) -> (n x d), in
 * the order of the segments; rows past the end of a segment are dropped. */

static int rounds_shape(gnn_op_call_t *call)
{
    const rounds_t *how = call->attributes;
    GNN_TRY(gnn__op_dense(call, "rounds", 0, 0, 1));
    gnn__op_output(call, segments_of(how)[gnn_graph_n_segments(how->graph)], call->in[0].cols);
    return GNN_OK;
}

/* Rows between the stacked rounds and the segments, in either direction. */
static void join_rounds(const rounds_t *how, const gnn_tensor_t *stacked, const gnn_tensor_t *rows,
                        bool forward)
{
    const int64_t segments = gnn_graph_n_segments(how->graph);
    const int64_t rounds = segments > 0 ? stacked->rows / (segments * how->width) : 0;
    rounds_t now = *how;
    int64_t first = 0;
    for (now.round = 0; now.round < rounds; now.round++)
        for (int64_t s = 0; s < segments; s++) {
            const int64_t count = rows_in_round(&now, s, &first),
                          at = (now.round * segments + s) * how->width;
            if (forward)
                copy_rows(stacked, at, rows, first, count, false);
            else
                copy_rows(rows, first, stacked, at, count, true);
        }
}

static int rounds_forward(gnn_op_call_t *call)
{
    zero_rows(&call->out[0].value);
    join_rounds(call->attributes, &call->in[0].value, &call->out[0].value, true);
    return GNN_OK;
}

static int rounds_backward(gnn_op_call_t *call)
{
    if (!gnn__wants(call, 0))
        return GNN_OK;
    if (!call->in[0].accumulate)
        zero_rows(&call->in[0].grad);
    join_rounds(call->attributes, &call->in[0].grad, &call->out[0].grad, false);
    return GNN_OK;
}

static const gnn_op_t rounds_op = {
    .name = "rounds", .shape = rounds_shape, .forward = rounds_forward, .backward = rounds_backward};

/* The graph of the step, which must have segments; NULL after failing the tape. */
static const gnn_graph_t *segmented(const gnn__recording_t *r, const gnn__model_step_t *s)
{
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    if (!graph || gnn_graph_dst_segments(graph))
        return graph;
    gnn_tape_fail(r->tape, gnn__error(GNN_ETOPOLOGY,
                                      "%s: the graph of slot %d has no segments, whose positions "
                                      "are the rounds",
                                      s->where, s->step.graph));
    return NULL;
}

/* ---- at ---- */

static const gnn__step_input_t one_input[] = {GNN__INPUT(inputs[0])};

static int at_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (s->step.rows < 0 || s->step.rows > INT32_MAX)
        return gnn__error(GNN_EINVALID, "%s: .rows = %lld must be at least 0", s->where,
                          (long long)s->step.rows);
    if (s->step.side == 0 || s->step.side == GNN_SIDE_RECEIVERS || s->step.side == GNN_SIDE_SENDERS)
        return GNN_OK;
    return gnn__error(GNN_EINVALID,
                      "%s: .side must be GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS, got %d", s->where,
                      (int)s->step.side);
}

static gnn_var_t at_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_graph_t *graph = segmented(r, s);
    const rounds_t how = {graph, s->step.side, r->round, gnn__max(s->step.rows, 1)};
    return graph ? gnn_tape_op(r->tape, &at_op, in, 1, &how, sizeof how) : GNN_NONE;
}

const gnn__step_row_t gnn__step_kind_at = {.name = "at",
                                           .reads = GNN__READS(GNN__AT(rows), GNN__AT(side)),
                                           .inputs = one_input,
                                           .n_inputs = 1,
                                           .uses_graph = true,
                                           .by_round = true,
                                           .check = at_check,
                                           .record = at_record};

/* ---- repeat ---- */

/* inputs: the result, then pairs of a carried value's first and next value. */
enum { RESULT, PAIRS = 3 };
static const gnn__step_input_t repeat_inputs[] = {
    GNN__INPUT(inputs[0]), GNN__INPUT(inputs[1]), GNN__INPUT(inputs[2]), GNN__INPUT(inputs[3]),
    GNN__INPUT(inputs[4]), GNN__INPUT(inputs[5]), GNN__INPUT(inputs[6])};

static int64_t first_of(const gnn__model_step_t *s, int pair)
{
    return s->in[1 + 2 * pair];
}

static int64_t next_of(const gnn__model_step_t *s, int pair)
{
    return s->in[2 + 2 * pair];
}

static int repeat_check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    (void)model;
    if (t->rows < 0 || t->rows > 1000000)
        return gnn__error(GNN_EINVALID, "%s: .rows = %lld rounds, expected 0 to 1000000", s->where,
                          (long long)t->rows);
    for (int p = 0; p < PAIRS; p++)
        if (!t->inputs[1 + 2 * p] != !t->inputs[2 + 2 * p])
            return gnn__error(GNN_EINVALID,
                              "%s: .inputs[%d] and .inputs[%d] are a carried value's first and next "
                              "value: both or neither must be given",
                              s->where, 1 + 2 * p, 2 + 2 * p);
    return GNN_OK;
}

static int repeat_declare(gnn_model_t *model, gnn__model_step_t *s)
{
    (void)model;
    s->uses_graph = s->step.rows == 0 || s->step.each_segment == GNN_ON;
    return GNN_OK;
}

/* Of an earlier step, while the body is found. */
enum { CARRIED = 1, TIMED = 2, NEEDED = 4, FIRST = 8 };

static int check_pairs(const gnn_model_t *model, const gnn__model_step_t *s, const int64_t *in)
{
    for (int k = 0; k < s->row->n_inputs; k++)
        if (s->in[k] >= model->n_steps)
            return gnn__error(GNN_EINVALID, "%s: .%s must be an earlier step, \"%s\" is an input",
                              s->where, s->row->inputs[k].name,
                              model->inputs[s->in[k] - model->n_steps]);
    for (int p = 0; p < PAIRS; p++)
        if (in[1 + 2 * p] >= 0)
            GNN_TRY(gnn__step_expect(model, s, in, 2 + 2 * p, in[1 + 2 * p],
                                     "columns of a carried value"));
    return GNN_OK;
}

/* Marks the earlier steps that depend on a carried value or on the round. Those of an inner loop
 * depend on its own rounds. */
static void mark_dependent(const gnn_model_t *model, unsigned char *marks)
{
    for (int64_t j = 0; j < model->n_made; j++) {
        const gnn__model_step_t *t = &model->steps[j];
        if (marks[j] & FIRST)
            continue;
        for (int i = 0; i < t->row->n_inputs; i++)
            if (t->in[i] >= 0 && t->in[i] < model->n_made)
                marks[j] |= marks[t->in[i]] & (CARRIED | TIMED);
        if (t->row->by_round)
            marks[j] |= TIMED;
        if (t->row == &gnn__step_kind_repeat)
            marks[j] &= (unsigned char)~TIMED;
    }
}

/* Marks the dependent steps that the result and the next values need; returns their count. */
static int64_t mark_needed(const gnn_model_t *model, const gnn__model_step_t *s, unsigned char *marks)
{
    int64_t count = 0;
    marks[s->in[RESULT]] |= NEEDED;
    for (int p = 0; p < PAIRS; p++)
        if (next_of(s, p) != GNN__NOT_READ)
            marks[next_of(s, p)] |= NEEDED;
    for (int64_t j = model->n_made - 1; j >= 0; j--) {
        const gnn__model_step_t *t = &model->steps[j];
        const bool runs =
            (marks[j] & NEEDED) && (marks[j] & (CARRIED | TIMED)) && !(marks[j] & FIRST);
        if (!runs) {
            marks[j] &= (unsigned char)~NEEDED;
            continue;
        }
        count++;
        for (int i = 0; i < t->row->n_inputs; i++)
            if (t->in[i] >= 0 && t->in[i] < model->n_made)
                marks[t->in[i]] |= NEEDED;
    }
    return count;
}

static int list_body(const gnn_model_t *model, gnn__model_step_t *s, const unsigned char *marks,
                     int64_t count)
{
    if (count == 0)
        return gnn__error(GNN_EINVALID,
                          "%s: no step before it depends on a carried value or on a step of kind at",
                          s->where);
    GNN_TRY(gnn__new(&s->body, count, sizeof *s->body, "the steps of a loop"));
    for (int64_t j = 0; j < model->n_made; j++) {
        if (!(marks[j] & NEEDED))
            continue;
        if (model->steps[j].row == &gnn__step_kind_repeat)
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: its body has the loop %s; expected a body without loops",
                              s->where, model->steps[j].where);
        s->body[s->n_body++] = j;
    }
    return GNN_OK;
}

static int repeat_width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    unsigned char *marks = NULL;
    s->width = in[RESULT];
    GNN_TRY(check_pairs(model, s, in));
    GNN_TRY(gnn__new(&marks, model->n_made, sizeof *marks, "the steps of a loop"));
    for (int p = 0; p < PAIRS; p++)
        if (first_of(s, p) != GNN__NOT_READ)
            marks[first_of(s, p)] = CARRIED | FIRST;
    mark_dependent(model, marks);
    const int64_t count = mark_needed(model, s, marks);
    const int rc = list_body(model, s, marks, count);
    gnn_free(marks);
    return rc;
}

/* The values of one recording of a loop. */
typedef struct {
    gnn_var_t *first;   /* (n_body) of the first round, which later steps read */
    gnn_var_t *results; /* (rounds) */
    gnn_var_t carried[PAIRS];
    int64_t rounds, width; /* rows of a result per segment */
} loop_t;

static int64_t longest(const gnn_graph_t *graph)
{
    const int64_t *ends = gnn_graph_dst_segments(graph);
    int64_t most = 0;
    for (int64_t s = 0; s < gnn_graph_n_segments(graph); s++)
        most = gnn__max(most, ends[s + 1] - ends[s]);
    return most;
}

/* The count of rounds, and the rows of a result per segment. */
static int size_loop(const gnn__recording_t *r, const gnn__model_step_t *s, gnn_var_t result,
                     const gnn_graph_t *graph, loop_t *loop)
{
    const int64_t segments = graph ? gnn_graph_n_segments(graph) : 1,
                  rows = gnn_tape_rows(r->tape, result);
    loop->width = segments > 0 ? rows / segments : 1;
    if (s->step.each_segment == GNN_ON && (segments < 1 || rows % segments || loop->width < 1))
        return gnn__error(
            GNN_ESHAPE,
            "%s: .each_segment: the result of a round has %lld rows, expected a multiple of the %lld segments",
            s->where, (long long)rows, (long long)segments);
    loop->rounds = s->step.rows > 0
                       ? s->step.rows
                       : (longest(graph) + gnn__max(loop->width, 1) - 1) / gnn__max(loop->width, 1);
    loop->rounds = gnn__max(loop->rounds, 1);
    if (s->step.each_segment == GNN_ON &&
        loop->rounds < (longest(graph) + loop->width - 1) / loop->width)
        return gnn__error(
            GNN_ESHAPE,
            "%s: .rows = %lld rounds with %lld rows per segment each, expected at least the %lld rows of the longest segment in all",
            s->where, (long long)loop->rounds, (long long)loop->width, (long long)longest(graph));
    GNN_TRY(gnn__new(&loop->first, s->n_body, sizeof *loop->first, "the values of a loop"));
    return gnn__new(&loop->results, loop->rounds, sizeof *loop->results, "the values of a loop");
}

static void run_rounds(gnn__recording_t *r, const gnn__model_step_t *s, loop_t *loop)
{
    for (int64_t b = 0; b < s->n_body; b++)
        loop->first[b] = r->outputs[s->body[b]];
    for (int p = 0; p < PAIRS; p++)
        loop->carried[p] = first_of(s, p) == GNN__NOT_READ ? GNN_NONE : r->outputs[first_of(s, p)];
    for (int64_t k = 1; k < loop->rounds && gnn_tape_status(r->tape) == GNN_OK; k++) {
        gnn_var_t next[PAIRS];
        for (int p = 0; p < PAIRS; p++)
            next[p] = next_of(s, p) == GNN__NOT_READ ? GNN_NONE : r->outputs[next_of(s, p)];
        for (int p = 0; p < PAIRS; p++)
            if (next[p] != GNN_NONE)
                r->outputs[first_of(s, p)] = next[p];
        r->round = k;
        for (int64_t b = 0; b < s->n_body; b++)
            r->outputs[s->body[b]] = gnn__record_again(r, s->body[b]);
        loop->results[k] = r->outputs[s->in[RESULT]];
    }
    r->round = 0;
    for (int64_t b = 0; b < s->n_body; b++)
        r->outputs[s->body[b]] = loop->first[b];
    for (int p = 0; p < PAIRS; p++)
        if (first_of(s, p) != GNN__NOT_READ)
            r->outputs[first_of(s, p)] = loop->carried[p];
}

static gnn_var_t repeat_record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_graph_t *graph = s->uses_graph ? segmented(r, s) : NULL;
    loop_t loop = {0};
    gnn_var_t y = GNN_NONE;
    if (gnn_tape_status(r->tape) == GNN_OK)
        gnn_tape_fail(r->tape, size_loop(r, s, in[RESULT], graph, &loop));
    if (gnn_tape_status(r->tape) == GNN_OK) {
        loop.results[0] = in[RESULT];
        run_rounds(r, s, &loop);
        gnn__tape_set_place(r->tape, (uint32_t)(s - r->model->steps) + 1, s->where);
        y = loop.results[loop.rounds - 1];
    }
    if (gnn_tape_status(r->tape) == GNN_OK && s->step.each_segment == GNN_ON) {
        const rounds_t how = {graph, GNN_SIDE_RECEIVERS, 0, loop.width};
        y = gnn_tape_stack(r->tape, loop.results, (int)loop.rounds);
        y = gnn_tape_op(r->tape, &rounds_op, &y, 1, &how, sizeof how);
    }
    gnn_free(loop.first);
    gnn_free(loop.results);
    return y;
}

const gnn__step_row_t gnn__step_kind_repeat = {.name = "repeat",
                                               .reads =
                                                   GNN__READS(GNN__AT(rows), GNN__AT(each_segment)),
                                               .inputs = repeat_inputs,
                                               .n_inputs = 1 + 2 * PAIRS,
                                               .uses_graph = true,
                                               .check = repeat_check,
                                               .declare = repeat_declare,
                                               .width = repeat_width,
                                               .record = repeat_record};
