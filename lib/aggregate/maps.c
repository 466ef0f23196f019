/* The maps: what becomes of rows of queries and keys before they are compared. One entry after
 * another. */
#include <lib/aggregate/tables.h>
#include <lib/ops/unit_rows.h>
#include <math.h>
#include <stdbool.h>

/* ---- none ---- */

const gnn_map_t gnn_map_none = {.name = "none", .help = "rows stay as they are"};

/* ---- rotation of pairs of values of every head: shared by the rope entries ---- */

/* Pairs of a head are (at, at + apart); the next pair begins `step` values later. */
typedef struct rope_layout {
    int64_t pairs, step, apart;
} rope_layout_t;

/* Rotates one head by its angles times `sign`. `numbers`: the cosines of all pairs, then the sines.
 * u and v: the first and the second values of the pairs. Callers pass constants for `step` and
 * `add` where speed counts. */
static inline void rotate_head(int64_t pairs, int64_t step, const gnn_real_t *restrict numbers,
                               gnn_real_t sign, const gnn_real_t *restrict u,
                               const gnn_real_t *restrict v, bool add, gnn_real_t *restrict y_u,
                               gnn_real_t *restrict y_v)
{
#pragma omp simd
    for (int64_t t = 0; t < pairs; t++) {
        const int64_t at = t * step;
        const gnn_real_t c = numbers[t], s = sign * numbers[pairs + t];
        y_u[at] = (add ? y_u[at] : 0) + u[at] * c - v[at] * s;
        y_v[at] = (add ? y_v[at] : 0) + u[at] * s + v[at] * c;
    }
}

static inline void rotate(const gnn_aggregate_shape_t *shape, rope_layout_t l, int64_t heads,
                          const gnn_real_t *numbers, gnn_real_t sign, const gnn_real_t *x, bool add,
                          gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < heads; a++, x += d, y += d) {
        if (l.step == 1 && !add)
            rotate_head(l.pairs, 1, numbers, sign, x, x + l.apart, false, y, y + l.apart);
        else
            rotate_head(l.pairs, l.step, numbers, sign, x, x + l.apart, add, y, y + l.apart);
        for (int64_t at = 2 * l.pairs; at < d; at++)
            y[at] = (add ? y[at] : 0) + x[at];
    }
}

/* ---- rope: pair t is rotated by position / factor * base^(-2t / width) ---- */

enum { BASE, WIDTH, FACTOR, ADJACENT };

/* clang-format off */
#define ROTATED_WIDTH \
    {"width", 0, 0, 1 << 24, "how many values of every head are rotated; 0: all", GNN_OPTION_INTEGER}
#define ADJACENT_PAIRS \
    {"adjacent", 0, 0, 1, "1: the pairs are (2t, 2t + 1); 0: (t, t + width / 2)", GNN_OPTION_INTEGER}
/* clang-format on */

static const gnn_option_t rope_options[] = {
    {"base", 10000, 1, 1e12, "of the frequencies", GNN_OPTION_REAL},
    ROTATED_WIDTH,
    {"factor", 1, 1e-6, 1e6, "positions are divided by it (position interpolation)", GNN_OPTION_REAL},
    ADJACENT_PAIRS};

/* By an option ROTATED_WIDTH. */
static int64_t rotated_width(const gnn_aggregate_shape_t *shape, double width)
{
    return width > 0 ? (int64_t)width : shape->d_k;
}

static int64_t rope_width(const gnn_aggregate_shape_t *shape)
{
    return rotated_width(shape, shape->options[WIDTH]);
}

static const char *rotated_wrong(const gnn_aggregate_shape_t *shape, int64_t width)
{
    if (width > shape->d_k)
        return "it rotates more values than a head has";
    return width % 2 != 0 ? "it rotates pairs, so the width must be even" : NULL;
}

static const char *rope_wrong(const gnn_aggregate_shape_t *shape)
{
    return rotated_wrong(shape, rope_width(shape));
}

