/* Writing SVG: values in the C locale, escaped text, ticks, colours. After a failed write every
 * call does nothing. */
#ifndef GNN_LIB_REPORT_SVG_H
#define GNN_LIB_REPORT_SVG_H

#include <gnn/report.h>
#include <lib/base/base.h>
#include <locale.h>

typedef struct gnn__svg {
    FILE *file;
    int failed;      /* errno of the first failed write, 0: none */
    locale_t before; /* the thread's locale, restored by gnn__svg_close */
} gnn__svg_t;

typedef struct gnn__colour {
    unsigned char red, green, blue;
} gnn__colour_t;

/* Maximum and minimum that ignore a NaN in y. */
static inline double gnn__higher(double x, double y)
{
    return y > x ? y : x;
}

static inline double gnn__smaller(double x, double y)
{
    return y < x ? y : x;
}

/* Style of a line of text. */
typedef struct gnn__type {
    double size;        /* pixels */
    const char *anchor; /* "start", "middle" or "end" */
    const char *fill;   /* colour, "#rrggbb" */
    int bold;
    int rotation; /* rotation in degrees, clockwise */
    double room;  /* maximum width in pixels, wider text ends with an ellipsis; 0: no limit */
} gnn__type_t;

/* Starts a page of this size in pixels; `title` is for screen readers, may be NULL. */
int gnn__svg_open(gnn__svg_t *svg, FILE *file, double width, double height, const char *title);
/* Ends the page and flushes. GNN_EIO if a write failed. */
int gnn__svg_close(gnn__svg_t *svg);
/* The same without SVG's tags, for other pages. */
int gnn__page_open(gnn__svg_t *svg, FILE *file);
int gnn__page_close(gnn__svg_t *svg);
/* printf in the C locale. Text of the caller's goes through gnn__svg_text, which escapes it. */
void gnn__svg_put(gnn__svg_t *svg, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes `length` bytes of UTF-8 as XML text; characters that XML forbids become U+FFFD, line
 * breaks become spaces. */
void gnn__svg_escape(gnn__svg_t *svg, const char *text, size_t length);
/* Decodes one code point from at most `left` bytes; *used >= 1. U+FFFD for invalid UTF-8 and for
 * characters that XML forbids. */
uint32_t gnn__svg_code_point(const unsigned char *s, size_t left, size_t *used);
/* One line of text at (x, y). */
void gnn__svg_text(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, const char *text);

/* Estimated width of a line in pixels for a wide sans-serif font, since the viewer's font is
 * unknown. */
double gnn__text_width(const char *text, double size);
/* Breaks text at spaces into lines no wider than `room` and, unless svg is NULL, draws them
 * downwards from (x, y). Returns the count of lines. */
int gnn__text_block(gnn__svg_t *svg, const gnn__type_t *type, double x, double y, double room,
                    const char *text);

#define GNN__TICKS 12
/* About `want` round values in [low, high]; returns their count. *decimals is the precision of
 * their labels; negative: significant digits with an exponent. */
int gnn__ticks(double low, double high, int want, double ticks[GNN__TICKS], int *decimals);
void gnn__tick_label(char label[32], double value, int decimals);

/* Viridis for t in [0, 1] (Smith & van der Walt 2015), and the Okabe-Ito palette, which repeats
 * after GNN__CLASS_COLOURS. */
#define GNN__CLASS_COLOURS 8
gnn__colour_t gnn__viridis(double t);
gnn__colour_t gnn__class_colour(int64_t k);
/* Black or white, whichever has more contrast with this colour. */
const char *gnn__colour_ink(gnn__colour_t colour);

#endif
