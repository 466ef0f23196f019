/**
 * Looking inside of a model: who attends to whom in every layer and head, which of it is syntax,
 * and which heads are needed.
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

/** Attention of all layers and heads on one sentence, a row of weights for each receiver.
 * Read-only for the caller. */
typedef struct gnn_attention {
    int64_t layers, heads, words;
    const gnn_real_t *weights;      /**< (layers * heads * words x words): receiver, then sender */
    const char *const *names;       /**< (words) */
    const char *const *layer_names; /**< (layers) of the steps */
} gnn_attention_maps_t;

/** Zero means the default in brackets. */
typedef struct gnn_attention_config {
    /** ON: a word that the tokenizer cut becomes one again. What a word receives from it is the sum
     * over its pieces, what it sends out the mean over theirs, so that each row still adds up to
     * what it did: Clark et al. 2019, section 4.1 [on] */
    gnn_flag_t whole_words;
    /** ON: what the tokenizer adds ([CLS], [SEP]) is shown, too; OFF: it is left out, and rows add
     * up to less than 1 [on] */
    gnn_flag_t special;
} gnn_attention_config_t;

/**
 * Attention of every layer of a model that attends, on the receivers of one segment of its graph.
 *
 * @param[out] attention  the caller's, for gnn_attention_free
 * @param[in]  inputs     as gnn_model_forward's, of one sentence: the graph has one segment
 * @param[in]  names      (receivers) copied; NULL: "0", "1", ...
 * @return GNN_OK; GNN_EUNSUPPORTED: no layer attends; GNN_ESHAPE: the graph has several segments,
 *         or layers differ in heads; else as gnn_model_attention
 *
 * Layers that attend to something else than their own rows (of a decoder to its encoder) are left
 * out. Cost: for each layer a run of the model up to it; 4 layers heads n^2 bytes.
 */
GNN_API int gnn_attention_of_model(gnn_attention_maps_t **attention, const gnn_model_t *model,
                                   gnn_context_t *context, const gnn_model_inputs_t *inputs,
                                   const char *const *names);
GNN_API int gnn_attention_of_text_sized(gnn_attention_maps_t **attention,
                                        const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                        const char *text, const gnn_attention_config_t *config,
                                        size_t size);
/**
 * gnn_attention_of_model for a text.
 *
 * @param[in] text    a sentence; what is longer than the model takes is cut
 * @param[in] config  NULL: all defaults
 * @return GNN_OK; GNN_EUNSUPPORTED: the folder has no tokenizer; GNN_EINVALID: there are no words;
 *         else as gnn_attention_of_model
 */
static inline int gnn_attention_of_text(gnn_attention_maps_t **attention,
                                        const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                        const char *text, const gnn_attention_config_t *config)
{
    return gnn_attention_of_text_sized(attention, pretrained, context, text, config, sizeof *config);
}
/** Frees attention maps; NULL is fine. */
GNN_API void gnn_attention_free(gnn_attention_maps_t *attention);
/**
 * The weights of a head, of a layer's mean, or of the mean over everything.
 *
 * @param[in]  layer  -1: the mean over all
 * @param[in]  head   -1: the mean over all
 * @param[out] out    (words x words), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID: there is no such layer or head; GNN_ESHAPE
 */
GNN_API int gnn_attention_map(const gnn_attention_maps_t *attention, int64_t layer, int64_t head,
                              const gnn_tensor_t *out);
/**
 * Attention between words from that between pieces of words: what is received from a word is the
 * sum over its pieces, what it sends the mean over them.
 *
 * @param[in]  pieces  (pieces x pieces) receiver by sender
 * @param[in]  word    (pieces) the word that each piece is part of; -1: it is left out
 * @param[out] out     (words x words), caller's; overwritten; a word without pieces has zeros
 * @return GNN_OK; GNN_ESHAPE; GNN_EINVALID: there is no such word; GNN_EMEMORY
 *
 * O(pieces^2 + words^2). Paper: Clark et al. 2019, section 4.1.
 */
GNN_API int gnn_attention_of_words(const gnn_tensor_t *pieces, const int64_t *word,
                                   const gnn_tensor_t *out);

/* ---- pictures of it ---- */

/**
 * All heads as small heat maps: a row for each layer, a column for each head, all on one scale of
 * 16 colours from 0 to 1, in steps of the root, so that small weights are seen.
 *
 * @param[in] file      open for writing; stays the caller's
 * @param[in] subtitle  NULL: the words
 * @return GNN_OK; GNN_EINVALID: a NULL, or more than 1,000,000 weights; GNN_EIO; GNN_EMEMORY
 */
GNN_API int gnn_svg_attention_grid(FILE *file, const gnn_attention_maps_t *attention,
                                   const char *subtitle);
/**
 * One page of HTML that holds its data, its style and its script, for any browser and without a
 * network: pick layers and heads in the grid or by the arrow keys, and hover over words to see whom
 * they hear and who hears them. Words are escaped, whatever they are.
 *
 * @param[in] title  NULL: "Attention"
 * @return GNN_OK; GNN_EINVALID: a NULL, or more than 20,000,000 weights; GNN_EIO
 *
 * Two bytes a weight are written, which is 1,296 steps.
 */
