/* What a row of the output depends on: for a node the graph around it, as many hops as the model has
 * one behind another; where a step is no matter of rows (a readout), the whole graph. */
#include <lib/explain/probe.h>
#include <lib/model/steps.h>

/* What is known of a model's values, by step and after these by input. */
typedef struct reach {
    const gnn_graph_t *graph; /* of the slot that is explained */
    int32_t *after;           /* hops between a value and the output; -1: not needed */
    bool *on_edges;           /* has a row for each edge */
    bool by_rows;             /* the neighbourhood is enough */
    bool masked;              /* some hop runs over the graph */
} reach_t;

static bool hears(const gnn__model_step_t *s)
{
    return s->uses_graph && s->growth == GNN__GROWS_HEARS;
}

static bool runs_over(const gnn__probe_t *p, const gnn__model_step_t *s, const gnn_graph_t *graph)
{
    return s->step.graph < p->given->n_graphs && p->given->graphs[s->step.graph] == graph;
}

/* One step, whose readers are known. */
static void follow(const gnn__probe_t *p, reach_t *r, int64_t k)
{
    const gnn__model_step_t *s = &p->model->steps[k];
    const bool hop = hears(s), over = s->uses_graph && runs_over(p, s, r->graph);
    const bool by_row = s->growth == GNN__GROWS_BY_ROW && !s->uses_graph;
    r->masked = r->masked || (over && s->row->has_config);
    r->by_rows = r->by_rows && (hop ? over : by_row);
    for (int i = 0; i < s->row->n_inputs; i++) {
        const int64_t from = s->in[i];
        if (from == GNN__NOT_READ)
            continue;
        const int32_t after = r->after[k] + (hop ? 1 : 0);
        r->after[from] = after > r->after[from] ? after : r->after[from];
        if ((s->row->edges >> i & 1) || (by_row && r->on_edges[k]))
            r->on_edges[from] = true;
        if (s->row->priors && i >= s->row->priors)
            r->by_rows = false;
    }
}

static void follow_all(const gnn__probe_t *p, reach_t *r)
{
    const int64_t steps = p->model->n_steps, all = steps + p->model->n_inputs;
    for (int64_t k = 0; k < all; k++)
        r->after[k] = -1;
    r->after[steps - 1] = 0;
    for (int64_t k = steps - 1; k >= 0; k--)
        if (r->after[k] >= 0)
            follow(p, r, k);
}

static int64_t rows_of(const gnn_named_t *v)
{
    return v->dense ? v->dense->rows : v->sparse ? v->sparse->rows : v->ids ? v->count : -1;
}

/* The model's input of this name, numbered after its steps; -1: it reads none. */
static int64_t input_of(const gnn_model_t *model, const char *name)
{
    for (int64_t k = 0; k < model->n_inputs; k++)
        if (strcmp(model->inputs[k], name) == 0)
            return model->n_steps + k;
    return -1;
}

/* Do the values have rows that can be told apart, and the graph a form that samplers take? */
static bool can_cut(const gnn__probe_t *p, const reach_t *r)
{
    const gnn_graph_t *g = r->graph;
    if (!r->by_rows || gnn_graph_n_parts(g) != 1 || gnn_graph_part_is_spans(g, 0) ||
        gnn_graph_n_dst(g) != gnn_graph_n_src(g))
        return false;
    for (int64_t k = 0; k < p->given->n_values; k++) {
        const gnn_named_t *v = &p->given->values[k];
        const int64_t input = input_of(p->model, v->name), rows = rows_of(v);
        const int64_t expected =
            input >= 0 && r->on_edges[input] ? gnn_graph_n_edges(g) : gnn_graph_n_dst(g);
        if (input >= 0 && r->after[input] >= 0 && rows != expected && rows != 1)
            return false;
    }
    return true;
}

/* Rows of the values that the nodes and edges of the sample have. */
static int take_values(gnn__probe_t *p, const reach_t *r, const gnn__part_index_t *nodes,
                       const gnn__part_index_t *edges)
{
    GNN_TRY(gnn__new(&p->parts, p->given->n_values, sizeof *p->parts, "values around a node"));
    for (int64_t k = 0; k < p->given->n_values; k++) {
        const gnn_named_t *v = &p->given->values[k];
        const int64_t input = input_of(p->model, v->name);
        p->values[k] = *v;
        if (input < 0 || r->after[input] < 0 || rows_of(v) == 1)
            continue;
        GNN_TRY(gnn__part_rows_take(&p->parts[k], v, r->on_edges[input] ? edges : nodes, p->context,
                                    &p->values[k]));
        p->values[k].slot = v->slot;
    }
    return GNN_OK;
}

static int copy_numbers(gnn__probe_t *p, const int32_t *nodes, const int64_t *edges)
{
    GNN_TRY(gnn__new(&p->nodes, p->n_nodes, sizeof *p->nodes, "nodes of an explanation"));
    GNN_TRY(gnn__new(&p->edges, p->n_edges, sizeof *p->edges, "edges of an explanation"));
    GNN_TRY(gnn__new(&p->distance, p->n_nodes, sizeof *p->distance, "nodes of an explanation"));
    for (int64_t k = 0; k < p->n_nodes; k++)
        p->nodes[k] = nodes ? nodes[k] : k;
    for (int64_t k = 0; k < p->n_edges; k++)
        p->edges[k] = edges ? edges[k] : k;
    return GNN_OK;
}

