/* Looks into a pretrained Transformer: whom each word attends to, in every layer and head, as
 * pictures, a page and a graph; how much syntax is in its heads; which of them are needed.
 *
 *     inspect --model all-MiniLM-L6-v2 --sentence "The keys are lost." --html keys.html
 *     inspect --model all-MiniLM-L6-v2 --uas en_ewt-ud-test.conllu --uas-map uas.svg
 *     inspect --model sst2-minilm --prune stsa.binary.dev --dev stsa.binary.test --curve curve.svg
 */
#include "inspect.h"

#include "options.h"
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int inspect_write(const char *path, int (*draw)(FILE *file, const void *what), const void *what)
{
    FILE *file = fopen(path, "wb");
    int rc = file ? draw(file, what) : PROGRAM_REFUSED;
    if (file && fclose(file) != 0 && rc == GNN_OK)
        rc = PROGRAM_REFUSED;
    if (rc == PROGRAM_REFUSED)
        fprintf(stderr, "inspect: %s: %s\n", path, strerror(errno));
    return rc;
}

/* The first line of standard input. */
static char *read_line(void)
{
    size_t size = 0;
    char *line = NULL;
    const ssize_t length = getline(&line, &size, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static int show_text(const gnn_pretrained_t *p, gnn_context_t *context, inspect_t *o)
{
    gnn_attention_maps_t *attention = NULL;
    char *line = o->sentence ? NULL : read_line();
    if (!o->sentence && !line) {
        fprintf(stderr, "inspect: --sentence or a line on standard input is expected\n");
        return PROGRAM_REFUSED;
    }
    if (line)
        o->sentence = line;
    const gnn_attention_config_t how = {.whole_words = o->pieces ? GNN_OFF : GNN_ON,
                                        .special = o->plain ? GNN_OFF : GNN_ON};
    int rc = gnn_attention_of_text(&attention, p, context, o->sentence, &how);
    if (rc == GNN_OK)
        rc = inspect_show(attention, o);
    gnn_attention_free(attention);
    free(line);
    return rc;
}

static int look_small(gnn_context_t *context, const inspect_t *o)
{
    gnn_attention_maps_t *attention = NULL;
    fprintf(stderr, "no --model is given: a small model learns agreement first, on sentences that are "
                    "generated\n");
    int rc = inspect_small(&attention, context, o);
    if (rc == GNN_OK)
        rc = inspect_show(attention, o);
    gnn_attention_free(attention);
    return rc;
}

static int look(gnn_context_t *context, inspect_t *o)
{
    gnn_pretrained_t *p = NULL;
    if (!o->folder)
        return look_small(context, o);
    int rc = gnn_pretrained_open(&p, context, o->folder);
    if (rc == GNN_OK && o->uas)
        rc = inspect_syntax(p, context, o);
    if (rc == GNN_OK && o->prune)
        rc = inspect_prune(p, context, o);
    if (rc == GNN_OK && !o->uas && !o->prune)
        rc = show_text(p, context, o);
    gnn_pretrained_free(p);
    return rc;
}

static int read_options(inspect_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        TEXT("model", &o->folder, "a pretrained encoder [a small model, trained on the spot]",
             "FOLDER"),
        HEADING("A sentence"),
        TEXT("sentence", &o->sentence, "to look at [the first line of standard input]", "\"...\""),
        WHOLE("layer", &o->layer,
              "of the heat map, the graph and what is printed, from 0 [the last]", 0, 1000),
        WHOLE("head", &o->head, "from 0 [the mean of all]", 0, 1000),
        FLAG("pieces", &o->pieces, "tokens as the model has them, not put together to words"),
        FLAG("no-special", &o->plain, "leaves out what the tokenizer adds: [CLS], [SEP]"),
        OUTPUT("html", &o->html, "a page to pick layers and heads and to hover over words", "FILE"),
        OUTPUT("grid", &o->grid, "all heads of all layers", "FILE.svg"),
        OUTPUT("svg", &o->graph, "the sentence as a graph, its edges weighed by attention",
               "FILE.svg"),
        OUTPUT("heatmap", &o->heatmap, "attention as a heat map", "FILE.svg"),
        OUTPUT("graphml", &o->graphml, "the graph, for other programs", "FILE"),
        HEADING("Syntax"),
        TEXT("uas", &o->uas, "a treebank against which the heads' trees are held", "FILE.conllu"),
        OUTPUT("uas-map", &o->uas_map, "the scores of layers by heads", "FILE.svg"),
        CHOICE("both", &o->both, "what two words' attention to each other adds up to", "sum|max"),
        HEADING("Heads that are needed"),
        TEXT("prune", &o->prune,
             "lines with classes that say how much each head matters; --model has classes (finetune)",
             "FILE"),
        TEXT("dev", &o->dev, "lines that the accuracies are of [those of --prune]", "FILE"),
        OUTPUT("curve", &o->curve, "accuracy by heads that are closed", "FILE.svg"),
        HEADING("All of them"),
        WHOLE("limit", &o->limit, "reads so many sentences of a file, 0: all", 0, 1e18),
        WHOLE("seed", &o->seed, "of the graph's layout and of the small model", 0, 1e18),
        WHOLE("threads", &o->threads, "0: all processors that the process may use [0]", 0, 1024),
        FLAG("json", &o->json, "one JSON object on standard output"),
    };
    const program_t program = {
        .name = "inspect",
        .usage = "[OPTION]...",
        .notes = "sh examples/fetch-minilm.sh fetches a small encoder and prints its folder.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    static const char *const of_folders[] = {"uas",    "prune",      "sentence",
                                             "pieces", "no-special", NULL};
    if (!options_read(&program, argc, argv, status))
        return 0;
    if (o->limit == 0)
        o->limit = INT64_MAX;
    *status = 2;
    if (!o->folder)
        for (const char *const *name = of_folders; *name; name++)
            if (options_gave(*name)) {
                fprintf(stderr,
                        "--%s: --model is expected, too, the folder of a pretrained encoder\n",
                        *name);
                return 0;
            }
    return 1;
}

int inspect_main(int argc, char **argv)
{
    inspect_t o = {.layer = -1, .head = -1, .seed = 1};
    gnn_context_t *context = NULL;
    int status;
    if (!read_options(&o, argc, argv, &status))
        return status;
    int rc = gnn_context_new(
        &context, &(gnn_context_config_t){.seed = (uint64_t)o.seed, .threads = (int)o.threads});
    if (rc == GNN_OK)
        rc = look(context, &o);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    program_fails("inspect", rc);
    gnn_context_free(context);
    return program_ends("inspect", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
