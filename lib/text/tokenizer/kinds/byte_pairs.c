/* Byte-pair encoding: the characters, or bytes, of a word are merged in pairs, lowest rank first,
 * leftmost first among equals. Sennrich et al. 2016; SentencePiece's scores are ranks too. A heap
 * holds the pairs, so that a word of n bytes takes O(n log n). */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct symbol {
    int32_t id, before, after; /* neighbours, -1: none; id -2: merged away */
    int32_t begin, end;
} symbol_t;

typedef struct candidate {
    int32_t rank, at, id; /* left symbol of the pair, and the merged token */
} candidate_t;

enum { UNKNOWN = -1, GONE = -2, MOST_AFFIX = 32 };

typedef struct word {
    const gnn_tokenizer_t *t;
    symbol_t *symbols;      /* (room) */
    candidate_t *heap;      /* (2 room) each merge removes a symbol and a candidate, and adds two */
    int32_t n, waiting, at; /* `at`: end of the last symbol */
    symbol_t unknown;       /* still grows; id UNKNOWN: there is none */
    bool moved;    /* as in the package, symbols have the places of those before them ... */
    bool alphabet; /* ... which are counted in GPT-2's alphabet */
} word_t;

/* ---- the heap ---- */

static bool is_before(candidate_t a, candidate_t b)
{
    return a.rank < b.rank || (a.rank == b.rank && a.at < b.at);
}

static void heap_push(word_t *w, candidate_t c)
{
    int32_t k = w->waiting++;
    for (; k > 0 && is_before(c, w->heap[(k - 1) / 2]); k = (k - 1) / 2)
        w->heap[k] = w->heap[(k - 1) / 2];
    w->heap[k] = c;
}

static candidate_t heap_pop(word_t *w)
{
    const candidate_t top = w->heap[0], last = w->heap[--w->waiting];
    int32_t k = 0;
    for (int32_t child; (child = 2 * k + 1) < w->waiting; k = child) {
        if (child + 1 < w->waiting && is_before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!is_before(w->heap[child], last))
            break;
        w->heap[k] = w->heap[child];
    }
    w->heap[k] = last;
    return top;
}

/* ---- merging ---- */

static const gnn__pair_entry_t *pair_at(const word_t *w, int32_t left)
{
    const symbol_t *l = &w->symbols[left];
    if (l->after < 0 || l->id < 0 || w->symbols[l->after].id < 0)
        return NULL;
    return gnn__pair_find(&w->t->rules.merges,
                          (uint64_t)l->id << 32 | (uint32_t)w->symbols[l->after].id);
}

static void propose(word_t *w, int32_t left)
{
    const gnn__pair_entry_t *pair = left >= 0 ? pair_at(w, left) : NULL;
    if (pair)
        heap_push(w, (candidate_t){pair->first, left, pair->second});
}

static void merge(word_t *w, int32_t left, int32_t id)
{
    symbol_t *l = &w->symbols[left], *r = &w->symbols[l->after];
    l->id = id;
    l->end = r->end;
    l->after = r->after;
    r->id = GONE;
    if (r->after >= 0)
        w->symbols[r->after].before = left;
    propose(w, l->before);
    propose(w, left);
}

/* A candidate may be about symbols that have changed since. */
static void merge_all(word_t *w)
{
    for (int32_t k = 0; k + 1 < w->n; k++)
        propose(w, k);
    while (w->waiting > 0) {
        const candidate_t c = heap_pop(w);
        const gnn__pair_entry_t *pair = pair_at(w, c.at);
        if (pair && pair->second == c.id)
            merge(w, c.at, c.id);
    }
}

/* ---- symbols ---- */

static int32_t walk(const gnn_tokenizer_t *t, int32_t node, const char *at, int64_t n)
{
    for (int64_t k = 0; k < n && node >= 0; k++)
        node = gnn__trie_step(&t->pieces, node, at[k]);
    return node;
}

