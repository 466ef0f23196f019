#!/bin/sh
# What a published tree must not hold: paths of one machine, notes to oneself, tabs and trailing blanks; parallel regions that
# are not measured.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

files() {
    if git rev-parse --git-dir >/dev/null 2>&1 && [ -n "$(git ls-files | head -n 1)" ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f -not -path './.git/*' -not -path './build*/*' -not -path './out/*' | sed 's|^\./||'
    fi | grep -vE '^tests/house/words\.sh$|\.(npz|safetensors|png|gz)$'
}

passed=0 failed=0
# forbid WHY PATTERN [ONLY FILES THAT MATCH [BUT NOT THOSE]]
forbid() {
    hits=$(files | grep -E "${3:-.}" | grep -vE "${4:-^$}" | tr '\n' '\0' | xargs -0 grep -nIE "$2" /dev/null 2>/dev/null | head -n 20)
    if [ -z "$hits" ]; then
        passed=$((passed + 1))
    else
        echo "$1:"
        printf '%s\n' "$hits" | cut -c1-160 | sed 's/^/  /'
        failed=$((failed + 1))
    fi
}

tab=$(printf '\t') return=$(printf '\r')
forbid "a path of one machine" '(^|[^A-Za-z0-9._/<])/(work|root|home|opt|mnt|Users)/[A-Za-z]'
forbid "a note to oneself" '\b(TODO|FIXME|XXX|HACK)\b'
forbid "talk about how the text came about" '\b([Cc]hatGPT|[Cc]opilot|language model wrote|as an AI|this session|(my|our|the) sessions?|workplace|co-authored-by)\b'
forbid "a merge that was not finished" '^(<<<<<<<|>>>>>>>) '
forbid "a tab" "$tab" '\.(c|h|def|sh|py|build|md)$'
forbid "a blank at the end of a line" '[^ ] +$' '\.(c|h|def|sh|py|build)$'
forbid "a carriage return" "$return" '\.(c|h|def|sh|py|build|md)$'
# Regions that start threads are no loops.
forbid "a parallel region that GNN__PARALLEL does not measure" 'omp parallel' '^(lib|graphs)/.*\.c$' '^lib/(base/threads|kernels/dense/dense)\.c$'

# The patterns themselves must find what they are for.
for planted in 'in /work/x' 'see /home/me' '"/opt/tools/bin"'; do
    if printf '%s\n' "$planted" | grep -qE '(^|[^A-Za-z0-9._/<])/(work|root|home|opt|mnt|Users)/[A-Za-z]'; then
        passed=$((passed + 1))
    else
        echo "the check for paths does not see: $planted"
        failed=$((failed + 1))
    fi
done
echo "$(files | wc -l) files read"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
