#!/bin/sh
# The site: it is made without warnings, every link leads to a page and an anchor that are there, every page is reached, the code of the Markdown pages is all there,
# and in a browser no page is wider than its window of 390 or 1280 pixels. GNN_SITE_SHOTS=FOLDER keeps the screenshots.
# Long: makes the site and opens it in a browser.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
if ! command -v doxygen >/dev/null 2>&1; then
    echo "SKIP site: no doxygen"
    echo "CHECKS 0 0"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/tests/expect.sh"

# The site of this tree, whatever the build was configured with.
sources=$root/include/gnn
sed -e "s|@headers@|$sources|; s|@build_h@|$build/include/gnn/build.h|; s|@root@|$root|g; s|@version@|0|; s|@include@|$root/include|g" \
    -e "s|@build_include@|$build/include|g; s|@strict@|FAIL_ON_WARNINGS|" "$root/docs/Doxyfile.in" >"$work/Doxyfile"
expect "the site is made without warnings" sh "$root/docs/site.sh" "$root" doxygen "$work/Doxyfile" "$work" "$sources"/*.h "$build/include/gnn/build.h" || finish
site=$work/html
expect "its links, anchors and pages" python3 "$root/tests/house/site.py" crawl "$site" "$root"
tail -n 1 "$work/said"

# The checks themselves must see what they are for.
mkdir "$work/planted" && cp -r "$site/." "$work/planted/"
sed -i 's#</body>#<a href="none.html">a</a> <a href="index.html\#none">b</a></body>#' "$work/planted/index.html"
cp "$site/index.html" "$work/planted/orphan.html"
sed -i 's/%lld/lld/g' "$work/planted/page_pyg.html"
crawl_sees() {
    ! python3 "$root/tests/house/site.py" crawl "$work/planted" "$root" >"$work/planted.log" || return
    for words in 'none.html, which does not exist' 'index.html#none: no such anchor' 'orphan.html is an orphan' 'has lost code of docs/pyg.md'; do
        grep -qF "$words" "$work/planted.log" || { echo "not seen: $words" && return 1; }
    done
}
expect "the crawl sees four planted faults" crawl_sees

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$chromium" ]; then
    shots=${GNN_SITE_SHOTS:-$work/shots}
    mkdir -p "$shots"
    expect "in a browser" python3 "$root/tests/house/site.py" measure "$site" "$chromium" "$shots"
    tail -n 1 "$work/said"
    mkdir "$work/wide" && cp "$site"/*.css "$site"/*.svg "$work/wide/"
    sed 's#<div class="contents">#&<div style="width:1500px">wide</div><img src="none.svg"/>#' "$site/page_links.html" >"$work/wide/index.html"
    measure_sees() {
        ! python3 "$root/tests/house/site.py" measure "$work/wide" "$chromium" "$work" >"$work/wide.log" || return
        for words in 'index.html at 390: 1' 'index.html at 1280: 1' 'no picture none.svg'; do
            grep -qF "$words" "$work/wide.log" || { cat "$work/wide.log" && return 1; }
        done
    }
    expect "the browser's check sees a page that is too wide, and a picture that is not there" measure_sees
else
    echo "SKIP site_browser: no chromium"
fi
finish
