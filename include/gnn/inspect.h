/**
 * Inspection of models: attention of every layer and head, its agreement with syntax, and the
 * importance of heads.
 *
 *    gnn_attention_of_text(&a, p, context, "The keys are lost.", NULL);
 *    gnn_html_attention(file, a, "The keys are lost");       one page, for any browser
 *    gnn_svg_attention_grid(file, a, NULL);                  layers by heads
 *
 *    gnn_treebank_read(&trees, "en_ewt-ud-test.conllu");
 *    gnn_attachment_new(&scores, p, context, trees, NULL);   syntax in each head
 *
 *    gnn_gates_new(&gates, context, model);
 *    gnn_gates_importance(gates, source, GNN_TRAIN, GNN_ON, importance);
 */
#ifndef GNN_INSPECT_H
#define GNN_INSPECT_H

#include <gnn/finetune.h>
#include <gnn/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention ---- */

/** Attention of all layers and heads on one sentence, one row of weights per receiver.
 * Read-only. */
typedef struct gnn_attention {
    int64_t layers, heads, words;
    const gnn_real_t *weights;      /**< (layers * heads * words x words): receiver, then sender */
    const char *const *names;       /**< (words) */
    const char *const *layer_names; /**< (layers) of the steps */
} gnn_attention_maps_t;

/** Settings of gnn_attention_of_text. Zero means the default in brackets. */
typedef struct gnn_attention_config {
    /** ON: subword tokens are merged into words: weights to a word are summed over its pieces,
     * weights from a word averaged, so that row sums are preserved. Clark et al. 2019, section 4.1
     * [on] */
    gnn_flag_t whole_words;
    /** ON: special tokens ([CLS], [SEP]) are included; OFF: they are removed, and rows add up to
     * less than 1 [on] */
    gnn_flag_t special;
} gnn_attention_config_t;

/**
 * Attention of every attention layer of a model, over one segment of its graph.
 *
 * @param[out] attention  the caller's, for gnn_attention_free
 * @param[in]  inputs     as gnn_model_forward's, of one sentence: the graph has one segment
 * @param[in]  names      (receivers) copied; NULL: "0", "1", ...
 * @return GNN_OK; GNN_EUNSUPPORTED: no attention layers; GNN_ESHAPE: the graph has several
 *         segments, or layers have different head counts; else as gnn_model_attention
 *
 * Cross-attention layers are skipped. Cost: per layer, a run of the model up to it; 4 layers heads
 * n^2 bytes.
 */
GNN_API int gnn_attention_of_model(gnn_attention_maps_t **attention, const gnn_model_t *model,
                                   gnn_context_t *context, const gnn_model_inputs_t *inputs,
                                   const char *const *names);
/**
 * gnn_attention_of_model for a text.
 *
 * @param[in] text a sentence, truncated to the model's maximum length
 * @param[in] config  NULL: all defaults
 * @return GNN_OK; GNN_EUNSUPPORTED: the folder has no tokenizer; GNN_EINVALID: there are no tokens;
 *         else as gnn_attention_of_model
 */
GNN_API int gnn_attention_of_text(gnn_attention_maps_t **attention,
                                  const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                  const char *text, const gnn_attention_config_t *config);
/** Frees attention maps; may be NULL. */
GNN_API void gnn_attention_free(gnn_attention_maps_t *attention);
/**
 * The weights of a head, or means over heads, layers or both.
 *
 * @param[in]  layer  -1: the mean over all
 * @param[in]  head   -1: the mean over all
 * @param[out] out    (words x words), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID: there is no such layer or head; GNN_ESHAPE
 */
GNN_API int gnn_attention_map(const gnn_attention_maps_t *attention, int64_t layer, int64_t head,
                              const gnn_tensor_t *out);
/**
 * Merges attention between subword tokens into attention between words: sums over the pieces of the
 * sender, means over those of the receiver.
 *
 * @param[in]  pieces  (pieces x pieces) receiver by sender
 * @param[in]  word    (pieces) the word of each piece; -1: dropped
 * @param[out] out     (words x words), caller's; overwritten; a word without pieces has zeros
 * @return GNN_OK; GNN_ESHAPE; GNN_EINVALID: there is no such word; GNN_EMEMORY
 *
 * O(pieces^2 + words^2). Paper: Clark et al. 2019, section 4.1.
 */
GNN_API int gnn_attention_of_words(const gnn_tensor_t *pieces, const int64_t *word,
                                   const gnn_tensor_t *out);

/* ---- pictures of it ---- */

/**
 * All heads as small heat maps: one row per layer, one column per head, all on one scale of 16
 * colours over the square roots of the weights, so that small weights stay visible.
 *
 * @param[in] file      open for writing; stays the caller's
 * @param[in] subtitle  NULL: the sentence
 * @return GNN_OK; GNN_EINVALID: a NULL, or more than 1,000,000 weights; GNN_EIO; GNN_EMEMORY
 */
GNN_API int gnn_svg_attention_grid(FILE *file, const gnn_attention_maps_t *attention,
                                   const char *subtitle);
