/* Outputs of `sentence`: accuracies by kind and distance, and attention. */
#include "sentence.h"
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 5 };

static const char *const kinds[] = {"statements (subject before the verb)",
                                    "questions (subject after the verb)"};
static const char *const distances[] = {"1-2", "3-4", "5-8", "9-16", "17+"};

/* Counts of correct and all predictions, by kind and by words between verb and subject; attention
 * of each head on the subject. */
typedef struct {
    int64_t right[2][BUCKETS], count[2][BUCKETS], sentences;
    double on_subject[HEADS];
    int64_t far,
        /* predictions with a margin above 1e-4 on the complete graph, and those that differ */
        differ;
} tally_t;

static int bucket(const sentence_t *s)
{
    int d = abs(s->subject - s->verb);
    return d <= 2 ? 0 : d <= 4 ? 1 : d <= 8 ? 2 : d <= 16 ? 3 : 4;
}

static void count_answers(const pack_t *p, const gnn_real_t *logits, tally_t *tally)
{
    int64_t row = 0;
    for (int s = 0; s < SENTENCES; row += p->lengths[s++]) {
        const sentence_t *from = &p->sentences[s];
        const gnn_real_t *answer = logits + 2 * (row + from->verb);
        tally->count[from->question][bucket(from)]++;
        tally->right[from->question][bucket(from)] += (answer[1] > answer[0]) == from->plural;
    }
}

/* `attention`: per sentence heads x n x n. */
static void count_attention(const pack_t *p, const gnn_real_t *attention, tally_t *tally)
{
    for (int s = 0; s < SENTENCES; attention += HEADS * p->lengths[s] * p->lengths[s], s++) {
        int64_t n = p->lengths[s];
        for (int h = 0; h < HEADS; h++)
            tally->on_subject[h] +=
                (double)attention[(h * n + p->sentences[s].verb) * n + p->sentences[s].subject];
        tally->sentences++;
    }
}

/* Repeats the run with the complete graph stored as spans instead of edges. */
static int compare_with_spans(const gnn_model_t *model, gnn_context_t *context, const pack_t *p,
                              const gnn_real_t *logits, gnn_real_t *other, tally_t *tally)
{
    gnn_graph_t *spans;
    gnn_tensor_t out = gnn_tensor(other, p->rows, 2);
    gnn_model_inputs_t inputs = pack_inputs(p);
    GNN_TRY(make_graph(&spans, COMPLETE, 0, p->lengths));
    const gnn_graph_t *graphs[] = {spans};
    inputs.graphs = graphs;
    int rc = gnn_model_prepare(model, 0, spans, GNN_OFF);
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &inputs, &out);
    for (int64_t r = 0; rc == GNN_OK && r < p->rows; r++) {
        double margin = (double)logits[2 * r + 1] - (double)logits[2 * r];
        if (fabs(margin) <= 1e-4)
            continue;
        tally->far++;
        tally->differ += (margin > 0) != (other[2 * r + 1] > other[2 * r]);
    }
    gnn_graph_free(spans);
    return rc;
}

static int test(const gnn_model_t *model, gnn_context_t *context, const options_t *options,
                const pack_t *p, gnn_real_t *memory, tally_t *tally)
{
    gnn_real_t *logits = memory, *other = memory + 2 * SENTENCES * MAX_WORDS,
               *attention = memory + 4 * SENTENCES * MAX_WORDS;
    gnn_tensor_t out = gnn_tensor(logits, p->rows, 2);
    gnn_model_inputs_t inputs = pack_inputs(p);
    GNN_TRY(gnn_model_forward(model, context, &inputs, &out));
    GNN_TRY(gnn_model_attention(model, context, &inputs, 2 + options->layers, NULL, attention));
    count_answers(p, logits, tally);
    count_attention(p, attention, tally);
    return options->topology == EDGES ? compare_with_spans(model, context, p, logits, other, tally)
                                      : GNN_OK;
}

/* Draws the attention of the last sufficiently long sentence: receivers down, senders across, mean
 * over heads. */
