/* One case of the contract: its inputs drawn, put on a tape, run by the library and by the
 * oracle. */
#include "contract.h"

#include <lib/tape/tape.h>

static gnn_context_t *context;
static gnn_tape_t *tape;

void contract_open(int threads)
{
    ck_ok(gnn_context_new(&context,
                          &(gnn_context_config_t){.threads = threads, .deterministic = GNN_ON}));
    ck_ok(gnn_tape_new(&tape, context));
}

void contract_open_at(int threads, gnn_precision_t level)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = threads, .precision = level}));
    context->forced = true;
    /* In bf16 a weight and a value are rounded by 2^-9 each; a row of one pair averages nothing. */
    contract_allow(GNN_DOUBLE                      ? 0
                   : level == GNN_PRECISION_MEDIUM ? 8e-3
                   : level == GNN_PRECISION_HIGH   ? 2e-5
                                                   : 0);
    ck_ok(gnn_tape_new(&tape, context));
}

void contract_close(void)
{
    contract_allow(0);
    gnn_tape_free(tape);
    gnn_context_free(context);
}

gnn_tape_t *contract_tape(void)
{
    return tape;
}

const char *contract_input_name(int k)
{
    static char name[24];
    snprintf(name, sizeof name, "input %d", k);
    return k < GNN_AGGREGATE_INPUTS ? name : "output";
}

/* ---- inputs ---- */

enum { EDGE_DIM = 3 };

typedef struct {
    int64_t rows, cols;
} extent_t;

/* Parameters owned by table entries; options that are 0 have their initial values. */
static extent_t declared(gnn_row_declare_t *declare, const contract_case_t *c,
                         const gnn_option_t *options, size_t n_options, const double *given)
{
    const int64_t value_heads = contract_scored(c) ? contract_value_heads(c) : 1;
    gnn_aggregate_shape_t shape = {.width = (contract_scored(c) ? c->heads : 1) * c->d_v,
                                   .heads = c->heads,
                                   .d_k = c->d_k,
                                   .d_v = c->d_v,
                                   .message_width = value_heads * c->d_v};
    gnn_piece_t pieces[GNN_ROW_PIECES] = {{0}};
    memcpy(shape.options, given, sizeof shape.options);
    for (size_t k = 0; k < n_options; k++)
        shape.options[k] = given[k] == 0 ? options[k].initial : given[k];
    if (declare)
        ck_assert_uint_eq(declare(&shape, pieces), 1);
    return (extent_t){pieces[0].rows, pieces[0].cols};
}

static void row_extents(const contract_case_t *c, extent_t *x)
{
    const double none[GNN_ROW_OPTIONS] = {0};
#define DECLARED(row, given)                                                      \
    ((row) ? declared((row)->declare, c, (row)->options, (row)->n_options, given) \
           : (extent_t){0, 0})
    x[GNN_AGGREGATE_MESSAGE_PARAMETERS] = DECLARED(c->message, c->message_options);
    x[GNN_AGGREGATE_PARAMETERS] = DECLARED(c->aggregator, none);
    x[GNN_AGGREGATE_MAP_PARAMETERS] = DECLARED(c->map, c->map_options);
    x[GNN_AGGREGATE_SCORE_PARAMETERS] = DECLARED(c->score, none);
    x[GNN_AGGREGATE_WEIGHER_PARAMETERS] = DECLARED(c->weigher, c->weigher_options);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *row = c->priors[p].row;
        if (!row)
            continue;
        extent_t *e = &x[GNN_AGGREGATE_PRIOR_0 + p];
        *e = DECLARED(row, c->priors[p].options);
        if (row->numbers == GNN_PRIOR_PER_RECEIVER)
            e->rows = gnn_graph_n_dst(c->graph);
        if (row->numbers == GNN_PRIOR_PER_SENDER || (row->flags & GNN_PRIOR_RUNNING))
            e->rows = gnn_graph_n_src(c->graph);
    }
#undef DECLARED
    if (c->prior_query)
        x[GNN_AGGREGATE_PRIOR_QUERY] = (extent_t){gnn_graph_n_dst(c->graph), c->heads * c->d_k};
}

