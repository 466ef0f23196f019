/* The line of JSON, with fields in order of the calls. */
#include "bench.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool begun;

static void name_of(const char *name)
{
    printf("%s\"%s\": ", begun ? ", " : "{", name);
    begun = true;
}

void bench_text(const char *name, const char *value)
{
    name_of(name);
    putchar('"');
    for (; *value; value++) {
        if (strchr("\"\\", *value))
            putchar('\\');
        putchar(iscntrl((unsigned char)*value) ? ' ' : *value);
    }
    putchar('"');
}

void bench_whole(const char *name, int64_t value)
{
    name_of(name);
    printf("%lld", (long long)value);
}

void bench_number(const char *name, double value)
{
    name_of(name);
    printf("%.4f", value);
}

void bench_flag(const char *name, bool value)
{
    name_of(name);
    fputs(value ? "true" : "false", stdout);
}

/* The value of `key` in gnn_build_info(), up to a comma. */
static void part_of_info(const char *name, const char *key)
{
    char word[64] = "";
    const char *at = strstr(gnn_build_info(), key);
    if (at)
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at + strlen(key), ","), at + strlen(key));
    bench_text(name, word);
}

void bench_print(const bench_t *b)
{
    static const char *const levels[] = {"default", "highest", "high", "medium"};
    bench_text("library", "libgnn");
    bench_whole("threads", b->threads);
    bench_whole("repeat", b->repeat);
    bench_number("before_mb", b->before_mb);
    if (b->first_ms > 0)
        bench_number("first_ms", b->first_ms);
    if (b->early_ms > 0)
        bench_number("median_1_5_ms", b->early_ms);
    if (b->late_ms > 0)
        bench_number("median_21_30_ms", b->late_ms);
    bench_number("median_ms", b->median_ms);
    bench_number("min_ms", b->min_ms);
    bench_number("mean_ms", b->mean_ms);
    bench_number("peak_mb", b->peak_mb);
    bench_text("precision", b->precision);
    bench_text("precision_used", levels[gnn_context_precision_used(b->context)]);
    bench_text("real", GNN_DOUBLE ? "double" : "float");
    part_of_info("isa", "kernels ");
    part_of_info("openblas_core", "core ");
    bench_text("version", gnn_version());
    puts("}");
    begun = false;
}
