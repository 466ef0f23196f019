#!/usr/bin/env python3
"""Crawls the site that docs/site.sh made.

    python3 tests/house/site.py crawl SITE ROOT     links, anchors, pictures, orphans, order, code of the Markdown pages
    python3 tests/house/site.py measure SITE CHROMIUM FOLDER
                                                    every page at 390 and 1280 pixels in a browser: nothing is wider than
                                                    the window, no picture is cut or missing; screenshots into FOLDER

Prints a fault per line, then figures. The exit status is 1 where there is a fault.
"""
import html.parser
import http.server
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.parse


class Page(html.parser.HTMLParser):
    """Links, ids and text of a page."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.links, self.ids, self.text, self.side, self.in_side, self.skip = [], set(), [], [], False, 0
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.ids |= {told[key] for key in ("id", "name") if told.get(key)}
        self.skip += tag in ("script", "style")
        self.in_side = self.in_side or told.get("id") == "side"
        for key in ("href", "src"):
            if told.get(key) is not None:
                self.links.append(told[key])
                if self.in_side and key == "href":
                    self.side.append(told[key])

    def handle_endtag(self, tag):
        self.skip -= tag in ("script", "style")
        if tag == "nav":
            self.in_side = False

    def handle_data(self, data):
        if not self.skip:
            self.text.append(data)


def squeezed(text):
    """Text without whitespace, which HTML lays out anew."""
    return re.sub(r"[\s\u200b\xa0]+", "", text)


def crawl(site, root):
    sys.path.insert(0, os.path.join(root, "docs"))
    import pages as markdown

    faults, links, dead = [], 0, 0
    loaded = {name: Page(os.path.join(site, name)) for name in sorted(os.listdir(site)) if name.endswith(".html")}
    reached, waiting = {"index.html"}, ["index.html"]
    while waiting:
        name = waiting.pop()
        for link in loaded[name].links:
            if re.match(r"(https?|mailto|javascript|data):", link):
                continue
            links += 1
            path, _, anchor = link.partition("#")
            path = urllib.parse.unquote(path) or name
            target = os.path.normpath(os.path.join(os.path.dirname(name), path))
            if not os.path.isfile(os.path.join(site, target)):
                dead += 1
                faults.append(f"{name} links to {link}, which does not exist")
            elif target in loaded:
                if anchor and urllib.parse.unquote(anchor) not in loaded[target].ids:
                    dead += 1
                    faults.append(f"{name} links to {link}: no such anchor")
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
    orphans = sorted(set(loaded) - reached)
    faults += [f"{name} is an orphan" for name in orphans]

    # The pages at the side stand as in docs/index.md.
    wanted = [(markdown.page_id(path) or "index") + ".html" for _, entries in markdown.contents(root) for _, path in entries]
    shown = [link for link in loaded["index.html"].side if link in wanted]
    if shown != wanted:
        faults.append(f"the pages at the side do not stand in the order of docs/index.md: {shown}")

    sources = 0
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), root)
            page = (markdown.page_id(path) or "index") + ".html" if file.endswith(".md") else None
            if not page or page not in loaded:
                continue
            sources += 1
            text = squeezed("".join(loaded[page].text))
            for code in sorted(code_of(os.path.join(root, path), markdown)):
                if squeezed(code) not in text:
                    faults.append(f"{page} has lost code of {path}: {code}")
    for fault in faults:
        print(fault)
    print(f"{len(loaded)} pages, {sources} of Markdown, {links} links, {dead} dead, {len(orphans)} orphans")
    return bool(faults)


def code_of(path, markdown):
    """Spans and lines of code of a Markdown page."""
    out, fenced, paragraph = set(), False, []

    def flush():
        out.update(match.group(2).strip() for match in markdown.CODE.finditer(" ".join(paragraph)))
        paragraph.clear()

    previous = ""
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if markdown.FENCE.match(line):
                flush()
                fenced = not fenced
            elif fenced or (line.startswith("    ") and not previous.strip()):
                out.add(line.strip())
                continue
            elif not line.strip() or line.startswith("|"):
                flush()
                if line.startswith("|"):
                    # In a table \| is a character of its cell.
                    for cell in re.split(r"(?<!\\)\|", line):
                        out.update(match.group(2).strip().replace("\\|", "|") for match in markdown.CODE.finditer(cell))
            else:
                paragraph.append(line.strip())
            previous = line
    flush()
    return {code for code in out if code}


# ---- in a browser ----

MEASURE = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = PAGES, widths = [390, 1280], faults = [];
const load = (frame, url) => new Promise(done => { frame.onload = done; frame.src = url; });
const scrolls = box => box && box.scrollWidth > box.clientWidth + 1;
function look(frame, page, width) {
    const view = frame.contentWindow, root = view.document.scrollingElement, say = what => faults.push(`${page} at ${width}: ${what}`);
    if (view.innerWidth !== width) say(`the window is ${view.innerWidth} wide`);
    if (root.scrollWidth > width) {
        const widest = [...view.document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest("table, .fragment, pre, .memproto"));
        say(`${root.scrollWidth} wide: ${widest.slice(0, 3).map(e => e.tagName + "." + e.className).join(", ")}`);
    }
    for (const image of view.document.querySelectorAll(".contents img")) {
        if (!image.naturalWidth) say(`no picture ${image.getAttribute("src")}`);
        if (width === 1280 && (image.getBoundingClientRect().right > width || scrolls(image.closest("table")))) say(`cuts ${image.getAttribute("src")}`);
    }
    const text = view.document.querySelector(".contents p, .contents td");
    if (text && parseFloat(view.getComputedStyle(text).fontSize) < 14) say("the text is smaller than 14 pixels");
    const side = view.document.getElementById("side");
    if ((view.getComputedStyle(side).display === "none") !== (width === 390)) say("the list of pages is shown at the wrong width");
}
(async () => {
    for (const width of widths) {
        const frame = document.createElement("iframe");
        frame.style.cssText = `border:0;width:${width}px;height:900px`;
        document.body.append(frame);
        for (const page of pages) { await load(frame, page); look(frame, page, width); }
        frame.remove();
    }
    await fetch("/measured", {method: "POST", body: JSON.stringify(faults)});
})().catch(error => fetch("/measured", {method: "POST", body: JSON.stringify([String(error)])}));
</script>"""


