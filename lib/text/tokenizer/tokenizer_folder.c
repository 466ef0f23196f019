/* The tokenizer of a folder: selects the files to read by the rules of its class, and checks that
 * their settings agree. */
#include <lib/data/arrays/arrays.h>
#include <lib/weights/arch/arch.h>
#include <lib/text/tokenizer/family_vocabulary.h>

#include <sys/stat.h>

#define CONFIG "tokenizer_config.json"
#define SPECIALS "special_tokens_map.json"
#define PYTHON                                                               \
    "Python writes tokenizer.json: from transformers import AutoTokenizer; " \
    "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"

typedef struct folder {
    gnn__folder_words_t words;
    json_t *config; /* config.json; NULL: no such file */
    json_t *specials;
    char class[64]; /* class without "Fast"; "": not named */
    const char *type;
    int32_t *added; /* index of the added token of tokenizer.json, by id; -1: none */
} folder_t;

/* ---- the class of a folder ---- */

/* Is `class` (tokenizer_class of tokenizer_config.json) one that reads tokenizer.json unchanged? */
static bool is_general(const char *class)
{
    return gnn__list_has("PreTrainedTokenizer TokenizersBackend PythonBackend "
                         "SentencePieceBackend",
                         class);
}

/* Model types whose tokenizer.json is read unchanged, for any class named by the folder. */
static bool is_general_type(const char *type)
{
    return type && gnn__list_has("mistral mixtral ministral ministral3 mistral3 granite granitemoe "
                                 "stablelm glm glm4 olmo2 olmo3 umt5 xlm-roberta-xl nystromformer "
                                 "pegasus_x modernbert modernbert-decoder phi3 phimoe internlm2 "
                                 "internlm3 ernie4_5 minicpm3 nemotron jamba persimmon gpt_bigcode "
                                 "eurobert helium",
                                 type);
}

static void name_class(folder_t *f)
{
    const char *class = json_string_value(json_object_get(f->words.config, "tokenizer_class"));
    class = class ? class : json_string_value(json_object_get(f->config, "tokenizer_class"));
    snprintf(f->class, sizeof f->class, "%s", class ? class : "");
    const size_t n = strlen(f->class);
    if (n > 4 && strcmp(f->class + n - 4, "Fast") == 0)
        f->class[n - 4] = '\0';
    f->words.class = *f->class ? f->class : NULL;
    f->type = json_string_value(json_object_get(f->config, "model_type"));
}

static int read_words(folder_t *f, const char *folder)
{
    f->words.folder = folder;
    GNN_TRY(gnn__json_open_any(&f->config, folder, "config.json"));
    GNN_TRY(gnn__json_open_any(&f->words.config, folder, CONFIG));
    GNN_TRY(gnn__json_open_any(&f->specials, folder, SPECIALS));
    if (f->words.config)
        GNN_TRY(gnn__arch_check_file(f->words.config, CONFIG, CONFIG));
    if (f->specials)
        GNN_TRY(gnn__arch_check_file(f->specials, SPECIALS, SPECIALS));
    /* Newer folders have all of this in one file, and the others are not read. */
    if (!json_object_get(f->words.config, "added_tokens_decoder")) {
        f->words.specials = f->specials;
        GNN_TRY(gnn__json_open_any(&f->words.added, folder, "added_tokens.json"));
    }
    name_class(f);
    return GNN_OK;
}

static void forget(folder_t *f)
{
    json_decref(f->config);
    json_decref(f->words.config);
    json_decref(f->specials);
    json_decref(f->words.added);
    gnn_free(f->added);
}

static const json_t *said(const folder_t *f, const char *key)
{
    return gnn__folder_value(&f->words, key);
}

/* ---- consistency of files ---- */

static int disagrees(const char *key, const json_t *value, const char *expected)
{
    char *text = NULL;
    if (value)
        gnn__json_write(&text, value, JSON_ENCODE_ANY | JSON_COMPACT);
    const int rc = gnn__error(GNN_EUNSUPPORTED,
                              CONFIG ": \"%s\" is %.80s, %s is expected: so "
                                     "tokenizer.json says",
                              key, text ? text : "missing", expected);
    gnn_free(text);
    return rc;
}

