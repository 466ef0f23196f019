/* Words that a call met before and their tokens: in text most words are. */
#include <lib/text/tokenizer/tokenizer.h>

enum { SLOTS = 1 << 14, MOST_WORDS = SLOTS / 2, LONGEST = 64, MOST_TOKENS = 1 << 17 };

typedef struct entry {
    uint64_t hash;
    int32_t word, bytes;  /* in `text`; bytes 0: an empty slot */
    int32_t first, count; /* in `tokens` */
} entry_t;

typedef struct gnn__cache {
    int32_t words, text_used, token_used;
    entry_t at[SLOTS];
    char text[MOST_WORDS * LONGEST / 4];
    gnn__token_t tokens[MOST_TOKENS];
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
    for (uint64_t k = h % SLOTS;; k = (k + 1) % SLOTS) {
        entry_t *e = &c->at[k];
        if (e->bytes == 0 ||
            (e->hash == h && e->bytes == n && memcmp(c->text + e->word, word, (size_t)n) == 0))
            return e;
    }
}

bool gnn__cache_get(gnn__work_t *work, const char *word, int64_t n)
{
    if (!work->cache || n > LONGEST)
        return false;
    const entry_t *e = slot_of(work->cache, word, n, hash(word, n));
    for (int32_t k = 0; e->bytes > 0 && k < e->count; k++) {
        const gnn__token_t *t = &work->cache->tokens[e->first + k];
        gnn__add_token(work, t->id, t->begin, t->end);
    }
    return e->bytes > 0;
}

/* Everything is forgotten when a store is full. */
void gnn__cache_put(gnn__work_t *work, const char *word, int64_t n, int64_t first_token)
{
    const int64_t count = work->tokens.n - first_token;
    if (n > LONGEST || count > LONGEST || work->rc != GNN_OK)
        return;
    if (!work->cache)
        work->rc = gnn__new(&work->cache, 1, sizeof *work->cache, "a cache of words");
    if (work->rc != GNN_OK)
        return;
    cache_t *c = work->cache;
    if (c->words == MOST_WORDS || c->text_used + n > (int64_t)sizeof c->text ||
        c->token_used + count > MOST_TOKENS) {
        memset(c->at, 0, sizeof c->at);
        c->words = c->text_used = c->token_used = 0;
    }
    const uint64_t h = hash(word, n);
    entry_t *e = slot_of(c, word, n, h);
    *e = (entry_t){h, c->text_used, (int32_t)n, c->token_used, (int32_t)count};
    memcpy(c->text + c->text_used, word, (size_t)n);
    memcpy(c->tokens + c->token_used, work->tokens.at + first_token,
           (size_t)count * sizeof *c->tokens);
    c->words++;
    c->text_used += (int32_t)n;
    c->token_used += (int32_t)count;
}
