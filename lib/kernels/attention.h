/* Attention on one part of a graph: y_i = sum over j of alpha_ij v_j for each head, alpha = softmax over j of score(q_i, k_j) + bias_ij.
 *
 * Head a reads key and value head a / (heads / kv_heads). Rows lie head by head: q has heads * d_k numbers (additive: heads), k has kv_heads * d_k (additive:
 * heads), v has kv_heads * d_v, y has heads * d_v.
 *
 * Forward runs over the parts one after another. In between `largest` and `sum` hold each receiver's largest score and the sum of exp(score - largest), and y the
 * weighted sum that goes with them; the last part divides and leaves the log-sum-exp in `largest`. Nothing per pair is kept: backward computes alpha again from
 * the log-sum-exp, once by receiver (d_q, edge gradients) and once by sender over the transposed part (d_k, d_v). A receiver that hears nobody, or only scores of
 * minus infinity, has the sum 0, y = 0 and the log-sum-exp minus infinity.
 *
 * Rows are a walk over each row's pairs in blocks, for all scores, edge inputs and both forms. Tiles are for dot scores on spans: blocks of rows against blocks of
 * columns; what lies outside a row's run is never multiplied, since 0 x NaN is NaN. */
#ifndef GNN_KERNELS_ATTENTION_H
#define GNN_KERNELS_ATTENTION_H

#include <lib/kernels/pairs.h>

typedef enum { GNN__SCORE_DOT, GNN__SCORE_ADDITIVE, GNN__SCORE_ADDITIVE_V2 } gnn__score_t;

/* A matrix as a pointer and a stride. */
typedef struct gnn__matrix {
    gnn_real_t *at;
    int64_t stride;
} gnn__matrix_t;

static inline gnn_real_t *gnn__matrix_row(const gnn__matrix_t *m, int64_t row)
{
    return m->at + row * m->stride;
}

typedef struct gnn__attention {
    gnn__score_t score;
    int64_t heads, kv_heads, d_k, d_v;
    gnn_real_t scale;      /* dot */
    gnn_precision_t level; /* dot: of products inside tiles */
    bool amx;              /* and whether the tiles of AMX multiply where they fit */
    gnn_real_t slope;      /* of the leaky relu in additive scores */
    const gnn_real_t *a;   /* additive_v2: heads * d_k */
    gnn__matrix_t q, k, v, y;
    gnn__pairs_t pairs;
    bool transposed; /* rows are senders */
    /* edge inputs; at NULL: none. Numbers beyond the rows of `bias` have bias 0, beyond those of `weight` weight 1. */
    gnn__matrix_t bias, weight;
    int64_t biases, bias_cols, weights;
    const gnn_real_t *dst_scale, *src_scale; /* per node, times the weight; NULL: 1 */
    const gnn__dropout_t *dropout;           /* NULL: off */
    /* forward; n_dst x heads. In tiles and with heads in lanes NULL where there is one part and, `largest`, nothing is recorded: nobody asks for them. */
    gnn_real_t *largest, *sum;
    gnn_real_t *packed; /* tiles of senders, by head; NULL: whoever needs a tile packs it */
    bool first, last;
    /* backward; at NULL: not wanted. All are added to, but for those that tiles write: d_q for so many receivers, d_k_rows, d_v_rows. */
    int64_t writes_q;
    bool writes_k, writes_v;
    int64_t rows; /* in tiles: so many senders, at most, share a tile of receivers */
    const gnn_real_t *lse, *delta; /* n_dst x heads: log-sum-exp and dY . Y */
    gnn__matrix_t dy, d_q, d_k_rows, d_v_rows, d_bias, d_weight;
} gnn__attention_t;

/* Numbers in a row of keys. */
static inline int64_t gnn__attention_keys(const gnn__attention_t *a)
{
    return a->score == GNN__SCORE_ADDITIVE ? a->heads : a->kv_heads * a->d_k;
}

typedef struct gnn__attention_rows {
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* dY . Y of every head */
    void (*delta)(const gnn__attention_t *a, int64_t i0, int64_t i1, gnn_real_t *delta);
    /* d_a (heads * d_k): sums of this chunk, NULL if not wanted. */
    void (*receive)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    gnn_real_t *d_a);
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
} gnn__attention_rows_t;
const gnn__attention_rows_t *gnn__attention_rows(void);

/* Numbers of scratch per thread. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a);

/* The most rows of a forward call; backward, the most that share a packed tile; bytes of a thread's draws of dropout. */
enum { GNN__TILE_COLUMNS = 64, GNN__TILE_ROWS = 384, GNN__TILE_DRAWN = 512 << 10 };

typedef struct gnn__attention_tiles {
    /* Rows row0 .. row1 - 1, heads head0 .. head1 - 1. */
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head0,
                    int64_t head1, gnn_real_t *scratch);
    /* One tile of a->packed. */
    void (*pack)(const gnn__attention_t *a, int64_t tile, int64_t kv, gnn_real_t *scratch);
} gnn__attention_tiles_t;
const gnn__attention_tiles_t *gnn__attention_tiles(void);

/* On the transposed part: rows are senders. */
typedef struct gnn__attention_tiles_grad {
    /* Any number of rows, key and value heads kv0 .. kv1 - 1 and all heads that read them. d_q: for each of these heads the sums of columns lo[row0] .. hi[row1 - 1] - 1,
     * rows of gnn__tile_row(d_k) numbers, overwritten. */
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv0, int64_t kv1,
                 gnn_real_t *d_q, gnn_real_t *scratch);
    /* Such sums of columns c0 .. c1 - 1 become one head of the receivers' gradients, or are added to it. */
    void (*receive)(const gnn__attention_t *a, int64_t c0, int64_t c1, int64_t head, bool add,
                    const gnn_real_t *d_q);
} gnn__attention_tiles_grad_t;
const gnn__attention_tiles_grad_t *gnn__attention_tiles_grad(void);

/* Columns of a tile: whole registers of any instruction set. */
static inline int64_t gnn__tile_width(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* A row of d_k or d_v numbers inside of tiles: whole registers, at `high` of words. */
static inline int64_t gnn__tile_row(const gnn__attention_t *a, int64_t n)
{
    const int64_t unit = a->level == GNN_PRECISION_HIGH ? 32 : 16;
    return (n + unit - 1) / unit * unit;
}

/* Tiles of a part whose rows hear columns from the same one on, and numbers in each: keys, values, and whether the values are finite. */
static inline int64_t gnn__packed_tiles(const gnn__attention_t *a)
{
    const int64_t columns = a->pairs.hi[a->pairs.n_rows - 1] - a->pairs.lo[0];
    return (columns + GNN__TILE_COLUMNS - 1) / GNN__TILE_COLUMNS;
}

/* What holds n packed numbers: half as much at `medium`, where two share a word; at `high` each is two bf16 numbers. */
static inline int64_t gnn__tile_room(gnn_precision_t level, int64_t n)
{
    return level == GNN_PRECISION_MEDIUM ? n / 2 : n;
}

static inline int64_t gnn__packed_tile(const gnn__attention_t *a)
{
    return GNN__TILE_COLUMNS *
               gnn__tile_room(a->level, gnn__tile_row(a, a->d_k) + gnn__tile_row(a, a->d_v)) +
           16;
}

/* What this context's products inside of tiles run at. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context);

/* Numbers of scratch per thread. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a);

#endif
