#!/bin/sh
# gnn graphs on a set with a split of its own: who is learned, who chooses the epoch, who is reported.
# Long: trains whole programs.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
gnn=$build/gnn
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

# 60 pairs of nodes; the feature tells the class, but for the test graphs (the last 20), whose classes are the other way round: a program that
# learned them, or that reports others, gives another figure than 0.
mkdir -p odd/raw odd/split/scaffold
seq 60 | awk '{ print 2 }' >odd/raw/num-node-list.csv
seq 60 | awk '{ print 1 }' >odd/raw/num-edge-list.csv
seq 60 | awk '{ print "0,1" }' >odd/raw/edge.csv
seq 0 59 | awk '{ for (k = 0; k < 2; k++) print $1 % 2 "," 1 - $1 % 2 }' >odd/raw/node-feat.csv
seq 0 59 | awk '{ print ($1 + ($1 > 39)) % 2 }' >odd/raw/graph-label.csv
seq 0 29 >odd/split/scaffold/train.csv
seq 30 39 >odd/split/scaffold/valid.csv
seq 40 59 >odd/split/scaffold/test.csv

run() {
    "$gnn" graphs --data odd --layer sage --epochs 60 --batch 5 --hidden 8 --dropout 0 --threads 1 "$@"
}

# keeps FILE COMMAND...
keeps() {
    to=$1
    shift
    "$@" >"$to" 2>&1
}

expect "the set's split" keeps json run --json
expect "says which it is" grep -q "the set's split.scaffold" json
expect "one training" [ "$(grep -c "best validation 100.0" json)" -eq 1 ]
expect "validation graphs choose, test graphs are reported" grep -q '"protocol": "own".*"mean": 0,' json
expect "the words" run --curve curve.svg --save first.weights
expect "test accuracy" grep -Eq "^test accuracy 0.0 \(epoch [0-9]+, the best on validation graphs\)" last
expect "the curve" grep -q "test 0.0%" curve.svg
expect "asked for" run --protocol own --save second.weights
expect "the same" cmp first.weights second.weights
expect "folds" run --protocol mean --folds 3
expect "three of them" grep -q "over 3 folds" last
expect "an option of folds asks for them" run --folds 3
expect "three again" grep -q "over 3 folds" last
expect "both are refused" exits 2 run --protocol own --folds 3
expect "says which" grep -q -- "--folds: has no effect with --protocol own" last
expect "a set without a split" exits 1 "$gnn" graphs --protocol own --epochs 1
expect "says so" grep -q "motifs has no split of its own" last
rm odd/split/scaffold/valid.csv
gzip </dev/null >odd/split/scaffold/valid.csv.gz
expect "a split without validation graphs" exits 1 run
expect "names what is missing" grep -q "split.scaffold has no validation graphs: --protocol mean" last
for readout in $("$gnn" --complete graphs --readout ""); do
    expect "readout $readout" "$gnn" graphs --readout "$readout" --epochs 1 --layers 1 --hidden 8 --folds 2 --most-folds 1
    expect "ends with an accuracy" grep -q "^test accuracy" last
done
expect "all of them" [ "$("$gnn" --complete graphs --readout "" | wc -l)" -ge 12 ]
expect "--help" "$gnn" graphs --help
expect "within 100 columns" awk 'length > 100 { exit 1 }' last
finish
