/* Formulas: parsed and evaluated in one pass. */
#include <lib/weights/arch/formula.h>

#include <lib/weights/arch/arch.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

typedef gnn__formula_value_t value_t;

typedef struct reader {
    const gnn__scope_t *scope;
    const char *formula, *at;
    int rc;
} reader_t;

static value_t choice(reader_t *r);

/* ---- values ---- */

/* As much of n characters as `size` holds, and a zero; n. Formulas are read for each entry of an
 * architecture, and printf took most of the time in which a model opens. */
static size_t put(char *out, size_t size, const char *at, size_t n)
{
    const size_t fits = n < size ? n : size - 1;
    memcpy(out, at, fits);
    out[fits] = '\0';
    return n;
}

static value_t nothing(const char *name)
{
    value_t v = {.kind = GNN__NO_VALUE};
    put(v.text, sizeof v.text, name, strlen(name));
    return v;
}

static value_t number(double x)
{
    return (value_t){.kind = GNN__NUMBER, .number = x};
}

static bool is_true(const value_t *v)
{
    return v->kind == GNN__TEXT ? v->text[0] != '\0' : v->kind == GNN__NUMBER && v->number != 0;
}

static void wrong(reader_t *r, const char *what)
{
    if (r->rc == GNN_OK)
        r->rc = gnn__error(GNN_EINVALID, "formula %s: %s at \"%.20s\"", r->formula, what, r->at);
}

static value_t text(reader_t *r, const char *name, const char *words)
{
    value_t v = {.kind = GNN__TEXT};
    const size_t length = put(v.text, sizeof v.text, words, strlen(words));
    if (length >= sizeof v.text && r->rc == GNN_OK)
        r->rc = gnn__error(GNN_EFORMAT, "%s: \"%s\" has %zu characters, at most %d are read",
                           r->scope->config_name, name, length, GNN__FORMULA_TEXT - 1);
    return v;
}

/* Lists and objects are only indexed into; as values they become a descriptive text. */
static value_t of_json(reader_t *r, const char *name, const json_t *json, bool named)
{
    const json_t *absent = named ? json_object_get(json, GNN__ABSENT) : NULL;
    if (!json || json_is_null(json) || absent)
        return nothing(absent ? json_string_value(absent) : name);
    if (json_is_number(json))
        return number(json_number_value(json));
    if (json_is_boolean(json))
        return number(json_is_true(json));
    return text(r, name, json_is_string(json) ? json_string_value(json) : "(a list)");
}

/* ---- reading ---- */

static void skip_blanks(reader_t *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader_t *r, const char *sign)
{
    skip_blanks(r);
    if (strncmp(r->at, sign, strlen(sign)) != 0)
        return false;
    r->at += strlen(sign);
    return true;
}

static void need(reader_t *r, const char *sign)
{
    if (!take(r, sign))
        wrong(r, sign);
}

/* Letters, digits and '_'. `name` has GNN__FORMULA_TEXT characters. */
static void take_name(reader_t *r, char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_')
        length++;
    put(name, GNN__FORMULA_TEXT, r->at, length);
    r->at += length;
}

/* The value at a path of keys, in the names of SET or else in the config. */
static const json_t *start(reader_t *r, char *name, bool *named)
{
    const json_t *json;
    const bool given = *r->at == '{';
    if (!given)
        take_name(r, name);
    const char *end = given ? strchr(r->at, '}') : NULL;
    if (given && end) {
        const int rc =
            gnn__scope_expand(r->scope, r->at, (size_t)(end - r->at) + 1, name, GNN__FORMULA_TEXT);
        r->rc = r->rc == GNN_OK ? rc : r->rc;
        r->at = end + 1;
    }
    json = json_object_get(r->scope->names, name);
    *named = json != NULL;
    for (const char *at = name; !json || at != name;) {
        char key[GNN__FORMULA_TEXT];
        const size_t length = strcspn(at, ".");
        put(key, sizeof key, at, length);
        json = json_object_get(at == name ? r->scope->config : json, key);
        at += length;
        if (!json || !*at++)
            break;
    }
    return json;
}

