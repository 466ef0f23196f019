/* The explanation of one node, as text and JSON. */
#include "explain.h"
#include "program.h"

#include <math.h>

static int64_t shown(const options_t *o, int64_t n)
{
    return n < o->top ? n : o->top;
}

static void link_words(FILE *file, const subject_t *s, const item_t *item)
{
    char room[32];
    const int32_t *labels = gnn_data_labels(s->data);
    fprintf(file, "  %6lld -> %-6lld importance %7.4f", (long long)s->src[item->edge],
            (long long)s->dst[item->edge], item->importance);
    if (!isnan(item->attention))
        fprintf(file, ", attention %.3f", item->attention);
    fprintf(file, ", without it %+.4f   (%s)\n", -item->lost,
            explain_class_name(s->data, labels[s->src[item->edge]], room));
}

void report_words(FILE *file, const subject_t *s, const options_t *o, const study_t *st)
{
    char room[32];
    const gnn_explanation_t *why = st->why;
    const gnn_fidelity_t *f = &st->fidelity;
    fprintf(file, "%s, node %lld: %s with probability %.4f", gnn_data_name(s->data),
            (long long)why->row, explain_class_name(s->data, why->output, room), why->probability);
    fprintf(file, " (its label: %s)\n",
            explain_class_name(s->data, gnn_data_labels(s->data)[why->row], room));
    fprintf(file, "%s over %lld nodes and %lld links in %lld hops\n", why->method,
            (long long)why->n_nodes, (long long)why->n_edges, (long long)why->hops);
    fprintf(file, "\nwhom it hears (%lld links; what the probability changes by without each):\n",
            (long long)st->n_heard);
    for (int64_t k = 0; k < shown(o, st->n_heard); k++)
        link_words(file, s, &st->heard[k]);
    fprintf(file, "\nthe most important links of its neighbourhood:\n");
    for (int64_t k = 0; k < shown(o, st->n_edges); k++)
        link_words(file, s, &st->edges[k]);
    if (st->n_columns > 0)
        fprintf(file, "\nthe most important features:\n");
    for (int64_t k = 0; k < shown(o, st->n_columns); k++)
        fprintf(file, "  column %-6lld importance %7.4f, without it %+.4f\n",
                (long long)st->columns[k].column, st->columns[k].importance, -st->columns[k].lost);
    fprintf(
        file,
        "\nfidelity+ %.0f, fidelity- %.0f, by probability %.4f and %.4f, unfaithfulness %.4f, sparsity %.3f\n",
        f->plus, f->minus, f->plus_probability, f->minus_probability, f->unfaithfulness, f->sparsity);
}

static void json_items(FILE *file, const subject_t *s, const options_t *o, const char *name,
                       const item_t *items, int64_t n)
{
    fprintf(file, ", \"%s\": [", name);
    for (int64_t k = 0; k < shown(o, n); k++) {
        fprintf(file, k ? ", {" : "{");
        if (items[k].edge >= 0)
            fprintf(file, "\"edge\": %lld, \"from\": %lld, \"to\": %lld, ", (long long)items[k].edge,
                    (long long)s->src[items[k].edge], (long long)s->dst[items[k].edge]);
        else
            fprintf(file, "\"column\": %lld, ", (long long)items[k].column);
        program_json_number(file, "importance", items[k].importance);
        fprintf(file, ", ");
        program_json_number(file, "lost", items[k].lost);
        if (items[k].edge >= 0) {
            fprintf(file, ", ");
            program_json_number(file, "attention", items[k].attention);
        }
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

void report_json(FILE *file, const subject_t *s, const options_t *o, const study_t *st)
{
    const gnn_explanation_t *why = st->why;
    const gnn_fidelity_t *f = &st->fidelity;
    const struct {
        const char *name;
        double value;
    } figures[] = {{"probability", why->probability},
                   {"test_accuracy", s->accuracy},
                   {"fidelity_plus", f->plus},
                   {"fidelity_minus", f->minus},
                   {"fidelity_plus_probability", f->plus_probability},
                   {"fidelity_minus_probability", f->minus_probability},
                   {"unfaithfulness", f->unfaithfulness},
                   {"sparsity", f->sparsity}};
    fprintf(file, "{\"data\": ");
    program_json_string(file, gnn_data_name(s->data));
    fprintf(file, ", \"method\": ");
    program_json_string(file, why->method);
    fprintf(file,
            ", \"node\": %lld, \"class\": %lld, \"label\": %d, \"nodes\": %lld, \"links\": %lld",
            (long long)why->row, (long long)why->output, gnn_data_labels(s->data)[why->row],
            (long long)why->n_nodes, (long long)why->n_edges);
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        fprintf(file, ", ");
        program_json_number(file, figures[k].name, figures[k].value);
    }
    json_items(file, s, o, "heard", st->heard, st->n_heard);
    json_items(file, s, o, "important", st->edges, st->n_edges);
    json_items(file, s, o, "features", st->columns, st->n_columns);
    fprintf(file, "}\n");
}
