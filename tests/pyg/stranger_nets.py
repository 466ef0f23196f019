"""Nets in styles that styles.py and nets.py do not have, for strangers.py: own message passing, jumps,
gates, norms, virtual nodes, readouts, masks, functions of torch_geometric.utils."""
import math

import torch
import torch.nn.functional as F
import torch_geometric.nn as G
import torch_geometric.utils as U
from torch import nn

IN, EDGE = 6, 3
NETS = {}


def net(*inputs, **more):
    """Registers a net; `inputs` name its arguments (strangers.py draws them)."""
    def add(make):
        NETS[make.__name__] = (make, inputs or ("x", "edge_index"), more)
        return make
    return add


def mlp(*widths, norm=True):
    parts = []
    for i, o in zip(widths[:-2], widths[1:-1]):
        parts += [nn.Linear(i, o)] + ([nn.LayerNorm(o)] if norm else []) + [nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(widths[-2], widths[-1]))


# ---- own message passing ----


class WithEdges(G.MessagePassing):
    """Edge features through an mlp, a gate per message, an update with the receiver's own row."""

    def __init__(self, i, o, aggr="add"):
        super().__init__(aggr=aggr)
        self.lin, self.edge, self.gate, self.own = nn.Linear(i, o), mlp(EDGE, 7, o), nn.Linear(2 * o, 1), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index, edge_attr):
        return self.propagate(edge_index, x=x, h=self.lin(x), edge_attr=self.edge(edge_attr))

    def message(self, h_i, h_j, edge_attr):
        return torch.sigmoid(self.gate(torch.cat([h_i, h_j], -1))) * (h_j + edge_attr)

    def update(self, aggr_out, x):
        return aggr_out + self.own(x)


@net("x", "edge_index", "edge_attr")
class EdgesByMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = WithEdges(IN, 8), WithEdges(8, 5, "mean")

    def forward(self, x, edge_index, edge_attr):
        return self.b(F.gelu(self.a(x, edge_index, edge_attr)), edge_index, edge_attr)


