/* Generation: distribution of sampled tokens, and equality of texts with a KV cache and with full
 * forward passes. */
#include "writer_small.h"

enum { WORDS = 13, LENGTH = 20, PROMPTS = 3 };

static const int64_t prompt_lengths[PROMPTS] = {4, 1, 7};
static const int32_t prompt_ids[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const gnn_sequences_t prompts = {
    .count = PROMPTS, .lengths = prompt_lengths, .ids = prompt_ids};
static gnn_context_t *context;
static gnn_model_t *model;
static gnn_writer_t writer;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 5}));
    model = small_writer(context, WORDS);
    writer = (gnn_writer_t){
        .model = model, .ids = "letters", .positions = "places", .max_length = SMALL_PLACES};
}

static void tear_down(void)
{
    gnn_model_free(model);
    gnn_context_free(context);
}

static gnn_written_t *write_on(const gnn_sequences_t *from, gnn_generation_t how)
{
    gnn_written_t *written = NULL;
    ck_ok(gnn_generate(&writer, context, from, &how, &written));
    return written;
}

/* ---- one token ---- */

static const gnn_real_t logits[8] = {1, 3, 2, (gnn_real_t)-0.5, 0, 2, (gnn_real_t)1.5, -2};

static void ck_probabilities(gnn_generation_t how, const int32_t *history, int64_t n,
                             const double *weights)
{
    gnn_real_t p[8];
    double sum = 0;
    ck_ok(gnn_next_probabilities(&how, logits, 8, history, n, p));
    for (int k = 0; k < 8; k++)
        sum += weights[k];
    for (int k = 0; k < 8; k++)
        ck_assert_msg(fabs((double)p[k] - weights[k] / sum) < 1e-6, "token %d: %g, not %g", k,
                      (double)p[k], weights[k] / sum);
}

START_TEST(probabilities_match_the_formula)
{
    double all[8], warm[8], three[8] = {0}, repeated[8], half[8] = {0};
    for (int k = 0; k < 8; k++) {
        all[k] = exp((double)logits[k]);
        warm[k] = exp((double)logits[k] / 0.7);
    }
    ck_probabilities((gnn_generation_t){.temperature = 1}, NULL, 0, all);
    ck_probabilities((gnn_generation_t){.temperature = (gnn_real_t)0.7}, NULL, 0, warm);
    ck_probabilities((gnn_generation_t){0}, NULL, 0, (const double[]){0, 1, 0, 0, 0, 0, 0, 0});
    three[1] = all[1], three[2] = all[2], three[5] = all[5];
    ck_probabilities((gnn_generation_t){.temperature = 1, .top_k = 3}, NULL, 0, three);
    ck_probabilities((gnn_generation_t){.temperature = 1, .top_k = 99}, NULL, 0, all);
    /* the first has 0.43 of all, the first two 0.59 */
    half[1] = all[1], half[2] = all[2];
    ck_probabilities((gnn_generation_t){.temperature = 1, .top_p = (gnn_real_t)0.5}, NULL, 0, half);
    half[2] = 0; /* of three it has 0.58 */
    ck_probabilities((gnn_generation_t){.temperature = 1, .top_k = 3, .top_p = (gnn_real_t)0.55},
                     NULL, 0, half);
    ck_probabilities((gnn_generation_t){.temperature = 1, .top_p = GNN_ZERO}, NULL, 0, half);
    memcpy(repeated, all, sizeof all);
    repeated[1] = exp(3 / 1.5), repeated[3] = exp(-0.5 * 1.5);
    ck_probabilities((gnn_generation_t){.temperature = 1, .repetition = (gnn_real_t)1.5},
                     (const int32_t[]){1, 3, 1, 99}, 4, repeated);
    all[1] = all[7] = 0;
    ck_probabilities(
        (gnn_generation_t){.temperature = 1, .never = (const int32_t[]){1, 7, 50, -1}, .n_never = 4},
        NULL, 0, all);
}
END_TEST

