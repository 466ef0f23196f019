/* Copies arrays of a checkpoint to the fields of a model by the entries of its architecture, and
 * back. */
#include <lib/weights/arch/arch.h>

#include <lib/data/arrays/arrays.h>
#include <lib/weights/arch/arch_matrix.h>
#include <lib/model/model.h>
#include <math.h>
#include <stddef.h>

enum { MOST_NAME = 256 };

typedef struct filler {
    const gnn__arch_model_t *made;
    gnn__arch_part_t *part;
    const gnn__arch_filled_t *filled; /* NULL: fields go out, or only shapes are compared */
    const gnn__scope_t *scope;
    char step[GNN__ARCH_NAME];
    gnn__arch_stored_t *stored; /* destination of fields; NULL: arrays are copied to fields */
} filler_t;

/* ---- places ---- */

/* The numeric settings of an entry; `group` 0: a single group. */
typedef struct place {
    double first, group, stride, total, at, rows, add, plus, times;
} place_t;

static const struct {
    const char *name;
    size_t offset;
} place_fields[] = {
#define PLACE(name)                    \
    {                                  \
#name, offsetof(place_t, name) \
    }
    PLACE(first), PLACE(group), PLACE(stride), PLACE(total), PLACE(at),
    PLACE(rows),  PLACE(add),   PLACE(plus),   PLACE(times)};

static bool is_name(const gnn__setting_t *s, const char *name)
{
    return (size_t)s->key_length == strlen(name) && strncmp(s->key, name, strlen(name)) == 0;
}

static int read_place(const filler_t *f, const char *text, place_t *place)
{
    gnn__setting_t s;
    char value[MOST_NAME];
    const char *const whole = text;
    *place = (place_t){.times = 1};
    while (gnn__setting_next(&text, &s)) {
        if (is_name(&s, "through") || is_name(&s, "scaled"))
            continue;
        size_t k = 0;
        const size_t n = sizeof place_fields / sizeof *place_fields;
        while (k < n && (strncmp(place_fields[k].name, s.key, (size_t)s.key_length) != 0 ||
                         place_fields[k].name[s.key_length]))
            k++;
        if (k == n)
            return gnn__error(GNN_EINVALID, "\"%s\": the setting \"%.*s\" is not known", whole,
                              s.key_length, s.key);
        snprintf(value, sizeof value, "%.*s", s.value_length, s.value);
        GNN_TRY(gnn__formula_number(f->scope, value,
                                    (double *)((char *)place + place_fields[k].offset)));
    }
    return GNN_OK;
}

/* Index of output k along the array's axis of outputs. */
static int64_t place_of(const place_t *p, int64_t k)
{
    if (p->group < 1)
        return (int64_t)p->first + k;
    const int64_t group = (int64_t)p->group;
    return (int64_t)p->first + k / group * (int64_t)p->stride + k % group;
}

/* ---- copying ---- */

typedef struct copy {
    const matrix_t *from;
    const gnn_tensor_t *to;
    const place_t *place;
    gnn_real_t *row; /* one of the array's */
} copy_t;

static void put(const copy_t *c, int64_t row, int64_t col, gnn_real_t x)
{
    gnn_real_t *to = gnn__row(c->to, row) + col;
    const gnn_real_t y = (gnn_real_t)(c->place->times * (double)x + c->place->plus);
    *to = c->place->add != 0 ? *to + y : y;
}

/* Rows of the array are rows of the field. */
static int copy_rows(const copy_t *c, int64_t at, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        GNN_TRY(read_row(c->from, place_of(c->place, k), c->row));
        for (int64_t col = 0; col < c->to->cols; col++)
            put(c, at + k, col, c->row[col]);
    }
    return GNN_OK;
}

/* Rows of the array are columns of the field. */
static int copy_turned(const copy_t *c, int64_t at, int64_t count)
{
    for (int64_t col = 0; col < count; col++) {
        GNN_TRY(read_row(c->from, place_of(c->place, col), c->row));
        for (int64_t k = 0; k < c->to->rows; k++)
            put(c, k, at + col, c->row[k]);
    }
    return GNN_OK;
}

