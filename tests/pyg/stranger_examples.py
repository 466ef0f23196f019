"""Nets for strangers.py in the styles of PyG's examples: what these build of layers, readouts, states
and decoders, in other words."""
import math

import torch
import torch.nn.functional as F
import torch_geometric.nn as G
import torch_geometric.utils as U
from torch import nn

from stranger_nets import EDGE, IN, mlp, net
from stranger_programs import NETS  # noqa: F401 (NETS: for strangers.py)

# ---- nodes ----


@net()
class Paths(nn.Module):
    """Breadth by attention, depth by an LSTM whose state goes through the layers (geniepath)."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(IN, 8)
        self.breadth = nn.ModuleList(G.GATConv(8, 8) for _ in range(3))
        self.depth = nn.ModuleList(nn.LSTM(8, 8, 1, bias=False) for _ in range(3))
        self.last = nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = self.first(x)
        h, c = torch.zeros(1, x.size(0), 8), torch.zeros(1, x.size(0), 8)
        for breadth, depth in zip(self.breadth, self.depth):
            x = torch.tanh(breadth(x, edge_index))
            x, (h, c) = depth(x[None], (h, c))
            x = x[0]
        return self.last(x)


@net()
class InitialResidual(nn.Module):
    """GCNII: each layer reads the first layer's output (gcn2)."""

    def __init__(self):
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(IN, 8), nn.Linear(8, 3)])
        self.convs = nn.ModuleList(G.GCN2Conv(8, 0.1, 0.5, k + 1, shared_weights=bool(k % 2), normalize=True) for k in range(4))

    def forward(self, x, edge_index):
        x = first = F.dropout(self.lins[0](x), 0.0, self.training).relu()
        for conv in self.convs:
            x = conv(x, first, edge_index).relu()
        return self.lins[1](x).log_softmax(dim=-1)


@net()
class Dna(nn.Module):
    """A history of all layers that grows (dna)."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(IN, 8), nn.Linear(8, 3)
        self.convs = nn.ModuleList(G.DNAConv(8, heads=2, groups=2, dropout=0.0) for _ in range(2))

    def forward(self, x, edge_index):
        history = torch.relu(self.first(x)).view(-1, 1, 8)
        for conv in self.convs:
            history = torch.cat([history, F.relu(conv(history, edge_index)).view(-1, 1, 8)], dim=1)
        return torch.log_softmax(self.last(history[:, -1]), dim=1)


@net()
class HeadsAndSkips(nn.Module):
    """Three attention layers with linear skips (ppi)."""

    def __init__(self):
        super().__init__()
        self.conv1, self.lin1 = G.GATConv(IN, 4, heads=2), nn.Linear(IN, 8)
        self.conv2, self.lin2 = G.GATv2Conv(8, 4, heads=2), nn.Linear(8, 8)
        self.conv3, self.lin3 = G.GATConv(8, 3, heads=3, concat=False), nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = F.elu(self.conv1(x, edge_index) + self.lin1(x))
        x = F.elu(self.conv2(x, edge_index) + self.lin2(x))
        return self.conv3(x, edge_index) + self.lin3(x)


@net()
class Bases(nn.Module):
    """Convolutions with several aggregations, norms, skips and halved widths (egc)."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(IN, 8)
        self.convs = nn.ModuleList(G.EGConv(8, 8, aggregators, 4, 4) for aggregators in (["sum", "mean"], ["symnorm"]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(8) for _ in range(2))
        self.head = nn.Sequential(nn.Linear(8, 4, bias=False), nn.BatchNorm1d(4), nn.ReLU(True), nn.Linear(4, 1))

    def forward(self, x, edge_index):
        x = self.first(x)
        for conv, norm in zip(self.convs, self.norms):
            h = norm(conv(x, edge_index)).relu_()
            x = x + h
        return self.head(x).squeeze(-1)


@net()
class Powers(nn.Module):
    """Mixed powers of the adjacency, bottlenecked (mixhop, tagcn)."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.tag = G.MixHopConv(IN, 4, powers=[0, 1, 2]), G.MixHopConv(12, 4, powers=[0, 1, 2]), G.TAGConv(12, 6, K=2)
        self.norm, self.last = G.BatchNorm(12), nn.Linear(6, 3, bias=False)

    def forward(self, x, edge_index):
        x = F.relu(self.norm(self.one(x, edge_index)))
        return self.last(F.leaky_relu(self.tag(self.two(x, edge_index), edge_index)))


@net("x", "edge_index", "edge_type")
class Film(nn.Module):
    """Feature-wise modulation by relation (film)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.FiLMConv(IN, 8, num_relations=3), G.FiLMConv(8, 3, num_relations=3, act=None)])
        self.norm = nn.LayerNorm(8)

    def forward(self, x, edge_index, edge_type):
        return self.convs[1](self.norm(self.convs[0](x, edge_index, edge_type)), edge_index, edge_type)