/* Pearson's test on 40,000 draws, at 5 standard deviations of its statistic. */
START_TEST(draws_have_the_probabilities)
{
    enum { DRAWS = 40000 };
    const gnn_generation_t how[] = {
        {.temperature = 1, .seed = 3},
        {.temperature = (gnn_real_t)1.6, .top_k = 5, .seed = 4},
        {.temperature = (gnn_real_t)0.8, .top_p = (gnn_real_t)0.9, .seed = 5}};
    gnn_real_t p[8];
    int64_t count[8] = {0};
    double statistic = 0, freedom = -1;
    ck_ok(gnn_next_probabilities(&how[_i], logits, 8, NULL, 0, p));
    for (int64_t k = 0; k < DRAWS; k++) {
        int32_t id;
        ck_ok(gnn_next_token(&how[_i], logits, 8, NULL, 0, k % 7, k / 7, &id));
        count[id]++;
    }
    for (int k = 0; k < 8; k++) {
        const double expected = DRAWS * (double)p[k], off = (double)count[k] - expected;
        ck_assert_msg(p[k] > 0 || count[k] == 0, "token %d has no probability and is drawn", k);
        statistic += p[k] > 0 ? off * off / expected : 0;
        freedom += p[k] > 0;
    }
    ck_assert_msg(statistic < freedom + 5 * sqrt(2 * freedom), "chi-square is %g with %g degrees",
                  statistic, freedom);
}
END_TEST

START_TEST(faults_of_one_token)
{
    gnn_real_t p[8], bad[2] = {1, (gnn_real_t)NAN},
                     none[2] = {(gnn_real_t)-INFINITY, (gnn_real_t)-INFINITY};
    int32_t id;
    const int32_t both[] = {0, 1};
    ck_fails(gnn_next_probabilities(NULL, NULL, 8, NULL, 0, p), GNN_EINVALID, "logits is NULL");
    ck_fails(gnn_next_probabilities(NULL, logits, 8, NULL, 0, NULL), GNN_EINVALID,
             "probabilities is NULL");
    ck_fails(gnn_next_token(NULL, NULL, 8, NULL, 0, 0, 0, &id), GNN_EINVALID, "logits is NULL");
    ck_fails(gnn_next_token(NULL, logits, 8, NULL, 0, 0, 0, NULL), GNN_EINVALID, "id is NULL");
    ck_fails(gnn_next_token(NULL, logits, 0, NULL, 0, 0, 0, &id), GNN_EINVALID, "0 logits");
    ck_fails(gnn_next_token(NULL, logits, 8, NULL, 2, 0, 0, &id), GNN_EINVALID, "which is NULL");
    ck_fails(gnn_next_token(NULL, bad, 2, NULL, 0, 0, 0, &id), GNN_ENUMERIC, "token 1");
    ck_fails(gnn_next_token(NULL, none, 2, NULL, 0, 0, 0, &id), GNN_ENUMERIC, "-inf");
    ck_fails(gnn_next_token(&(gnn_generation_t){.never = both, .n_never = 2}, logits, 2, NULL, 0, 0,
                            0, &id),
             GNN_EINVALID, "all 2 tokens are excluded");
    ck_fails(gnn_next_token(&(gnn_generation_t){.temperature = -1}, logits, 8, NULL, 0, 0, 0, &id),
             GNN_EINVALID, ".temperature = -1");
    ck_fails(gnn_next_token(&(gnn_generation_t){.top_p = 2}, logits, 8, NULL, 0, 0, 0, &id),
             GNN_EINVALID, ".top_p = 2");
    ck_fails(gnn_next_token(&(gnn_generation_t){.repetition = -1}, logits, 8, NULL, 0, 0, 0, &id),
             GNN_EINVALID, ".repetition = -1");
}
END_TEST

/* ---- texts ---- */

static int64_t begin_of(const int64_t *lengths, int64_t k)
{
    int64_t at = 0;
    for (int64_t i = 0; i < k; i++)
        at += lengths[i];
    return at;
}

