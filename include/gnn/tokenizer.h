/**
 * Tokenizers: text becomes numbers of tokens, and numbers become text again, as the published
 * models expect it.
 *
 *    gnn_tokenizer_open(&t, "tokenizer.json");   or vocab.txt, merges.txt, a SentencePiece .model
 *    gnn_tokenizer_encode(t, &(gnn_texts_t){2, texts}, NULL, NULL, &tokens);
 *    gnn_graph_complete(&graph, tokens->sentences, tokens->lengths);
 *    gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_OFF, &text, NULL);
 *
 * A batch is no padded matrix: the sentences' rows stand one after another, and the lengths make
 * the graph that keeps them apart.
 *
 * All text is UTF-8. What is none is read as U+FFFD, one for each maximal part of a character
 * (Unicode's "substitution of maximal subparts", which is what Python's errors="replace" does).
 */
#ifndef GNN_TOKENIZER_H
#define GNN_TOKENIZER_H

#include <gnn/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Vocabulary and rules. Read-only once it is made: any number of threads may use one. */
typedef struct gnn_tokenizer gnn_tokenizer_t;

/* ---- making one ---- */

/**
 * Reads a tokenizer. The contents decide, not the name:
 *
 * - tokenizer.json: the models WordPiece, BPE, Unigram and WordLevel with what docs/text.md lists
 *   of the steps around them;
 * - vocab.txt: BERT's WordPiece, a token a line; lower-case unless the vocabulary has tokens with
 *   capitals outside of brackets;
 * - merges.txt: byte-level BPE as GPT-2 has it; the ids are in vocab.json beside it;
 * - a SentencePiece model: unigram, BPE, word or char;
 * - llama2.c's tokenizer.bin: scores and pieces;
 * - a folder: tokenizer.json, or else its vocabulary by the rule of the class that the folder
 *   names, with what tokenizer_config.json, special_tokens_map.json and added_tokens.json say.
 *
 * @param[out] tokenizer  the caller's, for gnn_tokenizer_free
 * @param[in] path        a file of at most 256 MB, or a folder
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT with the file and the place in it; GNN_EUNSUPPORTED: a step
 *   that is not known, a key, or files that contradict each other, named; GNN_ENOTFOUND: a folder
 *   without a tokenizer; GNN_EOVERFLOW: a template of more than 4,096 tokens or 8 texts, or
 *   an added token of which the normalisers make more than 4,096 bytes; GNN_EMEMORY.
 *
 * Tokens have at most 4,096 bytes, and ids are dense: below twice the count of tokens and 65,536.
 * Cost: O(bytes of the file) time and memory.
 */
GNN_API int gnn_tokenizer_open(gnn_tokenizer_t **tokenizer, const char *path);
/** Releases a tokenizer; NULL is none. */
GNN_API void gnn_tokenizer_free(gnn_tokenizer_t *tokenizer);

/** Texts of the caller's. */
typedef struct gnn_texts {
    int64_t count;
    const char *const *at;
    const int64_t *bytes; /**< (count) of each; NULL: each ends with a zero byte */
} gnn_texts_t;

/** Zero means the default in brackets. */
typedef struct gnn_learning {
    int64_t size;      /**< tokens at most, the 256 bytes and special ones included [8000] */
    int64_t min_count; /**< a pair that is met less often becomes no token [1] */
    const char *const *special; /**< (n_special) tokens that text never makes, numbered from 0 */
    int64_t n_special;
    gnn_flag_t lower; /**< GNN_ON: texts become lower-case first, here and when encoding [off] */
} gnn_learning_t;

/**
 * Learns byte-level BPE, with GPT-2's rules for words, from texts: the most frequent pair of tokens
 * becomes one, again and again. Of pairs that are met equally often the one of the smaller numbers
 * goes first, so that the same texts give the same tokenizer.
 *
 * @return GNN_OK; GNN_EINVALID; GNN_EFORMAT: a text is not UTF-8; GNN_EOVERFLOW; GNN_EMEMORY.
 *   Paper: Sennrich et al. 2016.
 */
GNN_API int gnn_tokenizer_learn(gnn_tokenizer_t **tokenizer, const gnn_texts_t *texts,
                                const gnn_learning_t *how);
/** Writes a tokenizer as tokenizer.json, which gnn_tokenizer_open and the Python package tokenizers
 * read.
 *  GNN_EUNSUPPORTED for models of SentencePiece and llama2.c; GNN_EIO. */
GNN_API int gnn_tokenizer_save(const gnn_tokenizer_t *tokenizer, const char *path);

/* ---- its vocabulary ---- */

/** The kind of a tokenizer's model: "WordPiece", "BPE", "Unigram", "WordLevel", or "SentencePiece"
 *  for pieces that vocab.json numbers. */
