/* Messages and aggregation of receiver i, formula by formula. */
#include "oracle.h"
#include "support.h"

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void lower(double *margin, double x)
{
    if (x < *margin)
        *margin = x;
}

/* Distance of x from a kink at 0. An exact 0 is 0 in every arithmetic. */
static double off_zero(term_t x)
{
    return x.v == 0 ? 1 : fabs(x.v) / x.b;
}

static bool users_edge(const oracle_t *o, const oracle_pair_t *p)
{
    return p->edge >= 0 && p->edge < o->n_edges;
}

/* Row `features of p` times column c of a weight (d_e x cols). An added self-loop has features 0
 * unless they are given. */
static term_t project_features(const oracle_t *o, const oracle_pair_t *p,
                               const oracle_array_t *weight, int64_t c)
{
    const oracle_array_t *f = &o->in[GNN_AGGREGATE_EDGE_FEATURES];
    term_t sum = term(0);
    for (int64_t e = 0; p->edge >= 0 && p->edge < f->rows && e < f->cols; e++)
        add_to(&sum, times(term(f->value[p->edge * f->cols + e]),
                           term(weight->value[e * weight->cols + c])));
    return sum;
}

/* ---- messages ---- */

static void edge_parts(const oracle_t *o, const oracle_pair_t *p, term_t *parts)
{
    const oracle_array_t *weight = &o->in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT],
                         *bias = &o->in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS];
    for (int64_t c = 0; c < o->edge_parts * o->width; c++) {
        parts[c] = weight->cols ? project_features(o, p, weight, c) : term(0);
        if (bias->cols)
            add_to(&parts[c], term(bias->value[c]));
    }
}

/* none, linear: x_j     linear_edge: x_j + e     relu_sum: relu(x_j + e)     gate: sigmoid(g_i +
 * g_j + e_g) (v_j + e_v) */
static void message(oracle_t *o, const oracle_pair_t *p, const term_t *e, term_t *m)
{
    int64_t w = o->width;
    const double *x =
        o->in[GNN_AGGREGATE_SRC_MESSAGE].value + p->j * o->in[GNN_AGGREGATE_SRC_MESSAGE].cols;
    const double *g =
        o->in[GNN_AGGREGATE_DST_MESSAGE].value + p->i * o->in[GNN_AGGREGATE_DST_MESSAGE].cols;
    for (int64_t c = 0; c < w; c++) {
        m[c] = term(x[c]);
        if (o->message == ORACLE_LINEAR_EDGE || o->message == ORACLE_RELU_SUM)
            add_to(&m[c], e[c]);
        if (o->message == ORACLE_RELU_SUM) {
            lower(&o->margin_message[c], off_zero(m[c]));
            m[c] = m[c].v > 0 ? m[c] : term(0);
        }
        if (o->message == ORACLE_BY_DISTANCE)
            add_to(&m[c], term(o->in[GNN_AGGREGATE_MESSAGE_PARAMETERS]
                                   .value[oracle__message_place(o, p->distance, c)]));
        if (o->message == ORACLE_GATE)
            m[c] = times(term(sigmoid(g[c] + x[c] + e[c].v)), plus(term(x[w + c]), e[w + c]));
    }
}

/* Edge weight times the view's scale. */
static term_t factor(const oracle_t *o, const oracle_pair_t *p)
{
    const oracle_array_t *weight = &o->in[GNN_AGGREGATE_EDGE_WEIGHT];
    return term(p->edge >= 0 && weight->cols && p->edge < weight->rows
                    ? p->scale * weight->value[p->edge]
                    : p->scale);
}

/* ---- scores ---- */

static term_t leaky(oracle_t *o, int64_t a, term_t x)
{
    lower(&o->margin_score[a], off_zero(x));
    return x.v > 0 ? x : scaled(o->slope, x);
}

