/* Systems and batches of bench/tasks. */
#ifndef GNN_BENCH_TASKS_H
#define GNN_BENCH_TASKS_H

#include <gnn/gnn.h>
#include <gnn/model.h>
#include <gnn/op.h>
#include <gnn/tape.h>
#include <gnn/train.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST_SEQUENCES = 256, SEEDS = 3, ROWS = 8192, WIDTH = 40, GRAPHS = 3 };

/* One batch: rows with features, or token ids; one label per output row, -1: none. */
typedef struct {
    gnn_real_t x[ROWS * WIDTH];
    int32_t words[ROWS], labels[ROWS];
    int64_t lengths[MOST_SEQUENCES], sequences, rows, cols; /* cols 0: token ids */
    gnn_real_t start[MOST_SEQUENCES * WIDTH];               /* input "start", a row per sequence */
    int64_t start_cols;                                     /* 0: there is none */
    int64_t src[ROWS], dst[ROWS], edges;                    /* of trees */
    gnn_real_t places[ROWS];                                /* input "places", of these edges */
} batch_t;

typedef struct {
    const char *task, *system;
    void (*draw)(batch_t *b, uint64_t *seed);
    int (*build)(gnn_steps_t *steps, int64_t cols);
    int64_t steps;
    double lr;
    int fresh; /* batches of a measurement, four times as many at the end; 0: one */
    /* Graphs of the slots; NULL: causal on slot 0. */
    int (*graphs)(const batch_t *b, gnn_graph_t *graphs[GRAPHS]);
} system_t;

/* Ended by an entry without a task. */
extern const system_t tasks_of_trees[], tasks_of_rounds[];

static inline int64_t below(uint64_t *seed, int64_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*seed >> 33) % (uint64_t)most);
}

/* Errors of gnn_steps_add are those of gnn_model_build. */
#define ADD_STEP(KIND, NAME, ...) \
    (void)gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_##KIND, .name = NAME, __VA_ARGS__})
#define LINEAR(NAME, X, IN, OUT) ADD_STEP(LINEAR, NAME, .inputs = {X}, .in = IN, .out = OUT)
#define ACTIVATION(NAME, X, F) ADD_STEP(ACTIVATION, NAME, .inputs = {X}, .activation = GNN_##F)
#define COLUMNS(NAME, X, FROM, COUNT) \
    ADD_STEP(VIEW, NAME, .inputs = {X}, .column = FROM, .columns = COUNT)
#define CONCAT(NAME, ...) ADD_STEP(CONCAT, NAME, .inputs = {__VA_ARGS__})
#define ADD(NAME, X, Y) ADD_STEP(ADD, NAME, .inputs = {X, Y})
#define SUBTRACT(NAME, X, Y) ADD_STEP(ADD, NAME, .inputs = {X, Y}, .factor = -1)
#define MULTIPLY(NAME, X, Y) ADD_STEP(MULTIPLY, NAME, .inputs = {X, Y})
#define SCALE(NAME, X, BY) ADD_STEP(SCALE, NAME, .inputs = {X}, .factor = BY)
#define OP(NAME, F, X, ...) \
    ADD_STEP(OP, NAME, .op = &gnn_op_##F, .inputs = {X}, .options = {__VA_ARGS__})

#endif
