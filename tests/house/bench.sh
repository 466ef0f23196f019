#!/bin/sh
# Each benchmark runs once on something small and prints one line of JSON with the fields that bench/compare.py reads; times are not looked at.
# Long: runs every benchmark.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2

. "$root/tests/expect.sh"

cat >"$work/check.py" <<'PY'
import json, math, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
o = json.loads(lines[0])
for text in ("task", "library", "precision", "precision_used", "real", "isa", "openblas_core", "version"):
    assert isinstance(o[text], str) and o[text], (text, o)
for number in ("threads", "repeat", "before_mb", "median_ms", "min_ms", "peak_mb"):
    assert math.isfinite(o[number]) and o[number] > 0, (number, o)
assert o["min_ms"] <= o["median_ms"] and o["before_mb"] <= o["peak_mb"], o
for field in sys.argv[2:]:
    name, value = field.split("=")
    assert str(o[name]).lower() == value, (field, o)
PY
# runs "FIELD=VALUE ..." PROGRAM ARGUMENT...
runs() {
    fields=$1 program=$2
    shift 2
    "$build/bench/$program" --threads 1 --warm 0 --repeat 1 "$@" >"$work/line" || return 1
    # shellcheck disable=SC2086 # several fields
    ! command -v python3 >/dev/null 2>&1 || python3 "$work/check.py" "$work/line" task="$program" threads=1 repeat=1 $fields
}
# The first run of all, and the medians of the first five and of runs 21 to 30 of 32, are fields of their own, whatever --warm says.
reports_first_runs() {
    "$build/bench/attention" --n 20 --heads 2 --width 8 --threads 1 --warm "$1" --repeat "$2" >"$work/line" || return 1
    ! command -v python3 >/dev/null 2>&1 || python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert all(o[field] > 0 for field in ("first_ms", "median_1_5_ms", "median_21_30_ms", "median_ms")), o
assert o["repeat"] == 32 - int(sys.argv[2]) and (int(sys.argv[2]) > 0 or o["first_ms"] >= o["min_ms"]), o' "$work/line" "$1"
}

data=graphs/data/debian.npz
for model in gcn sage gin gat gatv2; do
    expect "graph $model" runs "model=$model plain=false mode=train" graph --model $model --data $data --hidden 4
done
expect "graph, inference" runs "mode=infer heads=2 hidden=4 layers=3" graph --data $data --mode infer --layers 3 --hidden 4 --heads 2
expect "graph, no dropout" runs "plain=true" graph --model gcn --data $data --plain
expect "graph, as in the file" runs "order=file nodes=18169" graph --model gcn --data $data --hidden 4 --order file
expect "graph, renumbered" runs "order=renumbered nodes=18169" graph --model gcn --data $data --hidden 4
expect "spmm" runs "width=3 edges=133452" spmm --data $data --width 3
expect "attention" runs "n=50 heads=2 width=8 causal=false backward=false" attention --n 50 --heads 2 --width 8
expect "attention, the first runs" reports_first_runs 0 32
expect "attention, the first runs of a warm-up" reports_first_runs 20 12
expect "attention, causal, backward" runs "causal=true backward=true" attention --n 50 --heads 2 --width 8 --causal --backward
expect "attention, window" runs "window=5 precision=medium" attention --n 50 --heads 2 --width 8 --window 5 --backward --precision medium
expect "scores" runs "choice=rope n=20 most=3.0" scores --n 20 --heads 2 --width 8 --only rope
expect "scores, a graph per head" runs "n=20" scores --n 20 --heads 2 --width 8 --only "a graph per head"
expect "sweeps" runs "cell=lstm mode=train" sweeps --cell lstm --sequences 2 --length 5 --width 4
expect "sweeps, trees" runs "cell=tree mode=infer" sweeps --cell tree --mode infer --sequences 2 --length 5 --width 4
expect "dropout" runs "rows=9 width=13 rate=60" dropout --rows 9 --width 13
expect "encoder" runs "words=12 layers=2" encoder --batch 3 --words 4 --layers 2 --d 8 --heads 2 --ffn 16
expect "encoder, training, ragged" runs "ragged=true mode=train" encoder --mode train --ragged --batch 3 --layers 1 --d 8 --heads 2 --ffn 16
expect "encoder, the peer's number of words" runs "words=502" encoder --ragged --layers 1 --d 8 --heads 2 --ffn 16
expect "epochs" runs "epochs=2" epochs --data $data --epochs 2

