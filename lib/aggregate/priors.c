/* The priors: terms that the positions of a pair add to its score. One entry after another, in
 * groups that share their tables. */
#include <lib/aggregate/buckets.h>
#include <lib/aggregate/hints.h>
#include <lib/base/base.h>

/* ---- slope: a slope per head times the distance; slope_absolute: minus a slope times its absolute
 * value ---- */

static size_t declare_slopes(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "slopes", .rows = 1, .cols = shape->heads, .init = GNN_INIT_ZEROS};
    return 1;
}

static void slope_strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                        int64_t count, gnn_real_t *out)
{
    const gnn_real_t slope = shape->parameters.data[head];
    for (int64_t c = 0; c < count; c++)
        out[c] += slope * (gnn_real_t)(first + c);
}

static void slope_strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                             int64_t count, const gnn_real_t *d_strip,
                             const gnn_tensor_t *d_parameters)
{
    double sum = 0;
    (void)shape;
    for (int64_t c = 0; c < count; c++)
        sum += (double)d_strip[c] * (double)(first + c);
    d_parameters->data[head] += (gnn_real_t)sum;
}

const gnn_prior_t gnn_prior_slope = {
    .name = "slope",
    .paper = "Press, Smith, Lewis 2022 (ALiBi)",
    .help = "a slope per head times the distance, which is negative for senders before the receiver",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .declare = declare_slopes,
    .strip = slope_strip,
    .strip_grad = slope_strip_grad,
};

static int64_t length(int64_t distance)
{
    return distance < 0 ? -distance : distance;
}

static void absolute_strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                           int64_t count, gnn_real_t *out)
{
    const gnn_real_t slope = shape->parameters.data[head];
    for (int64_t c = 0; c < count; c++)
        out[c] -= slope * (gnn_real_t)length(first + c);
}

static void absolute_strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                                int64_t count, const gnn_real_t *d_strip,
                                const gnn_tensor_t *d_parameters)
{
    double sum = 0;
    (void)shape;
    for (int64_t c = 0; c < count; c++)
        sum += (double)d_strip[c] * (double)length(first + c);
    d_parameters->data[head] -= (gnn_real_t)sum;
}

const gnn_prior_t gnn_prior_slope_absolute = {
    .name = "slope_absolute",
    .paper = "Press, Smith, Lewis 2022 (ALiBi), both directions",
    .help = "minus a slope per head times the distance to either side",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .declare = declare_slopes,
    .strip = absolute_strip,
    .strip_grad = absolute_strip_grad,
};

/* ---- table: a learned value per head and bucket of distances ---- */

static const gnn_option_t table_options[] = {
    GNN__BUCKET_OPTIONS,
    {"part", 0, 0, 1 << 20, "the part of the graph whose pairs have the prior, from 1; 0: all",
     GNN_OPTION_INTEGER}};

static size_t declare_table(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "table",
                              .rows = shape->heads,
                              .cols = (int64_t)shape->options[GNN__BUCKET_COUNT],
                              .init = GNN_INIT_ZEROS};
    return 1;
}

static void table_strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                        int64_t count, gnn_real_t *out)
{
    const gnn_real_t *table = gnn__row(&shape->parameters, head);
    for (int64_t c = 0; c < count; c++)
        out[c] += table[gnn__bucket(shape->options, first + c)];
}

static void table_strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                             int64_t count, const gnn_real_t *d_strip,
                             const gnn_tensor_t *d_parameters)
{
    gnn_real_t *d_table = gnn__row(d_parameters, head);
    for (int64_t c = 0; c < count; c++)
        d_table[gnn__bucket(shape->options, first + c)] += d_strip[c];
}

const gnn_prior_t gnn_prior_table = {
    .name = "table",
    .paper = "Raffel et al. 2020 (T5); Liu et al. 2021 (Swin)",
    .help = "a value per head and bucket of distances (heads x buckets)",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .options = table_options,
    .n_options = sizeof table_options / sizeof *table_options,
    .declare = declare_table,
    .strip = table_strip,
    .strip_grad = table_strip_grad,
};

