/* Rotary positions for texts that are longer than those of the first training: waves that are long
 * beside those are stretched, short ones stay. */
#include <lib/aggregate/maps/rope.h>

enum { LONG = ROPE_FACTOR + 1, SHORT };

static const gnn_option_t options[] = {
    {"base", 500000, 1, 1e12, "of the frequencies"},
    {"factor", 8, 1, 1e6, "long waves are stretched by it"},
    {"long", 8192, 1e-3, 1e12, "waves of this length and above are stretched"},
    {"short", 2048, 1e-3, 1e12, "waves of this length and below stay"}};

static double kept(const double *o, double t, double frequency)
{
    const double two_pi = 6.283185307179586, lowest = two_pi / o[LONG], highest = two_pi / o[SHORT];
    (void)t;
    return (frequency - lowest) / (highest - lowest);
}

static const char *wrong(const gnn_aggregate_shape_t *shape)
{
    return shape->options[LONG] > shape->options[SHORT] ? rope_odd(shape) : "it needs .long > .short";
}

static void prepare(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers)
{
    rope_scaled(shape, position, kept, numbers);
}

const gnn_map_t gnn_map_rope_llama3 = {
    .name = "rope_llama3",
    .paper = "Grattafiori et al. 2024 (Llama 3)",
    .help = "rope whose long waves are stretched, for longer texts",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .wrong = wrong,
    .numbers = rope_whole,
    .prepare = prepare,
    .apply = rope_apply,
    .apply_grad = rope_apply_grad,
};
