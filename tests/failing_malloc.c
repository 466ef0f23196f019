/* A malloc to preload: the allocation with the index FAIL_AT fails, with FAIL_ALL later ones too;
 * their count is written to the file FAIL_COUNT (tests/house/memory.sh). */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long made;
static long fails_at = -1;
static int all;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    all = getenv("FAIL_ALL") != NULL;
    made = 0;
    fails_at = at ? atol(at) : -1;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    const long count = made;
    fails_at = -1;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", count);
        fclose(file);
    }
}

static int fails(void)
{
    const long k = atomic_fetch_add(&made, 1);
    if (fails_at < 0 || k < fails_at || (k > fails_at && !all))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made_now = fails() ? NULL : __libc_memalign(alignment, bytes);
    if (!made_now)
        return ENOMEM;
    *memory = made_now;
    return 0;
}

#endif
