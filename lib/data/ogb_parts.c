/* Parts of OGB's folders: files with either extension, lines of one and of two fields, splits. */
#include <lib/data/ogb_parts.h>

#include <lib/data/arrays/arrays.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* FOLDER/PART.csv.gz or FOLDER/PART.csv; *there is false if there is neither. */
static int find_part(char **path, bool *there, const char *folder, const char *part)
{
    GNN_TRY(gnn__asprintf(path, "%s/%s.csv.gz", folder, part));
    char *ending = *path + strlen(*path) - 3;
    int rc = gnn__file_there(there, *path);
    const bool packed = rc == GNN_OK && *there;
    *ending = '\0';
    if (rc == GNN_OK)
        rc = gnn__file_there(there, *path);
    if (rc == GNN_OK && packed && *there)
        rc = gnn__error(GNN_EFORMAT,
                        "%s: is there with and without .gz: one of the two is expected", *path);
    if (rc == GNN_OK && !*there) {
        *ending = '.';
        *there = packed;
    }
    if (rc != GNN_OK) {
        gnn_free(*path);
        *path = NULL;
    }
    return rc;
}

int gnn__ogb_has_part(const char *folder, const char *part, bool *there)
{
    char *path;
    GNN_TRY(find_part(&path, there, folder, part));
    gnn_free(path);
    return GNN_OK;
}

int gnn__ogb_open_part(gnn__text_t *text, const char *folder, const char *part,
                       const gnn_limits_t *limits)
{
    char *path;
    bool there;
    *text = (gnn__text_t){0};
    GNN_TRY(find_part(&path, &there, folder, part));
    int rc = gnn__text_open_limits(text, path, limits);
    text->delimiter = ',';
    /* the path is freed, the literal is not; messages name the part */
    text->name = gnn__file_name(part);
    gnn_free(path);
    return rc;
}

int gnn__ogb_only_field(gnn__text_t *text, gnn__text_field_t *field)
{
    gnn__text_field_t next;
    GNN_TRY(gnn__text_field(text, field));
    GNN_TRY(gnn__text_field(text, &next));
    return next.at ? gnn__text_error(text, &next, GNN_EFORMAT,
                                     "one value per line is expected, got %s too",
                                     gnn__field_shown(&next))
                   : GNN_OK;
}

int gnn__ogb_two_fields(gnn__text_t *text, gnn__text_field_t field[2])
{
    gnn__text_field_t next;
    GNN_TRY(gnn__text_field(text, &field[0]));
    GNN_TRY(gnn__text_field(text, &field[1]));
    GNN_TRY(gnn__text_field(text, &next));
    return !field[1].at || next.at
               ? gnn__text_error(text, NULL, GNN_EFORMAT, "two node ids are expected, got %s",
                                 next.at ? "more" : "one")
               : GNN_OK;
}

/* ---- splits ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Masks are allocated for all splits at once: a thousand empty splits must not take gigabytes. */
enum { MOST_SPLITS = 100 };

static int is_folder(bool *is, const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return gnn__error(GNN_EIO, "%s: %s", path, strerror(errno));
    *is = S_ISDIR(s.st_mode);
    return GNN_OK;
}

static int list_folders(gnn__ogb_schemes_t *schemes, const char *folder)
{
    int rc = GNN_OK;
    DIR *opened = opendir(folder);
    if (!opened)
        return errno == ENOENT ? GNN_OK : gnn__error(GNN_EIO, "%s: %s", folder, strerror(errno));
    for (struct dirent *d; rc == GNN_OK && (d = readdir(opened)) != NULL;) {
        if (d->d_name[0] == '.')
            continue;
        if (schemes->count == MOST_SPLITS) {
            rc = gnn__error(GNN_EFORMAT, "%s: more than %d splits", folder, MOST_SPLITS);
            break;
        }
        char *path = NULL;
        bool is = false;
        rc = gnn__asprintf(&path, "%s/%s", folder, d->d_name);
        if (rc == GNN_OK)
            rc = is_folder(&is, path);
        if (rc == GNN_OK && is)
            rc = gnn__room(&schemes->paths, schemes->count, &schemes->room, sizeof *schemes->paths,
                           "splits");
        if (rc == GNN_OK && is)
            schemes->paths[schemes->count++] = path;
        else
            gnn_free(path);
    }
    closedir(opened);
    if (rc == GNN_OK && schemes->count > 1)
        qsort(schemes->paths, (size_t)schemes->count, sizeof *schemes->paths, compare_names);
    return rc;
}

int gnn__ogb_schemes_list(gnn__ogb_schemes_t *schemes, const char *folder)
{
    char *path;
    GNN_TRY(gnn__asprintf(&path, "%s/split", folder));
    int rc = list_folders(schemes, path);
    gnn_free(path);
    return rc;
}

void gnn__ogb_schemes_free(gnn__ogb_schemes_t *schemes)
{
    for (int64_t s = 0; s < schemes->count; s++)
        gnn_free(schemes->paths[s]);
    gnn_free(schemes->paths);
    *schemes = (gnn__ogb_schemes_t){0};
}

const char *const gnn__ogb_scheme_parts[3] = {
    [GNN_TRAIN] = "train", [GNN_VALIDATION] = "valid", [GNN_TEST] = "test"};

int gnn__ogb_scheme_read(const char *path, const gnn_limits_t *limits,
                         int (*mark)(void *user, int part, gnn__text_t *text), void *user)
{
    for (int k = 0; k < 3; k++) {
        gnn__text_t text;
        GNN_TRY(gnn__ogb_open_part(&text, path, gnn__ogb_scheme_parts[k], limits));
        int rc = mark(user, k, &text);
        gnn__text_free(&text);
        GNN_TRY(rc);
    }
    return GNN_OK;
}
