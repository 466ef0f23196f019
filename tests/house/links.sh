#!/bin/sh
# Paths and files that comments and pages name exist, and so do the targets of links between pages,
# with their headings.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" 2>/dev/null && pwd)
cd "$root" || exit 2

# Paths that are named and do not exist yet. This list may only become shorter.
absent=' docs/text.md '
# Folders whose comments name files that are gone. This list may only become shorter.
stale='lib/kernels/attention/by_lane'
# Files of other projects.
foreign='llama2\.c'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints "FILE PATH" for each path of the tree that a file names in full: folder, slash, name, ending.
paths_in() {
    LC_ALL=C.UTF-8 grep -oHE '(^|[^A-Za-z0-9_./<-])(lib|include|graphs|examples|tests|docs|tools|bench|cmake)/[A-Za-z0-9_./-]*[A-Za-z0-9_]\.(c|h|def|md|sh|py|svg|build|npz|json)\b' \
        "$@" | sed -E 's/^([^:]*):[^A-Za-z]?/\1 /'
}

# Prints "FILE:LINE NAME" for each file that a comment names without its folder: name.c,
# name.kernel.c, name.md. NAME.c, foo.c and name.c stand for any.
bare_names() {
    awk '
        FNR == 1 { inside = 0 }
        {
            text = ""
            if (inside) text = $0
            else if (at = index($0, "/*")) { text = substr($0, at); inside = 1 }
            if (inside && index(text, "*/")) inside = 0
            gsub(/<[^>]*>|[A-Za-z0-9_.<*-]*\/[A-Za-z0-9_.\/*-]*/, "", text)
            while (match(text, /[A-Za-z][A-Za-z0-9_.-]*\.(c|h|def|sh|py|md)([^A-Za-z0-9_]|$)/)) {
                name = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/[^A-Za-z0-9_]$/, "", name)
                if (name !~ /^(foo|name|NAME)\./) print FILENAME ":" FNR " " name
            }
        }' "$@"
}

# Reads "FILE:LINE NAME" lines, prints those of which no file of the list $1 has the name.
missing_names() {
    sed 's|.*/||' "$1" | sort -u >"$work/names"
    awk -v foreign="^($foreign)$" 'NR == FNR { known[$1] = 1; next } !($2 in known) && $2 !~ foreign { print $1 " names " $2 ", which does not exist" }' "$work/names" -
}

# Prints "FILE TARGET" for each link of a Markdown page to another page or picture.
links_in() {
    grep -oHE '\]\([^)]+\)' "$@" | sed -E 's/^([^:]*):\]\(/\1 /; s/\)$//' | grep -vE ' (https?:|mailto:)'
}

# The headings of a page as GitHub names them; lines of code are none.
anchors() {
    awk '/^ *```/ { code = !code } !code && sub(/^#+ +/, "")' "$1" | tr 'A-Z' 'a-z' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Reads "FILE PATH" lines, prints those whose path is missing. NAME stands for any name.
missing_paths() {
    while read -r file path; do
        case " $path $absent" in *NAME* | *" $path "*" $path "*) continue ;; esac
        [ -e "$path" ] || [ -e "$build/$path" ] || echo "$file names $path, which does not exist"
    done
}

missing_links() {
    while read -r file target; do
        page=${target%%#*} anchor=
        case $target in *'#'*) anchor=${target#*#} ;; esac
        path=$file
        [ -z "$page" ] || path=$(dirname "$file")/$page
        if ! [ -e "$path" ]; then
            echo "$file links to $target, which does not exist"
        elif [ -n "$anchor" ] && ! anchors "$path" | grep -qxF "$anchor"; then
            echo "$file links to $target: no such heading"
        fi
    done
}

passed=0 failed=0
none() { # none WHAT: $work/faults has what is wrong
    if [ -s "$work/faults" ]; then
        echo "$1:"
        sort -u "$work/faults" | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# The checks themselves must see what they are for.
mkdir "$work/docs"
printf '# One heading\n[a](b.md) [c](a.md#one-heading) [d](a.md#none) [e](#code) and lib/nowhere/a.c, docs/none.md\n```sh\n# Code\n```\n' >"$work/docs/a.md"
if [ "$(links_in "$work/docs/a.md" | missing_links | wc -l)" -eq 3 ] && [ "$(paths_in "$work/docs/a.md" | missing_paths | wc -l)" -eq 2 ]; then
    passed=$((passed + 1))
else
    echo "the check does not see five planted faults"
    failed=$((failed + 1))
fi

printf '/* a.c and gone.kernel.c,\n * not NAME.h, lib/x/b.c or c.cc. */\nint d; /* llama2.c */\nchar *e = "gone.c";\n' >"$work/bare.c"
echo x/a.c >"$work/list"
if [ "$(bare_names "$work/bare.c" | missing_names "$work/list")" = "$work/bare.c:1 names gone.kernel.c, which does not exist" ]; then
    passed=$((passed + 1))
else
    echo "the check does not see a planted name of a file"
    failed=$((failed + 1))
fi

files=$(git ls-files --cached --others --exclude-standard 2>/dev/null | grep -E '\.(c|h|def|md|sh|py|build)$|^packages\.txt$' | grep -vE '^tests/house/(links|names|comments|include_order)\.sh$')
[ -n "$files" ] || files=$(find README.md CONTRIBUTING.md packages.txt include lib graphs examples tests docs tools bench -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.md' -o -name '*.py' -o -name '*.sh' -o -name '*.build' \) | grep -vE '^tests/house/(links|names|comments|include_order)\.sh$')
pages=$(printf '%s\n' "$files" | grep '\.md$')
# The changelog may name what is gone.
# shellcheck disable=SC2046,SC2086 # names without blanks
paths_in $(printf '%s\n' $files | grep -v '^CHANGELOG\.md$') >"$work/paths"
missing_paths <"$work/paths" >"$work/faults"
none "paths that are named and missing"
{ printf '%s\n' $files && find "$build" -maxdepth 4 -name '*.h' 2>/dev/null; } >"$work/list"
# shellcheck disable=SC2046,SC2086 # names without blanks
bare_names $(printf '%s\n' $files | grep -E '\.(c|h|def)$') >"$work/bare"
missing_names "$work/list" <"$work/bare" | grep -vE "^($(echo "$stale" | tr ' ' '|'))/" >"$work/faults"
none "files that comments name and that are missing"
# shellcheck disable=SC2086
links_in $pages >"$work/links"
missing_links <"$work/links" >"$work/faults"
none "links that lead nowhere"

# A table whose header, separator and first row stand on one line is shown as text.
broken_tables() {
    grep -nE '\|[[:blank:]]*\|[[:blank:]]*---' "$@" | sed 's/:\([0-9]*\):.*/:\1/'
}
printf '| a | b | | --- | --- | | 1 | 2 |\n' >"$work/table.md"
broken_tables "$work/table.md" /dev/null >"$work/planted"
if [ -s "$work/planted" ]; then
    passed=$((passed + 1))
else
    echo "the check does not see a planted table on one line"
    failed=$((failed + 1))
fi
# shellcheck disable=SC2086
broken_tables $pages >"$work/faults"
none "tables on one line"

echo "$(wc -l <"$work/paths") paths, $(wc -l <"$work/bare") names of files, $(wc -l <"$work/links") links"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
