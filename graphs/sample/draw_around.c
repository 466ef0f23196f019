/* The graph around the seeds: nodes are found hop by hop, and hear one another as in the whole
 * graph. With fan-outs of -1 these are the seeds' whole neighbourhoods. */
#include <graphs/sample/sample.h>

static int draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(gnn__sample_hop(s, 0, h, c->fan_outs[h]));
    return gnn__sample_induce(s);
}

const gnn__sampler_row_t gnn__sampler_around = {.needs_hops = true, .draw = draw};
