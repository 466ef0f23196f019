/* Converts the entries of an architecture to graph slots and steps. */
#include <lib/weights/arch/arch.h>

#include <ctype.h>
#include <lib/weights/config_json.h>
#include <lib/layer/config_fields.h>
#include <lib/model/steps.h>
#include <math.h>

typedef struct builder {
    gnn__arch_model_t *made;
    gnn_steps_t *steps;
} builder_t;

enum { MOST_FIELD = 400 };

/* Reals count up to here. */
#define MOST_WIDTH ((int64_t)1 << 53)

static int no_memory(void)
{
    return gnn__error(GNN_EMEMORY, "no memory for a step");
}

/* ---- graphs ---- */

/* A value is a formula, or a literal word. */
static bool is_formula(const char *value)
{
    return strpbrk(value, "$'") || isdigit((unsigned char)*value) || *value == '-' || *value == '(';
}

static int evaluate(const gnn__scope_t *scope, const char *value, gnn__formula_value_t *v)
{
    if (is_formula(value))
        return gnn__formula(scope, value, v);
    *v = (gnn__formula_value_t){.kind = GNN__TEXT};
    return gnn__scope_expand(scope, value, strlen(value), v->text, sizeof v->text);
}

/* Graphs of the same kind and width share a slot. */
static int find_slot(gnn__arch_model_t *made, const gnn__arch_graph_t *graph, int *slot)
{
    for (*slot = 0; *slot < made->n_graphs; (*slot)++)
        if (made->graphs[*slot].kind == graph->kind && made->graphs[*slot].width == graph->width)
            return GNN_OK;
    if (made->n_graphs == GNN__ARCH_GRAPHS)
        return gnn__error(GNN_EUNSUPPORTED, "more than %d kinds of graphs", (int)GNN__ARCH_GRAPHS);
    made->graphs[made->n_graphs++] = *graph;
    return GNN_OK;
}

static int add_graph(gnn__arch_model_t *made, const gnn__arch_row_t *row, const gnn__scope_t *scope)
{
    gnn__formula_value_t kind;
    gnn__arch_graph_t graph = {NULL, 0};
    char name[GNN__ARCH_NAME];
    int slot;
    GNN_TRY(gnn__scope_expand(scope, row->name, strlen(row->name), name, sizeof name));
    GNN_TRY(evaluate(scope, row->second, &kind));
    if (!(graph.kind = gnn__arch_graph_find(kind.text)))
        return GNN_ENOTFOUND;
    GNN_TRY(gnn__formula_count(scope, row->third, 0, MOST_WIDTH, &graph.width));
    GNN_TRY(find_slot(made, &graph, &slot));
    return json_object_set_new(made->slots, name, json_integer(slot)) == 0 ? GNN_OK : no_memory();
}

static int graph_slot(const gnn__arch_model_t *made, const gnn__scope_t *scope, const char *value,
                      json_t **json)
{
    gnn__formula_value_t name;
    GNN_TRY(evaluate(scope, value, &name));
    *json = json_incref(json_object_get(made->slots, name.text));
    return *json ? GNN_OK : gnn__error(GNN_EINVALID, "there is no graph %s", name.text);
}

/* ---- fields ---- */

static json_t *json_of_number(double x)
{
    return x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
}

/* "[a; b]": up to four values, the others are 0. */
static int list_value(const gnn__scope_t *scope, char *text, json_t **json)
{
    *json = json_array();
    char *at = text + 1;
    for (int k = 0; *json && k < GNN_ROW_OPTIONS; k++) {
        double x = 0;
        char *end = at ? strpbrk(at, ";]") : NULL, *next = end && *end == ';' ? end + 1 : NULL;
        if (end)
            *end = '\0';
        if (at)
            GNN_TRY(gnn__formula_number(scope, at + strspn(at, " "), &x));
        if (!isfinite(x))
            return gnn__error(GNN_EFORMAT, "%s: element %d of a list is %g", scope->config_name, k,
                              x);
        if (json_array_append_new(*json, json_real(x)) != 0)
            return no_memory();
        at = next;
    }
    return GNN_OK;
}

