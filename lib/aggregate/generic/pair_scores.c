/* The score of a pair: cap(score(q, k)) + edge bias + priors; and its derivatives. */
#include <lib/aggregate/generic/pair.h>
#include <lib/kernels/simd/real_math.h>

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

/* Where the key of head a stands at the pair's distance, in a matrix like the parameters. */
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

void gnn__pair_scores(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS];
    load_rows(plan, scratch, pair);
    plan->score->score(&plan->score_shape, &pair->compared, scratch->scores);
    if (plan->shape.softcap > 0)
        cap(plan, scratch);
    if (plan->has[GNN_AGGREGATE_EDGE_BIAS] && gnn__users_edge(plan, pair->number))
        for (int64_t a = 0; a < plan->shape.heads; a++)
            scratch->scores[a] += gnn__row(bias, pair->number)[bias->cols == 1 ? 0 : a];
    if (!plan->has_priors)
        return;
    const gnn_prior_pair_t seen = prior_pair(plan, pair);
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->prior[p])
            add_prior(plan->prior[p], &plan->prior_shape[p], &seen, scratch->scores);
}

void gnn__pair_weights(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                       const gnn_real_t *state, const gnn_real_t *scores, gnn__pair_t *pair)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        scratch->weights[a] = w->weight(&plan->weigher_shape, a, state + a * w->state, scores[a]) *
                              gnn__pair_factor(pair, a);
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

void gnn__pair_scores_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                           const gnn__pair_t *pair, gnn__pair_scores_grad_t *grad)
{
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS];
    gnn_real_t *d = scratch->d_scores;
    if (grad->bias)
        for (int64_t a = 0; a < plan->shape.heads; a++)
            grad->bias[bias->cols == 1 ? 0 : a] += d[a];
    if (plan->has_priors) {
        const gnn_prior_pair_t seen = prior_pair(plan, pair);
        for (int p = 0; p < GNN_PRIORS; p++)
            if (plan->prior[p])
                prior_grad(plan->prior[p], &plan->prior_shape[p], &seen, d, &grad->prior[p]);
    }
    if (plan->shape.softcap > 0)
        for (int64_t a = 0; a < plan->shape.heads; a++) {
            const gnn_real_t t = scratch->capped[a] / plan->shape.softcap;
            d[a] *= 1 - t * t;
        }
    plan->score->score_grad(&plan->score_shape, &pair->compared, d, &grad->score);
}
