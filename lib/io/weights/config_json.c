/* Steps and layer configs as JSON and back, exactly: reals are written with 17 digits, which gives back every bit of a float or a double.
 *
 *     {"format": 1, "steps": [{"kind": "layer", "name": "0", "layer": {"preset": "gat", "in": 1433, "heads": 8, ...}}, ...]}
 *
 * One table says what fields there are; an absent key is the default, an unknown one an error. Configs are written resolved, so that a file keeps its meaning
 * when a preset changes; a real that is 0 is then meant, and read as GNN_ZERO. */
#include <lib/io/weights/config_json.h>

#include <lib/base/base.h>
#include <lib/model/steps.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>

typedef enum {
    COUNT,
    NUMBER32,
    WORD,
    REAL,
    PLAIN_REAL,
    OPTIONS,
    MESSAGE,
    AGGREGATOR,
    UPDATE,
    OPERATION,
    TEXT
} kind_t;

typedef struct {
    const char *name;
    kind_t kind;
    size_t offset;
    const char *const *words; /* of a WORD, by value */
    int n_words;
} field_t;

/* ---- words of enums, by value ---- */

static const char *const preset_words[] = {
    [GNN_PRESET_NONE] = "none",
#define GNN_PRESET(id, name, ...) [GNN_PRESET_##id] = name,
#include <lib/layer/presets.def>
#undef GNN_PRESET
};
static const char *const flag_words[] = {"default", "on", "off"};
static const char *const graph_norm_words[] = {"default", "none", "symmetric", "row"};
static const char *const combine_words[] = {"default", "concat", "average"};
static const char *const activation_words[] = {"default", "identity", "relu",      "leaky_relu",
                                               "elu",     "gelu",     "gelu_tanh", "silu",
                                               "tanh",    "sigmoid",  "softplus"};
static const char *const distance_words[] = {"none", "slope", "table"};
static const char *const norm_words[] = {"default", "none", "layer", "batch", "rms"};
static const char *const position_words[] = {"default", "after", "before"};
static const char *const side_words[] = {"none", "receivers", "senders"};
static const char *const kind_words[] = {
#define GNN_STEP(id, name) #name,
#include <lib/model/steps.def>
#undef GNN_STEP
};

_Static_assert(sizeof(gnn_flag_t) == sizeof(int) && sizeof(gnn_step_kind_t) == sizeof(int),
               "enums are read as int");

/* ---- the fields ---- */

#define CONFIG(kind, field)                                        \
    {                                                              \
#field, kind, offsetof(gnn_layer_config_t, field), NULL, 0 \
    }
#define CONFIG_WORD(field, list)                                                              \
    {                                                                                         \
#field, WORD, offsetof(gnn_layer_config_t, field), list, sizeof list / sizeof list[0] \
    }

static const field_t config_fields[] = {
    CONFIG_WORD(preset, preset_words),
    CONFIG(COUNT, in),
    CONFIG(COUNT, in_dst),
    CONFIG(COUNT, out),
    CONFIG(COUNT, heads),
    CONFIG(COUNT, kv_heads),
    CONFIG(COUNT, d_k),
    CONFIG(COUNT, d_v),
    CONFIG(COUNT, edge_dim),
    CONFIG(COUNT, hidden),
    CONFIG(COUNT, feed_forward),
    CONFIG(MESSAGE, message),
    CONFIG(AGGREGATOR, aggregator),
    CONFIG(UPDATE, update),
    CONFIG(OPTIONS, options),
    CONFIG_WORD(self_loops, flag_words),
    CONFIG_WORD(graph_norm, graph_norm_words),
    CONFIG_WORD(combine, combine_words),
    CONFIG_WORD(share_weights, flag_words),
    CONFIG_WORD(self_term, flag_words),
    CONFIG_WORD(learn_eps, flag_words),
    CONFIG(REAL, eps),
    CONFIG_WORD(bias_project, flag_words),
    CONFIG_WORD(bias_out, flag_words),
    CONFIG_WORD(bias_update, flag_words),
    CONFIG_WORD(activation, activation_words),
    CONFIG_WORD(hidden_activation, activation_words),
    CONFIG(REAL, slope),
    CONFIG(REAL, scale),
    CONFIG_WORD(distance, distance_words),
    CONFIG(COUNT, distance_buckets),
    CONFIG_WORD(residual, flag_words),
    CONFIG_WORD(norm, norm_words),
    CONFIG_WORD(norm_position, position_words),
    CONFIG(REAL, norm_eps),
    CONFIG(PLAIN_REAL, dropout),
    CONFIG(REAL, dropout_in),
    CONFIG(REAL, dropout_attention),
    CONFIG(REAL, dropout_message),
    CONFIG(REAL, dropout_out),
};