/* *json remains NULL for an empty word. */
static int field_value(const gnn__scope_t *scope, const char *value, json_t **json)
{
    gnn__formula_value_t v;
    GNN_TRY(evaluate(scope, value, &v));
    if (v.kind == GNN__NO_VALUE)
        return gnn__error(GNN_EFORMAT, "%s has no \"%s\"", scope->config_name, v.text);
    if (v.kind == GNN__NUMBER && !isfinite(v.number))
        return gnn__error(GNN_EFORMAT, "%s: %s is %g", scope->config_name, value, v.number);
    if (v.kind == GNN__TEXT && !v.text[0])
        return GNN_OK;
    *json = v.kind == GNN__NUMBER ? json_of_number(v.number) : json_string(v.text);
    return *json ? GNN_OK : no_memory();
}

static int add_field(const builder_t *b, const gnn__scope_t *scope, const gnn__setting_t *s,
                     json_t *step, json_t *layer)
{
    static const char own[] = "step.";
    char key[GNN__ARCH_NAME], value[MOST_FIELD];
    json_t *json = NULL;
    snprintf(key, sizeof key, "%.*s", s->key_length, s->key);
    snprintf(value, sizeof value, "%.*s", s->value_length, s->value);
    int rc = strcmp(key, "graph") == 0 ? graph_slot(b->made, scope, value, &json)
             : value[0] == '['         ? list_value(scope, value, &json)
                                       : field_value(scope, value, &json);
    if (rc != GNN_OK) {
        json_decref(json);
        return gnn__error_prefix(rc, "field %s", key);
    }
    const bool of_step = strncmp(key, own, sizeof own - 1) == 0;
    const char *field = of_step ? key + sizeof own - 1 : key;
    json_t *owner = layer && !of_step && gnn__config_find(key) ? layer : step;
    if (json && json_object_set_new(owner, field, json) != 0)
        return no_memory();
    return GNN_OK;
}

static bool has_config(const char *kind)
{
    for (int k = 0; k < GNN_STEP_COUNT; k++)
        if (strcmp(gnn__step_kind_name((gnn_step_kind_t)k), kind) == 0)
            return gnn__step_row((gnn_step_kind_t)k)->has_config;
    return false;
}

/* Entries may name a map or a prior by a formula that is empty, and its options next to it. */
static void drop_options_of_absent(json_t *layer)
{
    for (int p = -1; p < GNN_PRIORS; p++) {
        char name[16] = "map", options[32];
        if (p >= 0)
            snprintf(name, sizeof name, "prior_%d", p);
        snprintf(options, sizeof options, "%s_options", name);
        if (!json_object_get(layer, name))
            json_object_del(layer, options);
    }
}

static int fill_step(const builder_t *b, const gnn__arch_row_t *row, const gnn__scope_t *scope,
                     const char *name, json_t *object)
{
    gnn_step_t step = {0};
    gnn__setting_t setting;
    const bool configured = has_config(row->second);
    json_t *layer = configured ? json_object() : NULL;
    if (configured && json_object_set_new(object, "layer", layer) != 0)
        return no_memory();
    if (json_object_set_new(object, "kind", json_string(row->second)) != 0 ||
        json_object_set_new(object, "name", json_string(name)) != 0)
        return no_memory();
    for (const char *at = row->third; gnn__setting_next(&at, &setting);)
        GNN_TRY(add_field(b, scope, &setting, object, layer));
    drop_options_of_absent(layer);
    if (strcmp(row->second, "aggregate") == 0 && !json_object_get(layer, "aggregator"))
        return gnn__error(GNN_EINVALID, "an aggregation without an aggregator");
    GNN_TRY(gnn__step_read(&step, object, NULL));
    return gnn_steps_add(b->steps, &step);
}

static int add_step(const builder_t *b, const gnn__arch_row_t *row, const gnn__scope_t *scope)
{
    char name[GNN__ARCH_NAME];
    GNN_TRY(gnn__scope_expand(scope, row->name, strlen(row->name), name, sizeof name));
    json_t *object = json_object();
    const int rc = object ? fill_step(b, row, scope, name, object) : no_memory();
    json_decref(object);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", name);
}

static int visit(void *user, const gnn__arch_row_t *row, const gnn__scope_t *scope)
{
    const builder_t *b = user;
    if (row->verb == GNN__ARCH_GRAPH)
        return add_graph(b->made, row, scope);
    return row->verb == GNN__ARCH_STEP ? add_step(b, row, scope) : GNN_OK;
}

int gnn__arch_steps(gnn__arch_model_t *made, gnn_steps_t *steps, const gnn__arch_part_t *part,
                    gnn__scope_t *scope)
{
    builder_t b = {made, steps};
    return gnn__arch_walk(part, scope, visit, &b);
}
