#!/bin/sh
# Runs the suites of one build folder and adds up.
#
#   sh tests/suites.sh [--house | --all] FOLDER [SUITE...]     all suites if none is named
#
# --house: also the scripts in tests/house, except those with a line "# Long: why" at their top, which
# --all runs, too. GNN_TEST_JOBS suites and scripts run at once (1), the longest scripts first, since
# most of them use one processor; what a script does in the build folder itself it does under
# `flock FOLDER/house.lock`. GNN_TEST_HOUSE names the scripts that run.
# GNN_TEST_WITHOUT names suites that are left out.
# GNN_TEST_WRAPPER stands before each program ("valgrind -q"). With GNN_REQUIRE_DATA=1 a skip counts as failed. Each suite says "CHECKS passed failed" and
# "SKIP name: why", or "LEFT OUT name: why" of what does not count then either; one that crashes or says nothing counts as one failure. Logs stay in FOLDER/test-logs/.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
house='' long=''
case ${1:-} in
--house) house=yes ;;
--all) house=yes long=yes ;;
esac
[ -z "$house" ] || shift
build=$(CDPATH='' cd -- "$1" && pwd) || exit 2
shift
logs=$build/test-logs
mkdir -p "$logs"
# run NAME COMMAND...: prints a row, and leaves "passed failed skipped" in NAME.counts.
run() {
    name=$1 log=$logs/$1.log began=$(date +%s)
    shift
    timeout 1800 "$@" </dev/null >"$log" 2>&1
    code=$?
    count "$code"
    printf '%-6s %-20s %5d passed %3d failed %3d skipped %5d s\n' "$word" "$name" "$good" "$bad" "$left_out" $(($(date +%s) - began))
    if [ "$bad" -gt 0 ]; then
        echo "---- $name: exit status $code; last lines of $log"
        tail -n 60 "$log"
        echo "----"
    fi
    echo "$good $bad $left_out" >"$logs/$name.counts"
}

# Reads the log: good, bad, left_out, word.
count() {
    good=$(sed -n 's/^CHECKS \([0-9][0-9]*\) [0-9][0-9]*$/\1/p' "$log" | tail -n 1)
    bad=$(sed -n 's/^CHECKS [0-9][0-9]* \([0-9][0-9]*\)$/\1/p' "$log" | tail -n 1)
    skips=$(grep -c '^SKIP ' "$log") left_out=$(grep -cE '^(SKIP|LEFT OUT) ' "$log")
    sed -nE "s/^(SKIP|LEFT OUT) /  $name, /p" "$log" >"$logs/$name.skips"
    if [ -z "$good" ] || { [ "$1" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        bad=$((${bad:-0} + 1))
    fi
    good=${good:-0}
    case $log in
    */house-*) ;; # a script does not count what it skips
    *) # a test that was skipped has not passed, though Check says so
        good=$((good > left_out ? good - left_out : 0))
        ;;
    esac
    if [ "${GNN_REQUIRE_DATA:-}" = 1 ]; then
        bad=$((bad > skips ? bad : skips))
        left_out=$((left_out - skips))
    fi
    word=ok
    [ "$bad" -eq 0 ] || word=FAILED
}

cd "$root" || exit 2
# Threads that wait give their core away: suites and what else the machine does then cost no more than their work.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
export CK_VERBOSITY="${CK_VERBOSITY:-normal}" CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-900}"
if [ "${GNN_TEST_ONE:-}" = 1 ]; then
    case $1 in
    house-*) run "$1" sh "tests/house/${1#house-}.sh" "$build" ;; # without the wrapper
    # shellcheck disable=SC2086 # the wrapper is a command with arguments
    *) run "$1" ${GNN_TEST_WRAPPER:-} "$build/tests/test_$1" ;;
    esac
    exit 0
fi

# Prints "house-NAME" of the scripts that run, those that take minutes first.
scripts() {
    for when in long short; do
        for script in ${house:+tests/house/*.sh}; do
            name=$(basename "$script" .sh)
            why=$(sed -n '1,/^[^#]/s/^# Long: //p' "$script")
            [ "$when" = "$([ -n "$why" ] && echo long || echo short)" ] || continue
            case " ${GNN_TEST_HOUSE:-$name} " in
            *" $name "*) ;;
            *) continue ;;
            esac
            if [ -n "$why" ] && [ -z "$long${GNN_TEST_HOUSE:-}" ]; then
                printf '%-6s %-20s %s\n' - "house-$name" "runs with --all: $why" >&2
            else
                echo "house-$name"
            fi
        done
    done
}

# Prints the suites that run.
suites() {
    for source in tests/test_*.c tests/test_*.cpp; do
        suite=$(basename "${source%.*}")
        suite=${suite#test_}
        case " ${GNN_TEST_WITHOUT:-} " in
        *" $suite "*)
            echo "$suite is left out" >&2
            continue
            ;;
        esac
        case " ${*:-$suite} " in
        *" $suite "*) ;;
        *) continue ;;
        esac
        # Some builds lack a suite (igraph is an option); the main one must know all that are in C.
        if { [ -z "$house" ] || [ "${source%.cpp}" != "$source" ]; } && ! grep -q "^build tests/test_$suite:" "$build/build.ninja"; then
            echo "-      $suite is not part of this build" >&2
            continue
        fi
        echo "$suite"
    done
}

rm -f "$logs"/*.counts "$logs"/*.skips
{
    scripts
    suites "$@"
} | GNN_TEST_ONE=1 xargs -n 1 -P "${GNN_TEST_JOBS:-1}" sh tests/suites.sh "$build"

wanted=0
for name in ${house:+${GNN_TEST_HOUSE:-}}; do
    [ ! -f "tests/house/$name.sh" ] || continue
    echo "there is no script tests/house/$name.sh"
    wanted=$((wanted + 1))
done
for suite; do
    [ -f "tests/test_$suite.c" ] || [ -f "tests/test_$suite.cpp" ] && continue
    echo "there is no suite $suite"
    wanted=$((wanted + 1))
done
if [ -n "$(cat "$logs"/*.skips 2>/dev/null)" ]; then
    echo
    echo "skipped, or left out:"
    cat "$logs"/*.skips
fi
echo
cat "$logs"/*.counts 2>/dev/null | awk -v failed="$wanted" '
    { passed += $1; failed += $2; skipped += $3 }
    END { print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"; exit failed + 0 > 0 }'
