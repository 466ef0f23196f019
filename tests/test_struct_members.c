/* Settings of sets, of samples, of views, of contexts and of batches: every member of their structs
 * is obeyed, known to be harmless, or refused by name, in each way in which the struct is used. */
#include "members.h"
#include "published.h"
#include "readers.h"

#include <gnn/collection.h>
#include <gnn/links.h>
#include <gnn/partition.h>
#include <gnn/sample.h>
#include <graphs/graph.h>
#include <lib/data/data.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void digest_set(uint64_t *sum, const gnn_data_t *data)
{
    char text[600];
    int64_t n = gnn_data_nodes(data), m = gnn_graph_n_pairs(gnn_data_graph(data)),
            *ends = calloc((size_t)(3 * m + 1), sizeof *ends);
    gnn_data_describe(data, text, sizeof text);
    digest(sum, text, strlen(text));
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), ends, ends + m, ends + 2 * m));
    digest(sum, ends, (size_t)(3 * m) * sizeof *ends);
    digest(sum, gnn_data_labels(data), (size_t)n * sizeof(int32_t));
    for (int part = 0; part < 3; part++)
        digest(sum, gnn_data_mask(data, part, 0), (size_t)n);
    for (int64_t k = 0; k < data->n_arrays; k++) {
        const gnn_array_t *a = gnn_data_array_at(data, k, NULL);
        digest(sum, a->data, (size_t)a->count * gnn__element(a->dtype)->size);
    }
    if (gnn_data_x(data))
        digest(sum, gnn_data_x(data)->data,
               (size_t)(n * gnn_data_features(data)) * sizeof(gnn_real_t));
    if (gnn_data_sparse(data))
        digest(sum, gnn_data_sparse(data)->indices, sizeof(int32_t));
    for (int64_t c = 0; gnn_data_class_names(data) && c < gnn_data_classes(data); c++)
        digest(sum, gnn_data_class_names(data)[c], strlen(gnn_data_class_names(data)[c]) + 1);
    free(ends);
}

/* ---- gnn_data_config_t ---- */

enum { NODES = 5, EDGES = 4 };
static const int32_t src[EDGES] = {0, 1, 2, 3}, dst[EDGES] = {1, 2, 3, 0},
                     other_ends[EDGES] = {4, 4, 1, 1}, labels[NODES] = {0, 1, 0, 1, 1},
                     other_labels[NODES] = {1, 1, 0, 0, 0};
