/* One page of HTML with the attention of every head inside: words and weights, then the page. */
#include <lib/report/attention_maps.h>
#include <math.h>

#include "svg.h"

#define MOST 20000000 /* weights */

static const char page[] =
#include <lib/report/attention_page.inc>
    ;

/* A string of JavaScript in quotes: nothing in it can end the script, or the string. */
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

/* Two digits of base 36 for each weight. */
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
    gnn__svg_t svg;
    if (!file || !attention)
        return gnn__error(GNN_EINVALID, "page of attention: %s is NULL", file ? "attention" : "file");
    const gnn_attention_maps_t *a = attention;
    int64_t cells;
    if (!gnn__mul(a->words, a->words, &cells) || cells > MOST / (a->layers * a->heads))
        return gnn__error(
            GNN_EINVALID, "page of attention: at most %d weights, got %lld maps of %lld x %lld",
            MOST, (long long)(a->layers * a->heads), (long long)a->words, (long long)a->words);
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
