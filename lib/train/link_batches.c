/* Batches of pairs: links and negative pairs, or edges with classes. All batches have the same
 * message graph. */
#include <lib/base/settings.h>
#include <lib/data/data.h>
#include <lib/train/links.h>

enum { SOURCES, TARGETS, OF_SET, SAMPLED = 1024 /* default links of a sampled batch */ };

/* ---- inputs ---- */

/* Gathers rows of an edge array by edge id into value v. */
static int gather_edges(gnn__link_source_t *b, int64_t v, const gnn_tensor_t *from,
                        const int64_t *edges, int64_t count)
{
    int64_t numbers;
    gnn_tensor_t *to = &b->rows[v];
    if (!gnn__mul(count, from->cols, &numbers))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of %lld do not fit", (long long)count,
                          (long long)from->cols);
    GNN_TRY(gnn__reserve(&to->data, &b->rows_room[v], numbers, sizeof *to->data, "rows of edges"));
    *to = gnn_tensor(to->data, count, from->cols);
    for (int64_t k = 0; k < count && from->cols > 0; k++)
        memcpy(gnn__row(to, k), gnn__row(from, edges[k]), (size_t)from->cols * sizeof *to->data);
    b->values[v].dense = to;
    return GNN_OK;
}

/* Lists the arrays of the set, except inputs named as the pairs are ("sources", "targets"). Of
 * arrays on edges the rows of the message graph's edges are gathered. */
static int list_whole(gnn__link_source_t *b)
{
    for (int64_t k = 0; k < b->set.n_inputs; k++) {
        const gnn__data_input_t *in = &b->set.inputs[k];
        if (strcmp(in->whole.name, b->values[SOURCES].name) == 0 ||
            strcmp(in->whole.name, b->values[TARGETS].name) == 0)
            continue;
        const int64_t v = b->n_values++;
        b->values[v] = in->whole;
        b->places[v] = in->place;
        if (in->place == GNN_ON_EDGES && b->links)
            GNN_TRY(gather_edges(b, v, in->whole.dense, b->links->kept, gnn_graph_n_edges(b->graph)));
    }
    return GNN_OK;
}

/* The arrays on edges again, for pairs: "pairs.NAME". Gathered per batch. */
static int list_pair_arrays(gnn__link_source_t *b)
{
    for (int64_t k = 0; k < b->set.n_inputs; k++) {
        char *longer;
        if (b->set.inputs[k].place != GNN_ON_EDGES)
            continue;
        GNN_TRY(gnn__asprintf(&longer, "pairs.%s", b->set.inputs[k].whole.name));
        b->values[b->n_values++] = (gnn_named_t){.name = longer};
    }
    return GNN_OK;
}

