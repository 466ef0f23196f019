/* Splits of a .npz: indices of nodes, masks by their other names, what is refused or described. */
#include "readers.h"

#include <gnn/data.h>
#include <gnn/graph.h>

enum { NODES = 6, LINKS = 5 };

/* Six nodes of two classes with these further arrays. */
static const char *write_set(int count, const gnn_array_t *more)
{
    static const float x[NODES] = {1, 2, 3, 4, 5, 6};
    static const int32_t labels[NODES] = {0, 1, 0, 1, 0, 1};
    static const int64_t links[2 * LINKS] = {0, 1, 2, 3, 4, 1, 2, 3, 4, 5};
    gnn_array_t arrays[8] = {
        {"x", GNN_DTYPE_FLOAT32, 2, {NODES, 1}, NODES, x},
        {"y", GNN_DTYPE_INT32, 1, {NODES}, NODES, labels},
        {"edge_index", GNN_DTYPE_INT64, 2, {2, LINKS}, 2 * LINKS, links},
    };
    for (int k = 0; k < count; k++)
        arrays[3 + k] = more[k];
    ck_ok(gnn_npz_write(in_folder("set.npz"), 3 + count, arrays));
    return in_folder("set.npz");
}

#define INDICES(name, n, ...)                               \
    {                                                       \
        name, GNN_DTYPE_INT64, 1, {n}, n, (const int64_t[]) \
        {                                                   \
            __VA_ARGS__                                     \
        }                                                   \
    }
#define MASK(name, ...)                                            \
    {                                                              \
        name, GNN_DTYPE_BOOL, 1, {NODES}, NODES, (const uint8_t[]) \
        {                                                          \
            __VA_ARGS__                                            \
        }                                                          \
    }

static const struct {
    gnn_array_t arrays[3];
} same[] = {
    {{INDICES("train_idx", 2, 3, 0), INDICES("val_idx", 1, 1), INDICES("test_idx", 2, 5, 4)}},
    {{INDICES("idx_train", 2, 0, 3), INDICES("idx_val", 1, 1), INDICES("idx_test", 2, 4, 5)}},
    {{INDICES("train_index", 2, 0, 3), INDICES("valid_idx", 1, 1), INDICES("test_indices", 2, 4, 5)}},
    {{MASK("train_mask", 1, 0, 0, 1, 0, 0), MASK("valid_mask", 0, 1, 0, 0, 0, 0),
      MASK("test_mask", 0, 0, 0, 0, 1, 1)}},
    {{MASK("train_mask", 1, 0, 0, 1, 0, 0), MASK("validation_mask", 0, 1, 0, 0, 0, 0),
      MASK("test_mask", 0, 0, 0, 0, 1, 1)}},
};

START_TEST(a_split_has_several_forms)
{
    static const uint8_t want[3][NODES] = {
        [GNN_TRAIN] = {1, 0, 0, 1, 0, 0}, [GNN_VALIDATION] = {0, 1, 0, 0, 0, 0}, [GNN_TEST] = {0, 0, 0, 0, 1, 1}};
    gnn_data_t *data = opened(write_set(3, same[_i].arrays));
    ck_assert_int_eq(gnn_data_splits(data), 1);
    for (int part = 0; part < 3; part++)
        ck_assert_mem_eq(gnn_data_mask(data, part, 0), want[part], NODES);
    gnn_data_free(data);
}
END_TEST

