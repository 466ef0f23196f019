/* Rows of the program's own in a layer: what they declare, the layer learns. */
#include "layer_run.h"

#include <unistd.h>

enum { N = 9, IN = 4, OUT = 6 };

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "sum.factor", .rows = 1, .cols = shape->width, .init = GNN_INIT_ONES};
    return 1;
}

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    for (int64_t c = 0; c < shape->width; c++)
        s[c] += shape->parameters.data[c] * edge->message[c];
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    memcpy(out, s, sizeof *out * (size_t)shape->width);
}

static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    memcpy(s, d_out, sizeof *s * (size_t)shape->width);
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    for (int64_t c = 0; c < shape->width; c++) {
        if (grad->message)
            grad->message[c] += s[c] * shape->parameters.data[c];
        if (grad->parameters.data)
            grad->parameters.data[c] += s[c] * edge->message[c];
    }
}

/* A sum whose columns have a learned factor each. */
static const gnn_aggregator_t scaled_sum = {.name = "scaled_sum",
                                            .declare = declare,
                                            .state = state,
                                            .accumulate = accumulate,
                                            .finish = finish,
                                            .finish_grad = finish_grad,
                                            .accumulate_grad = accumulate_grad};

static result_t run(const gnn_layer_t *layer, gnn_context_t *context, const gnn_graph_t *graph,
                    const gnn_tensor_t *x)
{
    gnn_tape_t *tape;
    ck_ok(gnn_tape_new(&tape, context));
    result_t r = run_layer(layer, tape, graph, &(features_t){.x = x, .training = 1});
    ck_ok(gnn_tape_status(tape));
    gnn_tape_free(tape);
    return r;
}

START_TEST(an_aggregator_owns_parameters_in_a_layer)
{
    const int64_t n = N;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layers[2];
    gnn_real_t *features = test_reals(N * IN, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    const gnn_aggregator_t *rows[2] = {&gnn_aggregator_sum, &scaled_sum};
    result_t r[2];
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_layer_new(
            &layers[k], context,
            &(gnn_layer_config_t){
                .in = IN, .out = OUT, .message = &gnn_message_linear, .aggregator = rows[k]}));
        ck_ok(gnn_layer_prepare(layers[k], graph, GNN_ON));
    }
    gnn_tensor_t weight[2], factor, d_factor;
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_layer_field(layers[k], "value.weight", &weight[k], NULL));
    memcpy(weight[1].data, weight[0].data, sizeof *weight[0].data * IN * OUT);
    ck_ok(gnn_layer_field(layers[1], "sum.factor", &factor, &d_factor));
    ck_assert_int_eq(factor.rows, 1);
    ck_assert_int_eq(factor.cols, OUT);
    for (int64_t c = 0; c < OUT; c++) {
        ck_assert(factor.data[c] == 1);
        factor.data[c] = (gnn_real_t)(c + 2);
    }
    for (int k = 0; k < 2; k++)
        r[k] = run(layers[k], context, graph, &x);
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < OUT; c++)
            ck_assert_msg(fabs((double)r[1].y[i * OUT + c] -
                               (double)(c + 2) * (double)r[0].y[i * OUT + c]) < 1e-4,
                          "row %lld, column %lld", (long long)i, (long long)c);
    double moved = 0;
    for (int64_t c = 0; c < OUT; c++)
        moved += fabs((double)d_factor.data[c]);
    ck_assert_double_gt(moved, 0);
    for (int k = 0; k < 2; k++) {
        free_result(&r[k]);
        gnn_layer_free(layers[k]);
    }
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
}
END_TEST

static size_t too_many(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)declare(shape, pieces);
    return GNN_ROW_PIECES + 1;
}

