#!/bin/sh
# Fuzzes every reader for a while, or those that are named. Needs clang. Findings land in the build
# folder.
# sh tests/fuzz/run.sh [SECONDS each, 60] [BUILD FOLDER, build-fuzz] [TARGET...]
set -eu
seconds=${1:-60}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${2:-$root/build-fuzz}
[ -d "$build" ] || CC=clang meson setup "$build" "$root" -Dbuildtype=debugoptimized -Db_lundef=false \
    -Db_sanitize=address,undefined \
    "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=all" -Dtests=disabled
ninja -C "$build" libgnn.a libgnn-igraph.a
# short stacks of allocations, little memory in quarantine, no statistics of features: speed
export ASAN_OPTIONS="malloc_context_size=2:quarantine_size_mb=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# functions that tests/fuzz/fuzz_memory.h serves
wrap=
for name in open64 stat64 lstat64 fstat64 pread64 mmap64 dup close opendir readdir64 closedir; do
    wrap="$wrap -Wl,--wrap=$name"
done
[ $# -gt 2 ] && shift 2 || set -- json_text npy npz layouts safetensors linqs edges graphml gml csv ogb ogb_graphs many tu lines corpus treebank vocabulary tokenizer tokenizer_json merges pieces folder config keys index description model graph tape
# and of the recording of comparisons, for targets whose inputs are choices
choices=-DFUZZ_CHOICES
for name in cov_trace_cmp1 cov_trace_cmp2 cov_trace_cmp4 cov_trace_cmp8 cov_trace_const_cmp1 cov_trace_const_cmp2 \
    cov_trace_const_cmp4 cov_trace_const_cmp8 weak_hook_strcmp weak_hook_memcmp; do
    choices="$choices -Wl,--wrap=__sanitizer_$name"
done
for target; do
    case $target in keys | model | graph | tape) more=$choices ;; *) more= ;; esac
    # shellcheck disable=SC2046
    clang -g -O1 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $wrap $more -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I"$build/include" -I"$root/include" -I"$root" \
        "$root/tests/fuzz/fuzz_$target.c" "$build/libgnn-igraph.a" "$build/libgnn.a" -o "$build/fuzz_$target" \
        $(sed -n 's/^Libs.private: //p' "$build/meson-private/gnn.pc") $(pkg-config --libs igraph) -fopenmp -lm
    mkdir -p "$build/corpus_$target"
    case $target in json_text | tokenizer | merges | folder | config | index | description) words=-dict=$root/tests/fuzz/json.dict ;; *) words= ;; esac
    (cd "$build" && "./fuzz_$target" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=2048 -timeout=10 -entropic=0 \
        -artifact_prefix="found_${target}_" \
        ${words:+"$words"} "corpus_$target" "$root/tests/fuzz/seeds/$target")
done
