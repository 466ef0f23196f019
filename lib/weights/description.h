/* A model that examples/from_pyg.py described: steps and blocks as JSON in the metadata, weights by
 * their names in the original modules, and the graphs of its slots. */
#ifndef GNN_LIB_WEIGHTS_DESCRIPTION_H
#define GNN_LIB_WEIGHTS_DESCRIPTION_H

#include <gnn/io.h>

#define GNN__DESCRIPTION_KEY "gnn.description"
#define GNN__SLOTS_KEY "gnn.graphs"

/* The model without its weights; at most `most` parameters. */
int gnn__described_model(gnn_model_t **model, gnn_context_t *context, const gnn_arrays_t *arrays,
                         int64_t most, const gnn_rows_t *rows);
/* The slots as JSON, released with gnn_free; NULL if no file described them. */
int gnn__slots_write(char **text, const gnn_model_t *model);
/* The reverse; the text may be NULL. */
int gnn__slots_read(gnn_model_t *model, const char *text);

#endif