static void lose_function(gnn_aggregator_t *row, int which)
{
    switch (which) {
    case 0: row->state = NULL; break;
    case 1: row->accumulate = NULL; break;
    case 2: row->finish = NULL; break;
    case 3: row->finish_grad = NULL; break;
    case 4: row->accumulate_grad = NULL; break;
    case 5: row->name = NULL; break;
    case 6: row->n_options = 1; break;
    default: row->declare = too_many; break;
    }
}

/* A row that lacks something is refused when the layer is made, not called later. */
START_TEST(an_incomplete_aggregator_is_refused)
{
    static const char *const words[] = {
        "aggregator scaled_sum has no function .state",
        "aggregator scaled_sum has no function .accumulate",
        "aggregator scaled_sum has no function .finish",
        "aggregator scaled_sum has no function .finish_grad",
        "aggregator scaled_sum has no function .accumulate_grad",
        "aggregator without a name",
        "aggregator scaled_sum: .n_options is 1 and .options NULL",
        "aggregator scaled_sum: a row declares 9 pieces, expected at most 8",
    };
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_aggregator_t row = scaled_sum;
    ck_ok(gnn_context_new(&context, NULL));
    lose_function(&row, _i);
    ck_fails(gnn_layer_new(&layer, context, &GNN_CONFIG(.in = IN, .out = OUT, .aggregator = &row)),
             GNN_EINVALID, words[_i]);
    gnn_context_free(context);
}
END_TEST

START_TEST(an_incomplete_message_is_refused)
{
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_message_t row = gnn_message_linear;
    ck_ok(gnn_context_new(&context, NULL));
    row.message_grad = NULL;
    ck_fails(gnn_layer_new(&layer, context, &GNN_CONFIG(.in = IN, .out = OUT, .message = &row)),
             GNN_EINVALID, "message linear has no function .message_grad");
    gnn_context_free(context);
}
END_TEST

/* ---- attention ---- */

/* -scale |q_i - k_j|^2 / 2, which is dot but for a term per side. */
static void distance_score(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                           gnn_real_t *scores)
{
    for (int64_t a = 0; a < shape->heads; a++) {
        scores[a] = 0;
        for (int64_t at = a * shape->d_k; at < (a + 1) * shape->d_k; at++) {
            const gnn_real_t d = rows->query[at] - rows->key[at];
            scores[a] -= shape->parameters.data[0] * d * d / 2;
        }
    }
}

static void distance_score_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                                const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    for (int64_t at = 0; at < shape->heads * shape->d_k; at++) {
        const gnn_real_t d = rows->query[at] - rows->key[at], g = d_scores[at / shape->d_k];
        if (grad->query)
            grad->query[at] -= g * shape->parameters.data[0] * d;
        if (grad->key)
            grad->key[at] += g * shape->parameters.data[0] * d;
        if (grad->parameters.data)
            grad->parameters.data[0] -= g * d * d / 2;
    }
}

static size_t declare_width(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)shape;
    pieces[0] = (gnn_piece_t){.name = "score.width", .rows = 1, .cols = 1, .init = GNN_INIT_ONES};
    return 1;
}

static const gnn_score_t distance = {.name = "distance",
                                     .declare = declare_width,
                                     .score = distance_score,
                                     .score_grad = distance_score_grad};

/* Sum of y times the matrix that `run` takes for the gradient of y. */
static double weighed_sum(const result_t *r)
{
    gnn_real_t *d = test_reals(r->n_y, 9);
    double sum = 0;
    for (int64_t k = 0; k < r->n_y; k++)
        sum += (double)r->y[k] * (double)d[k];
    free(d);
    return sum;
}

