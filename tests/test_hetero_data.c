/* Learning on several types of nodes and edges: batches of one's own, and data sets that gnn_train
 * takes, with a graph for each slot of the model. */
#include "members.h"

#include <gnn/hetero_sample.h>
#include <lib/data/data.h>

enum { AUTHORS = 40, PAPERS = 120, WRITTEN = 3 };

/* A paper's class depends on its authors alone: the kind of the majority. */
typedef struct {
    gnn_real_t author[AUTHORS], paper[PAPERS];
    gnn_tensor_t x[2];
    int64_t src[PAPERS * WRITTEN], dst[PAPERS * WRITTEN];
    int32_t labels[PAPERS];
    uint8_t masks[2][PAPERS];
    gnn_graph_t *graphs[2];
    gnn_named_t values[2];
} papers_t;

static void draw(papers_t *p)
{
    for (int a = 0; a < AUTHORS; a++)
        p->author[a] = a % 2 ? 1 : -1;
    for (int k = 0; k < PAPERS; k++) {
        int kind = 0;
        p->paper[k] = 1;
        for (int w = 0; w < WRITTEN; w++) {
            const int author = (k * 7 + w * w * 5 + k / 11) % AUTHORS;
            p->src[k * WRITTEN + w] = author;
            p->dst[k * WRITTEN + w] = k;
            kind += author % 2 ? 1 : -1;
        }
        p->labels[k] = kind > 0;
        p->masks[k % 2][k] = 1;
    }
    const gnn_node_type_t of[] = {{.name = "author", .count = AUTHORS},
                                  {.name = "paper", .count = PAPERS}};
    const gnn_relation_t along = {"author",         "writes",         "paper",
                                  PAPERS * WRITTEN, gnn_ints(p->src), gnn_ints(p->dst)};
    const gnn_hetero_t all = {of, 2, &along, 1};
    for (int t = 0; t < 2; t++)
        ck_ok(gnn_graph_towards(&p->graphs[t], &all, t));
    p->x[0] = gnn_tensor(p->author, AUTHORS, 1);
    p->x[1] = gnn_tensor(p->paper, PAPERS, 1);
    p->values[0] = (gnn_named_t){.name = "x.author", .dense = &p->x[0]};
    p->values[1] = (gnn_named_t){.name = "x.paper", .dense = &p->x[1]};
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    papers_t *p = user;
    (void)epoch;
    (void)index;
    batch->inputs = (gnn_model_inputs_t){(const gnn_graph_t *const *)p->graphs, 2, p->values, 2};
    batch->loss = (gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY,
                               .labels = p->labels,
                               .mask = p->masks[part == GNN_TRAIN ? 0 : 1]};
    return GNN_OK;
}

START_TEST(a_heterogeneous_model_learns_from_the_other_type)
{
    static papers_t p;
    gnn_context_t *context;
    gnn_steps_t *steps;
    gnn_model_t *model;
    gnn_train_result_t result;
    const gnn_source_t source = {.get = get, .count = {1, 1, 0}, .user = &p};
    const char *const along = "author__writes__paper";
    draw(&p);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 3}));
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_block(steps, "hetero_linear",
                          &(gnn_block_t){.name = "in",
                                         .out = 8,
                                         .types = "author:1 paper:1",
                                         .relations = along,
                                         .layer = {.activation = GNN_RELU}}));
    ck_ok(gnn_steps_block(steps, "hgt",
                          &(gnn_block_t){.name = "hgt",
                                         .input = "in",
                                         .width = 8,
                                         .heads = 2,
                                         .types = "author paper",
                                         .relations = along}));
    ck_ok(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "out", .inputs = {"hgt.paper"}, .in = 8, .out = 2}));
    ck_ok(gnn_model_build(&model, context, steps));
    for (int t = 0; t < 2; t++)
        ck_ok(gnn_model_prepare(model, t, p.graphs[t], GNN_ON));
    ck_ok(gnn_train_batches(model, context, &source,
                            &(gnn_train_config_t){.epochs = 100, .optimizer.lr = (gnn_real_t)0.01},
                            &result));
    ck_assert_double_ge(result.validation_metric, 0.95);
    gnn_graph_free(p.graphs[0]);
    gnn_graph_free(p.graphs[1]);
    gnn_model_free(model);
    gnn_steps_free(steps);
    gnn_context_free(context);
}
END_TEST

