/* Trains byte-pair encoding: repeatedly merges the most frequent pair of neighbours into a token.
 * Ties go to the smaller ids, as in the library "tokenizers". Sennrich et al. 2016. */
#include <lib/base/settings.h>
#include <lib/data/arrays/text_file.h>
#include <lib/text/tokenizer/tokenizer.h>

enum { MOST_SIZE = 1 << 22 };

typedef struct word {
    int32_t *symbols; /* into `symbols` of the learner */
    int32_t n;
    int64_t count;
} word_t;

/* Words that contain or contained a pair, possibly with duplicates. */
typedef struct places {
    int32_t *words;
    int64_t n, room, count;
    int64_t stamp; /* the last merge that added to the pair */
    uint64_t key;
} places_t;

typedef struct candidate {
    int64_t count;
    uint64_t key;
} candidate_t;

typedef struct learner {
    gnn__trie_t found; /* words by their bytes */
    word_t *words;
    int64_t n_words, words_room;
    int32_t *symbols;
    gnn__pair_table_t pairs; /* indices into `places` */
    places_t *places;
    int64_t n_places, places_room;
    candidate_t *heap;
    int64_t waiting, heap_room;
    int64_t merges;   /* so far */
    int32_t *touched; /* pairs whose counts grew by the last merge */
    int64_t n_touched, touched_room;
} learner_t;

static void learner_free(learner_t *l)
{
    for (int64_t k = 0; k < l->n_places; k++)
        gnn_free(l->places[k].words);
    gnn__trie_free(&l->found);
    gnn__pair_free(&l->pairs);
    gnn_free(l->words);
    gnn_free(l->symbols);
    gnn_free(l->places);
    gnn_free(l->heap);
    gnn_free(l->touched);
}

/* Room for one more element. */
static int room_for(void *list, int64_t n, int64_t *room, size_t element)
{
    return gnn__room(list, n, room, element, "words to learn from");
}

/* ---- words ---- */

static int count_word(learner_t *l, const char *at, int64_t n)
{
    const int32_t found = gnn__trie_find(&l->found, at, n);
    if (found >= 0) {
        l->words[found].count++;
        return GNN_OK;
    }
    if (l->n_words == INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d different words", INT32_MAX);
    GNN_TRY(room_for(&l->words, l->n_words, &l->words_room, sizeof *l->words));
    GNN_TRY(gnn__trie_add(&l->found, at, n, (int32_t)l->n_words));
    l->words[l->n_words++] = (word_t){NULL, (int32_t)n, 1};
    return GNN_OK;
}

/* A second pass over the texts finds where each word's bytes are. */
static int set_symbols(learner_t *l)
{
    int64_t bytes = 0;
    for (int64_t w = 0; w < l->n_words; w++)
        bytes += l->words[w].n;
    GNN_TRY(gnn__new(&l->symbols, bytes, sizeof *l->symbols, "words to learn from"));
    bytes = 0;
    for (int64_t w = 0; w < l->n_words; w++) {
        l->words[w].symbols = l->symbols + bytes;
        bytes += l->words[w].n;
    }
    return GNN_OK;
}

/* ---- the heap: most frequent first ---- */

static bool is_before(candidate_t a, candidate_t b)
{
    return a.count > b.count || (a.count == b.count && a.key < b.key);
}

static int heap_push(learner_t *l, candidate_t c)
{
    GNN_TRY(room_for(&l->heap, l->waiting, &l->heap_room, sizeof *l->heap));
    int64_t k = l->waiting++;
    for (; k > 0 && is_before(c, l->heap[(k - 1) / 2]); k = (k - 1) / 2)
        l->heap[k] = l->heap[(k - 1) / 2];
    l->heap[k] = c;
    return GNN_OK;
}

static candidate_t heap_pop(learner_t *l)
{
    const candidate_t top = l->heap[0], last = l->heap[--l->waiting];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < l->waiting; k = child) {
        if (child + 1 < l->waiting && is_before(l->heap[child + 1], l->heap[child]))
            child++;
        if (!is_before(l->heap[child], last))
            break;
        l->heap[k] = l->heap[child];
    }
    l->heap[k] = last;
    return top;
}

/* ---- pairs ---- */

static places_t *places_of(learner_t *l, uint64_t key)
{
    const gnn__pair_entry_t *entry = gnn__pair_find(&l->pairs, key);
    return entry ? &l->places[entry->first] : NULL;
}

