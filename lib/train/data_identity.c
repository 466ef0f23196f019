/* The identity of a data set for resumed trainings: a hash. */
#include <lib/train/train.h>

bool gnn__any_marked(const uint8_t *mask, int64_t n)
{
    for (int64_t i = 0; mask && i < n; i++)
        if (mask[i])
            return true;
    return false;
}

static void hash(uint64_t *sum, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    for (size_t k = 0; k < count; k++)
        *sum = (*sum ^ b[k]) * 0x100000001b3u; /* FNV-1a */
}

/* Hashes the sampling settings. */
static void hash_sampling(uint64_t *sum, const gnn_sampling_t *sampling)
{
    const gnn_sampler_config_t *c = &sampling->sampler;
    const int64_t numbers[] = {sampling->batch, c->hops,     c->replace,      c->walk_length,
                               c->rounds,       c->clusters, (int64_t)c->seed};
    hash(sum, numbers, sizeof numbers);
    if (c->method)
        hash(sum, c->method, strlen(c->method));
    if (c->fan_outs && c->hops > 0)
        hash(sum, c->fan_outs, (size_t)c->hops * sizeof *c->fan_outs);
}

const uint8_t *gnn__train_mask(const gnn_data_t *data, const gnn_train_config_t *config, int part)
{
    return gnn_split_mask(config->splits ? config->splits : gnn_data_split(data), part,
                          config->split);
}

uint64_t gnn__identify_data(const gnn_data_t *data, const gnn_train_config_t *config)
{
    const int64_t n = gnn_data_nodes(data), classes = gnn_data_classes(data);
    const int64_t sizes[] = {n, gnn_graph_n_pairs(gnn_data_graph(data)), classes,
                             gnn_data_features(data)};
    uint64_t sum = 0xcbf29ce484222325u;
    hash(&sum, sizes, sizeof sizes);
    for (int64_t k = 0; k < gnn_data_graph_count(data); k++) {
        const int64_t pairs = gnn_graph_n_pairs(gnn_data_graph_at(data, k));
        hash(&sum, &pairs, sizeof pairs);
    }
    hash(&sum, gnn_data_labels(data), (size_t)n * sizeof(int32_t));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        if (gnn__train_mask(data, config, part))
            hash(&sum, gnn__train_mask(data, config, part), (size_t)n);
    if (config->targets)
        hash(&sum, config->targets, strlen(config->targets));
    const double drops[] = {(double)config->drop_edge, (double)config->drop_node};
    if (drops[0] != 0 || drops[1] != 0)
        hash(&sum, drops, sizeof drops);
    if (config->class_weight)
        hash(&sum, config->class_weight, (size_t)classes * sizeof *config->class_weight);
    if (config->sampling)
        hash_sampling(&sum, config->sampling);
    return sum;
}