static gnn_real_t numbers[4 * NODES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const gnn_tensor_t features = {numbers, NODES, 2, 2}, edge_features = {numbers, EDGES, 2, 2};
static const int64_t starts[NODES + 1] = {0, 1, 1, 1, 1, 1};
static const int32_t columns[1] = {2};
static const gnn_sparse_t sparse = {.rows = NODES, .cols = 4, .indptr = starts, .indices = columns};
static const char *const names[] = {"dog", "cat"};
static int released;

static void release(void *user)
{
    (void)user;
    released++;
}
static const gnn_owner_t owner = {release, NULL};

static int run_data(const void *config, uint64_t *sum)
{
    gnn_data_t *data;
    gnn_data_config_t c = *(const gnn_data_config_t *)config;
    const int before = released;
    const int rc = gnn_data_new(&data, &c);
    if (rc != GNN_OK)
        return rc;
    digest_set(sum, data);
    if (c.graph) /* it is needed again */
        ck_assert_ptr_eq(gnn_data_graph(data), c.graph);
    gnn_graph_t *copy = NULL;
    if (c.graph)
        ck_ok(gnn_graph_to_edges(&copy, c.graph));
    gnn_data_free(data);
    if (copy)
        ((gnn_data_config_t *)(uintptr_t)config)->graph = copy;
    digest(sum, &(int){released - before}, sizeof(int));
    return GNN_OK;
}

#define ITS(member) MEMBER(gnn_data_config_t, member)
static const member_t of_data[] = {
    ITS(name),        ITS(graph),  ITS(nodes), ITS(edges),        ITS(src),    ITS(dst),
    ITS(both_ways),   ITS(weight), ITS(x),     ITS(sparse),       ITS(labels), ITS(classes),
    ITS(class_names), ITS(split),  ITS(owner), ITS(edge_features)};
#undef ITS

START_TEST(a_set_of_arrays)
{
    gnn_split_t *split;
    gnn_graph_t *graph;
    ck_ok(gnn_split_draw(&split, labels, NODES, &(gnn_split_rule_t){.train_share = 0.4, .seed = 9}));
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, EDGES, src, dst));
    const gnn_data_config_t base = {.nodes = NODES,
                                    .edges = EDGES,
                                    .src = gnn_ints(src),
                                    .dst = gnn_ints(dst),
                                    .labels = gnn_ints(labels)},
                            other = {.name = "other",
                                     .graph = graph,
                                     .nodes = NODES - 1,
                                     .edges = EDGES - 1,
                                     .src = gnn_ints(other_ends),
                                     .dst = gnn_ints(other_ends),
                                     .both_ways = GNN_ON,
                                     .weight = numbers,
                                     .x = &features,
                                     .sparse = &sparse,
                                     .labels = gnn_ints(other_labels),
                                     .classes = 4,
                                     .class_names = names,
                                     .split = split,
                                     .owner = &owner,
                                     .edge_features = &edge_features};
    gnn_data_config_t wider = base;
    gnn_data_t *data;
    ck_members("arrays", run_data, &base, &other, of_data, COUNT(of_data), sizeof base);
    wider.labels = (gnn_ints_t){0};
    wider.class_names = names;
    ck_fails(gnn_data_new(&data, &wider), GNN_EINVALID, ".class_names are given");
    wider.classes = 2;
    ck_ok(gnn_data_new(&data, &wider));
    ck_assert_str_eq(gnn_data_class_names(data)[1], "cat");
    gnn_data_free(data);
    gnn_graph_free(graph);
    gnn_split_free(split);
}
END_TEST

/* Counts of a graph that is given agree with it; edges come from it alone. */
START_TEST(a_set_of_a_graph)
{
    gnn_graph_t *graph;
    gnn_data_t *data;
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, EDGES, src, dst));
    const gnn_data_config_t refused[] = {{.nodes = NODES + 1},
                                         {.edges = EDGES + 1},
                                         {.src = gnn_ints(src)},
                                         {.dst = gnn_ints(dst)},
                                         {.both_ways = GNN_ON}};
    for (size_t k = 0; k < COUNT(refused); k++) {
        gnn_data_config_t config = refused[k];
        config.graph = graph;
        ck_fails(gnn_data_new(&data, &config), GNN_EINVALID, "got both");
    }
    ck_ok(gnn_data_new(
        &data,
        &(gnn_data_config_t){.graph = graph, .nodes = NODES, .edges = EDGES, .both_ways = GNN_OFF}));
    gnn_data_free(data);
}
END_TEST

/* ---- gnn_open_config_t ---- */

#define ITS(member) MEMBER(gnn_open_config_t, member)
static const member_t of_open[] = {ITS(limits), ITS(directed)};
#undef ITS
#define ITS(member) MEMBER(gnn_limits_t, member)
static const member_t of_limits[] = {ITS(max_bytes), ITS(max_entries), ITS(max_ratio),
                                     ITS(max_growth)};
#undef ITS

static const char *path_of_set;

static int run_open(const void *config, uint64_t *sum)
{
    gnn_data_t *data;
    GNN_TRY(gnn_data_open_as(&data, path_of_set, config));
    digest_set(sum, data);
    gnn_data_free(data);
    return GNN_OK;
}

/* A limit that is too low is refused by its meaning, not by its name. */
static void ck_limit(const char *path, gnn_limits_t limits, const char *words)
{
    gnn_data_t *data = NULL;
    const int rc = gnn_data_open_as(&data, path, &(gnn_open_config_t){.limits = &limits});
    if (words)
        ck_fails(rc, GNN_EFORMAT, words);
    else
        ck_ok(rc);
    gnn_data_free(data);
}

