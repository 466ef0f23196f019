/* Options of entries: initial values, bounds, and integers where the kind asks for them. */
#include <lib/base/base.h>
#include <lib/base/options.h>
#include <math.h>
#include <stdbool.h>

int gnn__check_options(const char *kind, const char *name, const gnn_option_t *options,
                       size_t n_options)
{
    if (n_options > GNN_ROW_OPTIONS || (n_options > 0 && !options))
        return gnn__error(GNN_EINVALID, "%s %s: .n_options is %zu%s, at most %d are taken", kind,
                          name, n_options, options ? "" : " and .options NULL", GNN_ROW_OPTIONS);
    for (size_t k = 0; k < n_options; k++)
        if (options[k].kind != GNN_OPTION_REAL && options[k].kind != GNN_OPTION_INTEGER)
            return gnn__error(GNN_EINVALID,
                              "%s %s: .options[%zu].kind is %d, expected a gnn_option_kind_t", kind,
                              name, k, (int)options[k].kind);
    return GNN_OK;
}

/* `resolved` is `given`, or 0 where that is GNN_ZERO. */
static int resolve_option(const char *row, const gnn_option_t *o, double given, double *resolved)
{
    const bool integer = o->kind == GNN_OPTION_INTEGER;
    if (given == 0)
        *resolved = o->initial;
    const bool inside = *resolved >= o->min && *resolved <= o->max;
    if (integer && (!inside || *resolved != floor(*resolved)))
        return gnn__error(GNN_EINVALID, "%s: option %s is %g, expected an integer from %.0f to %.0f",
                          row, o->name, *resolved, o->min, o->max);
    if (!inside)
        return gnn__error(GNN_EINVALID, "%s: option %s is %g, expected %g to %g", row, o->name,
                          *resolved, o->min, o->max);
    return GNN_OK;
}

int gnn__resolve_options(const char *row, const gnn_option_t *options, size_t n_options,
                         const double given[GNN_ROW_OPTIONS], double resolved[GNN_ROW_OPTIONS])
{
    for (size_t k = 0; k < GNN_ROW_OPTIONS; k++) {
        resolved[k] = fabs(given[k]) < 1e-30 ? 0 : given[k];
        if (k < n_options)
            GNN_TRY(resolve_option(row, &options[k], given[k], &resolved[k]));
        else if (resolved[k] != 0)
            return gnn__error(GNN_EINVALID, "%s: option %zu is %g, expected at most %zu options",
                              row, k + 1, given[k], n_options);
    }
    return GNN_OK;
}

int gnn__options_without(const char *field, const char *kind, const double given[GNN_ROW_OPTIONS])
{
    for (size_t k = 0; k < GNN_ROW_OPTIONS; k++)
        if (given[k] != 0)
            return gnn__error(GNN_EINVALID, "%s[%zu] is %g, but there is no %s", field, k, given[k],
                              kind);
    return GNN_OK;
}
