"""compile(): values and gradients of PyG's modules, and what it refuses."""
import copy
import os
import pickle
import subprocess
import sys
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402

N, M, IN = 40, 160, 6
EDGES = torch.randint(0, N, (2, M), generator=torch.Generator().manual_seed(1))
X = torch.randn(N, IN, generator=torch.Generator().manual_seed(2))
BATCH = torch.arange(N) // 10
WITHIN = torch.stack([EDGES[0], (EDGES[0] + 1 + EDGES[1] % 9) % 10 + EDGES[0] // 10 * 10])  # no loops


def mlp():
    return nn.Sequential(nn.Linear(IN, 8), nn.ReLU(), nn.Linear(8, 5))


LAYERS = {
    "GCN": lambda: G.GCNConv(IN, 5), "GAT": lambda: G.GATConv(IN, 4, heads=3), "GATv2": lambda: G.GATv2Conv(IN, 4, heads=2, concat=False), "SAGE": lambda: G.SAGEConv(IN, 5),
    "SAGE max": lambda: G.SAGEConv(IN, 5, aggr="max"), "GIN": lambda: G.GINConv(mlp(), train_eps=True), "Transformer": lambda: G.TransformerConv(IN, 4, heads=2, beta=True),
    "Cheb": lambda: G.ChebConv(IN, 5, K=3), "SGC": lambda: G.SGConv(IN, 5, K=2), "TAG": lambda: G.TAGConv(IN, 5), "ARMA": lambda: G.ARMAConv(IN, 5, num_stacks=2, num_layers=2),
    "Graph": lambda: G.GraphConv(IN, 5), "Gated": lambda: G.GatedGraphConv(8, 2), "LE": lambda: G.LEConv(IN, 5), "APPNP": lambda: G.APPNP(3, 0.1), "ResGated": lambda: G.ResGatedGraphConv(IN, 5),
    "ClusterGCN": lambda: G.ClusterGCNConv(IN, 5), "Edge": lambda: G.EdgeConv(nn.Sequential(nn.Linear(2 * IN, 8), nn.ReLU(), nn.Linear(8, 5))), "MF": lambda: G.MFConv(IN, 5, max_degree=4),
    "GCN model": lambda: G.GCN(IN, 8, 2, 5, norm="BatchNorm"), "GAT model": lambda: G.GAT(IN, 8, 2, 5, jk="cat"), "GIN model": lambda: G.GIN(IN, 8, 2, 5),
}


def close(ours, theirs):
    return float((ours - theirs).abs().max()) <= 1e-4 * max(1.0, float(theirs.abs().max()))


def gradients(module, call):
    for p in module.parameters():
        p.grad = None
    x = X.clone().requires_grad_()
    y = call(x)
    (y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum().backward()
    return [y.detach(), x.grad] + [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in module.parameters()]


def compare(module, *more):
    """Values and all gradients, in both modes; batch norm's statistics too."""
    fast = libgnn.torch.compile(module)
    for mode in (False, True):
        fast.train(mode)
        before = {k: v.clone() for k, v in module.state_dict().items()}
        theirs = gradients(module, lambda x: module(x, *more))
        after = {k: v.clone() for k, v in module.state_dict().items()}
        module.load_state_dict(before)
        ours = gradients(module, lambda x: fast(x, *more))
        assert all(close(a, b) for a, b in zip(ours, theirs))
        assert all(close(v.float(), after[k].float()) for k, v in module.state_dict().items())
    return fast


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    torch.manual_seed(0)
    module = LAYERS[name]()
    try:
        compare(module, EDGES)
    except libgnn.torch.Untraceable as refusal:
        if name not in ("APPNP", "MF", "Cheb"):
            raise
        assert str(refusal)  # refused by name, and nothing is computed


class Net(nn.Module):
    """Edge weights, batch norm, a skip, and means over graphs."""

    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two, self.out = G.GCNConv(IN, 8), nn.BatchNorm1d(8), G.GATConv(8, 4, heads=2), nn.Linear(8, 3)

    def forward(self, x, edge_index, batch, edge_weight=None):
        x = F.elu(self.norm(self.one(x, edge_index, edge_weight)))
        x = F.dropout(self.two(x, edge_index) + x, 0.5, self.training)
        return self.out(G.global_mean_pool(x, batch))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_the_library_are_used(name):
    """No entry gives way to the steps of forward(), which cost many times as much."""
    from libgnn.torch import pyg_modules, pyg_trace
    module = LAYERS[name]().eval()
    found = pyg_trace.trace(module, ("x", "edge_index"), {"x": 8 if name == "Gated" else IN})
    assert not found.reasons and (type(module) not in pyg_modules.ROWS or found.entries == {"module"})


def test_a_batch_of_graphs_and_optional_inputs():
    torch.manual_seed(0)
    net = Net().eval()
    fast, weight = libgnn.torch.compile(net), torch.rand(M)
    for call in (lambda m: m(X, WITHIN, BATCH), lambda m: m(X, WITHIN, BATCH, weight), lambda m: m(X, edge_index=WITHIN, batch=BATCH, edge_weight=weight)):
        assert close(call(fast), call(net)) and call(fast).shape == (4, 3)
    assert len(fast.plans) == 2
    with pytest.raises(ValueError, match="sorted"):
        fast(X, WITHIN, BATCH.flip(0))


def test_training_by_an_optimiser():
    torch.manual_seed(0)
    net = nn.ModuleDict({"a": G.GCN(IN, 16, 2, 3, dropout=0.3)})["a"]
    fast, y = libgnn.torch.compile(net), torch.randint(0, 3, (N,))
    optimizer = torch.optim.Adam(fast.parameters(), lr=0.02)
    losses = []
    for _ in range(120):
        optimizer.zero_grad()
        loss = F.cross_entropy(fast(X, EDGES), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.7 * losses[0]
    fast.eval()
    assert close(fast(X, EDGES), net.eval()(X, EDGES))


def test_dropout_follows_the_seed():
    fast = libgnn.torch.compile(G.GCN(IN, 16, 2, 3, dropout=0.5)).train()
    torch.manual_seed(4)
    a, b = fast(X, EDGES), fast(X, EDGES)
    torch.manual_seed(4)
    assert torch.equal(fast(X, EDGES), a) and not torch.equal(a, b)


class Dropped(nn.Module):
    """Dropout as a function, of nodes, of values on edges, and as a module."""

    def __init__(self, rate=0.5):
        super().__init__()
        self.conv, self.module, self.rate = G.GCNConv(IN, 3, bias=False), nn.Dropout(0.5), rate

    def forward(self, x, edge_index, edge_weight):
        x = self.module(F.dropout(x, self.rate, training=self.training))
        return self.conv(x, edge_index, F.dropout(edge_weight, p=0.3, training=self.training))


def draws(fast, *given):
    return torch.stack([fast(*given).detach() for _ in range(2000)])


def alike(made, theirs):
    """Draws of one distribution, by mean and deviation of each element."""
    n, deviation = len(theirs), theirs.std(0)
    off = (made.mean(0) - theirs.mean(0)).abs() / (deviation * (2 / n) ** 0.5 + 1e-6)
    return float(off.max()) < 6 and 0.9 < float(made.std(0).mean() / deviation.mean()) < 1.1


def test_dropout_as_a_function():
    """Training draws it, around the values of evaluation; so does a file that is trained elsewhere."""
    torch.manual_seed(0)
    net, weight = Dropped(), torch.rand(M)

    class Fixed(nn.Module):  # GCNConv's norm follows from the weights: it is not linear in them
        def __init__(self):
            super().__init__()
            self.conv = G.GraphConv(IN, 3)

        def forward(self, x, edge_index, edge_weight):
            return self.conv(F.dropout(x, 0.5, self.training), edge_index, F.dropout(edge_weight, p=0.3, training=self.training))
    for module in (net, Fixed()):
        fast = libgnn.torch.compile(module).eval()
        want, pyg = fast(X, EDGES, weight).detach(), module.eval()(X, EDGES, weight).detach()
        assert close(want, pyg) and torch.equal(fast(X, EDGES, weight), want)
        made, theirs = draws(fast.train(), X, EDGES, weight), draws(module.train(), X, EDGES, weight)
        assert bool((made[0] != made[1]).any())
        assert alike(made, theirs)


def test_modes_of_single_modules():
    """Dropout on while the model evaluates, a frozen norm while it trains, a mode set on the module itself."""
    torch.manual_seed(0)
    net, weight = Dropped(0.0).eval(), torch.rand(M)
    fast = libgnn.torch.compile(net)
    want = fast(X, EDGES, weight)
    net.module.train()
    assert bool((fast(X, EDGES, weight) != fast(X, EDGES, weight)).any()) and not fast.training
    net.module.eval()
    assert torch.equal(fast(X, EDGES, weight), want)
    net.train()
    assert fast.training and bool((fast(X, EDGES, weight) != fast(X, EDGES, weight)).any())

    frozen = nn.Sequential(nn.Linear(IN, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    frozen[1].running_mean.copy_(torch.rand(8))

    class OfNodes(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp, self.conv = frozen, G.GCNConv(3, 3)

        def forward(self, x, edge_index):
            return self.conv(self.mlp(x), edge_index)
    net = OfNodes()
    fast = libgnn.torch.compile(net, fallback=True)
    net.train(), frozen[1].eval()
    before = frozen[1].running_mean.clone()
    assert close(fast(X, EDGES), net(X, EDGES)) and torch.equal(frozen[1].running_mean, before)
    frozen[1].train()
    a, b = fast(X, EDGES), net(X, EDGES)
    assert close(a, b) and not torch.equal(frozen[1].running_mean, before)


class Noisy(Dropped):
    def forward(self, x, edge_index):
        return self.conv(x + torch.randn_like(x) if self.training else x, edge_index)


class Other(Dropped):
    def forward(self, x, edge_index):
        return self.conv(2 * x if self.training else x, edge_index)


class EdgesDropped(Dropped):
    def forward(self, x, edge_index):
        from torch_geometric.utils import dropout_edge
        return self.conv(x, dropout_edge(edge_index, training=self.training)[0])


class SlowNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = G.GCNConv(IN, 3), nn.BatchNorm1d(3, momentum=0.3)

    def forward(self, x, edge_index):
        return self.norm(self.conv(x, edge_index))


STACKS = {"ARMA": lambda: G.ARMAConv(IN, 5, num_layers=2, dropout=0.5), "APPNP": lambda: G.APPNP(3, 0.1, dropout=0.5), "FA": lambda: G.FAConv(IN, dropout=0.5)}


@pytest.mark.parametrize("kind", [Noisy, Other, EdgesDropped, SlowNorm, *STACKS])
def test_other_values_in_training(kind):
    """What a training computes in another way is refused there, and runs in evaluation; PyTorch runs it by fallback=."""
    torch.manual_seed(0)
    net = STACKS[kind]() if kind in STACKS else kind()
    more = (X,) if kind == "FA" else ()
    fast = libgnn.torch.compile(net.eval())
    try:
        assert close(fast(X, *more, EDGES), net(X, *more, EDGES))
    except libgnn.torch.Untraceable:
        assert kind in STACKS
        return
    fast.train()
    try:
        y = fast(X, *more, EDGES)
    except libgnn.torch.Untraceable as refusal:
        assert "training" in str(refusal)
        other = libgnn.torch.compile(net, fallback=True)
        with pytest.warns(UserWarning, match="training"):
            other(X, *more, EDGES)
        assert close(other.eval()(X, *more, EDGES), net(X, *more, EDGES))
        return
    assert kind in STACKS and bool((fast(X, *more, EDGES) != y).any())


def test_parameters_changed_before_a_backward_pass():
    net = G.GCN(IN, 8, 2, 3)
    fast = libgnn.torch.compile(net)
    y = fast(X, EDGES).sum()
    with torch.no_grad():
        net.convs[1].lin.weight.mul_(2)
    with pytest.raises(RuntimeError, match="convs.1.lin.weight was changed"):
        y.backward()


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


def test_parameters_are_the_modules_own():
    net = G.GCN(IN, 8, 2, 3).eval()
    fast = libgnn.torch.compile(net)
    assert list(fast.state_dict()) == list(net.state_dict()) and not fast.training
    fast(X, EDGES)
    for change in (lambda p: p.data.add_(0.1), lambda p: p.data.mul_(0.5), lambda p: setattr(p, "data", torch.randn_like(p))):
        for p in net.parameters():
            change(p)
        assert close(fast(X, EDGES), net(X, EDGES))
    other = G.GCN(IN, 8, 2, 3)
    fast.load_state_dict(other.state_dict())
    assert close(fast(X, EDGES), other.eval()(X, EDGES))
    for made in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert torch.equal(made(X, EDGES), fast(X, EDGES))
        assert next(made.parameters()) is not next(fast.parameters())


def test_frozen_parameters_and_no_grad():
    net = G.GCN(IN, 8, 2, 3)
    net.convs[0].lin.weight.requires_grad_(False)
    fast = libgnn.torch.compile(net)
    fast(X, EDGES).sum().backward()
    assert net.convs[0].lin.weight.grad is None and net.convs[1].lin.weight.grad is not None
    with torch.no_grad():
        assert not fast(X, EDGES).requires_grad
    with torch.inference_mode():
        assert fast.eval()(X, EDGES).shape == (N, 3)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_first_call_without_gradients(mode):
    net = G.GCN(IN, 8, 2, 3).eval()
    fast = libgnn.torch.compile(net)
    with mode():
        x, edges = X.clone(), EDGES.clone()
        assert close(fast(x, edges), net(x, edges)) and not fast(x, edges).requires_grad
    assert fast(X, EDGES).requires_grad


def test_two_runs_before_a_backward_pass():
    net = G.GCN(IN, 8, 2, 3)
    fast = libgnn.torch.compile(net)
    grads = []
    for call in (net, fast):
        net.zero_grad()
        (call(X, EDGES).sum() + call(2 * X, EDGES.flip(0)).pow(2).sum()).backward()
        grads.append([p.grad.clone() for p in net.parameters()])
    assert all(close(a, b) for a, b in zip(*grads))
    y = fast(X, EDGES).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="second"):
        y.backward()


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


def test_hooks_are_refused():
    """A run in libgnn would not call them: PyTorch runs the module by fallback=."""
    net, seen = G.GCN(IN, 8, 2, 3), []
    fast, other = libgnn.torch.compile(net), libgnn.torch.compile(net, fallback=True)
    fast(X, EDGES)
    handle = net.convs[0].register_forward_hook(lambda *_: seen.append(1))
    with pytest.raises(libgnn.torch.Untraceable, match="convs.0 has a hook"):
        fast(X, EDGES)
    with pytest.warns(UserWarning, match="hook"):
        assert close(other(X, EDGES), net(X, EDGES))
    handle.remove()
    assert close(fast(X, EDGES), net(X, EDGES))
    with pytest.raises(libgnn.torch.Untraceable, match="onnx"):
        torch.jit.trace(fast, (X, EDGES))


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 3)

    def forward(self, x, edge_index):
        return torch.linalg.qr(self.conv(x, edge_index))[0]


def test_what_cannot_be_traced():
    with pytest.raises(libgnn.torch.Untraceable, match="qr"):
        libgnn.torch.compile(Odd())(X, EDGES)
    odd = Odd()
    fast = libgnn.torch.compile(odd, fallback=True)
    with pytest.warns(UserWarning, match="layers in libgnn .GCNConv.*qr"):
        y = fast(X, EDGES)
    assert close(y, odd(X, EDGES)) and odd.conv.__class__ is G.GCNConv and list(fast.state_dict()) == list(odd.state_dict())
    grads = []
    for call in (odd, fast):
        odd.zero_grad()
        call(X, EDGES)[:, 0].sum().backward()
        grads.append([p.grad.clone() for p in odd.parameters()])
    assert all(close(a, b) for a, b in zip(*grads))
    with pytest.raises(TypeError, match="float32"):
        libgnn.torch.compile(G.GCNConv(IN, 3).double())(X, EDGES)
    with pytest.raises(TypeError):
        libgnn.torch.compile(lambda x: x)


class Scaled(nn.Module):
    """A product whose matrix is computed of two parameters."""

    def __init__(self):
        super().__init__()
        self.conv, self.w, self.s = G.GCNConv(IN, 3), nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(3, 4))

    def forward(self, x, edge_index):
        return self.conv(x, edge_index) @ (self.w * self.s)


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
    """A number, a string, or None where the default is another value, is never that of an earlier call."""
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
    with pytest.raises(ValueError, match="size"):
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
    """By an object of the same methods, against edge_index; with the package itself where it is installed."""
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

class Detached(nn.Module):
    """One output without a gradient, and one that has a part of it."""

    def __init__(self):
        super().__init__()
        self.one, self.two = G.GCNConv(IN, 4), G.GCNConv(4, 3)

    def forward(self, x, edge_index):
        h = self.one(x, edge_index)
        return h.detach(), self.two(h.relu(), edge_index)


class Stopped(Detached):
    def forward(self, x, edge_index):
        return self.two(self.one(x, edge_index).detach().relu(), edge_index)


class Ungraded(Detached):
    @torch.no_grad()
    def forward(self, x, edge_index):
        return self.two(self.one(x, edge_index), edge_index)


@pytest.mark.parametrize("kind", [Detached, Stopped, Ungraded])
def test_gradients_that_a_module_stops(kind):
    torch.manual_seed(0)
    net, made = kind(), []
    fast = libgnn.torch.compile(net)
    for call in (net, fast):
        net.zero_grad()
        x = X.clone().requires_grad_()
        try:
            out = call(x, EDGES)
        except libgnn.torch.Untraceable as refusal:
            assert kind is Stopped and "gradient" in str(refusal)
            return
        out = out if isinstance(out, tuple) else (out,)
        learned = [y for y in out if y.requires_grad]
        if learned:
            sum(y.pow(2).sum() for y in learned).backward()
        made.append([[y.requires_grad for y in out], *(v.grad if v.grad is not None else torch.zeros(1) for v in (x, *net.parameters()))])
    assert made[0][0] == made[1][0] and all(close(a, b) for a, b in zip(made[0][1:], made[1][1:]))

class Several(nn.Module):
    """A dict of a tuple and a vector, all of them values of nodes."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.score = G.GCNConv(IN, 4), G.GATConv(4, 3, heads=2), nn.Linear(4, 1)

    def forward(self, x, edge_index):
        h = self.one(x, edge_index).relu()
        return {"pair": (h, self.two(h, edge_index)), "score": self.score(h).squeeze(-1)}


def test_several_outputs():
    torch.manual_seed(0)
    net = Several()
    fast, made = libgnn.torch.compile(net), []
    for call in (net, fast):
        net.zero_grad()
        y = call(X, EDGES)
        assert list(y) == ["pair", "score"] and isinstance(y["pair"], tuple) and y["score"].shape == (N,)
        (y["pair"][0].sum() + y["pair"][1].pow(2).sum() + (y["score"] * torch.arange(N)).sum()).backward()
        made.append([*y["pair"], y["score"], *(p.grad.clone() for p in net.parameters())])
    assert all(close(a, b) for a, b in zip(*made))

    class Unequal(Several):
        def forward(self, x, edge_index, batch):
            h = self.one(x, edge_index)
            return h, G.global_mean_pool(h, batch)
    with pytest.raises(libgnn.torch.Untraceable, match="different rows"):
        libgnn.torch.compile(Unequal())(X, WITHIN, BATCH)


def test_no_gradient_is_wrong():
    """What a parameter is computed into is refused where its gradient would be lost."""
    torch.manual_seed(0)
    try:
        compare(Scaled(), EDGES)
    except libgnn.torch.Untraceable as refusal:
        assert "computed from parameters" in str(refusal)


def test_threads():
    net = G.GCN(IN, 8, 2, 3).eval()
    fast, wrong = libgnn.torch.compile(net), []
    want = fast(X, EDGES).detach()

    def work():
        with torch.no_grad():
            for _ in range(50):
                if not torch.equal(fast(X, EDGES), want):
                    wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif("GNN_SANITIZED" in os.environ, reason="the address sanitizer keeps freed memory")
def test_memory_stays_flat():
    def size():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    fast = libgnn.torch.compile(G.GCN(IN, 16, 2, 3))

    def once(k):
        fast(X, EDGES[:, :100 + k % 40]).sum().backward()
        fast(X, EDGES)
    for k in range(300):
        once(k)
    before = size()
    for k in range(1500):
        once(k)
    assert size() - before < 8 << 20


@pytest.mark.parametrize("order", ["import torch, libgnn", "import libgnn; libgnn.GCN; import torch"])
def test_one_openmp(order):
    """Work of the library and of PyTorch in one process starts the threads of one run-time."""
    code = order + """
import os, numpy as np
torch.set_num_threads(2); libgnn.set_threads(2)
count = lambda: len(os.listdir("/proc/self/task"))
x = torch.randn(1500, 1500)
def theirs(): (x.exp().sum(), x @ x)
def ours(): libgnn.TRANSFORMER(64, heads=4)(libgnn.Graph.complete(1500), np.ones((1500, 64), np.float32))
ours() if order else theirs()
first = count()
theirs(); ours(); theirs(); ours()
print(first, count())
""".replace("if order", "if " + str("GCN" in order))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[1]) - int(out[0]) <= int(os.environ.get("GNN_MORE_THREADS", "0")), out


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


@pytest.mark.parametrize("first", [False, True])
def test_defaults_of_pytorch(first):
    """A dtype or a device that PyTorch makes tensors with is not that of the module."""
    net = G.GCN(6, 8, 2, 3, norm="batch_norm", dropout=0.5)
    fast = libgnn.torch.compile(net.eval())
    want = net(X, EDGES).detach()
    if not first:
        fast(X, EDGES)
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        with torch.device("meta"):
            with torch.no_grad():
                y = fast(X, EDGES)
            assert y.dtype == torch.float32 and torch.allclose(y, want, atol=1e-5) and torch.allclose(fast(X, EDGES), want, atol=1e-5)
            fast.train()(X, EDGES).sum().backward()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(before)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


def test_no_call_warns():
    fast = libgnn.torch.compile(G.GCN(6, 8, 2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(X, EDGES).sum().backward()


def test_derivatives_of_derivatives_are_refused():
    """They would count as 0: a penalty on gradients would train nothing."""
    fast, x = libgnn.torch.compile(G.GCN(6, 8, 2, 3, act="tanh")), X.clone().requires_grad_()
    for weigh in (lambda y: y.sum(), lambda y: y.pow(2).sum()):
        g, = torch.autograd.grad(weigh(fast(x, EDGES)), x, create_graph=True)
        for inputs in (x, next(fast.parameters())):
            with pytest.raises(RuntimeError, match="second derivatives"):
                torch.autograd.grad(g.pow(2).sum(), inputs, retain_graph=True)
        with pytest.raises(RuntimeError, match="second derivatives"):
            (weigh(fast(x, EDGES)) + g.pow(2).sum()).backward()
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.functional.hessian(lambda x: fast(x, EDGES).pow(2).sum(), x.detach())
    given, = torch.autograd.grad(fast(x, EDGES).sum(), x, create_graph=True)
    assert torch.equal(given, torch.autograd.grad(fast(x, EDGES).sum(), x)[0])


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_transforms_are_refused(mode):
    from torch.autograd import forward_ad
    net = G.GCN(6, 8, 2, 3).eval()
    fast = libgnn.torch.compile(net)
    fast(X, EDGES)

    def dual():
        with forward_ad.dual_level():
            return fast(forward_ad.make_dual(X, X), EDGES)
    calls = [lambda: torch.vmap(lambda x: fast(x, EDGES))(X[None]), lambda: torch.func.grad(lambda x: fast(x, EDGES).sum())(X), lambda: torch.func.jvp(lambda x: fast(x, EDGES), (X,), (X,)), dual, lambda: torch.jit.script(fast)]
    with mode():
        for call in calls:
            with pytest.raises(libgnn.torch.Untraceable, match="torch.func|torch.jit"):
                call()
        assert torch.allclose(fast(X, EDGES), net(X, EDGES), atol=1e-5)
    others = {name: p.detach() * 2 for name, p in net.named_parameters()}
    assert torch.allclose(torch.func.functional_call(fast, others, (X, EDGES)), torch.func.functional_call(net, others, (X, EDGES)), atol=1e-4)
    own = libgnn.torch.compile(net, fallback=True)
    with pytest.warns(UserWarning, match="torch.func"):
        assert torch.allclose(torch.func.grad(lambda x: own(x, EDGES).sum())(X), torch.func.grad(lambda x: net(x, EDGES).sum())(X), atol=1e-5)
