/* Data sets that are wrong: each is refused with file, line, what was expected and what came;
 * nothing is handed out, nothing leaks. */
#include "readers.h"

#include <graphs/graph.h>

/* ---- LINQS ---- */

static const struct {
    const char *content, *cites;
    int code;
    const char *words;
} linqs[] = {
    {"a\n", "a a\n", GNN_EFORMAT,
     "t.content: line 1: a node's id, its words and its class are expected, got \"a\" alone"},
    {"a 1 0 x\nb 1 y\n", "a b\n", GNN_EFORMAT, "t.content: line 2: 1 words, the nodes before have 2"},
    {"a 1 x\nb one y\n", "a b\n", GNN_EFORMAT,
     "t.content: line 2, column 2: the value of a word is expected, got \"one\""},
    {"a 1 x\nb nan y\n", "a b\n", GNN_ENUMERIC,
     "t.content: line 2, column 2: the value of a word is expected, \"nan\" is not finite"},
    {"a 1e999 x\n", "a a\n", GNN_ENUMERIC,
     "t.content: line 1, column 2: the value of a word is expected, \"1e999\" is too large"},
    {"a 0x1 x\n", "a a\n", GNN_EFORMAT, "got \"0x1\""},
    {"a 1 x\nb 1 y\na 0 x\n", "a b\n", GNN_EFORMAT,
     "t.content: line 3, column 1: the node \"a\" is there already, in line 1"},
    {"a\t1\tx\n\t1\ty\n", "a\ta\n", GNN_EFORMAT, "t.content: line 2: a node's id"},
    {"\n \t\n", "a b\n", GNN_EFORMAT, "t.content: no line holds a node"},
    {"a\t1\t\n", "a\ta\n", GNN_EFORMAT, "t.content: no node has a class"},
    {"a\t1\t\xff\n", "a\ta\n", GNN_EFORMAT,
     "t.content: line 1, column 3: a class in UTF-8 is expected, got \"?\""},
    {"a\t1\tInf\n", "a\ta\n", GNN_ENUMERIC,
     "t.content: line 1, column 3: a class is expected, \"Inf\" is not finite"},
    {"a 1 x\nb 1 y\n", "a b\na\n", GNN_EFORMAT,
     "t.cites: line 2: two ids of nodes are expected, got fewer"},
    {"a 1 x\nb 1 y\n", "a b b\n", GNN_EFORMAT,
     "t.cites: line 1: two ids of nodes are expected, got more"},
    {"a 1 x\n", "p q\nr s\n", GNN_EFORMAT,
     "t.cites: none of its 2 links is between two nodes of t.content"},
    {"a \"1 x\n", "a a\n", GNN_EFORMAT, "t.content: line 1, column 2: the quote does not end"},
};

START_TEST(wrong_linqs_are_named)
{
    write_text("t.content", linqs[_i].content);
    write_text("t.cites", linqs[_i].cites);
    ck_refused(in_folder("t.cites"), "t.c", linqs[_i].code, linqs[_i].words);
}
END_TEST

/* ---- edge lists ---- */

