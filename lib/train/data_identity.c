/* The identity of a data set for resumed training: a hash. */
#include <graphs/graph.h>
#include <lib/data/data.h>
#include <lib/train/train.h>

/* Hashes the sampling settings. */
static void hash_sampling(uint64_t *sum, const gnn_sampling_t *sampling)
{
    const gnn_sampler_config_t *c = &sampling->sampler;
    const int64_t numbers[] = {sampling->batch, c->hops,     c->replace,      c->walk_length,
                               c->rounds,       c->clusters, (int64_t)c->seed};
    gnn__hash_add(sum, numbers, sizeof numbers);
    if (c->method)
        gnn__hash_add(sum, c->method, strlen(c->method));
    if (c->fan_outs && c->hops > 0)
        gnn__hash_add(sum, c->fan_outs, (size_t)c->hops * sizeof *c->fan_outs);
}

/* ---- over ranks: what all must hold ---- */

int gnn__ranks_same_data(gnn__ranks_t *ranks, const gnn__training_set_t *set)
{
    if (set->data->rank) /* checked when it was opened; a whole set on another rank differs */
        return gnn__ranks_same(ranks, "data sets", set->data->rank->identity);
    const int64_t sizes[] = {set->nodes, set->classes};
    const uint64_t whole = gnn__data_sum(set->data);
    uint64_t sum = GNN__HASH_START;
    gnn__hash_add(&sum, sizes, sizeof sizes);
    gnn__hash_add(&sum, &whole, sizeof whole);
    if (set->labels)
        gnn__hash_add(&sum, set->labels, (size_t)set->rows * sizeof *set->labels);
    for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
        if (set->masks[part])
            gnn__hash_add(&sum, set->masks[part], (size_t)set->rows);
    return gnn__ranks_same(ranks, "data sets", sum);
}

int gnn__ranks_same_weights(gnn__ranks_t *ranks, const gnn_context_t *context,
                            const gnn_model_t *model)
{
    const uint64_t seed = gnn_context_seed(context);
    const gnn_parameters_t *p = gnn_model_parameters(model);
    uint64_t sum = GNN__HASH_START;
    gnn__hash_add(&sum, &seed, sizeof seed);
    for (int32_t id = 0; id < gnn_parameters_count(p); id++) {
        const gnn_tensor_t value = gnn_parameters_value(p, id);
        const int64_t sizes[] = {value.rows, value.cols};
        gnn__hash_add(&sum, sizes, sizeof sizes);
        for (int64_t r = 0; value.data && r < value.rows; r++)
            gnn__hash_add(&sum, gnn__row(&value, r), (size_t)value.cols * sizeof *value.data);
    }
    return gnn__ranks_same(ranks, "weights or seeds", sum);
}

/* *sum goes on over a value per row; for a set of one rank's, over those of all ranks in order. */
static int add_rows(uint64_t *sum, gnn__ranks_t *ranks, const void *rows, size_t bytes)
{
    uint64_t *all;
    int rc = GNN_OK;
    if (!ranks) {
        gnn__hash_add(sum, rows, bytes);
        return GNN_OK;
    }
    GNN_TRY(gnn__new(&all, ranks->transport->ranks, sizeof *all, "hashes of ranks"));
    for (int r = 0; r < ranks->transport->ranks && rc == GNN_OK; r++) {
        if (r == ranks->transport->rank)
            gnn__hash_add(sum, rows, bytes);
        rc = gnn__ranks_gather(ranks, sum, NULL, sizeof *sum, all);
        if (rc == GNN_OK)
            *sum = all[r];
    }
    gnn_free(all);
    return rc;
}

int gnn__identify_data(uint64_t *identity, const gnn__training_set_t *set,
                       const gnn_train_config_t *config)
{
    const gnn_data_t *data = set->data;
    const size_t n = (size_t)data->n;
    int64_t sizes[] = {set->ranks ? data->rank->n : data->n, gnn_graph_n_pairs(data->graph),
                       data->classes, data->features};
    uint64_t sum = GNN__HASH_START;
    if (set->ranks)
        GNN_TRY(gnn__ranks_total(set->ranks, &sizes[1]));
    gnn__hash_add(&sum, sizes, sizeof sizes);
    for (int64_t k = 0; k < data->n_slots; k++) {
        const int64_t pairs = gnn_graph_n_pairs(data->slots[k]);
        gnn__hash_add(&sum, &pairs, sizeof pairs);
    }
    GNN_TRY(add_rows(&sum, set->ranks, data->labels, n * sizeof *data->labels));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        GNN_TRY(add_rows(&sum, set->ranks, set->masks[part], n));
    if (config->targets)
        gnn__hash_add(&sum, config->targets, strlen(config->targets));
    const double drops[] = {(double)config->drop_edge, (double)config->drop_node};
    if (drops[0] != 0 || drops[1] != 0)
        gnn__hash_add(&sum, drops, sizeof drops);
    if (config->class_weight)
        gnn__hash_add(&sum, config->class_weight,
                      (size_t)data->classes * sizeof *config->class_weight);
    if (config->sampling)
        hash_sampling(&sum, config->sampling);
    *identity = sum;
    return GNN_OK;
}
