#include "random_config.h"

enum { GLOBALS = 3 };

static gnn_flag_t draw_flag(uint64_t *seed)
{
    return test_below(seed, 2) ? GNN_ON : GNN_OFF;
}

static gnn_real_t draw_rate(uint64_t *seed)
{
    return (gnn_real_t)(test_below(seed, 2) ? 0 : 0.3);
}

static void draw_heads(gnn_layer_config_t *c, uint64_t *seed)
{
    const int64_t heads[] = {1, 2, 3, 6};
    c->heads = heads[test_below(seed, 4)];
    c->combine = test_below(seed, 2) ? GNN_HEADS_AVERAGE : GNN_HEADS_CONCAT;
    c->share_weights = draw_flag(seed);
    if (test_below(seed, 3) == 0)
        c->kv_heads = heads[test_below(seed, 4)];
    if (test_below(seed, 3) == 0)
        c->d_k = 1 + test_below(seed, 9);
    if (test_below(seed, 4) == 0)
        c->d_v = 1 + test_below(seed, 9);
    if (test_below(seed, 3) == 0) {
        c->distance = (gnn_distance_bias_t)test_below(seed, GNN_DISTANCE_TABLE + 1);
        c->distance_buckets = 5;
    }
}

gnn_layer_config_t random_config(uint64_t *seed)
{
    const int64_t widths[] = {5, 6, 12};
    gnn_layer_config_t c = {.in = widths[test_below(seed, 3)], .out = widths[test_below(seed, 3)]};
    c.message = gnn_message_at((size_t)test_below(seed, (int64_t)gnn_message_count()));
    c.aggregator = gnn_aggregator_at((size_t)test_below(seed, (int64_t)gnn_aggregator_count()));
    c.update = gnn_update_at((size_t)test_below(seed, (int64_t)gnn_update_count()));
    if (c.aggregator->flags & GNN_AGGREGATOR_SCORED)
        draw_heads(&c, seed);
    c.hidden = test_below(seed, 2) ? 4 : 0;
    c.feed_forward = test_below(seed, 2) ? 9 : 0;
    c.self_loops = draw_flag(seed);
    c.graph_norm = (gnn_graph_norm_t)test_below(seed, GNN_GRAPH_NORM_ROW + 1);
    c.self_term = draw_flag(seed);
    c.learn_eps = draw_flag(seed);
    c.eps = (gnn_real_t)(test_below(seed, 2) ? 0.4 : 0);
    c.bias_project = draw_flag(seed);
    c.bias_out = draw_flag(seed);
    c.bias_update = draw_flag(seed);
    c.activation = (gnn_activation_t)test_below(seed, GNN_SOFTPLUS + 1);
    c.hidden_activation = (gnn_activation_t)test_below(seed, GNN_SOFTPLUS + 1);
    c.residual = test_below(seed, 3) ? GNN_OFF : GNN_ON;
    c.norm = (gnn_norm_t)(test_below(seed, 2) ? GNN_NORM_NONE : GNN_NORM_NONE + test_below(seed, 4));
    c.norm_position = test_below(seed, 2) ? GNN_NORM_BEFORE : GNN_NORM_AFTER;
    c.norm_eps = (gnn_real_t)0.01;
    c.dropout_in = draw_rate(seed);
    c.dropout_attention = draw_rate(seed);
    c.dropout_message = draw_rate(seed);
    c.dropout_out = draw_rate(seed);
    return c;
}

gnn_graph_t *random_sentences(uint64_t *seed)
{
    const int64_t lengths[] = {5, 0, 9, 1, 16}, globals[GLOBALS] = {2, 14, 20};
    gnn_graph_t *g = NULL;
    switch (test_below(seed, 4)) {
    case 0: ck_ok(gnn_graph_complete(&g, 5, lengths)); break;
    case 1: ck_ok(gnn_graph_causal(&g, 5, lengths)); break;
    case 2: ck_ok(gnn_graph_window(&g, 5, lengths, 2, 1, GNN_OFF)); break;
    default: ck_ok(gnn_graph_window_global(&g, 5, lengths, 2, GLOBALS, globals));
    }
    return g;
}