/* Rows are rows, and outputs are columns of both. */
static int copy_columns(const copy_t *c, int64_t at, int64_t count)
{
    for (int64_t k = 0; k < c->to->rows; k++) {
        GNN_TRY(read_row(c->from, k, c->row));
        for (int64_t col = 0; col < count; col++)
            put(c, k, at + col, c->row[place_of(c->place, col)]);
    }
    return GNN_OK;
}

typedef enum { BY_ROWS, TURNED, COLUMNS, VECTOR } layout_t;

/* Does at most one dimension have a size other than 1? */
static bool is_vector(const gnn_array_t *a)
{
    int others = 0;
    for (int k = 0; k < a->ndim; k++)
        others += a->shape[k] != 1;
    return others <= 1;
}

/* Does the array have the shape that follows from the config? `outputs` of the field are along its
 * axis of outputs. */
static int check_shape(const matrix_t *m, layout_t layout, const place_t *p, const gnn_tensor_t *to,
                       int64_t outputs, const char *field)
{
    const bool across = layout == COLUMNS || layout == VECTOR;
    const int64_t axis = across ? m->cols : m->rows, other = across ? m->rows : m->cols;
    const int64_t inputs = layout == BY_ROWS ? to->cols : to->rows;
    const int64_t total =
        p->total > 0 ? (int64_t)p->total : place_of(p, gnn__max(outputs, 1) - 1) + 1;
    if (axis == total && other == inputs && p->first >= 0 &&
        (layout != VECTOR || is_vector(m->array)) &&
        (outputs == 0 || place_of(p, outputs - 1) < axis))
        return GNN_OK;
    return gnn__error(GNN_ESHAPE, "array %s is %s, %s needs %lld x %lld of it", m->array->name,
                      gnn__shape_words(m->array->ndim, m->array->shape), field,
                      (long long)(across ? inputs : total), (long long)(across ? total : inputs));
}

/* The array as a matrix: of more than two dimensions the last one is that of the columns where the
 * field then has its size, as in stacks of matrices. */
static matrix_t matrix_for(const gnn_array_t *a, layout_t layout, const gnn_tensor_t *to)
{
    const int64_t last = a->ndim > 0 ? a->shape[a->ndim - 1] : 1;
    const matrix_t m = as_matrix(a), stack = {a, last > 0 ? a->count / last : 0, last};
    if (layout == VECTOR || (layout == COLUMNS && to->rows == 1))
        return (matrix_t){a, 1, a->count};
    if (a->ndim < 3 || layout == TURNED)
        return m;
    return layout == BY_ROWS ? (m.cols != to->cols && last == to->cols ? stack : m)
                             : (m.rows != to->rows && stack.rows == to->rows ? stack : m);
}

/* Destination of an array: `count` outputs of the field from `at` on, and the array as a matrix. */
typedef struct target {
    matrix_t from;
    int64_t at, count;
} target_t;

/* Checks shapes only, before the field's memory is used. */
static int find_target(target_t *target, const gnn_array_t *array, layout_t layout,
                       const place_t *p, const gnn_tensor_t *to, const char *field)
{
    const int64_t all = layout == BY_ROWS ? to->rows : to->cols, at = (int64_t)p->at,
                  count = p->rows > 0 ? (int64_t)p->rows : all - at;
    *target = (target_t){matrix_for(array, layout, to), at, count};
    if (gnn__element(array->dtype)->integer)
        return gnn__error(GNN_EFORMAT, "array %s holds %s, floating-point values are expected",
                          array->name, gnn__element(array->dtype)->name);
    if (at < 0 || count < 0 || count > all - at)
        return gnn__error(GNN_ESHAPE, "%s has no %s %lld to %lld", field,
                          layout == BY_ROWS ? "rows" : "columns", (long long)at,
                          (long long)(at + count - 1));
    return check_shape(&target->from, layout, p, to, count, field);
}

static int copy_array(const target_t *target, layout_t layout, const place_t *p,
                      const gnn_tensor_t *to)
{
    copy_t c = {&target->from, to, p, NULL};
    GNN_TRY(gnn__new(&c.row, target->from.cols, sizeof *c.row, "a row of an array"));
    const int rc = layout == BY_ROWS  ? copy_rows(&c, target->at, target->count)
                   : layout == TURNED ? copy_turned(&c, target->at, target->count)
                                      : copy_columns(&c, target->at, target->count);
    gnn_free(c.row);
    return rc;
}

