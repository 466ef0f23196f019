/* Builds a double array of a finished trie: children of a node get the first indices that are all
 * free. */
#include <lib/text/tokenizer/packed_trie.h>

enum { BYTES = 256, TRIES = 32 };

/* Children of each node: `child` by `byte`, from first[node] to first[node + 1]. */
typedef struct below {
    int64_t *first;
    int32_t *child;
    unsigned char *byte;
} below_t;

typedef struct packing {
    gnn__packed_trie_t *to;
    int64_t used,
        begin; /* indices from `used` on are free; those before `begin` are no longer searched */
} packing_t;

static void below_free(below_t *b)
{
    gnn_free(b->first);
    gnn_free(b->child);
    gnn_free(b->byte);
}

static int below_new(below_t *b, const gnn__trie_t *trie)
{
    const gnn__pair_table_t *edges = &trie->edges;
    GNN_TRY(gnn__new(&b->first, trie->nodes + 2, sizeof *b->first, "a tree of tokens"));
    GNN_TRY(gnn__new(&b->child, trie->nodes, sizeof *b->child, "a tree of tokens"));
    GNN_TRY(gnn__new(&b->byte, trie->nodes, 1, "a tree of tokens"));
    for (int c = 0; c < BYTES; c++)
        b->first[2] += trie->first[c] > 0;
    for (int64_t k = 0; k < edges->slots; k++)
        if (edges->at[k].key != UINT64_MAX)
            b->first[(edges->at[k].key >> 8) + 2]++;
    for (int64_t k = 2; k < trie->nodes + 2; k++)
        b->first[k] += b->first[k - 1];
    /* Filling moves first[node + 1] from the start of the node's list to its end. */
    for (int c = 0; c < BYTES; c++)
        if (trie->first[c] > 0) {
            b->byte[b->first[1]] = (unsigned char)c;
            b->child[b->first[1]++] = trie->first[c];
        }
    for (int64_t k = 0; k < edges->slots; k++)
        if (edges->at[k].key != UINT64_MAX) {
            const int64_t at = b->first[(edges->at[k].key >> 8) + 1]++;
            b->byte[at] = (unsigned char)edges->at[k].key;
            b->child[at] = edges->at[k].first;
        }
    return GNN_OK;
}

static int make_room(packing_t *p, int64_t room)
{
    if (room <= p->to->room)
        return GNN_OK;
    room = gnn__max(room, 2 * p->to->room);
    if (room > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "the tokens have more than %d bytes", INT32_MAX);
    GNN_TRY(gnn__grow(&p->to->at, p->to->room, room, sizeof *p->to->at, "a tree of tokens"));
    for (int64_t k = p->to->room; k < room; k++)
        p->to->at[k] = (gnn__packed_node_t){-1, 0, -1};
    p->to->room = room;
    return GNN_OK;
}

/* An index is taken if it has a parent; index 0 is the root. */
static bool fits(const packing_t *p, int64_t base, const unsigned char *bytes, int64_t n)
{
    bool free = base > 0;
    for (int64_t k = 0; k < n && free; k++)
        free = p->to->at[base + bytes[k]].parent < 0;
    return free;
}

/* A base for these bytes. After TRIES free indices that do not fit, uses those after the last taken
 * one and starts later searches there, which keeps packing linear in time. */
static int find_base(packing_t *p, const unsigned char *bytes, int64_t n, int64_t *base)
{
    int64_t k = p->begin;
    GNN_TRY(make_room(p, p->used + 2 * BYTES));
    while (k < p->used && p->to->at[k].parent >= 0)
        k++;
    p->begin = k;
    for (int tries = 0; k < p->used && tries < TRIES; k++) {
        tries += p->to->at[k].parent < 0;
        *base = k - bytes[0];
        if (fits(p, *base, bytes, n))
            return GNN_OK;
    }
    if (k < p->used)
        p->begin = k;
    *base = p->used;
    return GNN_OK;
}

static int pack_node(packing_t *p, const below_t *b, int64_t node, int32_t *number)
{
    const int64_t first = b->first[node], n = b->first[node + 1] - first;
    const int32_t own = number[node];
    int64_t base;
    if (n == 0)
        return GNN_OK;
    GNN_TRY(find_base(p, b->byte + first, n, &base));
    p->to->at[own].base = (int32_t)base;
    for (int64_t k = first; k < first + n; k++) {
        const int64_t to = base + b->byte[k];
        number[b->child[k]] = (int32_t)to;
        p->to->at[to].parent = own;
        p->used = gnn__max(p->used, to + 1);
    }
    return GNN_OK;
}

/* Parents come before their children, so that a node's index is known when it is reached. */
static int pack(packing_t *p, const below_t *b, const gnn__trie_t *trie, int32_t *number)
{
    for (int64_t node = 0; node < trie->nodes; node++) {
        p->to->at[number[node]].value = trie->value[node];
        GNN_TRY(pack_node(p, b, node, number));
    }
    return make_room(p, p->used + BYTES);
}

int gnn__trie_pack(gnn__packed_trie_t *packed, const gnn__trie_t *trie)
{
    packing_t p = {.to = packed, .used = 1, .begin = 1};
    below_t below = {0};
    int32_t *number = NULL;
    *packed = (gnn__packed_trie_t){0};
    int rc = make_room(&p, 2 * BYTES);
    if (rc == GNN_OK && trie->nodes > 0)
        rc = below_new(&below, trie);
    if (rc == GNN_OK)
        rc = gnn__new(&number, trie->nodes + 1, sizeof *number, "a tree of tokens");
    if (rc == GNN_OK)
        rc = pack(&p, &below, trie, number);
    below_free(&below);
    gnn_free(number);
    if (rc != GNN_OK)
        gnn__packed_free(packed);
    return rc;
}

void gnn__packed_free(gnn__packed_trie_t *packed)
{
    gnn_free(packed->at);
    *packed = (gnn__packed_trie_t){0};
}