@net()
class BothDirections(nn.Module):
    """In- and out-neighbours with weights of their own, mixed by a learned number (dir_gnn)."""

    def __init__(self):
        super().__init__()
        self.there, self.back = G.SAGEConv(IN, 8), G.SAGEConv(IN, 8, flow="target_to_source")
        self.alpha, self.second = nn.Parameter(torch.tensor(0.3)), G.DirGNNConv(G.GCNConv(8, 3, add_self_loops=False), alpha=0.4)

    def forward(self, x, edge_index):
        x = self.alpha * self.there(x, edge_index) + (1 - self.alpha) * self.back(x, edge_index)
        return self.second(F.normalize(x, p=2.0, dim=-1), edge_index)


@net()
class OnlyInEvaluation(nn.Module):
    """An MLP that propagates once it evaluates (pmlp)."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.mix = nn.Linear(IN, 8), nn.Linear(8, 3), G.SimpleConv(aggr="mean", combine_root="self_loop")

    def forward(self, x, edge_index):
        x = self.one(x)
        if not self.training:
            x = self.mix(x, edge_index)
        x = self.two(F.relu(x))
        return x if self.training else self.mix(x, edge_index)


@net()
class Hops(nn.Module):
    """Features of several hops, joined before linear layers (sign)."""

    def __init__(self):
        super().__init__()
        self.lins, self.last, self.act = nn.ModuleList(nn.Linear(IN, 4) for _ in range(3)), nn.Linear(12, 3), nn.PReLU()
        self.prop = G.SSGConv(IN, IN, alpha=0.0, K=1)
        self.step = G.LGConv()

    def forward(self, x, edge_index):
        hops = [x]
        for _ in range(2):
            hops.append(self.step(hops[-1], edge_index))
        hidden = [self.act(lin(h)) for lin, h in zip(self.lins, hops)]
        return self.last(torch.cat(hidden, dim=-1)).log_softmax(-1)


@net("x", "edge_index", "edge_weight")
class Smoothed(nn.Module):
    """Soft labels that are propagated and clamped (correct_and_smooth, label_prop)."""

    def __init__(self):
        super().__init__()
        self.lin, self.spread = nn.Linear(IN, 3), G.APPNP(K=4, alpha=0.2)
        self.labels = G.LabelPropagation(num_layers=2, alpha=0.6)

    def forward(self, x, edge_index, edge_weight):
        y = self.lin(x).softmax(dim=-1)
        return self.spread(y, edge_index, edge_weight).clamp_(0.0, 1.0)


@net("x", "edge_index", "edge_weight")
class Weighted(nn.Module):
    """GCN with given weights, a stack of ARMA and an attention without parameters (gcn, arma, agnn)."""

    def __init__(self):
        super().__init__()
        self.one, self.two = G.GCNConv(IN, 8, cached=False, normalize=True), G.ARMAConv(8, 8, num_stacks=2, num_layers=2, shared_weights=True, dropout=0.0)
        self.agnn, self.lin = G.AGNNConv(requires_grad=True), nn.Linear(8, 3)

    def forward(self, x, edge_index, edge_weight=None):
        x = F.dropout(x, p=0.0, training=self.training)
        x = self.two(self.one(x, edge_index, edge_weight).relu(), edge_index, edge_weight)
        return self.lin(self.agnn(x, edge_index))


@net()
class GatedTransformer(nn.Module):
    """Attention with a gate between skip and message, layer norms, a masked embedding of labels (unimp)."""

    def __init__(self):
        super().__init__()
        self.label = nn.Parameter(torch.randn(IN) / 8)
        self.convs = nn.ModuleList([G.TransformerConv(IN, 4, heads=2, beta=True), G.TransformerConv(8, 3, heads=2, concat=False, beta=True)])
        self.norm = nn.LayerNorm(8)

    def forward(self, x, edge_index):
        x = x + self.label * (x[:, :1] > 0).float()
        x = self.norm(self.convs[0](x, edge_index)).relu()
        return self.convs[1](x, edge_index)


@net("x", "edge_index", "edge_attr")
class DeepResidual(nn.Module):
    """Normalised, activated, convolved, added: 4 layers of powers with learned temperature (deepergcn)."""

    def __init__(self):
        super().__init__()
        self.node, self.edge, self.last = nn.Linear(IN, 8), nn.Linear(EDGE, 8), nn.Linear(8, 2)
        self.layers = nn.ModuleList(G.DeepGCNLayer(G.GENConv(8, 8, aggr="softmax", t=1.0, learn_t=True, num_layers=2, norm="layer"), nn.LayerNorm(8, elementwise_affine=True),
                                                   nn.ReLU(inplace=True), block="res+", dropout=0.0) for _ in range(3))

    def forward(self, x, edge_index, edge_attr):
        x, edge_attr = self.node(x), self.edge(edge_attr)
        x = self.layers[0].conv(x, edge_index, edge_attr)
        for layer in self.layers[1:]:
            x = layer(x, edge_index, edge_attr)
        return self.last(self.layers[0].act(self.layers[0].norm(x)))


@net()
class Supervised(nn.Module):
    """Attention with a loss of its own, that training draws negatives for (super_gat)."""

    def __init__(self):
        super().__init__()
        self.conv = G.SuperGATConv(IN, 4, heads=2, attention_type="MX", edge_sample_ratio=0.8, is_undirected=True)

    def forward(self, x, edge_index):
        x = self.conv(x, edge_index)
        return x, self.conv.get_attention_loss()


# ---- links ----


def reparametrised(mu, logstd, training):
    return mu + torch.randn_like(logstd) * torch.exp(logstd) if training else mu


@net("x", "edge_index", "edge_label_index")
class Variational(nn.Module):
    """Means and deviations that training samples from, an inner product, and its KL term (autoencoder)."""

    def __init__(self):
        super().__init__()
        self.shared, self.mu, self.logstd = G.GCNConv(IN, 8), G.GCNConv(8, 4), G.GCNConv(8, 4)

    def forward(self, x, edge_index, edge_label_index):
        x = self.shared(x, edge_index).relu()
        mu, logstd = self.mu(x, edge_index), self.logstd(x, edge_index).clamp(max=10)
        z = reparametrised(mu, logstd, self.training)
        kl = -0.5 * torch.mean(torch.sum(1 + 2 * logstd - mu ** 2 - logstd.exp() ** 2, dim=1))
        return torch.sigmoid((z[edge_label_index[0]] * z[edge_label_index[1]]).sum(dim=1)), kl / x.size(0)


@net("x", "edge_index", "edge_type")
class Factorised(nn.Module):
    """Relations as diagonal matrices over pairs of encoded nodes (rgcn_link_pred, DistMult)."""

    def __init__(self):
        super().__init__()
        self.conv, self.rel = G.RGCNConv(IN, 8, 3, num_blocks=2), nn.Parameter(torch.randn(3, 8) / math.sqrt(8))

    def forward(self, x, edge_index, edge_type):
        z = self.conv(x, edge_index, edge_type).tanh()
        return torch.sum(z[edge_index[0]] * self.rel[edge_type] * z[edge_index[1]], dim=1)


@net("x", "edge_index", "edge_label_index")
class PairMlp(nn.Module):
    """Concatenated ends, the product and the absolute difference through an MLP (link_pred, recommender)."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = G.GraphSAGE(IN, 8, 2, 8, norm="batch_norm"), mlp(32, 1)

    def forward(self, x, edge_index, edge_label_index):
        z = self.encoder(x, edge_index)
        a, b = z[edge_label_index[0]], z[edge_label_index[1]]
        return self.decoder(torch.cat([a, b, a * b, (a - b).abs()], dim=-1)).view(-1)


