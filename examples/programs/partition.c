/* Divides a set's nodes into parts, one per machine, and writes them as a folder that ranks map:
 *
 *     gnn partition cora.npz --parts 4
 *     gnn partition arxiv.npz arxiv-8 --parts 8 --heatmap traffic.svg
 *     gnn partition arxiv.npz --forecast --bandwidth 10 --latency 0.05
 *
 * The table is printed before anything is written. */
#include "partition.h"

#include "options.h"
#include "program.h"
#include "scale.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef partition_options_t options_t;

static const char *method_at(size_t index)
{
    static const char *const names[] = {"metis", "hash", "range"};
    return index < 3 ? names[index] : NULL;
}

static int fits(const options_t *o)
{
    const char *why = NULL;
    if (!o->in)
        why = "the path of a data set is expected; --help lists the forms";
    else if (!o->forecast && !options_gave("parts"))
        why = "--parts or --forecast is expected";
    else if (o->out && !options_gave("parts"))
        why = "a folder is written with --parts";
    if (why)
        fprintf(stderr, "partition: %s\n", why);
    return !why;
}

/* A folder that is not empty is kept; the library would refuse it after the work. */
static int may_write(const options_t *o)
{
    struct stat there;
    if (!o->out || stat(o->out, &there) != 0)
        return 1;
    fprintf(stderr, "partition: %s exists: a new folder is expected\n", o->out);
    return 0;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const char *paths[2] = {NULL, NULL};
    const option_t rows[] = {
        WHOLE("parts", &o->parts, "count of the parts", 1, GNN_MAX_PARTS),
        NAME("method", &o->method, "metis [if the library has it], hash or range", method_at,
             .where = "!assignment"),
        INPUT("assignment", &o->assignment, "the part of each node, integers from 0", "FILE.npy",
              .where = "parts"),
        WHOLE("split", &o->split, "split whose training nodes are balanced and counted [0]", 0, 1e6),
        SEED(&o->seed, "of the methods metis and hash [0]"),
        DIRECTED(&o->directed),
        OUTPUT("heatmap", &o->heatmap, "picture of the rows that each part sends to each",
               "FILE.svg", .where = "parts"),
        WHOLE("layers", &o->layers, "count of the layers [3]", 1, PARTITION_MOST_LAYERS),
        WHOLE("hidden", &o->hidden, "width of the matrix that a layer exchanges [256]", 1, 1 << 20),
        HEADING("Predicted time of a step"),
        FLAG("forecast", &o->forecast, "predicts seconds per training step on 1 to 64 machines"),
        REAL("bandwidth", &o->bandwidth, "of a machine's network, Gbit/s [10]", 1e-6, 1e6,
             .where = "forecast"),
        REAL("latency", &o->latency, "of a message, ms [0.05]", 0, 1e6, .where = "forecast"),
        REAL("step-seconds", &o->step_seconds,
             "measured seconds of a step on one machine; else a training measures them", 1e-9, 1e9,
             .where = "forecast"),
        WHOLE("threads", &o->threads, "thread count; 0: all processors that the process may use [0]",
              0, 1024, .where = "forecast !step-seconds"),
    };
    const program_t program = {
        .name = "partition",
        .usage = "DATA [FOLDER] [OPTION]...",
        .notes = "DATA: a set of any format that gnn convert reads, or a folder of this program. "
                 "Without FOLDER nothing is written. docs/partition.md explains table and formulas.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows),
        .operands = paths,
        .n_operands = 2};
    if (!options_read(&program, argc, argv, status))
        return 0;
    o->in = paths[0];
    o->out = paths[1];
    *status = 2;
    return fits(o) && may_write(o);
}

void partition_widths(const options_t *o, int64_t widths[PARTITION_MOST_LAYERS])
{
    for (int64_t l = 0; l < o->layers; l++)
        widths[l] = o->hidden;
}

/* ---- the table ---- */

static double megabytes(int64_t bytes)
{
    return (double)bytes / 1e6;
}

static double share(int64_t some, int64_t all)
{
    return all > 0 ? (double)some / (double)all : 0;
}

static void print_balance(const gnn_partition_t *p, const gnn_partition_part_t *sum,
                          const gnn_partition_part_t *most, int64_t work)
{
    const gnn_partition_sizes_t sizes = gnn_partition_sizes(p);
    const int64_t parts = sizes.parts;
    printf("edges between parts: %.1f%%; halo: %.2f rows per node; largest over mean: nodes %.2f, "
           "edges %.2f, edges + 16 nodes %.2f",
           100 * share(sizes.cut, sum->edges), share(sum->halo, sum->nodes),
           share(most->nodes * parts, sum->nodes), share(most->edges * parts, sum->edges),
           share(work * parts, sum->edges + 16 * sum->nodes));
    if (sum->training > 0)
        printf(", training nodes %.2f", share(most->training * parts, sum->training));
    putchar('\n');
}

