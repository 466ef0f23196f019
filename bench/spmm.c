/* Sum over neighbours: A (n x n, sparse) times X (n x width), the op `aggregate` on its own.
 *
 *     spmm --data rmat --width 128 [--order renumbered|file] */
#include "graph_data.h"

#include <stdlib.h>

typedef struct {
    gnn_tape_t *tape;
    gnn_real_t *x;
} task_t;

static int prepare(task_t *t, bench_t *bench, const graph_data_t *d, int64_t width)
{
    gnn_aggregate_t how = {.aggregator = gnn_aggregator_find("sum"),
                           .message = gnn_message_find("none"),
                           .graph = d->graph};
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    t->x = bench_normals(1, d->n, width);
    if (!t->x)
        return GNN_EMEMORY;
    gnn_tensor_t x = gnn_tensor(t->x, d->n, width);
    GNN_TRY(gnn_graph_prepare(d->graph, &how.view));
    bench_begin(bench);
    GNN_TRY(gnn_tape_new(&t->tape, bench->context));
    gnn_tape_reset(t->tape, 0, 0);
    in[GNN_AGGREGATE_SRC_MESSAGE] = gnn_tape_input(t->tape, &x, 0);
    gnn_tape_keep(t->tape, gnn_tape_aggregate(t->tape, &how, in));
    return gnn_tape_status(t->tape);
}

static int step(void *user)
{
    return gnn_tape_forward(((task_t *)user)->tape);
}

static void print(const bench_t *b, const graph_data_t *d, int64_t width)
{
    int64_t m = gnn_graph_n_edges(d->graph);
    bench_text("task", "spmm");
    bench_text("data", d->name);
    bench_text("order", d->order);
    bench_whole("nodes", d->n);
    bench_whole("edges", m);
    bench_whole("width", width);
    bench_number("gb_per_s",
                 (double)sizeof(gnn_real_t) * (double)width * (double)m / b->median_ms / 1e6);
    bench_print(b);
}

int main(int argc, char **argv)
{
    const char *name = "rmat", *order = "renumbered";
    int64_t width = 128;
    bench_t bench;
    graph_data_t data = {0};
    task_t task = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"data", BENCH_TEXT, &name},
                                  {"width", BENCH_NUMBER, &width},
                                  {"order", BENCH_TEXT, &order},
                                  {0}});
    int rc = graph_data_open(&data, name, order);
    if (rc == GNN_OK)
        rc = prepare(&task, &bench, &data, width);
    if (rc == GNN_OK)
        rc = bench_time(&bench, 3, step, &task);
    if (rc == GNN_OK)
        print(&bench, &data, width);
    gnn_tape_free(task.tape);
    free(task.x);
    graph_data_free(&data);
    return bench_close(&bench, rc);
}
