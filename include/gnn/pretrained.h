/**
 * Pretrained Transformers: a folder as Hugging Face publishes them becomes a model of this library,
 * with its tokenizer.
 *
 *    gnn_pretrained_open(&p, context, "all-MiniLM-L6-v2");
 *    gnn_pretrained_embed(p, context, &(gnn_texts_t){2, texts, NULL}, &out);
 *
 * Or step by step, for any value inside:
 *
 *    gnn_tokenizer_encode(gnn_pretrained_tokenizer(p), &texts, NULL, NULL, &tokens);
 *    gnn_sequences_t sequences = {tokens->sentences, tokens->lengths, tokens->ids};
 *    gnn_pretrained_batch_new(&batch, p, &sequences);
 *    gnn_model_value(gnn_pretrained_model(p), context, gnn_pretrained_batch_inputs(batch),
 *                    "hidden", &out);
 *
 * The model is a list of steps like any other: it can be looked into, trained on and saved. Its
 * steps are called "layer.0", "layer.1", ...; an encoder-decoder's "encoder.0", "decoder.0" and
 * "cross.0". "hidden" is the last hidden state; "logits", "pooled" and "embedding" are there where
 * the folder has what they need. docs/pretrained.md lists the architectures.
 */
#ifndef GNN_PRETRAINED_H
#define GNN_PRETRAINED_H

#include <gnn/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model, its tokenizer and what its folder says of it. */
typedef struct gnn_pretrained gnn_pretrained_t;

/**
 * Opens a folder: config.json; model.safetensors, or the files that model.safetensors.index.json
 * names; the tokenizer's files, if there are any; modules.json and the folders that it names
 * (sentence-transformers), if there are any. Weights may be of 16, 32 or 64 bits.
 *
 * @param[out] pretrained  the caller's, for gnn_pretrained_free; NULL after an error
 * @param[in]  context     used during the call
 * @param[in]  folder      a path
 * @return GNN_OK; GNN_EIO: a file cannot be read; GNN_EFORMAT: config.json, index and arrays are
 *         damaged or contradict each other; GNN_EUNSUPPORTED: an architecture that is not known,
 *         with those that are; GNN_ENOTFOUND: an array is missing; GNN_ESHAPE: it has another shape
 *         than config.json leads to; GNN_ENUMERIC: a weight is not finite; GNN_EMEMORY
 *
 * Cost: time in proportion to the files, memory of the model alone: the files are mapped, and must
 * not be cut short during the call (a read beyond a mapped file's end kills the program with
 * SIGBUS).
 */
GNN_API int gnn_pretrained_open(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                const char *folder);
/** How a folder is opened; 0 is the default in every field. */
typedef struct gnn_pretrained_config {
    /** GNN_ON: weights of linear maps and tables of words that the folder has in 16 bits (bf16 or
     * float16) stay so in memory, half as large, and are widened, exactly, as they are read [off].
     * Sums are of gnn_real_t. Such a model is for inference: training, saving and gnn_model_field
     * of such a weight are GNN_EUNSUPPORTED */
    gnn_flag_t keep_16_bits;
    /** GNN_ON: what products lay out or round of the weights is kept, once for each level of
     * precision that is used, up to as much memory again [off]. The weights must not change:
     * training them is GNN_EUNSUPPORTED, writing to them by hand goes unnoticed */
    gnn_flag_t keep_packed;
    /** GNN_ON: the first token of each sequence that Longformer or LED reads is a global token: it
     * receives from all tokens and sends to all [off: those of the head's own rule, as in the
     * package transformers]. GNN_EUNSUPPORTED: the model has no global tokens */
    gnn_flag_t global_first;
} gnn_pretrained_config_t;
GNN_API int gnn_pretrained_open_with_sized(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                           const char *folder,
                                           const gnn_pretrained_config_t *config, size_t size);
/**
 * gnn_pretrained_open with settings.
 *
 * @param[in] config  NULL: the defaults, as gnn_pretrained_open
 * @return as gnn_pretrained_open
 *
 * With .keep_16_bits a product of one row takes as long as its weights take to be read, and they
 * are half as large: 1.8 to 1.9 times as fast where that was measured (docs/speed.md). Products of
 * more than 8 rows widen some of the weights at a time and take a little longer than without.
 */
static inline int gnn_pretrained_open_with(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                           const char *folder, const gnn_pretrained_config_t *config)
{
    return gnn_pretrained_open_with_sized(pretrained, context, folder, config, sizeof *config);
}
/** Releases the model and the tokenizer with it; NULL is none. */
GNN_API void gnn_pretrained_free(gnn_pretrained_t *pretrained);