/* The gradient by the width is compared with a difference quotient. */
START_TEST(a_score_owns_parameters_in_a_layer)
{
    const int64_t n = N;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layer;
    gnn_real_t *features = test_reals(N * IN, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    ck_ok(gnn_layer_new(&layer, context,
                        &(gnn_layer_config_t){.in = IN,
                                              .out = OUT,
                                              .heads = 2,
                                              .aggregator = &gnn_aggregator_attention,
                                              .score = &distance}));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
    gnn_tensor_t width, d_width;
    ck_ok(gnn_layer_field(layer, "score.width", &width, &d_width));
    ck_assert(width.rows == 1 && width.cols == 1 && width.data[0] == 1);
    result_t r = run(layer, context, graph, &x);
    const double slope = (double)d_width.data[0], step = 0.02;
    double sums[2];
    for (int side = 0; side < 2; side++) {
        width.data[0] = (gnn_real_t)(side ? 1 + step : 1 - step);
        result_t moved = run(layer, context, graph, &x);
        sums[side] = weighed_sum(&moved);
        free_result(&moved);
    }
    ck_assert_double_gt(fabs(slope), 1e-3);
    ck_assert_double_eq_tol(slope, (sums[1] - sums[0]) / (2 * step), 0.02 * fabs(slope) + 1e-4);
    free_result(&r);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
}
END_TEST

/* Messages times 2, summed by attention weights: twice what attention makes. */
static void double_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *y,
                              const gnn_edge_t *edge)
{
    gnn_aggregator_attention.accumulate(shape, y, edge);
    gnn_aggregator_attention.accumulate(shape, y, edge);
}

static void double_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *d_out,
                                   const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    gnn_aggregator_attention.accumulate_grad(shape, d_out, edge, grad);
    gnn_aggregator_attention.accumulate_grad(shape, d_out, edge, grad);
}

START_TEST(an_aggregator_of_the_program_has_scores)
{
    const int64_t n = N;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layer;
    gnn_aggregator_t mine = gnn_aggregator_attention;
    mine.name = "double";
    mine.accumulate = double_accumulate;
    mine.accumulate_grad = double_accumulate_grad;
    gnn_real_t *features = test_reals(N * IN, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    const gnn_aggregator_t *rows[2] = {&gnn_aggregator_attention, &mine};
    result_t r[2];
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_layer_new(
            &layer, context,
            &(gnn_layer_config_t){
                .in = IN, .out = OUT, .heads = 2, .aggregator = rows[k], .bias_out = GNN_OFF}));
        ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
        for (int32_t id = 0; id < gnn_parameters_count(gnn_layer_parameters(layer)); id++) {
            const gnn_tensor_t p = gnn_parameters_value(gnn_layer_parameters(layer), id);
            for (int64_t c = 0; c < p.rows * p.cols; c++)
                p.data[c] = (gnn_real_t)((c * 7 + id) % 13 - 6) / 16;
        }
        r[k] = run(layer, context, graph, &x);
        gnn_layer_free(layer);
    }
    for (int64_t k = 0; k < N * 2 * OUT; k++)
        ck_assert_double_eq_tol((double)r[1].y[k], 2 * (double)r[0].y[k], 1e-4);
    for (int64_t k = 0; k < N * IN; k++)
        ck_assert_double_eq_tol((double)r[1].dx[k], 2 * (double)r[0].dx[k], 1e-4);
    for (int k = 0; k < 2; k++)
        free_result(&r[k]);
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
}
END_TEST

static size_t wide_state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)shape->width + 1;
}

START_TEST(a_score_that_lacks_something_is_refused)
{
    gnn_context_t *context;
    gnn_layer_t *layer;
    ck_ok(gnn_context_new(&context, NULL));
    for (int k = 0; k < 4; k++) {
        static const char *const words[] = {
            "score distance has no function .score", "score distance has no function .score_grad",
            "score distance: .width is 7, expected a gnn_score_width_t",
            "score distance: a row declares 9 pieces, expected at most 8"};
        gnn_score_t row = distance;
        row.score = k == 0 ? NULL : row.score;
        row.score_grad = k == 1 ? NULL : row.score_grad;
        row.width = k == 2 ? (gnn_score_width_t)7 : row.width;
        row.declare = k == 3 ? too_many : row.declare;
        ck_fails(gnn_layer_new(&layer, context,
                               &GNN_CONFIG(.in = IN, .out = OUT,
                                           .aggregator = &gnn_aggregator_attention, .score = &row)),
                 GNN_EINVALID, words[k]);
    }
    gnn_context_free(context);
}
END_TEST

