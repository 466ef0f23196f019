/* Graphs of architectures among the cells of grids, which are counted row by row. Windows are those
 * of square grids, whose side is that of config.json. */
#include <lib/weights/arch/arch.h>

typedef gnn__arch_sequences_t sequences_t;

/* ---- windows: Liu et al. 2021 (Swin) ---- */

typedef struct grid {
    int64_t side, window, shift;
} grid_t;

/* The window of row or column c, and its part that is not beyond the border, after a cyclic shift:
 * Liu et al. 2021, 3.2. */
static int64_t region(const grid_t *g, int64_t c)
{
    const int64_t moved = (c - g->shift + g->side) % g->side;
    return 2 * (moved / g->window) + (moved + g->shift >= g->side);
}

static bool same_window(const grid_t *g, int64_t i, int64_t j)
{
    return region(g, i / g->side) == region(g, j / g->side) &&
           region(g, i % g->side) == region(g, j % g->side);
}

/* Adds the pairs of one grid to m pairs. Senders of a cell lie within one window of it. */
static int64_t window_pairs(const grid_t *g, int64_t first, int64_t m, int64_t *src, int64_t *dst)
{
    for (int64_t i = 0; i < g->side * g->side; i++) {
        const int64_t y = i / g->side, x = i % g->side, reach = g->window - 1;
        for (int64_t down = gnn__max(y - reach, 0); down <= gnn__min(y + reach, g->side - 1); down++)
            for (int64_t at = gnn__max(x - reach, 0); at <= gnn__min(x + reach, g->side - 1); at++) {
                const int64_t j = down * g->side + at;
                if (!same_window(g, i, j))
                    continue;
                src[m] = first + j;
                dst[m++] = first + i;
            }
    }
    return m;
}

/* Cells receive from their window, with the cells of the other side where `shift` moves windows
 * across the border apart. `width` is (256 side + window) 256 + shift. */
static int grid_windows(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const grid_t g = {width >> 16, (width >> 8) & 255, width & 255};
    const int64_t cells = g.side * g.side, each = g.window * g.window;
    int64_t *src = NULL, *dst = NULL, *lengths = NULL, pairs = 0, n = 0, m = 0;
    int rc = GNN_OK;
    if (!gnn__mul(s->count, cells, &n) || n > INT32_MAX || !gnn__mul(n, each, &pairs))
        return gnn__error(GNN_EOVERFLOW, "more than %d cells", INT32_MAX);
    GNN_CHECK(gnn__new(&src, pairs, sizeof *src, "pairs of windows"));
    GNN_CHECK(gnn__new(&dst, pairs, sizeof *dst, "pairs of windows"));
    GNN_CHECK(gnn__new(&lengths, s->count, sizeof *lengths, "lengths"));
    for (int64_t k = 0; k < s->count; k++) {
        lengths[k] = cells;
        m = window_pairs(&g, k * cells, m, src, dst);
    }
    GNN_CHECK(gnn_graph_from_edges(graph, n, n, m, src, dst));
    GNN_CHECK(gnn_graph_cut(*graph, s->count, lengths));
done:
    gnn_free(src);
    gnn_free(dst);
    gnn_free(lengths);
    return rc;
}

/* Four receivers for each cell of a grid of half the side, one after another: each receives from
 * one of the four cells, down before across. `width` is the side. */
