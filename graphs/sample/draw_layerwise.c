/* Layer-wise sampling (LADIES, Zou et al. 2019): the nodes of a layer share one set of senders,
 * drawn for all of them. A sender u is drawn in proportion to
 *
 *     q_u = sum over receivers v of (w_vu / sum_k w_vk)^2,
 *
 * s times with replacement. One that came c times of s is heard once, and its messages count
 * c sum(q) / (s q_u) times, so that every sum keeps its mean. Where there are no more candidates
 * than draws, all are taken, and count once. */
#include <graphs/sample/sample.h>

#include <float.h>
#include <math.h>

enum { ROWS_AT_ONCE = 64 };

static double weight_at(const gnn_sampler_t *s, int64_t place)
{
    return s->config.weight ? (double)s->config.weight[gnn__pairs_edge(s->pairs, place)] : 1;
}

/* Adds what row r gives its senders to their scores; `met` lists those that had none. */
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
        /* Never 0 again, however small a square is. */
        *score += fmax(share * share, DBL_MIN);
    }
}

/* Scores become what a sender's messages count: 1 each. */
static void take_all(gnn_sample_t *s)
{
    for (int64_t k = 0; k < s->n_met; k++)
        s->score[s->met[k]] = 1;
}

/* Scores become what a sender's messages count, 0 for those that did not come. The points on the
 * line of all scores come in falling order, each the largest of those that are left. */
static void take_some(gnn_sample_t *s, int64_t hop, int64_t draws)
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
        int64_t came = 0;
        above -= own;
        while (left > 0 && (point >= above || k == 0)) {
            came++;
            if (--left > 0)
                point = (power *= pow(gnn__stream_uniform(&stream), 1.0 / (double)left)) * total;
        }
        *score = (double)came * total / ((double)draws * own);
    }
}

/* How many of a node's pairs are heard; `places` and `senders` (both or neither) receive them. */
static int64_t heard(const gnn_sample_t *s, int64_t r, bool all, int64_t *places, int32_t *senders)
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

/* Pairs with senders that were drawn become block l. */
static int make_block(gnn_sample_t *s, int64_t l, bool all)
{
    const int64_t n = s->drawn.count;
    const int threads = gnn__threads(s->context, 64 * n);
    int64_t *indptr;
    int32_t *senders;
    GNN_TRY(gnn__block_begin(s->graphs[l], n, &indptr));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        indptr[r + 1] = heard(s, r, all, NULL, NULL);
    for (int64_t r = 0; r < n; r++)
        indptr[r + 1] += indptr[r];
    const int64_t m = indptr[n];
    GNN_TRY(gnn__block_edges(s->graphs[l], &senders));
    GNN_TRY(gnn__sample_reserve_edges(s, l, m, true));
    GNN_TRY(gnn__drawn_reserve(&s->drawn, n + gnn__min(m, s->n_met)));
    gnn__drawn_edges_t *e = &s->edges[l];
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t r = 0; r < n; r++)
        heard(s, r, all, e->numbers + indptr[r], senders + indptr[r]);
    for (int64_t k = 0; k < m; k++) {
        e->scale[k] = (gnn_real_t)s->score[senders[k]];
        e->numbers[k] = gnn__pairs_edge(s->sampler->pairs, e->numbers[k]);
        senders[k] = gnn__drawn_place(&s->drawn, senders[k]);
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
        take_all(s);
    else
        take_some(s, hop, fan_out);
    const int rc = make_block(s, l, all);
    for (int64_t k = 0; k < s->n_met; k++)
        s->score[s->met[k]] = 0;
    s->n_met = 0;
    return rc;
}

static int draw(gnn_sample_t *s)
{
    const gnn_sampler_config_t *c = &s->sampler->config;
    for (int64_t h = 0; h < c->hops; h++)
        GNN_TRY(draw_hop(s, c->hops - 1 - h, h, c->fan_outs[h]));
    return GNN_OK;
}

const gnn__sampler_row_t gnn__sampler_layerwise = {
    .blocks = true, .needs_hops = true, .scores_nodes = true, .draw = draw};
