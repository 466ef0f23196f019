/* Cost of choices of attention: forward and gradients of causal attention with each, as multiples
 * of plain attention in the same process.
 *
 *     scores [--only NAME] [--n 512] [--heads 4] [--width 64] [--repeat 15] [--threads 1]
 *
 * A line of JSON per choice. Runs of a choice and of what it is compared with take turns; `ms` and
 * `base_ms` are the least of each, `times` their ratio. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 8, MOST_DRAWN = 64, WINDOW = 64 };

typedef struct choice {
    const char *name;
    double most; /* times of the base that it should stay below; 0: none */
    const char *weigher, *map, *score, *priors[2];
    int64_t key_heads, value_heads; /* 0: as many as heads */
    int64_t width_share;            /* values of a head are this many times narrower; 0: 1 */
    bool complete, window, edges, softcap, gate, separate;
} choice_t;

/* Choices in windows are compared with windows, others with plain attention. */
static const choice_t choices[] = {
    {.name = "slope by distance", .most = 3, .priors = {"slope"}},
    {.name = "table by distance", .most = 3, .priors = {"table"}},
    {.name = "keys by distance", .most = 3, .priors = {"keys"}},
    {.name = "rope", .most = 3, .map = "rope"},
    {.name = "l2", .most = 3, .map = "l2"},
    {.name = "softcap", .most = 3, .softcap = true},
    {.name = "sink", .most = 3, .weigher = "softmax_sink"},
    {.name = "gate", .most = 3, .gate = true},
    {.name = "one head of keys and values", .most = 3, .key_heads = 1, .value_heads = 1},
    {.name = "values of half the width", .most = 3, .width_share = 2},
    {.name = "linear, complete", .most = 3, .weigher = "linear", .complete = true},
    {.name = "sender_keys", .most = 4, .priors = {"sender_keys"}},
    {.name = "place", .most = 4, .priors = {"place"}},
    {.name = "receiver and sender", .most = 3, .priors = {"receiver", "sender"}},
    {.name = "decay", .most = 3, .priors = {"decay"}},
    {.name = "2 heads of keys, 1 of values", .most = 3, .key_heads = 2, .value_heads = 1},
    {.name = "best", .most = 3, .weigher = "best"},
    {.name = "sigmoid", .most = 3, .weigher = "sigmoid"},
    {.name = "linear, causal", .most = 3, .weigher = "linear"},
    {.name = "linear, window", .most = 3, .weigher = "linear", .window = true},
    {.name = "additive_tanh", .most = 3, .score = "additive_tanh"},
    {.name = "pairs as edges", .most = 3, .edges = true},
    {.name = "a graph per head", .most = 3, .separate = true},
    {0}};
static const choice_t plain = {.name = "plain"}, in_windows = {.name = "window", .window = true};

typedef struct settings {
    int64_t n, heads, width;
    const char *only;
} settings_t;

typedef struct task {
    gnn_graph_t *graphs[MOST_PARTS];
    gnn_tape_t *tape;
    gnn_real_t *drawn[MOST_DRAWN];
    int n_drawn, n_graphs;
    gnn_tensor_t d_out;
    gnn_var_t out;
    double least;
} task_t;

static void close_task(task_t *t)
{
    gnn_tape_free(t->tape);
    for (int k = 0; k < t->n_graphs; k++)
        gnn_graph_free(t->graphs[k]);
    for (int k = 0; k < t->n_drawn; k++)
        free(t->drawn[k]);
}

static gnn_tensor_t draw(task_t *t, int64_t rows, int64_t cols)
{
    gnn_real_t *x =
        t->n_drawn < MOST_DRAWN ? bench_normals((uint64_t)t->n_drawn + 1, rows, cols) : NULL;
    if (x)
        t->drawn[t->n_drawn++] = x;
    return gnn_tensor(x, x ? rows : 0, cols);
}

static gnn_var_t input(task_t *t, int64_t rows, int64_t cols)
{
    const gnn_tensor_t x = draw(t, rows, cols);
    return gnn_tape_input(t->tape, &x, true);
}

