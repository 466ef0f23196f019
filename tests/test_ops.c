/* Every op's values, gradients and messages; the matrix products; the same bits with any thread
 * count. */
#include "big_trials.h"
#include "op_references.h"

#include <lib/base/base.h>
#include <lib/kernels/rowwise/rowwise.h>

/* ---- every op ---- */

START_TEST(products_and_sums)
{
    gnn_context_t *c = context_new(2, _i == 1);
    check_shapes(&gnn__op_linear, reference_linear, c, NULL, 3,
                 (int64_t[][2]){{5, 7}, {7, 3}, {1, 3}});
    check_shapes(&gnn__op_linear, reference_linear, c, NULL, 2, (int64_t[][2]){{1, 9}, {9, 17}});
    check_shapes(&gnn__op_linear, reference_linear, c, NULL, 3,
                 (int64_t[][2]){{0, 7}, {7, 3}, {1, 3}});
    check_shapes(&gnn__op_linear, reference_linear, c, NULL, 3,
                 (int64_t[][2]){{5, 0}, {0, 3}, {1, 3}});
    check_shapes(&gnn__op_linear, reference_linear, c, NULL, 3,
                 (int64_t[][2]){{5, 2}, {2, 0}, {1, 0}});
    check_shapes(&gnn__op_add, reference_add, c, &(gnn__add_settings_t){(gnn_real_t)-0.5}, 2,
                 (int64_t[][2]){{4, 5}, {4, 5}});
    check_shapes(&gnn__op_add, reference_add, c, &(gnn__add_settings_t){2}, 2,
                 (int64_t[][2]){{40, 5}, {1, 5}});
    check_shapes(&gnn__op_add, reference_add, c, &(gnn__add_settings_t){2}, 2,
                 (int64_t[][2]){{0, 5}, {1, 5}});
    check_shapes(&gnn__op_add, reference_add, c, &(gnn__add_settings_t){2}, 2,
                 (int64_t[][2]){{1300, 2}, {1, 2}}); /* sums in several chunks */
    check_shapes(&gnn__op_bias, reference_bias, c, &(gnn__activation_settings_t){.kind = GNN_TANH},
                 2, (int64_t[][2]){{70, 9}, {1, 9}});
    check_shapes(&gnn__op_bias, reference_bias, c, &(gnn__activation_settings_t){.kind = GNN_SIGMOID},
                 2, (int64_t[][2]){{1300, 2}, {1, 2}});
    check_shapes(&gnn__op_bias, reference_bias, c, &(gnn__activation_settings_t){.kind = GNN_SIGMOID},
                 2, (int64_t[][2]){{0, 2}, {1, 2}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){2}, 2,
                 (int64_t[][2]){{1300, 2}, {1, 2}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){3}, 2,
                 (int64_t[][2]){{70, 24}, {1, 24}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){2}, 2,
                 (int64_t[][2]){{3, 140}, {1, 140}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){8}, 2,
                 (int64_t[][2]){{67, 64}, {1, 64}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){3}, 3,
                 (int64_t[][2]){{70, 24}, {1, 24}, {1, 24}});
    check_shapes(&gnn__op_add_scaled, reference_add_scaled, c, NULL, 3,
                 (int64_t[][2]){{4, 5}, {4, 5}, {1, 1}});
    check_shapes(&gnn__op_add_scaled, reference_add_scaled, c, NULL, 3,
                 (int64_t[][2]){{0, 5}, {0, 5}, {1, 1}});
    check_shapes(&gnn__op_concat, reference_concat, c, NULL, 3,
                 (int64_t[][2]){{4, 5}, {4, 0}, {4, 2}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){3}, 2,
                 (int64_t[][2]){{40, 12}, {1, 12}});
    check_shapes(&gnn__op_head_dot, reference_head_dot, c, &(gnn__heads_settings_t){3}, 2,
                 (int64_t[][2]){{0, 12}, {1, 12}});
    check_shapes(&gnn__op_head_norm, reference_head_norm, c,
                 &(gnn__head_norm_settings_t){3, (gnn_real_t)0.01}, 2,
                 (int64_t[][2]){{40, 12}, {1, 4}});
    check_shapes(&gnn__op_head_norm, reference_head_norm, c,
                 &(gnn__head_norm_settings_t){1, (gnn_real_t)0.01}, 2,
                 (int64_t[][2]){{700, 5}, {1, 5}}); /* sums in several chunks */
    check_shapes(&gnn__op_head_norm, reference_head_norm, c,
                 &(gnn__head_norm_settings_t){2, (gnn_real_t)0.01}, 2,
                 (int64_t[][2]){{0, 12}, {1, 6}});
    check_shapes(&gnn__op_head_mean, reference_head_mean, c, &(gnn__heads_settings_t){3}, 1,
                 (int64_t[][2]){{5, 12}});
    check_shapes(&gnn__op_gru, reference_gru, c, NULL, 3,
                 (int64_t[][2]){{35, 15}, {35, 15}, {35, 5}});
    check_shapes(&gnn__op_gru, reference_gru, c, NULL, 3, (int64_t[][2]){{0, 15}, {0, 15}, {0, 5}});
    gnn_context_free(c);
}
END_TEST