/* With scores the state is the output row. */
START_TEST(another_state_with_scores_is_refused)
{
    const int64_t n = N;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layer;
    gnn_aggregator_t mine = gnn_aggregator_attention;
    gnn_real_t *features = test_reals(N * IN, 3), *out = test_reals(N * OUT, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN), y = gnn_tensor(out, N, OUT);
    mine.name = "mine";
    mine.state = wide_state;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    ck_ok(gnn_layer_new(&layer, context, &GNN_CONFIG(.in = IN, .out = OUT, .aggregator = &mine)));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
    ck_fails(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &y),
             GNN_EINVALID, "is the output row of 6 values, got 7");
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
    free(out);
}
END_TEST

/* ---- entries of every table ---- */

/* One entry per table, of the program's own. */
typedef struct {
    gnn_message_t message;
    gnn_aggregator_t aggregator;
    gnn_score_t score;
    gnn_map_t map;
    gnn_prior_t priors[GNN_PRIORS]; /* by pairs, by strips, by keys */
    gnn_weigher_t weigher;
} own_t;

static own_t own_entries(void)
{
    own_t own = {.message = gnn_message_linear,
                 .aggregator = gnn_aggregator_attention,
                 .score = distance,
                 .map = gnn_map_l2,
                 .priors = {gnn_prior_sender_keys, gnn_prior_slope, gnn_prior_keys},
                 .weigher = gnn_weigher_softmax_sink};
    own.message.name = "my_message";
    own.aggregator.name = "my_aggregator";
    own.score.name = "my_score";
    own.map.name = "my_map";
    own.priors[0].name = "my_pairs";
    own.priors[1].name = "my_strips";
    own.priors[2].name = "my_keys";
    own.weigher.name = "my_weigher";
    return own;
}

static gnn_layer_config_t own_config(const own_t *own)
{
    return (gnn_layer_config_t){
        .in = IN,
        .out = OUT,
        .heads = 2,
        .message = &own->message,
        .aggregator = &own->aggregator,
        .score = &own->score,
        .map = &own->map,
        .priors = {{.prior = &own->priors[0]}, {.prior = &own->priors[1]}, {.prior = &own->priors[2]}},
        .weigher = &own->weigher};
}

static const char no_option_list[] = "my_map: .n_options is 1 and .options NULL";

static void break_prior(own_t *own, int which, const char **words)
{
    gnn_prior_t *pairs = &own->priors[0], *strips = &own->priors[1], *keys = &own->priors[2];
    switch (which) {
    case 0: *words = "prior without a name", pairs->name = NULL; break;
    case 1: *words = "prior my_pairs has no function .declare", pairs->declare = NULL; break;
    case 2:
        *words = "prior my_pairs has no function .score", pairs->score = NULL,
        pairs->score_grad = NULL;
        break;
    case 3: *words = "prior my_pairs: expected either .score and", pairs->score_grad = NULL; break;
    case 4:
        *words = "prior my_strips: expected either .score and", strips->strip_grad = NULL;
        break;
    case 5:
        *words = "prior my_strips: expected either .score and", strips->score = pairs->score,
        strips->score_grad = pairs->score_grad;
        break;
    case 6:
        *words = "prior my_strips: .strip needs the flags 0x2, .flags is 0x0", strips->flags = 0;
        break;
    case 7:
        *words = "prior my_keys: .key_row needs the flags 0x3, .flags is 0x2",
        keys->flags = GNN_PRIOR_READS_DISTANCE;
        break;
    case 8:
        *words = "prior my_strips: .strip reads values that all pairs share",
        strips->numbers = GNN_PRIOR_PER_SENDER;
        break;
    case 9:
        *words = "prior my_keys: .flags is 0x83, expected bits of 0xf", keys->flags |= 128;
        break;
    case 10:
        *words = "prior my_pairs: .numbers is 9", pairs->numbers = (gnn_prior_numbers_t)9;
        break;
    default: *words = "prior my_pairs: a row declares 9 pieces", pairs->declare = too_many; break;
    }
}
enum { PRIOR_FAULTS = 12 };

