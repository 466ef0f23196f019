/* Internals of corpora and vocabularies. A slice is a part of a text owned by another object; it is
 * not terminated. */
#ifndef GNN_LIB_TEXT_CORPUS_H
#define GNN_LIB_TEXT_CORPUS_H

#include <gnn/text.h>
#include <lib/base/base.h>

enum { GNN__MAX_LINE = 1000000, GNN__MAX_LABELS = 1000, GNN__MAX_LABEL = 200 };

typedef struct gnn__slice {
    const char *at;
    int64_t length;
} gnn__slice_t;

static inline unsigned char gnn__lower_case(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The next word before `end`, in its original case; *cursor is moved after it. Length 0: there is
 * none. */
gnn__slice_t gnn__word_next(const char **cursor, const char *end);
int64_t gnn__word_count(const char *sentence, int64_t length);
/* Compares bytes; `fold`: case-insensitively in ASCII. */
int gnn__slice_compare(gnn__slice_t a, gnn__slice_t b, bool fold);

/* The fault of a label or a sentence as text, or NULL. */
const char *gnn__label_fault(gnn__slice_t label);
const char *gnn__sentence_fault(gnn__slice_t sentence);

/* A corpus of `count` sentences in `block`, which it takes over on success: sentences[k] and
 * labels[k] (NULL: no labels) are checked and point into it, sentences terminated. *at_fault is the
 * sentence whose label is not among those of `like`, -1 if the fault is another. */
int gnn__corpus_make(gnn_corpus_t **corpus, int64_t count, const gnn__slice_t *labels,
                     const gnn__slice_t *sentences, const gnn_vocabulary_t *like, char *block,
                     int64_t *at_fault);

struct gnn_vocabulary {
    int64_t n_words, n_labels;
    char **words;     /* word 0 is the unknown one */
    int32_t *by_name; /* (n_words - 1) ids of the other words, sorted by bytes */
    char **labels;
    char *block; /* after all of them */
};

int32_t gnn__vocabulary_word_number(const gnn_vocabulary_t *vocabulary, gnn__slice_t word);
/* `words` (without the unknown one) and labels are copied. GNN_EFORMAT if two words, or two labels,
 * are the same: *at_fault is one of them, counted from 0 through labels and then words. */
int gnn__vocabulary_make(gnn_vocabulary_t **vocabulary, int64_t n_labels, const gnn__slice_t *labels,
                         int64_t n_words, const gnn__slice_t *words, int64_t *at_fault);

#endif
