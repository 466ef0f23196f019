#!/bin/sh
# examples/fetch.sh: the table's rows are whole, what comes is checked before it is put in place,
# and a download that breaks leaves nothing behind. No network is used.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
data=${GNN_DATA:-$root/../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

fetch=$root/examples/fetch.sh
nothing() {
    [ -z "$(ls -A "$1" 2>/dev/null)" ] || { ls -A "$1" && false; }
}

expect "the list" sh -c "sh '$fetch' >list"
expect "lines up" awk 'NR == 1 { at = index($0, "address"); next } substr($0, at - 2, 2) != "  " || substr($0, at, 4) != "http" { print; bad = 1 } END { exit bad || NR < 2 }' list
expect "rows are whole" awk '
    /^#/ || NF == 0 { next }
    $1 == "set" && NF >= 5 && $4 ~ /^(keep|unzip|planetoid)$/ && !($2 in set) { set[$2] = 1; next }
    $1 == "file" && NF == 4 && ($2 in set) && $4 ~ /^https?:\/\// {
        hash = $3
        long = sub(/^git:/, "", hash) ? 40 : 64
        if (hash == "-" || (hash ~ /^[0-9a-f]+$/ && length(hash) == long)) { has[$2] = 1; next }
    }
    { print; bad = 1 }
    END { for (name in set) if (!(name in has)) { print name, "has no file"; bad = 1 } exit bad }' "$root/examples/fetch.txt"
expect "help" sh "$fetch" --help
expect "is whole" grep -q 'GNN_FETCH_MIRROR' last

# A table of our own: a small graph of three files, an archive, and rows that are wrong.
mkdir from
printf '0 1\n1 2\n2 0\n' >from/small.edges
printf '1,0\n0,1\n1,1\n' >from/x.csv
printf '0\n1\n0\n' >from/y.csv
mkdir folder && printf 'in the archive\n' >folder/words.txt
python3 -m zipfile -c from/folder.zip folder/
sum() { sha256sum <"from/$1" | cut -d' ' -f1; }
blob=$({ printf 'blob 12\0' && cat from/small.edges; } | sha1sum | cut -d' ' -f1)
none=0000000000000000000000000000000000000000000000000000000000000000
from=file://$work/from
cat >table <<EOF
# a comment
set small MIT keep gnn convert small.edges small.npz --features x.csv --labels y.csv
file small git:$blob $from/small.edges
file small $(sum x.csv) $from/x.csv
file small - $from/y.csv
set packed MIT unzip cat folder/words.txt
file packed $(sum folder.zip) $from/folder.zip
set other MIT keep cat x.csv
file other $(sum small.edges) $from/small.edges
file other $none $from/x.csv
set blob MIT keep cat x.csv
file blob git:$blob $from/x.csv
set broken MIT keep cat x.csv
file broken $(sum x.csv) $from/x.csv
file broken $(sum y.csv) $from/absent.csv
set odd MIT juggle cat x.csv
file odd $(sum x.csv) $from/x.csv
set empty MIT keep cat x.csv
set remote MIT planetoid cat x.csv
file remote $none https://host.invalid/x.csv
EOF
GNN_FETCH_TABLE=$work/table
export GNN_FETCH_TABLE

expect "a set of three files" sh "$fetch" small out
expect "says the hash of what it cannot check" grep -q "y.csv: not checked, its SHA-256 is $(sum y.csv)" last
expect "the first file" cmp from/small.edges out/small.edges
expect "the last file" cmp from/y.csv out/y.csv
expect "nothing else" [ "$(ls -A out | wc -l)" -eq 3 ]
sh "$fetch" small again >words 2>&1
expect "the command that is named" grep -q '^open it with: gnn convert small.edges' words
command=$(sed -n 's/^open it with: //p' words)
expect "opens the set" sh -c "cd out && '$build/'$command"
expect "is not written over" exits 1 sh "$fetch" small out
expect "says so" grep -q 'out/small.edges is there already' last
expect "leaves no folder behind" [ "$(ls -A out | wc -l)" -eq 4 ]
mkdir few
for tool in sh awk sed dirname cat env; do
    ln -s "$(command -v $tool)" few/
done
expect "tools that are missing" exits 1 env PATH="$work/few" PYTHON=no-python sh "$fetch" remote out
expect "are listed at once" grep -q 'remote needs no-python with numpy (Debian: python3-numpy; .*, and curl or wget$' last
expect "an archive" sh "$fetch" packed archive
expect "is unpacked" cmp folder/words.txt archive/folder/words.txt

# refused NAME WORDS: exit status 1, these words, and an empty folder.
refused() {
    expect "$1 is refused" exits 1 sh "$fetch" "$1" "none-$1"
    expect "$1: $2" grep -q "$2" last
    expect "$1 leaves nothing" nothing "none-$1"
}
refused other "x.csv: $none is expected, $(sum x.csv) came"
refused blob "x.csv: git:$blob is expected, git:"
refused broken 'absent.csv did not come'
refused odd "way 'juggle' is none of"
refused empty 'empty has no file'
refused unknown 'no set is called unknown'
expect "no table" exits 1 env GNN_FETCH_TABLE=absent sh "$fetch"
expect "names it" grep -q 'absent: cannot be read' last
unset GNN_FETCH_TABLE

# From a mirror: a file of the right name and other bytes, then the table's own rows where the
# real files are at hand.
mkdir mirror && cp from/x.csv mirror/minesweeper.npz
expect "another minesweeper" exits 1 env GNN_FETCH_MIRROR=mirror sh "$fetch" minesweeper mine
expect "leaves nothing" nothing mine
for file in heterophilous/minesweeper.npz graph-classification/MUTAG.txt sst2/stsa.binary.train \
    sst2/stsa.binary.dev sst2/stsa.binary.test; do
    [ ! -f "$data/$file" ] || cp "$data/$file" mirror/
done
for set in minesweeper MUTAG sst2; do
    if [ -f "$data/heterophilous/minesweeper.npz" ]; then
        expect "$set" env GNN_FETCH_MIRROR=mirror sh "$fetch" "$set" real
    else
        echo "SKIP fetch_$set: its files are absent"
    fi
done
finish
