/* Splits: drawn by rule, by shares, in folds. */
#include "support.h"

#include <gnn/build.h>
#include <gnn/data.h>
#include <gnn/split.h>
#include <lib/data/data.h>

enum { ROWS = 100 };

static void draw_labels(int32_t labels[ROWS])
{
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % 10 == 9 ? -1 : i % 3 == 0 ? 1 : i < 4 ? 2 : 0;
}

/* The only part of row i; -1: none. */
static int part_of(const gnn_split_t *split, int64_t index, int64_t i)
{
    int part = -1;
    for (int p = 0; p < 3; p++)
        if (gnn_split_mask(split, p, index)[i]) {
            ck_assert_int_eq(part, -1);
            part = p;
        }
    return part;
}

/* ---- made of what programs have ---- */

START_TEST(masks_indices_and_parts_are_equivalent)
{
    enum { N = 5 };
    /* Split 0 is a row of each mask; in `columns` it is a column, as PyG's masks of several. */
    const bool train[2 * N] = {1, 0, 0, 1, 0, 0, 1, 0, 0, 0},
                         validation[2 * N] = {0, 1, 0, 0, 0, 1};
    const uint8_t test[2 * N] = {0, 0, 255, 0, 0, 0, 0, 7};
    const bool columns[N * 2] = {1, 0, 0, 1, 0, 0, 1, 0, 0, 0};
    const int8_t parts[2 * N] = {0, 1, 2, 0, -1, 1, 0, 2, -1, -1};
    gnn_split_t *made[4];
    ck_ok(gnn_split_from_masks(&made[0], N, 2, train, validation, test));
    ck_ok(gnn_split_from_parts(&made[1], N, 2, parts));
    ck_ok(gnn_split_new(&made[2], N, 2));
    ck_ok(gnn_split_set_mask(made[2], GNN_TRAIN, 0, columns, 2));
    ck_ok(gnn_split_set_mask(made[2], GNN_TRAIN, 1, columns + 1, 2));
    ck_ok(gnn_split_set_indices(made[2], GNN_VALIDATION, 0, 1, (int64_t[]){1}));
    ck_ok(gnn_split_set_indices(made[2], GNN_VALIDATION, 1, 3, (int32_t[]){4, 3, 2}));
    ck_ok(gnn_split_set_indices(made[2], GNN_VALIDATION, 1, 1, (int32_t[]){0})); /* anew */
    for (int s = 0; s < 2; s++)
        ck_ok(gnn_split_set_mask(made[2], GNN_TEST, s, test + s * N, 1));
    ck_ok(gnn__split_copy(&made[3], made[2]));
    for (int k = 0; k < 4; k++) {
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < N; i++)
                ck_assert_int_eq(part_of(made[k], s, i), parts[s * N + i]);
        ck_assert_ptr_null(gnn_split_mask(made[k], GNN_TEST, 2));
        ck_assert_ptr_null(gnn_split_mask(made[k], 3, 0));
        gnn_split_free(made[k]);
    }
}
END_TEST

START_TEST(invalid_rows_are_refused_with_their_index)
{
    gnn_split_t *split;
    ck_ok(gnn_split_new(&split, 3, 2));
    ck_ok(gnn_split_set_indices(split, GNN_TEST, 1, 1, (int64_t[]){2}));
    ck_fails(gnn_split_set_indices(split, GNN_TEST, 1, 2, (int64_t[]){0, 4294967296}), GNN_EINVALID,
             "rows[1] = 4294967296 of the test, expected 0 to 2");
    ck_fails(gnn_split_set_indices(split, GNN_TEST, 1, 1, (int32_t[]){-1}), GNN_EINVALID, "-1");
    ck_assert_mem_eq(gnn_split_mask(split, GNN_TEST, 1), ((uint8_t[]){0, 0, 1}), 3);
    ck_fails(gnn_split_set_indices(split, 3, 1, 0, NULL), GNN_EINVALID,
             "part = 3, expected GNN_TRAIN (0)");
    ck_fails(gnn_split_set_mask(split, GNN_TRAIN, 2, NULL, 1), GNN_EINVALID, "no split 2 of 2");
    ck_fails(gnn_split_set_mask(split, GNN_TRAIN, 0, (uint8_t *)"abc", 0), GNN_EINVALID, "stride");
    gnn_split_free(split);
    ck_fails(gnn_split_from_parts(&split, 2, 2, ((int8_t[]){0, 1, 2, 3})), GNN_EINVALID,
             "row 1 of split 1 is in part 3");
    ck_assert_ptr_null(split);
    ck_fails(gnn_split_new(&split, 2, 0), GNN_EINVALID, "count = 0 splits, expected at least 1");
    ck_fails(gnn_split_new(&split, INT64_MAX, 2), GNN_EOVERFLOW, "do not fit");
}
END_TEST