START_TEST(opening_a_file)
{
    static char path[600], text[1 << 14];
    const gnn_open_config_t base = {0},
                            other = {.limits = &(gnn_limits_t){.max_bytes = 2}, .directed = GNN_ON};
    gnn_data_t *data;
    ck_complete(of_open, COUNT(of_open), sizeof(gnn_open_config_t));
    ck_complete(of_limits, COUNT(of_limits), sizeof(gnn_limits_t));
    path_of_set = strcpy(path, write_text("links.edges", "0 1\n0 1\n1 2\n2 2\n"));
    uint64_t before, after;
    ck_ok(run_digested(run_open, &base, &before));
    ck_ok(run_digested(run_open, &(gnn_open_config_t){.directed = GNN_OFF}, &after));
    ck_assert_uint_eq(before, after);
    ck_ok(run_digested(run_open, &(gnn_open_config_t){.directed = other.directed}, &after));
    ck_assert_uint_ne(before, after);
    ck_limit(path, *other.limits, "at most 2 are read");
    ck_limit(path, (gnn_limits_t){.max_entries = 1, .max_ratio = 1, .max_growth = 1}, NULL);
    for (size_t k = 0; k + 4 < sizeof text; k += 4)
        memcpy(text + k, "0 1\n", 4);
    const char *packed = write_packed("links.edges.gz", text);
    ck_limit(packed, (gnn_limits_t){0}, NULL);
    ck_limit(packed, (gnn_limits_t){.max_bytes = 1000}, "more than 1000 bytes unpacked");
    ck_limit(packed, (gnn_limits_t){.max_ratio = 2}, "(max_ratio)");
    ck_ok(gnn_data_open(&data, path));
    gnn_real_t weights[] = {1, 2, 1, 2};
    ck_ok(gnn_data_array_set(data, GNN_ON_EDGES,
                             &(gnn_array_t){"weight", GNN__REAL_DTYPE, 1, {4}, 4, weights}));
    ck_ok(gnn_data_save(data, in_folder("saved.npz")));
    ck_limit(in_folder("saved.npz"), (gnn_limits_t){.max_bytes = 20}, "bytes");
    ck_limit(in_folder("saved.npz"), (gnn_limits_t){.max_entries = 2}, "entries");
    ck_limit(in_folder("saved.npz"), (gnn_limits_t){.max_growth = 1}, NULL); /* beyond 64 MiB */
    gnn_data_free(data);
}
END_TEST

/* Links that are always read as stored. */
START_TEST(links_that_keep_their_direction)
{
    static char folder[600];
    gnn_partition_t *partition;
    gnn_data_t *data, *again;
    const gnn_open_config_t both = {.directed = GNN_OFF}, stored = {.directed = GNN_ON};
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = NODES,
                                                   .edges = EDGES,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .x = &features,
                                                   .labels = gnn_ints(labels)}));
    ck_ok(gnn_data_save(data, in_folder("stored.npz")));
    ck_fails(gnn_data_open_as(&again, in_folder("stored.npz"), &both), GNN_EUNSUPPORTED,
             "messages: edges are read as stored, and .directed is GNN_OFF");
    ck_ok(gnn_data_open_as(&again, in_folder("stored.npz"), &stored));
    gnn_data_free(again);
    ck_ok(gnn_partition_new(&partition, data,
                            &(gnn_partition_config_t){.parts = 1, .method = "range"}));
    ck_ok(gnn_partition_write(partition, data, strcpy(folder, in_folder("parts"))));
    ck_fails(gnn_data_open_as(&again, folder, &both), GNN_EUNSUPPORTED,
             "a folder of parts: edges are read as stored");
    ck_ok(gnn_data_open_as(&again, folder, &stored));
    gnn_data_free(again);
    gnn_partition_free(partition);
    gnn_data_free(data);
}
END_TEST

