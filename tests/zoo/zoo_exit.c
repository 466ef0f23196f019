/* Early exit on golden cases: a run reads the logits after each layer and stops where all sentences
 * have left; the layers are those of the file, and no later step has run. */
#include "zoo_run.h"

#include <lib/model/model.h>
#include <stdio.h>

enum { LAYERS = 4, SENTENCES = 64 };

typedef struct {
    const double *logits[LAYERS]; /* of one sentence, by layer */
    int64_t classes;
} answers_t;

static int64_t largest(const double *x, int64_t count)
{
    int64_t best = 0;
    for (int64_t c = 1; c < count; c++)
        best = x[c] > x[best] ? c : best;
    return best;
}

/* DeeBERT: the entropy of the softmax is below 0.8. */
bool zoo_exit_entropy(const void *from, int layer)
{
    const answers_t *a = from;
    const double *x = a->logits[layer];
    double sum = 0, entropy = 0;
    const double most = x[largest(x, a->classes)];
    for (int64_t c = 0; c < a->classes; c++)
        sum += exp(x[c] - most);
    for (int64_t c = 0; c < a->classes; c++)
        entropy -= exp(x[c] - most) / sum * (x[c] - most - log(sum));
    return entropy < 0.8;
}

/* PABEE: the answer was the same for two layers in a row. */
bool zoo_exit_patience(const void *from, int layer)
{
    const answers_t *a = from;
    int same = 0;
    for (int l = 1; l <= layer; l++)
        same = largest(a->logits[l], a->classes) == largest(a->logits[l - 1], a->classes) ? same + 1
                                                                                          : 0;
    return same >= 2;
}

/* Voting: the votes for one answer, over the root of the layer, are at least 1.4. */
bool zoo_exit_voting(const void *from, int layer)
{
    const answers_t *a = from;
    double votes[16] = {0}, most = 0;
    for (int l = 0; l <= layer; l++)
        most = fmax(most, ++votes[largest(a->logits[l], a->classes)]);
    return most / sqrt(layer + 1) >= 1.4;
}

void zoo_entry_exit(const entry_t *entry, bool (*leaves)(const void *answers, int layer))
{
    zoo_t z;
    static double logits[LAYERS][SENTENCES][16];
    int64_t count, *left, inside, at[SENTENCES] = {0};
    gallery_t *gallery = calloc(1, sizeof *gallery);
    gnn_staged_t *run = NULL;
    gnn_tensor_t value;
    if (!zoo_open(&z, entry->name)) {
        free(gallery);
        return;
    }
    zoo_entry_build(&z, gallery, entry);
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z.graphs, z.n_graphs, z.values,
                                       z.n_values};
    left = zoo_integers(&z, "r.exit", &count);
    ck_assert_int_le(count, SENTENCES);
    ck_ok(gnn_staged_new(&run, z.model, z.g.context, &inputs));
    inside = count;
    int layer = 0;
    for (; layer < LAYERS && inside > 0; layer++) {
        char name[8];
        snprintf(name, sizeof name, "%d.C", layer + 1);
        ck_ok(gnn_staged_value(run, name, &value));
        ck_assert_int_eq(value.rows, count);
        ck_assert_int_le(value.cols, 16);
        for (int64_t s = 0; s < count; s++) {
            answers_t a = {.classes = value.cols};
            for (int64_t c = 0; c < value.cols; c++)
                logits[layer][s][c] = (double)gnn__row(&value, s)[c];
            for (int l = 0; l <= layer; l++)
                a.logits[l] = logits[l][s];
            if (at[s] == 0 && (layer + 1 == LAYERS || leaves(&a, layer))) {
                at[s] = layer + 1;
                inside--;
            }
        }
    }
    for (int64_t s = 0; s < count; s++)
        ck_assert_msg(at[s] == left[s], "%s: sentence %lld left at layer %lld, expected %lld",
                      z.g.name, (long long)s, (long long)at[s], (long long)left[s]);
    ck_assert_int_eq(gnn__staged_steps(run), 3 * layer); /* layer, mean row, classifier */
    gnn_staged_free(run);
    zoo_close(&z);
    free(gallery);
}
