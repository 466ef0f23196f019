/* The array of a case for each field of a model.
 *
 * A field is STEP.FIELD. The array of STEP.weight is STEP or STEP.weight, out x in as PyTorch has
 * it, or out x in x taps; that of STEP.bias is STEP.bias or STEP with b for W ("W1" and "b1"); that
 * of learned rows is STEP; a norm called "norm_a" has gains "norm_a" and shifts "bias_a". A layer
 * STEP has arrays STEP.q, qSTEP or q of its query, and so on. */
#include "zoo_run.h"

#include <lib/data/arrays/arrays.h>
#include <stdio.h>

void zoo_bind(zoo_t *z, const char *field, const char *array, bind_t how)
{
    gallery_t *y = z->gallery;
    ck_assert_int_lt(y->n_binds, BINDS);
    snprintf(how.field, sizeof how.field, "%s", field);
    snprintf(how.array, sizeof how.array, "%s%s", strncmp(array, "r.", 2) == 0 ? "" : "w.", array);
    y->binds[y->n_binds++] = how;
}

void zoo_unchecked(zoo_t *z, const char *array, const char *reason)
{
    gallery_t *y = z->gallery;
    ck_assert_int_lt(y->n_unchecked, 8);
    ck_assert_ptr_nonnull(reason);
    snprintf(y->unchecked[y->n_unchecked++], sizeof y->unchecked[0], "dw.%s", array);
}

void zoo_fixed(zoo_t *z, const char *step)
{
    gallery_t *y = z->gallery;
    ck_assert_int_lt(y->n_fixed, 64);
    snprintf(y->fixed[y->n_fixed++], sizeof y->fixed[0], "%s", step);
}

void zoo_slack(zoo_t *z, double factor)
{
    gallery_t *y = z->gallery;
    y->slack = factor;
}

void zoo_approximate(zoo_t *z)
{
    gallery_t *y = z->gallery;
    y->approximate = true;
}

void zoo_also(zoo_t *z, const char *step, const char *array)
{
    gallery_t *y = z->gallery;
    ck_assert_int_lt(y->n_also, 8);
    snprintf(y->also[y->n_also].step, sizeof y->also[0].step, "%s", step);
    snprintf(y->also[y->n_also++].array, sizeof y->also[0].array, "%s", array);
}

/* ---- arrays by name ---- */

static const struct {
    const char *field, *array;
} of_layers[] = {{"query.weight", "q"},    {"key.weight", "k"},      {"value.weight", "v"},
                 {"out.weight", "o"},      {"query.bias", "bq"},     {"key.bias", "bk"},
                 {"value.bias", "bv"},     {"out.bias", "bo"},       {"ffn.0.weight", "W1"},
                 {"ffn.0.bias", "b1"},     {"ffn.1.weight", "W2"},   {"ffn.1.bias", "b2"},
                 {"norm.gain", "norm_a"},  {"norm.shift", "bias_a"}, {"norm2.gain", "norm_f"},
                 {"norm2.shift", "bias_f"}};

static bool found(zoo_t *z, bind_t *b, const char *name)
{
    snprintf(b->array, sizeof b->array, "w.%s", name);
    if (golden_has(&z->g, b->array))
        return true;
    snprintf(b->array, sizeof b->array, "%s", name);
    return strncmp(name, "r.", 2) == 0 && golden_has(&z->g, name);
}

static bool of_layer(zoo_t *z, bind_t *b, const char *step, const char *field)
{
    const char *array = NULL;
    for (size_t k = 0; k < sizeof of_layers / sizeof *of_layers; k++)
        if (strcmp(of_layers[k].field, field) == 0)
            array = of_layers[k].array;
    return array && (found(z, b, NAMED("%s.%s", step, array)) ||
                     found(z, b, NAMED("%s%s", array, step)) || found(z, b, array));
}

