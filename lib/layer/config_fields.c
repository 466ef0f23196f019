/* Fields of a layer's config: their kinds, names and ranges; setting and getting by name with
 * values as text, for options of programs and for bindings. And the tables of presets and
 * updates. */
#include <lib/aggregate/tables.h>
#include <lib/layer/config_fields.h>

#include <lib/layer/hop.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- presets ---- */

enum { DROP_IN = 1, DROP_ATTENTION = 2, DROP_MESSAGE = 4, DROP_OUT = 8 };

static const gnn__preset_row_t presets[] = {
    [GNN_PRESET_NONE] = {"none",
                         "",
                         DROP_IN | DROP_ATTENTION,
                         {.message = &gnn_message_linear,
                          .aggregator = &gnn_aggregator_sum,
                          .update = &gnn_update_none}},
#define GNN_PRESET(id, name, paper, dropouts, ...) \
    [GNN_PRESET_##id] = {name, paper, dropouts, {__VA_ARGS__}},
#include <lib/layer/presets.def>
#undef GNN_PRESET
};

const gnn__preset_row_t *gnn__preset_row(gnn_preset_t preset)
{
    return preset >= GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? &presets[preset] : NULL;
}

const char *gnn_preset_name(gnn_preset_t preset)
{
    return preset > GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? presets[preset].name : NULL;
}

static const char *preset_at(size_t index)
{
    return index + 1 < GNN_PRESET_COUNT ? presets[index + 1].name : NULL;
}

gnn_preset_t gnn_preset_find(const char *name)
{
    GNN__NEED_OR(name, GNN_PRESET_NONE);
    for (gnn_preset_t p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++)
        if (name && strcmp(name, presets[p].name) == 0)
            return p;
    gnn__unknown_name("preset", name, preset_at);
    return GNN_PRESET_NONE;
}

/* ---- updates ---- */

static const gnn_update_t *const updates[] = {
#define GNN_UPDATE(name) &gnn_update_##name,
#include <lib/layer/updates.def>
#undef GNN_UPDATE
};

enum { UPDATES = sizeof updates / sizeof *updates };

const gnn_update_t *gnn__update_at(size_t index)
{
    return index < UPDATES ? updates[index] : NULL;
}

static const char *update_name_at(size_t index)
{
    return index < UPDATES ? updates[index]->name : NULL;
}

const gnn_update_t *gnn_update_find(const char *name)
{
    GNN__NEED_OR(name, NULL);
    for (size_t k = 0; name && k < UPDATES; k++)
        if (strcmp(updates[k]->name, name) == 0)
            return updates[k];
    gnn__unknown_name("update", name, update_name_at);
    return NULL;
}

/* ---- names of enums, by value ---- */

#define WORDS(function, ...)                                                 \
    static const char *function(size_t number)                               \
    {                                                                        \
        static const char *const words[] = {__VA_ARGS__};                    \
        return number < sizeof words / sizeof *words ? words[number] : NULL; \
    }

WORDS(flag_word, "default", "on", "off")
WORDS(graph_norm_word, "default", "none", "symmetric", "row")
WORDS(heads_word, "default", "concat", "average")
WORDS(norm_word, "default", "none", "layer", "batch", "rms", "l2")
WORDS(norm_position_word, "default", "after", "before")

static const char *preset_word(size_t number)
{
    const gnn__preset_row_t *preset = gnn__preset_row((gnn_preset_t)number);
    return preset ? preset->name : NULL;
}

static const char *activation_word(size_t number)
{
    return number < GNN_ACTIVATION_COUNT ? gnn__activation_name((gnn_activation_t)number) : NULL;
}

_Static_assert(sizeof(gnn_flag_t) == sizeof(int), "enums are read as int");

/* ---- entries of tables ---- */

static const void *message_row(size_t index)
{
    return gnn__message_at(index);
}

static const void *aggregator_row(size_t index)
{
    return gnn__aggregator_at(index);
}

static const void *score_row(size_t index)
{
    return gnn__score_at(index);
}

static const void *update_row(size_t index)
{
    return gnn__update_at(index);
}

static const void *map_row(size_t index)
{
    return gnn__map_at(index);
}

static const void *weigher_row(size_t index)
{
    return gnn__weigher_at(index);
}

static const void *prior_row(size_t index)
{
    return gnn__prior_at(index);
}

/* ---- the kinds ---- */

const gnn__field_values_t
    gnn__kind_count = {"integer", .stored = GNN__STORED_COUNT},
    gnn__kind_real = {"real", .stored = GNN__STORED_REAL},
    gnn__kind_rate = {"rate", .stored = GNN__STORED_REAL, .below = true},
    gnn__kind_options = {"reals", .stored = GNN__STORED_LIST},
    gnn__kind_flag = {"flag", .stored = GNN__STORED_WORD, .word = flag_word},
    gnn__kind_preset = {"preset", .stored = GNN__STORED_WORD, .word = preset_word},
    gnn__kind_graph_norm = {"name", .stored = GNN__STORED_WORD, .word = graph_norm_word},
    gnn__kind_heads = {"name", .stored = GNN__STORED_WORD, .word = heads_word},
    gnn__kind_activation = {"activation", .stored = GNN__STORED_WORD, .word = activation_word},
    gnn__kind_norm = {"name", .stored = GNN__STORED_WORD, .word = norm_word},
    gnn__kind_norm_position = {"name", .stored = GNN__STORED_WORD, .word = norm_position_word},
    gnn__kind_message = {"message", .stored = GNN__STORED_ROW, .row = message_row},
    gnn__kind_aggregator = {"aggregator", .stored = GNN__STORED_ROW, .row = aggregator_row},
    gnn__kind_score = {"score", .stored = GNN__STORED_ROW, .row = score_row},
    gnn__kind_update = {"update", .stored = GNN__STORED_ROW, .row = update_row},
    gnn__kind_map = {"map", .stored = GNN__STORED_ROW, .row = map_row},
    gnn__kind_weigher = {"weigher", .stored = GNN__STORED_ROW, .row = weigher_row},
    gnn__kind_prior = {"prior", .stored = GNN__STORED_ROW, .row = prior_row};

int gnn__kind_word(const gnn__field_values_t *kind, const char *word)
{
    for (int k = 0; kind->word((size_t)k); k++)
        if (strcmp(kind->word((size_t)k), word) == 0)
            return k;
    return -1;
}

const void *gnn__kind_row(const gnn__field_values_t *kind, const char *name)
{
    char names[512] = "";
    const void *row;
    for (size_t k = 0; kind->row && (row = kind->row(k)); k++) {
        if (strcmp(gnn__row_name(row), name) == 0)
            return row;
        gnn__append_name(names, sizeof names, ", ", gnn__row_name(row));
    }
    if (kind->row)
        gnn__set_message("no %s is called \"%.40s\"; there are: %s", kind->name, name, names);
    else
        gnn__set_message("unknown %s \"%.40s\"", kind->name, name);
    return NULL;
}

bool gnn__config_old_aggregator(gnn_layer_config_t *config, const char *name)
{
    static const char *const old[] = {"dot", "additive", "additive_v2", "additive_tanh"};
    for (size_t k = 0; k < sizeof old / sizeof *old; k++)
        if (strcmp(old[k], name) == 0) {
            config->aggregator = &gnn_aggregator_attention;
            config->score = gnn_score_find(name);
            return true;
        }
    return false;
}

/* ---- the fields ---- */

static const gnn__field_row_t fields[] = {
#define GNN_FIELD(type, name, kind, initial, low, high, help) \
    GNN_FIELD_AT(name, name, kind, initial, low, high, help)
#define GNN_FIELD_ARRAY(type, name, count)
#define GNN_FIELD_AT(name, place, kind, initial, low, high, help) \
    {#name,                                                       \
     help,                                                        \
     &gnn__kind_##kind,                                           \
     offsetof(gnn_layer_config_t, place),                         \
     sizeof((gnn_layer_config_t *)NULL)->place,                   \
     initial,                                                     \
     low,                                                         \
     high},
#include <lib/layer/fields.def>
#undef GNN_FIELD
#undef GNN_FIELD_ARRAY
#undef GNN_FIELD_AT
};

enum { FIELDS = sizeof fields / sizeof *fields };

const gnn__field_row_t *gnn__config_field(size_t index)
{
    return index < FIELDS ? &fields[index] : NULL;
}

const gnn__field_row_t *gnn__config_find(const char *name)
{
    for (size_t k = 0; k < FIELDS; k++)
        if (strcmp(fields[k].name, name) == 0)
            return &fields[k];
    return NULL;
}

static int check_whole(const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value < low || value > high)
        return gnn__error(GNN_EINVALID, "config field .%s = %lld lies outside %lld..%lld", name,
                          (long long)value, (long long)low, (long long)high);
    return GNN_OK;
}

