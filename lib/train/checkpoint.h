/* What checkpoint.c (files in and out) and checkpoint_check.c (whose file it is, and whether it is
 * whole) share. */
#ifndef GNN_TRAIN_CHECKPOINT_H
#define GNN_TRAIN_CHECKPOINT_H

#include <lib/io/arrays/arrays.h>
#include <lib/train/train.h>

/* What a checkpoint was made for, in words that are compared. */
typedef struct gnn__identity {
    char *parameters; /* a line for each parameter and buffer: name and shape */
    /* the model's steps as JSON; NULL if they hold something of the caller's that has no name */
    char *steps;
    char *optimizer;
} gnn__identity_t;

int gnn__identity_open(gnn__identity_t *identity, const gnn_model_t *model,
                       const gnn_optimizer_t *optimizer);
void gnn__identity_close(gnn__identity_t *identity);
/* GNN_OK if the file was made for the same; otherwise a code and what differs. */
int gnn__identity_check(const gnn__identity_t *identity, const char *settings,
                        const gnn_arrays_t *file);

#endif