static const struct {
    const char *text;
    int code;
    const char *words;
} edges[] = {
    {"0 1\n2\n", GNN_EFORMAT, "line 2: two nodes and perhaps a weight are expected, got one field"},
    {"0 1 1 1\n", GNN_EFORMAT,
     "line 1: two nodes and perhaps a weight are expected, got four fields or more"},
    {"0 1\n0 -1\n", GNN_EFORMAT, "line 2, column 2: node -1, node ids start at 0"},
    {"00 1\n300000000 1\n", GNN_EFORMAT,
     "line 1, column 1: a node id without leading zeros is expected, got \"00\""},
    {"0 1\n300000000 -1\n", GNN_EFORMAT, "line 2, column 2: node -1, node ids start at 0"},
    {"0 9223372036854775808\n", GNN_EFORMAT,
     "column 2: a node id of an edge list is expected, \"9223372036854775808\" is too large"},
    {"0 18446744073709551617\n", GNN_EFORMAT, "is too large"},
    {"0 -99999999999999999999\n", GNN_EFORMAT, "is too large"},
    {"0 1.0\n", GNN_EFORMAT, "column 2: a node id of an edge list is expected, got \"1.0\""},
    {"0 0x1\n", GNN_EFORMAT, "got \"0x1\""},
    {"0, \n", GNN_EFORMAT, "column 2: a node id of an edge list is expected, got nothing"},
    {"0 1 inf\n", GNN_ENUMERIC, "column 3: a weight is expected, \"inf\" is not finite"},
    {"0 1 heavy\n", GNN_EFORMAT, "column 3: a weight is expected, got \"heavy\""},
    {"person friend\na b\n", GNN_EFORMAT,
     "no other line has the two names of the first one, \"person\" and more: as column names"},
    {"a b\nb \"NA\nc d\n", GNN_EFORMAT, "line 2, column 2: the quote does not end in its line"},
    {"a b\nb NA\n", GNN_EFORMAT, "line 2, column 2: the name of a node is expected, got \"NA\""},
    {"a,b\nb,\n", GNN_EFORMAT, "line 2, column 2: the name of a node is expected, got nothing"},
    {"a,b\nb,c\td\n", GNN_EFORMAT, "line 2, column 2: the name of a node is expected, got \"c?d\""},
    {"a b\nb \xeb\n", GNN_EFORMAT, "the name of a node in UTF-8 is expected, got \"?\""},
    {"a b 1\nb c x\n", GNN_EFORMAT, "line 2, column 3: a weight is expected, got \"x\""},
    {"source,target,since\na,b,1\n", GNN_EFORMAT,
     "line 1, column 3: column \"since\" of an edge list is not read"},
    {"source,target\na,b,1\n", GNN_EFORMAT, "line 2: 3 fields, the first line names 2 columns"},
    {"1 2\nalice 3\n", GNN_EFORMAT, "line 2, column 1: a node id of an edge list is expected"},
    {"# nothing\n\n", GNN_EFORMAT, "no line holds a link"},
    {"\xef\xbb\xbf", GNN_EFORMAT, "no line holds a link"},
    {"0 1\r2 3\r", GNN_EFORMAT, "got \"1?2\""},
    {"\xff\xfe"
     "0 1\n",
     GNN_EFORMAT, "is in UTF-16, UTF-8 is expected"},
};

START_TEST(wrong_edge_lists_are_named)
{
    ck_refused(write_text("e.edges", edges[_i].text), "e.edges: ", edges[_i].code, edges[_i].words);
}
END_TEST

START_TEST(zero_bytes_are_refused)
{
    ck_refused(write_bytes("z.edges",
                           "0 1\n1 \0"
                           "2\n",
                           9),
               "z.edges: ", GNN_EFORMAT, "line 2: a zero byte (byte 6)");
}
END_TEST

/* ---- OGB ---- */

