/* A context's profile as a table: time per op and place, followed by the machine's measured peak
 * rates. */
#include <gnn/report.h>
#include <lib/base/base.h>
#include <lib/kernels/rowwise/rowwise.h>

#include <stdlib.h>

enum { ROUNDS = 400000, ELEMENTS = 8 << 20, REPEAT = 3 };

/* Floating-point operations per second of all threads. */
static double measure_operations(int threads)
{
    const gnn__peak_kernels_t *kernels = gnn__peak_kernels();
    double best = 0;
    for (int k = 0; k < REPEAT; k++) {
        double start = gnn__seconds(), all = 0;
        GNN__PARALLEL_FOR_AS (threads, schedule(static, 1) reduction(+ : all), int t = 0; t < threads; t++) {
            double operations;
            const gnn_real_t result = kernels->multiply_add(ROUNDS, (gnn_real_t)1e-3, &operations);
            all += result == 0 ? 0 : operations * ROUNDS;
        }
        const double rate = all / (gnn__seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Read bandwidth of main memory in bytes per second; 0 without memory for the test. */
static double measure_reads(int threads)
{
    const gnn__peak_kernels_t *kernels = gnn__peak_kernels();
    gnn_real_t *x, all = 0;
    double best = 0;
    const int64_t share = ELEMENTS;
    if (gnn__new(&x, share * threads, sizeof *x, "an array to read") != GNN_OK)
        return 0;
    for (int k = 0; k <= REPEAT; k++) {
        const double start = gnn__seconds();
        GNN__PARALLEL_FOR_AS (threads, schedule(static, 1) reduction(+ : all), int t = 0; t < threads; t++)
            all += kernels->read(share, x + t * share);
        const double rate =
            (double)(share * threads) * sizeof *x / (gnn__seconds() - start) + (double)all;
        best = rate > best ? rate : best;
    }
    gnn_free(x);
    return best;
}

static int slower_first(const void *a, const void *b)
{
    const gnn__profile_row_t *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* "-" for ops without known work. */
static void write_rate(FILE *file, double work, double seconds, const char *end)
{
    if (work > 0 && seconds > 0)
        fprintf(file, " %8.2f%s", 1e-9 * work / seconds, end);
    else
        fprintf(file, " %8s%s", "-", end);
}

/* Widths of the first two columns. */
typedef struct {
    int name, where;
} widths_t;

static widths_t measure_widths(const gnn__profile_t *profile)
{
    widths_t widths = {sizeof "the machine" - 1, sizeof "at most" - 1};
    for (int64_t k = 0; k < profile->count; k++) {
        const int name = (int)strlen(profile->rows[k].name),
                  where = (int)strlen(profile->rows[k].where);
        widths.name = name > widths.name ? name : widths.name;
        widths.where = where > widths.where ? where : widths.where;
    }
    return widths;
}

static void write_row(FILE *file, widths_t w, const gnn__profile_row_t *row, double total)
{
    fprintf(file, "%-*s %-*s %-8s %8lld %10.2f %10.4f %5.1f%%", w.name, row->name, w.where,
            row->where, row->backward ? "backward" : "forward", (long long)row->calls,
            1e3 * row->seconds, 1e3 * row->seconds / (double)row->calls,
            total > 0 ? 100 * row->seconds / total : 0);
    write_rate(file, row->flops, row->seconds, "");
    write_rate(file, row->bytes, row->seconds, "\n");
}

int gnn_profile_write(gnn_context_t *context, FILE *file)
{
    GNN__NEED(context);
    GNN__NEED(file);
    gnn__profile_t *profile = context->profile;
    double total = 0;
    if (!profile)
        return GNN_OK;
    const double wall = gnn__seconds() - profile->start;
    if (profile->count > 1)
        qsort(profile->rows, (size_t)profile->count, sizeof *profile->rows, slower_first);
    for (int64_t k = 0; k < profile->count; k++)
        total += profile->rows[k].seconds;
    const widths_t w = measure_widths(profile);
    fprintf(file, "%-*s %-*s %-8s %8s %10s %10s %6s %8s %8s\n", w.name, "op", w.where, "where",
            "pass", "calls", "ms", "ms/call", "share", "GF/s", "GB/s");
    for (int64_t k = 0; k < profile->count; k++)
        write_row(file, w, &profile->rows[k], total);
    fprintf(file, "%-*s %-*s %-8s %8s %10.2f %10s of %.2f ms since the context was made\n", w.name,
            "all", w.where, "", "", "", 1e3 * total, "", 1e3 * wall);
    fprintf(file, "%-*s %-*s %-8s %8s %10s %10s %6s", w.name, "the machine", w.where, "at most", "",
            "", "", "", "");
    write_rate(file, measure_operations(context->threads), 1, "");
    write_rate(file, measure_reads(context->threads), 1, "");
    fprintf(file, "   kernels %s, threads %d\n", gnn__isa_name(gnn__isa()), context->threads);
    return ferror(file) ? gnn__error(GNN_EIO, "the profile could not be written") : GNN_OK;
}
