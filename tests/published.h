/* Folders of published models from a table of tests/golden: files as JSON or text, and arrays by
 * shape, whose values are derived from their names. */
#ifndef GNN_TESTS_PUBLISHED_H
#define GNN_TESTS_PUBLISHED_H

#include "io_bytes.h"

#include <gnn/pretrained.h>
#include <lib/data/arrays/json_text.h>
#include <sys/stat.h>

enum { ARRAYS_AT_MOST = 512, JSON_LEVELS = 16 };

/* ---- weights that follow from names ---- */

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline double weight(uint64_t hash, int64_t k, bool gain, bool matrix)
{
    const uint64_t bits = mix(hash + (uint64_t)(k + 1) * 0x9E3779B97F4A7C15u) >> 52;
    const double x = ((double)bits - 2048) / 4096;
    return gain ? 1 + x / 2 : x / (matrix ? 2 : 4);
}

static inline float *weights_of(const char *name, int dimensions, int64_t count)
{
    const size_t length = strlen(name);
    const bool gain = dimensions == 1 && length >= 6 && strcmp(name + length - 6, "weight") == 0;
    uint64_t hash = 14695981039346656037u;
    float *weights = malloc(sizeof *weights * (size_t)(count + 1));
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (int64_t k = 0; k < count; k++)
        weights[k] = (float)weight(hash, k, gain, dimensions > 1);
    return weights;
}

/* An array of given integers. */
static inline void integers_of(gnn_array_t *a, const json_t *list)
{
    int64_t *values = malloc(sizeof *values * (json_array_size(list) + 1));
    for (size_t k = 0; k < json_array_size(list); k++)
        values[k] = json_integer_value(json_array_get(list, k));
    a->dtype = GNN_DTYPE_INT64;
    a->ndim = 1;
    a->count = a->shape[0] = (int64_t)json_array_size(list);
    a->data = values;
}

/* Values of at most 11 bits as fp16, which holds them. */
static inline void halve(gnn_array_t *a)
{
    uint16_t *halves = malloc(sizeof *halves * (size_t)a->count);
    const float *from = a->data;
    for (int64_t k = 0; k < a->count; k++) {
        int power;
        const double significand = frexp(fabs((double)from[k]), &power);
        ck_assert_msg(from[k] == 0 || power > -14, "%g", (double)from[k]);
        halves[k] =
            (uint16_t)((from[k] < 0 ? 0x8000 : 0) +
                       (from[k] == 0 ? 0 : ((power + 14) << 10) + (int)(significand * 2048) - 1024));
    }
    free((void *)a->data);
    a->dtype = GNN_DTYPE_FLOAT16;
    a->data = halves;
}

static inline void write_arrays(const char *file, const json_t *shapes)
{
    static gnn_array_t arrays[ARRAYS_AT_MOST];
    const char *name;
    json_t *shape;
    int64_t n = 0;
    json_object_foreach((json_t *)shapes, name, shape)
    {
        gnn_array_t *a = &arrays[n++];
        ck_assert_int_lt(n, ARRAYS_AT_MOST);
        *a = (gnn_array_t){.name = name, .dtype = GNN_DTYPE_FLOAT32, .count = 1};
        if (json_object_get(shape, "int64")) {
            integers_of(a, json_object_get(shape, "int64"));
            continue;
        }
        const bool halved = json_is_object(shape);
        shape = halved ? json_object_get(shape, "float16") : shape;
        for (a->ndim = 0; a->ndim < (int)json_array_size(shape); a->ndim++)
            a->count *= a->shape[a->ndim] =
                json_integer_value(json_array_get(shape, (size_t)a->ndim));
        a->data = weights_of(name, a->ndim, a->count);
        if (halved)
            halve(a);
    }
    ck_ok(gnn_safetensors_write(in_folder(file), n, arrays, 0, NULL));
    for (int64_t k = 0; k < n; k++)
        free((void *)arrays[k].data);
}

/* ---- files ---- */

/* Of files, and of folders of files. */
static inline void clear_folder(const char *path)
{
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *d; (d = readdir(folder)) != NULL;) {
        char inner[512];
        snprintf(inner, sizeof inner, "%.200s/%.255s", path, d->d_name);
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || unlink(inner) == 0)
            continue;
        clear_folder(inner);
        rmdir(inner);
    }
    closedir(folder);
}

/* Creates the folders of a path. */
static inline void make_folders(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s", name);
    for (char *slash = path; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(in_folder(path), 0700);
    }
}

static inline void write_file(const char *name, const json_t *content)
{
    char *json = json_is_string(content) ? NULL : json_dumps(content, 0);
    make_folders(name);
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(json ? json : json_string_value(content), file);
    fclose(file);
    free(json);
}

static inline void write_published(const json_t *files, const json_t *arrays)
{
    const char *name;
    json_t *content;
    json_object_foreach((json_t *)files, name, content) write_file(name, content);
    json_object_foreach((json_t *)arrays, name, content)
    {
        make_folders(name);
        write_arrays(name, content);
    }
}

#endif
