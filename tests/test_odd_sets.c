/* Data sets as strangers bring them: arrays of any type and shape, texts of any dialect. Each is
 * read as it is meant, or refused with file, place, what was expected and what was found. */
#include "readers.h"

#include <gnn/data.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NODES = 6, LINKS = 6, MOST = 16 };

/* ---- .npz ---- */

typedef struct array {
    const char *name, *header; /* the rest of the dictionary after 'descr' */
    const void *data;
    size_t bytes;
} npy_part_t;

/* clang-format off */
#define P(name, header, type, ...) {name, header, (const type[]){__VA_ARGS__}, sizeof(const type[]){__VA_ARGS__}}
#define NONE(name, header) {name, header, NULL, 0}
#define ITS(type, shape) "'" type "', 'fortran_order': False, 'shape': " shape
#define DROPPED(name) {name, NULL, NULL, 0}
/* clang-format on */

static const npy_part_t base[] = {
    P("x", ITS("<f4", "(6, 2)"), float, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    P("y", ITS("<i8", "(6,)"), int64_t, 0, 1, 0, 1, 0, 1),
    P("edge_index", ITS("<i8", "(2, 6)"), int64_t, 0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0),
    P("train_mask", ITS("|b1", "(6,)"), uint8_t, 1, 1, 0, 0, 0, 0),
    P("val_mask", ITS("|b1", "(6,)"), uint8_t, 0, 0, 1, 1, 0, 0),
    P("test_mask", ITS("|b1", "(6,)"), uint8_t, 0, 0, 0, 0, 1, 1),
};

/* The base with some parts replaced, added, or dropped. */
static const char *write_set_of(const npy_part_t *changes, size_t count)
{
    static bytes_t npy[MOST], file;
    npy_part_t parts[MOST];
    zip_entry_t entries[MOST];
    static char names[MOST][80];
    size_t n = COUNT(base);
    int used = 0;
    memcpy(parts, base, sizeof base);
    for (size_t c = 0; c < count && changes[c].name; c++) {
        size_t k = 0;
        while (k < n && strcmp(parts[k].name, changes[c].name) != 0)
            k++;
        parts[k] = changes[c];
        n += k == n;
    }
    for (size_t k = 0; k < n; k++) {
        char dictionary[200];
        if (!parts[k].header)
            continue;
        npy[used].n = 0;
        snprintf(dictionary, sizeof dictionary, "{'descr': %s, }", parts[k].header);
        put_npy(&npy[used], 1, dictionary, parts[k].data, parts[k].bytes);
        snprintf(names[used], sizeof names[used], "%s.npy", parts[k].name);
        entries[used] = (zip_entry_t){.name = names[used], .data = npy[used].at, .size = npy[used].n};
        used++;
    }
    file.n = 0;
    put_zip(&file, entries, used);
    return write_bytes("set.npz", file.at, file.n);
}

/* Features, labels, messages and masks of a set as a text. */
static const char *summary(const gnn_data_t *data)
{
    static char text[4096];
    size_t at = 0;
#define SAY(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)
    const gnn_tensor_t *x = gnn_data_x(data);
    const int64_t n = gnn_data_nodes(data);
    SAY("x");
    for (int64_t k = 0; x && k < n * gnn_data_features(data); k++)
        SAY(" %g", (double)x->data[k]);
    SAY("; y");
    for (int64_t i = 0; i < n; i++)
        SAY(" %d", (int)gnn_data_labels(data)[i]);
    SAY(" of %d; ", (int)gnn_data_classes(data));
    SAY("%s;", messages(data));
    for (int64_t s = 0; s < gnn_data_splits(data); s++)
        for (int part = 0; part < 3; part++) {
            SAY(" ");
            for (int64_t i = 0; i < n; i++)
                SAY("%d", (int)gnn_data_mask(data, part, s)[i]);
        }
#undef SAY
    return text;
}

#define X "x 0 1 2 3 4 5 6 7 8 9 10 11"
#define Y "; y 0 1 0 1 0 1 of 2; "
#define RING "0<1 0<5 1<0 1<2 2<1 2<3 3<2 3<4 4<3 4<5 5<0 5<4"
#define SPLIT "; 110000 001100 000011"

/* Sets, and what is read of them. */
static const struct {
    const char *what;
    npy_part_t changes[4];
    const char *summary;
} read_sets[] = {
    {"as it is", {{NULL, NULL, NULL, 0}}, X Y RING SPLIT},
    {"half precision",
     {P("x", ITS("<f2", "(6, 2)"), uint16_t, 0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600,
        0x4700, 0x4800, 0x4880, 0x4900, 0x4980)},
     X Y RING SPLIT},
    {"Fortran order",
     {P("x", "'<f4', 'fortran_order': True, 'shape': (6, 2)", float, 0, 2, 4, 6, 8, 10, 1, 3, 5, 7,
        9, 11),
      P("edge_index", "'<i4', 'fortran_order': True, 'shape': (2, 6)", int32_t, 0, 1, 1, 2, 2, 3, 3,
        4, 4, 5, 5, 0)},
     X Y RING SPLIT},
    {"unsigned integers",
     {P("x", ITS("<u8", "(6, 2)"), uint64_t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
      P("y", ITS("|u1", "(6,)"), uint8_t, 0, 1, 0, 1, 0, 1),
      P("edge_index", ITS("<u2", "(2, 6)"), uint16_t, 0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0)},
     X Y RING SPLIT},
    {"bytes of either order",
     {P("x", ITS(">i1", "(6, 2)"), int8_t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
      P("y", ITS("|b1", "(6,)"), uint8_t, 0, 1, 0, 1, 0, 1)},
     X Y RING SPLIT},
    {"classes as reals",
     {P("y", ITS("<f2", "(6, 1)"), uint16_t, 0, 0x3c00, 0, 0x3c00, 0, 0x3c00)},
     X Y RING SPLIT},
    {"gaps between classes",
     {P("y", ITS("<i8", "(6,)"), int64_t, 0, 5, 0, 5, 9, 5)},
     X "; y 0 5 0 5 9 5 of 10; " RING SPLIT},
    {"nodes without a label",
     {P("y", ITS("<i8", "(6,)"), int64_t, 0, 1, 0, 1, 0, -7),
      P("test_mask", ITS("|b1", "(6,)"), uint8_t, 0, 0, 0, 0, 1, 0)},
     X "; y 0 1 0 1 0 -1 of 2; " RING "; 110000 001100 000010"},
    {"both directions, duplicates, loops",
     {P("edge_index", ITS("<i8", "(2, 14)"), int64_t, 0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0, 2, 0, 1,
        2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5, 2, 1)},
     X Y RING SPLIT},
    {"no edges", {NONE("edge_index", ITS("<i8", "(2, 0)"))}, X Y "; 110000 001100 000011"},
    {"masks of several splits, by node",
     {P("train_mask", ITS("|b1", "(6, 2)"), uint8_t, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1),
      P("val_mask", ITS("|u1", "(6, 2)"), uint8_t, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0),
      P("test_mask", ITS("<i8", "(6, 2)"), int64_t, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0)},
     X Y RING "; 110000 001100 000011 000011 110000 001100"},
    {"masks of several splits, by split",
     {P("train_mask", ITS("|b1", "(2, 6)"), uint8_t, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1),
      P("val_mask", ITS("|u1", "(6, 2)"), uint8_t, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0),
      P("test_mask", ITS("<i8", "(6, 2)"), int64_t, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0)},
     X Y RING "; 110000 001100 000011 000011 110000 001100"},
    {"names of DGL and OGB",
     {DROPPED("x"), P("feat", ITS("<f4", "(6, 2)"), float, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
      DROPPED("y"), P("label", ITS("<i8", "(6,)"), int64_t, 0, 1, 0, 1, 0, 1)},
     X Y RING SPLIT},
    {"senders and receivers",
     {DROPPED("edge_index"), P("src", ITS("<i8", "(6,)"), int64_t, 0, 1, 2, 3, 4, 5),
      P("dst", ITS("<i4", "(6,)"), int32_t, 1, 2, 3, 4, 5, 0)},
     X Y RING SPLIT},
    {"a mask of every split, as in WikiCS",
     {P("train_mask", ITS("|b1", "(6, 2)"), uint8_t, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0),
      P("val_mask", ITS("|b1", "(6, 2)"), uint8_t, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0)},
     X Y RING "; 110000 001100 000011 001100 110000 000011"},
};

START_TEST(sets_are_read_as_they_are_meant)
{
    gnn_data_t *data = opened(write_set_of(read_sets[_i].changes, 4));
    ck_assert_msg(strcmp(summary(data), read_sets[_i].summary) == 0, "%s: %s", read_sets[_i].what,
                  summary(data));
    gnn_data_free(data);
}
END_TEST

/* Refused sets, with words of the message. */
static const struct {
    npy_part_t changes[4];
    const char *words;
    int code;
} refused_sets[] = {
    {{P("x", ITS(">f4", "(6, 2)"), float, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)},
     "x.npy: type '>f4' is big-endian, only little-endian is read",
     0},
    {{P("edge_index", ITS(">i8", "(2, 1)"), int64_t, 0, 1)}, "edge_index.npy: type '>i8' is big", 0},
    {{P("x", ITS("|O", "(6, 2)"), uint8_t, 0x80, 4, '.')},
     "x: holds no plain values (its type is '|O'): Python's objects are not read",
     0},
    {{P("x", ITS("<U1", "(1, 1)"), uint32_t, '1')}, "x: holds no plain values (its type is '<U1')", 0},
    {{P("x", ITS("<c8", "(1, 1)"), float, 1, 0)}, "its type is '<c8'", 0},
    {{P("x", ITS("<f4", "(6,)"), float, 1, 2, 3, 4, 5, 6)}, "x: 1 dimensions, expected 2", 0},
    {{P("x", ITS("<f4", "(2, 1, 2)"), float, 1, 2, 3, 4)}, "x: 3 dimensions, expected 2", 0},
    {{P("x", ITS("<f4", "(2, 6)"), float, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)},
     "x: 2 rows, the set has 6 nodes",
     0},
    {{P("x", ITS("<f4", "(6, 1)"), uint32_t, 0, 0x7fc00000, 0, 0, 0, 0)},
     "x: nan at row 1, column 0",
     GNN_ENUMERIC},
    {{P("x", ITS("<f2", "(6, 1)"), uint16_t, 0, 0, 0, 0, 0, 0xfc00)},
     "x: -inf at row 5, column 0",
     GNN_ENUMERIC},
    {{P("y", ITS("<U1", "(6,)"), uint32_t, 'a', 'b', 'a', 'b', 'a', 'b')},
     "y: holds no plain values",
     0},
    {{P("y", ITS("|S1", "(6,)"), char, 'a', 'b', 'a', 'b', 'a', 'b')}, "(its type is '|S1')", 0},
    {{P("y", ITS("<M8[D]", "(6,)"), int64_t, 1, 2, 3, 4, 5, 6)}, "(its type is '<M8[D]')", 0},
    {{P("y", ITS("<u8", "(6,)"), uint64_t, 0, 1, UINT64_MAX, 1, 0, 1)}, "y: class >= ", 0},
    {{P("y", ITS("<i8", "(6,)"), int64_t, 0, 1, 70000, 1, 0, 1)},
     "y: class 70000 at node 2, less than 65536 is expected",
     0},
    {{P("y", ITS("<i8", "(6,)"), int64_t, -1, 1, 0, 1, 0, 1)},
     "train_mask: split 0 takes node 0, which has no label",
     0},
    {{P("y", ITS("<i8", "(6,)"), int64_t, -1, -1, -2, -1, -1, -1)}, "y: no node has one", 0},
    {{P("y", ITS("<f4", "(6,)"), uint32_t, 0, 0x7fc00000, 0, 0, 0, 0)}, "y: nan at row 1", GNN_ENUMERIC},
    {{P("y", ITS("<i8", "()"), int64_t, 3)}, "y: 0 dimensions, 1 or 2 are expected", 0},
    {{P("y", ITS("<i8", "(1, 6)"), int64_t, 0, 1, 0, 1, 0, 1)}, "x: 6 rows, the set has 1 nodes", 0},
    {{NONE("y", ITS("<i8", "(0,)"))},
     "y: expected 1 to 2147483647 rows, one per node, got the shape 0",
     0},
    {{P("edge_index", ITS("<i8", "(6, 2)"), int64_t, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0)},
     "edge_index: its shape is 6 x 2, expected 2 x m",
     0},
    {{P("edge_index", ITS("<i8", "(4,)"), int64_t, 0, 1, 1, 2)},
     "edge_index: 1 dimensions, expected 2",
     0},
    {{P("edge_index", ITS("<i8", "(3, 2)"), int64_t, 0, 1, 1, 2, 0, 0)},
     "edge_index: its shape is 3 x 2",
     0},
    {{P("edge_index", ITS("<f8", "(2, 1)"), double, 0, 1)},
     "edge_index: integers are expected, its type is float64",
     0},
    {{P("edge_index", ITS("|b1", "(2, 3)"), uint8_t, 0, 1, 1, 1, 1, 0)},
     "edge_index: integers are expected, its type is bool",
     0},
    {{P("edge_index", ITS("<U1", "(2, 1)"), uint32_t, '0', '1')},
     "edge_index: holds no plain values",
     0},
    {{P("edge_index", ITS("<i8", "(2, 1)"), int64_t, 5, 6)},
     "edge_index: node 6 in column 0, there are 6 nodes",
     0},
    {{P("edge_index", ITS("<i8", "(2, 1)"), int64_t, -1, 0)}, "edge_index: node -1 in column 0", 0},
    {{DROPPED("edge_index"), P("edges", ITS("<i8", "(2, 3)"), int64_t, 0, 1, 2, 1, 2, 3)},
     "edges: its shape is 2 x 3, expected m x 2",
     0},
    {{DROPPED("edge_index"), P("adj", ITS("<f4", "(1, 1)"), float, 1)}, "neither adj_indptr", 0},
    {{P("edge_weight", ITS("<f4", "(6,)"), uint32_t, 0, 0, 0, 0x7fc00000, 0, 0)},
     "edge_weight: nan at edge 3",
     GNN_ENUMERIC},
    {{P("edge_weight", ITS("<f4", "(6, 1)"), float, 1, 2, 3, 4, 5, 6)},
     "edge_weight: 2 dimensions, expected 1",
     0},
    {{P("edge_weight", ITS("<f4", "(2,)"), float, 1, 2)}, "edge_weight: 2 weights of 6 edges", 0},
    {{P("edge_weight", ITS("<U1", "(6,)"), uint32_t, '1', '2', '3', '4', '5', '6')},
     "edge_weight: holds no plain values (its type is '<U1')",
     0},
    {{P("edge_attr", ITS("|O", "(6,)"), uint8_t, 0x80)},
     "edge_attr: holds no plain values (its type is '|O')",
     0},
    {{P("edge_attr", ITS("<f4", "(6,)"), uint32_t, 0, 0, 0, 0, 0x7f800000, 0)},
     "edge_attr: inf at edge 4, column 0",
     GNN_ENUMERIC},
    {{P("edge.time", ITS("<f4", "(6, 1)"), uint32_t, 0, 0, 0, 0, 0, 0x7fc00000)},
     "edge.time: nan at edge 5, column 0",
     GNN_ENUMERIC},
    {{P("node.age", ITS("|O", "(6,)"), uint8_t, 0x80)}, "node.age: holds no plain values", 0},
    {{P("num_classes", ITS("|O", "()"), uint8_t, 0x80)}, "num_classes: holds no plain values", 0},
    {{P("num_classes", ITS("<i8", "()"), int64_t, 1)}, "num_classes: 1, expected 2 or more", 0},
    {{P("num_nodes", ITS("<i8", "()"), int64_t, 7)}, "num_nodes: 7, expected 6", 0},
    {{P("train_mask", ITS("<f4", "(6,)"), float, 1, 1, 0, 0, 0, 0)},
     "train_mask: integers are expected, its type is float32",
     0},
    {{P("train_mask", ITS("<i8", "(2,)"), int64_t, 0, 1)},
     "train_mask: its shape is 2, expected 6, splits x 6 or 6 x splits",
     0},
    {{P("train_mask", ITS("<i8", "(6,)"), int64_t, 0, 1, 2, 3, 4, 5)},
     "train_mask: 2 at node 2 of split 0, a mask holds 0 and 1 (indices of nodes are called train_idx)",
     0},
    {{P("train_mask", ITS("|b1", "(6, 6)"), uint8_t, [35] = 1)},
     "train_mask: its shape is 6 x 6: rows and columns are nodes, or splits",
     0},
    {{NONE("train_mask", ITS("|b1", "(6, 0)"))}, "train_mask: its shape is 6 x 0", 0},
    {{P("train_mask", ITS("|b1", "(6, 2)"), uint8_t, 1, [11] = 0),
      P("val_mask", ITS("|b1", "(6, 3)"), uint8_t, 0, [17] = 0)},
     "val_mask: 3 splits, another mask has 2",
     0},
    {{P("val_mask", ITS("<U5", "(1,)"), uint32_t, 'T', 'r', 'u', 'e', 0)},
     "val_mask: holds no plain values",
     0},
    {{DROPPED("val_mask")}, "the array val_mask is missing", 0},
    {{DROPPED("train_mask"), DROPPED("val_mask"), DROPPED("test_mask"),
      P("train_idx", ITS("<f8", "(2,)"), double, 0, 1)},
     "train_idx: integers are expected, its type is float64",
     0},
    {{DROPPED("train_mask"), DROPPED("val_mask"), DROPPED("test_mask"),
      P("train_idx", ITS("<i8", "(1, 2)"), int64_t, 0, 1)},
     "train_idx: 2 dimensions, expected 1",
     0},
    {{DROPPED("train_mask"), DROPPED("val_mask"), DROPPED("test_mask"),
      P("train_idx", ITS("<i8", "(2,)"), int64_t, 0, -1)},
     "train_idx: node -1 at position 1, there are 6 nodes",
     0},
    {{DROPPED("x"), P("X", ITS("<f4", "(6, 1)"), float, 1, 2, 3, 4, 5, 6)},
     "there are no features: attr_indptr with its companions, node_features, attr_matrix, x or feat "
     "(docs/formats.md); the file has y, edge_index, train_mask, val_mask, test_mask, X",
     0},
    {{DROPPED("x"), P("format", ITS("|S3", "()"), char, 'c', 's', 'r')},
     ", format: one matrix of scipy.sparse.save_npz",
     0},
    {{P("y", ITS("<i8", "(6,)"), int64_t, 0, 1, 20000, 1, 0, 1)},
     "labels: class 20000, with labels of 6 nodes: classes are numbered from 0",
     0},
    {{DROPPED("y"), P("target", ITS("<i8", "(6,)"), int64_t, 0, 1, 0, 1, 0, 1)},
     "there are no labels, and target (<i8), which has a row per node, is not read",
     0},
    {{P("labels", ITS("<i8", "(6,)"), int64_t, 0, 1, 0, 1, 0, 1)}, "labels and y: one of the two", 0},
};

START_TEST(other_sets_are_refused)
{
    ck_refused(write_set_of(refused_sets[_i].changes, 4),
               "set.npz: ", refused_sets[_i].code ? refused_sets[_i].code : GNN_EFORMAT,
               refused_sets[_i].words);
}
END_TEST

/* Names in the types of texts have no effect; nodes in several parts of a split are described. */
START_TEST(what_has_no_effect_is_left_out_or_described)
{
    char text[400];
    const npy_part_t names[] = {
        P("node_names", ITS("<U1", "(6,)"), uint32_t, 'a', 'b', 'c', 'd', 'e', 'f'),
        P("attr_names", ITS("|O", "(2,)"), uint8_t, 0x80),
        P("attr_text", ITS("|O", "(2,)"), uint8_t, 0x80)};
    gnn_data_t *data = opened(write_set_of(names, COUNT(names)));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "; not read: attr_text"));
    gnn_data_free(data);
    const npy_part_t masks[] = {
        P("train_mask", ITS("|b1", "(2, 6)"), uint8_t, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1),
        P("val_mask", ITS("|b1", "(2, 6)"), uint8_t, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0),
        P("test_mask", ITS("|b1", "(2, 6)"), uint8_t, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0)};
    data = opened(write_set_of(masks, COUNT(masks)));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, "2 test (1 node in several parts of split 1)") != NULL, "%s", text);
    gnn_data_free(data);
}
END_TEST

