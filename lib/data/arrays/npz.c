/* Reads .npz: a zip archive of .npy files. Sizes from the central directory are checked against the
 * file, the limits and each array's header before allocation; unpacked bytes are counted here,
 * independently of the declared sizes. */
#include <lib/data/arrays/arrays.h>

#include <errno.h>
#include <unistd.h>
#include <zip.h>

enum { FREE_MIB = 64 }; /* unpacked, whatever the file's size */

typedef struct reader {
    zip_t *zip;
    gnn__file_t file;
    gnn_limits_t limits;
    gnn_arrays_t *arrays;
    gnn__wanted_t wanted;
    uint64_t packed, unpacked; /* of the entries so far */
} reader_t;

typedef struct entry {
    zip_file_t *stream;
    const char *name;
    int64_t size; /* unpacked, from the central directory */
} entry_t;

/* ---- libzip's errors in our words ---- */

static int failed(int why, const char *words)
{
    if (errno == ENOMEM) /* whatever libzip makes of it */
        return gnn__error(GNN_EMEMORY, "no memory for the archive");
    switch (why) {
    case ZIP_ER_MEMORY: return gnn__error(GNN_EMEMORY, "no memory for the archive");
    case ZIP_ER_NOZIP: return gnn__error(GNN_EFORMAT, "is not a .npz: there is no zip directory");
    case ZIP_ER_INCONS: return gnn__error(GNN_EFORMAT, "the zip directory is inconsistent");
    case ZIP_ER_EXISTS: return gnn__error(GNN_EFORMAT, "two entries have the same name");
    case ZIP_ER_CRC:
        return gnn__error(GNN_EFORMAT, "the data does not match its checksum (bad CRC)");
    case ZIP_ER_EOF: return gnn__error(GNN_EFORMAT, "the file ends too early");
    case ZIP_ER_ZLIB:
    case ZIP_ER_COMPRESSED_DATA: return gnn__error(GNN_EFORMAT, "the compressed data is damaged");
    case ZIP_ER_SEEK: /* an invalid offset of the directory */
        return gnn__error(GNN_EFORMAT, "the zip directory points outside the file");
    case ZIP_ER_OPEN:
    case ZIP_ER_READ:
    case ZIP_ER_TELL: return gnn__error(GNN_EIO, "reading failed (%s)", words);
    default: return gnn__error(GNN_EFORMAT, "the archive cannot be read (%s)", words);
    }
}

static int check_content(const reader_t *r, zip_uint64_t entries);

/* Uses a stream, not zip_fdopen, whose errno can be a code of libzip's own (from 1.9 on), one of
 * which equals ENOMEM. */
static zip_t *open_stream(const gnn__file_t *file, int flags, zip_error_t *error)
{
    const int fd = dup(file->fd);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!stream) {
        zip_error_set(error, ZIP_ER_OPEN, errno);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    zip_source_t *source = zip_source_filep_create(stream, 0, -1, error);
    zip_t *zip = source ? zip_open_from_source(source, flags, error) : NULL;
    if (!source)
        fclose(stream);
    else if (!zip)
        zip_source_free(source); /* closes the stream */
    return zip;
}

/* A rejected archive may contain another, which the message then names. */
static int open_unchecked(reader_t *r)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_t *zip = open_stream(&r->file, ZIP_RDONLY, &error);
    zip_error_fini(&error);
    if (!zip)
        return GNN_OK;
    const reader_t other = {.zip = zip, .wanted = r->wanted};
    int rc = check_content(&other, (zip_uint64_t)zip_get_num_entries(zip, 0));
    zip_discard(zip);
    return rc;
}

static int open_archive(reader_t *r)
{
    zip_error_t error;
    zip_error_init(&error);
    errno = 0;
    r->zip = open_stream(&r->file, ZIP_CHECKCONS | ZIP_RDONLY, &error);
    int rc = GNN_OK;
    if (!r->zip && zip_error_code_zip(&error) == ZIP_ER_INCONS)
        rc = open_unchecked(r);
    if (!r->zip && rc == GNN_OK)
        rc = failed(zip_error_code_zip(&error), zip_error_strerror(&error));
    zip_error_fini(&error);
    return rc;
}

/* ---- one entry ---- */

