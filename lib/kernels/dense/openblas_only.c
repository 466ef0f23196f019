/* Builds without oneDNN: OpenBLAS runs every product, at `highest`. */
#include <lib/kernels/dense/dense.h>

int gnn__onednn(gnn_context_t *context, gnn__product_t *product, gnn_precision_t level, int threads)
{
    (void)context, (void)product, (void)level, (void)threads;
    return GNN_EUNSUPPORTED;
}

bool gnn__onednn_has(gnn_precision_t level)
{
    return level == GNN_PRECISION_HIGHEST;
}

bool gnn__onednn_gains(gnn_precision_t level)
{
    return level == GNN_PRECISION_HIGHEST;
}

void gnn__onednn_info(char *text, size_t size)
{
    snprintf(text, size, "; no oneDNN");
}

/* OpenBLAS packs its operands itself in every product. */
int gnn__prepacked_new(gnn__prepacked_t **prepacked, const gnn_real_t *begin, int64_t length)
{
    (void)begin, (void)length;
    *prepacked = NULL;
    return GNN_OK;
}

void gnn__prepacked_free(gnn__prepacked_t *prepacked)
{
    (void)prepacked;
}
