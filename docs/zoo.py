"""The page docs/zoo.md: the systems of the gallery, from the entries that tests/test_gallery.c
runs.

    python3 docs/zoo.py [--write]        without --write it compares, and exits with 1 if the page or
                                         a picture differs
    python3 docs/zoo.py --program CASE   prints a program that builds and runs an entry
    python3 docs/zoo.py --example        prints the program at the top of the page
    python3 docs/zoo.py --snippets       prints a C file of all snippets as the page has them
    python3 docs/zoo.py --reads          prints a program that prints tests/zoo/reads.txt
    python3 docs/zoo.py --draw SEED N    prints N cases, drawn

An entry of tests/zoo/*_*.c is a comment "ROW | system | formula | cost | paper" and
ENTRY(case) { ... }; tests/zoo/rows.tsv has the rows, tests/zoo/left_out.def the cases without an
entry, tests/zoo/sizes.txt the arrays of the cases, tests/zoo/reads.txt which of them an entry reads,
tests/zoo/arrays.tsv what they are.
"""
import os
import random
import re
import sys
import textwrap

from current import ROOT, read, write_or_compare

ZOO = os.path.join(ROOT, "tests", "zoo")
PAGE = os.path.join(ROOT, "docs", "zoo.md")
PICTURES = os.path.join(ROOT, "docs", "figures", "zoo")
TITLES = {
    "A": "Graphs and graph networks", "B": "Sequence models and attention before the Transformer",
    "C": "The Transformer", "D": "Sparse attention by position", "E": "Sparse attention by content",
    "F": "Linear attention", "G": "Prototypes and compression of memory", "H": "Low-rank self-attention",
    "I": "Attention with a prior", "J": "Heads, scores, weights", "K": "Positions",
    "L": "Norms and residual rules", "M": "Feed-forward blocks", "N": "Lightweight and convolutional models",
    "O": "Adaptive computation", "P": "Recurrence and hierarchy", "Q": "Other architectures",
    "R": "Pre-trained models", "S": "Applications", "T": "Learning"}
HEAD = """# The zoo: attention and its relatives, one layer

`docs/zoo.py --write` makes this page of `tests/zoo`, and `tests/house/zoo.sh` compares: an entry
below is run by `tests/test_gallery.c`, forward and backward, against golden numbers of the authors'
code or formula, and on drawn values in two forms of graph.
%s

## A program

An entry is a list of steps: the last one is the output. It is written with the short forms of
`tests/zoo/zoo.h`, which stand at the [end](#short-forms) of the page: `ATTENTION("y", slot, "x", d,
.heads = h)` is a `gnn_step_t` of kind layer, `LINEAR("q", "x", in, out)` one of kind linear.
`tests/zoo/program.h` has them for programs; it needs the public headers alone. The functions and
definitions that a snippet begins with stand at file level, the steps in `main`, after the arrays
that they read. This program has an entry of its own sizes, prints its output and takes training
steps:

```c
%s```

With an installed library ([install](install.md)), `-I` names the folder of a clone:

```sh
cc -std=c17 -Itests/zoo mine.c -o mine $(pkg-config --cflags --libs gnn) -lm
```

`python3 docs/zoo.py --program CASE` prints any entry as such a program, on drawn arrays of its
case's sizes. An array that an entry reads and that is not given is an error, and so is one that is
given and not read. The entry's parameters are drawn as `gnn_model_build` draws them. Features that
a paper draws once (`map.features`, `r.W.weight`) are parameters, too: a parameter group with
`.lr_scale = GNN_ZERO` keeps them as they are. `gnn_model_field_name` lists parameters: those of a
step are called STEP.FIELD, as [parameters](parameters.md) has them for layers; `weight` is in x
out, the transpose of PyTorch's. `TURN("y.query.weight", "q")` (transposed), `SET` (equal) and
`BIND` say which array of the golden file is which parameter; a program does without. A model that
is trained, saved, inspected or run in parts is [any model](models.md).

## Names

In formulas `i` is the receiver and `j` the sender, `s_ij = q_i . k_j / sqrt(width)` the score of a
head, `width` its columns, `X'` the transpose, `W` a matrix. A number from 0 counts rows, positions,
heads. In costs:

%s
Products of all rows with matrices of d x d, such as the projections of a layer, O(n d^2), are left
out where something else is named. `COLS("x")` is the count of columns of an array, `COUNT` of its
rows, `N("p.NAME")` and `R("p.NAME")` are hyperparameters, integer and real. These arrays mean the
same in all entries; others are explained where they are read. `w.NAME` are parameters, of which
only the shape is read.

| array | shape | |
| --- | --- | --- |
%s
Without `lengths` all rows are one segment; an entry that does not list them has one segment, or
works row by row.

"""

