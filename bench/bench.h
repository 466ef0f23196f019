/* Shared by the benchmarks: options, timing, memory, and the line of JSON that each prints, with
 * the field names of bench/peers. */
#ifndef BENCH_H
#define BENCH_H

#include <gnn/gnn.h>
#include <stdbool.h>

/* ---- options: those of one program, in addition to the common --threads, --repeat, --warm,
 * --precision and --help ---- */

typedef enum { BENCH_FLAG, BENCH_NUMBER, BENCH_TEXT } bench_kind_t;

/* "--name", or "--name VALUE"; the target is a bool, an int64_t or a const char *. A list that ends
 * with a NULL name. */
typedef struct {
    const char *name;
    bench_kind_t kind;
    void *target;
} bench_option_t;

typedef struct {
    int64_t threads, repeat, warm; /* warm -1: the program's default */
    const char *precision;         /* highest, high or medium */
    gnn_context_t *context;
    double before_mb, peak_mb;         /* resident memory before the timed part, and its peak */
    double median_ms, min_ms, mean_ms; /* of the timed runs, without warm-up */
    double first_ms;                   /* the very first run, warm-up included; 0: not measured */
    double early_ms,
        late_ms; /* median of runs 1 to 5 and 21 to 30, warm-up included; 0: too few runs */
} bench_t;

/* Reads the options and makes the context; ends the program after an invalid option or --help. */
void bench_open(bench_t *bench, int argc, char **argv, const bench_option_t *options);
/* For main: prints the error, if any, and returns the exit status. */
int bench_close(bench_t *bench, int rc);

/* ---- measuring ---- */

double bench_seconds(void);
/* Starts the measurement of memory, after graph and model are made and before the first run. */
void bench_begin(bench_t *bench);
/* Records the peak since then; bench_time calls it. */
void bench_peak(bench_t *bench);
/* Runs `step` `warm` times (or --warm), then `repeat` times, up to the first error. All runs are
 * timed; those of the warm-up enter first_ms, early_ms and late_ms only. */
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

/* Records the model, and with `loss` (NULL: inference) the loss and an optimiser. The model must be
 * prepared. Starts the measurement of memory. */
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
/* After the task's own fields: appends threads, times, memory, precision, kernels and processor,
 * and ends the line. */
void bench_print(const bench_t *bench);

/* ---- random numbers: a function of seed and index alone ---- */

uint64_t bench_random(uint64_t seed, uint64_t k);
/* Uniform in [0, 1). */
double bench_uniform(uint64_t seed, uint64_t k);
/* Approximately normal, with mean 0 and variance 1. */
gnn_real_t bench_normal(uint64_t seed, uint64_t k);
/* rows x cols of them, for free(); NULL without memory. */
gnn_real_t *bench_normals(uint64_t seed, int64_t rows, int64_t cols);

#endif