static int check_entry(reader_t *r, const zip_stat_t *s)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((s->valid & needed) != needed || s->size > INT64_MAX || s->comp_size > INT64_MAX)
        return gnn__error(GNN_EFORMAT, "the zip directory says nothing usable about its size");
    if (s->encryption_method != ZIP_EM_NONE)
        return gnn__error(GNN_EFORMAT, "is encrypted");
    if (s->comp_method != ZIP_CM_STORE && s->comp_method != ZIP_CM_DEFLATE)
        return gnn__error(
            GNN_EFORMAT,
            "compression method %u is not known, only stored (0) and deflate (8) are read",
            (unsigned)s->comp_method);
    if (s->comp_method == ZIP_CM_STORE && s->size != s->comp_size)
        return gnn__error(GNN_EFORMAT, "is stored as it is, yet declares %llu bytes of %llu",
                          (unsigned long long)s->size, (unsigned long long)s->comp_size);
    /* Overlapping entries allow bombs of any ratio: the sum of sizes must not exceed the file's. */
    if (s->comp_size > (uint64_t)r->file.size - r->packed)
        return gnn__error(GNN_EFORMAT,
                          "declares %llu compressed bytes, the file of %lld bytes has room for %llu",
                          (unsigned long long)s->comp_size, (long long)r->file.size,
                          (unsigned long long)((uint64_t)r->file.size - r->packed));
    if (s->size / r->limits.max_ratio > s->comp_size || (s->size > 0 && s->comp_size == 0))
        return gnn__error(GNN_EFORMAT,
                          "declares %llu bytes from %llu compressed ones, the limit is %llu to one",
                          (unsigned long long)s->size, (unsigned long long)s->comp_size,
                          (unsigned long long)r->limits.max_ratio);
    if (s->size > r->limits.max_bytes - r->unpacked)
        return gnn__error(GNN_EFORMAT,
                          "declares %llu bytes, of the limit of %llu for all arrays %llu are left",
                          (unsigned long long)s->size, (unsigned long long)r->limits.max_bytes,
                          (unsigned long long)(r->limits.max_bytes - r->unpacked));
    r->packed += s->comp_size;
    r->unpacked += s->size;
    return GNN_OK;
}

/* Up to `bytes` bytes; *got is less only at the end of the entry. */
static int read_some(const entry_t *e, void *out, int64_t bytes, int64_t *got)
{
    for (*got = 0; *got < bytes;) {
        zip_int64_t n = zip_fread(e->stream, (char *)out + *got, (zip_uint64_t)(bytes - *got));
        if (n < 0) {
            zip_error_t *error = zip_file_get_error(e->stream);
            return failed(zip_error_code_zip(error), zip_error_strerror(error));
        }
        if (n == 0)
            break;
        *got += n;
    }
    return GNN_OK;
}

static int read_exactly(const entry_t *e, void *out, int64_t bytes, const char *what)
{
    int64_t got;
    GNN_TRY(read_some(e, out, bytes, &got));
    if (got < bytes)
        return gnn__error(GNN_EFORMAT, "%s: %lld bytes were expected, the archive holds %lld", what,
                          (long long)bytes, (long long)got);
    return GNN_OK;
}

/* Reading to the end makes libzip verify the checksum, and detects entries larger than declared. */
static int expect_end(const entry_t *e)
{
    char more;
    int64_t got;
    GNN_TRY(read_some(e, &more, 1, &got));
    return got ? gnn__error(GNN_EFORMAT, "unpacks to more than the %lld bytes it declares",
                            (long long)e->size)
               : GNN_OK;
}

static int read_header(const entry_t *e, gnn__npy_t *npy, int64_t *data_at)
{
    unsigned char prefix[GNN__NPY_PREFIX];
    char text[GNN__NPY_MAX_HEADER];
    int64_t start, length, got;
    GNN_TRY(read_some(e, prefix, GNN__NPY_PREFIX, &got));
    if (got < GNN__NPY_PREFIX)
        return gnn__error(GNN_EFORMAT, "%lld bytes are not a .npy array", (long long)got);
    GNN_TRY(gnn__npy_prefix(prefix, &start, &length));
    if (e->size < start + length)
        return gnn__error(GNN_EFORMAT, "declares a header of %lld bytes, the archive holds %lld",
                          (long long)length, (long long)(e->size > start ? e->size - start : 0));
    /* A version 1 prefix has 10 bytes: two bytes of the header have been read already. */
    int64_t early = GNN__NPY_PREFIX - start < length ? GNN__NPY_PREFIX - start : length;
    memcpy(text, prefix + start, (size_t)early);
    GNN_TRY(read_exactly(e, text + early, length - early, "header"));
    *data_at = start + length;
    return gnn__npy_parse(npy, text, length);
}

