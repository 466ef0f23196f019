/* Programs over ranks of MPI (ranks.c). */
#ifndef RANKS_H
#define RANKS_H

#include "program.h"

#include <gnn/ranks.h>

/* This process's rank, and the count of ranks, as its launcher has set them; 0 without one. */
int program_rank(void);
int program_ranks(void);
/* 0 after an error message: several ranks were started for a program of one process. */
int program_takes_ranks(const char *program);
/* Ranks other than 0 print nothing on standard output. */
void program_quiet_ranks(void);
/* With a launcher, runs the context's calls over its ranks; *transport is for gnn_transport_free
 * after the context, and NULL without a launcher. */
int program_join_ranks(gnn_context_t *context, gnn_transport_t **transport);

#endif
