/* Products of tiles by AMX: sixteen rows of bf16 words times sixteen columns in one instruction.
 * What fills no such block is multiplied by vdpbf16ps (product_bf16.kernel.c).
 *
 *                      b: 4 blocks of 16 columns, each loaded to tile 5
 *     a: 16 rows       +------+------+------+------+
 *     (tile 4)         | sum0 | sum1 | sum2 | sum3 |      tiles 0 to 3, fp32
 *                      +------+------+------+------+
 *     the last half block of the inner dimension, 8 words: tiles 6 and 7 */
#include <lib/kernels/attention/by_tile/tile.h>

#if BF16_PRODUCTS
#define TARGET __attribute__((target("amx-tile,amx-bf16,avx512bf16")))

/* Tiles 0 to 3 are sums of 16 rows and up to 4 x 16 columns, 4 and 5 a block of each factor, 6 and
 * 7 half a block. */
enum { SUMS = 4, SIDE = 16 };

/* Compilers do not know that tile instructions read memory: marks `what`, and all that pointers
 * reach, as read here. */
GNN__INLINE void read_by_tiles(const void *what)
{
    __asm__ volatile("" : : "r"(what) : "memory");
}

TARGET void amx_begin(void)
{
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        shapes.bytes[t] = t == 6 ? 2 * SIDE : 4 * SIDE;
        shapes.rows[t] = t == 7 ? SIDE / 2 : SIDE;
    }
    read_by_tiles(&shapes);
    _tile_loadconfig(&shapes);
}

TARGET void amx_end(void)
{
    _tile_release();
}

#define EACH_SUM(DO)  \
    do {              \
        DO(0);        \
        if (sums > 1) \
            DO(1);    \
        if (sums > 2) \
            DO(2);    \
        if (sums > 3) \
            DO(3);    \
    } while (0)
#define CLEAR(t) _tile_zero(t)
#define LOAD(t) _tile_loadd(t, out + (t)*SIDE, 4 * ldo)
#define STORE(t) _tile_stored(t, out + (t)*SIDE, 4 * ldo)
#define MULTIPLY_BY(t, x, y)                   \
    do {                                       \
        _tile_loadd(y, b + (t)*SIDE, 4 * ldb); \
        _tile_dpbf16ps(t, x, y);               \
    } while (0)
#define MULTIPLY(t) MULTIPLY_BY(t, 4, 5)
#define MULTIPLY_HALF(t) MULTIPLY_BY(t, 6, 7)

TARGET static void block(const gnn_real_t *a, int64_t row, const gnn_real_t *b, int64_t ldb,
                         bool whole, int sums)
{
    if (whole) {
        _tile_loadd(4, a, 4 * row);
        EACH_SUM(MULTIPLY);
    } else {
        _tile_loadd(6, a, 4 * row);
        EACH_SUM(MULTIPLY_HALF);
    }
}

/* Sixteen rows, n words: whole blocks, and at the end possibly half of one. */
TARGET static void group(const gnn_real_t *a, int64_t row, const gnn_real_t *b, int64_t ldb,
                         int64_t n, gnn_real_t *out, int64_t ldo, int sums, bool add, bool split)
{
    read_by_tiles(a);
    if (add)
        EACH_SUM(LOAD);
    else
        EACH_SUM(CLEAR);
    for (int64_t k = 0; k < n; k += BLOCK_WORDS) {
        const gnn_real_t *x = a + word_at(split, 1, k), *y = b + k * ldb;
        const bool whole = n - k >= BLOCK_WORDS;
        block(x, row, y, ldb, whole, sums);
        if (split) {
            block(x, row, y + ldb / 2, ldb, whole, sums);
            block(x + remainders_at(1), row, y, ldb, whole, sums);
        }
    }
    EACH_SUM(STORE);
}

/* Transposes words whose rows are next to each other (at most COLUMNS rows and columns) to rows of
 * words. Elements that are read after the last row are not used. */
static void transpose_words(const gnn_real_t *a, int64_t step, int64_t rows, int64_t n, bool split,
                            gnn_real_t *to)
{
    for (int64_t k = 0; k < n; k += BLOCK_WORDS)
        for (int rest = 0; rest <= split; rest++) {
            const panel_t words = {.rows = a + k * step + rest * remainders_at(step), .ld = step};
            transpose(&words, (int)(n - k < BLOCK_WORDS ? n - k : BLOCK_WORDS), rows,
                      to + word_at(split, 1, k) + rest * BLOCK_WORDS);
        }
}

/* Rows of a have their words in sequence (step 1). Those next to each other, as d_score is for
 * receivers, are transposed first. */
static void multiply(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                     const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                     int64_t width, bool add, bool split)
{
    gnn_real_t transposed_words[COLUMNS * COLUMNS] __attribute__((aligned(64)));
    if (step != 1) {
        transpose_words(a, step, rows, n, split, transposed_words);
        a = transposed_words;
        row = COLUMNS;
    }
    product_t *other = split ? split_product : rounded_product;
    const int64_t whole_rows = rows / SIDE * SIDE,
                  whole = n % BLOCK_WORDS == BLOCK_WORDS / 2 ? n : n / BLOCK_WORDS * BLOCK_WORDS;
    for (int64_t r = 0; whole > 0 && r < whole_rows; r += SIDE)
        for (int64_t c = 0; c < width; c += SUMS * SIDE) {
            const int64_t left = (width - c) / SIDE;
            group(a + r * row, row, b + c, ldb, whole, out + r * ldo + c, ldo,
                  (int)(left < SUMS ? left : SUMS), add, split);
        }
    if (whole_rows > 0 && whole < n)
        other(a + word_at(split, 1, whole), row, 1, whole_rows, b + whole * ldb, ldb, n - whole,
              out, ldo, width, add || whole > 0);
    if (whole_rows < rows)
        other(a + whole_rows * row, row, 1, rows - whole_rows, b, ldb, n, out + whole_rows * ldo,
              ldo, width, add);
}

void amx_rounded_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                         const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                         int64_t width, bool add)
{
    multiply(a, row, step, rows, b, ldb, n, out, ldo, width, add, false);
}

void amx_split_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                       const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                       int64_t width, bool add)
{
    multiply(a, row, step, rows, b, ldb, n, out, ldo, width, add, true);
}
#endif