static const field_t step_fields[] = {
#define GNN_STEP_NUMBER(kind, field) {#field, kind, offsetof(gnn_step_t, field), NULL, 0},
#define GNN_STEP_OTHER(kind, field) GNN_STEP_NUMBER(kind, field)
#define GNN_STEP_TEXT(field) GNN_STEP_NUMBER(TEXT, field)
#define GNN_STEP_WORD(words, field)                            \
    {#field, WORD, offsetof(gnn_step_t, field), words##_words, \
     sizeof words##_words / sizeof *words##_words},
#include <lib/model/step_fields.def>
#undef GNN_STEP_NUMBER
#undef GNN_STEP_OTHER
#undef GNN_STEP_TEXT
#undef GNN_STEP_WORD
};

#define LENGTH(list) (sizeof(list) / sizeof(list)[0])

/* ---- rows of tables, by name ---- */

static const void *find_message(const char *name)
{
    return gnn_message_find(name);
}

static const void *find_aggregator(const char *name)
{
    return gnn_aggregator_find(name);
}

static const void *find_update(const char *name)
{
    return gnn_update_find(name);
}

/* A row of any table begins with its name. */
static const struct {
    const char *name;
    const void *(*find)(const char *name); /* in the library's own table; NULL: there is none */
} tables[] = {[MESSAGE] = {"message", find_message},
              [AGGREGATOR] = {"aggregator", find_aggregator},
              [UPDATE] = {"update", find_update},
              [OPERATION] = {"op", NULL}};

static bool is_row(kind_t kind)
{
    return kind < LENGTH(tables) && tables[kind].name;
}

static const void *find_own(kind_t kind, const char *name)
{
    return tables[kind].find ? tables[kind].find(name) : NULL;
}

/* A row of the library, or one that the caller of gnn_model_load_with has; NULL with words. */
static const void *find_row(kind_t kind, const char *name, const gnn_rows_t *rows)
{
    char words[256];
    gnn__set_message("unknown %s \"%.40s\"", tables[kind].name, name);
    const void *found = find_own(kind, name); /* may have better words */
    for (int64_t k = 0; !found && rows && k < rows->count; k++) {
        const gnn_row_t *r = &rows->list[k];
        if (strcmp(r->table, tables[kind].name) == 0 &&
            strcmp(*(const char *const *)r->row, name) == 0)
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
    if (number < 0 || number >= f->n_words)
        return gnn__error(GNN_EINVALID, "field .%s = %d has no name", f->name, number);
    *value = json_string(f->words[number]);
    return GNN_OK;
}

/* Rows are found again by name: one of the user's may not be called what a row of the library is. */
static int write_row(json_t **value, const field_t *f, const char *const *row)
{
    const void *ours = row ? find_own(f->kind, *row) : NULL;
    if (ours && ours != (const void *)row)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s %s is not the library's of that name: a file cannot tell them apart",
                          tables[f->kind].name, *row);
    *value = row ? json_string(*row) : NULL;
    return GNN_OK;
}

/* *value stays NULL for a text or a row that is not there. */
static int write_value(json_t **value, const field_t *f, const void *place)
{
    if (is_row(f->kind))
        return write_row(value, f, *(const char *const *const *)place);
    switch (f->kind) {
    case COUNT: *value = json_integer(*(const int64_t *)place); return GNN_OK;
    case NUMBER32: *value = json_integer(*(const int *)place); return GNN_OK;
    case WORD: return write_word(value, f, *(const int *)place);
    case OPTIONS: *value = write_options(place); return GNN_OK;
    case TEXT:
        *value = *(const char *const *)place ? json_string(*(const char *const *)place) : NULL;
        return GNN_OK;
    default: *value = json_real((double)*(const gnn_real_t *)place); return GNN_OK;
    }
}

/* Is the field what it is when nobody writes it? */
static bool is_default(const field_t *f, const void *place)
{
    static const char zeros[sizeof(double[4])];
    const size_t bytes = f->kind == OPTIONS                         ? sizeof(double[4])
                         : f->kind == WORD || f->kind == NUMBER32   ? sizeof(int)
                         : f->kind == REAL || f->kind == PLAIN_REAL ? sizeof(gnn_real_t)
                                                                    : sizeof(int64_t);
    return memcmp(place, zeros, bytes) == 0;
}

/* `brief`: fields that have their defaults are left out. */
static int write_fields(json_t *object, const field_t *fields, size_t count, const void *from,
                        bool brief)
{
    for (size_t k = 0; k < count; k++) {
        const void *place = (const char *)from + fields[k].offset;
        json_t *value = NULL;
        if (brief && is_default(&fields[k], place))
            continue;
        GNN_TRY(write_value(&value, &fields[k], place));
        if (!value || json_object_set_new(object, fields[k].name, value) != 0)
            return gnn__error(
                GNN_EINVALID,
                "field .%s cannot be written: it is not finite or not UTF-8, or memory ran out",
                fields[k].name);
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
        rc = write_fields(object, step_fields, LENGTH(step_fields), &s->step, true);
    if (rc != GNN_OK || !s->row->has_config)
        return rc;
    config = json_object();
    if (json_object_set_new(object, "layer", config) != 0)
        return gnn__error(GNN_EMEMORY, "no memory for the steps");
    return write_fields(config, config_fields, LENGTH(config_fields),
                        s->layer ? gnn_layer_config(s->layer) : &s->step.layer, false);
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
    if (rc == GNN_OK) {
        *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
        rc = *text ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for the steps");
    }
    json_decref(root);
    return rc;
}

/* ---- reading ---- */

static const char *type_words(const json_t *value)
{
    static const char *const words[] = {"an object", "an array", "a string", "a whole number",
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
        return wrong_type("a whole number", value);
    if (json_integer_value(value) < low || json_integer_value(value) > high)
        return gnn__error(GNN_EFORMAT, "%lld lies outside %lld..%lld",
                          (long long)json_integer_value(value), (long long)low, (long long)high);
    *out = json_integer_value(value);
    return GNN_OK;
}

static int read_real(gnn_real_t *out, const json_t *value, bool zero_is_meant)
{
    if (!json_is_number(value))
        return wrong_type("a number", value);
    *out = (gnn_real_t)json_number_value(value);
    if (!isfinite(*out))
        return gnn__error(GNN_EFORMAT, "%g does not fit", json_number_value(value));
    if (*out == 0 && zero_is_meant)
        *out = GNN_ZERO;
    return GNN_OK;
}

static int read_word(int *out, const field_t *f, const json_t *value)
{
    for (int k = 0; k < f->n_words; k++)
        if (strcmp(f->words[k], json_string_value(value)) == 0) {
            *out = k;
            return GNN_OK;
        }
    return gnn__error(GNN_EFORMAT, "unknown value \"%.40s\"", json_string_value(value));
}

static int read_options(double *out, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 4)
        return wrong_type("an array of 4 numbers", value);
    for (size_t k = 0; k < 4; k++) {
        if (!json_is_number(json_array_get(value, k)))
            return wrong_type("a number", json_array_get(value, k));
        out[k] = json_number_value(json_array_get(value, k));
    }
    return GNN_OK;
}

/* A field of text: a word, the name of a row, or plain text, which stays the JSON's. */
static int read_text(const field_t *f, void *place, const json_t *value, const gnn_rows_t *rows)
{
    if (!json_is_string(value))
        return wrong_type("a string", value);
    const char *text = json_string_value(value);
    if (f->kind == WORD)
        return read_word(place, f, value);
    if (f->kind == TEXT)
        *(const char **)place = text;
    if (is_row(f->kind) && !(*(const void **)place = find_row(f->kind, text, rows)))
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
    case PLAIN_REAL: return read_real(place, value, f->kind == REAL);
    case OPTIONS: return read_options(place, value);
    default: return read_text(f, place, value, rows);
    }
}

static const field_t *find_field(const field_t *fields, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(fields[k].name, name) == 0)
            return &fields[k];
    return NULL;
}

