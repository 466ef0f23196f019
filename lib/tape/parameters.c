/* Parameters: named matrices in one block, so that optimisers and checkpoints are flat loops. Each
 * starts on a 64-byte boundary.
 *
 * Zeroing a gradient only marks it: the first write of backward overwrites it, and a call that
 * reads it earlier zeroes its memory then. */
#include <lib/base/name_index.h>
#include <lib/tape/tape.h>

#include <math.h>
typedef struct {
    char *name;
    int64_t rows, cols;
    int64_t offset; /* elements from the block's start */
    gnn_init_t init;
    double argument;         /* of `init`: a constant, or a standard deviation */
    int64_t fan_in, fan_out; /* of `init` */
    bool zero;               /* the gradient counts as 0, whatever its memory holds */
    bool frozen;             /* training records no gradient */
    gnn__fp16_t halves;      /* fp16 or bf16 elements; .at NULL: in full precision in the block */
} parameter_t;

struct gnn_parameters {
    parameter_t *list;
    int32_t count, capacity;
    gnn__name_index_t ids;
    int64_t length; /* of the block, in elements, padding included */
    gnn_real_t *values, *gradients;
    uint16_t *halves;            /* fp16 and bf16 elements at the offsets of `values`; NULL: none */
    bool constant;               /* the values do not change any more */
    gnn__prepacked_t *prepacked; /* packed copies of `values`; NULL: none */
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
    gnn__name_index_free(&parameters->ids);
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
                     false,
                     {0}};
    int64_t size;
    if (parameters->values)
        return gnn__error(GNN_EINVALID, "parameter %s: added after gnn_parameters_allocate", name);
    if (gnn_parameters_find(parameters, name) >= 0)
        return gnn__error(GNN_EINVALID, "parameter %s: the name is already in use", name);
    if (!gnn__mul(rows, cols, &size) || !gnn__pad(size, ALIGN, &size) ||
        !gnn__add(parameters->length, size, &size))
        return gnn__error(GNN_EOVERFLOW, "parameter %s: the size of %lld x %lld overflows", name,
                          (long long)rows, (long long)cols);
    if (parameters->count == parameters->capacity) {
        const int32_t capacity = parameters->capacity ? 2 * parameters->capacity : 16;
        GNN_TRY(gnn__grow(&parameters->list, parameters->capacity, capacity, sizeof p, "parameters"));
        parameters->capacity = capacity;
    }
    GNN_TRY(gnn__strdup(&p.name, name));
    const int rc = gnn__name_index_add(&parameters->ids, p.name, parameters->count);
    if (rc != GNN_OK) {
        gnn_free(p.name);
        return rc;
    }
    parameters->length = size;
    *id = parameters->count;
    parameters->list[parameters->count++] = p;
    return GNN_OK;
}

/* Element k of a parameter's initial values; depends on the seed and the parameter's name only. */
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
    GNN__NEED(parameters);
    GNN__NEED(context);
    return gnn__parameters_make_room(parameters, context, true);
}

/* True for random initial values. */
static bool is_random(const parameter_t *p)
{
    return p->init != GNN_INIT_ZEROS && p->init != GNN_INIT_ONES && p->init != GNN_INIT_CONSTANT;
}

/* Allocates a block and zeroes the padding only, so that pages without a written element are never
 * touched. */
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

/* ---- fp16 and bf16 ---- */

/* One block for all, of which only the parameters that are stored so are touched: separate blocks
 * would end in small pages, and decoding reads all of them per token. */
static int allocate_fp16(gnn_parameters_t *parameters)
{
    size_t bytes;
    if (parameters->halves)
        return GNN_OK;
    GNN_TRY(gnn__bytes(parameters->length, sizeof *parameters->halves, "fp16 weights", &bytes));
    parameters->halves = gnn__aligned(bytes);
    if (!parameters->halves)
        return gnn__error(GNN_EMEMORY, "fp16 weights: no memory for %zu bytes", bytes);
    return GNN_OK;
}

int gnn__parameters_keep(gnn_parameters_t *parameters, int32_t id, bool bf16, bool transposed,
                         uint16_t **elements)
{
    parameter_t *p = &parameters->list[id];
    GNN_TRY(allocate_fp16(parameters));
    *elements = parameters->halves + p->offset;
    memset(*elements, 0, sizeof **elements * (size_t)(p->rows * p->cols));
    p->halves = (gnn__fp16_t){*elements, transposed ? p->cols : p->rows,
                              transposed ? p->rows : p->cols, bf16, transposed};
    /* optimisers read whole blocks */
    const size_t bytes = sizeof(gnn_real_t) * (size_t)(p->rows * p->cols);
    gnn__huge_pages(parameters->values + p->offset, bytes, false);
    gnn__huge_pages(parameters->gradients + p->offset, bytes, false);
    gnn__zero_pages(parameters->values + p->offset, bytes);
    gnn__zero_pages(parameters->gradients + p->offset, bytes);
    p->zero = false;
    return GNN_OK;
}

