"""Networks and inputs of the tests of compile(), and comparisons with PyTorch. Without PyTorch and
PyG the tests that import this file are left out."""
import pytest

torch = pytest.importorskip("torch")
G = pytest.importorskip("torch_geometric.nn")
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


def draws(fast, *given):
    return torch.stack([fast(*given).detach() for _ in range(2000)])


def alike(made, theirs):
    """Draws of one distribution, by mean and deviation of each element."""
    n, deviation = len(theirs), theirs.std(0)
    off = (made.mean(0) - theirs.mean(0)).abs() / (deviation * (2 / n) ** 0.5 + 1e-6)
    return float(off.max()) < 6 and 0.9 < float(made.std(0).mean() / deviation.mean()) < 1.1
