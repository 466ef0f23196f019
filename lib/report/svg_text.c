/* Text in pictures: widths of words, lines that are broken or cut to fit. */
#include "svg.h"

/* Em widths of DejaVu Sans, wider than most, in three classes. */
static double advance(uint32_t c)
{
    if (c < 0x80 && c && strchr("iljft.,:;'|!()[]I /-", (int)c))
        return 0.36;
    if (c < 0x80 && c && strchr("mwMW@%", (int)c))
        return 0.95;
    if (c >= 0x1100)
        return 1;
    return c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
}

static double width_of(const char *text, size_t length, double size)
{
    double width = 0;
    for (size_t k = 0, used; k < length; k += used)
        width += advance(gnn__svg_code_point((const unsigned char *)text + k, length - k, &used));
    return width * size;
}

double gnn__text_width(const char *text, double size)
{
    return text ? width_of(text, strlen(text), size) : 0;
}

/* Bytes of `text` that fit into room. */
static size_t fitting(const char *text, size_t length, double size, double room)
{
    double width = 0;
    size_t k = 0, used;
    for (; k < length; k += used) {
        width +=
            size * advance(gnn__svg_code_point((const unsigned char *)text + k, length - k, &used));
        if (width > room)
            break;
    }
    return k;
}

static void line(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, const char *text,
                 size_t length)
{
    gnn__svg_put(svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.4g\" fill=\"%s\"", x, y,
                 type->size, type->fill);
    gnn__svg_put(svg, " text-anchor=\"%s\"%s", type->anchor,
                 type->bold ? " font-weight=\"600\"" : "");
    if (type->turn)
        gnn__svg_put(svg, " transform=\"rotate(%d %.1f %.1f)\"", type->turn, x, y);
    size_t shown = length;
    if (type->room > 0 && width_of(text, length, type->size) > type->room)
        shown = fitting(text, length, type->size, type->room - type->size);
    gnn__svg_put(svg, ">");
    gnn__svg_escape(svg, text, shown);
    gnn__svg_put(svg, "%s</text>\n", shown < length ? "\xe2\x80\xa6" : "");
}

void gnn__svg_text(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, const char *text)
{
    line(svg, type, x, y, text, strlen(text));
}

int gnn__text_block(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, double room,
                    const char *text)
{
    int lines = 0;
    while (text && *text) {
        size_t rest = strlen(text), length = fitting(text, rest, type->size, room), end = length;
        if (length < rest)
            while (end > 0 && text[end] != ' ')
                end--;
        if (end == 0)
            end = length ? length : rest;
        if (svg)
            line(svg, type, x, y + lines * type->size * 1.35, text, end);
        lines++;
        text += end;
        while (*text == ' ')
            text++;
    }
    return lines;
}
