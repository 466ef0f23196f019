/* Shared by descriptions.c (models) and descriptions_data.c (packages, their descriptions,
 * corpora). */
#ifndef DESCRIPTIONS_H
#define DESCRIPTIONS_H

#include "classify.h"

typedef struct {
    char *name, *text;
    int64_t node;
} package_t;

typedef struct {
    gnn_data_t *data;
    package_t *packages; /* sorted by name */
    gnn_corpus_t *corpus[3];
    gnn_vocabulary_t *vocabulary;
    gnn_context_t *context;
} run_t;

/* Names and sections of the packages, in an npz. */
int read_names(run_t *r, const char *path);
/* Reads descriptions from an index; NULL: the output of apt-cache. Returns the count of packages
 * with one. */
int64_t find_descriptions(run_t *r, const char *path);
/* Corpora for training, validation and test, and the vocabulary of the first. */
int take_descriptions(run_t *r);
int take_language(run_t *r, uint64_t seed);

#endif