/* ---- and back ---- */

/* A field that goes into an array which is written. */
typedef struct gnn__arch_give {
    int64_t array;
    layout_t layout;
    place_t place;
    gnn_tensor_t field;
} give_t;

/* Index of an array to be written: one of the folder, which fields overwrite, or a new one of the
 * field's size. */
static int stored_array(gnn__arch_stored_t *out, const gnn_array_t *from, const char *name,
                        const int64_t shape[2], int64_t *index)
{
    const char *full = from ? from->name : name;
    for (*index = 0; *index < out->count; ++*index)
        if (strcmp(out->arrays[*index].name, full) == 0)
            return GNN_OK;
    if (out->count == GNN__ARCH_STORED)
        return gnn__error(GNN_EUNSUPPORTED, "more than %d arrays", (int)GNN__ARCH_STORED);
    GNN_TRY(gnn__strdup(&out->names[*index], full));
    gnn_array_t *a = &out->arrays[*index];
    *a = from ? *from : (gnn_array_t){.ndim = shape[0] > 1 ? 2 : 1, .count = shape[0] * shape[1]};
    if (!from)
        memcpy(a->shape, shape[0] > 1 ? shape : shape + 1, (size_t)a->ndim * sizeof *shape);
    a->name = out->names[*index];
    a->dtype = GNN_DTYPE_FLOAT32;
    a->data = NULL;
    out->from[*index] = from;
    out->made = ++out->count;
    return GNN_OK;
}

static int store(const filler_t *f, const char *name, const gnn__folder_array_t *stored,
                 layout_t layout, const place_t *place, const gnn_tensor_t *field)
{
    const int64_t rows = layout == TURNED ? field->cols : field->rows,
                  cols = layout == TURNED ? field->rows : field->cols;
    gnn__arch_stored_t *out = f->stored;
    give_t give = {.layout = layout, .place = *place, .field = *field};
    GNN_TRY(stored_array(out, stored ? stored->array : NULL, name, (int64_t[]){rows, cols},
                         &give.array));
    GNN_TRY(gnn__room(&out->gives, out->n_gives, &out->room, sizeof *out->gives, "fields"));
    out->gives[out->n_gives++] = give;
    return GNN_OK;
}

/* Elements begin .. end of an array that is written. */
typedef struct window {
    int64_t begin, end;
    float *numbers;
} window_t;

/* The reverse of copy_array, for a window of the array. What is added to a field that is already
 * filled becomes 0. */
static void give_back(const give_t *give, const gnn_array_t *array, const window_t *w)
{
    const gnn_tensor_t *from = &give->field;
    const place_t *p = &give->place;
    const matrix_t m = matrix_for(array, give->layout, from);
    const bool by_rows = give->layout == BY_ROWS, outputs_first = by_rows || give->layout == TURNED;
    const int64_t at = (int64_t)p->at, all = by_rows ? from->rows : from->cols,
                  outputs = p->rows > 0 ? (int64_t)p->rows : all - at,
                  inputs = by_rows ? from->cols : from->rows, n = outputs_first ? outputs : inputs,
                  width = outputs_first ? inputs : outputs;
    for (int64_t r = 0; r < n; r++) {
        const int64_t row = (outputs_first ? place_of(p, r) : r) * m.cols;
        if (row >= w->end || row + m.cols <= w->begin)
            continue;
        for (int64_t c = 0; c < width; c++) {
            const int64_t k = outputs_first ? r : c, i = outputs_first ? c : r,
                          index = row + (outputs_first ? c : place_of(p, c));
            if (index < w->begin || index >= w->end)
                continue;
            const double x =
                (double)(by_rows ? gnn__row(from, at + k)[i] : gnn__row(from, i)[at + k]);
            w->numbers[index - w->begin] = p->add != 0 ? 0 : (float)((x - p->plus) / p->times);
        }
    }
}

