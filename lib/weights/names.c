/* Weights by the names of other libraries, in and out. An import checks everything before it copies
 * anything. */
#include <lib/weights/names.h>

#include <lib/base/room.h>

#include <math.h>

/* ---- bindings ---- */

typedef struct {
    gnn__binding_t *list;
    int64_t count;
    const char *fixed; /* every array with this prefix must belong to a field */
    int64_t fixed_length;
    bool alone; /* a single layer: its module may be split across layers */
} bindings_t;

static void free_bindings(bindings_t *b)
{
    for (int64_t k = 0; k < b->count; k++)
        gnn_free(b->list[k].prefix);
    gnn_free(b->list);
}

static int bind_layer(bindings_t *b, const gnn_layer_t *layer, gnn_names_t names, const char *prefix)
{
    GNN_TRY(gnn__new(&b->list, 1, sizeof *b->list, "names of a layer"));
    b->count = 1;
    b->alone = true;
    b->fixed = prefix;
    b->fixed_length = (int64_t)strlen(prefix);
    b->list[0] = (gnn__binding_t){
        .layer = layer, .parameters = layer->parameters, .names = names, .number = 1, .slices = 1};
    GNN_TRY(gnn__strdup(&b->list[0].prefix, prefix));
    return gnn__names_module(&b->list[0]);
}

/* The pattern with %lld replaced by an index, or %s by a step's name up to a colon. */
static int complete(char **prefix, const char *pattern, int64_t number, const char *name)
{
    const char *mark = strchr(pattern, '%');
    int before = (int)(mark ? mark - pattern : 0), length = (int)strcspn(name, ":");
    if (!mark)
        return gnn__strdup(prefix, pattern);
    if (strncmp(mark, "%lld", 4) == 0 && !strchr(mark + 1, '%'))
        return gnn__asprintf(prefix, "%.*s%lld%s", before, pattern, (long long)number, mark + 4);
    if (strncmp(mark, "%s", 2) == 0 && !strchr(mark + 1, '%'))
        return gnn__asprintf(prefix, "%.*s%.*s%s", before, pattern, length, name, mark + 2);
    return gnn__error(GNN_EINVALID, "prefix \"%s\" may hold one %%lld or one %%s and no other %%",
                      pattern);
}

static void count_slices(bindings_t *b)
{
    for (int64_t k = 0; k < b->count; k++) {
        gnn__binding_t *at = &b->list[k];
        for (int64_t j = 0; j < b->count; j++)
            if (b->list[j].module == at->module && strcmp(b->list[j].prefix, at->prefix) == 0) {
                at->slices++;
                at->slice += j < k;
            }
    }
}

static int bind_model(bindings_t *b, const gnn_model_t *model, gnn_names_t names, const char *pattern)
{
    GNN_TRY(gnn__new(&b->list, model->n_steps, sizeof *b->list, "names of a model"));
    b->fixed = pattern;
    b->fixed_length = (int64_t)strcspn(pattern, "%");
    for (int64_t k = 0; k < model->n_steps; k++) {
        const gnn__model_step_t *s = &model->steps[k];
        if (s->layer ? s->layer->n_fields == 0 : s->n_own == 0)
            continue;
        gnn__binding_t *made = &b->list[b->count];
        *made = (gnn__binding_t){.layer = s->layer,
                                 .step = s,
                                 .parameters = model->parameters,
                                 .names = names,
                                 .number = b->count + 1};
        GNN_TRY(complete(&made->prefix, pattern, b->count, s->name));
        b->count++;
        int rc = gnn__names_module(made);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "%s", s->where);
    }
    count_slices(b);
    return GNN_OK;
}

/* The target of an import or source of an export: a single layer, or a model. */
typedef struct {
    const gnn_layer_t *layer;
    const gnn_model_t *model;
    gnn_names_t names;
    const char *prefix; /* NULL: none */
} module_t;

static int bind(bindings_t *b, const module_t *of)
{
    const char *prefix = of->prefix ? of->prefix : "";
    if (!of->layer && !of->model)
        return gnn__error(GNN_EINVALID, ".layer and .model are NULL, expected one of them");
    return of->layer ? bind_layer(b, of->layer, of->names, prefix)
                     : bind_model(b, of->model, of->names, prefix);
}

