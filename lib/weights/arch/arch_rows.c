/* The table of architectures, and the interpreter of the entries of one. */
#include <lib/weights/arch/arch.h>

#include <math.h>

/* ---- the table ---- */

static const struct {
    const gnn__arch_t *arch;
    gnn__arch_use_t use;
} table[] = {
#define GNN_ARCHITECTURE(name) {&gnn__arch_##name, GNN__ARCH_OF_MODELS},
#define GNN_MODULE(name) {&gnn__arch_##name, GNN__ARCH_OF_MODULES},
#define GNN_FILE(name) {&gnn__arch_##name, GNN__ARCH_OF_FILES},
#include <lib/weights/arch/architectures.def>
#undef GNN_ARCHITECTURE
#undef GNN_MODULE
#undef GNN_FILE
};

enum { ROWS = sizeof table / sizeof *table };

const gnn__arch_t *gnn__arch_at(size_t index, gnn__arch_use_t *use)
{
    if (index >= ROWS)
        return NULL;
    *use = table[index].use;
    return table[index].arch;
}

const gnn__arch_t *gnn__arch_find(const char *type, gnn__arch_use_t use)
{
    static const char *const uses[] = {"architecture", "module", "file"};
    char known[2048] = "";
    for (size_t k = 0; k < ROWS; k++) {
        if (table[k].use != use)
            continue;
        if (gnn__list_has(gnn__arch_types(table[k].arch), type))
            return table[k].arch;
        gnn__append_name(known, sizeof known, " ", gnn__arch_types(table[k].arch));
    }
    gnn__set_message("the %s \"%.80s\" is not known; known are: %s", uses[use], type, known);
    return NULL;
}

/* ---- the walk ---- */

typedef struct walk {
    gnn__arch_row_t *rows;
    int n_rows;
    gnn__scope_t *scope;
    gnn__arch_visit_t visit;
    void *user;
} walk_t;

enum { MOST_REPETITIONS = 1000 };

static const char *next_text(const char *text)
{
    return text + strlen(text) + 1;
}

/* Splits the long string into entries; with rows NULL, only counts. */
static int split_rows(const gnn__arch_t *arch, gnn__arch_row_t *rows)
{
    int n = 0;
    for (const char *at = arch->rows; at < arch->rows + arch->bytes; n++) {
        const char *name = at + 1, *second = next_text(name), *third = next_text(second);
        if (rows)
            rows[n] = (gnn__arch_row_t){(gnn__arch_verb_t)*at, name, second, third};
        at = next_text(third);
    }
    return n;
}

int gnn__arch_rows(const gnn__arch_t *arch, gnn__arch_row_t **rows, int *n_rows)
{
    *n_rows = split_rows(arch, NULL);
    GNN_TRY(gnn__new(rows, *n_rows, sizeof **rows, "rows of an architecture"));
    split_rows(arch, *rows);
    return GNN_OK;
}

/* The GNN_END that matches entry `k`. */
static int end_of(const walk_t *w, int k)
{
    int depth = 0;
    for (; k < w->n_rows; k++) {
        const gnn__arch_verb_t verb = w->rows[k].verb;
        depth += verb == GNN__ARCH_IF || verb == GNN__ARCH_REPEAT;
        if (verb == GNN__ARCH_END && --depth == 0)
            break;
    }
    return k;
}

static int set_name(gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    gnn__formula_value_t v;
    GNN_TRY(gnn__formula(scope, row->second, &v));
    if (v.kind == GNN__NUMBER && !isfinite(v.number))
        return gnn__error(GNN_EFORMAT, "%s: %s is %g: %s", scope->config_name, row->name, v.number,
                          row->second);
    return gnn__scope_name(scope, row->name, &v);
}

/* `task`: suffix of the class in config.json, which determines the head on the last hidden states:
 * "ForMaskedLM" of BertForMaskedLM, "" of BertModel. `headless`: not 0 where modules follow. */
static int name_head(const walk_t *w, const gnn__arch_part_t *part)
{
    gnn__scope_t *scope = w->scope;
    const json_t *classes = json_object_get(scope->config, "architectures");
    const char *class = part->headless ? NULL : json_string_value(json_array_get(classes, 0)),
               *end = class;
    gnn__formula_value_t v = {.kind = GNN__TEXT};
    static const char *const others[] = {"LMHeadModel", "WithLMHeadModel", "MTModel",
                                         "DoubleHeadsModel"};
    if (!json_object_get(scope->config, "model_type"))
        return GNN_OK;
    while (end && (end = strstr(end, "For")) && !(end[3] >= 'A' && end[3] <= 'Z'))
        end += 3;
    for (size_t k = 0; class && !end && k < sizeof others / sizeof *others; k++)
        end = strstr(class, others[k]);
    const size_t length = class ? strlen(class) : 0;
    const bool plain = length == 0 || (length >= 5 && strcmp(class + length - 5, "Model") == 0) ||
                       (length >= 7 && strcmp(class + length - 7, "Encoder") == 0);
    snprintf(v.text, sizeof v.text, "%s", end ? end : plain ? "" : class);
    GNN_TRY(gnn__arch_check_head(part, w->rows, w->n_rows, v.text));
    GNN_TRY(gnn__scope_name(scope, "task", &v));
    v = (gnn__formula_value_t){.kind = GNN__NUMBER, .number = part->headless};
    return gnn__scope_name(scope, "headless", &v);
}

static int walk(const walk_t *w, int from, int to);

static int walk_if(const walk_t *w, int from, int end)
{
    double holds;
    GNN_TRY(gnn__formula_number(w->scope, w->rows[from].second, &holds));
    return holds != 0 ? walk(w, from + 1, end) : GNN_OK;
}