static int add_pair(learner_t *l, uint64_t key, int32_t word)
{
    places_t *p = places_of(l, key);
    if (!p) {
        GNN_TRY(room_for(&l->places, l->n_places, &l->places_room, sizeof *l->places));
        GNN_TRY(gnn__pair_add(&l->pairs, key, (int32_t)l->n_places, 0));
        p = &l->places[l->n_places++];
        *p = (places_t){.key = key, .stamp = -1};
    }
    p->count += l->words[word].count;
    if (p->stamp != l->merges) {
        p->stamp = l->merges;
        GNN_TRY(room_for(&l->touched, l->n_touched, &l->touched_room, sizeof *l->touched));
        l->touched[l->n_touched++] = (int32_t)(p - l->places);
    }
    if (p->n > 0 && p->words[p->n - 1] == word)
        return GNN_OK;
    GNN_TRY(room_for(&p->words, p->n, &p->room, sizeof *p->words));
    p->words[p->n++] = word;
    return GNN_OK;
}

static uint64_t key_of(const word_t *w, int32_t k)
{
    return (uint64_t)w->symbols[k] << 32 | (uint32_t)w->symbols[k + 1];
}

static int add_pairs(learner_t *l, int32_t word)
{
    const word_t *w = &l->words[word];
    for (int32_t k = 0; k + 1 < w->n; k++)
        GNN_TRY(add_pair(l, key_of(w, k), word));
    return GNN_OK;
}

static int push_touched(learner_t *l)
{
    for (int64_t k = 0; k < l->n_touched; k++) {
        const places_t *p = &l->places[l->touched[k]];
        GNN_TRY(heap_push(l, (candidate_t){p->count, p->key}));
    }
    l->n_touched = 0;
    return GNN_OK;
}

/* ---- merging ---- */

static int merge_in(learner_t *l, int32_t word, uint64_t key, int32_t id)
{
    word_t *w = &l->words[word];
    int32_t made = 0;
    bool has = false;
    for (int32_t k = 0; k + 1 < w->n; k++)
        has = has || key_of(w, k) == key;
    if (!has)
        return GNN_OK;
    for (int32_t k = 0; k + 1 < w->n; k++)
        places_of(l, key_of(w, k))->count -= w->count;
    for (int32_t k = 0; k < w->n; k++) {
        const bool here = k + 1 < w->n && key_of(w, k) == key;
        w->symbols[made++] = here ? id : w->symbols[k];
        k += here;
    }
    w->n = made;
    return add_pairs(l, word);
}

static int merge(learner_t *l, uint64_t key, int32_t id)
{
    const int64_t which = places_of(l, key) - l->places, n = l->places[which].n;
    l->merges++;
    for (int64_t k = 0; k < n; k++)
        GNN_TRY(merge_in(l, l->places[which].words[k], key, id));
    return push_touched(l);
}

/* The most frequent pair; false: none is left. A candidate with an outdated count is pushed
 * again. */
static int next_pair(learner_t *l, int64_t min_count, candidate_t *top, bool *any)
{
    for (*any = false; l->waiting > 0 && !*any;) {
        *top = heap_pop(l);
        const int64_t count = places_of(l, top->key)->count;
        *any = count == top->count && count >= min_count;
        if (count < top->count && count > 0)
            GNN_TRY(heap_push(l, (candidate_t){count, top->key}));
    }
    return GNN_OK;
}

/* ---- the vocabulary as JSON ---- */

typedef struct vocabulary {
    json_t *root, *tokens, *merges;
    char **names; /* (size) tokens by id */
    int64_t n, size;
} vocabulary_t;

static int no_memory(void)
{
    return gnn__error(GNN_EMEMORY, "out of memory for a vocabulary");
}

static int name_token(vocabulary_t *v, const char *left, const char *right, int32_t *id)
{
    char *name;
    GNN_TRY(gnn__asprintf(&name, "%s%s", left, right));
    const json_t *there = json_object_get(v->tokens, name);
    if (there) {
        *id = (int32_t)json_integer_value(there);
        gnn_free(name);
        return GNN_OK;
    }
    *id = (int32_t)v->n;
    v->names[v->n++] = name;
    if (!gnn__is_utf8(name, (int64_t)strlen(name)))
        return gnn__error(GNN_EFORMAT, "token \"%.40s\" is not UTF-8", name);
    return json_object_set_new_nocheck(v->tokens, name, json_integer(*id)) == 0 ? GNN_OK
                                                                                : no_memory();
}