GNN_API const char *gnn_tokenizer_kind(const gnn_tokenizer_t *tokenizer);
/** The largest id of a token plus one: the rows of a table of embeddings. */
GNN_API int64_t gnn_tokenizer_size(const gnn_tokenizer_t *tokenizer);
/** A token as its file writes it, NULL where no token has this number. */
GNN_API const char *gnn_tokenizer_token(const gnn_tokenizer_t *tokenizer, int64_t id);
/** The number of a token as its file writes it, -1 if there is none. O(length). */
GNN_API int32_t gnn_tokenizer_find(const gnn_tokenizer_t *tokenizer, const char *token);

/* ---- text to tokens ---- */

/** Zero means the default in brackets. */
typedef struct gnn_encoding {
    gnn_flag_t special; /**< adds what stands around a text, such as [CLS] and [SEP] [on] */
    gnn_flag_t places;  /**< says where in its text each token stands [off] */
    int64_t max_length; /**< tokens of a sentence, special ones included; the end is cut [any] */
} gnn_encoding_t;

/** Tokens of some sentences, one sentence after another. */
typedef struct gnn_tokens {
    int64_t sentences, rows;
    const int64_t *lengths; /**< (sentences) tokens of each, for the graph; they add up to `rows` */
    const int32_t *ids;     /**< (rows) */
    const int32_t *types; /**< (rows) 1 in the second text of a pair, if the model tells it apart */
    const int32_t *positions; /**< (rows) 0, 1, ... in each sentence */
    const int64_t *begin;     /**< (rows) first byte in its text; NULL unless asked for */
    const int64_t *end; /**< (rows) behind the last byte; a token of no text has begin = end = 0 */
} gnn_tokens_t;

/**
 * Encodes texts, or pairs of texts.
 *
 * @param[in] first    a sentence each
 * @param[in] second   as many: the other half of each pair; NULL: there are no pairs
 * @param[in] how      NULL: all defaults. Pairs that are too long lose tokens of the longer text
 *   first
 * @param[out] tokens  the caller's, for gnn_tokens_free; holds nothing of the texts
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW: a text of more than 1 GB, or one of which the steps
 *   make more than 64 bytes per byte and 64 KB, which the message names; GNN_EMEMORY.
 *
 * What is cut is not tokenized, but for pairs of which both texts are cut.
 * Cost: O(bytes (log bytes of the longest word + bytes of the longest token, at most 4,096)) time,
 * whatever the vocabulary; O(bytes) memory. Threads: reads the tokenizer.
 */
GNN_API int gnn_tokenizer_encode(const gnn_tokenizer_t *tokenizer, const gnn_texts_t *first,
                                 const gnn_texts_t *second, const gnn_encoding_t *how,
                                 gnn_tokens_t **tokens);
/** Releases tokens; NULL are none. */
GNN_API void gnn_tokens_free(gnn_tokens_t *tokens);

/* ---- tokens to text ---- */

/**
 * The text of some tokens. Bytes that make up no UTF-8 become U+FFFD.
 *
 * @param[in] special  GNN_OFF leaves special tokens out; else they are written as they are
 * @param[out] text    the caller's, for gnn_free; ends with a zero byte
 * @param[out] bytes   of the text, which may hold zero bytes; NULL: not wanted
 * @return GNN_OK; GNN_EINVALID: an id that no token has; GNN_EMEMORY. O(bytes).
 */
GNN_API int gnn_tokenizer_decode(const gnn_tokenizer_t *tokenizer, int64_t count, const int32_t *ids,
                                 gnn_flag_t special, char **text, int64_t *bytes);

/** Text that comes token by token, as a model that generates it shows it. */
typedef struct gnn_decoder gnn_decoder_t;

/** Makes a decoder of tokens to text, the caller's, for gnn_decoder_free. The tokenizer outlives
 * it.
 */
GNN_API int gnn_decoder_new(gnn_decoder_t **decoder, const gnn_tokenizer_t *tokenizer,
                            gnn_flag_t special);
/** The text that one more token adds, whole characters only: bytes of a character that is not
 *  complete wait for the next token. *text is the decoder's until the next call, *bytes (NULL: not
 *  wanted) its length. All texts and that of gnn_decoder_finish, one after another, are what
 *  gnn_tokenizer_decode gives. */
GNN_API int gnn_decoder_push(gnn_decoder_t *decoder, int32_t id, const char **text, int64_t *bytes);
/** The text of the bytes that still waited, as U+FFFD where they are no character. The decoder may
 * be used again from the
 *  start. */
GNN_API int gnn_decoder_finish(gnn_decoder_t *decoder, const char **text, int64_t *bytes);
/** Releases a decoder; NULL is none. */
GNN_API void gnn_decoder_free(gnn_decoder_t *decoder);

#ifdef __cplusplus
}
#endif
#endif
