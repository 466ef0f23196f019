/* The sampling methods of samplers.def: each draws nodes and edges around the seeds. */
#include <graphs/sample/sample.h>

#include <float.h>
#include <math.h>

/* ---- neighbours ---- */

/* Neighbour sampling, as GraphSAGE does: hop h samples senders of all nodes so far and makes the
 * graph of layer hops - 1 - h. */

static int neighbours_draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(gnn__sample_hop(s, c->hops - 1 - h, h, c->fan_outs[h]));
    return GNN_OK;
}

const gnn__sampling_method_t gnn__sampler_neighbours = {
    .reads = GNN__SAMPLES_HOPS | GNN__SAMPLES_REPLACE | GNN__SAMPLES_WEIGHT,
    .blocks = true,
    .needs_hops = true,
    .draw = neighbours_draw};

/* ---- around ---- */

/* The neighbourhood of the seeds: nodes are sampled hop by hop, edges are those of the graph
 * between them. Fan-outs of -1 give complete neighbourhoods. */

static int around_draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(gnn__sample_hop(s, 0, h, c->fan_outs[h]));
    return gnn__sample_induce(s);
}

const gnn__sampling_method_t gnn__sampler_around = {
    .reads = GNN__SAMPLES_HOPS | GNN__SAMPLES_REPLACE | GNN__SAMPLES_WEIGHT,
    .needs_hops = true,
    .draw = around_draw};

/* ---- layerwise ---- */

/* Layer-wise sampling, LADIES, Zou et al. 2019: the nodes of a layer share one set of senders. A
 * sender u is drawn s times with replacement, in proportion to
 *
 *     q_u = sum over receivers v of (w_vu / sum_k w_vk)^2.
 *
 * One that was drawn c times has one edge per receiver, with scale c sum(q) / (s q_u), so that the
 * expectation of every sum is kept. If there are at most s candidates, all are taken with scale
 * 1. */

enum { ROWS_AT_ONCE = 64 };

static double weight_at(const gnn_sampler_t *s, int64_t place)
{
    return s->config.weight ? (double)s->config.weight[gnn__pairs_edge(s->pairs, place)] : 1;
}

/* Adds the contributions of row r to its senders' scores; `met` lists senders with a score. */
static void score_row(gnn_sample_t *s, int64_t r, bool all)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    const int64_t from = pairs->indptr[s->drawn.nodes[r]], to = pairs->indptr[s->drawn.nodes[r] + 1];
    double total = 0;
    for (int64_t k = from; k < to; k++)
        total += weight_at(s->sampler, k);
    for (int64_t k = from; k < to; k++) {
        const double weight = weight_at(s->sampler, k), share = weight > 0 ? weight / total : 0;
        double *score = &s->score[pairs->indices[k]];
        if (share == 0 && !all)
            continue;
        if (*score == 0)
            s->met[s->n_met++] = pairs->indices[k];
        /* Positive even if the square underflows. */
        *score += fmax(share * share, DBL_MIN);
    }
}

/* Scores become scales: 1 each. */
static void scale_all(gnn_sample_t *s)
{
    for (int64_t k = 0; k < s->n_met; k++)
        s->score[s->met[k]] = 1;
}

/* Scores become scales; 0 for those that were not drawn. The points on the line of all scores are
 * drawn in descending order, each as the maximum of the remaining ones, so they need no sort. */
static void draw_senders(gnn_sample_t *s, int64_t hop, int64_t draws)
{
    gnn__stream_t stream = gnn__stream(s->key, hop, UINT32_MAX);
    double total = 0, power = 1, above;
    for (int64_t k = 0; k < s->n_met; k++)
        total += s->score[s->met[k]];
    above = total;
    int64_t left = draws;
    double point = (power *= pow(gnn__stream_uniform(&stream), 1.0 / (double)left)) * total;
    for (int64_t k = s->n_met - 1; k >= 0; k--) {
        double *score = &s->score[s->met[k]];
        const double own = *score;
        int64_t times = 0;
        above -= own;
        while (left > 0 && (point >= above || k == 0)) {
            times++;
            if (--left > 0)
                point = (power *= pow(gnn__stream_uniform(&stream), 1.0 / (double)left)) * total;
        }
        *score = (double)times * total / ((double)draws * own);
    }
}

