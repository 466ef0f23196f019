/* Segments of a model's steps whose values training computes again in backward. Segments
 * have about equally many steps; a border is where the fewest values cross. */
#include <lib/model/model.h>

#include <stdlib.h>

/* cross[k] = count of the earlier steps that step k or a later one reads. */
static void count_crossing(const gnn_model_t *model, int64_t *last, int64_t *cross)
{
    for (int64_t k = 0; k < model->n_steps; k++) {
        last[k] = k;
        for (int i = 0; i < GNN__STEP_INPUTS; i++) {
            const int64_t from = model->steps[k].in[i];
            if (from >= 0 && from < model->n_steps)
                last[from] = k;
        }
    }
    for (int64_t k = 0; k < model->n_steps; k++) /* differences, then their sums */
        if (last[k] > k) {
            cross[k + 1]++;
            if (last[k] + 1 < model->n_steps)
                cross[last[k] + 1]--;
        }
    for (int64_t k = 1; k < model->n_steps; k++)
        cross[k] += cross[k - 1];
}

static int64_t best_border(const int64_t *cross, int64_t from, int64_t to, int64_t middle)
{
    int64_t best = middle;
    for (int64_t k = from; k < to; k++)
        if (cross[k] < cross[best] ||
            (cross[k] == cross[best] && llabs(k - middle) < llabs(best - middle)))
            best = k;
    return best;
}

/* borders[s - 1], the first step of segment s: the step near s n / segments that the fewest values
 * cross. It differs from that by less than half a segment, so borders ascend. */
static void find_borders(const gnn_model_t *model, const int64_t *cross, int64_t segments,
                         int64_t *borders)
{
    const int64_t n = model->n_steps;
    for (int64_t s = 1; s < segments; s++) {
        const int64_t middle = s * n / segments, from = ((2 * s - 1) * n) / (2 * segments) + 1,
                      to = ((2 * s + 1) * n) / (2 * segments) + 1;
        borders[s - 1] = best_border(cross, gnn__min(from, middle),
                                     gnn__max(gnn__min(to, n), middle + 1), middle);
    }
}

int gnn_model_set_recompute(gnn_model_t *model, int64_t segments)
{
    GNN__NEED(model);
    int64_t *borders = NULL, *work = NULL;
    int rc = GNN_OK;
    if (segments < 0 || segments > model->n_steps)
        return gnn__error(GNN_EINVALID,
                          "gnn_model_set_recompute: %lld segments of %lld steps: expected 0 to as "
                          "many as there are steps",
                          (long long)segments, (long long)model->n_steps);
    if (segments > 1) {
        GNN_CHECK(gnn__new(&borders, segments - 1, sizeof *borders, "segments of a model"));
        GNN_CHECK(gnn__new(&work, 2 * model->n_steps, sizeof *work, "segments of a model"));
        count_crossing(model, work, work + model->n_steps);
        find_borders(model, work + model->n_steps, segments, borders);
    }
    gnn_free(model->borders);
    model->borders = borders;
    model->n_segments = segments > 1 ? segments : 0;
    borders = NULL;
done:
    gnn_free(borders);
    gnn_free(work);
    return rc;
}
