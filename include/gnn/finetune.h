/**
 * Fine-tuning: a pretrained encoder with a new classification head, trained on labelled texts.
 *
 *    gnn_pretrained_open_classes(&p, context, "all-MiniLM-L6-v2",
 *                                &(gnn_classes_config_t){.count = 2, .names = names});
 *    gnn_source_of_texts(&source, p, &train, &held_out, NULL);
 *    gnn_train_batches(gnn_pretrained_model(p), context, source, &how, NULL);
 *    gnn_pretrained_save(p, "my-classifier");
 *
 * gnn_pretrained_open reads that folder again, and gnn_pretrained_classify runs it. Layer-wise
 * learning rates and frozen layers are groups of parameters (gnn_pretrained_groups); gradient
 * accumulation, warm-up and AdamW are settings of gnn_train_config_t.
 */
#ifndef GNN_FINETUNE_H
#define GNN_FINETUNE_H

#include <gnn/pretrained.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A classification head: the rows of a sentence are pooled to one, and a linear map makes one
 * logit per class. Zero means the default in brackets. */
typedef struct gnn_classes_config {
    int64_t count;            /**< count of the classes, at least 2 */
    const char *const *names; /**< (count) of the classes; NULL: "0", "1", ... */
    gnn_flag_t first;         /**< GNN_ON: the first row is the sentence's vector [off: the mean] */
    gnn_real_t dropout;       /**< of that vector, in training [0.1]; GNN_ZERO: none */
    /** depths, from the embeddings on, whose bf16 and fp16 weights stay in 16 bits [0]. They must
     * be frozen (gnn_pretrained_groups): training them returns GNN_EUNSUPPORTED */
    int64_t frozen_16_bits;
} gnn_classes_config_t;

/**
 * gnn_pretrained_open with a new classification head in place of the modules that follow the
 * Transformer: the last step, named "classes", whose weights are initialised to 0.
 *
 * @param[out] pretrained  the caller's, for gnn_pretrained_free; NULL after an error
 * @param[in]  context     used during the call
 * @param[in]  folder      of an encoder
 * @param[in]  classes     copied
 * @return as gnn_pretrained_open; GNN_EINVALID: fewer than two classes, a NULL among the names, an
 *         invalid dropout rate, or a negative count of depths
 */
GNN_API int gnn_pretrained_open_classes(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                        const char *folder, const gnn_classes_config_t *classes);

/**
 * Writes a model as a folder that gnn_pretrained_open reads, with names and layout of the folder it
 * was opened from, so that other programs can read the Transformer. Weights are fp32; those kept as
 * fp16 or bf16 are written as they are. A new classification head is in the subfolder 1_classes.
 * Also written: config.json, generation_config.json, the tokenizer's files, modules.json.
 *
 * @param[in] folder  created if missing; existing files of these names are replaced
 * @return GNN_OK; GNN_EIO: a file cannot be written, or the folder of the model no longer exists;
 *         GNN_EUNSUPPORTED: more than 4,096 arrays; GNN_EMEMORY
 */
GNN_API int gnn_pretrained_save(const gnn_pretrained_t *pretrained, const char *folder);

/**
 * Logits of texts: the step "classes", or the step "logits" of a published sentence classifier.
 *
 * @param[in] texts truncated to the model's maximum length
 * @param[out] out    (texts x classes), caller's; overwritten
 * @return GNN_OK; GNN_EUNSUPPORTED: the model has no tokenizer or no such step; GNN_ESHAPE; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_classify(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                    const gnn_texts_t *texts, const gnn_tensor_t *out);
/**
 * Logits of pairs of texts, which the model reads as one sequence: inference, paraphrase, relevance
 * (cross-encoders have one logit, larger for more relevant pairs).
 *
 * @param[in]  first   one text of each pair
 * @param[in]  second  the second text of each pair; if a pair exceeds the model's maximum length,
 *                     the longer text is truncated
 * @param[out] out     (pairs x classes), caller's; overwritten
 * @return as gnn_pretrained_classify
 */
GNN_API int gnn_pretrained_classify_pairs(const gnn_pretrained_t *pretrained,
                                          gnn_context_t *context, const gnn_texts_t *first,
                                          const gnn_texts_t *second, const gnn_tensor_t *out);

/**
 * Groups of parameters by depth, for gnn_optimizer_config_t: steps before the first layer have
 * depth 0, layer k depth k + 1, steps after the last layer the greatest depth. From there down,
 * each depth has `decay` times the learning rate of the next. Of frozen depths training computes no
 * gradients, until the next call.
 *
 * @param[in]  decay     0 < decay <= 1; 1: one rate
 * @param[in]  frozen    count of frozen depths: 0 none, 1 the embeddings, ...
 * @param[out] groups    owned by the pretrained object, until the next call
 * @param[out] n_groups  their count
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. Paper: Howard and Ruder 2018 (discriminative rates).
 */
GNN_API int gnn_pretrained_groups(gnn_pretrained_t *pretrained, double decay, int64_t frozen,
                                  const gnn_parameter_group_t **groups, int64_t *n_groups);

/* ---- batches ---- */

/** Texts and their classes. */
typedef struct gnn_labelled_texts {
    gnn_texts_t texts;
    const int32_t *labels; /**< (texts.count) class ids; -1: none */
} gnn_labelled_texts_t;

/** Zero means the default in brackets. */
typedef struct gnn_text_source_config {
    int64_t sentences;  /**< of a batch [32] */
    int64_t max_length; /**< tokens; longer texts are truncated [the model's maximum] */
    uint64_t seed;      /**< of the order of training texts, shuffled in each epoch [1] */
} gnn_text_source_config_t;

/**
 * Makes a source of batches from labelled texts, concatenated, without padding. All texts are
 * tokenized here, once; graphs are made per batch.
 *
 * @param[out] source      the caller's, for gnn_source_free; NULL after an error
 * @param[in]  pretrained  borrowed until then
 * @param[in]  train       copied
 * @param[in]  validation  copied; may be NULL
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID: a text or a label is missing, or a label is out of range;
 *         GNN_EUNSUPPORTED: the model has no tokenizer; GNN_EMEMORY
 */
GNN_API int gnn_source_of_texts(gnn_source_t **source, const gnn_pretrained_t *pretrained,
                                const gnn_labelled_texts_t *train,
                                const gnn_labelled_texts_t *validation,
                                const gnn_text_source_config_t *config);

#ifdef __cplusplus
}
#endif
#endif