static void sender_extents(const contract_case_t *c, extent_t *x)
{
    int64_t n_dst = gnn_graph_n_dst(c->graph), n_src = gnn_graph_n_src(c->graph);
    int64_t w = contract_scored(c) ? contract_value_heads(c) * c->d_v : c->d_v;
    x[GNN_AGGREGATE_SRC_MESSAGE] = (extent_t){n_src, c->message->src_parts * w};
    x[GNN_AGGREGATE_DST_MESSAGE] = (extent_t){n_dst, c->message->dst_parts * w};
    x[GNN_AGGREGATE_GATE] = (extent_t){n_dst, c->gate ? c->heads : 0};
    row_extents(c, x);
    if (!contract_scored(c))
        return;
    bool per_head = gnn__scores_heads(c->score);
    x[GNN_AGGREGATE_QUERY] = (extent_t){n_dst, per_head ? c->heads : c->heads * c->d_k};
    x[GNN_AGGREGATE_KEY] = (extent_t){n_src, per_head ? c->heads : c->kv_heads * c->d_k};
}

static void edge_extents(const contract_case_t *c, extent_t *x)
{
    int64_t m = gnn_graph_n_edges(c->graph),
            w = contract_scored(c) ? contract_value_heads(c) * c->d_v : c->d_v;
    if (c->features && (c->message->edge_parts || contract_scored(c))) {
        const int64_t d_e = c->edge_dim ? c->edge_dim : EDGE_DIM;
        x[GNN_AGGREGATE_EDGE_FEATURES] =
            (extent_t){m + (c->loop_features ? gnn_graph_n_dst(c->graph) : 0), d_e};
        x[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT] = (extent_t){d_e, c->message->edge_parts * w};
        x[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] =
            (extent_t){1, c->message_bias ? c->message->edge_parts * w : 0};
        x[GNN_AGGREGATE_EDGE_KEY_WEIGHT] = (extent_t){d_e, x[GNN_AGGREGATE_KEY].cols};
    }
    if (c->weight)
        x[GNN_AGGREGATE_EDGE_WEIGHT] =
            (extent_t){m + (c->loop_weights ? gnn_graph_n_dst(c->graph) : 0), 1};
    if (c->bias != BIAS_NONE && contract_scored(c))
        x[GNN_AGGREGATE_EDGE_BIAS] = (extent_t){m, c->bias == BIAS_SHARED ? 1 : c->heads};
}

/* One value as several inputs, as in self-attention on raw features. */
static void draw_aliases(contract_run_t *r, const extent_t *x)
{
    static const int may[][2] = {{GNN_AGGREGATE_KEY, GNN_AGGREGATE_SRC_MESSAGE},
                                 {GNN_AGGREGATE_QUERY, GNN_AGGREGATE_SRC_MESSAGE},
                                 {GNN_AGGREGATE_EDGE_KEY_WEIGHT, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT}};
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        r->alias[k] = k;
    for (size_t k = 0; r->c.shared && k < sizeof may / sizeof *may; k++)
        if (x[may[k][0]].cols > 0 && x[may[k][0]].cols == x[may[k][1]].cols &&
            x[may[k][0]].rows == x[may[k][1]].rows)
            r->alias[may[k][0]] = may[k][1];
}

static double draw_value(const contract_case_t *c, draw_t *d)
{
    return c->values == VALUES_INTEGER ? (double)(draw_below(d, 5) - 2)
                                       : (double)(draw_below(d, 1 << 24) - (1 << 23)) * 0x1p-23;
}

static gnn_tensor_t draw_tensor(const contract_case_t *c, extent_t x, draw_t *d)
{
    gnn_tensor_t t = {.rows = x.rows, .cols = x.cols, .stride = x.cols + (c->strided ? 3 : 0)};
    int64_t n = t.rows * t.stride;
    t.data = malloc(sizeof *t.data * (size_t)(n + 1));
    for (int64_t k = 0; k < n; k++)
        t.data[k] = (gnn_real_t)draw_value(c, d);
    return t;
}

/* Scores over +-100: one sender of all receivers dominates by 40, the last one in complete graphs
 * (so that earlier sums must be rescaled), else the first. Only the first column of queries and
 * keys (and of the parameters) is non-zero. */
