/**
 * Text: sentences with labels, their words, a vocabulary, and packs of sentences: the rows of one
 * graph.
 *
 *     gnn_corpus_read(&corpus, "train.tsv", NULL);              label <TAB> sentence
 *     gnn_vocabulary_new(&vocabulary, corpus, 2);               words that occur twice or more
 *     gnn_packs_new(&packs, corpus, vocabulary, NULL);          ids, positions, lengths
 *     gnn_graph_complete(&graph, packs->at[0].sentences, packs->at[0].lengths);
 *
 * All text is UTF-8. A pack is no padded matrix: its sentences stand one after another, and the
 * graph's segments keep them apart.
 */
#ifndef GNN_TEXT_H
#define GNN_TEXT_H

#include <gnn/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lines ---- */

/** The lines of a file, without what ends them; blank ones are lines too. Read-only for the caller,
 * who owns all of it through the object. */
typedef struct gnn_lines {
    int64_t count;
    const char *const *at; /**< (count) each ends with a zero byte */
    const int64_t *bytes;  /**< (count) */
} gnn_text_lines_t;

/**
 * Reads the lines of a file, gzipped or not: parallel texts, of which line k of one is line k of
 * the other. A line ends with "\n" or "\r\n"; the last one need not. A byte order mark is passed
 * over.
 *
 * @param[out] lines  the caller's, for gnn_text_lines_free; NULL after an error
 * @param[in] path    the file
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT: it is empty, has a zero byte, a line that is no UTF-8
 *         (which one), or is damaged gzip;
 *         GNN_EMEMORY. O(bytes) time and memory.
 */
GNN_API int gnn_text_lines_read(gnn_text_lines_t **lines, const char *path);
/** Frees text lines; NULL is fine. */
GNN_API void gnn_text_lines_free(gnn_text_lines_t *lines);

/* ---- words ---- */

/** The words of a sentence, in order, lower-case in ASCII. */
typedef struct gnn_words {
    int64_t count;
    const char *const *at;
} gnn_words_t;

/**
 * Splits a sentence into words. The rules, for text that was split before (as SST is) and text that
 * was not:
 *
 * - A to Z become lower-case. Blanks and control characters separate words and belong to none.
 * - Letters, digits and every character beyond ASCII make up words; so does a hyphen between two of
 *   them ("k-19").
 * - An apostrophe before a letter begins a word ("it's" is "it" "'s"), but "n't" is one at the end
 *   of a word ("don't" is "do" "n't").
 * - Every other character is a word of its own.
 *
 * @return GNN_OK, of no words where there are none; GNN_EINVALID without a sentence; GNN_EMEMORY.
 *         O(bytes).
 */
GNN_API int gnn_words_split(gnn_words_t **words, const char *sentence);
/** Frees words; NULL is fine. */
GNN_API void gnn_words_free(gnn_words_t *words);

/* ---- sentences with labels ---- */

/** Words and labels of a corpus, each with its index. */
typedef struct gnn_vocabulary gnn_vocabulary_t;

/** Sentences and their labels. Read-only for the caller, who owns all of it through the corpus. */
typedef struct gnn_corpus {
    int64_t count;
    const char *const *sentences;
    const int32_t *labels; /**< (count) into label_names; -1: none */
    int64_t n_labels;
    const char *const *label_names; /**< in the order of their bytes, or in the vocabulary's */
    int64_t words;                  /**< of all sentences */
} gnn_corpus_t;

/**
 * Reads a file of one sentence a line, gzipped or not: "label<TAB>sentence" throughout, or "0
 * sentence" and "1 sentence" throughout, as the files of the Stanford Sentiment Treebank go around;
 * the first line decides. Blank lines are passed over.
 *
 * @param[out] corpus  the caller's, for gnn_corpus_free
 * @param[in] path     the file
 * @param[in] like     the labels that the file may have, NULL: any, 1000 at most
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, with file and line: it is empty, a zero byte, no UTF-8, a
 *         line over 1,000,000 bytes, no label or another than the ones there are, a sentence
 *         without words; GNN_EMEMORY.
 *
 * Cost: O(bytes log labels) time, memory a small multiple of the file's size.
 */
GNN_API int gnn_corpus_read(gnn_corpus_t **corpus, const char *path, const gnn_vocabulary_t *like);
/** Makes a corpus from memory: `labels` (count names, or NULL: sentences without labels) and
 * `sentences` are copied. Errors name the sentence, from 0. */
GNN_API int gnn_corpus_new(gnn_corpus_t **corpus, int64_t count, const char *const *labels,
                           const char *const *sentences, const gnn_vocabulary_t *like);
/** Frees a corpus; NULL is fine. */
GNN_API void gnn_corpus_free(gnn_corpus_t *corpus);

/* ---- vocabulary: words and labels of a training corpus as numbers ---- */

/** Makes a vocabulary of a corpus: word 0 stands for every unknown one; then come the words that
 * occur at least `min_count` times, frequent ones first. O(words log words). */
GNN_API int gnn_vocabulary_new(gnn_vocabulary_t **vocabulary, const gnn_corpus_t *corpus,
                               int64_t min_count);
