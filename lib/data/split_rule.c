/* Splits by a rule, and folds: assigns shuffled rows, class by class. */
#include <lib/data/data.h>

/* A count of each class, and the shuffled order of all rows. */
typedef struct draw {
    int64_t n, classes;
    int32_t *order;
    int64_t *count;   /* (classes) rows of each class */
    int64_t *left[2]; /* (classes) rows still to be assigned to training and validation */
} draw_t;

static void free_draw(draw_t *d)
{
    gnn_free(d->order);
    gnn_free(d->count);
    gnn_free(d->left[0]);
    gnn_free(d->left[1]);
}

/* Class of row i; negative: none. Without labels all rows have the same. */
static int64_t class_of(gnn_ints_t labels, int64_t i)
{
    return labels.data ? gnn__int(labels, i) : 0;
}

static int check_rows(gnn_ints_t labels, int64_t n, int64_t *classes)
{
    const int64_t most = n > GNN__MOST_CLASSES ? n : GNN__MOST_CLASSES;
    *classes = 1;
    if (labels.data)
        GNN_TRY(gnn__ints_check("labels", labels, n));
    if (n < 0 || n > INT32_MAX)
        return gnn__error(GNN_EINVALID, "%lld rows to split, expected 0 to 2^31 - 1", (long long)n);
    for (int64_t i = 0; labels.data && i < n; i++) {
        const int64_t label = gnn__int(labels, i);
        if (label >= most)
            return gnn__error(GNN_EINVALID, "class %lld at row %lld, less than %lld is expected",
                              (long long)label, (long long)i, (long long)most);
        if (label >= *classes)
            *classes = label + 1;
    }
    return GNN_OK;
}

/* A seed per split, different for different rule seeds. */
static int open_draw(draw_t *d, gnn_ints_t labels, int64_t n, uint64_t seed)
{
    *d = (draw_t){.n = n};
    GNN_TRY(check_rows(labels, n, &d->classes));
    GNN_TRY(gnn__new(&d->order, n, sizeof *d->order, "an order of rows"));
    GNN_TRY(gnn__new(&d->count, d->classes, sizeof *d->count, "class sizes"));
    for (int k = 0; k < 2; k++)
        GNN_TRY(gnn__new(&d->left[k], d->classes, sizeof *d->left[k], "class sizes"));
    gnn__data_shuffle(d->order, n, seed);
    for (int64_t i = 0; i < n; i++)
        if (class_of(labels, i) >= 0)
            d->count[class_of(labels, i)]++;
    return GNN_OK;
}

/* ---- one split ---- */

static int check_rule(const gnn_split_rule_t *r)
{
    if (r->splits < 0 || r->train_each < 0 || r->validation_each < 0 || r->validation < 0 ||
        r->test < 0)
        return gnn__error(
            GNN_EINVALID,
            ".train_each = %lld, .validation_each = %lld, .validation = %lld, .test = %lld, expected at least 0 each (.splits too)",
            (long long)r->train_each, (long long)r->validation_each, (long long)r->validation,
            (long long)r->test);
    if (!(r->train_share >= 0 && r->validation_share >= 0 &&
          r->train_share + r->validation_share <= 1))
        return gnn__error(
            GNN_EINVALID,
            ".train_share = %g and .validation_share = %g, expected at least 0 each and a sum of at most 1",
            r->train_share, r->validation_share);
    if ((r->train_share > 0 && r->train_each > 0) ||
        (r->validation_share > 0 && r->validation_each > 0))
        return gnn__error(GNN_EINVALID, "%s_each and .%s_share are both given, expected one of them",
                          r->train_share > 0 && r->train_each > 0 ? ".train" : ".validation",
                          r->train_share > 0 && r->train_each > 0 ? "train" : "validation");
    return GNN_OK;
}

/* Rows of each class for training and for validation. */
static void set_quotas(draw_t *d, const gnn_split_rule_t *r)
{
    for (int64_t c = 0; c < d->classes; c++) {
        const int64_t half = (d->count[c] + 1) / 2;
        const int64_t train = r->train_share > 0 ? (int64_t)(r->train_share * (double)d->count[c])
                                                 : gnn__min(r->train_each, half);
        const int64_t rest = d->count[c] - train;
        d->left[0][c] = train;
        d->left[1][c] = r->validation_share > 0
                            ? gnn__min((int64_t)(r->validation_share * (double)d->count[c]), rest)
                            : gnn__min(r->validation_each, (rest + 1) / 2);
    }
}

