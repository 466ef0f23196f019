/* Attention in tiles: units of work that depend on the graph and the heads alone, never on the
 * count of threads.
 *
 * Backward is five products instead of the seven of two passes, one by receiver and one by sender:
 * chunks of senders own d_k and d_v and sum up d_q apart, for the receivers that they meet; the
 * sums are added in the order of the chunks. The price is memory, which bounds the count of
 * chunks. */
#include <lib/aggregate/fast/tile_units.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

#include <omp.h>

/* Heads that one draw of dropout serves. */
enum { DRAWN_HEADS = 8 };

/* Most rows of a piece whose draws are kept for eight heads; 0: there are none, or so few rows
 * that packing their tiles would cost more. */
static int64_t rows_drawn(const gnn__attention_t *a)
{
    enum { FEWEST = 96, STRIP = 48 };
    const gnn__pairs_t *p = &a->pairs;
    int64_t run = 0;
    if (!a->dropout || p->n_rows == 0)
        return 0;
    for (int64_t r = 0; r < p->n_rows; r++)
        run = gnn__max(run, p->hi[r] - p->lo[r]);
    const int64_t columns = gnn__min(run + GNN__TILE_ROWS, p->hi[p->n_rows - 1] - p->lo[0]),
                  rows = GNN__TILE_DRAWN / gnn__tile_width(columns + 1) / STRIP * STRIP;
    return rows < FEWEST ? 0 : gnn__min(rows, GNN__TILE_ROWS);
}

/* Heads per unit of work: 1 for long runs; 3 for medium ones, so that the next head's rows are
 * prefetched; all for short ones; up to 8 where one draw of Philox serves eight heads. */
static int64_t heads_per_unit(const gnn__attention_t *a, int64_t heads, int64_t blocks)
{
    enum { FEW = 64, SOME = 256, AHEAD = 3 };
    const int64_t rows = a->pairs.n_rows;
    int64_t heard = 0;
    for (int64_t r = 0; r < rows; r++)
        heard += a->pairs.hi[r] - a->pairs.lo[r];
    const bool drawn = rows_drawn(a) > 0 && heads == a->heads;
    const int64_t most = heads * blocks / (drawn ? 6 : 16);
    int64_t wanted = heard > SOME * rows ? 1 : heard > FEW * rows ? AHEAD : heads;
    if (drawn)
        wanted = DRAWN_HEADS;
    return gnn__max(1, gnn__min(most, gnn__min(wanted, heads)));
}

/* ---- forward ---- */

/* Large blocks share the packing of a tile; small ones keep threads busy. */
static int64_t rows_per_block(const gnn__attention_t *a)
{
    const int64_t drawn = rows_drawn(a),
                  units = drawn > 0 ? (a->heads + DRAWN_HEADS - 1) / DRAWN_HEADS : a->heads;
    int64_t rows = drawn > 0 ? drawn : GNN__TILE_ROWS;
    while (rows > 96 && a->pairs.n_rows * units < 16 * rows)
        rows /= 2;
    return rows;
}

/* Blocks that have the same columns from the first one on share tiles that are packed once. */
int64_t gnn__tiles_packed(const gnn__attention_t *a)
{
    const int64_t n = a->pairs.n_rows;
    if (n <= rows_per_block(a) || a->pairs.lo[0] != a->pairs.lo[n - 1] ||
        a->pairs.hi[n - 1] - a->pairs.lo[0] <= GNN__TILE_COLUMNS)
        return 0;
    return a->kv_heads * gnn__packed_tiles(a) * gnn__packed_tile(a);
}

void gnn__tiles_forward(const gnn__attention_t *of, gnn_real_t *scratch, int64_t scratch_size,
                        gnn_real_t *packed, int threads)
{
    const gnn__attention_tiles_t *kernels = gnn__attention_tiles();
    gnn__attention_t a = *of;
    a.packed = gnn__tiles_packed(of) ? packed : NULL;
    const int64_t n = a.pairs.n_rows, rows = rows_per_block(&a), blocks = (n + rows - 1) / rows,
                  heads = heads_per_unit(&a, a.heads, blocks),
                  groups = (a.heads + heads - 1) / heads,
                  tiles = a.packed ? gnn__packed_tiles(&a) : 0;
    /* A head's tiles stay with the thread that packed them. */
    if (tiles > 0)
        GNN__PARALLEL_FOR (threads, int64_t t = 0; t < a.kv_heads * tiles; t++)
            kernels->pack(&a, t % tiles, t / tiles, scratch + omp_get_thread_num() * scratch_size);
    GNN__EACH_CHUNK (u, groups * blocks, threads) {
        const int64_t head = heads * (a.packed ? u / blocks : u % groups),
                      row = rows * (a.packed ? u % blocks : u / groups);
        kernels->forward(&a, row, gnn__min(row + rows, n), head, gnn__min(head + heads, a.heads),
                         scratch + omp_get_thread_num() * scratch_size);
    }
}

