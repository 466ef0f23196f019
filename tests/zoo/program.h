/* The gallery's short forms for a program: arrays are given by name instead of being read from a
 * golden file, parameters keep the values that they are drawn with. Of the library it needs the
 * public headers alone.
 *
 *     #include "program.h"                          cc -I tests/zoo ... $(pkg-config ... gnn) -lm
 *     int main(void)
 *     {
 *         zoo_t gallery, *z = zoo_program(&gallery);
 *         zoo_give(z, "x", 12, 16, values);                 12 rows of 16 columns; NULL: drawn
 *         zoo_give_integers(z, "lengths", 2, lengths);
 *         zoo_set(z, "p.heads", 4);
 *         ... the snippet ...
 *         gnn_tensor_t y = zoo_program_run(z);              forward, and backward from ones
 *         double loss = zoo_program_step(z, &(gnn_loss_t){...}, optimizer);
 *         zoo_program_close(z);
 *     }
 */
#ifndef GNN_TESTS_ZOO_PROGRAM_H
#define GNN_TESTS_ZOO_PROGRAM_H

#include <gnn/gnn.h>
#include <gnn/io.h>
#include <gnn/model.h>
#include <gnn/op.h>
#include <gnn/tape.h>
#include <gnn/train.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors end the program ---- */

#define zoo_must(holds, ...)              \
    do {                                  \
        if (!(holds)) {                   \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr);          \
            exit(1);                      \
        }                                 \
    } while (0)
#define ck_ok(call) zoo_must((call) == GNN_OK, "%s", gnn_error_message())
#define ck_assert_msg(holds, ...) zoo_must(holds, __VA_ARGS__)
#define ck_assert_int_lt(a, b) zoo_must((a) < (b), "%s is not below %s", #a, #b)
#define ck_assert_int_le(a, b) zoo_must((a) <= (b), "%s is above %s", #a, #b)

/* ---- arrays by name, in place of tests/golden.h ---- */

#define GNN_TESTS_GOLDEN_H
enum { ZOO_GIVEN = 256 };
typedef struct golden {
    char name[64];
    gnn_context_t *context;
    gnn_array_t given[ZOO_GIVEN];
    char names[ZOO_GIVEN][64];
    int n_given;
    bool *read; /* of each given array: the entry has read it */
    uint64_t seed;
    void **owned;
    int n_owned;
} golden_t;

static inline void *golden_own(golden_t *g, size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    g->owned = realloc(g->owned, sizeof *g->owned * (size_t)(g->n_owned + 1));
    zoo_must(memory && g->owned, "no memory");
    return g->owned[g->n_owned++] = memory;
}

static inline int zoo_find(const golden_t *g, const char *name)
{
    for (int k = 0; k < g->n_given; k++)
        if (strcmp(g->names[k], name) == 0)
            return k;
    return -1;
}

static inline bool golden_has(const golden_t *g, const char *name)
{
    return zoo_find(g, name) >= 0;
}

static inline const gnn_array_t *golden_array(const golden_t *g, const char *name)
{
    const int k = zoo_find(g, name);
    zoo_must(k >= 0, "the entry reads array \"%s\", which is not given", name);
    g->read[k] = true;
    return &g->given[k];
}

static inline gnn_real_t *golden_reals(golden_t *g, int64_t count)
{
    return golden_own(g, sizeof(gnn_real_t) * (size_t)count);
}

static inline gnn_tensor_t golden_tensor(golden_t *g, const char *name)
{
    const gnn_array_t *a = golden_array(g, name);
    const int64_t rows = a->ndim > 0 ? a->shape[0] : 1;
    gnn_real_t *x = golden_reals(g, a->count);
    for (int64_t k = 0; k < a->count; k++)
        x[k] = (gnn_real_t)gnn_array_get(a, k);
    return gnn_tensor(x, rows, rows ? a->count / rows : 0);
}

static inline int64_t *golden_integers(golden_t *g, const char *name, int64_t *count)
{
    const gnn_array_t *a = golden_array(g, name);
    int64_t *x = golden_own(g, sizeof *x * (size_t)(a->count + 1));
    for (int64_t k = 0; k < a->count; k++)
        x[k] = (int64_t)gnn_array_get(a, k);
    if (count)
        *count = a->count;
    return x;
}

