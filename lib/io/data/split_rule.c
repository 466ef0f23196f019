/* Splits by a rule, and folds: rows in a shuffled order are dealt out, class by class. */
#include <gnn/split.h>
#include <lib/io/data/data.h>

/* A count of each class, and the shuffled order of all rows. */
typedef struct draw {
    int64_t n, classes;
    int32_t *order;
    int64_t *count;   /* (classes) rows that are there */
    int64_t *left[2]; /* (classes) rows that training and validation still take */
} draw_t;

static void free_draw(draw_t *d)
{
    gnn_free(d->order);
    gnn_free(d->count);
    gnn_free(d->left[0]);
    gnn_free(d->left[1]);
}

static int check_rows(const int32_t *labels, int64_t n, int64_t *classes)
{
    const int64_t most = n > GNN__MOST_CLASSES ? n : GNN__MOST_CLASSES;
    *classes = 1;
    if (n < 0 || n > INT32_MAX)
        return gnn__error(GNN_EINVALID, "%lld rows to split", (long long)n);
    for (int64_t i = 0; labels && i < n; i++) {
        if (labels[i] >= most)
            return gnn__error(GNN_EINVALID, "class %d at row %lld, less than %lld is expected",
                              labels[i], (long long)i, (long long)most);
        if (labels[i] >= *classes)
            *classes = (int64_t)labels[i] + 1;
    }
    return GNN_OK;
}

/* Another seed for each split of a rule, and for each rule of another seed. */
static int open_draw(draw_t *d, const int32_t *labels, int64_t n, uint64_t seed)
{
    *d = (draw_t){.n = n};
    GNN_TRY(check_rows(labels, n, &d->classes));
    GNN_TRY(gnn__new(&d->order, n, sizeof *d->order, "an order of rows"));
    GNN_TRY(gnn__new(&d->count, d->classes, sizeof *d->count, "class sizes"));
    for (int k = 0; k < 2; k++)
        GNN_TRY(gnn__new(&d->left[k], d->classes, sizeof *d->left[k], "class sizes"));
    gnn__data_shuffle(d->order, n, seed);
    for (int64_t i = 0; i < n; i++)
        if (!labels || labels[i] >= 0)
            d->count[labels ? labels[i] : 0]++;
    return GNN_OK;
}

/* ---- one split ---- */

static int check_rule(const gnn_split_rule_t *r)
{
    if (r->splits < 0 || r->train_each < 0 || r->validation_each < 0 || r->validation < 0 ||
        r->test < 0)
        return gnn__error(
            GNN_EINVALID,
            "a split of %lld and %lld rows a class, %lld and %lld in all: numbers from 0 are expected",
            (long long)r->train_each, (long long)r->validation_each, (long long)r->validation,
            (long long)r->test);
    if (!(r->train_share >= 0 && r->validation_share >= 0 &&
          r->train_share + r->validation_share <= 1))
        return gnn__error(GNN_EINVALID,
                          "shares of %g and %g: numbers from 0 are expected that add up to 1 at most",
                          r->train_share, r->validation_share);
    return GNN_OK;
}

/* How many rows each class gives to training and to validation. */
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

static void deal(draw_t *d, const int32_t *labels, const gnn_split_rule_t *r, int8_t *part)
{
    int64_t validation = r->validation, test = r->test > 0 ? r->test : d->n;
    memset(part, -1, (size_t)d->n);
    for (int k = 0; k < 2; k++)
        for (int64_t at = 0; at < d->n; at++) {
            const int32_t i = d->order[at];
            if (labels[i] >= 0 && part[i] < 0 && d->left[k][labels[i]] > 0) {
                d->left[k][labels[i]]--;
                part[i] = k == 0 ? GNN_TRAIN : GNN_VALIDATION;
            }
        }
    for (int64_t at = 0; at < d->n; at++) {
        const int32_t i = d->order[at];
        if (labels[i] < 0 || part[i] >= 0)
            continue;
        if (validation > 0 && validation-- > 0)
            part[i] = GNN_VALIDATION;
        else if (test > 0 && test-- > 0)
            part[i] = GNN_TEST;
    }
}