/**
 * Writes a self-contained HTML page (data, style and script, no network access): select layers and
 * heads in the grid or by the arrow keys; hovering over a word shows its incoming and outgoing
 * weights. Words are escaped.
 *
 * @param[in] title  NULL: "Attention"
 * @return GNN_OK; GNN_EINVALID: a NULL, or more than 20,000,000 weights; GNN_EIO
 *
 * Weights are quantised to 1,296 steps, two bytes each.
 */
GNN_API int gnn_html_attention(FILE *file, const gnn_attention_maps_t *attention, const char *title);

/* ---- syntax ---- */

/** Zero means the default in brackets. */
typedef struct gnn_attachment_config {
    gnn_both_ways_t both; /**< combination of the two weights between a pair of words [sum] */
    int64_t limit;        /**< only the first `limit` sentences [all] */
} gnn_attachment_config_t;

/**
 * Agreement of each attention head with a treebank, as fractions. Punctuation is excluded; words
 * whose syntactic head is the root or punctuation do not count.
 *
 * `trees`: the fraction of words linked to their syntactic head in the maximum spanning tree of the
 * attention weights (undirected unlabelled attachment score). `most`: the fraction of words whose
 * syntactic head has the largest attention weight.
 *
 * Baselines: of the first `neighbours`, a chain that links adjacent words; of the second `left` and
 * `right`, the fractions of words whose syntactic head is the previous or the next word.
 */
typedef struct gnn_attachment {
    int64_t layers, heads;
    gnn_tensor_t trees, most; /**< (layers x heads) */
    double left, right, neighbours;
    /** that counted */ int64_t skipped; /**< sentences longer than the model's maximum */
    int64_t sentences, words;
} gnn_attachment_t;

/**
 * Compares an encoder's attention heads with a treebank. The treebank's words are joined by spaces
 * and tokenized; gnn_attention_of_words merges the tokens into words again.
 *
 * @param[out] attachment  the caller's, for gnn_attachment_free
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED: no tokenizer, or no attention layers;
 *         GNN_EMEMORY; else as gnn_model_attention
 *
 * The default is the sum, since attention in either direction is evidence of a link. Cost: per
 * layer, a run of the model up to it; O(n^2 log n) per sentence and head for the tree. Papers: Htut
 * et al. 2019; Clark et al. 2019; Raganato and Tiedemann 2018.
 */
GNN_API int gnn_attachment_new(gnn_attachment_t **attachment, const gnn_pretrained_t *pretrained,
                               gnn_context_t *context, const gnn_treebank_t *treebank,
                               const gnn_attachment_config_t *config);
/** Frees an attachment; may be NULL. */
GNN_API void gnn_attachment_free(gnn_attachment_t *attachment);

/* ---- importance of heads ---- */

/** A copy of a model in which the output of each attention head is multiplied by a gate. */
typedef struct gnn_gates gnn_gates_t;

/**
 * Copies a model and adds one gate per head to each attention layer.
 *
 * @param[out] gates    the caller's, for gnn_gates_free
 * @param[in]  context  its threads run the model; must outlive the gates
 * @param[in]  model    copied, with its current weights
 * @return GNN_OK; GNN_EUNSUPPORTED: no attention layers, or one has a gate already; GNN_EMEMORY
 *
 * Memory: that of the model.
 */
GNN_API int gnn_gates_new(gnn_gates_t **gates, gnn_context_t *context, const gnn_model_t *model);
/** Frees the gates and their copy of the model; may be NULL. */
GNN_API void gnn_gates_free(gnn_gates_t *gates);
/** Count of the heads of all layers. */
GNN_API int64_t gnn_gates_count(const gnn_gates_t *gates);
/**
 * Finds the model step of head `index`, and the index of the head in that step. GNN_EINVALID: there
 * is no such head.
 *
 * @param[out] step  index of the model step; may be NULL
 * @param[out] head  index of the head in it; may be NULL
 */
GNN_API int gnn_gates_place(const gnn_gates_t *gates, int64_t index, int64_t *step, int64_t *head);
/**
 * Importance of each head: the mean over sentences of |dL / dg| at g = 1, where g is the head's
 * gate.
 *
 * @param[in]  source      batches whose graphs are prepared for training; segments are sentences
 * @param[in]  part        GNN_TRAIN, ...
 * @param[in]  by_layer    divide the values of each layer by their L2 norm, as in the paper [on]
 * @param[out] importance  (gnn_gates_count), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ENUMERIC: a gradient is not finite; else as gnn_model_forward
 *
 * Cost: one forward and backward pass over the split. Paper: Michel et al. 2019, eq. 2.
 */
GNN_API int gnn_gates_importance(gnn_gates_t *gates, const gnn_source_t *source, int part,
                                 gnn_flag_t by_layer, double *importance);
/**
 * A metric of the model with some heads masked.
 *
 * @param[in]  part   GNN_TRAIN, GNN_VALIDATION or GNN_TEST
 * @param[in]  open   (gnn_gates_count) gates: 1 keeps a head, 0 masks it; NULL: all 1
 * @param[out] value  NaN if no row has a label
 * @return GNN_OK; GNN_EINVALID: a batch without labels; else as gnn_model_forward
 */
GNN_API int gnn_gates_metric(gnn_gates_t *gates, const gnn_source_t *source, int part,
                             gnn_metric_t metric, const gnn_real_t *open, double *value);

#ifdef __cplusplus
}
#endif
#endif
