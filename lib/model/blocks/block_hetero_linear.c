/* A linear map for each type of nodes, and an activation: features of each type's own width come to
 * a common one. PyG's HeteroDictLinear. */
#include <lib/model/blocks/type_list.h>

void gnn__block_hetero_linear(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__type_list_t list;
    const int64_t out = b->out > 0 ? b->out : b->width;
    gnn__block_need(steps, b, "out, or .width", out > 0);
    if (!gnn__type_list_read(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++) {
        const gnn__type_word_t type = list.types[t].name;
        const char *z =
            gnn__piece_linear(steps, b, gnn__typed("lins.", type).text,
                              gnn__type_input(b, type).text, list.types[t].width, out, GNN_ON);
        gnn__piece_activation(steps, b, gnn__typed("", type).text, z, b->layer.activation);
    }
}
