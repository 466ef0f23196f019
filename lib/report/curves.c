/* Line charts: panels over one x axis, each with its own y scale, grid and legend. */
#include "svg.h"

#include <float.h>
#include <math.h>

#define MARGIN 24.0
#define PLOT_W 640.0
#define GAP 26.0 /* between panels */
#define PANELS_MOST 8
#define LINE_HEIGHT 20.0

typedef struct {
    double low, high; /* range of y */
    double top, height;
    double ticks[GNN__TICKS];
    int n_ticks, decimals;
} panel_t;

typedef struct {
    const gnn_curves_t *chart;
    panel_t panels[PANELS_MOST];
    int64_t n_panels;
    double low, high; /* range of x */
    double ticks[GNN__TICKS];
    int n_ticks, decimals;
    double left, legend_w, width, height;
} page_t;

static const gnn__type_t title_type = {.size = 17, .anchor = "start", .fill = "#1a1a1a", .bold = 1};
static const gnn__type_t subtitle_type = {.size = 12.5, .anchor = "start", .fill = "#555555"};
static const gnn__type_t axis_type = {.size = 12.5, .anchor = "middle", .fill = "#333333", .bold = 1};
static const gnn__type_t legend_type = {.size = 12, .anchor = "start", .fill = "#333333", .room = 180};

static double x_of(const gnn_curve_t *curve, int64_t k)
{
    return curve->x ? curve->x[k] : (double)(k + 1);
}

static bool shown(const gnn_curve_t *curve, int64_t k)
{
    return isfinite(x_of(curve, k)) && isfinite(curve->y[k]);
}

static int check(const gnn_curves_t *chart, int64_t n_panels)
{
    if (chart->n_curves < 0 || (chart->n_curves > 0 && !chart->curves))
        return gnn__error(GNN_EINVALID,
                          "curves: expected n_curves >= 0 and curves, got n_curves %lld",
                          (long long)chart->n_curves);
    if (n_panels < 1 || n_panels > PANELS_MOST)
        return gnn__error(GNN_EINVALID, "curves: n_panels: expected 1 to %d, got %lld", PANELS_MOST,
                          (long long)n_panels);
    if (chart->mark_name && chart->mark == 0)
        return gnn__error(GNN_EINVALID, "curves: mark_name is given, but mark is 0: none");
    if (!isfinite(chart->mark))
        return gnn__error(GNN_EINVALID, "curves: mark: expected a finite value, got %g", chart->mark);
    for (int64_t k = 0; k < chart->n_curves; k++) {
        const gnn_curve_t *c = &chart->curves[k];
        if (c->count < 0 || (c->count > 0 && !c->y))
            return gnn__error(GNN_EINVALID, "curves: curve %lld has %lld points, y is NULL",
                              (long long)k, (long long)c->count);
        if (c->panel < 0 || c->panel >= n_panels)
            return gnn__error(GNN_EINVALID, "curves: curve %lld has panel %lld, expected 0 to %lld",
                              (long long)k, (long long)c->panel, (long long)n_panels - 1);
        for (int64_t i = 1; c->x && i < c->count; i++)
            if (!(c->x[i] > c->x[i - 1]))
                return gnn__error(GNN_EINVALID,
                                  "curves: curve %lld: expected increasing x, got %g, %g at %lld",
                                  (long long)k, c->x[i - 1], c->x[i], (long long)i);
    }
    return GNN_OK;
}

/* Adds `part` of the span on both sides; a range of a single value is widened around it. */
static void widen(double *low, double *high, double part)
{
    if (*low > *high)
        *low = 0, *high = 1;
    double span = *high / 2 - *low / 2,
           more = span > 0 ? 2 * part * span : gnn__higher(fabs(*low) * 0.1, 0.5);
    if (part > 0 || span == 0) {
        *low = gnn__higher(*low - more, -DBL_MAX / 4);
        *high = gnn__smaller(*high + more, DBL_MAX / 4);
    }
}

static void find_ranges(page_t *page)
{
    page->low = INFINITY;
    page->high = -INFINITY;
    for (int64_t p = 0; p < page->n_panels; p++)
        page->panels[p] = (panel_t){.low = INFINITY, .high = -INFINITY};
    for (int64_t k = 0; k < page->chart->n_curves; k++) {
        const gnn_curve_t *c = &page->chart->curves[k];
        panel_t *panel = &page->panels[c->panel];
        for (int64_t i = 0; i < c->count; i++) {
            if (!shown(c, i))
                continue;
            page->low = gnn__smaller(page->low, x_of(c, i));
            page->high = gnn__higher(page->high, x_of(c, i));
            panel->low = gnn__smaller(panel->low, c->y[i]);
            panel->high = gnn__higher(panel->high, c->y[i]);
        }
    }
    widen(&page->low, &page->high, 0);
    page->n_ticks = gnn__ticks(page->low, page->high, 8, page->ticks, &page->decimals);
    for (int64_t p = 0; p < page->n_panels; p++) {
        panel_t *panel = &page->panels[p];
        widen(&panel->low, &panel->high, 0.05);
        panel->n_ticks = gnn__ticks(panel->low, panel->high, page->n_panels > 1 ? 4 : 7,
                                    panel->ticks, &panel->decimals);
    }
}