/* ---- what it is ---- */

/** The model, which lives as long as the pretrained object. */
GNN_API gnn_model_t *gnn_pretrained_model(const gnn_pretrained_t *pretrained);
/** The tokenizer, which lives as long as the pretrained object; NULL if the folder has none. */
GNN_API const gnn_tokenizer_t *gnn_pretrained_tokenizer(const gnn_pretrained_t *pretrained);
/** The rows that made the model: "bert". */
GNN_API const char *gnn_pretrained_architecture(const gnn_pretrained_t *pretrained);
/** What the model was made for: the end of the class that config.json's "architectures" names
 * first, such as "ForMaskedLM" or "ForTokenClassification"; "": hidden states alone. */
GNN_API const char *gnn_pretrained_head(const gnn_pretrained_t *pretrained);
/** The most tokens that a sequence may have; 0: any number. */
GNN_API int64_t gnn_pretrained_max_length(const gnn_pretrained_t *pretrained);
/** Names of the classes that a classifier's logits stand for. */
GNN_API int64_t gnn_pretrained_label_count(const gnn_pretrained_t *pretrained);
/** Name of class `index`, NULL past the last. */
GNN_API const char *gnn_pretrained_label(const gnn_pretrained_t *pretrained, int64_t index);

/* ---- what goes in ---- */

/** Sequences of tokens, one after another, without padding; or images. What a model does not read
 * may be NULL. */
typedef struct gnn_sequences {
    int64_t count;
    const int64_t *lengths; /**< (count) tokens of each; NULL with images */
    const int32_t *ids;     /**< (sum of lengths) */
    const int32_t *types;   /**< (sum of lengths) 1 in the second text of a pair; NULL: all 0 */
    const int64_t *decoder_lengths; /**< (count) what an encoder-decoder has written so far */
    const int32_t *decoder_ids;     /**< (sum of decoder_lengths) */
    /** (count x channels * height * width) images, as the model's preprocessing leaves them */
    const gnn_tensor_t *pixels;
} gnn_sequences_t;

/** The inputs of a model and its graphs: one graph holds all sequences. */
typedef struct gnn_pretrained_batch gnn_pretrained_batch_t;

/**
 * Makes the inputs and graphs that a model needs for some sequences.
 *
 * @param[out] batch       the caller's, for gnn_pretrained_batch_free
 * @param[in]  pretrained  borrowed until then
 * @param[in]  sequences   copied
 * @return GNN_OK; GNN_EINVALID: what the model reads is not given, or a length is negative;
 *         GNN_ESHAPE: a sequence is longer than the model takes, an id is no row of its table, or
 *         images have another size; GNN_EMEMORY
 *
 * Cost: O(tokens) time and memory.
 */
GNN_API int gnn_pretrained_batch_new(gnn_pretrained_batch_t **batch,
                                     const gnn_pretrained_t *pretrained,
                                     const gnn_sequences_t *sequences);
/** How a batch is made; 0 is the default in every field. */
typedef struct gnn_pretrained_batch_config {
    /** (sum of lengths) not 0: a global token of Longformer or LED, which receives from all tokens
     * of its sequence and sends to all; copied. NULL: the first token where the model classifies
     * texts, those of the question where it finds answers, else none */
    const int32_t *global;
} gnn_pretrained_batch_config_t;
GNN_API int gnn_pretrained_batch_new_with_sized(gnn_pretrained_batch_t **batch,
                                                const gnn_pretrained_t *pretrained,
                                                const gnn_sequences_t *sequences,
                                                const gnn_pretrained_batch_config_t *config,
                                                size_t size);
/**
 * gnn_pretrained_batch_new with settings.
 *
 * @param[in] config  NULL: the defaults
 * @return as gnn_pretrained_batch_new; GNN_EUNSUPPORTED: global tokens of a model that has none
 */
static inline int gnn_pretrained_batch_new_with(gnn_pretrained_batch_t **batch,
                                                const gnn_pretrained_t *pretrained,
                                                const gnn_sequences_t *sequences,
                                                const gnn_pretrained_batch_config_t *config)
{
    return gnn_pretrained_batch_new_with_sized(batch, pretrained, sequences, config, sizeof *config);
}
/** What gnn_model_forward, gnn_model_value and gnn_model_attention take; the batch's. */
GNN_API const gnn_model_inputs_t *gnn_pretrained_batch_inputs(const gnn_pretrained_batch_t *batch);
/** Releases a batch; NULL is none. */
GNN_API void gnn_pretrained_batch_free(gnn_pretrained_batch_t *batch);

