/* Treebanks in CoNLL-U: read, and refused with the line and what was expected. */
#include "bert_small.h"
#include "treebank_text.h"

static const char two[] = "# text = keys\n" ROW("1", "The", "DET", "2")
    ROW("2", "keys", "NOUN", "4") ROW("3", "are", "AUX", "4") ROW("4", "lost", "VERB", "0")
        ROW("5", "\"", "PUNCT",
            "4") "\n"
                 "1-2\tDont\t_\t_\t_\t_\t_\t_\t_\t_\n" ROW("1", "Do", "AUX", "3")
                     ROW("2", "nt", "PART", "3")
                         ROW("3", "go", "VERB", "0") "3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n";

START_TEST(treebanks_are_read)
{
    static const char *const words[] = {"The", "keys", "are", "lost", "\"", "Do", "nt", "go"};
    static const int64_t heads[] = {1, 3, 3, -1, 3, 2, 2, -1};
    gnn_treebank_t *bank;
    ck_ok(read_bank(&bank, two));
    ck_assert_int_eq(bank->count, 2);
    ck_assert_int_eq(bank->rows, 8);
    ck_assert_int_eq(bank->lengths[0], 5);
    ck_assert_int_eq(bank->lengths[1], 3);
    for (int k = 0; k < 8; k++) {
        ck_assert_str_eq(bank->words[k], words[k]);
        ck_assert_int_eq(bank->heads[k], heads[k]);
        ck_assert_int_eq(bank->punctuation[k], k == 4);
    }
    gnn_treebank_free(bank);
    gnn_treebank_free(NULL);
    remove(in_folder("bank.conllu"));
}
END_TEST

START_TEST(treebanks_are_refused)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"# nothing\n\n", "no sentence"},
        {"1\tThe\t_\n", "3 columns, 10"},
        {ROW("1", "", "X", "0"), "column 2 is empty"},
        {ROW("2", "a", "X", "0"), "word 1 of the sentence is expected"},
        {ROW("1", "a", "X", "0") ROW("3", "b", "X", "1"), "word 2 of the sentence is expected"},
        {ROW("1", "a", "X", "0") "\n" ROW("2", "b", "X", "1"), "after a blank line"},
        {ROW("1", "a", "X", "x"), "column 7 is not the id"},
        {ROW("1", "a", "X", "9999999999"), "column 7 is not the id"},
        {ROW("1", "a", "X", "2"), "word 1 has head 2, expected 0 to 1"},
        {ROW("1", "a", "X", "1"), "form a cycle"},
        {ROW("1", "a", "X", "2") ROW("2", "b", "X", "1"), "form a cycle"},
        {ROW("1", "\xff", "X", "0"), "not UTF-8"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gnn_treebank_t *bank = (gnn_treebank_t *)1;
        ck_fails(read_bank(&bank, cases[k].text), GNN_EFORMAT, cases[k].words);
        ck_assert_ptr_null(bank);
    }
    ck_fails(gnn_treebank_read(NULL, "x"), GNN_EINVALID, "treebank is NULL");
    remove(in_folder("bank.conllu"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("treebank");
    TCase *c = tcase_create("treebank");
    tcase_add_checked_fixture(c, make_folder, NULL);
    tcase_add_test(c, treebanks_are_read);
    tcase_add_test(c, treebanks_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
