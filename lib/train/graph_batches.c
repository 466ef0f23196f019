/* Batches of the graphs of a set: their disjoint union, their rows of every array, and the graphs
 * of readouts. */
#include <gnn/collection.h>
#include <gnn/graph.h>
#include <graphs/graph.h>
#include <lib/base/settings.h>
#include <lib/data/data.h>
#include <lib/train/train.h>

enum { SLOTS = 4, GRAPHS_OF_A_BATCH = 32 };

/* A buffer that only grows. */
typedef struct room {
    void *data;
    int64_t bytes;
} room_t;

typedef struct {
    gnn__source_state_t base;
    gnn__training_set_t set;
    const gnn_model_t *model; /* model that batches are prepared for */
    gnn_graph_source_config_t config;
    int slots;
    int64_t graphs, count[3];
    int64_t *of_part[3]; /* (count) the graphs of each part */
    int32_t *order;      /* (count of training) order in the running pass */
    int64_t epoch, pass;
    /* the batch */
    gnn_graph_t *graph[SLOTS];
    int64_t nodes, edges;
    room_t chosen, lengths, ones, rows, edge_rows, indptr, indices, labels, targets, sparse[3];
    gnn_tensor_t target;
    gnn_sparse_t x_sparse;
    gnn_named_t *values; /* (n_values) the set's inputs, but for rows on types */
    const gnn__data_input_t **inputs;
    gnn_tensor_t *tensors;
    room_t *numbers;
    int64_t n_values;
} graphs_t;

static int reserve(room_t *room, int64_t count, size_t element, const char *what, void *out)
{
    int64_t bytes;
    if (!gnn__mul(count, (int64_t)element, &bytes))
        return gnn__error(GNN_EOVERFLOW, "%lld %s of a batch do not fit", (long long)count, what);
    if (bytes > room->bytes || !room->data) {
        GNN_TRY(gnn__grow(&room->data, room->bytes, bytes + bytes / 4 + 1, 1, what));
        room->bytes = bytes + bytes / 4 + 1;
    }
    *(void **)out = room->data;
    return GNN_OK;
}

/* ---- the graph of a batch ---- */

static int64_t first_node(const graphs_t *b, int64_t g)
{
    const int64_t *segments = gnn_graph_dst_segments(b->set.graph);
    return segments ? segments[g] : 0;
}

static int64_t nodes_of(const graphs_t *b, int64_t g)
{
    const int64_t *segments = gnn_graph_dst_segments(b->set.graph);
    return segments ? segments[g + 1] - segments[g] : b->set.nodes;
}

/* Counts of nodes and edges, and their node ids in the set. */
static int gather_nodes(graphs_t *b, int64_t count, const int64_t *graphs)
{
    const gnn_graph_t *all = b->set.graph;
    gnn_graph_row_t row;
    int64_t *lengths, *rows;
    GNN_TRY(reserve(&b->lengths, count, sizeof *lengths, "lengths", &lengths));
    b->nodes = b->edges = 0;
    for (int64_t k = 0; k < count; k++)
        b->nodes += lengths[k] = nodes_of(b, graphs[k]);
    GNN_TRY(reserve(&b->rows, b->nodes, sizeof *rows, "nodes", &rows));
    for (int64_t k = 0, at = 0; k < count; k++)
        for (int64_t i = 0; i < lengths[k]; i++, at++) {
            rows[at] = first_node(b, graphs[k]) + i;
            GNN_TRY(gnn_graph_row(all, 0, rows[at], &row));
            b->edges += row.count;
        }
    return GNN_OK;
}

