/* Explains a prediction: trains or loads a network, and explains its prediction for a node. `gnn
 * explain --help` lists the options. */
#include "explain.h"
#include "options.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000000 };

static int tell(const subject_t *s, const options_t *o)
{
    study_t study = {0};
    int rc = study_node(&study, s, o);
    if (rc == GNN_OK) {
        report_words(o->say, s, o, &study);
        if (o->json)
            report_json(stdout, s, o, &study);
    }
    if (rc == GNN_OK && o->graph)
        rc = write_graph(o->graph, s, &study);
    if (rc == GNN_OK && o->html)
        rc = write_page(o->html, s, o, &study);
    explain_study_free(&study);
    return rc;
}

static int run(const options_t *o, subject_t *s)
{
    GNN_TRY(subject_open(s, o));
    if (isnan(s->accuracy))
        fprintf(o->say, "%s: no test nodes\n", gnn_data_name(s->data));
    else
        fprintf(o->say, "%s: test accuracy %.3f\n", gnn_data_name(s->data), s->accuracy);
    fflush(o->say);
    return o->houses ? score_houses(s, o) : o->fidelity > 0 ? score_fidelity(s, o) : tell(s, o);
}

static const char *method_name(size_t index)
{
    const gnn_explain_method_t *method = gnn_explain_method_at(index);
    return method ? method->name : NULL;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Data and network"),
        INPUT("data", &o->data,
              "a data set (docs/formats.md), karate, or shapes: BA-Shapes, generated",
              "PATH|karate|shapes"),
        DIRECTED(&o->directed, .where = "!data=shapes|karate"),
        SCALE(&o->scale),
        INPUT("load", &o->load, "a saved model instead of training one", "FILE"),
        STORED("save", &o->save, "the trained model", "FILE", .where = "!load"),
        NAME("layer", &o->layer, "a preset of the library: gcn, gat, sage ...", program_preset,
             .where = "!load"),
        WHOLE("layers", &o->layers, "hops", 1, 8, .where = "!load"),
        WHOLE("hidden", &o->hidden, "hidden width per head", 1, 65536, .where = "!load"),
        WHOLE("heads", &o->heads, "attention heads, except in the last layer", 1, 1024,
              .where = "!load layer=gat|gatv2|transformer_conv|transformer"),
        WHOLE("epochs", &o->epochs, "of training", 1, MOST, .where = "!load"),
        REAL("lr", &o->lr, "learning rate of training", 0, 1000, .where = "!load"),
        REAL("weight-decay", &o->weight_decay, "of training", 0, 1000, .where = "!load"),
        REAL("dropout", &o->dropout, "of training", 0, 0.99, .where = "!load"),
        HEADING("Explanation"),
        WHOLE("node", &o->node, "index of the node whose prediction is explained [0]", 0, MOST,
              .where = "!fidelity|houses"),
        NAME("method", &o->method,
             "gnn_explainer, integrated_gradients, saliency, occlusion, attention", method_name),
        WHOLE("top", &o->top, "lines per table; links kept for the fidelity of methods without masks",
              1, 1000000, .where = "!houses"),
        WHOLE("mask-epochs", &o->masks, "of the masks' training", 1, 1000000,
              .where = "method=gnn_explainer"),
        REAL("mask-lr", &o->mask_lr, "of the masks' training", 1e-9, 1000,
             .where = "method=gnn_explainer"),
        REAL("mask-size", &o->mask_size, "coefficient of the size of the edge mask", 0, 1e6,
             .where = "method=gnn_explainer"),
        REAL("mask-entropy", &o->mask_entropy, "coefficient of its entropy", 0, 1e6,
             .where = "method=gnn_explainer"),
        FLAG("edges-alone", &o->edges_alone, "features are not explained",
             .where = "!houses method=gnn_explainer"),
        WHOLE("fidelity", &o->fidelity, "mean fidelity over the first N test nodes", 1, MOST,
              .where = "!houses"),
        FLAG("houses", &o->houses, "AUC of the links of each node's house", .where = "data=shapes"),
        SEED(&o->seed, "of weights, masks and generated sets [0]"),
        THREADS(&o->threads),
        HEADING("Results"),
        JSON(&o->json),
        OUTPUT("graph", &o->graph, "the explaining subgraph", "FILE.svg", .where = "!fidelity|houses"),
        OUTPUT("html", &o->html, "the report as an HTML page", "FILE.html",
               .where = "!fidelity|houses"),
    };
    const program_t program = {.name = "explain",
                               .usage = "[OPTION]...",
                               .options = rows,
                               .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

/* The masks of all links are measured, whatever a table shows. */
static int check(const options_t *o, int *status)
{
    *status = 2;
    if (!program_has_hidden(o->layers))
        return 0;
    if (o->fidelity == 0 || !options_gave("top") || strcmp(o->method, "gnn_explainer") != 0)
        return 1;
    fprintf(stderr, "--top: has no effect with --fidelity and --method gnn_explainer\n");
    *status = 2;
    return 0;
}

int explain_main(int argc, char **argv)
{
    options_t options = {.data = "karate",
                         .layer = "gcn",
                         .method = "gnn_explainer",
                         .layers = 2,
                         .hidden = 16,
                         .heads = 1,
                         .epochs = 200,
                         .lr = 0.01,
                         .weight_decay = 5e-4,
                         .top = 10,
                         .masks = 100,
                         .mask_lr = 0.01,
                         .mask_size = 0.005,
                         .mask_entropy = 1};
    subject_t subject = {0};
    int status;
    if (!read_options(&options, argc, argv, &status) || !check(&options, &status))
        return status;
    options.say = options.json ? stderr : stdout;
    const int rc = run(&options, &subject);
    program_fails("explain", rc);
    subject_free(&subject);
    return program_ends_with("explain", rc);
}
