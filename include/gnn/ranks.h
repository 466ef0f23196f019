/**
 * Ranks: one graph on several processes or machines. Each rank owns consecutive rows of the
 * graph; a transport moves rows between them. A program differs from the one for a
 * single process in three lines (here with MPI, <gnn/mpi.h>):
 *
 *     gnn_transport_t *transport;
 *     GNN_TRY(gnn_transport_mpi(&transport));
 *     GNN_TRY(gnn_context_set_ranks(context, transport));
 *     ... gnn_train, gnn_evaluate, gnn_predict as before, on every rank ...
 *     gnn_transport_free(transport);   (after the context)
 *
 * Rows are owned in slices of 512, and every sum over rows is taken slice by slice in one fixed
 * order, so weights have the same bits for any count of ranks and threads (docs/ranks.md).
 *
 * All ranks call the same functions with the same arguments in the same order. An error on one rank
 * ends the call on all ranks with that error.
 */
#ifndef GNN_RANKS_H
#define GNN_RANKS_H

#include <gnn/context.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of a slice: ranks and parts own whole slices, of which the last may be shorter. */
#define GNN_SLICE 512

/** A block of memory to send, or to receive into. */
typedef struct gnn_bytes {
    void *data;
    size_t size; /**< 0: no message */
} gnn_bytes_t;

/** A way to move bytes between ranks; a program may implement its own. Counters are those of this
 * rank, without messages to itself. */
typedef struct gnn_transport {
    const char *name; /**< for messages: "threads", "mpi" */
    int rank;         /**< of this process, 0 to ranks - 1 */
    int ranks;        /**< count of ranks, at least 1 */
    /** Sends send[r] to rank r and receives receive[r] from it, for all r, itself included; returns
     * when both are complete. All ranks call it in the same order, and sizes of the two sides
     * agree. An error is final: no call follows it. */
    int (*exchange)(struct gnn_transport *transport, const gnn_bytes_t *send,
                    const gnn_bytes_t *receive);
    /** Starts such an exchange and returns at once; `send`, `receive` and their memory are left
     * alone until `finish`. Exchanges may follow before it. NULL: rows are computed after they have
     * arrived. */
    int (*start)(struct gnn_transport *transport, const gnn_bytes_t *send,
                 const gnn_bytes_t *receive);
    /** Moves started messages on, without waiting; NULL: they move by themselves. */
    int (*advance)(struct gnn_transport *transport);
    /** Returns when all started exchanges are complete; set where `start` is. */
    int (*finish)(struct gnn_transport *transport);
    /** Releases the transport; called by gnn_transport_free. */
    void (*release)(struct gnn_transport *transport);
    void *user;       /**< of the implementation */
    int64_t bytes;    /**< counter: bytes sent to other ranks */
    int64_t messages; /**< counter: messages sent to other ranks */
    /** Counter: rows of aggregations that need no other rank's, computed between `start` and
     * `finish`. */
    int64_t early_rows;
} gnn_transport_t;

/**
 * Transports of ranks that are threads of this process, for tests and simulations: rank r uses
 * transports[r], with a context, a model and a data set of its own. A training run with one rank
 * has the same bits as with any other count.
 *
 * @param[out] transports  (ranks) each for gnn_transport_free, after all threads have ended
 * @param[in]  ranks       1 to 1024
 * @param[in]  delays      0: none; otherwise the seed of random delays of up to a millisecond
 *                         before each exchange, and of a random order of its messages
 * @return GNN_OK; GNN_EINVALID for another count; GNN_EMEMORY
 */
GNN_API int gnn_transport_threads(gnn_transport_t **transports, int ranks, uint64_t delays);
/** Frees a transport; may be NULL. The contexts that use it are freed first. */
GNN_API void gnn_transport_free(gnn_transport_t *transport);

/**
 * Runs gnn_train, gnn_evaluate, gnn_evaluate_targets, gnn_predict and gnn_predict_layers of this
 * context over the ranks of the transport: each rank computes its own rows, of a set that all ranks
 * hold or of its own (gnn_data_open_rank). With samples it computes some of the batches of each
 * step (gnn_train_config_t.accumulate). Dense products are those of a deterministic context. What
 * is not supported over ranks returns GNN_EUNSUPPORTED and names it.
 *
 * @param[in] context    borrows the transport until it is freed
 * @param[in] transport  NULL: none, calls run in this process alone
 * @return GNN_OK; GNN_EINVALID for a transport without ranks or functions; GNN_EMEMORY
 */
GNN_API int gnn_context_set_ranks(gnn_context_t *context, gnn_transport_t *transport);

/**
 * Compares error codes of ranks, for work of a program outside of the library: all return
 * the code and message of the lowest rank that has one, `rank 2: ...` on the others. A rank with an
 * error also ends others that are in another call.
 *
 * @param[in] context  without ranks the code is returned unchanged
 * @param[in] code     this rank's; the message is the last one of the library
 * @return GNN_OK if all ranks pass it; an error's code; GNN_EINVALID: a rank is in another call
 */
GNN_API int gnn_ranks_agree(gnn_context_t *context, int code);
/**
 * Adds up values over ranks, in their order.
 *
 * @param[in] context     without ranks values are unchanged
 * @param[in] count       of the values, the same on all ranks; from 0
 * @param[in,out] values  (count) this rank's; afterwards the sums, on all ranks
 * @return GNN_OK; GNN_EINVALID: counts differ, or a rank is in another call; GNN_EMEMORY
 */
GNN_API int gnn_ranks_sum(gnn_context_t *context, int64_t count, double *values);

#ifdef __cplusplus
}
#endif
#endif
