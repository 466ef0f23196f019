/* The list of ways, best first. A new way goes before the first that is slower than it; the last
 * takes every call. Attention's are explained at the top of lib/kernels/attention/attention.h. */
#include <lib/aggregate/ways.h>

static const gnn__way_t *const ways[] = {
    &gnn__way_sum,       /* sum and mean of senders' rows */
    &gnn__way_extreme,   /* max and min of senders' rows on one list of edges */
    &gnn__way_by_lane,   /* attention with few heads on edges */
    &gnn__way_attention, /* attention by tiles and by rows */
    &gnn__way_linear,    /* linear attention on spans */
    &gnn__way_generic,   /* everything */
};

/* Features of self-loops follow those of the user's edges. */
static bool reads_loop_features(const gnn__way_t *way)
{
    return way == &gnn__way_by_lane || way == &gnn__way_generic;
}

const gnn__way_t *gnn__way_of(const gnn__plan_t *plan)
{
    const bool loops = gnn__has_loop_features(plan);
    size_t k = 0;
    while ((loops && !reads_loop_features(ways[k])) || !ways[k]->takes(plan))
        k++;
    return ways[k];
}