/* Finds a step of a type in a list of tokenizer.json, nested or not. */
static const json_t *step_in(const json_t *step, const char *type)
{
    static const char *const lists[] = {"normalizers", "pretokenizers", "processors"};
    const char *own = json_string_value(json_object_get(step, "type"));
    if (own && strcmp(own, type) == 0)
        return step;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const json_t *list = json_object_get(step, lists[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *found = step_in(json_array_get(list, i), type);
            if (found)
                return found;
        }
    }
    return NULL;
}

static const json_t *step_of(const gnn_tokenizer_t *t, const char *list, const char *type)
{
    return step_in(json_object_get(t->root, list), type);
}

/* The setting in tokenizer.json: 0, 1, or -1 without such a step. */
static int lower(const gnn_tokenizer_t *t)
{
    const json_t *bert = step_of(t, "normalizer", "BertNormalizer");
    if (bert)
        return !json_is_false(json_object_get(bert, "lowercase"));
    return step_of(t, "normalizer", "Lowercase") != NULL;
}

static int accents(const gnn_tokenizer_t *t)
{
    const json_t *bert = step_of(t, "normalizer", "BertNormalizer"),
                 *strips = json_object_get(bert, "strip_accents");
    return !bert ? -1 : json_is_boolean(strips) ? json_is_true(strips) : lower(t);
}

static int keeps_accents(const gnn_tokenizer_t *t)
{
    return !step_of(t, "normalizer", "StripAccents");
}

static int ideographs(const gnn_tokenizer_t *t)
{
    const json_t *bert = step_of(t, "normalizer", "BertNormalizer");
    return bert ? !json_is_false(json_object_get(bert, "handle_chinese_chars")) : -1;
}

static int punctuation(const gnn_tokenizer_t *t)
{
    return step_of(t, "pre_tokenizer", "Punctuation") != NULL;
}

static int prefix_space(const gnn_tokenizer_t *t)
{
    const json_t *bytes = step_of(t, "pre_tokenizer", "ByteLevel"),
                 *blanks = step_of(t, "pre_tokenizer", "Metaspace");
    const char *scheme = json_string_value(json_object_get(blanks, "prepend_scheme"));
    if (bytes)
        return !json_is_false(json_object_get(bytes, "add_prefix_space"));
    if (blanks)
        return scheme ? strcmp(scheme, "never") != 0
                      : !json_is_false(json_object_get(blanks, "add_prefix_space"));
    return step_of(t, "normalizer", "Prepend") ? 1 : -1;
}

static int begins(const gnn_tokenizer_t *t)
{
    return t->single.n > 0 && t->single.at[0].id >= 0;
}

static int ends(const gnn_tokenizer_t *t)
{
    return t->single.n > 0 && t->single.at[t->single.n - 1].id >= 0;
}

/* Settings that are steps of tokenizer.json. `always`: the class's default applies if the folder
 * omits them. */
static const struct {
    const char *key;
    int (*actual)(const gnn_tokenizer_t *t);
    bool always;
} settings[] = {{"do_lower_case", lower, true},
                {"keep_accents", keeps_accents, true},
                {"tokenize_chinese_chars", ideographs, true},
                {"split_by_punct", punctuation, true},
                {"add_prefix_space", prefix_space, false},
                {"add_bos_token", begins, false},
                {"add_eos_token", ends, false}};

static int check_setting(const folder_t *f, const gnn_tokenizer_t *t, const json_t *family, size_t k)
{
    const json_t *own = said(f, settings[k].key),
                 *value = json_is_boolean(own) ? own : json_object_get(family, settings[k].key);
    const int actual = settings[k].actual(t);
    if (!json_object_get(family, settings[k].key) || actual < 0 || !json_is_boolean(value) ||
        (!settings[k].always && !json_is_boolean(own)) || json_is_true(value) == (actual == 1))
        return GNN_OK;
    return disagrees(settings[k].key, own, actual ? "true" : "false");
}

