#!/usr/bin/env python3
"""Man pages (section 3) from the doc comments of the public headers, and gnn(3) from docs/reference.md.

One page per function, type, documented macro and header. What has no page of its own (constants of
an enum, entries of a table) is a link to the page that documents it.

    python3 docs/man.py --version X --filter docs/filter.sh --tables DIR --reference docs/reference.md \
                        --out DIR HEADER...

It stops with an error where a function has no doc comment, or names a parameter that it lacks.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

# ---- headers: comments and declarations ----

TOKEN = re.compile(r"/\*\*.*?\*/|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*|[^\s/#]+|[/#]|\s+", re.S | re.M)


class Item:
    """A declaration with the comment above it."""

    def __init__(self, kind, name, header, text, comment, section):
        self.kind, self.name, self.header, self.text, self.section = kind, name, header, text, section
        self.comment = comment  # lines without the asterisks; None: there is none
        self.links = []  # names that lead to this page


def plain(comment):
    """The lines of a comment without its frame."""
    body = re.sub(r"^/\*\*<?|\*/$", "", comment.strip())
    lines = body.split("\n")
    lines = [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    # A comment that goes on with one blank too many is no indented block.
    return [re.sub(r"^ (?=\S)", "", line) for line in lines]


def declarations(source):
    """Yields (comment, text, section, preprocessor) for each declaration of a header."""
    comment, text, depth, section = None, "", 0, ""
    for match in TOKEN.finditer(source):
        token = match.group(0)
        if token.startswith("/*") and not text.strip():
            if token.startswith("/**"):
                comment = token
            else:
                title = re.match(r"/\* -+ (.*?) -+", " ".join(token.split()).replace(" * ", " "))
                section, comment = (title.group(1), None) if title else (section, None)
            continue
        if token.lstrip().startswith("#"):
            if not text.strip():
                yield comment, token.strip(), section, True
                comment = None
            continue
        text += token
        if token.startswith("/*"):
            continue
        depth += token.count("{") - token.count("}")
        opens = token.count("(") - token.count(")")
        depth += opens
        stripped = text.strip()
        inline = stripped.startswith("static inline")
        if depth == 0 and (stripped.endswith(";") or (inline and stripped.endswith("}"))):
            yield comment, stripped, section, False
            comment, text = None, ""
        elif stripped in ('extern "C" {', "}"):
            comment, text, depth = None, "", 0


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def prototype(text):
    """A function's declaration on one line, without GNN_API, static inline and body."""
    text = " ".join(without_comments(text).split())
    text = re.sub(r"^(GNN_API|static inline) ", "", text)
    depth = 0
    for at, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return text[: at + 1] + ";"
    raise SystemExit("man.py: no function: " + text)


def split_arguments(line):
    """[(type, name)] of a prototype."""
    inside = line[line.index("(") + 1 : line.rindex(")")]
    parts, depth, at = [], 0, 0
    for k, c in enumerate(inside + ","):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(inside[at:k].strip())
            at = k + 1
    out = []
    for part in parts:
        if part in ("void", "", "..."):
            continue
        match = re.search(r"\(\*(\w+)(?:\[\w*\])?\)", part) or re.search(r"(\w+)(\[[^]]*\])*$", part)
        if not match:
            raise SystemExit(f"man.py: an argument without a name: {part} of {line}")
        out.append((part, match.group(1)))
    return out


def classify(comment, text, section, preprocessor, header):
    """Items that a declaration gives."""
    lines = plain(comment) if comment else None
    bare = " ".join(without_comments(text).split())
    if preprocessor:
        maker = re.match(r"#\s*define (gnn_[a-z]\w*)\(", text)
        if maker:
            # gnn_ints(p) makes a gnn_ints_t; a macro of a function's name goes by the function.
            yield Item("maker", maker.group(1), header, maker.group(1) + "_t", None, section)
        match = re.match(r"#\s*define (GNN_\w+)(\([^)]*\))?", text)
        if match and lines:
            shown = text if "\n" not in text else "#define " + match.group(1) + (match.group(2) or "")
            yield Item("macro", match.group(1), header, shown, lines, section)
        return
    if bare.startswith("GNN_API extern"):
        match = re.match(r"GNN_API extern const (\w+) (\w+);", bare)
        yield Item("entry", match.group(2), header, match.group(1), lines, section)
    elif bare.startswith(("GNN_API", "static inline")):
        line = prototype(text)
        name = re.search(r"(\w+)\(", line).group(1)
        if name.startswith("gnn__"):
            return
        yield Item("function", name, header, line, lines, section)
    elif bare.startswith("typedef"):
        match = re.search(r"(\w+)(\[\w+\])?;$", bare) if bare.endswith(("}", "];")) or not bare.endswith(");") else None
        name = match.group(1) if match else re.search(r"(\w+)\(", bare).group(1)
        yield Item("type", name, header, text, lines, section)
    elif bare.startswith("enum"):
        match = re.match(r"enum (\w+)", bare)
        yield Item("type", match.group(1) if match else "", header, text, lines, section)