/* Edge features are added to the key after the map. */
static void keys(const oracle_t *o, const oracle_pair_t *p, term_t *key)
{
    const oracle_array_t *k = &o->in[GNN_AGGREGATE_KEY],
                         *weight = &o->in[GNN_AGGREGATE_EDGE_KEY_WEIGHT];
    term_t row[o->key_width + 1];
    for (int64_t c = 0; c < o->key_width; c++)
        row[c] = term(k->value[p->j * k->cols + c]);
    for (int64_t c = 0; c < o->key_width; c++) {
        key[c] = oracle__turned(o, row, c, p->at_j, 1);
        if (weight->cols)
            add_to(&key[c], project_features(o, p, weight, c));
    }
}

/* dot: scale q.k     additive: leaky(q + k)     additive_v2: a . leaky(q + k)
 * additive_tanh: a . tanh(q + k) */
static term_t raw_score(oracle_t *o, const term_t *key, int64_t a)
{
    const term_t *q = o->query;
    const double *parameters = o->in[GNN_AGGREGATE_SCORE_PARAMETERS].value;
    if (o->aggregator == ORACLE_ADDITIVE)
        return leaky(o, a, plus(q[a], key[a]));
    int64_t kv = a / (o->heads / o->key_heads);
    term_t sum = term(0);
    for (int64_t c = 0; c < o->d_k; c++) {
        term_t qc = q[a * o->d_k + c], kc = key[kv * o->d_k + c];
        if (o->aggregator == ORACLE_DOT)
            add_to(&sum, scaled(o->scale, times(qc, kc)));
        else if (o->aggregator == ORACLE_ADDITIVE_TANH)
            add_to(&sum, times(term(parameters[a * o->d_k + c]),
                               (term_t){tanh(plus(qc, kc).v), fmin(1, plus(qc, kc).b)}));
        else
            add_to(&sum, times(term(parameters[a * o->d_k + c]), leaky(o, a, plus(qc, kc))));
    }
    return sum;
}

/* The factor of a bucket's row. */
static term_t multiplied(const oracle_t *o, const oracle_pair_t *p, int which, const term_t *key,
                         int64_t a, int64_t c)
{
    const oracle_array_t *other = &o->in[GNN_AGGREGATE_PRIOR_QUERY];
    if (o->prior[which] == ORACLE_SENDER_KEYS)
        return key[a / (o->heads / o->key_heads) * o->d_k + c];
    return other->cols ? term(other->value[p->i * other->cols + a * o->d_k + c])
                       : o->query[a * o->d_k + c];
}

/* The sum of gates of a row's segment up to it. */
static term_t running(const oracle_t *o, const oracle_array_t *gates, int64_t row, int64_t a)
{
    term_t sum = term(0);
    for (int64_t r = oracle__segment_begin(o, row); r <= row; r++)
        add_to(&sum, term(gates->value[r * gates->cols + a]));
    return sum;
}

static term_t prior(const oracle_t *o, const oracle_pair_t *p, int which, const term_t *key, int64_t a)
{
    const oracle_array_t *x = &o->in[GNN_AGGREGATE_PRIOR_0 + which];
    const double *options = o->how.priors[which].options;
    term_t sum = term(0);
    switch (o->prior[which]) {
    case ORACLE_SLOPE: return term(x->value[a] * p->distance);
    case ORACLE_SLOPE_ABSOLUTE: return term(-x->value[a] * fabs(p->distance));
    case ORACLE_TABLE: return term(x->value[a * x->cols + oracle__bucket(options, p->distance)]);
    case ORACLE_PLACE: return term(x->value[p->i * x->cols + oracle__place(options, p->place, a)]);
    case ORACLE_RECEIVER: return term(x->value[p->i * x->cols + a]);
    case ORACLE_SENDER: return term(x->value[p->j * x->cols + a]);
    case ORACLE_DECAY_PRIOR: return minus(running(o, x, p->i, a), running(o, x, p->j, a));
    default: break;
    }
    for (int64_t c = 0; c < o->d_k; c++) {
        int64_t at = (options[3] > 0 ? 0 : a * o->d_k) + c;
        add_to(&sum, scaled(o->scale * x->value[oracle__bucket(options, p->distance) * x->cols + at],
                            multiplied(o, p, which, key, a, c)));
    }
    return sum;
}

