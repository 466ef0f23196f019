/* Terms of the loss besides that of the targets: loss + sum over k of weight_k mean(value of step
 * k), over all elements of the value. */
#include <lib/ops/support.h>
#include <lib/train/train.h>

#include <stddef.h>

typedef struct {
    const gnn_loss_term_t *terms; /* borrowed; as many as the op has inputs after the first */
} terms_t;

static gnn_real_t share_of(const gnn_op_call_t *call, int k)
{
    const terms_t *how = call->attributes;
    const double count = (double)call->in[k].rows * (double)call->in[k].cols;
    return (gnn_real_t)(count > 0 ? (double)how->terms[k - 1].weight / count : 0);
}

static int terms_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "loss_terms", 0, call->n_in - 1, call->n_in));
    gnn__op_output(call, 1, 1);
    return GNN_OK;
}

static int terms_forward(gnn_op_call_t *call)
{
    double total = (double)call->in[0].value.data[0];
    for (int k = 1; k < call->n_in; k++) {
        const gnn_tensor_t *x = &call->in[k].value;
        double sum = 0;
        for (int64_t r = 0; r < x->rows; r++)
            for (int64_t c = 0; c < x->cols; c++)
                sum += (double)gnn__row(x, r)[c];
        total += sum * (double)share_of(call, k);
    }
    call->out[0].value.data[0] = (gnn_real_t)total;
    return GNN_OK;
}

static int terms_backward(gnn_op_call_t *call)
{
    const gnn_real_t d = call->out[0].grad.data[0];
    for (int k = 0; k < call->n_in; k++) {
        const gnn_operand_t *x = &call->in[k];
        const gnn_real_t share = k > 0 ? share_of(call, k) * d : d;
        if (!gnn__wants(call, k))
            continue;
        for (int64_t r = 0; r < x->grad.rows; r++)
            for (int64_t c = 0; c < x->grad.cols; c++)
                gnn__row(&x->grad, r)[c] = (x->accumulate ? gnn__row(&x->grad, r)[c] : 0) + share;
    }
    return GNN_OK;
}

static const gnn_op_t terms_op = {
    .name = "loss_terms", .shape = terms_shape, .forward = terms_forward, .backward = terms_backward};

int gnn__loss_terms_check(const gnn_model_t *model, const gnn_context_t *context,
                          const gnn_train_config_t *config)
{
    if (config->n_terms < 0 || (config->n_terms > 0 && !config->terms))
        return gnn__error(GNN_EINVALID, "training: .n_terms = %lld, expected at least 0%s",
                          (long long)config->n_terms, config->terms ? "" : "; .terms is NULL");
    if (config->n_terms > GNN_LOSS_TERMS)
        return gnn__error(GNN_EINVALID, "training: .n_terms = %lld, expected at most %d",
                          (long long)config->n_terms, GNN_LOSS_TERMS);
    if (config->n_terms > 0 && gnn__ranks_split(context))
        return gnn__error(GNN_EUNSUPPORTED, "ranks: terms of the loss are not supported");
    for (int64_t k = 0; k < config->n_terms; k++) {
        const gnn_loss_term_t *t = &config->terms[k];
        if (!t->step || gnn_model_find(model, t->step) < 0)
            return gnn__error(GNN_ENOTFOUND,
                              "training: the model has no step \"%s\", term %lld of the loss",
                              t->step ? t->step : "", (long long)k);
        if (!isfinite((double)t->weight))
            return gnn__error(GNN_EINVALID,
                              "training: the weight of term \"%s\" is %g, expected a finite value",
                              t->step, (double)t->weight);
    }
    return GNN_OK;
}

uint64_t gnn__loss_terms_hash(const gnn_train_config_t *config)
{
    uint64_t hash = GNN__HASH_START;
    for (int64_t k = 0; k < config->n_terms; k++) {
        const double weight = (double)config->terms[k].weight;
        gnn__hash_add(&hash, &weight, sizeof weight);
        gnn__hash_add(&hash, config->terms[k].step, strlen(config->terms[k].step) + 1);
    }
    return hash;
}

gnn_var_t gnn__loss_terms_record(const gnn_model_t *model, gnn_tape_t *tape, gnn_var_t loss,
                                 const gnn_var_t *outputs, const gnn_train_config_t *config)
{
    gnn_var_t in[1 + GNN_LOSS_TERMS] = {loss};
    for (int64_t k = 0; k < config->n_terms; k++)
        in[1 + k] = outputs[gnn_model_find(model, config->terms[k].step)];
    return gnn_tape_op(tape, &terms_op, in, 1 + (int)config->n_terms, &(terms_t){config->terms},
                       sizeof(terms_t));
}
