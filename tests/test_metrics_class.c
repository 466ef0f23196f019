/* Precision, recall and F1 of each class against hand counts, and against the macro mean. */
#include "support.h"

enum { ROWS = 8, CLASSES = 4 };

/* Taken for:                               0  1  1  0  2  -  2  0 */
static const int32_t labels[ROWS] = {0, 0, 1, 0, 2, 2, -1, 1};
static const int taken[ROWS] = {0, 1, 1, 0, 2, -1, 2, 0};

static void fill(gnn_real_t logits[ROWS * CLASSES])
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CLASSES; c++)
            logits[r * CLASSES + c] = taken[r] < 0    ? (gnn_real_t)NAN
                                      : c == taken[r] ? 2
                                                      : (gnn_real_t)(-c);
}

START_TEST(class_metrics_match_hand_counts)
{
    gnn_real_t logits[ROWS * CLASSES], cells[CLASSES * CLASSES];
    fill(logits);
    gnn_tensor_t t = gnn_tensor(logits, ROWS, CLASSES),
                 confusion = gnn_tensor(cells, CLASSES, CLASSES);
    gnn_class_metrics_t m[CLASSES];
    memset(cells, 1, sizeof cells);
    ck_ok(gnn_metric_per_class(&t, labels, NULL, m, &confusion));
    const double expected[3][3] = {{2.0 / 3, 2.0 / 3, 2.0 / 3}, {0.5, 0.5, 0.5}, {1, 0.5, 2.0 / 3}};
    const gnn_real_t counts[CLASSES * CLASSES] = {2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    const int64_t support[] = {3, 2, 2, 0};
    for (int c = 0; c < CLASSES; c++)
        ck_assert_int_eq(m[c].support, support[c]);
    for (int c = 0; c < 3; c++)
        ck_assert(fabs(m[c].precision - expected[c][0]) < 1e-12 &&
                  fabs(m[c].recall - expected[c][1]) < 1e-12 &&
                  fabs(m[c].f1 - expected[c][2]) < 1e-12);
    ck_assert(isnan(m[3].f1) && isnan(m[3].precision) && isnan(m[3].recall));
    ck_assert(memcmp(cells, counts, sizeof cells) == 0);
    ck_assert(fabs((m[0].f1 + m[1].f1 + m[2].f1) / 3 -
                   gnn_metric(GNN_METRIC_MACRO_F1, &t, labels, NULL)) < 1e-12);
}
END_TEST

START_TEST(masked_rows_are_excluded_and_one_column_is_two_classes)
{
    const uint8_t mask[ROWS] = {0, 1, 0, 0, 0, 0, 1, 1};
    gnn_real_t logits[ROWS * CLASSES], column[3] = {1, -1, 1};
    const int32_t two[3] = {1, 0, 0};
    fill(logits);
    gnn_tensor_t t = gnn_tensor(logits, ROWS, CLASSES), one = gnn_tensor(column, 3, 1);
    gnn_class_metrics_t m[CLASSES];
    ck_ok(gnn_metric_per_class(&t, labels, mask, m, NULL));
    ck_assert_int_eq(m[0].support, 1);
    ck_assert_int_eq(m[0].hits, 0);
    ck_assert(m[0].precision == 0 && m[0].recall == 0 && m[0].f1 == 0);
    ck_assert(isnan(m[2].f1));
    ck_ok(gnn_metric_per_class(&one, two, NULL, m, NULL));
    ck_assert(m[1].precision == 0.5 && m[1].recall == 1 && m[0].precision == 1 && m[0].recall == 0.5);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    gnn_real_t logits[ROWS * CLASSES] = {0}, cells[9];
    const int32_t beyond[ROWS] = {0, 4};
    gnn_tensor_t t = gnn_tensor(logits, ROWS, CLASSES), small = gnn_tensor(cells, 3, 3);
    gnn_class_metrics_t m[CLASSES];
    ck_fails(gnn_metric_per_class(NULL, labels, NULL, m, NULL), GNN_EINVALID, "logits is NULL");
    ck_fails(gnn_metric_per_class(&t, NULL, NULL, m, NULL), GNN_EINVALID, "labels is NULL");
    ck_fails(gnn_metric_per_class(&t, beyond, NULL, m, NULL), GNN_EINVALID, "label 4 in row 1");
    ck_fails(gnn_metric_per_class(&t, labels, NULL, m, &small), GNN_ESHAPE, "3 x 3");
    gnn__fail_allocation(1);
    ck_fails(gnn_metric_per_class(&t, labels, NULL, m, NULL), GNN_EMEMORY, "memory");
    gnn__fail_allocation(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics_class");
    TCase *tests = tcase_create("metrics_class");
    tcase_add_test(tests, class_metrics_match_hand_counts);
    tcase_add_test(tests, masked_rows_are_excluded_and_one_column_is_two_classes);
    tcase_add_test(tests, wrong_arguments_are_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
