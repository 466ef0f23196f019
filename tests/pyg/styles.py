"""Nets in the styles that users of PyG write, exported and verified by libgnn; and what must be
refused, with its line and without a file.

    python tests/pyg/styles.py [NAME ...]

The library is that of GNN_LIBRARY, or the build folder's.
"""
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch_geometric.nn as G  # noqa: E402
from torch import nn  # noqa: E402

from libgnn.torch import from_pyg  # noqa: E402
from libgnn.torch import pyg_verify  # noqa: E402
from libgnn.torch.pyg_symbols import Untraceable  # noqa: E402

IN = 6
WIDTHS = {"x": IN, "x_dict.user": IN, "x_dict.item": IN}
EQUAL, REFUSED = {}, {}


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 5), nn.BatchNorm1d(5), nn.PReLU(), nn.Linear(5, o))


def equal(make):
    EQUAL[make.__name__] = make
    return make


def refused(words):
    def add(make):
        REFUSED[make.__name__] = (make, words)
        return make
    return add


class Base(nn.Module):
    """Two layers that most nets below use."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = G.GCNConv(IN, 8), G.GCNConv(8, 8)
        self.lin = nn.Linear(8, 3)


# ---- equal ----


@equal
class Data(Base):
    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


@equal
class DataGraphs(Base):
    def forward(self, data):
        x = F.elu(self.conv1(data.x, data.edge_index, data.edge_weight))
        return self.lin(G.global_mean_pool(x, data.batch) + G.global_max_pool(x, data.batch))


@equal
class Links(Base):
    def forward(self, x, edge_index, edge_label_index):
        z = self.conv2(self.conv1(x, edge_index).relu(), edge_index)
        return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(dim=-1)


@equal
class LinksByHand(Base):
    def forward(self, x, edge_index, edge_label_index):
        z = self.conv1(x, edge_index)
        src, dst = edge_label_index
        return self.lin(torch.cat([z[src], z[dst]], dim=-1)[:, :8] - z[dst]).squeeze(-1).sigmoid()


@equal
class Idioms(Base):
    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index)
        a, b = h.chunk(2, dim=-1)
        y = torch.stack([a, b, 1 - a, a + 1], dim=0).mean(dim=0)
        z = torch.stack([a, b], dim=1).view(-1, 8)
        y = y ** 2 + torch.exp(-b.abs()) + a.clamp(min=-0.5, max=0.5) + b.flip(-1)
        return F.normalize(torch.cat([y, z], -1) @ torch.ones(12, 5), p=2.0, dim=-1) / 3 + x[:, 0:1]


@equal
class Parameters(Base):
    def __init__(self):
        super().__init__()
        self.scale, self.row = nn.Parameter(torch.tensor(0.7)), nn.Parameter(torch.randn(8))
        self.weights = nn.Parameter(torch.randn(3))
        self.matrix = nn.Parameter(torch.randn(5, 8))

    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index)
        alpha = F.softmax(self.weights, dim=0)
        h = alpha[0] * h + alpha[1] * self.conv2(h, edge_index) + alpha[2] * self.conv2(h.relu(), edge_index)
        return F.linear(torch.tanh(self.scale * h) + self.row, self.matrix)


@equal
class Recurrent(Base):
    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(8, 8), nn.LSTMCell(8, 8)

    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index)
        for _ in range(2):
            h = self.gru(F.relu(self.conv2(h, edge_index)), h)
        return self.lstm(h, (h, h))[0]


@equal
class Columns(nn.Module):
    """The encoder of OGB's molecules: a sum of an embedding for each column."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(4, 8), nn.Embedding(5, 8)])
        self.conv = G.GINConv(mlp(8, 4))

    def forward(self, x, edge_index):
        h = 0
        for k in range(2):
            h = h + self.tables[k](x[:, k])
        return self.conv(h, edge_index)


@equal
class Reversed(Base):
    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index) + self.conv1(x, edge_index.flip(0)), edge_index[[1, 0]])


