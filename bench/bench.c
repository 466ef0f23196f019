/* Options, the clock, memory, random numbers. */
#include "bench.h"

#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_OPTIONS = 24 };

/* ---- options ---- */

static void usage(FILE *file, const char *program, const bench_option_t *options, int count)
{
    fprintf(file, "usage: %s", program);
    for (int k = 0; k < count; k++)
        fprintf(file, " [--%s%s]", options[k].name, options[k].kind == BENCH_FLAG ? "" : " ...");
    fputs("\n", file);
}

static bool set(const bench_option_t *option, const char *value)
{
    char *end;
    switch (option->kind) {
    case BENCH_FLAG: return *(bool *)option->target = true;
    case BENCH_TEXT: return *(const char **)option->target = value, *value != 0;
    default:
        *(int64_t *)option->target = strtoll(value, &end, 10);
        return end != value && *end == 0 && *(int64_t *)option->target >= 0;
    }
}

static void read_options(int argc, char **argv, const bench_option_t *options, int count)
{
    struct option known[MOST_OPTIONS + 2] = {{"help", 0, 0, 0}};
    int c, which = 0;
    for (int k = 0; k < count; k++)
        known[k + 1] = (struct option){options[k].name, options[k].kind != BENCH_FLAG, 0, 0};
    while ((c = getopt_long(argc, argv, "", known, &which)) == 0) {
        if (which == 0) {
            usage(stdout, argv[0], options, count);
            exit(EXIT_SUCCESS);
        }
        if (!set(&options[which - 1], optarg))
            break;
    }
    if (c == -1 && optind == argc)
        return;
    usage(stderr, argv[0], options, count);
    exit(2);
}

static bool find_precision(const char *name, gnn_precision_t *precision)
{
    static const char *const names[] = {"highest", "high", "medium"};
    for (int k = 0; k < 3; k++)
        if (strcmp(name, names[k]) == 0) {
            *precision = (gnn_precision_t)(GNN_PRECISION_HIGHEST + k);
            return true;
        }
    return false;
}

void bench_open(bench_t *b, int argc, char **argv, const bench_option_t *options)
{
    bench_option_t all[MOST_OPTIONS] = {{"threads", BENCH_NUMBER, &b->threads},
                                        {"repeat", BENCH_NUMBER, &b->repeat},
                                        {"warm", BENCH_NUMBER, &b->warm},
                                        {"precision", BENCH_TEXT, &b->precision}};
    gnn_precision_t precision = GNN_PRECISION_DEFAULT;
    int count = 4;
    *b = (bench_t){.threads = 2, .repeat = 10, .warm = -1, .precision = "highest"};
    for (; options->name && count < MOST_OPTIONS; options++)
        all[count++] = *options;
    read_options(argc, argv, all, count);
    if (!find_precision(b->precision, &precision) || b->repeat < 1 || b->threads > 1024) {
        usage(stderr, argv[0], all, count);
        exit(2);
    }
    gnn_context_config_t config = {.threads = (int)b->threads, .precision = precision};
    if (gnn_context_new(&b->context, &config) != GNN_OK)
        exit(bench_close(b, GNN_EMEMORY));
    b->threads = gnn_context_threads(b->context);
}

int bench_close(bench_t *b, int rc)
{
    if (rc == GNN_OK)
        rc = gnn_profile_write(b->context, stderr); /* if GNN_PROFILE is set */
    if (rc != GNN_OK)
        fprintf(stderr, "%s%s%s\n", gnn_error_string(rc), *gnn_error_message() ? ": " : "",
                gnn_error_message());
    gnn_context_free(b->context);
    return rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- measuring ---- */

double bench_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A line of /proc/self/status in MB; 0 if it is missing. */
static double status_mb(const char *name)
{
    char line[256];
    double kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

void bench_begin(bench_t *b)
{
    /* Excludes memory for reading the data: returns freed pages to the system, and resets the
     * peak. */
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    b->before_mb = status_mb("VmRSS:");
}

void bench_peak(bench_t *b)
{
    b->peak_mb = status_mb("VmHWM:");
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *ms, int64_t n)
{
    double *sorted = malloc((size_t)n * sizeof *sorted);
    double middle = 0;
    if (sorted) {
        memcpy(sorted, ms, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    }
    free(sorted);
    return middle;
}

static void summarise(bench_t *b, const double *ms, int64_t warm)
{
    const double *timed = ms + warm;
    const int64_t all = warm + b->repeat;
    b->first_ms = ms[0];
    b->early_ms = all >= 5 ? median(ms, 5) : 0;
    b->late_ms = all >= 30 ? median(ms + 20, 10) : 0;
    b->median_ms = median(timed, b->repeat);
    b->min_ms = timed[0];
    b->mean_ms = 0;
    for (int64_t k = 0; k < b->repeat; k++) {
        b->mean_ms += timed[k] / (double)b->repeat;
        b->min_ms = timed[k] < b->min_ms ? timed[k] : b->min_ms;
    }
}

int bench_time(bench_t *b, int64_t warm, int (*step)(void *user), void *user)
{
    if (b->warm >= 0)
        warm = b->warm;
    const int64_t all = warm + b->repeat;
    double *ms = calloc((size_t)all, sizeof *ms);
    int rc = ms ? GNN_OK : GNN_EMEMORY;
    for (int64_t k = 0; k < all && rc == GNN_OK; k++) {
        double start = bench_seconds();
        rc = step(user);
        ms[k] = 1e3 * (bench_seconds() - start);
    }
    if (rc == GNN_OK) {
        summarise(b, ms, warm);
        bench_peak(b);
    }
    free(ms);
    return rc;
}

/* ---- random numbers ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t bench_random(uint64_t seed, uint64_t k)
{
    uint64_t z = (k + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double bench_uniform(uint64_t seed, uint64_t k)
{
    return (double)(bench_random(seed, k) >> 11) * 0x1p-53;
}

/* The sum of four uniform random numbers: cheap, and no benchmark depends on the tails. */
gnn_real_t bench_normal(uint64_t seed, uint64_t k)
{
    const double scale = 1.7320508075688772 / 65536; /* the variance of one is 1/12 */
    uint64_t r = bench_random(seed, k);
    double sum = (double)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));
    return (gnn_real_t)(scale * (sum - 2 * 65535.0));
}

gnn_real_t *bench_normals(uint64_t seed, int64_t rows, int64_t cols)
{
    gnn_real_t *x = malloc((size_t)(rows * cols) * sizeof *x);
    for (int64_t k = 0; x && k < rows * cols; k++)
        x[k] = bench_normal(seed, (uint64_t)k);
    return x;
}