/* Count of a node's edges from sampled senders; `places` receives their offsets in the graph's
 * pairs, `senders` their senders (both NULL: neither is written). */
static int64_t sampled_edges(const gnn_sample_t *s, int64_t r, bool all, int64_t *places,
                             int32_t *senders)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    int64_t count = 0;
    for (int64_t k = pairs->indptr[s->drawn.nodes[r]]; k < pairs->indptr[s->drawn.nodes[r] + 1]; k++) {
        const int32_t u = pairs->indices[k];
        if (s->score[u] == 0 || (!all && weight_at(s->sampler, k) <= 0))
            continue;
        if (places) {
            places[count] = k;
            senders[count] = u;
        }
        count++;
    }
    return count;
}

/* Fills block l with the edges from sampled senders; all edges of a receiver with `all`, else those
 * of positive weight. */
static int make_block(gnn_sample_t *s, int64_t l, bool all)
{
    const int64_t n = s->drawn.count;
    const int threads = gnn__threads(s->context, 64 * n);
    int64_t *indptr;
    int32_t *senders;
    GNN_TRY(gnn__block_begin(s->graphs[l], n, &indptr));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        indptr[r + 1] = sampled_edges(s, r, all, NULL, NULL);
    for (int64_t r = 0; r < n; r++)
        indptr[r + 1] += indptr[r];
    const int64_t m = indptr[n];
    GNN_TRY(gnn__block_edges(s->graphs[l], &senders));
    GNN_TRY(gnn__sample_reserve_edges(s, l, m, true));
    GNN_TRY(gnn__drawn_reserve(&s->drawn, n + gnn__min(m, s->n_met)));
    gnn__drawn_edges_t *e = &s->edges[l];
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        sampled_edges(s, r, all, e->ids + indptr[r], senders + indptr[r]);
    for (int64_t k = 0; k < m; k++) {
        e->scale[k] = (gnn_real_t)s->score[senders[k]];
        e->ids[k] = gnn__pairs_edge(s->sampler->pairs, e->ids[k]);
        senders[k] = gnn__drawn_position(&s->drawn, senders[k]);
    }
    return gnn__block_end(s->graphs[l], s->drawn.count);
}

static int draw_hop(gnn_sample_t *s, int64_t l, int64_t hop, int64_t fan_out)
{
    const int64_t n = s->drawn.count;
    const bool all = fan_out < 0;
    for (int64_t r = 0; r < n && fan_out != 0; r++)
        score_row(s, r, all);
    if (all || s->n_met <= fan_out)
        scale_all(s);
    else
        draw_senders(s, hop, fan_out);
    const int rc = make_block(s, l, all);
    for (int64_t k = 0; k < s->n_met; k++)
        s->score[s->met[k]] = 0;
    s->n_met = 0;
    return rc;
}

static int layerwise_draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(draw_hop(s, c->hops - 1 - h, h, c->fan_outs[h]));
    return GNN_OK;
}

const gnn__sampling_method_t gnn__sampler_layerwise = {.reads =
                                                           GNN__SAMPLES_HOPS | GNN__SAMPLES_WEIGHT,
                                                       .blocks = true,
                                                       .needs_hops = true,
                                                       .scores_nodes = true,
                                                       .draw = layerwise_draw};

/* ---- walk ---- */

/* Random-walk sampling, GraphSAINT, Zeng et al. 2020: walks from each seed against the direction
 * of edges; the batch is the induced subgraph of the visited nodes. When the sampler is opened, N
 * batches count how often each node (C_v) and each edge (C_vu) occurs. The loss of a node is then
 * scaled by N / C_v and a message by C_v / C_vu, so that expectations are kept; counts of 0 become
 * 1. */

