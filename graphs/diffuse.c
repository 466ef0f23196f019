/* Diffusion of a graph (GDC, Gasteiger et al. 2019): the graph of the matrix
 *
 *     S = sum over k of theta_k T^k, theta_k = alpha (1 - alpha)^k, or e^-t t^k / k!
 *
 * Computed column by column: S e_i is accumulated from T^k e_i, and entries that cannot add more
 * than the tolerance to any element are not followed. A column costs what its walks reach, not the
 * size of the graph. */
#include <gnn/diffuse.h>
#include <graphs/build.h>
#include <lib/base/settings.h>

#include <math.h>
#include <stdlib.h>

/* ROWS_AT_ONCE: receivers whose rows are collected before weak pairs are dropped. */
enum { MOST_STEPS = 10000, ROWS_AT_ONCE = 1024 };

/* T in CSR by receiver, duplicates merged. */
typedef struct {
    int64_t n;
    int64_t *indptr;
    int32_t *indices;
    double *values;
} matrix_t;

static void matrix_free(matrix_t *t)
{
    gnn_free(t->indptr);
    gnn_free(t->indices);
    gnn_free(t->values);
}

/* ---- settings ---- */

static int check_unread(const gnn_diffusion_t *d)
{
    enum { PAGERANK = 1 << GNN_DIFFUSION_PAGERANK, HEAT = 1 << GNN_DIFFUSION_HEAT };
    const gnn__setting_use_t uses[] = {{"alpha", d->alpha != 0, PAGERANK},
                                       {"time", d->time != 0, HEAT}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, 1u << d->kind);
    return unread ? gnn__error(GNN_EINVALID, "diffusion: %s reads no .%s",
                               d->kind == GNN_DIFFUSION_HEAT ? "the heat kernel"
                                                             : "personalised PageRank",
                               unread)
                  : GNN_OK;
}

static int resolve(gnn_diffusion_t *d)
{
    if (d->kind != GNN_DIFFUSION_PAGERANK && d->kind != GNN_DIFFUSION_HEAT)
        return gnn__error(GNN_EINVALID, "diffusion: expected a known kind, got %d", (int)d->kind);
    GNN_TRY(check_unread(d));
    d->alpha = (gnn_real_t)gnn__setting(d->alpha, 0.15);
    d->time = (gnn_real_t)gnn__setting(d->time, 3);
    d->loop_weight = (gnn_real_t)gnn__setting(d->loop_weight, 1);
    d->tolerance = (gnn_real_t)gnn__setting(d->tolerance, 1e-8);
    d->threshold = (gnn_real_t)gnn__setting(d->threshold, 0);
    if (d->norm_in == GNN_GRAPH_NORM_DEFAULT)
        d->norm_in = GNN_GRAPH_NORM_SYMMETRIC;
    if (d->norm_out == GNN_GRAPH_NORM_DEFAULT)
        d->norm_out = GNN_GRAPH_NORM_ROW;
    if (d->norm_in == GNN_GRAPH_NORM_NONE)
        return gnn__error(GNN_EINVALID, "diffusion: expected .norm_in symmetric or row, got none");
    if (!(d->alpha > 0 && d->alpha <= 1) || !(d->time > 0 && d->time <= 100) ||
        !(d->loop_weight >= 0 && isfinite((double)d->loop_weight)) ||
        !(d->tolerance >= 0 && d->tolerance < 1) || d->top < 0 || !(d->threshold >= 0) ||
        d->average < 0)
        return gnn__error(
            GNN_EINVALID,
            "diffusion: .alpha %g (0 to 1), .time %g (0 to 100), .loop_weight %g, "
            ".tolerance %g (0 to 1), .top %lld, .threshold %g and .average %lld must be at "
            "least 0",
            (double)d->alpha, (double)d->time, (double)d->loop_weight, (double)d->tolerance,
            (long long)d->top, (double)d->threshold, (long long)d->average);
    return GNN_OK;
}

