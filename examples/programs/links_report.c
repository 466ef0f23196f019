/* Outputs of links: JSON, scores as CSV, the curve over epochs. */
#include "links.h"
#include "program.h"

#include <stdlib.h>

static const char *const watched[] = {"auc", "average_precision", "auc", "auc"};

static void print_figures(FILE *file, const gnn_link_metrics_t *metrics)
{
    double figures[6];
    figures_of(metrics, figures);
    fprintf(file, "{");
    for (int f = 0; f < 6; f++) {
        fprintf(file, "%s", f ? ", " : "");
        program_json_number(file, figure_names[f], figures[f]);
    }
    fprintf(file, "}");
}

static void print_settings(FILE *file, const options_t *o)
{
    fprintf(file, "\"settings\": {\"layer\": ");
    program_json_string(file, o->layer);
    fprintf(
        file,
        ", \"decoder\": \"%s\", \"layers\": %lld, \"hidden\": %lld, \"out\": %lld, \"heads\": %lld, \"dropout\": %g, \"lr\": %g, \"weight_decay\": %g, \"epochs\": %lld, \"validation_share\": %g, \"test_share\": %g}, ",
        decoders[o->decoder], (long long)o->layers, (long long)o->hidden, (long long)o->out,
        (long long)o->heads, o->dropout, o->lr, o->weight_decay, (long long)o->epochs,
        o->validation_share, o->test_share);
}

void links_print_json(FILE *file, const options_t *o, const gnn_data_t *data, const study_t *s)
{
    fprintf(file, "{\"version\": \"%s\", \"data\": {\"name\": ", GNN_VERSION);
    program_json_string(file, gnn_data_name(data));
    fprintf(file, ", \"nodes\": %lld, \"messages\": %lld, \"features\": %lld}, ",
            (long long)gnn_data_nodes(data), (long long)gnn_graph_n_pairs(gnn_data_graph(data)),
            (long long)gnn_data_features(data));
    print_settings(file, o);
    fprintf(file, "\"runs\": [");
    for (int64_t k = 0; k < s->count; k++) {
        const outcome_t *out = &s->outcomes[k];
        fprintf(file, "%s{\"seed\": %lld, \"epoch\": %lld, \"epochs\": %lld, \"seconds\": %.3f, ",
                k ? ", " : "", (long long)out->seed, (long long)out->epoch, (long long)out->epochs,
                out->seconds);
        program_json_number(file, "validation", out->validation);
        fprintf(file, ", \"test\": ");
        print_figures(file, &out->test);
        fprintf(file, "}");
    }
    fprintf(file, "], \"mean\": ");
    print_figures(file, &s->mean);
    fprintf(file, ", \"deviation\": ");
    print_figures(file, &s->deviation);
    fprintf(file, "}\n");
}

int links_write_curve(const options_t *o, const gnn_data_t *data, const study_t *s)
{
    const history_t *h = &s->history;
    const gnn_curve_t curves[] = {
        {.name = "training", .x = h->epoch, .y = h->train, .count = h->count},
        {.name = "validation", .x = h->epoch, .y = h->validation, .count = h->count},
        {.name = "validation", .x = h->epoch, .y = h->metric, .count = h->count, .panel = 1}};
    const char *const panels[] = {"binary cross-entropy", watched[o->watch]};
    char title[200], subtitle[200];
    snprintf(title, sizeof title, "links of %s: %s, decoder %s", gnn_data_name(data), o->layer,
             decoders[o->decoder]);
    snprintf(subtitle, sizeof subtitle, "test AUC %.1f, average precision %.1f (seed %lld)",
             100 * s->outcomes[0].test.auc, 100 * s->outcomes[0].test.average_precision,
             (long long)s->outcomes[0].seed);
    program_file_t to;
    GNN_TRY(program_create(&to, o->curve));
    int rc = gnn_svg_curves(to.file, &(gnn_curves_t){.curves = curves,
                                                     .n_curves = 3,
                                                     .panel_names = panels,
                                                     .n_panels = 2,
                                                     .title = title,
                                                     .subtitle = subtitle,
                                                     .x_axis = "epoch"});
    return program_finish(&to, rc);
}

static int write_pairs(FILE *file, const gnn_data_t *data, const gnn_node_pairs_t *pairs, int link,
                       gnn_source_t *source, const gnn_model_t *model, gnn_context_t *context)
{
    const int64_t *order = gnn_data_order(data);
    gnn_real_t *scores = calloc((size_t)pairs->count + 1, sizeof *scores);
    const gnn_tensor_t out = gnn_tensor(scores, pairs->count, 1);
    int rc = scores ? gnn_source_predict_pairs(source, model, context, pairs->count, pairs->src,
                                               pairs->dst, &out)
                    : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < pairs->count; k++) {
        fprintf(file, "%lld,%lld,%d,%.9g", (long long)(order ? order[pairs->src[k]] : pairs->src[k]),
                (long long)(order ? order[pairs->dst[k]] : pairs->dst[k]), link, (double)scores[k]);
        program_csv_name(file, data, pairs->src[k]);
        program_csv_name(file, data, pairs->dst[k]);
        fprintf(file, "\n");
    }
    free(scores);
    return rc;
}

int write_scores(const options_t *o, const gnn_data_t *data, const gnn_links_t *links,
                 gnn_source_t *source, const gnn_model_t *model, gnn_context_t *context)
{
    const gnn_node_pairs_t of = gnn_links_of(links, GNN_TEST),
                           without = gnn_links_without(links, GNN_TEST);
    program_file_t to;
    GNN_TRY(program_create(&to, o->predict));
    fprintf(to.file, "source,target,link,score%s\n",
            gnn_data_node_name(data, 0) ? ",source_name,target_name" : "");
    int rc = write_pairs(to.file, data, &of, 1, source, model, context);
    if (rc == GNN_OK)
        rc = write_pairs(to.file, data, &without, 0, source, model, context);
    return program_finish(&to, rc);
}