#include "zoo_build.c"

/* ---- parts of tests/zoo_case.c and of zoo_bind.c ---- */

/* Counts are at least 1; of these, distances and flags, 0 means none. */
static inline bool zoo_may_be_0(const char *name)
{
    static const char *const names[] = {"p.ahead", "p.back", "p.band",  "p.clip",
                                        "p.g",     "p.part", "p.r",     "p.radius",
                                        "p.s",     "p.w",    "p.window"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], name) == 0)
            return true;
    return false;
}

int64_t zoo_number(zoo_t *z, const char *name)
{
    const gnn_array_t *a = golden_array(&z->g, name);
    const double value = gnn_array_get(a, 0);
    zoo_must(a->count == 1 && value == floor(value) && value >= !zoo_may_be_0(name),
             "\"%s\" is %g, expected one integer of at least %d", name, value, !zoo_may_be_0(name));
    return (int64_t)value;
}

double zoo_real(zoo_t *z, const char *name)
{
    return gnn_array_get(golden_array(&z->g, name), 0);
}

int64_t zoo_cols(zoo_t *z, const char *name)
{
    return zoo_shape(z, name, -1);
}

void zoo_block(zoo_t *z, const char *name, gnn_block_t settings)
{
    settings.name = settings.name ? settings.name : "w";
    ck_ok(gnn_steps_block(z->steps, name, &settings));
}

void zoo_add(zoo_t *z, gnn_step_t step)
{
    ck_ok(gnn_steps_add(z->steps, &step));
}

/* Comparisons with golden files are left out. */
void zoo_bind(zoo_t *z, const char *field, const char *array, bind_t how)
{
    (void)z, (void)field, (void)array, (void)how;
}
void zoo_fixed(zoo_t *z, const char *step)
{
    (void)z, (void)step;
}
void zoo_unchecked(zoo_t *z, const char *array, const char *reason)
{
    (void)z, (void)array, (void)reason;
}
void zoo_slack(zoo_t *z, double factor)
{
    (void)z, (void)factor;
}
void zoo_approximate(zoo_t *z)
{
    (void)z;
}
void zoo_also(zoo_t *z, const char *step, const char *array)
{
    (void)z, (void)step, (void)array;
}
void zoo_same_pairs(zoo_t *z, int slot)
{
    (void)z, (void)slot;
}

/* ---- the program's side ---- */

static inline zoo_t *zoo_program(zoo_t *z)
{
    memset(z, 0, sizeof *z);
    z->gallery = golden_own(&z->g, sizeof *z->gallery);
    z->g.read = golden_own(&z->g, sizeof *z->g.read * ZOO_GIVEN);
    ck_ok(gnn_context_new(&z->g.context, NULL));
    ck_ok(gnn_steps_new(&z->steps));
    return z;
}

static inline void zoo_put(zoo_t *z, const char *name, gnn_array_t array)
{
    golden_t *g = &z->g;
    zoo_must(g->n_given < ZOO_GIVEN, "too many arrays");
    zoo_must(zoo_find(g, name) < 0, "array \"%s\" is given twice", name);
    snprintf(g->names[g->n_given], sizeof g->names[0], "%s", name);
    array.name = g->names[g->n_given];
    g->given[g->n_given++] = array;
}

/* An array of up to eight dimensions, values from low to high. */
static inline void zoo_give_drawn(zoo_t *z, const char *name, int ndim, const int64_t *shape,
                                  double low, double high)
{
    gnn_array_t a = {.dtype = GNN_DTYPE_FLOAT64, .count = 1};
    for (; a.ndim < ndim; a.ndim++)
        a.count *= a.shape[a.ndim] = shape[a.ndim];
    double *values = golden_own(&z->g, sizeof *values * (size_t)a.count);
    for (int64_t k = 0; k < a.count; k++) {
        z->g.seed = z->g.seed * 6364136223846793005u + 1442695040888963407u;
        values[k] = low + (high - low) * (double)(z->g.seed >> 40) / (double)(1 << 24);
    }
    a.data = values;
    zoo_put(z, name, a);
}

