/* Sampling of heterogeneous graphs, relation by relation, into the graphs that a block's slots run
 * on. */
#include <gnn/hetero_sample.h>
#include <graphs/hetero.h>
#include <graphs/sample/sample.h>
#include <lib/base/settings.h>

enum { ROWS_AT_ONCE = 64, MOST_DRAWS = 1 << 30 };

/* A relation and its sampling. */
typedef struct {
    gnn_graph_t *graph;
    gnn_sampler_t pick; /* of `graph`; only the fields that gnn__pick reads are set */
    int64_t from, to;   /* indices of its types */
} relation_t;

/* Makes the graph of slot `slot`. */
typedef int make_graph_t(gnn_graph_t **graph, const gnn_hetero_sample_t *sample, int64_t slot);

typedef struct {
    const char *name;
    bool by_type; /* one slot per type; false: per relation */
    make_graph_t *make;
} form_t;

struct gnn_hetero_sampler {
    const form_t *form;
    int64_t n_types, n_relations, hops;
    int64_t *counts;      /* (types): nodes */
    relation_t *relation; /* (relations) */
    int64_t *fan_outs;    /* (hops x relations) */
    uint64_t seed;
};

/* Sampled nodes of a type; begin .. end - 1 are those of the previous hop. */
typedef struct {
    gnn__drawn_nodes_t drawn;
    int64_t begin, end;
} typed_nodes_t;

/* Sampled edges of a relation by receiver; senders are positions among the sampled nodes. */
typedef struct {
    int64_t *indptr, *ids;
    int32_t *senders;
    int64_t rows, edges, room_rows, room_edges;
} drawn_edges_t;

struct gnn_hetero_sample {
    const gnn_hetero_sampler_t *sampler;
    typed_nodes_t *nodes; /* (types) */
    drawn_edges_t *edges; /* (relations) */
    gnn_graph_t **graphs; /* (n_graphs) */
    int64_t n_graphs;
    uint32_t key[2]; /* of the random numbers of the draw */
};

/* ---- graphs of slots ---- */

/* One relation, between its two types. */
static int relation_alone(gnn_graph_t **graph, const gnn_hetero_sample_t *s, int64_t r)
{
    const relation_t *relation = &s->sampler->relation[r];
    const drawn_edges_t *e = &s->edges[r];
    return gnn_graph_from_csr(graph, s->nodes[relation->to].drawn.count,
                              s->nodes[relation->from].drawn.count, e->indptr, e->senders);
}

/* All relations towards a type, their senders concatenated. */
static int towards_type(gnn_graph_t **graph, const gnn_hetero_sample_t *s, int64_t type)
{
    const gnn_hetero_sampler_t *of = s->sampler;
    gnn_graph_t **relations;
    int64_t count = 0;
    int rc;
    GNN_TRY(gnn__new(&relations, of->n_relations, sizeof *relations, "relations"));
    for (int64_t r = 0; r < of->n_relations; r++)
        if (of->relation[r].to == type)
            GNN_CHECK(relation_alone(&relations[count++], s, r));
    if (count > 0)
        GNN_CHECK(gnn_graph_beside(graph, count, (const gnn_graph_t *const *)relations));
    else
        GNN_CHECK(gnn_graph_from_edges(graph, s->nodes[type].drawn.count, 0, 0, NULL, NULL));
done:
    for (int64_t k = 0; k < count; k++)
        gnn_graph_free(relations[k]);
    gnn_free(relations);
    return rc;
}

/* First node of a type among those of all types; for n_types, the count of all nodes. */
static int64_t first_of(const gnn_hetero_sample_t *s, int64_t type)
{
    int64_t first = 0;
    for (int64_t t = 0; t < type; t++)
        first += s->nodes[t].drawn.count;
    return first;
}

/* One relation over the nodes of all types. */
static int relation_among_all(gnn_graph_t **graph, const gnn_hetero_sample_t *s, int64_t r)
{
    const relation_t *relation = &s->sampler->relation[r];
    const drawn_edges_t *e = &s->edges[r];
    const int64_t n = first_of(s, s->sampler->n_types), to = first_of(s, relation->to),
                  from = first_of(s, relation->from);
    int64_t *indptr = NULL;
    int32_t *senders = NULL;
    int rc;
    if (n > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "a sample has %lld nodes, more than 2^31 - 1", (long long)n);
    GNN_CHECK(gnn__new(&indptr, n + 1, sizeof *indptr, "row pointers"));
    GNN_CHECK(gnn__new(&senders, e->edges, sizeof *senders, "senders"));
    for (int64_t i = to; i < n; i++)
        indptr[i + 1] = i < to + e->rows ? e->indptr[i - to + 1] : e->edges;
    for (int64_t k = 0; k < e->edges; k++)
        senders[k] = (int32_t)(from + e->senders[k]);
    GNN_CHECK(gnn_graph_from_csr(graph, n, n, indptr, senders));
done:
    gnn_free(indptr);
    gnn_free(senders);
    return rc;
}

