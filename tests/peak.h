/* The process's resident memory and its peak, for tests of memory. */
#ifndef GNN_TESTS_PEAK_H
#define GNN_TESTS_PEAK_H

#include "support.h"

/* Not meaningful under valgrind and sanitizers, which use memory of their own. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEASURABLE 0
#else
#define MEASURABLE 1
#endif

/* A field of /proc/self/status that is in kB, in bytes. */
static inline size_t status_bytes(const char *field)
{
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kb = strtol(line + strlen(field) + 1, NULL, 10);
    if (file)
        fclose(file);
    return (size_t)kb * 1024;
}

/* Starts the peak anew at what is resident now. */
static inline void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static inline bool measurable(const char *test)
{
    if (MEASURABLE && !test_small())
        return true;
    printf("not measured under instrumentation: %s\n", test);
    return false;
}

#endif
