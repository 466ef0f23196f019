/* Files of a folder with a published model. */
#include <lib/weights/arch/folder.h>

#include <lib/base/room.h>

#include <lib/data/arrays/arrays.h>
#include <lib/weights/config_json.h>
#include <dirent.h>
#include <stdlib.h>

#define INDEX "model.safetensors.index.json"
#define WEIGHTS "model.safetensors"

enum { MOST_JSON = 1 << 26 };

int gnn__folder_path(char **path, const char *folder, const char *name)
{
    const size_t length = strlen(folder);
    const bool closed = length > 0 && folder[length - 1] == '/';
    return gnn__asprintf(path, "%s%s%s", folder, closed ? "" : "/", name);
}

int gnn__folder_has(bool *there, const char *folder, const char *name)
{
    char *path;
    *there = false;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    const int rc = gnn__file_there(there, path);
    gnn_free(path);
    return rc;
}

/* ---- JSON ---- */

static int read_json(json_t **root, const gnn__file_t *file)
{
    char *text = NULL;
    int rc;
    if (file->size > MOST_JSON)
        return gnn__error(GNN_EFORMAT, "%lld bytes, at most %d are read", (long long)file->size,
                          (int)MOST_JSON);
    GNN_CHECK(gnn__new(&text, file->size + 1, 1, "a JSON text"));
    GNN_CHECK(gnn__file_read(file, 0, text, file->size));
    rc = gnn__json_parse(root, text, file->size, GNN__JSON_UNIQUE | GNN__JSON_WIDE, GNN__JSON_LEVELS);
done:
    gnn_free(text);
    return rc;
}

int gnn__json_open(json_t **root, const char *folder, const char *name)
{
    char *path = NULL;
    gnn__file_t file = {.fd = -1};
    int rc;
    *root = NULL;
    GNN_CHECK(gnn__folder_path(&path, folder, name));
    GNN_CHECK(gnn__file_open(&file, path));
    rc = read_json(root, &file);
    if (rc != GNN_OK)
        gnn__error_prefix(rc, "%s", name);
done:
    gnn__file_close(&file);
    gnn_free(path);
    return rc;
}

int gnn__json_open_any(json_t **root, const char *folder, const char *name)
{
    bool there;
    *root = NULL;
    GNN_TRY(gnn__folder_has(&there, folder, name));
    return there ? gnn__json_open(root, folder, name) : GNN_OK;
}

/* ---- arrays ---- */

/* Git LFS stores a pointer text in place of a file that was not fetched. */
static int refuse_pointer(const char *path)
{
    static const char begins[] = "version https://git-lfs";
    char text[sizeof begins - 1];
    gnn__file_t file = {.fd = -1};
    int rc;
    GNN_CHECK(gnn__file_open(&file, path));
    if (file.size >= (int64_t)sizeof text && file.size < 1024) {
        GNN_CHECK(gnn__file_read(&file, 0, text, sizeof text));
        if (memcmp(text, begins, sizeof text) == 0)
            rc = gnn__error(GNN_EFORMAT, "a pointer of Git LFS, whose file was not fetched: "
                                         "git lfs pull");
    }
done:
    gnn__file_close(&file);
    return rc;
}

static int open_file(gnn__folder_t *c, const char *folder, const char *name)
{
    char *path = NULL;
    /* the file's size bounds both */
    const gnn_limits_t limits = {.max_bytes = INT64_MAX, .max_entries = INT32_MAX};
    int rc;
    GNN_CHECK(gnn__one_more(&c->files, c->n_files, sizeof *c->files, "a list of files"));
    GNN_CHECK(gnn__folder_path(&path, folder, name));
    rc = refuse_pointer(path);
    if (rc == GNN_OK)
        rc = gnn__safetensors_map(&c->files[c->n_files], path, &limits);
    if (rc != GNN_OK)
        gnn__error_prefix(rc, "%s", name);
    else
        c->n_files++;
done:
    gnn_free(path);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const gnn__folder_array_t *)a)->name, ((const gnn__folder_array_t *)b)->name);
}

/* Lists the arrays of all files by name, each of which is in one file. */
static int list_arrays(gnn__folder_t *c)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->n_files; k++)
        n += c->files[k]->count;
    GNN_TRY(gnn__new(&c->arrays, n, sizeof *c->arrays, "a list of arrays"));
    for (int64_t k = 0; k < c->n_files; k++)
        for (int64_t i = 0; i < c->files[k]->count; i++) {
            const gnn_array_t *a = gnn_arrays_at(c->files[k], i);
            c->arrays[c->n_arrays++] = (gnn__folder_array_t){.name = a->name, .array = a};
        }
    if (c->n_arrays > 1)
        qsort(c->arrays, (size_t)c->n_arrays, sizeof *c->arrays, by_name);
    for (int64_t k = 1; k < c->n_arrays; k++)
        if (strcmp(c->arrays[k - 1].name, c->arrays[k].name) == 0)
            return gnn__error(GNN_EFORMAT, INDEX ": two of its files have an array %.80s",
                              c->arrays[k].name);
    return GNN_OK;
}