/* NaN lies outside. */
static int check_real(const gnn__field_row_t *f, double value)
{
    if (value >= f->low && (f->kind->below ? value < f->high : value <= f->high))
        return GNN_OK;
    return gnn__error(GNN_EINVALID, "config field .%s = %g lies outside [%g, %g%c", f->name, value,
                      f->low, f->high, f->kind->below ? ')' : ']');
}

static int64_t last_word(const gnn__field_values_t *kind)
{
    int64_t words = 0;
    while (kind->word((size_t)words))
        words++;
    return words - 1;
}

int gnn__config_check(const gnn__field_row_t *f, const gnn_layer_config_t *config)
{
    const void *place = gnn__field_place(f, config);
    switch (f->kind->stored) {
    case GNN__STORED_COUNT:
        return check_whole(f->name, *(const int64_t *)place, (int64_t)f->low, (int64_t)f->high);
    case GNN__STORED_REAL: return check_real(f, (double)*(const gnn_real_t *)place);
    case GNN__STORED_WORD: return check_whole(f->name, *(const int *)place, 0, last_word(f->kind));
    default: return GNN_OK;
    }
}

/* ---- descriptions for programs ---- */

int gnn_layer_config_field(size_t index, gnn_config_field_t *field)
{
    GNN__NEED(field);
    const gnn__field_row_t *f = gnn__config_field(index);
    if (!f)
        return gnn__error(GNN_ENOTFOUND, "a layer's config has no field %zu", index);
    *field = (gnn_config_field_t){.name = f->name,
                                  .kind = f->kind->name,
                                  .help = f->help,
                                  .initial = f->initial,
                                  .low = f->low,
                                  .high = f->high};
    return GNN_OK;
}