static const struct {
    const char *part, *text;
    int code;
    const char *words;
} ogb_wrong[] = {
    {"raw/num-node-list.csv.gz", "5\n", GNN_EFORMAT,
     "num-node-list: line 1, column 1: 5 nodes, node-label has 4 lines"},
    {"raw/num-node-list.csv.gz", "9223372036854775807\n", GNN_EFORMAT, "9223372036854775807 nodes"},
    {"raw/num-node-list.csv.gz", "4\n4\n", GNN_EUNSUPPORTED, "num-node-list: line 2: a second graph"},
    {"raw/num-node-list.csv.gz", "\n", GNN_EFORMAT, "num-node-list: no line holds"},
    {"raw/num-node-list.csv.gz", NULL, GNN_EIO, "num-node-list.csv.gz: No such file"},
    {"raw/node-label.csv.gz", "0\n2\n1,1\n0\n", GNN_EFORMAT,
     "node-label: line 3, column 2: one value per line is expected, got \"1\" too"},
    {"raw/node-label.csv.gz", "0\n2.5\nnan\n0\n", GNN_ENUMERIC, "node-label: line 3, column 1"},
    {"raw/node-label.csv.gz", "0\n70000\n1\n0\n", GNN_EFORMAT, "less than 65536, got \"70000\""},
    {"raw/node-label.csv.gz", "nan\nnan\n-1\nnan\n", GNN_EFORMAT, "node-label: no node has a class"},
    {"raw/edge.csv.gz", "0,1\n1,4\n", GNN_EFORMAT,
     "edge: line 2, column 2: node 4, there are 4 nodes"},
    {"raw/edge.csv.gz", "0,-1\n", GNN_EFORMAT, "edge: line 1, column 2: node -1, there are 4 nodes"},
    {"raw/edge.csv.gz", "0\n", GNN_EFORMAT, "edge: line 1: two node ids are expected, got one"},
    {"raw/edge.csv.gz", NULL, GNN_EIO, "edge.csv.gz: No such file"},
    {"split/time/train.csv.gz", "0\n0\n", GNN_EFORMAT,
     "train: line 2, column 1: node 0 is given twice"},
    {"raw/node-feat.csv.gz", "1,2\n3\n", GNN_EFORMAT,
     "node-feat: line 2: 1 values, the lines before have 2"},
    {"raw/node-feat.csv.gz", "1\n2\n3\n", GNN_EFORMAT, "node-feat: 3 lines, node-label has 4"},
    {"raw/node-feat.csv.gz", "1\n2\n-inf\n4\n", GNN_ENUMERIC,
     "node-feat: line 3, column 1: a number is expected, \"-inf\" is not finite"},
    {"split/time/valid.csv.gz", "4\n", GNN_EFORMAT,
     "valid: line 1, column 1: node 4, there are 4 nodes"},
    {"split/time/test.csv.gz", "1\n3\n", GNN_EFORMAT, "test: line 2, column 1: node 3 has no class"},
    {"split/time/train.csv.gz", NULL, GNN_EIO, "train.csv.gz: No such file"},
};

START_TEST(wrong_ogb_folders_are_named)
{
    ck_refused(write_ogb(ogb_wrong[_i].part, ogb_wrong[_i].text), "", ogb_wrong[_i].code,
               ogb_wrong[_i].words);
}
END_TEST

START_TEST(parts_of_ogb_that_contradict)
{
    char path[512];
    snprintf(path, sizeof path, "%s", write_ogb(NULL, NULL));
    write_text("tiny_ogb/raw/edge.csv", "0,1\n");
    ck_refused(path, "", GNN_EFORMAT, "raw/edge.csv: is there with and without .gz");
    remove(in_folder("tiny_ogb/raw/edge.csv"));
    write_text("tiny_ogb/raw/num-edge-list.csv", "7\n");
    ck_refused(path, "", GNN_EFORMAT, "num-edge-list: line 1, column 1: 7 edges, edge has ");
}
END_TEST

/* ---- gzip ---- */

START_TEST(damaged_gzip)
{
    unsigned char packed[256];
    size_t n = pack("0 1\n1 2\n2 3\n", 12, packed, sizeof packed);
    for (size_t cut = 2; cut < n; cut++)
        ck_refused(write_bytes("g.edges.gz", packed, cut), "g.edges.gz: ", GNN_EFORMAT, "is cut off");
    memcpy(packed + n, "more", 4);
    ck_refused(write_bytes("g.edges.gz", packed, n + 4), "g.edges.gz: ", GNN_EFORMAT,
               "damaged gzip data");
    packed[n - 6] ^= 1;
    ck_refused(write_bytes("g.edges.gz", packed, n), "g.edges.gz: ", GNN_EFORMAT,
               "incorrect data check");
}
END_TEST

/* ---- GraphML ---- */

#if GNN_WITH_IGRAPH
#define GRAPH(inside) \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">" inside "</graphml>"

