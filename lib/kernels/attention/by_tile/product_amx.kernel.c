/* Products of tiles by AMX, where sixteen rows of bf16 words meet sixteen columns in one
 * instruction. What fills no such block is multiplied by vdpbf16ps. */
#include <lib/kernels/attention/by_tile/product_amx.h>
#include <lib/kernels/attention/by_tile/product_bf16.h>
#include <lib/kernels/attention/by_tile/tile_pack.h>

#if HALVES
#define TARGET __attribute__((target("amx-tile,amx-bf16,avx512bf16")))

/* Sums of sixteen rows and up to four times sixteen columns are tiles 0 to 3; 4 and 5 are a block
 * of each factor, 6 and 7 half a block. */
enum { SUMS = 4, SIDE = 16 };

/* Compilers do not know that instructions on tiles read memory: `what` and all that pointers reach
 * is read here. */
GNN__INLINE void written(const void *what)
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
    written(&shapes);
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

/* Sixteen rows, of n words: whole blocks, and at last perhaps half of one. */
TARGET static void group(const gnn_real_t *a, int64_t row, const gnn_real_t *b, int64_t ldb,
                         int64_t n, gnn_real_t *out, int64_t ldo, int sums, bool add, bool split)
{
    written(a);
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
            block(x + rests_at(1), row, y, ldb, whole, sums);
        }
    }
    EACH_SUM(STORE);
}

/* Words whose rows lie side by side, at most COLUMNS rows and columns of them, as rows one after
 * another. What is read behind the last row is not used. */
static void turn(const gnn_real_t *a, int64_t step, int64_t rows, int64_t n, bool split,
                 gnn_real_t *to)
{
    for (int64_t k = 0; k < n; k += BLOCK_WORDS)
        for (int rest = 0; rest <= split; rest++) {
            const panel_t words = {.rows = a + k * step + rest * rests_at(step), .ld = step};
            transpose(&words, (int)(n - k < BLOCK_WORDS ? n - k : BLOCK_WORDS), rows,
                      to + word_at(split, 1, k) + rest * BLOCK_WORDS);
        }
}

/* Rows have their words one after another (step 1); those side by side, as d_score has them for the
 * receivers, are turned first. */
static void multiply(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                     const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                     int64_t width, bool add, bool split)
{
    gnn_real_t turned[COLUMNS * COLUMNS] __attribute__((aligned(64)));
    if (step != 1) {
        turn(a, step, rows, n, split, turned);
        a = turned;
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
