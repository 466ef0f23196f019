#!/bin/sh
# No option of a training is ignored: each one changes what the program prints or saves, or is refused. Options are those that the programs list themselves.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

gnn=$build/gnn
tab=$(printf '\t')
seq 0 59 | awk '{ print $1 % 7 "," $1 % 3 }' >x.csv
seq 0 59 | awk '{ print $1 % 3 }' >y.csv
seq 0 58 | awk '{ print $1, $1 + 1 }' >a.edges
expect "a set" "$gnn" convert a.edges set.npz --features x.csv --labels y.csv

# What a run says and saves, without its seconds.
result() {
    rm -f model
    "$gnn" "$@" --save model --threads 1 >out 2>err || return
    sed -E 's/[0-9.]+ s\b//; s/"seconds": [0-9.]+//g' out
    cksum model
}
# ignored EXEMPT PROGRAM OPTION...: fails with the options that change nothing, beside those that are exempt.
ignored() {
    exempt=" threads resume overwrite $1 "
    shift
    result "$@" >base || { cat err && return 1; }
    result "$@" >again
    cmp base again || return 1
    "$gnn" "$1" --describe >table
    rm -f idle
    while IFS=$tab read -r name kind argument where; do
        case " $* $exempt" in *" --$name "* | *" $name "*) continue ;; esac
        case $kind in
        integer) values='3 7' ;;
        real) values='0.3 0.07' ;;
        choice) values=$(echo "${argument#NAME}" | tr '|' ' ') ;;
        flag) values=given ;;
        *) continue ;;
        esac
        obeyed=
        for value in $values; do
            if [ "$kind" = flag ]; then result "$@" "--$name" >new; else result "$@" "--$name" "$value" >new; fi
            if [ $? -ne 0 ] || ! cmp -s base new; then
                obeyed=yes
                break
            fi
        done
        tried=$((tried + 1))
        [ -n "$obeyed" ] || [ -z "$values" ] || echo "$*: --$name changes nothing" >>idle
    done <table
    cat idle 2>/dev/null
    [ ! -f idle ]
}

tried=0
# The set has one split; so short a training ends before any patience does.
for layer in gat gcn sgc appnp mlp; do
    expect "citation --layer $layer" ignored "splits patience" citation --data set.npz --layer $layer --epochs 4
done
for layer in gcn gat; do
    expect "links --layer $layer" ignored patience links --layer $layer --epochs 3
done
# Degrees are the features of drawn graphs already; the rate is halved after more epochs than these.
expect "graphs" ignored "degrees period" graphs --layers 2 --hidden 8 --epochs 2 --most-folds 1
expect "many options were tried" [ "$tried" -gt 150 ]
finish
