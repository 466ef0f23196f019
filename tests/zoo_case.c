/* Cases of the zoo: their arrays by name, compared with the library's. */
#include "zoo_case.h"

#include <lib/data/arrays/arrays.h>
#include <unistd.h>

bool zoo_open_base(zoo_t *z, const char *name)
{
    memset(z, 0, sizeof *z);
    if (!golden_open(&z->g, name))
        return false;
    ck_ok(gnn_steps_new(&z->steps));
    return true;
}

bool zoo_open(zoo_t *z, const char *name)
{
    char file[80], path[96];
    snprintf(file, sizeof file, "zoo/%s", name);
    snprintf(path, sizeof path, "%s.npz", file);
    return zoo_open_base(z, test_golden(path) ? file : name);
}

void zoo_close(zoo_t *z)
{
    gnn_tape_free(z->tape);
    gnn_model_free(z->model);
    gnn_steps_free(z->steps);
    for (int k = 0; k < z->n_graphs; k++)
        gnn_graph_free(z->graphs[k]);
    golden_close(&z->g);
}

void zoo_input(zoo_t *z, const char *name)
{
    z->tensors[z->n_values] = golden_tensor(&z->g, name);
    z->values[z->n_values] =
        (gnn_named_t){.name = name, .dense = &z->tensors[z->n_values], .wants_grad = 1};
    z->n_values++;
}

int64_t zoo_number(zoo_t *z, const char *name)
{
    return golden_integers(&z->g, name, NULL)[0];
}

int64_t zoo_cols(zoo_t *z, const char *name)
{
    const gnn_array_t *a = golden_array(&z->g, name);
    return a->shape[a->ndim - 1];
}

double zoo_real(zoo_t *z, const char *name)
{
    return gnn_array_get(golden_array(&z->g, name), 0);
}

/* An array with one element `number` per segment of `lengths`. */
int64_t *zoo_each(zoo_t *z, const char *lengths, int64_t number)
{
    int64_t count, *l = golden_integers(&z->g, lengths, &count);
    for (int64_t k = 0; k < count; k++)
        l[k] = number;
    return l;
}

void zoo_between(zoo_t *z, int64_t segments, const int64_t *dst, const int64_t *src)
{
    ck_ok(gnn_graph_bipartite(&z->graphs[z->n_graphs++], segments, dst, src));
}

void zoo_graph(zoo_t *z)
{
    z->graphs[z->n_graphs++] = golden_graph(&z->g, golden_array(&z->g, "x")->shape[0]);
}

void zoo_edges_to_nodes(zoo_t *z)
{
    int64_t m, *dst = golden_integers(&z->g, "dst", &m), *own = golden_integers(&z->g, "dst", NULL);
    for (int64_t e = 0; e < m; e++)
        own[e] = e;
    ck_ok(gnn_graph_from_edges(&z->graphs[z->n_graphs++], golden_array(&z->g, "x")->shape[0], m, m,
                               own, dst));
}

void zoo_readout(zoo_t *z)
{
    int64_t n, *batch = golden_integers(&z->g, "batch", &n),
               *lengths = golden_integers(&z->g, "batch", NULL),
               *ones = golden_integers(&z->g, "batch", NULL), graphs = 0;
    memset(lengths, 0, sizeof *lengths * (size_t)n);
    for (int64_t k = 0; k < n; k++) {
        ck_assert(k == 0 || batch[k] >= batch[k - 1]);
        ck_assert_int_lt(batch[k], n);
        graphs = batch[k] + 1;
        lengths[batch[k]]++;
        ones[k] = 1;
    }
    /* Graphs without nodes at the end: y of a readout has rows for them. */
    const int64_t rows = golden_array(&z->g, "y")->shape[0];
    zoo_between(z, rows < n && rows > graphs ? rows : graphs, ones, lengths);
}

void zoo_lengths(zoo_t *z, const char *dst, const char *src)
{
    int64_t n, *a = golden_integers(&z->g, dst, &n), *b = golden_integers(&z->g, src, NULL);
    zoo_between(z, n, a, b);
}

