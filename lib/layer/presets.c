/* The rows of presets.def, by number and by name. */
#include <lib/layer/layer.h>

enum { DROP_IN = 1, DROP_ATTENTION = 2, DROP_MESSAGE = 4, DROP_OUT = 8 };

static const gnn__preset_row_t presets[] = {
    [GNN_PRESET_NONE] = {"none",
                         "",
                         DROP_IN | DROP_ATTENTION,
                         {.message = &gnn_message_linear,
                          .aggregator = &gnn_aggregator_sum,
                          .update = &gnn_update_none}},
#define GNN_PRESET(id, name, paper, dropouts, ...) \
    [GNN_PRESET_##id] = {name, paper, dropouts, {__VA_ARGS__}},
#include <lib/layer/presets.def>
#undef GNN_PRESET
};

const gnn__preset_row_t *gnn__preset_row(gnn_preset_t preset)
{
    return preset >= GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? &presets[preset] : NULL;
}

const char *gnn_preset_name(gnn_preset_t preset)
{
    return preset > GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? presets[preset].name : NULL;
}

static const char *preset_at(size_t index)
{
    return index + 1 < GNN_PRESET_COUNT ? presets[index + 1].name : NULL;
}

gnn_preset_t gnn_preset_find(const char *name)
{
    for (gnn_preset_t p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++)
        if (name && strcmp(name, presets[p].name) == 0)
            return p;
    gnn__unknown_name("preset", name, preset_at);
    return GNN_PRESET_NONE;
}
