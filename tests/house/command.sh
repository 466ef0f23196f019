#!/bin/sh
# The command gnn: what it lists, what it refuses, completion by bash; each option of each program stands in the vocabulary of examples/README.md with one
# meaning and one kind of value, and is obeyed or refused by its name. `--write` lists kinds and programs in the vocabulary anew.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
write=
[ "${1:-}" != --write ] || { write=yes && shift; }
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

gnn=$build/gnn
page=$root/examples/README.md
programs=$(sed -nE 's/^PROGRAM\(([a-z]+),.*/\1/p' "$root/examples/programs/programs.def")
tab=$(printf '\t')
for program in $programs; do
    "$gnn" "$program" --describe | sed "s/^/$program$tab/"
done >table

# ---- the vocabulary: | `--name` | kind | meaning | programs | ----
listed() {
    sed -nE 's/^\| `--([a-z0-9-]+)` \| ([a-z]+) \|.*\| ([a-z ,]+) \|$/\1\t\2\t\3/p' "$page"
}
# What the programs say: name, kind, programs in the order of programs.def.
spoken() {
    awk -F '\t' '{ kind[$2] = kind[$2] ? kind[$2] : $3; if (kind[$2] != $3) kind[$2] = kind[$2] "/" $3; in_[$2] = in_[$2] (in_[$2] ? ", " : "") $1 }
        END { for (name in in_) print name "\t" kind[name] "\t" in_[name] }' table | LC_ALL=C sort
}
if [ -n "$write" ]; then
    spoken >words
    # Meanings are written by hand and stay; a new option gets an empty one, which the check refuses.
    awk -F '\t' -v page="$page" '
        NR == FNR { kind[$1] = $2; where[$1] = $3; order[++n] = $1; next }
        !/^\|/ { inside = 0 }
        inside && /^\| `--/ { split($0, cell, " [|] "); name = $0; sub(/^\| `--/, "", name); sub(/`.*/, "", name); meaning[name] = cell[3]; next }
        { text[++lines] = $0; if (/^\| option \| value/) { head = lines + 1; inside = 1 } }
        END { for (k = 1; k <= lines; k++) { print text[k]; if (k == head) for (o = 1; o <= n; o++) print "| `--" order[o] "` | " kind[order[o]] " | " meaning[order[o]] " | " where[order[o]] " |" } }
    ' words "$page" >page && cp page "$page"
    exit
fi
listed | LC_ALL=C sort >listed
spoken >spoken
expect "the vocabulary of examples/README.md is that of the programs (--write)" diff listed spoken
expect "each name has one kind of value" sh -c '! grep / spoken'
expect "each name has a meaning" sh -c "! grep -E '^\| \`--[a-z-]+\` \| [a-z]+ \| +\|' '$page'"
expect "there are names" [ "$(wc -l <spoken)" -gt 100 ]

# ---- the command ----
expect "--help" "$gnn" --help
cp said list
expect "lists every program once" sh -c 'for p in '"$(echo $programs)"'; do [ $(grep -cE "^  $p +[A-Z].*\.$" last) -eq 1 ] || { echo $p && exit 1; }; done'
expect "within 100 columns" awk 'length > 100 { print; exit 1 }' last
expect "-h is the same" sh -c "'$gnn' -h | cmp list -"
expect "help is the same" sh -c "'$gnn' help | cmp list -"
expect "--version" "$gnn" --version
expect "names the library" grep -Eq '^gnn \(libgnn\) [0-9.]+$' last
expect "-V" sh -c "'$gnn' -V | grep -q libgnn"
expect "no program" exits 2 "$gnn"
expect "no such program" exits 2 "$gnn" citatoin
expect "names the nearest" grep -q 'there is no program "citatoin"; did you mean citation?' last
expect "no help on no such program" exits 2 "$gnn" help grphs
expect "names it" grep -q 'did you mean graphs?' last
expect "help on one program at a time" exits 2 "$gnn" help links graphs

# ---- each option of each program ----
expect "a link of a program's name" says "Usage: gnn links" 0 "$build/examples/links" --help
# A value of the kind that the table would take.
value_of() {
    case $1 in
    integer) echo 300 ;;
    real) echo 0.5 ;;
    input) echo . ;;
    choice) echo "${2%%|*}" ;;
    *) echo "x${2#FILE}" ;;
    esac
}
each_option() {
    while IFS=$tab read -r program name kind argument where; do
        says "--$name: it is given twice" 2 "$gnn" "$program" "--$name" "--$name" || [ "$kind" != flag ] || return 1
        [ "$kind" != flag ] || { says "--$name: it takes no value" 2 "$gnn" "$program" "--$name=1" || return 1; }
        [ "$kind" = flag ] && continue
        says "--$name: a value is expected" 2 "$gnn" "$program" "--$name" || return 1
        says "--$name: a value is expected, and an option follows" 2 "$gnn" "$program" "--$name" "--$name" x || return 1
        says "--$name: the value \"\" is empty" 2 "$gnn" "$program" "--$name=" || return 1
        [ "$kind" != choice ] || says "--$name: \"nosuch\" is" 2 "$gnn" "$program" "--$name" nosuch || return 1
        [ "$kind" != input ] || [ -n "$where" ] || says "--$name: nosuch: No such file" 1 "$gnn" "$program" "--$name" nosuch || return 1
    done
}
expect "values that are missing, empty, given twice or not among the choices" each_option <table
# An option that needs another one is refused without it.
each_need() {
    while IFS=$tab read -r program name kind argument where; do
        for term in $where; do
            case $term in
            !* | *=*) ;;
            *) value=$(value_of "$kind" "$argument")
                needed=$((needed + 1))
                if [ "$kind" = flag ]; then set -- "--$name"; else set -- "--$name" "$value"; fi
                says "--$name: has no effect without --" 2 "$gnn" "$program" "$@" || return 1
                break ;;
            esac
        done
    done
}
needed=0
expect "options that need another one" each_need <table
expect "of which there are many" [ "$needed" -gt 30 ]
expect "embed's, named" says "--top: has no effect without --query" 2 "$gnn" embed --top 3
expect "an option that a saved model leaves no use for" says "--epochs: has no effect with --load" 2 "$gnn" citation --load . --epochs 3
expect "an option of another choice" says "--heads: has no effect without --layer gat or gatv2 or transformer or resgat" 2 "$gnn" citation --layer gcn --heads 2
expect "a choice by default" says "--mask-epochs: has no effect without --method gnn_explainer" 2 "$gnn" explain --method saliency --mask-epochs 3
# The names in `where` are options of the program.
where_names() {
    awk -F '\t' '{ have[$1 " " $2] = 1; rows[NR] = $0 }
        END { for (k = 1; k <= NR; k++) { split(rows[k], c, "\t"); n = split(c[5], terms, " ")
            for (t = 1; t <= n; t++) { term = terms[t]; sub(/^!/, "", term); only = sub(/=.*/, "", term); m = split(term, names, "|")
                for (i = 1; i <= m; i++) if (!((c[1] " " names[i]) in have)) { print c[1] " --" c[2] ": " names[i]; bad = 1 } } } exit bad }' table
}
expect "options that others name exist" where_names
renamed() {
    sed -nE 's/^RENAMED\((NULL|"[a-z]+"), "([a-z-]+)", "([a-z-]+)( [a-z]+)?"\)$/\1 \2 \3\4/p' "$root/examples/programs/renamed.def" | tr -d '"' | while read -r of old new value; do
        for program in $programs; do
            case $of in NULL | "$program") ;; *) continue ;; esac
            grep -q "^$program$tab$new$tab" table || continue
            grep -q "^$program$tab$old$tab" table && continue
            says "--$old: this option is now --" 2 "$gnn" "$program" "--$old" x || echo "$program $old" >>wrong
            echo "$program $old" >>tried
        done
        [ "$of" = NULL ] || grep -q "^$of$tab$new$tab" table || echo "$of has no --$new" >>wrong
    done
    cat wrong 2>/dev/null
    [ ! -f wrong ] && [ "$(wc -l <tried)" -gt 25 ]
}
expect "options under their old names are refused with the new ones" renamed
expect "a name that is nearly right" says "--epoch: citation has no such option; did you mean epochs?" 2 "$gnn" citation --epoch 3
expect "the beginning of a name is not the name" exits 2 "$gnn" links --neg 3
expect "no program takes an argument too many" sh -c 'for p in '"$(echo $programs)"'; do "$0" $p a b c >out 2>&1; [ $? -eq 2 ] || { echo $p && cat out && exit 1; }; done' "$gnn"
for program in $programs; do
    expect "help $program" "$gnn" help "$program"
    expect "fits in 100 columns" awk 'length > 100 { print; exit 1 }' last
    expect "is $program --help and -h" sh -c "'$gnn' $program --help >a && '$gnn' $program -h >b && cmp a b && '$gnn' help $program | cmp a -"
    expect "$program -V" sh -c "'$gnn' $program -V | grep -Eq '^gnn-$program \(libgnn\) [0-9.]+$'"
done

# ---- files ----
expect "two outputs of one name" says "--predict: x.csv is the file of --log, too" 2 "$gnn" citation --log x.csv --predict x.csv
printf '0 1\n' >a.edges
expect "an output that is an input" says "--save: ./a.edges is the file of --data, too" 2 "$gnn" citation --data a.edges --save ./a.edges
expect "two outputs of one place" says "--predict: x.csv is the file of --log, too" 2 "$gnn" citation --log ../"${PWD##*/}"/x.csv --predict x.csv
printf '1\t1\tA\n2\t0\tB\n' >b.content
printf '1\t2\n' >b.cites
expect "an output that is LINQS' other file" says "--save: b.cites is there, and part of what --data reads" 2 "$gnn" citation --data b.content --save b.cites
mkdir set && printf '1, 2\n2, 1\n' >set/S_A.txt
expect "an output in the folder of an input" says "--save: set/S_A.txt is there, and part of what --data reads" 2 "$gnn" graphs --data set --save set/S_A.txt
cp a.edges m.words
expect "a second file that is an input" says "--save: m.words is the file of --data, too" 2 "$gnn" sentence --data m.words --save m
expect "a name with another ending" says "--curve: x.png: a name like FILE.svg is expected" 2 "$gnn" links --curve x.png
expect "a width of one layer" says "--hidden: has no effect with --layers 1" 2 "$gnn" links --layers 1 --hidden 8
expect "a width of one layer, explained" says "--hidden: has no effect with --layers 1" 2 "$gnn" explain --layers 1 --hidden 8
expect "features without masks" says "--edges-alone: has no effect without --method gnn_explainer" 2 "$gnn" explain --method saliency --edges-alone
for program in links graphs; do
    expect "heads of $program" says "--heads: 3 do not divide the hidden width 32 (--hidden)" 2 "$gnn" $program --layer gat --heads 3
done
expect "two folds, one of them for validation" says "--folds: 2, expected 3 or more with --protocol held-out" 1 "$gnn" graphs --protocol held-out --folds 2
expect "more than a class has" says "--train-each: 100, the largest class of karate has 17 nodes" 1 "$gnn" citation --draw-splits 2 --train-each 100
expect "none of them left a file" [ "$(cat a.edges)" = '0 1' -a ! -e x.csv -a ! -e x.png ]

# ---- completion ----
if command -v bash >/dev/null 2>&1; then
    completes() { # completes WANTED WORD...: the last word is being typed
        wanted=$1
        shift
        got=$(PATH="$build:$PATH" bash -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _gnn && echo "${COMPREPLY[@]}"' "$root/examples/programs/completion.bash" "$@")
        [ "$got" = "$wanted" ] || { echo "$*: $got" && return 1; }
    }
    expect "programs" completes "$(echo $programs) help" gnn ""
    expect "one of them" completes "citation" gnn cit
    expect "after help" completes "translate" gnn help tr
    expect "options" completes "--seeds --seed" gnn citation --data karate --seed
    expect "choices" completes "ppr" gnn citation --diffusion p
    expect "names of the library" completes "gat gatv2 gated_graph" gnn graphs --layer ga
    expect "sets that are no files" completes "karate" gnn citation --data k
    expect "nothing for a path" completes "" gnn citation --save ""
else
    echo "SKIP command_completion: no bash"
fi
finish
