/* Writing SVG: numbers in the C locale, escaped text, and the first error that writing gave. */
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

int gnn__page_open(gnn__svg_t *svg, FILE *file)
{
    /* The C locale exists already, so this cannot fail for want of memory. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "svg: no C locale");
    errno = 0;
    *svg = (gnn__svg_t){file, ferror(file) ? EIO : 0, uselocale(c)};
    return GNN_OK;
}

int gnn__svg_open(gnn__svg_t *svg, FILE *file, double width, double height, const char *title)
{
    GNN_TRY(gnn__page_open(svg, file));
    gnn__svg_put(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    gnn__svg_put(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" ", width,
                 height);
    gnn__svg_put(svg, "width=\"%.0f\" height=\"%.0f\" role=\"img\" ", width, height);
    gnn__svg_put(
        svg, "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n");
    if (title) {
        gnn__svg_put(svg, "<title>");
        gnn__svg_escape(svg, title, strlen(title));
        gnn__svg_put(svg, "</title>\n");
    }
    gnn__svg_put(svg, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", width, height);
    return GNN_OK;
}

int gnn__svg_close(gnn__svg_t *svg)
{
    gnn__svg_put(svg, "</svg>\n");
    return gnn__page_close(svg);
}

int gnn__page_close(gnn__svg_t *svg)
{
    errno = 0;
    if (!svg->failed && (fflush(svg->file) != 0 || ferror(svg->file)))
        svg->failed = errno ? errno : EIO;
    locale_t c = uselocale(svg->before);
    freelocale(c);
    if (svg->failed)
        return gnn__error(GNN_EIO, "svg: writing failed: %s", strerror(svg->failed));
    return GNN_OK;
}

void gnn__svg_put(gnn__svg_t *svg, const char *format, ...)
{
    if (svg->failed)
        return;
    errno = 0;
    va_list arguments;
    va_start(arguments, format);
    if (vfprintf(svg->file, format, arguments) < 0)
        svg->failed = errno ? errno : EIO;
    va_end(arguments);
}

uint32_t gnn__svg_code_point(const unsigned char *s, size_t left, size_t *used)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80         ? 1
                    : s[0] >> 5 == 0x6  ? 2
                    : s[0] >> 4 == 0xe  ? 3
                    : s[0] >> 3 == 0x1e ? 4
                                        : 0;
    *used = 1;
    if (length == 0 || length > left)
        return 0xfffd;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t k = 1; k < length; k++) {
        if (s[k] >> 6 != 2)
            return 0xfffd;
        c = c << 6 | (s[k] & 63u);
    }
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0xfffd;
    *used = length;
    if (c == '\t' || c == '\n' || c == '\r')
        return ' ';
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe;
    return control ? 0xfffd : c;
}

void gnn__svg_escape(gnn__svg_t *svg, const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t k = 0, used; k < length; k += used) {
        uint32_t c = gnn__svg_code_point(s + k, length - k, &used);
        switch (c) {
        case '&': gnn__svg_put(svg, "&amp;"); break;
        case '<': gnn__svg_put(svg, "&lt;"); break;
        case '>': gnn__svg_put(svg, "&gt;"); break;
        case '"': gnn__svg_put(svg, "&quot;"); break;
        case ' ': gnn__svg_put(svg, " "); break;
        case 0xfffd: gnn__svg_put(svg, "\xef\xbf\xbd"); break;
        default: gnn__svg_put(svg, "%.*s", (int)used, text + k); break;
        }
    }
}
