/* Measurements of heads: agreement with syntax, and accuracy with some heads masked. */
#include "inspect.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- syntax ---- */

static int draw_scores(FILE *file, const void *what)
{
    const gnn_attachment_t *a = what;
    char subtitle[160];
    snprintf(subtitle, sizeof subtitle,
             "share of words that a head's spanning tree joins with their head; each word with its "
             "neighbour: %.2f",
             a->neighbours);
    return gnn_svg_heatmap(file, &(gnn_heatmap_t){.values = a->trees,
                                                  .title = "Syntax in attention",
                                                  .subtitle = subtitle,
                                                  .row_axis = "layer",
                                                  .col_axis = "head",
                                                  .mark_row = -1,
                                                  .mark_col = -1});
}

static int64_t best_of(const gnn_tensor_t *scores)
{
    int64_t best = 0;
    for (int64_t k = 1; k < scores->rows * scores->cols; k++)
        if (scores->data[k] > scores->data[best])
            best = k;
    return best;
}

static void print_table(const char *name, const gnn_tensor_t *scores)
{
    printf("%s\n", name);
    for (int64_t l = 0; l < scores->rows; l++) {
        printf("    layer %lld ", (long long)l);
        for (int64_t h = 0; h < scores->cols; h++)
            printf(" %5.1f", 100 * (double)scores->data[l * scores->cols + h]);
        printf("\n");
    }
}

static void print_json_table(const char *name, const gnn_tensor_t *scores)
{
    printf("\"%s\": [", name);
    for (int64_t k = 0; k < scores->rows * scores->cols; k++)
        printf("%s%.6f%s",
               k % scores->cols ? ", "
               : k              ? ", ["
                                : "[",
               (double)scores->data[k], (k + 1) % scores->cols ? "" : "]");
    printf("], ");
}

static void print_scores(const gnn_attachment_t *a, const inspect_t *o)
{
    const int64_t tree = best_of(&a->trees), most = best_of(&a->most);
    if (o->json) {
        printf("{");
        print_json_table("trees", &a->trees);
        print_json_table("most", &a->most);
        printf("\"left\": %.6f, \"right\": %.6f, \"neighbours\": %.6f, \"sentences\": %lld, "
               "\"words\": %lld, \"skipped\": %lld}\n",
               a->left, a->right, a->neighbours, (long long)a->sentences, (long long)a->words,
               (long long)a->skipped);
        return;
    }
    print_table("words that a head's tree joins with their head, %", &a->trees);
    print_table("words that attend to their head most, %", &a->most);
    printf("best tree: layer %lld, head %lld: %.1f%%; each word with its neighbour: %.1f%%\n",
           (long long)(tree / a->heads), (long long)(tree % a->heads),
           100 * (double)a->trees.data[tree], 100 * a->neighbours);
    printf("best choice: layer %lld, head %lld: %.1f%%; the left neighbour: %.1f%%, the right: %.1f%%\n",
           (long long)(most / a->heads), (long long)(most % a->heads),
           100 * (double)a->most.data[most], 100 * a->left, 100 * a->right);
    printf("%lld words of %lld sentences; %lld are too long\n", (long long)a->words,
           (long long)a->sentences, (long long)a->skipped);
}

int inspect_syntax(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o)
{
    gnn_treebank_t *bank = NULL;
    gnn_attachment_t *scores = NULL;
    const gnn_attachment_config_t how = {.both = o->both ? GNN_BOTH_MAX : GNN_BOTH_SUM,
                                         .limit = o->limit};
    int rc = gnn_treebank_read(&bank, o->uas);
    if (rc == GNN_OK)
        rc = gnn_attachment_new(&scores, p, context, bank, &how);
    if (rc == GNN_OK && o->uas_map)
        rc = program_write(o->uas_map, draw_scores, scores);
    if (rc == GNN_OK)
        print_scores(scores, o);
    gnn_attachment_free(scores);
    gnn_treebank_free(bank);
    return rc;
}

/* ---- masking heads ---- */

typedef struct {
    const inspect_t *o;
    gnn_gates_t *gates;
    gnn_source_t *source;
    double *importance, *accuracy, *closed;
    int64_t *order, count, points;
    gnn_real_t *open;
} prune_t;

static const double *sorted_by;

static int by_importance(const void *a, const void *b)
{
    const double x = sorted_by[*(const int64_t *)a], y = sorted_by[*(const int64_t *)b];
    return x < y ? -1 : x > y;
}

static int draw_curve(FILE *file, const void *what)
{
    const prune_t *r = what;
    const gnn_curve_t curve = {
        .name = "accuracy", .x = r->closed, .y = r->accuracy, .count = r->points};
    const char *const panels[] = {"accuracy"};
    return gnn_svg_curves(file, &(gnn_curves_t){.curves = &curve,
                                                .n_curves = 1,
                                                .panel_names = panels,
                                                .n_panels = 1,
                                                .title = "Pruning of heads",
                                                .subtitle = "those with the smallest gradient of the "
                                                            "loss at their gate are closed first",
                                                .x_axis = "heads closed"});
}

/* Maps the classes of a file to those of the model. */
static int check_classes(const gnn_pretrained_t *p, const gnn_corpus_t *texts, const char *path)
{
    for (int64_t k = 0; k < texts->n_labels; k++) {
        const char *label = gnn_pretrained_label(p, k);
        if (label && strcmp(label, texts->label_names[k]) == 0)
            continue;
        fprintf(stderr, "inspect: %s: class %lld is \"%s\", the model's is \"%s\"\n", path,
                (long long)k, texts->label_names[k], label ? label : "");
        return PROGRAM_REFUSED;
    }
    return GNN_OK;
}