START_TEST(every_activation)
{
    gnn_context_t *c = context_new(2, false);
    for (gnn_activation_t kind = GNN_IDENTITY; kind < GNN_ACTIVATION_COUNT; kind++)
        for (int slope = -1; slope < 2; slope++) {
            gnn__activation_settings_t how = {.kind = kind, .slope = (gnn_real_t)slope / 4};
            check_shapes(&gnn__op_activation, reference_activation, c, &how, 1,
                         (int64_t[][2]){{5, 21}});
            check_shapes(&gnn__op_activation, reference_activation, c, &how, 1,
                         (int64_t[][2]){{0, 21}});
        }
    ck_assert_str_eq(gnn__activation_name(GNN_LEAKY_RELU), "leaky_relu");
    ck_assert_str_eq(gnn__activation_name(GNN_SOFTPLUS), "softplus");
    ck_assert_str_eq(gnn__norm_name(GNN_NORM_LAYER), "layer");
    ck_assert_str_eq(gnn__norm_name(GNN_NORM_RMS), "rms");
    gnn_context_free(c);
}
END_TEST

/* From far below to far above, infinities and NaN. */
START_TEST(activations_at_the_edges)
{
    const double at[] = {-INFINITY, -1000, -90,  -20.5, -5, -1e-4, 0,
                         1e-4,      5,     19.9, 20.1,  90, 1000,  INFINITY};
    for (gnn_activation_t kind = GNN_IDENTITY; kind < GNN_ACTIVATION_COUNT; kind++)
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            gnn_real_t x = (gnn_real_t)at[k], y, nan = (gnn_real_t)NAN;
            double expected = activation(kind, 0.2, (double)x);
            gnn__elementwise_kernels()->activate(kind, (gnn_real_t)0.2, 1, &x, &y);
            bool equal = isfinite(expected) ? fabs((double)y - expected) <=
                                                  (GNN_DOUBLE ? 1e-14 : 2e-6) * (1 + fabs(expected))
                                            : (double)y == expected || isnan(y);
            ck_assert_msg(equal, "%s(%g) is %g, not %g", gnn__activation_name(kind), at[k],
                          (double)y, expected);
            gnn__elementwise_kernels()->activate(kind, (gnn_real_t)0.2, 1, &nan, &y);
            ck_assert_msg(isnan(y), "%s(NaN) is %g", gnn__activation_name(kind), (double)y);
        }
}
END_TEST

START_TEST(norms)
{
    gnn_context_t *c = context_new(2, false);
    gnn_real_t statistics[2 * 13];
    uint64_t seed = 5;
    for (int k = 0; k < 26; k++)
        statistics[k] = (gnn_real_t)(1.5 + test_uniform(&seed));
    for (gnn_norm_t kind = GNN_NORM_LAYER; kind <= GNN_NORM_RMS; kind++)
        for (int inputs = 1; inputs <= 3; inputs += 2) {
            gnn__norm_settings_t how = {.kind = kind, .eps = (gnn_real_t)0.01};
            check_shapes(&gnn__op_norm, reference_norm, c, &how, inputs,
                         (int64_t[][2]){{40, 13}, {1, 13}, {1, 13}});
            check_shapes(&gnn__op_norm, reference_norm, c, &how, inputs,
                         (int64_t[][2]){{1100, 2}, {1, 2}, {1, 2}});
            check_shapes(&gnn__op_norm, reference_norm, c, &how, inputs,
                         (int64_t[][2]){{0, 13}, {1, 13}, {1, 13}});
            check_shapes(&gnn__op_norm, reference_norm, c, &how, inputs,
                         (int64_t[][2]){{3, 0}, {1, 0}, {1, 0}});
        }
    for (gnn_norm_t kind = GNN_NORM_LAYER; kind <= GNN_NORM_RMS;
         kind += GNN_NORM_RMS - GNN_NORM_LAYER) {
        gnn__norm_settings_t with = {.kind = kind, .eps = (gnn_real_t)0.01};
        check_shapes(&gnn__op_norm, reference_norm, c, &with, 4,
                     (int64_t[][2]){{40, 13}, {1, 13}, {1, 13}, {40, 13}});
        check_shapes(&gnn__op_norm, reference_norm, c, &with, 4,
                     (int64_t[][2]){{0, 13}, {1, 13}, {1, 13}, {0, 13}});
    }
    gnn__norm_settings_t how = {.kind = GNN_NORM_BATCH, .running = gnn_tensor(statistics, 2, 13)};
    trial_t t = trial_new(&gnn__op_norm, reference_norm, c, &how, 0);
    t.call.training = 0;
    for (int k = 0; k < 3; k++)
        trial_input(&t, k ? 1 : 5, 13);
    check_trial(&t);
    gnn_context_free(c);
}
END_TEST

