/* Derivatives of the aggregation of receiver i, each written from its formula. */
#include "oracle.h"
#include "support.h"

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void give(oracle_array_t *to, int64_t row, int64_t col, term_t d)
{
    if (to->cols)
        add_to(&to->grad[row * to->cols + col], d);
}

/* e_c = sum over features f_e W_ec: to the features and to the weight. */
static void features_grad(oracle_t *o, const oracle_pair_t *p, oracle_array_t *weight, int64_t c,
                          term_t d)
{
    oracle_array_t *f = &o->in[GNN_AGGREGATE_EDGE_FEATURES];
    if (p->edge < 0 || p->edge >= f->rows || !weight->cols)
        return;
    for (int64_t e = 0; e < f->cols; e++) {
        give(f, p->edge, e, times(d, term(weight->value[e * weight->cols + c])));
        give(weight, e, c, times(d, term(f->value[p->edge * f->cols + e])));
    }
}

/* ---- messages ---- */

static void edge_part_grad(oracle_t *o, const oracle_pair_t *p, int64_t c, term_t d)
{
    features_grad(o, p, &o->in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT], c, d);
    give(&o->in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS], 0, c, d);
}

static void gate_grad(oracle_t *o, const oracle_pair_t *p, const term_t *e, int64_t c, term_t d)
{
    oracle_array_t *src = &o->in[GNN_AGGREGATE_SRC_MESSAGE], *dst = &o->in[GNN_AGGREGATE_DST_MESSAGE];
    int64_t w = o->width;
    double s = sigmoid(dst->value[p->i * dst->cols + c] + src->value[p->j * src->cols + c] + e[c].v);
    term_t value = plus(term(src->value[p->j * src->cols + w + c]), e[w + c]);
    term_t d_value = scaled(s, d);
    term_t d_gate = times(times(d, value), scaled(s, minus(term(1), term(s))));
    give(dst, p->i, c, d_gate);
    give(src, p->j, c, d_gate);
    give(src, p->j, w + c, d_value);
    edge_part_grad(o, p, c, d_gate);
    edge_part_grad(o, p, w + c, d_value);
}

static void message_grad(oracle_t *o, const oracle_pair_t *p, const term_t *e, const term_t *m,
                         const term_t *d_m)
{
    oracle_array_t *src = &o->in[GNN_AGGREGATE_SRC_MESSAGE];
    for (int64_t c = 0; c < o->width; c++) {
        if (o->message == ORACLE_GATE) {
            gate_grad(o, p, e, c, d_m[c]);
        } else if (o->message != ORACLE_RELU_SUM || m[c].v > 0) {
            give(src, p->j, c, d_m[c]);
            if (o->message == ORACLE_BY_DISTANCE)
                give(&o->in[GNN_AGGREGATE_MESSAGE_PARAMETERS], 0,
                     oracle__message_place(o, p->distance, c), d_m[c]);
            if (o->edge_parts)
                edge_part_grad(o, p, c, d_m[c]);
        }
    }
}

/* ---- scores ---- */

static double leaky_slope(const oracle_t *o, double x)
{
    return x > 0 ? 1 : o->slope;
}

static void raw_score_grad(oracle_t *o, const term_t *key, term_t *d_key, int64_t a, term_t d)
{
    const term_t *q = o->query;
    oracle_array_t *parameters = &o->in[GNN_AGGREGATE_SCORE_PARAMETERS];
    if (o->aggregator == ORACLE_ADDITIVE) {
        term_t both = scaled(leaky_slope(o, q[a].v + key[a].v), d);
        add_to(&o->d_query[a], both);
        add_to(&d_key[a], both);
        return;
    }
    int64_t kv = a / (o->heads / o->key_heads);
    for (int64_t c = 0; c < o->d_k; c++) {
        int64_t at = a * o->d_k + c, of = kv * o->d_k + c;
        term_t qc = q[at];
        if (o->aggregator == ORACLE_DOT) {
            add_to(&o->d_query[at], scaled(o->scale, times(d, key[of])));
            add_to(&d_key[of], scaled(o->scale, times(d, qc)));
        } else {
            const term_t sum = plus(qc, key[of]);
            const double t = tanh(sum.v), leaky = leaky_slope(o, sum.v);
            const bool is_tanh = o->aggregator == ORACLE_ADDITIVE_TANH;
            term_t both = scaled(is_tanh ? pow(cosh(sum.v), -2) : leaky,
                                 times(d, term(parameters->value[at])));
            add_to(&o->d_query[at], both);
            add_to(&d_key[of], both);
            give(parameters, 0, at, is_tanh ? scaled(t, d) : scaled(leaky, times(d, sum)));
        }
    }
}

