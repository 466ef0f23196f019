/* Sentence embeddings by a pretrained model: written as .npy or .npz, drawn as a heat map of
 * similarities, or ranked against a query.
 *
 *     sh examples/fetch-minilm.sh
 *     embed --input sentences.txt --output vectors.npy
 *     embed --input sentences.txt --query "a song about winter" --top 3 [--rerank FOLDER]
 *     embed --input sentences.txt --heatmap similar.svg
 */
#include "options.h"
#include "program.h"

#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *model, *input, *output, *query, *heatmap, *prompt, *query_prompt, *rerank;
    int64_t top, threads, dim;
    int json, precision, keep_16_bits;
} options_t;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- vectors ---- */

/* Some hundred lines at a time, with a counter on a terminal. */
static int embed(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_text_lines_t *lines,
                 const gnn_tensor_t *out)
{
    enum { AT_ONCE = 512 };
    const int terminal = isatty(STDERR_FILENO);
    for (int64_t from = 0; from < lines->count; from += AT_ONCE) {
        const int64_t n = lines->count - from < AT_ONCE ? lines->count - from : AT_ONCE;
        const gnn_tensor_t rows = gnn_tensor(out->data + from * out->cols, n, out->cols);
        GNN_TRY(gnn_pretrained_embed(p, context, &(gnn_texts_t){n, lines->at + from, NULL}, &rows));
        if (terminal)
            fprintf(stderr, "\r%lld of %lld lines", (long long)(from + n), (long long)lines->count);
    }
    if (terminal)
        fprintf(stderr, "\r%40s\r", "");
    return GNN_OK;
}

static int ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), n = strlen(ending);
    return length > n && strcmp(text + length - n, ending) == 0;
}

static int write_vectors(const char *path, const gnn_tensor_t *vectors)
{
    const gnn_array_t array = {.name = "embeddings",
                               .dtype =
                                   sizeof(gnn_real_t) == 4 ? GNN_DTYPE_FLOAT32 : GNN_DTYPE_FLOAT64,
                               .ndim = 2,
                               .shape = {vectors->rows, vectors->cols},
                               .count = vectors->rows * vectors->cols,
                               .data = vectors->data};
    return ends_in(path, ".npy") ? gnn_npy_write(path, &array) : gnn_npz_write(path, 1, &array);
}

typedef struct {
    double score;
    int64_t line;
} hit_t;

static int by_score(const void *a, const void *b)
{
    const hit_t *x = a, *y = b;
    return x->score < y->score ? 1 : x->score > y->score ? -1 : x->line < y->line ? -1 : 1;
}

static void print_hits(const hit_t *hits, int64_t count, const gnn_text_lines_t *lines)
{
    for (int64_t k = 0; k < count; k++)
        printf("%7.4f  line %lld  %s\n", hits[k].score, (long long)hits[k].line + 1,
               lines->at[hits[k].line]);
}

/* A cross-encoder, which reads query and line together, scores the best ones again. */
static int rerank(const options_t *o, const gnn_pretrained_t *p, gnn_context_t *context,
                  const gnn_text_lines_t *lines, hit_t *hits, int64_t count)
{
    const char **queries = calloc((size_t)count + 1, sizeof *queries);
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    gnn_tensor_t scores = gnn_tensor(calloc((size_t)count + 1, sizeof *scores.data), count, 1);
    int rc = queries && texts && scores.data ? GNN_OK : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < count; k++) {
        queries[k] = o->query;
        texts[k] = lines->at[hits[k].line];
    }
    if (rc == GNN_OK)
        rc = gnn_pretrained_classify_pairs(p, context, &(gnn_texts_t){count, queries, NULL},
                                           &(gnn_texts_t){count, texts, NULL}, &scores);
    for (int64_t k = 0; rc == GNN_OK && k < count; k++)
        hits[k].score = (double)scores.data[k];
    if (rc == GNN_OK)
        qsort(hits, (size_t)count, sizeof *hits, by_score);
    free(scores.data);
    free(texts);
    free(queries);
    return rc;
}

