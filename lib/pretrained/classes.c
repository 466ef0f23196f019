/* A new classification head on a pretrained encoder, learning rates by depth, and predictions. */
#include <lib/base/settings.h>
#include <lib/data/arrays/text_file.h>
#include <lib/tape/tape.h>
#include <lib/pretrained/pretrained.h>
#include <math.h>

/* ---- the head ---- */

static int check_head(const gnn_classes_config_t *c)
{
    if (c->count < 2 || c->count > 1 << 20)
        return gnn__error(GNN_EINVALID, "%lld classes, from 2 to %d are expected",
                          (long long)c->count, 1 << 20);
    if (!(c->dropout > -1 && c->dropout < 1))
        return gnn__error(GNN_EINVALID, ".dropout = %g, expected a rate in [0, 1)",
                          (double)c->dropout);
    GNN_TRY(gnn__check_flag(c->first, "first"));
    if (c->frozen_16_bits < 0)
        return gnn__error(GNN_EINVALID, ".frozen_16_bits = %lld, expected at least 0",
                          (long long)c->frozen_16_bits);
    for (int64_t k = 0; c->names && k < c->count; k++) {
        if (!c->names[k] || !*c->names[k])
            return gnn__error(GNN_EINVALID, "class %lld has no name", (long long)k);
        if (!gnn__is_utf8(c->names[k], (int64_t)strlen(c->names[k])))
            return gnn__error(GNN_EFORMAT, "names of classes must be UTF-8, that of %lld is not",
                              (long long)k);
    }
    return GNN_OK;
}

/* Writes id2label, as published folders have it. */
static json_t *labels_of(const gnn_classes_config_t *c)
{
    json_t *labels = json_object();
    for (int64_t k = 0; labels && k < c->count; k++) {
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)k);
        if (json_object_set_new(labels, key, json_string(c->names ? c->names[k] : key)) != 0) {
            json_decref(labels);
            return NULL;
        }
    }
    return labels;
}

static json_t *head_of(const gnn_classes_config_t *c)
{
    const double tiny = 1e-30, rate = (double)c->dropout;
    return json_pack("{s:I, s:s, s:f, s:o}", "n_classes", (json_int_t)c->count, "pooling",
                     c->first == GNN_ON ? "first" : "mean", "dropout",
                     rate == 0     ? 0.1
                     : rate < tiny ? 0.0
                                   : rate,
                     "id2label", labels_of(c));
}

/* ---- learning rates by depth ---- */

static bool is_layer(const gnn_model_t *model, int64_t step)
{
    return gnn_model_step(model, step)->kind == GNN_STEP_LAYER;
}

static int64_t layers_before(const gnn_model_t *model, int64_t end)
{
    int64_t layers = 0;
    for (int64_t k = 0; k < end; k++)
        layers += is_layer(model, k);
    return layers;
}

/* The depth of a step: see gnn_pretrained_groups. */
static int64_t depth_of(const gnn_model_t *model, int64_t step, int64_t top)
{
    const int64_t layers = layers_before(model, step + 1);
    return layers == top - 1 && !is_layer(model, step) ? top : layers;
}

/* The least depth of the steps whose fields lie in a parameter. */
static int64_t parameter_depth(const gnn_model_t *model, int32_t id)
{
    const int64_t top = layers_before(model, gnn_model_step_count(model)) + 1;
    const char *name = gnn_parameters_name(gnn_model_parameters(model), id);
    for (int64_t k = 0; k < gnn_model_step_count(model); k++) {
        const char *step = gnn_model_step(model, k)->name;
        const size_t length = strlen(step);
        if (strncmp(name, step, length) == 0 && name[length] == '.')
            return depth_of(model, k, top);
    }
    return top;
}

/* Converts the 16-bit weights of all further depths. */
static void widen_from(const gnn_pretrained_t *p, const gnn_context_t *context, int64_t depth)
{
    gnn_parameters_t *parameters = gnn_model_parameters(p->made.model);
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++)
        if (gnn__parameters_halves(parameters, id) && parameter_depth(p->made.model, id) >= depth)
            gnn__parameters_widen(parameters, context, id);
}

