/* Vocabularies of folders without tokenizer.json: lines of vocab.txt, vocab.json with merges.txt,
 * pieces of a SentencePiece model with the ids that their family gives them; and added tokens. */
#include <lib/data/arrays/text_file.h>
#include <lib/weights/arch/arch.h>
#include <lib/text/tokenizer/family_vocabulary.h>

#include <stdlib.h>

static int no_memory(void)
{
    return gnn__error(GNN_EMEMORY, "no memory for a vocabulary");
}

void gnn__family_vocabulary_free(gnn__family_vocabulary_t *v)
{
    json_decref(v->tokens);
    json_decref(v->merges);
    json_decref(v->added);
    json_decref(v->piece_ids);
    json_decref(v->added_ids);
    json_decref(v->charsmap);
    json_decref(v->special_pieces);
    json_decref(v->user_pieces);
}

/* ---- special tokens as files have them ---- */

json_t *gnn__folder_value(const gnn__folder_words_t *words, const char *key)
{
    json_t *value = json_object_get(words->specials, key);
    return value ? value : json_object_get(words->config, key);
}

const char *gnn__token_text(const json_t *token)
{
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

/* ---- ids ---- */

static int64_t id_in(const json_t *ids, const char *token)
{
    const json_t *id = json_object_get(ids, token);
    return json_is_integer(id) ? (int64_t)json_integer_value(id) : -1;
}

static const char *piece_text(const json_t *pieces, size_t k)
{
    return json_string_value(json_array_get(json_array_get(pieces, k), 0));
}

/* The first position of each piece. */
static int index_pieces(json_t **ids, const json_t *pieces)
{
    *ids = json_object();
    for (size_t k = 0; k < json_array_size(pieces); k++)
        if (!json_object_get(*ids, piece_text(pieces, k)) &&
            json_object_set_new_nocheck(*ids, piece_text(pieces, k), json_integer((json_int_t)k)) != 0)
            return no_memory();
    return *ids ? GNN_OK : no_memory();
}

int64_t gnn__family_id(const gnn__family_vocabulary_t *v, const char *token)
{
    const int64_t known = id_in(v->piece_ids ? v->piece_ids : v->tokens, token);
    return known >= 0 ? known : id_in(v->added_ids, token);
}

/* The id of the next token that is added. */
static int64_t next_id(const gnn__family_vocabulary_t *v)
{
    return gnn__max(v->added_end, (int64_t)(json_is_array(v->tokens) ? json_array_size(v->tokens)
                                                                     : json_object_size(v->tokens)));
}

/* ---- files of text ---- */

static int read_lines(json_t *tokens, gnn__tokenizer_file_t *file)
{
    int64_t row = 0;
    for (int64_t k = 0, end; k < file->size; k = end + 1, row++) {
        const char *newline = memchr(file->data + k, '\n', (size_t)(file->size - k));
        end = newline ? newline - file->data : file->size;
        const int64_t n = gnn__without_blanks(file->data + k, end - k);
        if (memchr(file->data + k, '\0', (size_t)n) || !gnn__is_utf8(file->data + k, n))
            return gnn__error(GNN_EFORMAT, "line %lld: is not UTF-8, a token is expected",
                              (long long)row + 1);
        file->data[k + n] = '\0';
        if (json_object_set_new_nocheck(tokens, file->data + k, json_integer(row)) != 0)
            return no_memory();
    }
    return GNN_OK;
}

static int read_merges(json_t *merges, gnn__tokenizer_file_t *file)
{
    return gnn__merges_of_text(merges, file);
}

/* Reads a file of the folder by `read`, which fills a list or an object. */
static int read_text(json_t *into, const char *folder, const char *name,
                     int (*read)(json_t *into, gnn__tokenizer_file_t *file))
{
    gnn__tokenizer_file_t file = {.path = name};
    char *path;
    if (!into)
        return no_memory();
    GNN_TRY(gnn__folder_path(&path, folder, name));
    int rc = gnn__bytes_of_file(path, &file.data, &file.size);
    if (rc == GNN_OK) {
        rc = read(into, &file);
        rc = rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", name);
        gnn_free(file.data);
    }
    gnn_free(path);
    return rc;
}

/* vocab.json, whose values are ids. */
static int read_ids(json_t **tokens, const char *folder, const char *name)
{
    gnn__tokenizer_file_t file = {.path = name};
    char *path;
    const char *key;
    json_t *value;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    int rc = gnn__bytes_of_file(path, &file.data, &file.size);
    gnn_free(path);
    GNN_TRY(rc);
    rc = gnn__json_parse(tokens, file.data, file.size, GNN__JSON_NUL, GNN__JSON_LEVELS);
    gnn_free(file.data);
    json_object_foreach(*tokens, key, value)
    {
        if (rc == GNN_OK && !json_is_integer(value))
            rc = gnn__error(GNN_EFORMAT, "token \"%.40s\" is %s, an id is expected", key,
                            gnn__json_type(value));
    }
    if (rc == GNN_OK && !json_is_object(*tokens))
        rc = gnn__error(GNN_EFORMAT, "is %s, an object of tokens is expected",
                        gnn__json_type(*tokens));
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", name);
}

/* ---- pieces ---- */

static int add_piece(json_t *list, const char *text, int64_t n, double score)
{
    json_t *piece = json_pack("[o, f]", json_stringn_nocheck(text, (size_t)n), score);
    return json_array_append_new(list, piece) == 0 ? GNN_OK : no_memory();
}

/* <extra_id_99> to <extra_id_0>, <unk_2> to <unk_102>: tokens of one setting. */
static int add_numbered(json_t *list, const char *key, int64_t count, double score)
{
    const bool extra = strcmp(key, "extra_ids") == 0;
    if (count < 0 || count > 1 << 16)
        return gnn__error(GNN_EFORMAT, "tokenizer_config.json: \"%s\" is %lld, 0 to %d are expected",
                          key, (long long)count, 1 << 16);
    for (int64_t k = extra ? 0 : 2; k < count; k++) {
        char text[40];
        snprintf(text, sizeof text, extra ? "<extra_id_%lld>" : "<unk_%lld>",
                 (long long)(extra ? count - 1 - k : k));
        GNN_TRY(add_piece(list, text, (int64_t)strlen(text), score));
    }
    return GNN_OK;
}

/* Pieces of the elements of an entry: see .head in families.def. */
static int add_named(json_t *list, const char *words, const json_t *settings)
{
    for (const char *at = words ? words : ""; *(at += strspn(at, " "));) {
        const size_t n = strcspn(at, " "), length = strcspn(at, " =");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        const json_t *value = json_object_get(settings, name);
        const double score = length < n ? atof(at + length + 1) : 0;
        if (json_is_integer(value))
            GNN_TRY(add_numbered(list, name, (int64_t)json_integer_value(value), score));
        else if (!json_is_null(value)) {
            const char *text = value ? json_string_value(value) : name;
            GNN_TRY(add_piece(list, text, (int64_t)strlen(text), score));
        }
        at += n;
    }
    return GNN_OK;
}

static int list_pieces(gnn__family_vocabulary_t *v, const gnn__family_t *f,
                       const gnn__piece_list_t *list, const json_t *settings)
{
    const char *unknown = json_string_value(json_object_get(settings, "unk_token"));
    v->tokens = json_array();
    GNN_TRY(v->tokens ? add_named(v->tokens, f->head, settings) : no_memory());
    for (int64_t k = f->dropped; k < list->n; k++)
        GNN_TRY(add_piece(v->tokens, list->at[k].text.at, list->at[k].text.length,
                          (double)list->at[k].score));
    GNN_TRY(add_named(v->tokens, f->tail, settings));
    GNN_TRY(index_pieces(&v->piece_ids, v->tokens));
    v->unknown = unknown ? id_in(v->piece_ids, unknown) : -1;
    v->unknown = v->unknown >= 0 ? v->unknown : list->unknown;
    return GNN_OK;
}

/* Every split of a piece into two others is a merge; pieces of smaller ids come first. */
static int list_merges(gnn__family_vocabulary_t *v, const gnn__piece_list_t *list)
{
    char left[GNN__MOST_TOKEN_BYTES + 1];
    v->merges = json_array();
    for (int64_t k = 0; k < list->n && v->merges; k++) {
        const gnn__string_t text = list->at[k].text;
        for (int64_t cut = 1; cut < text.length; cut++) {
            if (((unsigned char)text.at[cut] & 0xc0) == 0x80)
                continue;
            memcpy(left, text.at, (size_t)cut);
            left[cut] = '\0';
            if (!json_object_get(v->tokens, left) ||
                !json_object_getn(v->tokens, text.at + cut, (size_t)(text.length - cut)))
                continue;
            json_t *merge = json_pack(
                "[s, o]", left, json_stringn_nocheck(text.at + cut, (size_t)(text.length - cut)));
            if (json_array_append_new(v->merges, merge) != 0)
                return no_memory();
        }
    }
    return v->merges ? GNN_OK : no_memory();
}

static int number_pieces(gnn__family_vocabulary_t *v, const gnn__piece_list_t *list)
{
    v->tokens = json_object();
    for (int64_t k = 0; k < list->n && v->tokens; k++)
        if (json_object_setn_new_nocheck(v->tokens, list->at[k].text.at,
                                         (size_t)list->at[k].text.length, json_integer(k)) != 0)
            return no_memory();
    return v->tokens ? GNN_OK : no_memory();
}

static int list_marked(gnn__family_vocabulary_t *v, const gnn__piece_list_t *list)
{
    v->special_pieces = json_array();
    v->user_pieces = json_array();
    for (int64_t k = 0; k < list->n; k++) {
        const gnn__listed_piece_t *p = &list->at[k];
        json_t *into = p->control ? v->special_pieces : v->user_pieces;
        if ((p->control || p->user) &&
            json_array_append_new(into, json_stringn_nocheck(p->text.at, (size_t)p->text.length)) != 0)
            return no_memory();
    }
    return v->special_pieces && v->user_pieces ? GNN_OK : no_memory();
}

static int check_kind(const gnn__family_t *f, const gnn__piece_list_t *list)
{
    const bool fits = f->source == GNN__OF_PIECES  ? list->unigram
                      : f->source == GNN__OF_PAIRS ? list->pairs
                                                   : true;
    return fits ? GNN_OK
                : gnn__error(GNN_EUNSUPPORTED, "a model of %s is expected for %s",
                             f->source == GNN__OF_PIECES ? "scores (unigram)" : "merges (bpe)",
                             f->classes);
}

static int read_list(gnn__family_vocabulary_t *v, const gnn__family_t *f,
                     const gnn__piece_list_t *list, const json_t *settings)
{
    GNN_TRY(check_kind(f, list));
    GNN_TRY(list_marked(v, list));
    if (list->map.length > 0)
        GNN_TRY(gnn__to_base64(&v->charsmap, list->map));
    if (f->source == GNN__OF_PIECES)
        return list_pieces(v, f, list, settings);
    GNN_TRY(number_pieces(v, list));
    return f->source == GNN__OF_PAIRS ? list_merges(v, list) : GNN_OK;
}

static int read_pieces(gnn__family_vocabulary_t *v, const gnn__family_t *f, const char *folder,
                       const char *name, const json_t *settings)
{
    gnn__piece_list_t list;
    char *path;
    GNN_TRY(gnn__folder_path(&path, folder, name));
    int rc = gnn__piece_list_open(&list, path);
    if (rc == GNN_OK) {
        rc = read_list(v, f, &list, settings);
        rc = rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", name);
    }
    gnn__piece_list_close(&list);
    gnn_free(path);
    v->spm = name;
    return rc;
}

int gnn__family_vocabulary(gnn__family_vocabulary_t *v, const gnn__family_t *f, const char *folder,
                           const char *const names[3], const json_t *settings)
{
    v->added = json_array();
    v->added_ids = json_object();
    switch (f->source) {
    case GNN__OF_WORDPIECES:
        v->tokens = json_object();
        return read_text(v->tokens, folder, names[0], read_lines);
    case GNN__OF_MERGES:
        v->merges = json_array();
        GNN_TRY(read_text(v->merges, folder, names[1], read_merges));
        return read_ids(&v->tokens, folder, names[0]);
    case GNN__OF_M2M100:
    case GNN__OF_MARIAN: v->spm = names[1]; return read_ids(&v->tokens, folder, names[0]);
    default: return read_pieces(v, f, folder, names[0], settings);
    }
}

/* ---- added tokens ---- */

/* Flags of a token that is added; `json` may have others. */
typedef struct flags {
    bool special, normalised, strip_left;
    const json_t *json;
} flags_t;

static bool flag_of(const flags_t *f, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(f->json, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static int add_token(gnn__family_vocabulary_t *v, const char *text, const flags_t *f, int64_t *id)
{
    *id = id_in(v->added_ids, text);
    if (*id >= 0 || !*text)
        return GNN_OK;
    *id = gnn__family_id(v, text);
    *id = *id >= 0 ? *id : next_id(v);
    json_t *entry = json_pack(
        "{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)*id, "content", text,
        "single_word", (int)flag_of(f, "single_word", false), "lstrip",
        (int)flag_of(f, "lstrip", f->strip_left), "rstrip", (int)flag_of(f, "rstrip", false),
        "normalized", (int)flag_of(f, "normalized", f->normalised), "special", (int)f->special);
    v->added_end = gnn__max(v->added_end, *id + 1);
    return json_array_append_new(v->added, entry) == 0 &&
                   json_object_set_new_nocheck(v->added_ids, text, json_integer(*id)) == 0
               ? GNN_OK
               : no_memory();
}

static int add_checked(gnn__family_vocabulary_t *v, const char *file, const char *text,
                       const flags_t *f, int64_t wanted)
{
    int64_t id;
    GNN_TRY(add_token(v, text, f, &id));
    return id == wanted ? GNN_OK
                        : gnn__error(GNN_EUNSUPPORTED,
                                     "%s: token \"%.60s\" has the id %lld, %lld is expected: that "
                                     "of the vocabulary or the next one",
                                     file, text, (long long)wanted, (long long)id);
}

static int by_id(const void *a, const void *b)
{
    const long long left = atoll(*(const char *const *)a), right = atoll(*(const char *const *)b);
    return (left > right) - (left < right);
}

/* Tokens added to a directly run SentencePiece model are special, have no other flag, and no space
 * at an end. */
static bool is_plain(const json_t *token)
{
    const char *text = json_string_value(json_object_get(token, "content"));
    const bool bare = text && *text != ' ' && (!*text || text[strlen(text) - 1] != ' ');
    return bare && json_is_true(json_object_get(token, "special")) &&
           !json_is_true(json_object_get(token, "lstrip")) &&
           !json_is_true(json_object_get(token, "rstrip")) &&
           !json_is_true(json_object_get(token, "single_word"));
}

/* "added_tokens_decoder": tokens by their ids. */
static int add_decoder(gnn__family_vocabulary_t *v, const gnn__family_t *f, json_t *decoder)
{
    const char **keys, *key;
    json_t *value;
    size_t n = 0;
    int rc = GNN_OK;
    GNN_TRY(gnn__new(&keys, (int64_t)json_object_size(decoder) + 1, sizeof *keys, "added tokens"));
    json_object_foreach(decoder, key, value) keys[n++] = key;
    qsort(keys, n, sizeof *keys, by_id);
    for (size_t k = 0; k < n && rc == GNN_OK; k++) {
        const json_t *token = json_object_get(decoder, keys[k]);
        const char *text = json_string_value(json_object_get(token, "content"));
        const bool special = json_is_true(json_object_get(token, "special"));
        if (f->source >= GNN__OF_SENTENCEPIECE && !is_plain(token))
            rc = gnn__error(GNN_EUNSUPPORTED,
                            "tokenizer_config.json: added_tokens_decoder: \"%.20s\" is not a special "
                            "token without further flags and spaces at its ends",
                            keys[k]);
        if (rc != GNN_OK)
            break;
        rc = text ? add_checked(v, "tokenizer_config.json: added_tokens_decoder", text,
                                &(flags_t){special, !special, false, token}, atoll(keys[k]))
                  : gnn__error(GNN_EFORMAT,
                               "tokenizer_config.json: added_tokens_decoder: \"%.20s\" has no text "
                               "\"content\"",
                               keys[k]);
    }
    gnn_free(keys);
    return rc;
}

/* Adds the texts of a list of tokens to an object, as keys. */
static int put_texts(json_t *texts, const json_t *list)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        const char *text = gnn__token_text(json_array_get(list, k));
        if (text && json_object_set_new_nocheck(texts, text, json_true()) != 0)
            return no_memory();
    }
    return texts ? GNN_OK : no_memory();
}

/* The named special tokens, and the additional ones. */
static int put_named(json_t *texts, const gnn__folder_words_t *words, const json_t *settings)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        const size_t n = strlen(key);
        if (n > 6 && strcmp(key + n - 6, "_token") == 0 && json_is_string(value) &&
            json_object_set_nocheck(texts, json_string_value(value), value) != 0)
            return no_memory();
    }
    return put_texts(texts, gnn__folder_value(words, "additional_special_tokens"));
}

