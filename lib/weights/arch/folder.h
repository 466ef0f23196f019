/* Contents of a folder with a published model: JSON files, and arrays in one or several files. */
#ifndef GNN_LIB_WEIGHTS_ARCH_FOLDER_H
#define GNN_LIB_WEIGHTS_ARCH_FOLDER_H

#include <gnn/io.h>
#include <jansson.h>
#include <lib/base/base.h>

enum { GNN__FOLDER_PREFIX = 48 };

typedef struct gnn__folder_array {
    const char *name;
    const gnn_array_t *array;
    bool used;
} gnn__folder_array_t;

/* The arrays of a folder. */
typedef struct gnn__folder {
    gnn_arrays_t **files;
    int64_t n_files;
    gnn__folder_array_t *arrays; /* by name */
    int64_t n_arrays;
    char prefix[GNN__FOLDER_PREFIX]; /* optional prefix of names: "bert." */
} gnn__folder_t;

/* Reads FOLDER/model.safetensors, or the files that FOLDER/model.safetensors.index.json names.
 * GNN_EFORMAT: the index and the files contradict each other. */
int gnn__folder_open(gnn__folder_t *f, const char *folder);
void gnn__folder_close(gnn__folder_t *f);
/* For a folder without supported weights: GNN_EUNSUPPORTED names the format and how to convert it
 * in Python. GNN_OK: there are no weights. */
int gnn__folder_explain(const char *folder);
/* Detects the prefix of the names, out of a space-separated list. */
void gnn__folder_prefix(gnn__folder_t *f, const char *list);
/* The array of a name, with or without the prefix; NULL if there is none. */
gnn__folder_array_t *gnn__folder_find(gnn__folder_t *f, const char *name);
/* Releases the mapped pages of an array until they are read again. */
void gnn__folder_release(const gnn__folder_t *f, const gnn_array_t *array);
/* Elements of all arrays together. */
int64_t gnn__folder_numbers(const gnn__folder_t *f);

/* Reads FOLDER/NAME, an object. If it has an integer over 64 bits, which transformers writes for
 * "no limit", all its JSON numbers are reals. GNN_EIO: no such file; GNN_EFORMAT with file and
 * position. */
int gnn__json_open(json_t **root, const char *folder, const char *name);
/* The same for an optional file: *root is NULL if it is missing. */
int gnn__json_open_any(json_t **root, const char *folder, const char *name);
/* Is there a file FOLDER/NAME? GNN_EIO as for gnn__file_there. */
int gnn__folder_has(bool *there, const char *folder, const char *name);
/* FOLDER/NAME, released with gnn_free. */
int gnn__folder_path(char **path, const char *folder, const char *name);

#endif
