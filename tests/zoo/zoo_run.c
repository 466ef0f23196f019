/* Runs an entry of the gallery: on its golden case, and on drawn values of the same sizes. */
#include "zoo_run.h"

#include <graphs/graph.h>
#include <lib/data/arrays/arrays.h>
#include <float.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* ---- pairs ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void zoo_same_pairs(zoo_t *z, int slot)
{
    const gnn_graph_t *g = z->graphs[slot];
    const int64_t m = gnn_graph_n_pairs(g), n = gnn_graph_n_src(g);
    if (!zoo_has(z, "src"))
        return;
    int64_t count, *src = golden_integers(&z->g, "src", &count),
                   *dst = golden_integers(&z->g, "dst", NULL), *a = zoo_room(z, m),
                   *b = zoo_room(z, m);
    ck_assert_msg(m == count, "%s: %lld pairs, the case has %lld", z->g.name, (long long)m,
                  (long long)count);
    ck_ok(gnn_graph_pairs(g, a, b, NULL));
    for (int64_t k = 0; k < m; k++) {
        a[k] += b[k] * n;
        src[k] += dst[k] * n;
    }
    qsort(a, (size_t)m, sizeof *a, by_value);
    qsort(src, (size_t)m, sizeof *src, by_value);
    ck_assert_msg(memcmp(a, src, sizeof *a * (size_t)m) == 0, "%s: the pairs differ", z->g.name);
}

/* ---- golden cases ---- */

static void run_record(zoo_t *z)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    for (int k = 0; k < z->n_graphs; k++)
        ck_ok(gnn_model_prepare(z->model, k, z->graphs[k], GNN_ON));
    ck_ok(gnn_tape_new(&z->tape, z->g.context));
    gnn_tape_reset(z->tape, 1, 0);
    gnn_model_record_all(z->model, z->tape, &inputs, z->vars, z->outputs);
    ck_assert_msg(gnn_tape_status(z->tape) == GNN_OK, "%s: %s", z->g.name, gnn_error_message());
}

/* Moves inputs and parameters up or down by the last bit, as `seed` draws. */
static void move_last_bits(zoo_t *z, uint64_t seed)
{
    const double bit = GNN_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
    const int64_t fields = gnn_model_field_count(z->model);
    for (int64_t k = 0; k < z->n_values + fields; k++) {
        gnn_tensor_t t;
        if (k < z->n_values && !z->values[k].wants_grad)
            continue;
        if (k < z->n_values)
            t = *z->values[k].dense;
        else
            ck_ok(gnn_model_field(z->model, gnn_model_field_name(z->model, k - z->n_values), &t,
                                  NULL));
        for (int64_t e = 0; e < t.rows * t.cols; e++)
            gnn__row(&t, e / t.cols)[e % t.cols] *=
                (gnn_real_t)(test_uniform(&seed) > 0 ? 1 + bit : 1 - bit);
    }
}

void zoo_entry_build(zoo_t *z, gallery_t *gallery, const entry_t *entry)
{
    z->gallery = gallery;
    entry->build(z);
    ck_assert_msg(gnn_model_build(&z->model, z->g.context, z->steps) == GNN_OK, "%s: %s", z->g.name,
                  gnn_error_message());
    ck_assert_int_le(gnn_model_step_count(z->model), STEPS);
    zoo_add_inputs(z);
    zoo_bind_fields(z);
    zoo_fill_fields(z);
    if (gallery->moved > 0)
        move_last_bits(z, gallery->moved);
    run_record(z);
}

static gnn_var_t output_of(const zoo_t *z)
{
    return z->outputs[gnn_model_step_count(z->model) - 1];
}

/* gy has the shape of y in the file, which may be of more than two dimensions. */
static gnn_tensor_t seed_of(zoo_t *z)
{
    const gnn_var_t y = output_of(z);
    const gnn_tensor_t gy = golden_tensor(&z->g, "gy");
    const int64_t rows = gnn_tape_rows(z->tape, y), cols = gnn_tape_cols(z->tape, y);
    ck_assert_msg(rows * cols == gy.rows * gy.cols, "%s: the output is %lld x %lld, the case's %lld",
                  z->g.name, (long long)rows, (long long)cols, (long long)(gy.rows * gy.cols));
    return gnn_tensor(gy.data, rows, cols);
}

