/* Samples: the memory of one batch, a draw into it, and accessors. */
#include <graphs/sample/sample.h>

#include <math.h>

/* ---- selection of senders ---- */

/* All senders of a node, or k of d, with or without replacement, uniformly or by weight. The
 * results are positions in the whole graph's pairs. */

enum { FEW = 64 }; /* up to this count, duplicates are searched linearly */

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

static bool contains(const int64_t *places, int64_t count, int64_t place)
{
    for (int64_t k = 0; k < count; k++)
        if (places[k] == place)
            return true;
    return false;
}

/* A uniform subset of size `count` of d in `count` draws. Bentley and Floyd 1987. */
static void pick_few(gnn__stream_t *stream, int64_t from, int64_t d, int64_t count, int64_t *places)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t last = d - count + k, drawn = from + gnn__stream_below(stream, last + 1);
        places[k] = contains(places, k, drawn) ? from + last : drawn;
    }
}

/* The same in one pass over d: each is taken with probability remaining / left. Fan, Muller and
 * Rezucha 1962. */
static void pick_many(gnn__stream_t *stream, int64_t from, int64_t d, int64_t count, int64_t *places)
{
    int64_t taken = 0;
    for (int64_t k = 0; taken < count; k++)
        if (gnn__stream_below(stream, d - k) < count - taken)
            places[taken++] = from + k;
}

static void pick_uniform(const gnn_sampler_t *s, gnn__stream_t *stream, int64_t from, int64_t d,
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

/* Sifts element k down a max-heap of keys. */
static void sift_down(double *keys, int64_t *places, int64_t count, int64_t k)
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
        sift_down(keys, places, count, k);
}

/* Weighted sampling without replacement: the `count` smallest of exponential arrival times with
 * the weights as rates (Efraimidis and Spirakis 2006). */
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
            sift_down(keys, places, count, 0);
        }
    }
}

/* Weighted sampling with replacement: `count` points on the line of cumulative weights, in
 * ascending order. */
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
    /* Descending, each the maximum of the remaining ones: sorted without a sort. */
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
    if (count == 0) /* a fan-out of 0: there are no keys */
        return;
    if (fan_out < 0 || (!replace && count == to - from))
        for (int64_t k = 0; k < count; k++)
            places[k] = from + k;
    else if (!s->config.weight)
        pick_uniform(s, stream, from, to - from, count, places);
    else if (replace)
        pick_points(s, stream, from, to, count, places, keys);
    else
        pick_first(s, stream, from, to, count, places, keys);
}

/* ---- building blocks of methods ---- */

/* A hop as a block, and induced subgraphs. Pairs are counted and drawn by all threads; nodes get
 * their positions in the order of the pairs, by one thread. */

enum { ROWS_AT_ONCE = 64, AHEAD = 16 };

/* ---- nodes ---- */

int gnn__drawn_open(gnn__drawn_nodes_t *drawn, int64_t of)
{
    drawn->of = of;
    GNN_TRY(gnn__new(&drawn->position, of, sizeof *drawn->position, "positions of a sample's nodes"));
    memset(drawn->position, 0xff, (size_t)of * sizeof *drawn->position);
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
        return gnn__error(GNN_EINVALID, "n_seeds: expected 1 to %lld, the count of nodes, got %lld",
                          (long long)n, (long long)count);
    GNN_TRY(gnn__drawn_reserve(drawn, count));
    for (int64_t k = 0; k < count; k++) {
        if (seeds[k] < 0 || seeds[k] >= n)
            return gnn__error(GNN_EINVALID, "seeds[%lld] = %d, but there are %lld nodes",
                              (long long)k, seeds[k], (long long)n);
        if (gnn__drawn_position(drawn, seeds[k]) != k)
            return gnn__error(GNN_EINVALID, "seeds[%lld] = %d is a duplicate of seeds[%d]",
                              (long long)k, seeds[k], drawn->position[seeds[k]]);
    }
    return GNN_OK;
}

void gnn__drawn_forget(gnn__drawn_nodes_t *drawn)
{
    for (int64_t k = 0; k < drawn->count; k++)
        drawn->position[drawn->nodes[k]] = -1;
    drawn->count = 0;
}

void gnn__drawn_free(gnn__drawn_nodes_t *drawn)
{
    gnn_free(drawn->position);
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
    return gnn__reserve(&e->ids, &e->room, count, sizeof *e->ids, what);
}