static const form_t forms[] = {{"rgcn", false, relation_among_all},
                               {"hetero_conv", false, relation_alone},
                               {"hgt", true, towards_type}};

static const char *form_name(size_t index)
{
    return index < sizeof forms / sizeof *forms ? forms[index].name : NULL;
}

/* ---- samplers ---- */

static int find_form(gnn_hetero_sampler_t *s, const char *block)
{
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (block && strcmp(forms[k].name, block) == 0) {
            s->form = &forms[k];
            return GNN_OK;
        }
    return gnn__unknown_name("block over node types", block ? block : "", form_name);
}

static int take_fan_outs(gnn_hetero_sampler_t *s, const gnn_hetero_sampler_config_t *c)
{
    int64_t count;
    if (c->hops < 1 || !c->fan_outs)
        return gnn__error(GNN_EINVALID, "hops: expected at least 1 and fan_outs, got %lld%s",
                          (long long)c->hops, c->fan_outs ? "" : ", fan_outs is NULL");
    GNN_TRY(gnn__check_flag(c->replace, "replace"));
    if (!gnn__mul(c->hops, s->n_relations, &count) || count > MOST_DRAWS)
        return gnn__error(GNN_EOVERFLOW, "the count of %lld hops x %lld relations overflows",
                          (long long)c->hops, (long long)s->n_relations);
    for (int64_t k = 0; k < count; k++)
        if (c->fan_outs[k] < -1 || c->fan_outs[k] > INT32_MAX)
            return gnn__error(GNN_EINVALID,
                              "hop %lld, relation %lld: fan-out %lld, expected -1 (all) to 2^31 - 1",
                              (long long)(k / s->n_relations), (long long)(k % s->n_relations),
                              (long long)c->fan_outs[k]);
    s->hops = c->hops;
    s->seed = c->seed;
    GNN_TRY(gnn__new(&s->fan_outs, count, sizeof *s->fan_outs, "fan-outs"));
    memcpy(s->fan_outs, c->fan_outs, (size_t)count * sizeof *s->fan_outs);
    return GNN_OK;
}

static int take_relation(gnn_hetero_sampler_t *s, const gnn_hetero_t *hetero, int64_t r,
                         gnn_flag_t replace)
{
    relation_t *relation = &s->relation[r];
    GNN_TRY(gnn_graph_relation(&relation->graph, hetero, r));
    relation->from = gnn__hetero_type(hetero, hetero->relations[r].from);
    relation->to = gnn__hetero_type(hetero, hetero->relations[r].to);
    relation->pick.graph = relation->graph;
    relation->pick.pairs = &relation->graph->base.parts[0].pairs;
    relation->pick.config.replace = replace;
    return GNN_OK;
}

static int open_sampler(gnn_hetero_sampler_t *s, const gnn_hetero_t *hetero,
                        const gnn_hetero_sampler_config_t *c)
{
    GNN_TRY(find_form(s, c->block));
    GNN_TRY(gnn__hetero_check_types(hetero));
    s->n_relations = hetero->n_relations;
    GNN_TRY(take_fan_outs(s, c));
    GNN_TRY(gnn__new(&s->relation, s->n_relations, sizeof *s->relation, "relations"));
    for (int64_t r = 0; r < s->n_relations; r++)
        GNN_TRY(take_relation(s, hetero, r, c->replace));
    GNN_TRY(gnn__new(&s->counts, hetero->n_types, sizeof *s->counts, "types"));
    s->n_types = hetero->n_types;
    for (int64_t t = 0; t < s->n_types; t++)
        s->counts[t] = hetero->types[t].count;
    return GNN_OK;
}