/* Token by token what gnn_next_token makes of whole forward passes, and its score. */
static void ck_written(const gnn_written_t *w, int64_t samples, const gnn_generation_t *how)
{
    for (int64_t k = 0; k < w->count; k++) {
        const int64_t p = k / samples, n = prompt_lengths[p];
        const int32_t *ids = w->ids + begin_of(w->lengths, k);
        int32_t all[SMALL_PLACES];
        double score = 0;
        memcpy(all, prompt_ids + begin_of(prompt_lengths, p), (size_t)n * sizeof *all);
        ck_assert_int_eq(w->lengths[k], LENGTH);
        ck_assert_int_eq(w->ended[k], GNN_ENDED_LENGTH);
        for (int64_t i = 0; i < LENGTH; i++) {
            gnn_real_t row[WORDS];
            double sum = 0;
            small_logits(model, context, all, n + i, WORDS, row);
            ck_ok(gnn_next_token(how, row, WORDS, all, n + i, k, i, &all[n + i]));
            ck_assert_msg(all[n + i] == ids[i], "text %d, token %d: %d, not %d", (int)k, (int)i,
                          ids[i], all[n + i]);
            for (int c = 0; c < WORDS; c++)
                sum += exp((double)row[c]);
            score += (double)row[all[n + i]] - log(sum);
        }
        ck_assert_double_eq_tol(w->scores[k], score, 1e-3);
    }
}

START_TEST(incremental_decoding_equals_forward_passes)
{
    const gnn_generation_t how[] = {
        {.length = LENGTH},
        {.length = LENGTH, .repetition = (gnn_real_t)1.3},
        {.length = LENGTH, .temperature = 1, .seed = 9},
        {.length = LENGTH, .temperature = 1, .top_k = 6, .top_p = (gnn_real_t)0.9, .samples = 3}};
    gnn_written_t *w = write_on(&prompts, how[_i]);
    const int64_t samples = how[_i].samples ? how[_i].samples : 1;
    ck_assert_int_eq(w->count, samples * PROMPTS);
    ck_assert_ptr_null(w->texts);
    ck_written(w, samples, &how[_i]);
    gnn_written_free(w);
}
END_TEST

/* Long prompts are prefilled in chunks; the tokens of a text do not depend on the batch. */
START_TEST(many_texts_equal_single_ones)
{
    enum { MANY = 300 };
    int64_t lengths[MANY];
    int32_t ids[MANY * 3];
    for (int k = 0; k < MANY; k++)
        lengths[k] = 1 + k % 3;
    for (int k = 0; k < MANY * 3; k++)
        ids[k] = k * 7 % WORDS;
    gnn_written_t *all = write_on(&(gnn_sequences_t){.count = MANY, .lengths = lengths, .ids = ids},
                                  (gnn_generation_t){.length = 6}),
                  *last;
    const int64_t at = begin_of(lengths, MANY - 1);
    last = write_on(&(gnn_sequences_t){.count = 1, .lengths = &lengths[MANY - 1], .ids = ids + at},
                    (gnn_generation_t){.length = 6});
    ck_assert_mem_eq(last->ids, all->ids + 6 * (MANY - 1), 6 * sizeof *ids);
    gnn_written_free(all);
    gnn_written_free(last);
}
END_TEST

START_TEST(same_text_on_one_and_four_threads)
{
    const gnn_generation_t how = {.length = LENGTH, .temperature = 1, .seed = 1, .samples = 4};
    gnn_context_t *one = context, *four;
    ck_ok(gnn_context_new(&four, &(gnn_context_config_t){.threads = 4}));
    gnn_written_t *a = write_on(&prompts, how);
    context = four;
    gnn_written_t *b = write_on(&prompts, how);
    context = one;
    gnn_written_t *other = write_on(
        &prompts, (gnn_generation_t){.length = LENGTH, .temperature = 1, .seed = 2, .samples = 4});
    ck_assert_mem_eq(a->ids, b->ids, sizeof *a->ids * LENGTH * 4 * PROMPTS);
    ck_assert_mem_ne(a->ids, other->ids, sizeof *a->ids * LENGTH * 4 * PROMPTS);
    gnn_written_free(a);
    gnn_written_free(b);
    gnn_written_free(other);
    gnn_context_free(four);
}
END_TEST

