/* Internals of sampling: methods, memory of a draw, random streams. Shapes: n nodes and m edges of
 * the whole graph. */
#ifndef GNN_GRAPHS_SAMPLE_H
#define GNN_GRAPHS_SAMPLE_H

#include <gnn/sample.h>
#include <graphs/build.h>

/* Settings of a sampler that only some methods read. */
enum {
    GNN__SAMPLES_HOPS = 1,     /* hops, fan_outs */
    GNN__SAMPLES_REPLACE = 2,  /* replace */
    GNN__SAMPLES_WEIGHT = 4,   /* weight */
    GNN__SAMPLES_WALKS = 8,    /* walk_length, rounds, batch, roots */
    GNN__SAMPLES_CLUSTERS = 16 /* cluster_of, clusters */
};

typedef struct gnn__sampling_method {
    unsigned reads;    /* bits of GNN__SAMPLES_... */
    bool blocks;       /* one graph per hop; false: one for all */
    bool needs_hops;   /* fan-outs must be given */
    bool scores_nodes; /* a draw has a score for each node */
    bool all_learn;    /* the loss counts all drawn nodes of the split; false: the seeds only */
    /* Computed once when a sampler is opened; NULL: nothing. */
    int (*open)(gnn_sampler_t *sampler, const gnn_sampler_config_t *config);
    /* Draws around the seeds, which are the sample's first nodes. */
    int (*draw)(gnn_sample_t *sample);
} gnn__sampling_method_t;

struct gnn_sampler {
    const gnn__sampling_method_t *row;  /* the method */
    const gnn_sampler_method_t *method; /* its public entry: name, help */
    const gnn_graph_t *graph;
    const gnn__pairs_t *pairs;   /* of the graph's only part */
    gnn_sampler_config_t config; /* resolved; fan_outs and cluster_of are copies */
    uint8_t *missing;            /* (n): 1 for nodes without a self-loop */
    void *own[5];                /* memory of the method, freed with the sampler */
    const int32_t *seeds; /* (n_seeds): seeds of the method's own, as one per cluster; NULL: none */
    int64_t n_seeds;
};

/* Bits of the settings that a method reads; 0 for an unknown name. */
unsigned gnn__sampler_reads(const char *name);

/* Sampled nodes of a graph of `of` nodes. */
typedef struct gnn__drawn_nodes {
    int32_t *position; /* (of): position in `nodes`; -1: not sampled */
    int32_t *nodes;
    int64_t count, room, of;
} gnn__drawn_nodes_t;

/* Sampled edges of one graph. */
typedef struct gnn__drawn_edges {
    int64_t *ids;      /* ids in the whole graph; during a draw, positions in its pairs */
    gnn_real_t *scale; /* factors of messages; valid if `scaled` */
    int64_t count, room, scale_room;
    bool scaled;
} gnn__drawn_edges_t;

struct gnn_sample {
    const gnn_sampler_t *sampler;
    gnn_context_t *context; /* of the current draw; NULL: one thread */
    uint32_t key[2];        /* of the draw's random numbers */
    int64_t n_graphs;
    gnn_graph_t **graphs;      /* (n_graphs): blocks */
    gnn__drawn_edges_t *edges; /* (n_graphs) */
    gnn__origin_t origin;      /* of the blocks */
    gnn__drawn_nodes_t drawn;  /* the seeds first */
    int64_t n_seeds;           /* 0: nothing is drawn */
    double *keys;              /* scratch of weighted draws: one per edge */
    int64_t keys_room;
    double *score; /* (n): of the current draw, 0 between draws; NULL: the method has none */
    int32_t *met;  /* (n): nodes with a score other than 0 */
    int64_t n_met;
    int32_t *visits; /* of random walks: seeds x length */
    int64_t visits_room;
    bool counting;          /* scales do not exist yet: occurrences are being counted */
    gnn_real_t *node_scale; /* factors of the loss per node; valid if `scaled` */
    int64_t node_scale_room;
    bool scaled;
};

/* ---- random numbers: one stream per (draw, hop, node) ---- */

/* Key of a draw: two words of Philox of epoch and batch. GNN_EINVALID if these do not fit 32
 * bits. */
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

/* Uniform in 0 .. n - 1 without bias, 1 <= n < 2^32. Lemire 2019. */
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

/* Uniform in (0, 1). */
static inline double gnn__stream_uniform(gnn__stream_t *s)
{
    const uint64_t high = gnn__stream_next(s);
    return ((double)((high << 32 | gnn__stream_next(s)) >> 12) + 0.5) * 0x1p-52;
}

/* ---- sample.c: selection of a node's senders ---- */

/* Count of pairs that a node gets with this fan-out. */
int64_t gnn__pick_count(const gnn_sampler_t *sampler, int64_t fan_out, int64_t node);
/* Selects `count` of the node's pairs, as positions in the whole graph's pairs; `keys` (count) is
 * scratch for weighted draws. */
void gnn__pick(const gnn_sampler_t *sampler, int64_t fan_out, int64_t node, gnn__stream_t *stream,
               int64_t count, int64_t *places, double *keys);

/* ---- sample.c: building blocks of methods ---- */

/* Allocates the positions of `drawn` (zeroed); no node is sampled. */
int gnn__drawn_open(gnn__drawn_nodes_t *drawn, int64_t of);
/* Makes room for that many nodes. */
int gnn__drawn_reserve(gnn__drawn_nodes_t *drawn, int64_t nodes);
/* The node's position; appends the node if it has none. There must be room. */
static inline int32_t gnn__drawn_position(gnn__drawn_nodes_t *drawn, int32_t node)
{
    int32_t *position = &drawn->position[node];
    if (*position < 0) {
        *position = (int32_t)drawn->count;
        drawn->nodes[drawn->count++] = node;
    }
    return *position;
}
/* Adds the seeds as the first nodes; GNN_EINVALID for duplicates. */
int gnn__drawn_seeds(gnn__drawn_nodes_t *drawn, int64_t count, const int32_t *seeds);
/* Forgets the nodes: O(sampled nodes). */
void gnn__drawn_forget(gnn__drawn_nodes_t *drawn);
void gnn__drawn_free(gnn__drawn_nodes_t *drawn);

/* Makes room for that many edges of graph l; with `scaled` also for their scales. */
int gnn__sample_reserve_edges(gnn_sample_t *sample, int64_t l, int64_t count, bool scaled);
/* Graph l becomes the block of pairs drawn for all nodes so far; new senders are appended to the
 * nodes. */
int gnn__sample_hop(gnn_sample_t *sample, int64_t l, int64_t hop, int64_t fan_out);
/* Graph 0 becomes the induced subgraph of the sample's nodes. */
int gnn__sample_induce(gnn_sample_t *sample);

/* ---- partition.c ---- */

typedef struct gnn__metis {
    const gnn__pairs_t *pairs;  /* of edges, as many rows as columns */
    int64_t parts, constraints; /* constraints 0: 1 */
    const int32_t *weights;     /* (rows x constraints); NULL: all 1 */
    uint64_t seed;
    const char *what, *otherwise; /* what the parts are called; advice without METIS */
} gnn__metis_t;
/* Divides the nodes into parts by METIS's k-way method; the graph counts as undirected.
 * GNN_EUNSUPPORTED without METIS. */
int gnn__metis(const gnn__metis_t *metis, int32_t *part_of);

/* Partitions into config.clusters clusters by METIS; GNN_EUNSUPPORTED without it. */
int gnn__partition(const gnn_sampler_t *sampler, int32_t *cluster_of);

#endif