int gnn_hetero_sampler_new(gnn_hetero_sampler_t **sampler, const gnn_hetero_t *hetero,
                           const gnn_hetero_sampler_config_t *config)
{
    gnn_hetero_sampler_config_t own = config ? *config : (gnn_hetero_sampler_config_t){0};
    gnn_hetero_sampler_t *made;
    GNN__NEED(sampler);
    *sampler = NULL;
    GNN__NEED(hetero);
    GNN__NEED(config);
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a sampler"));
    const int rc = open_sampler(made, hetero, &own);
    if (rc == GNN_OK)
        *sampler = made;
    else
        gnn_hetero_sampler_free(made);
    return rc;
}

void gnn_hetero_sampler_free(gnn_hetero_sampler_t *sampler)
{
    if (!sampler)
        return;
    for (int64_t r = 0; sampler->relation && r < sampler->n_relations; r++)
        gnn_graph_free(sampler->relation[r].graph);
    gnn_free(sampler->relation);
    gnn_free(sampler->counts);
    gnn_free(sampler->fan_outs);
    gnn_free(sampler);
}

int gnn__hetero_sampler_fits(const gnn_hetero_sampler_t *s, const gnn_hetero_t *h)
{
    GNN_TRY(gnn__hetero_check_types(h));
    if (s->n_types != h->n_types || s->n_relations != h->n_relations)
        return gnn__error(GNN_EINVALID,
                          "the sampler is of %lld types and %lld relations, .hetero has %lld and %lld",
                          (long long)s->n_types, (long long)s->n_relations, (long long)h->n_types,
                          (long long)h->n_relations);
    for (int64_t t = 0; t < h->n_types; t++)
        if (s->counts[t] != h->types[t].count)
            return gnn__error(
                GNN_EINVALID, "type %.40s has %lld nodes in .hetero and %lld in the sampler",
                h->types[t].name, (long long)h->types[t].count, (long long)s->counts[t]);
    for (int64_t r = 0; r < h->n_relations; r++)
        if (s->relation[r].from != gnn__hetero_type(h, h->relations[r].from) ||
            s->relation[r].to != gnn__hetero_type(h, h->relations[r].to) ||
            gnn_graph_n_edges(s->relation[r].graph) != h->relations[r].edges)
            return gnn__error(GNN_EINVALID,
                              "relation %lld has other types or edges in the sampler than in .hetero",
                              (long long)r);
    return GNN_OK;
}

/* ---- memory of a sample ---- */

static int allocate(gnn_hetero_sample_t *s)
{
    const gnn_hetero_sampler_t *of = s->sampler;
    s->n_graphs = of->form->by_type ? of->n_types : of->n_relations;
    GNN_TRY(gnn__new(&s->nodes, of->n_types, sizeof *s->nodes, "nodes of a sample"));
    GNN_TRY(gnn__new(&s->edges, of->n_relations, sizeof *s->edges, "edges of a sample"));
    GNN_TRY(gnn__new(&s->graphs, s->n_graphs, sizeof *s->graphs, "graphs of a sample"));
    for (int64_t t = 0; t < of->n_types; t++) {
        gnn__drawn_nodes_t *nodes = &s->nodes[t].drawn;
        GNN_TRY(gnn__drawn_open(nodes, of->counts[t]));
        GNN_TRY(gnn__new(&nodes->nodes, 1, sizeof *nodes->nodes, "nodes of a sample"));
        nodes->room = 1;
    }
    for (int64_t r = 0; r < of->n_relations; r++) {
        GNN_TRY(gnn__new(&s->edges[r].indptr, 1, sizeof *s->edges[r].indptr, "row pointers"));
        s->edges[r].room_rows = 1;
    }
    return GNN_OK;
}

int gnn_hetero_sample_new(gnn_hetero_sample_t **sample, const gnn_hetero_sampler_t *sampler)
{
    gnn_hetero_sample_t *made;
    GNN__NEED(sample);
    *sample = NULL;
    GNN__NEED(sampler);
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a sample"));
    made->sampler = sampler;
    const int rc = allocate(made);
    if (rc == GNN_OK)
        *sample = made;
    else
        gnn_hetero_sample_free(made);
    return rc;
}

/* Frees the graphs, forgets nodes and edges: O(sample). */
static void forget(gnn_hetero_sample_t *s)
{
    for (int64_t k = 0; k < s->n_graphs; k++) {
        gnn_graph_free(s->graphs[k]);
        s->graphs[k] = NULL;
    }
    for (int64_t t = 0; t < s->sampler->n_types; t++) {
        gnn__drawn_forget(&s->nodes[t].drawn);
        s->nodes[t].begin = s->nodes[t].end = 0;
    }
    for (int64_t r = 0; r < s->sampler->n_relations; r++)
        s->edges[r].rows = s->edges[r].edges = 0;
}

