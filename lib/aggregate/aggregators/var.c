/* Population variance over what is heard. */
#include <lib/aggregate/aggregators/welford.h>

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = s[0] > 0 ? s[1 + shape->width + c] / s[0] : 0;
}

/* The sum of squares becomes 2 d_out / count, which times (message - mean) is the message's
 * gradient. */
static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    for (int64_t c = 0; c < shape->width; c++)
        s[1 + shape->width + c] = s[0] > 0 ? 2 * d_out[c] / s[0] : 0;
}

const gnn_aggregator_t gnn_aggregator_var = {
    .name = "var",
    .paper = "Corso et al. 2020 (PNA)",
    .help = "population variance of every column",
    .state = welford_state,
    .accumulate = welford_accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = welford_accumulate_grad,
};
