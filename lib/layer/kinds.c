/* Kinds of config fields: what the values of a field may be, and what they are called. Every KIND in fields.def is a row here. */
#include <lib/layer/kinds.h>

#include <lib/ops/ops.h>
#include <stddef.h>

/* ---- words of enums, by value ---- */

#define WORDS(function, ...)                                                 \
    static const char *function(size_t number)                               \
    {                                                                        \
        static const char *const words[] = {__VA_ARGS__};                    \
        return number < sizeof words / sizeof *words ? words[number] : NULL; \
    }

WORDS(flag_word, "default", "on", "off")
WORDS(graph_norm_word, "default", "none", "symmetric", "row")
WORDS(heads_word, "default", "concat", "average")
WORDS(distance_word, "none", "slope", "table")
WORDS(norm_word, "default", "none", "layer", "batch", "rms")
WORDS(norm_position_word, "default", "after", "before")

static const char *preset_word(size_t number)
{
    const gnn__preset_t *preset = gnn__preset((gnn_preset_t)number);
    return preset ? preset->name : NULL;
}

static const char *activation_word(size_t number)
{
    return number <= GNN_SOFTPLUS ? gnn__activation_name((gnn_activation_t)number) : NULL;
}

_Static_assert(sizeof(gnn_flag_t) == sizeof(int), "enums are read as int");

/* ---- tables of rows ---- */

static const void *message_row(size_t index)
{
    return gnn_message_at(index);
}

static const void *aggregator_row(size_t index)
{
    return gnn_aggregator_at(index);
}

static const void *update_row(size_t index)
{
    return gnn_update_at(index);
}

/* ---- the kinds ---- */

enum {
    COUNT,
    REAL,
    RATE,
    OPTIONS,
    FLAG,
    PRESET,
    GRAPH_NORM,
    HEADS,
    ACTIVATION,
    DISTANCE,
    NORM,
    NORM_POSITION,
    MESSAGE,
    AGGREGATOR,
    UPDATE
};

static const gnn__kind_t kinds[] = {
    [COUNT] = {"whole number", GNN__STORED_COUNT},
    [REAL] = {"number", GNN__STORED_REAL},
    [RATE] = {"rate", GNN__STORED_REAL, .below = true},
    [OPTIONS] = {"numbers", GNN__STORED_LIST},
    [FLAG] = {"flag", GNN__STORED_WORD, .word = flag_word},
    [PRESET] = {"preset", GNN__STORED_WORD, .word = preset_word},
    [GRAPH_NORM] = {"word", GNN__STORED_WORD, .word = graph_norm_word},
    [HEADS] = {"word", GNN__STORED_WORD, .word = heads_word},
    [ACTIVATION] = {"activation", GNN__STORED_WORD, .word = activation_word},
    [DISTANCE] = {"word", GNN__STORED_WORD, .word = distance_word},
    [NORM] = {"word", GNN__STORED_WORD, .word = norm_word},
    [NORM_POSITION] = {"word", GNN__STORED_WORD, .word = norm_position_word},
    [MESSAGE] = {"message", GNN__STORED_ROW, .row = message_row},
    [AGGREGATOR] = {"aggregator", GNN__STORED_ROW, .row = aggregator_row},
    [UPDATE] = {"update", GNN__STORED_ROW, .row = update_row},
};

int gnn__kind_word(const gnn__kind_t *kind, const char *word)
{
    for (int k = 0; kind->word((size_t)k); k++)
        if (strcmp(kind->word((size_t)k), word) == 0)
            return k;
    return -1;
}

static void list_rows(const gnn__kind_t *kind, const char *name)
{
    char names[512] = "";
    for (size_t k = 0; kind->row(k); k++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "",
                 gnn__row_name(kind->row(k)));
    }
    gnn__set_message("no %s is called \"%.40s\"; there are: %s", kind->name, name, names);
}

const void *gnn__kind_row(const gnn__kind_t *kind, const char *name)
{
    for (size_t k = 0; kind->row(k); k++)
        if (strcmp(gnn__row_name(kind->row(k)), name) == 0)
            return kind->row(k);
    list_rows(kind, name);
    return NULL;
}

/* ---- the fields ---- */

static const gnn__config_field_t fields[] = {
#define GNN_FIELD(type, name, kind, initial, low, high, help) \
    {#name,                                                   \
     help,                                                    \
     &kinds[kind],                                            \
     offsetof(gnn_layer_config_t, name),                      \
     sizeof((gnn_layer_config_t *)NULL)->name,                \
     initial,                                                 \
     low,                                                     \
     high},
#include <lib/layer/fields.def>
#undef GNN_FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

const gnn__config_field_t *gnn__config_field(size_t index)
{
    return index < FIELDS ? &fields[index] : NULL;
}

const gnn__config_field_t *gnn__config_find(const char *name)
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

/* Written so that NaN lies outside. */
static int check_real(const gnn__config_field_t *f, double value)
{
    if (value >= f->low && (f->kind->below ? value < f->high : value <= f->high))
        return GNN_OK;
    return gnn__error(GNN_EINVALID, "config field .%s = %g lies outside [%g, %g%c", f->name, value,
                      f->low, f->high, f->kind->below ? ')' : ']');
}

static int64_t last_word(const gnn__kind_t *kind)
{
    int64_t words = 0;
    while (kind->word((size_t)words))
        words++;
    return words - 1;
}

int gnn__config_check(const gnn__config_field_t *f, const gnn_layer_config_t *config)
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