@net("x", "edge_index", "edge_label_index")
class Signed(nn.Module):
    """Two lists of edges of different meaning, kept apart and joined (signed_gcn)."""

    def __init__(self):
        super().__init__()
        self.one, self.two = G.SignedConv(IN, 4, first_aggr=True), G.SignedConv(4, 4, first_aggr=False)

    def forward(self, x, edge_index, edge_label_index):
        z = F.relu(self.one(x, edge_index, edge_label_index))
        return self.two(z, edge_index, edge_label_index)


@net("x", "edge_index", "edge_label_index")
class Propagated(nn.Module):
    """Embeddings averaged over layers with learned weights, scored by products (lightgcn)."""

    def __init__(self):
        super().__init__()
        self.project, self.conv, self.alpha = nn.Linear(IN, 8, bias=False), G.LGConv(), nn.Parameter(torch.full((4,), 0.25))

    def forward(self, x, edge_index, edge_label_index):
        z, out = self.project(x), 0
        for k in range(4):
            out = out + z * self.alpha.softmax(0)[k]
            z = self.conv(z, edge_index)
        return (out[edge_label_index[0]] * out[edge_label_index[1]]).sum(-1), F.logsigmoid(out).mean()


@net()
class Infomax(nn.Module):
    """Real nodes against shuffled ones, by a summary of the graph (infomax_transductive)."""

    def __init__(self):
        super().__init__()
        self.conv, self.act, self.weight = G.GCNConv(IN, 8), nn.PReLU(8), nn.Parameter(torch.randn(8, 8) / 3)

    def forward(self, x, edge_index):
        real = self.act(self.conv(x, edge_index))
        fake = self.act(self.conv(x[torch.randperm(x.size(0))], edge_index))
        summary = torch.sigmoid(real.mean(dim=0))
        return real @ (self.weight @ summary), fake @ (self.weight @ summary)


