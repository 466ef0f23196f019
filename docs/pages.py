#!/usr/bin/env python3
"""Markdown pages for the site: a filter for doxygen, and the header of its pages.

    python3 docs/pages.py filter ROOT FILE        FILE as doxygen reads it, on standard output
    python3 docs/pages.py list ROOT               the pages, which the site depends on
    python3 docs/pages.py header ROOT HEADER...   the HTML header, with all pages in the order of docs/index.md

Doxygen names pages and headings in its own way and knows no links of the form FILE.md#heading: the
filter gives each an id, and makes links of them. It reads commands and quotes in spans of code: what
begins these stands for itself in a private character until the site is made (restore).

    python3 docs/pages.py restore FOLDER          the characters again, in all that doxygen wrote
"""
import html
import os
import re
import sys

FENCE = re.compile(r"^ {0,3}(```|~~~)")
# Characters that doxygen reads in a span of code; | is read by its tables.
READ = "%\\@'\"&|"
PRIVATE = {ord(c): 0xE000 + ord(c) for c in READ}
CODE = re.compile(r"(`+)(.+?)\1(?!`)", re.S)


def page_id(path):
    """The id of a page, which is the name of its HTML file; None: the front page."""
    path = path.replace("\\", "/")
    if path == "README.md":
        return None
    if path == "docs/index.md":
        return "page_contents"
    name = re.sub(r"^docs/|\.md$", "", path)
    return "page_" + re.sub(r"[^a-z0-9]+", "_", re.sub(r"/README$", "", name).lower())


def slug(heading):
    """A heading's anchor as GitHub makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w -]", "", text.lower()).strip().replace(" ", "-")


def section_id(path, anchor):
    return (page_id(path) or "page_readme") + "-" + anchor


class Filter:
    def __init__(self, root, file):
        self.root, self.path, self.seen = root, os.path.relpath(os.path.realpath(file), os.path.realpath(root)), {}

    def target(self, link):
        """Where a link of this page leads in the site; None: out of it."""
        page, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), page)) if page else self.path
        if not path.endswith(".md"):
            return None
        if anchor:
            return "@ref " + section_id(path, anchor)
        return "@ref " + (page_id(path) or "index")

    def link(self, match):
        mark, text, link = match.groups()
        if mark or re.match(r"https?:|mailto:|@ref", link):
            return match.group(0)
        target = self.target(link)
        # A file that the site does not have: its text alone.
        return f"[{text}]({target})" if target else text

    def prose(self, text):
        """A paragraph, or a row of a table: links, and spans of code."""
        links = re.sub(r"(!?)\[((?:[^]\[]|\[[^]]*\])*)\]\(([^)\s]+)\)", self.link, text)
        table = text.startswith("|")
        return CODE.sub(lambda match: (match.group(0).replace("\\|", "|") if table else match.group(0)).translate(PRIVATE), links)

    def heading(self, line):
        match = re.match(r"(#+) +(.*?)\s*$", line)
        if match.group(1) == "#" and not self.seen:
            self.seen[""] = 1
            own = page_id(self.path)
            return line + (f" {{#{own}}}" if own else "")
        anchor = slug(match.group(2))
        count = self.seen.get(anchor, 0)
        self.seen[anchor] = count + 1
        return f"{match.group(1)} {self.prose(match.group(2))} {{#{section_id(self.path, anchor + (f'-{count}' if count else ''))}}}"

    def run(self, text):
        out, fenced, paragraph = [], None, []

        def flush():
            # Links and code may go over the end of a line.
            if paragraph:
                out.append(self.prose("\n".join(paragraph)))
                paragraph.clear()

        for line in text.split("\n"):
            fence = FENCE.match(line)
            if not fence and not fenced and line.strip() and not line.startswith(("    ", "#", "|")):
                paragraph.append(line)
                continue
            flush()
            if fence and fenced in (None, fence.group(1)):
                fenced = None if fenced else fence.group(1)
                out.append(line)
            elif fenced or line.startswith("    "):
                out.append(line)
            else:
                out.append(self.heading(line) if line.startswith("#") else self.prose(line))
        flush()
        return "\n".join(out)


# ---- the header ----


def contents(root):
    """[(what it is for, [(title, path)])] of the table in docs/index.md."""
    rows = []
    for line in open(os.path.join(root, "docs/index.md"), encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        links = re.findall(r"\[([^]]+)\]\(([^)#]+\.md)\)", cells[1]) if len(cells) == 2 else []
        if links:
            rows.append((cells[0], [(title, os.path.normpath(os.path.join("docs", path))) for title, path in links]))
    return rows


def listed(root):
    """The Markdown pages of the site, as docs/Doxyfile.in has them."""
    inputs = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md", "tests/README.md", "bench/README.md", "graphs/data/README.md"]
    for place, _, files in os.walk(os.path.join(root, "docs")):
        inputs += [os.path.relpath(os.path.join(place, name), root) for name in files if name.endswith(".md")]
    return sorted(inputs)


def doxygen_file(header):
    return os.path.basename(header).replace("_", "__").replace(".", "_8") + ".html"


def header(root, headers):
    def entry(url, title, about=""):
        shown = f' title="{html.escape(about)}"' if about else ""
        return f'<li><a href="$relpath^{url}"{shown}>{html.escape(title)}</a></li>'

    pages = [entry("page_contents.html", "All pages")]
    for about, links in contents(root):
        pages += [entry((page_id(path) or "index") + ".html", title, about) for title, path in links]
    files = [entry(doxygen_file(h), os.path.basename(h)) for h in headers]
    lists = [entry("globals_func.html", "all functions"), entry("annotated.html", "all structs")]
    template = open(os.path.join(root, "docs/site.html"), encoding="utf-8").read()
    return template.replace("@pages@", "\n".join(pages)).replace("@headers@", "\n".join(lists + files))


def restore(folder):
    back = {0xE000 + ord(c): html.escape(c, quote=False) for c in READ}
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith((".html", ".js")):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                made = text.translate(back)
                # An object of SVG does not shrink with its page; its text is that of a picture that is not there.
                made = re.sub(r'<object type="image/svg\+xml" data="([^"]+)"[^>]*>(.*?)</object>',
                              lambda match: f'<img src="{match.group(1)}" alt="{html.escape(re.sub("<[^>]*>", "", match.group(2)).strip())}"/>', made, flags=re.S)
                made = re.sub(r'alt=""([^>]*? title="([^"]*)")', r'alt="\2"\1', made)
                if made != text:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(made)


def main():
    mode, root = sys.argv[1:3]
    sys.stdout.reconfigure(encoding="utf-8")
    if mode == "filter":
        with open(sys.argv[3], encoding="utf-8") as file:
            sys.stdout.write(Filter(root, sys.argv[3]).run(file.read()))
    elif mode == "header":
        sys.stdout.write(header(root, sys.argv[3:]))
    elif mode == "list":
        sys.stdout.write("".join(os.path.join(root, path) + "\n" for path in listed(root)))
    elif mode == "restore":
        restore(root)
    else:
        raise SystemExit(f"pages.py: {mode} is none of filter, list, header, restore")


if __name__ == "__main__":
    main()
