/* Golden cases: read, run by the importer's names, compared. */
#include "golden.h"

#include <lib/data/arrays/arrays.h>
#include <stdarg.h>

/* Cases of tests/pyg are the project's own. */
static const char *path_of(const char *name, char *own, size_t size)
{
    char file[96];
    const bool ours = strncmp(name, "pyg/", 4) == 0;
    snprintf(file, sizeof file, "%s.npz", name);
    snprintf(own, size, "%s/tests/%s", GNN_SOURCE_ROOT, file);
    return ours ? own : test_golden(file);
}

static double largest_of(const gnn_array_t *a)
{
    double largest = 0;
    for (int64_t i = 0; i < a->count; i++)
        largest = fmax(largest, fabs(gnn_array_get(a, i)));
    return largest;
}

/* All gradients of the file are 0: those of a float build are what rounding leaves of a sum. */
static double gradient_of_constant(const golden_t *g)
{
    double input = 0;
    char gradient[96];
    for (int64_t k = 0; k < g->arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(g->arrays, k);
        snprintf(gradient, sizeof gradient, "d%s", a->name);
        if (golden_has(g, gradient))
            input = fmax(input, largest_of(a));
    }
    const double loss = largest_of(golden_array(g, "y")) * largest_of(golden_array(g, "gy"));
    return input > 0 ? loss / input : 0;
}

bool golden_open(golden_t *g, const char *name)
{
    char own[1024];
    memset(g, 0, sizeof *g);
    snprintf(g->name, sizeof g->name, "%s", name);
    const char *path = path_of(name, own, sizeof own);
    if (!path) {
        test_skip(name, "no such golden file");
        return false;
    }
    ck_ok(gnn_npz_read(&g->arrays, path, NULL));
    ck_ok(gnn_context_new(&g->context, NULL));
    for (int64_t k = 0; k < g->arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(g->arrays, k);
        for (int64_t i = 0; a->name[0] == 'd' && strcmp(a->name, "dst") != 0 && i < a->count; i++)
            g->largest_gradient = fmax(g->largest_gradient, fabs(gnn_array_get(a, i)));
    }
    if (g->largest_gradient == 0 && golden_has(g, "y") && golden_has(g, "gy"))
        g->largest_gradient = gradient_of_constant(g);
    return true;
}

void golden_close(golden_t *g)
{
    for (int k = 0; k < g->n_owned; k++)
        free(g->owned[k]);
    free(g->owned);
    gnn_arrays_free(g->arrays);
    gnn_context_free(g->context);
}

/* Hyperparameters are "p.NAME" in files of the zoo, NAME in others. */
static const gnn_array_t *find(const golden_t *g, const char *name)
{
    const gnn_array_t *a = gnn_arrays_find(g->arrays, name);
    return a || strncmp(name, "p.", 2) != 0 ? a : gnn_arrays_find(g->arrays, name + 2);
}

bool golden_has(const golden_t *g, const char *name)
{
    return find(g, name) != NULL;
}

const gnn_array_t *golden_array(const golden_t *g, const char *name)
{
    const gnn_array_t *a = find(g, name);
    ck_assert_msg(a != NULL, "%s: the file has no array %s", g->name, name);
    return a;
}

void *golden_own(golden_t *g, size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    ck_assert_ptr_nonnull(memory);
    g->owned = realloc(g->owned, sizeof *g->owned * (size_t)(g->n_owned + 1));
    ck_assert_ptr_nonnull(g->owned);
    return g->owned[g->n_owned++] = memory;
}

/* Filled with NaN: elements that are not written fail every comparison. */
gnn_real_t *golden_reals(golden_t *g, int64_t count)
{
    gnn_real_t *x = golden_own(g, sizeof *x * (size_t)(count + 1));
    for (int64_t k = 0; k < count; k++)
        x[k] = (gnn_real_t)NAN;
    return x;
}

gnn_tensor_t golden_tensor(golden_t *g, const char *name)
{
    const gnn_array_t *a = golden_array(g, name);
    gnn_real_t *x = golden_reals(g, a->count);
    int64_t rows = a->ndim > 0 ? a->shape[0] : 1;
    gnn__array_reals(a, x);
    return gnn_tensor(x, rows, rows ? a->count / rows : 0);
}

