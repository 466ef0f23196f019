#!/bin/sh
# Installs into an empty folder and compiles every header alone from outside the tree, as C17 and as C++17. (install.sh builds programs.)
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

expect "meson install" env DESTDIR="$work/root" meson install -C "$build" --no-rebuild
pc=$(find "$work/root" -name gnn.pc | head -n 1)
if [ -z "$pc" ]; then
    echo "no gnn.pc was installed"
    echo "CHECKS $passed $((failed + 1))"
    exit 1
fi
# The folder that was installed to, wherever the build's prefix says.
prefix=$work/root$(sed -n 's/^prefix=//p' "$pc")
package() {
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$@" gnn
}
flags=$(package --cflags)
cd "$work" || exit 2

cxx=
for name in ${CXX:-} c++ g++ clang++; do
    command -v "$name" >/dev/null 2>&1 && cxx=$name && break
done
[ -n "$cxx" ] || echo "SKIP headers_as_cpp: no C++ compiler (g++ or clang++)"
strict="-pedantic-errors -Wall -Wextra -Werror -fsyntax-only"
# The second library's header is installed with it.
[ -f "$build/libgnn-igraph.so" ] && second= || second=igraph.h
for header in "$root"/include/gnn/*.h; do
    name=gnn/$(basename "$header")
    [ "$(basename "$header")" != "$second" ] || continue
    printf '#include <%s>\n#include <%s>\nint only_%s;\n' "$name" "$name" "$(basename "$header" .h)" >alone.c
    cp alone.c alone.cpp
    # shellcheck disable=SC2086 # lists of flags
    expect "$name as C17" "$cc" -std=c17 $strict $flags alone.c
    # shellcheck disable=SC2086
    [ -z "$cxx" ] || expect "$name as C++17" "$cxx" -std=c++17 $strict $flags alone.cpp
done
expect "every header is installed" sh -c "cd '$root/include/gnn' && for h in *.h; do [ \$h = '$second' ] || [ -f '$prefix/include/gnn/'\$h ] || { echo \$h; exit 1; }; done"

finish
