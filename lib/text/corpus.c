/* Corpora: sentences with label indices, in one block of memory. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/corpus.h>

#include <stdlib.h>

typedef struct corpus {
    gnn_corpus_t public;
    const char **sentences;
    int32_t *labels;
    char **label_names;
    char *names, *block;
} corpus_t;

void gnn_corpus_free(gnn_corpus_t *corpus)
{
    corpus_t *c = (corpus_t *)corpus;
    if (!c)
        return;
    gnn_free(c->sentences);
    gnn_free(c->labels);
    gnn_free(c->label_names);
    gnn_free(c->names);
    gnn_free(c->block);
    gnn_free(c);
}

/* ---- what may stand in a corpus ---- */

const char *gnn__label_fault(gnn__slice_t label)
{
    if (label.length == 0)
        return "the label is missing";
    if (label.length > GNN__MAX_LABEL)
        return "the label is longer than 200 bytes: \"label<TAB>sentence\" is expected";
    for (int64_t k = 0; k < label.length; k++)
        if ((unsigned char)label.at[k] < 32 || label.at[k] == 0x7f)
            return "a control character in the label";
    return gnn__is_utf8(label.at, label.length) ? NULL : "the label is not UTF-8";
}

const char *gnn__sentence_fault(gnn__slice_t sentence)
{
    const char *cursor = sentence.at;
    if (sentence.length > GNN__MAX_LINE)
        return "more than 1000000 bytes";
    if (!gnn__is_utf8(sentence.at, sentence.length))
        return "the sentence is not UTF-8";
    return gnn__word_next(&cursor, sentence.at + sentence.length).length > 0
               ? NULL
               : "the sentence has no words";
}

/* ---- labels ---- */

typedef struct entry {
    gnn__slice_t name;
    int64_t row;
} entry_t;

static int by_name(const void *a, const void *b)
{
    const entry_t *left = a, *right = b;
    int order = gnn__slice_compare(left->name, right->name, false);
    return order ? order : (left->row > right->row) - (left->row < right->row);
}

/* Assigns label indices in the order of names. *block has room for all distinct names. */
static int number_labels(corpus_t *c, entry_t *order, int64_t count)
{
    int64_t distinct = 0, bytes = 0;
    for (int64_t k = 0; k < count; k++)
        if (k == 0 || gnn__slice_compare(order[k - 1].name, order[k].name, false) != 0) {
            distinct++;
            bytes += order[k].name.length + 1;
        }
    if (distinct > GNN__MAX_LABELS)
        return gnn__error(
            GNN_EFORMAT,
            "%lld different labels, at most %d are expected: does each line have its label first?",
            (long long)distinct, GNN__MAX_LABELS);
    GNN_TRY(gnn__new(&c->label_names, distinct, sizeof *c->label_names, "label names"));
    GNN_TRY(gnn__new(&c->names, bytes, 1, "label names"));
    char *to = c->names;
    for (int64_t k = 0; k < count; k++) {
        if (k == 0 || gnn__slice_compare(order[k - 1].name, order[k].name, false) != 0) {
            memcpy(to, order[k].name.at, (size_t)order[k].name.length);
            c->label_names[c->public.n_labels++] = to;
            to += order[k].name.length + 1;
        }
        c->labels[order[k].row] = (int32_t)(c->public.n_labels - 1);
    }
    return GNN_OK;
}

static int invent_labels(corpus_t *c, const gnn__slice_t *labels)
{
    entry_t *order;
    GNN_TRY(gnn__new(&order, c->public.count, sizeof *order, "labels"));
    for (int64_t k = 0; k < c->public.count; k++)
        order[k] = (entry_t){labels[k], k};
    qsort(order, (size_t)c->public.count, sizeof *order, by_name);
    int rc = number_labels(c, order, c->public.count);
    gnn_free(order);
    return rc;
}

static int copy_labels(corpus_t *c, const gnn_vocabulary_t *like)
{
    int64_t bytes = 0;
    for (int64_t k = 0; k < like->n_labels; k++)
        bytes += (int64_t)strlen(like->labels[k]) + 1;
    GNN_TRY(gnn__new(&c->label_names, like->n_labels, sizeof *c->label_names, "label names"));
    GNN_TRY(gnn__new(&c->names, bytes, 1, "label names"));
    char *to = c->names;
    for (int64_t k = 0; k < like->n_labels; k++) {
        size_t length = strlen(like->labels[k]) + 1;
        c->label_names[k] = memcpy(to, like->labels[k], length);
        to += length;
    }
    c->public.n_labels = like->n_labels;
    return GNN_OK;
}

