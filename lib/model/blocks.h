/* A block is a function that appends steps to a list: blocks/block_NAME.c and a line in
 * blocks.def. */
#ifndef GNN_LIB_MODEL_BLOCKS_H
#define GNN_LIB_MODEL_BLOCKS_H

#include <lib/model/steps.h>

struct gnn_steps {
    gnn_step_t *list; /* strings are the list's own */
    int64_t count, room;
    int64_t most; /* steps that it may hold, 0: any; blocks of a file that repeat stop here */
    int status;   /* the first error, with its words */
    char message[256];
};

/* The step's strings become copies; after a failure those that could not be copied are NULL. */
int gnn__step_copy_strings(gnn_step_t *step);
void gnn__step_free_strings(gnn_step_t *step);
/* Is `value` among the inputs that the step names? */
bool gnn__step_reads(const gnn_step_t *step, const char *value);

/* More steps are GNN_EFORMAT: for lists that a file fills. */
void gnn__steps_limit(gnn_steps_t *steps, int64_t most);
/* The list keeps its first error and the words of it; returns rc. */
int gnn__steps_fail(gnn_steps_t *steps, int rc);
/* Appends a step of the name "NAME.part", or NAME where `part` is "", and returns its name, which
 * the list owns; "" after an error. */
const char *gnn__block_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           gnn_step_t step);
/* The name behind .input: "x" or the step before where it is NULL. */
const char *gnn__block_input(gnn_steps_t *steps, const gnn_block_t *b);
/* Slot k of .graphs. */
int gnn__block_graph(const gnn_block_t *b, int k);
/* Fails once with words if a number that the block needs is not there. */
void gnn__block_need(gnn_steps_t *steps, const gnn_block_t *b, const char *field, bool given);

#define GNN_BLOCK(name) void gnn__block_##name(gnn_steps_t *steps, const gnn_block_t *b);
#include <lib/model/blocks.def>
#undef GNN_BLOCK

#endif
