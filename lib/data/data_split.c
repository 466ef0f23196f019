/* The default split of a data set without one. */
#include <lib/data/data.h>

enum { TRAIN_A_CLASS = 20, VALIDATION = 500, TEST = 1000 };

/* Marks training nodes; order keeps the other labelled ones; returns their count. room[c]: training
 * nodes still to take from class c. */
static int64_t mark_train(const gnn_data_t *data, int32_t *order, int64_t *room)
{
    int64_t rest = 0;
    for (int64_t i = 0; i < data->n; i++)
        if (data->labels[i] >= 0)
            room[data->labels[i]]++;
    for (int64_t c = 0; c < data->classes; c++) {
        int64_t half = (room[c] + 1) / 2;
        room[c] = half < TRAIN_A_CLASS ? half : TRAIN_A_CLASS;
    }
    for (int64_t k = 0; k < data->n; k++) {
        int32_t i = order[k], label = data->labels[i];
        if (label < 0)
            continue;
        if (room[label] > 0) {
            room[label]--;
            data->split->masks[GNN_TRAIN][i] = 1;
        } else {
            order[rest++] = i;
        }
    }
    return rest;
}

/* Nodes without classes: 60% training, 20% validation. */
static int split_shares(gnn_data_t *data, uint64_t seed)
{
    int32_t *same;
    GNN_TRY(gnn__new(&same, data->n, sizeof *same, "labels"));
    int rc = gnn_split_draw(
        &data->split, same, data->n,
        &(gnn_split_rule_t){.train_share = 0.6, .validation_share = 0.2, .seed = seed});
    gnn_free(same);
    return rc;
}

int gnn__data_default_split(gnn_data_t *data, uint64_t seed)
{
    if (gnn_data_label_kind(data) > GNN_LABELS_CLASSES)
        return split_shares(data, seed);
    int64_t *room = NULL;
    int32_t *order = NULL;
    int rc = GNN_OK;
    GNN_CHECK(gnn_split_new(&data->split, data->n, 1));
    GNN_CHECK(gnn__new(&order, data->n, sizeof *order, "an order of nodes"));
    GNN_CHECK(gnn__new(&room, data->classes, sizeof *room, "class sizes"));
    gnn__data_shuffle(order, data->n, seed);
    int64_t rest = mark_train(data, order, room);
    int64_t validation = rest >= VALIDATION + TEST ? VALIDATION : rest / 3;
    int64_t test = rest - validation < TEST ? rest - validation : TEST;
    for (int64_t k = 0; k < validation; k++)
        data->split->masks[GNN_VALIDATION][order[k]] = 1;
    for (int64_t k = validation; k < validation + test; k++)
        data->split->masks[GNN_TEST][order[k]] = 1;
done:
    gnn_free(order);
    gnn_free(room);
    return rc;
}
