/* A tape for one row of a model's output, which is built once and run again and again. */
#include <lib/explain/probe.h>
#include <lib/model/model.h>
#include <lib/tape/tape.h>

/* ---- features ---- */

static int find_features(gnn__probe_t *p, const char *input)
{
    const char *name = input ? input : "x";
    p->features = -1;
    for (int64_t k = 0; k < p->inputs.n_values && p->features < 0; k++)
        if (strcmp(p->values[k].name, name) == 0 && !p->values[k].ids)
            p->features = k;
    if (p->features < 0 && input)
        return gnn__error(GNN_ENOTFOUND, "no input \"%s\" of numbers, whose features are explained",
                          name);
    return GNN_OK;
}

static int new_tensor(gnn_tensor_t *t, int64_t rows, int64_t cols, const char *what)
{
    int64_t count;
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%s: %lld x %lld numbers do not fit", what,
                          (long long)rows, (long long)cols);
    GNN_TRY(gnn__new(&t->data, count, sizeof *t->data, what));
    *t = gnn_tensor(t->data, rows, cols);
    return GNN_OK;
}

static void copy_sparse(const gnn_tensor_t *to, const gnn_sparse_t *from)
{
    for (int64_t r = 0; r < from->rows; r++)
        for (int64_t k = from->indptr[r]; k < from->indptr[r + 1]; k++)
            gnn__row(to, r)[from->indices[k]] += from->values ? from->values[k] : 1;
}

static int copy_features(gnn__probe_t *p)
{
    static const char what[] = "features that are explained";
    if (p->features < 0)
        return GNN_OK;
    gnn_named_t *v = &p->values[p->features];
    const int64_t rows = v->dense    ? v->dense->rows
                         : v->sparse ? v->sparse->rows
                                     : 0,
                  cols = v->dense    ? v->dense->cols
                         : v->sparse ? v->sparse->cols
                                     : 0;
    GNN_TRY(new_tensor(&p->x, rows, cols, what));
    GNN_TRY(new_tensor(&p->x_run, rows, cols, what));
    for (int64_t r = 0; v->dense && r < rows; r++)
        memcpy(gnn__row(&p->x, r), gnn__row(v->dense, r), (size_t)cols * sizeof(gnn_real_t));
    if (!v->dense && v->sparse)
        copy_sparse(&p->x, v->sparse);
    *v = (gnn_named_t){.name = v->name, .dense = &p->x_run, .wants_grad = 1, .slot = v->slot};
    return GNN_OK;
}

void gnn__probe_reset(gnn__probe_t *p)
{
    if (p->features >= 0)
        memcpy(p->x_run.data, p->x.data, (size_t)(p->x.rows * p->x.cols) * sizeof(gnn_real_t));
    for (int64_t e = 0; e < p->n_edges; e++)
        p->mask.data[e] = 1;
}

/* ---- the tape ---- */

static int record(gnn__probe_t *p, bool gradients)
{
    gnn_var_t *vars;
    GNN_TRY(gnn_tape_new(&p->tape, p->context));
    GNN_TRY(gnn__new(&vars, p->inputs.n_values, sizeof *vars, "values of a model"));
    gnn_tape_reset(p->tape, gradients, 0);
    p->tape->frozen = true;
    p->mask_var = gnn_tape_input(p->tape, &p->mask, gradients);
    p->out = gnn__model_record_to(p->model, p->tape, &p->inputs, vars, NULL,
                                  &(gnn__record_how_t){.last = p->model->n_steps - 1,
                                                       .masked = p->graph,
                                                       .edge_mask = p->mask_var});
    p->x_var = p->features >= 0 ? vars[p->features] : GNN_NONE;
    gnn_free(vars);
    gnn_tape_keep(p->tape, p->out);
    return gnn_tape_status(p->tape);
}

static int make_output(gnn__probe_t *p)
{
    const int64_t rows = gnn_tape_rows(p->tape, p->out), cols = gnn_tape_cols(p->tape, p->out);
    if (p->row < 0 || p->row >= rows || cols < 1)
        return gnn__error(GNN_EINVALID, "row %lld is explained, the output is %lld x %lld",
                          (long long)p->row, (long long)rows, (long long)cols);
    GNN_TRY(new_tensor(&p->logits, 1, cols, "a row of the output"));
    return new_tensor(&p->d_out, rows, cols, "a row's gradient");
}

int gnn__probe_open(gnn__probe_t *p, const gnn_model_t *model, gnn_context_t *context,
                    const gnn_model_inputs_t *inputs, const gnn__probe_config_t *config)
{
    *p = (gnn__probe_t){.model = model, .context = context, .given = inputs, .features = -1};
    GNN_TRY(gnn__probe_reach(p, config));
    GNN_TRY(find_features(p, config->input));
    GNN_TRY(copy_features(p));
    GNN_TRY(new_tensor(&p->mask, p->n_edges, 1, "a mask over edges"));
    gnn__probe_reset(p);
    GNN_TRY(record(p, config->gradients));
    return make_output(p);
}

void gnn__probe_close(gnn__probe_t *p)
{
    gnn_tape_free(p->tape);
    for (int64_t k = 0; p->parts && k < p->given->n_values; k++)
        gnn__part_rows_free(&p->parts[k]);
    gnn_sample_free(p->sample);
    gnn_sampler_free(p->sampler);
    void *const all[] = {(void *)p->graphs, p->values,    p->parts,      p->nodes,
                         p->edges,          p->distance,  p->after,      p->x.data,
                         p->x_run.data,     p->mask.data, p->d_out.data, p->logits.data};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        gnn_free(all[k]);
    *p = (gnn__probe_t){0};
}

int gnn__probe_run(gnn__probe_t *p)
{
    GNN_TRY(gnn_tape_forward(p->tape));
    const gnn_tensor_t out = gnn_tape_value(p->tape, p->out);
    memcpy(p->logits.data, gnn__row(&out, p->row), (size_t)out.cols * sizeof(gnn_real_t));
    return GNN_OK;
}

int gnn__probe_gradients(gnn__probe_t *p, const gnn_real_t *d_row, gnn_tensor_t *d_x,
                         gnn_tensor_t *d_mask)
{
    memcpy(gnn__row(&p->d_out, p->row), d_row, (size_t)p->d_out.cols * sizeof(gnn_real_t));
    GNN_TRY(gnn_tape_backward(p->tape, p->out, &p->d_out));
    *d_x = p->x_var == GNN_NONE ? gnn_tensor(NULL, 0, 0) : gnn_tape_gradient(p->tape, p->x_var);
    *d_mask = gnn_tape_gradient(p->tape, p->mask_var);
    return GNN_OK;
}