/* ---- the same from a data set ---- */

/* A description of a random graph; the arrays are owned by `p`. */
typedef struct {
    gnn_node_type_t types[2];
    gnn_relation_t along[2];
    gnn_hetero_t all;
    gnn_split_t *split;
    int64_t back_src[PAPERS], back_dst[PAPERS];
} described_t;

static void describe(described_t *d, papers_t *p)
{
    int8_t part[PAPERS];
    for (int k = 0; k < PAPERS; k++) {
        part[k] = p->masks[0][k] ? GNN_TRAIN : k % 4 == 1 ? GNN_VALIDATION : GNN_TEST;
        d->back_src[k] = k;
        d->back_dst[k] = (k + 1) % PAPERS;
    }
    ck_ok(gnn_split_from_parts(&d->split, PAPERS, 1, part));
    d->types[0] = (gnn_node_type_t){.name = "author", .count = AUTHORS, .x = &p->x[0]};
    d->types[1] = (gnn_node_type_t){.name = "paper",
                                    .count = PAPERS,
                                    .x = &p->x[1],
                                    .labels = gnn_ints(p->labels),
                                    .split = d->split};
    d->along[0] = (gnn_relation_t){"author",         "writes",         "paper",
                                   PAPERS * WRITTEN, gnn_ints(p->src), gnn_ints(p->dst)};
    d->along[1] = (gnn_relation_t){
        "paper", "cites", "paper", PAPERS, gnn_ints(d->back_src), gnn_ints(d->back_dst)};
    d->all = (gnn_hetero_t){d->types, 2, d->along, 2};
}

#define ALONG "author__writes__paper paper__cites__paper"

/* One linear map of each type, the block, and classes of papers; of "rgcn" one map of all. */
static gnn_model_t *typed_model(gnn_context_t *context, const char *block)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    const bool all = strcmp(block, "rgcn") == 0;
    gnn_block_t b = {.name = "b", .input = "in", .width = 8, .out = 8};
    ck_ok(gnn_steps_new(&steps));
    if (all) {
        b.hops = b.rows = 2;
        ck_ok(gnn_steps_add(
            steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "in", .in = 4, .out = 8}));
    } else {
        if (strcmp(block, "hgt") == 0)
            b.heads = 2;
        else
            b.layer = (gnn_layer_config_t){.preset = GNN_PRESET_SAGE};
        b.types = strcmp(block, "hgt") == 0 ? "author paper" : "author:8 paper:8";
        b.relations = ALONG;
        ck_ok(gnn_steps_block(steps, "hetero_linear",
                              &(gnn_block_t){.name = "in",
                                             .out = 8,
                                             .types = "author:1 paper:1",
                                             .relations = ALONG,
                                             .layer = {.activation = GNN_RELU}}));
    }
    ck_ok(gnn_steps_block(steps, block, &b));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                             .name = "out",
                                             .inputs = {all ? "b" : "b.paper"},
                                             .in = 8,
                                             .out = 2}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

static const char *const typed_blocks[] = {"rgcn", "hetero_conv", "hgt"};

/* gnn_train takes the set as it takes any other; weights are those of gnn_train_batches on the same
 * graphs and features, bit for bit. */
