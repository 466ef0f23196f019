/* Inspects a pretrained Transformer: attention of every layer and head, as pictures, a page and a
 * graph; agreement of heads with syntax; pruning of heads.
 *
 *     gnn inspect --model all-MiniLM-L6-v2 --sentence "The keys are lost." --html keys.html
 *     gnn inspect --model all-MiniLM-L6-v2 --uas en_ewt-ud-test.conllu --uas-map uas.svg
 *     gnn inspect --model sst2-minilm --prune stsa.binary.dev --test stsa.binary.test \
 *         --curve curve.svg
 */
#include "inspect.h"

#include "options.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sentence, or the first line of standard input. */
static int show_text(const gnn_pretrained_t *p, gnn_context_t *context, inspect_t *o)
{
    gnn_attention_maps_t *attention = NULL;
    gnn_text_lines_t *line = NULL;
    int64_t before = 0;
    if (!o->sentence) {
        GNN_TRY(program_lines_next(&line, stdin, 1, &before));
        o->sentence = line->at[0];
    }
    const gnn_attention_config_t how = {.whole_words = o->pieces ? GNN_OFF : GNN_ON,
                                        .special = o->plain ? GNN_OFF : GNN_ON};
    int rc = gnn_attention_of_text(&attention, p, context, o->sentence, &how);
    if (rc == GNN_OK)
        rc = inspect_show(attention, o);
    gnn_attention_free(attention);
    gnn_text_lines_free(line);
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
    int rc = gnn_pretrained_open_with(
        &p, context, o->folder,
        &(gnn_pretrained_config_t){.keep_16_bits = o->keep_16_bits ? GNN_ON : GNN_OFF});
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
        INPUT("model", &o->folder, "a pretrained encoder [a small model, trained first]", "FOLDER"),
        FLAG("keep-16-bits", &o->keep_16_bits, "keeps bf16 and fp16 weights in 16 bits",
             .where = "model !prune"),
        HEADING("A sentence"),
        TEXT("sentence", &o->sentence, "sentence to inspect [the first line of standard input]",
             "TEXT", .where = "model !uas|prune"),
        WHOLE("show-layer", &o->layer, "index of the layer to show [the last]", 0, 1000,
              .where = "!uas|prune"),
        WHOLE("show-head", &o->head, "index of the head [the mean of all]", 0, 4096,
              .where = "!uas|prune"),
        FLAG("pieces", &o->pieces, "shows tokens, not merged into words", .where = "model !uas|prune"),
        FLAG("no-special", &o->plain, "excludes special tokens: [CLS], [SEP]",
             .where = "model !uas|prune"),
        OUTPUT("html", &o->html, "an interactive page of all layers and heads", "FILE.html",
               .where = "!uas|prune"),
        OUTPUT("grid", &o->grid, "all heads of all layers", "FILE.svg", .where = "!uas|prune"),
        OUTPUT("graph", &o->graph, "the sentence as a graph with attention as edge weights",
               "FILE.svg", .where = "!uas|prune"),
        OUTPUT("heatmap", &o->heatmap, "attention as a heat map", "FILE.svg", .where = "!uas|prune"),
        OUTPUT("graphml", &o->graphml, "the graph, for other programs", "FILE.graphml",
               .where = "!uas|prune"),
        HEADING("Syntax"),
        INPUT("uas", &o->uas, "a treebank to compare heads with", "FILE.conllu", .where = "model"),
        OUTPUT("uas-map", &o->uas_map, "the scores of layers by heads", "FILE.svg", .where = "uas"),
        CHOICE("both", &o->both, "combines two words' attention to each other", "sum|max",
               .where = "uas"),
        HEADING("Pruning of heads"),
        INPUT("prune", &o->prune,
              "labelled lines for the importance of heads; --model has classes (gnn finetune)",
              "FILE", .where = "model"),
        INPUT("test", &o->test, "test lines [those of --prune]", "FILE", .where = "prune"),
        OUTPUT("curve", &o->curve, "accuracy by count of masked heads", "FILE.svg", .where = "prune"),
        HEADING("All of them"),
        WHOLE("limit", &o->limit, "reads the first N sentences of a file; 0: all", 0, 1e18,
              .where = "uas|prune"),
        SEED(&o->seed, "of the layout and of the small model", .where = "!uas|prune"),
        THREADS(&o->threads),
        JSON(&o->json),
    };
    const program_t program = {
        .name = "inspect",
        .usage = "[OPTION]...",
        .notes = "sh examples/fetch-minilm.sh downloads a small encoder and prints its folder.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    if (o->limit == 0)
        o->limit = INT64_MAX;
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