/* ---- edge lists and other texts ---- */

static const struct {
    const char *name, *text, *messages;
} read_texts[] = {
    {"crlf.txt", "0 1\r\n1 2\r\n", "0<1 1<0 1<2 2<1"},
    {"bom.csv",
     "\xef\xbb\xbf"
     "0,1\n1,2\n",
     "0<1 1<0 1<2 2<1"},
    {"semicolons.csv", "0;1\n1;2", "0<1 1<0 1<2 2<1"},
    {"tabs.csv", "0\t1\n1\t2\n", "0<1 1<0 1<2 2<1"},
    {"quoted.csv", "\"0\",\"1\"\n\"1\",\"2\"\n", "0<1 1<0 1<2 2<1"},
    {"padded.txt", "   0    1  \n  1   2\n", "0<1 1<0 1<2 2<1"},
    {"zeros.txt", "00 01\n+1 02\n", "0<1 1<0 1<2 2<1"},
    {"pandas.csv", ",source,target\n0,0,1\n1,1,2\n", "0<1 1<0 1<2 2<1"},
    {"gephi.csv", "Source,Target,Type,Id,Label,timeset,Weight\n0,1,Undirected,0,,,1.0\n", "0<1 1<0"},
    {"snap.txt", "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n", "0<1 1<0"},
    {"both.txt", "0 1\n1 0\n1 1\n0 1\n", "0<1 1<0"},
    {"dict.txt", "0 1 {'weight': 3}\n1 2 {}\n", "0<1 1<0 1<2 2<1"},
    {"words_above.csv", "citing,cited\n0,1\n1,2\n", "0<1 1<0 1<2 2<1"},
    {"large.txt", "7000000001 5\n7000000002 5\n", "0<1 1<0 1<2 2<1"},
    {"large.csv", "txId1,txId2\n7000000001,5\n7000000002,5\n", "0<1 1<0 1<2 2<1"},
    {"node_link",
     " {\"nodes\": [{\"id\": \"b\"}, {\"id\": \"a\"}, {\"id\": \"c\"}], \"edges\": "
     "[{\"source\": \"a\", \"target\": \"b\"}, {\"source\": \"c\", \"target\": \"a\"}]}",
     "0<1 1<0 1<2 2<1"},
    {"geom.txt", "node_id\tnode_id\n0\t1\n1\t2\n", "0<1 1<0 1<2 2<1"},
    {"words.csv", "\"a b\",c\nc,\"d, e\"\n", "0<1 1<0 1<2 2<1"},
    {"uuid.txt", "3f2a-1 9bcd-2\n9bcd-2 77aa-3\n", "0<1 1<0 1<2 2<1"},
    {"zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.0\n", "0<1 1<0"},
    {"upper.mtx", "%%matrixmarket MATRIX Coordinate Real General\n2 2 1\n1 2 1.5\n", "0<1 1<0"},
};

