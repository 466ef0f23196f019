/** Pictures and tables, written as SVG or text to a FILE that the caller opened. */
#ifndef GNN_REPORT_H
#define GNN_REPORT_H

#include <stdio.h>
#include <gnn/context.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A heat map of a matrix: one cell per element, row and column labels (NULL: none), a colour bar,
 * values printed in cells if they fit. The colour scale goes from `low` to `high` (both 0: the
 * range of the data). XML special characters in labels are escaped. */
typedef struct gnn_heatmap {
    gnn_tensor_t values;
    const char *const *row_labels, *const *col_labels;
    const char *title, *subtitle, *row_axis, *col_axis;
    double low, high;
    int64_t mark_row, mark_col; /**< the cell to frame; both -1: none */
} gnn_heatmap_t;
/**
 * Writes a heat map as one SVG document.
 *
 * @param[in] file  open for writing; stays the caller's
 * @param[in] map   borrowed; values (rows x cols). Non-finite values have a separate colour
 * @return GNN_OK; GNN_ESHAPE if the matrix is invalid; GNN_EINVALID (a NULL, too many cells, the
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
    /** (n_lines) in [0, 1]: width and darkness of a line; NULL: all equal. Later lines are drawn
     * over earlier ones */
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

/** A drawing of a weighted graph: labels at points (n x 2), connected by curves whose width and
 * darkness grow with the weight, with a dot at the receiver. Negative weights are not drawn. */
typedef struct gnn_graph_picture {
    gnn_tensor_t points;
    const char *const *labels; /**< (n); NULL: none */
    const int64_t *from, *to;  /**< (n_edges) sender and receiver */
    const gnn_real_t *weight;  /**< (n_edges) */
    int64_t n_edges;
    const char *title, *subtitle;
} gnn_graph_picture_t;
/**
 * Writes the drawing of a weighted graph as one SVG document; y points down.
 *
 * @param[in] file     open for writing; stays the caller's
 * @param[in] picture  borrowed; points finite, edges' ends below n
 * @return GNN_OK; GNN_ESHAPE if points are not n x 2; GNN_EINVALID (a NULL, an end out of range, a
 *         weight that is not finite); GNN_ENUMERIC; GNN_EIO; GNN_EMEMORY. O(n + edges) bytes.
 *
 * gnn_graph_layout_weighted computes suitable points.
 */
GNN_API int gnn_svg_graph(FILE *file, const gnn_graph_picture_t *picture);

/** One line of a chart: y over x. A y that is not finite leaves a gap. */
typedef struct gnn_curve {
    const char *name;
    const double *x; /**< (count) increasing; NULL: 1, 2, 3, ... */
    const double *y; /**< (count) */
    int64_t count;
    int64_t panel; /**< index of the panel; 0 is the top one */
} gnn_curve_t;

/** Curves over one common x axis, in stacked panels, each with its own scale (losses above,
 * accuracy below), legend and ticks. */
typedef struct gnn_curves {
    const gnn_curve_t *curves;
    int64_t n_curves;
    const char *const *panel_names; /**< labels of the y axes; NULL: none */
    int64_t n_panels;               /**< [1], at most 8 */
    const char *title, *subtitle, *x_axis;
    /** an x value to mark with a line, and with dots on the curves (the best epoch); 0: none */
    double mark;
    const char *mark_name; /**< label of the mark */
} gnn_curves_t;
/**
 * Writes curves as one SVG document.
 *
 * @param[in] file    open for writing; stays the caller's
 * @param[in] curves  borrowed; each curve's panel below n_panels
 * @return GNN_OK; GNN_EINVALID (a NULL, a panel out of range, x not increasing); GNN_EIO;
 *         GNN_EMEMORY. O(points) bytes are written.
 */
GNN_API int gnn_svg_curves(FILE *file, const gnn_curves_t *curves);

/**
 * Projects the rows of x (n x d) onto their first two principal components.
 *
 * @param[in] x        (n x d), finite
 * @param[out] points  (n x 2), caller's; overwritten. The sign of a component is chosen so that its
 *                     largest element is positive.
 * @param[out] share   (2) the fraction of the variance along each, 0 if there is none; may be NULL
 * @return GNN_OK; GNN_ESHAPE; GNN_ENUMERIC if x is not finite; GNN_EUNSUPPORTED above 32768 rows
 *         and columns; GNN_EMEMORY.
 *
 * Cost: with m = min(n, d), O(n d m) time by BLAS and O(m^3) by LAPACK, on one thread, and O(m^2)
 * memory. The same bits with any thread count.
 */
GNN_API int gnn_pca_2d(const gnn_tensor_t *x, const gnn_tensor_t *points, double share[2]);

/**
 * Writes a profile: a table of every op that ran with this context (calls, milliseconds, share of
 * the time, and GF/s and GB/s from its minimum of work), slowest first, and the machine's peaks,
 * which this call measures for some tenths of a second.
 *
 * Data is collected only if GNN_PROFILE=1 is in the environment when the context is made; otherwise
 * nothing is written.
 *
 * @return GNN_OK; GNN_EIO.
 */
GNN_API int gnn_profile_write(gnn_context_t *context, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
