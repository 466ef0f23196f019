/* Arenas: one aligned block each, grown between uses, never during one. */
#include <lib/base/base.h>

#include <stdlib.h>

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
        return gnn__error(GNN_EOVERFLOW, "%s: %zu bytes do not fit", what, bytes);
    if (bytes <= arena->capacity) {
        gnn__arena_reset(arena);
        return GNN_OK;
    }
    size_t capacity = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    /* The old block goes first: the two together would double the peak. */
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
