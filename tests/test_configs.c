/* Random configs of the layer give the same output with both storages of a graph, recorded or not,
 * in one call or as project and aggregate, with dense or sparse features, explicit receivers or
 * not, one or two threads, one or two edge lists, and from a file. GNN_TEST_SEED draws others. */
#include "layer_oracle.h"
#include "layer_run.h"
#include "random_config.h"

#include <unistd.h>

/* ---- comparing ---- */

typedef struct {
    gnn_context_t *context, *alone; /* two threads, one */
    gnn_tape_t *tape, *tape_alone;
    gnn_layer_t *layer;
    gnn_graph_t *spans, *edges;
    gnn_tensor_t x;
    gnn_real_t *spare; /* n x width */
    int number;
} trial_t;

static void describe(const trial_t *t)
{
    const gnn_layer_config_t *c = gnn_layer_config(t->layer);
    printf("config %d: edge_dim %lld, in %lld out %lld, %s, %s, update %s, heads %lld (keys %lld, values %lld), d_k %lld d_v %lld, combine %d, share %d, loops %d, norm of edges %d, self %d, "
           "activations %d %d, residual %d, norm %d %d, dropout %g %g %g %g, prior %s\n",
           t->number, (long long)c->edge_dim, (long long)c->in, (long long)c->out, c->message->name,
           c->aggregator->name, c->update->name, (long long)c->heads, (long long)c->key_heads,
           (long long)c->value_heads, (long long)c->d_k, (long long)c->d_v, (int)c->combine,
           (int)c->share_weights, (int)c->self_loops, (int)c->graph_norm, (int)c->self_term,
           (int)c->activation, (int)c->hidden_activation, (int)c->residual, (int)c->norm,
           (int)c->norm_position, (double)c->dropout_in, (double)c->dropout_attention,
           (double)c->dropout_message, (double)c->dropout_out,
           c->priors[0].prior ? c->priors[0].prior->name : "none");
}

static void judge(const trial_t *t, const char *what, const gnn_real_t *a, const gnn_real_t *b,
                  int64_t n)
{
    const double error = test_error(a, b, n);
    if (error <= (GNN_DOUBLE ? 1e-9 : 2e-3))
        return;
    describe(t);
    ck_abort_msg("config %d: %s differ by %g", t->number, what, error);
}

static void judge_results(const trial_t *t, const char *what, const result_t *a, const result_t *b)
{
    judge(t, what, a->y, b->y, a->n_y);
    if (a->dx && b->dx)
        judge(t, what, a->dx, b->dx, a->n_x);
    judge(t, what, a->parameters, b->parameters, a->n_parameters);
    for (int k = 0; k < EDGE_INPUTS; k++)
        if (a->d_edge[k])
            judge(t, what, a->d_edge[k], b->d_edge[k], a->n_edge[k]);
}

/* A tape refuses unsupported ops with a message, and nothing else. */
static bool is_taken(const trial_t *t, const result_t *r)
{
    const int rc = gnn_tape_status(t->tape);
    if (rc != GNN_OK && rc != GNN_EUNSUPPORTED)
        describe(t);
    ck_assert_msg(rc == GNN_OK || rc == GNN_EUNSUPPORTED, "config %d: %d, %s", t->number, rc,
                  gnn_error_message());
    return r->y != NULL;
}

/* A tape that takes the config takes it on every graph. */
static bool compare_forms(const trial_t *t)
{
    const features_t dense = {.x = &t->x, .training = 1};
    result_t a = run_layer(t->layer, t->tape, t->spans, &dense);
    if (!is_taken(t, &a))
        return false;
    result_t b = run_layer(t->layer, t->tape, t->edges, &dense);
    judge_results(t, "spans and edges", &a, &b);
    free_result(&b);
    b = run_layer(t->layer, t->tape_alone, t->spans, &dense);
    const bool same = memcmp(a.y, b.y, sizeof *a.y * (size_t)a.n_y) == 0 &&
                      memcmp(a.dx, b.dx, sizeof *a.dx * (size_t)a.n_x) == 0 &&
                      memcmp(a.parameters, b.parameters, sizeof *a.y * (size_t)a.n_parameters) == 0;
    if (!same)
        describe(t);
    ck_assert_msg(same, "config %d: threads change bits", t->number);
    free_result(&a);
    free_result(&b);
    return true;
}

