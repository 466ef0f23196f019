/* A memory-mapped .npy file: the header is read and checked, the data is mapped and paged in on
 * access. */
#include <lib/data/arrays/arrays.h>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct mapping {
    void *memory;
    size_t bytes;
    char *name;
} mapping_t;

static void unmap(void *user)
{
    mapping_t *m = user;
    munmap(m->memory, m->bytes);
    gnn_free(m->name);
    gnn_free(m);
}

static int read_header(const gnn__file_t *file, gnn__npy_t *npy, int64_t *data_at)
{
    unsigned char prefix[GNN__NPY_PREFIX];
    char text[GNN__NPY_MAX_HEADER];
    int64_t start, length;
    if (file->size < GNN__NPY_PREFIX)
        return gnn__error(GNN_EFORMAT, "%lld bytes are not a .npy array", (long long)file->size);
    GNN_TRY(gnn__file_read(file, 0, prefix, GNN__NPY_PREFIX));
    GNN_TRY(gnn__npy_prefix(prefix, &start, &length));
    if (length > file->size - start)
        return gnn__error(GNN_EFORMAT, "declares a header of %lld bytes, the file holds %lld",
                          (long long)length, (long long)(file->size - start));
    GNN_TRY(gnn__file_read(file, start, text, length));
    *data_at = start + length;
    return gnn__npy_parse(npy, text, length);
}

/* Can the bytes after the header be used in place? */
static int check(const gnn__file_t *file, const gnn__npy_t *npy, int64_t data_at)
{
    if (npy->left_out)
        return gnn__error(GNN_EUNSUPPORTED, "holds no plain values (its type is '%s')", npy->type);
    const gnn__element_t *type = gnn__element(npy->like.dtype);
    if (npy->bytes != file->size - data_at)
        return gnn__error(GNN_EFORMAT, "declares %lld %s (%lld bytes), the file holds %lld",
                          (long long)npy->like.count, type->name, (long long)npy->bytes,
                          (long long)(file->size - data_at));
    if (npy->fortran && npy->like.ndim > 1)
        return gnn__error(GNN_EUNSUPPORTED, "is in Fortran order, C order is mapped");
    if (data_at % (int64_t)type->size != 0)
        return gnn__error(GNN_EUNSUPPORTED, "its %s begin at byte %lld, which is not aligned",
                          type->name, (long long)data_at);
    return GNN_OK;
}

static int map(const gnn__file_t *file, mapping_t **out)
{
    mapping_t *m;
    GNN_TRY(gnn__new(&m, 1, sizeof *m, "a mapped file"));
    m->bytes = (size_t)file->size;
    int rc = gnn__strdup(&m->name, file->name);
    if (rc == GNN_OK) {
        m->memory = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
        if (m->memory != MAP_FAILED) {
            *out = m;
            return GNN_OK;
        }
        rc = gnn__error(errno == ENOMEM ? GNN_EMEMORY : GNN_EIO, "mapping: %s", strerror(errno));
    }
    gnn_free(m->name);
    gnn_free(m);
    return rc;
}

int gnn_npy_map(gnn_array_t *array, gnn_owner_t *owner, const char *path)
{
    GNN__NEED(path);
    gnn__file_t file;
    gnn__npy_t npy = {0};
    mapping_t *mapping = NULL;
    int64_t data_at = 0;
    GNN__NEED(array);
    GNN__NEED(owner);
    *array = (gnn_array_t){0};
    *owner = (gnn_owner_t){0};
    GNN_TRY(gnn__file_open(&file, path));
    int rc = read_header(&file, &npy, &data_at);
    if (rc == GNN_OK)
        rc = check(&file, &npy, data_at);
    if (rc == GNN_OK)
        rc = map(&file, &mapping);
    gnn__file_close(&file);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "%s", file.name);
    *array = npy.like;
    array->name = mapping->name;
    array->data = (const char *)mapping->memory + data_at;
    *owner = (gnn_owner_t){unmap, mapping};
    return GNN_OK;
}

void gnn__npy_forget(const gnn_array_t *array, size_t at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
                    begin = ((uintptr_t)array->data + at + page - 1) / page * page,
                    end = ((uintptr_t)array->data + at + bytes) / page * page;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}
