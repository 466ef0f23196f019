/* Merges by scores (SentencePiece, llama2.c): of all neighbours whose concatenation is a token,
 * those of the largest score are merged first. */
#include <lib/text/tokenizer/tokenizer.h>

#include <stdlib.h>

static int by_score(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

/* Rank of a score: the count of larger distinct scores; `sorted` is descending. */
static int32_t rank_of(const double *sorted, int64_t n, double score)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted[middle] > score)
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)low;
}

/* Pieces by hash, and buffers for the hashes of one piece's parts. */
typedef struct parts {
    gnn__string_table_t pieces;
    uint64_t *prefix; /* (GNN__MOST_TOKEN_BYTES + 1) hashes of the first k bytes */
    uint64_t *power;  /* (GNN__MOST_TOKEN_BYTES + 1) powers of the hash's base */
} parts_t;

static void parts_free(parts_t *p)
{
    gnn__strings_free(&p->pieces);
    gnn_free(p->prefix);
    gnn_free(p->power);
}

static bool is_piece(const gnn_tokenizer_t *t, int32_t id)
{
    return gnn__trie_find(&t->pieces, t->tokens[id].at, t->tokens[id].length) == id;
}

static int parts_new(parts_t *p, const gnn_tokenizer_t *t)
{
    *p = (parts_t){.pieces = {NULL, 0, 0}};
    GNN_TRY(gnn__new(&p->prefix, GNN__MOST_TOKEN_BYTES + 1, sizeof *p->prefix, "hashes of tokens"));
    GNN_TRY(gnn__new(&p->power, GNN__MOST_TOKEN_BYTES + 1, sizeof *p->power, "hashes of tokens"));
    p->power[0] = 1;
    for (int k = 0; k < GNN__MOST_TOKEN_BYTES; k++)
        p->power[k + 1] = gnn__hash_multiply(p->power[k], GNN__HASH_BASE);
    for (int32_t id = 0; id < t->size; id++)
        if (is_piece(t, id))
            GNN_TRY(gnn__string_add(&p->pieces, t->tokens,
                                    gnn__hash_bytes(0, t->tokens[id].at, t->tokens[id].length), id));
    return GNN_OK;
}

/* The piece equal to bytes from .. to of a token whose prefixes are hashed. */
static int32_t part(const parts_t *p, const gnn_tokenizer_t *t, const char *at, int64_t from,
                    int64_t to)
{
    const uint64_t before = gnn__hash_multiply(p->prefix[from], p->power[to - from]);
    return gnn__string_find(&p->pieces, t->tokens, gnn__hash_minus(p->prefix[to], before),
                            (gnn__string_t){at + from, to - from}, (gnn__string_t){"", 0});
}

static int add_merges_of(gnn_tokenizer_t *t, const parts_t *p, int32_t id, int32_t rank)
{
    const gnn__string_t text = t->tokens[id];
    for (int64_t k = 0; k < text.length; k++)
        p->prefix[k + 1] = gnn__hash_byte(p->prefix[k], text.at[k]);
    for (int64_t k = 1; k < text.length; k++) {
        const int32_t left = part(p, t, text.at, 0, k),
                      right = left < 0 ? -1 : part(p, t, text.at, k, text.length);
        if (right >= 0)
            GNN_TRY(gnn__pair_add(&t->rules.merges, (uint64_t)left << 32 | (uint32_t)right, rank, id));
    }
    return GNN_OK;
}

int gnn__merges_of_scores(gnn_tokenizer_t *t)
{
    double *sorted;
    parts_t parts;
    GNN_TRY(gnn__new(&sorted, t->size, sizeof *sorted, "scores"));
    memcpy(sorted, t->rules.scores, (size_t)t->size * sizeof *sorted);
    qsort(sorted, (size_t)t->size, sizeof *sorted, by_score);
    int rc = parts_new(&parts, t);
    for (int32_t id = 0; id < t->size && rc == GNN_OK; id++)
        if (is_piece(t, id))
            rc = add_merges_of(t, &parts, id, rank_of(sorted, t->size, t->rules.scores[id]));
    parts_free(&parts);
    gnn_free(sorted);
    return rc;
}

static bool goes_across(gnn__string_t text, const char *blank)
{
    const int64_t n = (int64_t)strlen(blank);
    bool other = false;
    for (int64_t k = 0; k < text.length;) {
        const bool is = text.length - k >= n && memcmp(text.at + k, blank, (size_t)n) == 0;
        if (is && other)
            return true;
        other = !is;
        k += is ? n : 1;
    }
    return false;
}

int gnn__split_at_blanks(gnn_tokenizer_t *t, const char *blank)
{
    gnn__text_step_t *step;
    for (int32_t id = 0; id < t->size; id++)
        if (goes_across(t->tokens[id], blank) &&
            gnn__trie_find(&t->pieces, t->tokens[id].at, t->tokens[id].length) == id)
            return GNN_OK;
    GNN_TRY(gnn__pipeline_add(&t->splitters, &gnn__text_step_blank_runs, &step));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__string_t), "a step"));
    *(gnn__string_t *)step->options = (gnn__string_t){blank, (int64_t)strlen(blank)};
    return GNN_OK;
}