/* Rows of x as a sparse matrix; a third of them are 0. */
static void sparse_of(const gnn_tensor_t *x, gnn_sparse_t *sparse, int64_t *indptr,
                      int32_t *indices, gnn_real_t *values)
{
    *sparse = (gnn_sparse_t){x->rows, x->cols, indptr, indices, values};
    indptr[0] = 0;
    for (int64_t r = 0; r < x->rows; r++) {
        indptr[r + 1] = indptr[r];
        for (int64_t c = 0; c < x->cols; c++)
            if (gnn__row(x, r)[c] != 0) {
                values[indptr[r + 1]] = gnn__row(x, r)[c];
                indices[indptr[r + 1]++] = (int32_t)c;
            }
    }
}

/* Without dropout: that of sparse features is another's. */
static void compare_features(const trial_t *t)
{
    int64_t indptr[NODES + 1];
    int32_t indices[NODES * 12];
    gnn_real_t values[NODES * 12];
    gnn_sparse_t sparse;
    sparse_of(&t->x, &sparse, indptr, indices, values);
    result_t a = run_layer(t->layer, t->tape, t->edges, &(features_t){.sparse = &sparse});
    if (!is_taken(t, &a))
        return; /* norms before the layer, and raw messages, take no sparse features */
    result_t b = run_layer(t->layer, t->tape, t->edges, &(features_t){.x = &t->x});
    judge_results(t, "sparse and dense features", &a, &b);
    free_result(&a);
    free_result(&b);
}

/* Parameters in [-1, 1): those that start at 0 count too. */
static void draw_parameters(gnn_parameters_t *of, uint64_t *seed)
{
    for (int32_t p = 0; p < gnn_parameters_count(of); p++) {
        const gnn_tensor_t v = gnn_parameters_value(of, p);
        for (int64_t k = 0; k < v.rows * v.cols; k++)
            v.data[k] = (gnn_real_t)test_uniform(seed);
    }
}

/* As a model of one step, from a file, which holds its config. */
static void compare_saved(const trial_t *t)
{
    char path[64];
    gnn_model_t *model, *loaded;
    const int64_t width = gnn_layer_width(t->layer);
    const gnn_tensor_t y = gnn_tensor(t->spare, NODES, width),
                       z = gnn_tensor(t->spare + NODES * width, NODES, width);
    uint64_t seed = (uint64_t)t->number;
    snprintf(path, sizeof path, "/tmp/gnn-configs-%d.safetensors", (int)getpid());
    ck_ok(gnn_model_new(&model, t->context, 1, gnn_layer_config(t->layer)));
    draw_parameters(gnn_model_parameters(model), &seed);
    ck_ok(gnn_model_predict(model, t->context, t->edges, &t->x, NULL, &y));
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load(&loaded, t->context, path));
    ck_ok(gnn_model_predict(loaded, t->context, t->edges, &t->x, NULL, &z));
    if (memcmp(y.data, z.data, sizeof *y.data * (size_t)(NODES * width)) != 0) {
        describe(t);
        ck_abort_msg("config %d: not the same from a file", t->number);
    }
    remove(path);
    gnn_model_free(model);
    gnn_model_free(loaded);
}

/* Before anything is trained: batch norms have seen nothing. */
static void compare_formulas(const trial_t *t, const gnn_graph_t *graph, const gnn_inputs_t *in)
{
    const int64_t n = gnn_graph_n_dst(graph), width = gnn_layer_width(t->layer);
    const gnn_tensor_t y = gnn_tensor(t->spare, n, width);
    if (gnn_layer_forward(t->layer, t->context, graph, in, &y) != GNN_OK)
        return; /* is_taken reports the reason */
    layer_oracle(t->layer, graph, in, t->spare + n * width);
    judge(t, "layer and formulas", y.data, t->spare + n * width, n * width);
}

