/* Steps and layer configs as JSON and back, exactly: reals are written with 17 digits, which gives
 * back every bit of a float or a double.
 *
 *     {"format": 1, "steps": [{"kind": "layer", "name": "0", "layer": {"preset": "gat", "in": 1433,
 * "heads": 8, ...}}, ...]}
 *
 * One table lists the fields; an absent key is the default, an unknown one an error.
 * Configs are written resolved, so that a file keeps its meaning when a preset changes; a real that
 * is 0 is then meant, and read as GNN_ZERO. */
#include <lib/weights/config_json.h>

#include <lib/base/base.h>
#include <lib/data/arrays/text_file.h>
#include <lib/layer/config_fields.h>
#include <lib/model/steps.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>

/* Storage and JSON form of a field. */
typedef enum { COUNT, NUMBER32, WORD, REAL, PLAIN_REAL, OPTIONS, ROW, TEXT } kind_t;

/* A field of a step, or of a layer's config. */
typedef struct {
    const char *name;
    kind_t kind;
    size_t offset;
    const gnn__field_values_t *values; /* of a WORD or a ROW */
} field_t;

/* A list of fields: gets the field at an index; false past the last. */
typedef bool (*fields_t)(size_t index, field_t *field);

/* ---- the fields ---- */

static bool config_field(size_t index, field_t *field)
{
    static const kind_t kinds[] = {[GNN__STORED_COUNT] = COUNT,
                                   [GNN__STORED_REAL] = REAL,
                                   [GNN__STORED_WORD] = WORD,
                                   [GNN__STORED_ROW] = ROW,
                                   [GNN__STORED_LIST] = OPTIONS};
    const gnn__field_row_t *f = gnn__config_field(index);
    if (f)
        *field = (field_t){f->name, kinds[f->kind->stored], f->offset, f->kind};
    return f != NULL;
}

static const char *side_word(size_t number)
{
    static const char *const words[] = {"none", "receivers", "senders"};
    return number < 3 ? words[number] : NULL;
}

static const char *step_word(size_t number)
{
    return gnn__step_kind_name((gnn_step_kind_t)number);
}

static const void *op_row(size_t index)
{
    return gnn_op_at(index);
}

static const gnn__field_values_t gnn__kind_side = {"side", .stored = GNN__STORED_WORD,
                                                   .word = side_word},
                                 gnn__kind_kind = {"kind of step", .stored = GNN__STORED_WORD,
                                                   .word = step_word},
                                 gnn__kind_op = {"op", .stored = GNN__STORED_ROW, .row = op_row};

static const field_t step_fields[] = {
#define GNN_STEP_NUMBER(kind, field) {#field, kind, offsetof(gnn_step_t, field), NULL},
#define GNN_STEP_TEXT(field) GNN_STEP_NUMBER(TEXT, field)
#define GNN_STEP_ELEMENT(key, field, k) {#key, TEXT, offsetof(gnn_step_t, field[k]), NULL},
#define GNN_STEP_WORD(words, field) {#field, WORD, offsetof(gnn_step_t, field), &gnn__kind_##words},
#define GNN_STEP_ROW(table, field) {#field, ROW, offsetof(gnn_step_t, field), &gnn__kind_##table},
#include <lib/model/step_fields.def>
#undef GNN_STEP_NUMBER
#undef GNN_STEP_TEXT
#undef GNN_STEP_ELEMENT
#undef GNN_STEP_WORD
#undef GNN_STEP_ROW
};

static bool step_field(size_t index, field_t *field)
{
    const bool there = index < sizeof step_fields / sizeof *step_fields;
    if (there)
        *field = step_fields[index];
    return there;
}

