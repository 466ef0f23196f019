/**
 * Text: labelled sentences, words, a vocabulary, and packs of sentences (batches without padding),
 * each of which is one graph.
 *
 *     gnn_corpus_read(&corpus, "train.tsv", NULL);              label <TAB> sentence
 *     gnn_vocabulary_new(&vocabulary, corpus, 2);               words that occur twice or more
 *     gnn_packs_new(&packs, corpus, vocabulary, NULL);          ids, positions, lengths
 *     gnn_graph_complete(&graph, packs->at[0].sentences, packs->at[0].lengths);
 *
 * All text is UTF-8. A pack is not a padded matrix: its sentences are concatenated, and the graph's
 * segments keep them apart.
 */
#ifndef GNN_TEXT_H
#define GNN_TEXT_H

#include <gnn/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lines ---- */

/** The lines of a file without line endings, empty lines included. Owned by the object,
 * read-only. */
typedef struct gnn_lines {
    int64_t count;
    const char *const *at; /**< (count) each ends with a zero byte */
    const int64_t *bytes;  /**< (count) */
} gnn_text_lines_t;

/**
 * Reads the lines of a file, gzipped or not, such as one side of a parallel corpus. A line ends
 * with "\n" or "\r\n", which is optional for the last one. A byte order mark is skipped.
 *
 * @param[out] lines  the caller's, for gnn_text_lines_free; NULL after an error
 * @param[in] path    the file
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT: it is empty, has a zero byte, a line that is not UTF-8
 *         (named), or is damaged gzip; GNN_EMEMORY. O(bytes) time and memory.
 */
GNN_API int gnn_text_lines_read(gnn_text_lines_t **lines, const char *path);
/**
 * The lines of a text in memory, by the rules of gnn_text_lines_read but for gzip, which is not
 * unpacked: what a pipe or a socket gave.
 *
 * @param[out] lines  the caller's, for gnn_text_lines_free; NULL after an error
 * @param[in] name    of the text, for messages
 * @param[in] text    (bytes) copied
 * @param[in] bytes   its length; a text of none is empty
 * @return as gnn_text_lines_read, without GNN_EIO; GNN_EINVALID: a NULL, or bytes < 0
 */
GNN_API int gnn_text_lines_new(gnn_text_lines_t **lines, const char *name, const char *text,
                               int64_t bytes);
/** Frees text lines; may be NULL. */
GNN_API void gnn_text_lines_free(gnn_text_lines_t *lines);

/* ---- words ---- */

/** The words of a sentence, in order, lower-case in ASCII. */
typedef struct gnn_words {
    int64_t count;
    const char *const *at;
} gnn_words_t;

/**
 * Splits a sentence into words. The rules serve pre-tokenized text (as SST) and raw text:
 *
 * - A to Z become lower-case. Whitespace and control characters separate words.
 * - Letters, digits and all non-ASCII characters form words, and so does a hyphen between two of
 * them ("k-19").
 * - An apostrophe before a letter starts a word ("it's" is "it" "'s"); "n't" at the end of a word
 * is a word ("don't" is "do" "n't").
 * - Every other character is a word of its own.
 *
 * @param[in] sentence  UTF-8 text
 * @return GNN_OK, also without words; GNN_EINVALID: a NULL; GNN_EMEMORY. O(bytes).
 */
GNN_API int gnn_words_split(gnn_words_t **words, const char *sentence);
/** Frees words; may be NULL. */
GNN_API void gnn_words_free(gnn_words_t *words);

/* ---- sentences with labels ---- */

/** Words and labels of a corpus with their indices. */
typedef struct gnn_vocabulary gnn_vocabulary_t;

/** Sentences and their labels. Owned by the corpus, read-only. */
typedef struct gnn_corpus {
    int64_t count;
    const char *const *sentences;
    const int32_t *labels; /**< (count) into label_names; -1: none */
    int64_t n_labels;
    const char *const *label_names; /**< in byte order, or in that of the vocabulary */
    int64_t words;                  /**< count of the words of all sentences */
} gnn_corpus_t;