/* Row pointers of the next hop: counts of the pairs that each node drawn so far will get. */
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

/* Draws the pairs of row r. Their senders are anywhere in memory and prefetched here. */
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

/* Draws the pairs of all rows; reads their senders once all of a chunk of rows are prefetched. */
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

/* Replaces senders by their positions; new ones are appended. */
static void assign_positions(gnn_sample_t *s, int64_t m, int32_t *senders)
{
    for (int64_t k = 0; k < m; k++) {
        if (k + AHEAD < m)
            __builtin_prefetch(&s->drawn.position[senders[k + AHEAD]], 1);
        senders[k] = gnn__drawn_position(&s->drawn, senders[k]);
    }
}

/* Positions in the whole graph's pairs become edge ids. */
static void to_edge_ids(const gnn_sample_t *s, int64_t m, int64_t *edges)
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
        return gnn__error(GNN_EOVERFLOW, "the size of a block of %lld edges overflows", (long long)m);
    GNN_TRY(gnn__drawn_reserve(&s->drawn, room));
    draw_rows(s, hop, fan_out, n, indptr, s->edges[l].ids, senders);
    assign_positions(s, m, senders);
    to_edge_ids(s, m, s->edges[l].ids);
    return gnn__block_end(s->graphs[l], s->drawn.count);
}

/* Count of a node's senders in the sample; `senders` and `edges` (both or neither) receive their
 * positions and edge ids. */
static int64_t induced_edges(const gnn_sample_t *s, int64_t r, int32_t *senders, int64_t *edges)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    const int32_t node = s->drawn.nodes[r];
    int64_t count = 0;
    for (int64_t k = pairs->indptr[node]; k < pairs->indptr[node + 1]; k++) {
        const int32_t place = s->drawn.position[pairs->indices[k]];
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
        whole += s->origin.degree[s->drawn.nodes[r]];
    const int threads = gnn__threads(s->context, 8 * (whole + n));
    GNN_TRY(gnn__block_begin(s->graphs[0], n, &indptr));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        indptr[r + 1] = induced_edges(s, r, NULL, NULL);
    for (int64_t r = 0; r < n; r++)
        indptr[r + 1] += indptr[r];
    GNN_TRY(gnn__block_edges(s->graphs[0], &senders));
    GNN_TRY(gnn__sample_reserve_edges(s, 0, indptr[n], false));
    int64_t *edges = s->edges[0].ids;
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        induced_edges(s, r, senders + indptr[r], edges + indptr[r]);
    return gnn__block_end(s->graphs[0], n);
}

/* ---- samples ---- */

static int make_graphs(gnn_sample_t *s)
{
    const int64_t count = gnn_sampler_graphs(s->sampler);
    GNN_TRY(gnn__new(&s->graphs, count, sizeof(gnn_graph_t *), "graphs of a sample"));
    GNN_TRY(gnn__new(&s->edges, count, sizeof *s->edges, "edges of a sample"));
    for (; s->n_graphs < count; s->n_graphs++)
        GNN_TRY(gnn__block_new(&s->graphs[s->n_graphs], &s->origin));
    return GNN_OK;
}

static int allocate(gnn_sample_t *s)
{
    const int64_t n = s->sampler->graph->n_dst;
    s->origin.degree = s->sampler->graph->base.degree;
    s->origin.missing = s->sampler->missing;
    GNN_TRY(gnn__drawn_open(&s->drawn, n));
    if (s->sampler->row->scores_nodes) {
        GNN_TRY(gnn__new(&s->score, n, sizeof *s->score, "scores of nodes"));
        GNN_TRY(gnn__new(&s->met, n, sizeof *s->met, "nodes with a score"));
    }
    return make_graphs(s);
}

int gnn_sample_new(gnn_sample_t **sample, const gnn_sampler_t *sampler)
{
    GNN__NEED(sample);
    GNN__NEED(sampler);
    gnn_sample_t *made;
    *sample = NULL;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a sample"));
    made->sampler = sampler;
    const int rc = allocate(made);
    if (rc == GNN_OK)
        *sample = made;
    else
        gnn_sample_free(made);
    return rc;
}

