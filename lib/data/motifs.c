/* A random set of small graphs: random trees with one of three motifs attached, which is the
 * class. */
#include <lib/data/many.h>

typedef struct motif {
    int nodes, links;
    int8_t ends[10][2];
} motif_t;

/* A house, a ring, a wheel. */
static const motif_t motifs[] = {
    {5, 6, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 4}}},
    {6, 6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}},
    {6, 10, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {5, 0}, {5, 1}, {5, 2}, {5, 3}, {5, 4}}},
};
enum { MOTIFS = sizeof motifs / sizeof *motifs, LEAST = 8, MORE = 13, MOST_LINKS = 31 };

static int64_t draw(uint64_t seed, uint64_t counter, int64_t n)
{
    return (int64_t)(gnn__uniform(seed, gnn__hash_string("motifs"), counter) * (double)n);
}

static void link(gnn__many_t *m, int64_t a, int64_t b)
{
    m->a[m->links] = (int32_t)a;
    m->b[m->links++] = (int32_t)b;
}

/* A tree in which each node is linked to an earlier one, then the motif. */
static void add_graph(gnn__many_t *m, uint64_t seed)
{
    const int64_t g = m->graphs++, first = m->nodes;
    const uint64_t counter = (uint64_t)g * 64;
    const motif_t *motif = &motifs[g % MOTIFS];
    const int64_t tree = LEAST + draw(seed, counter, MORE);
    for (int64_t i = 1; i < tree; i++)
        link(m, first + i, first + draw(seed, counter + (uint64_t)i, i));
    for (int k = 0; k < motif->links; k++)
        link(m, first + tree + motif->ends[k][0], first + tree + motif->ends[k][1]);
    link(m, first + tree, first + draw(seed, counter + 63, tree));
    m->lengths[g] = tree + motif->nodes;
    m->labels[g] = g % MOTIFS;
    m->nodes += m->lengths[g];
}

static int fill(gnn_data_t *data, gnn__many_t *m, int64_t graphs, uint64_t seed)
{
    GNN_TRY(gnn__strdup(&data->name, "motifs"));
    GNN_TRY(gnn__new(&m->lengths, graphs, sizeof *m->lengths, "graphs"));
    GNN_TRY(gnn__new(&m->labels, graphs, sizeof *m->labels, "graphs"));
    GNN_TRY(gnn__new(&m->a, graphs * MOST_LINKS, sizeof *m->a, "links"));
    GNN_TRY(gnn__new(&m->b, graphs * MOST_LINKS, sizeof *m->b, "links"));
    while (m->graphs < graphs)
        add_graph(m, seed);
    return gnn__data_many(data, m);
}

int gnn_data_motifs(gnn_data_t **data, int64_t graphs, uint64_t seed)
{
    enum { MOST = 10000000 };
    gnn__many_t many = {0};
    gnn_data_t *d;
    GNN__NEED(data);
    *data = NULL;
    if (graphs < MOTIFS || graphs > MOST)
        return gnn__error(GNN_EINVALID, "%lld graphs, expected %d to %d", (long long)graphs, MOTIFS,
                          MOST);
    GNN_TRY(gnn__new(&d, 1, sizeof *d, "a data set"));
    int rc = fill(d, &many, graphs, seed);
    gnn__many_free(&many);
    if (rc != GNN_OK) {
        gnn_data_free(d);
        return rc;
    }
    *data = d;
    return GNN_OK;
}
