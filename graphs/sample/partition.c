/* Clusters by METIS, Karypis and Kumar 1998, if the library was built with it. */
#include <graphs/sample/sample.h>

#if GNN__METIS
#include <metis.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* ---- the process state that METIS changes ---- */

/* METIS reports errors by SIGABRT and SIGTERM, sets handlers for them and restores the program's
 * without their flags. It also seeds and calls rand. Both belong to the process: one call at a
 * time, and both are restored. */
typedef struct {
    struct sigaction actions[2];
    char *random;  /* the program's state of rand */
    char own[128]; /* as large as the initial state, so that the sequence is the same */
} process_state_t;

static const int trapped[] = {SIGABRT, SIGTERM};
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void save_state(process_state_t *state)
{
    pthread_mutex_lock(&one_at_a_time);
    for (int k = 0; k < 2; k++)
        sigaction(trapped[k], NULL, &state->actions[k]);
    state->random = initstate(1, state->own, sizeof state->own);
}

static void restore_state(const process_state_t *state)
{
    setstate(state->random);
    for (int k = 0; k < 2; k++)
        sigaction(trapped[k], &state->actions[k], NULL);
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- the graph and the call ---- */

/* The graph as METIS takes it: both directions of every pair, without self-loops and duplicates. */
typedef struct {
    idx_t *start, *other;
} links_t;

static void count_links(const gnn__pairs_t *pairs, int64_t n, idx_t *start)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++)
            if (pairs->indices[k] != i) {
                start[i + 1]++;
                start[pairs->indices[k] + 1]++;
            }
    for (int64_t i = 0; i < n; i++)
        start[i + 1] += start[i];
}

/* `at` (n): position of each node's next link. */
static void list_links(const gnn__pairs_t *pairs, int64_t n, idx_t *at, idx_t *other)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++) {
            const int32_t j = pairs->indices[k];
            if (j == i)
                continue;
            other[at[i]++] = j;
            other[at[j]++] = (idx_t)i;
        }
}

/* Removes duplicates; `last` (n, -1) is the last node that listed another. */
static void merge_links(links_t *l, int64_t n, idx_t *last)
{
    idx_t kept = 0, from = 0;
    for (int64_t i = 0; i < n; i++) {
        const idx_t to = l->start[i + 1];
        for (idx_t k = from; k < to; k++)
            if (last[l->other[k]] != i) {
                last[l->other[k]] = (idx_t)i;
                l->other[kept++] = l->other[k];
            }
        l->start[i + 1] = kept;
        from = to;
    }
}

static int find_links(const gnn__pairs_t *pairs, int64_t n, links_t *l)
{
    idx_t *at;
    if (pairs->count > (sizeof(idx_t) == 4 ? INT32_MAX / 2 : INT64_MAX / 4))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "this METIS has 32-bit indices: expected at most 2^31 - 1 links, got 2 x %lld",
            (long long)pairs->count);
    GNN_TRY(gnn__new(&l->start, n + 1, sizeof *l->start, "links"));
    GNN_TRY(gnn__new(&l->other, 2 * pairs->count, sizeof *l->other, "links"));
    GNN_TRY(gnn__new(&at, n, sizeof *at, "links"));
    count_links(pairs, n, l->start);
    memcpy(at, l->start, (size_t)n * sizeof *at);
    list_links(pairs, n, at, l->other);
    memset(at, 0xff, (size_t)n * sizeof *at);
    merge_links(l, n, at);
    gnn_free(at);
    return GNN_OK;
}

static int call_metis(const gnn__metis_t *m, links_t *l, idx_t *part)
{
    idx_t nodes = (idx_t)m->pairs->n_rows, constraints = (idx_t)gnn__max(1, m->constraints), cut,
          options[METIS_NOPTIONS], parts = (idx_t)m->parts, *weights = NULL;
    process_state_t state;
    if (m->weights) {
        GNN_TRY(gnn__new(&weights, nodes * constraints, sizeof *weights, "weights of nodes"));
        for (int64_t k = 0; k < (int64_t)nodes * constraints; k++)
            weights[k] = (idx_t)m->weights[k];
    }
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = (idx_t)(m->seed & INT32_MAX);
    save_state(&state);
    const int rc = METIS_PartGraphKway(&nodes, &constraints, l->start, l->other, weights, NULL,
                                       NULL, &parts, NULL, NULL, options, &cut, part);
    restore_state(&state);
    gnn_free(weights);
    if (rc == METIS_OK)
        return GNN_OK;
    /* METIS_ERROR is what it returns where its initial partitioning gets no memory */
    return gnn__error(rc == METIS_ERROR_INPUT ? GNN_EINVALID : GNN_EMEMORY,
                      "METIS: error %d for %lld nodes and %lld %s", rc, (long long)nodes,
                      (long long)parts, m->what);
}

int gnn__metis(const gnn__metis_t *m, int32_t *part_of)
{
    const int64_t n = m->pairs->n_rows;
    links_t links = {0};
    idx_t *part = NULL;
    int rc;
    GNN_CHECK(find_links(m->pairs, n, &links));
    GNN_CHECK(gnn__new(&part, n, sizeof *part, m->what));
    GNN_CHECK(call_metis(m, &links, part));
    for (int64_t i = 0; i < n; i++)
        part_of[i] = (int32_t)part[i];
    rc = GNN_OK;
done:
    gnn_free(links.start);
    gnn_free(links.other);
    gnn_free(part);
    return rc;
}
#else
int gnn__metis(const gnn__metis_t *m, int32_t *part_of)
{
    (void)part_of;
    return gnn__error(GNN_EUNSUPPORTED, "this library was built without METIS: %s", m->otherwise);
}
#endif

int gnn__partition(const gnn_sampler_t *s, int32_t *cluster_of)
{
    const int64_t n = s->graph->n_dst, clusters = s->config.clusters;
    if (clusters < 1 || clusters > n)
        return gnn__error(
            GNN_EINVALID,
            "sampler \"cluster\": without cluster_of, clusters: expected 1 to %lld, the count of nodes, got %lld",
            (long long)n, (long long)clusters);
    if (clusters > 1)
        return gnn__metis(&(gnn__metis_t){.pairs = s->pairs,
                                          .parts = clusters,
                                          .seed = s->config.seed,
                                          .what = "clusters",
                                          .otherwise = "sampler \"cluster\" needs .cluster_of"},
                          cluster_of);
    memset(cluster_of, 0, (size_t)n * sizeof *cluster_of);
    return GNN_OK;
}
