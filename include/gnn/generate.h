/**
 * Writing: a model that puts out the logits of the next token goes on with texts, token by token.
 *
 *    const gnn_writer_t writer = {.pretrained = p};
 *    gnn_generate_texts(&writer, context, &(gnn_texts_t){1, &prompt},
 *                       &(gnn_generation_t){.length = 100, .temperature = 0.8f, .top_p = 0.95f},
 *                       &written);
 *    puts(written->texts[0]);
 *
 * A model of your own writes too: {.model = model, .ids = "letters", .positions = "places"} names
 * its inputs. Both run by a gnn_state_t: a token costs one row, however long the text is, and
 * several texts cost one run. An encoder-decoder reads its texts once and writes others.
 *
 * The same seed gives the same texts, for any number of threads, and whatever texts are beside
 * them.
 */
#ifndef GNN_GENERATE_H
#define GNN_GENERATE_H

#include <gnn/pretrained.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who writes: a folder's model, or one of your own. */
typedef struct gnn_writer {
    const gnn_pretrained_t *pretrained; /**< the other fields are then not read */
    /** its last step puts out a row of logits for each token, of the one that follows */
    const gnn_model_t *model;
    const char *ids;       /**< its input of tokens ["ids"] */
    const char *positions; /**< its input of their places, 0, 1, ...; NULL: it reads none */
    /** windows, and fixed inputs with a segment for each prompt (an encoder's words); NULL: none */
    const gnn_state_config_t *state;
    const gnn_tokenizer_t *tokenizer; /**< NULL: tokens are numbers, and there are no texts */
    int64_t max_length;               /**< tokens that a sequence may have [any] */
} gnn_writer_t;

/** How to write. Zero means what generation_config.json of a pretrained model's folder says, else
 * the default in brackets. */
typedef struct gnn_generation {
    int64_t length; /**< new tokens of a text at most [128]; fewer where the model takes no more */

    /** logits are divided by it; GNN_ZERO: the likeliest token is taken
     * [0: as the folder's generation_config.json says, else the likeliest] */
    gnn_real_t temperature;
    int64_t top_k; /**< only so many of the likeliest tokens are drawn from [all] */
    /** only the fewest of the likeliest tokens whose probabilities add up to so much [1].
     * Holtzman et al. 2020 */
    gnn_real_t top_p;
    /** logits of tokens that the text has already are divided by it where they are positive, and
     * multiplied where they are negative [1]. Keskar et al. 2019 */
    gnn_real_t repetition;
    uint64_t seed;
    int64_t samples; /**< texts for each prompt [1]; of a beam search the best ones */

    int64_t beams; /**< a beam search of this width, of the likeliest tokens [1: none] */
    /** a finished text is worth log p / tokens^length_penalty [1], as in the package
     * transformers */
    gnn_real_t length_penalty;
    /** a beam search ends once it has `beams` finished texts [off: once none can be better] */
    gnn_flag_t early_stopping;

    const int32_t *end; /**< (n_end) tokens that end a text; NULL: those that the folder names */
    int64_t n_end;
    const int32_t *never; /**< (n_never) tokens that are never taken, besides the folder's */
    int64_t n_never;
    const char *const *stop; /**< (n_stop) a text ends before the first of these; no beam search */
    int64_t n_stop;

    /** Called with each piece of a text, whole characters only: those of `texts` in turn. What may
     * still become one of `stop` waits. A beam search calls it with whole texts at its end.
     * Non-zero ends all texts where they are. NULL: not wanted; so for the next. */
    int (*on_text)(void *user, int64_t text, const char *piece, int64_t bytes);
    int (*on_token)(void *user, int64_t text, int32_t id); /**< the same with each token */
    void *user;
} gnn_generation_t;

