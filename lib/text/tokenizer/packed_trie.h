/* A read-only trie as a double array (Aoe 1989): a step is one addition and one comparison; the
 * trie of trie.h needs a hash lookup. */
#ifndef GNN_LIB_TEXT_PACKED_TRIE_H
#define GNN_LIB_TEXT_PACKED_TRIE_H

#include <lib/text/tokenizer/trie.h>

/* The child by a byte is at index base + byte, if its `parent` agrees. */
typedef struct gnn__packed_node {
    int32_t parent, base, value; /* parent -1: root or unused; value -1: no string ends here */
} gnn__packed_node_t;
typedef struct gnn__packed_trie {
    gnn__packed_node_t *at; /* the root is 0; every base + 255 is in range */
    int64_t room;
} gnn__packed_trie_t;

/* Packs the strings and values of a trie; an empty one becomes a root alone. */
int gnn__trie_pack(gnn__packed_trie_t *packed, const gnn__trie_t *trie);
void gnn__packed_free(gnn__packed_trie_t *packed);

/* The child by a byte; -1 if there is none. */
static inline int32_t gnn__packed_step(const gnn__packed_trie_t *t, int32_t node, char byte)
{
    const int32_t next = t->at[node].base + (unsigned char)byte;
    return t->at[next].parent == node ? next : -1;
}

#endif
