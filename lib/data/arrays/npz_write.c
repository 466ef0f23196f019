/* Writes .npz: one deflated .npy per array; output is deterministic. */
#include <lib/data/arrays/arrays.h>

#include <errno.h>
#include <unistd.h>
#include <zip.h>

/* The earliest date of zip, 1980-01-01. */
enum { DOS_TIME = 0, DOS_DATE = 1 << 5 | 1 };

static int failed(zip_error_t *error, const char *path)
{
    if (errno == ENOMEM) /* libzip has no code for some of its allocations */
        zip_error_set(error, ZIP_ER_MEMORY, ENOMEM);
    const int code = zip_error_code_zip(error) == ZIP_ER_MEMORY   ? GNN_EMEMORY
                     : zip_error_code_zip(error) == ZIP_ER_EXISTS ? GNN_EINVALID
                                                                  : GNN_EIO;
    return gnn__error(code, "%s: %s", path, zip_error_strerror(error));
}

/* `header` must live until the archive is closed: only then does libzip read header and data, in
 * place. */
static int add(zip_t *zip, const char *path, const gnn_array_t *array, char **header)
{
    int64_t length, bytes;
    char *name;
    GNN_TRY(gnn__array_check(array, &bytes));
    GNN_TRY(gnn__npy_header(header, &length, array));
    GNN_TRY(gnn__asprintf(&name, "%s.npy", array->name));
    zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)*header, (zip_uint64_t)length},
                                      {(zip_uint8_t *)array->data, (zip_uint64_t)bytes}};
    zip_source_t *source = zip_source_buffer_fragment(zip, parts, bytes > 0 ? 2 : 1, 0);
    zip_int64_t index = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    int rc = GNN_OK;
    if (index < 0) {
        rc = gnn__error_prefix(failed(zip_get_error(zip), path), "array %.80s", array->name);
        zip_source_free(source);
    } else if (zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 0) != 0 ||
               zip_file_set_dostime(zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0) {
        rc = failed(zip_get_error(zip), path);
    }
    gnn_free(name);
    return rc;
}

/* ---- libzip's writes into our temporary file ----
 * Given a name, libzip writes a file of its own next to it, whose random name it asks of OpenSSL,
 * which dereferences NULL where memory for its first use is short. */

typedef struct archive {
    int fd;
    zip_int64_t at, size; /* of the next byte; of the file */
    zip_error_t error;
} archive_t;

static zip_int64_t write_bytes(archive_t *a, const char *data, zip_uint64_t bytes)
{
    zip_uint64_t done = 0;
    while (done < bytes) {
        const ssize_t n = pwrite(a->fd, data + done, (size_t)(bytes - done), (off_t)a->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            zip_error_set(&a->error, ZIP_ER_WRITE, n < 0 ? errno : ENOSPC);
            return -1;
        }
        done += (zip_uint64_t)n;
        a->at += n;
        a->size = a->at > a->size ? a->at : a->size;
    }
    return (zip_int64_t)done;
}

static zip_int64_t move(archive_t *a, void *data, zip_uint64_t bytes)
{
    const zip_int64_t at = zip_source_seek_compute_offset((zip_uint64_t)a->at, (zip_uint64_t)a->size,
                                                          data, bytes, &a->error);
    a->at = at < 0 ? a->at : at;
    return at < 0 ? -1 : 0;
}

/* A new archive is written, so that reads find nothing. */
static zip_int64_t on_command(void *of, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    archive_t *a = of;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: return (zip_int64_t)ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: zip_stat_init(data); return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&a->error, data, bytes);
    case ZIP_SOURCE_WRITE: return write_bytes(a, data, bytes);
    case ZIP_SOURCE_SEEK_WRITE: return move(a, data, bytes);
    case ZIP_SOURCE_TELL_WRITE: return a->at;
    default: return 0;
    }
}

static zip_t *create(archive_t *a, zip_error_t *error)
{
    zip_source_t *source = zip_source_function_create(on_command, a, error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, error) : NULL;
    if (!zip)
        zip_source_free(source);
    return zip;
}

static int write_archive(gnn__output_t *output, int64_t count, const gnn_array_t *arrays,
                         char **headers)
{
    archive_t archive = {.fd = output->fd};
    zip_error_t error;
    int rc = GNN_OK;
    zip_error_init(&error);
    zip_error_init(&archive.error);
    errno = 0;
    zip_t *zip = create(&archive, &error);
    if (!zip)
        rc = failed(&error, output->path);
    for (int64_t k = 0; k < count && rc == GNN_OK; k++)
        rc = add(zip, output->path, &arrays[k], &headers[k]);
    if (rc == GNN_OK && zip_close(zip) == 0)
        zip = NULL;
    else if (rc == GNN_OK)
        rc = failed(zip_get_error(zip), output->path);
    if (zip)
        zip_discard(zip);
    zip_error_fini(&archive.error);
    zip_error_fini(&error);
    return rc;
}

/* libzip does not write archives without entries. */
static int write_none(gnn__output_t *output)
{
    static const char none[22] = "PK\5\6";
    return gnn__output_write(output, none, sizeof none);
}

int gnn_npz_write(const char *path, int64_t count, const gnn_array_t *arrays)
{
    GNN__NEED(path);
    GNN__NEED_LIST(arrays, count);
    gnn__output_t output = {.fd = -1};
    char **headers = NULL;
    int rc;
    GNN_CHECK(gnn__arrays_check(count, arrays));
    GNN_CHECK(gnn__new(&headers, count, sizeof *headers, "npy headers"));
    GNN_CHECK(gnn__output_open(&output, path));
    GNN_CHECK(count > 0 ? write_archive(&output, count, arrays, headers) : write_none(&output));
    GNN_CHECK(gnn__output_commit(&output));
done:
    gnn__output_close(&output);
    for (int64_t k = 0; headers && k < count; k++)
        gnn_free(headers[k]);
    gnn_free(headers);
    return rc;
}
