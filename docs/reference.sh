#!/bin/sh
# Runs doxygen on the file that the build made of docs/Doxyfile.in, in the folder where html/ shall be.
#
#   sh docs/reference.sh DOXYGEN DOXYFILE FOLDER
set -eu
doxygen=$1 doxyfile=$(realpath "$2")
cd "$3"
rm -rf html
"$doxygen" "$doxyfile"
