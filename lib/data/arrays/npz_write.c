/* Writes .npz: one deflated .npy per array; output is deterministic. */
#include <lib/data/arrays/arrays.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zip.h>

/* The earliest date of zip, 1980-01-01. */
enum { DOS_TIME = 0, DOS_DATE = 1 << 5 | 1 };

static int failed(zip_t *zip, const char *path)
{
    zip_error_t *error = zip_get_error(zip);
    int code = zip_error_code_zip(error) == ZIP_ER_MEMORY   ? GNN_EMEMORY
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
        rc = gnn__error_prefix(failed(zip, path), "array %.80s", array->name);
        zip_source_free(source);
    } else if (zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 0) != 0 ||
               zip_file_set_dostime(zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0) {
        rc = failed(zip, path);
    }
    gnn_free(name);
    return rc;
}

static int write_archive(gnn__output_t *output, int64_t count, const gnn_array_t *arrays,
                         char **headers)
{
    int why = 0, rc = GNN_OK;
    zip_t *zip = zip_open(output->temporary, ZIP_CREATE | ZIP_TRUNCATE, &why);
    if (!zip) {
        zip_error_t error;
        zip_error_init_with_code(&error, why);
        rc = gnn__error(why == ZIP_ER_MEMORY ? GNN_EMEMORY : GNN_EIO, "%s: %s", output->path,
                        zip_error_strerror(&error));
        zip_error_fini(&error);
        return rc;
    }
    for (int64_t k = 0; k < count && rc == GNN_OK; k++)
        rc = add(zip, output->path, &arrays[k], &headers[k]);
    if (rc == GNN_OK && zip_close(zip) == 0)
        return GNN_OK;
    if (rc == GNN_OK)
        rc = failed(zip, output->path);
    zip_discard(zip);
    return rc;
}

/* libzip writes a temporary file and renames it over ours, so that one must be synced. It does not
 * write archives without entries. */
static int reopen(gnn__output_t *output, int64_t count)
{
    static const char none[22] = "PK\5\6";
    if (count == 0)
        return gnn__output_write(output, none, sizeof none);
    close(output->fd);
    output->fd = open(output->temporary, O_RDONLY | O_CLOEXEC);
    return output->fd >= 0 ? GNN_OK : gnn__error(GNN_EIO, "%s: %s", output->path, strerror(errno));
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
    if (count > 0)
        GNN_CHECK(write_archive(&output, count, arrays, headers));
    GNN_CHECK(reopen(&output, count));
    GNN_CHECK(gnn__output_commit(&output));
done:
    gnn__output_close(&output);
    for (int64_t k = 0; headers && k < count; k++)
        gnn_free(headers[k]);
    gnn_free(headers);
    return rc;
}