/* ---- gnn_sampler_config_t and gnn_sampling_t ---- */

static gnn_data_t *town;

static void open_town(void)
{
    enum { N = 40, M = 160 };
    static int64_t a[M], b[M];
    static int32_t of[N];
    gnn_real_t *x = test_reals(N * 3, 5);
    const gnn_tensor_t rows = gnn_tensor(x, N, 3);
    uint64_t state = 4;
    for (int k = 0; k < M; k++) {
        a[k] = test_below(&state, N);
        b[k] = test_below(&state, N);
    }
    for (int i = 0; i < N; i++)
        of[i] = i % 3;
    ck_ok(gnn_data_new(&town, &(gnn_data_config_t){.nodes = N,
                                                   .edges = M,
                                                   .src = gnn_ints(a),
                                                   .dst = gnn_ints(b),
                                                   .both_ways = GNN_ON,
                                                   .x = &rows,
                                                   .labels = gnn_ints(of)}));
    free(x);
}

#define ITS(member) MEMBER(gnn_sampler_config_t, member)
static const member_t of_sampler[] = {
    ITS(method),      ITS(hops),   ITS(fan_outs),   ITS(replace),  ITS(weight),
    ITS(walk_length), ITS(rounds), ITS(cluster_of), ITS(clusters), ITS(batch),
    ITS(seed),        ITS(roots),  ITS(n_roots)};
#undef ITS

static int run_sampler(const void *config, uint64_t *sum)
{
    static const int32_t seeds[] = {3, 17, 8, 30};
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    GNN_TRY(gnn_sampler_new(&sampler, gnn_data_graph(town), config));
    ck_ok(gnn_sample_new(&sample, sampler));
    ck_ok(gnn_sample_draw(sample, NULL, COUNT(seeds), seeds, 1, 0));
    for (int64_t l = 0; l < gnn_sampler_graphs(sampler); l++) {
        const gnn_graph_t *graph = gnn_sample_graph(sample, l);
        const int64_t m = gnn_graph_n_edges(graph);
        digest(sum, gnn_sample_edges(sample, l), (size_t)m * sizeof(int64_t));
        if (gnn_sample_edge_scale(sample, l))
            digest(sum, gnn_sample_edge_scale(sample, l), (size_t)m * sizeof(gnn_real_t));
    }
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    return GNN_OK;
}

static const int64_t fan_outs[] = {3, 2}, other_fan_outs[] = {1, 2};
static const int32_t roots[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

START_TEST(samplers)
{
    static gnn_real_t weight[2 * 160];
    static int32_t clusters[40], other_clusters[40];
    for (int k = 0; k < 2 * 160; k++)
        weight[k] = (gnn_real_t)(k % 3);
    for (int i = 0; i < 40; i++) {
        clusters[i] = i / 4;
        other_clusters[i] = i / 3;
    }
    gnn_sampler_config_t base[] = {
        {.method = "neighbours", .hops = 2, .fan_outs = fan_outs},
        {.method = "around", .hops = 2, .fan_outs = fan_outs},
        {.method = "layerwise", .hops = 2, .fan_outs = fan_outs},
        {.method = "walk", .rounds = 7, .batch = 5, .roots = roots, .n_roots = COUNT(roots) - 2},
        {.method = "cluster", .cluster_of = clusters}};
    for (size_t k = 0; k < COUNT(base); k++) {
        const bool walks = strcmp(base[k].method, "walk") == 0;
        member_t members[COUNT(of_sampler)];
        const gnn_sampler_config_t other = {.method = k == 1 ? "neighbours" : "around",
                                            .hops = 1,
                                            .fan_outs = other_fan_outs,
                                            .replace = GNN_ON,
                                            .weight = weight,
                                            .walk_length = 3,
                                            .rounds = 9,
                                            .cluster_of = other_clusters,
                                            .clusters = 3,
                                            .batch = 9,
                                            .seed = 11,
                                            .roots = roots + 2,
                                            .n_roots = walks ? 9 : 3};
        memcpy(members, of_sampler, sizeof members);
        for (size_t m = 0; m < COUNT(of_sampler); m++) /* clusters that are given are not drawn */
            members[m].harmless = base[k].cluster_of && strcmp(members[m].name, "seed") == 0;
        if (walks || base[k].cluster_of) /* other methods refuse the other settings, or need some */
            members[0].name = "sampler \"around\"";
        ck_members(base[k].method, run_sampler, &base[k], &other, members, COUNT(members),
                   sizeof other);
    }
}
END_TEST

static gnn_model_t *town_model(gnn_context_t *context, bool pairs)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_SAGE(.in = 3, .out = 3)}));
    if (pairs)
        ck_ok(gnn_steps_block(steps, "link_dot", &(gnn_block_t){.name = "score", .width = 3}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* The weights after two epochs. */
static int train_town(const gnn_train_config_t *config, bool pairs, uint64_t *sum)
{
    gnn_context_t *context;
    int64_t count;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3}));
    gnn_model_t *model = town_model(context, pairs);
    const int rc = gnn_train(model, context, town, config, NULL);
    const gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &count);
    digest(sum, block, (size_t)count * sizeof *block);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