/**
 * Reads a file with one sentence per line, gzipped or not: either "label<TAB>sentence", or "0
 * sentence" and "1 sentence", as common copies of the Stanford Sentiment Treebank have it; the
 * first line decides. Empty lines are skipped.
 *
 * @param[out] corpus  the caller's, for gnn_corpus_free
 * @param[in] path     the file
 * @param[in] like     the permitted labels; NULL: any, at most 1000
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, with file and line: it is empty, a zero byte, not UTF-8, a
 *         line over 1,000,000 bytes, a second tab, column names, a missing or unknown label, a
 *         sentence without words; GNN_EMEMORY.
 *
 * Cost: O(bytes log labels) time, memory a small multiple of the file's size.
 */
GNN_API int gnn_corpus_read(gnn_corpus_t **corpus, const char *path, const gnn_vocabulary_t *like);
/**
 * Makes a corpus of strings, which are copied. Errors give the index of the sentence.
 *
 * @param[in] count      count of the sentences, at least 1
 * @param[in] labels     (count) names; NULL: sentences without labels
 * @param[in] sentences  (count) UTF-8 text
 * @param[in] like       vocabulary whose labels are used; NULL: those of `labels`
 * @return GNN_OK; GNN_EINVALID (a NULL, count); GNN_EFORMAT (an invalid sentence or label, a label
 *         unknown to `like`, too many labels); GNN_EOVERFLOW; GNN_EMEMORY
 */
GNN_API int gnn_corpus_new(gnn_corpus_t **corpus, int64_t count, const char *const *labels,
                           const char *const *sentences, const gnn_vocabulary_t *like);
/** Frees a corpus; may be NULL. */
GNN_API void gnn_corpus_free(gnn_corpus_t *corpus);

/* ---- vocabulary: indices of the words and labels of a training corpus ---- */

/**
 * Makes a vocabulary of a corpus: index 0 is for unknown words, followed by the words that occur at
 * least `min_count` times, by descending frequency. O(words log words).
 *
 * @param[in] min_count  at least 1
 * @return GNN_OK; GNN_EINVALID (a NULL, min_count); GNN_EOVERFLOW; GNN_EMEMORY
 */
GNN_API int gnn_vocabulary_new(gnn_vocabulary_t **vocabulary, const gnn_corpus_t *corpus,
                               int64_t min_count);
/** Frees a vocabulary; may be NULL. */
GNN_API void gnn_vocabulary_free(gnn_vocabulary_t *vocabulary);
/** Count of the words, the unknown one included. */
GNN_API int64_t gnn_vocabulary_size(const gnn_vocabulary_t *vocabulary);
/**
 * The word of an index, "<unknown>" for 0; NULL if out of range.
 *
 * @param[in] id  index of the word
 */
GNN_API const char *gnn_vocabulary_word(const gnn_vocabulary_t *vocabulary, int64_t id);
/**
 * The index of a word as gnn_words_split writes it; 0 if it is unknown. O(log words).
 *
 * @param[in] word  the word
 */
GNN_API int32_t gnn_vocabulary_find(const gnn_vocabulary_t *vocabulary, const char *word);
/** Count of the labels of the corpus. */
GNN_API int64_t gnn_vocabulary_labels(const gnn_vocabulary_t *vocabulary);
/**
 * The name of a label, owned by the vocabulary; NULL if out of range.
 *
 * @param[in] label  index of the label
 */
GNN_API const char *gnn_vocabulary_label(const gnn_vocabulary_t *vocabulary, int64_t label);
/**
 * Writes a vocabulary as text: a line of two counts, then labels and words, each on its line
 * (docs/formats.md).
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EIO; GNN_EMEMORY
 */
GNN_API int gnn_vocabulary_save(const gnn_vocabulary_t *vocabulary, const char *path);
/** Reads a vocabulary that gnn_vocabulary_save wrote. GNN_EIO; GNN_EFORMAT with the line. */
GNN_API int gnn_vocabulary_load(gnn_vocabulary_t **vocabulary, const char *path);

