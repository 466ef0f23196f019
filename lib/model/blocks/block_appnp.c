/* Predict, then propagate: z = (1 - factor) A z + factor x, `hops` times, A = D^-1/2 (A + I)
 * D^-1/2. Paper: Gasteiger et al. 2019 (APPNP). */
#include <lib/model/blocks/pieces.h>

void gnn__block_appnp(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor;
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    const char *x = gnn__block_input(steps, b), *z = x;
    char part[48];
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++) {
        snprintf(part, sizeof part, "%lld.hop", (long long)k);
        gnn__piece_hop(steps, b, part, z, b->width, GNN_ON);
        snprintf(part, sizeof part, "%lld.scaled", (long long)k);
        gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_SCALE, .factor = 1 - alpha});
        snprintf(part, sizeof part, "%lld", (long long)k);
        z = gnn__block_add(steps, b, k < hops - 1 ? part : "",
                           (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {NULL, x}, .factor = alpha});
    }
}
