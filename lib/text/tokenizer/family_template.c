/* Instantiates entries of families.def: JSON with the folder's settings, and templates. */
#include <lib/text/tokenizer/family_vocabulary.h>

#include <stdlib.h>

/* ---- JSON of a row ---- */

/* Evaluates "x" or "!x": the setting is true, or not. */
static bool holds(const json_t *settings, const char *condition)
{
    const bool turned = *condition == '!';
    const json_t *value = json_object_get(settings, condition + turned);
    return (value && !json_is_false(value) && !json_is_null(value)) != turned;
}

static json_t *filled(const json_t *from, const json_t *settings);

static json_t *filled_list(const json_t *from, const json_t *settings)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < json_array_size(from); k++) {
        const json_t *element = json_array_get(from, k);
        const char *condition = json_string_value(json_object_get(element, "if"));
        if ((!condition || holds(settings, condition)) &&
            json_array_append_new(list, filled(element, settings)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *filled_object(const json_t *from, const json_t *settings)
{
    json_t *object = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (object && strcmp(key, "if") != 0 &&
            json_object_set_new(object, key, filled(value, settings)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* A copy with the settings in it; NULL without memory. */
static json_t *filled(const json_t *from, const json_t *settings)
{
    const char *text = json_string_value(from),
               *condition = json_string_value(json_object_get(from, "if"));
    if (text && *text == '$')
        return json_incref(json_object_get(settings, text + 1));
    if (json_is_array(from))
        return filled_list(from, settings);
    if (!json_is_object(from))
        return json_incref((json_t *)(uintptr_t)from);
    return !condition || holds(settings, condition) ? filled_object(from, settings) : json_null();
}

/* Text in braces, with ' for ". */
int gnn__skeleton_parse(json_t **out, const char *text)
{
    char *quoted;
    *out = NULL;
    GNN_TRY(gnn__asprintf(&quoted, "{%s}", text ? text : ""));
    for (char *at = quoted; *at; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    const int rc = gnn__json_parse(out, quoted, (int64_t)strlen(quoted), 0, GNN__JSON_LEVELS);
    gnn_free(quoted);
    return rc;
}

int gnn__skeleton(json_t **out, const char *text, const json_t *settings)
{
    json_t *skeleton;
    GNN_TRY(gnn__skeleton_parse(&skeleton, text));
    *out = filled(skeleton, settings);
    json_decref(skeleton);
    return *out ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for a tokenizer");
}

bool gnn__setting_is_on(const json_t *settings, const char *key, bool absent)
{
    const json_t *value = json_object_get(settings, key);
    return value && !json_is_null(value) ? json_is_true(value) : absent;
}

/* ---- around a text ---- */

/* An element of a template: its name, the type of its tokens, and its condition. */
typedef struct word {
    char name[64];
    int type;
    bool there;
} word_t;

static const char *next_word(const char *at, const json_t *settings, word_t *w)
{
    at += strspn(at, " ");
    const size_t n = strcspn(at, " "), name = strcspn(at, " :");
    *w = (word_t){.there = true, .type = name < n ? atoi(at + name + 1) : 0};
    const bool optional = *at == '?';
    snprintf(w->name, sizeof w->name, optional ? "%.*s_token" : "%.*s", (int)(name - optional),
             at + optional);
    if (optional) {
        char flag[80];
        snprintf(flag, sizeof flag, "add_%s", w->name);
        w->there = gnn__setting_is_on(settings, flag, false);
    }
    return n ? at + n : NULL;
}

static json_t *item_of(const word_t *w, const char *token)
{
    return token ? json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", w->type)
                 : json_pack("{s:{s:s, s:i}}", "Sequence", "id", w->name, "type_id", w->type);
}

/* The token of an element; NULL: it is a text, A or B. */
static int token_of(const gnn__family_vocabulary_t *v, const json_t *settings, const word_t *w,
                    const char **token, int64_t *id)
{
    *token = NULL;
    if (strcmp(w->name, "A") == 0 || strcmp(w->name, "B") == 0)
        return GNN_OK;
    *token = json_string_value(json_object_get(settings, w->name));
    *id = *token ? gnn__family_id(v, *token) : -1;
    return *id >= 0 ? GNN_OK
                    : gnn__error(GNN_EFORMAT,
                                 "tokenizer_config.json: \"%s\" is \"%.60s\", a token of the "
                                 "vocabulary is expected",
                                 w->name, *token ? *token : "null");
}

static int add_word(json_t *items, json_t *tokens, const gnn__family_vocabulary_t *v,
                    const json_t *settings, const word_t *w)
{
    const char *token;
    int64_t id = -1;
    GNN_TRY(token_of(v, settings, w, &token, &id));
    bool failed = json_array_append_new(items, item_of(w, token)) != 0;
    if (token && !failed)
        failed = json_object_set_new(tokens, token,
                                     json_pack("{s:s, s:[I], s:[s]}", "id", token, "ids",
                                               (json_int_t)id, "tokens", token)) != 0;
    return failed ? gnn__error(GNN_EMEMORY, "no memory for a template") : GNN_OK;
}

static int add_words(json_t *items, json_t *tokens, const gnn__family_vocabulary_t *v,
                     const json_t *settings, const char *text)
{
    word_t w;
    for (const char *at = text; (at = next_word(at, settings, &w)) != NULL;)
        if (w.there)
            GNN_TRY(add_word(items, tokens, v, settings, &w));
    return GNN_OK;
}

/* Compares the items of a template with the elements of an entry. */
static bool is_around(const gnn_tokenizer_t *t, const gnn__template_t *list, const json_t *settings,
                      const char *text)
{
    int64_t k = 0;
    word_t w;
    for (const char *at = text; (at = next_word(at, settings, &w)) != NULL; k++) {
        const char *token = json_string_value(json_object_get(settings, w.name));
        const bool sequence = w.name[0] == 'A' || w.name[0] == 'B';
        if (k == list->n || list->at[k].type != w.type)
            return false;
        if (sequence ? list->at[k].id >= 0 || list->at[k].which != (w.name[0] == 'B')
                     : !token || list->at[k].id != gnn_tokenizer_find(t, token))
            return false;
    }
    return k == list->n;
}

bool gnn__family_surrounds(const gnn__family_t *f, const gnn_tokenizer_t *t, const json_t *settings)
{
    return strchr(f->single, '?') || (is_around(t, &t->single, settings, f->single) &&
                                      is_around(t, &t->pair, settings, f->pair));
}

/* RobertaProcessing is equivalent, except for offsets of tokens. */
static int roberta_of(json_t **out, const gnn__family_t *f, const gnn__family_vocabulary_t *v,
                      const json_t *settings)
{
    static const char *const keys[] = {"cls", "sep"};
    char text[256];
    snprintf(text, sizeof text, "'x':%s", f->around);
    json_t *whole;
    GNN_TRY(gnn__skeleton(&whole, text, settings));
    *out = json_incref(json_object_get(whole, "x"));
    json_decref(whole);
    for (int k = 0; k < 2; k++) {
        word_t w = {.there = true};
        const char *token;
        int64_t id = -1;
        snprintf(w.name, sizeof w.name, "%s_token", keys[k]);
        GNN_TRY(token_of(v, settings, &w, &token, &id));
        if (json_object_set_new(*out, keys[k], json_pack("[s, I]", token, (json_int_t)id)) != 0)
            return gnn__error(GNN_EMEMORY, "no memory for a template");
    }
    return GNN_OK;
}

static int make_around(json_t **out, const gnn__family_t *f, const gnn__family_vocabulary_t *v,
                       const json_t *settings)
{
    json_t *single = json_array(), *pair = json_array(), *tokens = json_object();
    *out = NULL;
    if (f->around) {
        json_decref(single);
        json_decref(pair);
        json_decref(tokens);
        return roberta_of(out, f, v, settings);
    }
    int rc = add_words(single, tokens, v, settings, f->single);
    if (rc == GNN_OK)
        rc = add_words(pair, tokens, v, settings, f->pair);
    *out = json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair",
                     pair, "special_tokens", tokens);
    return rc == GNN_OK && !*out ? gnn__error(GNN_EMEMORY, "no memory for a template") : rc;
}

int gnn__family_around(json_t **out, const gnn__family_t *f, const gnn__family_vocabulary_t *v,
                       const json_t *settings)
{
    const int rc = make_around(out, f, v, settings);
    if (rc != GNN_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- around the texts of a tokenizer.json ---- */

/* Ids of the special tokens and the language in the settings. */
static int name_ids(json_t *ids, const gnn_tokenizer_t *t, const json_t *settings)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        const char *token = json_string_value(value);
        int64_t id = token ? gnn_tokenizer_find(t, token) : -1;
        if (token && id < 0 && strcmp(key, "src_lang") == 0)
            id = t->rules.unknown;
        if (id >= 0 && json_object_set_new(ids, token, json_integer((json_int_t)id)) != 0)
            return gnn__error(GNN_EMEMORY, "no memory for special tokens");
    }
    return GNN_OK;
}

int gnn__family_surround(const gnn__family_t *f, gnn_tokenizer_t *t, const json_t *settings)
{
    const gnn__family_vocabulary_t v = {.tokens = json_object()};
    json_t *around = NULL;
    int rc = v.tokens ? name_ids(v.tokens, t, settings)
                      : gnn__error(GNN_EMEMORY, "no memory for special tokens");
    if (rc == GNN_OK)
        rc = gnn__family_around(&around, f, &v, settings);
    t->single.n = t->pair.n = 0;
    if (rc == GNN_OK)
        rc = gnn__template_read(t, around);
    if (rc == GNN_OK && json_object_set(t->root, "post_processor", around) != 0)
        rc = gnn__error(GNN_EMEMORY, "no memory for a template");
    json_decref(around);
    json_decref(v.tokens);
    return rc;
}
