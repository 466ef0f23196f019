"""Makes the cases of this folder: modules of PyG with random weights, their inputs, outputs and gradients.

    python tests/pyg/make.py tests/pyg        PyTorch 2.15, PyG 2.8.1

The layout is that of the golden files (one npz a case; src, dst, x, e, w.NAME, y, gy, dx, dw.NAME): everything is computed in double
precision from weights that are exact in float, and rounded once. The loss is sum(y * gy).
"""
import sys

import numpy as np
import torch
import torch_geometric.nn as G
from torch import nn

OUT = sys.argv[1]
torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
rng = np.random.default_rng(11)
N, IN, WIDTH = 23, 6, 4


def rounded(module):
    with torch.no_grad():
        for p in module.parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
            p.copy_(p.float().double())
    return module


def single(t):
    a = t.detach().numpy() if torch.is_tensor(t) else np.asarray(t)
    return a.astype(np.float32) if a.dtype == np.float64 else a


pairs = {(int(s), int(d)) for s, d in rng.integers(0, N, (4 * N, 2)) if s != d and d != N - 1}
pairs |= {(s, 0) for s in range(1, N)}
SRC, DST = (torch.tensor(c) for c in zip(*sorted(pairs)))
EDGES = torch.stack([SRC, DST])


def save(name, module, call, width=IN, late=dict, **extra):
    x = torch.randn(N, width).float().double().requires_grad_(True)
    y = call(x)
    gy = torch.randn_like(y).float().double()
    (y * gy).sum().backward()
    arrays = dict(src=SRC, dst=DST, x=x, dx=x.grad, y=y, gy=gy, **extra, **late())
    for key, p in module.named_parameters():
        arrays["w." + key] = p
        arrays["dw." + key] = torch.zeros_like(p) if p.grad is None else p.grad
    np.savez_compressed(f"{OUT}/{name}.npz", **{k: single(v) for k, v in arrays.items()})


m = rounded(G.SSGConv(IN, WIDTH, alpha=0.2, K=3))
save("ssg", m, lambda x: m(x, EDGES))
m = rounded(G.LEConv(IN, WIDTH))
save("le", m, lambda x: m(x, EDGES))
lg = G.LGConv()


def light(x):
    z, total = x, x
    for _ in range(3):
        z = lg(z, EDGES)
        total = total + z
    return total / 4


save("lg", lg, light)
TYPE = torch.from_numpy(rng.integers(0, 10, EDGES.shape[1]))
m = rounded(G.RGCNConv(IN, WIDTH, 10, num_blocks=2))
save("rgcn_blocks", m, lambda x: m(x, EDGES, TYPE), type=TYPE)
m = rounded(G.DeepGCNLayer(G.GENConv(IN, IN, aggr="softmax", learn_t=True, num_layers=2, norm="layer"), nn.LayerNorm(IN), nn.ReLU(), block="res+", dropout=0.0))
save("deep_gcn", m, lambda x: m(x, EDGES))
m = rounded(G.GENConv(IN, WIDTH, aggr="powermean", learn_p=True, p=1.5, num_layers=2, norm="layer"))
save("gen_power", m, lambda x: m(x, EDGES))
m = rounded(G.GCNConv(IN, WIDTH, improved=True))
EW = (torch.rand(EDGES.shape[1]) + 0.1).float().double().requires_grad_(True)
save("gcn_improved", m, lambda x: m(x, EDGES, EW), late=lambda: dict(ew=EW, dew=EW.grad))


def over_graphs(name, call, module, batch):
    """A norm over the graphs of a batch, in the layout of the golden readouts."""
    x = torch.randn(N, IN).float().double().requires_grad_(True)
    y = call(x)
    gy = torch.randn_like(y).float().double()
    (y * gy).sum().backward()
    arrays = dict(batch=batch, x=x, dx=x.grad, y=y, gy=gy)
    arrays |= {"w." + key: p for key, p in module.named_parameters()} | {"dw." + key: p.grad for key, p in module.named_parameters()}
    np.savez_compressed(f"{OUT}/{name}.npz", **{k: single(v) for k, v in arrays.items()})


BATCH = torch.tensor([0] * 9 + [1] * 2 + [3] * (N - 11))
m = rounded(G.LayerNorm(IN, eps=1e-3))
over_graphs("layer_norm_graphs", lambda x: m(x, BATCH, 4), m, BATCH)
m = rounded(G.LayerNorm(IN, eps=1e-3))
over_graphs("layer_norm_whole", lambda x: m(x), m, torch.zeros(N, dtype=torch.long))
