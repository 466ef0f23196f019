/* A tape for one row of a model's output, recorded once and run repeatedly; restricted to the
 * row's neighbourhood where the model allows it. */
#include <graphs/graph.h>
#include <lib/explain/probe.h>
#include <lib/model/model.h>
#include <lib/model/steps.h>
#include <lib/tape/tape.h>

/* ---- dependencies of the row ---- */

/* Dependencies of a row of the output: the neighbourhood of a node with as many hops as the model
 * has in sequence, or the whole graph if a step mixes rows otherwise (a readout). */

/* Properties of a model's values: by step, then by input. */
typedef struct reach {
    const gnn_graph_t *graph; /* of the explained slot */
    int32_t *after;           /* hops between a value and the output; -1: not needed */
    bool *on_edges;           /* it has one row per edge */
    bool by_rows;             /* the neighbourhood suffices */
    bool masked;              /* some message-passing step runs over the graph */
} reach_t;

static bool passes_messages(const gnn__model_step_t *s)
{
    return s->uses_graph && s->incremental == GNN__NEEDS_CACHE;
}

static bool runs_over(const gnn__probe_t *p, const gnn__model_step_t *s, const gnn_graph_t *graph)
{
    return s->step.graph < p->given->n_graphs && p->given->graphs[s->step.graph] == graph;
}

/* Propagates step k, all of whose readers have been visited, to its inputs. */
static void follow(const gnn__probe_t *p, reach_t *r, int64_t k)
{
    const gnn__model_step_t *s = &p->model->steps[k];
    const bool hop = passes_messages(s), over = s->uses_graph && runs_over(p, s, r->graph);
    const bool by_row = s->incremental == GNN__ROW_BY_ROW && !s->uses_graph;
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
    if (v->dense)
        return v->dense->rows;
    if (v->sparse)
        return v->sparse->rows;
    return v->ids ? v->count : -1;
}

/* Index of the model's input of this name, after its steps; -1: not read. */
static int64_t input_of(const gnn_model_t *model, const char *name)
{
    for (int64_t k = 0; k < model->n_inputs; k++)
        if (strcmp(model->inputs[k], name) == 0)
            return model->n_steps + k;
    return -1;
}

/* True if the values' rows match nodes or edges, and the graph has a form that samplers take. */
static bool can_cut(const gnn__probe_t *p, const reach_t *r)
{
    const gnn_graph_t *g = r->graph;
    if (!r->by_rows || gnn_graph_n_parts(g) != 1 || gnn__graph_part_is_spans(g, 0) ||
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

/* Takes the values' rows of the sample's nodes and edges. */
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

static int copy_ids(gnn__probe_t *p, const int32_t *nodes, const int64_t *edges)
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

/* Hops from each node to the row's node, which is node 0: breadth-first along incoming edges. */
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
        return gnn__error(GNN_EUNSUPPORTED, "expected a model of at most %d hops, got %lld", MOST,
                          (long long)p->hops);
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
    GNN_TRY(copy_ids(p, nodes, edges));
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
    return copy_ids(p, NULL, NULL);
}

static int check_graph(const gnn__probe_t *p, int slot)
{
    if (slot < 0 || slot >= p->given->n_graphs || !p->given->graphs[slot])
        return gnn__error(GNN_EINVALID, "slot to explain: got %d, the inputs have %lld graphs",
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
                          "no layer or aggregation of the model runs over the graph of slot %d",
                          config->slot);
    if (!can_cut(p, r))
        return take_whole(p, r, config->row);
    if (config->row < 0 || config->row >= gnn_graph_n_dst(r->graph))
        return gnn__error(GNN_EINVALID, "row to explain: got %lld, the output has %lld rows",
                          (long long)config->row, (long long)gnn_graph_n_dst(r->graph));
    return cut(p, r, config->row, config->gradients);
}

static int reach_row(gnn__probe_t *p, const gnn__probe_config_t *config)
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

/* ---- features ---- */

static int find_features(gnn__probe_t *p, const char *input)
{
    const char *name = input ? input : "x";
    p->features = -1;
    for (int64_t k = 0; k < p->inputs.n_values && p->features < 0; k++)
        if (strcmp(p->values[k].name, name) == 0 && !p->values[k].ids)
            p->features = k;
    if (p->features < 0 && input)
        return gnn__error(GNN_ENOTFOUND, "features: the model has no real-valued input \"%s\"", name);
    return GNN_OK;
}

static int new_tensor(gnn_tensor_t *t, int64_t rows, int64_t cols, const char *what)
{
    int64_t count;
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%s: the size of %lld x %lld overflows", what,
                          (long long)rows, (long long)cols);
    GNN_TRY(gnn__new(&t->data, count, sizeof *t->data, what));
    *t = gnn_tensor(t->data, rows, cols);
    return GNN_OK;
}

static void copy_sparse(const gnn_tensor_t *to, const gnn_sparse_t *from)
{
    for (int64_t r = 0; r < from->rows; r++)
        for (int64_t k = from->indptr[r]; k < from->indptr[r + 1]; k++)
            gnn__row(to, r)[from->indices[k]] += from->values ? from->values[k] : 1;
}

