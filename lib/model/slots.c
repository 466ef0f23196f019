/* The graphs of a described model: edges as PyG holds them, or the result of operations on these,
 * as PyG's functions apply them before a layer; and the sizes of the graphs of a batch. Each
 * operation writes new arrays and a map from former to new edges, so that values on edges can
 * follow. */
#include <gnn/hetero.h>
#include <lib/base/base.h>
#include <lib/base/settings.h>
#include <lib/model/model.h>

/* ---- operations on edges ---- */

/* The edges after operations on a list, and which edges the last operation carried over. All 0: no
 * operation. */
typedef struct {
    gnn_edge_list_t list; /* the result; borrows the arrays below */
    int64_t n_src, n_dst, n_edges;
    int64_t *src, *dst, *type; /* (n_edges); type NULL: the list has none */
    int64_t n_before;          /* count before the last operation */
    int64_t n_carried;         /* edge from[k] of those became edge to[k] */
    int64_t *from, *to;
    int64_t n_loops; /* loop_edges[k] is the self-loop of node loop_nodes[k] that was added */
    int64_t *loop_nodes, *loop_edges;
} derived_t;

static void free_edges(derived_t *made)
{
    int64_t *const owned[] = {made->src, made->dst,        made->type,      made->from,
                              made->to,  made->loop_nodes, made->loop_edges};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        gnn_free(owned[k]);
    *made = (derived_t){0};
}

/* Allocates `edges` edges and `loops` self-loops after them. */
static int allocate_edges(derived_t *made, int64_t edges, int64_t loops, bool typed)
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

/* Appends edge `from` of the former list. */
static void carry(derived_t *made, const derived_t *before, int64_t from)
{
    const int64_t to = made->n_edges++;
    made->src[to] = before->src[from];
    made->dst[to] = before->dst[from];
    if (made->type)
        made->type[to] = before->type[from];
    made->from[made->n_carried] = from;
    made->to[made->n_carried++] = to;
}

static int reverse(derived_t *made, const derived_t *before)
{
    GNN_TRY(allocate_edges(made, before->n_edges, 0, before->type != NULL));
    made->n_src = before->n_dst;
    made->n_dst = before->n_src;
    for (int64_t k = 0; k < before->n_edges; k++) {
        carry(made, before, k);
        made->src[k] = before->dst[k];
        made->dst[k] = before->src[k];
    }
    return GNN_OK;
}

/* Appends a self-loop per node; with `last`, edge last[node] of the former list becomes it, unless
 * that is -1. */
static void add_loops(derived_t *made, int64_t nodes, const int64_t *last)
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