static const struct {
    int count;
    gnn_array_t arrays[4];
    const char *words;
} wrong[] = {
    {2, {INDICES("train_idx", 1, 0), INDICES("val_idx", 1, 1)}, "the array test_idx is missing"},
    {3,
     {INDICES("train_idx", 1, 6), INDICES("val_idx", 1, 1), INDICES("test_idx", 1, 2)},
     "train_idx: node 6 at position 0, there are 6 nodes"},
    {3,
     {INDICES("train_idx", 1, 0), INDICES("val_idx", 2, 1, 1), INDICES("test_idx", 1, 2)},
     "val_idx: node 1 is given twice, at position 1 too"},
    {3,
     {MASK("train_idx", 1, 0, 0, 1, 0, 0), INDICES("val_idx", 1, 1), INDICES("test_idx", 1, 2)},
     "train_idx: indices of nodes are expected, its type is bool: a mask is called train_mask"},
    {4,
     {INDICES("train_idx", 1, 0), INDICES("val_idx", 1, 1), INDICES("test_idx", 1, 2),
      MASK("train_mask", 1, 0, 0, 1, 0, 0)},
     "splits both as masks and as indices"},
    {1,
     {MASK("training_set", 1, 0, 0, 1, 0, 0)},
     "training_set (|b1) is not read, and there is no split"},
    {1, {INDICES("split_ids", 2, 0, 1)}, "split_ids (<i8) is not read"},
};

START_TEST(other_splits_are_refused)
{
    ck_refused(write_set(wrong[_i].count, wrong[_i].arrays), "set.npz: ", GNN_EFORMAT,
               wrong[_i].words);
}
END_TEST

START_TEST(what_is_not_read_is_described)
{
    const gnn_array_t more[] = {INDICES("edge_type", LINKS, 0, 1, 0, 1, 0),
                                INDICES("year", NODES, 1, 2, 3, 4, 5, 6),
                                INDICES("node_id", NODES, 5, 4, 3, 2, 1, 0), INDICES("seed", 1, 7),
                                INDICES("num_classes", 1, 5)};
    gnn_data_t *data = opened(write_set(5, more));
    ck_assert_int_eq(gnn_data_classes(data), 5);
    char text[400];
    gnn_data_describe(data, text, sizeof text);
    const char *end = strstr(text, "; not read: ");
    ck_assert_msg(end && strcmp(end, "; not read: edge_type, year, seed") == 0, "%s", text);
    gnn_data_free(data);
}
END_TEST

START_TEST(nodes_in_several_parts_are_described)
{
    const gnn_array_t more[] = {INDICES("train_idx", 3, 0, 1, 2), INDICES("val_idx", 2, 2, 3),
                                INDICES("test_idx", 3, 0, 4, 5)};
    gnn_data_t *data = opened(write_set(3, more));
    char text[400];
    gnn_data_describe(data, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "3 train, 2 validation, 3 test (2 nodes in several of these)"));
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *name, *text, *words;
    int code;
} others[] = {
    {"a.npz", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
     "is a pointer of Git LFS", GNN_EFORMAT},
    {"a.csv", "<!DOCTYPE html>\n<html><body>404</body></html>", "is a page of the web", GNN_EFORMAT},
    {"a.npz", "\n<html>", "is a page of the web", GNN_EFORMAT},
    {"a.npz", "\x1f\x8b\x08", "a gzipped .npz: unpack it first", GNN_EFORMAT},
    {"a.adjlist", "0 1 2\n1 2 3\n", "an adjacency list is not read", GNN_EUNSUPPORTED},
    {"a.graph", "3 2\n2\n1 3\n2\n", "METIS' graph is not read", GNN_EUNSUPPORTED},
};

START_TEST(what_stands_in_for_a_file_is_named)
{
    ck_refused(write_text(others[_i].name, others[_i].text), others[_i].name, others[_i].code,
               others[_i].words);
}
END_TEST

#define LOOP(test, table) tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

int main(void)
{
    Suite *suite = suite_create("layout masks");
    TCase *tests = tcase_create("masks");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    LOOP(a_split_has_several_forms, same);
    LOOP(other_splits_are_refused, wrong);
    tcase_add_test(tests, what_is_not_read_is_described);
    tcase_add_test(tests, nodes_in_several_parts_are_described);
    LOOP(what_stands_in_for_a_file_is_named, others);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