static int read_data(reader_t *r, const entry_t *e, const gnn__npy_t *npy, int64_t data_at)
{
    const gnn_array_t *like = &npy->like;
    void *data = NULL, *turned = NULL;
    int rc = GNN_OK;
    if (npy->bytes != e->size - data_at)
        return gnn__error(GNN_EFORMAT, "declares %lld %s (%lld bytes), the archive holds %lld",
                          (long long)like->count, gnn__element(like->dtype)->name,
                          (long long)npy->bytes, (long long)(e->size - data_at));
    GNN_CHECK(gnn__new(&data, npy->bytes, 1, "an array"));
    GNN_CHECK(read_exactly(e, data, npy->bytes, "data"));
    GNN_CHECK(expect_end(e));
    if (npy->fortran && like->ndim > 1) {
        GNN_CHECK(gnn__new(&turned, npy->bytes, 1, "an array in C order"));
        gnn__npy_transpose(like, data, turned);
        gnn_free(data);
        data = turned;
    }
    GNN_CHECK(gnn__arrays_add(r->arrays, e->name, strlen(e->name) - 4, like, data));
    data = NULL;
done:
    gnn_free(data);
    return rc;
}

/* Keeps the name, the type and, of one short text in bytes, the value. */
static int leave_out(reader_t *r, const entry_t *e, gnn__npy_t *npy)
{
    gnn__left_out_t like = {.type = npy->type, .rows = npy->like.ndim > 0 ? npy->like.shape[0] : -1};
    const char *size = npy->type + 2;
    int64_t got;
    if (npy->like.ndim == 0 && strncmp(npy->type, "|S", 2) == 0 && *size >= '1' && *size <= '7' &&
        !size[1] && read_some(e, like.text, *size - '0', &got) != GNN_OK)
        like.text[0] = '\0';
    return gnn__arrays_leave_out(r->arrays, e->name, strlen(e->name) - 4, &like);
}

static int read_array(reader_t *r, zip_uint64_t index, entry_t *e)
{
    gnn__npy_t npy;
    int64_t data_at;
    e->stream = zip_fopen_index(r->zip, index, 0);
    if (!e->stream) {
        zip_error_t *error = zip_get_error(r->zip);
        return failed(zip_error_code_zip(error), zip_error_strerror(error));
    }
    int rc = read_header(e, &npy, &data_at);
    if (rc == GNN_OK && npy.left_out)
        rc = leave_out(r, e, &npy);
    else if (rc == GNN_OK)
        rc = read_data(r, e, &npy, data_at);
    zip_fclose(e->stream);
    return rc;
}

static int stat_entry(const reader_t *r, zip_uint64_t index, zip_stat_t *s)
{
    zip_stat_init(s);
    if (zip_stat_index(r->zip, index, ZIP_FL_ENC_RAW, s) == 0 && (s->valid & ZIP_STAT_NAME))
        return GNN_OK;
    zip_error_t *error = zip_get_error(r->zip);
    return gnn__error_prefix(failed(zip_error_code_zip(error), zip_error_strerror(error)),
                             "entry %llu", (unsigned long long)index);
}

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), n = strlen(ending);
    return length >= n && strcmp(name + length - n, ending) == 0;
}

/* Entries that macOS adds to an archive: "__MACOSX/", and "._x.npy" next to x.npy. */
static bool is_of_macos(const char *name)
{
    const char *last = strrchr(name, '/');
    return strncmp(name, "__MACOSX/", 9) == 0 || strncmp(last ? last + 1 : name, "._", 2) == 0;
}

/* A wanted array: not a folder or another file. */
static bool is_wanted(const reader_t *r, const zip_stat_t *s)
{
    return ends_with(s->name, ".npy") && !is_of_macos(s->name) &&
           (!r->wanted || r->wanted(s->name, strlen(s->name) - 4));
}

/* The error for an archive without arrays that contains another archive, or arrays in a folder. */
static int check_content(const reader_t *r, zip_uint64_t entries)
{
    zip_stat_t s, other = {0};
    bool folder = false;
    for (zip_uint64_t k = 0; k < entries; k++) {
        GNN_TRY(stat_entry(r, k, &s));
        if (is_of_macos(s.name))
            continue;
        if (ends_with(s.name, ".npy") && !strchr(s.name, '/'))
            return GNN_OK;
        if (!other.name && (ends_with(s.name, ".npz") || ends_with(s.name, ".npy"))) {
            other = s;
            folder = ends_with(s.name, ".npy");
        }
    }
    if (!other.name || (folder && !r->wanted))
        return GNN_OK;
    return gnn__error(GNN_EFORMAT, "is a zip archive that holds %.80s: %s", other.name,
                      folder ? "arrays are expected outside of folders; zip the files of the folder"
                             : "unpack it first (unzip)");
}

