/* Inside of sampling: what a method's row is, what a draw writes into, and the random numbers that
 * it takes. Shapes: n nodes and m edges of the whole graph. */
#ifndef GNN_GRAPHS_SAMPLE_H
#define GNN_GRAPHS_SAMPLE_H

#include <gnn/sample.h>
#include <graphs/build.h>

typedef struct gnn__sampler_row {
    bool blocks;       /* one graph for each hop; false: one for all */
    bool needs_hops;   /* fan-outs must be given */
    bool scores_nodes; /* a draw has a score for each node of the graph */
    bool all_learn;    /* every drawn node of a part is learnt from; false: the seeds alone */
    /* What a sampler of this method works out once; NULL: nothing. */
    int (*open)(gnn_sampler_t *sampler, const gnn_sampler_config_t *config);
    /* Draws around the seeds, which are the sample's first nodes. */
    int (*draw)(gnn_sample_t *sample);
} gnn__sampler_row_t;

struct gnn_sampler {
    const gnn__sampler_row_t *row;
    const gnn_sampler_method_t *method; /* its name */
    const gnn_graph_t *graph;
    const gnn__pairs_t *pairs;   /* of its only part */
    gnn_sampler_config_t config; /* with every default; fan_outs and cluster_of are its own */
    uint8_t *missing;            /* (n) 1 where a node does not hear itself */
    void *own[5];                /* of the row; each is released with the sampler */
    /* (n_seeds) nodes that batches are made of, where the method has some of its own: one of each
     * cluster; NULL: those that are learnt from */
    const int32_t *seeds;
    int64_t n_seeds;
};

/* Nodes that are drawn, of `of`. */
typedef struct gnn__drawn_nodes {
    int32_t *place; /* (of) a node's place in `nodes`; -1: it is not there */
    int32_t *nodes;
    int64_t count, room, of;
} gnn__drawn_nodes_t;

/* Edges of one graph of a sample. */
typedef struct gnn__drawn_edges {
    int64_t *numbers; /* of the whole graph's edges; while they are drawn, their places */
    gnn_real_t *scale;
    int64_t count, room, scale_room;
    bool scaled;
} gnn__drawn_edges_t;

struct gnn_sample {
    const gnn_sampler_t *sampler;
    gnn_context_t *context; /* of the running draw; NULL: one thread */
    uint32_t key[2];        /* of the running draw's random numbers */
    int64_t n_graphs;
    gnn_graph_t **graphs;
    gnn__drawn_edges_t *edges; /* of each graph */
    gnn__whole_t whole;        /* what the graphs know of the whole one */
    gnn__drawn_nodes_t drawn;
    int64_t n_seeds;
    double *keys; /* room for one number per edge, of weighted draws */
    int64_t keys_room;
    double *score; /* (n) of a running draw, 0 between draws; NULL: the method has none */
    int32_t *met;  /* (n) the nodes whose score is not 0 */
    int64_t n_met;
    int32_t *visits; /* of walks */
    int64_t visits_room;
    bool counting; /* nothing is scaled yet: what is drawn is to be counted */
    gnn_real_t *node_scale;
    int64_t node_scale_room;
    bool scaled; /* node_scale holds */
};

/* ---- random numbers: a stream for each (draw, hop, node) ---- */

/* The key of a draw: two words of Philox on epoch and batch. GNN_EINVALID: they are no 32 bits. */
int gnn__draw_key(uint32_t key[2], uint64_t seed, const char *what, int64_t epoch, int64_t batch);

typedef struct gnn__stream {
    const uint32_t *key;
    uint32_t counter[4], words[4];
    int left;
} gnn__stream_t;

static inline gnn__stream_t gnn__stream(const uint32_t key[2], int64_t hop, int64_t node)
{
    return (gnn__stream_t){.key = key, .counter = {(uint32_t)node, (uint32_t)hop, 0, 0}};
}

static inline uint32_t gnn__stream_next(gnn__stream_t *s)
{
    if (s->left == 0) {
        gnn__philox(s->counter, s->key, GNN__PHILOX_ROUNDS, s->words);
        s->counter[3] += ++s->counter[2] == 0;
        s->left = 4;
    }
    return s->words[--s->left];
}

/* 0 .. n - 1, each exactly alike, 1 <= n < 2^32. Paper: Lemire 2019. */
static inline int64_t gnn__stream_below(gnn__stream_t *s, int64_t n)
{
    const uint32_t bound = (uint32_t)n;
    uint64_t product = (uint64_t)gnn__stream_next(s) * bound;
    if ((uint32_t)product < bound) {
        const uint32_t least = (uint32_t)-bound % bound;
        while ((uint32_t)product < least)
            product = (uint64_t)gnn__stream_next(s) * bound;
    }
    return (int64_t)(product >> 32);
}

/* In (0, 1). */
static inline double gnn__stream_uniform(gnn__stream_t *s)
{
    const uint64_t high = gnn__stream_next(s);
    return ((double)((high << 32 | gnn__stream_next(s)) >> 12) + 0.5) * 0x1p-52;
}

/* ---- picks.c: some of a node's senders ---- */

/* How many pairs a node gets with this fan-out. */
int64_t gnn__pick_count(const gnn_sampler_t *sampler, int64_t fan_out, int64_t node);
/* Writes places of the whole graph's pairs; `keys` is room for `count` numbers where weights are
 * given. */
void gnn__pick(const gnn_sampler_t *sampler, int64_t fan_out, int64_t node, gnn__stream_t *stream,
               int64_t count, int64_t *places, double *keys);

/* ---- sample_parts.c: what methods are made of ---- */

/* `drawn` (zeroed) gets its places, none of which is taken. */
int gnn__drawn_open(gnn__drawn_nodes_t *drawn, int64_t of);
/* Makes room for that many nodes. */
int gnn__drawn_reserve(gnn__drawn_nodes_t *drawn, int64_t nodes);
/* The node's place, which it gets if it has none. The room must be there. */
static inline int32_t gnn__drawn_place(gnn__drawn_nodes_t *drawn, int32_t node)
{
    int32_t *place = &drawn->place[node];
    if (*place < 0) {
        *place = (int32_t)drawn->count;
        drawn->nodes[drawn->count++] = node;
    }
    return *place;
}
/* The first nodes: each once. */
int gnn__drawn_seeds(gnn__drawn_nodes_t *drawn, int64_t count, const int32_t *seeds);
/* Forgets the nodes: O(those that are drawn). */
void gnn__drawn_forget(gnn__drawn_nodes_t *drawn);
void gnn__drawn_free(gnn__drawn_nodes_t *drawn);

/* Makes room for that many edges of graph l; with `scaled` also for their scales. */
int gnn__sample_reserve_edges(gnn_sample_t *sample, int64_t l, int64_t count, bool scaled);
/* Graph l becomes the pairs that are drawn for all nodes so far; their senders are new nodes. */
int gnn__sample_hop(gnn_sample_t *sample, int64_t l, int64_t hop, int64_t fan_out);
/* Graph 0 becomes all pairs of the whole graph between the sample's nodes. */
int gnn__sample_induce(gnn_sample_t *sample);

/* ---- partition.c ---- */

/* Finds config.clusters clusters by METIS, where that is there. */
int gnn__partition(const gnn_sampler_t *sampler, int32_t *cluster_of);

#endif