GNN_API int gnn_html_attention(FILE *file, const gnn_attention_maps_t *attention, const char *title);

/* ---- syntax ---- */

/** Zero means the default in brackets. */
typedef struct gnn_attachment_config {
    gnn_both_ways_t both; /**< what two words' attention to each other adds up to [sum] */
    int64_t limit;        /**< so many sentences, the first ones [all] */
} gnn_attachment_config_t;

/**
 * How much of a treebank's syntax is in each head, in shares of 1. Punctuation is left out, of the
 * sentences and of the trees; words whose head is the root or a mark do not count.
 *
 * `trees`: share of words that the head's tree joins with their head: the spanning tree of the
 * largest attention, directions left aside (undirected, unlabelled attachment). `most`: share of
 * words whose head is the word that they attend to most.
 *
 * A tree that joins each word with its neighbour is the baseline of the first; `left` and `right`,
 * the shares of words whose head is the neighbour on that side, are those of the second, and add up
 * to it.
 */
typedef struct gnn_attachment {
    int64_t layers, heads;
    gnn_tensor_t trees, most; /**< (layers x heads) */
    double left, right, neighbours;
    int64_t sentences, words; /**< that counted */
    int64_t skipped;          /**< sentences that are longer than the model takes */
} gnn_attachment_t;

GNN_API int gnn_attachment_new_sized(gnn_attachment_t **attachment,
                                     const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                     const gnn_treebank_t *treebank,
                                     const gnn_attachment_config_t *config, size_t size);
/**
 * Measures an encoder's heads against a treebank. Words are given to the tokenizer as the treebank
 * parts them, with a blank in between; pieces become words by gnn_attention_of_words.
 *
 * @param[out] attachment  the caller's, for gnn_attachment_free
 * @param[in]  config      NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED: no tokenizer, or no layer attends; GNN_EMEMORY;
 *         else as gnn_model_attention
 *
 * The sum is the default: a word may attend to its head, or the head to it, and either is evidence.
 * Cost: for each layer a run of the model up to it, and O(n^2 log n) for the tree of each sentence
 * and head. Papers: Htut et al. 2019; Clark et al. 2019; Raganato and Tiedemann 2018.
 */
static inline int gnn_attachment_new(gnn_attachment_t **attachment,
                                     const gnn_pretrained_t *pretrained, gnn_context_t *context,
                                     const gnn_treebank_t *treebank,
                                     const gnn_attachment_config_t *config)
{
    return gnn_attachment_new_sized(attachment, pretrained, context, treebank, config,
                                    sizeof *config);
}
/** Frees an attachment; NULL is fine. */
GNN_API void gnn_attachment_free(gnn_attachment_t *attachment);

/* ---- heads that are needed ---- */

/** A copy of a model whose heads can be closed: what a head puts out is multiplied by a gate. */
typedef struct gnn_gates gnn_gates_t;

/**
 * Copies a model and gives each layer that attends a gate for each head.
 *
 * @param[out] gates    the caller's, for gnn_gates_free
 * @param[in]  context  its threads run the model; must outlive the heads
 * @param[in]  model    copied, with its numbers as they are now
 * @return GNN_OK; GNN_EUNSUPPORTED: no layer attends, or one has a gate already; GNN_EMEMORY
 *
 * Memory: that of the model.
 */
GNN_API int gnn_gates_new(gnn_gates_t **gates, gnn_context_t *context, const gnn_model_t *model);
/** Releases the copy; NULL is none. */
GNN_API void gnn_gates_free(gnn_gates_t *gates);
/** Heads of all layers. */
GNN_API int64_t gnn_gates_count(const gnn_gates_t *gates);
/** The step of the model that head `index` is part of, and its number there; either may be NULL.
 * GNN_EINVALID: there is no such head. */
GNN_API int gnn_gates_place(const gnn_gates_t *gates, int64_t index, int64_t *step, int64_t *head);
/**
 * How much the loss depends on each head: the mean over sentences of |dL / dg|, where g is the
 * head's gate, at 1.
 *
 * @param[in]  source      batches whose graphs are prepared for training; a graph's segments are
 *                         the sentences
 * @param[in]  part        GNN_TRAIN, ...
 * @param[in]  by_layer    each layer's numbers are divided by their length, as in the paper [on]
 * @param[out] importance  (gnn_gates_count), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ENUMERIC: a gradient is not finite; else as gnn_model_forward
 *
 * Cost: a forward and a backward pass over the part. Paper: Michel et al. 2019, eq. 2.
 */
GNN_API int gnn_gates_importance(gnn_gates_t *gates, const gnn_source_t *source, int part,
                                 gnn_flag_t by_layer, double *importance);
/**
 * A metric of the model with some heads closed.
 *
 * @param[in]  open   (gnn_gates_count) gates: 1 open, 0 closed; NULL: all are open
 * @param[out] value  NaN if no row has a label
 * @return GNN_OK; GNN_EINVALID: a batch without labels; else as gnn_model_forward
 */
GNN_API int gnn_gates_metric(gnn_gates_t *gates, const gnn_source_t *source, int part,
                             gnn_metric_t metric, const gnn_real_t *open, double *value);

#ifdef __cplusplus
}
#endif
#endif
