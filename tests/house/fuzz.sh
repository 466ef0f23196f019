#!/bin/sh
# Each fuzz target compiles without warnings, links with the build's library, and runs on its seeds
# and on changed copies of them, without libFuzzer.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

for source in "$root"/tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    target=${target#fuzz_}
    expect "fuzz_$target" sh "$root/tests/fuzz/run.sh" --replay "$build" "$target"
done
finish