/* Opens the cross-encoder. Scores the query with itself, so that a folder without a head for
 * pairs is an error before the texts are read. */
static int open_judge(gnn_pretrained_t **judge, const options_t *o, gnn_context_t *context)
{
    const gnn_texts_t query = {1, (const char *[]){o->query}, NULL};
    gnn_real_t score;
    const gnn_tensor_t out = gnn_tensor(&score, 1, 1);
    GNN_TRY(gnn_pretrained_open(judge, context, o->rerank));
    return gnn_pretrained_classify_pairs(*judge, context, &query, &query, &out);
}

/* Prints the lines nearest to the query, nearest first. */
static int rank(const options_t *o, gnn_pretrained_t *p, const gnn_pretrained_t *judge,
                gnn_context_t *context, const gnn_text_lines_t *lines, const gnn_tensor_t *vectors)
{
    gnn_real_t *query = calloc((size_t)(vectors->cols + lines->count), sizeof *query);
    hit_t *hits = calloc((size_t)lines->count + 1, sizeof *hits);
    const gnn_tensor_t row = gnn_tensor(query, 1, vectors->cols),
                       scores = gnn_tensor(query + vectors->cols, 1, lines->count);
    const int64_t shown = lines->count < o->top ? lines->count : o->top;
    int rc = query && hits ? GNN_OK : GNN_EMEMORY;
    if (rc == GNN_OK && o->query_prompt)
        rc = gnn_pretrained_choose_prompt(p, o->query_prompt);
    if (rc == GNN_OK)
        rc = gnn_pretrained_embed(p, context, &(gnn_texts_t){1, (const char *[]){o->query}, NULL},
                                  &row);
    if (rc == GNN_OK)
        rc = gnn_pretrained_similarity(p, &row, vectors, &scores);
    for (int64_t k = 0; rc == GNN_OK && k < lines->count; k++)
        hits[k] = (hit_t){(double)scores.data[k], k};
    if (rc == GNN_OK)
        qsort(hits, (size_t)lines->count, sizeof *hits, by_score);
    if (rc == GNN_OK && judge)
        rc = rerank(o, judge, context, lines, hits, shown);
    if (rc == GNN_OK)
        print_hits(hits, shown, lines);
    free(hits);
    free(query);
    return rc;
}

/* Draws the similarity of each pair of lines; labels are truncated. */
static int draw_similarity(FILE *file, const options_t *o, const gnn_pretrained_t *p,
                           const gnn_text_lines_t *lines, const gnn_tensor_t *vectors)
{
    const char *name = gnn_pretrained_similarity_name(p);
    const int64_t n = lines->count;
    char subtitle[200];
    gnn_tensor_t cells = gnn_tensor(calloc((size_t)(n * n) + 1, sizeof *cells.data), n, n);
    if (!cells.data)
        return GNN_EMEMORY;
    int rc = gnn_pretrained_similarity(p, vectors, vectors, &cells);
    snprintf(subtitle, sizeof subtitle, "%s of %lld lines of %.140s",
             strcmp(name, "cosine") == 0 ? "cosines" : name, (long long)n, o->input);
    if (rc == GNN_OK)
        rc = gnn_svg_heatmap(file, &(gnn_heatmap_t){.values = cells,
                                                    .row_labels = lines->at,
                                                    .col_labels = lines->at,
                                                    .title = "Which lines are alike",
                                                    .subtitle = subtitle,
                                                    .mark_row = -1,
                                                    .mark_col = -1});
    free(cells.data);
    return rc;
}

static int write_heatmap(const options_t *o, const gnn_pretrained_t *p,
                         const gnn_text_lines_t *lines, const gnn_tensor_t *vectors)
{
    program_file_t to;
    GNN_TRY(program_create(&to, o->heatmap));
    return program_finish(&to, draw_similarity(to.file, o, p, lines, vectors));
}

