/* A model's steps as JSON, for the metadata of a weights file. */
#ifndef GNN_LIB_WEIGHTS_CONFIG_JSON_H
#define GNN_LIB_WEIGHTS_CONFIG_JSON_H

#include <gnn/io.h>
#include <lib/data/arrays/json_text.h>

/* Steps read from JSON; their strings belong to `root`. */
typedef struct gnn__file_steps {
    json_t *root;
    gnn_step_t *list;
    int64_t count;
} gnn__file_steps_t;

/* The steps with resolved configs; release with gnn_free. GNN_EUNSUPPORTED: a user's entry has the
 * name of one of the library. GNN_EINVALID: a non-finite value. */
int gnn__steps_write(char **text, const gnn_model_t *model);
/* `rows`: the user's entries; may be NULL. GNN_EFORMAT names step and field. The steps are
 * validated by gnn_model_from_steps only. */
int gnn__steps_read(gnn__file_steps_t *steps, const char *text, const gnn_rows_t *rows);
/* GNN_EINVALID: an unknown name, or of a table that files cannot name; the message lists the known
 * ones. */
int gnn__own_rows_check(const gnn_rows_t *rows);
void gnn__file_steps_free(gnn__file_steps_t *steps);
/* *same: are the steps of `text`, which any version wrote, those of the model? They are made and
 * written by this version. An error where they cannot be read or made. */
int gnn__steps_same(const char *text, const gnn_model_t *model, bool *same);
/* One step from an object of its fields; strings are borrowed from the object. */
int gnn__step_read(gnn_step_t *step, json_t *object, const gnn_rows_t *rows);
/* A block's settings from an object that also has the key "block"; strings are borrowed from the
 * object. */
int gnn__block_read(gnn_block_t *block, json_t *object, const gnn_rows_t *rows);
/* The array of steps in {"format": 1, "steps": [...]}, owned by `root`. */
int gnn__steps_array(json_t **list, json_t *root);
/* Limit of the steps of a file: each name is compared with all earlier ones. */
enum { GNN__MOST_STEPS_READ = 10000 };
/* Parses the text of an untrusted file with gnn__json_parse. */
int gnn__json_load(json_t **root, const char *text);

#endif
