/* Dropout alone: one draw per element of a matrix, by the op on a tape, in nanoseconds per element.
 * By default the matrix fits into a core's cache, so that the draws dominate. GNN_ISA=v3 etc.
 * selects the instruction set.
 *
 *     dropout [--rows 1000] [--width 64] [--rate 60] (in hundredths; 0: a copy) */
#include "bench.h"

#include <stdlib.h>

typedef struct {
    gnn_tape_t *tape;
    gnn_real_t *x;
} task_t;

static int prepare(task_t *t, bench_t *bench, int64_t rows, int64_t width, int64_t rate)
{
    t->x = bench_normals(1, rows, width);
    if (!t->x)
        return GNN_EMEMORY;
    gnn_tensor_t x = gnn_tensor(t->x, rows, width);
    bench_begin(bench);
    GNN_TRY(gnn_tape_new(&t->tape, bench->context));
    gnn_tape_reset(t->tape, 0, 1);
    gnn_tape_keep(t->tape,
                  gnn_tape_dropout(t->tape, gnn_tape_input(t->tape, &x, 0), (gnn_real_t)rate / 100));
    return gnn_tape_status(t->tape);
}

static int step(void *user)
{
    return gnn_tape_forward(((task_t *)user)->tape);
}

static void print(const bench_t *b, int64_t rows, int64_t width, int64_t rate)
{
    const double numbers = (double)rows * (double)width;
    bench_text("task", "dropout");
    bench_whole("rows", rows);
    bench_whole("width", width);
    bench_whole("rate", rate);
    bench_number("ns_per_number", 1e6 * b->median_ms / numbers);
    bench_number("least_ns_per_number", 1e6 * b->min_ms / numbers);
    bench_print(b);
}

int main(int argc, char **argv)
{
    int64_t rows = 1000, width = 64, rate = 60;
    bench_t bench;
    task_t task = {0};
    bench_open(&bench, argc, argv,
               (bench_option_t[]){{"rows", BENCH_NUMBER, &rows},
                                  {"width", BENCH_NUMBER, &width},
                                  {"rate", BENCH_NUMBER, &rate},
                                  {0}});
    int rc = prepare(&task, &bench, rows, width, rate);
    if (rc == GNN_OK)
        rc = bench_time(&bench, 3, step, &task);
    if (rc == GNN_OK)
        print(&bench, rows, width, rate);
    gnn_tape_free(task.tape);
    free(task.x);
    return bench_close(&bench, rc);
}
