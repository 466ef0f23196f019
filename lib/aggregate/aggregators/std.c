/* Standard deviation over what is heard.
 *
 * As in PyG, a population variance of at most 1e-5 counts as none: output and gradient are 0. */
#include <lib/aggregate/aggregators/welford.h>
#include <math.h>

static const double least = 1e-5;

static inline gnn_real_t deviation(gnn_real_t count, gnn_real_t squares)
{
    gnn_real_t variance = count > 0 ? squares / count : 0;
    return variance <= (gnn_real_t)least ? 0 : (gnn_real_t)sqrt((double)variance);
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = deviation(s[0], s[1 + shape->width + c]);
}

/* The sum of squares becomes d_out / (count * std), which times (message - mean) is the message's
 * gradient. */
static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    gnn_real_t *squares = s + 1 + shape->width;
    for (int64_t c = 0; c < shape->width; c++) {
        gnn_real_t std = deviation(s[0], squares[c]);
        squares[c] = std == 0 ? 0 : d_out[c] / (s[0] * std);
    }
}

const gnn_aggregator_t gnn_aggregator_std = {
    .name = "std",
    .paper = "Corso et al. 2020 (PNA)",
    .help = "population standard deviation of every column; 0 where the variance is at most 1e-5",
    .state = welford_state,
    .accumulate = welford_accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = welford_accumulate_grad,
};