/* The token of one character, with a prefix inside a word and a suffix at its end. */
static int32_t token_of(const gnn_tokenizer_t *t, const char *word, int64_t k, int64_t end, int64_t n)
{
    const gnn__rules_t *r = &t->rules;
    int32_t node = k > 0 ? walk(t, 0, r->prefix, (int64_t)strlen(r->prefix)) : 0;
    node = walk(t, node, word + k, end - k);
    if (end == n)
        node = walk(t, node, r->suffix, (int64_t)strlen(r->suffix));
    return node < 0 ? UNKNOWN : t->pieces.value[node];
}

static int64_t symbol_end(const gnn_tokenizer_t *t, const char *word, int64_t k, int64_t n)
{
    int64_t kept = 0;
    if (t->rules.bytewise)
        return k + 1;
    if (t->kept.nodes > 0 && gnn__trie_longest(&t->kept, word + k, n - k, &kept) >= 0)
        return k + kept;
    gnn__utf8_next(word, &k);
    return k;
}

/* Symbols follow on each other. */
static void add_symbol(word_t *w, int32_t id, int64_t length)
{
    const int32_t end = w->at + (int32_t)length;
    w->symbols[w->n] = (symbol_t){id, w->n - 1, w->n + 1, w->at, end};
    w->at = end;
    w->n++;
}

static void end_unknown(word_t *w)
{
    if (w->unknown.id >= 0)
        add_symbol(w, w->unknown.id, w->unknown.end);
    w->unknown.id = UNKNOWN;
}

/* As in the package, it comes before the next known character, after the byte tokens in between. */
static void add_unknown(word_t *w, int64_t length)
{
    if (w->unknown.id >= 0 && w->t->rules.fuse_unknown) {
        w->unknown.end += (int32_t)length;
        return;
    }
    end_unknown(w);
    w->unknown = (symbol_t){.id = w->t->rules.unknown, .end = (int32_t)length};
}

/* Bytes of a byte in GPT-2's alphabet. */
static int64_t alphabet_bytes(char byte)
{
    char letter[4];
    return gnn__utf8_put(letter, gnn__character_of((unsigned char)byte));
}

/* The bytes of a character with its prefix and suffix; false: some byte has no token. */
static bool add_bytes(word_t *w, const char *word, int64_t k, int64_t end, int64_t n)
{
    const gnn__rules_t *r = &w->t->rules;
    char letter[4];
    const int64_t length =
        r->bytewise ? gnn__utf8_put(letter, gnn__character_of((unsigned char)word[k])) : end - k;
    const gnn__string_t parts[3] = {{r->prefix, k > 0 ? (int64_t)strlen(r->prefix) : 0},
                                    {r->bytewise ? letter : word + k, length},
                                    {r->suffix, end == n ? (int64_t)strlen(r->suffix) : 0}};
    for (int part = 0; part < 3; part++)
        for (int64_t b = 0; b < parts[part].length; b++)
            if (r->bytes[(unsigned char)parts[part].at[b]] < 0)
                return false;
    for (int part = 0; part < 3; part++)
        for (int64_t b = 0; b < parts[part].length; b++)
            add_symbol(w, r->bytes[(unsigned char)parts[part].at[b]], 1);
    return true;
}

static void find_symbols(word_t *w, const char *word, int64_t n)
{
    const gnn__rules_t *r = &w->t->rules;
    w->unknown.id = UNKNOWN;
    for (int64_t k = 0, end; k < n; k = end) {
        end = symbol_end(w->t, word, k, n);
        const int32_t id =
            r->letters ? r->letters[(unsigned char)word[k]] : token_of(w->t, word, k, end, n);
        const int64_t length = w->alphabet ? alphabet_bytes(word[k]) : end - k;
        if (id >= 0) {
            end_unknown(w);
            add_symbol(w, id, length);
            continue;
        }
        const bool bytes = r->byte_fallback && add_bytes(w, word, k, end, n);
        if (!bytes && r->unknown >= 0)
            add_unknown(w, length);
        w->moved = w->moved || bytes || r->unknown < 0;
    }
    end_unknown(w);
    if (w->n > 0)
        w->symbols[w->n - 1].after = -1;
    if (w->moved && r->bytewise && !w->alphabet) {
        *w = (word_t){
            .t = w->t, .symbols = w->symbols, .heap = w->heap, .moved = true, .alphabet = true};
        find_symbols(w, word, n);
    }
}

