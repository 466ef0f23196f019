/* Pictures of attention: all heads as a grid of small heat maps, and an interactive HTML page. */
#include <lib/report/attention_maps.h>
#include <math.h>

#include "svg.h"

/* ---- grid of heads ---- */

/* A map is drawn as one path per colour level. */

#define GRID_MOST 1000000 /* weights */
#define MARGIN 24.0
#define GAP 6.0
#define LEVELS 16

typedef struct {
    const gnn_attention_maps_t *a;
    double side, left, top, width, height;
    char words[512];
} grid_t;

static const gnn__type_t title_type = {.size = 17, .anchor = "start", .fill = "#1a1a1a", .bold = 1};
static const gnn__type_t subtitle_type = {.size = 12.5, .anchor = "start", .fill = "#555555"};
static const gnn__type_t label_type = {.size = 11, .anchor = "middle", .fill = "#444444", .room = 90};

static int level(gnn_real_t weight)
{
    const double x = weight > 0 ? sqrt((double)weight) : 0;
    return x < 1 ? (int)(x * LEVELS) : LEVELS - 1;
}

static void list_words(grid_t *page)
{
    size_t at = 0;
    for (int64_t k = 0; k < page->a->words && at + 1 < sizeof page->words; k++) {
        const int n = snprintf(page->words + at, sizeof page->words - at, "%s%s", k ? " " : "",
                               page->a->names[k]);
        at += n > 0 ? (size_t)n : 0;
    }
}

static void lay_out_grid(grid_t *page, const gnn_attention_maps_t *a, const char **subtitle)
{
    const double heads = (double)a->heads, layers = (double)a->layers;
    *page = (grid_t){.a = a};
    list_words(page);
    *subtitle = *subtitle ? *subtitle : page->words;
    page->side = floor(fmin(96, fmin(1000 / fmax(heads, 1), 900 / fmax(layers, 1))));
    page->side = fmax(page->side, 12);
    page->left = MARGIN + 96;
    page->width = fmax(page->left + heads * (page->side + GAP) + MARGIN, 480);
    const double room = page->width - 2 * MARGIN;
    page->top = MARGIN + 23 + gnn__text_block(NULL, &subtitle_type, 0, 0, room, *subtitle) * 17 + 34;
    page->height = page->top + layers * (page->side + GAP) + 46 + MARGIN;
}

/* Draws the cells of one level as one path, with runs along a row merged. The lowest level is the
 * background. */
static void draw_level(gnn__svg_t *svg, const gnn_real_t *map, int64_t n, int wanted)
{
    bool any = false;
    const gnn__colour_t c = gnn__viridis((wanted + 0.5) / LEVELS);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0, run; j < n; j += run) {
            for (run = 1; j + run < n && level(map[i * n + j + run]) == level(map[i * n + j]);)
                run++;
            if (level(map[i * n + j]) != wanted)
                continue;
            if (!any)
                gnn__svg_put(svg, "<path fill=\"#%02x%02x%02x\" d=\"", c.red, c.green, c.blue);
            gnn__svg_put(svg, "M%lld %lldh%lldv1h-%lldz", (long long)j, (long long)i,
                         (long long)run, (long long)run);
            any = true;
        }
    if (any)
        gnn__svg_put(svg, "\"/>\n");
}

static void draw_map(gnn__svg_t *svg, const grid_t *page, int64_t layer, int64_t head)
{
    const int64_t n = page->a->words;
    const gnn__colour_t background = gnn__viridis(0.5 / LEVELS);
    gnn__svg_put(svg, "<g transform=\"translate(%.1f %.1f) scale(%.5f)\">\n",
                 page->left + (double)head * (page->side + GAP),
                 page->top + (double)layer * (page->side + GAP), page->side / fmax((double)n, 1));
    gnn__svg_put(svg, "<rect width=\"%lld\" height=\"%lld\" fill=\"#%02x%02x%02x\"/>\n",
                 (long long)n, (long long)n, background.red, background.green, background.blue);
    for (int k = 1; k < LEVELS; k++)
        draw_level(svg, page->a->weights + (layer * page->a->heads + head) * n * n, n, k);
    gnn__svg_put(svg, "</g>\n");
}

static void draw_key(gnn__svg_t *svg, const grid_t *page)
{
    const double y = page->top + (double)page->a->layers * (page->side + GAP) + 14;
    gnn__type_t type = label_type;
    for (int k = 0; k < LEVELS; k++) {
        const gnn__colour_t c = gnn__viridis((k + 0.5) / LEVELS);
        gnn__svg_put(
            svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"#%02x%02x%02x\"/>\n",
            page->left + 12 * k, y, c.red, c.green, c.blue);
    }
    for (int k = 0; k <= 4; k++) {
        char label[16];
        snprintf(label, sizeof label, "%.2f", k * k / 16.0);
        gnn__svg_text(svg, &type, page->left + 48 * k, y + 26, label);
    }
}