/* ---- checking ---- */

/* Copies to make once everything is checked; they cannot fail. */
typedef struct {
    gnn__place_t place;
    const gnn_array_t *array;
} job_t;

typedef struct {
    const bindings_t *bindings;
    const gnn_arrays_t *arrays;
    bool *used;
    job_t *jobs;
    int64_t n_jobs, capacity;
} import_t;

static int check_shape(const gnn_array_t *array, const gnn__place_t *place)
{
    int64_t shape[3] = {0, 0, 0};
    int ndim = gnn__names_shape(place, shape);
    /* Learned rows may have more axes of 1 before them. */
    const bool rows =
        place->layout == GNN__ROWS && array->count == place->field.rows * place->field.cols;
    bool number = rows || (place->layout == GNN__EPSILON && array->ndim == 0),
         equal = array->ndim == ndim;
    char expected[128];
    for (int k = 0; equal && k < ndim; k++)
        equal = array->shape[k] == shape[k];
    if (equal || number)
        return GNN_OK;
    snprintf(expected, sizeof expected, "%s", gnn__shape_words(ndim, shape));
    return gnn__error(GNN_ESHAPE, "array %s is %s, the layer expects %s", array->name,
                      array->ndim ? gnn__shape_words(array->ndim, array->shape) : "a scalar",
                      expected);
}

/* "row, column" of element k. */
static const char *position(const gnn_array_t *array, int64_t k, char *words, size_t size)
{
    int64_t at[GNN__MAX_DIMENSIONS];
    size_t length = 0;
    for (int d = array->ndim - 1; d >= 0; d--) {
        at[d] = k % array->shape[d];
        k /= array->shape[d];
    }
    words[0] = '\0';
    for (int d = 0; d < array->ndim && length < size; d++)
        length += (size_t)snprintf(words + length, size - length, "%s%lld", d ? ", " : "",
                                   (long long)at[d]);
    return words;
}

static int check_numbers(const gnn_array_t *array)
{
    char words[200];
    if (gnn__element(array->dtype)->integer)
        return gnn__error(GNN_EFORMAT, "array %s holds %s, floating-point values are expected",
                          array->name, gnn__element(array->dtype)->name);
    for (int64_t k = 0; k < array->count; k++)
        if (!isfinite((gnn_real_t)gnn_array_get(array, k)))
            return gnn__error(GNN_ENUMERIC, "array %s: element (%s) is %g", array->name,
                              position(array, k, words, sizeof words), gnn_array_get(array, k));
    return GNN_OK;
}

static void use(const import_t *import, const gnn_array_t *array)
{
    import->used[array - gnn_arrays_at(import->arrays, 0)] = true;
}

/* An array without a field in the layer: of another layer, not a weight, or a value that the config
 * must match. */
static int check_absent(const import_t *import, const gnn__binding_t *b, const gnn__name_row_t *row,
                        const gnn_array_t *array)
{
    bool elsewhere = row->layout == GNN__ELSEWHERE && import->bindings->alone;
    if (row->layout == GNN__IGNORED || elsewhere)
        use(import, array);
    if (row->layout != GNN__EPSILON || !b->layer || array->count != 1)
        return GNN_OK;
    use(import, array);
    GNN_TRY(check_numbers(array));
    gnn_real_t eps = (gnn_real_t)gnn_array_get(array, 0);
    if (eps != b->layer->config->eps)
        return gnn__error(GNN_EINVALID,
                          "array %s is %.9g, the config's .eps is %.9g: set it, or .learn_eps",
                          array->name, (double)eps, (double)b->layer->config->eps);
    return GNN_OK;
}

static int add_job(import_t *import, const gnn__place_t *place, const gnn_array_t *array)
{
    GNN_TRY(gnn__room(&import->jobs, import->n_jobs, &import->capacity, sizeof *import->jobs,
                      "a list of arrays"));
    import->jobs[import->n_jobs++] = (job_t){*place, array};
    return GNN_OK;
}

