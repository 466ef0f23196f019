/* Looking updates up, and what every row of updates.def has in common. */
#include <lib/layer/update.h>

static const gnn_update_t *const updates[] = {
#define GNN_UPDATE(name) &gnn_update_##name,
#include <lib/layer/updates.def>
#undef GNN_UPDATE
};

enum { UPDATES = sizeof updates / sizeof *updates };

size_t gnn_update_count(void)
{
    return UPDATES;
}

const gnn_update_t *gnn_update_at(size_t index)
{
    return index < UPDATES ? updates[index] : NULL;
}

static const char *name_at(size_t index)
{
    return index < UPDATES ? updates[index]->name : NULL;
}

const gnn_update_t *gnn_update_find(const char *name)
{
    for (size_t k = 0; name && k < UPDATES; k++)
        if (strcmp(updates[k]->name, name) == 0)
            return updates[k];
    gnn__unknown_name("update", name, name_at);
    return NULL;
}

int64_t gnn__update_width(const gnn_layer_config_t *config, int64_t aggregate)
{
    const struct gnn__update_rules *rules = config->update->rules;
    return rules->width         ? rules->width(config, aggregate)
           : rules->mixes_heads ? config->out
                                : aggregate;
}
