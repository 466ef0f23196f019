"""More nets for strangers.py: types of nodes, recurrences, outputs of any kind, changes in place,
buffers, parts that something else calls, weights computed from parameters, data objects."""
import copy
import dataclasses
import functools
import typing
from collections import OrderedDict, namedtuple

import torch
import torch.nn.functional as F
import torch_geometric.nn as G
import torch_geometric.utils as U
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from stranger_nets import EDGE, IN, NETS, mlp, net  # noqa: F401 (NETS: for strangers.py)

# ---- styles of programs ----


@net("x_dict", "edge_index_dict")
class Hetero(nn.Module):
    def __init__(self):
        super().__init__()
        self.lins = nn.ModuleDict({"paper": nn.Linear(IN, 8), "author": nn.Linear(4, 8)})
        kinds = {("author", "writes", "paper"): lambda: G.GATConv((8, 8), 8, add_self_loops=False), ("paper", "by", "author"): lambda: G.SAGEConv((8, 8), 8), ("paper", "cites", "paper"): lambda: G.GCNConv(8, 8)}
        self.convs = nn.ModuleList([G.HeteroConv({k: make() for k, make in kinds.items()}, aggr="mean") for _ in range(2)])
        self.out = nn.Linear(8, 3)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {kind: self.lins[kind](x).relu_() for kind, x in x_dict.items()}
        for conv in self.convs:
            new = conv(x_dict, edge_index_dict)
            x_dict = {kind: F.leaky_relu(x) + x_dict[kind] for kind, x in new.items()}
        return self.out(x_dict["paper"])


@net("x_dict", "edge_index_dict")
class HeteroBoth(Hetero):
    """An output for each type."""

    def forward(self, x_dict, edge_index_dict):
        x_dict = {kind: self.lins[kind](x) for kind, x in x_dict.items()}
        return {kind: self.out(x) for kind, x in self.convs[0](x_dict, edge_index_dict).items()}


@net()
class Temporal(nn.Module):
    """A recurrence over snapshots of columns."""

    def __init__(self):
        super().__init__()
        self.conv, self.cell, self.out = G.GCNConv(2, 8), nn.GRUCell(8, 8), nn.Linear(8, 1)

    def forward(self, x, edge_index):
        h = torch.zeros(x.size(0), 8)
        outs = []
        for t in range(0, x.size(1), 2):
            h = self.cell(self.conv(x[:, t:t + 2], edge_index), h)
            outs.append(self.out(h))
        return torch.cat(outs, 1)


@net()
class TemporalLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lstm, self.out = G.GCNConv(IN, 12), nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x, edge_index):
        h = self.conv(x, edge_index).reshape(x.shape[0], 3, 4)
        y, (last, _) = self.lstm(h)
        return self.out(y[:, -1]) + self.out(last[0])


@net()
class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), G.GCNConv(8, 4)

    def forward(self, x, edge_index):
        h = checkpoint(self.a, x, edge_index, use_reentrant=False)
        return checkpoint(lambda v: self.b(v.relu(), edge_index), h, use_reentrant=False)


@net()
class Dictionary(nn.Module):
    """nn.ModuleDict by names and sorted keys, partial, an enum of activations."""

    ACTS = {"relu": F.relu, "elu": functools.partial(F.elu, alpha=0.7), "none": lambda v: v}

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict(OrderedDict([("first", G.GCNConv(IN, 8)), ("second", G.TAGConv(8, 8, K=2)), ("third", G.ChebConv(8, 3, K=2))]))
        self.order = (("first", "relu"), ("second", "elu"), ("third", "none"))

    def forward(self, x, edge_index):
        for name, act in self.order:
            x = self.ACTS[act](self.layers[name](x, edge_index))
        return x


@dataclasses.dataclass
class Output:
    logits: Tensor
    hidden: typing.Optional[Tensor] = None


@net()
class OutputOfADataclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), G.GCNConv(8, 4)

    def forward(self, x, edge_index):
        h = self.a(x, edge_index).relu()
        return Output(logits=self.b(h, edge_index), hidden=h)


@net()
class OutputOfADict(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), G.GCNConv(8, 4)

    def forward(self, x, edge_index):
        h = self.a(x, edge_index).relu()
        return {"logits": self.b(h, edge_index), "hidden": [h, h.mean(-1)], "none": None, "width": 8}


Pair = namedtuple("Pair", "nodes graphs")


@net("x", "edge_index", "batch")
class NodesAndGraphs(nn.Module):
    """Outputs of different rows."""

    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), nn.Linear(8, 4)

    def forward(self, x, edge_index, batch):
        h = self.a(x, edge_index)
        return Pair(self.b(h), G.global_add_pool(h, batch))


