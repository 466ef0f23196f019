/* Files made byte by byte, for the suites of readers: a zip writer with arbitrary headers, .npy and
 * safetensors with any header. */
#ifndef GNN_TESTS_IO_BYTES_H
#define GNN_TESTS_IO_BYTES_H

#include "support.h"

#include <dirent.h>
#include <lib/data/arrays/arrays.h>
#include <stdio.h>
#include <unistd.h>

typedef struct bytes {
    unsigned char at[1 << 16];
    size_t n;
} bytes_t;

static inline void put(bytes_t *b, const void *data, size_t n)
{
    ck_assert_uint_le(b->n + n, sizeof b->at);
    if (n > 0) /* `data` of an empty array may be NULL */
        memcpy(b->at + b->n, data, n);
    b->n += n;
}

static inline void put_number(bytes_t *b, uint64_t value, int size)
{
    for (int k = 0; k < size; k++) {
        unsigned char byte = (unsigned char)(value >> (8 * k));
        put(b, &byte, 1);
    }
}

static inline uint32_t crc_of(const unsigned char *data, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t k = 0; k < n; k++) {
        crc ^= data[k];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* ---- a folder of the test's own ---- */

static char test_folder[64];

static inline const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

static inline void make_folder(void)
{
    strcpy(test_folder, "/tmp/libgnn-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(test_folder));
}

/* Count of the files in the folder; optionally removes them. */
static inline int count_files(int remove_them)
{
    int count = 0;
    DIR *folder = opendir(test_folder);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *d; (d = readdir(folder)) != NULL;)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
            count++;
            if (remove_them && unlink(in_folder(d->d_name)) != 0)
                rmdir(in_folder(d->d_name));
        }
    closedir(folder);
    return count;
}

static inline void remove_folder(void)
{
    count_files(1);
    ck_assert_int_eq(rmdir(test_folder), 0);
}

static inline const char *write_bytes(const char *name, const void *data, size_t n)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

static inline size_t read_bytes(const char *path, bytes_t *b)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    b->n = fread(b->at, 1, sizeof b->at, f);
    fclose(f);
    return b->n;
}

/* ---- .npy ---- */

/* Version `major`.0 with this dictionary and data. */
static inline void put_npy(bytes_t *b, int major, const char *dictionary, const void *data, size_t n)
{
    size_t length = strlen(dictionary) + 1;
    put(b, "\x93NUMPY", 6);
    put_number(b, (uint64_t)major, 2);
    put_number(b, length, major == 1 ? 2 : 4);
    put(b, dictionary, length - 1);
    put(b, "\n", 1);
    put(b, data, n);
}

/* ---- zip ---- */

typedef struct zip_entry {
    const char *name;
    const void *data;
    size_t size;
    int deflate;            /* as one block of deflate that stores */
    int zip64, descriptor;  /* as numpy writes to streams */
    unsigned flags, method; /* added to the honest ones */
    uint32_t bad_crc;       /* flipped into the honest one */
    int64_t declared;       /* added to the true unpacked size, in both directories */
    int64_t packed;         /* added to the true packed size, in both directories */
    uint32_t central_crc;   /* flipped into the central directory's alone */
    int same_as_before;     /* central entry that points to the bytes of the entry before it */
} zip_entry_t;

static inline void put_zip_header(bytes_t *b, const zip_entry_t *e, int central, uint64_t offset)
{
    uint64_t size = e->size + (uint64_t)e->declared,
             packed = e->size + (e->deflate ? 5 : 0) + (uint64_t)e->packed;
    uint32_t crc = crc_of(e->data, e->size) ^ e->bad_crc ^ (central ? e->central_crc : 0);
    int absent = e->descriptor && !central;
    put(b, central ? "PK\1\2" : "PK\3\4", 4);
    if (central)
        put_number(b, 45, 2);
    put_number(b, 45, 2);
    put_number(b, e->flags | (e->descriptor ? 8u : 0), 2);
    put_number(b, (e->deflate ? 8u : 0) + e->method, 2);
    put_number(b, 0x210000, 4);
    put_number(b, absent ? 0 : crc, 4);
    put_number(b, e->zip64 ? UINT32_MAX : absent ? 0 : packed, 4);
    put_number(b, e->zip64 ? UINT32_MAX : absent ? 0 : size, 4);
    put_number(b, strlen(e->name), 2);
    put_number(b, e->zip64 ? 20 : 0, 2);
    if (central) {
        put_number(b, 0,
                   /* comment length, disk, internal and the first half of the external
                    * attributes */
                   8);
        put_number(b, 0, 2);
        put_number(b, offset, 4);
    }
    put(b, e->name, strlen(e->name));
    if (e->zip64) {
        put_number(b, 1, 2);
        put_number(b, 16, 2);
        put_number(b, absent ? 0 : size, 8);
        put_number(b, absent ? 0 : packed, 8);
    }
}