static int make_graph(graphs_t *b, int64_t count, const int64_t *graphs)
{
    const gnn_graph_t *all = b->set.graph;
    const int64_t *lengths = b->lengths.data, *rows = b->rows.data;
    int64_t *indptr, *edge_rows, at = 0, i = 0;
    int32_t *indices;
    GNN_TRY(reserve(&b->indptr, b->nodes + 1, sizeof *indptr, "rows of edges", &indptr));
    GNN_TRY(reserve(&b->indices, b->edges, sizeof *indices, "edges", &indices));
    GNN_TRY(reserve(&b->edge_rows, b->edges, sizeof *edge_rows, "edges", &edge_rows));
    indptr[0] = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t shift = i - first_node(b, graphs[k]);
        for (const int64_t end = i + lengths[k]; i < end; i++) {
            gnn_graph_row_t row;
            GNN_TRY(gnn_graph_row(all, 0, rows[i], &row));
            for (int64_t e = 0; e < row.count; e++, at++) {
                indices[at] = (int32_t)(gnn_graph_row_sender(&row, e) + shift);
                edge_rows[at] = gnn_graph_row_edge(&row, e);
            }
            indptr[i + 1] = at;
        }
    }
    GNN_TRY(gnn_graph_from_csr(&b->graph[0], b->nodes, b->nodes, indptr, indices));
    return gnn_graph_cut(b->graph[0], count, lengths);
}

static void free_graphs(graphs_t *b)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        gnn_graph_free(b->graph[slot]);
        b->graph[slot] = NULL;
    }
}

/* The graphs of all slots that the model has, prepared. */
static int make_graphs(graphs_t *b, int64_t count, const int64_t *graphs)
{
    const int64_t *lengths = b->lengths.data;
    int64_t *ones;
    free_graphs(b);
    GNN_TRY(make_graph(b, count, graphs));
    GNN_TRY(reserve(&b->ones, count, sizeof *ones, "lengths", &ones));
    for (int64_t k = 0; k < count; k++)
        ones[k] = 1;
    if (b->slots > 1)
        GNN_TRY(gnn_graph_bipartite(&b->graph[1], count, ones, lengths));
    if (b->slots > 2)
        GNN_TRY(gnn_graph_complete(&b->graph[2], count, lengths));
    if (b->slots > 3)
        GNN_TRY(gnn_graph_bipartite(&b->graph[3], count, lengths, ones));
    for (int slot = 0; slot < b->slots; slot++)
        GNN_TRY(gnn_model_prepare(b->model, slot, b->graph[slot], GNN_ON));
    return GNN_OK;
}

/* ---- the rows of a batch ---- */

static int gather(room_t *room, const gnn_tensor_t *from, const int64_t *rows, int64_t n,
                  gnn_tensor_t *to)
{
    int64_t count;
    gnn_real_t *values;
    if (!gnn__mul(n, from->cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of %lld do not fit", (long long)n,
                          (long long)from->cols);
    GNN_TRY(reserve(room, count, sizeof *values, "features", &values));
    *to = gnn_tensor(values, n, from->cols);
    for (int64_t r = 0; r < n && from->cols > 0; r++)
        memcpy(gnn__row(to, r), gnn__row(from, rows[r]), (size_t)from->cols * sizeof *values);
    return GNN_OK;
}

/* Only features are sparse, so one sparse value is enough. */
static int gather_sparse(graphs_t *b, const gnn_sparse_t *from)
{
    const int64_t *rows = b->rows.data;
    int64_t *indptr, nnz = 0;
    int32_t *indices;
    gnn_real_t *values;
    GNN_TRY(reserve(&b->sparse[0], b->nodes + 1, sizeof *indptr, "features", &indptr));
    indptr[0] = 0;
    for (int64_t r = 0; r < b->nodes; r++)
        indptr[r + 1] = nnz += from->indptr[rows[r] + 1] - from->indptr[rows[r]];
    GNN_TRY(reserve(&b->sparse[1], nnz, sizeof *indices, "features", &indices));
    GNN_TRY(reserve(&b->sparse[2], nnz, sizeof *values, "features", &values));
    for (int64_t r = 0; r < b->nodes; r++) {
        const int64_t begin = from->indptr[rows[r]], length = indptr[r + 1] - indptr[r];
        if (length == 0)
            continue;
        memcpy(indices + indptr[r], from->indices + begin, (size_t)length * sizeof *indices);
        memcpy(values + indptr[r], from->values + begin, (size_t)length * sizeof *values);
    }
    b->x_sparse = (gnn_sparse_t){
        .rows = b->nodes, .cols = from->cols, .indptr = indptr, .indices = indices, .values = values};
    return GNN_OK;
}

static int gather_values(graphs_t *b, int64_t count, const int64_t *graphs)
{
    const struct {
        const int64_t *rows;
        int64_t count;
    } on[] = {[GNN_ON_NODES] = {b->rows.data, b->nodes},
              [GNN_ON_EDGES] = {b->edge_rows.data, b->edges},
              [GNN_ON_GRAPHS] = {graphs, count}};
    for (int64_t v = 0; v < b->n_values; v++) {
        const gnn__data_input_t *in = b->inputs[v];
        b->values[v] = (gnn_named_t){.name = in->whole.name};
        if (in->whole.sparse) {
            GNN_TRY(gather_sparse(b, in->whole.sparse));
            b->values[v].sparse = &b->x_sparse;
            continue;
        }
        GNN_TRY(gather(&b->numbers[v], in->whole.dense, on[in->place].rows, on[in->place].count,
                       &b->tensors[v]));
        b->values[v].dense = &b->tensors[v];
    }
    return GNN_OK;
}

static int fill_inputs(graphs_t *b, int64_t count, const int64_t *graphs, gnn_model_inputs_t *inputs)
{
    GNN_TRY(gather_nodes(b, count, graphs));
    GNN_TRY(make_graphs(b, count, graphs));
    GNN_TRY(gather_values(b, count, graphs));
    *inputs = (gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)b->graph,
                                   .n_graphs = b->slots,
                                   .values = b->values,
                                   .n_values = b->n_values};
    return GNN_OK;
}

