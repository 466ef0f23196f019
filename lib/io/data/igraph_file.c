/* Files that igraph reads: links alone, and their weights. */
#include <lib/io/data/igraph_checks.h>

#include <graphs/igraph/read.h>

/* ---- the forms ---- */

typedef struct form {
    const char *ending, *name;
    const char *head; /* what the first bytes say in any case; NULL: they do not tell */
    gnn__igraph_form_t form;
    int (*check)(gnn__text_t *text); /* NULL: igraph takes what the bytes fill */
    bool binary;                     /* no text: the ending alone tells */
} form_t;

static const form_t forms[] = {
    {".graphml", "GraphML", "<", GNN__IGRAPH_GRAPHML, gnn__check_graphml, false},
    {".gml", "GML", "graph", GNN__IGRAPH_GML, gnn__check_gml, false},
    {".net", "Pajek", "*", GNN__IGRAPH_PAJEK, gnn__check_pajek, false},
    {".ncol", "NCOL", NULL, GNN__IGRAPH_NCOL, NULL, false},
    {".lgl", "LGL", NULL, GNN__IGRAPH_LGL, NULL, false},
    {".dl", "UCINET DL", "dl ", GNN__IGRAPH_DL, gnn__check_dl, false},
    {".dimacs", "DIMACS", NULL, GNN__IGRAPH_DIMACS, gnn__check_dimacs, false},
    {".col", "DIMACS", NULL, GNN__IGRAPH_DIMACS, gnn__check_dimacs, false},
    {".graphdb", "GraphDB", NULL, GNN__IGRAPH_GRAPHDB, gnn__check_graphdb, true},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static const form_t *by_ending(const char *path)
{
    const size_t length = gnn__data_unpacked_length(path);
    for (int k = 0; k < FORMS; k++)
        if (gnn__data_ends_with(path, length, forms[k].ending))
            return &forms[k];
    return NULL;
}

static const form_t *by_head(const char *head)
{
    for (int k = 0; k < FORMS; k++)
        if (forms[k].head && strncasecmp(head, forms[k].head, strlen(forms[k].head)) == 0)
            return &forms[k];
    return NULL;
}

bool gnn__data_igraph_ending(const char *path)
{
    return by_ending(path) != NULL;
}

bool gnn__data_igraph_binary(const char *path)
{
    const form_t *form = by_ending(path);
    return form && form->binary;
}

bool gnn__data_igraph_head(const char *head)
{
    return by_head(head) != NULL;
}

/* XML is GraphML whatever the ending; else the ending tells, and the first bytes where it does
 * not. */
static const form_t *choose(const char *path, const char *head)
{
    const form_t *named = *head == '<' ? NULL : by_ending(path);
    const form_t *told = named ? named : by_head(head);
    return told ? told : &forms[0];
}

/* ---- the set ---- */

#if GNN_HAS_IGRAPH

static int take(gnn_data_t *data, const gnn__read_links_t *links)
{
    const gnn_array_t weight = gnn__data_weights(links->weight, links->m);
    const bool weighted = links->weight && !gnn__data_all_one(links->weight, links->m);
    return gnn__data_bare(data, &(gnn__data_links_t){.n = links->n,
                                                     .m = links->m,
                                                     .a = links->a,
                                                     .b = links->b,
                                                     .n_arrays = weighted,
                                                     .arrays = &weight});
}

static int read_text(gnn_data_t *data, gnn__text_t *text, const form_t *form)
{
    gnn__read_links_t links = {0};
    if (form->check)
        GNN_TRY(form->check(text));
    int rc = gnn__igraph_read(&links, form->form, text->data + text->start, text->size - text->start);
    if (rc == GNN_OK && links.n == 0)
        rc = gnn__error(GNN_EFORMAT, "no node");
    if (rc == GNN_OK)
        rc = take(data, &links);
    gnn__read_links_free(&links);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", text->name);
}

#else

static int read_text(gnn_data_t *data, gnn__text_t *text, const form_t *form)
{
    (void)data;
    return gnn__error(GNN_EUNSUPPORTED,
                      "%s: %s is read by igraph, and this build of libgnn is without it",
                      text->name, form->name);
}

#endif

int gnn__data_read_igraph(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    const bool binary = gnn__data_igraph_binary(path);
    GNN_TRY(binary ? gnn__bytes_open(&text, path, data->limits)
                   : gnn__text_open_limits(&text, path, data->limits));
    const char *head = text.data + text.start;
    const form_t *form = binary ? by_ending(path) : choose(path, head + strspn(head, " \t\r\n"));
    int rc = read_text(data, &text, form);
    gnn__text_free(&text);
    return rc;
}
