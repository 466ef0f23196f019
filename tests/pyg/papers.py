"""Networks as repositories of papers write them (OGB's leaderboards, GPR-GNN, H2GCN, EGNN, SchNet,
GraphGPS, link decoders, convolutions of their own), exported and verified by libgnn.

    python tests/pyg/papers.py [NAME ...]

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
from torch_geometric.utils import add_self_loops, degree, dropout_edge, scatter, softmax, to_dense_batch  # noqa: E402

from libgnn.torch import from_pyg  # noqa: E402
from libgnn.torch import pyg_verify  # noqa: E402
from libgnn.torch.pyg_symbols import Untraceable  # noqa: E402

IN = 6
WIDTHS = {"x": IN, "edge_attr": 3, "pe": 4, "pos": 3, "x_dict.user": IN, "x_dict.item": IN}
# Widths of inputs that differ.
OWN = {"OGBMolGIN": {"x": 1, "edge_attr": 1}, "EdgeUpdate": {"edge_attr": 4}, "MetaNet": {"edge_attr": 4}, "TwoHeads": {"edge_attr": 2}}
# What is refused, and by which words.
REFUSED = {"DenseBatchAttention": "no counterpart in libgnn: cumsum"}
NETS = {}


def net(cls):
    NETS[cls.__name__] = cls
    return cls


@net
class JKNetLSTM(nn.Module):

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.GCNConv(IN if i == 0 else 8, 8) for i in range(3)])
        self.jump = G.JumpingKnowledge('lstm', 8, 2)
        self.lin = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        xs = []
        for c in self.convs:
            x = F.relu(c(x, edge_index))
            xs += [x]
        return self.lin(self.jump(xs))


@net
class H2GCNLike(nn.Module):

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(IN, 8)
        self.out = nn.Linear(24, 3)
        self.prop = G.SimpleConv(aggr='mean')

    def forward(self, x, edge_index):
        h0 = self.w(x).relu()
        h1 = self.prop(h0, edge_index)
        h2 = self.prop(h1, edge_index)
        return self.out(torch.hstack([h0, h1, h2])).log_softmax(dim=-1)


@net
class GPRGNN(nn.Module):

    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(IN, 8)
        self.l2 = nn.Linear(8, 3)
        self.temp = nn.Parameter(torch.rand(5))
        self.conv = G.GCNConv(3, 3, bias=False)
        self.K = 4
        self.p = G.APPNP(1, 0.0)

    def forward(self, x, edge_index):
        x = self.l2(F.relu(self.l1(x)))
        hidden = x * self.temp[0]
        for k in range(self.K):
            x = self.p(x, edge_index)
            hidden = hidden + self.temp[k + 1] * x
        return hidden


@net
class FAGCNLike(nn.Module):

    def __init__(self):
        super().__init__()
        self.t1 = nn.Linear(IN, 8)
        self.convs = nn.ModuleList([G.FAConv(8, 0.1) for _ in range(2)])
        self.t2 = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = torch.relu(self.t1(x))
        x0 = x
        for c in self.convs:
            x = c(x, x0, edge_index)
        return F.log_softmax(self.t2(x), 1)


@net
class OGBMolGIN(nn.Module):

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 8)
        self.eemb = nn.Embedding(4, 8)
        self.convs = nn.ModuleList([G.GINEConv(nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))) for _ in range(2)])
        self.bns = nn.ModuleList([nn.BatchNorm1d(8) for _ in range(2)])
        self.pred = nn.Linear(8, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        h = [self.emb(x[:, 0])]
        e = self.eemb(edge_attr[:, 0])
        for i, (c, b) in enumerate(zip(self.convs, self.bns)):
            t = b(c(h[i], edge_index, e))
            if i < 1:
                t = F.relu(t)
            h.append(F.dropout(t, 0.5, training=self.training) + h[i])
        return self.pred(G.global_mean_pool(h[-1], batch))


@net
class VirtualNode(nn.Module):

    def __init__(self):
        super().__init__()
        self.vn = nn.Embedding(1, 8)
        self.enc = nn.Linear(IN, 8)
        self.c = nn.ModuleList([G.GINConv(nn.Linear(8, 8)) for _ in range(2)])
        self.m = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x, edge_index, batch):
        v = self.vn(torch.zeros(int(batch[-1]) + 1, dtype=torch.long, device=x.device))
        h = self.enc(x)
        for c in self.c:
            h = h + v[batch]
            h = F.relu(c(h, edge_index))
            v = v + self.m(G.global_add_pool(h, batch) + v)
        return G.global_mean_pool(h, batch)


@net
class Set2SetNet(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GraphConv(IN, 8)
        self.s = G.Set2Set(8, 3)
        self.o = nn.Linear(16, 2)

    def forward(self, x, edge_index, batch):
        return self.o(self.s(self.c(x, edge_index).relu(), batch))


@net
class AttnReadout(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.SAGEConv(IN, 8)
        self.g = nn.Linear(8, 1)
        self.o = nn.Linear(8, 3)

    def forward(self, x, edge_index, batch):
        x = self.c(x, edge_index).tanh()
        a = softmax(self.g(x), batch)
        return self.o(G.global_add_pool(a * x, batch))


@net
class AttnAggr(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.SAGEConv(IN, 8)
        self.a = G.AttentionalAggregation(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), nn.Linear(8, 4))
        self.o = nn.Linear(4, 3)

    def forward(self, x, edge_index, batch):
        return self.o(self.a(self.c(x, edge_index).relu(), batch))


@net
class CustomGCN(nn.Module):

    class Conv0(G.MessagePassing):

        def __init__(self, i, o):
            super().__init__(aggr='add')
            self.lin = nn.Linear(i, o, bias=False)
            self.bias = nn.Parameter(torch.rand(o))

        def forward(self, x, edge_index):
            edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
            x = self.lin(x)
            row, col = edge_index
            deg = degree(col, x.size(0), dtype=x.dtype)
            dis = deg.pow(-0.5)
            dis[dis == float('inf')] = 0
            return self.propagate(edge_index, x=x, norm=dis[row] * dis[col]) + self.bias

        def message(self, x_j, norm):
            return norm.view(-1, 1) * x_j

    def __init__(self):
        super().__init__()
        self.c1 = self.Conv0(IN, 8)
        self.c2 = self.Conv0(8, 3)

    def forward(self, x, edge_index):
        return self.c2(F.relu(self.c1(x, edge_index)), edge_index)


@net
class CustomEdgeConv(nn.Module):

    class Conv1(G.MessagePassing):

        def __init__(self, i, o):
            super().__init__(aggr='max')
            self.mlp = nn.Sequential(nn.Linear(2 * i, o), nn.ReLU(), nn.Linear(o, o))

        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_i, x_j):
            return self.mlp(torch.cat([x_i, x_j - x_i], dim=1))

    def __init__(self):
        super().__init__()
        self.c = self.Conv1(IN, 5)

    def forward(self, x, edge_index):
        return self.c(x, edge_index)


@net
class CustomUpdate(nn.Module):

    class Conv2(G.MessagePassing):

        def __init__(self, d):
            super().__init__(aggr='mean')
            self.m = nn.Linear(d + 3, d)
            self.g = nn.GRUCell(d, d)

        def forward(self, x, edge_index, edge_attr):
            return self.propagate(edge_index, x=x, edge_attr=edge_attr)

        def message(self, x_j, edge_attr):
            return F.relu(self.m(torch.cat([x_j, edge_attr], -1)))

        def update(self, aggr_out, x):
            return self.g(aggr_out, x)

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(IN, 8)
        self.c = self.Conv2(8)
        self.o = nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_attr):
        x = self.l(x)
        for _ in range(2):
            x = self.c(x, edge_index, edge_attr)
        return self.o(x)


@net
class CustomGAT(nn.Module):

    class Conv3(G.MessagePassing):

        def __init__(self, i, o):
            super().__init__(aggr='add', node_dim=0)
            self.w = nn.Linear(i, o)
            self.a = nn.Parameter(torch.rand(1, 2 * o))

        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=self.w(x))

        def message(self, x_i, x_j, index, ptr, size_i):
            al = (torch.cat([x_i, x_j], -1) * self.a).sum(-1)
            al = softmax(F.leaky_relu(al, 0.2), index, ptr, size_i)
            return x_j * al.unsqueeze(-1)

    def __init__(self):
        super().__init__()
        self.c = self.Conv3(IN, 5)

    def forward(self, x, edge_index):
        return self.c(x, edge_index)


@net
class EdgeScorer(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.SAGEConv(IN, 8)
        self.l = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x, edge_index, edge_label_index):
        z = self.c(x, edge_index)
        src, dst = edge_label_index
        return self.l(torch.cat((z[src], z[dst]), -1)).view(-1)


@net
class DistMult(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GCNConv(IN, 8)
        self.r = nn.Parameter(torch.rand(8))

    def forward(self, x, edge_index, edge_label_index):
        z = self.c(x, edge_index)
        return torch.sigmoid((z[edge_label_index[0]] * self.r * z[edge_label_index[1]]).sum(dim=-1))


@net
class EdgeUpdate(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(2 * 8 + 4, 8)
        self.n = nn.Linear(IN, 8)
        self.u = nn.Linear(16, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, x, edge_index, edge_attr):
        row, col = edge_index
        h = self.n(x)
        e = F.relu(self.e(torch.cat([h[row], h[col], edge_attr], 1)))
        agg = scatter(e, col, dim=0, dim_size=x.size(0), reduce='sum')
        return self.o(F.relu(self.u(torch.cat([h, agg], 1))))


@net
class MetaNet(nn.Module):

    class EM(nn.Module):

        def __init__(self):
            super().__init__()
            self.m = nn.Sequential(nn.Linear(2 * IN + 4, 5), nn.ReLU(), nn.Linear(5, 4))

        def forward(self, src, dst, edge_attr, u, batch):
            return self.m(torch.cat([src, dst, edge_attr], 1))

    class NM(nn.Module):

        def __init__(self):
            super().__init__()
            self.m = nn.Sequential(nn.Linear(IN + 4, 6))
            self.n = nn.Linear(IN + 6, 6)

        def forward(self, x, edge_index, edge_attr, u, batch):
            row, col = edge_index
            o = self.m(torch.cat([x[row], edge_attr], 1))
            o = scatter(o, col, 0, dim_size=x.size(0), reduce='mean')
            return self.n(torch.cat([x, o], 1))

    def __init__(self):
        super().__init__()
        self.l = G.MetaLayer(self.EM(), self.NM(), None)

    def forward(self, x, edge_index, edge_attr):
        x, e, _ = self.l(x, edge_index, edge_attr)
        return x


@net
class DeepGCNRes(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(IN, 8)
        self.layers = nn.ModuleList([G.DeepGCNLayer(G.GENConv(8, 8, aggr='softmax', t=1.0, learn_t=True, num_layers=2, norm='layer'), nn.LayerNorm(8, elementwise_affine=True), nn.ReLU(inplace=True), block='res+', dropout=0.1) for _ in range(3)])
        self.l = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = self.e(x)
        x = self.layers[0].conv(x, edge_index)
        for l in self.layers[1:]:
            x = l(x, edge_index)
        return self.l(self.layers[0].act(self.layers[0].norm(x)))


@net
class MixHop(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.MixHopConv(IN, 4, [0, 1, 2])
        self.n = nn.BatchNorm1d(12)
        self.d = G.MixHopConv(12, 4, [0, 1, 2])
        self.l = nn.Linear(12, 3)

    def forward(self, x, edge_index):
        return self.l(self.d(F.relu(self.n(self.c(x, edge_index))), edge_index))


@net
class GraphTransformerPE(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(IN, 8)
        self.p = nn.Linear(4, 8)
        self.c = G.TransformerConv(8, 4, heads=2, edge_dim=3, beta=True)
        self.n = nn.LayerNorm(8)
        self.f = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.n2 = nn.LayerNorm(8)

    def forward(self, x, pe, edge_index, edge_attr):
        h = self.e(x) + self.p(pe)
        h = self.n(h + self.c(h, edge_index, edge_attr))
        return self.n2(h + self.f(h))


@net
class GPSNet(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(IN, 8)
        self.g = nn.ModuleList([G.GPSConv(8, G.GINEConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), edge_dim=3), heads=2) for _ in range(2)])
        self.o = nn.Linear(8, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        x = self.e(x)
        for g in self.g:
            x = g(x, edge_index, batch, edge_attr=edge_attr)
        return self.o(G.global_add_pool(x, batch))


@net
class SortPoolNet(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GCNConv(IN, 8)
        self.p = G.SortAggregation(k=4)
        self.l = nn.Linear(32, 2)

    def forward(self, x, edge_index, batch):
        return self.l(self.p(self.c(x, edge_index), batch))


@net
class TopKStack(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GraphConv(IN, 8)
        self.p = G.TopKPooling(8, 0.8)
        self.d = G.GraphConv(8, 8)
        self.l = nn.Linear(32, 2)

    def forward(self, x, edge_index, batch):
        x = F.relu(self.c(x, edge_index))
        x, edge_index, _, batch, _, _ = self.p(x, edge_index, None, batch)
        a = torch.cat([G.global_max_pool(x, batch), G.global_mean_pool(x, batch)], 1)
        x = F.relu(self.d(x, edge_index))
        b = torch.cat([G.global_max_pool(x, batch), G.global_mean_pool(x, batch)], 1)
        return self.l(torch.cat([a, b], 1))


@net
class Lightning(nn.Module):

    def __init__(self, hparams=None):
        super().__init__()
        self.model = G.GraphSAGE(IN, 8, num_layers=2, out_channels=3, norm='batch', act='elu', jk='cat')
        self.loss_module = nn.CrossEntropyLoss()

    def forward(self, data, mode='train'):
        x, edge_index = (data.x, data.edge_index)
        return self.model(x, edge_index)


@net
class ResidualGatedNet(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(IN, 8)
        self.c = nn.ModuleList([G.ResGatedGraphConv(8, 8, edge_dim=3) for _ in range(2)])
        self.b = nn.ModuleList([G.BatchNorm(8) for _ in range(2)])
        self.o = nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_attr):
        x = self.e(x)
        for c, b in zip(self.c, self.b):
            x = x + F.relu(b(c(x, edge_index, edge_attr)))
        return self.o(x)


@net
class ChebSpectral(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.ChebConv(IN, 8, 3, normalization='sym')
        self.d = G.ChebConv(8, 3, 2)

    def forward(self, x, edge_index, edge_weight):
        return self.d(F.relu(self.c(x, edge_index, edge_weight)), edge_index, edge_weight)


@net
class DropEdgeGCN(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GCNConv(IN, 3)

    def forward(self, x, edge_index):
        edge_index, _ = dropout_edge(edge_index, p=0.3, training=self.training)
        return self.c(x, edge_index)


@net
class LightGCNLike(nn.Module):

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8)
        self.convs = nn.ModuleList([G.LGConv() for _ in range(3)])
        self.alpha = torch.tensor([0.25, 0.25, 0.25, 0.25])

    def forward(self, node_id, edge_index):
        x = self.emb(node_id)
        out = x * self.alpha[0]
        for i in range(3):
            x = self.convs[i](x, edge_index)
            out = out + x * self.alpha[i + 1]
        return out


@net
class MultiAggr(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.SAGEConv(IN, 8, aggr=['mean', 'max', 'std'])
        self.o = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        return self.o(F.elu(self.c(x, edge_index)))


@net
class PNANet(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Linear(IN, 8)
        self.c = G.PNAConv(8, 8, ['mean', 'min', 'max', 'std'], ['identity', 'amplification', 'attenuation'], torch.tensor([0, 4, 9, 6, 3]), edge_dim=3, towers=2, pre_layers=1, post_layers=1, divide_input=False)
        self.b = G.BatchNorm(8)
        self.m = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, x, edge_index, edge_attr, batch):
        return self.m(G.global_add_pool(F.relu(self.b(self.c(self.e(x), edge_index, edge_attr))), batch))


@net
class TwoHeads(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GATv2Conv(IN, 4, heads=2, edge_dim=2, add_self_loops=False)
        self.mu = G.GCNConv(8, 3)
        self.ls = G.GCNConv(8, 3)

    def forward(self, x, edge_index, edge_attr):
        h = F.elu(self.c(x, edge_index, edge_attr))
        return (self.mu(h, edge_index), self.ls(h, edge_index))


@net
class NormedFeatures(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GATConv(IN, 4, heads=2, concat=False)
        self.n = G.PairNorm()
        self.o = nn.Linear(4, 3)

    def forward(self, x, edge_index):
        x = F.normalize(x, p=2, dim=-1)
        x = self.n(self.c(x, edge_index))
        x = x.clamp(min=0) ** 2
        return self.o(x / (1 + x.abs().sum(1, keepdim=True)))


@net
class DenseBatchAttention(nn.Module):

    def __init__(self):
        super().__init__()
        self.c = G.GCNConv(IN, 8)
        self.a = nn.MultiheadAttention(8, 2, batch_first=True)
        self.o = nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        h = self.c(x, edge_index)
        d, mask = to_dense_batch(h, batch)
        o, _ = self.a(d, d, d, key_padding_mask=~mask, need_weights=False)
        return self.o(o[mask])


@net
class Hetero(nn.Module):

    def __init__(self):
        super().__init__()
        self.l = nn.ModuleDict({'user': nn.Linear(IN, 8), 'item': nn.Linear(IN, 8)})
        self.c = G.HeteroConv({('user', 'buys', 'item'): G.SAGEConv((8, 8), 8), ('item', 'rev_buys', 'user'): G.GATConv((8, 8), 8, add_self_loops=False), ('user', 'knows', 'user'): G.GCNConv(8, 8)}, aggr='sum')
        self.o = nn.Linear(8, 2)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {k: self.l[k](v).relu() for k, v in x_dict.items()}
        x_dict = self.c(x_dict, edge_index_dict)
        x_dict = {k: F.leaky_relu(v) for k, v in x_dict.items()}
        return self.o(x_dict['item'])


@net
class TensorProductEGNN(nn.Module):

    def __init__(self):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(2 * IN + 1, 8), nn.SiLU(), nn.Linear(8, 8), nn.SiLU())
        self.h = nn.Sequential(nn.Linear(IN + 8, 8), nn.SiLU(), nn.Linear(8, IN))

    def forward(self, x, pos, edge_index):
        i, j = edge_index
        d = (pos[i] - pos[j]).pow(2).sum(-1, keepdim=True)
        m = self.m(torch.cat([x[i], x[j], d], -1))
        a = scatter(m, i, 0, x.size(0), reduce='sum')
        return x + self.h(torch.cat([x, a], -1))


@net
class SchNetLike(nn.Module):

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 8)
        self.off = nn.Parameter(torch.linspace(0, 5, 6), requires_grad=False)
        self.f = nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 8))
        self.l = nn.Linear(8, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, z, pos, edge_index, batch):
        row, col = edge_index
        d = (pos[row] - pos[col]).norm(dim=-1)
        rbf = torch.exp(-2.0 * (d.view(-1, 1) - self.off.view(1, -1)) ** 2)
        h = self.e(z)
        w = self.f(rbf)
        m = scatter(self.l(h)[row] * w, col, 0, h.size(0), reduce='sum')
        return G.global_add_pool(self.o(F.softplus(m) - 0.69), batch)


def check(name, cls, folder):
    """None: as expected."""
    torch.manual_seed(1)
    module = cls().eval()
    with torch.no_grad():
        for p in module.parameters():
            if p.requires_grad and p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
    path = os.path.join(folder, name)
    try:
        made = from_pyg.export(module, path, widths={**WIDTHS, **OWN.get(name, {})})
    except Untraceable as error:
        return None if REFUSED.get(name, "\n") in str(error) and not os.path.exists(path) else f"{name}: refused: {error}"
    if name in REFUSED:
        return f"{name}: exported, a refusal is expected"
    return None if any(note.startswith("verified") for note in made.notes) else f"{name}: {made.notes[-1]}"


def main(only):
    if pyg_verify.find() is None:
        sys.exit("papers.py: no shared library of libgnn was found (GNN_LIBRARY)")
    with tempfile.TemporaryDirectory() as folder:
        checks = [check(name, cls, folder) for name, cls in NETS.items() if not only or name in only]
    found = [words for words in checks if words]
    print("\n".join(found + [f"{len(checks) - len(found)} of {len(checks)} as expected"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