/* The pairs of a graph, as edges. */
static int as_edges(gnn_graph_t **graph)
{
    gnn_graph_t *spans = *graph;
    const int64_t m = gnn_graph_n_pairs(spans), n = gnn_graph_n_dst(spans);
    int64_t *pairs = malloc(sizeof *pairs * (size_t)(2 * m));
    int rc = pairs ? gnn_graph_pairs(spans, pairs, pairs + m, NULL) : GNN_EMEMORY;
    *graph = NULL;
    gnn_graph_free(spans);
    if (rc == GNN_OK)
        rc = gnn_graph_from_edges(graph, n, n, m, gnn_ints(pairs), gnn_ints(pairs + m));
    free(pairs);
    return rc;
}

static int add_graph(task_t *t, const choice_t *c, int64_t n)
{
    gnn_graph_t **graph = &t->graphs[t->n_graphs];
    GNN_TRY(c->complete ? gnn_graph_complete(graph, 1, &n)
            : c->window ? gnn_graph_window(graph, 1, &n, WINDOW, 1, GNN_ON)
                        : gnn_graph_causal(graph, 1, &n));
    t->n_graphs++;
    if (c->edges)
        GNN_TRY(as_edges(graph));
    return gnn_graph_prepare(*graph, &(gnn_view_t){.backward = GNN_ON});
}

/* Values that an entry owns: all of its parameters. */
static gnn_var_t owned(task_t *t, gnn_row_declare_t *declare, gnn_aggregate_shape_t shape,
                       const double *options)
{
    gnn_piece_t pieces[GNN_ROW_PIECES];
    if (!declare)
        return GNN_NONE;
    memcpy(shape.options, options, sizeof shape.options);
    declare(&shape, pieces);
    return input(t, pieces[0].rows, pieces[0].cols);
}

static void add_priors(task_t *t, const choice_t *c, int64_t n, gnn_aggregate_t *how, gnn_var_t *in)
{
    for (int p = 0; p < 2 && c->priors[p]; p++) {
        const gnn_prior_t *row = gnn_prior_find(c->priors[p]);
        gnn_prior_use_t *use = &how->priors[p];
        gnn_piece_t piece[GNN_ROW_PIECES];
        *use = (gnn_prior_use_t){row, {0}};
        for (size_t o = 0; o < row->n_options; o++)
            use->options[o] = row->options[o].initial;
        if (strcmp(row->name, "place") == 0)
            use->options[0] = (double)n;
        gnn_aggregate_shape_t shape = how->shape;
        memcpy(shape.options, use->options, sizeof shape.options);
        row->declare(&shape, piece);
        const bool node = row->numbers != GNN_PRIOR_SHARED || row->flags & GNN_PRIOR_RUNNING;
        in[GNN_AGGREGATE_PRIOR_0 + p] = input(t, node ? n : piece->rows, piece->cols);
    }
}

/* One aggregation on columns of the rows q, k and v. */
static int aggregate(task_t *t, const choice_t *c, const settings_t *s, const gnn_var_t rows[3],
                     gnn_var_t *out)
{
    static const double none[GNN_ROW_OPTIONS];
    gnn_aggregate_t how = {.aggregator = &gnn_aggregator_attention,
                           .message = gnn_message_find("none"),
                           .score = gnn_score_find(c->score ? c->score : "dot"),
                           .weigher = gnn_weigher_find(c->weigher ? c->weigher : "softmax"),
                           .map = gnn_map_find(c->map ? c->map : "none"),
                           .shape = {.heads = c->separate ? 1 : s->heads,
                                     .key_heads = c->key_heads,
                                     .value_heads = c->value_heads,
                                     .d_k = s->width,
                                     .d_v = s->width / (c->width_share ? c->width_share : 1),
                                     .softcap = c->softcap ? 50 : 0}};
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    GNN_TRY(add_graph(t, c, s->n));
    how.graph = t->graphs[t->n_graphs - 1];
    in[GNN_AGGREGATE_QUERY] = rows[0];
    in[GNN_AGGREGATE_KEY] = rows[1];
    in[GNN_AGGREGATE_SRC_MESSAGE] = rows[2];
    in[GNN_AGGREGATE_SCORE_PARAMETERS] = owned(t, how.score->declare, how.shape, none);
    in[GNN_AGGREGATE_WEIGHER_PARAMETERS] = owned(t, how.weigher->declare, how.shape, none);
    if (c->gate)
        in[GNN_AGGREGATE_GATE] = input(t, s->n, s->heads);
    add_priors(t, c, s->n, &how, in);
    *out = gnn_tape_aggregate(t->tape, &how, in);
    return GNN_OK;
}