static double label_room(const page_t *page)
{
    double room = 0;
    for (int64_t p = 0; p < page->n_panels; p++)
        for (int k = 0; k < page->panels[p].n_ticks; k++) {
            char label[32];
            gnn__tick_label(label, page->panels[p].ticks[k], page->panels[p].decimals);
            room = gnn__higher(room, gnn__text_width(label, 11));
        }
    return room;
}

static void layout(page_t *page, const gnn_curves_t *chart)
{
    *page = (page_t){.chart = chart, .n_panels = chart->n_panels ? chart->n_panels : 1};
    find_ranges(page);
    int64_t most = 0;
    for (int64_t p = 0; p < page->n_panels; p++) {
        int64_t here = 0;
        for (int64_t k = 0; k < chart->n_curves; k++)
            here += chart->curves[k].panel == p;
        most = here > most ? here : most;
    }
    for (int64_t k = 0; k < chart->n_curves; k++)
        page->legend_w = gnn__higher(
            page->legend_w,
            gnn__smaller(gnn__text_width(chart->curves[k].name ? chart->curves[k].name : "", 12), 180) +
                52);
    page->left = MARGIN + label_room(page) + 12 + (chart->panel_names ? 22 : 0);
    page->width = page->left + PLOT_W + page->legend_w + MARGIN;
    double room = page->width - 2 * MARGIN;
    double at = MARGIN + gnn__text_block(NULL, &title_type, 0, 0, room, chart->title) * 23 +
                gnn__text_block(NULL, &subtitle_type, 0, 0, room, chart->subtitle) * 17 +
                (chart->mark_name ? 30 : 14);
    static const double heights[] = {420, 230, 170}; /* of 1, 2, more panels */
    const double height = gnn__higher(heights[page->n_panels > 2 ? 2 : page->n_panels - 1],
                                      (double)most * LINE_HEIGHT + 10);
    for (int64_t p = 0; p < page->n_panels; p++, at += height + GAP) {
        page->panels[p].top = at;
        page->panels[p].height = height;
    }
    page->height = at - GAP + 24 + (chart->x_axis ? 22 : 0) + MARGIN;
}

static double pixel_x(const page_t *page, double x)
{
    return page->left + (x / 2 - page->low / 2) / (page->high / 2 - page->low / 2) * PLOT_W;
}

static double pixel_y(const panel_t *panel, double y)
{
    return panel->top + panel->height -
           (y / 2 - panel->low / 2) / (panel->high / 2 - panel->low / 2) * panel->height;
}

static void draw_panel(gnn__svg_t *svg, const page_t *page, int64_t p)
{
    const panel_t *panel = &page->panels[p];
    const char *name = page->chart->panel_names ? page->chart->panel_names[p] : NULL;
    gnn__type_t type = {.size = 11, .anchor = "end", .fill = "#555555"}, vertical = axis_type;
    char label[32];
    gnn__svg_put(
        svg,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fafafa\" stroke=\"#cccccc\"/>\n",
        page->left, panel->top, PLOT_W, panel->height);
    for (int k = 0; k < panel->n_ticks; k++) {
        double y = pixel_y(panel, panel->ticks[k]);
        gnn__tick_label(label, panel->ticks[k], panel->decimals);
        gnn__svg_put(svg, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"#e6e6e6\"/>\n", page->left, y,
                     PLOT_W);
        gnn__svg_text(svg, &type, page->left - 7, y + 4, label);
    }
    type.anchor = "middle";
    for (int k = 0; k < page->n_ticks; k++) {
        double x = pixel_x(page, page->ticks[k]);
        gnn__tick_label(label, page->ticks[k], page->decimals);
        gnn__svg_put(svg, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"#e6e6e6\"/>\n", x, panel->top,
                     panel->height);
        if (p == page->n_panels - 1)
            gnn__svg_text(svg, &type, x, panel->top + panel->height + 17, label);
    }
    vertical.rotation = -90;
    vertical.room = panel->height;
    if (name)
        gnn__svg_text(svg, &vertical, MARGIN + 8, panel->top + panel->height / 2, name);
}

/* Points within 0.3 pixels of the previous one are skipped, so that the file's size does not
 * depend on the count of epochs. */
