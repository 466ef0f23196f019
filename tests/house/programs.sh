#!/bin/sh
# Every program ends with an error if its standard output is not written, refuses numbers that are
# none by name, and looks at its outputs before it trains.
# Long: runs every program with wrong arguments and full disks.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

programs=$build/examples gnn=$build/gnn
printf '0 1\n1 2\n' >a.edges
printf 'good\tfine and good\nbad\tsad and bad\ngood\tgood good\nbad\tbad bad\n' >words.txt

seq 0 59 | sed 's/.*/1,&/' >x.csv
seq 0 59 | awk '{ print $1 % 3 }' >y.csv
seq 0 58 | awk '{ print $1, $1 + 1 }' >b.edges
expect "a small set" "$gnn" convert b.edges set.npz --features x.csv --labels y.csv

# convert writes .npz and nothing else: two inputs by mistake leave the second as it is.
cp b.edges c.edges
expect "an output that is no .npz" exits 2 "$gnn" convert a.edges c.edges --features x.csv --labels y.csv
expect "says what is expected" grep -q 'c.edges is to be written: a name that ends in .npz' last
expect "the other file is as it was" cmp b.edges c.edges
cp set.npz same.npz
expect "the input as output" exits 2 "$gnn" convert same.npz same.npz
expect "is as it was" cmp set.npz same.npz
expect "a set without labels" "$gnn" convert a.edges none.npz --features x.csv
expect "opens again" "$gnn" convert none.npz
expect "and says so" grep -q 'no labels' last
expect "labels that are needed" exits 1 "$gnn" citation --data none.npz --epochs 1
expect "names what is missing" grep -q 'has no labels: gnn convert adds them' last

# partition prints before it writes, keeps folders that exist, and refuses what it cannot divide.
expect "a partition without a folder" "$gnn" partition set.npz --parts 1
expect "shows the parts" grep -q '^edges between parts: 0.0%' last
expect "more parts than slices" exits 1 "$gnn" partition set.npz --parts 2
expect "says so" grep -q 'expected at most 1, the slices of 512 rows of 60 nodes, got 2' last
expect "a folder" "$gnn" partition set.npz folder --parts 1 --heatmap traffic.svg
expect "is a set" "$gnn" convert folder again.npz
expect "that is the first" sh -c "'$gnn' convert set.npz first.npz && cmp first.npz again.npz"
expect "with a picture" grep -q '</svg>' traffic.svg
expect "a folder that exists" exits 2 "$gnn" partition set.npz folder --parts 1
expect "is named" grep -q 'folder exists: a new folder is expected' last
expect "neither parts nor a forecast" exits 2 "$gnn" partition set.npz
expect "names both" grep -q -- '--parts or --forecast is expected' last
expect "a bandwidth without a forecast" exits 2 "$gnn" partition set.npz --parts 1 --bandwidth 1
expect "a forecast" "$gnn" partition set.npz --forecast --step-seconds 2
expect "of one machine" grep -Eq '^ +1 .* 2.0000 +100% +100%$' last
printf 'x' >bad.npy
expect "an assignment that is no array" exits 1 "$gnn" partition set.npz --parts 1 --assignment bad.npy

# unwritten NAME COMMAND...: the command fails, and says why, on a full disk and with standard
# output closed.
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