static inline void put_zip_data(bytes_t *b, const zip_entry_t *e)
{
    if (e->deflate) {
        put_number(b, 1, 1);
        put_number(b, e->size, 2);
        put_number(b, ~(uint64_t)e->size, 2);
    }
    put(b, e->data, e->size);
    if (e->descriptor) {
        put(b, "PK\7\10", 4);
        put_number(b, crc_of(e->data, e->size), 4);
        put_number(b, e->size + (e->deflate ? 5 : 0), e->zip64 ? 8 : 4);
        put_number(b, e->size, e->zip64 ? 8 : 4);
    }
}

static inline void put_zip(bytes_t *b, const zip_entry_t *entries, int n)
{
    uint64_t offset[64];
    ck_assert_int_le(n, 64);
    for (int k = 0; k < n; k++) {
        offset[k] = k > 0 && entries[k].same_as_before ? offset[k - 1] : b->n;
        if (entries[k].same_as_before)
            continue;
        put_zip_header(b, &entries[k], 0, 0);
        put_zip_data(b, &entries[k]);
    }
    uint64_t start = b->n;
    for (int k = 0; k < n; k++)
        put_zip_header(b, &entries[k], 1, offset[k]);
    uint64_t size = b->n - start;
    put(b, "PK\5\6", 4);
    put_number(b, 0, 4);
    put_number(b, (uint64_t)n, 2);
    put_number(b, (uint64_t)n, 2);
    put_number(b, size, 4);
    put_number(b, start, 4);
    put_number(b, 0, 2);
}

/* ---- safetensors ---- */

static inline void put_safetensors(bytes_t *b, const char *header, const void *data, size_t n)
{
    put_number(b, strlen(header), 8);
    put(b, header, strlen(header));
    put(b, data, n);
}

/* ---- what all suites of readers do ---- */

typedef int (*reader_t)(gnn_arrays_t **, const char *, const gnn_limits_t *);

/* Reads a file that must be refused; nothing may be handed out. */
static inline void refused(reader_t read, const bytes_t *b, const gnn_limits_t *limits, int code,
                           const char *words)
{
    gnn_arrays_t *arrays = (gnn_arrays_t *)1;
    ck_fails(read(&arrays, write_bytes("bad", b->at, b->n), limits), code, words);
    ck_assert_ptr_null(arrays);
    ck_assert_msg(strncmp(gnn_error_message(), "bad", 3) == 0, "\"%s\" does not name the file",
                  gnn_error_message());
}

static inline gnn_arrays_t *accepted(reader_t read, const bytes_t *b)
{
    gnn_arrays_t *arrays = NULL;
    ck_ok(read(&arrays, write_bytes("good", b->at, b->n), NULL));
    return arrays;
}

/* A little of everything: types of all widths, ranks 0 to 3, an empty one. */
#define SAMPLES 13
static inline void sample(gnn_array_t arrays[SAMPLES])
{
    static const uint64_t zoo[12] = {0x3c00bf80,         1, 2, UINT64_MAX, 0x0100, 77,
                                     0x7fc0000000000001, 8, 9, 10,         11,     12};
    static const char *const names[SAMPLES] = {"b",  "i1", "u1", "i2", "i4", "i8",   "f4",
                                               "f8", "f2", "u2", "u4", "u8", "empty"};
    static const gnn_dtype_t types[SAMPLES] = {
        GNN_DTYPE_BOOL,   GNN_DTYPE_INT8,    GNN_DTYPE_UINT8,   GNN_DTYPE_INT16,   GNN_DTYPE_INT32,
        GNN_DTYPE_INT64,  GNN_DTYPE_FLOAT32, GNN_DTYPE_FLOAT64, GNN_DTYPE_FLOAT16, GNN_DTYPE_UINT16,
        GNN_DTYPE_UINT32, GNN_DTYPE_UINT64,  GNN_DTYPE_FLOAT32};
    for (int k = 0; k < SAMPLES; k++) {
        int ndim = k % 4;
        arrays[k] = (gnn_array_t){names[k], types[k], ndim, {0}, 1, zoo};
        for (int d = 0; d < ndim; d++)
            arrays[k].count *= arrays[k].shape[d] = d + 1 + (d == 0);
    }
    arrays[SAMPLES - 1] = (gnn_array_t){"empty", GNN_DTYPE_FLOAT32, 2, {0, 5}, 0, NULL};
}

static inline void check_sample(const gnn_arrays_t *got, const gnn_array_t *want, int count)
{
    ck_assert_int_eq(got->count, count);
    for (int k = 0; k < count; k++) {
        const gnn_array_t *a = gnn_arrays_find(got, want[k].name);
        ck_assert_msg(a != NULL, "%s is missing", want[k].name);
        ck_assert_int_eq(a->dtype, want[k].dtype);
        ck_assert_int_eq(a->ndim, want[k].ndim);
        ck_assert_mem_eq(a->shape, want[k].shape, sizeof a->shape);
        ck_assert_int_eq(a->count, want[k].count);
        ck_assert_uint_eq((uintptr_t)a->data % 8, 0);
        if (a->count)
            ck_assert_mem_eq(a->data, want[k].data, (size_t)a->count * gnn__element(a->dtype)->size);
    }
    ck_assert_ptr_null(gnn_arrays_find(got, "nothing"));
    ck_assert_ptr_null(gnn_arrays_at(got, count));
    ck_assert_ptr_null(gnn_arrays_at(got, -1));
}

#endif
