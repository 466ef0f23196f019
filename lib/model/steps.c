/* The table of the kinds of steps, and what its entries share: parameters and checks. */
#include <lib/model/steps.h>

#include <lib/base/room.h>

static const gnn__step_row_t *const kinds[] = {
#define GNN_STEP(id, name) &gnn__step_kind_##name,
#include <lib/model/steps.def>
#undef GNN_STEP
};

const gnn__step_row_t *gnn__step_row(gnn_step_kind_t kind)
{
    return (int)kind >= 0 && kind < GNN_STEP_COUNT ? kinds[kind] : NULL;
}

const char *gnn__step_kind_name(gnn_step_kind_t kind)
{
    const gnn__step_row_t *row = gnn__step_row(kind);
    return row ? row->name : NULL;
}

const gnn__step_parameter_t *gnn__step_own(const gnn__model_step_t *s, const char *field)
{
    for (int k = 0; k < s->n_own; k++)
        if (strcmp(s->own[k].field, field) == 0)
            return &s->own[k];
    return NULL;
}

gnn_var_t gnn__step_value(const gnn__recording_t *r, const gnn__model_step_t *s, const char *field)
{
    const gnn__step_parameter_t *own = gnn__step_own(s, field);
    return own ? gnn_tape_parameter(r->tape, r->model->parameters, own->id) : GNN_NONE;
}

int gnn__step_given(const gnn__step_row_t *row, const gnn_var_t *in, gnn_var_t *given)
{
    int count = 0;
    for (int k = 0; k < row->n_inputs; k++)
        if (in[k] != GNN_NONE)
            given[count++] = in[k];
    return count;
}

int gnn__step_check_running(const gnn_model_t *model, const gnn__model_step_t *s, int64_t width)
{
    if (model->most >= 0 && width > model->most)
        return gnn__error(GNN_ESHAPE,
                          "%s: running statistics of %lld features, the file holds %lld values",
                          s->where, (long long)width, (long long)model->most);
    if (width > INT64_MAX / 4)
        return gnn__error(GNN_EOVERFLOW, "%s: running statistics of %lld features do not fit",
                          s->where, (long long)width);
    return GNN_OK;
}

/* ---- parameters of steps ---- */

static bool shares(const gnn_step_t *t, const char *field)
{
    return t->share &&
           (!t->share_fields || strncmp(field, t->share_fields, strlen(t->share_fields)) == 0);
}

/* The parameter that .share names as STEP.FIELD; NULL: it names none. */
static const gnn__step_parameter_t *find_field(const gnn_model_t *model, const char *share)
{
    const char *dot = strrchr(share, '.');
    char step[256];
    if (!dot || (size_t)(dot - share) >= sizeof step)
        return NULL;
    snprintf(step, sizeof step, "%.*s", (int)(dot - share), share);
    const int64_t k = gnn_model_find(model, step);
    return k < 0 ? NULL : gnn__step_own(&model->steps[k], dot + 1);
}

/* The parameter to share; NULL with GNN_OK if the step of that name has none of this field. A share
 * that names one parameter stands for the first of this step. */
static int find_shared(const gnn_model_t *model, const gnn__model_step_t *s, const char *field,
                       const gnn__step_parameter_t **found)
{
    const int64_t k = gnn_model_find(model, s->step.share);
    const gnn__step_parameter_t *one = k < 0 ? find_field(model, s->step.share) : NULL;
    if (one) {
        *found = s->n_own == 0 ? one : NULL;
        return GNN_OK;
    }
    if (k < 0)
        return gnn__error(GNN_ENOTFOUND, "%s: no earlier step %s to share parameters with",
                          s->where, s->step.share);
    const gnn__model_step_t *other = &model->steps[k];
    *found = gnn__step_own(other, field);
    if (!*found && s->n_own == 0 && other->n_own > 0)
        *found = &other->own[0];
    if (!*found && s->n_own == 0)
        return gnn__error(GNN_ENOTFOUND, "%s: step %s has no parameter to share with an op",
                          s->where, s->step.share);
    return GNN_OK;
}

static int add_own(gnn__model_step_t *s, const char *field, int32_t id, bool shared)
{
    GNN_TRY(gnn__one_more(&s->own, s->n_own, sizeof *s->own, "a step's parameters"));
    gnn__step_parameter_t *own = &s->own[s->n_own++];
    *own = (gnn__step_parameter_t){.id = id, .shared = shared};
    snprintf(own->field, sizeof own->field, "%s", field);
    return GNN_OK;
}

static int take(const gnn_model_t *model, gnn__model_step_t *s, const char *field,
                const gnn__step_parameter_t *from, int64_t rows, int64_t cols, bool *transposed)
{
    const gnn_tensor_t t = gnn_parameters_value(model->parameters, from->id);
    const bool straight = t.rows == rows && t.cols == cols && !(transposed && *transposed);
    if (!straight && !(transposed && *transposed && t.rows == cols && t.cols == rows))
        return gnn__error(GNN_ESHAPE, "%s: %s is %lld x %lld%s, %s of step %s is %lld x %lld",
                          s->where, field, (long long)rows, (long long)cols,
                          transposed && *transposed ? ", read transposed" : "", from->field,
                          s->step.share, (long long)t.rows, (long long)t.cols);
    return add_own(s, field, from->id, true);
}

/* A table of embeddings or learned rows is applied transposed: one logit per row (tied
 * embeddings). */
static void decide_transposed(const gnn_step_t *t, const gnn__step_parameter_t *from, bool *transposed)
{
    if (t->transposed == GNN_FLAG_DEFAULT)
        *transposed = strcmp(from->field, "table") == 0 || strcmp(from->field, "rows") == 0;
    else
        *transposed = t->transposed == GNN_ON;
}

int gnn__step_parameter(gnn_model_t *model, gnn__model_step_t *s, const char *field, int64_t rows,
                        int64_t cols, gnn_init_t init, double argument, bool *transposed)
{
    const gnn__step_parameter_t *from = NULL;
    char *name = NULL;
    int32_t id = -1;
    if (shares(&s->step, field))
        GNN_TRY(find_shared(model, s, field, &from));
    if (from && transposed)
        decide_transposed(&s->step, from, transposed);
    if (from)
        return take(model, s, field, from, rows, cols, transposed);
    GNN_TRY(gnn__asprintf(&name, "%s.%s", s->name, field));
    const int rc = gnn_parameters_add(model->parameters, name, rows, cols, init, argument, 0, 0, &id);
    gnn_free(name);
    return rc == GNN_OK ? add_own(s, field, id, false) : rc;
}

gnn__score_vars_t gnn__step_score_vars(const gnn_var_t *in)
{
    gnn__score_vars_t vars = {.gate = in[0], .prior_query = in[1]};
    memcpy(vars.prior, in + 2, sizeof vars.prior);
    return vars;
}

int gnn__step_check_sides(const gnn__model_step_t *s)
{
    return s->step.in >= 1 && s->step.out >= 1
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "%s: .in = %lld and .out = %lld must be at least 1",
                            s->where, (long long)s->step.in, (long long)s->step.out);
}