def browser(chromium, profile, *options):
    return [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}", *options]


def measure(site, chromium, shots):
    """Opens every page at both widths, and takes pictures of some."""
    pages = sorted(name for name in os.listdir(site) if name.endswith(".html"))
    answer, ready = [], threading.Event()

    class Server(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=site)

        def do_GET(self):
            if self.path != "/measure":
                return super().do_GET()
            body = MEASURE.replace("PAGES", json.dumps(pages)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            answer.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            ready.set()

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(browser(chromium, profile, "--window-size=1400,1000", "--remote-debugging-port=0", address + "/measure"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not ready.wait(600):
            answer.append("the browser did not open all pages in 600 s")
        process.terminate()
        process.wait()
    for page, height in (("index", 1500), ("page_contents", 1100), ("page_layer", 1400), ("page_pyg", 1400), ("page_gallery", 1400), ("layer_8h", 1400)):
        for width in (390, 1280):
            shot = os.path.join(shots, f"{page}-{width}.png")
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                subprocess.run(browser(chromium, profile, "--hide-scrollbars", f"--window-size={width},{height}", f"--screenshot={shot}", f"{address}/{page}.html"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            if not os.path.isfile(shot):
                answer.append(f"no screenshot of {page} at {width}")
                continue
            with open(shot, "rb") as file:
                size = struct.unpack(">II", file.read(24)[16:])
            # A blank page of this size takes about 4 kB.
            if size != (width, height) or os.path.getsize(shot) < 20000:
                answer.append(f"the screenshot of {page} at {width} is {size[0]} x {size[1]}, {os.path.getsize(shot)} bytes")
    server.shutdown()
    for fault in answer:
        print(fault)
    print(f"{len(pages)} pages at 390 and 1280, {len(answer)} faults")
    return bool(answer)


if __name__ == "__main__":
    mode = sys.argv[1]
    if mode == "crawl":
        sys.exit(crawl(*sys.argv[2:4]))
    elif mode == "measure":
        sys.exit(measure(*sys.argv[2:5]))
    sys.exit(f"site.py: {mode} is neither crawl nor measure")
