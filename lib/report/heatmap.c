/* A heat map: the page is laid out from the sizes of its labels, then drawn from back to front. */
#include "svg.h"

#include <float.h>
#include <math.h>

#define CELLS_MOST 1000000 /* more would be too slow in a browser */
#define LABEL_ROOM 200.0
#define BAR_WIDTH 14.0
#define MARGIN 24.0

/* Layout of the page. */
typedef struct {
    const gnn_heatmap_t *map;
    double low, high;      /* range of the colour scale */
    double cell_w, cell_h; /* size of a cell */
    double left, top;      /* top left corner of the cells */
    double plot_w, plot_h; /* size of all cells */
    double below;          /* height of the column labels */
    double ticks[GNN__TICKS];
    int n_ticks, tick_decimals, cell_decimals; /* cell_decimals -1: cells are too small for
                                                * values */
    bool rotated;                              /* column labels are rotated, because they are too
                                                * wide */
    bool holes;                                /* some values are not finite */
    double width, height;
} page_t;

static const gnn__type_t title_type = {.size = 17, .anchor = "start", .fill = "#1a1a1a", .bold = 1};
static const gnn__type_t subtitle_type = {.size = 12.5, .anchor = "start", .fill = "#555555"};
static const gnn__type_t axis_type = {.size = 12.5, .anchor = "middle", .fill = "#333333", .bold = 1};
static const gnn__type_t tick_type = {.size = 11, .anchor = "start", .fill = "#444444"};

static double value_at(const gnn_heatmap_t *map, int64_t r, int64_t c)
{
    return (double)gnn__row(&map->values, r)[c];
}

static int check(const gnn_heatmap_t *map)
{
    GNN_TRY(gnn__tensor_check(&map->values, "heat map"));
    int64_t rows = map->values.rows, cols = map->values.cols, cells;
    if (!gnn__mul(rows, cols, &cells) || cells > CELLS_MOST)
        return gnn__error(GNN_EINVALID, "heat map: at most %d cells, got %lld x %lld", CELLS_MOST,
                          (long long)rows, (long long)cols);
    if (!isfinite(map->low) || !isfinite(map->high) || map->low > map->high)
        return gnn__error(GNN_EINVALID,
                          "heat map: expected a finite colour scale low <= high, got %g and %g",
                          map->low, map->high);
    if (map->mark_row >= 0 && map->mark_col >= 0 && cells > 0 &&
        (map->mark_row >= rows || map->mark_col >= cols))
        return gnn__error(
            GNN_EINVALID, "heat map: the marked cell (%lld, %lld) is outside of %lld x %lld",
            (long long)map->mark_row, (long long)map->mark_col, (long long)rows, (long long)cols);
    return GNN_OK;
}

/* Range of the finite values, and the decimals that cells need. */
static void find_range(page_t *page)
{
    const gnn_heatmap_t *map = page->map;
    double low = INFINITY, high = -INFINITY;
    bool whole = true;
    for (int64_t r = 0; r < map->values.rows; r++)
        for (int64_t c = 0; c < map->values.cols; c++) {
            double v = value_at(map, r, c);
            page->holes |= !isfinite(v);
            if (!isfinite(v))
                continue;
            low = gnn__smaller(low, v);
            high = gnn__higher(high, v);
            whole = whole && v == floor(v);
        }
    if (low > high)
        low = 0, high = 1;
    double largest = gnn__higher(fabs(low), fabs(high));
    if (whole && largest < 1e5)
        page->cell_decimals = 0;
    else if (largest >= 1e5 || largest < 0.02)
        page->cell_decimals = -1;
    else
        page->cell_decimals = largest < 10 ? 2 : largest < 100;
    bool given = map->low != 0 || map->high != 0;
    page->low = given ? map->low : low;
    page->high = given ? map->high : high;
    if (page->low == page->high) {
        double reach = page->low == 0 ? 1 : fabs(page->low) / 2;
        page->low = page->low == 0 ? 0 : gnn__higher(page->low - reach, -DBL_MAX);
        page->high = gnn__smaller(page->high + reach, DBL_MAX);
    }
}

