/* Several types of nodes and edges: what graphs and data sets are made of them, and the blocks
 * against PyG (tests/pyg/hetero.py wrote the cases). */
#include <gnn/hetero.h>
#include <graphs/graph.h>
#include <graphs/hetero.h>
#include <lib/base/base.h>

#include "zoo_case.h"

/* ---- a small library: two authors, three papers, a venue ---- */

static const int64_t writes_src[] = {0, 1, 1}, writes_dst[] = {0, 0, 2}, has_src[] = {0, 0},
                     has_dst[] = {1, 2}, cites_src[] = {2, 0}, cites_dst[] = {1, 1};
static gnn_real_t author_x[] = {1, 2, 3, 4}, paper_x[] = {5, 6, 7};
static const int32_t paper_labels[] = {0, 1, 1};
static const int8_t paper_part[] = {GNN_TRAIN, GNN_VALIDATION, GNN_TEST};

static gnn_split_t *paper_split;

static void make_split(void)
{
    ck_ok(gnn_split_from_parts(&paper_split, 3, 1, paper_part));
}

static void free_split(void)
{
    gnn_split_free(paper_split);
}

typedef struct {
    gnn_tensor_t x[2];
    gnn_node_type_t types[3];
    gnn_relation_t relations[3];
    gnn_hetero_t all;
} library_t;

static void library(library_t *l)
{
    l->x[0] = gnn_tensor(author_x, 2, 2);
    l->x[1] = gnn_tensor(paper_x, 3, 1);
    l->types[0] = (gnn_node_type_t){.name = "author", .count = 2, .x = &l->x[0]};
    l->types[1] = (gnn_node_type_t){.name = "paper",
                                    .count = 3,
                                    .x = &l->x[1],
                                    .labels = gnn_ints(paper_labels),
                                    .split = paper_split};
    l->types[2] = (gnn_node_type_t){.name = "venue", .count = 1};
    l->relations[0] = (gnn_relation_t){
        "author", "writes", "paper", 3, gnn_ints(writes_src), gnn_ints(writes_dst)};
    l->relations[1] =
        (gnn_relation_t){"venue", "has", "paper", 2, gnn_ints(has_src), gnn_ints(has_dst)};
    l->relations[2] =
        (gnn_relation_t){"paper", "cites", "paper", 2, gnn_ints(cites_src), gnn_ints(cites_dst)};
    l->all = (gnn_hetero_t){l->types, 3, l->relations, 3};
}

/* The pairs that a graph should have, by edge id. */
static void same_edges(const gnn_graph_t *graph, int64_t m, const int64_t *src, const int64_t *dst)
{
    int64_t a[16], b[16], edge[16];
    ck_assert_int_eq(gnn_graph_n_edges(graph), m);
    ck_assert_int_le(m, 16);
    ck_ok(gnn_graph_pairs(graph, a, b, edge));
    for (int64_t k = 0; k < m; k++) {
        ck_assert_int_eq(a[k], src[edge[k]]);
        ck_assert_int_eq(b[k], dst[edge[k]]);
    }
    ck_ok(gnn__graph_validate(graph));
}

START_TEST(one_graph_has_a_part_for_each_relation)
{
    static const int64_t src[] = {0, 1, 1, 5, 5, 4, 2}, dst[] = {2, 2, 4, 3, 4, 3, 3};
    static const int32_t nodes[] = {0, 0, 1, 1, 1, 2}, edges[] = {0, 0, 0, 1, 1, 2, 2};
    int32_t node_class[6], edge_class[7];
    library_t l;
    gnn_graph_t *graph, *part, *alone;
    library(&l);
    ck_assert_int_eq(gnn__hetero_type(&l.all, "venue"), 2);
    ck_assert_int_eq(gnn__hetero_type(&l.all, "editor"), -1);
    ck_assert_str_eq(gnn_error_message(),
                     "there is no type \"editor\"; there are author, paper, venue");
    ck_ok(gnn_graph_hetero(&graph, &l.all, node_class, edge_class));
    ck_assert_int_eq(gnn_graph_n_parts(graph), 3);
    ck_assert_int_eq(gnn_graph_n_dst(graph), 6);
    same_edges(graph, 7, src, dst);
    ck_assert_mem_eq(node_class, nodes, sizeof nodes);
    ck_assert_mem_eq(edge_class, edges, sizeof edges);
    ck_ok(gnn_graph_part(&part, graph, 1));
    ck_assert_int_eq(gnn_graph_n_edges(part), 2);
    ck_ok(gnn_graph_relation(&alone, &l.all, 1));
    ck_assert_int_eq(gnn_graph_n_dst(alone), 3);
    ck_assert_int_eq(gnn_graph_n_src(alone), 1);
    same_edges(alone, 2, has_src, has_dst);
    gnn_graph_free(graph);
    gnn_graph_free(part);
    gnn_graph_free(alone);
}
END_TEST

