#!/bin/sh
# The tables that the documentation takes from the library: the fields of a layer's config (docs/layer.md), what each preset learns (docs/parameters.md) and the list of strategies (a picture of docs/architecture.md).
#
#   sh tests/house/parameters.sh [--write] [FOLDER]     --write: writes them anew, after a field or a preset was added
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
write=
if [ "${1:-}" = --write ]; then
    write=yes
    shift
fi
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/tables.c" <<'C'
#include <gnn/gnn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The words that a field takes, or its range. Rows of tables are listed by their tables. */
static void print_choices(const gnn_config_field_t *f)
{
    const char *word;
    int first = 1;
    if (strcmp(f->kind, "name") && strcmp(f->kind, "flag") && gnn_layer_config_choice(f->name, 0)) {
        printf("any %s", f->kind);
        return;
    }
    for (size_t k = 0; (word = gnn_layer_config_choice(f->name, k)); k++)
        if (strcmp(word, "default") != 0) {
            printf("%s`%s`", first ? "" : ", ", word);
            first = 0;
        }
    if (first && f->high > f->low && f->high < 1e30)
        printf(f->high == 1 ? "%g to below %g" : "%.10g to %.10g", f->low, f->high);
    else if (first && f->low == 0 && f->high >= 1e30)
        printf("0 and more");
}

static void print_default(const gnn_config_field_t *f)
{
    const char *end = strrchr(f->help, ']'), *begin = strrchr(f->help, '['),
               *word = gnn_layer_config_choice(f->name, (size_t)fabs(f->initial));
    if (end && begin && !end[1])
        printf("%.*s", (int)(end - begin - 1), begin + 1);
    else if (word && strcmp(f->kind, "message") && strcmp(f->kind, "aggregator") && strcmp(f->kind, "update"))
        printf("`%s`", word);
    else
        printf("%g", f->initial);
}

static int print_fields(void)
{
    gnn_config_field_t f;
    for (size_t k = 0; gnn_layer_config_field(k, &f) == GNN_OK; k++) {
        const char *bracket = strrchr(f.help, '[');
        printf("| `%s` | %s | ", f.name, f.kind);
        print_default(&f);
        printf(" | ");
        print_choices(&f);
        printf(" | %.*s |\n", (int)(bracket ? bracket - f.help - 1 : (long)strlen(f.help)), f.help);
    }
    return GNN_OK;
}

/* One row of the table for each preset. */
static int print_presets(void)
{
    gnn_context_t *context;
    GNN_TRY(gnn_context_new(&context, NULL));
    for (int p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++) {
        gnn_layer_t *layer;
        gnn_layer_config_t config = {.preset = (gnn_preset_t)p, .in = 8, .out = 8};
        if (p == GNN_PRESET_GINE)
            config.edge_dim = 3; /* its message reads them */
        GNN_TRY(gnn_layer_new(&layer, context, &config));
        printf("| `%s` | ", gnn_preset_name((gnn_preset_t)p));
        for (int64_t k = 0; k < gnn_layer_field_count(layer); k++)
            printf("%s`%s`", k ? ", " : "", gnn_layer_field_name(layer, k));
        printf(" |\n");
        gnn_layer_free(layer);
    }
    gnn_context_free(context);
    return GNN_OK;
}

int main(int argc, char **argv)
{
    int rc = argc > 1 && strcmp(argv[1], "fields") == 0 ? print_fields() : print_presets();
    if (rc != GNN_OK)
        fprintf(stderr, "%s\n", gnn_error_message());
    return rc != GNN_OK;
}
C
if ! "$cc" -std=c17 -I"$root/include" -I"$build/include" "$work/tables.c" -o "$work/tables" -L"$build" -lgnn -lm -Wl,-rpath,"$build" >"$work/log" 2>&1 ||
    ! "$work/tables" fields >"$work/fields" 2>"$work/log" || ! "$work/tables" presets >"$work/presets" 2>"$work/log"; then
    cat "$work/log"
    echo "CHECKS 0 1"
    exit 1
fi

passed=0 failed=0
# table NAME PAGE: the rows between the marks "<!-- NAME -->" and "<!-- end -->" of the page are those of the library. The two lines that head them stay.
table() {
    page=$root/docs/$2
    awk -v rows="$work/$1" -v mark="<!-- $1 -->" '
        $0 == mark { inside = 1; lines = 0 }
        $0 == "<!-- end -->" && inside { inside = 0 }
        !inside || lines++ < 3 { print }
        inside && lines == 3 { while ((getline row < rows) > 0) print row }' "$page" >"$work/page"
    if [ "$(grep -cxF "<!-- $1 -->" "$page")" -ne 1 ] || [ "$(wc -l <"$work/$1")" -lt 10 ]; then
        echo "no mark for $1 in docs/$2, or fewer than ten rows"
        failed=$((failed + 1))
    elif cmp -s "$work/page" "$page"; then
        passed=$((passed + $(wc -l <"$work/$1")))
    elif [ -n "$write" ]; then
        cp "$work/page" "$page"
        echo "docs/$2 was written anew"
    else
        echo "docs/$2 is not what the library says (tests/house/parameters.sh --write mends it):"
        diff "$page" "$work/page" | head -n 20
        failed=$((failed + 1))
    fi
}
table fields layer.md
table presets parameters.md
if python3 "$root/docs/strategies.py" ${write:+--write}; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
