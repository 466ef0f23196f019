"""Five modules put together by hand in PyG and one of its models, exported by examples/from_pyg.py alone.

    python tests/pyg/modules.py FOLDER [--every]

writes NAME.safetensors (the module) and NAME.npz (inputs and logits) for each, which
tests/test_description.c loads and compares; with --every also each layer by itself, with its
options.
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric.nn as G
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "python"))
from libgnn.torch import from_pyg  # noqa: E402
from libgnn.torch.pyg_symbols import Untraceable  # noqa: E402

N, IN, CLASSES = 29, 6, 4


class GAT(nn.Module):
    """Skips beside each layer, and batch norm."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.GATConv(IN, 8, heads=2, dropout=0.6), G.GATConv(16, 8, heads=2), G.GATConv(16, CLASSES, heads=3, concat=False)])
        self.skips = nn.ModuleList([nn.Linear(IN, 16), nn.Linear(16, 16), nn.Linear(16, CLASSES)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(16), G.BatchNorm(16)])

    def forward(self, x, edge_index):
        for k, conv in enumerate(self.convs):
            x = F.dropout(x, p=0.5, training=self.training)
            x = conv(x, edge_index) + self.skips[k](x)
            if k < 2:
                x = F.elu(self.norms[k](x))
        return x


class GIN(nn.Module):
    """Jumping knowledge over all layers, and mean pooling."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([self.conv(IN), self.conv(8), G.GINConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), eps=0.2)])
        self.jump = G.JumpingKnowledge("cat")
        self.lin = nn.Linear(24, CLASSES)

    def conv(self, width):
        return G.GINConv(nn.Sequential(nn.Linear(width, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU()), train_eps=True)

    def forward(self, x, edge_index, batch):
        xs = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            xs.append(x)
        x = G.global_mean_pool(self.jump(xs), batch)
        return self.lin(F.dropout(x, 0.5, self.training))


class SAGE(nn.Module):
    """The largest neighbour in each column, and dropout."""

    def __init__(self):
        super().__init__()
        self.conv1 = G.SAGEConv(IN, 8, aggr="max")
        self.conv2 = G.SAGEConv(8, CLASSES, aggr="max", normalize=True)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, edge_index):
        x = self.dropout(F.leaky_relu(self.conv1(x, edge_index)))
        return F.log_softmax(self.conv2(x, edge_index) * 3, dim=-1)


class GPS(nn.Module):
    """GINE beside attention to all nodes of a graph."""

    def __init__(self):
        super().__init__()
        self.node, self.edge = nn.Linear(IN, 8), nn.Linear(3, 8)
        self.convs = nn.ModuleList(G.GPSConv(8, G.GINEConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), edge_dim=8), heads=2, dropout=0.1) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, CLASSES))

    def forward(self, x, edge_index, edge_attr, batch):
        x, edge_attr = self.node(x), self.edge(edge_attr)
        for conv in self.convs:
            x = conv(x, edge_index, batch, edge_attr=edge_attr)
        return self.mlp(G.global_add_pool(x, batch))


class RGCN(nn.Module):
    """Nodes of three types, edges of four: bases in the first layer, blocks in the second, full matrices in the third."""

    def __init__(self):
        super().__init__()
        self.kind = nn.Embedding(3, 8)
        self.lin = nn.Linear(IN, 8)
        self.conv1 = G.RGCNConv(8, 8, 4, num_bases=2)
        self.conv2 = G.RGCNConv(8, 8, 4, num_blocks=2)
        self.conv3 = G.RGCNConv(8, CLASSES, 4)

    def forward(self, x, node_type, edge_index, edge_type):
        x = self.lin(x) + self.kind(node_type)
        x = x + F.relu(self.conv1(x, edge_index, edge_type))
        return self.conv3(F.relu(self.conv2(x, edge_index, edge_type)), edge_index, edge_type)


class Basic(nn.Module):
    """A model that PyG has by name: one activation for all layers, norms over each graph, jumping knowledge."""

    def __init__(self):
        super().__init__()
        self.net = G.models.GraphSAGE(IN, 8, 3, CLASSES, norm="layer_norm", jk="max", dropout=0.3)

    def forward(self, x, edge_index, batch):
        return self.net(x, edge_index, batch=batch)


class Call(nn.Module):
    """One layer called with some of the inputs; torch.fx reads the forward() of a class of its own."""

    def __new__(cls, layer, names, before=None):
        scope, arguments = {}, ", ".join(names)
        exec(f"def forward(self, {arguments}):\n    {'x = self.before(x)' if before else 'pass'}\n    return self.layer({arguments})", scope)
        return super().__new__(type("Call", (cls,), {"forward": scope["forward"]}))

    def __init__(self, layer, names, before=None):
        super().__init__()
        self.layer, self.before = layer, before


def product(i, o):
    return nn.Sequential(nn.Linear(i, 5), nn.ReLU(), nn.Linear(5, o))


def layers(degrees):
    """Every entry of libgnn.torch.pyg_modules by itself: name, layer, arguments."""
    graph, weighted, featured, batched = ("x", "edge_index"), ("x", "edge_index", "edge_weight"), ("x", "edge_index", "edge_attr"), ("x", "batch")
    yield from [("gcn", G.GCNConv(IN, 4), weighted), ("gcn_plain", G.GCNConv(IN, 4, normalize=False, bias=False), graph), ("gcn_improved", G.GCNConv(IN, 4, improved=True), weighted)]
    yield from [("sage_sum", G.SAGEConv(IN, 4, aggr="sum", root_weight=False, bias=False), graph), ("sage_project", G.SAGEConv(IN, 4, project=True), graph)]
    yield from [("graph_conv", G.GraphConv(IN, 4, aggr="mean"), weighted), ("gine", G.GINEConv(product(IN, 4), edge_dim=3, train_eps=True), featured)]
    yield from [("gin_max", G.GINConv(product(IN, 4), eps=0.3, aggr="max"), graph), ("gin_eps", G.GINConv(product(IN, 4), train_eps=True), graph)]
    yield from [("gat_edges", G.GATConv(IN, 4, 2, edge_dim=3, residual=True), featured), ("gat_loops", G.GATConv(IN, 4, 2, edge_dim=3, fill_value=0.0, bias=False), featured)]
    yield from [("gatv2", G.GATv2Conv(IN, 4, 2, concat=False), graph), ("gatv2_shared", G.GATv2Conv(IN, 4, 2, edge_dim=3, share_weights=True, residual=True), featured)]
    yield from [("gatv2_plain", G.GATv2Conv(IN, 4, add_self_loops=False, bias=False, negative_slope=0.1), graph)]
    yield from [("transformer", G.TransformerConv(IN, 4, 2, edge_dim=3), featured), ("transformer_beta", G.TransformerConv(IN, 4, 2, concat=False, beta=True), graph)]
    yield from [("transformer_plain", G.TransformerConv(IN, 4, root_weight=False, bias=False), graph), ("res_gated", G.ResGatedGraphConv(IN, 4), graph)]
    yield from [("gated_graph", G.GatedGraphConv(IN, 3), graph), ("sgc", G.SGConv(IN, 4, K=2), weighted), ("ssg", G.SSGConv(IN, 4, 0.2, K=3, bias=False), graph)]
    yield from [("lg", Call(G.LGConv(), graph, nn.Linear(IN, 5)), graph), ("le", G.LEConv(IN, 4), graph), ("appnp", Call(G.APPNP(4, 0.2), graph, nn.Linear(IN, 4)), graph)]
    yield from [("tag", G.TAGConv(IN, 4), weighted), ("cheb", G.ChebConv(IN, 4, K=3), graph), ("arma", G.ARMAConv(IN, 4, num_stacks=2, num_layers=3), weighted)]
    yield from [("arma_one", G.ARMAConv(IN, 4, bias=False), graph), ("mixhop", G.MixHopConv(IN, 4), graph), ("agnn", Call(G.AGNNConv(), graph, nn.Linear(IN, 4)), graph)]
    yield from [("gen", G.GENConv(IN, 4, norm="layer"), graph), ("gen_power", G.GENConv(IN, 4, aggr="powermean", p=1.5, learn_p=True), graph)]
    yield from [("gen_one", G.GENConv(IN, IN, aggr="add", num_layers=1), graph), ("edge_conv", G.EdgeConv(product(2 * IN, 4)), graph)]
    yield from [("edge_conv_flat", G.EdgeConv(nn.Sequential(nn.Linear(2 * IN, 4), nn.ReLU()), aggr="mean"), graph), ("film", G.FiLMConv(IN, 4), graph)]
    yield from [("pna", G.PNAConv(IN, 4, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], degrees), graph)]
    yield from [("cg", G.CGConv(IN, dim=3), featured), ("gmm", G.GMMConv(IN, 4, dim=3, kernel_size=2), featured), ("nnconv", G.NNConv(IN, 4, product(3, IN * 4)), featured)]
    yield from [("rgcn_plain", G.RGCNConv(IN, 4, 4, root_weight=False, bias=False), ("x", "edge_index", "edge_type")), ("mf", G.MFConv(IN, 4, max_degree=3), graph)]
    yield from [("deep", G.DeepGCNLayer(G.GENConv(IN, IN, norm="layer"), nn.LayerNorm(IN), nn.ReLU(), block="res+"), graph)]
    yield from [("deep_dense", G.DeepGCNLayer(G.GCNConv(IN, 4), nn.LayerNorm(4), nn.ELU(), block="dense"), graph)]
    yield from [("gps_graph_norm", G.GPSConv(IN, G.GCNConv(IN, IN), heads=3, norm="graph_norm"), ("x", "edge_index", "batch")), ("gps_alone", G.GPSConv(IN, None, norm=None), ("x", "edge_index", "batch"))]
    yield from [("mlp", G.MLP([IN, 5, 4]), ("x",)), ("mlp_act_first", G.MLP([IN, 5, 4], norm="layer_norm", norm_kwargs={"mode": "node"}, plain_last=False, act="gelu"), ("x",))]
    yield from [("graph_norm", G.GraphNorm(IN), batched), ("instance_norm", G.InstanceNorm(IN), batched), ("layer_norm_graph", G.LayerNorm(IN), batched), ("pair_norm", Call(G.PairNorm(), ("x",), nn.Linear(IN, 4)), ("x",))]
    yield from [("rms_norm", nn.RMSNorm(IN), ("x",)), ("layer_norm", nn.LayerNorm(IN, elementwise_affine=False), ("x",)), ("batch_norm", nn.BatchNorm1d(IN, affine=False), ("x",))]
    for name, readout in [("sum", G.aggr.SumAggregation()), ("std", G.aggr.StdAggregation()), ("median", G.aggr.MedianAggregation()), ("sort", G.aggr.SortAggregation(3)),
                          ("softmax", G.aggr.SoftmaxAggregation(t=0.7, learn=True)), ("power", G.aggr.PowerMeanAggregation(p=1.5, learn=True)), ("var", G.aggr.VarAggregation()),
                          ("attentional", G.aggr.AttentionalAggregation(nn.Linear(4, 1))), ("lstm", G.aggr.LSTMAggregation(4, 5)), ("set2set", G.aggr.Set2Set(4, 3)),
                          ("set_transformer", G.aggr.SetTransformerAggregation(4, 2, heads=2, layer_norm=True))]:
        yield f"readout_{name}", Call(readout, batched, nn.Linear(IN, 4)), batched


class Jump(nn.Module):
    """Jumping knowledge, and layers that read more than the one before."""

    def __init__(self, mode):
        super().__init__()
        self.lin, self.conv = nn.Linear(IN, 6), nn.ModuleList([G.GCN2Conv(6, 0.1, 0.5, layer) for layer in (1, 2, 3)])
        self.jump, self.message = G.JumpingKnowledge(mode, channels=6, num_layers=3), G.MessageNorm(learn_scale=True)

    def forward(self, x, edge_index, batch, edge_weight=None):
        first, xs = self.lin(x), []
        x = first
        for conv in self.conv:
            x = F.silu(conv(x, first, edge_index, edge_weight))
            xs += [x]
        x = self.jump(xs)
        x = torch.cat([self.message(first, xs[0]), x[:, 1:3], -x], dim=-1) / 2
        return torch.max(x - 0.1 * x, torch.tanh(x)) + G.global_max_pool(x, batch)[batch]


def randomised(module):
    """Weights, and running statistics, that differ from how they start."""
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if value.is_floating_point() and value.dim() <= 1:
                value.add_(0.3 * torch.rand_like(value))
    return module.eval()


def data(rng):
    pairs = sorted({(int(s), int(d)) for s, d in rng.integers(0, N, (4 * N, 2)) if s != d and (s < 17) == (d < 17)})
    edge_index = torch.tensor(pairs).t().contiguous()
    m = edge_index.shape[1]
    return dict(x=torch.from_numpy(rng.standard_normal((N, IN)).astype("f4")), edge_index=edge_index, edge_attr=torch.from_numpy(rng.standard_normal((m, 3)).astype("f4")),
                edge_type=torch.from_numpy(rng.integers(0, 4, m)), node_type=torch.from_numpy(rng.integers(0, 3, N)), batch=torch.tensor([0] * 17 + [1] * (N - 17)),
                edge_weight=torch.from_numpy(rng.uniform(0.5, 1.5, m).astype("f4")))


def case(folder, name, module, given, inputs=()):
    """Exports a module, and saves what it computes."""
    import inspect

    path = f"{folder}/{name}.safetensors"
    try:
        from_pyg.export(module, path, inputs)
    except Untraceable as why:
        if "are not known" not in str(why):
            raise
        # a layer without weights of its own takes any width, and a file has one
        from_pyg.export(module, path, inputs, widths={"x": IN})
    wanted = [key for key, p in inspect.signature(module.forward).parameters.items() if p.default is p.empty or key in inputs]
    with torch.no_grad():
        y = module(**{key: given[key] for key in wanted})
    np.savez_compressed(f"{folder}/{name}.npz", y=y.numpy(), lengths=np.bincount(given["batch"].numpy()), **{key: value.numpy() for key, value in given.items()})


def main(folder, every):
    torch.manual_seed(5)
    given = data(np.random.default_rng(5))
    os.makedirs(folder, exist_ok=True)
    for module in (GAT(), GIN(), SAGE(), GPS(), RGCN(), Basic()):
        case(folder, type(module).__name__.lower(), randomised(module), given)
    if not every:
        return
    degrees = torch.bincount(torch.bincount(given["edge_index"][1], minlength=N))
    for name, layer, names in layers(degrees):
        module = layer if isinstance(layer, Call) else Call(layer, names)
        case(folder, f"row_{name}", randomised(module), given)
    for mode in ("cat", "max", "lstm"):
        case(folder, f"jump_{mode}", randomised(Jump(mode)), given, ["edge_weight"] if mode == "cat" else [])


if __name__ == "__main__":
    main(sys.argv[1], "--every" in sys.argv)