static int run_nodes(const void *config, uint64_t *sum)
{
    return train_town(
        &(gnn_train_config_t){.epochs = 2, .watch = GNN_WATCH_NONE, .sampling = config}, false, sum);
}

#define ITS(member) MEMBER(gnn_sampling_t, member)
static const member_t of_sampling[] = {ITS(sampler), ITS(batch), HARMLESS(gnn_sampling_t, prefetch)},
                      of_pair_sampling[] = {ITS(sampler), ITS(batch), ITS(prefetch)};
#undef ITS

START_TEST(samples_of_nodes)
{
    const gnn_sampling_t
        base = {.sampler = {.method = "around", .hops = 2, .fan_outs = fan_outs}, .batch = 7},
        other = {.sampler = {.method = "around", .hops = 2, .fan_outs = fan_outs, .seed = 4},
                 .batch = 9,
                 .prefetch = GNN_ON};
    ck_members("samples of nodes", run_nodes, &base, &other, of_sampling, COUNT(of_sampling),
               sizeof base);
    gnn_sampling_t unread = base;
    uint64_t sum;
    unread.sampler.batch = 5;
    ck_fails(run_digested(run_nodes, &unread, &sum), GNN_EINVALID, "\"around\" reads no batch");
    unread.sampler.batch = 0;
    unread.sampler.roots = roots;
    ck_fails(run_digested(run_nodes, &unread, &sum), GNN_EINVALID, "\"around\" reads no roots");
    ck_ok(run_digested(
        run_nodes, &(gnn_sampling_t){.sampler = {.method = "walk", .rounds = 5}, .batch = 7}, &sum));
}
END_TEST

static int64_t size_of_batches;

static int run_pairs(const void *config, uint64_t *sum)
{
    gnn_context_t *context;
    gnn_source_t *source;
    gnn_links_t *links;
    gnn_batch_t batch;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3}));
    gnn_model_t *model = town_model(context, true);
    ck_ok(gnn_links_split(&links, gnn_data_graph(town), NULL));
    const gnn_link_source_config_t how = {.size = size_of_batches, .sampling = config};
    const int rc = gnn_source_of_links(&source, model, town, links, &how);
    for (int64_t k = 0; rc == GNN_OK && k < source->count[GNN_TRAIN]; k++) {
        ck_ok(source->get(source->user, GNN_TRAIN, 1, k, &batch));
        const gnn_graph_t *graph = batch.inputs.graphs[0];
        const int64_t m = gnn_graph_n_pairs(graph);
        int64_t *ends = calloc((size_t)(2 * m + 1), sizeof *ends);
        ck_ok(gnn_graph_pairs(graph, ends, ends + m, NULL));
        digest(sum, ends, (size_t)(2 * m) * sizeof *ends);
        free(ends);
    }
    gnn_source_free(source);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

