/* Ways of combining messages that tests run over: each aggregator without scores, then attention
 * with each score. A combination has the name of the one or of the other. */
#ifndef GNN_TESTS_COMBINATIONS_H
#define GNN_TESTS_COMBINATIONS_H

#include "support.h"

#include <lib/aggregate/tables.h>

typedef struct combination {
    const char *name;
    const gnn_aggregator_t *aggregator;
    const gnn_score_t *score; /* NULL without scores */
} combination_t;

/* Attention is one of the aggregators. */
static inline size_t combination_count(void)
{
    return aggregator_count() - 1 + score_count();
}

static inline combination_t combination_at(size_t index)
{
    for (size_t a = 0; a < aggregator_count(); a++) {
        const gnn_aggregator_t *aggregator = gnn__aggregator_at(a);
        if (!(aggregator->flags & GNN_AGGREGATOR_SCORED) && index-- == 0)
            return (combination_t){aggregator->name, aggregator, NULL};
    }
    const gnn_score_t *score = gnn__score_at(index);
    ck_assert_ptr_nonnull(score);
    return (combination_t){score->name, &gnn_aggregator_attention, score};
}

static inline size_t combination_index(const char *name)
{
    for (size_t k = 0; k < combination_count(); k++)
        if (strcmp(combination_at(k).name, name) == 0)
            return k;
    ck_abort_msg("no combination is called %s", name);
    return 0;
}

static inline combination_t combination_of(const char *name)
{
    return combination_at(combination_index(name));
}

#endif
