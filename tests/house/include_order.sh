#!/bin/sh
# A file may include only what stands to its left in
#     base -> kernels -> graphs -> data -> ops -> aggregate -> tape -> layer -> model -> weights -> train -> explain -> text -> pretrained -> generate -> report -> examples
# (public headers anywhere); igraph is called in graphs/igraph/ only, which is a library of its own: of the first one it sees the public
# interface and lib/base, and only programs and tests see gnn/igraph.h; examples see public headers only.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2

# Reads "FILE: INCLUDED" lines, prints those that break the order.
cat >"${TMPDIR:-/tmp}/include_order.$$" <<'AWK'
BEGIN {
    n = split("base kernels graphs data ops aggregate tape layer model weights train explain text pretrained generate report examples", order, " ")
    for (k = 1; k <= n; k++)
        place[order[k]] = k
}
function folder(path,    part) {
    split(path, part, "/")
    return part[1] == "lib" ? part[2] : part[1]
}
{
    file = $1
    sub(/:$/, "", file)
    mine = folder(file)
    if ($2 ~ /^igraph/) {
        if (file !~ /^graphs\/igraph\// && mine != "examples")
            print "  " file " includes <" $2 ">: only graphs/igraph/ calls igraph"
        next
    }
    if ($2 == "gnn/igraph.h" && file !~ /^graphs\/igraph\// && mine != "examples")
        print "  " file " includes <" $2 ">: it is the second library\047s"
    if (file ~ /^graphs\/igraph\// && $2 ~ /^(lib|graphs)\// && $2 !~ /^(lib\/base|graphs\/igraph)\//)
        print "  " file " includes <" $2 ">: the second library sees the public interface and lib/base"
    if ($2 ~ /\.\./)
        print "  " file " includes \"" $2 "\": write the path from the root"
    if ($2 !~ /^(lib|graphs|examples|bench|tests)\//)
        next
    theirs = folder($2)
    if (mine == "examples")
        print "  " file " includes <" $2 ">: examples see public headers only"
    else if (mine == "include")
        print "  " file " includes <" $2 ">: it is not installed"
    else if (!(theirs in place) || !(mine in place))
        print "  " file " includes <" $2 ">: no such place in the order"
    else if (place[theirs] > place[mine])
        print "  " file " includes <" $2 ">: " theirs " stands to the right of " mine
}
AWK
trap 'rm -f "${TMPDIR:-/tmp}/include_order.$$"' EXIT
order() {
    awk -f "${TMPDIR:-/tmp}/include_order.$$"
}

includes() {
    find lib graphs include examples \( -name '*.[ch]' -o -name '*.def' \) -exec \
        grep -HE '^[[:space:]]*#[[:space:]]*include' {} + | sed -E 's/[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*)[>"].*/ \1/'
}

passed=0 failed=0
# The check itself must see what it is for.
planted='lib/ops/a.c: lib/tape/tape.h
graphs/a.c: igraph/igraph.h
examples/a.c: lib/base/base.h
lib/weights/a.c: ../train/train.h
include/gnn/a.h: lib/base/base.h
lib/base/a.c: lib/nowhere/a.h
lib/weights/a.c: gnn/igraph.h
graphs/igraph/a.c: graphs/graph.h'
if [ "$(printf '%s\n' "$planted" | order | wc -l)" -eq 8 ]; then
    passed=1
else
    echo "the order check does not see eight planted faults"
    failed=1
fi

files=$(includes | cut -d: -f1 | sort -u | wc -l)
faults=$(includes | order)
if [ -z "$faults" ] && [ "$files" -gt 20 ]; then
    passed=$((passed + 1))
else
    printf '%s\n' "$faults"
    failed=$((failed + 1))
fi
echo "$files files with includes"
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