int gnn__arch_stored_read(void *user, int64_t array, int64_t at, int64_t count, const void **data)
{
    gnn__arch_stored_t *stored = user;
    const gnn_array_t *from = stored->from[array];
    if (stored->read.count > 0)
        gnn__folder_release(stored->weights, &stored->read);
    stored->read = (gnn_array_t){0};
    if (from) {
        stored->read = *from;
        stored->read.count = count;
        stored->read.data = (const char *)from->data + (size_t)at * gnn__element(from->dtype)->size;
    }
    if (array >= stored->made) {
        *data = stored->read.data;
        return GNN_OK;
    }
    GNN_TRY(gnn__reserve(&stored->numbers, &stored->n_numbers, count, sizeof *stored->numbers,
                         "a part of an array"));
    for (int64_t k = 0; k < count; k++)
        stored->numbers[k] = from ? (float)gnn_array_get(from, at + k) : 0;
    for (int64_t k = 0; k < stored->n_gives; k++)
        if (stored->gives[k].array == array)
            give_back(&stored->gives[k], &stored->arrays[array],
                      &(window_t){at, at + count, stored->numbers});
    *data = stored->numbers;
    return GNN_OK;
}

/* ---- rows ---- */

/* FIELD.PART of the step above, or PART where FIELD is "". */
static void name_field(const filler_t *f, const char *field, const char *part, char *name)
{
    snprintf(name, MOST_NAME, "%s.%s%s%s", f->step, field, *field && *part ? "." : "", part);
}

/* The field of a name, without data if it is stored in fp16 or bf16; false if the model has
 * none. */
static bool find_field(const filler_t *f, const char *name, gnn_tensor_t *to)
{
    const int64_t k = gnn__name_index_find(&f->made->model->field_ids, name);
    gnn__field_place_t place;
    if (k < 0)
        return false;
    if (f->filled)
        f->filled->fields[k] = true;
    if (gnn__model_field_place(f->made->model, name, &place) != GNN_OK)
        return false;
    *to = gnn_parameters_value(f->made->model->parameters, place.id);
    to->data = to->data ? to->data + place.col : NULL;
    to->cols = place.cols;
    return true;
}

/* The array NAME + PART, or NAME + OLD, as TensorFlow's norms call theirs. */
static gnn__folder_array_t *find_array(const filler_t *f, const char *name, const char *part,
                                       const char *old)
{
    char full[MOST_NAME + 16];
    snprintf(full, sizeof full, "%s%s", name, part);
    gnn__folder_array_t *found = gnn__folder_find(&f->part->weights, full);
    if (!found && old) {
        snprintf(full, sizeof full, "%s%s", name, old);
        found = gnn__folder_find(&f->part->weights, full);
    }
    return found;
}

typedef struct piece {
    const char *part, *old, *field; /* array.part -> field.field */
    layout_t layout;
    bool optional; /* the array may be missing: the field keeps its initial values */
    bool absent;   /* the field may be missing; the array is then not copied */
} piece_t;

/* Does the array stay fp16 or bf16? Not if its values are changed by the copy. */
static int keep(const filler_t *f, const gnn_array_t *array, layout_t layout, const place_t *p,
                const char *field, const gnn_tensor_t *to, bool *done)
{
    const bool table = layout == BY_ROWS;
    const matrix_t m = as_matrix(array);
    *done = false;
    if (!f->filled->keep || layout == VECTOR || p->times != 1 || p->plus != 0 || p->add != 0 ||
        (!table && (p->at > 0 || p->rows > 0)))
        return GNN_OK;
    const int64_t rows = !table        ? to->rows
                         : p->rows > 0 ? (int64_t)p->rows
                                       : to->rows - (int64_t)p->at;
    if (p->at < 0 || rows < 0 || rows > to->rows - (int64_t)p->at)
        return GNN_OK; /* copy_array gives the error */
    GNN_TRY(check_shape(&m, layout, p, to, table ? rows : to->cols, field));
    return gnn__arch_keep(f->made, f->filled,
                          &(struct gnn__arch_halves){.array = array,
                                                     .field = field,
                                                     .inputs_first = layout == COLUMNS,
                                                     .table = table,
                                                     .first = (int64_t)p->first,
                                                     .group = (int64_t)p->group,
                                                     .stride = (int64_t)p->stride,
                                                     .at = (int64_t)p->at,
                                                     .rows = rows},
                          done);
}