static int open_task(task_t *t, bench_t *bench, const choice_t *c, const settings_t *s)
{
    const int64_t keys = c->key_heads ? c->key_heads : s->heads,
                  values = c->value_heads ? c->value_heads : s->heads,
                  d_v = s->width / (c->width_share ? c->width_share : 1);
    gnn_var_t outs[MOST_PARTS];
    *t = (task_t){.least = 1e30};
    GNN_TRY(gnn_tape_new(&t->tape, bench->context));
    gnn_tape_reset(t->tape, true, 0);
    const gnn_var_t rows[] = {input(t, s->n, s->heads * s->width), input(t, s->n, keys * s->width),
                              input(t, s->n, values * d_v)};
    for (int64_t a = 0; c->separate && a < s->heads; a++) {
        gnn_var_t own[3];
        for (int k = 0; k < 3; k++)
            own[k] = gnn_tape_view(t->tape, rows[k], 0, s->n, a * s->width, s->width);
        GNN_TRY(aggregate(t, c, s, own, &outs[a]));
    }
    if (c->separate)
        t->out = gnn_tape_concat(t->tape, outs, (int)s->heads);
    else
        GNN_TRY(aggregate(t, c, s, rows, &t->out));
    gnn_tape_keep(t->tape, t->out);
    t->d_out = draw(t, s->n, s->heads * d_v);
    return gnn_tape_status(t->tape);
}

static int run(task_t *t)
{
    const double start = bench_seconds();
    GNN_TRY(gnn_tape_forward(t->tape));
    GNN_TRY(gnn_tape_backward(t->tape, t->out, &t->d_out));
    const double ms = 1e3 * (bench_seconds() - start);
    t->least = ms < t->least ? ms : t->least;
    return GNN_OK;
}

static int measure(bench_t *bench, const choice_t *c, const settings_t *s)
{
    task_t own, base;
    int rc = open_task(&own, bench, c, s);
    const int base_rc = open_task(&base, bench, c->window ? &in_windows : &plain, s);
    rc = rc == GNN_OK ? base_rc : rc;
    for (int64_t k = 0; rc == GNN_OK && k < bench->repeat; k++) {
        rc = run(&base);
        for (int again = 0; rc == GNN_OK && again < 2; again++)
            rc = run(&own);
        if (rc == GNN_OK)
            rc = run(&base);
    }
    if (rc == GNN_OK) {
        bench_text("task", "scores");
        bench_text("choice", c->name);
        bench_whole("n", s->n);
        bench_number("ms", own.least);
        bench_number("base_ms", base.least);
        bench_number("times", own.least / base.least);
        bench_number("most", c->most);
        bench->median_ms = bench->min_ms = bench->mean_ms = own.least;
        bench_peak(bench);
        bench_print(bench);
        fflush(stdout);
    }
    close_task(&own);
    close_task(&base);
    return rc;
}

int main(int argc, char **argv)
{
    settings_t s = {.n = 512, .heads = 4, .width = 64};
    bench_t bench;
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"n", BENCH_NUMBER, &s.n},
                                  {"heads", BENCH_NUMBER, &s.heads},
                                  {"width", BENCH_NUMBER, &s.width},
                                  {"only", BENCH_TEXT, &s.only},
                                  {0}});
    int rc = s.n > 0 && s.heads > 0 && s.heads <= MOST_PARTS && s.width > 0 ? GNN_OK : GNN_EINVALID;
    bench_begin(&bench);
    for (const choice_t *c = choices; rc == GNN_OK && c->name; c++)
        if (!s.only || strcmp(s.only, c->name) == 0)
            rc = measure(&bench, c, &s);
    return bench_close(&bench, rc);
}