static void widen(contract_run_t *r, draw_t *d)
{
    const gnn_tensor_t *q = &r->in[GNN_AGGREGATE_QUERY], *k = &r->in[GNN_AGGREGATE_KEY],
                       *p = &r->in[GNN_AGGREGATE_SCORE_PARAMETERS];
    int64_t per_head = gnn__scores_heads(r->c.score) ? 1 : r->c.d_k;
    bool dot = r->c.score == &gnn_score_dot;
    bool complete = gnn_graph_n_pairs(r->c.graph) == q->rows * k->rows;
    int64_t dominant = complete ? k->rows - 1 : 0;
    for (int64_t i = 0; i < q->rows; i++)
        for (int64_t c = 0; c < q->cols; c++)
            gnn__row(q, i)[c] =
                dot ? (gnn_real_t)(c % per_head == 0) : gnn__row(q, i)[c] * (gnn_real_t)0.5;
    for (int64_t j = 0; j < k->rows; j++)
        for (int64_t c = 0; c < k->cols; c++)
            if (c % per_head == 0)
                gnn__row(k, j)[c] =
                    j == dominant ? 100 : (gnn_real_t)((double)draw_below(d, 160000) / 1000 - 100);
    for (int64_t c = 0; c < p->cols; c++)
        p->data[c] = (gnn_real_t)(c % per_head == 0);
}

/* Slopes times the longest distance stay within +-8, whatever the size: scores of some hundreds
 * would be worth their rounding alone. */
static void flatten_slopes(contract_run_t *r)
{
    int64_t n = gnn_graph_n_src(r->c.graph) + gnn_graph_n_dst(r->c.graph);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *row = r->c.priors[p].row;
        gnn_tensor_t *slopes = &r->in[GNN_AGGREGATE_PRIOR_0 + p];
        bool is_slope =
            row == &gnn_prior_slope || row == &gnn_prior_slope_absolute || row == &gnn_prior_decay;
        for (int64_t a = 0; is_slope && n > 16 && a < slopes->rows * slopes->cols; a++)
            gnn__row(slopes, a / slopes->cols)[a % slopes->cols] *= (gnn_real_t)(16 / (double)n);
    }
}

static void settings(contract_run_t *r)
{
    const contract_case_t *c = &r->c;
    r->how = (gnn_aggregate_t){.aggregator = c->aggregator,
                               .score = c->score,
                               .message = c->message,
                               .graph = c->graph,
                               .view = c->view,
                               .dropout = (gnn_real_t)c->dropout,
                               .map = c->map,
                               .weigher = c->weigher};
    memcpy(r->how.message_options, c->message_options,
           c->message->n_options * sizeof *c->message_options);
    memcpy(r->how.map_options, c->map_options, sizeof c->map_options);
    memcpy(r->how.priors, c->priors, sizeof c->priors);
    if (c->weigher)
        memcpy(r->how.weigher_options, c->weigher_options,
               c->weigher->n_options * sizeof *c->weigher_options);
    r->how.view.backward = GNN_FLAG_DEFAULT;
    r->how.shape.width = contract_scored(c) ? c->heads * c->d_v : c->d_v;
    if (contract_scored(c)) {
        r->how.shape.heads = c->heads;
        r->how.shape.key_heads = c->kv_heads;
        r->how.shape.value_heads = c->value_heads;
        if (c->value_heads == 0)
            r->how.shape.value_heads = c->kv_heads;
        r->how.shape.softcap = (gnn_real_t)c->softcap;
        r->how.shape.d_k = c->d_k;
        r->how.shape.d_v = c->d_v;
        r->how.shape.scale = (gnn_real_t)(c->values == VALUES_WIDE ? 1 : c->scale);
    }
    r->n_dst = gnn_graph_n_dst(c->graph);
    r->out_width = r->how.shape.width;
}

contract_run_t *contract_run_new(const contract_case_t *c)
{
    contract_run_t *r = calloc(1, sizeof *r);
    extent_t x[GNN_AGGREGATE_INPUTS] = {{0, 0}};
    draw_t d = draw_from(c->seed ^ 0x696eu);
    r->c = *c;
    r->recording = r->training = 1;
    r->wanted = ~0u;
    settings(r);
    sender_extents(c, x);
    edge_extents(c, x);
    draw_aliases(r, x);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (x[k].cols == 0)
            continue;
        if (r->alias[k] != k) {
            r->in[k] = r->in[r->alias[k]];
            continue;
        }
        r->in[k] = draw_tensor(c, x[k], &d);
        r->grad[k] = calloc((size_t)(x[k].rows * x[k].cols + 1), sizeof *r->grad[k]);
    }
    for (int k = 0; k < GNN_AGGREGATE_INPUTS;
         k++) /* a key may stand before the value it is shared with */
        if (r->alias[k] != k)
            r->in[k] = r->in[r->alias[k]];
    flatten_slopes(r);
    if (c->values == VALUES_WIDE)
        widen(r, &d);
    int64_t n = r->n_dst * r->out_width;
    r->d_out = malloc(sizeof *r->d_out * (size_t)(n + 1));
    r->out = calloc((size_t)(n + 1), sizeof *r->out);
    for (int64_t k = 0; k < n; k++)
        r->d_out[k] = (gnn_real_t)draw_value(c, &d);
    return r;
}

