/**
 * Sequences of tokens as batches for training: encoder-decoders, which learn to write one sequence
 * after they have read another, and language models, which learn to go on.
 *
 *    const gnn_token_source_config_t config = {.tokens = 4096};
 *    gnn_token_source_new(&source, model, &train, &held_out, &config);
 *    gnn_train_batches(model, context, gnn_token_source(source), &how, NULL);
 *    gnn_generate(&writer, context, ...);
 *    gnn_bleu(&bleu, lines, translations, references, GNN_ON);
 *
 * A batch is no padded matrix: its sequences' rows stand one after another, and graphs keep them
 * apart. What is read is a complete graph for each sequence, what is written a causal one, and
 * attention from the second to the first a bipartite one.
 */
#ifndef GNN_SEQUENCES_H
#define GNN_SEQUENCES_H

#include <gnn/pretrained.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Zero means the default in brackets. */
typedef struct gnn_token_source_config {
    /** rows of a batch, of both sides together, about: batches are as even as whole sequences
     * allow [4096] */
    int64_t tokens;
    /** of a language model: the training sequences are one long one, cut anew in each epoch, at a
     * drawn place, into pieces of so many rows; those held out are cut from their start [0: each
     * sequence stays whole] */
    int64_t window;
    gnn_real_t label_smoothing; /**< of training batches [0]. Szegedy et al. 2016 */
    uint64_t seed;              /**< of the order in each epoch [1] */
} gnn_token_source_config_t;

/** Sequences of tokens as batches for gnn_train_batches. */
typedef struct gnn_token_source_s gnn_token_source_t;

GNN_API int gnn_token_source_new_sized(gnn_token_source_t **source, const gnn_model_t *model,
                                       const gnn_sequences_t *train,
                                       const gnn_sequences_t *validation,
                                       const gnn_token_source_config_t *config, size_t size);
/**
 * Makes a source of batches in which row k of what is written is token k and learns token k + 1;
 * begin and end tokens are the caller's, as part of the sequences.
 *
 * Of the inputs "ids", "positions", "decoder_ids" and "decoder_positions" the model gets those that
 * it reads. An encoder-decoder runs on three graph slots: 0 complete among what is read, 1 causal
 * among what is written, 2 from what is read to what is written. A language model has slot 0, which
 * is causal.
 *
 * @param[out] source      the caller's, for gnn_token_source_free; NULL after an error
 * @param[in]  model       borrowed until then. It is an encoder-decoder if it reads "decoder_ids"
 * @param[in]  train       copied: lengths and ids; of an encoder-decoder these are what it reads,
 *                         and decoder_lengths and decoder_ids what it writes
 * @param[in]  validation  copied; its loss is without smoothing. NULL: there are none
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID: a setting, or a sequence of which nothing can be learned (less than
 *         two tokens to write, none to read); GNN_EUNSUPPORTED: other graph slots;
 *         GNN_EOVERFLOW; GNN_EMEMORY
 *
 * Cost: memory of the tokens and of one batch; a batch is O(its tokens). Every epoch has the same
 * number of batches, of sequences in another order. Threads: the source belongs to the one that
 * trains. Paper: Vaswani et al. 2017, section 5.
 */
static inline int gnn_token_source_new(gnn_token_source_t **source, const gnn_model_t *model,
                                       const gnn_sequences_t *train,
                                       const gnn_sequences_t *validation,
                                       const gnn_token_source_config_t *config)
{
    return gnn_token_source_new_sized(source, model, train, validation, config, sizeof *config);
}
/** The batches of a source, for gnn_train_batches; they live as long as the source. */
GNN_API const gnn_source_t *gnn_token_source(const gnn_token_source_t *source);
/** Frees a token source; NULL is fine. */
GNN_API void gnn_token_source_free(gnn_token_source_t *source);

/* ---- how good a translation is ---- */

/** BLEU and what it is made of. */
typedef struct gnn_bleu_s {
    double score;             /**< from 0 to 100 */
    double precisions[4];     /**< in percent, of 1 to 4 tokens in a row, smoothed */
    int64_t hits[4];          /**< such runs that the reference has too, each as often as there */
    int64_t totals[4];        /**< such runs of the translations */
    double brevity;           /**< the factor by which what is too short loses */
    int64_t length;           /**< tokens of the translations */
    int64_t reference_length; /**< tokens of the references */
} gnn_bleu_t;

/**
 * BLEU of a corpus with one reference a line, as sacreBLEU computes it by default: tokens by the
 * rules "13a" of mteval-v13a, runs of 1 to 4 tokens, exponential smoothing of precisions without a
 * hit.
 *
 * @param[out] bleu          overwritten
 * @param[in]  count         lines
 * @param[in]  translations  (count) lines of UTF-8, not split into tokens
 * @param[in]  references    (count) the same
 * @param[in]  lower         GNN_ON: case does not count (each character's simple lower case) [off]
 * @return GNN_OK; GNN_EINVALID: a line is NULL; GNN_EMEMORY
 *
 * Cost: O(n log n) of each line's tokens. Papers: Papineni et al. 2002; Post 2018 (sacreBLEU); Chen
 * and Cherry 2014 (smoothing).
 */
GNN_API int gnn_bleu(gnn_bleu_t *bleu, int64_t count, const char *const *translations,
                     const char *const *references, gnn_flag_t lower);

#ifdef __cplusplus
}
#endif
#endif
