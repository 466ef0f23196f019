#!/bin/sh
# Command two: installs what is missing, builds, runs the tests. The last line is "N passed, N failed,
# N skipped".
#
#   sh tests/run.sh [--all]
#
# --all: also the scripts that take minutes (packaging, the site, whole programs), as .ci/run does.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"

scripts=--house
case ${1:-} in
'') ;;
--all) scripts=--all ;;
*)
    say "tests/run.sh: unknown argument $1; usage: sh tests/run.sh [--all]"
    exit 2
    ;;
esac
install_packages
build "$root/build"
# A suite uses all processors for a part of its time only.
[ -n "${GNN_TEST_JOBS:-}" ] || GNN_TEST_JOBS=$(nproc | awk '{ print $1 < 4 ? $1 : 4 }')
export GNN_TEST_JOBS
exec sh "$root/tests/suites.sh" "$scripts" "$root/build"
