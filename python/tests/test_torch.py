"""compile(): values and gradients of PyG's modules, training, and what it refuses."""
import copy
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref

import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402
from libgnn._objects import Context  # noqa: E402
from libgnn.torch.runs import Tape  # noqa: E402
from networks import BATCH, EDGES, IN, LAYERS, M, N, WITHIN, X, alike, close, compare, draws  # noqa: E402


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
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


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


def test_a_product_of_parameters():
    torch.manual_seed(0)
    compare(Scaled(), EDGES)


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


def test_a_tape_is_freed_before_its_context():
    freed, tape = [], Tape(Context(1, 0, False))
    weakref.finalize(tape._pointer, freed.append, "tape")
    weakref.finalize(tape.context._pointer, freed.append, "context")
    del tape
    assert freed == ["tape", "context"]


def test_deterministic_algorithms_of_pytorch():
    """The flag holds from the next call on, for outputs and gradients, also of a tape that has run."""
    net, made = G.GCN(256, 256, 2, 256), []
    x, edges = torch.randn(3000, 256), torch.randint(0, 3000, (2, 9000))
    fast = [libgnn.torch.compile(net, threads=count) for count in (1, 2)]
    for one in fast:
        one(x, edges).sum().backward()
    torch.use_deterministic_algorithms(True)
    try:
        for one in fast:
            net.zero_grad()
            y = one(x, edges)
            y.square().sum().backward()
            made.append([y.detach(), *[p.grad.clone() for p in net.parameters()]])
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(*pair) for pair in zip(*made))


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
