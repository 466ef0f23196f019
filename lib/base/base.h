/* The foundation: errors, memory, checked sizes, arenas, random numbers, threads. Included by
 * everything, includes nothing of ours but public headers. */
#ifndef GNN_LIB_BASE_H
#define GNN_LIB_BASE_H

#include <gnn/context.h>
#include <gnn/op.h>
#include <gnn/tensor.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

/* Sets this thread's message and is `code` (a macro, so that the compiler sees that it is not
 * 0). */
/* For functions of the public interface: an argument that must be there. */
#define GNN__NEED(argument)                                                               \
    do {                                                                                  \
        if (!(argument))                                                                  \
            return gnn__error(GNN_EINVALID, "%s: %s is NULL", gnn__public_name(__func__), \
                              #argument);                                                 \
    } while (0)
#define gnn__error(code, ...) (gnn__set_message(__VA_ARGS__), (code))
/* The function's name as programs write it: without "_sized", which inline functions append. Valid
 * until this thread asks again. */
const char *gnn__public_name(const char *function);
void gnn__set_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Puts "context: " before the current message and returns `code`. */
int gnn__error_prefix(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends `name` to a list in `text`, after `between` if it is not the first; as much as fits. */
void gnn__append_name(char *text, size_t size, const char *between, const char *name);
/* GNN_ENOTFOUND: "no WHAT is called "NAME"; there are: ...", the names that `at` gives until it
 * gives NULL. */
int gnn__unknown_name(const char *what, const char *name, const char *(*at)(size_t index));

/* In a function with `int rc` and a label `done`: leaves on failure. */
#define GNN_CHECK(call)   \
    do {                  \
        rc = (call);      \
        if (rc != GNN_OK) \
            goto done;    \
    } while (0)

/* ---- checked size arithmetic: everything whose size comes from outside goes through these and
 * nothing else ---- */

/* They return false on overflow (or negative operands). *out may alias an operand's storage. */
static inline bool gnn__mul(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}
static inline bool gnn__add(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}
/* Rounds up to a multiple of `to` (a power of two). */
static inline bool gnn__pad(int64_t a, int64_t to, int64_t *out)
{
    int64_t sum;
    if (!gnn__add(a, to - 1, &sum))
        return false;
    *out = sum & ~(to - 1);
    return true;
}
/* Do so many columns divide into so many parts? None divide into one, not into any number: parts
 * are looped over. */
static inline bool gnn__splits(int64_t cols, int64_t parts)
{
    return parts >= 1 && cols % parts == 0 && (cols > 0 || parts == 1);
}
/* The same of sizes that are known to fit. */
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
    return v == 0 ? initial : v > -1e-30 && v < 1e-30 ? 0 : v;
}
/* Bytes of a count of elements; GNN_EOVERFLOW with the name of what was to be allocated. */
int gnn__bytes(int64_t count, size_t element, const char *what, size_t *bytes);

/* ---- structs of programs that were built with other headers than the library: they come with
 * their size ---- */

/* Copies a program's struct into the library's; what it lacks is 0. False if it sets bytes that the
 * library's does not have. */
bool gnn__sized_take(void *own, size_t own_size, const void *theirs, size_t size);
/* The same of a config, which may be NULL: `own` is all 0 then. GNN_EUNSUPPORTED names `what` has
 * such bytes. */
int gnn__sized_config(void *own, size_t own_size, const void *theirs, size_t size, const char *what);
/* A struct that lies in another one by value, and has a size of its own in programs. */
typedef struct gnn__nested {
    size_t offset, own_size, size;
} gnn__nested_t;
/* As gnn__sized_take of the outer struct. */
bool gnn__sized_take_around(void *own, size_t own_size, const void *theirs, size_t size,
                            gnn__nested_t nested);
/* Copies the library's struct into a program's, as far as that goes; what it has beyond is 0. */
void gnn__sized_give(void *theirs, size_t size, const void *own, size_t own_size);

/* ---- memory outside of arenas: graphs, descriptors, readers ---- */

/* *out = count elements, zeroed, 64-byte aligned where count * element >= 64; count 0 gives a valid
 * pointer. GNN_EMEMORY / GNN_EOVERFLOW, naming `what`. Released by gnn_free. These are the calls
 * that the failing-allocator tests count. */
int gnn__new(void *out, int64_t count, size_t element, const char *what);
/* Not zeroed; on lines of the cache, so that rows of vectors never straddle one, and from 2 MB up
 * on pages of that size. NULL without memory. */
void *gnn__aligned(size_t bytes);
/* *inout grows to `count` elements, old contents kept, new ones zeroed. `old` is the present count.
 * On failure *inout is untouched. */
int gnn__grow(void *inout, int64_t old, int64_t count, size_t element, const char *what);
/* *array, of which *room elements are there, grows to `count` and an eighth to spare unless it has
 * as many; what it held is lost. For memory that is used again and again. */
int gnn__reserve(void *array, int64_t *room, int64_t count, size_t element, const char *what);
int gnn__strdup(char **out, const char *text);
int gnn__asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
/* snprintf with a decimal point, whatever the program's locale: words that are compared must not
 * depend on it. GNN_EMEMORY. */
int gnn__snprintf_c(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tests: the n-th allocation from now (1, 2, ...) on this thread fails; 0: none. Returns how many
 * were made since the last call. Every allocation of the library on this thread counts, arenas
 * included. */
int64_t gnn__fail_allocation(int64_t n);
/* Counts one allocation; true when the test asked for it to fail. For wrappers around other
 * allocators only. */
bool gnn__allocation_fails(void);

/* ---- ints.c: arrays of indices, int32 or int64 as programs have them ---- */

/* Element k. */
static inline int64_t gnn__int(gnn_ints_t array, int64_t k)
{
    return array.type == GNN_DTYPE_INT64 ? ((const int64_t *)array.data)[k]
                                         : ((const int32_t *)array.data)[k];
}
/* GNN_EINVALID: an element type that is neither, or no array for `count` > 0 values. What follows
 * takes checked ones. */
int gnn__ints_check(const char *name, gnn_ints_t array, int64_t count);
void gnn__ints_copy_64(int64_t *to, gnn_ints_t from, int64_t count);
/* GNN_EOVERFLOW names the first value that does not fit, and its index. */
int gnn__ints_copy_32(const char *name, int32_t *to, gnn_ints_t from, int64_t count);
/* Checks, and *array is the caller's where it has the type, else *made, which the caller frees;
 * NULL stays NULL. */
int gnn__ints_64(const char *name, gnn_ints_t from, int64_t count, const int64_t **array,
                 int64_t **made);
int gnn__ints_32(const char *name, gnn_ints_t from, int64_t count, const int32_t **array,
                 int32_t **made);

/* ---- arenas ---- */

/* A 64-byte aligned block that only grows. Growing loses the contents. Unused bytes are poisoned
 * under AddressSanitizer. */
typedef struct gnn__arena {
    char *base;
    size_t capacity, used;
    const gnn_allocator_t *allocator; /* NULL: the C library's */
} gnn__arena_t;
int gnn__arena_reserve(gnn__arena_t *arena, size_t bytes, const char *what);
/* Bump allocation, 64-byte aligned; NULL when it does not fit (reserve first). */
void *gnn__arena_take(gnn__arena_t *arena, size_t bytes);
void gnn__arena_reset(gnn__arena_t *arena);
void gnn__arena_free(gnn__arena_t *arena);

/* Lays a block out, piece by piece on lines of the cache: the same function does it first without a
 * base, to learn the size, then for real. */
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

/* ---- random numbers: Philox 4x32, Salmon et al. 2011 ---- */

/* Ten rounds for weights and samples; seven, the fewest that passed all of BigCrush there, for
 * dropout, which draws for every number and pair. */
enum { GNN__PHILOX_ROUNDS = 10, GNN__DROPOUT_ROUNDS = 7 };
void gnn__philox(const uint32_t counter[4], const uint32_t key[2], int rounds, uint32_t out[4]);
/* Uniform in [0, 1) and normal, from a seed and a counter of the caller's. */
double gnn__uniform(uint64_t seed, uint64_t stream, uint64_t counter);
double gnn__normal(uint64_t seed, uint64_t stream, uint64_t counter);
uint64_t gnn__hash_string(const char *text); /* FNV-1a, for streams keyed by names */

/* Dropout by 16-bit draws. The counter is (a, b, step, stream << 8 | block): a, b say what is
 * dropped (row and column block; receiver and sender). A draw keeps when it is below `threshold`;
 * the scale uses the rounded rate. */
typedef struct gnn__dropout {
    uint32_t key[2], step, stream;
    uint32_t threshold; /* 0..65536; 65536: dropout is off */
    gnn_real_t scale;   /* 65536 / threshold */
} gnn__dropout_t;
gnn__dropout_t gnn__dropout(gnn_rng_t rng, gnn_real_t rate);
/* Eight multipliers (0 or scale) for (a, b, block). Attention: a = receiver, b = sender, block =
 * head / 8, lane = head % 8. Matrices: a = row, b = column / 8, block = 0, lane = column % 8. */
void gnn__dropout_draw(const gnn__dropout_t *d, uint32_t a, uint32_t b, uint32_t block,
                       gnn_real_t keep[8]);

/* ---- context and threads ---- */

/* How many threads the loops of tapes get (adaptive_threads.c); all 0 at first. */
typedef struct {
    double loss;    /* seconds by which all threads were slower than fewer: sum */
    double credit;  /* seconds of loops, less fifty times the losses that were acted on */
    double rest;    /* seconds of loops that fewer threads still run; <= 0: all do */
    double missing; /* part of a processor that a thread lacks while fewer run, 0 to 1 */
    double ended;   /* gnn__seconds() at the end of the last run */
} gnn__adaptive_t;

struct gnn_context {
    int threads;
    int64_t grain; /* work that is worth a thread */
    gnn__adaptive_t adaptive;
    int fewer;    /* threads of loops of the tape that runs, if not all; 0: all */
    int after;    /* the same at the end of the last run, for the optimiser's step after it */
    bool started; /* the team has run once */
    int buffers;  /* threads that dense products have their own memory for; 0: not looked at */
    bool deterministic;
    gnn_precision_t precision;
    bool forced; /* tests: `precision` holds even where it is no faster */
    uint64_t seed;
    gnn_allocator_t allocator;
    /* of dense products; made by the first one that wants them */
    struct gnn__primitives *primitives;
    void (*primitives_free)(struct gnn__primitives *);
    /* of maps of queries and keys; likewise */
    struct gnn__map_tables *map_tables;
    void (*map_tables_free)(struct gnn__map_tables *);
    struct gnn__prepacked *prepacked; /* of the program that runs; NULL: its weights may change */
    gnn__arena_t scratch;             /* of the running op; see gnn__scratch */
    /* for inference calls; owned, made on first use; freed through tape_free */
    struct gnn_tape *tape;
    void (*tape_free)(struct gnn_tape *);
    struct gnn__profile *profile; /* NULL: no profile is collected */
};

/* Processors that this process may use: those that it may run on, or fewer where its control groups
 * grant less of their time. */
int gnn__processors(void);
/* What control groups grant, rounded; 0: no limit. `root` stands before /proc and /sys: "" but for
 * tests. */
int gnn__processors_granted(const char *root);

/* Threads that the context has: 1 in a child of a fork whose parent had a team, which is not
 * there. */
int gnn__team_size(const gnn_context_t *context);
/* Starts them, once: GNN_EMEMORY where the system cannot, since OpenMP would end the program.
 * Before the first region. */
int gnn__team_start(gnn_context_t *context);
/* Is there less address space than the processor has (ulimit -v)? */
bool gnn__memory_is_limited(void);

/* Threads worth using for `work` elementary operations (multiply-adds, exps): 1 below some
 * microseconds in all, and without a context. */
int gnn__threads(const gnn_context_t *context, int64_t work);

/* As gnn__threads, for what follows a tape's run. */
int gnn__threads_after(const gnn_context_t *context, int64_t work);

/* Around a tape's run, and between its operations: sets context->fewer from what its loops
 * measured. */
void gnn__adaptive_begin(gnn_context_t *context);
void gnn__adaptive_apply(gnn_context_t *context);
void gnn__adaptive_end(gnn_context_t *context);

/* Measured seconds of one parallel loop, and of its threads: the sum and the maximum of the time
 * that they ran, and the sum of the time that they were runnable without a processor. */
typedef struct {
    double seconds, work, longest, waited;
} gnn__loop_times_t;

/* The decision alone: takes the times of a loop that ran with `threads` of `all` threads. */
void gnn__adaptive_note(gnn__adaptive_t *adaptive, int all, int threads,
                        const gnn__loop_times_t *times);
/* Threads for the next operation, of `all`. */
int gnn__adaptive_threads(const gnn__adaptive_t *adaptive, int all);

/* The most that something may use that is allowed `limit` threads; 0: as many as the context
 * has. */
static inline int gnn__most_threads(const gnn_context_t *context, int limit)
{
    const int all = gnn__team_size(context);
    return limit > 0 && limit < all ? limit : all;
}

/* As gnn__threads, within such a limit. */
static inline int gnn__threads_within(const gnn_context_t *context, int limit, int64_t work)
{
    const int useful = gnn__threads(context, work), most = gnn__most_threads(context, limit);
    return useful < most ? useful : most;
}

/* A thread of its own that does a job whenever it is asked to, one at a time. The job must not use
 * the caller's context, and keeps its errors itself: messages belong to threads. */
typedef struct gnn__worker gnn__worker_t;
int gnn__worker_new(gnn__worker_t **worker, void (*job)(void *user), void *user);
/* The job is not running: gnn__worker_wait before. */
void gnn__worker_start(gnn__worker_t *worker);
void gnn__worker_wait(gnn__worker_t *worker);
/* Waits for the running job; NULL is fine. */
void gnn__worker_free(gnn__worker_t *worker);

/* Contiguous share of 0..n for thread t of `threads`. */
static inline int64_t gnn__share(int64_t n, int t, int threads)
{
    return n / threads * t + (n % threads) * t / threads;
}

/* Chunks 0 .. n - 1 that the threads of a region take one by one. Each begins with a share that is
 * its own at every call, because what it wrote before lies near it, and then helps the others. */
enum { GNN__DEALT = 16 };
typedef struct {
    int64_t n;
    int shares;
    struct {
        _Alignas(64) int64_t next;
    } of[GNN__DEALT];
} gnn__deal_t;

gnn__deal_t gnn__deal(int64_t n, int threads);
/* A chunk for the calling thread; -1: none is left. */
int64_t gnn__deal_next(gnn__deal_t *deal);

/* ---- parallel loops: every OpenMP region of an operation is opened by one of these macros, which
 * measure it while a tape runs ---- */

/* A loop, and one thread's stay in it. `context` is NULL where nothing is measured; times are in
 * nanoseconds. */
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

/* Each of `threads` threads runs the statement that follows. It must not wait for other threads: a
 * barrier is the end of the loop and a second one. */
#define GNN__PARALLEL(threads)                                                \
    for (gnn__loop_t gnn__loop = gnn__loop_begin(threads); gnn__loop.open;    \
         gnn__loop_end(&gnn__loop))                                           \
        GNN__PRAGMA(omp parallel num_threads(threads))                        \
    for (gnn__stay_t gnn__stay = gnn__stay_begin(&gnn__loop); gnn__stay.open; \
         gnn__stay_end(&gnn__stay, &gnn__loop))

/* for (header) with its iterations divided among threads: contiguous shares, or as the clauses of
 * OpenMP say. */
#define GNN__PARALLEL_FOR(threads, ...) \
    GNN__PARALLEL_FOR_AS (threads, schedule(static), __VA_ARGS__)
#define GNN__PARALLEL_FOR_AS(threads, clauses, ...) \
    GNN__PARALLEL (threads) GNN__PRAGMA(omp for clauses nowait) for (__VA_ARGS__)

/* The statement that follows runs for chunks c = 0 .. chunks - 1, dealt to a team of threads;
 * omp_get_thread_num() is the thread's index. */
#define GNN__EACH_CHUNK(c, chunks, threads)                                                         \
    for (gnn__deal_t gnn__dealt = gnn__deal(chunks, threads); gnn__dealt.n >= 0; gnn__dealt.n = -1) \
        GNN__PARALLEL (threads)                                                                     \
            for (int64_t c; (c = gnn__deal_next(&gnn__dealt)) >= 0;)

/* ---- profiles: the code that does the work collects them, lib/report writes them ---- */

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
    /* set by an op as it runs, where it has several ways to: names the row of this call; ""
     * afterwards */
    char detail[32];
} gnn__profile_t;

double gnn__seconds(void);
/* NULL unless GNN_PROFILE is set (and not 0). */
int gnn__profile_new(gnn__profile_t **profile);
void gnn__profile_free(gnn__profile_t *profile);
/* Adds one call, to the row "name" or, where there is a detail, "name[detail]"; without memory for
 * a new row it is not counted. */
void gnn__profile_add(gnn__profile_t *profile, const char *name, const char *where, bool backward,
                      double seconds, gnn_op_work_t work);

/* ---- CPU ---- */
typedef enum { GNN__ISA_BASELINE, GNN__ISA_V3, GNN__ISA_V4, GNN__ISA_AMX } gnn__isa_t;
/* What kernels run with: the processor's best, or less if GNN_ISA=baseline|v3|v4 says so. With AMX
 * they are those of v4, but for products in bf16. */
gnn__isa_t gnn__isa(void);
/* May this process use the tiles of AMX? Asks the system once, and only where gnn__isa() has
 * them. */
bool gnn__amx_granted(void);
const char *gnn__isa_name(gnn__isa_t isa);
/* What the system lets programs use; false elsewhere. */
bool gnn__cpu_has_bf16(void);
bool gnn__cpu_is_amd(void);

static inline gnn_real_t *gnn__row(const gnn_tensor_t *t, int64_t r)
{
    return t->data + r * (t->stride ? t->stride : t->cols);
}

#endif
