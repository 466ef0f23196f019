/* Graph files read and written by igraph in memory; the caller reads and writes the bytes. */
#include <graphs/igraph/call.h>

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the locale of a thread ---- */

/* Reals have a decimal point, whatever the program's locale. igraph_enter_safelocale dereferences
 * NULL where memory is short. */
typedef struct locales {
    locale_t plain, before;
} locales_t;

static int enter_locale(locales_t *l)
{
    l->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!l->plain)
        return gnn__igraph_error(GNN_EMEMORY, "no memory for a locale");
    l->before = uselocale(l->plain);
    return GNN_OK;
}

static void exit_locale(locales_t *l)
{
    uselocale(l->before);
    freelocale(l->plain);
}

/* ---- reading ---- */

/* Graph files read by igraph from memory; the caller has checked the bytes. */

/* The edge attribute "weight", if the document declares it. */
static int take_weights(gnn__igraph_links_t *links, const igraph_t *igraph)
{
    if (!igraph_cattribute_has_attr(igraph, IGRAPH_ATTRIBUTE_EDGE, "weight"))
        return GNN_OK;
    GNN_TRY(gnn__igraph_check_numeric(igraph, "weight"));
    GNN_TRY(gnn__igraph_new(&links->weight, links->m, sizeof *links->weight, "weights"));
    for (int64_t e = 0; e < links->m; e++) {
        links->weight[e] = (gnn_real_t)EAN(igraph, "weight", e);
        if (!isfinite(links->weight[e]))
            return gnn__igraph_error(GNN_ENUMERIC,
                                     "weight of link %lld: expected a finite value, got %g",
                                     (long long)e, (double)links->weight[e]);
    }
    return GNN_OK;
}

static int take_links(gnn__igraph_links_t *links, const igraph_t *igraph)
{
    links->n = igraph_vcount(igraph);
    links->directed = igraph_is_directed(igraph);
    links->m = igraph_ecount(igraph);
    if (links->n > INT32_MAX)
        return gnn__igraph_error(GNN_EOVERFLOW, "%lld nodes, a graph has at most %d",
                                 (long long)links->n, INT32_MAX);
    GNN_TRY(gnn__igraph_new(&links->a, links->m, sizeof *links->a, "links"));
    GNN_TRY(gnn__igraph_new(&links->b, links->m, sizeof *links->b, "links"));
    for (int64_t e = 0; e < links->m; e++) {
        links->a[e] = (int32_t)IGRAPH_FROM(igraph, e);
        links->b[e] = (int32_t)IGRAPH_TO(igraph, e);
    }
    return GNN_OK;
}

/* Adds the names that no one reads; ids, names and labels of nodes change no model. */
static void add_unread(gnn__igraph_links_t *links, const igraph_strvector_t *names, bool edges)
{
    static const char *const harmless[] = {"id", "name", "label"};
    for (igraph_integer_t k = 0; k < igraph_strvector_size(names); k++) {
        const char *name = igraph_strvector_get(names, k), *before = *links->unread ? ", " : "";
        const size_t used = strlen(links->unread), first = strlen(before), length = strlen(name);
        bool known = edges && strcmp(name, "weight") == 0;
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
            known = known || strcmp(name, harmless[i]) == 0;
        if (known || used + first + length >= sizeof links->unread)
            continue;
        memcpy(links->unread + used, before, first);
        memcpy(links->unread + used + first, name, length + 1);
    }
}

static int list_unread(gnn__igraph_links_t *links, const igraph_t *igraph)
{
    igraph_strvector_t names[3];
    igraph_vector_int_t types[3];
    int made = 0, rc = IGRAPH_SUCCESS;
    for (; made < 3 && rc == IGRAPH_SUCCESS; made++) {
        rc = igraph_strvector_init(&names[made], 0);
        if (rc == IGRAPH_SUCCESS && (rc = igraph_vector_int_init(&types[made], 0)) != IGRAPH_SUCCESS)
            igraph_strvector_destroy(&names[made]);
        if (rc != IGRAPH_SUCCESS)
            break;
    }
    if (rc == IGRAPH_SUCCESS)
        rc = igraph_cattribute_list(igraph, &names[0], &types[0], &names[1], &types[1], &names[2],
                                    &types[2]);
    for (int k = 1; k < 3 && rc == IGRAPH_SUCCESS; k++)
        add_unread(links, &names[k], k == 2);
    for (int k = 0; k < made; k++) {
        igraph_strvector_destroy(&names[k]);
        igraph_vector_int_destroy(&types[k]);
    }
    return rc;
}

static int read_graph(gnn__igraph_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    igraph_t igraph;
    const igraph_error_t read = form == GNN__IGRAPH_GML
                                    ? igraph_read_graph_gml(&igraph, stream)
                                    : igraph_read_graph_graphml(&igraph, stream, 0);
    int rc = (int)read;
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = take_links(links, &igraph);
    if (rc == GNN_OK)
        rc = take_weights(links, &igraph);
    if (rc == GNN_OK)
        rc = list_unread(links, &igraph);
    igraph_destroy(&igraph);
    return rc;
}

