/* Ranks inside of the library: the rows that this rank owns, collective calls that agree on errors,
 * and sums over slices of rows whose order does not depend on the count of ranks. */
#ifndef GNN_LIB_BASE_RANKS_H
#define GNN_LIB_BASE_RANKS_H

#include <gnn/ranks.h>
#include <lib/base/base.h>

/* The weight of a node where slices are dealt to ranks by weight, in edges. */
enum { GNN__NODE_COST = 16 };

/* Exchanges that may travel at a time. */
enum { GNN__FLIGHTS = 16 };

/* An exchange of rows that travels while the rank computes. */
typedef struct gnn__flight {
    gnn_bytes_t *messages; /* (2 ranks): what is sent, what is received */
    char *sent, *taken;    /* packed rows; grow only */
    int64_t sent_room, taken_room;
    /* where the `rows` packed rows of `taken` go, `bytes` each at distances of `stride`; rows 0:
     * they arrive in place */
    char *to;
    int64_t rows;
    size_t stride, bytes;
    /* `n_kept` rows of `to`, packed, once they have arrived; NULL: not wanted */
    char *kept;
    int64_t n_kept;
} gnn__flight_t;

typedef struct gnn__ranks {
    gnn_transport_t *transport;
    bool ended;        /* an error is known to all ranks: no collective call follows */
    bool broken;       /* a rank has left, or the transport failed: no call follows at all */
    bool failed;       /* the transport did */
    bool split;        /* rows of the running call are split; the fields below are set */
    bool own_call;     /* the running op reads rows of this rank's nodes */
    int64_t n, lo, hi; /* rows of all ranks, and those of this one */
    /* the caller's: tensors, sparse matrices and lists of ids with rows of this rank's nodes */
    const void *const *own;
    int64_t n_own;
    int64_t *book;         /* (ranks + 1): first row of each rank, and n; multiples of GNN_SLICE */
    gnn_bytes_t *messages; /* (2 ranks) */
    /* grows only: blocks of sums, packed rows */
    double *sums;
    char *packed;
    gnn_real_t *partial; /* gradients of one slice */
    int64_t sums_room, packed_room, partial_room;
    gnn__flight_t flights[GNN__FLIGHTS];
    int n_flights; /* that travel: the first ones */
    int depth;     /* calls that run: a callback of one may make another */
    /* what later calls on the same set use again, until a call fails; NULL: nothing */
    void *kept;
    void (*release_kept)(void *kept);
} gnn__ranks_t;

/* The rows of the call in which another begins. */
typedef struct gnn__ranks_outer {
    bool split, own_call;
    int64_t n, lo, hi, n_own;
    const void *const *own;
    int64_t *book; /* NULL: that of the context stays */
} gnn__ranks_outer_t;

/* The ranks of a context whose running call is split by rows; NULL: there are none. */
static inline gnn__ranks_t *gnn__ranks_split(const gnn_context_t *context)
{
    return context->ranks && context->ranks->split ? context->ranks : NULL;
}

/* The same in an op that makes collective calls of its own; NULL also where it reads no rows of
 * nodes, and all ranks compute the same. */
static inline gnn__ranks_t *gnn__ranks_of_call(const gnn_context_t *context)
{
    gnn__ranks_t *ranks = gnn__ranks_split(context);
    return ranks && ranks->own_call ? ranks : NULL;
}

/* Slices of this rank, and the index of the first. */
static inline int64_t gnn__slices(const gnn__ranks_t *ranks)
{
    return (ranks->hi - ranks->lo + GNN_SLICE - 1) / GNN_SLICE;
}
static inline int64_t gnn__first_slice(const gnn__ranks_t *ranks)
{
    return ranks->lo / GNN_SLICE;
}
/* Rows of slice k of this rank: from k * GNN_SLICE on, counted from its first row. */
static inline int64_t gnn__slice_rows(const gnn__ranks_t *ranks, int64_t k)
{
    return gnn__min(ranks->hi - ranks->lo - k * GNN_SLICE, GNN_SLICE);
}

/* True for an input that has rows of this rank's nodes; others are the same on all ranks. */
static inline bool gnn__ranks_owns(const gnn__ranks_t *ranks, const void *input)
{
    bool owns = false;
    for (int64_t k = 0; k < ranks->n_own; k++)
        owns |= ranks->own[k] == input;
    return owns;
}