# Symbols of costs that are no hyperparameters of their entry.
SYMBOLS = [("n", "rows of x"),
           ("m", "senders, edges, rows of mem, landmarks or features: the second size of the formula"),
           ("d", "columns of x"), ("heads", "heads"), ("edges", "edges"), ("experts", "experts"), ("hidden", "width of the hidden layer"), ("layers", "layers"),
           ("taps", "taps of a convolution"), ("classes", "columns of logits")]

EXAMPLE = """#include "program.h"

int main(void)
{
    zoo_t gallery, *z = zoo_program(&gallery);
    const gnn_real_t zeros[15 * 8] = {0};
    const gnn_tensor_t targets = gnn_tensor((gnn_real_t *)zeros, 15, 8);
    gnn_optimizer_t *optimizer;
    /* Three sentences of 5, 2 and 8 words, two heads, drawn features; then the entry lazyformer. */
    zoo_give_integers(z, "lengths", 3, (int64_t[]){5, 2, 8});
    zoo_set(z, "p.heads", 2);
    zoo_give(z, "x", 15, 8, NULL);
%s    /* The output, and the gradients of its sum. */
    const gnn_tensor_t y = zoo_program_run(z);
    printf("%%lld x %%lld, y[0][0] = %%g\\n", (long long)y.rows, (long long)y.cols, (double)y.data[0]);
    ck_ok(gnn_optimizer_new(&optimizer, z->g.context, gnn_model_parameters(z->model),
                            &(gnn_optimizer_config_t){.lr = REAL(0.01)}));
    for (int k = 0; k < 3; k++)
        printf("loss %%g\\n", zoo_program_step(z,
                                              &(gnn_loss_t){.kind = GNN_LOSS_MEAN_SQUARED,
                                                            .targets = &targets},
                                              optimizer));
    gnn_optimizer_free(optimizer);
    zoo_program_close(z);
    return 0;
}
"""


def example():
    """The program at the top of the page."""
    steps = next(e["source"] for e in entries() if e["case"] == "lazyformer")
    return EXAMPLE % "".join("    " + line for line in steps.splitlines(True))


def symbols():
    return "".join("- `%s`: %s\n" % s for s in SYMBOLS) + "- others: `p.NAME` of the entry, or explained there\n"


def everywhere():
    return "".join("| `%s` | %s | %s |\n" % (name, described()[name, "*"][0], described()[name, "*"][1])
                   for name in EVERYWHERE)


def check_formula(e):
    """A formula is one of its own: it does not refer to the entry before it."""
    if not re.search("=|<-|softmax|sum|mean|s_ij", e["formula"]) or re.match(r"(the same|as|also)\b", e["formula"]):
        sys.exit("%s: the comment has no formula: %s" % (e["case"], e["formula"]))


def check_costs(e):
    """The symbols of a cost are those of SYMBOLS, hyperparameters or shapes of the entry, or explained after it."""
    text = e["cost"]
    inside = re.findall(r"O\(((?:[^()]|\([^()]*\))*)\)", text)
    known = {name for name, _ in SYMBOLS} | {"log"} | {name[2:] for name in reads()[e["case"]]}
    after = re.sub(r"O\((?:[^()]|\([^()]*\))*\)", "", text)
    for word in {w for part in inside for w in re.findall(r"[A-Za-z_]\w*", part)}:
        if word not in known and not re.search(r"\b%s\b" % word, after):
            sys.exit("%s: the cost %s does not say what %s is" % (e["case"], text, word))


def joined(comment):
    return re.sub(r"\s+", " ", re.sub(r"\n \*", " ", comment)).strip()


COMMENT = r"(?:^/\*(?:[^*]|\*(?!/))*\*/\n)?"
# A definition at file level with the comment above it: a macro, or a declaration to its last line.
DEFINITION = re.compile(COMMENT + r"^(?:#define \w(?:[^\n]*\\\n)*[^\n]*\n|(?:static|typedef|enum)\b(?:[^;({]*=[^;]*;[^\n]*\n|[^\n{]*;[^\n]*\n"
                        r"|[^;{]*?\{(?:[^\n]*\} ?\w*;?(?: */\*[^\n]*\*/)?\n|.*?^\}[^\n]*\n)))", re.M | re.S)


