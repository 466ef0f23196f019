/* Ids by name: a hash table that is found in a step or two, whatever the count of names. */
#ifndef GNN_LIB_BASE_NAME_INDEX_H
#define GNN_LIB_BASE_NAME_INDEX_H

#include <lib/base/base.h>

typedef struct gnn__named_id {
    const char *name; /* borrowed; NULL: a free slot */
    uint64_t hash;
    int64_t id;
} gnn__named_id_t;

/* Zeroed: no names. */
typedef struct gnn__name_index {
    gnn__named_id_t *slots; /* (n_slots), at the name's hash or the next free one */
    int64_t n_slots, count; /* n_slots: a power of 2, of which at most half are in use */
} gnn__name_index_t;

/* The id of a name; -1: it is not there. */
int64_t gnn__name_index_find(const gnn__name_index_t *index, const char *name);
/* Adds a name, which must stay where it is. A name that is there keeps its id. GNN_EMEMORY: the
 * index is as before. */
int gnn__name_index_add(gnn__name_index_t *index, const char *name, int64_t id);
void gnn__name_index_free(gnn__name_index_t *index);

#endif
