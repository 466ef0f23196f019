#!/bin/sh
# README's two commands on other systems: each is a folder that debootstrap fills, in which the tree is built and tested from a
# copy of its own. Needs root, Debian's servers the first time, and a minute or two per folder; folders are kept.
#
#   sh tools/systems.sh [--if-possible] SYSTEM...
#
# A SYSTEM is a suite of Debian's archive (bookworm, trixie, forky, sid), or SUITE:VARIANT, where the variant is
#   clang       compiled by clang
#   pthread     OpenBLAS with threads of its own
#   reference   Debian's libblas, which is slow, in place of OpenBLAS
#   gnu23       compiled as C23
# Warnings are errors everywhere. Where the files for tests are (../shared), they are shown to the system too. Where this machine
# has ccache, the systems do as well: a second build then takes seconds.
#
# GNN_SYSTEMS: the folder that keeps the systems, else ${XDG_CACHE_HOME:-$HOME/.cache}/gnn-systems
# GNN_MIRROR: where packages come from, else http://deb.debian.org/debian
#
# --if-possible: where a system cannot be had, it says so and counts as skipped. Logs stay in build/systems/.
# The last line is "N passed, N failed, N skipped".
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"
systems=${GNN_SYSTEMS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gnn-systems}
mirror=${GNN_MIRROR:-http://deb.debian.org/debian}
lenient=
if [ "${1:-}" = --if-possible ]; then
    lenient=yes
    shift
fi

# cannot WHY: no system can be had on this machine. Ends the script, with an error or as skipped.
cannot() {
    say "systems: $1"
    [ -n "$lenient" ] || exit 1
    say "skipped: other systems, $1"
    say "0 passed, 0 failed, 1 skipped"
    exit 0
}

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

# fill FOLDER SUITE: a new root. A suite that debootstrap does not know yet is made as the newest one that it knows.
fill() {
    script=
    [ -e "/usr/share/debootstrap/scripts/$2" ] || script=/usr/share/debootstrap/scripts/sid
    say "Fetching $2 into $1"
    rm -rf "$1.new"
    # shellcheck disable=SC2086 # a name or nothing
    debootstrap --variant=minbase "$2" "$1.new" "$mirror" $script >"$logs/debootstrap.log" 2>&1 || {
        tail -n 5 "$logs/debootstrap.log"
        return 1
    }
    # How this machine fetches packages: proxies, old snapshots.
    apt-config dump | grep -E '^Acquire::(Check-|https?::|ForceIP)' >"$1.new/etc/apt/apt.conf.d/99host" || true
    mv "$1.new" "$1"
}

# inside COMMAND...: runs it in the system, with mounts that end with it.
inside() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private sh -c '
        folder=$1 shared=$2
        shift 2
        mount -t proc proc "$folder/proc" && mount --rbind /sys "$folder/sys" && mount --rbind /dev "$folder/dev" || exit 125
        [ ! -d "$shared" ] || { mkdir -p "$folder/shared" && mount --bind "$shared" "$folder/shared"; } || exit 125
        exec chroot "$folder" "$@"' sh "$folder" "$root/../shared" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 GNN_TEST_JOBS="$(nproc)" OMP_WAIT_POLICY=passive \
        GNN_MESON_OPTIONS="-Dwerror=true $options" ${cc:+CC="$cc"} \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

# version_of PACKAGE: Debian's number without its own suffixes, or "none".
version_of() {
    found=$(inside dpkg-query -W -f='${Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^install ok installed \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p' | head -n 1)
    echo "${found:-none}"
}

# command_of NAME: runs README's command NAME/run.sh; leaves its exit status and its seconds.
command_of() {
    began=$(date +%s) status=0
    inside sh "/libgnn/$1/run.sh" >"$logs/$1.log" 2>&1 </dev/null || status=$?
    seconds=$(($(date +%s) - began))
}

line() {
    printf '%-18s %-13s %-8s %-8s %-15s %9s %9s %7s %7s %8s\n' "$@"
}

run_system() {
    system=$1 suite=${1%%:*} variant=
    [ "$suite" = "$system" ] || variant=${system#*:}
    folder=$systems/$suite${variant:+-$variant} logs=$root/build/systems/$suite${variant:+-$variant}
    compiler=gcc cc='' options='' more='' blas=libopenblas-openmp-dev
    ! command -v ccache >/dev/null || more=ccache # kept with the system; meson finds it by itself
    case $variant in
    '') ;;
    clang) compiler=clang cc=clang more="$more clang libomp-dev" ;;
    pthread) blas=libopenblas-pthread-dev ;;
    reference) blas=libblas-dev ;;
    gnu23) options=-Dc_std=gnu23 ;;
    *)
        say "systems: there is no variant $variant; there are clang, pthread, reference and gnu23"
        exit 2
        ;;
    esac
    mkdir -p "$logs" "$systems"
    [ -d "$folder" ] || fill "$folder" "$suite" || {
        lacks "it could not be fetched from $mirror"
        return 0
    }
    cp /etc/resolv.conf /etc/hosts "$folder/etc/" 2>/dev/null || true
    inside true 2>"$logs/mount.log" || {
        lacks "entering $folder is not allowed ($(tail -n 1 "$logs/mount.log"))"
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
        grep -v '^ok ' "$log" | tail -n 100
        say "----"
    fi
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
}

[ $# -gt 0 ] || {
    say "systems: name a system: sh tools/systems.sh trixie"
    exit 2
}
[ "$(id -u)" = 0 ] || cannot "making and entering a system needs root"
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || cannot "the tree is not a git checkout, which says what to copy"
command -v debootstrap >/dev/null || install_packages debootstrap || true
for program in debootstrap unshare; do
    command -v "$program" >/dev/null || cannot "there is no $program"
done
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
