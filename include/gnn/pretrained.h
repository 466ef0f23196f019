/**
 * Pretrained Transformers: reads a folder as Hugging Face publishes models into a model of this
 * library, with its tokenizer.
 *
 *    gnn_pretrained_open(&p, context, "all-MiniLM-L6-v2");
 *    gnn_pretrained_embed(p, context, &(gnn_texts_t){2, texts, NULL}, &out);
 *
 * Or step by step, for any intermediate value:
 *
 *    gnn_tokenizer_encode(gnn_pretrained_tokenizer(p), &texts, NULL, NULL, &tokens);
 *    gnn_sequences_t sequences = {tokens->sentences, tokens->lengths, tokens->ids};
 *    gnn_pretrained_batch_new(&batch, p, &sequences);
 *    gnn_model_value(gnn_pretrained_model(p), context, gnn_pretrained_batch_inputs(batch),
 *                    "hidden", &out);
 *
 * The model is a list of steps like any other: it can be inspected, trained and saved. Its steps
 * are named "layer.0", "layer.1", ...; in an encoder-decoder "encoder.0", "decoder.0" and
 * "cross.0". "hidden" is the last hidden state; "logits", "pooled" and "embedding" exist if the
 * folder has their weights. docs/pretrained.md lists the architectures.
 */
#ifndef GNN_PRETRAINED_H
#define GNN_PRETRAINED_H

#include <gnn/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model, its tokenizer and the settings of its folder. */
typedef struct gnn_pretrained gnn_pretrained_t;

/**
 * Opens a folder: config.json; model.safetensors, or the files that model.safetensors.index.json
 * names; optionally the tokenizer's files, and modules.json with the folders that it names
 * (sentence-transformers). Weights may be bf16, fp16, fp32 or fp64.
 *
 * @param[out] pretrained  the caller's, for gnn_pretrained_free; NULL after an error
 * @param[in]  context     used during the call
 * @param[in]  folder      a path
 * @return GNN_OK; GNN_EIO: a file cannot be read; GNN_EFORMAT: config.json, index and arrays are
 *         damaged or contradict each other; GNN_EUNSUPPORTED: an unknown architecture, with the
 *         known ones; GNN_ENOTFOUND: an array is missing; GNN_ESHAPE: its shape does not match
 *         config.json; GNN_ENUMERIC: a weight is not finite; GNN_EMEMORY
 *
 * Cost: O(size of the files) time, memory of the model only: the files are mapped, and must not be
 * truncated during the call (an access beyond the end of a mapped file raises SIGBUS).
 */
GNN_API int gnn_pretrained_open(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                const char *folder);
/** Settings of gnn_pretrained_open_with; 0 is the default in every field. */
typedef struct gnn_pretrained_config {
    /** GNN_ON: weights of linear maps and embedding tables that are bf16 or fp16 in the folder stay
     * so in memory, at half the size, and are converted, exactly, when they are read [off]. Sums
     * are in gnn_real_t. Such a model is for inference: training, saving and gnn_model_field of
     * such a weight return GNN_EUNSUPPORTED */
    gnn_flag_t keep_16_bits;
    /** GNN_ON: packed or rounded copies of the weights are cached, once per level of precision that
     * is used, with up to as much memory as the weights [off]. The weights must not change:
     * training returns GNN_EUNSUPPORTED, direct writes are not detected */
    gnn_flag_t keep_packed;
    /** GNN_ON: the first token of each sequence is a global token of Longformer or LED: it receives
     * from and sends to all tokens [off: by the rule of the head, as in the package transformers].
     * GNN_EUNSUPPORTED: the model has no global tokens */
    gnn_flag_t global_first;
} gnn_pretrained_config_t;
/**
 * gnn_pretrained_open with settings.
 *
 * @param[in] folder  a path
 * @param[in] config  NULL: the defaults, as gnn_pretrained_open
 * @return as gnn_pretrained_open
 *
 * With .keep_16_bits a product of one row is bound by the bandwidth of half as many bytes: measured
 * 1.8 to 1.9 times as fast (docs/speed.md). Products of more than 8 rows convert panels of weights
 * and are slightly slower than without.
 */
GNN_API int gnn_pretrained_open_with(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                     const char *folder, const gnn_pretrained_config_t *config);
/** Frees the model and its tokenizer; may be NULL. */
GNN_API void gnn_pretrained_free(gnn_pretrained_t *pretrained);

/* ---- queries ---- */

