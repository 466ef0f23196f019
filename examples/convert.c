/* Turns a data set of any form that libgnn reads into one .npz, and says what it holds:
 *
 *     convert cora.cites cora.npz
 *     convert ogbn_arxiv arxiv.npz --standardise
 *     convert links.edges set.npz --features x.csv --labels y.csv
 *     convert graph.graphml
 *
 * Without a second path it only says what there is. */
#include "options.h"
#include "program.h"

#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES_SHOWN = 100 };

typedef struct options {
    const char *in, *out, *features, *labels;
    int normalise, standardise;
} options_t;

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const char *paths[2] = {NULL, NULL};
    const option_t rows[] = {
        TEXT("features", &o->features, "a row of numbers for each node", "FILE.csv"),
        TEXT("labels", &o->labels, "a class for each node", "FILE.csv"),
        FLAG("row-normalise", &o->normalise, "divides each row of features by its sum"),
        FLAG("standardise", &o->standardise,
             "mean 0 and deviation 1 for each feature, measured on the training nodes of the first split"),
    };
    const program_t program = {
        .name = "convert",
        .usage = "IN [OUT.npz] [OPTION]...",
        .summary =
            "Turns a data set of any form that libgnn reads into one .npz, and says what it holds.",
        .notes = "IN: .npz, LINQS' NAME.content or NAME.cites, OGB's folder, an edge list, GraphML\n"
                 "(docs/formats.md). Without OUT.npz the program only says what there is.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows),
        .operands = paths,
        .n_operands = 2};
    if (!options_read(&program, argc, argv, status))
        return 0;
    o->in = paths[0];
    o->out = paths[1];
    *status = 2;
    if (!o->in)
        fprintf(stderr, "convert: a path is expected: --help says of what\n");
    return o->in && program_can_write("convert", o->out);
}

static int convert(const options_t *o, gnn_data_t **data)
{
    char text[512];
    GNN_TRY(gnn_data_open(data, o->in));
    if (o->features || o->labels)
        GNN_TRY(gnn_data_add_csv(*data, o->features, o->labels));
    if (o->normalise)
        GNN_TRY(gnn_data_row_normalise(*data));
    if (o->standardise)
        GNN_TRY(gnn_data_standardise(*data, 0));
    gnn_data_describe(*data, text, sizeof text);
    puts(text);
    for (int64_t c = 0;
         gnn_data_class_names(*data) && c < gnn_data_classes(*data) && c < CLASSES_SHOWN; c++)
        printf("class %lld: %s\n", (long long)c, gnn_data_class_names(*data)[c]);
    if (!o->out)
        return GNN_OK;
    GNN_TRY(gnn_data_save(*data, o->out));
    printf("written: %s\n", o->out);
    return GNN_OK;
}

int main(int count, char **arguments)
{
    options_t options = {0};
    gnn_data_t *data = NULL;
    int status;
    if (!read_options(&options, count, arguments, &status))
        return status;
    int rc = convert(&options, &data);
    if (rc != GNN_OK)
        fprintf(stderr, "convert: %s\n", gnn_error_message());
    gnn_data_free(data);
    return program_ends("convert", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
