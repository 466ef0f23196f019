/* Checkpoints: the complete state of a training run, to resume with the same bits, as one
 * safetensors file. A temporary file and a rename make it complete or absent; a checksum detects
 * corruption. */
#include <lib/train/checkpoint.h>

/* The scalars of the state, in the order of the file. */
/* clang-format off */
#define INTEGERS(X) X(epoch) X(batch) X(step) X(stale) X(kept.epochs) X(kept.best_epoch)
#define NUMBERS(X)                                                                        \
    X(loss_sum) X(loss_rows) X(seconds) X(best_loss) X(best_metric) X(tie_loss)           \
    X(kept.train_loss) X(kept.validation_loss) X(kept.validation_metric) X(kept.seconds)
/* clang-format on */

/* The optimiser's steps, the seed's bits and any_best precede INTEGERS. */
enum { FIRST_INTEGER = 3, MOST_ARRAYS = 7, MOST_NUMBERS = 16 };
#define REAL (GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32)

/* The arrays of one checkpoint: names, sizes, and addresses in the running program. */
typedef struct {
    const gnn_model_t *model;
    gnn_optimizer_t *optimizer;
    gnn_real_t *weights, *buffers, *first, *second; /* buffers: a copy without strides */
    int64_t length, n_buffers;
    int64_t integers[MOST_NUMBERS];
    double numbers[MOST_NUMBERS];
    gnn_array_t arrays[MOST_ARRAYS];
    int64_t count;
} body_t;

static void list(body_t *b, const char *name, gnn_dtype_t dtype, int64_t count, const void *data)
{
    if (data && count > 0)
        b->arrays[b->count++] = (gnn_array_t){
            .name = name, .dtype = dtype, .ndim = 1, .shape = {count}, .count = count, .data = data};
}

static void copy_buffers(const body_t *b, bool out)
{
    gnn_real_t *at = b->buffers;
    for (int64_t k = 0; k < gnn_model_buffer_count(b->model); k++) {
        gnn_tensor_t t = {0};
        if (gnn_model_buffer(b->model, gnn_model_buffer_name(b->model, k), &t) != GNN_OK)
            continue;
        for (int64_t r = 0; r < t.rows; r++, at += t.cols)
            memcpy(out ? at : gnn__row(&t, r), out ? gnn__row(&t, r) : at,
                   sizeof *at * (size_t)t.cols);
    }
}

static int open_body(body_t *b, const gnn_model_t *model, const gnn_optimizer_t *optimizer,
                     const gnn_checkpoint_t *state)
{
    int n_integers = FIRST_INTEGER, n_numbers = 0;
    *b = (body_t){.model = model, .optimizer = (gnn_optimizer_t *)optimizer};
    b->weights = gnn_parameters_block(gnn_model_parameters(model), 0, &b->length);
    gnn__optimizer_moments(b->optimizer, &b->first, &b->second);
    for (int64_t k = 0; k < gnn_model_buffer_count(model); k++) {
        gnn_tensor_t t;
        GNN_TRY(gnn_model_buffer(model, gnn_model_buffer_name(model, k), &t));
        b->n_buffers += t.rows * t.cols;
    }
    GNN_TRY(gnn__new(&b->buffers, b->n_buffers, sizeof *b->buffers, "a copy of the buffers"));
    copy_buffers(b, true);
    b->integers[0] = gnn_optimizer_steps(optimizer);
    memcpy(&b->integers[1], &state->seed, sizeof state->seed);
    b->integers[2] = state->any_best != 0;
#define PUT(field) b->integers[n_integers++] = state->field;
    INTEGERS(PUT)
#undef PUT
#define PUT(field) b->numbers[n_numbers++] = state->field;
    NUMBERS(PUT)
#undef PUT
    list(b, "weights", REAL, b->length, b->weights);
    list(b, "buffers", REAL, b->n_buffers, b->buffers);
    list(b, "moments.first", REAL, b->length, b->first);
    list(b, "moments.second", REAL, b->length, b->second);
    list(b, "best", REAL, state->n_best, state->best);
    list(b, "integers", GNN_DTYPE_INT64, n_integers, b->integers);
    list(b, "numbers", GNN_DTYPE_FLOAT64, n_numbers, b->numbers);
    return GNN_OK;
}

