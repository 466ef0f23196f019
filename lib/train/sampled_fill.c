/* One batch of samples: its seeds, its graphs, and the rows that the model and the loss read. */
#include <lib/data/data.h>
#include <lib/train/sampled.h>

/* Values of a batch: an edge array has one per graph. */
static int64_t count_values(const gnn__sampled_source_t *b)
{
    int64_t count = 0;
    for (int64_t k = 0; k < b->n_inputs; k++)
        count += b->inputs[k].of_set.place == GNN_ON_EDGES ? gnn_sampler_graphs(b->sampler) : 1;
    return count;
}

int gnn__filled_open(gnn__filled_t *f, const gnn__sampled_source_t *b)
{
    static const char what[] = "a batch of samples";
    const int64_t values = count_values(b);
    GNN_TRY(gnn_sample_new(&f->sample, b->sampler));
    GNN_TRY(gnn__new(&f->seeds, b->batch, sizeof *f->seeds, what));
    GNN_TRY(gnn__new(&f->graphs, gnn_model_graph_count(b->model), sizeof(gnn_graph_t *), what));
    GNN_TRY(gnn__new(&f->values, values, sizeof *f->values, what));
    GNN_TRY(gnn__new(&f->scales, values, sizeof *f->scales, what));
    GNN_TRY(gnn__new(&f->rows, values, sizeof *f->rows, what));
    f->n_values = values;
    return GNN_OK;
}

void gnn__filled_close(gnn__filled_t *f)
{
    for (int64_t k = 0; k < f->n_values; k++)
        gnn__part_rows_free(&f->rows[k]);
    gnn_sample_free(f->sample);
    gnn_free(f->seeds);
    gnn_free(f->graphs);
    gnn_free(f->values);
    gnn_free(f->scales);
    gnn_free(f->rows);
    gnn_free(f->labels);
    gnn_free(f->mask);
    gnn_free(f->numbers);
}

/* ---- seeds ---- */

/* Shuffles the training seeds of an epoch, independently of earlier epochs. */
static void shuffle(gnn__sampled_source_t *b, int64_t epoch)
{
    if (b->ordered == epoch)
        return;
    const uint64_t seed = b->config.sampling->sampler.seed;
    gnn__data_shuffle(b->order, b->n_seeds[GNN_TRAIN],
                      seed ^ gnn__hash_string("epoch") ^ (uint64_t)epoch * 0x9e3779b97f4a7c15u);
    b->ordered = epoch;
}

static int64_t take_seeds(gnn__filled_t *f, gnn__sampled_source_t *b)
{
    const gnn__batch_key_t *key = &f->key;
    const int32_t *seeds = b->seeds[key->part];
    const int64_t from = key->index * b->batch,
                  count = gnn__min(b->batch, b->n_seeds[key->part] - from);
    if (key->part == GNN_TRAIN)
        shuffle(b, key->epoch);
    for (int64_t k = 0; k < count; k++)
        f->seeds[k] = seeds[key->part == GNN_TRAIN ? b->order[from + k] : from + k];
    return count;
}

/* ---- graphs ---- */

static int take_graphs(gnn__filled_t *f, const gnn__sampled_source_t *b)
{
    const gnn_flag_t backward = f->key.part == GNN_TRAIN ? GNN_ON : GNN_OFF;
    for (int slot = 0; slot < gnn_model_graph_count(b->model); slot++) {
        gnn_graph_t *g = gnn_sample_graph(f->sample, b->sampler->row->blocks ? slot : 0);
        GNN_TRY(gnn_model_prepare(b->model, slot, g, backward));
        f->graphs[slot] = g;
    }
    return GNN_OK;
}

/* ---- rows ---- */

/* Weights times the unbiased scale; the scale alone without weights. */
static void scale_weights(gnn__filled_t *f, int64_t v, int64_t l, int64_t edges)
{
    const gnn_real_t *scale = gnn_sample_edge_scale(f->sample, l);
    gnn_named_t *value = &f->values[v];
    if (!scale)
        return;
    if (!value->dense) {
        f->scales[v] = gnn_tensor((gnn_real_t *)scale, edges, 1);
        value->dense = &f->scales[v];
        return;
    }
    for (int64_t k = 0; k < edges; k++)
        f->rows[v].numbers[k * f->rows[v].dense.cols] *= scale[k];
}

