#!/bin/sh
# Installs into an empty folder and builds programs on the result outside the tree: with pkg-config
# against the shared libraries and the archives, with CMake, and with pkg-config on an installation
# without libgnn-igraph, which is built for this. Every function has a man page.
# Long: builds and installs a second library, and programs on both.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build}
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What the caller has installed must not help.
unset PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH CPATH LIBRARY_PATH DESTDIR

. "$root/tests/expect.sh"

# package ARGUMENTS...: pkg-config on what was installed under $prefix, for libgnn; with_igraph, for
# libgnn-igraph.
pkg() {
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$@"
}
package() {
    pkg "$@" gnn
}
with_igraph() {
    pkg "$@" gnn-igraph
}

sources_minimal=minimal.c
sources_own_data=own_data.c
sources_new_aggregator=new_aggregator.c
sources_own_tape=own_tape.c
sources_gnn='programs/*.c'
# compile NAME FOLDER ARGUMENTS...: FOLDER/NAME from the copies of the examples.
compile() (
    cd "$work/examples" || exit
    eval "sources=\$sources_$1"
    program=$2/$1
    shift 2
    # shellcheck disable=SC2086 # the names are patterns
    "$cc" -std=gnu17 -Wall -Wextra -Werror $sources -o "$program" "$@"
)

# build_all FOLDER: programs of one file and of several, by pkg-config against the shared library.
build_all() {
    mkdir "$work/$1"
    for name in minimal own_data new_aggregator own_tape gnn; do
        # shellcheck disable=SC2046 # lists of flags
        expect "$name by pkg-config, $1" compile "$name" "$work/$1" $(package --cflags --libs) -lm
    done
}

# in_library COMMAND...: with the shared library that pkg-config names.
in_library() {
    LD_LIBRARY_PATH=$(package --variable=libdir) "$@"
}

accuracy_of() {
    "$@" | grep -q '^test accuracy [0-9]'
}

cat >"$work/two.graphml" <<'END'
<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>
END
reads_graphml() {
    "$1" convert "$work/two.graphml" | grep -q '2 nodes, 2 messages'
}
says_what_to_link() {
    ! "$1" convert "$work/two.graphml" >"$work/reason" 2>&1 && grep -qF 'link gnn-igraph and call gnn_igraph_use()' "$work/reason"
}

