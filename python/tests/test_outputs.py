"""compile(): outputs of any rows and forms, data objects, calls that only a later graph refuses, GPS."""
import dataclasses
import typing
import warnings

import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
nn = torch.nn

import libgnn  # noqa: E402
from networks import BATCH, EDGES, IN, N, WITHIN, X, close, compare  # noqa: E402

OTHER = torch.cat([X, X[:5] + 1]), torch.cat([WITHIN, torch.tensor([[41, 44], [42, 41]])], 1), torch.cat([BATCH, torch.full((5,), 4)])


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: typing.Any = None


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lin, self.att = G.GCNConv(IN, 8), nn.Linear(8, 3), G.GATConv(IN, 4, heads=2)

    def forward(self, x, edge_index, batch):
        return self.by(x, edge_index, batch, self.conv(x, edge_index))


FORMS = {
    "nodes and graphs": lambda m, x, e, b, h: (m.lin(h), G.global_add_pool(h, b)), "with a loss": lambda m, x, e, b, h: (h, h.pow(2).mean()),
    "a dataclass": lambda m, x, e, b, h: Output(m.lin(h), [h.mean(0), None]), "a dict": lambda m, x, e, b, h: {"y": m.lin(h), "h": (h, h.mean(-1)), "none": None, "width": h.shape[1], "name": "gcn"},
    "attention": lambda m, x, e, b, h: (h, m.att(x, e, return_attention_weights=True)[1][1]), "ends of edges": lambda m, x, e, b, h: {"edges": h[e[0]] - h[e[1]], "graphs": G.global_max_pool(h, b)},
    "three": lambda m, x, e, b, h: (h.sum(), G.global_mean_pool(m.lin(h), b).softmax(-1), h.view(-1, 2, 4)), "detached": lambda m, x, e, b, h: (h.detach(), h.mean(0)),
}


def tensors(value):
    if torch.is_tensor(value):
        return [value]
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [v for part in parts for v in tensors(part)]