/* If omitted, accents are stripped exactly when the text is lower-cased. */
static int check_accents(const folder_t *f, const gnn_tokenizer_t *t, const json_t *family)
{
    const json_t *own = said(f, "strip_accents");
    const int actual = accents(t), wanted = json_is_boolean(own) ? json_is_true(own) : lower(t);
    if (!json_object_get(family, "strip_accents") || actual < 0 || wanted == actual)
        return GNN_OK;
    return disagrees("strip_accents", own, actual ? "true" : "false");
}

/* With "legacy" false, text after a special token gets no space before it. */
static void obey_legacy(const folder_t *f, gnn_tokenizer_t *t, const gnn__family_t *family)
{
    if (!family || family->source != GNN__OF_PAIRS || !strstr(family->settings, "'legacy'") ||
        json_is_true(said(f, "legacy")))
        return;
    for (int64_t k = 0; k < t->normalisers.n; k++)
        t->normalisers.at[k].first_only = true;
    for (int64_t k = 0; k < t->splitters.n; k++)
        t->splitters.at[k].first_only = true;
}

static int check_unknown(const folder_t *f, const gnn_tokenizer_t *t)
{
    const json_t *id = said(f, "unk_id");
    char expected[24];
    if (strcmp(f->class, "XLNetTokenizer") != 0 || !json_is_integer(id) ||
        json_integer_value(id) == t->rules.unknown)
        return GNN_OK;
    snprintf(expected, sizeof expected, "%d", (int)t->rules.unknown);
    return disagrees("unk_id", id, expected);
}

/* Versions of transformers differ in a file without a template, and in languages that are not in
 * the vocabulary, which they add where the folder lists no tokens. */
static int check_replaced(const folder_t *f, const gnn_tokenizer_t *t, const json_t *own)
{
    const char *language = json_string_value(json_object_get(own, "src_lang"));
    if (!json_is_object(json_object_get(t->root, "post_processor")))
        return gnn__error(GNN_EUNSUPPORTED,
                          "tokenizer.json: \"post_processor\" is null, an object is expected");
    if (!language || gnn_tokenizer_find(t, language) >= 0 || said(f, "extra_special_tokens") ||
        said(f, "additional_special_tokens"))
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      CONFIG ": \"src_lang\" is \"%.40s\", a token of tokenizer.json is expected",
                      language);
}

/* The class determines the template, not the file. */
static int obey_around(const folder_t *f, gnn_tokenizer_t *t, const gnn__family_t *family,
                       const json_t *own)
{
    if (family && family->own_around) {
        GNN_TRY(check_replaced(f, t, own));
        return gnn__family_surround(family, t, own);
    }
    if (!family || gnn__family_surrounds(family, t, own))
        return GNN_OK;
    return gnn__error(
        GNN_EUNSUPPORTED,
        "tokenizer.json: \"post_processor\": expected the special tokens of %s, \"%s\" for one text and \"%s\" for a pair; got others",
        *f->class ? f->class : (f->type ? f->type : "the folder's class"), family->single,
        family->pair);
}

/* The kind of model that a class makes of a vocabulary; NULL: any. */
static const char *model_of(const gnn__family_t *family)
{
    switch (family->source) {
    case GNN__OF_WORDPIECES: return "WordPiece";
    case GNN__OF_MERGES:
    case GNN__OF_PAIRS: return "BPE";
    case GNN__OF_PIECES: return "Unigram";
    default: return NULL;
    }
}

/* Of a vocabulary of another kind the package makes a tokenizer that finds almost no token. */
static int check_model(const folder_t *f, const gnn_tokenizer_t *t, const gnn__family_t *family)
{
    const char *kind = gnn_tokenizer_kind(t), *expected = family ? model_of(family) : NULL;
    if (!expected || strcmp(kind, expected) == 0)
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "tokenizer.json: model: \"type\" is \"%s\", \"%s\" is expected: so %s "
                      "\"%.60s\" says%s",
                      kind, expected, *f->class ? "tokenizer_class" : "model_type",
                      *f->class ? f->class : f->type,
                      *f->class ? "" : ", and " CONFIG " names no tokenizer_class");
}