void gnn_hetero_sample_free(gnn_hetero_sample_t *sample)
{
    if (!sample)
        return;
    for (int64_t k = 0; sample->graphs && k < sample->n_graphs; k++)
        gnn_graph_free(sample->graphs[k]);
    for (int64_t t = 0; sample->nodes && t < sample->sampler->n_types; t++)
        gnn__drawn_free(&sample->nodes[t].drawn);
    for (int64_t r = 0; sample->edges && r < sample->sampler->n_relations; r++) {
        gnn_free(sample->edges[r].indptr);
        gnn_free(sample->edges[r].ids);
        gnn_free(sample->edges[r].senders);
    }
    gnn_free(sample->graphs);
    gnn_free(sample->nodes);
    gnn_free(sample->edges);
    gnn_free(sample);
}

/* ---- drawing ---- */

/* Makes room for `more` elements after `count`, which are kept. */
static int extend(void *array, int64_t count, int64_t *room, int64_t more, size_t element)
{
    int64_t wanted;
    if (!gnn__add(count, more, &wanted) || !gnn__add(wanted, wanted / 2, &wanted))
        return gnn__error(GNN_EOVERFLOW,
                          "the size of a sample overflows: %lld elements more than %lld",
                          (long long)more, (long long)count);
    if (count + more <= *room)
        return GNN_OK;
    GNN_TRY(gnn__grow(array, *room, wanted, element, "a sample"));
    *room = wanted;
    return GNN_OK;
}

/* Adds rows for the receivers begin .. end - 1 with the counts of their senders; *more is the
 * sum. */
static int open_rows(gnn_hetero_sample_t *s, gnn_context_t *context, int64_t r, int64_t fan_out,
                     int64_t *more)
{
    const relation_t *relation = &s->sampler->relation[r];
    const typed_nodes_t *to = &s->nodes[relation->to];
    drawn_edges_t *e = &s->edges[r];
    const int64_t rows = to->end - to->begin, before = e->edges;
    const int threads = gnn__threads(context, 64 * rows);
    GNN_TRY(extend(&e->indptr, e->rows + 1, &e->room_rows, rows, sizeof *e->indptr));
    int64_t *indptr = e->indptr + e->rows;
    indptr[0] = before;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < rows; k++)
        indptr[k + 1] = gnn__pick_count(&relation->pick, fan_out, to->drawn.nodes[to->begin + k]);
    for (int64_t k = 0; k < rows; k++)
        indptr[k + 1] += indptr[k];
    *more = indptr[rows] - before;
    return GNN_OK;
}

/* Samples relation relation r for the nodes of the previous hop; new senders are appended to the
 * nodes of their type. */
static int draw_relation(gnn_hetero_sample_t *s, gnn_context_t *context, int64_t r, int64_t hop)
{
    const gnn_hetero_sampler_t *of = s->sampler;
    const relation_t *relation = &of->relation[r];
    const int64_t draw = hop * of->n_relations + r, fan_out = of->fan_outs[draw];
    const typed_nodes_t *to = &s->nodes[relation->to];
    gnn__drawn_nodes_t *from = &s->nodes[relation->from].drawn;
    drawn_edges_t *e = &s->edges[r];
    const int64_t rows = to->end - to->begin, begin = e->edges;
    int64_t more, room = e->room_edges;
    GNN_TRY(open_rows(s, context, r, fan_out, &more));
    GNN_TRY(extend(&e->ids, begin, &room, more, sizeof *e->ids));
    GNN_TRY(extend(&e->senders, begin, &e->room_edges, more, sizeof *e->senders));
    GNN_TRY(gnn__drawn_reserve(from, from->count + gnn__min(more, from->of - from->count)));
    const int threads = gnn__threads(context, 64 * (more + rows));
    const int64_t *indptr = e->indptr + e->rows;
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, ROWS_AT_ONCE), int64_t k = 0; k < rows; k++) {
        const int32_t node = to->drawn.nodes[to->begin + k];
        gnn__stream_t stream = gnn__stream(s->key, draw, node);
        gnn__pick(&relation->pick, fan_out, node, &stream, indptr[k + 1] - indptr[k],
                  e->ids + indptr[k], NULL);
    }
    for (int64_t k = begin; k < begin + more; k++) {
        const int64_t place = e->ids[k];
        e->senders[k] = gnn__drawn_position(from, relation->pick.pairs->indices[place]);
        e->ids[k] = gnn__pairs_edge(relation->pick.pairs, place);
    }
    e->rows += rows;
    e->edges += more;
    return GNN_OK;
}

