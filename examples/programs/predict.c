/* Applies the head of a published model to the lines of a text: named entities, classes, masked
 * tokens, question answering, or zero-shot classification.
 *
 *     gnn predict --model bert-ner --input lines.txt
 *     gnn predict --model bert-base --input masked.txt --top 3
 *     gnn predict --model bart-mnli --input lines.txt --classes "sport,politics,weather"
 *     gnn predict --model roberta-squad --input contexts.txt --question "Who wrote it?"
 */
#include "options.h"
#include "program.h"

#include <gnn/gnn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *model, *input, *classes, *hypothesis, *question;
    int64_t top, threads;
    int several, json, keep_16_bits;
} options_t;

typedef struct {
    const options_t *o;
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_text_lines_t *lines;
    gnn_texts_t texts;
    int64_t printed;
} run_t;

/* ---- a line of output ---- */

/* One prediction: a line of text, or an element of a list of JSON. */
static void print(run_t *r, int64_t line, const char *word, double score, const gnn_tag_t *part)
{
    if (!r->o->json) {
        printf("line %lld  %.4f  %s", (long long)line + 1, score, word);
        if (part)
            printf("  %lld-%lld  %.*s", (long long)part->begin, (long long)part->end,
                   (int)(part->end - part->begin), r->lines->at[line] + part->begin);
        putchar('\n');
        return;
    }
    printf("%s{\"line\": %lld, \"score\": %.9g, ", r->printed++ ? ", " : "", (long long)line + 1,
           score);
    if (part)
        printf("\"start\": %lld, \"end\": %lld, ", (long long)part->begin, (long long)part->end);
    printf("\"label\": ");
    program_json_string(stdout, word);
    putchar('}');
}

/* ---- tasks ---- */

static int show_tags(run_t *r)
{
    gnn_tags_t *tags;
    GNN_TRY(gnn_pretrained_tags(r->p, r->context, &r->texts, &tags));
    for (int64_t k = 0; k < tags->count; k++)
        print(r, tags->at[k].text, tags->at[k].label, tags->at[k].score, &tags->at[k]);
    gnn_tags_free(tags);
    return GNN_OK;
}

static int show_fills(run_t *r)
{
    gnn_fills_t *fills;
    GNN_TRY(gnn_pretrained_fill(r->p, r->context, &r->texts, r->o->top, &fills));
    int rc = GNN_OK;
    for (int64_t k = 0; rc == GNN_OK && k < fills->count; k++) {
        char *word = NULL;
        rc = gnn_tokenizer_decode(gnn_pretrained_tokenizer(r->p), 1, &fills->at[k].id, GNN_ON,
                                  &word, NULL);
        if (rc == GNN_OK)
            print(r, fills->at[k].text, word, fills->at[k].score, NULL);
        gnn_free(word);
    }
    gnn_fills_free(fills);
    return rc;
}

static int show_answers(run_t *r)
{
    gnn_answers_t *answers;
    const char **questions = calloc((size_t)r->texts.count + 1, sizeof *questions);
    if (!questions)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < r->texts.count; k++)
        questions[k] = r->o->question;
    const int rc =
        gnn_pretrained_answer(r->p, r->context, &(gnn_texts_t){r->texts.count, questions, NULL},
                              &r->texts, r->o->top, 0, &answers);
    for (int64_t k = 0; rc == GNN_OK && k < answers->count; k++) {
        const gnn_answer_t *a = &answers->at[k];
        print(r, a->pair, "answer", a->score,
              &(gnn_tag_t){.text = a->pair, .begin = a->begin, .end = a->end});
    }
    if (rc == GNN_OK)
        gnn_answers_free(answers);
    free(questions);
    return rc;
}

/* Prints the best classes of each line, or all with --several. */
static void show_classes(run_t *r, gnn_tensor_t *scores, const char *(*name)(const run_t *, int64_t))
{
    const int64_t shown = r->o->top < scores->cols ? r->o->top : scores->cols;
    for (int64_t k = 0; k < scores->rows; k++) {
        gnn_real_t *row = scores->data + k * scores->stride;
        for (int64_t n = 0; n < shown; n++) {
            int64_t best = 0;
            for (int64_t c = 1; c < scores->cols; c++)
                best = row[c] > row[best] ? c : best;
            print(r, k, name(r, best), (double)row[best], NULL);
            row[best] = -1;
        }
    }
}

static const char *label_of(const run_t *r, int64_t k)
{
    return gnn_pretrained_label(r->p, k);
}

static void softmax(gnn_tensor_t *x)
{
    for (int64_t k = 0; k < x->rows; k++) {
        gnn_real_t *row = x->data + k * x->stride, most = row[0];
        double sum = 0;
        for (int64_t c = 1; c < x->cols; c++)
            most = row[c] > most ? row[c] : most;
        for (int64_t c = 0; c < x->cols; c++)
            sum += (double)(row[c] = (gnn_real_t)exp((double)(row[c] - most)));
        for (int64_t c = 0; c < x->cols; c++)
            row[c] = (gnn_real_t)((double)row[c] / sum);
    }
}

