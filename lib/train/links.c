/* Splits the links of a graph into training, validation and test. */
#include <graphs/graph.h>
#include <lib/base/settings.h>
#include <lib/data/data.h>
#include <lib/train/links.h>
#include <stdlib.h>

int gnn__pair_list_new(gnn__pair_list_t *list, int64_t count)
{
    *list = (gnn__pair_list_t){.count = count};
    GNN_TRY(gnn__new(&list->src, count, sizeof *list->src, "pairs"));
    return gnn__new(&list->dst, count, sizeof *list->dst, "pairs");
}

void gnn__pair_list_free(gnn__pair_list_t *list)
{
    gnn_free(list->src);
    gnn_free(list->dst);
    *list = (gnn__pair_list_t){0};
}

/* ---- links of edges ---- */

/* An edge by its ends; sorted if both directions are one link. */
typedef struct {
    int64_t low, high, at;
} ends_t;

static int compare(const void *a, const void *b)
{
    const ends_t *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void number_links(gnn__link_index_t *index, ends_t *ends)
{
    qsort(ends, (size_t)index->edges, sizeof *ends, compare);
    for (int64_t k = 0; k < index->edges; k++) {
        if (ends[k].low == ends[k].high) {
            index->link_of[ends[k].at] = -1;
            continue;
        }
        if (k == 0 || ends[k].low != ends[k - 1].low || ends[k].high != ends[k - 1].high)
            index->first[index->count++] = ends[k].at;
        index->link_of[ends[k].at] = index->count - 1;
    }
}

static int check_graph(const gnn_graph_t *graph)
{
    if (gnn_graph_n_dst(graph) != gnn_graph_n_src(graph))
        return gnn__error(GNN_ETOPOLOGY,
                          "links join nodes of one kind, the graph has %lld receivers and %lld senders",
                          (long long)gnn_graph_n_dst(graph), (long long)gnn_graph_n_src(graph));
    if (gnn_graph_n_parts(graph) != 1 || gnn__graph_part_is_spans(graph, 0))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "links are of a graph of one part that stores edges, this one has %lld parts%s",
            (long long)gnn_graph_n_parts(graph),
            gnn_graph_n_parts(graph) == 1 ? " that stores spans" : "");
    return GNN_OK;
}

int gnn__link_index_new(gnn__link_index_t *index, const gnn_graph_t *graph, bool directed)
{
    ends_t *ends = NULL;
    int rc;
    *index = (gnn__link_index_t){0};
    GNN_TRY(check_graph(graph));
    const int64_t m = index->edges = gnn_graph_n_edges(graph);
    int64_t **const arrays[] = {&index->src, &index->dst, &index->edge, &index->link_of,
                                &index->first};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        GNN_CHECK(gnn__new(arrays[k], m, sizeof **arrays[k], "links"));
    GNN_CHECK(gnn__new(&ends, m, sizeof *ends, "links"));
    GNN_CHECK(gnn_graph_pairs(graph, index->src, index->dst, index->edge));
    for (int64_t k = 0; k < m; k++) {
        const int64_t s = index->src[k], d = index->dst[k];
        const bool turn = !directed && d < s;
        ends[k] = (ends_t){turn ? d : s, turn ? s : d, k};
    }
    number_links(index, ends);
    gnn_free(ends);
    return GNN_OK;
done:
    gnn_free(ends);
    gnn__link_index_free(index);
    return rc;
}

void gnn__link_index_free(gnn__link_index_t *index)
{
    gnn_free(index->src);
    gnn_free(index->dst);
    gnn_free(index->edge);
    gnn_free(index->link_of);
    gnn_free(index->first);
    *index = (gnn__link_index_t){0};
}

/* ---- splitting ---- */

/* In double, so that the fraction is not rounded before the multiplication. */
static double share(double value, double initial)
{
    return value == 0 ? initial : value > -1e-30 && value < 1e-30 ? 0 : value;
}

static int check_rule(const gnn_link_rule_t *rule, double shares[3])
{
    GNN_TRY(gnn__check_flag(rule->directed, "a link rule's directed"));
    shares[GNN_VALIDATION] = share(rule->validation_share, 0.05);
    shares[GNN_TEST] = share(rule->test_share, 0.1);
    if (!(shares[GNN_VALIDATION] >= 0 && shares[GNN_TEST] >= 0 &&
          shares[GNN_VALIDATION] + shares[GNN_TEST] < 1))
        return gnn__error(
            GNN_EINVALID,
            ".validation_share = %g and .test_share = %g, expected at least 0 each and a sum below 1",
            shares[GNN_VALIDATION], shares[GNN_TEST]);
    return GNN_OK;
}

