#!/bin/sh
# A sweep that is killed at random moments and started again ends with the table and the models of
# one that was left alone, byte for byte. $SWEEP_KILLS (3) kills; every second one takes the sweep's
# programs with it, the others leave them running.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

sweep=$build/examples/sweep citation=$build/examples/citation
kills=${SWEEP_KILLS:-3}

seq 0 599 | awk '{ print $1 % 7 ",", $1 % 3 }' | tr -d ' ' >x.csv
seq 0 599 | awk '{ print $1 % 3 }' >y.csv
seq 0 1799 | awk '{ print $1 % 600, ($1 * 7 + 3) % 600 }' >a.edges
expect "a set" "$build/examples/convert" a.edges set.npz --features x.csv --labels y.csv

# run FOLDER: a sweep in a session of its own, so that a kill can take all of it.
run() {
    exec setsid "$sweep" --grid "hidden=4,8 lr=0.01,0.02" --jobs 2 --folder "$1" -- \
        "$citation" --data set.npz --model gat --epochs 150 --patience 0 --seeds 2 --threads 1
}
same() {
    for file in alone/*.safetensors alone/table.csv; do
        cmp "$file" "$1/${file#alone/}" || return 1
    done
}

begin=$(date +%s%N)
expect "a sweep" sh -c "$(command -v setsid) '$sweep' --grid 'hidden=4,8 lr=0.01,0.02' --jobs 2 --folder alone -- '$citation' --data set.npz --model gat --epochs 150 --patience 0 --seeds 2 --threads 1"
millis=$((($(date +%s%N) - begin) / 1000000))
expect "tells which is best" grep -q '^best by validation: hidden=' last
expect "has four rows and a head" [ "$(wc -l <alone/table.csv)" -eq 5 ]
expect "other settings in its folder" exits 1 "$sweep" --grid "hidden=4" --folder alone -- "$citation"
expect "says so" grep -q 'is of another sweep' last
expect "no grid" exits 2 "$sweep" --grid "hidden" --folder b -- "$citation"
expect "no program" exits 2 "$sweep" --grid "hidden=4" --folder b
expect "a program that fails" exits 1 "$sweep" --grid "hidden=4,nine" --folder c -- "$citation" --epochs 2
expect "is named" grep -q 'run 0001 failed: see c/0001.log' last
expect "and the others are in the table" [ "$(wc -l <c/table.csv)" -eq 2 ]

killed=0 rounds=0
while [ "$killed" -lt "$kills" ] && [ "$rounds" -lt $((5 * kills)) ]; do
    (run "killed$rounds") >/dev/null 2>&1 &
    pid=$!
    wait_for=$(awk -v seed="$$$killed$rounds$(date +%N)" -v ms="$millis" 'BEGIN { srand(seed); printf "%.3f", rand() * ms / 2000 }')
    sleep "$wait_for"
    if [ $((killed % 2)) -eq 0 ]; then kill -9 "-$pid" 2>/dev/null; else kill -9 "$pid" 2>/dev/null; fi && killed=$((killed + 1))
    wait "$pid" 2>/dev/null
    [ -f "killed$rounds/table.csv" ] && rounds=$((rounds + 1))
done
for k in $(seq 0 "$rounds"); do
    expect "goes on after $killed kills" sh -c "'$sweep' --grid 'hidden=4,8 lr=0.01,0.02' --jobs 2 --folder killed$k -- '$citation' --data set.npz --model gat --epochs 150 --patience 0 --seeds 2 --threads 1"
    expect "with the same table and models" same "killed$k"
done
expect "kills enough" [ "$killed" -ge "$kills" ]
echo "$killed kills, $((rounds + 1)) sweeps; one alone takes $millis ms"
finish