def names_of(source):
    """Names that a definition has for others."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S).strip()
    if source.startswith("#define"):
        return [source.split()[1].split("(")[0]]
    if source.startswith("enum"):
        return re.findall(r"(\w+)\s*(?:=[^,}]*)?[,}]", source[source.index("{"):])
    if source.startswith("typedef"):
        inner = re.findall(r"enum\s*\{([^}]*)\}", source)
        return re.findall(r"(\w+)\)?[^\w;]*(?:\([^;]*\))?;\s*$", source) + re.findall(r"\w+", " ".join(inner))
    values = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=", re.sub(r"\{[^{}]*\}", "", source))
    return values if source.endswith("};") or source.endswith(";") else re.findall(r"(\w+)\s*\(", source)[:1]


def definitions(text):
    """Definitions of a file in order: names and source."""
    return [(names_of(m.group(0)), m.group(0)) for m in DEFINITION.finditer(text)]


def needed(body, known):
    """Definitions that a body uses, and those that these use, in the order of the file."""
    words, used = set(re.findall(r"\w+", body)), set()
    while True:
        more = {k for k, (names, _) in enumerate(known) if k not in used and words & set(names)}
        if not more:
            return [known[k][1] for k in sorted(used)]
        used |= more
        for k in more:
            words |= set(re.findall(r"\w+", known[k][1]))


def without_tests(body):
    """The body without the calls that concern comparisons alone."""
    return re.sub(r"^ *zoo_(?:same_pairs|rounding|slack|approximate|unchecked|also)\((?:[^();]|\([^()]*\))*\);[^\n]*\n", "", body, flags=re.M)


def entries():
    """Entries of all families: dicts with family, row, name, formula, cost, paper, case, source."""
    for file in sorted(os.listdir(ZOO)):
        if not re.match(r"[A-T]_\w+\.c$", file):
            continue
        text = read(os.path.join(ZOO, file))
        known = definitions(text)
        listed = re.findall(r"AT\((\w+)\)", text)
        for m in re.finditer(r"^/\* ([^\n]*?\|(?:[^*]|\*(?!/))*)\*/\nENTRY\((\w+)\)\n\{\n(.*?)^\}\n", text, re.M | re.S):
            comment, case, body = m.groups()
            # "|x|" is a length: fields are parted by " | "
            fields = [f.strip() for f in joined(comment).split(" | ")]
            if len(fields) != 5:
                sys.exit("%s: %s: the comment has %d fields, not row | system | formula | cost | paper" % (file, case, len(fields)))
            if case not in listed:
                sys.exit("%s: %s is not in FAMILY" % (file, case))
            source = without_tests("".join(needed(body, known)) + body_of(body))
            yield dict(zip(("row", "name", "formula", "cost", "paper"), fields), case=case, source=source,
                       family=file[0] if fields[0].startswith("6") else fields[0][0], file=file)


def body_of(body):
    return "".join(line[4:] if line.startswith("    ") else line for line in body.splitlines(True))


def rows():
    for line in read(os.path.join(ZOO, "rows.tsv")).splitlines():
        if not line.startswith("#"):
            yield (line.split("\t") + [""] * 5)[:5]


def left_out():
    text = re.sub(r'"\s*\n\s*"', "", read(os.path.join(ZOO, "left_out.def")))
    return re.findall(r'^ZOO_CASE\(([^,]*),\s*(\w+),\s*"([^"]*)"\)', text, re.M)


def models():
    text = re.sub(r'"\s*\n\s*"', "", read(os.path.join(ZOO, "left_out.def")))
    return re.findall(r'^ZOO_MODEL\((\w+),\s*"([^"]*)"\)', text, re.M)


# ---- pictures ----

def patterns():
    """src, dst and lengths of the cases that have them."""
    case, found = None, {}
    for line in read(os.path.join(ZOO, "sizes.txt")).splitlines():
        if not line.startswith(" "):
            case = line
            continue
        word = line.split()
        if word[0] in ("src", "dst", "lengths", "lengths_mem"):
            found.setdefault(case, {})[word[0]] = [int(v) for v in word[4:]]
    return found


def picture(title, arrays):
    """The pairs of the longest segment: a receiver per row, a sender per column."""
    lengths = arrays.get("lengths", [max(arrays["dst"]) + 1])
    across = arrays.get("lengths_mem", lengths)
    best = max(range(len(lengths)), key=lambda s: lengths[s])
    row, col = sum(lengths[:best]), sum(across[:best])
    path = "".join("M%d %dh9v9h-9z" % (10 * (s - col) + 1, 10 * (d - row) + 1)
                   for s, d in zip(arrays["src"], arrays["dst"])
                   if row <= d < row + lengths[best] and col <= s < col + across[best])
    width, height = 10 * across[best] + 1, 10 * lengths[best] + 1
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">\n'
            "<title>%s: receivers from top to bottom, senders from left to right</title>\n"
            '<rect width="%d" height="%d" fill="#eee"/>\n<path d="%s" fill="#369"/>\n</svg>\n'
            % (width, height, width, height, title.replace("&", "and").replace("<", "below"), width, height, path))


# ---- the page ----

def costs():
    """Lines of tests/zoo/costs.tsv, which GNN_ZOO_COSTS=tests/zoo/costs.tsv test_gallery writes."""
    for line in read(os.path.join(ZOO, "costs.tsv")).splitlines():
        if not line.startswith("#"):
            name, rows, *counts = line.split("\t")
            yield name, int(rows), [float(c) for c in counts[:3]], [float(c) for c in counts[3:]]


def cost_table(all_entries):
    formulas = {e["case"]: e["cost"] for e in all_entries}
    out = ["## Cost, counted", "", "Forward and backward on drawn values of 8, 16 and 32 times the rows of the case: multiply-adds",
           "times two plus the values that ops move, in millions, and the least processor time of seven passes",
           "on one thread, in milliseconds. `test_gallery` counts the operations of these entries, whose papers",
           "promise less than n^2, and fails above 4.8 times for four times the rows.", "",
           "| case | cost | rows n | n | 2 n | 4 n | 4 n / n | ms at n | 2 n | 4 n |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, n, counts, times in costs():
        out.append("| [%s](#%s) | %s | %d | %s | %.2f | %s |" % (name, name, cell(formulas[name]), n, " | ".join("%.2f" % (c / 1e6) for c in counts),
                                                                counts[2] / counts[0], " | ".join("%.3g" % t for t in times)))
    return out + [""]

def cell(text):
    return text.replace("|", "\\|")


def state_of(row, own, missing, written):
    """works, in part or not, and why."""
    left = [(case, why) for r, case, why in left_out() if r == row]
    if not own and not left:
        return {"now": "works", "part": "in part", "no": "not"}[written]
    if not own:
        elsewhere = all(why.startswith("run by") for _, why in left)
        return "works" if elsewhere and written == "now" else "in part" if elsewhere else "not"
    return "in part" if missing or any(not why.startswith("run by") for _, why in left) else "works"


def linked(text, all_entries):
    """The text with links to the entries that it names, outside of its own links."""
    cases = {e["case"] for e in all_entries if "_" in e["case"] or e["case"] in ("pinsage", "perceiver", "reversible")}
    parts = re.split(r"(\[[^]]*\]\([^)]*\))", text)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"\w+", lambda m: "[%s](#%s)" % (m.group(), m.group()) if m.group() in cases else m.group(), parts[k])
    return "".join(parts)


def table(letter, all_entries):
    out = ["| row | system | state | shown by | missing |", "| --- | --- | --- | --- | --- |"]
    counts = {"works": 0, "in part": 0, "not": 0}
    for row, system, written, shown, missing in rows():
        if row[0] != letter:
            continue
        own = [e for e in all_entries if e["row"] == row]
        left = [(case, why) for r, case, why in left_out() if r == row]
        state = state_of(row, own, missing, written)
        counts[state] += 1
        what = ", ".join("[%s](#%s)" % (e["case"], e["case"]) for e in own) or linked(shown, all_entries)
        if "](" not in what:
            sys.exit("tests/zoo/rows.tsv: row %s has no entry and names neither an entry nor a page" % row)
        lacks = "; ".join(([missing] if missing and state != "works" else []) +
                          ["%s: %s" % (case, why) for case, why in left if state != "works"])
        out.append("| %s | %s | %s | %s | %s |" % (row, cell(system), state, cell(what), cell(lacks)))
    return out, counts


def entry_text(e, drawn):
    out = ["### %s" % e["case"], "", "**%s.** `%s`" % (e["name"], e["formula"]), ""]
    out += ["Cost %s. %s. %sCase `%s`, `tests/zoo/%s`."
            % (e["cost"], e["paper"], "" if e["row"].startswith("6") else "Row %s. " % e["row"], e["case"], e["file"]), ""]
    if e["case"] in drawn:
        out += ["![pattern of %s](figures/zoo/%s.svg)" % (e["name"].replace("|", ""), e["case"]), ""]
    out += array_lines(e["case"])
    return out + ["```c", e["source"].rstrip("\n"), "```", ""]


def lines_of_cases():
    """case -> lines of tests/zoo/sizes.txt as lists of words."""
    found = {}
    for line in read(os.path.join(ZOO, "sizes.txt")).splitlines():
        if line.startswith(" "):
            found[case].append(line.split())
        else:
            case = line
            found[case] = []
    return found


def described(known={}):
    """(name, case or *) -> shape and meaning of an array, of tests/zoo/arrays.tsv."""
    if not known:
        for line in read(os.path.join(ZOO, "arrays.tsv")).splitlines():
            if not line.startswith("#"):
                name, cases, shape, meaning = line.split("\t")
                for case in cases.split():
                    known[name, case] = shape, meaning
    return known


# Of any entry that reads them: described once, at the top of the page.
EVERYWHERE = ["x", "mem", "lengths", "lengths_mem", "src", "dst", "p.heads", "p.eps"]


def sizes_known(lines):
    """What the symbols of a shape are in a case."""
    by = {w[0]: [int(n) for n in w[2].split("x")] for w in lines}
    values = {w[0]: [float(v) for v in w[w.index("=") + 1:]] for w in lines if "=" in w}
    known = {name[2:]: int(v[0]) for name, v in values.items() if name.startswith("p.") and v}
    rows, cols = (by["x"] + [1])[:2] if "x" in by else (0, 1)
    lengths = [int(v) for v in values.get("lengths", [rows])]
    known.update(lengths=lengths, segments=len(lengths), longest=max(lengths), max=max)
    if "x" in by:
        known.update(n=rows, d=cols)
    if "src" in by:
        known.update(edges=by["src"][0])
    if "heads" in known and "x" in by:
        known.setdefault("width", cols // known["heads"])
    if "mem" in by:
        known.update(m=by["mem"][0], memory=by["mem"][0])
    return known


def shape_agrees(shape, dims, known):
    """The shape of arrays.tsv is that of the case; a symbol that is not known is any size."""
    at_least = shape.startswith(">= ")
    parts = shape[3 * at_least:].split(" x ")
    if len(parts) != len(dims):
        return False
    for k, (part, size) in enumerate(zip(parts, dims)):
        text = re.sub(r"sum\(([^)]*)\)", r"sum(\1 for n_s in lengths)", part).replace("^", "**")
        try:
            value = eval(text, {"__builtins__": {"sum": sum}}, known)
        except NameError:
            continue
        if value != size and not (at_least and k == 0 and size >= value):
            return False
    return True


def arrays(case):
    """The names, shapes and meanings of the arrays that an entry reads, and those of parameters."""
    lines = {w[0]: w for w in lines_of_cases()[case]}
    known, plain, told, weights = sizes_known(lines.values()), [], [], []
    for name in reads()[case]:
        dims = lines[name][2].split("x")
        shown = "`%s`%s" % (name, "" if name.startswith("p.") else " " + " x ".join(dims))
        how = described().get((name, case)) or described().get((name, "*"))
        if name.startswith("w.") and not how:
            weights.append(shown)
        elif not how:
            sys.exit("tests/zoo/arrays.tsv does not describe %s of %s" % (name, case))
        elif not shape_agrees(how[0], [int(n) for n in dims], known):
            sys.exit("tests/zoo/arrays.tsv: %s of %s is %s, described as %s" % (name, case, "x".join(dims), how[0]))
        elif name in EVERYWHERE and (name, case) not in described():
            plain.append(shown)
        else:
            value = "" if "=" not in lines[name] or len(lines[name]) != 5 else " = " + lines[name][4]
            size = value if dims == ["1"] else " " + how[0] + " (%s)" % " x ".join(dims)
            told.append("`%s`%s: %s" % (name, size, how[1]))
    return plain, told, weights


def array_lines(case):
    plain, told, weights = arrays(case)
    out = [textwrap.fill("Arrays: " + ", ".join(plain) + ".", 98)] if plain else []
    out += [textwrap.fill("- " + text + ".", 98, subsequent_indent="  ") for text in told]
    if weights:
        out += ([""] if out else []) + [textwrap.fill("Shapes of parameters: " + ", ".join(weights) + ".", 98)]
    if told and plain:
        out.insert(1, "")
    return out + [""] if out else []


PROGRAM = """#include "program.h"