static const field_t block_fields[] = {
#define BLOCK_KEY(key, kind, field, values) {key, kind, offsetof(gnn_block_t, field), values},
#define BLOCK_TEXT(field) BLOCK_KEY(#field, TEXT, field, NULL)
#define BLOCK_COUNT(field) BLOCK_KEY(#field, COUNT, field, NULL)
#define BLOCK_NUMBER32(field) BLOCK_KEY(#field, NUMBER32, field, NULL)
#define BLOCK_PLAIN_REAL(field) BLOCK_KEY(#field, PLAIN_REAL, field, NULL)
#define BLOCK_FLAG(field) BLOCK_KEY(#field, WORD, field, &gnn__kind_flag)
#define BLOCK_FOUR(field, kind, values)            \
    BLOCK_KEY(#field "_0", kind, field[0], values) \
    BLOCK_KEY(#field "_1", kind, field[1], values) \
    BLOCK_KEY(#field "_2", kind, field[2], values) \
    BLOCK_KEY(#field "_3", kind, field[3], values)
#define BLOCK_SLOTS(field) BLOCK_FOUR(field, NUMBER32, NULL)
#define BLOCK_AGGREGATORS(field) BLOCK_FOUR(field, ROW, &gnn__kind_aggregator)
#define GNN_BLOCK_MEMBER(kind, field) BLOCK_##kind(field)
    BLOCK_TEXT(name) BLOCK_TEXT(input)
#include <lib/model/block_fields.def>
#undef GNN_BLOCK_MEMBER
};

static bool block_field(size_t index, field_t *field)
{
    const bool there = index < sizeof block_fields / sizeof *block_fields;
    if (there)
        *field = block_fields[index];
    return there;
}

int gnn__own_rows_check(const gnn_rows_t *rows)
{
    static const gnn__field_values_t *const tables[] = {
        &gnn__kind_aggregator, &gnn__kind_message, &gnn__kind_score, &gnn__kind_update,
        &gnn__kind_map,        &gnn__kind_weigher, &gnn__kind_prior, &gnn__kind_op};
    const size_t n_tables = sizeof tables / sizeof *tables;
    for (int64_t k = 0; rows && k < rows->count; k++) {
        const gnn_row_t *r = rows->list ? &rows->list[k] : NULL;
        char names[256] = "";
        size_t at = 0;
        if (!r || !r->table || !r->row || !gnn__row_name(r->row))
            return gnn__error(GNN_EINVALID,
                              "entry %lld of %lld rows: a table and a row with a name "
                              "are expected",
                              (long long)k, (long long)rows->count);
        while (at < n_tables && strcmp(tables[at]->name, r->table) != 0)
            gnn__append_name(names, sizeof names, ", ", tables[at++]->name);
        if (at == n_tables)
            return gnn__error(GNN_EINVALID,
                              "entry %lld of %lld rows: there is no table \"%.40s\"; "
                              "there are %s",
                              (long long)k, (long long)rows->count, r->table, names);
    }
    return GNN_OK;
}

/* An entry of the library, or of the caller of gnn_model_load_with; NULL with a message. */
static const void *find_row(const gnn__field_values_t *table, const char *name, const gnn_rows_t *rows)
{
    char words[700];
    const void *found = gnn__kind_row(table, name);
    for (int64_t k = 0; !found && rows && k < rows->count; k++) {
        const gnn_row_t *r = &rows->list[k];
        if (strcmp(r->table, table->name) == 0 && strcmp(gnn__row_name(r->row), name) == 0)
            found = r->row;
    }
    if (!found) {
        snprintf(words, sizeof words, "%s", gnn_error_message());
        gnn__set_message("%s; nor does gnn_model_load_with know it", words);
    }
    return found;
}

/* ---- writing ---- */

static json_t *write_options(const double *options)
{
    json_t *list = json_array();
    for (int k = 0; list && k < 4; k++)
        if (json_array_append_new(list, json_real(options[k])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int write_word(json_t **value, const field_t *f, int number)
{
    const char *word = number < 0 ? NULL : f->values->word((size_t)number);
    if (!word)
        return gnn__error(GNN_EINVALID, "field .%s = %d has no name", f->name, number);
    *value = json_string(word);
    return GNN_OK;
}

/* Entries are found by name: a user's entry must not have the name of one of the library. */
static int write_row(json_t **value, const field_t *f, const void *row)
{
    const void *ours = row ? gnn__kind_row(f->values, gnn__row_name(row)) : NULL;
    if (ours && ours != row)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s %s is not the library's of that name: a file cannot tell them apart",
                          f->values->name, gnn__row_name(row));
    *value = row ? json_string(gnn__row_name(row)) : NULL;
    return GNN_OK;
}

/* JSON has no infinity, and its text is UTF-8. */
static int check_written(const field_t *f, const void *place)
{
    const double *options = place;
    const char *text = f->kind == TEXT ? *(const char *const *)place : NULL;
    bool finite = true;
    for (int k = 0; f->kind == OPTIONS && k < 4; k++)
        finite = finite && isfinite(options[k]);
    if (f->kind == REAL || f->kind == PLAIN_REAL)
        finite = isfinite(*(const gnn_real_t *)place);
    if (finite && (!text || gnn__is_utf8(text, (int64_t)strlen(text))))
        return GNN_OK;
    return gnn__error(GNN_EINVALID, "field .%s cannot be written: it is not %s", f->name,
                      finite ? "UTF-8" : "finite");
}

/* *value remains NULL for a text or entry that is NULL. */
static int write_value(json_t **value, const field_t *f, const void *place)
{
    switch (f->kind) {
    case COUNT: *value = json_integer(*(const int64_t *)place); return GNN_OK;
    case NUMBER32: *value = json_integer(*(const int *)place); return GNN_OK;
    case WORD: return write_word(value, f, *(const int *)place);
    case OPTIONS: *value = write_options(place); return GNN_OK;
    case ROW: return write_row(value, f, *(const void *const *)place);
    case TEXT:
        *value = *(const char *const *)place ? json_string(*(const char *const *)place) : NULL;
        return GNN_OK;
    default: *value = json_real((double)*(const gnn_real_t *)place); return GNN_OK;
    }
}

/* Does the field have its default value? */
static bool is_default(const field_t *f, const void *place)
{
    static const char zeros[sizeof(double[4])];
    const size_t bytes = f->kind == OPTIONS                         ? sizeof(double[4])
                         : f->kind == WORD || f->kind == NUMBER32   ? sizeof(int)
                         : f->kind == REAL || f->kind == PLAIN_REAL ? sizeof(gnn_real_t)
                                                                    : sizeof(int64_t);
    return memcmp(place, zeros, bytes) == 0;
}

/* `brief`: omits fields with default values. NULL texts and entries are always omitted. */
static int write_fields(json_t *object, fields_t fields, const void *from, bool brief)
{
    field_t f;
    for (size_t k = 0; fields(k, &f); k++) {
        const void *place = (const char *)from + f.offset;
        json_t *value = NULL;
        if ((brief || f.kind == ROW || f.kind == TEXT) && is_default(&f, place))
            continue;
        GNN_TRY(check_written(&f, place));
        GNN_TRY(write_value(&value, &f, place));
        if (json_object_set_new_nocheck(object, f.name, value) != 0)
            return gnn__error(GNN_EMEMORY, "no memory for field .%s", f.name);
    }
    return GNN_OK;
}

static int write_step(json_t *list, const gnn_model_t *model, int64_t k)
{
    json_t *object = json_object(), *config = NULL;
    const gnn__model_step_t *s = &model->steps[k];
    int rc = json_array_append_new(list, object) == 0
                 ? GNN_OK
                 : gnn__error(GNN_EMEMORY, "no memory for the steps");
    if (rc == GNN_OK)
        rc = write_fields(object, step_field, &s->step, true);
    if (rc != GNN_OK || !s->row->has_config)
        return rc;
    config = json_object();
    if (json_object_set_new(object, "layer", config) != 0)
        return gnn__error(GNN_EMEMORY, "no memory for the steps");
    return write_fields(config, config_field, &s->step.layer, false);
}

int gnn__steps_write(char **text, const gnn_model_t *model)
{
    json_t *list = json_array(), *root = json_pack("{s:i,s:o}", "format", 1, "steps", list);
    int rc = root ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for the steps");
    for (int64_t k = 0; rc == GNN_OK && k < gnn_model_step_count(model); k++) {
        rc = write_step(list, model, k);
        if (rc != GNN_OK)
            gnn__error_prefix(rc, "step %s", gnn_model_step(model, k)->name);
    }
    if (rc == GNN_OK)
        rc = gnn__json_write(text, root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(root);
    return rc;
}

/* ---- reading ---- */

int gnn__json_load(json_t **root, const char *text)
{
    return gnn__json_parse(root, text, (int64_t)strlen(text), GNN__JSON_UNIQUE, GNN__JSON_LEVELS);
}

static const char *type_words(const json_t *value)
{
    static const char *const words[] = {"an object", "an array", "a string", "an integer",
                                        "a number",  "true",     "false",    "null"};
    return words[json_typeof(value)];
}

static int wrong_type(const char *expected, const json_t *value)
{
    return gnn__error(GNN_EFORMAT, "%s is expected, got %s", expected, type_words(value));
}

static int read_integer(int64_t *out, const json_t *value, int64_t low, int64_t high)
{
    if (!json_is_integer(value))
        return wrong_type("an integer", value);
    if (json_integer_value(value) < low || json_integer_value(value) > high)
        return gnn__error(GNN_EFORMAT, "%lld lies outside %lld..%lld",
                          (long long)json_integer_value(value), (long long)low, (long long)high);
    *out = json_integer_value(value);
    return GNN_OK;
}

/* Values in a file are explicit, including 0. */
static int read_real(gnn_real_t *out, const json_t *value)
{
    if (!json_is_number(value))
        return wrong_type("a number", value);
    *out = (gnn_real_t)json_number_value(value);
    if (!isfinite(*out))
        return gnn__error(GNN_EFORMAT, "%g does not fit", json_number_value(value));
    if (*out == 0)
        *out = GNN_ZERO;
    return GNN_OK;
}

static int read_word(int *out, const field_t *f, const char *text)
{
    const int number = gnn__kind_word(f->values, text);
    if (number < 0) {
        gnn__unknown_name(f->values->name, text, f->values->word);
        return GNN_EFORMAT;
    }
    *out = number;
    return GNN_OK;
}

static int read_options(double *out, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 4)
        return wrong_type("an array of 4 values", value);
    for (size_t k = 0; k < 4; k++) {
        if (!json_is_number(json_array_get(value, k)))
            return wrong_type("a number", json_array_get(value, k));
        out[k] = json_number_value(json_array_get(value, k));
    }
    return GNN_OK;
}

/* A text field: a word, the name of an entry, or plain text (borrowed from the JSON). */
static int read_text(const field_t *f, void *place, const json_t *value, const gnn_rows_t *rows)
{
    if (!json_is_string(value))
        return wrong_type("a string", value);
    const char *text = json_string_value(value);
    if (f->kind == WORD)
        return read_word(place, f, text);
    if (f->kind == TEXT)
        *(const char **)place = text;
    if (f->kind == ROW && !(*(const void **)place = find_row(f->values, text, rows)))
        return GNN_EFORMAT;
    return GNN_OK;
}

static int read_value(const field_t *f, void *place, const json_t *value, const gnn_rows_t *rows)
{
    int64_t number = 0;
    switch (f->kind) {
    case COUNT: return read_integer(place, value, 0, INT64_MAX);
    case NUMBER32:
        GNN_TRY(read_integer(&number, value, 0, INT_MAX));
        *(int *)place = (int)number;
        return GNN_OK;
    case REAL:
    case PLAIN_REAL: return read_real(place, value);
    case OPTIONS: return read_options(place, value);
    default: return read_text(f, place, value, rows);
    }
}

static bool find_field(field_t *field, fields_t fields, const char *name)
{
    for (size_t k = 0; fields(k, field); k++)
        if (strcmp(field->name, name) == 0)
            return true;
    return false;
}

static bool is_listed(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

/* `elsewhere`: NULL-terminated keys that the caller reads; may be NULL. */
static int read_fields(void *to, fields_t fields, json_t *object, const char *const *elsewhere,
                       const gnn_rows_t *rows)
{
    const char *key;
    json_t *value;
    field_t f;
    if (!json_is_object(object))
        return wrong_type("an object", object);
    json_object_foreach(object, key, value)
    {
        if (is_listed(elsewhere, key))
            continue;
        if (fields == config_field && strcmp(key, "aggregator") == 0 && json_is_string(value) &&
            gnn__config_old_aggregator(to, json_string_value(value))) {
            if (json_object_get(object, "score"))
                return gnn__error(GNN_EFORMAT,
                                  "field aggregator: %.40s is a score, but there is a field score",
                                  json_string_value(value));
            continue;
        }
        if (!find_field(&f, fields, key))
            return gnn__error(GNN_EFORMAT, "unknown field \"%.40s\"", key);
        int rc = read_value(&f, (char *)to + f.offset, value, rows);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "field %s", key);
    }
    return GNN_OK;
}

/* Keys of configs before 0.2: kv_heads for keys and values, distance (none, slope, table) with
 * distance_buckets for the first prior. */
static const char *const former_keys[] = {"kv_heads", "distance", "distance_buckets", NULL};

static int read_former_distance(gnn_layer_config_t *c, json_t *object)
{
    static const char *const names[] = {"none", "slope", "table"};
    const json_t *value = json_object_get(object, "distance"),
                 *buckets = json_object_get(object, "distance_buckets");
    int64_t count = 0;
    size_t which = 0;
    if (buckets)
        GNN_TRY(read_integer(&count, buckets, 0, INT32_MAX));
    if (!value)
        return GNN_OK;
    while (which < 3 && (!json_is_string(value) || strcmp(json_string_value(value), names[which])))
        which++;
    if (which == 3)
        return gnn__error(GNN_EFORMAT, "none, slope or table is expected");
    if (which == 0)
        return GNN_OK;
    if (c->priors[0].prior || (which == 2 && count < 1))
        return gnn__error(GNN_EFORMAT, "%s with %s", names[which],
                          c->priors[0].prior ? "a field prior_0" : "distance_buckets = 0");
    c->priors[0].prior = which == 1 ? &gnn_prior_slope : &gnn_prior_table;
    c->priors[0].options[0] = which == 1 ? 0 : (double)count;
    return GNN_OK;
}

static int read_config(gnn_layer_config_t *c, json_t *object, const gnn_rows_t *rows)
{
    int64_t heads = 0;
    GNN_TRY(read_fields(c, config_field, object, former_keys, rows));
    const json_t *shared = json_object_get(object, "kv_heads");
    int rc = shared ? read_integer(&heads, shared, 0, INT64_MAX) : GNN_OK;
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "field kv_heads");
    c->key_heads = c->key_heads ? c->key_heads : heads;
    c->value_heads = c->value_heads ? c->value_heads : heads;
    rc = read_former_distance(c, object);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "field distance");
}

/* Counts for which 0 means 1 in a program: an explicit 0 in a file is an error. */
static int check_counts(json_t *object)
{
    static const char *const counts[] = {"heads", "hops", "rows"};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const json_t *value = json_object_get(object, counts[k]);
        if (json_is_integer(value) && json_integer_value(value) == 0)
            return gnn__error(GNN_EFORMAT, "field %s: 0, at least 1 is expected", counts[k]);
    }
    return GNN_OK;
}

int gnn__step_read(gnn_step_t *step, json_t *object, const gnn_rows_t *rows)
{
    static const char *const inner[] = {"layer", NULL};
    GNN_TRY(read_fields(step, step_field, object, inner, rows));
    if (step->kind == GNN_STEP_ACTIVATION && json_object_get(object, "options") &&
        step->options[0] == 0)
        step->options[0] = (double)GNN_ZERO; /* a slope of 0 */
    json_t *config = json_object_get(object, "layer");
    if (gnn__step_row(step->kind)->has_config != (config != NULL))
        return gnn__error(GNN_EFORMAT, "a step of kind %s %s a field layer",
                          gnn__step_kind_name(step->kind), config ? "has" : "lacks");
    if (!config)
        return GNN_OK;
    int rc = read_config(&step->layer, config, rows);
    /* A config that version 0.1 wrote: its self-loops had features of 0. */
    if (json_object_get(config, "self_loops") && !json_object_get(config, "loop_features") &&
        step->layer.edge_dim > 0)
        step->layer.loop_features = GNN_OFF;
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "field layer");
}

int gnn__block_read(gnn_block_t *block, json_t *object, const gnn_rows_t *rows)
{
    static const char *const inner[] = {"layer", "block", NULL};
    json_t *config = json_object_get(object, "layer");
    GNN_TRY(read_fields(block, block_field, object, inner, rows));
    GNN_TRY(check_counts(object));
    if (!config)
        return GNN_OK;
    const int rc = read_config(&block->layer, config, rows);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "field layer");
}

int gnn__steps_array(json_t **list, json_t *root)
{
    json_t *format = json_object_get(root, "format");
    *list = json_object_get(root, "steps");
    if (!json_is_array(*list) || !format || json_object_size(root) != 2)
        return gnn__error(GNN_EFORMAT, "an object of \"format\" and an array \"steps\" is expected");
    if (!json_is_integer(format) || json_integer_value(format) != 1)
        return gnn__error(GNN_EFORMAT, "format 1 is expected");
    if (json_array_size(*list) > GNN__MOST_STEPS_READ)
        return gnn__error(GNN_EFORMAT, "%zu steps, at most %d are read", json_array_size(*list),
                          GNN__MOST_STEPS_READ);
    return GNN_OK;
}

static int read_root(gnn__file_steps_t *steps, const gnn_rows_t *rows)
{
    json_t *list;
    GNN_TRY(gnn__steps_array(&list, steps->root));
    steps->count = (int64_t)json_array_size(list);
    GNN_TRY(gnn__new(&steps->list, steps->count, sizeof *steps->list, "a model's steps"));
    for (int64_t k = 0; k < steps->count; k++) {
        int rc = gnn__step_read(&steps->list[k], json_array_get(list, (size_t)k), rows);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "step %lld", (long long)k);
    }
    return GNN_OK;
}