/* ---- weights and gradients ---- */

/* The index of element (r, c) of a `rows` x `cols` field in its array. */
static int64_t at(const gnn_array_t *a, layout_t layout, int part, const gnn_tensor_t *t, int64_t r,
                  int64_t c)
{
    const int64_t d = layout == BY_HEAD ? a->shape[2] : 1, from = part * t->rows * t->cols;
    return layout == SAME     ? from + r * t->cols + c
           : layout == TURNED ? from + c * t->rows + r
                              : (c / d * t->rows + r) * d + c % d;
}

static void fill(zoo_t *z, const place_t *places, int count)
{
    char name[96];
    gnn_tensor_t t;
    ck_assert_int_eq(count, (int)gnn_model_field_count(z->model));
    for (int k = 0; k < count; k++) {
        snprintf(name, sizeof name, "w.%s", places[k].array);
        const gnn_array_t *a = golden_array(&z->g, name);
        ck_ok(gnn_model_field(z->model, places[k].field, &t, NULL));
        ck_assert_int_eq(a->count % (t.rows * t.cols), 0);
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++)
                gnn__row(&t, r)[c] =
                    (gnn_real_t)gnn_array_get(a, at(a, places[k].layout, places[k].part, &t, r, c));
    }
}

void zoo_same_gradients(zoo_t *z, const place_t *places, int count)
{
    char name[96];
    gnn_tensor_t t, turned = {0};
    for (int k = 0; k < z->n_values; k++) {
        snprintf(name, sizeof name, "d%s", z->values[k].name);
        t = gnn_tape_gradient(z->tape, z->vars[k]);
        if (z->values[k].wants_grad)
            golden_same(&z->g, name, &t, GOLDEN_GRAD);
    }
    for (int k = 0; k < count; k++) {
        snprintf(name, sizeof name, "dw.%s", places[k].array);
        const gnn_array_t *a = golden_array(&z->g, name);
        ck_ok(gnn_model_field(z->model, places[k].field, NULL, &t));
        if (places[k].part == 0)
            turned = gnn_tensor(golden_reals(&z->g, a->count), 1, a->count);
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++)
                turned.data[at(a, places[k].layout, places[k].part, &t, r, c)] = gnn__row(&t, r)[c];
        /* The last piece completes an array. */
        if (k + 1 == count || places[k + 1].part == 0)
            golden_same(&z->g, name, &turned, GOLDEN_GRAD);
    }
}

/* ---- running a case ---- */

static void make(zoo_t *z)
{
    ck_ok(gnn_model_build(&z->model, z->g.context, z->steps));
    ck_assert_int_le(gnn_model_step_count(z->model), STEPS);
}

static void record(zoo_t *z)
{
    gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs, z->values,
                                 z->n_values};
    for (int k = 0; k < z->n_graphs; k++)
        ck_ok(gnn_model_prepare(z->model, k, z->graphs[k], GNN_ON));
    ck_ok(gnn_tape_new(&z->tape, z->g.context));
    gnn_tape_reset(z->tape, 1, 0);
    gnn_model_record_all(z->model, z->tape, &inputs, z->vars, z->outputs);
    ck_ok(gnn_tape_status(z->tape));
}

void zoo_record(zoo_t *z, const place_t *places, int count)
{
    make(z);
    fill(z, places, count);
    record(z);
}

/* Both ways, y and the gradients of the inputs. */
static void run(zoo_t *z, const place_t *places, int count)
{
    const gnn_var_t y = z->outputs[gnn_model_step_count(z->model) - 1];
    const gnn_tensor_t gy = golden_tensor(&z->g, "gy");
    gnn_tape_keep(z->tape, y);
    ck_ok(gnn_tape_forward(z->tape));
    const gnn_tensor_t value = gnn_tape_value(z->tape, y);
    golden_same(&z->g, "y", &value, GOLDEN_OUT);
    ck_ok(gnn_tape_backward(z->tape, y, &gy));
    zoo_same_gradients(z, places, count);
}

