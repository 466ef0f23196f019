"""Systems of the gallery in PyTorch, in rounds in turn with libgnn: ratios of medians.

    python bench/peers/zoo.py --bench build/bench [--threads 1] [--rounds 3] [--only lstm,mamba2,...]

lstm, gru: nn.LSTM and nn.GRU with a linear map to two classes, forward and a training step with Adam. tree: a child-sum Tree-LSTM, a loop over levels
of its trees. mixtral, mamba2, rwkv: incremental decoding by transformers; the shapes are those of the golden models times 8, weights are random.
linear: causal linear attention with elu + 1, forward and gradients, as the product of all pairs and as a loop over rows.

Each round runs libgnn's program once and the peer once, in a process each. A line of JSON per row: medians over rounds, and their ratio.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from common import options, report, timed

o = options(bench="", rounds=3, only="", task="", model="", sequences=32, length=128, width=128, words=64, prompt=16, mode="train", form="pairs")
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch
from torch import nn

torch.set_num_threads(o.threads)
torch.manual_seed(0)


# ---- recurrent networks ----

class Sequences(nn.Module):
    def __init__(self, cell, d):
        super().__init__()
        self.cell, self.answer = cell(d, d, batch_first=True), nn.Linear(d, 2)

    def forward(self, x):
        return self.answer(self.cell(x)[0]).flatten(0, 1)


class Trees(nn.Module):
    """Binary trees whose node k > 0 sends to node (k - 1) / 2, from the deepest level up; all trees of a batch at once."""

    def __init__(self, d):
        super().__init__()
        self.x, self.h, self.f, self.answer = nn.Linear(d, 4 * d), nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, 2)

    def forward(self, x):
        trees, n, d = x.shape
        gates = self.x(x)
        i_o_u, f_x = gates[..., :3 * d], gates[..., 3 * d:]
        above, levels, begin = None, [], 0
        while begin < n:
            levels.append((begin, min(2 * begin + 1, n)))
            begin = 2 * begin + 1
        out = []
        for begin, end in reversed(levels):
            sums, kept = x.new_zeros(trees, end - begin, d), x.new_zeros(trees, end - begin, d)
            if above is not None:
                h, c, first, last = above
                parent = (torch.arange(first, last) - 1) // 2 - begin
                f = torch.sigmoid(f_x[:, begin:end][:, parent] + self.f(h))
                sums, kept = sums.index_add(1, parent, h), kept.index_add(1, parent, f * c)
            i, o_, u = (i_o_u[:, begin:end] + self.h(sums)).chunk(3, -1)
            c = torch.sigmoid(i) * torch.tanh(u) + kept
            h = torch.sigmoid(o_) * torch.tanh(c)
            above = h, c, begin, end
            out.append(h)
        return self.answer(torch.cat(out[::-1], 1)).flatten(0, 1)


def recurrent(task):
    net = dict(lstm=lambda: Sequences(nn.LSTM, o.width), gru=lambda: Sequences(nn.GRU, o.width), tree=lambda: Trees(o.width))[task]()
    x, labels = torch.randn(o.sequences, o.length, o.width), torch.randint(0, 2, (o.sequences * o.length,))
    if o.mode == "infer":
        net.eval()

        def step():
            with torch.inference_mode():
                net(x)
        return step
    adam = torch.optim.Adam(net.parameters(), 1e-3)

    def step():
        adam.zero_grad()
        nn.functional.cross_entropy(net(x), labels).backward()
        adam.step()
    return step


# ---- linear attention ----

def linear():
    n, heads, d = o.length, 4, 64
    q, k, v, g = (torch.randn(heads, n, d, requires_grad=True) for _ in range(4))
    mask = torch.ones(n, n).tril()

    def pairs(q, k, v):
        w = (q @ k.transpose(1, 2)) * mask
        return (w @ v) / w.sum(-1, keepdim=True)

    def rows(q, k, v):
        state, total, out = v.new_zeros(heads, d, d), v.new_zeros(heads, d), []
        for t in range(n):
            state = state + k[:, t, :, None] * v[:, t, None, :]
            total = total + k[:, t]
            out.append((q[:, t, None] @ state)[:, 0] / (q[:, t] * total).sum(-1, keepdim=True))
        return torch.stack(out, 1)

    def step():
        for x in (q, k, v):
            x.grad = None
        out = dict(pairs=pairs, rows=rows)[o.form](nn.functional.elu(q) + 1, nn.functional.elu(k) + 1, v)
        out.backward(g.detach())
    return step


# ---- decoding ----

def make_model(task, folder):
    import transformers as T
    common = dict(hidden_size=128, num_hidden_layers=2, vocab_size=328)
    if task == "mixtral":
        net = T.MixtralForCausalLM(T.MixtralConfig(**common, intermediate_size=256, num_attention_heads=16, num_key_value_heads=8, num_local_experts=4,
                                                   num_experts_per_tok=2, max_position_embeddings=32768))
    elif task == "mamba2":
        net = T.Mamba2ForCausalLM(T.Mamba2Config(**common, num_heads=32, head_dim=8, state_size=32, n_groups=1, expand=2, conv_kernel=3, chunk_size=32))
    else:
        net = T.RwkvForCausalLM(T.RwkvConfig(**common, attention_hidden_size=128, intermediate_size=256, context_length=32768))
    net.save_pretrained(folder)


def decode(folder):
    from transformers import AutoModelForCausalLM
    net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.randint(0, net.config.vocab_size, (1, o.prompt))
    kind = net.config.model_type
    state = {}
    with torch.inference_mode():
        y = net(ids, use_cache=True)

    def keep(y):
        if kind == "rwkv":
            state.update(state=y.state)
        elif kind == "mamba2":
            state.update(cache_params=y.cache_params)
        else:
            state.update(past_key_values=y.past_key_values)
    keep(y)

    def step():
        with torch.inference_mode():
            last = ids[:, :1]
            for _ in range(o.words):
                more = dict(cache_position=torch.tensor([o.prompt])) if kind == "mamba2" and MAMBA_POSITIONS else {}
                y = net(last, use_cache=True, **state, **more)
                keep(y)
                last = y.logits[:, -1:].argmax(-1)
    return step


MAMBA_POSITIONS = False  # releases that take the position of the new token

# ---- rounds in turn ----

MODELS = ("mixtral", "mamba2", "rwkv")


def line_of(*command):
    run = subprocess.run(list(command), capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(o.threads)})
    lines = [l for l in run.stdout.splitlines() if l.startswith("{")]
    if not lines:
        sys.exit(f"{' '.join(command)}: {run.stderr[-800:]}")
    return json.loads(lines[-1])


def rows():
    for cell in ("lstm", "gru", "tree"):
        for mode in ("infer", "train"):
            yield f"{cell} {mode}", cell, ["sweeps", "--cell", cell, "--mode", mode], ["--task", cell, "--mode", mode]
    for task in MODELS:
        yield f"{task} decoding", task, ["decode", "--onward"], ["--task", task]
    for n in (512, 2048):
        ours = ["attention", "--n", str(n), "--heads", "4", "--width", "64", "--causal", "--backward", "--weigher", "ratio", "--map", "elu1"]
        for form in ("pairs", "rows"):
            yield f"linear {n} {form}", "linear", ours, ["--task", "linear", "--length", str(n), "--form", form]


def compare():
    common = ["--threads", str(o.threads), "--repeat", str(o.repeat)]
    for name, task, ours, theirs in rows():
        if o.only and task not in o.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if task in MODELS:
                make_model(task, folder)
                ours, theirs = ours + ["--model", folder], theirs + ["--model", folder]
            times = [], []
            for _ in range(o.rounds):
                times[0].append(line_of(os.path.join(o.bench, ours[0]), *ours[1:], *common)["median_ms"])
                times[1].append(line_of(sys.executable, os.path.abspath(__file__), *theirs, *common)["median_ms"])
        medians = [statistics.median(t) for t in times]
        print(json.dumps(dict(row=name, threads=o.threads, rounds=o.rounds, libgnn_ms=round(medians[0], 3), peer_ms=round(medians[1], 3),
                              ratio=round(medians[1] / medians[0], 2))), flush=True)


if o.bench:
    compare()
else:
    step = recurrent(o.task) if o.task in ("lstm", "gru", "tree") else linear() if o.task == "linear" else decode(o.model)
    report(task="zoo", library="torch", row=o.task, mode=o.mode, form=o.form, threads=o.threads, **timed(step, o.repeat, warm=2))