/* $name with its look-ups; ${name} if a named text has the path. */
static value_t variable(reader_t *r)
{
    char name[GNN__FORMULA_TEXT], shown[GNN__FORMULA_TEXT];
    bool named;
    const json_t *json = start(r, name, &named);
    put(shown, sizeof shown, name, strlen(name));
    for (;;) {
        if (*r->at == '.' && r->at++) {
            take_name(r, name);
            json = json_object_get(json, name);
        } else if (*r->at == '[' && r->at++) {
            const value_t index = choice(r);
            need(r, "]");
            json = index.kind == GNN__NUMBER && index.number >= 0 && index.number < 1e6
                       ? json_array_get(json, (size_t)index.number)
                       : NULL;
        } else {
            return of_json(r, shown, json, named);
        }
    }
}

static value_t quoted(reader_t *r)
{
    value_t v = {.kind = GNN__TEXT};
    const char *end = strchr(r->at, '\'');
    if (!end) {
        wrong(r, "no closing quote");
        return v;
    }
    const int rc = gnn__scope_expand(r->scope, r->at, (size_t)(end - r->at), v.text, sizeof v.text);
    r->rc = r->rc == GNN_OK ? rc : r->rc;
    r->at = end + 1;
    return v;
}

/* ---- functions ---- */

static value_t call_sqrt(reader_t *r, const value_t *x)
{
    (void)r;
    return number(sqrt(x->number));
}

static value_t call_log(reader_t *r, const value_t *x)
{
    (void)r;
    return number(log(x->number));
}

static value_t call_exp(reader_t *r, const value_t *x)
{
    (void)r;
    return number(exp(x->number));
}

static value_t call_floor(reader_t *r, const value_t *x)
{
    (void)r;
    return number(floor(x->number));
}

static value_t call_word(reader_t *r, const value_t *x)
{
    static const char *const words[][2] = {
#define GNN_WORD(theirs, ours) {theirs, ours},
#include <lib/weights/arch/words.def>
#undef GNN_WORD
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcmp(words[k][0], x->text) == 0)
            return text(r, "", words[k][1]);
    if (r->rc == GNN_OK)
        r->rc = gnn__error(GNN_EUNSUPPORTED, "%s: %s: the function \"%.60s\" is not known",
                           r->scope->config_name, r->formula, x->text);
    return *x;
}

/* Count of elements of a list or object of the config; nothing for other types. */
static value_t call_items(reader_t *r, const value_t *x)
{
    const json_t *list = json_object_get(r->scope->config, x->text);
    return json_is_array(list)    ? number((double)json_array_size(list))
           : json_is_object(list) ? number((double)json_object_size(list))
                                  : nothing(x->text);
}

static value_t call_has(reader_t *r, const value_t *x)
{
    return number(r->scope->weights && gnn__folder_find(r->scope->weights, x->text));
}

/* A dimension of an array. */
static value_t dimension(reader_t *r, const value_t *x, int which)
{
    const gnn__folder_array_t *found =
        r->scope->weights ? gnn__folder_find(r->scope->weights, x->text) : NULL;
    return found && found->array->ndim > which ? number((double)found->array->shape[which])
                                               : nothing(x->text);
}

/* Count of classes in the weights of a file. */
static value_t call_rows(reader_t *r, const value_t *x)
{
    return dimension(r, x, 0);
}

static value_t call_columns(reader_t *r, const value_t *x)
{
    return dimension(r, x, 1);
}

/* Has the array the values of a maker, the second argument? */
static value_t call_made(reader_t *r, const value_t *x)
{
    const gnn__folder_array_t *found =
        r->scope->weights ? gnn__folder_find(r->scope->weights, x->text) : NULL;
    gnn__arch_difference_t difference = {0};
    if (!found)
        return nothing(x->text);
    const int rc = gnn__arch_compare(found->array, x[1].text, &difference);
    r->rc = r->rc == GNN_OK ? rc : r->rc;
    return number(!difference.found);
}

