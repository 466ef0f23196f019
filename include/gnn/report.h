/** Pictures and tables: SVG written to a path or FILE* that the caller gives. Nothing here prints
 * by itself. */
#ifndef GNN_REPORT_H
#define GNN_REPORT_H

#include <stdio.h>
#include <gnn/context.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A heat map of a matrix: one cell per entry, row and column labels (NULL: none), a colour bar,
 * values printed in cells where they fit. Colour scale from `low` to `high` (both 0: from the
 * data). XML special characters in labels are escaped. */
typedef struct gnn_heatmap {
    gnn_tensor_t values;
    const char *const *row_labels, *const *col_labels;
    const char *title, *subtitle, *row_axis, *col_axis;
    double low, high;
    int64_t mark_row, mark_col; /**< a cell to frame; mark with both -1: none */
} gnn_heatmap_t;
/**
 * Writes a heat map as one SVG document.
 *
 * @param[in] file  open for writing; stays the caller's
 * @param[in] map   borrowed; values (rows x cols). Cells that are not finite have a colour of their
 *                  own
 * @return GNN_OK; GNN_ESHAPE if the matrix is not one; GNN_EINVALID (a NULL, too many cells, the
 *         scale or the marked cell); GNN_EIO; GNN_EMEMORY. O(rows cols) bytes are written.
 */
GNN_API int gnn_svg_heatmap(FILE *file, const gnn_heatmap_t *map);

/** A scatter plot of points (n x 2), coloured by class with a legend; optional lines between points
 * (a graph's edges). */
typedef struct gnn_scatter {
    gnn_tensor_t points;
    const int32_t *classes;         /**< (n) or NULL */
    const char *const *class_names; /**< NULL: "class 0" ... */
    int64_t n_classes;
    const char *const *point_labels; /**< NULL: none */
    const uint8_t *emphasis;         /**< (n) points drawn with a ring, or NULL */
    const int64_t *line_from, *line_to;
    int64_t n_lines;
    const char *title, *subtitle;
    /** (n_lines) from 0 to 1: a line's width and how dark it is; NULL: all alike. Later lines are
     * drawn over earlier ones */
    const double *line_weight;
} gnn_scatter_t;
/**
 * Writes a scatter plot, or a drawing of a graph, as one SVG document.
 *
 * @param[in] file     open for writing; stays the caller's
 * @param[in] scatter  borrowed; points (n x 2), line ends below n
 * @return GNN_OK; GNN_ESHAPE if points are not n x 2; GNN_EINVALID (a NULL, a class, a line's end
 *         or its weight out of range); GNN_EIO; GNN_EMEMORY. O(n + lines) bytes are written.
 */
GNN_API int gnn_svg_scatter(FILE *file, const gnn_scatter_t *scatter);

/** A graph whose edges have weights: words at points (n x 2), joined by curves that are the wider
 * and the darker the more they weigh, with a dot at the receiver. Weights below 0 are not drawn. */
typedef struct gnn_graph_picture {
    gnn_tensor_t points;
    const char *const *labels; /**< (n); NULL: none */
    const int64_t *from, *to;  /**< (n_edges) sender and receiver */
    const gnn_real_t *weight;  /**< (n_edges) */
    int64_t n_edges;
    const char *title, *subtitle;
} gnn_graph_picture_t;
/**
 * Writes the drawing of a weighted graph as one SVG document, y downwards.
 *
 * @param[in] file     open for writing; stays the caller's
 * @param[in] picture  borrowed; points finite, edges' ends below n
 * @return GNN_OK; GNN_ESHAPE if points are not n x 2; GNN_EINVALID (a NULL, an end out of range, a
 *         weight that is not finite); GNN_ENUMERIC; GNN_EIO; GNN_EMEMORY. O(n + edges) bytes.
 *
 * gnn_graph_layout_weighted finds the points.
 */
GNN_API int gnn_svg_graph(FILE *file, const gnn_graph_picture_t *picture);

/** One line of a chart: y over x. A y that is not finite leaves a gap. */
typedef struct gnn_curve {
    const char *name;
    const double *x; /**< (count) rising; NULL: 1, 2, 3, ... */
    const double *y; /**< (count) */
    int64_t count;
    int64_t panel; /**< which of the panels, 0 is the upper one */
} gnn_curve_t;

/** Curves over one common x axis, in panels one below the other, each with a scale of its own
 * (losses above, accuracy below), a legend and ticks. */
typedef struct gnn_curves {
    const gnn_curve_t *curves;
    int64_t n_curves;
    const char *const *panel_names; /**< what each panel's y axis shows; NULL: nothing is written */
    int64_t n_panels;               /**< [1], at most 8 */
    const char *title, *subtitle, *x_axis;
    /** a place on the x axis that is marked by a line, and by a dot where a curve has it (the best
     * epoch); 0: none */
    double mark;
    const char *mark_name; /**< what is written there */
} gnn_curves_t;
/**
 * Writes curves as one SVG document.
 *
 * @param[in] file    open for writing; stays the caller's
 * @param[in] curves  borrowed; each curve's panel below n_panels
 * @return GNN_OK; GNN_EINVALID (a NULL, a panel out of range, an x that does not rise); GNN_EIO;
 *         GNN_EMEMORY. O(points) bytes are written.
 */
GNN_API int gnn_svg_curves(FILE *file, const gnn_curves_t *curves);

/**
 * Principal components: the rows of x (n x d) in the plane of the two directions in which they
 * differ most.
 *
 * @param[in] x        (n x d), finite
 * @param[out] points  (n x 2), caller's; overwritten. A direction's sign is chosen so that its
 *                     largest entry is positive.
 * @param[out] share   (2) the share of the variance along each, or NULL; 0 where there is none
 * @return GNN_OK; GNN_ESHAPE; GNN_ENUMERIC if x is not finite; GNN_EMEMORY.
 *
 * Cost: O(n d) time a round of a block power iteration, at most 500; O(d) memory. The same bits
 * with any number of threads.
 */
GNN_API int gnn_pca_2d(const gnn_tensor_t *x, const gnn_tensor_t *points, double share[2]);

/**
 * Where the time went: a table of every op that ran with this context (calls, milliseconds, share,
 * and the work that it does at least as GF/s and GB/s), the slowest first, and what this machine
 * can do at most, measured for some tenths of a second by this call.
 *
 * Collected only if the environment has GNN_PROFILE=1 when the context is made; writes nothing
 * otherwise.
 *
 * @return GNN_OK; GNN_EIO.
 */
GNN_API int gnn_profile_write(gnn_context_t *context, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
