/* A model as one safetensors file: a matrix per field, "STEP.FIELD", and the steps as JSON in the
 * metadata, so that the file is self-contained. Files are not trusted: allocations are bounded by
 * their data. */
#include <lib/weights/config_json.h>
#include <lib/weights/description.h>

#include <gnn/io.h>
#include <lib/data/arrays/text_file.h>
#include <lib/model/model.h>
#include <lib/tape/tape.h>
#include <math.h>
#include <stdlib.h>

#define STEPS_KEY "gnn.model"
#define VERSION_KEY "gnn.version"

/* Fields, then buffers. */
static int64_t tensor_count(const gnn_model_t *model)
{
    return gnn_model_field_count(model) + gnn_model_buffer_count(model);
}

static const char *tensor_at(const gnn_model_t *model, int64_t k, gnn_tensor_t *tensor)
{
    int64_t fields = gnn_model_field_count(model);
    const char *name =
        k < fields ? gnn_model_field_name(model, k) : gnn_model_buffer_name(model, k - fields);
    int rc = k < fields ? gnn_model_field(model, name, tensor, NULL)
                        : gnn_model_buffer(model, name, tensor);
    return rc == GNN_OK ? name : NULL;
}

/* ---- saving ---- */

/* Copies the tensor without its stride to `to`; returns the end of the copy. */
static gnn_real_t *pack(gnn_array_t *array, const char *name, const gnn_tensor_t *t, gnn_real_t *to)
{
    *array = (gnn_array_t){.name = name,
                           .dtype = GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32,
                           .ndim = 2,
                           .shape = {t->rows, t->cols},
                           .count = t->rows * t->cols,
                           .data = to};
    for (int64_t r = 0; r < t->rows; r++, to += t->cols)
        memcpy(to, gnn__row(t, r), (size_t)t->cols * sizeof *to);
    return to;
}

static int pack_all(const gnn_model_t *model, gnn_array_t **arrays, gnn_real_t **numbers)
{
    int64_t count = tensor_count(model), total = 0;
    gnn_tensor_t t = {0};
    for (int64_t k = 0; k < count; k++) {
        const char *name = tensor_at(model, k, &t);
        GNN_TRY(gnn__tensor_check_finite(&t, name));
        total += t.rows * t.cols;
    }
    GNN_TRY(gnn__new(arrays, count, sizeof **arrays, "a list of tensors"));
    GNN_TRY(gnn__new(numbers, total, sizeof **numbers, "a copy of the weights"));
    gnn_real_t *to = *numbers;
    for (int64_t k = 0; k < count; k++) {
        const char *name = tensor_at(model, k, &t);
        to = pack(&(*arrays)[k], name, &t, to);
    }
    return GNN_OK;
}

int gnn_model_set_note(gnn_model_t *model, const char *note)
{
    char *copy = NULL;
    GNN__NEED(model);
    if (note && !gnn__is_utf8(note, (int64_t)strlen(note)))
        return gnn__error(GNN_EINVALID, "the note of a model is not UTF-8 text");
    if (note)
        GNN_TRY(gnn__strdup(&copy, note));
    gnn_free(model->note);
    model->note = copy;
    return GNN_OK;
}

const char *gnn_model_note(const gnn_model_t *model)
{
    GNN__NEED_OR(model, NULL);
    return model ? model->note : NULL;
}

/* Adds a text if there is one. */
static void add_text(const char *(*metadata)[2], int64_t *pairs, const char *key, const char *text)
{
    if (!text)
        return;
    metadata[*pairs][0] = key;
    metadata[(*pairs)++][1] = text;
}

int gnn_model_save(const gnn_model_t *model, const char *path)
{
    GNN__NEED(model);
    GNN__NEED(path);
    gnn_array_t *arrays = NULL;
    gnn_real_t *numbers = NULL;
    char *steps = NULL, *slots = NULL, checksum[20] = "";
    int rc;
    GNN_CHECK(gnn__parameters_check_whole(model->parameters, "saving"));
    GNN_CHECK(gnn__steps_write(&steps, model));
    GNN_CHECK(gnn__slots_write(&slots, model));
    GNN_CHECK(pack_all(model, &arrays, &numbers));
    const char *metadata[5][2] = {
        {STEPS_KEY, steps}, {VERSION_KEY, GNN_VERSION}, {GNN__CHECKSUM_KEY, checksum}};
    int64_t pairs = 3;
    const int64_t count = tensor_count(model);
    add_text(metadata, &pairs, GNN__SLOTS_KEY, slots);
    add_text(metadata, &pairs, GNN__NOTE_KEY, model->note);
    const char *const(*texts)[2] = (const char *const(*)[2])metadata;
    snprintf(checksum, sizeof checksum, "%016llx",
             (unsigned long long)gnn__checksum(count, arrays, pairs, texts));
    GNN_CHECK(gnn_safetensors_write(path, count, arrays, pairs, texts));
done:
    gnn_free(steps);
    gnn_free(slots);
    gnn_free(arrays);
    gnn_free(numbers);
    return rc;
}

/* ---- loading ---- */

static int64_t stored_numbers(const gnn_arrays_t *arrays)
{
    int64_t total = 0;
    for (int64_t k = 0; k < arrays->count; k++)
        total += gnn_arrays_at(arrays, k)->count;
    return total;
}

static int make_model(gnn_model_t **model, gnn_context_t *context, const gnn_arrays_t *arrays,
                      const gnn_rows_t *rows)
{
    gnn__file_steps_t steps;
    const char *text = gnn_arrays_metadata(arrays, STEPS_KEY);
    int64_t most = stored_numbers(arrays);
    if (!text)
        return gnn__error(GNN_EFORMAT, "no metadata \"" STEPS_KEY
                                       "\": not saved by gnn_model_save (see gnn_model_import)");
    int rc = gnn__steps_read(&steps, text, rows);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "metadata \"" STEPS_KEY "\"");
    rc = gnn__model_make(model, context, steps.count, steps.list, most);
    gnn__file_steps_free(&steps);
    return rc;
}

