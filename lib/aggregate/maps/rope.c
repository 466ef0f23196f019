/* Pairs of numbers of every head are turned by position / factor * base^(-2t / width), t the number
 * of the pair. */
#include <lib/aggregate/maps/rope.h>

enum { BASE, WIDTH, FACTOR, ADJACENT };

static const gnn_option_t options[] = {
    {"base", 10000, 1, 1e12, "of the frequencies"},
    {"width", 0, 0, 1 << 24, "so many numbers of every head are turned; 0: all"},
    {"factor", 1, 1e-6, 1e6, "positions are divided by it (position interpolation)"},
    {"adjacent", 0, 0, 1, "1: the pairs are (2t, 2t + 1); 0: (t, t + width / 2)"}};

static int64_t turned(const gnn_aggregate_shape_t *shape)
{
    return shape->options[WIDTH] > 0 ? (int64_t)shape->options[WIDTH] : shape->d_k;
}

static const char *wrong(const gnn_aggregate_shape_t *shape)
{
    return turned(shape) > shape->d_k ? "it turns more numbers than a head has"
           : turned(shape) % 2 != 0   ? "it turns pairs, so the width must be even"
                                      : NULL;
}

/* Cosines of all pairs, then sines. */
static int64_t numbers(const gnn_aggregate_shape_t *shape)
{
    return turned(shape);
}

static void prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    const int64_t width = turned(shape);
    const double ratio = width > 0 ? pow(shape->options[BASE], -2 / (double)width) : 1;
    double angle = (double)position / shape->options[FACTOR];
    for (int64_t t = 0; t < width / 2; t++) {
        numbers[t] = (gnn_real_t)cos(angle);
        numbers[width / 2 + t] = (gnn_real_t)sin(angle);
        angle *= ratio;
    }
}

static rope_layout_t layout(const gnn_aggregate_shape_t *shape)
{
    const int64_t pairs = turned(shape) / 2;
    const bool adjacent = shape->options[ADJACENT] > 0;
    return (rope_layout_t){pairs, adjacent ? 2 : 1, adjacent ? 1 : pairs};
}

static void apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                  const gnn_real_t *x, gnn_real_t *y)
{
    rope_turn(shape, layout(shape), heads, numbers, 1, x, false, y);
}

static void apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x)
{
    (void)x;
    rope_turn(shape, layout(shape), heads, numbers, -1, d_y, true, d_x);
}

const gnn_map_t gnn_map_rope = {
    .name = "rope",
    .paper = "Su et al. 2021 (RoFormer), eq. 34",
    .help = "pairs of numbers are turned by angles in proportion to the position",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .wrong = wrong,
    .numbers = numbers,
    .prepare = prepare,
    .apply = apply,
    .apply_grad = apply_grad,
};
