/* BLEU against figures of sacreBLEU 2 (corpus_score of BLEU() and BLEU(lowercase=True)), lines of
 * files, and a tokenizer learned in lower case. */
#include "support.h"

#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

static const char *const translations[] = {
    "The cat sat on the mat, and it slept.",
    "A dog runs through the snow - quickly!",
    "He paid $3,000.50 for \"it\" in 2016-17.",
    "Zwei Männer spielen Fußball...",
    "It's 5 o'clock; the tea-time of A.B. Smith (Ltd.) &amp; Co.",
    "",
    "&lt;b&gt; &quot;x&quot; &amp;lt; y,z .5 1.5, 7-up",
    "one",
    "THE SAME LINE IS HERE TWICE TWICE TWICE",
    "words\u00a0apart\u3000by other blanks"};
static const char *const references[] = {"The cat sat upon the mat, and it was asleep.",
                                         "A brown dog is running through the snow - quickly!",
                                         "He paid $3,000.50 for it in 2016-17.",
                                         "Zwei Männer spielen Fußball…",
                                         "It is 5 o'clock; tea-time of A.B. Smith (Ltd.) & Co.",
                                         "nothing to say",
                                         "<b> \"x\" &lt; y, z .5 1.5 , 7-up",
                                         "one two",
                                         "the same line is here twice",
                                         "words apart by other blanks"};
enum { LINES = 10 };

static void ck_bleu(const gnn_bleu_t *b, double score, double brevity, int64_t length,
                    int64_t reference_length)
{
    ck_assert_msg(fabs(b->score - score) < 1e-9, "BLEU is %.12g, not %.12g", b->score, score);
    ck_assert_double_eq_tol(b->brevity, brevity, 1e-12);
    ck_assert_int_eq(b->length, length);
    ck_assert_int_eq(b->reference_length, reference_length);
}

START_TEST(corpus_bleu_matches_sacrebleu)
{
    static const int64_t hits[2][4] = {{71, 56, 46, 36}, {77, 61, 50, 39}};
    static const int64_t totals[4] = {90, 81, 73, 65};
    gnn_bleu_t b;
    for (int lower = 0; lower < 2; lower++) {
        ck_ok(gnn_bleu(&b, LINES, translations, references, lower ? GNN_ON : GNN_OFF));
        ck_bleu(&b, lower ? 71.73363796773488 : 66.05196479799778, 1, 90, 90);
        for (int n = 0; n < 4; n++) {
            ck_assert_int_eq(b.hits[n], hits[lower][n]);
            ck_assert_int_eq(b.totals[n], totals[n]);
            ck_assert_double_eq_tol(b.precisions[n],
                                    100 * (double)hits[lower][n] / (double)totals[n], 1e-12);
        }
    }
}
END_TEST

START_TEST(sentence_bleu_matches_sacrebleu)
{
    static const struct {
        double score, brevity;
        int64_t length, reference_length;
    } expected[LINES] = {{44.12739850976206, 0.9131007162822624, 11, 12},
                         {50.54229726989799, 0.800737402916808, 9, 11},
                         {59.230330720232516, 1, 13, 11},
                         {24.446151121745054, 1, 7, 4},
                         {79.12619863720215, 1, 19, 19},
                         {0, 0, 0, 3},
                         {100, 1, 17, 17},
                         {0, 0.36787944117144233, 1, 2},
                         {0, 1, 8, 6},
                         {100, 1, 5, 5}};
    gnn_bleu_t b;
    for (int k = 0; k < LINES; k++) {
        ck_ok(gnn_bleu(&b, 1, translations + k, references + k, GNN_OFF));
        ck_bleu(&b, expected[k].score, expected[k].brevity, expected[k].length,
                expected[k].reference_length);
    }
}
END_TEST

