/* Programs over ranks of MPI (ranks.c). */
#ifndef RANKS_H
#define RANKS_H

#include "program.h"

#include <gnn/partition.h>

/* This process's rank, and the count of ranks, as its launcher has set them; 0 without one. */
int program_rank(void);
int program_ranks(void);
/* 0 after an error message: several ranks were started for a program of one process. */
int program_takes_ranks(const char *program);
/* Ranks other than 0 print nothing on standard output, and errors when they end. */
void program_quiet_ranks(void);
/* With a launcher, runs the context's calls over its ranks; *transport is for gnn_transport_free
 * after the context, and NULL without a launcher. */
int program_join_ranks(gnn_context_t *context, gnn_transport_t **transport);
/* Forgets the context and what was opened with it. */
void program_leave_ranks(void);

/* ---- own rows ---- */

/* Is this a partition folder, of which each rank opens its own rows? Not without a launcher. */
int program_is_partition(const char *path);
int program_open_rows(gnn_data_t **data, const char *path);
/* The folder of which rows are open, mapped; NULL: there is none. */
const gnn_partition_folder_t *program_folder(void);
/* GNN_OK, or the error of the lowest rank that has one. */
int program_agree(int code);
/* Adds up values, or a count, over ranks, if they have opened own rows; all ranks call it. */
int program_sum(int64_t count, double *values);
int program_count(int64_t *count);
/* The row of the folder that is row 0 of this rank. */
int program_first_row(int64_t *row);
/* *all (all nodes x columns; data NULL on ranks that do not want it) = the own rows of all ranks.
 * */
int program_gather(const gnn_tensor_t *own, gnn_tensor_t *all);

/* ---- errors ---- */

/* Is the last error one that another rank has, and prints? */
int program_told_by_rank(void);
/* After an error, whose message is printed: it is dropped where a lower rank has one. */
void program_settle_ranks(gnn_context_t *context, int code);
/* The end of a program that has not joined the others, which end as well; returns the status. */
int program_end_ranks(int status);

#endif
