/* A step of kind `norm`: layer, rms, batch or l2 norm of its input. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    if (t->in < 1)
        return gnn__error(GNN_EINVALID, "%s: .in = %lld must be at least 1", s->where,
                          (long long)t->in);
    if (t->norm <= GNN_NORM_NONE || t->norm > GNN_NORM_L2)
        return gnn__error(GNN_EINVALID, "%s: a norm step needs .norm", s->where);
    return t->norm == GNN_NORM_BATCH ? gnn__step_check_running(model, s, t->in) : GNN_OK;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    if (t->norm == GNN_NORM_L2)
        return GNN_OK;
    GNN_TRY(gnn__step_parameter(model, s, "gain", 1, t->in, GNN_INIT_ONES, 0, NULL));
    if (t->norm != GNN_NORM_RMS)
        GNN_TRY(gnn__step_parameter(model, s, "shift", 1, t->in, GNN_INIT_ZEROS, 0, NULL));
    if (t->norm != GNN_NORM_BATCH)
        return GNN_OK;
    GNN_TRY(gnn__new(&s->running, 2 * t->in, sizeof *s->running, "running statistics"));
    for (int64_t k = 0; k < t->in; k++)
        s->running[t->in + k] = 1;
    return GNN_OK;
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = s->step.in;
    return gnn__step_expect(model, s, in, 0, s->step.in, "input features");
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_step_t *t = &s->step;
    const gnn_tensor_t running = gnn_tensor(s->running, 2, t->in);
    return gnn_tape_norm(r->tape, t->norm, in[0], gnn__step_value(r, s, "gain"),
                         gnn__step_value(r, s, "shift"), t->eps == 0 ? (gnn_real_t)1e-5 : t->eps,
                         s->running ? &running : NULL, (gnn_real_t)0.1);
}

const gnn__step_row_t gnn__step_kind_norm = {
    .name = "norm",
    .reads =
        GNN__READS(GNN__AT(in), GNN__AT(norm), GNN__AT(eps), GNN__AT(share), GNN__AT(share_fields)),
    .inputs = inputs,
    .n_inputs = 1,
    .growth = GNN__GROWS_BY_ROW,
    .check = check,
    .declare = declare,
    .width = width,
    .record = record};
