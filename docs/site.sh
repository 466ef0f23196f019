#!/bin/sh
# Makes the site in FOLDER/html: the header of all pages, then doxygen on the file that the build made of docs/Doxyfile.in, then without the indexes that no page
# links to (folders, fields by letter, what the header lists already).
#
#   sh docs/site.sh ROOT DOXYGEN DOXYFILE FOLDER HEADER...
set -eu
root=$1 doxygen=$2 doxyfile=$(realpath "$3") folder=$4
shift 4
python3 "$root/docs/pages.py" header "$root" "$@" >"$folder/header.html"
cp "$root/docs/site_foot.html" "$folder/footer.html"
cd "$folder"
rm -rf html
# Versions of doxygen differ in their layouts.
"$doxygen" -l layout.xml
sed -i -E 's/(<tab type="(classmembers|classindex|structindex|hierarchy|pages)" visible=")[^"]*"/\1no"/' layout.xml
"$doxygen" "$doxyfile"
python3 "$root/docs/pages.py" restore html

cd html
rm -f dir_*.html functions*.html classes.html files.html pages.html globals.html globals_[!f]*.html
# The line above a header's text that names its folder.
for page in *_8h.html; do
    sed -i 's#<li class="navelem"><a class="el" href="dir_[^"]*">[^<]*</a></li>##' "$page"
done