static double widest(const char *const *labels, int64_t n, double size)
{
    double width = 0;
    for (int64_t k = 0; labels && k < n; k++)
        width = gnn__higher(width, gnn__text_width(labels[k], size));
    return gnn__smaller(width, LABEL_ROOM);
}

/* Square cells, unless one side of the map is much longer. */
static void size_cells(page_t *page)
{
    double rows = (double)page->map->values.rows, cols = (double)page->map->values.cols;
    page->cell_w = gnn__smaller(40, 720 / gnn__higher(cols, 1));
    page->cell_h = gnn__smaller(40, 600 / gnn__higher(rows, 1));
    if (rows < 4 * cols && cols < 4 * rows)
        page->cell_w = page->cell_h = gnn__smaller(page->cell_w, page->cell_h);
    page->cell_h = gnn__higher(page->cell_h, gnn__smaller(page->cell_w, 600 / gnn__higher(rows, 1)));
    page->cell_w = page->cell_w > 6 ? floor(page->cell_w) : page->cell_w;
    page->cell_h = page->cell_h > 6 ? floor(page->cell_h) : page->cell_h;
    bool empty = rows == 0 || cols == 0;
    page->plot_w = empty ? 240 : page->cell_w * cols;
    page->plot_h = empty ? 120 : page->cell_h * rows;
}

static double tick_room(const page_t *page)
{
    double room = 0;
    for (int k = 0; k < page->n_ticks; k++) {
        char label[32];
        gnn__tick_label(label, page->ticks[k], page->tick_decimals);
        room = gnn__higher(room, gnn__text_width(label, tick_type.size));
    }
    return room;
}

/* Rotated labels extend down and to the left; `left` grows if the first ones would leave the
 * page. */
static void place_column_labels(page_t *page)
{
    const gnn_heatmap_t *map = page->map;
    double label = widest(map->col_labels, map->values.cols, tick_type.size);
    page->rotated = label > page->cell_w - 4;
    page->below = page->rotated ? label * 0.71 + 22 : 20;
    if (!map->col_labels)
        page->below = 6;
    for (int64_t c = 0; map->col_labels && page->rotated && c < map->values.cols; c++) {
        double reach =
            gnn__smaller(gnn__text_width(map->col_labels[c], tick_type.size), LABEL_ROOM) * 0.71;
        page->left = gnn__higher(page->left, reach + MARGIN - ((double)c + 0.5) * page->cell_w);
    }
}

static void layout(page_t *page, const gnn_heatmap_t *map)
{
    *page = (page_t){.map = map};
    find_range(page);
    size_cells(page);
    page->n_ticks = gnn__ticks(page->low, page->high, 5, page->ticks, &page->tick_decimals);
    page->left = MARGIN + (map->row_axis ? 22 : 0);
    if (map->row_labels)
        page->left += widest(map->row_labels, map->values.rows, tick_type.size) + 8;
    place_column_labels(page);
    double right =
        gnn__higher(22 + BAR_WIDTH + 8 + tick_room(page), page->holes ? 22 + 100 : 0) + MARGIN;
    page->width = page->left + page->plot_w + right;
    page->width =
        gnn__higher(page->width, gnn__smaller(720, gnn__text_width(map->title, 18.5) + 2 * MARGIN));
    double room = page->width - 2 * MARGIN;
    page->top = MARGIN + gnn__text_block(NULL, &title_type, 0, 0, room, map->title) * 23 +
                gnn__text_block(NULL, &subtitle_type, 0, 0, room, map->subtitle) * 17 + 14;
    page->height = page->top + gnn__higher(page->plot_h, 150) + MARGIN;
    page->height = gnn__higher(page->height, page->top + page->plot_h + page->below +
                                                 (map->col_axis ? 24 : 0) + MARGIN - 8);
}

static double scaled(const page_t *page, double v)
{
    double t = (v / 2 - page->low / 2) / (page->high / 2 - page->low / 2);
    return gnn__smaller(gnn__higher(t, 0), 1);
}