/* Weights of senders are given for the set's edges: a link whose weight is 0 is never drawn. */
static void ck_weights_are_of_the_set(void)
{
    static gnn_real_t weight[2 * 160];
    static int64_t ends[3 * 2 * 160];
    const gnn_graph_t *graph = gnn_data_graph(town);
    const int64_t m = gnn_graph_n_edges(graph);
    gnn_context_t *context;
    gnn_source_t *source;
    gnn_links_t *links;
    gnn_batch_t batch;
    ck_assert_int_le(m, 320);
    ck_ok(gnn_graph_pairs(graph, ends, ends + m, ends + 2 * m));
    for (int64_t k = 0; k < m; k++) /* senders of even id only */
        weight[ends[2 * m + k]] = ends[k] % 2 == 0;
    const gnn_sampling_t sampling = {.sampler = {.hops = 1, .fan_outs = fan_outs, .weight = weight},
                                     .batch = 20};
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    gnn_model_t *model = town_model(context, true);
    ck_ok(gnn_links_split(&links, graph, NULL));
    ck_ok(gnn_source_of_links(&source, model, town, links,
                              &(gnn_link_source_config_t){.sampling = &sampling}));
    int64_t drawn = 0;
    for (int64_t b = 0; b < source->count[GNN_TRAIN]; b++) {
        ck_ok(source->get(source->user, GNN_TRAIN, 1, b, &batch));
        const gnn_tensor_t *x = NULL;
        for (int64_t v = 0; v < batch.inputs.n_values; v++)
            if (strcmp(batch.inputs.values[v].name, "x") == 0)
                x = batch.inputs.values[v].dense;
        const gnn_graph_t *sample = batch.inputs.graphs[0];
        const int64_t pairs = gnn_graph_n_pairs(sample);
        ck_ok(gnn_graph_pairs(sample, ends, ends + pairs, NULL));
        for (int64_t k = 0; k < pairs; k++, drawn++) { /* rows of x tell the nodes */
            int64_t node = 0;
            while (memcmp(gnn__row(x, ends[k]), gnn__row(gnn_data_x(town), node),
                          3 * sizeof(gnn_real_t)) != 0)
                node++;
            ck_assert_int_eq(node % 2, 0);
        }
    }
    ck_assert_int_gt(drawn, 20);
    gnn_source_free(source);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_context_free(context);
}

START_TEST(samples_of_links)
{
    const gnn_sampling_t
        base = {.sampler = {.method = "around", .hops = 1, .fan_outs = fan_outs}, .batch = 30},
        other = {.sampler = {.method = "around", .hops = 1, .fan_outs = fan_outs, .seed = 4},
                 .batch = 20,
                 .prefetch = GNN_ON};
    uint64_t sum;
    size_of_batches = 0;
    ck_members("samples of links", run_pairs, &base, &other, of_pair_sampling,
               COUNT(of_pair_sampling), sizeof base);
    size_of_batches = 10;
    ck_fails(run_digested(run_pairs, &base, &sum), GNN_EINVALID,
             ".batch = 30, expected 0 where batches of links have a .size");
    size_of_batches = 0;
    ck_weights_are_of_the_set();
}
END_TEST

/* ---- gnn_view_t ---- */

#define ITS(member) MEMBER(gnn_view_t, member)
static const member_t of_view[] = {ITS(self_loops), ITS(norm), ITS(backward)};
#undef ITS

/* Whether a layer that reads a view of such settings finds it. */
static int run_view(const void *config, uint64_t *sum)
{
    const gnn_view_t *wanted = config;
    gnn_graph_t *graph;
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, EDGES, src, dst));
    const int rc = gnn_graph_prepare(graph, wanted);
    for (int loops = 0; loops < 2 && rc == GNN_OK; loops++)
        for (int norm = GNN_GRAPH_NORM_NONE; norm <= GNN_GRAPH_NORM_ROW; norm++)
            for (int backward = 0; backward < 2; backward++) {
                const gnn_view_t view = {loops ? GNN_ON : GNN_OFF, (gnn_graph_norm_t)norm,
                                         backward ? GNN_ON : GNN_OFF};
                const gnn__built_view_t *built = gnn__graph_view(graph, &view);
                digest(sum, &(bool){built != NULL}, sizeof(bool));
            }
    gnn_graph_free(graph);
    return rc;
}

