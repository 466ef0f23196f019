/* Heterogeneous samples: contents, independence of threads, equality with the whole graph for full
 * fan-outs, and refusals. */
#include "support.h"

#include <graphs/graph.h>
#include <lib/data/data.h>
#include <string.h>

enum { AUTHORS = 60, PAPERS = 200, VENUES = 5, WRITES = 700, CITES = 900, TYPES = 3, ALONG = 5 };

#define RELATIONS                                                                       \
    "author__writes__paper paper__is_by__author paper__cites__paper venue__has__paper " \
    "paper__in__venue"

typedef struct {
    int64_t src[ALONG][CITES], dst[ALONG][CITES];
    gnn_node_type_t types[TYPES];
    gnn_relation_t relations[ALONG];
    gnn_hetero_t all;
} library_t;

static const char *const names[] = {"author", "paper", "venue"};
static const int64_t counts[] = {AUTHORS, PAPERS, VENUES};
static const int from[] = {0, 1, 1, 2, 1}, to[] = {1, 0, 1, 1, 2};
static const int64_t edges[] = {WRITES, WRITES, CITES, PAPERS, PAPERS};

static int64_t draw_below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

static void library(library_t *l)
{
    static const char *const relation[] = {"writes", "is_by", "cites", "has", "in"};
    uint64_t state = 7;
    for (int t = 0; t < TYPES; t++)
        l->types[t] = (gnn_node_type_t){.name = names[t], .count = counts[t]};
    for (int r = 0; r < ALONG; r++) {
        for (int64_t k = 0; k < edges[r]; k++) {
            l->src[r][k] = draw_below(&state, counts[from[r]]);
            l->dst[r][k] = r == 3 ? k : draw_below(&state, counts[to[r]]);
        }
        l->relations[r] =
            (gnn_relation_t){names[from[r]], relation[r],         names[to[r]],
                             edges[r],       gnn_ints(l->src[r]), gnn_ints(l->dst[r])};
    }
    l->all = (gnn_hetero_t){l->types, TYPES, l->relations, ALONG};
}