int gnn_pretrained_open_classes(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                const char *folder, const gnn_classes_config_t *classes)
{
    gnn_classes_config_t full = classes ? *classes : (gnn_classes_config_t){0};
    GNN__NEED(pretrained);
    *pretrained = NULL;
    GNN__NEED(context);
    GNN__NEED(folder);
    GNN__NEED(classes);
    GNN_TRY(check_head(&full));
    json_t *head = head_of(&full);
    if (!head)
        return gnn__error(GNN_EMEMORY, "no memory for the new classes");
    const gnn_pretrained_config_t how = {.keep_16_bits = full.frozen_16_bits > 0 ? GNN_ON : GNN_OFF};
    GNN_TRY(gnn__pretrained_take(pretrained, context, folder, head, &how));
    widen_from(*pretrained, context, full.frozen_16_bits);
    return GNN_OK;
}

static bool has_fields(const gnn_model_t *model, const char *prefix)
{
    for (int64_t k = 0; k < gnn_model_field_count(model); k++)
        if (strncmp(gnn_model_field_name(model, k), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

int gnn_pretrained_groups(gnn_pretrained_t *pretrained, double decay, int64_t frozen,
                          const gnn_parameter_group_t **groups, int64_t *n_groups)
{
    GNN__NEED(pretrained);
    GNN__NEED(groups);
    GNN__NEED(n_groups);
    if (!(decay > 0 && decay <= 1) || frozen < 0)
        return gnn__error(
            GNN_EINVALID,
            "decay = %g, expected above 0 and up to 1; frozen = %lld, expected at least 0", decay,
            (long long)frozen);
    const gnn_model_t *model = pretrained->made.model;
    const int64_t steps = gnn_model_step_count(model), top = layers_before(model, steps) + 1;
    gnn_free(pretrained->groups);
    gnn_free(pretrained->prefixes);
    pretrained->groups = NULL;
    pretrained->prefixes = NULL;
    GNN_TRY(gnn__new(&pretrained->groups, steps, sizeof *pretrained->groups, "groups"));
    GNN_TRY(gnn__new(&pretrained->prefixes, steps, sizeof *pretrained->prefixes, "names of groups"));
    *n_groups = 0;
    for (int64_t k = 0; k < steps; k++) {
        const int64_t depth = depth_of(model, k, top);
        char *prefix = pretrained->prefixes[*n_groups];
        snprintf(prefix, sizeof *pretrained->prefixes, "%s.", gnn_model_step(model, k)->name);
        if (!has_fields(model, prefix))
            continue;
        pretrained->groups[(*n_groups)++] = (gnn_parameter_group_t){
            .prefix = prefix,
            .lr_scale = depth < frozen ? GNN_ZERO : (gnn_real_t)pow(decay, (double)(top - depth)),
            .weight_decay = depth < frozen ? GNN_ZERO : 0};
    }
    for (int32_t id = 0; id < gnn_parameters_count(gnn_model_parameters(model)); id++)
        gnn__parameters_freeze(gnn_model_parameters(model), id, parameter_depth(model, id) < frozen);
    *groups = pretrained->groups;
    return GNN_OK;
}

/* ---- predictions ---- */

static int classify(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                    const gnn_texts_t *second, const gnn_tensor_t *out)
{
    const bool own = gnn_model_find(p->made.model, "classes") >= 0;
    if (p->n_labels == 0)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model names no classes");
    return gnn__pretrained_texts(p, context, texts, second, own ? "classes" : "logits", out);
}

int gnn_pretrained_classify(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                            const gnn_texts_t *texts, const gnn_tensor_t *out)
{
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(texts);
    GNN__NEED(out);
    return classify(pretrained, context, texts, NULL, out);
}

int gnn_pretrained_classify_pairs(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                  const gnn_texts_t *first, const gnn_texts_t *second,
                                  const gnn_tensor_t *out)
{
    GNN__NEED(second);
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(first);
    GNN__NEED(out);
    return classify(pretrained, context, first, second, out);
}
