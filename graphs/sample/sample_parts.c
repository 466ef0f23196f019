/* What methods of sampling are made of: one hop as a block, one hop as nodes alone, and all pairs
 * between nodes. Pairs are counted and drawn by all threads; nodes get their places in the order of
 * the pairs, by one. */
#include <graphs/sample/sample.h>

enum { ROWS_AT_ONCE = 64, AHEAD = 16 };

/* ---- nodes ---- */

int gnn__drawn_open(gnn__drawn_nodes_t *drawn, int64_t of)
{
    drawn->of = of;
    GNN_TRY(gnn__new(&drawn->place, of, sizeof *drawn->place, "places of a sample's nodes"));
    memset(drawn->place, 0xff, (size_t)of * sizeof *drawn->place);
    return GNN_OK;
}

int gnn__drawn_reserve(gnn__drawn_nodes_t *drawn, int64_t nodes)
{
    const int64_t most = gnn__min(nodes, drawn->of);
    if (most <= drawn->room)
        return GNN_OK;
    const int64_t room = gnn__min(most + most / 8, drawn->of);
    GNN_TRY(gnn__grow(&drawn->nodes, drawn->count, room, sizeof *drawn->nodes, "nodes of a sample"));
    drawn->room = room;
    return GNN_OK;
}

int gnn__drawn_seeds(gnn__drawn_nodes_t *drawn, int64_t count, const int32_t *seeds)
{
    const int64_t n = drawn->of;
    if (count < 1 || count > n)
        return gnn__error(GNN_EINVALID, "%lld seeds, expected 1 to %lld, the number of nodes",
                          (long long)count, (long long)n);
    GNN_TRY(gnn__drawn_reserve(drawn, count));
    for (int64_t k = 0; k < count; k++) {
        if (seeds[k] < 0 || seeds[k] >= n)
            return gnn__error(GNN_EINVALID, "seeds[%lld] = %d, but there are %lld nodes",
                              (long long)k, seeds[k], (long long)n);
        if (gnn__drawn_place(drawn, seeds[k]) != k)
            return gnn__error(GNN_EINVALID, "seeds[%lld] = %d came before, at %d", (long long)k,
                              seeds[k], drawn->place[seeds[k]]);
    }
    return GNN_OK;
}

void gnn__drawn_forget(gnn__drawn_nodes_t *drawn)
{
    for (int64_t k = 0; k < drawn->count; k++)
        drawn->place[drawn->nodes[k]] = -1;
    drawn->count = 0;
}

void gnn__drawn_free(gnn__drawn_nodes_t *drawn)
{
    gnn_free(drawn->place);
    gnn_free(drawn->nodes);
}

/* ---- edges and hops ---- */

int gnn__sample_reserve_edges(gnn_sample_t *s, int64_t l, int64_t count, bool scaled)
{
    static const char what[] = "edges of a sample";
    gnn__drawn_edges_t *e = &s->edges[l];
    e->count = count;
    e->scaled = scaled;
    if (scaled)
        GNN_TRY(gnn__reserve(&e->scale, &e->scale_room, count, sizeof *e->scale, what));
    if (s->sampler->config.weight)
        GNN_TRY(gnn__reserve(&s->keys, &s->keys_room, count, sizeof *s->keys, what));
    return gnn__reserve(&e->numbers, &e->room, count, sizeof *e->numbers, what);
}

/* indptr of the pairs that the nodes so far are to get. */
static void count_pairs(const gnn_sample_t *s, int64_t fan_out, int64_t n, int64_t *indptr)
{
    const int threads = gnn__threads(s->context, 64 * n);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < n; r++) {
        if (r + AHEAD < n)
            __builtin_prefetch(&s->sampler->pairs->indptr[s->drawn.nodes[r + AHEAD]]);
        indptr[r + 1] = gnn__pick_count(s->sampler, fan_out, s->drawn.nodes[r]);
    }
    for (int64_t r = 0; r < n; r++)
        indptr[r + 1] += indptr[r];
}

/* Places of the pairs. Their senders stand anywhere in memory and are asked for here. */
static void draw_row(const gnn_sample_t *s, int64_t hop, int64_t fan_out, int64_t r,
                     const int64_t *indptr, int64_t *places)
{
    const int32_t node = s->drawn.nodes[r], *indices = s->sampler->pairs->indices;
    const int64_t at = indptr[r], count = indptr[r + 1] - at;
    gnn__stream_t stream = gnn__stream(s->key, hop, node);
    gnn__pick(s->sampler, fan_out, node, &stream, count, places + at, s->keys ? s->keys + at : NULL);
    for (int64_t k = at; k < at + count; k++)
        __builtin_prefetch(&indices[places[k]]);
}

