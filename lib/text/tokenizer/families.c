/* The table of families, and what a row becomes: tokenizer.json as JSON, with the vocabulary of the
 * folder's files. */
#include <lib/io/weights/arch/arch.h>
#include <lib/text/tokenizer/family_vocabulary.h>

#include <stdlib.h>

/* ---- the table ---- */

static const gnn__family_t families[] = {
#define GNN_FAMILY(...) {__VA_ARGS__},
#include <lib/text/tokenizer/families.def>
#undef GNN_FAMILY
};

enum { FAMILIES = sizeof families / sizeof *families };

const gnn__family_t *gnn__family_find(const char *class, const char *type)
{
    for (size_t k = 0; k < FAMILIES; k++)
        if (class ? gnn__arch_lists(families[k].classes, class)
                  : type && gnn__arch_lists(families[k].types, type))
            return &families[k];
    return NULL;
}

int gnn__family_files(const gnn__family_t *f, const char *folder, const char *names[3])
{
    static const char *const pieces[] = {"spiece.model", "sentencepiece.bpe.model", "spm.model",
                                         "tokenizer.model", "sentencepiece.model"};
    static const char *const fixed[][3] = {
        [GNN__OF_WORDPIECES] = {"vocab.txt"},
        [GNN__OF_MERGES] = {"vocab.json", "merges.txt"},
        [GNN__OF_M2M100] = {"vocab.json"},
        [GNN__OF_MARIAN] = {"vocab.json", "source.spm", "target.spm"}};
    int n = 0;
    names[0] = names[1] = names[2] = NULL;
    if (f->source < sizeof fixed / sizeof *fixed)
        for (; n < 3 && fixed[f->source][n]; n++)
            names[n] = fixed[f->source][n];
    bool reads_pieces = (n == 0 && f->source != GNN__OF_NO_FILES) || f->source == GNN__OF_M2M100,
         there = false;
    for (size_t k = 0; reads_pieces && k < sizeof pieces / sizeof *pieces && !there; k++) {
        GNN_TRY(gnn__folder_has(&there, folder, pieces[k]));
        names[n] = pieces[k];
    }
    for (int k = 0; k < 3 && names[k]; k++) {
        GNN_TRY(gnn__folder_has(&there, folder, names[k]));
        if (!there)
            names[0] = NULL;
    }
    return GNN_OK;
}

/* ---- JSON of a row ---- */

/* "x" or "!x": is the setting, or is it not? */
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
static int parse(json_t **out, const char *text)
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
    GNN_TRY(parse(&skeleton, text));
    *out = filled(skeleton, settings);
    json_decref(skeleton);
    return *out ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for a tokenizer");
}

/* ---- settings ---- */

static bool is_token(const char *key)
{
    const size_t n = strlen(key);
    return n > 6 && strcmp(key + n - 6, "_token") == 0 && strncmp(key, "add_", 4) != 0;
}

/* The value of a key in the folder's files; NULL: they do not have it. */
static json_t *value_in(const gnn__folder_words_t *words, const char *key)
{
    json_t *value = json_object_get(words->specials, key);
    value = value ? value : json_object_get(words->config, key);
    if (is_token(key) && json_is_object(value))
        value = json_object_get(value, "content");
    return value;
}

static int take_setting(json_t *settings, const gnn__folder_words_t *words, const char *key,
                        const json_t *initial)
{
    json_t *value = value_in(words, key);
    const bool token = is_token(key);
    if (!value || (json_is_null(value) && !token))
        return GNN_OK;
    const bool fits = token                      ? json_is_string(value) || json_is_null(value)
                      : json_is_integer(initial) ? json_is_integer(value)
                      : json_is_string(initial)  ? json_is_string(value)
                                                 : json_is_boolean(value);
    if (!fits)
        return gnn__error(GNN_EUNSUPPORTED, "tokenizer_config.json: \"%s\" is %s, %s is expected",
                          key, gnn__json_type(value),
                          token || json_is_string(initial) ? "a string"
                          : json_is_integer(initial)       ? "an integer"
                                                           : "true or false");
    return json_object_set(settings, key, value) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for settings");
}