@net()
class SummaryAlone(Infomax):
    """The same without shuffling."""

    def forward(self, x, edge_index):
        real = self.act(self.conv(x, edge_index))
        return torch.sigmoid(torch.matmul(real, torch.matmul(self.weight, torch.sigmoid(real.mean(dim=0)))))


# ---- graphs ----


@net("x", "edge_index", "batch")
class SumsOfLayers(nn.Module):
    """GIN with a classifier for each layer's sums (mutag_gin)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(G.GINConv(G.MLP([width, 8, 8]), train_eps=True) for width in (IN, 8, 8))
        self.norms = nn.ModuleList(nn.BatchNorm1d(8) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(8, 3) for _ in range(3))

    def forward(self, x, edge_index, batch):
        score = 0.0
        for conv, norm, head in zip(self.convs, self.norms, self.heads):
            x = F.relu(norm(conv(x, edge_index)))
            score += F.dropout(head(G.global_add_pool(x, batch)), 0.0, self.training)
        return F.log_softmax(score, dim=-1)


@net("x", "edge_index", "batch")
class PooledTwice(nn.Module):
    """Convolve, keep the best half, read out, twice (proteins_topk_pool, triangles_sag_pool)."""

    def __init__(self):
        super().__init__()
        self.conv1, self.pool1 = G.GraphConv(IN, 8), G.TopKPooling(8, ratio=0.8)
        self.conv2, self.pool2 = G.GraphConv(8, 8), G.SAGPooling(8, ratio=0.5, GNN=G.GCNConv)
        self.head = G.MLP([16, 8, 3], norm=None, dropout=0.0)

    def forward(self, x, edge_index, batch):
        x = F.relu(self.conv1(x, edge_index))
        x, edge_index, _, batch, _, _ = self.pool1(x, edge_index, None, batch)
        one = torch.cat([G.global_max_pool(x, batch), G.global_mean_pool(x, batch)], dim=1)
        x = F.relu(self.conv2(x, edge_index))
        x, edge_index, _, batch, perm, score = self.pool2(x, edge_index, None, batch)
        return self.head(one + torch.cat([G.global_max_pool(x, batch), G.global_mean_pool(x, batch)], dim=1))


@net("x", "edge_index", "edge_attr", "batch")
class MessagesByEdge(nn.Module):
    """Matrices of the edges, a GRU over rounds, sequences to sets (qm9_nn_conv)."""

    def __init__(self):
        super().__init__()
        self.first, self.conv, self.gru = nn.Linear(IN, 4), G.NNConv(4, 4, mlp(EDGE, 16), aggr="mean", root_weight=False), nn.GRU(4, 4)
        self.read, self.last = G.aggr.SumAggregation(), nn.Linear(4, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        out = F.relu(self.first(x))
        h = out.unsqueeze(0)
        for _ in range(3):
            m = F.relu(self.conv(out, edge_index, edge_attr))
            out, h = self.gru(m.unsqueeze(0), h)
            out = out.squeeze(0)
        return self.last(self.read(out, batch)).view(-1)


@net("x", "edge_index", "edge_attr", "batch")
class ToSets(MessagesByEdge):
    """The same with the readout that reads several times."""

    def __init__(self):
        super().__init__()
        self.read, self.last = G.Set2Set(4, processing_steps=2), nn.Linear(8, 1)


@net("x", "edge_index", "edge_attr", "batch")
class PrincipalNeighbours(nn.Module):
    """PNA with towers, norms and edge features (pna)."""

    def __init__(self):
        super().__init__()
        deg = torch.tensor([0, 3, 9, 8, 4, 2])
        self.first, self.edge = nn.Linear(IN, 8), nn.Linear(EDGE, 4)
        self.convs = nn.ModuleList(G.PNAConv(8, 8, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], deg, edge_dim=4, towers=2, divide_input=False) for _ in range(2))
        self.norms = nn.ModuleList(G.BatchNorm(8) for _ in range(2))
        self.head = mlp(8, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        x, edge_attr = self.first(x), self.edge(edge_attr)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x, edge_index, edge_attr)))
        return self.head(G.global_add_pool(x, batch))


@net("x", "edge_index", "batch")
class Sorted(nn.Module):
    """Nodes sorted by the last channel, convolved as a sequence (seal_link_pred)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([G.GCNConv(IN, 4), G.GCNConv(4, 1)])
        self.sort, self.conv, self.head = G.SortAggregation(k=3), nn.Conv1d(1, 4, 5, 5), nn.Linear(12, 1)

    def forward(self, x, edge_index, batch):
        xs = [x]
        for conv in self.convs:
            xs.append(conv(xs[-1], edge_index).tanh())
        x = self.sort(torch.cat(xs[1:], dim=-1), batch).unsqueeze(1)
        return self.head(self.conv(x).relu().flatten(1))


