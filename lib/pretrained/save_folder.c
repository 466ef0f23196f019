/* Writes a pretrained model as a folder. */
#include <lib/data/arrays/arrays.h>
#include <lib/data/arrays/json_text.h>
#include <lib/tape/tape.h>
#include <lib/pretrained/pretrained.h>

#include <errno.h>
#include <sys/stat.h>

/* ---- files ---- */

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return GNN_OK;
    return gnn__error(GNN_EIO, "%s: the folder cannot be made: %s", path, strerror(errno));
}

static int write_file(const char *folder, const char *name, const void *data, int64_t bytes)
{
    char *path = NULL;
    gnn__output_t output;
    int rc;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    rc = gnn__output_open(&output, path);
    if (rc == GNN_OK)
        rc = gnn__output_write(&output, data, bytes);
    if (rc == GNN_OK)
        rc = gnn__output_commit(&output);
    gnn__output_close(&output);
    gnn_free(path);
    return rc;
}

static int write_json(const char *folder, const char *name, const json_t *json)
{
    char *text;
    GNN_TRY(gnn__json_write(&text, json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)));
    const int rc = write_file(folder, name, text, (int64_t)strlen(text));
    gnn_free(text);
    return rc;
}

/* Copies a file of the original folder, if it exists. */
static int copy_file(const char *from, const char *to, const char *name)
{
    char *path = NULL;
    void *data = NULL;
    gnn__file_t file = {.fd = -1};
    bool there;
    int rc;
    GNN_TRY(gnn__folder_has(&there, from, name));
    if (!there)
        return GNN_OK;
    GNN_CHECK(gnn__folder_path(&path, from, name));
    GNN_CHECK(gnn__file_open(&file, path));
    GNN_CHECK(gnn__new(&data, file.size + 1, 1, "a file"));
    GNN_CHECK(gnn__file_read(&file, 0, data, file.size));
    rc = write_file(to, name, data, file.size);
done:
    gnn__file_close(&file);
    gnn_free(data);
    gnn_free(path);
    return rc;
}

static int copy_files(const char *from, const char *to)
{
    static const char *const names[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "vocab.txt",
                                        "vocab.json",
                                        "merges.txt",
                                        "spiece.model",
                                        "sentencepiece.bpe.model",
                                        "tokenizer.model",
                                        "source.spm",
                                        "target.spm",
                                        "spm.model",
                                        "sentencepiece.model",
                                        "added_tokens.json",
                                        "generation_config.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        GNN_TRY(copy_file(from, to, names[k]));
    return GNN_OK;
}

/* ---- parts ---- */

/* The last part of a module's type: "gnn.Classes" is in the folder "1_Classes". */
static void name_part(const gnn__arch_part_t *part, int k, char name[GNN__ARCH_NAME])
{
    const char *type = gnn__arch_types(part->arch), *dot = strrchr(type, '.');
    name[0] = '\0';
    if (k > 0)
        snprintf(name, GNN__ARCH_NAME, "%d_%s", k, dot ? dot + 1 : type);
}

static int write_arrays(gnn__arch_stored_t *stored, const char *folder)
{
    static const char *const format[1][2] = {{"format", "pt"}};
    char *path = NULL;
    if (stored->count == 0)
        return GNN_OK;
    GNN_TRY(gnn__folder_path(&path, folder, "model.safetensors"));
    const int rc = gnn__safetensors_stream(path, stored->count, stored->arrays, 1, format,
                                           &(gnn__array_reader_t){gnn__arch_stored_read, stored});
    gnn_free(path);
    return rc;
}

static int write_part(const gnn_pretrained_t *p, gnn__arch_part_t *part, gnn__scope_t *scope,
                      const char *folder)
{
    gnn__arch_stored_t *stored = NULL;
    GNN_TRY(make_folder(folder));
    GNN_TRY(write_json(folder, "config.json", part->config));
    GNN_TRY(gnn__arch_store(&p->made, part, scope, &stored));
    const int rc = write_arrays(stored, folder);
    gnn__arch_stored_free(stored);
    return rc;
}

static int write_parts(const gnn_pretrained_t *p, gnn__parts_t *parts, const char *folder,
                       json_t *list)
{
    gnn__scope_t scope = {.names = json_object()};
    int rc = scope.names && json_object_set_new(scope.names, "storing", json_true()) == 0
                 ? GNN_OK
                 : gnn__error(GNN_EMEMORY, "no memory for names");
    for (int k = 0; rc == GNN_OK && k < parts->written; k++) {
        char name[GNN__ARCH_NAME], *path = NULL;
        name_part(&parts->list[k], k, name);
        rc = gnn__folder_path(&path, folder, name);
        if (rc == GNN_OK)
            rc = write_part(p, &parts->list[k], &scope, path);
        gnn_free(path);
        json_t *module =
            json_pack("{s:i, s:s, s:s, s:s}", "idx", k, "name", name, "path", name, "type",
                      parts->types[k] ? parts->types[k]
                      : k             ? gnn__arch_types(parts->list[k].arch)
                                      : GNN__TRANSFORMER);
        if (json_array_append_new(list, module) != 0 && rc == GNN_OK)
            rc = gnn__error(GNN_EMEMORY, "no memory for modules.json");
    }
    json_decref(scope.names);
    return rc;
}

int gnn_pretrained_save(const gnn_pretrained_t *pretrained, const char *folder)
{
    gnn__parts_t parts = {.count = 0};
    json_t *list = NULL;
    int rc;
    GNN__NEED(pretrained);
    GNN__NEED(folder);
    if (!*folder)
        return gnn__error(GNN_EINVALID, "gnn_pretrained_save: folder is \"\", expected a path");
    GNN_CHECK(gnn__parts_open(&parts, pretrained->folder, pretrained->head));
    list = json_array();
    GNN_CHECK(list ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for modules.json"));
    GNN_CHECK(make_folder(folder));
    GNN_CHECK(copy_files(pretrained->model_folder, folder));
    if (strcmp(pretrained->folder, pretrained->model_folder) != 0)
        GNN_CHECK(copy_file(pretrained->folder, folder, "config_sentence_transformers.json"));
    GNN_CHECK(write_parts(pretrained, &parts, folder, list));
    if (parts.modules || parts.count > 1)
        rc = write_json(folder, "modules.json", list);
done:
    json_decref(list);
    gnn__parts_close(&parts);
    return rc;
}