static bool normed_before(const gnn_layer_t *layer)
{
    const gnn_layer_config_t *c = gnn_layer_config(layer);
    return c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE;
}

static void compare_calls(const trial_t *t)
{
    const int64_t width = gnn_layer_width(t->layer), n = NODES * width;
    gnn_real_t *memory = t->spare;
    const gnn_tensor_t y = gnn_tensor(memory, NODES, width), z = gnn_tensor(memory + n, NODES, width);
    result_t recorded = run_layer(t->layer, t->tape, t->spans, &(features_t){.x = &t->x});
    /* Batch norm in inference uses running statistics, so it differs from a recorded run. */
    ck_ok(gnn_layer_forward(t->layer, t->context, t->spans, &(gnn_inputs_t){.x_src = &t->x}, &y));
    if (gnn_layer_config(t->layer)->norm != GNN_NORM_BATCH)
        judge(t, "inference and recording", y.data, recorded.y, n);
    ck_ok(gnn_layer_forward(t->layer, t->context, t->edges,
                            &(gnn_inputs_t){.x_src = &t->x, .x_dst = &t->x}, &z));
    /* A norm before the layer is of x_i: where senders are others, they come as they are. */
    if (!normed_before(t->layer))
        judge(t, "receivers given and taken", z.data, y.data, n);
    free_result(&recorded);
}

/* Attention weights by edge and by sentence are equal; with self-loops of the view, an element of
 * the sentence's matrix is the sum of added and stored loops. */
static void compare_attention(const trial_t *t)
{
    const int64_t heads = gnn_layer_config(t->layer)->heads, m = gnn_graph_n_edges(t->edges),
                  *segments = gnn_graph_dst_segments(t->spans);
    const bool loops = gnn_layer_config(t->layer)->self_loops == GNN_ON;
    int64_t src[NODES * NODES], dst[NODES * NODES], size = 0;
    gnn_real_t *by_edge = test_reals(m * heads, 1),
               *by_segment = test_reals(NODES * NODES * heads, 2),
               *picked = test_reals(m * heads, 3);
    const gnn_tensor_t per_edge = gnn_tensor(by_edge, m, heads);
    const gnn_inputs_t in = {.x_src = &t->x};
    ck_ok(gnn_layer_attention(t->layer, t->context, t->edges, &in, &per_edge, NULL));
    ck_ok(gnn_layer_attention(t->layer, t->context, t->spans, &in, NULL, by_segment));
    ck_ok(gnn_graph_pairs(t->edges, src, dst, NULL));
    for (int64_t s = 0; s < gnn_graph_n_segments(t->spans); s++) {
        const int64_t length = segments[s + 1] - segments[s];
        for (int64_t e = 0; e < m; e++)
            for (int64_t h = 0; h < heads && dst[e] >= segments[s] && dst[e] < segments[s + 1]; h++)
                picked[e * heads + h] =
                    loops && src[e] == dst[e]
                        ? by_edge[e * heads + h]
                        : by_segment[size + (h * length + dst[e] - segments[s]) * length + src[e] -
                                     segments[s]];
        size += heads * length * length;
    }
    judge(t, "attention by edges and by sentences", picked, by_edge, m * heads);
    free(by_edge);
    free(by_segment);
    free(picked);
}

/* ---- the trials ---- */

static trial_t trial_new(void)
{
    trial_t t = {0};
    gnn_context_config_t how = {.threads = 2, .deterministic = GNN_ON, .seed = 11};
    ck_ok(gnn_context_new(&t.context, &how));
    how.threads = 1;
    ck_ok(gnn_context_new(&t.alone, &how));
    ck_ok(gnn_tape_new(&t.tape, t.context));
    ck_ok(gnn_tape_new(&t.tape_alone, t.alone));
    return t;
}

