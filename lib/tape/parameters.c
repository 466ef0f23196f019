/* Parameters: named matrices in one block, so that optimisers and checkpoints are flat loops. Each
 * starts on a 64-byte boundary.
 *
 * A gradient that is to be 0 is not set to 0 at once: backward's first writer overwrites it, and a
 * call that asks for it earlier sets it to 0 then. */
#include <lib/tape/tape.h>

#include <math.h>

typedef struct {
    char *name;
    int64_t rows, cols, offset;
    gnn_init_t init;
    double argument;
    int64_t fan_in, fan_out;
    bool zero;            /* what stands in the gradient is of no account: it is 0 */
    gnn__halves_t halves; /* at NULL: the numbers are in the block */
    uint64_t hash;        /* of the name */
} parameter_t;

struct gnn_parameters {
    parameter_t *list;
    int32_t count, capacity;
    int64_t length; /* of the block, in numbers, padding included */
    gnn_real_t *values, *gradients;
    uint16_t *halves; /* numbers of 16 bits, where `values` would have them; NULL: none */
    bool constant;    /* the values do not change any more */
    gnn__prepacked_t *prepacked; /* NULL: nothing is kept beside them */
};

enum { ALIGN = 64 / sizeof(gnn_real_t) };

int gnn_parameters_new(gnn_parameters_t **parameters)
{
    GNN__NEED(parameters);
    return gnn__new(parameters, 1, sizeof **parameters, "parameters");
}

void gnn_parameters_free(gnn_parameters_t *parameters)
{
    if (!parameters)
        return;
    for (int32_t k = 0; k < parameters->count; k++)
        gnn_free(parameters->list[k].name);
    gnn_free(parameters->list);
    gnn_free(parameters->values);
    gnn_free(parameters->gradients);
    gnn_free(parameters->halves);
    gnn__prepacked_free(parameters->prepacked);
    gnn_free(parameters);
}

int gnn_parameters_add(gnn_parameters_t *parameters, const char *name, int64_t rows, int64_t cols,
                       gnn_init_t init, double init_argument, int64_t fan_in, int64_t fan_out,
                       int32_t *id)
{
    GNN__NEED(parameters);
    GNN__NEED(name);
    parameter_t p = {NULL,
                     rows,
                     cols,
                     parameters->length,
                     init,
                     init_argument,
                     fan_in > 0 ? fan_in : rows,
                     fan_out > 0 ? fan_out : cols,
                     false,
                     {0},
                     gnn__hash_string(name)};
    int64_t size;
    if (parameters->values)
        return gnn__error(GNN_EINVALID, "parameter %s: the block is allocated already", name);
    if (gnn_parameters_find(parameters, name) >= 0)
        return gnn__error(GNN_EINVALID, "two parameters of the name %s", name);
    if (!gnn__mul(rows, cols, &size) || !gnn__pad(size, ALIGN, &size) ||
        !gnn__add(parameters->length, size, &size))
        return gnn__error(GNN_EOVERFLOW, "parameter %s of %lld x %lld does not fit", name,
                          (long long)rows, (long long)cols);
    if (parameters->count == parameters->capacity) {
        int32_t capacity = parameters->capacity ? 2 * parameters->capacity : 16;
        GNN_TRY(gnn__grow(&parameters->list, parameters->capacity, capacity, sizeof p, "parameters"));
        parameters->capacity = capacity;
    }
    GNN_TRY(gnn__strdup(&p.name, name));
    parameters->length = size;
    *id = parameters->count;
    parameters->list[parameters->count++] = p;
    return GNN_OK;
}

/* One number of a parameter's initial values, from the seed and the parameter's name alone. */
static double draw(const parameter_t *p, uint64_t seed, uint64_t stream, int64_t k)
{
    double bound;
    switch (p->init) {
    case GNN_INIT_ONES: return 1;
    case GNN_INIT_CONSTANT: return p->argument;
    case GNN_INIT_GLOROT: /* Glorot & Bengio 2010 */
        bound = sqrt(6.0 / (double)(p->fan_in + p->fan_out));
        return bound * (2 * gnn__uniform(seed, stream, (uint64_t)k) - 1);
    case GNN_INIT_UNIFORM_FAN_IN:
        bound = 1.0 / sqrt((double)p->fan_in);
        return bound * (2 * gnn__uniform(seed, stream, (uint64_t)k) - 1);
    case GNN_INIT_NORMAL: return p->argument * gnn__normal(seed, stream, (uint64_t)k);
    default: return 0;
    }
}

