/* Batches of heterogeneous samples as a source for training: seeds of one type, their sampled
 * senders along each relation, and the rows of each type that the model reads. Schlichtkrull et al.
 * 2018, Hu et al. 2020. */
#include <gnn/hetero_sample.h>
#include <graphs/hetero.h>
#include <lib/data/data.h>
#include <lib/model/part_rows.h>
#include <lib/train/train.h>

enum { BATCH = 1024 };

/* An input of the model, and the type that its rows belong to; -1: the nodes of the set. */
typedef struct {
    gnn__data_input_t of_set;
    int64_t type;
} typed_input_t;

typedef struct {
    gnn__source_state_t base;
    const gnn_model_t *model;
    gnn_context_t *context;
    gnn__training_set_t set;
    gnn_train_config_t config;
    gnn_typed_sampling_t typed;
    int64_t type, first, batch; /* first: node id in the set of the type's first node */
    bool of_all;                /* the set's nodes are those of all types, concatenated */
    gnn_hetero_sample_t *sample;
    int32_t *seeds[2], *order, *drawn; /* node ids in the type; drawn: of the batch */
    int64_t n_seeds[2], ordered;
    typed_input_t *inputs;
    int64_t n_inputs;
    gnn_named_t *values;
    gnn__part_rows_t *rows; /* (n_inputs) */
    const gnn_graph_t **graphs;
    int32_t *nodes, *labels; /* of the batch, by node id in the set */
    uint8_t *mask;
    int64_t nodes_room, labels_room, mask_room;
} typed_t;

/* ---- opening ---- */

/* Node id of the type's first node in a set of all types. */
static int find_place(typed_t *t)
{
    const gnn_hetero_t *h = t->typed.hetero;
    int64_t all = 0;
    t->type = gnn__hetero_type(h, t->typed.type);
    if (t->type < 0)
        return GNN_ENOTFOUND;
    for (int64_t k = 0; k < h->n_types; k++) {
        t->first += k < t->type ? h->types[k].count : 0;
        all += h->types[k].count;
    }
    const int64_t n = t->set.nodes, own = h->types[t->type].count;
    t->of_all = n == all && n != own;
    if (!t->of_all)
        t->first = 0;
    return n == (t->of_all ? all : own)
               ? GNN_OK
               : gnn__error(GNN_ESHAPE,
                            "typed samples: the set has %lld nodes, type %.40s has %lld and all "
                            "types have %lld (gnn_data_hetero_for makes such sets)",
                            (long long)n, h->types[t->type].name, (long long)own, (long long)all);
}

/* The labelled nodes of the type in a part. */
static int find_seeds(typed_t *t, int part)
{
    const int64_t own = t->typed.hetero->types[t->type].count;
    GNN_TRY(gnn__new(&t->seeds[part], own, sizeof **t->seeds, "nodes to learn from"));
    for (int64_t i = 0; i < own; i++)
        if (gnn__training_set_counts(&t->set, part, t->first + i))
            t->seeds[part][t->n_seeds[part]++] = (int32_t)i;
    return GNN_OK;
}

/* The type of an input "x.TYPE"; -1 for others. */
static int64_t type_of(const typed_t *t, const gnn__data_input_t *in)
{
    const gnn_hetero_t *h = t->typed.hetero;
    for (int64_t k = 0; in->place == GNN_ON_TYPES && k < h->n_types; k++)
        if (strncmp(in->whole.name, "x.", 2) == 0 && strcmp(in->whole.name + 2, h->types[k].name) == 0)
            return k;
    return -1;
}

static int find_inputs(typed_t *t)
{
    const int64_t count = gnn_model_input_count(t->model);
    GNN_TRY(gnn__new(&t->inputs, count, sizeof *t->inputs, "a model's inputs"));
    for (int64_t k = 0; k < count; k++) {
        const gnn__data_input_t *in =
            gnn__training_set_input(&t->set, gnn_model_input_name(t->model, k));
        if (!in)
            continue;
        if (in->place == GNN_ON_EDGES)
            return gnn__error(GNN_EUNSUPPORTED,
                              "typed samples have no values on edges, and the model reads \"%.80s\"",
                              in->whole.name);
        t->inputs[t->n_inputs++] = (typed_input_t){*in, type_of(t, in)};
    }
    return GNN_OK;
}