/* norm(x + z): each part's gradient is overwritten or added to on its own, and may be unwanted. */
START_TEST(both_summands_of_a_normed_sum_get_its_gradient)
{
    gnn_context_t *c = context_new(2, false);
    for (int how = 0; how < 16; how++) {
        trial_t t =
            trial_new(&gnn__op_norm, NULL, c, &(gnn__norm_settings_t){.kind = GNN_NORM_LAYER}, 0);
        const int64_t shapes[][2] = {{40, 13}, {1, 13}, {1, 13}, {40, 13}};
        for (int k = 0; k < 4; k++)
            trial_input(&t, shapes[k][0], shapes[k][1]);
        ck_ok(trial_forward(&t));
        ck_ok(trial_backward(&t, 0));
        gnn_real_t expected[40 * 13];
        gnn_operand_t *parts[] = {&t.call.in[0], &t.call.in[3]};
        memcpy(expected, parts[0]->grad.data, sizeof expected);
        for (int k = 0; k < 2; k++) {
            parts[k]->accumulate = how >> k & 1;
            for (int e = 0; e < 40 * 13; e++)
                parts[k]->grad.data[e] = (gnn_real_t)(parts[k]->accumulate ? 1 : NAN);
        }
        gnn_real_t *kept[] = {parts[0]->grad.data, parts[1]->grad.data};
        for (int k = 0; k < 2; k++)
            if (how >> (2 + k) & 1)
                parts[k]->grad.data = NULL;
        t.call.scratch = calloc(1, t.call.backward_scratch);
        ck_ok(gnn__op_norm.backward(&t.call));
        free(t.call.scratch);
        for (int k = 0; k < 2; k++) {
            for (int e = 0; e < 40 * 13 && parts[k]->grad.data; e++)
                ck_assert(fabs((double)(kept[k][e] - (gnn_real_t)parts[k]->accumulate - expected[e])) <
                          1e-6);
            parts[k]->grad.data = kept[k];
        }
        trial_free(&t);
    }
    gnn_context_free(c);
}
END_TEST

START_TEST(batch_norm_moves_running_statistics)
{
    gnn_context_t *c = context_new(1, false);
    gnn_real_t statistics[] = {1, 2, 3, 4};
    gnn__norm_settings_t how = {.kind = GNN_NORM_BATCH, .running = gnn_tensor(statistics, 2, 2)};
    trial_t t = trial_new(&gnn__op_norm, NULL, c, &how, 0);
    gnn_operand_t *x = trial_input(&t, 3, 2);
    const gnn_real_t values[] = {1, 10, 2, 10, 6, 10};
    memcpy(x->value.data, values, sizeof values);
    ck_ok(trial_forward(&t));
    const double expected[] = {0.9 + 0.3, 1.8 + 1.0, 2.7 + 0.7, 3.6};
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol((double)statistics[k], expected[k], 1e-6);
    trial_free(&t);
    gnn_context_free(c);
}
END_TEST

