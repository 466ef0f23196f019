"""compile(): what a module computes from its parameters alone, numbers that it makes of them, and
values that are not finite."""
import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
F = torch.nn.functional
nn = torch.nn

import libgnn  # noqa: E402
from networks import BATCH, EDGES, IN, N, WITHIN, X, close, compare, gradients  # noqa: E402

parametrize = torch.nn.utils.parametrize


class Base(nn.Module):
    """A convolution, and what a subclass does with it by a matrix, a row and a number."""

    def __init__(self):
        super().__init__()
        self.conv, self.matrix, self.row, self.scale = G.GraphConv(IN, 4), nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4)), nn.Parameter(torch.tensor(0.7))

    def forward(self, x, edge_index):
        return self.by(self.conv(x, edge_index))


def changed(w):
    w = w.clone()
    w[0] = 0
    w.view(-1)[7:].mul_(2)
    return w


COMPUTED = {
    "product": lambda m, h: h @ (m.matrix * m.row), "low rank": lambda m, h: F.linear(h, m.matrix + m.matrix[:, :2] @ m.matrix[:2]), "symmetric": lambda m, h: h @ (m.matrix.triu() + m.matrix.triu(1).t()),
    "orthogonal": lambda m, h: h @ torch.linalg.matrix_exp(0.3 * (m.matrix - m.matrix.t())), "clamp": lambda m, h: h * m.scale.clamp(-1, 1), "relu": lambda m, h: h * m.row.relu(),
    "abs": lambda m, h: F.linear(h, m.matrix.abs(), m.row), "softmax": lambda m, h: sum(a * v for a, v in zip(m.row.softmax(0), (h, h.tanh(), h.relu()))), "sigmoid": lambda m, h: m.scale.sigmoid() * h,
    "in place": lambda m, h: h @ changed(m.matrix), "parts": lambda m, h: h @ torch.cat([m.matrix[:2].relu(), m.matrix[2:].tanh()]), "diagonal": lambda m, h: h @ torch.diag(m.row.exp()),
    "norm": lambda m, h: h @ F.normalize(m.matrix, dim=0), "statistics": lambda m, h: h * (m.row - m.row.mean()) / m.row.std(), "einsum": lambda m, h: torch.einsum("ni,ij,jk->nk", h, m.matrix, m.matrix),
    "expanded": lambda m, h: h + (2 * m.row).expand(h.shape[0], -1), "two": lambda m, h: h * m.scale.exp() + h * m.scale.clamp(0.5, 0.6),
}


def net(by):
    torch.manual_seed(0)
    return type("Net", (Base,), {"by": lambda self, h: by(self, h)})()


@pytest.mark.parametrize("name", COMPUTED)
def test_values_computed_from_parameters(name):
    """Equal with gradients, also where training moves a parameter to where a function is another one."""
    made = net(COMPUTED[name])
    fast = compare(made, EDGES)
    for k in range(3):
        with torch.no_grad():
            for p in made.parameters():
                p.copy_(torch.randn_like(p) * (k + 1))
        ours, theirs = (gradients(made, lambda x, call=call: call(x, EDGES)) for call in (fast, made))
        assert all(close(a, b) for a, b in zip(ours, theirs))


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


def parametrized(module, name="weight"):
    parametrize.register_parametrization(module, name, Symmetric())
    return module


@pytest.mark.parametrize("change", [torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.parametrizations.orthogonal, parametrized, torch.nn.utils.parametrizations.spectral_norm])
def test_parametrized_weights(change):
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.lin = G.GCNConv(IN, 8), change(nn.Linear(8, 8))

        def forward(self, x, edge_index):
            return self.lin(self.conv(x, edge_index).relu())
    made = Net()
    if change is not torch.nn.utils.parametrizations.spectral_norm:
        compare(made, WITHIN)
        return
    fast = libgnn.torch.compile(made.eval())
    ours, theirs = (gradients(made, lambda x, call=call: call(x, WITHIN)) for call in (fast, made))
    assert all(close(a, b) for a, b in zip(ours, theirs))
    with pytest.raises(libgnn.torch.Untraceable, match="test_computed.py.*_u"):  # training moves its vectors
        fast.train()(X, WITHIN)


def test_poolings_have_gradients():
    """Their scores are divided by the norm of a weight."""
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.top, self.sag, self.last = G.GCNConv(IN, 8), G.TopKPooling(8, 0.7), G.SAGPooling(8, 0.6), G.GraphConv(8, 3)

        def forward(self, x, edge_index, batch):
            x = self.conv(x, edge_index).relu()
            for pool in (self.top, self.sag):
                x, edge_index, _, batch, _, _ = pool(x, edge_index, None, batch)
            return G.global_mean_pool(self.last(x, edge_index), batch)
    compare(Net(), WITHIN, BATCH)


@pytest.mark.parametrize("nn_of", [lambda: G.MLP([IN, 8, 5]), lambda: nn.Linear(IN, 5)])
def test_a_learned_eps(nn_of):
    """It is a step of a GINConv whose nn is no Linear, ReLU, Linear."""
    torch.manual_seed(0)
    conv = G.GINConv(nn_of(), eps=0.3, train_eps=True)
    compare(conv, EDGES)
    assert float(conv.eps.grad.abs()) > 0


