/* A scatter plot. With lines it is a drawing of a graph: one scale for both axes, no ticks. */
#include "svg.h"

#include <float.h>
#include <math.h>

#define MARGIN 24.0
#define PLOT_W 680.0
#define PLOT_H 520.0
#define LEGEND_MOST 40 /* classes in the legend */

typedef struct {
    const gnn_scatter_t *plot;
    double low[2], scale[2]; /* per axis: pixel = at + (value - low) * scale */
    double at[2];
    double left, top, radius;
    double ticks[2][GNN__TICKS];
    int n_ticks[2], decimals[2];
    int64_t hidden;     /* points that are not finite */
    int64_t unlabelled; /* points without a class */
    double legend_w, width, height;
} page_t;

static const gnn__type_t title_type = {.size = 17, .anchor = "start", .fill = "#1a1a1a", .bold = 1};
static const gnn__type_t subtitle_type = {.size = 12.5, .anchor = "start", .fill = "#555555"};
static const gnn__type_t legend_type = {.size = 12, .anchor = "start", .fill = "#333333", .room = 180};
static const gnn__type_t tick_type = {.size = 11, .anchor = "middle", .fill = "#555555"};

static double coordinate(const gnn_scatter_t *plot, int64_t k, int axis)
{
    return (double)gnn__row(&plot->points, k)[axis];
}

static bool shown(const gnn_scatter_t *plot, int64_t k)
{
    return isfinite(coordinate(plot, k, 0)) && isfinite(coordinate(plot, k, 1));
}

static int check(const gnn_scatter_t *plot)
{
    GNN_TRY(gnn__tensor_check(&plot->points, "scatter points"));
    int64_t n = plot->points.rows;
    if (plot->points.cols != 2)
        return gnn__error(GNN_ESHAPE, "scatter: points must be n x 2, got %lld x %lld",
                          (long long)n, (long long)plot->points.cols);
    if (!plot->classes && (plot->class_names || plot->n_classes != 0))
        return gnn__error(GNN_EINVALID, "scatter: %s given, but classes is NULL",
                          plot->class_names ? "class_names are" : "n_classes is");
    if (plot->line_weight && plot->n_lines == 0)
        return gnn__error(GNN_EINVALID, "scatter: line_weight is given, but n_lines is 0");
    if (plot->classes && plot->n_classes <= 0)
        return gnn__error(GNN_EINVALID, "scatter: classes: expected n_classes > 0, got %lld",
                          (long long)plot->n_classes);
    for (int64_t k = 0; plot->classes && k < n; k++)
        if (plot->classes[k] >= plot->n_classes)
            return gnn__error(GNN_EINVALID, "scatter: class %d of point %lld, there are %lld classes",
                              (int)plot->classes[k], (long long)k, (long long)plot->n_classes);
    if (plot->n_lines < 0 || (plot->n_lines > 0 && (!plot->line_from || !plot->line_to)))
        return gnn__error(GNN_EINVALID, "scatter: %lld lines, but line_from or line_to is NULL",
                          (long long)plot->n_lines);
    for (int64_t k = 0; k < plot->n_lines; k++) {
        int64_t a = plot->line_from[k], b = plot->line_to[k];
        if (a < 0 || a >= n || b < 0 || b >= n)
            return gnn__error(GNN_EINVALID,
                              "scatter: line %lld from %lld to %lld, there are %lld points",
                              (long long)k, (long long)a, (long long)b, (long long)n);
        if (plot->line_weight && !(plot->line_weight[k] >= 0 && plot->line_weight[k] <= 1))
            return gnn__error(GNN_EINVALID, "scatter: weight of line %lld: expected 0 to 1, got %g",
                              (long long)k, plot->line_weight[k]);
    }
    return GNN_OK;
}

/* Range of a coordinate; widened if it is a single value, 0..1 if there is none. */
static void extent(const gnn_scatter_t *plot, int axis, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t k = 0; k < plot->points.rows; k++)
        if (shown(plot, k)) {
            *low = gnn__smaller(*low, coordinate(plot, k, axis));
            *high = gnn__higher(*high, coordinate(plot, k, axis));
        }
    if (*low > *high)
        *low = 0, *high = 1;
    if (*low == *high) {
        double reach = gnn__higher(fabs(*low) / 2, 0.5);
        *low = gnn__higher(*low - reach, -DBL_MAX);
        *high = gnn__smaller(*high + reach, DBL_MAX);
    }
}