/* added_tokens.json: ids by tokens. */
static int add_legacy(gnn__family_vocabulary_t *v, const gnn__folder_words_t *words,
                      const json_t *settings)
{
    const char *key;
    json_t *value, *named = json_object();
    int rc = put_named(named, words, settings);
    json_object_foreach(words->added, key, value)
    {
        const bool special = json_object_get(named, key) != NULL;
        if (rc == GNN_OK)
            rc = json_is_integer(value)
                     ? add_checked(v, "added_tokens.json", key,
                                   &(flags_t){special, !special, false, NULL},
                                   (int64_t)json_integer_value(value))
                     : gnn__error(GNN_EFORMAT,
                                  "added_tokens.json: \"%.40s\" is %s, an id is expected", key,
                                  gnn__json_type(value));
    }
    json_decref(named);
    return rc;
}

static int add_plain(gnn__family_vocabulary_t *v, const char *text, const json_t *json, bool strips)
{
    int64_t id;
    return add_token(v, text, &(flags_t){true, false, strips, json}, &id);
}

static const char *const token_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                         "pad_token", "cls_token", "mask_token"};
enum { TOKEN_KEYS = sizeof token_keys / sizeof *token_keys, MASK = TOKEN_KEYS - 1 };

/* Does a special token, a string or an object, have a flag? */
static bool has_flag(const gnn__family_t *f, const json_t *token, int which, const char *flag)
{
    if (!json_is_object(token))
        return which == MASK && f->mask_strips && strcmp(flag, "lstrip") == 0;
    return json_is_true(json_object_get(token, flag));
}