static void trial_free(trial_t *t)
{
    gnn_tape_free(t->tape);
    gnn_tape_free(t->tape_alone);
    gnn_context_free(t->context);
    gnn_context_free(t->alone);
}

/* A layer, features for it and room; false if its config was refused. */
static bool draw_layer(trial_t *t, uint64_t *seed, const gnn_layer_config_t *config)
{
    t->number++;
    const int rc = gnn_layer_new(&t->layer, t->context, config);
    ck_assert_msg(rc == GNN_OK || rc == GNN_EINVALID || rc == GNN_ESHAPE || rc == GNN_EUNSUPPORTED,
                  "config %d: %d, %s", t->number, rc, gnn_error_message());
    if (rc != GNN_OK)
        return false;
    draw_parameters(gnn_layer_parameters(t->layer), seed);
    t->x = gnn_tensor(test_reals(NODES * config->in, *seed), NODES, config->in);
    t->spare = malloc(sizeof *t->spare * (size_t)(2 * NODES * gnn_layer_width(t->layer)));
    for (int64_t k = 0; k < NODES * config->in; k += 3)
        t->x.data[k] = 0;
    return true;
}

static void release_layer(trial_t *t)
{
    free(t->x.data);
    free(t->spare);
    gnn_layer_free(t->layer);
}

START_TEST(all_forms_of_a_config_are_equal)
{
    uint64_t seed = test_seed();
    int wanted = test_small() ? 30 : 600;
    trial_t t = trial_new();
    while (wanted > 0) {
        const gnn_layer_config_t config = random_config(&seed);
        if (!draw_layer(&t, &seed, &config))
            continue;
        t.spans = random_sentences(&seed);
        ck_ok(gnn_graph_to_edges(&t.edges, t.spans));
        ck_ok(gnn_layer_prepare(t.layer, t.spans, GNN_ON));
        ck_ok(gnn_layer_prepare(t.layer, t.edges, GNN_ON));
        compare_formulas(&t, t.spans, &(gnn_inputs_t){.x_src = &t.x});
        if (compare_forms(&t)) {
            compare_features(&t);
            compare_calls(&t);
            compare_saved(&t);
            if (config.aggregator->flags & GNN_AGGREGATOR_SCORED)
                compare_attention(&t);
            wanted--;
        }
        gnn_graph_free(t.spans);
        gnn_graph_free(t.edges);
        release_layer(&t);
    }
    trial_free(&t);
}
END_TEST

/* ---- one list of edges, or two ---- */

enum { EDGES = 90 };

/* The same edges with the same ids. */
static void draw_edges(uint64_t *seed, int64_t n_dst, gnn_graph_t **whole, gnn_graph_t **halves)
{
    int64_t src[EDGES], dst[EDGES], half = EDGES / 3;
    gnn_graph_t *parts[2];
    for (int k = 0; k < EDGES; k++) {
        src[k] = test_below(seed, NODES);
        dst[k] = test_below(seed, n_dst);
    }
    ck_ok(gnn_graph_from_edges(whole, n_dst, NODES, EDGES, src, dst));
    ck_ok(gnn_graph_from_edges(&parts[0], n_dst, NODES, half, src, dst));
    ck_ok(gnn_graph_from_edges(&parts[1], n_dst, NODES, EDGES - half, src + half, dst + half));
    ck_ok(gnn_graph_merge(halves, 2, (const gnn_graph_t *const *)parts));
    gnn_graph_free(parts[0]);
    gnn_graph_free(parts[1]);
}

