#!/bin/sh
# Kills a random rank of a training over MPI at a random moment, or the writer of a partition folder:
# all ranks end within 30 s, and a training that another count of ranks resumes has the weights of
# one that was not interrupted.
#
#     MPIRUN="mpirun" sh tests/ranks_kills.sh build/tests/ranks_job KILLS [SEED]
set -u
job=$1 kills=$2 seed=${3:-1}
mpirun=${MPIRUN:-mpirun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname -- "$0")/mpi_env.sh"

fail() {
    echo "kill $k ($mode): $*"
    echo "KILLS $k 1"
    exit 1
}

# random N: *value = 0 .. N - 1, by a linear congruence
random() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    value=$(((seed / 65536) % $1))
}

# The options of a mode.
options() {
    case $1 in
    rows) echo "folder=$work/set own=1 epochs=24 every=2" ;;
    samples) echo "folder=$work/set samples=1 accumulate=4 batch=32 epochs=40 every=2" ;;
    esac
}

alive() {
    for p in $(sed -n 's/^process //p' "$work/out"); do
        kill -0 "$p" 2> /dev/null && return 0
    done
    return 1
}

# Ends after all processes have, or after 30 s.
wait_for_all() {
    tenths=0
    while alive; do
        [ $tenths -lt 300 ] || return 1
        sleep 0.1
        tenths=$((tenths + 1))
    done
    [ $tenths -le "$longest" ] || longest=$tenths
    return 0
}

hash_of() {
    sed -n 's/^hash //p' "$1"
}

longest=0 k=0 mode=start killed=0
"$job" draw "$work/set" 6000 16 4 || fail "no set"
for mode in rows samples; do
    # shellcheck disable=SC2046
    $mpirun -n 1 "$job" train $(options $mode) > "$work/whole.$mode" 2>&1 ||
        fail "$(cat "$work/whole.$mode")"
done

kill_rank() {
    random 3
    ranks=$((2 + value))
    : > "$work/out"
    # shellcheck disable=SC2046
    $mpirun -n $ranks "$job" train $(options $mode) checkpoint="$work/checkpoint" \
        > "$work/out" 2>&1 &
    running=$!
    tenths=0
    while [ "$(grep -c '^process ' "$work/out")" -lt $ranks ]; do
        [ $tenths -lt 300 ] || fail "$ranks ranks did not start: $(cat "$work/out")"
        sleep 0.1
        tenths=$((tenths + 1))
    done
    random 100
    sleep "$((value / 100)).$(printf %02d $((value % 100)))"
    random $ranks
    victim=$(sed -n 's/^process //p' "$work/out" | sed -n "$((value + 1))p")
    kill -9 "$victim" 2> /dev/null && killed=$((killed + 1))
    wait_for_all || fail "ranks still run 30 s after the death of one"
    wait $running
}

resume() {
    random 4
    # shellcheck disable=SC2046
    $mpirun -n $((1 + value)) "$job" train $(options $mode) checkpoint="$work/checkpoint" \
        > "$work/resumed" 2>&1 || fail "$(cat "$work/resumed")"
    [ "$(hash_of "$work/resumed")" = "$(hash_of "$work/whole.$mode")" ] ||
        fail "weights differ: $(cat "$work/resumed" "$work/whole.$mode")"
    rm -f "$work/checkpoint"
}

kill_writer() {
    "$job" draw "$work/other" 6000 16 4 &
    victim=$!
    random 60
    sleep "0.0$((value / 10))$((value % 10))"
    kill -9 $victim 2> /dev/null && killed=$((killed + 1))
    wait $victim 2> /dev/null
    [ -d "$work/other" ] || "$job" draw "$work/other" 6000 16 4 || fail "a second writer failed"
    $mpirun -n 2 "$job" train folder="$work/other" own=1 epochs=1 > "$work/resumed" 2>&1 ||
        fail "$(cat "$work/resumed")"
    rm -rf "$work/other"
    ls "$work" | grep -q 'tmp$' && fail "left: $(ls "$work")"
}

k=1
while [ $killed -lt "$kills" ]; do
    case $((k % 4)) in
    0) mode=writer && kill_writer ;;
    1 | 3) mode=rows && kill_rank && resume ;;
    2) mode=samples && kill_rank && resume ;;
    esac
    k=$((k + 1))
done
echo "$killed kills in $((k - 1)) runs; all ranks ended within $longest tenths of a second"
echo "KILLS $kills 0"
