/* The explaining subgraph as a picture, and a page with the picture and tables. */
#include "explain.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The links that are drawn, and the nodes at their ends. */
typedef struct {
    int64_t nodes, links;
    int64_t *number;    /* (nodes) ids in the set; the explained node is the first */
    int64_t *from, *to; /* (links) positions among them */
    double *weight;     /* from 0 to 1 */
    int32_t *classes;
    uint8_t *ring;
    const char **labels;
    char (*words)[24];
    gnn_real_t *at;
} drawing_t;

static int64_t place(drawing_t *d, int64_t node)
{
    for (int64_t k = 0; k < d->nodes; k++)
        if (d->number[k] == node)
            return k;
    d->number[d->nodes] = node;
    return d->nodes++;
}

/* Both directions of a link are one line, with the sum of their weights. */
static void add_link(drawing_t *d, int64_t a, int64_t b, double weight)
{
    for (int64_t k = 0; k < d->links; k++)
        if ((d->from[k] == a && d->to[k] == b) || (d->from[k] == b && d->to[k] == a)) {
            d->weight[k] += weight;
            return;
        }
    d->from[d->links] = a;
    d->to[d->links] = b;
    d->weight[d->links++] = weight;
}

/* Scales the largest weight to 1. */
static void scale(drawing_t *d)
{
    double most = 0;
    for (int64_t k = 0; k < d->links; k++)
        most = d->weight[k] > most ? d->weight[k] : most;
    for (int64_t k = 0; most > 0 && k < d->links; k++)
        d->weight[k] /= most;
}

static int make_room(drawing_t *d, int64_t links)
{
    const size_t n = 2 * (size_t)links + 1, m = (size_t)links + 1;
    d->number = calloc(n, sizeof *d->number);
    d->from = calloc(m, sizeof *d->from);
    d->to = calloc(m, sizeof *d->to);
    d->weight = calloc(m, sizeof *d->weight);
    d->classes = calloc(n, sizeof *d->classes);
    d->ring = calloc(n, sizeof *d->ring);
    d->labels = calloc(n, sizeof *d->labels);
    d->words = calloc(n, sizeof *d->words);
    d->at = calloc(2 * n, sizeof *d->at);
    const int all = d->number && d->from && d->to && d->weight && d->classes && d->ring &&
                    d->labels && d->words && d->at;
    return all ? GNN_OK : GNN_EMEMORY;
}

static void free_drawing(drawing_t *d)
{
    void *const all[] = {d->number, d->from,           d->to,    d->weight, d->classes,
                         d->ring,   (void *)d->labels, d->words, d->at};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static int lay_out(drawing_t *d)
{
    gnn_graph_t *graph;
    int64_t *src = calloc(2 * (size_t)d->links + 1, sizeof *src),
            *dst = calloc(2 * (size_t)d->links + 1, sizeof *dst);
    const gnn_tensor_t positions = gnn_tensor(d->at, d->nodes, 2);
    for (int64_t k = 0; src && dst && k < d->links; k++) {
        src[2 * k] = dst[2 * k + 1] = d->from[k];
        dst[2 * k] = src[2 * k + 1] = d->to[k];
    }
    int rc = src && dst ? gnn_graph_from_edges(&graph, d->nodes, d->nodes, 2 * d->links, src, dst)
                        : GNN_EMEMORY;
    free(src);
    free(dst);
    GNN_TRY(rc);
    rc = gnn_graph_layout_weighted(graph, NULL, 1, &positions);
    gnn_graph_free(graph);
    return rc;
}

enum { MOST_LINKS = 60 };

/* The most important links in ascending order; negligible ones are omitted. */
static int prepare(drawing_t *d, const subject_t *s, const study_t *st)
{
    const double most = st->n_edges > 0 ? fabs(st->edges[0].importance) : 0;
    int64_t n = 0;
    while (n < st->n_edges && n < MOST_LINKS && fabs(st->edges[n].importance) > 0.05 * most)
        n++;
    GNN_TRY(make_room(d, n));
    place(d, st->why->row);
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t e = st->edges[k].edge, a = place(d, s->src[e]), b = place(d, s->dst[e]);
        add_link(d, a, b, fabs(st->edges[k].importance));
    }
    for (int64_t k = 0; k < d->nodes; k++) {
        snprintf(d->words[k], sizeof d->words[k], "%lld", (long long)d->number[k]);
        d->labels[k] = d->words[k];
        d->classes[k] = gnn_data_labels(s->data)[d->number[k]];
    }
    d->ring[0] = 1;
    scale(d);
    return lay_out(d);
}

static int draw(FILE *file, const subject_t *s, const study_t *st)
{
    char title[200], subtitle[200], room[32];
    drawing_t d = {0};
    const gnn_explanation_t *why = st->why;
    int rc = prepare(&d, s, st);
    snprintf(title, sizeof title, "%s, node %lld: %s", gnn_data_name(s->data), (long long)why->row,
             explain_class_name(s->data, why->output, room));
    snprintf(subtitle, sizeof subtitle,
             "%s: wide and dark links are important; colours are labels; the ring is node %lld",
             why->method, (long long)why->row);
    if (rc == GNN_OK)
        rc = gnn_svg_scatter(file, &(gnn_scatter_t){.points = gnn_tensor(d.at, d.nodes, 2),
                                                    .classes = d.classes,
                                                    .n_classes = gnn_data_classes(s->data),
                                                    .class_names = gnn_data_class_names(s->data),
                                                    .point_labels = d.labels,
                                                    .emphasis = d.ring,
                                                    .line_from = d.from,
                                                    .line_to = d.to,
                                                    .n_lines = d.links,
                                                    .line_weight = d.weight,
                                                    .title = title,
                                                    .subtitle = subtitle});
    free_drawing(&d);
    return rc;
}

