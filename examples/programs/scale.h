/* --scale: features before training. */
#ifndef PROGRAMS_SCALE_H
#define PROGRAMS_SCALE_H

#include <gnn/gnn.h>

typedef enum { SCALE_AUTO, SCALE_NONE, SCALE_ROWS, SCALE_LENGTH, SCALE_COLUMNS } scale_t;

/* Opens the set of --data: a path, or the karate club by its name. */
int program_open_set(gnn_data_t **data, const char *path, int directed);
typedef enum {
    FEATURES_MARKS,   /* mostly 0, else 1: words, properties */
    FEATURES_COUNTS,  /* mostly 0, else whole numbers from 1: words by how often they stand there */
    FEATURES_WEIGHTS, /* mostly 0, else positive: words by weight */
    FEATURES_REAL
} features_t;

features_t features_of(const gnn_data_t *data);
/* Rows of length 1 for all but real values, whose columns are standardised where they are dense. */
scale_t scale_for(const gnn_data_t *data);
/* SCALE_AUTO: as scale_for says. */
int scale_features(gnn_data_t *data, int how);

/* Features that are nearly all 0 cost what is stored, whatever the file's form was. */
int keep_words_sparsely(gnn_data_t *data);

#endif
