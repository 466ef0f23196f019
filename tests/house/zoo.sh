#!/bin/sh
# docs/zoo.md and its pictures are what the entries of tests/zoo say, docs/tasks.md what bench/results/tasks.tsv says.
# A reader's snippets compile by the public headers, and ten drawn by GNN_TEST_SEED run as programs.
#
#   sh tests/house/zoo.sh [--write] [FOLDER]     --write: makes the page anew
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${1:-}" = --write ]; then
    python3 "$root/docs/zoo.py" --write && exec python3 "$root/docs/tasks.py" --write
fi
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
flags="-std=gnu17 -Werror=implicit-function-declaration -I$root/include -I$build/include -I$root/tests/zoo"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

expect "docs/zoo.md is current" python3 "$root/docs/zoo.py"
expect "docs/tasks.md is current" python3 "$root/docs/tasks.py"

python3 "$root/docs/zoo.py" --snippets >"$work/snippets.c"
expect "all snippets of docs/zoo.md compile" "$cc" $flags -fsyntax-only "$work/snippets.c"

# Values drawn for the sizes of the case: the output has rows, and is finite.
run_entry() {
    python3 "$root/docs/zoo.py" --program "$1" >"$work/$1.c" &&
        "$cc" $flags "$work/$1.c" -L"$build" -Wl,-rpath,"$build" -lgnn -lm -o "$work/$1" &&
        "$work/$1" >"$work/$1.out" && grep -q "^$1: [1-9]" "$work/$1.out" && ! grep -Eq "= -?(nan|inf)" "$work/$1.out"
}
for case in $(python3 "$root/docs/zoo.py" --draw "${GNN_TEST_SEED:-36}" 10); do
    expect "docs/zoo.md: $case as a program" run_entry "$case"
done
finish