/* Values (rows x cols); NULL: drawn from -1 to 1. Copied. */
static inline void zoo_give(zoo_t *z, const char *name, int64_t rows, int64_t cols,
                            const gnn_real_t *values)
{
    zoo_give_drawn(z, name, 2, (int64_t[]){rows, cols}, -1, 1);
    double *own = z->g.owned[z->g.n_owned - 1];
    for (int64_t k = 0; values && k < rows * cols; k++)
        own[k] = (double)values[k];
}

static inline void zoo_give_integers(zoo_t *z, const char *name, int64_t count, const int64_t *values)
{
    int64_t *own = golden_own(&z->g, sizeof *own * (size_t)count);
    memcpy(own, values, sizeof *own * (size_t)count);
    zoo_put(z, name,
            (gnn_array_t){
                .dtype = GNN_DTYPE_INT64, .ndim = 1, .shape = {count}, .count = count, .data = own});
}

/* A hyperparameter, integer or real. */
static inline void zoo_set(zoo_t *z, const char *name, double value)
{
    zoo_give(z, name, 1, 1, NULL);
    *(double *)z->g.owned[z->g.n_owned - 1] = value;
}

/* The model of the steps so far, z->model, and its inputs. An array that is given and not read is
 * an error: its name is not one of the entry's. */
static inline void zoo_program_build(zoo_t *z)
{
    ck_ok(gnn_model_build(&z->model, z->g.context, z->steps));
    zoo_add_inputs(z);
    for (int k = 0; k < z->g.n_given; k++)
        zoo_must(z->g.read[k], "array \"%s\" is given, but the entry reads none of that name",
                 z->g.names[k]);
}

/* Builds the model in the first call, and puts it on the tape: the variable of the last step. */
static inline gnn_var_t zoo_program_record(zoo_t *z)
{
    if (!z->model)
        zoo_program_build(z);
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    for (int k = 0; k < z->n_graphs; k++)
        ck_ok(gnn_model_prepare(z->model, k, z->graphs[k], GNN_ON));
    for (int k = 0; k < z->n_values; k++)
        z->values[k].wants_grad = z->values[k].dense != NULL;
    if (!z->tape)
        ck_ok(gnn_tape_new(&z->tape, z->g.context));
    gnn_parameters_zero_gradients(gnn_model_parameters(z->model));
    gnn_tape_reset(z->tape, 1, 0);
    const gnn_var_t y = gnn_model_record(z->model, z->tape, &inputs, z->vars);
    gnn_tape_keep(z->tape, y);
    return y;
}

/* The value of the last step with the parameters as they are, valid until the next run, and the
 * gradients of its sum: those of parameters by gnn_model_field(z->model, "STEP.FIELD", ...), that
 * of input k, z->values[k], by gnn_tape_gradient(z->tape, z->vars[k]). */
static inline gnn_tensor_t zoo_program_run(zoo_t *z)
{
    const gnn_var_t y = zoo_program_record(z);
    ck_ok(gnn_tape_forward(z->tape));
    ck_ok(gnn_tape_backward(z->tape, y, NULL));
    return gnn_tape_value(z->tape, y);
}

/* One training step: the loss of the output, its gradients, a step of the optimiser. Returns the
 * loss before the step. */
static inline double zoo_program_step(zoo_t *z, const gnn_loss_t *loss, gnn_optimizer_t *optimizer)
{
    const gnn_var_t y = zoo_program_record(z), l = gnn_tape_loss(z->tape, y, loss);
    ck_ok(gnn_tape_forward(z->tape));
    ck_ok(gnn_tape_backward(z->tape, l, NULL));
    ck_ok(gnn_optimizer_step(optimizer, 1));
    return (double)gnn_tape_value(z->tape, l).data[0];
}

static inline void zoo_program_close(zoo_t *z)
{
    gnn_tape_free(z->tape);
    gnn_model_free(z->model);
    gnn_steps_free(z->steps);
    for (int k = 0; k < z->n_graphs; k++)
        gnn_graph_free(z->graphs[k]);
    gnn_context_free(z->g.context);
    for (int k = 0; k < z->g.n_owned; k++)
        free(z->g.owned[k]);
    free(z->g.owned);
}

#endif