/* ---- going on token by token ---- */

/**
 * A state for sequences that go on token by token, of a model that writes (GPT-2, Llama, ...), or
 * of an encoder-decoder for sequences that are encoded here, once.
 *
 * @param[out] state      the caller's, for gnn_state_free
 * @param[in]  sequences  how many there are; of an encoder-decoder lengths and ids of what it
 *                        reads. Used during the call
 * @param[in]  capacity   tokens that each sequence may come to have
 * @return GNN_OK; GNN_EUNSUPPORTED: a row of the model hears rows that come later; GNN_ESHAPE:
 *         `capacity` is more than the model takes; else as gnn_pretrained_batch_new and
 *         gnn_state_new
 *
 * gnn_state_length and gnn_state_truncate tell and take back; sequences with the same beginning are
 * best written side by side.
 */
GNN_API int gnn_pretrained_state(gnn_state_t **state, const gnn_pretrained_t *pretrained,
                                 gnn_context_t *context, const gnn_sequences_t *sequences,
                                 int64_t capacity);
/**
 * Appends tokens to sequences: the rows that the model's last step would have for them in a forward
 * pass over all that is there, mostly the logits of the next token.
 *
 * @param[in]  counts  (sequences) new tokens of each, 0 or more; NULL: one of each
 * @param[in]  ids     (sum of counts) those of one sequence after those of another
 * @param[out] out     (sum of counts x gnn_model_width of the last step), caller's; overwritten
 * @return GNN_OK; GNN_ESHAPE: a sequence would be longer than `capacity`, or an id is no row of the
 *         model's table; else as gnn_model_advance. After an error the state is as before
 *
 * Cost: that of the new rows; attention of a row is O(length).
 */
GNN_API int gnn_pretrained_advance(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                   gnn_state_t *state, const int64_t *counts, const int32_t *ids,
                                   const gnn_tensor_t *out);

/**
 * Chooses the token that follows the start token of each text that is written, in place of the
 * folder's forced_bos_token_id: the language of mBART ("de_DE"), M2M-100 ("__de__") and NLLB
 * ("deu_Latn").
 *
 * @param[in] token  as the tokenizer's file writes it; NULL: what the folder says
 * @return GNN_OK; GNN_ENOTFOUND: there is no such token; GNN_EUNSUPPORTED: the folder has no
 *         tokenizer. After an error the choice is as before
 */
GNN_API int gnn_pretrained_choose_language(gnn_pretrained_t *pretrained, const char *token);

/* ---- the common case ---- */

/** Columns of the vectors that gnn_pretrained_embed makes; -1 if the folder does not say how
 * sentences become vectors. */
GNN_API int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained);
/**
 * Chooses how many of their columns vectors keep, the first ones. A folder opens with its
 * `truncate_dim`; most have none. Vectors are not brought to length 1 anew.
 *
 * @param[in] width  columns; 0, or more than the model makes: all of them
 * @return GNN_OK; GNN_EINVALID: `width` is below 0
 */
GNN_API int gnn_pretrained_choose_width(gnn_pretrained_t *pretrained, int64_t width);
/**
 * Chooses what stands before each text that becomes a vector: one of the `prompts` of the folder's
 * config_sentence_transformers.json, such as "query" and "document". A folder opens with its
 * `default_prompt_name`; most have none.
 *
 * @param[in] name  of a prompt; NULL: none
 * @return GNN_OK; GNN_ENOTFOUND: the folder has no such prompt, the message says which it has.
 *         After an error the choice is as before
 */
GNN_API int gnn_pretrained_choose_prompt(gnn_pretrained_t *pretrained, const char *name);
/**
 * A vector for each text, by the folder's modules.json: the model's rows are pooled, and brought to
 * length 1 where it says so.
 *
 * @param[in]  texts  a sentence each; what is longer than the model takes is cut
 * @param[out] out    (texts x gnn_pretrained_embedding_width), caller's; overwritten
 * @return GNN_OK; GNN_EUNSUPPORTED: the folder has no tokenizer or no modules.json; GNN_ESHAPE;
 *         else as gnn_model_forward
 *
 * Texts are run some thousand tokens at a time; the result of a text does not depend on the others.
 */
GNN_API int gnn_pretrained_embed(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                 const gnn_texts_t *texts, const gnn_tensor_t *out);

/**
 * How much alike vectors are, by what the folder's `similarity_fn_name` says: cosine (which it is
 * where the folder says nothing, unless it is a sparse encoder's), dot, or the negative euclidean
 * or manhattan distance.
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