int gnn_parameters_allocate(gnn_parameters_t *parameters, gnn_context_t *context)
{
    return gnn__parameters_make_room(parameters, context, true);
}

/* Does the parameter start with random numbers? */
static bool is_random(const parameter_t *p)
{
    return p->init != GNN_INIT_ZEROS && p->init != GNN_INIT_ONES && p->init != GNN_INIT_CONSTANT;
}

/* A block for all parameters, of which the gaps between them are 0: pages that no number is written
 * to are never touched. */
static int allocate(const gnn_parameters_t *parameters, const char *what, gnn_real_t **block)
{
    size_t bytes;
    GNN_TRY(gnn__bytes(parameters->length, sizeof(gnn_real_t), what, &bytes));
    *block = gnn__aligned(bytes);
    if (!*block)
        return gnn__error(GNN_EMEMORY, "%s: no memory for %zu bytes", what, bytes);
    for (int32_t id = 0; id < parameters->count; id++) {
        const parameter_t *p = &parameters->list[id];
        const int64_t end = p->offset + p->rows * p->cols,
                      next = id + 1 < parameters->count ? p[1].offset : parameters->length;
        memset(*block + end, 0, sizeof(gnn_real_t) * (size_t)(next - end));
    }
    return GNN_OK;
}

int gnn__parameters_make_room(gnn_parameters_t *parameters, gnn_context_t *context, bool draws)
{
    gnn_real_t *values = NULL;
    GNN_TRY(allocate(parameters, "parameters", &values));
    int rc = allocate(parameters, "gradients", &parameters->gradients);
    if (rc != GNN_OK) {
        gnn_free(values);
        return rc;
    }
    gnn_parameters_zero_gradients(parameters);
    parameters->values = values;
    for (int32_t id = 0; id < parameters->count; id++) {
        const parameter_t *p = &parameters->list[id];
        uint64_t stream = gnn__hash_string(p->name);
        if (!draws && is_random(p))
            continue;
        for (int64_t k = 0; k < p->rows * p->cols; k++)
            values[p->offset + k] = (gnn_real_t)draw(p, gnn_context_seed(context), stream, k);
    }
    return GNN_OK;
}

void gnn__parameters_clear(gnn_parameters_t *parameters, int32_t id)
{
    const parameter_t *p = &parameters->list[id];
    if (is_random(p))
        memset(parameters->values + p->offset, 0,
               sizeof *parameters->values * (size_t)(p->rows * p->cols));
}

/* ---- 16 bits ---- */

/* One block for all, of which only what is kept is touched: blocks of their own would end in small
 * pages, and a word reads all of them. */
static int make_room_for_halves(gnn_parameters_t *parameters)
{
    size_t bytes;
    if (parameters->halves)
        return GNN_OK;
    GNN_TRY(gnn__bytes(parameters->length, sizeof *parameters->halves, "weights of 16 bits", &bytes));
    parameters->halves = gnn__aligned(bytes);
    return parameters->halves
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "weights of 16 bits: no memory for %zu bytes", bytes);
}

int gnn__parameters_keep(gnn_parameters_t *parameters, int32_t id, bool bf16, bool turned,
                         uint16_t **numbers)
{
    parameter_t *p = &parameters->list[id];
    GNN_TRY(make_room_for_halves(parameters));
    *numbers = parameters->halves + p->offset;
    memset(*numbers, 0, sizeof **numbers * (size_t)(p->rows * p->cols));
    p->halves = (gnn__halves_t){*numbers, turned ? p->cols : p->rows, turned ? p->rows : p->cols,
                                bf16, turned};
    return GNN_OK;
}

void gnn__parameters_widen(gnn_parameters_t *parameters, const gnn_context_t *context, int32_t id)
{
    parameter_t *p = &parameters->list[id];
    gnn__halves_widen(context, &p->halves, 0, parameters->values + p->offset, p->cols);
    p->halves.at = NULL;
}

