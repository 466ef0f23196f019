/* Values, graphs and steps of the gallery's entries, by the names of a case's arrays. */
#include "zoo_run.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- names ---- */

const char *zoo_named(const char *format, ...)
{
    static char text[256][48];
    static int next;
    char *at = text[next++ % 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(at, sizeof text[0], format, arguments);
    va_end(arguments);
    return at;
}

/* A name that lives as long as the case. */
static const char *kept(zoo_t *z, const char *name)
{
    gallery_t *y = z->gallery;
    ck_assert_int_lt(y->n_names, VALUES);
    snprintf(y->names[y->n_names], sizeof y->names[0], "%s", name);
    return y->names[y->n_names++];
}

/* ---- sizes ---- */

bool zoo_has(zoo_t *z, const char *array)
{
    return golden_has(&z->g, array);
}

int64_t zoo_shape(zoo_t *z, const char *array, int axis)
{
    const gnn_array_t *a = golden_array(&z->g, array);
    return a->shape[axis < 0 ? a->ndim + axis : axis];
}

int64_t *zoo_integers(zoo_t *z, const char *array, int64_t *count)
{
    return golden_integers(&z->g, array, count);
}

int64_t *zoo_integers_of(zoo_t *z, const char *array, int64_t count)
{
    int64_t own, *x = golden_integers(&z->g, array, &own);
    ck_assert_msg(own == count, "array \"%s\" has %lld elements, expected %lld", array,
                  (long long)own, (long long)count);
    return x;
}

/* Lengths of segments that have all rows of x or of mem. */
static int64_t *lengths_of(zoo_t *z, const char *array, const char *rows, int64_t *count)
{
    int64_t sum = 0, *lengths = golden_integers(&z->g, array, count);
    for (int64_t s = 0; s < *count; s++) {
        ck_assert_msg(lengths[s] >= 0, "element %lld of \"%s\" is %lld", (long long)s, array,
                      (long long)lengths[s]);
        sum += lengths[s];
    }
    ck_assert_msg(!zoo_has(z, rows) || sum == COUNT(rows),
                  "\"%s\" adds up to %lld, \"%s\" has %lld rows", array, (long long)sum, rows,
                  (long long)COUNT(rows));
    return lengths;
}

int64_t *zoo_segments_mem(zoo_t *z)
{
    int64_t count, segments, *lengths = lengths_of(z, "lengths_mem", "mem", &count);
    zoo_segments(z, &segments);
    ck_assert_msg(count == segments, "x has %lld segments, mem has %lld", (long long)segments,
                  (long long)count);
    return lengths;
}

/* A case without lengths is one segment of all rows. */
int64_t *zoo_segments(zoo_t *z, int64_t *count)
{
    if (golden_has(&z->g, "lengths"))
        return lengths_of(z, "lengths", "x", count);
    int64_t *one = zoo_room(z, 1);
    one[0] = COUNT("x");
    *count = 1;
    return one;
}

int64_t zoo_longest(zoo_t *z)
{
    int64_t count, most = 0, *lengths = zoo_segments(z, &count);
    for (int64_t s = 0; s < count; s++)
        most = lengths[s] > most ? lengths[s] : most;
    return most;
}

void zoo_one_segment(zoo_t *z)
{
    int64_t count;
    zoo_segments(z, &count);
    ck_assert_msg(count == 1, "the entry has one segment, lengths has %lld", (long long)count);
}

void zoo_divides(zoo_t *z, const char *number, int64_t count)
{
    ck_assert_msg(N(number) > 0 && count % N(number) == 0, "%s is %lld, which does not divide %lld",
                  number, (long long)N(number), (long long)count);
}

double zoo_element(zoo_t *z, const char *array, int64_t k)
{
    const gnn_array_t *a = golden_array(&z->g, array);
    ck_assert_msg(k >= 0 && k < a->count,
                  "array \"%s\" has %lld elements, the entry reads element %lld", array,
                  (long long)a->count, (long long)k);
    return gnn_array_get(a, k);
}

int32_t *zoo_room32(zoo_t *z, int64_t count)
{
    return (int32_t *)zoo_room(z, count);
}

int64_t *zoo_room(zoo_t *z, int64_t count)
{
    return golden_own(&z->g, sizeof(int64_t) * ((size_t)count + 1));
}

int64_t *zoo_positions(zoo_t *z)
{
    int64_t count, row = 0, *lengths = zoo_segments(z, &count), *at = zoo_room(z, COUNT("x"));
    for (int64_t s = 0; s < count; s++)
        for (int64_t p = 0; p < lengths[s]; p++)
            at[row++] = p;
    return at;
}

/* ---- graphs ---- */

static gnn_graph_t **next_slot(zoo_t *z)
{
    ck_assert_int_lt(z->n_graphs, GRAPHS);
    return &z->graphs[z->n_graphs++];
}

int zoo_bipartite(zoo_t *z, int64_t segments, const int64_t *dst, const int64_t *src)
{
    ck_ok(gnn_graph_bipartite(next_slot(z), segments, dst, src));
    return z->n_graphs - 1;
}

int zoo_complete_of(zoo_t *z, int64_t segments, const int64_t *lengths)
{
    ck_ok(gnn_graph_complete(next_slot(z), segments, lengths));
    return z->n_graphs - 1;
}

int zoo_complete(zoo_t *z)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    return zoo_complete_of(z, count, lengths);
}

