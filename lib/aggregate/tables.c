/* Looking rows up in the two tables. */
#include <lib/aggregate/tables.h>
#include <string.h>

static const gnn_message_t *const messages[] = {
#define GNN_MESSAGE(name) &gnn__message_##name,
#include <lib/aggregate/messages.def>
#undef GNN_MESSAGE
};

static const gnn_aggregator_t *const aggregators[] = {
#define GNN_AGGREGATOR(name) &gnn__aggregator_##name,
#include <lib/aggregate/aggregators.def>
#undef GNN_AGGREGATOR
};

enum {
    MESSAGES = sizeof messages / sizeof *messages,
    AGGREGATORS = sizeof aggregators / sizeof *aggregators
};

size_t gnn_message_count(void)
{
    return MESSAGES;
}

const gnn_message_t *gnn_message_at(size_t index)
{
    return index < MESSAGES ? messages[index] : NULL;
}

const gnn_message_t *gnn_message_find(const char *name)
{
    for (size_t k = 0; name && k < MESSAGES; k++)
        if (strcmp(messages[k]->name, name) == 0)
            return messages[k];
    return NULL;
}

size_t gnn_aggregator_count(void)
{
    return AGGREGATORS;
}

const gnn_aggregator_t *gnn_aggregator_at(size_t index)
{
    return index < AGGREGATORS ? aggregators[index] : NULL;
}

const gnn_aggregator_t *gnn_aggregator_find(const char *name)
{
    for (size_t k = 0; name && k < AGGREGATORS; k++)
        if (strcmp(aggregators[k]->name, name) == 0)
            return aggregators[k];
    return NULL;
}