%sint main(void)
{
    zoo_t gallery, *z = zoo_program(&gallery);
%s%s    const gnn_tensor_t y = zoo_program_run(z);
    printf("%s: %%lld x %%lld, y[0] = %%g\\n", (long long)y.rows, (long long)y.cols,
           y.rows * y.cols > 0 ? (double)y.data[0] : 0);
    zoo_program_close(z);
    return 0;
}
"""


def parts(source):
    """Functions and other definitions of a snippet, and the steps."""
    at = 0
    for m in DEFINITION.finditer(source):
        if m.start() != at:
            break
        at = m.end()
    return source[:at], source[at:]


def given(word):
    """The call that gives an array of a line of sizes.txt."""
    name, kind, dims, *rest = word
    shape = [int(d) for d in dims.split("x")]
    if kind == "f":
        low, high = float(rest[0]), float(rest[1])
        return ('zoo_give_drawn(z, "%s", %d, (int64_t[]){%s}, %.3g, %.3g);'
                % (name, len(shape), ", ".join(map(str, shape)), (3 * low + high) / 4, (low + 3 * high) / 4))
    values = rest[rest.index("=") + 1:]
    if kind == "i":
        return ('zoo_give_integers(z, "%s", %d, (int64_t[]){%s});' % (name, len(values), ", ".join(values or ["0"])))
    if len(values) == 1:
        return 'zoo_set(z, "%s", %s);' % (name, values[0])
    return ('zoo_give(z, "%s", %d, %d, (gnn_real_t[]){%s});'
            % (name, shape[0], len(values) // max(shape[0], 1), ", ".join(values)))


def program(case):
    entry = next((e for e in entries() if e["case"] == case), None)
    if not entry:
        sys.exit("the gallery has no case %s" % case)
    above, steps = parts(entry["source"])
    inputs = [given(w) for w in lines_of_cases()[case] if w[0] in reads()[case]]
    indent = lambda text: "".join("    " + line if line.strip() else line for line in text.splitlines(True))
    return PROGRAM % (above + "\n" if above else "", indent("\n".join(inputs) + "\n"), indent(steps), case)


def snippets():
    """Every snippet as a function; names of its own functions do not meet those of others."""
    out = ['#include "program.h"\n']
    for k, e in enumerate(entries()):
        above, steps = parts(e["source"])
        own = [name for names, source in definitions(above) for name in names if not re.search(r"^#define", source, re.M)]
        out += ["#define %s %s_%d" % (name, name, k) for name in own]
        out += [above, "void snippet_%s(zoo_t *z);\nvoid snippet_%s(zoo_t *z)\n{\n%s(void)z;\n}\n" % (e["case"], e["case"], steps)]
        out += ["#undef %s" % name for name in own]
    return "\n".join(out)


READS = """%s
static void snippet_give(zoo_t *z, const char *name)
{
%s}