/* A text ends with an end token, or where the model takes no more. */
START_TEST(ends_of_texts)
{
    gnn_written_t *w = write_on(&prompts, (gnn_generation_t){.length = 1000});
    for (int64_t k = 0; k < PROMPTS; k++) {
        ck_assert_int_eq(w->lengths[k], SMALL_PLACES - prompt_lengths[k]);
        ck_assert_int_eq(w->ended[k], GNN_ENDED_LENGTH);
    }
    const int32_t end = w->ids[3];
    gnn_written_t *cut = write_on(&prompts, (gnn_generation_t){.end = &end, .n_end = 1});
    for (int64_t k = 0; k < PROMPTS; k++) {
        const int32_t *whole = w->ids + begin_of(w->lengths, k);
        int64_t n = 0;
        while (n < w->lengths[k] && whole[n] != end)
            n++;
        const bool met = n < w->lengths[k];
        ck_assert_int_eq(cut->lengths[k], n + met);
        ck_assert_int_eq(cut->ended[k], met ? GNN_ENDED_TOKEN : GNN_ENDED_LENGTH);
        ck_assert_mem_eq(cut->ids + begin_of(cut->lengths, k), whole,
                         (size_t)(n + met) * sizeof *whole);
    }
    ck_assert_int_eq(cut->ended[0], GNN_ENDED_TOKEN);
    gnn_written_free(w);
    gnn_written_free(cut);
}
END_TEST

/* ---- pieces of text ---- */

typedef struct {
    char text[4][1000];
    int64_t tokens[4], most;
} heard_t;

