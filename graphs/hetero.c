/* Heterogeneous graphs: several types of nodes and edges, as one graph, by relation or by receiver
 * type. */
#include <graphs/build.h>
#include <graphs/hetero.h>

/* ---- checks of a description ---- */

int gnn__hetero_check_types(const gnn_hetero_t *h)
{
    if (!h)
        return gnn__error(GNN_EINVALID, "the heterogeneous graph is NULL");
    if (h->n_types < 1 || !h->types)
        return gnn__error(GNN_EINVALID, "expected at least one type of nodes, got %lld",
                          (long long)h->n_types);
    for (int64_t t = 0; t < h->n_types; t++) {
        const gnn_node_type_t *type = &h->types[t];
        if (!type->name || !*type->name)
            return gnn__error(GNN_EINVALID, "node type %lld of %lld: expected a name, got none",
                              (long long)t, (long long)h->n_types);
        int rc = gnn__graph_check_size("count", type->count);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "type %.40s", type->name);
    }
    if (h->n_relations < 1 || !h->relations)
        return gnn__error(GNN_EINVALID, "expected at least one relation, got %lld",
                          (long long)h->n_relations);
    return GNN_OK;
}

/* Checks that no other type has the name of type t. O(types). */
static int check_name(const gnn_hetero_t *h, int64_t t)
{
    for (int64_t s = 0; s < h->n_types; s++)
        if (s != t && strcmp(h->types[s].name, h->types[t].name) == 0)
            return gnn__error(GNN_EINVALID, "types %lld and %lld have the same name \"%.40s\"",
                              (long long)gnn__min(s, t), (long long)gnn__max(s, t), h->types[t].name);
    return GNN_OK;
}

/* Index of a type, or -1. */
static int64_t find_type(const gnn_hetero_t *h, const char *name)
{
    for (int64_t t = 0; name && t < h->n_types; t++)
        if (strcmp(h->types[t].name, name) == 0)
            return t;
    return -1;
}

static int unknown(const gnn_hetero_t *h, const char *name)
{
    char names[256] = "";
    for (int64_t t = 0; t < h->n_types; t++)
        gnn__append_name(names, sizeof names, ", ", h->types[t].name);
    return gnn__error(GNN_ENOTFOUND, "there is no type \"%.40s\"; there are %s",
                      name ? name : "NULL", names);
}

int64_t gnn__hetero_type(const gnn_hetero_t *hetero, const char *name)
{
    const int64_t t = hetero && hetero->types ? find_type(hetero, name) : -1;
    if (t < 0 && hetero && hetero->types)
        unknown(hetero, name);
    return t;
}

static int check_end(const gnn_relation_t *r, const char *side, int64_t k, int64_t node,
                     const gnn_node_type_t *type)
{
    if (node >= 0 && node < type->count)
        return GNN_OK;
    return gnn__error(
        GNN_ETOPOLOGY,
        "relation %.40s %.40s %.40s: %s[%lld] = %lld, but there are %lld nodes of %.40s", r->from,
        r->name, r->to, side, (long long)k, (long long)node, (long long)type->count, type->name);
}

/* Checks that the two types of a relation exist and are unique. O(types). */
static int check_sides(const gnn_hetero_t *h, int64_t at)
{
    const gnn_relation_t *r = &h->relations[at];
    const int64_t from = find_type(h, r->from), to = find_type(h, r->to);
    if (from < 0 || to < 0) {
        int rc = unknown(h, from < 0 ? r->from : r->to);
        return gnn__error_prefix(rc, "relation %lld", (long long)at);
    }
    GNN_TRY(check_name(h, from));
    return check_name(h, to);
}

/* Checks a relation: types, name, edges. O(types + its edges). */
static int check_relation(const gnn_hetero_t *h, int64_t at)
{
    GNN_TRY(check_sides(h, at));
    const gnn_relation_t *r = &h->relations[at];
    const int64_t from = find_type(h, r->from), to = find_type(h, r->to);
    if (!r->name || r->edges < 0 || (r->edges > 0 && (!r->src.data || !r->dst.data)))
        return gnn__error(
            GNN_EINVALID,
            "relation %lld from %.40s to %.40s: expected a name, .src, .dst and .edges >= 0, "
            "got .edges %lld",
            (long long)at, r->from, r->to, (long long)r->edges);
    GNN_TRY(gnn__ints_check(".src", r->src, r->edges));
    GNN_TRY(gnn__ints_check(".dst", r->dst, r->edges));
    for (int64_t k = 0; k < r->edges; k++) {
        GNN_TRY(check_end(r, "src", k, gnn__int(r->src, k), &h->types[from]));
        GNN_TRY(check_end(r, "dst", k, gnn__int(r->dst, k), &h->types[to]));
    }
    return GNN_OK;
}