static void break_other(own_t *own, int which, const char **words)
{
    gnn_map_t *map = &own->map;
    gnn_weigher_t *weigher = &own->weigher;
    switch (which) {
    case 0: *words = "map without a name", map->name = ""; break;
    case 1: *words = "map my_map has no function .apply", map->apply = NULL; break;
    case 2: *words = "map my_map has no function .apply_grad", map->apply_grad = NULL; break;
    case 3:
        *words = "map my_map has no function .prepare", map->numbers = gnn_map_rope.numbers,
        map->prepare = NULL;
        break;
    case 4: *words = no_option_list, map->n_options = 1, map->options = NULL; break;
    case 5: *words = "weigher without a name", weigher->name = NULL; break;
    case 6: *words = "weigher my_weigher has no function .weight", weigher->weight = NULL; break;
    case 7:
        *words = "weigher my_weigher has no function .weight_grad", weigher->weight_grad = NULL;
        break;
    case 8:
        *words = "weigher my_weigher has no function .settle_grad", weigher->settle_grad = NULL;
        break;
    case 9:
        *words = "weigher my_weigher: .state is 17, expected 0 to 16", weigher->state = 17;
        break;
    case 10: *words = "weigher my_weigher: .flags is 0x2", weigher->flags = 2; break;
    case 11:
        *words = "weigher my_weigher: a row declares 9 pieces", weigher->declare = too_many;
        break;
    case 12:
        *words = "message my_message: .src_parts, .dst_parts and .edge_parts are 1, -1 and 0",
        own->message.dst_parts = -1;
        break;
    case 13: *words = "message my_message: .flags is 0x4", own->message.flags = 4; break;
    case 14: *words = "score my_score: .flags is 0x8", own->score.flags = 8; break;
    default:
        *words = "aggregator my_aggregator: .flags is 0x41", own->aggregator.flags |= 64;
        break;
    }
}
enum { OTHER_FAULTS = 16 };

/* An entry that lacks something, or that two strategies would read differently, is refused by name,
 * by layers and by the op. */
START_TEST(incomplete_entries_of_every_table_are_refused)
{
    own_t own = own_entries();
    const char *words = NULL;
    gnn_context_t *context;
    gnn_layer_t *layer;
    ck_ok(gnn_context_new(&context, NULL));
    gnn_layer_config_t config = own_config(&own);
    ck_ok(gnn_layer_new(&layer, context, &config));
    gnn_layer_free(layer);
    if (_i < PRIOR_FAULTS)
        break_prior(&own, _i, &words);
    else
        break_other(&own, _i - PRIOR_FAULTS, &words);
    ck_fails(gnn_layer_new(&layer, context, &config), GNN_EINVALID, words);
    gnn_context_free(context);
}
END_TEST

/* The model's output on a graph. */
static gnn_real_t *output_of(const gnn_model_t *model, gnn_context_t *context, const gnn_graph_t *g,
                             const gnn_tensor_t *x)
{
    gnn_real_t *out = malloc(sizeof *out * N * 2 * OUT);
    const gnn_tensor_t y = gnn_tensor(out, N, 2 * OUT);
    ck_ok(gnn_model_predict(model, context, g, x, NULL, &y));
    return out;
}

