/* Splits: drawn by rule, by shares, in folds. */
#include "support.h"

#include <gnn/build.h>
#include <gnn/data.h>
#include <gnn/split.h>

enum { ROWS = 100 };

static void draw_labels(int32_t labels[ROWS])
{
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % 10 == 9 ? -1 : i % 3 == 0 ? 1 : i < 4 ? 2 : 0;
}

START_TEST(a_split_follows_its_rule)
{
    int32_t labels[ROWS];
    int8_t part[ROWS], again[ROWS];
    int count[3][3] = {{0}};
    draw_labels(labels);
    const gnn_split_rule_t rule = {.train_each = 5, .validation_each = 3, .test = 30, .seed = 4};
    ck_ok(gnn_split_draw(labels, ROWS, &rule, 0, part));
    for (int i = 0; i < ROWS; i++) {
        ck_assert(labels[i] >= 0 || part[i] == -1);
        if (part[i] >= 0)
            count[part[i]][labels[i]]++;
    }
    /* Class 2 has two rows: one for training, one for validation. */
    ck_assert(count[0][0] == 5 && count[0][1] == 5 && count[0][2] == 1);
    ck_assert(count[1][0] == 3 && count[1][1] == 3 && count[1][2] == 1);
    ck_assert_int_eq(count[2][0] + count[2][1] + count[2][2], 30);
    ck_ok(gnn_split_draw(labels, ROWS, &rule, 0, again));
    ck_assert_mem_eq(part, again, sizeof part);
    ck_ok(gnn_split_draw(labels, ROWS, &rule, 1, again));
    ck_assert_mem_ne(part, again, sizeof part);
}
END_TEST

START_TEST(shares_are_of_each_class)
{
    int32_t labels[ROWS];
    int8_t part[ROWS];
    int count[3][2] = {{0}};
    for (int i = 0; i < ROWS; i++)
        labels[i] = i >= 80;
    const gnn_split_rule_t rule = {.train_share = 0.6, .validation_share = 0.2};
    ck_ok(gnn_split_draw(labels, ROWS, &rule, 0, part));
    for (int i = 0; i < ROWS; i++)
        count[part[i]][labels[i]]++;
    ck_assert(count[0][0] == 48 && count[0][1] == 12 && count[1][0] == 16 && count[1][1] == 4 &&
              count[2][0] == 16 && count[2][1] == 4);
    ck_fails(gnn_split_draw(labels, ROWS,
                            &(gnn_split_rule_t){.train_share = 0.7, .validation_share = 0.4}, 0, part),
             GNN_EINVALID, "add up to 1");
    ck_fails(gnn_split_draw(labels, ROWS, &(gnn_split_rule_t){.test = -1}, 0, part), GNN_EINVALID,
             "-1 in all");
    ck_fails(gnn_split_draw(NULL, ROWS, &rule, 0, part), GNN_EINVALID, "labels is NULL");
    ck_fails(gnn_split_draw(labels, ROWS, NULL, 0, part), GNN_EINVALID, "rule is NULL");
}
END_TEST

START_TEST(folds_are_even_in_every_class)
{
    int32_t labels[ROWS], fold[ROWS];
    draw_labels(labels);
    for (int with = 0; with < 2; with++) {
        int sizes[7] = {0}, of_class[7][3] = {{0}};
        ck_ok(gnn_split_folds(with ? labels : NULL, ROWS, 7, 1, fold));
        for (int i = 0; i < ROWS; i++) {
            ck_assert(with && labels[i] < 0 ? fold[i] == -1 : fold[i] >= 0 && fold[i] < 7);
            if (fold[i] >= 0) {
                sizes[fold[i]]++;
                of_class[fold[i]][with ? labels[i] : 0]++;
            }
        }
        for (int a = 0; a < 7; a++)
            for (int b = 0; b < 7; b++) {
                ck_assert(abs(sizes[a] - sizes[b]) <= 1);
                for (int c = 0; c < 3; c++)
                    ck_assert(abs(of_class[a][c] - of_class[b][c]) <= 1);
            }
    }
    ck_fails(gnn_split_folds(labels, ROWS, 1, 1, fold), GNN_EINVALID, "from 2 folds to 100");
    ck_fails(gnn_split_folds(labels, ROWS, 2, 1, NULL), GNN_EINVALID, "fold is NULL");
}
END_TEST

START_TEST(nodes_get_drawn_splits_by_the_files_numbers)
{
    gnn_data_t *data[2];
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_data_karate(&data[k]));
        if (k)
            ck_ok(gnn_data_reorder(data[k]));
        ck_ok(gnn_data_split_draw(data[k], &(gnn_split_rule_t){.splits = 3, .train_each = 4}));
        ck_assert_int_eq(gnn_data_splits(data[k]), 3);
    }
    const int64_t *order = gnn_data_order(data[1]);
    for (int64_t s = 0; s < 3; s++)
        for (int part = 0; part < 3; part++)
            for (int64_t r = 0, n = 0; r < 34; r++) {
                const uint8_t in = gnn_data_mask(data[1], part, s)[r];
                ck_assert_int_eq(in, gnn_data_mask(data[0], part, s)[order ? order[r] : r]);
                n += in;
                if (r == 33)
                    ck_assert_int_eq(n, part == 0 ? 8 : part == 1 ? 0 : 26);
            }
    ck_fails(gnn_data_split_draw(NULL, &(gnn_split_rule_t){0}), GNN_EINVALID, "data is NULL");
    gnn_data_free(data[0]);
    gnn_data_free(data[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("splits");
    TCase *tests = tcase_create("splits");
    tcase_add_test(tests, a_split_follows_its_rule);
    tcase_add_test(tests, shares_are_of_each_class);
    tcase_add_test(tests, folds_are_even_in_every_class);
    tcase_add_test(tests, nodes_get_drawn_splits_by_the_files_numbers);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
