"""compile(): arguments of every form that a module takes, equal to the module itself or refused by
name."""
import sys

import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402
from networks import BATCH, EDGES, IN, M, N, WITHIN, X, alike, close, compare  # noqa: E402

WORDS = (torch.rand(400, 300, generator=torch.Generator().manual_seed(3)) < 0.03).float() * torch.rand(400, 300, generator=torch.Generator().manual_seed(4))
LINKS = torch.randint(0, 400, (2, 1500), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("name", ["GCN", "GAT", "SAGE", "SAGE max", "Edge"])
def test_features_that_are_mostly_zero(name):
    """Read as stored values where the first step can; changes in place are seen."""
    torch.manual_seed(0)
    net = {"GCN": lambda: G.GCN(300, 8, 2, 3, dropout=0.5), "GAT": lambda: G.GAT(300, 8, 2, 3, heads=2), "SAGE": lambda: G.GraphSAGE(300, 8, 2, 3), "SAGE max": lambda: G.SAGEConv(300, 5, aggr="max"),
           "Edge": lambda: G.EdgeConv(nn.Linear(600, 4))}[name]()
    fast, x = libgnn.torch.compile(net), WORDS.clone()
    for step in range(3):
        for mode in (False, True):
            if mode and name == "GCN":
                continue
            fast.train(mode)
            made = []
            for call in (net, fast):
                net.zero_grad()
                y = call(x, LINKS)
                y.pow(2).sum().backward()
                made.append([y.detach(), *(p.grad.clone() for p in net.parameters())])
            assert all(close(a, b) for a, b in zip(*made))
        with torch.no_grad():
            assert close(fast.eval()(x, LINKS), net.eval()(x, LINKS))
            x[:5] = 0.5 * step if step else x[5:10]
    plan = next(iter(fast.plans.values()))
    assert type(plan.inputs({"x": WORDS, "edge_index": LINKS})[0]) is not torch.Tensor or plan.dense
    array = WORDS.numpy().copy()
    x = torch.from_numpy(array)
    for _ in range(2):
        assert close(fast(x, LINKS), net(x, LINKS))
        array[:7] *= 2
    if name == "GCN":
        fast.train()
        made = torch.stack([fast(x, LINKS).detach() for _ in range(800)])
        theirs = torch.stack([net(x, LINKS).detach() for _ in range(800)])
        assert alike(made, theirs)
    y = fast.eval()(x.clone().requires_grad_(), LINKS)
    assert y.requires_grad


class Renamed(nn.Module):
    """Arguments whose names say nothing."""

    def __init__(self):
        super().__init__()
        self.one, self.two = G.GATConv(IN, 4, edge_dim=3), G.GCNConv(4, 3)

    def forward(self, nodes, graph, features=None, w=None):
        return self.two(F.elu(self.one(nodes, graph, features)), graph, w)


def test_edges_of_any_name():
    torch.manual_seed(0)
    net, features, weight = Renamed(), torch.randn(M, 3), torch.rand(M)
    fast = libgnn.torch.compile(net)
    for more in ((features,), (features, weight)):
        assert close(fast(X, EDGES, *more), net(X, EDGES, *more))
    few = torch.randint(0, N, (2, 90))
    assert close(fast(X, few, features[:90]), net(X, few, features[:90]))
    with pytest.raises((ValueError, TypeError)):
        fast(X, few.float(), features[:90])


def test_graphs_that_change_in_place():
    net = G.GCN(IN, 8, 2, 3).eval()
    fast, edges = libgnn.torch.compile(net), EDGES.clone()
    fast(X, edges)
    edges[0, :40] = 0
    with torch.no_grad():
        x = X.clone()
        for change in (lambda: x.mul_(2), lambda: setattr(x, "data", torch.randn(N, IN)), lambda: setattr(x, "data", torch.randn(N, 2 * IN)[:, ::2])):
            change()
            assert close(fast(x, edges), net(x, edges))
    assert close(fast(X, edges), net(X, edges))
    for k in range(30):  # more graphs than are kept, of other sizes
        few = EDGES[:, :50 + k]
        assert close(fast(X[:, :], few), net(X, few))
    assert close(fast(X, torch.zeros((2, 0), dtype=torch.long)), net(X, torch.zeros((2, 0), dtype=torch.long)))
    assert close(fast(X, EDGES.int()), net(X, EDGES))
    assert close(fast(X, EDGES.t().contiguous().t()), net(X, EDGES))
    wide = torch.randn(N, 2 * IN)
    assert close(fast(wide[:, ::2], EDGES), net(wide[:, ::2], EDGES)) and close(fast(wide[:, :IN], EDGES), net(wide[:, :IN], EDGES))


@pytest.mark.parametrize("x, edges, kind", [(X.double(), EDGES, TypeError), (X, EDGES.float(), TypeError), (X, EDGES + N, ValueError), (X, EDGES - 1, ValueError), (X[:, :5], EDGES, ValueError),
                                            (X, EDGES[0], ValueError), (X.numpy(), EDGES, TypeError), (X, [[0], [1]], TypeError)])
def test_wrong_inputs(x, edges, kind):
    fast = libgnn.torch.compile(G.GCN(IN, 8, 2, 3)).eval()
    fast(X, EDGES)
    with pytest.raises(kind):
        fast(x, edges)
    assert fast(X, EDGES).shape == (N, 3)


def test_autocast_runs_in_float32():
    torch.manual_seed(0)
    net, front = G.GCN(IN, 8, 2, 3), nn.Linear(IN, IN)
    fast = libgnn.torch.compile(net)
    with torch.autocast("cpu", torch.bfloat16):
        first, half = fast(X, EDGES), front(X)
        x = half.detach().requires_grad_()
        y = fast(x, EDGES)
        y.sum().backward()
    assert half.dtype is torch.bfloat16 and first.dtype is y.dtype is torch.float32 and x.grad.dtype is torch.bfloat16
    assert close(first, net(X, EDGES)) and close(y, net(half.float(), EDGES))


@pytest.mark.parametrize("x, edges, word", [(X.double(), EDGES, "x must be float32"), (X.half(), EDGES, "x must be float32"), (X.to("meta"), EDGES.to("meta"), "x must be on the CPU"), (X, EDGES.to("meta"), "edge_index must be on the CPU")])
def test_wrong_tensors_of_a_first_call(x, edges, word):
    with pytest.raises(TypeError, match=word):
        libgnn.torch.compile(G.GCN(IN, 8, 2, 3))(x, edges)


def test_modules_of_other_types_and_lazy_ones():
    fast = libgnn.torch.compile(G.GCN(IN, 8, 2, 3))
    fast(X, EDGES)
    with pytest.raises(TypeError, match="convs.0.bias must be float32"):
        fast.double()(X.double(), EDGES)
    with pytest.raises(TypeError, match="meta"):
        libgnn.torch.compile(G.GCN(IN, 8, 2, 3).to("meta"))(X, EDGES)
    torch.manual_seed(0)
    lazy = G.SAGEConv(-1, 3)
    fast = libgnn.torch.compile(lazy)
    assert close(fast(X, EDGES), lazy(X, EDGES)) and lazy.lin_l.weight.shape == (3, IN)


def test_empty_graphs_first():
    net = G.GCN(IN, 8, 2, 3).eval()
    for x, edges in ((X[:0], EDGES[:, :0]), (X, EDGES[:, :0]), (X[:1], EDGES[:, :0])):
        fast = libgnn.torch.compile(net)
        assert fast(x, edges).shape == (len(x), 3) and close(fast(X, EDGES), net(X, EDGES))


def test_no_edges_of_any_type_later():
    class Typed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.conv = nn.Embedding(3, 4), G.GATConv(IN, 4, edge_dim=4)

        def forward(self, edge_type, x, edge_index):
            return self.conv(x, edge_index, self.embed(edge_type))
    net = Typed()
    fast, types = libgnn.torch.compile(net), torch.arange(M) % 3
    for m in (M, 0, 0, M):
        for recording in (False, True):
            with torch.set_grad_enabled(recording):
                assert close(fast(types[:m], X, EDGES[:, :m]).detach(), net(types[:m], X, EDGES[:, :m]).detach())


@pytest.mark.parametrize("affine", [False, True])
def test_root_mean_squares_without_a_weight(affine):
    compare(nn.RMSNorm(IN, eps=0.1, elementwise_affine=affine))


@pytest.mark.parametrize("block", ["res+", "res", "plain", "dense"])
def test_arguments_without_names(block):
    torch.manual_seed(0)
    compare(G.DeepGCNLayer(G.GCNConv(IN, IN), nn.LayerNorm(IN), nn.ELU(), block=block), EDGES)


def test_sparse_adjacency():
    torch.manual_seed(0)
    weight = torch.rand(N, N) * (torch.rand(N, N) < 0.1) * (1 - torch.eye(N))
    ones, net, mean = (weight > 0).float(), G.GCN(IN, 8, 2, 3).eval(), G.SAGEConv(IN, 3)
    for adj in (ones.to_sparse_csr(), ones.to_sparse_coo(), weight.to_sparse_csr()):
        fast = libgnn.torch.compile(net)
        assert close(fast(X, adj), net(X, adj)) and close(fast(X, adj), fast(X, adj))
    fast = libgnn.torch.compile(mean)
    assert close(fast(X, ones.to_sparse_csr()), mean(X, ones.to_sparse_csr()))
    with pytest.raises(TypeError, match="edge_weight"):
        fast(X, weight.to_sparse_csr())
    with pytest.raises(TypeError, match="diagonal"):
        fast(X, torch.eye(N).to_sparse_csr())
    with pytest.raises(ValueError, match="nodes"):
        fast(X, torch.ones(N, N + 1).triu(1).to_sparse_csr())


class Wrong(nn.Module):
    """Arguments of every form beside tensors."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 3)

    def forward(self, x, edge_index, scale=1.0, mode="sum", batch=None, batch_size=None):
        x = self.conv(x, edge_index) * (0.0 if scale is None else scale)
        x = x if mode == "sum" else x.relu()
        return x if batch is None else G.global_add_pool(x, batch, batch_size)


def test_constants_are_of_one_trace(monkeypatch):
    """A number, a string, or None where the default is another value, is never that of an earlier
    call."""
    torch.manual_seed(0)
    net = Wrong()
    fast = libgnn.torch.compile(net)
    for more in ((), (2.0,), (3.0,), (3,), (True,), (2.0, "relu"), (None,), (-1.0, "sum", BATCH), (1.0, "sum", BATCH, 4), (1.0, "sum", BATCH, 6)):
        ours, theirs = fast(X, WITHIN, *more), net(X, WITHIN, *more)
        assert ours.shape == theirs.shape and close(ours, theirs), more
    with pytest.raises(ValueError, match="batch_size is 3"):
        fast(X, WITHIN, 1.0, "sum", BATCH, 3)
    with pytest.raises(TypeError, match="scale"):
        fast(X, WITHIN, scale=object())
    with pytest.raises(libgnn.torch.Untraceable, match="batch_size"):
        fast(X, WITHIN, batch_size=4)
    monkeypatch.setattr(sys.modules[type(fast).__module__], "KEPT_PLANS", 3)
    for k in range(5):
        assert close(fast(X, WITHIN, k + 0.5), net(X, WITHIN, k + 0.5))
    assert len(fast.plans) <= 10


ENDS = torch.stack([EDGES[0], EDGES[1] % 15])
PAIRS = {
    "SAGE": lambda: G.SAGEConv((IN, 4), 5), "SAGE max": lambda: G.SAGEConv((IN, 4), 5, aggr="max"), "Graph": lambda: G.GraphConv((IN, 4), 5), "GAT": lambda: G.GATConv((IN, 4), 3, heads=2, add_self_loops=False),
    "GATv2": lambda: G.GATv2Conv((IN, 4), 3, heads=2, add_self_loops=False), "Transformer": lambda: G.TransformerConv((IN, 4), 3, heads=2), "ResGated": lambda: G.ResGatedGraphConv((IN, 4), 5),
    "GAT with loops": lambda: G.GATConv((IN, 4), 3), "LE": lambda: G.LEConv((IN, 4), 5), "General": lambda: G.GeneralConv((IN, 4), 5),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_features(name):
    """Bipartite edges, as NeighborSampler gives them: equal, with gradients, or refused by name."""
    torch.manual_seed(0)
    net, made = PAIRS[name](), []
    fast = libgnn.torch.compile(net)
    x_dst = torch.randn(15, 4)
    for call in (net, fast):
        net.zero_grad()
        x, y = X.clone().requires_grad_(), x_dst.clone().requires_grad_()
        try:
            out = call((x, y), ENDS, size=(N, 15)) if name.startswith("SAGE") else call((x, y), ENDS)
        except libgnn.torch.Untraceable as refusal:
            if name not in ("GAT with loops", "LE", "General", "ResGated"):
                raise
            assert str(refusal)  # refused by name, and nothing is computed
            return
        out.pow(2).sum().backward()
        made.append([out.detach(), x.grad, y.grad, *(p.grad for p in net.parameters())])
    assert all(close(a, b) for a, b in zip(*made))
    more = torch.cat([ENDS, torch.tensor([[N], [14]])], 1)
    assert close(fast((torch.cat([X, X[:1]]), x_dst), more), net((torch.cat([X, X[:1]]), x_dst), more))
    with pytest.raises(ValueError):
        fast((X[:5], x_dst), ENDS)
    with pytest.raises((ValueError, TypeError), match="size"):  # some convolutions take none
        fast((X, x_dst), ENDS, size=(N, 16))


def test_senders_alone():
    torch.manual_seed(0)
    net = G.SAGEConv((IN, IN), 5, root_weight=False)
    fast = libgnn.torch.compile(net)
    assert close(fast((X, None), EDGES), net((X, None), EDGES))
    assert close(fast((X, None), ENDS, size=(N, 20)), net((X, None), ENDS, size=(N, 20)))


def test_batches_of_a_neighbour_loader():
    loader, data = pytest.importorskip("torch_geometric.loader"), pytest.importorskip("torch_geometric.data")
    torch.manual_seed(0)
    net = G.GraphSAGE(IN, 8, 2, 3).eval()
    fast = libgnn.torch.compile(net)
    try:
        batches = list(loader.NeighborLoader(data.Data(x=X, edge_index=EDGES), [4, 4], batch_size=8))
    except ImportError as lacking:
        pytest.skip(str(lacking))
    for b in batches:
        assert close(fast(b.x, b.edge_index), net(b.x, b.edge_index))
    with pytest.raises(libgnn.torch.Untraceable, match="TrimToLayer"):
        fast(X, EDGES, num_sampled_nodes_per_hop=[8, 16, 16], num_sampled_edges_per_hop=[80, 80])
    fast = libgnn.torch.compile(net, fallback=True)
    more = {"num_sampled_nodes_per_hop": [8, 16, 16], "num_sampled_edges_per_hop": [80, 80]}
    with pytest.warns(UserWarning, match="TrimToLayer"):
        assert close(fast(X, EDGES % 24, **more), net(X, EDGES % 24, **more))


class OfTypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = G.HeteroConv({("a", "to", "b"): G.SAGEConv((IN, 4), 8), ("b", "by", "a"): G.SAGEConv((4, IN), 8)})
        self.two = G.HeteroConv({("a", "to", "b"): G.SAGEConv((8, 8), 3)})

    def forward(self, x_dict, edge_index_dict):
        h = {node: x.relu() for node, x in self.one(x_dict, edge_index_dict).items()}
        return self.two(h, edge_index_dict)["b"]


def test_dictionaries_by_type():
    torch.manual_seed(0)
    net, made = OfTypes(), []
    fast = libgnn.torch.compile(net)
    edges = {("a", "to", "b"): ENDS, ("b", "by", "a"): ENDS.flip(0)}
    for call in (net, fast):
        net.zero_grad()
        x = {"a": X.clone().requires_grad_(), "b": torch.ones(15, 4).cumsum(0).requires_grad_()}
        out = call(x, edges)
        out.pow(2).sum().backward()
        made.append([out.detach(), x["a"].grad, x["b"].grad, *(p.grad if p.grad is not None else torch.zeros(1) for p in net.parameters())])
    assert all(close(a, b) for a, b in zip(*made))
    x = {"a": X, "b": torch.ones(15, 4)}
    for wrong in ({"a": X}, {**x, "c": X}, {"a": X, "b": torch.ones(14, 4)}, {"a": X, "b": torch.ones(15, 4).numpy()}):
        with pytest.raises((ValueError, TypeError, libgnn.torch.Untraceable)):
            fast(wrong, edges)


def test_a_data_object():
    data = pytest.importorskip("torch_geometric.data")

    class OfData(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = G.GCNConv(IN, 3)

        def forward(self, data):
            return G.global_mean_pool(self.conv(data.x, data.edge_index, data.edge_attr), data.batch)
    net = OfData()
    fast = libgnn.torch.compile(net)
    for k in range(2):
        batch = data.Batch.from_data_list([data.Data(x=X[:10 + k], edge_index=WITHIN[:, :9] % 10, edge_attr=torch.rand(9), y=torch.ones(1)) for _ in range(3)])
        assert close(fast(batch), net(batch))


class Matrix:
    """The methods by which a SparseTensor of torch_sparse is known."""

    def __init__(self, row, col, value, size):
        self.parts, self.size = (row, col, value), size

    def coo(self):
        return self.parts

    def sparse_sizes(self):
        return self.size


def test_sparse_tensors_of_torch_sparse():
    """By an object of the same methods, against edge_index; with the package itself where it is
    installed."""
    torch.manual_seed(0)
    weight = torch.rand(WITHIN.shape[1])
    for value in (None, weight):
        net = G.GCN(IN, 8, 2, 3).eval()
        made, fast = Matrix(WITHIN[1], WITHIN[0], value, (N, N)), libgnn.torch.compile(net)
        plan = fast.plan
        fast.__dict__["plan"] = lambda call, args, kwargs, *modes: plan(call, (X, WITHIN, value), {}, *modes)  # PyG itself needs the package
        assert close(fast(X, made), net(X, WITHIN, value)) and close(fast(X, made), fast(X, made))
    wrong = Matrix(torch.arange(N), torch.arange(N), None, (N, N))
    with pytest.raises(TypeError, match="diagonal"):
        fast(X, wrong)
    with pytest.raises(TypeError, match="edge_weight"):
        libgnn.torch.compile(G.SAGEConv(IN, 3))(X, Matrix(WITHIN[1], WITHIN[0], weight, (N, N)))


def test_sparse_tensors_in_place_of_edges():
    torch_sparse = pytest.importorskip("torch_sparse")
    net = G.GCN(IN, 8, 2, 3).eval()
    made = torch_sparse.SparseTensor(row=WITHIN[1], col=WITHIN[0], sparse_sizes=(N, N))
    assert close(libgnn.torch.compile(net)(X, made), net(X, made))


def test_edges_that_numpy_changes():
    """Changes through shared memory, which PyTorch does not count, are seen."""
    net, array = G.GCN(IN, 8, 2, 3).eval(), WITHIN.numpy().copy()
    fast, edges = libgnn.torch.compile(net), torch.from_numpy(array)
    for k in range(3):
        assert close(fast(X, edges), net(X, edges))
        array[0, :40] = (array[1, :40] + k + 1) % N
    own = WITHIN.clone()
    assert close(fast(X, own), net(X, own))
    own.numpy()[1, :30] = (own.numpy()[0, :30] + 3) % N
    assert close(fast(X, own), net(X, own))
    with torch.inference_mode():
        inner = WITHIN.clone()
        for k in range(3):
            assert close(fast(X, inner), net(X, inner))
            inner[0, :40] = (inner[1, :40] + k + 1) % N


# ---- tensors whose elements are not what their memory shows, and PyTorch's own settings ----


class Named(torch.Tensor):
    """A class of tensors without another meaning."""


@pytest.mark.parametrize("training", [False, True])
def test_lazy_views_and_classes_of_tensors(training):
    net = G.GCN(6, 8, 2, 3, act="tanh").train(training)
    fast, edge_index = libgnn.torch.compile(net), pytest.importorskip("torch_geometric", minversion="2.6").EdgeIndex(EDGES, sparse_size=(N, N))
    for x in (torch._neg_view(X), torch.complex(X, -X).conj().imag, X.as_subclass(Named), torch.nn.Parameter(X), X):
        for edges in (EDGES, edge_index, edge_index.sort_by("col")[0], EDGES.as_subclass(Named)):
            assert torch.allclose(fast(x, edges), net(x, edges), atol=1e-5), (type(x), type(edges))
    assert libgnn.Graph(pytest.importorskip("torch_geometric").EdgeIndex(EDGES, sparse_size=(N + 2, N + 1))).num_nodes == N + 1
    for wrong, word in ((torch.nested.nested_tensor([X]), "x is a nested tensor"), (X.to_sparse(), "x must be a dense tensor")):
        with pytest.raises(TypeError, match=word):
            fast(wrong, EDGES)
    with torch._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(X)
    with pytest.raises(TypeError, match="x is a FakeTensor"):
        fast(fake, EDGES)


# ---- outputs that are an input ----


class Second(nn.Module):
    """The second input, all of it or some columns, after a layer whose output is not returned."""

    def __init__(self, columns=slice(None)):
        super().__init__()
        self.lin, self.columns = nn.Linear(IN, 3), columns

    def forward(self, x, y):
        self.lin(x)
        return y[:, self.columns]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("net", [nn.Identity(), nn.Flatten(), nn.Sequential(), Second(), Second(slice(1, 3)), nn.Sequential(nn.Linear(IN, 5), nn.Flatten())], ids=lambda net: type(net).__name__)
def test_outputs_that_are_an_input(net, training):
    """Such an input, or its columns, has the gradient of the output."""
    fast = libgnn.torch.compile(net.train(training))
    for _ in range(2):
        made = []
        for call in (net, fast):
            given = [X.clone().requires_grad_() for _ in range(2 if isinstance(net, Second) else 1)]
            y = call(*given)
            y.pow(3).sum().backward()
            made.append([y.detach(), *(torch.zeros_like(x) if x.grad is None else x.grad for x in given)])
        assert all(close(a, b) for a, b in zip(*made))
