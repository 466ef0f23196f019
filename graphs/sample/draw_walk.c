/* GraphSAINT's random walks (Zeng et al. 2020): from each seed a walk along those that are heard;
 * the batch is all nodes that were met, with all pairs between them. Batches drawn beforehand count
 * how often each node (C_v) and each pair (C_vu) comes. A node's loss then counts N / C_v times in
 * N batches, and a message C_v / C_vu times: sums keep their means. What never came in those
 * batches counts as having come once. */
#include <graphs/sample/sample.h>

enum { WALKS_AT_ONCE = 64, BATCH = 1024 };

static const char COUNTS[] = "counts of walks";

typedef struct {
    int32_t *node, *pair; /* (n), (pairs): how often each came */
    int64_t rounds;
} counts_t;

/* One walk; what it met stands in visits[0 .. length - 1], -1 behind its end. */
static void walk(const gnn_sample_t *s, int32_t root, int32_t *visits)
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
        return gnn__error(GNN_EOVERFLOW, "%lld walks of %lld steps", (long long)seeds,
                          (long long)length);
    GNN_TRY(gnn__reserve(&s->visits, &s->visits_room, steps, sizeof *s->visits, "walks"));
    GNN_TRY(gnn__drawn_reserve(&s->drawn, most));
    const int threads = gnn__threads(s->context, 64 * steps);
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, WALKS_AT_ONCE), int64_t k = 0; k < seeds; k++)
        walk(s, s->drawn.nodes[k], s->visits + k * length);
    for (int64_t k = 0; k < steps; k++)
        if (s->visits[k] >= 0)
            gnn__drawn_place(&s->drawn, s->visits[k]);
    return gnn__sample_induce(s);
}

/* ---- counting ---- */

static gnn_real_t ratio(int64_t more, int64_t fewer)
{
    return (gnn_real_t)(more > 0 ? more : 1) / (gnn_real_t)(fewer > 0 ? fewer : 1);
}

/* Goes through a node's pairs of the sample in the order of gnn__sample_induce: counts them, or
 * writes what their messages count, from scale[at] on. */
static int64_t each_pair(const gnn_sample_t *s, int64_t r, int64_t at, const counts_t *c,
                         gnn_real_t *scale)
{
    const gnn__pairs_t *pairs = s->sampler->pairs;
    const int32_t node = s->drawn.nodes[r];
    for (int64_t k = pairs->indptr[node]; k < pairs->indptr[node + 1]; k++) {
        if (s->drawn.place[pairs->indices[k]] < 0)
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

/* Moves `count` of the roots, each alike, to their front. */
static void shuffle_roots(gnn__stream_t *stream, int32_t *roots, int64_t n, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t other = k + gnn__stream_below(stream, n - k);
        const int32_t root = roots[other];
        roots[other] = roots[k];
        roots[k] = root;
    }
}

/* Batches that are counted are those of epoch 2^32 - 1, which no training comes to. */
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
                          "sampler \"walk\": %lld roots, expected 1 to %lld, the number of nodes",
                          (long long)*count, (long long)n);
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
        return gnn__error(GNN_EINVALID, "sampler \"walk\": batch = %lld, rounds = %lld",
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

/* ---- drawing ---- */

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

static int draw(gnn_sample_t *s)
{
    GNN_TRY(draw_nodes(s));
    return s->counting ? GNN_OK : scale_sample(s, s->sampler->own[1]);
}

const gnn__sampler_row_t gnn__sampler_walk = {.all_learn = true, .open = open_walk, .draw = draw};