int64_t *golden_integers(golden_t *g, const char *name, int64_t *count)
{
    const gnn_array_t *a = golden_array(g, name);
    int64_t *x = golden_own(g, sizeof *x * (size_t)(a->count + 1));
    for (int64_t k = 0; k < a->count; k++)
        x[k] = (int64_t)gnn_array_get(a, k);
    if (count)
        *count = a->count;
    return x;
}

/* Counts of elements are those of the file. */
static void add_doubt(golden_doubts_t *d, const char *name, const gnn_tensor_t *ours, double worst,
                      double limit)
{
    const size_t row = sizeof(gnn_real_t) * (size_t)ours->cols;
    ck_assert_int_lt(d->count, GOLDEN_DOUBTS);
    golden_doubt_t *a = &d->arrays[d->count++];
    snprintf(a->name, sizeof a->name, "%s", name);
    a->ours = malloc(row * (size_t)ours->rows + 1);
    ck_assert_ptr_nonnull(a->ours);
    for (int64_t r = 0; r < ours->rows; r++)
        memcpy(a->ours + r * ours->cols, gnn__row(ours, r), row);
    a->worst = worst, a->limit = limit, a->moved = 0;
}

static void add_moved(golden_doubts_t *d, const char *name, const gnn_tensor_t *ours)
{
    for (int k = 0; k < d->count; k++) {
        golden_doubt_t *a = &d->arrays[k];
        for (int64_t e = 0; strcmp(a->name, name) == 0 && e < ours->rows * ours->cols; e++) {
            const gnn_real_t now = gnn__row(ours, e / ours->cols)[e % ours->cols];
            a->moved = fmax(a->moved, fabs((double)a->ours[e] - (double)now));
        }
    }
}

void golden_settle(golden_doubts_t *doubts, const char *name)
{
    for (int k = 0; k < doubts->count; k++) {
        const golden_doubt_t *a = &doubts->arrays[k];
        if (getenv("GNN_GOLDEN_SHOW"))
            printf("%-28s %-48s %.1e above %.1e, moves %.1e\n", name, a->name, a->worst, a->limit,
                   a->moved);
        ck_assert_msg(a->worst <= 4 * a->moved,
                      "%s: %s differs by %g, at most %g; inputs that differ in the last bit move it "
                      "by %g only",
                      name, a->name, a->worst, a->limit, a->moved);
        free(a->ours);
    }
    doubts->count = 0;
}

void golden_same(const golden_t *g, const char *name, const gnn_tensor_t *ours, double tolerance)
{
    const gnn_array_t *a = golden_array(g, name);
    double worst = 0, largest = 0, noise = g->largest_gradient * (GNN_DOUBLE ? 1e-12 : 3e-6);
    ck_assert_msg(ours->data && ours->rows * ours->cols == a->count,
                  "%s: %s has %lld numbers, ours %lld x %lld (%s)", g->name, name,
                  (long long)a->count, (long long)ours->rows, (long long)ours->cols,
                  ours->data ? "there" : "absent");
    if (g->doubts && g->doubts->again) {
        add_moved(g->doubts, name, ours);
        return;
    }
    for (int64_t k = 0; k < a->count; k++) {
        double x = (double)gnn__row(ours, k / ours->cols)[k % ours->cols], y = gnn_array_get(a, k);
        ck_assert_msg(isfinite(x), "%s: %s: number %lld is %g, the file has %g", g->name, name,
                      (long long)k, x, y);
        worst = fmax(worst, fabs(x - y));
        largest = fmax(largest, fabs(y));
    }
    double limit = name[0] == 'd' ? fmax(noise, tolerance * largest) : tolerance * largest;
    if (getenv("GNN_GOLDEN_SHOW"))
        printf("%-28s %-48s %.1e of %.1e\n", g->name, name, largest > 0 ? worst / largest : worst,
               tolerance);
    const double scale = name[0] == 'd' ? fmax(largest, g->largest_gradient) : largest;
    if (g->doubts && worst > limit && worst <= GOLDEN_DOUBT * tolerance * scale) {
        add_doubt(g->doubts, name, ours, worst, limit);
        return;
    }
    ck_assert_msg(worst <= limit, "%s: %s differs by %g, the largest is %g: %g > %g", g->name, name,
                  worst, largest, worst / largest, tolerance);
}

/* ---- runs that are kept ---- */

enum { MOST_KEPT = 600 };

typedef struct {
    gnn_array_t arrays[MOST_KEPT];
    void *data[MOST_KEPT];
    char names[MOST_KEPT][96];
    int count;
} kept_t;

