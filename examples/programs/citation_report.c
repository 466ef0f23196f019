/* Text output of citation: errors of files, predictions, the table of classes, JSON. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int close_file(FILE *file, const char *path, int rc)
{
    int failed = ferror(file);
    if ((fclose(file) != 0 || failed) && rc == GNN_OK) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return GNN_EIO;
    }
    return rc;
}

FILE *open_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return file;
}

int32_t likeliest(const gnn_tensor_t *logits, int64_t i)
{
    const gnn_real_t *row = logits->data + i * logits->stride;
    int32_t best = 0;
    for (int32_t c = 1; c < logits->cols; c++)
        if (row[c] > row[best])
            best = c;
    return best;
}

const char *citation_class_name(const gnn_data_t *data, int64_t c, char room[32])
{
    if (gnn_data_class_names(data))
        return gnn_data_class_names(data)[c];
    snprintf(room, 32, "class %lld", (long long)c);
    return room;
}

static double probability(const gnn_tensor_t *logits, int64_t i, int32_t class)
{
    const gnn_real_t *row = logits->data + i * logits->stride;
    double sum = 0;
    for (int64_t c = 0; c < logits->cols; c++)
        sum += exp((double)row[c] - (double)row[class]);
    return 1 / sum;
}

/* A line of multi-label or regression targets: predicted values (of labels, probabilities), then
 * those of the file. */
static void write_values(FILE *file, const gnn_tensor_t *outputs, const gnn_tensor_t *targets,
                         int64_t i, int several)
{
    for (int64_t c = 0; c < outputs->cols; c++) {
        const double value = (double)outputs->data[i * outputs->stride + c];
        fprintf(file, ",%.9g", several ? 1 / (1 + exp(-value)) : value);
    }
    for (int64_t c = 0; c < targets->cols; c++)
        fprintf(file, ",%.9g", (double)targets->data[i * targets->stride + c]);
}

static void write_header(FILE *file, const options_t *o, const gnn_data_t *data, int64_t cols)
{
    const char *name = gnn_data_node_name(data, 0) ? ",name" : "";
    const char *predicted = o->kind == GNN_LABELS_SEVERAL ? "probability" : "predicted";
    if (o->kind == GNN_LABELS_CLASSES) {
        fprintf(file, "node,predicted,probability,label%s\n", name);
        return;
    }
    fprintf(file, "node");
    for (int64_t c = 0; c < 2 * cols; c++)
        fprintf(file, ",%s.%lld", c < cols ? predicted : "label", (long long)(c % cols));
    fprintf(file, "%s\n", name);
}

int write_predictions(const gnn_tensor_t *logits, const options_t *o, const gnn_data_t *data,
                      const char *path)
{
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    int64_t *row = calloc((size_t)gnn_data_nodes(data), sizeof *row); /* of each node of the file */
    program_file_t to = {0};
    int rc = row ? program_create(&to, path) : GNN_EMEMORY;
    for (int64_t r = 0; rc == GNN_OK && r < gnn_data_nodes(data); r++)
        row[gnn_data_order(data) ? gnn_data_order(data)[r] : r] = r;
    if (to.file)
        write_header(to.file, o, data, logits->cols);
    for (int64_t i = 0; rc == GNN_OK && i < gnn_data_nodes(data); i++) {
        fprintf(to.file, "%lld", (long long)i);
        if (o->kind == GNN_LABELS_CLASSES) {
            const int32_t class = likeliest(logits, row[i]);
            fprintf(to.file, ",%d,%.6f,%d", class, probability(logits, row[i], class),
                    gnn_data_labels(data)[row[i]]);
        } else {
            write_values(to.file, logits, targets, row[i], o->kind == GNN_LABELS_SEVERAL);
        }
        program_csv_name(to.file, data, row[i]);
        fprintf(to.file, "\n");
    }
    free(row);
    return to.file ? program_finish(&to, rc) : rc;
}

/* ---- the table of classes ---- */

/* Display width of a name: bytes of UTF-8 that begin a character. */
static int places(const char *name)
{
    int n = 0;
    for (; *name; name++)
        n += ((unsigned char)*name & 0xc0) != 0x80;
    return n;
}

static void print_row(FILE *file, int width, const char *name, const double values[3], int64_t support)
{
    fprintf(file, "%s%*s", name, width - places(name), "");
    for (int k = 0; k < 3; k++)
        if (isnan(values[k]))
            fprintf(file, "  %9s", "-");
        else
            fprintf(file, "  %9.1f", 100 * values[k]);
    fprintf(file, "  %7lld\n", (long long)support);
}

