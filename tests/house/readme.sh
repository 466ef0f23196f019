#!/bin/sh
# README fits on two screens (140 lines, 100 columns), and its program is examples/minimal.c, compiles, runs, and says what went wrong.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2

. "$root/tests/expect.sh"

# The first block of C in the page $1 that has a main.
program_of() {
    awk '/^```c$/ { text = ""; inside = 1; next } /^```$/ { if (inside && text ~ /int main/) { printf "%s", text; exit } inside = 0 } inside { text = text $0 "\n" }' "$1"
}

short() {
    [ "$(wc -l <"$1")" -le 140 ] || { wc -l "$1" && false; }
}

narrow() {
    LC_ALL=C.UTF-8 awk 'length($0) > 100 { print FILENAME ":" FNR ": " length($0) " columns"; bad = 1 } END { exit bad }' "$1"
}

compile() {
    # shellcheck disable=SC2086 # the compiler may have a wrapper before it
    $cc -std=c17 -Wall -Wextra -Werror -I"$root/include" -I"$build/include" "$work/program.c" -o "$work/program" -L"$build" -lgnn -Wl,-rpath,"$build"
}

runs() {
    "$work/program" | grep -q '^test accuracy [0-9]'
}

# Each call that can fail ends the program with a message: here the learning rate is not a number.
fails_with_words() {
    sed 's/\.lr = 0\.005f/.lr = -1/' "$work/program.c" >"$work/wrong.c"
    cmp -s "$work/wrong.c" "$work/program.c" && { echo "the program has no .lr = 0.005f to spoil" && return 1; }
    mv "$work/wrong.c" "$work/program.c"
    compile || return 1
    "$work/program" >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && [ -s "$work/err" ] && ! [ -s "$work/out" ]
}

same_as_example() {
    sed 1d examples/minimal.c | diff - "$work/program.c"
}

in_header() {
    sed -nE '/^ \*     #include/,/^ \* Read next/p' include/gnn/gnn.h | grep -v 'Read next' | sed -E 's/^ \*( {5})?//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' |
        diff - "$work/program.c"
}

# The checks must be able to fail.
printf '%0101d\n' 0 >"$work/wide"
seq 141 >"$work/long"
if narrow "$work/wide" >/dev/null || short "$work/long" >/dev/null; then
    echo "a page that is too wide or too long is not seen"
    failed=$((failed + 1))
fi

expect "README has at most 140 lines" short README.md
expect "README has at most 100 columns" narrow README.md
program_of README.md >"$work/program.c"
expect "README's program is examples/minimal.c" same_as_example
expect "gnn.h shows README's program" in_header
expect "README's program compiles" compile || finish
expect "README's program runs" runs
expect "README's program says what went wrong" fails_with_words
for picture in $(grep -oE '\(docs/[^)]*\.svg\)' README.md | tr -d '()'); do
    expect "$picture is there" test -s "$picture"
done
finish
