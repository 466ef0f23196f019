/* Options of entries of all tables (gnn_option_t). */
#ifndef GNN_LIB_BASE_OPTIONS_H
#define GNN_LIB_BASE_OPTIONS_H

#include <gnn/row.h>

/* An entry may come from a program. GNN_EINVALID, which names it: a list that is missing or too
 * long, or an option of an unknown kind. `kind`: that of the entry, as "prior". */
int gnn__check_options(const char *kind, const char *name, const gnn_option_t *options,
                       size_t n_options);
/* Options with initial values where 0 was given. GNN_EINVALID, which names entry and option: a
 * value is out of range, NaN, or a fraction where an integer is expected, or there are values that
 * no option of the entry reads. */
int gnn__resolve_options(const char *row, const gnn_option_t *options, size_t n_options,
                         const double given[GNN_ROW_OPTIONS], double resolved[GNN_ROW_OPTIONS]);
/* GNN_EINVALID if an option is given although the entry that would read it is absent:
 * "map_options[0] is 2, but there is no map". `field` holds the options, `kind` is the entry's. */
int gnn__options_without(const char *field, const char *kind, const double given[GNN_ROW_OPTIONS]);

#endif
