/* Kinds of config fields: what the values of a field may be, and what they are called. */
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

/* ---- tables of rows ---- */

static const void *message_row(size_t index)
{
    return gnn_message_at(index);
}

static const void *aggregator_row(size_t index)
{
    return gnn_aggregator_at(index);
}

static const void *score_row(size_t index)
{
    return gnn_score_at(index);
}

static const void *update_row(size_t index)
{
    return gnn_update_at(index);
}

static const void *map_row(size_t index)
{
    return gnn_map_at(index);
}

static const void *weigher_row(size_t index)
{
    return gnn_weigher_at(index);
}

static const void *prior_row(size_t index)
{
    return gnn_prior_at(index);
}

/* ---- the kinds ---- */

const gnn__field_values_t
    gnn__kind_count = {"whole number", .stored = GNN__STORED_COUNT},
    gnn__kind_real = {"number", .stored = GNN__STORED_REAL},
    gnn__kind_rate = {"rate", .stored = GNN__STORED_REAL, .below = true},
    gnn__kind_options = {"numbers", .stored = GNN__STORED_LIST},
    gnn__kind_flag = {"flag", .stored = GNN__STORED_WORD, .word = flag_word},
    gnn__kind_preset = {"preset", .stored = GNN__STORED_WORD, .word = preset_word},
    gnn__kind_graph_norm = {"word", .stored = GNN__STORED_WORD, .word = graph_norm_word},
    gnn__kind_heads = {"word", .stored = GNN__STORED_WORD, .word = heads_word},
    gnn__kind_activation = {"activation", .stored = GNN__STORED_WORD, .word = activation_word},
    gnn__kind_norm = {"word", .stored = GNN__STORED_WORD, .word = norm_word},
    gnn__kind_norm_position = {"word", .stored = GNN__STORED_WORD, .word = norm_position_word},
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

/* Written so that NaN lies outside. */
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
