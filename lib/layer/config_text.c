/* Fields of a layer's config by name, with values as text: for options of programs, bindings and
 * tables. */
#include <lib/layer/kinds.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- what fields there are ---- */

size_t gnn_layer_config_field_count(void)
{
    size_t count = 0;
    while (gnn__config_field(count))
        count++;
    return count;
}

int gnn_layer_config_field_sized(size_t index, gnn_config_field_t *field, size_t size)
{
    const gnn__field_row_t *f = gnn__config_field(index);
    if (!f)
        return gnn__error(GNN_ENOTFOUND, "a layer's config has %zu fields, none of number %zu",
                          gnn_layer_config_field_count(), index);
    const gnn_config_field_t about = {.name = f->name,
                                      .kind = f->kind->name,
                                      .help = f->help,
                                      .initial = f->initial,
                                      .low = f->low,
                                      .high = f->high};
    gnn__sized_give(field, size, &about, sizeof about);
    return GNN_OK;
}

const char *gnn_layer_config_choice(const char *field, size_t index)
{
    const gnn__field_row_t *f = gnn__config_find(field);
    if (!f)
        return NULL;
    if (f->kind->word)
        return f->kind->word(index);
    const void *row = f->kind->row ? f->kind->row(index) : NULL;
    return row ? gnn__row_name(row) : NULL;
}

static const char *name_at(size_t index)
{
    const gnn__field_row_t *f = gnn__config_field(index);
    return f ? f->name : NULL;
}

static int find(const gnn__field_row_t **field, const char *name)
{
    *field = gnn__config_find(name);
    return *field ? GNN_OK : gnn__unknown_name("config field", name, name_at);
}

/* ---- setting ---- */

static int wrong(const gnn__field_row_t *f, const char *value)
{
    return gnn__error(GNN_EINVALID, "config field .%s = \"%.40s\": a %s is expected", f->name,
                      value, f->kind->name);
}

static int set_count(const gnn__field_row_t *f, int64_t *place, const char *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(value, &end, 10);
    if (end == value || *end || errno)
        return wrong(f, value);
    *place = number;
    return GNN_OK;
}

/* One number in the C locale's spelling, up to `end`, which may be a comma. */
static int read_number(const gnn__field_row_t *f, double *number, const char *value, char **end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "no memory for the C locale");
    *number = strtod_l(value, end, c);
    freelocale(c);
    return *end == value || !isfinite(*number) ? wrong(f, value) : GNN_OK;
}

/* A 0 that is written is meant. */
static int set_real(const gnn__field_row_t *f, gnn_real_t *place, const char *value)
{
    char *end;
    double number;
    GNN_TRY(read_number(f, &number, value, &end));
    if (*end)
        return wrong(f, value);
    *place = number == 0 ? GNN_ZERO : (gnn_real_t)number;
    return GNN_OK;
}

static int set_list(const gnn__field_row_t *f, double *place, const char *value)
{
    const size_t length = sizeof(gnn_options_t) / sizeof *place;
    char *end = NULL;
    for (size_t k = 0; k < length; k++) {
        GNN_TRY(read_number(f, &place[k], value, &end));
        if (*end != ',')
            break;
        value = end + 1;
    }
    return *end ? wrong(f, value) : GNN_OK;
}

static int set_word(const gnn__field_row_t *f, int *place, const char *value)
{
    *place = gnn__kind_word(f->kind, value);
    return *place < 0 ? gnn__unknown_name(f->name, value, f->kind->word) : GNN_OK;
}

static int set_row(const gnn__field_row_t *f, const void **place, const char *value)
{
    *place = gnn__kind_row(f->kind, value);
    return *place ? GNN_OK : GNN_ENOTFOUND;
}

static int set(const gnn__field_row_t *f, void *place, const char *value)
{
    memset(place, 0, f->size);
    if (strcmp(value, "default") == 0)
        return GNN_OK;
    switch (f->kind->stored) {
    case GNN__STORED_COUNT: return set_count(f, place, value);
    case GNN__STORED_REAL: return set_real(f, place, value);
    case GNN__STORED_WORD: return set_word(f, place, value);
    case GNN__STORED_ROW: return set_row(f, place, value);
    case GNN__STORED_LIST: return set_list(f, place, value);
    }
    return GNN_OK;
}

int gnn_layer_config_set_sized(gnn_layer_config_t *config, size_t size, const char *name,
                               const char *value)
{
    const gnn__field_row_t *f;
    gnn_layer_config_t changed;
    GNN_TRY(gnn__config_take(&changed, config, size));
    GNN_TRY(find(&f, name));
    if (f->offset + f->size > size)
        return gnn__error(
            GNN_EUNSUPPORTED,
            "config field .%s is newer than the headers that the program was built with", name);
    if (strcmp(name, "aggregator") != 0 || !gnn__config_old_aggregator(&changed, value))
        GNN_TRY(set(f, (char *)&changed + f->offset, value));
    if (changed.score && size < offsetof(gnn_layer_config_t, score) + sizeof changed.score)
        return gnn__error(GNN_EUNSUPPORTED,
                          "config field .aggregator = %s needs .score, which is newer than the "
                          "headers that the program was built with",
                          value);
    GNN_TRY(gnn__config_check(f, &changed));
    gnn__sized_give(config, size, &changed, sizeof changed);
    return GNN_OK;
}

/* ---- getting ---- */

static int write_list(char *text, size_t size, const double *list)
{
    return gnn__snprintf_c(text, size, "%.17g,%.17g,%.17g,%.17g", list[0], list[1], list[2], list[3]);
}

static int write_name(char *text, size_t size, const char *name)
{
    snprintf(text, size, "%s", name);
    return GNN_OK;
}

/* GNN_ZERO is a 0 that is meant. */
static int write_real(char *text, size_t size, double value)
{
    return gnn__snprintf_c(text, size, GNN_DOUBLE ? "%.17g" : "%.9g",
                           fabs(value) < 1e-30 ? 0 : value);
}

static int get(const gnn__field_row_t *f, const void *place, char *text, size_t size)
{
    const void *row;
    switch (f->kind->stored) {
    case GNN__STORED_COUNT:
        return gnn__snprintf_c(text, size, "%lld", (long long)*(const int64_t *)place);
    case GNN__STORED_REAL: return write_real(text, size, (double)*(const gnn_real_t *)place);
    case GNN__STORED_WORD:
        return write_name(text, size, f->kind->word((size_t) * (const int *)place));
    case GNN__STORED_ROW:
        row = *(const void *const *)place;
        return write_name(text, size, row ? gnn__row_name(row) : "default");
    case GNN__STORED_LIST: return write_list(text, size, place);
    }
    return GNN_OK;
}

int gnn_layer_config_get_sized(const gnn_layer_config_t *config, size_t size, const char *name,
                               char *value, size_t length)
{
    const gnn__field_row_t *f;
    gnn_layer_config_t full;
    char text[256];
    GNN_TRY(gnn__config_take(&full, config, size));
    GNN_TRY(find(&f, name));
    GNN_TRY(gnn__config_check(f, &full));
    GNN_TRY(get(f, gnn__field_place(f, &full), text, sizeof text));
    if (strlen(text) >= length)
        return gnn__error(GNN_EOVERFLOW, "config field .%s = %s does not fit into %zu characters",
                          name, text, length);
    memcpy(value, text, strlen(text) + 1);
    return GNN_OK;
}