term_t oracle__terms(const oracle_t *o, const oracle_pair_t *p, const term_t *key, int64_t a)
{
    const oracle_array_t *bias = &o->in[GNN_AGGREGATE_EDGE_BIAS];
    term_t sum = term(0);
    if (bias->cols && users_edge(o, p))
        add_to(&sum, term(bias->value[p->edge * bias->cols + (bias->cols == 1 ? 0 : a)]));
    for (int k = 0; k < GNN_PRIORS; k++)
        if (oracle__has_prior(o, p, k))
            add_to(&sum, prior(o, p, k, key, a));
    return sum;
}

static term_t capped(const oracle_t *o, term_t score)
{
    double c = (double)o->how.shape.softcap;
    return c > 0 ? (term_t){c * tanh(score.v / c), score.b} : score;
}

/* A weight whose derivative by its score is at most `slope` times itself: rounding of a score of
 * bound B moves it by that much. */
static term_t weight_of(double weight, term_t score, double slope)
{
    return (term_t){weight, weight > 0 ? weight * (1 + slope * score.b) : 0};
}

/* If all scores are minus infinity the output is 0. The sink is one more score. */
static void softmax(const oracle_t *o, int64_t n, int64_t a)
{
    bool has_sink = o->weigher == ORACLE_SOFTMAX_SINK;
    double of_sink = has_sink ? o->in[GNN_AGGREGATE_WEIGHER_PARAMETERS].value[a] : -INFINITY,
           largest = of_sink, sum = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, o->row_score[k * o->heads + a].v);
    for (int64_t k = 0; k < n; k++) {
        term_t *score = &o->row_score[k * o->heads + a];
        *score = weight_of(largest == -INFINITY ? 0 : exp(score->v - largest), *score, 1);
        sum += score->v;
    }
    sum += has_sink ? exp(of_sink - largest) : 0;
    for (int64_t k = 0; k < n && sum > 0; k++)
        o->row_score[k * o->heads + a] = scaled(1 / sum, o->row_score[k * o->heads + a]);
    o->sink[a] = has_sink ? exp(of_sink - largest) / sum : 0;
}

/* Softmax among the `count` best scores alone; those equal to the last of them share its weight.
 * Where the next score is near, two correct programs may choose differently. */
static void choose_best(oracle_t *o, int64_t n, int64_t a)
{
    const int64_t count = (int64_t)fmin(oracle__option(o->how.weigher_options[0], 1), (double)n);
    double last = -INFINITY, next = -INFINITY, largest = -INFINITY, b = 0, sum = 0, tied = 0, in = 0;
    term_t chosen[n + 1];
    for (int64_t k = 0; k < n; k++) {
        const term_t s = o->row_score[k * o->heads + a];
        int64_t above = 0, equal = 0;
        for (int64_t l = 0; l < n; l++) {
            above += o->row_score[l * o->heads + a].v > s.v;
            equal += o->row_score[l * o->heads + a].v == s.v;
        }
        if (above < count && above + equal >= count)
            last = s.v, tied = (double)equal, in = (double)(count - above);
        largest = fmax(largest, s.v);
        b = fmax(b, s.b);
    }
    for (int64_t k = 0; k < n; k++) {
        const double s = o->row_score[k * o->heads + a].v;
        next = s < last ? fmax(next, s) : next;
        chosen[k] = weight_of(s < last ? 0 : exp(s - largest) * (s == last ? in / tied : 1),
                              o->row_score[k * o->heads + a], 1);
        sum += chosen[k].v;
    }
    if (n > 0 && next > -INFINITY && b > 0)
        lower(&o->margin_score[a], (last - next) / b / 10);
    softmax(o, n, a);
    for (int64_t k = 0; k < n; k++) {
        o->row_believed[k * o->heads + a] = o->row_score[k * o->heads + a];
        o->row_score[k * o->heads + a] = sum > 0 ? scaled(1 / sum, chosen[k]) : term(0);
    }
}

/* The weights max(0, factor (s - largest) - tau)^power, with the tau found by halving. What scores
 * believe is the derivative of a weight by -tau, over the sum of these. Where one is near 0, two
 * correct programs may give it a gradient or none. */
