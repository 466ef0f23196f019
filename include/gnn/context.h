/**
 * A context: threads, determinism, precision, allocator and workspace of one thread of the caller's
 * program. There are no global settings. Models, layers and graphs are read-only during inference
 * and may be shared; a context may not: one per thread.
 *
 * Threads are OpenMP's. They start with the first run, which fails with GNN_EMEMORY if they cannot
 * be created (builds by gcc; clang's libomp may end the program). fork() does not copy them: in the
 * child, contexts of the forking thread use one thread.
 *
 * A signal handler that may interrupt a call is installed with SA_ONSTACK and has a sigaltstack
 * (examples/programs/program.c): during a product of oneDNN, a handler on the normal stack can
 * corrupt the heap.
 *
 * Kernels compute SIMD lanes whose results are discarded, and exponentials of values out of range:
 * a program that traps floating-point exceptions (feenableexcept) must disable the traps around
 * calls.
 */
#ifndef GNN_CONTEXT_H
#define GNN_CONTEXT_H

#include <gnn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Threads, seed, precision and workspace of the calls that one thread makes. */
typedef struct gnn_context gnn_context_t;

/** A flag of a config. Zero is the default of the field; GNN_OFF turns it off. */
typedef enum { GNN_FLAG_DEFAULT = 0, GNN_ON = 1, GNN_OFF = 2 } gnn_flag_t;

/** Zero, for fields in which 0 means "the default". Any value with a magnitude below 1e-30 is taken
 * for it. */
#define GNN_ZERO ((gnn_real_t)1e-37f)

/**
 * Precision of dense products, with the names of torch.set_float32_matmul_precision. Inputs,
 * outputs and sums are fp32 at every level; the error is the largest absolute error over the
 * largest element of the result, measured against double with elements in [-1, 1] and inner widths
 * of 64 to 1536.
 *
 *   highest 1e-6 fp32 (the default) high 5e-6 each operand is split into a sum of two bf16 values,
 *   three products; faster with AMX medium 2.5e-3 both operands are rounded to bf16; faster with
 *   AVX-512 bf16 or AMX
 *
 * Attention on spans has the same levels: `high` and `medium` with AMX, `medium` also where AVX-512
 * multiplies bf16 at twice the rate of fp32 (AMD since Zen 4); elsewhere its products are fp32.
 * Scores, weights and sums are always fp32. Errors of outputs and gradients are up to 1e-5 at
 * `high` and 4e-3 at `medium`.
 *
 * `high` and `medium` need oneDNN (-Donednn). Products that are too small to gain stay in fp32. An
 * infinity may become NaN at `high`.
 */
typedef enum {
    GNN_PRECISION_DEFAULT = 0,
    GNN_PRECISION_HIGHEST,
    GNN_PRECISION_HIGH,
    GNN_PRECISION_MEDIUM
} gnn_precision_t;

/** An allocator. `allocate` returns memory aligned to `alignment` (a power of two) or NULL. Both
 * functions are called from the context's own thread only. */
typedef struct gnn_allocator {
    void *(*allocate)(void *user, size_t alignment, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} gnn_allocator_t;

/** Settings of a context; zero means the default in every field. */
typedef struct gnn_context_config {
    /** thread count; 0: OMP_NUM_THREADS or the processor count, limited by the affinity mask
     * (taskset, cpusets) and the quotas of control groups. On a machine that is busy with other
     * work fewer threads are faster, since all wait for the slowest one (docs/install.md) */
    int threads;
    /** ON: the same bits with any thread count, dense products included [off]. OFF: on a machine
     * that is busy with other work, dense products on tapes may use fewer threads, and the last
     * bits of their results may differ */
    gnn_flag_t deterministic;
    /** of dense products; a level that is not faster on this processor (or in a deterministic
     * context) runs as `highest` */
    gnn_precision_t precision;
    uint64_t seed;             /**< of initial weights and dropout; 0 is a seed like any other */
    gnn_allocator_t allocator; /**< zero: the C library's */
} gnn_context_config_t;

/** Makes a context. In a child of fork() all contexts use one thread, since the worker threads
 *  exist in the parent only. Errors: GNN_EINVALID (a setting or an environment variable is outside
 *  its range), GNN_EMEMORY.
 *
 *  Environment: GNN_ISA=baseline|v3|v4|amx (on ARM neon for baseline), the best instruction set of
 *  the library's own kernels [that of the processor], read by the first context of a process;
 *  GNN_PROFILE=1, see gnn_profile_write [0].
 *
 *  @param[out] context  the caller's, for gnn_context_free
 *  @param[in] config    NULL: all defaults */
GNN_API int gnn_context_new(gnn_context_t **context, const gnn_context_config_t *config);
/** Frees the context and its workspace; may be NULL. Layers and models that were made with it may
 * outlive it, since each call on them takes a context. Objects that borrow it until they are freed
 * are documented as such: tapes, optimisers, batches. */
GNN_API void gnn_context_free(gnn_context_t *context);

/** The thread count of calls with this context. */
GNN_API int gnn_context_threads(const gnn_context_t *context);
/** The seed of initial weights and dropout. */
GNN_API uint64_t gnn_context_seed(const gnn_context_t *context);
/** Sets the seed of all later draws (weights of new models, dropout). */
GNN_API void gnn_context_set_seed(gnn_context_t *context, uint64_t seed);
/** The level at which products actually run on this processor. */
GNN_API gnn_precision_t gnn_context_precision_used(const gnn_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
