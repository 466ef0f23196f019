/* Edges that operations make of a list: reversed, with self-loops or without, of one type. Each
 * operation reads the arrays of the one before and writes new ones, and says which edge became
 * which, so that values on edges can follow. */
#include <lib/model/slot_edges.h>

#include <lib/base/base.h>

void gnn__slot_edges_free(gnn__slot_edges_t *made)
{
    int64_t *const owned[] = {made->src, made->dst,        made->type,      made->from,
                              made->to,  made->loop_nodes, made->loop_edges};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        gnn_free(owned[k]);
    *made = (gnn__slot_edges_t){0};
}

/* Room for `edges` edges and `loops` self-loops after them. */
static int make_room(gnn__slot_edges_t *made, int64_t edges, int64_t loops, bool typed)
{
    int64_t most;
    int64_t **const arrays[] = {&made->src, &made->dst, &made->from, &made->to};
    if (!gnn__add(edges, loops, &most))
        return gnn__error(GNN_EOVERFLOW, "%lld edges and %lld self-loops are too many",
                          (long long)edges, (long long)loops);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        GNN_TRY(gnn__new(arrays[k], most, sizeof **arrays[k], "the edges of a graph slot"));
    if (typed)
        GNN_TRY(gnn__new(&made->type, most, sizeof *made->type, "the types of edges"));
    GNN_TRY(gnn__new(&made->loop_nodes, loops, sizeof *made->loop_nodes, "self-loops"));
    return gnn__new(&made->loop_edges, loops, sizeof *made->loop_edges, "self-loops");
}

/* Edge `from` of the list before is the next edge. */
static void carry(gnn__slot_edges_t *made, const gnn__slot_edges_t *before, int64_t from)
{
    const int64_t to = made->n_edges++;
    made->src[to] = before->src[from];
    made->dst[to] = before->dst[from];
    if (made->type)
        made->type[to] = before->type[from];
    made->from[made->n_carried] = from;
    made->to[made->n_carried++] = to;
}

static int reverse(gnn__slot_edges_t *made, const gnn__slot_edges_t *before)
{
    GNN_TRY(make_room(made, before->n_edges, 0, before->type != NULL));
    made->n_src = before->n_dst;
    made->n_dst = before->n_src;
    for (int64_t k = 0; k < before->n_edges; k++) {
        carry(made, before, k);
        made->src[k] = before->dst[k];
        made->dst[k] = before->src[k];
    }
    return GNN_OK;
}

/* A self-loop for each node; with `last`, edge last[node] of the list before becomes it where that
 * is 0 or more. */
static void add_loops(gnn__slot_edges_t *made, int64_t nodes, const int64_t *last)
{
    for (int64_t node = 0; node < nodes; node++) {
        const int64_t to = made->n_edges++;
        made->src[to] = made->dst[to] = node;
        made->loop_nodes[made->n_loops] = node;
        made->loop_edges[made->n_loops++] = to;
        if (!last || last[node] < 0)
            continue;
        made->from[made->n_carried] = last[node];
        made->to[made->n_carried++] = to;
    }
}

/* Leaves self-loops out, adds them, or both. Edges have no types where some are added that have
 * none. */
static int with_loops(gnn__slot_edges_t *made, const gnn__slot_edges_t *before, bool without, bool add)
{
    const int64_t nodes = add ? gnn__min(before->n_src, before->n_dst) : 0;
    int64_t *last = NULL;
    int rc = GNN_OK;
    GNN_CHECK(make_room(made, before->n_edges, nodes, before->type && !add));
    GNN_CHECK(gnn__new(&last, nodes, sizeof *last, "self-loops"));
    for (int64_t node = 0; node < nodes; node++)
        last[node] = -1;
    for (int64_t k = 0; k < before->n_edges; k++) {
        const bool loop = before->src[k] == before->dst[k];
        if (!loop || !without)
            carry(made, before, k);
        else if (add && before->src[k] < nodes)
            last[before->src[k]] = k;
    }
    add_loops(made, nodes, without ? last : NULL);
done:
    gnn_free(last);
    return rc;
}

static int of_type(gnn__slot_edges_t *made, const gnn__slot_edges_t *before, int64_t type)
{
    if (!before->type)
        return gnn__error(GNN_EINVALID, "edges of type %lld need the types of the edges",
                          (long long)type);
    GNN_TRY(make_room(made, before->n_edges, 0, true));
    for (int64_t k = 0; k < before->n_edges; k++)
        if (before->type[k] == type)
            carry(made, before, k);
    return GNN_OK;
}

/* One operation, the `length` characters at `word`. */
static int apply(gnn__slot_edges_t *made, const gnn__slot_edges_t *before, const char *word,
                 size_t length)
{
    char name[40] = "";
    long long type = 0;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    made->n_src = before->n_src;
    made->n_dst = before->n_dst;
    made->n_before = before->n_edges;
    if (strcmp(name, "reverse") == 0)
        return reverse(made, before);
    if (strcmp(name, "without_loops") == 0)
        return with_loops(made, before, true, false);
    if (strcmp(name, "add_loops") == 0)
        return with_loops(made, before, false, true);
    if (strcmp(name, "remaining") == 0)
        return with_loops(made, before, true, true);
    if (sscanf(name, "type=%lld", &type) == 1)
        return of_type(made, before, type);
    return gnn__error(GNN_EFORMAT,
                      "there is no operation \"%s\" on edges; there are reverse, without_loops, "
                      "add_loops, remaining, type=K",
                      name);
}

/* The list itself as int64 arrays. */
static int copy(gnn__slot_edges_t *made, const gnn_edge_list_t *e)
{
    const bool typed = e->type.data != NULL;
    GNN_TRY(gnn__ints_check("src", e->src, e->n_edges));
    GNN_TRY(gnn__ints_check("dst", e->dst, e->n_edges));
    if (typed)
        GNN_TRY(gnn__ints_check("type", e->type, e->n_edges));
    GNN_TRY(make_room(made, e->n_edges, 0, typed));
    made->n_src = e->n_src;
    made->n_dst = e->n_dst;
    made->n_edges = e->n_edges;
    for (int64_t k = 0; k < e->n_edges; k++) {
        made->src[k] = gnn__int(e->src, k);
        made->dst[k] = gnn__int(e->dst, k);
        if (typed)
            made->type[k] = gnn__int(e->type, k);
    }
    return GNN_OK;
}

int gnn__slot_edges(gnn__slot_edges_t *made, const gnn_edge_list_t *edges, const char *operations)
{
    gnn__slot_edges_t now = {0}, next = {0};
    int rc;
    GNN_CHECK(copy(&now, edges));
    for (const char *at = operations; *at;) {
        const size_t length = strcspn(at + 1, ":");
        GNN_CHECK(apply(&next, &now, at + 1, length));
        gnn__slot_edges_free(&now);
        now = next;
        next = (gnn__slot_edges_t){0};
        at += 1 + length;
    }
    now.list = (gnn_edge_list_t){.name = edges->name,
                                 .n_dst = now.n_dst,
                                 .n_src = now.n_src,
                                 .n_edges = now.n_edges,
                                 .src = gnn_ints((const int64_t *)now.src),
                                 .dst = gnn_ints((const int64_t *)now.dst),
                                 .type = now.type ? gnn_ints((const int64_t *)now.type)
                                                  : (gnn_ints_t){.data = NULL}};
    *made = now;
    return GNN_OK;
done:
    gnn__slot_edges_free(&now);
    gnn__slot_edges_free(&next);
    return rc;
}
