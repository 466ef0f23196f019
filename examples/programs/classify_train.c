/* The classifier's training and its test. */
#include "classify.h"
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static int get_batch(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    const batches_t *const *both = user;
    const batch_t *b = &both[part]->batch[index];
    if (part == GNN_TRAIN)
        gnn_pack_drop_words(b->pack, b->options->word_dropout, b->options->seed, epoch, b->ids);
    batch->inputs = batch_inputs(b);
    batch->loss = (gnn_loss_t){.labels = b->pack->labels};
    return GNN_OK;
}

static int show_progress(void *user, const gnn_progress_t *now)
{
    (void)user;
    int live = isatty(STDERR_FILENO);
    fprintf(stderr,
            "%sepoch %lld of %lld: loss %.4f, held-out loss %.4f, accuracy %.1f%%%s, %.0f s%s",
            live ? "\r\033[K" : "", (long long)now->epoch, (long long)now->epochs, now->train_loss,
            now->validation_loss, 100 * now->validation_metric, now->improved ? " (best)" : "",
            now->seconds, live && now->epoch < now->epochs ? "" : "\n");
    return 0;
}

int classifier_train(gnn_model_t *model, gnn_context_t *context, const classify_t *o,
                     const batches_t *train, const batches_t *validation)
{
    const batches_t *both[] = {train, validation};
    const gnn_parameter_group_t fixed = {
        .prefix = "place.", .lr_scale = GNN_ZERO, .weight_decay = GNN_ZERO};
    gnn_source_t source = {
        .get = get_batch, .count = {train->packs->count, validation->packs->count, 0}, .user = both};
    gnn_train_config_t config = {.epochs = o->epochs,
                                 .patience = o->patience,
                                 .callback = show_progress,
                                 .stop = &program_stopped,
                                 .optimizer = {.kind = GNN_ADAMW,
                                               .clip_norm = 1,
                                               .groups = &fixed,
                                               .n_groups = o->sinusoidal ? 1 : 0,
                                               .lr = (gnn_real_t)o->lr,
                                               .weight_decay = (gnn_real_t)o->weight_decay},
                                 .schedule = {.kind = GNN_SCHEDULE_COSINE,
                                              .warmup = 50,
                                              .period = o->epochs * train->packs->count,
                                              .gamma = 0.05}};
    program_catch_interrupt();
    const int rc = gnn_train_batches(model, context, &source, &config, NULL);
    program_let_interrupt();
    return rc;
}

/* ---- testing ---- */

static int to_edges(const gnn_model_t *model, const batch_t *b, gnn_graph_t *edges[2])
{
    for (int slot = 0; slot < 2; slot++) {
        GNN_TRY(gnn_graph_to_edges(&edges[slot], b->graphs[slot]));
        GNN_TRY(gnn_model_prepare(model, slot, edges[slot], GNN_OFF));
    }
    return GNN_OK;
}

/* The best class, and its margin over the second best. */
static int64_t best_class(const gnn_real_t *logits, int64_t classes, double *margin)
{
    int64_t best = 0;
    *margin = INFINITY;
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    for (int64_t c = 0; c < classes; c++)
        if (c != best && logits[best] - logits[c] < (gnn_real_t)*margin)
            *margin = (double)(logits[best] - logits[c]);
    return best;
}

static int compare(const gnn_model_t *model, gnn_context_t *context, const batch_t *b,
                   const gnn_tensor_t *out, gnn_real_t *memory, int64_t counts[2])
{
    gnn_graph_t *edges[2] = {NULL, NULL};
    gnn_tensor_t other = gnn_tensor(memory, out->rows, out->cols);
    gnn_model_inputs_t inputs = batch_inputs(b);
    inputs.graphs = (const gnn_graph_t *const *)edges;
    int rc = to_edges(model, b, edges);
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &inputs, &other);
    for (int64_t s = 0; rc == GNN_OK && s < out->rows; s++) {
        double margin, unused;
        int64_t best = best_class(out->data + s * out->cols, out->cols, &margin);
        counts[0] += margin > 1e-4;
        counts[1] += margin > 1e-4 && best_class(memory + s * out->cols, out->cols, &unused) != best;
    }
    gnn_graph_free(edges[0]);
    gnn_graph_free(edges[1]);
    return rc;
}

int classifier_test(const gnn_model_t *model, gnn_context_t *context, const batches_t *test,
                    double *accuracy, int64_t edges[2])
{
    enum { LOGITS = 64 * 1000 }; /* sentences of a pack, labels of a corpus */
    static gnn_real_t logits[LOGITS], other[LOGITS];
    int64_t classes = gnn_model_step(model, gnn_model_step_count(model) - 1)->out, right = 0,
            count = 0;
    for (int64_t k = 0; k < test->packs->count; k++) {
        const batch_t *b = &test->batch[k];
        gnn_tensor_t out = gnn_tensor(logits, b->pack->sentences, classes);
        gnn_model_inputs_t inputs = batch_inputs(b);
        double margin;
        GNN_TRY(gnn_model_forward(model, context, &inputs, &out));
        for (int64_t s = 0; s < out.rows; s++, count++)
            right += best_class(logits + s * classes, classes, &margin) == b->pack->labels[s];
        if (edges)
            GNN_TRY(compare(model, context, b, &out, other, edges));
    }
    *accuracy = 100 * (double)right / (double)count;
    return GNN_OK;
}