static const int64_t everything[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                     few[] = {3, 2, 4, 1, 2, 2, 1, 2, 0, 3};

static gnn_hetero_sample_t *drawn(const library_t *l, gnn_hetero_sampler_t **sampler,
                                  gnn_hetero_sampler_config_t config, gnn_context_t *context,
                                  int64_t n_seeds, const int32_t *seeds, int64_t batch)
{
    gnn_hetero_sample_t *sample;
    ck_ok(gnn_hetero_sampler_new(sampler, &l->all, &config));
    ck_ok(gnn_hetero_sample_new(&sample, *sampler));
    ck_ok(gnn_hetero_sample_draw(sample, context, 1, n_seeds, seeds, 2, batch));
    return sample;
}

/* Drawn pairs are distinct edges of the relation, as many as the fan-out or all. */
START_TEST(edges_belong_to_the_relation_and_respect_fan_outs)
{
    static library_t l;
    static const int32_t seeds[] = {5, 17, 42, 199};
    const bool replace = _i == 1;
    gnn_hetero_sampler_t *sampler;
    library(&l);
    gnn_hetero_sample_t *s = drawn(
        &l, &sampler,
        (gnn_hetero_sampler_config_t){
            .block = "hetero_conv", .hops = 2, .fan_outs = few, .replace = replace ? GNN_ON : GNN_OFF},
        NULL, 4, seeds, 0);
    int64_t count;
    ck_assert_mem_eq(gnn_hetero_sample_nodes(s, 1, &count), seeds, sizeof seeds);
    ck_assert_int_gt(count, 4);
    ck_assert_ptr_null(gnn_hetero_sample_nodes(s, 3, &count));
    ck_assert_ptr_null(gnn_hetero_sample_edges(s, -1, &count));
    ck_assert_ptr_null(gnn_hetero_sample_graph(s, ALONG));
    for (int r = 0; r < ALONG; r++) {
        int64_t m, n_to, n_from, heard[PAPERS] = {0}, degree[PAPERS] = {0}, times[CITES] = {0};
        const int64_t *number = gnn_hetero_sample_edges(s, r, &m);
        const int32_t *a = gnn_hetero_sample_nodes(s, from[r], &n_from),
                      *b = gnn_hetero_sample_nodes(s, to[r], &n_to);
        gnn_graph_t *graph = gnn_hetero_sample_graph(s, r);
        int64_t src[4 * CITES], dst[4 * CITES], edge[4 * CITES];
        ck_assert_int_eq(gnn_graph_n_edges(graph), m);
        ck_assert_int_eq(gnn_graph_n_dst(graph), n_to);
        ck_assert_int_eq(gnn_graph_n_src(graph), n_from);
        ck_assert_int_le(m, 4 * CITES);
        ck_ok(gnn__graph_validate(graph));
        ck_ok(gnn_graph_pairs(graph, src, dst, edge));
        for (int64_t k = 0; k < edges[r]; k++)
            degree[l.dst[r][k]]++;
        for (int64_t k = 0; k < m; k++) {
            ck_assert_int_eq(a[src[k]], l.src[r][number[edge[k]]]);
            ck_assert_int_eq(b[dst[k]], l.dst[r][number[edge[k]]]);
            ck_assert(replace || times[number[edge[k]]]++ == 0);
            heard[dst[k]]++;
        }
        /* Seeds have the fan-out of the first hop, other nodes that of the second. */
        for (int64_t i = 0; i < n_to; i++) {
            const bool seed = to[r] == 1 && i < 4;
            const int64_t most = few[(seed ? 0 : ALONG) + r], d = degree[b[i]];
            if (heard[i] > 0 || seed)
                ck_assert_int_eq(heard[i], replace ? (d > 0 ? most : 0) : d < most ? d : most);
        }
    }
    gnn_hetero_sample_free(s);
    gnn_hetero_sampler_free(sampler);
}
END_TEST

static bool same(const gnn_hetero_sample_t *a, const gnn_hetero_sample_t *b)
{
    bool equal = true;
    for (int t = 0; t < TYPES; t++) {
        int64_t n, m;
        const int32_t *x = gnn_hetero_sample_nodes(a, t, &n), *y = gnn_hetero_sample_nodes(b, t, &m);
        equal = equal && n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
    }
    for (int r = 0; r < ALONG; r++) {
        int64_t n, m;
        const int64_t *x = gnn_hetero_sample_edges(a, r, &n), *y = gnn_hetero_sample_edges(b, r, &m);
        equal = equal && n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
    }
    return equal;
}

START_TEST(draws_do_not_depend_on_the_thread_count)
{
    static library_t l;
    int32_t seeds[PAPERS];
    gnn_hetero_sampler_t *samplers[3];
    gnn_hetero_sample_t *samples[3];
    gnn_context_t *context;
    library(&l);
    for (int k = 0; k < PAPERS; k++)
        seeds[k] = (k * 7) % PAPERS;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 4}));
    const gnn_hetero_sampler_config_t config = {
        .block = "rgcn", .hops = 2, .fan_outs = few, .seed = 11};
    for (int k = 0; k < 3; k++)
        samples[k] = drawn(&l, &samplers[k], config, k == 1 ? context : NULL, 150, seeds, k == 2);
    ck_assert(same(samples[0], samples[1]));
    ck_assert(!same(samples[0], samples[2]));
    /* Room that held another batch draws the same; another seed another. */
    ck_ok(gnn_hetero_sample_draw(samples[2], context, 1, 150, seeds, 2, 0));
    ck_assert(same(samples[0], samples[2]));
    gnn_hetero_sample_free(samples[2]);
    gnn_hetero_sampler_free(samplers[2]);
    gnn_hetero_sampler_config_t other = config;
    other.seed = 12;
    samples[2] = drawn(&l, &samplers[2], other, NULL, 150, seeds, 0);
    ck_assert(!same(samples[0], samples[2]));
    for (int k = 0; k < 3; k++) {
        gnn_hetero_sample_free(samples[k]);
        gnn_hetero_sampler_free(samplers[k]);
    }
    gnn_context_free(context);
}
END_TEST

/* ---- models ---- */

enum { WIDTH = 6 };