/* igraph ends the program where its scanner of GML has no memory, or frees a list twice. Instead
 * the reading ends, and what igraph holds is lost. */
static _Thread_local jmp_buf end_of_reading;

static void end_reading(const char *reason, const char *file, int line)
{
    (void)reason, (void)file, (void)line;
    longjmp(end_of_reading, 1);
}

static int read_or_end(gnn__igraph_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    igraph_fatal_handler_t *before = igraph_set_fatal_handler(end_reading);
    int rc = IGRAPH_FAILURE;
    if (setjmp(end_of_reading) == 0)
        rc = read_graph(links, form, stream);
    else
        IGRAPH_FINALLY_CLEAN(IGRAPH_FINALLY_STACK_SIZE());
    igraph_set_fatal_handler(before);
    return rc;
}

/* Attributes are stored by igraph's C handler, whichever the program uses. */
static int read_stream(gnn__igraph_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    locales_t locales;
    GNN_TRY(enter_locale(&locales));
    const igraph_attribute_table_t *table = igraph_set_attribute_table(&igraph_cattribute_table);
    const int rc = read_or_end(links, form, stream);
    igraph_set_attribute_table(table);
    exit_locale(&locales);
    return rc;
}

/* igraph's scanner of GML does not check its first allocations: they are tried. Volatile, since a
 * compiler may leave out a pair of malloc and free. */
static bool scanner_fits(void)
{
    enum { SCANNER = 1 << 16 };
    void *volatile tried = malloc(SCANNER);
    free(tried);
    return tried != NULL;
}

int gnn__igraph_read(gnn__igraph_links_t *links, gnn__igraph_form_t form, const char *text,
                     int64_t size)
{
    gnn__igraph_call_t call;
    /* opened for reading only */
    FILE *stream = scanner_fits() ? fmemopen((void *)text, (size_t)size, "r") : NULL;
    if (!stream)
        return gnn__igraph_error(GNN_EMEMORY, "no memory for a stream of %lld bytes",
                                 (long long)size);
    gnn__igraph_enter(&call);
    int rc = gnn__igraph_leave(&call, read_stream(links, form, stream));
    fclose(stream);
    if (rc <= 0 || rc >= 1000)
        return rc;
    return rc == IGRAPH_ENOMEM ? GNN_EMEMORY : GNN_EFORMAT;
}

/* ---- writing ---- */

/* GraphML written by igraph into memory; the caller writes the file. */

static int name_nodes(igraph_t *igraph, const char *const *names)
{
    igraph_strvector_t list;
    int64_t n = igraph_vcount(igraph);
    int rc = igraph_strvector_init(&list, (igraph_integer_t)n);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    for (int64_t k = 0; rc == IGRAPH_SUCCESS && k < n; k++)
        rc = igraph_strvector_set(&list, (igraph_integer_t)k, names[k]);
    if (rc == IGRAPH_SUCCESS)
        rc = igraph_cattribute_VAS_setv(igraph, "name", &list);
    igraph_strvector_destroy(&list);
    return rc;
}

static int write_stream(const igraph_t *igraph, FILE *stream)
{
    locales_t locales;
    GNN_TRY(enter_locale(&locales));
    const int rc = (int)igraph_write_graph_graphml(igraph, stream, 0);
    exit_locale(&locales);
    return rc;
}

static int write_graph(const gnn_graph_t *graph, const char *const *names, const gnn_real_t *weight,
                       FILE *stream)
{
    igraph_t igraph;
    int rc = gnn__igraph_from_graph(graph, &igraph);
    if (rc != GNN_OK)
        return rc;
    if (names)
        rc = name_nodes(&igraph, names);
    if (rc == GNN_OK && weight)
        rc = gnn__igraph_weigh_edges(&igraph, weight);
    if (rc == GNN_OK)
        rc = write_stream(&igraph, stream);
    igraph_destroy(&igraph);
    return rc;
}

int gnn__igraph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                              const gnn_real_t *weight, char **text, size_t *size)
{
    gnn__igraph_call_t call;
    *text = NULL;
    FILE *stream = gnn__igraph_core()->allocation_fails() ? NULL : open_memstream(text, size);
    if (!stream)
        return gnn__igraph_error(GNN_EMEMORY, "no memory to write GraphML");
    gnn__igraph_enter(&call);
    /* Attributes are written by igraph's C handler, whichever the program uses. */
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    int rc = write_graph(graph, names, weight, stream);
    igraph_set_attribute_table(before);
    rc = gnn__igraph_leave(&call, rc);
    if (fclose(stream) != 0 && rc == GNN_OK)
        rc = gnn__igraph_error(GNN_EMEMORY, "no memory to write GraphML");
    if (rc != GNN_OK) {
        free(*text);
        *text = NULL;
    }
    return rc;
}