/* `inner`: a key that somebody else reads, or NULL. */
static int read_fields(void *to, const field_t *fields, size_t count, json_t *object,
                       const char *inner, const gnn_rows_t *rows)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return wrong_type("an object", object);
    json_object_foreach(object, key, value)
    {
        const field_t *f = find_field(fields, count, key);
        if (inner && strcmp(key, inner) == 0)
            continue;
        if (!f)
            return gnn__error(GNN_EFORMAT, "unknown field \"%.40s\"", key);
        int rc = read_value(f, (char *)to + f->offset, value, rows);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "field %s", key);
    }
    return GNN_OK;
}

static int read_step(gnn_step_t *step, json_t *object, const gnn_rows_t *rows)
{
    GNN_TRY(read_fields(step, step_fields, LENGTH(step_fields), object, "layer", rows));
    json_t *config = json_object_get(object, "layer");
    if (gnn__step_row(step->kind)->has_config != (config != NULL))
        return gnn__error(GNN_EFORMAT, "a step of kind %s %s a field layer", kind_words[step->kind],
                          config ? "has" : "lacks");
    if (!config)
        return GNN_OK;
    int rc = read_fields(&step->layer, config_fields, LENGTH(config_fields), config, NULL, rows);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "field layer");
}

static int read_root(gnn__steps_t *steps, const gnn_rows_t *rows)
{
    json_t *list = json_object_get(steps->root, "steps"),
           *format = json_object_get(steps->root, "format");
    if (!json_is_array(list) || !format || json_object_size(steps->root) != 2)
        return gnn__error(GNN_EFORMAT, "an object of \"format\" and an array \"steps\" is expected");
    if (!json_is_integer(format) || json_integer_value(format) != 1)
        return gnn__error(GNN_EFORMAT, "format 1 is expected");
    steps->count = (int64_t)json_array_size(list);
    GNN_TRY(gnn__new(&steps->list, steps->count, sizeof *steps->list, "a model's steps"));
    for (int64_t k = 0; k < steps->count; k++) {
        int rc = read_step(&steps->list[k], json_array_get(list, (size_t)k), rows);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "step %lld", (long long)k);
    }
    return GNN_OK;
}

int gnn__steps_read(gnn__steps_t *steps, const char *text, const gnn_rows_t *rows)
{
    json_error_t error;
    memset(steps, 0, sizeof *steps);
    steps->root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!steps->root)
        return gnn__error(GNN_EFORMAT, "byte %d: %s", error.position, error.text);
    int rc = read_root(steps, rows);
    if (rc != GNN_OK)
        gnn__steps_free(steps);
    return rc;
}

void gnn__steps_free(gnn__steps_t *steps)
{
    json_decref(steps->root);
    gnn_free(steps->list);
    memset(steps, 0, sizeof *steps);
}