static gnn_rows_t rows_of(const own_t *own, gnn_row_t list[8])
{
    const gnn_row_t all[8] = {{"message", &own->message}, {"aggregator", &own->aggregator},
                              {"score", &own->score},     {"map", &own->map},
                              {"prior", &own->priors[0]}, {"prior", &own->priors[1]},
                              {"prior", &own->priors[2]}, {"weigher", &own->weigher}};
    memcpy(list, all, sizeof all);
    return (gnn_rows_t){8, list};
}

/* A file names them all: it loads with the program's list and by no other, and a copy under the
 * name of an entry of the library is not written. */
START_TEST(entries_of_every_table_are_saved_by_name)
{
    const int64_t n = N;
    char path[64];
    own_t own = own_entries();
    gnn_row_t list[8];
    gnn_rows_t rows = rows_of(&own, list);
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_model_t *model, *loaded = NULL;
    gnn_real_t *features = test_reals(N * IN, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    const gnn_layer_config_t config = own_config(&own);
    snprintf(path, sizeof path, "/tmp/gnn-own-entries-%d.safetensors", (int)getpid());
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    ck_ok(gnn_model_new(&model, context, 1, &config));
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load_with(&loaded, context, path, &rows));
    gnn_real_t *before = output_of(model, context, graph, &x),
               *after = output_of(loaded, context, graph, &x);
    ck_assert_mem_eq(before, after, sizeof *before * N * 2 * OUT);
    gnn_model_free(loaded);
    loaded = NULL;
    for (int64_t k = 0; k < rows.count; k++) {
        gnn_row_t others[8];
        gnn_rows_t fewer = rows_of(&own, others);
        others[k] = others[fewer.count - 1];
        fewer.count--;
        ck_fails(gnn_model_load_with(&loaded, context, path, &fewer), GNN_EFORMAT,
                 *(const char *const *)list[k].row);
    }
    gnn_model_free(model);
    own.score.name = "dot";
    ck_ok(gnn_model_new(&model, context, 1, &config));
    ck_fails(gnn_model_save(model, path), GNN_EUNSUPPORTED,
             "score dot is not the library's of that name");
    gnn_model_free(model);
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
    free(before);
    free(after);
    remove(path);
}
END_TEST

/* The field has the columns of all parts of a message but the gate. */
START_TEST(parts_of_a_message_are_a_field)
{
    gnn_message_t parts = gnn_message_linear;
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_tensor_t weight;
    parts.name = "parts";
    ck_ok(gnn_context_new(&context, NULL));
    for (parts.src_parts = 1; parts.src_parts <= 4; parts.src_parts++) {
        const gnn_layer_config_t config = {
            .in = IN, .out = OUT, .aggregator = &gnn_aggregator_sum, .message = &parts};
        ck_ok(gnn_layer_new(&layer, context, &config));
        ck_ok(gnn_layer_field(layer, "value.weight", &weight, NULL));
        ck_assert_int_eq(weight.cols, parts.src_parts == 2 ? OUT : parts.src_parts * OUT);
        ck_assert_int_eq(gnn_layer_field(layer, "gate_sender.weight", &weight, NULL) == GNN_OK,
                         parts.src_parts == 2);
        gnn_layer_free(layer);
    }
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user_rows");
    TCase *c = tcase_create("user_rows");
    tcase_add_test(c, an_aggregator_owns_parameters_in_a_layer);
    tcase_add_loop_test(c, an_incomplete_aggregator_is_refused, 0, 8);
    tcase_add_test(c, an_incomplete_message_is_refused);
    tcase_add_test(c, a_score_owns_parameters_in_a_layer);
    tcase_add_test(c, a_score_that_lacks_something_is_refused);
    tcase_add_test(c, an_aggregator_of_the_program_has_scores);
    tcase_add_test(c, another_state_with_scores_is_refused);
    tcase_add_loop_test(c, incomplete_entries_of_every_table_are_refused, 0,
                        PRIOR_FAULTS + OTHER_FAULTS);
    tcase_add_test(c, entries_of_every_table_are_saved_by_name);
    tcase_add_test(c, parts_of_a_message_are_a_field);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
