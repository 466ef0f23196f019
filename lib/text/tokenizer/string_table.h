/* A hash table of strings: 16 bytes per slot for strings of any length. The hash of s is the sum of
 * s[k] B^(n - 1 - k) modulo 2^61 - 1, so that the hash of any substring follows from those of
 * prefixes. */
#ifndef GNN_LIB_TEXT_STRING_TABLE_H
#define GNN_LIB_TEXT_STRING_TABLE_H

#include <lib/base/room.h>
#include <lib/text/corpus.h>

typedef struct gnn__string_slot {
    uint64_t hash;
    int64_t id; /* -1: free slot */
} gnn__string_slot_t;
typedef struct gnn__string_table {
    gnn__string_slot_t *at;
    int64_t count, slots; /* a power of two, or 0 */
} gnn__string_table_t;

enum { GNN__HASH_BASE = 0x2545f491 };

static inline uint64_t gnn__hash_multiply(uint64_t a, uint64_t b)
{
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    const uint64_t a1 = a >> 31, a0 = a & 0x7fffffff, b1 = b >> 31, b0 = b & 0x7fffffff;
    const uint64_t middle = a1 * b0 + a0 * b1; /* below 2^62 */
    uint64_t sum = 2 * a1 * b1 + (middle >> 30) + ((middle & 0x3fffffff) << 31) + a0 * b0;
    sum = (sum & prime) + (sum >> 61);
    return sum >= prime ? sum - prime : sum;
}

static inline uint64_t gnn__hash_minus(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + (((uint64_t)1 << 61) - 1) - b;
}

/* Extends a hash by one byte. */
static inline uint64_t gnn__hash_byte(uint64_t hash, char byte)
{
    const uint64_t prime = ((uint64_t)1 << 61) - 1,
                   sum = gnn__hash_multiply(hash, GNN__HASH_BASE) + (unsigned char)byte + 1;
    return sum >= prime ? sum - prime : sum;
}

static inline uint64_t gnn__hash_bytes(uint64_t hash, const char *at, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        hash = gnn__hash_byte(hash, at[k]);
    return hash;
}

/* The id of a string with this hash, -1 if absent; the string may be given in two parts. `strings`:
 * the strings by id. */
int32_t gnn__string_find(const gnn__string_table_t *table, const gnn__slice_t *strings,
                         uint64_t hash, gnn__slice_t left, gnn__slice_t right);
/* A present string gets the new id. */
int gnn__string_add(gnn__string_table_t *table, const gnn__slice_t *strings, uint64_t hash,
                    int32_t id);
void gnn__strings_free(gnn__string_table_t *table);

#endif