/* Places of the pairs, and their senders by the whole graph's numbers, once all of a few rows are
 * on their way. */
static void draw_rows(const gnn_sample_t *s, int64_t hop, int64_t fan_out, int64_t n,
                      const int64_t *indptr, int64_t *places, int32_t *senders)
{
    const int32_t *nodes = s->drawn.nodes, *indices = s->sampler->pairs->indices;
    const int threads = gnn__threads(s->context, 64 * (indptr[n] + n));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, 1), int64_t row = 0; row < n;
                          row += ROWS_AT_ONCE) {
        const int64_t end = gnn__min(row + ROWS_AT_ONCE, n);
        for (int64_t r = row; r < end; r++) {
            if (r + AHEAD < n)
                __builtin_prefetch(&s->sampler->pairs->indptr[nodes[r + AHEAD]]);
            draw_row(s, hop, fan_out, r, indptr, places);
        }
        for (int64_t k = indptr[row]; k < indptr[end]; k++)
            senders[k] = indices[places[k]];
    }
}

/* Senders get their places, new ones after those that are there. */
static void place_senders(gnn_sample_t *s, int64_t m, int32_t *senders)
{
    for (int64_t k = 0; k < m; k++) {
        if (k + AHEAD < m)
            __builtin_prefetch(&s->drawn.place[senders[k + AHEAD]], 1);
        senders[k] = gnn__drawn_place(&s->drawn, senders[k]);
    }
}

/* From places of the whole graph's pairs to its edge numbers. */
static void number_edges(const gnn_sample_t *s, int64_t m, int64_t *edges)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    if (!pairs->edge && pairs->edge_base == 0)
        return;
    const int threads = gnn__threads(s->context, 16 * m);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < m; k++)
        edges[k] = gnn__pairs_edge(pairs, edges[k]);
}

int gnn__sample_hop(gnn_sample_t *s, int64_t l, int64_t hop, int64_t fan_out)
{
    const int64_t n = s->drawn.count;
    int64_t *indptr, room;
    int32_t *senders;
    GNN_TRY(gnn__block_begin(s->graphs[l], n, &indptr));
    count_pairs(s, fan_out, n, indptr);
    const int64_t m = indptr[n];
    GNN_TRY(gnn__block_edges(s->graphs[l], &senders));
    GNN_TRY(gnn__sample_reserve_edges(s, l, m, false));
    if (!gnn__add(n, m, &room))
        return gnn__error(GNN_EOVERFLOW, "a block of %lld edges", (long long)m);
    GNN_TRY(gnn__drawn_reserve(&s->drawn, room));
    draw_rows(s, hop, fan_out, n, indptr, s->edges[l].numbers, senders);
    place_senders(s, m, senders);
    number_edges(s, m, s->edges[l].numbers);
    return gnn__block_end(s->graphs[l], s->drawn.count);
}

/* How many of a node's senders are in the sample; `senders` and `edges` (both or neither) receive
 * their places and edge numbers. */
static int64_t inside(const gnn_sample_t *s, int64_t r, int32_t *senders, int64_t *edges)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    const int32_t node = s->drawn.nodes[r];
    int64_t count = 0;
    for (int64_t k = pairs->indptr[node]; k < pairs->indptr[node + 1]; k++) {
        const int32_t place = s->drawn.place[pairs->indices[k]];
        if (place < 0)
            continue;
        if (senders) {
            senders[count] = place;
            edges[count] = gnn__pairs_edge(pairs, k);
        }
        count++;
    }
    return count;
}

int gnn__sample_induce(gnn_sample_t *s)
{
    const int64_t n = s->drawn.count;
    int64_t *indptr, whole = 0;
    int32_t *senders;
    for (int64_t r = 0; r < n; r++)
        whole += s->whole.degree[s->drawn.nodes[r]];
    const int threads = gnn__threads(s->context, 8 * (whole + n));
    GNN_TRY(gnn__block_begin(s->graphs[0], n, &indptr));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        indptr[r + 1] = inside(s, r, NULL, NULL);
    for (int64_t r = 0; r < n; r++)
        indptr[r + 1] += indptr[r];
    GNN_TRY(gnn__block_edges(s->graphs[0], &senders));
    GNN_TRY(gnn__sample_reserve_edges(s, 0, indptr[n], false));
    int64_t *edges = s->edges[0].numbers;
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        inside(s, r, senders + indptr[r], edges + indptr[r]);
    return gnn__block_end(s->graphs[0], n);
}