static void deal(draw_t *d, gnn_ints_t labels, const gnn_split_rule_t *r, gnn_split_t *split,
                 int64_t index)
{
    int64_t validation = r->validation, test = r->test > 0 ? r->test : d->n;
    uint8_t *marks[3];
    for (int k = 0; k < 3; k++)
        marks[k] = gnn__split_marks(split, k, index);
    for (int k = 0; k < 2; k++)
        for (int64_t at = 0; at < d->n; at++) {
            const int32_t i = d->order[at];
            const int64_t label = class_of(labels, i);
            if (label >= 0 && !marks[GNN_TRAIN][i] && d->left[k][label] > 0) {
                d->left[k][label]--;
                marks[k == 0 ? GNN_TRAIN : GNN_VALIDATION][i] = 1;
            }
        }
    for (int64_t at = 0; at < d->n; at++) {
        const int32_t i = d->order[at];
        if (class_of(labels, i) < 0 || marks[GNN_TRAIN][i] || marks[GNN_VALIDATION][i])
            continue;
        if (validation > 0 && validation-- > 0)
            marks[GNN_VALIDATION][i] = 1;
        else if (test > 0 && test-- > 0)
            marks[GNN_TEST][i] = 1;
    }
}

int(gnn_split_draw)(gnn_split_t **split, gnn_ints_t labels, int64_t n, const gnn_split_rule_t *rule)
{
    int rc = GNN_OK;
    GNN__NEED(split);
    *split = NULL;
    GNN__NEED_INTS(labels, 1);
    GNN__NEED(rule);
    GNN_TRY(check_rule(rule));
    GNN_TRY(gnn_split_new(split, n, rule->splits > 0 ? rule->splits : 1));
    for (int64_t s = 0; s < (*split)->count && rc == GNN_OK; s++) {
        draw_t d;
        rc = open_draw(&d, labels, n, rule->seed * 0x9e3779b97f4a7c15u + (uint64_t)s);
        if (rc == GNN_OK) {
            set_quotas(&d, rule);
            deal(&d, labels, rule, *split, s);
        }
        free_draw(&d);
    }
    if (rc != GNN_OK) {
        gnn_split_free(*split);
        *split = NULL;
    }
    return rc;
}

/* ---- the splits of a set ---- */

/* Splits of the file's rows, in the set's order. */
static int follow_order(gnn_split_t **split, const int64_t *order)
{
    gnn_split_t *from = *split, *to;
    GNN_TRY(gnn_split_new(&to, from->rows, from->count));
    for (int part = 0; part < 3; part++)
        for (int64_t s = 0; s < to->count; s++)
            for (int64_t r = 0; r < to->rows; r++)
                gnn__split_marks(to, part, s)[r] = gnn__split_marks(from, part, s)[order[r]];
    gnn_split_free(from);
    *split = to;
    return GNN_OK;
}

int gnn_data_split_draw(gnn_data_t *data, const gnn_split_rule_t *rule)
{
    GNN__NEED(data);
    GNN__NEED(rule);
    GNN_TRY(gnn__data_whole(data, "split at random"));
    gnn_split_t *made = NULL;
    int32_t *labels = NULL;
    int rc;
    /* Nodes with real targets are all of one class. */
    const bool alike = gnn_data_label_kind(data) > GNN_LABELS_CLASSES;
    GNN_CHECK(gnn__new(&labels, data->n, sizeof *labels, "labels"));
    for (int64_t r = 0; r < data->n; r++)
        labels[data->order ? data->order[r] : r] = alike ? 0 : data->labels[r];
    GNN_CHECK(gnn_split_draw(&made, labels, data->n, rule));
    if (data->order)
        GNN_CHECK(follow_order(&made, data->order));
    gnn_split_free(data->split);
    data->split = made;
    made = NULL;
done:
    gnn_split_free(made);
    gnn_free(labels);
    return rc;
}

/* ---- folds ---- */

/* Deals the rows of each class out to the folds, one class after another. */
static void deal_folds(draw_t *d, gnn_ints_t labels, gnn_split_t *split)
{
    const int64_t folds = split->count;
    for (int64_t c = 0, next = 0; c < d->classes; c++) {
        d->left[0][c] = next;
        next += d->count[c];
    }
    for (int64_t at = 0; at < d->n; at++) {
        const int64_t i = d->order[at], c = class_of(labels, i);
        if (c < 0)
            continue;
        const int64_t fold = d->left[0][c]++ % folds, before = (fold + folds - 1) % folds;
        for (int64_t f = 0; f < folds; f++)
            if (f != fold && f != before)
                gnn__split_marks(split, GNN_TRAIN, f)[i] = 1;
        gnn__split_marks(split, GNN_VALIDATION, before)[i] = 1;
        gnn__split_marks(split, GNN_TEST, fold)[i] = 1;
    }
}

int(gnn_split_folds)(gnn_split_t **split, gnn_ints_t labels, int64_t n, int64_t folds, uint64_t seed)
{
    draw_t d;
    GNN__NEED(split);
    *split = NULL;
    if (folds < 2 || folds > n)
        return gnn__error(GNN_EINVALID, "folds = %lld, expected 2 to %lld, the count of rows",
                          (long long)folds, (long long)n);
    int rc = open_draw(&d, labels, n, seed);
    if (rc == GNN_OK)
        rc = gnn_split_new(split, n, folds);
    if (rc == GNN_OK)
        deal_folds(&d, labels, *split);
    free_draw(&d);
    return rc;
}
