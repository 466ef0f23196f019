#include "random_config.h"

#include <lib/layer/kinds.h>

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

/* Flags, words, rows and rates at random, whatever the list of fields holds. */
static void draw_choices(gnn_layer_config_t *c, uint64_t *seed)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; (f = gnn__config_field(k)); k++) {
        void *place = (char *)c + f->offset;
        int64_t n = 0;
        if (f->kind == &gnn__kind_rate)
            *(gnn_real_t *)place = draw_rate(seed);
        if (f->kind->stored == GNN__STORED_WORD) {
            while (f->kind->word((size_t)n))
                n++;
            *(int *)place = (int)test_below(seed, n);
        }
        if (f->kind->stored == GNN__STORED_ROW) {
            while (f->kind->row((size_t)n))
                n++;
            *(const void **)place = f->kind->row((size_t)test_below(seed, n));
        }
    }
}

/* Sizes fit one another, and what only attention has is there with attention alone. */
gnn_layer_config_t random_config(uint64_t *seed)
{
    const int64_t widths[] = {5, 6, 12};
    gnn_layer_config_t c = {0};
    draw_choices(&c, seed);
    c.preset = GNN_PRESET_NONE;
    c.dropout = 0;
    c.distance = GNN_DISTANCE_NONE;
    c.share_weights = GNN_OFF;
    c.in = widths[test_below(seed, 3)];
    c.out = widths[test_below(seed, 3)];
    if (c.aggregator->flags & GNN_AGGREGATOR_SCORED)
        draw_heads(&c, seed);
    c.hidden = test_below(seed, 2) ? 4 : 0;
    c.feed_forward = test_below(seed, 2) ? 9 : 0;
    c.eps = (gnn_real_t)(test_below(seed, 2) ? 0.4 : 0);
    c.norm_eps = (gnn_real_t)0.01;
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