int gnn_split_draw(const int32_t *labels, int64_t n, const gnn_split_rule_t *rule, int64_t index,
                   int8_t *part)
{
    draw_t d;
    GNN__NEED(labels);
    GNN__NEED(rule);
    GNN__NEED(part);
    GNN_TRY(check_rule(rule));
    int rc = open_draw(&d, labels, n, rule->seed * 0x9e3779b97f4a7c15u + (uint64_t)index);
    if (rc == GNN_OK) {
        set_quotas(&d, rule);
        deal(&d, labels, rule, part);
    }
    free_draw(&d);
    return rc;
}

/* ---- the splits of a set ---- */

/* Masks of split s, from draws by the file's numbers. */
static int draw_masks(gnn_data_t *to, const gnn_data_t *data, const gnn_split_rule_t *rule,
                      int64_t s, int32_t *labels, int8_t *part)
{
    const int64_t *order = data->order;
    for (int64_t r = 0; r < data->n; r++)
        labels[order ? order[r] : r] = data->labels[r];
    GNN_TRY(gnn_split_draw(labels, data->n, rule, s, part));
    for (int64_t r = 0; r < data->n; r++) {
        const int8_t p = part[order ? order[r] : r];
        if (p >= 0)
            to->masks[p][s][r] = 1;
    }
    return GNN_OK;
}

static void swap_masks(gnn_data_t *a, gnn_data_t *b)
{
    for (int k = 0; k < 3; k++) {
        uint8_t **masks = a->masks[k];
        a->masks[k] = b->masks[k];
        b->masks[k] = masks;
    }
    b->borrowed_masks = a->borrowed_masks;
    a->borrowed_masks = false;
    a->n_splits = b->n_splits;
}

int gnn_data_split_draw(gnn_data_t *data, const gnn_split_rule_t *rule)
{
    GNN__NEED(data);
    GNN__NEED(rule);
    const int64_t splits = rule->splits > 0 ? rule->splits : 1;
    gnn_data_t made = {.n = data->n};
    int32_t *labels = NULL;
    int8_t *part = NULL;
    int rc;
    GNN_CHECK(check_rule(rule));
    GNN_CHECK(gnn__data_masks(&made, splits));
    GNN_CHECK(gnn__new(&labels, data->n, sizeof *labels, "labels"));
    GNN_CHECK(gnn__new(&part, data->n, sizeof *part, "parts"));
    for (int64_t s = 0; s < splits; s++)
        GNN_CHECK(draw_masks(&made, data, rule, s, labels, part));
    swap_masks(data, &made);
done:
    gnn__data_free_masks(&made);
    gnn_free(labels);
    gnn_free(part);
    return rc;
}

/* ---- folds ---- */

int gnn_split_folds(const int32_t *labels, int64_t n, int64_t folds, uint64_t seed, int32_t *fold)
{
    draw_t d;
    GNN__NEED(fold);
    if (folds < 2 || folds > n)
        return gnn__error(GNN_EINVALID, "%lld folds of %lld rows: from 2 folds to %lld are possible",
                          (long long)folds, (long long)n, (long long)n);
    int rc = open_draw(&d, labels, n, seed);
    /* Where each class begins among rows that are dealt out class by class, one fold after
     * another. */
    for (int64_t c = 0, next = 0; rc == GNN_OK && c < d.classes; c++) {
        d.left[0][c] = next;
        next += d.count[c];
    }
    for (int64_t at = 0; rc == GNN_OK && at < n; at++) {
        const int32_t i = d.order[at], c = labels ? labels[i] : 0;
        fold[i] = c < 0 ? -1 : (int32_t)(d.left[0][c]++ % folds);
    }
    free_draw(&d);
    return rc;
}
