/* One pair made ready for the functions of the entries: its distance, message, weight and
 * dropout, from whatever inputs there are; its score, cap(score(q, k)) + edge bias + priors; its
 * attention weights. */
#include <lib/aggregate/reference/pair.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/simd/real_math.h>
#include <lib/kernels/simd/vec.h>

static gnn_real_t *numbers(gnn__carve_t *c, int64_t count)
{
    return gnn__carve(c, count, sizeof(gnn_real_t));
}

static gnn__waiting_t waiting(gnn__carve_t *c, int64_t width)
{
    gnn__waiting_t w;
    w.count = gnn__carve(c, 1, sizeof *w.count);
    w.features = gnn__carve(c, GNN__WAITING, sizeof *w.features);
    w.d = numbers(c, GNN__WAITING * width);
    return w;
}

static gnn__pair_scratch_t lay_out(const gnn__plan_t *plan, gnn__carve_t *c)
{
    const int64_t heads = plan->shape.heads;
    gnn__pair_scratch_t s;
    s.edge = numbers(c, plan->edge_width);
    s.key = numbers(c, plan->key_width);
    s.d_edge = waiting(c, plan->edge_width);
    s.d_key = waiting(c, plan->edge_key ? plan->key_width : 0);
    s.message = numbers(c, plan->message_width);
    s.weighted = numbers(c, plan->message_width);
    s.d_message = numbers(c, plan->message_width);
    s.scores = numbers(c, plan->scored ? heads : 0);
    s.d_scores = numbers(c, plan->scored ? heads : 0);
    s.capped = numbers(c, plan->scored ? heads : 0);
    s.terms = numbers(c, gnn__multiplies(plan) ? heads : 0);
    s.d_terms = numbers(c, gnn__multiplies(plan) ? heads : 0);
    s.plain_weights = numbers(c, plan->scored ? heads : 0);
    s.weights = numbers(c, plan->scored ? heads : 0);
    s.d_weights = numbers(c, plan->scored ? heads : 0);
    s.keep = numbers(c, gnn__round_up(heads, 8));
    s.d_out = numbers(c, plan->out_width);
    s.kept = numbers(c, plan->scored ? GNN__KEPT_SCORES : 0);
    return s;
}

int64_t gnn__pair_scratch_bytes(const gnn__plan_t *plan, gnn__carve_t *carve)
{
    gnn__carve_t counted = {0};
    lay_out(plan, &counted);
    carve->overflow |= counted.overflow;
    return counted.used;
}

gnn__pair_scratch_t gnn__pair_scratch(const gnn__plan_t *plan, void *block)
{
    return lay_out(plan, &(gnn__carve_t){.base = block});
}

gnn__walk_t gnn__walk(const gnn__plan_t *plan, int64_t p, bool transposed, const int64_t *positions)
{
    const gnn__part_t *part = gnn__part_of(plan, p, transposed), *own = &plan->view->parts[p];
    const bool apart = positions && own->dst_position;
    return (gnn__walk_t){.plan = plan,
                         .pairs = &part->pairs,
                         .part = p,
                         .transposed = transposed,
                         .dst_scale = gnn__dst_scale(part, transposed),
                         .src_scale = gnn__src_scale(part, transposed),
                         .dst_position = apart ? own->dst_position : positions,
                         .src_position = apart       ? own->src_position
                                         : positions ? positions + plan->graph->n_dst
                                                     : NULL};
}

void gnn__walk_far_rows(gnn__walk_t *l, const gnn_tensor_t *rows)
{
    enum { MOST = 512 }; /* bytes; the hardware prefetches the following lines */
    if (!rows->data || l->n_far == GNN__FAR_ROWS || gnn__pairs_form(l->pairs) == GNN__SPANS)
        return;
    l->far[l->n_far++] =
        (gnn__far_rows_t){(const char *)rows->data, rows->stride * (int64_t)sizeof(gnn_real_t),
                          gnn__min(rows->cols * (int64_t)sizeof(gnn_real_t), MOST)};
}

/* ---- one pair ---- */

void gnn__pair_project(const gnn__plan_t *plan, int64_t number, int input, gnn_real_t *out)
{
    if (!gnn__has_features(plan, number))
        return;
    const gnn_real_t *f = gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], number);
    const gnn__feature_weight_t projection = gnn__pair_projection(plan, input);
    gnn__pair_kernels()->project(&projection, f, out, out);
}

