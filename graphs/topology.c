/* The table of topologies. */
#include <graphs/build.h>

#define GNN_TOPOLOGY(name, help) \
    int gnn__topology_##name(gnn_graph_t **, int64_t, const int64_t *, const char *);
#include <graphs/topologies.def>
#undef GNN_TOPOLOGY

#define GNN_TOPOLOGY(name, help) {#name, help, gnn__topology_##name},
static const gnn_topology_t topologies[] = {
#include <graphs/topologies.def>
};
#undef GNN_TOPOLOGY

size_t gnn_topology_count(void)
{
    return sizeof topologies / sizeof *topologies;
}

const gnn_topology_t *gnn_topology_at(size_t index)
{
    return index < gnn_topology_count() ? &topologies[index] : NULL;
}

const gnn_topology_t *gnn_topology_find(const char *name)
{
    for (size_t t = 0; name && t < gnn_topology_count(); t++)
        if (strcmp(topologies[t].name, name) == 0)
            return &topologies[t];
    return NULL;
}
