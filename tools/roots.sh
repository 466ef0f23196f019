# Roots of other Debian systems: folders that debootstrap fills and that are entered by chroot. Sourced by tools/systems.sh and
# tools/packages.sh, which set `root` to the top of the tree and source tools/setup.sh before. Needs root, Debian's servers the
# first time, and a minute or two per suite; folders are kept.
#
# GNN_SYSTEMS: the folder that keeps the systems, else ${XDG_CACHE_HOME:-$HOME/.cache}/gnn-systems
# GNN_MIRROR: where packages come from, else http://deb.debian.org/debian
systems=${GNN_SYSTEMS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gnn-systems}
mirror=${GNN_MIRROR:-http://deb.debian.org/debian}
lenient=

# cannot WHY: no system can be had on this machine. Ends the script, with an error or, where $lenient is set, as skipped.
cannot() {
    say "$(basename "$0" .sh): $1"
    [ -n "$lenient" ] || exit 1
    say "skipped: other systems, $1"
    say "0 passed, 0 failed, 1 skipped"
    exit 0
}

# need_roots: ends the script where no root can be made or no tree copied into it.
need_roots() {
    [ "$(id -u)" = 0 ] || cannot "making and entering a system needs root"
    git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || cannot "the tree is not a git checkout, which says what to copy"
    command -v debootstrap >/dev/null || install_packages debootstrap || true
    for program in debootstrap unshare; do
        command -v "$program" >/dev/null || cannot "there is no $program"
    done
    mkdir -p "$systems/ccache"
}

# bootstrap SUITE: leaves a minimal system as an archive, which fresh roots are unpacked from. A suite that debootstrap does not
# know yet is made as the newest one that it knows.
bootstrap() {
    script=
    [ -e "/usr/share/debootstrap/scripts/$1" ] || script=/usr/share/debootstrap/scripts/sid
    say "Fetching $1"
    rm -rf "$systems/$1.new"
    # shellcheck disable=SC2086 # a name or nothing
    debootstrap --variant=minbase "$1" "$systems/$1.new" "$mirror" $script >"$logs/debootstrap.log" 2>&1 || {
        tail -n 5 "$logs/debootstrap.log"
        return 1
    }
    # How this machine fetches packages: proxies, old snapshots.
    apt-config dump | grep -E '^Acquire::(Check-|https?::|ForceIP)' >"$systems/$1.new/etc/apt/apt.conf.d/99host" || true
    rm -f "$systems/$1.new"/var/cache/apt/archives/*.deb
    tar --create --numeric-owner -C "$systems/$1.new" --file "$systems/$1.tar.new" . || return 1
    rm -rf "$systems/$1.new"
    mv "$systems/$1.tar.new" "$systems/$1.tar"
}

# fill FOLDER SUITE: a new root.
fill() {
    [ -f "$systems/$2.tar" ] || bootstrap "$2" || return 1
    rm -rf "$1.new"
    mkdir "$1.new"
    tar --extract --numeric-owner -C "$1.new" --file "$systems/$2.tar" || return 1
    mv "$1.new" "$1"
}

# enter FOLDER SUITE: the root that `inside` runs commands in, made where it is missing. Fails with the reason in $why.
enter() {
    folder=$1
    [ -d "$folder" ] || fill "$folder" "$2" || {
        why="it could not be fetched from $mirror"
        return 1
    }
    cp /etc/resolv.conf /etc/hosts "$folder/etc/" 2>/dev/null || true
    inside true 2>"$logs/mount.log" || {
        why="entering $folder is not allowed ($(tail -n 1 "$logs/mount.log"))"
        return 1
    }
}

# inside [NAME=VALUE...] COMMAND...: runs it in the root, with mounts that end with it: the files for tests, and a folder for
# ccache that systems with the same compiler share.
inside() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private sh -c '
        folder=$1
        show() { [ ! -d "$1" ] || { mkdir -p "$folder/$2" && mount --bind "$1" "$folder/$2"; }; }
        mount -t proc proc "$folder/proc" && mount --rbind /sys "$folder/sys" && mount --rbind /dev "$folder/dev" || exit 125
        show "$2" shared && show "$3" ccache || exit 125
        shift 3
        exec chroot "$folder" "$@"' sh "$folder" "$root/../shared" "$systems/ccache" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR=/ccache GNN_TEST_JOBS="$(nproc)" OMP_WAIT_POLICY=passive \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}