static void compare_receivers(const trial_t *t, const gnn_tensor_t *const *edge, int64_t n_dst)
{
    const int64_t width = gnn_layer_width(t->layer), n = n_dst * width;
    const gnn_tensor_t y = gnn_tensor(t->spare, n_dst, width),
                       z = gnn_tensor(t->spare + n, n_dst, width),
                       first = gnn_tensor(t->x.data, n_dst, t->x.cols);
    gnn_inputs_t in = {.x_src = &t->x,
                       .edge_features = edge[EDGE_FEATURES],
                       .edge_weight = edge[EDGE_WEIGHT],
                       .edge_bias = edge[EDGE_BIAS]};
    result_t recorded = run_layer(t->layer, t->tape, t->edges,
                                  &(features_t){.x = &t->x, .edge = {edge[0], edge[1], edge[2]}});
    ck_ok(gnn_layer_forward(t->layer, t->context, t->edges, &in, &y));
    if (gnn_layer_config(t->layer)->norm != GNN_NORM_BATCH)
        judge(t, "inference and recording", y.data, recorded.y, n);
    in.x_dst = &first;
    ck_ok(gnn_layer_forward(t->layer, t->context, t->edges, &in, &z));
    if (!normed_before(t->layer))
        judge(t, "receivers given and taken", z.data, y.data, n);
    free_result(&recorded);
}

/* Weights are positive, as norms want them. */
static void draw_edge_inputs(const trial_t *t, uint64_t *seed, gnn_tensor_t *inputs,
                             const gnn_tensor_t **given)
{
    const gnn_layer_config_t *c = gnn_layer_config(t->layer);
    const int64_t cols[EDGE_INPUTS] = {c->edge_dim, test_below(seed, 2),
                                       !(c->aggregator->flags & GNN_AGGREGATOR_SCORED) ? 0
                                       : test_below(seed, 2)                           ? c->heads
                                                             : test_below(seed, 2)};
    for (int k = 0; k < EDGE_INPUTS; k++) {
        inputs[k] = gnn_tensor(test_reals(EDGES * cols[k], *seed + (uint64_t)k), EDGES, cols[k]);
        given[k] = cols[k] > 0 ? &inputs[k] : NULL;
    }
    for (int64_t e = 0; e < EDGES * cols[EDGE_WEIGHT]; e++)
        inputs[EDGE_WEIGHT].data[e] = (gnn_real_t)1.5 + inputs[EDGE_WEIGHT].data[e];
}

START_TEST(two_edge_lists_equal_one)
{
    uint64_t seed = test_seed();
    int wanted = test_small() ? 30 : 600;
    trial_t t = trial_new();
    while (wanted > 0) {
        gnn_layer_config_t config = random_config(&seed);
        config.edge_dim = test_below(&seed, 2) ? 3 : 0;
        if (!draw_layer(&t, &seed, &config))
            continue;
        const int64_t n_dst = test_below(&seed, 2) ? NODES : 20;
        gnn_tensor_t inputs[EDGE_INPUTS];
        features_t of = {.x = &t.x, .training = 1};
        draw_edges(&seed, n_dst, &t.edges, &t.spans);
        draw_edge_inputs(&t, &seed, inputs, of.edge);
        if (gnn_layer_prepare(t.layer, t.edges, GNN_ON) ==
            GNN_OK) { /* no loops, no norm where receivers are others */
            ck_ok(gnn_layer_prepare(t.layer, t.spans, GNN_ON));
            compare_formulas(&t, t.edges,
                             &(gnn_inputs_t){.x_src = &t.x,
                                             .edge_features = of.edge[EDGE_FEATURES],
                                             .edge_weight = of.edge[EDGE_WEIGHT],
                                             .edge_bias = of.edge[EDGE_BIAS]});
            result_t a = run_layer(t.layer, t.tape, t.edges, &of);
            if (is_taken(&t, &a)) {
                result_t b = run_layer(t.layer, t.tape, t.spans, &of);
                judge_results(&t, "one list of edges and two", &a, &b);
                free_result(&b);
                compare_receivers(&t, of.edge, n_dst);
                wanted--;
            }
            free_result(&a);
        }
        for (int k = 0; k < EDGE_INPUTS; k++)
            free(inputs[k].data);
        gnn_graph_free(t.spans);
        gnn_graph_free(t.edges);
        release_layer(&t);
    }
    trial_free(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("configs");
    TCase *c = tcase_create("configs");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, all_forms_of_a_config_are_equal);
    tcase_add_test(c, two_edge_lists_equal_one);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