static void draw_head(gnn__svg_t *svg, const page_t *page)
{
    double room = page->width - 2 * MARGIN;
    gnn__svg_put(svg, "<defs><pattern id=\"hole\" width=\"6\" height=\"6\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                      "<rect width=\"6\" height=\"6\" fill=\"#e4e4e4\"/>"
                      "<rect width=\"2\" height=\"6\" fill=\"#a8a8a8\"/></pattern></defs>\n");
    int lines = gnn__text_block(svg, &title_type, MARGIN, MARGIN + 14, room, page->map->title);
    gnn__text_block(svg, &subtitle_type, MARGIN, MARGIN + 12 + lines * 23, room, page->map->subtitle);
}

static void draw_cell(gnn__svg_t *svg, const page_t *page, int64_t r, int64_t c, int64_t run)
{
    double v = value_at(page->map, r, c);
    gnn__svg_put(svg, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
                 page->left + (double)c * page->cell_w, page->top + (double)r * page->cell_h,
                 (double)run * page->cell_w, page->cell_h);
    if (isfinite(v)) {
        gnn__colour_t k = gnn__viridis(scaled(page, v));
        gnn__svg_put(svg, "#%02x%02x%02x\"/>\n", k.red, k.green, k.blue);
    } else {
        gnn__svg_put(svg, "url(#hole)\"/>\n");
    }
}

/* Adjacent cells of equal value are one rectangle. */
static void draw_cells(gnn__svg_t *svg, const page_t *page)
{
    const gnn_tensor_t *values = &page->map->values;
    gnn__svg_put(svg, "<g shape-rendering=\"crispEdges\">\n");
    for (int64_t r = 0; r < values->rows; r++)
        for (int64_t c = 0, run; c < values->cols; c += run) {
            double v = value_at(page->map, r, c);
            for (run = 1; c + run < values->cols; run++) {
                double next = value_at(page->map, r, c + run);
                if (next != v && (isfinite(next) || isfinite(v)))
                    break;
            }
            draw_cell(svg, page, r, c, run);
        }
    gnn__svg_put(svg, "</g>\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ",
                 page->left, page->top, page->plot_w, page->plot_h);
    gnn__svg_put(svg, "fill=\"none\" stroke=\"#999999\" stroke-width=\"0.8\"/>\n");
}

/* Avoids "-0.00". */
static void value_label(char *label, size_t size, double v, int decimals)
{
    const bool rounds_to_0 = fabs(v) < 0.5 * pow(10, -decimals);
    snprintf(label, size, "%.*f", decimals, rounds_to_0 ? 0 : v);
}

/* Values inside the cells, if all of them fit. */
static void draw_values(gnn__svg_t *svg, const page_t *page)
{
    char label[400];
    gnn__type_t type = {.size = 10.5, .anchor = "middle"};
    bool fits = page->cell_decimals >= 0 && page->cell_h >= 15;
    for (int pass = 0; pass < 2 && fits; pass++)
        for (int64_t r = 0; r < page->map->values.rows && fits; r++)
            for (int64_t c = 0; c < page->map->values.cols && fits; c++) {
                double v = value_at(page->map, r, c);
                if (!isfinite(v))
                    continue;
                value_label(label, sizeof label, v, page->cell_decimals);
                if (pass == 0) {
                    fits = gnn__text_width(label, type.size) <= page->cell_w - 3;
                    continue;
                }
                type.fill = gnn__colour_ink(gnn__viridis(scaled(page, v)));
                gnn__svg_text(svg, &type, page->left + ((double)c + 0.5) * page->cell_w,
                              page->top + ((double)r + 0.5) * page->cell_h + 3.8, label);
            }
}

/* Every k-th label if cells are smaller than a line of text. */
static void draw_labels(gnn__svg_t *svg, const page_t *page)
{
    const gnn_heatmap_t *map = page->map;
    gnn__type_t type = tick_type;
    type.room = LABEL_ROOM + 4;
    type.anchor = "end";
    int64_t every = (int64_t)ceil(13 / page->cell_h);
    for (int64_t r = 0; map->row_labels && r < map->values.rows; r += every)
        if (map->row_labels[r])
            gnn__svg_text(svg, &type, page->left - 7,
                          page->top + ((double)r + 0.5) * page->cell_h + 4, map->row_labels[r]);
    every = page->rotated ? (int64_t)ceil(15 / page->cell_w) : 1;
    type.anchor = page->rotated ? "end" : "middle";
    type.rotation = page->rotated ? -45 : 0;
    double y = page->top + page->plot_h + (page->rotated ? 13 : 16);
    for (int64_t c = 0; map->col_labels && c < map->values.cols; c += every)
        if (map->col_labels[c])
            gnn__svg_text(svg, &type,
                          page->left + ((double)c + 0.5) * page->cell_w + (page->rotated ? 4 : 0),
                          y, map->col_labels[c]);
}