@net("x", "edge_index", "batch")
class RootAndReadout(nn.Module):
    """The first node of each graph next to its maximum (upfd)."""

    def __init__(self):
        super().__init__()
        self.conv, self.root, self.both, self.last = G.GATConv(IN, 8), nn.Linear(IN, 8), nn.Linear(16, 8), nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        h = G.global_max_pool(self.conv(x, edge_index).relu(), batch)
        root = (batch[1:] - batch[:-1]).nonzero(as_tuple=False).view(-1)
        root = torch.cat([root.new_zeros(1), root + 1], dim=0)
        news = self.root(x[root]).relu()
        return self.last(self.both(torch.cat([news, h], dim=-1)).relu()).log_softmax(dim=-1)


# ---- points ----


class Continuous(G.MessagePassing):
    """Filters of distances, smeared over Gaussians (schnet)."""

    def __init__(self, width, gaussians=6, cutoff=3.0):
        super().__init__(aggr="add")
        self.lin1, self.lin2, self.filter, self.cutoff = nn.Linear(width, width, bias=False), nn.Linear(width, width), mlp(gaussians, width), cutoff
        self.register_buffer("offset", torch.linspace(0.0, cutoff, gaussians))

    def forward(self, x, edge_index, distance):
        smeared = torch.exp(-0.5 * (distance.view(-1, 1) - self.offset.view(1, -1)) ** 2)
        cut = 0.5 * (torch.cos(distance * math.pi / (4 * self.cutoff)) + 1.0)
        return self.lin2(self.propagate(edge_index, x=self.lin1(x), W=self.filter(smeared) * cut.view(-1, 1)))

    def message(self, x_j, W):
        return x_j * W


