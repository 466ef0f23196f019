/* Cluster-GCN (Chiang et al. 2019): a batch is some clusters of the nodes with all pairs between
 * them. A seed stands for its cluster. */
#include <graphs/sample/sample.h>

/* The clusters' nodes, listed one cluster after another, and one node of each as a seed. */
typedef struct {
    int64_t count;
    int64_t *start; /* (count + 1) */
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

/* Room for all lists in one piece, which the sampler owns. */
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

static int draw(gnn_sample_t *s)
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
            gnn__drawn_place(&s->drawn, lists->member[j]);
    }
    return gnn__sample_induce(s);
}

const gnn__sampler_row_t gnn__sampler_cluster = {
    .all_learn = true, .open = open_clusters, .draw = draw};