enum { WALKS_AT_ONCE = 64, BATCH = 1024 };

static const char COUNTS[] = "counts of walks";

typedef struct {
    int32_t *node, *pair; /* (n), (edges): occurrences */
    int64_t rounds;
} counts_t;

/* One walk; visits[0 .. length - 1] receives the visited nodes, -1 after its end. */
static void run_walk(const gnn_sample_t *s, int32_t root, int32_t *visits)
{
    const gnn_sampler_t *sampler = s->sampler;
    gnn__stream_t stream = gnn__stream(s->key, 0, root);
    int32_t at = root;
    for (int64_t k = 0; k < sampler->config.walk_length; k++) {
        int64_t place;
        double key;
        if (at >= 0 && gnn__pick_count(sampler, 1, at) > 0) {
            gnn__pick(sampler, 1, at, &stream, 1, &place, &key);
            at = sampler->pairs->indices[place];
        } else {
            at = -1;
        }
        visits[k] = at;
    }
}

static int draw_nodes(gnn_sample_t *s)
{
    const int64_t length = s->sampler->config.walk_length, seeds = s->n_seeds;
    int64_t steps, most;
    if (!gnn__mul(seeds, length, &steps) || !gnn__add(seeds, steps, &most))
        return gnn__error(GNN_EOVERFLOW, "the size of %lld walks of %lld steps overflows",
                          (long long)seeds, (long long)length);
    GNN_TRY(gnn__reserve(&s->visits, &s->visits_room, steps, sizeof *s->visits, "walks"));
    GNN_TRY(gnn__drawn_reserve(&s->drawn, most));
    const int threads = gnn__threads(s->context, 64 * steps);
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, WALKS_AT_ONCE), int64_t k = 0; k < seeds; k++)
        run_walk(s, s->drawn.nodes[k], s->visits + k * length);
    for (int64_t k = 0; k < steps; k++)
        if (s->visits[k] >= 0)
            gnn__drawn_position(&s->drawn, s->visits[k]);
    return gnn__sample_induce(s);
}

/* ---- walk: counts of nodes and edges ---- */

static gnn_real_t ratio(int64_t numerator, int64_t denominator)
{
    return (gnn_real_t)(numerator > 0 ? numerator : 1) /
           (gnn_real_t)(denominator > 0 ? denominator : 1);
}

/* Visits the edges of node r in the order of gnn__sample_induce. With `scale` NULL counts the
 * samples that have each; else writes their factors, an estimate of P(node sampled) / P(edge
 * sampled), to scale[at], ... Returns the offset after the last edge. */
static int64_t each_pair(const gnn_sample_t *s, int64_t r, int64_t at, const counts_t *c,
                         gnn_real_t *scale)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    const int32_t node = s->drawn.nodes[r];
    for (int64_t k = pairs->indptr[node]; k < pairs->indptr[node + 1]; k++) {
        if (s->drawn.position[pairs->indices[k]] < 0)
            continue;
        if (scale)
            scale[at] = ratio(c->node[node], c->pair[k]);
        else
            c->pair[k]++;
        at++;
    }
    return at;
}

static void count_sample(const gnn_sample_t *s, const counts_t *c)
{
    for (int64_t r = 0; r < s->drawn.count; r++) {
        c->node[s->drawn.nodes[r]]++;
        each_pair(s, r, 0, c, NULL);
    }
}

/* Moves `count` uniformly drawn roots to the front. */
static void shuffle_roots(gnn__stream_t *stream, int32_t *roots, int64_t n, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t other = k + gnn__stream_below(stream, n - k);
        const int32_t root = roots[other];
        roots[other] = roots[k];
        roots[k] = root;
    }
}

