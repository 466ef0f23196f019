/* Why does a network say what it says of a node? Trains or loads one and explains it. `explain
 * --help` lists the options. */
#include "explain.h"
#include "options.h"
#include "program.h"

#include <stdlib.h>

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
    if (rc == GNN_OK && o->svg)
        rc = write_svg(o->svg, s, o, &study);
    if (rc == GNN_OK && o->html)
        rc = write_page(o->html, s, o, &study);
    explain_study_free(&study);
    return rc;
}

static int run(const options_t *o, subject_t *s)
{
    GNN_TRY(subject_open(s, o));
    fprintf(o->say, "%s: test accuracy %.3f\n", gnn_data_name(s->data), s->accuracy);
    fflush(o->say);
    return o->houses ? score_houses(s, o) : o->fidelity > 0 ? score_fidelity(s, o) : tell(s, o);
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Data and network"),
        TEXT("data", &o->data,
             "a data set (docs/formats.md), karate, or shapes: houses tied to a drawn graph",
             "PATH|karate|shapes"),
        FLAG("raw", &o->raw, "sparse features as they are; else each row is divided by its sum"),
        TEXT("load", &o->load, "a model in place of one that is trained", "FILE"),
        OUTPUT("save", &o->save, "the trained model", "FILE"),
        TEXT("model", &o->model, "a preset of the library: gcn, gat, sage ...", "NAME"),
        WHOLE("layers", &o->layers, "hops", 1, 8),
        WHOLE("hidden", &o->hidden, "width of a head of the layers between", 1, 65536),
        WHOLE("heads", &o->heads, "of layers that attend, but for the last", 1, 1024),
        WHOLE("epochs", &o->epochs, "of training", 1, MOST),
        REAL("lr", &o->lr, "learning rate of training", 0, 1000),
        REAL("weight-decay", &o->weight_decay, "of training", 0, 1000),
        REAL("dropout", &o->dropout, "of training", 0, 0.99),
        HEADING("Explanation"),
        WHOLE("node", &o->node, "whose prediction is explained", 0, MOST),
        TEXT("method", &o->method,
             "gnn_explainer, integrated_gradients, saliency, occlusion, attention", "NAME"),
        WHOLE("top", &o->top, "rows of each table; links that other methods' fidelity keeps", 1,
              1000000),
        WHOLE("mask-epochs", &o->masks, "of gnn_explainer", 1, 1000000),
        REAL("mask-lr", &o->mask_lr, "of gnn_explainer", 1e-9, 1000),
        REAL("size", &o->size, "gnn_explainer: weight of the size of the links' mask", 0, 1e6),
        REAL("entropy", &o->entropy, "gnn_explainer: weight of its entropy", 0, 1e6),
        FLAG("edges-alone", &o->edges_alone, "features are not looked at (gnn_explainer: not masked)"),
        WHOLE("fidelity", &o->fidelity, "explains the first N test nodes, says their mean fidelity",
              0, MOST),
        FLAG("houses", &o->houses, "with shapes: AUC of the links of each node's own house"),
        WHOLE("seed", &o->seed, "of weights, masks and drawn sets", 0, MOST),
        WHOLE("threads", &o->threads, "0: all processors that the process may use", 0, 1024),
        HEADING("Results"),
        FLAG("json", &o->json, "one JSON object on standard output, words on standard error"),
        OUTPUT("svg", &o->svg, "the explaining subgraph", "FILE.svg"),
        OUTPUT("html", &o->html, "the report on the node as one page", "FILE.html"),
    };
    const program_t program = {.name = "explain",
                               .usage = "[OPTION]...",
                               .options = rows,
                               .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

int explain_main(int argc, char **argv)
{
    options_t options = {.data = "karate",
                         .model = "gcn",
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
                         .size = 0.005,
                         .entropy = 1};
    subject_t subject = {0};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    options.say = options.json ? stderr : stdout;
    const int rc = run(&options, &subject);
    program_fails("explain", rc);
    subject_free(&subject);
    return program_ends_with("explain", rc);
}