/* Adds a token whose span is in GPT-2's alphabet. One that ends after the word stays as it is. */
static void add_of_alphabet(gnn__work_t *work, const symbol_t *s, const char *word, int64_t n)
{
    int64_t begin = -1, end = -1, at = 0;
    for (int64_t k = 0; k < n && end < 0; k++) {
        at += alphabet_bytes(word[k]);
        begin = begin < 0 && at > s->begin ? k : begin;
        end = at >= s->end ? k + 1 : -1;
    }
    if (end < 0)
        gnn__add_token(work, s->id, s->begin, s->end);
    else
        gnn__add_token(work, s->id, begin, end);
}

/* Upper bound of the symbols in a word of n bytes. */
static int64_t most_symbols(const gnn__rules_t *r, int64_t n)
{
    if (!r->byte_fallback)
        return n;
    const int64_t each = 1 + r->bytewise + (int64_t)strlen(r->prefix);
    return n * each + (int64_t)strlen(r->suffix);
}

static void encode(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word, int64_t n)
{
    const int32_t whole = t->rules.ignore_merges ? gnn__trie_find(&t->pieces, word, n) : -1;
    if (whole >= 0) {
        gnn__add_token(work, whole, 0, n);
        return;
    }
    const int64_t room = most_symbols(&t->rules, n);
    word_t w = {.t = t,
                .symbols = gnn__work_scratch(work, room, sizeof(symbol_t) + 2 * sizeof(candidate_t))};
    if (!w.symbols)
        return;
    w.heap = (candidate_t *)(w.symbols + room);
    find_symbols(&w, word, n);
    merge_all(&w);
    for (int32_t k = 0; k < w.n; k++) {
        const symbol_t *s = &w.symbols[k];
        if (s->id >= 0 && w.alphabet)
            add_of_alphabet(work, s, word, n);
        else if (s->id >= 0)
            gnn__add_token(work, s->id, s->begin, s->end);
    }
}

/* ---- reading ---- */

static int read_sides(const json_t *merge, gnn__string_t side[2])
{
    if (json_is_array(merge) && json_array_size(merge) == 2) {
        for (size_t k = 0; k < 2; k++) {
            const json_t *s = json_array_get(merge, k);
            if (!json_is_string(s))
                return gnn__error(GNN_EFORMAT, "two strings are expected");
            side[k] = (gnn__string_t){json_string_value(s), (int64_t)json_string_length(s)};
        }
        return GNN_OK;
    }
    const char *text = json_string_value(merge), *blank = text ? strchr(text, ' ') : NULL;
    if (!blank || strchr(blank + 1, ' '))
        return gnn__error(GNN_EFORMAT, "%s%.60s: two tokens with a space between them are expected",
                          text ? "" : gnn__json_type(merge), text ? text : "");
    side[0] = (gnn__string_t){text, blank - text};
    side[1] = (gnn__string_t){blank + 1, (int64_t)strlen(blank + 1)};
    return GNN_OK;
}

/* The merge of the two tokens, the second without its prefix. */
static int32_t joined(const gnn_tokenizer_t *t, const gnn__string_t side[2])
{
    const int64_t cut = gnn__min((int64_t)strlen(t->rules.prefix), side[1].length);
    return gnn__token_find(t, side[0], (gnn__string_t){side[1].at + cut, side[1].length - cut});
}

