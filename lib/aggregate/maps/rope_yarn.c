/* Rotary positions for texts that are longer than those of the first training: pairs of low
 * numbers, which turn fast, stay, those of high ones are slowed down. */
#include <lib/aggregate/maps/rope.h>

enum { FIRST = ROPE_FACTOR + 1, LAST };

static const gnn_option_t options[] = {
    {"base", 10000, 1, 1e12, "of the frequencies"},
    {"factor", 1, 1, 1e6, "slow pairs are slowed down by it"},
    {"first", 0, 0, 1 << 24, "pairs up to this number stay"},
    {"last", 0, 0, 1 << 24, "pairs from this number on are slowed down"}};

static double kept(const double *o, double t, double frequency)
{
    (void)frequency;
    return 1 - (t - o[FIRST]) / (o[LAST] > o[FIRST] ? o[LAST] - o[FIRST] : 1e-3);
}

static void prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    rope_scaled(shape, position, kept, numbers);
}

const gnn_map_t gnn_map_rope_yarn = {
    .name = "rope_yarn",
    .paper = "Peng et al. 2024 (YaRN)",
    .help = "rope whose slow pairs are slowed down, for longer texts",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .wrong = rope_odd,
    .numbers = rope_whole,
    .prepare = prepare,
    .apply = rope_apply,
    .apply_grad = rope_apply_grad,
};
