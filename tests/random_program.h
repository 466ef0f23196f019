/* Random programs of a tape's ops, for test_programs.c: lines that read leaves and earlier
 * lines. */
#ifndef GNN_TESTS_RANDOM_PROGRAM_H
#define GNN_TESTS_RANDOM_PROGRAM_H

#include "support.h"

enum { NODES = 23, EDGES = 60, WIDTH = 6, TWICE = 2 * WIDTH, HEADS = 2, LEAVES = 10, MOST = 40 };

/* LEAF is what a program reads, the others what it computes. */
typedef enum {
    LEAF,
    LINEAR,
    WINDOW,
    ROW,
    ADD,
    ADD_ROW,
    ADD_SCALED,
    ACTIVATE,
    BIASED,
    DROP,
    NORM,
    ADD_NORM,
    CONCAT,
    GATHER,
    HEAD_DOT,
    HEAD_MEAN,
    AGGREGATE,
    ATTEND,
    KINDS
} kind_t;

typedef struct {
    kind_t kind;
    int in[3]; /* earlier lines, -1 */
    int n_in;
    int64_t rows, cols;
    int choice;       /* which activation, norm, aggregator or first column */
    int graph;        /* 0: edges, 1: spans */
    gnn_real_t alpha; /* of a sum; rate of a dropout */
    bool wants, kept, bound;
} line_t;

typedef struct {
    int count;
    line_t lines[MOST];
} program_t;

/* x, u and z are inputs, without a gradient for u; the others are parameters. */
typedef struct {
    int64_t rows, cols;
    bool parameter, wants;
} leaf_t;
extern const leaf_t leaf_shapes[LEAVES];

/* It is a view of another value. */
static inline bool is_part(const line_t *line)
{
    return line->kind == WINDOW || line->kind == ROW;
}

/* Of a window of WIDTH of twice as many columns: a half, or between both. */
static inline int64_t first_column(const line_t *line)
{
    static const int64_t columns[] = {0, WIDTH, WIDTH / 2};
    return columns[line->choice % 3];
}

/* Ends with an op that depends on what wants a gradient, and is kept. */
program_t random_program(uint64_t seed);
const char *kind_name(kind_t kind);
/* Prints its lines, but for the leaves. */
void show_program(const program_t *p);

#endif
