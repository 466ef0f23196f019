/* Outputs of graphs: JSON and the curve over epochs. */
#include "graphs.h"
#include "program.h"

static const char *const protocols[] = {"auto", "own", "mean", "held-out"};

void graphs_print_json(FILE *file, const options_t *o, const gnn_data_t *data, const study_t *s)
{
    fprintf(file, "{\"version\": \"%s\", \"data\": {\"name\": ", GNN_VERSION);
    program_json_string(file, gnn_data_name(data));
    fprintf(file, ", \"graphs\": %lld, \"nodes\": %lld, \"features\": %lld, \"classes\": %lld}, ",
            (long long)gnn_data_graphs(data), (long long)gnn_data_nodes(data),
            (long long)gnn_data_features(data), (long long)gnn_data_classes(data));
    fprintf(file,
            "\"settings\": {\"layer\": \"%s\", \"readout\": \"%s\", \"layers\": %lld, "
            "\"hidden\": %lld, \"dropout\": %g, \"lr\": %g, \"batch\": %lld, \"epochs\": %lld}, ",
            o->layer, o->readout, (long long)o->layers, (long long)o->hidden, o->dropout, o->lr,
            (long long)o->batch, (long long)o->epochs);
    fprintf(file, "\"protocol\": \"%s\", \"folds\": [", protocols[o->protocol]);
    for (int64_t f = 0; f < s->count; f++) {
        fprintf(file, "%s{\"epoch\": %lld, \"seconds\": %.3f, ", f ? ", " : "",
                (long long)s->folds[f].epoch, s->folds[f].seconds);
        program_json_number(file, "test", s->folds[f].test);
        fprintf(file, "}");
    }
    fprintf(file, "], ");
    program_json_number(file, "mean", s->mean);
    fprintf(file, ", ");
    program_json_number(file, "deviation", s->deviation);
    fprintf(file, "}\n");
}

int graphs_write_curve(const options_t *o, const gnn_data_t *data, const study_t *s)
{
    const int own = o->protocol == PROTOCOL_OWN;
    const gnn_curve_t curve = {.name = own ? "validation" : "mean of folds",
                               .x = s->index,
                               .y = s->mean_curve,
                               .count = s->epochs};
    const char *const panels[] = {"accuracy"};
    char title[200], subtitle[200];
    int n = snprintf(title, sizeof title, "%.30s on %.150s", o->layer, gnn_data_name(data));
    if (!own)
        snprintf(title + n, sizeof title - (size_t)n, ", %lld folds", (long long)s->count);
    n = snprintf(subtitle, sizeof subtitle, "validation accuracy; test %.1f%%", 100 * s->mean);
    if (!own)
        snprintf(subtitle + n, sizeof subtitle - (size_t)n, " +- %.1f (%s)", 100 * s->deviation,
                 protocols[o->protocol]);
    program_file_t to;
    GNN_TRY(program_create(&to, o->curve));
    int rc = gnn_svg_curves(to.file, &(gnn_curves_t){.curves = &curve,
                                                     .n_curves = 1,
                                                     .panel_names = panels,
                                                     .n_panels = 1,
                                                     .title = title,
                                                     .subtitle = subtitle,
                                                     .x_axis = "epoch"});
    return program_finish(&to, rc);
}
