/**
 * Text generation: a model that computes logits of the next token continues texts token by token.
 *
 *    const gnn_writer_t writer = {.pretrained = p};
 *    gnn_generate_texts(&writer, context, &(gnn_texts_t){1, &prompt},
 *                       &(gnn_generation_t){.length = 100, .temperature = 0.8f, .top_p = 0.95f},
 *                       &written);
 *    puts(written->texts[0]);
 *
 * Models of your own generate too: {.model = model, .ids = "letters", .positions = "places"} names
 * their inputs. Both use a KV cache (gnn_state_t): a token costs one row, and several texts run as
 * one batch. An encoder-decoder encodes its prompts once.
 *
 * The same seed gives the same texts, with any thread count and in any batch.
 */
#ifndef GNN_GENERATE_H
#define GNN_GENERATE_H

#include <gnn/pretrained.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The model of a generation: a pretrained one, or one of your own. */
typedef struct gnn_writer {
    const gnn_pretrained_t *pretrained; /**< if set, the other fields must be 0 */
    /** its last step computes one row of logits per token, for the next token */
    const gnn_model_t *model;
    const char *ids;       /**< name of its input of token ids ["ids"] */
    const char *positions; /**< name of its input of positions 0, 1, ...; NULL: none */
    /** windows, and fixed inputs with one segment per prompt (an encoder's output); its segments
     * and capacity must be 0, as the prompts give them. NULL: none */
    const gnn_state_config_t *state;
    const gnn_tokenizer_t *tokenizer; /**< NULL: token ids only, no texts */
    int64_t max_length;               /**< maximum tokens of a sequence [unlimited] */
} gnn_writer_t;

/** Settings of a generation. Zero means the value in generation_config.json of a pretrained model's
 * folder, else the default in brackets.
 *
 * A generation is a beam search with `beams` above 1, sampling with a `temperature` above 0, else
 * greedy. Settings that this way does not read are an error where the caller sets them; those of a
 * folder are passed over, as in the package transformers. */
typedef struct gnn_generation {
    int64_t length; /**< maximum new tokens per text [128]; limited by the model's maximum length */

    /** logits are divided by it; GNN_ZERO: greedy [0: by the folder's generation_config.json, else
     * greedy]. A positive one selects sampling where the folder names beams */
    gnn_real_t temperature;
    int64_t top_k; /**< sampling: of the top_k most probable tokens only [all] */
    /** sampling: of the smallest set of most probable tokens whose probabilities add up to it [1].
     * Holtzman et al. 2020 (nucleus) */
    gnn_real_t top_p;
    /** repetition penalty: logits of tokens that occur in the text are divided by it if positive,
     * multiplied if negative [1]. Keskar et al. 2019 */
    gnn_real_t repetition;
    uint64_t seed;   /**< sampling: key of all draws [0] */
    int64_t samples; /**< texts per prompt [1]; in beam search the best ones */

    int64_t beams; /**< width of the beam search [1: sampling or greedy] */
    /** beam search: the score of a finished text is log p / tokens^length_penalty [1], as in the
     * package transformers */
    gnn_real_t length_penalty;
    /** beam search ends with `beams` finished texts [off: when no better text is possible] */
    gnn_flag_t early_stopping;

    /** (n_end) tokens that end a text; NULL: those of the folder. With n_end = 0: none */
    const int32_t *end;
    int64_t n_end;
    /** (n_never) tokens that are never generated, in addition to the folder's */
    const int32_t *never;
    int64_t n_never;
    /** (n_stop) a text ends before the first of these strings; not with beam search */
    const char *const *stop;
    int64_t n_stop;

    /** Called with each new piece of text `text`, in whole characters. A suffix that may still
     * become one of `stop` is held back. Beam search calls it with whole texts at its end. Non-zero
     * ends all texts. Needs a tokenizer. This and the next may be NULL. */
    int (*on_text)(void *user, int64_t text, const char *piece, int64_t bytes);
    int (*on_token)(void *user, int64_t text, int32_t id); /**< the same per token */
    void *user;                                            /**< first argument of both */
} gnn_generation_t;

/** The reason for which a text ended. */
typedef enum {
    GNN_ENDED_NOT = 0, /**< no such text: beam search found fewer than `samples` */
    GNN_ENDED_TOKEN,   /**< by an end token */
    GNN_ENDED_STOP,    /**< before one of `stop` */
    GNN_ENDED_LENGTH,  /**< at the maximum length */
    GNN_ENDED_CALLER   /**< on_text or on_token returned non-zero */
} gnn_ended_t;

