/* Opens a folder as a model with its tokenizer. */
#include <lib/base/settings.h>
#include <lib/tape/tape.h>
#include <lib/pretrained/pretrained.h>
#include <lib/text/tokenizer/families.h>

#include <stdlib.h>

/* ---- further settings of a folder ---- */

int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise)
{
    const json_t *json = json_object_get(p->made.names, name);
    const double x = json_is_number(json) ? json_number_value(json) : -1;
    return x >= 0 && x < 1e15 ? (int64_t)x : otherwise;
}

const char *gnn__pretrained_word(const gnn_pretrained_t *p, const char *name)
{
    return json_string_value(json_object_get(p->made.names, name));
}

bool gnn__pretrained_reads(const gnn_pretrained_t *p, const char *input)
{
    const gnn_model_t *model = p->made.model;
    for (int64_t k = 0; k < gnn_model_input_count(model); k++)
        if (strcmp(gnn_model_input_name(model, k), input) == 0)
            return true;
    return false;
}

static void limit_length(gnn_pretrained_t *p, double most)
{
    if (most >= 1 && most < (p->max_length ? (double)p->max_length : 1e15))
        p->max_length = (int64_t)most;
}

/* The model's own limit, or the one of sentence-transformers: from its own file, else from the
 * tokenizer's. The file's holds above the model's where rotations have no last position. */
static int find_max_length(gnn_pretrained_t *p, const gnn__parts_t *parts)
{
    json_t *tokenizer = NULL;
    const double most = json_number_value(json_object_get(parts->transformer, "max_seq_length"));
    const int64_t own = gnn__pretrained_number(p, "max_length", 0),
                  turns = gnn__pretrained_number(p, "any_length", -1);
    const bool above = own > 0 && most > (double)own && turns >= 0;
    p->max_length = above && turns > 0 ? 0 : own;
    if (most <= 0 && !parts->is_static && (parts->transformer || parts->modules)) {
        GNN_TRY(gnn__json_open_any(&tokenizer, parts->folder, "tokenizer_config.json"));
        limit_length(p, json_number_value(json_object_get(tokenizer, "model_max_length")));
        json_decref(tokenizer);
    }
    limit_length(p, most);
    p->refuses_longer =
        (above || gnn__pretrained_number(p, "longer_differs", 0) != 0) && p->max_length == own;
    return GNN_OK;
}

/* Refuses a tokenizer with types for a model whose types are rows of its table of words. */
static int check_types(const gnn_pretrained_t *p)
{
    json_t *tokenizer, *name;
    size_t k;
    bool typed = false;
    if (gnn__pretrained_number(p, "types_are_words", 0) == 0)
        return GNN_OK;
    GNN_TRY(gnn__json_open_any(&tokenizer, p->model_folder, "tokenizer_config.json"));
    json_array_foreach(json_object_get(tokenizer, "model_input_names"), k, name) typed =
        typed || (json_is_string(name) && strcmp(json_string_value(name), "token_type_ids") == 0);
    json_decref(tokenizer);
    return typed ? gnn__error(GNN_EUNSUPPORTED,
                              "%s/tokenizer_config.json: \"model_input_names\" has "
                              "token_type_ids, which %s adds as words, a list without it is "
                              "expected",
                              p->model_folder, p->arch->name)
                 : GNN_OK;
}

/* The Transformer's settings of texts override the tokenizer's, and tokens have types where the
 * model reads them; for an embedding table, texts are truncated as in tokenizer.json. */
static int set_tokenizer(gnn_pretrained_t *p, const gnn__parts_t *parts)
{
    if (!p->tokenizer)
        return GNN_OK;
    GNN_TRY(check_types(p));
    if (parts->is_static || json_is_number(json_object_get(parts->transformer, "max_seq_length")))
        p->tokenizer->max_length = 0;
    p->tokenizer->one_type = p->tokenizer->one_type || !gnn__pretrained_reads(p, "types");
    if (parts->modules && json_is_true(json_object_get(parts->transformer, "do_lower_case")))
        return gnn__tokenizer_lower(p->tokenizer);
    if (parts->is_static)
        limit_length(p, json_number_value(json_object_get(
                            json_object_get(p->tokenizer->root, "truncation"), "max_length")));
    return GNN_OK;
}

static const json_t *label(const gnn_pretrained_t *p, int64_t index)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)index);
    return json_object_get(p->labels, key);
}

/* Classes of a head trained by libgnn override those of the Transformer. */
static void find_labels(gnn_pretrained_t *p, const gnn__parts_t *parts)
{
    for (int k = parts->count - 1; k >= 0 && !p->labels; k--)
        p->labels = json_incref(json_object_get(parts->list[k].config, "id2label"));
    while (json_is_string(label(p, p->n_labels)))
        p->n_labels++;
}

/* Old folders have generation settings in config.json, read only if generation_config.json is
 * missing; "force_bos_token_to_be_generated" is an older "forced_bos_token_id". */