static int classify(run_t *r)
{
    const int64_t classes = gnn_pretrained_label_count(r->p);
    gnn_tensor_t logits =
        gnn_tensor(calloc((size_t)(r->texts.count * classes) + 1, sizeof *logits.data),
                   r->texts.count, classes);
    int rc =
        logits.data ? gnn_pretrained_classify(r->p, r->context, &r->texts, &logits) : GNN_EMEMORY;
    if (rc == GNN_OK && classes > 1)
        softmax(&logits);
    if (rc == GNN_OK)
        show_classes(r, &logits, label_of);
    free(logits.data);
    return rc;
}

/* Class names, separated by commas. */
typedef struct {
    char *text;
    const char *at[256];
    int64_t count;
} names_t;

static names_t given;

static const char *given_name(const run_t *r, int64_t k)
{
    (void)r;
    return given.at[k];
}

static int zero_shot(run_t *r)
{
    given.text = strdup(r->o->classes);
    if (!given.text)
        return GNN_EMEMORY;
    for (char *rest = given.text, *name; given.count < 256 && (name = strsep(&rest, ",")) != NULL;)
        given.at[given.count++] = name + strspn(name, " ");
    const int64_t n = r->texts.count;
    gnn_tensor_t scores =
        gnn_tensor(calloc((size_t)(n * given.count) + 1, sizeof *scores.data), n, given.count);
    int rc = scores.data
                 ? gnn_pretrained_zero_shot(
                       r->p, r->context, &r->texts, &(gnn_texts_t){given.count, given.at, NULL},
                       &(gnn_zero_shot_config_t){.hypothesis = r->o->hypothesis,
                                                 .independent = r->o->several ? GNN_ON : GNN_OFF},
                       &scores)
                 : GNN_EMEMORY;
    if (rc == GNN_OK)
        show_classes(r, &scores, given_name);
    free(scores.data);
    free(given.text);
    return rc;
}

/* ---- main ---- */

static int refuse(const run_t *r, const char *option, const char *why)
{
    fprintf(stderr, "--%s: %s: %s\n", option, r->o->model, why);
    return PROGRAM_REFUSED;
}

/* Rejects options that do not apply to the model's head. */
static int predict(run_t *r)
{
    const char *head = gnn_pretrained_head(r->p);
    const int answers = strcmp(head, "ForQuestionAnswering") == 0,
              masks = strcmp(head, "ForMaskedLM") == 0 || strcmp(head, "ForPreTraining") == 0,
              tags = strcmp(head, "ForTokenClassification") == 0;
    if (answers != (r->o->question != NULL))
        return refuse(r, "question",
                      answers ? "the model answers questions: one is expected"
                              : "the model does not answer questions");
    if (r->o->classes && (answers || masks || tags))
        return refuse(r, "classes", "the model does not compare two texts");
    if (tags && options_gave("top"))
        return refuse(r, "top", "the model gives each part of a line one tag");
    return answers         ? show_answers(r)
           : masks         ? show_fills(r)
           : tags          ? show_tags(r)
           : r->o->classes ? zero_shot(r)
                           : classify(r);
}

static int run(run_t *r)
{
    const options_t *o = r->o;
    GNN_TRY(gnn_context_new(&r->context, &(gnn_context_config_t){.threads = (int)o->threads}));
    GNN_TRY(gnn_pretrained_open_with(
        &r->p, r->context, o->model,
        &(gnn_pretrained_config_t){.keep_16_bits = o->keep_16_bits ? GNN_ON : GNN_OFF}));
    GNN_TRY(program_lines_read(&r->lines, o->input));
    r->texts = (gnn_texts_t){r->lines->count, r->lines->at, NULL};
    if (o->json)
        printf("[");
    GNN_TRY(predict(r));
    if (o->json)
        printf("]\n");
    return gnn_profile_write(r->context, stderr);
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        INPUT("model", &o->model, "a folder as Hugging Face publishes them", "FOLDER"),
        FLAG("keep-16-bits", &o->keep_16_bits, "keeps bf16 and fp16 weights in 16 bits"),
        INPUT("input", &o->input, "one text per line; - is standard input", "FILE|-"),
        TEXT("question", &o->question, "question to answer from each line", "TEXT"),
        TEXT("classes", &o->classes,
             "classes for zero-shot classification, by a natural language inference model",
             "NAME,..."),
        TEXT("hypothesis", &o->hypothesis, "hypothesis with the class in place of {}", "TEXT",
             .where = "classes"),
        FLAG("several", &o->several, "multi-label classes", .where = "classes"),
        WHOLE("top", &o->top, "classes, tokens or answers per line", 1, 1000000),
        FLAG("json", &o->json, "a JSON list on standard output"),
        THREADS(&o->threads),
    };
    const program_t program = {
        .name = "predict",
        .usage = "--model FOLDER [OPTION]...",
        .notes = "The model's head says what it predicts: tags (ForTokenClassification), words for "
                 "masks (ForMaskedLM), answers (ForQuestionAnswering), classes "
                 "(ForSequenceClassification).",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    if (o->model)
        return 1;
    fputs("predict: --model is expected\n", stderr);
    *status = 2;
    return 0;
}

int predict_main(int argc, char **argv)
{
    options_t options = {.input = "-", .top = 5, .hypothesis = "This example is {}."};
    run_t r = {.o = &options};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    const int rc = run(&r);
    program_fails("predict", rc);
    gnn_text_lines_free(r.lines);
    gnn_pretrained_free(r.p);
    gnn_context_free(r.context);
    return program_ends_with("predict", rc);
}