/** Generated texts, without the prompts. Owned by the caller, read-only. */
typedef struct gnn_written {
    int64_t count;          /**< prompts * samples; samples of one prompt are consecutive */
    const int64_t *lengths; /**< (count) new tokens of each, including an end token */
    const int32_t *ids;     /**< (sum of lengths) */
    const double *scores;   /**< (count) log p of the tokens; in beam search the penalised score */
    const gnn_ended_t *ended;  /**< (count) */
    const char *const *texts;  /**< (count) without special tokens; NULL without a tokenizer */
    const int64_t *text_bytes; /**< (count); NULL without a tokenizer */
} gnn_written_t;

/**
 * Continues sequences of tokens.
 *
 * @param[in]  prompts  lengths and ids of the prompts; for a pretrained encoder-decoder the
 *                      encoder's input, with the decoder's prompts in decoder_lengths and
 *                      decoder_ids (NULL: the start token). An empty prompt becomes the start token
 *                      of the pretrained model's folder. Read during this call only
 * @param[in]  how      NULL: all defaults
 * @param[out] written  the caller's, for gnn_written_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: a setting is out of its range or not read, or a prompt is empty
 *         without a start token to stand for it; GNN_ESHAPE: a prompt is as long as the model's
 *         maximum length; GNN_EUNSUPPORTED: the model has no logits, or cannot decode
 *         incrementally; GNN_ENUMERIC: a logit is NaN; GNN_EMEMORY; else as gnn_pretrained_state
 *         and gnn_model_advance
 *
 * Cost: gnn_model_advance on the prompts, then on one row per text and token; memory of a KV cache
 * of all texts, times `beams`. Papers: Holtzman et al. 2020 (top_p), Fan et al. 2018 (top_k),
 * Sutskever et al. 2014 (beams).
 */
GNN_API int gnn_generate(const gnn_writer_t *writer, gnn_context_t *context,
                         const gnn_sequences_t *prompts, const gnn_generation_t *how,
                         gnn_written_t **written);
/**
 * gnn_generate with texts as prompts, encoded by the writer's tokenizer. GNN_EUNSUPPORTED: the
 * writer has none.
 *
 * @param[in] how  NULL: all defaults
 */
GNN_API int gnn_generate_texts(const gnn_writer_t *writer, gnn_context_t *context,
                               const gnn_texts_t *prompts, const gnn_generation_t *how,
                               gnn_written_t **written);
/** Frees generated texts; may be NULL. */
GNN_API void gnn_written_free(gnn_written_t *written);

/* ---- single tokens, for loops of your own ---- */

/* They read `temperature`, `top_k`, `top_p`, `repetition`, `never` and `seed`; settings of a beam
 * search are refused, those of whole texts (length, samples, end, stop, on_text, on_token) are for
 * the loop. */

/**
 * The distribution of the next token: `never` and repetition penalty, then temperature, top_k and
 * top_p in this order, as in the package transformers. With temperature 0 one token has probability
 * 1, of equal logits the one with the smallest id.
 *
 * @param[in]  how            NULL: all defaults
 * @param[in]  logits         (n)
 * @param[in]  history        (n_history) tokens of the text so far; may be NULL
 * @param[in]  n_history      count of these tokens
 * @param[out] probabilities  (n), caller's; overwritten; they add up to 1
 * @return GNN_OK; GNN_EINVALID: a setting is out of its range or not read; GNN_ENUMERIC: a logit is
 *         NaN, or none is finite; GNN_EMEMORY
 *
 * Cost: O(n), plus O(k log n) for k remaining tokens.
 */
GNN_API int gnn_next_probabilities(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                                   const int32_t *history, int64_t n_history,
                                   gnn_real_t *probabilities);
/**
 * Samples a token of that distribution, as gnn_generate does at position `place` of text `text`: by
 * Philox, keyed by the seed and these two indices alone.
 *
 * @param[in]  how          NULL: all defaults
 * @param[in]  logits       (n)
 * @param[in]  history      (n_history) tokens of the text so far; may be NULL
 * @param[in]  n_history    count of these tokens
 * @param[in]  text, place  keys of the draw, with the seed
 * @param[out] id           the token
 * @return as gnn_next_probabilities; GNN_EINVALID: all tokens are excluded
 */
GNN_API int gnn_next_token(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                           const int32_t *history, int64_t n_history, int64_t text, int64_t place,
                           int32_t *id);

#ifdef __cplusplus
}
#endif
#endif