void gnn__ranks_free(gnn__ranks_t *ranks);
/* Begins and ends a call that all ranks make; without ranks they do nothing. The end follows an
 * error of the beginning too; it returns, on all ranks, the error of the lowest that has one. */
int gnn__ranks_open(const gnn_context_t *context, gnn__ranks_outer_t *outer);
int gnn__ranks_close(const gnn_context_t *context, gnn__ranks_outer_t *outer, int rc);
/* Keeps it in place of what is kept; NULL: nothing. */
void gnn__ranks_keep(gnn__ranks_t *ranks, void *kept, void (*release)(void *kept));
/* Splits n rows by weight, which is their degree and GNN__NODE_COST. */
int gnn__ranks_split_rows(gnn__ranks_t *ranks, int64_t n, const int64_t *degree);
/* Splits n rows by a given book (ranks + 1). */
void gnn__ranks_take_book(gnn__ranks_t *ranks, int64_t n, const int64_t *book);
/* book (ranks + 1) = the first row of each rank, and n. before[s] is the weight of all rows before
 * slice s, up to the count of slices. The border of two ranks is before or after the slice that
 * crosses the share, whichever is nearer. */
void gnn__slice_book(int64_t n, int64_t ranks, const int64_t *before, int64_t *book);

/* ---- collective calls: all ranks make them in the same order ---- */

/* Moves send[r] to rank r. Before, ranks compare the names of their calls: an error of a rank that
 * has ended reaches the others here. */
int gnn__ranks_exchange(gnn__ranks_t *ranks, const char *call, const gnn_bytes_t *send,
                        const gnn_bytes_t *receive);
/* *flight = the next exchange, whose rows and messages the caller sets. */
int gnn__ranks_flight(gnn__ranks_t *ranks, gnn__flight_t **flight);
/* Starts it. Its rows may be read after gnn__ranks_arrive; other collective calls may come before.
 * */
int gnn__ranks_start(gnn__ranks_t *ranks, const char *call, gnn__flight_t *flight);
/* Returns when all that travels has arrived. No collective call: it may be made at any time. */
int gnn__ranks_arrive(gnn__ranks_t *ranks);
/* Moves on what travels, without waiting. */
int gnn__ranks_advance(gnn__ranks_t *ranks);
/* all = the blocks of all ranks, one after another: counts[r] elements of `bytes` bytes of rank r;
 * counts NULL: one each. */
int gnn__ranks_gather(gnn__ranks_t *ranks, const void *own, const size_t *counts, size_t bytes,
                      void *all);
/* *value = its sum over all ranks. */
int gnn__ranks_total(gnn__ranks_t *ranks, int64_t *value);
/* GNN_EINVALID, naming `what`, unless all ranks pass the same value. */
int gnn__ranks_same(gnn__ranks_t *ranks, const char *what, uint64_t value);
/* The rc of rank 0, on all ranks: work that one rank does for all. */
int gnn__ranks_share(gnn__ranks_t *ranks, int rc);
/* Rows of `bytes` bytes of all ranks in order: `own` (hi - lo rows) to `all` (n rows). */
int gnn__ranks_rows(gnn__ranks_t *ranks, const void *own, size_t bytes, void *all);
/* *packed = a buffer of `bytes` bytes, valid until the next call. */
int gnn__ranks_packed(gnn__ranks_t *ranks, size_t bytes, char **packed);

/* ---- sums over slices ----
 *
 * Slices are the leaves of a binary tree whose nodes add left and right child. A rank adds up the
 * nodes that lie within its own slices, at most two per level; the rest is added after a gather, on
 * every rank alike. */

typedef struct gnn__slice_sums {
    gnn__ranks_t *ranks;
    int64_t count; /* values of a block */
    int depth;
    struct {
        int64_t level, index;
    } at[128];
} gnn__slice_sums_t;

gnn__slice_sums_t gnn__slice_sums(gnn__ranks_t *ranks, int64_t count);
/* *block = zeros for the next slice, to be filled before gnn__slice_sums_add(sums). */
int gnn__slice_sums_next(gnn__slice_sums_t *sums, double **block);
void gnn__slice_sums_add(gnn__slice_sums_t *sums, int64_t slice);
/* *total = the sum of all slices of all ranks; valid until the next sum. */
int gnn__slice_sums_end(gnn__slice_sums_t *sums, const double **total);

#endif
