#!/bin/sh
# On a system that cannot work, configuring ends with one sentence that names what is wrong: cross files pretend to be such systems.
# Packages are built with flags of the environment alone: kernels are optimised there, too.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good=0 bad=0

# refuses NAME SYSTEM PROCESSOR ENDIAN C_ARGS SENTENCE
refuses() {
    cat >"$work/$1.cross" <<END
[binaries]
c = 'gcc'
pkgconfig = 'pkg-config'

[host_machine]
system = '$2'
cpu_family = '$3'
cpu = '$3'
endian = '$4'

[built-in options]
c_args = [$5]
END
    (cd "$root" && meson setup --cross-file "$work/$1.cross" "$work/$1") >"$work/$1.log" 2>&1 &&
        echo "$1: was configured" >>"$work/$1.log"
    if grep -q "ERROR: Problem encountered: $6" "$work/$1.log"; then
        good=$((good + 1))
    else
        bad=$((bad + 1))
        echo "$1: expected \"$6\", got:"
        tail -n 3 "$work/$1.log"
    fi
}

# The processor of this machine, of which nothing else is pretended.
own=$(uname -m)
refuses macos darwin "$own" little "" "libgnn runs under Linux; this is darwin"
refuses windows windows "$own" little "" "libgnn runs under Linux; this is windows"
refuses 32-bit linux x86 little "'-U__SIZEOF_POINTER__', '-D__SIZEOF_POINTER__=4'" "libgnn needs a 64-bit processor; pointers of x86 have 4 bytes"
refuses big-endian linux s390x big "" "libgnn needs a little-endian processor, for its files are; s390x is big-endian"
refuses c-library linux "$own" little "'-D_FEATURES_H'" "libgnn needs glibc; the C library here is another one"
refuses openmp linux "$own" little "'-U_OPENMP'" "OpenMP is missing: this gcc has no -fopenmp"

# kernels_have OPTIMIZATION CFLAGS: with which -O they are compiled at last.
kernels_have() {
    rm -rf "$work/plain"
    (cd "$root" && CFLAGS=$2 meson setup --buildtype=plain -Dtests=disabled -Dbench=disabled -Dexamples=disabled "$work/plain") >"$work/plain.log" 2>&1
    came=$(grep -m 1 '"command":.*by_tile/tile.kernel.c' "$work/plain/compile_commands.json" | grep -oE ' -O[0-9s]' | tail -n 1)
    if [ "$came" = " $1" ]; then
        good=$((good + 1))
    else
        bad=$((bad + 1))
        echo "kernels have \"$came\" with CFLAGS=$2, $1 is expected"
        tail -n 3 "$work/plain.log"
    fi
}
kernels_have -O3 '-g -O2'
kernels_have -O0 '-g -O0'
echo "CHECKS $good $bad"
[ "$bad" -eq 0 ]
