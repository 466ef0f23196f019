/* Zachary's karate club: 34 members, 78 friendships, and the club that each joined when it split.
 * Zachary 1977, "An information flow model for conflict and fission in small groups". The clubs are
 * those of the paper's table, where member 9 joined the instructor's. */
#include <lib/data/data.h>

#include <gnn/graph.h>

enum { MEMBERS = 34, FRIENDSHIPS = 78, VALIDATION = 8 };

/* Members from 0 to 33. The order determines edge ids, two per friendship. */
static const uint8_t friendships[FRIENDSHIPS][2] = {
    {1, 0},   {2, 0},   {3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},   {8, 0},   {10, 0},
    {11, 0},  {12, 0},  {13, 0},  {17, 0},  {19, 0},  {21, 0},  {31, 0},  {2, 1},   {3, 1},
    {7, 1},   {13, 1},  {17, 1},  {19, 1},  {21, 1},  {30, 1},  {3, 2},   {7, 2},   {27, 2},
    {28, 2},  {32, 2},  {9, 2},   {8, 2},   {13, 2},  {7, 3},   {12, 3},  {13, 3},  {6, 4},
    {10, 4},  {6, 5},   {10, 5},  {16, 5},  {16, 6},  {30, 8},  {32, 8},  {33, 8},  {33, 9},
    {33, 13}, {32, 14}, {33, 14}, {32, 15}, {33, 15}, {32, 18}, {33, 18}, {33, 19}, {32, 20},
    {33, 20}, {32, 22}, {33, 22}, {25, 23}, {27, 23}, {32, 23}, {33, 23}, {29, 23}, {25, 24},
    {27, 24}, {31, 24}, {31, 25}, {29, 26}, {33, 26}, {33, 27}, {31, 28}, {33, 28}, {32, 29},
    {33, 29}, {32, 30}, {33, 30}, {32, 31}, {33, 31}, {33, 32},
};

/* Members from 1 to 34: 'i' stayed with the instructor (member 1), 'o' went with the officers
 * (member 34). */
static const char clubs[MEMBERS + 1] = "iiiiiiiiioiiiiooiioioioooooooooooo";

/* Training nodes, counted from 1: the two leaders of the clubs, and a central member of each (8 of
 * 9 and 10 of 12 friends in the same club). */
static const int trained[] = {1, 2, 33, 34};

static int label(gnn_data_t *data)
{
    int32_t order[MEMBERS];
    GNN_TRY(gnn__new(&data->labels, MEMBERS, sizeof *data->labels, "labels"));
    GNN_TRY(gnn_split_new(&data->split, MEMBERS, 1));
    for (int i = 0; i < MEMBERS; i++)
        data->labels[i] = clubs[i] == 'o';
    for (size_t k = 0; k < sizeof trained / sizeof trained[0]; k++)
        data->split->masks[GNN_TRAIN][trained[k] - 1] = 1;
    gnn__data_shuffle(order, MEMBERS, 0);
    for (int k = 0, validation = 0; k < MEMBERS; k++) {
        if (data->split->masks[GNN_TRAIN][order[k]])
            continue;
        data->split->masks[validation < VALIDATION ? GNN_VALIDATION : GNN_TEST][order[k]] = 1;
        validation++;
    }
    return GNN_OK;
}

static int join_friends(gnn_data_t *data)
{
    int64_t src[2 * FRIENDSHIPS], dst[2 * FRIENDSHIPS];
    for (int k = 0; k < FRIENDSHIPS; k++) {
        src[2 * k] = dst[2 * k + 1] = friendships[k][0];
        dst[2 * k] = src[2 * k + 1] = friendships[k][1];
    }
    return gnn_graph_from_edges(&data->graph, MEMBERS, MEMBERS, 2 * FRIENDSHIPS, src, dst);
}

static int build(gnn_data_t *data)
{
    GNN_TRY(gnn__strdup(&data->name, "karate"));
    GNN_TRY(join_friends(data));
    data->n = MEMBERS;
    data->classes = 2;
    GNN_TRY(gnn__data_one_hot(data, NULL, MEMBERS));
    return label(data);
}

int gnn_data_karate(gnn_data_t **data)
{
    gnn_data_t *d;
    GNN__NEED(data);
    *data = NULL;
    GNN_TRY(gnn__new(&d, 1, sizeof *d, "a data set"));
    int rc = build(d);
    if (rc == GNN_OK)
        *data = d;
    else
        gnn_data_free(d);
    return rc;
}