/* ---- backward ---- */

enum { MOST_CHUNKS = 128 };

/* Chunk k owns senders begin[k] .. begin[k + 1] - 1 and meets columns lo .. hi - 1 of receivers,
 * `before` columns into the sums of one head. */
typedef struct chunks {
    int64_t count, begin[MOST_CHUNKS + 1], before[MOST_CHUNKS + 1];
} chunks_t;

/* Columns of receivers that a chunk meets: bounds of runs do not decrease. */
static int64_t chunk_columns(const gnn__attention_t *a, const chunks_t *c, int64_t chunk)
{
    return a->pairs.hi[c->begin[chunk + 1] - 1] - a->pairs.lo[c->begin[chunk]];
}

/* The last row up to `row`, after `first`, that shares no column with the rows before it, so
 * that a sentence is not cut and packed twice; `row` if there is none. */
static int64_t boundary(const gnn__attention_t *a, int64_t first, int64_t row)
{
    for (int64_t r = row; r > first && r < a->pairs.n_rows; r--)
        if (a->pairs.lo[r] >= a->pairs.hi[r - 1])
            return r;
    return row;
}

static void cut_every(const gnn__attention_t *a, int64_t rows, chunks_t *c)
{
    const int64_t n = a->pairs.n_rows;
    c->count = c->begin[0] = c->before[0] = 0;
    for (int64_t end; c->begin[c->count] < n; c->count++) {
        const int64_t begin = c->begin[c->count];
        end = gnn__min(begin + rows, n);
        c->begin[c->count + 1] = boundary(a, begin + rows / 2, end);
        c->before[c->count + 1] = c->before[c->count] + chunk_columns(a, c, c->count);
    }
}

/* As many chunks as memory for some 8 units of work allows (every chunk of a complete graph
 * meets all receivers), twice the receivers at least. */
static void cut_senders(const gnn__attention_t *a, chunks_t *c)
{
    const int64_t n = a->pairs.n_rows, wanted = 8 / a->kv_heads, bound = 16 / a->heads,
                  copies = gnn__min(wanted, bound),
                  most = n > 0 ? (copies > 2 ? copies : 2) * a->pairs.hi[n - 1] : 0;
    c->count = 0;
    for (int64_t chunks = gnn__min((n + 191) / 192, MOST_CHUNKS / 2); chunks > 0; chunks /= 2) {
        cut_every(a, gnn__round_up((n + chunks - 1) / chunks, 48), c);
        if (c->count == 1 || c->before[c->count] <= most)
            break;
    }
}

/* Keys by distance multiply another value than the queries. */
static bool keys_apart(const gnn__attention_t *a)
{
    return a->keys.count > 0 && a->keys.apart;
}

static int64_t sums_of_queries(const gnn__attention_t *a, const chunks_t *c)
{
    return c->count > 0 ? c->before[c->count] * a->heads * gnn__tile_row(a, a->d_k) : 0;
}

int64_t gnn__tiles_sums(const gnn__attention_t *a)
{
    chunks_t c;
    cut_senders(a, &c);
    return sums_of_queries(a, &c) * (keys_apart(a) ? 2 : 1);
}

int64_t gnn__tiles_chunks(const gnn__attention_t *a)
{
    chunks_t c;
    cut_senders(a, &c);
    return c.count;
}

/* Zeroes the gradient of receivers that no chunk has met. */
static void write_nothing(const gnn__attention_t *a, int64_t c0, int64_t c1)
{
    for (int64_t c = c0; a->grad.writes_q > 0 && c < c1; c++)
        memset(gnn__matrix_row(&a->grad.q, gnn__pairs_col(&a->pairs, c)), 0,
               sizeof(gnn_real_t) * (size_t)(a->heads * a->d_k));
}

