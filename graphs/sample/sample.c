/* Samples: the memory of one batch, a draw into it, and what can be asked of it. */
#include <graphs/sample/sample.h>

static int make_graphs(gnn_sample_t *s)
{
    const int64_t count = gnn_sampler_graphs(s->sampler);
    GNN_TRY(gnn__new(&s->graphs, count, sizeof(gnn_graph_t *), "graphs of a sample"));
    GNN_TRY(gnn__new(&s->edges, count, sizeof *s->edges, "edges of a sample"));
    for (; s->n_graphs < count; s->n_graphs++)
        GNN_TRY(gnn__block_new(&s->graphs[s->n_graphs], &s->whole));
    return GNN_OK;
}

static int make(gnn_sample_t *s)
{
    const int64_t n = s->sampler->graph->n_dst;
    s->whole.degree = s->sampler->graph->base.degree;
    s->whole.missing = s->sampler->missing;
    GNN_TRY(gnn__drawn_open(&s->drawn, n));
    if (s->sampler->row->scores_nodes) {
        GNN_TRY(gnn__new(&s->score, n, sizeof *s->score, "scores of nodes"));
        GNN_TRY(gnn__new(&s->met, n, sizeof *s->met, "nodes with a score"));
    }
    return make_graphs(s);
}

int gnn_sample_new(gnn_sample_t **sample, const gnn_sampler_t *sampler)
{
    GNN__NEED(sample);
    GNN__NEED(sampler);
    gnn_sample_t *made;
    *sample = NULL;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a sample"));
    made->sampler = sampler;
    const int rc = make(made);
    if (rc == GNN_OK)
        *sample = made;
    else
        gnn_sample_free(made);
    return rc;
}

void gnn_sample_free(gnn_sample_t *sample)
{
    if (!sample)
        return;
    for (int64_t l = 0; l < sample->n_graphs; l++) {
        gnn_graph_free(sample->graphs[l]);
        gnn_free(sample->edges[l].numbers);
        gnn_free(sample->edges[l].scale);
    }
    gnn_free(sample->graphs);
    gnn_free(sample->edges);
    gnn__drawn_free(&sample->drawn);
    gnn_free(sample->keys);
    gnn_free(sample->score);
    gnn_free(sample->met);
    gnn_free(sample->visits);
    gnn_free(sample->node_scale);
    gnn_free(sample);
}

/* ---- drawing ---- */

/* Forgets the nodes: O(nodes of the sample), not of the graph. */
static void forget(gnn_sample_t *s)
{
    gnn__drawn_forget(&s->drawn);
    s->n_seeds = 0;
    s->scaled = false;
    for (int64_t l = 0; l < s->n_graphs; l++)
        s->edges[l].scaled = false;
}

int gnn__draw_key(uint32_t key[2], uint64_t seed, const char *what, int64_t epoch, int64_t batch)
{
    const uint64_t stream = gnn__hash_string(what);
    if (epoch < 0 || epoch > UINT32_MAX || batch < 0 || batch > UINT32_MAX)
        return gnn__error(GNN_EINVALID, "epoch %lld, batch %lld: expected 0 to 2^32 - 1",
                          (long long)epoch, (long long)batch);
    uint32_t words[4];
    gnn__philox(
        (uint32_t[]){(uint32_t)epoch, (uint32_t)batch, (uint32_t)stream, (uint32_t)(stream >> 32)},
        (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, GNN__PHILOX_ROUNDS, words);
    key[0] = words[0];
    key[1] = words[1];
    return GNN_OK;
}

static int draw(gnn_sample_t *s, int64_t n_seeds, const int32_t *seeds, int64_t epoch, int64_t batch)
{
    GNN_TRY(gnn__draw_key(s->key, s->sampler->config.seed, "sample", epoch, batch));
    GNN_TRY(gnn__drawn_seeds(&s->drawn, n_seeds, seeds));
    s->n_seeds = n_seeds;
    GNN_TRY(s->sampler->row->draw(s));
    s->whole.nodes = s->drawn.nodes;
    return GNN_OK;
}

int(gnn_sample_draw)(gnn_sample_t *sample, gnn_context_t *context, int64_t n_seeds,
                     gnn_ints_t seeds, int64_t epoch, int64_t batch)
{
    const int32_t *nodes;
    int32_t *made;
    GNN__NEED(sample);
    if (!seeds.data)
        return gnn__error(GNN_EINVALID, "%s: seeds is NULL", __func__);
    if (context)
        GNN_TRY(gnn__team_start(context));
    forget(sample);
    GNN_TRY(gnn__ints_32("seeds", seeds, n_seeds, &nodes, &made));
    sample->context = context;
    const int rc = draw(sample, n_seeds, nodes, epoch, batch);
    sample->context = NULL;
    gnn_free(made);
    if (rc != GNN_OK)
        forget(sample);
    return rc;
}

/* ---- what was drawn ---- */

static bool there(const gnn_sample_t *s, int64_t l)
{
    return s && l >= 0 && l < s->n_graphs && s->n_seeds > 0;
}

gnn_graph_t *gnn_sample_graph(const gnn_sample_t *sample, int64_t l)
{
    return there(sample, l) ? sample->graphs[l] : NULL;
}

const int32_t *gnn_sample_nodes(const gnn_sample_t *sample, int64_t *count)
{
    if (count)
        *count = sample ? sample->drawn.count : 0;
    return sample ? sample->drawn.nodes : NULL;
}

const int64_t *gnn_sample_edges(const gnn_sample_t *sample, int64_t l)
{
    return there(sample, l) ? sample->edges[l].numbers : NULL;
}

const gnn_real_t *gnn_sample_edge_scale(const gnn_sample_t *sample, int64_t l)
{
    return there(sample, l) && sample->edges[l].scaled ? sample->edges[l].scale : NULL;
}

const gnn_real_t *gnn_sample_node_scale(const gnn_sample_t *sample)
{
    return sample && sample->scaled ? sample->node_scale : NULL;
}
