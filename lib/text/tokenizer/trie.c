/* Tries with their edges in one hash table. */
#include <lib/text/tokenizer/trie.h>

static void place(gnn__pair_table_t *table, gnn__pair_entry_t entry)
{
    const uint64_t mask = (uint64_t)table->slots - 1;
    uint64_t k = gnn__mix(entry.key) & mask;
    while (table->at[k].key != UINT64_MAX)
        k = (k + 1) & mask;
    table->at[k] = entry;
}

static int double_slots(gnn__pair_table_t *table)
{
    gnn__pair_table_t wider = {NULL, table->count, table->slots ? 2 * table->slots : 64};
    GNN_TRY(gnn__new(&wider.at, wider.slots, sizeof *wider.at, "a table of tokens"));
    for (int64_t k = 0; k < wider.slots; k++)
        wider.at[k].key = UINT64_MAX;
    for (int64_t k = 0; k < table->slots; k++)
        if (table->at[k].key != UINT64_MAX)
            place(&wider, table->at[k]);
    gnn_free(table->at);
    *table = wider;
    return GNN_OK;
}

int gnn__pair_add(gnn__pair_table_t *table, uint64_t key, int32_t first, int32_t second)
{
    if (gnn__pair_find(table, key))
        return GNN_OK;
    if (2 * table->count >= table->slots)
        GNN_TRY(double_slots(table));
    place(table, (gnn__pair_entry_t){key, first, second});
    table->count++;
    return GNN_OK;
}

void gnn__pair_free(gnn__pair_table_t *table)
{
    gnn_free(table->at);
    *table = (gnn__pair_table_t){0};
}

static int add_node(gnn__trie_t *trie)
{
    if (trie->nodes == INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "the tokens have more than %d bytes", INT32_MAX);
    GNN_TRY(
        gnn__room(&trie->value, trie->nodes, &trie->room, sizeof *trie->value, "a tree of tokens"));
    trie->value[trie->nodes++] = -1;
    return GNN_OK;
}

int gnn__trie_add(gnn__trie_t *trie, const char *at, int64_t length, int32_t value)
{
    int32_t node = 0;
    if (trie->nodes == 0)
        GNN_TRY(add_node(trie));
    for (int64_t k = 0; k < length; k++) {
        int32_t next = gnn__trie_step(trie, node, at[k]);
        if (next < 0) {
            GNN_TRY(add_node(trie));
            next = (int32_t)(trie->nodes - 1);
            if (node == 0)
                trie->first[(unsigned char)at[k]] = next;
            else
                GNN_TRY(gnn__pair_add(&trie->edges, (uint64_t)node << 8 | (unsigned char)at[k],
                                      next, 0));
        }
        node = next;
    }
    trie->value[node] = value;
    return GNN_OK;
}

void gnn__trie_free(gnn__trie_t *trie)
{
    gnn__pair_free(&trie->edges);
    gnn_free(trie->value);
    *trie = (gnn__trie_t){0};
}

int32_t gnn__trie_longest(const gnn__trie_t *trie, const char *at, int64_t n, int64_t *length)
{
    int32_t best = -1, node = trie->nodes > 0 ? 0 : -1;
    for (int64_t k = 0; k < n && node >= 0; k++) {
        node = gnn__trie_step(trie, node, at[k]);
        if (node >= 0 && trie->value[node] >= 0) {
            best = trie->value[node];
            *length = k + 1;
        }
    }
    return best;
}