/* Index of the first non-finite element of a float32 or float64 array; -1: none. The type is
 * dispatched once, outside the loop. */
static int64_t find_not_finite(const gnn_array_t *array)
{
    const float *single = array->dtype == GNN_DTYPE_FLOAT32 ? array->data : NULL;
    const double *wide = array->data;
    for (int64_t k = 0; k < array->count; k++)
        if (!isfinite(single ? (gnn_real_t)single[k] : (gnn_real_t)wide[k]))
            return k;
    return -1;
}

static int check_array(const gnn_array_t *array, const char *name, const gnn_tensor_t *t)
{
    if (!array)
        return gnn__error(GNN_ENOTFOUND, "no array %s", name);
    if (array->dtype != GNN_DTYPE_FLOAT32 && array->dtype != GNN_DTYPE_FLOAT64)
        return gnn__error(GNN_EFORMAT, "array %s holds %s, float32 or float64 are expected", name,
                          gnn__element(array->dtype)->name);
    if (array->ndim != 2 || array->shape[0] != t->rows || array->shape[1] != t->cols)
        return gnn__error(GNN_ESHAPE, "array %s is %s, the model expects %lld x %lld", name,
                          gnn__shape_words(array->ndim, array->shape), (long long)t->rows,
                          (long long)t->cols);
    const int64_t k = find_not_finite(array);
    if (k >= 0)
        return gnn__error(GNN_ENUMERIC, "array %s: row %lld, column %lld is %g", name,
                          (long long)(k / t->cols), (long long)(k % t->cols),
                          gnn_array_get(array, k));
    return GNN_OK;
}

/* All names are present, so if the counts differ, some array belongs to no field. */
static int check_extra(const gnn_model_t *model, const gnn_arrays_t *arrays)
{
    gnn_tensor_t t;
    if (arrays->count == tensor_count(model))
        return GNN_OK;
    for (int64_t k = 0; k < arrays->count; k++) {
        const char *name = gnn_arrays_at(arrays, k)->name;
        if (gnn_model_field(model, name, &t, NULL) != GNN_OK &&
            gnn_model_buffer(model, name, &t) != GNN_OK)
            return gnn__error(GNN_EFORMAT, "array %s belongs to no field of the model", name);
    }
    return gnn__error(GNN_EFORMAT, "%lld arrays, the model has %lld", (long long)arrays->count,
                      (long long)tensor_count(model));
}

/* The array of a field or buffer. Before 0.2 parameters of the first prior could be called
 * STEP.distance. */
static const gnn_array_t *find_array(const gnn_arrays_t *arrays, const char *name)
{
    const gnn_array_t *found = gnn_arrays_find(arrays, name);
    const char *prior = strstr(name, ".prior_0.");
    char former[256];
    if (found || !prior || prior - name > 200)
        return found;
    snprintf(former, sizeof former, "%.*s.distance", (int)(prior - name), name);
    return gnn_arrays_find(arrays, former);
}

static int fill(const gnn_model_t *model, const gnn_arrays_t *arrays)
{
    gnn_tensor_t t = {0};
    for (int64_t k = 0; k < tensor_count(model); k++) {
        const char *name = tensor_at(model, k, &t);
        const gnn_array_t *array = find_array(arrays, name);
        GNN_TRY(check_array(array, name, &t));
        for (int64_t i = 0; i < array->count; i++)
            gnn__row(&t, i / t.cols)[i % t.cols] = (gnn_real_t)gnn_array_get(array, i);
    }
    return check_extra(model, arrays);
}

static int load(gnn_model_t **model, gnn_context_t *context, const gnn_arrays_t *arrays,
                const gnn_rows_t *rows)
{
    gnn_model_t *made = NULL;
    const bool described = gnn_arrays_metadata(arrays, GNN__DESCRIPTION_KEY) != NULL;
    if (gnn_arrays_metadata(arrays, GNN__CHECKSUM_KEY)) /* files of 0.1 have none */
        GNN_TRY(gnn__checksum_check(arrays));
    GNN_TRY(described ? gnn__described_model(&made, context, arrays, stored_numbers(arrays), rows)
                      : make_model(&made, context, arrays, rows));
    int rc = described ? gnn_model_import(made, GNN_NAMES_PYG, "%s.", arrays) : fill(made, arrays);
    if (rc == GNN_OK)
        rc = gnn__slots_read(made, gnn_arrays_metadata(arrays, GNN__SLOTS_KEY));
    if (rc == GNN_OK)
        rc = gnn_model_set_note(made, gnn_arrays_metadata(arrays, GNN__NOTE_KEY));
    if (rc != GNN_OK) {
        gnn_model_free(made);
        return rc;
    }
    *model = made;
    return GNN_OK;
}

int gnn_model_load_with(gnn_model_t **model, gnn_context_t *context, const char *path,
                        const gnn_rows_t *rows)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(path);
    gnn_arrays_t *arrays = NULL;
    const gnn_limits_t limits = {.max_bytes = INT64_MAX,
                                 .max_entries = INT32_MAX}; /* the file's size bounds both */
    GNN_TRY(gnn__own_rows_check(rows));
    GNN_TRY(gnn_safetensors_read(&arrays, path, &limits));
    int rc = load(model, context, arrays, rows);
    gnn_arrays_free(arrays);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}

int gnn_model_load(gnn_model_t **model, gnn_context_t *context, const char *path)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(path);
    return gnn_model_load_with(model, context, path, NULL);
}
