/* Parts of a folder's model: its Transformer, then the modules after it. */
#include <lib/pretrained/parts.h>

void gnn__parts_close(gnn__parts_t *parts)
{
    for (int k = 0; k < parts->count; k++) {
        json_decref(parts->list[k].config);
        gnn__folder_close(&parts->list[k].weights);
    }
    json_decref(parts->modules);
    json_decref(parts->transformer);
    gnn_free(parts->folder);
}

static int find_arch(const gnn__arch_t **arch, const char *type, bool module)
{
    *arch = gnn__arch_find(type, module ? GNN__ARCH_OF_MODULES : GNN__ARCH_OF_MODELS);
    return *arch ? GNN_OK : GNN_EUNSUPPORTED;
}

/* Types of modules by their names before version 6 of sentence-transformers, which moved its
 * classes to other files. */
static void name_type(char name[GNN__ARCH_NAME], const char *type)
{
    const char *class = strrchr(type, '.');
    const bool theirs = class && strncmp(type, GNN__MODULES, strlen(GNN__MODULES)) == 0;
    snprintf(name, GNN__ARCH_NAME, "%s%s", theirs ? GNN__MODULES "models" : "",
             theirs ? class : type);
}

/* Takes ownership of the config. */
static int add_part(gnn__parts_t *parts, const gnn__arch_t *arch, json_t *config, const char *name)
{
    if (parts->count == GNN__ARCH_PARTS) {
        json_decref(config);
        return gnn__error(GNN_EUNSUPPORTED, "modules.json: more than %d modules",
                          (int)GNN__ARCH_PARTS - 2);
    }
    const int number = parts->count++;
    parts->list[number] = (gnn__arch_part_t){.arch = arch,
                                             .config = config,
                                             .config_name = name,
                                             .number = number,
                                             .weights = {.prefix = ""}};
    return config ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for a config");
}

/* The Transformer of a folder: config.json and its weights. */
static int add_model(gnn__parts_t *parts, const char *folder)
{
    json_t *config = NULL;
    const gnn__arch_t *arch = NULL;
    bool there;
    GNN_TRY(gnn__folder_has(&there, folder, "config.json"));
    if (!there)
        GNN_TRY(gnn__folder_explain(folder));
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
    gnn__folder_prefix(&part->weights, gnn__arch_prefix(arch));
    return GNN_OK;
}

/* An embedding table, with its tokenizer in the same folder. */
static int add_static(gnn__parts_t *parts, const char *folder)
{
    const gnn__arch_t *arch = NULL;
    GNN_TRY(find_arch(&arch, GNN__STATIC, true));
    GNN_TRY(add_part(parts, arch, json_object(), "modules.json"));
    parts->is_static = true;
    return gnn__folder_open(&parts->list[0].weights, folder);
}

/* A later module: its config and weights are in `folder`, which is `path` in the model's, or it has
 * none: like in the package, each key then has its default, and one without is an error. */
static int add_module(gnn__parts_t *parts, const char *folder, const char *path, const char *type)
{
    json_t *config;
    const gnn__arch_t *arch = NULL;
    char *name = parts->config_names[parts->count % GNN__ARCH_PARTS];
    GNN_TRY(find_arch(&arch, type, true));
    GNN_TRY(gnn__json_open_any(&config, folder, "config.json"));
    snprintf(name, GNN__ARCH_NAME, "%.40s/config.json%s", path, config ? "" : " (missing)");
    GNN_TRY(add_part(parts, arch, config ? config : json_object(), name));
    gnn__arch_part_t *part = &parts->list[parts->count - 1];
    bool there, pickled;
    GNN_TRY(gnn__folder_has(&there, folder, "model.safetensors"));
    GNN_TRY(gnn__folder_has(&pickled, folder, "pytorch_model.bin"));
    if (!there && !pickled)
        return GNN_OK;
    GNN_TRY(gnn__folder_open(&part->weights, folder));
    gnn__folder_prefix(&part->weights, gnn__arch_prefix(arch));
    return GNN_OK;
}

/* ---- modules.json ---- */

/* Settings of sentence-transformers for its Transformer; older versions use another file name. */
static int open_transformer(gnn__parts_t *parts)
{
    static const char *const names[] = {
        "sentence_bert_config.json",       "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json",
        "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json"};
    const size_t n = sizeof names / sizeof *names;
    size_t k = 0;
    for (; k < n && !parts->transformer; k++)
        GNN_TRY(gnn__json_open_any(&parts->transformer, parts->folder, names[k]));
    return parts->transformer
               ? gnn__arch_check_file(parts->transformer, names[k - 1], "sentence_bert_config.json")
               : GNN_OK;
}