START_TEST(precisions_without_a_hit_are_smoothed)
{
    gnn_bleu_t b;
    ck_ok(gnn_bleu(&b, 1, (const char *[]){"a b c x d e"}, (const char *[]){"a b y c d e"}, 0));
    ck_bleu(&b, 24.274588585366175, 1, 6, 6);
    ck_assert_double_eq_tol(b.precisions[2], 12.5, 1e-12);
    ck_assert_double_eq_tol(b.precisions[3], 8.333333333333334, 1e-12);
    ck_ok(gnn_bleu(&b, 1, (const char *[]){"a q w e r t"}, (const char *[]){"a b y c d m"}, 0));
    ck_bleu(&b, 8.116697886877475, 1, 6, 6);
    ck_ok(gnn_bleu(&b, 1, (const char *[]){"x y z"}, (const char *[]){"a b c"}, 0));
    ck_bleu(&b, 0, 1, 3, 3);
}
END_TEST

START_TEST(lower_case_beyond_ascii)
{
    gnn_bleu_t b;
    ck_ok(gnn_bleu(&b, 1, (const char *[]){"ÄPFEL ÜBER ÉCOLE İstanbul a b c"},
                   (const char *[]){"äpfel über école i̇stanbul a b c"}, GNN_ON));
    ck_bleu(&b, 100, 1, 7, 7);
}
END_TEST

START_TEST(invalid_utf8_and_faults)
{
    gnn_bleu_t b;
    ck_ok(gnn_bleu(&b, 1, (const char *[]){"\xff\xc3 a b \xe2\x82"},
                   (const char *[]){"\xff\xc3 a b \xe2\x82"}, GNN_ON));
    ck_bleu(&b, 100, 1, 4, 4);
    ck_ok(gnn_bleu(&b, 0, NULL, NULL, GNN_OFF));
    ck_bleu(&b, 0, 1, 0, 0);
    ck_fails(gnn_bleu(NULL, 0, NULL, NULL, GNN_OFF), GNN_EINVALID, "bleu is NULL");
    ck_fails(gnn_bleu(&b, -1, NULL, NULL, GNN_OFF), GNN_EINVALID, "count = -1");
    ck_fails(gnn_bleu(&b, 1, NULL, references, GNN_OFF), GNN_EINVALID, "NULL");
    ck_fails(gnn_bleu(&b, 2, (const char *[]){"a", NULL}, references, GNN_OFF), GNN_EINVALID,
             "line 1 is NULL");
}
END_TEST

/* ---- lines ---- */

static char path[64];

static void set_up(void)
{
    snprintf(path, sizeof path, "/tmp/gnn-lines-%ld", (long)getpid());
}

static void tear_down(void)
{
    remove(path);
}

static void put(const char *text, size_t n, bool packed)
{
    if (packed) {
        gzFile file = gzopen(path, "wb");
        ck_assert_int_eq(gzwrite(file, text, (unsigned)n), (int)n);
        gzclose(file);
        return;
    }
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text, 1, n, file), n);
    fclose(file);
}

START_TEST(blank_lines_are_lines)
{
    static const char text[] = "\xef\xbb\xbf"
                               "eins\n\nzwei\r\n\n drei ";
    static const char *const expected[] = {"eins", "", "zwei", "", " drei "};
    gnn_text_lines_t *lines;
    put(text, sizeof text - 1, _i == 1);
    ck_ok(gnn_text_lines_read(&lines, path));
    ck_assert_int_eq(lines->count, 5);
    for (int k = 0; k < 5; k++) {
        ck_assert_str_eq(lines->at[k], expected[k]);
        ck_assert_int_eq(lines->bytes[k], (int64_t)strlen(expected[k]));
    }
    gnn_text_lines_free(lines);
}
END_TEST