int zoo_causal(zoo_t *z)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    ck_ok(gnn_graph_causal(next_slot(z), count, lengths));
    return z->n_graphs - 1;
}

int zoo_window(zoo_t *z, int64_t width, int64_t dilation, gnn_flag_t causal)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    ck_ok(gnn_graph_window(next_slot(z), count, lengths, width, dilation, causal));
    return z->n_graphs - 1;
}

int zoo_topology(zoo_t *z, const char *name, const char *options)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    ck_ok(gnn_graph_topology(next_slot(z), name, count, lengths, options));
    return z->n_graphs - 1;
}

int zoo_chain(zoo_t *z, const char *lengths)
{
    int64_t count, *each_length = zoo_integers(z, lengths, &count);
    ck_ok(gnn_graph_window(next_slot(z), count, each_length, 1, 1, GNN_ON));
    return z->n_graphs - 1;
}

int zoo_across(zoo_t *z)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    return zoo_bipartite(z, count, lengths, zoo_segments_mem(z));
}

static int64_t *each(zoo_t *z, int64_t number)
{
    int64_t count, *lengths = zoo_segments(z, &count), *all = zoo_room(z, count);
    (void)lengths;
    for (int64_t s = 0; s < count; s++)
        all[s] = number;
    return all;
}

int zoo_pool(zoo_t *z, int64_t rows)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    return zoo_bipartite(z, count, each(z, rows), lengths);
}

int zoo_unpool(zoo_t *z, int64_t rows)
{
    int64_t count, *lengths = zoo_segments(z, &count);
    return zoo_bipartite(z, count, lengths, each(z, rows));
}

int zoo_among(zoo_t *z, int64_t rows)
{
    int64_t count;
    zoo_segments(z, &count);
    return zoo_complete_of(z, count, each(z, rows));
}

int zoo_whole(zoo_t *z, int64_t rows)
{
    const int64_t one = 1;
    return zoo_bipartite(z, 1, &one, &rows);
}

int zoo_edges_of(zoo_t *z, int64_t n_dst, int64_t n_src, int64_t m, const int64_t *src,
                 const int64_t *dst)
{
    ck_ok(gnn_graph_from_edges(next_slot(z), n_dst, n_src, m, src, dst));
    return z->n_graphs - 1;
}

int zoo_edges(zoo_t *z)
{
    int64_t m, *src = zoo_integers(z, "src", &m), *dst = zoo_integers_of(z, "dst", m);
    return zoo_edges_of(z, COUNT("x"), zoo_has(z, "mem") ? COUNT("mem") : COUNT("x"), m, src, dst);
}

int zoo_as_edges(zoo_t *z, int slot)
{
    ck_ok(gnn_graph_to_edges(next_slot(z), z->graphs[slot]));
    return z->n_graphs - 1;
}

