/* What lies in a folder that holds a published model: JSON files, and arrays in one file or in
 * several. */
#ifndef GNN_LIB_IO_FOLDER_H
#define GNN_LIB_IO_FOLDER_H

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
    char prefix[GNN__FOLDER_PREFIX]; /* that names may have or lack: "bert." */
} gnn__folder_t;

/* Reads FOLDER/model.safetensors, or the files that FOLDER/model.safetensors.index.json names.
 * GNN_EFORMAT: the index and the files contradict each other. */
int gnn__folder_open(gnn__folder_t *f, const char *folder);
void gnn__folder_close(gnn__folder_t *f);
/* Of a folder without weights that are read: GNN_EUNSUPPORTED says what the weights are that it has
 * and how Python makes them ones that are read. GNN_OK: it has none. */
int gnn__folder_explain(const char *folder);
/* Takes the prefix that names have, of those in a list with blanks between them. */
void gnn__folder_prefix(gnn__folder_t *f, const char *list);
/* The array of a name, with or without the prefix; NULL if there is none. */
gnn__folder_array_t *gnn__folder_find(gnn__folder_t *f, const char *name);
/* What an array's file is mapped to is released until it is read again. */
void gnn__folder_release(const gnn__folder_t *f, const gnn_array_t *array);
/* Numbers of all arrays. */
int64_t gnn__folder_numbers(const gnn__folder_t *f);

/* Reads FOLDER/NAME, an object. Where it has a whole number past 64 bits, as transformers writes
 * for "no limit", all its numbers are reals. GNN_EIO: the file is not there; GNN_EFORMAT with file
 * and place. */
int gnn__json_open(json_t **root, const char *folder, const char *name);
/* The same of a file that may be missing: *root is NULL then. */
int gnn__json_open_any(json_t **root, const char *folder, const char *name);
/* Is there a file FOLDER/NAME? GNN_EIO as gnn__file_there. */
int gnn__folder_has(bool *there, const char *folder, const char *name);
/* FOLDER/NAME, released with gnn_free. */
int gnn__folder_path(char **path, const char *folder, const char *name);

#endif
