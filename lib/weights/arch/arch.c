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

static int weights_of(const gnn__arch_model_t *made, const gnn_context_t *context,
                      gnn__arch_part_t *parts, int n_parts, bool keep)
{
    gnn__scope_t scope = {.names = json_object()};
    gnn__arch_filled_t filled = {.context = context, .keep = keep};
    int rc = scope.names ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for names");
    GNN_CHECK(rc);
    GNN_CHECK(gnn__new(&filled.fields, gnn_model_field_count(made->model), sizeof *filled.fields,
                       "flags"));
    GNN_CHECK(gnn__new(&filled.storage, gnn_parameters_count(made->model->parameters),
                       sizeof *filled.storage, "flags"));
    for (int k = 0; k < n_parts; k++) {
        rc = gnn__arch_weights(made, &parts[k], &scope, &filled);
        if (rc != GNN_OK)
            GNN_CHECK(gnn__error_prefix(rc, "%s", parts[k].arch->name));
    }
    GNN_CHECK(check_complete(made->model, filled.fields, parts, n_parts));
done:
    json_decref(scope.names);
    gnn_free(filled.fields);
    gnn_free(filled.storage);
    return rc;
}

static int check_classes(const gnn__arch_model_t *made, const gnn__arch_part_t *part)
{
    const int64_t logits = gnn_model_find(made->model, "logits");
    const char *task = json_string_value(json_object_get(made->names, "task"));
    return logits < 0 ? GNN_OK
                      : gnn__arch_check_classes(part, task, gnn_model_width(made->model, logits));
}

/* So many parameters can the files fill, and rows that are made. */
static int64_t most_numbers(const gnn__arch_part_t *parts, int n_parts)
{
    enum { MADE = 1 << 25 };
    int64_t total = MADE;
    for (int k = 0; k < n_parts; k++)
        total += gnn__folder_numbers(&parts[k].weights);
    return total;
}

int gnn__arch_open(gnn__arch_model_t *made, gnn_context_t *context, gnn__arch_part_t *parts,
                   int n_parts, bool keep)
{
    gnn_steps_t *steps = NULL;
    int rc;
    *made = (gnn__arch_model_t){.slots = json_object(), .names = json_object()};
    gnn__scope_t scope = {.names = made->names};
    for (int k = 0; k < n_parts; k++)
        GNN_CHECK(gnn__arch_check_keys(&parts[k]));
    GNN_CHECK(made->slots && made->names ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for names"));
    GNN_CHECK(gnn_steps_new(&steps));
    GNN_CHECK(steps_of(made, steps, &scope, parts, n_parts));
    GNN_CHECK(gnn__model_make(&made->model, context, gnn_steps_count(steps), gnn_steps_list(steps),
                              most_numbers(parts, n_parts)));
    GNN_CHECK(check_classes(made, &parts[0]));
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