int zoo_itself(zoo_t *z, int64_t rows)
{
    int64_t *own = zoo_room(z, rows);
    for (int64_t i = 0; i < rows; i++)
        own[i] = i;
    return zoo_edges_of(z, rows, rows, rows, own, own);
}

int zoo_incidence(zoo_t *z)
{
    const gnn_graph_t *of = z->graphs[z->n_graphs - 1];
    ck_ok(gnn_graph_incidence(next_slot(z), of));
    return z->n_graphs - 1;
}

int64_t zoo_pairs(zoo_t *z, int slot, int64_t **src, int64_t **dst)
{
    const int64_t m = gnn_graph_n_pairs(z->graphs[slot]);
    *src = zoo_room(z, m);
    *dst = zoo_room(z, m);
    ck_ok(gnn_graph_pairs(z->graphs[slot], *src, *dst, NULL));
    return m;
}

static int64_t clamped(int64_t value, int64_t low, int64_t high)
{
    value = value < low ? low : value;
    return value > high ? high : value;
}

int zoo_spans(zoo_t *z, span_t (*span)(zoo_t *z, int64_t at, int64_t length, int64_t senders))
{
    int64_t count, *lengths = zoo_segments(z, &count), *across = lengths, row = 0, from = 0;
    if (zoo_has(z, "mem"))
        across = zoo_segments_mem(z);
    int32_t *low = calloc((size_t)(2 * COUNT("x") + 1), sizeof *low), *high = low + COUNT("x");
    for (int64_t s = 0; s < count; from += across[s++])
        for (int64_t at = 0; at < lengths[s]; at++, row++) {
            const span_t part = span(z, at, lengths[s], across[s]);
            low[row] = (int32_t)(from + clamped(part.from, 0, across[s]));
            high[row] = (int32_t)(from + clamped(part.to, 0, across[s]));
            high[row] = high[row] < low[row] ? low[row] : high[row];
        }
    ck_ok(gnn_graph_from_spans(next_slot(z), row, from, NULL, NULL, low, high));
    free(low);
    return z->n_graphs - 1;
}

int zoo_spans_of(zoo_t *z, int64_t n_dst, int64_t n_src, const int32_t *low, const int32_t *high)
{
    ck_ok(gnn_graph_from_spans(next_slot(z), n_dst, n_src, NULL, NULL, low, high));
    return z->n_graphs - 1;
}

int zoo_merge(zoo_t *z, int count)
{
    gnn_graph_t *whole = NULL, **parts = &z->graphs[z->n_graphs - count];
    ck_ok(gnn_graph_merge(&whole, count, (const gnn_graph_t *const *)parts));
    for (int k = 0; k < count; k++)
        gnn_graph_free(parts[k]);
    parts[0] = whole;
    z->n_graphs -= count - 1;
    return z->n_graphs - 1;
}

/* ---- values ---- */

static void add_dense(zoo_t *z, const char *name, gnn_tensor_t t, bool wants_grad)
{
    ck_assert_int_lt(z->n_values, VALUES);
    z->tensors[z->n_values] = t;
    z->values[z->n_values] = (gnn_named_t){
        .name = kept(z, name), .dense = &z->tensors[z->n_values], .wants_grad = wants_grad};
    z->n_values++;
}

gnn_real_t *zoo_constant(zoo_t *z, const char *name, int64_t rows, int64_t cols)
{
    gnn_real_t *data = golden_reals(&z->g, rows * cols);
    memset(data, 0, sizeof *data * (size_t)(rows * cols));
    add_dense(z, name, gnn_tensor(data, rows, cols), false);
    return data;
}

void zoo_filled(zoo_t *z, const char *name, int64_t rows, int64_t cols, double value)
{
    gnn_real_t *data = zoo_constant(z, name, rows, cols);
    for (int64_t k = 0; k < rows * cols; k++)
        data[k] = (gnn_real_t)value;
}

void zoo_identity(zoo_t *z, const char *name, int64_t n)
{
    gnn_real_t *data = zoo_constant(z, name, n, n);
    for (int64_t k = 0; k < n; k++)
        data[k * n + k] = 1;
}