static int check_all(const gnn_hetero_t *h)
{
    GNN_TRY(gnn__hetero_check_types(h));
    for (int64_t t = 0; t < h->n_types; t++)
        GNN_TRY(check_name(h, t));
    for (int64_t r = 0; r < h->n_relations; r++)
        GNN_TRY(check_relation(h, r));
    return GNN_OK;
}

/* ---- one graph of all types ---- */

/* *first (types + 1): the first node of each type. */
static int offsets(const gnn_hetero_t *h, int64_t **first)
{
    GNN_TRY(gnn__new(first, h->n_types + 1, sizeof **first, "offsets of types"));
    for (int64_t t = 0; t < h->n_types; t++)
        (*first)[t + 1] = (*first)[t] + h->types[t].count;
    return gnn__graph_check_size("the nodes of all types", (*first)[h->n_types]);
}

/* Relation r as a graph over the nodes of all types. */
static int relation_over_all(gnn_graph_t **graph, const gnn_hetero_t *h, int64_t r,
                             const int64_t *first)
{
    const gnn_relation_t *of = &h->relations[r];
    const int64_t n = first[h->n_types], src = first[find_type(h, of->from)],
                  dst = first[find_type(h, of->to)];
    int64_t *ends = NULL, room;
    if (!gnn__mul(2, of->edges, &room))
        return gnn__error(GNN_EOVERFLOW, "a relation: the size of %lld edges overflows",
                          (long long)of->edges);
    GNN_TRY(gnn__new(&ends, room, sizeof *ends, "the edges of a relation"));
    for (int64_t k = 0; k < of->edges; k++) {
        ends[k] = src + gnn__int(of->src, k);
        ends[of->edges + k] = dst + gnn__int(of->dst, k);
    }
    const int rc = gnn_graph_from_edges(graph, n, n, of->edges, ends, ends + of->edges);
    gnn_free(ends);
    return rc;
}

void gnn__hetero_classes(const gnn_hetero_t *h, int32_t *node_class, int32_t *edge_class)
{
    int64_t at = 0;
    for (int64_t t = 0; node_class && t < h->n_types; t++)
        for (int64_t k = 0; k < h->types[t].count; k++)
            node_class[at++] = (int32_t)t;
    at = 0;
    for (int64_t r = 0; edge_class && r < h->n_relations; r++)
        for (int64_t k = 0; k < h->relations[r].edges; k++)
            edge_class[at++] = (int32_t)r;
}

int gnn_graph_hetero(gnn_graph_t **graph, const gnn_hetero_t *hetero, int32_t *node_class,
                     int32_t *edge_class)
{
    GNN__NEED(graph);
    GNN__NEED(hetero);
    int rc;
    int64_t *first = NULL;
    gnn_graph_t **parts = NULL;
    GNN_TRY(check_all(hetero));
    GNN_CHECK(offsets(hetero, &first));
    GNN_CHECK(gnn__new(&parts, hetero->n_relations, sizeof *parts, "relations"));
    for (int64_t r = 0; r < hetero->n_relations; r++)
        GNN_CHECK(relation_over_all(&parts[r], hetero, r, first));
    GNN_CHECK(gnn_graph_merge(graph, hetero->n_relations, (const gnn_graph_t *const *)parts));
    gnn__hetero_classes(hetero, node_class, edge_class);
done:
    for (int64_t r = 0; parts && r < hetero->n_relations; r++)
        gnn_graph_free(parts[r]);
    gnn_free(parts);
    gnn_free(first);
    return rc;
}

/* ---- by relation, by receiver type ---- */

static int relation_of(gnn_graph_t **graph, const gnn_hetero_t *h, int64_t r)
{
    const gnn_relation_t *of = &h->relations[r];
    return gnn_graph_from_edges(graph, h->types[find_type(h, of->to)].count,
                                h->types[find_type(h, of->from)].count, of->edges, of->src, of->dst);
}

int gnn_graph_relation(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t r)
{
    GNN__NEED(graph);
    GNN__NEED(hetero);
    GNN_TRY(gnn__hetero_check_types(hetero));
    if (r < 0 || r >= hetero->n_relations)
        return gnn__error(GNN_EINVALID, "gnn_graph_relation: expected a relation 0 to %lld, got %lld",
                          (long long)hetero->n_relations - 1, (long long)r);
    GNN_TRY(check_relation(hetero, r));
    return relation_of(graph, hetero, r);
}

