/* Ids by name, in open addressing. */
#include <lib/base/name_index.h>

enum { FIRST_SLOTS = 32 };

/* The slot of a name, or the free one where it belongs. */
static gnn__named_id_t *slot_of(const gnn__name_index_t *index, const char *name, uint64_t hash)
{
    const uint64_t last = (uint64_t)index->n_slots - 1;
    for (uint64_t k = hash & last;; k = (k + 1) & last) {
        gnn__named_id_t *slot = &index->slots[k];
        if (!slot->name || (slot->hash == hash && strcmp(slot->name, name) == 0))
            return slot;
    }
}

int64_t gnn__name_index_find(const gnn__name_index_t *index, const char *name)
{
    if (index->count == 0)
        return -1;
    const gnn__named_id_t *slot = slot_of(index, name, gnn__hash_string(name));
    return slot->name ? slot->id : -1;
}

static int grow(gnn__name_index_t *index)
{
    gnn__name_index_t larger = {.n_slots = index->n_slots ? 2 * index->n_slots : FIRST_SLOTS,
                                .count = index->count};
    GNN_TRY(gnn__new(&larger.slots, larger.n_slots, sizeof *larger.slots, "names"));
    for (int64_t k = 0; k < index->n_slots; k++)
        if (index->slots[k].name)
            *slot_of(&larger, index->slots[k].name, index->slots[k].hash) = index->slots[k];
    gnn_free(index->slots);
    *index = larger;
    return GNN_OK;
}

int gnn__name_index_add(gnn__name_index_t *index, const char *name, int64_t id)
{
    const uint64_t hash = gnn__hash_string(name);
    if (2 * (index->count + 1) > index->n_slots)
        GNN_TRY(grow(index));
    gnn__named_id_t *slot = slot_of(index, name, hash);
    if (slot->name)
        return GNN_OK;
    *slot = (gnn__named_id_t){name, hash, id};
    index->count++;
    return GNN_OK;
}

void gnn__name_index_free(gnn__name_index_t *index)
{
    gnn_free(index->slots);
    *index = (gnn__name_index_t){0};
}
