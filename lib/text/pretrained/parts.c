/* The parts that a folder's model is made of: its Transformer, then the modules that follow. */
#include <lib/text/pretrained/parts.h>

void gnn__parts_close(gnn__parts_t *parts)
{
    for (int k = 0; k < parts->count; k++) {
        json_decref(parts->list[k].config);
        gnn__folder_close(&parts->list[k].weights);
    }
}

static int find_arch(const gnn__arch_t **arch, const char *type, bool module)
{
    *arch = gnn__arch_find(type, module ? GNN__ARCH_OF_MODULES : GNN__ARCH_OF_MODELS);
    return *arch ? GNN_OK : GNN_EUNSUPPORTED;
}

/* The type of a module by the name that it had before version 6 of sentence-transformers, which
 * moved its classes to other files. */
static void name_type(char name[GNN__ARCH_NAME], const char *type)
{
    const char *class = strrchr(type, '.');
    const bool theirs = class && strncmp(type, GNN__MODULES, strlen(GNN__MODULES)) == 0;
    snprintf(name, GNN__ARCH_NAME, "%s%s", theirs ? GNN__MODULES "models" : "",
             theirs ? class : type);
}

/* Takes the config over. */
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

/* A module that follows: its config and weights are in a folder of its own, or it has none. */
static int add_module(gnn__parts_t *parts, const char *folder, const char *type)
{
    json_t *config;
    const gnn__arch_t *arch = NULL;
    GNN_TRY(find_arch(&arch, type, true));
    GNN_TRY(gnn__json_open_any(&config, folder, "config.json"));
    GNN_TRY(add_part(parts, arch, config ? config : json_object(), "a module's config.json"));
    gnn__arch_part_t *part = &parts->list[parts->count - 1];
    bool there;
    GNN_TRY(gnn__folder_has(&there, folder, "model.safetensors"));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn__folder_open(&part->weights, folder));
    gnn__folder_prefix(&part->weights, gnn__arch_prefix(arch));
    return GNN_OK;
}

/* Folders of modules lie in the model's. */
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
    GNN_TRY(gnn__folder_path(&inner, folder, path));
    const bool model = strcmp(name, GNN__TRANSFORMER) == 0;
    int rc = model != (parts->count == 0)
                 ? gnn__error(GNN_EUNSUPPORTED,
                              "modules.json: the first module, and no other, is " GNN__TRANSFORMER)
             : model ? add_model(parts, inner)
                     : add_module(parts, inner, name);
    parts->list[0].headless = true;
    gnn_free(inner);
    return rc;
}

static int open_listed(gnn__parts_t *parts, const char *folder, const json_t *list, bool head)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return gnn__error(GNN_EFORMAT, "modules.json: a list of modules is expected");
    for (size_t k = 0; k < (head ? 1 : count); k++)
        GNN_TRY(add_listed(parts, folder, json_array_get(list, k)));
    return GNN_OK;
}

/* The part of a type that stands in no list. */
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
    json_t *list;
    GNN_TRY(gnn__json_open_any(&list, folder, "modules.json"));
    int rc = list ? open_listed(parts, folder, list, head != NULL) : add_model(parts, folder);
    json_decref(list);
    parts->list[0].headless = parts->list[0].headless || head;
    if (rc == GNN_OK && head)
        rc = add_own(parts, GNN__CLASSES, json_deep_copy(head), "the new classes");
    parts->written = parts->count;
    return rc == GNN_OK && parts->count > 1 && !head
               ? add_own(parts, "embedding", json_object(), "modules.json")
               : rc;
}
