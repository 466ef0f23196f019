/* Some of a node's senders: all, or k of d, with or without replacement, alike or by weight. What
 * is written are places of the whole graph's pairs. */
#include <graphs/sample/sample.h>

#include <math.h>

enum { FEW = 64 }; /* so many are looked through one by one */

static double weight_at(const gnn_sampler_t *s, int64_t place)
{
    return (double)s->config.weight[gnn__pairs_edge(s->pairs, place)];
}

static int64_t count_weighted(const gnn_sampler_t *s, int64_t from, int64_t to, int64_t most)
{
    int64_t positive = 0;
    for (int64_t k = from; k < to && positive < most; k++)
        positive += weight_at(s, k) > 0;
    return s->config.replace == GNN_ON && positive > 0 ? most : positive;
}

int64_t gnn__pick_count(const gnn_sampler_t *s, int64_t fan_out, int64_t node)
{
    const int64_t from = s->pairs->indptr[node], to = s->pairs->indptr[node + 1];
    if (fan_out < 0)
        return to - from;
    if (s->config.weight)
        return count_weighted(s, from, to, fan_out);
    return s->config.replace == GNN_ON && to > from ? fan_out : gnn__min(fan_out, to - from);
}

static bool holds(const int64_t *places, int64_t count, int64_t place)
{
    for (int64_t k = 0; k < count; k++)
        if (places[k] == place)
            return true;
    return false;
}

/* Every set of `count` of d alike, in `count` draws. Paper: Bentley and Floyd 1987. */
static void pick_few(gnn__stream_t *stream, int64_t from, int64_t d, int64_t count, int64_t *places)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t last = d - count + k, drawn = from + gnn__stream_below(stream, last + 1);
        places[k] = holds(places, k, drawn) ? from + last : drawn;
    }
}

/* The same in one pass over d, each taken with the odds of those that are still wanted among those
 * that are left. Paper: Fan, Muller and Rezucha 1962. */
static void pick_many(gnn__stream_t *stream, int64_t from, int64_t d, int64_t count, int64_t *places)
{
    int64_t taken = 0;
    for (int64_t k = 0; taken < count; k++)
        if (gnn__stream_below(stream, d - k) < count - taken)
            places[taken++] = from + k;
}

static void pick_alike(const gnn_sampler_t *s, gnn__stream_t *stream, int64_t from, int64_t d,
                       int64_t count, int64_t *places)
{
    if (s->config.replace == GNN_ON)
        for (int64_t k = 0; k < count; k++)
            places[k] = from + gnn__stream_below(stream, d);
    else if (count <= FEW)
        pick_few(stream, from, d, count, places);
    else
        pick_many(stream, from, d, count, places);
}

/* Moves entry k down a heap whose largest key stands first. */
static void sink(double *keys, int64_t *places, int64_t count, int64_t k)
{
    for (int64_t child; (child = 2 * k + 1) < count; k = child) {
        if (child + 1 < count && keys[child + 1] > keys[child])
            child++;
        if (keys[k] >= keys[child])
            return;
        const double key = keys[k];
        const int64_t place = places[k];
        keys[k] = keys[child];
        places[k] = places[child];
        keys[child] = key;
        places[child] = place;
    }
}

static void make_heap(double *keys, int64_t *places, int64_t count)
{
    for (int64_t k = count / 2 - 1; k >= 0; k--)
        sink(keys, places, count, k);
}

/* The `count` that come first, where each comes after an exponential time with its weight as the
 * rate: one after another, each is drawn in proportion to the weights of those that are left. */
static void pick_first(const gnn_sampler_t *s, gnn__stream_t *stream, int64_t from, int64_t to,
                       int64_t count, int64_t *places, double *keys)
{
    int64_t held = 0;
    for (int64_t k = from; k < to; k++) {
        const double weight = weight_at(s, k);
        if (weight <= 0)
            continue;
        const double key = -log(gnn__stream_uniform(stream)) / weight;
        if (held < count) {
            keys[held] = key;
            places[held++] = k;
            if (held == count)
                make_heap(keys, places, count);
        } else if (key < keys[0]) {
            keys[0] = key;
            places[0] = k;
            sink(keys, places, count, 0);
        }
    }
}

/* `count` points of the line on which the weights stand one after another, in ascending order. */
static void pick_points(const gnn_sampler_t *s, gnn__stream_t *stream, int64_t from, int64_t to,
                        int64_t count, int64_t *places, double *keys)
{
    double total = 0, sum = 0, power = 1;
    int64_t last = from, taken = 0;
    for (int64_t k = from; k < to; k++)
        if (weight_at(s, k) > 0) {
            total += weight_at(s, k);
            last = k;
        }
    /* Falling, each the largest of those that are left: sorted without a sort. */
    for (int64_t k = count - 1; k >= 0; k--) {
        power *= pow(gnn__stream_uniform(stream), 1.0 / (double)(k + 1));
        keys[k] = power * total;
    }
    for (int64_t k = from; k < last; k++)
        for (sum += weight_at(s, k); taken < count && keys[taken] < sum;)
            places[taken++] = k;
    while (taken < count)
        places[taken++] = last;
}

void gnn__pick(const gnn_sampler_t *s, int64_t fan_out, int64_t node, gnn__stream_t *stream,
               int64_t count, int64_t *places, double *keys)
{
    const int64_t from = s->pairs->indptr[node], to = s->pairs->indptr[node + 1];
    const bool replace = s->config.replace == GNN_ON;
    if (fan_out < 0 || (!replace && count == to - from))
        for (int64_t k = 0; k < count; k++)
            places[k] = from + k;
    else if (!s->config.weight)
        pick_alike(s, stream, from, to - from, count, places);
    else if (replace)
        pick_points(s, stream, from, to, count, places, keys);
    else
        pick_first(s, stream, from, to, count, places, keys);
}