@net("x", "edge_index", "pos", "batch")
class Atoms(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.layer, self.head = nn.Linear(IN, 8), Continuous(8), mlp(8, 1)

    def forward(self, x, edge_index, pos, batch):
        x, distance = self.first(x), (pos[edge_index[0]] - pos[edge_index[1]]).pow(2).sum(-1).add(1e-3).sqrt()
        x = x + F.softplus(self.layer(x, edge_index, distance)) - math.log(2.0)
        return U.scatter(self.head(x), batch, dim=0, reduce="sum")


class LocalAttention(G.MessagePassing):
    """Weights by channel from relative positions (randlanet, point_transformer)."""

    def __init__(self, width):
        super().__init__(aggr="add")
        self.place, self.score, self.after = mlp(10, width), nn.Linear(2 * width, 2 * width, bias=False), nn.Linear(2 * width, width)

    def forward(self, x, pos, edge_index):
        return self.after(self.propagate(edge_index, x=x, pos=pos))

    def message(self, x_j, pos_i, pos_j, index, ptr, size_i):
        relative = pos_j - pos_i
        local = torch.cat([x_j, self.place(torch.cat([pos_i, pos_j, relative, relative.norm(dim=1, keepdim=True)], dim=1))], dim=1)
        return U.softmax(self.score(local), index, ptr, size_i) * local


@net("x", "edge_index", "pos")
class Points(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.one, self.two = nn.Linear(IN, 8), LocalAttention(8), G.PointNetConv(mlp(11, 8), mlp(8, 3), add_self_loops=False)

    def forward(self, x, edge_index, pos):
        x = F.leaky_relu(self.one(self.first(x), pos, edge_index), 0.2)
        return self.two(x, pos, edge_index)


@net("x", "edge_index", "pos", "batch")
class EdgeClouds(nn.Module):
    """EdgeConv on given neighbours, all layers joined before the maximum (dgcnn)."""

    def __init__(self):
        super().__init__()
        self.one, self.two = G.EdgeConv(G.MLP([6, 8, 8]), "max"), G.EdgeConv(G.MLP([16, 8]), "max")
        self.joined, self.head = nn.Linear(16, 8), G.MLP([8, 8, 3], dropout=0.0, norm=None)

    def forward(self, x, edge_index, pos, batch):
        one = self.one(pos, edge_index)
        out = self.joined(torch.cat([one, self.two(one, edge_index)], dim=1))
        return F.log_softmax(self.head(G.global_max_pool(out, batch)), dim=1)


# ---- types of nodes ----

METADATA = (["paper", "author"], [("author", "writes", "paper"), ("paper", "by", "author"), ("paper", "cites", "paper")])


@net("x_dict", "edge_index_dict")
class HeteroTransformer(nn.Module):
    """HGT with linear layers by type (hgt_dblp)."""

    def __init__(self):
        super().__init__()
        self.lins = nn.ModuleDict({"paper": nn.Linear(IN, 8), "author": nn.Linear(4, 8)})
        self.convs, self.last = nn.ModuleList(G.HGTConv(8, 8, METADATA, 2) for _ in range(2)), nn.Linear(8, 3)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {node: self.lins[node](x).relu_() for node, x in x_dict.items()}
        for conv in self.convs:
            x_dict = conv(x_dict, edge_index_dict)
        return self.last(x_dict["author"])


@net("x_dict", "edge_index_dict")
class HeteroAttention(nn.Module):
    """HAN over relations (han_imdb)."""

    def __init__(self):
        super().__init__()
        self.conv, self.last = G.HANConv({"paper": IN, "author": 4}, 8, heads=2, dropout=0.0, metadata=METADATA), nn.Linear(8, 3)

    def forward(self, x_dict, edge_index_dict):
        return self.last(self.conv(x_dict, edge_index_dict)["paper"])


@net("x_dict", "edge_index_dict")
class Bipartite(nn.Module):
    """Items from items, then users from both, and a score for each link (bipartite_sage)."""

    def __init__(self):
        super().__init__()
        self.items, self.users, self.last = G.SAGEConv(IN, 8), G.SAGEConv((IN, 4), 8), nn.Linear(8, 8)

    def forward(self, x_dict, edge_index_dict):
        items = self.items(x_dict["paper"], edge_index_dict["paper", "cites", "paper"]).relu()
        users = self.users((x_dict["paper"], x_dict["author"]), edge_index_dict["paper", "by", "author"]).relu()
        row, col = edge_index_dict["author", "writes", "paper"]
        return (self.last(users)[row] * items[col]).sum(dim=-1)
