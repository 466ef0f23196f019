/* The graph of one rank: its own rows, and the rows of other ranks that share an edge with them. */
#ifndef GNN_GRAPHS_HALO_H
#define GNN_GRAPHS_HALO_H

#include <graphs/graph.h>
#include <lib/base/ranks.h>

/* An input of a call, whose rows do not change while it runs: they are pulled once. */
typedef struct gnn__halo_input {
    gnn_tensor_t own; /* its own rows */
    gnn_real_t *rows; /* (n_wide - n_own, own.cols) the halo's; NULL: not pulled yet */
} gnn__halo_input_t;

/* A rank's part of a graph, whose receivers are its senders, made of the edges of own receivers:
 *
 *     own     the graph that models run on: rows lo .. hi - 1, without edges
 *     wide    own rows, then halo rows in ascending order; parts have the edges of own receivers,
 *             transposed parts those of own senders, in the order of the whole graph; rows of the
 *             halo are empty. Degrees and norms are those of the whole graph, edge ids too.
 *
 * With the rows of the halo pulled from their owners, each sum over senders (forward) and over
 * receivers (backward) is complete at the owner of its row. */
typedef struct gnn__halo {
    gnn__ranks_t *ranks;
    const gnn_graph_t *rows; /* borrowed: the whole graph, or own receivers with all senders */
    bool whole;              /* it is the whole graph on each rank */
    int64_t first;           /* the row of `rows` that is own row 0 */
    int64_t n_edges;         /* edge ids of the whole graph */
    int64_t first_edge;      /* the id of edge 0 of `rows` */
    int64_t pairs;           /* edges of all ranks */
    int64_t *edges_of;       /* (ranks) edge ids that each rank's `rows` has */
    gnn_graph_t *wide;
    int64_t n_own, n_wide;
    int32_t *nodes; /* (n_wide) of the whole graph */
    int32_t *place; /* (nodes of the whole graph) row in wide; -1: neither own nor halo */
    /* own rows that rank r pulls: give[give_at[r]] ..; the halo's of rank r: n_own + take_at[r] */
    int32_t *give;
    int64_t *give_at, *take_at; /* (ranks + 1) */
    gnn_bytes_t *messages;      /* (2 ranks) */
    gnn__halo_input_t *inputs;  /* (n_inputs) */
    int64_t n_inputs;
} gnn__halo_t;

/* *own = the graph of this rank, which frees the halo. `rows` is borrowed: the whole graph, or own
 * receivers with the senders of all. Only edges of own receivers are read; those of own senders
 * come from the owners of their receivers. A collective call. GNN_EUNSUPPORTED for spans and
 * segments. */
int gnn__halo_new(gnn_graph_t **own, const gnn_graph_t *rows, gnn__ranks_t *ranks);
/* The graphs of a rank for those of a set. Calls on the same set share them: the ranks keep those
 * of the last one. */
typedef struct gnn__halos {
    int users; /* the ranks, and the calls that read them */
    uint64_t identity;
    int64_t *book;            /* (ranks + 1) */
    int count;                /* of both lists */
    const gnn_graph_t **rows; /* borrowed; compared, and read where `identity` has been */
    gnn_graph_t **own;
} gnn__halos_t;

/* *halos = those of `count` graphs, for gnn__halos_release. `identity` is a hash of the set that
 * has them. A collective call: they are made anew unless all ranks have kept them. */
int gnn__halos_of(gnn__halos_t **halos, int count, gnn_graph_t *const *rows, uint64_t identity,
                  gnn__ranks_t *ranks);
void gnn__halos_release(gnn__halos_t *halos);
/* Fills the rows of the halo, `bytes` each at distances of `stride` bytes, from their owners' own
 * rows of the same matrix. A collective call. */
int gnn__halo_pull(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes);
/* The same, but rows of the halo are complete after gnn__ranks_arrive alone; until then own rows
 * may be read and the memory stays. A collective call. */
int gnn__halo_start(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes);
/* The inputs of the call that begins, `count` matrices of own rows; count 0: those of the last call
 * are forgotten. */
int gnn__halo_set_inputs(gnn__halo_t *halo, const gnn_tensor_t *const *inputs, int64_t count);
/* gnn__halo_start for a copy of `own` in the first rows of `wide`. The halo's rows of an input are
 * pulled the first time alone, and later copied. A collective call the first time. */
int gnn__halo_start_rows(gnn__halo_t *halo, const gnn_tensor_t *own, const gnn_tensor_t *wide);
/* Rows of edges (n_edges or more), of which this rank has those of its receivers: afterwards all
 * ranks have all. A collective call. */
int gnn__halo_gather_edges(gnn__halo_t *halo, const gnn_tensor_t *rows);

#endif
