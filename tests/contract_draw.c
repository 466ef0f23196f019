/* The settings of a case: plain ones, and those that are drawn from its seed. */
#include "contract.h"

#include <lib/aggregate/tables.h>

bool contract_scored(const contract_case_t *c)
{
    return c->score != NULL;
}

int64_t contract_value_heads(const contract_case_t *c)
{
    return c->value_heads ? c->value_heads : c->kv_heads;
}

/* ---- what weights are made of ---- */

static void forget_scores(contract_case_t *c)
{
    memset(c->priors, 0, sizeof c->priors);
    memset(c->map_options, 0, sizeof c->map_options);
    memset(c->weigher_options, 0, sizeof c->weigher_options);
    c->map = NULL;
    c->weigher = NULL;
    c->prior_query = false;
    c->softcap = 0;
    c->value_heads = 0;
}

static gnn_prior_use_t draw_prior(draw_t *d)
{
    gnn_prior_use_t use = {.row = gnn__prior_at((size_t)draw_below(d, (int64_t)prior_count()))};
    if (use.row->n_options >= 3) {
        use.options[0] = (double)(4 + draw_below(d, 4));
        use.options[1] = (double)draw_below(d, GNN_BUCKETS);
        use.options[2] = (double)(6 + draw_below(d, 20));
    }
    if (use.row == &gnn_prior_place)
        use.options[0] = (double)(3 + draw_below(d, 9));
    if (use.row->n_options > 3)
        use.options[3] = (double)draw_below(d, 2);
    return use;
}

/* Rotates all columns of a head that can be rotated, or two of them. */
static void draw_map(contract_case_t *c, draw_t *d)
{
    int64_t even = c->d_k / 2 * 2;
    if (!gnn__scores_keys(c->score) || even == 0 || !draw_once_in(d, 3))
        return;
    if (draw_once_in(d, 4)) {
        c->map = &gnn_map_l2;
        return;
    }
    if (even == c->d_k && draw_once_in(d, 3)) {
        const bool by_pair = draw_once_in(d, 2);
        c->map = by_pair ? &gnn_map_rope_yarn : &gnn_map_rope_llama3;
        memcpy(c->map_options, by_pair ? (double[]){100, 4, 0, 2} : (double[]){100, 4, 60, 7},
               4 * sizeof(double));
        return;
    }
    c->map = &gnn_map_rope;
    c->map_options[0] = draw_once_in(d, 2) ? 100 : 0;
    c->map_options[1] = (double)(draw_once_in(d, 3) ? 2 : even);
    c->map_options[2] = draw_once_in(d, 2) ? 2.5 : 0;
    c->map_options[3] = (double)draw_below(d, 2);
}

static void draw_message(contract_case_t *c, draw_t *d)
{
    c->message_options[0] = (double)(4 + draw_below(d, 4));
    c->message_options[1] = (double)draw_below(d, GNN_BUCKETS);
    c->message_options[2] = (double)(6 + draw_below(d, 20));
    c->message_options[3] = (double)draw_below(d, 2);
}

bool contract_one_side(const gnn_graph_t *g)
{
    bool same = gnn_graph_n_dst(g) == gnn_graph_n_src(g);
    for (int64_t s = 0; same && s < gnn_graph_n_segments(g); s++)
        same = gnn_graph_dst_segments(g)[s + 1] == gnn_graph_src_segments(g)[s + 1];
    return same;
}

