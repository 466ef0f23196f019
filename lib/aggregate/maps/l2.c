/* Every head's numbers divided by their length, so that a dot product is a cosine. */
#include <lib/aggregate/tables.h>
#include <lib/ops/unit_rows.h>

static void apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                  const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    (void)numbers;
    for (int64_t a = 0; a < heads; a++)
        gnn__unit_head(x + a * d, d, y + a * d);
}

static void apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x)
{
    const int64_t d = shape->d_k;
    (void)numbers;
    for (int64_t a = 0; a < heads; a++)
        gnn__unit_head_grad(x + a * d, d_y + a * d, d, true, d_x + a * d);
}

const gnn_map_t gnn_map_l2 = {
    .name = "l2",
    .paper = "Graves, Wayne, Danihelka 2014, eq. 6; Henry et al. 2020",
    .help = "every head's numbers divided by their length: a dot score becomes a cosine",
    .apply = apply,
    .apply_grad = apply_grad,
};