static bool wants_gradient(zoo_t *z, const char *array)
{
    char gradient[72];
    snprintf(gradient, sizeof gradient, "d%s", array);
    return golden_has(&z->g, gradient);
}

void zoo_row(zoo_t *z, const char *array)
{
    gnn_tensor_t t = golden_tensor(&z->g, array);
    add_dense(z, array, gnn_tensor(t.data, 1, t.rows * t.cols), wants_gradient(z, array));
}

int32_t *zoo_ids(zoo_t *z, const char *name, int64_t count)
{
    int32_t *ids = golden_own(&z->g, sizeof *ids * ((size_t)count + 1));
    ck_assert_int_lt(z->n_values, VALUES);
    z->values[z->n_values++] = (gnn_named_t){.name = kept(z, name), .ids = ids, .count = count};
    return ids;
}

/* An array that the model reads and that no entry declared. */
static void add_array(zoo_t *z, const char *name)
{
    const gnn_array_t *a = golden_array(&z->g, name);
    const bool integers = a->dtype == GNN_DTYPE_INT64 || a->dtype == GNN_DTYPE_INT32;
    if (!integers) {
        add_dense(z, name, golden_tensor(&z->g, name), wants_gradient(z, name));
        return;
    }
    int32_t *ids = zoo_ids(z, name, a->count);
    for (int64_t k = 0; k < a->count; k++)
        ids[k] = (int32_t)gnn_array_get(a, k);
}

void zoo_add_inputs(zoo_t *z)
{
    for (int64_t k = 0; k < gnn_model_input_count(z->model); k++) {
        const char *name = gnn_model_input_name(z->model, k);
        bool given = false;
        for (int v = 0; v < z->n_values; v++)
            given = given || strcmp(z->values[v].name, name) == 0;
        if (!given)
            add_array(z, name);
    }
}

/* ---- steps ---- */

void zoo_feed_forward(zoo_t *z, const char *name, const char *x, const char *suffix,
                      gnn_activation_t activation)
{
    /* "1." stands before the names of the arrays, "1" behind them. */
    const bool before = strchr(suffix, '.') != NULL;
    const char *first = before ? NAMED("%sW1", suffix) : NAMED("W1%s", suffix),
               *second = before ? NAMED("%sW2", suffix) : NAMED("W2%s", suffix),
               *inner = NAMED("%s:inner", name);
    const int64_t hidden = zoo_shape(z, NAMED("w.%s", first), 0),
                  d = zoo_shape(z, NAMED("w.%s", first), 1),
                  out = zoo_shape(z, NAMED("w.%s", second), 0);
    AFFINE(first, x, d, hidden);
    STEP(ACTIVATION, inner, .inputs = {first}, .activation = activation);
    AFFINE(second, inner, hidden, out);
    SCALE(name, second, 1);
}

/* One step of at most eight values, names[0] to names[count - 1]. */
static void add_group(zoo_t *z, gnn_step_kind_t kind, const char *name, char (*names)[48],
                      int64_t count)
{
    gnn_step_t step = {.kind = count > 1 ? kind : GNN_STEP_SCALE, .name = name};
    for (int64_t k = 0; k < count; k++)
        step.inputs[k] = names[k];
    zoo_add(z, step);
}

/* Of more than eight values, groups of eight are values in turn. */
static void gather(zoo_t *z, gnn_step_kind_t kind, const char *name, const char *prefix, int64_t count)
{
    char part[512][48];
    ck_assert_int_le(count, 512);
    for (int64_t k = 0; k < count; k++)
        snprintf(part[k], sizeof part[k], "%.24s%d", prefix, (int)k);
    for (int round = 0; count > 8; round++) {
        int64_t made = 0;
        for (int64_t k = 0; k < count; k += 8, made++) {
            char joined[48];
            snprintf(joined, sizeof joined, "%.24s:%d.%d", name, round, (int)made);
            add_group(z, kind, joined, part + k, count - k < 8 ? count - k : 8);
            memcpy(part[made], joined, sizeof joined);
        }
        count = made;
    }
    add_group(z, kind, name, part, count);
}