START_TEST(gnn_train_runs_heterogeneous_sets)
{
    static papers_t p;
    static described_t d;
    const char *block = typed_blocks[_i], *type = _i == 0 ? NULL : "paper";
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_train_result_t result, again;
    gnn_train_memory_t memory;
    double test;
    const gnn_train_config_t config = {.epochs = 60, .optimizer.lr = (gnn_real_t)0.02};
    draw(&p);
    describe(&d, &p);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 3}));
    ck_ok(gnn_data_hetero_for(&data, &d.all, block, type));
    ck_assert_int_eq(data->n_slots, 2);
    ck_assert_int_eq(gnn_data_nodes(data), _i == 0 ? AUTHORS + PAPERS : PAPERS);
    ck_assert_ptr_null(gnn_data_graph_at(data, 2));
    gnn_model_t *model = typed_model(context, block);
    ck_assert_int_eq(gnn_model_graph_count(model), 2);
    ck_ok(gnn_train_memory(model, context, data, &config, &memory));
    ck_assert_uint_gt(memory.views, 0);
    ck_ok(gnn_train(model, context, data, &config, &result));
    ck_assert_double_ge(result.validation_metric, 0.9);
    ck_ok(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &test));
    ck_assert_double_ge(test, 0.85);
    gnn_real_t *numbers = calloc((size_t)gnn_data_nodes(data) * 2, sizeof *numbers);
    const gnn_tensor_t out = gnn_tensor(numbers, gnn_data_nodes(data), 2);
    ck_ok(gnn_predict(model, context, data, &out));
    int right = 0, count = 0;
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        if (gnn_data_mask(data, GNN_TEST, 0)[i]) {
            right += (numbers[2 * i + 1] > numbers[2 * i]) == gnn_data_labels(data)[i];
            count++;
        }
    ck_assert_double_eq_tol(test, (double)right / count, 1e-12);
    if (type) {
        for (int t = 0; t < 2; t++)
            gnn_graph_free(p.graphs[t]);
        for (int k = 0; k < 2; k++)
            ck_ok(_i == 1 ? gnn_graph_relation(&p.graphs[k], &d.all, k)
                          : gnn_graph_towards(&p.graphs[k], &d.all, k));
        memset(p.masks[1], 0, sizeof p.masks[1]);
        for (int k = 0; k < PAPERS; k++)
            p.masks[1][k] = gnn_split_mask(d.split, GNN_VALIDATION, 0)[k];
        gnn_context_set_seed(context, 3);
        gnn_model_t *other = typed_model(context, block);
        for (int k = 0; k < 2; k++)
            ck_ok(gnn_model_prepare(other, k, p.graphs[k], GNN_ON));
        const gnn_source_t source = {.get = get, .count = {1, 1, 0}, .user = &p};
        ck_ok(gnn_train_batches(other, context, &source, &config, &again));
        int64_t length, length_too;
        const gnn_real_t *a = gnn_parameters_block(gnn_model_parameters(model), 0, &length),
                         *b = gnn_parameters_block(gnn_model_parameters(other), 0, &length_too);
        ck_assert_int_eq(length, length_too);
        ck_assert_mem_eq(a, b, sizeof *a * (size_t)length);
        ck_assert_int_eq(again.best_epoch, result.best_epoch);
        gnn_model_free(other);
    }
    for (int t = 0; t < 2; t++)
        gnn_graph_free(p.graphs[t]);
    free(numbers);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_split_free(d.split);
    gnn_context_free(context);
}
END_TEST

/* One call on typed samples: with every sender of two hops and all seeds at once it learns as on
 * the whole graph, and in small samples it learns, too. */
START_TEST(gnn_train_runs_typed_samples)
{
    static papers_t p;
    static described_t d;
    const char *block = typed_blocks[_i], *type = _i == 0 ? NULL : "paper";
    static const int64_t all[4] = {-1, -1, -1, -1}, few[4] = {3, 1, 2, 1};
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_train_result_t whole, sampled;
    gnn_train_config_t config = {.epochs = 40, .optimizer.lr = (gnn_real_t)0.02};
    draw(&p);
    describe(&d, &p);
    ck_ok(gnn_data_hetero_for(&data, &d.all, block, type));
    for (int kind = 0; kind < 3; kind++) {
        gnn_hetero_sampler_t *sampler;
        ck_ok(gnn_hetero_sampler_new(
            &sampler, &d.all,
            &(gnn_hetero_sampler_config_t){
                .block = block, .hops = 2, .fan_outs = kind < 2 ? all : few}));
        const gnn_typed_sampling_t typed = {.hetero = &d.all,
                                            .sampler = sampler,
                                            .type = "paper",
                                            .batch = kind < 2 ? 0 : 16,
                                            .seed = 5};
        ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 3}));
        gnn_model_t *model = typed_model(context, block);
        config.typed = kind ? &typed : NULL;
        ck_ok(gnn_train(model, context, data, &config, kind ? &sampled : &whole));
        if (kind == 1)
            ck_assert_double_eq_tol(sampled.validation_loss, whole.validation_loss, 0.02);
        if (kind == 2)
            ck_assert_double_ge(sampled.validation_metric, 0.9);
        config.drop_edge = (gnn_real_t)0.5;
        if (kind)
            ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EUNSUPPORTED,
                     "training on typed samples takes no drop_edge");
        config.drop_edge = 0;
        gnn_model_free(model);
        gnn_context_free(context);
        gnn_hetero_sampler_free(sampler);
    }
    for (int t = 0; t < 2; t++)
        gnn_graph_free(p.graphs[t]);
    gnn_data_free(data);
    gnn_split_free(d.split);
}
END_TEST

