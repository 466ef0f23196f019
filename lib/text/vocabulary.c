/* Vocabularies: words counted by sorting, found by bisection. */
#include <lib/text/corpus.h>

#include <stdlib.h>

void gnn_vocabulary_free(gnn_vocabulary_t *vocabulary)
{
    if (!vocabulary)
        return;
    gnn_free(vocabulary->words);
    gnn_free(vocabulary->by_name);
    gnn_free(vocabulary->labels);
    gnn_free(vocabulary->block);
    gnn_free(vocabulary);
}

/* ---- from lists of words ---- */

static char *keep(char **to, gnn__slice_t s, bool fold)
{
    char *kept = *to;
    for (int64_t k = 0; k < s.length; k++)
        kept[k] = fold ? (char)gnn__lower_case(s.at[k]) : s.at[k];
    *to += s.length + 1;
    return kept;
}

typedef struct entry {
    const char *word;
    int32_t id;
} entry_t;

static int by_word(const void *a, const void *b)
{
    return strcmp(((const entry_t *)a)->word, ((const entry_t *)b)->word);
}

static int sort_words(gnn_vocabulary_t *v, int64_t *at_fault)
{
    entry_t *order;
    int64_t count = v->n_words - 1;
    GNN_TRY(gnn__new(&order, count, sizeof *order, "words"));
    for (int64_t k = 0; k < count; k++)
        order[k] = (entry_t){v->words[k + 1], (int32_t)(k + 1)};
    qsort(order, (size_t)count, sizeof *order, by_word);
    int rc = GNN_OK;
    for (int64_t k = 0; k < count; k++) {
        v->by_name[k] = order[k].id;
        if (k > 0 && strcmp(order[k - 1].word, order[k].word) == 0) {
            *at_fault =
                v->n_labels + (order[k].id > order[k - 1].id ? order[k].id : order[k - 1].id) - 1;
            rc = gnn__error(GNN_EFORMAT, "the word \"%.60s\" a second time", order[k].word);
        }
    }
    gnn_free(order);
    return rc;
}

static int fill(gnn_vocabulary_t *v, const gnn__slice_t *labels, const gnn__slice_t *words,
                int64_t *at_fault)
{
    static const char unknown[] = "<unknown>";
    int64_t bytes = (int64_t)sizeof unknown;
    for (int64_t k = 0; k < v->n_labels; k++)
        bytes += labels[k].length + 1;
    for (int64_t k = 1; k < v->n_words; k++)
        bytes += words[k - 1].length + 1;
    GNN_TRY(gnn__new(&v->block, bytes, 1, "words"));
    GNN_TRY(gnn__new(&v->labels, v->n_labels, sizeof *v->labels, "labels"));
    GNN_TRY(gnn__new(&v->words, v->n_words, sizeof *v->words, "words"));
    GNN_TRY(gnn__new(&v->by_name, v->n_words - 1, sizeof *v->by_name, "words"));
    char *to = v->block;
    for (int64_t k = 0; k < v->n_labels; k++) {
        v->labels[k] = keep(&to, labels[k], false);
        for (int64_t j = 0; j < k; j++)
            if (strcmp(v->labels[j], v->labels[k]) == 0) {
                *at_fault = k;
                return gnn__error(GNN_EFORMAT, "the label \"%.60s\" a second time", v->labels[k]);
            }
    }
    v->words[0] = keep(&to, (gnn__slice_t){unknown, (int64_t)sizeof unknown - 1}, false);
    for (int64_t k = 1; k < v->n_words; k++)
        v->words[k] = keep(&to, words[k - 1], true);
    return sort_words(v, at_fault);
}

int gnn__vocabulary_make(gnn_vocabulary_t **vocabulary, int64_t n_labels, const gnn__slice_t *labels,
                         int64_t n_words, const gnn__slice_t *words, int64_t *at_fault)
{
    gnn_vocabulary_t *v;
    *at_fault = -1;
    if (n_words >= INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "%lld words do not fit", (long long)n_words);
    GNN_TRY(gnn__new(&v, 1, sizeof *v, "a vocabulary"));
    v->n_labels = n_labels;
    v->n_words = n_words + 1;
    int rc = fill(v, labels, words, at_fault);
    if (rc != GNN_OK) {
        gnn_vocabulary_free(v);
        return rc;
    }
    *vocabulary = v;
    return GNN_OK;
}

/* ---- from a corpus ---- */

