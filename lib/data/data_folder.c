/* Selects the reader of a folder by the files in it. PyG's folders have the original files in raw/,
 * next to processed/. */
#include <lib/data/many.h>

#include <lib/data/arrays/arrays.h>

#include <dirent.h>
#include <errno.h>

typedef int (*read_t)(gnn_data_t *data, const char *path);

/* The files by which formats are known. */
typedef struct found {
    bool partition, tu, geom, raw, ogb, planetoid;
    int64_t content, npz;          /* counts of such files */
    char *content_name, *npz_name; /* the last ones' names */
} found_t;

static int note(char **name, int64_t *count, const char *file)
{
    gnn_free(*name);
    *name = NULL;
    (*count)++;
    return gnn__strdup(name, file);
}

static int look_at(found_t *f, const char *name)
{
    const size_t length = strlen(name), unpacked = gnn__data_unpacked_length(name);
    f->partition = f->partition || strcmp(name, "partition.json") == 0;
    f->tu = f->tu || (length > 6 && strcmp(name + length - 6, "_A.txt") == 0);
    f->geom = f->geom || strcmp(name, "out1_node_feature_label.txt") == 0;
    f->raw = f->raw || strcmp(name, "raw") == 0;
    f->planetoid = f->planetoid || strncmp(name, "ind.", 4) == 0;
    f->ogb =
        f->ogb || strncmp(name, "num-node-list.csv", 17) == 0 || strncmp(name, "edge.csv", 8) == 0;
    if (gnn__data_ends_with(name, unpacked, ".content"))
        return note(&f->content_name, &f->content, name);
    if (gnn__data_ends_with(name, length, ".npz"))
        return note(&f->npz_name, &f->npz, name);
    return GNN_OK;
}

static int look(found_t *f, const char *path)
{
    int rc = GNN_OK;
    DIR *opened = opendir(path);
    *f = (found_t){0};
    if (!opened)
        return gnn__error(GNN_EIO, "%s: %s", path, strerror(errno));
    for (struct dirent *d; rc == GNN_OK && (d = readdir(opened)) != NULL;)
        if (*d->d_name != '.')
            rc = look_at(f, d->d_name);
    closedir(opened);
    return rc;
}

static void free_found(found_t *f)
{
    gnn_free(f->content_name);
    gnn_free(f->npz_name);
}

static int read_file(gnn_data_t *data, read_t read, const char *folder, const char *name)
{
    char *path;
    GNN_TRY(gnn__asprintf(&path, "%s/%s", folder, name));
    const int rc = read(data, path);
    gnn_free(path);
    return rc;
}

/* *known: the folder has a format; the others return GNN_OK with *known false. `raw`: it is the
 * raw/ of a folder, where a .npz alone is the set. */
static int read_known(gnn_data_t *data, const found_t *f, const char *path, bool raw, bool *known)
{
    *known = true;
    if (f->partition)
        return gnn__data_read_folder(data, path);
    if (f->tu)
        return gnn__data_read_tu(data, path);
    if (f->geom)
        return gnn__data_read_geom_gcn(data, path);
    if (f->content == 1)
        return read_file(data, gnn__data_read_linqs, path, f->content_name);
    if (raw && f->npz == 1 && !f->ogb)
        return read_file(data, gnn__data_read_npz, path, f->npz_name);
    *known = false;
    return GNN_OK;
}

static int refuse(const found_t *f, const char *path)
{
    if (f->planetoid)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: planetoid's files ind.NAME.* are Python's pickles and are not read: in "
                          "PyG, d = Planetoid(root, name)[0]; numpy.savez(\"set.npz\", x=d.x, y=d.y, "
                          "edge_index=d.edge_index, train_mask=d.train_mask, val_mask=d.val_mask, "
                          "test_mask=d.test_mask), and open that file",
                          path);
    return gnn__error(GNN_EUNSUPPORTED,
                      "%s: a folder of a format that is not read, OGB's has raw/edge.csv.gz: of a set "
                      "of PyG, d = the set's [0]; numpy.savez(\"set.npz\", x=d.x, y=d.y, "
                      "edge_index=d.edge_index) and its masks, and open that file "
                      "(docs/formats.md)",
                      path);
}

/* The folder's raw/ may have OGB's files, or those of a format that is known by itself. */
static int read_raw(gnn_data_t *data, const char *path)
{
    found_t f;
    char *raw;
    bool known = false;
    GNN_TRY(gnn__asprintf(&raw, "%s/raw", path));
    int rc = look(&f, raw);
    if (rc == GNN_OK)
        rc = read_known(data, &f, raw, true, &known);
    if (rc == GNN_OK && !known)
        rc = f.ogb ? gnn__data_read_ogb(data, path) : refuse(&f, path);
    free_found(&f);
    gnn_free(raw);
    return rc;
}

/* Files that are read with the others of their folder, and one of these. */
static const struct {
    const char *ending, *companion;
} parts[] = {
    {"_A.txt", "_graph_indicator.txt"},
    {"out1_node_feature_label.txt", "out1_graph_edges.txt"},
    {"out1_graph_edges.txt", "out1_node_feature_label.txt"},
};

int gnn__data_folder_of(char **folder, const char *path)
{
    const size_t length = strlen(path);
    *folder = NULL;
    for (size_t k = 0; k < sizeof parts / sizeof *parts && !*folder; k++) {
        const size_t stem = length - strlen(parts[k].ending);
        const char *slash = strrchr(path, '/');
        char *companion;
        bool there;
        if (length < strlen(parts[k].ending) || strcmp(path + stem, parts[k].ending) != 0)
            continue;
        GNN_TRY(gnn__asprintf(&companion, "%.*s%s", (int)stem, path, parts[k].companion));
        const int rc = gnn__file_there(&there, companion);
        gnn_free(companion);
        GNN_TRY(rc);
        if (there)
            GNN_TRY(slash ? gnn__asprintf(folder, "%.*s", (int)gnn__max(slash - path, 1), path)
                          : gnn__strdup(folder, "."));
    }
    return GNN_OK;
}

int gnn__data_read_any_folder(gnn_data_t *data, const char *path)
{
    found_t f;
    bool known = false;
    int rc = look(&f, path);
    if (rc == GNN_OK)
        rc = read_known(data, &f, path, false, &known);
    if (rc == GNN_OK && !known && f.raw)
        rc = read_raw(data, path);
    else if (rc == GNN_OK && !known)
        rc = f.planetoid ? refuse(&f, path) : gnn__data_read_ogb(data, path);
    free_found(&f);
    return rc;
}
