/* Settings of blocks, for tests that go over all of them. */
#ifndef BLOCK_CASE_H
#define BLOCK_CASE_H

#include <gnn/gnn.h>
#include <stdbool.h>

/* A member of gnn_block_t beside name, input and layer. */
typedef struct {
    const char *name;
    size_t offset, size;
} block_member_t;

enum {
#define GNN_BLOCK_MEMBER(kind, field) BLOCK_HAS_##field,
#include <lib/model/block_fields.def>
#undef GNN_BLOCK_MEMBER
    BLOCK_MEMBERS
};
extern const block_member_t block_members[BLOCK_MEMBERS];

/* Sets member m to its first or second value. */
void block_set(gnn_block_t *b, int m, int which);
/* Makes *steps of a block; returns the block's error. */
int block_append(gnn_steps_t **steps, const char *block, const gnn_block_t *settings);
/* Settings with every member that the block reads; read[m]: it reads member m. */
gnn_block_t block_base(const char *block, bool read[BLOCK_MEMBERS]);

#endif
