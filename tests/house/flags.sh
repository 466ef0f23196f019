#!/bin/sh
# Every flag of a config or an argument in the headers is checked, so that none but GNN_ON, GNN_OFF and 0 is taken: a call of
# gnn__check_flag names it.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2

. "$root/tests/expect.sh"

checked() {
    grep -rhE -A1 'gnn__check_flag\(' lib graphs | grep -qE "\b$1\"" && return
    # ops report by gnn_op_fail
    grep -rqE "\"[a-z_]*: $1 = %d is not a flag\"" lib
}

# Members and parameters: "gnn_flag_t NAME" before the end of a declaration or the next parameter.
flags=$(sed -n 's/.*\bgnn_flag_t \([a-z_0-9]*\)[;,)].*/\1/p' include/gnn/*.h | sort -u)
expect "there are flags" [ "$(echo "$flags" | wc -l)" -gt 20 ]
for flag in $flags; do
    expect "gnn__check_flag names $flag" checked "$flag"
done
finish
