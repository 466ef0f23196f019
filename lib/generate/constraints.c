/* Constraints of a folder's generation settings: forced and forbidden tokens, as in the logits
 * processors of the package transformers. */
#include <lib/generate/generate.h>

#include <math.h>

/* ---- reading ---- */

static int64_t count_of(const json_t *config, const char *key)
{
    const json_t *value = json_object_get(config, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
}

/* A list of ids with count *n. */
static int read_ids(const char *file, const json_t *list, const char *key, int32_t **ids, int64_t *n)
{
    const size_t count = json_array_size(list);
    GNN_TRY(gnn__new(ids, (int64_t)count, sizeof **ids, "a list of tokens"));
    for (size_t k = 0; k < count; k++) {
        const json_t *id = json_array_get(list, k);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
            return gnn__error(GNN_EFORMAT, "%s: \"%s\": element %lld is not an id", file, key,
                              (long long)k);
        (*ids)[(*n)++] = (int32_t)json_integer_value(id);
    }
    return GNN_OK;
}

static int read_bad(gnn__constraints_t *c, const char *file, const json_t *bad)
{
    const size_t count = json_array_size(bad);
    GNN_TRY(gnn__new(&c->bad, (int64_t)count, sizeof *c->bad, "lists of tokens"));
    for (size_t k = 0; k < count; k++) {
        gnn__id_list_t *word = &c->bad[c->n_bad++];
        GNN_TRY(read_ids(file, json_array_get(bad, k), "bad_words_ids", &word->ids, &word->n));
    }
    return GNN_OK;
}

int gnn__constraints_read(gnn__constraints_t *c, const json_t *config, const char *file)
{
    const json_t *forced = json_object_get(config, "forced_bos_token_id");
    c->min_length = count_of(config, "min_length");
    c->min_new = count_of(config, "min_new_tokens");
    c->ngram = count_of(config, "no_repeat_ngram_size");
    c->source_ngram = count_of(config, "encoder_no_repeat_ngram_size");
    c->min_p = json_number_value(json_object_get(config, "min_p"));
    c->renormalises = json_is_true(json_object_get(config, "renormalize_logits"));
    c->forced_first = json_is_integer(forced) ? (int32_t)json_integer_value(forced) : -1;
    GNN_TRY(read_bad(c, file, json_object_get(config, "bad_words_ids")));
    GNN_TRY(read_ids(file, json_object_get(config, "suppress_tokens"), "suppress_tokens",
                     &c->suppressed.ids, &c->suppressed.n));
    return read_ids(file, json_object_get(config, "begin_suppress_tokens"), "begin_suppress_tokens",
                    &c->suppressed_first.ids, &c->suppressed_first.n);
}

void gnn__constraints_free(gnn__constraints_t *c)
{
    for (int64_t k = 0; k < c->n_bad; k++)
        gnn_free(c->bad[k].ids);
    gnn_free(c->bad);
    gnn_free(c->suppressed.ids);
    gnn_free(c->suppressed_first.ids);
}

/* ---- the next token ---- */

static void ban(gnn__choice_t *choice, int32_t id)
{
    if (id >= 0 && id < choice->n)
        choice->p[id] = -INFINITY;
}

static void ban_all(gnn__choice_t *choice, const gnn__id_list_t *list)
{
    for (int64_t k = 0; k < list->n; k++)
        ban(choice, list->ids[k]);
}

/* Forbids n-grams of `from`, of `ngram` tokens each, at the end of a text of n tokens. */
static void ban_ngrams(int64_t ngram, gnn__choice_t *choice, gnn__prompt_ids_t from,
                       const int32_t *ids, int64_t n)
{
    const int64_t before = ngram - 1;
    for (int64_t k = 0; ngram > 0 && before <= n && k + before < from.n; k++)
        if (memcmp(from.ids + k, ids + n - before, (size_t)before * sizeof *ids) == 0)
            ban(choice, from.ids[k + before]);
}

bool gnn__author_ends(const gnn__author_t *author, int32_t id)
{
    for (int64_t k = 0; k < author->how.n_end; k++)
        if (author->how.end[k] == id)
            return true;
    return false;
}

/* Forbids the last token of a list whose other tokens end the text. A list of one token that ends
 * texts forbids nothing, as in the package. */
static void ban_bad(const gnn__author_t *a, gnn__choice_t *choice, const int32_t *ids, int64_t n)
{
    const gnn__constraints_t *c = &a->constraints;
    for (int64_t k = 0; k < c->n_bad; k++) {
        const int64_t before = c->bad[k].n - 1;
        const bool ends = before == 0 && gnn__author_ends(a, c->bad[k].ids[0]);
        if (!ends && before >= 0 && before <= n &&
            memcmp(ids + n - before, c->bad[k].ids, (size_t)before * sizeof *ids) == 0)
            ban(choice, c->bad[k].ids[before]);
    }
}

bool gnn__author_forces(const gnn__author_t *a, int64_t n)
{
    return a->constraints.forced_first >= 0 && a->constraints.forced_first < a->words && n == 1;
}

void gnn__constrain(const gnn__author_t *a, gnn__choice_t *choice, const gnn__so_far_t *text)
{
    const gnn__constraints_t *c = &a->constraints;
    const int64_t n_prompt = text->n_prompt, n_new = text->n_new, n = n_prompt + n_new;
    const int32_t *ids = text->ids;
    ban_ngrams(c->ngram, choice, (gnn__prompt_ids_t){ids, n}, ids, n);
    ban_ngrams(c->source_ngram, choice, text->source, ids, n);
    ban_bad(a, choice, ids, n);
    if (n < c->min_length || n_new < c->min_new)
        for (int64_t k = 0; k < a->how.n_end; k++)
            ban(choice, a->how.end[k]);
    if (gnn__author_forces(a, n)) {
        for (int64_t k = 0; k < choice->n; k++)
            choice->p[k] = -INFINITY;
        choice->p[c->forced_first] = 0;
    }
    ban_all(choice, &c->suppressed);
    if (n_new == (c->forced_first >= 0 && n_prompt == 1 ? 1 : 0))
        ban_all(choice, &c->suppressed_first);
}