START_TEST(views)
{
    const gnn_view_t base = {0}, other = {GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON},
                     off = {GNN_OFF, GNN_GRAPH_NORM_NONE, GNN_OFF};
    uint64_t before, after;
    ck_members("views", run_view, &base, &other, of_view, COUNT(of_view), sizeof base);
    ck_ok(run_digested(run_view, &base, &before));
    ck_ok(run_digested(run_view, &off, &after));
    ck_assert_uint_eq(before, after);
    const gnn_view_t wrong[] = {{.self_loops = (gnn_flag_t)3},
                                {.norm = (gnn_graph_norm_t)(GNN_GRAPH_NORM_ROW + 1)},
                                {.backward = (gnn_flag_t)9}};
    for (size_t k = 0; k < COUNT(wrong); k++)
        ck_fails(run_digested(run_view, &wrong[k], &after), GNN_EINVALID, of_view[k].name);
}
END_TEST

/* ---- gnn_context_config_t ---- */

#define ITS(member) MEMBER(gnn_context_config_t, member)
static const member_t of_context[] = {ITS(threads), HARMLESS(gnn_context_config_t, deterministic),
                                      HARMLESS(gnn_context_config_t, precision), ITS(seed),
                                      ITS(allocator)};
#undef ITS

static int taken;

static void *allocate(void *user, size_t alignment, size_t bytes)
{
    void *memory = NULL;
    (void)user;
    taken++;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static int run_context(const void *config, uint64_t *sum)
{
    gnn_context_t *context;
    const int before = taken;
    GNN_TRY(gnn_context_new(&context, config));
    digest(sum, &(int){gnn_context_threads(context)}, sizeof(int));
    digest(sum, &(uint64_t){gnn_context_seed(context)}, sizeof(uint64_t));
    ck_ok(gnn__arena_reserve(&context->scratch, 100, "scratch"));
    gnn_context_free(context);
    digest(sum, &(int){taken - before}, sizeof(int));
    return GNN_OK;
}

/* Flags of speed change no count; results of both are those of the suites of products. */
START_TEST(contexts)
{
    const gnn_context_config_t base = {.threads = 1},
                               other = {.threads = 2,
                                        .deterministic = GNN_ON,
                                        .precision = GNN_PRECISION_MEDIUM,
                                        .seed = 5,
                                        .allocator = {allocate, give_back, NULL}};
    gnn_context_t *context;
    int one;
    ck_members("contexts", run_context, &base, &other, of_context, COUNT(of_context), sizeof base);
    ck_fails(gnn_context_new(&context, &(gnn_context_config_t){.allocator.user = &one}),
             GNN_EINVALID, "allocator: expected both allocate and release with a user");
    ck_fails(gnn_context_new(&context, &(gnn_context_config_t){.precision = (gnn_precision_t)7}),
             GNN_EINVALID, "precision");
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.deterministic = GNN_ON,
                                                            .precision = GNN_PRECISION_MEDIUM}));
    ck_assert_int_eq(gnn_context_precision_used(context), GNN_PRECISION_HIGHEST);
    gnn_context_free(context);
}
END_TEST

/* ---- gnn_graph_source_config_t ---- */

#define ITS(member) MEMBER(gnn_graph_source_config_t, member)
static const member_t of_graphs[] = {ITS(size), ITS(per_epoch), ITS(shuffle),      ITS(seed),
                                     ITS(loss), ITS(targets),   ITS(class_weight), ITS(split)};
#undef ITS

static gnn_data_t *motifs;
static gnn_split_t *two_splits;

