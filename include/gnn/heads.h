/**
 * Results of the heads of published models: tags of the words of a text, words for a mask, answers
 * to a question, and classes without training, by a model that says whether one text follows from
 * another. Rules are those of the pipelines of the package transformers.
 *
 *    gnn_pretrained_tags(p, context, &(gnn_texts_t){1, &text, NULL}, &tags);
 *    for (int64_t k = 0; k < tags->count; k++)
 *        printf("%s %.*s\n", tags->at[k].label, (int)(tags->at[k].end - tags->at[k].begin),
 *               text + tags->at[k].begin);
 *
 * What is longer than the model takes is cut. Positions are bytes of the caller's text.
 */
#ifndef GNN_HEADS_H
#define GNN_HEADS_H

#include <gnn/pretrained.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/** A part of a text that has a tag: a name, a place, ... */
typedef struct gnn_tag {
    int64_t text;       /**< which one */
    int64_t begin, end; /**< its first byte, and the one after its last */
    const char *label;  /**< a class of the model without "B-" or "I-"; the model's */
    double score;       /**< the mean probability of its tokens' classes */
} gnn_tag_t;
/** Tags of some texts, in their order. Read-only for the caller, who owns them. */
typedef struct gnn_tags {
    int64_t count;
    const gnn_tag_t *at;
} gnn_tags_t;

/**
 * Tags the parts of texts. Tokens that follow on each other with one class are one part, and a
 * class that begins with "B-" begins another one; "O" is no tag. This is the aggregation strategy
 * "simple" of the package.
 *
 * @param[out] tags  the caller's, for gnn_tags_free; NULL after an error
 * @return GNN_OK; GNN_EUNSUPPORTED: the model has no tokenizer or no classes of tokens; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_tags(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                const gnn_texts_t *texts, gnn_tags_t **tags);
/** Releases tags; NULL is none. */
GNN_API void gnn_tags_free(gnn_tags_t *tags);

/* ---- masks ---- */

/** A token for a mask. */
typedef struct gnn_fill {
    int64_t text, mask; /**< which text, and which of its masks, from 0 */
    int32_t id;         /**< of the token */
    double score;       /**< its probability */
} gnn_fill_t;
/** The likeliest tokens of each mask, one mask after another. Read-only for the caller, who owns
 * them. */
typedef struct gnn_fills {
    int64_t count;
    const gnn_fill_t *at;
} gnn_fills_t;

/**
 * Fills the masks of texts ("[MASK]", "<mask>": a token of the folder's tokenizer).
 *
 * @param[in]  top    tokens for each mask, at most as many as there are
 * @param[out] fills  the caller's, for gnn_fills_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: a text has no mask, or `top` is below 1; GNN_EUNSUPPORTED: the
 *         model has no tokenizer, its tokenizer no mask, or the model no logits of words; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_fill(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                const gnn_texts_t *texts, int64_t top, gnn_fills_t **fills);
/** Releases what fills masks; NULL is none. */
GNN_API void gnn_fills_free(gnn_fills_t *fills);

/* ---- answers ---- */

/** A part of a context that answers a question. */
typedef struct gnn_answer {
    int64_t pair;       /**< which question */
    int64_t begin, end; /**< bytes of the context */
    double score;       /**< the probability that it begins there times that it ends there */
} gnn_answer_t;
/** The best answers of each question, the best first. Read-only for the caller, who owns them. */
typedef struct gnn_answers {
    int64_t count;
    const gnn_answer_t *at;
} gnn_answers_t;

/**
 * Finds answers to questions in contexts. Logits of the beginning become probabilities over the
 * tokens of the context (and the first token of the text, which stands for no answer), those of the
 * end too; an answer is worth the product, and has at most `longest` tokens.
 *
 * @param[in]  questions  a text each
 * @param[in]  contexts   as many
 * @param[in]  top        answers for each question, fewer where there are no more
 * @param[in]  longest    tokens of an answer; 0: 15
 * @param[out] answers    the caller's, for gnn_answers_free; NULL after an error
 * @return GNN_OK; GNN_EINVALID: `top` is below 1; GNN_EUNSUPPORTED: the model has no tokenizer or
 *         no logits of answers; else as gnn_model_forward
 */
GNN_API int gnn_pretrained_answer(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                  const gnn_texts_t *questions, const gnn_texts_t *contexts,
                                  int64_t top, int64_t longest, gnn_answers_t **answers);
/** Releases answers; NULL is none. */
GNN_API void gnn_answers_free(gnn_answers_t *answers);

/* ---- classes without training ---- */

/** How texts get classes that the model was not trained for. Zero means the default in brackets. */
typedef struct gnn_zero_shot_config {
    const char *hypothesis; /**< a sentence with {} for the class ["This example is {}."] */
    gnn_flag_t independent; /**< GNN_ON: a text may have several classes, or none [off] */
} gnn_zero_shot_config_t;
GNN_API int gnn_pretrained_zero_shot_sized(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                           const gnn_texts_t *texts, const gnn_texts_t *classes,
                                           const gnn_zero_shot_config_t *config,
                                           const gnn_tensor_t *out, size_t size);
/**
 * Probabilities of classes, by a model that says whether a sentence follows from a text (its class
 * begins with "entail"): the sentence says that the text is of the class.
 *
 * @param[in]  classes  their names
 * @param[in]  config   NULL: the defaults
 * @param[out] out      (texts x classes), caller's; overwritten: softmax over the classes, or where
 *                      they are independent that of "follows" against "contradicts" for each
 * @return GNN_OK; GNN_EINVALID: the sentence has no {}; GNN_ESHAPE; else as
 *         gnn_pretrained_classify_pairs
 * Paper: Yin et al. 2019.
 */
static inline int gnn_pretrained_zero_shot(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                           const gnn_texts_t *texts, const gnn_texts_t *classes,
                                           const gnn_zero_shot_config_t *config,
                                           const gnn_tensor_t *out)
{
    return gnn_pretrained_zero_shot_sized(pretrained, context, texts, classes, config, out,
                                          sizeof *config);
}

#ifdef __cplusplus
}
#endif
#endif
