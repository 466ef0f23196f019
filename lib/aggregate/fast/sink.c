/* With l the log-sum-exp of a receiver's scores and s the sink, the weights of a softmax are
 * exp(score - l); those with a sink are exp(score - l'), l' = log(exp(l) + exp(s)): the output
 * times exp(l - l'). */
#include <lib/aggregate/fast/sink.h>
#include <lib/aggregate/tables.h>

#include <math.h>

bool gnn__has_sink(const gnn__plan_t *plan)
{
    return plan->hints.weigher == GNN__WEIGHER_SOFTMAX_SINK;
}

/* log(exp(l) + exp(s)) */
static double join(double l, double s)
{
    const double most = l > s ? l : s, least = l > s ? s : l;
    return most == -INFINITY ? most : most + log1p(exp(least - most));
}

static void sink_row(const gnn__plan_t *plan, int64_t i, gnn_real_t *lse)
{
    const gnn_real_t *sink = plan->weigher_shape.parameters.data;
    const int64_t d_v = plan->shape.d_v;
    gnn_real_t *y = gnn__row(&plan->out, i);
    for (int64_t a = 0; a < plan->shape.heads; a++, y += d_v) {
        const double l = plan->view->degree[i] > 0 ? (double)lse[a] : -INFINITY,
                     joined = join(l, (double)sink[a]);
        const gnn_real_t factor = l == -INFINITY ? 0 : (gnn_real_t)exp(l - joined);
        for (int64_t c = 0; factor != 0 && c < d_v; c++)
            y[c] *= factor;
        lse[a] = (gnn_real_t)joined;
    }
}

void gnn__sink_rows(const gnn__plan_t *plan, gnn_real_t *lse, int threads)
{
    if (!gnn__has_sink(plan))
        return;
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++)
        sink_row(plan, i, lse + i * plan->shape.heads);
}

void gnn__sink_grad(const gnn__plan_t *plan, const gnn_real_t *lse, const gnn_real_t *delta)
{
    const gnn_tensor_t *d_sink = &plan->d[GNN_AGGREGATE_WEIGHER_PARAMETERS];
    const int64_t heads = plan->shape.heads;
    for (int64_t a = 0; d_sink->data && gnn__has_sink(plan) && a < heads; a++) {
        const double sink = (double)plan->weigher_shape.parameters.data[a];
        double sum = 0;
        for (int64_t k = a; k < plan->graph->n_dst * heads; k += heads)
            sum += lse[k] == -INFINITY ? 0 : exp(sink - (double)lse[k]) * (double)delta[k];
        d_sink->data[a] -= (gnn_real_t)sum;
    }
}
