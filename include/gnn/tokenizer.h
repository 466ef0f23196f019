/**
 * Tokenizers of published models: text to token ids, and token ids to text.
 *
 *    gnn_tokenizer_open(&t, "tokenizer.json");   or vocab.txt, merges.txt, a SentencePiece .model
 *    gnn_tokenizer_encode(t, &(gnn_texts_t){2, texts}, NULL, NULL, &tokens);
 *    gnn_graph_complete(&graph, tokens->sentences, tokens->lengths);
 *    gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_OFF, &text, NULL);
 *
 * A batch is not a padded matrix: rows of the sentences are concatenated, and their lengths define
 * the graph that keeps them apart.
 *
 * All text is UTF-8. Invalid bytes are read as U+FFFD, one per maximal subpart of a character
 * (Unicode's "substitution of maximal subparts", as Python's errors="replace").
 */
#ifndef GNN_TOKENIZER_H
#define GNN_TOKENIZER_H

#include <gnn/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Vocabulary and rules. Read-only, so threads may share one. */
typedef struct gnn_tokenizer gnn_tokenizer_t;

/* ---- constructors ---- */

/**
 * Reads a tokenizer. The format is detected from the contents:
 *
 * - tokenizer.json: the models WordPiece, BPE, Unigram and WordLevel, with the normalizers,
 * pre-tokenizers, post-processors and decoders that docs/text.md lists;
 * - vocab.txt: BERT's WordPiece, one token per line; lower-case unless the vocabulary has tokens
 * with capitals outside of brackets;
 * - merges.txt: byte-level BPE as in GPT-2; the ids are in vocab.json in the same folder;
 * - a SentencePiece model: unigram, BPE, word or char;
 * - llama2.c's tokenizer.bin: scores and pieces;
 * - a folder: tokenizer.json, or else its vocabulary by the rule of the class that the folder
 * names, with the settings of tokenizer_config.json, special_tokens_map.json and added_tokens.json.
 *
 * @param[out] tokenizer  the caller's, for gnn_tokenizer_free
 * @param[in] path        a file of at most 256 MB, or a folder
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT with the file and the position in it; GNN_EUNSUPPORTED: an
 *   unknown step or key, or files that contradict each other, named; GNN_ENOTFOUND: a folder
 *   without a tokenizer; GNN_EOVERFLOW: a template of more than 4,096 tokens or 8 texts, or an
 *   added token that the normalizers expand to more than 4,096 bytes; GNN_EMEMORY.
 *
 * Tokens have at most 4,096 bytes, and ids are dense: below twice the count of tokens and 65,536.
 * Cost: O(bytes of the file) time and memory.
 */
GNN_API int gnn_tokenizer_open(gnn_tokenizer_t **tokenizer, const char *path);
/** Frees a tokenizer; may be NULL. */
GNN_API void gnn_tokenizer_free(gnn_tokenizer_t *tokenizer);

/** Texts, owned by the caller. */
typedef struct gnn_texts {
    int64_t count;
    const char *const *at;
    const int64_t *bytes; /**< (count) of each; NULL: each ends with a zero byte */
} gnn_texts_t;

/** Zero means the default in brackets. */
typedef struct gnn_learning {
    int64_t size;      /**< maximum tokens, the 256 bytes and special ones included [8000] */
    int64_t min_count; /**< minimum frequency of a merged pair [1] */
    /** (n_special) special tokens, never produced by text, with ids from 0 */
    const char *const *special;
    int64_t n_special;
    gnn_flag_t lower; /**< GNN_ON: lower-case texts first, here and when encoding [off] */
} gnn_learning_t;

/**
 * Trains byte-level BPE with GPT-2's pre-tokenization: the most frequent pair of tokens is merged,
 * repeatedly. Ties are broken by the smaller ids, so that the same texts give the same tokenizer.
 *
 * @param[in] how  NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EFORMAT: a text is not UTF-8; GNN_EOVERFLOW; GNN_EMEMORY.
 *         Paper: Sennrich et al. 2016.
 */
GNN_API int gnn_tokenizer_learn(gnn_tokenizer_t **tokenizer, const gnn_texts_t *texts,
                                const gnn_learning_t *how);
/** Writes a tokenizer as tokenizer.json, which gnn_tokenizer_open and the Python package tokenizers
 * read.
 *  GNN_EUNSUPPORTED: a model of SentencePiece or llama2.c; GNN_EIO. */
GNN_API int gnn_tokenizer_save(const gnn_tokenizer_t *tokenizer, const char *path);

/* ---- its vocabulary ---- */

/** The kind of a tokenizer's model: "WordPiece", "BPE", "Unigram", "WordLevel", or "SentencePiece"
 *  for pieces with ids in vocab.json. */
GNN_API const char *gnn_tokenizer_kind(const gnn_tokenizer_t *tokenizer);
/** The largest token id plus one: the rows of an embedding table. */
GNN_API int64_t gnn_tokenizer_size(const gnn_tokenizer_t *tokenizer);
/**
 * A token as spelt in its file; NULL if there is no such id.
 *
 * @param[in] id  of the token
 */
