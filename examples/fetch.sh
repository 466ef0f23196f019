#!/bin/sh
# Lists public data sets, or fetches one: every file is checked by its hash before any of them is
# put in place, and what was fetched halfway is removed. The table is examples/fetch.txt.
#
#   sh examples/fetch.sh                  lists name, licence, hash and address
#   sh examples/fetch.sh NAME [FOLDER]    fetches NAME into FOLDER (.), and says what opens it
#
# GNN_FETCH_TABLE: another table. GNN_FETCH_MIRROR: a folder that holds the files by their names;
# they are taken from there. PYTHON: the interpreter for sets that are converted or unpacked
# (python3); planetoid's need numpy. Needs curl or wget.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
table=${GNN_FETCH_TABLE:-$root/examples/fetch.txt}
python=${PYTHON:-python3}

die() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ -r "$table" ] || die "$table: cannot be read"

list() {
    awk '
        $1 == "set" { licence[$2] = $3 }
        $1 == "file" {
            hash = $3 == "-" ? "not checked" : $3
            rows++
            name[rows] = $2; hashes[rows] = hash; address[rows] = $4
            if (length($2) > wide) wide = length($2)
            if (length(licence[$2]) > broad) broad = length(licence[$2])
        }
        END {
            form = "%-" wide "s  %-" broad "s  %-64s  %s\n"
            printf form, "name", "licence", "SHA-256, or git:SHA-1 of the blob", "address"
            for (i = 1; i <= rows; i++) printf form, name[i], licence[name[i]], hashes[i], address[i]
        }' "$table"
}

. "$root/examples/download.sh"

# bring ADDRESS FILE: from the mirror or a folder, else by a download
bring() {
    if [ -n "${GNN_FETCH_MIRROR:-}" ]; then
        cp "$GNN_FETCH_MIRROR/${1##*/}" "$2"
        return
    fi
    case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *) download "$1" "$2" ;;
    esac
}

# hash_like HASH FILE: the file's hash of the same kind as HASH.
hash_like() {
    case $1 in
    git:*) { printf 'blob %d\0' "$(($(wc -c <"$2")))" && cat "$2"; } | sha1sum | sed 's/ .*//; s/^/git:/' ;;
    *) sha256sum <"$2" | cut -d' ' -f1 ;;
    esac
}

# place FILE...: moves what the set became into the folder; nothing is written over.
place() {
    for made in "$@"; do
        target=$folder/${made##*/}
        [ ! -e "$target" ] || die "$target is there already; nothing was changed"
    done
    for made in "$@"; do
        mv "$made" "$folder/"
        echo "$folder/${made##*/}"
    done
}

case ${1:-} in
'') list && exit 0 ;;
-*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit 0 ;;
esac
name=$1 folder=${2:-.}
row=$(awk -v name="$name" '$1 == "set" && $2 == name' "$table")
[ -n "$row" ] || die "no set is called $name; sh examples/fetch.sh lists them"
way=$(echo "$row" | awk '{ print $4 }')
command=$(echo "$row" | sed 's/^\([^ ]* \)\{4\}//')
lacks=''
case $way in
keep) ;;
planetoid) "$python" -c 'import numpy' 2>/dev/null || lacks="$python with numpy (Debian: python3-numpy; PYTHON names another interpreter)" ;;
unzip) "$python" -c 'import zipfile' 2>/dev/null || lacks="$python (Debian: python3; PYTHON names another)" ;;
*) die "$table: $name: way '$way' is none of keep, planetoid, unzip" ;;
esac
if [ -z "${GNN_FETCH_MIRROR:-}" ] && ! can_download &&
    awk -v name="$name" '$1 == "file" && $2 == name && $4 !~ /^file:/ { found = 1 } END { exit !found }' "$table"; then
    lacks="${lacks:+$lacks, and }curl or wget"
fi
[ -z "$lacks" ] || die "$name needs $lacks"

mkdir -p "$folder"
work=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/got" "$work/made"

awk -v name="$name" '$1 == "file" && $2 == name { print $3, $4 }' "$table" >"$work/files"
[ -s "$work/files" ] || die "$name has no file in $table"
while read -r hash address; do
    file=${address##*/}
    bring "$address" "$work/got/$file" || die "$address did not come; nothing was changed"
    found=$(hash_like "$hash" "$work/got/$file")
    if [ "$hash" = - ]; then
        echo "$file: not checked, its SHA-256 is $found" >&2
    elif [ "$hash" != "$found" ]; then
        die "$file: $hash is expected, $found came; nothing was changed"
    fi
done <"$work/files"

case $way in
keep) mv "$work"/got/* "$work/made/" ;;
planetoid) "$python" "$root/tools/planetoid.py" "$work/got" "$name" "$work/made/$name.npz" >&2 ;;
unzip) "$python" -m zipfile -e "$work"/got/*.zip "$work/made" ;;
esac
place "$work"/made/*
echo "open it with: $command"