static int add_merge(gnn_tokenizer_t *t, const gnn__string_t side[2], int32_t rank)
{
    const gnn__string_t none = {"", 0};
    int32_t ids[3] = {gnn__token_find(t, side[0], none), gnn__token_find(t, side[1], none),
                      joined(t, side)};
    static const char *const which[] = {"left token", "right token", "two together"};
    for (int k = 0; k < 3; k++)
        if (ids[k] < 0)
            return gnn__error(GNN_EFORMAT, "the %s of \"%.*s %.*s\" are none of the vocabulary's",
                              which[k], (int)gnn__min(side[0].length, 60), side[0].at,
                              (int)gnn__min(side[1].length, 60), side[1].at);
    return gnn__pair_add(&t->rules.merges, (uint64_t)ids[0] << 32 | (uint32_t)ids[1], rank, ids[2]);
}

static int read_merges(gnn_tokenizer_t *t, const json_t *model)
{
    const json_t *merges = json_object_get(model, "merges");
    if (!json_is_array(merges))
        return gnn__error(GNN_EFORMAT, "\"merges\" is %s, a list is expected",
                          gnn__json_type(merges));
    for (size_t k = 0; k < json_array_size(merges); k++) {
        gnn__string_t side[2];
        int rc = read_sides(json_array_get(merges, k), side);
        if (rc == GNN_OK)
            rc = add_merge(t, side, (int32_t)k);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "merge %lld", (long long)k);
    }
    return GNN_OK;
}

/* BPE dropout: merges skipped at random. */
static int check_dropout(const json_t *model)
{
    const json_t *dropout = json_object_get(model, "dropout");
    return !dropout || json_is_null(dropout) || json_number_value(dropout) == 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "\"dropout\" is %g, null is expected",
                            json_number_value(dropout));
}

/* In GPT-2's byte alphabet only printable ASCII bytes equal those of the text. */
static int check_affix(const char *key, gnn__string_t affix, bool bytewise)
{
    bool plain = affix.length <= MOST_AFFIX;
    for (int64_t k = 0; k < affix.length && bytewise; k++)
        plain = plain && affix.at[k] > ' ' && affix.at[k] <= '~';
    return plain
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "\"%s\" is \"%.40s\", at most %d bytes%s are expected",
                            key, affix.at, MOST_AFFIX, bytewise ? " of printable ASCII" : "");
}

static int find_letters(gnn_tokenizer_t *t)
{
    GNN_TRY(gnn__new(&t->rules.letters, 256, sizeof *t->rules.letters, "tokens of bytes"));
    for (int b = 0; b < 256; b++)
        t->rules.letters[b] = gnn__trie_find(&t->pieces, &(char){(char)b}, 1);
    return GNN_OK;
}

static int read(gnn_tokenizer_t *t, const json_t *model)
{
    gnn__rules_t *r = &t->rules;
    gnn__string_t prefix = {"", 0}, suffix = {"", 0};
    GNN_TRY(gnn__json_string(model, "continuing_subword_prefix", false, &prefix));
    GNN_TRY(gnn__json_string(model, "end_of_word_suffix", false, &suffix));
    GNN_TRY(gnn__json_bool(model, "fuse_unk", &r->fuse_unknown));
    GNN_TRY(gnn__json_bool(model, "byte_fallback", &r->byte_fallback));
    GNN_TRY(gnn__json_bool(model, "ignore_merges", &r->ignore_merges));
    GNN_TRY(check_dropout(model));
    r->prefix = prefix.at;
    r->suffix = suffix.at;
    GNN_TRY(check_affix("continuing_subword_prefix", prefix, r->bytewise));
    GNN_TRY(check_affix("end_of_word_suffix", suffix, r->bytewise));
    GNN_TRY(gnn__vocabulary_of(t, model));
    GNN_TRY(gnn__unknown_read(t, model, NULL));
    gnn__byte_tokens_find(t);
    if (r->bytewise && prefix.length + suffix.length == 0)
        GNN_TRY(find_letters(t));
    return read_merges(t, model);
}

const gnn__token_kind_t gnn__token_kind_byte_pairs = {
    .name = "BPE",
    .keys = "type vocab merges unk_token continuing_subword_prefix end_of_word_suffix fuse_unk "
            "byte_fallback ignore_merges dropout",
    .paper = "Sennrich et al. 2016, Neural machine translation of rare words with subword units",
    .read = read,
    .encode = encode};