mkdir -p "$work/examples/programs" && cp "$root"/examples/*.c "$work/examples/" && cp "$root"/examples/programs/* "$work/examples/programs/"

# ---- the build that was given, installed below DESTDIR: the folder is not the one that it was
# configured for ----
expect "meson install" flock "$build/house.lock" env DESTDIR="$work/root" meson install -C "$build" --no-rebuild || finish
pc=$(find "$work/root" -name gnn.pc | head -n 1)
expect "gnn.pc is installed" test -n "$pc" || finish
prefix=$work/root$(sed -n 's/^prefix=//p' "$pc")
libdir=$(package --variable=libdir)
has_igraph=
[ ! -f "$prefix/include/gnn/igraph.h" ] || has_igraph=yes

build_all shared
# In C++, by every compiler that is there.
for cxx in g++ clang++; do
    command -v $cxx >/dev/null 2>&1 || { echo "SKIP install_$cxx: no $cxx" && continue; }
    # shellcheck disable=SC2046 # lists of flags
    expect "gat.cpp by pkg-config and $cxx" $cxx -std=c++17 -Wall -Wextra -Wshadow -Wconversion -Werror "$root/examples/cpp/gat.cpp" -o "$work/gat-$cxx" $(package --cflags --libs)
    expect "gat.cpp runs, $cxx" in_library accuracy_of "$work/gat-$cxx"
done
expect "minimal runs, shared" in_library accuracy_of "$work/shared/minimal"
expect "a program without libgnn-igraph says what to link" in_library says_what_to_link "$work/shared/gnn"
for name in citation sentence; do
    expect "gnn $name runs, shared" in_library "$work/shared/gnn" "$name" --help
done
# The archive alone, with shared libraries under it.
mkdir "$work/archive" "$work/static" && cp "$libdir/libgnn.a" "$work/archive/"
# shellcheck disable=SC2046 # lists of flags
expect "minimal by pkg-config, static" compile minimal "$work/static" -L"$work/archive" $(package --static --cflags --libs | sed "s#-L$libdir##")
expect "minimal runs, static" accuracy_of "$work/static/minimal"

# ---- the second library, in the same three ways ----
build_igraph() {
    mkdir "$work/both" "$work/both_static" && cp "$libdir/libgnn-igraph.a" "$work/archive/"
    # shellcheck disable=SC2046 # lists of flags
    expect "gnn by pkg-config, libgnn-igraph" compile gnn "$work/both" -DGNN_WITH_IGRAPH=1 $(with_igraph --cflags --libs) -lm
    expect "GraphML is read, libgnn-igraph" in_library reads_graphml "$work/both/gnn"
    # shellcheck disable=SC2046 # lists of flags
    expect "gnn by pkg-config, libgnn-igraph.a" compile gnn "$work/both_static" -DGNN_WITH_IGRAPH=1 -L"$work/archive" $(with_igraph --static --cflags --libs | sed "s#-L$libdir##g")
    expect "GraphML is read, libgnn-igraph.a" reads_graphml "$work/both_static/gnn"
    expect "the program of archives has no library of ours" sh -c "! ldd '$work/both_static/gnn' | grep -q libgnn"
}
if [ -n "$has_igraph" ]; then
    build_igraph
else
    echo "SKIP install_igraph: this build is without libgnn-igraph"
fi

expect "the command is installed" in_library "$prefix/bin/gnn" --version
expect "and its completion" grep -q '_gnn gnn$' "$prefix/share/bash-completion/completions/gnn"

# ---- CMake: the same programs, and versions that are refused ----
cat >"$work/examples/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(outside C)
foreach(version 0.0.1 0.99 1.0 99)
    find_package(gnn ${version} QUIET)
    if(gnn_FOUND)
        message(FATAL_ERROR "version ${version} was asked for and ${gnn_VERSION} taken")
    endif()
endforeach()
find_package(gnn COMPONENTS none QUIET)
if(gnn_FOUND)
    message(FATAL_ERROR "a component that does not exist was found")
endif()
find_package(gnn ${WANTED} EXACT REQUIRED COMPONENTS shared static ${ALSO})
find_package(gnn 0.2 REQUIRED)
file(GLOB programs programs/*.c)
add_executable(minimal minimal.c)
add_executable(command ${programs})
foreach(program minimal command)
    target_link_libraries(${program} PRIVATE gnn::gnn m)
endforeach()
add_executable(minimal_static minimal.c)
target_link_libraries(minimal_static PRIVATE gnn::gnn_static)
foreach(kind ${ALSO})
    foreach(library ${kind} ${kind}_static)
        add_executable(gnn_${library} ${programs})
        target_compile_definitions(gnn_${library} PRIVATE GNN_WITH_IGRAPH=1)
        target_link_libraries(gnn_${library} PRIVATE gnn::${library} m)
    endforeach()
endforeach()
END
with_cmake() {
    # An archive must be found by its own path: the folder with it is not searched.
    expect "CMake finds gnn" env CC="$cc" cmake -S "$work/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$(package --modversion)" -DALSO="${has_igraph:+igraph}" || return
    expect "CMake builds minimal and the programs" cmake --build "$work/cmake" || return
    expect "minimal runs, CMake" accuracy_of "$work/cmake/minimal"
    expect "minimal runs, CMake and the archive" accuracy_of "$work/cmake/minimal_static"
    [ -z "$has_igraph" ] || expect "GraphML is read, CMake" reads_graphml "$work/cmake/gnn_igraph"
    [ -z "$has_igraph" ] || expect "GraphML is read, CMake and the archives" reads_graphml "$work/cmake/gnn_igraph_static"
    expect "CMake's program has the shared library" sh -c "ldd '$work/cmake/minimal' | grep -F 'libgnn.so' | grep -qF '$work/root'"
    expect "CMake's static program has the archive" sh -c "! ldd '$work/cmake/minimal_static' | grep -q libgnn"
}
if command -v cmake >/dev/null 2>&1; then
    with_cmake
else
    echo "SKIP install_cmake: no cmake"
fi

# ---- without igraph, installed into its own prefix ----
docs=disabled
if command -v doxygen >/dev/null 2>&1; then
    docs=enabled
else
    echo "SKIP install_site: no doxygen"
fi
prefix=$work/empty
expect "configured without igraph" env CC="$cc" meson setup "$work/build" "$root" --prefix="$prefix" -Dbuildtype=debug -Digraph=disabled -Dmpi=disabled -Dtests=disabled -Ddocs=$docs ||
    finish
# What is installed; the other programs are built outside.
targets=$(cd "$work/build" && ninja -t targets all | sed -nE 's/^(gnn|libgnn\.(a|so[.0-9]*|[.0-9]*dylib)): .*/\1/p')
targets="$targets docs/man3"
[ $docs = disabled ] || targets="$targets docs/html $(cd "$work/build" && ninja -t targets all | sed -nE 's/^(gnn(-[a-z]+)?\.1): .*/\1/p')"
# shellcheck disable=SC2086 # a list
expect "built without igraph" ninja -C "$work/build" -j "${GNN_BUILD_JOBS:-2}" $targets || finish
mv "$work/said" "$work/built"
expect "installed without igraph" meson install -C "$work/build" --no-rebuild || finish
pc=$(find "$prefix" -name gnn.pc | head -n 1)
expect "nothing of libgnn-igraph is installed" sh -c "! find '$prefix' -name '*igraph*' | grep -v '/doc/\|/man/' | grep ."
build_all plain
expect "minimal runs without igraph" in_library accuracy_of "$work/plain/minimal"
expect "citation trains without igraph" in_library accuracy_of "$work/plain/gnn" citation --data "$root/graphs/data/debian.npz" --layer gcn --epochs 2
expect "sentence runs without igraph" in_library "$work/plain/gnn" sentence --help