/* The counted batches use epoch 2^32 - 1, which no training reaches. */
static int count_rounds(const gnn_sampler_t *s, const counts_t *c, int32_t *roots, int64_t n_roots)
{
    const int64_t batch = gnn__min(s->config.batch, n_roots);
    const uint32_t key[2] = {(uint32_t)s->config.seed, (uint32_t)(s->config.seed >> 32)};
    gnn_sample_t *sample;
    int rc = GNN_OK;
    GNN_TRY(gnn_sample_new(&sample, s));
    sample->counting = true;
    for (int64_t round = 0; rc == GNN_OK && round < s->config.rounds; round++) {
        gnn__stream_t stream = gnn__stream(key, round, UINT32_MAX);
        shuffle_roots(&stream, roots, n_roots, batch);
        rc = gnn_sample_draw(sample, NULL, batch, roots, UINT32_MAX, round);
        if (rc == GNN_OK)
            count_sample(sample, c);
    }
    gnn_sample_free(sample);
    return rc;
}

static int list_roots(const gnn_sampler_config_t *config, int64_t n, int32_t **roots, int64_t *count)
{
    *count = config->roots ? config->n_roots : n;
    if (*count < 1 || *count > n)
        return gnn__error(GNN_EINVALID,
                          "sampler \"walk\": n_roots: expected 1 to %lld, the count of nodes, got %lld",
                          (long long)n, (long long)*count);
    GNN_TRY(gnn__new(roots, *count, sizeof **roots, COUNTS));
    for (int64_t k = 0; k < *count; k++)
        (*roots)[k] = config->roots ? config->roots[k] : (int32_t)k;
    return GNN_OK;
}

static int open_walk(gnn_sampler_t *s, const gnn_sampler_config_t *config)
{
    const int64_t n = s->graph->n_dst;
    counts_t *c;
    int32_t *roots = NULL;
    int64_t n_roots;
    if (config->batch < 0 || s->config.rounds > INT32_MAX)
        return gnn__error(
            GNN_EINVALID,
            "sampler \"walk\": expected batch >= 0 and rounds below 2^31, got %lld and %lld",
            (long long)config->batch, (long long)s->config.rounds);
    if (s->config.batch == 0)
        s->config.batch = BATCH;
    GNN_TRY(gnn__new(&s->own[1], 1, sizeof *c, COUNTS));
    c = s->own[1];
    c->rounds = s->config.rounds;
    GNN_TRY(gnn__new(&s->own[2], n, sizeof *c->node, COUNTS));
    GNN_TRY(gnn__new(&s->own[3], s->pairs->count, sizeof *c->pair, COUNTS));
    c->node = s->own[2];
    c->pair = s->own[3];
    int rc = list_roots(config, n, &roots, &n_roots);
    if (rc == GNN_OK)
        rc = count_rounds(s, c, roots, n_roots);
    gnn_free(roots);
    return rc;
}

/* ---- walk: drawing ---- */

static int scale_sample(gnn_sample_t *s, const counts_t *c)
{
    const int64_t m = s->edges[0].count, n = s->drawn.count;
    gnn__drawn_edges_t *e = &s->edges[0];
    int64_t at = 0;
    GNN_TRY(gnn__reserve(&e->scale, &e->scale_room, m, sizeof *e->scale, COUNTS));
    GNN_TRY(gnn__reserve(&s->node_scale, &s->node_scale_room, n, sizeof *s->node_scale, COUNTS));
    for (int64_t r = 0; r < n; r++) {
        s->node_scale[r] = ratio(c->rounds, c->node[s->drawn.nodes[r]]);
        at = each_pair(s, r, at, c, e->scale);
    }
    e->scaled = s->scaled = true;
    return GNN_OK;
}

static int walk_draw(gnn_sample_t *s)
{
    GNN_TRY(draw_nodes(s));
    return s->counting ? GNN_OK : scale_sample(s, s->sampler->own[1]);
}

const gnn__sampling_method_t gnn__sampler_walk = {.reads = GNN__SAMPLES_WEIGHT | GNN__SAMPLES_WALKS,
                                                  .all_learn = true,
                                                  .open = open_walk,
                                                  .draw = walk_draw};

/* ---- cluster ---- */