static int copy_features(gnn__probe_t *p)
{
    static const char what[] = "explained features";
    if (p->features < 0)
        return GNN_OK;
    gnn_named_t *v = &p->values[p->features];
    int64_t rows = 0, cols = 0;
    if (v->dense) {
        rows = v->dense->rows;
        cols = v->dense->cols;
    } else if (v->sparse) {
        rows = v->sparse->rows;
        cols = v->sparse->cols;
    }
    GNN_TRY(new_tensor(&p->x, rows, cols, what));
    GNN_TRY(new_tensor(&p->x_run, rows, cols, what));
    for (int64_t r = 0; v->dense && r < rows; r++)
        memcpy(gnn__row(&p->x, r), gnn__row(v->dense, r), (size_t)cols * sizeof(gnn_real_t));
    if (!v->dense && v->sparse)
        copy_sparse(&p->x, v->sparse);
    *v = (gnn_named_t){.name = v->name, .dense = &p->x_run, .wants_grad = 1, .slot = v->slot};
    return GNN_OK;
}

void gnn__probe_reset(gnn__probe_t *p)
{
    if (p->features >= 0)
        memcpy(p->x_run.data, p->x.data, (size_t)(p->x.rows * p->x.cols) * sizeof(gnn_real_t));
    for (int64_t e = 0; e < p->n_edges; e++)
        p->mask.data[e] = 1;
}

/* ---- the tape ---- */

static int record(gnn__probe_t *p, bool gradients)
{
    gnn_var_t *vars;
    GNN_TRY(gnn_tape_new(&p->tape, p->context));
    GNN_TRY(gnn__new(&vars, p->inputs.n_values, sizeof *vars, "values of a model"));
    gnn_tape_reset(p->tape, gradients, 0);
    p->tape->frozen = true;
    p->mask_var = gnn_tape_input(p->tape, &p->mask, gradients);
    p->out = gnn__model_record_to(p->model, p->tape, &p->inputs, vars, NULL,
                                  &(gnn__record_how_t){.last = p->model->n_steps - 1,
                                                       .masked = p->graph,
                                                       .edge_mask = p->mask_var});
    p->x_var = p->features >= 0 ? vars[p->features] : GNN_NONE;
    gnn_free(vars);
    gnn_tape_keep(p->tape, p->out);
    return gnn_tape_status(p->tape);
}

static int make_output(gnn__probe_t *p)
{
    const int64_t rows = gnn_tape_rows(p->tape, p->out), cols = gnn_tape_cols(p->tape, p->out);
    if (p->row < 0 || p->row >= rows || cols < 1)
        return gnn__error(GNN_EINVALID, "row to explain: got %lld, the output is %lld x %lld",
                          (long long)p->row, (long long)rows, (long long)cols);
    GNN_TRY(new_tensor(&p->logits, 1, cols, "a row of the output"));
    return new_tensor(&p->d_out, rows, cols, "a row's gradient");
}

int gnn__probe_open(gnn__probe_t *p, const gnn_model_t *model, gnn_context_t *context,
                    const gnn_model_inputs_t *inputs, const gnn__probe_config_t *config)
{
    *p = (gnn__probe_t){.model = model, .context = context, .given = inputs, .features = -1};
    GNN_TRY(reach_row(p, config));
    GNN_TRY(find_features(p, config->input));
    GNN_TRY(copy_features(p));
    GNN_TRY(new_tensor(&p->mask, p->n_edges, 1, "a mask over edges"));
    gnn__probe_reset(p);
    GNN_TRY(record(p, config->gradients));
    return make_output(p);
}

void gnn__probe_close(gnn__probe_t *p)
{
    gnn_tape_free(p->tape);
    for (int64_t k = 0; p->parts && k < p->given->n_values; k++)
        gnn__part_rows_free(&p->parts[k]);
    gnn_sample_free(p->sample);
    gnn_sampler_free(p->sampler);
    void *const all[] = {(void *)p->graphs, p->values,    p->parts,      p->nodes,
                         p->edges,          p->distance,  p->after,      p->x.data,
                         p->x_run.data,     p->mask.data, p->d_out.data, p->logits.data};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        gnn_free(all[k]);
    *p = (gnn__probe_t){0};
}

int gnn__probe_run(gnn__probe_t *p)
{
    GNN_TRY(gnn_tape_forward(p->tape));
    const gnn_tensor_t out = gnn_tape_value(p->tape, p->out);
    memcpy(p->logits.data, gnn__row(&out, p->row), (size_t)out.cols * sizeof(gnn_real_t));
    return GNN_OK;
}

int gnn__probe_gradients(gnn__probe_t *p, const gnn_real_t *d_row, gnn_tensor_t *d_x,
                         gnn_tensor_t *d_mask)
{
    memcpy(gnn__row(&p->d_out, p->row), d_row, (size_t)p->d_out.cols * sizeof(gnn_real_t));
    GNN_TRY(gnn_tape_backward(p->tape, p->out, &p->d_out));
    *d_x = p->x_var == GNN_NONE ? gnn_tensor(NULL, 0, 0) : gnn_tape_gradient(p->tape, p->x_var);
    *d_mask = gnn_tape_gradient(p->tape, p->mask_var);
    return GNN_OK;
}