static void load_message(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, bool silent,
                         gnn__pair_t *pair)
{
    pair->rows = (gnn_message_rows_t){.distance = pair->distance};
    if (plan->has[GNN_AGGREGATE_SRC_MESSAGE])
        pair->rows.src = gnn__row(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], pair->j);
    if (plan->has[GNN_AGGREGATE_DST_MESSAGE])
        pair->rows.dst = gnn__row(&plan->in[GNN_AGGREGATE_DST_MESSAGE], pair->i);
    if (plan->edge_width) {
        if (plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS])
            memcpy(scratch->edge, plan->in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS].data,
                   sizeof(gnn_real_t) * (size_t)plan->edge_width);
        else
            memset(scratch->edge, 0, sizeof(gnn_real_t) * (size_t)plan->edge_width);
        if (plan->edge_message)
            gnn__pair_project(plan, pair->number, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, scratch->edge);
        pair->rows.edge = scratch->edge;
    }
    pair->message = silent                                       ? NULL
                    : plan->hints.message == GNN__MESSAGE_SENDER ? pair->rows.src
                                                                 : scratch->message;
    if (silent || plan->hints.message == GNN__MESSAGE_SENDER)
        return;
    plan->message->message(&plan->message_shape, &pair->rows, scratch->message);
}

/* Multiplied in this order in both traversals, the receiver's scale first, so that ties of max
 * and min compare bit-equal. */
static void load_weight(const gnn__walk_t *l, gnn__pair_t *pair)
{
    const gnn_tensor_t *w = &l->plan->in[GNN_AGGREGATE_EDGE_WEIGHT];
    pair->scale =
        (l->dst_scale ? l->dst_scale[pair->i] : 1) * (l->src_scale ? l->src_scale[pair->j] : 1);
    pair->weight = pair->scale;
    if (l->plan->has[GNN_AGGREGATE_EDGE_WEIGHT] && pair->number < w->rows)
        pair->weight = *gnn__row(w, pair->number) * pair->scale;
}

static void load_keep(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    pair->keep = NULL;
    if (!plan->dropping)
        return;
    const uint32_t i = (uint32_t)(plan->nodes ? plan->nodes[pair->i] : pair->i),
                   j = (uint32_t)(plan->nodes ? plan->nodes[pair->j] : pair->j);
    for (int64_t a = 0; a < plan->shape.heads; a += 8)
        gnn__dropout_draw(&plan->dropout, i, j, (uint32_t)(a / 8), scratch->keep + a);
    pair->keep = scratch->keep;
}

static void load_unscored(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                          gnn__pair_t *pair)
{
    pair->edge = (gnn_edge_t){.message = pair->message};
    if (pair->weight == 1 || !pair->message)
        return;
    for (int64_t c = 0; c < plan->message_width; c++)
        scratch->weighted[c] = pair->weight * pair->message[c];
    pair->edge.message = scratch->weighted;
}