/* ---- drawn ---- */

START_TEST(a_split_follows_its_rule)
{
    int32_t labels[ROWS];
    gnn_split_t *split, *again;
    int count[3][3] = {{0}};
    draw_labels(labels);
    const gnn_split_rule_t rule = {
        .splits = 2, .train_each = 5, .validation_each = 3, .test = 30, .seed = 4};
    ck_ok(gnn_split_draw(&split, labels, ROWS, &rule));
    ck_assert(gnn_split_rows(split) == ROWS && gnn_split_mask(split, GNN_TRAIN, 1) &&
              !gnn_split_mask(split, GNN_TRAIN, 2));
    for (int i = 0; i < ROWS; i++) {
        const int part = part_of(split, 0, i);
        ck_assert(labels[i] >= 0 || part == -1);
        if (part >= 0)
            count[part][labels[i]]++;
    }
    /* Class 2 has two rows: one for training, one for validation. */
    ck_assert(count[0][0] == 5 && count[0][1] == 5 && count[0][2] == 1);
    ck_assert(count[1][0] == 3 && count[1][1] == 3 && count[1][2] == 1);
    ck_assert_int_eq(count[2][0] + count[2][1] + count[2][2], 30);
    int64_t wide[ROWS];
    for (int i = 0; i < ROWS; i++)
        wide[i] = labels[i];
    ck_ok(gnn_split_draw(&again, wide, ROWS, &rule));
    for (int p = 0; p < 3; p++)
        for (int s = 0; s < 2; s++)
            ck_assert_mem_eq(gnn_split_mask(split, p, s), gnn_split_mask(again, p, s), ROWS);
    ck_assert_mem_ne(gnn_split_mask(split, GNN_TRAIN, 0), gnn_split_mask(split, GNN_TRAIN, 1), ROWS);
    gnn_split_free(split);
    gnn_split_free(again);
}
END_TEST

START_TEST(fractions_are_per_class)
{
    int32_t labels[ROWS];
    gnn_split_t *split;
    int count[3][2] = {{0}};
    for (int i = 0; i < ROWS; i++)
        labels[i] = i >= 80;
    const gnn_split_rule_t rule = {.train_share = 0.6, .validation_share = 0.2};
    ck_ok(gnn_split_draw(&split, labels, ROWS, &rule));
    for (int i = 0; i < ROWS; i++)
        count[part_of(split, 0, i)][labels[i]]++;
    gnn_split_free(split);
    ck_assert(count[0][0] == 48 && count[0][1] == 12 && count[1][0] == 16 && count[1][1] == 4 &&
              count[2][0] == 16 && count[2][1] == 4);
    ck_fails(gnn_split_draw(&split, labels, ROWS,
                            &(gnn_split_rule_t){.train_share = 0.7, .validation_share = 0.4}),
             GNN_EINVALID, "a sum of at most 1");
    ck_fails(gnn_split_draw(&split, labels, ROWS, &(gnn_split_rule_t){.test = -1}), GNN_EINVALID,
             ".test = -1, expected at least 0");
    ck_fails(gnn_split_draw(&split, NULL, ROWS, &rule), GNN_EINVALID, "labels is NULL");
    ck_fails(gnn_split_draw(&split, labels, ROWS, NULL), GNN_EINVALID, "rule is NULL");
}
END_TEST