/* Data to pixels, y upwards. Computed in halves because the span of two huge coordinates may
 * overflow. */
static double pixel(const page_t *page, double value, int axis)
{
    return page->at[axis] + (value / 2 - page->low[axis] / 2) * page->scale[axis];
}

static void scale_axes(page_t *page)
{
    const double size[2] = {PLOT_W, PLOT_H};
    double inset = page->radius + (page->plot->point_labels ? 20 : 10), half[2], high[2];
    for (int axis = 0; axis < 2; axis++) {
        extent(page->plot, axis, &page->low[axis], &high[axis]);
        half[axis] = high[axis] / 2 - page->low[axis] / 2;
        page->scale[axis] = (size[axis] - 2 * inset) / half[axis];
    }
    if (page->plot->n_lines > 0)
        page->scale[0] = page->scale[1] = gnn__smaller(page->scale[0], page->scale[1]);
    for (int axis = 0; axis < 2; axis++) {
        double spare = size[axis] - half[axis] * page->scale[axis];
        page->at[axis] = axis == 0 ? page->left + spare / 2 : page->top + PLOT_H - spare / 2;
        page->n_ticks[axis] = page->plot->n_lines > 0
                                  ? 0
                                  : gnn__ticks(page->low[axis], high[axis], 6, page->ticks[axis],
                                               &page->decimals[axis]);
    }
    page->scale[1] = -page->scale[1];
}

static void class_name(const gnn_scatter_t *plot, int64_t k, char *fallback, size_t size,
                       const char **name)
{
    snprintf(fallback, size, "class %lld", (long long)k);
    *name = plot->class_names && plot->class_names[k] ? plot->class_names[k] : fallback;
}

static double marker_radius(const gnn_scatter_t *plot)
{
    const int64_t n = plot->points.rows;
    if (n > 5000)
        return 1.8;
    if (n > 60)
        return n <= 500 ? 5 : 3.2;
    if (!plot->point_labels)
        return 7;
    return plot->line_weight ? 14 : 11;
}

static void layout(page_t *page, const gnn_scatter_t *plot)
{
    *page = (page_t){.plot = plot};
    int64_t n = plot->points.rows, legend = 0;
    page->radius = marker_radius(plot);
    for (int64_t k = 0; k < n; k++) {
        page->hidden += !shown(plot, k);
        page->unlabelled += plot->classes && plot->classes[k] < 0;
    }
    for (; plot->classes && legend < plot->n_classes && legend < LEGEND_MOST; legend++) {
        char fallback[40];
        const char *name;
        class_name(plot, legend, fallback, sizeof fallback, &name);
        page->legend_w =
            gnn__higher(page->legend_w, gnn__smaller(gnn__text_width(name, 12), 180) + 44);
    }
    if (page->unlabelled || plot->n_classes > LEGEND_MOST)
        page->legend_w = gnn__higher(page->legend_w, 130);
    page->left = MARGIN + (plot->n_lines > 0 ? 0 : 48);
    page->width = page->left + PLOT_W + page->legend_w + MARGIN;
    double room = page->width - 2 * MARGIN;
    page->top = MARGIN + gnn__text_block(NULL, &title_type, 0, 0, room, plot->title) * 23 +
                gnn__text_block(NULL, &subtitle_type, 0, 0, room, plot->subtitle) * 17 + 14;
    double below = (plot->n_lines > 0 ? 0 : 22) + (page->hidden ? 20 : 0);
    page->height = page->top + gnn__higher(PLOT_H + below, (double)legend * 22 + 50) + MARGIN;
    scale_axes(page);
}

