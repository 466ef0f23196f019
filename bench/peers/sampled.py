"""GraphSAGE on samples of the graph that `bench/sampled --write DIR` has drawn: PyG's NeighborLoader, or DGL's.

    python sampled.py --library pyg|dgl --folder DIR [--batches 30] [--batch 1024] [--hidden 256] [--workers 0] [--threads 2]

Three layers, fan-outs 15, 10 and 5 from the seeds on, ReLU between, Adam; the edges of all blocks count, and the clock stands still for the first 3
batches. PyG's loader needs pyg-lib or torch-sparse. Training nodes: one in twelve by chance. `edges_per_s` is what is compared.
"""
import os
import time
import warnings
from common import options, report, rss_mb

o = options(library="pyg", folder="", batches=30, batch=1024, hidden=256, workers=0)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
warnings.filterwarnings("ignore")
import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(o.threads)
torch.manual_seed(0)
WARM, FANS, CLASSES = 3, [15, 10, 5], 47
array = lambda name: torch.from_numpy(np.load(os.path.join(o.folder, name + ".npy")))
indptr, indices, x, y = array("indptr"), array("indices"), array("x"), array("labels").long()
n = len(indptr) - 1
train = torch.from_numpy(np.random.default_rng(0).random(n).__lt__(1 / 12).nonzero()[0])
widths = [x.shape[1], o.hidden, o.hidden, CLASSES]


class Net(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.convs = torch.nn.ModuleList(conv(a, b) for a, b in zip(widths, widths[1:]))


if o.library == "pyg":
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import SAGEConv
    from torch_geometric.typing import SparseTensor

    # The adjacency by receiver, as the loader wants it: nothing is sorted again.
    adj = SparseTensor(rowptr=indptr, col=indices.long(), sparse_sizes=(n, n), is_sorted=True, trust_data=True)
    del indices
    data = Data(x=x, y=y, adj_t=adj)
    loader = NeighborLoader(data, num_neighbors=FANS, input_nodes=train, batch_size=o.batch, shuffle=True, num_workers=o.workers)
    net = Net(SAGEConv)

    def batches():
        for b in loader:
            graph = b.adj_t if "adj_t" in b else b.edge_index
            edges = b.adj_t.nnz() if "adj_t" in b else b.edge_index.shape[1]
            h = b.x
            for k, conv in enumerate(net.convs):
                h = conv(h, graph)
                h = F.relu(h) if k < 2 else h
            # PyG's batch is one graph of all that was drawn, on which every layer runs.
            yield h[: b.batch_size], b.y[: b.batch_size], edges
else:
    import dgl
    from dgl.nn import SAGEConv

    graph = dgl.graph(("csc", (indptr, indices.long(), [])), num_nodes=n)
    del indices
    sampler = dgl.dataloading.NeighborSampler(FANS[::-1])
    loader = dgl.dataloading.DataLoader(graph, train, sampler, batch_size=o.batch, shuffle=True, num_workers=o.workers)
    net = Net(lambda a, b: SAGEConv(a, b, "mean"))

    def batches():
        for inputs, seeds, blocks in loader:
            h = x[inputs]
            for k, (conv, block) in enumerate(zip(net.convs, blocks)):
                h = conv(block, h)
                h = F.relu(h) if k < 2 else h
            yield h, y[seeds], sum(b.num_edges() for b in blocks)

opt = torch.optim.Adam(net.parameters(), lr=0.003)
before, start, edges = rss_mb(), 0.0, 0
for k, (out, label, drawn) in enumerate(batches()):
    opt.zero_grad(set_to_none=True)
    F.cross_entropy(out, label).backward()
    opt.step()
    edges += drawn if k >= WARM else 0
    if k == WARM - 1:
        start = time.perf_counter()
    if k == WARM + o.batches - 1:
        break
seconds = time.perf_counter() - start
ms = round(seconds * 1e3 / o.batches, 3)
report(task="sampled", library=o.library, batch=o.batch, hidden=o.hidden, threads=o.threads, workers=o.workers, edges_a_batch=edges // o.batches,
       edges_per_s=round(edges / seconds, 1), before_mb=round(before, 1), repeat=o.batches, median_ms=ms, min_ms=ms, mean_ms=ms)
