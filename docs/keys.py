"""The page docs/pretrained-keys.md: what becomes of each key of published models' files, from the
entries of lib/weights/arch. In docs/pretrained.md the table of architectures has each entry and
type, and the counts are those of the tables in tests/golden.

    python3 docs/keys.py [--write]        CC names the compiler; without --write it compares, and exits with 1 if a page is another
"""
import ast
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARCH = "lib/weights/arch"
PAGE = os.path.join(ROOT, "docs", "pretrained-keys.md")
COUNTS = os.path.join(ROOT, "docs", "pretrained.md")
MACROS = dict(SERVES=2, SET=2, IF=1, REPEAT=1, END=0, GRAPH=3, STEP=3, LINEAR=3, MATRIX=3, NORM=2, NORM_AT=3, ROWS=3, TURNED=3, MADE=2, MADE_AT=3, DRAWN=2, COLUMNS=3, IGNORE=1,
              SAME=2, KEY=3, HARMLESS=1, EXPECT=2, NEED=3, HEAD=2)
KEPT = ("SERVES", "KEY", "HARMLESS", "EXPECT", "NEED", "HEAD")
HEAD = """# Keys of published models' files

`docs/keys.py --write` makes this page from the entries in `lib/weights/arch`; `tests/house/keys.sh`
compares. Each key of a file is one of three: *read*; *harmless*, that is known and ignored; or
*expected* to have one value. Any other key or value is an error that names file, key and value
([pretrained](pretrained.md)).

A value after `=` is the default of a key that the file leaves out: a constant, or a formula
(`lib/weights/arch/formula.h`) in which `$name` is another key, or a variable that the architecture's
entries set (`lib/weights/arch/NAME.def`), such as `$plbart`, 1 for that `model_type`. `$nothing` is
an absent value, `a ?? b` is b where a is absent, and 1 and 0 are also `true` and `false`. In a
description `{name}` stands for the value of a variable, which the error has in its place.

A `config.json` may have the keys of `generation_config.json` too (its section is below). In a folder
without `generation_config.json` generation reads them from there, with the same expectations.
"""


def entries(name):
    """(verb, texts) of an architecture, its included files among them."""
    names = {k: [chr(97 + i) for i in range(n)] for k, n in MACROS.items()}
    text = "".join(f"#define GNN_{k}{'(' + ', '.join(a) + ')' if a else ''} {'@' + k + ' ' + ' @, '.join(a) + ' @;' if k in KEPT else ''}\\n"
                   for k, a in names.items()).replace("\\n", "\n")
    text = text.replace("#define GNN_SET(a, b) ", "#define GNN_SET(a, b) ").replace("#define GNN_END ", "#define GNN_END\n")
    text += f"#include <{ARCH}/{name}.def>\n"
    out = subprocess.run([os.environ.get("CC", "cc").split()[-1], "-E", "-P", "-I", ROOT, "-x", "c", "-"], input=text, capture_output=True, text=True,
                         check=True).stdout
    for verb, body in re.findall(r"@(\w+) (.*?) @;", out, re.S):
        yield verb, ["".join(ast.literal_eval(s) for s in re.findall(r'"(?:[^"\\]|\\.)*"', part)) for part in body.split(" @, ")]


def cell(text):
    return text.replace("|", "\\|")


def section(title, rows, common):
    read, expected, harmless, needs, heads = {}, {}, [], {}, []
    for verb, t in rows:
        if verb == "KEY":
            read.setdefault(t[0], t[2])
        elif verb == "EXPECT":
            expected.setdefault(t[0], t[1])
        elif verb == "NEED":
            needs.setdefault(t[0], []).append(t[2])
        elif verb == "HARMLESS":
            harmless += [k for k in t[0].split() if k not in harmless and k not in common]
        elif verb == "HEAD":
            heads += [h for h in t[0].split() if h not in heads]
    out = [f"\n## {title}\n"]
    if heads:
        out.append("Heads: " + ", ".join(heads) + ".\n")
    inner = {k.split(".")[0] for k in read if "." in k}
    plain = [k for k in read if "." not in k and k not in common]
    if plain:
        out.append("Read: " + ", ".join(f"`{k}`" + (f" = `{cell(read[k])}`" if read[k] else "") for k in plain) + ".\n")
    for key in sorted(inner):
        out.append(f"Read of `{key}`: " + ", ".join(f"`{k.split('.', 1)[1]}`" for k in read if k.startswith(key + ".")) + ".\n")
    asked = {k: v for k, v in needs.items() if k not in common}
    if expected or asked:
        out += ["| key | expected |", "| --- | --- |"]
        out += [f"| `{k}` | `{cell(v)}` |" for k, v in expected.items() if k not in common]
        out += [f"| `{k}` | {cell('; '.join(dict.fromkeys(t.rstrip(',') for t in v)))} |" for k, v in asked.items()]
        out.append("")
    if harmless:
        out.append("Harmless: " + ", ".join(f"`{k}`" for k in sorted(harmless)) + ".\n")
    return "\n".join(out).replace("\n\n\n", "\n\n")