void zoo_concat(zoo_t *z, const char *name, const char *prefix, int64_t count)
{
    gather(z, GNN_STEP_CONCAT, name, prefix, count);
}

void zoo_stack(zoo_t *z, const char *name, const char *prefix, int64_t count)
{
    gather(z, GNN_STEP_STACK, name, prefix, count);
}

void zoo_maximum(zoo_t *z, const char *name, const char *prefix, int64_t count)
{
    gather(z, GNN_STEP_MAXIMUM, name, prefix, count);
}

void zoo_sum(zoo_t *z, const char *name, const char *prefix, int64_t count)
{
    char of[48], sum[48] = "";
    snprintf(of, sizeof of, "%s", prefix);
    if (count == 1)
        SCALE(name, NAMED("%s0", of), 1);
    for (int64_t k = 1; k < count; k++) {
        const char *next = k + 1 == count ? name : NAMED("%s:%d", name, (int)k);
        ADD(next, k > 1 ? sum : NAMED("%s0", of), NAMED("%s%d", of, (int)k));
        snprintf(sum, sizeof sum, "%s", next);
    }
}

bool zoo_step_exists(zoo_t *z, const char *name)
{
    const gnn_step_t *list = gnn_steps_list(z->steps);
    for (int64_t k = 0; k < gnn_steps_count(z->steps); k++)
        if (list[k].name && strcmp(list[k].name, name) == 0)
            return true;
    return false;
}

void zoo_relation_bias(zoo_t *z, const char *name, int slot, const char *q, const char *table,
                       int64_t relations, int64_t heads, int64_t width, const int64_t *ids)
{
    const int64_t n = gnn_graph_n_dst(z->graphs[slot]), m = gnn_graph_n_edges(z->graphs[slot]);
    gnn_real_t *chosen = zoo_constant(z, "chosen", m, heads * relations);
    for (int64_t e = 0; e < m; e++)
        for (int64_t h = 0; h < heads; h++)
            chosen[(e * heads + h) * relations + ids[e]] = 1;
    zoo_identity(z, "each relation", relations);
    ATTEND("q.t", zoo_bipartite(z, 1, &n, &relations), q, table, "each relation", relations,
           .heads = heads, .key_heads = 1, .value_heads = 1, .d_k = width, .d_v = relations,
           .weigher = &gnn_weigher_linear);
    EDGE_ROWS("q.t of edges", slot, "q.t", RECEIVERS);
    MULTIPLY("q.t chosen", "q.t of edges", "chosen");
    OP(name, head_sum, "q.t chosen", (double)heads);
}

void zoo_beside(zoo_t *z, const char *name, const char *x, const char *y, int64_t heads, int64_t width)
{
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("%s.x%d", name, h), x, h * width, width);
        COLUMNS(NAMED("%s.y%d", name, h), y, h * width, width);
        CONCAT(NAMED("%s.both%d", name, h), NAMED("%s.x%d", name, h), NAMED("%s.y%d", name, h));
    }
    zoo_concat(z, name, NAMED("%s.both", name), heads);
}

bool zoo_given(const zoo_t *z, const char *name)
{
    for (int v = 0; v < z->n_values; v++)
        if (strcmp(z->values[v].name, name) == 0)
            return true;
    return false;
}

void zoo_shift(zoo_t *z, const char *name, const char *x, int64_t offset)
{
    const char *at = NAMED("at%+d", (int)offset);
    int64_t count, row = 0, *lengths = zoo_segments(z, &count);
    if (!zoo_given(z, at)) {
        int32_t *ids = zoo_ids(z, at, COUNT("x"));
        for (int64_t s = 0; s < count; s++)
            for (int64_t p = 0; p < lengths[s]; p++, row++)
                ids[row] = p + offset < 0 || p + offset >= lengths[s] ? -1 : (int32_t)(row + offset);
    }
    PICK(name, x, at);
}