/* ---- keys: scale q_i . a; sender_keys: scale k_j . a. A learned row a of d_k values per bucket of
 * distances and head ---- */

enum { SHARED = GNN__BUCKET_REACH + 1 };

static const gnn_option_t by_bucket_options[] = {
    GNN__BUCKET_OPTIONS,
    {"shared", 0, 0, 1, "1: all heads share one row per bucket", GNN_OPTION_INTEGER}};

static int64_t bucket_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return gnn__bucket(shape->options, distance);
}

static int64_t bucket_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return shape->options[SHARED] > 0 ? 0 : head * shape->d_k;
}

static size_t declare_by_bucket(const gnn_aggregate_shape_t *shape, const char *name,
                                gnn_piece_t *pieces)
{
    const int64_t buckets = (int64_t)shape->options[GNN__BUCKET_COUNT];
    pieces[0] = (gnn_piece_t){.name = name,
                              .rows = buckets,
                              .cols = bucket_column(shape, shape->heads - 1) + shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = buckets,
                              .fan_out = shape->d_k};
    return 1;
}

static size_t declare_keys(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    return declare_by_bucket(shape, "keys", pieces);
}

const gnn_prior_t gnn_prior_keys = {
    .name = "keys",
    .paper = "Shaw, Uszkoreit, Vaswani 2018, eq. 4; Dai et al. 2019 (Transformer-XL)",
    .help = "scale * q_i . a, a learned key a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY,
    .options = by_bucket_options,
    .n_options = sizeof by_bucket_options / sizeof *by_bucket_options,
    .declare = declare_keys,
    .key_row = bucket_row,
    .key_column = bucket_column,
};

/* The row a of head `head` at this distance, in a matrix like the parameters. */
static gnn_real_t *query_at(const gnn_aggregate_shape_t *shape, const gnn_tensor_t *queries,
                            int64_t distance, int64_t head)
{
    return gnn__row(queries, bucket_row(shape, distance)) + bucket_column(shape, head);
}

static void sender_keys_score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                              gnn_real_t *scores)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = query_at(shape, &shape->parameters, pair->distance, a),
                         *k = pair->key + gnn__key_head(shape, a) * d;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d; c++)
            sum += q[c] * k[c];
        scores[a] += shape->scale * sum;
    }
}

static void sender_keys_score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                                   const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const int64_t at = gnn__key_head(shape, a) * d;
        const gnn_real_t *q = query_at(shape, &shape->parameters, pair->distance, a),
                         g = d_scores[a] * shape->scale;
        gnn_real_t *d_q =
            grad->parameters.data ? query_at(shape, &grad->parameters, pair->distance, a) : NULL;
        for (int64_t c = 0; grad->key && c < d; c++)
            grad->key[at + c] += g * q[c];
        for (int64_t c = 0; d_q && c < d; c++)
            d_q[c] += g * pair->key[at + c];
    }
}

static size_t declare_queries(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    return declare_by_bucket(shape, "queries", pieces);
}

int64_t gnn__sender_key_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return bucket_row(shape, distance);
}

int64_t gnn__sender_key_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return bucket_column(shape, head);
}

const gnn_prior_t gnn_prior_sender_keys = {
    .name = "sender_keys",
    .paper = "He, Liu, Gao, Chen 2021 (DeBERTa), eq. 4: position to content",
    .help = "scale * k_j . a, a learned query a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_KEY,
    .options = by_bucket_options,
    .n_options = sizeof by_bucket_options / sizeof *by_bucket_options,
    .declare = declare_queries,
    .score = sender_keys_score,
    .score_grad = sender_keys_score_grad,
};

/* ---- receiver, sender: a given value per node and head ---- */

static size_t declare_node(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "numbers", .cols = shape->heads};
    return 1;
}

static void node_score(const gnn_aggregate_shape_t *shape, int64_t node, gnn_real_t *scores)
{
    const gnn_real_t *values = gnn__row(&shape->parameters, node);
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] += values[a];
}