@equal
class Several(Base):
    def forward(self, x, edge_index, batch):
        h = self.conv1(x, edge_index)
        return h, {"graph": G.global_add_pool(h, batch)}, self.lin(h)


@equal
def sequential():
    return G.Sequential("x, edge_index, batch", [(nn.Dropout(p=0.5), "x -> x"), (G.GCNConv(IN, 8), "x, edge_index -> x1"), nn.ReLU(inplace=True),
                                                 (G.SAGEConv(8, 8), "x1, edge_index -> x2"), (lambda a, b: [a, b], "x1, x2 -> xs"), (G.JumpingKnowledge("cat"), "xs -> x"),
                                                 (G.global_mean_pool, "x, batch -> x"), nn.Linear(16, 3)])


class Own(G.MessagePassing):
    def __init__(self):
        super().__init__(aggr="max", flow="target_to_source")
        self.lin, self.att = nn.Linear(2 * IN, 8), nn.Linear(8, 1)

    def forward(self, x, edge_index, edge_attr):
        return self.propagate(edge_index, x=x, edge_attr=edge_attr)

    def message(self, x_i, x_j, edge_attr, index):
        h = F.mish(self.lin(torch.cat([x_i, x_j - x_i], -1)))
        return h * G.utils_softmax(self.att(h), index) * edge_attr.view(-1, 1)


@equal
class OwnLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = Own(), nn.Sequential(nn.SELU(), nn.Linear(8, 2))

    def forward(self, x, edge_index, edge_weight):
        return self.out(self.conv(x, edge_index, edge_weight))


@equal
class DeepMessages(nn.Module):
    """Any mlp in GINE and EdgeConv, PNA with towers and features of edges."""

    def __init__(self):
        super().__init__()
        self.gine, self.edge = G.GINEConv(mlp(IN, 8), edge_dim=3, train_eps=True), G.EdgeConv(mlp(16, 8), aggr="mean")
        self.pna = G.PNAConv(8, 8, ["mean", "min", "max", "std"], ["identity", "amplification", "linear"], torch.tensor([0, 5, 9, 4, 2]), edge_dim=3, towers=2, divide_input=True)

    def forward(self, x, edge_index, edge_attr):
        return self.pna(self.edge(self.gine(x, edge_index, edge_attr), edge_index), edge_index, edge_attr)


@equal
class Bipartite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.second = G.GATConv((IN, 4), 3, heads=2, add_self_loops=False), G.SAGEConv((IN, 6), 5)
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        return self.second((x, self.conv((x, self.lin(x)), edge_index)), edge_index)


@equal
class Normed(nn.Module):
    """Parametrisations, and a hook."""

    def __init__(self):
        super().__init__()
        self.lin = nn.utils.parametrizations.weight_norm(nn.Linear(IN, 8))
        self.other = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8))
        self.conv = G.GCNConv(8, 4)
        self.conv.register_forward_hook(lambda m, given, out: out * 2)

    def forward(self, x, edge_index):
        return self.conv(self.other(self.lin(x)), edge_index)