/* Fills a field from an array, unconverted 16-bit values or gnn_real_t. */
static int take(const filler_t *f, const gnn_array_t *array, layout_t layout, const place_t *p,
                const char *field, const gnn_tensor_t *shape)
{
    gnn_tensor_t to;
    target_t target;
    bool done;
    GNN_TRY(find_target(&target, array, layout, p, shape, field));
    GNN_TRY(keep(f, array, layout, p, field, shape, &done));
    if (done)
        return GNN_OK;
    GNN_TRY(gnn__arch_whole(f->made, f->filled, field));
    GNN_TRY(gnn_model_field(f->made->model, field, &to, NULL));
    return copy_array(&target, layout, p, &to);
}

/* ---- rows that are chosen and scaled by other arrays ---- */

/* The array that a setting of the place names; NULL: none, or the file does not have it. */
static const gnn_array_t *named_array(const filler_t *f, const char *place, const char *setting)
{
    gnn__setting_t s;
    char name[MOST_NAME];
    while (gnn__setting_next(&place, &s))
        if (is_name(&s, setting)) {
            snprintf(name, sizeof name, "%.*s", s.value_length, s.value);
            gnn__folder_array_t *found = find_array(f, name, "", NULL);
            if (found)
                found->used = true;
            return found ? found->array : NULL;
        }
    return NULL;
}

static int check_chosen(const gnn_array_t *a, bool integers, int64_t rows, const char *field)
{
    if (!a)
        return GNN_OK;
    if (gnn__element(a->dtype)->integer != integers)
        return gnn__error(GNN_EFORMAT, "array %s holds %s, %s numbers are expected", a->name,
                          gnn__element(a->dtype)->name, integers ? "whole" : "floating");
    return a->count == rows ? GNN_OK
                            : gnn__error(GNN_ESHAPE, "array %s has %lld values, %s has %lld rows",
                                         a->name, (long long)a->count, field, (long long)rows);
}

/* Row r of the field = row through[r] of the array, times scaled[r], rounded to the array's type as
 * its makers do. */
static int choose_rows(const filler_t *f, const gnn_array_t *array, const gnn_array_t *through,
                       const gnn_array_t *scaled, const char *field)
{
    gnn_tensor_t to;
    GNN_TRY(gnn__arch_whole(f->made, f->filled, field));
    GNN_TRY(gnn_model_field(f->made->model, field, &to, NULL));
    const matrix_t m = as_matrix(array);
    GNN_TRY(check_chosen(through, true, to.rows, field));
    GNN_TRY(check_chosen(scaled, false, to.rows, field));
    if (gnn__element(array->dtype)->integer || m.cols != to.cols || (!through && m.rows != to.rows))
        return gnn__error(GNN_ESHAPE,
                          "array %s is %s of %s, %s needs rows of %lld floating-point values",
                          array->name, gnn__shape_words(array->ndim, array->shape),
                          gnn__element(array->dtype)->name, field, (long long)to.cols);
    if (scaled && array->dtype != GNN_DTYPE_FLOAT32 && array->dtype != GNN_DTYPE_FLOAT64)
        return gnn__error(GNN_EUNSUPPORTED,
                          "array %s scales %s, which is %s: its rounded products are not computed, "
                          "save both as float32",
                          scaled->name, array->name, gnn__element(array->dtype)->name);
    for (int64_t r = 0; r < to.rows; r++) {
        const double from = through ? gnn_array_get(through, r) : (double)r,
                     factor = scaled ? gnn_array_get(scaled, r) : 1;
        if (!(from >= 0 && from < (double)m.rows))
            return gnn__error(GNN_EFORMAT, "array %s: value %lld is %g, %s has rows 0 to %lld",
                              through->name, (long long)r, from, array->name, (long long)m.rows - 1);
        if (!isfinite(factor))
            return gnn__error(GNN_ENUMERIC, "array %s: element %lld is %g", scaled->name,
                              (long long)r, factor);
        GNN_TRY(read_row(&m, (int64_t)from, gnn__row(&to, r)));
        for (int64_t c = 0; scaled && c < to.cols; c++)
            gnn__row(&to, r)[c] = (gnn_real_t)((double)gnn__row(&to, r)[c] * factor);
    }
    return GNN_OK;
}