/* ---- settings of typed samples ---- */

static gnn_data_t *set_of_papers;

static int run_typed(const void *config, uint64_t *sum)
{
    gnn_context_t *context;
    int64_t count;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3}));
    gnn_model_t *model = typed_model(context, "hetero_conv");
    const int rc =
        gnn_train(model, context, set_of_papers,
                  &(gnn_train_config_t){.epochs = 2, .watch = GNN_WATCH_NONE, .typed = config}, NULL);
    const gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &count);
    digest(sum, block, (size_t)count * sizeof *block);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

#define OF(member) MEMBER(gnn_typed_sampling_t, member)
static const member_t of_typed[] = {OF(hetero), OF(sampler), OF(type), OF(batch), OF(seed)};
#undef OF

/* A sampler of another description would name nodes that the set does not have. */
START_TEST(settings_of_typed_samples_are_read)
{
    static papers_t p;
    static described_t d;
    static const int64_t few[4] = {3, 1, 2, 1}, fewer[4] = {1, 1, 1, 1};
    gnn_hetero_sampler_t *sampler[2];
    uint64_t sum;
    draw(&p);
    describe(&d, &p);
    ck_ok(gnn_data_hetero_for(&set_of_papers, &d.all, "hetero_conv", "paper"));
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_hetero_sampler_new(&sampler[k], &d.all,
                                     &(gnn_hetero_sampler_config_t){.block = "hetero_conv",
                                                                    .hops = 2,
                                                                    .fan_outs = k ? fewer : few}));
    gnn_node_type_t types[2] = {d.types[0], d.types[1]};
    types[0].count++;
    gnn_hetero_t other_hetero = {types, 2, d.all.relations, d.all.n_relations};
    const gnn_typed_sampling_t base = {&d.all, sampler[0], "paper", 16, 5},
                               other = {&other_hetero, sampler[1], "author", 9, 6};
    ck_members("typed samples", run_typed, &base, &other, of_typed,
               sizeof of_typed / sizeof *of_typed, sizeof base);
    gnn_typed_sampling_t wrong = base;
    wrong.hetero = &other_hetero;
    ck_fails(run_digested(run_typed, &wrong, &sum), GNN_EINVALID,
             "type author has 41 nodes in .hetero and 40 in the sampler");
    other_hetero = (gnn_hetero_t){d.types, 2, d.all.relations, 1};
    ck_fails(run_digested(run_typed, &wrong, &sum), GNN_EINVALID,
             "the sampler is of 2 types and 2 relations, .hetero has 2 and 1");
    gnn_relation_t relations[2] = {d.all.relations[0], d.all.relations[1]};
    relations[1].edges--;
    other_hetero = (gnn_hetero_t){d.types, 2, relations, 2};
    ck_fails(run_digested(run_typed, &wrong, &sum), GNN_EINVALID,
             "relation 1 has other types or edges in the sampler than in .hetero");
    for (int k = 0; k < 2; k++)
        gnn_hetero_sampler_free(sampler[k]);
    for (int t = 0; t < 2; t++)
        gnn_graph_free(p.graphs[t]);
    gnn_data_free(set_of_papers);
    gnn_split_free(d.split);
}
END_TEST

