/* Files: regular ones are read by offset; output is written to a temporary file and renamed. */
#include <lib/data/arrays/arrays.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

const char *gnn__file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

int gnn__file_open(gnn__file_t *file, const char *path)
{
    struct stat s;
    *file = (gnn__file_t){.fd = -1};
    if (!path)
        return gnn__error(GNN_EINVALID, "path is NULL");
    file->name = gnn__file_name(path);
    do
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0)
        return gnn__error(GNN_EIO, "%s: %s", path, strerror(errno));
    int rc = GNN_OK;
    if (fstat(file->fd, &s) != 0)
        rc = gnn__error(GNN_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(s.st_mode))
        rc = gnn__error(GNN_EIO, "%s: is %s, a regular file is expected", path, kind(s.st_mode));
    else if (s.st_size == 0)
        rc = gnn__error(GNN_EFORMAT, "%s: is empty", path);
    else
        file->size = (int64_t)s.st_size;
    if (rc != GNN_OK)
        gnn__file_close(file);
    return rc;
}

int gnn__file_there(bool *there, const char *path)
{
    struct stat s;
    *there = stat(path, &s) == 0;
    if (*there)
        return GNN_OK;
    const int why = errno;
    if (why != ENOENT && why != ENOTDIR)
        return gnn__error(GNN_EIO, "%s: %s", path, strerror(why));
    if (lstat(path, &s) != 0)
        return GNN_OK;
    return gnn__error(GNN_EIO, "%s: is a link to a file that is missing", path);
}

int gnn__file_read(const gnn__file_t *file, int64_t at, void *out, int64_t bytes)
{
    int64_t done = 0;
    while (done < bytes) {
        int64_t wanted = bytes - done < 1 << 30 ? bytes - done : 1 << 30;
        ssize_t got = pread(file->fd, (char *)out + done, (size_t)wanted, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gnn__error(GNN_EIO, "%s: reading at byte %lld: %s", file->name,
                              (long long)(at + done), strerror(errno));
        if (got == 0)
            return gnn__error(GNN_EIO, "%s: ends at byte %lld, %lld more were expected", file->name,
                              (long long)(at + done), (long long)(bytes - done));
        done += got;
    }
    return GNN_OK;
}

void gnn__file_close(gnn__file_t *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

uint32_t gnn__process_place(void)
{
    char host[256] = "";
    struct stat s;
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    gethostname(host, sizeof host - 1);
    for (const char *c = host; *c; c++)
        sum = (sum ^ (unsigned char)*c) * 1099511628211u;
    sum ^= stat("/proc/self/ns/pid", &s) == 0 ? (uint64_t)s.st_ino : 0;
    sum *= 1099511628211u;
    return (uint32_t)(sum ^ sum >> 32);
}

int gnn__temporary_name(char **name, const char *path, bool plain)
{
    static atomic_uint calls;
    const int all = (int)strlen(path), folder = (int)(gnn__file_name(path) - path);
    return gnn__asprintf(name, "%.*s%s.%ld-%u-%08x.tmp", plain ? folder : all, path,
                         plain ? "gnn" : "", (long)getpid(), atomic_fetch_add(&calls, 1),
                         gnn__process_place());
}

/* Opened without mkstemp, so that the user's umask applies to the result. */
static int open_temporary(gnn__output_t *output)
{
    bool plain = false; /* a short name, for targets whose names are too long for a suffix */
    for (int attempt = 0; attempt < 100; attempt++) {
        GNN_TRY(gnn__temporary_name(&output->temporary, output->path, plain));
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd >= 0)
            return GNN_OK;
        int why = errno;
        gnn_free(output->temporary);
        output->temporary = NULL;
        if (why == ENAMETOOLONG && !plain) { /* the target's own name may still fit */
            plain = true;
            continue;
        }
        if (why != EEXIST && why != EINTR)
            return gnn__error(GNN_EIO, "%s: %s", output->path, strerror(why));
    }
    return gnn__error(GNN_EIO, "%s: no free name for a temporary file next to it", output->path);
}

int gnn__output_open(gnn__output_t *output, const char *path)
{
    struct stat s;
    *output = (gnn__output_t){.path = path, .fd = -1};
    if (!path)
        return gnn__error(GNN_EINVALID, "path is NULL");
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return gnn__error(GNN_EIO, "%s: is %s, a regular file would be replaced", path,
                          kind(s.st_mode));
    return open_temporary(output);
}

int gnn__output_write(gnn__output_t *output, const void *data, int64_t bytes)
{
    for (int64_t done = 0; done < bytes;) {
        int64_t wanted = bytes - done < 1 << 30 ? bytes - done : 1 << 30;
        ssize_t put = write(output->fd, (const char *)data + done, (size_t)wanted);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return gnn__error(GNN_EIO, "%s: writing: %s", output->path,
                              strerror(put < 0 ? errno : ENOSPC));
        done += put;
    }
    return GNN_OK;
}

/* A rename is durable once its folder is synced. Some file systems cannot sync folders, which is
 * not an error of the write. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    if (slash && gnn__asprintf(&folder, "%.*s", (int)(slash - path + 1), path) != GNN_OK)
        return;
    int fd = open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    gnn_free(folder);
}

int gnn__output_commit(gnn__output_t *output)
{
    if (fsync(output->fd) != 0)
        return gnn__error(GNN_EIO, "%s: syncing: %s", output->path, strerror(errno));
    int closed = close(output->fd);
    output->fd = -1;
    if (closed != 0 && errno != EINTR)
        return gnn__error(GNN_EIO, "%s: closing: %s", output->path, strerror(errno));
    if (rename(output->temporary, output->path) != 0)
        return gnn__error(GNN_EIO, "%s: renaming into place: %s", output->path, strerror(errno));
    gnn_free(output->temporary);
    output->temporary = NULL;
    sync_folder(output->path);
    return GNN_OK;
}

void gnn__output_close(gnn__output_t *output)
{
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary)
        unlink(output->temporary);
    gnn_free(output->temporary);
    output->fd = -1;
    output->temporary = NULL;
}
