/* A tape and its values: inputs and parameters; errors are sticky. Ops and views are in
 * tape_nodes.c. */
#include <lib/base/ranks.h>
#include <lib/tape/tape.h>

#include <stdlib.h>

int gnn_tape_new(gnn_tape_t **tape, gnn_context_t *context)
{
    GNN__NEED(tape);
    GNN__NEED(context);
    gnn_tape_t *made;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a tape"));
    made->context = context;
    made->arena.allocator = &context->allocator;
    made->where = "";
    *tape = made;
    return GNN_OK;
}

void gnn_tape_free(gnn_tape_t *tape)
{
    if (!tape)
        return;
    for (int32_t k = 0; k < tape->nodes_capacity; k++)
        gnn_free(tape->nodes[k]);
    gnn_free(tape->nodes);
    gnn_free(tape->values);
    gnn_free(tape->buffers);
    gnn_free(tape->placed);
    gnn__arena_free(&tape->arena);
    gnn_free(tape);
}

void gnn_tape_reset(gnn_tape_t *tape, int recording, int training)
{
    GNN__NEED_OR(tape, );
    tape->recording = recording != 0;
    tape->frozen = tape->recomputes = false;
    tape->segments = 0;
    tape->prepacked = NULL;
    tape->training = training != 0;
    tape->planned = tape->ran = false;
    tape->status = GNN_OK;
    tape->n_values = tape->n_nodes = 0;
    tape->model_step = tape->op_number = 0;
    tape->where = "";
}

void gnn_tape_set_step(gnn_tape_t *tape, uint32_t step)
{
    GNN__NEED_OR(tape, );
    tape->step = step;
}

void gnn__tape_set_place(gnn_tape_t *tape, uint32_t model_step, const char *where)
{
    tape->model_step = model_step;
    tape->op_number = 0;
    tape->where = where ? where : "";
}

void gnn_tape_recompute(gnn_tape_t *tape, int on)
{
    GNN__NEED_OR(tape, );
    if (on && tape->recording && gnn__ranks_split(tape->context))
        gnn_tape_fail(tape, gnn__error(GNN_EUNSUPPORTED,
                                       "gnn_tape_recompute: values are not recomputed over ranks"));
    tape->recomputes = on && tape->recording;
    tape->segments += tape->recomputes;
}

/* Keeps the first error, with its message. */
int gnn_tape_fail(gnn_tape_t *tape, int code)
{
    GNN__NEED(tape);
    if (tape->status == GNN_OK && code != GNN_OK) {
        tape->status = code;
        snprintf(tape->message, sizeof tape->message, "%s", gnn_error_message());
    }
    return tape->status;
}

int gnn_tape_status(const gnn_tape_t *tape)
{
    GNN__NEED(tape);
    if (tape->status != GNN_OK)
        gnn__set_message("%s", tape->message);
    return tape->status;
}

static int grow_values(gnn_tape_t *tape)
{
    if (tape->n_values < tape->values_capacity)
        return GNN_OK;
    int32_t capacity = tape->values_capacity ? 2 * tape->values_capacity : 64;
    GNN_TRY(gnn__grow(&tape->values, tape->values_capacity, capacity, sizeof *tape->values,
                      "a tape's values"));
    tape->values_capacity = capacity;
    return GNN_OK;
}

gnn__value_t *gnn__tape_append(gnn_tape_t *tape, gnn__value_kind_t kind, int64_t rows, int64_t cols)
{
    if (tape->status != GNN_OK || gnn_tape_fail(tape, grow_values(tape)) != GNN_OK)
        return NULL;
    gnn__value_t *v = &tape->values[tape->n_values];
    *v = (gnn__value_t){
        .kind = kind, .rows = rows, .cols = cols, .base = tape->n_values, .node = -1, .parameter = -1};
    tape->n_values++;
    tape->planned = false;
    return v;
}

gnn__value_t *gnn__tape_at(gnn_tape_t *tape, gnn_var_t x)
{
    if (tape->status != GNN_OK)
        return NULL;
    if (x < 0 || x >= tape->n_values) {
        gnn_tape_fail(
            tape, gnn__error(GNN_EINVALID, "%s%sexpected one of the tape's %d values, got %d",
                             tape->where, *tape->where ? ": " : "", (int)tape->n_values, (int)x));
        return NULL;
    }
    return &tape->values[x];
}

static gnn_var_t id_of(const gnn_tape_t *tape, const gnn__value_t *v)
{
    return v ? (gnn_var_t)(v - tape->values) : GNN_NONE;
}