static void above_threshold(oracle_t *o, int64_t n, int64_t a, double factor, double power)
{
    double largest = -INFINITY, b = 0, low = -1, high = 0, total = 0;
    for (int64_t k = 0; k < n; k++) {
        largest = fmax(largest, o->row_score[k * o->heads + a].v);
        b = fmax(b, o->row_score[k * o->heads + a].b);
    }
    for (int turn = 0; turn < 100; turn++) {
        const double tau = (low + high) / 2;
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += pow(fmax(0, factor * (o->row_score[k * o->heads + a].v - largest) - tau), power);
        if (sum >= 1)
            low = tau;
        else
            high = tau;
    }
    for (int64_t k = 0; k < n; k++) {
        term_t *score = &o->row_score[k * o->heads + a], *d = &o->row_believed[k * o->heads + a];
        const double off = factor * (score->v - largest) - low, u = fmax(0, off),
                     by = u == 0 ? 0 : pow(u, power - 1), moved = by > 0 ? factor * score->b : 0;
        *score = (term_t){largest == -INFINITY ? 0 : pow(u, power),
                          largest == -INFINITY ? 0 : pow(u, power) + power * by * moved};
        *d = (term_t){largest == -INFINITY ? 0 : by,
                      largest == -INFINITY ? 0 : by + (power - 1) * moved};
        total += d->v;
        if (largest > -INFINITY && power == 1 && b > 0)
            lower(&o->margin_score[a], fabs(off) / b / 10);
    }
    for (int64_t k = 0; k < n && total > 0; k++)
        o->row_believed[k * o->heads + a] = scaled(1 / total, o->row_believed[k * o->heads + a]);
    o->steepness[a] = total;
}

/* (1 - acos(s) / pi)^n, and its derivative. */
static void collide(oracle_t *o, int64_t n, int64_t a)
{
    const double power = oracle__option(o->how.weigher_options[0], 9);
    for (int64_t k = 0; k < n; k++) {
        term_t *score = &o->row_score[k * o->heads + a], *d = &o->row_believed[k * o->heads + a];
        const double s = fmax(fmin(score->v, 1), -1), base = 1 - acos(s) / M_PI, across = 1 - s * s;
        if (score->b > 0)
            lower(&o->margin_score[a], fabs(1 - fabs(score->v)) / score->b / 10);
        *d = term(across > 0 ? power * pow(base, power - 1) / (M_PI * sqrt(across)) : 0);
        d->b *= across > 0 ? 1 + 4 / across : 1;
        *score = (term_t){.v = pow(base, power), .b = pow(base, power) + d->v * score->b};
    }
}

/* Scores become weights. */
static void weigh(oracle_t *o, int64_t n, int64_t a)
{
    o->steepness[a] = 1;
    double off = o->how.weigher_options[0] > 0 && n > 0 ? log((double)n) : 0;
    if (o->weigher == ORACLE_SOFTMAX || o->weigher == ORACLE_SOFTMAX_SINK)
        softmax(o, n, a);
    if (o->weigher == ORACLE_BEST || o->weigher == ORACLE_TOP)
        choose_best(o, n, a);
    if (o->weigher == ORACLE_SPARSEMAX)
        above_threshold(o, n, a, 1, 1);
    if (o->weigher == ORACLE_ENTMAX15)
        above_threshold(o, n, a, 0.5, 2);
    if (o->weigher == ORACLE_COLLISION)
        collide(o, n, a);
    for (int64_t k = 0; o->weigher == ORACLE_SIGMOID && k < n; k++) {
        term_t *score = &o->row_score[k * o->heads + a];
        *score = weight_of(sigmoid(score->v - off), *score, 1);
    }
    o->total[a] =
        term(o->weigher == ORACLE_RATIO ? oracle__option(o->how.weigher_options[0], 1e-6) : 0);
    for (int64_t k = 0; o->weigher == ORACLE_RATIO && k < n; k++)
        add_to(&o->total[a], o->row_score[k * o->heads + a]);
    for (int64_t k = 0; o->weigher == ORACLE_RATIO && k < n; k++)
        o->row_score[k * o->heads + a] = oracle__over(o->row_score[k * o->heads + a], o->total[a]);
    const bool apart = o->weigher == ORACLE_BEST || o->weigher == ORACLE_SPARSEMAX ||
                       o->weigher == ORACLE_ENTMAX15 || o->weigher == ORACLE_COLLISION;
    for (int64_t k = 0; !apart && k < n; k++)
        o->row_believed[k * o->heads + a] = o->row_score[k * o->heads + a];
}

