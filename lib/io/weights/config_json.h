/* A model's steps as JSON, for the metadata of a weights file. */
#ifndef GNN_LIB_IO_CONFIG_JSON_H
#define GNN_LIB_IO_CONFIG_JSON_H

#include <gnn/io.h>
#include <lib/io/arrays/json_text.h>

/* Steps read from JSON; their strings belong to `root`. */
typedef struct gnn__file_steps {
    json_t *root;
    gnn_step_t *list;
    int64_t count;
} gnn__file_steps_t;

/* The steps with resolved configs, for gnn_free. GNN_EUNSUPPORTED: a row of the user's has
 * the name of one of the library's. GNN_EINVALID: a number that is not finite. */
int gnn__steps_write(char **text, const gnn_model_t *model);
/* `rows`: the user's, or NULL. GNN_EFORMAT in words, naming step and field. Whether the steps make
 * sense is for gnn_model_from_steps to say. */
int gnn__steps_read(gnn__file_steps_t *steps, const char *text, const gnn_rows_t *rows);
/* GNN_EINVALID: an entry without a row, or of a table that files do not name; the message lists
 * them. */
int gnn__own_rows_check(const gnn_rows_t *rows);
void gnn__file_steps_free(gnn__file_steps_t *steps);
/* One step from an object of its fields; its strings are the object's. */
int gnn__step_read(gnn_step_t *step, json_t *object, const gnn_rows_t *rows);
/* A block's settings from an object that also has the key "block"; strings are the object's. */
int gnn__block_read(gnn_block_t *block, json_t *object, const gnn_rows_t *rows);
/* The array of steps in {"format": 1, "steps": [...]}, owned by `root`. */
int gnn__steps_array(json_t **list, json_t *root);
/* Steps that are read from a file: each step's name is compared with those before it. */
enum { GNN__MOST_STEPS_READ = 10000 };
/* A text of a file that is not trusted, as gnn__json_parse reads it. */
int gnn__json_load(json_t **root, const char *text);

#endif
