/* Fields whose values depend on their size only. */
#include <lib/weights/arch/arch.h>

#include <lib/weights/arch/arch_matrix.h>
#include <math.h>

/* Sines in the first half of the columns, cosines in the second. Vaswani et al. 2017, 3.5, as in
 * Marian. */
static void sinusoidal_halves(const gnn_tensor_t *field)
{
    const int64_t half = (field->cols + 1) / 2;
    for (int64_t c = 0; c < field->cols; c++) {
        const int64_t wave = c < half ? c : c - half;
        const double frequency = pow(10000, -2 * (double)wave / (double)field->cols);
        for (int64_t p = 0; p < field->rows; p++) {
            const double angle = (double)p * frequency;
            gnn__row(field, p)[c] = (gnn_real_t)(c < half ? sin(angle) : cos(angle));
        }
    }
}

/* The same for 2 n + 1 positions n, n - 1 .. -n. Dai et al. 2019. */
static void sinusoidal_back(const gnn_tensor_t *field)
{
    const int64_t half = (field->cols + 1) / 2;
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++) {
            const int64_t wave = c < half ? c : c - half;
            const double place = (double)(field->rows / 2 - r),
                         angle = place * pow(10000, -2 * (double)wave / (double)field->cols);
            gnn__row(field, r)[c] = (gnn_real_t)(c < half ? sin(angle) : cos(angle));
        }
}

/* Sines as first, with other frequencies and positions from 2, as in fairseq; the last row is that
 * of padding, zeros. */
static void sinusoidal_after_two(const gnn_tensor_t *field)
{
    const int64_t half = field->cols / 2;
    for (int64_t p = 0; p < field->rows - 1; p++)
        for (int64_t c = 0; c < field->cols; c++) {
            const double wave = (double)(c % gnn__max(half, 1)) / (double)gnn__max(half - 1, 1),
                         angle = (double)(p + 2) * pow(10000, -wave);
            gnn__row(field, p)[c] = (gnn_real_t)(c < half       ? sin(angle)
                                                 : c < 2 * half ? cos(angle)
                                                                : 0);
        }
}

/* Sines as first, whose last frequency is 1/10000, as in Pegasus-X. */
static void sinusoidal_ends(const gnn_tensor_t *field)
{
    const int64_t half = field->cols / 2;
    for (int64_t p = 0; p < field->rows; p++)
        for (int64_t c = 0; c < field->cols; c++) {
            const double wave = (double)(c % gnn__max(half, 1)) / (double)gnn__max(half - 1, 1),
                         angle = (double)p * pow(10000, -wave);
            gnn__row(field, p)[c] = (gnn_real_t)(c < half ? sin(angle) : cos(angle));
        }
}

/* Slopes of ALiBi, 2^(-8 k / n) for head k = 1 .. n; if n is not a power of two, those of the next
 * lower power, then every second one of twice that power. Press, Smith, Lewis 2022. */
static void alibi(const gnn_tensor_t *field)
{
    int64_t power = 1;
    while (2 * power <= field->cols)
        power *= 2;
    for (int64_t k = 0; k < field->cols; k++) {
        const double exponent = k < power ? (double)(k + 1) * 8 / (double)power
                                          : (double)(2 * (k - power) + 1) * 4 / (double)power;
        field->data[k] = (gnn_real_t)pow(2, -exponent);
    }
}

/* The gain that turns an rms norm into rows of norm 1. */
static void unit_length(const gnn_tensor_t *field)
{
    for (int64_t c = 0; c < field->cols; c++)
        field->data[c] = (gnn_real_t)(1 / sqrt((double)field->cols));
}

static void zeros(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        memset(gnn__row(field, r), 0, sizeof(gnn_real_t) * (size_t)field->cols);
}

static void ones(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = 1;
}

static void identity(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = r == c;
}

/* 1 for two types of tokens that count as one: equal ones, and type 2 with all. Dai et al. 2020. */
static void alike_types(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = r == c || r == 2 || c == 2;
}

/* 0, 1, 2 ... in each row. */
static void counting(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = (gnn_real_t)c;
}

/* The index of its row in each element. */
static void row_numbers(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = (gnn_real_t)r;
}

/* A causal mask: 1 up to the diagonal, 0 above it. */
static void triangle(const gnn_tensor_t *field)
{
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = c <= r;
}

/* Row and column of each cell of a square grid, whose cells are counted row by row. */
static void grid_places(const gnn_tensor_t *field)
{
    const int64_t side = (int64_t)(sqrt((double)field->rows) + 0.5);
    for (int64_t r = 0; r < field->rows; r++) {
        gnn__row(field, r)[0] = (gnn_real_t)(r / side);
        gnn__row(field, r)[1] = (gnn_real_t)(r % side);
    }
}

