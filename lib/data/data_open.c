/* Selects the reader of a path: by the file's type (folder), then its extension, then its first
 * bytes. */
#include <lib/base/settings.h>
#include <lib/data/many.h>

#include <lib/data/arrays/arrays.h>
#include <sys/stat.h>

typedef int (*read_t)(gnn_data_t *data, const char *path);

/* ---- unsupported formats that are recognised to give advice ---- */

static const char by_igraph[] = "read it with igraph in a program of your own, and hand the graph "
                                "over with gnn_graph_from_igraph",
                  as_graphml[] = "save it as GraphML and open that (networkx.write_graphml)",
                  as_arrays[] = "save its arrays with numpy.savez, under the names of "
                                "docs/formats.md, and open that file",
                  unpacked[] = "unpack it and open the folder, or the file in it";

static const struct {
    const char *ending, *name;
    const char *head; /* the first bytes, ignoring case; NULL: no signature */
    const char *advice;
} not_read[] = {
    {".net", "Pajek", "*", by_igraph},
    {".ncol", "NCOL", NULL, by_igraph},
    {".lgl", "LGL", NULL, by_igraph},
    {".dl", "UCINET DL", "dl ", by_igraph},
    {".dimacs", "DIMACS", NULL, by_igraph},
    {".col", "DIMACS", NULL, by_igraph},
    {".graphdb", "GraphDB", NULL, by_igraph},
    {".dot", "Graphviz", "digraph ", as_graphml},
    {".gv", "Graphviz", "strict ", as_graphml},
    {".gexf", "GEXF", NULL, as_graphml},
    {".leda", "LEDA", "LEDA.GRAPH", as_graphml},
    {".pt", "a file of PyTorch", NULL, as_arrays},
    {".pth", "a file of PyTorch", NULL, as_arrays},
    {".pkl", "Python's pickle", "\x80\x02", as_arrays},
    {".pickle", "Python's pickle", "\x80\x03", as_arrays},
    {".p", "Python's pickle", "\x80\x04", as_arrays},
    {".joblib", "Python's pickle", "\x80\x05", as_arrays},
    {".npy", "a single array", "\x93NUMPY", as_arrays},
    {".h5", "HDF5", "\x89HDF", as_arrays},
    {".hdf5", "HDF5", "\x89HDF", as_arrays},
    {".mat", "MATLAB", "MATLAB 5.0", as_arrays},
    {".parquet", "Parquet", "PAR1", as_arrays},
    {".feather", "Arrow", "ARROW1", as_arrays},
    {".arrow", "Arrow", "FEA1", as_arrays},
    {".safetensors", "safetensors", NULL, as_arrays},
    {".bin", "a binary file of DGL or METIS", NULL, as_arrays},
    {".dgl", "a binary file of DGL", NULL, as_arrays},
    {".rds", "R's data", NULL, as_arrays},
    {".xlsx", "a spreadsheet", NULL, as_arrays},
    {".db", "SQLite", "SQLite format 3", as_arrays},
    {".jsonl", "JSON", "[", as_arrays},
    {".nt", "RDF", NULL, as_arrays},
    {".ttl", "RDF", "@prefix", as_arrays},
    {".tar", "an archive", NULL, unpacked},
    {".tgz", "an archive", NULL, unpacked},
    {".bz2", "a compressed file", "BZh", unpacked},
    {".xz", "a compressed file",
     "\xfd"
     "7zXZ",
     unpacked},
    {".zst", "a compressed file", "\x28\xb5\x2f\xfd", unpacked},
    {".7z", "an archive", "7z\xbc\xaf", unpacked},
    {".rar", "an archive", "Rar!", unpacked},
    {".adjlist", "an adjacency list", NULL, "save it as an edge list (networkx.write_edgelist)"},
    {".graph", "METIS' graph", NULL, "save it as an edge list"},
    {".metis", "METIS' graph", NULL, "save it as an edge list"},
};
enum { NOT_READ = sizeof not_read / sizeof not_read[0] };

/* First bytes of what stands in the place of any file. */
static const struct {
    const char *head, *name, *advice;
} stand_ins[] = {
    {"version https://git-lfs", "a pointer of Git LFS", "fetch the file itself (git lfs pull)"},
    {"<!doctype html", "a page of the web", "download the file itself"},
    {"<html", "a page of the web", "download the file itself"},
};

static int refuse_stand_in(const char *path, const char *head)
{
    for (size_t k = 0; k < sizeof stand_ins / sizeof *stand_ins; k++)
        if (strncasecmp(head, stand_ins[k].head, strlen(stand_ins[k].head)) == 0)
            return gnn__error(GNN_EFORMAT, "%s: is %s: %s", gnn__file_name(path), stand_ins[k].name,
                              stand_ins[k].advice);
    return GNN_OK;
}

/* The entry of a format by first bytes that no text has, by the extension, or by the first bytes of
 * a text for other extensions; -1: none. */
static int find_not_read(const char *path, const char *head, const char *any)
{
    const size_t length = gnn__data_unpacked_length(path);
    for (int k = 0; k < NOT_READ; k++)
        if (not_read[k].head && (unsigned char)*not_read[k].head >= 0x80 &&
            strncmp(any, not_read[k].head, strlen(not_read[k].head)) == 0)
            return k;
    for (int k = 0; k < NOT_READ; k++)
        if (gnn__data_ends_with(path, length, not_read[k].ending))
            return k;
    for (int k = 0; k < NOT_READ && head; k++)
        if (not_read[k].head && strncasecmp(head, not_read[k].head, strlen(not_read[k].head)) == 0)
            return k;
    return -1;
}