static bool run_golden(const entry_t *entry, golden_doubts_t *doubts, uint64_t moved)
{
    zoo_t z;
    if (!zoo_open(&z, entry->name))
        return false;
    gallery_t *gallery = calloc(1, sizeof *gallery);
    gallery->moved = moved, z.g.doubts = doubts, doubts->again = moved > 0;
    zoo_entry_build(&z, gallery, entry);
    const gnn_var_t y = output_of(&z);
    const gnn_tensor_t gy = seed_of(&z);
    gnn_tape_keep(z.tape, y);
    for (int k = 0; k < gallery->n_also; k++)
        gnn_tape_keep(z.tape, z.outputs[gnn_model_find(z.model, gallery->also[k].step)]);
    ck_ok(gnn_tape_forward(z.tape));
    const gnn_tensor_t value = gnn_tape_value(z.tape, y);
    const double tolerance = gallery->approximate ? 1e-5 : GOLDEN_OUT;
    golden_same(&z.g, "y", &value, tolerance);
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z.graphs, z.n_graphs, z.values,
                                       z.n_values};
    if (moved == 0)
        golden_keep_model(&z.g, z.model, &inputs, &value);
    for (int k = 0; k < gallery->n_also; k++) {
        const gnn_tensor_t also =
            gnn_tape_value(z.tape, z.outputs[gnn_model_find(z.model, gallery->also[k].step)]);
        golden_same(&z.g, gallery->also[k].array, &also, tolerance);
    }
    ck_ok(gnn_tape_backward(z.tape, y, &gy));
    zoo_compare_gradients(&z);
    zoo_close(&z);
    free(gallery);
    return true;
}

void zoo_entry_golden(const entry_t *entry)
{
    golden_doubts_t doubts = {.count = 0};
    char name[72];
    if (!run_golden(entry, &doubts, 0) || doubts.count == 0)
        return;
    for (uint64_t seed = 1; seed <= 4; seed++)
        run_golden(entry, &doubts, seed);
    snprintf(name, sizeof name, "zoo/%s", entry->name);
    golden_settle(&doubts, name);
}

/* ---- drawn values ---- */

/* The derivative of the steps is not that of the values: straight-through, stopped gradients, steps
 * of 0 and 1. */
static bool is_smooth(const zoo_t *z)
{
    for (int64_t k = 0; k < gnn_model_step_count(z->model); k++) {
        const gnn_step_t *s = gnn_model_step(z->model, k);
        if (s->kind == GNN_STEP_DETACH || s->op == &gnn_op_between ||
            s->layer.weigher == &gnn_weigher_best)
            return false;
    }
    return true;
}

typedef struct {
    gnn_tensor_t y, d_x, d_field;
    int64_t fields;
} result_t;

static gnn_tensor_t copy_of(const gnn_tensor_t *t)
{
    const gnn_tensor_t own =
        gnn_tensor(malloc(sizeof(gnn_real_t) * (size_t)(t->rows * t->cols + 1)), t->rows, t->cols);
    for (int64_t r = 0; r < t->rows; r++)
        memcpy(gnn__row(&own, r), gnn__row(t, r), sizeof(gnn_real_t) * (size_t)t->cols);
    return own;
}

static void run_both(zoo_t *z, gnn_tensor_t *y)
{
    const gnn_tensor_t gy = seed_of(z);
    gnn_tape_keep(z->tape, output_of(z));
    ck_ok(gnn_tape_forward(z->tape));
    const gnn_tensor_t value = gnn_tape_value(z->tape, output_of(z));
    *y = copy_of(&value);
    for (int64_t k = 0; k < y->rows * y->cols; k++)
        ck_assert_msg(isfinite((double)y->data[k]), "%s: an output is not finite", z->g.name);
    ck_ok(gnn_tape_backward(z->tape, output_of(z), &gy));
}

