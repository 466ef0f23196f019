/* Batches of pairs on samples: the ends of a batch's pairs are the seeds of a sample of the
 * training graph, and the model scores pairs of positions in it. Hamilton et al. 2017. */
#include <graphs/sample/sample.h>
#include <lib/base/settings.h>
#include <lib/model/part_rows.h>
#include <lib/train/links.h>

struct gnn__link_sampling {
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    gnn_real_t *weight;         /* (edges) of the training graph, for draws; NULL: uniform ones */
    const gnn_graph_t **graphs; /* by slot */
    int32_t *place;             /* (nodes) position among the seeds; -1: not a seed */
    int32_t *seeds;
    gnn__pair_list_t pairs; /* as positions in the sample */
    int64_t seeds_room, pairs_room;
    gnn_named_t *values;
    gnn__part_rows_t *rows; /* (n_values) */
    int64_t n_values;
};

/* ---- making ---- */

static int check_slots(const gnn__link_source_t *b, const gnn_sampler_t *sampler)
{
    const int slots = gnn_model_graph_count(b->model);
    const int64_t blocks = gnn_sampler_graphs(sampler);
    if (sampler->row->all_learn || sampler->row->scores_nodes)
        return gnn__error(GNN_EUNSUPPORTED,
                          "links are learnt on samples of method \"neighbours\" or \"around\", "
                          "not \"%s\"",
                          sampler->method->name);
    if (!sampler->row->blocks || slots == blocks)
        return GNN_OK;
    return gnn__error(GNN_EINVALID, "the model runs on %d graph slots, the sampler draws %lld blocks",
                      slots, (long long)blocks);
}

/* "sources", "targets", and the set's inputs: an array on edges once per graph. */
static int open_values(gnn__link_sampling_t *s, const gnn__link_source_t *b)
{
    const int64_t graphs = gnn_sampler_graphs(s->sampler);
    s->n_values = 2;
    for (int64_t k = 0; k < b->set.n_inputs; k++)
        s->n_values += b->set.inputs[k].place == GNN_ON_EDGES ? graphs : 1;
    GNN_TRY(gnn__new(&s->values, s->n_values, sizeof *s->values, "a model's inputs"));
    return gnn__new(&s->rows, s->n_values, sizeof *s->rows, "a model's inputs");
}

/* Weights are of the set's edges, like its arrays. */
static int take_weight(gnn__link_sampling_t *s, const gnn__link_source_t *b,
                       gnn_sampler_config_t *config)
{
    const int64_t m = gnn_graph_n_edges(b->graph);
    if (!config->weight)
        return GNN_OK;
    GNN_TRY(gnn__new(&s->weight, m, sizeof *s->weight, "weights of edges"));
    for (int64_t e = 0; e < m; e++)
        s->weight[e] = config->weight[b->links->kept[e]];
    config->weight = s->weight;
    return GNN_OK;
}

/* Samples are drawn when a batch is requested. */
static int check_unread(const gnn_sampling_t *how)
{
    GNN_TRY(gnn__check_flag(how->prefetch, "sampling: .prefetch"));
    return how->prefetch == GNN_ON
               ? gnn__error(GNN_EINVALID, "sampling: batches of links read no .prefetch")
               : GNN_OK;
}

static int open_sampling(gnn__link_sampling_t *s, const gnn__link_source_t *b,
                         const gnn_sampling_t *how)
{
    const int64_t n = b->set.nodes;
    gnn_sampler_config_t config = how->sampler;
    GNN_TRY(check_unread(how));
    GNN_TRY(take_weight(s, b, &config));
    GNN_TRY(gnn_sampler_new(&s->sampler, b->graph, &config));
    GNN_TRY(check_slots(b, s->sampler));
    GNN_TRY(gnn_sample_new(&s->sample, s->sampler));
    GNN_TRY(gnn__new(&s->graphs, gnn_model_graph_count(b->model), sizeof(gnn_graph_t *),
                     "a model's graphs"));
    GNN_TRY(gnn__new(&s->place, n, sizeof *s->place, "places of nodes"));
    for (int64_t i = 0; i < n; i++)
        s->place[i] = -1;
    return open_values(s, b);
}

int gnn__link_sampling_new(gnn__link_sampling_t **sampling, const gnn__link_source_t *b,
                           const gnn_sampling_t *how)
{
    gnn__link_sampling_t *s;
    GNN_TRY(gnn__new(&s, 1, sizeof *s, "samples of links"));
    int rc = open_sampling(s, b, how);
    if (rc == GNN_OK)
        *sampling = s;
    else
        gnn__link_sampling_free(s);
    return rc;
}

void gnn__link_sampling_free(gnn__link_sampling_t *s)
{
    if (!s)
        return;
    for (int64_t v = 0; s->rows && v < s->n_values; v++)
        gnn__part_rows_free(&s->rows[v]);
    gnn_sample_free(s->sample);
    gnn_sampler_free(s->sampler);
    gnn__pair_list_free(&s->pairs);
    gnn_free(s->weight);
    gnn_free(s->graphs);
    gnn_free(s->place);
    gnn_free(s->seeds);
    gnn_free(s->values);
    gnn_free(s->rows);
    gnn_free(s);
}

