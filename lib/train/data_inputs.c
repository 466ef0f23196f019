/* The inputs of a model from a data set: features and arrays of reals, by name. */
#include <lib/train/train.h>

int gnn__data_inputs(gnn__data_input_t **list, int64_t *count, const gnn_data_t *data)
{
    const int64_t arrays = gnn_data_array_count(data);
    gnn__data_input_t *in;
    GNN_TRY(gnn__new(&in, arrays + 1, sizeof *in, "a model's inputs"));
    *list = in;
    *in++ = (gnn__data_input_t){
        .whole = {.name = "x", .dense = gnn_data_x(data), .sparse = gnn_data_sparse(data)},
        .place = GNN_ON_NODES};
    for (int64_t k = 0; k < arrays; k++) {
        gnn_data_place_t place;
        const char *name = gnn_data_array_at(data, k, &place)->name;
        const gnn_tensor_t *rows = gnn_data_rows(data, place, name);
        if (rows)
            *in++ = (gnn__data_input_t){.whole = {.name = name, .dense = rows}, .place = place};
    }
    *count = in - *list;
    return GNN_OK;
}
