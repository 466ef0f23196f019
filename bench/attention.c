/* Full, causal or windowed attention, forward or with the gradients of queries, keys and values.
 *
 *     attention --n 4096 --heads 4 --width 64 [--causal] [--backward] [--window 256]
 *               [--prior slope|table|keys] [--buckets 64] [--softcap] [--values]
 *               [--weigher linear] [--map elu1]
 *
 * The graph is stored as spans. --window: tokens on each side. --prior: a term by distance, which
 * is a slope per head, a table of 64 buckets, or keys multiplied by the queries; backward then
 * includes its gradient. With as many buckets as tokens every distance has its own value or key.
 * --softcap caps scores at +-50. --values adds a row by distance (of as many buckets) to the
 * values. --weigher, --map: another entry of these tables. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t n, heads, width, window, buckets;
    bool causal, backward, softcap, values;
    const char *prior, *weigher, *map;
} settings_t;

typedef struct {
    gnn_graph_t *graph;
    gnn_tape_t *tape;
    gnn_real_t *q, *k, *v, *g, *prior, *values;
    gnn_tensor_t d_out;
    gnn_var_t out;
    bool backward;
} task_t;

static int build_graph(gnn_graph_t **graph, const settings_t *s)
{
    if (s->window)
        return gnn_graph_window(graph, 1, &s->n, s->window, 1, s->causal ? GNN_ON : GNN_OFF);
    return s->causal ? gnn_graph_causal(graph, 1, &s->n) : gnn_graph_complete(graph, 1, &s->n);
}

static int draw(task_t *t, int64_t n, int64_t width)
{
    t->q = bench_normals(1, n, width);
    t->k = bench_normals(2, n, width);
    t->v = bench_normals(3, n, width);
    t->g = bench_normals(4, n, width);
    t->d_out = gnn_tensor(t->g, n, width);
    return t->q && t->k && t->v && t->g ? GNN_OK : GNN_EMEMORY;
}

static gnn_var_t input(const task_t *t, gnn_real_t *x)
{
    gnn_tensor_t rows = gnn_tensor(x, t->d_out.rows, t->d_out.cols);
    return gnn_tape_input(t->tape, &rows, t->backward);
}

/* GNN_NONE without a prior. */
static gnn_var_t prior(task_t *t, const settings_t *s, gnn_aggregate_t *how)
{
    const gnn_prior_t *row = strcmp(s->prior, "none") == 0 ? NULL : gnn_prior_find(s->prior);
    const double buckets = (double)s->buckets, rule = s->causal ? GNN_BUCKET_CLIP_CAUSAL : 0;
    const gnn_tensor_t shapes[] = {gnn_tensor(t->prior, 1, s->heads),
                                   gnn_tensor(t->prior, s->heads, s->buckets),
                                   gnn_tensor(t->prior, s->buckets, s->heads * s->width)};
    if (!row)
        return GNN_NONE;
    const bool slope = row->n_options == 0;
    how->priors[0] = slope ? (gnn_prior_use_t){row, {0}} : (gnn_prior_use_t){row, {buckets, rule}};
    for (int64_t a = 0; a < (slope ? s->heads : 0); a++)
        t->prior[a] = (gnn_real_t)0x1p-8 * (gnn_real_t)(a + 1);
    return gnn_tape_input(t->tape, &shapes[slope ? 0 : row->key_row ? 2 : 1], t->backward);
}

/* GNN_NONE without values by distance. */
static gnn_var_t values(task_t *t, const settings_t *s, gnn_aggregate_t *how)
{
    const gnn_tensor_t rows = gnn_tensor(t->values, s->buckets, s->heads * s->width);
    if (!s->values)
        return GNN_NONE;
    how->message = gnn_message_find("by_distance");
    how->message_options[0] = (double)s->buckets;
    how->message_options[1] = s->causal ? GNN_BUCKET_CLIP_CAUSAL : GNN_BUCKET_CLIP;
    return gnn_tape_input(t->tape, &rows, t->backward);
}