static int walk_repeat(const walk_t *w, int from, int end)
{
    int64_t count;
    const int64_t outer = w->scope->number;
    GNN_TRY(gnn__formula_count(w->scope, w->rows[from].second, 0, MOST_REPETITIONS, &count));
    int rc = GNN_OK;
    for (int64_t k = 0; k < count && rc == GNN_OK; k++) {
        w->scope->number = k;
        rc = walk(w, from + 1, end);
    }
    w->scope->number = outer;
    return rc;
}

static int walk(const walk_t *w, int from, int to)
{
    for (int k = from; k < to; k++) {
        const gnn__arch_row_t *row = &w->rows[k];
        const bool group = row->verb == GNN__ARCH_IF || row->verb == GNN__ARCH_REPEAT;
        const int end = group ? end_of(w, k) : k;
        if (row->verb == GNN__ARCH_SET)
            GNN_TRY(set_name(w->scope, row));
        else if (row->verb == GNN__ARCH_IF)
            GNN_TRY(walk_if(w, k, end));
        else if (row->verb == GNN__ARCH_REPEAT)
            GNN_TRY(walk_repeat(w, k, end));
        else if (row->verb >= GNN__ARCH_KEY && row->verb <= GNN__ARCH_HEAD)
            GNN_TRY(gnn__arch_key(w->scope, row));
        else if (row->verb != GNN__ARCH_SERVES)
            GNN_TRY(w->visit(w->user, row, w->scope));
        k = end;
    }
    return GNN_OK;
}

int gnn__arch_walk(const gnn__arch_part_t *part, gnn__scope_t *scope, gnn__arch_visit_t visit,
                   void *user)
{
    walk_t w = {.scope = scope, .visit = visit, .user = user};
    GNN_TRY(gnn__arch_rows(part->arch, &w.rows, &w.n_rows));
    scope->config = part->config;
    scope->config_name = part->config_name;
    scope->weights = (gnn__folder_t *)&part->weights;
    scope->number = part->number;
    int rc = name_head(&w, part);
    if (rc == GNN_OK)
        rc = walk(&w, 0, w.n_rows);
    gnn_free(w.rows);
    return rc;
}

/* ---- closure ---- */

static bool is_model(const gnn__arch_t *arch)
{
    for (size_t k = 0; k < ROWS; k++)
        if (table[k].arch == arch)
            return table[k].use == GNN__ARCH_OF_MODELS;
    return false;
}

/* A model's config may have the keys of generation_config.json: old folders lack that file. */
int gnn__arch_check_keys(const gnn__arch_part_t *part)
{
    const gnn__arch_t *more = is_model(part->arch) ? &gnn__arch_generation_config : NULL;
    gnn__arch_row_t *rows = NULL;
    const int own = split_rows(part->arch, NULL), others = more ? split_rows(more, NULL) : 0;
    GNN_TRY(gnn__new(&rows, own + others, sizeof *rows, "rows of an architecture"));
    split_rows(part->arch, rows);
    if (more)
        split_rows(more, rows + own);
    const int rc = gnn__arch_check_object(part, rows, own + others);
    gnn_free(rows);
    return rc;
}

int gnn__arch_select_keys(json_t **selected, json_t *json, const gnn__arch_t *arch)
{
    gnn__arch_row_t *rows = NULL;
    const char *key;
    json_t *value;
    int n_rows, rc = GNN_OK;
    GNN_TRY(gnn__arch_rows(arch, &rows, &n_rows));
    *selected = json_object();
    if (!*selected)
        rc = gnn__error(GNN_EMEMORY, "no memory for keys");
    json_object_foreach(json, key, value) if (rc == GNN_OK && !json_is_null(value) &&
                                              gnn__arch_knows(rows, n_rows, key) &&
                                              json_object_set(*selected, key, value) != 0) rc =
        gnn__error(GNN_EMEMORY, "no memory for the key \"%.80s\"", key);
    gnn_free(rows);
    return rc;
}

static int visit_nothing(void *user, const gnn__arch_row_t *row, const gnn__scope_t *scope)
{
    (void)user, (void)row, (void)scope;
    return GNN_OK;
}

int gnn__arch_check_file(json_t *json, const char *file, const char *rows)
{
    const gnn__arch_t *arch = gnn__arch_find(rows, GNN__ARCH_OF_FILES);
    gnn__scope_t scope = {.names = json_object()};
    const gnn__arch_part_t part = {
        .arch = arch, .config = json, .config_name = file, .weights = {.prefix = ""}};
    if (!scope.names)
        return gnn__error(GNN_EMEMORY, "no memory for names");
    int rc = arch ? gnn__arch_check_keys(&part) : GNN_EINVALID;
    if (rc == GNN_OK)
        rc = gnn__arch_walk(&part, &scope, visit_nothing, NULL);
    json_decref(scope.names);
    return rc;
}

/* ---- settings ---- */

static void trim(const char **text, int *length)
{
    for (; *length > 0 && **text == ' '; (*length)--)
        (*text)++;
    while (*length > 0 && (*text)[*length - 1] == ' ')
        (*length)--;
}

bool gnn__setting_next(const char **text, gnn__setting_t *setting)
{
    const char *at = *text + strspn(*text, " ,");
    const char *sign = strchr(at, '=');
    if (!*at || !sign)
        return false;
    int depth = 0;
    const char *end = sign + 1;
    for (; *end && (*end != ',' || depth > 0); end++)
        depth += (*end == '(' || *end == '[') - (*end == ')' || *end == ']');
    *setting = (gnn__setting_t){at, sign + 1, (int)(sign - at), (int)(end - sign - 1)};
    trim(&setting->key, &setting->key_length);
    trim(&setting->value, &setting->value_length);
    *text = end;
    return true;
}