/* ---- main ---- */

static int64_t count_words(const gnn_text_lines_t *lines)
{
    int64_t words = 0;
    for (int64_t k = 0; k < lines->count; k++)
        for (const char *c = lines->at[k]; *c; c++)
            words += *c > ' ' && (c == lines->at[k] || c[-1] <= ' ');
    return words;
}

static void say(const options_t *o, const gnn_pretrained_t *p, const gnn_text_lines_t *lines,
                int64_t width, double opened, double took)
{
    const int64_t words = count_words(lines);
    if (o->json)
        printf("{\"architecture\": \"%s\", \"lines\": %lld, \"words\": %lld, \"width\": %lld, "
               "\"seconds_to_open\": %.3f, \"seconds\": %.3f}\n",
               gnn_pretrained_architecture(p), (long long)lines->count, (long long)words,
               (long long)width, opened, took);
    else
        fprintf(stderr,
                "%s: %lld lines to vectors of %lld in %.2f s, %.0f words a second; "
                "opened in %.2f s\n",
                gnn_pretrained_architecture(p), (long long)lines->count, (long long)width, took,
                took > 0 ? (double)words / took : 0, opened);
}

/* Checks of the folder and the lines before they are embedded. */
static int check(const options_t *o, gnn_context_t *context, const gnn_pretrained_t *p,
                 const gnn_text_lines_t *lines, gnn_pretrained_t **judge)
{
    enum { MOST_LINES = 1000 };
    if (o->heatmap && lines->count > MOST_LINES) {
        fprintf(stderr, "embed: --heatmap: %lld lines, a picture has at most %d\n",
                (long long)lines->count, MOST_LINES);
        return PROGRAM_REFUSED;
    }
    if (gnn_pretrained_embedding_width(p) < 0) {
        fprintf(stderr, "embed: %s does not say how sentences become vectors (modules.json)\n",
                o->model);
        return PROGRAM_REFUSED;
    }
    return o->rerank ? open_judge(judge, o, context) : GNN_OK;
}

static int choose_width(const options_t *o, gnn_pretrained_t *p)
{
    GNN_TRY(gnn_pretrained_choose_width(p, o->dim));
    const int64_t width = gnn_pretrained_embedding_width(p);
    if (width < 0 || width == o->dim)
        return GNN_OK;
    fprintf(stderr, "embed: --dim %lld: the vectors of this model have %lld columns\n",
            (long long)o->dim, (long long)width);
    return PROGRAM_REFUSED;
}

