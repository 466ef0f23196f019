/* Graphs of a data set for models with several graph slots. */
#include <lib/data/data.h>

#include <gnn/graph.h>

void gnn__data_free_slots(gnn_data_t *data)
{
    for (int64_t k = 0; k < data->n_slots; k++)
        gnn_graph_free(data->slots[k]);
    gnn_free(data->slots);
    data->slots = NULL;
    data->n_slots = 0;
}

int gnn_data_graphs_set(gnn_data_t *data, int64_t count, gnn_graph_t *const *graphs)
{
    gnn_graph_t **slots = NULL;
    GNN__NEED(data);
    GNN__NEED_LIST(graphs, count);
    GNN_TRY(gnn__data_whole(data, "given graphs for slots"));
    if (count < 0)
        return gnn__error(GNN_EINVALID, "%lld graphs for the slots of models, expected at least 0",
                          (long long)count);
    for (int64_t k = 0; k < count; k++)
        if (!graphs[k])
            return gnn__error(GNN_EINVALID, "the graph of slot %lld is NULL", (long long)k);
    GNN_TRY(gnn__new(&slots, count, sizeof *slots, "graphs of slots"));
    for (int64_t k = 0; k < count; k++)
        slots[k] = graphs[k];
    gnn__data_changed(data);
    gnn__data_free_slots(data);
    data->slots = slots;
    data->n_slots = count;
    return GNN_OK;
}

gnn_graph_t *gnn_data_graph_at(const gnn_data_t *data, int64_t slot)
{
    GNN__NEED_OR(data, NULL);
    return slot >= 0 && slot < data->n_slots ? data->slots[slot] : NULL;
}

int gnn__data_whole(const gnn_data_t *data, const char *what)
{
    const gnn__data_rank_t *rank = data->rank;
    return rank ? gnn__error(GNN_EUNSUPPORTED,
                             "a set of one rank's rows (%lld to %lld of %lld) cannot be %s",
                             (long long)rank->lo, (long long)(rank->lo + data->n) - 1,
                             (long long)rank->n, what)
                : GNN_OK;
}

int gnn__data_one_graph(const gnn_data_t *data, const char *what)
{
    GNN_TRY(gnn__data_whole(data, what));
    return data->n_slots == 0 ? GNN_OK
                              : gnn__error(GNN_EUNSUPPORTED,
                                           "a set with graphs for %lld slots of models cannot be %s",
                                           (long long)data->n_slots, what);
}
