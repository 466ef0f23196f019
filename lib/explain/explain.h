/* Inside of explanations: a way to explain is a row of explainers.def, which fills the importance of
 * edges and features from runs of a probe. */
#ifndef GNN_LIB_EXPLAIN_EXPLAIN_H
#define GNN_LIB_EXPLAIN_EXPLAIN_H

#include <lib/explain/probe.h>

/* One explanation while it is made. */
typedef struct gnn__explain {
    gnn_explain_config_t config; /* with every default filled in, .output from 1 */
    gnn__probe_t probe;
    gnn_explanation_t *found;
    gnn_real_t *edges;  /* (n_edges of the probe) importance, which a method fills */
    gnn_real_t *d_row;  /* (c) */
    gnn_tensor_t first; /* (1 x c) the logits on the whole input */
} gnn__explain_t;

typedef struct gnn__explainer {
    bool gradients; /* it runs backward */
    bool columns;   /* features have one importance a column */
    bool no_features;
    int (*run)(gnn__explain_t *e);
} gnn__explainer_t;

#define GNN_EXPLAINER(name, paper, help) extern const gnn__explainer_t gnn__explainer_##name;
#include <lib/explain/explainers.def>
#undef GNN_EXPLAINER

/* ---- target.c: what of a row is explained ---- */

/* The column that is explained, from 0, of the number k + 1 that a program wrote; 0: the model's own
 * choice. GNN_EINVALID. */
int gnn__target(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t wanted, int64_t *output);
/* p, of a regression the output. */
double gnn__target_probability(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output);
/* z: the logit of the class, with one column that of the class said. */
double gnn__target_logit(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output);
/* Its derivative (c). */
void gnn__target_logit_grad(int64_t cols, gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row);
/* Derivative (c) of -log p; of a regression of the squared difference from `first`. */
void gnn__target_loss_grad(const gnn_tensor_t *logits, const gnn_tensor_t *first,
                           gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row);
/* Does the model say this class, or (independent labels) what `first` says of this label? */
bool gnn__target_said(const gnn_tensor_t *logits, const gnn_tensor_t *first, gnn_loss_kind_t loss,
                      int64_t output);
/* KL(q, p) of the probabilities of two rows. */
double gnn__target_divergence(const gnn_tensor_t *q, const gnn_tensor_t *p, gnn_loss_kind_t loss,
                              int64_t output);

#endif