static void rope_prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    const int64_t width = rope_width(shape);
    const double ratio = width > 0 ? pow(shape->options[BASE], -2 / (double)width) : 1;
    double angle = (double)position / shape->options[FACTOR];
    for (int64_t t = 0; t < width / 2; t++) {
        numbers[t] = (gnn_real_t)cos(angle);
        numbers[width / 2 + t] = (gnn_real_t)sin(angle);
        angle *= ratio;
    }
}

/* NAME_apply and NAME_apply_grad: the rotations of a layout. */
#define ROTATION(name, layout)                                                              \
    static void name##_apply(const gnn_aggregate_shape_t *shape, int64_t heads,             \
                             const gnn_real_t *numbers, const gnn_real_t *x, gnn_real_t *y) \
    {                                                                                       \
        rotate(shape, layout(shape), heads, numbers, 1, x, false, y);                       \
    }                                                                                       \
    static void name##_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,        \
                                  const gnn_real_t *numbers, const gnn_real_t *x,           \
                                  const gnn_real_t *d_y, gnn_real_t *d_x)                   \
    {                                                                                       \
        (void)x;                                                                            \
        rotate(shape, layout(shape), heads, numbers, -1, d_y, true, d_x);                   \
    }

static rope_layout_t layout_of(int64_t pairs, bool adjacent)
{
    return (rope_layout_t){pairs, adjacent ? 2 : 1, adjacent ? 1 : pairs};
}

static rope_layout_t rope_layout(const gnn_aggregate_shape_t *shape)
{
    return layout_of(rope_width(shape) / 2, shape->options[ADJACENT] > 0);
}

ROTATION(rope, rope_layout)

const gnn_map_t gnn_map_rope = {
    .name = "rope",
    .paper = "Su et al. 2021 (RoFormer), eq. 34",
    .help = "pairs of values are rotated by angles in proportion to the position",
    .options = rope_options,
    .n_options = sizeof rope_options / sizeof *rope_options,
    .wrong = rope_wrong,
    .numbers = rope_width,
    .prepare = rope_prepare,
    .apply = rope_apply,
    .apply_grad = rope_apply_grad,
};

/* ---- rope_llama3, rope_yarn: rotary angles for texts longer than those of the first training. All
 * of a head, pairs (t, t + d_k / 2), with scaled frequencies ---- */

enum { SCALED_BASE, SCALED_FACTOR };

static int64_t whole_head(const gnn_aggregate_shape_t *shape)
{
    return shape->d_k;
}

static const char *odd_head(const gnn_aggregate_shape_t *shape)
{
    return shape->d_k % 2 != 0 ? "it rotates pairs, so the width must be even" : NULL;
}

/* Pair t keeps kept(options, t, frequency), from 0 to 1, of its frequency; the remainder is divided
 * by the option `factor`. */
static void prepare_scaled(const gnn_aggregate_shape_t *shape, int64_t position,
                           double (*kept)(const double *options, double t, double frequency),
                           gnn_real_t *numbers)
{
    const double *o = shape->options, ratio = pow(o[SCALED_BASE], -2 / (double)shape->d_k);
    double frequency = 1;
    for (int64_t t = 0; t < shape->d_k / 2; t++, frequency *= ratio) {
        const double share = fmin(fmax(kept(o, (double)t, frequency), 0), 1);
        const double angle = (double)position * frequency * (share + (1 - share) / o[SCALED_FACTOR]);
        numbers[t] = (gnn_real_t)cos(angle);
        numbers[shape->d_k / 2 + t] = (gnn_real_t)sin(angle);
    }
}

static rope_layout_t whole_layout(const gnn_aggregate_shape_t *shape)
{
    return layout_of(shape->d_k / 2, false);
}

ROTATION(whole, whole_layout)

enum { LONG = SCALED_FACTOR + 1, SHORT };

