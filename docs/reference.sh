#!/bin/sh
# Runs doxygen on the file that the build made of docs/Doxyfile.in, in the folder where man3/ and html/ shall be. Doxygen also writes a page for each field of a
# struct and names pages of headers "io.h": only names of this library may go into the system's section 3.
#
#   sh docs/reference.sh DOXYGEN DOXYFILE FOLDER
set -eu
doxygen=$1 doxyfile=$(realpath "$2")
cd "$3"
rm -rf man3 html
"$doxygen" "$doxyfile"

cd man3
for page in *; do
    case $page in
    gnn_* | GNN_* | gnn.h.3) ;;
    *.h.3) mv "$page" "gnn_$page" ;;
    *) rm "$page" ;;
    esac
done
# Links name the page of the header they are in.
for page in *; do
    sed -i -E '1s#^\.so man3/(([a-z_]+)\.h\.3)$#.so man3/gnn_\1#; 1s#gnn_gnn\.h#gnn.h#' "$page"
done
echo '.so man3/gnn.h.3' >gnn.3
for page in *; do
    target=$(sed -n '1s#^\.so man3/##p' "$page")
    if [ -n "$target" ] && ! [ -f "$target" ]; then
        echo "$page points to $target, which is not there" >&2
        exit 1
    fi
done