void zoo_grid_shift(zoo_t *z, const char *name, const char *x, int64_t down, int64_t right)
{
    const char *at = NAMED("at%+d%+d", (int)down, (int)right);
    const bool spectrum = zoo_has(z, "p.times");
    const int64_t rows = N(spectrum ? "p.times" : "p.rows"),
                  columns = N(spectrum ? "p.frequencies" : "p.columns"), n = COUNT("x");
    if (!zoo_given(z, at)) {
        int32_t *ids = zoo_ids(z, at, n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t r = i / columns % rows + down, c = i % columns + right;
            const bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
            ids[i] = inside ? (int32_t)(i + down * columns + right) : -1;
        }
    }
    PICK(name, x, at);
}

/* x moved, times the learned row of tap k. */
static void add_tap(zoo_t *z, const char *name, const char *array, int64_t k, int64_t taps)
{
    const char *tap = NAMED("%s.tap%d", name, (int)k);
    PARAMETER(tap, 1, zoo_shape(z, NAMED("w.%s", array), 0));
    BIND_TAP(NAMED("%s.rows", tap), array, k, taps);
    MULTIPLY(NAMED("%s.part%d", name, (int)k), NAMED("%s.moved%d", name, (int)k), tap);
}

void zoo_depthwise(zoo_t *z, const char *name, const char *x, const char *array, int64_t from,
                   int64_t to)
{
    for (int64_t o = from; o <= to; o++) {
        zoo_shift(z, NAMED("%s.moved%d", name, (int)(o - from)), x, o);
        add_tap(z, name, array, o - from, to - from + 1);
    }
    zoo_sum(z, name, NAMED("%s.part", name), to - from + 1);
}

void zoo_depthwise_grid(zoo_t *z, const char *name, const char *x, const char *array, int64_t reach)
{
    const int64_t side = 2 * reach + 1;
    for (int64_t k = 0; k < side * side; k++) {
        zoo_grid_shift(z, NAMED("%s.moved%d", name, (int)k), x, k / side - reach, k % side - reach);
        add_tap(z, name, array, k, side * side);
    }
    zoo_sum(z, name, NAMED("%s.part", name), side * side);
}

void zoo_unfold(zoo_t *z, const char *name, const char *x, int64_t from, int64_t to, int64_t step)
{
    for (int64_t o = from; o <= to; o++)
        zoo_shift(z, NAMED("%s.moved%d", name, (int)(o - from)), x, o * step);
    zoo_concat(z, name, NAMED("%s.moved", name), to - from + 1);
}

void zoo_unfold_grid(zoo_t *z, const char *name, const char *x, int64_t reach)
{
    const int64_t side = 2 * reach + 1;
    for (int64_t k = 0; k < side * side; k++)
        zoo_grid_shift(z, NAMED("%s.moved%d", name, (int)k), x, k / side - reach, k % side - reach);
    zoo_concat(z, name, NAMED("%s.moved", name), side * side);
}

void zoo_spread(zoo_t *z, const char *name, const char *x)
{
    int64_t count, row = 0, *lengths = zoo_segments(z, &count);
    if (!zoo_given(z, "segment")) {
        int32_t *ids = zoo_ids(z, "segment", COUNT("x"));
        for (int64_t s = 0; s < count; s++)
            for (int64_t p = 0; p < lengths[s]; p++)
                ids[row++] = (int32_t)s;
    }
    PICK(name, x, "segment");
}

gnn_real_t *zoo_rows_of_segment(zoo_t *z, const char *name)
{
    int64_t count, row = 0, first = 0, *lengths = zoo_segments(z, &count), most = zoo_longest(z);
    gnn_real_t *ids = zoo_constant(z, name, COUNT("x"), most);
    for (int64_t s = 0; s < count; first += lengths[s++])
        for (int64_t i = 0; i < lengths[s]; i++, row++)
            for (int64_t j = 0; j < most; j++)
                ids[row * most + j] = REAL(j < lengths[s] ? first + j : -1);
    return ids;
}

void zoo_some_rows(zoo_t *z, const char *name, const char *x, const char *running,
                   const char *weight, const char *bias, int64_t out, int64_t in)
{
    PARAMETER(weight, out, in), SET(NAMED("%s.rows", weight), weight);
    if (bias)
        PARAMETER(bias, 1, out);
    STEP(OP, name, .op = &gnn_op_grouped_product, .inputs = {x, weight, running, bias},
         .options = {1, 1});
}