void contract_run_free(contract_run_t *r)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        free(r->grad[k]);
        if (r->alias[k] == k)
            free(r->in[k].data);
    }
    free(r->d_out);
    free(r->out);
    oracle_free(r->oracle);
    free(r);
}

/* ---- running ---- */

gnn_var_t contract_record(contract_run_t *r, gnn_var_t vars[GNN_AGGREGATE_INPUTS])
{
    gnn_context_set_seed(context, r->c.seed);
    gnn_tape_reset(tape, r->recording, r->training);
    gnn_tape_set_step(tape, r->c.step);
    gnn__tape_set_place(tape, r->c.model_step, "contract");
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        vars[k] = r->in[k].data && r->alias[k] == k
                      ? gnn_tape_input(tape, &r->in[k], r->wanted >> k & 1)
                      : GNN_NONE;
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        vars[k] = r->in[k].data ? vars[r->alias[k]] : GNN_NONE;
    gnn_var_t y = gnn_tape_aggregate(tape, &r->how, vars);
    if (y != GNN_NONE) {
        gnn_tape_keep(tape, y);
        r->rng = gnn__tape_rng(tape, y);
    }
    return y;
}

static void copy_rows(gnn_real_t *to, const gnn_tensor_t *from)
{
    for (int64_t i = 0; i < from->rows; i++)
        memcpy(to + i * from->cols, gnn__row(from, i), sizeof *to * (size_t)from->cols);
}

void contract_library(contract_run_t *r)
{
    gnn_var_t vars[GNN_AGGREGATE_INPUTS], y = contract_record(r, vars);
    gnn_tensor_t d_out = gnn_tensor(r->d_out, r->n_dst, r->out_width);
    int rc = gnn_tape_status(tape);
    if (rc == GNN_OK)
        rc = gnn_tape_forward(tape);
    if (rc == GNN_OK) {
        gnn_tensor_t out = gnn_tape_value(tape, y);
        copy_rows(r->out, &out);
        rc = r->recording ? gnn_tape_backward(tape, y, &d_out) : GNN_OK;
    }
    if (rc != GNN_OK) {
        contract_failure(&r->c, "the library says %d: %s", rc, gnn_error_message());
        return;
    }
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!r->grad[k] || !r->recording || !(r->wanted >> k & 1))
            continue;
        gnn_tensor_t g = gnn_tape_gradient(tape, vars[k]);
        if (g.data || g.rows == 0)
            copy_rows(r->grad[k], &g);
        else
            contract_failure(&r->c, "no gradient for %s", contract_input_name(k));
    }
}

/* Runs the oracle; gradients of a value used as several inputs add up. */
void contract_oracle(contract_run_t *r, double kinks)
{
    gnn_var_t vars[GNN_AGGREGATE_INPUTS];
    contract_record(r, vars);
    r->oracle = oracle_new(&r->how, r->in, r->d_out, r->rng, 1);
    oracle_t *o = r->oracle;
    oracle_forward(o);
    double left_out = oracle_leave_kinks_out(o, kinks);
    if (left_out > 0.1 && r->n_dst * r->out_width > 200)
        contract_failure(&r->c, "%.0f%% of the outputs are too near to a kink", 100 * left_out);
    for (int64_t k = 0; k < r->n_dst * r->out_width; k++)
        r->d_out[k] = (gnn_real_t)o->d_out[k];
    oracle_run(o);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        for (int64_t at = 0; r->alias[k] != k && at < o->in[k].rows * o->in[k].cols; at++)
            add_to(&o->in[r->alias[k]].grad[at], o->in[k].grad[at]);
}
