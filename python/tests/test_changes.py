"""compile(): what changes after a module was traced is seen, or refused by its name; never another value."""
import copy
import functools
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402

N, IN = 30, 6
EDGES = torch.randint(0, N, (2, 120), generator=torch.Generator().manual_seed(1))
X = torch.randn(N, IN, generator=torch.Generator().manual_seed(2))
FACTOR = 2.0
TABLE = {"slope": 0.1}


class Settings:
    shift = -0.5


def doubled(x):
    return x * FACTOR


def made_by(factor):
    def function(x):
        return x * factor

    def change(value):
        nonlocal factor
        factor = value
    return function, change


class Base(nn.Module):
    of_class = 0.5


class Net(Base):
    """Values of every kind that forward() can read."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = G.GCNConv(IN, 4), nn.BatchNorm1d(4), nn.Dropout(0.3)
        self.two = nn.ModuleList([G.GATConv(4, 4, heads=2, concat=False), G.SAGEConv(4, 4)])
        self.alpha, self.steps, self.act, self.others, self.rates = 0.25, 2, torch.relu, [7.0], [0.5, 0.25]
        self.settings, self.options = types.SimpleNamespace(power=2.0), {"slope": 0.2}
        self.plain, self.array = torch.rand(4), np.array([1.0, -0.5], np.float32)
        self.register_buffer("scale", torch.rand(4))
        self.register_buffer("other", torch.rand(4), persistent=False)
        self.outer, self.change_outer = made_by(1.5)
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.normal_(p)
        self.part = functools.partial(F.leaky_relu, negative_slope=0.1)

    def forward(self, x, edge_index):
        x = self.norm(self.conv(x, edge_index))
        for k in range(self.steps):
            x = self.act(self.two[k % 2](x, edge_index)) * self.alpha + x
        x = x * self.scale + self.other * self.plain + self.rates[1] + float(self.array[1])
        x = F.leaky_relu(x, self.options["slope"]) * self.settings.power + self.of_class + Settings.shift
        return self.part(self.outer(doubled(self.drop(x)))) + TABLE["slope"]


def put(name, value):
    return lambda net: setattr(net, name, value)


def globally(name, value):
    return lambda net: globals().__setitem__(name, value)


def prune(net):
    import torch.nn.utils.prune as pruning
    pruning.l1_unstructured(net.two[1].lin_l, "weight", 0.5)


# After each the module computes something else, or it is refused.
CHANGES = {
    "number": put("alpha", 0.75), "count": put("steps", 3), "function": put("act", torch.tanh), "list": lambda net: net.rates.__setitem__(1, -1.0), "from list to list": lambda net: net.rates.insert(0, net.others.pop()), "dictionary": lambda net: net.options.update(slope=0.9),
    "object": lambda net: setattr(net.settings, "power", 0.5), "tensor in place": lambda net: net.plain.mul_(3), "tensor": put("plain", torch.ones(4)), "array": lambda net: net.array.__setitem__(1, 7.0),
    "buffer in place": lambda net: net.scale.add_(1), "buffer": put("scale", torch.ones(4)), "data of a buffer": lambda net: setattr(net.scale, "data", torch.ones(4)), "hidden buffer": lambda net: net.other.zero_(),
    "load_state_dict": lambda net: net.load_state_dict({k: v + 1 if v.is_floating_point() else v for k, v in net.state_dict().items()}), "assigned": lambda net: net.load_state_dict(Net().state_dict(), assign=True),
    "class": lambda net: setattr(Base, "of_class", 0.9), "class of settings": lambda net: setattr(Settings, "shift", 0.1), "global": globally("FACTOR", 3.0), "item of a global": lambda net: TABLE.update(slope=0.7),
    "function of the program": globally("doubled", lambda x: x * 5), "variable of a function": lambda net: net.change_outer(2.5), "partial": lambda net: net.part.keywords.update(negative_slope=0.6),
    "option of a layer": lambda net: setattr(net.conv, "add_self_loops", False), "slope of a layer": lambda net: setattr(net.two[0], "negative_slope", 0.9), "eps": lambda net: setattr(net.norm, "eps", 0.5),
    "layer": lambda net: setattr(net, "conv", G.GCNConv(IN, 4, normalize=False, add_self_loops=False).eval()), "layer of a list": lambda net: net.two.__setitem__(0, G.SAGEConv(4, 4).eval()), "data": lambda net: setattr(net.conv.bias, "data", torch.ones(4)),
    "running_mean": lambda net: net.norm.running_mean.add_(1), "parameter": lambda net: setattr(net.conv, "bias", nn.Parameter(torch.ones(4))), "no bias": lambda net: setattr(net.conv, "bias", None),
    "tied": lambda net: setattr(net.two[1].lin_l, "weight", net.two[1].lin_r.weight), "forward": lambda net: setattr(net, "forward", types.MethodType(lambda self, x, edge_index: self.conv(x, edge_index), net)),
    "shape": lambda net: setattr(net.conv.bias, "data", torch.ones(1)), "half": lambda net: net.half(), "meta": lambda net: net.to("meta"), "double": lambda net: net.double(),
    "weight norm": lambda net: nn.utils.parametrizations.weight_norm(net.two[1].lin_l), "spectral norm": lambda net: nn.utils.parametrizations.spectral_norm(net.two[1].lin_l),
    "old weight norm": lambda net: nn.utils.weight_norm(net.two[1].lin_l), "old spectral norm": lambda net: nn.utils.spectral_norm(net.two[1].lin_l), "pruned": prune,
    "hook": lambda net: net.two[0].register_forward_hook(lambda m, given, y: y * 2), "hook on messages": lambda net: net.two[0].register_message_forward_hook(lambda m, given, y: y * 2),
    "hook before aggregation": lambda net: net.conv.register_propagate_forward_hook(lambda m, given, y: y * 2),
    "mask of an explanation": lambda net: explain(net),
}
REFUSED = {"half", "meta", "double", "weight norm", "spectral norm", "old weight norm", "old spectral norm", "pruned", "hook", "shape", "forward"}


def explain(net):
    from torch_geometric.explain.algorithm.utils import set_masks
    set_masks(net, nn.Parameter(torch.randn(EDGES.shape[1])), EDGES)


def outcome(module, x):
    try:
        return module(x, EDGES)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def close(ours, theirs):
    return ours.shape == theirs.shape and (not ours.numel() or float((ours - theirs).detach().abs().max()) <= 1e-5 * max(1.0, float(theirs.detach().abs().max())))


@pytest.fixture
def restored():
    kept = {name: globals()[name] for name in ("FACTOR", "doubled")}, dict(TABLE), Base.of_class, Settings.shift
    yield
    globals().update(kept[0])
    TABLE.update(kept[1])
    Base.of_class, Settings.shift = kept[2:]


THROUGH = ("number", "count", "function", "tensor", "buffer", "layer")  # set on the compiled module
CASES = [(name, "module") for name in CHANGES] + [(name, "compiled") for name in THROUGH] + [(name, "fallback") for name in sorted(REFUSED - {"shape"})]


@pytest.mark.parametrize("name, mode", CASES)
def test_changes(name, mode, restored):
    torch.manual_seed(0)
    net = Net().eval()
    fast = libgnn.torch.compile(net, fallback=mode == "fallback")
    for _ in range(2):  # the second call knows the form of its arguments
        before = fast(X, EDGES).detach()
    assert close(before, net(X, EDGES))
    with torch.no_grad():
        CHANGES[name](fast if mode == "compiled" else net)
    torch.manual_seed(1)
    theirs = outcome(net, X)
    try:
        torch.manual_seed(1)
        ours = fast(X, EDGES)
    except (libgnn.torch.Untraceable, TypeError, ValueError, RuntimeError) as refusal:
        assert str(refusal) and (name in REFUSED or theirs is None or name in ("mask of an explanation", "hook on messages", "hook before aggregation"))
        return
    assert theirs is None or close(ours, theirs) and (name.endswith("weight norm") or not close(before, theirs))


def test_the_same_value_is_traced_once():
    net = Net().eval()
    fast = libgnn.torch.compile(net)
    fast(X, EDGES)
    plan = next(iter(fast.plans.values()))
    net.alpha, net.rates[1], net.settings.power = float("0.25"), float("0.25"), float("2.0")
    net.train().eval()
    net(X, EDGES)
    net.train()(X, EDGES)
    fast(X, EDGES)
    assert list(fast.plans.values()) == [plan]


def test_attributes_are_the_modules_own():
    net = Net().eval()
    fast = libgnn.torch.compile(net)
    fast.alpha, fast.new = 0.5, 3
    assert net.alpha == 0.5 and net.new == 3 and fast.alpha == 0.5
    del fast.new
    assert not hasattr(net, "new") and not hasattr(fast, "new")
    assert list(fast.state_dict()) == list(net.state_dict()) and "other" not in fast.state_dict()
    assert fast.load_state_dict(net.state_dict()).missing_keys == []
    seen = []
    fast.apply(seen.append)
    assert net in seen
    outer = nn.Sequential(fast)
    assert list(outer.state_dict()) == [f"0.{key}" for key in net.state_dict()]
    outer.load_state_dict(outer.state_dict())


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.calls, self.seen = G.GCNConv(IN, 4), 0, []
        self.register_buffer("mean", torch.zeros(4))


class Counter(Counting):
    def forward(self, x, edge_index):
        self.calls += 1
        return self.conv(x, edge_index) * self.calls


class Average(Counting):
    def forward(self, x, edge_index):
        x = self.conv(x, edge_index)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.mean


class InPlace(Counting):
    def forward(self, x, edge_index):
        self.mean.add_(1)
        return self.conv(x, edge_index) + self.mean


class Keeping(Counting):
    def forward(self, x, edge_index):
        x = self.conv(x, edge_index)
        self.seen.append(x)
        return x.relu()


CALLS = 0


class Globally(Counting):
    def forward(self, x, edge_index):
        global CALLS
        CALLS += 1
        return self.conv(x, edge_index) * CALLS


@pytest.mark.parametrize("kind", [Counter, Average, InPlace, Keeping, Globally])
def test_what_forward_changes_is_refused(kind):
    torch.manual_seed(0)
    net = kind().eval()
    fast = libgnn.torch.compile(net.train())
    name = {Counter: "calls", Average: "mean", InPlace: "mean", Keeping: "seen", Globally: "CALLS"}[kind]
    with pytest.raises(libgnn.torch.Untraceable, match=name):
        fast(X, EDGES)
    if kind is Average:
        assert close(fast.eval()(X, EDGES), net(X, EDGES))
    other = libgnn.torch.compile(copy.deepcopy(net).train(), fallback=True)
    with pytest.warns(UserWarning, match=name):
        other(X, EDGES)


class Hidden(nn.Module):
    """A layer that is not among the modules."""

    def __init__(self):
        super().__init__()
        self.conv, self.rest = G.GCNConv(IN, 4), [nn.Linear(4, 3)]

    def forward(self, x, edge_index):
        return self.rest[0](self.conv(x, edge_index))


def test_layers_that_a_module_does_not_list():
    """PyTorch gives their parameters gradients."""
    net = Hidden()
    with pytest.raises(libgnn.torch.Untraceable, match=r"rest\[0\].weight"):
        libgnn.torch.compile(net)(X, EDGES)
    for p in net.rest[0].parameters():
        p.requires_grad_(False)
    fast = libgnn.torch.compile(net)
    for _ in range(2):
        assert close(fast(X, EDGES), net(X, EDGES))
        net.rest[0].weight.mul_(2)


def test_hooks_on_all_modules():
    fast = libgnn.torch.compile(G.GCN(IN, 8, 2, 3))
    fast(X, EDGES)
    handle = nn.modules.module.register_module_forward_hook(lambda m, given, y: None)
    try:
        with pytest.raises(libgnn.torch.Untraceable, match="hook on all modules"):
            fast(X, EDGES)
    finally:
        handle.remove()
    fast(X, EDGES)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_inputs_that_are_not_finite(value):
    net, x = G.GCN(IN, 8, 2, 3, act="tanh").eval(), X.clone()
    x[3, 2] = value
    ours, theirs = libgnn.torch.compile(net)(x, EDGES), net(x, EDGES)
    assert torch.equal(torch.isfinite(ours), torch.isfinite(theirs)) and close(ours[torch.isfinite(ours)], theirs[torch.isfinite(theirs)])


def test_errors_of_entries_are_not_refusals(monkeypatch):
    """A fault in the code of an entry is told as such; it does not become the steps of forward()."""
    from libgnn.torch import pyg_modules, pyg_symbols, pyg_trace
    for problem in (TypeError("wrong"), AttributeError("wrong"), IndexError("wrong"), KeyError("wrong")):
        def entry(t, m, name, a, problem=problem):
            raise problem
        monkeypatch.setitem(pyg_modules.ROWS, G.GCNConv, entry)
        with pytest.raises(libgnn.torch.Untraceable, match="wrong"):
            libgnn.torch.compile(G.GCNConv(IN, 4))(X, EDGES)

    def refusing(t, m, name, a):
        return t.refuse("counterpart of this one")
    monkeypatch.setitem(pyg_modules.ROWS, G.GCNConv, refusing)
    net = G.GCNConv(IN, 4)
    assert close(libgnn.torch.compile(net)(X, EDGES), net(X, EDGES))
    monkeypatch.setattr(pyg_trace.Trace, "metadata", lambda self: {}["nosuch"])
    with pytest.raises(KeyError, match="nosuch"):
        libgnn.torch.compile(net)(X, EDGES)
    monkeypatch.undo()
    monkeypatch.setattr(pyg_modules, "flag", None)
    with pytest.raises(pyg_symbols.Fault, match="please report"):
        libgnn.torch.compile(net)(X, EDGES)
    other = libgnn.torch.compile(net, fallback=True)
    with pytest.warns(UserWarning, match="please report"):
        assert close(other(X, EDGES), net(X, EDGES))


def test_wrong_calls_raise_what_the_module_raises():
    fast = libgnn.torch.compile(G.GCNConv(IN, 4), fallback=True)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        fast(X, EDGES, None, None)
    net = G.GCN(IN, 4, 2, 3)
    for first in (True, False):
        fast = libgnn.torch.compile(net)
        if not first:
            fast(X, EDGES)
        for word, call in {"edge_idx": lambda: fast(X, edge_idx=EDGES), "missing.*edge_index": lambda: fast(X), "missing.*'x'": lambda: fast(), "several values of x": lambda: fast(X, EDGES, x=X)}.items():
            with pytest.raises(TypeError, match=word):
                call()
        for x, edges, weight in ((X[0], EDGES, None), (X, EDGES, torch.rand(4)), (X, EDGES - 1, None), (X[:3], EDGES, None), (X[:, :5], EDGES, None), (X, EDGES, torch.ones(EDGES.shape[1]).long())):
            with pytest.raises(Exception) as theirs:
                net(x, EDGES if edges is None else edges, weight)
            with pytest.raises((type(theirs.value), ValueError, TypeError)) as ours:
                fast(x, edges, weight)
            assert "please report" not in str(ours.value)


@pytest.mark.parametrize("name", ["GCN", "SGC", "TAG", "APPNP"])
def test_weights_of_no_edges(name):
    """Symmetric norms of learned weights, where the graph of a later call has no edges."""
    net = {"GCN": lambda: G.GCNConv(IN, 4), "SGC": lambda: G.SGConv(IN, 4, K=2), "TAG": lambda: G.TAGConv(IN, 4), "APPNP": lambda: G.APPNP(3, 0.1)}[name]().eval()
    fast, weight = libgnn.torch.compile(net), torch.rand(EDGES.shape[1])
    for m in (120, 0, 7, 0):
        x, w = X.clone().requires_grad_(), weight[:m].clone().requires_grad_()
        ours, theirs = fast(x, EDGES[:, :m], w), net(x, EDGES[:, :m], w)
        assert close(ours, theirs)
        assert all(close(a, b) for a, b in zip(torch.autograd.grad(ours.sum(), (x, w)), torch.autograd.grad(theirs.sum(), (x, w))))


def test_a_setting_that_no_constructor_gives():
    """Of an MLP whose norms do not fit its layers: forward() is followed."""
    net = G.MLP([IN, 8, 4], norm="batch_norm").eval()
    net.plain_last = False
    assert close(libgnn.torch.compile(net)(X), net(X))