/* ---- targets of a batch ---- */

static int make_loss(graphs_t *b, int64_t count, const int64_t *graphs, int part, gnn_loss_t *loss)
{
    const gnn__training_set_t *set = &b->set;
    const int64_t columns = gnn__training_set_columns(set);
    int32_t *labels = NULL;
    int64_t elements;
    gnn_real_t *targets;
    *loss = gnn__training_set_loss(set, part);
    if (set->labels)
        GNN_TRY(reserve(&b->labels, count, sizeof *labels, "labels", &labels));
    for (int64_t k = 0; set->labels && k < count; k++)
        labels[k] = set->labels[graphs[k]];
    loss->labels = labels;
    if (!gnn__training_set_has_targets(set))
        return GNN_OK;
    if (!gnn__mul(count, columns, &elements))
        return gnn__error(GNN_EOVERFLOW, "the count of targets of %lld graphs overflows",
                          (long long)count);
    GNN_TRY(reserve(&b->targets, elements, sizeof *targets, "targets", &targets));
    b->target = gnn_tensor(targets, count, columns);
    for (int64_t k = 0; k < count; k++)
        gnn__training_set_target(set, graphs[k], gnn__row(&b->target, k));
    loss->targets = &b->target;
    return GNN_OK;
}

/* ---- selection of graphs ---- */

/* Count of the batches of one pass over the training graphs; if the caller sets it, all batches are
 * full. */
static int64_t batches_of_pass(const graphs_t *b)
{
    const int64_t n = b->count[GNN_TRAIN], size = b->config.size;
    return b->config.per_epoch > 0 && n > size ? n / size : (n + size - 1) / size;
}

