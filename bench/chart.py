#!/usr/bin/env python3
"""Draws bench/results/NAME.jsonl as an SVG bar chart: how many times faster than each peer, medians over the rounds, on a logarithmic scale.

    python3 bench/chart.py --name NAME [--suite graph-train,graph-infer] [--threads 2] [--out docs/speed.svg]
"""
import argparse, html, json, math, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import compare

COLOURS = {"pyg": "#3b6fb6", "dgl": "#d9822b", "torch": "#b6433b", "torch-bf16": "#7a4f9a"}
NAMES = {"pyg": "PyTorch Geometric", "dgl": "DGL", "torch": "PyTorch", "torch-bf16": "PyTorch, bf16"}
TITLES = {"graph-train": "Training step of a graph network", "graph-train-plain": "Training step without dropout", "graph-infer": "Inference of a graph network",
          "attention": "Attention", "encoder": "Transformer encoder", "spmm": "Sum over neighbours", "epochs": "A whole training, from process start"}
LABEL, WIDTH, BAR, GAP = 210, 900, 13, 7


def latest(rows):
    """Of each task at each number of threads, the rows of the last comparison that ran it."""
    last = {}
    for r in rows:
        last[r["task"], r["threads"]] = r["run"]
    return [r for r in rows if r["run"] == last[r["task"], r["threads"]]]


def ticks(low, high):
    return [m * 10.0**e for e in range(-2, 5) for m in (1, 2, 5) if low <= m * 10.0**e <= high]


def text(x, y, words, anchor="start", size=12, colour="#222", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" font-weight="{weight}">{html.escape(words)}</text>'


def number(x):
    return f"{x:.0f}" if x >= 20 else f"{x:.1f}" if x >= 2 else f"{x:.2f}"


def group(out, y, title, rows, place, low, high):
    """One suite: a bar for each task and peer; returns the y below it."""
    out.append(text(LABEL, y + 12, title, weight="bold", size=13))
    y += 22
    top, before = y, None
    bars = []
    for r in rows:
        if before not in (None, r["task"]):
            y += GAP
        if r["task"] != before:
            bars.append(text(LABEL - 8, y + BAR - 2, r["task"].split("/", 1)[1], "end"))
        before = r["task"]
        x0, x1 = sorted((place(1), place(r["ratio"])))
        bars.append(f'<rect x="{x0:.1f}" y="{y}" width="{max(x1 - x0, 1):.1f}" height="{BAR - 2}" fill="{COLOURS[r["peer"]]}"/>')
        bars.append(text(max(x1, place(1)) + 4, y + BAR - 3, number(r["ratio"]), size=11, colour="#444"))
        y += BAR
    for t in ticks(low, high):
        out.append(f'<line x1="{place(t):.1f}" y1="{top - 4}" x2="{place(t):.1f}" y2="{y + 2}" stroke="{"#555" if t == 1 else "#ddd"}"/>')
        out.append(text(place(t), y + 14, f"{t:g}", "middle", 10, "#777"))
    out.extend(bars)
    return y + 34


def draw(groups, caption):
    ratios = [r["ratio"] for _, rows in groups for r in rows]
    low, high = min(1, min(ratios)) * 0.97, max(ratios) * 1.25
    scale = (WIDTH - LABEL - 40) / math.log(high / low)
    place = lambda v: LABEL + scale * math.log(v / low)
    out, y = [], 30
    out.append(text(LABEL, 20, "Times faster than", size=13))
    x = LABEL + 118
    for peer in [p for p in NAMES if any(r["peer"] == p for _, rows in groups for r in rows)]:
        out.append(f'<rect x="{x}" y="10" width="11" height="11" fill="{COLOURS[peer]}"/>')
        out.append(text(x + 16, 20, NAMES[peer]))
        x += 34 + 7 * len(NAMES[peer])
    y += 14
    for title, rows in groups:
        y = group(out, y, title, rows, place, low, high)
    out.append(text(LABEL, y, caption, size=11, colour="#777"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 14}" viewBox="0 0 {WIDTH} {y + 14}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{y + 14}" fill="#fff"/>', *out, "</svg>", ""])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--name", required=True, help="of the file in bench/results")
    p.add_argument("--suite", default="graph-train,graph-infer,attention,encoder,spmm")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--out", default=os.path.join(HERE, "..", "docs", "speed.svg"))
    o = p.parse_args()
    rows = [r for r in latest(compare.read_results(os.path.join(HERE, "results", o.name + ".jsonl"))) if r["threads"] == o.threads]
    with open(os.path.join(HERE, "targets.json")) as f:
        every = [r for r in compare.compare_rows(rows, json.load(f)) if r["theirs"]]
    # What ran below the precision that its name promises says nothing of that precision.
    fair = [r for r in every if not (r["task"].endswith(("-high", "-medium")) and r["used"] == "highest")]
    groups = [(TITLES[s], [r for r in fair if r["task"].split("/")[0] == s]) for s in o.suite.split(",")]
    groups = [g for g in groups if g[1]]
    if not groups:
        sys.exit("the file holds no comparison of these suites")
    machines = sorted({r["processor"] for r in rows})
    commits = list(dict.fromkeys(r["commit"] for r in rows))  # in the order of the file: the last is the newest
    made_at = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits up to {commits[-1]}"
    caption = f"{o.threads} thread{'s' * (o.threads > 1)}, {', '.join(machines)}; {max(r['date'] for r in rows)}, {made_at}"
    with open(o.out, "w") as f:
        f.write(draw(groups, caption))


if __name__ == "__main__":
    main()
