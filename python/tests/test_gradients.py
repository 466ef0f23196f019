"""compile() where programs take gradients: optimisers, several backward passes, hooks, parameters of
another kind, copies, parts of other modules. What a run in libgnn cannot do is refused by name."""
import copy
import io

import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
U = pytest.importorskip("torch_geometric.utils")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402
from networks import EDGES, IN, N, X, close  # noqa: E402

LABELS = torch.arange(N) % 3


class Net(nn.Module):
    """A norm after the activation: zeros of a row are what the norm makes of its offset."""

    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two = G.GCNConv(IN, 8), nn.BatchNorm1d(8), G.SAGEConv(8, 3)

    def forward(self, x, edge_index):
        return self.two(self.norm(F.relu(self.one(x, edge_index))), edge_index)


def made(fast):
    torch.manual_seed(0)
    net = Net().eval()
    return libgnn.torch.compile(net) if fast else net


def loss(net, x=X):
    return F.cross_entropy(net(x, EDGES), LABELS)


def grads(net):
    return [torch.zeros(1) if p.grad is None else p.grad for p in net.parameters()]


def learned(net):
    return [p.detach() for p in net.parameters()] + [net(X, EDGES).detach()]


OPTIMISERS = {
    "Adam": lambda p: torch.optim.Adam(p, 0.01), "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "LBFGS": lambda p: torch.optim.LBFGS(p, 0.5, max_iter=4), "wolfe": lambda p: torch.optim.LBFGS(p, line_search_fn="strong_wolfe", max_iter=4),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(name):
    results = []
    for fast in (False, True):
        net = made(fast).train()
        optimiser = OPTIMISERS[name](net.parameters())

        def closure():
            optimiser.zero_grad()
            value = loss(net)
            value.backward()
            if name == "momentum":
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            return value
        for _ in range(3):
            optimiser.step(closure)
        results.append(learned(net.eval()))
    assert all(float((a - b).abs().max()) < 1e-3 for a, b in zip(*results))


def accumulated(net):
    for k in (1, 2, 3):
        (loss(net, X * k) / 3).backward()
    return grads(net)


def in_training(net):
    net.train()
    with torch.no_grad():
        target = net(X, EDGES)
    F.mse_loss(net(2 * X, EDGES), target).backward()
    return [*grads(net), net.norm.running_var]


def losses_of_one_run(net):
    y = net.train()(X, EDGES)
    for column in range(3):
        y[:, column].sum().backward(retain_graph=column < 2)
        loss(net, 2 * X)  # another run between two backward passes
    return [*grads(net), net.norm.running_var]


def jacobian(net):
    return [torch.autograd.functional.jacobian(lambda x: net(x, EDGES)[:2], X)]


def checkpointed(net):
    from torch.utils.checkpoint import checkpoint
    x = X.clone().requires_grad_()
    checkpoint(net, x, EDGES, use_reentrant=False).pow(2).sum().backward()
    return [x.grad, *grads(net)]


def hooked(net):
    seen = []
    for p in net.parameters():
        p.register_hook(lambda g: (seen.append(1), 2 * g)[1])
    loss(net).backward()
    return [*grads(net), torch.tensor(len(seen))]


def hooked_as_a_whole(net):
    net.register_forward_hook(lambda module, given, y: 2 * y)
    net.register_full_backward_hook(lambda module, dx, dy: tuple(None if d is None else 3 * d for d in dx))
    x = X.clone().requires_grad_()
    net(x, EDGES).pow(2).sum().backward()
    return [x.grad, *grads(net)]


def fast_weights(net):
    """A step of MAML of the first order: parameters that are computed from others."""
    own = dict(net.named_parameters())
    step = torch.autograd.grad(loss(net), list(own.values()))
    F.cross_entropy(torch.func.functional_call(net, {name: p - 0.1 * g for (name, p), g in zip(own.items(), step)}, (X, EDGES)), LABELS).backward()
    return [*grads(net), net(X, EDGES).detach()]


def frozen(net):
    net.train()
    net.norm.eval()
    net.one.requires_grad_(False)
    loss(net).backward()
    return [*grads(net), net.norm.running_mean]


def shared(net):
    other = nn.Linear(IN, 8, bias=False)
    other.weight = net.one.lin.weight
    (loss(net) + other(X).pow(2).sum()).backward()
    return grads(net)


def replaced(net):
    net(X, EDGES)
    net.two = G.GraphConv(8, 3)
    net.one.lin.weight = nn.Parameter(torch.ones(8, IN))
    loss(net).backward()
    return [net(X, EDGES).detach(), grads(net)[1]]


def partly_loaded(net):
    net(X, EDGES)
    found = net.load_state_dict({"one.bias": torch.ones(8), "more": torch.ones(1)}, strict=False)
    assert found.unexpected_keys == ["more"] and "one.bias" not in found.missing_keys
    return [net(X, EDGES).detach()]


def saved(net):
    loss(net)
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    other = torch.load(file, weights_only=False)
    loss(other).backward()
    assert all(p.grad is None for p in net.parameters())
    return grads(other)


def copied(net):
    average = torch.optim.swa_utils.AveragedModel(net)
    other = copy.deepcopy(net)
    loss(other).backward()
    average.update_parameters(other)
    return [*grads(other), average(X, EDGES).detach()]


def in_parallel(net):
    loss(nn.DataParallel(net)).backward()
    return grads(net)


def as_a_part(net):
    torch.manual_seed(1)
    whole = G.Sequential("x, edge_index", [(net, "x, edge_index -> x"), nn.ReLU(), nn.Linear(3, 3)]).train()
    copied = copy.deepcopy(whole)
    assert list(copied.state_dict()) == [name.replace("wrapped.", "") for name in whole.state_dict()]
    loss(copied).backward()
    return [*grads(copied), *whole.eval().state_dict().values()]


USES = [accumulated, in_training, losses_of_one_run, jacobian, checkpointed, hooked, hooked_as_a_whole, fast_weights, frozen, shared, replaced, partly_loaded, saved, copied, in_parallel, as_a_part]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_uses_that_are_equal(use):
    results = []
    for fast in (False, True):
        net = made(fast)
        torch.manual_seed(2)
        results.append(use(net))
    assert len(results[0]) == len(results[1]) and all(close(a.float(), b.float()) for a, b in zip(*results))


def test_dropout_of_a_second_backward_pass():
    """It has the values of the run, also where other runs have drawn since."""
    torch.manual_seed(0)
    fast = libgnn.torch.compile(G.GAT(IN, 8, 2, 3, dropout=0.5)).train()
    y = fast(X, EDGES).sum()
    first = torch.autograd.grad(y, list(fast.parameters()), retain_graph=True)
    fast(X, EDGES)
    assert all(torch.equal(a, b) for a, b in zip(first, torch.autograd.grad(y, list(fast.parameters()))))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, list(fast.parameters()))