def form(value):
    if torch.is_tensor(value):
        return value.shape, value.requires_grad
    if dataclasses.is_dataclass(value):
        return type(value), [form(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return (type(value), [form(v) for v in (value.values() if isinstance(value, dict) else value)]) if isinstance(value, (dict, list, tuple)) else value


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_outputs_of_any_form(name, training):
    torch.manual_seed(0)
    net = type("Net", (Base,), {"by": lambda self, *given: FORMS[name](self, *given)})().train(training)
    fast = libgnn.torch.compile(net)
    for given in ((X, WITHIN, BATCH), OTHER, (X[:10], WITHIN[:, :0], BATCH[:10])):
        made = []
        for call in (net, fast):
            net.zero_grad()
            x = given[0].clone().requires_grad_()
            out = call(x, *given[1:])
            ys = tensors(out)
            sum((y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum() for y in ys if y.requires_grad).backward()
            made.append((form(out), [*(y.detach() for y in ys), *(torch.zeros(1) if v.grad is None else v.grad for v in (x, *net.parameters()))]))
            with torch.no_grad():
                made[-1][1].extend(tensors(call(*given)))
        assert made[0][0] == made[1][0] and len(made[0][1]) == len(made[1][1])
        for theirs, ours in zip(made[0][1], made[1][1]):
            assert theirs.shape == ours.shape and (not ours.numel() or close(ours, theirs))


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.HeteroConv({("a", "to", "b"): G.SAGEConv((IN, 4), 8), ("b", "by", "a"): G.SAGEConv((4, IN), 5)})

    def forward(self, x_dict, edge_index_dict):
        return self.conv(x_dict, edge_index_dict)


def test_outputs_of_several_types():
    torch.manual_seed(0)
    net = Typed()
    fast = libgnn.torch.compile(net)
    for n in (15, 9):
        ends = torch.stack([EDGES[0], EDGES[1] % n])
        x, edges, made = {"a": X, "b": torch.randn(n, 4)}, {("a", "to", "b"): ends, ("b", "by", "a"): ends.flip(0)}, []
        for call in (net, fast):
            net.zero_grad()
            out = call(x, edges)
            (out["a"].pow(2).sum() + out["b"].sum()).backward()
            made.append([out["a"].detach(), out["b"].detach(), *(p.grad for p in net.parameters())])
        assert list(out) == list(net(x, edges)) and all(close(a, b) for a, b in zip(*made))


def test_what_follows_from_one_graph_is_refused():
    class Net(Base):
        def by(self, x, edge_index, batch, h):
            return h, x.size(0)
    with pytest.raises(libgnn.torch.Untraceable, match=r"test_outputs.py:\d+: forward\(\) returns 24 as output.1 for one graph, and 32 for another"):
        libgnn.torch.compile(Net())(X, WITHIN, BATCH)


class OfData(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 3)

    def forward(self, graph):
        weight = graph.edge_attr if "edge_attr" in graph else None
        return G.global_mean_pool(self.conv(graph.x, graph.edge_index, weight), graph.batch), getattr(graph, "name", None) is None


def test_attributes_that_a_data_object_lacks():
    """None where PyG says so, else an AttributeError."""
    data = pytest.importorskip("torch_geometric.data")
    net = OfData()
    fast, weight = libgnn.torch.compile(net), torch.rand(WITHIN.shape[1])
    one, weighted = data.Data(x=X, edge_index=WITHIN), data.Data(x=X, edge_index=WITHIN, edge_attr=weight)
    for given in (one, weighted, data.Batch.from_data_list([one, one]), data.Batch.from_data_list([weighted] * 3), one):
        assert close(fast(given)[0], net(given)[0]) and fast(given)[1] is net(given)[1] is True
    with pytest.raises(libgnn.torch.Untraceable, match=r"test_outputs.py:\d+: name of the data object is a str"):
        fast(data.Data(x=X, edge_index=WITHIN, name="a"))

    class Strict(OfData):
        def forward(self, graph):
            return self.conv(graph.x, graph.edge_index) * graph.charge
    with pytest.raises(AttributeError, match="charge"):
        libgnn.torch.compile(Strict())(one)


def test_later_graphs_by_fallback():
    """What the library refuses of a later call runs in PyTorch, with one warning."""
    net = G.GCN(IN, 8, 2, 3).eval()
    fast, twice = libgnn.torch.compile(net, fallback=True), torch.cat([WITHIN, torch.tensor([[3, 3], [3, 3]])], 1)
    assert close(fast(X, WITHIN), net(X, WITHIN))
    with pytest.warns(UserWarning, match="node 3 has two self-loops"):
        assert close(fast(X, twice), net(X, twice))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs in PyTorch")
        assert close(fast(X, twice), net(X, twice)) and close(fast(X, WITHIN), net(X, WITHIN))

    class Mean(Base):
        def by(self, x, edge_index, batch, h):
            return G.global_mean_pool(h, batch)
    net = Mean().eval()
    fast = libgnn.torch.compile(net, fallback=True)
    fast(X, WITHIN, BATCH)
    with pytest.warns(UserWarning, match="sorted"):
        assert close(fast(X, WITHIN, BATCH.flip(0)), net(X, WITHIN, BATCH.flip(0)))
    with pytest.raises((IndexError, RuntimeError)):  # PyTorch's own
        fast(X, WITHIN + N, BATCH)


@pytest.mark.parametrize("conv, more", [(lambda: G.GINEConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))), {"norm": "batch_norm"}), (lambda: G.GatedGraphConv(8, 2), {"norm": "layer_norm"}), (lambda: None, {"norm": None}),
                                        (lambda: G.GCNConv(8, 8), {"heads": 4, "act": "elu"}),
                                        (lambda: G.SAGEConv(8, 8), {"norm": "graph_norm"})])
def test_gps(conv, more):
    """GraphGPS: a convolution and attention over each graph, each with its residual and norm."""
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.edge, self.out = nn.Linear(IN, 8), nn.Linear(2, 8), nn.Linear(8, 2)
            self.layers = nn.ModuleList([G.GPSConv(8, conv(), **{"heads": 2, **more}) for _ in range(2)])
            self.reads = isinstance(self.layers[0].conv, G.GINEConv)

        def forward(self, x, edge_index, edge_attr, batch):
            h = self.first(x)
            for layer in self.layers:
                h = layer(h, edge_index, batch, edge_attr=self.edge(edge_attr)) if self.reads else layer(h, edge_index, batch)
            return self.out(G.global_add_pool(h, batch))
    compare(Net(), WITHIN, torch.rand(WITHIN.shape[1], 2, generator=torch.Generator().manual_seed(3)), BATCH)
