/* Adaptive thread count: programs on a tape use fewer threads while other processes need the
 * processors.
 *
 * A parallel loop ends with its last thread, so one preempted thread delays the whole team. Each
 * loop is therefore measured: its seconds s, and for each thread the time w_t that it ran in the
 * loop, from its first chunk to its last, less the time that it was runnable without a processor
 * (the run delay of Linux's scheduler). With f threads the loop would have taken at least
 *
 *     b = max(max_t w_t, sum_t w_t / f) / p,
 *
 * where p is the part of a processor that each of f threads gets. Its loss is s - b. Unless a
 * thread waited for a processor, s = max_t w_t and the loss is not positive, however uneven the
 * chunks are; work of one thread between two loops is in none of them. Losses are added up, and the
 * sum is never below 0 (CUSUM; Page 1954), so that loops that gain from all threads make up for
 * those that lose. When the sum reaches a few milliseconds, loops get fewer threads until all
 * losses together are 2% of the time of all loops (20 ms are free), and then all again: a machine
 * that stays busy costs 2%, an idle one nothing, and a short disturbance is soon over.
 * Counts change between operations only. Loops compute the same bits with any of them; dense
 * products of other libraries follow them too, whose last bits may differ but in a deterministic
 * context. */
#include <lib/base/base.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Seconds of loss at which fewer threads are used. */
static const double patience = 4e-3;
/* Seconds of loops per second of loss: required before fewer threads are used, and the least time
 * for which they are. Then limits in seconds: of the credit saved for that, of the credit of a new
 * context, and of the time with fewer threads. */
static const double seconds_per_loss = 50, least_rest = 4, most_credit = 5, first_credit = 1,
                    longest_rest = 10;
/* Time constants, in seconds of loops, of forgetting p: with fewer threads, with all. */
static const double share_memory = 0.05, share_decay = 2;
/* After a longer gap between runs, the calling thread's run delay until then is ignored. */
static const double gap = 1e-3;

/* Up to this time in a loop, in nanoseconds, a thread is assumed to have run without
 * interruption. */
enum { SHORT_STAY = 500000 };

/* ---- the decision ---- */

/* One thread less per eight. */
static int fewer_than(int all)
{
    return all - (all + 7) / 8;
}

static double clamp(double x, double least, double most)
{
    const double raised = x < least ? least : x;
    return raised > most ? most : raised;
}

int gnn__adaptive_threads(const gnn__adaptive_t *a, int all)
{
    return a->rest > 0 ? fewer_than(all) : all;
}

static void note_fewer(gnn__adaptive_t *a, const gnn__loop_times_t *t)
{
    const double present = t->work + t->waited, weight = t->seconds / (t->seconds + share_memory);
    if (present > 0)
        a->missing += weight * (t->waited / present - a->missing);
    a->rest -= t->seconds;
}

static void use_fewer(gnn__adaptive_t *a)
{
    a->credit =
        clamp(a->credit - seconds_per_loss * a->loss, -longest_rest - first_credit, most_credit);
    a->rest = clamp(-first_credit - a->credit, least_rest * a->loss, longest_rest);
    a->loss = 0;
}

static void note_all(gnn__adaptive_t *a, int fewer, const gnn__loop_times_t *t)
{
    const double divided = t->work / fewer, bound = t->longest > divided ? t->longest : divided,
                 loss = a->loss + t->seconds - bound / (1 - a->missing);
    a->missing -= a->missing * t->seconds / (t->seconds + share_decay);
    a->loss = loss > 0 ? loss : 0;
    if (a->loss > patience)
        use_fewer(a);
}

void gnn__adaptive_note(gnn__adaptive_t *a, int all, int threads, const gnn__loop_times_t *t)
{
    const int fewer = fewer_than(all);
    a->credit = clamp(a->credit + t->seconds, -longest_rest - first_credit, most_credit);
    if (fewer > 0 && threads > fewer && a->rest <= 0)
        note_all(a, fewer, t);
    else if (threads == fewer && a->rest > 0)
        note_fewer(a, t);
}

