/* A published, trained GAT on Cora: its weights, loaded by the names of its file, give its outputs
 * and its accuracy. */
#include "support.h"

#include <lib/data/arrays/arrays.h>

typedef struct {
    gnn_context_t *context;
    gnn_data_t *cora;
    gnn_arrays_t *arrays;
    gnn_model_t *model;
} reference_t;

static const gnn_array_t *array(const reference_t *r, const char *name)
{
    const gnn_array_t *a = gnn_arrays_find(r->arrays, name);
    ck_assert_msg(a != NULL, "no array %s", name);
    return a;
}

/* Layer k of the file: heads x in x out. */
static gnn_layer_config_t config(const reference_t *r, const char *weight, gnn_activation_t activation)
{
    const gnn_array_t *w = array(r, weight);
    ck_assert_int_eq(w->ndim, 3);
    return GNN_GAT(.heads = w->shape[0], .in = w->shape[1], .out = w->shape[2],
                   .activation = activation);
}

static bool open_reference(reference_t *r)
{
    char cora[4096];
    const char *path = test_data("planetoid/cora.npz");
    memset(r, 0, sizeof *r);
    snprintf(cora, sizeof cora, "%s", path ? path : "");
    path = test_data("gat-reference/gordic-gat-cora.npz");
    if (!*cora || !path) {
        test_skip("reference", "no Cora or no published weights");
        return false;
    }
    ck_ok(gnn_npz_read(&r->arrays, path, NULL));
    ck_ok(gnn_data_open(&r->cora, cora));
    ck_ok(gnn_data_row_normalise(r->cora));
    ck_ok(gnn_context_new(&r->context, NULL));
    gnn_layer_config_t layers[2] = {config(r, "w1", GNN_ELU), config(r, "w2", GNN_IDENTITY)};
    ck_ok(gnn_model_new(&r->model, r->context, 2, layers));
    ck_ok(gnn_model_import(r->model, GNN_NAMES_GAT_REFERENCE, "", r->arrays));
    ck_ok(gnn_model_prepare(r->model, 0, gnn_data_graph(r->cora), GNN_OFF));
    return true;
}

static void close_reference(reference_t *r)
{
    gnn_model_free(r->model);
    gnn_data_free(r->cora);
    gnn_arrays_free(r->arrays);
    gnn_context_free(r->context);
}

static void compare(const reference_t *r, const char *name, const gnn_tensor_t *ours, double tolerance)
{
    const gnn_array_t *expected = array(r, name);
    ck_assert_int_eq(expected->count, ours->rows * ours->cols);
    gnn_real_t *theirs = malloc(sizeof *theirs * (size_t)expected->count);
    gnn__array_reals(expected, theirs);
    double error = test_error(ours->data, theirs, expected->count);
    ck_assert_msg(error <= tolerance, "%s differs by %g of its largest number, %g are allowed",
                  name, error, tolerance);
    free(theirs);
}

static gnn_tensor_t empty(int64_t rows, int64_t cols)
{
    return gnn_tensor(calloc((size_t)(rows * cols), sizeof(gnn_real_t)), rows, cols);
}

START_TEST(published_gat_matches_its_outputs)
{
    reference_t r;
    if (!open_reference(&r))
        return;
    const gnn_data_t *d = r.cora;
    const gnn_layer_t *first = gnn_model_layer(r.model, 0);
    const gnn_tensor_t *dense = gnn_data_x(d);
    const gnn_sparse_t *sparse = gnn_data_sparse(d);
    gnn_tensor_t hidden = empty(gnn_data_nodes(d), gnn_layer_width(first)),
                 logits = empty(gnn_data_nodes(d), gnn_data_classes(d));
    ck_ok(gnn_layer_forward(first, r.context, gnn_data_graph(d),
                            &(gnn_inputs_t){.x_src = dense, .x_sparse = sparse}, &hidden));
    compare(&r, "ref_hidden", &hidden, GNN_DOUBLE ? 1e-6 : 1e-5);
    ck_ok(gnn_model_predict(r.model, r.context, gnn_data_graph(d), dense, sparse, &logits));
    compare(&r, "ref_logits", &logits, GNN_DOUBLE ? 1e-6 : 1e-5);
    free(hidden.data);
    free(logits.data);
    close_reference(&r);
}
END_TEST

/* 822 and 399 of 1000 and 500 nodes, as its authors report. */
START_TEST(published_gat_reaches_its_published_accuracy)
{
    reference_t r;
    double test = 0, validation = 0;
    if (!open_reference(&r))
        return;
    ck_ok(gnn_evaluate(r.model, r.context, r.cora, 0, GNN_TEST, GNN_METRIC_ACCURACY, &test));
    ck_ok(gnn_evaluate(r.model, r.context, r.cora, 0, GNN_VALIDATION, GNN_METRIC_ACCURACY,
                       &validation));
    ck_assert_double_eq_tol(test, 0.822, 1e-9);
    ck_assert_double_eq_tol(validation, 0.798, 1e-9);
    close_reference(&r);
}
END_TEST

/* The same weights through a file of our own. */
START_TEST(published_gat_survives_saving)
{
    reference_t r;
    gnn_model_t *loaded = NULL;
    char path[] = "/tmp/gnn-reference-XXXXXX";
    if (!open_reference(&r))
        return;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    const gnn_data_t *d = r.cora;
    const gnn_tensor_t *dense = gnn_data_x(d);
    gnn_tensor_t before = empty(gnn_data_nodes(d), gnn_data_classes(d)),
                 after = empty(gnn_data_nodes(d), gnn_data_classes(d));
    ck_ok(gnn_model_save(r.model, path));
    ck_ok(gnn_model_load(&loaded, r.context, path));
    ck_ok(gnn_model_predict(r.model, r.context, gnn_data_graph(d), dense, gnn_data_sparse(d),
                            &before));
    ck_ok(gnn_model_predict(loaded, r.context, gnn_data_graph(d), dense, gnn_data_sparse(d), &after));
    ck_assert_mem_eq(before.data, after.data,
                     sizeof(gnn_real_t) * (size_t)(gnn_data_nodes(d) * gnn_data_classes(d)));
    gnn_model_free(loaded);
    free(before.data);
    free(after.data);
    fclose(fdopen(fd, "r"));
    remove(path);
    close_reference(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference");
    TCase *tc = tcase_create("reference");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, published_gat_matches_its_outputs);
    tcase_add_test(tc, published_gat_reaches_its_published_accuracy);
    tcase_add_test(tc, published_gat_survives_saving);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