static void node_score_grad(const gnn_aggregate_shape_t *shape, int64_t node,
                            const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    if (!grad->parameters.data)
        return;
    gnn_real_t *d_values = gnn__row(&grad->parameters, node);
    for (int64_t a = 0; a < shape->heads; a++)
        d_values[a] += d_scores[a];
}

static void receiver_score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                           gnn_real_t *scores)
{
    node_score(shape, pair->i, scores);
}

static void receiver_score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                                const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    node_score_grad(shape, pair->i, d_scores, grad);
}

const gnn_prior_t gnn_prior_receiver = {
    .name = "receiver",
    .help = "a value per receiver and head, given by the model",
    .numbers = GNN_PRIOR_PER_RECEIVER,
    .declare = declare_node,
    .score = receiver_score,
    .score_grad = receiver_score_grad,
};

static void sender_score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                         gnn_real_t *scores)
{
    node_score(shape, pair->j, scores);
}

static void sender_score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                              const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    node_score_grad(shape, pair->j, d_scores, grad);
}

const gnn_prior_t gnn_prior_sender = {
    .name = "sender",
    .help = "a value per sender and head, given by the model",
    .numbers = GNN_PRIOR_PER_SENDER,
    .declare = declare_node,
    .score = sender_score,
    .score_grad = sender_score_grad,
};

/* ---- place: a given value per receiver, head and position of the sender ---- */

enum { PLACES };

static const gnn_option_t place_options[] = {
    {"places", 32, 1, 1 << 20, "count of positions with a value; senders further on read the last",
     GNN_OPTION_INTEGER}};

static size_t declare_places(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "numbers", .cols = shape->heads * (int64_t)shape->options[PLACES]};
    return 1;
}

/* The column of head 0. */
static int64_t place_column(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair)
{
    const int64_t last = (int64_t)shape->options[PLACES] - 1;
    return gnn__max(gnn__min(pair->place, last), 0);
}

static void place_score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                        gnn_real_t *scores)
{
    const gnn_real_t *values = gnn__row(&shape->parameters, pair->i) + place_column(shape, pair);
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] += values[a * (int64_t)shape->options[PLACES]];
}

static void place_score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                             const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    if (!grad->parameters.data)
        return;
    gnn_real_t *d_values = gnn__row(&grad->parameters, pair->i) + place_column(shape, pair);
    for (int64_t a = 0; a < shape->heads; a++)
        d_values[a * (int64_t)shape->options[PLACES]] += d_scores[a];
}

const gnn_prior_t gnn_prior_place = {
    .name = "place",
    .paper = "Luong, Pham, Manning 2015, eq. 8 (location)",
    .help = "a value per receiver, head and position of the sender, given by the model",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .numbers = GNN_PRIOR_PER_RECEIVER,
    .options = place_options,
    .n_options = 1,
    .declare = declare_places,
    .score = place_score,
    .score_grad = place_score_grad,
};

/* ---- decay: the sum of the gates of the rows after the sender, up to the receiver ---- */

static void decay_score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                        gnn_real_t *scores)
{
    const gnn_real_t *to = gnn__row(&shape->parameters, pair->i),
                     *from = gnn__row(&shape->parameters, pair->j);
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] += to[a] - from[a];
}

static void decay_score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                             const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    if (!grad->parameters.data)
        return;
    gnn_real_t *d_to = gnn__row(&grad->parameters, pair->i),
               *d_from = gnn__row(&grad->parameters, pair->j);
    for (int64_t a = 0; a < shape->heads; a++) {
        d_to[a] += d_scores[a];
        d_from[a] -= d_scores[a];
    }
}

const gnn_prior_t gnn_prior_decay = {
    .name = "decay",
    .paper = "Dao, Gu 2024 (Mamba-2); Lin et al. 2025 (forgetting Transformer)",
    .help = "the sum of a gate per row and head, given by the model, over the rows after the sender "
            "up to the receiver; gates are logarithms, 0 or below",
    .flags = GNN_PRIOR_RUNNING,
    .declare = declare_node,
    .score = decay_score,
    .score_grad = decay_score_grad,
};
