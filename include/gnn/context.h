/**
 * A context: threads, determinism, precision, allocator and workspace of one thread of the caller's
 * program. There are no global settings. Models, layers and graphs are read-only during inference
 * and may be shared; a context may not: one per thread.
 *
 * Threads are OpenMP's. They start with the first run, which fails with GNN_EMEMORY where the
 * system has no memory for them (builds by gcc; clang's libomp may end the program). A fork takes
 * none of them along: in a child, contexts of the thread that forked work with one thread.
 *
 * A signal handler that may interrupt a call is installed with SA_ONSTACK and has a sigaltstack
 * (examples/programs/program.c): while oneDNN multiplies, a handler on the usual stack can spoil
 * the heap.
 *
 * Kernels compute lanes whose results are not used, and exponentials of numbers out of range: a
 * program that traps floating-point exceptions (feenableexcept) switches this off around calls.
 */
#ifndef GNN_CONTEXT_H
#define GNN_CONTEXT_H

#include <gnn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Threads, seed, precision and workspace of the calls that one thread makes. */
typedef struct gnn_context gnn_context_t;

/** Zero always means "the default"; a flag that is meant to be off says GNN_OFF. */
typedef enum { GNN_FLAG_DEFAULT = 0, GNN_ON = 1, GNN_OFF = 2 } gnn_flag_t;

/** A number that is meant to be zero where 0 would mean "the default". Any value whose magnitude is
 * below 1e-30 counts as it. */
#define GNN_ZERO ((gnn_real_t)1e-37f)

/**
 * How dense products compute, under the names of torch.set_float32_matmul_precision. Inputs,
 * outputs and sums are fp32 at every level; the error is the largest one over the largest number of
 * the result, measured against double on numbers from -1 to 1, inner widths of 64 to 1536.
 *
 *   highest  1e-6    fp32 (the default)
 *   high     5e-6    each operand is the sum of two bf16 numbers, three products; faster with AMX
 *   medium   2.5e-3  both operands are rounded to bf16; faster with AVX-512 bf16 or AMX
 *
 * Attention on spans has the same levels: `high` and `medium` with AMX, `medium` also where AVX-512
 * multiplies bf16 at twice the rate of fp32 (AMD since Zen 4); elsewhere its products are fp32.
 * Scores, weights and sums are always fp32. Its outputs and gradients are then off by up to 1e-5
 * and 4e-3.
 *
 * `high` and `medium` need oneDNN (-Donednn). Products too small to gain stay in fp32. An infinity
 * may turn into NaN at `high`.
 */
typedef enum {
    GNN_PRECISION_DEFAULT = 0,
    GNN_PRECISION_HIGHEST,
    GNN_PRECISION_HIGH,
    GNN_PRECISION_MEDIUM
} gnn_precision_t;

/** Where memory comes from. `allocate` returns memory aligned to `alignment` (a power of two) or
 * NULL. Both may be called from the context's own thread only. */
typedef struct gnn_allocator {
    void *(*allocate)(void *user, size_t alignment, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} gnn_allocator_t;

/** Settings of a context; zero means the default in every field. */
typedef struct gnn_context_config {
    /** 0: as many as the process may use: OMP_NUM_THREADS, but no more than the processors that it
     * may run on (taskset, cpusets) and that its control groups' quotas grant. On a machine that is
     * busy with other work fewer are faster: threads wait for the slowest (docs/install.md) */
    int threads;
    /** ON: the same bits with any number of threads, dense products included [off]. Off: on a
     * machine that is busy with other work dense products of tapes may use fewer threads, and
     * differ in their last bits from those of an idle one */
    gnn_flag_t deterministic;
    /** of dense products; a level that this processor (or a deterministic context) cannot speed up
     * runs at `highest` */
    gnn_precision_t precision;
    uint64_t seed;             /**< of initial weights and dropout; 0 is a seed like any other */
    gnn_allocator_t allocator; /**< zero: the C library's */
} gnn_context_config_t;

GNN_API int gnn_context_new_sized(gnn_context_t **context, const gnn_context_config_t *config,
                                  size_t size);
/** Makes a context. A child of fork() computes with one thread in all of its contexts, since the
 *  threads of its parent are not its own. Errors: GNN_EINVALID (threads < 0 or > 1024),
 *  GNN_EMEMORY.
 *
 *  @param[out] context  the caller's, for gnn_context_free
 *  @param[in] config    NULL: all defaults */
static inline int gnn_context_new(gnn_context_t **context, const gnn_context_config_t *config)
{
    return gnn_context_new_sized(context, config, sizeof *config);
}
/** Frees the context and its workspace; NULL is fine. Layers and models that were made with it may
 * outlive it, since each call on them is given a context. Functions whose objects borrow it until
 * they are freed say so: tapes, optimisers, batches. */
GNN_API void gnn_context_free(gnn_context_t *context);

/** How many threads calls with this context use. */
GNN_API int gnn_context_threads(const gnn_context_t *context);
/** The seed that weights and dropout are drawn from. */
GNN_API uint64_t gnn_context_seed(const gnn_context_t *context);
/** Sets the seed of everything drawn from now on (weights of new models, dropout). */
GNN_API void gnn_context_set_seed(gnn_context_t *context, uint64_t seed);
/** The level that products really run at on this processor. */
GNN_API gnn_precision_t gnn_context_precision_used(const gnn_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