START_TEST(folds_are_even_in_every_class)
{
    int32_t labels[ROWS];
    gnn_split_t *split;
    draw_labels(labels);
    for (int with = 0; with < 2; with++) {
        int sizes[7] = {0}, of_class[7][3] = {{0}};
        ck_ok(gnn_split_folds(&split, with ? labels : NULL, ROWS, 7, 1));
        ck_assert_ptr_null(gnn_split_mask(split, GNN_TEST, 7));
        for (int i = 0; i < ROWS; i++) {
            int tests = 0;
            for (int f = 0; f < 7; f++) {
                const int part = part_of(split, f, i), before = part_of(split, (f + 6) % 7, i);
                ck_assert((with && labels[i] < 0) == (part == -1));
                if (part != GNN_TEST)
                    continue;
                tests++;
                sizes[f]++;
                of_class[f][with ? labels[i] : 0]++;
                ck_assert_int_eq(before, GNN_VALIDATION); /* of the split before */
            }
            ck_assert_int_eq(tests, !(with && labels[i] < 0));
        }
        gnn_split_free(split);
        for (int a = 0; a < 7; a++)
            for (int b = 0; b < 7; b++) {
                ck_assert(abs(sizes[a] - sizes[b]) <= 1);
                for (int c = 0; c < 3; c++)
                    ck_assert(abs(of_class[a][c] - of_class[b][c]) <= 1);
            }
    }
    ck_fails(gnn_split_folds(&split, labels, ROWS, 1, 1), GNN_EINVALID, "expected 2 to 100");
    ck_fails(gnn_split_folds(NULL, labels, ROWS, 2, 1), GNN_EINVALID, "split is NULL");
}
END_TEST

START_TEST(a_set_accepts_splits_of_its_nodes)
{
    const int64_t labels[] = {0, 1, -100, 1}; /* PyTorch's ignore_index */
    gnn_split_t *split, *fewer;
    gnn_data_t *data;
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = 4, .labels = gnn_ints(labels)}));
    ck_ok(gnn_split_new(&split, 4, 1));
    ck_ok(gnn_split_new(&fewer, 3, 1));
    ck_ok(gnn_split_set_indices(split, GNN_TRAIN, 0, 2, (int32_t[]){3, 0}));
    ck_ok(gnn_data_split_set(data, split));
    ck_assert_mem_eq(gnn_data_mask(data, GNN_TRAIN, 0), ((uint8_t[]){1, 0, 0, 1}), 4);
    ck_assert_int_eq(gnn_split_rows(gnn_data_split(data)), 4);
    ck_ok(gnn_split_set_indices(split, GNN_TEST, 0, 1, (int32_t[]){2}));
    ck_fails(gnn_data_split_set(data, split), GNN_EINVALID,
             "split 0 has node 2, whose label is -1, in its test part");
    ck_fails(gnn_data_split_set(data, fewer), GNN_ESHAPE, "a split of 3 rows for 4 nodes");
    ck_assert_ptr_nonnull(gnn_data_mask(data, GNN_TRAIN, 0));
    gnn_split_free(split);
    gnn_split_free(fewer);
    gnn_data_free(data);
}
END_TEST

START_TEST(drawn_splits_depend_on_file_ids)
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
    tcase_add_test(tests, masks_indices_and_parts_are_equivalent);
    tcase_add_test(tests, invalid_rows_are_refused_with_their_index);
    tcase_add_test(tests, a_set_accepts_splits_of_its_nodes);
    tcase_add_test(tests, a_split_follows_its_rule);
    tcase_add_test(tests, fractions_are_per_class);
    tcase_add_test(tests, folds_are_even_in_every_class);
    tcase_add_test(tests, drawn_splits_depend_on_file_ids);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
