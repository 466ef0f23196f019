#!/bin/sh
# Comments can be read in a terminal and by anyone: at most 100 columns, words that say who does
# what, and a first line that says what a file is.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

# Where each rule does not hold yet. These lists may only become shorter.
wide=''
vague='tests'
headless=''

places='include graphs lib bench tools examples tests'
# Whoever reads these words has to guess who is meant: "no caller", "every receiver", "another
# thread" say it.
words='nobody|somebody|everybody|whoever'

sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.def' \) | sort
}

# Prints FILE:LINE of comments wider than 100 columns. (Code is as wide as clang-format makes it.)
wide_lines() {
    LC_ALL=C.UTF-8 awk 'length($0) > 100 && /\/\*|\*\/|^ *\* / { print FILENAME ":" FNR }' "$@"
}

vague_words() {
    grep -nHiowE "$words" "$@"
}

# Prints files whose first line is not a comment.
headless_files() {
    for file; do
        case $(head -c 2 "$file") in
        '/*') ;;
        *) echo "$file" ;;
        esac
    done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# rule WHAT LATER CHECK PATTERN: runs CHECK over the files of all places; what lies below a folder
# in LATER does not count.
rule() {
    # shellcheck disable=SC2046,SC2086 # names without blanks
    $3 $(sources $places | grep -E "$4") >"$work/all"
    # shellcheck disable=SC2086 # a list of words
    pattern=$(printf '%s|' $2)
    grep -vE "^(${pattern%|})([/:]|$)" "$work/all" >"$work/faults"
    echo "$1: $(wc -l <"$work/all") in all"
    if [ -s "$work/faults" ]; then
        head -n 40 "$work/faults" | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# Each check must see what it is for.
printf '/* %0100d */\nint a; /* short */\nfoo("%0100d");\n' 0 0 >"$work/planted.c"
printf 'int b; /* Nobody asks. */\n' >>"$work/planted.c"
for check in "wide_lines:1" "vague_words:1" "headless_files:0"; do
    if [ "$(${check%:*} "$work/planted.c" | wc -l)" -eq "${check#*:}" ]; then
        passed=$((passed + 1))
    else
        echo "${check%:*} does not see what was planted"
        failed=$((failed + 1))
    fi
done
sed 1d "$work/planted.c" >"$work/headless.c"
if [ -n "$(headless_files "$work/headless.c")" ]; then
    passed=$((passed + 1))
else
    echo "headless_files does not see what was planted"
    failed=$((failed + 1))
fi

rule "comments over 100 columns" "$wide" wide_lines .
rule "$words" "$vague" vague_words .
rule "C files that do not begin with a comment" "$headless" headless_files '\.c$'

echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