def page():
    listed = re.findall(r"^GNN_(ARCHITECTURE|MODULE|FILE)\((\w+)\)", open(os.path.join(ROOT, ARCH, "architectures.def")).read(), re.M)
    parts = [HEAD]
    shared = list(entries("common_keys"))
    common = {k for verb, t in shared for k in (t[0].split() if verb == "HARMLESS" else [t[0]])}
    parts.append(section("Every config.json", shared, set()))
    for kind, name in listed:
        rows = list(entries(name))
        types = rows[0][1][0]
        title = f"{name}: `model_type` {', '.join(types.split())}" if kind == "ARCHITECTURE" else types
        if name != "embedding":
            parts.append(section(title, rows, common if kind == "ARCHITECTURE" else set()))
    return "".join(parts).rstrip() + "\n"


def counts():
    """The sentence of docs/pretrained.md about the tables that tests/test_keys.c runs; of
    classes.jsonl.gz and heads.jsonl.gz no key is changed."""
    changes, types = {}, set()
    for path in glob.glob(os.path.join(ROOT, "tests", "golden", "*.jsonl.gz")):
        table = os.path.basename(path).split(".")[0]
        for line in gzip.open(path):
            verb, what, *rest = json.loads(line)
            if verb != "checkpoint":
                of = (table if table in ("sentences", "classes", "heads") else table + "/" + what if table == "generations" else "config", verb == "!")
                changes[of] = changes.get(of, 0) + 1
            elif table not in ("sentences", "classes", "heads", "generations"):
                types.add(rest[0]["config.json"]["model_type"])
    of = lambda table: changes.get((table, False), 0) + changes.get((table, True), 0)
    return (f"{of('config'):,} changes of {len(types)} types' configs: {changes['config', False]:,} have the package's values within 1e-5, "
            f"{changes['config', True]:,} are refused by name; {of('generations/generation_config.json'):,} of `generation_config.json`, "
            f"{of('generations/config.json'):,} of its keys in a `config.json` next to it or without it, {of('sentences'):,} of sentence-transformers' files")


def with_counts(text):
    """The page with the counts, in lines of at most 100 columns; its own text if they are there."""
    found = re.search(r"\(([0-9,]+\s+changes\s+of\b[^()]*)\)", text)
    if re.sub(r"\s+", " ", found[1]) == counts():
        return text
    begin, end = text.rindex("\n\n", 0, found.start()) + 2, text.index("\n\n", found.end())
    return text[:begin] + textwrap.fill(text[begin:found.start(1)] + counts() + text[found.end(1):end], 100, break_on_hyphens=False) + text[end:]


def unlisted(text):
    """Entries and types that the table of architectures lacks."""
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", text[text.index("## Architectures"):], re.M)
    names, types = " ".join(r[0] for r in rows), re.split(r"[ ,()]+", " ".join(r[1] for r in rows))
    for name in re.findall(r"^GNN_ARCHITECTURE\((\w+)\)", open(os.path.join(ROOT, ARCH, "architectures.def")).read(), re.M):
        served = next(t[0] for verb, t in entries(name) if verb == "SERVES").split()
        yield from ([f"`{name}`"] if f"`{name}`" not in names else []) + [t for t in served if t not in types]


def main():
    made, text = page(), open(COUNTS).read()
    if "--write" in sys.argv:
        open(PAGE, "w").write(made)
        open(COUNTS, "w").write(with_counts(text))
    elif not os.path.exists(PAGE) or open(PAGE).read() != made or with_counts(text) != text:
        print("docs/pretrained-keys.md, or counts in docs/pretrained.md, are not those of the entries and tables (docs/keys.py --write mends them)")
        sys.exit(1)
    lacking = list(unlisted(text))
    if lacking:
        print("the table of architectures in docs/pretrained.md lacks", *lacking)
        sys.exit(1)


main()