/* part[link]: validation first, then test, of a shuffled order. */
static int deal_links(const gnn__link_index_t *index, const double shares[3], uint64_t seed,
                      int8_t *part, int64_t count[3])
{
    int32_t *order;
    if (index->count > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "%lld links, at most 2^31 - 1 are expected",
                          (long long)index->count);
    count[GNN_VALIDATION] = (int64_t)(shares[GNN_VALIDATION] * (double)index->count + 1e-9);
    count[GNN_TEST] = (int64_t)(shares[GNN_TEST] * (double)index->count + 1e-9);
    count[GNN_TRAIN] = index->count - count[GNN_VALIDATION] - count[GNN_TEST];
    if (count[GNN_TRAIN] < 1)
        return gnn__error(
            GNN_EINVALID,
            "of %lld links none is left for training: smaller shares of validation and test are expected",
            (long long)index->count);
    GNN_TRY(gnn__new(&order, index->count, sizeof *order, "an order of links"));
    gnn__data_shuffle(order, index->count, seed);
    for (int64_t k = 0; k < index->count; k++)
        part[order[k]] = k < count[GNN_VALIDATION]                     ? GNN_VALIDATION
                         : k < count[GNN_VALIDATION] + count[GNN_TEST] ? GNN_TEST
                                                                       : GNN_TRAIN;
    gnn_free(order);
    return GNN_OK;
}

static int list_links(gnn_links_t *links, const gnn__link_index_t *index, const int8_t *part,
                      const int64_t count[3], bool directed)
{
    int64_t at[3] = {0};
    for (int p = 0; p < 3; p++)
        GNN_TRY(gnn__pair_list_new(&links->of[p], count[p]));
    for (int64_t k = 0; k < index->count; k++) {
        const int64_t s = index->src[index->first[k]], d = index->dst[index->first[k]];
        const bool turn = !directed && d < s;
        gnn__pair_list_t *to = &links->of[part[k]];
        to->src[at[part[k]]] = (int32_t)(turn ? d : s);
        to->dst[at[part[k]]++] = (int32_t)(turn ? s : d);
    }
    return GNN_OK;
}

/* By receiver, in the order of gnn_graph_pairs. */
static int make_graph(gnn_links_t *links, const gnn__link_index_t *index, const int8_t *part)
{
    int64_t *indptr, m = 0;
    int32_t *indices = NULL;
    int rc;
    GNN_TRY(gnn__new(&indptr, links->nodes + 1, sizeof *indptr, "messages"));
    GNN_CHECK(gnn__new(&indices, index->edges, sizeof *indices, "messages"));
    GNN_CHECK(gnn__new(&links->kept, index->edges, sizeof *links->kept, "messages"));
    for (int64_t k = 0; k < index->edges; k++) {
        if (index->link_of[k] >= 0 && part[index->link_of[k]] != GNN_TRAIN)
            continue;
        indptr[index->dst[k] + 1]++;
        indices[m] = (int32_t)index->src[k];
        links->kept[m++] = index->edge[k];
    }
    for (int64_t i = 0; i < links->nodes; i++)
        indptr[i + 1] += indptr[i];
    rc = gnn_graph_from_csr(&links->graph, links->nodes, links->nodes, indptr, indices);
done:
    gnn_free(indptr);
    gnn_free(indices);
    return rc;
}

/* Negative pairs of validation and test are drawn together, without duplicates as far as the graph
 * has enough. */
static int draw_others(gnn_links_t *links, const gnn_graph_t *graph, bool directed)
{
    const gnn_flag_t flag = directed ? GNN_ON : GNN_OFF;
    const int64_t count = links->of[GNN_VALIDATION].count + links->of[GNN_TEST].count;
    gnn__pair_list_t all = {0};
    int rc;
    GNN_TRY(gnn_negatives_new(&links->all, graph, flag));
    GNN_TRY(gnn_negatives_new(&links->known, links->graph, flag));
    GNN_CHECK(gnn__pair_list_new(&all, count));
    GNN_CHECK(gnn__negatives_different(links->all, links->seed, count, all.src, all.dst));
    int64_t at = 0;
    for (int p = GNN_VALIDATION; p <= GNN_TEST; p++) {
        gnn__pair_list_t *to = &links->without[p];
        GNN_CHECK(gnn__pair_list_new(to, links->of[p].count));
        for (int64_t k = 0; k < to->count; k++, at++) {
            to->src[k] = all.src[at];
            to->dst[k] = all.dst[at];
        }
    }
done:
    gnn__pair_list_free(&all);
    return rc;
}