static json_t *outline(json_t *tokens, json_t *merges, json_t *added)
{
    return json_pack(
        "{s:s, s:n, s:n, s:o, s:n, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:n, s:n, s:n, s:n, "
        "s:b, s:b, s:o, s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer",
        "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1, "use_regex",
        1, "post_processor", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 0,
        "use_regex", 1, "decoder", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1,
        "use_regex", 1, "model", "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix",
        "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0, "vocab", tokens, "merges", merges);
}

/* Special tokens first, then the 256 bytes in the order of their characters in GPT-2's alphabet;
 * writes their ids to byte_ids. */
static int start_vocabulary(vocabulary_t *v, const gnn_learning_t *how, int32_t byte_ids[256])
{
    json_t *added = json_array();
    int32_t id;
    v->tokens = json_object();
    v->merges = json_array();
    v->root = outline(v->tokens, v->merges, added);
    if (!v->root)
        return no_memory();
    if (how->lower == GNN_ON &&
        json_object_set_new(v->root, "normalizer", json_pack("{s:s}", "type", "Lowercase")) != 0)
        return no_memory();
    for (int64_t k = 0; k < how->n_special; k++) {
        GNN_TRY(name_token(v, how->special[k], "", &id));
        json_t *token =
            json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", how->special[k],
                      "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1);
        if (json_array_append_new(added, token) != 0)
            return no_memory();
    }
    for (int32_t c = 0; c < 0x144; c++) {
        char name[8] = "";
        const int byte = gnn__byte_of(c);
        gnn__utf8_put(name, c);
        if (byte >= 0)
            GNN_TRY(name_token(v, name, "", &byte_ids[byte]));
    }
    return GNN_OK;
}

static int add_merge(vocabulary_t *v, uint64_t key, int32_t *id)
{
    const char *left = v->names[key >> 32], *right = v->names[key & 0xffffffff];
    char *both;
    GNN_TRY(gnn__asprintf(&both, "%s %s", left, right));
    const int failed = json_array_append_new(v->merges, json_string(both));
    gnn_free(both);
    return failed ? no_memory() : name_token(v, left, right, id);
}

static void vocabulary_free(vocabulary_t *v)
{
    for (int64_t k = 0; k < v->n; k++)
        gnn_free(v->names[k]);
    gnn_free(v->names);
    json_decref(v->root);
}

/* ---- lower case ---- */

/* Lower-cases the texts, as the tokenizer will. A character's lower case takes at most twice its
 * bytes, or is two characters. */
typedef struct lowered {
    gnn_texts_t texts;
    char **at;
    int64_t *bytes;
} lowered_t;

static void lowered_free(lowered_t *l)
{
    for (int64_t t = 0; l->at && t < l->texts.count; t++)
        gnn_free(l->at[t]);
    gnn_free(l->at);
    gnn_free(l->bytes);
}

static int lower_text(lowered_t *l, int64_t t, const char *text, int64_t n)
{
    int64_t room;
    if (!gnn__mul(n, 3, &room))
        return gnn__error(GNN_EOVERFLOW, "text %lld of %lld bytes does not fit", (long long)t,
                          (long long)n);
    GNN_TRY(gnn__new(&l->at[t], room + 1, 1, "a text in lower case"));
    for (int64_t k = 0; k < n;) {
        int32_t lower[2];
        const int count = gnn__to_lower(gnn__utf8_next(text, &k), lower);
        for (int i = 0; i < count; i++)
            l->bytes[t] += gnn__utf8_put(l->at[t] + l->bytes[t], lower[i]);
    }
    return GNN_OK;
}

static int lower_texts(lowered_t *l, const gnn_texts_t *from)
{
    GNN_TRY(gnn__new(&l->at, from->count, sizeof *l->at, "texts in lower case"));
    l->texts.count = from->count;
    GNN_TRY(gnn__new(&l->bytes, from->count, sizeof *l->bytes, "texts in lower case"));
    for (int64_t t = 0; t < from->count; t++)
        GNN_TRY(lower_text(l, t, from->at[t],
                           from->bytes ? from->bytes[t] : (int64_t)strlen(from->at[t])));
    l->texts.at = (const char *const *)l->at;
    l->texts.bytes = l->bytes;
    return GNN_OK;
}

/* ---- the whole ---- */

static int check_utf8(const gnn_texts_t *texts)
{
    for (int64_t t = 0; t < texts->count; t++) {
        const char *at = texts->at[t];
        const int64_t n = texts->bytes ? texts->bytes[t] : (int64_t)strlen(at);
        if (!gnn__is_utf8(at, n))
            return gnn__error(GNN_EFORMAT, "text %lld is not UTF-8", (long long)t);
    }
    return GNN_OK;
}

static int read_words(learner_t *l, const gnn_texts_t *texts)
{
    for (int64_t t = 0; t < texts->count; t++) {
        const char *at = texts->at[t];
        const int64_t n = texts->bytes ? texts->bytes[t] : (int64_t)strlen(at);
        for (int64_t k = 0, end; k < n; k = end) {
            end = gnn__word_end(&gnn__gpt2_words, at, k, n);
            GNN_TRY(count_word(l, at + k, end - k));
        }
    }
    return set_symbols(l);
}

/* Byte tokens of a word, from its first occurrence in the texts. */
static void fill_symbols(learner_t *l, const gnn_texts_t *texts, const int32_t byte_ids[256])
{
    for (int64_t t = 0, next = 0; t < texts->count && next < l->n_words; t++) {
        const char *at = texts->at[t];
        const int64_t n = texts->bytes ? texts->bytes[t] : (int64_t)strlen(at);
        for (int64_t k = 0, end; k < n; k = end) {
            end = gnn__word_end(&gnn__gpt2_words, at, k, n);
            if (gnn__trie_find(&l->found, at + k, end - k) != next)
                continue;
            for (int64_t b = k; b < end; b++)
                l->words[next].symbols[b - k] = byte_ids[(unsigned char)at[b]];
            next++;
        }
    }
}

static int learn(learner_t *l, vocabulary_t *v, const gnn_texts_t *texts, const gnn_learning_t *how)
{
    int32_t byte_ids[256] = {0};
    candidate_t top;
    bool any = true;
    GNN_TRY(gnn__new(&v->names, v->size, sizeof *v->names, "names of tokens"));
    GNN_TRY(start_vocabulary(v, how, byte_ids));
    GNN_TRY(read_words(l, texts));
    fill_symbols(l, texts, byte_ids);
    for (int32_t w = 0; w < l->n_words; w++)
        GNN_TRY(add_pairs(l, w));
    GNN_TRY(push_touched(l));
    while (v->n < v->size) {
        int32_t id;
        GNN_TRY(next_pair(l, how->min_count, &top, &any));
        if (!any)
            return GNN_OK;
        GNN_TRY(add_merge(v, top.key, &id));
        GNN_TRY(merge(l, top.key, id));
    }
    return GNN_OK;
}

static int check(const gnn_texts_t *texts, const gnn_learning_t *how)
{
    if (texts->count < 0 || (texts->count > 0 && !texts->at))
        return gnn__error(GNN_EINVALID, "texts: .count = %lld, expected at least 0%s",
                          (long long)texts->count, texts->at ? "" : ", and .at is NULL");
    GNN_TRY(gnn__check_flag(how->lower, "learning a tokenizer: lower"));
    for (int64_t t = 0; t < texts->count; t++)
        if (!texts->at[t])
            return gnn__error(GNN_EINVALID, "text %lld is NULL", (long long)t);
    for (int64_t k = 0; k < how->n_special; k++)
        if (!how->special || !how->special[k] || !*how->special[k])
            return gnn__error(GNN_EINVALID, "special token %lld is NULL or empty", (long long)k);
    if (how->n_special < 0 || how->size < 256 + how->n_special || how->size > MOST_SIZE)
        return gnn__error(GNN_EINVALID,
                          ".size = %lld tokens, expected %lld (256 bytes and .n_special = %lld) to %d",
                          (long long)how->size, 256 + (long long)how->n_special,
                          (long long)how->n_special, MOST_SIZE);
    return GNN_OK;
}

int gnn_tokenizer_learn(gnn_tokenizer_t **tokenizer, const gnn_texts_t *texts,
                        const gnn_learning_t *how)
{
    GNN__NEED(texts);
    gnn_learning_t settings = how ? *how : (gnn_learning_t){0};
    learner_t l = {0};
    GNN__NEED(tokenizer);
    *tokenizer = NULL;
    settings.size = settings.size ? settings.size : 8000;
    settings.min_count = settings.min_count ? settings.min_count : 1;
    GNN_TRY(check(texts, &settings));
    GNN_TRY(check_utf8(texts));
    vocabulary_t v = {.size = settings.size};
    lowered_t lowered = {.at = NULL};
    int rc = settings.lower == GNN_ON ? lower_texts(&lowered, texts) : GNN_OK;
    if (rc == GNN_OK)
        rc = learn(&l, &v, lowered.at ? &lowered.texts : texts, &settings);
    if (rc == GNN_OK)
        rc = gnn__tokenizer_of_root(tokenizer, json_incref(v.root));
    learner_free(&l);
    vocabulary_free(&v);
    lowered_free(&lowered);
    return rc;
}