/* Hops from each node to the row's, which is node 0: senders of a node are one farther than it. */
static int find_distances(gnn__probe_t *p)
{
    int64_t *queue, n = 0;
    GNN_TRY(gnn__new(&queue, p->n_nodes, sizeof *queue, "nodes of an explanation"));
    for (int64_t k = 0; k < p->n_nodes; k++)
        p->distance[k] = INT32_MAX;
    p->distance[0] = 0;
    queue[n++] = 0;
    for (int64_t at = 0; at < n; at++) {
        gnn_graph_row_t row;
        int rc = gnn_graph_row(p->graph, 0, queue[at], &row);
        for (int64_t k = 0; rc == GNN_OK && k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k);
            if (p->distance[j] != INT32_MAX)
                continue;
            p->distance[j] = p->distance[queue[at]] + 1;
            queue[n++] = j;
        }
    }
    gnn_free(queue);
    return GNN_OK;
}

static int draw(gnn__probe_t *p, const gnn_graph_t *graph, int64_t row)
{
    enum { MOST = 64 };
    int64_t fan_outs[MOST];
    const int32_t seed = (int32_t)row;
    if (p->hops > MOST)
        return gnn__error(GNN_EUNSUPPORTED, "a model of %lld hops, at most %d are explained",
                          (long long)p->hops, MOST);
    for (int64_t h = 0; h < p->hops; h++)
        fan_outs[h] = -1;
    const gnn_sampler_config_t config = {.method = "around", .hops = p->hops, .fan_outs = fan_outs};
    GNN_TRY(gnn_sampler_new(&p->sampler, graph, &config));
    GNN_TRY(gnn_sample_new(&p->sample, p->sampler));
    return gnn_sample_draw(p->sample, p->context, 1, &seed, 0, 0);
}

static int cut(gnn__probe_t *p, const reach_t *r, int64_t row, bool gradients)
{
    GNN_TRY(draw(p, r->graph, row));
    gnn_graph_t *around = gnn_sample_graph(p->sample, 0);
    const int32_t *nodes = gnn_sample_nodes(p->sample, &p->n_nodes);
    const int64_t *edges = gnn_sample_edges(p->sample, 0);
    p->graph = around;
    p->n_edges = gnn_graph_n_edges(around);
    p->row = 0;
    GNN_TRY(copy_numbers(p, nodes, edges));
    for (int slot = 0; slot < p->model->n_graphs; slot++) {
        p->graphs[slot] = around;
        GNN_TRY(gnn_model_prepare(p->model, slot, around, gradients ? GNN_ON : GNN_OFF));
    }
    GNN_TRY(take_values(p, r, &(gnn__part_index_t){.nodes = nodes, .count = p->n_nodes},
                        &(gnn__part_index_t){.edges = edges, .count = p->n_edges}));
    return find_distances(p);
}

static int take_whole(gnn__probe_t *p, const reach_t *r, int64_t row)
{
    p->hops = -1;
    p->graph = r->graph;
    p->row = row;
    p->n_nodes = gnn_graph_n_src(r->graph);
    p->n_edges = gnn_graph_n_edges(r->graph);
    for (int64_t k = 0; k < p->given->n_values; k++)
        p->values[k] = p->given->values[k];
    for (int slot = 0; slot < p->model->n_graphs && slot < p->given->n_graphs; slot++)
        p->graphs[slot] = p->given->graphs[slot];
    return copy_numbers(p, NULL, NULL);
}

static int check_graph(const gnn__probe_t *p, int slot)
{
    if (slot < 0 || slot >= p->given->n_graphs || !p->given->graphs[slot])
        return gnn__error(GNN_EINVALID, "edges of graph slot %d are explained, %lld graphs are given",
                          slot, (long long)p->given->n_graphs);
    return GNN_OK;
}

static int reach(gnn__probe_t *p, const gnn__probe_config_t *config, reach_t *r)
{
    const int64_t steps = p->model->n_steps, all = steps + p->model->n_inputs;
    GNN_TRY(gnn__new(&p->after, all, sizeof *p->after, "values of a model"));
    GNN_TRY(gnn__new(&r->on_edges, all, sizeof *r->on_edges, "values of a model"));
    GNN_TRY(gnn__new(&p->graphs, gnn__max(p->model->n_graphs, 1), sizeof(gnn_graph_t *), "graphs"));
    GNN_TRY(gnn__new(&p->values, p->given->n_values, sizeof *p->values, "values of a model"));
    r->after = p->after;
    follow_all(p, r);
    for (int64_t k = 0; k < all; k++)
        p->hops = gnn__max(p->hops, p->after[k]);
    if (!r->masked)
        return gnn__error(GNN_EUNSUPPORTED,
                          "no layer and no aggregation of the model runs over the graph of slot %d",
                          config->slot);
    if (!can_cut(p, r))
        return take_whole(p, r, config->row);
    if (config->row < 0 || config->row >= gnn_graph_n_dst(r->graph))
        return gnn__error(GNN_EINVALID, "row %lld is explained, the output has %lld",
                          (long long)config->row, (long long)gnn_graph_n_dst(r->graph));
    return cut(p, r, config->row, config->gradients);
}

int gnn__probe_reach(gnn__probe_t *p, const gnn__probe_config_t *config)
{
    GNN_TRY(check_graph(p, config->slot));
    reach_t r = {.graph = p->given->graphs[config->slot], .by_rows = true};
    const int rc = reach(p, config, &r);
    gnn_free(r.on_edges);
    p->inputs = (gnn_model_inputs_t){.graphs = p->graphs,
                                     .n_graphs = p->model->n_graphs,
                                     .values = p->values,
                                     .n_values = p->given->n_values};
    return rc;
}
