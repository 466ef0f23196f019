/* A model that examples/from_pyg.py described: steps and blocks as JSON in the metadata, weights by
 * the names that the modules' authors gave them, and what the graphs of its slots are. */
#ifndef GNN_LIB_IO_DESCRIPTION_H
#define GNN_LIB_IO_DESCRIPTION_H

#include <gnn/io.h>

#define GNN__DESCRIPTION_KEY "gnn.description"
#define GNN__SLOTS_KEY "gnn.graphs"

/* The model without its weights; at most `most` parameters. */
int gnn__described_model(gnn_model_t **model, gnn_context_t *context, const gnn_arrays_t *arrays,
                         int64_t most, const gnn_rows_t *rows);
/* What the slots are, as JSON for gnn_free; NULL where no file said it. */
int gnn__slots_write(char **text, const gnn_model_t *model);
/* The reverse; a NULL text is none. */
int gnn__slots_read(gnn_model_t *model, const char *text);

#endif
