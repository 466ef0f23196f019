/* The formulas of the whole layer in double precision, written without the library. */
#include "layer_oracle.h"
#include "oracle.h"
#include "support.h"

#include <lib/aggregate/tables.h>

typedef struct {
    int64_t rows, cols; /* cols 0: there is none */
    double *at;
} matrix_t;

/* Memory of one call, released together. */
typedef struct {
    const gnn_layer_t *layer;
    const gnn_layer_config_t *c;
    const gnn_graph_t *graph;
    const gnn_inputs_t *inputs;
    void *taken[256];
    int n_taken;
} oracle_call_t;

static void *take(oracle_call_t *o, int64_t n, size_t element)
{
    ck_assert_int_lt(o->n_taken, 256);
    return o->taken[o->n_taken++] = calloc((size_t)(n > 0 ? n : 1), element);
}

static matrix_t matrix(oracle_call_t *o, int64_t rows, int64_t cols)
{
    return (matrix_t){rows, cols, take(o, rows * cols, sizeof(double))};
}

static matrix_t from_tensor(oracle_call_t *o, const gnn_tensor_t *t)
{
    if (!t)
        return (matrix_t){0};
    matrix_t m = matrix(o, t->rows, t->cols);
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t k = 0; k < t->cols; k++)
            m.at[r * t->cols + k] = (double)gnn__row(t, r)[k];
    return m;
}

static gnn_tensor_t to_tensor(oracle_call_t *o, matrix_t m)
{
    if (m.cols == 0)
        return (gnn_tensor_t){0};
    const gnn_tensor_t t = gnn_tensor(take(o, m.rows * m.cols, sizeof(gnn_real_t)), m.rows, m.cols);
    for (int64_t k = 0; k < m.rows * m.cols; k++)
        t.data[k] = (gnn_real_t)m.at[k];
    return t;
}

static matrix_t field(oracle_call_t *o, const char *name)
{
    gnn_tensor_t t;
    return gnn_layer_field(o->layer, name, &t, NULL) == GNN_OK ? from_tensor(o, &t) : (matrix_t){0};
}

/* ---- small algebra ---- */

/* x W + b, b there or not. */
static matrix_t linear(oracle_call_t *o, matrix_t x, const char *weight, const char *bias)
{
    const matrix_t w = field(o, weight), b = field(o, bias);
    if (w.cols == 0)
        return (matrix_t){0};
    ck_assert_int_eq(w.rows, x.cols);
    matrix_t y = matrix(o, x.rows, w.cols);
    for (int64_t r = 0; r < y.rows; r++)
        for (int64_t k = 0; k < y.cols; k++) {
            double sum = b.cols ? b.at[k] : 0;
            for (int64_t i = 0; i < x.cols; i++)
                sum += x.at[r * x.cols + i] * w.at[i * w.cols + k];
            y.at[r * y.cols + k] = sum;
        }
    return y;
}

/* a x + z, where z has one row or as many as x. */
static matrix_t sum(oracle_call_t *o, double a, matrix_t x, matrix_t z)
{
    if (z.cols == 0)
        return x;
    matrix_t y = matrix(o, x.rows, x.cols);
    ck_assert(z.cols == x.cols && (z.rows == 1 || z.rows == x.rows));
    for (int64_t r = 0; r < y.rows; r++)
        for (int64_t k = 0; k < y.cols; k++)
            y.at[r * y.cols + k] =
                a * x.at[r * x.cols + k] + z.at[(z.rows == 1 ? 0 : r) * z.cols + k];
    return y;
}

static matrix_t side_by_side(oracle_call_t *o, matrix_t x, matrix_t z)
{
    matrix_t y = matrix(o, x.rows, x.cols + z.cols);
    for (int64_t r = 0; r < y.rows; r++)
        for (int64_t k = 0; k < y.cols; k++)
            y.at[r * y.cols + k] = k < x.cols ? x.at[r * x.cols + k] : z.at[r * z.cols + k - x.cols];
    return y;
}