/* Is the field of this entry read from the array of another entry? */
static int read_elsewhere(const import_t *import, const gnn__binding_t *b,
                          const gnn__name_row_t *row, bool *found)
{
    gnn__name_row_t other;
    *found = false;
    for (int64_t k = 0; !*found && gnn__names_row(b, k, &other); k++) {
        char *full = NULL;
        if (!other.field || strcmp(other.field, row->field) != 0 ||
            strcmp(other.array, row->array) == 0)
            continue;
        GNN_TRY(gnn__names_full(&full, b, other.array));
        *found = gnn_arrays_find(import->arrays, full) != NULL;
        gnn_free(full);
    }
    return GNN_OK;
}

/* Lists the first names in the file, which reveal a wrong prefix. */
static int not_there(const import_t *import, const char *full, const char *field)
{
    enum { SHOWN = 4 };
    char names[256] = "";
    const int64_t count = import->arrays->count;
    for (int64_t k = 0; k < count && k < SHOWN; k++)
        gnn__append_name(names, sizeof names, ", ", gnn_arrays_at(import->arrays, k)->name);
    return gnn__error(GNN_ENOTFOUND, "no array %s for field %s; of %lld arrays the first are: %s",
                      full, field, (long long)count, count ? names : "none");
}

static int check_row(import_t *import, const gnn__binding_t *b, const gnn__name_row_t *row,
                     const char *full, const gnn_array_t *array)
{
    gnn__place_t place;
    if (!gnn__names_place(b, row, 0, &place))
        return array ? check_absent(import, b, row, array) : GNN_OK;
    if (!array && (row->layout == GNN__OPTIONAL_VECTOR || gnn__names_shared(b, row->field)))
        return GNN_OK;
    bool elsewhere = false;
    if (!array)
        GNN_TRY(read_elsewhere(import, b, row, &elsewhere));
    if (elsewhere)
        return GNN_OK;
    if (!array)
        return not_there(import, full, row->field);
    use(import, array);
    GNN_TRY(check_shape(array, &place));
    GNN_TRY(check_numbers(array));
    return add_job(import, &place, array);
}

/* A field without an array would keep its random initial values. */
static int check_fields(const gnn__binding_t *b)
{
    const char *field;
    gnn__name_row_t row;
    for (int64_t f = 0; (field = gnn__names_own_field(b, f)) != NULL; f++) {
        bool named = false;
        for (int64_t k = 0; !named && gnn__names_row(b, k, &row); k++)
            named = row.field && strcmp(row.field, field) == 0;
        if (!named)
            return gnn__error(GNN_EUNSUPPORTED, "field %s%s has no name in this convention",
                              b->prefix, field);
    }
    return GNN_OK;
}

static int check_binding(import_t *import, const gnn__binding_t *b)
{
    gnn__name_row_t row;
    GNN_TRY(check_fields(b));
    for (int64_t k = 0; gnn__names_row(b, k, &row); k++) {
        char *full = NULL;
        GNN_TRY(gnn__names_full(&full, b, row.array));
        int rc = check_row(import, b, &row, full, gnn_arrays_find(import->arrays, full));
        gnn_free(full);
        GNN_TRY(rc);
    }
    return GNN_OK;
}

static int check_extra(const import_t *import)
{
    const bindings_t *b = import->bindings;
    for (int64_t k = 0; k < import->arrays->count; k++) {
        const char *name = gnn_arrays_at(import->arrays, k)->name;
        if (!import->used[k] && strncmp(name, b->fixed, (size_t)b->fixed_length) == 0)
            return gnn__error(GNN_EFORMAT, "array %s belongs to no field", name);
    }
    return GNN_OK;
}

/* ---- copying ---- */

static void copy_in(const gnn__place_t *place, const gnn_array_t *array)
{
    for (int64_t r = 0; r < place->field.rows; r++)
        for (int64_t c = 0; c < place->field.cols; c++)
            gnn__row(&place->field, r)[c] =
                (gnn_real_t)gnn_array_get(array, gnn__names_index(place, r, c));
}

