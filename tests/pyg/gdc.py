"""Makes the case of diffused graphs in this folder: PyG's GDC on one drawn graph, a transform each.

    python tests/pyg/gdc.py tests/pyg        PyTorch 2.15, PyG 2.8.1

Edges are directed, some parallel, with weights; every node is reached from every other. NAME.src, NAME.dst and NAME.weight are what is
left of the transform NAME, by receiver, then sender.
"""
import sys

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import GDC

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(31)
N = 40
ring = np.stack([np.arange(N), (np.arange(N) + 1) % N])
edges = torch.from_numpy(np.concatenate([ring, rng.integers(0, N, (2, 3 * N))], axis=1))
weight = torch.from_numpy(rng.uniform(0.2, 2, edges.shape[1]).astype("f4").astype("f8"))

ppr, heat = dict(method="ppr", alpha=0.15), dict(method="heat", t=3.0)
CASES = {
    "pagerank_top": dict(diffusion_kwargs=ppr, sparsification_kwargs=dict(method="topk", k=6, dim=0)),
    "pagerank_threshold": dict(diffusion_kwargs=dict(method="ppr", alpha=0.3), sparsification_kwargs=dict(method="threshold", eps=0.01), normalization_out="sym"),
    "pagerank_walk": dict(diffusion_kwargs=ppr, sparsification_kwargs=dict(method="topk", k=5, dim=0), normalization_in="col", normalization_out=None),
    "heat_top": dict(diffusion_kwargs=heat, sparsification_kwargs=dict(method="topk", k=6, dim=0)),
    "heat_threshold": dict(diffusion_kwargs=heat, sparsification_kwargs=dict(method="threshold", eps=0.02), self_loop_weight=None, normalization_out=None),
    "pagerank_average": dict(diffusion_kwargs=ppr, sparsification_kwargs=dict(method="threshold", avg_degree=5)),
    "heat_average": dict(diffusion_kwargs=heat, sparsification_kwargs=dict(method="threshold", avg_degree=11), normalization_out="sym"),
    "heat_loops": dict(diffusion_kwargs=dict(method="heat", t=5.0), sparsification_kwargs=dict(method="topk", k=40, dim=0), self_loop_weight=2.0, normalization_out="col"),
}
arrays = dict(src=edges[0].numpy(), dst=edges[1].numpy(), weight=weight.numpy().astype("f4"), n=np.int64(N))
for name, options in CASES.items():
    out = GDC(exact=True, **{"normalization_in": "sym", "normalization_out": "col", **options})(Data(edge_index=edges, edge_attr=weight, num_nodes=N))
    order = np.lexsort(out.edge_index.numpy())
    src, dst = out.edge_index.numpy()[:, order]
    arrays.update({f"{name}.src": src, f"{name}.dst": dst, f"{name}.weight": out.edge_attr.numpy()[order]})
np.savez_compressed(f"{sys.argv[1]}/gdc.npz", **arrays)
