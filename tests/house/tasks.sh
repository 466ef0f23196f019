#!/bin/sh
# What gnn citation takes a set for: labels of every kind, links by direction, recipes by what is in a file and not by its name, archives within archives.
# Long: trains on sets of many kinds.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
gnn=$build/gnn
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

command -v python3 >/dev/null 2>&1 || { echo "SKIP python3 is not there" && finish; }

# Sets of 90 nodes on a ring with chords; a node's class is told by its words. Python's own library writes them.
cat >make.py <<'PY'
import struct, zipfile, io, random
N, WORDS = 90, 12
def npy(code, shape, values, letter):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (code, shape)).encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%d%s" % (len(values), letter), *values)
def save(path, **arrays):
    with zipfile.ZipFile(path, "w") as z:
        for name, (code, shape, values, letter) in arrays.items():
            z.writestr(name + ".npy", npy(code, shape, values, letter))
def ints(values, shape=None): return ("<i8", shape or (len(values),), values, "q")
def reals(values, shape=None): return ("<f4", shape or (len(values),), values, "f")
draw = random.Random(3)
kind = [i % 3 for i in range(N)]
x = [float(draw.random() < (0.8 if w % 3 == kind[i] else 0.1)) for i in range(N) for w in range(WORDS)]
pairs = [(i, (i + 3) % N) for i in range(N)] + [(i, (i + 6) % N) for i in range(N)]
csr = [[] for _ in range(N)]
for a, b in pairs: csr[b].append(a)
ptr = [0]
for row in csr: ptr.append(ptr[-1] + len(row))
links = dict(edge_index=ints([a for a, b in pairs] + [b for a, b in pairs], (2, len(pairs))))
rows = dict(adj_indptr=ints(ptr), adj_indices=ints([a for row in csr for a in row]), adj_shape=ints([N, N]))
both = lambda labels, edges=links: dict(x=reals(x, (N, WORDS)), y=labels, **edges)
save("classes.npz", **both(ints(kind)))
save("column.npz", **both(ints(kind, (N, 1))))
save("one_hot.npz", **both(reals([float(k == c) for k in kind for c in range(3)], (N, 3))))
save("several.npz", **both(ints([int(k == c or k == 2) for k in kind for c in range(4)], (N, 4))))
save("real.npz", **both(reals([1000.0 + 50 * k for k in kind])))
save("reals.npz", **both(reals([v for k in kind for v in (1000.0 + 50 * k, -0.001 * k)], (N, 2))))
save("wrong.npz", **both(ints([k + c for k in kind for c in range(2)], (N, 2))))
save("one.npz", **both(ints([0] * N)))
save("csr.npz", **both(ints(kind), rows))
save("cora.npz", **both(ints(kind)))
# 20 labels of 400 nodes in 8 groups, whose 240 words are rare; and 240 nodes of 3 classes with 40
# links each.
groups = [[g for g in range(8) if draw.random() < 0.3] for _ in range(400)]
of = [draw.sample(range(8), 2) for _ in range(20)]
words = [float(draw.random() < (0.4 if w % 8 in groups[i] else 0.02)) for i in range(400) for w in range(240)]
ends = [(i, j) for i in range(400) for j in range(i) if draw.random() < 0.02 * len(set(groups[i]) & set(groups[j]))]
save("labels.npz", x=reals(words, (400, 240)), y=ints([int(all(g in groups[i] for g in of[k])) for i in range(400) for k in range(20)], (400, 20)),
     edge_index=ints([a for a, b in ends] + [b for a, b in ends], (2, len(ends))))
ends = [(i, j) for i in range(240) for j in range(i) if draw.random() < (0.35 if i % 3 == j % 3 else 0.08)]
save("dense.npz", x=reals([draw.gauss(0.5 * (i % 3 == c % 3), 1) for i in range(240) for c in range(6)], (240, 6)), y=ints([i % 3 for i in range(240)]),
     edge_index=ints([a for a, b in ends] + [b for a, b in ends], (2, len(ends))))
