/* The table of names: the module of another library that a layer corresponds to, and the places of
 * a field's values in that module's arrays. */
#include <lib/weights/names.h>

#define ANY (-1)

enum {
#define GNN_MODULE(id, names, condition) MODULE_##id,
#define GNN_NAME(module, array, field, layout)
#include <lib/weights/names.def>
#undef GNN_MODULE
#undef GNN_NAME
    MODULES
};

static const gnn__name_row_t rows[] = {
#define GNN_MODULE(id, names, condition)
#define GNN_NAME(module, array, field, layout) {MODULE_##module, array, field, GNN__##layout},
#include <lib/weights/names.def>
#undef GNN_MODULE
#undef GNN_NAME
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const char *const conventions[] = {[GNN_NAMES_OWN] = "libgnn",
                                          [GNN_NAMES_PYG] = "PyG",
                                          [GNN_NAMES_PYTORCH] = "PyTorch",
                                          [GNN_NAMES_GAT_REFERENCE] = "the GAT reference",
                                          [GNN_NAMES_PYTORCH_DECODER_CROSS] = "PyTorch",
                                          [GNN_NAMES_DGL] = "DGL"};

static int find_module(const gnn__binding_t *b)
{
    const gnn_layer_config_t *c = b->layer ? b->layer->config : NULL;
    int kind = b->step && !c ? (int)b->step->step.kind : -1;
    bool cross = b->names == GNN_NAMES_PYTORCH_DECODER_CROSS,
         receivers = cross || (b->step && b->step->step.receivers);
    int convention = (int)(cross ? GNN_NAMES_PYTORCH : b->names);
#define GNN_MODULE(id, names, condition)                                    \
    if (((int)(names) == ANY || (int)(names) == convention) && (condition)) \
        return MODULE_##id;
#define GNN_NAME(module, array, field, layout)
#include <lib/weights/names.def>
#undef GNN_MODULE
#undef GNN_NAME
    return -1;
}

int gnn__names_module(gnn__binding_t *b)
{
    if (b->names < GNN_NAMES_OWN || b->names > GNN_NAMES_DGL)
        return gnn__error(GNN_EINVALID, ".names = %d, expected a gnn_names_t", (int)b->names);
    b->module = b->names == GNN_NAMES_OWN ? -1 : find_module(b);
    if (b->names != GNN_NAMES_OWN && b->module < 0) {
        const gnn_layer_config_t *c = b->layer->config;
        const char *preset = gnn_preset_name(c->preset);
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s has no module for this layer (preset %s, message %s, aggregator %s)",
                          conventions[b->names], preset ? preset : "none", c->message->name,
                          c->aggregator->name);
    }
    return GNN_OK;
}

static bool own_row(const gnn__binding_t *b, int64_t k, gnn__name_row_t *row)
{
    const char *name = gnn__names_own_field(b, k);
    if (!name)
        return false;
    *row = (gnn__name_row_t){-1, name, name, GNN__MATRIX};
    return true;
}

bool gnn__names_row(const gnn__binding_t *b, int64_t k, gnn__name_row_t *row)
{
    if (b->module < 0)
        return own_row(b, k, row);
    for (int64_t r = 0; r < ROWS; r++)
        if (rows[r].module == b->module && k-- == 0) {
            *row = rows[r];
            return true;
        }
    return false;
}

static bool op_field(const gnn__binding_t *b, const char *field, int gradients, gnn_tensor_t *tensor)
{
    const gnn__model_step_t *s = b->step;
    const gnn__step_parameter_t *own = gnn__step_own(s, field);
    const bool variance = strcmp(field, "running.variance") == 0,
               running = variance || strcmp(field, "running.mean") == 0;
    if (running && s->running && !gradients) {
        *tensor = gnn_tensor(s->running + (variance ? s->step.in : 0), 1, s->step.in);
        return true;
    }
    if (!own)
        return false;
    *tensor = gradients ? gnn_parameters_gradient(b->parameters, own->id)
                        : gnn_parameters_value(b->parameters, own->id);
    return true;
}