static int import_bindings(const bindings_t *b, const gnn_arrays_t *arrays)
{
    import_t import = {.bindings = b, .arrays = arrays};
    int rc;
    GNN_TRY(gnn__new(&import.used, arrays->count, sizeof *import.used, "a list of arrays"));
    for (int64_t k = 0; k < b->count; k++)
        GNN_CHECK(check_binding(&import, &b->list[k]));
    GNN_CHECK(check_extra(&import));
    for (int64_t k = 0; k < import.n_jobs; k++)
        copy_in(&import.jobs[k].place, import.jobs[k].array);
done:
    gnn_free(import.jobs);
    gnn_free(import.used);
    return rc;
}

static int import_into(const module_t *into, const gnn_arrays_t *arrays)
{
    bindings_t b = {0};
    int rc = bind(&b, into);
    if (rc == GNN_OK)
        rc = import_bindings(&b, arrays);
    free_bindings(&b);
    return rc;
}

int gnn_layer_import(gnn_layer_t *layer, gnn_names_t names, const char *prefix,
                     const gnn_arrays_t *arrays)
{
    GNN__NEED(layer);
    GNN__NEED(prefix);
    GNN__NEED(arrays);
    return import_into(&(module_t){.layer = layer, .names = names, .prefix = prefix}, arrays);
}

int gnn_model_import(gnn_model_t *model, gnn_names_t names, const char *prefix,
                     const gnn_arrays_t *arrays)
{
    GNN__NEED(model);
    GNN__NEED(prefix);
    GNN__NEED(arrays);
    return import_into(&(module_t){.model = model, .names = names, .prefix = prefix}, arrays);
}

/* ---- export ---- */

static int copy_out(const gnn__place_t *place, const char *name, gnn_real_t *out, int64_t count)
{
    int64_t shape[3], size = 1;
    int ndim = gnn__names_shape(place, shape);
    for (int k = 0; k < ndim; k++)
        size *= shape[k];
    if (size != count)
        return gnn__error(GNN_ESHAPE, "array %s is %s, the buffer holds %lld values", name,
                          gnn__shape_words(ndim, shape), (long long)count);
    for (int64_t r = 0; r < place->field.rows; r++)
        for (int64_t c = 0; c < place->field.cols; c++)
            out[gnn__names_index(place, r, c)] = gnn__row(&place->field, r)[c];
    return GNN_OK;
}

static int export_binding(const gnn__binding_t *b, const char *name, int gradients, gnn_real_t *out,
                          int64_t count, bool *found)
{
    gnn__name_row_t row;
    gnn__place_t place;
    for (int64_t k = 0; gnn__names_row(b, k, &row); k++) {
        char *full = NULL;
        GNN_TRY(gnn__names_full(&full, b, row.array));
        bool same = strcmp(full, name) == 0;
        gnn_free(full);
        if (!same || !gnn__names_place(b, &row, gradients, &place))
            continue;
        GNN_TRY(copy_out(&place, name, out, count));
        *found = true;
    }
    return GNN_OK;
}

static int export_from(const module_t *from, const char *name, int gradients, gnn_real_t *out,
                       int64_t count)
{
    bindings_t b = {0};
    bool found = false;
    int rc = bind(&b, from);
    for (int64_t k = 0; rc == GNN_OK && k < b.count; k++)
        rc = export_binding(&b.list[k], name, gradients, out, count, &found);
    if (rc == GNN_OK && !found)
        rc = gnn__error(GNN_ENOTFOUND, "no field is known as %s", name);
    free_bindings(&b);
    return rc;
}

int gnn_layer_export(const gnn_layer_t *layer, gnn_names_t names, const char *name, int gradients,
                     gnn_real_t *out, int64_t count)
{
    GNN__NEED(layer);
    GNN__NEED(name);
    GNN__NEED(out);
    return export_from(&(module_t){.layer = layer, .names = names}, name, gradients, out, count);
}

int gnn_model_export(const gnn_model_t *model, gnn_names_t names, const char *prefix,
                     const char *name, int gradients, gnn_real_t *out, int64_t count)
{
    GNN__NEED(model);
    GNN__NEED(prefix);
    GNN__NEED(name);
    GNN__NEED(out);
    return export_from(&(module_t){.model = model, .names = names, .prefix = prefix}, name,
                       gradients, out, count);
}