static int open_inputs(gnn__link_source_t *b)
{
    const int slots = gnn_model_graph_count(b->model);
    const int64_t most = OF_SET + 2 * b->set.n_inputs;
    GNN_TRY(gnn__new(&b->values, most, sizeof *b->values, "a model's inputs"));
    GNN_TRY(gnn__new(&b->places, most, sizeof *b->places, "a model's inputs"));
    GNN_TRY(gnn__new(&b->rows, most, sizeof *b->rows, "a model's inputs"));
    GNN_TRY(gnn__new(&b->rows_room, most, sizeof *b->rows_room, "a model's inputs"));
    GNN_TRY(gnn__new(&b->graphs, slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int slot = 0; slot < slots; slot++) {
        b->graphs[slot] = b->graph;
        GNN_TRY(gnn_model_prepare(b->model, slot, b->graph, GNN_ON));
    }
    b->values[SOURCES].name = "sources";
    b->values[TARGETS].name = "targets";
    b->n_values = OF_SET;
    GNN_TRY(list_whole(b));
    b->n_whole = b->n_values;
    return b->links ? GNN_OK : list_pair_arrays(b);
}

int gnn__link_inputs(gnn__link_source_t *b, const gnn_node_pairs_t *pairs, gnn_model_inputs_t *inputs)
{
    b->values[SOURCES].ids = pairs->src;
    b->values[TARGETS].ids = pairs->dst;
    b->values[SOURCES].count = b->values[TARGETS].count = pairs->count;
    *inputs = (gnn_model_inputs_t){.graphs = b->graphs,
                                   .n_graphs = gnn_model_graph_count(b->model),
                                   .values = b->values,
                                   .n_values = b->n_values};
    return GNN_OK;
}

/* ---- a batch ---- */

static int make_room(gnn__link_source_t *b, int64_t pairs)
{
    if (pairs <= b->room)
        return GNN_OK;
    int64_t labels = b->room, targets = b->room, edges = b->room;
    b->room = 0; /* until the batch is complete */
    gnn__pair_list_free(&b->batch);
    GNN_TRY(gnn__pair_list_new(&b->batch, pairs));
    GNN_TRY(gnn__reserve(&b->batch_labels, &labels, pairs, sizeof *b->batch_labels, "labels"));
    GNN_TRY(gnn__reserve(&b->targets, &targets, pairs, sizeof *b->targets, "targets"));
    GNN_TRY(gnn__reserve(&b->batch_edges, &edges, pairs, sizeof *b->batch_edges, "edges"));
    b->room = pairs;
    return GNN_OK;
}

/* Pairs of a batch from the part's list: all at once in validation and test, unless a sample is
 * drawn around them. */
static int64_t size_of(const gnn__link_source_t *b, int part)
{
    const int64_t all = b->pairs[part].count;
    const bool parts = part == GNN_TRAIN || b->sampling;
    return parts && b->config.size > 0 && b->config.size < all ? b->config.size : all;
}

static void shuffle(gnn__link_source_t *b, int64_t epoch)
{
    const int64_t n = b->pairs[GNN_TRAIN].count;
    if (b->ordered == epoch)
        return;
    b->ordered = epoch;
    gnn__data_shuffle(b->order, n, b->config.seed * 0x9e3779b97f4a7c15u + (uint64_t)epoch);
}

/* Fills in the listed pairs of a batch; returns their count. */
static int64_t take_pairs(gnn__link_source_t *b, int part, int64_t epoch, int64_t index)
{
    const gnn_node_pairs_t *from = &b->pairs[part];
    const int64_t size = size_of(b, part), first = index * size,
                  count = gnn__min(size, from->count - first);
    const bool ordered = part == GNN_TRAIN && size < from->count;
    if (ordered)
        shuffle(b, epoch);
    for (int64_t k = 0; k < count; k++) {
        const int64_t pair = ordered ? b->order[first + k] : first + k;
        b->batch.src[k] = from->src[pair];
        b->batch.dst[k] = from->dst[pair];
        b->batch_labels[k] = b->labels[part] ? b->labels[part][pair] : 1;
        b->batch_edges[k] = b->numbers[part] ? b->numbers[part][pair] : -1;
    }
    return count;
}

/* Appends as many negative pairs as links: drawn in training, else the part's own. */
static int add_others(gnn__link_source_t *b, int part, int64_t epoch, int64_t index, int64_t links)
{
    int32_t *src = b->batch.src + links, *dst = b->batch.dst + links;
    if (part == GNN_TRAIN) {
        const gnn_link_source_config_t *c = &b->config;
        const int64_t batches = b->base.source.count[GNN_TRAIN];
        return gnn_negatives_draw(c->avoid_all == GNN_ON ? b->links->all : b->links->known, NULL,
                                  c->seed, (uint64_t)(epoch * batches + index), links, src, dst);
    }
    const gnn__pair_list_t *from = &b->links->without[part];
    const int64_t first = index * size_of(b, part);
    memcpy(src, from->src + first, (size_t)links * sizeof *src);
    memcpy(dst, from->dst + first, (size_t)links * sizeof *dst);
    return GNN_OK;
}

/* Repeats links `times` times, so that they have the same weight as the pairs drawn for them. */
static void repeat_links(gnn__link_source_t *b, int64_t links, int64_t times)
{
    for (int64_t k = links; k < links * times; k++) {
        b->batch.src[k] = b->batch.src[k - links];
        b->batch.dst[k] = b->batch.dst[k - links];
    }
}

static int get_links(gnn__link_source_t *b, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    const int64_t each = part == GNN_TRAIN ? b->config.drawn : 1;
    int64_t all;
    if (!gnn__mul(size_of(b, part), each, &all) || !gnn__mul(all, 2, &all))
        return gnn__error(GNN_EOVERFLOW, "%lld pairs for each of %lld links do not fit",
                          (long long)each, (long long)size_of(b, part));
    GNN_TRY(make_room(b, all));
    const int64_t links = take_pairs(b, part, epoch, index), of_a_kind = links * each;
    repeat_links(b, links, each);
    GNN_TRY(add_others(b, part, epoch, index, of_a_kind));
    for (int64_t k = 0; k < 2 * of_a_kind; k++) {
        b->batch_labels[k] = k < of_a_kind;
        b->targets[k] = k < of_a_kind;
    }
    b->target = gnn_tensor(b->targets, 2 * of_a_kind, 1);
    batch->loss = (gnn_loss_t){
        .kind = GNN_LOSS_BINARY_CROSS_ENTROPY, .labels = b->batch_labels, .targets = &b->target};
    const gnn_node_pairs_t pairs = {2 * of_a_kind, b->batch.src, b->batch.dst};
    return b->sampling
               ? gnn__link_sampling_draw(b->sampling, b, part, epoch, index, &pairs, &batch->inputs)
               : gnn__link_inputs(b, &pairs, &batch->inputs);
}

static int get_classes(gnn__link_source_t *b, int part, int64_t epoch, int64_t index,
                       gnn_batch_t *batch)
{
    GNN_TRY(make_room(b, size_of(b, part)));
    const int64_t count = take_pairs(b, part, epoch, index);
    for (int64_t k = 0, v = b->n_whole; k < b->set.n_inputs; k++)
        if (b->set.inputs[k].place == GNN_ON_EDGES)
            GNN_TRY(gather_edges(b, v++, b->set.inputs[k].whole.dense, b->batch_edges, count));
    batch->loss = gnn__training_set_loss(&b->set, part);
    batch->loss.labels = b->batch_labels;
    return gnn__link_inputs(b, &(gnn_node_pairs_t){count, b->batch.src, b->batch.dst},
                            &batch->inputs);
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    gnn__link_source_t *b = user;
    return b->links ? get_links(b, part, epoch, index, batch)
                    : get_classes(b, part, epoch, index, batch);
}

/* ---- opening ---- */

static int check_unread(const gnn__link_source_t *b)
{
    enum { LINKS = 1, CLASSES = 2 };
    const gnn_link_source_config_t *c = &b->config;
    const gnn__setting_use_t uses[] = {{"drawn", c->drawn != 0, LINKS},
                                       {"avoid_all", c->avoid_all != GNN_FLAG_DEFAULT, LINKS},
                                       {"split", c->split != 0, CLASSES}};
    const char *unread =
        gnn__unread_setting(uses, sizeof uses / sizeof *uses, b->links ? LINKS : CLASSES);
    return unread ? gnn__error(GNN_EINVALID, "batches of %s read no .%s",
                               b->links ? "links" : "classes of edges", unread)
                  : GNN_OK;
}

static int check_config(const gnn_link_source_config_t *c)
{
    if (c->size < 0 || c->drawn < 0)
        return gnn__error(GNN_EINVALID, ".size = %lld and .drawn = %lld, expected at least 0",
                          (long long)c->size, (long long)c->drawn);
    return gnn__check_flag(c->avoid_all, "batches of links: avoid_all");
}

static int64_t batches_of(const gnn__link_source_t *b, int part)
{
    const int64_t n = b->pairs[part].count, size = size_of(b, part);
    return size > 0 ? (n + size - 1) / size : 0;
}

static void count_batches(gnn__link_source_t *b)
{
    const int64_t n = b->pairs[GNN_TRAIN].count;
    for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
        b->base.source.count[part] = batches_of(b, part);
    b->base.source.identity =
        (uint64_t)n * 0x9e3779b97f4a7c15u + b->config.seed + (b->links ? b->links->seed : 0);
}

static int open_sampling(gnn__link_source_t *b)
{
    if (!b->config.sampling)
        return GNN_OK;
    if (!b->links)
        return gnn__error(GNN_EUNSUPPORTED, "classes of edges are learnt on the whole graph, "
                                            "not on samples");
    const int64_t batch = b->config.sampling->batch;
    if (batch < 0 || (batch > 0 && b->config.size > 0))
        return gnn__error(GNN_EINVALID, "sampling: .batch = %lld, expected %s", (long long)batch,
                          batch < 0 ? "at least 0" : "0 where batches of links have a .size");
    if (b->config.size == 0)
        b->config.size = batch > 0 ? batch : SAMPLED;
    return gnn__link_sampling_new(&b->sampling, b, b->config.sampling);
}

static int open_batches(gnn__link_source_t *b, const gnn_link_source_config_t *config)
{
    b->config = *config;
    GNN_TRY(check_config(&b->config));
    GNN_TRY(check_unread(b));
    if (b->config.drawn == 0)
        b->config.drawn = 1;
    b->ordered = -1;
    GNN_TRY(gnn__new(&b->order, b->pairs[GNN_TRAIN].count, sizeof *b->order, "an order of links"));
    GNN_TRY(open_inputs(b));
    GNN_TRY(open_sampling(b));
    count_batches(b);
    return GNN_OK;
}

static void free_batches(gnn__source_state_t *state)
{
    gnn__link_source_t *b = (gnn__link_source_t *)state;
    for (int64_t v = 0; b->values && v < b->n_values; v++) {
        gnn_free(b->rows[v].data);
        if (b->n_whole > 0 && v >= b->n_whole)
            gnn_free((char *)b->values[v].name);
    }
    for (int p = 0; p < 3; p++) {
        gnn__pair_list_free(&b->owned[p]);
        gnn_free(b->labels[p]);
        gnn_free(b->numbers[p]);
    }
    gnn__pair_list_free(&b->batch);
    gnn__link_sampling_free(b->sampling);
    gnn_free(b->places);
    gnn_free(b->values);
    gnn_free(b->rows);
    gnn_free(b->rows_room);
    gnn_free(b->graphs);
    gnn_free(b->order);
    gnn_free(b->batch_labels);
    gnn_free(b->batch_edges);
    gnn_free(b->targets);
    gnn__training_set_close(&b->set);
    gnn_free(b);
}

const gnn__source_kind_t gnn__source_of_pairs = {"gnn_source_of_links or gnn_source_of_edges",
                                                 free_batches};

/* A source without its pairs; `graph` NULL: the set's. */
static int new_source(gnn__link_source_t **made, const gnn_model_t *model, const gnn_data_t *data,
                      gnn_graph_t *graph)
{
    gnn__link_source_t *b;
    GNN_TRY(gnn__new(&b, 1, sizeof *b, "batches of pairs"));
    b->base = gnn__source_state(&gnn__source_of_pairs, &b->base, get);
    b->model = model;
    *made = b;
    const int rc = gnn__training_set_open(&b->set, model, data, NULL);
    b->graph = graph ? graph : b->set.graph;
    return rc;
}

static int check_links(const gnn__training_set_t *set, const gnn_links_t *links)
{
    const int64_t edges = gnn_graph_n_edges(set->graph);
    if (set->nodes == links->nodes && edges == links->edges)
        return GNN_OK;
    return gnn__error(
        GNN_ESHAPE, "links of a graph of %lld nodes and %lld edges, the set has %lld and %lld",
        (long long)links->nodes, (long long)links->edges, (long long)set->nodes, (long long)edges);
}

int gnn_source_of_links(gnn_source_t **source, const gnn_model_t *model, const gnn_data_t *data,
                        gnn_links_t *links, const gnn_link_source_config_t *config)
{
    const gnn_link_source_config_t own = config ? *config : (gnn_link_source_config_t){0};
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(model);
    GNN__NEED(data);
    GNN__NEED(links);
    gnn__link_source_t *b = NULL;
    int rc = new_source(&b, model, data, links->graph);
    if (!b)
        return rc;
    if (rc == GNN_OK)
        rc = check_links(&b->set, links);
    b->links = links;
    for (int p = 0; p < 3; p++)
        b->pairs[p] = gnn_links_of(links, p);
    return gnn__source_finish(source, &b->base, rc == GNN_OK ? open_batches(b, &own) : rc);
}

/* The edges of each part with their ends, classes and ids. */
static int list_classes(gnn__link_source_t *b)
{
    gnn__link_index_t index;
    int64_t count[3] = {0};
    int rc = gnn__link_index_new(&index, b->graph, true);
    for (int p = 0; p < 3 && rc == GNN_OK; p++) {
        for (int64_t k = 0; k < index.edges; k++)
            count[p] += gnn__training_set_counts(&b->set, p, index.edge[k]);
        rc = gnn__pair_list_new(&b->owned[p], count[p]);
        if (rc == GNN_OK)
            rc = gnn__new(&b->labels[p], count[p], sizeof *b->labels[p], "classes of edges");
        if (rc == GNN_OK)
            rc = gnn__new(&b->numbers[p], count[p], sizeof *b->numbers[p], "edges of a part");
        b->pairs[p] = (gnn_node_pairs_t){count[p], b->owned[p].src, b->owned[p].dst};
        count[p] = 0;
    }
    for (int64_t k = 0; rc == GNN_OK && k < 3 * index.edges; k++) {
        const int p = (int)(k % 3);
        const int64_t at = k / 3, e = index.edge[at];
        if (!gnn__training_set_counts(&b->set, p, e))
            continue;
        b->owned[p].src[count[p]] = (int32_t)index.src[at];
        b->owned[p].dst[count[p]] = (int32_t)index.dst[at];
        b->labels[p][count[p]] = b->set.labels[e];
        b->numbers[p][count[p]++] = e;
    }
    gnn__link_index_free(&index);
    return rc;
}

static int open_classes(gnn__link_source_t *b, gnn_ints_t labels, const gnn_split_t *splits,
                        const gnn_link_source_config_t *config)
{
    gnn__learnt_t learnt = {.on = GNN_ON_EDGES, .splits = splits, .split = config->split};
    int32_t *made = NULL;
    int rc = gnn__ints_32("labels", labels, gnn_graph_n_edges(b->graph), &learnt.labels, &made);
    if (rc == GNN_OK)
        rc = gnn__training_set_learn(&b->set, &learnt);
    if (rc == GNN_OK)
        rc = list_classes(b);
    b->set.labels = NULL; /* copied by list_classes */
    gnn_free(made);
    return rc == GNN_OK ? open_batches(b, config) : rc;
}

int(gnn_source_of_edges)(gnn_source_t **source, const gnn_model_t *model, const gnn_data_t *data,
                         gnn_ints_t labels, const gnn_split_t *splits,
                         const gnn_link_source_config_t *config)
{
    GNN__NEED_INTS(labels, 1);
    const gnn_link_source_config_t own = config ? *config : (gnn_link_source_config_t){0};
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(model);
    GNN__NEED(data);
    GNN__NEED(splits);
    gnn__link_source_t *b = NULL;
    int rc = new_source(&b, model, data, NULL);
    if (!b)
        return rc;
    if (rc == GNN_OK)
        rc = open_classes(b, labels, splits, &own);
    return gnn__source_finish(source, &b->base, rc);
}