@net()
class WithLoss(nn.Module):
    """A regulariser of its parameters beside the output."""

    def __init__(self):
        super().__init__()
        self.a = G.GCNConv(IN, 8)

    def forward(self, x, edge_index):
        h = self.a(x, edge_index)
        return h, h.pow(2).mean()


@net()
class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), G.GCNConv(8, 8)

    def forward(self, x, edge_index):
        h = self.a(x, edge_index)
        h = F.relu_(h)
        h.mul_(2.0).add_(1.0)
        h += self.b(h, edge_index)
        h /= 1.5
        h.clamp_(min=-2, max=2)
        return h


@net()
class InPlaceColumns(nn.Module):
    """Columns of a new tensor are set."""

    def __init__(self):
        super().__init__()
        self.a = G.GCNConv(IN, 8)

    def forward(self, x, edge_index):
        out = x.new_zeros(x.size(0), 10)
        out[:, :8] = self.a(x, edge_index)
        out[:, 8:] = x[:, :2]
        return out


@net()
class InPlaceView(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = G.GCNConv(IN, 8)

    def forward(self, x, edge_index):
        h = self.a(x, edge_index)
        h[:, :4] *= 2
        h[:, 0] = 1.0
        return h


@net()
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)
        self.register_buffer("scale", torch.rand(8) + 0.5)
        self.register_buffer("shift", torch.randn(1, 8), persistent=False)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x, edge_index):
        return self.conv(x, edge_index) * self.scale + self.shift


@net()
class MovingAverage(nn.Module):
    """A buffer that training changes."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x, edge_index):
        h = self.conv(x, edge_index)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return h - self.mean


@net()
class Dtypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)

    def forward(self, x, edge_index):
        h = self.conv(x.float(), edge_index.long())
        return h.double().cumsum(-1).to(torch.float32)


@net()
class Halves(nn.Module):
    """bfloat16 inside, which rounds."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index).bfloat16().float()


@net()
class PieceCompiled(nn.Module):
    """A function inside is torch.compile'd."""

    def __init__(self):
        super().__init__()
        self.conv, self.lin = G.GCNConv(IN, 8), nn.Linear(8, 3)
        self.act = torch.compile(lambda v: F.gelu(v) * 2, backend="eager")

    def forward(self, x, edge_index):
        return self.lin(self.act(self.conv(x, edge_index)))


@net()
class Called(nn.Module):
    """A part whose class overrides __call__."""

    class Part(nn.Linear):
        def __call__(self, v, scale=2.0):
            return super().__call__(v) * scale

    def __init__(self):
        super().__init__()
        self.conv, self.part = G.GCNConv(IN, 8), self.Part(8, 3)

    def forward(self, x, edge_index):
        return self.part(self.conv(x, edge_index), scale=0.5)


@net()
class SubclassedLayer(nn.Module):
    """A GCNConv whose message() a subclass changes."""

    class Doubled(G.GCNConv):
        def message(self, x_j, edge_weight):
            return 2 * super().message(x_j, edge_weight)

    def __init__(self):
        super().__init__()
        self.conv = self.Doubled(IN, 8)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


@net()
class Shared(nn.Module):
    """One convolution used thrice, and tied matrices."""

    def __init__(self):
        super().__init__()
        self.first, self.conv, self.last = nn.Linear(IN, 8), G.GCNConv(8, 8), nn.Linear(8, IN, bias=False)
        self.last.weight = nn.Parameter(self.first.weight.t().contiguous())
        self.tied = nn.Linear(IN, 8)
        self.tied.weight = self.first.weight

    def forward(self, x, edge_index):
        h = self.first(x)
        for _ in range(3):
            h = self.conv(h, edge_index).tanh()
        return self.tied(self.last(h)) @ self.first.weight


@net()
class GradientInside(nn.Module):
    """Forces: minus the gradient of an energy by the input."""

    def __init__(self):
        super().__init__()
        self.conv, self.out = G.GCNConv(IN, 8), nn.Linear(8, 1)

    def forward(self, x, edge_index):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            energy = self.out(self.conv(x, edge_index).tanh()).sum()
            return -torch.autograd.grad(energy, x, create_graph=self.training)[0]


@net()
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)
        self.conv.register_forward_hook(lambda module, given, out: out * 2)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


@net()
class MessageHook(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)
        self.conv.register_message_forward_hook(lambda module, inputs, out: out * 0.5)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