static matrix_t first_rows(matrix_t x, int64_t n)
{
    x.rows = n;
    return x;
}

/* One dot product per head. */
static matrix_t head_dots(oracle_call_t *o, matrix_t x, matrix_t a)
{
    const int64_t heads = o->c->heads, d = x.cols / heads;
    matrix_t y = matrix(o, x.rows, heads);
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t k = 0; k < x.cols; k++)
            y.at[r * heads + k / d] += x.at[r * x.cols + k] * a.at[k];
    return y;
}

static double activation(gnn_activation_t f, double x)
{
    switch (f) {
    case GNN_RELU: return x > 0 ? x : 0;
    case GNN_LEAKY_RELU: return x > 0 ? x : (double)(gnn_real_t)0.2 * x;
    case GNN_ELU: return x > 0 ? x : exp(x) - 1;
    case GNN_GELU: return x * 0.5 * (1 + erf(x / sqrt(2)));
    case GNN_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case GNN_SILU: return x / (1 + exp(-x));
    case GNN_TANH: return tanh(x);
    case GNN_SIGMOID: return 1 / (1 + exp(-x));
    case GNN_SOFTPLUS: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    default: return x;
    }
}

static matrix_t activate(oracle_call_t *o, gnn_activation_t f, matrix_t x)
{
    matrix_t y = matrix(o, x.rows, x.cols);
    for (int64_t k = 0; k < x.rows * x.cols; k++)
        y.at[k] = activation(f, x.at[k]);
    return y;
}

static matrix_t unit_rows(oracle_call_t *o, matrix_t x)
{
    matrix_t y = matrix(o, x.rows, x.cols);
    for (int64_t k = 0; k < x.rows * x.cols; k++) {
        const double *row = x.at + k / x.cols * x.cols;
        double square = 0;
        for (int64_t c = 0; c < x.cols; c++)
            square += row[c] * row[c];
        y.at[k] = x.at[k] / fmax(sqrt(square), 1e-12);
    }
    return y;
}

static matrix_t norm(oracle_call_t *o, matrix_t x, const char *gain_name, const char *shift_name)
{
    const matrix_t gain = field(o, gain_name), shift = field(o, shift_name);
    matrix_t y = matrix(o, x.rows, x.cols);
    if (o->c->norm == GNN_NORM_L2)
        return unit_rows(o, x);
    for (int64_t r = 0; r < x.rows; r++) {
        const double *row = x.at + r * x.cols;
        double mean = 0, square = o->c->norm == GNN_NORM_BATCH ? 1 : 0;
        for (int64_t k = 0; o->c->norm == GNN_NORM_LAYER && k < x.cols; k++)
            mean += row[k] / (double)x.cols;
        for (int64_t k = 0; o->c->norm != GNN_NORM_BATCH && k < x.cols; k++)
            square += (row[k] - mean) * (row[k] - mean) / (double)x.cols;
        for (int64_t k = 0; k < x.cols; k++)
            y.at[r * x.cols + k] =
                (row[k] - mean) / sqrt(square + (double)o->c->norm_eps) * gain.at[k] +
                (shift.cols ? shift.at[k] : 0);
    }
    return y;
}

/* ---- aggregation ---- */

