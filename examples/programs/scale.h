/* --scale: features before training. */
#ifndef PROGRAMS_SCALE_H
#define PROGRAMS_SCALE_H

#include <gnn/gnn.h>

typedef enum { SCALE_AUTO, SCALE_NONE, SCALE_ROWS, SCALE_LENGTH, SCALE_COLUMNS, SCALES } scale_t;
/* As --scale has them. */
extern const char *const scale_names[SCALES];

/* Opens the set of --data: a path, or the karate club by its name. */
int program_open_set(gnn_data_t **data, const char *path, int directed);
typedef enum {
    FEATURES_MARKS,   /* mostly 0, else 1: words, properties */
    FEATURES_COUNTS,  /* mostly 0, else positive integers: word counts */
    FEATURES_WEIGHTS, /* mostly 0, else positive: weighted words */
    FEATURES_AMOUNTS, /* mostly 0, else positive, in columns of different units */
    FEATURES_REAL
} features_t;

/* Are they of the first three kinds? */
int is_words(features_t kind);

int features_of(const gnn_data_t *data, features_t *kind);
/* Rows of length 1 for words; others have standardised columns, unless all are constant or dense
 * ones would take much more memory. */
int scale_for(const gnn_data_t *data, scale_t *scale);
/* SCALE_AUTO: by scale_for. */
int scale_features(gnn_data_t *data, int how);

/* Notes in a model's file what its features were scaled by, whether it is of residual blocks, the
 * options that made its graph (a word like "directed=0,diffusion=none"), and the names of the
 * classes, if the set has some; data NULL: it learns none. */
int scale_note(gnn_model_t *model, scale_t scale, int blocks, const gnn_data_t *data,
               const char *graph);
/* The options of a graph that is not diffused. */
const char *graph_as_stored(int directed);
/* Reads that note of a model that `path` was loaded to. PROGRAM_REFUSED: *scale is neither
 * SCALE_AUTO nor the file's, the graph is made by other options, or the set has other classes.
 * Without a note *scale stays, and *blocks is -1. */
int scale_of_model(const char *program, const char *path, const gnn_model_t *model,
                   const gnn_data_t *data, const char *graph, int *scale, int *blocks);
/* The same of a checkpoint, whose model is not loaded yet. */
int scale_of_checkpoint(const char *program, const char *path, const char *graph, int *scale,
                        int *blocks);

/* Converts nearly empty dense features to sparse ones. */
int keep_words_sparsely(gnn_data_t *data);

#endif