static int find_generation(gnn_pretrained_t *p)
{
    p->generation_file = "generation_config.json";
    GNN_TRY(gnn__json_open_any(&p->generation, p->model_folder, p->generation_file));
    if (p->generation)
        return GNN_OK;
    p->generation_file = "config.json";
    GNN_TRY(gnn__arch_select_keys(&p->generation, p->config, &gnn__arch_generation_config));
    if (!json_is_true(json_object_get(p->config, "force_bos_token_to_be_generated")))
        return GNN_OK;
    json_t *first = json_object_get(p->generation, "bos_token_id");
    return json_object_set_new(p->generation, "forced_bos_token_id",
                               first ? json_incref(first) : json_null()) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for \"forced_bos_token_id\"");
}

static int open_folder(gnn_pretrained_t *p, gnn_context_t *context, gnn__parts_t *parts,
                       const gnn_pretrained_config_t *how)
{
    GNN_TRY(gnn__parts_open(parts, p->folder, p->head));
    GNN_TRY(gnn__arch_open(&p->made, context, parts->list, parts->count, how->keep_16_bits == GNN_ON));
    if (how->keep_packed == GNN_ON)
        GNN_TRY(gnn__parameters_keep_packed(gnn_model_parameters(p->made.model)));
    p->arch = parts->list[0].arch;
    p->config = json_incref(parts->list[0].config);
    p->is_static = parts->is_static;
    p->global_first = how->global_first == GNN_ON;
    if (p->global_first && !gnn__pretrained_word(p, "global"))
        return gnn__error(GNN_EUNSUPPORTED, "%s has no global tokens", p->arch->name);
    GNN_TRY(gnn__asprintf(&p->model_folder, "%s", parts->folder));
    GNN_TRY(find_max_length(p, parts));
    GNN_TRY(gnn__prompts_open(p, parts));
    GNN_TRY(find_generation(p));
    find_labels(p, parts);
    GNN_TRY(gnn__tokenizer_of_folder(&p->tokenizer, p->model_folder));
    return set_tokenizer(p, parts);
}

/* Takes ownership of the head. */
int gnn__pretrained_take(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder,
                         json_t *head, const gnn_pretrained_config_t *config)
{
    gnn_pretrained_t *p = NULL;
    gnn__parts_t parts = {.count = 0};
    int rc = gnn__new(&p, 1, sizeof *p, "a pretrained model");
    if (rc != GNN_OK) {
        json_decref(head);
        return rc;
    }
    p->head = head;
    rc = gnn__asprintf(&p->folder, "%s", folder);
    if (rc == GNN_OK)
        rc = open_folder(p, context, &parts, config ? config : &(gnn_pretrained_config_t){0});
    gnn__parts_close(&parts);
    if (rc != GNN_OK) {
        gnn_pretrained_free(p);
        return gnn__error_prefix(rc, "%s", folder);
    }
    *pretrained = p;
    return GNN_OK;
}

int gnn_pretrained_open_with(gnn_pretrained_t **pretrained, gnn_context_t *context,
                             const char *folder, const gnn_pretrained_config_t *config)
{
    gnn_pretrained_config_t own = config ? *config : (gnn_pretrained_config_t){0};
    GNN__NEED(pretrained);
    *pretrained = NULL;
    GNN__NEED(context);
    GNN__NEED(folder);
    GNN_TRY(gnn__check_flag(own.keep_16_bits, ".keep_16_bits"));
    GNN_TRY(gnn__check_flag(own.keep_packed, ".keep_packed"));
    GNN_TRY(gnn__check_flag(own.global_first, ".global_first"));
    return gnn__pretrained_take(pretrained, context, folder, NULL, &own);
}

int gnn_pretrained_open(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder)
{
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(folder);
    return gnn_pretrained_open_with(pretrained, context, folder, NULL);
}

void gnn_pretrained_free(gnn_pretrained_t *pretrained)
{
    if (!pretrained)
        return;
    gnn__arch_close(&pretrained->made);
    gnn_tokenizer_free(pretrained->tokenizer);
    json_decref(pretrained->config);
    json_decref(pretrained->generation);
    json_decref(pretrained->labels);
    json_decref(pretrained->prompts);
    json_decref(pretrained->head);
    gnn_free(pretrained->folder);
    gnn_free(pretrained->model_folder);
    gnn_free(pretrained->groups);
    gnn_free(pretrained->prefixes);
    gnn_free(pretrained);
}

/* ---- properties ---- */

gnn_model_t *gnn_pretrained_model(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, NULL);
    return pretrained->made.model;
}

const gnn_tokenizer_t *gnn_pretrained_tokenizer(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, NULL);
    return pretrained->tokenizer;
}

const char *gnn_pretrained_architecture(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, NULL);
    return pretrained->arch->name;
}

const char *gnn_pretrained_head(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, NULL);
    const char *task = gnn__pretrained_word(pretrained, "task");
    return task ? task : "";
}

int64_t gnn_pretrained_max_length(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, 0);
    return pretrained->max_length;
}

int64_t gnn_pretrained_label_count(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, 0);
    return pretrained->n_labels;
}

const char *gnn_pretrained_label(const gnn_pretrained_t *pretrained, int64_t index)
{
    GNN__NEED_OR(pretrained, NULL);
    return index >= 0 && index < pretrained->n_labels ? json_string_value(label(pretrained, index))
                                                      : NULL;
}