/* w_ij over the in-degree of receivers, or of both ends, in weights. */
static matrix_t normed_weights(oracle_call_t *o, matrix_t w)
{
    const int64_t m = w.rows, n = gnn_graph_n_dst(o->graph),
                  most = n > gnn_graph_n_src(o->graph) ? n : gnn_graph_n_src(o->graph);
    const bool loops = o->c->self_loops == GNN_ON;
    const double loop = (double)o->c->loop_weight;
    matrix_t y = matrix(o, loops ? m + n : m, 1), degree = matrix(o, most, 1);
    int64_t *src = take(o, m, sizeof *src), *dst = take(o, m, sizeof *dst),
            *edge = take(o, m, sizeof *edge);
    char *has_loop = take(o, most, 1);
    ck_ok(gnn_graph_pairs(o->graph, src, dst, edge));
    for (int64_t k = 0; k < m; k++) {
        degree.at[dst[k]] += w.at[edge[k]];
        has_loop[dst[k]] |= src[k] == dst[k];
    }
    for (int64_t i = 0; loops && i < n; i++)
        degree.at[i] += has_loop[i] ? 0 : loop;
    for (int64_t k = 0; k < m; k++) {
        const double i = degree.at[dst[k]], j = degree.at[src[k]];
        y.at[edge[k]] = o->c->graph_norm == GNN_GRAPH_NORM_ROW ? (i > 0 ? w.at[edge[k]] / i : 0)
                        : i > 0 && j > 0                       ? w.at[edge[k]] / sqrt(i * j)
                                                               : 0;
    }
    for (int64_t i = 0; loops && i < n; i++)
        y.at[m + i] = degree.at[i] > 0 ? loop / degree.at[i] : 0;
    return y;
}

static matrix_t ones(oracle_call_t *o, int64_t rows)
{
    matrix_t y = matrix(o, rows, 1);
    for (int64_t k = 0; k < rows; k++)
        y.at[k] = 1;
    return y;
}

/* A self-loop, added or stored, has the mean of the features of its node's other incoming edges. */
static matrix_t with_loops(oracle_call_t *o, matrix_t e)
{
    const int64_t m = e.rows, n = gnn_graph_n_dst(o->graph), d = e.cols;
    matrix_t y = matrix(o, m + n, d);
    int64_t *src = take(o, m, sizeof *src), *dst = take(o, m, sizeof *dst),
            *edge = take(o, m, sizeof *edge);
    double *heard = take(o, n, sizeof *heard);
    ck_ok(gnn_graph_pairs(o->graph, src, dst, edge));
    memcpy(y.at, e.at, sizeof *y.at * (size_t)(m * d));
    for (int64_t k = 0; k < m; k++) {
        if (src[k] == dst[k])
            continue;
        heard[dst[k]] += 1;
        for (int64_t c = 0; c < d; c++)
            y.at[(m + dst[k]) * d + c] += e.at[edge[k] * d + c];
    }
    for (int64_t k = m * d; k < (m + n) * d; k++)
        y.at[k] /= fmax(heard[k / d - m], 1);
    for (int64_t k = 0; k < m; k++)
        if (src[k] == dst[k])
            memcpy(y.at + edge[k] * d, y.at + (m + dst[k]) * d, sizeof *y.at * (size_t)d);
    return y;
}

/* Keys are the projected messages unless they have weights of their own. */
static matrix_t keys(oracle_call_t *o, matrix_t x)
{
    const matrix_t own = linear(o, x, "key.weight", "key.bias");
    return own.cols ? own : linear(o, x, "value.weight", "value.bias");
}

/* Parts of rows, as wide as the gain, each divided by its root mean square. */
static matrix_t head_norms(oracle_call_t *o, matrix_t x, matrix_t gain)
{
    matrix_t y = matrix(o, x.rows, x.cols);
    if (gain.cols == 0)
        return x;
    for (int64_t at = 0; at < x.rows * x.cols; at += gain.cols) {
        double square = 0;
        for (int64_t k = 0; k < gain.cols; k++)
            square += x.at[at + k] * x.at[at + k] / (double)gain.cols;
        for (int64_t k = 0; k < gain.cols; k++)
            y.at[at + k] = gain.at[k] * x.at[at + k] / sqrt(square + (double)o->c->norm_eps);
    }
    return y;
}

