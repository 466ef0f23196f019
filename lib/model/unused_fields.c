/* The fields of a step: its strings, and those that its kind does not read, which must be 0, so
 * that no setting is silently ignored. Fields of files are not checked: former versions ignored
 * them. The same for settings that a block does not read. */
#include <lib/base/settings.h>
#include <lib/layer/config_fields.h>
#include <lib/model/blocks.h>

/* ---- strings ---- */

static int copy_string(const char **string)
{
    char *copy = NULL;
    if (!*string)
        return GNN_OK;
    int rc = gnn__strdup(&copy, *string);
    *string = copy;
    return rc;
}

/* Offsets of the strings of a step. */
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

/* Replaces or clears every borrowed pointer, so that only copies are freed after a failure. */
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

/* Names of the step and of shared parameters are not inputs. */
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

/* ---- unused fields ---- */

/* The fields of a step except its config. */
static const struct {
    const char *name;
    size_t offset, size;
} fields[] = {
#define GNN_STEP_ANY(field) \
    {#field, offsetof(gnn_step_t, field), sizeof((gnn_step_t *)NULL)->field},
#define GNN_STEP_TEXT(field) GNN_STEP_ANY(field)
#define GNN_STEP_ELEMENT(key, field, k) GNN_STEP_ANY(field[k])
#define GNN_STEP_NUMBER(kind, field) GNN_STEP_ANY(field)
#define GNN_STEP_WORD(words, field) GNN_STEP_ANY(field)
#define GNN_STEP_ROW(table, field) GNN_STEP_ANY(field)
#include <lib/model/step_fields.def>
#undef GNN_STEP_ANY
#undef GNN_STEP_TEXT
#undef GNN_STEP_ELEMENT
#undef GNN_STEP_NUMBER
#undef GNN_STEP_WORD
#undef GNN_STEP_ROW
};

enum { FIELDS = sizeof fields / sizeof *fields };

static bool is_listed(gnn__offsets_t list, size_t offset)
{
    for (size_t k = 0; k < list.count; k++)
        if (list.at[k] == offset)
            return true;
    return false;
}

static bool is_input(const gnn__step_row_t *row, size_t offset)
{
    for (int k = 0; k < row->n_inputs; k++)
        if (row->inputs[k].offset == offset)
            return true;
    return false;
}

static bool is_read(const gnn__step_row_t *row, size_t offset)
{
    return offset == offsetof(gnn_step_t, kind) || offset == offsetof(gnn_step_t, name) ||
           (offset == offsetof(gnn_step_t, graph) && row->uses_graph) || is_input(row, offset) ||
           is_listed(row->reads, offset);
}

static bool is_zero(const void *place, size_t size)
{
    const char *bytes = place;
    for (size_t k = 0; k < size; k++)
        if (bytes[k])
            return false;
    return true;
}

static int not_read(const gnn__step_row_t *row, const char *before, const char *name)
{
    return gnn__error(GNN_EINVALID, "a step of kind %s reads no .%s%s", row->name, before, name);
}

/* A resolved config has a value in every field: a field that is not read may have the value that
 * follows from the others. */
static int check_config(const gnn__step_row_t *row, const gnn_layer_config_t *config)
{
    gnn_layer_config_t own = *config, full;
    own.resolved = GNN_FLAG_DEFAULT;
    const gnn__field_row_t *f;
    for (size_t k = 0; (f = gnn__config_field(k)); k++)
        if (!is_listed(row->config_reads, f->offset))
            memset((char *)&own + f->offset, 0, f->size);
    const bool resolved = row->has_config && gnn_layer_config_resolve(&full, &own) == GNN_OK;
    for (size_t k = 0; (f = gnn__config_field(k)); k++) {
        const void *given = gnn__field_place(f, config);
        if (is_listed(row->config_reads, f->offset) || is_zero(given, f->size) ||
            (resolved && memcmp(given, gnn__field_place(f, &full), f->size) == 0))
            continue;
        return not_read(row, "layer.", f->name);
    }
    return GNN_OK;
}

int gnn__step_check_unread(const gnn_step_t *step)
{
    const gnn__step_row_t *row = gnn__step_row(step->kind);
    for (size_t k = 0; row && k < FIELDS; k++)
        if (!is_read(row, fields[k].offset) &&
            !is_zero((const char *)step + fields[k].offset, fields[k].size))
            return not_read(row, "", fields[k].name);
    const bool reads_all = !row || (row->has_config && row->config_reads.count == 0);
    return reads_all ? GNN_OK : check_config(row, &step->layer);
}

/* ---- unused settings of blocks ---- */

static const struct {
    const char *name;
    size_t offset, size;
} settings[] = {
#define GNN_BLOCK_MEMBER(kind, member) \
    {#member, offsetof(gnn_block_t, member), sizeof((gnn_block_t *)NULL)->member},
#include <lib/model/block_fields.def>
#undef GNN_BLOCK_MEMBER
};

static int check_setting(const gnn_block_t *b, const char *kind, gnn__offsets_t reads,
                         size_t offset, size_t size, const char *before, const char *name)
{
    return is_listed(reads, offset) || is_zero((const char *)b + offset, size)
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "block %s (%s) reads no .%s%s", b->name, kind, before,
                            name);
}

int gnn__block_check_unread(const gnn_block_t *b, const char *kind, gnn__offsets_t reads)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        GNN_TRY(check_setting(b, kind, reads, settings[k].offset, settings[k].size, "",
                              settings[k].name));
    for (size_t k = 0; !is_listed(reads, GNN__WHOLE_LAYER) && (f = gnn__config_field(k)); k++)
        GNN_TRY(check_setting(b, kind, reads, offsetof(gnn_block_t, layer) + f->offset, f->size,
                              "layer.", f->name));
    return gnn__check_flag(b->maximum, "a block's .maximum");
}