START_TEST(texts_are_read_as_they_are_meant)
{
    gnn_data_t *data = opened(write_text(read_texts[_i].name, read_texts[_i].text));
    ck_assert_str_eq(messages(data), read_texts[_i].messages);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *name, *text, *words;
    int code;
} refused_texts[] = {
    {"utf16.csv",
     "\xff\xfe"
     "0",
     "is in UTF-16, UTF-8 is expected", 0},
    {"latin1.csv", "caf\xe9,b\nb,caf\xe9\n", "line 1, column 1: the name of a node in UTF-8", 0},
    {"mac.txt", "0 1\r1 2\r", "line 1, column 2: a node id of an edge list is expected", 0},
    {"trailing.csv", "0,1,\n1,2,\n", "line 1, column 3: a weight is expected, got nothing", 0},
    {"decimal.csv", "0;1;0,5\n1;2;1,5\n", "line 1, column 3: a weight is expected, got \"0,5\"", 0},
    {"decimal.txt", "0 1 0,5\n1 2 1,5\n", "line 1, column 1: a node id", 0},
    {"other_names.csv", "paper,cites\nx,y\n", "as column names they are \"source\" and \"target\"", 0},
    {"time.csv", "from,to,timestamp\n0,1,5\n",
     "line 1, column 3: column \"timestamp\" of an edge list", 0},
    {"four.txt", "0 1 5 7\n1 2 3 4\n", "line 1: two nodes and perhaps a weight are expected", 0},
    {"tail.txt", "# c\n0 1 # tail\n", "line 2: two nodes and perhaps a weight are expected", 0},
    {"reals.txt", "0.0 1.0\n1.0 2.0\n",
     "line 1, column 1: a node id of an edge list is expected, got \"0.0\"", 0},
    {"negative.txt", "-1 0\n0 1\n", "line 1, column 1: node -1, node ids start at 0", 0},
    {"gaps.txt", "1000 2000\n02000 3000\n",
     "line 2, column 1: a node id without leading zeros is expected, got \"02000\"", 0},
    {"below.txt", "1000 2000\n-1 3000\n", "line 2, column 1: node -1, node ids start at 0", 0},
    {"mixed.txt", "0 1\na b\n",
     "line 2, column 1: a node id of an edge list is expected, got \"a\"", 0},
    {"nan.txt", "0 1 nan\n1 2 1\n", "line 1, column 3: a weight is expected, \"nan\" is not finite",
     GNN_ENUMERIC},
    {"blank.txt", "\n\n", "no line holds a link", 0},
    {"comments.txt", "# nothing\n", "no line holds a link", 0},
    {"dicts.txt", "0 1 {'weight': 3, 'colour': 1}\n",
     "line 1, column 3: a weight is expected, got a dictionary: of networkx's, {} and", 0},
    {"dict.txt", "0 1 {'weight': 'a'}\n",
     "line 1, column 3: a weight is expected, got a dictionary", 0},
    {"open.txt", "0 1 {'weight': 3\n", "line 1, column 3: a weight is expected, got a dictionary", 0},
    {"features.txt", "node_id\tfeature\tlabel\n0\t1,0\t1\n",
     "line 1, column 2: Geom-GCN's list of features: open its folder", GNN_EUNSUPPORTED},
    {"some.csv", "0,1,0.5\n1,2\n", "line 2: 2 fields, the first link has 3", 0},
    {"some.tsv", "a\tb\nb\tc\t2\n", "line 2: 3 fields, the first link has 2", 0},
    {"none.tsv", "0\t1\t2\n1\t2\t\n", "line 2: 2 fields, the first link has 3", 0},
    {"arrow.txt", "0 -> 1\n", "line 1, column 2: a node id of an edge list is expected, got \"->\"",
     0},
    {"pipe.txt", "0|1\n1|2\n", "line 1: two nodes and perhaps a weight are expected, got one field",
     0},
    {"thousands.csv", "\"1,000\",\"2\"\n", "a node id of an edge list is expected, got \"1,000\"", 0},
    {"again.csv", "source,target\n0,1\nsource,target\n", "line 3, column 1: a node id", 0},
    {"minus.txt",
     "\xe2\x88\x92"
     "1 0\n0 1\n",
     "line 1, column 1: a node id of an edge list", 0},
    {"missing.csv", "NA,b\nb,c\n", "line 1, column 1: the name of a node is expected, got \"NA\"", 0},
    {"quote.csv", "\"a,b\nb,c\n", "line 1, column 1: the quote does not end in its line", 0},
    {"complex.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 0\n",
     "pattern, real or integer is expected of MatrixMarket, got \"complex\"", GNN_EUNSUPPORTED},
    {"dense.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n",
     "a matrix in coordinates is expected", GNN_EUNSUPPORTED},
    {"wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n",
     "3 x 4 of MatrixMarket", 0},
    {"skew.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n",
     "got \"skew-symmetric\"", GNN_EUNSUPPORTED},
    {"ind.cora.graph", "\x80\x02}q", "Python's pickle is not read", GNN_EUNSUPPORTED},
    {"ind.cora.x", "\x80\x04}q", "Python's pickle is not read", GNN_EUNSUPPORTED},
    {"a.mat", "MATLAB 5.0 MAT-file", "MATLAB is not read", GNN_EUNSUPPORTED},
    {"graph.json", "{\"nodes\": []}", "JSON is not read: but for that of networkx's node_link_data",
     GNN_EUNSUPPORTED},
    {"pairs.json", "[[0, 1]]", "JSON is not read: but for that of networkx's node_link_data",
     GNN_EUNSUPPORTED},
    {"both.json", "{\"nodes\": [], \"links\": [], \"edges\": []}",
     "JSON is not read: but for that of networkx's", GNN_EUNSUPPORTED},
    {"empty.json", "{\"nodes\": [], \"links\": []}", "nodes: there are 0", 0},
    {"id.json", "{\"nodes\": [{\"id\": 1.5}], \"links\": []}",
     "nodes[0]: id: an integer or a text is expected", 0},
    {"twice.json", "{\"nodes\": [{\"id\": 1}, {\"id\": \"1\"}], \"links\": []}",
     "nodes[1]: the id \"1\" is that of nodes[0], too", 0},
    {"absent.json", "{\"nodes\": [{\"id\": 0}], \"links\": [{\"source\": 0, \"target\": 7}]}",
     "links[0]: \"7\" is the id of no node", 0},
    {"some.json",
     "{\"nodes\": [{\"id\": 0}, {\"id\": 1}], \"edges\": [{\"source\": 0, \"target\": 1, \"weight\": "
     "2}, {\"source\": 1, \"target\": 0}]}",
     "edges[1]: weight: each link has a finite number, or none has one", 0},
    {"directed.json", "{\"directed\": 1, \"nodes\": [{\"id\": 0}], \"links\": []}",
     "directed: true or false is expected", 0},
    {"g.net", "*Vertices 2\n", "Pajek is not read", GNN_EUNSUPPORTED},
};

