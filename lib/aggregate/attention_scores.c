/* The scores: how attention compares a query and a key. One entry after another: forward, backward,
 * the struct. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/simd/real_math.h>

/* ---- dot: scale q_i . k_j ---- */

static void dot(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows, gnn_real_t *scores)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = rows->query + a * d_k, *k = rows->key + gnn__key_head(shape, a) * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += q[c] * k[c];
        scores[a] = shape->scale * sum;
    }
}

static void dot_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                     const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const int64_t at_q = a * d_k, at_k = gnn__key_head(shape, a) * d_k;
        const gnn_real_t d = d_scores[a] * shape->scale;
        for (int64_t c = 0; grad->query && c < d_k; c++)
            grad->query[at_q + c] += d * rows->key[at_k + c];
        for (int64_t c = 0; grad->key && c < d_k; c++)
            grad->key[at_k + c] += d * rows->query[at_q + c];
    }
}

const gnn_score_t gnn_score_dot = {
    .name = "dot",
    .paper = "Vaswani et al. 2017, eq. 1",
    .help = "scale * q_i . k_j",
    .score = dot,
    .score_grad = dot_grad,
};

/* ---- additive: leaky_relu(q_i + k_j), one value per head on either side ---- */

static void additive(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                     gnn_real_t *scores)
{
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] = gnn__leaky(rows->query[a] + rows->key[a], shape->slope);
}

static void additive_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                          const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t d =
            rows->query[a] + rows->key[a] > 0 ? d_scores[a] : d_scores[a] * shape->slope;
        if (grad->query)
            grad->query[a] += d;
        if (grad->key)
            grad->key[a] += d;
    }
}

const gnn_score_t gnn_score_additive = {
    .name = "additive",
    .paper = "Velickovic et al. 2018 (GAT)",
    .help = "leaky_relu(q_i + k_j), one value per head on either side",
    .flags = GNN_SCORE_KEY_IS_MESSAGE,
    .width = GNN_SCORE_PER_HEAD,
    .score = additive,
    .score_grad = additive_grad,
};

/* ---- additive_v2 and additive_tanh: a . f(q_i + k_j), a learned vector a per head ---- */

static size_t declare_vector(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "attention.vector",
                              .rows = 1,
                              .cols = shape->heads * shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = shape->heads,
                              .fan_out = shape->d_k};
    return 1;
}

static void additive_v2(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                        gnn_real_t *scores)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = rows->query + a * d_k, *k = rows->key + gnn__key_head(shape, a) * d_k,
                         *vector = shape->parameters.data + a * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += vector[c] * gnn__leaky(q[c] + k[c], shape->slope);
        scores[a] = sum;
    }
}

static void additive_v2_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                             const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t at = 0; at < shape->heads * d_k; at++) {
        const int64_t a = at / d_k, at_k = gnn__key_head(shape, a) * d_k + at % d_k;
        const gnn_real_t x = rows->query[at] + rows->key[at_k],
                         d = d_scores[a] * shape->parameters.data[at] * (x > 0 ? 1 : shape->slope);
        if (grad->query)
            grad->query[at] += d;
        if (grad->key)
            grad->key[at_k] += d;
        if (grad->parameters.data)
            grad->parameters.data[at] += d_scores[a] * gnn__leaky(x, shape->slope);
    }
}

const gnn_score_t gnn_score_additive_v2 = {
    .name = "additive_v2",
    .paper = "Brody, Alon, Yahav 2022 (GATv2)",
    .help = "a . leaky_relu(q_i + k_j) with a vector a per head",
    .flags = GNN_SCORE_KEY_IS_MESSAGE,
    .declare = declare_vector,
    .score = additive_v2,
    .score_grad = additive_v2_grad,
};

static void additive_tanh(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                          gnn_real_t *scores)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = rows->query + a * d_k, *k = rows->key + gnn__key_head(shape, a) * d_k,
                         *vector = shape->parameters.data + a * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += vector[c] * gnn__tanh(q[c] + k[c]);
        scores[a] = sum;
    }
}

/* 1 - tanh(x)^2 without cancellation where tanh is near 1. */
static gnn_real_t tanh_slope(gnn_real_t x)
{
    const gnn_real_t e = gnn__exp(x > 0 ? -2 * x : 2 * x);
    return 4 * e / ((1 + e) * (1 + e));
}

static void additive_tanh_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                               const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t at = 0; at < shape->heads * d_k; at++) {
        const int64_t a = at / d_k, at_k = gnn__key_head(shape, a) * d_k + at % d_k;
        const gnn_real_t x = rows->query[at] + rows->key[at_k],
                         d = d_scores[a] * shape->parameters.data[at] * tanh_slope(x);
        if (grad->query)
            grad->query[at] += d;
        if (grad->key)
            grad->key[at_k] += d;
        if (grad->parameters.data)
            grad->parameters.data[at] += d_scores[a] * gnn__tanh(x);
    }
}

const gnn_score_t gnn_score_additive_tanh = {
    .name = "additive_tanh",
    .paper = "Bahdanau, Cho, Bengio 2015; Luong, Pham, Manning 2015 (concat)",
    .help = "v . tanh(q_i + k_j) with a vector v per head",
    .declare = declare_vector,
    .score = additive_tanh,
    .score_grad = additive_tanh_grad,
};
