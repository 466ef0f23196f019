/* Converts a data set of any format that libgnn reads into one .npz, and describes it:
 *
 *     gnn convert cora.cites cora.npz
 *     gnn convert ogbn_arxiv arxiv.npz --scale columns
 *     gnn convert links.edges set.npz --features x.csv --labels y.csv
 *     gnn convert graph.graphml
 *
 * Without a second path it only describes the set. */
#include "options.h"
#include "program.h"
#include "scale.h"

#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLASSES_SHOWN = 100 };

typedef struct options {
    const char *in, *out, *features, *labels;
    int scale, directed; /* scale: scale_t */
} options_t;

/* OUT must not be an input: "convert cora.content cora.cites" would overwrite the second one. */
static int may_write(const options_t *o)
{
    struct stat in, out;
    const char *ending = o->out ? strrchr(o->out, '.') : NULL;
    if (!o->out)
        return 1;
    if (!ending || strcmp(ending, ".npz") != 0) {
        fprintf(stderr, "convert: %s is to be written: a name that ends in .npz is expected\n",
                o->out);
        return 0;
    }
    if (stat(o->in, &in) != 0 || stat(o->out, &out) != 0 || in.st_dev != out.st_dev ||
        in.st_ino != out.st_ino)
        return 1;
    fprintf(stderr, "convert: %s is read and cannot be written as well\n", o->out);
    return 0;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const char *paths[2] = {NULL, NULL};
    const option_t rows[] = {
        INPUT("features", &o->features, "features, one line per node", "FILE.csv"),
        INPUT("labels", &o->labels, "classes, one line per node", "FILE.csv"),
        DIRECTED(&o->directed),
        SCALE(&o->scale),
    };
    const program_t program = {
        .name = "convert",
        .usage = "IN [OUT.npz] [OPTION]...",
        .notes = "IN: .npz, LINQS' NAME.content or NAME.cites, OGB's folder, an edge list, GraphML "
                 "or GML (docs/formats.md). Without OUT.npz the program only describes the set.",
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
        fprintf(stderr, "convert: the path of a data set is expected; --help lists the forms\n");
    if (o->in && !o->out && options_gave("scale")) {
        fprintf(stderr, "--scale: has no effect without OUT.npz\n");
        return 0;
    }
    if (!o->in || !may_write(o))
        return 0;
    *status = EXIT_FAILURE;
    return !o->out || program_can_write("convert", o->out, PROGRAM_REGULAR);
}

static int convert(const options_t *o, gnn_data_t **data)
{
    char text[512];
    GNN_TRY(program_open_set(data, o->in, o->directed));
    if (o->features || o->labels)
        GNN_TRY(gnn_data_add_csv(*data, o->features, o->labels));
    GNN_TRY(scale_features(*data, o->scale));
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

int convert_main(int count, char **arguments)
{
    options_t options = {.scale = SCALE_NONE};
    gnn_data_t *data = NULL;
    int status;
    if (!read_options(&options, count, arguments, &status))
        return status;
    int rc = convert(&options, &data);
    program_fails("convert", rc);
    gnn_data_free(data);
    return program_ends("convert", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
