"""The page docs/tasks.md and its curves, from bench/results/tasks.tsv, which bench/tasks writes.

    python3 docs/tasks.py [--write]     without --write it compares, and exits with 1 if a file differs
"""
import os
import textwrap

from current import ROOT, read, write_or_compare

RESULTS = os.path.join(ROOT, "bench", "results", "tasks.tsv")
PAGE = os.path.join(ROOT, "docs", "tasks.md")
FIGURES = os.path.join(ROOT, "docs", "figures", "tasks")
INTRODUCTION = """Models on synthetic tasks of their papers. `bench/tasks` generates the data, trains and evaluates; the
results are in `bench/results/tasks.tsv`, and `docs/tasks.py --write` makes this page from them. The
tables have the accuracy on new sequences. Each batch is generated anew; the optimiser is Adam with a
learning rate that decays to 0 and gradients clipped at norm 1."""
REINFORCE = """Six tokens, one of them marked; the model samples one token and classifies it. Sampling has no
gradient: the log-probability of the token, times the reward minus its mean, is a term of the loss
(Xu et al. 2015). `tests/test_signals.c` trains with three seeds for 300 epochs and requires that the
marked token has the highest score in more than 0.95 of the sequences; it has in all of them, with
each seed. Without the term the scores have no gradient, and the fraction stays that of their initial
values: 0.000, 0.073 and 0.938."""
EDGES = """Sequences of six tokens, each with a value of 0, 1 or 2; two tokens are marked, and the label of
every token is the sum of their values (a fraction of 0.2 to 0.33 is chance). An LSTM samples two
senders for each token, one after another, and attention runs over these two edges alone (SAC, Li et
al. 2020): its state starts at x_i, the distribution is the softmax of h_t . K x_j, and the next
input is the sampled x_j. The log-probabilities, times the reward minus its mean, are a term of the
loss. `tests/test_sac.c` compares values and gradients with the formula in double precision
(differences of at most 6e-7, where the largest gradient is 4.1), trains with three seeds for 600
epochs, and evaluates on new sequences: with each seed all tokens find both marked tokens and have the
right sum. Without the term 0.014, 0.031 and 0.003 of the tokens find them, and 0.260, 0.194 and
0.302 have the right sum."""
TASKS = {
    "recall": ("Recall of rewritten keys", """A sequence has 24 pairs of one of 8 keys and a value, three per key on average, and then each key
once as a query, whose answer is the last value of the key. One layer of one head of width 32. Linear
attention sums values and cannot forget: it learns how often a key had each value. The delta rule
replaces the value of a key (Schlag et al. 2021, Yang et al. 2024). Softmax attention without
positions does not know the order of the pairs. Chance is 0.125."""),
    "copying": ("Copying by induction", """8 to 16 random tokens out of 16, and the same tokens again. The answers are the next tokens, from the
second token of the repetition on: the token that followed the earlier, equal token. Pre-norm
Transformers with rotary positions, width 64, two heads. One layer cannot attend to the token after an
equal one; two can (Olsson et al. 2022). Chance is 0.0625."""),
    "listops": ("ListOps", """Nested lists of MAX, MIN, MED and SUM (modulo 10) over digits, 128 to 384 tokens, up to eight levels
deep; the answer is the value of the outermost list (Nangia and Bowman 2018; Tay et al. 2021 have
longer ones). Two causal pre-norm layers of width 64, four heads: softmax attention with rotary
positions, or linear attention without positions. An LSTM of width 64 over the tokens, and the same
cell over the tree, which is an input (child-sum Tree-LSTM). Chance is 0.1."""),
    "sentiment": ("Sentiment whose words need the tree", """Trees over 6 to 16 words out of 20, each with a valence of -2 to 2. The valence of an inner node is for
AND the sum of its children (between -2 and 2), for BUT the right child's, for THOUGH the left child's,
and for NOT the negative of its child's. The label is the sign at the root. Without brackets a sentence
has several trees. LSTM over the words in order; child-sum Tree-LSTM, which does not distinguish left
and right; binary Tree-LSTM, with weights per child (Tai et al. 2015). Width 64. Chance is 0.5."""),
    "halting": ("A pursuit that has to halt in time", """A ring of 16 positions. The target moves one position away in every second round; the pursuer reads
both positions and moves by at most one in each round. The answer is the position where they first
meet; later rounds move on from it. The model is one step, repeated 12 times. With halting the
prediction is the mean of the positions after each round, weighted by the probability of halting
there, which a small network computes: round t halts with probability p_t if no earlier round did
(PonderNet, Banino et al. 2021), or the run halts when the sum of the p_t exceeds 0.99 (ACT, Graves
2016). Without halting the prediction is the position after the last round. Chance is 0.0625."""),
    "ntm": ("Copying with a memory", """1 to 8 symbols out of 8, an end mark, and equally many empty rows, whose answers are the symbols. A
neural Turing machine (Graves et al. 2014) with a controller of one layer of width 64, a read head, a
write head, and a memory of 12 rows of width 12; an LSTM of width 64 for comparison. Longer training of
the machine is less stable: in runs of 3,000 steps all answers are right at step 450, and fractions of
0.97, 1.00 and 0.84 at the end. Chance is 0.125."""),
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
           "<title>%s: accuracy by training step, three seeds</title>" % title,
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


def wrapped(text):
    """A paragraph of at most 100 columns."""
    return textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False)


def page(found):
    out = ["# Synthetic tasks", "", wrapped(INTRODUCTION), ""]
    for task, systems in found.items():
        title, text = TASKS[task]
        out += ["## " + title, "", wrapped(text), "", "![curves of %s](figures/tasks/%s.svg)" % (title.lower(), task), "",
                "| system | steps | seed 1 | seed 2 | seed 3 | mean |", "| --- | --- | --- | --- | --- | --- |"]
        for system, seeds in systems.items():
            last = [seeds[s][-1][1] for s in sorted(seeds)]
            out.append("| %s | %d | %s | %.3f |" % (system, seeds[min(seeds)][-1][0], " | ".join("%.3f" % v for v in last), sum(last) / len(last)))
        out.append("")
    out += ["## Hard attention by REINFORCE", "", wrapped(REINFORCE), "", "## Edges sampled by an LSTM", "", wrapped(EDGES), ""]
    return "\n".join(out)


def main():
    found = results()
    files = {PAGE: page(found)}
    files.update({os.path.join(FIGURES, task + ".svg"): curves(TASKS[task][0], systems) for task, systems in found.items()})
    write_or_compare(files, FIGURES, "results")


main()
