#!/bin/sh
# Installs into an empty folder and compiles every header alone from outside the tree, as C17 and as C++17, and all of them with gnn/gnn.hpp as C++17, 20
# and 23 by every C++ compiler that is there. gnn.hpp has a handle for every type that is freed, and a function for every field of the structs that it
# lists. (install.sh builds programs.)
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/expect.sh"

expect "meson install" flock "$build/house.lock" env DESTDIR="$work/root" meson install -C "$build" --no-rebuild
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

compilers=
for name in ${CXX:-} g++ clang++ c++; do
    command -v "$name" >/dev/null 2>&1 || continue
    case " $compilers " in *" $name "*) continue ;; esac
    [ "$name" = c++ ] && [ -n "$compilers" ] && continue
    compilers="$compilers $name"
done
cxx=${compilers# }
cxx=${cxx%% *}
[ -n "$cxx" ] || echo "SKIP headers_as_cpp: no C++ compiler (g++ or clang++)"
strict="-pedantic-errors -Wall -Wextra -Werror -fsyntax-only"
loud="$strict -Wshadow -Wconversion"
# The second library's header is installed with it.
[ -f "$build/libgnn-igraph.so" ] && second= || second=igraph.h
for header in "$root"/include/gnn/*.h; do
    name=gnn/$(basename "$header")
    [ "$(basename "$header")" != "$second" ] || continue
    printf '#include <%s>\n#include <%s>\nint only_%s;\n' "$name" "$name" "$(basename "$header" .h)" >alone.c
    cp alone.c alone.cpp
    # shellcheck disable=SC2086 # lists of flags
    expect "$name as C17" "$cc" -std=c17 $loud $flags alone.c
    # shellcheck disable=SC2086
    [ -z "$cxx" ] || expect "$name as C++17" "$cxx" -std=c++17 $strict $flags alone.cpp
done
{
    (cd "$root/include/gnn" && ls ./*.h) | grep -vxF "./$second" | sed 's#^\./\(.*\)#\#include <gnn/\1>#'
    printf '#include <gnn/gnn.hpp>\n#include <gnn/gnn.hpp>\nint main() { return gnn::graph().get() != nullptr; }\n'
} >all.cpp
for name in $compilers; do
    for standard in 17 20 2b; do
        # shellcheck disable=SC2086
        expect "all headers and gnn.hpp as C++$standard by $name" "$name" -std=c++$standard $loud $flags all.cpp
    done
done
expect "every header is installed" sh -c "cd '$root/include/gnn' && for h in *.h *.hpp; do [ \$h = '$second' ] || [ -f '$prefix/include/gnn/'\$h ] || { echo \$h; exit 1; }; done"

# ---- what gnn.hpp lists is what the headers have ----

# fields STRUCT: the names of its members, one a line.
fields() {
    cat "$root"/include/gnn/*.h | awk -v name="$1" '
        {
            while (inside || match($0, /\/\*/)) { # without comments
                if (!inside) { kept = substr($0, 1, RSTART - 1); $0 = substr($0, RSTART + 2) }
                inside = !match($0, /\*\//)
                $0 = inside ? "" : substr($0, RSTART + 2)
                $0 = kept $0
                if (inside) { kept = ""; break }
                kept = ""
            }
        }
        /^typedef struct/ { body = "" }
        $0 ~ "^} " name ";" { print body; exit }
        { body = body " " $0 }' |
        sed -e 's/^[^{]*{//' -e 's/}[^}]*$//' -e 's/int (\*\([a-z]*\))([^)]*)/int \1/g' | tr ';' '\n' | tr ',' '\n' |
        sed -nE 's/.*[^a-z0-9_]([a-z][a-z0-9_]*)(\[[^]]*\])? *$/\1/p' | sort
}
# listed STRUCT: those that gnn.hpp makes functions of.
listed() {
    tr '\n' ' ' <"$root/include/gnn/gnn.hpp" | sed 's/#define/\n#define/g' | grep "^#define GNN_HPP_FIELDS_$1(X)" |
        grep -oE 'X\([a-z][a-z0-9_]*\)' | sed 's/X(\(.*\))/\1/' | sort
}
for name in $(grep -oE 'GNN_HPP_FIELDS_gnn_[a-z_]+' "$root/include/gnn/gnn.hpp" | sed 's/GNN_HPP_FIELDS_//' | sort -u); do
    fields "$name" >"$work/members"
    listed "$name" >"$work/functions"
    expect "$name has members" test "$(wc -l <"$work/members")" -gt 2
    expect "every member of $name is a function in gnn.hpp" diff "$work/members" "$work/functions"
done
fields gnn_block_t >"$work/members"
{
    printf '%s\n' name input layer
    sed -nE 's/^GNN_BLOCK_MEMBER\([A-Z0-9_]+, ([a-z_]+)\)$/\1/p' "$root/lib/model/block_fields.def"
} | sort >"$work/functions"
expect "every member of gnn_block_t is in lib/model/block_fields.def" diff "$work/members" "$work/functions"
cat "$root"/include/gnn/*.h | grep -oE 'void gnn_[a-z_]+_free\(' | sed 's/void \(.*\)(/\1/' | sort -u >"$work/freed"
missing() {
    while read -r name; do
        grep -q "[ ,]$name[)>]" "$root/include/gnn/gnn.hpp" || echo "$name"
    done <"$work/freed" >"$work/missing"
    cat "$work/missing"
    [ ! -s "$work/missing" ] && [ "$(wc -l <"$work/freed")" -gt 30 ]
}
expect "every type that is freed has a handle in gnn.hpp" missing

finish