static gnn__over_t over_of(const gnn_tape_t *tape, const void *input)
{
    const gnn__ranks_t *ranks = gnn__ranks_split(tape->context);
    return ranks && gnn__ranks_owns(ranks, input) ? GNN__OVER_OWN : GNN__OVER_NONE;
}

gnn_var_t gnn_tape_input(gnn_tape_t *tape, const gnn_tensor_t *x, int wants_grad)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, x);
    if (tape->status != GNN_OK || gnn_tape_fail(tape, gnn__tensor_check(x, "an input")) != GNN_OK)
        return GNN_NONE;
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_INPUT, x->rows, x->cols);
    if (!v)
        return GNN_NONE;
    v->external = *x;
    v->over = over_of(tape, x);
    if (!v->external.stride)
        v->external.stride = x->cols;
    v->wants_grad = v->leaf_grad = wants_grad && tape->recording;
    return id_of(tape, v);
}

gnn_var_t gnn_tape_sparse(gnn_tape_t *tape, const gnn_sparse_t *x)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, x);
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_SPARSE, x->rows, x->cols);
    if (v) {
        v->sparse = x;
        v->over = over_of(tape, x);
    }
    return id_of(tape, v);
}

gnn_var_t gnn_tape_ids(gnn_tape_t *tape, const int32_t *ids, int64_t count)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (count > 0)
        GNN__NEED_ON(tape, ids);
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_IDS, count, 1);
    if (v) {
        v->ids = ids;
        v->over = over_of(tape, ids);
    }
    return id_of(tape, v);
}

gnn_var_t gnn_tape_parameter(gnn_tape_t *tape, gnn_parameters_t *parameters, int32_t id)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, parameters);
    gnn_tensor_t value = gnn_parameters_value(parameters, id);
    if (!gnn_parameters_name(parameters, id))
        gnn_tape_fail(tape, gnn__error(GNN_EINVALID, "there is no parameter %d", id));
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_PARAMETER, value.rows, value.cols);
    if (!v)
        return GNN_NONE;
    v->parameters = parameters;
    v->parameter = id;
    v->halves = gnn__parameters_halves(parameters, id);
    if (gnn__parameters_prepacked(parameters))
        tape->prepacked = gnn__parameters_prepacked(parameters);
    v->wants_grad = tape->recording && !tape->frozen && gnn__parameters_learns(parameters, id);
    if (v->wants_grad)
        gnn_tape_fail(tape, gnn__parameters_check_free(parameters, "training"));
    return id_of(tape, v);
}

void gnn_tape_bind(gnn_tape_t *tape, gnn_var_t x, const gnn_tensor_t *memory)
{
    GNN__NEED_OR(tape, );
    GNN__NEED_OR(memory, );
    gnn__value_t *v = gnn__tape_at(tape, x);
    if (!v)
        return;
    if (v->kind != GNN__VALUE_OUTPUT || memory->rows != v->rows || memory->cols != v->cols ||
        !memory->data) {
        if (v->kind == GNN__VALUE_OUTPUT && memory->rows == v->rows && memory->cols == v->cols &&
            v->rows * v->cols == 0)
            return;
        gnn_tape_fail(tape,
                      gnn__error(GNN_ESHAPE,
                                 "memory of an output: expected %lld x %lld, got %lld x %lld%s",
                                 (long long)v->rows, (long long)v->cols, (long long)memory->rows,
                                 (long long)memory->cols, memory->data ? "" : " and NULL"));
        return;
    }
    v->external = *memory;
    if (!v->external.stride)
        v->external.stride = memory->cols;
    v->bound = v->kept = true;
    tape->planned = false;
}

void gnn_tape_keep(gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, );
    gnn__value_t *v = gnn__tape_at(tape, x);
    if (v)
        tape->values[v->base].kept = true;
    tape->planned = false;
}

int64_t gnn_tape_rows(const gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, 0);
    return x >= 0 && x < tape->n_values ? tape->values[x].rows : 0;
}

int64_t gnn_tape_cols(const gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, 0);
    return x >= 0 && x < tape->n_values ? tape->values[x].cols : 0;
}

int gnn__tape_is_sparse(const gnn_tape_t *tape, gnn_var_t x)
{
    return x >= 0 && x < tape->n_values && tape->values[x].sparse != NULL;
}

int gnn__tape_is_constant(const gnn_tape_t *tape, gnn_var_t x)
{
    return x >= 0 && x < tape->n_values && tape->values[x].kind == GNN__VALUE_INPUT &&
           !tape->values[x].leaf_grad;
}

size_t gnn_tape_bytes(const gnn_tape_t *tape)
{
    GNN__NEED_OR(tape, 0);
    return tape->arena.capacity;
}