static bool is_on(const json_t *settings, const char *key, bool absent)
{
    const json_t *value = json_object_get(settings, key);
    return value && !json_is_null(value) ? json_is_true(value) : absent;
}

/* How Metaspace puts a blank before a text. */
static const char *prepend_of(const gnn__family_t *f, const json_t *settings)
{
    if (!is_on(settings, "add_prefix_space", true))
        return f->prefix_first ? "first" : "never";
    return is_on(settings, "legacy", true) ? "always" : "first";
}

int gnn__family_settings(json_t **out, const gnn__family_t *f, const gnn__folder_words_t *words)
{
    json_t *initial, *value;
    const char *key;
    int rc = GNN_OK;
    GNN_TRY(parse(&initial, f->settings));
    *out = json_deep_copy(initial);
    if (!*out)
        rc = gnn__error(GNN_EMEMORY, "no memory for settings");
    json_object_foreach(initial, key, value)
    {
        if (rc == GNN_OK)
            rc = take_setting(*out, words, key, value);
    }
    json_decref(initial);
    if (rc == GNN_OK && json_object_set_new(*out, "prepend", json_string(prepend_of(f, *out))) != 0)
        rc = gnn__error(GNN_EMEMORY, "no memory for settings");
    if (rc == GNN_OK && f->says_begin && words->bare &&
        !json_is_boolean(json_object_get(*out, "add_bos_token")))
        rc = gnn__error(GNN_EUNSUPPORTED,
                        "tokenizer_config.json: \"add_bos_token\" is missing, true or false is "
                        "expected: versions of transformers differ where it is left out");
    return rc;
}

/* ---- around a text ---- */

/* A word of a template: its name, the type of its tokens, and whether it is there. */
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
        w->there = is_on(settings, flag, false);
    }
    return n ? at + n : NULL;
}

static json_t *item_of(const word_t *w, const char *token)
{
    return token ? json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", w->type)
                 : json_pack("{s:{s:s, s:i}}", "Sequence", "id", w->name, "type_id", w->type);
}

/* The token that a word stands for; NULL: it is a text, A or B. */
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

/* Compares the items of a template with the words of a row. */
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

/* RobertaProcessing says the same, and what places of tokens leave out. */
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

int gnn__family_around(json_t **out, const gnn__family_t *f, const gnn__family_vocabulary_t *v,
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

/* ---- the whole ---- */

/* Takes over the vocabulary's JSON. */
static int model_of(json_t **model, const gnn__family_t *f, gnn__family_vocabulary_t *v,
                    const json_t *settings)
{
    if (f->source == GNN__OF_PIECES)
        *model = json_pack("{s:s, s:i}", "type", "Unigram", "unk_id", (int)v->unknown);
    else
        GNN_TRY(gnn__skeleton(model, f->model, settings));
    bool failed = json_object_set(*model, "vocab", v->tokens) != 0;
    if (v->merges)
        failed = json_object_set(*model, "merges", v->merges) != 0 || failed;
    return failed ? gnn__error(GNN_EMEMORY, "no memory for a vocabulary") : GNN_OK;
}

/* tokenizer.json of the folder. */
static int root_of(json_t **root, const gnn__family_t *f, gnn__family_vocabulary_t *v,
                   const json_t *settings)
{
    json_t *model = NULL, *around = NULL;
    GNN_TRY(gnn__skeleton(root, f->steps, settings));
    int rc = model_of(&model, f, v, settings);
    if (rc == GNN_OK)
        rc = gnn__family_around(&around, f, v, settings);
    bool failed = json_object_set_new(*root, "model", model) != 0;
    failed = json_object_set_new(*root, "post_processor", around) != 0 || failed;
    failed = json_object_set(*root, "added_tokens", v->added) != 0 || failed;
    return rc == GNN_OK && failed ? gnn__error(GNN_EMEMORY, "no memory for a tokenizer") : rc;
}

static int build(gnn_tokenizer_t *t, const gnn__family_t *f, gnn__family_vocabulary_t *v,
                 const gnn__folder_words_t *words, json_t *settings)
{
    if (v->charsmap && json_object_set(settings, "charsmap", v->charsmap) != 0)
        return gnn__error(GNN_EMEMORY, "no memory for settings");
    GNN_TRY(gnn__family_add_tokens(v, f, words, settings));
    if (f->source >= GNN__OF_SENTENCEPIECE)
        return gnn__family_numbered(t, f, v, words, settings);
    GNN_TRY(root_of(&t->root, f, v, settings));
    const int rc = gnn__tokenizer_build(t);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "tokenizer_config.json with its vocabulary");
}

