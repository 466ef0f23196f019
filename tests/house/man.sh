#!/bin/sh
# Man pages of the build: one for each exported symbol, with the sections that a reader looks for, links and references that lead to pages, no warnings of groff; and
# docs/man.py refuses headers of which it could not make such pages.
# Long: makes and reads a page per function.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
pages=$build/docs/man3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/tests/expect.sh"

# none FILE: it is empty; else its first lines are shown.
none() {
    sort -u "$1" | head -n 20
    [ ! -s "$1" ]
}

expect "docs/man3 is built" flock "$build/house.lock" ninja -C "$build" docs/man3 || finish
cd "$pages" || finish

# ---- what is there ----
# gnn_igraph_register is no program's call: the second library makes it.
for library in "$build"/libgnn*.so; do nm -D --defined-only "$library"; done | awk '{ print $NF }' | grep '^gnn_' | grep -vx gnn_igraph_register >"$work/symbols"
while read -r name; do [ -s "$name.3" ] || echo "$name"; done <"$work/symbols" >"$work/faults"
expect "symbols were found" test "$(wc -l <"$work/symbols")" -gt 300
expect "every exported symbol has a page" none "$work/faults"
grep -ohE '`gnn_[a-z0-9_]+`' "$root/docs/reference.md" | tr -d '`' | sort -u | while read -r name; do
    [ -s "$name.3" ] || echo "$name"
    sed 's/\\-/-/g' gnn.3 | grep -qF "\\fB$name\\fR(3)" || echo "$name is not in gnn(3)"
done >"$work/faults"
expect "gnn(3) has the functions of docs/reference.md" none "$work/faults"

# ---- each page ----
grep -L '^\.so ' ./*.3 | sed 's#^\./##; s#\.3$##' >"$work/own"
grep -l '^.so ' ./*.3 | while read -r page; do
    target=$(sed -n 's#^\.so man3/##p' "$page")
    grep -q '^\.TH' "$target" 2>/dev/null || echo "$page leads to $target"
done >"$work/faults"
expect "links lead to pages" none "$work/faults"
cat ./*.3 | grep -oE '\\fB[A-Za-z0-9_.\\-]+\\fR\(3\)' | sed 's/\\fB//; s/\\fR(3)//; s/\\-/-/g' | sort -u | while read -r name; do
    [ -f "$name.3" ] || echo "$name(3)"
done >"$work/faults"
expect "references lead to pages" none "$work/faults"
# A page of a function has a prototype in its synopsis.
grep -lE '^\\fB[a-z].*\bgnn_[a-z0-9_]+\(.*' $(sed 's/$/.3/' "$work/own") | while read -r page; do
    name=${page%.3}
    case $name in *_t) continue ;; esac
    grep -qE "^\\\\fB.*\\b$name\\(" "$page" || continue
    for section in NAME SYNOPSIS DESCRIPTION "RETURN VALUE" THREADS "SEE ALSO"; do
        grep -qx ".SH $section" "$page" || echo "$name has no $section"
    done
    grep -qE '^\\fB#include <gnn/[a-z_]+\.h>' "$page" || echo "$name does not say what to include"
    [ "$(wc -l <"$page")" -le 200 ] || echo "$name has $(wc -l <"$page") lines"
    echo "$name" >>"$work/functions"
done >"$work/faults"
expect "pages of functions were found" test "$(wc -l <"$work/functions")" -gt 300
expect "pages of functions have their sections" none "$work/faults"

# holes PAGE...: parameters without a description, ints that are codes without a list of errors, and errors whose text is the end of another sentence.
holes() {
    awk '
        FNR == 1 { finish_page(); page = FILENAME; sub(/.*\//, "", page); sub(/\.3$/, "", page) }
        /^\.SH / { section = $0; sub(/^\.SH /, "", section); errors = errors || section == "ERRORS"; next }
        section == "PARAMETERS" && $0 == "\\&" { print page ": " parameter " has no description" }
        section == "PARAMETERS" && /^\\fI/ { parameter = $1; gsub(/\\f[IR]/, "", parameter) }
        section == "RETURN VALUE" && /or the code of an error/ { codes = 1 }
        section == "ERRORS" && /^(\\&)?[.,;:]( |$)/ { print page ": an error is \"" $0 "\"" }
        function finish_page() {
            if (codes && !errors) print page ": no ERRORS"
            codes = errors = 0
            section = ""
        }
        END { finish_page() }' "$@"
}
# shellcheck disable=SC2046 # names without blanks
holes $(sed 's/$/.3/' "$work/own") >"$work/faults"
expect "pages describe every parameter and list every function's errors" none "$work/faults"

for page in $(sed 's/$/.3/' "$work/own"); do
    brief=$(sed -n '/^\.SH NAME/{n;p;}' "$page")
    case $brief in
    *" \\- "?*) [ "${#brief}" -le 200 ] || echo "$page: $brief" ;;
    *) echo "$page: $brief" ;;
    esac
    case $brief in *" \\- "[Tt]he\ same* | *" \\- "[Aa]s\ above*) echo "$page: $brief" ;; esac
done >"$work/faults"
expect "every page says in a line what it is about" none "$work/faults"

if command -v groff >/dev/null 2>&1; then
    for page in $(sed 's/$/.3/' "$work/own"); do
        groff -man -Tutf8 -ww -rLL=90n -K utf8 "$page" 2>&1 >/dev/null | sed "s/^/$page: /"
    done >"$work/faults"
    expect "groff has no warnings" none "$work/faults"
else
    echo "SKIP man_groff: no groff"
fi
if command -v man >/dev/null 2>&1; then
    expect "man shows a page" sh -c "MANWIDTH=80 man -l '$pages/gnn_layer_forward.3' | grep -q 'gnn_layer_forward - '"
else
    echo "SKIP man_man: no man"
fi

# ---- headers that are refused ----
refused() { # refused WORDS: $work/planted.h makes no pages
    ! python3 "$root/docs/man.py" --version 0 --filter "$root/docs/filter.sh" --tables "$build/include/gnn/tables" --reference "$root/docs/reference.md" \
        --out "$work/out" "$root/include/gnn/error.h" "$work/planted.h" >"$work/answer" 2>&1 || return
    grep -q "$1" "$work/answer" || { cat "$work/answer" && false; }
}
printf '/** A header. */\nGNN_API int gnn_bare(int x);\n' >"$work/planted.h"
expect "a function without a comment is refused" refused 'gnn_bare has no doc comment'
printf '/** A header. */\ntypedef struct gnn_bare {\n    int x;\n} gnn_bare_t;\n' >"$work/planted.h"
expect "a type without a comment is refused" refused 'gnn_bare_t has no doc comment'
printf '/** A header. */\n/**\n * @param[in] x  a number\n */\nGNN_API int gnn_headless(int x);\n' >"$work/planted.h"
expect "a comment without a sentence is refused" refused 'gnn_headless has no doc comment that begins'
printf '/** A header. */\n/**\n * Does it.\n *\n * @param[in] y  a number\n */\nGNN_API int gnn_other(int x);\n' >"$work/planted.h"
expect "a parameter that is not there is refused" refused 'gnn_other has no parameter y'

