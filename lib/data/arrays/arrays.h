/* Shared by readers and writers: the container of arrays, their types, files that are read by
 * offset and written by rename. */
#ifndef GNN_LIB_DATA_ARRAYS_ARRAYS_H
#define GNN_LIB_DATA_ARRAYS_ARRAYS_H

#include <gnn/io.h>
#include <lib/base/room.h>

#define GNN__MAX_DIMENSIONS 8
/* The type of gnn_real_t. */
#define GNN__REAL_DTYPE (GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32)

/* ---- types ---- */

typedef struct gnn__element {
    const char *name, *npy,
        *safetensors; /* "int32", "<i4", "I32"; NULL: the format has no such type */
    size_t size;
    bool integer; /* bool counts as one */
} gnn__element_t;
/* NULL if `dtype` is not in the enum. */
const gnn__element_t *gnn__element(gnn_dtype_t dtype);
int gnn__element_types(void);

/* Product of a shape; rejects a shape whose non-zero dimensions overflow, wherever the zero is. */
bool gnn__shape_count(int ndim, const int64_t *shape, int64_t *count);
/* "2708 x 1433", "" for a scalar; static storage per thread. */
const char *gnn__shape_words(int ndim, const int64_t *shape);
/* Element k of an integer array; an unsigned one past INT64_MAX gives INT64_MAX. */
int64_t gnn__array_int(const gnn_array_t *array, int64_t k);
/* Converts all elements of an array to reals, into `out` (array->count). */
void gnn__array_reals(const gnn_array_t *array, gnn_real_t *out);
/* Validates an array for writing: name, type, shape and count agree, data is not NULL. */
int gnn__array_check(const gnn_array_t *array, int64_t *bytes);
/* The same without the data. */
int gnn__array_check_shape(const gnn_array_t *array, int64_t *bytes);
int gnn__arrays_check(int64_t count, const gnn_array_t *arrays);

/* ---- the container ---- */

typedef struct gnn__left_out {
    char *name, *type;
    int64_t rows; /* its first dimension; -1: unknown */
    char text[8]; /* its value, if it is one short text in bytes (type |S1 to |S7); else empty */
} gnn__left_out_t;

struct gnn_arrays {
    gnn_array_t *items;
    int64_t count, capacity;
    const gnn_array_t **by_name;
    gnn__left_out_t *left_out; /* omitted arrays of the file: not numeric, or not wanted */
    int64_t n_left_out, left_out_capacity;
    char *(*metadata)[2];
    int64_t n_metadata;
    void *map; /* the mapped file that holds the data; NULL: data is allocated */
    size_t mapped;
};

int gnn__arrays_new(gnn_arrays_t **arrays);
/* Takes ownership of `data` on success; type, ndim, shape and count are those of `like`. The first
 * `length` bytes of `name` are copied. */
int gnn__arrays_add(gnn_arrays_t *arrays, const char *name, size_t length, const gnn_array_t *like,
                    void *data);
int gnn__arrays_leave_out(gnn_arrays_t *arrays, const char *name, size_t length,
                          const gnn__left_out_t *like);
/* Call after the last array, before gnn_arrays_find; GNN_EFORMAT: duplicate names. */
int gnn__arrays_seal(gnn_arrays_t *arrays);
/* The type, as named in the file, of an omitted array; NULL if there is none of that name. */
const char *gnn__arrays_left_out(const gnn_arrays_t *arrays, const char *name);
/* The arrays that were not wanted, or are not numeric. */
const gnn__left_out_t *gnn__arrays_unread(const gnn_arrays_t *arrays, int64_t *count);

/* The user's limits with defaults filled in. */
gnn_limits_t gnn__limits_or_defaults(const gnn_limits_t *limits);
/* Unpacked limit of `packed` bytes by max_growth; the first `free` bytes are always allowed. */
uint64_t gnn__growth_room(const gnn_limits_t *limits, uint64_t free, uint64_t packed);
/* gnn_npz_read of the arrays for whose names (of `length` bytes) `wanted` is true; the others are
 * neither unpacked nor counted. NULL: all. */
typedef bool (*gnn__wanted_t)(const char *name, size_t length);
int gnn__npz_read_wanted(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits,
                         gnn__wanted_t wanted);

/* gnn_safetensors_read with a mapped file, which must not be truncated before gnn_arrays_free.
 * Misaligned data is read into memory instead. */
int gnn__safetensors_map(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits);
/* Releases the array's pages of a mapped file until they are read again; no effect without a
 * map. */