/* Cluster-GCN, Chiang et al. 2019: a batch is the induced subgraph of some clusters. A seed stands
 * for its cluster. */

/* The nodes of each cluster, and one node of each as a seed. */
typedef struct {
    int64_t count;
    int64_t *start; /* (count + 1): offsets in `member` */
    int32_t *member, *seeds;
} lists_t;

static int check_clusters(const int32_t *cluster_of, int64_t n, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (cluster_of[i] < 0 || cluster_of[i] >= n)
            return gnn__error(GNN_EINVALID, "cluster_of[%lld] = %d, expected 0 to %lld",
                              (long long)i, cluster_of[i], (long long)n - 1);
        *count = cluster_of[i] >= *count ? (int64_t)cluster_of[i] + 1 : *count;
    }
    return GNN_OK;
}

/* Allocates all lists; the sampler owns them. */
static int lists_new(gnn_sampler_t *s, int64_t n, int64_t count, lists_t **lists)
{
    int32_t *room;
    int64_t *start;
    GNN_TRY(gnn__new(&s->own[2], 1, sizeof **lists, "lists of clusters"));
    *lists = s->own[2];
    GNN_TRY(gnn__new(&s->own[3], count + 2, sizeof *start, "starts of clusters"));
    GNN_TRY(gnn__new(&s->own[4], n + count, sizeof *room, "nodes of clusters"));
    start = s->own[3];
    room = s->own[4];
    **lists = (lists_t){.count = count, .start = start, .member = room, .seeds = room + n};
    return GNN_OK;
}

static void fill_lists(gnn_sampler_t *s, lists_t *l, const int32_t *cluster_of, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        l->start[cluster_of[i] + 2]++;
    for (int64_t c = 0; c < l->count; c++)
        l->start[c + 1] += l->start[c];
    for (int64_t i = 0; i < n; i++)
        l->member[l->start[cluster_of[i] + 1]++] = (int32_t)i;
    for (int64_t c = 0; c < l->count; c++)
        if (l->start[c + 1] > l->start[c])
            l->seeds[s->n_seeds++] = l->member[l->start[c]];
    s->seeds = l->seeds;
}

static int open_clusters(gnn_sampler_t *s, const gnn_sampler_config_t *config)
{
    const int64_t n = s->graph->n_dst;
    int32_t *cluster_of;
    lists_t *lists;
    int64_t count;
    GNN_TRY(gnn__new(&s->own[1], n, sizeof *cluster_of, "clusters of nodes"));
    s->config.cluster_of = cluster_of = s->own[1];
    if (config->cluster_of)
        memcpy(cluster_of, config->cluster_of, (size_t)n * sizeof *cluster_of);
    else
        GNN_TRY(gnn__partition(s, cluster_of));
    GNN_TRY(check_clusters(cluster_of, n, &count));
    GNN_TRY(lists_new(s, n, count, &lists));
    fill_lists(s, lists, cluster_of, n);
    return GNN_OK;
}

static int cluster_draw(gnn_sample_t *s)
{
    const lists_t *lists = s->sampler->own[2];
    const int32_t *cluster_of = s->sampler->config.cluster_of;
    int64_t room = s->n_seeds;
    for (int64_t k = 0; k < s->n_seeds; k++) {
        const int32_t c = cluster_of[s->drawn.nodes[k]];
        room += lists->start[c + 1] - lists->start[c];
    }
    GNN_TRY(gnn__drawn_reserve(&s->drawn, room));
    for (int64_t k = 0; k < s->n_seeds; k++) {
        const int32_t c = cluster_of[s->drawn.nodes[k]];
        for (int64_t j = lists->start[c]; j < lists->start[c + 1]; j++)
            gnn__drawn_position(&s->drawn, lists->member[j]);
    }
    return gnn__sample_induce(s);
}

const gnn__sampling_method_t gnn__sampler_cluster = {
    .reads = GNN__SAMPLES_CLUSTERS, .all_learn = true, .open = open_clusters, .draw = cluster_draw};