/** The model; owned by the pretrained object. */
GNN_API gnn_model_t *gnn_pretrained_model(const gnn_pretrained_t *pretrained);
/** The tokenizer, owned by the pretrained object; NULL if the folder has none. */
GNN_API const gnn_tokenizer_t *gnn_pretrained_tokenizer(const gnn_pretrained_t *pretrained);
/** The architecture: "bert". */
GNN_API const char *gnn_pretrained_architecture(const gnn_pretrained_t *pretrained);
/** The head: the suffix of the first class in config.json's "architectures", such as "ForMaskedLM"
 * or "ForTokenClassification"; "": hidden states only. */
GNN_API const char *gnn_pretrained_head(const gnn_pretrained_t *pretrained);
/** The maximum tokens of a sequence; 0: unlimited. */
GNN_API int64_t gnn_pretrained_max_length(const gnn_pretrained_t *pretrained);
/** Count of the classes of a classifier's logits. */
GNN_API int64_t gnn_pretrained_label_count(const gnn_pretrained_t *pretrained);
/** The name of class `index`; NULL past the last. */
GNN_API const char *gnn_pretrained_label(const gnn_pretrained_t *pretrained, int64_t index);

/* ---- inputs ---- */

/** Token sequences, concatenated without padding; or images. Fields that a model does not read are
 * NULL, and types of a model without them may be 0. */
typedef struct gnn_sequences {
    int64_t count;
    const int64_t *lengths; /**< (count) tokens of each; NULL with images */
    const int32_t *ids;     /**< (sum of lengths) */
    const int32_t *types;   /**< (sum of lengths) 1 in the second text of a pair; NULL: all 0 */
    const int64_t *decoder_lengths; /**< (count) decoder tokens of each, in an encoder-decoder */
    const int32_t *decoder_ids;     /**< (sum of decoder_lengths) */
    /** (count x channels * height * width) preprocessed; of videos frames before channels */
    const gnn_tensor_t *pixels;
    /** (sum of lengths x width) rows of a model without tokens, such as a bare Perceiver */
    const gnn_tensor_t *features;
    /** of the images, in pixels; 0: the image_size of config.json. Models without one, such as
     * PoolFormer, take any size and need both */
    int64_t height, width;
} gnn_sequences_t;

/** The inputs of a model and its graphs: one graph holds all sequences. */
typedef struct gnn_pretrained_batch gnn_pretrained_batch_t;

/**
 * Makes the inputs and graphs of a model for a batch of sequences.
 *
 * @param[out] batch       the caller's, for gnn_pretrained_batch_free
 * @param[in]  pretrained  borrowed until then
 * @param[in]  sequences   copied
 * @return GNN_OK; GNN_EINVALID: an input of the model, or the size of its images, is missing, or a
 *         length is negative; GNN_ESHAPE: a sequence exceeds the maximum length, an id is out of
 *         range, or images have another size; GNN_EMEMORY
 *
 * Cost: O(tokens) time and memory.
 */
GNN_API int gnn_pretrained_batch_new(gnn_pretrained_batch_t **batch,
                                     const gnn_pretrained_t *pretrained,
                                     const gnn_sequences_t *sequences);
/** Settings of gnn_pretrained_batch_new_with; 0 is the default in every field. */
typedef struct gnn_pretrained_batch_config {
    /** (sum of lengths) non-zero: a global token of Longformer or LED, which receives from and
     * sends to all tokens of its sequence; copied. NULL: the first token for text classification,
     * the question for question answering, else none */
    const int32_t *global;
    /** GNN_ON: for training: graphs with their transposes, which gradients need [off: for inference
     * alone] */
    gnn_flag_t backward;
} gnn_pretrained_batch_config_t;
/**
 * gnn_pretrained_batch_new with settings.
 *
 * @param[in] config  NULL: the defaults
 * @return as gnn_pretrained_batch_new; GNN_EUNSUPPORTED: the model has no global tokens
 */
GNN_API int gnn_pretrained_batch_new_with(gnn_pretrained_batch_t **batch,
                                          const gnn_pretrained_t *pretrained,
                                          const gnn_sequences_t *sequences,
                                          const gnn_pretrained_batch_config_t *config);
/** Inputs for gnn_model_forward, gnn_model_value and gnn_model_attention; owned by the batch. */
GNN_API const gnn_model_inputs_t *gnn_pretrained_batch_inputs(const gnn_pretrained_batch_t *batch);
/** Frees a batch; may be NULL. */
GNN_API void gnn_pretrained_batch_free(gnn_pretrained_batch_t *batch);

/* ---- incremental decoding ---- */

