#!/bin/sh
# Names mean one thing: a file's name is unique in lib/ (entries of tables apart), no internal name
# is a public one with a second underscore, headers of the library do not define a type or an inline
# function twice, no table has an entry twice, a header's guard is its file's name, and the suites
# that .ci/run and meson.build list exist.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

# Folders whose guards bear old names. This list may only become shorter.
old_guards='lib/kernels'

# An entry that has a file of its own is called what it is, and its folder says of which table:
# blocks/block_gen.c.
tables='arch|blocks|steps|updates'

# Prints "NAME: FOLDERS" for names of files, without endings, that stand in two folders; reads
# paths.
files_twice() {
    sed -E 's|^(.*)/([^/.]+)\.[^/]*$|\2 \1|' | sort -u |
        awk '{ count[$1]++; where[$1] = where[$1] " " $2 } END { for (k in count) if (count[k] > 1) print k ":" where[k] }'
}

# Prints the stems that both lists of names hold; $1 has gnn__ names, $2 gnn_ names.
stems_twice() {
    sed 's/^gnn__//' "$1" | sort -u >"$work/internal"
    sed 's/^gnn_//' "$2" | sort -u >"$work/public"
    comm -12 "$work/internal" "$work/public"
}

# Prints "NAME: FILES" for what two headers define; reads "NAME FILE" lines.
defined_twice() {
    sort -u | awk '{ count[$1]++; where[$1] = where[$1] " " $2 } END { for (k in count) if (count[k] > 1) print k ":" where[k] }'
}

# Prints "FILE: ROW" for rows of a table that stand in it twice, by macro and name; reads paths.
rows_twice() {
    rows='BLOCK|STEP|SAMPLER|TOPOLOGY|AGGREGATOR|MESSAGE|SCORE|MAP|PRIOR|WEIGHER|UPDATE|PRESET|ACTIVATION|OP'
    while read -r table; do
        grep -oE "^GNN_($rows)\([A-Za-z_0-9]+" "$table" | sort | uniq -d | sed "s|^|$table: |"
    done
}

# Prints "FILE: GUARD" for headers whose guard does not end with the file's name and H; reads paths.
# A template, which is included several times, has none.
guards_unlike() {
    while read -r header; do
        guard=$(sed -nE 's/^#ifndef ([A-Z0-9_]+_H_?)$/\1/p' "$header" | head -n 1)
        name=$(basename "$header" .h | tr 'a-z.-' 'A-Z__')
        case $header:$guard in
        *_template.h:) ;;
        *:"${name}_H" | *_"${name}_H") ;;
        *) echo "$header: ${guard:-none}" ;;
        esac
    done
}

# Prints the names of suites that have no file: of .ci/run's lists ($1) and of meson.build's ($2).
suites_missing() {
    {
        sed -nE 's/^[a-z0-9]+_suites="([a-z0-9_ ]*)"$/\1/p' "$1"
        sed -n "/^suites = '''/,/^'''/p" "$2" | sed '1d;$d'
    } | tr -s ' ' '\n' | while read -r suite; do
        [ -z "$suite" ] || [ -f "tests/test_$suite.c" ] || echo "$suite"
    done
}

types() {
    grep -rHoE '^(\} [a-z_0-9]+_t;|typedef (struct|enum|union) [a-z_0-9]+ [a-z_0-9]+_t;)' lib graphs --include='*.h' |
        sed -E 's/^([^:]*):(\} |typedef (struct|enum|union) [a-z_0-9]+ )([a-z_0-9]+);$/\4 \1/'
}

inlines() {
    grep -rHE '^static inline [^(;]*[ *][a-z_0-9]+\(' lib graphs --include='*.h' | sed -E 's/^([^:]*):[^(]*[ *]([a-z_0-9]+)\(.*/\2 \1/'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# none WHAT: $work/found has the faults.
none() {
    if [ -s "$work/found" ]; then
        echo "$1:"
        sort "$work/found" | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# sees WHAT EXPECTED ACTUAL: the check itself must see what it is for.
sees() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        echo "the check for $1 answers \"$3\", expected \"$2\""
        failed=$((failed + 1))
    fi
}

sees "file names" "a: lib/x lib/y" "$(printf '%s\n' lib/x/a.c lib/x/a.h lib/y/a.kernel.c lib/y/b.c | files_twice)"
printf '%s\n' gnn__run gnn__walk >"$work/one"
printf '%s\n' gnn_run gnn_talk >"$work/two"
sees "twins" "run" "$(stems_twice "$work/one" "$work/two")"
sees "definitions" "f_t: a.h b.h" "$(printf '%s\n' 'f_t a.h' 'f_t b.h' 'g_t a.h' | defined_twice)"

printf '%s\n' 'GNN_MAP(one)' 'GNN_MAP(two, 1)' 'GNN_MAP(one, 2)' >"$work/table.def"
sees "entries of tables" "$work/table.def: GNN_MAP(one" "$(echo "$work/table.def" | rows_twice)"

printf '#ifndef GNN_OLD_H\n' >"$work/new.h"
printf '#ifndef GNN_SAME_H\n' >"$work/same.h"
sees "guards" "$work/new.h: GNN_OLD_H" "$(printf '%s\n' "$work/new.h" "$work/same.h" | guards_unlike)"

printf 'few_suites="base no_such"\n' >"$work/run"
printf "suites = '''\n  base\n  none_such\n'''\n" >"$work/build"
sees "lists of suites" "no_such none_such" "$(suites_missing "$work/run" "$work/build" | xargs)"

suites_missing .ci/run tests/meson.build >"$work/found"
none "a suite that a list names and tests/ has not"
find lib graphs include examples bench tests -name '*.h' | grep -vE "^($(echo "$old_guards" | tr ' ' '|'))/" | guards_unlike >"$work/found"
none "a guard that is not its file's name"
find lib graphs -name '*.def' | rows_twice >"$work/found"
none "an entry that its table has twice"
find lib -name '*.[ch]' | grep -vE "/($tables)/[a-z_0-9]+\.c\$" | files_twice >"$work/found"
none "a file's name stands in two folders of lib/"
grep -rhoE '\bgnn__[a-z0-9_]+' lib graphs >"$work/gnn__"
grep -rhoE '\bgnn_[a-z0-9]+(_[a-z0-9]+)*\(|\bgnn_[a-z0-9_]+_t\b' include | sed 's/($//' >"$work/gnn_"
stems_twice "$work/gnn__" "$work/gnn_" >"$work/found"
none "gnn__NAME inside and gnn_NAME outside"
types | defined_twice >"$work/found"
none "a type that two headers define"
inlines | defined_twice >"$work/found"
none "an inline function that two headers define"

echo "$(find lib -name '*.[ch]' | wc -l) files, $(sort -u "$work/gnn__" | wc -l) internal names, $(types | wc -l) types, $(inlines | wc -l) inline functions"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