START_TEST(other_texts_are_refused)
{
    ck_refused(write_text(refused_texts[_i].name, refused_texts[_i].text), refused_texts[_i].name,
               refused_texts[_i].code ? refused_texts[_i].code : GNN_EFORMAT,
               refused_texts[_i].words);
}
END_TEST

/* ---- features and labels in texts ---- */

static const struct {
    const char *links, *text;
    bool labels;
    const char *words; /* of the refusal; NULL: read */
} columns[] = {
    {"0 1\n1 2\n", "1,2\r\n3,4\r\n5,6\r\n", false, NULL},
    {"0 1\n1 2\n", "\xef\xbb\xbfid,f\r\n2,2\r\n1,4\r\n0,6\r\n", false, NULL},
    {"0 1\n1 2\n", "# f g\n1 2\n3 4\n5 6\n", false, NULL},
    {"0 1\n1 2\n", ",0,1\n0,1,2\n1,3,4\n2,5,6\n", false, NULL},
    {"0 1\n1 2\n",
     "gr\xc3\xb6\xc3\x9f"
     "e,2020\n1,2\n3,4\n5,6\n",
     false, NULL},
    {"0 1\n1 2\n",
     "\xe2\x88\x92"
     "1,2\n3,4\n5,6\n7,8\n",
     false, "line 1, column 1: a number is expected"},
    {"0 1\n1 2\n", "$1,2\n3,4\n5,6\n7,8\n", false,
     "line 1, column 1: a number is expected, got \"$1\""},
    {"0 1\n1 2\n", "2,(3)\n3,4\n5,6\n7,8\n", false,
     "line 1, column 2: a number is expected, got \"(3)\""},
    {"0 1\n1 2\n", "\xef\xbc\x91,2\n3,4\n5,6\n7,8\n", false, "line 1, column 1: a number is expected"},
    {"0 1\n1 2\n", "1;2,5\n3;4,5\n5;6,5\n", false,
     "line 1, column 2: a number is expected, got \"2,5\""},
    {"0 1\n1 2\n", "1,2,\n3,4,\n5,6,\n", false, "line 1, column 3: a number is expected, got nothing"},
    {"0 1\n1 2\n", "True,2\nFalse,4\nTrue,6\n", false,
     "line 2, column 1: a number is expected, got \"False\""},
    {"0 1\n1 2\n", "1\n20000\n3\n", true, "class 20000, with labels of 3 nodes"},
    {"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n", "1\n2\n3\n4\n", false,
     "4 nodes, links has 3"},
    {"0 1\n1 2\n", "id,f\n1,1\n2,3\n3,5\n", false, "line 3 after the column names is of node 3"},
    {"0 1\n1 2\n", "[[1,2],[3,4]]\n", false, "got "},
    {"0 1\n1 2\n", "cat\ndog\ncat\n", true, NULL},
    {"0 1\n1 2\n", "label\n0\n1\n0\n", true, NULL},
    {"0 1\n1 2\n", "2020-01-01\n2020-01-02\n2020-01-01\n", true, NULL},
    {"0 1\n1 2\n",
     "\xe2\x88\x92"
     "1\n0\n1\n0\n",
     true, "line 1, column 1: a class is expected, an integer as in other lines"},
    {"0 1\n1 2\n", "0\n1,0\n0\n", true, "line 2"},
    {"0 1\n1 2\n", "0\n5%\n0\n", true,
     "line 2, column 1: a class is expected, an integer as in other lines, got \"5%\""},
    {"0 1\n1 2\n", "id,label,split\n0,0,train\n1,1,val\n2,0,test\n", true,
     "one class per line is expected, got \"split\" too"},
    {"a b\nb c\n", "a,0\nc,1\nd,0\n", true, NULL},
    {"a b\nb c\n", "id,label\n2,0\n1,1\n0,0\n", true,
     "line 2, column 1: the name of a node is expected, as the edges name it (a); no line has one, this one has \"2\""},
    {"a b\nb c\n", "node,f\nx,1\ny,2\nz,3\n", false, "the name of a node is expected"},
};

