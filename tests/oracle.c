/* The oracle's set-up: sizes, inputs, the list of pairs with the view's rules, and the loop over
 * receivers. */
#include "oracle.h"
#include "support.h"

#include <graphs/graph.h>

static const char *const message_names[ORACLE_MESSAGES] = {"none",     "linear", "linear_edge",
                                                           "relu_sum", "gate",   "by_distance"};
static const char *const aggregator_names[ORACLE_AGGREGATORS] = {
    "sum",      "mean",        "max", "min",          "std",          "dot",
    "additive", "additive_v2", "var", "softmax_mean", "additive_tanh"};
static const char *const weigher_names[ORACLE_WEIGHERS] = {
    "softmax", "softmax_sink", "linear",    "sigmoid",  "best",     "decay",
    "ratio",   "top",          "sparsemax", "entmax15", "collision"};
static const char *const prior_names[ORACLE_PRIORS] = {"slope",       "slope_absolute", "table",
                                                       "keys",        "receiver",       "sender",
                                                       "sender_keys", "place",          "decay"};
static const char *const map_names[] = {"none", "rope", "rope_llama3", "rope_yarn", "l2"};

static int find(const char *name, const char *const *names, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(name, names[k]) == 0)
            return k;
    ck_abort_msg("the oracle does not know the row \"%s\": add its formulas to tests/oracle_*.c",
                 name);
    return -1;
}

bool oracle_knows_map(const char *name)
{
    bool known = false;
    for (size_t k = 0; k < sizeof map_names / sizeof *map_names; k++)
        known |= strcmp(map_names[k], name) == 0;
    return known;
}

static void *array(int64_t n, size_t element)
{
    return calloc((size_t)(n > 0 ? n : 1), element);
}

static double or_else(double x, double otherwise)
{
    return x != 0 ? x : otherwise;
}