/* Senders of papers: authors 0 and 1, the venue as 2, papers as 3 to 5. */
START_TEST(each_relation_has_its_own_senders)
{
    static const int64_t src[] = {0, 1, 1, 2, 2, 5, 3}, dst[] = {0, 0, 2, 1, 2, 1, 1};
    library_t l;
    gnn_graph_t *graph, *spans, *wrong = NULL;
    library(&l);
    ck_ok(gnn_graph_towards(&graph, &l.all, 1));
    ck_assert_int_eq(gnn_graph_n_dst(graph), 3);
    ck_assert_int_eq(gnn_graph_n_src(graph), 6);
    same_edges(graph, 7, src, dst);
    ck_ok(gnn_graph_complete(&spans, 1, (int64_t[]){3}));
    ck_assert_int_eq(gnn_graph_beside(&wrong, 2, (const gnn_graph_t *[]){graph, spans}),
                     GNN_EUNSUPPORTED);
    ck_assert_int_eq(gnn_graph_beside(&wrong, 0, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_graph_beside(&wrong, 1, (const gnn_graph_t *[]){NULL}), GNN_EINVALID);
    gnn_graph_free(graph);
    ck_ok(gnn_graph_towards(&graph, &l.all, 2));
    ck_assert_int_eq(gnn_graph_n_dst(graph), 1);
    ck_assert_int_eq(gnn_graph_n_src(graph), 0);
    ck_assert_int_eq(gnn_graph_beside(&wrong, 2, (const gnn_graph_t *[]){graph, spans}), GNN_ESHAPE);
    gnn_graph_free(graph);
    gnn_graph_free(spans);
    l.relations[2].dst = gnn_ints((const int64_t[]){1, 9}); /* is looked at where it is asked for */
    ck_ok(gnn_graph_relation(&graph, &l.all, 0));
    gnn_graph_free(graph);
    ck_assert_int_eq(gnn_graph_relation(&wrong, &l.all, 2), GNN_ETOPOLOGY);
    ck_assert_int_eq(gnn_graph_towards(&wrong, &l.all, 1), GNN_ETOPOLOGY);
    l.relations[2].to = "papers";
    ck_assert_int_eq(gnn_graph_towards(&wrong, &l.all, 0), GNN_ENOTFOUND);
    ck_assert_ptr_null(wrong);
}
END_TEST

static const struct {
    int code;
    const char *words;
} wrong[] = {
    {GNN_EINVALID, "types 0 and 1 have the same name \"paper\""},
    {GNN_ENOTFOUND, "relation 1: there is no type \"editor\"; there are author, paper, venue"},
    {GNN_ETOPOLOGY, "relation author writes paper: src[1] = 1, but there are 1 nodes of author"},
    {GNN_EINVALID, "expected at least one relation, got 0"},
    {GNN_EINVALID, "node type 2 of 3: expected a name, got none"},
    {GNN_EINVALID, "relation 2 from paper to paper"},
    {GNN_ESHAPE, "type paper has 3 nodes, its features 2 rows"},
    {GNN_ESHAPE, "type paper: a split of 2 rows for 3 nodes"}};

START_TEST(wrong_descriptions_are_refused)
{
    gnn_split_t *fewer;
    ck_ok(gnn_split_new(&fewer, 2, 1));
    library_t l;
    gnn_data_t *data = NULL;
    library(&l);
    switch (_i) {
    case 0: l.types[0].name = "paper"; break;
    case 1: l.relations[1].from = "editor"; break;
    case 2: l.types[0].count = 1; break;
    case 3: l.all.n_relations = 0; break;
    case 4: l.types[2].name = ""; break;
    case 5: l.relations[2].src.data = NULL; break;
    case 6: l.x[1].rows = 2; break;
    default: l.types[1].split = fewer;
    }
    ck_assert_int_eq(gnn_data_hetero(&data, &l.all), wrong[_i].code);
    ck_assert_msg(strstr(gnn_error_message(), wrong[_i].words) != NULL, "%s", gnn_error_message());
    ck_assert_ptr_null(data);
    gnn_split_free(fewer);
}
END_TEST

START_TEST(features_of_types_are_concatenated)
{
    static const gnn_real_t expected[] = {1, 2, 1, 0, 0, 0, 3, 4, 1, 0, 0, 0, 0, 0, 0, 5, 1, 0,
                                          0, 0, 0, 6, 1, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0, 1};
    gnn_real_t numbers[36];
    const gnn_tensor_t dense = gnn_tensor(numbers, 6, 6);
    library_t l;
    gnn_data_t *data;
    library(&l);
    ck_ok(gnn_data_hetero(&data, &l.all));
    ck_assert_int_eq(gnn_data_nodes(data), 6);
    ck_assert_int_eq(gnn_data_features(data), 6);
    ck_ok(gnn__sparse_to_dense(gnn_data_sparse(data), &dense));
    ck_assert_mem_eq(numbers, expected, sizeof numbers);
    ck_assert_int_eq(gnn_data_labels(data)[1], -1);
    ck_assert_int_eq(gnn_data_labels(data)[3], 1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_VALIDATION, 0)[3], 1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TEST, 0)[3], 0);
    ck_assert_int_eq((int)gnn_array_get(gnn_data_array_find(data, GNN_ON_NODES, "type"), 5), 2);
    ck_assert_int_eq((int)gnn_array_get(gnn_data_array_find(data, GNN_ON_EDGES, "relation"), 4), 1);
    gnn_data_free(data);
}
END_TEST