START_TEST(unsupported_calls_on_heterogeneous_sets_are_refused)
{
    static papers_t p;
    static described_t d;
    gnn_context_t *context;
    gnn_data_t *data = NULL;
    gnn_graph_t *few;
    double value;
    draw(&p);
    describe(&d, &p);
    ck_ok(gnn_context_new(&context, NULL));
    ck_fails(gnn_data_hetero_for(&data, &d.all, "gcn", "paper"), GNN_ENOTFOUND,
             "no block of types is called \"gcn\"; there are rgcn, hetero_conv, hgt");
    ck_fails(gnn_data_hetero_for(&data, &d.all, "hgt", NULL), GNN_EINVALID, "one type of nodes");
    ck_fails(gnn_data_hetero_for(&data, &d.all, "rgcn", "paper"), GNN_EINVALID, "expected type NULL");
    ck_fails(gnn_data_hetero_for(&data, &d.all, "hgt", "editor"), GNN_ENOTFOUND, "\"editor\"");
    ck_fails(gnn_data_hetero_for(&data, NULL, "hgt", "paper"), GNN_EINVALID, "hetero");
    gnn_split_t *fewer;
    ck_ok(gnn_split_new(&fewer, PAPERS - 1, 1));
    d.types[1].split = fewer;
    ck_fails(gnn_data_hetero_for(&data, &d.all, "hgt", "paper"), GNN_ESHAPE,
             "type paper: a split of 119 rows for 120 nodes");
    d.types[1].split = d.split;
    gnn_split_free(fewer);
    p.x[0].rows = 3;
    ck_fails(gnn_data_hetero_for(&data, &d.all, "hgt", "paper"), GNN_ESHAPE,
             "type author has 40 nodes, its features 3 rows");
    p.x[0].rows = AUTHORS;
    ck_assert_ptr_null(data);
    ck_ok(gnn_data_hetero_for(&data, &d.all, "hgt", "paper"));
    gnn_model_t *model = typed_model(context, "hgt");
    ck_fails(gnn_data_reorder(data), GNN_EUNSUPPORTED, "graphs for 2 slots");
    ck_fails(gnn_data_save(data, "never.npz"), GNN_EUNSUPPORTED, "cannot be saved");
    ck_fails(gnn_train(model, context, data,
                       &(gnn_train_config_t){.sampling = &(gnn_sampling_t){.batch = 4}}, NULL),
             GNN_EUNSUPPORTED, "samples on a set with graphs for 2 slots");
    ck_fails(
        gnn_train(model, context, data, &(gnn_train_config_t){.drop_edge = (gnn_real_t)0.5}, NULL),
        GNN_EUNSUPPORTED, "dropped edges and nodes on a set");
    ck_fails(gnn_data_graphs_set(data, -1, NULL), GNN_EINVALID, "-1 graphs");
    ck_fails(gnn_data_graphs_set(data, 1, NULL), GNN_EINVALID, "gnn_data_graphs_set: graphs is NULL");
    ck_fails(gnn_data_graphs_set(data, 1, (gnn_graph_t *[]){NULL}), GNN_EINVALID, "slot 0 is NULL");
    ck_assert_int_eq(data->n_slots, 2);
    gnn_graph_t *three[3];
    for (int k = 0; k < 3; k++)
        ck_ok(gnn_graph_relation(&three[k], &d.all, k % 2));
    ck_ok(gnn_data_graphs_set(data, 3, three));
    ck_fails(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EINVALID, "the model runs on 2 graph slots, the set has graphs for 3");
    ck_ok(gnn_graph_relation(&few, &d.all, 1));
    ck_ok(gnn_data_graphs_set(data, 1, &few));
    ck_assert_ptr_eq(gnn_data_graph_at(data, 0), few);
    ck_ok(gnn_data_graphs_set(data, 0, NULL));
    ck_assert_int_eq(data->n_slots, 0);
    ck_fails(gnn_data_save(data, "never.npz"), GNN_EUNSUPPORTED, "array x.author has rows per type");
    for (int t = 0; t < 2; t++)
        gnn_graph_free(p.graphs[t]);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_split_free(d.split);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hetero_data");
    TCase *c = tcase_create("hetero_data");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, a_heterogeneous_model_learns_from_the_other_type);
    tcase_add_loop_test(c, gnn_train_runs_heterogeneous_sets, 0, 3);
    tcase_add_loop_test(c, gnn_train_runs_typed_samples, 0, 3);
    tcase_add_test(c, settings_of_typed_samples_are_read);
    tcase_add_test(c, unsupported_calls_on_heterogeneous_sets_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