START_TEST(dropout)
{
    gnn_context_t *c = context_new(2, false);
    check_shapes(&gnn__op_dropout, reference_dropout, c,
                 &(gnn__dropout_settings_t){(gnn_real_t)0.4}, 1, (int64_t[][2]){{70, 21}});
    check_shapes(&gnn__op_dropout, reference_dropout, c,
                 &(gnn__dropout_settings_t){(gnn_real_t)0.4}, 1, (int64_t[][2]){{3, 200}});
    check_shapes(&gnn__op_dropout, reference_dropout, c,
                 &(gnn__dropout_settings_t){(gnn_real_t)0.4}, 1, (int64_t[][2]){{3, 0}});
    check_shapes(&gnn__op_dropout, reference_dropout, c, &(gnn__dropout_settings_t){0}, 1,
                 (int64_t[][2]){{3, 20}});
    trial_t t = trial_new(&gnn__op_dropout, reference_dropout, c,
                          &(gnn__dropout_settings_t){(gnn_real_t)0.4}, 0);
    t.call.training = 0;
    trial_input(&t, 6, 6);
    check_trial(&t);
    gnn_context_free(c);
}
END_TEST

START_TEST(gathers)
{
    gnn_context_t *c = context_new(2, false);
    const int32_t ids[] = {3, -1, 0, 3, 3, 1};
    for (int64_t pad = 0; pad <= PAD; pad += PAD)
        for (int64_t count = 0; count <= 6; count += 6) {
            trial_t t = trial_new(&gnn_op_pick_rows, reference_gather, c, NULL, pad);
            trial_input(&t, 4, 5);
            trial_ids(&t, ids, count);
            check_trial(&t);
        }
    trial_t t = trial_new(&gnn_op_pick_rows, NULL, c, NULL, 0);
    trial_input(&t, 3, 5);
    trial_ids(&t, ids, 6);
    ck_fails(trial_forward(&t), GNN_EINVALID, "layer 2: gather: ids[0] is 3, the table has 3 rows");
    trial_free(&t);
    gnn_context_free(c);
}
END_TEST

START_TEST(weight_norms)
{
    gnn_context_t *c = context_new(2, false);
    gnn_graph_t *graph;
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, EDGES, graph_src, graph_dst));
    for (gnn_flag_t loops = GNN_ON; loops <= GNN_OFF; loops++)
        ck_ok(gnn_graph_prepare(
            graph,
            &(gnn_view_t){.self_loops = loops, .norm = GNN_GRAPH_NORM_NONE, .backward = GNN_ON}));
    for (gnn_flag_t loops = GNN_ON; loops <= GNN_OFF; loops++)
        for (gnn_graph_norm_t kind = GNN_GRAPH_NORM_SYMMETRIC; kind <= GNN_GRAPH_NORM_ROW; kind++) {
            gnn__weight_norm_settings_t how = {graph, loops, kind, 1};
            trial_t t = trial_new(&gnn__op_weight_norm, reference_weight_norm, c, &how, 0);
            gnn_operand_t *w = trial_input(&t, EDGES, 1);
            for (int e = 0; e < EDGES; e++)
                w->value.data[e] =
                    (gnn_real_t)(kind == GNN_GRAPH_NORM_ROW ? 0.3 * e - 1.7 : 0.5 + 0.3 * e);
            check_trial(&t);
        }
    trial_t below =
        trial_new(&gnn__op_weight_norm, NULL, c,
                  &(gnn__weight_norm_settings_t){graph, GNN_OFF, GNN_GRAPH_NORM_SYMMETRIC, 1}, 0);
    gnn_operand_t *w = trial_input(&below, EDGES, 1);
    for (int e = 0; e < EDGES; e++)
        w->value.data[e] = -1;
    ck_fails(trial_forward(&below), GNN_EINVALID, "at least 0 is expected");
    trial_free(&below);
    gnn_graph_free(graph);
    ck_ok(gnn_graph_complete(&graph, 1, (int64_t[]){3}));
    trial_t t = trial_new(&gnn__op_weight_norm, NULL, c,
                          &(gnn__weight_norm_settings_t){graph, GNN_OFF, GNN_GRAPH_NORM_ROW, 1}, 0);
    trial_input(&t, 0, 1);
    ck_fails(trial_forward(&t), GNN_EUNSUPPORTED, "part 0");
    trial_free(&t);
    gnn_graph_free(graph);
    gnn_context_free(c);
}
END_TEST

