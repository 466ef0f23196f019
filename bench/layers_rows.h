/* The table of bench/layers.c: every layer and block, with the names of peers/layers.py. */
#ifndef BENCH_LAYERS_ROWS_H
#define BENCH_LAYERS_ROWS_H

#include <gnn/gnn.h>
#include <stdbool.h>

/* Columns of input and output; attention heads; columns of edge features. */
enum { WIDTH = 64, HEADS = 8, EDGE_WIDTH = 8 };

typedef struct {
    const char *name;
    /* One letter per graph slot: g the graph, e edges -> receivers, c complete per segment, r nodes
     * -> one row per segment, s nodes -> `rows` rows per segment, a complete among these, 0..3 the
     * edges of relation 0..3 (edge id modulo 4). */
    const char *slots;
    const char *block;    /* NULL: the layer below, or the step */
    gnn_block_t settings; /* .name and .theta (of pna) are set later; .layer without a block */
    gnn_step_t step;      /* without layer and block */
    int64_t edge_width;   /* of the input "edges" [EDGE_WIDTH] */
    bool (*prepend)(gnn_steps_t *steps); /* steps before the block; NULL: none */
} layers_row_t;

/* NULL: there is no such entry. */
const layers_row_t *layers_row_find(const char *name);
/* Entry k; NULL past the last. */
const layers_row_t *layers_row_at(size_t k);
/* Appends the entry's steps; `log_degree` is the mean of log(degree + 1) over the nodes. */
int layers_row_steps(const layers_row_t *row, double log_degree, gnn_steps_t *steps);

#endif
