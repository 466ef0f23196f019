/* --scale: features before training. */
#ifndef PROGRAMS_SCALE_H
#define PROGRAMS_SCALE_H

#include <gnn/gnn.h>

typedef enum { SCALE_AUTO, SCALE_NONE, SCALE_ROWS, SCALE_COLUMNS } scale_t;

/* Rows for bags of a few words, columns for dense features that are uneven, else none. */
scale_t scale_for(const gnn_data_t *data);
/* SCALE_AUTO: as scale_for says. */
int scale_features(gnn_data_t *data, int how);

#endif