static int check(const gnn_graph_t *of, const gnn_real_t *edge_weight)
{
    if (of->n_dst != of->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "a diffusion needs the same nodes on both sides, got %lld receivers and %lld senders",
            (long long)of->n_dst, (long long)of->n_src);
    for (int64_t e = 0; edge_weight && e < of->n_edges; e++)
        if (!(edge_weight[e] >= 0) || !isfinite((double)edge_weight[e]))
            return gnn__error(GNN_ENUMERIC, "weight[%lld]: expected a finite value >= 0, got %g",
                              (long long)e, (double)edge_weight[e]);
    return GNN_OK;
}

/* ---- the matrix ---- */

/* Adds the weights of receiver i's incoming edges to `sum`, and lists its distinct senders;
 * returns their count. */
static int64_t sum_senders(const gnn_graph_t *of, const gnn_real_t *weight, int64_t i, double *sum,
                           uint8_t *seen, int32_t *senders)
{
    int64_t count = 0;
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        gnn_graph_row_t row;
        gnn_graph_row(of, p, i, &row);
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k), e = gnn_graph_row_edge(&row, k);
            sum[j] += weight && e >= 0 ? (double)weight[e] : 1;
            if (!seen[j])
                senders[count++] = (int32_t)j;
            seen[j] = 1;
        }
    }
    return count;
}

static int by_number(const void *a, const void *z)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)z;
    return (x > y) - (x < y);
}

static int gather(matrix_t *t, const gnn_graph_t *of, const gnn_real_t *weight, double loop)
{
    double *sum = NULL;
    int32_t *senders = NULL;
    uint8_t *seen = NULL;
    int64_t room, at = 0;
    int rc;
    if (!gnn__add(gnn_graph_n_pairs(of), t->n, &room))
        return gnn__error(GNN_EOVERFLOW, "diffusion: the size of %lld pairs overflows",
                          (long long)gnn_graph_n_pairs(of));
    GNN_CHECK(gnn__new(&t->indptr, t->n + 1, sizeof *t->indptr, "a diffusion"));
    GNN_CHECK(gnn__new(&t->indices, room, sizeof *t->indices, "a diffusion"));
    GNN_CHECK(gnn__new(&t->values, room, sizeof *t->values, "a diffusion"));
    GNN_CHECK(gnn__new(&sum, t->n, sizeof *sum, "a diffusion"));
    GNN_CHECK(gnn__new(&senders, t->n, sizeof *senders, "a diffusion"));
    GNN_CHECK(gnn__new(&seen, t->n, sizeof *seen, "a diffusion"));
    for (int64_t i = 0; i < t->n; i++) {
        int64_t count = sum_senders(of, weight, i, sum, seen, senders);
        if (loop > 0 && !seen[i])
            senders[count++] = (int32_t)i;
        sum[i] += loop;
        qsort(senders, (size_t)count, sizeof *senders, by_number);
        for (int64_t k = 0; k < count; k++, at++) {
            t->indices[at] = senders[k];
            t->values[at] = sum[senders[k]];
            sum[senders[k]] = 0;
            seen[senders[k]] = 0;
        }
        sum[i] = 0;
        t->indptr[i + 1] = at;
    }
done:
    gnn_free(sum);
    gnn_free(senders);
    gnn_free(seen);
    return rc;
}

static double inverse(double degree, gnn_graph_norm_t norm)
{
    if (degree <= 0)
        return 0;
    return norm == GNN_GRAPH_NORM_SYMMETRIC ? 1 / sqrt(degree) : 1 / degree;
}

/* Normalises by weighted in-degree: D^-1 A, or D^-1/2 A D^-1/2. */
static int normalise(matrix_t *t, gnn_graph_norm_t norm)
{
    double *factor;
    if (norm == GNN_GRAPH_NORM_NONE)
        return GNN_OK;
    GNN_TRY(gnn__new(&factor, t->n, sizeof *factor, "degrees"));
    for (int64_t i = 0; i < t->n; i++) {
        double degree = 0;
        for (int64_t k = t->indptr[i]; k < t->indptr[i + 1]; k++)
            degree += t->values[k];
        factor[i] = inverse(degree, norm);
    }
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = t->indptr[i]; k < t->indptr[i + 1]; k++)
            t->values[k] *=
                factor[i] * (norm == GNN_GRAPH_NORM_SYMMETRIC ? factor[t->indices[k]] : 1);
    gnn_free(factor);
    return GNN_OK;
}

