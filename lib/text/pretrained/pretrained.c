/* A folder becomes a model with its tokenizer. */
#include <lib/text/pretrained/pretrained.h>

#include <stdlib.h>

#define TRANSFORMER "sentence_transformers.models.Transformer"

/* ---- the parts of a folder ---- */

typedef struct parts {
    gnn__arch_part_t list[GNN__ARCH_PARTS];
    int count;
} parts_t;

static void close_parts(parts_t *parts)
{
    for (int k = 0; k < parts->count; k++) {
        json_decref(parts->list[k].config);
        gnn__folder_close(&parts->list[k].weights);
    }
}

static int find_arch(const gnn__arch_t **arch, const char *type, bool module)
{
    *arch = gnn__arch_find(type, module);
    return *arch ? GNN_OK : GNN_EUNSUPPORTED;
}

/* Takes the config over. */
static int add_part(parts_t *parts, const gnn__arch_t *arch, json_t *config, const char *name)
{
    if (parts->count == GNN__ARCH_PARTS) {
        json_decref(config);
        return gnn__error(GNN_EUNSUPPORTED, "modules.json: more than %d modules",
                          (int)GNN__ARCH_PARTS - 2);
    }
    parts->list[parts->count++] = (gnn__arch_part_t){
        .arch = arch, .config = config, .config_name = name, .weights = {.prefix = ""}};
    return config ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for a config");
}

/* The Transformer of a folder: config.json and its weights. */
static int add_model(parts_t *parts, const char *folder)
{
    json_t *config = NULL;
    const gnn__arch_t *arch = NULL;
    GNN_TRY(gnn__json_open(&config, folder, "config.json"));
    const char *type = json_string_value(json_object_get(config, "model_type"));
    int rc = type ? find_arch(&arch, type, false)
                  : gnn__error(GNN_EFORMAT, "config.json has no text \"model_type\"");
    if (rc != GNN_OK) {
        json_decref(config);
        return type ? gnn__error_prefix(rc, "config.json") : rc;
    }
    GNN_TRY(add_part(parts, arch, config, "config.json"));
    gnn__arch_part_t *part = &parts->list[parts->count - 1];
    GNN_TRY(gnn__folder_open(&part->weights, folder));
    part->weights.prefix = gnn__arch_prefix(arch);
    return GNN_OK;
}

/* A module that follows: its config and weights are in a folder of its own, or it has none. */
static int add_module(parts_t *parts, const char *folder, const char *type)
{
    json_t *config = NULL;
    const gnn__arch_t *arch = NULL;
    GNN_TRY(find_arch(&arch, type, true));
    if (gnn__folder_has(folder, "config.json"))
        GNN_TRY(gnn__json_open(&config, folder, "config.json"));
    GNN_TRY(add_part(parts, arch, config ? config : json_object(), "a module's config.json"));
    gnn__arch_part_t *part = &parts->list[parts->count - 1];
    if (!gnn__folder_has(folder, "model.safetensors"))
        return GNN_OK;
    GNN_TRY(gnn__folder_open(&part->weights, folder));
    part->weights.prefix = gnn__arch_prefix(arch);
    return GNN_OK;
}

/* Folders of modules lie in the model's. */
static int add_listed(parts_t *parts, const char *folder, const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type")),
               *path = json_string_value(json_object_get(module, "path"));
    char *inner = NULL;
    if (!type || !path || strstr(path, "..") || *path == '/')
        return gnn__error(GNN_EFORMAT, "modules.json: a module needs \"type\" and a \"path\" inside "
                                       "the folder");
    GNN_TRY(gnn__folder_path(&inner, folder, path));
    const bool model = strcmp(type, TRANSFORMER) == 0;
    int rc = model != (parts->count == 0)
                 ? gnn__error(GNN_EUNSUPPORTED,
                              "modules.json: the first module, and no other, is " TRANSFORMER)
             : model ? add_model(parts, inner)
                     : add_module(parts, inner, type);
    gnn_free(inner);
    return rc;
}

static int open_parts(parts_t *parts, const char *folder)
{
    json_t *list = NULL;
    if (!gnn__folder_has(folder, "modules.json"))
        return add_model(parts, folder);
    GNN_TRY(gnn__json_open(&list, folder, "modules.json"));
    int rc = json_is_array(list) && json_array_size(list) > 0
                 ? GNN_OK
                 : gnn__error(GNN_EFORMAT, "modules.json: a list of modules is expected");
    for (size_t k = 0; rc == GNN_OK && k < json_array_size(list); k++)
        rc = add_listed(parts, folder, json_array_get(list, k));
    json_decref(list);
    const gnn__arch_t *arch = NULL;
    if (rc == GNN_OK)
        rc = find_arch(&arch, "embedding", true);
    return rc == GNN_OK ? add_part(parts, arch, json_object(), "modules.json") : rc;
}

