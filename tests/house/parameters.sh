#!/bin/sh
# docs/parameters.md says of each preset what the library says.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/fields.c" <<'C'
#include <gnn/gnn.h>
#include <stdio.h>

/* One row of the table for each preset. */
int main(void)
{
    gnn_context_t *context;
    GNN_TRY(gnn_context_new(&context, NULL));
    for (int p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++) {
        gnn_layer_t *layer;
        gnn_layer_config_t config = {.preset = (gnn_preset_t)p, .in = 8, .out = 8};
        if (p == GNN_PRESET_GINE)
            config.edge_dim = 3; /* its message reads them */
        if (gnn_layer_new(&layer, context, &config)) {
            fprintf(stderr, "%s: %s\n", gnn_preset_name((gnn_preset_t)p), gnn_error_message());
            return 1;
        }
        printf("| `%s` | ", gnn_preset_name((gnn_preset_t)p));
        for (int64_t k = 0; k < gnn_layer_field_count(layer); k++)
            printf("%s`%s`", k ? ", " : "", gnn_layer_field_name(layer, k));
        printf(" |\n");
        gnn_layer_free(layer);
    }
    gnn_context_free(context);
    return 0;
}
C
if ! "$cc" -std=c17 -I"$root/include" -I"$build/include" "$work/fields.c" -o "$work/fields" -L"$build" -lgnn -Wl,-rpath,"$build" >"$work/log" 2>&1 ||
    ! "$work/fields" >"$work/rows" 2>"$work/log"; then
    cat "$work/log"
    echo "CHECKS 0 1"
    exit 1
fi
passed=0 failed=0
while IFS= read -r row; do
    if grep -qxF "$row" "$root/docs/parameters.md"; then
        passed=$((passed + 1))
    else
        echo "not in docs/parameters.md: $row"
        failed=$((failed + 1))
    fi
done <"$work/rows"
documented=$(grep -c '^| `[a-z0-9_]*` | `' "$root/docs/parameters.md")
if [ "$passed" -lt 10 ]; then
    echo "fewer than ten presets"
    failed=$((failed + 1))
fi
echo "$passed presets agree, of $documented documented"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