unwritten "citation" "$gnn" citation --data set.npz --layer mlp --epochs 1
unwritten "citation --json" "$gnn" citation --data set.npz --layer mlp --epochs 1 --json
unwritten "citation --help" "$gnn" citation --help
unwritten "links" "$gnn" links --epochs 2
unwritten "links --json" "$gnn" links --epochs 2 --json
unwritten "explain" "$gnn" explain --data shapes --epochs 1 --node 300
unwritten "explain --json" "$gnn" explain --data shapes --epochs 1 --node 300 --json
unwritten "convert" "$gnn" convert a.edges
unwritten "own_data" "$programs/own_data"
unwritten "sentence" "$gnn" sentence --epochs 1
unwritten "sentence --data" "$gnn" sentence --data words.txt --validation words.txt --test words.txt --epochs 1 --min-count 1
unwritten "inspect" "$gnn" inspect
unwritten "inspect --json" "$gnn" inspect --json
unwritten "graphs" "$gnn" graphs --data motifs --epochs 1 --most-folds 1
unwritten "graphs --json" "$gnn" graphs --data motifs --epochs 1 --most-folds 1 --json
unwritten "decode" "$programs/decode"
unwritten "descriptions --help" "$gnn" descriptions --help
unwritten "embed --help" "$gnn" embed --help
unwritten "finetune --help" "$gnn" finetune --help
for program in minimal new_aggregator own_tape tutorial/tutorial_aggregators tutorial/tutorial_gat tutorial/tutorial_gcn tutorial/tutorial_topologies \
    tutorial/tutorial_transformer gat_cpp; do
    [ -x "$programs/$program" ] || { [ "$program" = gat_cpp ] && echo "SKIP gat_cpp: no C++ compiler" && continue; }
    expect "$program on a full disk" full "$programs/$program"
    expect "$program with standard output closed" closed "$programs/$program"