static const struct {
    const char *text, *words;
} graphml[] = {
    {"<graphml><graph>", "igraph: Line 1"},
    {"<html><body/></html>", "is a page of the web"},
    {GRAPH(""), "g.graphml: an element <graph> is expected, there is none"},
    {GRAPH("<!-- <graph/> --><x/>"), "an element <graph> is expected"},
    {GRAPH("<graph><node id=\"a\"/><node id=\"b\"/><hyperedge/></graph>"),
     "line 1: a hyperedge, links of two nodes are read"},
    {GRAPH("<graph><node id=\"a\"/><node id=\"a\"/></graph>"),
     "2 elements <node> have 1 ids: an id is given twice"},
    {GRAPH("<key id=\"w\" for=\"all\" attr.name=\"weight\" attr.type=\"double\"/>"
           "<graph><node id=\"a\"/></graph>"),
     "line 1: a key \"weight\" for all elements"},
    {GRAPH("<key id='w' attr.name='weight' attr.type='double'/><graph><node id=\"a\"/></graph>"),
     "line 1: a key \"weight\" for all elements"},
    {GRAPH("<key attr.name=\"weight\" attr.type=\"double\" for=\"edge\" id=\"w\"/><graph>"
           "<node id=\"a\"/><edge source=\"a\" target=\"a\">\n<data key=\"w\"> 0X10</data>"
           "</edge></graph>"),
     "line 2: a weight in decimal digits is expected"},
    {GRAPH("<graph edgedefault=\"undirected\"></graph>"), "no node"},
    {GRAPH("<graph><node id=\"a\"></graph>"), "igraph: Line 1: Opening and ending tag mismatch"},
    {"<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n" GRAPH("<graph/>"),
     "line 1: a document type"},
    {"<?xml version=\"1.0\" encoding=\"UTF-7\"?>" GRAPH("<graph/>"),
     "line 1: an encoding other than UTF-8"},
};

START_TEST(wrong_graphml_is_refused)
{
    ck_refused(write_text("g.graphml", graphml[_i].text), "g.graphml: ", GNN_EFORMAT,
               graphml[_i].words);
}
END_TEST

/* igraph stores every attribute for every node: half a megabyte must not become gigabytes. */
START_TEST(graphml_with_oversized_counts_is_refused)
{
    enum { KEYS = 12000, NODES = 30000 };
    static char text[KEYS * 64 + NODES * 32];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "<graphml xmlns:g=\"http://graphml.graphdrawing.org/xmlns\">");
    for (int k = 0; k < KEYS; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "<g:key id=\"%d\" for=\"node\"/>", k);
    for (int k = 0; k < NODES; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "<g:node id=\"%d\"/>", k);
    ck_refused(write_bytes("g.graphml", text, at), "g.graphml: ", GNN_EFORMAT,
               "12000 attributes of 30000 nodes");
}
END_TEST
#endif

/* ---- CSV ---- */