/**
 * Makes a KV cache for sequences of a decoder (GPT-2, Llama, ...) or an encoder-decoder, whose
 * encoder runs here, once.
 *
 * @param[out] state      the caller's, for gnn_state_free
 * @param[in]  sequences  their count; for an encoder-decoder also lengths and ids of the encoder's
 *                        input; nothing else. Read during this call only
 * @param[in]  capacity   maximum tokens of each sequence
 * @return GNN_OK; GNN_EUNSUPPORTED: the model is not causal; GNN_ESHAPE: `capacity` exceeds the
 *         model's maximum length; else as gnn_pretrained_batch_new and gnn_state_new
 *
 * gnn_state_length returns lengths and gnn_state_truncate removes tokens; sequences with a common
 * prefix are best decoded in one batch.
 */
GNN_API int gnn_pretrained_state(gnn_state_t **state, const gnn_pretrained_t *pretrained,
                                 gnn_context_t *context, const gnn_sequences_t *sequences,
                                 int64_t capacity);
/**
 * Appends tokens to sequences and returns the rows of the model's last step for them (usually
 * logits of the next tokens), as in a forward pass over the whole sequences.
 *
 * @param[in]  counts  (sequences) new tokens of each, 0 or more; NULL: 1 each
 * @param[in]  ids     (sum of counts) concatenated by sequence; may be NULL: the sum is 0
 * @param[out] out     (sum of counts x gnn_model_width of the last step), caller's; overwritten
 * @return GNN_OK; GNN_ESHAPE: a sequence would exceed `capacity`, or an id is out of range; else as
 *         gnn_model_advance. After an error the state is unchanged
 *
 * Cost: that of the new rows; attention is O(length) per row.
 */
GNN_API int gnn_pretrained_advance(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                   gnn_state_t *state, const int64_t *counts, const int32_t *ids,
                                   const gnn_tensor_t *out);

/**
 * Sets the token after the start token of generated texts, in place of the folder's
 * forced_bos_token_id: the output language of mBART ("de_DE"), M2M-100 ("__de__") and NLLB
 * ("deu_Latn").
 *
 * @param[in] token  as spelt in the tokenizer's file; NULL: the folder's
 * @return GNN_OK; GNN_ENOTFOUND: there is no such token; GNN_EUNSUPPORTED: the folder has no
 *         tokenizer. Nothing is changed on an error
 */
GNN_API int gnn_pretrained_choose_language(gnn_pretrained_t *pretrained, const char *token);

/* ---- the common case ---- */

/** Width of the vectors of gnn_pretrained_embed; -1 if the folder does not define sentence
 * embeddings. */
GNN_API int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained);
/**
 * Truncates sentence vectors to their first columns. The initial value is the folder's
 * `truncate_dim`, if any. Truncated vectors are not normalised again.
 *
 * @param[in] width  columns; 0, or more than there are: all
 * @return GNN_OK; GNN_EINVALID: `width` is below 0
 */
GNN_API int gnn_pretrained_choose_width(gnn_pretrained_t *pretrained, int64_t width);
/**
 * Sets the prompt that is prepended to each embedded text: one of the `prompts` of the folder's
 * config_sentence_transformers.json, such as "query" and "document". The initial value is the
 * folder's `default_prompt_name`, if any.
 *
 * @param[in] name  of a prompt; NULL: none
 * @return GNN_OK; GNN_ENOTFOUND: no such prompt; the message lists the folder's. Nothing is changed
 *         on an error
 */
GNN_API int gnn_pretrained_choose_prompt(gnn_pretrained_t *pretrained, const char *name);
/**
 * Computes one vector per text, by the folder's modules.json: pooling, and normalisation and
 * further modules if listed.
 *
 * @param[in] texts truncated to the model's maximum length
 * @param[out] out    (texts x gnn_pretrained_embedding_width), caller's; overwritten
 * @return GNN_OK; GNN_EUNSUPPORTED: the folder has no tokenizer or no modules.json; GNN_ESHAPE;
 *         else as gnn_model_forward
 *
 * Texts run in batches of some thousand tokens; the result of a text does not depend on the others.
 */
GNN_API int gnn_pretrained_embed(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                 const gnn_texts_t *texts, const gnn_tensor_t *out);

/**
 * Similarities of vectors, by the folder's `similarity_fn_name`: cosine (the default; for sparse
 * encoders dot), dot, or the negative euclidean or manhattan distance.
 *
 * @param[in]  first   (n x d) vectors
 * @param[in]  second  (m x d) vectors
 * @param[out] out     (n x m), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE
 *
 * Cost: O(n m d), in double precision.
 */
GNN_API int gnn_pretrained_similarity(const gnn_pretrained_t *pretrained, const gnn_tensor_t *first,
                                      const gnn_tensor_t *second, const gnn_tensor_t *out);
/** The name of that function: "cosine", "dot", "euclidean" or "manhattan". */
GNN_API const char *gnn_pretrained_similarity_name(const gnn_pretrained_t *pretrained);

#ifdef __cplusplus
}
#endif
#endif
