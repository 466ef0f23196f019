"""compile() in programs that replace parts of a module, run it from several threads, or call it from
code that PyTorch compiles: the same values, or a refusal by name."""
import sys
import threading
import types

import pytest
from networks import EDGES, IN, WITHIN, G, X, close, compare, gradients, nn, torch

import libgnn

F = torch.nn.functional


class Adapted(nn.Module):
    """A Linear with an adapter of low rank, in the place of one. `posing`: it has the attributes of one."""

    def __init__(self, base, posing):
        super().__init__()
        self.base, self.down, self.up = base, nn.Parameter(torch.randn(2, base.in_channels)), nn.Parameter(torch.zeros(base.out_channels, 2))
        if posing:
            self.weight, self.bias = base.weight, base.bias

    def forward(self, x):
        return self.base(x) + x @ self.down.t() @ self.up.t()


@pytest.mark.parametrize("posing", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_linear_with_an_adapter(posing, frozen):
    """An entry of GCNConv reads the weight of its Linear: what stands in its place may compute more."""
    torch.manual_seed(0)
    net = G.GCN(IN, 8, 2, 5)
    for conv in net.convs:
        conv.lin.requires_grad_(not frozen)
        conv.lin = Adapted(conv.lin, posing)
    compare(net, WITHIN)
    fast = libgnn.torch.compile(net.eval())
    fast(X, WITHIN)
    with torch.no_grad():
        net.convs[0].lin.up.fill_(0.5)
    assert close(fast(X, WITHIN), net(X, WITHIN))


@pytest.mark.parametrize("settings", [{}, {"separate_gaussians": True}, {"bias": False}, {"aggr": "max"}])
def test_gaussians_have_gradients(settings):
    """A message that divides by the square of a parameter: that is a step of one row."""
    torch.manual_seed(0)
    values = torch.rand(WITHIN.shape[1], 3)
    net = G.GMMConv(IN, 4, dim=3, kernel_size=2, **settings)
    fast = libgnn.torch.compile(net)
    ours, theirs = (gradients(net, lambda x, call=call: call(x, WITHIN, values)) for call in (fast, net))
    assert all(close(a, b) for a, b in zip(ours, theirs))
    net = G.GMMConv((IN, IN), 4, dim=3, kernel_size=2, **settings)
    given = (X, X[:20]), torch.stack([WITHIN[0], WITHIN[1] % 20]), values
    assert close(libgnn.torch.compile(net)(*given), net(*given))
    with torch.no_grad():
        net.sigma.mul_(0.5)
    assert close(libgnn.torch.compile(net)(*given), net(*given))


conv = G.GCNConv(IN, 4)  # of the name that a layer has below
limit = 0.5


class OfThatName(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index).clamp(max=limit)


def test_variables_of_the_name_of_a_layer(monkeypatch):
    """A notebook has a variable `conv` and a class with self.conv, which reads no such variable."""
    net = OfThatName()
    fast = compare(net, WITHIN)
    monkeypatch.setattr(sys.modules[__name__], "limit", 0.1)  # and that one it reads
    assert close(fast(X, WITHIN), net(X, WITHIN))


def test_functions_that_hold_the_module():
    """Of a lambda's own layer a copy of the module has none: its parameters would be constants."""
    torch.manual_seed(0)
    net = G.GCN(IN, 8, 2, 5).eval()
    net.forward = lambda x, edge_index: net.convs[0](x, edge_index)
    with pytest.raises(libgnn.torch.Untraceable, match=r"reads convs\.0\..* of the module itself"):
        libgnn.torch.compile(net)(X, WITHIN)
    other = G.GCN(IN, 8, 2, 5).eval()
    other.forward = types.MethodType(lambda self, x, edge_index: self.convs[0](x, edge_index), other)  # a copy has its own
    compare(other, WITHIN)


def test_first_calls_from_several_threads():
    """A trace replaces functions of PyTorch and PyG; threads trace one after another, and meanwhile
    see these as they are."""
    import torch_geometric.utils as U
    functions = [getattr(U, name) for name in ("scatter", "remove_self_loops", "add_remaining_self_loops")] + [nn.Module.__call__]
    torch.manual_seed(0)
    nets = [G.GCN(IN, 8, 2, 5).eval() for _ in range(4)]
    fast, other = [libgnn.torch.compile(net) for net in (*nets, nets[0])], G.GAT(IN, 8, 2, 5).eval()
    want, made, wrong = other(X, EDGES).detach(), {}, []

    def call(k):
        try:
            made[k] = fast[k % len(fast)](X, EDGES).detach()
        except Exception as problem:  # noqa: BLE001 (told below)
            wrong.append(problem)

    def run():
        while len(made) + len(wrong) < 10:
            if not torch.equal(other(X, EDGES), want):
                wrong.append("PyTorch")
    threads = [threading.Thread(target=call, args=(k,)) for k in range(10)] + [threading.Thread(target=run)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and all(close(y, fast[k % len(fast)].wrapped(X, EDGES)) for k, y in made.items())
    assert functions == [getattr(U, name) for name in ("scatter", "remove_self_loops", "add_remaining_self_loops")] + [nn.Module.__call__]


def test_functions_that_a_file_imports_later(tmp_path, monkeypatch):
    """Installed modules are searched once, those of a program at each trace."""
    (tmp_path / "later_layer.py").write_text("import torch\n\n\nclass Layer(torch.nn.Module):\n    def forward(self, x, edge_index):\n"
                                             "        return scatter(x[edge_index[0]], edge_index[1], 0, x.shape[0], 'max')\n")
    monkeypatch.syspath_prepend(tmp_path)
    import later_layer
    libgnn.torch.compile(G.GCNConv(IN, 4))(X, EDGES)
    import torch_geometric.utils as U
    later_layer.scatter = U.scatter
    try:
        compare(later_layer.Layer(), EDGES)
    finally:
        del sys.modules["later_layer"]


@pytest.mark.parametrize("first", [0, 40])
@pytest.mark.parametrize("name", ["SumAggregation", "MeanAggregation", "MaxAggregation", "SoftmaxAggregation"])
def test_no_nodes(name, first):
    """Of no rows an aggregation without groups makes none, where a sum over rows makes one."""
    made = getattr(G, name)()
    fast = libgnn.torch.compile(made)
    for count in (first, 0, 40):
        x = X[:count].clone().requires_grad_()
        ours, theirs = fast(x), made(x)
        assert ours.shape == theirs.shape and (not count or close(ours, theirs))
        ours.sum().backward()


def test_inputs_that_are_not_finite_first():
    """What is drawn has the columns of the first call's tensors, also where these are not compared."""
    x = X.clone()
    x[3] = float("nan")
    for made in (G.MaxAggregation(), G.GCNConv(IN, 4)):
        more = (WITHIN,) if isinstance(made, G.GCNConv) else ()
        ours, theirs = libgnn.torch.compile(made)(x, *more), made(x, *more)
        assert torch.equal(ours.isnan(), theirs.isnan()) and close(ours.nan_to_num(), theirs.nan_to_num())


def test_inputs_changed_before_a_backward_pass():
    net = G.GCN(IN, 8, 2, 5)
    fast = libgnn.torch.compile(net)
    for call in (net, fast):
        x = X.clone()
        y = call(x, WITHIN)
        x.mul_(0)
        with pytest.raises(RuntimeError, match=r"modified by an inplace|x was changed in place"):
            y.sum().backward()


@pytest.mark.parametrize("called", [False, True])
def test_called_by_what_pytorch_compiles(called):
    torch.manual_seed(0)
    net = G.GCN(IN, 8, 2, 5).eval()
    fast = libgnn.torch.compile(net)
    if called:
        fast(X, WITHIN)
    outer = torch.compile(fast, backend="eager")
    assert all(close(a, b) for a, b in zip(gradients(net, lambda x: outer(x, WITHIN)), gradients(net, lambda x: net(x, WITHIN))))
    torch._dynamo.reset()


def test_parts_that_no_trace_reads():
    net = G.GCN(IN, 8, 2, 5).eval()
    want, own = net(X, WITHIN), net.convs[0]
    net.convs[0] = libgnn.torch.compile(own)
    with pytest.raises(libgnn.torch.Untraceable, match=r"convs\.0 is compiled already"):
        libgnn.torch.compile(net)(X, WITHIN)
    net.convs[0] = own
    with pytest.raises(libgnn.torch.Untraceable, match="the module is compiled already"):
        libgnn.torch.compile(torch.compile(net, backend="eager"))(X, WITHIN)
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
    set_masks(net, nn.Parameter(torch.rand(WITHIN.shape[1])), WITHIN, apply_sigmoid=True)
    with pytest.raises(libgnn.torch.Untraceable, match=r"convs\.0 has a mask of edges"):
        libgnn.torch.compile(net)(X, WITHIN)
    clear_masks(net)
    assert close(libgnn.torch.compile(net)(X, WITHIN), want)


def test_a_fallback_from_what_the_library_refuses():
    """A graph that the library does not take; outputs of two types of nodes, which it does."""
    net, twice = G.GCNConv(IN, 4), torch.tensor([[0, 0, 1], [0, 0, 2]])
    x = X.clone()
    x[5] = float("inf")
    with pytest.raises(NotImplementedError, match="two self-loops"):
        libgnn.torch.compile(net)(x, twice)
    with pytest.warns(UserWarning, match="two self-loops"):
        assert close(libgnn.torch.compile(net, fallback=True)(x, twice)[:5], net(x, twice)[:5])
    types = (["a", "b"], [("a", "to", "b"), ("b", "to", "a")])
    net = OfThatName()
    net.conv = G.SAGEConv((IN, IN), 4)
    net = G.to_hetero(net, types)
    given = {"a": X[:7], "b": X[:9]}, {types[1][0]: torch.tensor([[0, 6], [8, 1]]), types[1][1]: torch.tensor([[8, 1], [0, 6]])}
    ours, theirs = libgnn.torch.compile(net)(*given), net(*given)
    assert all(close(ours[kind], theirs[kind]) for kind in theirs)


def test_hooks_of_the_state():
    """Those that are set on the compiled module are called, once, alone and as a part of another."""
    fast, seen = libgnn.torch.compile(G.GCNConv(IN, 4)), []
    fast.register_state_dict_post_hook(lambda module, state, prefix, metadata: seen.append(prefix))
    fast.register_load_state_dict_post_hook(lambda module, keys: seen.append("loaded"))
    fast.load_state_dict(fast.state_dict())
    assert seen == ["", "loaded"]
    outer = nn.Sequential(fast)
    outer.load_state_dict(outer.state_dict())
    assert seen == ["", "loaded", "0.", "loaded"]


def test_lazy_layers_keep_their_mode():
    """A refusal to export leaves the module in the mode that it was in."""
    net = G.GCN(-1, 8, 2, 5).train()
    with pytest.raises(libgnn.torch.Untraceable, match="has no shape yet"):
        libgnn.torch.from_pyg.export(net, "never.safetensors")
    assert all(m.training for m in net.modules())
