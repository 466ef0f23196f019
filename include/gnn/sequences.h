/**
 * Batches of token sequences for training: encoder-decoders, which generate one sequence from
 * another, and language models, which predict the next token.
 *
 *    const gnn_token_source_config_t config = {.tokens = 4096};
 *    gnn_source_of_tokens(&source, model, &train, &held_out, &config);
 *    gnn_train_batches(model, context, source, &how, NULL);
 *    gnn_generate(&writer, context, ...);
 *    gnn_bleu(&bleu, lines, translations, references, GNN_ON);
 *
 * A batch is not a padded matrix: rows of its sequences are concatenated, and graphs keep them
 * apart: complete graphs for encoder sequences, causal ones for decoder sequences, bipartite ones
 * for cross-attention.
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
    /** approximate rows of a batch, encoder and decoder together; batches are balanced as far as
     * whole sequences allow [4096] */
    int64_t tokens;
    /** for language models: training sequences are concatenated and cut into windows of this
     * length, in each epoch from a random offset; validation sequences are cut from the start [0:
     * sequences are not cut] */
    int64_t window;
    gnn_real_t label_smoothing; /**< of training batches [0]. Szegedy et al. 2016 */
    uint64_t seed;              /**< of the shuffling in each epoch [1] */
} gnn_token_source_config_t;

/**
 * Makes a source of batches in which decoder row k is token k and its target is token k + 1; begin
 * and end tokens must be part of the sequences.
 *
 * The model gets those of the inputs "ids", "positions", "decoder_ids" and "decoder_positions" that
 * it reads. An encoder-decoder has three graph slots: 0 complete over encoder rows, 1 causal over
 * decoder rows, 2 from encoder to decoder rows. A language model has slot 0, which is causal.
 *
 * @param[out] source      the caller's, for gnn_source_free; NULL after an error
 * @param[in]  model       borrowed by the source; an encoder-decoder if it reads "decoder_ids"
 * @param[in]  train       copied: lengths and ids; for an encoder-decoder these are the encoder's,
 *                         and decoder_lengths and decoder_ids the decoder's
 * @param[in]  validation  copied; its loss is without smoothing; may be NULL
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID: a setting, or a sequence that is too short (fewer than two decoder
 *         tokens, no encoder token); GNN_EUNSUPPORTED: other graph slots; GNN_EOVERFLOW;
 *         GNN_EMEMORY
 *
 * Cost: memory of the tokens and of one batch; O(tokens) per batch. Every epoch has the same count
 * of batches, with sequences in another order. Threads: to be used by the training thread only.
 * Paper: Vaswani et al. 2017, section 5.
 */
GNN_API int gnn_source_of_tokens(gnn_source_t **source, const gnn_model_t *model,
                                 const gnn_sequences_t *train, const gnn_sequences_t *validation,
                                 const gnn_token_source_config_t *config);

/* ---- quality of translations ---- */

/** BLEU and its components. */
typedef struct gnn_bleu_s {
    double score;         /**< from 0 to 100 */
    double precisions[4]; /**< in percent, of n-grams for n = 1 to 4, smoothed */
    /** matching n-grams, each counted at most as often as in the reference */
    int64_t hits[4];
    int64_t totals[4];        /**< n-grams of the translations */
    double brevity;           /**< brevity penalty, a factor in (0, 1] */
    int64_t length;           /**< tokens of the translations */
    int64_t reference_length; /**< tokens of the references */
} gnn_bleu_t;

/**
 * Corpus BLEU with one reference per line, as sacreBLEU computes it by default: tokenization "13a"
 * of mteval-v13a, n-grams up to 4, exponential smoothing of zero counts.
 *
 * @param[out] bleu          overwritten
 * @param[in]  count         lines
 * @param[in]  translations  (count) lines of UTF-8, not split into tokens
 * @param[in]  references    (count) the same
 * @param[in]  lower         GNN_ON: case-insensitive (simple lower case of each character) [off]
 * @return GNN_OK; GNN_EINVALID: a line is NULL; GNN_EMEMORY
 *
 * Cost: O(n log n) for the n tokens of each line. Papers: Papineni et al. 2002; Post 2018
 * (sacreBLEU); Chen and Cherry 2014 (smoothing).
 */
GNN_API int gnn_bleu(gnn_bleu_t *bleu, int64_t count, const char *const *translations,
                     const char *const *references, gnn_flag_t lower);

#ifdef __cplusplus
}
#endif
#endif