static int check_arguments(const gnn_model_t *model, const gnn_optimizer_t *optimizer,
                           const gnn_checkpoint_t *state)
{
    if (gnn__optimizer_parameters(optimizer) != gnn_model_parameters(model))
        return gnn__error(GNN_EINVALID, "checkpoint: the optimizer is of another model");
    if ((state->best == NULL) != (state->n_best == 0) || state->n_best < 0)
        return gnn__error(
            GNN_EINVALID,
            "checkpoint: .n_best is %lld and .best is %sNULL, expected 0 and NULL, or weights and their count",
            (long long)state->n_best, state->best ? "not " : "");
    return GNN_OK;
}

static int check_finite(const gnn_array_t *array)
{
    bool weights = strcmp(array->name, "weights") == 0 || strcmp(array->name, "buffers") == 0 ||
                   strcmp(array->name, "best") == 0;
    for (int64_t k = 0; weights && k < array->count; k++)
        if (!isfinite(((const gnn_real_t *)array->data)[k]))
            return gnn__error(GNN_ENUMERIC, "element %lld of \"%s\" is %g", (long long)k,
                              array->name, (double)((const gnn_real_t *)array->data)[k]);
    return GNN_OK;
}

/* ---- saving ---- */

static int write_file(const char *path, const body_t *b, const gnn__identity_t *identity,
                      const char *settings, const char *note)
{
    char checksum[20] = "";
    const char *pairs[][2] = {{"gnn.checkpoint", "1"},
                              {"gnn.version", GNN_VERSION},
                              {"gnn.parameters", identity->parameters},
                              {"gnn.optimizer", identity->optimizer},
                              {GNN__CHECKSUM_KEY, checksum},
                              {NULL, NULL},
                              {NULL, NULL},
                              {NULL, NULL}};
    int64_t n = 5;
    if (identity->steps) {
        pairs[n][0] = "gnn.model";
        pairs[n++][1] = identity->steps;
    }
    if (settings) {
        pairs[n][0] = "gnn.settings";
        pairs[n++][1] = settings;
    }
    if (note) {
        pairs[n][0] = GNN__NOTE_KEY;
        pairs[n++][1] = note;
    }
    const char *const(*metadata)[2] = (const char *const(*)[2])pairs;
    snprintf(checksum, sizeof checksum, "%016llx",
             (unsigned long long)gnn__checksum(b->count, b->arrays, n, metadata));
    return gnn_safetensors_write(path, b->count, b->arrays, n, metadata);
}

int gnn_checkpoint_save(const char *path, const gnn_model_t *model,
                        const gnn_optimizer_t *optimizer, const gnn_checkpoint_t *state)
{
    GNN__NEED(path);
    GNN__NEED(model);
    GNN__NEED(optimizer);
    GNN__NEED(state);
    body_t body = {0};
    gnn__identity_t identity = {0};
    int rc;
    GNN_TRY(check_arguments(model, optimizer, state));
    GNN_CHECK(open_body(&body, model, optimizer, state));
    for (int64_t k = 0; k < body.count; k++)
        GNN_CHECK(check_finite(&body.arrays[k]));
    GNN_CHECK(gnn__identity_open(&identity, model, optimizer));
    rc = write_file(path, &body, &identity, state->settings, gnn_model_note(model));
done:
    gnn__identity_close(&identity);
    gnn_free(body.buffers);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "checkpoint");
}

/* ---- loading ---- */

/* Checks one array of the file against the one that it replaces. */
static int check_array(const gnn_array_t *array, const gnn_array_t *like)
{
    if (!array)
        return gnn__error(GNN_EFORMAT, "no array \"%s\"", like->name);
    bool floats = array->dtype == GNN_DTYPE_FLOAT32 || array->dtype == GNN_DTYPE_FLOAT64;
    if (array->dtype != like->dtype)
        return gnn__error(floats && like->dtype == REAL ? GNN_EUNSUPPORTED : GNN_EFORMAT,
                          "array \"%s\" holds %s, this library computes in %s", like->name,
                          gnn__element(array->dtype)->name, gnn__element(like->dtype)->name);
    if (array->ndim != 1 || array->count != like->count)
        return gnn__error(GNN_ESHAPE, "array \"%s\" is %s, %lld values are expected", like->name,
                          gnn__shape_words(array->ndim, array->shape), (long long)like->count);
    return check_finite(array);
}