static void sender_keys_grad(oracle_t *o, const oracle_pair_t *p, int which, const term_t *key,
                             term_t *d_key, int64_t a, term_t d)
{
    oracle_array_t *x = &o->in[GNN_AGGREGATE_PRIOR_0 + which];
    const double *options = o->how.priors[which].options;
    int64_t bucket = oracle__bucket(options, p->distance);
    for (int64_t c = 0; c < o->d_k; c++) {
        int64_t at = (options[3] > 0 ? 0 : a * o->d_k) + c,
                of = a / (o->heads / o->key_heads) * o->d_k + c;
        add_to(&d_key[of], scaled(o->scale * x->value[bucket * x->cols + at], d));
        give(x, bucket, at, scaled(o->scale, times(d, key[of])));
    }
}

static void prior_grad(oracle_t *o, const oracle_pair_t *p, int which, int64_t a, term_t d)
{
    oracle_array_t *x = &o->in[GNN_AGGREGATE_PRIOR_0 + which],
                   *other = &o->in[GNN_AGGREGATE_PRIOR_QUERY];
    const double *options = o->how.priors[which].options;
    if (o->prior[which] == ORACLE_SLOPE)
        give(x, 0, a, scaled(p->distance, d));
    if (o->prior[which] == ORACLE_SLOPE_ABSOLUTE)
        give(x, 0, a, scaled(-fabs(p->distance), d));
    if (o->prior[which] == ORACLE_TABLE)
        give(x, a, oracle__bucket(options, p->distance), d);
    if (o->prior[which] == ORACLE_PLACE)
        give(x, p->i, oracle__place(options, p->place, a), d);
    if (o->prior[which] == ORACLE_RECEIVER)
        give(x, p->i, a, d);
    if (o->prior[which] == ORACLE_SENDER)
        give(x, p->j, a, d);
    if (o->prior[which] == ORACLE_DECAY_PRIOR) {
        for (int64_t r = oracle__segment_begin(o, p->i); r <= p->i; r++)
            give(x, r, a, d);
        for (int64_t r = oracle__segment_begin(o, p->j); r <= p->j; r++)
            give(x, r, a, scaled(-1, d));
    }
    for (int64_t c = 0; o->prior[which] == ORACLE_KEYS && c < o->d_k; c++) {
        int64_t at_q = a * o->d_k + c, at = (options[3] > 0 ? 0 : a * o->d_k) + c,
                bucket = oracle__bucket(options, p->distance);
        term_t d_q = scaled(o->scale * x->value[bucket * x->cols + at], d),
               q = other->cols ? term(other->value[p->i * other->cols + at_q]) : o->query[at_q];
        give(x, bucket, at, scaled(o->scale, times(d, q)));
        if (other->cols)
            give(other, p->i, at_q, d_q);
        else
            add_to(&o->d_query[at_q], d_q);
    }
}

static void bias_grad(oracle_t *o, const oracle_pair_t *p, const term_t *key, term_t *d_key,
                      int64_t a, term_t d)
{
    oracle_array_t *bias = &o->in[GNN_AGGREGATE_EDGE_BIAS];
    if (p->edge >= 0 && p->edge < o->n_edges)
        give(bias, p->edge, bias->cols == 1 ? 0 : a, d);
    for (int k = 0; k < GNN_PRIORS; k++)
        if (oracle__has_prior(o, p, k) && o->prior[k] == ORACLE_SENDER_KEYS)
            sender_keys_grad(o, p, k, key, d_key, a, d);
        else if (oracle__has_prior(o, p, k))
            prior_grad(o, p, k, a, d);
}

/* d cap(s) / d s = 1 - tanh^2 */
static term_t uncapped(const oracle_t *o, int64_t k, int64_t a, term_t d)
{
    const double c = (double)o->how.shape.softcap, t = o->row_capped[k * o->heads + a].v / c;
    return c > 0 ? (term_t){(1 - t * t) * d.v, (1 + t * t) * d.b} : d;
}

/* A row of queries or keys as it is given. */
static void given(const oracle_array_t *x, int64_t row, int64_t width, term_t *to)
{
    for (int64_t c = 0; c < width; c++)
        to[c] = term(x->value[row * x->cols + c]);
}