/* Pieces have ids by their places: other special tokens than the family's own mean other ids, which
 * versions of the package give differently. */
static int check_defaults(const gnn__family_t *f, const json_t *settings,
                          const gnn__folder_words_t *words)
{
    static const char *const flags[] = {"add_bos_token", "add_eos_token"};
    static const char *const tokens[] = {"bos_token", "eos_token", "unk_token",  "sep_token",
                                         "pad_token", "cls_token", "mask_token", "mask_token_sent"};
    json_t *initial;
    int rc = GNN_OK;
    if (f->source < GNN__OF_PIECES || f->source == GNN__OF_PAIRS)
        return GNN_OK;
    for (size_t k = 0; k < 2; k++)
        if (!json_object_get(settings, flags[k]) && json_is_boolean(value_in(words, flags[k])))
            return gnn__error(
                GNN_EUNSUPPORTED,
                "tokenizer_config.json: \"%s\" is given, which this class does not read", flags[k]);
    if (f->source == GNN__OF_SENTENCEPIECE && json_is_false(value_in(words, "legacy")))
        return gnn__error(GNN_EUNSUPPORTED, "tokenizer_config.json: \"legacy\" is false, true is "
                                            "expected");
    GNN_TRY(parse(&initial, f->settings));
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens && rc == GNN_OK; k++) {
        const char *own = json_string_value(json_object_get(initial, tokens[k])),
                   *given = json_string_value(value_in(words, tokens[k]));
        if (value_in(words, tokens[k]) && (!own || !given || strcmp(own, given) != 0))
            rc = gnn__error(GNN_EUNSUPPORTED,
                            "tokenizer_config.json: \"%s\" is \"%.60s\", %s%.60s%s is expected",
                            tokens[k], given ? given : "null", own ? "\"" : "",
                            own ? own : "nothing", own ? "\"" : "");
    }
    json_decref(initial);
    return rc;
}

/* M2M100 names its languages "en", its tokens "__en__". */
static int name_code(json_t *settings)
{
    char text[64];
    snprintf(text, sizeof text, "__%s__", json_string_value(json_object_get(settings, "src_lang")));
    return json_object_set_new(settings, "src_lang", json_string(text)) == 0
               ? GNN_OK
               : gnn__error(GNN_EMEMORY, "no memory for settings");
}

int gnn__family_read(gnn_tokenizer_t *t, const gnn__family_t *f, const gnn__folder_words_t *words,
                     const char *const names[3])
{
    json_t *settings = NULL;
    gnn__family_vocabulary_t v = {.unknown = -1};
    int rc = gnn__family_settings(&settings, f, words);
    if (rc == GNN_OK)
        rc = check_defaults(f, settings, words);
    if (rc == GNN_OK && f->source == GNN__OF_M2M100)
        rc = name_code(settings);
    if (rc == GNN_OK)
        rc = gnn__family_vocabulary(&v, f, words->folder, names, settings);
    if (rc == GNN_OK)
        rc = build(t, f, &v, words, settings);
    gnn__family_vocabulary_free(&v);
    json_decref(settings);
    return rc;
}