class Updating(G.MessagePassing):
    """edge_updater, whose values message() reads."""

    def __init__(self, i, o):
        super().__init__(aggr="add", node_dim=0)
        self.lin, self.att = nn.Linear(i, o), nn.Parameter(torch.randn(1, 2, o // 2))

    def forward(self, x, edge_index):
        h = self.lin(x).view(x.size(0), 2, -1)
        alpha = self.edge_updater(edge_index, h=h)
        return self.propagate(edge_index, h=h, alpha=alpha).flatten(1)

    def edge_update(self, h_i, h_j, index, ptr, size_i):
        return U.softmax((F.leaky_relu(h_i + h_j, 0.2) * self.att).sum(-1), index, ptr, size_i)

    def message(self, h_j, alpha):
        return h_j * alpha.unsqueeze(-1)


@net()
class EdgeUpdates(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Updating(IN, 8), Updating(8, 6)

    def forward(self, x, edge_index):
        return self.b(torch.relu(self.a(x, edge_index)), edge_index)


class Aggregating(G.MessagePassing):
    """Its own aggregate(): a sum and a largest value, scaled by degree."""

    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(2 * i, o)

    def forward(self, x, edge_index):
        return self.lin(self.propagate(edge_index, x=x, size=(x.size(0), x.size(0))))

    def message(self, x_j):
        return x_j

    def aggregate(self, inputs, index, dim_size=None):
        total = U.scatter(inputs, index, 0, dim_size, "sum")
        most = U.scatter(inputs, index, 0, dim_size, "max")
        return torch.cat([total / U.degree(index, dim_size).clamp(min=1).view(-1, 1), most], -1)


@net()
class OwnAggregate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Aggregating(IN, 8), Aggregating(8, 3)

    def forward(self, x, edge_index):
        return self.b(self.a(x, edge_index).tanh(), edge_index)


class Normed(G.MessagePassing):
    """GCN of PyG's tutorial: loops, degrees, a norm by hand."""

    def __init__(self, i, o):
        super().__init__(aggr="add")
        self.lin, self.bias = nn.Linear(i, o, bias=False), nn.Parameter(torch.randn(o))

    def forward(self, x, edge_index):
        edge_index, _ = U.add_self_loops(edge_index, num_nodes=x.size(0))
        x = self.lin(x)
        row, col = edge_index
        deg = U.degree(col, x.size(0), dtype=x.dtype)
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        return self.propagate(edge_index, x=x, norm=norm) + self.bias

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


@net()
class Tutorial(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Normed(IN, 8), Normed(8, 4)

    def forward(self, x, edge_index):
        return F.log_softmax(self.b(F.relu(self.a(x, edge_index)), edge_index), dim=-1)


class Reversed(G.MessagePassing):
    """target_to_source, with message and update of both ends."""

    def __init__(self, i, o):
        super().__init__(aggr="max", flow="target_to_source")
        self.mlp = mlp(2 * i, 9, o)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_i, x_j):
        return self.mlp(torch.cat([x_i, x_j - x_i], dim=1))


@net()
class AgainstTheEdges(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Reversed(IN, 8), Reversed(8, 3)

    def forward(self, x, edge_index):
        return self.b(self.a(x, edge_index), edge_index)


class Distances(G.MessagePassing):
    """E(n)-equivariant: positions move along differences."""

    def __init__(self, width):
        super().__init__(aggr="mean")
        self.phi, self.move, self.own = mlp(2 * width + 1, 8, width, norm=False), nn.Linear(width, 1, bias=False), mlp(2 * width, 8, width, norm=False)

    def forward(self, x, pos, edge_index):
        out = self.propagate(edge_index, x=x, pos=pos)
        away, heard = out[:, :3], out[:, 3:]
        return x + self.own(torch.cat([x, heard], -1)), pos + away

    def message(self, x_i, x_j, pos_i, pos_j):
        d = pos_i - pos_j
        m = self.phi(torch.cat([x_i, x_j, (d ** 2).sum(-1, keepdim=True)], -1))
        return torch.cat([d * self.move(m), m], -1)


@net("x", "pos", "edge_index")
class Equivariant(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = Distances(IN), Distances(IN), nn.Linear(IN, 2)

    def forward(self, x, pos, edge_index):
        x, pos = self.a(x, pos, edge_index)
        x, pos = self.b(x, pos, edge_index)
        return self.out(x)


@net("x", "edge_index", "edge_weight")
class SeveralAggregations(nn.Module):
    """aggr as a list with modes, and message_and_aggregate not used."""

    def __init__(self):
        super().__init__()
        self.a = G.SAGEConv(IN, 8, aggr=["mean", "max", "std"])
        self.b = G.SimpleConv(aggr=["mean", "min"], combine_root="self_loop")
        self.lin = nn.Linear(16, 3)

    def forward(self, x, edge_index, edge_weight):
        return self.lin(self.b(self.a(x, edge_index).relu(), edge_index, edge_weight))


# ---- jumps, residuals, gates ----


@net()
class Jumps(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.GCNConv(IN, 8)] + [G.GCNConv(8, 8) for _ in range(3)])
        self.jump, self.jump2, self.out = G.JumpingKnowledge("max"), G.JumpingKnowledge("lstm", 8, 2), nn.LazyLinear(3)

    def forward(self, x, edge_index):
        xs = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            xs += [x]
        return self.out(torch.cat((self.jump(xs), self.jump2(xs)), dim=-1))


@net()
class Deep(nn.Module):
    """DeeperGCN with res+ layers."""

    def __init__(self):
        super().__init__()
        self.first, self.layers = nn.Linear(IN, 8), nn.ModuleList()
        for k in range(1, 4):
            conv = G.GENConv(8, 8, aggr="softmax", t=1.0, learn_t=True, num_layers=2, norm="layer")
            self.layers.append(G.DeepGCNLayer(conv, nn.LayerNorm(8, elementwise_affine=True), nn.ReLU(inplace=True), block="res+", dropout=0.0, ckpt_grad=k % 3))
        self.out = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = self.layers[0].conv(self.first(x), edge_index)
        for layer in self.layers[1:]:
            x = layer(x, edge_index)
        x = self.layers[0].act(self.layers[0].norm(x))
        return self.out(F.dropout(x, p=0.0, training=self.training))


@net()
class Gated(nn.Module):
    """Residuals with gates: highway layers and ReZero."""

    def __init__(self):
        super().__init__()
        self.first, self.convs, self.gates = nn.Linear(IN, 8), nn.ModuleList(G.GraphConv(8, 8) for _ in range(2)), nn.ModuleList(nn.Linear(16, 8) for _ in range(2))
        self.alphas = nn.ParameterList([nn.Parameter(torch.tensor(0.3)) for _ in range(2)])

    def forward(self, x, edge_index):
        h = self.first(x)
        for conv, gate, alpha in zip(self.convs, self.gates, self.alphas):
            new = conv(h, edge_index)
            z = gate(torch.cat([h, new], 1)).sigmoid()
            h = z * new.tanh() + (1.0 - z) * h + alpha * F.silu(new)
        return h


@net()
class Lerped(nn.Module):
    """torch.lerp, addcmul, addcdiv, baddbmm-free arithmetic in one expression."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.w = G.GATConv(IN, 4, heads=2), G.SAGEConv(IN, 8), nn.Parameter(torch.rand(8))

    def forward(self, x, edge_index):
        a, b = self.a(x, edge_index), self.b(x, edge_index)
        y = torch.lerp(a, b, self.w)
        y = torch.addcmul(y, a, b, value=0.5)
        return torch.addcdiv(y, a, b.abs() + 1.0)


# ---- norms ----


@net("x", "edge_index", "batch")
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.norms = nn.Linear(IN, 8), nn.ModuleList([G.BatchNorm(8), G.GraphNorm(8), G.LayerNorm(8, mode="node"), G.PairNorm(scale_individually=True), G.DiffGroupNorm(8, 2), G.MessageNorm(True)])
        self.conv, self.more = G.GCNConv(8, 8), nn.BatchNorm1d(8, affine=False)

    def forward(self, x, edge_index, batch):
        x = self.lin(x)
        for norm in self.norms[:3]:
            x = norm(x, batch) if isinstance(norm, G.GraphNorm) else norm(x)
            x = self.conv(x, edge_index).relu()
        x = self.norms[4](self.norms[3](x))
        return self.more(self.norms[5](x, self.conv(x, edge_index)))


@net()
class NormOfGroups(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.group, self.local, self.rms = G.GCNConv(IN, 8), nn.GroupNorm(4, 8), nn.LocalResponseNorm(2), nn.RMSNorm(8)

    def forward(self, x, edge_index):
        h = self.group(self.conv(x, edge_index))
        return self.rms(h) + F.layer_norm(h, (8,)) + F.normalize(h, p=1, dim=1)


# ---- graphs: virtual nodes, pools, readouts ----


@net("x", "edge_index", "batch")
class VirtualNode(nn.Module):
    """OGB's virtual node: an embedding per graph, changed by what its nodes sum to."""

    def __init__(self):
        super().__init__()
        self.virtual, self.first = nn.Embedding(1, 8), nn.Linear(IN, 8)
        self.convs, self.mlps = nn.ModuleList(G.GINConv(mlp(8, 16, 8)) for _ in range(3)), nn.ModuleList(mlp(8, 16, 8) for _ in range(2))
        self.out = nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        virtual = self.virtual(torch.zeros(int(batch[-1]) + 1, dtype=edge_index.dtype, device=edge_index.device))
        h = self.first(x)
        for k, conv in enumerate(self.convs):
            h = h + virtual[batch]
            h = conv(h, edge_index).relu()
            if k < len(self.mlps):
                virtual = virtual + self.mlps[k](G.global_add_pool(h, batch) + virtual)
        return self.out(G.global_mean_pool(h, batch))


@net("x", "edge_index", "batch")
class VirtualRow(nn.Module):
    """The same by a parameter that is expanded."""

    def __init__(self):
        super().__init__()
        self.token, self.conv, self.lin = nn.Parameter(torch.randn(1, 8)), G.SAGEConv(IN, 8), nn.Linear(8, 8)

    def forward(self, x, edge_index, batch):
        h = self.conv(x, edge_index)
        means = G.global_mean_pool(h, batch)
        token = self.token.expand(means.size(0), -1)
        token = token + self.lin(means)
        return h + token.index_select(0, batch)


@net("x", "edge_index", "batch")
class Readouts(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)
        self.readouts = nn.ModuleDict({"set": G.Set2Set(8, 3), "att": G.AttentionalAggregation(mlp(8, 8, 1)), "soft": G.SoftmaxAggregation(learn=True), "sort": G.SortAggregation(4),
                                       "multi": G.MultiAggregation(["mean", "max", G.StdAggregation()], mode="cat")})

    def forward(self, x, edge_index, batch):
        h = self.conv(x, edge_index)
        return torch.cat([readout(h, batch) for readout in self.readouts.values()], dim=-1)


@net("x", "edge_index", "batch")
class DenseBatch(nn.Module):
    """to_dense_batch and a transformer over each graph."""

    def __init__(self):
        super().__init__()
        self.conv, self.layer = G.GCNConv(IN, 8), nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x, edge_index, batch):
        dense, mask = U.to_dense_batch(self.conv(x, edge_index), batch)
        return self.layer(dense, src_key_padding_mask=~mask)[mask]


@net("x", "edge_index", "batch")
class DenseMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 8)

    def forward(self, x, edge_index, batch):
        dense, mask = U.to_dense_batch(self.conv(x, edge_index), batch)
        return dense.sum(1) / mask.sum(1, keepdim=True)


@net()
class DenseAdjacency(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        adj = U.to_dense_adj(edge_index, max_num_nodes=x.size(0)).squeeze(0)
        return self.lin(adj.t() @ x)


@net("x", "edge_index", "batch")
class DiffPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.assign, self.embed = G.DenseGCNConv(IN, 4), G.DenseGCNConv(IN, 8)

    def forward(self, x, edge_index, batch):
        dense, mask = U.to_dense_batch(x, batch)
        adj = U.to_dense_adj(edge_index, batch)
        return G.dense_diff_pool(self.embed(dense, adj, mask), adj, self.assign(dense, adj, mask), mask)[0].mean(1)


@net("x", "edge_index", "batch")
class Pooled(nn.Module):
    """Three poolings with readouts between, SAGPool's net."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.GCNConv(IN, 8), G.GCNConv(8, 8)])
        self.pools = nn.ModuleList([G.SAGPooling(8, 0.6, GNN=G.GraphConv), G.TopKPooling(8, ratio=0.8, nonlinearity=torch.sigmoid)])

    def forward(self, x, edge_index, batch):
        out = 0.0
        for conv, pool in zip(self.convs, self.pools):
            x = F.relu(conv(x, edge_index))
            x, edge_index, _, batch, perm, score = pool(x, edge_index, batch=batch)
            out = out + torch.cat([G.global_max_pool(x, batch), G.global_mean_pool(x, batch)], dim=1)
        return out


@net()
class ByCluster(nn.Module):
    """Pooling by a cluster that edges give."""

    def __init__(self):
        super().__init__()
        self.conv, self.pool = G.GCNConv(IN, 8), G.EdgePooling(8)

    def forward(self, x, edge_index):
        x = self.conv(x, edge_index)
        x, edge_index, _, _ = self.pool(x, edge_index, torch.zeros(x.size(0), dtype=torch.long))
        return x.mean(0)


# ---- torch_geometric.utils ----


@net("x", "edge_index", "edge_weight")
class SoftmaxOfWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index, edge_weight):
        row, col = edge_index
        weight = U.softmax(edge_weight, col, num_nodes=x.size(0))
        return U.scatter(self.lin(x)[row] * weight.unsqueeze(-1), col, dim=0, dim_size=x.size(0), reduce="sum")


@net()
class Undirected(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        return self.conv(x, U.to_undirected(edge_index, num_nodes=x.size(0)))


@net()
class Coalesced(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.SAGEConv(IN, 4)

    def forward(self, x, edge_index):
        return self.conv(x, U.coalesce(edge_index, num_nodes=x.size(0)))


@net()
class SortedEdges(nn.Module):
    """An order of edges, which changes no sum."""

    def __init__(self):
        super().__init__()
        self.conv = G.SAGEConv(IN, 4)

    def forward(self, x, edge_index):
        return self.conv(x, U.sort_edge_index(edge_index, sort_by_row=False))


@net()
class DroppedEdges(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        edge_index, _ = U.dropout_edge(edge_index, p=0.0, training=self.training)
        return self.conv(x, edge_index)


@net()
class Subgraph(nn.Module):
    """The first nodes alone, by a constant."""

    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        keep, _ = U.subgraph(torch.arange(x.size(0) - 1), edge_index, num_nodes=x.size(0))
        return self.conv(x, keep)


@net()
class TwoHops(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        nodes, edges, _, _ = U.k_hop_subgraph(0, 2, edge_index, num_nodes=x.size(0))
        return self.conv(x, edges)


@net()
class WithoutLoops(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GATv2Conv(IN, 4, heads=2, add_self_loops=False)

    def forward(self, x, edge_index):
        edge_index, _ = U.remove_self_loops(edge_index)
        edge_index, _ = U.add_remaining_self_loops(edge_index, num_nodes=x.size(0))
        return self.conv(x, edge_index)


@net()
class DegreeFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GraphConv(IN + 2, 4)

    def forward(self, x, edge_index):
        deg = U.degree(edge_index[1], x.shape[0]).view(-1, 1)
        out = U.degree(edge_index[0], x.shape[0]).unsqueeze(1)
        return self.conv(torch.cat([x, torch.log1p(deg), 1 / (out + 1)], dim=1), edge_index)


@net()
class Laplacian(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(IN, 4)

    def forward(self, x, edge_index):
        edges, weight = U.get_laplacian(edge_index, normalization="sym", num_nodes=x.size(0))
        return self.lin(U.scatter(weight.view(-1, 1) * x[edges[0]], edges[1], 0, x.size(0)))


@net("x", "edge_index", "batch")
class SoftmaxOfNodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.score = G.GCNConv(IN, 8), nn.Linear(8, 1)

    def forward(self, x, edge_index, batch):
        h = self.conv(x, edge_index)
        return U.scatter(h * U.softmax(self.score(h), batch), batch, dim=0, reduce="add")


# ---- masks, einsum, views ----


@net()
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.other = G.GCNConv(IN, 8), G.SAGEConv(IN, 8)

    def forward(self, x, edge_index):
        a, b = self.conv(x, edge_index), self.other(x, edge_index)
        h = torch.where(x[:, :1] > 0, a, b)
        h = h.masked_fill(h < -1.0, -1.0)
        return torch.where(h.abs() > 0.5, torch.zeros_like(h), h) + (a > b).float() * 0.1


@net()
class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.mix = nn.Linear(IN, 8), nn.Linear(IN, 8), nn.Parameter(torch.randn(2, 4, 3))
        self.conv = G.GCNConv(6, 4)

    def forward(self, x, edge_index):
        q, k = self.q(x).view(-1, 2, 4), self.k(x).view(-1, 2, 4)
        score = torch.einsum("nhd,nhd->nh", q, k) / math.sqrt(4)
        h = torch.einsum("nhd,hde->nhe", q * score.unsqueeze(-1), self.mix)
        return self.conv(h.reshape(-1, 6), edge_index)


@net()
class GlobalAttention(nn.Module):
    """Linear attention over all nodes, as NodeFormer and SGFormer have it."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.conv = nn.Linear(IN, 4), nn.Linear(IN, 4), nn.Linear(IN, 4), G.GCNConv(IN, 4)

    def forward(self, x, edge_index):
        q, k, v = self.q(x), self.k(x), self.v(x)
        kv = torch.einsum("nd,ne->de", k, v) / x.size(0)
        return q @ kv + self.conv(x, edge_index)


@net()
class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GATConv(IN, 4, heads=3)

    def forward(self, x, edge_index):
        h = self.conv(x, edge_index).unflatten(1, (3, 4))
        h = h.transpose(1, 2).softmax(-1).mean(-1)
        a, b, c, d = h.unbind(1)
        return torch.stack((a, b * c, d.square(), a - d), -1).roll(1, -1)