/* Two of the block over a map of each type. */
static gnn_model_t *two_hops(gnn_context_t *context, const char *block)
{
    const bool all = strcmp(block, "rgcn") == 0;
    gnn_steps_t *steps;
    gnn_model_t *model;
    gnn_block_t b = {.width = WIDTH, .out = WIDTH};
    ck_ok(gnn_steps_new(&steps));
    if (all) {
        b.hops = ALONG;
        ck_ok(gnn_steps_add(
            steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "in", .in = 3, .out = WIDTH}));
    } else {
        if (strcmp(block, "hgt") == 0)
            b.heads = 2;
        else
            b.layer = (gnn_layer_config_t){.preset = GNN_PRESET_SAGE};
        b.types = strcmp(block, "hgt") == 0 ? "author paper venue" : "author:6 paper:6 venue:6";
        b.relations = RELATIONS;
        ck_ok(gnn_steps_block(steps, "hetero_linear",
                              &(gnn_block_t){.name = "in",
                                             .out = WIDTH,
                                             .types = "author:3 paper:3 venue:3",
                                             .relations = RELATIONS}));
    }
    b.name = "one";
    b.input = "in";
    ck_ok(gnn_steps_block(steps, block, &b));
    b.name = "two";
    b.input = "one";
    ck_ok(gnn_steps_block(steps, block, &b));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                             .name = "out",
                                             .inputs = {all ? "two" : "two.paper"},
                                             .in = WIDTH,
                                             .out = 2}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* Features of a type, or of some of its nodes. */
static gnn_tensor_t features(int type, int64_t count, const int32_t *nodes)
{
    gnn_real_t *x = calloc((size_t)count * 3, sizeof *x);
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < 3; c++)
            x[3 * k + c] = (gnn_real_t)sin((double)((nodes ? nodes[k] : k) * 3 + c + 50 * type));
    return gnn_tensor(x, count, 3);
}

/* The model's output on these graphs, (rows x 2) to be freed; features one type after another for
 * "rgcn". */
static gnn_real_t *run(const gnn_model_t *model, gnn_context_t *context, gnn_graph_t *const *graphs,
                       gnn_tensor_t x[TYPES], int64_t *rows)
{
    static const char *const value[] = {"x.author", "x.paper", "x.venue"};
    const int slots = gnn_model_graph_count(model);
    const bool all = gnn_model_find(model, "two.paper") < 0;
    int64_t n = 0;
    gnn_real_t *joined = calloc((size_t)(AUTHORS + PAPERS + VENUES) * 3, sizeof *joined);
    gnn_named_t values[TYPES];
    for (int t = 0; t < TYPES; t++) {
        memcpy(joined + 3 * n, x[t].data, (size_t)x[t].rows * 3 * sizeof *joined);
        n += x[t].rows;
        values[t] = (gnn_named_t){.name = value[t], .dense = &x[t]};
    }
    const gnn_tensor_t whole = gnn_tensor(joined, n, 3);
    if (all)
        values[0] = (gnn_named_t){.name = "x", .dense = &whole};
    for (int k = 0; k < slots; k++)
        ck_ok(gnn_model_prepare(model, k, graphs[k], GNN_OFF));
    *rows = all ? n : x[1].rows;
    gnn_real_t *out = calloc((size_t)*rows * 2, sizeof *out);
    const gnn_tensor_t y = gnn_tensor(out, *rows, 2);
    ck_ok(gnn_model_forward(
        model, context,
        &(gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, slots, values, all ? 1 : TYPES},
        &y));
    free(joined);
    for (int t = 0; t < TYPES; t++)
        free(x[t].data);
    return out;
}

static const char *const blocks[] = {"rgcn", "hetero_conv", "hgt"};