# gnn_igraph_register is no program's call: the second library makes it (docs/decisions/014-second-library.md).
names=$(nm -D --defined-only "$(package --variable=libdir)/libgnn.so" | awk '{ print $NF }' | grep '^gnn_' | grep -vx gnn_igraph_register)
expect "functions were found" test "$(printf '%s\n' "$names" | wc -l)" -gt 50
expect "every function has a man page" sh -c "cd '$prefix/share/man/man3' && for n in $(printf '%s ' $names); do [ -s \$n.3 ] || { echo \$n; bad=1; }; done; [ -z \"\${bad:-}\" ]"
expect "man pages have no other names" sh -c "! ls '$prefix/share/man/man3' | grep -vE '^(gnn[_.]|GNN_).*3$'"
if [ $docs = enabled ]; then
    expect "doxygen has nothing to say about the headers" sh -c "! grep -E -A 3 '(^|/)gnn/[a-z]+\.h:[0-9]+: warning' '$work/built'"
    if command -v help2man >/dev/null 2>&1; then
        expect "citation has a man page" grep -q 'weight.*decay' "$prefix/share/man/man1/gnn-citation.1"
        expect "under its name" grep -Eq '^gnn-citation .*Classifies the nodes' "$prefix/share/man/man1/gnn-citation.1"
        expect "which a reader may type" grep -A 2 '^.SH SYNOPSIS' "$prefix/share/man/man1/gnn-citation.1"
        expect "as gnn citation" sh -c "grep -q '^.B gnn' '$work/last' && grep -q 'citation' '$work/last'"
        expect "the command has one, too" grep -q 'gnn help PROGRAM' "$prefix/share/man/man1/gnn.1"
    else
        echo "SKIP install_man_pages: no help2man"
    fi
    expect "the front page" grep -q 'as one layer\|as <b>one layer' "$prefix/share/doc/gnn/html/index.html"
fi
finish
