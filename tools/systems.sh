#!/bin/sh
# README's two commands on other systems: each is a folder that debootstrap fills, in which the tree is built and tested from a
# copy of its own. Needs root, Debian's servers the first time, and a minute or two per folder; folders are kept.
#
#   sh tools/systems.sh [--if-possible] [--short] SYSTEM...
#
# A SYSTEM is a suite of Debian's archive (bookworm, trixie, forky, sid), or SUITE:VARIANT, where the variant is
#   clang       compiled by clang
#   pthread     OpenBLAS with threads of its own
#   reference   Debian's libblas, which is slow, in place of OpenBLAS
#   gnu23       compiled as C23
# Warnings are errors everywhere. Where the files for tests are (../shared), they are shown to the system too. Where this machine
# has ccache, the systems do as well: a second build then takes seconds.
#
# GNN_SYSTEMS and GNN_MIRROR: tools/roots.sh.
#
# --short: no benchmarks are built, suites draw fewer cases, and of the scripts in tests/house and the longest suites those run whose
# result depends on compiler and libraries: ranks over more layers and models, damaged folders, killed trainings and one long training
# run the same code as suites that stay.
# --if-possible: where a system cannot be had, it says so and counts as skipped. Logs stay in build/systems/.
# The last line is "N passed, N failed, N skipped".
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"
. "$root/tools/roots.sh"
short='' scripts='' own='checkpoint_kill ranks_damage ranks_layers ranks_models sac'
while :; do
    case ${1:-} in
    --if-possible) lenient=yes ;;
    --short) short=-Dbench=disabled scripts='configure guide headers_cpp readme symbols tutorial' ;;
    *) break ;;
    esac
    shift
done

# lacks WHY: the present system cannot be had.
lacks() {
    say "$system: $1"
    if [ -n "$lenient" ]; then
        all_skipped=$((all_skipped + 1))
        say "skipped: $system, $1"
    else
        all_failed=$((all_failed + 1))
    fi
    line "$system" "cannot be had" - - - - - - - - >>"$table"
}

# version_of PACKAGE: Debian's number without its own suffixes, or "none".
version_of() {
    found=$(inside dpkg-query -W -f='${Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^install ok installed \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p' | head -n 1)
    echo "${found:-none}"
}

# command_of NAME: runs README's command NAME/run.sh; leaves its exit status and its seconds.
command_of() {
    began=$(date +%s) status=0
    inside GNN_MESON_OPTIONS="-Dwerror=true $options $short" GNN_TEST_HOUSE="$scripts" ${short:+GNN_TEST_SMALL=1} ${short:+GNN_TEST_WITHOUT="$own"} ${cc:+CC="$cc"} sh "/libgnn/$1/run.sh" >"$logs/$1.log" 2>&1 </dev/null || status=$?
    seconds=$(($(date +%s) - began))
}

line() {
    printf '%-18s %-13s %-8s %-8s %-15s %9s %9s %7s %7s %8s\n' "$@"
}

run_system() {
    system=$1 suite=${1%%:*} variant=
    [ "$suite" = "$system" ] || variant=${system#*:}
    logs=$root/build/systems/$suite${variant:+-$variant}
    compiler=gcc cc='' options='' blas=libopenblas-openmp-dev
    more=g++ # of gnn.hpp and its suite
    ! command -v ccache >/dev/null || more="$more ccache" # kept with the system; meson finds it by itself
    case $variant in
    '') ;;
    clang) compiler=clang cc=clang more="$more clang libomp-dev" ;;
    pthread) blas=libopenblas-pthread-dev ;;
    reference) blas=libblas-dev more="$more liblapack-dev" ;;
    gnu23) options=-Dc_std=gnu23 ;;
    *)
        say "systems: there is no variant $variant; there are clang, pthread, reference and gnu23"
        exit 2
        ;;
    esac
    mkdir -p "$logs"
    enter "$systems/$suite${variant:+-$variant}" "$suite" || {
        lacks "$why"
        return 0
    }
    rm -rf "$folder/libgnn"
    mkdir "$folder/libgnn"
    (cd "$root" && git ls-files -z | tar --null --files-from=- --create) | tar --extract -C "$folder/libgnn"
    # shellcheck disable=SC2086 # a list of names
    { sed "s/^libopenblas-openmp-dev/$blas/" "$root/packages.txt" && printf '%s\n' $more; } >"$folder/libgnn/packages.txt"
    inside sh -c 'root=/libgnn && . /libgnn/tools/setup.sh && install_packages' >"$logs/packages.log" 2>&1 </dev/null || {
        tail -n 5 "$logs/packages.log"
        lacks "its packages could not be installed"
        return 0
    }

    command_of examples
    first="$seconds s" second=- passed=0 failed=1 skipped=0
    if [ "$status" -eq 0 ]; then
        command_of tests
        second="$seconds s"
        sums=$(tail -n 1 "$logs/tests.log" | grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$') || sums='0 passed, 1 failed, 0 skipped'
        read -r passed _ failed _ skipped _ <<END
$sums
END
        [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    fi
    line "$system" "$compiler $(inside "$compiler" -dumpfullversion 2>/dev/null || inside "$compiler" -dumpversion)" "$(version_of libdnnl-dev)" "$(version_of libigraph-dev)" \
        "$(version_of "$blas")$([ "$blas" = libopenblas-openmp-dev ] || echo " $variant")" "$first" "$second" "$passed" "$failed" "$skipped" >>"$table"
    if [ "$failed" -gt 0 ]; then
        log=$logs/tests.log
        [ "$second" != - ] || log=$logs/examples.log
        say "---- $system: $log"
        awk '/^FAILED/ { left = 60 } left-- > 0' "$log"
        [ "$second" != - ] || tail -n 60 "$log"
        say "----"
    fi
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
}

[ $# -gt 0 ] || {
    say "systems: name a system: sh tools/systems.sh trixie"
    exit 2
}
need_roots
table=$(mktemp)
trap 'rm -f "$table"' EXIT
all_passed=0 all_failed=0 all_skipped=0
line system compiler oneDNN igraph BLAS examples tests passed failed skipped >"$table"
for system; do
    run_system "$system"
done
cat "$table"
say "logs in build/systems"
say "$all_passed passed, $all_failed failed, $all_skipped skipped"
[ "$all_failed" -eq 0 ]
