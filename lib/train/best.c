/* The best weights so far: comparison of epochs, and a copy of the parameter block and of the
 * running statistics. */
#include <lib/tape/tape.h>
#include <lib/train/train.h>

int gnn__best_open(gnn__best_t *best, const gnn_model_t *model)
{
    int64_t length, total;
    size_t bytes;
    int rc;
    *best = (gnn__best_t){.parameters = gnn_model_parameters(model),
                          .loss = INFINITY,
                          .metric = -INFINITY,
                          .tie_loss = INFINITY};
    gnn_parameters_block(best->parameters, 0, &length);
    total = length;
    GNN_CHECK(gnn__new(&best->buffers, gnn_model_buffer_count(model), sizeof *best->buffers,
                       "list of buffers"));
    best->n_buffers = gnn_model_buffer_count(model);
    for (int64_t b = 0; b < best->n_buffers; b++) {
        GNN_CHECK(gnn_model_buffer(model, gnn_model_buffer_name(model, b), &best->buffers[b]));
        total += best->buffers[b].rows * best->buffers[b].cols;
    }
    GNN_CHECK(gnn__bytes(total, sizeof *best->kept, "best weights", &bytes));
    best->kept = gnn__aligned(bytes);
    GNN_CHECK(best->kept ? GNN_OK : gnn__error(GNN_EMEMORY, "best weights: no memory"));
    gnn__zero_pages(best->kept, bytes);
    gnn__best_keep(best);
    return GNN_OK;
done:
    gnn__best_close(best);
    return rc;
}

int64_t gnn__best_count(const gnn__best_t *best)
{
    int64_t total;
    gnn_parameters_block(best->parameters, 0, &total);
    for (int64_t b = 0; b < best->n_buffers; b++)
        total += best->buffers[b].rows * best->buffers[b].cols;
    return total;
}

void gnn__best_close(gnn__best_t *best)
{
    gnn_free(best->kept);
    gnn_free(best->buffers);
    best->kept = NULL;
    best->buffers = NULL;
}

/* Copies what training changes, and the buffers, to `kept` (keep) or back. */
static void copy(const gnn__best_t *best, bool keep)
{
    int64_t length;
    gnn_parameters_block(best->parameters, 0, &length);
    gnn_real_t *at = best->kept + length;
    for (int32_t id = 0; id < gnn_parameters_count(best->parameters); id++) {
        const gnn_tensor_t t = gnn_parameters_value(best->parameters, id);
        gnn_real_t *kept = best->kept + gnn__parameters_offset(best->parameters, id);
        if (t.data && gnn__parameters_learns(best->parameters, id))
            memcpy(keep ? kept : t.data, keep ? t.data : kept,
                   sizeof *kept * (size_t)(t.rows * t.cols));
    }
    for (int64_t b = 0; b < best->n_buffers; b++) {
        const gnn_tensor_t *t = &best->buffers[b];
        for (int64_t r = 0; r < t->rows; r++, at += t->cols)
            memcpy(keep ? at : gnn__row(t, r), keep ? gnn__row(t, r) : at,
                   sizeof *at * (size_t)t->cols);
    }
}

void gnn__best_keep(gnn__best_t *best)
{
    copy(best, true);
}

void gnn__best_restore(const gnn__best_t *best)
{
    copy(best, false);
}

bool gnn__best_update(gnn__best_t *best, gnn_watch_t watch, double loss, double metric)
{
    bool better, fresh;
    if (watch == GNN_WATCH_LOSS_OR_METRIC) {
        /* As in the GAT paper's program: weights are kept when both improve, patience is reset when
         * either does. */
        bool loss_best = loss <= best->loss,
             metric_best = isnan(metric) ? loss_best : metric >= best->metric;
        better = loss_best && metric_best;
        fresh = loss_best || metric_best;
    } else if (watch == GNN_WATCH_METRIC) {
        fresh = metric > best->metric;
        better = fresh || (metric == best->metric && loss < best->tie_loss);
    } else if (watch == GNN_WATCH_LOSS) {
        better = fresh = loss < best->loss;
    } else {
        better = fresh = true;
    }
    better = better || !best->any;
    best->loss = loss < best->loss ? loss : best->loss;
    best->metric = metric > best->metric ? metric : best->metric;
    best->stale = fresh ? 0 : best->stale + 1;
    if (better) {
        best->tie_loss = loss;
        best->any = true;
        gnn__best_keep(best);
    }
    return better;
}