/* The head that the Transformer keeps: none, masked tokens, or classes. */
static int choose_head(gnn__parts_t *parts, const char *type)
{
    gnn__arch_part_t *part = &parts->list[0];
    const char *task = json_string_value(json_object_get(parts->transformer, "transformer_task"));
    const char *class =
        json_string_value(json_array_get(json_object_get(part->config, "architectures"), 0));
    if (!task)
        task = strstr(type, ".MLMTransformer") ? "fill-mask" : "feature-extraction";
    const char *wanted = strcmp(task, "fill-mask") == 0                 ? "ForMaskedLM"
                         : strcmp(task, "sequence-classification") == 0 ? "ForSequenceClassification"
                                                                        : NULL;
    part->headless = !wanted;
    if (!wanted || (class && strlen(class) > strlen(wanted) &&
                    strcmp(class + strlen(class) - strlen(wanted), wanted) == 0))
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "config.json: \"architectures\" names %.80s, a class that ends in %s is "
                      "expected: the transformer_task of modules.json's first module is %s",
                      class ? class : "nothing", wanted, task);
}

static int add_first(gnn__parts_t *parts, const char *name, const char *type)
{
    if (strcmp(name, GNN__STATIC) == 0)
        return add_static(parts, parts->folder);
    if (strcmp(name, GNN__TRANSFORMER) != 0 && strcmp(name, GNN__MODULES "models.MLMTransformer") != 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "modules.json: the first module is %.100s, " GNN__TRANSFORMER
                          ", MLMTransformer or StaticEmbedding is expected",
                          type);
    GNN_TRY(add_model(parts, parts->folder));
    GNN_TRY(open_transformer(parts));
    return choose_head(parts, type);
}

/* Folders of modules are inside the model's. */
static int add_listed(gnn__parts_t *parts, const char *folder, const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type")),
               *path = json_string_value(json_object_get(module, "path"));
    char *inner = NULL;
    if (!type || !path || strstr(path, "..") || *path == '/')
        return gnn__error(GNN_EFORMAT, "modules.json: a module needs \"type\" and a \"path\" inside "
                                       "the folder");
    char name[GNN__ARCH_NAME];
    name_type(name, type);
    GNN_TRY(gnn__arch_check_file((json_t *)module, "modules.json", "modules.json"));
    GNN_TRY(gnn__folder_path(&inner, folder, path));
    const int number = parts->count;
    int rc;
    if (number == 0) {
        parts->folder = inner;
        rc = add_first(parts, name, type);
    } else {
        rc = strcmp(name, GNN__STATIC) == 0
                 ? gnn__error(GNN_EUNSUPPORTED, "modules.json: module %d is %.100s", number, type)
                 : add_module(parts, inner, path, name);
        gnn_free(inner);
        rc = rc == GNN_OK ? rc : gnn__error_prefix(rc, "%.60s", path);
    }
    if (rc == GNN_OK)
        parts->types[number] = type;
    return rc;
}

/* As in the package, a module replaces an earlier one of the same name. */
static int check_names(const json_t *list)
{
    for (size_t k = 0; k < json_array_size(list); k++)
        for (size_t other = 0; other < k; other++) {
            const char *a = json_string_value(json_object_get(json_array_get(list, k), "name")),
                       *b = json_string_value(json_object_get(json_array_get(list, other), "name"));
            if (a && b && strcmp(a, b) == 0)
                return gnn__error(GNN_EUNSUPPORTED,
                                  "modules.json: modules %d and %d have the same \"name\", \"%.80s\"",
                                  (int)other, (int)k, a);
        }
    return GNN_OK;
}

static int open_listed(gnn__parts_t *parts, const char *folder, const json_t *list, bool head)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return gnn__error(GNN_EFORMAT, "modules.json: a list of modules is expected");
    GNN_TRY(check_names(list));
    for (size_t k = 0; k < (head ? 1 : count); k++)
        GNN_TRY(add_listed(parts, folder, json_array_get(list, k)));
    return GNN_OK;
}

/* A folder without modules.json. */
static int open_plain(gnn__parts_t *parts, const char *folder)
{
    GNN_TRY(gnn__asprintf(&parts->folder, "%s", folder));
    GNN_TRY(add_model(parts, folder));
    return open_transformer(parts);
}

/* A part of an internal type, which modules.json does not name. */
static int add_own(gnn__parts_t *parts, const char *type, json_t *config, const char *name)
{
    const gnn__arch_t *arch = NULL;
    const int rc = find_arch(&arch, type, true);
    if (rc != GNN_OK) {
        json_decref(config);
        return rc;
    }
    return add_part(parts, arch, config, name);
}

int gnn__parts_open(gnn__parts_t *parts, const char *folder, const json_t *head)
{
    GNN_TRY(gnn__json_open_any(&parts->modules, folder, "modules.json"));
    GNN_TRY(parts->modules ? open_listed(parts, folder, parts->modules, head != NULL)
                           : open_plain(parts, folder));
    if (head) {
        parts->list[0].headless = true;
        GNN_TRY(add_own(parts, GNN__CLASSES, json_deep_copy(head), "the new classes"));
    }
    parts->written = parts->count;
    return (parts->count > 1 || parts->is_static) && !head
               ? add_own(parts, "embedding", json_object(), "modules.json")
               : GNN_OK;
}
