/* Keys of a JSON file: each is read by an entry, harmless, or expected to have a value; all others
 * are errors, so that no setting is silently ignored. */
#include <lib/weights/arch/arch.h>

#include <lib/data/arrays/json_text.h>

#include <math.h>
#include <stdlib.h>

enum { MOST_PATH = 160, SHOWN = 80 };

/* ---- names ---- */

int gnn__scope_name(gnn__scope_t *scope, const char *name, const gnn__formula_value_t *v)
{
    json_t *json = v->kind == GNN__NUMBER ? json_real(v->number)
                   : v->kind == GNN__TEXT ? json_string(v->text)
                                          : json_pack("{ss}", GNN__ABSENT, v->text);
    return json_object_set_new(scope->names, name, json) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for a name");
}

/* ---- values in messages ---- */

/* A value as in the file, truncated; omitted from the message if out of memory. */
static void show(const json_t *value, char *text)
{
    char *whole = NULL;
    if (value)
        gnn__json_write(&whole, value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    snprintf(text, SHOWN, "%.*s%s", SHOWN - 8, whole ? whole : "(nothing)",
             whole && strlen(whole) > SHOWN - 8 ? " ..." : "");
    gnn_free(whole);
}

static int unexpected(const char *file, const char *key, const json_t *value, const char *expected)
{
    char shown[SHOWN];
    show(value, shown);
    return gnn__error(GNN_EUNSUPPORTED, "%s: \"%s\" is %s, %s is expected", file, key, shown,
                      expected);
}

/* The value of "a.b"; NULL: absent. */
static const json_t *value_of(const json_t *object, const char *path)
{
    char key[MOST_PATH];
    for (const char *at = path; object; at++) {
        const int length = (int)strcspn(at, ".");
        snprintf(key, sizeof key, "%.*s", length, at);
        object = json_object_get(object, key);
        at += length;
        if (!*at)
            break;
    }
    return object;
}

/* ---- kinds of values ---- */

static bool is_count(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 1 && json_integer_value(v) <= INT32_MAX;
}

static bool is_size(const json_t *v)
{
    return is_count(v) || (json_is_integer(v) && json_integer_value(v) == 0);
}

static bool is_number(const json_t *v)
{
    return json_is_number(v) && isfinite(json_number_value(v));
}

static bool is_positive(const json_t *v)
{
    return is_number(v) && json_number_value(v) > 0;
}

static bool is_flag(const json_t *v)
{
    return json_is_boolean(v);
}

static bool is_word(const json_t *v)
{
    return json_is_string(v) && json_string_length(v) > 0;
}

static bool is_integer(const json_t *v)
{
    return json_is_integer(v);
}

static bool is_text(const json_t *v)
{
    return json_is_string(v);
}

/* A special token: its text, or an object with it. */
static bool is_token(const json_t *v)
{
    return json_is_string(v) || json_is_string(json_object_get(v, "content"));
}

static bool is_list(const json_t *v)
{
    return json_is_array(v);
}

static bool is_object(const json_t *v)
{
    return json_is_object(v);
}

/* Kinds of GNN_KEY: "count[]" is a list of them, "count|word" one or the other; with a final ? the
 * value may be null, which counts as absent. */
static const struct kind {
    const char *name, *one, *many;
    bool (*is)(const json_t *v);
} kinds[] = {{"count", "an integer of at least 1", "integers of at least 1", is_count},
             {"size", "an integer of at least 0", "integers of at least 0", is_size},
             {"integer", "an integer", "integers", is_integer},
             {"number", "a number", "numbers", is_number},
             {"positive", "a number above 0", "numbers above 0", is_positive},
             {"flag", "true or false", "true and false", is_flag},
             {"word", "a text", "texts", is_word},
             {"text", "a text, empty or not", "texts", is_text},
             {"token", "a token's text or an object with its \"content\"", "tokens", is_token},
             {"list", "a list", "lists", is_list},
             {"object", "an object", "objects", is_object}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The kind of a name; NULL: there is none. */
static const struct kind *kind_of(const char *name, size_t length)
{
    for (size_t k = 0; k < KINDS; k++)
        if (strncmp(kinds[k].name, name, length) == 0 && !kinds[k].name[length])
            return &kinds[k];
    return NULL;
}

static size_t without_list(const char *name, size_t length)
{
    return length > 2 && memcmp(name + length - 2, "[]", 2) == 0 ? length - 2 : 0;
}

static bool holds(const char *name, size_t length, const json_t *value)
{
    const size_t inner = without_list(name, length);
    const struct kind *kind = inner ? NULL : kind_of(name, length);
    bool all = json_is_array(value);
    for (size_t k = 0; inner && all && k < json_array_size(value); k++)
        all = holds(name, inner, json_array_get(value, k));
    return inner ? all : kind && kind->is(value);
}

/* Appends " or a list of lists of integers"; false: there is no such kind. */
static bool describe(char *text, size_t size, const char *name, size_t length)
{
    const size_t n = strlen(text);
    int depth = 0;
    for (size_t inner; (inner = without_list(name, length)) > 0; depth++)
        length = inner;
    const struct kind *kind = kind_of(name, length);
    if (kind)
        snprintf(text + n, size - n, "%s%s%s%s", n > 0 ? " or " : "", depth > 0 ? "a list of " : "",
                 depth > 1 ? "lists of " : "", depth > 0 ? kind->many : kind->one);
    return kind != NULL;
}

static int check_kind(const gnn__scope_t *scope, const gnn__arch_row_t *row, const json_t *value)
{
    char expected[GNN__FORMULA_TEXT] = "";
    const char *end = row->second + strcspn(row->second, "?");
    if (*end && json_is_null(value))
        return GNN_OK;
    for (const char *at = row->second; at < end;) {
        const size_t length = strcspn(at, "|?");
        if (holds(at, length, value))
            return GNN_OK;
        if (!describe(expected, sizeof expected, at, length))
            return gnn__error(GNN_EINVALID, "%s: there is no kind of value \"%s\"", row->name,
                              row->second);
        at += length + (at[length] == '|');
    }
    return unexpected(scope->config_name, row->name, value, expected);
}

/* ---- rows about keys ---- */

/* A value of the file overrides the same name of an earlier part. */
static int take_key(gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    const json_t *value = value_of(scope->config, row->name);
    if (value) {
        json_object_del(scope->names, row->name);
        return check_kind(scope, row, value);
    }
    gnn__formula_value_t v;
    if (!*row->third) {
        json_object_del(scope->names, row->name);
        return GNN_OK;
    }
    GNN_TRY(gnn__formula(scope, row->third, &v));
    return gnn__scope_name(scope, row->name, &v);
}

static bool is_equal(const json_t *value, const gnn__formula_value_t *v)
{
    if (!value || json_is_null(value))
        return !value || v->kind == GNN__NO_VALUE || (v->kind == GNN__NUMBER && v->number == 0);
    if (json_is_boolean(value))
        return v->kind == GNN__NUMBER && v->number == (double)json_is_true(value);
    if (json_is_number(value))
        return v->kind == GNN__NUMBER && v->number == json_number_value(value);
    return json_is_string(value) && v->kind == GNN__TEXT &&
           strcmp(json_string_value(value), v->text) == 0;
}

static int expect(const gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    gnn__formula_value_t v;
    const json_t *value = value_of(scope->config, row->name);
    char expected[GNN__FORMULA_TEXT + 16];
    GNN_TRY(gnn__formula(scope, row->second, &v));
    if (is_equal(value, &v))
        return GNN_OK;
    if (v.kind == GNN__NUMBER && json_is_boolean(value))
        snprintf(expected, sizeof expected, "%s", v.number != 0 ? "true" : "false");
    else if (v.kind == GNN__NUMBER)
        snprintf(expected, sizeof expected, "%.9g", v.number);
    else
        snprintf(expected, sizeof expected, v.kind == GNN__TEXT ? "\"%s\"" : "null", v.text);
    return unexpected(scope->config_name, row->name, value, expected);
}

static int need(const gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    double holds;
    char expected[2 * GNN__FORMULA_TEXT + MOST_PATH];
    GNN_TRY(gnn__formula_number(scope, row->second, &holds));
    if (holds != 0)
        return GNN_OK;
    GNN_TRY(gnn__scope_expand(scope, row->third, strlen(row->third), expected, sizeof expected));
    return unexpected(scope->config_name, row->name, value_of(scope->config, row->name), expected);
}

/* Checks that the array of the config's head is present. */
static int check_head(const gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    const char *head = json_string_value(json_object_get(scope->names, "task"));
    char array[MOST_PATH];
    GNN_TRY(gnn__scope_expand(scope, row->second, strlen(row->second), array, sizeof array));
    if (!head || !*head || !gnn__list_has(row->name, head) || !*array ||
        gnn__folder_find(scope->weights, array))
        return GNN_OK;
    return gnn__error(GNN_ENOTFOUND,
                      "%s: \"architectures\" names a class that ends in %s, and there is no array "
                      "%s%s",
                      scope->config_name, head, scope->weights->prefix, array);
}

/* Is the count of rows that of words, by a key of the config or its default? */
static bool are_words(const gnn__arch_part_t *part, const json_t *names, const char *key, int64_t rows)
{
    const json_t *own = json_object_get(part->config, key),
                 *words = json_is_number(own) ? own : json_object_get(names, key);
    return json_is_number(words) && (int64_t)json_number_value(words) == rows;
}

/* Does the head have one logit per class? A folder that names no head has such a one if its logits
 * are not of words. */
static bool has_classes(const gnn__arch_part_t *part, const json_t *names, int64_t rows)
{
    const char *task = json_string_value(json_object_get(names, "task"));
    return task && *task ? gnn__list_has("ForSequenceClassification ForTokenClassification "
                                         "ForImageClassification ForQuestionAnswering",
                                         task)
                         : !are_words(part, names, "vocab_size", rows) &&
                               !are_words(part, names, "decoder_vocab_size", rows);
}

int gnn__arch_check_classes(const gnn__arch_part_t *part, const json_t *names, int64_t rows)
{
    enum { BY_DEFAULT = 2 };
    const char *task = json_string_value(json_object_get(names, "task"));
    const json_t *labels = json_object_get(part->config, "id2label"),
                 *count = json_object_get(part->config, "num_labels");
    const bool named = json_is_object(labels), counted = json_is_integer(count);
    if (!has_classes(part, names, rows) || ((!task || !*task) && !named && !counted))
        return GNN_OK;
    const bool other_count = counted && json_integer_value(count) != rows;
    const int64_t classes = other_count ? (int64_t)json_integer_value(count)
                            : named     ? (int64_t)json_object_size(labels)
                            : counted   ? rows
                                        : BY_DEFAULT;
    return classes == rows
               ? GNN_OK
               : gnn__error(GNN_ESHAPE,
                            "%s: \"%s\" has %lld classes%s, %lld are expected, the rows of the "
                            "head's array",
                            part->config_name, other_count ? "num_labels" : "id2label",
                            (long long)classes, named || counted ? "" : " where it is missing",
                            (long long)rows);
}

int gnn__arch_key(gnn__scope_t *scope, const gnn__arch_row_t *row)
{
    return row->verb == GNN__ARCH_KEY      ? take_key(scope, row)
           : row->verb == GNN__ARCH_EXPECT ? expect(scope, row)
           : row->verb == GNN__ARCH_NEED   ? need(scope, row)
           : row->verb == GNN__ARCH_HEAD   ? check_head(scope, row)
                                           : GNN_OK;
}

/* ---- closure ---- */

typedef struct closure {
    const char *file;
    const gnn__arch_row_t *rows;
    int n_rows;
} closure_t;

/* Does an entry handle a key? *inside: entries handle keys of its object, which are then checked,
 * too. */
static bool is_known(const closure_t *c, const char *key, bool *inside)
{
    const size_t length = strlen(key);
    bool known = false;
    *inside = false;
    for (int k = 0; k < c->n_rows; k++) {
        const gnn__arch_row_t *row = &c->rows[k];
        if (row->verb < GNN__ARCH_KEY || row->verb >= GNN__ARCH_HEAD)
            continue;
        const bool harmless = row->verb == GNN__ARCH_HARMLESS;
        known = known || (harmless ? gnn__list_has(row->name, key) : strcmp(row->name, key) == 0);
        *inside = *inside ||
                  (!harmless && strncmp(row->name, key, length) == 0 && row->name[length] == '.');
    }
    return known || *inside;
}

bool gnn__arch_knows(const gnn__arch_row_t *rows, int n_rows, const char *key)
{
    const closure_t c = {.rows = rows, .n_rows = n_rows};
    bool inside;
    return is_known(&c, key, &inside);
}

static int check_object(const closure_t *c, json_t *object, const char *path)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char full[MOST_PATH];
        bool inside;
        snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "", key);
        if (!is_known(c, full, &inside))
            return unexpected(c->file, full, value, "a key that is known here");
        if (inside && json_is_object(value) && strlen(full) < MOST_PATH - 1)
            GNN_TRY(check_object(c, value, full));
    }
    return GNN_OK;
}

/* Checks that the config's head is supported by the entries. */
static int check_heads(const closure_t *c, const char *head, const json_t *classes)
{
    char known[512] = "a class that ends in Model";
    for (int k = 0; k < c->n_rows; k++) {
        if (c->rows[k].verb != GNN__ARCH_HEAD)
            continue;
        if (gnn__list_has(c->rows[k].name, head))
            return GNN_OK;
        gnn__append_name(known, sizeof known, " or ", c->rows[k].name);
    }
    return *head ? unexpected(c->file, "architectures", classes, known) : GNN_OK;
}

int gnn__arch_check_head(const gnn__arch_part_t *part, const gnn__arch_row_t *rows, int n_rows,
                         const char *head)
{
    const closure_t c = {part->config_name, rows, n_rows};
    return check_heads(&c, head, json_object_get(part->config, "architectures"));
}

int gnn__arch_check_object(const gnn__arch_part_t *part, const gnn__arch_row_t *rows, int n_rows)
{
    const closure_t c = {part->config_name, rows, n_rows};
    return check_object(&c, part->config, "");
}