/* ---- one column ---- */

typedef struct {
    double value;
    int32_t node;
} entry_t;

/* Workspace of one thread. */
typedef struct {
    double *sum, *walk[2]; /* (n): zero between columns */
    int32_t *reached, *front[2];
    uint8_t *seen, *ahead; /* (n): 1 for nodes in `reached`; in the next front */
    entry_t *kept;
} column_t;

static void column_free(column_t *c)
{
    gnn_free(c->sum);
    gnn_free(c->reached);
    gnn_free(c->seen);
    gnn_free(c->ahead);
    gnn_free(c->kept);
    for (int k = 0; k < 2; k++) {
        gnn_free(c->walk[k]);
        gnn_free(c->front[k]);
    }
}

static int column_new(column_t *c, int64_t n)
{
    GNN_TRY(gnn__new(&c->sum, n, sizeof *c->sum, "a diffusion"));
    GNN_TRY(gnn__new(&c->reached, n, sizeof *c->reached, "a diffusion"));
    GNN_TRY(gnn__new(&c->seen, n, sizeof *c->seen, "a diffusion"));
    GNN_TRY(gnn__new(&c->ahead, n, sizeof *c->ahead, "a diffusion"));
    GNN_TRY(gnn__new(&c->kept, n, sizeof *c->kept, "a diffusion"));
    for (int k = 0; k < 2; k++) {
        GNN_TRY(gnn__new(&c->walk[k], n, sizeof *c->walk[k], "a diffusion"));
        GNN_TRY(gnn__new(&c->front[k], n, sizeof *c->front[k], "a diffusion"));
    }
    return GNN_OK;
}

/* One step of all walks of the front; entries that the remaining coefficients cannot raise above
 * the tolerance end. Returns the size of the next front. */
static int64_t step(const matrix_t *t, column_t *c, int from, int64_t count, double least)
{
    double *now = c->walk[from], *next = c->walk[!from];
    int32_t *front = c->front[!from];
    int64_t found = 0;
    for (int64_t f = 0; f < count; f++) {
        const int32_t i = c->front[from][f];
        const double value = now[i];
        now[i] = 0;
        for (int64_t k = value > least ? t->indptr[i] : t->indptr[i + 1]; k < t->indptr[i + 1]; k++) {
            const int32_t j = t->indices[k];
            next[j] += value * t->values[k];
            if (!c->ahead[j])
                front[found++] = j;
            c->ahead[j] = 1;
        }
    }
    for (int64_t f = 0; f < found; f++)
        c->ahead[front[f]] = 0;
    return found;
}

/* Column i of S into c->sum; returns the count of nodes that were reached. */
static int64_t column(const matrix_t *t, const gnn_diffusion_t *d, int64_t i, column_t *c)
{
    const double alpha = (double)d->alpha, time = (double)d->time;
    double theta = d->kind == GNN_DIFFUSION_HEAT ? exp(-time) : alpha, rest = 1;
    int64_t reached = 0, count = 1;
    c->walk[0][i] = 1;
    c->front[0][0] = (int32_t)i;
    for (int k = 0; count > 0; k++) {
        const int from = k % 2;
        for (int64_t f = 0; f < count; f++) {
            const int32_t j = c->front[from][f];
            c->sum[j] += theta * c->walk[from][j];
            if (!c->seen[j])
                c->reached[reached++] = j;
            c->seen[j] = 1;
        }
        rest -= theta;
        theta *= d->kind == GNN_DIFFUSION_HEAT ? time / (k + 1) : 1 - alpha;
        const bool over = rest <= 0 || k == MOST_STEPS;
        count = step(t, c, from, count, over ? INFINITY : (double)d->tolerance / rest);
    }
    return reached;
}