static int print_parts(const options_t *o, const gnn_partition_t *p)
{
    gnn_partition_part_t s, sum = {0}, most = {0};
    gnn_partition_step_t step;
    int64_t widths[PARTITION_MOST_LAYERS], work = 0;
    partition_widths(o, widths);
    printf("%5s %10s %12s %10s %10s %11s %10s %9s\n", "part", "nodes", "edges", "training", "halo",
           "memory MB", "sent MB", "messages");
    for (int64_t part = 0; part < gnn_partition_sizes(p).parts; part++) {
        GNN_TRY(gnn_partition_part(p, part, &s));
        GNN_TRY(gnn_partition_step(p, part, o->layers, widths, &step));
        printf("%5lld %10lld %12lld %10lld %10lld %11.1f %10.2f %9lld\n", (long long)part,
               (long long)s.nodes, (long long)s.edges, (long long)s.training, (long long)s.halo,
               megabytes(step.memory), megabytes(step.bytes_sent), (long long)step.messages_sent);
        sum.nodes += s.nodes;
        sum.edges += s.edges;
        sum.training += s.training;
        sum.halo += s.halo;
        work = s.edges + 16 * s.nodes > work ? s.edges + 16 * s.nodes : work;
        most.nodes = s.nodes > most.nodes ? s.nodes : most.nodes;
        most.edges = s.edges > most.edges ? s.edges : most.edges;
        most.training = s.training > most.training ? s.training : most.training;
    }
    printf("%5s %10lld %12lld %10lld %10lld\n", "all", (long long)sum.nodes, (long long)sum.edges,
           (long long)sum.training, (long long)sum.halo);
    printf("memory, bytes sent and messages: a training step of %lld layers of width %lld\n",
           (long long)o->layers, (long long)o->hidden);
    print_balance(p, &sum, &most, work);
    return GNN_OK;
}

/* ---- the picture ---- */

static int draw_traffic(FILE *file, const void *what)
{
    const gnn_partition_t *p = what;
    const gnn_partition_sizes_t sizes = gnn_partition_sizes(p);
    const int64_t parts = sizes.parts;
    const size_t count = (size_t)(parts * parts);
    gnn_tensor_t cells = gnn_tensor(calloc(count, sizeof *cells.data), parts, parts);
    char(*labels)[24] = calloc((size_t)parts, sizeof *labels);
    const char **names = calloc((size_t)parts, sizeof *names);
    int rc = cells.data && labels && names ? GNN_OK : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < parts * parts; k++)
        cells.data[k] = (gnn_real_t)sizes.traffic[k];
    for (int64_t k = 0; rc == GNN_OK && k < parts; k++) {
        snprintf(labels[k], sizeof *labels, "%lld", (long long)k);
        names[k] = labels[k];
    }
    if (rc == GNN_OK)
        rc = gnn_svg_heatmap(file, &(gnn_heatmap_t){.values = cells,
                                                    .row_labels = names,
                                                    .col_labels = names,
                                                    .title = "Rows between parts, per layer",
                                                    .subtitle = sizes.method,
                                                    .row_axis = "sending part",
                                                    .col_axis = "receiving part",
                                                    .mark_row = -1,
                                                    .mark_col = -1});
    free(cells.data);
    free(labels);
    free(names);
    return rc;
}

/* ---- the run ---- */

static int open_assignment(const options_t *o, const gnn_data_t *data, gnn_array_t *array,
                           gnn_owner_t *owner)
{
    GNN_TRY(gnn_npy_map(array, owner, o->assignment));
    if (array->ndim == 1 && array->count == gnn_data_nodes(data) &&
        (array->dtype == GNN_DTYPE_INT32 || array->dtype == GNN_DTYPE_INT64))
        return GNN_OK;
    fprintf(stderr, "partition: %s: expected %lld integers (int32 or int64), one per node\n",
            o->assignment, (long long)gnn_data_nodes(data));
    return PROGRAM_REFUSED;
}

static int divide(const options_t *o, const gnn_data_t *data, gnn_partition_t **p)
{
    gnn_array_t array = {0};
    gnn_owner_t owner = {0};
    gnn_partition_config_t config = {
        .parts = o->parts, .method = o->method, .split = o->split, .seed = (uint64_t)o->seed};
    int rc = GNN_OK;
    if (o->assignment)
        rc = open_assignment(o, data, &array, &owner);
    if (rc == GNN_OK && o->assignment)
        config.part_of = gnn_array_ints(&array);
    if (rc == GNN_OK)
        rc = gnn_partition_new(p, data, &config);
    if (owner.release)
        owner.release(owner.user);
    return rc;
}

static int write_parts(const options_t *o, const gnn_data_t *data, const gnn_partition_t *p)
{
    if (o->heatmap)
        GNN_TRY(program_write(o->heatmap, draw_traffic, p));
    if (!o->out)
        return GNN_OK;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "writing %s ...\n", o->out);
    GNN_TRY(gnn_partition_write(p, data, o->out));
    printf("written: %s\n", o->out);
    return GNN_OK;
}

static int partition(const options_t *o, gnn_data_t **data, gnn_partition_t **p)
{
    GNN_TRY(program_open_set(data, o->in, o->directed));
    printf("%s: %lld nodes, %lld edges, %lld features\n", gnn_data_name(*data),
           (long long)gnn_data_nodes(*data), (long long)gnn_graph_n_edges(gnn_data_graph(*data)),
           (long long)gnn_data_features(*data));
    if (options_gave("parts")) {
        GNN_TRY(divide(o, *data, p));
        printf("%lld parts by %s\n", (long long)o->parts, gnn_partition_sizes(*p).method);
        GNN_TRY(print_parts(o, *p));
        fflush(stdout);
        GNN_TRY(write_parts(o, *data, *p));
    }
    return o->forecast ? partition_forecast(o, *data) : GNN_OK;
}

int partition_main(int count, char **arguments)
{
    options_t options = {.parts = 1, .layers = 3, .hidden = 256, .bandwidth = 10, .latency = 0.05};
    gnn_data_t *data = NULL;
    gnn_partition_t *p = NULL;
    int status;
    if (!read_options(&options, count, arguments, &status))
        return status;
    const int rc = partition(&options, &data, &p);
    program_fails("partition", rc);
    gnn_partition_free(p);
    gnn_data_free(data);
    return program_ends("partition", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