/* ---- aggregators ---- */

/* The message for sum, mean, max, min and std. */
static term_t heard(const oracle_t *o, int64_t k, int64_t c)
{
    return times(o->row_factor[k], o->row_message[k * o->width + c]);
}

static term_t sum_of(const oracle_t *o, int64_t n, int64_t c)
{
    term_t sum = term(0);
    for (int64_t k = 0; k < n; k++)
        add_to(&sum, heard(o, k, c));
    return sum;
}

static term_t mean_of(const oracle_t *o, int64_t n, int64_t c)
{
    return scaled(1 / (double)n, sum_of(o, n, c));
}

static term_t extreme(oracle_t *o, int64_t n, int64_t c)
{
    double sign = o->aggregator == ORACLE_MAX ? 1 : -1;
    term_t best = heard(o, 0, c);
    for (int64_t k = 1; k < n; k++)
        if (sign * heard(o, k, c).v > sign * best.v)
            best = heard(o, k, c);
    for (int64_t k = 0; k < n; k++)
        if (heard(o, k, c).v != best.v)
            lower(&o->margin_message[c], off_zero(minus(best, heard(o, k, c))));
    return best;
}

static term_t variance_of(const oracle_t *o, int64_t n, int64_t c)
{
    term_t m = mean_of(o, n, c), sum = term(0);
    for (int64_t k = 0; k < n; k++) {
        term_t x = minus(heard(o, k, c), m);
        add_to(&sum, times(x, x));
    }
    return scaled(1 / (double)n, sum);
}

static term_t deviation(oracle_t *o, int64_t n, int64_t c)
{
    term_t variance = variance_of(o, n, c);
    if (variance.v > 1e-20 * variance.b)
        lower(&o->margin_message[c], fabs(variance.v - 1e-5) / variance.b);
    return variance.v <= 1e-5 ? term(0) : (term_t){sqrt(variance.v), sqrt(variance.b)};
}

/* sum of w_k x_k, w = softmax(t x) */
static term_t softmax_mean(const oracle_t *o, int64_t n, int64_t c)
{
    const double t = o->in[GNN_AGGREGATE_PARAMETERS].value[0];
    double most = -INFINITY, total = 0;
    term_t sum = term(0);
    for (int64_t k = 0; k < n; k++)
        most = fmax(most, t * heard(o, k, c).v);
    for (int64_t k = 0; k < n; k++) {
        const double w = exp(t * heard(o, k, c).v - most);
        total += w;
        add_to(&sum, scaled(w, heard(o, k, c)));
    }
    return scaled(1 / total, sum);
}

static void unscored(oracle_t *o, int64_t n)
{
    for (int64_t c = 0; c < o->width; c++) {
        if (o->aggregator == ORACLE_SUM)
            o->row_y[c] = sum_of(o, n, c);
        else if (o->aggregator == ORACLE_MEAN)
            o->row_y[c] = mean_of(o, n, c);
        else if (o->aggregator == ORACLE_STD)
            o->row_y[c] = deviation(o, n, c);
        else if (o->aggregator == ORACLE_VAR)
            o->row_y[c] = variance_of(o, n, c);
        else if (o->aggregator == ORACLE_SOFTMAX_MEAN)
            o->row_y[c] = softmax_mean(o, n, c);
        else
            o->row_y[c] = extreme(o, n, c);
    }
}