static const struct {
    const char *features, *labels;
    int code;
    const char *words;
} csv[] = {
    {"1,0x2\n3,4\n5,6\n7,8\n", NULL, GNN_EFORMAT,
     "x.csv: line 1, column 2: a number is expected, got \"0x2\""},
    {"1,5;2\n3;4\n5;6\n7;8\n", NULL, GNN_EFORMAT,
     "x.csv: line 1, column 1: a number is expected, got \"1,5\""},
    {"id,node,a\n0,1,2\n1,2,3\n2,0,4\n", NULL, GNN_EFORMAT,
     "x.csv: line 1, column 1: two columns hold ids of nodes"},
    {NULL, "a\nNA\nb\n", GNN_EFORMAT, "y.csv: line 2, column 1: a class is expected, got \"NA\""},
    {NULL, "kind\na\nb\na\n", GNN_EFORMAT,
     "y.csv: one line more than the 3 nodes of the links, and no other line is \"kind\""},
    {"1,2\n3,nan\n5,6\n", NULL, GNN_ENUMERIC,
     "x.csv: line 2, column 2: a number is expected, \"nan\" is not finite"},
    {"nan,2\n3,4\n5,6\n", NULL, GNN_ENUMERIC,
     "x.csv: line 1, column 1: a number is expected, \"nan\" is not finite"},
    {"a,b\n1,2\n3,-Infinity\n5,6\n", NULL, GNN_ENUMERIC, "x.csv: line 3, column 2"},
    {"1,2\n3,1e400\n5,6\n", NULL, GNN_ENUMERIC,
     "x.csv: line 2, column 2: a number is expected, \"1e400\" is too large"},
    {"1,2\n3,x\n5,6\n", NULL, GNN_EFORMAT, "x.csv: line 2, column 2: a number is expected, got \"x\""},
    {"1,2\n3,\n5,6\n", NULL, GNN_EFORMAT,
     "x.csv: line 2, column 2: a number is expected, got nothing"},
    {"1,2\n3\n5,6\n", NULL, GNN_EFORMAT, "x.csv: line 2: 1 values, the lines before have 2"},
    {"1,2\n3,4\n\n5,6\n", NULL, GNN_EFORMAT, "x.csv: line 3 is blank"},
    {"1,\"2\n3\",4\n", NULL, GNN_EFORMAT,
     "x.csv: line 1, column 2: the quote does not end in its line"},
    {"1,\"2\"3\n", NULL, GNN_EFORMAT,
     "x.csv: line 1, column 2: there is more after the closing quote"},
    {"a,b\n", NULL, GNN_EFORMAT, "x.csv: there are no values after the header"},
    {"\n\n", NULL, GNN_EFORMAT, "x.csv: no line holds anything"},
    {"1\n2\n", NULL, GNN_ESHAPE, "x.csv: 2 nodes, e has 3"},
    {NULL, "0\n1\n", GNN_ESHAPE, "y.csv: 2 nodes, e has 3"},
    {"1\n2\n3\n", "0\n1\n1\n1\n", GNN_ESHAPE, "y.csv: labels of 4 nodes, x.csv has features of 3"},
    {NULL, "0\n1\n65536\n", GNN_EFORMAT,
     "y.csv: line 3, column 1: class 65536, less than 65536 is expected"},
    {NULL, "0\n1\n9223372036854775808\n", GNN_EFORMAT,
     "y.csv: line 3, column 1: a class is expected, \"9223372036854775808\" is too large"},
    {NULL, "0\n1,2\n0\n", GNN_EFORMAT,
     "y.csv: line 2, column 2: one class per line is expected, got \"2\" too"},
    {NULL, "0\n\n1\n1\n", GNN_EFORMAT, "y.csv: line 2 is blank"},
    {NULL, "-1\n-1\n-1\n", GNN_EFORMAT, "y.csv: no node has a class"},
    {NULL, "\"\"\n\"\"\n\"\"\n", GNN_EFORMAT, "y.csv: no node has a class"},
    {NULL, "a\nnan\nb\n", GNN_ENUMERIC,
     "y.csv: line 2, column 1: a class is expected, \"nan\" is not finite"},
    {NULL, "a\n\xc0\xaf\nb\n", GNN_EFORMAT, "y.csv: line 2, column 1: a class in UTF-8 is expected"},
};

/* Errors leave the set unchanged. */
START_TEST(wrong_csv_is_named)
{
    char features[512];
    gnn_data_t *data = opened(write_text("e.edges", "0 1\n1 2\n"));
    snprintf(features, sizeof features, "%s",
             write_text("x.csv", csv[_i].features ? csv[_i].features : ""));
    ck_fails(gnn_data_add_csv(data, csv[_i].features ? features : NULL,
                              csv[_i].labels ? write_text("y.csv", csv[_i].labels) : NULL),
             csv[_i].code, csv[_i].words);
    ck_assert_int_eq(gnn_data_nodes(data), 3);
    ck_assert_int_eq(gnn_data_features(data), 0);
    ck_assert_int_eq(gnn_data_classes(data), 0);
    ck_assert_int_eq(gnn_data_labels(data)[2], -1);
    ck_assert_ptr_null(gnn_data_class_names(data));
    gnn_data_free(data);
}
END_TEST

