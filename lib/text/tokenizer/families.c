/* The table of families, and the conversion of an entry to the JSON of tokenizer.json, with the
 * vocabulary of the folder's files. */
#include <lib/weights/arch/arch.h>
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
        if (class ? gnn__list_has(families[k].classes, class)
                  : type && gnn__list_has(families[k].types, type))
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

/* ---- settings ---- */

static bool is_token(const char *key)
{
    const size_t n = strlen(key);
    return n > 6 && strcmp(key + n - 6, "_token") == 0 && strncmp(key, "add_", 4) != 0;
}

/* The value of a setting; NULL: the folder's files do not have it. */
static json_t *value_in(const gnn__folder_words_t *words, const char *key)
{
    json_t *value = gnn__folder_value(words, key);
    return is_token(key) && json_is_object(value) ? json_object_get(value, "content") : value;
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

/* Metaspace's rule for a space before a text. */
static const char *prepend_of(const gnn__family_t *f, const json_t *settings)
{
    if (!gnn__setting_is_on(settings, "add_prefix_space", true))
        return f->prefix_first ? "first" : "never";
    return gnn__setting_is_on(settings, "legacy", true) ? "always" : "first";
}

int gnn__family_settings(json_t **out, const gnn__family_t *f, const gnn__folder_words_t *words)
{
    json_t *initial, *value;
    const char *key;
    int rc = GNN_OK;
    GNN_TRY(gnn__skeleton_parse(&initial, f->settings));
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

/* ---- SentencePiece as it is ---- */

static int set_numbers(gnn_tokenizer_t *t, const gnn__family_vocabulary_t *v, const json_t *settings)
{
    const char *key, *unknown = json_string_value(json_object_get(settings, "unk_token"));
    json_t *value;
    t->expected = (int64_t)json_object_size(v->tokens);
    json_object_foreach(v->tokens, key, value) GNN_TRY(gnn__token_add(
        t, (int64_t)json_integer_value(value), (gnn__string_t){key, (int64_t)strlen(key)}));
    t->rules.unknown = unknown ? gnn_tokenizer_find(t, unknown) : -1;
    t->rules.never_cached = true;
    return t->rules.unknown >= 0 ? GNN_OK
                                 : gnn__error(GNN_EFORMAT, "vocab.json has no token \"%.40s\"",
                                              unknown ? unknown : "unk_token");
}

static int open_pieces(gnn_tokenizer_t *t, const char *folder, const char *name)
{
    char *path;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    const int rc = gnn__tokenizer_open_file(&t->cutter, path);
    gnn_free(path);
    return rc;
}

static int read_numbered(gnn_tokenizer_t *t, const gnn__family_t *f, gnn__family_vocabulary_t *v,
                         const gnn__folder_words_t *words, const json_t *settings)
{
    json_t *around;
    t->kind = &gnn__token_kind_numbered;
    t->root = json_pack("{s:O, s:O}", "vocab", v->tokens, "added_tokens", v->added);
    if (!t->root)
        return gnn__error(GNN_EMEMORY, "no memory for a vocabulary");
    GNN_TRY(open_pieces(t, words->folder, v->spm));
    GNN_TRY(set_numbers(t, v, settings));
    GNN_TRY(gnn__added_read(t, v->added));
    GNN_TRY(gnn__added_prepare(t));
    GNN_TRY(gnn__family_around(&around, f, v, settings));
    int rc = gnn__template_read(t, around);
    json_decref(around);
    t->codes = f->source == GNN__OF_MARIAN;
    t->speech = (gnn__speech_t){.blank = GNN__BLANK,
                                .prefix = "",
                                .suffix = "",
                                .bare_ends = true,
                                .strip_left = INT64_MAX,
                                .runs = f->source != GNN__OF_SENTENCEPIECE,
                                .blank_after_special = t->codes};
    return rc;
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
        return read_numbered(t, f, v, words, settings);
    GNN_TRY(root_of(&t->root, f, v, settings));
    const int rc = gnn__tokenizer_build(t);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "tokenizer_config.json with its vocabulary");
}

/* Ids of pieces are positions: special tokens other than the family's would shift ids, in which
 * versions of the package differ. */
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
    GNN_TRY(gnn__skeleton_parse(&initial, f->settings));
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
    t->first_longer = f->first_longer;
    gnn__family_vocabulary_free(&v);
    json_decref(settings);
    return rc;
}

/* ---- the vocabulary of a tokenizer.json ---- */

/* The normaliser of SentencePiece in a list of steps; NULL: there is none. */
static json_t *charsmap_of(const json_t *step)
{
    json_t *own = json_object_get(step, "precompiled_charsmap");
    const json_t *list = json_object_get(step, "normalizers");
    for (size_t k = 0; !own && k < json_array_size(list); k++)
        own = charsmap_of(json_array_get(list, k));
    return own;
}

static int refit_model(json_t *root, const gnn__family_t *f, const json_t *settings)
{
    static const char *const kept[] = {"vocab", "merges"};
    const json_t *old = json_object_get(root, "model");
    json_t *model;
    GNN_TRY(gnn__skeleton(&model, f->model, settings));
    bool failed = false;
    for (size_t k = 0; k < 2; k++) {
        json_t *value = json_object_get(old, kept[k]);
        failed = (value && json_object_set(model, kept[k], value) != 0) || failed;
    }
    failed = json_object_set_new(root, "model", model) != 0 || failed;
    return failed ? gnn__error(GNN_EMEMORY, "no memory for a vocabulary") : GNN_OK;
}

static int refit_steps(json_t *root, const gnn__family_t *f, json_t *settings)
{
    static const char *const lists[] = {"normalizer", "pre_tokenizer", "decoder"};
    json_t *charsmap = charsmap_of(json_object_get(root, "normalizer")), *steps;
    if (charsmap && json_object_set(settings, "charsmap", charsmap) != 0)
        return gnn__error(GNN_EMEMORY, "no memory for settings");
    GNN_TRY(gnn__skeleton(&steps, f->steps, settings));
    bool failed = false;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        json_t *step = json_object_get(steps, lists[k]);
        failed = json_object_set(root, lists[k], step ? step : json_null()) != 0 || failed;
    }
    json_decref(steps);
    return failed ? gnn__error(GNN_EMEMORY, "no memory for steps") : GNN_OK;
}

/* Classes that build their tokenizer anew pass these flags over. */
static int check_flags(const gnn_tokenizer_t *t)
{
    for (int64_t k = 0; k < t->n_added; k++)
        if (t->added[k].single_word)
            return gnn__error(GNN_EUNSUPPORTED,
                              "added_tokens: \"single_word\" of token %d is true, false is expected",
                              (int)t->added[k].id);
    return GNN_OK;
}

int gnn__family_rebuild(gnn_tokenizer_t **tokenizer, const gnn__family_t *f, json_t *settings)
{
    json_t *root = json_incref((*tokenizer)->root);
    int rc = check_flags(*tokenizer);
    gnn_tokenizer_free(*tokenizer);
    *tokenizer = NULL;
    if (rc == GNN_OK)
        rc = refit_model(root, f, settings);
    if (rc == GNN_OK)
        rc = refit_steps(root, f, settings);
    if (rc == GNN_OK)
        rc = gnn__tokenizer_new(tokenizer);
    if (rc != GNN_OK) {
        json_decref(root);
        return rc;
    }
    (*tokenizer)->root = root;
    return gnn__tokenizer_finish(tokenizer, gnn__tokenizer_build(*tokenizer));
}