int write_graph(const char *path, const subject_t *s, const study_t *st)
{
    program_file_t to;
    GNN_TRY(program_create(&to, path));
    return program_finish(&to, draw(to.file, s, st));
}

/* ---- the page ---- */

static void escape(FILE *file, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '&': fputs("&amp;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc(*text, file);
        }
}

static void bar(FILE *file, double value, double most)
{
    fprintf(file, "<td class=\"bar\"><span style=\"width:%.0fpx\"></span>%.4f</td>",
            most > 0 ? 90 * fabs(value) / most : 0, value);
}

static void change(FILE *file, double lost)
{
    fprintf(file, "<td class=\"%s\">%+.4f</td>",
            lost > 5e-5    ? "down"
            : lost < -5e-5 ? "up"
                           : "same",
            -lost);
}

static void links(FILE *file, const subject_t *s, const options_t *o, const char *title,
                  const item_t *items, int64_t n)
{
    char room[32];
    fprintf(
        file,
        "<h2>%s</h2>\n<table><tr><th>link</th><th>sender's label</th><th>importance</th><th>attention</th><th>without it</th></tr>\n",
        title);
    for (int64_t k = 0; k < n && k < o->top; k++) {
        const int64_t e = items[k].edge;
        fprintf(file, "<tr><td>%lld &rarr; %lld</td><td>", (long long)s->src[e],
                (long long)s->dst[e]);
        escape(file, explain_class_name(s->data, gnn_data_labels(s->data)[s->src[e]], room));
        fprintf(file, "</td>");
        bar(file, items[k].importance, fabs(items[0].importance));
        if (isnan(items[k].attention))
            fprintf(file, "<td>&ndash;</td>");
        else
            fprintf(file, "<td>%.3f</td>", items[k].attention);
        change(file, items[k].lost);
        fprintf(file, "</tr>\n");
    }
    fprintf(file, "</table>\n");
}

static void columns(FILE *file, const options_t *o, const study_t *st)
{
    if (st->n_columns == 0)
        return;
    fprintf(
        file,
        "<h2>Features</h2>\n<table><tr><th>column</th><th>importance</th><th>without it</th></tr>\n");
    for (int64_t k = 0; k < st->n_columns && k < o->top; k++) {
        fprintf(file, "<tr><td>%lld</td>", (long long)st->columns[k].column);
        bar(file, st->columns[k].importance, fabs(st->columns[0].importance));
        change(file, st->columns[k].lost);
        fprintf(file, "</tr>\n");
    }
    fprintf(file, "</table>\n");
}

static void head(FILE *file, const subject_t *s, const study_t *st)
{
    static const char style[] =
        "body{font:15px/1.45 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#1a1a1a}"
        "table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{padding:.2em .9em .2em 0;text-align:left;"
        "border-bottom:1px solid #e6e6e6;font-variant-numeric:tabular-nums}th{font-weight:600;color:#555}"
        ".bar span{display:inline-block;height:.7em;background:#0072b2;margin-right:.5em}"
        ".down{color:#b03a00}.up{color:#00664b}.same{color:#777}svg{max-width:100%;height:auto}";
    char room[32];
    const gnn_explanation_t *why = st->why;
    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    escape(file, gnn_data_name(s->data));
    fprintf(file, ", node %lld</title>\n<style>%s</style></head><body>\n<h1>", (long long)why->row,
            style);
    escape(file, gnn_data_name(s->data));
    fprintf(file, ", node %lld</h1>\n<p>The model says <b>", (long long)why->row);
    escape(file, explain_class_name(s->data, why->output, room));
    fprintf(file, "</b> with probability %.4f. Its label is <b>", why->probability);
    escape(file, explain_class_name(s->data, gnn_data_labels(s->data)[why->row], room));
    fprintf(
        file,
        "</b>. It depends on %lld nodes and %lld links. Explained by %s; &ldquo;without it&rdquo; is what the probability changes by when the link, or the column of features, is taken away.</p>\n",
        (long long)why->n_nodes, (long long)why->n_edges, why->method);
}

static int picture(FILE *file, const subject_t *s, const study_t *st)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return GNN_EMEMORY;
    int rc = draw(memory, s, st);
    if (fclose(memory) != 0 && rc == GNN_OK)
        rc = GNN_EMEMORY;
    const char *svg = rc == GNN_OK ? strstr(text, "<svg") : NULL;
    if (svg)
        fputs(svg, file);
    free(text);
    return rc;
}

int write_page(const char *path, const subject_t *s, const options_t *o, const study_t *st)
{
    program_file_t to;
    GNN_TRY(program_create(&to, path));
    FILE *file = to.file;
    const gnn_fidelity_t *f = &st->fidelity;
    head(file, s, st);
    const int rc = picture(file, s, st);
    links(file, s, o, "Whom it hears", st->heard, st->n_heard);
    links(file, s, o, "The most important links of its neighbourhood", st->edges, st->n_edges);
    columns(file, o, st);
    fprintf(
        file,
        "<h2>Fidelity</h2>\n<p>Without what is important the probability falls by %.4f (fidelity+ %.0f); from it alone by %.4f (fidelity- %.0f). Unfaithfulness %.4f, sparsity %.3f.</p>\n</body></html>\n",
        f->plus_probability, f->plus, f->minus_probability, f->minus, f->unfaithfulness, f->sparsity);
    return program_finish(&to, rc);
}