static int draw(const options_t *options, const pack_t *p, const gnn_real_t *attention)
{
    int chosen = 0;
    const gnn_real_t *found = attention;
    for (int s = 0; s < SENTENCES; attention += HEADS * p->lengths[s] * p->lengths[s], s++)
        if (!p->sentences[s].question && p->sentences[s].subject <= 3 && p->lengths[s] >= 11 &&
            p->lengths[s] <= 15) {
            chosen = s;
            found = attention;
        }
    const sentence_t *from = &p->sentences[chosen];
    const char *labels[MAX_WORDS];
    gnn_real_t mean[MAX_WORDS * MAX_WORDS];
    char subtitle[160];
    int64_t n = from->length;
    for (int64_t k = 0; k < n; k++)
        labels[k] = language_word(from->words[k]);
    for (int64_t k = 0; k < n * n; k++) {
        double sum = 0;
        for (int h = 0; h < HEADS; h++)
            sum += (double)found[h * n * n + k];
        mean[k] = (gnn_real_t)(sum / HEADS);
    }
    snprintf(subtitle, sizeof subtitle,
             "last layer, mean of %d heads, topology %s; framed: the verb and its subject", HEADS,
             options->name);
    program_file_t to;
    GNN_TRY(program_create(&to, options->picture));
    gnn_heatmap_t map = {.values = gnn_tensor(mean, n, n), .subtitle = subtitle, .high = 1};
    map.title = "Who listens to whom";
    map.row_labels = map.col_labels = labels;
    map.row_axis = "receiver";
    map.col_axis = "sender";
    map.mark_row = from->verb;
    map.mark_col = from->subject;
    return program_finish(&to, gnn_svg_heatmap(to.file, &map));
}

static double percent(int64_t right, int64_t count)
{
    return count ? 100 * (double)right / (double)count : 0;
}

static void explain(const options_t *options)
{
    const char *const why[] = {
        [COMPLETE] =
            "Every word hears every word, so the verb finds its subject on either side and at any distance.",
        [CAUSAL] =
            "A word hears only itself and what stands before it: in a question the subject comes after the verb, which can only guess there.",
        [WINDOW] =
            "A verb hears so many words on each side and no others: a subject further away is out of earshot, and it can only guess.",
        [EDGES] =
            "This is the complete graph stored edge by edge: the same weights give the same answers, only memory and time differ."};
    printf("%s%s\n", why[options->topology],
           options->topology == WINDOW && options->layers > 1
               ? " (With more layers, neighbours pass on what they heard.)"
               : "");
}

static void print(const options_t *options, const tally_t *t)
{
    int64_t right = 0, count = 0;
    double mean = 0, best = 0;
    for (int kind = 0; kind < 2; kind++) {
        int64_t kind_right = 0, kind_count = 0;
        for (int b = 0; b < BUCKETS; b++) {
            kind_right += t->right[kind][b];
            kind_count += t->count[kind][b];
        }
        printf("%s: %.1f%%\n", kinds[kind], percent(kind_right, kind_count));
        for (int b = 0; b < BUCKETS; b++)
            if (t->count[kind][b])
                printf("    subject %4s words away: %5.1f%% of %lld\n", distances[b],
                       percent(t->right[kind][b], t->count[kind][b]), (long long)t->count[kind][b]);
        right += kind_right;
        count += kind_count;
    }
    for (int h = 0; h < HEADS; h++) {
        double share = t->on_subject[h] / (double)t->sentences;
        mean += share / HEADS;
        best = fmax(best, share);
    }
    printf("attention of the verb on its subject: %.1f%% (mean of %d heads), %.1f%% (best head)\n",
           100 * mean, HEADS, 100 * best);
    if (options->topology == EDGES)
        printf("edges against spans, same weights: %lld of %lld predictions with a margin above 1e-4 differ\n",
               (long long)t->differ, (long long)t->far);
    explain(options);
    printf("held-out accuracy %.1f over %lld sentences, topology %s\n", percent(right, count),
           (long long)count, options->name);
}

int report(const gnn_model_t *model, gnn_context_t *context, const options_t *options,
           const pack_t *packs, int count)
{
    tally_t tally = {0};
    size_t numbers = 4 * SENTENCES * MAX_WORDS + SENTENCES * HEADS * MAX_WORDS * MAX_WORDS;
    gnn_real_t *memory = calloc(numbers, sizeof *memory);
    int rc = memory ? GNN_OK : GNN_EMEMORY;
    for (int k = 0; k < count && rc == GNN_OK; k++)
        rc = test(model, context, options, &packs[k], memory, &tally);
    if (rc == GNN_OK)
        print(options, &tally);
    if (rc == GNN_OK && options->picture)
        rc = draw(options, &packs[count - 1], memory + 4 * SENTENCES * MAX_WORDS);
    free(memory);
    return rc;
}