/* ---- packs ---- */

/** A batch of concatenated sentences. */
typedef struct gnn_pack {
    int64_t sentences, rows;
    const int64_t *index;   /**< (sentences) their indices in the corpus */
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
    int64_t sentences;  /**< per pack [64]; the last one may have fewer */
    int64_t max_words;  /**< per sentence [256]; longer ones are truncated */
    gnn_flag_t shuffle; /**< in random order by `seed` [off: in the corpus' order] */
    uint64_t seed;
} gnn_packing_t;

/** Divides a corpus into packs. Classes are matched by name: labels of packs are indices of the
 *  vocabulary (of the corpus, if the vocabulary has no classes). GNN_EINVALID: a setting, or a
 *  class that the vocabulary does not have; GNN_EOVERFLOW; GNN_EMEMORY. O(words log vocabulary).
 *
 *  @param[out] packs       the caller's, for gnn_packs_free
 *  @param[in] corpus       not needed afterwards
 *  @param[in] vocabulary   has the id of each word and the index of each class; not needed
 *                          afterwards
 *  @param[in] how          NULL: all defaults */
GNN_API int gnn_packs_new(gnn_packs_t **packs, const gnn_corpus_t *corpus,
                          const gnn_vocabulary_t *vocabulary, const gnn_packing_t *how);
/** Frees packs; may be NULL. */
GNN_API void gnn_packs_free(gnn_packs_t *packs);
/**
 * Word dropout: writes the pack's ids to `ids` (rows, caller's), with each word replaced by the
 * unknown word with probability `rate`. Draws are keyed by seed, epoch, sentence and position, not
 * by pack. Without word dropout the embedding of the unknown word is never trained. Paper: Iyyer et
 * al. 2015.
 *
 * @param[in]  rate         probability from 0 to 1
 * @param[in]  seed, epoch  keys of the draw
 * @param[out] ids          (rows) caller's; overwritten
 */
GNN_API void gnn_pack_drop_words(const gnn_pack_t *pack, double rate, uint64_t seed, int64_t epoch,
                                 int32_t *ids);

/* ---- sentences with trees ---- */

/** Sentences with their dependency trees. Read-only for the caller. */
typedef struct gnn_treebank {
    int64_t count, rows;
    const int64_t *lengths;     /**< (count) words of each sentence; they add up to `rows` */
    const char *const *words;   /**< (rows) as in the file */
    const int64_t *heads;       /**< (rows) index of the head in its sentence; -1: the root */
    const uint8_t *punctuation; /**< (rows) 1: the part of speech is PUNCT */
} gnn_treebank_t;

/**
 * Reads a file of Universal Dependencies (CoNLL-U), gzipped or not: ten tab-separated columns, of
 * which id, word, part of speech and head are read; an empty line between sentences. Multiword
 * tokens ("3-4") and empty nodes ("5.1") are skipped.
 *
 * @param[out] treebank  the caller's, for gnn_treebank_free
 * @param[in] path       the file
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, with file and line: no sentence, not ten columns, ids other
 *         than 1, 2, ..., a missing head or one out of range, heads that form a cycle, a word that
 *         is not UTF-8, a zero byte; GNN_EMEMORY.
 *
 * Cost: O(bytes) time and memory. Format: Nivre et al. 2020.
 */
GNN_API int gnn_treebank_read(gnn_treebank_t **treebank, const char *path);
/** Frees a treebank; may be NULL. */
GNN_API void gnn_treebank_free(gnn_treebank_t *treebank);

/* ---- positions ---- */

/**
 * Fills row p of a table with sin(p / 10000^(2k / width)) in column 2k and the cosine of the same
 * angle in column 2k + 1. Vaswani et al. 2017, 3.5.
 *
 * @param[out] table  (positions x width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID (a NULL)
 */
GNN_API int gnn_positions_sinusoidal(const gnn_tensor_t *table);

#ifdef __cplusplus
}
#endif
#endif
