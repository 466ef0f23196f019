/* Sinusoidal positions: a constant table. Vaswani et al. 2017, 3.5. */
#include <lib/text/corpus.h>

#include <math.h>

int gnn_positions_sinusoidal(const gnn_tensor_t *table)
{
    GNN__NEED(table);
    GNN__NEED(table->data);
    for (int64_t p = 0; p < table->rows; p++)
        for (int64_t c = 0; c < table->cols; c++) {
            double angle = (double)p * pow(10000, -(double)(c - c % 2) / (double)table->cols);
            gnn__row(table, p)[c] = (gnn_real_t)(c % 2 ? cos(angle) : sin(angle));
        }
    return GNN_OK;
}