python3 bench/peers/random_model.py --shape gpt2 --layers 1 --width 24 --vocabulary 50 --positions 4 --dtype BF16 --out "$work/model" 2>/dev/null
if [ -f "$work/model/model.safetensors" ]; then # NumPy was there
    expect "decode" runs "words=2 sequences=2 keep_16_bits=false" decode --model "$work/model" --sequences 2 --prompt 1 --words 2
    expect "decode onward" runs "words=1" decode --model "$work/model" --prompt 1 --words 1 --onward
    expect "decode in 16 bits" runs "keep_16_bits=true" decode --model "$work/model" --prompt 1 --words 2 --keep-16-bits
fi
model=${GNN_MINILM:-${XDG_CACHE_HOME:-$HOME/.cache}/gnn/all-MiniLM-L6-v2}
printf 'a man,"a ""man"", a plan",1.5\na,b,2\nc d,d c,5\n' >"$work/pairs.csv"
if [ -f "$model/model.safetensors" ]; then
    expect "sentences" runs "sentences=6 one=true" sentences --model "$model" --data "$work/pairs.csv" --one
    expect "the first sentence" runs "first=true" sentences --model "$model" --first
fi
expect "sentences without a model" exits 1 "$build/bench/sentences" --data "$work/pairs.csv"
expect "decode without a model" exits 1 "$build/bench/decode" --model "$work/none"

expect "--help" "$build/bench/graph" --help
expect "an order that there is not" exits 1 "$build/bench/graph" --data $data --order none
for wrong in "--precision low" "--repeat 0" "--layers x" "--none" "extra"; do
    # shellcheck disable=SC2086 # an option and its value
    expect "graph $wrong" exits 2 "$build/bench/graph" $wrong
done
expect "a missing file" exits 1 "$build/bench/graph" --data none.npz
expect "a model that there is not" exits 1 "$build/bench/graph" --data $data --model none
expect "a mode that there is not" exits 1 "$build/bench/encoder" --mode none

# ---- the scripts around them ----
if command -v python3 >/dev/null 2>&1; then
    export PYTHONDONTWRITEBYTECODE=1
    cp -r bench "$work/bench"
    rm -rf "$work/bench/results"
    expect "compare.py" sh -c 'cd "$1" && python3 bench/compare.py --build "$2" --name small --suite attention --only 1024-forward --rounds 1 --own-repeat 1 >table' - "$work" "$build"
    expect "its table" grep -q '^attention/1024-forward  *2 ' "$work/table"
    expect "its results" python3 -c 'import json, sys
row = json.loads(open(sys.argv[1]).read())
assert row["who"] == "libgnn" and row["round"] == 1 and row["processor"] and row["date"] and "commit" in row, row' "$work/bench/results/small.jsonl"
    sed 's/"who": "libgnn"/"who": "torch"/; s/"median_ms": /"median_ms": 9/' "$work/bench/results/small.jsonl" >"$work/peer"
    cat "$work/peer" >>"$work/bench/results/small.jsonl"
    expect "nothing runs again" sh -c 'cd "$1" && python3 bench/compare.py --resume --build none --name small --suite attention --only 1024-forward --rounds 1 >table' - "$work"
    expect "a ratio over 1" sh -c 'awk "/^attention/ { exit !(\$8 == \"torch\" && \$12 > 1) }" "$1/table"' - "$work"
    expect "chart.py" python3 "$work/bench/chart.py" --name small --out "$work/small.svg"
    expect "its picture" grep -q '</svg>' "$work/small.svg"
    for script in bench/peers/*.py; do
        expect "$script is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script"
    done
fi
finish
