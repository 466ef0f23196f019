/* Checked sizes, and every allocation of the library: objects, lists, arenas. */
#include <lib/base/room.h>

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local int64_t fail_at, made;

int64_t gnn__fail_allocation(int64_t n)
{
    int64_t before = made;
    fail_at = n;
    made = 0;
    return before;
}

bool gnn__allocation_fails(void)
{
    made++;
    return fail_at != 0 && made == fail_at;
}

int gnn__bytes(int64_t count, size_t element, const char *what, size_t *bytes)
{
    int64_t product;
    if (!gnn__mul(count, (int64_t)element, &product) || product > (int64_t)(PTRDIFF_MAX / 2))
        return gnn__error(GNN_EOVERFLOW, "%s: the size of %lld elements of %zu bytes overflows",
                          what, (long long)count, element);
    *bytes = (size_t)product;
    return GNN_OK;
}

enum { LINE = 64, HUGE_PAGE = 2 << 20, FIRST_ROOM = 16 };

void *gnn__aligned(size_t bytes)
{
    const bool big = bytes >= HUGE_PAGE;
    void *memory = NULL;
    if (gnn__allocation_fails() ||
        posix_memalign(&memory, big ? HUGE_PAGE : LINE, bytes ? bytes : 1) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (big) /* huge pages save gathers TLB misses */
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

void gnn__huge_pages(void *memory, size_t bytes, bool may)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
                    first = ((uintptr_t)memory + page - 1) / page * page,
                    last = ((uintptr_t)memory + bytes) / page * page;
    if (first < last) /* advice: an error changes nothing */
        madvise((void *)first, last - first, may ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)memory;
    (void)bytes;
    (void)may;
#endif
}

void gnn__zero_pages(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory,
                    end = begin + bytes, first = (begin + page - 1) / page * page,
                    last = end / page * page;
    if (bytes < HUGE_PAGE || madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        memset(memory, 0, bytes);
        return;
    }
    memset(memory, 0, first - begin);
    memset((void *)last, 0, end - last);
}

int gnn__new(void *out, int64_t count, size_t element, const char *what)
{
    void **target = out;
    size_t bytes;
    int rc = gnn__bytes(count, element, what, &bytes);
    if (rc != GNN_OK)
        return rc;
    void *memory = gnn__aligned(bytes);
    if (!memory)
        return gnn__error(GNN_EMEMORY, "%s: no memory for %zu bytes", what, bytes);
    memset(memory, 0, bytes);
    *target = memory;
    return GNN_OK;
}

int gnn__grow(void *inout, int64_t old, int64_t count, size_t element, const char *what)
{
    void **target = inout, *memory;
    int rc = gnn__new(&memory, count, element, what);
    if (rc != GNN_OK)
        return rc;
    int64_t kept = old < count ? old : count;
    if (*target && kept > 0)
        memcpy(memory, *target, (size_t)kept * element);
    gnn_free(*target);
    *target = memory;
    return GNN_OK;
}

int gnn__room(void *list, int64_t count, int64_t *capacity, size_t element, const char *what)
{
    int64_t wanted;
    if (count < *capacity)
        return GNN_OK;
    if (!gnn__add(*capacity, *capacity ? *capacity : FIRST_ROOM, &wanted))
        return gnn__error(GNN_EOVERFLOW, "%s: the count of %lld elements overflows", what,
                          (long long)count);
    GNN_TRY(gnn__grow(list, *capacity, wanted, element, what));
    *capacity = wanted;
    return GNN_OK;
}

int gnn__one_more(void *list, int64_t count, size_t element, const char *what)
{
    if ((count & (count - 1)) != 0)
        return GNN_OK;
    return gnn__grow(list, count, count ? 2 * count : 1, element, what);
}

int gnn__reserve(void *array, int64_t *room, int64_t count, size_t element, const char *what)
{
    if (*(void **)array && count <= *room)
        return GNN_OK;
    *room = 0;
    GNN_TRY(gnn__grow(array, 0, count + count / 8, element, what));
    *room = count + count / 8;
    return GNN_OK;
}

int gnn__strdup(char **out, const char *text)
{
    size_t bytes = strlen(text) + 1;
    int rc = gnn__new(out, (int64_t)bytes, 1, "a string");
    if (rc == GNN_OK)
        memcpy(*out, text, bytes);
    return rc;
}

int gnn__asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    int rc = gnn__new(out, (int64_t)length + 1, 1, "a string");
    if (rc != GNN_OK)
        return rc;
    va_start(arguments, format);
    vsnprintf(*out, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return GNN_OK;
}

void gnn_free(void *memory)
{
    free(memory);
}

/* ---- arenas ---- */

/* Arenas: one aligned block each, which grows between uses, never during one. */

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGNMENT = 64 };

static void *block_new(const gnn_allocator_t *allocator, size_t bytes)
{
    if (!allocator || !allocator->allocate)
        return gnn__aligned(bytes);
    return gnn__allocation_fails() ? NULL : allocator->allocate(allocator->user, ALIGNMENT, bytes);
}

static void block_free(const gnn_allocator_t *allocator, void *memory, size_t bytes)
{
    if (!memory)
        return;
    UNPOISON(memory, bytes);
    if (allocator && allocator->allocate)
        allocator->release(allocator->user, memory, bytes);
    else
        free(memory);
}

int gnn__arena_reserve(gnn__arena_t *arena, size_t bytes, const char *what)
{
    if (bytes > (size_t)PTRDIFF_MAX / 2)
        return gnn__error(GNN_EOVERFLOW, "%s: the size of %zu bytes overflows", what, bytes);
    if (bytes <= arena->capacity) {
        gnn__arena_reset(arena);
        return GNN_OK;
    }
    size_t capacity = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    /* Freed first, since both blocks together would double the peak. */
    block_free(arena->allocator, arena->base, arena->capacity);
    arena->base = NULL;
    arena->capacity = arena->used = 0;
    void *memory = block_new(arena->allocator, capacity);
    if (!memory)
        return gnn__error(GNN_EMEMORY, "%s: no memory for %zu bytes", what, capacity);
    arena->base = memory;
    arena->capacity = capacity;
    gnn__arena_reset(arena);
    return GNN_OK;
}

void *gnn__arena_take(gnn__arena_t *arena, size_t bytes)
{
    size_t padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (padded < bytes || padded > arena->capacity - arena->used)
        return NULL;
    char *memory = arena->base + arena->used;
    arena->used += padded;
    UNPOISON(memory, bytes);
    return memory;
}

void gnn__arena_reset(gnn__arena_t *arena)
{
    arena->used = 0;
    if (arena->base)
        POISON(arena->base, arena->capacity);
}

void gnn__arena_free(gnn__arena_t *arena)
{
    block_free(arena->allocator, arena->base, arena->capacity);
    arena->base = NULL;
    arena->capacity = arena->used = 0;
}
