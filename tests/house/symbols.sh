#!/bin/sh
# The shared library exports gnn_* and nothing else, and calls nothing that ends the program, prints, or touches signals.
set -u
build=${1:-build}
library=$build/libgnn.so
if ! [ -f "$library" ]; then
    echo "no $library"
    echo "CHECKS 0 1"
    exit 1
fi

passed=0 failed=0
# verdict WHAT LINES: fails and shows the lines, if there are any.
verdict() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        echo "$1:"
        printf '%s\n' "$2" | sed 's/^/  /'
        failed=$((failed + 1))
    fi
}

forbidden='abort|_?exit|_Exit|quick_exit|at_quick_exit|longjmp|_?_?longjmp_chk'
forbidden="$forbidden|v?printf|__v?printf_chk|puts|putchar|putchar_unlocked|perror|psignal|v?warnx?|v?errx?|error|error_at_line|v?syslog|stdout|stderr"
forbidden="$forbidden|raise|signal|sigaction|sigprocmask|pthread_sigmask|kill|alarm|setlocale|system|popen|fork|execv[pe]*"
# While METIS runs it has handlers of its own: graphs/sample/partition.c puts the program's back.
nm -D --undefined-only "$library" | grep -q METIS_ && forbidden=$(printf '%s' "$forbidden" | sed 's/|sigaction|/|/')
exported=$(nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }')
called=$(nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }')

verdict "exported, but not gnn_*" "$(printf '%s\n' "$exported" | grep -Ev '^gnn_[a-z0-9]' | grep .)"
verdict "nothing is exported" "$([ "$(printf '%s\n' "$exported" | grep -c '^gnn_')" -gt 50 ] || echo "fewer than 50 names")"
verdict "a library must not call" "$(printf '%s\n' "$called" | grep -Ex "$forbidden")"
verdict "the list of what is called is empty" "$(printf '%s\n' "$called" | grep -qx 'free' || echo "free is not among it")"

# Every function and every row of a table that a header declares is there, and the other way round. Headers are read as the compiler sees them, since rows
# are declared by their list.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
declared=$(printf '#include <gnn/gnn.h>\n' | "$cc" -E -P -I"$root/include" -I"$build/include" - | tr '\n' ' ' |
    grep -oE 'visibility\("default"\)+[^;({]*[;(]' | sed -E 's/ *[;(]$//; s/.*[ *]//' | grep '^gnn_' | sort -u)
undeclared=$(printf '%s\n' "$exported" | sort -u | grep -vxF "$declared")
missing=$(printf '%s\n' "$declared" | grep -vxF "$(printf '%s\n' "$exported")")
verdict "exported, but in no header" "$undeclared"
verdict "declared in a header, but not exported" "$missing"

hardening=$(printf '%s\n' "$called" | grep -Ex '__stack_chk_fail|__assert_fail|__fortify_fail' | tr '\n' ' ')
echo "$(printf '%s\n' "$exported" | grep -c .) names exported; of the run-time's own checks the library refers to: ${hardening:-none}"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
