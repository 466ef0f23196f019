# Counting checks. Sourced by the scripts in tests/house, which set `work` to a folder of theirs and end with `finish`.
# $work/said is what the last command said, $work/last what the one before it did.
passed=0 failed=0

# expect WHAT COMMAND...: fails, as the command does, and shows what it said.
expect() {
    what=$1
    shift
    [ ! -f "$work/said" ] || mv "$work/said" "$work/last"
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        return 0
    fi
    echo "$what:"
    head -n 30 "$work/said" | sed 's/^/  /'
    failed=$((failed + 1))
    return 1
}

# exits CODE COMMAND...
exits() {
    wanted=$1
    shift
    "$@"
    code=$?
    [ "$code" -eq "$wanted" ] || { echo "exit status $code, $wanted is expected" && false; }
}

# says WORDS STATUS COMMAND...
says() {
    words=$1 status=$2
    shift 2
    timeout 20 "$@" >out 2>&1 </dev/null
    code=$?
    [ "$code" -eq "$status" ] && grep -qF -- "$words" out && return 0
    echo "$*: exit status $code, expected $status and \"$words\"" && head -n 5 out
    return 1
}

finish() {
    echo "CHECKS $passed $failed"
    [ "$failed" -eq 0 ]
    exit
}