static int check_two(const gnn__family_t *f, const gnn__folder_words_t *words, int one, int other)
{
    static const char *const flags[] = {"lstrip", "rstrip", "single_word", "normalized"};
    const json_t *a = gnn__folder_value(words, token_keys[one]),
                 *b = gnn__folder_value(words, token_keys[other]);
    const char *text = gnn__token_text(a), *second = gnn__token_text(b);
    if (!text || !second || strcmp(text, second) != 0)
        return GNN_OK;
    for (int i = 0; i < 4; i++)
        if (has_flag(f, a, one, flags[i]) != has_flag(f, b, other, flags[i]))
            return gnn__error(GNN_EUNSUPPORTED,
                              "tokenizer_config.json: \"%s\" and \"%s\" are both \"%.40s\", but "
                              "only one has \"%s\"",
                              token_keys[one], token_keys[other], text, flags[i]);
    return GNN_OK;
}

/* One text has one set of flags: two special tokens that give it different ones are an error. */
static int check_flags(const gnn__family_t *f, const gnn__folder_words_t *words)
{
    for (int one = 0; one < TOKEN_KEYS; one++)
        for (int other = one + 1; other < TOKEN_KEYS; other++)
            GNN_TRY(check_two(f, words, one, other));
    return GNN_OK;
}

