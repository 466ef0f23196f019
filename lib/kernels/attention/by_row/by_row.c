/* Memory of attention row by row. */
#include <lib/kernels/attention/by_row/by_row.h>

/* Blocks of 64 pairs: numbers of nodes and edges, weights, six arrays of pairs x heads; and one
 * row of queries. Each starts a cache line. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a)
{
    const int64_t pairs = 64, head_arrays = 6 * pairs * a->heads,
                  indices = 4 * pairs * (int64_t)(sizeof(int64_t) / sizeof(gnn_real_t));
    return indices + pairs + head_arrays + a->heads * a->d_k + 16 * 16;
}