/* BERT's rules beyond the vocabulary are fixed. */
static int check_wordpieces(const gnn_tokenizer_t *t, const gnn__family_t *family)
{
    const json_t *decoder = json_object_get(t->root, "decoder"),
                 *prefix = json_object_get(decoder, "prefix");
    if (!family || family->source != GNN__OF_WORDPIECES || t->kind != &gnn__token_kind_wordpiece)
        return GNN_OK;
    const char *fault =
        strcmp(t->rules.prefix, "##") != 0 ? "model: \"continuing_subword_prefix\" must be \"##\""
        : t->rules.longest_word != 100     ? "model: \"max_input_chars_per_word\" must be 100"
        : !step_of(t, "pre_tokenizer", "BertPreTokenizer")
            ? "\"pre_tokenizer\" must be BertPreTokenizer"
        : json_is_object(decoder) && (!step_in(decoder, "WordPiece") ||
                                      json_is_false(json_object_get(decoder, "cleanup")) ||
                                      (prefix && strcmp(json_string_value(prefix), "##") != 0))
            ? "\"decoder\" must be WordPiece with the prefix \"##\" and \"cleanup\""
            : NULL;
    return fault
               ? gnn__error(GNN_EUNSUPPORTED,
                            "tokenizer.json: %s, as the folder's class of tokenizer expects", fault)
               : GNN_OK;
}

/* Llama's and Gemma's steps are fixed, too; where spaces are put follows "legacy". */
static int check_pairs(const folder_t *f, const gnn_tokenizer_t *t, const gnn__family_t *family)
{
    if (!family || family->source != GNN__OF_PAIRS)
        return GNN_OK;
    const json_t *blanks = step_of(t, "pre_tokenizer", "Metaspace"),
                 *blank = json_object_get(blanks, "replacement"),
                 *scheme = json_object_get(blanks, "prepend_scheme");
    if (json_is_true(said(f, "legacy")) && json_is_string(scheme) &&
        strcmp(json_string_value(scheme), "first") == 0)
        return disagrees("legacy", said(f, "legacy"), "false");
    const char *fault =
        !t->rules.byte_fallback                ? "model: \"byte_fallback\" must be true"
        : *t->rules.prefix || *t->rules.suffix ? "model: tokens must have neither prefix nor suffix"
        : blank && strcmp(json_string_value(blank), GNN__BLANK) != 0
            ? "\"pre_tokenizer\" must write spaces as U+2581"
        : strcmp(t->speech.blank, GNN__BLANK) != 0 || !t->speech.byte_tokens || t->speech.spaced
            ? "\"decoder\" must be Replace (U+2581 by a space), ByteFallback and Fuse"
            : NULL;
    return fault
               ? gnn__error(GNN_EUNSUPPORTED,
                            "tokenizer.json: %s, as the folder's class of tokenizer expects", fault)
               : GNN_OK;
}

/* ---- special tokens ---- */

static int index_added(folder_t *f, const gnn_tokenizer_t *t)
{
    GNN_TRY(gnn__new(&f->added, t->size, sizeof *f->added, "added tokens"));
    for (int64_t id = 0; id < t->size; id++)
        f->added[id] = -1;
    for (int64_t k = t->n_added - 1; k >= 0; k--)
        f->added[t->added[k].id] = (int32_t)k;
    return GNN_OK;
}

static const gnn__added_t *added_of(const folder_t *f, const gnn_tokenizer_t *t, const char *text)
{
    const int32_t id = gnn_tokenizer_find(t, text);
    return id >= 0 && f->added[id] >= 0 ? &t->added[f->added[id]] : NULL;
}

static bool surrounds(const gnn_tokenizer_t *t, int32_t id)
{
    for (int64_t k = 0; k < t->single.n; k++)
        if (t->single.at[k].id == id)
            return true;
    return false;
}