static int add_named_tokens(gnn__family_vocabulary_t *v, const gnn__family_t *f,
                            const gnn__folder_words_t *words, const json_t *settings)
{
    GNN_TRY(check_flags(f, words));
    for (size_t k = 0; k < TOKEN_KEYS; k++) {
        const char *key = token_keys[k];
        const json_t *json = gnn__folder_value(words, key);
        const char *text = json_string_value(json_object_get(settings, key));
        if (!json_object_get(settings, key)) /* a special token, not a setting of the family */
            text = gnn__token_text(json);
        if (text && f->plain_tokens && json_is_object(json))
            return gnn__error(GNN_EUNSUPPORTED,
                              "tokenizer_config.json: \"%s\" is an object, a string is expected",
                              key);
        if (text)
            GNN_TRY(add_plain(v, text, json_is_object(json) ? json : NULL,
                              k == MASK && f->mask_strips));
    }
    return GNN_OK;
}

static int add_list(gnn__family_vocabulary_t *v, const json_t *list, bool special)
{
    int64_t id;
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *entry = json_array_get(list, k);
        const char *text = gnn__token_text(entry);
        if (!text)
            return gnn__error(GNN_EFORMAT, "a list of special tokens has %s, a string is expected",
                              gnn__json_type(entry));
        GNN_TRY(add_token(
            v, text, &(flags_t){special, false, false, json_is_object(entry) ? entry : NULL}, &id));
    }
    return GNN_OK;
}