static int grid_quarters(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const int64_t half = width / 2, cells = width * width;
    gnn__arch_spans_t spans;
    int32_t *senders = NULL;
    int64_t n = 0;
    int rc;
    if (!gnn__mul(s->count, cells, &n) || n > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d cells", INT32_MAX);
    GNN_CHECK(gnn__arch_spans_new(&spans, n, n));
    GNN_CHECK(gnn__new(&senders, n, sizeof *senders, "cells"));
    for (int64_t r = 0; r < n; r++) {
        const int64_t cell = r % cells / 4, quarter = r % 4, y = 2 * (cell / half) + quarter % 2,
                      x = 2 * (cell % half) + quarter / 2;
        senders[r] = (int32_t)(r / cells * cells + y * width + x);
        gnn__arch_span(&spans, r, r + 1);
    }
    spans.senders = senders;
done:
    rc = gnn__arch_spans_graph(graph, &spans, rc);
    gnn_free(senders);
    return rc;
}

/* ---- convolutions: Yu et al. 2022 (PoolFormer) ---- */

/* `width` lists convolutions in digits of base 4096, the first one as the highest: 256 times the
 * side of the kernel plus 16 times the stride plus the padding. */
typedef struct conv {
    int64_t kernel, stride, padding;
} conv_t;

static conv_t last_conv(int64_t width)
{
    return (conv_t){width >> 8 & 15, width >> 4 & 15, width & 15};
}

typedef struct cells {
    int64_t down, across;
} cells_t;

static int64_t cells_after(const conv_t *c, int64_t cells)
{
    const int64_t span = cells + 2 * c->padding - c->kernel;
    return cells > 0 && span >= 0 ? span / c->stride + 1 : 0;
}

/* The grid after the convolutions, of images whose pixels are the rows; 0: they are too small. */
static cells_t grid_after(const sequences_t *s, int64_t width)
{
    if (width == 0)
        return s->count > 0 ? (cells_t){s->height, s->width} : (cells_t){1, 1};
    const conv_t c = last_conv(width);
    const cells_t from = grid_after(s, width >> 12);
    return (cells_t){cells_after(&c, from.down), cells_after(&c, from.across)};
}

static int find_grid(const sequences_t *s, int64_t width, cells_t *grid)
{
    *grid = grid_after(s, width);
    return grid->down > 0 && grid->across > 0
               ? GNN_OK
               : gnn__error(GNN_ESHAPE,
                            "images of %lld x %lld pixels are too small: no row of a stage is left",
                            (long long)s->height, (long long)s->width);
}

/* For each cell of a convolution's grid one receiver per cell of the kernel, row by row: it
 * receives from the cell that it lies on, if there is one. */
static int grid_kernel(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const conv_t c = last_conv(width);
    int32_t *senders = NULL, *receivers = NULL;
    int64_t m = 0, n = 0;
    cells_t grid;
    int rc;
    GNN_TRY(find_grid(s, width, &grid));
    const cells_t from = grid_after(s, width >> 12);
    const int64_t taps = c.kernel * c.kernel, cells = grid.down * grid.across,
                  each = from.down * from.across;
    if (!gnn__mul(s->count * cells, taps, &n) || n > INT32_MAX || s->count * each > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d rows", INT32_MAX);
    GNN_CHECK(gnn__new(&senders, n, sizeof *senders, "pairs of a grid"));
    GNN_CHECK(gnn__new(&receivers, n, sizeof *receivers, "pairs of a grid"));
    for (int64_t r = 0; r < n; r++) {
        const int64_t image = r / (cells * taps), cell = r / taps % cells, tap = r % taps,
                      y = cell / grid.across * c.stride + tap / c.kernel - c.padding,
                      x = cell % grid.across * c.stride + tap % c.kernel - c.padding;
        if (y < 0 || y >= from.down || x < 0 || x >= from.across)
            continue;
        senders[m] = (int32_t)(image * each + y * from.across + x);
        receivers[m++] = (int32_t)r;
    }
    GNN_CHECK(gnn_graph_from_edges(graph, n, s->count * each, m, senders, receivers));
done:
    gnn_free(senders);
    gnn_free(receivers);
    return rc;
}

/* Cells of the row of the grid `down` rows below a cell, `reach` to either side. */
static int near_row(gnn_graph_t **graph, int64_t images, const cells_t *grid, int64_t reach,
                    int64_t down)
{
    gnn__arch_spans_t spans;
    const int64_t cells = grid->down * grid->across, n = images * cells;
    const int rc = gnn__arch_spans_new(&spans, n, n);
    for (int64_t r = 0; rc == GNN_OK && r < n; r++) {
        const int64_t first = r / cells * cells, y = r % cells / grid->across + down,
                      x = r % grid->across, row = first + y * grid->across,
                      outside = y < 0 ? first : first + cells;
        if (y >= 0 && y < grid->down)
            gnn__arch_span(&spans, row + gnn__max(x - reach, 0),
                           row + gnn__min(x + reach + 1, grid->across));
        else
            gnn__arch_span(&spans, outside, outside);
    }
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* Each cell receives from those at most `reach` rows and columns away: `width` is 16 times the list
 * of convolutions plus the reach. */
static int grid_near(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    enum { MOST = 31 };
    gnn_graph_t *parts[MOST] = {NULL};
    const int64_t reach = width & 15;
    cells_t grid;
    GNN_TRY(find_grid(s, width >> 4, &grid));
    int rc = GNN_OK;
    for (int64_t k = 0; rc == GNN_OK && k < 2 * reach + 1; k++)
        rc = near_row(&parts[k], s->count, &grid, reach, k - reach);
    return gnn__arch_merged(graph, parts, 2 * reach + 1, rc);
}

/* One receiver per image, from all cells of its grid. */
static int grid_all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    int64_t *counts = NULL;
    cells_t grid;
    GNN_TRY(find_grid(s, width, &grid));
    GNN_TRY(gnn__new(&counts, 2 * s->count, sizeof *counts, "cells"));
    for (int64_t k = 0; k < s->count; k++) {
        counts[k] = 1;
        counts[s->count + k] = grid.down * grid.across;
    }
    const int rc = gnn_graph_bipartite(graph, s->count, counts, counts + s->count);
    gnn_free(counts);
    return rc;
}

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name, hears) {#name, GNN__ARCH_HEARS_##hears, name},
#include <lib/weights/arch/grids.def>
#undef GNN_GRAPH_KIND
};

const gnn__arch_graph_kinds_t gnn__arch_grids = {kinds, sizeof kinds / sizeof *kinds};
