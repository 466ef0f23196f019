"""Nets as strangers write them (stranger_*.py) by libgnn.torch.compile(),
called as programs call modules.

    python tests/pyg/strangers.py [--table FILE] [NAME ...]

For each net: a first call, a second one with a graph of another size, a step of training (values,
gradients, statistics), a call after it, calls without gradients, with isolated nodes, without
edges, with one node. Counts calls that are equal to the module's own (values to 1e-4, gradients to
1e-3 of the largest element), those that are refused with a sentence that names the file and line of
the net, those that compute something else, and tracebacks; the last two must be 0. Calls that the
module itself does not take are not counted.
"""
import argparse
import copy
import os
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402

import libgnn  # noqa: E402
from libgnn.torch.pyg_symbols import Fault  # noqa: E402
from stranger_examples import EDGE, IN, NETS  # noqa: E402

WORDS = ("equal", "refused", "no line", "wrong", "traceback")
REFUSALS = (libgnn.torch.Untraceable, libgnn.Error, NotImplementedError, TypeError, ValueError)
TOLERANCES = (1e-4, 1e-3)


def edges_of(n, m, generator, bipartite=None):
    return torch.stack([torch.randint(0, n, (m,), generator=generator), torch.randint(0, bipartite or n, (m,), generator=generator)])


def drawn(names, n, m, seed, graphs=3, isolated=0, twice=False):
    """The arguments of a net: edges with loops and, of some, duplicates; the last nodes isolated."""
    g = torch.Generator().manual_seed(seed)
    ends = max(n - isolated, 1)
    edge_index = edges_of(ends, m, g)
    loops = edge_index[0] == edge_index[1]
    for k in loops.nonzero().view(-1).tolist():  # one loop per node
        if bool((edge_index[0, :k][loops[:k]] == edge_index[0, k]).any()) and ends > 1:
            edge_index[1, k] = (edge_index[0, k] + 1) % ends
            loops[k] = False
    if twice:
        edge_index[:, 1] = edge_index[:, 0]
        edge_index[:, 3] = edge_index[:, 2] = int(edge_index[0, 2])
    batch = torch.sort(torch.cat([torch.arange(min(graphs, n)), torch.randint(0, graphs, (max(n - graphs, 0),), generator=g)]))[0]
    made = {"x": torch.randn(n, IN, generator=g), "edge_index": edge_index, "edge_attr": torch.randn(m, EDGE, generator=g), "edge_weight": torch.rand(m, generator=g) + 0.5,
            "batch": batch, "pos": torch.randn(n, 3, generator=g), "edge_type": torch.randint(0, 3, (m,), generator=g), "edge_label_index": edges_of(n, 9, g)}
    if names == ("data",):
        return [Data(x=made["x"], edge_index=edge_index)]
    if names == ("x_dict", "edge_index_dict"):
        other = n + 2
        kinds = {("author", "writes", "paper"): edges_of(other, m, g, n), ("paper", "by", "author"): edges_of(n, m, g, other), ("paper", "cites", "paper"): edge_index}
        return [{"paper": made["x"], "author": torch.randn(other, 4, generator=g)}, kinds]
    return [made[name] for name in names]


