/* Running sums of the gates of priors along the segments of a graph. Like mapped rows they lie in
 * front of the scratch of the strategy that runs the call, so that entries and the reference read
 * sums; strategies that need more digits than a sum has read the gates themselves. */
#include <lib/aggregate/aggregate.h>

int64_t gnn__segment_end(const gnn_graph_t *g, int64_t *segment, int64_t begin)
{
    while (*segment < g->n_segments && g->src_segments[*segment + 1] <= begin)
        (*segment)++;
    return *segment < g->n_segments ? g->src_segments[*segment + 1] : g->n_src;
}

/* The sums of prior p and their gradient. */
static void carve(const gnn__plan_t *plan, gnn__carve_t *c, bool backward, int p, gnn_real_t **sums,
                  gnn_real_t **d_sums)
{
    int64_t count = 0;
    const gnn_tensor_t *in = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
    c->overflow |= !gnn__mul(in->rows, in->cols, &count);
    *sums = gnn__carve(c, count, sizeof **sums);
    *d_sums = backward ? gnn__carve(c, count, sizeof **d_sums) : NULL;
}

int gnn__running_scratch(const gnn__plan_t *plan, bool backward, size_t *bytes)
{
    gnn__carve_t c = {0};
    gnn_real_t *sums, *d_sums;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (gnn__runs(plan, p))
            carve(plan, &c, backward, p, &sums, &d_sums);
    return gnn__carved(&c, bytes);
}

static void sum_rows(const gnn_graph_t *g, const gnn_tensor_t *from, gnn_real_t *to)
{
    int64_t segment = 0;
    for (int64_t begin = 0, end; begin < g->n_src; begin = end) {
        end = gnn__segment_end(g, &segment, begin);
        for (int64_t c = 0; c < from->cols; c++) {
            double sum = 0;
            for (int64_t i = begin; i < end; i++) {
                sum += (double)gnn__row(from, i)[c];
                to[i * from->cols + c] = (gnn_real_t)sum;
            }
        }
    }
}

int gnn__running_rows(gnn__plan_t *plan, void *scratch, bool backward)
{
    gnn__carve_t c = {.base = scratch};
    for (int p = 0; p < GNN_PRIORS; p++) {
        gnn_tensor_t *in = &plan->in[GNN_AGGREGATE_PRIOR_0 + p],
                     *d = &plan->d[GNN_AGGREGATE_PRIOR_0 + p];
        gnn_real_t *sums, *d_sums;
        if (!gnn__runs(plan, p))
            continue;
        carve(plan, &c, backward, p, &sums, &d_sums);
        sum_rows(plan->graph, in, sums);
        plan->gates[p] = *in;
        *in = (gnn_tensor_t){sums, in->rows, in->cols, in->cols};
        plan->prior_shape[p].parameters = *in;
        if (!backward || !d->data)
            continue;
        *d = (gnn_tensor_t){d_sums, in->rows, in->cols, in->cols};
        plan->d_added[GNN_AGGREGATE_PRIOR_0 + p] = false;
    }
    return GNN_OK;
}

/* A gate is in the sums of its row and of all later rows of its segment. */
static void sum_grads(const gnn_graph_t *g, const gnn_tensor_t *d_sums, const gnn_tensor_t *d)
{
    int64_t segment = 0;
    for (int64_t begin = 0, end; begin < g->n_src; begin = end) {
        end = gnn__segment_end(g, &segment, begin);
        for (int64_t c = 0; c < d->cols; c++) {
            double sum = 0;
            for (int64_t i = end - 1; i >= begin; i--) {
                sum += (double)gnn__row(d_sums, i)[c];
                gnn__row(d, i)[c] += (gnn_real_t)sum;
            }
        }
    }
}

void gnn__running_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *summed)
{
    for (int p = 0; p < GNN_PRIORS; p++) {
        const int input = GNN_AGGREGATE_PRIOR_0 + p;
        if (gnn__runs(plan, p) && plan->d[input].data)
            sum_grads(plan->graph, &summed->d[input], &plan->d[input]);
    }
}