static int check_integers(const gnn_array_t *array)
{
    const int64_t *values = array->data;
    for (int64_t k = 0; k < array->count; k++)
        if (k != 1 && (values[k] < 0 || values[k] > INT64_MAX / 4)) /* 1: the seed, any value */
            return gnn__error(GNN_EFORMAT, "element %lld of \"integers\" is %lld", (long long)k,
                              (long long)values[k]);
    if (values[FIRST_INTEGER] < 1)
        return gnn__error(GNN_EFORMAT, "epoch %lld, they count from 1",
                          (long long)values[FIRST_INTEGER]);
    return GNN_OK;
}

static int check_all(const gnn_arrays_t *file, const body_t *b, const gnn_checkpoint_t *state,
                     const gnn__identity_t *identity)
{
    const char *version = gnn_arrays_metadata(file, "gnn.checkpoint");
    if (!version)
        return gnn__error(GNN_EFORMAT, "this is not a checkpoint");
    if (strcmp(version, "1") != 0)
        return gnn__error(GNN_EUNSUPPORTED, "checkpoint version %.20s, this library reads 1",
                          version);
    GNN_TRY(gnn__checksum_check(file));
    GNN_TRY(gnn__identity_check(identity, b->model, state->settings, file));
    for (int64_t k = 0; k < b->count; k++)
        GNN_TRY(check_array(gnn_arrays_find(file, b->arrays[k].name), &b->arrays[k]));
    bool spare = !state->best && gnn_arrays_find(file, "best");
    if (file->count != b->count + spare)
        return gnn__error(GNN_EFORMAT, "%lld arrays, %lld are expected", (long long)file->count,
                          (long long)(b->count + spare));
    return check_integers(gnn_arrays_find(file, "integers"));
}

/* Nothing fails from here on. */
static void take(const gnn_arrays_t *file, body_t *b, gnn_checkpoint_t *state)
{
    int n_integers = FIRST_INTEGER, n_numbers = 0;
    for (int64_t k = 0; k < b->count; k++)
        memcpy((void *)b->arrays[k].data, gnn_arrays_find(file, b->arrays[k].name)->data,
               gnn__element(b->arrays[k].dtype)->size * (size_t)b->arrays[k].count);
    copy_buffers(b, false);
    gnn__optimizer_set_steps(b->optimizer, b->integers[0]);
    memcpy(&state->seed, &b->integers[1], sizeof state->seed);
    state->any_best = b->integers[2] != 0;
#define GET(field) state->field = b->integers[n_integers++];
    INTEGERS(GET)
#undef GET
#define GET(field) state->field = b->numbers[n_numbers++];
    NUMBERS(GET)
#undef GET
}

int gnn_checkpoint_load(const char *path, gnn_model_t *model, gnn_optimizer_t *optimizer,
                        gnn_checkpoint_t *state)
{
    GNN__NEED(path);
    GNN__NEED(model);
    GNN__NEED(optimizer);
    GNN__NEED(state);
    const gnn_limits_t limits = {.max_bytes = INT64_MAX}; /* the file's size bounds it */
    gnn_arrays_t *file = NULL;
    body_t body = {0};
    gnn__identity_t identity = {0};
    int rc;
    GNN_TRY(check_arguments(model, optimizer, state));
    GNN_TRY(gnn_safetensors_read(&file, path, &limits));
    GNN_CHECK(open_body(&body, model, optimizer, state));
    GNN_CHECK(gnn__identity_open(&identity, model, optimizer));
    GNN_CHECK(check_all(file, &body, state, &identity));
    take(file, &body, state);
done:
    gnn__identity_close(&identity);
    gnn_free(body.buffers);
    gnn_arrays_free(file);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
