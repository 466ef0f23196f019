/* How many threads a program that runs again and again is given, beside others who use the machine
 * too.
 *
 * A team waits at the end of every loop for its last thread. Where that one's processor is busy
 * with another program's work, a step of two threads takes longer than one of one thread, under a
 * lower priority many times as long. This shows only in the time that runs take. So the second run
 * is done by fewer threads, and once more for each time that the system took the processor away
 * meanwhile, up to a few times: a thread that has shared a processor until now is moved to a free
 * one only after a while, and what it took until then says nothing. Whenever a run by all takes
 * longer than those, the next ones are done by fewer, for a multiple of the time that it took;
 * then all try again. The multiple grows with every try that fails, so that tries cost little
 * beside what they may gain. It starts higher where a try took more than twice as long as fewer
 * threads did: a neighbour causes that more often than a moment's disturbance, and each further try
 * would cost several runs. Results do not depend on it: who works on what never changes bits. */
#include <lib/base/base.h>

#include <sys/resource.h>

enum { LEARN_AT = 1, MOST_LEARNT = 8, LEAST_REST = 4, STEEP_REST = 16, MOST_REST = 64, CALM = 50 };

/* Runs by all may take so much longer than the least that fewer took; below so many seconds
 * threads are of no weight. A try is steep where it took so many times as long. */
static const double longer = 1.05, steep = 2, short_run = 30e-6, slow_rise = 0.05;

/* One thread fewer for each eight. */
static int fewer_than(int all)
{
    return all - (all + 7) / 8;
}

static bool learns(const gnn__pace_t *pace)
{
    return pace->runs >= LEARN_AT && pace->runs < LEARN_AT + MOST_LEARNT && !pace->learnt;
}

long gnn__pace_preemptions(void)
{
#if defined(RUSAGE_THREAD)
    struct rusage use;
    return getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_nivcsw : 0;
#else
    return 0;
#endif
}

int gnn__pace_threads(const gnn__pace_t *pace, int all)
{
    return pace->rest > 0 || learns(pace) ? fewer_than(all) : all;
}

/* Near the least of what was seen, but it rises again when everything takes longer. */
static double learn(double known, double seconds)
{
    return known == 0 || seconds < known ? seconds : known + slow_rise * (seconds - known);
}

static void rest(gnn__pace_t *pace, double seconds)
{
    const double grown = pace->multiple * 4;
    const double least = seconds > steep * pace->fewer ? STEEP_REST : LEAST_REST;
    pace->multiple = grown < least ? least : grown > MOST_REST ? MOST_REST : grown;
    pace->rest = pace->multiple * seconds;
    pace->calm = 0;
}

void gnn__pace_note(gnn__pace_t *pace, bool by_all, double seconds, bool preempted)
{
    pace->runs += pace->runs < LEARN_AT + MOST_LEARNT;
    if (pace->runs == 1)
        return; /* the first run meets cold caches and threads that are yet to start */
    if (!by_all) {
        pace->learnt |= !preempted;
        pace->fewer = learn(pace->fewer, seconds);
        pace->rest -= seconds;
        return;
    }
    if (seconds > short_run && pace->fewer > 0 && seconds > longer * pace->fewer) {
        rest(pace, seconds);
        return;
    }
    pace->calm += seconds;
    if (pace->calm > CALM * pace->multiple * pace->fewer)
        pace->multiple = 0;
}