START_TEST(losses)
{
    gnn_context_t *c = context_new(2, false);
    const int32_t labels[] = {0, 3, -1, 2, 1, 1, 4};
    const uint8_t mask[] = {1, 1, 1, 0, 1, 1, 1}, none[7] = {0};
    const gnn_real_t weight[] = {1, 2, (gnn_real_t)0.5, 1, 3};
    gnn_tensor_t targets = tensor_new(7, 5, 2);
    for (int e = 0; e < 35; e++)
        gnn__row(&targets, e / 5)[e % 5] = (gnn_real_t)(e % 3) / 2;
    const gnn_loss_t all[] = {
        {.kind = GNN_LOSS_CROSS_ENTROPY, .labels = labels, .mask = mask, .class_weight = weight},
        {.kind = GNN_LOSS_CROSS_ENTROPY,
         .labels = labels,
         .mask = mask,
         .class_weight = weight,
         .label_smoothing = (gnn_real_t)0.1},
        {.kind = GNN_LOSS_CROSS_ENTROPY, .labels = labels, .mask = none, .class_weight = weight},
        {.kind = GNN_LOSS_BINARY_CROSS_ENTROPY, .targets = &targets, .mask = mask},
        {.kind = GNN_LOSS_MEAN_SQUARED, .targets = &targets, .mask = mask},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        check_shapes(&gnn__op_loss, reference_loss, c, &all[k], 1, (int64_t[][2]){{7, 5}});
    int32_t many[300];
    uint8_t gaps[300] = {0}; /* runs of every length that do not count */
    for (int r = 0, gap = 0; r < 300; r += 1 + gap++ % 21)
        gaps[r] = 1;
    for (int r = 0; r < 300; r++)
        many[r] = r % 11 ? r % 3 : -1;
    const gnn_loss_t few = {
        .kind = GNN_LOSS_CROSS_ENTROPY, .labels = many, .mask = gaps, .class_weight = weight};
    check_shapes(&gnn__op_loss, reference_loss, c, &few, 1, (int64_t[][2]){{300, 3}});
    trial_t t = trial_new(&gnn__op_loss, NULL, c, &all[0], 0);
    trial_input(&t, 7, 4);
    ck_fails(trial_forward(&t), GNN_EINVALID, "row 6 has label 4, there are 4 classes");
    trial_free(&t);
    t = trial_new(&gnn__op_loss, NULL, c, &all[0], 0);
    trial_input(&t, 7, 1);
    ck_fails(trial_forward(&t), GNN_ESHAPE, "one column takes GNN_LOSS_BINARY_CROSS_ENTROPY");
    trial_free(&t);
    free(targets.data);
    gnn_context_free(c);
}
END_TEST

/* ---- sparse equals dense ---- */

/* The same linear on the dense matrix with the same mask. */
static void check_sparse(gnn_context_t *c, const gnn_sparse_t *x, int64_t out, gnn_real_t rate,
                         int recording)
{
    gnn__linear_settings_t how = {.sparse_dropout = rate};
    trial_t sparse = trial_new(&gnn__op_linear, NULL, c, &how, 0),
            dense = trial_new(&gnn__op_linear, NULL, c, NULL, 0);
    sparse.call.in[sparse.call.n_in++] =
        (gnn_operand_t){.rows = x->rows, .cols = x->cols, .sparse = x, .present = 1};
    trial_input(&dense, x->rows, x->cols);
    ck_ok(gnn__sparse_to_dense(x, &dense.call.in[0].value));
    if (rate > 0)
        drop_dense(&dense, x, rate);
    sparse.call.recording = recording;
    for (int k = 1; k < 3; k++) {
        trial_input(&sparse, k == 1 ? x->cols : 1, out);
        trial_input(&dense, k == 1 ? x->cols : 1, out);
    }
    ck_ok(trial_forward(&sparse));
    ck_ok(trial_forward(&dense));
    ck_assert_double_lt(
        test_error(sparse.call.out[0].value.data, dense.call.out[0].value.data, x->rows * out),
        TOLERANCE_OUT);
    for (int accumulate = 0; accumulate < 2 && recording; accumulate++) {
        ck_ok(trial_backward(&sparse, accumulate));
        ck_ok(trial_backward(&dense, accumulate));
        ck_assert_double_lt(
            test_error(sparse.call.in[1].grad.data, dense.call.in[1].grad.data, x->cols * out),
            TOLERANCE_OUT);
        ck_assert_double_lt(test_error(sparse.call.in[2].grad.data, dense.call.in[2].grad.data, out),
                            TOLERANCE_OUT);
    }
    trial_free(&sparse);
    trial_free(&dense);
}

START_TEST(sparse_linear_equals_dense)
{
    gnn_context_t *c = context_new(2, false);
    for (int ones = 0; ones < 2; ones++) {
        gnn_sparse_t x = sparse_new(50, 43, ones);
        for (int64_t out = 1; out < 150; out = 3 * out + 1)
            for (int drop = 0; drop < 2; drop++)
                for (int recording = 0; recording < 2; recording++)
                    check_sparse(c, &x, out, (gnn_real_t)(0.6 * drop), recording);
        sparse_free(&x);
        /* Wide and long, so that backward adds rows of dy to many instead of gathering them. */
        x = sparse_new(4000, 43, ones);
        for (int drop = 0; drop < 2; drop++)
            check_sparse(c, &x, 77, (gnn_real_t)(0.6 * drop), 1);
        sparse_free(&x);
        /* Rows with more values than are listed at once. */
        x = sparse_new(8, 1700, ones);
        for (int drop = 0; drop < 2; drop++)
            check_sparse(c, &x, 21, (gnn_real_t)(0.1 * drop), 1);
        sparse_free(&x);
    }
    gnn_context_free(c);
}
END_TEST

/* ---- threads, products, kernels ---- */

START_TEST(same_bits_on_one_two_and_four_threads)
{
    gnn_context_t *one = context_new(1, true), *many = context_new(_i, true);
    gnn_sparse_t x = sparse_new(1500, 200, false);
    int32_t ids[3000];
    for (int k = 0; k < 3000; k++)
        ids[k] = (int32_t)(k * 7919L % 41) - 1;
    trial_t a, b;
    for (int k = 0; big_trial(k, one, &a, &x, ids); k++) {
        ck_assert(big_trial(k, many, &b, &x, ids));
        ck_assert_msg(tensor_same_bits(&a.call.out[0].value, &b.call.out[0].value),
                      "%s: another value on %d threads", a.op->name, _i);
        for (int i = 0; i < a.call.n_in; i++)
            ck_assert_msg(!a.dense[i] || tensor_same_bits(&a.call.in[i].grad, &b.call.in[i].grad),
                          "%s: another gradient %d on %d threads", a.op->name, i, _i);
        trial_free(&a);
        trial_free(&b);
    }
    sparse_free(&x);
    gnn_context_free(one);
    gnn_context_free(many);
}
END_TEST

START_TEST(error_messages_have_both_sizes)
{
    gnn_context_t *c = context_new(1, false);
    trial_t t = trial_new(&gnn__op_linear, NULL, c, NULL, 0);
    trial_input(&t, 5, 32);
    trial_input(&t, 64, 3);
    ck_fails(trial_shape(&t), GNN_ESHAPE,
             "layer 2: linear expects 64 input features, the tensor has 32");
    trial_free(&t);
    gnn_real_t data[6] = {0, 1, 2, 3, (gnn_real_t)INFINITY, 5};
    gnn_tensor_t tensor = gnn_tensor(data, 2, 3);
    ck_ok(gnn__tensor_check(&tensor, "x"));
    ck_fails(gnn__tensor_check_finite(&tensor, "x"), GNN_ENUMERIC, "x: row 1, column 1 is inf");
    tensor.stride = 2;
    ck_fails(gnn__tensor_check(&tensor, "x"), GNN_ESHAPE,
             "expected a stride of at least 3 columns, got 2");
    gnn_sparse_t sparse = {2, 3, (int64_t[]){0, 1, 2}, (int32_t[]){2, 3}, NULL};
    ck_fails(gnn__sparse_validate(&sparse, "x"), GNN_ESHAPE, "row 1 has column 3");
    sparse.indptr = (int64_t[]){0, 2, 1};
    ck_fails(gnn__sparse_validate(&sparse, "x"), GNN_ESHAPE, "falls from 2 to 1 at row 1");
    gnn_context_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops");
    TCase *ops = tcase_create("ops"), *numbers = tcase_create("numbers");
    tcase_set_timeout(ops, 300);
    tcase_set_timeout(numbers, 300);
    tcase_add_loop_test(ops, products_and_sums, 0, 2);
    tcase_add_test(ops, every_activation);
    tcase_add_test(ops, activations_at_the_edges);
    tcase_add_test(ops, norms);
    tcase_add_test(ops, both_summands_of_a_normed_sum_get_its_gradient);
    tcase_add_test(ops, batch_norm_moves_running_statistics);
    tcase_add_test(ops, dropout);
    tcase_add_test(ops, gathers);
    tcase_add_test(ops, weight_norms);
    tcase_add_test(ops, losses);
    tcase_add_test(ops, sparse_linear_equals_dense);
    tcase_add_test(ops, error_messages_have_both_sizes);
    tcase_add_loop_test(numbers, same_bits_on_one_two_and_four_threads, 2, 5);
    suite_add_tcase(suite, ops);
    suite_add_tcase(suite, numbers);
    return test_main(suite);
}