static void draw_curve(gnn__svg_t *svg, const page_t *page, int64_t index)
{
    const gnn_curve_t *c = &page->chart->curves[index];
    const panel_t *panel = &page->panels[c->panel];
    gnn__colour_t colour = gnn__class_colour(index);
    double last_x = -1, last_y = -1;
    bool drawing = false;
    gnn__svg_put(
        svg,
        "<path fill=\"none\" stroke=\"#%02x%02x%02x\" stroke-width=\"1.8\" stroke-linejoin=\"round\" stroke-linecap=\"round\"%s d=\"",
        colour.red, colour.green, colour.blue,
        index >= GNN__CLASS_COLOURS ? " stroke-dasharray=\"6 4\"" : "");
    for (int64_t k = 0; k < c->count; k++) {
        if (!shown(c, k)) {
            drawing = false;
            continue;
        }
        double x = pixel_x(page, x_of(c, k)), y = pixel_y(panel, c->y[k]);
        if (drawing && k + 1 < c->count && fabs(x - last_x) < 0.3 && fabs(y - last_y) < 0.3)
            continue;
        gnn__svg_put(svg, "%c%.2f %.2f", drawing ? 'L' : 'M', x, y);
        if (!drawing)
            gnn__svg_put(svg, "h0"); /* so that a point between two gaps is visible */
        last_x = x;
        last_y = y;
        drawing = true;
    }
    gnn__svg_put(svg, "%s\"/>\n", c->count ? "" : "M0 0");
}

static void draw_mark(gnn__svg_t *svg, const page_t *page)
{
    double x = pixel_x(page, page->chart->mark), top = page->panels[0].top;
    const panel_t *last = &page->panels[page->n_panels - 1];
    bool right = x > page->left + PLOT_W / 2;
    gnn__type_t type = {
        .size = 11.5, .anchor = right ? "end" : "start", .fill = "#333333", .room = PLOT_W / 2};
    gnn__svg_put(svg, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#777777\" stroke-dasharray=\"3 3\"/>\n",
                 x, top - 8, last->top + last->height);
    if (page->chart->mark_name)
        gnn__svg_text(svg, &type, x + (right ? 4 : -4), top - 12, page->chart->mark_name);
    for (int64_t index = 0; index < page->chart->n_curves; index++) {
        const gnn_curve_t *c = &page->chart->curves[index];
        gnn__colour_t colour = gnn__class_colour(index);
        for (int64_t k = 0; k < c->count; k++)
            if (x_of(c, k) == page->chart->mark && shown(c, k))
                gnn__svg_put(
                    svg,
                    "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4.5\" fill=\"#%02x%02x%02x\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n",
                    x, pixel_y(&page->panels[c->panel], c->y[k]), colour.red, colour.green,
                    colour.blue);
    }
}

static void draw_legend(gnn__svg_t *svg, const page_t *page)
{
    double below[PANELS_MOST] = {0};
    for (int64_t index = 0; index < page->chart->n_curves; index++) {
        const gnn_curve_t *c = &page->chart->curves[index];
        gnn__colour_t colour = gnn__class_colour(index);
        double x = page->left + PLOT_W + 14, y = page->panels[c->panel].top + 10 + below[c->panel];
        below[c->panel] += LINE_HEIGHT;
        gnn__svg_put(svg,
                     "<path d=\"M%.1f %.1fh20\" stroke=\"#%02x%02x%02x\" stroke-width=\"2.6\"%s/>\n",
                     x, y, colour.red, colour.green, colour.blue,
                     index >= GNN__CLASS_COLOURS ? " stroke-dasharray=\"6 4\"" : "");
        gnn__svg_text(svg, &legend_type, x + 27, y + 4, c->name ? c->name : "");
    }
}

int gnn_svg_curves(FILE *file, const gnn_curves_t *curves)
{
    GNN__NEED(file);
    GNN__NEED(curves);
    GNN_TRY(check(curves, curves->n_panels ? curves->n_panels : 1));
    page_t page;
    gnn__svg_t svg;
    layout(&page, curves);
    double room = page.width - 2 * MARGIN;
    GNN_TRY(gnn__svg_open(&svg, file, page.width, page.height, curves->title));
    int lines = gnn__text_block(&svg, &title_type, MARGIN, MARGIN + 14, room, curves->title);
    gnn__text_block(&svg, &subtitle_type, MARGIN, MARGIN + 12 + lines * 23, room, curves->subtitle);
    for (int64_t p = 0; p < page.n_panels; p++)
        draw_panel(&svg, &page, p);
    for (int64_t k = 0; k < curves->n_curves; k++)
        draw_curve(&svg, &page, k);
    if (curves->mark != 0 && curves->mark >= page.low && curves->mark <= page.high)
        draw_mark(&svg, &page);
    draw_legend(&svg, &page);
    if (curves->x_axis)
        gnn__svg_text(&svg, &axis_type, page.left + PLOT_W / 2, page.height - MARGIN, curves->x_axis);
    return gnn__svg_close(&svg);
}
