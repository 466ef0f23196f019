"""One layer or block alone in PyG or DGL, forward or a training step: the rows of bench/layers_rows.c by the same names.

    python layers.py --library pyg|dgl --layer NAME,NAME... --graph tolokers|proteins --mode train,infer [--adjacency auto|csr|edge_index] [--threads 2]

Each name and mode is a line of JSON from a process of its own, which is forked from one that has the libraries loaded and has computed nothing.

Features are drawn, 64 columns in and out, 8 heads of 8, 8 columns of edge features. A training step is forward, cross-entropy (rows of nodes: the
training nodes), backward with the gradient of the features, and Adam. --adjacency auto (PyG): a CSR adjacency and an edge_index where the layer takes
both, the faster of the two counts. A layer that the library lacks, or that fails, is named in a line with "error".
"""
import json
import os
import warnings
from common import load, options, proteins, report, rss_mb, timed

o = options(library="pyg", layer="gcn", graph="tolokers", mode="train", adjacency="auto")
os.environ["OMP_NUM_THREADS"] = str(o.threads)
warnings.filterwarnings("ignore")
import numpy as np
import torch
import torch.nn.functional as F
from torch.nn import Linear, Module, ReLU, Sequential

if o.library == "pyg":
    import torch_geometric.nn as G
    from torch_geometric.nn import aggr as A
    from torch_geometric.nn.attention import SGFormerAttention
    from torch_geometric.utils import to_dense_batch, to_torch_csr_tensor
else:
    import dgl
    import dgl.nn.pytorch as G

W, HEADS, EDGE, NARROW, HIDDEN = 64, 8, 8, 8, 128


if o.graph == "proteins":
    src, dst, _, graph_y, lengths = proteins()
    y = np.repeat(graph_y, lengths)
    mask = np.arange(len(y))
else:
    d = load(o.graph)
    src, dst, y, mask = d["src"], d["dst"], d["y"], d["train"].nonzero()[0]
    graph_y, lengths = np.zeros(1, np.int64), np.array([len(y)])
n, m = len(y), len(src)


def draw(layer, mode):
    """What a row reads, in the process that runs it."""
    global edge, x, e, types, batch, degree, target, chosen
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    edge = torch.from_numpy(np.stack([src, dst]).astype(np.int64))
    x = torch.randn(n, W).requires_grad_(mode == "train")
    e = torch.randn(m, 2 if layer == "gmm" else EDGE)
    types = torch.arange(m) % 4
    batch = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths))
    degree = torch.from_numpy(np.bincount(dst, minlength=n))
    readout = layer.startswith("readout")
    target = torch.from_numpy((graph_y if readout else y).astype(np.int64))
    chosen = torch.arange(len(target)) if readout else torch.from_numpy(mask)


class Call(Module):
    """A module and how it is called; `before`: what stands before it."""

    def __init__(self, module, how, before=None):
        super().__init__()
        self.module, self.how, self.before = module, how, before

    def forward(self, x, graph):
        return self.how(self.module, x if self.before is None else self.before(x), graph)


def mlp(*widths):
    parts = [Linear(widths[0], widths[1])]
    for a, b in zip(widths[1:], widths[2:]):
        parts += [ReLU(), Linear(a, b)]
    return Sequential(*parts)