/* The file of a name, opened on first use; `opened` maps names to indices. */
static int shard(gnn__folder_t *c, const char *folder, json_t *opened, const json_t *name,
                 int64_t *number)
{
    const char *text = json_string_value(name);
    if (!text || !*text || strchr(text, '/') || strstr(text, ".."))
        return gnn__error(GNN_EFORMAT, INDEX ": \"%.80s\" is not the name of a file in this folder",
                          text ? text : "(no text)");
    const json_t *known = json_object_get(opened, text);
    if (known) {
        *number = (int64_t)json_integer_value(known);
        return GNN_OK;
    }
    *number = c->n_files;
    GNN_TRY(open_file(c, folder, text));
    return json_object_set_new(opened, text, json_integer(*number)) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for a list of files");
}

/* The files that the index names. Their arrays are used whether the index lists them or not, as by
 * the package. */
static int open_shards(gnn__folder_t *c, const char *folder, json_t *map, json_t *opened)
{
    const char *name;
    json_t *file;
    if (!json_is_object(map))
        return gnn__error(GNN_EFORMAT, INDEX ": no object \"weight_map\"");
    json_object_foreach(map, name, file)
    {
        int64_t number = 0;
        GNN_TRY(shard(c, folder, opened, file, &number));
        if (!gnn_arrays_find(c->files[number], name))
            return gnn__error(GNN_EFORMAT, INDEX ": %.80s has no array %.80s, the index says it has",
                              json_string_value(file), name);
    }
    return GNN_OK;
}

/* ---- folders of other programs ---- */

/* Unsupported formats of weights, and how to convert them in Python. FOLDER and OTHER are
 * placeholders of paths. */
static const struct {
    const char *ending, *is, *python;
} others[] = {
    {"pytorch_model.bin", "pickled weights of PyTorch",
     "import torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v in "
     "torch.load('pytorch_model.bin', map_location='cpu').items()}, 'model.safetensors')"},
    {"pytorch_model.bin.index.json", "pickled weights of PyTorch in several files",
     "import transformers as T; T.AutoModelForCausalLM.from_pretrained('FOLDER')"
     ".save_pretrained('OTHER')  # or the class that \"architectures\" of config.json names"},
    {"adapter_model.safetensors", "an adapter (LoRA) without the model that it changes",
     "import peft; peft.AutoPeftModelForCausalLM.from_pretrained('FOLDER').merge_and_unload()"
     ".save_pretrained('OTHER')  # or the AutoPeftModel of its task"},
    {"adapter_model.bin", "an adapter (LoRA) without the model that it changes",
     "import peft; peft.AutoPeftModelForCausalLM.from_pretrained('FOLDER').merge_and_unload()"
     ".save_pretrained('OTHER')  # or the AutoPeftModel of its task"},
    {".gguf", "a model of llama.cpp",
     "import transformers as T; T.AutoModelForCausalLM.from_pretrained('FOLDER', "
     "gguf_file='NAME.gguf').save_pretrained('OTHER'); T.AutoTokenizer.from_pretrained('FOLDER', "
     "gguf_file='NAME.gguf').save_pretrained('OTHER')"},
    {"tf_model.h5", "weights of TensorFlow",
     "import transformers as T  # version 4; T.AutoModel.from_pretrained('FOLDER', from_tf=True)"
     ".save_pretrained('OTHER')  # or the class that \"architectures\" of config.json names"},
    {"flax_model.msgpack", "weights of Flax",
     "import transformers as T  # version 4; T.AutoModel.from_pretrained('FOLDER', from_flax=True)"
     ".save_pretrained('OTHER')  # or the class that \"architectures\" of config.json names"},
    {".onnx", "a graph of ONNX, whose weights have lost their names",
     "the folder that it was exported from is read; the hub lists it as the base model"},
    {".pth", "pickled weights under names of their own",
     "the same model is mostly published with model.safetensors, too"},
    {".ckpt", "a checkpoint of TensorFlow or Lightning",
     "the same model is mostly published with model.safetensors, too"}};

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), n = strlen(ending);
    return length >= n && strcmp(name + length - n, ending) == 0;
}

/* The first entry of `others` that a file of the folder matches, and the name of the file, for
 * gnn_free; NULL and the count of entries if there is none. */