static void key_grad(oracle_t *o, const oracle_pair_t *p, const term_t *d_key)
{
    term_t row[o->key_width + 1];
    given(&o->in[GNN_AGGREGATE_KEY], p->j, o->key_width, row);
    for (int64_t c = 0; c < o->key_width; c++) {
        give(&o->in[GNN_AGGREGATE_KEY], p->j, c, oracle__map_grad(o, row, d_key, c, p->at_j));
        features_grad(o, p, &o->in[GNN_AGGREGATE_EDGE_KEY_WEIGHT], c, d_key[c]);
    }
}

/* y = sum_k alpha_k keep_k f_k m_k: with u_k = keep_k f_k (dy . m_k), d alpha_k = u_k, d score_k
 * = alpha_k (u_k - sum_l alpha_l u_l), d m_k = alpha_k keep_k f_k dy, d f_k = alpha_k keep_k (dy
 * . m_k). Straight-through: d score_k with the alphas that are believed. */
static void attend_grad(oracle_t *o, int64_t n, int64_t a)
{
    int64_t kv = a / (o->heads / o->value_heads);
    term_t centre = term(0);
    for (int64_t k = 0; k < n; k++) {
        term_t alpha = o->row_score[k * o->heads + a], dot = term(0);
        double keep = o->row_keep[k * o->heads + a];
        for (int64_t c = 0; c < o->d_v; c++) {
            int64_t at = k * o->width + kv * o->d_v + c;
            term_t d_y = o->row_d_y[a * o->d_v + c];
            add_to(&dot, times(d_y, o->row_message[at]));
            add_to(&o->row_d_message[at], scaled(keep, times(times(alpha, o->row_factor[k]), d_y)));
        }
        add_to(&o->row_d_factor[k], scaled(keep, times(alpha, dot)));
        o->row_d_score[k * o->heads + a] = scaled(keep, times(o->row_factor[k], dot));
        add_to(&centre, times(o->row_believed[k * o->heads + a], o->row_d_score[k * o->heads + a]));
    }
    for (int64_t k = 0; k < n; k++) {
        term_t *d = &o->row_d_score[k * o->heads + a], w = o->row_believed[k * o->heads + a];
        if (o->weigher == ORACLE_SIGMOID)
            *d = times(times(w, minus(term(1), w)), *d);
        else if (o->weigher == ORACLE_COLLISION)
            *d = times(w, *d);
        else if (o->weigher == ORACLE_RATIO)
            *d = oracle__over(minus(*d, centre), o->total[a]);
        else if (o->weigher != ORACLE_LINEAR_WEIGHTS && o->weigher != ORACLE_DECAY)
            *d = scaled(o->steepness[a], times(w, minus(*d, centre)));
    }
    give(&o->in[GNN_AGGREGATE_WEIGHER_PARAMETERS], 0, a, scaled(-o->sink[a], centre));
}

static void scored_grad(oracle_t *o, const oracle_pair_t *p, int64_t n)
{
    for (int64_t a = 0; a < o->heads; a++)
        attend_grad(o, n, a);
    for (int64_t k = 0; k < n; k++) {
        const term_t *key = o->row_key + k * o->key_width;
        term_t *d_key = o->row_d_key + k * o->key_width;
        for (int64_t c = 0; c < o->key_width; c++)
            d_key[c] = term(0);
        for (int64_t a = 0; a < o->heads; a++) {
            term_t d = o->row_d_score[k * o->heads + a], d_terms = d;
            if (oracle__multiplies(o)) {
                d = oracle__times_exp(d, oracle__terms(o, &p[k], key, a));
                d_terms = times(d, o->row_capped[k * o->heads + a]);
            }
            bias_grad(o, &p[k], key, d_key, a, d_terms);
            raw_score_grad(o, key, d_key, a, uncapped(o, k, a, d));
        }
        key_grad(o, &p[k], d_key);
    }
    term_t row[o->query_width + 1];
    given(&o->in[GNN_AGGREGATE_QUERY], p->i, n > 0 ? o->query_width : 0, row);
    for (int64_t c = 0; n > 0 && c < o->query_width; c++)
        give(&o->in[GNN_AGGREGATE_QUERY], p->i, c, oracle__map_grad(o, row, o->d_query, c, p->at_i));
}

/* ---- aggregators ---- */