static value_t call(reader_t *r)
{
    static const struct {
        const char *name;
        gnn__formula_kind_t of;
        value_t (*call)(reader_t *r, const value_t *x);
    } functions[] = {{"sqrt", GNN__NUMBER, call_sqrt},     {"log", GNN__NUMBER, call_log},
                     {"floor", GNN__NUMBER, call_floor},   {"word", GNN__TEXT, call_word},
                     {"has", GNN__TEXT, call_has},         {"rows", GNN__TEXT, call_rows},
                     {"items", GNN__TEXT, call_items},     {"exp", GNN__NUMBER, call_exp},
                     {"columns", GNN__TEXT, call_columns}, {"made", GNN__TEXT, call_made}};
    char name[GNN__FORMULA_TEXT];
    take_name(r, name);
    need(r, "(");
    value_t x[2] = {choice(r)};
    if (take(r, ","))
        x[1] = choice(r);
    need(r, ")");
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (strcmp(functions[k].name, name) == 0)
            return x->kind == functions[k].of ? functions[k].call(r, x) : *x;
    wrong(r, "no such function");
    return *x;
}

/* ---- from what binds most to what binds least ---- */

static value_t primary(reader_t *r)
{
    skip_blanks(r);
    if (*r->at == '$' && r->at++)
        return variable(r);
    if (*r->at == '\'' && r->at++)
        return quoted(r);
    if (*r->at == '#' && r->at++)
        return number((double)r->scope->number);
    if (*r->at == '(' && r->at++) {
        const value_t v = choice(r);
        need(r, ")");
        return v;
    }
    if (isalpha((unsigned char)*r->at))
        return call(r);
    char *end;
    const double x = strtod(r->at, &end);
    if (end == r->at && r->rc == GNN_OK)
        wrong(r, "a value is expected");
    r->at = end;
    return number(x);
}

static value_t or_else(reader_t *r)
{
    value_t v = primary(r);
    while (take(r, "??")) {
        const value_t other = primary(r);
        v = v.kind == GNN__NO_VALUE ? other : v;
    }
    return v;
}

static value_t unary(reader_t *r)
{
    skip_blanks(r);
    if (*r->at == '!' && r->at[1] != '=' && r->at++) {
        const value_t v = unary(r);
        return number(!is_true(&v));
    }
    if (take(r, "-")) {
        const value_t v = unary(r);
        return v.kind == GNN__NUMBER ? number(-v.number) : v;
    }
    return or_else(r);
}

/* Both as reals; false if one is nothing or a text, and *v is then the result. */
static bool numbers(reader_t *r, value_t *v, const value_t *w)
{
    if (v->kind == GNN__NUMBER && w->kind == GNN__NUMBER)
        return true;
    const value_t *odd = v->kind == GNN__NUMBER ? w : v;
    if (odd->kind == GNN__TEXT && r->rc == GNN_OK)
        r->rc = gnn__error(GNN_EFORMAT, "%s: \"%s\" is text, a number is expected",
                           r->scope->config_name, odd->text);
    *v = nothing(odd->text);
    return false;
}

static value_t product(reader_t *r)
{
    value_t v = unary(r);
    for (;;) {
        const char *const sign = take(r, "*")   ? "*"
                                 : take(r, "/") ? "/"
                                 : take(r, "%") ? "%"
                                                : NULL;
        if (!sign)
            return v;
        const value_t w = unary(r);
        if (numbers(r, &v, &w))
            v.number = *sign == '*'   ? v.number * w.number
                       : *sign == '/' ? v.number / w.number
                                      : fmod(v.number, w.number);
    }
}

static value_t sum(reader_t *r)
{
    value_t v = product(r);
    for (;;) {
        const bool plus = take(r, "+");
        if (!plus && !take(r, "-"))
            return v;
        const value_t w = product(r);
        if (numbers(r, &v, &w))
            v.number += plus ? w.number : -w.number;
    }
}

static bool equal(const value_t *v, const value_t *w)
{
    if (v->kind != w->kind)
        return false;
    return v->kind == GNN__NO_VALUE ||
           (v->kind == GNN__NUMBER ? v->number == w->number : strcmp(v->text, w->text) == 0);
}

static value_t comparison(reader_t *r)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    value_t v = sum(r);
    for (int k = 0; k < 6; k++) {
        if (!take(r, signs[k]))
            continue;
        const value_t w = sum(r);
        if (k < 2)
            return number(equal(&v, &w) == (k == 0));
        if (!numbers(r, &v, &w))
            return v;
        const bool less = v.number < w.number, same = v.number == w.number;
        const bool holds[] = {false, false, less || same, !less, less, !less && !same};
        return number(holds[k]);
    }
    return v;
}