static int fill(const filler_t *f, const gnn__arch_row_t *row, const char *array, const piece_t *p)
{
    char name[MOST_NAME];
    gnn_tensor_t to;
    place_t place;
    name_field(f, row->second, p->field, name);
    if (!find_field(f, name, &to))
        return p->absent ? GNN_OK
                         : gnn__error(GNN_EINVALID, "array %s%s: the model has no field %s", array,
                                      p->part, name);
    gnn__folder_array_t *stored = find_array(f, array, p->part, p->old);
    const gnn_array_t *through = named_array(f, row->third, "through"),
                      *scaled = named_array(f, row->third, "scaled");
    if (f->stored && (through || scaled))
        return gnn__error(GNN_EUNSUPPORTED, "%s was made from array %s, and is not written", name,
                          through ? through->name : scaled->name);
    if (f->stored && stored && !to.data)
        return GNN_OK; /* kept in 16 bits: written as it was read */
    if (f->stored && (stored || f->part->weights.n_files == 0)) {
        char whole[MOST_NAME + 16];
        snprintf(whole, sizeof whole, "%s%s", array, p->part);
        GNN_TRY(read_place(f, row->third, &place));
        return store(f, whole, stored, p->layout, &place, &to);
    }
    if (!stored)
        return p->optional ? GNN_OK
                           : gnn__error(GNN_ENOTFOUND, "there is no array %s%s%s for %s",
                                        f->part->weights.prefix, array, p->part, name);
    GNN_TRY(read_place(f, row->third, &place));
    if (!f->filled) {
        target_t target;
        return through || scaled ? GNN_OK
                                 : find_target(&target, stored->array, p->layout, &place, &to, name);
    }
    stored->used = true;
    const int rc = through || scaled ? choose_rows(f, stored->array, through, scaled, name)
                                     : take(f, stored->array, p->layout, &place, name, &to);
    gnn__folder_release(&f->part->weights, stored->array);
    return rc;
}

static int fill_both(const filler_t *f, const gnn__arch_row_t *row, const char *array,
                     const piece_t *first, const piece_t *second)
{
    GNN_TRY(fill(f, row, array, first));
    return fill(f, row, array, second);
}

/* "=formula": the value of each column, # is the column. `write` false: the values that the field
 * has must be these, since files do not hold them. */
static int compute(const filler_t *f, const char *formula, const char *name, const gnn_tensor_t *to,
                   bool write)
{
    gnn__scope_t scope = *f->scope;
    double x;
    for (scope.number = 0; scope.number < to->cols; scope.number++) {
        GNN_TRY(gnn__formula_number(&scope, formula, &x));
        if (write && !isfinite(x))
            return gnn__error(GNN_ENUMERIC, "%s: value %lld of %s is %g", scope.config_name,
                              (long long)scope.number, name, x);
        if (write)
            to->data[scope.number] = (gnn_real_t)x;
        else if (to->data[scope.number] != (gnn_real_t)x)
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: value %lld is %g, %s gives %g, and files have no array for it",
                              name, (long long)scope.number, (double)to->data[scope.number],
                              scope.config_name, x);
    }
    return GNN_OK;
}

/* Every stride-th row of what the maker makes. */
static int make_strided(gnn__arch_maker_t maker, int64_t stride, const gnn_tensor_t *to)
{
    gnn_real_t *numbers = NULL;
    const int64_t rows = (gnn__max(to->rows, 1) - 1) * stride + 1;
    GNN_TRY(gnn__new(&numbers, rows * to->cols, sizeof *numbers, "rows that are made"));
    const gnn_tensor_t made = gnn_tensor(numbers, rows, to->cols);
    maker(&made);
    for (int64_t r = 0; r < to->rows; r++)
        memcpy(gnn__row(to, r), gnn__row(&made, r * stride), (size_t)to->cols * sizeof *numbers);
    gnn_free(numbers);
    return GNN_OK;
}