static const gnn_option_t llama3_options[] = {
    {"base", 500000, 1, 1e12, "of the frequencies", GNN_OPTION_REAL},
    {"factor", 8, 1, 1e6, "long waves are stretched by it", GNN_OPTION_REAL},
    {"long", 8192, 1e-3, 1e12, "waves of this length and above are stretched", GNN_OPTION_REAL},
    {"short", 2048, 1e-3, 1e12, "waves of this length and below stay", GNN_OPTION_REAL}};

static double llama3_kept(const double *o, double t, double frequency)
{
    const double two_pi = 6.283185307179586, lowest = two_pi / o[LONG], highest = two_pi / o[SHORT];
    (void)t;
    return (frequency - lowest) / (highest - lowest);
}

static const char *llama3_wrong(const gnn_aggregate_shape_t *shape)
{
    return shape->options[LONG] > shape->options[SHORT] ? odd_head(shape) : "it needs .long > .short";
}

static void llama3_prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    prepare_scaled(shape, position, llama3_kept, numbers);
}

const gnn_map_t gnn_map_rope_llama3 = {
    .name = "rope_llama3",
    .paper = "Grattafiori et al. 2024 (Llama 3)",
    .help = "rope whose long waves are stretched, for longer texts",
    .options = llama3_options,
    .n_options = sizeof llama3_options / sizeof *llama3_options,
    .wrong = llama3_wrong,
    .numbers = whole_head,
    .prepare = llama3_prepare,
    .apply = whole_apply,
    .apply_grad = whole_apply_grad,
};

enum { FIRST = SCALED_FACTOR + 1, LAST };

static const gnn_option_t yarn_options[] = {
    {"base", 10000, 1, 1e12, "of the frequencies", GNN_OPTION_REAL},
    {"factor", 1, 1, 1e6, "slow pairs are slowed down by it", GNN_OPTION_REAL},
    {"first", 0, 0, 1 << 24, "pairs up to this index stay", GNN_OPTION_REAL},
    {"last", 0, 0, 1 << 24, "pairs from this index on are slowed down", GNN_OPTION_REAL}};

static double yarn_kept(const double *o, double t, double frequency)
{
    (void)frequency;
    return 1 - (t - o[FIRST]) / (o[LAST] > o[FIRST] ? o[LAST] - o[FIRST] : 1e-3);
}

static void yarn_prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    prepare_scaled(shape, position, yarn_kept, numbers);
}

const gnn_map_t gnn_map_rope_yarn = {
    .name = "rope_yarn",
    .paper = "Peng et al. 2024 (YaRN)",
    .help = "rope whose slow pairs are slowed down, for longer texts",
    .options = yarn_options,
    .n_options = sizeof yarn_options / sizeof *yarn_options,
    .wrong = odd_head,
    .numbers = whole_head,
    .prepare = yarn_prepare,
    .apply = whole_apply,
    .apply_grad = whole_apply_grad,
};

/* ---- rope_given: pair t is rotated by position * frequencies[t], a parameter without gradient.
 * For frequencies that follow no formula of a few options (LongRoPE's list of factors), and for
 * scaled ones of a part of each head, where the gain multiplies the rotated values alone ---- */

enum { GIVEN_WIDTH, GIVEN_ADJACENT, GIVEN_GAIN };

static const gnn_option_t given_options[] = {
    ROTATED_WIDTH,
    ADJACENT_PAIRS,
    {"gain", 1, 1e-6, 1e6, "rotated values are multiplied by it", GNN_OPTION_REAL}};

static int64_t given_width(const gnn_aggregate_shape_t *shape)
{
    return rotated_width(shape, shape->options[GIVEN_WIDTH]);
}

static const char *given_wrong(const gnn_aggregate_shape_t *shape)
{
    return rotated_wrong(shape, given_width(shape));
}

static size_t given_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){
        .name = "map.frequencies", .rows = 1, .cols = given_width(shape) / 2, .init = GNN_INIT_ONES};
    return 1;
}

static void given_prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    const int64_t pairs = given_width(shape) / 2;
    const double gain = shape->options[GIVEN_GAIN];
    for (int64_t t = 0; t < pairs; t++) {
        const double angle = (double)position * (double)shape->parameters.data[t];
        numbers[t] = (gnn_real_t)(gain * cos(angle));
        numbers[pairs + t] = (gnn_real_t)(gain * sin(angle));
    }
}

