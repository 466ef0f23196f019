/* A published model under test: opens its folder and makes the batch of its expected.npz. */
#include "pretrained_trial.h"

#include <lib/data/arrays/arrays.h>

bool trial_open(trial_t *t, const char *name)
{
    char file[256];
    memset(t, 0, sizeof *t);
    snprintf(file, sizeof file, "%s/expected.npz", name);
    const char *path = strchr(name, '/') ? test_golden(file) : test_checkpoint(file);
    if (!path && strchr(name, '/')) {
        test_skip(name, "the golden checkpoints are not there");
        return false;
    }
    if (!path) {
        test_leave_out(name, "tests/transformers/make.py has not made it");
        return false;
    }
    ck_ok(gnn_npz_read(&t->expected, path, NULL));
    snprintf(t->folder, sizeof t->folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    ck_ok(gnn_context_new(&t->context, NULL));
    /* the golden ones were made with a global first token */
    const bool global = strstr(name, "/longformer") || strstr(name, "/led");
    ck_ok(gnn_pretrained_open_with(
        &t->p, t->context, t->folder,
        &(gnn_pretrained_config_t){.global_first = global ? GNN_ON : GNN_OFF}));
    return true;
}

static int32_t *ids_of(trial_t *t, const char *name)
{
    const gnn_array_t *a = array(t, name);
    int32_t *ids = keep(t, malloc((size_t)(a->count + 1) * sizeof *ids));
    for (int64_t k = 0; k < a->count; k++)
        ids[k] = (int32_t)gnn_array_get(a, k);
    return ids;
}

static int64_t *lengths_of(trial_t *t, const char *name)
{
    const gnn_array_t *a = array(t, name);
    int64_t *lengths = keep(t, malloc((size_t)(a->count + 1) * sizeof *lengths));
    for (int64_t k = 0; k < a->count; k++)
        lengths[k] = (int64_t)gnn_array_get(a, k);
    return lengths;
}

static void take_images(trial_t *t)
{
    const gnn_array_t *a = array(t, "pixels");
    gnn_tensor_t *pixels = keep(t, malloc(sizeof *pixels));
    gnn_real_t *data = keep(t, malloc((size_t)a->count * sizeof *data));
    gnn__array_reals(a, data);
    *pixels = gnn_tensor(data, a->shape[0], a->count / a->shape[0]);
    t->sequences = (gnn_sequences_t){.count = a->shape[0],
                                     .pixels = pixels,
                                     .height = a->shape[a->ndim - 2],
                                     .width = a->shape[a->ndim - 1]};
}

static gnn_tensor_t *features_of(trial_t *t)
{
    const gnn_array_t *a = array(t, "x");
    gnn_tensor_t *features = keep(t, malloc(sizeof *features));
    gnn_real_t *data = keep(t, malloc((size_t)a->count * sizeof *data));
    gnn__array_reals(a, data);
    *features = gnn_tensor(data, a->shape[0], a->shape[1]);
    return features;
}

static void take_tokens(trial_t *t)
{
    t->sequences =
        (gnn_sequences_t){.count = array(t, "lengths")->count, .lengths = lengths_of(t, "lengths")};
    if (gnn_arrays_find(t->expected, "x"))
        t->sequences.features = features_of(t);
    else
        t->sequences.ids = ids_of(t, "ids");
    if (gnn_arrays_find(t->expected, "decoder_ids")) {
        t->sequences.decoder_lengths = lengths_of(t, "decoder_lengths");
        t->sequences.decoder_ids = ids_of(t, "decoder_ids");
    }
}

void trial_batch(trial_t *t)
{
    if (gnn_arrays_find(t->expected, "pixels"))
        take_images(t);
    else
        take_tokens(t);
    ck_ok(gnn_pretrained_batch_new(&t->batch, t->p, &t->sequences));
}
