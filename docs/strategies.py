"""The picture docs/figures/strategies.svg: the list of lib/aggregate/aggregate_plan.c, in its
order.

    python3 docs/strategies.py [--write]    without --write it compares, and exits with 1 if the
                                            picture differs

The list has each strategy's name and calls; HOW says how each runs them, in two lines.
"""
import os
import re
import sys

from current import ROOT, read, write_or_compare

LIST = os.path.join(ROOT, "lib", "aggregate", "aggregate_plan.c")
PICTURE = os.path.join(ROOT, "docs", "figures", "strategies.svg")
HOW = {
    "sum": ("edges: a sparse matrix times rows, sums in registers", "spans: sliding sums, O(n d) for any runs"),
    "extreme": ("each thread owns receivers and compares rows in registers;", "ties share the gradient"),
    "by_lane": ("the heads of a pair are in the lanes of a register; additive scores",
                "need no product per edge in backward (docs/gat-backward.md)"),
    "attention": ("dot scores on spans: tiles with a running softmax, no n x n matrix", "otherwise: row by row"),
    "aligned": ("unlike counts of key and value heads, values per node: copies of", "O(n heads d) that are plain rows, then as the strategy attention"),
    "linear": ("running sums of d_k x d_v per head, in chunks: O(n d_k d_v)", "for complete, causal and any monotone spans"),
    "by_strip": ("a strip of receivers meets all of its senders, so that a weigher", "sees whole rows of scores; backward makes them anew"),
    "reference": ("accumulate, finish and their derivatives, pair by pair:", "what runs an aggregator of your own"),
}
STEP, TOP = 74, 100


def strategies():
    """Name and calls of each strategy, in order."""
    body = re.search(r"strategies\[\] = \{\n(.*?)\};", read(LIST), re.S).group(1)
    return re.findall(r"&gnn__strategy_(\w+),\s*/\* (.*?) \*/", body)


def text(x, y, words, more=""):
    return '<text x="%d" y="%d"%s>%s</text>' % (x, y, more, words.replace("&", "&amp;").replace("<", "&lt;"))


def picture(known):
    last, rows = len(known) - 1, range(len(known))
    height = TOP + STEP * last + 74
    box = lambda k, x, width: '<rect x="%d" y="%d" width="%d" height="50" rx="6"/>' % (x, TOP + STEP * k, width)
    arrows = ['<path d="M195 82V98"/>'] + ['<path d="M195 %dV%d"/>' % (TOP + STEP * k + 50, TOP + STEP * (k + 1) - 2) for k in rows if k < last]
    arrows += ['<path d="M360 %dH406"/>' % (TOP + STEP * k + 25) for k in rows]
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 %d" width="980" height="%d" font-family="system-ui, Helvetica, '
           "Arial, 'DejaVu Sans', sans-serif\" role=\"img\">" % (height, height),
           "<title>The ordered list of strategies: the first one that takes the call runs the aggregation</title>",
           '<defs><marker id="w" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>',
           '<rect width="980" height="%d" fill="#ffffff"/>' % height,
           '<g font-size="16" font-weight="600" fill="#1a1a1a">' +
           text(30, 34, "An aggregation asks the strategies in order; the first one that takes the call runs it") + "</g>",
           '<g fill="none" stroke="#555" stroke-width="1.5" marker-end="url(#w)">'] + arrows + ["</g>",
           '<g stroke="#1a1a1a"><rect x="105" y="50" width="180" height="32" rx="16" fill="#eef1f4"/>']
    for k in rows:
        out.append('<g fill="%s">%s</g><g fill="#ffffff">%s</g>' % ("#f6dfa8" if k == last else "#cfe3f4", box(k, 30, 330), box(k, 410, 540)))
    out += ["</g>", '<g font-size="14" text-anchor="middle" fill="#1a1a1a">' + text(195, 71, "one call") +
            "".join(text(195, TOP + STEP * k + 21, known[k][0], ' font-weight="600"') for k in rows) + "</g>",
            '<g font-size="12" text-anchor="middle" fill="#444">' +
            "".join(text(195, TOP + STEP * k + 39, known[k][1] + ("?" if k < last else "")) for k in rows) + "</g>",
            '<g font-size="12" fill="#555">' +
            "".join(text(203, TOP + STEP * k + 66, "no") + text(366, TOP + STEP * k + 19, "yes") for k in rows if k < last) + "</g>",
            '<g font-size="13" fill="#1a1a1a">']
    for k in rows:
        for line, words in enumerate(HOW[known[k][0]]):
            out.append(text(426, TOP + STEP * k + 21 + 19 * line, words))
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    known = strategies()
    if sorted(name for name, _ in known) != sorted(HOW):
        sys.exit("HOW of docs/strategies.py is of %s, the list of lib/aggregate/aggregate_plan.c of %s"
                 % (", ".join(sorted(HOW)), ", ".join(sorted(name for name, _ in known))))
    write_or_compare({PICTURE: picture(known)}, None, "list of strategies")


main()