static void shuffle(graphs_t *b, int64_t epoch, int64_t pass)
{
    const int64_t n = b->count[GNN_TRAIN];
    if (b->epoch == epoch && b->pass == pass)
        return;
    b->epoch = epoch;
    b->pass = pass;
    if (b->config.shuffle == GNN_OFF) {
        for (int64_t k = 0; k < n; k++)
            b->order[k] = (int32_t)k;
        return;
    }
    gnn__data_shuffle(b->order, n,
                      (b->config.seed * 0x9e3779b97f4a7c15u + (uint64_t)epoch) * 0xff51afd7ed558ccdu +
                          (uint64_t)pass);
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    graphs_t *b = user;
    const int64_t size = b->config.size, passes = batches_of_pass(b);
    const int64_t within = part == GNN_TRAIN ? index % passes : index, first = within * size;
    const int64_t count = gnn__min(size, b->count[part] - first);
    int64_t *chosen;
    GNN_TRY(reserve(&b->chosen, size, sizeof *chosen, "graphs", &chosen));
    if (part == GNN_TRAIN)
        shuffle(b, epoch, index / passes);
    for (int64_t k = 0; k < count; k++)
        chosen[k] = b->of_part[part][part == GNN_TRAIN ? b->order[first + k] : first + k];
    GNN_TRY(fill_inputs(b, count, chosen, &batch->inputs));
    return make_loss(b, count, chosen, part, &batch->loss);
}

/* ---- opening ---- */

static int check_set(const graphs_t *b)
{
    const gnn_graph_source_config_t *c = &b->config;
    if (b->slots > SLOTS)
        return gnn__error(GNN_EUNSUPPORTED,
                          "the model has %d graph slots, expected at most the %d of a batch",
                          b->slots, SLOTS);
    if (gnn_graph_n_parts(b->set.graph) != 1 || gnn__graph_part_is_spans(b->set.graph, 0))
        return gnn__error(GNN_EUNSUPPORTED,
                          "expected a data set whose graph is one part of edges (gnn_graph_to_edges)");
    GNN_TRY(gnn__check_flag(c->shuffle, "batches of graphs: shuffle"));
    if (c->shuffle == GNN_OFF && c->seed != 0)
        return gnn__error(GNN_EINVALID, "batches of graphs: .seed is of the shuffling, and .shuffle "
                                        "is off");
    if (c->size < 0 || c->per_epoch < 0)
        return gnn__error(GNN_EINVALID, ".size = %lld and .per_epoch = %lld, expected at least 0",
                          (long long)c->size, (long long)c->per_epoch);
    return GNN_OK;
}

static int list_parts(graphs_t *b)
{
    for (int k = 0; k < 3; k++)
        GNN_TRY(gnn__new(&b->of_part[k], b->graphs, sizeof *b->of_part[k], "graphs"));
    for (int k = 0; k < 3; k++)
        for (int64_t g = 0; g < b->graphs; g++)
            if (b->set.masks[k][g] && nodes_of(b, g) > 0)
                b->of_part[k][b->count[k]++] = g;
    return gnn__new(&b->order, b->graphs, sizeof *b->order, "an order of graphs");
}

/* The inputs that belong to graphs, which rows on types do not. */
static int list_inputs(graphs_t *b)
{
    const gnn__training_set_t *set = &b->set;
    GNN_TRY(gnn__new(&b->inputs, set->n_inputs, sizeof(void *), "a model's inputs"));
    for (int64_t k = 0; k < set->n_inputs; k++)
        if (set->inputs[k].place != GNN_ON_TYPES)
            b->inputs[b->n_values++] = &set->inputs[k];
    GNN_TRY(gnn__new(&b->values, b->n_values, sizeof *b->values, "a model's inputs"));
    GNN_TRY(gnn__new(&b->tensors, b->n_values, sizeof *b->tensors, "a model's inputs"));
    return gnn__new(&b->numbers, b->n_values, sizeof *b->numbers, "a model's inputs");
}

static int open_batches(graphs_t *b, const gnn_data_t *data, const gnn_split_t *splits)
{
    const gnn__learnt_t learnt = {.on = GNN_ON_GRAPHS,
                                  .targets = b->config.targets,
                                  .splits = splits,
                                  .split = b->config.split,
                                  .loss = b->config.loss,
                                  .class_weight = b->config.class_weight};
    GNN_TRY(gnn__training_set_open(&b->set, b->model, data, NULL));
    b->slots = b->set.n_slots;
    GNN_TRY(check_set(b));
    GNN_TRY(gnn__training_set_learn(&b->set, &learnt));
    if (b->config.size == 0)
        b->config.size = GRAPHS_OF_A_BATCH;
    b->graphs = b->set.rows;
    b->epoch = b->pass = -1;
    GNN_TRY(list_parts(b));
    return list_inputs(b);
}