@net()
class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lin = G.GCNConv(IN, 8), torch.nn.utils.parametrizations.weight_norm(nn.Linear(8, 3))

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


@net(made=True)
class OldWeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lin = G.GCNConv(IN, 8), torch.nn.utils.weight_norm(nn.Linear(8, 3), dim=None)

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


@net()
class SpectralNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lin = G.GCNConv(IN, 8), torch.nn.utils.parametrizations.spectral_norm(nn.Linear(8, 3))

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


@net()
class Parametrized(nn.Module):
    """A symmetric matrix by torch.nn.utils.parametrize."""

    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).transpose(-1, -2)

    def __init__(self):
        super().__init__()
        self.conv, self.lin = G.GCNConv(IN, 8), nn.Linear(8, 8)
        torch.nn.utils.parametrize.register_parametrization(self.lin, "weight", self.Symmetric())

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


@net()
class LowRank(nn.Module):
    """LoRA: a frozen matrix plus a product of two narrow ones, merged in each call."""

    def __init__(self):
        super().__init__()
        self.conv, self.base = G.GCNConv(IN, 8), nn.Linear(8, 8)
        self.base.weight.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.randn(8, 2))

    def forward(self, x, edge_index):
        h = self.conv(x, edge_index)
        return F.linear(h, self.base.weight + self.b @ self.a, self.base.bias)


@net()
class Sequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = G.Sequential("x, edge_index", [(G.GCNConv(IN, 8), "x, edge_index -> h1"), nn.ReLU(inplace=True), (G.GCNConv(8, 8), "h1, edge_index -> h2"),
                                                  (lambda a, b: [a, b], "h1, h2 -> xs"), (G.JumpingKnowledge("cat"), "xs -> x"), nn.Linear(16, 3)])

    def forward(self, x, edge_index):
        return self.net(x, edge_index)


@net("x", "edge_index", "edge_attr", "batch")
class MetaLayers(nn.Module):
    class Edge(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = mlp(2 * IN + EDGE + 2, 8, EDGE)

        def forward(self, src, dst, edge_attr, u, batch):
            return self.mlp(torch.cat([src, dst, edge_attr, u[batch]], 1))

    class Node(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp1, self.mlp2 = mlp(IN + EDGE, 8, 8), mlp(IN + 8 + 2, 8, IN)

        def forward(self, x, edge_index, edge_attr, u, batch):
            row, col = edge_index
            out = U.scatter(self.mlp1(torch.cat([x[row], edge_attr], dim=1)), col, dim=0, dim_size=x.size(0), reduce="mean")
            return self.mlp2(torch.cat([x, out, u[batch]], dim=1))

    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = mlp(2 + IN, 8, 2)

        def forward(self, x, edge_index, edge_attr, u, batch):
            return self.mlp(torch.cat([u, U.scatter(x, batch, dim=0, reduce="mean")], dim=1))

    def __init__(self):
        super().__init__()
        self.first, self.layer = nn.Linear(IN, 2), G.MetaLayer(self.Edge(), self.Node(), self.Graph())

    def forward(self, x, edge_index, edge_attr, batch):
        u = self.first(G.global_add_pool(x, batch))
        x, edge_attr, u = self.layer(x, edge_index, edge_attr, u, batch)
        return self.layer(x, edge_index, edge_attr, u, batch)[2]


@net("x", "edge_index", "edge_type")
class Relations(nn.Module):
    """A loop over types with masks of edges."""

    def __init__(self):
        super().__init__()
        self.lins, self.own = nn.ModuleList(nn.Linear(IN, 8) for _ in range(3)), nn.Linear(IN, 8)

    def forward(self, x, edge_index, edge_type):
        out = self.own(x)
        for r, lin in enumerate(self.lins):
            part = edge_index[:, edge_type == r]
            out = out + U.scatter(lin(x)[part[0]], part[1], 0, x.size(0), "mean")
        return out


@net("x", "edge_index", "edge_label_index")
class Decoder(nn.Module):
    """encode and decode called by forward, with a bilinear score."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.score = G.SAGEConv(IN, 8), G.SAGEConv(8, 8), nn.Bilinear(8, 8, 1)

    def encode(self, x, edge_index):
        return self.b(self.a(x, edge_index).relu(), edge_index)

    def decode(self, z, pairs):
        src, dst = pairs
        return self.score(z[src], z[dst]).squeeze(-1)

    def forward(self, x, edge_index, edge_label_index):
        return self.decode(self.encode(x, edge_index), edge_label_index)


@net("x", "edge_index")
class AdjacencyProduct(nn.Module):
    """torch.sparse: a matrix made of the edges, times features."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        n = x.size(0)
        adj = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(edge_index.size(1)), (n, n))
        return self.lin(torch.sparse.mm(adj, x))


@net()
class IndexAdd(nn.Module):
    """index_add_ and scatter_add_ by hand."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        h = self.lin(x)
        row, col = edge_index[0], edge_index[1]
        out = torch.zeros_like(h).index_add_(0, col, h[row])
        count = torch.zeros(h.size(0), 1).scatter_add_(0, col.unsqueeze(1), torch.ones(col.numel(), 1))
        return out / count.clamp(min=1)


@net()
class ScatterReduce(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        h = self.lin(x)
        col = edge_index[1].view(-1, 1).expand(-1, 4)
        return torch.zeros_like(h).scatter_reduce(0, col, h[edge_index[0]], "amax", include_self=False)


@net()
class Nan(nn.Module):
    """Missing features are replaced."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        return self.conv(torch.nan_to_num(x, nan=0.0), edge_index)


@net()
class SageRelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = G.SAGEConv(IN, 8, normalize=True), G.SAGEConv(8, 4, normalize=True)

    def forward(self, x, edge_index):
        return self.b(self.a(x, edge_index).relu(), edge_index)


@net("data")
class WithoutBatch(nn.Module):
    """data.batch of a single graph is None in PyG."""

    def __init__(self):
        super().__init__()
        self.conv, self.out = G.GCNConv(IN, 8), nn.Linear(8, 2)

    def forward(self, data):
        x = self.conv(data.x, data.edge_index).relu()
        return self.out(G.global_mean_pool(x, data.batch))


@net("data")
class BranchOnBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)

    def forward(self, data):
        x, edge_index, batch = data.x, data.edge_index, getattr(data, "batch", None)
        if batch is None:
            batch = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
        weight = data.edge_attr if "edge_attr" in data else None
        return G.global_max_pool(self.conv(x, edge_index, weight), batch)