/* Named tokens must be special tokens of tokenizer.json; the template uses [CLS] and [SEP]. */
static int check_token(const folder_t *f, const gnn_tokenizer_t *t, const json_t *family,
                       const gnn__family_t *row, const char *key)
{
    const json_t *own = said(f, key), *value = own ? own : json_object_get(family, key);
    const char *text = gnn__token_text(value);
    if (!text)
        return GNN_OK;
    const gnn__added_t *token = added_of(f, t, text);
    const bool around = row && strstr(row->single, key),
               knows = (!row || !row->rebuilds) &&
                       (t->rules.unknown >= 0 || (row && row->source != GNN__OF_PAIRS));
    if ((own || f->words.config) && (!token || !token->special))
        return disagrees(key, own, "a special token");
    if (token && strcmp(key, "unk_token") == 0 && !t->rules.bytewise && knows &&
        token->id != t->rules.unknown)
        return disagrees(key, own, "the token of what is unknown");
    return token && around && !surrounds(t, token->id)
               ? disagrees(key, own, "a special token around a text")
               : GNN_OK;
}

/* The class adopts the file's padding token. */
static int check_padding(const folder_t *f, const gnn_tokenizer_t *t)
{
    const json_t *own = json_object_get(json_object_get(t->root, "padding"), "pad_token");
    const char *text = json_string_value(own);
    const gnn__added_t *token = text ? added_of(f, t, text) : NULL;
    if (!text || said(f, "pad_token") || (token && token->special))
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "tokenizer.json: padding: \"pad_token\" is \"%.60s\", a special token is "
                      "expected",
                      text);
}

static int check_tokens(const folder_t *f, const gnn_tokenizer_t *t, const json_t *family,
                        const gnn__family_t *row)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        GNN_TRY(check_token(f, t, family, row, keys[k]));
    return GNN_OK;
}

static int check_list(const folder_t *f, const gnn_tokenizer_t *t, const char *key)
{
    const json_t *list = said(f, key);
    if (!list || json_is_null(list))
        return GNN_OK;
    for (size_t k = 0; k < json_array_size(list); k++) {
        const char *text = gnn__token_text(json_array_get(list, k));
        const gnn__added_t *token = text ? added_of(f, t, text) : NULL;
        if (!token || !token->special)
            return disagrees(key, json_array_get(list, k), "a special token");
    }
    return json_is_array(list) || json_object_size(list) == 0
               ? GNN_OK
               : disagrees(key, list, "a list of special tokens");
}

/* Does an entry of "added_tokens_decoder" agree with tokenizer.json? */
static bool is_same(const gnn__added_t *token, const char *id, const json_t *entry)
{
    const bool special = json_is_true(json_object_get(entry, "special"));
    const json_t *normalised = json_object_get(entry, "normalized");
    return token && (long long)token->id == strtoll(id, NULL, 10) && token->special == special &&
           token->normalised == (json_is_boolean(normalised) ? json_is_true(normalised) : !special) &&
           token->single_word == json_is_true(json_object_get(entry, "single_word")) &&
           token->strip_left == json_is_true(json_object_get(entry, "lstrip")) &&
           token->strip_right == json_is_true(json_object_get(entry, "rstrip"));
}

static int check_decoder(const folder_t *f, const gnn_tokenizer_t *t)
{
    json_t *decoder = json_object_get(f->words.config, "added_tokens_decoder"), *entry;
    const char *id;
    if (!decoder || json_is_null(decoder))
        return GNN_OK;
    if (!json_is_object(decoder))
        return disagrees("added_tokens_decoder", decoder, "an object of tokens");
    json_object_foreach(decoder, id, entry)
    {
        const char *text = gnn__token_text(entry);
        if (!text || !is_same(added_of(f, t, text), id, entry))
            return gnn__error(GNN_EUNSUPPORTED,
                              CONFIG ": added_tokens_decoder: \"%.20s\" is \"%.60s\", not as "
                                     "tokenizer.json has it",
                              id, text ? text : "null");
    }
    if ((int64_t)json_object_size(decoder) != t->n_added)
        return gnn__error(GNN_EUNSUPPORTED,
                          CONFIG ": added_tokens_decoder has %zu tokens, tokenizer.json %lld",
                          json_object_size(decoder), (long long)t->n_added);
    return GNN_OK;
}

