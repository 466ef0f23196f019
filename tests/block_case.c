/* Settings of every block, of which it refuses those that it does not read. */
#include "block_case.h"

#include "support.h"

/* Two values of each member. */
static const gnn_block_t values[2] = {{.memory = "m",
                                       .edges = "e",
                                       .globals = "u",
                                       .graph = 1,
                                       .graphs = {5, 6, 7, 8},
                                       .width = 8,
                                       .edge_width = 4,
                                       .global_width = 3,
                                       .heads = 2,
                                       .hidden = 6,
                                       .rows = 2,
                                       .hops = 2,
                                       .factor = (gnn_real_t)0.5,
                                       .dropout = (gnn_real_t)0.25,
                                       .maximum = GNN_OFF,
                                       .out = 8,
                                       .edge_weight = "w",
                                       .theta = (gnn_real_t)0.5,
                                       .aggregators = {&gnn_aggregator_sum},
                                       .types = "paper author",
                                       .relations = "author__writes__paper paper__cites__paper"},
                                      {.memory = "m2",
                                       .edges = "e2",
                                       .globals = "u2",
                                       .graph = 2,
                                       .graphs = {9, 10, 11, 12},
                                       .width = 16,
                                       .edge_width = 5,
                                       .global_width = 4,
                                       .heads = 4,
                                       .hidden = 7,
                                       .rows = 3,
                                       .hops = 3,
                                       .factor = (gnn_real_t)0.75,
                                       .dropout = (gnn_real_t)0.5,
                                       .maximum = GNN_ON,
                                       .out = 16,
                                       .edge_weight = "w2",
                                       .theta = (gnn_real_t)0.25,
                                       .aggregators = {&gnn_aggregator_max},
                                       .types = "paper:16 author",
                                       .relations = "author__writes__paper paper__knows__author"}};

const block_member_t block_members[BLOCK_MEMBERS] = {
#define GNN_BLOCK_MEMBER(kind, member) \
    {#member, offsetof(gnn_block_t, member), sizeof((gnn_block_t *)NULL)->member},
#include <lib/model/block_fields.def>
#undef GNN_BLOCK_MEMBER
};

void block_set(gnn_block_t *b, int m, int which)
{
    memcpy((char *)b + block_members[m].offset,
           (const char *)&values[which] + block_members[m].offset, block_members[m].size);
}

int block_append(gnn_steps_t **steps, const char *block, const gnn_block_t *settings)
{
    ck_ok(gnn_steps_new(steps));
    return gnn_steps_block(*steps, block, settings);
}

static bool is_refused(const char *block, const gnn_block_t *settings, const char *words)
{
    gnn_steps_t *steps;
    const int rc = block_append(&steps, block, settings);
    gnn_steps_free(steps);
    return rc == GNN_EINVALID && strstr(gnn_error_message(), words);
}

gnn_block_t block_base(const char *block, bool read[BLOCK_MEMBERS])
{
    gnn_block_t b = {.name = "b"};
    char words[64];
    for (int m = 0; m < BLOCK_MEMBERS; m++) {
        gnn_block_t one = {.name = "b"};
        block_set(&one, m, 0);
        snprintf(words, sizeof words, "reads no .%s", block_members[m].name);
        read[m] = !is_refused(block, &one, words);
        if (read[m])
            block_set(&b, m, 0);
    }
    const gnn_block_t layered = {.name = "b", .layer.out = 8};
    if (!is_refused(block, &layered, "reads no .layer.out"))
        b.layer = GNN_GCN(.in = strcmp(block, "hetero_conv") == 0 ? 0 : 8, .out = 8);
    if (strcmp(block, "rgcn") == 0)
        b.heads = 0; /* not beside rows */
    if (strcmp(block, "gen") == 0 || strcmp(block, "deep_gcn") == 0)
        b.factor = 0; /* not beside an aggregator */
    return b;
}
