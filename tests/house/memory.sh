#!/bin/sh
# An allocation of a program that fails ends it with 1 and words about memory, or changes nothing: no
# half of a file, no training that ends early as if it were complete.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

gnn=$build/gnn preload=$build/tests/failing_malloc.so
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
[ ! -f "$preload" ] || LD_PRELOAD=$preload FAIL_COUNT=$work/count "$gnn" --version >/dev/null 2>&1
if [ ! -s "$work/count" ] || [ "$(cat "$work/count")" -eq 0 ]; then
    echo "nothing to check: malloc of this build is not replaced"
    echo "CHECKS 0 0"
    exit 0
fi

seq 0 39 | awk '{ print $1 "\t" $1 % 2 "\t" int($1 / 2) % 2 "\t" ($1 % 2 ? "A" : "B") }' >q.content
seq 0 39 | awk '{ print $1 "\t" ($1 * 7 + 1) % 40 }' >q.cites
seq 0 29 | awk '{ print "n" $1 ",n" ($1 * 3 + 1) % 30 "," $1 / 2 + 1 }' >e.csv
seq 0 29 | awk '{ print "n" $1 "," $1 "," $1 / 2 }' >x.csv
seq 0 29 | awk '{ print "n" $1 "," ($1 % 2 ? "u" : "v") }' >y.csv

# one ALL: allocation `at`, and all after it if ALL is not empty, fail in the command `$@` of
# each_fails.
one() {
    all=$1
    shift
    rm -rf out.*
    env LD_PRELOAD="$preload" FAIL_AT=$at ${all:+FAIL_ALL=1} timeout 60 "$@" >/dev/null 2>said.now
    code=$?
    tried=$((tried + 1))
    where="allocation $at${all:+ and later ones}: exit status $code"
    if [ "$code" -gt 1 ] || { [ "$code" -eq 1 ] && ! grep -qi memory said.now; }; then
        echo "$where" && tail -n 3 said.now && return 1
    fi
    [ -z "$(find . -name '*.tmp')" ] || { echo "$where: a temporary file is left" && return 1; }
    [ ! -f out.csv ] || { sed 's/,[^,]*$//' out.csv >cut && mv cut out.csv; }
    for file in $(ls good); do
        if [ "$code" -eq 0 ] || { [ "$file" != out.csv ] && [ -e "$file" ]; }; then
            diff -rq "$file" "good/$file" || { echo "$where" && return 1; }
        fi
    done
}
# each_fails STEP COMMAND...: every STEPth allocation of the command fails, every 7th of these with all
# after it. The command writes files out.*; out.csv has seconds in its last column.
each_fails() {
    step=$1
    shift
    rm -rf out.* good && mkdir good
    LD_PRELOAD=$preload FAIL_COUNT=$work/count "$@" >/dev/null 2>said.base || { cat said.base && return 1; }
    [ ! -f out.csv ] || sed 's/,[^,]*$//' out.csv >good/out.csv
    for file in out.*; do [ "$file" = out.csv ] || cp -r "$file" good/; done
    at=0 tried=0
    while [ "$at" -lt "$(cat "$work/count")" ]; do
        one '' "$@" || return 1
        [ $((at % (7 * step))) -ne 0 ] || one all "$@" || return 1
        at=$((at + step))
    done
    [ "$tried" -gt 20 ]
}

expect "citation" each_fails 3 "$gnn" citation --data q.content --layer gcn --epochs 2 --trial 0 --threads 1 --save out.model --curve out.svg --log out.csv
expect "convert" each_fails 9 "$gnn" convert e.csv out.npz --features x.csv --labels y.csv
expect "partition" each_fails 9 "$gnn" partition q.content out.folder --parts 1 --seed 1
finish
