/* Writes .npy: one array, like numpy.save. */
#include <lib/data/arrays/arrays.h>

int gnn_npy_write(const char *path, const gnn_array_t *array)
{
    gnn__output_t output = {.fd = -1};
    int64_t length, bytes;
    char *header = NULL;
    int rc;
    GNN__NEED(path);
    GNN__NEED(array);
    GNN_CHECK(gnn__array_check(array, &bytes));
    GNN_CHECK(gnn__npy_header(&header, &length, array));
    GNN_CHECK(gnn__output_open(&output, path));
    GNN_CHECK(gnn__output_write(&output, header, length));
    GNN_CHECK(gnn__output_write(&output, array->data, bytes));
    GNN_CHECK(gnn__output_commit(&output));
done:
    gnn__output_close(&output);
    gnn_free(header);
    return rc;
}