@equal
class Loops(nn.Module):
    """Options that came to other numbers: loops, flow, aggr, zeros."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.ChebConv(IN, 8, 3), G.GATConv(8, 4, 2, fill_value="max", edge_dim=3, negative_slope=0.0), G.LEConv(8, 8, aggr="mean"),
                                    G.GCNConv(8, 8, flow="target_to_source"), G.GCN2Conv(8, alpha=0.0), G.TAGConv(8, 8, K=1, aggr="max"), G.SAGEConv(8, 8, aggr="softmax")])

    def forward(self, x, edge_index, edge_attr):
        x = self.convs[0](x, edge_index)
        x = self.convs[1](x, edge_index, edge_attr)
        x = self.convs[3](self.convs[2](x, edge_index), edge_index)
        return self.convs[6](self.convs[5](self.convs[4](x, x, edge_index), edge_index), edge_index)


@equal
def hetero():
    return G.to_hetero(G.GraphSAGE(IN, 8, 2, 3), (["user", "item"], [("user", "likes", "item"), ("item", "liked_by", "user"), ("user", "knows", "user")]), aggr="mean")


@equal
class Wide(nn.Module):
    """All activations, gates, and norms."""

    def __init__(self):
        super().__init__()
        self.lin, self.gate, self.att = nn.Linear(IN, 8), nn.Linear(8, 8), nn.MultiheadAttention(8, 2)
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.BatchNorm1d(8), G.GraphNorm(8), G.PairNorm(), G.GraphSizeNorm(), G.MeanSubtractionNorm(), G.LayerNorm(8)])
        self.acts = nn.ModuleList([nn.ELU(0.5), nn.Softplus(2.0), nn.CELU(0.7), nn.Hardtanh(), nn.Softsign(), nn.LeakyReLU(0.3), nn.ReLU6(), nn.Mish(), nn.GELU("tanh"), nn.LogSigmoid()])

    def forward(self, x):
        h = self.lin(x)
        for act in self.acts:
            h = h + act(self.gate(h))
        h = h * torch.sigmoid(self.gate(h))
        for norm in self.norms:
            h = norm(h)
        return torch.where(h > 0.1, h, 0.5 * h) + h.mean(dim=0) - h.max(dim=1, keepdim=True)[0]


@equal
class Chosen(nn.Module):
    """Two poolings that choose nodes, edge weights that go with the edges, and readouts between."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = G.GraphConv(IN, 8), G.GCNConv(8, 8), G.GATConv(8, 4, heads=2)
        self.pool1, self.pool2, self.norm = G.TopKPooling(8, 0.7), G.SAGPooling(8, 3, GNN=G.SAGEConv), nn.BatchNorm1d(8)

    def forward(self, x, edge_index, edge_weight, batch):
        x = self.conv1(x, edge_index, edge_weight).relu()
        x, edge_index, edge_weight, batch, _, score = self.pool1(x, edge_index, edge_weight, batch)
        first = torch.cat([G.global_mean_pool(x, batch), G.global_max_pool(x, batch)], 1)
        x = self.norm(self.conv2(x, edge_index, edge_weight)).relu()
        x, edge_index, _, batch, _, _ = self.pool2(x, edge_index, None, batch)
        x = self.conv3(x, edge_index)
        return first + torch.cat([G.global_add_pool(x, batch), G.global_max_pool(x, batch)], 1)


@equal
class ChosenOfOne(nn.Module):
    """Without a batch, by a least score."""

    def __init__(self):
        super().__init__()
        self.pool, self.conv = G.TopKPooling(IN, min_score=0.03), G.GINConv(mlp(IN, 4))

    def forward(self, x, edge_index):
        x, edge_index, *_ = self.pool(x, edge_index)
        return self.conv(x, edge_index).mean(0, keepdim=True)


@equal
class Sequences(nn.Module):
    """Recurrent modules over layers, over columns, and over the nodes of a graph."""

    def __init__(self):
        super().__init__()
        self.conv, self.gru, self.lstm = G.GCNConv(IN, 8), nn.GRU(8, 8), nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)
        self.over = G.aggr.GRUAggregation(8, 5)

    def forward(self, x, edge_index, batch):
        h = x = self.conv(x, edge_index)
        state = h[None]
        for _ in range(2):
            h, state = self.gru(torch.tanh(h).unsqueeze(0), state)
            h = h.squeeze(0)
        rows, _ = self.lstm(h.view(-1, 2, 4))
        return torch.cat([G.global_add_pool(rows.flatten(1), batch), self.over(h, batch)], 1)


@equal
class LinksOfTypes(nn.Module):
    """Pairs of nodes of two types, with a mean over all nodes of one."""

    def __init__(self):
        super().__init__()
        self.convs = G.HeteroConv({("user", "rates", "item"): G.SAGEConv((IN, IN), 8), ("item", "of", "user"): G.SAGEConv((IN, IN), 8)})

    def forward(self, x_dict, edge_index_dict, edge_label_index):
        z = self.convs(x_dict, edge_index_dict)
        user, item = edge_label_index
        return ((z["user"] - z["user"].mean(0))[user] * z["item"][item]).sum(-1)


