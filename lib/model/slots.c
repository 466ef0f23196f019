/* What the graphs of a described model are made of: edges as PyG holds them, or what operations
 * make of these, and the sizes of the graphs of a batch. */
#include <lib/model/slot_edges.h>

#include <gnn/hetero.h>
#include <lib/model/model.h>

/* What a slot's graph is made from. */
typedef struct {
    const gnn_edge_list_t *edges; /* NULL where the row reads none */
    const gnn__slot_edges_t *derived;
    int64_t graphs;
    const int64_t *nodes, *ones, *seeds; /* of each graph */
    int64_t number;
    const gnn_slot_sources_t *sources;
    const char *source; /* of the slot */
} parts_t;

typedef struct gnn__slot_row {
    const char *name;
    bool reads_edges;
    int (*make)(gnn_graph_t **graph, const parts_t *p);
} slot_row_t;

/* ---- the rows ---- */

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
        return gnn__error(GNN_EINVALID, "relation %lld needs the types of the edges",
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
    const gnn__slot_edges_t *e = p->derived;
    return gnn_graph_from_edges(graph, e->n_edges, e->n_before, e->n_carried,
                                gnn_ints((const int64_t *)e->from), gnn_ints((const int64_t *)e->to));
}

/* From nodes to the self-loops that the last operation added. */
static int make_loops(gnn_graph_t **graph, const parts_t *p)
{
    const gnn__slot_edges_t *e = p->derived;
    return gnn_graph_from_edges(graph, e->n_edges, e->n_src, e->n_loops,
                                gnn_ints((const int64_t *)e->loop_nodes),
                                gnn_ints((const int64_t *)e->loop_edges));
}

static int make_whole_edges(gnn_graph_t **graph, const parts_t *p)
{
    const int64_t one = 1;
    return gnn_graph_bipartite(graph, 1, &one, &p->edges->n_edges);
}

/* All senders (number 0) or receivers (number 1) of the edges to one row. */
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
            return gnn__error(GNN_EINVALID, "graph %lld has %lld nodes", (long long)k,
                              (long long)p->nodes[k]);
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

/* The edges that a slot names; the only list there is may have no name. */
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

/* The source names lists of edges, separated by blanks. */
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

static const slot_row_t rows[] = {{"edges", true, make_edges},
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

enum { ROWS = sizeof rows / sizeof *rows };

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
    char names[256] = "";
    gnn__slot_graph_t *s = &model->slots[slot];
    for (int k = 0; k < ROWS && !s->row; k++) {
        if (strcmp(rows[k].name, kind) == 0)
            s->row = &rows[k];
        gnn__append_name(names, sizeof names, ", ", rows[k].name);
    }
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

const char *gnn_model_slot(const gnn_model_t *model, int slot, const char **source, int64_t *number)
{
    if (!model || slot < 0 || slot >= model->n_slots || !model->slots[slot].row)
        return NULL;
    if (source)
        *source = model->slots[slot].source;
    if (number)
        *number = model->slots[slot].number;
    return model->slots[slot].row->name;
}

/* ---- their graphs ---- */

static int make_slot(gnn_graph_t **graph, const gnn_model_t *model, int slot,
                     const gnn_slot_sources_t *sources, parts_t *p, int64_t *seeds)
{
    const gnn__slot_graph_t *s = slot < model->n_slots ? &model->slots[slot] : NULL;
    if (!s || !s->row)
        return gnn__error(GNN_ENOTFOUND, "the model's file does not say what graph slot %d is", slot);
    p->number = s->number;
    p->source = s->source;
    const size_t length = s->source ? strcspn(s->source, ":") : 0;
    gnn__slot_edges_t derived = {0};
    p->edges = s->row->reads_edges ? find_edges(sources, s->source, length) : NULL;
    if (s->row->reads_edges && !p->edges)
        return gnn__error(GNN_ENOTFOUND, "graph slot %d: no edges \"%.*s\" are given", slot,
                          (int)length, s->source ? s->source : "");
    for (int64_t k = 0; k < p->graphs; k++)
        seeds[k] = s->number;
    int rc = GNN_OK;
    if (s->row->reads_edges && s->source && s->source[length]) {
        rc = gnn__slot_edges(&derived, p->edges, s->source + length);
        p->edges = &derived.list;
    }
    p->derived = &derived;
    if (rc == GNN_OK && !derived.from && (s->row->make == make_carried || s->row->make == make_loops))
        rc = gnn__error(GNN_EFORMAT, "source \"%s\" names no operation on edges",
                        s->source ? s->source : "");
    if (rc == GNN_OK)
        rc = s->row->make(graph, p);
    gnn__slot_edges_free(&derived);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "graph slot %d (%s)", slot, s->row->name);
}

/* The first step on the slot whose view gives each node a self-loop; NULL: none does. */
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

/* Where a step adds self-loops, PyG makes one of those that a node has; here all of them would
 * stay, with other numbers and no word said. */
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
                                      "adds self-loops: PyG keeps one of a node, so leave the "
                                      "others out of the edges and of what goes with them",
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
