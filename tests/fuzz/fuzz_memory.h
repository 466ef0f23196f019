/* Files in memory, so that an input costs no system calls: paths below /fuzz/ are served from a
 * table. run.sh links with --wrap for each function here; other paths go to the system. */
#ifndef GNN_TESTS_FUZZ_MEMORY_H
#define GNN_TESTS_FUZZ_MEMORY_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUZZ_ROOT "/fuzz/"
enum { FUZZ_FILES = 64, FUZZ_FD = 1 << 20 };

typedef struct {
    char path[128]; /* "": a free slot */
    uint8_t *data;
    size_t size, room;
    bool there;
} fuzz_memory_t;

static fuzz_memory_t fuzz_memory[FUZZ_FILES];

/* Sets the contents of a file below FUZZ_ROOT. */
static inline const char *fuzz_memory_set(const char *path, const uint8_t *data, size_t size,
                                          bool there)
{
    fuzz_memory_t *f = fuzz_memory;
    while (f < fuzz_memory + FUZZ_FILES && *f->path && strcmp(f->path, path) != 0)
        f++;
    if (f == fuzz_memory + FUZZ_FILES || strlen(path) >= sizeof f->path)
        abort();
    strcpy(f->path, path);
    if (size > f->room || !f->data) {
        f->room = 2 * size + 64;
        free(f->data);
        f->data = malloc(f->room);
        if (!f->data)
            abort();
    }
    if (size > 0)
        memcpy(f->data, data, size);
    f->size = size;
    f->there = there;
    return f->path;
}

static inline bool fuzz_is_memory(const char *path)
{
    return strncmp(path, FUZZ_ROOT, strlen(FUZZ_ROOT)) == 0;
}

static inline const fuzz_memory_t *fuzz_memory_find(const char *path)
{
    for (size_t k = 0; k < FUZZ_FILES && *fuzz_memory[k].path; k++)
        if (fuzz_memory[k].there && strcmp(fuzz_memory[k].path, path) == 0)
            return &fuzz_memory[k];
    return NULL;
}

static inline const fuzz_memory_t *fuzz_memory_of(int fd)
{
    return fd >= FUZZ_FD && fd < FUZZ_FD + FUZZ_FILES ? &fuzz_memory[fd - FUZZ_FD] : NULL;
}

/* The part of a path after the folder, or NULL. */
static inline const char *fuzz_memory_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/')
        n--;
    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static inline bool fuzz_is_folder(const char *path)
{
    for (size_t k = 0; k < FUZZ_FILES && *fuzz_memory[k].path; k++)
        if (fuzz_memory[k].there && fuzz_memory_below(fuzz_memory[k].path, path))
            return true;
    return false;
}

/* A descriptor of the system with the same contents. */
static inline int fuzz_memory_copy(const fuzz_memory_t *f)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, f->data, f->size, 0) != (ssize_t)f->size)
        abort();
    return fd;
}

static inline int fuzz_memory_stat(const char *path, struct stat *s)
{
    const fuzz_memory_t *f = fuzz_memory_find(path);
    memset(s, 0, sizeof *s);
    if (!f && !fuzz_is_folder(path)) {
        errno = ENOENT;
        return -1;
    }
    s->st_mode = f ? S_IFREG | 0600 : S_IFDIR | 0700;
    s->st_size = f ? (off_t)f->size : 0;
    return 0;
}

/* ---- functions of the system ---- */

#define FUZZ_WRAP(result, name, ...)   \
    result __real_##name(__VA_ARGS__); \
    result __wrap_##name(__VA_ARGS__); \
    result __wrap_##name(__VA_ARGS__)

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (!fuzz_is_memory(path))
        return __real_open64(path, flags, mode);
    const fuzz_memory_t *f = fuzz_memory_find(path);
    errno = ENOENT;
    if (f)
        return FUZZ_FD + (int)(f - fuzz_memory);
    return fuzz_is_folder(path) ? __real_open64("/dev", flags) : -1;
}

FUZZ_WRAP(int, stat64, const char *path, struct stat *s)
{
    return fuzz_is_memory(path) ? fuzz_memory_stat(path, s) : __real_stat64(path, s);
}

FUZZ_WRAP(int, lstat64, const char *path, struct stat *s)
{
    return fuzz_is_memory(path) ? fuzz_memory_stat(path, s) : __real_lstat64(path, s);
}

FUZZ_WRAP(int, fstat64, int fd, struct stat *s)
{
    const fuzz_memory_t *f = fuzz_memory_of(fd);
    return f ? fuzz_memory_stat(f->path, s) : __real_fstat64(fd, s);
}

FUZZ_WRAP(ssize_t, pread64, int fd, void *to, size_t n, off_t at)
{
    const fuzz_memory_t *f = fuzz_memory_of(fd);
    if (!f)
        return __real_pread64(fd, to, n, at);
    if (at < 0 || (size_t)at >= f->size)
        return 0;
    n = n < f->size - (size_t)at ? n : f->size - (size_t)at;
    memcpy(to, f->data + at, n);
    return (ssize_t)n;
}

FUZZ_WRAP(void *, mmap64, void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    const fuzz_memory_t *f = fuzz_memory_of(fd);
    if (!f)
        return __real_mmap64(at, n, protection, flags, fd, from);
    const int copy = fuzz_memory_copy(f);
    void *map = __real_mmap64(at, n, protection, flags, copy, from);
    close(copy);
    return map;
}

FUZZ_WRAP(int, dup, int fd)
{
    const fuzz_memory_t *f = fuzz_memory_of(fd);
    return f ? fuzz_memory_copy(f) : __real_dup(fd);
}

FUZZ_WRAP(int, close, int fd)
{
    return fuzz_memory_of(fd) ? 0 : __real_close(fd);
}

/* A folder that is being listed: its files, and folders by the first component. */
typedef struct {
    char path[128];
    size_t at;
    struct dirent entry;
} fuzz_listing_t;

static fuzz_listing_t fuzz_listing;

static inline bool fuzz_is_listing(const DIR *folder)
{
    return (const void *)folder == &fuzz_listing;
}

FUZZ_WRAP(DIR *, opendir, const char *path)
{
    if (!fuzz_is_memory(path))
        return __real_opendir(path);
    errno = ENOENT;
    if (!fuzz_is_folder(path) || strlen(path) >= sizeof fuzz_listing.path)
        return NULL;
    strcpy(fuzz_listing.path, path);
    fuzz_listing.at = 0;
    return (DIR *)(void *)&fuzz_listing;
}

FUZZ_WRAP(struct dirent *, readdir64, DIR *folder)
{
    fuzz_listing_t *l = &fuzz_listing;
    if (!fuzz_is_listing(folder))
        return __real_readdir64(folder);
    while (l->at < FUZZ_FILES && *fuzz_memory[l->at].path) {
        const fuzz_memory_t *f = &fuzz_memory[l->at++];
        const char *name = f->there ? fuzz_memory_below(f->path, l->path) : NULL;
        if (!name)
            continue;
        const size_t n = strcspn(name, "/");
        memcpy(l->entry.d_name, name, n);
        l->entry.d_name[n] = '\0';
        l->entry.d_type = name[n] ? DT_DIR : DT_REG;
        return &l->entry;
    }
    return NULL;
}

FUZZ_WRAP(int, closedir, DIR *folder)
{
    return fuzz_is_listing(folder) ? 0 : __real_closedir(folder);
}

#endif
