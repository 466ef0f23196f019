/* Removal of temporary files and folders whose writers were killed. */
#include <lib/data/arrays/arrays.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Is `name` a temporary "BASE.PID-COUNT-PLACE.tmp" whose process has ended? Those of other machines
 * or containers cannot be judged and stay. */
static bool abandoned(const char *name, const char *base)
{
    size_t length = strlen(base);
    int end = 0;
    long pid;
    unsigned count, place;
    if (strncmp(name, base, length) != 0 ||
        sscanf(name + length, ".%ld-%u-%8x.tmp%n", &pid, &count, &place, &end) != 3 || end == 0 ||
        name[length + (size_t)end] || place != gnn__process_place())
        return false;
    return pid > 1 && pid <= INT32_MAX && getpgid((pid_t)pid) < 0 && errno == ESRCH;
}

/* Removes a file, or a folder of files. */
static void remove_one(int in, const char *name)
{
    if (unlinkat(in, name, 0) == 0)
        return;
    const int fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *d; entries && (d = readdir(entries)) != NULL;)
        unlinkat(fd, d->d_name, 0);
    if (entries)
        closedir(entries);
    else if (fd >= 0)
        close(fd);
    unlinkat(in, name, AT_REMOVEDIR);
}

void gnn__temporaries_sweep(const char *path)
{
    const char *base = gnn__file_name(path);
    char *folder = NULL;
    if (gnn__asprintf(&folder, "%.*s", base > path ? (int)(base - path) : 1,
                      base > path ? path : ".") != GNN_OK)
        return;
    DIR *entries = opendir(folder);
    for (struct dirent *d; entries && (d = readdir(entries)) != NULL;)
        if (abandoned(d->d_name, base))
            remove_one(dirfd(entries), d->d_name);
    if (entries)
        closedir(entries);
    gnn_free(folder);
}
