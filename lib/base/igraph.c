/* The functions of libgnn-igraph, available once a program has called gnn_igraph_use. */
#include <lib/base/base.h>
#include <lib/base/igraph.h>

static _Atomic(const gnn__igraph_functions_t *) registered;

int gnn_igraph_register(const char *build, const gnn__igraph_functions_t *functions,
                        const gnn__igraph_services_t **services)
{
    static const gnn__igraph_services_t own = {gnn__set_message, gnn__new, gnn__allocation_fails};
    if (strcmp(build, GNN__IGRAPH_BUILD) != 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "libgnn-igraph %s does not match libgnn %s: install both from the same build",
                          build, GNN__IGRAPH_BUILD);
    *services = &own;
    registered = functions;
    return GNN_OK;
}

const gnn__igraph_functions_t *gnn__igraph(void)
{
    return registered;
}

int gnn__igraph_need(const gnn__igraph_functions_t **functions, const char *what)
{
    *functions = registered;
    if (*functions)
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED, "%s: link gnn-igraph and call gnn_igraph_use()", what);
}