/* ---- what else a folder says ---- */

static int open_tokenizer(gnn_pretrained_t *p, const char *folder)
{
    static const char *const names[] = {
        "tokenizer.json",          "vocab.txt",       "merges.txt", "spiece.model",
        "sentencepiece.bpe.model", "tokenizer.model", "source.spm"};
    char *path = NULL;
    size_t k = 0;
    while (k < sizeof names / sizeof *names && !gnn__folder_has(folder, names[k]))
        k++;
    if (k == sizeof names / sizeof *names)
        return GNN_OK;
    GNN_TRY(gnn__folder_path(&path, folder, names[k]));
    const int rc = gnn_tokenizer_open(&p->tokenizer, path);
    gnn_free(path);
    return rc;
}

int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise)
{
    const json_t *json = json_object_get(p->made.names, name);
    const double x = json_is_number(json) ? json_number_value(json) : -1;
    return x >= 0 && x < 1e15 ? (int64_t)x : otherwise;
}

/* The model's own limit, or the lower one of sentence-transformers. */
static int find_max_length(gnn_pretrained_t *p, const char *folder)
{
    json_t *config = NULL;
    p->max_length = gnn__pretrained_number(p, "max_length", 0);
    if (!gnn__folder_has(folder, "sentence_bert_config.json"))
        return GNN_OK;
    GNN_TRY(gnn__json_open(&config, folder, "sentence_bert_config.json"));
    const int64_t most = (int64_t)json_integer_value(json_object_get(config, "max_seq_length"));
    if (most > 0 && (p->max_length == 0 || most < p->max_length))
        p->max_length = most;
    json_decref(config);
    return GNN_OK;
}

static const json_t *label(const gnn_pretrained_t *p, int64_t index)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)index);
    return json_object_get(json_object_get(p->config, "id2label"), key);
}

static int open_folder(gnn_pretrained_t *p, gnn_context_t *context, parts_t *parts, const char *folder)
{
    GNN_TRY(open_parts(parts, folder));
    GNN_TRY(gnn__arch_open(&p->made, context, parts->list, parts->count));
    p->arch = parts->list[0].arch;
    p->config = json_incref(parts->list[0].config);
    GNN_TRY(find_max_length(p, folder));
    if (gnn__folder_has(folder, "generation_config.json"))
        GNN_TRY(gnn__json_open(&p->generation, folder, "generation_config.json"));
    while (json_is_string(label(p, p->n_labels)))
        p->n_labels++;
    return open_tokenizer(p, folder);
}

int gnn_pretrained_open(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder)
{
    gnn_pretrained_t *p = NULL;
    parts_t parts = {.count = 0};
    if (!pretrained)
        return gnn__error(GNN_EINVALID, "no place for the pretrained model");
    *pretrained = NULL;
    if (!context || !folder)
        return gnn__error(GNN_EINVALID, "no %s", context ? "folder" : "context");
    GNN_TRY(gnn__new(&p, 1, sizeof *p, "a pretrained model"));
    const int rc = open_folder(p, context, &parts, folder);
    close_parts(&parts);
    if (rc != GNN_OK) {
        gnn_pretrained_free(p);
        return gnn__error_prefix(rc, "%s", folder);
    }
    *pretrained = p;
    return GNN_OK;
}

void gnn_pretrained_free(gnn_pretrained_t *pretrained)
{
    if (!pretrained)
        return;
    gnn__arch_close(&pretrained->made);
    gnn_tokenizer_free(pretrained->tokenizer);
    json_decref(pretrained->config);
    json_decref(pretrained->generation);
    gnn_free(pretrained);
}

/* ---- what it is ---- */

gnn_model_t *gnn_pretrained_model(const gnn_pretrained_t *pretrained)
{
    return pretrained->made.model;
}

const gnn_tokenizer_t *gnn_pretrained_tokenizer(const gnn_pretrained_t *pretrained)
{
    return pretrained->tokenizer;
}

const char *gnn_pretrained_architecture(const gnn_pretrained_t *pretrained)
{
    return pretrained->arch->name;
}

int64_t gnn_pretrained_max_length(const gnn_pretrained_t *pretrained)
{
    return pretrained->max_length;
}

int64_t gnn_pretrained_label_count(const gnn_pretrained_t *pretrained)
{
    return pretrained->n_labels;
}

const char *gnn_pretrained_label(const gnn_pretrained_t *pretrained, int64_t index)
{
    return index >= 0 && index < pretrained->n_labels ? json_string_value(label(pretrained, index))
                                                      : NULL;
}
