#!/bin/sh
# No circle of calls between the files of the library. A call goes from the object file that leaves a function's name undefined to
# the one that defines it; what is reached through a table of functions is data and does not count. With --count it also
# prints the numbers of includes and calls between files of lib/kernels and lib/aggregate.
set -u
build=${1:-build}
count=${2:-}
[ -d "$build" ] && build=$(CDPATH='' cd -- "$build" && pwd)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2
calls=$(mktemp) && trap 'rm -f "$calls"' EXIT

# Kernels are compiled once per instruction set; the last stands for all.
kinds="libgnn_calls.a.p"
for isa in v4 baseline; do
    if [ -d "$build/libkernels_$isa.a.p" ]; then
        kinds="$kinds libkernels_$isa.a.p libcompact_$isa.a.p"
        break
    fi
done

# "FROM TO FUNCTION" for each call between two files: a place in its code, not in its tables, that the linker fills in.
for kind in $kinds; do
    for object in "$build/$kind"/*.o; do
        nm "$object" | awk -v file="$(basename "$object" .c.o)" 'NF == 3 && $2 == "T" { print "has", file, $3 }'
        readelf -rW "$object" | awk -v file="$(basename "$object" .c.o)" '
            /^Relocation section/ { code = $3 ~ /\.text/ }
            code && $5 ~ /^gnn_/ { print "needs", file, $5 }' | sort -u
    done
done | awk '
    $1 == "has" { home[$3] = $2 }
    $1 == "needs" { from[++n] = $2; what[n] = $3 }
    END { for (k = 1; k <= n; k++) if (what[k] in home && home[what[k]] != from[k]) print from[k], home[what[k]], what[k] }' >"$calls"

passed=0 failed=0
check() { # check WHAT CONDITION...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "  $what"
        failed=$((failed + 1))
    fi
}

check "fewer than 100 calls between files were found: are there object files in $build?" [ "$(wc -l <"$calls")" -ge 100 ]
loops=$(awk '{ print $1, $2 }' "$calls" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: -: //; s/^tsort: /  /')
[ -z "$loops" ] || printf '%s\n' "$loops"
check "files call each other in a circle" [ -z "$loops" ]
if [ "$count" = --count ]; then
    echo "calls between files of lib/kernels and lib/aggregate: $(awk '$1 ~ /^lib_(kernels|aggregate)/ && $2 ~ /^lib_(kernels|aggregate)/ { print $1, $2 }' "$calls" | sort -u | wc -l) pairs of files"
    echo "includes between them: $(grep -rhoE '#include <lib/(kernels|aggregate)/[^>]*>' lib/kernels lib/aggregate | wc -l)"
fi
echo "CHECKS $passed $failed"
