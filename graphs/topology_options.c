/* Options of a topology, read from a text ("width=3,stride=2"). */
#include <graphs/build.h>

static int unknown_option(const char *topology, const char *text, size_t length, int64_t count,
                          const gnn__topology_option_t *options)
{
    char known[256] = "";
    for (int64_t k = 0; k < count; k++)
        gnn__append_name(known, sizeof known, ", ", options[k].name);
    return gnn__error(GNN_EINVALID, "topology %s has no option \"%.*s\"; it has %s", topology,
                      (int)(length < 80 ? length : 80), text, *known ? known : "no options");
}

/* A decimal number that takes the whole of `text`; anything else fails. */
static bool read_number(const char *text, size_t length, int64_t *value)
{
    int64_t digits = 0;
    if (length == 0 || length > 18) /* 18 digits cannot overflow */
        return false;
    for (size_t k = 0; k < length; k++) {
        if (text[k] < '0' || text[k] > '9')
            return false;
        digits = digits * 10 + (text[k] - '0');
    }
    *value = digits;
    return true;
}

static int read_option(const char *topology, const char *text, size_t length, int64_t count,
                       const gnn__topology_option_t *options)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    for (int64_t k = 0; k < count; k++) {
        const gnn__topology_option_t *o = &options[k];
        if (strlen(o->name) != name || memcmp(o->name, text, name) != 0)
            continue;
        if (!equals || !read_number(equals + 1, length - name - 1, o->value) || *o->value < o->least)
            return gnn__error(
                GNN_EINVALID, "\"%.*s\" of topology %s: expected %s=number, at least %lld",
                (int)(length < 80 ? length : 80), text, topology, o->name, (long long)o->least);
        return GNN_OK;
    }
    return unknown_option(topology, text, name, count, options);
}

int gnn__options_parse(gnn_graph_t **graph, const char *topology, const char *text, int64_t count,
                       const gnn__topology_option_t *options)
{
    if (graph)
        *graph = NULL;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        GNN_TRY(read_option(topology, text, length, count, options));
        text += length + (text[length] == ',');
    }
    return GNN_OK;
}
