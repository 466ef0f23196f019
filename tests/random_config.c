/* Draws configs of layers, and graphs that they may run on. */
#include "random_config.h"

#include <lib/aggregate/tables.h>
#include <lib/layer/config_fields.h>

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
        c->key_heads = c->value_heads = heads[test_below(seed, 4)];
    if (test_below(seed, 3) == 0)
        c->d_k = 1 + test_below(seed, 9);
    if (test_below(seed, 4) == 0)
        c->d_v = 1 + test_below(seed, 9);
    if (test_below(seed, 3) == 0)
        c->priors[0] = test_below(seed, 2) ? (gnn_layer_prior_t){&gnn_prior_table, {5}, GNN_OFF}
                                           : (gnn_layer_prior_t){&gnn_prior_slope, {0}, GNN_OFF};
}

/* Random flags, names, entries and rates for every field of the list. */
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

/* Rows that a layer has the inputs for. */
static const gnn_prior_t *draw_prior(const gnn_layer_config_t *c, uint64_t *seed)
{
    const gnn_prior_t *row = gnn__prior_at((size_t)test_below(seed, (int64_t)prior_count()));
    const bool has_query = gnn__scores_keys(c->score);
    const bool fits =
        row->numbers == GNN_PRIOR_SHARED && (has_query || !(row->flags & GNN_PRIOR_READS_QUERY));
    return fits ? row : NULL;
}

static void draw_scores(gnn_layer_config_t *c, uint64_t *seed)
{
    gnn_layer_prior_t *first = &c->priors[0], *last = &c->priors[2];
    if (!first->prior && test_below(seed, 2))
        first->prior = draw_prior(c, seed);
    last->prior = draw_prior(c, seed);
    first->options[0] = first->prior && first->prior->n_options ? 4 : 0;
    last->options[1] =
        last->prior && last->prior->n_options ? (double)test_below(seed, GNN_BUCKETS) : 0;
    c->weigher = gnn__weigher_at((size_t)test_below(seed, 2 * (int64_t)weigher_count()));
    c->softcap = test_below(seed, 2) ? (gnn_real_t)0.9 : 0;
    if (gnn__scores_keys(c->score) && c->d_k % 2 == 0 && c->d_k > 0) {
        c->map = &gnn_map_rope;
        c->map_options[3] = (double)test_below(seed, 2);
    }
    if (c->heads % 2 == 0 && test_below(seed, 2))
        c->value_heads = c->heads / 2;
}

/* Sizes fit one another, and what only attention has is there with attention alone. */
gnn_layer_config_t random_config(uint64_t *seed)
{
    const int64_t widths[] = {5, 6, 12};
    gnn_layer_config_t c = {0};
    draw_choices(&c, seed);
    c.preset = GNN_PRESET_NONE;
    c.dropout = 0;
    c.share_weights = GNN_OFF;
    c.map = NULL;
    c.weigher = NULL;
    for (int p = 0; p < GNN_PRIORS; p++)
        c.priors[p] = (gnn_layer_prior_t){.prior = NULL};
    if (!(c.aggregator->flags & GNN_AGGREGATOR_SCORED))
        c.score = NULL;
    c.in = widths[test_below(seed, 3)];
    c.out = widths[test_below(seed, 3)];
    if (c.aggregator->flags & GNN_AGGREGATOR_SCORED)
        draw_heads(&c, seed);
    if ((c.aggregator->flags & GNN_AGGREGATOR_SCORED) && test_below(seed, 3) == 0)
        draw_scores(&c, seed);
    c.hidden = test_below(seed, 2) ? 4 : 0;
    c.feed_forward = test_below(seed, 2) ? 9 : 0;
    c.eps = (gnn_real_t)(test_below(seed, 2) ? 0.4 : 0);
    c.norm_eps = (gnn_real_t)0.01;
    c.loop_weight = test_below(seed, 3) == 0 && c.graph_norm > GNN_GRAPH_NORM_NONE ? 2 : 0;
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
