"""One training step, or one forward pass, of a graph network in PyG or DGL.

    python graph.py --library pyg|dgl|libgnn --model gcn|gat|gatv2|sage|gin|resgated --data cora|pubmed|tolokers|coauthor_cs|proteins|rmat \
        --mode train|infer [--compile] [--plain] [--aggregator mean|max|...] [--adjacency auto|csr|edge_index] [--threads 2]

libgnn: PyG's network by libgnn.torch.compile(), the Python package of this library.
--aggregator: of SAGE; it and resgated are PyG's only here.
--plain: no dropout anywhere (dropout over densified features is a large share of the peers' time on Cora, Pubmed and coauthor_cs).
Models: gcn/sage/gin hidden 16 on Planetoid and 256 elsewhere; gat and gatv2 8 heads x 8 (4 x 64 on rmat); 2 layers, 3 on rmat.
"""
import os
from common import load, options, report, rss_mb, timed

o = options(library="pyg", model="gat", data="cora", mode="train", compile=False, plain=False, adjacency="auto", aggregator="mean", layers=0, hidden=0, heads=0)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(o.threads)
torch.manual_seed(0)
d = load(o.data)
big = o.data == "rmat"
layers = o.layers or (3 if big else 2)
attention = o.model.startswith("gat")
heads = (o.heads or (4 if big else 8)) if attention else 1
hidden = o.hidden or ((64 if big else 8) if attention else (16 if o.data in ("cora", "citeseer", "pubmed") else 256))
n, classes = len(d["y"]), int(d["y"].max()) + 1
x, y = torch.from_numpy(d["x"]).clone(), torch.from_numpy(d["y"])
mask = torch.from_numpy(d["train"].nonzero()[0])
drop = 0.0 if o.plain else 0.6 if attention else 0.5
sizes = [x.shape[1]] + [hidden * heads] * (layers - 1) + [classes]

if o.library in ("pyg", "libgnn"):
    import torch_geometric.nn as G
    from torch_geometric.utils import to_torch_csr_tensor
    edge = torch.from_numpy(np.stack([d["src"], d["dst"]])).clone()

    def conv(i, a, b, last):
        if o.model == "gcn": return G.GCNConv(a, b, cached=o.library == "pyg")
        if o.model == "sage": return G.SAGEConv(a, b, aggr=o.aggregator)
        if o.model == "resgated": return G.ResGatedGraphConv(a, b)
        if o.model == "gin": return G.GINConv(torch.nn.Sequential(torch.nn.Linear(a, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, b)))
        cls = G.GATConv if o.model == "gat" else G.GATv2Conv
        return cls(a, b if last else hidden, heads=1 if last else heads, dropout=drop)
    # auto: the fastest documented path, a CSR adjacency (torch.sparse.mm) where the layer can use one.
    csr = o.library == "pyg" and (o.adjacency == "csr" or (o.adjacency == "auto" and not attention and o.model != "resgated"))
    graph = to_torch_csr_tensor(edge, size=(n, n)) if csr else edge
else:
    import dgl
    import dgl.nn.pytorch as G
    g = dgl.graph((torch.from_numpy(d["src"]), torch.from_numpy(d["dst"])), num_nodes=n)
    if o.model in ("gcn", "gat", "gatv2"):
        g = dgl.add_self_loop(g)
    g = g.int() if n < 2**31 else g
    g.create_formats_()
    graph = g

    def conv(i, a, b, last):
        if o.model == "gcn": return G.GraphConv(a, b)
        if o.model == "sage": return G.SAGEConv(a, b, "mean")
        if o.model == "gin": return G.GINConv(torch.nn.Sequential(torch.nn.Linear(a, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, b)), "sum")
        cls = G.GATConv if o.model == "gat" else G.GATv2Conv
        return cls(a, b if last else hidden, 1 if last else heads, attn_drop=drop)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(conv(i, sizes[i], sizes[i + 1], i == layers - 1) for i in range(layers))

    def forward(self, x, graph):
        for i, c in enumerate(self.convs):
            x = F.dropout(x, drop, self.training)
            x = c(graph, x).flatten(1) if o.library == "dgl" else c(x, graph)
            if i < layers - 1:
                x = F.elu(x) if attention else F.relu(x)
        return x


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.005, weight_decay=5e-4)
if o.library == "libgnn":
    import libgnn
    run = libgnn.torch.compile(net, threads=o.threads)
else:
    run = torch.compile(net, dynamic=False) if o.compile else net


def train():
    net.train()
    opt.zero_grad(set_to_none=True)
    F.cross_entropy(run(x, graph)[mask], y[mask]).backward()
    opt.step()


def infer():
    net.eval()
    with torch.no_grad():
        run(x, graph)


before = rss_mb()
t = timed(train if o.mode == "train" else infer, o.repeat)
report(task="graph", library=o.library + ("+compile" if o.compile else ""), model=o.model, data=o.data, mode=o.mode, plain=o.plain, adjacency=o.adjacency, layers=layers, heads=heads, hidden=hidden,
       threads=o.threads, before_mb=round(before, 1), **t)
