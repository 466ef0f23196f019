#!/bin/sh
# Command one: installs what is missing, builds, trains a GAT on a graph of packages and a Transformer on their descriptions, and draws both.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"

install_packages
build_targets=programs
build "$root/build"
mkdir -p "$root/out"

say
say "== A graph attention network on a graph of 18,000 Debian packages =="
"$root/build/gnn" citation --data "$root/graphs/data/debian.npz" --layer gat --seeds 1 --epochs 120 --report --scatter "$root/out/packages.svg"

say
say "== A Transformer on the packages' one-line descriptions: the same layer on a complete graph =="
"$root/build/gnn" descriptions --data "$root/graphs/data/debian.npz" --heatmap "$root/out/attention.svg"

say
say "Pictures: $root/out/packages.svg"
say "          $root/out/attention.svg"
