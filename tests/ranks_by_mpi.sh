#!/bin/sh
# Trainings over ranks by one implementation of MPI, against a libgnn.so that is built: the same
# weights on any count of ranks (own rows, whole sets, samples), an error of one rank ends all, and
# kills (tests/ranks_kills.sh).
#
#     MPICC=mpicc.mpich MPIRUN=mpirun.mpich sh tests/ranks_by_mpi.sh BUILD KILLS [FLAGS ...]
set -eu
build=$(cd "$1" && pwd) kills=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
mpicc=${MPICC:-mpicc} mpirun=${MPIRUN:-mpirun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/tests/mpi_env.sh"
# what meson links, without its MPI
libraries=$(ninja -C "$build" -t commands tests/ranks_job | tail -1 |
    sed 's/.*--start-group//; s/-Wl,--end-group.*//' | tr ' ' '\n' |
    grep -v -e libgnn-mpi -e 'libmpi\.' -e libopen- | tr '\n' ' ')
cd "$build"
for program in ranks_job ranks_program; do
    # shellcheck disable=SC2086
    $mpicc -std=gnu17 -g -O2 -Wall -Wextra -Werror -D_GNU_SOURCE "$@" -I"$root/include" \
        -I"$root" -Iinclude "$root/lib/mpi/mpi.c" "$root/tests/$program.c" \
        -o "$work/$program" -Wl,--start-group $libraries -Wl,--end-group
done
$mpirun --version | sed -n 1,2p
passed=0 failed=0
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: expected $2, got $3"
    fi
}
hash_of() {
    n=$1
    shift
    $mpirun -n "$n" "$@" 2>&1 | sed -n 's/^hash //p'
}
"$work/ranks_job" draw "$work/set" 6000 16 4
for options in own=1 own=0 "samples=1 accumulate=4 batch=32"; do
    # shellcheck disable=SC2086
    one=$(hash_of 1 "$work/ranks_job" train folder="$work/set" $options)
    for n in 2 3 4 7; do
        # shellcheck disable=SC2086
        check "$options on $n ranks" "$one" \
            "$(hash_of $n "$work/ranks_job" train folder="$work/set" $options)"
    done
done
# Models with batch norm and dropout: weights, outputs and checkpoints, which differ in their seconds
# (twice 8 bytes) and their own checksum (16 digits) at most; two of four epochs on 2 ranks are
# resumed on 7.
models() {
    mkdir -p "$work/models$2"
    hash_of "$1" "$work/ranks_program" models "$work/models$2" "$3" | sort
}
checkpoints() {
    for name in gcn sage gat gin gatv2 pna rgcn transformer; do
        differ=$(cmp -l "$work/models1/$name" "$work/models$1/$name" | wc -l)
        size=$(wc -c < "$work/models$1/$name")
        check "checkpoint of $name on $1 ranks" "$(wc -c < "$work/models1/$name") yes" \
            "$size $([ "$differ" -le 32 ] && echo yes || echo "differs in $differ bytes")"
    done
}
one=$(models 1 1 4)
check "models on one rank" 8 "$(echo "$one" | wc -l)"
for n in 2 3 4 7 13; do
    check "models on $n ranks" "$one" "$(models $n $n 4)"
    checkpoints $n
done
models 2 2-7 2 > /dev/null
check "models on 2, then 7 ranks" "$one" "$(models 7 2-7 4)"
checkpoints 2-7
one=$(hash_of 1 "$work/ranks_program")
for n in 2 4; do
    check "drawn set on $n ranks" "$one" "$(hash_of $n "$work/ranks_program")"
done
check "ranks with an error" 3 "$($mpirun -n 3 "$work/ranks_program" 1 2>&1 | grep -c '^rank .: code')"
if [ "$kills" -gt 0 ]; then
    last=$(MPIRUN=$mpirun sh "$root/tests/ranks_kills.sh" "$work/ranks_job" "$kills" | tee "$work/kills" | tail -1)
    cat "$work/kills"
    check "kills" "KILLS $kills 0" "$last"
fi
echo "CHECKS $passed $failed"
[ $failed = 0 ]
