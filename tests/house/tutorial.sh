#!/bin/sh
# The programs of docs/tutorial.md run and say what it claims, and every line of C that it shows stands in one of them.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2

. "$root/tests/expect.sh"

# Prints the lines of C in the page $1 that none of the other arguments has.
unknown_lines() {
    page=$1
    shift
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >"$work/shown"
    [ -s "$work/shown" ] || echo "$page shows no C"
    cat "$@" >"$work/sources"
    grep -vxFf "$work/sources" "$work/shown"
}

every_line_exists() {
    unknown_lines "$@" >"$work/unknown"
    [ ! -s "$work/unknown" ] || { cat "$work/unknown" && false; }
}

# at_least PERCENT PATTERN PROGRAM: the first number after the words that match.
at_least() {
    "$build/examples/tutorial/tutorial_$3" >"$work/out" 2>&1 || { cat "$work/out" && return 1; }
    percent=$(sed -nE "s/^$2 +([0-9.]+).*/\1/p" "$work/out" | head -n 1)
    [ -n "$percent" ] && awk -v p="$percent" -v least="$1" 'BEGIN { exit !(p >= least) }' || { cat "$work/out" && false; }
}

at_most() {
    ! at_least "$@" >/dev/null && [ -n "$percent" ] || { cat "$work/out" && false; }
}

printf '```c\nint planted;\n```\n' >"$work/page.md"
if every_line_exists "$work/page.md" examples/tutorial/gcn.c >/dev/null; then
    echo "a line that no program has is not seen"
    failed=$((failed + 1))
fi
expect "docs/tutorial.md shows lines of the programs" every_line_exists docs/tutorial.md examples/tutorial/*.c

expect "gcn learns" at_least 90 "gcn: test accuracy" gcn
expect "mean learns" at_least 90 "mean +test accuracy" aggregators
expect "gat learns" at_least 90 "gat: test accuracy" gat
expect "gat shows weights" at_least 0.01 " *weight of edge [0-9]+ -> 2:" gat
expect "the transformer finds the marked word" at_least 95 "transformer:" transformer
expect "a mean does not" at_most 50 "mean of all words:" transformer
expect "a complete graph shows every word" at_least 95 "complete" topologies
expect "a causal graph does not" at_most 85 "causal" topologies
expect "a window does not" at_most 70 "window +width=2" topologies
finish