/** Why a text ended. */
typedef enum {
    GNN_ENDED_NOT = 0, /**< there is no such text: a beam search found fewer than `samples` */
    GNN_ENDED_TOKEN,   /**< by one of the tokens that end a text */
    GNN_ENDED_STOP,    /**< before one of `stop` */
    GNN_ENDED_LENGTH,  /**< it has as many tokens as it may */
    GNN_ENDED_CALLER   /**< on_text or on_token wanted no more */
} gnn_ended_t;

/** What was written, without the prompts. Read-only for the caller, who owns all of it. */
typedef struct gnn_written {
    int64_t count;          /**< prompts * samples; those of one prompt one after another */
    const int64_t *lengths; /**< (count) new tokens of each, one that ended it included */
    const int32_t *ids;     /**< (sum of lengths) */
    const double *scores; /**< (count) log p of the tokens; of a beam search what a text is worth */
    const gnn_ended_t *ended;  /**< (count) */
    const char *const *texts;  /**< (count) without special tokens; NULL without a tokenizer */
    const int64_t *text_bytes; /**< (count); NULL without a tokenizer */
} gnn_written_t;

/**
 * Goes on with sequences of tokens.
 *
 * @param[in]  prompts  lengths and ids of their beginnings; of a folder's encoder-decoder those of
 *                      what it reads, and decoder_lengths and decoder_ids are the beginnings (NULL:
 *                      its start token). A beginning without tokens becomes the folder's start
 *                      token. Used during the call
 * @param[in]  how      NULL: all defaults
 * @param[out] written  the caller's, for gnn_written_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: a setting is out of its range, or a beginning has no tokens;
 *         GNN_ESHAPE: a beginning is as long as the model takes; GNN_EUNSUPPORTED: the model puts
 *         out no logits, or does not go on token by token; GNN_ENUMERIC: a logit is not a number;
 *         GNN_EMEMORY; else as gnn_pretrained_state and gnn_model_advance
 *
 * Cost: that of gnn_model_advance on the beginnings and then on one row a text and token; memory of
 * a state of all texts, times `beams`.
 * Papers: Holtzman et al. 2020 (top_p), Fan et al. 2018 (top_k), Sutskever et al. 2014 (beams).
 */
GNN_API int gnn_generate(const gnn_writer_t *writer, gnn_context_t *context,
                         const gnn_sequences_t *prompts, const gnn_generation_t *how,
                         gnn_written_t **written);
/** gnn_generate with prompts that are texts, which the writer's tokenizer encodes.
 * GNN_EUNSUPPORTED: the writer has none. */
GNN_API int gnn_generate_texts(const gnn_writer_t *writer, gnn_context_t *context,
                               const gnn_texts_t *prompts, const gnn_generation_t *how,
                               gnn_written_t **written);
/** Releases what was written; NULL is none. */
GNN_API void gnn_written_free(gnn_written_t *written);

/* ---- one token, for loops of your own ---- */

/**
 * The probabilities that the next token is drawn from: `never` and repetition, then temperature,
 * then top_k, then top_p of what these leave, as in the package transformers. With temperature 0
 * all of it is on one token, of equals the one of the smallest number.
 *
 * @param[in]  how            NULL: all defaults
 * @param[in]  logits         (n)
 * @param[in]  history        (n_history) tokens that the text has already; NULL: none
 * @param[out] probabilities  (n), caller's; overwritten; they add up to 1
 * @return GNN_OK; GNN_EINVALID; GNN_ENUMERIC: a logit is NaN, or none is finite; GNN_EMEMORY
 *
 * Cost: O(n), and O(k log n) where k tokens are left.
 */
GNN_API int gnn_next_probabilities(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                                   const int32_t *history, int64_t n_history,
                                   gnn_real_t *probabilities);
/**
 * A token drawn from them, as gnn_generate draws token number `place` of text number `text`: by
 * Philox, from the seed and these two numbers alone.
 */
GNN_API int gnn_next_token(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                           const int32_t *history, int64_t n_history, int64_t text, int64_t place,
                           int32_t *id);

#ifdef __cplusplus
}
#endif
#endif