def test_frozen_parameters_of_a_product():
    made = net(lambda m, h: F.linear(h, m.matrix + m.matrix.t().relu() * m.scale))
    made.matrix.requires_grad_(False)
    compare(made, EDGES)
    assert made.matrix.grad is None and made.scale.grad is not None


def test_weights_that_training_draws():
    made = net(lambda m, h: h @ F.dropout(m.matrix, 0.5, m.training))
    fast = libgnn.torch.compile(made.eval())
    assert close(fast(X, EDGES), made(X, EDGES))
    with pytest.raises(libgnn.torch.Untraceable, match="other values in training"):
        fast.train()(X, EDGES)


NUMBERS = {"item": lambda m, h: h * m.scale.item(), "float": lambda m, h: h * float(m.scale.detach()), "if": lambda m, h: 2 * h if m.scale > 0 else h, "max": lambda m, h: h * max(m.scale, 0.2),
           "norm": lambda m, h: h / 2 if m.conv.lin_rel.weight.norm() > 1 else h, "order": lambda m, h: h[:, m.row.argsort()], "list": lambda m, h: h * sum(m.row.detach().tolist())}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_parameters_are_refused(name):
    """Training changes them, and a trace would keep the first."""
    with pytest.raises(libgnn.torch.Untraceable, match=r"test_computed.py:\d+ (makes a number of Python of|reads indices or a mask that follow from) a parameter"):
        libgnn.torch.compile(net(NUMBERS[name]))(X, EDGES)


FINITE = {"nan_to_num": lambda x: torch.nan_to_num(x), "isnan": lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), x), "isfinite": lambda x: x.masked_fill(~torch.isfinite(x), 0.0),
          "inf": lambda x: x.masked_fill(x == float("inf"), 1.0)}


@pytest.mark.parametrize("name", FINITE)
def test_values_that_are_not_finite(name):
    """What is replaced only where features are not finite, which a trace does not see."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = G.GraphConv(IN, 4)

        def forward(self, x, edge_index):
            return self.conv(FINITE[name](x), edge_index)
    with pytest.raises(libgnn.torch.Untraceable, match=r"test_computed.py:\d+"):
        libgnn.torch.compile(Net())(X, EDGES)


def test_values_rounded_inside():
    for kind in (torch.bfloat16, torch.float16):
        with pytest.raises(libgnn.torch.Untraceable, match=f"rounded to {kind}"):
            libgnn.torch.compile(net(lambda m, h, kind=kind: h.to(kind).float()))(X, EDGES)


def test_what_pytorch_has_no_gradient_of():
    """Values as PyTorch's; a backward pass raises PyTorch's own error."""
    made = net(lambda m, h: h.exp().mul_(2))
    fast, messages = libgnn.torch.compile(made), []
    assert close(fast(X, EDGES), made(X, EDGES))
    for call in (made, fast):
        with pytest.raises(RuntimeError, match="inplace") as problem:
            call(X, EDGES).sum().backward()
        messages.append(str(problem.value).split("[")[0])
    assert messages[0] == messages[1]


def test_functions_that_torch_compiled():
    act = torch.compile(lambda h: F.gelu(h) * 2, backend="eager")
    made = net(lambda m, h: act(h))
    assert close(libgnn.torch.compile(made)(X, EDGES), made(X, EDGES))


def test_functions_called_in_another_form():
    out = torch.empty(N, 4)
    for by, word in ((lambda m, h: torch.mul(h, 2, out=out), "out="), (lambda m, h: torch.autograd.grad(h.sum(), h)[0], "a gradient inside|does not require grad"), (lambda m, h: h.std(dim=1, other=3), "other")):
        with torch.no_grad(), pytest.raises((libgnn.torch.Untraceable, TypeError, RuntimeError), match=word):
            libgnn.torch.compile(net(by))(X, EDGES)


class Loops(G.MessagePassing):
    def __init__(self):
        super().__init__(aggr="add")
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index, edge_weight):
        from torch_geometric.utils import add_remaining_self_loops
        edge_index, edge_weight = add_remaining_self_loops(edge_index, edge_weight, 1.0, x.size(0))
        return self.propagate(edge_index, x=self.lin(x), weight=edge_weight)

    def message(self, x_j, weight):
        return weight.view(-1, 1) * x_j


def test_weights_of_several_self_loops():
    """Of which the last counts; PyTorch's gradient of the others is not a derivative, and refused
    where it is asked for."""
    made, weight = Loops(), torch.rand(WITHIN.shape[1] + 3)
    fast, edges = libgnn.torch.compile(made), torch.cat([WITHIN, torch.tensor([[3, 3, 5], [3, 3, 5]])], 1)
    own = []
    for net in (fast, made):
        made.zero_grad()
        y = net(X, edges, weight)
        y.square().sum().backward()
        own.append((y.detach(), made.lin.weight.grad.clone()))
    assert all(map(close, *own))
    with pytest.raises(libgnn.torch.Untraceable, match=r"node 3 has two self-loops \(edges 160 and 161\)"):
        fast(X, edges, weight.clone().requires_grad_())
    kept = torch.arange(edges.shape[1]) != edges.shape[1] - 2
    assert close(fast(X, edges[:, kept], weight[kept]), made(X, edges[:, kept], weight[kept]))