# ---- pages with holes ----
made() { # made TEXT: the holes of the page of gnn_planted are $work/wanted, and its section RETURN VALUE has TEXT
    python3 "$root/docs/man.py" --version 0 --filter "$root/docs/filter.sh" --tables "$build/include/gnn/tables" --reference "$root/docs/reference.md" \
        --out "$work/out" "$root/include/gnn/error.h" "$work/planted.h" >"$work/answer" 2>&1 || { cat "$work/answer" && return 1; }
    holes "$work/out/gnn_planted.3" | diff "$work/wanted" - || return
    sed -n '/^\.SH RETURN VALUE/,/^\.SH ERRORS/p' "$work/out/gnn_planted.3" | grep -qF "$1"
}
printf '/** A header. */\n/** Plants. */\nGNN_API int gnn_planted(int x);\n' >"$work/planted.h"
printf '%s\n' 'gnn_planted: x has no description' 'gnn_planted: no ERRORS' >"$work/wanted"
expect "a parameter and errors that no comment names are seen" made 'or the code of an error'
: >"$work/wanted"
printf '/** A header. */\n/**\n * Plants.\n *\n * @param[in] x  a tree\n * @return GNN_OK; GNN_EINVALID (x); GNN_EMEMORY. Nothing is planted then\n */\nGNN_API int gnn_planted(int x);\n' >"$work/planted.h"
expect "what holds for all errors is no part of the last one" made 'After an error nothing is planted.'
printf '/** A header. */\n/**\n * Plants.\n *\n * @param[in] x  a tree\n * @return as gnn_seeded\n */\nGNN_API int gnn_planted(int x);\n' >"$work/planted.h"
expect "errors of another function are a list" made 'or the code of an error'

echo "$(wc -l <"$work/own") pages, $(wc -l <"$work/functions") of functions, $(ls ./*.3 | wc -l) with links"
finish