static value_t both(reader_t *r)
{
    value_t v = comparison(r);
    while (take(r, "&&")) {
        const value_t w = comparison(r);
        v = number(is_true(&v) && is_true(&w));
    }
    return v;
}

static value_t either(reader_t *r)
{
    value_t v = both(r);
    while (take(r, "||")) {
        const value_t w = both(r);
        v = number(is_true(&v) || is_true(&w));
    }
    return v;
}

static value_t choice(reader_t *r)
{
    const value_t v = either(r);
    if (!take(r, "?"))
        return v;
    const value_t yes = choice(r);
    need(r, ":");
    const value_t no = choice(r);
    return is_true(&v) ? yes : no;
}

/* ---- what others call ---- */

int gnn__formula(const gnn__scope_t *scope, const char *formula, gnn__formula_value_t *value)
{
    reader_t r = {.scope = scope, .formula = formula, .at = formula};
    *value = choice(&r);
    skip_blanks(&r);
    if (*r.at)
        wrong(&r, "nothing is expected");
    return r.rc;
}

int gnn__formula_number(const gnn__scope_t *scope, const char *formula, double *out)
{
    gnn__formula_value_t v;
    *out = 0;
    if (!*formula)
        return GNN_OK;
    GNN_TRY(gnn__formula(scope, formula, &v));
    if (v.kind == GNN__NO_VALUE)
        return gnn__error(GNN_EFORMAT, "%s has no \"%s\"", scope->config_name, v.text);
    if (v.kind == GNN__TEXT)
        return gnn__error(GNN_EFORMAT, "%s: \"%s\" is text, a number is expected",
                          scope->config_name, v.text);
    if (!isfinite(v.number))
        return gnn__error(GNN_EFORMAT, "%s: %s is %g", scope->config_name, formula, v.number);
    *out = v.number;
    return GNN_OK;
}

int gnn__formula_count(const gnn__scope_t *scope, const char *formula, int64_t low, int64_t high,
                       int64_t *count)
{
    double x;
    GNN_TRY(gnn__formula_number(scope, formula, &x));
    if (x != floor(x) || x < (double)low || x > (double)high)
        return gnn__error(GNN_EFORMAT, "%s: %s is %g, an integer from %lld to %lld is expected",
                          scope->config_name, formula, x, (long long)low, (long long)high);
    *count = (int64_t)x;
    return GNN_OK;
}

/* Replacement of the characters at `at`: # is the index, {name} a value of SET or of the config.
 * *used: the characters replaced; 0: they are literal. */
static int expansion(const gnn__scope_t *scope, const char *at, size_t length, char *out, size_t *used)
{
    const char *end = *at == '{' ? memchr(at, '}', length) : NULL;
    char name[GNN__FORMULA_TEXT];
    *used = end ? (size_t)(end - at) + 1 : *at == '#';
    if (*at == '#')
        snprintf(out, GNN__FORMULA_TEXT, "%lld", (long long)scope->number);
    if (!end)
        return GNN_OK;
    put(name, sizeof name, at + 1, (size_t)(end - at) - 1);
    const json_t *value = json_object_get(scope->names, name);
    value = value ? value : json_object_get(scope->config, name);
    const char *text = json_string_value(value);
    if (!text && !json_is_number(value))
        return gnn__error(GNN_EINVALID, "{%s} is not a text that was named before", name);
    if (text)
        put(out, GNN__FORMULA_TEXT, text, strlen(text));
    else
        snprintf(out, GNN__FORMULA_TEXT, "%.9g", json_number_value(value));
    return GNN_OK;
}

int gnn__scope_expand(const gnn__scope_t *scope, const char *text, size_t length, char *out,
                      size_t size)
{
    size_t at = 0, used = 0;
    char piece[GNN__FORMULA_TEXT];
    out[0] = '\0';
    for (size_t k = 0; k < length && at < size; k += used) {
        GNN_TRY(expansion(scope, text + k, length - k, piece, &used));
        if (used > 0) {
            at += put(out + at, size - at, piece, strlen(piece));
            continue;
        }
        for (used = 1; k + used < length && text[k + used] != '#' && text[k + used] != '{';)
            used++;
        at += put(out + at, size - at, text + k, used);
    }
    return at < size ? GNN_OK
                     : gnn__error(GNN_EOVERFLOW, "a name begins \"%.40s\" and is too long", text);
}
