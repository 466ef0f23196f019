/* Properties of a data set for the choice of recipes: kind of the features, mean degree, adjusted
 * homophily of training and validation nodes. Labels of test nodes and the name of the file are not
 * used. */
#include "citation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_known(const gnn_data_t *data, int64_t split, int64_t i)
{
    const uint8_t *train = gnn_data_mask(data, GNN_TRAIN, split),
                  *validation = gnn_data_mask(data, GNN_VALIDATION, split);
    return gnn_data_labels(data)[i] >= 0 && ((train && train[i]) || (validation && validation[i]));
}

/* Counts edges between nodes with known classes: per class, and within a class. */
static int64_t count_known(const gnn_data_t *data, int64_t split, int64_t *of_class, int64_t *same)
{
    const gnn_graph_t *graph = gnn_data_graph(data);
    const int32_t *labels = gnn_data_labels(data);
    int64_t known = 0;
    for (int64_t p = 0; p < gnn_graph_n_parts(graph); p++)
        for (int64_t i = 0; i < gnn_data_nodes(data); i++) {
            gnn_graph_row_t row;
            if (!is_known(data, split, i) || gnn_graph_row(graph, p, i, &row) != GNN_OK)
                continue;
            for (int64_t k = 0; k < row.count; k++) {
                const int64_t j = gnn_graph_row_sender(&row, k);
                if (j == i || !is_known(data, split, j))
                    continue;
                known++;
                of_class[labels[i]]++;
                *same += labels[i] == labels[j];
            }
        }
    return known;
}

/* Adjusted edge homophily (Platonov et al. 2023): 1 if all edges are within classes, about 0 if
 * edges are independent of classes. */
static int measure_homophily(facts_t *f, const gnn_data_t *data, int64_t split)
{
    int64_t same = 0, classes = gnn_data_classes(data);
    int64_t *of_class = calloc((size_t)(classes ? classes : 1), sizeof *of_class);
    if (!of_class)
        return GNN_EMEMORY;
    f->known = count_known(data, split, of_class, &same);
    double chance = 0;
    for (int64_t c = 0; c < classes && f->known > 0; c++)
        chance += pow((double)of_class[c] / (double)f->known, 2);
    f->homophily =
        chance < 1 && f->known > 0 ? ((double)same / (double)f->known - chance) / (1 - chance) : NAN;
    free(of_class);
    return GNN_OK;
}

int facts_of(facts_t *f, const gnn_data_t *data, int64_t split)
{
    const uint8_t *train = gnn_data_mask(data, GNN_TRAIN, split),
                  *validation = gnn_data_mask(data, GNN_VALIDATION, split);
    *f = (facts_t){.features = features_of(data), .homophily = NAN};
    f->columns = gnn_data_features(data);
    f->nodes = gnn_data_nodes(data);
    f->degree = (double)gnn_graph_n_pairs(gnn_data_graph(data)) / (double)f->nodes;
    for (int64_t i = 0; i < f->nodes; i++) {
        f->labelled += train && train[i];
        f->validated += validation && validation[i];
    }
    return gnn_data_classes(data) > 0 ? measure_homophily(f, data, split) : GNN_OK;
}
