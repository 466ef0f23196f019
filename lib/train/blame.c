/* Report of a non-finite loss: the first tensor that is not finite, and the training step. Checks
 * parameters and inputs first, then runs the model again and checks the output of each step in
 * order. */
#include <lib/model/steps.h>
#include <lib/train/train.h>

#include <math.h>

static bool find_bad(const gnn_tensor_t *t, int64_t *row, int64_t *col)
{
    for (*row = 0; *row < t->rows; ++*row)
        for (*col = 0; *col < t->cols; ++*col)
            if (!isfinite(gnn__row(t, *row)[*col]))
                return true;
    return false;
}

/* The first model step whose output is not finite, on a tape that keeps all of them. */
static int blame_output(const gnn__blame_t *b, gnn_tape_t *tape, const gnn_var_t *outputs)
{
    int64_t row, col;
    for (int64_t k = 0; k < gnn_model_step_count(b->model); k++) {
        const gnn_step_t *step = gnn_model_step(b->model, k);
        const gnn_tensor_t value =
            outputs[k] == GNN_NONE ? (gnn_tensor_t){0} : gnn_tape_value(tape, outputs[k]);
        if (value.data && find_bad(&value, &row, &col))
            return gnn__error(
                GNN_ENUMERIC,
                "epoch %lld, step %lld: the %s loss is %g; the first tensor that is not finite is the output of step \"%s\" (%s): %g at row %lld, column %lld",
                (long long)b->epoch, (long long)b->step, b->part, b->loss, step->name,
                gnn__step_kind_name(step->kind), (double)gnn__row(&value, row)[col], (long long)row,
                (long long)col);
    }
    return GNN_OK;
}

static int run_again(const gnn__blame_t *b, const gnn_model_inputs_t *inputs, gnn_tape_t *tape,
                     gnn_var_t *outputs)
{
    gnn_tape_reset(tape, b->training, b->training);
    gnn_model_record_all(b->model, tape, inputs, NULL, outputs);
    for (int64_t k = 0; k < gnn_model_step_count(b->model); k++)
        if (outputs[k] != GNN_NONE)
            gnn_tape_keep(tape, outputs[k]);
    gnn_tape_set_step(tape, (uint32_t)(b->training ? b->step : 0));
    return gnn_tape_forward(tape);
}

static int blame_steps(const gnn__blame_t *b, const gnn_model_inputs_t *inputs)
{
    gnn_tape_t *tape = NULL;
    gnn_var_t *outputs = NULL;
    int rc;
    GNN_CHECK(gnn__new(&outputs, gnn_model_step_count(b->model), sizeof *outputs, "outputs"));
    GNN_CHECK(gnn_tape_new(&tape, b->context));
    GNN_CHECK(run_again(b, inputs, tape, outputs));
    GNN_CHECK(blame_output(b, tape, outputs));
    rc = gnn__error(
        GNN_ENUMERIC,
        "epoch %lld, step %lld: the first tensor that is not finite is the loss: the %s loss is %g, all parameters and outputs are finite",
        (long long)b->epoch, (long long)b->step, b->part, b->loss);
done:
    gnn_tape_free(tape);
    gnn_free(outputs);
    return rc;
}

int gnn__blame(const gnn__blame_t *b, const gnn_model_inputs_t *inputs)
{
    int64_t row, col;
    double value;
    const gnn_parameters_t *parameters = gnn_model_parameters(b->model);
    const int32_t id = gnn__first_not_finite(parameters, 0, &row, &col, &value);
    if (id >= 0)
        return gnn__error(
            GNN_ENUMERIC,
            "epoch %lld, step %lld: the %s loss is %g; the first tensor that is not finite is parameter \"%s\": %g at row %lld, column %lld",
            (long long)b->epoch, (long long)b->step, b->part, b->loss,
            gnn_parameters_name(parameters, id), value, (long long)row, (long long)col);
    for (int64_t k = 0; k < inputs->n_values; k++) {
        const gnn_named_t *named = &inputs->values[k];
        int rc = named->dense    ? gnn__tensor_check_finite(named->dense, named->name)
                 : named->sparse ? gnn__sparse_validate(named->sparse, named->name)
                                 : GNN_OK;
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "epoch %lld, step %lld: the %s loss is %g; input",
                                     (long long)b->epoch, (long long)b->step, b->part, b->loss);
    }
    return blame_steps(b, inputs);
}