static int run(const options_t *o, gnn_context_t *context, gnn_pretrained_t **p,
               gnn_pretrained_t **judge, gnn_text_lines_t **read)
{
    const double start = seconds();
    GNN_TRY(gnn_pretrained_open_with(
        p, context, o->model,
        &(gnn_pretrained_config_t){.keep_packed = o->keep_16_bits ? GNN_OFF : GNN_ON,
                                   .keep_16_bits = o->keep_16_bits ? GNN_ON : GNN_OFF}));
    const double opened = seconds() - start;
    if (o->dim)
        GNN_TRY(choose_width(o, *p));
    if (o->prompt && o->query_prompt) /* a name that is not there is refused here */
        GNN_TRY(gnn_pretrained_choose_prompt(*p, o->query_prompt));
    if (o->prompt)
        GNN_TRY(gnn_pretrained_choose_prompt(*p, o->prompt));
    GNN_TRY(program_lines_read(read, o->input));
    const gnn_text_lines_t *lines = *read;
    GNN_TRY(check(o, context, *p, lines, judge));
    const int64_t width = gnn_pretrained_embedding_width(*p);
    gnn_tensor_t vectors = gnn_tensor(
        calloc((size_t)(lines->count * width) + 1, sizeof *vectors.data), lines->count, width);
    const double began = seconds();
    int rc = vectors.data ? embed(*p, context, lines, &vectors) : GNN_EMEMORY;
    if (rc == GNN_OK)
        say(o, *p, lines, width, opened, seconds() - began);
    if (rc == GNN_OK && o->output)
        rc = write_vectors(o->output, &vectors);
    if (rc == GNN_OK && o->heatmap)
        rc = write_heatmap(o, *p, lines, &vectors);
    if (rc == GNN_OK && o->query)
        rc = rank(o, *p, *judge, context, lines, &vectors);
    free(vectors.data);
    return rc;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        INPUT("model", &o->model, "a folder of sentence-transformers", "FOLDER"),
        FLAG("keep-16-bits", &o->keep_16_bits, "keeps bf16 and fp16 weights in 16 bits"),
        INPUT("input", &o->input, "one sentence per line; - is standard input", "FILE|-"),
        OUTPUT("output", &o->output, "the vectors, one row per line; in .npz as array embeddings",
               "FILE.npy|FILE.npz"),
        OUTPUT("heatmap", &o->heatmap, "heat map of the cosine similarity of all pairs of lines",
               "FILE.svg"),
        TEXT("query", &o->query,
             "ranks the lines by cosine with this sentence, or by the folder's "
             "similarity_fn_name",
             "TEXT"),
        WHOLE("dim", &o->dim,
              "truncates vectors to their first N columns [the folder's truncate_dim, "
              "or all]",
              1, 1000000),
        TEXT("prompt-name", &o->prompt, "name of the folder's prompt for lines", "NAME"),
        TEXT("query-prompt-name", &o->query_prompt,
             "name of the prompt for the query [that of --prompt-name]", "NAME", .where = "query"),
        INPUT("rerank", &o->rerank, "a cross-encoder that sorts the --top lines again", "FOLDER",
              .where = "query"),
        PRECISION(&o->precision),
        WHOLE("top", &o->top, "lines of the ranking", 1, 1000000000, .where = "query"),
        FLAG("json", &o->json, "counts and seconds as one JSON object on standard output"),
        THREADS(&o->threads),
    };
    const program_t program = {
        .name = "embed",
        .usage = "[OPTION]...",
        .notes = "sh examples/fetch-minilm.sh fetches the model that is used where --model is "
                 "not given.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    if (!o->output && !o->query && !o->heatmap && !o->json)
        fputs("embed: nothing would come of the vectors: give --output FILE.npy, --heatmap "
              "FILE.svg or --query TEXT\n",
              stderr);
    else
        return 1;
    *status = 2;
    return 0;
}

/* The folder of fetch-minilm.sh. */
static const char *usual_folder(void)
{
    static char folder[4096];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    snprintf(folder, sizeof folder, "%s%s/gnn/all-MiniLM-L6-v2",
             cache  ? cache
             : home ? home
                    : "",
             cache ? "" : "/.cache");
    return folder;
}

int embed_main(int argc, char **argv)
{
    options_t options = {.model = usual_folder(), .input = "-", .top = 10};
    gnn_context_t *context = NULL;
    gnn_pretrained_t *pretrained = NULL, *judge = NULL;
    gnn_text_lines_t *lines = NULL;
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    static const gnn_precision_t levels[] = {GNN_PRECISION_HIGHEST, GNN_PRECISION_HIGH,
                                             GNN_PRECISION_MEDIUM};
    int rc =
        gnn_context_new(&context, &(gnn_context_config_t){.threads = (int)options.threads,
                                                          .precision = levels[options.precision]});
    if (rc == GNN_OK)
        rc = run(&options, context, &pretrained, &judge, &lines);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    program_fails("embed", rc);
    if (rc != GNN_OK && !pretrained && !options_gave("model"))
        fprintf(stderr, "embed: without --model, the model is that of sh examples/fetch-minilm.sh\n");
    gnn_text_lines_free(lines);
    gnn_pretrained_free(judge);
    gnn_pretrained_free(pretrained);
    gnn_context_free(context);
    return program_ends_with("embed", rc);
}