/* Removes self-loops, adds them, or both. If some are added, edges have no types. */
static int with_loops(derived_t *made, const derived_t *before, bool without, bool add)
{
    const int64_t nodes = add ? gnn__min(before->n_src, before->n_dst) : 0;
    int64_t *last = NULL;
    int rc = GNN_OK;
    GNN_CHECK(allocate_edges(made, before->n_edges, nodes, before->type && !add));
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

static int of_type(derived_t *made, const derived_t *before, int64_t type)
{
    if (!before->type)
        return gnn__error(GNN_EINVALID,
                          "edges of type %lld: .type of the edges is NULL, expected a type per edge",
                          (long long)type);
    GNN_TRY(allocate_edges(made, before->n_edges, 0, true));
    for (int64_t k = 0; k < before->n_edges; k++)
        if (before->type[k] == type)
            carry(made, before, k);
    return GNN_OK;
}

/* Applies one operation, the `length` characters at `word`. */
static int apply_operation(derived_t *made, const derived_t *before, const char *word, size_t length)
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
static int copy_edges(derived_t *made, const gnn_edge_list_t *e)
{
    const bool typed = e->type.data != NULL;
    GNN_TRY(gnn__ints_check("src", e->src, e->n_edges));
    GNN_TRY(gnn__ints_check("dst", e->dst, e->n_edges));
    if (typed)
        GNN_TRY(gnn__ints_check("type", e->type, e->n_edges));
    GNN_TRY(allocate_edges(made, e->n_edges, 0, typed));
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

/* Applies operations, each after a colon, from left to right:
 *
 *     :reverse        exchanges senders and receivers
 *     :without_loops  removes self-loops
 *     :add_loops      appends a self-loop per node
 *     :remaining      both; a node's new self-loop carries the values of its last former one
 *     :type=K         keeps the edges of type K
 *
 * After an error nothing is allocated. GNN_EFORMAT names an unknown operation. */
static int derive_edges(derived_t *made, const gnn_edge_list_t *edges, const char *operations)
{
    derived_t now = {0}, next = {0};
    int rc;
    GNN_CHECK(copy_edges(&now, edges));
    for (const char *at = operations; *at;) {
        const size_t length = strcspn(at + 1, ":");
        GNN_CHECK(apply_operation(&next, &now, at + 1, length));
        free_edges(&now);
        now = next;
        next = (derived_t){0};
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
    free_edges(&now);
    free_edges(&next);
    return rc;
}

/* ---- slots ---- */

/* The sources of a slot's graph. */
typedef struct {
    const gnn_edge_list_t *edges; /* NULL if the kind reads none */
    const derived_t *derived;
    int64_t graphs;
    const int64_t *nodes, *ones, *seeds; /* of each graph */
    int64_t number;
    const gnn_slot_sources_t *sources;
    const char *source;             /* of the slot */
    const gnn_topology_t *topology; /* of the slot; NULL: another kind */
} parts_t;

typedef struct gnn__slot_kind {
    const char *name;
    bool reads_edges;
    int (*make)(gnn_graph_t **graph, const parts_t *p);
} slot_kind_t;

/* ---- the kinds ---- */

static int make_edges(gnn_graph_t **graph, const parts_t *p)
{
    const gnn_edge_list_t *e = p->edges;
    return gnn_graph_from_edges(graph, e->n_dst, e->n_src, e->n_edges, e->src, e->dst);
}

static int make_relation(gnn_graph_t **graph, const parts_t *p)
{
    const gnn_edge_list_t *e = p->edges;
    int64_t *ends = NULL, count = 0;
    if (!e->type.data)
        return gnn__error(GNN_EINVALID,
                          "relation %lld: .type of the edges is NULL, expected a type per edge",
                          (long long)p->number);
    GNN_TRY(gnn__ints_check("type", e->type, e->n_edges));
    GNN_TRY(gnn__ints_check("src", e->src, e->n_edges));
    GNN_TRY(gnn__ints_check("dst", e->dst, e->n_edges));
    GNN_TRY(gnn__new(&ends, 2 * e->n_edges, sizeof *ends, "the edges of a relation"));
    for (int64_t k = 0; k < e->n_edges; k++)
        if (gnn__int(e->type, k) == p->number) {
            ends[count] = gnn__int(e->src, k);
            ends[e->n_edges + count++] = gnn__int(e->dst, k);
        }
    const int rc = gnn_graph_from_edges(graph, e->n_dst, e->n_src, count, ends, ends + e->n_edges);
    gnn_free(ends);
    return rc;
}

static int make_incidence(gnn_graph_t **graph, const parts_t *p)
{
    gnn_graph_t *of = NULL;
    GNN_TRY(make_edges(&of, p));
    const int rc = gnn_graph_incidence(graph, of);
    gnn_graph_free(of);
    return rc;
}

/* From the edges before the last operation to those after it. */
static int make_carried(gnn_graph_t **graph, const parts_t *p)
{
    const derived_t *e = p->derived;
    return gnn_graph_from_edges(graph, e->n_edges, e->n_before, e->n_carried,
                                gnn_ints((const int64_t *)e->from), gnn_ints((const int64_t *)e->to));
}

/* From nodes to the self-loops that the last operation added. */
static int make_loops(gnn_graph_t **graph, const parts_t *p)
{
    const derived_t *e = p->derived;
    return gnn_graph_from_edges(graph, e->n_edges, e->n_src, e->n_loops,
                                gnn_ints((const int64_t *)e->loop_nodes),
                                gnn_ints((const int64_t *)e->loop_edges));
}

static int make_whole_edges(gnn_graph_t **graph, const parts_t *p)
{
    const int64_t one = 1;
    return gnn_graph_bipartite(graph, 1, &one, &p->edges->n_edges);
}

/* From all senders (0), or all receivers (1), of the edges to one row. */
static int make_whole_ends(gnn_graph_t **graph, const parts_t *p)
{
    const int64_t one = 1, *nodes = p->number == 0 ? &p->edges->n_src : &p->edges->n_dst;
    return gnn_graph_bipartite(graph, 1, &one, nodes);
}

static int make_whole(gnn_graph_t **graph, const parts_t *p)
{
    const int64_t one = 1;
    int64_t nodes = 0;
    for (int64_t k = 0; k < p->graphs; k++)
        if (p->nodes[k] < 0 || !gnn__add(nodes, p->nodes[k], &nodes))
            return gnn__error(
                GNN_EINVALID,
                "graph %lld has %lld nodes, expected at least 0 each and at most 2^63 - 1 in all",
                (long long)k, (long long)p->nodes[k]);
    return gnn_graph_bipartite(graph, 1, &one, &nodes);
}

static int make_readout(gnn_graph_t **graph, const parts_t *p)
{
    return gnn_graph_bipartite(graph, p->graphs, p->ones, p->nodes);
}

static int make_spread(gnn_graph_t **graph, const parts_t *p)
{
    return gnn_graph_bipartite(graph, p->graphs, p->nodes, p->ones);
}

static int make_complete(gnn_graph_t **graph, const parts_t *p)
{
    return gnn_graph_complete(graph, p->graphs, p->nodes);
}

static int make_seeds(gnn_graph_t **graph, const parts_t *p)
{
    return gnn_graph_bipartite(graph, p->graphs, p->seeds, p->nodes);
}

static int make_among_seeds(gnn_graph_t **graph, const parts_t *p)
{
    return gnn_graph_complete(graph, p->graphs, p->seeds);
}

/* The list of edges of a name; a list without a name matches any. */
static const gnn_edge_list_t *find_edges(const gnn_slot_sources_t *sources, const char *name,
                                         size_t length)
{
    for (int64_t k = 0; k < sources->n_edges; k++) {
        const gnn_edge_list_t *e = &sources->edges[k];
        if (!e->name || !name || (strncmp(e->name, name, length) == 0 && !e->name[length]))
            return e;
    }
    return NULL;
}

/* Lists of edges, whose names in .source are separated by spaces. */
static int make_beside(gnn_graph_t **graph, const parts_t *p)
{
    int rc = GNN_OK;
    int64_t count = 0;
    gnn_graph_t **of = NULL;
    const char *at = p->source ? p->source : "";
    GNN_TRY(gnn__new(&of, (int64_t)strlen(at) / 2 + 1, sizeof *of, "relations"));
    for (size_t length; *at; at += length + strspn(at + length, " ")) {
        length = strcspn(at, " ");
        const gnn_edge_list_t *e = find_edges(p->sources, at, length);
        if (!e)
            GNN_CHECK(gnn__error(GNN_ENOTFOUND, "no edges \"%.*s\" are given", (int)length, at));
        const parts_t one = {.edges = e};
        GNN_CHECK(make_edges(&of[count++], &one));
    }
    GNN_CHECK(gnn_graph_beside(graph, count, (const gnn_graph_t *const *)of));
done:
    for (int64_t k = 0; k < count; k++)
        gnn_graph_free(of[k]);
    gnn_free(of);
    return rc;
}

/* A topology over the lengths of the graphs: its name is the kind, its options the source. */
static int make_topology(gnn_graph_t **graph, const parts_t *p)
{
    return p->topology->build(graph, p->graphs, p->nodes, p->source);
}

static const slot_kind_t kinds[] = {{"edges", true, make_edges},
                                    {"relation", true, make_relation},
                                    {"incidence", true, make_incidence},
                                    {"readout", false, make_readout},
                                    {"spread", false, make_spread},
                                    {"complete", false, make_complete},
                                    {"seeds", false, make_seeds},
                                    {"among_seeds", false, make_among_seeds},
                                    {"beside", false, make_beside},
                                    {"carried", true, make_carried},
                                    {"loops", true, make_loops},
                                    {"whole", false, make_whole},
                                    {"whole_edges", true, make_whole_edges},
                                    {"whole_ends", true, make_whole_ends}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const slot_kind_t of_topology = {"topology", false, make_topology};

/* ---- of a model ---- */

int gnn__model_new_slots(gnn_model_t *model, int64_t count)
{
    gnn__model_free_slots(model);
    GNN_TRY(gnn__new(&model->slots, count, sizeof *model->slots, "a model's slots"));
    model->n_slots = count;
    return GNN_OK;
}

int gnn__model_set_slot(gnn_model_t *model, int64_t slot, const char *kind, const char *source,
                        int64_t number)
{
    char names[512] = "";
    gnn__slot_graph_t *s = &model->slots[slot];
    for (int k = 0; k < KINDS && !s->row; k++) {
        if (strcmp(kinds[k].name, kind) == 0)
            s->row = &kinds[k];
        gnn__append_name(names, sizeof names, ", ", kinds[k].name);
    }
    for (size_t k = 0; !s->row && gnn_topology_at(k); k++) {
        if (strcmp(gnn_topology_at(k)->name, kind) == 0)
            s->topology = gnn_topology_at(k);
        gnn__append_name(names, sizeof names, ", ", gnn_topology_at(k)->name);
    }
    if (s->topology)
        s->row = &of_topology;
    if (!s->row)
        return gnn__error(GNN_EFORMAT, "there is no kind of graph \"%.40s\"; there are %s", kind,
                          names);
    s->number = number;
    return source ? gnn__strdup(&s->source, source) : GNN_OK;
}

void gnn__model_free_slots(gnn_model_t *model)
{
    for (int64_t k = 0; k < model->n_slots; k++)
        gnn_free(model->slots[k].source);
    gnn_free(model->slots);
    model->slots = NULL;
    model->n_slots = 0;
}

const char *gnn_model_slot(const gnn_model_t *model, int slot, const char **source, int64_t *value)
{
    GNN__NEED_OR(model, NULL);
    if (!model || slot < 0 || slot >= model->n_slots || !model->slots[slot].row)
        return NULL;
    if (source)
        *source = model->slots[slot].source;
    if (value)
        *value = model->slots[slot].number;
    const gnn_topology_t *topology = model->slots[slot].topology;
    return topology ? topology->name : model->slots[slot].row->name;
}

/* ---- their graphs ---- */

static int make_slot(gnn_graph_t **graph, const gnn_model_t *model, int slot,
                     const gnn_slot_sources_t *sources, parts_t *p, int64_t *seeds)
{
    const gnn__slot_graph_t *s = slot < model->n_slots ? &model->slots[slot] : NULL;
    if (!s || !s->row)
        return gnn__error(GNN_ENOTFOUND, "graph slot %d is not declared in the model's file", slot);
    p->number = s->number;
    p->source = s->source;
    p->topology = s->topology;
    const size_t length = s->source ? strcspn(s->source, ":") : 0;
    derived_t derived = {0};
    p->edges = s->row->reads_edges ? find_edges(sources, s->source, length) : NULL;
    if (s->row->reads_edges && !p->edges)
        return gnn__error(GNN_ENOTFOUND, "graph slot %d: no edges \"%.*s\" are given", slot,
                          (int)length, s->source ? s->source : "");
    for (int64_t k = 0; k < p->graphs; k++)
        seeds[k] = s->number;
    int rc = GNN_OK;
    if (s->row->reads_edges && s->source && s->source[length]) {
        rc = derive_edges(&derived, p->edges, s->source + length);
        p->edges = &derived.list;
    }
    p->derived = &derived;
    if (rc == GNN_OK && !derived.from && (s->row->make == make_carried || s->row->make == make_loops))
        rc = gnn__error(GNN_EFORMAT, "source \"%s\": expected EDGES:OPERATION",
                        s->source ? s->source : "");
    if (rc == GNN_OK)
        rc = s->row->make(graph, p);
    free_edges(&derived);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "graph slot %d (%s)", slot, s->row->name);
}

/* The first step on the slot whose view adds self-loops; NULL: none. */
static const char *adds_loops(const gnn_model_t *model, int slot)
{
    for (int64_t k = 0; k < model->n_steps; k++) {
        const gnn__model_step_t *s = &model->steps[k];
        const gnn_layer_config_t *c = &s->step.layer;
        if (s->uses_graph && s->step.graph == slot && c->self_loops == GNN_ON)
            return s->where;
    }
    return NULL;
}

/* PyG keeps one of a node's self-loops where a layer adds them; this library keeps all, so that the
 * results would differ: a node with two is refused. */
static int check_loops(const gnn_model_t *model, int slot, const gnn_graph_t *graph)
{
    const char *step = adds_loops(model, slot);
    for (int64_t p = 0; step && p < gnn_graph_n_parts(graph); p++)
        for (int64_t i = 0; i < gnn_graph_n_dst(graph); i++) {
            gnn_graph_row_t row;
            int64_t first = -1;
            GNN_TRY(gnn_graph_row(graph, p, i, &row));
            for (int64_t k = 0; k < row.count; k++) {
                if (gnn_graph_row_sender(&row, k) != i)
                    continue;
                if (first >= 0)
                    return gnn__error(GNN_EUNSUPPORTED,
                                      "node %lld has two self-loops (edges %lld and %lld), and %s "
                                      "adds self-loops: PyG keeps one per node, so remove the "
                                      "others from the edges and from values on edges",
                                      (long long)i, (long long)first,
                                      (long long)gnn_graph_row_edge(&row, k), step);
                first = gnn_graph_row_edge(&row, k);
            }
        }
    return GNN_OK;
}

static int make_slots(const gnn_model_t *model, const gnn_slot_sources_t *sources,
                      gnn_flag_t backward, parts_t *p, int64_t *seeds, gnn_graph_t **graphs)
{
    for (int k = 0; k < model->n_graphs; k++) {
        GNN_TRY(make_slot(&graphs[k], model, k, sources, p, seeds));
        if (model->slots[k].row->reads_edges)
            GNN_TRY(check_loops(model, k, graphs[k]));
        GNN_TRY(gnn_model_prepare(model, k, graphs[k], backward));
    }
    return GNN_OK;
}

int gnn_model_graphs(const gnn_model_t *model, const gnn_slot_sources_t *sources,
                     gnn_flag_t backward, gnn_graph_t **graphs)
{
    GNN__NEED(model);
    GNN__NEED(sources);
    GNN__NEED(graphs);
    GNN_TRY(gnn__check_flag(backward, "backward"));
    const int64_t whole = sources->n_edges > 0 ? sources->edges[0].n_src : 0,
                  count = sources->lengths ? sources->n_lengths : 1;
    int64_t *lengths = NULL;
    GNN_TRY(gnn__new(&lengths, 2 * count, sizeof *lengths, "the sizes of graphs"));
    for (int64_t k = 0; k < count; k++)
        lengths[k] = 1;
    parts_t p = {.graphs = count,
                 .nodes = sources->lengths ? sources->lengths : &whole,
                 .ones = lengths,
                 .seeds = lengths + count,
                 .sources = sources};
    for (int k = 0; k < model->n_graphs; k++)
        graphs[k] = NULL;
    const int rc = make_slots(model, sources, backward, &p, lengths + count, graphs);
    for (int k = 0; rc != GNN_OK && k < model->n_graphs; k++) {
        gnn_graph_free(graphs[k]);
        graphs[k] = NULL;
    }
    gnn_free(lengths);
    return rc;
}
