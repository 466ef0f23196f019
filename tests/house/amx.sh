#!/bin/sh
# Attention's products on the tiles of AMX: the machine code that a processor with AMX would run, its instructions on tiles carried out by tests/amx_stand_in.c.
set -u
build=$(CDPATH='' cd -- "${1:-build}" && pwd) || exit 2
stand_in=$build/tests/amx_stand_in.so
if grep -qw amx_bf16 /proc/cpuinfo; then
    echo "this processor has AMX: the suites have run with it"
    echo "CHECKS 0 0"
    exit 0
fi
if [ ! -f "$stand_in" ] || ! grep -qw avx512_bf16 /proc/cpuinfo || ! grep -q libdnnl "$build/build.ninja"; then
    echo "nothing to check: what surrounds the tiles needs AVX-512 with bf16, and the level oneDNN"
    echo "CHECKS 0 0"
    exit 0
fi

passed=0 failed=0
check() { # check WHAT CONDITION...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "  $what"
        failed=$((failed + 1))
    fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# kernels VARIABLE=VALUE...
kernels() {
    env LD_PRELOAD="$stand_in" CK_FORK=no CK_RUN_CASE=kernels "$@" "$build/tests/test_contract" >"$log" 2>&1 || {
        cat "$log"
        false
    }
}

check "the contract's kernels with AMX" kernels GNN_ISA=amx
check "AMX was used" grep 'products of tiles' "$log"
check "the contract's kernels with GNN_ISA=v4" kernels GNN_ISA=v4 GNN_TEST_SMALL=1
check "GNN_ISA=v4 leaves AMX alone" sh -c '! grep "products of tiles" "$1"' check "$log"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