START_TEST(columns_of_texts)
{
    gnn_data_t *data = opened(write_text("links.txt", columns[_i].links));
    char path[600];
    snprintf(path, sizeof path, "%s", write_text("columns.csv", columns[_i].text));
    const int rc =
        gnn_data_add_csv(data, columns[_i].labels ? NULL : path, columns[_i].labels ? path : NULL);
    if (columns[_i].words)
        ck_fails(rc, strstr(columns[_i].words, " nodes, links has") ? GNN_ESHAPE : GNN_EFORMAT,
                 columns[_i].words);
    else
        ck_ok(rc);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("odd_sets");
    TCase *c = tcase_create("odd_sets");
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_loop_test(c, sets_are_read_as_they_are_meant, 0, (int)COUNT(read_sets));
    tcase_add_loop_test(c, other_sets_are_refused, 0, (int)COUNT(refused_sets));
    tcase_add_test(c, what_has_no_effect_is_left_out_or_described);
    tcase_add_loop_test(c, texts_are_read_as_they_are_meant, 0, (int)COUNT(read_texts));
    tcase_add_loop_test(c, other_texts_are_refused, 0, (int)COUNT(refused_texts));
    tcase_add_loop_test(c, columns_of_texts, 0, (int)COUNT(columns));
    suite_add_tcase(suite, c);
    return test_main(suite);
}