static int make(const filler_t *f, const gnn__arch_row_t *row)
{
    char name[MOST_NAME];
    gnn_tensor_t to;
    place_t place;
    const bool computed = row->name[0] == '=';
    const gnn__arch_maker_t maker = computed ? NULL : gnn__arch_maker_find(row->name);
    if (!computed && !maker)
        return GNN_ENOTFOUND;
    name_field(f, row->second, "", name);
    if (!find_field(f, name, &to))
        return gnn__error(GNN_EINVALID, "the model has no field %s", name);
    if (computed && f->stored)
        return compute(f, row->name + 1, name, &to, false);
    if (!f->filled)
        return GNN_OK;
    GNN_TRY(gnn__arch_whole(f->made, f->filled, name));
    GNN_TRY(gnn_model_field(f->made->model, name, &to, NULL));
    if (computed)
        return compute(f, row->name + 1, name, &to, true);
    GNN_TRY(read_place(f, row->third, &place));
    const int64_t at = (int64_t)place.at, count = place.rows > 0 ? (int64_t)place.rows : to.cols - at;
    if (at < 0 || count < 0 || count > to.cols - at)
        return gnn__error(GNN_EINVALID, "%s has no columns %lld to %lld", name, (long long)at,
                          (long long)(at + count - 1));
    to = (gnn_tensor_t){to.data + at, to.rows, count, to.stride};
    if (place.stride > 1)
        return make_strided(maker, (int64_t)place.stride, &to);
    maker(&to);
    return GNN_OK;
}

static int draw(const filler_t *f, const gnn__arch_row_t *row)
{
    char name[MOST_NAME];
    gnn_tensor_t to;
    double seed;
    name_field(f, row->second, "", name);
    if (!find_field(f, name, &to))
        return gnn__error(GNN_EINVALID, "the model has no field %s", name);
    if (!f->filled)
        return GNN_OK;
    GNN_TRY(gnn__formula_number(f->scope, row->name, &seed));
    GNN_TRY(gnn__arch_whole(f->made, f->filled, name));
    GNN_TRY(gnn_model_field(f->made->model, name, &to, NULL));
    return gnn__arch_draw(&to, (uint64_t)seed);
}

/* Is the array, if present, equal to another one? */
static int compare_arrays(const filler_t *f, const char *array, const char *other)
{
    gnn__folder_array_t *stored = find_array(f, array, "", NULL);
    const gnn__folder_array_t *used = find_array(f, other, "", NULL);
    if (!stored || !used || stored == used)
        return GNN_OK;
    stored->used = true;
    const gnn_array_t *a = stored->array, *b = used->array;
    bool same = a->count == b->count;
    for (int64_t k = 0; same && k < a->count; k++)
        same = gnn_array_get(a, k) == gnn_array_get(b, k);
    return same ? GNN_OK
                : gnn__error(GNN_EUNSUPPORTED, "arrays %s and %s differ, the same is expected",
                             a->name, b->name);
}

/* Does the array have the values that the model computes? */
static int compare(const filler_t *f, const gnn__arch_row_t *row, const char *array)
{
    gnn__folder_array_t *stored = find_array(f, array, "", NULL);
    gnn__arch_difference_t d;
    if (row->second[0] == '=') {
        char other[MOST_NAME];
        GNN_TRY(gnn__scope_expand(f->scope, row->second + 1, strlen(row->second + 1), other,
                                  sizeof other));
        return compare_arrays(f, array, other);
    }
    if (!stored)
        return gnn__arch_maker_find(row->second) ? GNN_OK : GNN_ENOTFOUND;
    GNN_TRY(gnn__arch_compare(stored->array, row->second, &d));
    stored->used = true;
    return d.found
               ? gnn__error(GNN_EUNSUPPORTED,
                            "array %s: element %lld is %g, only a table of %s is known here, with %g",
                            stored->array->name, (long long)d.element, d.value, row->second, d.made)
               : GNN_OK;
}

static void ignore(const filler_t *f, const char *array)
{
    const size_t length = strlen(array);
    gnn__folder_t *c = &f->part->weights;
    const size_t prefix = strlen(c->prefix);
    for (int64_t k = 0; k < c->n_arrays; k++) {
        const char *name = c->arrays[k].name;
        const bool with = prefix > 0 && strncmp(name, c->prefix, prefix) == 0;
        if (strncmp(name, array, length) == 0 || (with && strncmp(name + prefix, array, length) == 0))
            c->arrays[k].used = true;
    }
}