START_TEST(csv_without_a_set_or_a_path)
{
    gnn_data_t *data = opened(write_text("e.edges", "0 1\n"));
    ck_fails(gnn_data_add_csv(NULL, "x", "y"), GNN_EINVALID, "data is NULL");
    ck_fails(gnn_data_add_csv(data, NULL, NULL), GNN_EINVALID, "features and labels are NULL");
    gnn_data_free(data);
}
END_TEST

/* ---- every reader ---- */

typedef struct form {
    const char *name, *text, *partner, *partner_text;
} form_t;

static const form_t forms[] = {
    {"t.content", CONTENT, "t.cites", CITES},
    {"t.cites", CITES, "t.content", CONTENT},
    {"t.edges", "# x\n0 1 3\n1 2 5\n2 2 1\n", NULL, NULL},
    {"w.edges", "source;target\na;\"b;\"\"\"\n\"b;\"\"\";c\n", NULL, NULL},
    {"x.csv", "a,\"b\"\n1,2\n-3.5,4e-1\n0,0\n", NULL, NULL},
    {"y.csv", "label\n\"a\"\nb\na\n", NULL, NULL},
#if GNN_WITH_IGRAPH
    {"t.graphml", GRAPHML, NULL, NULL},
    {"t.gml", GML, NULL, NULL},
#endif
};
#define FORMS ((int)(sizeof forms / sizeof forms[0]))

/* Opens the form with these bytes, or adds them to a small set if it is CSV. *data is NULL on
 * failure of opening. */
static int open_form(const form_t *form, const char *path, gnn_data_t **data)
{
    static gnn_data_t *small;
    *data = NULL;
    if (!strstr(form->name, ".csv"))
        return gnn_data_open(data, path);
    char copy[512], links[512];
    snprintf(copy, sizeof copy, "%s", path);
    snprintf(links, sizeof links, "%s", in_folder("small.edges"));
    int rc = gnn_data_open(&small, links);
    if (rc == GNN_OK)
        rc = gnn_data_add_csv(small, form->name[0] == 'x' ? copy : NULL,
                              form->name[0] == 'y' ? copy : NULL);
    if (rc == GNN_OK)
        *data = small;
    else
        gnn_data_free(small);
    return rc;
}

static void write_partner(const form_t *form)
{
    write_text("small.edges", "0 1\n1 2\n");
    if (form->partner)
        write_text(form->partner, form->partner_text);
}

/* Whatever the bytes: a set that holds together, or a message. */
static bool good_or_refused(const form_t *form, const char *bytes, size_t n)
{
    gnn_data_t *data;
    int rc = open_form(form, write_bytes(form->name, bytes, n), &data);
    ck_assert_int_eq(rc == GNN_OK, data != NULL);
    if (rc != GNN_OK)
        ck_assert_msg(strstr(gnn_error_message(), form->name) ||
                          (form->partner && strstr(gnn_error_message(), form->partner)),
                      "\"%s\" names no file", gnn_error_message());
    else
        ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    gnn_data_free(data);
    return rc == GNN_OK;
}

START_TEST(truncated_at_every_byte)
{
    const form_t *form = &forms[_i];
    size_t n = strlen(form->text);
    int refused = 0;
    write_partner(form);
    for (size_t cut = 0; cut < n; cut++)
        refused += !good_or_refused(form, form->text, cut);
    ck_assert_int_gt(refused, 0);
    ck_assert(good_or_refused(form, form->text, n));
    if (strstr(form->name, "graphml"))
        ck_assert_int_ge(refused, (int)n - 2); /* all but the last line ending */
}
END_TEST

START_TEST(every_byte_changed)
{
    const form_t *form = &forms[_i];
    static const char instead[] = {'\0', '\n', '\t', ',', '"', '-', '9', '<', (char)0xff};
    char text[1024];
    size_t n = strlen(form->text);
    write_partner(form);
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < sizeof instead; c++) {
            memcpy(text, form->text, n);
            text[k] = instead[c];
            good_or_refused(form, text, n);
        }
}
END_TEST

