#!/bin/sh
# Each public function is documented above its declaration, stands in docs/reference.md, and is called by a test, an example or a benchmark; named
# ops have a test of their values, lists in headers and pages have every entry, and docs/pyg.md knows every module of lib/weights/names.def.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Prints "HEADER NAME DOCUMENTED" for each function that headers declare, inline ones too, and each macro in small letters; DOCUMENTED is 1 if a comment /** ... */ ends in the line
# before.
functions() {
    awk '
        FNR == 1 { documented = 0; header = FILENAME; sub(/.*\//, "", header); sub(/\..*/, "", header) }
        /^ *\/\*\*/ { block = 1 }
        /\*\/ *$/ { documented = block; block = 0; next }
        /^GNN_API extern/ { next }
        /^GNN_API|^static inline/ {
            line = $0
            while (line !~ /\(/ && (getline more) > 0) line = line " " more
            sub(/\(.*/, "", line)
            count = split(line, word, /[ *]+/)
            if (word[count] !~ /^gnn__/) print header, word[count], documented + 0
        }
        /^#define gnn_[a-z]/ { # of arguments of any of some types: documented with its function or type
            sub(/\(.*/, "", $2)
            print header, $2, 1
        }
        !/^ *\*/ && !block { documented = 0 }' "$@"
}

# none WHAT: $work/faults has what is wrong
none() {
    if [ -s "$work/faults" ]; then
        echo "$1:"
        sort -u "$work/faults" | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# Prints the names of $1, one a line, that none of the other files has as a word.
missing_in() {
    names=$1
    shift
    grep -ohE '\bgnn_[a-z0-9_]+' "$@" | sort -u >"$work/known"
    sort -u "$names" | comm -23 - "$work/known"
}

# The checks themselves must see what they are for.
printf '/** Says. */\nGNN_API int gnn_a(void);\nGNN_API int\ngnn_b(int x);\n\n/** One. */\nGNN_API const char *gnn_c(int\n  y);\n' >"$work/planted.h"
printf '%s\n' "planted gnn_a 1" "planted gnn_b 0" "planted gnn_c 1" >"$work/expected"
functions "$work/planted.h" | diff "$work/expected" - >"$work/faults"
none "the check reads declarations wrongly"
printf 'gnn_a\ngnn_b\n' >"$work/two"
echo 'call gnn_a(gnn_bb)' >"$work/page"
[ "$(missing_in "$work/two" "$work/page")" = gnn_b ] || echo "a missing name is not seen" >"$work/faults"
none "the check for names"

functions include/gnn/*.h include/gnn/build.h.in >"$work/functions"
awk '{ print $2 }' "$work/functions" | sort -u >"$work/names"
# The width of the public interface: whoever adds or removes a function changes this number, too.
surface=454
count=$(wc -l <"$work/names")
[ "$count" -eq "$surface" ] && : >"$work/faults" || echo "$count, expected $surface" >"$work/faults"
none "count of public functions (surface, tests/house/api.sh)"

awk '!$3 { print $1 ".h: " $2 }' "$work/functions" >"$work/faults"
none "functions without a comment of their own"
missing_in "$work/names" docs/reference.md >"$work/faults"
none "functions that docs/reference.md does not name"
grep -ohE '`gnn_[a-z0-9_]+`' docs/reference.md | tr -d '`' | sort -u | grep -v '^gnn_NAME' | comm -23 - "$work/names" >"$work/faults"
none "functions that docs/reference.md names and headers do not declare"
# shellcheck disable=SC2046 # names without blanks
missing_in "$work/names" $(find tests examples bench -name '*.[ch]' -o -name 'guide.sh') docs/guide.md >"$work/faults"
none "functions that no test, example or benchmark calls"
# Of use is what an example, a benchmark, a page, Python or C++ uses.
uses() {
    find examples bench python -name '*.[ch]' -o -name '*.py'
    find docs -maxdepth 1 -name '*.md' ! -name reference.md ! -name upgrading.md
    echo README.md
    echo include/gnn/gnn.hpp
}
# shellcheck disable=SC2046 # names without blanks
missing_in "$work/names" $(uses) >"$work/faults"
none "functions that no example, benchmark, page or binding uses"
# test_named_ops.c compares gradients with an op's own values: these need a test, a block or an architecture.
sed -nE 's/^GNN_OP\((.*)\)/\1/p' lib/ops/ops.def | while read -r op; do
    # shellcheck disable=SC2046 # names without blanks
    grep -qE "\bgnn_op_$op\b|\bOP\([^,]*, $op\b" $(find tests lib/model/blocks -name '*.c' ! -name test_named_ops.c) ||
        grep -qE "\bop = $op\b" lib/weights/arch/*.def || echo "$op"
done >"$work/faults"
none "named ops whose values no test compares (tests/test_named_values.c)"
sed -nE 's/^GNN_MODULE\(([A-Z0-9_]+),.*/\1/p' lib/weights/names.def | while read -r module; do
    grep -qF "\`$module\`" docs/pyg.md || echo "$module"
done >"$work/faults"
none "modules that docs/pyg.md does not name"

# entries TABLE LIST FILES PATTERN: the entries of LIST that FILES lack, as PATTERN with the name for @.
entries() {
    sed -nE "s/^$1\\(([A-Za-z0-9_]+).*/\\1/p" "$2" | while read -r name; do
        grep -qE "$(printf '%s' "$4" | sed "s/@/$name/g")" $3 || echo "$name ($3)"
    done
}
{
    entries GNN_STEP lib/model/steps.def include/gnn/model.h '^ \*     @( |$)'
    entries GNN_BLOCK lib/model/blocks.def include/gnn/model.h '^ \* .*\b@\b'
    entries GNN_BLOCK lib/model/blocks.def "docs/blocks.md docs/models.md" '`@`'
    entries GNN_OP lib/ops/ops.def docs/blocks.md '`@`'
    entries GNN_UPDATE lib/layer/updates.def include/gnn/layer.h '^ \*     @( |$)'
    entries PROGRAM examples/programs/programs.def examples/README.md '^\| `gnn @[ `]'
} >"$work/faults"
none "entries that the lists of their headers and pages lack"

echo "$count functions, $(awk '!$3' "$work/functions" | wc -l) without a comment of their own"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
