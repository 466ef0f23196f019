#!/bin/sh
# Fuzzes every reader for a while, or those that are named. Needs clang. Findings land in the build
# folder.
# sh tests/fuzz/run.sh [SECONDS each, 60] [BUILD FOLDER, build-fuzz] [TARGET...]
# --replay: builds the targets by any compiler with the library of a folder that is built, and runs
# them on their seeds and some changed copies (replay.c).
# sh tests/fuzz/run.sh --replay BUILD FOLDER [TARGET...]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
replay=
[ "${1:-}" != --replay ] || replay=yes
seconds=${1:-60}
build=${2:-$root/build-fuzz}
# functions that tests/fuzz/fuzz_memory.h serves
wrap=
for name in open64 stat64 lstat64 fstat64 pread64 mmap64 dup close opendir readdir64 closedir; do
    wrap="$wrap -Wl,--wrap=$name"
done
# and of the recording of comparisons, for targets whose inputs are choices
choices=-DFUZZ_CHOICES
for name in cov_trace_cmp1 cov_trace_cmp2 cov_trace_cmp4 cov_trace_cmp8 cov_trace_const_cmp1 cov_trace_const_cmp2 \
    cov_trace_const_cmp4 cov_trace_const_cmp8 weak_hook_strcmp weak_hook_memcmp; do
    choices="$choices -Wl,--wrap=__sanitizer_$name"
done
igraph=
[ ! -f "$build/libgnn-igraph.a" ] || igraph=$build/libgnn-igraph.a
if [ -z "$replay" ]; then
    [ -d "$build" ] || CC=clang meson setup "$build" "$root" -Dbuildtype=debugoptimized -Db_lundef=false \
        -Db_sanitize=address,undefined \
        "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=all" -Dtests=disabled
    ninja -C "$build" libgnn.a libgnn-igraph.a
    igraph=$build/libgnn-igraph.a
    # short stacks of allocations, little memory in quarantine, no statistics of features: speed
    export ASAN_OPTIONS="malloc_context_size=2:quarantine_size_mb=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
fi

# link OUTPUT COMPILER ARGUMENT...: one target's program
link() {
    output=$1
    shift
    case $target in saved) sums=-Wl,--wrap=gnn__checksum_check ;; *) sums= ;; esac
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$@" $sums -g -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $wrap -I"$build/include" -I"$root/include" -I"$root" \
        "$root/tests/fuzz/fuzz_$target.c" $igraph "$build/libgnn.a" -o "$output" \
        $(sed -n 's/^Libs.private: //p' "$build/meson-private/gnn.pc") ${igraph:+$(pkg-config --libs igraph)} -fopenmp -lm
}

replayed() {
    cc=${CC:-cc}
    command -v "$cc" >/dev/null 2>&1 || cc=gcc
    work=$(mktemp -d)
    code=0
    { link "$work/fuzz_$target" "$cc" -O0 -Wall -Wextra -Werror "$root/tests/fuzz/replay.c" &&
        (cd "$work" && "./fuzz_$target" "$root/tests/fuzz/seeds/$target"); } || code=$?
    rm -rf "$work"
    return "$code"
}

fuzzed() {
    case $target in keys | model | graph | tape | sampler | partition) more=$choices ;; *) more= ;; esac
    # shellcheck disable=SC2086
    link "$build/fuzz_$target" clang -O1 $more -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
    mkdir -p "$build/corpus_$target"
    case $target in json_text | tokenizer | merges | folder | config | index | description | saved) words=-dict=$root/tests/fuzz/json.dict ;; *) words= ;; esac
    (cd "$build" && "./fuzz_$target" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=2048 -timeout=10 -entropic=0 \
        -artifact_prefix="found_${target}_" \
        ${words:+"$words"} "corpus_$target" "$root/tests/fuzz/seeds/$target")
}

[ $# -gt 2 ] && shift 2 || set -- $(cd "$root/tests/fuzz" && ls fuzz_*.c | sed 's/^fuzz_\(.*\)\.c$/\1/')
for target; do
    case $replay$target in
    yesgml | yesgraphml) [ -n "$igraph" ] || continue ;;
    esac
    if [ -n "$replay" ]; then replayed; else fuzzed; fi
done
