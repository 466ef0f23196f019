/* Beam search against the best of all texts, and against a search without a state. */
#include "writer_small.h"

enum { WORDS = 4, LENGTH = 4, END = 3, PROMPTS = 2 };

static const int64_t prompt_lengths[PROMPTS] = {2, 3};
static const int32_t prompt_ids[5] = {1, 2, 0, 2, 1}, end_id = END;
static const gnn_sequences_t prompts = {
    .count = PROMPTS, .lengths = prompt_lengths, .ids = prompt_ids};
static gnn_context_t *context;
static gnn_model_t *model;
static gnn_writer_t writer;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 8}));
    model = small_writer(context, WORDS);
    writer = (gnn_writer_t){.model = model, .ids = "letters", .positions = "places"};
}

static void tear_down(void)
{
    gnn_model_free(model);
    gnn_context_free(context);
}

/* ---- all texts ---- */

typedef struct {
    int32_t ids[16], best[8];
    int64_t prompt, n;
    double penalty, worth;
} best_t;

/* Tries all ways to go on after n new tokens of log p. */
static void try_all(best_t *b, int64_t n, double log_p)
{
    gnn_real_t row[WORDS];
    double sum = 0;
    small_logits(model, context, b->ids, b->prompt + n, WORDS, row);
    for (int c = 0; c < WORDS; c++)
        sum += exp((double)row[c]);
    for (int32_t c = 0; c < WORDS; c++) {
        const double p = log_p + (double)row[c] - log(sum),
                     worth = p / pow((double)(n + 1), b->penalty);
        b->ids[b->prompt + n] = c;
        if (c != END && n + 1 < LENGTH)
            try_all(b, n + 1, p);
        else if (worth > b->worth) {
            b->worth = worth;
            b->n = n + 1;
            memcpy(b->best, b->ids + b->prompt, (size_t)(n + 1) * sizeof *b->best);
        }
    }
}

/* With as many beams as prefixes, the search is exhaustive. */
START_TEST(wide_beams_find_the_optimum)
{
    static const double penalties[] = {1, 0.5, 2, 0};
    const double penalty = penalties[_i];
    gnn_written_t *w = NULL;
    ck_ok(gnn_generate(
        &writer, context, &prompts,
        &(gnn_generation_t){.length = LENGTH,
                            .beams = 256,
                            .length_penalty = penalty == 0 ? GNN_ZERO : (gnn_real_t)penalty,
                            .end = &end_id,
                            .n_end = 1},
        &w));
    const int32_t *ids = w->ids, *prompt = prompt_ids;
    for (int64_t k = 0; k < PROMPTS; ids += w->lengths[k], prompt += prompt_lengths[k++]) {
        best_t best = {.prompt = prompt_lengths[k], .penalty = penalty, .worth = -INFINITY};
        memcpy(best.ids, prompt, (size_t)prompt_lengths[k] * sizeof *prompt);
        try_all(&best, 0, 0);
        ck_assert_int_eq(w->lengths[k], best.n);
        ck_assert_mem_eq(ids, best.best, (size_t)best.n * sizeof *ids);
        ck_assert_double_eq_tol(w->scores[k], best.worth, 1e-4);
    }
    gnn_written_free(w);
}
END_TEST

/* ---- without a state ---- */

enum { WIDE = 3, LONG = 12 };

typedef struct {
    int32_t ids[8 + LONG];
    double score;
} plain_t;

/* A beam search of texts that never end, as its definition has it; the best text of all. */
static void search_plainly(const int32_t *prompt, int64_t n_prompt, plain_t *best)
{
    plain_t running[WIDE], ways[WIDE * WORDS], moved;
    int64_t n = 1;
    memcpy(running[0].ids, prompt, (size_t)n_prompt * sizeof *prompt);
    running[0].score = 0;
    for (int64_t i = 0; i < LONG; i++) {
        int64_t m = 0;
        for (int64_t k = 0; k < n; k++) {
            gnn_real_t row[WORDS];
            double sum = 0;
            small_logits(model, context, running[k].ids, n_prompt + i, WORDS, row);
            for (int c = 0; c < WORDS; c++)
                sum += exp((double)row[c]);
            for (int32_t c = 0; c < WORDS; c++, m++) {
                ways[m] = running[k];
                ways[m].ids[n_prompt + i] = c;
                ways[m].score += (double)row[c] - log(sum);
            }
        }
        for (int64_t k = 1; k < m; k++)
            for (int64_t j = k; j > 0 && ways[j - 1].score < ways[j].score; j--) {
                moved = ways[j];
                ways[j] = ways[j - 1];
                ways[j - 1] = moved;
            }
        n = gnn__min(m, WIDE);
        memcpy(running, ways, (size_t)n * sizeof *ways);
    }
    *best = running[0];
}

START_TEST(reordered_states_decode_the_same)
{
    gnn_written_t *w = NULL;
    ck_ok(gnn_generate(&writer, context, &prompts,
                       &(gnn_generation_t){.length = LONG, .beams = WIDE}, &w));
    const int32_t *prompt = prompt_ids;
    for (int64_t k = 0; k < PROMPTS; prompt += prompt_lengths[k++]) {
        plain_t best;
        search_plainly(prompt, prompt_lengths[k], &best);
        ck_assert_int_eq(w->ended[k], GNN_ENDED_LENGTH);
        ck_assert_mem_eq(w->ids + k * LONG, best.ids + prompt_lengths[k], LONG * sizeof *prompt);
        ck_assert_double_eq_tol(w->scores[k], best.score / LONG, 1e-4);
    }
    gnn_written_free(w);
}
END_TEST

/* The likeliest token again and again is a beam of width one. */
START_TEST(one_beam_is_greedy)
{
    gnn_written_t *one = NULL, *plain = NULL;
    const gnn_generation_t how = {.length = LONG, .end = &end_id, .n_end = 1};
    gnn_generation_t beam = how;
    beam.beams = 1;
    ck_ok(gnn_generate(&writer, context, &prompts, &how, &plain));
    ck_ok(gnn_generate(&writer, context, &prompts, &beam, &one));
    ck_assert_mem_eq(one->lengths, plain->lengths, PROMPTS * sizeof *one->lengths);
    ck_assert_mem_eq(one->ids, plain->ids,
                     (size_t)(plain->lengths[0] + plain->lengths[1]) * sizeof *one->ids);
    gnn_written_free(one);
    gnn_written_free(plain);
}
END_TEST

/* With one position and four words there are four texts, for any `samples`. */
START_TEST(missing_texts_of_a_beam_search)
{
    gnn_written_t *w = NULL;
    ck_ok(gnn_generate(&writer, context, &prompts,
                       &(gnn_generation_t){.length = 1, .beams = 6, .samples = 6}, &w));
    ck_assert_int_eq(w->count, 6 * PROMPTS);
    for (int64_t k = 0; k < w->count; k++) {
        ck_assert_int_eq(w->ended[k], k % 6 < WORDS ? GNN_ENDED_LENGTH : GNN_ENDED_NOT);
        ck_assert_int_eq(w->lengths[k], k % 6 < WORDS);
        ck_assert(k % 6 == 0 || k % 6 >= WORDS || w->scores[k] <= w->scores[k - 1]);
    }
    gnn_written_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generate_beams");
    TCase *c = tcase_create("generate_beams");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, wide_beams_find_the_optimum, 0, 4);
    tcase_add_test(c, reordered_states_decode_the_same);
    tcase_add_test(c, one_beam_is_greedy);
    tcase_add_test(c, missing_texts_of_a_beam_search);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
