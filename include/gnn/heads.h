/**
 * Results of the heads of published models: token classification, masked tokens, question
 * answering, and zero-shot classification by natural language inference. The rules are those of the
 * pipelines of the package transformers.
 *
 *    gnn_pretrained_tags(p, context, &(gnn_texts_t){1, &text, NULL}, &tags);
 *    for (int64_t k = 0; k < tags->count; k++)
 *        printf("%s %.*s\n", tags->at[k].label, (int)(tags->at[k].end - tags->at[k].begin),
 *               text + tags->at[k].begin);
 *
 * Texts are truncated to the model's maximum length. Positions are byte offsets in the caller's
 * text.
 */
#ifndef GNN_HEADS_H
#define GNN_HEADS_H

#include <gnn/pretrained.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/** A tagged span of a text, such as a named entity. */
typedef struct gnn_tag {
    int64_t text;       /**< index of the text */
    int64_t begin, end; /**< byte offsets; `end` is exclusive */
    const char *label;  /**< a class of the model without "B-" or "I-"; owned by the model */
    double score;       /**< the mean probability of its tokens' classes */
} gnn_tag_t;
/** Tags of texts, in their order. Owned by the caller, read-only. */
typedef struct gnn_tags {
    int64_t count;
    const gnn_tag_t *at;
} gnn_tags_t;

/**
 * Finds tagged spans. Consecutive tokens of one class form a span, and a class that begins with
 * "B-" starts a new one; "O" is not a tag. This is the aggregation strategy "simple" of the
 * package.
 *
 * @param[out] tags  the caller's, for gnn_tags_free; NULL after an error
 * @return GNN_OK; GNN_EUNSUPPORTED: the model has no tokenizer or no classes of tokens; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_tags(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                const gnn_texts_t *texts, gnn_tags_t **tags);
/** Frees tags; may be NULL. */
GNN_API void gnn_tags_free(gnn_tags_t *tags);

/* ---- masks ---- */

/** A token for a mask. */
typedef struct gnn_fill {
    int64_t text, mask; /**< index of the text, and of the mask in it */
    int32_t id;         /**< of the token */
    double score;       /**< its probability */
} gnn_fill_t;
/** The most probable tokens of each mask, mask by mask. Owned by the caller, read-only. */
typedef struct gnn_fills {
    int64_t count;
    const gnn_fill_t *at;
} gnn_fills_t;

/**
 * Fills the masks of texts ("[MASK]", "<mask>": a token of the folder's tokenizer).
 *
 * @param[in]  top    tokens per mask, at most the vocabulary
 * @param[out] fills  the caller's, for gnn_fills_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: a text has no mask, or `top` is below 1; GNN_EUNSUPPORTED: no
 *         tokenizer, no mask token, or no logits of tokens; else as gnn_model_forward
 */
GNN_API int gnn_pretrained_fill(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                const gnn_texts_t *texts, int64_t top, gnn_fills_t **fills);
/** Frees the tokens of masks; may be NULL. */
GNN_API void gnn_fills_free(gnn_fills_t *fills);

/* ---- answers ---- */

/** A span of a context that answers a question. */
typedef struct gnn_answer {
    int64_t pair;       /**< index of the question */
    int64_t begin, end; /**< byte offsets in the context */
    double score;       /**< the probability of its start times that of its end */
} gnn_answer_t;
/** The best answers of each question, best first. Owned by the caller, read-only. */
typedef struct gnn_answers {
    int64_t count;
    const gnn_answer_t *at;
} gnn_answers_t;

/**
 * Finds answers to questions in contexts. Start and end logits are normalised over the tokens of
 * the context (and the first token of the text, which means that there is no answer); the score of
 * an answer is the product, and it has at most `longest` tokens.
 * A context that does not fit into the model is read in windows, each of which repeats 128 tokens
 * of the previous one (or half of what the model takes) and is normalised by itself.
 *
 * @param[in]  questions  a text each
 * @param[in]  contexts   as many
 * @param[in]  top        maximum answers per question
 * @param[in]  longest    maximum tokens of an answer; 0: 15
 * @param[out] answers    the caller's, for gnn_answers_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: `top` is below 1, or a question leaves no room for its context;
 *         GNN_EUNSUPPORTED: the model has no tokenizer or no logits of answers; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_answer(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                  const gnn_texts_t *questions, const gnn_texts_t *contexts,
                                  int64_t top, int64_t longest, gnn_answers_t **answers);
/** Frees answers; may be NULL. */
GNN_API void gnn_answers_free(gnn_answers_t *answers);

/* ---- zero-shot classification ---- */

/** Settings of gnn_pretrained_zero_shot. Zero means the default in brackets. */
typedef struct gnn_zero_shot_config {
    const char *hypothesis; /**< a sentence with {} for the class ["This example is {}."] */
    gnn_flag_t independent; /**< GNN_ON: multi-label [off] */
} gnn_zero_shot_config_t;
/**
 * Zero-shot classification by a natural language inference model (one of its classes begins with
 * "entail"): the probability that the text entails the hypothesis of each class.
 *
 * @param[in]  classes  names of the classes
 * @param[in]  config   NULL: the defaults
 * @param[out] out      (texts x classes), caller's; overwritten: softmax over the classes, or if
 *                      they are independent, of entailment against contradiction per class
 * @return GNN_OK; GNN_EINVALID: the hypothesis has no {}; GNN_ESHAPE; else as
 *         gnn_pretrained_classify_pairs
 * Paper: Yin et al. 2019.
 */
GNN_API int gnn_pretrained_zero_shot(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                     const gnn_texts_t *texts, const gnn_texts_t *classes,
                                     const gnn_zero_shot_config_t *config, const gnn_tensor_t *out);

#ifdef __cplusplus
}
#endif
#endif