/* Pieces of the tokens of an entry, and of a setting. */
static int list_own(json_t **pieces, const gnn__family_t *f, const json_t *settings)
{
    *pieces = json_array();
    GNN_TRY(*pieces ? add_named(*pieces, f->special, settings) : no_memory());
    return json_object_get(settings, "extra_ids") ? add_named(*pieces, "extra_ids", settings)
                                                  : GNN_OK;
}

static int add_own_tokens(gnn__family_vocabulary_t *v, const gnn__family_t *f, const json_t *settings)
{
    json_t *pieces;
    int rc = list_own(&pieces, f, settings);
    for (size_t k = 0; k < json_array_size(pieces) && rc == GNN_OK; k++)
        rc = add_plain(v, piece_text(pieces, k), NULL, false);
    json_decref(pieces);
    return rc;
}

/* M2M100's language tokens follow the vocabulary and are never produced by text. */
static int add_codes(gnn__family_vocabulary_t *v, const gnn__family_t *f)
{
    for (const char *at = f->tail; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
        char text[64] = "__";
        const size_t length = strcspn(at, " ");
        strncat(text, at, gnn__min(length, sizeof text - 5));
        strcat(text, "__");
        if (!json_object_get(v->tokens, text) &&
            json_object_set_new(v->tokens, text, json_integer(next_id(v))) != 0)
            return no_memory();
    }
    return GNN_OK;
}