static void score_inputs(oracle_call_t *o, matrix_t dst, matrix_t src, matrix_t *in)
{
    const bool per_head = gnn__scores_heads(o->c->score);
    matrix_t key = keys(o, src), edge = field(o, "edge.weight"),
             query = o->c->share_weights == GNN_ON ? keys(o, dst)
                                                   : linear(o, dst, "query.weight", "query.bias");
    key = head_norms(o, key, field(o, "key_norm.gain"));
    query = head_norms(o, query, field(o, "query_norm.gain"));
    if (per_head) {
        key = head_dots(o, key, field(o, "attention.sender"));
        query = head_dots(o, query, field(o, "attention.receiver"));
        edge = edge.cols ? head_dots(o, edge, field(o, "attention.edge")) : edge;
    }
    in[GNN_AGGREGATE_KEY] = key;
    in[GNN_AGGREGATE_QUERY] = query;
    in[GNN_AGGREGATE_EDGE_KEY_WEIGHT] = edge;
    in[GNN_AGGREGATE_SCORE_PARAMETERS] = field(o, "attention.vector");
    in[GNN_AGGREGATE_WEIGHER_PARAMETERS] = field(o, "attention.sink");
    in[GNN_AGGREGATE_PRIOR_0] = field(o, "distance");
    for (int p = 0; p < GNN_PRIORS; p++) {
        static const char *const pieces[] = {"slopes", "table", "keys", "queries"};
        for (size_t k = 0; in[GNN_AGGREGATE_PRIOR_0 + p].cols == 0 && k < 4; k++) {
            char name[32];
            snprintf(name, sizeof name, "prior_%d.%s", p, pieces[k]);
            in[GNN_AGGREGATE_PRIOR_0 + p] = field(o, name);
        }
    }
    in[GNN_AGGREGATE_EDGE_BIAS] = from_tensor(o, o->inputs->edge_bias);
}

static matrix_t aggregate(oracle_call_t *o, matrix_t dst, matrix_t src)
{
    const gnn_layer_config_t *c = o->c;
    const bool scored = (c->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
    const matrix_t value = linear(o, src, "value.weight", "value.bias"),
                   gates = linear(o, src, "gate_sender.weight", "gate_sender.bias");
    matrix_t in[GNN_AGGREGATE_INPUTS] = {{0}};
    gnn_aggregate_t how = {.aggregator = c->aggregator,
                           .message = c->message,
                           .graph = o->graph,
                           .view = {.self_loops = c->self_loops, .norm = c->graph_norm},
                           .score = c->score,
                           .map = c->map,
                           .weigher = c->weigher};
    memcpy(how.message_options, c->message_options, sizeof how.message_options);
    memcpy(how.map_options, c->map_options, sizeof how.map_options);
    memcpy(how.weigher_options, c->weigher_options, sizeof how.weigher_options);
    for (int p = 0; p < GNN_PRIORS; p++) {
        how.priors[p].row = c->priors[p].prior;
        memcpy(how.priors[p].options, c->priors[p].options, sizeof how.priors[p].options);
    }
    memcpy(how.shape.options, c->options, sizeof how.shape.options);
    in[GNN_AGGREGATE_SRC_MESSAGE] = value.cols == 0 ? src
                                    : gates.cols    ? side_by_side(o, gates, value)
                                                    : value;
    in[GNN_AGGREGATE_DST_MESSAGE] = linear(o, dst, "gate_receiver.weight", "gate_receiver.bias");
    in[GNN_AGGREGATE_MESSAGE_PARAMETERS] = field(o, "message.distance");
    if (scored) {
        how.shape = (gnn_aggregate_shape_t){.heads = c->heads,
                                            .key_heads = c->key_heads,
                                            .value_heads = c->value_heads,
                                            .softcap = c->softcap,
                                            .d_k = c->d_k,
                                            .d_v = c->d_v,
                                            .scale = c->scale,
                                            .slope = c->slope};
        score_inputs(o, dst, src, in);
    } else {
        how.shape.width = value.cols ? value.cols : src.cols;
        gnn_piece_t owned[GNN_ROW_PIECES] = {{0}};
        if (c->aggregator->declare && c->aggregator->declare(&how.shape, owned) == 1)
            in[GNN_AGGREGATE_PARAMETERS] = field(o, owned[0].name);
    }
    in[GNN_AGGREGATE_EDGE_FEATURES] = from_tensor(o, o->inputs->edge_features);
    if (in[GNN_AGGREGATE_EDGE_FEATURES].cols && c->self_loops == GNN_ON && c->loop_features == GNN_ON)
        in[GNN_AGGREGATE_EDGE_FEATURES] = with_loops(o, in[GNN_AGGREGATE_EDGE_FEATURES]);
    if (c->message->edge_parts > 0) {
        in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT] = field(o, "edge.weight");
        in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] = field(o, "edge.bias");
    }
    in[GNN_AGGREGATE_EDGE_WEIGHT] = from_tensor(o, o->inputs->edge_weight);
    const bool weighs = c->self_loops == GNN_ON && c->loop_weight != 1;
    if (!o->inputs->edge_weight && weighs && c->graph_norm != GNN_GRAPH_NORM_NONE)
        in[GNN_AGGREGATE_EDGE_WEIGHT] = ones(o, gnn_graph_n_edges(o->graph));
    if (in[GNN_AGGREGATE_EDGE_WEIGHT].cols && c->graph_norm != GNN_GRAPH_NORM_NONE) {
        in[GNN_AGGREGATE_EDGE_WEIGHT] = normed_weights(o, in[GNN_AGGREGATE_EDGE_WEIGHT]);
        how.view.norm = GNN_GRAPH_NORM_NONE;
    }
    gnn_tensor_t tensors[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        tensors[k] = to_tensor(o, in[k]);
    oracle_t *inner = oracle_new(&how, tensors, NULL, (gnn_rng_t){0}, 0);
    oracle_forward(inner);
    const int64_t heads = scored && c->combine == GNN_HEADS_AVERAGE ? c->heads : 1,
                  cols = inner->out_width / heads;
    matrix_t y = matrix(o, inner->n_dst, cols);
    for (int64_t r = 0; r < y.rows; r++)
        for (int64_t k = 0; k < inner->out_width; k++)
            y.at[r * cols + k % cols] += inner->out[r * inner->out_width + k].v / (double)heads;
    oracle_free(inner);
    return y;
}