/** Frees a vocabulary; NULL is fine. */
GNN_API void gnn_vocabulary_free(gnn_vocabulary_t *vocabulary);
/** Count of the words, the unknown one included. */
GNN_API int64_t gnn_vocabulary_size(const gnn_vocabulary_t *vocabulary);
/** The word of an index, "<unknown>" for 0; NULL outside. */
GNN_API const char *gnn_vocabulary_word(const gnn_vocabulary_t *vocabulary, int64_t id);
/** The index of a word as gnn_words_split writes it; 0 if it is unknown. O(log words). */
GNN_API int32_t gnn_vocabulary_find(const gnn_vocabulary_t *vocabulary, const char *word);
/** Count of the labels that the corpus had. */
GNN_API int64_t gnn_vocabulary_labels(const gnn_vocabulary_t *vocabulary);
/** The name of a label, owned by the vocabulary; NULL outside. */
GNN_API const char *gnn_vocabulary_label(const gnn_vocabulary_t *vocabulary, int64_t label);
/** Writes a vocabulary as text: a line of two counts, then labels and words, each on its line
 * (docs/formats.md). */
GNN_API int gnn_vocabulary_save(const gnn_vocabulary_t *vocabulary, const char *path);
/** Reads a vocabulary that gnn_vocabulary_save wrote. GNN_EIO; GNN_EFORMAT with the line. */
GNN_API int gnn_vocabulary_load(gnn_vocabulary_t **vocabulary, const char *path);

/* ---- packs ---- */

/** Some sentences one after another. */
typedef struct gnn_pack {
    int64_t sentences, rows;
    const int64_t *index;   /**< (sentences) which ones of the corpus */
    const int64_t *lengths; /**< (sentences) words of each, for the graph; they add up to `rows` */
    const int32_t *labels;  /**< (sentences) of the vocabulary; -1: none */
    const int32_t *ids;     /**< (rows) */
    const int32_t *positions; /**< (rows) 0, 1, ... in each sentence */
} gnn_pack_t;

/** The packs of a corpus. */
typedef struct gnn_packs {
    int64_t count;
    const gnn_pack_t *at;
} gnn_packs_t;

/** Zero means the default in brackets. */
typedef struct gnn_packing {
    int64_t sentences;  /**< of a pack [64]; the last one may have fewer */
    int64_t max_words;  /**< of a sentence [256]; what is longer is cut */
    gnn_flag_t shuffle; /**< in an order drawn by `seed` [off: the corpus' order] */
    uint64_t seed;
} gnn_packing_t;

/** Cuts a corpus into packs. Classes meet by name: labels of packs are the vocabulary's, whatever
 *  the corpus' own numbers are (these, where the vocabulary has no classes). GNN_EINVALID: a
 *  setting, or a class that the vocabulary does not have; GNN_EOVERFLOW; GNN_EMEMORY. O(words log
 *  vocabulary).
 *
 *  @param[out] packs       the caller's, for gnn_packs_free
 *  @param[in] corpus       not needed afterwards
 *  @param[in] vocabulary   says each word's id and each class's index; not needed afterwards
 *  @param[in] how          NULL: all defaults */
GNN_API int gnn_packs_new(gnn_packs_t **packs, const gnn_corpus_t *corpus,
                          const gnn_vocabulary_t *vocabulary, const gnn_packing_t *how);
/** Frees packs; NULL is fine. */
GNN_API void gnn_packs_free(gnn_packs_t *packs);
/** Word dropout: ids (rows, caller's) are the pack's with each word made unknown with probability
 * `rate`, drawn by seed, epoch, sentence and position, whatever pack the sentence is in. Without it
 * the unknown word's row is never trained. Paper: Iyyer et al. 2015. */
GNN_API void gnn_pack_drop_words(const gnn_pack_t *pack, double rate, uint64_t seed, int64_t epoch,
                                 int32_t *ids);

/* ---- sentences with trees ---- */

/** Sentences with their dependency trees. Read-only for the caller. */
typedef struct gnn_treebank {
    int64_t count, rows;
    const int64_t *lengths;   /**< (count) words of each sentence; they add up to `rows` */
    const char *const *words; /**< (rows) as they are written */
    const int64_t *heads;     /**< (rows) the head's place in its sentence, from 0; -1: the root */
    const uint8_t *punctuation; /**< (rows) 1: the part of speech is PUNCT */
} gnn_treebank_t;

/**
 * Reads a file of Universal Dependencies (CoNLL-U), gzipped or not: ten columns parted by tabs, of
 * which number, word, part of speech and head are read; a blank line between sentences. Ranges
 * ("3-4") and words that are not written ("5.1") are passed over.
 *
 * @param[out] treebank  the caller's, for gnn_treebank_free
 * @param[in] path       the file
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, with file and line: no sentence, another number of columns,
 *         words that are not numbered 1, 2, ..., a head that is none or beyond the sentence, heads
 *         that go in a circle, a word that is not UTF-8, a zero byte; GNN_EMEMORY.
 *
 * Cost: O(bytes) time and memory. Format: Nivre et al. 2020.
 */
GNN_API int gnn_treebank_read(gnn_treebank_t **treebank, const char *path);
/** Releases a treebank; NULL is none. */
GNN_API void gnn_treebank_free(gnn_treebank_t *treebank);

/* ---- positions ---- */

/** Fills a table (positions x width) with sin(p / 10000^(2k / width)) in column 2k and cos of the
 * same in column 2k + 1. Vaswani et al. 2017, 3.5. */
GNN_API int gnn_positions_sinusoidal(const gnn_tensor_t *table);

#ifdef __cplusplus
}
#endif
#endif