/* Are all texts of a list pieces? For M2M100 they may also be tokens of its vocabulary. */
static int compare_texts(bool *same, const gnn__family_vocabulary_t *v, const gnn__family_t *f,
                         const json_t *list, const json_t *pieces)
{
    json_t *texts = json_object(), *ids = NULL;
    int rc = put_texts(texts, list);
    if (rc == GNN_OK)
        rc = index_pieces(&ids, pieces);
    *same = true;
    for (size_t k = 0; rc == GNN_OK && k < json_array_size(pieces); k++)
        *same = *same && json_object_get(texts, piece_text(pieces, k));
    for (size_t k = 0; rc == GNN_OK && k < json_array_size(list); k++) {
        const char *text = gnn__token_text(json_array_get(list, k));
        *same = *same && text &&
                (json_object_get(ids, text) ||
                 (f->source == GNN__OF_M2M100 && json_object_get(v->tokens, text)));
    }
    json_decref(texts);
    json_decref(ids);
    return rc;
}

/* Additional special tokens of a SentencePiece family must be the family's list, or absent. */
static int check_further(const gnn__family_vocabulary_t *v, const gnn__family_t *f, const char *key,
                         const json_t *list, const json_t *settings)
{
    json_t *own;
    bool same = true;
    int rc = list_own(&own, f, settings);
    if (rc == GNN_OK)
        rc = compare_texts(&same, v, f, list, own);
    json_decref(own);
    return rc == GNN_OK && !same
               ? gnn__error(GNN_EUNSUPPORTED,
                            "tokenizer_config.json: \"%s\" is not the list of the class's own special "
                            "tokens, which is expected",
                            key)
               : rc;
}

int gnn__family_add_tokens(gnn__family_vocabulary_t *v, const gnn__family_t *f,
                           const gnn__folder_words_t *words, const json_t *settings)
{
    static const char *const keys[] = {"additional_special_tokens", "extra_special_tokens"};
    json_t *decoder = json_object_get(words->config, "added_tokens_decoder");
    if (f->source == GNN__OF_M2M100)
        GNN_TRY(add_codes(v, f));
    if (json_is_object(decoder))
        GNN_TRY(add_decoder(v, f, decoder));
    GNN_TRY(add_legacy(v, words, settings));
    GNN_TRY(add_named_tokens(v, f, words, settings));
    GNN_TRY(add_own_tokens(v, f, settings));
    GNN_TRY(add_list(v, v->special_pieces, true));
    GNN_TRY(add_list(v, v->user_pieces, false));
    for (int k = 0; k < 2; k++) {
        const json_t *list = gnn__folder_value(words, keys[k]);
        if (list && f->source >= GNN__OF_PIECES && f->source != GNN__OF_PAIRS)
            GNN_TRY(check_further(v, f, keys[k], list, settings));
        GNN_TRY(add_list(v, list, true));
    }
    return GNN_OK;
}
