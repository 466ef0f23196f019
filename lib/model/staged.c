/* A run of a model in stages: values that later steps read are kept, so that each call computes new
 * steps alone. */
#include <lib/model/steps.h>
#include <lib/tape/tape.h>

struct gnn_staged {
    const gnn_model_t *model;
    gnn_context_t *context;
    gnn_model_inputs_t inputs;
    gnn_tensor_t *values; /* (steps) of the run; data NULL: not kept */
    /* (steps) computed in any call; needed in this one; read by steps that neither has */
    bool *done, *needed, *later;
    gnn_var_t *outputs; /* (steps) of this call */
    gnn_var_t *vars;    /* (inputs) */
    int64_t count;
};

void gnn_staged_free(gnn_staged_t *run)
{
    if (!run)
        return;
    for (int64_t k = 0; run->values && k < run->model->n_steps; k++)
        gnn_free(run->values[k].data);
    gnn_free(run->values);
    gnn_free(run->done);
    gnn_free(run->needed);
    gnn_free(run->later);
    gnn_free(run->outputs);
    gnn_free(run->vars);
    gnn_free(run);
}

static int make_run(gnn_staged_t *run)
{
    const int64_t steps = run->model->n_steps;
    GNN_TRY(gnn__new(&run->values, steps, sizeof *run->values, "a run's values"));
    GNN_TRY(gnn__new(&run->done, steps, sizeof *run->done, "a run's steps"));
    GNN_TRY(gnn__new(&run->needed, steps, sizeof *run->needed, "a run's steps"));
    GNN_TRY(gnn__new(&run->later, steps, sizeof *run->later, "a run's steps"));
    GNN_TRY(gnn__new(&run->outputs, steps, sizeof *run->outputs, "a run's values"));
    return gnn__new(&run->vars, gnn__max(run->inputs.n_values, 1), sizeof *run->vars,
                    "a run's inputs");
}

int gnn_staged_new(gnn_staged_t **run, const gnn_model_t *model, gnn_context_t *context,
                   const gnn_model_inputs_t *inputs)
{
    GNN__NEED(run);
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    gnn_staged_t *made = NULL;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a run"));
    made->model = model;
    made->context = context;
    made->inputs = *inputs;
    const int rc = make_run(made);
    if (rc != GNN_OK) {
        gnn_staged_free(made);
        return rc;
    }
    *run = made;
    return GNN_OK;
}

int64_t gnn__staged_steps(const gnn_staged_t *run)
{
    return run->count;
}

/* ---- one call ---- */

/* A step without a value of its own: an input, or parameters. It is recorded in each call. */
static bool is_free(const gnn__model_step_t *s)
{
    return s->row->n_inputs == 0 || s->row->inputs[0].declared;
}

/* Marks the steps whose values a step reads; of a loop, those that its body reads too. */
static void mark_inputs(const gnn_model_t *model, const gnn__model_step_t *s, bool *marks)
{
    for (int i = 0; i < s->row->n_inputs; i++)
        if (s->in[i] >= 0 && s->in[i] < model->n_steps)
            marks[s->in[i]] = true;
    for (int64_t b = 0; b < s->n_body; b++)
        mark_inputs(model, &model->steps[s->body[b]], marks);
}

/* Marks what step `last` needs and no earlier call has kept, and what steps read that no call has
 * computed. */
static void mark_needed(gnn_staged_t *run, int64_t last)
{
    const gnn_model_t *model = run->model;
    memset(run->needed, 0, sizeof *run->needed * (size_t)model->n_steps);
    memset(run->later, 0, sizeof *run->later * (size_t)model->n_steps);
    run->needed[last] = true;
    for (int64_t k = last; k >= 0; k--)
        if (run->needed[k] && !run->values[k].data)
            mark_inputs(model, &model->steps[k], run->needed);
    for (int64_t k = 0; k < model->n_steps; k++)
        if (!run->done[k] && !run->needed[k])
            mark_inputs(model, &model->steps[k], run->later);
}

static int keep(gnn_staged_t *run, gnn_tape_t *tape, int64_t k)
{
    const gnn_var_t x = run->outputs[k];
    const gnn__value_t *v = gnn__tape_at(tape, x);
    gnn_tensor_t *value = &run->values[k];
    int64_t count;
    if (v->sparse || v->ids)
        return gnn__error(GNN_EUNSUPPORTED, "the value of %s is its input, which is %s",
                          run->model->steps[k].where, v->sparse ? "sparse" : "ids");
    const int64_t rows = gnn_tape_rows(tape, x), cols = gnn_tape_cols(tape, x);
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "a value of %lld x %lld does not fit", (long long)rows,
                          (long long)cols);
    GNN_TRY(gnn__new(&value->data, gnn__max(count, 1), sizeof *value->data, "a run's value"));
    *value = gnn_tensor(value->data, rows, cols);
    gnn__record_into(tape, x, value);
    return GNN_OK;
}

static int record_needed(gnn_staged_t *run, gnn_tape_t *tape, int64_t last)
{
    gnn__recording_t r = {.model = run->model,
                          .tape = tape,
                          .inputs = &run->inputs,
                          .vars = run->vars,
                          .outputs = run->outputs};
    gnn__record_inputs(&r);
    for (int64_t k = 0; k <= last; k++) {
        const bool kept = run->values[k].data != NULL;
        run->outputs[k] = !run->needed[k] ? GNN_NONE
                          : kept          ? gnn_tape_input(tape, &run->values[k], 0)
                                          : gnn__record_again(&r, k);
        run->needed[k] = run->needed[k] && !kept;
    }
    return gnn_tape_status(tape);
}

/* Keeps the values that the caller or later steps read; after an error, none of this call. */
static int run_needed(gnn_staged_t *run, gnn_tape_t *tape, int64_t last)
{
    int rc;
    GNN_TRY(record_needed(run, tape, last));
    for (int64_t k = 0; k <= last; k++)
        if (run->needed[k] && (k == last || (!is_free(&run->model->steps[k]) && run->later[k])))
            GNN_CHECK(keep(run, tape, k));
    GNN_CHECK(gnn_tape_forward(tape));
    for (int64_t k = 0; k <= last; k++) {
        run->count += run->needed[k] && !run->done[k];
        run->done[k] = run->done[k] || run->needed[k];
    }
    return GNN_OK;
done:
    for (int64_t k = 0; k <= last; k++)
        if (run->needed[k]) {
            gnn_free(run->values[k].data);
            run->values[k].data = NULL;
        }
    return rc;
}

int gnn_staged_value(gnn_staged_t *run, const char *name, gnn_tensor_t *value)
{
    GNN__NEED(run);
    GNN__NEED(name);
    GNN__NEED(value);
    const int64_t step = gnn_model_find(run->model, name);
    gnn_tape_t *tape;
    if (step < 0)
        return gnn__error(GNN_ENOTFOUND, "the model has no step \"%s\"", name);
    if (!run->values[step].data) {
        GNN_TRY(gnn__context_tape(run->context, &tape));
        mark_needed(run, step);
        GNN_TRY(run_needed(run, tape, step));
    }
    *value = run->values[step];
    return GNN_OK;
}
