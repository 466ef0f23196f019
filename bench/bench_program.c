/* Repeated runs of a model on a tape: inference or training steps. */
#include "bench.h"

int bench_program(bench_program_t *p, bench_t *bench, const gnn_model_inputs_t *inputs,
                  const gnn_loss_t *loss, const gnn_optimizer_config_t *optimizer)
{
    bench_begin(bench);
    GNN_TRY(gnn_tape_new(&p->tape, bench->context));
    gnn_tape_reset(p->tape, loss != NULL, loss != NULL);
    p->root = gnn_model_record(p->model, p->tape, inputs, NULL);
    if (loss) {
        p->root = gnn_tape_loss(p->tape, p->root, loss);
        p->parameters = gnn_model_parameters(p->model);
        GNN_TRY(gnn_optimizer_new(&p->optimizer, bench->context, p->parameters, optimizer));
    }
    gnn_tape_keep(p->tape, p->root);
    return gnn_tape_status(p->tape);
}

static int train(void *user)
{
    bench_program_t *p = user;
    gnn_tape_set_step(p->tape, ++p->steps);
    GNN_TRY(gnn_tape_forward(p->tape));
    gnn_parameters_zero_gradients(p->parameters);
    GNN_TRY(gnn_tape_backward(p->tape, p->root, NULL));
    return gnn_optimizer_step(p->optimizer, 1);
}

static int infer(void *user)
{
    return gnn_tape_forward(((bench_program_t *)user)->tape);
}

int bench_program_time(bench_program_t *p, bench_t *bench)
{
    return bench_time(bench, 3, p->optimizer ? train : infer, p);
}

void bench_program_free(bench_program_t *p)
{
    gnn_optimizer_free(p->optimizer);
    gnn_tape_free(p->tape);
    gnn_model_free(p->model);
}
