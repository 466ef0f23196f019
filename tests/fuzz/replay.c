/* Stands in for libFuzzer where a compiler has none: runs a target on the files of the folders that
 * are named, and on changed copies of each, always the same ones. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8192, COPIES = 100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned int seed);
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *memory);

/* Without a sanitizer only time is measured. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *))
{
    (void)on_malloc, (void)on_free;
    return 0;
}

size_t __sanitizer_get_allocated_size(const volatile void *memory)
{
    (void)memory;
    return 0;
}

static uint32_t state = 1;

static size_t draw(size_t n)
{
    state = state * 1664525u + 1013904223u;
    return n > 0 ? (size_t)(state >> 8) % n : 0;
}

/* Changes one byte, leaves some out, or repeats some. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    const size_t at = draw(size), n = draw(size - at < 16 ? size - at : 16);
    switch (size > 0 ? draw(3) : 3) {
    case 0: data[at] = (uint8_t)draw(256); return size;
    case 1: memmove(data + at, data + at + n, size - at - n); return size - n;
    case 2:
        if (size + n > max_size)
            return size;
        memmove(data + at + n, data + at, size - at);
        return size + n;
    default: return size;
    }
}

/* The target gets a block of just these bytes, so that a read past them is seen. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_file(const char *path)
{
    static uint8_t seed[LONGEST], data[LONGEST];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    const size_t size = fread(seed, 1, LONGEST, file);
    fclose(file);
    run(seed, size);
    for (int k = 0; k < COPIES; k++) {
        size_t n = size;
        memcpy(data, seed, size);
        for (size_t times = 1 + draw(3); times > 0; times--)
            n = LLVMFuzzerCustomMutator
                    ? LLVMFuzzerCustomMutator(data, n, LONGEST, (unsigned int)draw(1 << 20))
                    : LLVMFuzzerMutate(data, n, LONGEST);
        run(data, n);
    }
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int k = 1; k < argc; k++) {
        struct dirent **entries;
        const int count = scandir(argv[k], &entries, NULL, alphasort);
        for (int i = 0; i < count; i++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[k], entries[i]->d_name);
            if (*entries[i]->d_name != '.') {
                run_file(path);
                files++;
            }
            free(entries[i]);
        }
        if (count >= 0)
            free(entries);
    }
    printf("%d files\n", files);
    return files == 0;
}
