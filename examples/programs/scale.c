/* --scale: features as they are, rows divided by their sums, or columns standardised. */
#include "scale.h"

#include <math.h>

/* Does some column lie far from 0, or spread far more than another one does? */
static int is_uneven(const gnn_tensor_t *x)
{
    double least = INFINITY, most = 0;
    for (int64_t c = 0; x && c < x->cols; c++) {
        double mean = 0, square = 0;
        for (int64_t r = 0; r < x->rows; r++) {
            const double v = (double)x->data[r * (x->stride ? x->stride : x->cols) + c];
            mean += v / (double)x->rows;
            square += v * v / (double)x->rows;
        }
        const double spread = sqrt(fmax(square - mean * mean, 0));
        if (spread > 0) {
            least = fmin(least, spread);
            most = fmax(most, fmax(spread, fabs(mean)));
        }
    }
    return most > 10 * least;
}

/* A few words per row, as in bags of words of abstracts. Rows of hundreds are left alone: divided
 * by their sums they would be so small that a network learns slowly. */
static int is_short(const gnn_data_t *data)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    return s && s->indptr[s->rows] < 100 * s->rows;
}

scale_t scale_for(const gnn_data_t *data)
{
    if (is_short(data))
        return SCALE_ROWS;
    return is_uneven(gnn_data_x(data)) ? SCALE_COLUMNS : SCALE_NONE;
}

int scale_features(gnn_data_t *data, int how)
{
    const scale_t scale = how == SCALE_AUTO ? scale_for(data) : (scale_t)how;
    if (scale == SCALE_ROWS)
        return gnn_data_row_normalise(data);
    return scale == SCALE_COLUMNS ? gnn_data_standardise(data, -1) : GNN_OK;
}
