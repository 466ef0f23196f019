/* A cache of words and their tokens within a call, since most words repeat. */
#include <lib/text/tokenizer/tokenizer.h>

/* A cache starts small, for calls with one short text, and grows up to MOST slots. */
enum { FEWEST = 64, MOST = 1 << 14, GROWTH = 4, LONGEST = 64, FOR_A_SLOT = 8 };

typedef struct entry {
    uint64_t hash;
    int32_t word, bytes;  /* in `text`; bytes 0: an empty slot */
    int32_t first, count; /* in `tokens` */
} entry_t;

/* At most half of the slots are taken; `text` and `tokens` have room for FOR_A_SLOT times as
 * many. */
typedef struct gnn__cache {
    int32_t slots, words, text_used, token_used;
    entry_t *at;
    char *text;
    gnn__token_t *tokens;
} cache_t;

static uint64_t hash(const char *word, int64_t n)
{
    uint64_t h = (uint64_t)n, part;
    for (; n >= 8; n -= 8, word += 8) {
        memcpy(&part, word, 8);
        h = gnn__mix(h ^ part);
    }
    part = 0;
    memcpy(&part, word, (size_t)n);
    return gnn__mix(gnn__mix(h ^ part) ^ h >> 32);
}

/* The word's slot, or the empty one where it belongs. */
static entry_t *slot_of(cache_t *c, const char *word, int64_t n, uint64_t h)
{
    const uint64_t slots = (uint64_t)c->slots;
    for (uint64_t k = h % slots;; k = (k + 1) % slots) {
        entry_t *e = &c->at[k];
        if (e->bytes == 0 ||
            (e->hash == h && e->bytes == n && memcmp(c->text + e->word, word, (size_t)n) == 0))
            return e;
    }
}

const gnn__token_t *gnn__cache_get(const gnn__work_t *work, const char *word, int64_t n,
                                   int64_t *count)
{
    cache_t *c = work->cache;
    if (!c || c->slots == 0 || n > LONGEST)
        return NULL;
    const entry_t *e = slot_of(c, word, n, hash(word, n));
    if (e->bytes == 0)
        return NULL;
    *count = e->count;
    return c->tokens + e->first;
}

void gnn__cache_free(struct gnn__cache *c)
{
    if (!c)
        return;
    gnn_free(c->at);
    gnn_free(c->text);
    gnn_free(c->tokens);
    gnn_free(c);
}

/* Grows the table and reinserts its entries. */
static int grow(cache_t *c, int32_t slots)
{
    static const char what[] = "a cache of words";
    const int32_t old = c->slots;
    entry_t *before = c->at, *at;
    GNN_TRY(gnn__grow(&c->text, (int64_t)old * FOR_A_SLOT, (int64_t)slots * FOR_A_SLOT, 1, what));
    GNN_TRY(gnn__grow(&c->tokens, (int64_t)old * FOR_A_SLOT, (int64_t)slots * FOR_A_SLOT,
                      sizeof *c->tokens, what));
    GNN_TRY(gnn__new(&at, slots, sizeof *at, what));
    c->at = at;
    c->slots = slots;
    for (int32_t k = 0; k < old; k++)
        if (before[k].bytes > 0)
            *slot_of(c, c->text + before[k].word, before[k].bytes, before[k].hash) = before[k];
    gnn_free(before);
    return GNN_OK;
}

static bool is_full(const cache_t *c, int64_t bytes, int64_t tokens)
{
    const int64_t room = (int64_t)c->slots * FOR_A_SLOT;
    return c->words >= c->slots / 2 || c->text_used + bytes > room || c->token_used + tokens > room;
}

/* Makes room for a word; a full cache of maximum size is cleared. */
static int make_room(gnn__work_t *work, int64_t bytes, int64_t tokens)
{
    if (!work->cache)
        GNN_TRY(gnn__new(&work->cache, 1, sizeof *work->cache, "a cache of words"));
    cache_t *c = work->cache;
    if (!is_full(c, bytes, tokens))
        return GNN_OK;
    if (c->slots < MOST)
        return grow(c, c->slots ? c->slots * GROWTH : FEWEST);
    memset(c->at, 0, (size_t)c->slots * sizeof *c->at);
    c->words = c->text_used = c->token_used = 0;
    return GNN_OK;
}

void gnn__cache_put(gnn__work_t *work, const char *word, int64_t n, int64_t first_token)
{
    const int64_t count = work->tokens.n - first_token;
    if (n > LONGEST || count > LONGEST || work->rc != GNN_OK)
        return;
    work->rc = make_room(work, n, count);
    if (work->rc != GNN_OK)
        return;
    cache_t *c = work->cache;
    const uint64_t h = hash(word, n);
    entry_t *e = slot_of(c, word, n, h);
    *e = (entry_t){h, c->text_used, (int32_t)n, c->token_used, (int32_t)count};
    memcpy(c->text + c->text_used, word, (size_t)n);
    if (count > 0) /* a word without tokens may come before the list is allocated */
        memcpy(c->tokens + c->token_used, work->tokens.at + first_token,
               (size_t)count * sizeof *c->tokens);
    c->words++;
    c->text_used += (int32_t)n;
    c->token_used += (int32_t)count;
}
