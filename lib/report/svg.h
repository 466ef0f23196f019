/* Writing SVG: numbers that do not depend on the locale, escaped text, ticks, colours. Every call
 * after a failed write does nothing. */
#ifndef GNN_LIB_REPORT_SVG_H
#define GNN_LIB_REPORT_SVG_H

#include <gnn/report.h>
#include <lib/base/base.h>
#include <locale.h>

typedef struct gnn__svg {
    FILE *file;
    int failed;      /* errno of the first failed write, 0: none */
    locale_t before; /* the thread's locale, given back by gnn__svg_close */
} gnn__svg_t;

typedef struct gnn__colour {
    unsigned char red, green, blue;
} gnn__colour_t;

/* The higher or lower of both; x where y is NaN. */
static inline double gnn__higher(double x, double y)
{
    return y > x ? y : x;
}

static inline double gnn__smaller(double x, double y)
{
    return y < x ? y : x;
}

/* How a line of text is set. */
typedef struct gnn__type {
    double size;
    const char *anchor; /* "start", "middle", "end" */
    const char *fill;
    int bold;
    int turn;    /* degrees, clockwise */
    double room; /* wider text is cut and ends with an ellipsis; 0: no limit */
} gnn__type_t;

/* Starts a page of that many pixels; `title` (or NULL) is what screen readers say. */
int gnn__svg_open(gnn__svg_t *svg, FILE *file, double width, double height, const char *title);
/* Ends the page and flushes. GNN_EIO if anything was not written. */
int gnn__svg_close(gnn__svg_t *svg);
/* The same for a page of another kind, of which they write nothing. */
int gnn__page_open(gnn__svg_t *svg, FILE *file);
int gnn__page_close(gnn__svg_t *svg);
/* printf with "%.2f" always written with a point. Text of the caller's goes through gnn__svg_text
 * instead. */
void gnn__svg_put(gnn__svg_t *svg, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `length` bytes of UTF-8 as XML text; what XML cannot hold becomes U+FFFD, line breaks become
 * spaces. */
void gnn__svg_escape(gnn__svg_t *svg, const char *text, size_t length);
/* Reads one code point of at most `left` bytes; *used >= 1. U+FFFD for whatever UTF-8 or XML
 * forbids. */
uint32_t gnn__svg_code_point(const unsigned char *s, size_t left, size_t *used);
/* One line of text at (x, y). */
void gnn__svg_text(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, const char *text);

/* Width of a line in pixels, estimated for a wide sans-serif font: the viewer's font is not
 * known. */
double gnn__text_width(const char *text, double size);
/* Breaks text at spaces so that lines fit into `room`; with `svg` draws them below (x, y). Returns
 * the number of lines. */
int gnn__text_block(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, double room,
                    const char *text);

#define GNN__TICKS 12
/* Round numbers in [low, high], about `want` of them: returns how many, *decimals is what they need
 * (negative: so many digits with an exponent). */
int gnn__ticks(double low, double high, int want, double ticks[GNN__TICKS], int *decimals);
void gnn__tick_label(char label[32], double value, int decimals);

/* Viridis for t in [0, 1] (Smith & van der Walt 2015); the Okabe-Ito palette, repeated after
 * GNN__CLASS_COLOURS. */
#define GNN__CLASS_COLOURS 8
gnn__colour_t gnn__viridis(double t);
gnn__colour_t gnn__class_colour(int64_t k);
/* Black or white, whichever reads better on this colour. */
const char *gnn__colour_ink(gnn__colour_t colour);

#endif
