/* Shared by checkpoint.c (reading and writing) and checkpoint_check.c (identity and integrity). */
#ifndef GNN_TRAIN_CHECKPOINT_H
#define GNN_TRAIN_CHECKPOINT_H

#include <lib/data/arrays/arrays.h>
#include <lib/train/train.h>

/* The identity of a checkpoint, as strings that are compared. */
typedef struct gnn__identity {
    char *parameters; /* a line for each parameter and buffer: name and shape */
    /* the model's steps as JSON; NULL if they hold a table entry of the caller without a name */
    char *steps;
    char *optimizer;
} gnn__identity_t;

int gnn__identity_open(gnn__identity_t *identity, const gnn_model_t *model,
                       const gnn_optimizer_t *optimizer);
void gnn__identity_close(gnn__identity_t *identity);
/* GNN_OK if the file has the same identity; otherwise an error that names the difference. */
int gnn__identity_check(const gnn__identity_t *identity, const gnn_model_t *model,
                        const char *settings, const gnn_arrays_t *file);

#endif
