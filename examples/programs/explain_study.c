/* The explanation of one node, and the loss of probability without its parts. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const item_t *x = a, *y = b;
    const double p = fabs(x->importance), q = fabs(y->importance);
    return p != q ? (p < q ? 1 : -1) : (x->edge > y->edge) - (x->edge < y->edge);
}

/* Incoming links by importance; `direct`: those of the node itself. */
static int64_t take_edges(const study_t *st, const subject_t *s, item_t *items, int direct)
{
    int64_t n = 0;
    for (int64_t k = 0; k < st->why->n_edges; k++) {
        const int64_t e = st->why->edge_numbers[k];
        if (direct ? s->dst[e] != st->why->row : st->why->edges.data[e] == 0)
            continue;
        items[n++] = (item_t){e, -1, (double)st->why->edges.data[e], (double)st->lost->edges.data[e],
                              st->attention ? (double)st->attention->edges.data[e] : NAN};
    }
    qsort(items, (size_t)n, sizeof *items, compare);
    return n;
}

/* The importance of a column is its maximum over nodes. */
static int64_t take_columns(const study_t *st, item_t *items)
{
    const gnn_tensor_t *f = &st->why->features;
    int64_t n = 0;
    for (int64_t c = 0; c < f->cols; c++) {
        double most = 0;
        for (int64_t r = 0; r < f->rows; r++)
            most = fabs((double)f->data[r * f->cols + c]) > fabs(most)
                       ? (double)f->data[r * f->cols + c]
                       : most;
        if (most != 0)
            items[n++] = (item_t){-1, c, most, (double)st->lost->features.data[c], NAN};
    }
    qsort(items, (size_t)n, sizeof *items, compare);
    return n;
}

/* GNNExplainer's importance is a mask; for other methods the most important links are kept. */
static int measure(study_t *st, const subject_t *s, const options_t *o)
{
    const int soft = st->why->method == gnn_explain_method_at(0)->name;
    const gnn_fidelity_config_t how = {.edges = soft ? 0 : o->top, .features = soft ? 0 : -1};
    return gnn_explain_fidelity(s->model, s->context, &s->inputs, st->why, &how, &st->fidelity);
}

int study_node(study_t *st, const subject_t *s, const options_t *o)
{
    GNN_TRY(subject_explain(s, o, o->node, NULL, &st->why));
    GNN_TRY(subject_explain(s, o, o->node, "occlusion", &st->lost));
    if (subject_explain(s, o, o->node, "attention", &st->attention) != GNN_OK)
        st->attention = NULL;
    const size_t m = (size_t)st->why->n_edges + 1, d = (size_t)st->why->features.cols + 1;
    st->heard = calloc(m, sizeof *st->heard);
    st->edges = calloc(m, sizeof *st->edges);
    st->columns = calloc(d, sizeof *st->columns);
    if (!st->heard || !st->edges || !st->columns)
        return GNN_EMEMORY;
    st->n_heard = take_edges(st, s, st->heard, 1);
    st->n_edges = take_edges(st, s, st->edges, 0);
    st->n_columns = take_columns(st, st->columns);
    return measure(st, s, o);
}

void explain_study_free(study_t *st)
{
    gnn_explanation_free(st->why);
    gnn_explanation_free(st->lost);
    gnn_explanation_free(st->attention);
    free(st->heard);
    free(st->edges);
    free(st->columns);
}