GNN_API const char *gnn_tokenizer_token(const gnn_tokenizer_t *tokenizer, int64_t id);
/**
 * The id of a token as spelt in its file; -1 if there is none. O(length).
 *
 * @param[in] token  as spelt in the file
 */
GNN_API int32_t gnn_tokenizer_find(const gnn_tokenizer_t *tokenizer, const char *token);

/* ---- text to tokens ---- */

/** Zero means the default in brackets. */
typedef struct gnn_encoding {
    gnn_flag_t special; /**< add special tokens such as [CLS] and [SEP] [on] */
    gnn_flag_t places;  /**< fill `begin` and `end` [off] */
    /** maximum tokens of a sentence, special ones included; longer ones are truncated
     * [unlimited] */
    int64_t max_length;
} gnn_encoding_t;

/** Tokens of sentences, concatenated. */
typedef struct gnn_tokens {
    int64_t sentences, rows;
    const int64_t *lengths; /**< (sentences) tokens of each, for the graph; they add up to `rows` */
    const int32_t *ids;     /**< (rows) */
    /** (rows) 1 in the second text of a pair, if the model has token types */
    const int32_t *types;
    const int32_t *positions; /**< (rows) 0, 1, ... in each sentence */
    /** (rows) offset of the first byte in its text; NULL unless `places` is on */
    const int64_t *begin;
    /** (rows) offset after the last byte; a special token has begin = end = 0 */
    const int64_t *end;
} gnn_tokens_t;

/**
 * Encodes texts, or pairs of texts.
 *
 * @param[in] first    a sentence each
 * @param[in] second   the second text of each pair; NULL: no pairs
 * @param[in] how      NULL: all defaults. In a pair that is too long, the longer text is truncated
 *                     first
 * @param[out] tokens  the caller's, for gnn_tokens_free; holds nothing of the texts
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW: a text of more than 1 GB, or one that the steps
 *         expand to more than 64 bytes per byte and 64 KB (named); GNN_EMEMORY.
 *
 * Truncated text is not tokenized, except in pairs of which both texts are truncated. Cost: O(bytes
 * (log bytes of the longest word + bytes of the longest token, at most 4,096)) time for any
 * vocabulary; O(bytes) memory. Threads: reads the tokenizer.
 */
GNN_API int gnn_tokenizer_encode(const gnn_tokenizer_t *tokenizer, const gnn_texts_t *first,
                                 const gnn_texts_t *second, const gnn_encoding_t *how,
                                 gnn_tokens_t **tokens);
/** Frees tokens; may be NULL. */
GNN_API void gnn_tokens_free(gnn_tokens_t *tokens);

/* ---- tokens to text ---- */

/**
 * Decodes tokens to text. Invalid UTF-8 becomes U+FFFD.
 *
 * @param[in]  count    count of the tokens
 * @param[in]  ids      (count) of the tokens
 * @param[in]  special  GNN_OFF: skip special tokens; else they are included
 * @param[out] text     the caller's, for gnn_free; ends with a zero byte
 * @param[out] bytes    length of the text, which may hold zero bytes; may be NULL
 * @return GNN_OK; GNN_EINVALID: an unknown id; GNN_EMEMORY. O(bytes).
 */
GNN_API int gnn_tokenizer_decode(const gnn_tokenizer_t *tokenizer, int64_t count, const int32_t *ids,
                                 gnn_flag_t special, char **text, int64_t *bytes);

/** An incremental decoder of tokens to text, for generation. */
typedef struct gnn_decoder gnn_decoder_t;

/**
 * Makes a decoder, the caller's, for gnn_decoder_free. The tokenizer must outlive it.
 *
 * @param[in] special  GNN_OFF: skip special tokens; else they are included
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_decoder_new(gnn_decoder_t **decoder, const gnn_tokenizer_t *tokenizer,
                            gnn_flag_t special);
/**
 * Returns the text that one more token adds, in whole characters: bytes of an incomplete character
 * are held back. The concatenation of all texts, with that of gnn_decoder_finish, equals
 * gnn_tokenizer_decode.
 *
 * @param[in]  id     id of the token
 * @param[out] text   valid until the next call
 * @param[out] bytes  length of the text; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, an unknown id); GNN_EMEMORY
 */
GNN_API int gnn_decoder_push(gnn_decoder_t *decoder, int32_t id, const char **text, int64_t *bytes);
/**
 * Returns the text of the bytes held back, with U+FFFD for incomplete characters, and resets the
 * decoder.
 *
 * @param[out] text   valid until the next call
 * @param[out] bytes  length of the text; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_decoder_finish(gnn_decoder_t *decoder, const char **text, int64_t *bytes);
/** Frees a decoder; may be NULL. */
GNN_API void gnn_decoder_free(gnn_decoder_t *decoder);

#ifdef __cplusplus
}
#endif
#endif