static void draw_axes(gnn__svg_t *svg, const page_t *page)
{
    const gnn_heatmap_t *map = page->map;
    gnn__type_t type = axis_type;
    if (map->col_axis)
        gnn__svg_text(svg, &type, page->left + page->plot_w / 2,
                      page->top + page->plot_h + page->below + 14, map->col_axis);
    type.rotation = -90;
    if (map->row_axis)
        gnn__svg_text(svg, &type, MARGIN + 6, page->top + page->plot_h / 2, map->row_axis);
    gnn__type_t note = {.size = 13, .anchor = "middle", .fill = "#777777"};
    if (map->values.rows == 0 || map->values.cols == 0)
        gnn__svg_text(svg, &note, page->left + page->plot_w / 2, page->top + page->plot_h / 2 + 5,
                      "nothing to show");
}

static void draw_bar(gnn__svg_t *svg, const page_t *page)
{
    double x = page->left + page->plot_w + 22,
           height = gnn__smaller(gnn__higher(page->plot_h, 110), 320);
    gnn__svg_put(svg, "<defs><linearGradient id=\"scale\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">");
    for (int k = 0; k <= 16; k++) {
        gnn__colour_t c = gnn__viridis(k / 16.0);
        gnn__svg_put(svg, "<stop offset=\"%.4f\" stop-color=\"#%02x%02x%02x\"/>", k / 16.0, c.red,
                     c.green, c.blue);
    }
    gnn__svg_put(
        svg, "</linearGradient></defs>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.1f\" ",
        x, page->top, BAR_WIDTH, height);
    gnn__svg_put(svg, "fill=\"url(#scale)\" stroke=\"#999999\" stroke-width=\"0.8\"/>\n");
    for (int k = 0; k < page->n_ticks; k++) {
        char label[32];
        double y = page->top + height * (1 - scaled(page, page->ticks[k]));
        gnn__tick_label(label, page->ticks[k], page->tick_decimals);
        gnn__svg_put(svg, "<path d=\"M%.1f %.1fh4\" stroke=\"#666666\"/>\n", x + BAR_WIDTH, y);
        gnn__svg_text(svg, &tick_type, x + BAR_WIDTH + 7, y + 4, label);
    }
    if (page->holes) {
        gnn__svg_put(svg,
                     "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"url(#hole)\"/>\n",
                     x, page->top + height + 14);
        gnn__svg_text(svg, &tick_type, x + BAR_WIDTH + 7, page->top + height + 25, "not finite");
    }
}

static void draw_mark(gnn__svg_t *svg, const page_t *page)
{
    const gnn_heatmap_t *map = page->map;
    static const char *const strokes[2] = {"#ffffff\" stroke-width=\"4.5",
                                           "#d62728\" stroke-width=\"2.5"};
    bool empty = map->values.rows == 0 || map->values.cols == 0;
    for (int k = 0; k < 2 && map->mark_row >= 0 && map->mark_col >= 0 && !empty; k++)
        gnn__svg_put(svg,
                     "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
                     "stroke=\"%s\"/>\n",
                     page->left + (double)map->mark_col * page->cell_w,
                     page->top + (double)map->mark_row * page->cell_h, page->cell_w, page->cell_h,
                     strokes[k]);
}

int gnn_svg_heatmap(FILE *file, const gnn_heatmap_t *map)
{
    GNN__NEED(file);
    GNN__NEED(map);
    GNN_TRY(check(map));
    page_t page;
    layout(&page, map);
    gnn__svg_t svg;
    GNN_TRY(gnn__svg_open(&svg, file, page.width, page.height, map->title));
    draw_head(&svg, &page);
    draw_cells(&svg, &page);
    draw_values(&svg, &page);
    draw_labels(&svg, &page);
    draw_axes(&svg, &page);
    draw_bar(&svg, &page);
    draw_mark(&svg, &page);
    return gnn__svg_close(&svg);
}
