#!/bin/sh
# Every program ends with an error if its standard output is not written, refuses numbers that are none by name, and looks at its outputs before it trains.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

programs=$build/examples
printf '0 1\n1 2\n' >a.edges
printf 'good\tfine and good\nbad\tsad and bad\ngood\tgood good\nbad\tbad bad\n' >words.txt

seq 0 59 | sed 's/.*/&,1/' >x.csv
seq 0 59 | awk '{ print $1 % 3 }' >y.csv
seq 0 58 | awk '{ print $1, $1 + 1 }' >b.edges
expect "a small set" "$programs/convert" b.edges set.npz --features x.csv --labels y.csv

# convert writes .npz and nothing else: two inputs by mistake leave the second as it is.
cp b.edges c.edges
expect "an output that is no .npz" exits 2 "$programs/convert" a.edges c.edges --features x.csv --labels y.csv
expect "says what is expected" grep -q 'c.edges is to be written: a name that ends in .npz' last
expect "the other file is as it was" cmp b.edges c.edges
cp set.npz same.npz
expect "the input as output" exits 2 "$programs/convert" same.npz same.npz
expect "is as it was" cmp set.npz same.npz
expect "no labels to write" exits 1 "$programs/convert" a.edges none.npz
expect "names the option" grep -q -- '--labels' last

# unwritten NAME COMMAND...: the command fails, and says why, on a full disk and with standard output closed.
unwritten() {
    name=$1
    shift
    expect "$name on a full disk" full "$@"
    expect "$name says so" grep -Eqi 'not written|No space' words
    expect "$name with standard output closed" closed "$@"
}
full() {
    "$@" >/dev/full 2>words
    [ $? -ne 0 ]
}
closed() {
    "$@" >&- 2>words
    [ $? -ne 0 ]
}

unwritten "citation" "$programs/citation" --data set.npz --model mlp --epochs 1
unwritten "citation --json" "$programs/citation" --data set.npz --model mlp --epochs 1 --json
unwritten "citation --help" "$programs/citation" --help
unwritten "convert" "$programs/convert" a.edges
unwritten "own_data" "$programs/own_data"
unwritten "sentence" "$programs/sentence" --epochs 1
unwritten "sentence --data" "$programs/sentence" --data words.txt --dev words.txt --test words.txt --epochs 1 --min-count 1
for program in minimal new_aggregator tutorial/tutorial_gcn tutorial/tutorial_aggregators tutorial/tutorial_gat; do
    expect "$program on a full disk" full "$programs/$program"
done

# ---- numbers ----
refused() {
    option=$1
    shift
    for value in abc 99999999999999999999 -1 1e3x "" 2.9.1; do
        "$@" "$option" "$value" >out 2>&1
        [ $? -eq 2 ] && grep -q -- "${option#--}" out || { echo "$option \"$value\":" && cat out && return 1; }
    done
}
for option in --epochs --seeds --split --splits --threads; do
    expect "citation $option" refused $option "$programs/citation"
done
for option in --epochs --layers --seed --threads; do
    expect "sentence $option" refused $option "$programs/sentence"
done
for option in --epochs --lr --dropout --word-dropout --weight-decay --width --heads --patience --max-words --min-count --seed --threads; do
    expect "sentence --data $option" refused $option "$programs/sentence" --data words.txt
done
expect "an infinite learning rate" exits 2 "$programs/sentence" --data words.txt --lr 1e999
expect "a model that is none" exits 2 "$programs/citation" --model gnn
expect "lists the models" grep -q '"gnn" is none of gcn, sage' last
expect "ROC AUC of many classes" exits 1 "$programs/citation" --data set.npz --metric auc --epochs 1
expect "says how many" grep -q 'the set has 3' last

# ---- outputs ----
for option in --save --plot --curve --predict --log --checkpoint --confusion; do
    expect "$option into no folder" exits 1 timeout 5 "$programs/citation" --data set.npz --epochs 100000 $option none/x
    expect "$option says so" grep -q -- "$option: none/x" last
done
expect "a checkpoint" "$programs/citation" --data set.npz --model mlp --epochs 1 --checkpoint c
cp c before
expect "is not overwritten" exits 1 "$programs/citation" --data set.npz --model mlp --epochs 1 --checkpoint c
expect "which is said" grep -q 'resume goes on' last
expect "and stays as it was" cmp c before
expect "unless it is asked for" "$programs/citation" --data set.npz --model mlp --epochs 1 --checkpoint c --overwrite

finish