/* ---- what is made of it ---- */

/* Gates in the order r, z, n. */
static matrix_t gru(oracle_call_t *o, matrix_t a, matrix_t h)
{
    const matrix_t x = linear(o, a, "gru.input.weight", "gru.input.bias"),
                   u = linear(o, h, "gru.hidden.weight", "gru.hidden.bias");
    matrix_t y = matrix(o, h.rows, h.cols);
    const int64_t d = h.cols;
    for (int64_t r = 0; r < h.rows; r++)
        for (int64_t k = 0; k < d; k++) {
            const double *gx = x.at + r * 3 * d + k, *gh = u.at + r * 3 * d + k,
                         reset = activation(GNN_SIGMOID, gx[0] + gh[0]),
                         keep = activation(GNN_SIGMOID, gx[d] + gh[d]),
                         new = tanh(gx[2 * d] + reset * gh[2 * d]);
            y.at[r * d + k] = (1 - keep) * new + keep *h.at[r * d + k];
        }
    return y;
}

/* b r + (1 - b) a, b = sigmoid(W [a, r, a - r]) */
static matrix_t beta(oracle_call_t *o, matrix_t a, matrix_t r)
{
    const matrix_t both = side_by_side(o, a, r), less = sum(o, -1, r, a),
                   b = linear(o, side_by_side(o, both, less), "beta.weight", "beta.bias");
    matrix_t y = matrix(o, a.rows, a.cols);
    for (int64_t k = 0; k < a.rows * a.cols; k++) {
        const double s = activation(GNN_SIGMOID, b.at[k / a.cols]);
        y.at[k] = s * r.at[k] + (1 - s) * a.at[k];
    }
    return y;
}