/* Bounds of runs do not decrease: of the columns c0 .. c1 - 1 those below `done` were met
 * before. */
static void receive_sums(const gnn__attention_t *a, const chunks_t *c, const gnn_real_t *sums,
                         int64_t c0, int64_t c1)
{
    const int64_t width = gnn__tile_row(a, a->d_k);
    int64_t done = c0;
    for (int64_t k = 0; k < c->count; k++) {
        const int64_t first = a->pairs.lo[c->begin[k]], columns = chunk_columns(a, c, k),
                      from = gnn__max(c0, first), to = gnn__min(c1, first + columns);
        write_nothing(a, done, gnn__min(from, c1));
        for (int64_t at = from, end; at < to; at = end) {
            const bool add = at < done || a->grad.writes_q == 0;
            end = at < done ? gnn__min(done, to) : to;
            for (int64_t head = 0; head < a->heads; head++)
                gnn__attention_tiles_grad()->receive(a, at, end, head, add,
                                                     sums + (head * columns + at - first) * width);
        }
        done = gnn__max(done, to);
        sums += columns * a->heads * width;
    }
    write_nothing(a, done, c1);
}

/* The sums of chunk k and the heads from `head` on for receivers and tables, which it does not
 * own. */
static gnn__tile_sums_t sums_of_unit(const gnn__attention_t *a, const chunks_t *c,
                                     const gnn__tile_sums_t *all, int64_t k, int64_t head)
{
    const int64_t at = (c->before[k] * a->heads + head * chunk_columns(a, c, k)) *
                       gnn__tile_row(a, a->d_k),
                  place = (k * a->heads + head) * a->prior.stride;
    return (gnn__tile_sums_t){all->d_q + at, all->d_key_q ? all->d_key_q + at : NULL,
                              all->d_prior ? all->d_prior + place : NULL,
                              all->d_keys ? all->d_keys + place * a->keys.width : NULL};
}

/* The value that keys multiply has a gradient of its own, which is added to, or shares that of
 * the queries. */
static gnn__attention_t apart_of(const gnn__attention_t *a)
{
    gnn__attention_t apart = *a;
    apart.grad.q = a->keys.d_q;
    apart.grad.writes_q = 0;
    return apart;
}

void gnn__tiles_backward(const gnn__attention_t *of, gnn_real_t *scratch, int64_t scratch_size,
                         gnn_real_t *sums, gnn_real_t *d_prior, gnn_real_t *d_keys, int threads)
{
    const gnn__attention_tiles_grad_t *kernels = gnn__attention_tiles_grad();
    gnn__attention_t copy = *of, *a = &copy, other = apart_of(of);
    chunks_t c;
    cut_senders(a, &c);
    const bool apart = keys_apart(a) && a->keys.d_q.at;
    const gnn__tile_sums_t all = {sums,
                                  apart            ? sums + sums_of_queries(a, &c)
                                  : a->keys.d_q.at ? sums
                                                   : NULL,
                                  d_prior, d_keys};
    const int64_t group = a->heads / a->kv_heads, per = 256,
                  heard = c.count > 0 ? a->pairs.hi[a->pairs.n_rows - 1] : 0,
                  end = gnn__max(a->grad.writes_q, heard), blocks = (end + per - 1) / per,
                  heads = heads_per_unit(a, a->kv_heads, c.count),
                  drawn = heads * group > 1 ? rows_drawn(a) : 0;
    a->rows = drawn > 0 ? drawn : GNN__TILE_ROWS;
    GNN__EACH_CHUNK (u, (a->kv_heads + heads - 1) / heads * c.count, threads) {
        const int64_t kv = u / c.count * heads, k = u % c.count;
        const gnn__tile_sums_t own = sums_of_unit(a, &c, &all, k, kv * group);
        kernels->send(a, c.begin[k], c.begin[k + 1], kv, gnn__min(kv + heads, a->kv_heads), &own,
                      scratch + omp_get_thread_num() * scratch_size);
    }
    GNN__PARALLEL_FOR (threads, int64_t b = 0; b < blocks; b++) {
        const int64_t c0 = b * per, c1 = gnn__min(c0 + per, end);
        if (a->grad.q.at)
            receive_sums(a, &c, sums, c0, c1);
        if (apart)
            receive_sums(&other, &c, all.d_key_q, c0, c1);
    }
}