/* The same steps on the same pairs, stored as edges. */
static void turn_to_edges(zoo_t *z)
{
    for (int k = 0; k < z->n_graphs; k++) {
        gnn_graph_t *edges = NULL;
        if (!gnn__graph_part_is_spans(z->graphs[k], 0))
            continue;
        ck_ok(gnn_graph_to_edges(&edges, z->graphs[k]));
        gnn_graph_free(z->graphs[k]);
        z->graphs[k] = edges;
    }
    gnn_tape_free(z->tape);
    z->tape = NULL;
    run_record(z);
}

static void same_reals(const zoo_t *z, const char *what, const gnn_tensor_t *a,
                       const gnn_tensor_t *b, double least)
{
    const gallery_t *gallery = z->gallery;
    const double slack = gallery->slack > 0 ? gallery->slack : 1;
    double worst = 0, largest = least;
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->cols; c++) {
            const double x = (double)gnn__row(a, r)[c], y = (double)gnn__row(b, r)[c];
            ck_assert_msg(isfinite(x) && isfinite(y), "%s: %s is not finite", z->g.name, what);
            worst = fmax(worst, fabs(x - y));
            largest = fmax(largest, fabs(x));
        }
    ck_assert_msg(worst <= slack * TOLERANCE_GRAD * largest,
                  "%s: %s differs by %g of %g between spans and edges", z->g.name, what, worst,
                  largest);
}

static void same_on_edges(zoo_t *z, const gnn_tensor_t *y)
{
    gnn_tensor_t again, t, before[400];
    const int64_t fields = gnn_model_field_count(z->model);
    double largest = 0;
    ck_assert_int_le(fields, 400);
    for (int64_t k = 0; k < fields; k++) {
        ck_ok(gnn_model_field(z->model, gnn_model_field_name(z->model, k), NULL, &t));
        before[k] = copy_of(&t);
        for (int64_t e = 0; e < t.rows * t.cols; e++)
            largest = fmax(largest, fabs((double)before[k].data[e]));
    }
    gnn_parameters_zero_gradients(gnn_model_parameters(z->model));
    turn_to_edges(z);
    run_both(z, &again);
    same_reals(z, "the output", y, &again, 1e-30);
    for (int64_t k = 0; k < fields; k++) {
        const char *name = gnn_model_field_name(z->model, k);
        ck_ok(gnn_model_field(z->model, name, NULL, &t));
        same_reals(z, name, &before[k], &t, largest * 1e-2);
        free(before[k].data);
    }
    free(again.data);
}

static double weighed(zoo_t *z)
{
    const gnn_tensor_t gy = seed_of(z);
    double sum = 0;
    ck_ok(gnn_tape_forward(z->tape));
    const gnn_tensor_t y = gnn_tape_value(z->tape, output_of(z));
    for (int64_t r = 0; r < y.rows; r++)
        for (int64_t c = 0; c < y.cols; c++)
            sum += (double)gnn__row(&y, r)[c] * (double)gnn__row(&gy, r)[c];
    return sum;
}

/* Moves all fields by `step` times a direction that the seed draws. */
static void move_fields(zoo_t *z, double step, double *along)
{
    gnn_tensor_t t, d;
    uint64_t seed = 7;
    for (int64_t k = 0; k < gnn_model_field_count(z->model); k++) {
        ck_ok(gnn_model_field(z->model, gnn_model_field_name(z->model, k), &t, &d));
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++) {
                const double u = test_uniform(&seed);
                gnn__row(&t, r)[c] += (gnn_real_t)(step * u);
                if (along)
                    *along += u * (double)gnn__row(&d, r)[c];
            }
    }
}

