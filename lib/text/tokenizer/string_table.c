/* Hash tables of strings with open addressing. */
#include <lib/text/tokenizer/string_table.h>

#include <lib/text/tokenizer/trie.h>

static bool is_same(gnn__slice_t string, gnn__slice_t left, gnn__slice_t right)
{
    return string.length == left.length + right.length &&
           memcmp(string.at, left.at, (size_t)left.length) == 0 &&
           (right.length == 0 ||
            memcmp(string.at + left.length, right.at, (size_t)right.length) == 0);
}

/* The string's slot, or the free one to insert it at. */
static int64_t slot_of(const gnn__string_table_t *table, const gnn__slice_t *strings, uint64_t hash,
                       gnn__slice_t left, gnn__slice_t right)
{
    const uint64_t mask = (uint64_t)table->slots - 1;
    uint64_t k = gnn__mix(hash) & mask;
    for (; table->at[k].id >= 0; k = (k + 1) & mask)
        if (table->at[k].hash == hash && is_same(strings[table->at[k].id], left, right))
            break;
    return (int64_t)k;
}

int32_t gnn__string_find(const gnn__string_table_t *table, const gnn__slice_t *strings,
                         uint64_t hash, gnn__slice_t left, gnn__slice_t right)
{
    return table->slots == 0 ? -1 : (int32_t)table->at[slot_of(table, strings, hash, left, right)].id;
}

static int double_slots(gnn__string_table_t *table)
{
    gnn__string_table_t wider = {NULL, table->count, table->slots ? 2 * table->slots : 64};
    const uint64_t mask = (uint64_t)wider.slots - 1;
    GNN_TRY(gnn__new(&wider.at, wider.slots, sizeof *wider.at, "a table of tokens"));
    for (int64_t k = 0; k < wider.slots; k++)
        wider.at[k].id = -1;
    for (int64_t k = 0; k < table->slots; k++) {
        uint64_t to = gnn__mix(table->at[k].hash) & mask;
        while (wider.at[to].id >= 0)
            to = (to + 1) & mask;
        if (table->at[k].id >= 0)
            wider.at[to] = table->at[k];
    }
    gnn_free(table->at);
    *table = wider;
    return GNN_OK;
}

int gnn__string_add(gnn__string_table_t *table, const gnn__slice_t *strings, uint64_t hash, int32_t id)
{
    if (2 * table->count >= table->slots)
        GNN_TRY(double_slots(table));
    const int64_t k = slot_of(table, strings, hash, strings[id], (gnn__slice_t){"", 0});
    table->count += table->at[k].id < 0;
    table->at[k] = (gnn__string_slot_t){hash, id};
    return GNN_OK;
}

void gnn__strings_free(gnn__string_table_t *table)
{
    gnn_free(table->at);
    *table = (gnn__string_table_t){0};
}