static int open_typed(typed_t *t)
{
    GNN_TRY(gnn__hetero_sampler_fits(t->typed.sampler, t->typed.hetero));
    GNN_TRY(find_place(t));
    t->batch = t->typed.batch ? t->typed.batch : BATCH;
    if (t->batch < 1 || t->batch > INT32_MAX)
        return gnn__error(GNN_EINVALID, "typed samples: .batch = %lld, expected 0 to 2^31 - 1",
                          (long long)t->batch);
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        GNN_TRY(find_seeds(t, part));
    if (t->n_seeds[GNN_TRAIN] == 0)
        return gnn__error(GNN_EINVALID, "split %lld has no training nodes of type %.40s",
                          (long long)t->config.split, t->typed.type);
    GNN_TRY(find_inputs(t));
    GNN_TRY(gnn_hetero_sample_new(&t->sample, t->typed.sampler));
    GNN_TRY(gnn__new(&t->order, t->n_seeds[GNN_TRAIN], sizeof *t->order, "an order of nodes"));
    GNN_TRY(gnn__new(&t->drawn, t->batch, sizeof *t->drawn, "seeds"));
    GNN_TRY(gnn__new(&t->values, t->n_inputs, sizeof *t->values, "a model's inputs"));
    GNN_TRY(gnn__new(&t->rows, t->n_inputs, sizeof *t->rows, "a model's inputs"));
    t->ordered = -1;
    return gnn__new(&t->graphs, gnn_model_graph_count(t->model), sizeof(gnn_graph_t *),
                    "a model's graphs");
}

static void free_typed(gnn__source_state_t *state)
{
    typed_t *t = (typed_t *)state;
    for (int64_t k = 0; t->rows && k < t->n_inputs; k++)
        gnn__part_rows_free(&t->rows[k]);
    gnn_hetero_sample_free(t->sample);
    for (int part = 0; part < 2; part++)
        gnn_free(t->seeds[part]);
    gnn_free(t->order);
    gnn_free(t->drawn);
    gnn_free(t->inputs);
    gnn_free(t->values);
    gnn_free(t->rows);
    gnn_free(t->graphs);
    gnn_free(t->nodes);
    gnn_free(t->labels);
    gnn_free(t->mask);
    gnn__training_set_close(&t->set);
    gnn_free(t);
}

/* ---- a batch ---- */

static int64_t take_seeds(typed_t *t, int part, int64_t epoch, int64_t index)
{
    const int64_t from = index * t->batch, count = gnn__min(t->batch, t->n_seeds[part] - from);
    if (part == GNN_TRAIN && t->ordered != epoch) {
        gnn__data_shuffle(t->order, t->n_seeds[part],
                          t->typed.seed ^ (uint64_t)epoch * 0x9e3779b97f4a7c15u);
        t->ordered = epoch;
    }
    for (int64_t k = 0; k < count; k++)
        t->drawn[k] = t->seeds[part][part == GNN_TRAIN ? t->order[from + k] : from + k];
    return count;
}

/* The sample's nodes by node id in the set; *seed is the position of the seeds. */
static int take_nodes(typed_t *t, int64_t *count, int64_t *seed)
{
    const gnn_hetero_t *h = t->typed.hetero;
    int64_t first = 0;
    *count = *seed = 0;
    for (int64_t k = 0; k < h->n_types; k++, first += h->types[k - 1].count) {
        int64_t n, begin = *count;
        const int32_t *nodes = gnn_hetero_sample_nodes(t->sample, k, &n);
        if (k == t->type)
            *seed = begin;
        if (!t->of_all && k != t->type)
            continue;
        GNN_TRY(gnn__reserve(&t->nodes, &t->nodes_room, begin + n, sizeof *t->nodes, "nodes"));
        for (int64_t i = 0; i < n; i++)
            t->nodes[begin + i] = (int32_t)((t->of_all ? first : 0) + nodes[i]);
        *count += n;
    }
    return GNN_OK;
}