def tensors(value):
    if torch.is_tensor(value):
        return [value]
    if hasattr(value, "__dataclass_fields__"):
        return [t for name in value.__dataclass_fields__ for t in tensors(getattr(value, name))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [t for part in parts for t in tensors(part)]


def leaf(value):
    if torch.is_tensor(value):
        return value.clone().requires_grad_() if value.is_floating_point() else value.clone()
    if isinstance(value, dict):
        return {key: leaf(part) for key, part in value.items()}
    return value.clone()


def called(call, module, arguments, gradients):
    """Outputs, gradients of inputs and parameters, and the state after the call."""
    module.zero_grad()
    given = [leaf(value) for value in arguments]
    out = call(*given)
    ys = tensors(out)
    grads = []
    if gradients:
        total = sum((y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum() for y in ys if y.requires_grad)
        if torch.is_tensor(total):
            total.backward()
        leaves = [v for v in tensors(given) if v.is_floating_point()] + [v.x for v in given if isinstance(v, Data) and v.x.requires_grad] + list(module.parameters())
        grads = [torch.zeros_like(v) if v.grad is None else v.grad.clone() for v in leaves]
    return [y.detach().clone() for y in ys], grads, [v.clone() for v in module.state_dict().values() if v.is_floating_point()], described(out)


def described(out):
    """The structure of an output."""
    if torch.is_tensor(out):
        return out.dtype, out.requires_grad
    if isinstance(out, dict):
        return type(out), [(key, described(part)) for key, part in out.items()]
    return (type(out), [described(part) for part in out]) if isinstance(out, (list, tuple)) else type(out) if hasattr(out, "__dict__") else out


def off(mine, theirs):
    if mine.shape != theirs.shape:
        return f"shape {tuple(mine.shape)}, expected {tuple(theirs.shape)}"
    if mine.dtype != theirs.dtype:
        return f"dtype {mine.dtype}, expected {theirs.dtype}"
    if not torch.equal(torch.isnan(mine), torch.isnan(theirs)):
        return f"{int(torch.isnan(mine).sum())} NaN, expected {int(torch.isnan(theirs).sum())}"
    mine, theirs = torch.nan_to_num(mine), torch.nan_to_num(theirs)
    return float((mine - theirs).abs().max() / max(1.0, float(theirs.abs().max()))) if mine.numel() else 0.0


def different(ours, theirs):
    for part, (mine, own) in enumerate(zip(ours[:3], theirs[:3])):
        if len(mine) != len(own):
            return f"{len(mine)} {('outputs', 'gradients', 'values')[part]}, expected {len(own)}"
        for k, (a, b) in enumerate(zip(mine, own)):
            found = off(a, b)
            if isinstance(found, str) or not found <= TOLERANCES[part == 1]:
                return f"{('output', 'gradient', 'value of state')[part]} {k}: {found if isinstance(found, str) else f'differs by {found:.2g}'}"
    return "" if ours[3] == theirs[3] else f"returns {ours[3]}, expected {theirs[3]}"


CALLS = {"first": (14, 40, {}), "second": (23, 61, {}), "training": (17, 50, {"training": True}), "after": (11, 30, {}), "no grad": (14, 41, {"no_grad": True}),
         "isolated": (15, 33, {"isolated": 5}), "duplicates": (14, 40, {"twice": True}), "no edges": (7, 0, {}), "one node": (1, 1, {"graphs": 1}), "one node without edges": (1, 0, {"graphs": 1})}


def judged(fast, own, names, k, call):
    """A word and a sentence; None where the module itself does not run."""
    n, m, more = CALLS[call]
    arguments = drawn(names, n, m, 30 + k, more.get("graphs", 3), more.get("isolated", 0), more.get("twice", False))
    training = more.get("training", False)
    own.train(training), fast.train(training)
    before = copy.deepcopy(own.state_dict())
    fast.wrapped.load_state_dict(before)
    with torch.set_grad_enabled(not more.get("no_grad")):
        try:
            torch.manual_seed(1)
            theirs = called(own, own, arguments, not more.get("no_grad"))
        except Exception:  # noqa: BLE001 (the module's own)
            own.load_state_dict(before)
            return None
        try:
            torch.manual_seed(1)
            ours = called(fast, fast.wrapped, arguments, not more.get("no_grad"))
        except REFUSALS as refusal:
            if isinstance(refusal, Fault):
                return "traceback", str(refusal)
            named = "stranger_" in str(refusal) or "self-loops (edges" in str(refusal)  # a line, or what is odd about a graph
            return ("refused" if named else "no line"), f"{type(refusal).__name__}: {refusal}"
        except Exception as problem:  # noqa: BLE001 (that is what is counted)
            return "traceback", f"{type(problem).__name__}: {problem}"
    problem = different(ours, theirs)
    return ("wrong", problem) if problem else ("equal", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table")
    given = parser.parse_args()
    total, rows = dict.fromkeys(WORDS, 0), []
    for name, (make, names, more) in NETS.items():
        if given.names and name not in given.names:
            continue
        torch.manual_seed(0)
        own = make()
        if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in own.parameters()):
            own(*drawn(names, 5, 9, 1))
        torch.manual_seed(0)
        fast = libgnn.torch.compile(make() if more.get("made") else copy.deepcopy(own))
        counts, said = dict.fromkeys(WORDS, 0), {}
        for k, call in enumerate(CALLS):
            found = judged(fast, own, names, k, call)
            if found is not None:
                counts[found[0]] += 1
                if found[0] != "equal":
                    said.setdefault(f"{found[0]}: {found[1][:300]}", []).append(call)
        rows.append("\t".join([name, *map(str, counts.values())]))
        print(rows[-1], *[f"    {', '.join(calls)}: {words}" for words, calls in said.items()], sep="\n", flush=True)
        for word, count in counts.items():
            total[word] += count
    if given.table:
        with open(given.table, "w", encoding="utf-8") as file:
            file.write("\n".join(["\t".join(["net", *WORDS]), *rows]) + "\n")
    print(f"{len(rows)} nets: " + ", ".join(f"{count} {word}" for word, count in total.items()))
    sys.exit(bool(total["wrong"] + total["traceback"]))


if __name__ == "__main__":
    main()
