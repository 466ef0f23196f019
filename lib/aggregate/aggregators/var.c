/* Population variance over what is heard, by Welford's recurrence. State: count, then means, then
 * sums of squared differences. */
#include <lib/aggregate/tables.h>

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return 1 + 2 * (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    gnn_real_t *mean = s + 1, *squares = mean + shape->width;
    s[0] += 1;
    for (int64_t c = 0; c < shape->width; c++) {
        const gnn_real_t difference = edge->message[c] - mean[c];
        mean[c] += difference / s[0];
        squares[c] += difference * (edge->message[c] - mean[c]);
    }
}

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

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const gnn_real_t *mean = s + 1, *factor = mean + shape->width;
    for (int64_t c = 0; grad->message && c < shape->width; c++)
        grad->message[c] += factor[c] * (edge->message[c] - mean[c]);
}

const gnn_aggregator_t gnn_aggregator_var = {
    .name = "var",
    .paper = "Corso et al. 2020 (PNA)",
    .help = "population variance of every column",
    .state = state,
    .accumulate = accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = accumulate_grad,
};