static int find_labels(corpus_t *c, const gnn__slice_t *labels, int64_t *at_fault)
{
    for (int64_t k = 0; k < c->public.count; k++) {
        for (int64_t l = 0; l < c->public.n_labels && c->labels[k] < 0; l++)
            if (gnn__slice_compare(
                    labels[k], (gnn__slice_t){c->label_names[l], (int64_t)strlen(c->label_names[l])},
                    false) == 0)
                c->labels[k] = (int32_t)l;
        if (c->labels[k] < 0) {
            *at_fault = k;
            return gnn__error(GNN_EFORMAT, "the label %s is none of the %lld that are known",
                              gnn__field_shown(&(gnn__text_field_t){
                                  .at = (char *)(uintptr_t)labels[k].at, .length = labels[k].length}),
                              (long long)c->public.n_labels);
        }
    }
    return GNN_OK;
}

/* ---- making one ---- */

static int fill(corpus_t *c, const gnn__slice_t *labels, const gnn__slice_t *sentences,
                const gnn_vocabulary_t *like, int64_t *at_fault)
{
    int64_t count = c->public.count;
    GNN_TRY(gnn__new(&c->sentences, count, sizeof *c->sentences, "sentences"));
    GNN_TRY(gnn__new(&c->labels, count, sizeof *c->labels, "labels"));
    for (int64_t k = 0; k < count; k++) {
        c->labels[k] = -1;
        c->sentences[k] = sentences[k].at;
        c->public.words += gnn__word_count(sentences[k].at, sentences[k].length);
    }
    if (like)
        GNN_TRY(copy_labels(c, like));
    if (!labels)
        return GNN_OK;
    return like ? find_labels(c, labels, at_fault) : invent_labels(c, labels);
}

int gnn__corpus_make(gnn_corpus_t **corpus, int64_t count, const gnn__slice_t *labels,
                     const gnn__slice_t *sentences, const gnn_vocabulary_t *like, char *block,
                     int64_t *at_fault)
{
    corpus_t *c;
    *at_fault = -1;
    GNN_TRY(gnn__new(&c, 1, sizeof *c, "a corpus"));
    c->public.count = count;
    int rc = fill(c, labels, sentences, like, at_fault);
    if (rc != GNN_OK) {
        gnn_corpus_free(&c->public);
        return rc;
    }
    c->block = block;
    c->public.sentences = c->sentences;
    c->public.labels = c->labels;
    c->public.label_names = (const char *const *)c->label_names;
    *corpus = &c->public;
    return GNN_OK;
}

static int check(int64_t count, const char *const *labels, const char *const *sentences,
                 int64_t *bytes)
{
    *bytes = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!sentences[k] || (labels && !labels[k]))
            return gnn__error(GNN_EINVALID, "sentence %lld: the %s is NULL", (long long)k,
                              sentences[k] ? "label" : "sentence");
        gnn__slice_t sentence = {sentences[k], (int64_t)strlen(sentences[k])};
        const char *fault = gnn__sentence_fault(sentence);
        if (!fault && labels)
            fault = gnn__label_fault((gnn__slice_t){labels[k], (int64_t)strlen(labels[k])});
        if (fault)
            return gnn__error(GNN_EFORMAT, "sentence %lld: %s", (long long)k, fault);
        if (!gnn__add(*bytes, sentence.length + 1, bytes))
            return gnn__error(GNN_EOVERFLOW, "%lld sentences do not fit", (long long)count);
    }
    return GNN_OK;
}

int gnn_corpus_new(gnn_corpus_t **corpus, int64_t count, const char *const *labels,
                   const char *const *sentences, const gnn_vocabulary_t *like)
{
    gnn__slice_t *slices = NULL;
    char *block = NULL;
    int64_t bytes, at_fault = -1, room;
    int rc;
    GNN__NEED(corpus);
    GNN__NEED(sentences);
    if (count < 1 || !gnn__mul(count, 2, &room))
        return gnn__error(GNN_EINVALID, "gnn_corpus_new: count = %lld, expected at least 1",
                          (long long)count);
    GNN_CHECK(check(count, labels, sentences, &bytes));
    GNN_CHECK(gnn__new(&slices, room, sizeof *slices, "sentences"));
    GNN_CHECK(gnn__new(&block, bytes, 1, "sentences"));
    char *to = block;
    for (int64_t k = 0; k < count; k++) {
        size_t length = strlen(sentences[k]);
        slices[k] = (gnn__slice_t){memcpy(to, sentences[k], length + 1), (int64_t)length};
        to += length + 1;
        if (labels)
            slices[count + k] = (gnn__slice_t){labels[k], (int64_t)strlen(labels[k])};
    }
    rc = gnn__corpus_make(corpus, count, labels ? slices + count : NULL, slices, like, block,
                          &at_fault);
    if (rc == GNN_OK)
        block = NULL;
    else if (at_fault >= 0)
        gnn__error_prefix(rc, "sentence %lld", (long long)at_fault);
done:
    gnn_free(block);
    gnn_free(slices);
    return rc;
}
