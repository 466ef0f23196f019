/* Tokens for text outside the vocabulary. */
#include <lib/text/tokenizer/tokenizer.h>

static bool all_bytes(const gnn__rules_t *rules, const char *word, int64_t begin, int64_t end)
{
    bool all = rules->byte_fallback;
    for (int64_t k = begin; k < end && all; k++)
        all = rules->bytes[(unsigned char)word[k]] >= 0;
    return all;
}

void gnn__add_unknown(gnn__work_t *work, const char *word, int64_t begin, int64_t end)
{
    const gnn__rules_t *rules = &work->tokenizer->rules;
    gnn__token_list_t *t = &work->tokens;
    if (all_bytes(rules, word, begin, end)) {
        for (int64_t k = begin; k < end; k++)
            gnn__add_token(work, rules->bytes[(unsigned char)word[k]], begin, end);
        return;
    }
    if (rules->unknown < 0)
        return;
    if (rules->fuse_unknown && begin > 0 && t->n > 0 && t->at[t->n - 1].id == rules->unknown &&
        t->at[t->n - 1].end == begin)
        t->at[t->n - 1].end = end;
    else
        gnn__add_token(work, rules->unknown, begin, end);
}