def read_header(path, filtered):
    header = "gnn/" + os.path.basename(path).replace(".h.in", ".h")
    # What C++ alone sees is no part of these pages.
    filtered = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", "", filtered, flags=re.S | re.M)
    head = re.match(r"\s*/\*\*.*?\*/", filtered, re.S)
    lines = [line for line in plain(head.group(0)) if line.strip() != "@file"]
    items = []
    for declaration in declarations(filtered[head.end() :]):
        items += classify(*declaration, header)
    return header, lines, items


# ---- roff ----

ESCAPES = {"\\": "\\e", "-": "\\-", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga", "'": "\\(aq"}


def code(text):
    return "".join(ESCAPES.get(c, c) for c in text)


def prose(text, own, pages):
    """Text with names of the library in bold, functions with their section."""
    out = []
    pattern = r"`[^`]+`|\b(?:gnn|GNN)_\w*\w\b(?:\(\))?(?:\.\w+)?|&?\bgnn_\w+\b"
    at = 0
    for match in re.finditer(pattern, text):
        out.append(words(text[at : match.start()]))
        token, at = match.group(0), match.end()
        if token[0] == "`":
            out.append("\\fI" + code(token[1:-1]) + "\\fR")
            continue
        name = token.rstrip("()")
        called = not token.endswith("()") and text[at : at + 1] == "("
        linked = name in pages and name != own and name.startswith("gnn") and not called
        out.append("\\fB" + code(name) + "\\fR" + ("(3)" if linked else token[len(name) :]))
    out.append(words(text[at:]))
    return "".join(out)


def words(text):
    text = text.replace("\\", "\\e").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    # A hyphen within a word stays; a minus sign and an option's dashes are those of code.
    return re.sub(r"(?<!\w)-(?=[\w-])|(?<= )-(?= )", "\\\\-", text)


def plain_roff(text):
    """For the line NAME, which programs read: no escapes but those of a backslash."""
    return text.replace("\\", "\\e")


def guarded(line):
    return "\\&" + line if line[:1] in (".", "'") else line


def blocks(lines):
    """("text", one line) or ("code", lines) or ("item", one line), in order."""
    out, paragraph, kept = [], [], []

    def flush():
        if paragraph:
            kind = "item" if paragraph[0].lstrip().startswith("- ") else "text"
            out.append((kind, " ".join(line.strip() for line in paragraph)))
            paragraph.clear()
        while kept and not kept[-1].strip():
            kept.pop()
        if kept:
            margin = min(len(line) - len(line.lstrip()) for line in kept if line.strip())
            out.append(("code", [line[margin:] for line in kept]))
            kept.clear()

    for line in lines:
        indent = len(line) - len(line.lstrip())
        if kept and (indent >= 2 or not line.strip()):
            kept.append(line)
        elif line.strip() and indent >= 3 and not paragraph:
            flush()
            kept.append(line)
        elif not line.strip():
            flush()
        else:
            if kept or line.lstrip().startswith("- "):
                flush()
            paragraph.append(line)
    flush()
    return out


class Page:
    """Text of one page."""

    def __init__(self, name, section, version, pages):
        self.own, self.pages, self.parts = name, pages, []
        self.parts += [f'.TH "{name}" {section} "" "libgnn {version}" "libgnn"', ".nh", ".ad l"]

    def head(self, title):
        self.parts.append(".SH " + title)

    def raw(self, *lines):
        self.parts += lines

    def text(self, text, lead=".PP"):
        if lead:
            self.parts.append(lead)
        self.parts.append(guarded(prose(text, self.own, self.pages)))

    def code(self, lines):
        self.parts += [".PP", ".in +4n", ".nf"] + [guarded(code(line)) if line else "" for line in lines] + [".fi", ".in"]

    def tagged(self, tag, text, bold=True):
        self.parts += [".TP", guarded(("\\fB" if bold else "\\fI") + code(tag) + "\\fR")]
        self.parts.append(guarded(prose(text, self.own, self.pages)) if text else "\\&")

    def flow(self, lines):
        first = True
        for kind, content in blocks(lines):
            if kind == "code":
                self.code(content)
            elif kind == "item":
                self.parts += [".IP \\(bu 2", guarded(prose(content.lstrip("- "), self.own, self.pages))]
            else:
                self.text(content, "" if first else ".PP")
            first = False

    def names(self, names):
        names = list(dict.fromkeys(n for n in names if n != self.own))
        if names:
            self.parts.append(",\n".join(f"\\fB{code(n)}\\fR(3)" for n in names))

    def __str__(self):
        return "\n".join(self.parts) + "\n"


# ---- a comment's parts ----

LABELS = {"errors": "errors", "error": "errors", "cost": "cost", "time": "cost", "memory": "cost", "threads": "threads",
          "deterministic": "threads", "paper": "papers", "papers": "papers", "see also": "see"}
# Names that mean the same in every header (include/gnn/gnn.h).
GLOSSARY = {"n_dst": "count of the receivers", "n_src": "count of the senders", "n": "count of the nodes", "m": "count of the edges",
            "segments": "count of the segments", "lengths": "(segments) rows of each segment", "seed": "key of the draw: the same seed gives the same result",
            "rows": "count of the rows", "cols": "count of the columns", "heads": "count of the heads", "slot": "index of a graph slot of the model",
            "split": "index of the split", "int part": "GNN_TRAIN, GNN_VALIDATION or GNN_TEST", "int32_t id": "id that gnn_parameters_add gave",
            "index": "from 0 to the count less 1",
            "name": "its name", "path": "the file's name", "file": "stream that is written to", "title": "heading of the picture"}
# These end sentences of prose; an abbreviation does not.
ABBREVIATIONS = ("et al", r"e\.g", r"i\.e", "eq", "sec", "vs", "fig", "no", "cf", "approx")


def sentences(text):
    out, at, depth = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c != "." or k + 1 >= len(text) or text[k + 1] != " " or depth > 0:
            continue
        before = text[at:k].lower()
        if re.search(r"\b(?:" + "|".join(ABBREVIATIONS) + r")$", before) or text[k - 1 : k] == ".":
            continue
        out.append(text[at : k + 1].strip())
        at = k + 1
    if text[at:].strip():
        out.append(text[at:].strip())
    return out


class Parts:
    """What a function's comment says, by the section of the page where it stands."""

    def __init__(self, lines):
        self.description, self.parameters, self.returns = [], [], []
        self.errors, self.cost, self.threads, self.papers, self.see = [], [], [], [], []
        tag, buffer = None, []
        for line in lines + ["@end"]:
            match = re.match(r"\s*@(param(?:\[[a-z,]+\])?|return|end)(?=\s|$)\s*(.*)", line)
            # A tag's text goes on in lines that are indented; a blank line ends it.
            over = tag and (not line.strip() or not line.startswith(" ") and tag != "return")
            if match or over:
                self.close(tag, buffer)
                tag, buffer = (match.group(1), [match.group(2)]) if match else (None, [line])
            else:
                buffer.append(line)

    def close(self, tag, buffer):
        if tag is None:
            self.describe(buffer)
        elif tag == "return":
            self.sort(" ".join(line.strip() for line in buffer), self.returns)
        elif tag.startswith("param"):
            text = " ".join(line.strip() for line in buffer)
            match = re.match(r"((?:\w+, )*\w+)\s*(.*)", text, re.S)
            if not match:
                raise SystemExit("man.py: a parameter without a name: " + text)
            self.parameters.append((match.group(1).split(", "), match.group(2)))

    def describe(self, lines):
        for kind, content in blocks(lines):
            if kind == "text":
                rest = []
                self.sort(content, rest)
                if rest:
                    self.description += [" ".join(rest), ""]
            elif kind == "item":
                self.description += ["- " + content.lstrip("- "), ""]
            else:
                self.description += ["    " + line for line in content] + [""]

    def sort(self, text, rest):
        """Puts the sentences of a paragraph where they belong, those of no section into `rest`."""
        target, text = rest, re.sub(r"\.? {2,}(See also:)", r". \1", text)
        for sentence in sentences(text):
            match = re.match(r"(" + "|".join(LABELS) + r"): (.*)", sentence, re.I)
            if match and match.group(1)[0].isupper():
                target = getattr(self, LABELS[match.group(1).lower()])
                if match.group(1).lower() in ("deterministic", "memory", "time"):
                    target.append(sentence)
                else:
                    target.append(match.group(2)[:1].upper() + match.group(2)[1:])
                if target is self.errors:
                    target = rest
            elif sentence.startswith("O("):
                self.cost.append(sentence)
            elif re.match(r"GNN_E[A-Z]+\b", sentence) and target is rest and rest is not self.returns:
                self.errors.append(sentence)
            elif sentence == "Inline.":
                continue
            else:
                target.append(sentence)


def split_codes(text):
    """("GNN_EINVALID", "when") of a list of codes, and what is no code."""
    pieces, at, depth = [], 0, 0
    for match in re.finditer(r"[()\[\]]|[;,] (?=GNN_|(?:errors |and )?as |else |one of |the first error )|$", text):
        c = match.group(0)
        depth += (c in ("(", "[")) - (c in (")", "]"))
        if c in ("(", ")", "[", "]") or (depth > 0 and c):
            continue
        pieces.append(text[at : match.start()].strip())
        at = match.end()
    listed, others = [], []
    for piece in pieces:
        match = re.match(r"(GNN_(?:OK|E[A-Z]+))\b(.*)", piece, re.S)
        if not match:
            if piece.strip(" ."):
                others.append(piece.rstrip("."))
            continue
        when = match.group(2).strip().rstrip(".")
        codes = [match.group(1)]
        # "GNN_ENOTFOUND / GNN_ESHAPE with the field's name": both have this text.
        while more := re.match(r"(?:/|and|or) (GNN_E[A-Z]+)\b(.*)", when, re.S):
            codes.append(more.group(1))
            when = more.group(2).strip()
        if when.startswith("(") and when.endswith(")") and ")" not in when[:-1]:
            when = when[1:-1]
        listed += [(c, re.sub(r"^(: ?|, ?)", "", when)) for c in codes]
    return listed, others


# ---- pages ----


class Manual:
    def __init__(self, version):
        self.version, self.items, self.headers, self.pages, self.links, self.errors = version, {}, [], {}, {}, {}

    def add(self, header, lines, items):
        self.headers.append((header, lines, items))
        for item in items:
            if item.kind in ("entry", "maker"):
                continue
            if item.name in self.items and item.kind != "function":
                continue
            self.items[item.name] = item
        for item in items:
            if item.kind == "entry":
                self.links[item.name] = item.text
                self.items[item.text].links.append(item.name)
            elif item.kind == "maker" and item.text in self.items and item.name not in self.items:
                self.links[item.name] = item.text

    def relate(self):
        """Which names are links, and to which page."""
        for name, item in list(self.items.items()):
            if item.kind == "type":
                for constant in constants(item.text):
                    self.links[constant[0]] = name
        bare = [f"{item.header}: {name} has no doc comment that begins with a sentence" for name, item in self.items.items()
                if item.kind in ("function", "type") and name
                and not (item.comment and blocks(item.comment) and not item.comment[0].startswith("@"))]
        if bare:
            raise SystemExit("\n".join("man.py: " + line for line in bare))
        self.known = set(self.items) | set(self.links)

    def brief(self, item):
        """The first sentence of a comment, short enough for the line NAME."""
        if item.kind == "macro" and re.search(r"\d{4}", item.comment[0]):
            return f"config of a layer by a preset ({item.comment[0]})"
        text = next((content for kind, content in blocks(item.comment) if kind == "text"), item.name)
        text = re.split(r" @(?:param|return)", text)[0]
        text = (sentences(text) or [text])[0].rstrip(".")
        for mark in (": ", "; ", ", "):
            head = text.split(mark)[0]
            if (len(text) > 100 or mark != ", ") and len(head) >= 12 and head.count("(") == head.count(")"):
                text = head
        text = text.replace("`", "").rstrip(":")
        return lowered(text)

    def page(self, name, brief):
        page = Page(name, 3, self.version, self.known)
        page.head("NAME")
        page.raw(f"{code(name)} \\- {plain_roff(brief)}")
        return page

    def synopsis(self, page, header, lines):
        page.head("SYNOPSIS")
        page.raw(".nf", f"\\fB#include <{header}>\\fR", ".PP")
        page.raw(*["\\fB" + code(line) + "\\fR" if line else "" for line in lines], ".fi")

    # -- functions --

    def returns(self, page, item, parts, listed):
        page.head("RETURN VALUE")
        kind = item.text[: item.text.index(item.name)].strip()
        if listed or (kind == "int" and not parts.returns and self.fails(item)):
            page.text("GNN_OK (0), or the code of an error, whose message gnn_error_message returns.", "")
            for text in parts.returns:
                text = text.rstrip(".")
                page.text(("After an error " + lowered(text[:-5]) if text.endswith(" then") else text) + ".")
        elif parts.returns:
            page.text(" ".join(parts.returns), "")
        elif kind == "void":
            page.text("None.", "")
        elif kind == "gnn_var_t":
            page.text("A value on the tape, or GNN_NONE after an error, which gnn_tape_status returns.", "")
        else:
            text = " ".join(parts.description[:1]) or item.name
            page.text(sentences(text)[0] if text else "", "")

    def fails(self, item):
        """Does an int of this function stand for an error? So it does where arguments are written."""
        text = " ".join(item.comment)
        return not re.search(r"_is_|_has_|_threads$|_count$", item.name) and not re.match(r"(1 if|Is |How many|Count |The number|Whether)", text)

    def function(self, item):
        parts = Parts(item.comment)
        page = self.page(item.name, self.brief(item))
        lines = [wrapped(item.text)]
        self.synopsis(page, item.header, "\n".join(lines).split("\n"))
        library = "gnn-igraph" if item.header == "gnn/igraph.h" else "gnn"
        page.raw(".PP", f"Link with \\fI\\-l{code(library)}\\fR (\\fBpkg\\-config \\-\\-cflags \\-\\-libs {code(library)}\\fR).")
        page.head("DESCRIPTION")
        page.flow(parts.description or [self.brief(item) + "."])
        self.parameters(page, item, parts)
        listed, others = [], []
        if item.text.startswith("int "):
            # A sentence that begins with neither a code nor "as" holds for every failure, or for the value.
            codes = [text for text in parts.returns if re.match(r"(?:GNN_(?:OK|E[A-Z]+)|[Aa]s|[Ee]lse|[Ee]rrors)\b", text)]
            parts.returns = [text for text in parts.returns if text not in codes]
            parts.errors = codes + parts.errors
        for sentence in parts.errors:
            more, rest = split_codes(sentence)
            listed += more
            others += rest
        parts.returns[:0] = [f"GNN_OK {when}" for c, when in listed if c == "GNN_OK" and when]
        listed = [(c, when) for c, when in listed if c != "GNN_OK"]
        if item.text.startswith("int ") and not listed and others:
            parts.errors, listed = others, []
        self.returns(page, item, parts, (listed or others) and item.text.startswith("int "))
        self.failures(page, listed, others)
        if parts.cost:
            page.head("COST")
            page.text(" ".join(parts.cost), "")
        self.threads(page, item, parts)
        if parts.papers:
            page.head("REFERENCES")
            page.text(" ".join(parts.papers), "")
        self.see_also(page, item, parts)
        return page

    def parameters(self, page, item, parts):
        arguments = split_arguments(item.text)
        told = {name: text for names, text in parts.parameters for name in names}
        unknown = set(told) - {name for _, name in arguments}
        if unknown:
            raise SystemExit(f"man.py: {item.header}: {item.name} has no parameter {', '.join(sorted(unknown))}")
        if not arguments:
            return
        page.head("PARAMETERS")
        for declared, name in arguments:
            kind = re.sub(r"\b" + name + r"\b", "", declared, count=1).strip()
            page.raw(".TP", f"\\fI{code(name)}\\fR (\\fB{code(kind)}\\fR)")
            text = told.get(name) or self.argument(kind, name)
            page.raw(guarded(prose(text, item.name, self.known)) if text else "\\&")

    def argument(self, kind, name):
        """What type and name of an argument without a line of its own tell."""
        base = re.sub(r"\bconst\b|[*\s]", "", kind)
        release = base[:-2] + "_free"
        if kind == base + " **" and release in self.items:
            return f"receives the new object, which {release} releases"
        if base == "gnn_context_t":
            return "the context: threads, seed and workspace"
        if base in self.items:
            return f"see {base}"
        return GLOSSARY.get(f"{kind} {name}") or GLOSSARY.get(name, "")

    def failures(self, page, listed, others):
        if not listed and not others:
            return
        page.head("ERRORS")
        seen = {}
        for c, when in listed:
            seen.setdefault(c, [])
            if when and when not in seen[c]:
                seen[c].append(when)
        for c, texts in seen.items():
            text = "; ".join(texts) if texts else self.errors.get(c, "")
            page.tagged(c, text + ("" if text.endswith(".") else "."))
        for text in others:
            page.text(text[:1].upper() + text[1:] + ".")

    def threads(self, page, item, parts):
        page.head("THREADS")
        if parts.threads:
            page.text(" ".join(parts.threads), "")
            return
        objects = [(kind, name) for kind, name in split_arguments(item.text) if re.sub(r"^const | \*.*", "", kind) in self.items]
        changed = [f"`{name}`" for kind, name in objects if re.match(r"gnn_\w+_t \*\w", kind)]
        if changed:
            page.text(" and ".join([", ".join(changed[:-1])] * (len(changed) > 1) + changed[-1:]) +
                      (" is" if len(changed) == 1 else " are") + " changed or used as workspace: no other thread may use " +
                      ("it" if len(changed) == 1 else "them") + " during the call.", "")
        if any(kind.startswith("const") for kind, _ in objects):
            page.text("What is passed as const is only read, and other threads may read it at the same time.", "" if not changed else ".PP")
        elif not changed:
            page.text("Any number of threads may call it.", "")

    def see_also(self, page, item, parts):
        page.head("SEE ALSO")
        named = re.findall(r"\bgnn_\w+\b", " ".join(item.comment))
        types = re.findall(r"\bgnn_\w+_t\b", item.text)
        siblings = [other.name for other in self.items.values()
                    if other.kind == "function" and other.header == item.header and other.section == item.section]
        at = siblings.index(item.name)
        near = siblings[max(0, at - 4) : at + 5]
        page.names([n for n in named + near + types if n in self.items] + ["gnn"])
        files = [t for t in re.findall(r"\b(?:docs|examples)/[\w./-]+", " ".join(item.comment))]
        if files:
            page.text(", ".join(dict.fromkeys(files)) + " in the sources of libgnn")

    # -- types, macros, headers --

    def type(self, item):
        bare = " ".join(without_comments(item.text).split())
        opaque = re.match(r"typedef struct (\w+) (\w+);$", bare)
        listed = [] if item.kind != "type" else constants(item.text)
        members = fields(item.text) if "{" in item.text and not listed else []
        brief = self.brief(item) if item.comment else ("opaque object" if opaque else "constants" if listed else "struct" if members else "type") + f" of {item.header}"
        page = self.page(item.name, brief)
        shown = item.text
        shown = re.sub(r"[ \t]*/\*.*?\*/", "", shown, flags=re.S)
        lines = [line.rstrip() for line in shown.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        # What the filter wrote out of a table stands without indentation.
        shown = "\n".join(line if k == 0 or line[0] in " }" else "    " + line for k, line in enumerate(lines))
        self.synopsis(page, item.header, shown.split("\n"))
        if item.comment:
            page.head("DESCRIPTION")
            page.flow(item.comment)
        if listed:
            page.head("CONSTANTS")
            for name, text in listed:
                page.tagged(name, text)
        if members:
            page.head("FIELDS")
            for declared, text in members:
                page.tagged(declared, text)
        if item.links:
            page.head("ENTRIES OF THE LIBRARY")
            page.text(", ".join(item.links) + ".", "")
        page.head("SEE ALSO")
        stem = item.name[:-2] + "_" if item.name.endswith("_t") else item.name + "_"
        users = [f.name for f in self.items.values() if f.kind == "function" and re.search(r"\b" + item.name + r"\b", f.text)]
        users = [n for n in users if n.startswith(stem)] + [n for n in users if not n.startswith(stem)]
        held = [n for n in re.findall(r"\bgnn_\w+_t\b", item.text) if n in self.items]
        page.names((users if opaque else users[:24]) + held + ["gnn"])
        return page

    def macro(self, item):
        page = self.page(item.name, self.brief(item))
        self.synopsis(page, item.header, [item.text])
        page.head("DESCRIPTION")
        page.flow(item.comment)
        page.head("SEE ALSO")
        named = [n for n in re.findall(r"\bgnn_\w+\b", " ".join(item.comment)) if n in self.items]
        page.names(named + ["gnn"])
        return page

    def header(self, header, lines, items):
        name = "gnn.h" if header == "gnn/gnn.h" else header.replace("/", "_")
        text = sentences(next((c for k, c in blocks(lines) if k == "text"), header))[0].rstrip(".").replace("`", "")
        if ": " in text and len(text) > 100:
            text = text.split(": ")[0]
        page = self.page(name, text)
        page.head("SYNOPSIS")
        page.raw(f"\\fB#include <{header}>\\fR")
        page.head("DESCRIPTION")
        page.flow(lines)
        functions = [i for i in items if i.kind == "function" and i.name in self.items]
        section = None
        if functions:
            page.head("FUNCTIONS")
        for item in functions:
            if item.section != section and item.section:
                page.raw(f".SS \"{words(item.section[:1].upper() + item.section[1:]).rstrip('.')}\"")
            section = item.section
            page.tagged(item.name + "(3)", self.brief(item))
        types = [i.name for i in items if i.kind == "type" and i.name in self.items]
        page.head("SEE ALSO")
        page.names(types + ["gnn"])
        return name, page

    def reference(self, path):
        """docs/reference.md as gnn(3): a paragraph of what to do, and the functions for it."""
        page = self.page("gnn", "graph neural networks and Transformers: the reference by task")
        page.head("SYNOPSIS")
        page.raw("\\fB#include <gnn/gnn.h>\\fR", ".PP", "\\fBcc\\fR ... \\fB$(pkg\\-config \\-\\-cflags \\-\\-libs gnn)\\fR")
        page.head("DESCRIPTION")
        first, paragraph = True, []

        def flush():
            if paragraph:
                page.text(linked(" ".join(paragraph)), "" if first else ".PP")
                paragraph.clear()

        for line in open(path, encoding="utf-8").read().split("\n")[1:]:
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else None
            if line.startswith("#") or not line.strip() or cells:
                flush()
                first = first and not (line.startswith("#") or cells)
            if line.startswith("#"):
                page.raw(".SH " + words(line.lstrip("# ")).upper().replace("`", ""))
            elif cells and not set("".join(cells)) <= set("-: "):
                if cells[0].startswith("to") and cells[1] == "call":
                    continue
                page.raw(".TP", guarded(prose(unmarked(cells[0]), "", self.known)))
                page.raw(guarded(prose(linked(" ".join(cells[1:])), "gnn", self.known)))
            elif line.strip() and not cells:
                paragraph.append(line.strip())
        flush()
        page.head("THREADS")
        page.text("What a call gets as const is only read, and any number of threads may share it; what it gets without const belongs to the call while it runs. A context serves one thread at a time.", "")
        page.head("SEE ALSO")
        page.raw(",\n".join(f"\\fB{code('gnn.h' if h == 'gnn/gnn.h' else h.replace('/', '_'))}\\fR(3)" for h, _, _ in self.headers))
        return page

    def write(self, out, reference):
        try:
            shutil.rmtree(out, ignore_errors=not os.path.exists(out))
            os.makedirs(out)
        except PermissionError as fault:
            sys.exit(f"docs/man.py: {fault}: the folder is another user's (root's, where `sudo ninja install` built it): remove it")
        made = {}
        for item in self.items.values():
            if item.name:
                made[item.name] = {"function": self.function, "type": self.type, "macro": self.macro}[item.kind](item)
        for header, lines, items in self.headers:
            name, page = self.header(header, lines, items)
            made[name] = page
        made["gnn"] = self.reference(reference)
        for name, target in self.links.items():
            if name not in made and target in made:
                made[name] = f".so man3/{target}.3\n"
        for name, page in made.items():
            with open(os.path.join(out, name + ".3"), "w", encoding="utf-8") as file:
                file.write(str(page))
        functions = sum(1 for i in self.items.values() if i.kind == "function")
        print(f"{len(made)} pages: {functions} functions, {len(self.items) - functions} types and macros, {len(self.headers)} headers")


def lowered(text):
    """A sentence without its capital, unless that is a name's."""
    return text[:1].lower() + text[1:] if re.match(r"[A-Z][a-z]*[ ,:]", text) and not text.startswith("PyG") else text


def unmarked(text):
    """Markdown's links as their text."""
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text).replace("\\|", "|")


def linked(text):
    """Names of functions without their backticks, so that they become links to pages."""
    return re.sub(r"`((?:gnn|GNN)_\w+)`", r"\1", unmarked(text))


def wrapped(line, width=76):
    """A prototype over several lines, arguments under arguments."""
    if len(line) <= width:
        return line
    at = line.index("(") + 1
    indent, out, current = " " * min(at, 40), [], line[:at]
    for part in re.split(r"(?<=,) ", line[at:]):
        if len(current) + len(part) > width and not current.endswith("("):
            out.append(current.rstrip())
            current = indent
        current += part + " "
    return "\n".join(out + [current.rstrip()])


def constants(text):
    """[(name, comment)] of an enum."""
    match = re.search(r"enum\s*\w*\s*\{(.*)\}", text, re.S)
    if not match:
        return []
    if "GNN_ERROR_CODES" in text:
        return [("GNN_ERROR_CODES", "")]
    return [(re.split(r"[ =,\n]", declared)[0], comment) for declared, comment in members(match.group(1), ",")]


def fields(text):
    match = re.search(r"\{(.*)\}", text, re.S)
    return [(" ".join(declared.split()), comment) for declared, comment in members(match.group(1), ";")] if match else []


def members(body, end):
    """[(declaration, its comment)]: the comment before a member, or behind it on its line."""
    out, before, text, depth = [], "", "", 0
    for token in re.findall(r"/\*.*?\*/|^[ \t]*#[^\n]*|[^/;,(){}]+|.", body + end, re.S | re.M):
        if token.lstrip().startswith("#"):
            continue
        if token.startswith("/*"):
            said = " ".join(plain(token)) if token.startswith("/**") else ""
            if token.startswith("/**<") and out and not text.strip():
                out[-1][1] = (out[-1][1] + " " + said).strip()
            elif token.startswith("/**<"):
                text += "\0" + said + "\0"
            elif token.startswith("/**"):
                before = (before + " " + said).strip() if text.strip() else said
            continue
        depth += token.count("(") + token.count("{") - token.count(")") - token.count("}")
        if token == end and depth == 0:
            said = " ".join(re.findall("\0(.*?)\0", text, re.S))
            declared = " ".join(re.sub("\0.*?\0", "", text, flags=re.S).split())
            if declared:
                out.append([declared, (before + " " + said).strip()])
            before, text = "", ""
        else:
            text += token
    return [tuple(member) for member in out]


def error_codes(source):
    return re.findall(r'X\((GNN_\w+), (\d+), "([^"]*)"\)', source)


def main():
    parser = argparse.ArgumentParser()
    for option in ("--version", "--filter", "--tables", "--reference", "--out"):
        parser.add_argument(option, required=True)
    parser.add_argument("headers", nargs="+")
    options = parser.parse_args()
    manual = Manual(options.version)
    codes = []
    for path in options.headers:
        filtered = subprocess.run(["sh", options.filter, options.tables, path], check=True, capture_output=True, text=True, encoding="utf-8").stdout
        codes += error_codes(filtered)
        manual.add(*read_header(path, filtered))
    manual.errors = {name: text for name, _, text in codes}
    error = manual.items["gnn_error"]
    error.text = "enum gnn_error {\n" + "\n".join(f"    {n} = {v}, /**< {t} */" for n, v, t in codes) + "\n};"
    error.comment = ["Codes of errors. 0 is success; 1 to 999 are igraph's codes, unchanged; 1000 and up are libgnn's own."]
    manual.relate()
    manual.write(options.out, options.reference)
    return 0


if __name__ == "__main__":
    sys.exit(main())
