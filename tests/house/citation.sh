#!/bin/sh
# gnn citation as a user meets it: Ctrl-C and --resume, the log, JSON, the table of classes, pictures, wrong options.
# Long: trains and interrupts whole programs.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
gnn=$build/gnn
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

data=$root/graphs/data/debian.npz
train() {
    "$gnn" citation --data "$data" --layer gcn --epochs 30 "$@"
}

# ---- Ctrl-C after a few epochs, then on to the end ----
expect "training" train --save whole.weights --log whole.csv
"$gnn" citation --data "$data" --layer gcn --epochs 30 --checkpoint c --log parts.csv >first 2>&1 &
running=$!
for _ in $(seq 600); do
    [ -f parts.csv ] && [ "$(grep -c . parts.csv)" -gt 4 ] && break
    sleep 0.05
done
kill -INT "$running"
wait "$running"
code=$?
expect "Ctrl-C exits with 130" [ "$code" -eq 130 ]
expect "Ctrl-C says how to go on" grep -q "resume goes on from c" first
expect "stopped before the end" [ "$(wc -l <parts.csv)" -lt 31 ]
expect "--resume" train --checkpoint c --resume --log parts.csv --save parts.weights
expect "the same weights" cmp whole.weights parts.weights
cut -d, -f1-8 whole.csv >whole.log
cut -d, -f1-8 parts.csv >parts.log
expect "the same log but for the seconds" cmp whole.log parts.log
expect "no temporary file is left" test -z "$(find . -name '*.tmp')"
expect "another model's checkpoint" exits 1 "$gnn" citation --data "$data" --layer mlp --epochs 3 --checkpoint c --resume
expect "says that it is of another model" grep -q "another model" last

# ---- what comes out ----
train --checkpoint c --resume --json --report --predict all.csv --scatter p.svg --confusion x.svg --curve v.svg >out.json 2>words
expect "JSON is one line" [ "$(wc -l <out.json)" -eq 1 ]
if command -v python3 >/dev/null 2>&1; then
    expect "JSON is JSON, with the mean of its runs" python3 -c '
import json
o = json.load(open("out.json"))
assert o["settings"]["epochs"] == 30 and len(o["runs"]) == 1, o
assert abs(o["mean"] - o["runs"][0]["test"]) < 1e-6 and o["deviation"] == 0, o'
    expect "predictions are by the file's numbers" python3 -c '
import csv, struct, sys, zipfile
raw = zipfile.ZipFile(sys.argv[1]).read("labels.npy")
labels = [n for n, in struct.iter_unpack("<i", raw[10 + raw[8] + 256 * raw[9]:])]
rows = list(csv.DictReader(open("all.csv")))
assert [int(r["node"]) for r in rows] == list(range(18169)), len(rows)
assert [int(r["label"]) for r in rows] == labels
right = sum(r["predicted"] == r["label"] for r in rows) / len(rows)
assert right > 0.3, right' "$data"
fi
expect "a row for each class, a head and a mean" [ "$(sed -n '/^class  /,/^mean of/p' words | wc -l)" -eq 18 ]
expect "rows line up" [ "$(sed -n '/^class  /,/^mean of/p' words | awk '{ print length }' | sort -u | wc -l)" -eq 1 ]
for picture in p x v; do
    expect "$picture.svg" grep -q "</svg>" $picture.svg
done
expect "two seeds on two splits" "$gnn" citation --data "$data" --layer mlp --epochs 2 --seeds 2 --splits 2 --checkpoint two
expect "the last line" grep -Eq '^test accuracy [0-9.]+ \+- [0-9.]+ over 2 splits with 2 seeds each$' last
expect "a checkpoint for each" test -s two.split0-seed0 -a -s two.split1-seed1

# ---- a diffused graph ----
diffused() {
    "$gnn" citation --data karate --layer gcn --epochs 40 --diffusion "$@"
}
expect "walks that end at once leave each node its own" diffused ppr --diffusion-alpha 1
expect "34 self-loops" grep -q '^diffused: 34 messages in place of 156$' last
expect "the eight strongest of each" diffused ppr --diffusion-top 8 --save near.weights
expect "272 messages" grep -q '^diffused: 272 messages' last
expect "heat, ten in the mean" diffused heat --diffusion-time 5 --diffusion-average 10 --json
expect "340 messages, and JSON says heat" sh -c "grep -q '^diffused: 340 messages' last && grep -q '\"diffusion\": \"heat\"' last"
expect "gcn as it is" "$gnn" citation --data karate --layer gcn --epochs 40 --save plain.weights
expect "has learned other weights" sh -c '! cmp -s near.weights plain.weights'
expect "a saved model on the diffused graph" "$gnn" citation --data karate --load near.weights --diffusion ppr --diffusion-top 8
expect "a time without heat" exits 2 diffused ppr --diffusion-time 2
expect "names it" grep -q -- '--diffusion-time: has no effect without --diffusion heat' last
expect "an average without a kind" exits 2 "$gnn" citation --diffusion-average 3
expect "appnp, which spreads by itself" exits 2 "$gnn" citation --layer appnp --diffusion heat
expect "says so" grep -q 'appnp spreads over the links by itself' last

# ---- wrong options ----
for wrong in "--epochs 0" "--seeds x" "--metric loss" "--watch ap" "--layer none" "--resume" "--split -1" "extra" "--splits 0"; do
    # shellcheck disable=SC2086 # an option and its value
    expect "citation $wrong" exits 2 "$gnn" citation $wrong
done
expect "--help" "$gnn" citation --help
expect "a missing file" exits 1 "$gnn" citation --data none.npz

finish