static int visit(void *user, const gnn__arch_row_t *row, const gnn__scope_t *scope)
{
    static const piece_t turned = {".weight", NULL, "weight", TURNED, false, false},
                         matrix = {".weight", NULL, "weight", COLUMNS, false, false},
                         bias = {".bias", NULL, "bias", VECTOR, false, true},
                         gain = {".weight", ".gamma", "gain", VECTOR, false, false},
                         shift = {".bias", ".beta", "shift", VECTOR, true, true},
                         by_rows = {"", NULL, "", BY_ROWS, false, false},
                         all_turned = {"", NULL, "", TURNED, false, false},
                         by_columns = {"", NULL, "", COLUMNS, false, false};
    filler_t *f = user;
    char name[MOST_NAME];
    f->scope = scope;
    if (row->verb == GNN__ARCH_MADE)
        return make(f, row);
    if (row->verb == GNN__ARCH_DRAWN)
        return draw(f, row);
    GNN_TRY(gnn__scope_expand(scope, row->name, strlen(row->name), name, sizeof name));
    switch (row->verb) {
    case GNN__ARCH_STEP: snprintf(f->step, sizeof f->step, "%s", name); return GNN_OK;
    case GNN__ARCH_LINEAR: return fill_both(f, row, name, &turned, &bias);
    case GNN__ARCH_MATRIX: return fill_both(f, row, name, &matrix, &bias);
    case GNN__ARCH_NORM: return fill_both(f, row, name, &gain, &shift);
    case GNN__ARCH_ROWS: return fill(f, row, name, &by_rows);
    case GNN__ARCH_TURNED: return fill(f, row, name, &all_turned);
    case GNN__ARCH_COLUMNS: return fill(f, row, name, &by_columns);
    case GNN__ARCH_IGNORE: ignore(f, name); return GNN_OK;
    case GNN__ARCH_SAME: return f->filled ? compare(f, row, name) : GNN_OK;
    default: return GNN_OK;
    }
}

int gnn__arch_weights(const gnn__arch_model_t *made, gnn__arch_part_t *part, gnn__scope_t *scope,
                      const gnn__arch_filled_t *filled)
{
    filler_t f = {.made = made, .part = part, .filled = filled};
    return gnn__arch_walk(part, scope, visit, &f);
}

/* Arrays used by no entry are written unchanged. */
static int store_others(gnn__arch_stored_t *out, const gnn__folder_t *weights)
{
    const int64_t met = out->count;
    for (int64_t k = 0; k < weights->n_arrays; k++) {
        int64_t at = 0;
        while (at < met && strcmp(out->arrays[at].name, weights->arrays[k].name) != 0)
            at++;
        if (at < met)
            continue;
        if (out->count == GNN__ARCH_STORED)
            return gnn__error(GNN_EUNSUPPORTED, "more than %d arrays", (int)GNN__ARCH_STORED);
        out->from[out->count] = weights->arrays[k].array;
        out->arrays[out->count++] = *weights->arrays[k].array;
    }
    return GNN_OK;
}

int gnn__arch_store(const gnn__arch_model_t *made, gnn__arch_part_t *part, gnn__scope_t *scope,
                    gnn__arch_stored_t **stored)
{
    int rc;
    *stored = NULL;
    GNN_CHECK(gnn__new(stored, 1, sizeof **stored, "arrays"));
    (*stored)->weights = &part->weights;
    filler_t f = {.made = made, .part = part, .stored = *stored};
    GNN_CHECK(gnn__arch_walk(part, scope, visit, &f));
    rc = store_others(*stored, &part->weights);
done:
    if (rc != GNN_OK) {
        gnn__arch_stored_free(*stored);
        *stored = NULL;
    }
    return rc;
}

void gnn__arch_stored_free(gnn__arch_stored_t *stored)
{
    for (int64_t k = 0; stored && k < GNN__ARCH_STORED && stored->names[k]; k++)
        gnn_free(stored->names[k]);
    if (stored) {
        gnn_free(stored->gives);
        gnn_free(stored->numbers);
    }
    gnn_free(stored);
}