typedef struct counted {
    gnn__slice_t word;
    int64_t count;
} counted_t;

static int by_letters(const void *a, const void *b)
{
    return gnn__slice_compare(((const counted_t *)a)->word, ((const counted_t *)b)->word, true);
}

static int by_count(const void *a, const void *b)
{
    const counted_t *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return by_letters(a, b);
}

/* Sorts all words and merges equal ones (ignoring case) with their counts. Returns the count of
 * distinct words. */
static int64_t count_words(const gnn_corpus_t *corpus, counted_t *list)
{
    int64_t n = 0, distinct = 0;
    for (int64_t s = 0; s < corpus->count; s++) {
        const char *cursor = corpus->sentences[s], *end = cursor + strlen(cursor);
        for (gnn__slice_t word; (word = gnn__word_next(&cursor, end)).length > 0;)
            list[n++] = (counted_t){word, 1};
    }
    qsort(list, (size_t)n, sizeof *list, by_letters);
    for (int64_t k = 0; k < n; k++)
        if (distinct > 0 && by_letters(&list[distinct - 1], &list[k]) == 0)
            list[distinct - 1].count++;
        else
            list[distinct++] = list[k];
    qsort(list, (size_t)distinct, sizeof *list, by_count);
    return distinct;
}

int gnn_vocabulary_new(gnn_vocabulary_t **vocabulary, const gnn_corpus_t *corpus, int64_t min_count)
{
    counted_t *list = NULL;
    gnn__slice_t *words = NULL, *labels = NULL;
    int64_t kept = 0, at_fault;
    int rc;
    GNN__NEED(vocabulary);
    GNN__NEED(corpus);
    if (min_count < 1)
        return gnn__error(GNN_EINVALID, "gnn_vocabulary_new: min_count = %lld, expected at least 1",
                          (long long)min_count);
    GNN_CHECK(gnn__new(&list, corpus->words, sizeof *list, "words"));
    int64_t distinct = count_words(corpus, list);
    while (kept < distinct && list[kept].count >= min_count)
        kept++;
    GNN_CHECK(gnn__new(&words, kept, sizeof *words, "words"));
    GNN_CHECK(gnn__new(&labels, corpus->n_labels, sizeof *labels, "labels"));
    for (int64_t k = 0; k < kept; k++)
        words[k] = list[k].word;
    for (int64_t k = 0; k < corpus->n_labels; k++)
        labels[k] = (gnn__slice_t){corpus->label_names[k], (int64_t)strlen(corpus->label_names[k])};
    rc = gnn__vocabulary_make(vocabulary, corpus->n_labels, labels, kept, words, &at_fault);
done:
    gnn_free(list);
    gnn_free(words);
    gnn_free(labels);
    return rc;
}

/* ---- looking at one ---- */

int64_t gnn_vocabulary_size(const gnn_vocabulary_t *vocabulary)
{
    GNN__NEED_OR(vocabulary, 0);
    return vocabulary->n_words;
}

const char *gnn_vocabulary_word(const gnn_vocabulary_t *vocabulary, int64_t id)
{
    GNN__NEED_OR(vocabulary, NULL);
    return id >= 0 && id < vocabulary->n_words ? vocabulary->words[id] : NULL;
}

int64_t gnn_vocabulary_labels(const gnn_vocabulary_t *vocabulary)
{
    GNN__NEED_OR(vocabulary, 0);
    return vocabulary->n_labels;
}

const char *gnn_vocabulary_label(const gnn_vocabulary_t *vocabulary, int64_t label)
{
    GNN__NEED_OR(vocabulary, NULL);
    return label >= 0 && label < vocabulary->n_labels ? vocabulary->labels[label] : NULL;
}

int32_t gnn__vocabulary_word_number(const gnn_vocabulary_t *v, gnn__slice_t word)
{
    int64_t low = 0, high = v->n_words - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const char *name = v->words[v->by_name[middle]];
        int order = gnn__slice_compare(word, (gnn__slice_t){name, (int64_t)strlen(name)}, true);
        if (order == 0)
            return v->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

int32_t gnn_vocabulary_find(const gnn_vocabulary_t *vocabulary, const char *word)
{
    GNN__NEED_OR(vocabulary, -1);
    GNN__NEED_OR(word, -1);
    return gnn__vocabulary_word_number(vocabulary, (gnn__slice_t){word, (int64_t)strlen(word)});
}
