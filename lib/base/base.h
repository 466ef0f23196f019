/* The foundation: errors, memory, checked sizes, arenas, random numbers, threads. Every file
 * includes it; it includes public headers only. */
#ifndef GNN_LIB_BASE_H
#define GNN_LIB_BASE_H

#include <gnn/context.h>
#include <gnn/op.h>
#include <gnn/tensor.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

/* Sets this thread's message; its value is `code`. A macro, so that the compiler sees that the
 * value is not 0. */
#define gnn__error(code, ...) (gnn__set_message(__VA_ARGS__), (code))
/* In public functions: GNN_EINVALID unless the pointer `argument` is given. */
#define GNN__NEED(argument) GNN__NEED_OR(argument, GNN_EINVALID)
/* The same in functions that return something else, `otherwise`; in void functions nothing. */
#define GNN__NEED_OR(argument, otherwise)                            \
    do {                                                             \
        if (!(argument)) {                                           \
            gnn__set_message("%s: %s is NULL", __func__, #argument); \
            return otherwise;                                        \
        }                                                            \
    } while (0)
/* In functions that return an error: a list of `count` elements, and one of indices. */
#define GNN__NEED_LIST(argument, count) GNN__NEED_ELEMENTS(argument, #argument, count)
#define GNN__NEED_INTS(argument, count) GNN__NEED_ELEMENTS((argument).data, #argument, count)
#define GNN__NEED_ELEMENTS(pointer, name, count)                               \
    do {                                                                       \
        if ((count) > 0 && !(pointer))                                         \
            return gnn__error(GNN_EINVALID, "%s: %s is NULL", __func__, name); \
    } while (0)
void gnn__set_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Puts "prefix: " before the current message and returns `code`. Places of the prefix, which colons
 * separate, are removed where the message names them already. */
int gnn__error_prefix(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends `name` to a list in `text`, after `between` unless it is the first; truncates. */
void gnn__append_name(char *text, size_t size, const char *between, const char *name);
/* GNN_ENOTFOUND: no WHAT is called "NAME"; there are: ... (the names of at(0), at(1), ... until
 * NULL). */
int gnn__unknown_name(const char *what, const char *name, const char *(*at)(size_t index));

/* In a function with `int rc` and a label `done`: jumps there on failure. */
#define GNN_CHECK(call)   \
    do {                  \
        rc = (call);      \
        if (rc != GNN_OK) \
            goto done;    \
    } while (0)

/* ---- checked size arithmetic: every size that comes from outside goes through these ---- */

/* False on overflow or for negative operands. *out may alias an operand. */
static inline bool gnn__mul(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}
static inline bool gnn__add(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}
/* Rounds up to a multiple of `to`, a power of two. */
static inline bool gnn__pad(int64_t a, int64_t to, int64_t *out)
{
    int64_t sum;
    if (!gnn__add(a, to - 1, &sum))
        return false;
    *out = sum & ~(to - 1);
    return true;
}
/* True if `cols` columns divide into `parts` equal parts. 0 columns divide into 1 part only, since
 * loops run over parts. */
static inline bool gnn__splits(int64_t cols, int64_t parts)
{
    return parts >= 1 && cols % parts == 0 && (cols > 0 || parts == 1);
}
/* Unchecked, for sizes that are known to fit. */
static inline int64_t gnn__round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}
static inline int64_t gnn__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t gnn__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
/* A setting of the caller's: 0 means the default, GNN_ZERO means 0. */
static inline double gnn__setting(gnn_real_t value, double initial)
{
    const double v = (double)value;
    if (v == 0)
        return initial;
    return v > -1e-30 && v < 1e-30 ? 0 : v;
}
/* Bytes of `count` elements; GNN_EOVERFLOW, naming `what`, if they overflow. */
int gnn__bytes(int64_t count, size_t element, const char *what, size_t *bytes);

/* ---- memory outside of arenas: graphs, descriptors, readers ---- */

/* *out = count elements, zeroed, 64-byte aligned if count * element >= 64; a valid pointer for
 * count 0. GNN_EMEMORY or GNN_EOVERFLOW, naming `what`. Released by gnn_free. The failing-allocator
 * tests count these calls. */
int gnn__new(void *out, int64_t count, size_t element, const char *what);
/* Not zeroed; aligned to cache lines, so that vectors of a row do not straddle them, and from 2 MB
 * up to huge pages. NULL without memory. */
void *gnn__aligned(size_t bytes);
/* Zeroes memory of gnn__aligned. Its whole pages are returned to the system, so that they take no
 * memory until they are written. */
void gnn__zero_pages(void *memory, size_t bytes);
/* Whether a part of such memory may be in huge pages. One that stays empty may not: the first byte
 * that is written next to it would take 2 MB. */
void gnn__huge_pages(void *memory, size_t bytes, bool may);
/* Grows *inout from `old` to `count` elements: contents are kept, new elements zeroed. On failure
 * *inout is unchanged. */
int gnn__grow(void *inout, int64_t old, int64_t count, size_t element, const char *what);
/* Makes room for `count` elements and an eighth more in *array, whose capacity is *room; contents
 * are lost. For memory that is reused. */
int gnn__reserve(void *array, int64_t *room, int64_t count, size_t element, const char *what);
int gnn__strdup(char **out, const char *text);
int gnn__asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
/* snprintf in the C locale: text that is compared must not depend on the program's locale.
 * GNN_EMEMORY. */
int gnn__snprintf_c(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tests: the n-th allocation from now (1, 2, ...) on this thread fails; 0: none. Returns the count
 * since the last call. Counts every allocation of the library on this thread, arenas included. */
int64_t gnn__fail_allocation(int64_t n);
/* Counts one allocation; true if the test wants it to fail. For wrappers of other allocators
 * only. */
bool gnn__allocation_fails(void);

/* ---- ints.c: arrays of indices of programs, int32 or int64 ---- */

/* Element k. */
static inline int64_t gnn__int(gnn_ints_t array, int64_t k)
{
    return array.type == GNN_DTYPE_INT64 ? ((const int64_t *)array.data)[k]
                                         : ((const int32_t *)array.data)[k];
}
/* GNN_EINVALID for another element type, or NULL for `count` > 0 values. The functions below take
 * checked arrays. */
int gnn__ints_check(const char *name, gnn_ints_t array, int64_t count);
void gnn__ints_copy_64(int64_t *to, gnn_ints_t from, int64_t count);
/* GNN_EOVERFLOW, naming the first value that does not fit, and its index. */
int gnn__ints_copy_32(const char *name, int32_t *to, gnn_ints_t from, int64_t count);
/* Checks, and sets *array to the caller's array if it has the type, otherwise to a copy *made,
 * which the caller frees; NULL stays NULL. */
int gnn__ints_64(const char *name, gnn_ints_t from, int64_t count, const int64_t **array,
                 int64_t **made);
int gnn__ints_32(const char *name, gnn_ints_t from, int64_t count, const int32_t **array,
                 int32_t **made);

/* ---- arenas ---- */

/* A 64-byte aligned block that only grows; growing loses the contents. Unused bytes are poisoned
 * under AddressSanitizer. */
typedef struct gnn__arena {
    char *base;
    size_t capacity, used;
    const gnn_allocator_t *allocator; /* NULL: that of the C library */
} gnn__arena_t;
int gnn__arena_reserve(gnn__arena_t *arena, size_t bytes, const char *what);
/* Bump allocation, 64-byte aligned; NULL if it does not fit: reserve first. */
void *gnn__arena_take(gnn__arena_t *arena, size_t bytes);
void gnn__arena_reset(gnn__arena_t *arena);
void gnn__arena_free(gnn__arena_t *arena);

/* Lays out a block in cache-line aligned pieces: the same function runs first without a base, to
 * compute the size, then with the block. */
typedef struct gnn__carve {
    char *base;
    int64_t used;
    bool overflow;
} gnn__carve_t;

static inline void *gnn__carve(gnn__carve_t *c, int64_t count, size_t element)
{
    int64_t bytes, at = c->used;
    if (!gnn__mul(count, (int64_t)element, &bytes) || !gnn__pad(bytes, 64, &bytes) ||
        !gnn__add(at, bytes, &c->used)) {
        c->overflow = true;
        c->used = at;
    }
    return c->base ? c->base + at : NULL;
}

/* (a x b x c) reals. */
static inline gnn_real_t *gnn__carve_cube(gnn__carve_t *carve, int64_t a, int64_t b, int64_t c)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(a, b, &count) || !gnn__mul(count, c, &count);
    return gnn__carve(carve, count, sizeof(gnn_real_t));
}

/* ---- random numbers: Philox 4x32, Salmon et al. 2011 ---- */

/* Ten rounds for weights and samples. Seven, the fewest that pass BigCrush in the paper, for
 * dropout, which draws per element and pair. */
enum { GNN__PHILOX_ROUNDS = 10, GNN__DROPOUT_ROUNDS = 7 };
void gnn__philox(const uint32_t counter[4], const uint32_t key[2], int rounds, uint32_t out[4]);
/* Uniform in [0, 1), and normal; pure functions of their arguments. */
double gnn__uniform(uint64_t seed, uint64_t stream, uint64_t counter);
double gnn__normal(uint64_t seed, uint64_t stream, uint64_t counter);
/* *hash goes on over the bytes: FNV-1a, from GNN__HASH_START on. */
#define GNN__HASH_START UINT64_C(0xcbf29ce484222325)
void gnn__hash_add(uint64_t *hash, const void *bytes, size_t count);
uint64_t gnn__hash_string(const char *text); /* of its characters, for streams keyed by names */

/* Dropout by 16-bit draws. The counter is (a, b, step, stream << 8 | block); a and b identify what
 * is dropped (row and column block; receiver and sender). A value is kept if its draw is below
 * `threshold`; the scale uses the rounded rate. */
typedef struct gnn__dropout {
    uint32_t key[2], step, stream;
    uint32_t row;       /* of the whole matrix that is row 0 of this one */
    uint32_t threshold; /* 0..65536; 65536: no dropout */
    gnn_real_t scale;   /* 65536 / threshold */
} gnn__dropout_t;
gnn__dropout_t gnn__dropout(gnn_rng_t rng, gnn_real_t rate);
/* Eight factors (0 or scale) for (a, b, block). Attention: a = receiver, b = sender, block = head
 * / 8, lane = head % 8. Matrices: a = row, b = column / 8, block = 0, lane = column % 8. */
void gnn__dropout_draw(const gnn__dropout_t *d, uint32_t a, uint32_t b, uint32_t block,
                       gnn_real_t keep[8]);

/* ---- context and threads ---- */

/* State of the adaptive thread count (adaptive_threads.c); all 0 at first. */
typedef struct {
    double loss;    /* CUSUM of the seconds by which all threads were slower than fewer */
    double credit;  /* seconds of loops, less fifty times the losses that were acted on */
    double rest;    /* seconds of loops for which fewer threads still run; <= 0: all run */
    double missing; /* fraction of a processor that a thread lacks while fewer run, 0 to 1 */
    double ended;   /* gnn__seconds() at the end of the last run */
} gnn__adaptive_t;

struct gnn_context {
    int threads;              /* of the team, 1..1024 */
    int64_t grain;            /* elementary operations that are worth one more thread */
    gnn__adaptive_t adaptive; /* measurements of parallel loops */
    int fewer;                /* threads of the running tape's loops; 0: all */
    int after;                /* `fewer` of the last run, for the optimiser's step after it */
    bool started;             /* the team has run once */
    int buffers;              /* threads with BLAS buffers of their own; 0: not claimed yet */
    bool deterministic;       /* products with the same bits for any count of threads */
    gnn_precision_t precision;
    bool forced; /* tests: use `precision` even where it is not faster */
    uint64_t seed;
    gnn_allocator_t allocator;          /* of arenas; members NULL: the C library's */
    struct gnn__primitives *primitives; /* of dense products, made on first use; NULL */
    void (*primitives_free)(struct gnn__primitives *);
    struct gnn__map_tables *map_tables; /* of maps of queries and keys, made on first use; NULL */
    void (*map_tables_free)(struct gnn__map_tables *);
    struct gnn__prepacked *prepacked; /* packed weights of the running tape; NULL: none */
    gnn__arena_t scratch;             /* of the running op */
    struct gnn_tape *tape;            /* of inference calls, made on first use; NULL */
    void (*tape_free)(struct gnn_tape *);
    struct gnn__profile *profile; /* NULL: no profile is collected */
    struct gnn__ranks *ranks;     /* lib/base/ranks.h; NULL: none */
};

/* Processors that this process may use: those of its affinity mask, or fewer if its control groups
 * limit processor time. */
int gnn__processors(void);
/* Limit of the control groups, rounded to processors; 0: none. `root` is a prefix of /proc and
 * /sys, "" except in tests. */
int gnn__processors_granted(const char *root);

/* Threads of the context; 1 in the child of a fork whose parent had a team, since only the caller
 * survives the fork. */
int gnn__team_size(const gnn_context_t *context);
/* Starts the team once, before the first region. GNN_EMEMORY if the system cannot start the
 * threads; OpenMP would end the program. */
int gnn__team_start(gnn_context_t *context);
/* True if the address space is limited (ulimit -v). */
bool gnn__memory_is_limited(void);
/* True unless the address space is limited and has fewer than `bytes` bytes left. */
bool gnn__has_room(size_t bytes);

/* Threads worth using for `work` elementary operations (multiply-adds, exps); 1 below a few
 * microseconds, and without a context. */
int gnn__threads(const gnn_context_t *context, int64_t work);

/* The same for work that follows a tape's run. */
int gnn__threads_after(const gnn_context_t *context, int64_t work);

/* Called around a tape's run and between its operations: sets context->fewer from the measured
 * loops. */
void gnn__adaptive_begin(gnn_context_t *context);
void gnn__adaptive_apply(gnn_context_t *context);
void gnn__adaptive_end(gnn_context_t *context);

/* Measured seconds of one parallel loop; over its threads the sum and the maximum of their running
 * time, and the sum of their run delay (runnable without a processor). */
typedef struct {
    double seconds, work, longest, waited;
} gnn__loop_times_t;

/* The decision alone: takes the times of a loop that ran with `threads` of `all` threads. */
void gnn__adaptive_note(gnn__adaptive_t *adaptive, int all, int threads,
                        const gnn__loop_times_t *times);
/* Threads for the next operation, of `all`. */
int gnn__adaptive_threads(const gnn__adaptive_t *adaptive, int all);

/* The context's threads, at most `limit`; 0: no limit. */
static inline int gnn__most_threads(const gnn_context_t *context, int limit)
{
    const int all = gnn__team_size(context);
    return limit > 0 && limit < all ? limit : all;
}

/* gnn__threads with a limit of this kind. */
static inline int gnn__threads_within(const gnn_context_t *context, int limit, int64_t work)
{
    const int useful = gnn__threads(context, work), most = gnn__most_threads(context, limit);
    return useful < most ? useful : most;
}

/* A thread that runs a job on request, one at a time. The job must not use the caller's context,
 * and keeps its errors itself, since messages are per thread. */
typedef struct gnn__worker gnn__worker_t;
int gnn__worker_new(gnn__worker_t **worker, void (*job)(void *user), void *user);
/* The job must not be running: call gnn__worker_wait first. */
void gnn__worker_start(gnn__worker_t *worker);
void gnn__worker_wait(gnn__worker_t *worker);
/* Waits for the running job. `worker` may be NULL. */
void gnn__worker_free(gnn__worker_t *worker);

/* First index of the contiguous share of 0..n of thread t of `threads`. */
static inline int64_t gnn__share(int64_t n, int t, int threads)
{
    return n / threads * t + (n % threads) * t / threads;
}

/* Dynamic scheduling of chunks 0 .. n - 1 with affinity: each thread starts with a share that is
 * its own in every call, because the data it wrote before are near it, and then helps the
 * others. */
enum { GNN__DEALT = 16 };
typedef struct {
    int64_t n;
    int shares;
    struct {
        _Alignas(64) int64_t next;
    } of[GNN__DEALT];
} gnn__deal_t;

gnn__deal_t gnn__deal(int64_t n, int threads);
/* The calling thread's next chunk; -1: none is left. */
int64_t gnn__deal_next(gnn__deal_t *deal);

/* ---- parallel loops: every OpenMP region of an operation is opened by one of these macros, which
 * measure it while a tape runs ---- */

/* A loop, and one thread's stay in it; times in nanoseconds. `context` NULL: not measured. */
typedef struct {
    bool open;
    int threads;
    gnn_context_t *context;
    int64_t start, work, longest, waited;
} gnn__loop_t;
typedef struct {
    bool open;
    int64_t start;
} gnn__stay_t;
gnn__loop_t gnn__loop_begin(int threads);
void gnn__loop_end(gnn__loop_t *loop);
gnn__stay_t gnn__stay_begin(const gnn__loop_t *loop);
void gnn__stay_end(gnn__stay_t *stay, gnn__loop_t *loop);

#define GNN__PRAGMA(text) _Pragma(#text)

/* Each of `threads` threads runs the statement that follows. It must not contain a barrier:
 * waiting for other threads would be measured as work. */
#define GNN__PARALLEL(threads)                                                \
    for (gnn__loop_t gnn__loop = gnn__loop_begin(threads); gnn__loop.open;    \
         gnn__loop_end(&gnn__loop))                                           \
        GNN__PRAGMA(omp parallel num_threads(threads))                        \
    for (gnn__stay_t gnn__stay = gnn__stay_begin(&gnn__loop); gnn__stay.open; \
         gnn__stay_end(&gnn__stay, &gnn__loop))

/* for (header) with its iterations divided among threads: contiguous shares, or by OpenMP
 * clauses. */
#define GNN__PARALLEL_FOR(threads, ...) \
    GNN__PARALLEL_FOR_AS (threads, schedule(static), __VA_ARGS__)
#define GNN__PARALLEL_FOR_AS(threads, clauses, ...) \
    GNN__PARALLEL (threads) GNN__PRAGMA(omp for clauses nowait) for (__VA_ARGS__)

/* Runs the statement that follows for chunks c = 0 .. chunks - 1, dealt to a team of threads;
 * omp_get_thread_num() is the thread's index. */
#define GNN__EACH_CHUNK(c, chunks, threads)                                                         \
    for (gnn__deal_t gnn__dealt = gnn__deal(chunks, threads); gnn__dealt.n >= 0; gnn__dealt.n = -1) \
        GNN__PARALLEL (threads)                                                                     \
            for (int64_t c; (c = gnn__deal_next(&gnn__dealt)) >= 0;)

/* ---- profiles: collected by the code that does the work, written by lib/report ---- */

typedef struct {
    char name[48], where[24];
    bool backward;
    int64_t calls;
    double seconds, flops, bytes;
} gnn__profile_row_t;

typedef struct gnn__profile {
    gnn__profile_row_t *rows;
    int64_t count, room;
    double start;
    /* set by an op that has several implementations: names the one used by this call; cleared
     * after it */
    char detail[32];
} gnn__profile_t;

double gnn__seconds(void);
/* NULL unless GNN_PROFILE is set and not 0. */
int gnn__profile_new(gnn__profile_t **profile);
void gnn__profile_free(gnn__profile_t *profile);
/* Adds one call to the entry "name", or "name[detail]"; ignored without memory for a new entry. */
void gnn__profile_add(gnn__profile_t *profile, const char *name, const char *where, bool backward,
                      double seconds, gnn_op_work_t work);

/* ---- CPU ---- */
typedef enum { GNN__ISA_BASELINE, GNN__ISA_V3, GNN__ISA_V4, GNN__ISA_AMX } gnn__isa_t;
/* The instruction set of the kernels: the processor's best, or less by GNN_ISA=baseline|v3|v4.
 * With AMX they are those of v4, except bf16 products. */
gnn__isa_t gnn__isa(void);
/* GNN_EINVALID: GNN_ISA names none of the instruction sets. */
int gnn__isa_check(void);
/* True if this process may use AMX tiles. Asks the system once, and only if gnn__isa() has them. */
bool gnn__amx_granted(void);
const char *gnn__isa_name(gnn__isa_t isa);
/* Features that the system enables; false on other architectures. */
bool gnn__cpu_has_bf16(void);
bool gnn__cpu_is_amd(void);

static inline gnn_real_t *gnn__row(const gnn_tensor_t *t, int64_t r)
{
    return t->data + r * (t->stride ? t->stride : t->cols);
}

/* Checks shape and stride, and that data is not NULL. GNN_ESHAPE with both shapes; `name` is used
 * in the message. */
int gnn__tensor_check(const gnn_tensor_t *tensor, const char *name);

/* Checks that all values are finite. O(rows cols).
 *
 * @param[in] name  of the tensor in messages
 * @return GNN_OK; GNN_ESHAPE as gnn__tensor_check; GNN_ENUMERIC: the first NaN or infinity, with
 *         row, column and value */
int gnn__tensor_check_finite(const gnn_tensor_t *tensor, const char *name);

/* Writes a sparse matrix into a dense one; duplicates add up.
 *
 * @param[out] dense  caller's, of the same shape; overwritten
 * @return as gnn__sparse_validate; GNN_ESHAPE: the shapes differ */
int gnn__sparse_to_dense(const gnn_sparse_t *sparse, const gnn_tensor_t *dense);

/* Checks a CSR matrix: indptr starts at 0 and never decreases, every column in range, every value
 * finite. O(nnz).
 *
 * @param[in] name  of the matrix in messages
 * @return GNN_OK; GNN_ESHAPE (a NULL, a negative shape, indptr, a column), with the position;
 *         GNN_ENUMERIC: a value is not finite, with its position */
int gnn__sparse_validate(const gnn_sparse_t *sparse, const char *name);

#endif