def pyg():
    """Name -> a function that makes the module."""
    on_graph = lambda f, x, graph: f(x, graph)
    with_edges = lambda f, x, graph: f(x, graph, e)
    of_types = lambda f, x, graph: f(x, graph, types)
    to_rows = lambda f, x, graph: f(x, batch, dim_size=len(lengths))
    gcn = lambda: G.GCNConv(W, W, cached=True)
    gen = lambda **k: G.GENConv(W, W, num_layers=2, norm="layer", **k)

    class Global(Module):
        """SGFormer's attention on rows of nodes: it takes graphs padded to the longest."""

        def __init__(self):
            super().__init__()
            self.attention = SGFormerAttention(W, heads=4, head_channels=W // 4)

        def forward(self, x):
            dense, mask = to_dense_batch(x, batch)
            return self.attention(dense, mask)[mask]

    class Layers(Module):
        """Three GCNs, and what is made of their outputs."""

        def __init__(self, mode):
            super().__init__()
            self.convs = torch.nn.ModuleList(gcn() for _ in range(3))
            self.jump = G.JumpingKnowledge(mode, channels=W, num_layers=3)

        def forward(self, x, graph):
            outs = []
            for conv in self.convs:
                x = F.relu(conv(x, graph))
                outs.append(x)
            return self.jump(outs)

    class TransformerLayer(Module):
        def __init__(self):
            super().__init__()
            self.attention = G.TransformerConv(W, W // HEADS, HEADS, root_weight=False, bias=False)
            self.out, self.one, self.two = Linear(W, W, bias=False), torch.nn.LayerNorm(W), torch.nn.LayerNorm(W)
            self.ffn = mlp(W, HIDDEN, W)

        def forward(self, x, graph):
            x = self.one(x + self.out(self.attention(x, graph)))
            return self.two(x + self.ffn(x))

    product = lambda: Linear(W, W)
    at = lambda make, how=on_graph: lambda: Call(make(), how)
    behind = lambda make, how: lambda: Call(make(), how, product())
    scalers, aggregators = ["identity", "amplification", "attenuation"], ["mean", "min", "max", "std"]
    heads = (W, W // HEADS, HEADS)
    rows = {
        "gcn": at(gcn),
        "sage_mean": at(lambda: G.SAGEConv(W, W)),
        "sage_max": at(lambda: G.SAGEConv(W, W, aggr="max")),
        "sage_std": at(lambda: G.SAGEConv(W, W, aggr="std")),
        "graph_conv": at(lambda: G.GraphConv(W, W)),
        "gin": at(lambda: G.GINConv(mlp(W, W, W))),
        "gine": at(lambda: G.GINEConv(mlp(W, W, W), edge_dim=EDGE), with_edges),
        "gat": at(lambda: G.GATConv(*heads)),
        "gat_edges": at(lambda: G.GATConv(*heads, edge_dim=EDGE), with_edges),
        "gatv2": at(lambda: G.GATv2Conv(*heads)),
        "transformer_conv": at(lambda: G.TransformerConv(*heads)),
        "resgated": at(lambda: G.ResGatedGraphConv(W, W)),
        "gated_graph": at(lambda: G.GatedGraphConv(W, 1)),
        "graph_transformer": at(TransformerLayer),
        "sgc": at(lambda: G.SGConv(W, W, K=2)),
        "ssg": at(lambda: G.SSGConv(W, W, alpha=0.1, K=2)),
        "lg": behind(lambda: G.LGConv(), lambda f, x, graph: sum_of_hops(f, x, graph, 2)),
        "le": at(lambda: G.LEConv(W, W)),
        "appnp": behind(lambda: G.APPNP(10, 0.1, cached=True), on_graph),
        "tag": at(lambda: G.TAGConv(W, W, K=3)),
        "cheb": at(lambda: G.ChebConv(W, W, K=3)),
        "arma": at(lambda: G.ARMAConv(W, W, num_stacks=2, num_layers=2)),
        "gcn2": at(lambda: G.GCN2Conv(W, 0.1, 0.5, 1, cached=True), lambda f, x, graph: f(x, x, graph)),
        "mixhop": at(lambda: G.MixHopConv(W, W, powers=[0, 1, 2])),
        "agnn": at(lambda: G.AGNNConv()),
        "gen": at(lambda: gen(aggr="softmax", learn_t=True)),
        "gen_power": at(lambda: gen(aggr="powermean", learn_p=True)),
        "deep_gcn": at(lambda: G.DeepGCNLayer(gen(aggr="softmax", learn_t=True), torch.nn.LayerNorm(W), ReLU(), block="res+")),
        "mf": at(lambda: G.MFConv(W, W, max_degree=10)),
        "rgcn": at(lambda: G.RGCNConv(W, W, 4, num_bases=2), of_types),
        "rgcn_blocks": at(lambda: G.RGCNConv(W, W, 4, num_blocks=4), of_types),
        "sage_project": at(lambda: G.SAGEConv(W, W, aggr="max", project=True)),
        "edgeconv": at(lambda: G.EdgeConv(mlp(2 * W, W, W))),
        "film": at(lambda: G.FiLMConv(W, W)),
        "cg": at(lambda: G.CGConv(W, EDGE), with_edges),
        "gmm": at(lambda: G.GMMConv(W, W, dim=2, kernel_size=3), with_edges),
        "nnconv": lambda: Call(G.NNConv(NARROW, NARROW, mlp(EDGE, 2 * NARROW, NARROW * NARROW)), with_edges, Linear(W, NARROW)),
        "pna": at(lambda: G.PNAConv(W, W, aggregators, scalers, torch.bincount(degree))),
        "jk_cat": at(lambda: Layers("cat")),
        "jk_max": at(lambda: Layers("max")),
        "jk_lstm": at(lambda: Layers("lstm")),
        "gps": at(lambda: G.GPSConv(W, G.GINConv(mlp(W, W, W)), heads=4), lambda f, x, graph: f(x, graph, batch)),
        "sgformer": at(Global, lambda f, x, graph: f(x)),
        "readout_sum": behind(A.SumAggregation, to_rows),
        "readout_mean": behind(A.MeanAggregation, to_rows),
        "readout_max": behind(A.MaxAggregation, to_rows),
        "readout_std": behind(A.StdAggregation, to_rows),
        "readout_softmax": behind(lambda: A.SoftmaxAggregation(learn=True), to_rows),
        "readout_median": behind(A.MedianAggregation, to_rows),
        "readout_power": behind(lambda: A.PowerMeanAggregation(learn=True), to_rows),
        "readout_attentional": at(lambda: A.AttentionalAggregation(Linear(W, 1)), to_rows),
        "readout_set2set": at(lambda: A.Set2Set(W, 3), to_rows),
        "readout_lstm": at(lambda: A.LSTMAggregation(W, W), to_rows),
        "readout_set_transformer": at(lambda: A.SetTransformerAggregation(W, heads=4), to_rows),
        "norm_layer": behind(lambda: torch.nn.LayerNorm(W), lambda f, x, graph: f(x)),
        "norm_batch": behind(lambda: torch.nn.BatchNorm1d(W), lambda f, x, graph: f(x)),
        "norm_pair": behind(G.PairNorm, lambda f, x, graph: f(x)),
        "norm_graph": behind(lambda: G.GraphNorm(W), lambda f, x, graph: f(x, batch, len(lengths))),
        "norm_instance": behind(lambda: G.InstanceNorm(W, affine=True), lambda f, x, graph: f(x, batch, len(lengths))),
    }
    return rows


def sum_of_hops(conv, x, graph, hops):
    """LightGCN's propagation: the mean of x, A x, ..."""
    total = x
    for _ in range(hops):
        x = conv(x, graph)
        total = total + x
    return total / (hops + 1)


def dgl_rows():
    g = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=n).int()
    looped = dgl.add_self_loop(g)
    if len(lengths) > 1:
        g.set_batch_num_nodes(torch.from_numpy(lengths).int())
        per = np.bincount(batch.numpy()[dst], minlength=len(lengths))
        g.set_batch_num_edges(torch.from_numpy(per).int())
    for graph in (g, looped):
        graph.create_formats_()

    on = lambda f, x, _: f(g, x)
    with_loops = lambda f, x, _: f(looped, x)
    with_edges = lambda f, x, _: f(g, x, e)
    at = lambda make, how=on: lambda: Call(make(), how)
    behind = lambda make, how=on: lambda: Call(make(), how, Linear(W, W))
    heads = (W, W // HEADS, HEADS)

    class Jump(Module):
        def __init__(self, mode):
            super().__init__()
            self.convs = torch.nn.ModuleList(G.GraphConv(W, W, activation=F.relu) for _ in range(3))
            self.jump = G.JumpingKnowledge(mode, in_feats=W, num_layers=3)

        def forward(self, g, x):
            outs = []
            for conv in self.convs:
                x = conv(g, x)
                outs.append(x)
            return self.jump(outs)

    class Gine(Module):
        """GINEConv wants edge features of the width of x: a product makes them, as PyG's edge_dim does."""

        def __init__(self):
            super().__init__()
            self.lin, self.conv = Linear(EDGE, W), G.GINEConv(mlp(W, W, W))

        def forward(self, g, x):
            return self.conv(g, x, self.lin(e))

    class Types(Module):
        def __init__(self, how, count):
            super().__init__()
            self.conv = G.RelGraphConv(W, W, 4, how, count)

        def forward(self, g, x):
            return self.conv(g, x, types, norm=self.norm)

        # RelGraphConv sums; the mean over each relation's senders is a norm on edges.
        pairs = torch.from_numpy(dst) * 4 + types
        norm = (1 / torch.bincount(pairs, minlength=4 * n)[pairs].float()).unsqueeze(1)

    logs = float(torch.log(degree.float() + 1).mean())
    rows = {
        "gcn": at(lambda: G.GraphConv(W, W), with_loops),
        "sage_mean": at(lambda: G.SAGEConv(W, W, "mean")),
        "gin": at(lambda: G.GINConv(mlp(W, W, W), "sum")),
        "gine": at(Gine),
        "gat": at(lambda: G.GATConv(*heads), with_loops),
        "gatv2": at(lambda: G.GATv2Conv(*heads), with_loops),
        "gated_graph": at(lambda: G.GatedGraphConv(W, W, 1, 1)),
        "sgc": at(lambda: G.SGConv(W, W, k=2), with_loops),
        "appnp": behind(lambda: G.APPNPConv(10, 0.1), with_loops),
        "tag": at(lambda: G.TAGConv(W, W, k=3)),
        "cheb": at(lambda: G.ChebConv(W, W, 3), lambda f, x, _: f(g, x, [2.0])),
        "gcn2": at(lambda: G.GCN2Conv(W, 1, 0.1, 0.5), lambda f, x, _: f(looped, x, x)),
        "agnn": at(lambda: G.AGNNConv(), with_loops),
        "rgcn": at(lambda: Types("basis", 2)),
        "rgcn_blocks": at(lambda: Types("bdd", 4)),
        "sage_project": at(lambda: G.SAGEConv(W, W, "pool")),
        "gmm": at(lambda: G.GMMConv(W, W, 2, 3, "mean", allow_zero_in_degree=True), with_edges),
        "nnconv": lambda: Call(G.NNConv(NARROW, NARROW, mlp(EDGE, 2 * NARROW, NARROW * NARROW), "sum"), with_edges, Linear(W, NARROW)),
        "pna": at(lambda: G.PNAConv(W, W, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], logs)),
        "jk_cat": at(lambda: Jump("cat"), with_loops),
        "jk_max": at(lambda: Jump("max"), with_loops),
        "jk_lstm": at(lambda: Jump("lstm"), with_loops),
        "readout_sum": behind(G.SumPooling),
        "readout_mean": behind(G.AvgPooling),
        "readout_max": behind(G.MaxPooling),
        "readout_attentional": at(lambda: G.GlobalAttentionPooling(Linear(W, 1))),
        "readout_set2set": at(lambda: G.Set2Set(W, 3, 1)),
        "norm_pair": behind(G.PairNorm if hasattr(G, "PairNorm") else lambda: None),
    }
    if not hasattr(G, "PairNorm"):
        del rows["norm_pair"]
    return rows


def step_on(net, graph, mode):
    opt = torch.optim.Adam(net.parameters(), lr=0.005)

    def train():
        net.train()
        opt.zero_grad(set_to_none=True)
        x.grad = None
        F.cross_entropy(net(x, graph).flatten(1)[chosen], target[chosen]).backward()
        opt.step()

    def infer():
        net.eval()
        with torch.no_grad():
            net(x, graph)

    return train if mode == "train" else infer


def adjacencies():
    """Those to try, by name."""
    if o.library == "dgl":
        return {"": None}
    both = {"edge_index": lambda: edge, "csr": lambda: to_torch_csr_tensor(edge, size=(n, n))}
    return {k: make() for k, make in both.items() if o.adjacency in ("auto", k)}


def fastest(make, mode):
    """-> the adjacency that is faster, and its name; a new module for each, since what a cached layer keeps is of one of them."""
    ways, takes, why = adjacencies(), {}, None
    if len(ways) == 1:
        return next(iter(ways.items()))
    for name, graph in ways.items():
        try:
            takes[name] = timed(step_on(make(), graph, mode), 1, 1)["min_ms"]
        except Exception as error:
            why = why or error
    if not takes:
        raise why
    best = min(takes, key=takes.get)
    return best, ways[best]


def one(layer, mode):
    draw(layer, mode)
    makers = pyg() if o.library == "pyg" else dgl_rows()
    if layer not in makers:
        raise KeyError(f"{o.library} has no {layer}")
    way, graph = fastest(makers[layer], mode)
    net = makers[layer]()
    before = rss_mb()
    t = timed(step_on(net, graph, mode), o.repeat)
    count = sum(p.numel() for p in net.parameters() if p.requires_grad)
    report(task="layers", library=o.library, layer=layer, graph=o.graph, mode=mode, adjacency=way, nodes=n, edges=m, parameters=count,
           threads=o.threads, before_mb=round(before, 1), **t)


for layer in o.layer.split(","):
    for mode in o.mode.split(","):
        child = os.fork()
        if child == 0:
            try:
                one(layer, mode)
            except Exception as error:
                print(json.dumps(dict(layer=layer, graph=o.graph, mode=mode, error=" ".join(str(error).split())[:200])), flush=True)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            print(json.dumps(dict(layer=layer, graph=o.graph, mode=mode, error=f"ended by signal {status & 127}")), flush=True)
