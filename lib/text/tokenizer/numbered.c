/* Pieces of one tokenizer with ids of another vocabulary: SentencePiece's pieces with the ids of
 * vocab.json (Marian, M2M100). */
#include <lib/text/tokenizer/tokenizer.h>

static gnn__work_t *inner_of(gnn__work_t *work)
{
    if (work->inner || work->rc != GNN_OK)
        return work->inner;
    work->rc = gnn__new(&work->inner, 1, sizeof *work->inner, "work of pieces");
    if (work->rc == GNN_OK)
        work->rc = gnn__work_new(work->inner, work->tokenizer->cutter, work->places);
    if (work->rc == GNN_OK)
        work->inner->keeps_normal = true;
    return work->rc == GNN_OK ? work->inner : NULL;
}

/* The id of a string, or of the unknown token. */
static int32_t id_of(const gnn_tokenizer_t *t, const char *at, int64_t n)
{
    const int32_t id = gnn__token_find(t, (gnn__string_t){at, n}, (gnn__string_t){"", 0});
    return id >= 0 ? id : t->rules.unknown;
}

/* Length of ">>fra<<" at the start of a word; 0: absent. */
static int64_t code_length(const gnn_tokenizer_t *t, const char *word, int64_t n)
{
    if (!t->codes || n < 4 || memcmp(word, ">>", 2) != 0)
        return 0;
    for (int64_t k = 0; k + 2 <= n; k++)
        if (memcmp(word + k, "<<", 2) == 0)
            return k + 2;
    return 0;
}

/* Adds a piece's token. Characters outside all pieces are looked up unchanged. */
static void add(gnn__work_t *work, const gnn__work_t *inner, gnn__token_t token, int64_t from)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    const gnn__flow_t *text = &inner->text;
    const int32_t id = token.id == t->cutter->rules.unknown
                           ? id_of(t, text->at + token.begin, token.end - token.begin)
                           : t->numbering[token.id];
    if (work->places) {
        token.end = text->to[gnn__max(token.end, token.begin + 1) - 1];
        token.begin = text->from[token.begin];
    }
    gnn__add_token(work, id, from + token.begin, from + token.end);
}

static void encode(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word, int64_t n)
{
    gnn__work_t *inner = inner_of(work);
    const int64_t from = code_length(t, word, n);
    if (!inner)
        return;
    if (from > 0)
        gnn__add_token(work, id_of(t, word, from), 0, from);
    inner->tokens.n = 0;
    gnn__encode_text(inner, word + from, n - from);
    work->rc = work->rc == GNN_OK ? inner->rc : work->rc;
    for (int64_t k = 0; k < inner->tokens.n && work->rc == GNN_OK; k++)
        add(work, inner, inner->tokens.at[k], from);
}

/* Checks that both pieces and vocabulary have been read. */
static int ready(gnn_tokenizer_t *t)
{
    const gnn_tokenizer_t *p = t->cutter;
    GNN_TRY(gnn__new(&t->numbering, p->size, sizeof *t->numbering, "ids of pieces"));
    for (int64_t k = 0; k < p->size; k++)
        t->numbering[k] =
            p->tokens[k].at ? id_of(t, p->tokens[k].at, p->tokens[k].length) : t->rules.unknown;
    return GNN_OK;
}

const gnn__token_kind_t gnn__token_kind_numbered = {
    .name = "SentencePiece", .encode = encode, .ready = ready};
