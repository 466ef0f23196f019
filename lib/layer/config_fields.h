/* The fields of a layer's config as a table, and the kinds of their values. */
#ifndef GNN_LIB_LAYER_CONFIG_FIELDS_H
#define GNN_LIB_LAYER_CONFIG_FIELDS_H

#include <lib/layer/layer.h>

/* Storage of the value of a field. */
typedef enum {
    GNN__STORED_COUNT, /* int64_t */
    GNN__STORED_REAL,  /* gnn_real_t; GNN_ZERO is a 0 that is meant to be 0 */
    GNN__STORED_WORD,  /* an enum; 0 is the default, or the first name */
    GNN__STORED_ROW,   /* a pointer to an entry, whose first member is its name */
    GNN__STORED_LIST   /* gnn_options_t */
} gnn__stored_t;

/* The values that a kind of fields may have. */
typedef struct gnn__field_values {
    const char *name; /* in the table of docs/layer.md */
    gnn__stored_t stored;
    bool below; /* a real that must be less than the upper end of its range */
    const char *(*word)(size_t number); /* the name of an enum's value; NULL past the last */
    const void *(*row)(size_t index); /* the entry of a table; NULL past the last. NULL: no table */
} gnn__field_values_t;

extern const gnn__field_values_t gnn__kind_count, gnn__kind_real, gnn__kind_rate, gnn__kind_options,
    gnn__kind_flag, gnn__kind_preset, gnn__kind_graph_norm, gnn__kind_heads, gnn__kind_activation,
    gnn__kind_norm, gnn__kind_norm_position, gnn__kind_message, gnn__kind_aggregator,
    gnn__kind_score, gnn__kind_update, gnn__kind_map, gnn__kind_weigher, gnn__kind_prior;

/* An entry of fields.def. */
typedef struct gnn__field_row {
    const char *name, *help;
    const gnn__field_values_t *kind;
    size_t offset, size;
    double initial, low, high;
} gnn__field_row_t;

/* Field `index`; NULL past the last. */
const gnn__field_row_t *gnn__config_field(size_t index);
/* The field of a name, or NULL. */
const gnn__field_row_t *gnn__config_find(const char *name);
/* The enum's value of a name, -1 if there is none. */
int gnn__kind_word(const gnn__field_values_t *kind, const char *word);
/* The entry of a name in the kind's table; NULL with a message that lists the names. */
const void *gnn__kind_row(const gnn__field_values_t *kind, const char *name);
/* Names of aggregators in files and settings that are older than the table of scores: "dot",
 * "additive", "additive_v2" and "additive_tanh" set .aggregator to attention and .score to the
 * entry of that name. False: it is not such a name, nothing is set. */
bool gnn__config_old_aggregator(gnn_layer_config_t *config, const char *name);
/* GNN_OK, or GNN_EINVALID with the field's name, value and range. */
int gnn__config_check(const gnn__field_row_t *field, const gnn_layer_config_t *config);

static inline const char *gnn__row_name(const void *row)
{
    return *(const char *const *)row;
}
static inline const void *gnn__field_place(const gnn__field_row_t *field,
                                           const gnn_layer_config_t *config)
{
    return (const char *)config + field->offset;
}

/* Entry `index` of the table of updates, from 0; NULL past the last. */
const gnn_update_t *gnn__update_at(size_t index);

#endif