int gnn__steps_read(gnn__file_steps_t *steps, const char *text, const gnn_rows_t *rows)
{
    memset(steps, 0, sizeof *steps);
    GNN_TRY(gnn__json_load(&steps->root, text));
    int rc = read_root(steps, rows);
    if (rc != GNN_OK)
        gnn__file_steps_free(steps);
    return rc;
}

void gnn__file_steps_free(gnn__file_steps_t *steps)
{
    json_decref(steps->root);
    gnn_free(steps->list);
    memset(steps, 0, sizeof *steps);
}

/* ---- comparison ---- */

/* Table entries of a step: the layer's and its op. */
enum { ROWS_OF_STEP = 7 + GNN_PRIORS };

static int64_t list_rows(const gnn_step_t *s, gnn_row_t *rows)
{
    const gnn_layer_config_t *c = &s->layer;
    const gnn_row_t named[] = {{"aggregator", c->aggregator},
                               {"message", c->message},
                               {"score", c->score},
                               {"update", c->update},
                               {"map", c->map},
                               {"weigher", c->weigher},
                               {"op", s->op}};
    int64_t count = 0;
    for (size_t k = 0; k < sizeof named / sizeof *named; k++)
        if (named[k].row)
            rows[count++] = named[k];
    for (int p = 0; p < GNN_PRIORS; p++)
        if (c->priors[p].prior)
            rows[count++] = (gnn_row_t){"prior", c->priors[p].prior};
    return count;
}

