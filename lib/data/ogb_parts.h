/* Parts of an OGB folder, shared by the readers of one graph and of many.
 */
#ifndef GNN_LIB_DATA_OGB_PARTS_H
#define GNN_LIB_DATA_OGB_PARTS_H

#include <lib/data/data.h>

/* Is there FOLDER/PART.csv.gz or FOLDER/PART.csv? */
int gnn__ogb_has_part(const char *folder, const char *part, bool *there);
/* FOLDER/PART.csv.gz, or FOLDER/PART.csv if only that exists. `part` must outlive the text, whose
 * messages name it. */
int gnn__ogb_open_part(gnn__text_t *text, const char *folder, const char *part,
                       const gnn_limits_t *limits);
/* The only field of the current line. */
int gnn__ogb_only_field(gnn__text_t *text, gnn__text_field_t *field);
/* The two node ids of the current line. */
int gnn__ogb_two_fields(gnn__text_t *text, gnn__text_field_t field[2]);

/* ---- splits ---- */

/* Paths of the folders in split/, by their names. */
typedef struct gnn__ogb_schemes {
    char **paths;
    int64_t count, room;
} gnn__ogb_schemes_t;

/* Empty if there is no FOLDER/split. The caller frees the list, on failure too. */
int gnn__ogb_schemes_list(gnn__ogb_schemes_t *schemes, const char *folder);
void gnn__ogb_schemes_free(gnn__ogb_schemes_t *schemes);
/* Names of the parts of a scheme, by GNN_TRAIN to GNN_TEST. */
extern const char *const gnn__ogb_scheme_parts[3];
/* Calls `mark` for each part of a scheme, GNN_TRAIN to GNN_TEST, with its text. */
int gnn__ogb_scheme_read(const char *path, const gnn_limits_t *limits,
                         int (*mark)(void *user, int part, gnn__text_t *text), void *user);

#endif
