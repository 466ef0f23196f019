/* A graph with labelled nodes and weighted edges: curves whose width and opacity grow with the
 * weight. */
#include <math.h>

#include "svg.h"

#define MARGIN 24.0
#define WIDE 760.0
#define HIGH 520.0

typedef struct {
    const gnn_graph_picture_t *p;
    double low[2], scale[2], top, width, height, most; /* ranges of x and y; most: the largest
                                                        * weight */
} page_t;

static const gnn__type_t title_type = {.size = 17, .anchor = "start", .fill = "#1a1a1a", .bold = 1};
static const gnn__type_t subtitle_type = {.size = 12.5, .anchor = "start", .fill = "#555555"};
static const gnn__type_t word_type = {.size = 13, .anchor = "middle", .fill = "#111111", .room = 130};

static int check(const gnn_graph_picture_t *p)
{
    const int64_t n = p->points.rows;
    GNN_TRY(gnn__tensor_check(&p->points, "points"));
    GNN_TRY(gnn__tensor_check_finite(&p->points, "points"));
    if (p->points.cols != 2)
        return gnn__error(GNN_ESHAPE, "graph: points must be n x 2, got %lld x %lld", (long long)n,
                          (long long)p->points.cols);
    if (p->n_edges < 0 || (p->n_edges > 0 && (!p->from || !p->to || !p->weight)))
        return gnn__error(GNN_EINVALID, "graph: %lld edges, but from, to or weight is NULL",
                          (long long)p->n_edges);
    for (int64_t k = 0; k < p->n_edges; k++)
        if (p->from[k] < 0 || p->from[k] >= n || p->to[k] < 0 || p->to[k] >= n ||
            !isfinite(p->weight[k]))
            return gnn__error(
                GNN_EINVALID,
                "graph: edge %lld from %lld to %lld, weight %g: expected finite, %lld nodes",
                (long long)k, (long long)p->from[k], (long long)p->to[k], (double)p->weight[k],
                (long long)n);
    return GNN_OK;
}

static void layout(page_t *page, const gnn_graph_picture_t *p)
{
    *page = (page_t){.p = p, .width = WIDE + 2 * MARGIN};
    page->top = MARGIN + gnn__text_block(NULL, &title_type, 0, 0, WIDE, p->title) * 23 +
                gnn__text_block(NULL, &subtitle_type, 0, 0, WIDE, p->subtitle) * 17 + 14;
    page->height = page->top + HIGH + MARGIN;
    for (int axis = 0; axis < 2; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t k = 0; k < p->points.rows; k++) {
            low = fmin(low, (double)gnn__row(&p->points, k)[axis]);
            high = fmax(high, (double)gnn__row(&p->points, k)[axis]);
        }
        page->low[axis] = low <= high ? low : 0;
        page->scale[axis] = high > low ? 1 / (high - low) : 0;
    }
    for (int64_t k = 0; k < p->n_edges; k++)
        page->most = fmax(page->most, (double)p->weight[k]);
}

/* Pixel coordinate of a node, with margins for labels. */
static double node_pixel(const page_t *page, int64_t node, int axis)
{
    const double x = ((double)gnn__row(&page->p->points, node)[axis] - page->low[axis]) *
                     page->scale[axis],
                 t = page->scale[axis] == 0 ? 0.5 : x;
    return axis == 0 ? MARGIN + 70 + t * (WIDE - 140) : page->top + 24 + t * (HIGH - 48);
}

/* Bends to the left of the direction, so that edges in both directions are visible; ends in a dot
 * before the receiver's label. */
static void draw_edge(gnn__svg_t *svg, const page_t *page, int64_t k)
{
    const gnn_graph_picture_t *p = page->p;
    const double share = page->most > 0 ? (double)p->weight[k] / page->most : 0;
    const double x0 = node_pixel(page, p->from[k], 0), y0 = node_pixel(page, p->from[k], 1);
    const double x1 = node_pixel(page, p->to[k], 0), y1 = node_pixel(page, p->to[k], 1);
    const double dx = x1 - x0, dy = y1 - y0, length = hypot(dx, dy);
    if (share <= 0 || p->from[k] == p->to[k] || length < 1)
        return;
    const double bend = 0.16, mx = (x0 + x1) / 2 - dy * bend, my = (y0 + y1) / 2 + dx * bend;
    const double tx = x1 - mx, ty = y1 - my, back = 16 / fmax(hypot(tx, ty), 1);
    const double ex = x1 - tx * back, ey = y1 - ty * back;
    gnn__svg_put(svg, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" stroke-width=\"%.2f\" ", x0, y0,
                 mx, my, ex, ey, 0.6 + 5.4 * share);
    gnn__svg_put(svg, "stroke-opacity=\"%.2f\"/>\n", 0.12 + 0.78 * share);
    gnn__svg_put(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.2f\" fill=\"#0072b2\" ", ex, ey,
                 1.4 + 2.8 * share);
    gnn__svg_put(svg, "fill-opacity=\"%.2f\" stroke=\"none\"/>\n", 0.3 + 0.7 * share);
}

static void draw_word(gnn__svg_t *svg, const page_t *page, int64_t k)
{
    const char *word = page->p->labels ? page->p->labels[k] : NULL;
    const double x = node_pixel(page, k, 0), y = node_pixel(page, k, 1),
                 wide = word ? fmin(gnn__text_width(word, 13), 130) + 14 : 14;
    gnn__svg_put(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" rx=\"11\" ",
                 x - wide / 2, y - 11, wide);
    gnn__svg_put(svg, "fill=\"#fff6e0\" stroke=\"#e69f00\"/>\n");
    if (word)
        gnn__svg_text(svg, &word_type, x, y + 4.5, word);
}

int gnn_svg_graph(FILE *file, const gnn_graph_picture_t *picture)
{
    GNN__NEED(file);
    GNN__NEED(picture);
    page_t page;
    gnn__svg_t svg;
    GNN_TRY(check(picture));
    layout(&page, picture);
    GNN_TRY(gnn__svg_open(&svg, file, page.width, page.height, picture->title));
    const int lines = gnn__text_block(&svg, &title_type, MARGIN, MARGIN + 14, WIDE, picture->title);
    gnn__text_block(&svg, &subtitle_type, MARGIN, MARGIN + 12 + lines * 23, WIDE, picture->subtitle);
    gnn__svg_put(&svg, "<g fill=\"none\" stroke=\"#0072b2\" stroke-linecap=\"round\">\n");
    for (int64_t k = 0; k < picture->n_edges; k++)
        draw_edge(&svg, &page, k);
    gnn__svg_put(&svg, "</g>\n");
    for (int64_t k = 0; k < picture->points.rows; k++)
        draw_word(&svg, &page, k);
    return gnn__svg_close(&svg);
}
