#!/bin/sh
# docs/pretrained-keys.md says of each key of published models' files what the entries of lib/io/weights/arch say.
#
#   sh tests/house/keys.sh [--write] [FOLDER]     --write: makes the page anew
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
write=
if [ "${1:-}" = --write ]; then
    write=--write
fi
python3 "$root/docs/keys.py" $write || exit 1
echo "keys: docs/pretrained-keys.md is current"