/* In a double build: the derivative along one direction of all fields is the gradient's. */
static void same_as_differences(zoo_t *z)
{
    const double h = 1e-6;
    double along = 0;
    if (!GNN_DOUBLE || !is_smooth(z) || gnn_model_field_count(z->model) == 0)
        return;
    move_fields(z, 0, &along);
    move_fields(z, h, NULL);
    const double up = weighed(z);
    move_fields(z, -2 * h, NULL);
    const double down = weighed(z), found = (up - down) / (2 * h);
    ck_assert_msg(fabs(found - along) <= 1e-5 * fmax(1, fabs(along)),
                  "%s: the difference quotient is %.9g, the gradient gives %.9g", z->g.name, found,
                  along);
}

/* The model as a file holds it computes the same bits. */
static void same_from_file(zoo_t *z)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    const gnn_tensor_t like = seed_of(z);
    gnn_tensor_t out[2];
    gnn_model_t *loaded = NULL;
    char path[64];
    snprintf(path, sizeof path, "/tmp/gnn-gallery-%d.safetensors", (int)getpid());
    ck_assert_msg(gnn_model_save(z->model, path) == GNN_OK, "%s: %s", z->g.name, gnn_error_message());
    ck_assert_msg(gnn_model_load(&loaded, z->g.context, path) == GNN_OK, "%s: %s", z->g.name,
                  gnn_error_message());
    for (int k = 0; k < 2; k++) {
        out[k] = gnn_tensor(golden_reals(&z->g, like.rows * like.cols), like.rows, like.cols);
        ck_assert_msg(gnn_model_forward(k ? loaded : z->model, z->g.context, &inputs, &out[k]) ==
                          GNN_OK,
                      "%s: %s", z->g.name, gnn_error_message());
    }
    ck_assert_msg(memcmp(out[0].data, out[1].data,
                         sizeof *out[0].data * (size_t)(like.rows * like.cols)) == 0,
                  "%s: the model from a file computes another output", z->g.name);
    gnn_model_free(loaded);
    remove(path);
}

void zoo_entry_drawn(const entry_t *entry)
{
    zoo_t z;
    gnn_tensor_t y;
    memset(&z, 0, sizeof z);
    ck_assert_msg(zoo_draw(&z, entry->name, 1), "%s: tests/zoo/sizes.txt does not have this case",
                  entry->name);
    gallery_t *gallery = calloc(1, sizeof *gallery);
    zoo_entry_build(&z, gallery, entry);
    run_both(&z, &y);
    same_from_file(&z);
    same_on_edges(&z, &y);
    same_as_differences(&z);
    free(y.data);
    zoo_close(&z);
    free(gallery);
}

/* ---- cost ---- */

zoo_cost_t zoo_entry_cost(const entry_t *entry, int64_t times)
{
    zoo_t z;
    zoo_cost_t cost = {0};
    memset(&z, 0, sizeof z);
    ck_assert_int_eq(setenv("GNN_PROFILE", "1", 1), 0);
    ck_assert(zoo_draw(&z, entry->name, times));
    gallery_t *gallery = calloc(1, sizeof *gallery);
    zoo_entry_build(&z, gallery, entry);
    gnn_tape_keep(z.tape, output_of(&z));
    ck_ok(gnn_tape_forward(z.tape));
    ck_ok(gnn_tape_backward(z.tape, output_of(&z), NULL));
    cost.seconds = INFINITY;
    const gnn__profile_t *profile = z.g.context->profile;
    for (int64_t k = 0; k < profile->count; k++)
        cost.operations += profile->rows[k].flops + profile->rows[k].bytes / sizeof(gnn_real_t);
    for (int k = 0; k < 7; k++) {
        const clock_t start = clock();
        ck_ok(gnn_tape_forward(z.tape));
        ck_ok(gnn_tape_backward(z.tape, output_of(&z), NULL));
        cost.seconds = fmin(cost.seconds, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    cost.rows = zoo_has(&z, "x") ? zoo_shape(&z, "x", 0) : 0;
    unsetenv("GNN_PROFILE");
    zoo_close(&z);
    free(gallery);
    return cost;
}