@equal
class PutsIntoData(Base):
    def forward(self, batch):
        batch.x = self.conv1(batch.x, batch.edge_index).relu()
        return batch


# ---- refused ----


@refused("a pooling picked")
class ChosenRows(Base):
    def __init__(self):
        super().__init__()
        self.pool = G.TopKPooling(8)

    def forward(self, x, edge_index):
        return self.pool(self.conv1(x, edge_index), edge_index)[0]


@refused("control flow")
class Decides(Base):
    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index)
        if h.sum() > 0:
            h = -h
        return h


@refused("dropout that is on")
class AlwaysOn(Base):
    def forward(self, x, edge_index):
        return F.dropout(self.conv1(x, edge_index), 0.5)


@refused("topk")
class Picks(Base):
    def forward(self, x, edge_index):
        return self.conv1(x, edge_index).topk(2, dim=0)[0]


@refused("one graph")
class Counts(Base):
    def forward(self, x, edge_index):
        return self.conv1(x, edge_index) / x.size(0)


@refused("random")
class Noise(Base):
    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index)
        return h + torch.randn_like(h)


@refused("columns of x are not known")
class AnyWidth(nn.Module):
    def forward(self, x, edge_index):
        return G.SimpleConv(aggr="mean")(x, edge_index)


@refused("ZeroDivisionError")
class Raises(Base):
    def forward(self, x, edge_index):
        return self.conv1(x, edge_index) / (1 // (1 if torch.is_tensor(x) and type(x) is torch.Tensor else 0))


def check_equal(name, make, folder):
    path = os.path.join(folder, name)
    torch.manual_seed(2)
    try:
        t = from_pyg.export(make().eval(), path, widths=WIDTHS if name != "Columns" else {})
    except Untraceable as error:
        return f"{name}: refused: {error}"
    if not any(note.startswith("verified") for note in t.notes):
        return f"{name}: {t.notes[-1]}"
    return None if os.path.exists(path) else f"{name}: there is no file"


def check_refused(name, make, words, folder):
    path = os.path.join(folder, name)
    try:
        from_pyg.export(make().eval(), path, widths={"x": IN} if name != "AnyWidth" else {})
        return f"{name}: exported, a refusal with \"{words}\" is expected"
    except Untraceable as error:
        if words not in str(error) or (name != "AnyWidth" and "styles.py:" not in str(error)):
            return f"{name}: refused by \"{error}\", expected \"{words}\" and the line"
    return f"{name}: a file is left" if os.listdir(folder) and name in os.listdir(folder) else None


def check_given(folder):
    """Inputs that a program has: they say the columns, and are compared too."""
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = G.SimpleConv(aggr="mean")

        def forward(self, x, edge_index, batch):
            return G.global_add_pool(self.conv(x, edge_index), batch)
    given = {"x": torch.randn(5, 7), "edge_index": torch.tensor([[0, 1, 2, 2, 4], [1, 2, 2, 0, 3]]), "batch": torch.tensor([0, 0, 0, 1, 1])}
    try:
        t = from_pyg.export(Plain(), os.path.join(folder, "given"), given=given)
    except Untraceable as error:
        return f"given: refused: {error}"
    return None if len(t.checks) == 3 else "given: not compared on the inputs given"


def main(only):
    import torch_geometric.utils as U
    G.utils_softmax = U.softmax
    if pyg_verify.find() is None:
        sys.exit("styles.py: no shared library of libgnn was found (GNN_LIBRARY)")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        checks = [check_equal(name, make, folder) for name, make in EQUAL.items() if not only or name in only]
        checks += [check_refused(name, make, words, folder) for name, (make, words) in REFUSED.items() if not only or name in only]
        checks += [] if only else [check_given(folder)]
        found = [words for words in checks if words]
        if any(name.endswith(".part") for name in os.listdir(folder)):
            found.append("a part of a file is left")
    print("\n".join(found + [f"{len(checks) - len(found)} of {len(checks)} as expected"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