/* ---- a batch ---- */

/* The position of a node among the seeds, to which it is added. */
static int32_t seed_of(gnn__link_sampling_t *s, int32_t node, int64_t *seeds)
{
    if (s->place[node] < 0) {
        s->place[node] = (int32_t)*seeds;
        s->seeds[(*seeds)++] = node;
    }
    return s->place[node];
}

/* Fills seeds and pairs; `place` is all -1 again afterwards. */
static int take_seeds(gnn__link_sampling_t *s, const gnn_node_pairs_t *pairs, int64_t *seeds)
{
    if (pairs->count > s->pairs_room) {
        gnn__pair_list_free(&s->pairs);
        s->pairs_room = 0;
        GNN_TRY(gnn__pair_list_new(&s->pairs, pairs->count));
        s->pairs_room = pairs->count;
    }
    GNN_TRY(gnn__reserve(&s->seeds, &s->seeds_room, 2 * pairs->count, sizeof *s->seeds,
                         "ends of pairs"));
    *seeds = 0;
    for (int64_t k = 0; k < pairs->count; k++) {
        s->pairs.src[k] = seed_of(s, pairs->src[k], seeds);
        s->pairs.dst[k] = seed_of(s, pairs->dst[k], seeds);
    }
    for (int64_t k = 0; k < *seeds; k++)
        s->place[s->seeds[k]] = -1;
    return GNN_OK;
}

static int take_graphs(gnn__link_sampling_t *s, const gnn__link_source_t *b, int part)
{
    for (int slot = 0; slot < gnn_model_graph_count(b->model); slot++) {
        gnn_graph_t *graph = gnn_sample_graph(s->sample, s->sampler->row->blocks ? slot : 0);
        GNN_TRY(gnn_model_prepare(b->model, slot, graph, part == GNN_TRAIN ? GNN_ON : GNN_OFF));
        s->graphs[slot] = graph;
    }
    return GNN_OK;
}

/* Gathers rows of an array on edges for each graph; `from` holds those of the training graph. */
static int take_edge_rows(gnn__link_sampling_t *s, const gnn_named_t *from, int64_t *v)
{
    const int64_t graphs = gnn_sampler_graphs(s->sampler);
    for (int64_t l = 0; l < graphs; l++, ++*v) {
        const gnn__part_index_t index = {.edges = gnn_sample_edges(s->sample, l),
                                         .count = gnn_graph_n_edges(gnn_sample_graph(s->sample, l))};
        GNN_TRY(gnn__part_rows_take(&s->rows[*v], from, &index, NULL, &s->values[*v]));
        s->values[*v].slot = s->sampler->row->blocks ? (int)l + 1 : 0;
    }
    return GNN_OK;
}

/* b->values has "sources" and "targets", then the set's inputs in their order. */
static int take_rows(gnn__link_sampling_t *s, const gnn__link_source_t *b, int64_t *count)
{
    int64_t nodes, v = 2;
    const gnn__part_index_t index = {.nodes = gnn_sample_nodes(s->sample, &nodes), .count = nodes};
    for (int64_t k = 2; k < b->n_whole; k++) {
        const gnn_named_t *from = &b->values[k];
        if (b->places[k] == GNN_ON_EDGES) {
            GNN_TRY(take_edge_rows(s, from, &v));
            continue;
        }
        s->values[v] = *from;
        if (b->places[k] == GNN_ON_NODES)
            GNN_TRY(gnn__part_rows_take(&s->rows[v], from, &index, NULL, &s->values[v]));
        v++;
    }
    *count = v;
    return GNN_OK;
}

int gnn__link_sampling_draw(gnn__link_sampling_t *s, const gnn__link_source_t *b, int part,
                            int64_t epoch, int64_t batch, const gnn_node_pairs_t *pairs,
                            gnn_model_inputs_t *inputs)
{
    int64_t seeds, count;
    GNN_TRY(take_seeds(s, pairs, &seeds));
    GNN_TRY(gnn_sample_draw(s->sample, NULL, seeds, s->seeds, part == GNN_TRAIN ? epoch : 0, batch));
    GNN_TRY(take_graphs(s, b, part));
    GNN_TRY(take_rows(s, b, &count));
    s->values[0] = (gnn_named_t){.name = "sources", .ids = s->pairs.src, .count = pairs->count};
    s->values[1] = (gnn_named_t){.name = "targets", .ids = s->pairs.dst, .count = pairs->count};
    *inputs = (gnn_model_inputs_t){.graphs = s->graphs,
                                   .n_graphs = gnn_model_graph_count(b->model),
                                   .values = s->values,
                                   .n_values = count};
    return GNN_OK;
}