int main(void)
{
    static const struct {
        const char *name;
        void (*build)(zoo_t *z);
    } all[] = {
%s    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        zoo_t gallery, *z = zoo_program(&gallery);
        snippet_give(z, all[k].name);
        all[k].build(z);
        ck_ok(gnn_model_build(&z->model, z->g.context, z->steps));
        zoo_add_inputs(z);
        printf("%%s", all[k].name);
        for (int a = 0; a < z->g.n_given; a++)
            if (z->g.read[a])
                printf(" %%s", z->g.names[a]);
        putchar('\\n');
        zoo_program_close(z);
    }
    return 0;
}
"""


def reads_program():
    """A program that prints tests/zoo/reads.txt: of each entry the arrays that it reads."""
    gives, names = [], []
    for e in entries():
        gives.append('    if (strcmp(name, "%s") == 0) {\n' % e["case"])
        gives += ["        %s\n" % given(w) for w in lines_of_cases().get(e["case"], []) if w[0] != "gy"]
        gives.append("    }\n")
        names.append('        {"%s", snippet_%s},\n' % (e["case"], e["case"]))
    return READS % (snippets(), "".join(gives), "".join(names))


def reads(known={}):
    """case -> names of the arrays that its entry reads, in the order of the case."""
    if not known:
        for line in read(os.path.join(ZOO, "reads.txt")).splitlines():
            case, *names = line.split()
            known[case] = names
    return known


def check_descriptions():
    """Every line of arrays.tsv describes an array that an entry reads."""
    used = {(name, case) for case, names in reads().items() for name in names}
    used |= {(name, "*") for case, names in reads().items() for name in names if (name, case) not in described()}
    for name, case in described():
        if (name, case) not in used:
            sys.exit("tests/zoo/arrays.tsv describes %s of %s, which reads no such array" % (name, case))


def page():
    all_entries = list(entries())
    check_descriptions()
    for e in all_entries:
        check_formula(e)
        check_costs(e)
    known = patterns()
    drawn = {e["case"]: picture(e["name"], known[e["case"]]) for e in all_entries
             if e["file"].startswith("D_") and {"src", "dst"} <= set(known.get(e["case"], {}))}
    total, body, contents = {"works": 0, "in part": 0, "not": 0}, [], []
    for letter, title in TITLES.items():
        lines, counts = table(letter, all_entries)
        for state, count in counts.items():
            total[state] += count
        own = [e for e in all_entries if e["family"] == letter]
        slug = re.sub(r"[^a-z -]", "", ("%s %s" % (letter, title)).lower()).replace(" ", "-")
        contents.append("- [%s %s](#%s): %d rows, %d entries" % (letter, title, slug, sum(counts.values()), len(own)))
        body += ["## %s %s" % (letter, title), ""] + lines + [""]
        for e in own:
            body += entry_text(e, drawn)
    body += cost_table(all_entries)
    left = left_out()
    elsewhere = [case for _, case, why in left if why.startswith("run by")]
    layers = sum(e["file"] == "C_layers.c" for e in all_entries)
    zoo = len(all_entries) - layers
    sums = ("%d golden cases of %d are entries, %d more are run by another suite; %d entries are golden cases of layers. "
            "Of %d rows %d work, %d in part, %d not."
            % (zoo, zoo + len(left), len(elsewhere), layers, sum(total.values()), total["works"], total["in part"], total["not"]))
    text = [HEAD % (textwrap.fill(sums, 98), example(), symbols(), everywhere()), "## Families", ""] + contents + [""] + body
    text += ["## Cases without an entry", "", "| case | row | reason |", "| --- | --- | --- |"]
    text += ["| %s | %s | %s |" % (case, row, cell(why)) for row, case, why in left]
    text += ["", "## Golden models", "", "| model | |", "| --- | --- |"] + ["| %s | %s |" % m for m in models()]
    short = re.search(r"/\* ---- steps, short ---- \*/\n(.*?)/\* ---- running", read(os.path.join(ZOO, "zoo.h")), re.S).group(1)
    for _, source in definitions(short):
        if re.search(r"^void zoo_(?:same_pairs|rounding|slack|approximate|unchecked)\(", source, re.M):
            short = short.replace(source, "")
    text += ["", "## Short forms", "", "```c", short.strip(), "```", ""]
    return "\n".join(text), drawn


def main():
    if sys.argv[1:2] == ["--program"]:
        sys.stdout.write(program(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--draw"]:
        print("\n".join(random.Random(int(sys.argv[2])).sample([e["case"] for e in entries()], int(sys.argv[3]))))
        return
    if sys.argv[1:2] == ["--example"]:
        sys.stdout.write(example())
        return
    if sys.argv[1:2] == ["--reads"]:
        sys.stdout.write(reads_program())
        return
    if sys.argv[1:2] == ["--snippets"]:
        sys.stdout.write(snippets())
        return
    text, drawn = page()
    files = {PAGE: text}
    files.update({os.path.join(PICTURES, case + ".svg"): svg for case, svg in drawn.items()})
    write_or_compare(files, PICTURES, "entries")


main()