/* `step` with `to` for the last `from` that begins a word. */
static const char *replaced(const char *step, const char *from, const char *to)
{
    const char *at = NULL;
    for (const char *c = step; *c; c++)
        if ((c == step || c[-1] == '.') && strncmp(c, from, strlen(from)) == 0)
            at = c;
    return at ? NAMED("%.*s%s%s", (int)(at - step), step, to, at + strlen(from)) : "";
}

static bool of_step(zoo_t *z, bind_t *b, const char *step, const char *field)
{
    if (strcmp(field, "bias") == 0)
        return found(z, b, NAMED("%s.bias", step)) || found(z, b, replaced(step, "W", "b"));
    if (strcmp(field, "shift") == 0)
        return found(z, b, NAMED("%s.bias", step)) || found(z, b, replaced(step, "norm", "bias"));
    if (strcmp(field, "gain") == 0 && found(z, b, NAMED("%s.weight", step)))
        return true;
    return found(z, b, step) || found(z, b, NAMED("%s.%s", step, field));
}

/* The longest name of a step that the field begins with. */
static const char *step_of(zoo_t *z, const char *field)
{
    const char *best = "";
    for (int64_t k = 0; k < gnn_model_step_count(z->model); k++) {
        const char *name = gnn_model_step(z->model, k)->name;
        const size_t length = name ? strlen(name) : 0;
        if (length > strlen(best) && strncmp(field, name, length) == 0 && field[length] == '.')
            best = name;
    }
    return best;
}

/* ---- layouts ---- */

static void set_steps(bind_t *b, int64_t row_step, int64_t col_step)
{
    b->row_step = row_step;
    b->col_step = col_step;
}

static void automatic_layout(bind_t *b, const gnn_array_t *a, const gnn_tensor_t *t)
{
    const size_t length = strlen(b->field);
    const bool weight = length > 7 && strcmp(b->field + length - 7, ".weight") == 0;
    if (weight && a->ndim > 2 && a->count / a->shape[0] == t->rows) {
        const int64_t in = a->shape[1], taps = t->rows / in;
        set_steps(b, taps, t->rows);
        b->row_block = in;
        b->row_outer = 1;
    } else if (weight) {
        set_steps(b, 1, t->rows);
    } else if (a->ndim == 3 && a->shape[1] == t->rows && a->shape[0] * a->shape[2] == t->cols) {
        set_steps(b, a->shape[2], 1);
        b->col_block = a->shape[2];
        b->col_outer = t->rows * a->shape[2];
    } else {
        set_steps(b, t->cols, 1);
    }
}

static void settle(bind_t *b, const gnn_array_t *a, const gnn_tensor_t *t)
{
    if (b->automatic)
        automatic_layout(b, a, t);
    else if (!b->strided && b->layout == TURNED)
        set_steps(b, 1, t->rows);
    else if (!b->strided && b->layout == BY_HEAD)
        automatic_layout(b, a, t);
    else if (!b->strided)
        set_steps(b, t->cols, 1);
    b->row_block = b->row_block ? b->row_block : t->rows;
    b->col_block = b->col_block ? b->col_block : t->cols;
}

static int64_t index_of(const bind_t *b, int64_t r, int64_t c)
{
    return b->base + r / b->row_block * b->row_outer + r % b->row_block * b->row_step +
           c / b->col_block * b->col_outer + c % b->col_block * b->col_step;
}

static bool is_fixed(zoo_t *z, const char *field)
{
    const char *step = step_of(z, field);
    for (int k = 0; k < z->gallery->n_fixed; k++)
        if (strcmp(z->gallery->fixed[k], step) == 0 || strcmp(z->gallery->fixed[k], field) == 0)
            return true;
    return false;
}

static bind_t *bind_of(zoo_t *z, const char *field)
{
    gallery_t *y = z->gallery;
    for (int k = 0; k < y->n_binds; k++)
        if (strcmp(y->binds[k].field, field) == 0)
            return &y->binds[k];
    bind_t b = {.automatic = true};
    const char *step = step_of(z, field);
    snprintf(b.field, sizeof b.field, "%s", field);
    const char *rest = field + strlen(step) + 1;
    const bool is = of_layer(z, &b, step, rest) || of_step(z, &b, step, rest);
    ck_assert_msg(is, "%s: no array of field %s", z->g.name, field);
    ck_assert_int_lt(y->n_binds, BINDS);
    y->binds[y->n_binds] = b;
    return &y->binds[y->n_binds++];
}