static int find_other(size_t *found, char **name, const char *folder)
{
    DIR *open = opendir(folder);
    int rc = GNN_OK;
    *name = NULL;
    *found = sizeof others / sizeof *others;
    for (struct dirent *entry; open && rc == GNN_OK && (entry = readdir(open)) != NULL;)
        for (size_t k = 0; k < *found; k++)
            if (ends_with(entry->d_name, others[k].ending)) {
                gnn_free(*name);
                *name = NULL;
                *found = k;
                rc = gnn__asprintf(name, "%s", entry->d_name);
            }
    if (open)
        closedir(open);
    return rc;
}

int gnn__folder_explain(const char *folder)
{
    char *name;
    size_t k;
    GNN_TRY(find_other(&k, &name, folder));
    if (name) {
        gnn__set_message("there is no model.safetensors; %.80s holds %s. In Python: %s", name,
                         others[k].is, others[k].python);
        gnn_free(name);
        return GNN_EUNSUPPORTED;
    }
    bool exported;
    GNN_TRY(gnn__folder_has(&exported, folder, "onnx/model.onnx"));
    return exported ? gnn__error(GNN_EUNSUPPORTED,
                                 "there is no model.safetensors; onnx/model.onnx is a graph whose "
                                 "weights have lost their names: the folder that it was exported "
                                 "from is read")
                    : GNN_OK;
}

/* An adapter changes the base weights: ignoring it would run another model. */
static int refuse_adapter(const char *folder)
{
    bool there, weights;
    GNN_TRY(gnn__folder_has(&there, folder, "adapter_config.json"));
    GNN_TRY(gnn__folder_has(&weights, folder, WEIGHTS));
    return there && weights
               ? gnn__error(GNN_EUNSUPPORTED,
                            "adapter_config.json: an adapter changes the weights of " WEIGHTS
                            ". In Python: import peft; "
                            "peft.AutoPeftModelForCausalLM.from_pretrained('FOLDER')"
                            ".merge_and_unload().save_pretrained('OTHER')  # or the AutoPeftModel "
                            "of its task")
               : GNN_OK;
}

static int open_index(gnn__folder_t *c, const char *folder)
{
    json_t *index = NULL, *opened = json_object();
    int rc = opened ? gnn__json_open(&index, folder, INDEX)
                    : gnn__error(GNN_EMEMORY, "no memory for a list of files");
    if (rc == GNN_OK)
        rc = open_shards(c, folder, json_object_get(index, "weight_map"), opened);
    json_decref(index);
    json_decref(opened);
    return rc;
}

int gnn__folder_open(gnn__folder_t *f, const char *folder)
{
    bool whole, parts = false;
    *f = (gnn__folder_t){.prefix = ""};
    GNN_TRY(gnn__folder_has(&whole, folder, WEIGHTS));
    if (!whole)
        GNN_TRY(gnn__folder_has(&parts, folder, INDEX));
    if (!whole && !parts)
        GNN_TRY(gnn__folder_explain(folder));
    GNN_TRY(refuse_adapter(folder));
    GNN_TRY(whole || !parts ? open_file(f, folder, WEIGHTS) : open_index(f, folder));
    return list_arrays(f);
}

void gnn__folder_prefix(gnn__folder_t *f, const char *list)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        bool used = at == list;
        for (int64_t k = 0; k < f->n_arrays && !used; k++)
            used = strncmp(f->arrays[k].name, at, length) == 0;
        if (used)
            snprintf(f->prefix, sizeof f->prefix, "%.*s", (int)length, at);
        at += length;
    }
}

void gnn__folder_close(gnn__folder_t *f)
{
    for (int64_t k = 0; k < f->n_files; k++)
        gnn_arrays_free(f->files[k]);
    gnn_free(f->files);
    gnn_free(f->arrays);
    memset(f, 0, sizeof *f);
}

static gnn__folder_array_t *find(gnn__folder_t *c, const char *name)
{
    const gnn__folder_array_t key = {.name = name};
    return c->n_arrays == 0 ? NULL
                            : bsearch(&key, c->arrays, (size_t)c->n_arrays, sizeof key, by_name);
}

gnn__folder_array_t *gnn__folder_find(gnn__folder_t *f, const char *name)
{
    char full[400];
    gnn__folder_array_t *found = NULL;
    if (snprintf(full, sizeof full, "%s%s", f->prefix, name) < (int)sizeof full)
        found = find(f, full);
    return found ? found : find(f, name);
}

void gnn__folder_release(const gnn__folder_t *f, const gnn_array_t *array)
{
    for (int64_t k = 0; k < f->n_files; k++)
        gnn__arrays_release(f->files[k], array);
}

int64_t gnn__folder_numbers(const gnn__folder_t *f)
{
    int64_t total = 0;
    for (int64_t k = 0; k < f->n_arrays; k++)
        total += f->arrays[k].array->count;
    return total;
}