static int refuse(const char *path, int format)
{
    return gnn__error(GNN_EUNSUPPORTED, "%s: %s is not read: %s", gnn__file_name(path),
                      not_read[format].name, not_read[format].advice);
}

static int refuse_unknown(const char *path)
{
    return gnn__error(GNN_EFORMAT,
                      "%s: neither the name nor the first bytes tell a format that is read: .npz, "
                      ".content and .cites, an edge list (.txt, .tsv, .csv, .edges, .mtx), "
                      ".graphml, .gml, .json of networkx, a folder of OGB, TU Dortmund or Geom-GCN "
                      "(docs/formats.md)",
                      gnn__file_name(path));
}

/* ---- the reader of a path ---- */

static const struct {
    const char *ending;
    read_t read;
} endings[] = {
    {".npz", gnn__data_read_npz},
    {".content", gnn__data_read_linqs},
    {".cites", gnn__data_read_linqs},
    {".edges", gnn__data_read_edge_list},
    {".edgelist", gnn__data_read_edge_list},
    {".el", gnn__data_read_edge_list},
    {".mtx", gnn__data_read_edge_list},
    {".txt", gnn__data_read_edge_list},
    {".tsv", gnn__data_read_edge_list},
    {".csv", gnn__data_read_edge_list},
    {".graphml", gnn__data_read_markup},
    {".gml", gnn__data_read_markup},
    {".json", gnn__data_read_node_link},
};

static read_t by_ending(const char *path)
{
    const size_t length = gnn__data_unpacked_length(path);
    for (size_t k = 0; k < sizeof endings / sizeof endings[0]; k++)
        if (gnn__data_ends_with(path, length, endings[k].ending))
            return endings[k].read;
    return NULL;
}

/* NULL: no signature. */
static int by_content(read_t *read, const char *path, read_t named)
{
    gnn__file_t file;
    char head[64] = {0};
    GNN_TRY(gnn__file_open(&file, path));
    int rc = gnn__file_read(&file, 0, head, file.size < 64 ? file.size : 63);
    gnn__file_close(&file);
    const char *c = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? head + 3 : head;
    while (*c && strchr(" \t\r\n", *c))
        c++;
    *read = NULL;
    GNN_TRY(rc);
    GNN_TRY(refuse_stand_in(path, c));
    if (named == gnn__data_read_npz)
        return strncmp(head, "\x1f\x8b", 2) != 0
                   ? GNN_OK
                   : gnn__error(GNN_EFORMAT, "%s: a gzipped .npz: unpack it first (gunzip)",
                                gnn__file_name(path));
    const int other = find_not_read(path, named ? NULL : c, head);
    if (other >= 0)
        return refuse(path, other);
    if (strncmp(head, "PK", 2) == 0)
        *read = gnn__data_read_npz;
    else if (*c == '<' || (!named && gnn__data_markup_head(c)))
        *read = gnn__data_read_markup;
    else if (!named && *c == '{')
        *read = gnn__data_read_node_link;
    else if (!named && *c && strchr("#%0123456789", *c))
        *read = gnn__data_read_edge_list;
    return GNN_OK;
}

static int choose(read_t *read, const char *path)
{
    struct stat s;
    read_t named = by_ending(path);
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) {
        *read = gnn__data_read_any_folder;
        return GNN_OK;
    }
    if (named == gnn__data_read_linqs) {
        *read = named;
        return GNN_OK;
    }
    GNN_TRY(by_content(read, path, named));
    if (!*read)
        *read = named;
    return *read ? GNN_OK : refuse_unknown(path);
}

/* The last component of the path, without trailing slashes and extension. */
static int set_name(gnn_data_t *data, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (gnn__data_ends_with(path + begin, length - begin, ".gz"))
        length -= 3;
    GNN_TRY(gnn__asprintf(&data->name, "%.*s", (int)(length - begin), path + begin));
    char *dot = strrchr(data->name, '.');
    if (dot && dot != data->name)
        *dot = '\0';
    return GNN_OK;
}

int gnn_data_open(gnn_data_t **data, const char *path)
{
    GNN__NEED(data);
    GNN__NEED(path);
    return gnn_data_open_as(data, path, NULL);
}

int gnn_data_open_as(gnn_data_t **data, const char *path, const gnn_open_config_t *config)
{
    gnn_open_config_t own = config ? *config : (gnn_open_config_t){0};
    gnn_data_t *d = NULL;
    char *folder = NULL;
    read_t read;
    int rc;
    GNN__NEED(data);
    *data = NULL;
    GNN__NEED(path);
    GNN_TRY(gnn__check_flag(own.directed, "directed"));
    GNN_TRY(choose(&read, path));
    GNN_CHECK(gnn__new(&d, 1, sizeof *d, "a data set"));
    d->limits = own.limits;
    d->directed = own.directed == GNN_ON;
    d->undirected = own.directed == GNN_OFF;
    GNN_CHECK(gnn__data_folder_of(&folder, path));
    GNN_CHECK(folder ? gnn__data_read_any_folder(d, folder) : read(d, path));
    d->limits = NULL;
    GNN_CHECK(set_name(d, path));
    *data = d;
    gnn_free(folder);
    return GNN_OK;
done:
    gnn_free(folder);
    gnn_data_free(d);
    return rc;
}
