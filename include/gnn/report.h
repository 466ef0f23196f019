/** Pictures and tables: SVG written to a path or FILE* that the caller gives. Nothing here prints by itself. */
#ifndef GNN_REPORT_H
#define GNN_REPORT_H

#include <stdio.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A heat map of a matrix: one cell per entry, row and column labels (NULL: none), a colour bar, values printed in cells where they fit. Colour
 *  scale from `low` to `high` (both 0: from the data). XML special characters in labels are escaped. */
typedef struct gnn_heatmap {
    gnn_tensor_t values;
    const char *const *row_labels, *const *col_labels;
    const char *title, *subtitle, *row_axis, *col_axis;
    double low, high;
    int64_t mark_row, mark_col; /**< a cell to frame; mark with both -1: none */
} gnn_heatmap_t;
GNN_API int gnn_svg_heatmap(FILE *file, const gnn_heatmap_t *map);

/** A scatter plot of points (n x 2), coloured by class with a legend; optional lines between points (a graph's edges). */
typedef struct gnn_scatter {
    gnn_tensor_t points;
    const int32_t *classes;          /**< (n) or NULL */
    const char *const *class_names;  /**< NULL: "class 0" ... */
    int64_t n_classes;
    const char *const *point_labels; /**< NULL: none */
    const uint8_t *emphasis;         /**< (n) points drawn with a ring, or NULL */
    const int64_t *line_from, *line_to;
    int64_t n_lines;
    const char *title, *subtitle;
} gnn_scatter_t;
GNN_API int gnn_svg_scatter(FILE *file, const gnn_scatter_t *scatter);

#ifdef __cplusplus
}
#endif
#endif
