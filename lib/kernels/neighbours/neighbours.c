/* Division of sliding sums over spans into chunks (gnn__slide_chunks). */
#include <lib/kernels/neighbours/neighbours.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t gnn__slide_chunks(const gnn__pairs_t *p, int64_t *bounds, int64_t *longest)
{
    const int64_t n = p->n_rows, cols = n > 0 ? p->hi[n - 1] : 0;
    const int64_t least = larger(1024, (n + cols) / (GNN__SLIDE_CHUNKS - 2) + 1);
    int64_t chunks = 0, fresh = 0;
    /* A sliding sum is a suffix sum of the columns before `split` plus a running sum of those from
     * `split` to `top`. */
    int64_t split = 0, top = 0;
    bounds[0] = 0;
    if (n == 0)
        return 0;
    for (int64_t r = 0; r < n; r++) {
        const int64_t overlap = r > 0 ? larger(0, top - p->lo[r]) : 0;
        if (r > 0 && fresh >= larger(least, overlap)) {
            bounds[++chunks] = r;
            fresh = 0;
        }
        if (r == bounds[chunks]) {
            split = p->lo[r];
            top = p->lo[r];
        }
        if (p->lo[r] > split) {
            *longest = larger(*longest, top - p->lo[r]);
            top = larger(top, p->lo[r]);
            split = top;
        }
        fresh += 1 + larger(0, p->hi[r] - larger(top, r > 0 ? p->hi[r - 1] : 0));
        top = larger(top, p->hi[r]);
    }
    bounds[++chunks] = n;
    return chunks;
}
