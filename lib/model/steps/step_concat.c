/* A step of kind `concat`: its inputs side by side. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__MANY_NEEDED};

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    int64_t sum = 0;
    bool known = true;
    (void)model;
    for (int k = 0; k < s->row->n_inputs; k++)
        if (s->in[k] != GNN__NOT_READ) {
            known = known && in[k] >= 0;
            if (known && !gnn__add(sum, in[k], &sum))
                return gnn__error(GNN_EOVERFLOW, "%s: so many columns do not fit", s->where);
        }
    s->width = known ? sum : -1;
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    gnn_var_t given[GNN__STEP_INPUTS];
    return gnn_tape_concat(r->tape, given, gnn__step_given(s->row, in, given));
}

const gnn__step_row_t gnn__step_kind_concat = {.name = "concat",
                                               .inputs = inputs,
                                               .n_inputs = 8,
                                               .growth = GNN__GROWS_BY_ROW,
                                               .width = width,
                                               .record = record};