static int prepare(task_t *t, bench_t *bench, const settings_t *s)
{
    gnn_aggregate_t how = {
        .aggregator = &gnn_aggregator_attention,
        .message = gnn_message_find("none"),
        .weigher = gnn_weigher_find(s->weigher),
        .map = gnn_map_find(s->map),
        .shape = {
            .heads = s->heads, .d_k = s->width, .d_v = s->width, .softcap = s->softcap ? 50 : 0}};
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    if (!how.weigher || !how.map) {
        fprintf(stderr, "attention: %s\n", gnn_error_message());
        return GNN_EINVALID;
    }
    t->backward = s->backward;
    GNN_TRY(draw(t, s->n, s->heads * s->width));
    t->prior = bench_normals(5, s->heads * s->width, s->buckets);
    t->values = bench_normals(6, s->heads * s->width, s->buckets);
    if (!t->prior || !t->values)
        return GNN_EMEMORY;
    GNN_TRY(build_graph(&t->graph, s));
    how.graph = t->graph;
    GNN_TRY(gnn_graph_prepare(t->graph, &(gnn_view_t){.backward = s->backward ? GNN_ON : GNN_OFF}));
    bench_begin(bench);
    GNN_TRY(gnn_tape_new(&t->tape, bench->context));
    gnn_tape_reset(t->tape, t->backward, 0);
    in[GNN_AGGREGATE_QUERY] = input(t, t->q);
    in[GNN_AGGREGATE_KEY] = input(t, t->k);
    in[GNN_AGGREGATE_SRC_MESSAGE] = input(t, t->v);
    in[GNN_AGGREGATE_MESSAGE_PARAMETERS] = values(t, s, &how);
    in[GNN_AGGREGATE_PRIOR_0] = prior(t, s, &how);
    t->out = gnn_tape_aggregate(t->tape, &how, in);
    gnn_tape_keep(t->tape, t->out);
    return gnn_tape_status(t->tape);
}

static int step(void *user)
{
    task_t *t = user;
    int rc = gnn_tape_forward(t->tape);
    return rc == GNN_OK && t->backward ? gnn_tape_backward(t->tape, t->out, &t->d_out) : rc;
}

static void print(const bench_t *b, const settings_t *s)
{
    double n = (double)s->n, window = (double)(2 * s->window + 1);
    double pairs = s->window ? n * window : n * n * (s->causal ? 0.5 : 1);
    double flop = 4 * (double)(s->heads * s->width) * pairs * (s->backward ? 3.5 : 1);
    bench_text("task", "attention");
    bench_whole("n", s->n);
    bench_whole("heads", s->heads);
    bench_whole("width", s->width);
    bench_flag("causal", s->causal);
    bench_whole("window", s->window);
    bench_flag("backward", s->backward);
    bench_text("prior", s->prior);
    bench_text("weigher", s->weigher);
    bench_text("map", s->map);
    bench_whole("buckets", s->buckets);
    bench_flag("softcap", s->softcap);
    bench_flag("values", s->values);
    bench_number("gflops", flop / b->median_ms / 1e6);
    bench_print(b);
}

int main(int argc, char **argv)
{
    settings_t s = {.n = 4096,
                    .heads = 4,
                    .width = 64,
                    .buckets = 64,
                    .prior = "none",
                    .weigher = "softmax",
                    .map = "none"};
    bench_t bench;
    task_t task = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"n", BENCH_NUMBER, &s.n},
                                  {"heads", BENCH_NUMBER, &s.heads},
                                  {"width", BENCH_NUMBER, &s.width},
                                  {"causal", BENCH_FLAG, &s.causal},
                                  {"backward", BENCH_FLAG, &s.backward},
                                  {"window", BENCH_NUMBER, &s.window},
                                  {"prior", BENCH_TEXT, &s.prior},
                                  {"weigher", BENCH_TEXT, &s.weigher},
                                  {"map", BENCH_TEXT, &s.map},
                                  {"softcap", BENCH_FLAG, &s.softcap},
                                  {"values", BENCH_FLAG, &s.values},
                                  {"buckets", BENCH_NUMBER, &s.buckets},
                                  {0}});
    int rc = prepare(&task, &bench, &s);
    if (rc == GNN_OK)
        rc = bench_time(&bench, 1, step, &task);
    if (rc == GNN_OK)
        print(&bench, &s);
    gnn_tape_free(task.tape);
    gnn_graph_free(task.graph);
    gnn_real_t *const drawn[] = {task.q, task.k, task.v, task.g, task.prior, task.values};
    for (int k = 0; k < 6; k++)
        free(drawn[k]);
    return bench_close(&bench, rc);
}