static int make_source(prune_t *r, const gnn_pretrained_t *p, const gnn_corpus_t *train,
                       const gnn_corpus_t *test)
{
    const inspect_t *o = r->o;
    const gnn_labelled_texts_t first = {{train->count < o->limit ? train->count : o->limit,
                                         train->sentences, NULL},
                                        train->labels},
                               second = {{test->count, test->sentences, NULL}, test->labels};
    return gnn_source_of_texts(&r->source, p, &first, &second,
                               &(gnn_text_source_config_t){.sentences = 64, .max_length = 128});
}

static int allocate(prune_t *r)
{
    const size_t n = (size_t)(r->count = gnn_gates_count(r->gates));
    r->importance = calloc(n, sizeof *r->importance);
    r->accuracy = calloc(n + 1, sizeof *r->accuracy);
    r->closed = calloc(n + 1, sizeof *r->closed);
    r->order = calloc(n, sizeof *r->order);
    r->open = calloc(n, sizeof *r->open);
    for (size_t k = 0; r->order && r->open && k < n; k++) {
        r->order[k] = (int64_t)k;
        r->open[k] = 1;
    }
    return r->importance && r->accuracy && r->closed && r->order && r->open ? GNN_OK : GNN_EMEMORY;
}

/* Masks one in twelve at a time, least important first, until all are masked. */
static int close_heads(prune_t *r)
{
    const int64_t step = r->count > 12 ? r->count / 12 : 1;
    for (int64_t k = 0, next = 0; k <= r->count; k++) {
        if (k == next || k == r->count) {
            GNN_TRY(gnn_gates_metric(r->gates, r->source, GNN_VALIDATION, GNN_METRIC_ACCURACY,
                                     r->open, &r->accuracy[r->points]));
            if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r%lld of %lld heads", (long long)k, (long long)r->count);
            r->closed[r->points++] = (double)k;
            next += step;
        }
        if (k < r->count)
            r->open[r->order[k]] = 0;
    }
    return GNN_OK;
}

static void print_pruning_json(const prune_t *r)
{
    fputs("{\"importance\": [", stdout);
    for (int64_t k = 0; k < r->count; k++)
        printf("%s%.6g", k ? ", " : "", r->importance[k]);
    fputs("], \"curve\": [", stdout);
    for (int64_t k = 0; k < r->points; k++)
        printf("%s[%.0f, %.6f]", k ? ", " : "", r->closed[k], r->accuracy[k]);
    fputs("]}\n", stdout);
}

static void print_pruning(const prune_t *r, const gnn_model_t *model)
{
    puts("the heads that the loss depends on most");
    for (int64_t k = 0; k < r->count && k < 10; k++) {
        int64_t step = 0, head = 0;
        const int64_t at = r->order[r->count - 1 - k];
        (void)gnn_gates_place(r->gates, at, &step, &head);
        printf("    %s, head %lld: %.3f\n", gnn_model_step(model, step)->name, (long long)head,
               r->importance[at]);
    }
    for (int64_t k = 0; k < r->points; k++)
        printf("%3.0f of %lld heads closed: accuracy %.2f\n", r->closed[k], (long long)r->count,
               100 * r->accuracy[k]);
}

static int prune(prune_t *r, const gnn_pretrained_t *p, gnn_context_t *context)
{
    GNN_TRY(gnn_gates_new(&r->gates, context, gnn_pretrained_model(p)));
    GNN_TRY(allocate(r));
    GNN_TRY(gnn_gates_importance(r->gates, r->source, GNN_TRAIN, GNN_ON, r->importance));
    sorted_by = r->importance;
    qsort(r->order, (size_t)r->count, sizeof *r->order, by_importance);
    GNN_TRY(close_heads(r));
    const int rc = r->o->curve ? program_write(r->o->curve, draw_curve, r) : GNN_OK;
    if (rc == GNN_OK && r->o->json)
        print_pruning_json(r);
    else if (rc == GNN_OK)
        print_pruning(r, gnn_pretrained_model(p));
    return rc;
}

int inspect_prune(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o)
{
    gnn_corpus_t *train = NULL, *test = NULL;
    prune_t r = {.o = o};
    if (gnn_pretrained_label_count(p) < 2) {
        fprintf(stderr, "--prune: %s has no classes; the program finetune makes a folder that has\n",
                o->folder);
        return PROGRAM_REFUSED;
    }
    int rc = gnn_corpus_read(&train, o->prune, NULL);
    if (rc == GNN_OK)
        rc = gnn_corpus_read(&test, o->test ? o->test : o->prune, NULL);
    if (rc == GNN_OK)
        rc = check_classes(p, train, o->prune);
    if (rc == GNN_OK)
        rc = check_classes(p, test, o->test ? o->test : o->prune);
    if (rc == GNN_OK)
        rc = make_source(&r, p, train, test);
    if (rc == GNN_OK)
        rc = prune(&r, p, context);
    free(r.importance);
    free(r.accuracy);
    free(r.closed);
    free(r.order);
    free(r.open);
    gnn_gates_free(r.gates);
    gnn_source_free(r.source);
    gnn_corpus_free(test);
    gnn_corpus_free(train);
    return rc;
}