static void sizes(oracle_t *o)
{
    const gnn_aggregate_shape_t *s = &o->how.shape;
    o->message = (oracle_message_t)find(o->how.message->name, message_names, ORACLE_MESSAGES);
    o->scored = (o->how.aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
    const char *name = !o->scored     ? o->how.aggregator->name
                       : o->how.score ? o->how.score->name
                                      : "dot";
    o->aggregator = (oracle_aggregator_t)find(name, aggregator_names, ORACLE_AGGREGATORS);
    o->weigher = o->how.weigher
                     ? (oracle_weigher_t)find(o->how.weigher->name, weigher_names, ORACLE_WEIGHERS)
                     : ORACLE_SOFTMAX;
    o->turns = o->how.map ? find(o->how.map->name, map_names, 5) : 0;
    o->unit = o->turns == 4;
    o->turns = o->unit ? 0 : o->turns;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (o->how.priors[p].row)
            o->prior[p] =
                (oracle_prior_t)find(o->how.priors[p].row->name, prior_names, ORACLE_PRIORS);
    o->heads = s->heads ? s->heads : 1;
    o->key_heads = s->key_heads ? s->key_heads : o->heads;
    o->value_heads = s->value_heads ? s->value_heads : o->heads;
    o->d_k = s->d_k ? s->d_k : s->width / o->heads;
    o->d_v = s->d_v ? s->d_v : s->width / o->heads;
    o->width = o->scored ? o->value_heads * o->d_v : s->width;
    o->out_width = o->scored ? o->heads * o->d_v : s->width;
    bool per_head = o->aggregator == ORACLE_ADDITIVE;
    o->query_width = !o->scored ? 0 : per_head ? o->heads : o->heads * o->d_k;
    o->key_width = !o->scored ? 0 : per_head ? o->heads : o->key_heads * o->d_k;
    o->scale = or_else((double)s->scale, 1 / sqrt((double)(o->d_k > 0 ? o->d_k : 1)));
    o->slope = or_else((double)s->slope, (double)(gnn_real_t)0.2);
    o->edge_parts = o->message == ORACLE_GATE                                           ? 2
                    : o->message == ORACLE_LINEAR_EDGE || o->message == ORACLE_RELU_SUM ? 1
                                                                                        : 0;
}

/* ---- pairs ---- */

/* Offset inside the segment plus the segment's start; the node id if the graph has no segments. */
static double position(const int64_t *segments, const int64_t *starts, int64_t n, int64_t node)
{
    for (int64_t s = 0; segments && s < n; s++)
        if (node >= segments[s] && node < segments[s + 1])
            return (double)(node - segments[s] + starts[s]);
    return (double)node;
}

int64_t oracle__segment_begin(const oracle_t *o, int64_t row)
{
    const int64_t *segments = gnn_graph_src_segments(o->how.graph);
    int64_t begin = 0;
    for (int64_t s = 0; s < gnn_graph_n_segments(o->how.graph); s++)
        begin = segments[s] <= row ? segments[s] : begin;
    return begin;
}

/* gnn_graph_pairs, then the self-loops that are missing. Returns how many pairs there are. */
static int64_t list_pairs(oracle_t *o, oracle_pair_t *list)
{
    const gnn_graph_t *g = o->how.graph;
    int64_t m = gnn_graph_n_pairs(g), segments = gnn_graph_n_segments(g);
    int64_t *src = array(m, sizeof *src), *dst = array(m, sizeof *dst),
            *edge = array(m, sizeof *edge);
    char *has_loop = array(o->n_dst, 1);
    ck_ok(gnn_graph_pairs(g, src, dst, edge));
    for (int64_t k = 0, part = 0, end = 0; k < m; k++) {
        while (k == end)
            end += g->base.parts[part++].pairs.count;
        list[k] = (oracle_pair_t){.i = dst[k], .j = src[k], .edge = edge[k], .part = part};
        if (src[k] == dst[k])
            has_loop[dst[k]] = 1;
    }
    for (int64_t i = 0; o->how.view.self_loops == GNN_ON && i < o->n_dst; i++)
        if (!has_loop[i])
            list[m++] = (oracle_pair_t){.i = i,
                                        .j = i,
                                        .edge = o->n_edges + i,
                                        .part = g->base.n_parts == 1 ? 1 : g->base.n_parts + 1};
    for (int64_t k = 0; k < m; k++) {
        list[k].at_j = position(gnn_graph_src_segments(g), g->src_start, segments, list[k].j);
        list[k].at_i = position(gnn_graph_dst_segments(g), g->dst_start, segments, list[k].i);
        const gnn__part_t *part =
            list[k].part <= g->base.n_parts ? &g->base.parts[list[k].part - 1] : NULL;
        const bool apart = part && part->dst_position;
        list[k].place = apart ? (double)part->src_position[list[k].j] : list[k].at_j;
        list[k].distance =
            list[k].place - (apart ? (double)part->dst_position[list[k].i] : list[k].at_i);
    }
    free(src);
    free(dst);
    free(edge);
    free(has_loop);
    return m;
}

/* D^-1/2 A D^-1/2 or D^-1 A with in-degrees D. */
static void scale_pairs(const oracle_t *o, oracle_pair_t *list)
{
    double *degree = array(o->n_dst, sizeof *degree);
    for (int64_t k = 0; k < o->n_pairs; k++)
        degree[list[k].i] += 1;
    for (int64_t k = 0; k < o->n_pairs; k++) {
        double of_i = degree[list[k].i];
        list[k].scale = 1;
        if (o->how.view.norm == GNN_GRAPH_NORM_ROW)
            list[k].scale = 1 / of_i;
        else if (o->how.view.norm == GNN_GRAPH_NORM_SYMMETRIC)
            list[k].scale = degree[list[k].j] > 0 ? 1 / sqrt(of_i * degree[list[k].j]) : 0;
    }
    free(degree);
}

static void make_pairs(oracle_t *o)
{
    int64_t most = gnn_graph_n_pairs(o->how.graph) + o->n_dst;
    oracle_pair_t *list = array(most, sizeof *list);
    o->n_pairs = list_pairs(o, list);
    scale_pairs(o, list);
    o->pairs = array(o->n_pairs, sizeof *o->pairs);
    o->first = array(o->n_dst + 1, sizeof *o->first);
    int64_t n = 0;
    int64_t *next = array(o->n_dst + 1, sizeof *next);
    for (int64_t k = 0; k < o->n_pairs; k++)
        o->first[list[k].i + 1]++;
    for (int64_t i = 0; i < o->n_dst; i++) {
        o->first[i + 1] += o->first[i];
        next[i] = n;
        n = o->first[i + 1];
    }
    for (int64_t k = 0; k < o->n_pairs; k++)
        o->pairs[next[list[k].i]++] = list[k];
    free(next);
    free(list);
}

/* ---- life ---- */

static void make_rows(oracle_t *o)
{
    int64_t n = 0;
    for (int64_t i = 0; i < o->n_dst; i++)
        if (o->first[i + 1] - o->first[i] > n)
            n = o->first[i + 1] - o->first[i];
    o->row_message = array(n * o->width, sizeof(term_t));
    o->row_d_message = array(n * o->width, sizeof(term_t));
    o->row_edge = array(n * o->edge_parts * o->width, sizeof(term_t));
    o->row_key = array(n * o->key_width, sizeof(term_t));
    o->row_d_key = array(n * o->key_width, sizeof(term_t));
    o->row_score = array(n * o->heads, sizeof(term_t));
    o->row_d_score = array(n * o->heads, sizeof(term_t));
    o->row_capped = array(n * o->heads, sizeof(term_t));
    o->row_believed = array(n * o->heads, sizeof(term_t));
    o->query = array(o->query_width, sizeof(term_t));
    o->d_query = array(o->query_width, sizeof(term_t));
    o->sink = array(o->heads, sizeof(double));
    o->total = array(o->heads, sizeof(term_t));
    o->row_keep = array(n * o->heads, sizeof(double));
    o->row_factor = array(n, sizeof(term_t));
    o->row_d_factor = array(n, sizeof(term_t));
    o->row_y = array(o->out_width, sizeof(term_t));
    o->row_d_y = array(o->out_width, sizeof(term_t));
    o->margin_message = array(o->width, sizeof(double));
    o->margin_score = array(o->heads, sizeof(double));
    o->steepness = array(o->heads, sizeof(double));
}

static void copy_input(oracle_array_t *to, const gnn_tensor_t *x)
{
    *to = (oracle_array_t){.rows = x->rows, .cols = x->data ? x->cols : 0};
    to->value = array(to->rows * to->cols, sizeof *to->value);
    to->grad = array(to->rows * to->cols, sizeof *to->grad);
    for (int64_t r = 0; x->data && r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            to->value[r * x->cols + c] = (double)gnn__row(x, r)[c];
}

oracle_t *oracle_new(const gnn_aggregate_t *how, const gnn_tensor_t in[GNN_AGGREGATE_INPUTS],
                     const gnn_real_t *d_out, gnn_rng_t rng, int training)
{
    oracle_t *o = array(1, sizeof *o);
    o->how = *how;
    o->rng = rng;
    o->n_dst = gnn_graph_n_dst(how->graph);
    o->n_src = gnn_graph_n_src(how->graph);
    o->n_edges = gnn_graph_n_edges(how->graph);
    sizes(o);
    o->dropping = training && o->scored && how->dropout > 0;
    make_pairs(o);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        copy_input(&o->in[k], &in[k]);
    int64_t n = o->n_dst * o->out_width;
    o->d_out = array(n, sizeof *o->d_out);
    for (int64_t k = 0; k < n; k++)
        o->d_out[k] = d_out ? (double)d_out[k] : 1;
    o->out = array(n, sizeof *o->out);
    o->margin = array(n, sizeof *o->margin);
    o->weights = array(o->n_pairs * o->heads, sizeof *o->weights);
    make_rows(o);
    return o;
}

void oracle_free(oracle_t *o)
{
    if (!o)
        return;
    void *const owned[] = {o->first,        o->pairs,        o->d_out,        o->out,
                           o->weights,      o->margin,       o->row_message,  o->row_d_message,
                           o->row_edge,     o->row_key,      o->row_d_key,    o->row_score,
                           o->row_d_score,  o->row_factor,   o->row_d_factor, o->row_keep,
                           o->row_capped,   o->query,        o->d_query,      o->sink,
                           o->total,        o->row_y,        o->row_d_y,      o->margin_message,
                           o->margin_score, o->row_believed, o->steepness};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        free(o->in[k].value);
        free(o->in[k].grad);
    }
    free(o);
}

/* ---- running ---- */

void oracle_forward(oracle_t *o)
{
    for (int64_t i = 0; i < o->n_dst; i++)
        oracle__row_forward(o, i);
}

void oracle_run(oracle_t *o)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        for (int64_t at = 0; at < o->in[k].rows * o->in[k].cols; at++)
            o->in[k].grad[at] = term(0);
    for (int64_t i = 0; i < o->n_dst; i++) {
        oracle__row_forward(o, i);
        oracle__row_backward(o, i);
    }
}