static void *keep(kept_t *kept, gnn_dtype_t dtype, int64_t rows, int64_t cols, const char *format,
                  ...) __attribute__((format(printf, 5, 6)));
static void *keep(kept_t *kept, gnn_dtype_t dtype, int64_t rows, int64_t cols, const char *format, ...)
{
    va_list arguments;
    ck_assert_int_lt(kept->count, MOST_KEPT);
    const int k = kept->count++;
    va_start(arguments, format);
    vsnprintf(kept->names[k], sizeof kept->names[k], format, arguments);
    va_end(arguments);
    kept->data[k] = malloc(sizeof(int64_t) * (size_t)(rows * cols + 1));
    kept->arrays[k] = (gnn_array_t){.name = kept->names[k],
                                    .dtype = dtype,
                                    .ndim = 2,
                                    .shape = {rows, cols},
                                    .count = rows * cols,
                                    .data = kept->data[k]};
    return kept->data[k];
}

static void keep_reals(kept_t *kept, const gnn_tensor_t *t, const char *name)
{
    double *to = keep(kept, GNN_DTYPE_FLOAT64, t->rows, t->cols, "%s", name);
    for (int64_t k = 0; k < t->rows * t->cols; k++)
        to[k] = (double)gnn__row(t, k / t->cols)[k % t->cols];
}

static void keep_integers(kept_t *kept, const int64_t *from, int64_t count, const char *name, int slot)
{
    int64_t *to = keep(kept, GNN_DTYPE_INT64, 1, count, "graph.%d.%s", slot, name);
    memcpy(to, from, sizeof *to * (size_t)count);
}

static void keep_graph(kept_t *kept, const gnn_graph_t *graph, int slot)
{
    const int64_t pairs = gnn_graph_n_pairs(graph), segments = gnn_graph_n_segments(graph),
                  size[2] = {gnn_graph_n_src(graph), gnn_graph_n_dst(graph)};
    int64_t *src = keep(kept, GNN_DTYPE_INT64, 1, pairs, "graph.%d.src", slot),
            *dst = keep(kept, GNN_DTYPE_INT64, 1, pairs, "graph.%d.dst", slot),
            *edge = keep(kept, GNN_DTYPE_INT64, 1, pairs, "graph.%d.edge", slot);
    ck_ok(gnn_graph_pairs(graph, src, dst, edge));
    keep_integers(kept, size, 2, "size", slot);
    if (segments > 0) {
        keep_integers(kept, gnn_graph_src_segments(graph), segments + 1, "src_segments", slot);
        keep_integers(kept, gnn_graph_dst_segments(graph), segments + 1, "dst_segments", slot);
    }
}

static void keep_value(kept_t *kept, const gnn_named_t *value)
{
    char name[80];
    if (value->dense) {
        snprintf(name, sizeof name, "value.%s", value->name);
        keep_reals(kept, value->dense, name);
    } else if (value->ids) {
        int64_t *to = keep(kept, GNN_DTYPE_INT64, 1, value->count, "ids.%s", value->name);
        for (int64_t k = 0; k < value->count; k++)
            to[k] = value->ids[k];
    }
}

void golden_keep_model(const golden_t *g, const gnn_model_t *model,
                       const gnn_model_inputs_t *inputs, const gnn_tensor_t *y)
{
    char path[1024], name[sizeof g->name];
    const char *folder = getenv("GNN_GOLDEN_MODELS");
    if (!folder)
        return;
    memcpy(name, g->name, sizeof name);
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '-' : *c;
    kept_t *kept = calloc(1, sizeof *kept);
    for (int k = 0; k < inputs->n_graphs; k++)
        keep_graph(kept, inputs->graphs[k], k);
    for (int64_t k = 0; k < inputs->n_values; k++)
        keep_value(kept, &inputs->values[k]);
    keep_reals(kept, y, "y");
    snprintf(path, sizeof path, "%s/%s.npz", folder, name);
    ck_ok(gnn_npz_write(path, kept->count, kept->arrays));
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    ck_ok(gnn_model_save(model, path));
    for (int k = 0; k < kept->count; k++)
        free(kept->data[k]);
    free(kept);
}

gnn_graph_t *golden_graph(golden_t *g, int64_t n)
{
    gnn_graph_t *graph = NULL;
    int64_t m, *src = golden_integers(g, "src", &m), *dst = golden_integers(g, "dst", NULL);
    ck_ok(gnn_graph_from_edges(&graph, n, n, m, src, dst));
    return graph;
}
