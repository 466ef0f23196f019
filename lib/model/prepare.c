/* The views of a graph that the steps of a model run on. */
#include <lib/model/model.h>
#include <lib/model/steps.h>

int gnn_model_prepare(const gnn_model_t *model, int slot, gnn_graph_t *graph, gnn_flag_t backward)
{
    GNN__NEED(model);
    GNN__NEED(graph);
    for (int64_t k = 0; k < model->n_steps; k++) {
        const gnn__model_step_t *s = &model->steps[k];
        if (s->row->prepare && s->uses_graph && s->step.graph == slot)
            GNN_TRY(s->row->prepare(s, graph, backward));
    }
    return GNN_OK;
}
