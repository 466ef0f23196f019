/* Properties of a data set for the choice of recipes: kind of the features, mean degree, adjusted
 * homophily of training and validation nodes. Labels of test nodes and the name of the file are not
 * used. */
#include "citation.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Classes and splits of senders: those of all nodes, also where receivers are own rows. */
typedef struct {
    const int32_t *labels;
    const uint8_t *train, *validation;
    int64_t first; /* the node of row 0 */
} nodes_t;

static int nodes_of(nodes_t *nodes, const gnn_data_t *data, int64_t split)
{
    const gnn_partition_folder_t *folder = program_folder();
    gnn_partition_folder_rows_t rows;
    *nodes = (nodes_t){gnn_data_labels(data), gnn_data_mask(data, GNN_TRAIN, split),
                       gnn_data_mask(data, GNN_VALIDATION, split), 0};
    if (!folder)
        return GNN_OK;
    GNN_TRY(gnn_partition_folder_rows(folder, 0, 0, &rows));
    const int64_t at = split * gnn_partition_folder_sizes(folder).nodes;
    *nodes = (nodes_t){rows.labels, rows.train + at, rows.validation + at, 0};
    return program_first_row(&nodes->first);
}

static int is_known(const nodes_t *nodes, int64_t i)
{
    return nodes->labels[i] >= 0 &&
           ((nodes->train && nodes->train[i]) || (nodes->validation && nodes->validation[i]));
}

/* Counts edges between nodes with known classes: per class, and within a class. */
static int64_t count_known(const gnn_data_t *data, const nodes_t *nodes, int64_t *of_class,
                           int64_t *same)
{
    const gnn_graph_t *graph = gnn_data_graph(data);
    const int32_t *labels = nodes->labels;
    int64_t known = 0;
    for (int64_t p = 0; p < gnn_graph_n_parts(graph); p++)
        for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
            const int64_t i = nodes->first + r;
            gnn_graph_row_t row;
            if (!is_known(nodes, i) || gnn_graph_row(graph, p, r, &row) != GNN_OK)
                continue;
            for (int64_t k = 0; k < row.count; k++) {
                const int64_t j = gnn_graph_row_sender(&row, k);
                if (j == i || !is_known(nodes, j))
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
    const int64_t classes = gnn_data_classes(data);
    nodes_t nodes;
    GNN_TRY(nodes_of(&nodes, data, split));
    /* edges per class, then those within a class, and all */
    int64_t *of_class = calloc((size_t)classes + 1, sizeof *of_class);
    double *counts = calloc((size_t)classes + 2, sizeof *counts), chance = 0;
    int rc = of_class && counts ? GNN_OK : GNN_EMEMORY;
    if (rc == GNN_OK) {
        counts[classes + 1] = (double)count_known(data, &nodes, of_class, &of_class[classes]);
        for (int64_t c = 0; c <= classes; c++)
            counts[c] = (double)of_class[c];
        rc = program_sum(classes + 2, counts);
    }
    f->known = rc == GNN_OK ? (int64_t)counts[classes + 1] : 0;
    for (int64_t c = 0; c < classes && f->known > 0; c++)
        chance += pow(counts[c] / (double)f->known, 2);
    f->homophily = chance < 1 && f->known > 0
                       ? (counts[classes] / (double)f->known - chance) / (1 - chance)
                       : NAN;
    free(of_class);
    free(counts);
    return rc;
}

int facts_of(facts_t *f, const gnn_data_t *data, int64_t split)
{
    const uint8_t *train = gnn_data_mask(data, GNN_TRAIN, split),
                  *validation = gnn_data_mask(data, GNN_VALIDATION, split);
    const int64_t rows = gnn_data_nodes(data);
    double sums[] = {0, 0, (double)rows, (double)gnn_graph_n_pairs(gnn_data_graph(data))};
    *f = (facts_t){.homophily = NAN, .columns = gnn_data_features(data)};
    GNN_TRY(features_of(data, &f->features));
    for (int64_t i = 0; i < rows; i++) {
        sums[0] += train && train[i];
        sums[1] += validation && validation[i];
    }
    GNN_TRY(program_sum(4, sums));
    f->labelled = (int64_t)sums[0];
    f->validated = (int64_t)sums[1];
    f->nodes = (int64_t)sums[2];
    f->degree = sums[3] / sums[2];
    return gnn_data_classes(data) > 0 ? measure_homophily(f, data, split) : GNN_OK;
}
