#!/bin/sh
# What is done in one place alone: lists grow by doubling (gnn__room, gnn__one_more), JSON is read
# and written (json_text.c), a file that is missing is told from one that cannot be read
# (gnn__file_there), what trainings read of a data set is resolved and checked (training_set.c), and
# what kernels know of entries of tables is listed (hints.c).
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# Calls of gnn__grow whose new count is the old one plus a constant, so that a list is copied for
# each element (a call may span lines), and of realloc, which no test can make fail.
growth() {
    for file; do
        tr '\n' ' ' <"$file" | grep -oE '(gnn__grow|[^_a-z]realloc)\([^;]*;' |
            grep -E '^.?realloc|gnn__grow\([^,]*,[^,]*, *[*a-zA-Z0-9_>.-]+ *\+ *[0-9]+ *,' |
            sed "s|^|$file: |"
    done
}

# jansson's reader and writer, and its shallow copy, which lose data where an allocation fails; and
# what is put into a value without looking whether it could be.
json() {
    grep -nHE '\bjson_(load[a-z]*|dump[bsf]|dumps|copy|unpack)\(' "$@" | grep -v '^lib/data/arrays/json_text.c:'
    for file; do
        tr '\n' ' ' <"$file" | grep -oE '[;{})] *json_(array_append|object_set)[a-z_]*\([^;]*;' |
            sed "s|^|$file: |"
    done
}

# access() gives two answers where there are three.
missing() {
    grep -nHE '\b(access|faccessat)\(' "$@"
}

# Sources of batches that ask a data set themselves.
sets() {
    grep -nHE '\bgnn_data_[a-z_]+\(' "$@" | grep -v '^lib/train/training_set.c:'
}

# Entries and implementations that are known by their addresses.
addresses() {
    grep -nHE '[!=]= *&gnn_' "$@"
}

verdict() { # WORDS FOUND
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        printf '%s\n%s\n' "$1" "$2"
        failed=$((failed + 1))
    fi
}

cat >"$work/planted.c" <<'EOF'
void f(void)
{
    GNN_TRY(gnn__grow(&s->list, s->n,
                      s->n + 1, 4, "a"));
    gnn__grow(&list, n, 2 * n + 64, 4, "a");
    p = realloc(p, 1);
    root = json_loadb(text, size, 0, &error);
    json_array_append_new(list, json_null());
    if (access(path, F_OK) == 0)
        return;
    labels = gnn_data_labels(data);
    slope = plan->prior[0] == &gnn_prior_slope;
}
EOF
for check in growth:2 json:2 missing:1 sets:1 addresses:1; do
    found=$(${check%:*} "$work/planted.c" | wc -l)
    [ "$found" -eq "${check#*:}" ] && found=
    verdict "${check%:*} does not see what was planted" "$found"
done
find lib graphs -name '*.[ch]' | sort >"$work/files"
# shellcheck disable=SC2046
{
    verdict "lists that grow by an element:" "$(growth $(cat "$work/files"))"
    verdict "JSON outside of json_text.c, or unchecked:" "$(json $(cat "$work/files"))"
    verdict "files that are missing or cannot be read:" "$(missing $(cat "$work/files"))"
    verdict "sets that are not read by training_set.c:" "$(sets $(grep '^lib/train/' "$work/files"))"
    verdict "entries known by address outside of hints.c:" "$(addresses $(grep -E '^lib/(aggregate|kernels|ops|tape)/' "$work/files"))"
}
echo "CHECKS $passed $failed"
[ "$failed" -eq 0 ]
