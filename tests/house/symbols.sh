#!/bin/sh
# The shared libraries export gnn_* and nothing else, as their headers declare it, and call nothing that ends the program, prints, or touches signals.
# Debian's lists of symbols are what they export (--write adds new names), and every place that has the version or the soversion has the same.
set -u
write=
if [ "${1:-}" = --write ]; then
    write=yes
    shift
fi
build=${1:-build}
library=$build/libgnn.so
if ! [ -f "$library" ]; then
    echo "no $library"
    echo "CHECKS 0 1"
    exit 1
fi

passed=0 failed=0
# verdict WHAT LINES: fails and shows the lines, if there are any.
verdict() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        echo "$1:"
        printf '%s\n' "$2" | sed 's/^/  /'
        failed=$((failed + 1))
    fi
}

# What a library must not call.
forbidden='abort|_?exit|_Exit|quick_exit|at_quick_exit|longjmp|_?_?longjmp_chk'
forbidden="$forbidden|v?printf|__v?printf_chk|puts|putchar|putchar_unlocked|perror|psignal|v?warnx?|v?errx?|error|error_at_line|v?syslog|stdout|stderr"
forbidden="$forbidden|raise|signal|sigaction|sigprocmask|pthread_sigmask|kill|alarm|setlocale|system|popen|fork|execv[pe]*"
# While METIS runs it has handlers of its own: graphs/sample/partition.c puts the program's back.
nm -D --undefined-only "$library" | grep -q METIS_ && forbidden=$(printf '%s' "$forbidden" | sed 's/|sigaction|/|/')
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc

# Headers are read as the compiler sees them, since rows are declared by their list. declared_in HEADER...: the exported names.
declared_in() {
    printf '#include <%s>\n' "$@" | "$cc" -E -P -I"$root/include" -I"$build/include" -I"$root" - | tr '\n' ' ' |
        grep -oE 'visibility\("default"\)+[^;({]*[;(]' | sed -E 's/ *[;(]$//; s/.*[ *]//' | grep '^gnn_' | sort -u
}

# exports LIBRARY: the names, without those with a dot in front, which are the compiler's (clang: locks of reductions).
exports() {
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $NF); if ($NF !~ /^\./) print $NF }'
}

# check LIBRARY LEAST DECLARED: what it exports is what headers declare, LEAST names at least, and it calls nothing that is forbidden.
check() {
    exported=$(exports "$1")
    called=$(nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }')
    verdict "$1 exports what is not gnn_*" "$(printf '%s\n' "$exported" | grep -Ev '^gnn_[a-z0-9]' | grep .)"
    verdict "$1 exports nothing" "$([ "$(printf '%s\n' "$exported" | grep -c '^gnn_')" -ge "$2" ] || echo "fewer than $2 names")"
    verdict "$1 must not call" "$(printf '%s\n' "$called" | grep -Ex "$forbidden")"
    verdict "$1 exports, but in no header" "$(printf '%s\n' "$exported" | sort -u | grep -vxF "$3")"
    verdict "declared in a header, but not exported by $1" "$(printf '%s\n' "$3" | grep -vxF "$(printf '%s\n' "$exported")")"
}

both=$(declared_in gnn/gnn.h lib/base/igraph.h)
check "$library" 51 "$both"
verdict "the list of what is called is empty" "$(printf '%s\n' "$called" | grep -qx 'free' || echo "free is not among it")"
verdict "the first library links what is the second one's" "$(readelf -d "$library" | grep NEEDED | grep -E 'igraph|xml2|glpk|arpack')"
verdict "gnn.h declares what is the second library's" "$(declared_in gnn/gnn.h | grep -i igraph)"
names=$(printf '%s\n' "$exported" | grep -c .)
hardening=$(printf '%s\n' "$called" | grep -Ex '__stack_chk_fail|__assert_fail|__fortify_fail' | tr '\n' ' ')
second=$build/libgnn-igraph.so
if [ -f "$second" ]; then
    # igraph's handler of fatal errors must not return: graphs/igraph/files.c leaves the reading by a jump.
    forbidden=$(printf '%s' "$forbidden" | sed 's/longjmp|_?_?longjmp_chk|//')
    check "$second" 5 "$(declared_in gnn/igraph.h | grep -vxF "$(declared_in gnn/gnn.h)")"
    # Of the first library it takes the public interface and one call more.
    verdict "$second calls in the first library" "$(printf '%s\n' "$called" | grep '^gnn_' | grep -vxF "$both")"