/* The model as a file holds it puts out the same bits. */
static void same_from_file(zoo_t *z)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    const gnn_tensor_t gy = golden_tensor(&z->g, "gy");
    gnn_tensor_t out[2];
    gnn_model_t *loaded = NULL;
    char path[64];
    snprintf(path, sizeof path, "/tmp/gnn-zoo-%d.safetensors", (int)getpid());
    ck_ok(gnn_model_save(z->model, path));
    ck_ok(gnn_model_load(&loaded, z->g.context, path));
    for (int k = 0; k < 2; k++) {
        out[k] = gnn_tensor(golden_reals(&z->g, gy.rows * gy.cols), gy.rows, gy.cols);
        ck_ok(gnn_model_forward(k ? loaded : z->model, z->g.context, &inputs, &out[k]));
    }
    ck_assert_mem_eq(out[0].data, out[1].data, sizeof *out[0].data * (size_t)(gy.rows * gy.cols));
    golden_keep_model(&z->g, z->model, &inputs, &out[0]);
    gnn_model_free(loaded);
    remove(path);
}

void zoo_same_value(zoo_t *z, const char *step, const char *array)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    const gnn_array_t *a = golden_array(&z->g, array);
    const gnn_tensor_t out =
        gnn_tensor(golden_reals(&z->g, a->count), a->shape[0], a->count / a->shape[0]);
    ck_ok(gnn_model_value(z->model, z->g.context, &inputs, step, &out));
    golden_same(&z->g, array, &out, GOLDEN_OUT);
}

void zoo_run(zoo_t *z, const place_t *places, int count)
{
    zoo_record(z, places, count);
    run(z, places, count);
    same_from_file(z);
    zoo_close(z);
}

/* The weights of the file without its other arrays: an import must use all that it is given. */
static gnn_arrays_t *weights_of(zoo_t *z)
{
    gnn_arrays_t *weights = NULL;
    ck_ok(gnn__arrays_new(&weights));
    for (int64_t k = 0; k < z->g.arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(z->g.arrays, k);
        const size_t bytes = gnn__element(a->dtype)->size * (size_t)a->count;
        char *data = NULL;
        if (strncmp(a->name, "w.", 2) != 0)
            continue;
        ck_ok(gnn__new(&data, (int64_t)bytes, 1, "a copy"));
        memcpy(data, a->data, bytes);
        ck_ok(gnn__arrays_add(weights, a->name, strlen(a->name), a, data));
    }
    ck_ok(gnn__arrays_seal(weights));
    return weights;
}

void zoo_run_imported(zoo_t *z, gnn_names_t names, const char *prefix)
{
    char name[160];
    int64_t compared = 0;
    make(z);
    gnn_arrays_t *weights = weights_of(z);
    ck_ok(gnn_model_import(z->model, names, prefix, weights));
    gnn_arrays_free(weights);
    record(z);
    run(z, NULL, 0);
    for (int64_t k = 0; k < z->g.arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(z->g.arrays, k);
        if (strncmp(a->name, "w.", 2) != 0)
            continue;
        gnn_tensor_t ours = gnn_tensor(golden_reals(&z->g, a->count), 1, a->count);
        ck_ok(gnn_model_export(z->model, names, prefix, a->name, 1, ours.data, a->count));
        snprintf(name, sizeof name, "d%s", a->name);
        golden_same(&z->g, name, &ours, GOLDEN_GRAD);
        compared++;
    }
    ck_assert_int_gt(compared, 0);
    same_from_file(z);
    zoo_close(z);
}

void zoo_block(zoo_t *z, const char *name, gnn_block_t settings)
{
    settings.name = settings.name ? settings.name : "w";
    ck_ok(gnn_steps_block(z->steps, name, &settings));
}

gnn_block_t zoo_wide(zoo_t *z)
{
    return (gnn_block_t){.width = zoo_cols(z, "x")};
}

gnn_block_t zoo_sized(zoo_t *z)
{
    return (gnn_block_t){.width = zoo_cols(z, "x"), .out = zoo_cols(z, "y")};
}

void zoo_add(zoo_t *z, gnn_step_t step)
{
    ck_ok(gnn_steps_add(z->steps, &step));
}