static void print_table(FILE *file, const gnn_data_t *data, const gnn_class_metrics_t *of)
{
    const char *const last = "mean of classes";
    char room[32];
    int width = places(last);
    double sums[3] = {0}, counted = 0;
    int64_t support = 0;
    for (int64_t c = 0; c < gnn_data_classes(data); c++)
        width = places(citation_class_name(data, c, room)) > width
                    ? places(citation_class_name(data, c, room))
                    : width;
    fprintf(file, "%-*s  %9s  %9s  %9s  %7s\n", width, "class", "precision", "recall", "F1", "nodes");
    for (int64_t c = 0; c < gnn_data_classes(data); c++) {
        const double values[3] = {of[c].precision, of[c].recall, of[c].f1};
        print_row(file, width, citation_class_name(data, c, room), values, of[c].support);
        support += of[c].support;
        counted += !isnan(of[c].f1);
        for (int k = 0; k < 3; k++)
            sums[k] += isnan(values[k]) ? 0 : values[k];
    }
    for (int k = 0; k < 3; k++)
        sums[k] /= counted;
    print_row(file, width, last, sums, support);
}

int print_classes(FILE *file, const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split)
{
    gnn_class_metrics_t *of = calloc((size_t)gnn_data_classes(data), sizeof *of);
    if (!of)
        return GNN_EMEMORY;
    int rc = gnn_metric_per_class(logits, gnn_data_labels(data),
                                  gnn_data_mask(data, GNN_TEST, split), of, NULL);
    if (rc == GNN_OK)
        print_table(file, data, of);
    free(of);
    return rc;
}

/* ---- JSON ---- */

static void print_settings(FILE *file, const options_t *o, const choice_t *choice)
{
    const recipe_t r = choice->recipe;
    fprintf(
        file,
        "\"model\": \"%s\", \"settings\": {\"hidden\": %lld, \"heads\": %lld, \"dropout\": %g, \"lr\": %g, \"weight_decay\": %g, ",
        r.name, (long long)r.hidden, (long long)r.heads, r.dropout, r.lr, r.weight_decay);
    if (o->diffusion.kind != DIFFUSION_NONE)
        fprintf(file, "\"diffusion\": \"%s\", ", o->diffusion.kind == DIFFUSION_PPR ? "ppr" : "heat");
    fprintf(file, "\"epochs\": %lld, \"patience\": %lld}, ", (long long)r.epochs,
            (long long)r.patience);
}

void citation_print_json(FILE *file, const options_t *o, const gnn_data_t *data, const study_t *study)
{
    const gnn_metric_t second = task_second(o);
    fprintf(file, "{\"version\": \"%s\", \"data\": {\"name\": ", GNN_VERSION);
    program_json_string(file, gnn_data_name(data));
    gnn_partition_folder_sizes_t sizes = {.nodes = gnn_data_nodes(data),
                                          .edges = gnn_graph_n_edges(gnn_data_graph(data))};
    if (program_folder()) /* of all ranks */
        sizes = gnn_partition_folder_sizes(program_folder());
    fprintf(file, ", \"nodes\": %lld, \"edges\": %lld, \"features\": %lld, \"classes\": %lld}, ",
            (long long)sizes.nodes, (long long)sizes.edges, (long long)gnn_data_features(data),
            (long long)gnn_data_classes(data));
    if (o->load) {
        fprintf(file, "\"loaded\": ");
        program_json_string(file, o->load);
        fprintf(file, ", ");
    } else {
        print_settings(file, o, &study->outcomes[study->best].choice);
    }
    fprintf(file, "\"metric\": \"%s\", \"runs\": [", metric_names[o->metric]);
    for (int64_t k = 0; k < study->count; k++) {
        const outcome_t *out = &study->outcomes[k];
        fprintf(file, "%s{\"split\": %lld, ", k ? ", " : "", (long long)out->split);
        if (!o->load)
            fprintf(
                file,
                "\"seed\": %lld, \"form\": \"%s\", \"scale\": \"%s\", \"epochs\": %lld, \"best_epoch\": %lld, \"seconds\": %.3f, ",
                (long long)out->seed, out->choice.recipe.build == build_blocks ? "residual" : "plain",
                scale_names[out->choice.scale], (long long)out->result.epochs,
                (long long)out->result.best_epoch, out->result.seconds);
        program_json_number(file, "validation", out->validation);
        fprintf(file, ", ");
        program_json_number(file, "test", out->test);
        if (second != o->metric) {
            fprintf(file, ", ");
            program_json_number(file, metric_names[second], out->second);
        }
        fprintf(file, "}");
    }
    fprintf(file, "], ");
    program_json_number(file, "mean", study->mean);
    fprintf(file, ", ");
    program_json_number(file, "deviation", study->deviation);
    if (second != o->metric) {
        fprintf(file, ", ");
        program_json_number(file, metric_names[second], study->second);
    }
    fprintf(file, "}\n");
}