void zoo_bind_fields(zoo_t *z)
{
    gnn_tensor_t t;
    for (int64_t k = 0; k < gnn_model_field_count(z->model); k++) {
        const char *field = gnn_model_field_name(z->model, k);
        if (is_fixed(z, field))
            continue;
        bind_t *b = bind_of(z, field);
        ck_ok(gnn_model_field(z->model, field, &t, NULL));
        const gnn_array_t *a = golden_array(&z->g, b->array);
        settle(b, a, &t);
        const int64_t last = index_of(b, t.rows - 1, t.cols - 1);
        ck_assert_msg(last < a->count, "%s: field %s is %lld x %lld, array %s has %lld elements",
                      z->g.name, field, (long long)t.rows, (long long)t.cols, b->array,
                      (long long)a->count);
    }
}

void zoo_fill_fields(zoo_t *z)
{
    gnn_tensor_t t;
    for (int64_t k = 0; k < gnn_model_field_count(z->model); k++) {
        const char *field = gnn_model_field_name(z->model, k);
        if (is_fixed(z, field))
            continue;
        const bind_t *b = bind_of(z, field);
        const gnn_array_t *a = golden_array(&z->g, b->array);
        ck_ok(gnn_model_field(z->model, field, &t, NULL));
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++)
                gnn__row(&t, r)[c] = (gnn_real_t)gnn_array_get(a, index_of(b, r, c));
    }
}

/* ---- gradients ---- */

static bool is_unchecked(const zoo_t *z, const char *gradient)
{
    for (int k = 0; k < z->gallery->n_unchecked; k++)
        if (strcmp(z->gallery->unchecked[k], gradient) == 0)
            return true;
    return false;
}

/* Of gradients. */
static double tolerance_of(const zoo_t *z)
{
    return z->gallery->approximate ? 1e-4 : GOLDEN_GRAD;
}

/* The gradients of all fields that are parts of one array, added up in its order. */
static void compare_array(zoo_t *z, const gnn_array_t *gradient)
{
    gnn_tensor_t t, sum = gnn_tensor(golden_reals(&z->g, gradient->count), 1, gradient->count);
    memset(sum.data, 0, sizeof *sum.data * (size_t)sum.cols);
    for (int64_t k = 0; k < gnn_model_field_count(z->model); k++) {
        const char *field = gnn_model_field_name(z->model, k);
        if (is_fixed(z, field))
            continue;
        const bind_t *b = bind_of(z, field);
        if (strcmp(b->array, gradient->name + 1) != 0)
            continue;
        ck_ok(gnn_model_field(z->model, field, NULL, &t));
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++)
                sum.data[index_of(b, r, c)] += gnn__row(&t, r)[c];
    }
    golden_same(&z->g, gradient->name, &sum, tolerance_of(z));
}

static int input_of(const zoo_t *z, const char *name)
{
    for (int v = 0; v < z->n_values; v++)
        if (z->values[v].wants_grad && strcmp(z->values[v].name, name) == 0)
            return v;
    return -1;
}

void zoo_compare_gradients(zoo_t *z)
{
    for (int64_t k = 0; k < z->g.arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(z->g.arrays, k);
        if (a->name[0] != 'd' || strcmp(a->name, "dst") == 0 || is_unchecked(z, a->name))
            continue;
        const int v = input_of(z, a->name + 1);
        if (strncmp(a->name, "dw.", 3) == 0) {
            compare_array(z, a);
            continue;
        }
        ck_assert_msg(v >= 0, "%s: nothing reads %s", z->g.name, a->name + 1);
        const gnn_tensor_t d = gnn_tape_gradient(z->tape, z->vars[v]);
        golden_same(&z->g, a->name, &d, tolerance_of(z));
    }
}
