/* A model from the rows of its parts: steps first, then weights. */
#include <lib/weights/arch/arch.h>

#include <lib/model/model.h>

static int steps_of(gnn__arch_model_t *made, gnn_steps_t *steps, gnn__scope_t *scope,
                    const gnn__arch_part_t *parts, int n_parts)
{
    for (int k = 0; k < n_parts; k++) {
        const int rc = gnn__arch_steps(made, steps, &parts[k], scope);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "%s: %s", parts[k].config_name, parts[k].arch->name);
    }
    return GNN_OK;
}

/* Every field has its values, and every array has been read. */
static int check_complete(const gnn_model_t *model, const bool *filled,
                          const gnn__arch_part_t *parts, int n_parts)
{
    for (int64_t k = 0; k < gnn_model_field_count(model); k++)
        if (!filled[k])
            return gnn__error(GNN_ENOTFOUND, "no array goes into the field %s",
                              gnn_model_field_name(model, k));
    for (int p = 0; p < n_parts; p++)
        for (int64_t k = 0; k < parts[p].weights.n_arrays; k++)
            if (!parts[p].weights.arrays[k].used)
                return gnn__error(GNN_EFORMAT, "%s: the array %s belongs to nothing in this model",
                                  parts[p].arch->name, parts[p].weights.arrays[k].name);
    return GNN_OK;
}

/* NULL: only shapes are compared. */
static int visit_parts(const gnn__arch_model_t *made, gnn__arch_part_t *parts, int n_parts,
                       const gnn__arch_filled_t *filled)
{
    gnn__scope_t scope = {.names = json_object()};
    int rc = scope.names ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for names");
    for (int k = 0; k < n_parts && rc == GNN_OK; k++) {
        rc = gnn__arch_weights(made, &parts[k], &scope, filled);
        if (rc != GNN_OK)
            rc = gnn__error_prefix(rc, "%s", parts[k].arch->name);
    }
    json_decref(scope.names);
    return rc;
}

static int weights_of(const gnn__arch_model_t *made, const gnn_context_t *context,
                      gnn__arch_part_t *parts, int n_parts, bool keep)
{
    gnn__arch_filled_t filled = {.context = context, .keep = keep};
    int rc;
    GNN_CHECK(gnn__new(&filled.fields, gnn_model_field_count(made->model), sizeof *filled.fields,
                       "flags"));
    GNN_CHECK(gnn__new(&filled.storage, gnn_parameters_count(made->model->parameters),
                       sizeof *filled.storage, "flags"));
    GNN_CHECK(visit_parts(made, parts, n_parts, &filled));
    GNN_CHECK(check_complete(made->model, filled.fields, parts, n_parts));
done:
    gnn_free(filled.fields);
    gnn_free(filled.storage);
    return rc;
}

static int check_classes(const gnn__arch_model_t *made, const gnn__arch_part_t *part)
{
    const int64_t logits = gnn_model_find(made->model, "logits");
    return logits < 0
               ? GNN_OK
               : gnn__arch_check_classes(part, made->names, gnn_model_width(made->model, logits));
}

/* Allocates the parameters. If the files cannot fill all of them, all arrays are compared with the
 * config beforehand: what remains is computed, at most MADE values. */
static int allocate(const gnn__arch_model_t *made, gnn_context_t *context, gnn__arch_part_t *parts,
                    int n_parts, int64_t stored)
{
    const gnn_parameters_t *parameters = made->model->parameters;
    int64_t total = 0;
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        const gnn_tensor_t t = gnn_parameters_value(parameters, id);
        total += t.rows * t.cols;
    }
    if (total > stored)
        GNN_TRY(visit_parts(made, parts, n_parts, NULL));
    return gnn__model_allocate(made->model, context);
}

int gnn__arch_open(gnn__arch_model_t *made, gnn_context_t *context, gnn__arch_part_t *parts,
                   int n_parts, bool keep)
{
    enum { MADE = 1 << 25 };
    gnn_steps_t *steps = NULL;
    int64_t stored = 0;
    int rc;
    for (int k = 0; k < n_parts; k++)
        stored += gnn__folder_numbers(&parts[k].weights);
    *made = (gnn__arch_model_t){.slots = json_object(), .names = json_object()};
    gnn__scope_t scope = {.names = made->names};
    for (int k = 0; k < n_parts; k++)
        GNN_CHECK(gnn__arch_check_keys(&parts[k]));
    GNN_CHECK(made->slots && made->names ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for names"));
    GNN_CHECK(gnn_steps_new(&steps));
    GNN_CHECK(steps_of(made, steps, &scope, parts, n_parts));
    GNN_CHECK(gnn__model_outline(&made->model, context, gnn_steps_count(steps),
                                 gnn_steps_list(steps), stored + MADE));
    GNN_CHECK(check_classes(made, &parts[0]));
    GNN_CHECK(allocate(made, context, parts, n_parts, stored));
    GNN_CHECK(weights_of(made, context, parts, n_parts, keep));
done:
    gnn_steps_free(steps);
    if (rc != GNN_OK)
        gnn__arch_close(made);
    return rc;
}

void gnn__arch_close(gnn__arch_model_t *made)
{
    gnn_model_free(made->model);
    json_decref(made->slots);
    json_decref(made->names);
    memset(made, 0, sizeof *made);
}
