#!/bin/sh
# No file over 1,400 lines; in the library and the examples the median function has at most 20 lines
# and none has more than 100. The library, stripped, has at most 3,800,000 bytes.
set -u
build=${1:-build}
[ -d "$build" ] && build=$(CDPATH='' cd -- "$build" && pwd)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name 'meson.build' \)
}

# Prints "LINES FILE:LINE NAME" for each function: from its first line to the closing brace, both in
# the first column.
functions() {
    find "$@" -name '*.c' -exec awk '
        FNR == 1 { start = 0; inside = 0 }
        /^[A-Za-z_]/ && !inside { if (!start) start = FNR; if (!named || start == FNR) { first = $0; named = 1 } }
        /[;}]$/ && !inside && !/^\}/ { start = 0; named = 0 }
        /^\{$/ { if (start) inside = 1 }
        /^\}/ {
            if (inside) {
                name = first
                sub(/\(.*/, "", name)
                count = split(name, word, /[ *]+/)
                print FNR - start + 1, FILENAME ":" start, word[count]
            }
            inside = 0; start = 0; named = 0
        }
        /^$/ && !inside { start = 0; named = 0 }' {} +
}

passed=0 failed=0
check() { # check WHAT ACTUAL LIMIT
    if [ "$2" -le "$3" ]; then
        passed=$((passed + 1))
    else
        echo "  $1: $2, at most $3"
        failed=$((failed + 1))
    fi
}

long=$(sources lib graphs include examples tests bench tools 2>/dev/null | xargs wc -l | awk '$2 != "total" && $1 > 1400 { print "  " $2 ": " $1 " lines" }')
[ -z "$long" ] || printf '%s\n' "$long"
check "files over 1,400 lines" "$(printf '%s' "$long" | grep -c .)" 0

all=$(functions lib graphs examples | sort -n)
count=$(printf '%s\n' "$all" | grep -c .)
median=$(printf '%s\n' "$all" | awk -v half=$(((count + 1) / 2)) 'NR == half { print $1 }')
check "functions found" $((count < 10)) 0
check "median function" "${median:-1000}" 20
check "longest function" "$(printf '%s\n' "$all" | tail -n 1 | cut -d' ' -f1)" 100
# As the compiler makes it with which room is counted, and only where it is to be small.
made_by=$(readelf -p .comment "$build/libgnn.so" 2>/dev/null)
if printf '%s' "$made_by" | grep -q 'GCC: (Debian 12' && ! printf '%s' "$made_by" | grep -q clang &&
    grep -q '"name": "buildtype", "value": "release"' "$build/meson-info/intro-buildoptions.json"; then
    stripped=$(mktemp)
    strip -o "$stripped" "$build/libgnn.so" && check "bytes of the stripped library" "$(wc -c <"$stripped")" 3800000
    rm -f "$stripped"
fi
over=$(printf '%s\n' "$all" | awk '$1 > 60 { print "  " $1 " lines: " $2 " " $3 }')
echo "$count functions in the library and the examples, median ${median:-?} lines, longest $(printf '%s\n' "$all" | tail -n 1)"
if [ -n "$over" ]; then
    echo "over 60 lines (a kernel that is told as named passes may be):"
    printf '%s\n' "$over"
fi
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
