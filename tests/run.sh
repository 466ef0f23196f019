#!/bin/sh
# Command two: installs what is missing, builds, runs every test. The last line is "N passed, N failed, N skipped".
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"

install_packages
build "$root/build"
exec sh "$root/tests/suites.sh" --house "$root/build"
