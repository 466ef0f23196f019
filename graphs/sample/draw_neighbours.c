/* Neighbour sampling: hop h draws for all nodes so far, and is the graph of layer hops - 1 - h. */
#include <graphs/sample/sample.h>

static int draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(gnn__sample_hop(s, c->hops - 1 - h, h, c->fan_outs[h]));
    return GNN_OK;
}

const gnn__sampler_row_t gnn__sampler_neighbours = {.blocks = true, .needs_hops = true, .draw = draw};
