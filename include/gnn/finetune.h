/**
 * Fine-tuning: a pretrained encoder gets new classes and is trained on texts with labels.
 *
 *    gnn_pretrained_open_classes(&p, context, "all-MiniLM-L6-v2",
 *                                &(gnn_classes_config_t){.count = 2, .names = names});
 *    gnn_text_source_new(&source, p, &train, &held_out, NULL);
 *    gnn_train_batches(gnn_pretrained_model(p), context, gnn_text_source(source), &how, NULL);
 *    gnn_pretrained_save(p, "my-classifier");
 *
 * gnn_pretrained_open reads that folder again, and gnn_pretrained_classify runs it. Rates by depth,
 * and layers that stay as they are, are groups of parameters (gnn_pretrained_groups); batches whose
 * gradients make one step, warm-up and AdamW are settings of gnn_train_config_t.
 */
#ifndef GNN_FINETUNE_H
#define GNN_FINETUNE_H

#include <gnn/pretrained.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** New classes on top of an encoder: the rows of a sentence become one, and that one a logit for
 * each class. Zero means the default in brackets. */
typedef struct gnn_classes_config {
    int64_t count;            /**< classes, at least 2 */
    const char *const *names; /**< (count) of the classes; NULL: "0", "1", ... */
    gnn_flag_t first;         /**< GNN_ON: the first row stands for the sentence [their mean] */
    gnn_real_t dropout;       /**< of that row, in training [0.1]; GNN_ZERO: none */
} gnn_classes_config_t;

GNN_API int gnn_pretrained_open_classes_sized(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                              const char *folder,
                                              const gnn_classes_config_t *classes, size_t size);
/**
 * gnn_pretrained_open, with new classes in place of the modules that follow the Transformer: the
 * step "classes", the model's last, whose weights begin at 0.
 *
 * @param[out] pretrained  the caller's, for gnn_pretrained_free; NULL after an error
 * @param[in]  context     used during the call
 * @param[in]  folder      of an encoder
 * @param[in]  classes     copied
 * @return as gnn_pretrained_open; GNN_EINVALID: fewer than two classes, a name that is missing, or
 *         a rate that is none
 */
static inline int gnn_pretrained_open_classes(gnn_pretrained_t **pretrained, gnn_context_t *context,
                                              const char *folder, const gnn_classes_config_t *classes)
{
    return gnn_pretrained_open_classes_sized(pretrained, context, folder, classes, sizeof *classes);
}

/**
 * Writes a model as a folder that gnn_pretrained_open reads: weights as they are now, in float32,
 * under the names and in the layout of the folder that the model was opened from (so that other
 * programs read the Transformer, too), new classes in the folder 1_classes; config.json, the
 * tokenizer's files and modules.json.
 *
 * @param[in] folder  made if it is not there; files of these names in it are replaced
 * @return GNN_OK; GNN_EIO: a file cannot be written, or the folder of the model is gone;
 *         GNN_EUNSUPPORTED: more than 4,096 arrays; GNN_EMEMORY
 */
GNN_API int gnn_pretrained_save(const gnn_pretrained_t *pretrained, const char *folder);

/**
 * Logits of texts: the step "classes", or that of a folder that was published with classes of
 * sentences, "logits".
 *
 * @param[in]  texts  a sentence each; what is longer than the model takes is cut
 * @param[out] out    (texts x classes), caller's; overwritten
 * @return GNN_OK; GNN_EUNSUPPORTED: the model has no tokenizer or no such step; GNN_ESHAPE; else as
 *         gnn_model_forward
 */
GNN_API int gnn_pretrained_classify(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                    const gnn_texts_t *texts, const gnn_tensor_t *out);
/**
 * Logits of pairs of texts, which the model reads one behind the other: does one follow from the
 * other, do they mean the same, does the second answer the first (cross-encoders, whose one logit
 * is the larger the better it does)?
 *
 * @param[in]  first   one text of each pair
 * @param[in]  second  the other one, as many; of what is longer than the model takes the longer
 *                     text is cut
 * @param[out] out     (pairs x classes), caller's; overwritten
 * @return as gnn_pretrained_classify
 */
GNN_API int gnn_pretrained_classify_pairs(const gnn_pretrained_t *pretrained,
                                          gnn_context_t *context, const gnn_texts_t *first,
                                          const gnn_texts_t *second, const gnn_tensor_t *out);

/**
 * Groups of parameters by depth, for gnn_optimizer_config_t: what stands before the first layer has
 * depth 0, layer k and what follows it depth k + 1, what follows the last layer is on top. Going
 * down from the top, every depth learns at `decay` times the rate of the one above.
 *
 * @param[in]  decay     0 < decay <= 1; 1: one rate
 * @param[in]  frozen    depths from 0 on that stay as they are: 0 none, 1 the embeddings, ...
 * @param[out] groups    the pretrained object's, until the next call or its release
 * @param[out] n_groups  how many
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. Paper: Howard and Ruder 2018 (discriminative rates).
 */
GNN_API int gnn_pretrained_groups(gnn_pretrained_t *pretrained, double decay, int64_t frozen,
                                  const gnn_parameter_group_t **groups, int64_t *n_groups);

/* ---- batches ---- */

/** Texts and their classes. */
typedef struct gnn_labelled_texts {
    gnn_texts_t texts;
    const int32_t *labels; /**< (texts.count) from 0; -1: the text has none */
} gnn_labelled_texts_t;

/** Zero means the default in brackets. */
typedef struct gnn_text_source_config {
    int64_t sentences;  /**< of a batch [32] */
    int64_t max_length; /**< tokens; what is longer is cut [the most that the model takes] */
    uint64_t seed;      /**< of the order of training texts, another in each epoch [1] */
} gnn_text_source_config_t;

/** Texts as batches for gnn_train_batches: sentences one after another, without padding. */
typedef struct gnn_text_source_s gnn_text_source_t;

GNN_API int gnn_text_source_new_sized(gnn_text_source_t **source, const gnn_pretrained_t *pretrained,
                                      const gnn_labelled_texts_t *train,
                                      const gnn_labelled_texts_t *validation,
                                      const gnn_text_source_config_t *config, size_t size);
/**
 * Makes a source of batches from texts with classes: tokens of all texts are made here, once;
 * graphs when a batch is asked for.
 *
 * @param[out] source      the caller's, for gnn_text_source_free
 * @param[in]  pretrained  borrowed until then
 * @param[in]  train       copied
 * @param[in]  validation  copied; NULL: there are none
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID: a text or a label is missing, or a label is no class of the model;
 *         GNN_EUNSUPPORTED: the model has no tokenizer; GNN_EMEMORY
 */
static inline int gnn_text_source_new(gnn_text_source_t **source, const gnn_pretrained_t *pretrained,
                                      const gnn_labelled_texts_t *train,
                                      const gnn_labelled_texts_t *validation,
                                      const gnn_text_source_config_t *config)
{
    return gnn_text_source_new_sized(source, pretrained, train, validation, config, sizeof *config);
}
/** The batches of a source, for gnn_train_batches; they live as long as the source. */
GNN_API const gnn_source_t *gnn_text_source(const gnn_text_source_t *source);
/** Frees a text source; NULL is fine. */
GNN_API void gnn_text_source_free(gnn_text_source_t *source);

#ifdef __cplusplus
}
#endif
#endif