fi


third=$build/libgnn-mpi.so
if [ -f "$third" ]; then
    check "$third" 1 "$(declared_in gnn/mpi.h | grep -vxF "$(declared_in gnn/gnn.h)")"
    verdict "$third calls in the first library" "$(printf '%s\n' "$called" | grep '^gnn_' | grep -vxF "$(declared_in gnn/gnn.h)")"
    verdict "the first library links MPI" "$(readelf -d "$library" | grep NEEDED | grep -i mpi)"
fi

# ---- Debian's lists: "LIBRARY PACKAGE #MINVER#", then " NAME@Base VERSION" of the first release with the name ----
version=$(sed -nE "s/^project\(.* version: '([0-9.]+)'.*/\1/p" "$root/meson.build")
soversion=$(sed -nE "s/^soversion = '([0-9]+)'/\1/p" "$root/meson.build")
# listed LIST LIBRARY PACKAGE: of development
listed() {
    exports "$2" | LC_ALL=C sort >"$work/exported"
    if [ -n "$write" ]; then
        cp "$1" "$work/known" 2>/dev/null || : >"$work/known"
        {
            echo "$(basename "$2").$soversion $(basename "$1" .symbols) #MINVER#"
            echo "* Build-Depends-Package: $3"
            while read -r name; do
                grep "^ $name@" "$work/known" || echo " $name@Base $version"
            done <"$work/exported"
        } >"$1"
    fi
    sed -nE 's/^ ([a-z0-9_]+)@.*/\1/p' "$1" | LC_ALL=C sort >"$work/listed"
    verdict "$1 is not what $(basename "$2") exports (sh tests/house/symbols.sh --write build)" "$(diff "$work/listed" "$work/exported" | grep '^[<>]')"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
listed "$root/debian/libgnn$soversion.symbols" "$library" libgnn-dev
[ ! -f "$second" ] || listed "$root/debian/libgnn-igraph$soversion.symbols" "$second" libgnn-dev
[ ! -f "$third" ] || listed "$root/debian/libgnn-mpi$soversion.symbols" "$third" libgnn-mpi-dev

# ---- one version, one soversion ----
# states PLACE WHAT: what a place says, and what meson.build does.
states() {
    verdict "$1" "$([ "$2" = "$3" ] || echo "\"$2\", meson.build has \"$3\"")"
}
newest=$(sed -nE 's/^## \[?([0-9][0-9.]*)\]?.*/\1/p' "$root/CHANGELOG.md" | head -n 1)
states "CITATION.cff's version" "$(sed -n 's/^version: //p' "$root/CITATION.cff")" "$version"
states "the newest version in debian/changelog" "$(sed -nE '1s/^libgnn \(([0-9.]+)(-[0-9]+)?\).*/\1/p' "$root/debian/changelog")" "$version"
states "the newest release in CHANGELOG.md" "$newest" "$version"
verdict "CITATION.cff's date" "$(grep -qxF "## $newest - $(sed -n 's/^date-released: //p' "$root/CITATION.cff")" "$root/CHANGELOG.md" || echo "CHANGELOG.md has another for $newest")"
verdict "the soversion is said more than once" "$(grep -rnE "(libgnn(-igraph|-mpi)?\.so\.|soversion[^a-z]*['\"])[0-9]" "$root/meson.build" "$root/cmake" "$root/lib" "$root/examples" "$root/debian" --include=meson.build --include='*.in' --include=rules --include='*.install' | grep -v "meson.build:[0-9]*:soversion = '$soversion'$")"
for file in "$library" "$second" "$third"; do
    [ -f "$file" ] || continue
    states "the soversion of $(basename "$file")" "$(readelf -d "$file" | sed -nE 's/.*\(SONAME\).*\.so\.([0-9]+)\]/\1/p')" "$soversion"
    states "the file of $(basename "$file")" "$(basename "$(readlink -f "$file")")" "$(basename "$file").$version"
done
verdict "packages in debian/control with another soversion" "$(sed -nE 's/^Package: (libgnn(-igraph|-mpi)?[0-9]+)$/\1/p' "$root/debian/control" | grep -vxE "libgnn(-igraph|-mpi)?$soversion")"

echo "$names names exported; of the run-time's own checks the library refers to: ${hardening:-none}"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
