/* Sentence embeddings by all-MiniLM-L6-v2 (or another folder with modules.json): both sides of
 * STS-B's test set, as texts or tokenized in advance.
 *
 *     sentences --model FOLDER [--text] [--one] [--limit N] [--data FILE.csv] [--out FILE.npz]
 *     sentences --model FOLDER --first
 *
 * --one runs one sentence at a time: median_ms is then that of all of them, latency_ms of one.
 * --text includes the tokenizer. --first stops after the first sentence: median_ms is the time from
 * the start of the process to its vector. */
#include "bench.h"
#include "sentences_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    const char *model, *data, *out;
    bool text, one, first;
    int64_t limit, batch;
} settings_t;

typedef struct {
    const settings_t *settings;
    gnn_context_t *context;
    gnn_pretrained_t *model;
    sentences_t sentences;
    gnn_tokens_t *tokens;
    gnn_tensor_t out;
    double tokenise_ms;
} task_t;

/* Processor time of this process so far; at the start of main, that of loading the program. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int prepare(task_t *t)
{
    GNN_TRY(sentences_read(&t->sentences, t->settings->data));
    GNN_TRY(gnn_pretrained_open_with(&t->model, t->context, t->settings->model,
                                     &(gnn_pretrained_config_t){.keep_packed = GNN_ON}));
    if (t->settings->limit > 0 && t->settings->limit < t->sentences.count)
        t->sentences.count = t->settings->limit;
    const int64_t width = gnn_pretrained_embedding_width(t->model);
    if (width < 1)
        return GNN_EUNSUPPORTED;
    t->out.rows = t->sentences.count;
    t->out.cols = width;
    t->out.data = malloc((size_t)(t->out.rows * width) * sizeof *t->out.data);
    const double start = bench_seconds();
    const gnn_texts_t texts = {t->sentences.count, t->sentences.at, NULL};
    GNN_TRY(gnn_tokenizer_encode(gnn_pretrained_tokenizer(t->model), &texts, NULL,
                                 &(gnn_encoding_t){.max_length = gnn_pretrained_max_length(t->model)},
                                 &t->tokens));
    t->tokenise_ms = 1e3 * (bench_seconds() - start);
    return t->out.data ? GNN_OK : GNN_EMEMORY;
}

static gnn_tensor_t rows_of(const task_t *t, int64_t first, int64_t count)
{
    return gnn_tensor(t->out.data + first * t->out.cols, count, t->out.cols);
}

static int embed_texts(const task_t *t, int64_t first, int64_t count)
{
    const gnn_texts_t texts = {count, t->sentences.at + first, NULL};
    const gnn_tensor_t rows = rows_of(t, first, count);
    return gnn_pretrained_embed(t->model, t->context, &texts, &rows);
}

static int embed_tokens(const task_t *t, int64_t first, int64_t count, int64_t at)
{
    gnn_pretrained_batch_t *batch;
    const gnn_tensor_t rows = rows_of(t, first, count);
    GNN_TRY(gnn_pretrained_batch_new(&batch, t->model,
                                     &(gnn_sequences_t){.count = count,
                                                        .lengths = t->tokens->lengths + first,
                                                        .ids = t->tokens->ids + at,
                                                        .types = t->tokens->types + at}));
    const int rc = gnn_model_value(gnn_pretrained_model(t->model), t->context,
                                   gnn_pretrained_batch_inputs(batch), "embedding", &rows);
    gnn_pretrained_batch_free(batch);
    return rc;
}

static int step(void *user)
{
    const task_t *t = user;
    const int64_t n = t->sentences.count, most = t->settings->one ? 1 : t->settings->batch;
    for (int64_t first = 0, at = 0; first < n;) {
        const int64_t count = n - first < most ? n - first : most;
        GNN_TRY(t->settings->text ? embed_texts(t, first, count) : embed_tokens(t, first, count, at));
        for (int64_t end = first + count; first < end; first++)
            at += t->tokens->lengths[first];
    }
    return GNN_OK;
}

static int first_vector(task_t *t, bench_t *bench, double start)
{
    GNN_TRY(gnn_pretrained_open(&t->model, t->context, t->settings->model));
    const int64_t width = gnn_pretrained_embedding_width(t->model);
    const char *const text = "A man is playing a harp.";
    t->out = gnn_tensor(calloc((size_t)(width < 1 ? 1 : width), sizeof *t->out.data), 1, width);
    if (!t->out.data)
        return GNN_EMEMORY;
    GNN_TRY(gnn_pretrained_embed(t->model, t->context, &(gnn_texts_t){1, &text, NULL}, &t->out));
    bench->median_ms = bench->min_ms = 1e3 * (bench_seconds() - start);
    bench->repeat = 1;
    bench_peak(bench);
    return GNN_OK;
}

static int write_out(const task_t *t)
{
    const gnn_array_t array = {.name = "embeddings",
                               .dtype = GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32,
                               .ndim = 2,
                               .shape = {t->out.rows, t->out.cols},
                               .count = t->out.rows * t->out.cols,
                               .data = t->out.data};
    return t->settings->out ? gnn_npz_write(t->settings->out, 1, &array) : GNN_OK;
}

static void print(const bench_t *b, const task_t *t)
{
    const settings_t *s = t->settings;
    bench_text("task", "sentences");
    bench_flag("text", s->text);
    bench_flag("one", s->one);
    bench_flag("first", s->first);
    if (!s->first) {
        const int64_t n = t->sentences.count;
        int64_t words = 0;
        for (int64_t k = 0; k < n; k++)
            words += t->tokens->lengths[k];
        bench_whole("sentences", n);
        bench_whole("words", words);
        bench_whole("batch", s->one ? 1 : s->batch);
        bench_number("tokenise_ms", t->tokenise_ms);
        bench_number("sentences_per_s", 1e3 * (double)n / b->median_ms);
        bench_number("words_per_s", 1e3 * (double)words / b->median_ms);
        bench_number("latency_ms", b->median_ms / (double)n);
        bench_number("spearman", sentences_spearman(&t->sentences, &t->out));
    }
    bench_print(b);
}

int main(int argc, char **argv)
{
    const double start = bench_seconds() - processor_seconds();
    settings_t s = {.batch = 256};
    bench_t bench;
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"model", BENCH_TEXT, &s.model},
                                  {"data", BENCH_TEXT, &s.data},
                                  {"out", BENCH_TEXT, &s.out},
                                  {"text", BENCH_FLAG, &s.text},
                                  {"one", BENCH_FLAG, &s.one},
                                  {"first", BENCH_FLAG, &s.first},
                                  {"limit", BENCH_NUMBER, &s.limit},
                                  {"batch", BENCH_NUMBER, &s.batch},
                                  {0}});
    task_t task = {.settings = &s, .context = bench.context};
    int rc = s.model && s.batch > 0 ? GNN_OK : GNN_EINVALID;
    if (rc == GNN_OK && s.first) {
        bench_begin(&bench);
        rc = first_vector(&task, &bench, start);
    } else if (rc == GNN_OK) {
        rc = prepare(&task);
        bench_begin(&bench);
        if (rc == GNN_OK)
            rc = bench_time(&bench, 1, step, &task);
        if (rc == GNN_OK)
            rc = write_out(&task);
    }
    if (rc == GNN_OK)
        print(&bench, &task);
    gnn_tokens_free(task.tokens);
    gnn_pretrained_free(task.model);
    sentences_free(&task.sentences);
    free(task.out.data);
    return bench_close(&bench, rc);
}