static int run_graphs(const void *config, uint64_t *sum)
{
    gnn_context_t *context;
    gnn_source_t *source;
    gnn_model_t *model;
    int64_t count;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3}));
    const gnn_layer_config_t readout = {
        .in = 3, .aggregator = &gnn_aggregator_sum, .message = &gnn_message_none};
    ck_ok(gnn_model_from_steps(
        &model, context, 2,
        (gnn_step_t[]){{.layer = GNN_SAGE(.in = gnn_data_features(motifs), .out = 3)},
                       {.kind = GNN_STEP_AGGREGATE, .graph = 1, .layer = readout}}));
    int rc = gnn_source_of_graphs(&source, model, motifs, two_splits, config);
    if (rc == GNN_OK)
        rc = gnn_train_batches(model, context, source,
                               &(gnn_train_config_t){.epochs = 2, .watch = GNN_WATCH_NONE}, NULL);
    const gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &count);
    digest(sum, block, (size_t)count * sizeof *block);
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

START_TEST(batches_of_graphs)
{
    enum { GRAPHS = 12 };
    static const gnn_real_t weights[] = {1, 3, 2};
    gnn_real_t targets[3 * GRAPHS];
    uint8_t masks[3][2 * GRAPHS] = {{0}};
    uint64_t sum;
    for (int k = 0; k < 2 * GRAPHS; k++)
        masks[(k + k / GRAPHS) % 3 == 0][k] = 1;
    for (int k = 0; k < 3 * GRAPHS; k++)
        targets[k] = (gnn_real_t)(k % 5);
    ck_ok(gnn_data_motifs(&motifs, GRAPHS, 3));
    ck_ok(gnn_data_array_set(
        motifs, GNN_ON_GRAPHS,
        &(gnn_array_t){"wanted", GNN__REAL_DTYPE, 2, {GRAPHS, 3}, (int64_t)3 * GRAPHS, targets}));
    ck_ok(gnn_split_from_masks(&two_splits, GRAPHS, 2, masks[0], masks[1], masks[2]));
    const gnn_graph_source_config_t base = {.size = 3},
                                    other = {.size = 4,
                                             .per_epoch = 5,
                                             .shuffle = GNN_OFF,
                                             .seed = 8,
                                             .loss = GNN_LOSS_BINARY_CROSS_ENTROPY,
                                             .targets = "wanted",
                                             .class_weight = weights,
                                             .split = 1};
    ck_members("batches of graphs", run_graphs, &base, &other, of_graphs, COUNT(of_graphs),
               sizeof base);
    ck_fails(
        run_digested(run_graphs, &(gnn_graph_source_config_t){.shuffle = GNN_OFF, .seed = 8}, &sum),
        GNN_EINVALID, ".seed is of the shuffling, and .shuffle is off");
    ck_fails(run_digested(run_graphs,
                          &(gnn_graph_source_config_t){.loss = GNN_LOSS_BINARY_CROSS_ENTROPY,
                                                       .class_weight = weights},
                          &sum),
             GNN_EUNSUPPORTED, "class");
    gnn_split_free(two_splits);
    gnn_data_free(motifs);
}
END_TEST

static void tear_down(void)
{
    gnn_data_free(town);
    clear_folder(test_folder);
    ck_assert_int_eq(rmdir(test_folder), 0);
}

static void set_up(void)
{
    make_folder();
    open_town();
}

int main(void)
{
    Suite *suite = suite_create("struct_members");
    TCase *c = tcase_create("struct_members");
    tcase_add_unchecked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_set_of_arrays);
    tcase_add_test(c, a_set_of_a_graph);
    tcase_add_test(c, opening_a_file);
    tcase_add_test(c, links_that_keep_their_direction);
    tcase_add_test(c, samplers);
    tcase_add_test(c, samples_of_nodes);
    tcase_add_test(c, samples_of_links);
    tcase_add_test(c, views);
    tcase_add_test(c, contexts);
    tcase_add_test(c, batches_of_graphs);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
