#!/bin/sh
# Debian packages of what is committed, on other systems: the tarball of a release (meson dist) is unpacked where nothing else of
# the tree is, built into packages and tested there; lintian reads them; a new minimal system installs them with apt and runs the
# tests of debian/tests.
#
#   sh tools/packages.sh [--if-possible] [--short] SUITE...     suites of Debian's archive: bookworm, trixie, forky, sid
#
# GNN_SYSTEMS and GNN_MIRROR: tools/roots.sh. Packages are built in the roots of tools/systems.sh, which keep what is installed
# for it; the root that installs them is made anew each time. Packages and logs stay in build/packages/SUITE/.
#
# --short: of the suites those that building the packages runs (debian/rules), not all; DEB_BUILD_OPTIONS=nocheck: none.
# --if-possible: where a system cannot be had, it says so and counts as skipped.
# The last line is "N passed, N failed, N skipped".
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"
. "$root/tools/roots.sh"
short=
while :; do
    case ${1:-} in
    --if-possible) lenient=yes ;;
    --short) short=yes ;;
    *) break ;;
    esac
    shift
done
passed=0 failed=0 skipped=0

# step NAME COMMAND...: counts as one; where the command ends with "N passed, N failed, N skipped", these count instead. Shows
# the end of the log where it fails.
step() {
    step_log=$logs/$(printf '%s' "$1" | tr -c 'a-z0-9\n' -).log began=$(date +%s) good=1 bad=0 word=ok name=$1
    shift
    "$@" >"$step_log" 2>&1 </dev/null || good=0 bad=1
    sums=$(tail -n 1 "$step_log" | grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$') || sums=
    if [ -n "$sums" ]; then
        failing=$bad
        read -r good _ bad _ left_out _ <<END
$sums
END
        [ "$failing" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
        skipped=$((skipped + left_out))
    fi
    passed=$((passed + good)) failed=$((failed + bad))
    [ "$bad" -eq 0 ] || word=FAILED
    printf '%-6s %-50s %5d passed %3d failed %5d s\n' "$word" "$suite: $name" "$good" "$bad" $(($(date +%s) - began))
    if [ "$bad" -gt 0 ]; then
        say "---- $step_log"
        grep -v '^ok ' "$step_log" | tail -n 60
        say "----"
    fi
    [ "$bad" -eq 0 ]
}

# tarball: leaves $tarball, which holds what is committed.
tarball() {
    configured=$root/build/packages/configured
    [ -f "$configured/build.ninja" ] || meson setup "$configured" "$root" -Dtests=disabled -Dbench=disabled -Dexamples=disabled >"$configured.log" 2>&1 || {
        tail -n 20 "$configured.log"
        cannot "meson could not configure the tree"
    }
    meson dist -C "$configured" --no-tests --allow-dirty --formats xztar >"$configured.log" 2>&1 || {
        tail -n 20 "$configured.log"
        cannot "meson made no tarball"
    }
    tarball=$(ls -t "$configured"/meson-dist/libgnn-*.tar.xz | head -n 1)
    version=${tarball##*/libgnn-}
    version=${version%.tar.xz}
}

# copy_in: the tree of the tarball, and nothing else.
copy_in() {
    rm -rf "$folder/release"
    mkdir "$folder/release"
    tar --extract --no-same-owner -C "$folder/release" --file "$tarball"
}

apt() {
    inside DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

# in_release COMMAND...: in the unpacked tarball.
in_release() {
    inside sh -c "cd /release/libgnn-$version && exec env \"\$@\"" sh "$@"
}

tools() {
    apt update && apt install --no-install-recommends build-essential lintian ccache && in_release DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends build-dep ./
}

# Not reported: the policy that the packages follow, if lintian is older than it; what pyproject.toml would need, since no package
# contains the Python part.
read_by_lintian() {
    # shellcheck disable=SC2016 # expanded in the root
    inside sh -c 'cd /release && lintian --version && lintian --allow-root --display-info --pedantic --suppress-tags newer-standards-version,missing-prerequisite-for-pyproject-backend --fail-on error,warning,info,pedantic "$@" ./*.changes' sh
}

suites() {
    # shellcheck disable=SC2016 # expanded in the root
    in_release sh -c 'sh tests/suites.sh obj-$(dpkg-architecture -qDEB_HOST_MULTIARCH)'
}

# names_of FIELD TEST: what the stanza of debian/tests/control that has the test says in a field, without commas.
names_of() {
    awk -v field="$1:" -v test="$2" 'BEGIN { RS = ""; FS = "\n" } {
        of = 0
        for (k = 1; k <= NF; k++) if ($k ~ "^Tests:.*[ ,]" test "( |,|$)") of = 1
        for (k = 1; of && k <= NF; k++) if (index($k, field) == 1) { gsub(/,/, " ", $k); print substr($k, length(field) + 1) }
    }' "$root/debian/tests/control"
}

install_packages_built() {
    apt update && inside DEBIAN_FRONTEND=noninteractive sh -c 'cd /packages && apt-get -q -y install ./*.deb'
}

# autopkgtest TEST: as autopkgtest runs it, from the tree, in a folder of its own, with what it depends on.
autopkgtest() {
    # shellcheck disable=SC2046 # lists of names
    apt install --no-install-recommends $(names_of Depends "$1") || return 1
    # shellcheck disable=SC2016
    inside sh -c 'cd /source && AUTOPKGTEST_TMP=$(mktemp -d) && export AUTOPKGTEST_TMP && debian/tests/"$1"' sh "$1"
}

build_in() {
    suite=$1 logs=$root/build/packages/$1
    mkdir -p "$logs"
    rm -f "$logs"/*.deb
    enter "$systems/$suite" "$suite" || return 1
    copy_in
    step "tools" tools || return 0
    step "packages are built" in_release DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -us -uc || return 0
    step "lintian has nothing to say" read_by_lintian || true
    [ -n "$short" ] || step "all suites pass in the tarball, without data" suites || true
    cp "$folder"/release/*.deb "$logs/"
}

install_in() {
    rm -rf "$systems/$suite-fresh"
    enter "$systems/$suite-fresh" "$suite" || return 1
    mkdir "$folder/packages" "$folder/source"
    # Debug symbols are for another archive.
    for package in "$logs"/*.deb; do
        case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$folder/packages/" ;;
        esac
    done
    step "apt installs them on a new system" install_packages_built || return 0
    # The tests find examples and nothing that is built.
    tar --extract --no-same-owner -C "$folder/source" --strip-components 1 --file "$tarball"
    for test in $(sed -n 's/^Tests://p' "$root/debian/tests/control" | tr -d ,); do
        step "debian/tests/$test" autopkgtest "$test" || true
    done
}

lacks() {
    say "$suite: $why"
    if [ -n "$lenient" ]; then
        skipped=$((skipped + 1))
        say "skipped: $suite, $why"
    else
        failed=$((failed + 1))
    fi
}

[ $# -gt 0 ] || {
    say "packages: name a suite: sh tools/packages.sh trixie"
    exit 2
}
need_roots
mkdir -p "$root/build/packages"
tarball
for suite; do
    if ! build_in "$suite"; then
        lacks
    elif ls "$logs"/*.deb >/dev/null 2>&1 && ! install_in; then
        lacks
    fi
done
say "packages and logs in build/packages"
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
