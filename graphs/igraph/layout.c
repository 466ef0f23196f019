/* Positions of nodes for pictures: Fruchterman and Reingold 1991, by igraph. The start comes from
 * the seed, so that a picture can be drawn again. */
#include <graphs/igraph/call.h>
#include <math.h>

#define STEPS 500

static void start_positions(igraph_matrix_t *at, int64_t n, uint64_t seed)
{
    double side = sqrt((double)n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < 2; c++)
            MATRIX(*at, i, c) =
                side * (gnn__uniform(seed, gnn__hash_string("layout"), (uint64_t)(2 * i + c)) - 0.5);
}

/* igraph draws from its default generator to tell nodes at one place apart: it gets a seeded one
 * meanwhile. */
static int run_seeded(const igraph_t *igraph, const igraph_vector_t *weights, igraph_matrix_t *at,
                      uint64_t seed)
{
    igraph_rng_t mine, before = *igraph_rng_default();
    double n = (double)igraph_vcount(igraph);
    int rc = igraph_rng_init(&mine, &igraph_rngtype_mt19937);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_rng_seed(&mine, (igraph_uint_t)seed);
    *igraph_rng_default() = mine;
    if (rc == IGRAPH_SUCCESS)
        rc = igraph_layout_fruchterman_reingold(igraph, at, true, STEPS, sqrt(n) / 10,
                                                IGRAPH_LAYOUT_AUTOGRID, weights, NULL, NULL, NULL,
                                                NULL);
    mine = *igraph_rng_default();
    *igraph_rng_default() = before;
    igraph_rng_destroy(&mine);
    return rc;
}

/* What edges of both directions pull together; igraph expects numbers above 0. */
static int add_weights(const igraph_t *igraph, igraph_vector_t *weights)
{
    GNN_TRY(igraph_cattribute_EANV(igraph, "weight", igraph_ess_all(IGRAPH_EDGEORDER_ID), weights));
    for (int64_t k = 0; k < igraph_vector_size(weights); k++)
        VECTOR(*weights)[k] = fmax(VECTOR(*weights)[k], 1e-6);
    return IGRAPH_SUCCESS;
}

static int run_weighted(const igraph_t *igraph, igraph_matrix_t *at, uint64_t seed)
{
    igraph_vector_t weights;
    int rc = igraph_vector_init(&weights, 0);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = add_weights(igraph, &weights);
    if (rc == IGRAPH_SUCCESS)
        rc = run_seeded(igraph, &weights, at, seed);
    igraph_vector_destroy(&weights);
    return rc;
}

static int place(const igraph_t *igraph, bool weighted, uint64_t seed, const gnn_tensor_t *positions)
{
    igraph_matrix_t at;
    int rc = igraph_matrix_init(&at, igraph_vcount(igraph), 2);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    start_positions(&at, positions->rows, seed);
    rc = weighted ? run_weighted(igraph, &at, seed) : run_seeded(igraph, NULL, &at, seed);
    for (int64_t i = 0; i < positions->rows && rc == IGRAPH_SUCCESS; i++)
        for (int64_t c = 0; c < 2; c++)
            gnn__row(positions, i)[c] = (gnn_real_t)MATRIX(at, i, c);
    igraph_matrix_destroy(&at);
    return rc;
}

static int layout(const gnn_graph_t *graph, const gnn_real_t *weight, uint64_t seed,
                  const gnn_tensor_t *positions)
{
    igraph_t igraph;
    GNN_TRY(gnn__igraph_from_graph(graph, &igraph));
    int rc = weight ? gnn__igraph_weigh_edges(&igraph, weight) : IGRAPH_SUCCESS;
    if (rc == IGRAPH_SUCCESS)
        rc = weight ? gnn__igraph_collapse(&igraph, IGRAPH_ATTRIBUTE_COMBINE_SUM)
                    : (int)igraph_to_undirected(&igraph, IGRAPH_TO_UNDIRECTED_COLLAPSE, NULL);
    if (rc == IGRAPH_SUCCESS)
        rc = place(&igraph, weight != NULL, seed, positions);
    igraph_destroy(&igraph);
    return rc;
}

static int check_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions)
{
    if (!graph || !positions)
        return gnn__error(GNN_EINVALID, "the %s is NULL", graph ? "tensor of positions" : "graph");
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "a layout needs one kind of nodes, but the graph has %lld receivers and %lld senders",
            (long long)graph->n_dst, (long long)graph->n_src);
    if (positions->rows != graph->n_dst || positions->cols != 2)
        return gnn__error(GNN_ESHAPE, "positions are %lld x %lld, but %lld nodes need %lld x 2",
                          (long long)positions->rows, (long long)positions->cols,
                          (long long)graph->n_dst, (long long)graph->n_dst);
    if (graph->n_dst > 0 && (!positions->data || (positions->stride != 0 && positions->stride < 2)))
        return gnn__error(GNN_ESHAPE, "positions have %s",
                          positions->data ? "rows that overlap" : "no data");
    return GNN_OK;
}

int gnn_graph_layout(const gnn_graph_t *graph, uint64_t seed, const gnn_tensor_t *positions)
{
    return gnn_graph_layout_weighted(graph, NULL, seed, positions);
}

int gnn_graph_layout_weighted(const gnn_graph_t *graph, const gnn_real_t *weight, uint64_t seed,
                              const gnn_tensor_t *positions)
{
    gnn__igraph_call_t call;
    GNN_TRY(check_positions(graph, positions));
    if (weight)
        GNN_TRY(gnn__igraph_check_weights(graph, weight));
    if (graph->n_dst == 0)
        return GNN_OK;
    gnn__igraph_enter(&call);
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    const int rc = layout(graph, weight, seed, positions);
    igraph_set_attribute_table(before);
    return gnn__igraph_leave(&call, rc);
}