# Amounts, most of them 0, in 10 columns from hundredths to ten millions, where the smallest tell
# the classes; dense and sparse.
amounts = [[draw.random() < 0.35 and 10.0 ** (c - 2) * (0.2 + draw.random() + 4 * (c < 6 and c % 3 == kind[i])) for c in range(10)] for i in range(N)]
stored = [[c for c in range(10) if row[c]] for row in amounts]
ptr = [0]
for row in stored: ptr.append(ptr[-1] + len(row))
save("amounts.npz", x=reals([float(v) for row in amounts for v in row], (N, 10)), y=ints(kind), **links)
save("ledger.npz", attr_indptr=ints(ptr), attr_indices=ints([c for row in stored for c in row]), attr_shape=ints([N, 10]),
     attr_data=reals([row[c] for row, cs in zip(amounts, stored) for c in cs]), y=ints(kind), **links)
with zipfile.ZipFile("in.zip", "w") as z: z.write("classes.npz")
with zipfile.ZipFile("classes.npz") as a, zipfile.ZipFile("mac.npz", "w") as z:
    for name in a.namelist(): z.writestr(name, a.read(name))
    z.writestr("__MACOSX/._x.npy", b"Mac OS X        ")
with zipfile.ZipFile("classes.npz") as a, zipfile.ZipFile("folder.npz", "w") as z:
    for name in a.namelist(): z.writestr("set/" + name, a.read(name))
PY
expect "sets" python3 make.py

train() {
    file=$1
    shift
    "$gnn" citation --data "$file" --layer mlp --epochs 150 --threads 1 "$@" >out 2>&1 || { cat out && return 1; }
    cat out
}
# gives SET WORDS OPTION...: trains on it and prints these words.
gives() {
    file=$1 words=$2
    shift 2
    train "$file" "$@" && grep -qF -- "$words" out
}
# refuses SET WORDS OPTION...
refuses() {
    file=$1 words=$2
    shift 2
    "$gnn" citation --data "$file" --layer mlp --epochs 2 "$@" >out 2>&1
    code=$?
    [ $code -ne 0 ] && grep -qF -- "$words" out || { echo "exit status $code:" && cat out && return 1; }
}
# value NAME: of the last line's "NAME 12.3".
value() {
    sed -nE "s/^test .*$1 (-?[0-9.e+-]+).*/\1/p" out
}
above() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }' || { echo "$1 is not above $2" && return 1; }
}

# ---- labels ----
expect "classes" gives classes.npz "3 classes; "
expect "are learnt" above "$(value accuracy)" 80
expect "classes in a column" gives column.npz "3 classes; "
expect "one-hot classes" gives one_hot.npz "3 classes; "
expect "several labels" gives several.npz "4 labels of 0 or 1 per node; " --predict several.csv --save several.model
expect "are learnt, micro-F1" above "$(value micro-F1)" 80
expect "and said by ROC-AUC, too" above "$(value 'mean ROC-AUC')" 80
expect "a column for each label and what was predicted" sh -c 'head -n 1 several.csv | grep -qx "node,probability.0,probability.1,probability.2,probability.3,label.0,label.1,label.2,label.3"'
expect "a saved model has the same figures" sh -c '"$1" citation --data several.npz --load several.model | grep -q "$(grep "^test" "$2/out" | cut -d" " -f1-3)"' - "$gnn" "$work"
expect "measured by ROC-AUC" gives several.npz "test mean ROC-AUC" --metric auc
expect "real values" gives real.npz "1 real value per node to predict (whole ones: integers would be classes); " --save real.model --predict real.csv
expect "are learnt on their own scale" above 25 "$(value MAE)"
expect "of which most is explained" above "$(value R2)" 0.5
expect "predictions have it" awk -F, 'NR > 1 && ($2 < 900 || $2 > 1200) { exit 1 }' real.csv
expect "a saved model keeps the scale" sh -c '"$1" citation --data real.npz --load real.model | grep -q "$(grep "^test" "$2/out" | cut -d" " -f1-3)"' - "$gnn" "$work"
expect "two real values" gives reals.npz "2 real values per node to predict; " --metric r2
expect "both are learnt" above "$(value R2)" 0.5
expect "drawn splits of real values" gives real.npz "over 3 splits" --draw-splits 3
expect "classes as the values that they are" gives classes.npz "test MAE" --task real
expect "JSON" sh -c '"$1" citation --data real.npz --layer gcn --epochs 3 --json 2>/dev/null | python3 -c "import json, sys; o = json.load(sys.stdin); assert o[\"metric\"] == \"MAE\" and \"R2\" in o and \"R2\" in o[\"runs\"][0], o"' - "$gnn"
for layer in gcn sage gin gat gatv2 transformer sgc appnp gcn2 resgat; do
    expect "$layer on several labels" "$gnn" citation --data several.npz --layer $layer --epochs 2 --threads 1
    expect "$layer on real values" "$gnn" citation --data reals.npz --layer $layer --epochs 2 --threads 1
