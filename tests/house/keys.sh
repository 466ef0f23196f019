#!/bin/sh
# docs/pretrained-keys.md has each key of published models' files as the entries of lib/weights/arch have it, and docs/pretrained.md each
# architecture and the counts of the tables in tests/golden.
#
#   sh tests/house/keys.sh [--write] [FOLDER]     --write: makes the page anew
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${1:-}" = --write ]; then
    exec python3 "$root/docs/keys.py" --write
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

expect "docs/pretrained-keys.md and docs/pretrained.md are current" python3 "$root/docs/keys.py"
finish
