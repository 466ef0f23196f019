/* Internals of explanations. A method is an entry of explainers.def, which computes the importance
 * of edges and features from runs of a probe. */
#ifndef GNN_LIB_EXPLAIN_EXPLAIN_H
#define GNN_LIB_EXPLAIN_EXPLAIN_H

#include <lib/explain/probe.h>

/* One explanation in progress. */
typedef struct gnn__explaining {
    gnn_explain_config_t config; /* defaults filled in */
    gnn__probe_t probe;
    gnn_explanation_t *found; /* what is returned */
    gnn_real_t *edges;        /* (n_edges of the probe): importance, written by the method */
    gnn_real_t *d_row;        /* (c): scratch for a gradient of the logits */
    gnn_tensor_t first;       /* (1 x c): logits on the unmasked input */
} gnn__explaining_t;

typedef struct gnn__explainer {
    bool gradients;   /* runs backward */
    bool columns;     /* features have one importance per column */
    bool no_features; /* edges only */
    bool masks;       /* learns masks: reads their settings */
    bool path;        /* reads the count of steps */
    int (*run)(gnn__explaining_t *e);
} gnn__explainer_t;

#define GNN_EXPLAINER(name, paper, help) extern const gnn__explainer_t gnn__explainer_##name;
#include <lib/explain/explainers.def>
#undef GNN_EXPLAINER

/* ---- target.c: the output that is explained ---- */

/* The explained column, from 0, for the config's output (k + 1; 0: the predicted class).
 * GNN_EINVALID. */
int gnn__target(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t wanted, int64_t *output);
/* Probability of the class; for regression the output itself. */
double gnn__target_probability(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output);
/* Logit of the class; with one column, class 0 has its negative. */
double gnn__target_logit(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output);
/* Derivative of gnn__target_logit by the row's logits (c). */
void gnn__target_logit_grad(int64_t cols, gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row);
/* Derivative (c) of -log p; for regression of the squared difference from `first`. */
void gnn__target_loss_grad(const gnn_tensor_t *logits, const gnn_tensor_t *first,
                           gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row);
/* True if the model predicts this class, or, for independent labels, the same as in `first` for
 * this label. */
bool gnn__target_predicted(const gnn_tensor_t *logits, const gnn_tensor_t *first,
                           gnn_loss_kind_t loss, int64_t output);
/* KL(q, p) of the probabilities of two rows of logits. */
double gnn__target_divergence(const gnn_tensor_t *q, const gnn_tensor_t *p, gnn_loss_kind_t loss,
                              int64_t output);

#endif