const char *gnn_layer_config_choice(const char *field, size_t index)
{
    GNN__NEED_OR(field, NULL);
    const gnn__field_row_t *f = gnn__config_find(field);
    if (!f)
        return NULL;
    if (f->kind->word)
        return f->kind->word(index);
    const void *row = f->kind->row ? f->kind->row(index) : NULL;
    return row ? gnn__row_name(row) : NULL;
}

static const char *field_name_at(size_t index)
{
    const gnn__field_row_t *f = gnn__config_field(index);
    return f ? f->name : NULL;
}

static int find_named(const gnn__field_row_t **field, const char *name)
{
    *field = gnn__config_find(name);
    return *field ? GNN_OK : gnn__unknown_name("config field", name, field_name_at);
}

/* ---- setting ---- */

static int refuse(const gnn__field_row_t *f, const char *value)
{
    return gnn__error(GNN_EINVALID, "config field .%s = \"%.40s\": expected a value of kind %s",
                      f->name, value, f->kind->name);
}

static int set_count(const gnn__field_row_t *f, int64_t *place, const char *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(value, &end, 10);
    if (end == value || *end || errno)
        return refuse(f, value);
    *place = number;
    return GNN_OK;
}

/* One real in the C locale's spelling, up to `end`, which may be a comma. */
static int read_number(const gnn__field_row_t *f, double *number, const char *value, char **end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "no memory for the C locale");
    *number = strtod_l(value, end, c);
    freelocale(c);
    return *end == value || !isfinite(*number) ? refuse(f, value) : GNN_OK;
}

/* A 0 that is written is meant to be 0. */
static int set_real(const gnn__field_row_t *f, gnn_real_t *place, const char *value)
{
    char *end;
    double number;
    GNN_TRY(read_number(f, &number, value, &end));
    if (*end)
        return refuse(f, value);
    *place = number == 0 ? GNN_ZERO : (gnn_real_t)number;
    return GNN_OK;
}

