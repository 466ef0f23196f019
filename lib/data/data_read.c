/* Accessors of data sets. */
#include <lib/data/data.h>

const char *gnn_data_name(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->name;
}

gnn_graph_t *gnn_data_graph(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->graph;
}

int64_t gnn_data_nodes(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return data->n;
}

int64_t gnn_data_features(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return data->features;
}

int64_t gnn_data_classes(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return data->classes;
}

int64_t gnn_data_splits(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return data->split ? data->split->count : 0;
}

const gnn_tensor_t *gnn_data_x(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->sparse.indptr ? NULL : &data->x;
}

const gnn_sparse_t *gnn_data_sparse(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->sparse.indptr ? &data->sparse : NULL;
}

const int32_t *gnn_data_labels(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->labels;
}

const uint8_t *gnn_data_mask(const gnn_data_t *data, int part, int64_t split)
{
    GNN__NEED_OR(data, NULL);
    return gnn_split_mask(data->split, part, split);
}

const gnn_split_t *gnn_data_split(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->split;
}

const char *const *gnn_data_class_names(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return (const char *const *)data->class_names;
}

const int64_t *gnn_data_order(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->order;
}

const int64_t *gnn_data_edge_order(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    return data->edge_order;
}

int64_t gnn_data_skipped(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return data->skipped;
}