/* ---- against PyG ---- */

#define TYPES "author:5 paper:6 venue:3"
#define RELATIONS "author__writes__paper paper__cites__paper paper__is_by__author venue__has__paper"

static const char *const relations[][4] = {{"author", "writes", "paper", "author__writes__paper"},
                                           {"paper", "cites", "paper", "paper__cites__paper"},
                                           {"paper", "is_by", "author", "paper__is_by__author"},
                                           {"venue", "has", "paper", "venue__has__paper"}};
static const char *const types[] = {"author", "paper", "venue"};

/* Inputs of a case, and its description, whose arrays are the case's. */
static bool open_types(zoo_t *z, const char *name, gnn_node_type_t *of, gnn_relation_t *along)
{
    char array[96];
    if (!zoo_open_base(z, name))
        return false;
    for (int t = 0; t < 3; t++) {
        static const char *const inputs[] = {"x.author", "x.paper", "x.venue"};
        zoo_input(z, inputs[t]);
        of[t] = (gnn_node_type_t){.name = types[t], .count = z->tensors[t].rows};
    }
    for (int r = 0; r < 4; r++) {
        along[r] =
            (gnn_relation_t){.from = relations[r][0], .name = relations[r][1], .to = relations[r][2]};
        snprintf(array, sizeof array, "from.%s", relations[r][3]);
        along[r].src = gnn_ints(golden_integers(&z->g, array, &along[r].edges));
        snprintf(array, sizeof array, "to.%s", relations[r][3]);
        along[r].dst = gnn_ints(golden_integers(&z->g, array, NULL));
    }
    return true;
}

/* Both outputs one under another. */
static void stack_types(zoo_t *z)
{
    zoo_add(z, (gnn_step_t){.kind = GNN_STEP_STACK, .name = "y", .inputs = {"w.author", "w.paper"}});
}