/* A byte that is not a character's first. */
static bool inside(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static int hear_text(void *user, int64_t text, const char *piece, int64_t bytes)
{
    heard_t *heard = user;
    char *to = heard->text[text] + strlen(heard->text[text]);
    ck_assert_int_gt(bytes, 0);
    ck_assert_msg(!inside(piece[0]), "a piece begins inside a character");
    memcpy(to, piece, (size_t)bytes);
    to[bytes] = '\0';
    return 0;
}

static int hear_token(void *user, int64_t text, int32_t id)
{
    heard_t *heard = user;
    ck_assert_int_ge(id, 0);
    return ++heard->tokens[text] == heard->most;
}

/* Bytes of several characters fall apart into tokens, and the model draws any of them. */
static gnn_tokenizer_t *learn_bytes(void)
{
    const char *text = "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac na\xc3\xafve";
    gnn_tokenizer_t *t = NULL;
    ck_ok(gnn_tokenizer_learn(&t, &(gnn_texts_t){1, &text, NULL}, &(gnn_learning_t){.size = 262}));
    return t;
}

START_TEST(streamed_pieces_concatenate_to_the_text)
{
    gnn_tokenizer_t *t = learn_bytes();
    const char *texts[] = {"caf\xc3\xa9", "na"};
    heard_t heard = {.most = -1};
    gnn_written_t *w = NULL, *cut = NULL;
    gnn_model_free(model);
    model = small_writer(context, gnn_tokenizer_size(t));
    writer.model = model;
    writer.tokenizer = t;
    gnn_generation_t how = {.length = 30,
                            .temperature = 3,
                            .samples = 2,
                            .on_text = hear_text,
                            .on_token = hear_token,
                            .user = &heard};
    ck_ok(gnn_generate_texts(&writer, context, &(gnn_texts_t){2, texts, NULL}, &how, &w));
    for (int64_t k = 0; k < 4; k++) {
        ck_assert_int_eq(heard.tokens[k], 30);
        ck_assert_str_eq(heard.text[k], w->texts[k]);
        ck_assert_int_eq(w->text_bytes[k], (int64_t)strlen(w->texts[k]));
    }
    /* the middle of the first text ends it */
    char stop[8] = "";
    const char *middle = w->texts[0] + 12;
    while (inside(*middle))
        middle++;
    for (int n = 0; n == 0 || inside(middle[n]); n++)
        stop[n] = middle[n];
    const char *const stops[] = {"never there", stop};
    heard_t less = {.most = -1};
    how.stop = stops, how.n_stop = 2, how.user = &less;
    ck_ok(gnn_generate_texts(&writer, context, &(gnn_texts_t){2, texts, NULL}, &how, &cut));
    const int64_t place = strstr(w->texts[0], stop) - w->texts[0];
    ck_assert_int_eq(cut->ended[0], GNN_ENDED_STOP);
    ck_assert_int_eq(cut->text_bytes[0], place);
    ck_assert_int_eq(strncmp(cut->texts[0], w->texts[0], (size_t)place), 0);
    for (int64_t k = 0; k < 4; k++)
        ck_assert_str_eq(less.text[k], cut->texts[k]);
    gnn_written_free(w);
    gnn_written_free(cut);
    gnn_tokenizer_free(t);
}
END_TEST

START_TEST(the_caller_may_stop)
{
    heard_t heard = {.most = 5};
    gnn_written_t *w = write_on(&prompts, (gnn_generation_t){.on_token = hear_token, .user = &heard});
    ck_assert_int_eq(w->lengths[0], 5);
    for (int64_t k = 0; k < PROMPTS; k++)
        ck_assert_int_eq(w->ended[k], GNN_ENDED_CALLER);
    ck_assert_int_le(w->lengths[2], 5);
    gnn_written_free(w);
}
END_TEST

/* ---- what is refused ---- */

static int refused(const gnn_sequences_t *from, gnn_generation_t how)
{
    gnn_written_t *w = NULL;
    const int rc = gnn_generate(&writer, context, from, &how, &w);
    ck_assert_ptr_null(w);
    return rc;
}

START_TEST(invalid_settings_are_refused)
{
    gnn_written_t *w;
    const int64_t lengths[] = {3, 0}, many = SMALL_PLACES;
    const char *stop = "x", *text = "x";
    const gnn_sequences_t empty = {.count = 2, .lengths = lengths, .ids = prompt_ids},
                          bare = {.count = 2, .lengths = lengths}, none = {.count = 0},
                          full = {.count = 1, .lengths = &many, .ids = prompt_ids};
    ck_fails(gnn_generate(NULL, context, &prompts, NULL, &w), GNN_EINVALID, "writer is NULL");
    ck_fails(gnn_generate(&writer, NULL, &prompts, NULL, &w), GNN_EINVALID, "context is NULL");
    ck_fails(gnn_generate(&writer, context, NULL, NULL, &w), GNN_EINVALID, "prompts is NULL");
    ck_fails(gnn_generate(&writer, context, &prompts, NULL, NULL), GNN_EINVALID, "written is NULL");
    ck_fails(gnn_generate_texts(&writer, context, NULL, NULL, &w), GNN_EINVALID, "prompts is NULL");
    ck_fails(gnn_generate_texts(&writer, context, &(gnn_texts_t){1, &text, NULL}, NULL, &w),
             GNN_EUNSUPPORTED, "no tokenizer");
    ck_fails(gnn_generate(&(gnn_writer_t){0}, context, &prompts, NULL, &w), GNN_EINVALID,
             "neither .pretrained nor .model");
    ck_fails(refused(&empty, (gnn_generation_t){0}), GNN_EINVALID, "prompt 1 has no tokens");
    ck_fails(refused(&bare, (gnn_generation_t){0}), GNN_EINVALID, "ids is NULL");
    ck_fails(refused(&none, (gnn_generation_t){0}), GNN_EINVALID, "0 prompts, expected 1 to");
    ck_fails(refused(&full, (gnn_generation_t){0}), GNN_ESHAPE, "40 tokens, expected at most 39");
    ck_fails(refused(&prompts, (gnn_generation_t){.length = -1}), GNN_EINVALID, ".length = -1");
    ck_fails(refused(&prompts, (gnn_generation_t){.stop = &stop, .n_stop = 1}), GNN_EINVALID,
             "tokenizer");
    ck_fails(refused(&prompts, (gnn_generation_t){.beams = 2, .temperature = 1}), GNN_EINVALID,
             "a beam search (2 beams) reads no .temperature");
    ck_fails(refused(&prompts, (gnn_generation_t){.beams = 2, .samples = 3}), GNN_EINVALID,
             ".samples = 3, expected at most .beams = 2");
    gnn_written_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generate");
    TCase *c = tcase_create("generate");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 600);
    tcase_add_test(c, probabilities_match_the_formula);
    tcase_add_loop_test(c, draws_have_the_probabilities, 0, 3);
    tcase_add_test(c, faults_of_one_token);
    tcase_add_loop_test(c, incremental_decoding_equals_forward_passes, 0, 4);
    tcase_add_test(c, many_texts_equal_single_ones);
    tcase_add_test(c, same_text_on_one_and_four_threads);
    tcase_add_test(c, ends_of_texts);
    tcase_add_test(c, streamed_pieces_concatenate_to_the_text);
    tcase_add_test(c, the_caller_may_stop);
    tcase_add_test(c, invalid_settings_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