START_TEST(faults_of_lines)
{
    gnn_text_lines_t *lines;
    put("", 0, false);
    ck_fails(gnn_text_lines_read(&lines, path), GNN_EFORMAT, "is empty");
    put("a\nb\xff\n", 5, false);
    ck_fails(gnn_text_lines_read(&lines, path), GNN_EFORMAT, "line 2 is not UTF-8");
    ck_assert_ptr_null(lines);
    put("a\0b\n", 4, false);
    ck_fails(gnn_text_lines_read(&lines, path), GNN_EFORMAT, "zero byte");
    ck_fails(gnn_text_lines_read(&lines, "/there/is/no/such/file"), GNN_EIO,
             "/there/is/no/such/file");
    ck_fails(gnn_text_lines_read(NULL, path), GNN_EINVALID, "lines is NULL");
    ck_fails(gnn_text_lines_read(&lines, NULL), GNN_EINVALID, "path is NULL");
    gnn_text_lines_free(NULL);
    ck_ok(gnn_text_lines_new(&lines, "pipe",
                             "\xef\xbb\xbf"
                             "a\r\n\nb",
                             8));
    ck_assert_int_eq(lines->count, 3);
    ck_assert_str_eq(lines->at[0], "a");
    ck_assert(lines->bytes[1] == 0 && strcmp(lines->at[2], "b") == 0);
    gnn_text_lines_free(lines);
    ck_fails(gnn_text_lines_new(&lines, "pipe", "", 0), GNN_EFORMAT, "pipe: is empty");
    ck_fails(gnn_text_lines_new(&lines, "pipe", "a\nb\0c", 5), GNN_EFORMAT,
             "pipe: line 2: a zero byte");
    ck_fails(gnn_text_lines_new(&lines, "pipe", "a\n\xe9", 3), GNN_EFORMAT,
             "pipe: line 2 is not UTF-8");
    ck_fails(gnn_text_lines_new(&lines, "pipe",
                                "\xff\xfe"
                                "a",
                                3),
             GNN_EFORMAT, "pipe: is in UTF-16");
    ck_fails(gnn_text_lines_new(&lines, "pipe", "a", -1), GNN_EINVALID, "bytes = -1");
    ck_fails(gnn_text_lines_new(NULL, "pipe", "a", 1), GNN_EINVALID, "lines is NULL");
    ck_fails(gnn_text_lines_new(&lines, NULL, "a", 1), GNN_EINVALID, "name is NULL");
    ck_fails(gnn_text_lines_new(&lines, "pipe", NULL, 1), GNN_EINVALID, "text is NULL");
}
END_TEST

/* ---- lower case ---- */

START_TEST(a_tokenizer_learns_in_lower_case)
{
    static const char *const texts[] = {"Äpfel ÄPFEL äpfel", "ÄPFEL und Birnen"};
    gnn_tokenizer_t *t[2];
    gnn_tokens_t *upper, *lower;
    ck_ok(gnn_tokenizer_learn(&t[0], &(gnn_texts_t){2, texts, NULL},
                              &(gnn_learning_t){.size = 300, .lower = GNN_ON}));
    ck_ok(gnn_tokenizer_save(t[0], path));
    ck_ok(gnn_tokenizer_open(&t[1], path));
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_tokenizer_encode(t[k], &(gnn_texts_t){1, (const char *[]){" ÄPFEL"}, NULL}, NULL,
                                   NULL, &upper));
        ck_ok(gnn_tokenizer_encode(t[k], &(gnn_texts_t){1, (const char *[]){" äpfel"}, NULL}, NULL,
                                   NULL, &lower));
        ck_assert_int_eq(upper->rows, 1);
        ck_assert_int_eq(lower->rows, 1);
        ck_assert_int_eq(upper->ids[0], lower->ids[0]);
        gnn_tokens_free(upper);
        gnn_tokens_free(lower);
        gnn_tokenizer_free(t[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bleu");
    TCase *scores = tcase_create("scores"), *files = tcase_create("lines");
    tcase_add_test(scores, corpus_bleu_matches_sacrebleu);
    tcase_add_test(scores, sentence_bleu_matches_sacrebleu);
    tcase_add_test(scores, precisions_without_a_hit_are_smoothed);
    tcase_add_test(scores, lower_case_beyond_ascii);
    tcase_add_test(scores, invalid_utf8_and_faults);
    tcase_add_checked_fixture(files, set_up, tear_down);
    tcase_add_loop_test(files, blank_lines_are_lines, 0, 2);
    tcase_add_test(files, faults_of_lines);
    tcase_add_test(files, a_tokenizer_learns_in_lower_case);
    suite_add_tcase(suite, scores);
    suite_add_tcase(suite, files);
    return test_main(suite);
}
