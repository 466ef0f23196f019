#!/bin/sh
# Comments can be read in a terminal and by anyone: at most 100 columns, the field's words
# (CONTRIBUTING.md, "Words"), and a first line in every C file that names its subject.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

places='include graphs lib bench tools examples tests'
# Whoever reads these words has to guess who is meant: "no caller", "every receiver", "another
# thread" say it.
words='nobody|somebody|everybody|whoever'

sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.hpp' -o -name '*.cpp' \) | sort
}

# Prints FILE:LINE of comments wider than 100 columns. (Code is as wide as clang-format makes it.)
wide_lines() {
    LC_ALL=C.UTF-8 awk 'length($0) > 100 && /\/\*|\*\/|^ *\* / { print FILENAME ":" FNR }' "$@"
}

# Prints FILE:LINE of pages wider than that, but for code, tables, HTML and headings.
wide_pages() {
    LC_ALL=C.UTF-8 awk 'FNR == 1 { code = 0 } /^ *```/ { code = !code }
        !code && length($0) > 100 && !/^( *\||    |<|#)/ { print FILENAME ":" FNR }' "$@"
}

vague_words() {
    comments "$@" | grep -iwE "$words"
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

# Prints "FILE:LINE:TEXT" for each comment, its lines joined, without what `backquotes` enclose.
comments() {
    awk '
        FNR == 1 { open = 0 }
        {
            line = $0
            while (1) {
                if (!open) {
                    at = index(line, "/*")
                    if (!at) break
                    before = substr(line, 1, at - 1)
                    line = substr(line, at + 2)
                    if (gsub(/"/, "\"", before) % 2) continue # inside a string
                    open = 1; text = ""; first = FNR
                    sub(/^\**<?/, "", line)
                }
                end = index(line, "*/")
                part = end ? substr(line, 1, end - 1) : line
                sub(/^ *\*( |$)/, "", part); sub(/^ +/, "", part); sub(/ +$/, "", part)
                text = text (text == "" ? "" : " ") part
                if (!end) break
                gsub(/`[^`]*`/, "", text)
                print FILENAME ":" first ":" text
                open = 0
                line = substr(line, end + 2)
            }
        }' "$@"
}

# A comment opens with the thing, not with a clause about it: "Count of the rows", not "How many
# rows there are". A question is a question.
opening_clauses() {
    comments "$@" | grep -E '^[^:]*:[0-9]+:(What|Who|Whom|Whose|Where|Which|How)\b' |
        grep -vE '^[^:]*:[0-9]+:[^.]*\?'
}

# "is not a", "there is no"
is_no() {
    comments "$@" | sed -E 's/\b([Tt]here|[Ii]f any) (is|are|was|were|will be|may be) no\b//g; s/\bno longer\b//g' |
        grep -E '\b(is|are|was|were|be) no\b'
}

# A receiver aggregates, receives from or attends to senders; a file has, names or sets a value.
hear_and_say() {
    comments "$@" | grep -v '^include/gnn/gnn\.h:' | grep -iE '\b(hears?|heard|hearing|says?|said)\b'
}

# An element, a count, an index or an id; numbers are random, of a version, or of JSON's grammar.
number_words() {
    comments "$@" | sed -E 's/\b(random|version|JSON) numbers?\b//g' | grep -iE '\bnumbers?\b'
}

# Order is after and next to; a character is a space or whitespace, but a line may be blank; training
# is done in runs; an integer is one.
private_words() {
    comments "$@" | sed -E 's/\b[Bb]lank lines?\b//g; s/"[^"]*"//g' |
        grep -iwE "$strange|blanks?|trainings|a short training"
}
strange='behind|beside|side by side|whole numbers?|so many'

# Prints FILE:LINE:STRING of strings of several words that no message has: a message says what was
# expected and got.
message_words() {
    awk -v words="$strange|came|hears?|heard|place for|no place|beginnings?" '
        {
            line = $0
            while (match(line, /"([^"\\]|\\.)*"/)) {
                text = substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, RSTART + RLENGTH)
                plain = text
                gsub(/[Tt]here (is|are|was) no/, "", plain)
                gsub(/[^A-Za-z]+/, " ", plain)
                if (text ~ / / && (" " plain " ") ~ (" (" words "|is no|are no) ")) print FILENAME ":" FNR ":" text
            }
        }' "$@"
}

# Pages are read by the same readers; Python's examples and C's stand in backquotes or blocks.
page_words() {
    awk -v words="$strange|hears?|heard|trainings" '
        /^```/ { code = !code }
        !code {
            line = $0
            gsub(/`[^`]*`/, "", line)
            gsub(/"[^"]*"/, "", line)
            gsub(/[^A-Za-z]+/, " ", line)
            if ((" " line " ") ~ (" (" words ") ")) print FILENAME ":" FNR ":" $0
        }' "$@"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# rule WHAT CHECK PATTERN: runs CHECK over the files of all places whose names match.
rule() {
    # shellcheck disable=SC2046,SC2086 # names without blanks
    $2 $(sources $places | grep -E "$3") >"$work/faults"
    echo "$1: $(wc -l <"$work/faults")"
    if [ -s "$work/faults" ]; then
        head -n 40 "$work/faults" | cut -c1-160 | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# Each check must see what it is for, and nothing else.
cat >"$work/planted.c" <<'END'
/* 0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 */
int a; /* short */
foo("0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
int b; /* Nobody asks. */
int c; /* What a row
        * is for. */
int d; /* What is a row? */
int e; /* it is
        * no edge; there is no edge; it is no longer one */
int f; /* a receiver hears it */
int g; /* the number of rows; random numbers, version numbers and `numbers` */
const char *h = "/* number */ says";
int i; /* a blank behind it; not a blank line, and not `blank` */
const char *j = "a whole number, 3 came; there is no row", *k = "beside", *l = "is no row";
END
for check in wide_lines:1 vague_words:1 headless_files:0 opening_clauses:1 is_no:1 hear_and_say:1 number_words:1 \
    private_words:1 message_words:2; do
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
cat >"$work/planted.md" <<'END'
A row hears `what it hears`. This line goes on for more than the hundred columns that a line may have.
```c
behind
```
END
for check in page_words wide_pages; do
    if [ "$($check "$work/planted.md" | wc -l)" -eq 1 ]; then
        passed=$((passed + 1))
    else
        echo "$check does not see what was planted"
        failed=$((failed + 1))
    fi
done

rule "comments over 100 columns" wide_lines .
rule "$words" vague_words .
rule "C files that do not begin with a comment" headless_files '\.c$'
rule "comments that open with What, Who, Where, Which or How" opening_clauses .
rule "\"is no\" for \"is not a\" or \"there is no\"" is_no .
rule "hear and say" hear_and_say .
rule "\"number\" for an element, a count, an index or an id" number_words .
rule "words of comments that the glossary replaces" private_words '^(include|graphs|lib|examples)/'
rule "words of messages that the glossary replaces" message_words '^(include|graphs|lib)/'
# pages NAME CHECK FILE...
pages() {
    name=$1 check=$2
    shift 2
    $check "$@" >"$work/faults"
    echo "$name: $(wc -l <"$work/faults")"
    if [ -s "$work/faults" ]; then
        cut -c1-160 "$work/faults" | sed 's/^/  /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
# CONTRIBUTING.md has the glossary; upgrading.md quotes old versions; zoo.md and pretrained-keys.md are
# made of tests/zoo and lib/weights/arch.
# shellcheck disable=SC2046 # names without blanks
pages "words of pages that the glossary replaces" page_words README.md examples/README.md $(find docs -name '*.md' ! -name zoo.md ! -name upgrading.md | sort)
# shellcheck disable=SC2046 # names without blanks
pages "pages over 100 columns" wide_pages *.md examples/README.md $(find docs -name '*.md' ! -name zoo.md ! -name pretrained-keys.md | sort)
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