/* Inline, because a compiler drops calls of a function that only prefetches. */
GNN__INLINE void fetch(const char *row, int64_t bytes)
{
    enum { LINE = 64 };
    for (int64_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(row + at);
    __builtin_prefetch(row + bytes - 1); /* rows need not begin with a line */
}

/* Prefetches some pairs ahead, across the ends of a row of pairs. */
GNN__INLINE void look_ahead(const gnn__walk_t *l, int64_t at)
{
    enum { AHEAD = 16 };
    const gnn_tensor_t *features = &l->plan->in[GNN_AGGREGATE_EDGE_FEATURES];
    if (at + AHEAD >= l->pairs->count)
        return;
    const int64_t other = gnn__pairs_col(l->pairs, at + AHEAD);
    for (int k = 0; k < l->n_far; k++)
        fetch(l->far[k].rows + other * l->far[k].stride, l->far[k].bytes);
    if (!l->far_features)
        return;
    const int64_t number = gnn__pairs_edge(l->pairs, at + AHEAD);
    if (gnn__has_features(l->plan, number))
        fetch((const char *)gnn__row(features, number), features->cols * (int64_t)sizeof(gnn_real_t));
}

void gnn__pair_meet(const gnn__walk_t *l, int64_t node, int64_t at, gnn__pair_t *pair)
{
    const int64_t other = gnn__pairs_col(l->pairs, at);
    pair->part = l->part;
    pair->number = gnn__pairs_edge(l->pairs, at);
    pair->i = l->transposed ? other : node;
    pair->j = l->transposed ? node : other;
    pair->place = l->src_position ? l->src_position[pair->j] : 0;
    pair->distance = l->dst_position ? pair->place - l->dst_position[pair->i] : 0;
    if (l->n_far > 0)
        look_ahead(l, at);
}

void gnn__pair_load(const gnn__walk_t *l, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    load_message(l->plan, scratch, l->silent, pair);
    load_weight(l, pair);
    if (l->plan->scored)
        load_keep(l->plan, scratch, pair);
    else
        load_unscored(l->plan, scratch, pair);
}

/* ---- scores ---- */

/* ---- forward ---- */

static void load_rows(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    pair->compared.query = gnn__row(&plan->in[GNN_AGGREGATE_QUERY], pair->i);
    pair->compared.key = gnn__row(&plan->in[GNN_AGGREGATE_KEY], pair->j);
    if (!plan->edge_key || !gnn__has_features(plan, pair->number))
        return;
    memcpy(scratch->key, pair->compared.key, sizeof(gnn_real_t) * (size_t)plan->key_width);
    gnn__pair_project(plan, pair->number, GNN_AGGREGATE_EDGE_KEY_WEIGHT, scratch->key);
    pair->compared.key = scratch->key;
}

static void cap(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch)
{
    const gnn_real_t most = plan->shape.softcap;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        scratch->capped[a] = scratch->scores[a] = most * gnn__tanh(scratch->scores[a] / most);
}

static gnn_prior_pair_t prior_pair(const gnn__plan_t *plan, const gnn__pair_t *pair)
{
    const gnn_real_t *query = plan->has[GNN_AGGREGATE_PRIOR_QUERY]
                                  ? gnn__row(&plan->in[GNN_AGGREGATE_PRIOR_QUERY], pair->i)
                                  : pair->compared.query;
    return (gnn_prior_pair_t){pair->i,    pair->j, pair->distance, query, pair->compared.key,
                              pair->place};
}

/* The key of head a at a distance, in a matrix like the parameters. */
static gnn_real_t *key_of(const gnn_prior_t *row, const gnn_aggregate_shape_t *shape,
                          const gnn_tensor_t *keys, int64_t distance, int64_t a)
{
    return gnn__row(keys, row->key_row(shape, distance)) + row->key_column(shape, a);
}

static void add_key_products(const gnn_prior_t *row, const gnn_aggregate_shape_t *shape,
                             const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *key = key_of(row, shape, &shape->parameters, pair->distance, a),
                         *q = pair->query + a * shape->d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < shape->d_k; c++)
            sum += q[c] * key[c];
        scores[a] += shape->scale * sum;
    }
}

static void add_prior(const gnn_prior_t *row, const gnn_aggregate_shape_t *shape,
                      const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    if (row->key_row) {
        add_key_products(row, shape, pair, scores);
        return;
    }
    if (!row->strip) {
        row->score(shape, pair, scores);
        return;
    }
    for (int64_t a = 0; a < shape->heads; a++)
        row->strip(shape, a, pair->distance, 1, &scores[a]);
}

/* terms += the edge bias and the priors */
static void add_terms(const gnn__plan_t *plan, const gnn__pair_t *pair, gnn_real_t *terms)
{
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS];
    if (plan->has[GNN_AGGREGATE_EDGE_BIAS] && gnn__users_edge(plan, pair->number))
        for (int64_t a = 0; a < plan->shape.heads; a++)
            terms[a] += gnn__row(bias, pair->number)[bias->cols == 1 ? 0 : a];
    if (!plan->has_priors)
        return;
    const gnn_prior_pair_t seen = prior_pair(plan, pair);
    for (int p = 0; p < GNN_PRIORS; p++)
        if (gnn__has_prior(plan, p, pair->part))
            add_prior(plan->prior[p], &plan->prior_shape[p], &seen, terms);
}