void gnn_sample_free(gnn_sample_t *sample)
{
    if (!sample)
        return;
    for (int64_t l = 0; l < sample->n_graphs; l++) {
        gnn_graph_free(sample->graphs[l]);
        gnn_free(sample->edges[l].ids);
        gnn_free(sample->edges[l].scale);
    }
    gnn_free(sample->graphs);
    gnn_free(sample->edges);
    gnn__drawn_free(&sample->drawn);
    gnn_free(sample->keys);
    gnn_free(sample->score);
    gnn_free(sample->met);
    gnn_free(sample->visits);
    gnn_free(sample->node_scale);
    gnn_free(sample);
}

/* ---- drawing ---- */

/* Forgets the nodes: O(nodes of the sample). */
static void forget(gnn_sample_t *s)
{
    gnn__drawn_forget(&s->drawn);
    s->n_seeds = 0;
    s->scaled = false;
    for (int64_t l = 0; l < s->n_graphs; l++)
        s->edges[l].scaled = false;
}

int gnn__draw_key(uint32_t key[2], uint64_t seed, const char *what, int64_t epoch, int64_t batch)
{
    const uint64_t stream = gnn__hash_string(what);
    if (epoch < 0 || epoch > UINT32_MAX || batch < 0 || batch > UINT32_MAX)
        return gnn__error(GNN_EINVALID, "epoch and batch: expected 0 to 2^32 - 1, got %lld and %lld",
                          (long long)epoch, (long long)batch);
    uint32_t words[4];
    gnn__philox(
        (uint32_t[]){(uint32_t)epoch, (uint32_t)batch, (uint32_t)stream, (uint32_t)(stream >> 32)},
        (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, GNN__PHILOX_ROUNDS, words);
    key[0] = words[0];
    key[1] = words[1];
    return GNN_OK;
}

static int draw(gnn_sample_t *s, int64_t n_seeds, const int32_t *seeds, int64_t epoch, int64_t batch)
{
    GNN_TRY(gnn__draw_key(s->key, s->sampler->config.seed, "sample", epoch, batch));
    GNN_TRY(gnn__drawn_seeds(&s->drawn, n_seeds, seeds));
    s->n_seeds = n_seeds;
    GNN_TRY(s->sampler->row->draw(s));
    s->origin.nodes = s->drawn.nodes;
    return GNN_OK;
}

int(gnn_sample_draw)(gnn_sample_t *sample, gnn_context_t *context, int64_t n_seeds,
                     gnn_ints_t seeds, int64_t epoch, int64_t batch)
{
    GNN__NEED_INTS(seeds, n_seeds);
    const int32_t *nodes;
    int32_t *made;
    GNN__NEED(sample);
    if (!seeds.data)
        return gnn__error(GNN_EINVALID, "%s: seeds is NULL", __func__);
    if (context)
        GNN_TRY(gnn__team_start(context));
    forget(sample);
    GNN_TRY(gnn__ints_32("seeds", seeds, n_seeds, &nodes, &made));
    sample->context = context;
    const int rc = draw(sample, n_seeds, nodes, epoch, batch);
    sample->context = NULL;
    gnn_free(made);
    if (rc != GNN_OK)
        forget(sample);
    return rc;
}

/* ---- accessors ---- */

static bool has_graph(const gnn_sample_t *s, int64_t l)
{
    return s && l >= 0 && l < s->n_graphs && s->n_seeds > 0;
}

gnn_graph_t *gnn_sample_graph(const gnn_sample_t *sample, int64_t l)
{
    GNN__NEED_OR(sample, NULL);
    return has_graph(sample, l) ? sample->graphs[l] : NULL;
}

const int32_t *gnn_sample_nodes(const gnn_sample_t *sample, int64_t *count)
{
    GNN__NEED_OR(sample, NULL);
    if (count)
        *count = sample ? sample->drawn.count : 0;
    return sample ? sample->drawn.nodes : NULL;
}

const int64_t *gnn_sample_edges(const gnn_sample_t *sample, int64_t l)
{
    GNN__NEED_OR(sample, NULL);
    return has_graph(sample, l) ? sample->edges[l].ids : NULL;
}

const gnn_real_t *gnn_sample_edge_scale(const gnn_sample_t *sample, int64_t l)
{
    GNN__NEED_OR(sample, NULL);
    return has_graph(sample, l) && sample->edges[l].scaled ? sample->edges[l].scale : NULL;
}

const gnn_real_t *gnn_sample_node_scale(const gnn_sample_t *sample)
{
    GNN__NEED_OR(sample, NULL);
    return sample && sample->scaled ? sample->node_scale : NULL;
}
