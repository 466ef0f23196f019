/* Inputs large enough that several threads share them. */
#ifndef GNN_TESTS_BIG_TRIALS_H
#define GNN_TESTS_BIG_TRIALS_H

#include "trial.h"

static gnn_sparse_t sparse_new(int64_t rows, int64_t cols, bool ones)
{
    int64_t *indptr = malloc(sizeof *indptr * (size_t)(rows + 1)), n = 0;
    int32_t *indices = malloc(sizeof *indices * (size_t)(rows * cols + 1));
    gnn_real_t *values = test_reals(rows * cols, 17);
    uint64_t seed = 3;
    for (int64_t r = 0; r < rows; r++) {
        indptr[r] = n;
        for (int64_t c = 0; c < cols; c++)
            if (test_uniform(&seed) > 0.6 && r % 7 != 2)
                indices[n++] = (int32_t)c;
    }
    indptr[rows] = n;
    if (ones)
        free(values);
    return (gnn_sparse_t){rows, cols, indptr, indices, ones ? NULL : values};
}

static void sparse_free(gnn_sparse_t *x)
{
    free((void *)x->indptr);
    free((void *)x->indices);
    free((void *)x->values);
}

/* One big trial of the k-th op; false if there is no such op. */
static bool big_trial(int k, gnn_context_t *c, trial_t *t, const gnn_sparse_t *x, const int32_t *ids)
{
    static const gnn__norm_settings_t layer = {.kind = GNN_NORM_LAYER},
                                      batch = {.kind = GNN_NORM_BATCH};
    static const gnn__activation_settings_t gelu = {.kind = GNN_GELU};
    static const gnn__activation_settings_t relu = {.kind = GNN_RELU};
    static const gnn__dropout_settings_t rate = {(gnn_real_t)0.5};
    static const gnn__heads_settings_t heads = {8};
    static const gnn__linear_settings_t sparse = {.sparse_dropout = (gnn_real_t)0.5};
    static const gnn__add_settings_t one = {1};
    const gnn_loss_t loss = {.labels = ids};
    static const struct {
        const gnn_op_t *op;
        const void *attributes;
        int64_t in[3][2];
    } all[] = {
        {&gnn__op_norm, &layer, {{3000, 40}, {1, 40}, {1, 40}}},
        {&gnn__op_norm, &batch, {{3000, 40}, {1, 40}, {1, 40}}},
        {&gnn__op_activation, &gelu, {{3000, 40}}},
        {&gnn__op_dropout, &rate, {{3000, 40}}},
        {&gnn__op_add, &one, {{3000, 40}, {1, 40}}},
        {&gnn__op_bias, &relu, {{3000, 40}, {1, 40}}},
        {&gnn__op_add_scaled, NULL, {{3000, 40}, {3000, 40}, {1, 1}}},
        {&gnn__op_head_dot, &heads, {{3000, 40}, {1, 40}, {1, 40}}},
        {&gnn__op_linear, NULL, {{1500, 100}, {100, 70}, {1, 70}}},
        {&gnn__op_gru, NULL, {{1000, 60}, {1000, 60}, {1000, 20}}},
        {&gnn__op_loss, NULL, {{3000, 40}}},
        {&gnn_op_gather, NULL, {{500, 40}}},
        {&gnn_op_gather, NULL, {{500, 200}}},
        {&gnn__op_linear, &sparse, {{0, 0}, {200, 40}, {1, 40}}},
        {&gnn__op_linear, &sparse, {{0, 0}, {200, 200}, {1, 200}}},
    };
    if (k >= (int)(sizeof all / sizeof *all))
        return false;
    *t = trial_new(all[k].op, NULL, c, all[k].attributes, 0);
    if (all[k].attributes == &sparse)
        t->call.in[t->call.n_in++] =
            (gnn_operand_t){.rows = x->rows, .cols = x->cols, .sparse = x, .present = 1};
    for (int i = t->call.n_in; i < 3 && all[k].in[i][1] > 0; i++)
        trial_input(t, all[k].in[i][0], all[k].in[i][1]);
    if (all[k].op == &gnn_op_gather)
        trial_ids(t, ids, 3000);
    static gnn_loss_t kept;
    kept = loss;
    if (all[k].op == &gnn__op_loss)
        t->call.attributes = &kept;
    ck_ok(trial_forward(t));
    ck_ok(trial_backward(t, 0));
    return true;
}

#endif