START_TEST(hgt_matches_pyg)
{
    zoo_t z;
    gnn_node_type_t of[3];
    gnn_relation_t along[4];
    if (!open_types(&z, "pyg/hgt", of, along))
        return;
    const gnn_hetero_t all = {of, 3, along, 4};
    for (int t = 0; t < 3; t++)
        ck_ok(gnn_graph_towards(&z.graphs[z.n_graphs++], &all, t));
    zoo_block(&z, "hgt",
              (gnn_block_t){.out = zoo_cols(&z, "y"),
                            .heads = zoo_number(&z, "heads"),
                            .types = TYPES,
                            .relations = RELATIONS});
    stack_types(&z);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

static const struct {
    const char *name;
    const gnn_aggregator_t *const how;
} sums[] = {{"pyg/hetero_sum", NULL},
            {"pyg/hetero_mean", &gnn_aggregator_mean},
            {"pyg/hetero_max", &gnn_aggregator_max}};

START_TEST(hetero_conv_matches_pyg)
{
    zoo_t z;
    gnn_node_type_t of[3];
    gnn_relation_t along[4];
    if (!open_types(&z, sums[_i].name, of, along))
        return;
    const gnn_hetero_t all = {of, 3, along, 4};
    for (int r = 0; r < 4; r++)
        ck_ok(gnn_graph_relation(&z.graphs[z.n_graphs++], &all, r));
    zoo_block(&z, "hetero_conv",
              (gnn_block_t){.out = zoo_cols(&z, "y"),
                            .layer = {.preset = GNN_PRESET_SAGE},
                            .aggregators = {sums[_i].how},
                            .types = TYPES,
                            .relations = RELATIONS});
    stack_types(&z);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* A module of two HGTConv and a HeteroConv, as examples/from_pyg.py exports it, computes what it
 * computed in PyG. */
START_TEST(a_whole_module_matches_pyg)
{
    golden_t g;
    gnn_model_t *model;
    gnn_graph_t *graphs[16];
    gnn_named_t values[3];
    gnn_tensor_t x[3];
    gnn_edge_list_t edges[4] = {{0}};
    char array[96];
    if (!golden_open(&g, "pyg/hetero"))
        return;
    ck_ok(gnn_model_load(&model, g.context, GNN_SOURCE_ROOT "/tests/pyg/hetero.safetensors"));
    ck_assert_int_eq(gnn_model_input_count(model), 3);
    for (int t = 0; t < 3; t++) {
        snprintf(array, sizeof array, "x_dict.%s", types[t]);
        x[t] = golden_tensor(&g, array);
        values[t] = (gnn_named_t){.name = gnn_arrays_find(g.arrays, array)->name, .dense = &x[t]};
    }
    for (int r = 0; r < 4; r++) {
        gnn_edge_list_t *e = &edges[r];
        e->name = relations[r][3];
        for (int t = 0; t < 3; t++) {
            e->n_src += strcmp(types[t], relations[r][0]) == 0 ? x[t].rows : 0;
            e->n_dst += strcmp(types[t], relations[r][2]) == 0 ? x[t].rows : 0;
        }
        snprintf(array, sizeof array, "from.%s", e->name);
        e->src = gnn_ints(golden_integers(&g, array, &e->n_edges));
        snprintf(array, sizeof array, "to.%s", e->name);
        e->dst = gnn_ints(golden_integers(&g, array, NULL));
    }
    const int slots = gnn_model_graph_count(model);
    ck_assert_int_le(slots, 16);
    gnn_slot_sources_t sources = {.edges = edges, .n_edges = 3};
    ck_assert_int_eq(gnn_model_graphs(model, &sources, GNN_OFF, graphs), GNN_ENOTFOUND);
    ck_assert_msg(strstr(gnn_error_message(), "no edges \"venue__has__paper\" are given") != NULL,
                  "%s", gnn_error_message());
    sources.n_edges = 4;
    ck_ok(gnn_model_graphs(model, &sources, GNN_OFF, graphs));
    const gnn_array_t *y = golden_array(&g, "y");
    const gnn_tensor_t out = gnn_tensor(golden_reals(&g, y->count), y->shape[0], y->shape[1]);
    ck_ok(gnn_model_forward(
        model, g.context,
        &(gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, slots, values, 3}, &out));
    golden_same(&g, "y", &out, 1e-5);
    for (int k = 0; k < slots; k++)
        gnn_graph_free(graphs[k]);
    gnn_model_free(model);
    golden_close(&g);
}
END_TEST

/* ---- settings ---- */

static const struct {
    const char *types, *relations, *words;
    int64_t heads;
} refused[] = {
    {NULL, "a__r__a", "block w needs .types", 1},
    {"a:2", NULL, "block w needs .relations", 1},
    {"a:2", "  ", "block w: .relations is empty", 1},
    {"a:2 b:x", "a__r__b", ".types: the width of \"b\" (NAME:WIDTH, or .width) is 0", 1},
    {"a:2 b", "a__r__b", ".types: the width of \"b\" (NAME:WIDTH, or .width) is 0", 1},
    {"a:2 a:3", "a__r__a", ".types: \"a:3\": a name of 1 to 160 characters that comes once", 1},
    {"a:2 b:3", "a__r__c", ".relations: \"a__r__c\": FROM__NAME__TO with two of .types", 1},
    {"a:2 b:3", "a__b", ".relations: \"a__b\": FROM__NAME__TO with two of .types", 1},
    {"a:2 b:3", "a__r__b a__r__b", ".relations: \"a__r__b\" comes twice", 1},
    {"a:2", "a__r__a", "block w needs .heads that divide .out", 3}};

START_TEST(invalid_settings_are_refused)
{
    gnn_steps_t *steps;
    const gnn_block_t b = {.name = "w",
                           .out = 4,
                           .heads = refused[_i].heads,
                           .types = refused[_i].types,
                           .relations = refused[_i].relations};
    ck_ok(gnn_steps_new(&steps));
    ck_assert_int_eq(gnn_steps_block(steps, "hgt", &b), GNN_EINVALID);
    ck_assert_msg(strstr(gnn_error_message(), refused[_i].words) != NULL, "%s", gnn_error_message());
    gnn_steps_free(steps);
}
END_TEST

/* Twelve relations to one type are more than one step stacks; names may hold "__" themselves. */
START_TEST(many_relations_and_names_with_underscores)
{
    char list[400] = "";
    gnn_steps_t *steps;
    gnn_model_t *model;
    gnn_context_t *context;
    for (int r = 0; r < 12; r++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "the__one__r%d__other ", r);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_block(
        steps, "hetero_linear",
        &(gnn_block_t){.name = "in", .out = 4, .types = "the__one:3 other:2", .relations = list}));
    ck_ok(gnn_steps_block(steps, "hgt",
                          &(gnn_block_t){.name = "w",
                                         .input = "in",
                                         .width = 4,
                                         .heads = 2,
                                         .types = "the__one other",
                                         .relations = list}));
    ck_ok(gnn_model_build(&model, context, steps));
    int64_t k = gnn_model_find(model, "w.heard.other");
    ck_assert_int_ge(k, 0);
    ck_assert_str_eq(gnn_model_step(model, k)->key, "w.keys.other:1");
    ck_assert_int_eq(gnn_model_width(model, gnn_model_find(model, "w.other")), 4);
    ck_assert_int_eq(gnn_model_find(model, "w.the__one"), -1);
    gnn_model_free(model);
    gnn_steps_free(steps);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hetero");
    TCase *c = tcase_create("hetero");
    tcase_add_checked_fixture(c, make_split, free_split);
    tcase_set_timeout(c, 600);
    tcase_add_test(c, one_graph_has_a_part_for_each_relation);
    tcase_add_test(c, each_relation_has_its_own_senders);
    tcase_add_loop_test(c, wrong_descriptions_are_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, features_of_types_are_concatenated);
    tcase_add_test(c, hgt_matches_pyg);
    tcase_add_loop_test(c, hetero_conv_matches_pyg, 0, sizeof sums / sizeof *sums);
    tcase_add_test(c, a_whole_module_matches_pyg);
    tcase_add_loop_test(c, invalid_settings_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(c, many_relations_and_names_with_underscores);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