/* y_a = sum over j of softmax_j(score) keep weight m */
static void attend(oracle_t *o, int64_t n)
{
    for (int64_t a = 0; a < o->heads; a++)
        for (int64_t c = 0; c < o->d_v; c++) {
            term_t sum = term(0);
            int64_t kv = a / (o->heads / o->value_heads);
            for (int64_t k = 0; k < n; k++) {
                term_t m = times(o->row_factor[k], o->row_message[k * o->width + kv * o->d_v + c]);
                add_to(&sum, scaled(o->row_keep[k * o->heads + a],
                                    times(o->row_score[k * o->heads + a], m)));
            }
            o->row_y[a * o->d_v + c] = sum;
        }
}

static void make_query(oracle_t *o, const oracle_pair_t *p)
{
    term_t row[o->query_width + 1];
    for (int64_t c = 0; c < o->query_width; c++)
        row[c] = term(o->in[GNN_AGGREGATE_QUERY].value[p->i * o->query_width + c]);
    for (int64_t c = 0; c < o->query_width; c++) {
        o->query[c] = oracle__turned(o, row, c, p->at_i, 1);
        o->d_query[c] = term(0);
    }
}

static void score_row(oracle_t *o, const oracle_pair_t *p, int64_t n)
{
    gnn__dropout_t dropout = gnn__dropout(o->rng, o->how.dropout);
    make_query(o, p);
    for (int64_t k = 0; k < n; k++) {
        keys(o, &p[k], &o->row_key[k * o->key_width]);
        for (int64_t a = 0; a < o->heads; a++) {
            gnn_real_t keep[8] = {0};
            if (o->dropping)
                gnn__dropout_draw(&dropout, (uint32_t)p[k].i, (uint32_t)p[k].j, (uint32_t)(a / 8),
                                  keep);
            o->row_keep[k * o->heads + a] = !o->dropping       ? 1
                                            : keep[a % 8] != 0 ? 65536.0 / dropout.threshold
                                                               : 0;
            const term_t *key = &o->row_key[k * o->key_width];
            term_t score = capped(o, raw_score(o, key, a));
            o->row_capped[k * o->heads + a] = score;
            const term_t terms = oracle__terms(o, &p[k], key, a);
            o->row_score[k * o->heads + a] =
                oracle__multiplies(o) ? oracle__times_exp(score, terms) : plus(score, terms);
        }
    }
    for (int64_t a = 0; a < o->heads; a++)
        weigh(o, n, a);
    int64_t at = (p - o->pairs) * o->heads;
    for (int64_t k = 0; k < n * o->heads; k++)
        o->weights[at + k] = o->row_score[k].v;
}

static void gate(oracle_t *o, int64_t i)
{
    const oracle_array_t *g = &o->in[GNN_AGGREGATE_GATE];
    int64_t per_head = o->out_width / o->heads;
    for (int64_t c = 0; c < o->out_width; c++) {
        int64_t a = per_head ? c / per_head : 0;
        o->out[i * o->out_width + c] =
            g->cols ? times(term(g->value[i * o->heads + a]), o->row_y[c]) : o->row_y[c];
        double *margin = &o->margin[i * o->out_width + c];
        *margin = o->scored ? o->margin_score[a] : 1;
        lower(margin,
              o->margin_message[o->scored ? a / (o->heads / o->value_heads) * o->d_v + c % o->d_v : c]);
    }
}

void oracle__row_forward(oracle_t *o, int64_t i)
{
    const oracle_pair_t *p = o->pairs + o->first[i];
    int64_t n = o->first[i + 1] - o->first[i];
    for (int64_t c = 0; c < o->width; c++)
        o->margin_message[c] = 1;
    for (int64_t a = 0; a < o->heads; a++)
        o->margin_score[a] = 1;
    for (int64_t c = 0; c < o->out_width; c++)
        o->row_y[c] = term(0);
    for (int64_t k = 0; k < n; k++) {
        term_t *e = o->row_edge + k * o->edge_parts * o->width;
        edge_parts(o, &p[k], e);
        message(o, &p[k], e, o->row_message + k * o->width);
        o->row_factor[k] = factor(o, &p[k]);
    }
    if (n > 0 && o->scored) {
        score_row(o, p, n);
        attend(o, n);
    } else if (n > 0) {
        unscored(o, n);
    }
    gate(o, i);
}