double oracle_leave_kinks_out(oracle_t *o, double least)
{
    int64_t n = o->n_dst * o->out_width, near = 0;
    for (int64_t k = 0; k < n; k++)
        if (o->margin[k] < least) {
            o->d_out[k] = 0;
            near++;
        }
    return n > 0 ? (double)near / (double)n : 0;
}

double *oracle_segment_weights(const oracle_t *o, int64_t *n)
{
    const int64_t *rows = gnn_graph_dst_segments(o->how.graph),
                  *cols = gnn_graph_src_segments(o->how.graph);
    int64_t segments = gnn_graph_n_segments(o->how.graph);
    *n = 0;
    for (int64_t s = 0; s < segments; s++)
        *n += o->heads * (rows[s + 1] - rows[s]) * (cols[s + 1] - cols[s]);
    double *weights = array(*n, sizeof *weights), *of = weights;
    for (int64_t s = 0; s < segments; s++) {
        int64_t r = rows[s + 1] - rows[s], c = cols[s + 1] - cols[s];
        for (int64_t k = 0; k < o->n_pairs; k++) {
            const oracle_pair_t *p = &o->pairs[k];
            bool inside =
                p->i >= rows[s] && p->i < rows[s + 1] && p->j >= cols[s] && p->j < cols[s + 1];
            for (int64_t a = 0; inside && a < o->heads; a++)
                of[(a * r + p->i - rows[s]) * c + p->j - cols[s]] += o->weights[k * o->heads + a];
        }
        of += o->heads * r * c;
    }
    return weights;
}
