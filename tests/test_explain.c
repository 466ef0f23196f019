/* Explanations of nodes against finite differences, axioms and hand calculations. */
#include "explain_bed.h"

static double logit(bed_t *b, int64_t row, int64_t column)
{
    gnn_real_t out[NODES * 3];
    const gnn_tensor_t t = gnn_tensor(out, NODES, 3);
    ck_ok(gnn_model_forward(b->model, b->context, &b->inputs, &t));
    return (double)out[row * 3 + column];
}

START_TEST(saliency_of_features_is_the_derivative)
{
    const double step = GNN_DOUBLE ? 1e-6 : 1e-2, bound = GNN_DOUBLE ? 1e-7 : 2e-3;
    bed_t b;
    open(&b, 2, models[_i]);
    gnn_explanation_t *why = explained(&b, 0, &(gnn_explain_config_t){.method = "saliency"});
    ck_assert(why->hops == 2 && why->nodes[0] == 0 && why->features.rows == why->n_nodes);
    for (int64_t k = 0; k < why->n_nodes; k++)
        for (int64_t c = 0; c < WIDE; c++) {
            gnn_real_t *x = &b.x[why->nodes[k] * WIDE + c], kept = *x;
            *x = kept + (gnn_real_t)step;
            const double more = logit(&b, 0, why->output);
            *x = kept - (gnn_real_t)step;
            const double less = logit(&b, 0, why->output);
            *x = kept;
            ck_assert_double_eq_tol((double)why->features.data[k * WIDE + c],
                                    fabs(more - less) / (2 * step), bound);
        }
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

/* A GCN with a mask on messages, in double precision from the model's weights. */
static double masked_gcn(const bed_t *b, const double *mask, int64_t row, int64_t column)
{
    double h[NODES][4] = {{0}}, next[NODES][4], degree[NODES];
    for (int i = 0; i < NODES; i++)
        degree[i] = 1;
    for (int e = 0; e < EDGES; e++)
        degree[to[e]] += 1;
    for (int i = 0; i < NODES; i++)
        for (int c = 0; c < WIDE; c++)
            h[i][c] = (double)b->x[i * WIDE + c];
    for (int l = 0; l < 2; l++) {
        const int in = l == 0 ? WIDE : 4, out = l == 0 ? 4 : 3;
        gnn_tensor_t w, bias;
        double rows[NODES][4] = {{0}};
        ck_ok(gnn_model_field(b->model, l == 0 ? "0.value.weight" : "1.value.weight", &w, NULL));
        ck_ok(gnn_model_field(b->model, l == 0 ? "0.out.bias" : "1.out.bias", &bias, NULL));
        for (int i = 0; i < NODES; i++)
            for (int o = 0; o < out; o++)
                for (int c = 0; c < in; c++)
                    rows[i][o] += h[i][c] * (double)w.data[c * w.stride + o];
        for (int i = 0; i < NODES; i++)
            for (int o = 0; o < out; o++)
                next[i][o] = rows[i][o] / degree[i] + (double)bias.data[o];
        for (int e = 0; e < EDGES; e++)
            for (int o = 0; o < out; o++)
                next[to[e]][o] += mask[e] * rows[from[e]][o] / sqrt(degree[from[e]] * degree[to[e]]);
        for (int i = 0; i < NODES; i++)
            for (int o = 0; o < out; o++)
                h[i][o] = l == 0 ? tanh(next[i][o]) : next[i][o];
    }
    return h[row][column];
}

START_TEST(saliency_of_edges_is_the_derivative_by_the_mask)
{
    const double step = 1e-6;
    double mask[EDGES];
    bed_t b;
    open(&b, 2, gcn);
    for (int e = 0; e < EDGES; e++)
        mask[e] = 1;
    ck_assert_double_eq_tol(masked_gcn(&b, mask, 0, 1), logit(&b, 0, 1), GNN_DOUBLE ? 1e-12 : 1e-5);
    gnn_explanation_t *why =
        explained(&b, 0, &(gnn_explain_config_t){.method = "saliency", .output = 2});
    ck_assert_int_eq(why->output, 1);
    for (int e = 0; e < EDGES; e++) {
        mask[e] = 1 + step;
        const double more = masked_gcn(&b, mask, 0, 1);
        mask[e] = 1 - step;
        const double less = masked_gcn(&b, mask, 0, 1);
        mask[e] = 1;
        ck_assert_double_eq_tol((double)why->edges.data[e], fabs(more - less) / (2 * step),
                                GNN_DOUBLE ? 1e-7 : 1e-4);
    }
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

START_TEST(integrated_gradients_add_up)
{
    bed_t b;
    open(&b, 2, models[_i]);
    gnn_explanation_t *why =
        explained(&b, 3, &(gnn_explain_config_t){.method = "integrated_gradients", .steps = 2000});
    double features = 0, edges = 0;
    for (int64_t k = 0; k < why->n_nodes * WIDE; k++)
        features += (double)why->features.data[k];
    for (int64_t e = 0; e < EDGES; e++)
        edges += (double)why->edges.data[e];
    ck_assert_double_eq_tol(why->value, logit(&b, 3, why->output), 1e-5);
    ck_assert_double_eq_tol(features, why->value - why->value_without_features, 1e-3);
    ck_assert_double_eq_tol(edges, why->value - why->value_without_edges, 1e-3);
    ck_assert(fabs(edges) > 1e-3 && fabs(features) > 1e-3);
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

/* The probability of a class of the model's row. */
static double probability(const double *logits, int64_t n, int64_t column)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += exp(logits[c]);
    return exp(logits[column]) / sum;
}

static void row_by_hand(const bed_t *b, const double *mask, int64_t row, double *logits)
{
    for (int64_t c = 0; c < 3; c++)
        logits[c] = masked_gcn(b, mask, row, c);
}

START_TEST(occlusion_is_the_loss_of_probability)
{
    double mask[EDGES], logits[3];
    bed_t b;
    open(&b, 2, gcn);
    for (int e = 0; e < EDGES; e++)
        mask[e] = 1;
    gnn_explanation_t *why = explained(&b, 0, &(gnn_explain_config_t){.method = "occlusion"});
    row_by_hand(&b, mask, 0, logits);
    const double p = probability(logits, 3, why->output);
    ck_assert_double_eq_tol(why->probability, p, GNN_DOUBLE ? 1e-12 : 1e-5);
    for (int e = 0; e < EDGES; e++) {
        mask[e] = 0;
        row_by_hand(&b, mask, 0, logits);
        mask[e] = 1;
        ck_assert_double_eq_tol((double)why->edges.data[e], p - probability(logits, 3, why->output),
                                GNN_DOUBLE ? 1e-12 : 1e-5);
    }
    ck_assert(why->features.rows == 1 && why->features.cols == WIDE);
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

START_TEST(fidelity_matches_masked_runs)
{
    double keep[EDGES] = {0}, leave[EDGES], all[EDGES], kept[3], left[3], whole[3], kl = 0;
    gnn_fidelity_t f;
    bed_t b;
    open(&b, 2, gcn);
    gnn_explanation_t *why = explained(&b, 0, &(gnn_explain_config_t){.method = "occlusion"});
    /* the two largest */
    for (int n = 0; n < 2; n++) {
        int best = -1;
        for (int e = 0; e < EDGES; e++)
            if (keep[e] == 0 && (best < 0 || why->edges.data[e] > why->edges.data[best]))
                best = e;
        keep[best] = 1;
    }
    for (int e = 0; e < EDGES; e++) {
        all[e] = 1;
        leave[e] = 1 - keep[e];
    }
    row_by_hand(&b, all, 0, whole);
    row_by_hand(&b, keep, 0, kept);
    row_by_hand(&b, leave, 0, left);
    for (int64_t c = 0; c < 3; c++) {
        const double q = probability(kept, 3, c), p = probability(whole, 3, c);
        kl += q * log(q / p);
    }
    ck_ok(gnn_explain_fidelity(b.model, b.context, &b.inputs, why,
                               &(gnn_fidelity_config_t){.edges = 2, .features = -1}, &f));
    const int64_t y = why->output;
    const double bound = GNN_DOUBLE ? 1e-12 : 1e-5, p = probability(whole, 3, y);
    ck_assert_double_eq_tol(f.plus_probability, p - probability(left, 3, y), bound);
    ck_assert_double_eq_tol(f.minus_probability, p - probability(kept, 3, y), bound);
    ck_assert_double_eq_tol(f.unfaithfulness, 1 - exp(-kl), bound);
    ck_assert_double_eq_tol(f.sparsity, 1 - 2.0 / (double)why->n_edges, bound);
    ck_assert(f.plus == (left[y] < left[(y + 1) % 3] || left[y] < left[(y + 2) % 3]));
    ck_assert(f.minus == (kept[y] < kept[(y + 1) % 3] || kept[y] < kept[(y + 2) % 3]));
    ck_fails(gnn_explain_fidelity(b.model, b.context, &b.inputs, why,
                                  &(gnn_fidelity_config_t){.features = -1}, &f),
             GNN_EINVALID, "for others set the count to keep");
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

/* With a learned mask, important edges are kept and unreachable ones are 0; weights and their
 * gradients are unchanged. */
START_TEST(gnn_explainer_changes_no_weight)
{
    int64_t length;
    bed_t b;
    open(&b, 2, models[_i]);
    gnn_parameters_t *parameters = gnn_model_parameters(b.model);
    gnn_real_t *values = gnn_parameters_block(parameters, 0, &length);
    gnn_real_t *before = malloc((size_t)length * sizeof *before);
    memcpy(before, values, (size_t)length * sizeof *before);
    gnn_parameters_zero_gradients(parameters);
    gnn_explanation_t *why = explained(&b, 0, &(gnn_explain_config_t){.epochs = 30, .lr = 0.1f}),
                      *same = explained(&b, 0, &(gnn_explain_config_t){.epochs = 30, .lr = 0.1f});
    ck_assert(memcmp(before, values, (size_t)length * sizeof *before) == 0);
    const gnn_real_t *gradients = gnn_parameters_block(parameters, 1, &length);
    for (int64_t k = 0; k < length; k++)
        ck_assert(gradients[k] == 0);
    double sum = 0;
    for (int e = 0; e < EDGES; e++) {
        ck_assert(why->edges.data[e] >= 0 && why->edges.data[e] < 1);
        ck_assert(why->edges.data[e] == same->edges.data[e]);
        sum += (double)why->edges.data[e];
    }
    /* edges into nodes that do not send to node 0 in one hop: 3 <- 5, 5 <- 3, 6, 4, 6 <- 5 */
    ck_assert(why->edges.data[7] == 0 && why->edges.data[9] == 0 && why->edges.data[11] == 0);
    ck_assert(sum > 0 && why->probability > 0);
    gnn_explanation_free(why);
    gnn_explanation_free(same);
    free(before);
    close(&b);
}
END_TEST

/* The neighbourhood gives the results of the whole graph, and edges keep their ids in any order. */
START_TEST(edges_keep_their_ids)
{
    static const int64_t order[EDGES] = {7, 2, 11, 0, 15, 4, 9, 1, 13, 6, 3, 12, 10, 5, 14, 8};
    int64_t src[EDGES], dst[EDGES];
    bed_t b;
    open(&b, 2, models[_i]);
    const gnn_explain_config_t config = {.method = _i == 1 ? "attention" : "occlusion"};
    gnn_explanation_t *why = explained(&b, 0, &config);
    for (int e = 0; e < EDGES; e++) {
        src[e] = from[order[e]];
        dst[e] = to[order[e]];
    }
    gnn_graph_free(b.graph);
    ck_ok(gnn_graph_from_edges(&b.graph, NODES, NODES, EDGES, src, dst));
    b.graphs[0] = b.graph;
    gnn_explanation_t *other = explained(&b, 0, &config);
    double largest = 0;
    for (int e = 0; e < EDGES; e++) {
        const double x = (double)why->edges.data[order[e]];
        ck_assert_double_eq_tol(x, (double)other->edges.data[e], GNN_DOUBLE ? 1e-12 : 1e-6);
        largest = fabs(x) > largest ? fabs(x) : largest;
    }
    ck_assert(largest > 1e-3);
    gnn_explanation_free(why);
    gnn_explanation_free(other);
    close(&b);
}
END_TEST

/* Weights of every hop by edge id; self-loops have the remainder to 1. */
START_TEST(attention_is_by_edge_id)
{
    gnn_real_t weights[EDGES * 2];
    bed_t b;
    open(&b, 2, gat);
    const gnn_tensor_t per_edge = gnn_tensor(weights, EDGES, 2), one = gnn_tensor(weights, EDGES, 1);
    ck_ok(gnn_model_attention(b.model, b.context, &b.inputs, 0, &per_edge, NULL));
    double first[EDGES];
    for (int e = 0; e < EDGES; e++)
        first[e] = ((double)weights[2 * e] + (double)weights[2 * e + 1]) / 2;
    for (int i = 0; i < NODES; i++) {
        double sum = 0;
        for (int e = 0; e < EDGES; e++)
            sum += to[e] == i ? first[e] : 0;
        ck_assert(sum > 0 && sum < 1);
    }
    ck_ok(gnn_model_attention(b.model, b.context, &b.inputs, 1, &one, NULL));
    gnn_explanation_t *why = explained(&b, 0, &(gnn_explain_config_t){.method = "attention"});
    for (int e = 0; e < EDGES; e++) {
        /* the first hop counts for receivers 0, 1, 2, the second for 0 alone */
        double expected = to[e] <= 2 ? first[e] : 0;
        if (to[e] == 0 && (double)weights[e] > expected)
            expected = (double)weights[e];
        ck_assert_double_eq_tol((double)why->edges.data[e], expected, GNN_DOUBLE ? 1e-12 : 1e-5);
    }
    ck_assert_int_eq(why->features.rows, 0);
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain");
    TCase *t = tcase_create("explain");
    tcase_add_loop_test(t, saliency_of_features_is_the_derivative, 0, 3);
    tcase_add_test(t, saliency_of_edges_is_the_derivative_by_the_mask);
    tcase_add_loop_test(t, integrated_gradients_add_up, 0, 3);
    tcase_add_test(t, occlusion_is_the_loss_of_probability);
    tcase_add_test(t, fidelity_matches_masked_runs);
    tcase_add_loop_test(t, gnn_explainer_changes_no_weight, 0, 3);
    tcase_add_loop_test(t, edges_keep_their_ids, 0, 3);
    tcase_add_test(t, attention_is_by_edge_id);
    tcase_set_timeout(t, 60);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
