/* SVG: pages, text, ticks and colours. */
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

/* ---- pages: the C locale, escaped text, the first write error ---- */

int gnn__page_open(gnn__svg_t *svg, FILE *file)
{
    /* The C locale always exists, so this does not fail for lack of memory. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "svg: the C locale cannot be used");
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

/* Bytes of the UTF-8 sequence that starts with this byte; 0: none does. */
static size_t sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >> 5 == 0x6)
        return 2;
    if (first >> 4 == 0xe)
        return 3;
    return first >> 3 == 0x1e ? 4 : 0;
}

uint32_t gnn__svg_code_point(const unsigned char *s, size_t left, size_t *used)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = sequence_length(s[0]);
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

/* ---- text: estimated widths, lines broken or cut to fit ---- */

/* Em widths of DejaVu Sans, which is wider than most fonts, in a few classes. */
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

/* Bytes of `text` that fit into `room`. */
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

static void draw_line(gnn__svg_t *svg, const gnn__type_t *type, double x, double y,
                      const char *text, size_t length)
{
    gnn__svg_put(svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.4g\" fill=\"%s\"", x, y,
                 type->size, type->fill);
    gnn__svg_put(svg, " text-anchor=\"%s\"%s", type->anchor,
                 type->bold ? " font-weight=\"600\"" : "");
    if (type->rotation)
        gnn__svg_put(svg, " transform=\"rotate(%d %.1f %.1f)\"", type->rotation, x, y);
    size_t shown = length;
    if (type->room > 0 && width_of(text, length, type->size) > type->room)
        shown = fitting(text, length, type->size, type->room - type->size);
    gnn__svg_put(svg, ">");
    gnn__svg_escape(svg, text, shown);
    gnn__svg_put(svg, "%s</text>\n", shown < length ? "\xe2\x80\xa6" : "");
}

void gnn__svg_text(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, const char *text)
{
    draw_line(svg, type, x, y, text, strlen(text));
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
            draw_line(svg, type, x, y + lines * type->size * 1.35, text, end);
        lines++;
        text += end;
        while (*text == ' ')
            text++;
    }
    return lines;
}

/* ---- ticks: round steps, and the precision of their labels ---- */

/* The step of 1, 2 or 5 times a power of ten that divides `span` into about `want` parts. */
static double round_step(double span, int want)
{
    double rough = span / want, power = pow(10, floor(log10(rough))), f = rough / power;
    const double limits[] = {1.5, 3.5, 7.5}, steps[] = {1, 2, 5, 10};
    int k = 0;
    while (k < 3 && !(f < limits[k]))
        k++;
    return power * steps[k];
}

/* Decimals that distinguish multiples of `step`; minus the significant digits where an exponent is
 * shorter. */
static int precision(double step, double largest)
{
    double decimals = -floor(log10(step) + 1e-9), digits = 1 - floor(-log10(largest / step));
    if (largest < 1e6 && decimals <= 5)
        return decimals > 0 ? (int)decimals : 0;
    return -(int)gnn__smaller(gnn__higher(digits, 1), 15);
}

int gnn__ticks(double low, double high, int want, double ticks[GNN__TICKS], int *decimals)
{
    double largest = gnn__higher(fabs(low), fabs(high));
    double unit = largest > 1e300 ? 0.25 : 1; /* keeps the span of -DBL_MAX .. DBL_MAX finite */
    double span = high * unit - low * unit;
    *decimals = -3;
    if (!(span > largest * unit * 1e-12) || largest < 1e-290) {
        ticks[0] = low;
        return 1;
    }
    double step = round_step(span, want);
    int n = 0;
    for (double k = -floor(1e-9 - low * unit / step); n < GNN__TICKS; k++) {
        if (k * step > high * unit + step * 1e-9)
            break;
        ticks[n++] = k == 0 ? 0 : k * step / unit;
    }
    *decimals = precision(step / unit, largest);
    return n;
}

void gnn__tick_label(char label[32], double value, int decimals)
{
    if (decimals >= 0)
        snprintf(label, 32, "%.*f", decimals, value);
    else
        snprintf(label, 32, "%.*g", -decimals, value);
}

/* ---- colours: a scale for values, a palette for classes ---- */

/* Every fifteenth of matplotlib's 256 colours. */
static const uint32_t viridis[] = {0x440154, 0x481769, 0x472a7a, 0x433d84, 0x3d4e8a, 0x355e8d,
                                   0x2e6d8e, 0x297b8e, 0x23898e, 0x1f978b, 0x21a585, 0x2eb37c,
                                   0x46c06f, 0x65cb5e, 0x89d548, 0xb0dd2f, 0xd8e219, 0xfde725};

/* Okabe & Ito 2008, the most distinct pair first. Their black is a dark grey here, to differ from
 * text. */
static const uint32_t okabe_ito[GNN__CLASS_COLOURS] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                                       0x56b4e9, 0xd55e00, 0xf0e442, 0x4d4d4d};

static gnn__colour_t unpack(uint32_t rgb)
{
    return (gnn__colour_t){(unsigned char)(rgb >> 16), (unsigned char)(rgb >> 8 & 255),
                           (unsigned char)(rgb & 255)};
}

static unsigned char mix(unsigned char a, unsigned char b, double t)
{
    return (unsigned char)(a + (b - a) * t + 0.5);
}

gnn__colour_t gnn__viridis(double t)
{
    const int last = (int)(sizeof viridis / sizeof *viridis) - 1;
    double position = gnn__smaller(gnn__higher(0, t), 1) * last;
    int k = (int)position < last ? (int)position : last - 1;
    gnn__colour_t a = unpack(viridis[k]), b = unpack(viridis[k + 1]);
    double f = position - k;
    return (gnn__colour_t){mix(a.red, b.red, f), mix(a.green, b.green, f), mix(a.blue, b.blue, f)};
}

gnn__colour_t gnn__class_colour(int64_t k)
{
    return unpack(okabe_ito[k % GNN__CLASS_COLOURS]);
}

const char *gnn__colour_ink(gnn__colour_t c)
{
    double luma = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
    return luma > 130 ? "#111111" : "#ffffff";
}