static int set_list(const gnn__field_row_t *f, double *place, const char *value)
{
    const size_t length = sizeof(gnn_options_t) / sizeof *place;
    char *end = NULL;
    for (size_t k = 0; k < length; k++) {
        GNN_TRY(read_number(f, &place[k], value, &end));
        if (*end != ',')
            break;
        value = end + 1;
    }
    return *end ? refuse(f, value) : GNN_OK;
}

static int set_word(const gnn__field_row_t *f, int *place, const char *value)
{
    *place = gnn__kind_word(f->kind, value);
    return *place < 0 ? gnn__unknown_name(f->name, value, f->kind->word) : GNN_OK;
}

static int set_row(const gnn__field_row_t *f, const void **place, const char *value)
{
    *place = gnn__kind_row(f->kind, value);
    return *place ? GNN_OK : GNN_ENOTFOUND;
}

static int set(const gnn__field_row_t *f, void *place, const char *value)
{
    memset(place, 0, f->size);
    if (strcmp(value, "default") == 0)
        return GNN_OK;
    switch (f->kind->stored) {
    case GNN__STORED_COUNT: return set_count(f, place, value);
    case GNN__STORED_REAL: return set_real(f, place, value);
    case GNN__STORED_WORD: return set_word(f, place, value);
    case GNN__STORED_ROW: return set_row(f, place, value);
    case GNN__STORED_LIST: return set_list(f, place, value);
    }
    return GNN_OK;
}

int gnn_layer_config_set(gnn_layer_config_t *config, const char *name, const char *value)
{
    GNN__NEED(name);
    GNN__NEED(value);
    const gnn__field_row_t *f;
    GNN__NEED(config);
    gnn_layer_config_t changed = *config;
    GNN_TRY(find_named(&f, name));
    if (strcmp(name, "aggregator") != 0 || !gnn__config_old_aggregator(&changed, value))
        GNN_TRY(set(f, (char *)&changed + f->offset, value));
    GNN_TRY(gnn__config_check(f, &changed));
    *config = changed;
    return GNN_OK;
}

/* ---- getting ---- */

static int write_list(char *text, size_t size, const double *list)
{
    return gnn__snprintf_c(text, size, "%.17g,%.17g,%.17g,%.17g", list[0], list[1], list[2], list[3]);
}

static int write_name(char *text, size_t size, const char *name)
{
    snprintf(text, size, "%s", name);
    return GNN_OK;
}

/* GNN_ZERO is written as 0. */
static int write_real(char *text, size_t size, double value)
{
    return gnn__snprintf_c(text, size, GNN_DOUBLE ? "%.17g" : "%.9g",
                           fabs(value) < 1e-30 ? 0 : value);
}

static int get(const gnn__field_row_t *f, const void *place, char *text, size_t size)
{
    const void *row;
    switch (f->kind->stored) {
    case GNN__STORED_COUNT:
        return gnn__snprintf_c(text, size, "%lld", (long long)*(const int64_t *)place);
    case GNN__STORED_REAL: return write_real(text, size, (double)*(const gnn_real_t *)place);
    case GNN__STORED_WORD:
        return write_name(text, size, f->kind->word((size_t) * (const int *)place));
    case GNN__STORED_ROW:
        row = *(const void *const *)place;
        return write_name(text, size, row ? gnn__row_name(row) : "default");
    case GNN__STORED_LIST: return write_list(text, size, place);
    }
    return GNN_OK;
}

int gnn_layer_config_get(const gnn_layer_config_t *config, const char *name, char *value,
                         size_t length)
{
    GNN__NEED(name);
    GNN__NEED(value);
    const gnn__field_row_t *f;
    char text[256];
    GNN__NEED(config);
    GNN_TRY(find_named(&f, name));
    GNN_TRY(gnn__config_check(f, config));
    GNN_TRY(get(f, gnn__field_place(f, config), text, sizeof text));
    if (strlen(text) >= length)
        return gnn__error(GNN_EOVERFLOW, "config field .%s = %s does not fit into %zu characters",
                          name, text, length);
    memcpy(value, text, strlen(text) + 1);
    return GNN_OK;
}
