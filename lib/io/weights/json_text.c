/* Texts of JSON that are not trusted: jansson descends by recursion, which a thread's small stack
 * must bear. */
#include <lib/io/weights/config_json.h>

#include <lib/base/base.h>

enum { MOST_LEVELS = 16 };

int gnn__json_check_depth(const char *text)
{
    int64_t depth = 0;
    bool quoted = false;
    for (const char *c = text; *c; c++) {
        if (quoted && *c == '\\' && c[1])
            c++;
        else if (*c == '"')
            quoted = !quoted;
        else if (!quoted && (*c == '[' || *c == '{') && ++depth > MOST_LEVELS)
            return gnn__error(GNN_EFORMAT, "byte %lld: more than %d levels deep",
                              (long long)(c - text), MOST_LEVELS);
        else if (!quoted && (*c == ']' || *c == '}'))
            depth--;
    }
    return GNN_OK;
}

int gnn__json_load(json_t **root, const char *text)
{
    json_error_t error;
    *root = NULL;
    GNN_TRY(gnn__json_check_depth(text));
    *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    return *root ? GNN_OK : gnn__error(GNN_EFORMAT, "byte %d: %s", error.position, error.text);
}