static int add_seeds(gnn_hetero_sample_t *s, int64_t type, int64_t count, const int32_t *seeds)
{
    if (type < 0 || type >= s->sampler->n_types)
        return gnn__error(GNN_EINVALID, "gnn_hetero_sample_draw: expected a type 0 to %lld, got %lld",
                          (long long)s->sampler->n_types - 1, (long long)type);
    const int rc = gnn__drawn_seeds(&s->nodes[type].drawn, count, seeds);
    return rc == GNN_OK ? GNN_OK : gnn__error_prefix(rc, "type %lld", (long long)type);
}

/* Nodes of the last hop have no sampled senders: adds empty rows. */
static int close_rows(gnn_hetero_sample_t *s, int64_t r)
{
    drawn_edges_t *e = &s->edges[r];
    const int64_t rows = s->nodes[s->sampler->relation[r].to].drawn.count - e->rows;
    GNN_TRY(extend(&e->indptr, e->rows + 1, &e->room_rows, rows, sizeof *e->indptr));
    for (int64_t k = 0; k <= rows; k++)
        e->indptr[e->rows + k] = e->edges;
    e->rows += rows;
    return GNN_OK;
}

static int draw(gnn_hetero_sample_t *s, gnn_context_t *context)
{
    const gnn_hetero_sampler_t *of = s->sampler;
    for (int64_t hop = 0; hop < of->hops; hop++) {
        for (int64_t t = 0; t < of->n_types; t++) {
            s->nodes[t].begin = s->nodes[t].end;
            s->nodes[t].end = s->nodes[t].drawn.count;
        }
        for (int64_t r = 0; r < of->n_relations; r++)
            GNN_TRY(draw_relation(s, context, r, hop));
    }
    for (int64_t r = 0; r < of->n_relations; r++)
        GNN_TRY(close_rows(s, r));
    for (int64_t k = 0; k < s->n_graphs; k++)
        GNN_TRY(of->form->make(&s->graphs[k], s, k));
    return GNN_OK;
}

int(gnn_hetero_sample_draw)(gnn_hetero_sample_t *sample, gnn_context_t *context, int64_t type,
                            int64_t n_seeds, gnn_ints_t seeds, int64_t epoch, int64_t batch)
{
    GNN__NEED_INTS(seeds, n_seeds);
    const int32_t *nodes;
    int32_t *made;
    GNN__NEED(sample);
    if (!seeds.data)
        return gnn__error(GNN_EINVALID, "%s: seeds is NULL", __func__);
    if (context)
        GNN_TRY(gnn__team_start(context));
    forget(sample);
    GNN_TRY(gnn__ints_32("seeds", seeds, n_seeds, &nodes, &made));
    int rc = gnn__draw_key(sample->key, sample->sampler->seed, "hetero_sample", epoch, batch);
    if (rc == GNN_OK)
        rc = add_seeds(sample, type, n_seeds, nodes);
    gnn_free(made);
    if (rc == GNN_OK)
        rc = draw(sample, context);
    if (rc != GNN_OK)
        forget(sample);
    return rc;
}

/* ---- accessors ---- */

const int32_t *gnn_hetero_sample_nodes(const gnn_hetero_sample_t *sample, int64_t type, int64_t *count)
{
    GNN__NEED_OR(sample, NULL);
    const bool there = sample && type >= 0 && type < sample->sampler->n_types;
    if (count)
        *count = there ? sample->nodes[type].drawn.count : 0;
    return there ? sample->nodes[type].drawn.nodes : NULL;
}

const int64_t *gnn_hetero_sample_edges(const gnn_hetero_sample_t *sample, int64_t relation,
                                       int64_t *count)
{
    GNN__NEED_OR(sample, NULL);
    const bool there = sample && relation >= 0 && relation < sample->sampler->n_relations;
    if (count)
        *count = there ? sample->edges[relation].edges : 0;
    return there ? sample->edges[relation].ids : NULL;
}

gnn_graph_t *gnn_hetero_sample_graph(const gnn_hetero_sample_t *sample, int64_t slot)
{
    GNN__NEED_OR(sample, NULL);
    return sample && slot >= 0 && slot < sample->n_graphs ? sample->graphs[slot] : NULL;
}
