/* A call of attention as its kernels read it. */
#include <lib/aggregate/fast/attention_call.h>
#include <lib/aggregate/strategies.h>

bool gnn__attention_is_fast(const gnn__plan_t *plan)
{
    return plan->hints.score != GNN__SCORE_OTHER && plan->hints.score != GNN__SCORE_ADDITIVE_TANH &&
           gnn__reads_rows(plan) && plan->view->n_parts > 0 && plan->shape.d_k > 0 &&
           plan->shape.d_v > 0;
}

gnn__attention_t gnn__attention_describe(const gnn__plan_t *plan)
{
    gnn__attention_t a = {.score = plan->hints.score,
                          .heads = plan->shape.heads,
                          .kv_heads = plan->shape.key_heads,
                          .d_k = plan->shape.d_k,
                          .d_v = plan->shape.d_v};
    a.scale = plan->shape.scale;
    a.level = gnn__attention_level(plan->context);
    a.softcap = plan->shape.softcap;
    a.amx = a.level != GNN_PRECISION_HIGHEST && gnn__amx_granted();
    a.slope = plan->shape.slope;
    a.a = plan->score_shape.parameters.data;
    a.q = gnn__matrix_of(&plan->in[GNN_AGGREGATE_QUERY]);
    a.k = gnn__matrix_of(&plan->in[GNN_AGGREGATE_KEY]);
    a.v = gnn__matrix_of(&plan->in[GNN_AGGREGATE_SRC_MESSAGE]);
    a.y = gnn__matrix_of(&plan->out);
    a.bias = gnn__matrix_of(&plan->in[GNN_AGGREGATE_EDGE_BIAS]);
    a.biases = plan->in[GNN_AGGREGATE_EDGE_BIAS].rows;
    a.bias_cols = plan->in[GNN_AGGREGATE_EDGE_BIAS].cols;
    a.features = gnn__matrix_of(&plan->in[GNN_AGGREGATE_EDGE_FEATURES]);
    a.edges = plan->graph->n_edges;
    a.d_e = plan->d_e;
    a.weight = gnn__matrix_of(&plan->in[GNN_AGGREGATE_EDGE_WEIGHT]);
    a.weights = plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows;
    for (int p = 0; p < GNN_PRIORS; p++)
        a.keys.count += plan->prior[p] && plan->prior[p]->key_row;
    a.keys.apart = plan->has[GNN_AGGREGATE_PRIOR_QUERY];
    a.keys.q = plan->has[GNN_AGGREGATE_PRIOR_QUERY]
                   ? gnn__matrix_of(&plan->in[GNN_AGGREGATE_PRIOR_QUERY])
                   : a.q;
    a.dropout = plan->dropping ? &plan->dropout : NULL;
    a.nodes = plan->nodes;
    return a;
}

void gnn__attention_part(const gnn__plan_t *plan, int64_t p, gnn__pass_t pass, gnn__attention_t *a)
{
    const bool transposed = pass == GNN__SEND;
    const gnn__part_t *part = gnn__part_of(plan, p, transposed);
    a->pairs = part->pairs;
    a->transposed = transposed;
    a->dst_scale = gnn__dst_scale(part, transposed);
    a->src_scale = gnn__src_scale(part, transposed);
    a->first = p == 0;
    a->last = p + 1 == plan->view->n_parts;
}

void gnn__attention_gradients(const gnn__plan_t *plan, const gnn_op_call_t *call, gnn__attention_t *a)
{
    a->grad.lse = call->saved[0];
    a->grad.y = gnn__matrix_of(&plan->d_out);
    a->grad.q = gnn__matrix_of(&plan->d[GNN_AGGREGATE_QUERY]);
    if (a->keys.count > 0)
        a->keys.d_q = plan->has[GNN_AGGREGATE_PRIOR_QUERY]
                          ? gnn__matrix_of(&plan->d[GNN_AGGREGATE_PRIOR_QUERY])
                          : a->grad.q;
    a->grad.k = gnn__matrix_of(&plan->d[GNN_AGGREGATE_KEY]);
    a->grad.v = gnn__matrix_of(&plan->d[GNN_AGGREGATE_SRC_MESSAGE]);
    a->grad.bias = gnn__matrix_of(&plan->d[GNN_AGGREGATE_EDGE_BIAS]);
    a->grad.weight = gnn__matrix_of(&plan->d[GNN_AGGREGATE_EDGE_WEIGHT]);
    a->grad.features = gnn__matrix_of(&plan->d[GNN_AGGREGATE_EDGE_FEATURES]);
}

void gnn__attention_keep(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        call->in[k].keep = plan->has[k];
    call->out[0].keep = 1;
}

int64_t gnn__attention_work(const gnn__plan_t *plan)
{
    const int64_t most = (int64_t)1 << 40;
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs.count + plan->view->parts[p].pairs.n_rows;
    return gnn__min(pairs, most) * (plan->out_width + plan->query_width + 8 * plan->shape.heads);
}
