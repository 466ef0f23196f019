"""The page docs/tasks.md and its curves, from bench/results/tasks.tsv, which bench/tasks writes.

    python3 docs/tasks.py [--write]     without --write it compares, and exits with 1 if a file differs
"""
import os

from current import ROOT, read, write_or_compare

RESULTS = os.path.join(ROOT, "bench", "results", "tasks.tsv")
PAGE = os.path.join(ROOT, "docs", "tasks.md")
FIGURES = os.path.join(ROOT, "docs", "figures", "tasks")
TASKS = {
    "recall": ("Recall of rewritten keys", """24 pairs of a key and a value are written, of 8 keys, so that a key is written three times on
average; then each key is asked for once, and its last value is the answer. One layer of one head
of width 32. Linear attention adds values up and cannot forget: it has the frequencies of a key's
values. The delta rule replaces the value of a key (Schlag et al. 2021, Yang et al. 2024). Softmax
attention without positions sees a set of pairs. Chance is 0.125."""),
    "copying": ("Copying by induction", """8 to 16 random words of 16, and the same words again: from the second word of the repetition on, the
next word is the one that followed the last time. Pre-norm Transformers with rotary positions, width
64, two heads. One layer cannot find what followed an equal word; two can (Olsson et al. 2022).
Chance is 0.0625."""),
    "listops": ("ListOps", """Nested lists of MAX, MIN, MED and SUM (modulo 10) over digits, 128 to 384 words, up to eight deep; the
answer is the value of the whole (Nangia and Bowman 2018; longer ones are in Tay et al. 2021). Two
causal pre-norm layers of width 64, four heads, softmax with rotary positions or linear attention
without; an LSTM of width 64 over the words; and the same cell over the tree, which is given to it
(child-sum Tree-LSTM). Chance is 0.1."""),
    "sentiment": ("Sentiment whose words need the tree", """Trees of 6 to 16 words of 20, each with a valence of -2 to 2, joined by AND (the sum, bounded by 2),
BUT (the right side) and THOUGH (the left side); NOT turns what is below it. Spoken without brackets a
sentence has several trees. The label is the sign of the whole. LSTM over the words in this order;
child-sum Tree-LSTM, which does not tell left from right; binary Tree-LSTM with places of
children (Tai et al. 2015). Width 64. Chance is 0.5."""),
    "halting": ("A pursuit that has to halt in time", """A ring of 16 places. The target moves one place away in every second round; the pursuer reads where
both are, and moves at most one place in each round. The answer is the place where they meet first:
a pursuer that goes on leaves it. The model is one step, repeated 12 times. With halting the
answer is the place weighed by the probability to halt there, a sigmoid of a small network: every
round has its share of what is left (PonderNet, Banino et al. 2021), or the run halts where their sum
passes 0.99 (ACT, Graves 2016). Without, it is the place after the last round. Chance is 0.0625."""),
    "ntm": ("Copying with a memory", """1 to 8 symbols of 8, an end mark, and as many empty rows, in which the symbols are the answers.
A neural Turing machine (Graves et al. 2014) with a controller of one layer of width 64, a reading and
a writing head, and a memory of 12 rows of 12; an LSTM of width 64 for comparison. Longer trainings of
the machine are less stable: of 3,000 steps, it gives all answers at step 450, and 0.97, 1.00 and 0.84
of them in the end. Chance is 0.125."""),
}
COLORS = ["#36a", "#c53", "#283", "#949"]


def results():
    """task -> system -> seed -> [(step, share)]"""
    found = {}
    for line in read(RESULTS).splitlines():
        if not line.startswith("#"):
            task, system, seed, step, share = line.split("\t")
            found.setdefault(task, {}).setdefault(system, {}).setdefault(int(seed), []).append((int(step), float(share)))
    return found


def curves(title, systems):
    """Lines of all seeds, a colour per system."""
    width, height, left, top = 640, 300, 50, 20
    last = max(points[-1][0] for seeds in systems.values() for points in seeds.values())
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12">'
           % (width, height + 60, width, height + 60),
           "<title>%s: share of right answers by training step, three seeds</title>" % title,
           '<rect width="%d" height="%d" fill="#fff"/>' % (width, height + 60)]
    for tenth in range(0, 11, 2):
        y = top + (height - top) * (1 - tenth / 10)
        out.append('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.1f</text>' % (left, y, width - 10, left - 6, y + 4, tenth / 10))
    for k, (system, seeds) in enumerate(systems.items()):
        for points in seeds.values():
            path = "L".join("%.1f %.1f" % (left + (width - left - 10) * step / last, top + (height - top) * (1 - share)) for step, share in points)
            out.append('<path d="M%s" fill="none" stroke="%s" stroke-width="1.5"/>' % (path, COLORS[k]))
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (left + 150 * k, height + 45, COLORS[k], system))
    out += ['<text x="%d" y="%d">0</text><text x="%d" y="%d" text-anchor="end">step %d</text>' % (left, height + 18, width - 10, height + 18, last), "</svg>", ""]
    return "\n".join(out)


def page(found):
    out = ["# Tasks made by seed", "", "Systems on the tasks that their papers set for them. `bench/tasks` draws, trains and measures; the",
           "figures are in `bench/results/tasks.tsv`, and `docs/tasks.py --write` makes this page of them. Every",
           "batch is drawn anew; shares are of right answers on fresh sequences. Adam, the learning rate falling",
           "to 0, gradients clipped at 1.", ""]
    for task, systems in found.items():
        title, text = TASKS[task]
        out += ["## " + title, "", text, "", "![curves of %s](figures/tasks/%s.svg)" % (title.lower(), task), "",
                "| system | steps | seed 1 | seed 2 | seed 3 | mean |", "| --- | --- | --- | --- | --- | --- |"]
        for system, seeds in systems.items():
            last = [seeds[s][-1][1] for s in sorted(seeds)]
            out.append("| %s | %d | %s | %.3f |" % (system, seeds[min(seeds)][-1][0], " | ".join("%.3f" % v for v in last), sum(last) / len(last)))
        out.append("")
    out += ["## Hard attention by REINFORCE", "",
            "Six words, one of them marked; the model draws one word and classifies it. Gradients do not pass",
            "through the draw: the log-probability of the word, times how much better than the mean the answer",
            "is, is a term of the loss (Xu et al. 2015). `tests/test_signals.c` trains three seeds, 300 epochs,",
            "and fails unless the marked word is found in more than 0.95 of the sequences: it is found in all of",
            "them with each seed. Without the term no gradient reaches the scores, and the share stays that of",
            "their first values, 0.000, 0.073 and 0.938.", ""]
    return "\n".join(out)


def main():
    found = results()
    files = {PAGE: page(found)}
    files.update({os.path.join(FIGURES, task + ".svg"): curves(TASKS[task][0], systems) for task, systems in found.items()})
    write_or_compare(files, FIGURES, "results")


main()
