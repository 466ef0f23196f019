/* Incremental decoding with a KV cache: tokens per second, and the time per token at several
 * lengths. bench/peers/random_model.py makes folders of random weights.
 *
 *     decode --model FOLDER [--sequences 1] [--prompt 16] [--words 64] [--keep-16-bits] [--onward]
 *
 * A run prefills a prompt of random ids, which is not timed, and then decodes greedily. --onward:
 * each run continues the one before; recurrent models have no way back. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *model;
    int64_t sequences, prompt, words;
    bool keep, onward;
    int64_t runs; /* with the warm-up */
} settings_t;

typedef struct {
    const settings_t *settings;
    gnn_context_t *context;
    gnn_pretrained_t *model;
    gnn_state_t *state;
    gnn_tensor_t logits;   /* sequences * prompt x vocabulary */
    int32_t *first, *next; /* ids of the prompt, ids of the next tokens */
    int64_t *counts;
} task_t;

static void choose(const task_t *t, int64_t each)
{
    for (int64_t s = 0; s < t->settings->sequences; s++) {
        const gnn_real_t *row = t->logits.data + ((s + 1) * each - 1) * t->logits.cols;
        int32_t best = 0;
        for (int32_t c = 1; c < t->logits.cols; c++)
            best = row[c] > row[best] ? c : best;
        t->next[s] = best;
    }
}

static int prepare(task_t *t)
{
    const settings_t *s = t->settings;
    const int64_t rows = s->sequences * s->prompt;
    const gnn_pretrained_config_t config = {.keep_16_bits = s->keep ? GNN_ON : GNN_OFF};
    GNN_TRY(gnn_pretrained_open_with(&t->model, t->context, s->model, &config));
    const gnn_model_t *model = gnn_pretrained_model(t->model);
    t->logits.cols = gnn_model_width(model, gnn_model_step_count(model) - 1);
    t->logits.rows = rows;
    t->logits.data = calloc((size_t)(rows * t->logits.cols), sizeof *t->logits.data);
    t->first = calloc((size_t)rows, sizeof *t->first);
    t->next = calloc((size_t)s->sequences, sizeof *t->next);
    t->counts = calloc((size_t)s->sequences, sizeof *t->counts);
    if (!t->logits.data || !t->first || !t->next || !t->counts)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < rows; k++)
        t->first[k] = (int32_t)(bench_random(7, (uint64_t)k) % (uint64_t)t->logits.cols);
    GNN_TRY(gnn_pretrained_state(&t->state, t->model, t->context,
                                 &(gnn_sequences_t){.count = s->sequences},
                                 s->prompt + s->words * (s->onward ? s->runs : 1)));
    for (int64_t k = 0; k < s->sequences; k++)
        t->counts[k] = s->prompt;
    return gnn_pretrained_advance(t->model, t->context, t->state, t->counts, t->first, &t->logits);
}

/* Restarts after the prompt, unless --onward. */
static int step(void *user)
{
    task_t *t = user;
    const settings_t *s = t->settings;
    const gnn_tensor_t rows = gnn_tensor(t->logits.data, s->sequences, t->logits.cols);
    for (int64_t k = 0; !s->onward && k < s->sequences; k++) {
        GNN_TRY(gnn_state_truncate(t->state, k, s->prompt));
        t->next[k] = t->first[k];
    }
    for (int64_t w = 0; w < s->words; w++) {
        GNN_TRY(gnn_pretrained_advance(t->model, t->context, t->state, NULL, t->next, &rows));
        choose(t, 1);
    }
    return GNN_OK;
}

static void print(const bench_t *b, const task_t *t)
{
    const settings_t *s = t->settings;
    bench_text("task", "decode");
    bench_text("model", gnn_pretrained_architecture(t->model));
    bench_whole("sequences", s->sequences);
    bench_whole("prompt", s->prompt);
    bench_whole("words", s->words);
    bench_flag("keep_16_bits", s->keep);
    bench_number("words_per_s", 1e3 * (double)(s->words * s->sequences) / b->median_ms);
    bench_number("word_ms", b->median_ms / (double)s->words);
    bench_print(b);
}

int main(int argc, char **argv)
{
    settings_t s = {.sequences = 1, .prompt = 16, .words = 64};
    bench_t bench;
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"model", BENCH_TEXT, &s.model},
                                  {"sequences", BENCH_NUMBER, &s.sequences},
                                  {"prompt", BENCH_NUMBER, &s.prompt},
                                  {"words", BENCH_NUMBER, &s.words},
                                  {"keep-16-bits", BENCH_FLAG, &s.keep},
                                  {"onward", BENCH_FLAG, &s.onward},
                                  {0}});
    task_t task = {.settings = &s, .context = bench.context};
    s.runs = bench.repeat + (bench.warm < 0 ? 1 : bench.warm);
    int rc = s.model && s.sequences > 0 && s.prompt > 0 && s.words > 0 ? GNN_OK : GNN_EINVALID;
    bench_begin(&bench);
    if (rc == GNN_OK)
        rc = prepare(&task);
    if (rc == GNN_OK)
        rc = bench_time(&bench, 1, step, &task);
    if (rc == GNN_OK)
        print(&bench, &task);
    gnn_state_free(task.state);
    gnn_pretrained_free(task.model);
    free(task.logits.data);
    free(task.first);
    free(task.next);
    free(task.counts);
    return bench_close(&bench, rc);
}
