#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

int gnn__svg_open(gnn__svg_t *svg, FILE *file, double width, double height, const char *title)
{
    /* The C locale exists already, so this cannot fail for want of memory. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "svg: no C locale");
    errno = 0;
    *svg = (gnn__svg_t){file, ferror(file) ? EIO : 0, uselocale(c)};
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