done
for layer in gcn sage gin gat gatv2 mlp; do
    expect "$layer in residual blocks" "$gnn" citation --data classes.npz --layer $layer --form residual --epochs 2 --threads 1
done

# ---- refused by name ----
expect "integers that are neither" refuses wrong.npz "wrong.npz: y: 2 at row"
expect "one class alone" refuses one.npz "one has one class, there is nothing to tell apart"
expect "a measure of classes" refuses real.npz "--metric accuracy does not fit real, which has real values: mae, rmse or r2" --metric accuracy
expect "a measure of values" refuses classes.npz "--metric mae does not fit classes, which has classes: accuracy, f1 or auc" --metric mae
expect "a task that the labels are not" refuses real.npz "--task classes does not fit real" --task classes
expect "a table of classes" refuses several.npz "--report: has no effect where there are no classes" --report
expect "nodes of each class" refuses real.npz "--train-each: has no effect where there are no classes" --draw-splits 2 --train-each 5
expect "an archive in an archive" refuses in.zip "in.zip: is a zip archive that holds classes.npz: unpack it first"
expect "arrays in a folder" refuses folder.npz "holds set/x.npy: arrays are expected outside of folders"
expect "what macOS adds is passed over" gives mac.npz "3 classes; "

# ---- direction ----
expect "an edge_index both ways" gives classes.npz "360 messages (links both ways)"
expect "CSR both ways" gives csr.npz "360 messages (links both ways)"
expect "an edge_index as stored" gives classes.npz "180 messages (links as stored)" --directed
expect "CSR as stored" gives csr.npz "180 messages (links as stored)" --directed
expect "links of a directed set" sh -c '"$1" links --data classes.npz --directed --epochs 2 | grep -q "180 messages (links as stored)"' - "$gnn"
expect "a directed set is converted" sh -c '"$1" convert classes.npz directed.npz --directed | grep -q "180 messages (links as stored)"' - "$gnn"
expect "and stays directed" gives directed.npz "180 messages (links as stored)"
expect "the karate club has none" exits 2 "$gnn" citation --directed

# ---- recipes ----
recipe_of() {
    "$gnn" citation --data "$1" --layer "$2" --epochs 2 --threads 1 | sed -n '/^set: /p; /^recipe /p'
}
for layer in gcn gat sgc gcn2; do
    recipe_of classes.npz $layer >by_one_name
    recipe_of cora.npz $layer >by_another
    expect "$layer has a recipe" grep -q "^recipe for $layer (" by_one_name
    expect "which does not hang on the file's name" cmp by_one_name by_another
done
expect "what is told of the set" grep -Eq '^set: features 0 or 1, [0-9]+ of 90 nodes to learn from, 4.0 messages per node, homophily 1.00' by_one_name
expect "the loss is watched" gives classes.npz "watches loss" --watch loss
expect "the metric is watched" gives classes.npz "watches metric" --watch metric
expect "rows of length 1" gives classes.npz "features rows of length 1" --recipe general
for set in amounts ledger; do
    "$gnn" citation --data $set.npz --layer gcn --epochs 150 --threads 1 >out 2>&1
    expect "$set: amounts in different units" grep -q "^set: features amounts in different units" out
    expect "whose columns are standardised" grep -q "features columns of mean 0 and variance 1" out
    expect "are learnt" above "$(value accuracy)" 60
done
for layer in mlp gat sage; do
    expect "$layer learns many rare labels by its recipe" "$gnn" citation --data labels.npz --layer $layer --epochs 100 --threads 1
    "$gnn" citation --data labels.npz --layer $layer --epochs 100 --threads 1 >out 2>&1
    expect "and reaches what they allow" above "$(value micro-F1)" 40
done
"$gnn" citation --data dense.npz --layer gin --epochs 60 --threads 1 >out 2>&1
expect "gin learns on a graph of many links" above "$(value accuracy)" 75
expect "by residual blocks" grep -qF "sums over neighbours want norms: residual blocks" out