static int write_again(const char *text, const gnn_rows_t *rows, char **again)
{
    gnn_context_t *context = NULL;
    gnn_model_t *made = NULL;
    gnn__file_steps_t steps;
    GNN_TRY(gnn__steps_read(&steps, text, rows));
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = 1});
    if (rc == GNN_OK)
        rc = gnn_model_from_steps(&made, context, steps.count, steps.list);
    if (rc == GNN_OK)
        rc = gnn__steps_write(again, made);
    gnn_model_free(made);
    gnn_context_free(context);
    gnn__file_steps_free(&steps);
    return rc;
}

int gnn__steps_same(const char *text, const gnn_model_t *model, bool *same)
{
    const int64_t count = gnn_model_step_count(model);
    char *now = NULL, *again = NULL;
    gnn_row_t *list;
    gnn_rows_t rows = {0};
    int rc;
    *same = false;
    GNN_TRY(gnn__new(&list, count * ROWS_OF_STEP, sizeof *list, "entries of a model"));
    rows.list = list;
    for (int64_t k = 0; k < count; k++)
        rows.count += list_rows(gnn_model_step(model, k), list + rows.count);
    GNN_CHECK(gnn__steps_write(&now, model));
    *same = strcmp(now, text) == 0;
    if (*same)
        goto done;
    GNN_CHECK(write_again(text, &rows, &again));
    *same = strcmp(now, again) == 0;
done:
    gnn_free(now);
    gnn_free(again);
    gnn_free(list);
    return rc;
}