int gnn_graph_towards(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t type)
{
    GNN__NEED(graph);
    GNN__NEED(hetero);
    int rc;
    int64_t count = 0;
    gnn_graph_t **relations = NULL;
    GNN_TRY(gnn__hetero_check_types(hetero));
    if (type < 0 || type >= hetero->n_types)
        return gnn__error(GNN_EINVALID, "gnn_graph_towards: expected a type 0 to %lld, got %lld",
                          (long long)hetero->n_types - 1, (long long)type);
    GNN_CHECK(gnn__new(&relations, hetero->n_relations, sizeof *relations, "relations"));
    GNN_CHECK(check_name(hetero, type));
    for (int64_t r = 0; r < hetero->n_relations; r++) {
        GNN_CHECK(check_sides(hetero, r));
        if (strcmp(hetero->relations[r].to, hetero->types[type].name) != 0)
            continue;
        GNN_CHECK(check_relation(hetero, r));
        GNN_CHECK(relation_of(&relations[count], hetero, r));
        count++;
    }
    if (count > 0)
        GNN_CHECK(gnn_graph_beside(graph, count, (const gnn_graph_t *const *)relations));
    else
        GNN_CHECK(gnn_graph_from_edges(graph, hetero->types[type].count, 0, 0, NULL, NULL));
done:
    for (int64_t k = 0; relations && k < count; k++)
        gnn_graph_free(relations[k]);
    gnn_free(relations);
    return rc;
}

/* ---- graphs with the same receivers: senders concatenated ---- */

static int check_same_receivers(int64_t count, const gnn_graph_t *const *graphs)
{
    if (count < 1 || !graphs)
        return gnn__error(GNN_EINVALID, "expected at least one graph, got %lld", (long long)count);
    for (int64_t g = 0; g < count; g++) {
        if (!graphs[g])
            return gnn__error(GNN_EINVALID, "graph %lld of %lld is NULL", (long long)g,
                              (long long)count);
        if (graphs[g]->n_dst != graphs[0]->n_dst)
            return gnn__error(GNN_ESHAPE, "graph %lld has %lld receivers, graph 0 has %lld",
                              (long long)g, (long long)graphs[g]->n_dst, (long long)graphs[0]->n_dst);
        for (int64_t p = 0; p < graphs[g]->base.n_parts; p++)
            if (gnn__pairs_form(&graphs[g]->base.parts[p].pairs) != GNN__EDGES &&
                graphs[g]->base.parts[p].pairs.count > 0)
                return gnn__error(GNN_EUNSUPPORTED,
                                  "part %lld of graph %lld stores spans: see gnn_graph_to_edges",
                                  (long long)p, (long long)g);
    }
    return GNN_OK;
}

/* Writes the ends of a graph's edges by id, from edge `at` on; sender indices are shifted by
 * `shift`. */
static void take_edges(const gnn_graph_t *graph, int64_t at, int64_t shift, int64_t *src, int64_t *dst)
{
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        const gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        for (int64_t r = 0; pairs->count > 0 && r < pairs->n_rows; r++)
            for (int64_t k = gnn__pairs_from(pairs, r); k < gnn__pairs_to(pairs, r); k++) {
                const int64_t edge = at + gnn__pairs_edge(pairs, k);
                src[edge] = shift + gnn__pairs_col(pairs, k);
                dst[edge] = gnn__pairs_node(pairs, r);
            }
    }
}

int gnn_graph_beside(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(graphs, count);
    int rc;
    int64_t m = 0, n_src = 0;
    int64_t *src = NULL, *dst = NULL;
    GNN_TRY(check_same_receivers(count, graphs));
    for (int64_t g = 0; g < count; g++)
        if (!gnn__add(m, graphs[g]->n_edges, &m) || !gnn__add(n_src, graphs[g]->n_src, &n_src))
            return gnn__error(GNN_EOVERFLOW, "the edges or senders of %lld graphs overflow",
                              (long long)count);
    GNN_CHECK(gnn__new(&src, m, sizeof *src, "a list of senders"));
    GNN_CHECK(gnn__new(&dst, m, sizeof *dst, "a list of receivers"));
    m = n_src = 0;
    for (int64_t g = 0; g < count; g++) {
        take_edges(graphs[g], m, n_src, src, dst);
        m += graphs[g]->n_edges;
        n_src += graphs[g]->n_src;
    }
    GNN_CHECK(gnn_graph_from_edges(graph, graphs[0]->n_dst, n_src, m, src, dst));
done:
    gnn_free(src);
    gnn_free(dst);
    return rc;
}
