/* Identity and integrity of checkpoints. */
#include <lib/train/checkpoint.h>

#include <lib/weights/config_json.h>

#include <stdlib.h>
#include <unistd.h>

/* ---- identity ---- */

/* Appends a line to *text. */
static int append(char **text, const char *name, const gnn_tensor_t *t)
{
    char *longer;
    GNN_TRY(gnn__asprintf(&longer, "%s%s, %lld x %lld\n", *text ? *text : "", name,
                          (long long)t->rows, (long long)t->cols));
    gnn_free(*text);
    *text = longer;
    return GNN_OK;
}

int gnn__identity_open(gnn__identity_t *identity, const gnn_model_t *model,
                       const gnn_optimizer_t *optimizer)
{
    const gnn_parameters_t *parameters = gnn_model_parameters(model);
    *identity = (gnn__identity_t){0};
    int rc;
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        gnn_tensor_t t = gnn_parameters_value(parameters, id);
        GNN_CHECK(append(&identity->parameters, gnn_parameters_name(parameters, id), &t));
    }
    for (int64_t k = 0; k < gnn_model_buffer_count(model); k++) {
        gnn_tensor_t t;
        GNN_CHECK(gnn_model_buffer(model, gnn_model_buffer_name(model, k), &t));
        GNN_CHECK(append(&identity->parameters, gnn_model_buffer_name(model, k), &t));
    }
    if (!identity->parameters)
        GNN_CHECK(gnn__strdup(&identity->parameters, ""));
    rc = gnn__steps_write(&identity->steps, model);
    if (rc != GNN_OK && rc != GNN_EUNSUPPORTED)
        goto done;
    GNN_CHECK(gnn__optimizer_describe(&identity->optimizer, optimizer));
    return GNN_OK;
done:
    gnn__identity_close(identity);
    return rc;
}

void gnn__identity_close(gnn__identity_t *identity)
{
    gnn_free(identity->parameters);
    gnn_free(identity->optimizer);
    gnn_free(identity->steps);
    *identity = (gnn__identity_t){0};
}

/* The first line of two lists in which they differ. */
static int other_parameters(const char *file, const char *model)
{
    while (*file && *model) {
        size_t length = strcspn(file, "\n") + 1;
        if (strncmp(file, model, length) != 0)
            break;
        file += length;
        model += length;
    }
    return gnn__error(GNN_ESHAPE, "it is of another model: it has %.*s, the model has %.*s",
                      *file ? (int)strcspn(file, "\n") : 12, *file ? file : "nothing more",
                      *model ? (int)strcspn(model, "\n") : 12, *model ? model : "nothing more");
}

/* Steps that another version wrote have other keys. */
static int check_steps(const char *steps, const gnn__identity_t *identity, const gnn_model_t *model)
{
    bool same = !steps && !identity->steps;
    if (steps && identity->steps)
        GNN_TRY(gnn__steps_same(steps, model, &same));
    return same ? GNN_OK
                : gnn__error(GNN_ESHAPE, "it is of another model: the parameters are the same, the "
                                         "steps are not");
}

/* Version 0.1 did not write which data a training run reads. */
static bool same_settings(const char *had, const char *now)
{
    const char *rest = strstr(now, "watch ");
    return had && (strcmp(had, now) == 0 ||
                   (strncmp(had, "watch ", 6) == 0 && rest && strcmp(had, rest) == 0));
}

int gnn__identity_check(const gnn__identity_t *identity, const gnn_model_t *model,
                        const char *settings, const gnn_arrays_t *file)
{
    const char *parameters = gnn_arrays_metadata(file, "gnn.parameters"),
               *steps = gnn_arrays_metadata(file, "gnn.model");
    const char *optimizer = gnn_arrays_metadata(file, "gnn.optimizer"),
               *had = gnn_arrays_metadata(file, "gnn.settings");
    if (!parameters || !optimizer)
        return gnn__error(GNN_EFORMAT, "it does not say which model and optimizer it is of");
    if (strcmp(parameters, identity->parameters) != 0)
        return other_parameters(parameters, identity->parameters);
    GNN_TRY(check_steps(steps, identity, model));
    if (strcmp(optimizer, identity->optimizer) != 0)
        return gnn__error(GNN_EINVALID,
                          "it is of another optimizer: it has %.200s, this one is %.200s",
                          optimizer, identity->optimizer);
    if (settings && !same_settings(had, settings))
        return gnn__error(GNN_EINVALID,
                          "it is of a training with other settings: %.200s, now they are %.200s",
                          had ? had : "none", settings);
    return GNN_OK;
}
