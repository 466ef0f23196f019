#!/bin/sh
# docs/pretrained-keys.md says of each key of published models' files what the entries of lib/weights/arch say.
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

expect "docs/pretrained-keys.md is current" python3 "$root/docs/keys.py"
finish
