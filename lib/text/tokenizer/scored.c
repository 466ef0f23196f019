/* Merges by scores, as SentencePiece and llama2.c have them: of all neighbours that make a token together, those with the largest score become it. */
#include <lib/text/tokenizer/tokenizer.h>

#include <stdlib.h>

static int by_score(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

/* How many different scores are larger: `sorted` falls. */
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

static int add_merges_of(gnn_tokenizer_t *t, int32_t id, int32_t rank)
{
    const gnn__string_t text = t->tokens[id];
    int32_t node = 0;
    for (int64_t k = 0; k + 1 < text.length; k++) {
        node = gnn__trie_step(&t->pieces, node, text.at[k]);
        if (node < 0)
            break;
        const int32_t left = t->pieces.value[node];
        const int32_t right =
            left < 0 ? -1 : gnn__trie_find(&t->pieces, text.at + k + 1, text.length - k - 1);
        if (right >= 0)
            GNN_TRY(gnn__pair_add(&t->rules.merges, (uint64_t)left << 32 | (uint32_t)right, rank, id));
    }
    return GNN_OK;
}

int gnn__merges_of_scores(gnn_tokenizer_t *t)
{
    double *sorted;
    GNN_TRY(gnn__new(&sorted, t->size, sizeof *sorted, "scores"));
    memcpy(sorted, t->rules.scores, (size_t)t->size * sizeof *sorted);
    qsort(sorted, (size_t)t->size, sizeof *sorted, by_score);
    int rc = GNN_OK;
    for (int32_t id = 0; id < t->size && rc == GNN_OK; id++)
        if (gnn__trie_find(&t->pieces, t->tokens[id].at, t->tokens[id].length) == id)
            rc = add_merges_of(t, id, rank_of(sorted, t->size, t->rules.scores[id]));
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
    gnn__step_t *step;
    for (int32_t id = 0; id < t->size; id++)
        if (goes_across(t->tokens[id], blank) &&
            gnn__trie_find(&t->pieces, t->tokens[id].at, t->tokens[id].length) == id)
            return GNN_OK;
    GNN_TRY(gnn__pipeline_add(&t->splitters, &gnn__step_blank_runs, &step));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__string_t), "a step"));
    *(gnn__string_t *)step->options = (gnn__string_t){blank, (int64_t)strlen(blank)};
    return GNN_OK;
}
