/* Results of heads are those of the pipelines of transformers: tests/transformers/heads.py writes
 * the table. */
#include "published.h"

#include <gnn/heads.h>

enum { MOST_TEXTS = 16 };
static const double bound = 2e-5; /* the package computes in float32 */

typedef struct {
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_texts_t texts;
    const char *at[MOST_TEXTS];
    json_t *line;
    const json_t *inputs, *results;
} published_t;

static const char *text_of(const json_t *list, int64_t k)
{
    return json_string_value(json_array_get(list, (size_t)k));
}

/* Element `column` of result `row`. */
static double number_at(const published_t *t, int64_t row, int64_t column)
{
    return json_number_value(json_array_get(json_array_get(t->results, (size_t)row), (size_t)column));
}

/* Opens the folder of the table whose head is `head`. */
static void open_published(published_t *t, const char *head)
{
    gnn_text_lines_t *lines;
    memset(t, 0, sizeof *t);
    ck_ok(gnn_text_lines_read(&lines, GNN_SOURCE_ROOT "/tests/golden/heads.jsonl.gz"));
    for (int64_t k = 0; k < lines->count && !t->line; k++) {
        json_t *line;
        ck_ok(gnn__json_parse(&line, lines->at[k], (int64_t)strlen(lines->at[k]),
                              GNN__JSON_UNIQUE | GNN__JSON_WIDE, JSON_LEVELS));
        if (strcmp(text_of(line, 1), head) == 0)
            t->line = json_incref(line);
        json_decref(line);
    }
    ck_assert_msg(t->line != NULL, "the table has no folder with a head %s", head);
    gnn_text_lines_free(lines);
    clear_folder(test_folder);
    write_published(json_array_get(t->line, 2), json_array_get(t->line, 3));
    t->inputs = json_array_get(t->line, 4);
    t->results = json_array_get(t->line, 5);
    const json_t *texts = json_object_get(t->inputs, "texts");
    t->texts = (gnn_texts_t){(int64_t)json_array_size(texts), t->at, NULL};
    for (int64_t k = 0; k < t->texts.count; k++)
        t->at[k] = text_of(texts, k);
    ck_ok(gnn_context_new(&t->context, NULL));
    ck_ok(gnn_pretrained_open(&t->p, t->context, test_folder));
    ck_assert_str_eq(gnn_pretrained_head(t->p), head);
}

static void close_published(published_t *t)
{
    clear_folder(test_folder);
    gnn_pretrained_free(t->p);
    gnn_context_free(t->context);
    json_decref(t->line);
}

START_TEST(tags_match_the_pipeline)
{
    published_t t;
    gnn_tags_t *tags;
    open_published(&t, "ForTokenClassification");
    ck_ok(gnn_pretrained_tags(t.p, t.context, &t.texts, &tags));
    ck_assert_int_eq(tags->count, (int64_t)json_array_size(t.results));
    ck_assert_int_gt(tags->count, 3);
    for (int64_t k = 0; k < tags->count; k++) {
        const gnn_tag_t *tag = &tags->at[k];
        ck_assert_int_eq(tag->text, (int64_t)number_at(&t, k, 0));
        ck_assert_int_eq(tag->begin, (int64_t)number_at(&t, k, 1));
        ck_assert_int_eq(tag->end, (int64_t)number_at(&t, k, 2));
        ck_assert_str_eq(tag->label, text_of(json_array_get(t.results, (size_t)k), 3));
        ck_assert_double_eq_tol(tag->score, number_at(&t, k, 4), bound);
    }
    gnn_tags_free(tags);
    close_published(&t);
}
END_TEST

START_TEST(masked_tokens_match_the_pipeline)
{
    published_t t;
    gnn_fills_t *fills;
    const char *plain = "the film";
    open_published(&t, "ForMaskedLM");
    ck_ok(gnn_pretrained_fill(t.p, t.context, &t.texts, 3, &fills));
    ck_assert_int_eq(fills->count, (int64_t)json_array_size(t.results));
    for (int64_t k = 0; k < fills->count; k++) {
        ck_assert_int_eq(fills->at[k].text, (int64_t)number_at(&t, k, 0));
        ck_assert_int_eq(fills->at[k].mask, (int64_t)number_at(&t, k, 1));
        ck_assert_int_eq(fills->at[k].id, (int64_t)number_at(&t, k, 2));
        ck_assert_double_eq_tol(fills->at[k].score, number_at(&t, k, 3), bound);
    }
    gnn_fills_free(fills);
    ck_fails(gnn_pretrained_fill(t.p, t.context, &(gnn_texts_t){1, &plain, NULL}, 3, &fills),
             GNN_EINVALID, "text 0 has no mask token");
    ck_assert_ptr_null(fills);
    ck_fails(gnn_pretrained_fill(t.p, t.context, &t.texts, 0, &fills), GNN_EINVALID, "top = 0");
    close_published(&t);
}
END_TEST

