#!/bin/sh
# docs/zoo.md and its pictures are what the entries of tests/zoo say, docs/tasks.md what bench/results/tasks.tsv says.
# A reader's snippets compile by the public headers and read the arrays that the page lists; ten drawn by
# GNN_TEST_SEED, and the program at the top, run as programs.
#
#   sh tests/house/zoo.sh [--write] [FOLDER]     --write: makes the page and tests/zoo/reads.txt anew
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
flags="-std=gnu17 -Werror=implicit-function-declaration -I$root/include -I$build/include -I$root/tests/zoo"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The arrays that each entry reads, as its snippet reads them.
list_reads() {
    python3 "$root/docs/zoo.py" --reads >"$work/reads.c" &&
        "$cc" $flags -w "$work/reads.c" -L"$build" -Wl,-rpath,"$build" -lgnn -lm -o "$work/reads" &&
        "$work/reads" >"$work/reads.txt"
}
if [ -n "$write" ]; then
    list_reads && cp "$work/reads.txt" "$root/tests/zoo/reads.txt" && python3 "$root/docs/zoo.py" --write &&
        python3 "$root/docs/tasks.py" --write
    exit
fi

. "$root/tests/expect.sh"

same_reads() {
    list_reads && diff "$root/tests/zoo/reads.txt" "$work/reads.txt"
}
expect "tests/zoo/reads.txt is current" same_reads
expect "docs/zoo.md is current" python3 "$root/docs/zoo.py"
expect "docs/tasks.md is current" python3 "$root/docs/tasks.py"

# Each reason of left_out.def names a suite that has the case or the model, as a string.
named_suites_have() {
    python3 - "$root" <<'P'
import re, sys
root = sys.argv[1]
text = re.sub(r'"\s*\n\s*"', "", open(root + "/tests/zoo/left_out.def").read())
entries = re.findall(r'^ZOO_(CASE|MODEL)\((?:\w+,\s*)??(\w+),\s*"([^"]*)"\)', text, re.M)
wrong = [] if len(entries) == len(re.findall(r"^ZOO_", text, re.M)) else ["an entry cannot be read"]
for kind, name, why in entries:
    path = "zoo/models/" + name if kind == "MODEL" else "zoo/" + name
    suites = re.findall(r"tests/test_\w+\.c", why)
    wrong += [] if suites else [name + ": no suite is named"]
    wrong += ["%s: %s does not have it" % (name, s) for s in suites if '"%s"' % path not in open(root + "/" + s).read()]
print("\n".join(wrong) or "%d entries" % len(entries))
sys.exit(bool(wrong))
P
}
expect "suites named in tests/zoo/left_out.def have the cases" named_suites_have

python3 "$root/docs/zoo.py" --snippets >"$work/snippets.c"
expect "all snippets of docs/zoo.md compile" "$cc" $flags -fsyntax-only "$work/snippets.c"

# Values drawn for the sizes of the case: the output has rows, and is finite.
run_entry() {
    python3 "$root/docs/zoo.py" --program "$1" >"$work/$1.c" &&
        "$cc" $flags "$work/$1.c" -L"$build" -Wl,-rpath,"$build" -lgnn -lm -o "$work/$1" &&
        "$work/$1" >"$work/$1.out" && grep -q "^$1: [1-9]" "$work/$1.out" && ! grep -Eq "= -?(nan|inf)" "$work/$1.out"
}
# Without warnings: the loss of its training steps falls.
run_example() {
    python3 "$root/docs/zoo.py" --example >"$work/example.c" &&
        "$cc" $flags -Wall -Wextra -Werror "$work/example.c" -L"$build" -Wl,-rpath,"$build" -lgnn -lm -o "$work/example" &&
        "$work/example" >"$work/example.out" &&
        awk '/^loss/ { if (n++ && $2 >= last) exit 1; last = $2 } END { exit n != 3 }' "$work/example.out"
}
expect "docs/zoo.md: the program at the top" run_example

# An array that is missing, of another name or given twice is an error that names it.
refused() {
    sed "$1" "$work/example.c" >"$work/refused.c" &&
        "$cc" $flags "$work/refused.c" -L"$build" -Wl,-rpath,"$build" -lgnn -lm -o "$work/refused" &&
        ! "$work/refused" >"$work/refused.out" 2>&1 && grep -qF "$2" "$work/refused.out"
}
expect "an array that is missing is refused" refused '/"p.heads", 2/d' 'the entry reads array "p.heads", which is not given'
expect "an array that is not read is refused" refused 's/zoo_set(z, "p.heads", 2)/&; zoo_set(z, "p.head", 2)/' \
    'array "p.head" is given, but the entry reads none of that name'
expect "a count of 0 is refused" refused 's/"p.heads", 2/"p.heads", 0/' '"p.heads" is 0, expected one integer of at least 1'
expect "lengths that do not add up are refused" refused 's/{5, 2, 8}/{5, 2, 7}/' '"lengths" adds up to 14, "x" has 15 rows'
expect "an array that is given twice is refused" refused 's/zoo_set(z, "p.heads", 2)/&; &/' 'array "p.heads" is given twice'

for case in $(python3 "$root/docs/zoo.py" --draw "${GNN_TEST_SEED:-36}" 10); do
    expect "docs/zoo.md: $case as a program" run_entry "$case"
done
finish