static term_t heard(const oracle_t *o, int64_t k, int64_t c)
{
    return times(o->row_factor[k], o->row_message[k * o->width + c]);
}

static int64_t ties(const oracle_t *o, int64_t n, int64_t c)
{
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
        count += heard(o, k, c).v == o->row_y[c].v;
    return count;
}

/* w_k of the softmax aggregator. */
static double share_of(const oracle_t *o, int64_t n, int64_t k, int64_t c)
{
    const double t = o->in[GNN_AGGREGATE_PARAMETERS].value[0];
    double total = 0;
    for (int64_t j = 0; j < n; j++)
        total += exp(t * (heard(o, j, c).v - heard(o, k, c).v));
    return 1 / total;
}

/* d y_c / d heard_k */
static term_t unscored_slope(const oracle_t *o, int64_t n, int64_t k, int64_t c, int64_t tied,
                             term_t mean)
{
    if (o->aggregator == ORACLE_SUM)
        return term(1);
    if (o->aggregator == ORACLE_MEAN)
        return term(1 / (double)n);
    if (o->aggregator == ORACLE_VAR)
        return scaled(2 / (double)n, minus(heard(o, k, c), mean));
    if (o->aggregator == ORACLE_SOFTMAX_MEAN)
        return scaled(share_of(o, n, k, c),
                      plus(term(1), scaled(o->in[GNN_AGGREGATE_PARAMETERS].value[0],
                                           minus(heard(o, k, c), o->row_y[c]))));
    if (o->aggregator != ORACLE_STD)
        return heard(o, k, c).v == o->row_y[c].v ? term(1 / (double)tied) : term(0);
    if (o->row_y[c].v == 0)
        return term(0);
    return scaled(1 / ((double)n * o->row_y[c].v), minus(heard(o, k, c), mean));
}

static void unscored_grad(oracle_t *o, int64_t n)
{
    for (int64_t c = 0; c < o->width; c++) {
        term_t mean = term(0);
        int64_t tied = ties(o, n, c);
        for (int64_t k = 0; k < n; k++)
            add_to(&mean, scaled(1 / (double)n, heard(o, k, c)));
        for (int64_t k = 0; k < n; k++) {
            term_t d = times(o->row_d_y[c], unscored_slope(o, n, k, c, tied, mean));
            add_to(&o->row_d_message[k * o->width + c], times(d, o->row_factor[k]));
            add_to(&o->row_d_factor[k], times(d, o->row_message[k * o->width + c]));
            if (o->aggregator == ORACLE_SOFTMAX_MEAN)
                give(&o->in[GNN_AGGREGATE_PARAMETERS], 0, 0,
                     scaled(share_of(o, n, k, c),
                            times(o->row_d_y[c],
                                  times(heard(o, k, c), minus(heard(o, k, c), o->row_y[c])))));
        }
    }
}

static void output_grad(oracle_t *o, int64_t i)
{
    oracle_array_t *g = &o->in[GNN_AGGREGATE_GATE];
    int64_t per_head = o->out_width / o->heads;
    for (int64_t c = 0; c < o->out_width; c++) {
        term_t d = term(o->d_out[i * o->out_width + c]);
        int64_t a = c / per_head;
        give(g, i, a, times(d, o->row_y[c]));
        o->row_d_y[c] = g->cols ? times(d, term(g->value[i * o->heads + a])) : d;
    }
}

void oracle__row_backward(oracle_t *o, int64_t i)
{
    const oracle_pair_t *p = o->pairs + o->first[i];
    int64_t n = o->first[i + 1] - o->first[i];
    output_grad(o, i);
    for (int64_t k = 0; k < n * o->width; k++)
        o->row_d_message[k] = term(0);
    for (int64_t k = 0; k < n; k++)
        o->row_d_factor[k] = term(0);
    if (o->scored)
        scored_grad(o, p, n);
    else
        unscored_grad(o, n);
    for (int64_t k = 0; k < n; k++) {
        const oracle_array_t *weight = &o->in[GNN_AGGREGATE_EDGE_WEIGHT];
        message_grad(o, &p[k], o->row_edge + k * o->edge_parts * o->width,
                     o->row_message + k * o->width, o->row_d_message + k * o->width);
        if (p[k].edge >= 0 && p[k].edge < weight->rows)
            give(&o->in[GNN_AGGREGATE_EDGE_WEIGHT], p[k].edge, 0,
                 scaled(p[k].scale, o->row_d_factor[k]));
    }
}