static rope_layout_t given_layout(const gnn_aggregate_shape_t *shape)
{
    return layout_of(given_width(shape) / 2, shape->options[GIVEN_ADJACENT] > 0);
}

ROTATION(given, given_layout)

const gnn_map_t gnn_map_rope_given = {
    .name = "rope_given",
    .paper = "Ding et al. 2024 (LongRoPE)",
    .help = "rope by frequencies that the parameter map.frequencies gives, one for each pair",
    .options = given_options,
    .n_options = sizeof given_options / sizeof *given_options,
    .wrong = given_wrong,
    .numbers = given_width,
    .prepare = given_prepare,
    .apply = given_apply,
    .apply_grad = given_apply_grad,
    .declare = given_declare,
};

/* ---- rope_table: pair t is rotated by the sine and the cosine of row `position` of the parameter
 * map.table, which is without gradient. For tables that files hold, rounded ---- */

enum { TABLE_ROWS, TABLE_WIDTH, TABLE_ADJACENT };

static const gnn_option_t table_options[] = {{"rows", 512, 1, 1 << 24,
                                              "positions of the table; later ones have its last row",
                                              GNN_OPTION_INTEGER},
                                             ROTATED_WIDTH,
                                             ADJACENT_PAIRS};

static int64_t table_width(const gnn_aggregate_shape_t *shape)
{
    return rotated_width(shape, shape->options[TABLE_WIDTH]);
}

static const char *table_wrong(const gnn_aggregate_shape_t *shape)
{
    return rotated_wrong(shape, table_width(shape));
}

static size_t table_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "map.table",
                              .rows = (int64_t)shape->options[TABLE_ROWS],
                              .cols = table_width(shape),
                              .init = GNN_INIT_ONES};
    return 1;
}

static void table_prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    const int64_t width = table_width(shape), pairs = width / 2,
                  last = (int64_t)shape->options[TABLE_ROWS] - 1,
                  row = position < 0      ? 0
                        : position > last ? last
                                          : position;
    const gnn_real_t *sines = shape->parameters.data + row * width;
    memcpy(numbers, sines + pairs, (size_t)pairs * sizeof *numbers);
    memcpy(numbers + pairs, sines, (size_t)pairs * sizeof *numbers);
}

static rope_layout_t table_layout(const gnn_aggregate_shape_t *shape)
{
    return layout_of(table_width(shape) / 2, shape->options[TABLE_ADJACENT] > 0);
}

ROTATION(table, table_layout)

const gnn_map_t gnn_map_rope_table = {
    .name = "rope_table",
    .paper = "Su et al. 2021 (RoFormer), eq. 34",
    .help = "rope by the parameter map.table, a row of sines and cosines for each position",
    .options = table_options,
    .n_options = sizeof table_options / sizeof *table_options,
    .wrong = table_wrong,
    .numbers = table_width,
    .prepare = table_prepare,
    .apply = table_apply,
    .apply_grad = table_apply_grad,
    .declare = table_declare,
};

/* ---- l2: every head divided by its length ---- */

static void l2_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                     const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    (void)numbers;
    for (int64_t a = 0; a < heads; a++)
        gnn__unit_head(x + a * d, d, y + a * d);
}

static void l2_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                          const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                          gnn_real_t *d_x)
{
    const int64_t d = shape->d_k;
    (void)numbers;
    for (int64_t a = 0; a < heads; a++)
        gnn__unit_head_grad(x + a * d, d_y + a * d, d, true, d_x + a * d);
}

const gnn_map_t gnn_map_l2 = {
    .name = "l2",
    .paper = "Graves, Wayne, Danihelka 2014, eq. 6; Henry et al. 2020",
    .help = "every head divided by its length: a dot score becomes a cosine",
    .apply = l2_apply,
    .apply_grad = l2_apply_grad,
};