START_TEST(full_fan_outs_equal_the_whole_graph)
{
    static library_t l;
    static const int32_t seeds[] = {42, 5, 133};
    gnn_hetero_sampler_t *sampler;
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_graph_t *whole[ALONG], *part[ALONG];
    gnn_tensor_t x[TYPES];
    int64_t rows, first = 0, first_whole = 0;
    library(&l);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 9}));
    gnn_model_t *model = two_hops(context, blocks[_i]);
    const int slots = gnn_model_graph_count(model);
    ck_ok(gnn_data_hetero_for(&data, &l.all, blocks[_i], _i == 0 ? NULL : "paper"));
    ck_assert_int_eq(slots, data->n_slots);
    gnn_hetero_sample_t *s =
        drawn(&l, &sampler,
              (gnn_hetero_sampler_config_t){.block = blocks[_i], .hops = 2, .fan_outs = everything},
              context, 3, seeds, 0);
    for (int k = 0; k < slots; k++) {
        whole[k] = gnn_data_graph_at(data, k);
        part[k] = gnn_hetero_sample_graph(s, k);
    }
    for (int t = 0; t < TYPES; t++)
        x[t] = features(t, counts[t], NULL);
    gnn_real_t *expected = run(model, context, whole, x, &rows);
    for (int t = 0; t < TYPES; t++) {
        int64_t count;
        const int32_t *nodes = gnn_hetero_sample_nodes(s, t, &count);
        x[t] = features(t, count, nodes);
        first += _i == 0 && t < 1 ? count : 0;
        first_whole += _i == 0 && t < 1 ? counts[t] : 0;
    }
    gnn_real_t *found = run(model, context, part, x, &rows);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++)
            ck_assert_double_eq_tol((double)found[2 * (first + k) + c],
                                    (double)expected[2 * (first_whole + seeds[k]) + c], 1e-5);
    free(expected);
    free(found);
    gnn_hetero_sample_free(s);
    gnn_hetero_sampler_free(sampler);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(invalid_draws_are_refused)
{
    static library_t l;
    static const int64_t below[] = {1, 1, -2, 1, 1};
    const int32_t twice[] = {3, 3}, beyond[] = {PAPERS};
    gnn_hetero_sampler_t *sampler = NULL;
    gnn_hetero_sample_t *s;
    int64_t count;
    library(&l);
    gnn_hetero_sampler_config_t c = {.block = "hgt", .hops = 1, .fan_outs = few};
    ck_fails(gnn_hetero_sampler_new(&sampler, NULL, &c), GNN_EINVALID, "hetero");
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, NULL), GNN_EINVALID, "config");
    c.block = "gcn";
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_ENOTFOUND, "hetero_conv");
    c.block = "hgt";
    c.hops = 0;
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_EINVALID,
             "hops: expected at least 1 and fan_outs, got 0");
    c.hops = 1;
    c.fan_outs = NULL;
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_EINVALID, "fan_outs is NULL");
    c.fan_outs = below;
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_EINVALID,
             "hop 0, relation 2: fan-out -2");
    c.fan_outs = few;
    c.replace = (gnn_flag_t)9;
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_EINVALID, "replace = 9");
    c.replace = GNN_OFF;
    l.dst[1][0] = AUTHORS;
    ck_fails(gnn_hetero_sampler_new(&sampler, &l.all, &c), GNN_ETOPOLOGY, "dst[0] = 60");
    l.dst[1][0] = 0;
    ck_assert_ptr_null(sampler);
    ck_ok(gnn_hetero_sampler_new(&sampler, &l.all, &c));
    ck_ok(gnn_hetero_sample_new(&s, sampler));
    ck_assert_ptr_null(gnn_hetero_sample_graph(s, 0));
    ck_fails(gnn_hetero_sample_draw(s, NULL, 3, 1, twice, 0, 0), GNN_EINVALID,
             "expected a type 0 to 2, got 3");
    ck_fails(gnn_hetero_sample_draw(s, NULL, 1, 0, twice, 0, 0), GNN_EINVALID,
             "the count of nodes, got 0");
    ck_fails(gnn_hetero_sample_draw(s, NULL, 2, 6, twice, 0, 0), GNN_EINVALID,
             "the count of nodes, got 6");
    ck_fails(gnn_hetero_sample_draw(s, NULL, 1, 2, twice, 0, 0), GNN_EINVALID,
             "is a duplicate of seeds[0]");
    ck_fails(gnn_hetero_sample_draw(s, NULL, 1, 1, beyond, 0, 0), GNN_EINVALID, "seeds[0] = 200");
    ck_fails(gnn_hetero_sample_draw(s, NULL, 1, 1, twice, -1, 0), GNN_EINVALID,
             "2^32 - 1, got -1 and 0");
    ck_assert_ptr_nonnull(gnn_hetero_sample_nodes(s, 1, &count));
    ck_assert_int_eq(count, 0);
    ck_ok(gnn_hetero_sample_draw(s, NULL, 1, 1, twice, 0, 0));
    ck_assert_ptr_nonnull(gnn_hetero_sample_graph(s, 2));
    gnn_hetero_sample_free(s);
    gnn_hetero_sample_free(NULL);
    gnn_hetero_sampler_free(sampler);
    gnn_hetero_sampler_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hetero_sample");
    TCase *c = tcase_create("hetero_sample");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, edges_belong_to_the_relation_and_respect_fan_outs, 0, 2);
    tcase_add_test(c, draws_do_not_depend_on_the_thread_count);
    tcase_add_loop_test(c, full_fan_outs_equal_the_whole_graph, 0, 3);
    tcase_add_test(c, invalid_draws_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