bool gnn__names_field(const gnn__binding_t *b, const char *field, int gradients, gnn_tensor_t *tensor)
{
    if (!b->layer)
        return op_field(b, field, gradients, tensor);
    return gnn_layer_field(b->layer, field, gradients ? NULL : tensor, gradients ? tensor : NULL) ==
           GNN_OK;
}

const char *gnn__names_own_field(const gnn__binding_t *b, int64_t k)
{
    if (b->layer)
        return gnn_layer_field_name(b->layer, k);
    return k < b->step->n_own ? b->step->own[k].field : NULL;
}

bool gnn__names_shared(const gnn__binding_t *b, const char *field)
{
    const gnn__step_parameter_t *own = b->layer ? NULL : gnn__step_own(b->step, field);
    return own && own->shared;
}

/* A bias over averaged heads has no heads left. */
static int64_t heads_of(const gnn__binding_t *b, const char *field)
{
    const gnn_layer_config_t *c = b->layer ? b->layer->config : NULL;
    bool averaged = c && c->combine == GNN_HEADS_AVERAGE && strcmp(field, "out.bias") == 0;
    return !c || averaged ? 1 : c->heads;
}

bool gnn__names_place(const gnn__binding_t *b, const gnn__name_row_t *row, int gradients,
                      gnn__place_t *place)
{
    gnn__name_row_t other;
    gnn_tensor_t t;
    if (!row->field || !gnn__names_field(b, row->field, gradients, &place->field))
        return false;
    place->layout = row->layout;
    place->heads = heads_of(b, row->field);
    place->slice = b->slice;
    place->slices = b->slices;
    place->offset = place->total = 0;
    for (int64_t k = 0; gnn__names_row(b, k, &other); k++) {
        if (strcmp(other.array, row->array) != 0 || !other.field ||
            !gnn__names_field(b, other.field, gradients, &t))
            continue;
        if (strcmp(other.field, row->field) == 0)
            place->offset = place->total;
        place->total += t.cols;
    }
    return true;
}

int gnn__names_shape(const gnn__place_t *p, int64_t shape[3])
{
    int64_t rows_in = p->field.rows, cols = p->total, d = p->field.cols / p->heads;
    switch (p->layout) {
    case GNN__LINEAR: shape[0] = cols, shape[1] = rows_in; return 2;
    case GNN__MATRIX: shape[0] = rows_in, shape[1] = cols; return 2;
    case GNN__HEADS: shape[0] = p->heads, shape[1] = d; return 2;
    case GNN__ONE_HEADS: shape[0] = 1, shape[1] = p->heads, shape[2] = d; return 3;
    case GNN__HEAD_IN_OUT: shape[0] = p->heads, shape[1] = rows_in, shape[2] = d; return 3;
    case GNN__STACK: shape[0] = p->slices, shape[1] = rows_in, shape[2] = cols; return 3;
    case GNN__ROWS:
        shape[0] = rows_in > 1 ? rows_in : cols, shape[1] = cols;
        return rows_in > 1 ? 2 : 1;
    default: shape[0] = cols; return 1;
    }
}

int64_t gnn__names_index(const gnn__place_t *p, int64_t r, int64_t c)
{
    int64_t rows_in = p->field.rows, cols = p->field.cols, d = cols / p->heads;
    switch (p->layout) {
    case GNN__LINEAR: return (p->offset + c) * rows_in + r;
    case GNN__ROWS:
    case GNN__MATRIX: return r * p->total + p->offset + c;
    case GNN__HEAD_IN_OUT: return (c / d * rows_in + r) * d + c % d;
    case GNN__STACK: return (p->slice * rows_in + r) * cols + c;
    default: return p->offset + c;
    }
}

int gnn__names_full(char **full, const gnn__binding_t *b, const char *array)
{
    const char *mark = strchr(array, '#');
    const int length = (int)strlen(b->prefix),
              dot = !*array && length > 0 && b->prefix[length - 1] == '.';
    if (!mark)
        return gnn__asprintf(full, "%.*s%s", length - dot, b->prefix, array);
    return gnn__asprintf(full, "%s%.*s%lld%s", b->prefix, (int)(mark - array), array,
                         (long long)b->number, mark + 1);
}