static int check_added(const folder_t *f, const gnn_tokenizer_t *t)
{
    const char *text;
    json_t *id;
    json_object_foreach(f->words.added, text, id)
    {
        if (!json_is_integer(id) || gnn_tokenizer_find(t, text) != json_integer_value(id))
            return gnn__error(GNN_EUNSUPPORTED,
                              "added_tokens.json: \"%.60s\" has not the id that tokenizer.json has",
                              text);
    }
    return GNN_OK;
}

static int check_against(const folder_t *f, gnn_tokenizer_t *t, const gnn__family_t *family)
{
    json_t *own = NULL;
    int rc = check_model(f, t, family);
    if (rc == GNN_OK && family)
        rc = gnn__family_settings(&own, family, &f->words);
    for (size_t k = 0; k < sizeof settings / sizeof *settings && rc == GNN_OK; k++)
        rc = check_setting(f, t, own, k);
    if (rc == GNN_OK)
        rc = check_accents(f, t, own);
    if (rc == GNN_OK)
        rc = check_unknown(f, t);
    if (rc == GNN_OK)
        rc = obey_around(f, t, family, own);
    if (rc == GNN_OK)
        rc = check_wordpieces(t, family);
    if (rc == GNN_OK)
        rc = check_pairs(f, t, family);
    if (rc == GNN_OK)
        rc = check_tokens(f, t, own, family);
    if (rc == GNN_OK)
        rc = check_padding(f, t);
    if (rc == GNN_OK)
        rc = check_list(f, t, "additional_special_tokens");
    if (rc == GNN_OK)
        rc = check_list(f, t, "extra_special_tokens");
    if (rc == GNN_OK)
        rc = check_decoder(f, t);
    if (rc == GNN_OK)
        rc = check_added(f, t);
    json_decref(own);
    return rc;
}

/* ---- settings of every tokenizer ---- */

static void obey(const folder_t *f, gnn_tokenizer_t *t)
{
    const json_t *config = f->words.config, *names = json_object_get(config, "model_input_names"),
                 *most = json_object_get(config, "model_max_length");
    const char *side = json_string_value(json_object_get(config, "truncation_side"));
    const bool pairs = strcmp(gnn_tokenizer_kind(t), "BPE") == 0;
    bool types = !json_is_array(names);
    for (size_t k = 0; k < json_array_size(names); k++) {
        const char *name = json_string_value(json_array_get(names, k));
        types = types || (name && strcmp(name, "token_type_ids") == 0);
    }
    t->one_type = !types;
    if (side)
        t->cuts_start = strcmp(side, "left") == 0;
    most = most ? most : json_object_get(config, "max_len");
    if (json_is_number(most) && json_number_value(most) >= 1 && json_number_value(most) < 1e9)
        t->max_length = (int64_t)json_number_value(most);
    if (json_is_true(json_object_get(config, "clean_up_tokenization_spaces")))
        t->speech.tidy_text =
            !pairs || json_is_true(json_object_get(config, "clean_up_tokenization_spaces_for_bpe_"
                                                           "even_though_it_will_corrupt_output"));
}

/* ---- opening ---- */

static int open_file(gnn_tokenizer_t **t, const char *folder, const char *name)
{
    char *path;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    const int rc = gnn__tokenizer_open_file(t, path);
    gnn_free(path);
    return rc;
}

static int check_readable(const char *folder, const char *name)
{
    gnn__file_t file;
    char *path;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    const int rc = gnn__file_open(&file, path);
    if (rc == GNN_OK)
        gnn__file_close(&file);
    gnn_free(path);
    return rc;
}

