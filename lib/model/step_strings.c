/* The strings of a step: borrowed from the caller, then copies of the library's own. */
#include <lib/model/blocks.h>

static int copy_string(const char **string)
{
    char *copy = NULL;
    if (!*string)
        return GNN_OK;
    int rc = gnn__strdup(&copy, *string);
    *string = copy;
    return rc;
}

/* Where the strings of a step are. */
static const size_t strings[] = {
#define GNN_STEP_TEXT(field) offsetof(gnn_step_t, field),
#define GNN_STEP_ELEMENT(key, field, k) offsetof(gnn_step_t, field[k]),
#define GNN_STEP_NUMBER(kind, field)
#define GNN_STEP_WORD(words, field)
#define GNN_STEP_ROW(kind, field)
#include <lib/model/step_fields.def>
#undef GNN_STEP_TEXT
#undef GNN_STEP_ELEMENT
#undef GNN_STEP_NUMBER
#undef GNN_STEP_WORD
#undef GNN_STEP_ROW
};

enum { STRINGS = sizeof strings / sizeof *strings };

static const char **string_at(gnn_step_t *s, int k)
{
    return (const char **)((char *)s + strings[k]);
}

/* Every borrowed pointer is replaced or cleared, so that freeing after a failure touches only
 * copies. */
int gnn__step_copy_strings(gnn_step_t *step)
{
    int rc = GNN_OK;
    for (int k = 0; k < STRINGS; k++)
        if (rc == GNN_OK)
            rc = copy_string(string_at(step, k));
        else
            *string_at(step, k) = NULL;
    return rc;
}

void gnn__step_free_strings(gnn_step_t *step)
{
    for (int k = 0; k < STRINGS; k++)
        gnn_free((void *)(uintptr_t)*string_at(step, k));
}

/* Name and parameters excepted: these are no values. */
bool gnn__step_reads(const gnn_step_t *step, const char *value)
{
    for (int k = 0; k < STRINGS; k++) {
        const char *string = *(const char *const *)((const char *)step + strings[k]);
        const bool is_value = strings[k] != offsetof(gnn_step_t, name) &&
                              strings[k] != offsetof(gnn_step_t, share) &&
                              strings[k] != offsetof(gnn_step_t, share_fields);
        if (is_value && string && strcmp(string, value) == 0)
            return true;
    }
    return false;
}
