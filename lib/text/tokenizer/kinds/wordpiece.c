/* WordPiece: greedy longest match, with a prefix for tokens inside a word; a word without a
 * complete match becomes one unknown token. Wu et al. 2016. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn_tokenizer_t *t, const json_t *model)
{
    gnn__string_t prefix = {"##", 2};
    t->rules.longest_word = 100;
    GNN_TRY(gnn__json_string(model, "continuing_subword_prefix", false, &prefix));
    GNN_TRY(gnn__json_number(model, "max_input_chars_per_word", false, &t->rules.longest_word));
    t->rules.prefix = prefix.at;
    GNN_TRY(gnn__vocabulary_of(t, model));
    GNN_TRY(gnn__unknown_read(t, model, "[UNK]"));
    return t->rules.unknown >= 0
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "\"vocab\" has no token for unknown words");
}

static bool is_too_long(const char *word, int64_t n, int64_t most)
{
    int64_t count = 0;
    for (int64_t k = 0; k < n && count <= most; k++)
        count += ((unsigned char)word[k] & 0xc0) != 0x80;
    return count > most;
}

/* The longest token at k; *end: one past it. */
static int32_t longest(const gnn_tokenizer_t *t, const char *word, int64_t k, int64_t n, int64_t *end)
{
    int32_t found = -1, node = 0;
    for (const char *p = k > 0 ? t->rules.prefix : ""; *p && node >= 0; p++)
        node = gnn__trie_step(&t->pieces, node, *p);
    for (; k < n && node >= 0; k++) {
        node = gnn__trie_step(&t->pieces, node, word[k]);
        if (node >= 0 && t->pieces.value[node] >= 0) {
            found = t->pieces.value[node];
            *end = k + 1;
        }
    }
    return found;
}

static void encode(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word, int64_t n)
{
    const int64_t first = work->tokens.n;
    bool known = !is_too_long(word, n, t->rules.longest_word);
    for (int64_t k = 0, end = 0; k < n && known; k = end) {
        const int32_t id = longest(t, word, k, n, &end);
        known = id >= 0;
        if (known)
            gnn__add_token(work, id, k, end);
    }
    if (known)
        return;
    work->tokens.n = first;
    gnn__add_token(work, t->rules.unknown, 0, n);
}

const gnn__token_kind_t gnn__token_kind_wordpiece = {
    .name = "WordPiece",
    .keys = "type vocab unk_token continuing_subword_prefix max_input_chars_per_word",
    .paper = "Wu et al. 2016, Google's neural machine translation system",
    .read = read,
    .encode = encode};