static int split(gnn_links_t *links, const gnn_graph_t *graph, const gnn_link_rule_t *rule)
{
    const bool directed = rule->directed == GNN_ON;
    gnn__link_index_t index;
    double shares[3];
    int64_t count[3];
    int8_t *part = NULL;
    int rc;
    GNN_TRY(check_rule(rule, shares));
    GNN_TRY(gnn__link_index_new(&index, graph, directed));
    links->nodes = gnn_graph_n_dst(graph);
    links->edges = index.edges;
    links->seed = rule->seed;
    GNN_CHECK(gnn__new(&part, index.count, sizeof *part, "parts of links"));
    GNN_CHECK(deal_links(&index, shares, rule->seed, part, count));
    GNN_CHECK(list_links(links, &index, part, count, directed));
    GNN_CHECK(make_graph(links, &index, part));
    rc = draw_others(links, graph, directed);
done:
    gnn_free(part);
    gnn__link_index_free(&index);
    return rc;
}

int gnn_links_split(gnn_links_t **links, const gnn_graph_t *graph, const gnn_link_rule_t *rule)
{
    GNN__NEED(links);
    *links = NULL;
    GNN__NEED(graph);
    gnn_links_t *made;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "links"));
    int rc = split(made, graph, rule ? rule : &(gnn_link_rule_t){0});
    if (rc != GNN_OK) {
        gnn_links_free(made);
        return rc;
    }
    *links = made;
    return GNN_OK;
}

void gnn_links_free(gnn_links_t *links)
{
    if (!links)
        return;
    for (int p = 0; p < 3; p++) {
        gnn__pair_list_free(&links->of[p]);
        gnn__pair_list_free(&links->without[p]);
    }
    gnn_negatives_free(links->all);
    gnn_negatives_free(links->known);
    gnn_graph_free(links->graph);
    gnn_free(links->kept);
    gnn_free(links);
}

gnn_graph_t *gnn_links_graph(const gnn_links_t *links)
{
    GNN__NEED_OR(links, NULL);
    return links->graph;
}

const int64_t *gnn_links_edges(const gnn_links_t *links)
{
    GNN__NEED_OR(links, NULL);
    return links->kept;
}

static gnn_node_pairs_t pairs_of(const gnn__pair_list_t lists[3], int part)
{
    if (part < GNN_TRAIN || part > GNN_TEST)
        return (gnn_node_pairs_t){0};
    return (gnn_node_pairs_t){lists[part].count, lists[part].src, lists[part].dst};
}

gnn_node_pairs_t gnn_links_of(const gnn_links_t *links, int part)
{
    GNN__NEED_OR(links, (gnn_node_pairs_t){0});
    return pairs_of(links->of, part);
}

gnn_node_pairs_t gnn_links_without(const gnn_links_t *links, int part)
{
    GNN__NEED_OR(links, (gnn_node_pairs_t){0});
    return pairs_of(links->without, part);
}

/* ---- edges with classes ---- */

int(gnn_split_edges)(gnn_split_t **split, const gnn_graph_t *graph, gnn_ints_t labels,
                     const gnn_split_rule_t *rule)
{
    GNN__NEED_INTS(labels, 1);
    gnn__link_index_t links;
    int32_t *of_link = NULL;
    gnn_split_t *drawn = NULL;
    int rc;
    GNN__NEED(split);
    *split = NULL;
    GNN__NEED(graph);
    GNN__NEED(rule);
    GNN_TRY(gnn__ints_check("labels", labels, gnn_graph_n_edges(graph)));
    GNN_TRY(gnn__link_index_new(&links, graph, false));
    GNN_CHECK(gnn__new(&of_link, links.count, sizeof *of_link, "labels of links"));
    for (int64_t k = 0; k < links.count; k++)
        of_link[k] = -1;
    for (int64_t k = links.edges - 1; k >= 0; k--) {
        const int64_t label = gnn__int(labels, links.edge[k]);
        if (links.link_of[k] >= 0 && label >= 0)
            of_link[links.link_of[k]] = (int32_t)gnn__min(label, INT32_MAX);
    }
    GNN_CHECK(gnn_split_draw(&drawn, of_link, links.count, rule));
    GNN_CHECK(gnn_split_new(split, links.edges, drawn->count));
    for (int64_t k = 0; k < 3 * drawn->count * links.edges; k++) {
        const int64_t at = k % links.edges, s = k / links.edges % drawn->count, e = links.edge[at];
        const int part = (int)(k / links.edges / drawn->count);
        gnn__split_marks(*split, part, s)[e] = links.link_of[at] >= 0 && gnn__int(labels, e) >= 0 &&
                                               gnn__split_marks(drawn, part, s)[links.link_of[at]];
    }
done:
    gnn_free(of_link);
    gnn_split_free(drawn);
    gnn__link_index_free(&links);
    return rc;
}
