#!/bin/sh
# Command one: installs what is missing, builds, trains a GAT on a graph and a Transformer on sentences, and draws both.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"

install_packages
build "$root/build"
mkdir -p "$root/out"

say
say "== A graph attention network on Zachary's karate club =="
"$root/build/examples/citation" --data karate --model gat --seeds 10 --plot "$root/out/karate.svg"

say
say "== A Transformer on sentences: the same layer on a complete graph =="
"$root/build/examples/sentence" --plot "$root/out/attention.svg"

say
say "Pictures: $root/out/karate.svg"
say "          $root/out/attention.svg"