static int take_graphs(typed_t *t, int part)
{
    const int slots = gnn_model_graph_count(t->model);
    if (gnn_hetero_sample_graph(t->sample, slots))
        return gnn__error(GNN_EINVALID,
                          "the model runs on %d graph slots, the typed sample has more", slots);
    for (int slot = 0; slot < slots; slot++) {
        gnn_graph_t *graph = gnn_hetero_sample_graph(t->sample, slot);
        if (!graph)
            return gnn__error(GNN_EINVALID,
                              "the model runs on %d graph slots, the typed sample has %d", slots,
                              slot);
        GNN_TRY(gnn_model_prepare(t->model, slot, graph, part == GNN_TRAIN ? GNN_ON : GNN_OFF));
        t->graphs[slot] = graph;
    }
    return GNN_OK;
}

static int take_rows(typed_t *t, int64_t count)
{
    for (int64_t k = 0; k < t->n_inputs; k++) {
        const typed_input_t *in = &t->inputs[k];
        gnn__part_index_t index = {.nodes = t->nodes, .count = count};
        if (in->type >= 0)
            index.nodes = gnn_hetero_sample_nodes(t->sample, in->type, &index.count);
        t->values[k] = in->of_set.whole;
        if (in->type >= 0 || in->of_set.place == GNN_ON_NODES)
            GNN_TRY(gnn__part_rows_take(&t->rows[k], &in->of_set.whole, &index, t->context,
                                        &t->values[k]));
    }
    return GNN_OK;
}

static int take_labels(typed_t *t, int64_t count, int64_t seed, int64_t seeds)
{
    GNN_TRY(gnn__reserve(&t->labels, &t->labels_room, count, sizeof *t->labels, "labels"));
    GNN_TRY(gnn__reserve(&t->mask, &t->mask_room, count, 1, "marks of rows"));
    for (int64_t k = 0; k < count; k++) {
        t->labels[k] = t->set.labels[t->nodes[k]];
        t->mask[k] = k >= seed && k < seed + seeds;
    }
    return GNN_OK;
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    typed_t *t = user;
    int64_t count, seed;
    const int64_t seeds = take_seeds(t, part, epoch, index);
    GNN_TRY(gnn_hetero_sample_draw(t->sample, t->context, t->type, seeds, t->drawn,
                                   part == GNN_TRAIN ? epoch : 0, index));
    GNN_TRY(take_graphs(t, part));
    GNN_TRY(take_nodes(t, &count, &seed));
    GNN_TRY(take_rows(t, count));
    GNN_TRY(take_labels(t, count, seed, seeds));
    *batch = (gnn_batch_t){.inputs = {.graphs = t->graphs,
                                      .n_graphs = gnn_model_graph_count(t->model),
                                      .values = t->values,
                                      .n_values = t->n_inputs},
                           .loss = gnn__training_set_loss(&t->set, part)};
    batch->loss.labels = t->labels;
    batch->loss.mask = t->mask;
    return GNN_OK;
}

static const gnn__source_kind_t of_types = {"gnn_source_of_data", free_typed};

int gnn__batches_of_types(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                          gnn__training_set_t *set, const gnn_train_config_t *config)
{
    typed_t *t;
    GNN__NEED(config->typed->hetero);
    GNN__NEED(config->typed->sampler);
    GNN__NEED(config->typed->type);
    GNN_TRY(gnn__new(&t, 1, sizeof *t, "batches of samples"));
    t->base = gnn__source_state(&of_types, &t->base, get);
    t->model = model;
    t->context = context;
    t->set = gnn__training_set_move(set);
    t->config = *config;
    t->typed = *config->typed;
    int rc = open_typed(t);
    for (int part = GNN_TRAIN; rc == GNN_OK && part <= GNN_VALIDATION; part++)
        t->base.source.count[part] = (t->n_seeds[part] + t->batch - 1) / t->batch;
    if (rc == GNN_OK)
        rc = gnn__identify_data(&t->base.source.identity, &t->set, config);
    t->base.source.identity ^= t->typed.seed ^ (uint64_t)t->batch * 0x9e3779b97f4a7c15u;
    return gnn__source_finish(source, &t->base, rc);
}
