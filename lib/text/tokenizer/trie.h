/* A trie of byte strings: finds a string, or all prefixes of a string, without comparisons. */
#ifndef GNN_LIB_TEXT_TRIE_H
#define GNN_LIB_TEXT_TRIE_H

#include <lib/base/room.h>

/* A hash table of 64-bit keys (not UINT64_MAX) with two values each. */
typedef struct gnn__pair_entry {
    uint64_t key;
    int32_t first, second;
} gnn__pair_entry_t;
typedef struct gnn__pair_table {
    gnn__pair_entry_t *at;
    int64_t count, slots; /* a power of two, or 0 */
} gnn__pair_table_t;

/* A present key keeps its values. */
int gnn__pair_add(gnn__pair_table_t *table, uint64_t key, int32_t first, int32_t second);
void gnn__pair_free(gnn__pair_table_t *table);

static inline uint64_t gnn__mix(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static inline const gnn__pair_entry_t *gnn__pair_find(const gnn__pair_table_t *table, uint64_t key)
{
    const uint64_t mask = (uint64_t)table->slots - 1;
    if (table->slots == 0)
        return NULL;
    for (uint64_t k = gnn__mix(key) & mask;; k = (k + 1) & mask) {
        if (table->at[k].key == key)
            return &table->at[k];
        if (table->at[k].key == UINT64_MAX)
            return NULL;
    }
}

/* Node 0 is the root; an edge is keyed by node and byte. */
typedef struct gnn__trie {
    gnn__pair_table_t edges; /* first: the child; second: unused */
    int32_t *value;          /* (room) value of each node, -1: no string ends there */
    int64_t nodes, room;
    int32_t first[256]; /* children of the root, 0: none; most steps start there */
} gnn__trie_t;

/* A present string gets the new value. */
int gnn__trie_add(gnn__trie_t *trie, const char *at, int64_t length, int32_t value);
void gnn__trie_free(gnn__trie_t *trie);

/* The child by a byte; -1 if there is none. */
static inline int32_t gnn__trie_step(const gnn__trie_t *trie, int32_t node, char byte)
{
    if (node == 0)
        return trie->first[(unsigned char)byte] > 0 ? trie->first[(unsigned char)byte] : -1;
    const gnn__pair_entry_t *edge =
        gnn__pair_find(&trie->edges, (uint64_t)node << 8 | (unsigned char)byte);
    return edge ? edge->first : -1;
}

/* The value of a string; -1 if absent. */
static inline int32_t gnn__trie_find(const gnn__trie_t *trie, const char *at, int64_t length)
{
    int32_t node = trie->nodes > 0 ? 0 : -1;
    for (int64_t k = 0; k < length && node >= 0; k++)
        node = gnn__trie_step(trie, node, at[k]);
    return node >= 0 ? trie->value[node] : -1;
}

/* The longest prefix of these bytes in the trie: its value and *length; -1 if there is none. */
int32_t gnn__trie_longest(const gnn__trie_t *trie, const char *at, int64_t n, int64_t *length);

#endif