static const parameter_t *at(const gnn_parameters_t *parameters, int32_t id)
{
    static const parameter_t none; /* for numbers that no parameter has: 0 x 0, without a name */
    return id >= 0 && id < parameters->count ? &parameters->list[id] : &none;
}

const gnn__halves_t *gnn__parameters_halves(const gnn_parameters_t *parameters, int32_t id)
{
    const parameter_t *p = at(parameters, id);
    return p->halves.at ? &p->halves : NULL;
}

int gnn__parameters_keep_packed(gnn_parameters_t *parameters)
{
    parameters->constant = true;
    return parameters->prepacked || !parameters->values
               ? GNN_OK
               : gnn__prepacked_new(&parameters->prepacked, parameters->values, parameters->length);
}

gnn__prepacked_t *gnn__parameters_prepacked(const gnn_parameters_t *parameters)
{
    return parameters->prepacked;
}

int gnn__parameters_check_free(const gnn_parameters_t *parameters, const char *what)
{
    if (parameters->constant)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: the parameters are to stay as they are (.keep_packed); open the "
                          "model without that",
                          what);
    return GNN_OK;
}

int gnn__parameters_check_whole(const gnn_parameters_t *parameters, const char *what)
{
    for (int32_t id = 0; id < parameters->count; id++)
        if (parameters->list[id].halves.at)
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: the parameter %s is kept in 16 bits; open the model without that",
                              what, parameters->list[id].name);
    return GNN_OK;
}

int32_t gnn_parameters_count(const gnn_parameters_t *parameters)
{
    return parameters->count;
}

const char *gnn_parameters_name(const gnn_parameters_t *parameters, int32_t id)
{
    return at(parameters, id)->name;
}

int32_t gnn_parameters_find(const gnn_parameters_t *parameters, const char *name)
{
    const uint64_t hash = gnn__hash_string(name); /* each name meets all before it */
    for (int32_t id = 0; id < parameters->count; id++)
        if (parameters->list[id].hash == hash && strcmp(parameters->list[id].name, name) == 0)
            return id;
    return -1;
}

static gnn_tensor_t tensor(const gnn_parameters_t *parameters, int32_t id, gnn_real_t *block)
{
    const parameter_t *p = at(parameters, id);
    return gnn_tensor(block && p->name ? block + p->offset : NULL, p->rows, p->cols);
}

gnn_tensor_t gnn_parameters_value(const gnn_parameters_t *parameters, int32_t id)
{
    return tensor(parameters, id, at(parameters, id)->halves.at ? NULL : parameters->values);
}

gnn_tensor_t gnn__gradient_memory(const gnn_parameters_t *parameters, int32_t id)
{
    return tensor(parameters, id, parameters->gradients);
}

bool gnn__gradient_is_new(const gnn_parameters_t *parameters, int32_t id)
{
    if (!at(parameters, id)->zero)
        return false; /* nothing is written: many threads may read parameters */
    parameters->list[id].zero = false;
    return true;
}

void gnn__gradient_settle(const gnn_parameters_t *parameters, int32_t id)
{
    const parameter_t *p = at(parameters, id);
    if (gnn__gradient_is_new(parameters, id))
        memset(parameters->gradients + p->offset, 0,
               sizeof(gnn_real_t) * (size_t)(p->rows * p->cols));
}

void gnn__gradients_settle(const gnn_parameters_t *parameters)
{
    for (int32_t id = 0; id < parameters->count; id++)
        gnn__gradient_settle(parameters, id);
}

gnn_tensor_t gnn_parameters_gradient(const gnn_parameters_t *parameters, int32_t id)
{
    gnn__gradient_settle(parameters, id);
    return gnn__gradient_memory(parameters, id);
}

gnn_real_t *gnn_parameters_block(const gnn_parameters_t *parameters, int gradients, int64_t *length)
{
    if (length)
        *length = parameters->length;
    if (gradients)
        gnn__gradients_settle(parameters);
    return gradients ? parameters->gradients : parameters->values;
}

int64_t gnn_parameters_offset(const gnn_parameters_t *parameters, int32_t id)
{
    return at(parameters, id)->offset;
}

void gnn_parameters_zero_gradients(gnn_parameters_t *parameters)
{
    for (int32_t id = 0; parameters->gradients && id < parameters->count; id++)
        parameters->list[id].zero = true;
}