static int by_value(const void *a, const void *z)
{
    const entry_t *x = a, *y = z;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_node(const void *a, const void *z)
{
    return by_number(&((const entry_t *)a)->node, &((const entry_t *)z)->node);
}

/* Writes entries of at least `least`, at most d->top, to c->kept by node; resets the column to
 * 0. */
static int64_t keep(const gnn_diffusion_t *d, double least, int64_t reached, column_t *c)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < reached; k++) {
        const int32_t j = c->reached[k];
        if (c->sum[j] > 0 && c->sum[j] >= least)
            c->kept[kept++] = (entry_t){c->sum[j], j};
        c->sum[j] = 0;
        c->seen[j] = 0;
    }
    if (d->top > 0 && kept > d->top) {
        qsort(c->kept, (size_t)kept, sizeof *c->kept, by_value);
        kept = d->top;
    }
    qsort(c->kept, (size_t)kept, sizeof *c->kept, by_node);
    return kept;
}

/* ---- all columns ---- */

typedef struct {
    entry_t **rows; /* (n): entries of each row */
    int64_t *counts;
    double least; /* weaker entries are dropped */
} kept_t;

static int keep_column(const matrix_t *t, const gnn_diffusion_t *d, int64_t i, column_t *c,
                       kept_t *all)
{
    const int64_t count = keep(d, all->least, column(t, d, i, c), c);
    GNN_TRY(gnn__new(&all->rows[i], count, sizeof **all->rows, "a diffused graph"));
    if (count > 0)
        memcpy(all->rows[i], c->kept, (size_t)count * sizeof *c->kept);
    all->counts[i] = count;
    return GNN_OK;
}

/* Every thread owns its columns, so results do not depend on threads. */
static int keep_rows(const matrix_t *t, const gnn_diffusion_t *d, int64_t begin, int64_t end,
                     int threads, column_t *own, int *failed, kept_t *all)
{
    GNN__PARALLEL_FOR_AS (threads, schedule(static, 1), int k = 0; k < threads; k++)
        for (int64_t i = begin + k; failed[k] == GNN_OK && i < end; i += threads)
            failed[k] = keep_column(t, d, i, &own[k], all);
    for (int k = 0; k < threads; k++)
        if (failed[k] != GNN_OK)
            return gnn__error(failed[k], "no memory for a diffused graph");
    return GNN_OK;
}

static int strongest_first(const void *a, const void *z)
{
    const double x = *(const double *)a, y = *(const double *)z;
    return (x < y) - (x > y);
}

/* Drops entries below all->least from rows 0 to n - 1. */
static int drop_weak(kept_t *all, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        entry_t *few, *row = all->rows[i];
        int64_t count = 0;
        for (int64_t k = 0; k < all->counts[i]; k++)
            if (row[k].value >= all->least)
                row[count++] = row[k];
        if (count == all->counts[i])
            continue;
        GNN_TRY(gnn__new(&few, count, sizeof *few, "a diffused graph"));
        if (count > 0)
            memcpy(few, row, (size_t)count * sizeof *few);
        gnn_free(row);
        all->rows[i] = few;
        all->counts[i] = count;
    }
    return GNN_OK;
}

/* Raises all->least if rows 0 to n - 1 have more than `wanted` pairs: to the strongest that is not
 * wanted, since weaker ones cannot be among the strongest; at the end to the middle between it and
 * the weakest that is wanted. */
static int raise_least(kept_t *all, int64_t n, int64_t wanted, bool end)
{
    double *values;
    int64_t count = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        count += all->counts[i];
    if (count <= wanted || (!end && count / 4 < wanted))
        return GNN_OK;
    GNN_TRY(gnn__new(&values, count, sizeof *values, "weights of pairs"));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < all->counts[i]; k++)
            values[at++] = all->rows[i][k].value;
    qsort(values, (size_t)count, sizeof *values, strongest_first);
    all->least = end ? (values[wanted - 1] + values[wanted]) / 2 : values[wanted];
    gnn_free(values);
    return drop_weak(all, n);
}