void gnn__parameters_widen(gnn_parameters_t *parameters, const gnn_context_t *context, int32_t id)
{
    parameter_t *p = &parameters->list[id];
    const size_t bytes = sizeof(gnn_real_t) * (size_t)(p->rows * p->cols);
    gnn__huge_pages(parameters->values + p->offset, bytes, true);
    gnn__huge_pages(parameters->gradients + p->offset, bytes, true);
    gnn__fp16_widen(context, &p->halves, 0, parameters->values + p->offset, p->cols);
    p->halves.at = NULL;
    gnn__zero_pages(parameters->halves + p->offset,
                    sizeof *parameters->halves * (size_t)(p->rows * p->cols));
}

void gnn__parameters_freeze(gnn_parameters_t *parameters, int32_t id, bool frozen)
{
    parameters->list[id].frozen = frozen;
}

static const parameter_t *at(const gnn_parameters_t *parameters, int32_t id)
{
    static const parameter_t none; /* returned for ids without a parameter */
    return id >= 0 && id < parameters->count ? &parameters->list[id] : &none;
}

const gnn__fp16_t *gnn__parameters_halves(const gnn_parameters_t *parameters, int32_t id)
{
    const parameter_t *p = at(parameters, id);
    return p->halves.at ? &p->halves : NULL;
}

bool gnn__parameters_learns(const gnn_parameters_t *parameters, int32_t id)
{
    const parameter_t *p = at(parameters, id);
    return !p->frozen && !p->halves.at;
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
                          "%s: the parameters are constant (.keep_packed); open the model without it",
                          what);
    return GNN_OK;
}

int gnn__parameters_check_whole(const gnn_parameters_t *parameters, const char *what)
{
    for (int32_t id = 0; id < parameters->count; id++)
        if (parameters->list[id].halves.at)
            return gnn__error(
                GNN_EUNSUPPORTED,
                "%s: the parameter %s is stored as fp16 or bf16; open the model in full precision",
                what, parameters->list[id].name);
    return GNN_OK;
}

int32_t gnn_parameters_count(const gnn_parameters_t *parameters)
{
    GNN__NEED_OR(parameters, 0);
    return parameters->count;
}

const char *gnn_parameters_name(const gnn_parameters_t *parameters, int32_t id)
{
    GNN__NEED_OR(parameters, NULL);
    return at(parameters, id)->name;
}

int32_t gnn_parameters_find(const gnn_parameters_t *parameters, const char *name)
{
    GNN__NEED_OR(parameters, -1);
    GNN__NEED_OR(name, -1);
    return (int32_t)gnn__name_index_find(&parameters->ids, name);
}

static gnn_tensor_t tensor(const gnn_parameters_t *parameters, int32_t id, gnn_real_t *block)
{
    const parameter_t *p = at(parameters, id);
    return gnn_tensor(block && p->name ? block + p->offset : NULL, p->rows, p->cols);
}

gnn_tensor_t gnn_parameters_value(const gnn_parameters_t *parameters, int32_t id)
{
    GNN__NEED_OR(parameters, (gnn_tensor_t){0});
    return tensor(parameters, id, at(parameters, id)->halves.at ? NULL : parameters->values);
}

gnn_tensor_t gnn__gradient_memory(const gnn_parameters_t *parameters, int32_t id)
{
    return tensor(parameters, id, parameters->gradients);
}

bool gnn__gradient_is_new(const gnn_parameters_t *parameters, int32_t id)
{
    if (!at(parameters, id)->zero)
        return false; /* nothing is written: threads may read parameters concurrently */
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
    GNN__NEED_OR(parameters, (gnn_tensor_t){0});
    gnn__gradient_settle(parameters, id);
    return gnn__gradient_memory(parameters, id);
}

gnn_real_t *gnn_parameters_block(const gnn_parameters_t *parameters, int gradients, int64_t *length)
{
    GNN__NEED_OR(parameters, NULL);
    if (length)
        *length = parameters->length;
    if (gradients)
        gnn__gradients_settle(parameters);
    return gradients ? parameters->gradients : parameters->values;
}

int64_t gnn__parameters_offset(const gnn_parameters_t *parameters, int32_t id)
{
    return at(parameters, id)->offset;
}

void gnn_parameters_zero_gradients(gnn_parameters_t *parameters)
{
    GNN__NEED_OR(parameters, );
    for (int32_t id = 0; parameters->gradients && id < parameters->count; id++)
        parameters->list[id].zero = !parameters->list[id].halves.at;
}
