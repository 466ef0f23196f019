/* Steps whose batches are divided among ranks: gradients, running statistics and losses of the
 * batches are the leaves of a tree of sums, which does not depend on the count of ranks. */
#include <lib/train/train.h>

void gnn__step_sums_close(gnn__step_sums_t *s)
{
    gnn_free(s->buffers);
    gnn_free(s->kept);
    *s = (gnn__step_sums_t){0};
}

int gnn__step_sums_open(gnn__step_sums_t *s, gnn__ranks_t *ranks, const gnn_model_t *model)
{
    int rc;
    *s = (gnn__step_sums_t){.ranks = ranks, .n_buffers = gnn_model_buffer_count(model)};
    s->parameters = gnn_model_parameters(model);
    gnn_parameters_block(s->parameters, 0, &s->length);
    GNN_CHECK(gnn__new(&s->buffers, s->n_buffers, sizeof *s->buffers, "list of buffers"));
    for (int64_t b = 0; b < s->n_buffers; b++) {
        GNN_CHECK(gnn_model_buffer(model, gnn_model_buffer_name(model, b), &s->buffers[b]));
        s->in_buffers += s->buffers[b].rows * s->buffers[b].cols;
    }
    GNN_CHECK(gnn__new(&s->kept, s->in_buffers, sizeof *s->kept, "running statistics"));
    return GNN_OK;
done:
    gnn__step_sums_close(s);
    return rc;
}

/* Copies the running statistics to `kept`, or back. */
static void copy_buffers(const gnn__step_sums_t *s, bool keep)
{
    gnn_real_t *at = s->kept;
    for (int64_t b = 0; b < s->n_buffers; b++)
        for (int64_t r = 0; r < s->buffers[b].rows; r++, at += s->buffers[b].cols) {
            gnn_real_t *row = gnn__row(&s->buffers[b], r);
            memcpy(keep ? at : row, keep ? row : at, sizeof *at * (size_t)s->buffers[b].cols);
        }
}

void gnn__step_sums_begin(gnn__step_sums_t *s, bool gradients)
{
    s->gradients = gradients ? s->length : 0;
    s->sums = gnn__slice_sums(s->ranks, s->gradients + (gradients ? s->in_buffers : 0) + 2);
    if (gradients)
        copy_buffers(s, true);
}

void gnn__step_sums_before(gnn__step_sums_t *s)
{
    copy_buffers(s, false);
    gnn_parameters_zero_gradients(s->parameters);
}

int gnn__step_sums_add(gnn__step_sums_t *s, int64_t index, double loss, double rows)
{
    double *block;
    GNN_TRY(gnn__slice_sums_next(&s->sums, &block));
    *block++ = loss * rows;
    *block++ = rows;
    if (s->gradients > 0) {
        const gnn_real_t *gradient = gnn_parameters_block(s->parameters, 1, NULL);
        for (int64_t k = 0; k < s->gradients; k++)
            *block++ = (double)gradient[k];
        for (int64_t b = 0; b < s->n_buffers; b++)
            for (int64_t r = 0; r < s->buffers[b].rows; r++)
                for (int64_t c = 0; c < s->buffers[b].cols; c++)
                    *block++ = (double)gnn__row(&s->buffers[b], r)[c];
    }
    gnn__slice_sums_add(&s->sums, index);
    return GNN_OK;
}

int gnn__step_sums_end(gnn__step_sums_t *s, int64_t batches, double *loss, double *rows)
{
    const double *total;
    GNN_TRY(gnn__slice_sums_end(&s->sums, &total));
    *loss += *total++;
    *rows += *total++;
    if (s->gradients == 0)
        return GNN_OK;
    gnn_parameters_zero_gradients(s->parameters);
    gnn_real_t *gradient = gnn_parameters_block(s->parameters, 1, NULL);
    for (int64_t k = 0; k < s->gradients; k++)
        gradient[k] = (gnn_real_t)*total++;
    for (int64_t k = 0; k < s->in_buffers; k++)
        s->kept[k] = (gnn_real_t)(*total++ / (double)batches);
    copy_buffers(s, false);
    return GNN_OK;
}
