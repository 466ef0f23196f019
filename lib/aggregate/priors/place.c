/* The prior that a receiver has for places: a given number per receiver, head and place of the
 * sender. */
#include <lib/aggregate/tables.h>
#include <lib/base/base.h>

enum { PLACES };

static const gnn_option_t options[] = {
    {"places", 32, 1, 1 << 20, "so many have a number; senders further on read the last one"}};

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "numbers", .cols = shape->heads * (int64_t)shape->options[PLACES]};
    return 1;
}

/* The column of head 0. */
static int64_t column(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair)
{
    const int64_t last = (int64_t)shape->options[PLACES] - 1;
    return pair->place < 0 ? 0 : pair->place < last ? pair->place : last;
}

static void score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    const gnn_real_t *numbers = gnn__row(&shape->parameters, pair->i) + column(shape, pair);
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] += numbers[a * (int64_t)shape->options[PLACES]];
}

static void score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    if (!grad->parameters.data)
        return;
    gnn_real_t *d_numbers = gnn__row(&grad->parameters, pair->i) + column(shape, pair);
    for (int64_t a = 0; a < shape->heads; a++)
        d_numbers[a * (int64_t)shape->options[PLACES]] += d_scores[a];
}

const gnn_prior_t gnn_prior_place = {
    .name = "place",
    .paper = "Luong, Pham, Manning 2015, eq. 8 (location)",
    .help = "a number per receiver, head and place of the sender, a value of the model",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .numbers = GNN_PRIOR_PER_RECEIVER,
    .options = options,
    .n_options = 1,
    .declare = declare,
    .score = score,
    .score_grad = score_grad,
};