static int take_edge_rows(gnn__filled_t *f, const gnn__sampled_source_t *b,
                          const gnn__sampled_input_t *in, gnn_context_t *context, int64_t *v)
{
    const int64_t graphs = gnn_sampler_graphs(b->sampler);
    for (int64_t l = 0; l < graphs; l++, ++*v) {
        const int64_t edges = gnn_graph_n_edges(gnn_sample_graph(f->sample, l));
        const gnn__part_index_t index = {.edges = gnn_sample_edges(f->sample, l), .count = edges};
        f->values[*v] = (gnn_named_t){.name = in->of_set.whole.name};
        if (in->of_set.whole.dense)
            GNN_TRY(gnn__part_rows_take(&f->rows[*v], &in->of_set.whole, &index, context,
                                        &f->values[*v]));
        f->values[*v].slot = b->sampler->row->blocks ? (int)l + 1 : 0;
        if (in->weighs)
            scale_weights(f, *v, l, edges);
    }
    return GNN_OK;
}

static int take_rows(gnn__filled_t *f, const gnn__sampled_source_t *b, gnn_context_t *context)
{
    int64_t v = 0, nodes;
    const gnn__part_index_t index = {.nodes = gnn_sample_nodes(f->sample, &nodes), .count = nodes};
    for (int64_t k = 0; k < b->n_inputs; k++) {
        const gnn__sampled_input_t *in = &b->inputs[k];
        if (in->of_set.place == GNN_ON_EDGES) {
            GNN_TRY(take_edge_rows(f, b, in, context, &v));
            continue;
        }
        f->values[v] = in->of_set.whole;
        if (in->of_set.place == GNN_ON_NODES)
            GNN_TRY(gnn__part_rows_take(&f->rows[v], &in->of_set.whole, &index, context,
                                        &f->values[v]));
        v++;
    }
    return GNN_OK;
}

/* ---- targets ---- */

static int take_targets(gnn__filled_t *f, const gnn__sampled_source_t *b, const int32_t *node,
                        int64_t rows)
{
    const int64_t columns = gnn__training_set_columns(&b->set);
    int64_t count;
    if (!gnn__training_set_has_targets(&b->set))
        return GNN_OK;
    if (!gnn__mul(rows, columns, &count))
        return gnn__error(GNN_EOVERFLOW, "targets of %lld rows do not fit", (long long)rows);
    GNN_TRY(gnn__reserve(&f->numbers, &f->numbers_room, count, sizeof *f->numbers, "targets"));
    f->targets = gnn_tensor(f->numbers, rows, columns);
    for (int64_t k = 0; k < rows; k++)
        gnn__training_set_target(&b->set, node[k], gnn__row(&f->targets, k));
    return GNN_OK;
}

/* Output rows are the seeds of blocks, or all nodes of a subgraph, in which the loss is over the
 * seeds or, depending on the method, over all nodes of the split. */
static int take_labels(gnn__filled_t *f, const gnn__sampled_source_t *b, int64_t n_seeds)
{
    const bool blocks = b->sampler->row->blocks, all = b->sampler->row->all_learn;
    const gnn__training_set_t *set = &b->set;
    int64_t nodes;
    const int32_t *node = gnn_sample_nodes(f->sample, &nodes);
    const int64_t rows = blocks ? n_seeds : nodes;
    GNN_TRY(gnn__reserve(&f->labels, &f->labels_room, rows, sizeof *f->labels, "labels"));
    GNN_TRY(gnn__reserve(&f->mask, &f->mask_room, rows, 1, "marks of rows"));
    for (int64_t k = 0; k < rows; k++) {
        f->labels[k] = set->labels ? set->labels[node[k]] : -1;
        f->mask[k] = all ? set->masks[f->key.part][node[k]] : k < n_seeds;
    }
    return take_targets(f, b, node, rows);
}

static int fill(gnn__filled_t *f, gnn__sampled_source_t *b, gnn_context_t *context)
{
    const int64_t seeds = take_seeds(f, b);
    GNN_TRY(gnn_sample_draw(f->sample, context, seeds, f->seeds, f->key.epoch, f->key.index));
    GNN_TRY(take_graphs(f, b));
    GNN_TRY(take_rows(f, b, context));
    GNN_TRY(take_labels(f, b, seeds));
    f->batch = (gnn_batch_t){.inputs = {.graphs = f->graphs,
                                        .n_graphs = gnn_model_graph_count(b->model),
                                        .values = f->values,
                                        .n_values = f->n_values},
                             .loss = gnn__training_set_loss(&b->set, f->key.part)};
    f->batch.loss.labels = b->set.labels ? f->labels : NULL;
    f->batch.loss.targets = gnn__training_set_has_targets(&b->set) ? &f->targets : NULL;
    f->batch.loss.mask = f->mask;
    f->batch.loss.row_weight = gnn_sample_node_scale(f->sample);
    return GNN_OK;
}

void gnn__filled_fill(gnn__filled_t *f, gnn__sampled_source_t *b, gnn_context_t *context)
{
    f->rc = fill(f, b, context);
    if (f->rc != GNN_OK)
        snprintf(f->message, sizeof f->message, "%s", gnn_error_message());
    f->there = true;
}