static void count_batches(graphs_t *b)
{
    const int64_t size = b->config.size, all = batches_of_pass(b);
    gnn_source_t *source = &b->base.source;
    source->count[GNN_TRAIN] = b->config.per_epoch > 0 && all > 0 ? b->config.per_epoch : all;
    source->count[GNN_VALIDATION] = (b->count[GNN_VALIDATION] + size - 1) / size;
    source->count[GNN_TEST] = (b->count[GNN_TEST] + size - 1) / size;
    source->identity = (uint64_t)b->graphs * 0x9e3779b97f4a7c15u + b->config.seed;
}

static void free_batches(gnn__source_state_t *state)
{
    graphs_t *b = (graphs_t *)state;
    room_t *const rooms[] = {&b->chosen,    &b->lengths,   &b->ones,      &b->rows,
                             &b->edge_rows, &b->indptr,    &b->indices,   &b->labels,
                             &b->targets,   &b->sparse[0], &b->sparse[1], &b->sparse[2]};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++)
        gnn_free(rooms[k]->data);
    for (int64_t v = 0; b->numbers && v < b->n_values; v++)
        gnn_free(b->numbers[v].data);
    for (int k = 0; k < 3; k++)
        gnn_free(b->of_part[k]);
    free_graphs(b);
    gnn_free(b->order);
    gnn_free(b->inputs);
    gnn_free(b->values);
    gnn_free(b->tensors);
    gnn_free(b->numbers);
    gnn__training_set_close(&b->set);
    gnn_free(b);
}

static const gnn__source_kind_t of_graphs = {"gnn_source_of_graphs", free_batches};

int gnn_source_of_graphs(gnn_source_t **source, const gnn_model_t *model, const gnn_data_t *data,
                         const gnn_split_t *splits, const gnn_graph_source_config_t *config)
{
    const gnn_graph_source_config_t own = config ? *config : (gnn_graph_source_config_t){0};
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(model);
    GNN__NEED(data);
    GNN__NEED(splits);
    graphs_t *b;
    GNN_TRY(gnn__data_whole(data, "divided into graphs"));
    GNN_TRY(gnn__new(&b, 1, sizeof *b, "batches of graphs"));
    b->base = gnn__source_state(&of_graphs, &b->base, get);
    b->model = model;
    b->config = own;
    const int rc = open_batches(b, data, splits);
    if (rc == GNN_OK)
        count_batches(b);
    return gnn__source_finish(source, &b->base, rc);
}

/* ---- outputs of all graphs ---- */

int gnn_source_predict_graphs(const gnn_source_t *source, const gnn_model_t *model,
                              gnn_context_t *context, const gnn_tensor_t *out)
{
    GNN__NEED(source);
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(out);
    GNN_TRY(gnn__source_is(source, &of_graphs));
    graphs_t *b = (graphs_t *)source->state;
    int64_t *chosen;
    if (out->rows != b->graphs)
        return gnn__error(GNN_ESHAPE, "out: expected %lld rows, one per graph, got %lld",
                          (long long)b->graphs, (long long)out->rows);
    for (int64_t first = 0; first < b->graphs; first += b->config.size) {
        const int64_t count = gnn__min(b->config.size, b->graphs - first);
        gnn_model_inputs_t inputs;
        GNN_TRY(reserve(&b->chosen, b->config.size, sizeof *chosen, "graphs", &chosen));
        for (int64_t k = 0; k < count; k++)
            chosen[k] = first + k;
        GNN_TRY(fill_inputs(b, count, chosen, &inputs));
        const gnn_tensor_t rows = {gnn__row(out, first), count, out->cols, out->stride};
        GNN_TRY(gnn_model_forward(model, context, &inputs, &rows));
    }
    return GNN_OK;
}