static void draw_grid(gnn__svg_t *svg, const grid_t *page, const char *subtitle)
{
    const gnn_attention_maps_t *a = page->a;
    const double room = page->width - 2 * MARGIN;
    gnn__type_t type = label_type;
    gnn__svg_text(svg, &title_type, MARGIN, MARGIN + 14, "Attention of every head");
    gnn__text_block(svg, &subtitle_type, MARGIN, MARGIN + 35, room, subtitle);
    for (int64_t h = 0; h < a->heads; h++) {
        char label[32];
        snprintf(label, sizeof label, h ? "%lld" : "head %lld", (long long)h);
        gnn__svg_text(svg, &type, page->left + (double)h * (page->side + GAP) + page->side / 2,
                      page->top - 8, label);
    }
    type.anchor = "end";
    gnn__svg_put(svg, "<g shape-rendering=\"crispEdges\">\n");
    for (int64_t l = 0; l < a->layers; l++)
        for (int64_t h = 0; h < a->heads; h++)
            draw_map(svg, page, l, h);
    gnn__svg_put(svg, "</g>\n");
    for (int64_t l = 0; l < a->layers; l++)
        gnn__svg_text(svg, &type, page->left - 10,
                      page->top + (double)l * (page->side + GAP) + page->side / 2 + 4,
                      a->layer_names[l]);
    draw_key(svg, page);
}

int gnn_svg_attention_grid(FILE *file, const gnn_attention_maps_t *attention, const char *subtitle)
{
    GNN__NEED(file);
    GNN__NEED(attention);
    grid_t page;
    gnn__svg_t svg;
    const gnn_attention_maps_t *a = attention;
    if (a->layers * a->heads * a->words * a->words > GRID_MOST)
        return gnn__error(
            GNN_EINVALID,
            "grid of heads: expected at most %d weights in all, got %lld heads of %lld x %lld",
            GRID_MOST, (long long)(a->layers * a->heads), (long long)a->words, (long long)a->words);
    lay_out_grid(&page, a, &subtitle);
    GNN_TRY(gnn__svg_open(&svg, file, page.width, page.height, "Attention of every head"));
    draw_grid(&svg, &page, subtitle);
    return gnn__svg_close(&svg);
}

/* ---- HTML page ---- */

/* Words and weights as a script, then attention_page.html. */

#define PAGE_MOST 20000000 /* weights */

static const char page[] =
#include <lib/report/attention_page.inc>
    ;

/* A JavaScript string literal, escaped so that text cannot end the string or the script. */
static void put_string(gnn__svg_t *svg, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t length = strlen(text);
    gnn__svg_put(svg, "\"");
    for (size_t k = 0, used; k < length; k += used) {
        const uint32_t c = gnn__svg_code_point(s + k, length - k, &used);
        if (c < 0x80 && !strchr("\"\\<>&'", (int)c))
            gnn__svg_put(svg, "%c", (int)c);
        else if (c < 0x10000)
            gnn__svg_put(svg, "\\u%04x", (unsigned)c);
        else
            gnn__svg_put(svg, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
                         (unsigned)(0xdc00 + (c & 0x3ff)));
    }
    gnn__svg_put(svg, "\"");
}

static void put_list(gnn__svg_t *svg, const char *key, const char *const *texts, int64_t n)
{
    gnn__svg_put(svg, "%s: [", key);
    for (int64_t k = 0; k < n; k++) {
        gnn__svg_put(svg, k ? ", " : "");
        put_string(svg, texts[k]);
    }
    gnn__svg_put(svg, "],\n");
}

/* Two base-36 digits per weight. */
static void put_map(gnn__svg_t *svg, const gnn_real_t *map, int64_t cells)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    gnn__svg_put(svg, "\"");
    for (int64_t k = 0; k < cells; k++) {
        const double x = isfinite(map[k]) ? fmin(fmax((double)map[k], 0), 1) : 0;
        const int step = (int)(x * 1295 + 0.5);
        gnn__svg_put(svg, "%c%c", digits[step / 36], digits[step % 36]);
    }
    gnn__svg_put(svg, "\"");
}

static void put_data(gnn__svg_t *svg, const gnn_attention_maps_t *a)
{
    gnn__svg_put(svg, "<script>\nconst data = {\n");
    put_list(svg, "words", a->names, a->words);
    put_list(svg, "layers", a->layer_names, a->layers);
    gnn__svg_put(svg, "heads: %lld,\nmaps: [", (long long)a->heads);
    for (int64_t k = 0; k < a->layers * a->heads; k++) {
        gnn__svg_put(svg, k ? ",\n" : "\n");
        put_map(svg, a->weights + k * a->words * a->words, a->words * a->words);
    }
    gnn__svg_put(svg, "]};\n</script>\n");
}

int gnn_html_attention(FILE *file, const gnn_attention_maps_t *attention, const char *title)
{
    GNN__NEED(file);
    GNN__NEED(attention);
    gnn__svg_t svg;
    const gnn_attention_maps_t *a = attention;
    int64_t cells;
    if (!gnn__mul(a->words, a->words, &cells) || cells > PAGE_MOST / (a->layers * a->heads))
        return gnn__error(
            GNN_EINVALID, "page of attention: at most %d weights, got %lld maps of %lld x %lld",
            PAGE_MOST, (long long)(a->layers * a->heads), (long long)a->words, (long long)a->words);
    title = title ? title : "Attention";
    GNN_TRY(gnn__page_open(&svg, file));
    gnn__svg_put(&svg, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
    gnn__svg_escape(&svg, title, strlen(title));
    gnn__svg_put(&svg, "</title>\n<h1>");
    gnn__svg_escape(&svg, title, strlen(title));
    gnn__svg_put(&svg, "</h1>\n");
    put_data(&svg, a);
    gnn__svg_put(&svg, "%s", page);
    return gnn__page_close(&svg);
}
