/* Explanations of many nodes: fidelity on test nodes, and on BA-Shapes, whose classes depend on
 * attached houses, the AUC of the houses' links. */
#include "explain.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TREE = 300, HOUSE = 5 }; /* nodes of BA-Shapes before the houses, and nodes per house */

static void add(gnn_fidelity_t *sum, const gnn_fidelity_t *f)
{
    sum->plus += f->plus;
    sum->minus += f->minus;
    sum->plus_probability += f->plus_probability;
    sum->minus_probability += f->minus_probability;
    sum->unfaithfulness += f->unfaithfulness;
    sum->sparsity += f->sparsity;
}

static void say(const options_t *o, const gnn_fidelity_t *sum, double n, double accuracy)
{
    const double figures[] = {n,
                              accuracy,
                              sum->plus / n,
                              sum->minus / n,
                              sum->plus_probability / n,
                              sum->minus_probability / n,
                              sum->unfaithfulness / n,
                              sum->sparsity / n};
    static const char *const names[] = {"nodes",
                                        "test_accuracy",
                                        "fidelity_plus",
                                        "fidelity_minus",
                                        "fidelity_plus_probability",
                                        "fidelity_minus_probability",
                                        "unfaithfulness",
                                        "sparsity"};
    for (size_t k = 0; o->json && k < sizeof figures / sizeof *figures; k++) {
        printf(k == 0 ? "{" : ", ");
        program_json_number(stdout, names[k], figures[k]);
    }
    if (o->json)
        printf("}\n");
    fprintf(
        o->say,
        "over %.0f test nodes: fidelity+ %.3f, fidelity- %.3f, by probability %.3f and %.3f, unfaithfulness %.3f, sparsity %.3f\n",
        n, figures[2], figures[3], figures[4], figures[5], figures[6], figures[7]);
}

int score_fidelity(const subject_t *s, const options_t *o)
{
    const uint8_t *test = gnn_data_mask(s->data, GNN_TEST, 0);
    const int soft = strcmp(o->method, gnn_explain_method_at(0)->name) == 0;
    gnn_fidelity_t sum = {0}, f;
    int64_t count = 0;
    for (int64_t i = 0; i < gnn_data_nodes(s->data) && count < o->fidelity; i++) {
        gnn_explanation_t *why;
        if (!test || !test[i])
            continue;
        GNN_TRY(subject_explain(s, o, i, NULL, &why));
        const int rc = gnn_explain_fidelity(
            s->model, s->context, &s->inputs, why,
            &(gnn_fidelity_config_t){.edges = soft ? 0 : o->top, .features = soft ? 0 : -1}, &f);
        gnn_explanation_free(why);
        GNN_TRY(rc);
        add(&sum, &f);
        count++;
    }
    say(o, &sum, (double)count, s->accuracy);
    return GNN_OK;
}

/* Of one node: are the links of its house the most important ones? A link has the sum of the
 * weights of its directions; edge k + m is the reverse of edge k. */
static double auc_of(const subject_t *s, const gnn_explanation_t *why)
{
    const gnn_tensor_t *motif = gnn_data_rows(s->data, GNN_ON_EDGES, "motif");
    const int64_t n = why->n_edges, m = why->edges.rows / 2;
    gnn_real_t *scores = calloc((size_t)n + 1, sizeof *scores);
    int32_t *labels = calloc((size_t)n + 1, sizeof *labels);
    for (int64_t k = 0; scores && labels && k < n; k++) {
        const int64_t e = why->edge_numbers[k];
        scores[k] = why->edges.data[e] + why->edges.data[e < m ? e + m : e - m];
        labels[k] = motif->data[e] > 0 && (s->src[e] - TREE) / HOUSE == (why->row - TREE) / HOUSE;
    }
    const gnn_tensor_t logits = gnn_tensor(scores, n, 1);
    const double auc = scores && labels ? gnn_metric(GNN_METRIC_ROC_AUC, &logits, labels, NULL) : NAN;
    free(scores);
    free(labels);
    return auc;
}

int score_houses(const subject_t *s, const options_t *o)
{
    double sum = 0, n = 0;
    if (!gnn_data_rows(s->data, GNN_ON_EDGES, "motif")) {
        fprintf(stderr, "explain: --houses is for --data shapes\n");
        return PROGRAM_REFUSED;
    }
    for (int64_t i = TREE; i < gnn_data_nodes(s->data); i++, n++) {
        gnn_explanation_t *why;
        GNN_TRY(subject_explain(s, o, i, NULL, &why));
        sum += auc_of(s, why);
        gnn_explanation_free(why);
    }
    if (o->json) {
        printf("{");
        program_json_number(stdout, "nodes", n);
        printf(", ");
        program_json_number(stdout, "auc", sum / n);
        printf(", ");
        program_json_number(stdout, "test_accuracy", s->accuracy);
        printf("}\n");
    }
    fprintf(o->say, "links of a node's own house, over %.0f nodes of houses: AUC %.4f\n", n, sum / n);
    return GNN_OK;
}
