/* What the benchmarks share: options, timing, memory, and the one line of JSON that each prints,
 * with the field names of bench/peers. */
#ifndef BENCH_H
#define BENCH_H

#include <gnn/gnn.h>
#include <stdbool.h>

/* ---- options: those of one program, beside --threads, --repeat, --warm, --precision and --help of
 * all ---- */

typedef enum { BENCH_FLAG, BENCH_NUMBER, BENCH_TEXT } bench_kind_t;

/* "--name", or "--name VALUE"; the target is a bool, an int64_t or a const char *. A list that ends
 * with a NULL name. */
typedef struct {
    const char *name;
    bench_kind_t kind;
    void *target;
} bench_option_t;

typedef struct {
    int64_t threads, repeat, warm; /* warm -1: as many as the program likes */
    const char *precision;         /* highest, high or medium */
    gnn_context_t *context;
    double before_mb,
        peak_mb; /* resident memory when the timed part began, and the most it came to since */
    double median_ms, min_ms, mean_ms; /* of the timed runs, without warm-up */
    double first_ms;                   /* the first run of all, warm-up included; 0: not measured */
    double early_ms, late_ms; /* median of runs 1 to 5 and 21 to 30, warm-up included; 0: not that
                                 many */
} bench_t;

/* Reads the options and makes the context; ends the program if there is something wrong with them,
 * or after --help. */
void bench_open(bench_t *bench, int argc, char **argv, const bench_option_t *options);
/* For main: says what went wrong, if anything, and gives the exit status. */
int bench_close(bench_t *bench, int rc);

/* ---- measuring ---- */

double bench_seconds(void);
/* Memory is watched from here on: graph and model stand, nothing has run. */
void bench_begin(bench_t *bench);
/* Notes the most memory since then; bench_time does it by itself. */
void bench_peak(bench_t *bench);
/* Runs `step` `warm` times (or --warm), then `repeat` times; the first error ends it. Every run is
 * timed: those of the warm-up count for first_ms, early_ms and late_ms alone. */
int bench_time(bench_t *bench, int64_t warm, int (*step)(void *user), void *user);

/* ---- a model's program on a tape: a training step if it has an optimiser, else a forward pass
 * ---- */

typedef struct {
    gnn_model_t *model;
    gnn_tape_t *tape;
    gnn_optimizer_t *optimizer;
    gnn_parameters_t *parameters;
    gnn_var_t root; /* the loss, or the model's output */
    uint32_t steps;
} bench_program_t;

/* Records the model, and with `loss` (NULL: inference) the loss and an optimiser. The model stands
 * and is prepared; memory is watched from here on. */
int bench_program(bench_program_t *program, bench_t *bench, const gnn_model_inputs_t *inputs,
                  const gnn_loss_t *loss, const gnn_optimizer_config_t *optimizer);
/* bench_time of its step. */
int bench_program_time(bench_program_t *program, bench_t *bench);
void bench_program_free(bench_program_t *program);

/* ---- the line ---- */

void bench_text(const char *name, const char *value);
void bench_whole(const char *name, int64_t value);
void bench_number(const char *name, double value);
void bench_flag(const char *name, bool value);
/* The task's own fields stand before; threads, times, memory, precision, kernels and processor
 * follow, and the line ends. */
void bench_print(const bench_t *bench);

/* ---- numbers by chance: a function of seed and place alone ---- */

uint64_t bench_random(uint64_t seed, uint64_t k);
/* In [0, 1). */
double bench_uniform(uint64_t seed, uint64_t k);
/* Mean 0 and variance 1, nearly normal. */
gnn_real_t bench_normal(uint64_t seed, uint64_t k);
/* rows x cols of them, NULL if memory is short; released with free. */
gnn_real_t *bench_normals(uint64_t seed, int64_t rows, int64_t cols);

#endif