static matrix_t update(oracle_call_t *o, matrix_t x, matrix_t normed, matrix_t a)
{
    const gnn_layer_config_t *c = o->c;
    const matrix_t eps = field(o, "eps");
    matrix_t y = a;
    if (c->update == &gnn_update_linear || c->update == &gnn_update_feed_forward ||
        c->update == &gnn_update_gated)
        return linear(o, a, "out.weight", "out.bias");
    if (c->update == &gnn_update_mlp) {
        y = sum(o, 1 + (eps.cols ? eps.at[0] : (double)c->eps), x, a);
        y = activate(o, c->hidden_activation, linear(o, y, "mlp.0.weight", "mlp.0.bias"));
        y = linear(o, y, "mlp.1.weight", "mlp.1.bias");
    }
    if (c->update == &gnn_update_gru)
        y = gru(o, a, x);
    if (c->update == &gnn_update_beta)
        y = beta(o, a, linear(o, normed, "self.weight", "self.bias"));
    return sum(o, 1, y, field(o, "out.bias"));
}

/* f(g) * u, elementwise. */
static matrix_t gate(oracle_call_t *o, matrix_t g, matrix_t u)
{
    matrix_t y = matrix(o, u.rows, u.cols);
    for (int64_t k = 0; k < u.rows * u.cols; k++)
        y.at[k] = activation(o->c->hidden_activation, g.at[k]) * u.at[k];
    return y;
}

static matrix_t feed_forward(oracle_call_t *o, matrix_t z)
{
    const gnn_layer_config_t *c = o->c;
    const bool normed = c->norm != GNN_NORM_NONE, before = c->norm_position == GNN_NORM_BEFORE;
    matrix_t u = normed && before ? norm(o, z, "norm2.gain", "norm2.shift") : z;
    if (c->update == &gnn_update_gated)
        u = gate(o, linear(o, u, "ffn.gate.weight", "ffn.gate.bias"),
                 linear(o, u, "ffn.0.weight", "ffn.0.bias"));
    else
        u = activate(o, c->hidden_activation, linear(o, u, "ffn.0.weight", "ffn.0.bias"));
    u = linear(o, u, "ffn.1.weight", "ffn.1.bias");
    if (c->residual == GNN_ON)
        u = sum(o, 1, z, u);
    return normed && !before ? norm(o, u, "norm2.gain", "norm2.shift") : u;
}

void layer_oracle(const gnn_layer_t *layer, const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                  gnn_real_t *y)
{
    oracle_call_t o = {.layer = layer, .c = gnn_layer_config(layer), .graph = graph, .inputs = inputs};
    const int64_t n = gnn_graph_n_dst(graph);
    const bool normed = o.c->norm != GNN_NORM_NONE, before = o.c->norm_position == GNN_NORM_BEFORE,
               given = inputs->x_dst != NULL;
    const matrix_t src = from_tensor(&o, inputs->x_src),
                   dst = given ? from_tensor(&o, inputs->x_dst) : first_rows(src, n),
                   normed_src =
                       normed && before && !given ? norm(&o, src, "norm.gain", "norm.shift") : src,
                   normed_dst = normed && before ? norm(&o, dst, "norm.gain", "norm.shift") : dst;
    matrix_t u = update(&o, dst, normed_dst, aggregate(&o, normed_dst, normed_src));
    if (o.c->self_term == GNN_ON && o.c->update != &gnn_update_beta)
        u = sum(&o, 1, u, linear(&o, normed_dst, "self.weight", "self.bias"));
    if (o.c->residual == GNN_ON)
        u = sum(&o, 1, dst, u);
    if (normed && !before)
        u = norm(&o, u, "norm.gain", "norm.shift");
    if (o.c->update == &gnn_update_feed_forward || o.c->update == &gnn_update_gated)
        u = feed_forward(&o, u);
    u = activate(&o, o.c->activation, u);
    ck_assert(u.rows == n && u.cols == gnn_layer_width(layer));
    for (int64_t k = 0; k < n * u.cols; k++)
        y[k] = (gnn_real_t)u.at[k];
    for (int k = 0; k < o.n_taken; k++)
        free(o.taken[k]);
}
