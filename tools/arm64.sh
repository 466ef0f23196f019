#!/bin/sh
# Builds for 64-bit ARM on another machine and runs the suites under qemu, small. On a bare Debian 12 it installs what it needs
# (as root): the cross compiler, qemu, and a folder of arm64 libraries made by mmdebstrap.
#
#   sh tools/arm64.sh [--if-possible] [SUITE...]     all suites if none is named; GNN_ARM64_ROOT: where the folder of libraries is kept
#
# --if-possible: where the packages cannot be had, it says so and counts as skipped. What is named alone is built.
# The last line is "N passed, N failed, N skipped".
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"
libraries=${GNN_ARM64_ROOT:-$root/build-arm64-root}
lenient=
if [ "${1:-}" = --if-possible ]; then
    lenient=yes
    shift
fi

# cannot WHAT: ends the script, with an error or as skipped.
cannot() {
    say "arm64: $1"
    [ -n "$lenient" ] || exit 1
    say "skipped: arm64, $1"
    say "0 passed, 0 failed, 1 skipped"
    exit 0
}
build=$root/build-arm64

# The libraries of packages.txt; a folder that was filled with others is filled anew.
packages=$(sed 's/[|#].*//; s/ //g' "$root/packages.txt" | grep -e '-dev$' | tr '\n' ',')check,libgomp1
install_packages crossbuild-essential-arm64 qemu-user-static mmdebstrap arch-test || cannot "the cross compiler and qemu could not be installed"
for program in aarch64-linux-gnu-gcc qemu-aarch64-static mmdebstrap; do
    command -v "$program" >/dev/null || cannot "there is no $program"
done
if [ "$(cat "$libraries/packages.list" 2>/dev/null)" != "$packages" ]; then
    say "Fetching arm64 libraries into $libraries"
    rm -rf "$libraries"
    mmdebstrap --quiet --arch=arm64 --variant=extract --mode=root --include="$packages" \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$libraries" || {
        rm -rf "$libraries"
        cannot "the libraries for arm64 could not be fetched (mmdebstrap wants root and Debian's servers)"
    }
    echo "$packages" >"$libraries/packages.list"
fi

# What update-alternatives would link.
links=$libraries/usr/lib/aarch64-linux-gnu
for name in libopenblas.so libopenblas.so.0 libblas.so.3 liblapack.so.3; do
    [ ! -e "$links/openblas-openmp/$name" ] || ln -sfn "openblas-openmp/$name" "$links/$name"
done

mkdir -p "$build"
cat >"$build/arm64.cross" <<END
[binaries]
c = [$(command -v ccache >/dev/null && printf "'ccache', ")'aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$libraries']

[properties]
sys_root = '$libraries'
pkg_config_libdir = '$links/pkgconfig:$links/openblas-openmp/pkgconfig:$libraries/usr/share/pkgconfig'

[built-in options]
c_args = ['--sysroot=$libraries']
c_link_args = ['--sysroot=$libraries', '-Wl,-rpath-link,$links', '-L$links']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
END
for suite; do
    build_targets="${build_targets:-examples/own_data} tests/test_$suite" # data_new runs this example
done
build "$build" --cross-file "$build/arm64.cross" -Dwerror=true -Dbuildtype=debugoptimized -Db_ndebug=true
export GNN_TEST_WRAPPER="qemu-aarch64-static -L $libraries" GNN_TEST_RUNNER="qemu-aarch64-static -L $libraries" GNN_TEST_SMALL=1 CK_FORK=no CK_DEFAULT_TIMEOUT=0
export GNN_TEST_JOBS="${GNN_TEST_JOBS:-$(nproc)}" OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
exec sh "$root/tests/suites.sh" "$build" "$@"
