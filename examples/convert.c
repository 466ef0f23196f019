/* Turns a data set of any form that libgnn reads into one .npz, and says what it holds:
 *
 *     convert cora.cites cora.npz
 *     convert ogbn_arxiv arxiv.npz --standardise
 *     convert links.edges set.npz --features x.csv --labels y.csv
 *     convert graph.graphml
 *
 * Without a second path it only says what there is. */
#include "program.h"

#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_SHOWN = 100 };

typedef struct options {
    const char *in, *out, *features, *labels;
    int normalise, standardise;
} options_t;

static int usage(const char *what, const char *argument)
{
    fprintf(stderr, "convert: %s%s\n", what, argument);
    fprintf(
        stderr,
        "usage: convert IN [OUT.npz] [--features X.csv] [--labels Y.csv] [--row-normalise] [--standardise]\n"
        "IN: .npz, LINQS' NAME.content or NAME.cites, OGB's folder, an edge list, GraphML (docs/formats.md)\n"
        "--standardise measures the training nodes of the first split\n");
    return 2;
}

static int parse(options_t *o, int count, char **arguments)
{
    for (int k = 1; k < count; k++) {
        const char *a = arguments[k];
        const char **path = strcmp(a, "--features") == 0 ? &o->features
                            : strcmp(a, "--labels") == 0 ? &o->labels
                                                         : NULL;
        if (path && k + 1 == count)
            return usage("a path is expected behind ", a);
        if (path)
            *path = arguments[++k];
        else if (strcmp(a, "--row-normalise") == 0)
            o->normalise = 1;
        else if (strcmp(a, "--standardise") == 0)
            o->standardise = 1;
        else if (strncmp(a, "--", 2) == 0)
            return usage("unknown option ", a);
        else if (!o->in)
            o->in = a;
        else if (!o->out)
            o->out = a;
        else
            return usage("a third path: ", a);
    }
    return o->in ? 0 : usage("no path", "");
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
    if (count == 2 && strcmp(arguments[1], "--help") == 0)
        return usage("turns data sets into .npz", "") ? EXIT_SUCCESS : EXIT_FAILURE;
    if (parse(&options, count, arguments) != 0)
        return 2;
    int rc = convert(&options, &data);
    if (rc != GNN_OK)
        fprintf(stderr, "convert: %s\n", gnn_error_message());
    gnn_data_free(data);
    return program_ends("convert", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