/* The error for a folder with only unsupported files: names the file and the remedy. */
static int refuse(const folder_t *f)
{
    static const char *const names[] = {"vocab.txt",
                                        "vocab.json",
                                        "merges.txt",
                                        "spiece.model",
                                        "sentencepiece.bpe.model",
                                        "spm.model",
                                        "tokenizer.model",
                                        "sentencepiece.model",
                                        "source.spm",
                                        "tekken.json",
                                        "tiktoken.model",
                                        "bpe.codes",
                                        "vocab.bpe"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        bool there;
        GNN_TRY(gnn__folder_has(&there, f->words.folder, names[k]));
        if (there)
            GNN_TRY(check_readable(f->words.folder, names[k]));
        if (there)
            return gnn__error(
                GNN_EUNSUPPORTED,
                "%s without tokenizer.json: how %s \"%.60s\" reads it is not known; " PYTHON,
                names[k], *f->class ? "tokenizer_class" : "model_type",
                *f->class ? f->class : (f->type ? f->type : "(none)"));
    }
    return GNN_OK;
}

static int rebuild(gnn_tokenizer_t **t, const folder_t *f, const gnn__family_t *family)
{
    json_t *own = NULL;
    int rc = gnn__family_settings(&own, family, &f->words);
    if (rc == GNN_OK)
        rc = gnn__family_rebuild(t, family, own);
    json_decref(own);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "tokenizer.json");
}

static int open_whole(gnn_tokenizer_t **t, folder_t *f, const gnn__family_t *family)
{
    GNN_TRY(open_file(t, f->words.folder, "tokenizer.json"));
    if (family && family->rebuilds)
        GNN_TRY(rebuild(t, f, family));
    obey_legacy(f, *t, family);
    /* Without a decoder in the file, the class's own is used. */
    if (family && family->source == GNN__OF_WORDPIECES &&
        !json_is_object(json_object_get((*t)->root, "decoder")))
        (*t)->speech =
            (gnn__speech_t){.spaced = true, .tidy = true, .prefix = "##", .blank = "", .suffix = ""};
    GNN_TRY(index_added(f, *t));
    return check_against(f, *t, family);
}

static int open_bare(gnn_tokenizer_t **t, const folder_t *f, const gnn__family_t *family)
{
    const char *names[3] = {NULL};
    if (family)
        GNN_TRY(gnn__family_files(family, f->words.folder, names));
    if (!names[0])
        return refuse(f);
    GNN_TRY(gnn__tokenizer_new(t));
    const int rc = gnn__family_read(*t, family, &f->words, names);
    return gnn__tokenizer_finish(t, rc);
}

static int open_any(gnn_tokenizer_t **t, folder_t *f)
{
    const char *names[3] = {NULL};
    bool whole;
    GNN_TRY(gnn__folder_has(&whole, f->words.folder, "tokenizer.json"));
    const bool general = is_general(f->class) || is_general_type(f->type);
    const gnn__family_t *family = general ? NULL : gnn__family_find(f->words.class, f->type);
    if (family && family->source >= GNN__OF_SENTENCEPIECE)
        GNN_TRY(gnn__family_files(family, f->words.folder, names));
    f->words.bare = !whole || names[0];
    return f->words.bare ? open_bare(t, f, family) : open_whole(t, f, family);
}

int gnn__tokenizer_of_folder(gnn_tokenizer_t **t, const char *folder)
{
    folder_t f = {.type = NULL};
    *t = NULL;
    int rc = read_words(&f, folder);
    if (rc == GNN_OK)
        rc = open_any(t, &f);
    if (rc == GNN_OK && *t)
        obey(&f, *t);
    if (rc != GNN_OK) {
        gnn_tokenizer_free(*t);
        *t = NULL;
    }
    forget(&f);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int open_folder(gnn_tokenizer_t **tokenizer, const char *path)
{
    int rc = gnn__tokenizer_of_folder(tokenizer, path);
    if (rc == GNN_OK && !*tokenizer)
        rc = gnn__error(GNN_ENOTFOUND, "expected the files of a tokenizer, found none");
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", path);
}

int gnn_tokenizer_open(gnn_tokenizer_t **tokenizer, const char *path)
{
    GNN__NEED(tokenizer);
    GNN__NEED(path);
    *tokenizer = NULL;
    return is_folder(path) ? open_folder(tokenizer, path) : gnn__tokenizer_open_file(tokenizer, path);
}