/* scores *= exp(terms) */
static void multiply_terms(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                           const gnn__pair_t *pair)
{
    memset(scratch->terms, 0, sizeof *scratch->terms * (size_t)plan->shape.heads);
    add_terms(plan, pair, scratch->terms);
    for (int64_t a = 0; a < plan->shape.heads; a++) {
        scratch->terms[a] = gnn__exp(scratch->terms[a]);
        scratch->scores[a] *= scratch->terms[a];
    }
}

void gnn__pair_scores(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    load_rows(plan, scratch, pair);
    plan->score->score(&plan->score_shape, &pair->compared, scratch->scores);
    if (plan->shape.softcap > 0)
        cap(plan, scratch);
    if (gnn__multiplies(plan))
        multiply_terms(plan, scratch, pair);
    else
        add_terms(plan, pair, scratch->scores);
}

void gnn__pair_weights(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                       const gnn_real_t *state, const gnn_real_t *scores, gnn__pair_t *pair)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; a < plan->shape.heads; a++) {
        scratch->plain_weights[a] =
            w->weight(&plan->weigher_shape, a, state + a * w->state, scores[a]);
        scratch->weights[a] = scratch->plain_weights[a] * gnn__pair_factor(pair, a);
    }
    pair->edge = (gnn_edge_t){.message = pair->message, .weights = scratch->weights};
}

/* ---- backward ---- */

static void key_grads(const gnn_prior_t *row, const gnn_aggregate_shape_t *shape,
                      const gnn_prior_pair_t *pair, const gnn_real_t *d_scores,
                      gnn_prior_grad_t *grad)
{
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *key = key_of(row, shape, &shape->parameters, pair->distance, a),
                         *q = pair->query + a * shape->d_k, d = d_scores[a] * shape->scale;
        gnn_real_t *d_key =
            grad->parameters.data ? key_of(row, shape, &grad->parameters, pair->distance, a) : NULL;
        for (int64_t c = 0; grad->query && c < shape->d_k; c++)
            grad->query[a * shape->d_k + c] += d * key[c];
        for (int64_t c = 0; d_key && c < shape->d_k; c++)
            d_key[c] += d * q[c];
    }
}

static void prior_grad(const gnn_prior_t *row, const gnn_aggregate_shape_t *shape,
                       const gnn_prior_pair_t *pair, const gnn_real_t *d_scores,
                       gnn_prior_grad_t *grad)
{
    if (row->key_row) {
        key_grads(row, shape, pair, d_scores, grad);
        return;
    }
    if (!row->strip_grad) {
        row->score_grad(shape, pair, d_scores, grad);
        return;
    }
    for (int64_t a = 0; grad->parameters.data && a < shape->heads; a++)
        row->strip_grad(shape, a, pair->distance, 1, &d_scores[a], &grad->parameters);
}

/* From the derivatives of scores that are products to those of the terms and of the scores
 * before. */
static const gnn_real_t *terms_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch)
{
    if (!gnn__multiplies(plan))
        return scratch->d_scores;
    for (int64_t a = 0; a < plan->shape.heads; a++) {
        scratch->d_terms[a] = scratch->d_scores[a] * scratch->scores[a];
        scratch->d_scores[a] *= scratch->terms[a];
    }
    return scratch->d_terms;
}

void gnn__pair_scores_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                           const gnn__pair_t *pair, gnn__pair_scores_grad_t *grad)
{
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS];
    const gnn_real_t *d_terms = terms_grad(plan, scratch);
    gnn_real_t *d = scratch->d_scores;
    if (grad->bias)
        for (int64_t a = 0; a < plan->shape.heads; a++)
            grad->bias[bias->cols == 1 ? 0 : a] += d_terms[a];
    if (plan->has_priors) {
        const gnn_prior_pair_t seen = prior_pair(plan, pair);
        for (int p = 0; p < GNN_PRIORS; p++)
            if (gnn__has_prior(plan, p, pair->part))
                prior_grad(plan->prior[p], &plan->prior_shape[p], &seen, d_terms, &grad->prior[p]);
    }
    if (plan->shape.softcap > 0)
        for (int64_t a = 0; a < plan->shape.heads; a++) {
            const gnn_real_t t = scratch->capped[a] / plan->shape.softcap;
            d[a] *= 1 - t * t;
        }
    plan->score->score_grad(&plan->score_shape, &pair->compared, d, &grad->score);
}
