#!/bin/sh
# docs/layer.md lists the fields of a layer's config, their defaults and the words that they take, as the library does.
#
#   sh tests/house/fields.sh [--print] FOLDER     --print: the rows for the page
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
print=
if [ "${1:-}" = --print ]; then
    print=yes
    shift
fi
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/fields.c" <<'C'
#include <gnn/gnn.h>
#include <stdio.h>
#include <string.h>

/* What a field is without a preset, as gnn_layer_config_set would read it; empty where it follows from others. */
static void print_default(const gnn_config_field_t *field)
{
    const char *word = gnn_layer_config_choice(field->name, (size_t)field->initial);
    if (strchr(field->help, '['))
        printf(" |");
    else if (word)
        printf(" %s |", word);
    else
        printf(" %g |", field->initial);
}

int main(void)
{
    for (size_t k = 0; k < gnn_layer_config_field_count(); k++) {
        gnn_config_field_t field;
        gnn_layer_config_t config = {.in = 4};
        char value[256];
        GNN_TRY(gnn_layer_config_field(k, &field));
        printf("| `%s` | %s |", field.name, field.kind);
        print_default(&field);
        printf(" %s |\n", field.help);
        /* What is read by name can be set by name. */
        GNN_TRY(gnn_layer_config_get(&config, field.name, value, sizeof value));
        GNN_TRY(gnn_layer_config_set(&config, field.name, value));
    }
    return 0;
}
C
# shellcheck disable=SC2086 # the compiler may have a wrapper before it
if ! $cc -std=c17 -I"$root/include" -I"$build/include" "$work/fields.c" -o "$work/fields" -L"$build" -lgnn -Wl,-rpath,"$build" >"$work/log" 2>&1 ||
    ! "$work/fields" >"$work/rows" 2>"$work/log"; then
    cat "$work/log"
    echo "CHECKS 0 1"
    exit 1
fi
if [ -n "$print" ]; then
    cat "$work/rows"
    exit
fi
passed=0 failed=0
while IFS= read -r row; do
    if grep -qxF "$row" "$root/docs/layer.md"; then
        passed=$((passed + 1))
    else
        echo "not in docs/layer.md: $row"
        failed=$((failed + 1))
    fi
done <"$work/rows"
documented=$(grep -cE '^\| `[a-z0-9_]*` \| ([^|]*\|){3}$' "$root/docs/layer.md")
if [ "$passed" -lt 30 ] || [ "$documented" -ne $((passed + failed)) ]; then
    echo "$passed fields agree, $documented are documented"
    failed=$((failed + 1))
fi
echo "$passed fields agree, of $documented documented"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