static int keep_all(const matrix_t *t, const gnn_diffusion_t *d, gnn_context_t *context, kept_t *all)
{
    const int threads = gnn__threads(context, INT64_MAX / 4);
    const int64_t at_once = d->average > 0 ? ROWS_AT_ONCE : t->n;
    column_t *own = NULL;
    int64_t wanted = INT64_MAX;
    int rc, *failed = NULL;
    if (d->average > 0 && !gnn__mul(d->average, t->n, &wanted))
        wanted = INT64_MAX;
    all->least = (double)d->threshold;
    GNN_CHECK(gnn__new(&own, threads, sizeof *own, "a diffusion"));
    GNN_CHECK(gnn__new(&failed, threads, sizeof *failed, "a diffusion"));
    for (int k = 0; k < threads; k++)
        GNN_CHECK(column_new(&own[k], t->n));
    for (int64_t begin = 0, end; begin < t->n; begin = end) {
        end = t->n - begin > at_once ? begin + at_once : t->n;
        GNN_CHECK(keep_rows(t, d, begin, end, threads, own, failed, all));
        GNN_CHECK(raise_least(all, end, wanted, end == t->n));
    }
done:
    for (int k = 0; own && k < threads; k++)
        column_free(&own[k]);
    gnn_free(own);
    gnn_free(failed);
    return rc;
}

/* The kept entries as a CSR matrix. */
static int to_matrix(matrix_t *s, const kept_t *all)
{
    int64_t m = 0, at = 0;
    for (int64_t i = 0; i < s->n; i++)
        m += all->counts[i];
    GNN_TRY(gnn__new(&s->indptr, s->n + 1, sizeof *s->indptr, "a diffused graph"));
    GNN_TRY(gnn__new(&s->indices, m, sizeof *s->indices, "a diffused graph"));
    GNN_TRY(gnn__new(&s->values, m, sizeof *s->values, "a diffused graph"));
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = 0; k < all->counts[i]; k++, at++) {
            s->indices[at] = all->rows[i][k].node;
            s->values[at] = all->rows[i][k].value;
        }
        s->indptr[i + 1] = at;
    }
    return GNN_OK;
}

static int deliver(gnn_graph_t **graph, gnn_real_t **weight, const matrix_t *s)
{
    const int64_t m = s->indptr[s->n];
    GNN_TRY(gnn__new(weight, m, sizeof **weight, "weights of a diffused graph"));
    for (int64_t k = 0; k < m; k++)
        (*weight)[k] = (gnn_real_t)s->values[k];
    const int rc = gnn_graph_from_csr(graph, s->n, s->n, s->indptr, s->indices);
    if (rc != GNN_OK) {
        gnn_free(*weight);
        *weight = NULL;
    }
    return rc;
}

int gnn_graph_diffuse(gnn_graph_t **graph, gnn_real_t **weight, const gnn_graph_t *of,
                      const gnn_real_t *edge_weight, gnn_context_t *context,
                      const gnn_diffusion_t *config)
{
    gnn_diffusion_t d = config ? *config : (gnn_diffusion_t){0};
    matrix_t t = {0}, s = {0};
    kept_t all = {0};
    int rc;
    GNN__NEED(graph);
    GNN__NEED(weight);
    GNN__NEED(of);
    *graph = NULL;
    *weight = NULL;
    GNN_TRY(resolve(&d));
    GNN_TRY(check(of, edge_weight));
    t.n = s.n = of->n_dst;
    GNN_CHECK(gather(&t, of, edge_weight, (double)d.loop_weight));
    GNN_CHECK(normalise(&t, d.norm_in));
    GNN_CHECK(gnn__new(&all.rows, t.n, sizeof *all.rows, "a diffused graph"));
    GNN_CHECK(gnn__new(&all.counts, t.n, sizeof *all.counts, "a diffused graph"));
    GNN_CHECK(keep_all(&t, &d, context, &all));
    GNN_CHECK(to_matrix(&s, &all));
    GNN_CHECK(normalise(&s, d.norm_out));
    GNN_CHECK(deliver(graph, weight, &s));
done:
    for (int64_t i = 0; all.rows && i < t.n; i++)
        gnn_free(all.rows[i]);
    gnn_free(all.rows);
    gnn_free(all.counts);
    matrix_free(&t);
    matrix_free(&s);
    return rc;
}
