# Installs what is missing and builds. Sourced by examples/run.sh, tests/run.sh and .ci/run, which set `root` to the top of the tree.

say() {
    printf '%s\n' "$*"
}

# Lines of packages.txt, and the arguments, of which dpkg knows no name as installed.
missing_lines() {
    {
        sed 's/#.*//; s/|/ /g' "$root/packages.txt"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } | while read -r names; do
        [ -n "$names" ] || continue
        for name in $names; do
            case $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) in
            installed*) continue 2 ;;
            esac
        done
        echo "$names"
    done
}

# apt_has NAME: whether the lists that are there know a version of it.
apt_has() {
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'
}

# From such lines the name that apt has, or the first for apt to complain of. Without lists it is always the first.
choose_packages() {
    lists=
    ! apt_has libc6 || lists=yes
    while read -r names; do
        chosen=${names%% *}
        for name in ${lists:+$names}; do
            if [ "$name" = nothing ] || apt_has "$name"; then
                chosen=$name
                break
            fi
        done
        [ "$chosen" = nothing ] || printf '%s ' "$chosen"
    done
}

missing_packages() {
    missing_lines "$@" | choose_packages
}

# install_packages [MORE...]: nothing happens, and no right is needed, when everything is there.
install_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "Not a Debian system: nothing is installed. Needed (Debian's names): $(sed 's/[|#].*//' "$root/packages.txt" | tr -s '\n ' ' ')"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        say "These packages are missing: $missing"
        say "Installing them needs root, and there is no sudo. As root: apt-get update && apt-get install $missing"
        return 1
    fi
    say "Installing: $missing"
    apt_log=$(mktemp)
    # A machine without package lists needs the first; where lists are there and the net is not, the second may do without it.
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update </dev/null >"$apt_log" 2>&1 ||
        say "(apt-get update failed; trying with the lists that are there)"
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # a list of names
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $missing </dev/null >>"$apt_log" 2>&1; then
        tail -n 30 "$apt_log"
        say "Installing failed: $missing (the last lines are above, all of them in $apt_log)"
        return 1
    fi
    rm -f "$apt_log"
}

# build FOLDER [MESON OPTIONS...]: configures (again) and builds everything, or what $build_targets names; shows the log only when
# that fails, and on a terminal how far it is.
build() {
    build_folder=$1
    shift
    mkdir -p "$build_folder"
    say "Building into ${build_folder#"$root"/}/"
    # shellcheck disable=SC2086 # a list of options
    set -- ${GNN_MESON_OPTIONS:-} "$@"
    if [ -f "$build_folder/meson-private/coredata.dat" ]; then
        set -- --reconfigure "$@"
    fi
    if ! meson setup "$build_folder" "$root" "$@" </dev/null >"$build_folder/setup.log" 2>&1; then
        tail -n 30 "$build_folder/setup.log"
        say "meson could not configure $build_folder (log above). A folder of another meson version or compiler can be removed and made anew."
        return 1
    fi
    # shellcheck disable=SC2086 # a list of targets
    if [ -t 1 ]; then # ninja counts its steps on a line
        ninja -C "$build_folder" ${build_targets:-} </dev/null && return 0
        say "Building $build_folder failed (log above)"
        return 1
    elif ! ninja -C "$build_folder" ${build_targets:-} </dev/null >"$build_folder/build.log" 2>&1; then
        grep -v '^\[.*\] \(Compiling\|Linking\|Generating\)' "$build_folder/build.log" | tail -n 80
        say "Building $build_folder failed (log above, all of it in $build_folder/build.log)"
        return 1
    fi
}