/* A map stays in the fast kernels; the rest is the generic driver's. */
static void draw_scores(contract_case_t *c, draw_t *d, bool plain)
{
    draw_map(c, d);
    for (int p = 0; !plain && p < GNN_PRIORS; p++)
        if (draw_once_in(d, 2)) {
            const gnn_prior_use_t use = draw_prior(d);
            if ((!(use.row->flags & GNN_PRIOR_READS_KEY) || gnn__scores_keys(c->score)) &&
                (!(use.row->flags & GNN_PRIOR_RUNNING) || contract_one_side(c->graph)))
                c->priors[p] = use;
        }
    for (int p = 0; p < GNN_PRIORS; p++)
        if (c->priors[p].row && (c->priors[p].row->flags & GNN_PRIOR_READS_QUERY))
            c->prior_query |= gnn__scores_heads(c->score) || draw_once_in(d, 2);
    if (plain)
        return;
    if (draw_once_in(d, 2))
        c->weigher = gnn__weigher_at((size_t)draw_below(d, (int64_t)weigher_count()));
    if (c->weigher && c->weigher->n_options > 0)
        c->weigher_options[0] = (double)draw_below(d, c->weigher == &gnn_weigher_top    ? 15
                                                      : c->weigher == &gnn_weigher_best ? 5
                                                                                        : 2);
    c->softcap = draw_once_in(d, 3) ? 0.8 : 0;
    if (draw_once_in(d, 3) && c->heads % 2 == 0)
        c->value_heads = c->heads / 2;
}

static void draw_view(contract_case_t *c, draw_t *d)
{
    bool square = gnn_graph_n_dst(c->graph) == gnn_graph_n_src(c->graph);
    c->view = (gnn_view_t){.self_loops = GNN_OFF, .norm = GNN_GRAPH_NORM_NONE, .backward = GNN_ON};
    if (!draw_once_in(d, 3))
        return;
    c->view.norm = draw_once_in(d, 3)              ? GNN_GRAPH_NORM_ROW
                   : square && !draw_once_in(d, 3) ? GNN_GRAPH_NORM_SYMMETRIC
                                                   : GNN_GRAPH_NORM_NONE;
    c->view.self_loops = square && draw_once_in(d, 2) ? GNN_ON : GNN_OFF;
}

contract_case_t contract_case(size_t message, size_t aggregator, gnn_graph_t *graph,
                              const char *name, uint64_t seed)
{
    const combination_t combination = combination_at(aggregator);
    contract_case_t c = {.message = gnn__message_at(message),
                         .aggregator = combination.aggregator,
                         .score = combination.score,
                         .graph = graph,
                         .graph_name = name,
                         .seed = seed,
                         .heads = 1,
                         .kv_heads = 1,
                         .d_k = 4,
                         .d_v = 3,
                         .message_options = {5},
                         .view = {GNN_OFF, GNN_GRAPH_NORM_NONE, GNN_ON}};
    if (contract_scored(&c))
        c.heads = c.kv_heads = 2;
    return c;
}

contract_case_t contract_case_of(const char *aggregator, gnn_graph_t *g, const char *name,
                                 uint64_t seed)
{
    return contract_case(0, combination_index(aggregator), g, name, seed);
}

void contract_draw_switches(contract_case_t *c, bool edge_inputs)
{
    draw_t d = draw_from(c->seed ^ 0x7377u);
    forget_scores(c);
    bool may = edge_inputs && !contract_has_spans(c->graph);
    bool plain = draw_once_in(&d, 2); /* what the fast kernels take */
    draw_view(c, &d);
    c->gate = !plain && draw_once_in(&d, 2);
    if (contract_scored(c))
        draw_scores(c, &d, plain);
    if (c->message->declare)
        draw_message(c, &d);
    c->dropout = !contract_scored(c) || draw_once_in(&d, 3) ? 0 : draw_once_in(&d, 2) ? 0.25 : 0.6;
    c->scale = draw_once_in(&d, 2) ? 0 : 0.7;
    c->shared = draw_once_in(&d, 3);
    c->strided = draw_once_in(&d, 3);
    c->step = (uint32_t)draw_below(&d, 1000);
    c->model_step = (uint32_t)draw_below(&d, 5);
    c->features = may && !plain && !draw_once_in(&d, 3);
    c->message_bias = c->features && draw_once_in(&d, 2);
    c->weight = may && !draw_once_in(&d, 3);
    c->loop_weights = c->weight && c->view.self_loops == GNN_ON && draw_once_in(&d, 2);
    c->bias = may && contract_scored(c) ? (edge_bias_t)draw_below(&d, 3) : BIAS_NONE;
    c->loop_features = c->features && c->view.self_loops == GNN_ON && draw_once_in(&d, 2);
    c->edge_dim = draw_once_in(&d, 2) ? 0 : 1 + (int64_t)draw_below(&d, 20);
}
