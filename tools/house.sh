#!/bin/sh
# Prints one line of a table per folder: files, lines, lengths of files and functions, share of
# comments. Without arguments for lib and graphs of this tree, as one line, and each folder of lib.
#
#     sh tools/house.sh                          this tree
#     sh tools/house.sh ~/igraph/src ~/ggml/src  other trees
#
# Files are .c and .h (of other trees also .cc, .cpp, .hh and .hpp). A function begins in the first
# column and ends with a brace there; its length includes both lines. The share of comments is that
# of lines that hold nothing else, of all lines that are not empty.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hh' -o -name '*.hpp' \) -not -path '*/.git/*' | LC_ALL=C sort
}

# Prints "file LINES", "function LINES", "comment LINES", "code LINES" for each file and function.
measure() {
    xargs awk '
        function flush() { if (name != "") print "file", lines; print "comment", comments + 0; print "code", code + 0 }
        FNR == 1 { if (name != "") flush(); name = FILENAME; comments = code = inside = start = open = 0 }
        { lines = FNR }
        /^[ \t]*$/ { start = inside ? start : 0; next }
        {
            text = $0
            sub(/^[ \t]+/, "", text)
            if (open) { comments++; if (index(text, "*/")) open = 0 }
            else if (text ~ /^\/\//) comments++
            else if (text ~ /^\/\*/ && text !~ /\*\/[ \t]*[^ \t]/) { comments++; if (!index(text, "*/")) open = 1 }
            else code++
        }
        /^[A-Za-z_]/ && !inside { if (!start) start = FNR }
        /[;}][ \t]*$/ && !inside && !/^[{}]/ && !/\{/ { start = 0 }
        (/^\{/ || /^[A-Za-z_].*\)[^;=]*\{[ \t]*$/) && start && !inside { inside = 1 }
        /^\}/ { if (inside && $0 !~ /^\}.*;/) print "function", FNR - start + 1; inside = start = 0 }
        END { flush() }'
}

# line NAME FOLDER...: one line of the table.
line() {
    title=$1
    shift
    sources "$@" | measure | sort -k1,1 -k2,2n | awk -v title="$title" '
        $1 == "file" { file[++files] = $2; lines += $2; if ($2 < 40) small++ }
        $1 == "function" { length_of[++functions] = $2 }
        $1 == "comment" { comments += $2 }
        $1 == "code" { code += $2 }
        function at(list, count, share) { return count ? list[int((count - 1) * share) + 1] : 0 }
        END {
            printf "| %s | %d | %d | %d / %d | %d | %d | %d / %d / %d | %.0f%% |\n", title, files, lines,
                at(file, files, 0.5), at(file, files, 1), small, functions, at(length_of, functions, 0.5),
                at(length_of, functions, 0.9), at(length_of, functions, 1), comments + code ? 100 * comments / (comments + code) : 0
        }'
}

echo "| | files | lines | median / largest file | files < 40 | functions | median / p90 / longest | comment |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
if [ $# -gt 0 ]; then
    for folder; do line "$folder" "$folder"; done
else
    cd "$root" || exit 2
    line "lib and graphs" lib graphs
    for folder in graphs lib/* include examples tests bench; do
        [ -d "$folder" ] && line "$folder" "$folder"
    done
fi