/* Eight colours; each further eight classes have another shape. */
static void draw_marker(gnn__svg_t *svg, int64_t class, double x, double y, double r)
{
    if (class / GNN__CLASS_COLOURS % 4 == 1)
        gnn__svg_put(svg, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x - r * 0.9,
                     y - r * 0.9, r * 1.8, r * 1.8);
    else if (class / GNN__CLASS_COLOURS % 4 == 2)
        gnn__svg_put(svg, "<path d=\"M%.2f %.2fl%.2f %.2fh%.2fz\"", x, y - r * 1.15, r * 1.1, r * 2,
                     r * -2.2);
    else if (class / GNN__CLASS_COLOURS % 4 == 3)
        gnn__svg_put(svg, "<path d=\"M%.2f %.2fl%.2f %.2fl%.2f %.2fl%.2f %.2fz\"", x, y - r * 1.25,
                     r * 1.25, r * 1.25, r * -1.25, r * 1.25, r * -1.25, r * -1.25);
    else
        gnn__svg_put(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"", x, y, r);
    gnn__colour_t c = class < 0 ? (gnn__colour_t){184, 184, 184} : gnn__class_colour(class);
    gnn__svg_put(svg, " fill=\"#%02x%02x%02x\"/>\n", c.red, c.green, c.blue);
}

static void draw_frame(gnn__svg_t *svg, const page_t *page)
{
    double room = page->width - 2 * MARGIN;
    int lines = gnn__text_block(svg, &title_type, MARGIN, MARGIN + 14, room, page->plot->title);
    gnn__text_block(svg, &subtitle_type, MARGIN, MARGIN + 12 + lines * 23, room,
                    page->plot->subtitle);
    gnn__svg_put(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", page->left,
                 page->top, PLOT_W, PLOT_H);
    gnn__svg_put(svg, "fill=\"#fafafa\" stroke=\"#cccccc\"/>\n");
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < page->n_ticks[axis]; k++) {
            char label[32];
            gnn__type_t type = tick_type;
            double at = pixel(page, page->ticks[axis][k], axis);
            gnn__tick_label(label, page->ticks[axis][k], page->decimals[axis]);
            type.anchor = axis == 0 ? "middle" : "end";
            if (axis == 0)
                gnn__svg_put(svg, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"#e6e6e6\"/>\n", at,
                             page->top, PLOT_H);
            else
                gnn__svg_put(svg, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"#e6e6e6\"/>\n", page->left,
                             at, PLOT_W);
            gnn__svg_text(svg, &type, axis == 0 ? at : page->left - 7,
                          axis == 0 ? page->top + PLOT_H + 17 : at + 4, label);
        }
}

/* Width and opacity grow with the weight. */
static void draw_weight(gnn__svg_t *svg, const double *weight)
{
    if (weight)
        gnn__svg_put(svg, " stroke=\"#22313f\" stroke-width=\"%.2f\" stroke-opacity=\"%.2f\"",
                     0.6 + 4.4 * *weight, 0.12 + 0.83 * *weight);
    gnn__svg_put(svg, "/>\n");
}

static void draw_lines(gnn__svg_t *svg, const page_t *page)
{
    const gnn_scatter_t *plot = page->plot;
    gnn__svg_put(svg, "<g stroke=\"#8c939b\" stroke-opacity=\"0.55\" stroke-width=\"%.1f\">\n",
                 plot->points.rows <= 500 ? 1.1 : 0.5);
    for (int64_t k = 0; k < plot->n_lines; k++) {
        int64_t a = plot->line_from[k], b = plot->line_to[k];
        if (a == b || !shown(plot, a) || !shown(plot, b))
            continue;
        double x = pixel(page, coordinate(plot, a, 0), 0), y = pixel(page, coordinate(plot, a, 1), 1);
        gnn__svg_put(svg, "<path d=\"M%.2f %.2fL%.2f %.2f\"", x, y,
                     pixel(page, coordinate(plot, b, 0), 0), pixel(page, coordinate(plot, b, 1), 1));
        draw_weight(svg, plot->line_weight ? &plot->line_weight[k] : NULL);
    }
    gnn__svg_put(svg, "</g>\n");
}