def test_statistics_that_change_before_a_backward_pass():
    net = made(True)
    value = loss(net)
    net.train()(X, EDGES)
    with pytest.raises(RuntimeError, match="norm.running_mean was changed"):
        value.backward()
    first, _ = loss(net), loss(net)  # a norm that trains reads none
    first.backward()


class Doubled(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **kwargs or {})
        return 2 * made if function is F.relu else made


def batched(net):
    x = X.clone().requires_grad_()
    y = net(x, EDGES)
    torch.autograd.grad(y, x, torch.ones(2, *y.shape), is_grads_batched=True)


def doubled(net):
    with Doubled():
        net(X, EDGES)


def recorded(net):
    from torch.fx.experimental.proxy_tensor import make_fx
    make_fx(lambda x: net(x, EDGES))(X)


REFUSED = {"is_grads_batched": batched, "Doubled": doubled, "make_fx": recorded, "to_hetero": lambda net: G.to_hetero(net, (["a"], [("a", "to", "a")])),
           "symbolic_trace": torch.fx.symbolic_trace, "torch.func": lambda net: torch.func.vmap(lambda x: net(x, EDGES))(X[None])}


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_uses_that_are_refused(name, called):
    net = made(True)
    if called:
        net(X, EDGES)
    with pytest.raises((libgnn.torch.Untraceable, RuntimeError), match=name):
        REFUSED[name](net)
    assert close(net(X, EDGES), net.wrapped(X, EDGES))


def test_outputs_of_edges_that_no_step_reads():
    net = libgnn.torch.compile(G.MetaLayer())
    attr = torch.randn(EDGES.shape[1], 3)
    for edges, values in ((EDGES, attr), (EDGES[:, :50], attr[:50])):
        x, given, _ = net(X, edges, values)
        assert torch.equal(x, X) and torch.equal(given, values)


class Counted(nn.Module):
    """Nodes counted by the edges, of which the last may have none."""

    def __init__(self, count):
        super().__init__()
        self.lin, self.count = nn.Linear(IN, 3), count

    def forward(self, x, edge_index):
        return self.count(self.lin(x), edge_index)


COUNTS = {
    "scatter": lambda x, e: U.scatter(x[e[0]], e[1]), "add_self_loops": lambda x, e: U.scatter(x[U.add_self_loops(e)[0][0]], U.add_self_loops(e)[0][1], 0, x.size(0)),
    "max": lambda x, e: torch.zeros(int(e.max()) + 1, 3).index_add(0, e[1], x[e[0]]), "degree": lambda x, e: x / U.degree(e[0]).mean(), "EGConv": G.EGConv(3, 8, ["sum"]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_nodes_by_the_edges(name):
    """PyG counts no node after the last that an edge names, which later graphs may have."""
    net = Counted(COUNTS[name]).eval()
    fast = libgnn.torch.compile(net)
    last = torch.tensor([[N - 1], [N - 1]])
    assert close(fast(X, EDGES), net(X, EDGES))
    assert close(fast(X, torch.cat([EDGES % 9, last], 1)), net(X, torch.cat([EDGES % 9, last], 1)))
    with pytest.raises(libgnn.torch.Untraceable, match="num_nodes"):
        fast(X, EDGES % 9)
    weighted = libgnn.torch.compile(Counted(lambda x, e: U.scatter(U.softmax(x[e[0]], e[1]) * x[e[0]], e[1], 0, x.size(0))))
    assert close(weighted(X, EDGES % 9), weighted.wrapped(X, EDGES % 9))