/* ---- the run delay of a thread ---- */

/* Involuntary context switches and run delay (nanoseconds) of the calling thread at the last
 * reading. */
static _Thread_local struct {
    bool known;
    long switches;
    int64_t delay;
} last;

static long count_switches(void)
{
#if defined(RUSAGE_THREAD)
    struct rusage use;
    return getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_nivcsw : 0;
#else
    return 0;
#endif
}

/* The second value of the file; 0 if the system has no such file. */
static int64_t read_delay(void)
{
    char text[96], *end;
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    strtoll(text, &end, 10);
    return strtoll(end, NULL, 10);
}

/* Nanoseconds of run delay since this thread's last call. The count of context switches is cheaper
 * to read and shows whether there were any. */
static int64_t new_delay(void)
{
    const long switches = count_switches();
    if (last.known && switches == last.switches)
        return 0;
    const int64_t delay = read_delay(), added = last.known ? delay - last.delay : 0;
    last.known = true;
    last.switches = switches;
    last.delay = delay;
    return added;
}

/* ---- measuring loops ---- */

/* The context whose tape the calling thread runs; NULL outside of runs, where loops are not
 * measured. */
static _Thread_local gnn_context_t *running;

void gnn__adaptive_begin(gnn_context_t *context)
{
    if (context->threads > 1 && gnn__seconds() - context->adaptive.ended > gap)
        new_delay();
    running = context;
    gnn__adaptive_apply(context);
}

void gnn__adaptive_apply(gnn_context_t *context)
{
    const int all = context->threads, threads = gnn__adaptive_threads(&context->adaptive, all);
    context->fewer = context->after = threads < all ? threads : 0;
}

void gnn__adaptive_end(gnn_context_t *context)
{
    running = NULL;
    context->fewer = 0;
    context->adaptive.ended = gnn__seconds();
}

static int64_t nanoseconds(void)
{
    return (int64_t)(1e9 * gnn__seconds());
}

gnn__loop_t gnn__loop_begin(int threads)
{
    gnn_context_t *const context = running;
    const int all = context ? context->threads : 0, fewer = fewer_than(all);
    gnn__loop_t loop = {.open = true, .threads = threads};
    if (fewer > 0 && (context->fewer ? threads == fewer : threads > fewer)) {
        loop.context = context;
        loop.start = nanoseconds();
    }
    return loop;
}

void gnn__loop_end(gnn__loop_t *loop)
{
    loop->open = false;
    if (!loop->context)
        return;
    const gnn__loop_times_t times = {.seconds = 1e-9 * (double)(nanoseconds() - loop->start),
                                     .work = 1e-9 * (double)loop->work,
                                     .longest = 1e-9 * (double)loop->longest,
                                     .waited = 1e-9 * (double)loop->waited};
    gnn__adaptive_note(&loop->context->adaptive, loop->context->threads, loop->threads, &times);
}

gnn__stay_t gnn__stay_begin(const gnn__loop_t *loop)
{
    gnn__stay_t stay = {.open = true};
    if (loop->context) {
        if (!last.known)
            new_delay();
        stay.start = nanoseconds();
    }
    return stay;
}

void gnn__stay_end(gnn__stay_t *stay, gnn__loop_t *loop)
{
    stay->open = false;
    if (!loop->context)
        return;
    const int64_t present = nanoseconds() - stay->start;
    const int64_t delay = present > SHORT_STAY ? new_delay() : 0;
    const int64_t waited = gnn__min(delay, present), work = present - waited;
    int64_t longest = __atomic_load_n(&loop->longest, __ATOMIC_RELAXED);
    __atomic_fetch_add(&loop->work, work, __ATOMIC_RELAXED);
    __atomic_fetch_add(&loop->waited, waited, __ATOMIC_RELAXED);
    while (work > longest && !__atomic_compare_exchange_n(&loop->longest, &longest, work, true,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