START_TEST(every_allocation_fails_once)
{
    const form_t *form = &forms[_i];
    gnn_data_t *data = NULL;
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    write_partner(form);
    const char *path = write_text(form->name, form->text);
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = open_form(form, path, &data);
        gnn__fail_allocation(0);
        path = in_folder(form->name);
        ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !data), "allocation %d: %d, %s", (int)n,
                      rc, gnn_error_message());
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 10);
    gnn_data_free(data);
}
END_TEST

START_TEST(every_allocation_of_ogb_and_saving_fails_once)
{
    gnn_data_t *data = NULL;
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    write_ogb(NULL, NULL);
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = gnn_data_open(&data, in_folder("tiny_ogb"));
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || (rc == GNN_EMEMORY && !data));
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 30);
    rc = GNN_EMEMORY;
    for (n = 1; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = n % 2 ? gnn_data_save(data, in_folder("s.npz")) : gnn_data_standardise(data, -1);
        gnn__fail_allocation(0);
        if (n % 2 == 0)
            rc = GNN_EMEMORY;
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "%d: %s", rc, gnn_error_message());
    }
    ck_ok(rc);
    gnn_data_free(data);
}
END_TEST

START_TEST(unreadable_paths_are_errors)
{
    static const char *const names[] = {"t.content", "t.edges",  "t.graphml",
                                        "t.npz",     "t.csv.gz", "t"};
    gnn_data_t *data = (gnn_data_t *)1;
    write_text("t.cites", "a b\n");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        ck_refused(in_folder(names[k]), test_folder, GNN_EIO, "No such file");
        ck_assert_int_eq(mkfifo(in_folder(names[k]), 0600), 0);
        ck_refused(in_folder(names[k]), test_folder, GNN_EIO, "is a FIFO");
        ck_assert_int_eq(unlink(in_folder(names[k])), 0);
        ck_refused(write_text(names[k], ""), test_folder, GNN_EFORMAT, "is empty");
        ck_assert_int_eq(unlink(in_folder(names[k])), 0);
        ck_assert_int_eq(mkdir(in_folder(names[k]), 0700), 0);
        ck_refused(in_folder(names[k]), test_folder, GNN_EIO, "is a folder");
        ck_assert_int_eq(rmdir(in_folder(names[k])), 0);
    }
    ck_fails(gnn_data_open(&data, NULL), GNN_EINVALID, "path is NULL");
    ck_fails(gnn_data_open(NULL, "x"), GNN_EINVALID, "data is NULL");
}
END_TEST

START_TEST(a_huge_sparse_file_is_refused)
{
    const char *path = write_text("huge.edges", "0 1\n");
    if (truncate(path, (off_t)1 << 40) != 0)
        test_skip("a_huge_sparse_file_is_refused",
                  "the file system has no sparse files of a terabyte");
    else
        ck_refused(path, "huge.edges: ", GNN_EFORMAT,
                   "1099511627776 bytes, at most 8589934592 are read");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readers faults");
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 600);
#define LOOP(test, table) tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))
    LOOP(wrong_linqs_are_named, linqs);
    LOOP(wrong_edge_lists_are_named, edges);
    LOOP(wrong_ogb_folders_are_named, ogb_wrong);
    LOOP(wrong_csv_is_named, csv);
#if GNN_WITH_IGRAPH
    LOOP(wrong_graphml_is_refused, graphml);
    tcase_add_test(tests, graphml_with_oversized_counts_is_refused);
#endif
    tcase_add_test(tests, zero_bytes_are_refused);
    tcase_add_test(tests, parts_of_ogb_that_contradict);
    tcase_add_test(tests, damaged_gzip);
    tcase_add_test(tests, csv_without_a_set_or_a_path);
    tcase_add_loop_test(tests, truncated_at_every_byte, 0, FORMS);
    tcase_add_loop_test(tests, every_byte_changed, 0, FORMS);
    tcase_add_loop_test(tests, every_allocation_fails_once, 0, FORMS);
    tcase_add_test(tests, every_allocation_of_ogb_and_saving_fails_once);
    tcase_add_test(tests, unreadable_paths_are_errors);
    tcase_add_test(tests, a_huge_sparse_file_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