START_TEST(answers_match_the_pipeline)
{
    published_t t;
    gnn_answers_t *answers;
    const char *questions[MOST_TEXTS];
    open_published(&t, "ForQuestionAnswering");
    for (int64_t k = 0; k < t.texts.count; k++)
        questions[k] = json_string_value(json_object_get(t.inputs, "question"));
    ck_ok(gnn_pretrained_answer(t.p, t.context, &(gnn_texts_t){t.texts.count, questions, NULL},
                                &t.texts, 3, 4, &answers));
    ck_assert_int_eq(answers->count, (int64_t)json_array_size(t.results));
    for (int64_t k = 0; k < answers->count; k++) {
        ck_assert_int_eq(answers->at[k].pair, (int64_t)number_at(&t, k, 0));
        ck_assert_int_eq(answers->at[k].begin, (int64_t)number_at(&t, k, 1));
        ck_assert_int_eq(answers->at[k].end, (int64_t)number_at(&t, k, 2));
        ck_assert_double_eq_tol(answers->at[k].score, number_at(&t, k, 3), bound);
    }
    gnn_answers_free(answers);
    ck_fails(gnn_pretrained_answer(t.p, t.context, &t.texts, &t.texts, 0, 0, &answers),
             GNN_EINVALID, "top = 0");
    close_published(&t);
}
END_TEST

START_TEST(zero_shot_matches_the_pipeline)
{
    published_t t;
    gnn_real_t numbers[MOST_TEXTS * MOST_TEXTS];
    const char *classes[MOST_TEXTS];
    open_published(&t, "ForSequenceClassification");
    const json_t *names = json_object_get(t.inputs, "classes");
    const int64_t n = (int64_t)json_array_size(names);
    for (int64_t k = 0; k < n; k++)
        classes[k] = text_of(names, k);
    const gnn_texts_t given = {n, classes, NULL};
    const gnn_tensor_t out = gnn_tensor(numbers, t.texts.count, n);
    const char *hypothesis = json_string_value(json_object_get(t.inputs, "hypothesis"));
    for (int64_t several = 0; several < 2; several++) {
        ck_ok(gnn_pretrained_zero_shot(
            t.p, t.context, &t.texts, &given,
            &(gnn_zero_shot_config_t){.hypothesis = hypothesis,
                                      .independent = several ? GNN_ON : GNN_OFF},
            &out));
        for (int64_t k = 0; k < t.texts.count; k++)
            for (int64_t c = 0; c < n; c++)
                ck_assert_double_eq_tol((double)numbers[k * n + c],
                                        number_at(&t, several * t.texts.count + k, c), bound);
    }
    ck_fails(gnn_pretrained_zero_shot(t.p, t.context, &t.texts, &given,
                                      &(gnn_zero_shot_config_t){.hypothesis = "nothing"}, &out),
             GNN_EINVALID, "has no {}");
    close_published(&t);
}
END_TEST

/* Tasks without a head in the folder are refused, naming the config's head. */
START_TEST(other_heads_are_refused)
{
    published_t t;
    gnn_tags_t *tags;
    gnn_fills_t *fills;
    gnn_answers_t *answers;
    open_published(&t, "ForSequenceClassification");
    ck_fails(gnn_pretrained_tags(t.p, t.context, &t.texts, &tags), GNN_EUNSUPPORTED,
             "ForTokenClassification");
    ck_fails(gnn_pretrained_fill(t.p, t.context, &t.texts, 1, &fills), GNN_EUNSUPPORTED,
             "ForMaskedLM");
    ck_fails(gnn_pretrained_answer(t.p, t.context, &t.texts, &t.texts, 1, 0, &answers),
             GNN_EUNSUPPORTED, "ForQuestionAnswering");
    ck_assert_ptr_null(tags);
    ck_assert_ptr_null(answers);
    gnn_tags_free(NULL);
    gnn_fills_free(NULL);
    gnn_answers_free(NULL);
    close_published(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("head_results");
    TCase *heads = tcase_create("heads");
    tcase_add_unchecked_fixture(heads, make_folder, remove_folder);
    tcase_add_test(heads, tags_match_the_pipeline);
    tcase_add_test(heads, masked_tokens_match_the_pipeline);
    tcase_add_test(heads, answers_match_the_pipeline);
    tcase_add_test(heads, zero_shot_matches_the_pipeline);
    tcase_add_test(heads, other_heads_are_refused);
    tcase_set_timeout(heads, 300);
    suite_add_tcase(suite, heads);
    return test_main(suite);
}
