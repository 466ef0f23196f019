#!/bin/sh
# A header as doxygen shall see it: the comment at its head is about the file, and where it includes a table (gnn/tables/NAME.def), the rows stand written out.
# docs/Doxyfile.in names this script.
#
#   sh docs/filter.sh FOLDER-OF-TABLES HEADER
awk -v tables="$1" '
    # The text with the values of the row in place of the parameters.
    function filled(rest,    done, word, k) {
        done = ""
        while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(rest, RSTART, RLENGTH)
            done = done substr(rest, 1, RSTART - 1)
            rest = substr(rest, RSTART + RLENGTH)
            for (k = 1; k <= count; k++)
                if (word == parameter[k]) { word = value[k]; break }
            done = done word
        }
        return done rest
    }
    FNR == 1 { sub(/^\/\*\*/, "/** @file\n *") }
    # What an X-macro makes of a row: parameters and text of its last definition.
    /^#define GNN_[A-Z]+\([a-z_, .]+\) / {
        made = $0
        sub(/^#define /, "", made)
        macro = made; sub(/\(.*/, "", macro)
        text = made; sub(/^[^)]*\) */, "", text)
        names = made; sub(/^[^(]*\(/, "", names); sub(/\).*/, "", names)
        count = split(names, parameter, /, */)
    }
    /^#include <gnn\/tables\/[a-z_]+\.def>/ {
        file = $2; sub(/^<gnn\/tables\//, "", file); sub(/>$/, "", file)
        while ((getline row < (tables "/" file)) > 0) {
            if (index(row, macro "(") != 1) continue
            sub(/^[^(]*\(/, "", row); sub(/\) *$/, "", row)
            help = ""
            if (match(row, /"[^"]*"$/)) { help = substr(row, RSTART + 1, RLENGTH - 2); row = substr(row, 1, RSTART - 1) }
            split(row, value, /, */)
            line = filled(text)
            gsub(/##/, "", line)
            print line (help == "" ? "" : " /**< " help " */")
        }
        close(tables "/" file)
        next
    }
    { print }' "$2"
