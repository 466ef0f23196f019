/* Scores of pairs, and link-prediction metrics (AUC, average precision, MRR, Hits@k). */
#include <lib/train/links.h>

static int check_pairs(const gnn__link_source_t *b, const gnn_node_pairs_t *pairs)
{
    const int64_t n = b->set.nodes;
    if (pairs->count < 0 || (pairs->count > 0 && (!pairs->src || !pairs->dst)))
        return gnn__error(
            GNN_EINVALID,
            "pairs: .count = %lld, expected at least 0, with .src and .dst where it is not 0",
            (long long)pairs->count);
    for (int64_t k = 0; k < pairs->count; k++)
        if (pairs->src[k] < 0 || pairs->src[k] >= n || pairs->dst[k] < 0 || pairs->dst[k] >= n)
            return gnn__error(GNN_EINVALID, "pair %lld has the nodes %d and %d, expected 0 to %lld",
                              (long long)k, pairs->src[k], pairs->dst[k], (long long)n - 1);
    return GNN_OK;
}

static int predict(gnn__link_source_t *b, const gnn_model_t *model, gnn_context_t *context,
                   const gnn_node_pairs_t *pairs, const gnn_tensor_t *out)
{
    gnn_model_inputs_t inputs;
    GNN_TRY(check_pairs(b, pairs));
    if (b->n_values > b->n_whole)
        for (int64_t k = 0; k < gnn_model_input_count(model); k++)
            if (strncmp(gnn_model_input_name(model, k), "pairs.", 6) == 0)
                return gnn__error(
                    GNN_EUNSUPPORTED,
                    "the model reads \"%s\", rows of edges; pairs that the caller gives have none",
                    gnn_model_input_name(model, k));
    GNN_TRY(gnn__link_inputs(b, pairs, &inputs));
    inputs.n_values = b->n_whole;
    return gnn_model_forward(model, context, &inputs, out);
}

int(gnn_source_predict_pairs)(const gnn_source_t *source, const gnn_model_t *model,
                              gnn_context_t *context, int64_t count, gnn_ints_t src, gnn_ints_t dst,
                              const gnn_tensor_t *out)
{
    GNN__NEED(source);
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED_INTS(src, count);
    GNN__NEED_INTS(dst, count);
    GNN__NEED(out);
    int rc;
    int32_t *made[2] = {NULL, NULL};
    gnn_node_pairs_t pairs = {.count = count};
    GNN_TRY(gnn__source_is(source, &gnn__source_of_pairs));
    GNN_CHECK(gnn__ints_32("src", src, count, &pairs.src, &made[0]));
    GNN_CHECK(gnn__ints_32("dst", dst, count, &pairs.dst, &made[1]));
    rc = predict((gnn__link_source_t *)source->state, model, context, &pairs, out);
done:
    gnn_free(made[0]);
    gnn_free(made[1]);
    return rc;
}

/* ---- measuring ---- */

enum { TARGETS = 100 };

/* Scores of a part's links, of as many negative pairs, and of negative targets of each source,
 * stacked. */
typedef struct {
    gnn__pair_list_t pairs;
    gnn_real_t *scores;
    int32_t *labels;
    int64_t links;
} trial_t;

static int list_pairs(trial_t *t, const gnn__link_source_t *b, int part)
{
    const gnn__pair_list_t *of = &b->links->of[part], *without = &b->links->without[part];
    const int64_t n = t->links = of->count;
    int64_t all;
    if (!gnn__mul(n, 2 + TARGETS, &all))
        return gnn__error(GNN_EOVERFLOW, "pairs of %lld links do not fit", (long long)n);
    GNN_TRY(gnn__pair_list_new(&t->pairs, all));
    GNN_TRY(gnn__new(&t->scores, all, sizeof *t->scores, "scores"));
    GNN_TRY(gnn__new(&t->labels, 2 * n, sizeof *t->labels, "labels"));
    for (int64_t k = 0; k < n; k++) {
        t->labels[k] = 1;
        t->pairs.src[k] = of->src[k];
        t->pairs.dst[k] = of->dst[k];
        t->pairs.src[n + k] = without->src[k];
        t->pairs.dst[n + k] = without->dst[k];
        for (int64_t e = 0; e < TARGETS; e++)
            t->pairs.src[2 * n + k * TARGETS + e] = of->src[k];
    }
    GNN_TRY(gnn_negatives_of_sources(b->links->all, NULL, b->links->seed, (uint64_t)part << 48, n,
                                     of->src, TARGETS, t->pairs.dst + 2 * n));
    for (int64_t k = 2 * n; k < all; k++) /* a source that is linked to all nodes: itself */
        if (t->pairs.dst[k] < 0)
            t->pairs.dst[k] = t->pairs.src[k];
    return GNN_OK;
}

static void fill(gnn_link_metrics_t *m, const trial_t *t)
{
    const int64_t n = t->links;
    const gnn_tensor_t both = gnn_tensor(t->scores, 2 * n, 1), links = gnn_tensor(t->scores, n, 1),
                       others = gnn_tensor(t->scores + n, n, 1),
                       targets = gnn_tensor(t->scores + 2 * n, n, TARGETS);
    *m = (gnn_link_metrics_t){.auc = gnn_metric(GNN_METRIC_ROC_AUC, &both, t->labels, NULL),
                              .average_precision =
                                  gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &both, t->labels, NULL),
                              .mrr = gnn_metric_mrr(&links, &targets),
                              .hits_10 = gnn_metric_hits(&links, &others, 10),
                              .hits_50 = gnn_metric_hits(&links, &others, 50),
                              .hits_100 = gnn_metric_hits(&links, &others, 100)};
}

static int check_part(const gnn__link_source_t *b, const gnn_model_t *model, int part)
{
    const int64_t width = gnn_model_width(model, gnn_model_step_count(model) - 1);
    if (!b->links)
        return gnn__error(GNN_EINVALID,
                          "the source has links with classes, expected one of links to predict");
    if (part != GNN_VALIDATION && part != GNN_TEST)
        return gnn__error(GNN_EINVALID, "part = %d, expected GNN_VALIDATION (%d) or GNN_TEST (%d)",
                          part, GNN_VALIDATION, GNN_TEST);
    if (b->links->of[part].count == 0)
        return gnn__error(GNN_EINVALID, "part %d has no links", part);
    if (width > 1)
        return gnn__error(GNN_ESHAPE,
                          "the model puts out %lld columns, expected 1: one score per pair",
                          (long long)width);
    return GNN_OK;
}

int gnn_source_measure_links(const gnn_source_t *source, const gnn_model_t *model,
                             gnn_context_t *context, int part, gnn_link_metrics_t *metrics)
{
    GNN__NEED(source);
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(metrics);
    GNN_TRY(gnn__source_is(source, &gnn__source_of_pairs));
    gnn__link_source_t *b = (gnn__link_source_t *)source->state;
    trial_t t = {.links = 0};
    int rc;
    GNN_TRY(check_part(b, model, part));
    GNN_CHECK(list_pairs(&t, b, part));
    const gnn_tensor_t out = gnn_tensor(t.scores, t.pairs.count, 1);
    const gnn_node_pairs_t pairs = {t.pairs.count, t.pairs.src, t.pairs.dst};
    GNN_CHECK(predict(b, model, context, &pairs, &out));
    fill(metrics, &t);
done:
    gnn__pair_list_free(&t.pairs);
    gnn_free(t.scores);
    gnn_free(t.labels);
    return rc;
}