done
for program in "$programs"/* "$programs"/tutorial/*; do
    [ ! -f "$program" ] || [ ! -x "$program" ] || grep -q "[ /\"]$(basename "$program")\b" "$root/tests/house/programs.sh" ||
        expect "$(basename "$program") is looked at here" false
done
# With standard output closed, the log must not take its number.
expect "a log with standard output closed" closed "$gnn" citation --data set.npz --layer mlp --epochs 3 --log closed.csv --report
expect "has a line for each epoch and no more" sh -c 'test $(wc -l <closed.csv) -eq 4'

# ---- numbers ----
refused() {
    option=$1
    shift
    for value in abc 99999999999999999999 -1 1e999 nan 1e3x "" 2.9.1; do
        "$@" "$option" "$value" >out 2>&1
        [ $? -eq 2 ] && grep -q -- "${option#--}" out || { echo "$option \"$value\":" && cat out && return 1; }
    done
}
# Every option of the table behind --help that takes a number.
numbers_refused() {
    for option in $("$@" --help | sed -nE 's/^ +(--[a-z0-9-]+) [NR]( .*)?$/\1/p'); do
        refused "$option" "$@" || return 1
        counted=$((counted + 1))
    done
}
for program in citation explain graphs inspect links sentence translate write embed finetune; do
    counted=0
    expect "every number of $program" numbers_refused "$gnn" "$program"
    expect "$program has some" test $counted -gt 0
done
counted=0
expect "every number of sentence --data" numbers_refused "$gnn" sentence --data words.txt
expect "of which there are ten or more" test $counted -ge 10
expect "citation --splits" refused --splits "$gnn" citation
expect "a node that is none" exits 1 "$gnn" explain --data shapes --epochs 1 --node 700
expect "a method that is not one of them" exits 2 "$gnn" explain --data shapes --epochs 1 --method guess
expect "an infinite learning rate" exits 2 "$gnn" sentence --data words.txt --lr 1e999
expect "a layer that is not one of them" exits 2 "$gnn" citation --layer gnn
expect "lists the layers" grep -q '"gnn" is none of gcn|sage' last
expect "ROC AUC of many classes" exits 1 "$gnn" citation --data set.npz --metric auc --epochs 1
expect "says how many" grep -q 'the set has 3' last

# ---- options that go together ----
# said WORDS STATUS COMMAND...: the command exits with STATUS and says WORDS.
said() {
    words=$1 status=$2
    shift 2
    "$@" >out 2>&1
    code=$?
    [ $code -eq "$status" ] && grep -qF -- "$words" out || { echo "exit status $code:" && cat out && return 1; }
}
expect "a saved model" "$gnn" citation --data set.npz --layer mlp --epochs 1 --save m
expect "a saved model trains no more" said "--epochs: has no effect with --load" 2 "$gnn" citation --data set.npz --load m --epochs 3
expect "more splits than there are" said "--splits: 3 were asked for, set has 1" 1 "$gnn" citation --data set.npz --splits 3
seq 0 58 | awk '{ print $1, $1 + 1, 1 + $1 % 3 }' >w.edges
expect "a set with weights" "$gnn" convert w.edges w.npz --features x.csv --labels y.csv
for layer in gat sage mlp; do
    expect "weights that $layer does not read" said 'citation: this network does not read the values on edges "weight" of w' 0 "$gnn" citation --data w.npz --layer $layer --epochs 1
done
for layer in gcn sgc appnp gcn2; do
    expect "$layer without weights" "$gnn" citation --data set.npz --layer $layer --epochs 2 --trial 0 --log plain.csv
    expect "$layer with weights" "$gnn" citation --data w.npz --layer $layer --epochs 2 --trial 0 --log weighted.csv
    expect "are read" sh -c '! cmp -s plain.csv weighted.csv && ! grep -q "does not read" last'
done
expect "weights that links does not read" said 'links: this network does not read the values on edges "weight" of w' 0 "$gnn" links --data w.npz --epochs 1
expect "links alone" said "a has no features: gnn convert adds them" 1 "$gnn" citation --data a.edges
expect "links of a set" "$gnn" links --data set.npz --epochs 2 --save l --predict l.csv --log log.csv --curve l.svg --test-share 0.2 --validation-share 0.2
expect "scores of links and of as many other pairs" test "$(grep -c ",1," l.csv)" -eq "$(grep -c ",0," l.csv)"
expect "a saved decoder is measured" "$gnn" links --data set.npz --load l --test-share 0.2
expect "a saved decoder trains no more" said "--decoder: has no effect with --load" 2 "$gnn" links --data set.npz --load l --decoder mlp
printf '0 1\n' >one.edges && printf '1\n2\n3\n' >one.csv && printf '0.5\n1.5\n2.5\n' >real.csv
"$gnn" convert one.edges one.npz --features one.csv --labels real.csv >/dev/null
expect "links without a validation link" said "the split has no link for validation" 1 "$gnn" links --data one.npz --epochs 2
expect "explain: real values" said "one has real values as labels: features and a class per node are expected" 1 "$gnn" explain --data one.npz --epochs 2
expect "links without features" said "a has no features: gnn convert adds them" 1 "$gnn" links --data a.edges
expect "no such layer" said "is none of gcn|" 2 "$gnn" links --layer gnn --epochs 1
expect "a saved reader" "$gnn" sentence --data words.txt --validation words.txt --epochs 1 --min-count 1 --save r
expect "a saved reader wants sentences" said "--load: --sentence or --test is expected, too" 2 "$gnn" sentence --load r
expect "a saved reader has its width" said "--width: has no effect without --data" 2 "$gnn" sentence --load r --width 8 --sentence good
expect "four sentences" said "words.txt has too few sentences to hold out a tenth: --validation FILE is expected, too" 1 "$gnn" sentence --data words.txt
seq 60 | awk '{ print ($1 == 10 ? "rare" : $1 % 2 ? "good" : "bad") "\t" ($1 % 2 ? "fine" : "sad") " words " $1 % 7 }' >turns.txt
expect "the sentence of a rare class is not held out" said "56 sentences to learn from, 4 held out; 168 words in all, 10 of them known; 3 classes" 0 "$gnn" sentence --data turns.txt --epochs 1 --min-count 1 --threads 1
seq 20 | awk '{ print "good\tfine words " $1 }' >same.txt
expect "sentences of one class" said "sentence: same.txt has one class, there is nothing to tell apart" 1 "$gnn" sentence --data same.txt --epochs 1
expect "no packages" said "descriptions: --data FILE.npz is expected" 2 "$gnn" descriptions

# ---- arguments that the set or the model decides: refused before the training ----
# early WORDS COMMAND...: the command exits with 1 within seconds, though its training takes days.
early() {
    words=$1
    shift
    said "$words" 1 timeout 20 "$@" --threads 1
}
long=100000000
seq 400 | awk '{ w = $1 % 7; print ($1 % 2 ? "good" : "bad") "\t" ($1 % 2 ? "fine" : "sad") " words number " w }' >many.txt
expect "explain: a node" early "--node 700, ba-shapes has nodes 0 to 699" "$gnn" explain --data shapes --epochs $long --node 700
expect "explain: a method without its layers" early "no step of the model attends" "$gnn" explain --data shapes --epochs $long --method attention
printf x >later.split0-seed1
expect "citation: a checkpoint of a later run" early "--resume goes on" "$gnn" citation --data set.npz --epochs $long --patience 0 --seeds 2 --checkpoint later
expect "graphs: folds" early "--most-folds: got 11 of 10 folds" "$gnn" graphs --data motifs --epochs 1000000 --most-folds 11
printf 'good\tfine\nugly\tugly\n' >other.txt
expect "sentence: a class of the test" early other.txt "$gnn" sentence --data many.txt --min-count 1 --epochs 1000000 --patience 1000000 --test other.txt
expect "sentence: a sentence without words" early "no words" "$gnn" sentence --data many.txt --min-count 1 --epochs 1000000 --patience 1000000 --sentence " "
mkdir held.words held.tokenizer.json
expect "sentence: the vocabulary's file" early "held.words: is a folder" "$gnn" sentence --data many.txt --epochs 1000000 --save held
expect "write: the tokenizer's file" early "held.tokenizer.json: is a folder" "$gnn" write --epochs 1000000 --save held
expect "translate: the tokenizer's file" early "held.tokenizer.json: is a folder" "$gnn" translate --epochs 1000000 --save held
expect "translate: a layer" early "--show-layer: got 2, the model has layers 0 to 1" "$gnn" translate --epochs 1000000 --sentence zwei --heatmap x.svg --show-layer 2
expect "translate: a head" early "--show-head: got 4, the model has heads 0 to 3" "$gnn" translate --epochs 1000000 --sentence zwei --heatmap x.svg --show-head 4
printf '\037\213x' >broken.gz
expect "translate: lines" early broken.gz "$gnn" translate --epochs 1000000 --input broken.gz
expect "inspect: a head" early "--show-head: got 4, the model has heads 0 to 3" "$gnn" inspect --show-head 4

# ---- translate and write ----
unwritten "translate" "$gnn" translate --epochs 1 --threads 1 --width 16 --json
unwritten "write" "$gnn" write --epochs 1 --threads 1
expect "one text alone" said "--source: has no effect without --target" 2 "$gnn" translate --source words.txt
expect "a width that heads do not share" said "translate: --width 30 is not an even multiple of --heads 4" 2 "$gnn" translate --width 30
printf 'eins\n' >one.txt
expect "translate without held-out lines" "$gnn" translate --source words.txt --target words.txt --epochs 1 --threads 1 --width 16 --save plain
expect "says nothing of them" sh -c 'grep -q "epoch 1 of 1: loss [0-9.]*, rate" last'
expect "texts of different lengths" said "words.txt has 4 lines and one.txt 1" 1 "$gnn" translate --source words.txt --target one.txt
expect "a model that is not there" said "none.safetensors" 1 "$gnn" write --load none.safetensors

# measured KEY LOW HIGH COMMAND...: the JSON object on standard output says so.
measured() {
    key=$1 low=$2 high=$3
    shift 3
    "$@" >out 2>words || { cat words && return 1; }
    awk -v key="\"$key\": " -v low="$low" -v high="$high" '
        { at = index($0, key); if (at) value = substr($0, at + length(key)) + 0; found = at }
        END { exit !(found && value >= low && value <= high) }' out || { cat out && return 1; }
}
expect "translate learns numbers" measured bleu 50 100 "$gnn" translate --epochs 2 --threads 1 --json --save numbers
expect "and reads them again" measured bleu 0 100 "$gnn" translate --load numbers --threads 1 --json --beams 3 \
    --test-source one.txt --test-target one.txt
expect "a penalty of no beams" said "--length-penalty: has no effect with --beams 1" 2 "$gnn" translate --load numbers --beams 1 --length-penalty 2 \
    --test-source one.txt --test-target one.txt
expect "a translation looked at" "$gnn" translate --load numbers --threads 1 --sentence "zwei plus drei" --heatmap cross.svg --html cross.html
expect "with words on both axes" sh -c 'test -s last && for word in drei $(cat last); do grep -q ">$word</text>" cross.svg || exit 1; done'
expect "and a page that ends" grep -q '^</html>' cross.html
expect "a head that is not there" exits 1 "$gnn" translate --load numbers --threads 1 --sentence zwei --show-head 9 --heatmap cross.svg
expect "pictures of no sentence" said "--html: has no effect without --sentence" 2 "$gnn" translate --load numbers --html cross.html
expect "translate by hard attention" measured bleu 40 100 "$gnn" translate --score hard --epochs 3 --threads 1 --json --save hard
expect "and reads it again" measured bleu 0 100 "$gnn" translate --load hard --threads 1 --json --test-source one.txt --test-target one.txt
expect "a score that there is not" exits 2 "$gnn" translate --score loud
expect "says which there are" grep -q 'is none of scaled' last
printf 'zwei plus drei\nfünf mal acht\n' >sums.txt
expect "translates lines" "$gnn" translate --load numbers --threads 1 --input sums.txt
expect "with a line for each" sh -c 'test $(wc -l <last) -eq 2'
expect "translates a pipe" sh -c 'cat sums.txt | "$1" translate --load numbers --threads 1 --input -' - "$gnn"
expect "with a line for each, too" sh -c 'test $(wc -l <last) -eq 2'
expect "a zero byte in a pipe" said "standard input: line 2: a zero byte (byte 15), text is expected" 1 sh -c 'printf "zwei plus drei\n\0 mal acht\n" | "$1" translate --load numbers --threads 1 --input -' - "$gnn"
expect "standard input is read as a stream" sh -c '! grep -n "dev/stdin" "$1"/examples/programs/*.c' - "$root"
expect "write learns a rhyme" measured nats_per_character 0 1 "$gnn" write --epochs 6 --threads 1 --json --save rhyme
expect "which it did not know" measured nats_per_character 1.2 6 "$gnn" write --epochs 1 --threads 1 --json
expect "a seed by which nothing is drawn" said "--seed: has no effect without training and sampling" 2 "$gnn" write --load rhyme --temperature 0 --seed 3
expect "a saved model writes" "$gnn" write --load rhyme --length 20 --threads 1 --temperature 0
printf 'A node hears a node and a node hears a word, a word hears a word and a word can be heard.\n' >rhyme.txt
expect "and is measured as before" measured nats_per_character 0 1 "$gnn" write --load rhyme --data rhyme.txt --validation-share 0.9 --threads 1 --json

# stopped NAME OPTION...: stopped by Ctrl-C after a second and resumed, it saves what it saves when
# it is not stopped.
stopped() {
    "$@" --threads 1 --save whole >out 2>&1 || { cat out && return 1; }
    timeout --foreground -s INT 1 "$@" --threads 1 --save parts --checkpoint parts.ckpt >out 2>&1
    "$@" --threads 1 --save parts --checkpoint parts.ckpt --resume >out 2>&1 || { cat out && return 1; }
    cmp whole parts
}
expect "translate resumes to the same bits" stopped "$gnn" translate --epochs 2

# interrupted SIGNAL COMMAND...: stopped while it trains, it exits with 130. In the foreground
# timeout sends one signal; else the group gets another, and the second one ends a program at once.
interrupted() {
    signal=$1
    shift
    timeout --foreground --preserve-status -s "$signal" 2 "$@" >out 2>&1
    code=$?
    [ $code -eq 130 ] || { echo "exit status $code:" && cat out && return 1; }
}
expect "Ctrl-C ends citation" interrupted INT "$gnn" citation --data set.npz --epochs 100000000 --patience 0 --threads 1
expect "SIGTERM too" interrupted TERM "$gnn" citation --data set.npz --epochs 100000000 --patience 0 --threads 1
expect "Ctrl-C ends links" interrupted INT "$gnn" links --epochs 1000000 --threads 1
expect "Ctrl-C ends graphs" interrupted INT "$gnn" graphs --data motifs --epochs 1000000 --threads 1
expect "Ctrl-C ends explain" interrupted INT "$gnn" explain --data shapes --epochs 100000000 --node 300 --threads 1
expect "Ctrl-C ends sentence" interrupted INT "$gnn" sentence --epochs 1000000 --threads 1
expect "Ctrl-C ends translate" interrupted INT "$gnn" translate --epochs 1000000 --threads 1
expect "Ctrl-C ends write" interrupted INT "$gnn" write --epochs 1000000 --threads 1
cp r reader && cp r.words reader.words
expect "Ctrl-C ends sentence --data" interrupted INT "$gnn" sentence --data many.txt --epochs 1000000 --patience 1000000 --min-count 1 --save reader --threads 1
expect "which says that it writes" grep -q 'stopped; the best model so far is written' out
expect "a model that is whole" "$gnn" sentence --load reader --sentence "fine words" --threads 1

# killed NAME OPTION...: killed twice by kill -9, each time after another checkpoint, and resumed, it
# saves what it saves when it is not killed.
killed() {
    rm -f parts parts.ckpt
    "$@" --threads 1 --save whole >out 2>&1 || { cat out && return 1; }
    for round in 1 2; do
        before=$(cksum parts.ckpt 2>none)
        resume=$([ -f parts.ckpt ] && echo --resume)
        "$@" --threads 1 --save parts --checkpoint parts.ckpt $resume >out 2>&1 &
        for turn in $(seq 600); do
            [ -f parts.ckpt ] && [ "$(cksum parts.ckpt)" != "$before" ] && break
            kill -0 $! 2>none || break
            sleep 0.05
        done
        kill -9 $! 2>none
        wait $! 2>none
        [ -f parts.ckpt ] && [ ! -f parts ] || { echo "round $round: it was not killed amid"; return 1; }
    done
    "$@" --threads 1 --save parts --checkpoint parts.ckpt --resume >out 2>&1 || { cat out && return 1; }
    cmp whole parts
}
expect "translate that is killed resumes to the same bits" killed "$gnn" translate --epochs 5
rm -f parts.ckpt
expect "write resumes to the same bits" stopped "$gnn" write --epochs 6 --length 0
expect "its checkpoint is not overwritten" said "--resume goes on, --overwrite starts anew" 1 "$gnn" write --epochs 6 --checkpoint parts.ckpt

# ---- nothing is lost, half written or called a number that is none ----
mkdir d tmp
TMPDIR=$work/tmp "$gnn" sentence --data many.txt --epochs 1000000 --patience 1000000 --min-count 1 --threads 1 --save d/m >lost 2>&1 &
running=$!
for _ in $(seq 600); do
    grep -q '^epoch 2 of' lost && break
    sleep 0.05
done
rm -r d
kill -INT "$running"
wait "$running"
expect "a model whose folder went" [ $? -eq 1 ]
saved=$(sed -n 's/^sentence: d.m could not be written; the model is in //p' lost)
expect "is saved elsewhere, and reads sentences" "$gnn" sentence --load "$saved" --sentence "fine words" --threads 1
twice() {
    "$@" >out 2>&1 &
    running=$!
    sleep 1
    kill -TERM "$running"
    kill -TERM "$running" 2>/dev/null
    for _ in $(seq 100); do
        kill -0 "$running" 2>/dev/null || break
        sleep 0.05
    done
    kill -9 "$running" 2>/dev/null
    wait "$running"
    [ $? -eq 130 ]
}
expect "a second SIGTERM ends a program" twice "$gnn" links --epochs 1000000 --threads 1
seq 0 59 | awk '{ print 1e38 * ($1 % 3) "," 3e38 }' >huge.csv
expect "huge features" "$gnn" convert b.edges huge.npz --features huge.csv --labels y.csv
for program in citation links; do
    expect "$program that leaves the numbers" said "not finite" 1 "$gnn" $program --data huge.npz --scale none --epochs 3 --threads 1
done
if command -v python3 >/dev/null 2>&1; then
    expect "sets without validation or test nodes" python3 -c '
import zipfile
for part in "val", "test":
    old, new = zipfile.ZipFile("set.npz"), zipfile.ZipFile("no_" + part + ".npz", "w")
    for name in old.namelist():
        data = old.read(name)
        at = 10 + data[8] + 256 * data[9]
        new.writestr(name, data[:at] + bytes(len(data) - at) if name == part + "_mask.npy" else data)
    new.close()'
    expect "citation without validation nodes" "$gnn" citation --data no_val.npz --epochs 3 --threads 1
    expect "keeps the last epoch" grep -q 'validation -, test [0-9.]* (epoch 3 of 3' last
    expect "where patience is refused" said "split 0 of no_val has no validation nodes to watch" 1 "$gnn" citation --data no_val.npz --epochs 3 --patience 2 --threads 1
    expect "citation without test nodes" "$gnn" citation --data no_test.npz --epochs 3 --threads 1 --save no_test.model
    expect "says so" grep -q '^test accuracy: the test nodes give none$' last
    expect "explain without test nodes" "$gnn" explain --data no_test.npz --epochs 3 --threads 1 --method saliency
    expect "says so, too" grep -q 'no_test: no test nodes' last
    expect "and has no fidelity" said "--fidelity: no_test has no test nodes" 1 timeout 20 "$gnn" explain --data no_test.npz --epochs $long --threads 1 --fidelity 3
fi

expect "inspect's pictures" "$gnn" inspect --grid grid.svg --html page.html --heatmap map.svg
expect "the page ends" grep -q '^</html>' page.html
expect "a page that cannot be written" exits 1 "$gnn" inspect --html none/page.html
expect "a layer that is not there" exits 1 "$gnn" inspect --show-layer 7
expect "names it" grep -q -- '--show-layer: got 7, the model has layers 0 to 1' last
expect "a treebank without a folder" exits 2 "$gnn" inspect --uas words.txt
expect "finetune without a folder" exits 2 "$gnn" finetune --data words.txt
expect "finetune without an encoder" exits 1 "$gnn" finetune --model none --data words.txt
expect "finetune with a word too many" exits 2 "$gnn" finetune none --data words.txt
expect "inspect without its model" exits 1 "$gnn" inspect --model none
expect "write without its model" exits 1 "$gnn" write --model none
expect "embed without a model" said "--model: absent: No such file" 1 "$gnn" embed --model absent --input words.txt --json
mkdir empty
expect "embed with an empty folder" said empty/config.json 1 "$gnn" embed --model empty --input words.txt --json
expect "embed without anything to write" exits 2 "$gnn" embed --model empty --input words.txt
expect "embed into a file of another kind" exits 2 "$gnn" embed --model none --input words.txt --output words.csv
expect "embed into a picture of another kind" exits 2 "$gnn" embed --model none --input words.txt --heatmap map.png
expect "says which" grep -q -- '--heatmap: map.png: a name like FILE.svg is expected' last
golden=${GNN_GOLDEN:-$root/../shared/golden}/checkpoints/bert
if [ -f "$golden/model.safetensors" ]; then
    mkdir -p small/pool
    cp "$golden/config.json" "$golden/model.safetensors" small
    { printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ngreen\n<blue>\n' && seq 89; } >small/vocab.txt
    printf '[{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "sentence_transformers.models.Pooling", "path": "pool"}]' >small/modules.json
    printf '{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 32}' >small/pool/config.json
    printf 'red 1 2 3\ngreen 4\nred 1 2 3\n5 6 7 8\n' >colours.txt
    expect "embed draws" "$gnn" embed --model small --input colours.txt --heatmap alike.svg --output alike.npz
    expect "an SVG of four lines" grep -q 'cosines of 4 lines of colours.txt' alike.svg
    # Six of the 16 pairs are of equal lines.
    expect "equal lines have a cosine of 1" test "$(grep -o '>1.00<' alike.svg | wc -l)" -ge 6
    expect "labels are the lines" grep -q '>5 6 7 8<' alike.svg
    seq 1001 >long.txt
    expect "embed draws no page of a million cells" exits 1 "$gnn" embed --model small --input long.txt --heatmap long.svg
    expect "says how many lines" grep -q -- '--heatmap: 1001 lines, a picture has at most 1000' last
    expect "embed into no folder" exits 1 "$gnn" embed --model small --input colours.txt --heatmap none/alike.svg
    printf '{"prompts": {"query": "green ", "document": ""}}' >small/config_sentence_transformers.json
    expect "embed behind a prompt" "$gnn" embed --model small --input colours.txt --top 1 --query 4 --query-prompt-name query
    expect "finds the line that has its words" grep -q '1.0000  line 2  green 4$' last
    expect "embed behind a prompt that is not there" exits 1 "$gnn" embed --model small --input colours.txt --query 4 --prompt-name answer
    expect "says which there are" grep -q 'no prompt "answer"; it has: query, document' last
    expect "embed with a cross-encoder that is none" exits 1 "$gnn" embed --model small --input colours.txt --query 4 --rerank small
    expect "says why" grep -q 'names no classes' last
    expect "embed keeps some columns" "$gnn" embed --model small --input colours.txt --dim 3 --json
    expect "says how many" grep -q '"width": 3,' last
    expect "predict with a model that has no head" exits 1 "$gnn" predict --model small --input colours.txt
    expect "says why not" grep -q 'names no classes' last
    expect "predict without a model" exits 2 "$gnn" predict --input colours.txt
    expect "predict answers nothing without a head" exits 1 "$gnn" predict --model small --input colours.txt --question 4
    expect "translate by an encoder" exits 1 "$gnn" translate --model small --input colours.txt
    expect "says what it is" grep -q 'is no encoder-decoder' last
else
    echo "SKIP embed on a small model: $golden is not there"
fi
model=${GNN_MINILM:-${XDG_CACHE_HOME:-$HOME/.cache}/gnn/all-MiniLM-L6-v2}
if [ -f "$model/model.safetensors" ]; then
    printf 'a man plays a guitar\nthe stock market fell\nsnow covers the hills\n' >lines.txt
    expect "embed" "$gnn" embed --model "$model" --input lines.txt --query "a musician" --top 1 --output vectors.npz
    expect "finds the nearest line" grep -q 'line 1  a man plays a guitar$' last
    expect "writes vectors" test -s vectors.npz
    expect "embed to .npy" "$gnn" embed --model "$model" --input lines.txt --output vectors.npy
    # 3 rows of 384 floats behind a header of 128 bytes
    expect "writes them bare, too" test "$(wc -c <vectors.npy)" -eq 4736
    expect "embed without its text" exits 1 "$gnn" embed --model "$model" --input none.txt --json
    expect "says that it is not there" grep -q 'none.txt: No such file' last
    unwritten "embed" "$gnn" embed --model "$model" --input lines.txt --json
else
    echo "SKIP embed: $model is not there (sh examples/fetch-minilm.sh)"
fi

# ---- outputs ----
for output in save:x scatter:x.svg curve:x.svg predict:x.csv log:x.csv checkpoint:x confusion:x.svg; do
    option=--${output%:*} file=none/${output#*:}
    expect "$option into no folder" exits 1 timeout 5 "$gnn" citation --data set.npz --epochs 100000 $option "$file"
    expect "$option says so" grep -q -- "$option: $file" last
done
for output in save:x curve:x.svg predict:x.csv log:x.csv; do
    expect "links --${output%:*} into no folder" exits 1 timeout 5 "$gnn" links --epochs 100000 "--${output%:*}" "none/${output#*:}"
done
expect "a checkpoint" "$gnn" citation --data set.npz --layer mlp --epochs 1 --checkpoint c
cp c before
expect "is not overwritten" exits 1 "$gnn" citation --data set.npz --layer mlp --epochs 1 --checkpoint c
expect "which is said" grep -q 'resume goes on' last
expect "and stays as it was" cmp c before
expect "no half of a file is left" test -z "$(find . -name '*.tmp')"
expect "unless it is asked for" "$gnn" citation --data set.npz --layer mlp --epochs 1 --checkpoint c --overwrite

finish