static void draw_points(gnn__svg_t *svg, const page_t *page)
{
    const gnn_scatter_t *plot = page->plot;
    gnn__svg_put(svg, "<g stroke=\"#ffffff\" stroke-width=\"%.1f\">\n", page->radius > 3 ? 1.2 : 0.3);
    for (int64_t k = 0; k < plot->points.rows; k++)
        if (shown(plot, k))
            draw_marker(svg, plot->classes ? plot->classes[k] : 0,
                        pixel(page, coordinate(plot, k, 0), 0),
                        pixel(page, coordinate(plot, k, 1), 1), page->radius);
    bool crowd = page->radius < 3; /* rings must not hide the points below */
    double ring = page->radius < 4 ? 1.2 : 1.8;
    if (crowd)
        ring = 0.7;
    gnn__svg_put(svg, "</g>\n<g fill=\"none\" stroke=\"#1a1a1a\" stroke-width=\"%.1f\">\n", ring);
    for (int64_t k = 0; plot->emphasis && k < plot->points.rows; k++)
        if (plot->emphasis[k] && shown(plot, k))
            gnn__svg_put(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n",
                         pixel(page, coordinate(plot, k, 0), 0),
                         pixel(page, coordinate(plot, k, 1), 1), page->radius + (crowd ? 1.4 : 2.6));
    gnn__svg_put(svg, "</g>\n");
}

/* Inside the point if the label fits, otherwise above it. */
static void draw_labels(gnn__svg_t *svg, const page_t *page)
{
    const gnn_scatter_t *plot = page->plot;
    for (int64_t k = 0; plot->point_labels && k < plot->points.rows; k++) {
        if (!plot->point_labels[k] || !shown(plot, k))
            continue;
        gnn__type_t type = {.size = 10, .anchor = "middle", .fill = "#222222", .room = 160};
        double x = pixel(page, coordinate(plot, k, 0), 0), y = pixel(page, coordinate(plot, k, 1), 1);
        bool inside = gnn__text_width(plot->point_labels[k], type.size) < 2 * page->radius - 4;
        int64_t class = plot->classes ? plot->classes[k] : 0;
        if (inside)
            type.fill = class < 0 ? "#111111" : gnn__colour_ink(gnn__class_colour(class));
        gnn__svg_text(svg, &type, x, inside ? y + 3.6 : y - page->radius - 5, plot->point_labels[k]);
    }
}

static void draw_legend(gnn__svg_t *svg, const page_t *page)
{
    const gnn_scatter_t *plot = page->plot;
    double x = page->left + PLOT_W + 22, y = page->top + 10;
    char words[64];
    int64_t k = 0;
    for (; plot->classes && k < plot->n_classes && k < LEGEND_MOST; k++, y += 22) {
        const char *name;
        class_name(plot, k, words, sizeof words, &name);
        draw_marker(svg, k, x, y, 6);
        gnn__svg_text(svg, &legend_type, x + 13, y + 4, name);
    }
    if (page->unlabelled) {
        draw_marker(svg, -1, x, y, 6);
        gnn__svg_text(svg, &legend_type, x + 13, y + 4, "no class");
        y += 22;
    }
    snprintf(words, sizeof words, "and %lld more", (long long)(plot->n_classes - k));
    if (plot->classes && plot->n_classes > k)
        gnn__svg_text(svg, &legend_type, x + 13, y + 4, words);
    snprintf(words, sizeof words, "left out, not finite: %lld of %lld points",
             (long long)page->hidden, (long long)plot->points.rows);
    if (page->hidden)
        gnn__svg_text(svg, &subtitle_type, page->left,
                      page->top + PLOT_H + (plot->n_lines > 0 ? 18 : 40), words);
}

int gnn_svg_scatter(FILE *file, const gnn_scatter_t *scatter)
{
    GNN__NEED(file);
    GNN__NEED(scatter);
    GNN_TRY(check(scatter));
    page_t page;
    layout(&page, scatter);
    gnn__svg_t svg;
    GNN_TRY(gnn__svg_open(&svg, file, page.width, page.height, scatter->title));
    draw_frame(&svg, &page);
    draw_lines(&svg, &page);
    draw_points(&svg, &page);
    draw_labels(&svg, &page);
    draw_legend(&svg, &page);
    return gnn__svg_close(&svg);
}