@net()
class CopiedLayers(nn.Module):
    """Layers by copy.deepcopy, and a list in reverse."""

    def __init__(self):
        super().__init__()
        one = G.GraphConv(8, 8, aggr="mean")
        self.first, self.layers = nn.Linear(IN, 8), nn.ModuleList([copy.deepcopy(one) for _ in range(3)])

    def forward(self, x, edge_index):
        h = self.first(x)
        for layer in reversed(self.layers):
            h = h + layer(h, edge_index)
        return h


@net("x", "edge_index")
class Sines(nn.Module):
    """Positional encodings of values."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(2 * IN, 4)
        self.register_buffer("freq", torch.linspace(0.1, 1.0, IN))

    def forward(self, x, edge_index):
        return self.conv(torch.cat([torch.sin(x * self.freq), torch.cos(x * self.freq)], -1), edge_index)


@net("x", "edge_index")
class Kwonly(nn.Module):
    """Keyword-only arguments with defaults, and a private method."""

    def __init__(self):
        super().__init__()
        self.a, self.b = G.GCNConv(IN, 8), G.GCNConv(8, 4)

    def _hidden(self, x, edge_index, /, *, act=torch.tanh):
        return act(self.a(x, edge_index))

    def forward(self, x, edge_index, *, edge_weight: typing.Optional[Tensor] = None, return_hidden: bool = False):
        h = self._hidden(x, edge_index)
        return (self.b(h, edge_index, edge_weight), h) if return_hidden else self.b(h, edge_index, edge_weight)


@net("x", "edge_index")
class AttentionWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GATConv(IN, 4, heads=2)

    def forward(self, x, edge_index):
        y, (edges, alpha) = self.conv(x, edge_index, return_attention_weights=True)
        return y, alpha


@net("x", "edge_index")
class Standardised(nn.Module):
    """Statistics over the nodes of the graph."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        x = (x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-5)
        h = self.conv(x, edge_index)
        return h - h.amax(dim=0, keepdim=True)


@net("x", "edge_index")
class Chebyshev(nn.Module):
    """A polynomial of propagation with learned coefficients, GPR-GNN's."""

    def __init__(self):
        super().__init__()
        self.lin, self.prop, self.temp = mlp(IN, 8, 3), G.APPNP(1, 0.0), nn.Parameter(0.1 * 0.9 ** torch.arange(4.0))

    def forward(self, x, edge_index):
        h = self.lin(x)
        out = self.temp[0] * h
        for k in range(1, 4):
            h = self.prop(h, edge_index)
            out = out + self.temp[k] * h
        return out