void gnn__arrays_release(const gnn_arrays_t *arrays, const gnn_array_t *array);
/* Gives `count` elements of an array, from element `at` on, in order and until the next call. */
typedef struct gnn__array_reader {
    int (*read)(void *user, int64_t array, int64_t at, int64_t count, const void **data);
    void *user;
} gnn__array_reader_t;
/* gnn_safetensors_write with data that are made while they are written, some megabytes at a time;
 * reader NULL: those of the arrays. */
int gnn__safetensors_stream(const char *path, int64_t n_arrays, const gnn_array_t *arrays,
                            int64_t n_metadata, const char *const (*metadata)[2],
                            const gnn__array_reader_t *reader);

/* ---- files ---- */

typedef struct gnn__file {
    int fd; /* -1: closed */
    int64_t size;
    const char *name; /* without folders, for messages */
} gnn__file_t;

/* Opens a non-empty regular file; anything else is GNN_EIO. Never blocks on a FIFO. */
int gnn__file_open(gnn__file_t *file, const char *path);
/* Sets *there for an optional file. GNN_EIO: unknown, or a dangling link. A file that exists but
 * cannot be read is an error later, not missing. */
int gnn__file_there(bool *there, const char *path);
/* Reads exactly `bytes` bytes from offset `at`. */
int gnn__file_read(const gnn__file_t *file, int64_t at, void *out, int64_t bytes);
void gnn__file_close(gnn__file_t *file);
/* The part of a path after its last '/'. */
const char *gnn__file_name(const char *path);
/* A hash of the machine or container in which this process id is unique. */
uint32_t gnn__process_place(void);

/* *name = a name for a temporary file or folder that becomes `path`, unique among all calls and
 * processes; `plain`: without the name of the target, which may be too long. For gnn_free. */
int gnn__temporary_name(char **name, const char *path, bool plain);
/* Removes temporary files and folders of killed writers of `path`. */
void gnn__temporaries_sweep(const char *path);

/* Atomic output: written to a temporary file in the same folder, synced, renamed. */
typedef struct gnn__output {
    const char *path;
    char *temporary; /* NULL: nothing to clean up */
    int fd;
} gnn__output_t;

int gnn__output_open(gnn__output_t *output, const char *path);
int gnn__output_write(gnn__output_t *output, const void *data, int64_t bytes);
/* Syncs, renames, syncs the folder. */
int gnn__output_commit(gnn__output_t *output);
/* Removes an output that was not committed; no effect after a commit. */
void gnn__output_close(gnn__output_t *output);

/* ---- .npy ---- */

#define GNN__NPY_PREFIX 12 /* bytes that gnn__npy_prefix may look at */
#define GNN__NPY_MAX_HEADER 10000

typedef struct gnn__npy {
    bool left_out; /* not of a numeric type: objects, text, structures, dates, complex */
    char type[24]; /* as written in the file, truncated */
    bool fortran;
    gnn_array_t like; /* dtype, ndim, shape, count */
    int64_t bytes;
} gnn__npy_t;

/* Offset and length of the header, from the first 12 bytes. */
int gnn__npy_prefix(const unsigned char prefix[GNN__NPY_PREFIX], int64_t *start, int64_t *length);
/* Parses the header: a Python dictionary of exactly three keys. */
int gnn__npy_parse(gnn__npy_t *npy, const char *text, int64_t length);
/* Releases whole pages of an array of gnn_npy_map, from byte `at` on, until they are read again. */
void gnn__npy_forget(const gnn_array_t *array, size_t at, size_t bytes);
/* Converts Fortran order to C order. */
void gnn__npy_transpose(const gnn_array_t *like, const void *fortran, void *c);
/* Magic, version and header of an array, padded to 64 bytes; released with gnn_free. */
int gnn__npy_header(char **header, int64_t *length, const gnn_array_t *array);

/* The hash of a text of known length in blocks, of which all but the last have a multiple of 8
 * bytes: h = gnn__hash_start(GNN__HASH_START, bytes), then h = gnn__hash_words(h, block, size). */
uint64_t gnn__hash_start(uint64_t h, uint64_t bytes);
uint64_t gnn__hash_words(uint64_t h, const void *data, size_t bytes);

#define GNN__NOTE_KEY "gnn.note" /* of gnn_model_set_note */
#define GNN__CHECKSUM_KEY "gnn.checksum"
/* Over every array (name, type, shape, bytes) and every string of the metadata but the checksum
 * itself, in any order. */
uint64_t gnn__checksum(int64_t n_arrays, const gnn_array_t *arrays, int64_t n_metadata,
                       const char *const (*metadata)[2]);
int gnn__checksum_check(const gnn_arrays_t *file);

#endif
