/* A step of kind `edge_rows`: for each edge of the graph the input's row of its receiver, or of its
 * sender. Values on edges are values like others: any step may follow, and an aggregation over the
 * graph of edges and nodes takes them back to nodes. */
#include <lib/model/steps.h>

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0])};

static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    (void)model;
    if (s->step.side != GNN_SIDE_RECEIVERS && s->step.side != GNN_SIDE_SENDERS)
        return gnn__error(GNN_EINVALID,
                          "%s: .side must be GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS, got %d",
                          s->where, (int)s->step.side);
    return GNN_OK;
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    return graph ? gnn_tape_edge_rows(r->tape, in[0], graph, s->step.side) : GNN_NONE;
}

static int prepare(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward)
{
    (void)s;
    return gnn_graph_prepare(graph, &(gnn_view_t){.norm = GNN_GRAPH_NORM_NONE, .backward = backward});
}

const gnn__step_row_t gnn__step_kind_edge_rows = {.name = "edge_rows",
                                                  .reads = GNN__READS(GNN__AT(side)),
                                                  .inputs = inputs,
                                                  .n_inputs = 1,
                                                  .uses_graph = true,
                                                  .check = check,
                                                  .record = record,
                                                  .prepare = prepare};