/* Declared sizes are checked before anything is unpacked: a few megabytes of packed zeros would
 * become gigabytes. */
static int check_growth(const reader_t *r, zip_uint64_t entries)
{
    const uint64_t most =
        gnn__growth_room(&r->limits, (uint64_t)FREE_MIB << 20, (uint64_t)r->file.size);
    uint64_t all = 0;
    for (zip_uint64_t k = 0; k < entries; k++) {
        zip_stat_t s;
        GNN_TRY(stat_entry(r, k, &s));
        if (!is_wanted(r, &s) || !(s.valid & ZIP_STAT_SIZE) || !(s.valid & ZIP_STAT_COMP_SIZE) ||
            s.size / r->limits.max_ratio > s.comp_size) /* such entries are rejected individually */
            continue;
        all = s.size > UINT64_MAX - all ? UINT64_MAX : all + s.size;
        if (all > most)
            return gnn__error(
                GNN_EFORMAT,
                "arrays of %llu bytes or more in a file of %lld bytes: expected at most %llu "
                "(gnn_limits_t.max_growth raises it)",
                (unsigned long long)all, (long long)r->file.size, (unsigned long long)most);
    }
    return GNN_OK;
}

/* Notes name and length of an array that is not wanted. One whose header cannot be read is passed
 * over like the other entries. */
static int note_unwanted(reader_t *r, zip_uint64_t index, const zip_stat_t *s)
{
    gnn__npy_t npy;
    int64_t data_at;
    entry_t e = {.name = s->name, .size = (int64_t)s->size};
    if (!ends_with(s->name, ".npy") || strchr(s->name, '/') || is_of_macos(s->name) ||
        !(e.stream = zip_fopen_index(r->zip, index, 0)))
        return GNN_OK;
    const int rc = read_header(&e, &npy, &data_at);
    const int left = rc == GNN_OK ? leave_out(r, &e, &npy) : rc;
    zip_fclose(e.stream);
    return rc == GNN_OK || rc == GNN_EMEMORY ? left : GNN_OK;
}

static int read_entry(reader_t *r, zip_uint64_t index)
{
    zip_stat_t s;
    GNN_TRY(stat_entry(r, index, &s));
    if (!is_wanted(r, &s))
        return note_unwanted(r, index, &s);
    entry_t e = {.name = s.name, .size = (int64_t)s.size};
    int rc = check_entry(r, &s);
    if (rc == GNN_OK)
        rc = read_array(r, index, &e);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%.80s", s.name);
}

/* ---- the archive ---- */

static int read_archive(reader_t *r)
{
    GNN_TRY(open_archive(r));
    GNN_TRY(gnn__arrays_new(&r->arrays));
    zip_int64_t entries = zip_get_num_entries(r->zip, 0);
    if (entries > r->limits.max_entries)
        return gnn__error(GNN_EFORMAT, "%lld entries, the limit is %lld", (long long)entries,
                          (long long)r->limits.max_entries);
    GNN_TRY(check_content(r, (zip_uint64_t)entries));
    GNN_TRY(check_growth(r, (zip_uint64_t)entries));
    for (zip_int64_t k = 0; k < entries; k++)
        GNN_TRY(read_entry(r, (zip_uint64_t)k));
    return gnn__arrays_seal(r->arrays);
}

int gnn_npz_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits)
{
    GNN__NEED(arrays);
    GNN__NEED(path);
    return gnn__npz_read_wanted(arrays, path, limits, NULL);
}

int gnn__npz_read_wanted(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits,
                         gnn__wanted_t wanted)
{
    reader_t r = {.limits = gnn__limits_or_defaults(limits), .wanted = wanted};
    if (!arrays)
        return gnn__error(GNN_EINVALID, "arrays is NULL");
    *arrays = NULL;
    GNN_TRY(gnn__file_open(&r.file, path));
    errno = 0;
    int rc = read_archive(&r);
    if (r.zip)
        zip_discard(r.zip);
    gnn__file_close(&r.file);
    if (rc != GNN_OK) {
        gnn_arrays_free(r.arrays);
        return gnn__error_prefix(rc, "%s", r.file.name);
    }
    *arrays = r.arrays;
    return GNN_OK;
}
