/* Zachary's karate club: 34 members, 78 friendships, and the club that each joined when it split.
 * Zachary 1977, "An information flow model for conflict and fission in small groups". The
 * friendships are igraph's; the clubs are those of the paper's table, where member 9 joined the
 * instructor's. */
#include <lib/io/data/data.h>

#include <gnn/graph.h>

#if GNN_HAS_IGRAPH

enum { MEMBERS = 34, VALIDATION = 8 };

/* Members from 1 to 34: 'i' stayed with the instructor (member 1), 'o' went with the officers
 * (member 34). */
static const char clubs[MEMBERS + 1] = "iiiiiiiiioiiiiooiioioioooooooooooo";

/* Labelled for training, counted from 1: the two who led the clubs, and one well inside each (8 of
 * 9 and 10 of 12 friends in the own club). */
static const int trained[] = {1, 2, 33, 34};

static int one_hot(gnn_data_t *data)
{
    int64_t *indptr;
    int32_t *indices;
    gnn_real_t *values;
    data->sparse.rows = data->sparse.cols = MEMBERS;
    GNN_TRY(gnn__new(&indptr, MEMBERS + 1, sizeof *indptr, "features"));
    data->sparse.indptr = indptr;
    GNN_TRY(gnn__new(&indices, MEMBERS, sizeof *indices, "features"));
    data->sparse.indices = indices;
    GNN_TRY(gnn__new(&values, MEMBERS, sizeof *values, "features"));
    data->sparse.values = values;
    for (int32_t i = 0; i < MEMBERS; i++) {
        indptr[i + 1] = i + 1;
        indices[i] = i;
        values[i] = 1;
    }
    return GNN_OK;
}

static int label(gnn_data_t *data)
{
    int32_t order[MEMBERS];
    GNN_TRY(gnn__new(&data->labels, MEMBERS, sizeof *data->labels, "labels"));
    GNN_TRY(gnn__data_masks(data, 1));
    for (int i = 0; i < MEMBERS; i++)
        data->labels[i] = clubs[i] == 'o';
    for (size_t k = 0; k < sizeof trained / sizeof trained[0]; k++)
        data->masks[GNN_TRAIN][0][trained[k] - 1] = 1;
    gnn__data_shuffle(order, MEMBERS, 0);
    for (int k = 0, validation = 0; k < MEMBERS; k++) {
        if (data->masks[GNN_TRAIN][0][order[k]])
            continue;
        data->masks[validation < VALIDATION ? GNN_VALIDATION : GNN_TEST][0][order[k]] = 1;
        validation++;
    }
    return GNN_OK;
}

static int build(gnn_data_t *data)
{
    GNN_TRY(gnn__strdup(&data->name, "karate"));
    GNN_TRY(gnn_graph_famous(&data->graph, "Zachary"));
    if (gnn_graph_n_dst(data->graph) != MEMBERS)
        return gnn__error(GNN_EFORMAT, "igraph's Zachary graph has %lld nodes, expected %d",
                          (long long)gnn_graph_n_dst(data->graph), MEMBERS);
    data->n = data->features = MEMBERS;
    data->classes = 2;
    GNN_TRY(one_hot(data));
    return label(data);
}

int gnn_data_karate(gnn_data_t **data)
{
    gnn_data_t *d;
    if (!data)
        return gnn__error(GNN_EINVALID, "no place for the data set");
    *data = NULL;
    GNN_TRY(gnn__new(&d, 1, sizeof *d, "a data set"));
    int rc = build(d);
    if (rc == GNN_OK)
        *data = d;
    else
        gnn_data_free(d);
    return rc;
}

#else

int gnn_data_karate(gnn_data_t **data)
{
    if (data)
        *data = NULL;
    return gnn__error(GNN_EUNSUPPORTED,
                      "the karate club comes from igraph, and this build of libgnn is without it");
}

#endif
