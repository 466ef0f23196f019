/* Every word is a token or unknown. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn_tokenizer_t *t, const json_t *model)
{
    GNN_TRY(gnn__vocabulary_of(t, model));
    return gnn__unknown_read(t, model, "<unk>");
}

static void encode(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word, int64_t n)
{
    const int32_t id = gnn__trie_find(&t->pieces, word, n);
    if (id >= 0)
        gnn__add_token(work, id, 0, n);
    else
        gnn__add_unknown(work, word, 0, n);
}

const gnn__token_kind_t gnn__token_kind_word_level = {
    .name = "WordLevel", .keys = "type vocab unk_token", .read = read, .encode = encode};