# ---- short trainings that validation judges ----
untimed() {
    "$gnn" citation --threads 1 --epochs 40 "$@" 2>&1 | sed 's/, [0-9.]* s)/)/'
}
untimed --data dense.npz --layer mlp --trial 20 >one
untimed --data dense.npz --layer mlp --trial 20 >two
expect "their figures are told" grep -Eq "^split 0, validation accuracy after 20 epochs: recipe [0-9.]+; features unscaled [0-9.]+" one
expect "and come out the same again" cmp one two
expect "half of the epochs at most" gives classes.npz "validation accuracy after 75 epochs: "
expect "so many as are asked for" gives classes.npz "validation accuracy after 9 epochs: " --trial 9
expect "none where nothing is to be chosen" refuses classes.npz "--trial: has no effect: the recipe (as asked for) has no alternative" --recipe paper --trial 5
for own in "--trial 0" "--scale rows" "--recipe paper" "--recipe general"; do
    untimed --data classes.npz --layer mlp $own >one
    expect "none with $own" sh -c '! grep -q "validation accuracy after" one && grep -q "^test accuracy" one'
done
untimed --data labels.npz --layer gcn --trial 5 >one
expect "the other form is tried" grep -Eq "; residual blocks [0-9.]+" one
untimed --data labels.npz --layer gcn --trial 5 --form plain --hidden 8 >one
expect "not beside a form that is asked for" sh -c '! grep -q "residual blocks" one && grep -q "hidden 8" one'
untimed --data classes.npz --layer mlp --save scaled.model >one
scale=$(sed -n 's/.*with --scale \([a-z]*\),.*/\1/p' one)
for own in "" "--scale $scale"; do
    expect "a saved model is read with the features that it was trained on: $own" sh -c '"$1" citation --data classes.npz --load scaled.model $2 2>/dev/null | grep -q "$(grep "^test" one | cut -d" " -f1-3)"' - "$gnn" "$own"
done
expect "and not with others" exits 1 "$gnn" citation --data classes.npz --load scaled.model --scale none
expect "and says so" grep -q "scale none: the model of scaled.model was trained with $scale" last

# The graph of a loaded model is made as in its training.
"$gnn" citation --layer gcn --epochs 3 --trial 0 --diffusion ppr --save diffused.model >/dev/null 2>&1
expect "a model of a diffused graph" says "in the training of diffused.model (directed=0,diffusion=ppr,alpha=0.05" 1 \
    "$gnn" citation --load diffused.model
expect "with its options" says "test accuracy" 0 "$gnn" citation --load diffused.model --diffusion ppr
expect "one of the drawn splits" says "--draw-splits: a saved model is evaluated on one split" 1 \
    "$gnn" citation --load diffused.model --diffusion ppr --draw-splits 2
expect "that is named" says "test accuracy" 0 "$gnn" citation --load diffused.model --diffusion ppr --draw-splits 2 --split 1
"$gnn" explain --scale rows --epochs 3 --save explained.model >/dev/null 2>&1
expect "explain takes a model's scale" says "--scale columns: the model of explained.model was trained with rows" 1 \
    "$gnn" explain --load explained.model --scale columns
for decoder in dot bilinear distance product mlp; do
    expect "dropout with $decoder" says "test AUC" 0 "$gnn" links --epochs 3 --dropout 0.5 --decoder $decoder
done
untimed --data labels.npz --layer gcn --trial 5 --checkpoint tried >one
untimed --data labels.npz --layer gcn --trial 5 --checkpoint tried --resume >two
expect "a resumed training keeps what trials chose" sh -c 'grep -q "after 5 epochs" one && ! grep -q "after 5 epochs" two && [ "$(grep ^test one)" = "$(grep ^test two)" ]'

# ---- classes meet by name ----
printf '%s\n' "0 1" "1 2" "2 3" "3 4" "4 5" "5 6" "6 7" >pets.txt
printf '%s\n' 0 1 0 1 0 1 0 1 >pets.csv
printf '%s\n' cat dog cat dog cat dog cat dog >pets.labels.csv
sed 's/dog/ant/' pets.labels.csv >others.labels.csv
for set in pets others; do
    "$gnn" convert pets.txt $set.npz --features pets.csv --labels $set.labels.csv >one 2>&1
done
untimed --data pets.npz --layer mlp --save pets.model >one
expect "a model is evaluated on its classes" "$gnn" citation --data pets.npz --load pets.model
expect "and not on others of the same count" exits 1 "$gnn" citation --data others.npz --load pets.model
expect "which it names" grep -q 'class 0 is "ant" in others, "cat" in the training of pets.model' last
finish