/* The same from the grid's middle. */
static void grid_distances(const gnn_tensor_t *field)
{
    const int64_t side = (int64_t)(sqrt((double)field->rows) + 0.5);
    for (int64_t r = 0; r < field->rows; r++) {
        gnn__row(field, r)[0] = (gnn_real_t)(r / side - side / 2);
        gnn__row(field, r)[1] = (gnn_real_t)(r % side - side / 2);
    }
}

/* ---- drawn values ---- */

enum { STATE = 624, STEP = 397, LANES = 8 };

/* The Mersenne Twister of 32 bits: Matsumoto, Nishimura 1998. */
typedef struct twister {
    uint32_t state[STATE];
    int at;
} twister_t;

static void twister_seed(twister_t *t, uint32_t seed)
{
    t->state[0] = seed;
    for (uint32_t k = 1; k < STATE; k++)
        t->state[k] = 1812433253U * (t->state[k - 1] ^ (t->state[k - 1] >> 30)) + k;
    t->at = STATE;
}

static void twister_renew(twister_t *t)
{
    for (int k = 0; k < STATE; k++) {
        const uint32_t y = (t->state[k] & 0x80000000U) | (t->state[(k + 1) % STATE] & 0x7fffffffU);
        t->state[k] = t->state[(k + STEP) % STATE] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0);
    }
    t->at = 0;
}

/* In 0 .. 1, of 24 bits. */
static double twister_next(twister_t *t)
{
    if (t->at == STATE)
        twister_renew(t);
    uint32_t y = t->state[t->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    y ^= y >> 18;
    return (double)(y & 0xffffffU) / (double)(1 << 24);
}

/* Box and Muller 1958: of 16 values, those LANES apart belong together. */
static void to_normal(double *x)
{
    for (int k = 0; k < LANES; k++) {
        const double radius = sqrt(-2 * log(1 - x[k])), angle = 2 * acos(-1.0) * x[k + LANES];
        x[k] = radius * cos(angle);
        x[k + LANES] = radius * sin(angle);
    }
}

/* The last 16 values are drawn anew where their count is not a multiple of 16. */
int gnn__arch_draw(const gnn_tensor_t *field, uint64_t seed)
{
    const int64_t n = field->rows * field->cols, each = 2 * LANES;
    double *x = NULL;
    twister_t t;
    if (n < each)
        return gnn__error(GNN_EINVALID, "%lld values are drawn, at least %lld are expected",
                          (long long)n, (long long)each);
    GNN_TRY(gnn__new(&x, n, sizeof *x, "drawn values"));
    twister_seed(&t, (uint32_t)seed);
    for (int64_t k = 0; k < n; k++)
        x[k] = twister_next(&t);
    for (int64_t k = 0; k + each <= n; k += each)
        to_normal(x + k);
    for (int64_t k = n - each; n % each != 0 && k < n; k++)
        x[k] = twister_next(&t);
    if (n % each != 0)
        to_normal(x + n - each);
    for (int64_t r = 0; r < field->rows; r++)
        for (int64_t c = 0; c < field->cols; c++)
            gnn__row(field, r)[c] = (gnn_real_t)x[r * field->cols + c];
    gnn_free(x);
    return GNN_OK;
}

static const struct {
    const char *name;
    gnn__arch_maker_t make;
} makers[] = {
#define GNN_MAKER(name) {#name, name},
#include <lib/weights/arch/makers.def>
#undef GNN_MAKER
};

static const char *name_at(size_t index)
{
    return index < sizeof makers / sizeof *makers ? makers[index].name : NULL;
}

gnn__arch_maker_t gnn__arch_maker_find(const char *name)
{
    for (size_t k = 0; name_at(k); k++)
        if (strcmp(name_at(k), name) == 0)
            return makers[k].make;
    gnn__unknown_name("maker", name, name_at);
    return NULL;
}

int gnn__arch_compare(const gnn_array_t *array, const char *maker, gnn__arch_difference_t *difference)
{
    const double most = 1e-6;
    const gnn__arch_maker_t make = gnn__arch_maker_find(maker);
    const matrix_t m = as_matrix(array);
    gnn_real_t *made = NULL;
    *difference = (gnn__arch_difference_t){0};
    if (!make)
        return GNN_ENOTFOUND;
    GNN_TRY(gnn__new(&made, m.rows * m.cols, sizeof *made, "values of a maker"));
    const gnn_tensor_t field = gnn_tensor(made, m.rows, m.cols);
    make(&field);
    for (int64_t k = 0; k < m.rows * m.cols && !difference->found; k++) {
        const double value = gnn_array_get(array, k);
        if (!(fabs(value - (double)made[k]) <= most))
            *difference = (gnn__arch_difference_t){true, k, value, (double)made[k]};
    }
    gnn_free(made);
    return GNN_OK;
}
