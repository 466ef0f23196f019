#!/bin/sh
# docs/zoo.md and its pictures are what the entries of tests/zoo say, docs/tasks.md what bench/results/tasks.tsv says.
#
#   sh tests/house/zoo.sh [--write] [FOLDER]     --write: makes the page anew
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${1:-}" = --write ]; then
    python3 "$root/docs/zoo.py" --write && exec python3 "$root/docs/tasks.py" --write
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

expect "docs/zoo.md is current" python3 "$root/docs/zoo.py"
expect "docs/tasks.md is current" python3 "$root/docs/tasks.py"
finish
