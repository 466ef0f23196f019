"""Makes the cases of several types of nodes in this folder: modules of PyG with random weights, their inputs, outputs and gradients.

    python tests/pyg/hetero.py tests/pyg        PyTorch 2.15, PyG 2.8.1

The layout is that of make.py, with one x for each type, and for each relation the ends of its edges: x.paper, from.author__writes__paper,
to.author__writes__paper. Weights are called what examples/from_pyg.py calls them; y has all types, one under another. hetero.safetensors is
a whole module as from_pyg.py exports it, hetero.npz what it computes.
"""
import os
import sys

import numpy as np
import torch
import torch_geometric.nn as G

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "python"))
from libgnn.torch import from_pyg  # noqa: E402

torch.set_default_dtype(torch.float64)
torch.manual_seed(23)
rng = np.random.default_rng(23)
TYPES = {"author": (13, 5), "paper": (19, 6), "venue": (4, 3)}
RELATIONS = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "is_by", "author"), ("venue", "has", "paper")]
OUT = 6


def edges(source, _, target):
    """Three edges a node on average, some twice; the last node hears none."""
    n, m = TYPES[source][0], TYPES[target][0]
    return torch.from_numpy(np.stack([rng.integers(0, n, 3 * m), rng.integers(0, m - 1, 3 * m)]))


EDGES = {relation: edges(*relation) for relation in RELATIONS}


def single(t):
    a = t.detach().numpy()
    return a.astype(np.float32) if a.dtype == np.float64 else a


def save(name, module, named, together=torch.cat, used=RELATIONS):
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn_like(p))
            p.copy_(p.float().double())
    x = {t: torch.randn(n, width).float().double().requires_grad_(True) for t, (n, width) in TYPES.items()}
    out = module(x, {relation: EDGES[relation] for relation in used})
    y = together([out[t] for t in TYPES if t in out])
    gy = torch.randn_like(y).float().double()
    (y * gy).sum().backward()
    arrays = {"y": y, "gy": gy, "heads": torch.tensor(2)}
    for relation in used:
        arrays["from." + "__".join(relation)], arrays["to." + "__".join(relation)] = EDGES[relation]
    for t, rows in x.items():
        arrays[f"x.{t}"], arrays[f"dx.{t}"] = rows, torch.zeros_like(rows) if rows.grad is None else rows.grad
    parameters = dict(module.named_parameters())
    gradients = {key: torch.zeros_like(p) if p.grad is None else p.grad for key, p in parameters.items()}
    for before, found in (("w.", parameters), ("dw.", gradients)):
        arrays.update({before + key: value for key, value in named(found).items()})
    np.savez_compressed(f"{sys.argv[1]}/{name}.npz", **{k: single(v) for k, v in arrays.items()})


METADATA = (list(TYPES), RELATIONS)
save("hgt", G.HGTConv({t: width for t, (_, width) in TYPES.items()}, OUT, METADATA, heads=2), from_pyg.by_relation)


def plain(found):
    """HeteroConv's modules are called <author___writes___paper>."""
    return {key.replace("<", "").replace(">", "").replace("___", "__"): value for key, value in found.items()}


for aggr in ("sum", "mean", "max"):
    save(f"hetero_{aggr}", G.HeteroConv({r: G.SAGEConv((TYPES[r[0]][1], TYPES[r[2]][1]), OUT) for r in RELATIONS}, aggr=aggr), plain)


class Library(torch.nn.Module):
    """A whole module: a linear map for each type, two HGTConv, a HeteroConv of four kinds of layers, classes of papers."""

    def __init__(self):
        super().__init__()
        self.lins = torch.nn.ModuleDict({t: torch.nn.Linear(width, 8) for t, (_, width) in TYPES.items()})
        self.convs = torch.nn.ModuleList([G.HGTConv(8, 8, METADATA, heads=2), G.HGTConv(8, 8, METADATA)])
        last = [G.SAGEConv((8, 8), 8), G.GATv2Conv(8, 4, heads=2, add_self_loops=False), G.GraphConv((8, 8), 8), G.TransformerConv((8, 8), 4, heads=2)]
        self.last = G.HeteroConv(dict(zip(RELATIONS, last)), aggr="mean")
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {t: self.lins[t](x).relu() for t, x in x_dict.items()}
        for conv in self.convs:
            x_dict = {**x_dict, **conv(x_dict, edge_index_dict)}
        out = self.last({t: x.relu() for t, x in x_dict.items()}, edge_index_dict)
        return self.out(out["paper"].relu())


torch.set_default_dtype(torch.float32)
module = Library().eval()
with torch.no_grad():
    for p in module.parameters():
        p.add_(0.1 * torch.randn_like(p))
    x = {t: torch.randn(n, width) for t, (n, width) in TYPES.items()}
    y = module(x, EDGES)
print(from_pyg.export(module, f"{sys.argv[1]}/hetero.safetensors"))
arrays = {f"x_dict.{t}": rows for t, rows in x.items()}
for relation in RELATIONS:
    arrays["from." + "__".join(relation)], arrays["to." + "__".join(relation)] = EDGES[relation]
np.savez_compressed(f"{sys.argv[1]}/hetero.npz", y=y.numpy(), **{k: single(v) for k, v in arrays.items()})
